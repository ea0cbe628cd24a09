# SPDX-License-Identifier: Apache-2.0
"""Variables and call stacks of kernels, in a launch of a replay on the software GPU. What is expected is computed here from the source of
tests/programs/debugged.cu."""
import json
import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from e2e import SRC  # noqa: E402
from microscope import inside  # noqa: E402
from replay import find, recorded  # noqa: E402


def line_of(text):
    with open(os.path.join(SRC, 'tests/programs/debugged.cu'), encoding='utf-8') as f:
        for n, line in enumerate(f, 1):
            if text in line:
                return n
    raise AssertionError(text)


def record(t):
    t.need_soft()
    recorded(t, 'debugged', options=('--memory', 'all'))
    return find(t, 'work<<<')


def values(out):
    """What `print` showed, in order."""
    return re.findall(r'^\$\d+ = (.*)$', out, re.M)


def test_variables_of_a_function_and_its_caller(t):
    seq = record(t)
    end = line_of('/* twice */')
    # block 1, thread 3: i = 51, a multiple of 3
    i = 51
    squares = [i * k * k for k in range(4)]
    r = inside(t, seq, 'block (1,0,0) thread (3,0,0)', f'break ptx work:debugged.cu:{end} if %ctaid.x == 1 && %tid.x == 3', 'continue',
               'info locals', 'print r + v', 'print p.tag[1]', 'print p.y * 2', 'up', 'info locals', 'print squares', 'print squares[3] - sum',
               'print mine.tag', 'print given.tag', 'print &mine', 'print out', 'print n', 'print table', 'print sizeof(point)', 'whatis mine',
               'print tile[5]', 'down', 'print r')
    t.match(rf'^r = {2 * i + i}$', r.out)
    t.match(rf'^v = {i}$', r.out)
    t.match(rf'^p = @0x4[0-9a-f]+: {{x = 1.5, y = -2.25, tag = {{7, {i}, 9}}}}$', r.out)
    t.match(r'^#1  work\(int\*, point, int\) at .*debugged.cu:%d \(GPU\)$' % line_of('twice(i, mine)'), r.out)
    t.match(rf'^squares = {{{", ".join(map(str, squares))}}}$', r.out)
    t.match(rf'^sum = {sum(squares)}$', r.out)
    v = values(r.out)
    t.equal(v[:3], [str(4 * i), str(i), '-4.5'], 'of the function')
    t.equal(v[3:7], [f'{{{", ".join(map(str, squares))}}}', str(squares[3] - sum(squares)), f'{{7, {i}, 9}}', '{7, 8, 9}'], 'of its caller')
    t.match(r'^\$\d+ = \(point \*\) 0x40000002[0-9a-f]{8} <local\+\d+>$', r.out)
    t.match(r'^\$\d+ = \(int \*\) 0x[0-9a-f]+ <allocation of 768 bytes \(#\d+\)>$', r.out)
    t.equal(v[9:12], ['96', '{10, 20, 30, 40}', '20'], 'arguments, a global variable, a type')
    t.match(r'^type = point$', r.out)
    t.equal(v[12:], [str(48 + 5), str(3 * i)], 'shared memory, and the function again')


def test_a_breakpoint_at_the_line_that_a_kernel_begins_with(t):
    """It stops where the body begins: parameters lie in local memory by then."""
    seq = record(t)
    begins = line_of('__global__ void work')
    r = inside(t, seq, f'break ptx work:debugged.cu:{begins}', 'continue', 'print given.tag', 'print n', 'info breakpoints')
    t.match(r'^Breakpoint 1, #\d+ work, block \(0,0,0\), thread \(0,0,0\)$', r.out)
    t.match(rf'^{begins + 3}\t', r.out)
    t.equal(values(r.out), ['{7, 8, 9}', '96'], 'the arguments')


def test_of_every_lane(t):
    seq = record(t)
    r = inside(t, seq, f'break ptx work:debugged.cu:{line_of("/* end */")}', 'continue', 'print i[all]', 'print squares[2][all]', 'print mine.tag[1] + k[all]',
               status=1)
    v = values(r.out)
    t.equal(v[0], '{' + ', '.join(str(i) for i in range(32)) + '}', 'i')
    t.equal(v[1], '{' + ', '.join(str(4 * i) for i in range(32)) + '}', 'squares[2]')
    t.match(r'no variable k is known here', r.err)  # its block is over


def test_diverged_lane_has_its_own_place(t):
    """A lane that does not go into the function is where its path goes on, and the function's variables are not its own."""
    seq = record(t)
    r = inside(t, seq, f'break ptx work:debugged.cu:{line_of("/* twice */")}', 'continue', 'print r[all]', 'bt 1', 'thread (1,0,0)', 'bt 1', 'print r',
               'print sum', status=1)
    want = ['<not here>' if i % 3 else str(3 * i) for i in range(32)]
    t.equal(values(r.out)[0], '{' + ', '.join(want) + '}', 'r of the lanes in the function')
    t.match(r'^#0  twice\(int, point const&\) at .*:%d \(GPU\)$' % line_of('/* twice */'), r.out)
    t.match(r'^#0  work\(int\*, point, int\) at .*:%d \(GPU\)$' % line_of('/* end */'), r.out)
    t.match(r'no variable r is known here', r.err)
    t.equal(values(r.out)[-1], str(1 + 4 + 9), 'sum of thread 1')


def test_inlined_calls_are_frames(t):
    seq = record(t)
    inner, outer = line_of('/* blend */'), line_of('blend(i)')
    r = inside(t, seq, f'break ptx work:debugged.cu:{inner}', 'continue', 'bt --json', 'info locals', 'up', 'info locals', 'info args')
    stack = json.loads(re.search(r'^\[.*?\]$', r.out, re.M | re.S).group(0))
    t.equal([(f['function'], f['line'], f['inlined'], f['on_gpu']) for f in stack[:2]],
            [('blend(int)', inner, True, True), ('work(int*, point, int)', outer, False, True)], 'frames')
    t.check(any(f['function'].startswith('main') and not f['on_gpu'] for f in stack[2:]), f'the host behind them: {stack}')
    t.match(r'^z = 3\nq = 0$', r.out)
    t.match(r'^w = 0$', r.out)


def test_arguments_of_a_function(t):
    seq = record(t)
    r = inside(t, seq, f'break ptx work:debugged.cu:{line_of("/* twice */")}', 'continue', 'info args', 'up', 'info args')
    t.match(r'^v = 0\np = @0x', r.out)
    t.match(r'allocation of 768 bytes', r.out)  # of the kernel: those of its launch


def test_nothing_is_changed(t):
    seq = record(t)
    r = inside(t, seq, f'break ptx work:debugged.cu:{line_of("/* end */")}', 'continue', 'set var sum = 3', 'set var squares[1] = 3', 'print out[0] = 7',
               'print sum', 'finish', status=1)
    t.equal(len(re.findall('cannot be assigned to', r.err)), 1, 'a register')
    t.equal(len(re.findall('nothing is changed in the middle of a launch', r.err)), 2, 'memory')
    t.equal(values(r.out)[-1], '0', 'sum')


def test_without_debug_information_says_so(t):
    t.need_soft()
    recorded(t, 'reduce', options=('--memory', 'all'))
    r = inside(t, find(t, 'sum_kernel<<<'), 'info locals', 'print x', 'bt', status=1)
    t.match(r'^The PTX has no variables here: build with "nvcc -G" to have them\.$', r.out)
    t.match(r'x is not known: the PTX of sum_kernel has no variables', r.err)
    t.match(r'^#0  sum_kernel\(unsigned long long\*, int const\*, int\) at .*reduce.cu:\d+ \(GPU\)$', r.out)


def test_a_line_of_a_device_function(t):
    """A breakpoint by FILE:LINE alone finds the function that a kernel calls, and does not claim that the line has no code."""
    record(t)
    end = line_of('/* twice */')
    r = t.tsdb('-q', '--gpu', t.gpu, '--batch', '-ex', 'replay start', '-ex', f'break debugged.cu:{end}', '-ex', 'replay continue', '-ex', 'bt', 't.sbt')
    t.no_match(r'has no code', r.out + r.err)
    t.match(rf'^Breakpoint 1 at debugged.cu:{end} in (.*\|)?work(\|.*)?$', r.out)
    t.match(r'^#0  twice\(.*\) at .*debugged.cu:%d \(GPU\)$' % end, r.out)
