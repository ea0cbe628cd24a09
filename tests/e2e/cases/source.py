# SPDX-License-Identifier: Apache-2.0
"""Names, types and lines of the program's source: arguments of kernels, live and in replays. What is expected is read from tests/programs/arguments.cu."""
import json
import os
import shutil


import re

from e2e import SRC, program
from replay import find, recorded, shell


def test_arguments_have_names_and_types(t):
    r = t.session('arguments', 'break kernel adam if lr > 0.4 && p.w[1] == 2 && p.radius != 3', 'info breakpoints', 'run', 'info args', 'print lr', 'print p.radius',
                  'print p.w[1] * lr', 'print/x grad', 'print sizeof(p)', 'ptype p.table', 'print $args.c', 'print adam::flag', 'display lr', 'info args --json',
                  'continue')
    t.match(r'^ +stop only if lr > 0\.4 && p\.w\[1\] == 2 && p\.radius != 3$', r.out)
    t.match(r'^Breakpoint 1, #\d+ adam<<<', r.out)
    for line in (r'grad = \(float \* restrict\) 0x[0-9a-f]+ <allocation of 16384 bytes \(#\d+\)>', r'm = \(const real \*\) 0x[0-9a-f]+ <allocation of 16384 bytes \(#\d+\)>', 'lr = 0.5',
                 r'p = \{radius = 2, w = \{1, 2\}, table = 0x0, small = -1\}', 'n = 1000', 'flag = true', r"c = -2 '\\376'"):
        t.match(f'^{line}$', r.out)
    for line in (r'\$1 = 0\.5', r'\$2 = 2', r'\$3 = 1', r'\$4 = 0x[0-9a-f]+', r'\$5 = 32', r'type = const float \*', r"\$6 = -2 '\\376'", r'\$7 = true'):
        t.match(f'^{line}$', r.out)
    args = json.loads(r.out[r.out.index('[{"arg"'):r.out.index('}]', r.out.index('[{"arg"')) + 2])
    t.equal([(a['name'], a['type']) for a in args[2:]], [('lr', 'float'), ('p', 'params'), ('n', 'unsigned long long'), ('flag', 'bool'), ('c', 'signed char')], 'JSON')
    t.equal(args[2]['shown'], '0.5', 'JSON')
    t.no_match(r'Breakpoint 1.*\n(.*\n)*Breakpoint 1, ', r.out[r.out.index('Breakpoint 1, '):])  # the launch with radius 3 is not meant


def test_arguments_of_templates_and_of_what_is_not_certain(t):
    r = t.session('arguments', 'break kernel fill if value > 1.9', 'run', 'info args', 'print value', 'delete', 'break macro', 'continue', 'info args', 'print grid_x')
    t.match(r'^dst = \(float \*\) 0x[0-9a-f]+ <.*>\nvalue = 2\nn = 1000$', r.out)
    t.match(r'^\$1 = 2$', r.out)
    t.match(r'^arg0 = \(float \*\) 0x[0-9a-f]+ <.*>\narg1 = 7\narg2 = 0\.5$', r.out)  # a macro is among the parameters: no names
    t.match(r'^\$2 = 1$', r.out)  # so this is the launch's field


def test_a_template_in_a_namespace(t):
    """Its stub is static, so the host's symbol is not the kernel's; the line is the launch's, not the stub's."""
    with open(os.path.join(SRC, 'tests/programs/namespaces.cu'), encoding='utf-8') as f:
        at = next(i for i, line in enumerate(f, 1) if 'launched here' in line)
    r = t.session('namespaces', 'break step if dt == 0.5', 'run', 'info args', 'print how', 'print nothing')
    t.match(rf'^Breakpoint 1, #\d+ sim::step<float><<<.*\n{at}\t', r.out)
    t.match(r'^all = \(sim::particle \*\) 0x[0-9a-f]+ <.*>\nout = \(float \*\) 0x[0-9a-f]+ <.*>\nn = 40\ndt = 0\.5\nhow = sim::mode::twice$', r.out)
    t.match(r'^\$1 = sim::mode::twice$', r.out)
    r = t.session('namespaces', 'break alloc', 'run', 'print nothing')
    t.match(r'#\d+ is an alloc: it has no nothing', r.err)


def test_a_source_that_is_newer_names_nothing(t):
    """The program is a copy that is older than its source; then one that is younger."""
    for age, want in ((-10, r'^arg2 = 0\n(.*\n)*\S*arguments\.cu is newer than the program'), (10, r'^lr = 0\n')):
        copy = t.copy_program(program('arguments'), 'copy')
        at = os.stat(os.path.join(SRC, 'tests', 'programs', 'arguments.cu')).st_mtime + age
        os.utime(copy, (at, at))
        r = t.tsdb('--gpu', t.gpu, '--batch', '-ex', 'break kernel adam', '-ex', 'run', '-ex', 'info args', '--args', copy)
        t.match(want, r.out)


def test_conditions_that_cannot_be(t):
    for cond, why in (('p > 1', 'p: it is no number'), ('p.table->x', 'what a pointer leads to'), ('p.small == -1', 'no such part'), ('p.w[2] > 0', 'no such part'),
                      ('lr2 > 0', 'lr2'), ('p.radius.x', 'no such part')):
        r = t.session('arguments', f'break kernel adam if {cond}')
        t.check(r.status, f'{cond} is refused')
        t.match(why, r.err)


def test_a_variable_of_the_host_is_not_taken_for_an_argument(t):
    r = t.session('arguments', 'break kernel adam', 'run', 'print n', 'print $args.n', 'print m', 'print adam::n')
    t.match(r'n is an argument of the kernel, and another value of that name is a variable of the host', r.err)  # 1000 and 4096
    t.match(r'^\$1 = 1000$', r.out)
    t.match(r'^\$2 = \((const real|float) \*\) 0x', r.out)  # both are the same address
    t.match(r'^\$3 = 1000$', r.out)


def test_variables_of_the_line_that_is_shown(t):
    """A stop shows the line of the user's own code; its variables are known there, though the frame is one that the toolkit made."""
    with open(os.path.join(SRC, 'examples/pipeline.cu'), encoding='utf-8') as f:
        at = next(i for i, line in enumerate(f, 1) if 'scale<<<' in line)
    r = t.session('pipeline', 'start', 'bt', 'print bytes', 'print host == 0', 'print size', 'print result', f'break {at}', 'up 2', 'print bytes', 'frame 1', 'print bytes')
    t.match(r'^#0 +.*cuda_runtime\.h:\d+', r.out)
    t.match(r'^\$1 = 16384\n\$2 = 1\n\$3 = 131072\n\$4 = 0\n', r.out)  # size: of the selected frame; result: a field of the command
    t.match(r'^\$5 = 16384$', r.out)
    t.match(r'it has no bytes', r.err)  # frame 1 was chosen
    t.match(rf'^Breakpoint 1 at pipeline\.cu:{at}$', r.out)


def test_arguments_in_a_replay(t):
    recorded(t, 'arguments', options=('--memory', 'all'))
    last = find(t, 'adam<<<', which=3)
    r = shell(t, 'replay start', 'break kernel adam if p.radius == 3', 'replay continue', 'when', 'info args', 'print lr', 'print n', 'x/1fw m', 'condition 1 lr == 0.25', 'info breakpoints')
    t.match(rf'#{last}\b', r.out)
    t.match(r'^lr = 0\.75\np = \{radius = 3,', r.out)
    t.match(r'^m = .*\n       \{2, 2, ', r.out)
    t.match(r'^\$1 = 0\.75\n\$2 = 1000\n0x[0-9a-f]+:\t2$', r.out)
    t.match(r'stop only if lr == 0\.25$', r.out)


# --- lines

def text_of(name):
    with open(os.path.join(SRC, 'tests', 'programs', name), encoding='utf-8') as f:
        return f.read().split('\n')


def line_of(name, text, which=0):
    return [n for n, line in enumerate(text_of(name), 1) if text in line][which]


def listed(out):
    """Line numbers and texts that `list` showed, and which were marked."""
    rows = re.findall(r'^(=>|  ) +(\d+)  (.*)$', out, re.M)
    return [(int(n), text) for _, n, text in rows], [int(n) for mark, n, _ in rows if mark == '=>']


def test_a_stop_shows_its_line(t):
    """Of main(), not of the functions that nvcc makes."""
    lines = text_of('arguments.cu')
    launch, second = line_of('arguments.cu', 'adam<<<'), line_of('arguments.cu', 'fill<float><<<', 1)
    r = t.session('arguments', 'break kernel fill', 'break kernel adam', 'run', 'continue', 'delete 1', 'continue', 'list', 'list', 'list -', 'up', 'frame', 'info source',
                  'set print source-line off', 'continue')
    t.match(r'^Breakpoint 1, #\d+ fill\S*<<<.*\n' + re.escape(f'{second}\t{lines[second - 1]}\n') + '', r.out[r.out.index('Breakpoint 1, ', r.out.index('Breakpoint 1, ') + 1):])
    t.match(r'^Breakpoint 2, #\d+ adam<<<.*\n' + re.escape(f'{launch}\t{lines[launch - 1]}\n'), r.out)
    rows, marked = listed(r.out)
    t.equal(marked, [launch, launch], 'marked')
    first = launch - 5
    t.equal([n for n, _ in rows], [*range(first, first + 10), *range(first + 10, len(lines)), *range(first, first + 10)], 'lines')
    t.equal([text for _, text in rows], [lines[n - 1] for n, _ in rows], 'texts')
    t.match(rf'^#\d+ .*main \(\) at .*arguments\.cu:{launch}\n' + re.escape(f'{launch}\t'), r.out)
    t.match(r'^The source file is \S*arguments\.cu, line \d+\.\n(It was compiled in .*\n)?Its text is \S*arguments\.cu; it has \d+ lines\.$', r.out)
    t.no_match(r'^Breakpoint 2.*\n\d+\t', r.out[r.out.index('Its text is'):])


def test_list_of_anything(t):
    lines = text_of('arguments.cu')
    adam, main = line_of('arguments.cu', 'void adam('), line_of('arguments.cu', 'int main')
    for before in ((), ('break kernel adam', 'run')):
        r = t.session('arguments', *before, 'list adam', 'list main', 'list arguments.cu:1', 'list arguments.cu:3,5')
        rows, _ = listed(r.out)
        t.equal([n for n, _ in rows], [*range(adam - 5, adam + 5), *range(main - 5, main + 6)][:10] + [n for n, _ in rows[10:20]] + [*range(1, 11), 3, 4, 5], 'lines')
        t.check(abs(rows[15][0] - main) <= 2, 'around main')
        t.equal([text for _, text in rows], [lines[n - 1] for n, _ in rows], 'texts')
    r = t.session('arguments', 'list', 'list nothing_like_it', 'list nowhere.cu:3', 'list arguments.cu:9999', 'info source', 'list 5,3')
    for why in ('no place in the source', 'no function or kernel with line numbers is called nothing_like_it', 'has lines of nowhere.cu', 'has only'):
        t.match(why, r.err)
    r = t.session('arguments', 'list --json arguments.cu:3')
    t.check('"line":3' in r.out or '"line":1,' in r.out, 'JSON')
    rows = json.loads(t.session('arguments', 'list arguments.cu:3,4 --json').out)
    t.equal([(x['line'], x['text'], x['here']) for x in rows], [(3, lines[2], False), (4, lines[3], False)], 'JSON')


def test_lines_in_a_replay_and_inside_a_launch(t):
    recorded(t, 'arguments', options=('--memory', 'all'))
    lines = text_of('arguments.cu')
    seq = find(t, 'adam<<<', which=3)
    launch, decl, second = (line_of('arguments.cu', x) for x in ('adam<<<', 'void adam(', 'float sum = c'))
    r = shell(t, 'replay start', f'replay goto {seq}', 'list', f'replay enter {seq}', 'step', 'step', 'stepi', 'list')
    t.match(rf'^#{seq} adam<<<.*\n' + re.escape(f'{launch}\t{lines[launch - 1]}\n'), r.out)
    t.match(rf'^The beginning of #{seq} adam.*\n\d+:\t.*\n' + re.escape(f'{decl}\t{lines[decl - 1]}\n'), r.out)
    t.match('^' + re.escape(f'{second}\t{lines[second - 1]}\n') + r'\d+:\t', r.out)  # a step shows C alone, stepi shows PTX
    t.equal(listed(r.out)[1][0], launch, 'marked')


def test_sources_that_have_moved(t):
    """The program is one that was compiled in another folder."""
    src = os.path.join(SRC, 'tests', 'programs', 'arguments.cu')
    folder = t.path('moved')
    os.makedirs(os.path.join(folder, 'programs'))
    shutil.copyfile(src, os.path.join(folder, 'programs', 'arguments.cu'))
    real = t.session('arguments', 'break kernel adam', 'run', 'info source')
    at = t.match(r'Its text is (\S+);', real.out)[1]
    r = t.session('arguments', f'set substitute-path {os.path.dirname(at)} /gone/programs', 'show substitute-path', 'break kernel adam', 'run', 'list', f'directory {folder}', 'show directories',
                  'list', 'info source', 'unset substitute-path', 'info source')
    t.match(r'the source file \S*arguments\.cu is not there\. Say where it is now', r.err)
    t.match(rf'^{re.escape(os.path.dirname(at))} -> /gone/programs$', r.out)
    t.match(f'^{re.escape(folder)}$', r.out)
    t.match(rf'Its text is {re.escape(folder)}/programs/arguments\.cu;', r.out)
    t.match(rf'Its text is {re.escape(at)};', r.out)


# --- traces keep what their frames are called

def test_a_program_that_has_changed(t):
    """Recorded, then gone, then another program with the same name: the trace still says where its commands were made; an older one says that it does not know."""
    launch = line_of('arguments.cu', 'adam<<<')
    copy = t.copy_program(program('arguments'), 'app')
    t.equal(t.tsdb('record', '--gpu', t.gpu, '-o', 't.sbt', '--', copy).status, 0, 'record')
    seq = find(t, 'adam<<<')
    commands = ('replay start --on none', f'replay goto {seq}', 'bt', 'bt', 'bt --json')
    there = shell(t, *commands)
    t.equal(there.err, '', 'nothing has changed')
    for change in (lambda: os.remove(copy), lambda: t.copy_program(program('exit_code'), copy)):
        change()
        r = shell(t, *commands)
        t.equal(r.out, there.out, 'the same functions and lines')
        t.match(rf'main \(\) at \S*arguments\.cu:{launch}$', r.out)
        t.equal([re.sub(r' \(build id [0-9a-f]+ then, [0-9a-f]+ now\)', '', line) for line in re.findall(r'^tsdb: (.*)$', r.err, re.M)],
                [f'{copy} is not there any more as it was recorded: functions and lines are those that the trace kept.'], 'said once')
