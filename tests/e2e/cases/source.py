# SPDX-License-Identifier: Apache-2.0
"""Names, types and lines of the program's source: arguments of kernels, live and in replays. What is expected is read from tests/programs/arguments.cu."""
import json
import os
import shutil


from e2e import SRC, program
from replay import find, recorded, shell


def test_arguments_have_names_and_types(t):
    r = t.session('arguments', 'break kernel adam if lr > 0.4 && p.w[1] == 2 && p.radius != 3', 'info breakpoints', 'run', 'info args', 'print lr', 'print p.radius',
                  'print p.w[1] * lr', 'print *grad@2', 'x/2fw grad', 'print sizeof(p)', 'ptype p.table', 'print $args.c', 'print adam::flag', 'display lr', 'info args --json',
                  'continue')
    t.match(r'^ +stop only if lr > 0\.4 && p\.w\[1\] == 2 && p\.radius != 3$', r.out)
    t.match(r'^Breakpoint 1, #\d+ adam<<<', r.out)
    for line in (r'grad = \(float \* restrict\) 0x[0-9a-f]+ <allocation of 16384 bytes \(#\d+\)>', r'm = \(const real \*\) 0x[0-9a-f]+ <allocation of 16384 bytes \(#\d+\)>', 'lr = 0.5',
                 r'p = \{radius = 2, w = \{1, 2\}, table = 0x0, small = -1\}', 'n = 1000', 'flag = true', r"c = -2 '\\376'"):
        t.match(f'^{line}$', r.out)
    # grad: 1.5 everywhere; the launch before adds ((-2) + 2 * 1) * 0.25 = 0
    for line in (r'\$1 = 0\.5', r'\$2 = 2', r'\$3 = 1', r'\$4 = \{1\.5, 1\.5\}', r'0x[0-9a-f]+:\t1\.5\t1\.5', r'\$5 = 32', r'type = const float \*', r"\$6 = -2 '\\376'", r'\$7 = true'):
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


def test_a_source_that_is_newer_names_nothing(t):
    """The program is a copy that is older than its source; then one that is younger."""
    for age, want in ((-10, r'^arg2 = 0\n(.*\n)*\S*arguments\.cu is newer than the program'), (10, r'^lr = 0\n')):
        copy = t.path('copy')
        shutil.copyfile(program('arguments'), copy)
        os.chmod(copy, 0o755)
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


def test_arguments_in_a_replay(t):
    recorded(t, 'arguments', options=('--memory', 'all'))
    last = find(t, 'adam<<<', which=3)
    r = shell(t, 'replay start', 'break kernel adam if p.radius == 3', 'replay continue', 'when', 'info args', 'print lr', 'print n', 'x/1fw m', 'condition 1 lr == 0.25', 'info breakpoints')
    t.match(rf'#{last}\b', r.out)
    t.match(r'^lr = 0\.75\np = \{radius = 3,', r.out)
    t.match(r'^m = .*\n       \{2, 2, ', r.out)
    t.match(r'^\$1 = 0\.75\n\$2 = 1000\n0x[0-9a-f]+:\t2$', r.out)
    t.match(r'stop only if lr == 0\.25$', r.out)
