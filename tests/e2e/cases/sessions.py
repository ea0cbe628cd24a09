# SPDX-License-Identifier: Apache-2.0
"""Races, replays and launches through libtracesmith: the Python module, and examples/time_travel.c as C and as C++."""
import os
import sys

from e2e import BUILD, SRC, Skip, first_existing
from cases.replay import race_demo
from cases.pymodule import module, python, with_module

SCENARIO = '''
import json, sys, tracesmith as ts
t = ts.open("race_demo.sbt")
r = t.races()[0]
assert (r.a.seq, r.b.seq, r.addr, r.size) == (18, 21, 0x302000000, 4096) and "cuStreamWaitEvent on stream 2" in r.cure
w = t.order.why(18, 21); assert not w.ordered and "may begin before" in w.text
assert t.order.why(1, 18).before_seq == 1
assert t.stats() and t.critical_path("--top 1")
assert ts.diff("race_demo.sbt", "race_demo.sbt")
with t.replay(on="soft") as p:
    p.goto(21); assert p.seq == 21 and p.command == t[21]
    a = p.memory(p.command.args[1], dtype="f4"); assert len(a) == 1024 and a[0] == 1.0, a
    assert p.who_wrote(a).seq == 18
    p.step(-4); assert p.seq == 17 and p.memory(a, 4, "f4")[0] == 0
    p.write(a, b"\\0\\0\\xc8\\x42"); assert p.memory(a, 4, "f4")[0] == 100
    p.ask("replay restart")
    assert p.break_kernel("consume") == 1
    s = p.go_on(); assert (s.why, s.seq) == ("breakpoint", 21) and s.stack[-1].function == "main", s
    assert s.breakpoints == [1] and s.fields.in_replay and s.fields.kernel_name == "consume" and not s.fields.before
    assert p.go_back().why == "begin"
    p.ask("delete"); p.goto(17); p.ask("watch 0x302000000 len 4096"); s = p.go_on()
    assert (s.why, s.seq, s.breakpoints, s.watch.by, s.watch.addr) == ("watchpoint", 18, [2], 18, 0x302000000), s.fields
    assert s.watch.bytes_before == "00" * 32 and s.watch.bytes_after == "0000803f" * 8 and s.watch.size == 4096, s.watch
    p.ask("delete")
    c = p.check(); assert c.checked
for f in (lambda: p.seq, lambda: p.ask("when"), lambda: p.memory(1, 1)):
    try: f(); raise SystemExit("closed")
    except ValueError: pass
# an order that the program allows gives a wrong sum: from it back to who wrote it, both streams, the schedule once more
with t.replay(on="soft") as p:
    found = ts.Object(json.loads(p.ask("replay explore --json"))).found[0]
    p.goto(71); assert p.memory(found.addr, 4, "f4")[0] == 55
wrong = ts.open(found.trace)
with wrong.replay(on="soft") as p:
    assert p.go_on().why == "end" and p.memory(found.addr, 4, "f4")[0] == 54
    p.ask(f"watch {found.addr:#x} len 4"); s = p.go_back()
    assert (s.why, s.fields.kernel_name, s.fields.stream, s.watch.bytes_after) == ("watchpoint", "consume", 2, "00005842"), s.fields
    assert p.who_wrote(found.addr, 4).seq == s.seq
    states = {n: x.status for n, x in wrong.state(s.seq).streams.items()}; assert len(states) == 3 and states[2] == "Running", states
    v = p.verify(); assert (v.identical, v.allocations, v.differences) == (2, 2, []), v
with ts.launch([sys.argv[1]], record="it's 'new'.sbt") as p:
    p.break_kernel("consume", condition="stream == 2")
    s = p.run(); assert s.why == "breakpoint" and s.command.kernel_name == "consume", s
    assert any(f.function == "main" for f in s.stack)
    assert s.breakpoints == [1] and s.seq == s.fields.seq and s.fields.stream == 2 and s.fields.before, s.fields
    p.ask("delete"); s = p.go_on(); assert (s.why, s.fields.exit_code, s.seq) == ("exited", s.fields.exit_code & 1, None), s.text
assert [c.kind for c in ts.open("it's 'new'.sbt")] == [c.kind for c in t]
for f, code in ((lambda: ts.launch(["/nowhere"]), "system"), (lambda: t.replay(on="moon"), "usage"), (lambda: t.races("--moon"), "usage"),
                (lambda: t.order.why(18, 99999), "not found"), (lambda: t.order.why(99999, 18), "not found"), (lambda: t.order.why(18, 18), "usage")):
    try: f(); raise SystemExit("not refused")
    except ts.Error as e: assert e.code == code or print(e.code, e), e
print("right")
'''
HOSTILE = '''
import os, signal, subprocess, sys, threading, time
import tracesmith as ts
t = ts.open("race_demo.sbt")
def refused(what, f):
    try:
        f()
    except what as e:
        assert str(e)
        return
    raise SystemExit("not refused")
p = t.replay(on="soft")
refused(ts.Error, lambda: p.memory(0x10, 8))
refused(ts.Error, lambda: p.memory(2**64 - 4, 8))
refused(ts.Error, lambda: p.goto(10**18))
refused(ts.Error, lambda: p.break_at("kernel x if ("))
refused(ts.Error, lambda: p.ask("no such command"))
refused(ts.Error, lambda: p.who_wrote(1, 4))
refused(ValueError, lambda: p.break_at("launch\\nquit"))
p.goto(21)
assert p.seq == 21                      # refusals leave it in order
wrong = []
def many():
    try:
        for _ in range(10):
            assert p.seq == 21 and len(p.memory(0x302000000, 64)) == 64
    except BaseException as e:
        wrong.append(e)
threads = [threading.Thread(target=many) for _ in range(4)]
[x.start() for x in threads]; [x.join() for x in threads]
assert not wrong, wrong
# its tsdb is killed: an error, then "ended", and closing is fine
mine = subprocess.run(["pgrep", "-P", str(os.getpid()), "tsdb"], capture_output=True, text=True).stdout.split()
assert mine
for pid in mine:
    os.kill(int(pid), signal.SIGKILL)
refused(ts.Error, lambda: p.seq)
refused(ts.Error, lambda: p.seq)
p.close()
# traces that are closed or cut
t.close()
refused(ValueError, t.races)
data = open("race_demo.sbt", "rb").read()
for n in (0, 5, 100, len(data) // 2, len(data) - 9):
    open("cut.sbt", "wb").write(data[:n])
    try:
        with ts.open("cut.sbt") as c, c.replay(on="none") as r:
            c.races("--no-exact"), r.goto(1)
    except ts.Error as e:
        assert str(e)
print("alive")
'''
NUMPY = '''
import numpy, tracesmith as ts
with ts.open("race_demo.sbt") as t, t.replay(on="soft") as r:
    r.goto(21)
    m = r.memory(r.command.args[1], dtype="f4")
    a = numpy.asarray(m)
    assert a.dtype == "float32" and a.shape == (1024,) and (a == 1).all()
    r.write(m, numpy.arange(1024, dtype="f4"))
    assert numpy.asarray(r.memory(m, dtype="f4"))[7] == 7
print("numpy")
'''


def test_the_scenario_in_python(t):
    module()
    race_demo(t, 'race_demo.sbt', ['--timestamps'])
    program = first_existing(os.path.join(BUILD, 'examples', 'race_demo'))
    t.match('right\n$', python(t, SCENARIO, program, timeout=120))


def test_numpy_takes_memory(t):
    interpreter = with_module(t, 'numpy')
    race_demo(t, 'race_demo.sbt', ['--timestamps'])
    t.equal(python(t, NUMPY, interpreter=interpreter), 'numpy\n', 'numpy')


def test_what_cannot_be_is_an_error(t):
    module()
    race_demo(t, 'race_demo.sbt', ['--timestamps'])
    t.match('alive\n$', python(t, HOSTILE, timeout=120))


INSTALLED = '''
import ctypes, sys
l = ctypes.CDLL(sys.argv[1])
l.ts_error.restype = ctypes.c_char_p
t, a = ctypes.c_void_p(), ctypes.c_void_p()
for r in l.ts_open(ctypes.byref(t), b"race_demo.sbt"), l.ts_races(ctypes.byref(a), t, b"--no-exact"):
    if r:
        raise SystemExit(l.ts_error().decode())
print("asked")
'''


def test_an_installed_library_finds_tsdb(t):
    """As `make install` lays it out: beside the library is a folder named tsdb."""
    library = first_existing(os.path.join(BUILD, 'libtracesmith.so.0'))
    tsdb = first_existing(os.path.join(BUILD, 'tsdb'))
    if not library or not tsdb:
        raise Skip('libtracesmith is not there')
    t.record('race_demo', out='race_demo.sbt')
    for d in 'bin', 'lib', 'lib/tsdb':
        os.mkdir(t.path(d))
    t.copy_program(library, 'lib/libtracesmith.so.0')
    os.symlink(tsdb, t.path('bin/tsdb'))
    r = t.run([sys.executable, '-c', INSTALLED, t.path('lib/libtracesmith.so.0')])
    t.equal((r.status, r.out), (0, 'asked\n'), r.err)


def test_the_scenario_in_c_and_cxx(t):
    library = first_existing(os.path.join(BUILD, 'libtracesmith.so.0'))
    program = first_existing(os.path.join(BUILD, 'examples', 'race_demo'))
    header = os.path.join(SRC, 'include')
    if not library or not program or not os.path.isdir(header):
        raise Skip('libtracesmith, its header or race_demo is not there')
    race_demo(t, 'race_demo.sbt', ['--timestamps'])
    for compiler, language in (('cc', 'c'), ('c++', 'c++')):
        if t.run(['sh', '-c', f'command -v {compiler}']).status:
            raise Skip(f'no {compiler}')
        r = t.run([compiler, '-Wall', '-Wextra', '-Werror', f'-I{header}', '-x', language, os.path.join(SRC, 'examples/time_travel.c'),
                   '-x', 'none', library, f'-Wl,-rpath,{BUILD}', '-o', t.path('travel')])
        t.equal(r.status, 0, f'{compiler}: {r.err}')
        r = t.run([t.path('travel'), 'race_demo.sbt', program])
        t.equal(r.status, 0, r.err)
        states = [line for line in r.out.splitlines() if line.startswith('stream ')]
        t.equal((len(states), states[-1]), (3, 'stream 2: Running'), 'the streams, while consume runs on stream 2')
        t.equal(r.out.splitlines(), [
            'race: #18 and #21',
            'missing: cuStreamWaitEvent on stream 2 before #21, for an event recorded on stream 1 after #18',
            'why: #21 may begin before #18 has finished: it waits for nothing of stream 1',
            'at #21: 1', 'written by #18', 'before it, at #17: 0', 'what if: 100',
            'the sum: 55', 'end, the sum: 54', 'written by: consume', *states, 'replayed: 2 of 2 identical',
            'breakpoint 1: reached from consume(float*, float const*, int)'], language)
        with open(os.path.join(SRC, 'docs', 'library.md'), encoding='utf-8') as f:
            t.equal(r.out, f.read().split('```text\n')[1].split('```')[0], 'the lines of docs/library.md')
        t.match(r'no trace|cannot|No such', t.run([t.path('travel'), '/nowhere']).err)
