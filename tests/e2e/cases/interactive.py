# SPDX-License-Identifier: Apache-2.0
"""The shell on a terminal (pexpect): prompt, completion, history, Ctrl-C, quit."""
import os
import re
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from record import processes_with  # noqa: E402
from e2e import Failure, Skip, program, tsdb_path  # noqa: E402

try:
    import pexpect
except ImportError:
    pexpect = None


class Terminal:
    def __init__(self, t, *args):
        if not pexpect:
            raise Skip('python3-pexpect is not installed')
        env = t.environment({'TERM': 'xterm', 'NO_COLOR': '1'})
        self.t = t
        self.p = pexpect.spawn(tsdb_path(), ['--gpu', t.gpu, *args], cwd=t.dir, env=env, encoding='utf-8', timeout=90,
                               dimensions=(40, 120))

    def expect(self, pattern):
        try:
            self.p.expect(pattern)
        except (pexpect.TIMEOUT, pexpect.EOF) as e:
            raise Failure(f'waiting for {pattern!r}, the screen shows\n{self.p.before!r}\n{type(e).__name__}') from None
        return self.p.before + (self.p.after if isinstance(self.p.after, str) else '')

    def prompt(self):
        return self.expect(r'\(tsdb\) ')

    def type(self, line):
        self.p.sendline(line)
        return self.prompt()

    def quit(self):
        self.p.sendline('quit')
        i = self.p.expect([r'[(]y or n[)]', pexpect.EOF])
        if i == 0:
            self.p.sendline('y')
            self.p.expect(pexpect.EOF)
        self.p.close()


def test_session(t):
    s = Terminal(t, '-q', '--args', program('pipeline'))
    s.prompt()
    t.match(r'Breakpoint 1 at kernel', s.type('break kernel *'))
    t.match(r'Breakpoint 1, #\d+ ', s.type('run'))
    t.match(r'#0 ', s.type('bt'))
    t.match(r'[Ss]tream', s.type('info streams'))
    s.quit()


def test_a_question_wants_y_or_n(t):
    s = Terminal(t, '-q', '--args', program('pipeline'))
    s.prompt()
    s.type('break kernel *')
    s.type('run')
    s.p.sendline('kill')
    s.expect('[(]y or n[)] ')
    s.p.sendline('info streams')
    s.expect(r'Please answer y or n\.\r\n.*[(]y or n[)] ')
    t.no_match('killed', s.type('n'))
    s.quit()


def test_ctrl_c_stops_the_program_not_tsdb(t):
    s = Terminal(t, '-q', '--args', program('long_running'), '60')
    s.prompt()
    s.p.sendline('run')
    s.expect(r'long_running: running')
    s.p.sendintr()
    t.match(r'SIGINT|[Ii]nterrupt', s.prompt())
    t.match(r'#0', s.type('bt'))
    s.p.sendline('kill')
    s.expect(r'[(]y or n[)]|\(tsdb\) ')
    if 'y or n' in s.p.after:
        s.type('y')
    s.quit()


def test_ctrl_c_at_the_prompt_keeps_the_shell(t):
    s = Terminal(t, '-q')
    s.prompt()
    s.p.send('info str')
    s.p.sendintr()
    s.prompt()
    s.quit()


def test_ctrl_c_leaves_the_commands_of_a_breakpoint(t):
    s = Terminal(t, '-q')
    s.prompt()
    s.type('break copy')
    s.p.sendline('commands')
    s.expect(r'\r\n>')
    s.p.sendline('bt')
    s.expect(r'\r\n>')
    s.p.sendintr()
    t.match(r'has no end', s.prompt())
    t.no_match(r'bt', s.type('info breakpoints'))
    s.quit()


def test_completion(t):
    s = Terminal(t, '-q')
    s.prompt()
    s.p.send('cond\t')
    s.expect('ition ')
    s.p.sendcontrol('u')
    s.p.send('info alloc\t')
    s.expect('ations ')
    s.p.sendcontrol('u')
    s.p.sendline('')
    s.prompt()
    s.quit()


def test_history_is_kept(t):
    s = Terminal(t, '-q')
    s.prompt()
    s.type('show version')
    s.quit()
    s = Terminal(t, '-q')
    s.prompt()
    s.p.send('\x1b[A')
    s.p.send('\x1b[A')
    s.expect('show version')
    s.p.sendcontrol('u')
    s.p.sendline('')
    s.prompt()
    s.quit()


def test_empty_line_repeats_a_step(t):
    t.record('pipeline')
    s = Terminal(t, '-q', 't.sbt')
    s.prompt()
    s.type('replay start')
    a = re.findall(r'#(\d+)', s.type('replay step'))
    b = re.findall(r'#(\d+)', s.type(''))
    t.check(a and b and int(b[0]) > int(a[0]), f'replay step, then an empty line: {a}, {b}')
    s.quit()


def test_end_of_input_quits(t):
    s = Terminal(t, '-q')
    s.prompt()
    s.p.sendeof()
    s.p.expect(pexpect.EOF)
    s.p.close()
    t.equal(s.p.exitstatus, 0, 'exit status')


def test_quit_leaves_no_process(t):
    s = Terminal(t, '-q', '--args', program('long_running'), '60', t.dir)
    s.prompt()
    s.type('break kernel *')
    s.type('run')
    s.quit()
    t.equal(processes_with(t.dir), [], 'processes left behind')


def test_the_prompt_comes_back_after_a_stop(t):
    if not pexpect:
        raise Skip('python3-pexpect is not installed')
    env = t.environment({'TERM': 'xterm', 'NO_COLOR': '1', 'PS1': 'shell> '})
    p = pexpect.spawn('/bin/bash', ['--norc', '--noprofile', '-i'], cwd=t.dir, env=env, encoding='utf-8', timeout=90, dimensions=(40, 120))
    p.expect('shell> ')
    p.sendline(f'{tsdb_path()} -q')
    p.expect(r'\(tsdb\) ')
    p.send('echo half')
    p.expect('echo half')
    p.sendcontrol('z')
    p.expect('shell> ')
    p.sendline('fg')
    p.expect(r'\(tsdb\) echo half')
    p.sendline('\\n')
    p.expect(r'half\r\n\(tsdb\) ')
    p.setwinsize(30, 60)
    p.sendline('echo after\\n')
    p.expect(r'after\r\n\(tsdb\) ')
    p.sendline('quit')
    p.expect('shell> ')
    p.close(force=True)
