# SPDX-License-Identifier: Apache-2.0
"""Python in tsdb's shell: statements, blocks, files, commands and conditions of the user's own; what goes wrong stays in its process."""
import os
import re
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from e2e import tsdb_path  # noqa: E402
from pymodule import module  # noqa: E402
from replay import find, race_demo  # noqa: E402


def write(t, name, text):
    with open(t.path(name), 'w', encoding='utf-8') as f:
        f.write(text)


def shell(t, *commands, trace='t.sbt', status=0):
    ex = [x for c in commands for x in ('-ex', c)]
    r = t.tsdb('--batch', '--no-init', *ex, *([trace] if trace else []))
    t.equal(r.status, status, 'exit status')
    return r


SCRIPT = '''
import tsdb
def hello(args):
    print("hello", repr(args), "at", tsdb.replay.seq)
tsdb.register_command("hello", hello)
tsdb.execute("replay start --on soft")
tsdb.execute("goto 21")
r = tsdb.replay
a = r.memory(r.command.args[1], dtype="f4")
assert (a[0], len(a), r.who_wrote(a).seq, tsdb.trace[21].kernel) == (1.0, 1024, 18, "consume")
assert tsdb.memory(a, 4, "f4")[0] == 1.0
r.write(a, b"\\0\\0\\xc8\\x42")
try:
    tsdb.execute("goto 999999")
except tsdb.Error as e:
    print("refused:", e.code)
tsdb.execute("replay restart")
'''


def test_statements_and_blocks(t):
    module()
    race_demo(t)
    write(t, 'block.tsdb', 'python\nfor i in range(3):\n    if i == 2:\n        print("i is", i)\nend\n'
            'define foo\npython\nfor i in range(2):\n    print("foo", i)\nend\nend\nfoo\n')
    r = shell(t, 'python 20 + 1', 'py x = 3', 'python x * 2', 'python print(len(tsdb.trace) > 50, tsdb.ask("when"))', 'source block.tsdb', status=1)
    t.match(r'^21\n6\n', r.out)
    t.match(r'no replay is on', r.err)  # `when` without one: the exception's sentence
    r = shell(t, 'python print(tsdb.trace[21].kernel)', 'source block.tsdb', 'pipe python print("Piped") | tr a-z A-Z')
    t.equal(r.out, 'consume\ni is 2\nfoo 0\nfoo 1\nPIPED\n', 'the screen')


def test_a_file_and_a_command(t):
    t.need_soft()
    module()
    race_demo(t)
    write(t, 's.py', SCRIPT)
    r = shell(t, 'source s.py', 'goto 21', 'x/1fw arg1', 'hello  a  "b c"', 'hello')
    t.match(r'^refused: not found$', r.out)
    t.match(r'^hello \'a  "b c"\' at 21$', r.out)
    t.match(r"^hello '' at 21$", r.out)
    t.match(r'^0x302000000\b.*\b1$', r.out)  # the what-if is gone


def test_conditions(t):
    t.need_soft()
    module()
    race_demo(t)
    want = find(t, 'consume<<<', which=2)
    condition = f'python n = tsdb.breakpoint("kernel consume", condition=lambda s: s.seq >= {want} and s.stream == 2)'
    r = shell(t, 'replay start --on soft', condition, 'continue', 'when')
    t.match(rf'^Breakpoint 1, #{want} consume', r.out)
    t.match(rf'^#{want} consume.*\n#{want} of ', r.out)
    r = shell(t, 'replay start --on soft', condition, 'python s = tsdb.replay.go_on(); print(s.why, s.seq)', 'python tsdb.execute("goto begin\\ncontinue"); print(tsdb.replay.seq)')
    t.match(rf'^breakpoint {want}$', r.out)
    t.match(rf'^{want}$', r.out)
    r = t.session('race_demo', 'python n = tsdb.breakpoint("kernel consume", condition=lambda s: s.before and s.seq > 30)', 'run',
                  'python print(tsdb.session.stack[-1].function)', 'delete', 'continue')
    t.match(r'^Breakpoint 1, #3\d consume', r.out)
    t.match(r'^main$', r.out)
    t.match(r'exited normally', r.out)


def test_what_goes_wrong(t):
    module()
    write(t, 'json.py', 'print("of the folder")')
    write(t, 'bad.py', 'def f():\n    return 1 / 0\nf()\n')
    r = shell(t, 'python 1 / 0', 'python x = (', 'python import os; os.kill(os.getpid(), 9)', 'python import sys; sys.exit(3)',
              'python tsdb.execute("python 1")', 'python tsdb.execute("nonsense")', 'source bad.py', 'source none.py', 'python @none', 'python "alive"',
              trace=None, status=1)
    for what in ('ZeroDivisionError: division by zero', 'SyntaxError: ', 'SystemExit: 3', 'Python is in the middle of something',
                 'unknown command: nonsense', 'FileNotFoundError', 'no command @none is registered'):
        t.match('^tsdb: Python: .*' + re.escape(what), r.err)
    t.match('^tsdb: Python was ended by signal 9', r.err)
    t.match(r'bad.py", line 2, in f', r.err)
    t.equal(r.out, "'alive'\n", 'the screen')  # no module was taken from the folder that tsdb is in
    r = shell(t, 'python try: pass', 'python tsdb.ask("nonsense")', trace=None, status=1)
    t.match('unknown command: nonsense', r.err)


def test_ctrl_c(t):
    """It ends what Python does, and where Python ignores it, Python."""
    module()
    write(t, 'loop.tsdb', 'python\nprint("looping", flush=True)\nwhile True:\n    pass\nend\n')
    write(t, 'deaf.tsdb', 'python\nimport signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\nprint("looping", flush=True)\nwhile True:\n    pass\nend\n')
    for script, said in ('loop.tsdb', 'KeyboardInterrupt'), ('deaf.tsdb', 'Python was ended by signal 9'):
        p = subprocess.Popen([tsdb_path(), '--batch', '-x', script, '-ex', 'python print("alive")'], cwd=t.dir, env=t.environment(None),
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True)
        t.equal(p.stdout.readline(), 'looping\n', 'it runs')
        p.send_signal(signal.SIGINT)
        out = p.communicate(timeout=120)[0]
        t.match(said, out)
        t.match('^alive$', out)


PRINTERS = '''
import tsdb, time
def pointer(v):
    return f"-> {tsdb.memory(int(v), 4, 'f4')[0]:g} at {int(v):#x}"
tsdb.register_printer("const float *", pointer)
tsdb.register_printer("int", lambda v: f"{v.unpack('<i')[0]} things\\\\x1b[31m" + chr(27) + "\\\\n")
tsdb.register_printer("float *", lambda v: None)
for wrong in (5, "x"), ("", print), ("a\\\\nb", print):
    try:
        tsdb.register_printer(*wrong)
        raise SystemExit("not refused")
    except (TypeError, ValueError):
        pass
'''


def test_printers(t):
    """The newest for a type shows its values, in `print`, `info args` and JSON; what it makes is safe; what goes wrong in one is said."""
    t.need_soft()
    module()
    race_demo(t)
    write(t, 'p.py', PRINTERS.replace('\\\\', '\\'))
    at = ['replay start --on soft', 'goto 21']
    plain = shell(t, *at, 'info args').out
    r = shell(t, *at, 'source p.py', 'info args', 'print in', 'print n', 'print/x n', 'info args --json', 'python tsdb.register_printer("int", None)', 'print n')
    t.match(r'^in = .*-> 1 at 0x302000000$', r.out)
    t.match(r'^n = 1024 things\\x1b\[31m\\x1b\\x0a$', r.out)
    t.match(r'^\$\d+ = -> 1 at 0x302000000$', r.out)
    t.match(r'^\$\d+ = 1024 things', r.out)
    t.match(r'^\$\d+ = 0x400$', r.out)
    t.match(r'"shown":"1024 things\\\\x1b', r.out)
    t.match(r'^\$\d+ = 1024$', r.out)
    t.match('^' + re.escape(re.search(r'^sum = .*$', plain, re.M).group(0)) + '$', r.out)  # None: as always
    r = shell(t, *at, 'python tsdb.register_printer("i*", lambda v: 1 / 0)', 'print n', 'python tsdb.register_printer("i*", lambda v: 5)', 'print n',
              'python tsdb.register_printer("i*", lambda v: __import__("os")._exit(3))', 'print n', 'print n', 'python "alive"')
    t.equal(len(re.findall(r'^\$\d+ = 1024$', r.out, re.M)), 4, 'shown as always')
    for what in 'ZeroDivisionError', 'a printer returns a text or None, not int', 'ended with status 3':
        t.match(f'^The printer for int failed: .*{what}', r.err)
    t.match("'alive'", r.out)


def test_ctrl_c_in_a_printer(t):
    t.need_soft()
    module()
    race_demo(t)
    write(t, 'hang.py', 'import tsdb\ndef hang(v):\n    print("looping", flush=True)\n    while True:\n        pass\ntsdb.register_printer("int", hang)\n')
    p = subprocess.Popen([tsdb_path(), '--batch', '--no-init', '-ex', 'replay start --on soft', '-ex', 'goto 21', '-ex', 'source hang.py', '-ex', 'print n',
                          '-ex', 'python tsdb.register_printer("int", None)', '-ex', 'print n', t.path('t.sbt')], cwd=t.dir, env=t.environment(None),
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True)
    while 'looping' not in (line := p.stdout.readline()):
        t.check(line, 'it ended')
    p.send_signal(signal.SIGINT)
    out = p.communicate(timeout=120)[0]
    t.match('^The printer for int failed: .*KeyboardInterrupt', out)
    t.equal(len(re.findall(r'^\$\d+ = 1024$', out, re.M)), 2, f'shown as always: {out}')
