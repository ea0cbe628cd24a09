#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs one test program, ends it when it takes too long, and lets nothing that it started outlive it.

    limited.py PROGRAM [ARGUMENT...]

A test that waits for ever, or that leaves a process which holds its output open, would stop the whole suite without a word. Here it becomes
an error that says what was running. Every process that the test starts, however it detaches itself, ends up as a child of this one
(prctl(2), PR_SET_CHILD_SUBREAPER), so that none can be missed.

Environment: TSDB_TEST_LIMIT, seconds (1500). Exit status: the program's; 99 (automake's "hard error") after "Bail out!".
"""
import ctypes
import os
import signal
import sys
import time

LIMIT = float(os.environ.get('TSDB_TEST_LIMIT', '1500'))
GRACE = 20  # seconds for what is ending by itself after the test
PR_SET_CHILD_SUBREAPER = 36


def status_of(pid):
    """(parent, state) of a process, None when there is none; the name may hold blanks and parentheses, so from its end."""
    try:
        with open(f'/proc/{pid}/stat', encoding='utf-8', errors='replace') as f:
            words = f.read().rpartition(')')[2].split()
        return int(words[1]), words[0]
    except (OSError, IndexError, ValueError):
        return None


def descendants():
    """pids of all processes below this one that still run, parents before children."""
    children = {}
    for pid in filter(str.isdigit, os.listdir('/proc')):
        at = status_of(pid)
        if at and at[1] not in 'ZX':
            children.setdefault(at[0], []).append(int(pid))
    found = [os.getpid()]
    for pid in found:
        found += children.get(pid, [])
    return found[1:]


def told(pid):
    """One line on a process: its number, what it does in the kernel, its command line."""
    def read(name):
        try:
            with open(f'/proc/{pid}/{name}', 'rb') as f:
                return f.read().replace(b'\0', b' ').decode(errors='replace').strip()
        except OSError:
            return '?'
    return f'# {pid} (of {(status_of(pid) or "?")[0]}, in {read("wchan") or "?"}): {read("cmdline")[:300] or read("comm")}'


class Test:
    """The test program, and whatever ends below this process: the kernel gives it to us, so it is collected at once, as init would."""

    def __init__(self, argv):
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGCHLD])
        self.status = None
        self.pid = os.posix_spawnp(argv[0], argv, os.environ, setsigmask=())

    def collect(self):
        try:
            while True:
                pid, status = os.waitpid(-1, os.WNOHANG)
                if not pid:
                    return
                if pid == self.pid:
                    self.status = os.waitstatus_to_exitcode(status)
        except ChildProcessError:
            pass

    def wait(self, done, seconds):
        """Collects until done() or the time is over; says whether it is done."""
        until = time.monotonic() + seconds
        while True:
            self.collect()
            left = until - time.monotonic()
            if done() or left <= 0:
                return done()
            signal.sigtimedwait([signal.SIGCHLD], min(left, 1))

    def ended(self):
        return self.status is not None

    def end_all(self):
        """Kills every descendant. What is stopped or traced dies of SIGKILL too; new children of dying ones come in the next round."""
        def none_left():
            left = descendants()
            for pid in left:
                try:
                    os.kill(pid, signal.SIGKILL)
                except OSError:
                    pass
            return not left
        self.wait(none_left, 30)


def bail(why, lines):
    """What is known, then the reason: automake's driver reads no further."""
    try:
        print(*lines, f'Bail out! {why}', sep='\n', flush=True)
    except BrokenPipeError:
        pass
    return 99


def main():
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    name = os.path.basename(sys.argv[-1])
    try:
        test = Test(sys.argv[1:])
    except OSError as e:
        return bail(f'{name}: {e.strerror}', [])

    def interrupted(number, _):
        test.end_all()
        os._exit(128 + number)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, interrupted)
    if not test.wait(test.ended, LIMIT):
        lines = [told(pid) for pid in descendants()]
        os.kill(test.pid, signal.SIGTERM)  # Python's tests say where they are
        test.wait(test.ended, 5)
        test.end_all()
        return bail(f'{name} did not end within {LIMIT:.0f} s', lines)
    if not test.wait(lambda: not descendants(), GRACE):
        lines = [told(pid) for pid in descendants()]
        test.end_all()
        return bail(f'{name} left processes running', lines)
    return test.status if test.status >= 0 else 128 - test.status


if __name__ == '__main__':
    sys.exit(main())
