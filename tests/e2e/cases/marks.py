# SPDX-License-Identifier: Apache-2.0
"""What programs say of themselves: tracesmith/mark.h (tests/programs/marks.cu) and tracesmith.mark(), window(), trigger() in Python; recorded, at
stops, in windows, without a tsdb, with one that attaches, in forked children, with other compilers."""
import json
import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from attach import Running  # noqa: E402
from e2e import BUILD, SRC, Skip, program  # noqa: E402
from pymodule import module  # noqa: E402

ALL = 'marks: 333, 14 taken, 300 of the thread, 0 of the child, active 1\n'


def kernels(t, *args):
    return [line.split()[1].split('<')[0] for line in t.tsdb('view', *args, '--kind', 'launch').out.splitlines() if line.startswith('#')]


def marks(t, trace):
    """(mark_kind, text, thread) of each mark."""
    rows = map(json.loads, t.tsdb('view', trace, '--kind', 'mark', '--json').out.splitlines())
    return [(c['mark_kind'], c['text'], c['thread']) for c in rows]


def test_a_recording_has_them(t):
    r = t.record('marks')
    t.equal((r.status, r.out), (0, ALL), 'record')
    main = [(k, text) for k, text, thread in marks(t, 't.sbt') if thread == 1]
    want = [(0, 'before the GPU')]
    for i in range(3):
        want += [(1, f'step {i}'), (1, 'inner'), (2, ''), (2, '')] + [(3, 'the loss is "large"')] * (i == 1)
    t.equal(main, want, 'the main thread')
    t.equal([m[:2] for m in marks(t, 't.sbt') if m[2] != 1], [(1, 'of the thread'), (0, 'in the thread'), (2, '')] * 100, 'the other thread')
    t.equal(kernels(t, 't.sbt', '--nvtx', 'step 1'), ['in_window', 'in_inner'], 'in a window')
    t.equal(kernels(t, 't.sbt', '--nvtx', 'inner'), ['in_inner'] * 3, 'in the ranges')
    t.match(r'^#\d+ mark trigger "the loss is \\"large\\""$', t.tsdb('view', 't.sbt', '--kind', 'mark').out)
    r = t.tsdb('diff', 't.sbt', 't.sbt', '--step', 'A:1', 'B:2')
    t.match('^Step 2 of B, of 3 by NVTX ranges', r.out)
    r = t.tsdb('--batch', '-ex', 'replay start --on none', '-ex', 'break mark "step 2"', '-ex', 'continue', '-ex', 'goto mark step* nth 2', 't.sbt')
    t.match(r'^Breakpoint 1, #\d+ mark push "step 2"$', r.out)
    t.match(r'^#\d+ mark push "step 1"', r.out)


def test_windows_each_in_a_trace_of_its_own(t):
    r = t.record('marks', options=('--windows',), out='w.sbt')
    t.equal((r.status, r.out), (0, ALL), 'record')
    for i, name in enumerate(('w.sbt', 'w.1.sbt', 'w.2.sbt')):
        t.equal(kernels(t, name), ['in_window', 'in_inner'], name)
        t.equal([m[:2] for m in marks(t, name)], [(1, f'step {i}'), (1, 'inner'), (2, ''), (2, '')], name)
        r = t.tsdb('replay', name, '--verify')
        t.match('^Verified', r.out)
    t.check(not os.path.exists(t.path('w.3.sbt')), 'a window too many')
    if t.gpu == 'soft-amd':  # no NVTX there
        return
    r = t.record('nvtx', options=('--windows',), out='none.sbt')
    t.match('opened no window', r.err)
    t.check(not os.path.exists(t.path('none.sbt')), 'NVTX opens none')


def test_a_recording_up_to_the_trigger(t):
    r = t.record('marks', options=('--until-trigger',))
    t.equal(r.status, 0, 'record')
    t.match(r'^The program\'s trigger, #\d+ mark trigger "the loss is \\"large\\""', r.out)
    t.match('^' + ALL.strip(), r.out)  # it ran on
    t.equal(marks(t, 't.sbt')[-1][:2], (3, 'the loss is "large"'), 'the last mark')
    t.equal(kernels(t, 't.sbt'), ['in_window', 'in_inner', 'outside'] * 2, 'up to it')
    t.match('^Verified', t.tsdb('replay', 't.sbt', '--verify').out)
    for options, why in ((('--windows', '--until-trigger'), 'exclude each other'), (('--windows', '--children'), 'of children'),
                         (('--until-trigger', '--children'), 'of children')):
        r = t.record('marks', options=options, out='no.sbt')
        t.check(r.status != 0 and re.search(why, r.err), f'{options}: {r.err}')


def test_a_session_stops(t):
    r = t.session('marks', 'break mark "step 1"', 'tbreak mark before*', 'run', 'x/4xb 0x1000', 'info args', 'continue', 'bt 3', 'continue',
                  'info program --json', 'next', 'set stop-on-trigger off', 'run', 'continue', 'continue')
    t.match(r'^Temporary breakpoint 2, #1 mark "before the GPU"$', r.out)
    t.match(r'^Breakpoint 1, #\d+ mark push "step 1"$', r.out)
    t.match(r'tracesmith_window_begin', r.out)
    t.equal(len(re.findall(r'^The program\'s trigger, #\d+ mark trigger "the loss is \\"large\\""$', r.out, re.M)), 1, 'stops at the trigger')
    stop = json.loads(re.search(r'^\{.*\}$', r.out, re.M).group(0))['last_stop']
    t.equal((stop['stop_reason'], stop['trigger'], stop['kind'], stop['before']), ('trigger', 'the loss is "large"', 'mark', False), 'the stop')
    t.match('^' + ALL.strip(), r.out)


def test_windows_in_a_session(t):
    for what, last in (('program', 'step 0'), ('program "step 2"', 'step 2'), ('mark "step 1"', 'step 1'), ('mark inner', 'inner')):
        r = t.session('marks', 'set stop-on-trigger off', f'capture window {what}', 'run', 'kill')
        t.match('The capture window is closed', r.out)
        t.equal(marks(t, 'marks.sbt')[0][:2], (1, last), what)
        os.unlink(t.path('marks.sbt'))
    if t.gpu == 'soft-amd':
        return
    r = t.session('nvtx', 'capture window program', 'run')
    t.match('never opened', r.out + r.err)


def test_without_tsdb_nothing_happens(t):
    t.need_soft()
    with Running(t, [program('marks')]) as r:
        t.equal(r.p.wait(60), 0, 'status')
        t.equal(r.text(), 'marks: 333, 0 taken, 0 of the thread, 0 of the child, active 0\n', 'what it says')
    # An agent's name without a tsdb, in the environment of somebody else's child.
    with Running(t, [program('marks')], env={'TSDB_AGENT': os.path.join(BUILD, 'libtsdb-agent.so'), 'TSDB_CONTROL': '/proc/1/fd/999'}) as r:
        t.equal(r.p.wait(60), 0, 'status')
        t.match('marks: 333, 0 taken', r.text())


def attached(t, argv, *commands):
    """Attaches while the program waits for a file to go, which it does then."""
    t.need_soft()
    with open(t.path('wait'), 'w', encoding='utf-8') as f:
        f.write('here')
    with Running(t, [*argv, 'wait']) as r:
        r.await_text('waiting\n')
        ex = [x for c in (f'attach {r.pid}', *commands) for x in ('-ex', c)]
        done = t.tsdb('--batch', *ex)
        t.equal(r.p.wait(60), 0, f'status: {done.out}{done.err}{r.text()}')
        return done, r.text()


def test_attached_after_the_first_mark(t):
    r, text = attached(t, [program('marks')], 'break mark "step 0"', 'capture start a.sbt', 'shell rm wait', 'continue', 'continue', 'continue')
    t.match(r'^Breakpoint 1, #\d+ mark push "step 0"$', r.out)
    t.match(r'^The program\'s trigger', r.out)
    t.equal(text, 'waiting\nmarks: 333, 13 taken, 300 of the thread, 0 of the child, active 1\n', 'all but the first')
    t.equal(kernels(t, 'a.sbt', '--nvtx', 'step 1'), ['in_window', 'in_inner'], 'in the trace')


PYTHON = '''
import os, sys, time
import tracesmith as ts
sys.path.insert(0, os.environ["TESTS"])
taken = [ts.mark("first")]
if len(sys.argv) > 1:
    print("waiting", flush=True)
while len(sys.argv) > 1 and os.path.exists(sys.argv[1]):
    time.sleep(0.01)
w = ts.window("step 12")
with ts.span("inner") as s:
    pass
w.close(); w.close()
taken += [w.taken, s.taken, ts.trigger("why \\u00e4"), ts.active()]
try:
    ts.mark(5); raise SystemExit("a number")
except TypeError:
    pass
if not os.fork():
    os._exit(ts.mark("child") + ts.window("child").taken + ts.active())
taken.append(os.wait()[1])
print("taken", *taken)
'''


def test_from_python(t):
    path = module()
    t.executable('say.py', PYTHON)
    env = {'PYTHONPATH': path, 'TESTS': ''}
    t.equal(t.run([sys.executable, 'say.py'], env=env).out, 'taken False False False False False 0\n', 'without tsdb')
    r = t.tsdb('record', '--gpu', t.gpu, '-o', 't.sbt', sys.executable, 'say.py', env=env)
    t.match(r'^taken True True True True True 0$', r.out)
    t.equal([m[:2] for m in marks(t, 't.sbt')], [(0, 'first'), (1, 'step 12'), (1, 'inner'), (2, ''), (2, ''), (3, 'why ä')], 'the trace')
    r = t.tsdb('--gpu', t.gpu, '--batch', '-ex', 'break mark first', '-ex', 'run', '-ex', 'bt python', '-ex', 'continue', '-ex', 'continue', '--args',
               sys.executable, 'say.py', env=env)
    t.match(r'^Breakpoint 1, #1 mark "first"$', r.out)
    t.match(r'mark \(\) at .*inside\.py:\d+ \(Python\)', r.out)
    t.match(r'^The program\'s trigger, #\d+ mark trigger "why ', r.out)


def test_python_attached_to(t):
    path = module()
    t.need_soft()
    t.executable('say.py', PYTHON)
    os.environ['PYTHONPATH'] = path
    try:
        r, text = attached(t, ['env', 'TESTS=', sys.executable, t.path('say.py')], 'shell rm wait', 'continue', 'continue')
    finally:
        del os.environ['PYTHONPATH']
    t.equal(text, 'waiting\ntaken False True True True True 0\n', 'what it says')
    t.match(r'The program\'s trigger', r.out)


C = '''
#include <tracesmith/mark.h>
#include <stdio.h>
int other(void);
int main(void)
{
	int n = 0;
	for (int i = 0; i < 3; i++)
		n += tracesmith_mark(i ? "m" : 0) + other();
	printf("%d\\n", n);
	return 0;
}
'''
OTHER = '#include <tracesmith/mark.h>\nint other(void);\nint other(void) { return tracesmith_range_push("r") + tracesmith_range_pop(); }\n'
WAYS = (('cc', '-O2'), ('cc', '-O0', '-std=c99', '-Wall', '-Wextra', '-Wpedantic', '-Werror'), ('cc', '-O2', '-flto'), ('c++', '-O2'),
        ('c++', '-O2', '-flto', '-Wall', '-Wextra', '-Werror'), ('cc', '-O2', '-Wl,--gc-sections', '-ffunction-sections', '-fdata-sections', '-s'),
        ('clang', '-O2'), ('clang++', '-O2'))


def test_compilers_and_their_switches(t):
    """Each way: one door, a note of it, and all calls taken."""
    t.need_soft()
    t.executable('main.c', C)
    t.executable('other.c', OTHER)
    tried = 0
    for compiler, *flags in WAYS:
        if t.run(['sh', '-c', f'command -v {compiler}']).status:
            continue
        language = 'c++' if '++' in compiler else 'c'
        r = t.run([compiler, *flags, f'-I{SRC}/include', '-x', language, 'main.c', 'other.c', '-o', t.path('says'), '-ldl'])
        t.equal(r.status, 0, f'{compiler} {flags}: {r.err}')
        t.equal(t.run([t.path('says')]).out, '0\n', f'{compiler} {flags} alone')
        r = t.tsdb('record', '-o', 'c.sbt', t.path('says'))
        t.equal(r.out, '9\n', f'{compiler} {flags} recorded: {r.err}')
        with open(t.path('says'), 'rb') as f:
            t.check(b'TraceSmith\0' in f.read(), f'{compiler} {flags}: no note')
        tried += 1
    if not tried:
        raise Skip('no compiler')


WRONG = '''
#include <stdio.h>
#include <unistd.h>
/* Notes that lie: doors in code, outside of everything, not aligned; names and lengths that run past the end. */
__asm__(".pushsection .note.tracesmith,\\"a\\",%%note\\n.balign 4\\n"
	".long 11\\n.long 8\\n.long 1\\n.asciz \\"TraceSmith\\"\\n.balign 4\\n.quad %s\\n"
	".long %s\\n.long %s\\n.long 1\\n.asciz \\"TraceSmith\\"\\n.balign 4\\n.quad 0\\n.popsection\\n");
int main(int argc, char **argv)
{
	puts("waiting"); fflush(stdout);
	while (!access(argv[1], F_OK)) usleep(10000);
	puts("alive");
	return 0;
}
'''


def test_notes_that_lie(t):
    """An attaching agent does not follow them."""
    t.need_soft()
    if t.run(['sh', '-c', 'command -v cc']).status:
        raise Skip('no cc')
    for far, name, size in (('main - .', 11, 8), ('0x7fffffffffff0000', 11, 8), ('1', 11, 8), ('0x8000000000000000', 0xffffffff, 0xffffffff),
                            ('3', 11, 0xfffffff0), ('0', 0xfffffff5, 8)):
        t.executable('wrong.c', WRONG % (far, name, size))
        t.equal(t.run(['cc', 'wrong.c', '-o', t.path('wrong')]).status, 0, far)
        _, text = attached(t, [t.path('wrong')], 'shell rm wait', 'continue')
        t.match('^alive$', text)
