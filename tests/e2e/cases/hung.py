# SPDX-License-Identifier: Apache-2.0
"""Processes of tsdb's that do not end when they are killed, as those that hang in a driver do not: nobody waits for them without a limit. Here somebody traces
them, who does not look at them, so that their end is not told to their parent (ptrace(2))."""
import ctypes
import os
import signal
import subprocess
import threading
import time

from e2e import Failure, Skip, program, tsdb_path

SEIZE = 0x4206
WALL = 0x40000000


def child_called(parent, name):
    for pid in filter(str.isdigit, os.listdir('/proc')):
        try:
            with open(f'/proc/{pid}/stat', encoding='utf-8', errors='replace') as f:
                text = f.read()
            if text[text.index('(') + 1:text.rindex(')')] == name and int(text.rpartition(')')[2].split()[1]) == parent:
                return int(pid)
        except (OSError, ValueError):
            pass
    return None


def ends_without(t, name, argv):
    """tsdb ends though its process `name`, which it starts before it runs `shell`, does not."""
    wait = 'touch there; while [ ! -e go ]; do sleep 0.05; done'
    p = subprocess.Popen([tsdb_path(), '--gpu', 'soft', '--batch', *argv(f'shell {wait}')], cwd=t.dir, env=t.environment(), stdin=subprocess.DEVNULL,
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True)
    held = None
    try:
        end = time.monotonic() + 60
        while not os.path.exists(t.path('there')) or not (held := child_called(p.pid, name)):
            if p.poll() is not None or time.monotonic() > end:
                raise Failure(f'no {name}: {p.communicate()[0] if p.poll() is not None else ""}')
            time.sleep(0.02)
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.ptrace(SEIZE, held, None, None) != 0:
            raise Skip(f'{name} cannot be traced here: {os.strerror(ctypes.get_errno())}')
        with open(t.path('go'), 'w'):
            pass
        try:
            p.communicate(timeout=60)
        except subprocess.TimeoutExpired:
            raise Failure(f'tsdb waits for the end of {name}') from None
        t.equal(p.returncode, 0, 'exit status')
        with open(f'/proc/{held}/stat', encoding='utf-8') as f:
            t.equal(f.read().rpartition(')')[2].split()[0], 'Z', f'{name} was killed')
    finally:
        if p.poll() is None:
            os.killpg(p.pid, signal.SIGKILL)
            p.communicate()
        if held:
            try:
                os.waitpid(held, WALL)
            except ChildProcessError:
                pass


def in_a_thread(fn, *args):
    """Who traces is a thread; the tests' own may be another one when it is to let go."""
    raised = []

    def run():
        try:
            fn(*args)
        except BaseException as e:  # noqa: BLE001
            raised.append(e)
    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    if raised:
        raise raised[0]


def test_a_keeper_that_does_not_end(t):
    t.need_soft()
    in_a_thread(ends_without, t, 'tsdb-keeper', lambda wait: ['-ex', 'capture window kernel stray count 2', '-ex', 'run', '-ex', wait, '--args',
                                                             program('fault_kept')])


def test_a_replayer_that_does_not_end(t):
    t.need_soft()
    t.equal(t.record('vecadd').status, 0, 'record')
    in_a_thread(ends_without, t, 'tsdb-replayer', lambda wait: ['-ex', 'replay start', '-ex', wait, 't.sbt'])
