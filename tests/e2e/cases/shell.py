# SPDX-License-Identifier: Apache-2.0
"""The shell over live programs: windows, memory, stepping, scripts, redirections, exit status. Batch sessions, no terminal."""
import json
import os
import re

from e2e import SRC, program, tsdb_path


def seqs(text):
    return [int(x) for x in re.findall(r'^#(\d+) ', text, re.M)]


def test_kernel_window(t):
    r = t.session('transformer', 'capture window kernel matvec count 3', 'run', 'replay start', 'view --kernel *',
                  'replay step', 'info kernels', 'kill')
    t.equal(r.status, 0, 'exit status')
    first, last = (int(x) for x in t.match(r'^\[captured #(\d+)-#(\d+) -> transformer\.sbt, ', r.out).groups())
    t.match(rf'^The capture window is closed, #{last} matvec<<<', r.out)
    listed = [x for x in re.findall(r'^#(\d+) matvec', r.out, re.M)]
    t.check(first < last and len(set(listed)) == 3, f'three launches of matvec in #{first}-#{last}: {listed}')
    t.match(r'^ +\d+ +rmsnorm ', r.out, 'a kernel from before the window')


def test_seq_window_and_numbered_files(t):
    r = t.session('transformer', 'set capture window-stop off', 'capture window seq 150-160', 'break seq 200', 'run',
                  'capture window seq 300-310', 'continue')
    t.equal(r.status, 0, 'exit status')
    t.match(r'^\[captured #150-#160 -> transformer\.sbt, ', r.out)
    t.match(r'^\[captured #300-#310 -> transformer\.1\.sbt, ', r.out)
    v = t.tsdb('view', 'transformer.1.sbt')
    t.equal(seqs(v.out), list(range(300, 311)), 'the window')


def test_nvtx_windows(t):
    for name, kernels in (('load', ['in_load']), ('step', ['in_step', 'in_inner', 'in_step']), ('inner', ['in_inner']), ('job', ['in_job'])):
        r = t.session('nvtx', f'capture window nvtx {name}', 'run', 'kill')
        t.equal(r.status, 0, 'exit status')
        t.match(r'^The capture window is closed, #', r.out)
        v = t.tsdb('view', 'nvtx.sbt', '--kind', 'launch')
        t.equal(re.findall(r'^#\d+ (\w+)<<<', v.out, re.M), kernels, f'the launches in "{name}"')
        os.unlink(t.path('nvtx.sbt'))
    r = t.session('nvtx', 'capture window nvtx outside', 'run')
    t.match(r'nothing was captured: the window never opened', r.out)


def test_window_that_never_opens(t):
    r = t.session('vecadd', 'capture window kernel no_such_kernel', 'run')
    t.match(r'nothing was captured: the window never opened', r.out)
    t.check(not os.path.exists(t.path('vecadd.sbt')), 'no file is left')


def test_capture_from_the_middle(t):
    r = t.session('transformer', 'break kernel * if seq > 150', 'run', 'delete', 'capture start part.sbt', 'next 4', 'capture stop',
                  'continue')
    t.equal(r.status, 0, 'exit status')
    t.match(r'^\[captured #\d+-#\d+ -> part\.sbt', r.out)
    v = t.tsdb('view', 'part.sbt')
    t.equal(v.status, 0, 'view')
    t.no_match(r'kernel \d+<<<', v.out, 'kernels have their names')


def test_device_memory_at_a_stop(t):
    r = t.session('vecadd', 'break copy if dir == d2h', 'run', 'x/4fw src', 'x/2xw dst', 'finish', 'info streams', 'continue')
    t.equal(r.status, 0, 'exit status')
    t.match(r'^0x[0-9a-f]+:(\t-?[\d.e+-]+){4}$', r.out, 'four floats')
    t.match(r'^0x[0-9a-f]+:(\t0x[0-9a-f]{8}){2}$', r.out, 'host memory')
    t.match(r'^Stream 0 (has finished|had nothing pending)', r.out)
    t.match(r'Idle', r.out)


def test_step_and_finish_json(t):
    r = t.session('pipeline', 'start', 'next', 'next 3', 'when --json', 'info streams --json', 'bt --json')
    t.equal(r.status, 0, 'exit status')
    s = seqs(r.out)
    t.check(len(s) >= 5 and s == sorted(s), f'each step is later: {s}')
    objects = [json.loads(x) for x in re.findall(r'^(?:\{.*\}|\[(?:.|\n)*?\])$', r.out, re.M) if x.startswith('{')]
    t.equal(objects[0]['seq'], s[-1], 'when --json')


def test_commands_of_a_breakpoint(t):
    with open(t.path('script'), 'w', encoding='utf-8') as f:
        f.write('break launch if seq < 40\ncommands\n  print seq\n  continue\nend\nrun\n')
    r = t.tsdb('--gpu', t.gpu, '--batch', '-x', 'script', '--args', program('pipeline'))
    t.equal(r.status, 0, 'exit status')
    shown = [int(x) for x in re.findall(r'^\$\d+ = (\d+)$', r.out, re.M)]
    t.equal(shown, [int(x) for x in re.findall(r'^Breakpoint 1, #(\d+) ', r.out, re.M)], 'a value for every stop')
    t.check(len(shown) > 1, 'more than one stop')
    t.match(r'exited normally', r.out)


def line_of(source, text):
    """The first line of an example that has a text."""
    with open(os.path.join(SRC, 'examples', source), encoding='utf-8') as f:
        return next(i for i, line in enumerate(f, 1) if text in line)


def test_places_of_a_live_program(t):
    inside, launch = line_of('matmul.cu', 'tb[threadIdx.y][threadIdx.x] ='), line_of('matmul.cu', 'matmul<<<')
    r = t.session('matmul', 'tbreak main', f'break matmul.cu:{inside}', f'break {launch}', 'break matmul', 'break matmull', 'break absent.cu:3',
                  'run', 'continue', 'continue', 'continue', 'delete 2-4', 'info breakpoints', 'continue')
    t.match(r'^Temporary breakpoint 1 at main$', r.out)
    t.match(rf'^Breakpoint 2 at matmul\.cu:{inside} in matmul$', r.out)
    t.match(rf'^Breakpoint 3 at matmul\.cu:{launch}$', r.out)
    t.match(r'^Breakpoint 4 at kernel matmul$', r.out)
    t.match(r'^Breakpoint 5 at kernel matmull \(pending\)$', r.out)
    t.match(r'^Breakpoint 6 at absent\.cu:3 \(pending\)$', r.out)
    t.match(r'^Temporary breakpoint 1, #\d+ ', r.out)
    t.match(r'^Breakpoint 3, #\d+ module_load', r.out, "the launch's line loads the code first")
    t.equal(len(re.findall(r'^Breakpoint 2, Breakpoint 3, Breakpoint 4, #\d+ matmul<<<', r.out, re.M)), 2, 'three at one place')
    t.no_match(r'^1 ', r.out, 'the temporary one')
    t.match(r'^Breakpoint 5 was never hit; kernels seen: matmul; did you mean matmul\?$', r.out)
    t.match(r'^Breakpoint 6 was never hit: no GPU command was made from absent\.cu:3\.$', r.out)
    r = t.session('matmul', 'break matmul.cu:100000')
    t.match(r'neither line 100000 of matmul\.cu nor any behind it has code', r.err)
    r = t.session('matmul', f'break matmul.cu:{inside} if %r1 == 0')
    t.match(r'is inside a kernel, where conditions need a replay', r.err)


def test_ignored_hits_of_a_function(t):
    r = t.session('matmul', 'break from main if kind == launch', 'ignore 1 2', 'run', 'info breakpoints')
    t.match(r'^1 +keep +y +3 +from main$', r.out)


def test_places_of_a_replay(t):
    inside, launch, idle = (line_of('matmul.cu', x) for x in ('tb[threadIdx.y][threadIdx.x] =', 'matmul<<<', 'reference(want'))
    t.record('matmul')
    r = t.session(None, 'file t.sbt', 'replay start', f'break matmul.cu:{inside}', f'break matmul.cu:{launch} if kind == launch', 'break main',
                  'delete 3', 'continue', 'delete 1', 'continue', 'continue')
    t.match(rf'^Breakpoint 1, #\d+ matmul, block \(0,0,0\), thread \(0,0,0\)\n.*matmul\.cu:{inside}$', r.out)
    t.equal(len(re.findall(r'^Breakpoint 2, #\d+ matmul<<<', r.out, re.M)), 1, 'the second launch')
    r = t.session(None, 'file t.sbt', f'break matmul.cu:{idle}', 'break reference', 'break mat', 'break kernel main')
    t.match(rf'no GPU command of the trace was made from matmul\.cu:{idle}, .*Commands were made from lines [\d, ]*\b{launch}\b', r.err)
    t.match(r'no GPU command was made from a function of that name', r.err)
    t.match(r'no kernel of the trace is called mat, .*Did you mean matmul\?', r.err)
    t.match(r'no kernel of the trace is called main\. Its kernels are matmul', r.err)


def test_thread_apply(t):
    r = t.session('threads', 'break launch', 'run', 'thread apply 1 bt 1', 'thread apply 1-2 1 bt 1', 'kill')
    t.equal(r.status, 0, 'exit status')
    t.equal(re.findall(r'^Thread (\d+) [(]tid', r.out, re.M), ['1', '1', '2'], 'threads')
    r = t.session('threads', 'break launch', 'run', 'thread apply 99 bt')
    t.match(r'there is no thread 99', r.both)
    r = t.session('threads', 'break launch', 'run', 'thread apply all')
    t.match(r'needs threads and a command', r.both)


def test_silent_commands(t):
    with open(t.path('script'), 'w', encoding='utf-8') as f:
        f.write('break launch\ncommands\n  silent\n  print seq\n  continue\nend\nrun\ninfo breakpoints\n')
    r = t.tsdb('--gpu', t.gpu, '--batch', '-x', 'script', '--args', program('pipeline'))
    t.equal(r.status, 0, 'exit status')
    t.no_match(r'^Breakpoint 1, ', r.out)
    t.check(len(re.findall(r'^\$\d+ = \d+$', r.out, re.M)) > 1, 'more than one stop')
    t.match(r'^ +silent$', r.out)


def test_redirections(t):
    with open(t.path('in'), 'w', encoding='utf-8') as f:
        f.write('first\nsecond\n')
    r = t.session('stdin_echo', 'run < in > out', 'shell cat out')
    t.equal(r.status, 0, 'exit status')
    t.match('second', r.out)
    t.equal(t.session('vecadd', 'run > no/such/out').status, 1, 'a file that cannot be written')


def test_exit_status_of_batch(t):
    t.equal(t.session(None, 'echo a').status, 0, 'nothing failed')
    t.equal(t.session(None, 'frobnicate', 'echo a').status, 1, 'one failed')
    t.equal(t.session(None, 'quit 7', 'frobnicate').status, 7, 'quit 7')
    t.equal(t.tsdb('--batch', '-x', 'nowhere').status, 1, 'no script')
    r = t.run([tsdb_path(), '-q'], stdin='echo from a pipe\\n\nquit\n')
    t.equal((r.status, r.out), (0, 'from a pipe\n'), 'commands from a pipe')


def test_a_file_that_is_no_trace_is_not_overwritten(t):
    with open(t.path('precious.sbt'), 'w', encoding='utf-8') as f:
        f.write('not a trace')
    t.sentence(t.record('vecadd', out='precious.sbt'), r'precious\.sbt.*not overwritten')
    with open(t.path('precious.sbt'), encoding='utf-8') as f:
        t.equal(f.read(), 'not a trace', 'the file')


def test_a_second_run(t):
    r = t.session('vecadd', 'break launch', 'run', 'run', 'delete', 'continue', 'run', 'info breakpoints')
    t.equal(r.status, 0, 'exit status')
    t.equal(len(re.findall(r'^Breakpoint 1, #\d+', r.out, re.M)), 2, 'stops')
    t.equal(len(re.findall(r'exited normally', r.out)), 2, 'ends')


def test_signals_of_the_program(t):
    r = t.session('crash_segv', 'run', 'bt', 'continue', 'print $_exitcode')
    t.match(r'^Program received signal SIGSEGV, Segmentation fault\.$', r.out)
    t.match(r'^#0 .*crash_here.*crash_segv\.cu:\d+', r.out)
    t.match(r'killed by SIGSEGV', r.out)
    r = t.session('crash_segv', 'handle SIGSEGV nostop pass', 'run')
    t.no_match(r'received signal', r.out)
    t.match(r'killed by SIGSEGV', r.out)


def test_a_program_that_executes_another_is_recorded_in_two_traces(t):
    r = t.record('execs')
    t.equal(r.status, 5, 'record')
    t.match(r'^execs: second counted 320$', r.out)
    for name in ('t.sbt', 't.1.sbt'):
        v = t.tsdb('view', '--kind', 'launch', name)
        t.equal(v.status, 0, name)
        t.check(v.out, f'launches in {name}')


def test_record_without_stacks(t):
    t.equal(t.record('vecadd', options=['--no-stacks']).status, 0, 'record')
    t.equal(json.loads(t.tsdb('info', '--json', 't.sbt').out)['stacks'], False, 'stacks')
    t.check(not any(json.loads(x)['stack'] for x in t.tsdb('view', '--json', 't.sbt').out.splitlines()), 'no stack in a command')


def test_help_fits_the_screen(t):
    """Without a terminal the screen has 80 columns; nothing is lost where a line is folded."""
    r = t.tsdb('--batch', '-ex', 'help replay explore', '-ex', 'help break', '-ex', 'help expressions', '-ex', 'help replay')
    t.equal(r.status, 0, 'help')
    for line in r.out.splitlines():
        t.check(len(line) <= 80 or line.startswith('replay explore ['), f'more than 80 columns: {line}')
        t.check(line == line.rstrip(), f'a blank at the end: {line!r}')
    words = ' '.join(r.out.split())
    t.check('puts what `tsdb explore -o` wrote together. --strict: copies of at most 64 KiB from pageable memory may arrive late, too (see races). With --batch the exit status is 3 when another result was found. Example: replay explore' in words, words)
    t.match(r'^ {16}without arguments, its last part', r.out)
    t.match(r'^ {27}memory$', r.out)


def test_variables_of_the_program(t):
    """examples/vecadd.cu: at its launch, the names of main() come before fields, where the kernel has no other value of that name; conditions are about fields."""
    t.need_soft()
    r = t.session('vecadd', 'break launch if grid_x == 40', 'run', 'print n', 'print bytes / sizeof(float)', 'print da', 'print a[0]', 'up', 'print a[0] == da[0]', 'whatis a', 'print grid_x',
                  'print $cmd.block_x', 'info locals', 'set var a[1] = 2.5', 'print a[1]', 'x/2fw a', 'set var da[0] = 1', 'print &n', 'kill')
    t.equal(r.status, 1, 'three commands are refused')
    t.match(r'a is an argument of the kernel, and another value of that name is a variable of the host', r.err)
    t.match(r'^\$1 = 10000$', r.out, 'a variable of main() from within the frame that nvcc makes for the kernel')
    t.match(r'^\$2 = 10000$', r.out)
    t.match(r'^\$3 = \(float \*\) 0x[0-9a-f]+ <allocation of 40000 bytes \(#\d+\)>$', r.out, 'what a device pointer leads to')
    t.match(r'^\$4 = 1$', r.out, 'host and device memory hold the same')
    t.match(r'^type = float \*$', r.out)
    t.match(r'^\$5 = 40$', r.out, 'a field')
    t.match(r'^\$6 = 256$', r.out, 'a field by $cmd')
    t.match(r'^n = 10000$', r.out, 'info locals')
    t.match(r'^\$7 = 2\.5$', r.out, 'what was set')
    t.match(r'^0x[0-9a-f]+:\t-?\S+\t2\.5$', r.out)
    t.match(r'device memory of the live program cannot be changed', r.out + r.err)


def test_threads_are_the_programs(t):
    """The agent's threads are neither listed nor numbered; the program's are, whatever their order."""
    t.need_soft()
    r = t.session('threads', 'break kernel *', 'run', 'info threads', 'thread 1', 'thread apply all frame', 'info threads --json')
    t.no_match('tsdb-(look|agent|memory|crew|late|device)', r.out)
    listed = re.findall(r'^[* ] (\d+) +(\d+) ', r.out, re.M)
    t.check(listed, r.out)
    t.equal([int(n) for n, _ in listed], list(range(1, len(listed) + 1)), 'numbers')
    t.equal(re.findall(r'^Thread (\d+) \(tid (\d+), [^)]*\):', r.out, re.M), listed, 'the same for each of them')
