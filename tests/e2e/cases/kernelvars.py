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


def test_enumerators_have_their_names(t):
    """In PTX they are mangled."""
    record(t)
    r = inside(t, find(t, 'turns<<<'), f'break ptx turns:debugged.cu:{line_of("/* turn */")}', 'continue', 'print how')
    t.equal(values(r.out), ['sim::mode::twice'], 'an enumeration')


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


def test_what_is_set(t):
    """A variable in a register or in memory of any kind, for one thread; what the kernel makes of it is computed here."""
    seq = record(t)
    at = f'break ptx work:debugged.cu:{line_of("/* end */")} if %tid.x == 5 && %ctaid.x == 1'
    r = inside(t, seq, at, 'continue', 'info locals', 'set var sum = 1000', 'set var squares[1] = -7', 'print sum', 'print squares', 'print sum = sum + 5',
               'print sum++', 'print sum', 'set var i = i + 1', 'set var table[2] = 77', 'print table', 'print i', 'print n', 'set var tile[0] = 12', 'print tile[0]', 'set var given.x = 8.5',
               'print given', 'set var mine.tag[2] = 9', 'print mine.tag', 'thread 6', 'print sum', 'print squares[1]', 'print tile[0]', 'thread 5', 'finish', 'x/4dw out')
    got = values(r.out)
    i = 53
    t.equal(got[0], '1000', 'sum')
    t.match(rf'= \{{0, -7, {i * 4}, {i * 9}\}}$', r.out)
    t.equal(got[2:5], ['1005', '1005', '1006'], 'assignments have values')
    t.equal(got[5:9], ['{10, 20, 77, 40}', '54', '96', '12'], 'memory that others have, too')
    t.match(r'^\$\d+ = \{x = 8\.5, y = -2\.25, tag = \{7, 8, 9\}\}$', r.out)
    t.equal(got[11:14], [str(54 * 14), '54', '12'], 'another thread has its own, and the same shared memory')
    t.match('What was set in it counts from here on, until the replay goes back before it', r.out)


def test_what_is_set_goes_on(t):
    """The rest of the launch and what follows see it, forwards and back again to places behind it; what goes back before the launch undoes it."""
    seq = record(t)
    at = f'break ptx work:debugged.cu:{line_of("/* end */")} if %tid.x == 5 && %ctaid.x == 1'
    r = inside(t, seq, at, 'continue', 'set var sum = 1000', 'stepi', 'set $v = out + n + i', 'finish', 'when', 'print *(int *)$v', 'next', 'next', 'print *(int *)$v',
               f'replay goto {seq}', 'print *(int *)$v', f'replay goto {seq - 1}', f'replay goto {seq}', 'print *(int *)$v', 'replay verify')
    t.equal(list(values(r.out)), ['1000', '1000', '1000', str(53 * 14)], 'with it at the launch\'s end, behind it, back at it; and as recorded')
    t.match(r'not as recorded \(what-if\)$', r.out)
    t.match(rf'^What was set in #{seq} is undone: it executes as recorded\.$', r.out)
    t.match('^2 of 2 allocations identical', r.out)
    r = inside(t, seq, at, 'continue', 'set var sum = 1000', 'reverse-stepi', 'continue', 'print sum')
    t.match('The launch has begun again: what was set in it is undone.', r.out)
    t.equal(values(r.out)[-1], str(53 * 14), 'as recorded')


def test_what_has_no_place_is_not_set(t):
    """A variable that the compiler left out is refused, and the launch then counts as recorded."""
    seq = record(t)
    r = inside(t, seq, f'break ptx work:debugged.cu:{line_of("/* end */")}', 'continue', 'info locals', 'print spare', 'set var spare = 1', 'print spare++',
               'print spare + 1', 'finish', 'when', 'replay verify', status=1)
    t.match(r'^spare = <optimized out>$', r.out)
    t.equal(values(r.out), ['<optimized out>'], 'what is printed')
    t.equal(re.findall(r'optimized out here|has been optimized out', r.err), ['optimized out here'] + 2 * ['has been optimized out'], r.err)
    t.no_match('what-if|What was set', r.out)
    t.match('^2 of 2 allocations identical', r.out)


def test_what_is_set_without_room(t):
    """What a changed launch has made needs a checkpoint beside two others: with fewer, the next move is as recorded, and that is said at the launch's end."""
    seq = record(t)
    at = f'break ptx work:debugged.cu:{line_of("/* end */")} if %tid.x == 5 && %ctaid.x == 1'
    for room in '0', '1', '2', '3':
        r = inside(t, seq, at, 'continue', 'set var sum = 1000', 'set $v = out + n + i', 'finish', 'print *(int *)$v', 'next', 'print *(int *)$v', 'replay verify',
                   env={'TSDB_REPLAYER_CHECKPOINTS': room})
        kept = room == '3'
        t.equal('there is no room to keep it, so its next move executes the launch as it was recorded' in r.out, not kept, f'{room}: {r.out}')
        t.equal('What was set in it counts from here on' in r.out, kept, f'{room}: {r.out}')
        t.equal(list(values(r.out)), ['1000', '1000' if kept else str(53 * 14)], f'{room}: at its end, and behind it')
        t.equal(f'What was set in #{seq} is undone' in r.out, kept, f'{room}: {r.out}')
        t.match('^2 of 2 allocations identical', r.out)


def test_registers_that_are_set(t):
    seq = record(t)
    at = f'break ptx work:debugged.cu:{line_of("sum +=")} if %tid.x == 5'
    r = inside(t, seq, at, 'continue', 'info registers', status=0)
    p, f, r32, r64 = (re.search(rf'^(%{x}\d+)\s', r.out, re.M).group(1) for x in ('p', 'f', 'r', 'rd'))
    r = inside(t, seq, at, 'continue', f'set var {p} = 1', f'print {p}', f'set var {p} = 0', f'print {p}', f'set var {f} = 1.5', f'print {f}', f'set var {r32} = -3',
               f'print {r32}', f'set var {r64} = 0x123456789a', f'print/x {r64}', f'print/d {r32}[all]', 'set var %tid.x = 3', 'set var %nosuch = 1', 'set var 5 = 3',
               status=1)
    t.equal(values(r.out)[:5], ['true', 'false', '1.5', '-3', '0x123456789a'], 'registers')
    t.equal(values(r.out)[5].split(', ').count('-3') >= 1, True, 'in its lane')
    for text in ('%tid.x is no register that can be set', 'nosuch', 'cannot be assigned to'):
        t.check(text in r.err, f'{text}\n{r.err}')


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
