# SPDX-License-Identifier: Apache-2.0
"""A program whose memory tsdb-keeper keeps, when something happens to the keeper, to tsdb or to the program: it does what it does without tsdb, nothing
waits without a limit, what is lost is said by name, and nothing is left running (e2e.py looks for that after each test)."""
import os
import random
import re
import signal
import subprocess
import sys
import time

from e2e import BUILD, program, tsdb_path

LOST = 'copies of device memory will be lost if the device faults: '
FAULTS = 'fault_kept: cudaErrorIllegalAddress'
WINDOW = 'capture window kernel stray count 2'
LAST = (48 << 20) - 4  # of the last four words of fault_kept the first

# Sends a signal to this test's keepers, and says how many there were.
TO_KEEPER = '''import os, signal, sys
n, mark = 0, b"HOME=" + os.fsencode(os.environ["HOME"])
for pid in filter(str.isdigit, os.listdir("/proc")):
    try:
        with open(f"/proc/{pid}/comm") as c, open(f"/proc/{pid}/environ", "rb") as e:
            if c.read().strip() != "tsdb-keeper" or mark not in e.read().split(b"\\0"):
                continue
        os.kill(int(pid), getattr(signal, sys.argv[1]))
        n += 1
    except OSError:
        pass
print("keepers:", n, flush=True)
'''

# A program of its own on the device: steps are words of its command line.
STEPS = '''import ctypes, os, resource, sys, time
cuda = ctypes.CDLL("libcuda.so.1")
PTX = b""".version 7.0
.target sm_75
.address_size 64
.visible .entry touch(.param .u64 p) { .reg .u64 %p; .reg .u32 %v; ld.param.u64 %p, [p]; ld.global.u32 %v, [%p]; add.u32 %v, %v, 1; st.global.u32 [%p], %v; ret; }
.visible .entry stray(.param .u64 p) { .reg .u64 %p; .reg .u32 %v; ld.param.u64 %p, [p]; mov.u32 %v, 1; st.global.u32 [%p + 1073741824], %v; ret; }
"""
SIZE = 8 << 20
def do(r):
    assert r == 0, r
ctx, mod, touch, stray = (ctypes.c_void_p() for _ in range(4))
do(cuda.cuInit(0)), do(cuda.cuDevicePrimaryCtxRetain(ctypes.byref(ctx), 0)), do(cuda.cuCtxSetCurrent(ctx))
do(cuda.cuModuleLoadData(ctypes.byref(mod), PTX))
do(cuda.cuModuleGetFunction(ctypes.byref(touch), mod, b"touch")), do(cuda.cuModuleGetFunction(ctypes.byref(stray), mod, b"stray"))
p = ctypes.c_uint64()
do(cuda.cuMemAlloc_v2(ctypes.byref(p), ctypes.c_size_t(SIZE)))
words = (ctypes.c_uint32 * (SIZE // 4))(*range(SIZE // 4))
do(cuda.cuMemcpyHtoD_v2(p, words, ctypes.c_size_t(SIZE)))
def launch(f):
    args = (ctypes.c_void_p * 1)(ctypes.cast(ctypes.byref(p), ctypes.c_void_p))
    do(cuda.cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, None, args, None))
    return cuda.cuCtxSynchronize()
def descriptors():
    """Takes all that there are; a few at first, so that it is soon done."""
    resource.setrlimit(resource.RLIMIT_NOFILE, (256, 256))
    try:
        while True:
            os.dup(0)
    except OSError as e:
        return e.errno
def fork(child):
    pid = os.fork()
    if pid == 0:
        child()
        os._exit(7)
    return pid
for step in sys.argv[1:]:
    if step == "touch":
        print("touch", launch(touch), flush=True)
    elif step == "stray":
        print("stray", launch(stray), flush=True)
    elif step == "descriptors":
        print("descriptors", descriptors(), flush=True)
    elif step == "child":
        print("child", os.waitpid(fork(lambda: None), 0)[1] >> 8, flush=True)
    elif step == "lives":
        fork(lambda: time.sleep(1))
    elif step == "wait":
        print("waits", flush=True)
        while not os.path.exists("go"):
            time.sleep(0.01)
    elif step == "exec":
        os.execv(sys.argv[-1], sys.argv[-1:])
'''


def prepare(t):
    for name, text in (('to_keeper.py', TO_KEEPER), ('steps.py', STEPS)):
        with open(t.path(name), 'w', encoding='ascii') as f:
            f.write(text)


def to_keeper(sig):
    return f'shell {sys.executable} to_keeper.py {sig}'


def steps(t, commands, *words, **kw):
    ex = [x for c in commands for x in ('-ex', c)]
    return t.tsdb('--gpu', t.gpu, '--batch', *ex, '--args', sys.executable, 'steps.py', *words, **kw)


def is_lost_once(t, r, why):
    t.match(f'{re.escape(LOST)}{why}', r.err)
    t.equal(r.err.count(LOST), 1, f'sentences about it in {r.err}')


def test_killed_before_the_window(t):
    """Its end is said at once, with its name; the window is recorded as without it."""
    t.need_soft()
    prepare(t)
    r = t.session('fault_kept', WINDOW, 'start', to_keeper('SIGKILL'), 'continue', f'x/4xw arg0 + {4 * LAST}', 'continue')
    t.match(r'^keepers: 1$', r.out)
    is_lost_once(t, r, r'tsdb-keeper, the process that has them, was killed by SIGKILL;')
    t.match(r'`set capture keep off` and `set capture keep on` start another', r.err)
    t.match(r'^The GPU has faulted', r.out)
    t.match(r'^tsdb: device memory is lost, the GPU has faulted: no copy from before outlived it\. ', r.err)
    t.match(f'^{FAULTS}$', r.out)
    t.match(r'exited normally', r.out)


def test_killed_in_the_window(t):
    """With the copies of the window that a fault ends: what had not been sent is lost, and named."""
    t.need_soft()
    prepare(t)
    r = t.session('fault_kept', WINDOW, 'break kernel stray', 'run', to_keeper('SIGKILL'), 'continue', f'x/4xw arg0 + {4 * LAST}', 'continue')
    t.match(r'^keepers: 1$', r.out)
    is_lost_once(t, r, r'tsdb-keeper, the process that has them, was killed by SIGKILL;')
    t.match(f'^{FAULTS}$', r.out)
    t.match(r'exited normally', r.out)


def test_another_keeper_for_the_next_window(t):
    """One that was ended is replaced; copies in the memory of the old one are not mistaken for those of the new one."""
    t.need_soft()
    prepare(t)
    again = ('set capture keep off', 'set capture keep on')
    for points in ((), (to_keeper('SIGKILL'),)):
        r = t.session('fault_kept', WINDOW, 'start', *points, *again, to_keeper('SIGCONT'), 'continue', f'x/4xw arg0 + {4 * LAST}', 'continue')
        t.match(r'^keepers: 1\n[^k]', r.out)
        addr = t.match(r'^As it was before #\d+, where the capture began:\n(0x[0-9a-f]+):', r.out)[1]
        t.check(addr, 'the memory from before the fault')
        t.check(r.err.count(LOST) <= len(points), r.err)
        # There is room for the copies by the second launch, in memory of the first keeper.
        r = steps(t, (WINDOW, 'break kernel touch', 'run', 'continue', *points, *again, 'delete', 'continue', 'x/2xw arg0 + 32', 'continue'),
                  'touch', 'touch', 'touch', 'stray')
        t.match(r'^As it was before #\d+, where the capture began:\n0x[0-9a-f]+:\t0x00000008\t0x00000009$', r.out)
        t.match(r'^stray 700$', r.out)


def test_a_keeper_that_hangs(t):
    """It is asked once, for ten seconds, and not again: neither for room, nor for each piece of memory, nor when that is given back."""
    t.need_soft()
    prepare(t)
    for commands in (('start',), ('break kernel stray', 'run')):
        r = t.session('fault_kept', WINDOW, *commands, to_keeper('SIGSTOP'), 'continue', 'continue', timeout=150)  # a minute is a lot; asked each time it would be half an hour
        t.match(r'^keepers: 1$', r.out)
        is_lost_once(t, r, r'the process that keeps them did not answer within 10 s$')
        t.match(f'^{FAULTS}$', r.out)
        t.match(r'exited normally', r.out)


def test_a_keeper_that_hangs_at_the_stop(t):
    """A read that takes longer than `set gpu-timeout` is given up; that is not taken for memory which is lost."""
    t.need_soft()
    prepare(t)
    r = t.session('fault_kept', WINDOW, 'run', 'set gpu-timeout 500', to_keeper('SIGSTOP'), 'x/2xw arg0', to_keeper('SIGCONT'), 'continue', timeout=150)
    t.equal(r.out.count('keepers: 1\n'), 2, 'signals')
    t.match(r'did not answer within 500 ms', r.err)
    t.check('is lost' not in r.both, r.both)
    t.match(f'^{FAULTS}$', r.out)
    t.match(r'exited normally', r.out)


def test_killed_at_random(t):
    """keeps makes the same of its data, and its trace can be executed again: nothing faults."""
    t.need_soft()
    plain = t.run([program('keeps')], env={'LD_LIBRARY_PATH': os.path.join(BUILD, 'softgpu')})
    dice = random.Random(5)
    for i in range(10):
        argv = [tsdb_path(), '--gpu', 'soft', '--batch', '-ex', f'set capture output w{i}.sbt', '-ex', 'capture window kernel touch count 3', '-ex', 'run', '-ex', 'continue',
                '--args', program('keeps')]
        p = subprocess.Popen(argv, cwd=t.dir, env=t.environment(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                             start_new_session=True)
        until = time.monotonic() + 90
        while p.poll() is None and not (held := keepers(t)) and time.monotonic() < until:
            time.sleep(0.001)
        time.sleep(dice.random() * 0.15)
        for pid in held:
            kill(pid)
        out, err = p.communicate(timeout=100)
        t.equal(p.returncode, 0, f'status of round {i}: {err}')
        t.check(plain.out in out, f'what the program prints in round {i}: {out}')
        t.check(err.count(LOST) <= 1, err)
        r = t.tsdb('replay', f'w{i}.sbt')
        t.match(r'^([1-9]\d*) of \1 allocations identical', r.out)


def keepers(t):
    found = []
    for pid in t.processes():
        try:
            with open(f'/proc/{pid}/comm', encoding='utf-8') as f:
                if f.read().strip() == 'tsdb-keeper':
                    found.append(pid)
        except OSError:
            pass
    return found


def kill(pid):
    try:
        os.kill(pid, signal.SIGKILL)
    except OSError:
        pass


def test_it_ends_with_tsdb_and_its_program(t):
    """Whichever is killed, at random moments, no keeper stays; a program that tsdb started ends with tsdb."""
    t.need_soft()
    dice = random.Random(6)
    for who in ('program', 'tsdb') * 4:
        argv = [tsdb_path(), '--gpu', 'soft', '--batch', '-ex', WINDOW, '-ex', 'run', '--args', program('fault_kept')]
        p = subprocess.Popen(argv, cwd=t.dir, env=t.environment(), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                             start_new_session=True)
        until = time.monotonic() + 90
        while not keepers(t) and p.poll() is None and time.monotonic() < until:
            time.sleep(0.001)
        time.sleep(dice.random() * 0.8)
        if who == 'tsdb':
            p.kill()
        for pid in t.processes() if who == 'program' else []:
            try:
                if os.readlink(f'/proc/{pid}/exe') == os.path.realpath(program('fault_kept')):
                    kill(pid)
            except OSError:
                pass
        err = p.communicate(timeout=60)[1]
        t.check(p.returncode in (0, -signal.SIGKILL) if who == 'tsdb' else p.returncode == 0, f'{who}: {p.returncode} {err}')  # it may have ended before
        until = time.monotonic() + 60
        while keepers(t) and time.monotonic() < until:
            time.sleep(0.01)
        t.equal(keepers(t), [], f'keepers after the {who} was killed')


def test_exec(t):
    """The new program gets a keeper of its own: its memory from before the fault is kept, and there is one keeper, not two."""
    t.need_soft()
    prepare(t)
    r = steps(t, (WINDOW, 'run', 'x/2xw arg0', to_keeper('SIGCONT'), 'continue'), 'touch', 'child', 'exec', program('fault_kept'))
    t.match(r'^touch 0\nchild 7$', r.out)
    t.match(r'^As it was before #\d+, where the capture began:\n0x[0-9a-f]+:\t0x00000001\t0x9e3779b2$', r.out)
    t.match(r'^keepers: 1$', r.out)
    t.match(f'^{FAULTS}$', r.out)
    t.check(LOST not in r.err, r.err)


def test_fork(t):
    """Children have nothing to do with the keeper, whether they end or outlive the fault."""
    t.need_soft()
    prepare(t)
    r = steps(t, (WINDOW, 'run', 'x/2xw arg0+16', 'continue'), 'touch', 'lives', 'child', 'stray', 'child')
    t.match(r'^As it was before #\d+, where the capture began:\n0x[0-9a-f]+:\t0x00000004\t0x00000005$', r.out)
    t.match(r'^touch 0\nchild 7\n', r.out)
    t.match(r'^stray 700\nchild 7$', r.out)
    t.check(LOST not in r.err, r.err)


def test_a_program_without_a_descriptor(t):
    """It has taken all that its limit allows, before there is room or when the copies are in it: named, and without effect on it."""
    t.need_soft()
    prepare(t)
    for words in (('touch', 'descriptors', 'stray'), ('descriptors', 'touch', 'stray')):
        r = steps(t, (WINDOW, 'run', 'continue'), *words, timeout=100)
        is_lost_once(t, r, 'the program had no file descriptor left for asking the process that keeps them$')
        t.match(r'^descriptors 24$', r.out)
        t.match(r'^The GPU has faulted', r.out)
        t.match(r'^touch 0$', r.out)
        t.match(r'^stray 700$', r.out)
        t.match(r'exited normally', r.out)


# Speaks the keeper's protocol wrongly; how is in a file.
HOSTILE = '''#!%s
import os, socket, struct, sys, time
how = open("how").read()
if how == "deaf":
    time.sleep(1000)
s = socket.socket(fileno=int(sys.argv[1]))
while True:
    c, _ = s.accept()
    q = c.recv(48, socket.MSG_WAITALL)
    kind, _, id, offset, size = struct.unpack("<IIQQQ", q[:32])
    fd = os.memfd_create("hostile")
    os.ftruncate(fd, 4096 if how == "small" else size + 2097151 & ~2097151)
    if how == "null":
        fd = os.open("/dev/null", os.O_RDWR)
    answer = struct.pack("<IIQQ", 0, 0xffffffff, 0 if how == "no id" else 2**64 - 1,
                         {"less": 4096, "more": 2**64 - 1, "odd": size + 1}.get(how, size + 2097151 & ~2097151))
    if how == "short":
        answer = answer[:23]
    if how == "silent":
        time.sleep(1000)
    fds = {"no descriptor": [], "many": [fd] * 16}.get(how, [fd])
    if kind != 1:
        fds = []
    if how == "other":
        answer = bytes(range(200))
    try:
        socket.send_fds(c, [answer], fds) if fds else c.sendall(answer)
        if kind == 2:
            c.sendall(b"x" * 100)
    except OSError:
        pass
    os.close(fd)
    c.close()
'''


def test_a_keeper_that_answers_anything(t):
    """Whatever it says, the program is the same, and its window complete where nothing faults."""
    t.need_soft()
    for name in ('softgpu', 'tsdb-replayer', 'libtsdb-agent.so'):
        os.symlink(os.path.join(BUILD, name), t.path(name))
    t.copy_program(tsdb_path(), 'tsdb')
    t.executable('tsdb-keeper', HOSTILE % sys.executable)
    plain = t.run([program('keeps')], env={'LD_LIBRARY_PATH': os.path.join(BUILD, 'softgpu')})
    for how in ('small', 'null', 'no id', 'less', 'more', 'odd', 'short', 'no descriptor', 'many', 'other', 'silent'):
        with open(t.path('how'), 'w', encoding='ascii') as f:
            f.write(how)
        r = t.run([t.path('tsdb'), '--gpu', 'soft', '--batch', '-ex', 'set capture output w.sbt', '-ex', 'capture window kernel touch count 2', '-ex', 'run', '-ex', 'continue',
                   '--args', program('keeps')], timeout=150)
        t.equal(r.status, 0, f'status: {how}')
        t.check(plain.out in r.out, f'what the program prints: {how}')
        is_lost_once(t, r, '')
        t.match(r'^([1-9]\d*) of \1 allocations identical', t.tsdb('replay', 'w.sbt').out, how)
        os.unlink(t.path('w.sbt'))


def test_a_fault_of_a_program_that_was_attached_to(t):
    """It cannot be run again: what keeps memory is a capture before the fault."""
    t.need_soft()
    prepare(t)
    for commands, what in (((), r'  Device memory is lost: no capture was on\. `capture start` before the fault keeps it\.'),
                           (('capture start a.sbt',), 'As it was before #\\d+, where the capture began:')):
        p = subprocess.Popen([sys.executable, 'steps.py', 'touch', 'wait', 'touch', 'stray'], cwd=t.dir, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                             env=t.environment({'LD_LIBRARY_PATH': os.path.join(BUILD, 'softgpu')}), stderr=subprocess.DEVNULL, text=True)
        while p.stdout.readline() != 'waits\n':
            t.equal(p.poll(), None, 'the program')
        ex = [x for c in (*commands, 'shell touch go', 'continue', 'x/2xw arg0', 'detach') for x in ('-ex', c)]
        r = t.tsdb('--batch', '-p', str(p.pid), *ex, timeout=90)
        t.match(r'^The GPU has faulted', r.out)
        t.match(f'^{what}$', r.out)
        t.equal(p.communicate(timeout=60)[0], 'touch 0\nstray 700\n', 'what the program prints')
        os.unlink(t.path('go'))


def test_few_descriptors(t):
    """All of tsdb, the keeper and the program under a low limit: memory is kept, or it is said that it is not."""
    t.need_soft()
    for limit in (8, 9, 12, 16):
        r = t.run(['sh', '-c', f'ulimit -n {limit}; exec "$@"', 'sh', tsdb_path(), '--gpu', 'soft', '--batch', '-ex', WINDOW, '-ex', 'run', '-ex',
                   'x/2xw arg0', '-ex', 'continue', '--args', program('fault_kept')])
        kept = re.search(r'^As it was before #\d+, where the capture began:\n0x[0-9a-f]+:\t0x00000001\t0x9e3779b2$', r.out, re.M)
        t.equal(r.err.count(LOST), 0 if kept else 1, f'sentences about what is lost with {limit} descriptors')
        t.match(r'^The GPU has faulted', r.out)
        t.match(f'^{FAULTS}$', r.out)
        t.match(r'exited normally', r.out)
