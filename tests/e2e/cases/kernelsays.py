# SPDX-License-Identifier: Apache-2.0
"""dprintf inside kernels: what threads show is computed here from the source of tests/programs/debugged.cu: of the program as it runs, of its
replay under the microscope, and of its replay by changed code, which is the one way on a machine's GPU."""
import json
import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from e2e import program  # noqa: E402
from kernelvars import line_of, record  # noqa: E402
from replay import recorded, shell  # noqa: E402

LANES = range(96)  # of work<<<2, 48>>>
SUM, TWICE, END, TURN = (line_of(x) for x in ('sum +=', '/* twice */', '/* end */', '/* turn */'))


def live(t, *commands):
    t.need_soft()
    ex = [x for c in (*commands, 'run', 'info breakpoints --json') for x in ('-ex', c)]
    return t.tsdb('--batch', '--no-init', '--gpu', 'soft', *ex, '--args', program('debugged'))


def ways(t, commands):
    recorded(t, 'debugged', options=('--memory', 'all'))
    if t.gpu == 'soft':
        yield live(t, *commands)
        yield shell(t, 'replay start --on soft', *commands, 'continue', 'info breakpoints --json')
    start = ('replay start --on real',) if t.gpu == 'real' else ('replay start --on soft', 'set probes rewrite on')
    yield shell(t, *start, *commands, 'continue', 'info breakpoints --json')


def each_way(t, *commands):
    """The lines that kernels showed, and the breakpoints, of a program and of its replays."""
    for r in ways(t, commands):
        t.no_match('memory is not as recorded', r.out, 'memory')
        yield (re.findall(r'^block .*$', r.out, re.M), json.loads(re.search(r'^\[\{"id".*\]$', r.out, re.M | re.S).group(0)), r)


def warps():
    """Block, first thread and lanes of each warp of work."""
    for block in range(2):
        for first, n in ((0, 32), (32, 16)):
            yield block, first, n


def test_each_thread_its_values(t):
    want = [f'block ({b},0,0), thread ({first + l},0,0): {b * 48 + first + l} of {first + l} at {k}, {sum((b * 48 + first + l) * j * j for j in range(k))}'
            for b, first, n in warps() for k in range(4) for l in range(n)]
    for lines, bps, r in each_way(t, 'set dprintf-lines 0', f'dprintf work:{SUM},"%d of %u at %i, %ld\\n", i, threadIdx.x, k, sum'):
        t.equal(sorted(lines), sorted(want), 'lines')
        by_warp = [x for x in lines if x.startswith('block (1,0,0), thread (47,')]
        t.equal(by_warp, [x for x in want if x.startswith('block (1,0,0), thread (47,')], 'in the order of the thread')
        t.equal((bps[0]['hits'], bps[0]['left_out']), (16, 0), 'passes of warps')


def test_threads_that_say_the_same(t):
    want = [f'block ({b},0,0), {n} threads from ({first},0,0): k {k:#x}, given -2.25' for b, first, n in warps() for k in range(4)]
    for lines, bps, r in each_way(t, f'dprintf work:debugged.cu:{SUM},"k %#x, given %.2f\\n", k, given.y'):
        t.equal([x.replace('k 0,', 'k 0x0,') for x in lines], want, 'a line for each warp')


def test_conditions_and_functions(t):
    some = [i for i in LANES if i % 3 == 0 and i > 40]
    want = [f'block ({i // 48},0,0), thread ({i % 48},0,0): {3 * i} {i:x} {i % 48 % 32} {-i % 2**32}' for i in some]
    for lines, bps, r in each_way(t, f'dprintf debugged.cu:{TWICE} if v > 40,"%d %x %d %u\\n", r, v, lane, s32(0 - v)'):
        t.equal(sorted(lines), sorted(want), 'lines')
    for lines, bps, r in each_way(t, f'dprintf debugged.cu:{TWICE},"%d\\n", v', 'condition 1 blockIdx.x == 1 && threadIdx.x == 5', 'ignore 1 0'):
        t.equal(lines, [], 'i = 53 is no multiple of 3')


def test_the_limit_and_what_it_left(t):
    for lines, bps, r in each_way(t, 'set dprintf-lines 34', f'dprintf work:{SUM},"%d\\n", k < 1 || i'):
        t.equal(lines, ['block (0,0,0), 32 threads from (0,0,0): 1'] +
                ['block (0,0,0), thread (0,0,0): 0', 'block (0,0,0), 31 threads from (1,0,0): 1'] * 3 +
                ['block (0,0,0), 16 threads from (32,0,0): 1'] * 4 +
                [f'block (1,0,0), {n} threads from ({first},0,0): 1' for first, n in ((0, 32), (32, 16)) for _ in range(4)], 'all')
    for lines, bps, r in each_way(t, 'set dprintf-lines 34', f'dprintf work:{SUM},"%d\\n", i + k'):
        t.equal(lines, [f'block (0,0,0), thread ({i},0,0): {i + k}' for k in range(2) for i in range(32)][:34], 'lines')
        left = 4 * 96 - 34
        t.match(rf'^\[dprintf 1: {left} more threads( of #\d+)? not shown; "set dprintf-lines" is the limit\]$', r.out)
        t.equal((bps[0]['hits'], bps[0]['left_out']), (16, left), 'passes of warps, and threads')


def test_passes_are_ignored(t):
    for lines, bps, r in each_way(t, f'dprintf work:{SUM} if threadIdx.x < 2,"%d %d\\n", blockIdx.x, k + threadIdx.x', 'ignore 1 2'):
        t.equal(lines, [f'block ({b},0,0), thread ({x},0,0): {b} {k + x}' for b in range(2) for k in range(4) for x in range(2) if b or k > 1], 'lines')


def test_no_values(t):
    want = [f'block ({b},0,0), {n} threads from ({first},0,0): <no value>, 7' for b, first, n in warps()]
    for lines, bps, r in each_way(t, f'dprintf work:debugged.cu:{END},"%d, %d\\n", s32[16], 7'):
        t.equal(lines, want, 'memory that is not there')


def test_set_at_a_stop(t):
    """Others can be set while the program stops, once it was started with one; and be switched off."""
    r = live(t, f'dprintf t*:{TURN} if k == 8,"a %d\\n", k', 'break kernel turns', 'run', f'dprintf turns:{TURN} if k == 9,"b %d\\n", k', 'disable 1',
             'continue')  # and `run` again behind it
    t.equal(re.findall(r': ([ab] \d)$', r.out, re.M)[:2], ['b 9', 'b 9'], 'of both warps; the other is off')
    r = live(t, 'break kernel work', 'run', f'dprintf turns:{TURN} if k == 9,"b %d\\n", k')
    t.check('was started before it had' in r.err, f'it says so\n{r.show()}')


def test_a_breakpoint_at_a_kernels_line(t):
    record(t)
    r = shell(t, 'replay start --on soft', f'break work:{END}', 'continue', 'print threadIdx', 'print blockIdx.x + 1', 'print blockDim', 'print gridDim.x')
    t.match(rf'^Breakpoint 1 at debugged.cu:{END} in work$', r.out)
    t.match(r'^\$1 = \{x = 0, y = 0, z = 0\}\n\$2 = 1\n\$3 = \{x = 48, y = 1, z = 1\}\n\$4 = 2$', r.out)


def test_what_is_refused(t):
    record(t)
    r = shell(t, 'replay start --on soft', f'dprintf work:{SUM},"%s\\n", i', f'dprintf work:{SUM},"%d%d%d%d%d%d%d%d%d\\n", 1,2,3,4,5,6,7,8,9',
              f'dprintf work:{SUM}', 'dprintf nosuch:12,"x"', 'dprintf work:9999,"x"', 'info breakpoints', status=1)
    for text in ('a text (%s) is not shown from inside a kernel', 'at most 8 expressions', 'needs a place, a comma and a format', 'nosuch',
                 'neither line 9999 of debugged.cu nor any behind it has code'):
        t.check(text in r.err, text)
    t.match(r'^No breakpoints\.$', r.out)
