# SPDX-License-Identifier: Apache-2.0
"""tsdb-keeper, the process that owns copies of device memory: what it answers to clients of every kind (src/capture/cuda/keeper/keeper.h has the protocol), and
that it never outlives tsdb."""
import array
import mmap
import os
import resource
import signal
import socket
import struct
import subprocess
import time

from e2e import BUILD, first_existing

MAKE, READ, DROP = 1, 2, 3
OK, INVALID_VALUE, OUT_OF_MEMORY, INVALID_DEVICE, NOT_FOUND = 0, 1, 2, 101, 500
MIB = 1 << 20
NUMBER = 3000000000  # the keeper's; the upper half of all its ids
GRAIN = 2 * MIB  # of the software GPU
DEVICE = b'tsdbsoFt\x80gpu\0\0\0\x01'  # its first device (softgpu/driver/drv-device.c)


def ask(kind, id=0, offset=0, size=0, uuid=DEVICE):
    return struct.pack('<IIQQQ16s', kind, 0, id, offset, size, uuid)


class Keeper:
    """The keeper alone, on the software GPU; its program is this process, or another one."""

    def __init__(self, t, pid=None):
        t.need_soft()
        path = first_existing(os.path.join(BUILD, 'tsdb-keeper'), os.path.join(BUILD, 'lib', 'tsdb', 'tsdb-keeper'))
        soft = first_existing(os.path.join(BUILD, 'softgpu'), os.path.join(BUILD, 'lib', 'tsdb', 'softgpu'))
        self.t = t
        self.listening = socket.socket(socket.AF_UNIX)
        self.listening.bind('')  # the kernel chooses a name
        self.listening.listen(8)
        fd = self.listening.fileno()
        self.p = subprocess.Popen([path, str(fd), str(pid or os.getpid()), str(NUMBER)], cwd=t.dir, env=t.environment({'LD_LIBRARY_PATH': soft}), pass_fds=[fd],
                                  stdin=subprocess.DEVNULL)

    def connect(self):
        s = socket.socket(socket.AF_UNIX)
        s.connect(self.listening.getsockname())  # without a time limit: with one it does not wait for a place in the queue
        s.settimeout(60)
        return s

    def answer(self, s):
        """(result, id, bytes, descriptor or None); None: the keeper has closed the connection."""
        data, ancillary, _, _ = s.recvmsg(24, socket.CMSG_SPACE(4), socket.MSG_WAITALL)
        fds = array.array('i')
        for level, kind, box in ancillary:
            if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
                fds.frombytes(box)
        if len(data) != 24:
            return None
        result, _, id, size = struct.unpack('<IIQQ', data)
        return result, id, size, fds[0] if fds else None

    def say(self, *args, **kw):
        with self.connect() as s:
            s.sendall(ask(*args, **kw))
            return self.answer(s)

    def make(self, contents):
        """A block with these contents; returns its id."""
        result, id, size, fd = self.say(MAKE, size=len(contents))
        self.t.equal(result, OK, 'make')
        self.t.equal(id >> 32, NUMBER, 'the upper half of the id')
        self.t.check(size >= len(contents) and size % GRAIN == 0, f'id {id}, {size} bytes')
        with mmap.mmap(fd, size) as m:
            m[:len(contents)] = contents
        os.close(fd)
        return id

    def read(self, id, offset, size):
        with self.connect() as s:
            s.sendall(ask(READ, id, offset, size))
            self.t.equal(self.answer(s), (OK, 0, 0, None), 'read')
            data = b''
            while piece := s.recv(MIB):
                data += piece
            return data

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.listening.close()
        self.p.kill()
        self.p.wait()


def contents(n, seed):
    return bytes((i * 7 + i // 251 + seed) % 256 for i in range(4096)) * (n // 4096)


def test_what_it_keeps_can_be_read(t):
    with Keeper(t) as k:
        a, b = contents(3 * MIB, 1), contents(GRAIN, 2)
        first, second = k.make(a), k.make(b)
        t.check(first != second, 'two blocks have two ids')
        t.check(k.read(first, 0, len(a)) == a, 'the first block')
        t.check(k.read(second, 4093, 5000) == b[4093:9093], 'a part of the second block')
        t.equal(k.say(DROP, first), (OK, 0, 0, None), 'drop')
        t.equal(k.say(READ, first, 0, 1), (NOT_FOUND, 0, 0, None), 'reading what was dropped')
        t.check(k.read(second, 0, len(b)) == b, 'the second block')


def test_wrong_questions_are_refused(t):
    """It refuses what is wrong, by the driver's numbers, and serves others as before."""
    with Keeper(t) as k:
        kept = contents(GRAIN, 3)
        id = k.make(kept)
        for what, want in (((0,), INVALID_VALUE), ((4,), INVALID_VALUE), ((0xffffffff, 2**64 - 1, 2**64 - 1, 2**64 - 1), INVALID_VALUE),
                           ((MAKE, 0, 0, 0), INVALID_VALUE), ((MAKE, 0, 0, 2**64 - 1), INVALID_VALUE), ((MAKE, 0, 0, GRAIN, b'x' * 16), INVALID_DEVICE),
                           ((READ, 0, 0, 1), NOT_FOUND), ((READ, id + 1, 0, 1), NOT_FOUND), ((READ, 2**64 - 1, 0, 1), NOT_FOUND),
                           ((READ, id, 0, GRAIN + 1), INVALID_VALUE), ((READ, id, GRAIN, 1), INVALID_VALUE), ((READ, id, 2**64 - 1, 2), INVALID_VALUE),
                           ((READ, id, 1, 2**64 - 1), INVALID_VALUE), ((DROP, 0), NOT_FOUND), ((DROP, id + 1), NOT_FOUND)):
            t.equal(k.say(*what), (want, 0, 0, None), f'the answer to {what}')
        t.check(k.read(id, 0, GRAIN) == kept, 'the block')


def test_memory_that_the_device_lacks_is_refused_at_once(t):
    """Nothing of it is taken before that is known: a file of that size would be beyond the keeper's limit, and the signal would end it."""
    with Keeper(t) as k:
        id = k.make(contents(GRAIN, 4))
        resource.prlimit(k.p.pid, resource.RLIMIT_FSIZE, (1 << 40, 1 << 40))
        t.equal(k.say(MAKE, size=1 << 50), (OUT_OF_MEMORY, 0, 0, None), 'a pebibyte')
        t.check(k.read(id, 0, GRAIN) == contents(GRAIN, 4), 'the block')


def test_clients_that_break_off(t):
    """Connections that say nothing, half of a question, too much, or that take nothing of the answer: others do not wait for them."""
    with Keeper(t) as k:
        kept = contents(4 * MIB, 5)
        id = k.make(kept)
        idle = [k.connect() for _ in range(20)]
        for s in idle[10:]:
            s.sendall(ask(READ, id, 0, len(kept))[:47])
        deaf = k.connect()  # 4 MiB do not fit into the socket
        deaf.sendall(ask(READ, id, 0, len(kept)))
        for n in (0, 1, 47):
            with k.connect() as s:
                s.sendall(ask(DROP, id)[:n])
        with k.connect() as s:
            s.sendall(ask(READ, id, 0, 16) * 3)
            t.equal(k.answer(s), (OK, 0, 0, None), 'the first of three questions')
            t.equal(s.recv(16, socket.MSG_WAITALL), kept[:16], 'its answer')
        t.check(k.read(id, 0, len(kept)) == kept, 'the block')
        deaf.close()
        for s in idle:
            s.close()
        t.check(k.read(id, 0, len(kept)) == kept, 'the block')


def test_memory_whose_answer_nobody_takes(t):
    """It is freed: nobody knows its id."""
    with Keeper(t) as k:
        id = k.make(contents(GRAIN, 9))
        before = len(os.listdir(f'/proc/{k.p.pid}/fd'))  # the software GPU has one for each block
        for _ in range(20):
            with k.connect() as s:
                s.shutdown(socket.SHUT_RD)
                s.sendall(ask(MAKE, size=GRAIN))
        t.equal(k.say(DROP, id + 1000)[0], NOT_FOUND, 'a question after those')
        until = time.monotonic() + 60
        while len(os.listdir(f'/proc/{k.p.pid}/fd')) > before and time.monotonic() < until:
            time.sleep(0.01)
        after = len(os.listdir(f'/proc/{k.p.pid}/fd'))
        t.check(after <= before, f'descriptors, one of each block among them: {before}, then {after}')  # a connection may still have been open before


def test_a_block_that_is_dropped_while_it_is_read(t):
    with Keeper(t) as k:
        id = k.make(contents(16 * MIB, 6))
        with k.connect() as s:
            s.sendall(ask(READ, id, 0, 16 * MIB))
            t.equal(k.answer(s), (OK, 0, 0, None), 'read')
            t.equal(k.say(DROP, id), (OK, 0, 0, None), 'drop')
            n = 0
            while piece := s.recv(MIB):
                n += len(piece)
        t.check(n < 16 * MIB, 'the end of the connection says that not all came')
        t.equal(k.say(DROP, id), (NOT_FOUND, 0, 0, None), 'drop')


def test_it_answers_its_program_alone(t):
    with Keeper(t, pid=1) as k, k.connect() as s:
        try:
            s.sendall(ask(MAKE, size=GRAIN))
            t.equal(k.answer(s), None, 'the answer to another process')
        except (BrokenPipeError, ConnectionResetError):
            pass


def test_no_descriptor_left(t):
    """A keeper that can take no connection goes on when it can again, and has lost nothing. It does not use the processor meanwhile."""
    with Keeper(t) as k:
        kept = contents(GRAIN, 7)
        id = k.make(kept)
        k.read(id, 0, 1)
        used = len(os.listdir(f'/proc/{k.p.pid}/fd'))
        resource.prlimit(k.p.pid, resource.RLIMIT_NOFILE, (used + 2, used + 2))
        idle = [k.connect() for _ in range(6)]
        until = time.monotonic() + 60
        while len(os.listdir(f'/proc/{k.p.pid}/fd')) < used + 2 and time.monotonic() < until:
            time.sleep(0.01)
        time.sleep(0.3)
        t.equal(k.p.poll(), None, 'the keeper runs')
        with open(f'/proc/{k.p.pid}/stat', encoding='ascii') as f:
            before = sum(map(int, f.read().rpartition(')')[2].split()[11:13]))
        time.sleep(1)
        with open(f'/proc/{k.p.pid}/stat', encoding='ascii') as f:
            after = sum(map(int, f.read().rpartition(')')[2].split()[11:13]))
        t.check(after - before <= os.sysconf('SC_CLK_TCK') // 4, f'processor time in a second: {after - before} ticks')
        for s in idle:
            s.close()
        t.check(k.read(id, 0, GRAIN) == kept, 'the block')
        # One place for the connection, one for the memory, none for the descriptor that is sent: refused, and nothing is lost by that.
        used = len(os.listdir(f'/proc/{k.p.pid}/fd'))
        resource.prlimit(k.p.pid, resource.RLIMIT_NOFILE, (used + 2, used + 2))
        answer = k.say(MAKE, size=GRAIN)
        t.check(answer and answer[0] != OK and answer[3] is None, f'memory without a descriptor: {answer}')
        t.check(k.read(id, 0, GRAIN) == kept, 'the block')


def test_no_thread_left(t):
    """The same where it can start no thread: here there is no address space for its stack."""
    with Keeper(t) as k:
        kept = contents(GRAIN, 8)
        id = k.make(kept)
        k.read(id, 0, 1)
        with open(f'/proc/{k.p.pid}/statm', encoding='ascii') as f:
            size = int(f.read().split()[0]) * mmap.PAGESIZE
        resource.prlimit(k.p.pid, resource.RLIMIT_AS, (size, resource.RLIM_INFINITY))
        idle = [k.connect() for _ in range(8)]  # stacks of threads that have ended are used again
        s = k.connect()
        s.sendall(ask(READ, id, 0, 16))
        time.sleep(0.5)
        resource.prlimit(k.p.pid, resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        t.equal(k.answer(s), (OK, 0, 0, None), 'the answer')
        t.equal(s.recv(17, socket.MSG_WAITALL), kept[:16], 'the bytes')
        for c in idle + [s]:
            c.close()
