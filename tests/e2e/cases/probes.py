# SPDX-License-Identifier: Apache-2.0
"""Probes inside kernels on the software GPU. What they have to count is computed here from the source of tests/programs/debugged.cu and
examples/reduce.cu."""
import json
import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from e2e import program  # noqa: E402
from kernelvars import line_of, record  # noqa: E402
from microscope import line_of as example_line  # noqa: E402
from replay import find, recorded, shell  # noqa: E402

LANES = range(96)  # of work<<<2, 48>>>


def probed(out):
    """The probes of each `info probes --json`."""
    return [json.loads(m) for m in re.findall(r'^\[\{"id".*?\]$', out, re.M | re.S)]


def groups(probe):
    return {int(g['key']): g['threads'] for g in probe['groups']}


def counted(values):
    ret = {}
    for v in values:
        ret[v] = ret.get(v, 0) + 1
    return ret


def log2(v):
    return 0 if v == 0 else -1 if v < 0 else 1 << (v.bit_length() - 1)


PROBES = [
    'probe work:debugged.cu:{sum} count',
    'probe debugged.cu:{twice} hist blockIdx.x * 48 + threadIdx.x',  # divergent: a third of the lanes
    'probe work:{blend} by threadIdx.x % 4 if blockIdx.x == 1',  # inlined
    'probe work:debugged.cu:{twice} hist s32[0x4000000100000000 + threadIdx.x * 4] - 10',  # shared memory, negative values
    'probe t*:debugged.cu:{turn} count',
    'probe work:debugged.cu:{twice} by s32[16]',  # nothing is there
]


def probes():
    return [p.format(sum=line_of('sum +='), twice=line_of('/* twice */'), blend=line_of('/* blend */'), turn=line_of('/* turn */')) for p in PROBES]


def check_counts(t, ps):
    thirds = [i for i in LANES if i % 3 == 0]
    t.equal([p['threads'] for p in ps], [4 * 96, len(thirds), len([i for i in thirds if i >= 48]), len(thirds), 40 * 50000, 0], 'threads')
    t.equal([p['launches'] for p in ps], [1] * 6, 'launches')
    t.equal(groups(ps[1]), counted(log2(i) for i in thirds), 'powers of two')
    t.equal(groups(ps[2]), counted((i - 48) % 4 for i in thirds if i >= 48), 'values')
    t.equal(groups(ps[3]), counted(log2(i - 10) for i in thirds), 'what is in shared memory')
    t.equal(ps[5]['uncounted'], len(thirds), 'threads that read memory which is not there')


def test_counts_in_a_replay(t):
    seq = record(t)
    r = shell(t, 'replay start --on soft', *probes(), 'info probes --json', f'replay enter {seq}', 'stepi 30', 'when', 'info probes --json', 'when',
              'replay goto 3', 'info probes --json', 'replay verify', 'unprobe 2 3 4 5 6', 'info probes')
    ps = probed(r.out)
    t.equal(len(ps), 3, 'answers')
    check_counts(t, ps[0])
    t.equal(ps[1:], ps[:1] * 2, 'the same from within a launch and from elsewhere')
    t.equal(len(re.findall(rf'^Inside #{seq}, .*, after 30 instructions of its warp$', r.out, re.M)), 2, 'the place is kept')
    t.match(r'identical', r.out)
    t.match(r'^Probe 1 at work:debugged.cu:\d+: count\n  384 threads, 1 launch$', r.out)
    t.check('Probe 2' not in r.out.split('identical')[1], 'the others are gone')


def test_counts_live_whatever_executes(t):
    """The same counts on 1, 2 and 4 workers, with and without the compiler; and the program computes the same as without probes."""
    t.need_soft()
    prog = program('debugged')
    alone = t.tsdb('--batch', '--no-init', '--gpu', 'soft', '-ex', 'run', '--args', prog)
    total = re.search(r'^total .*$', alone.out, re.M).group(0)
    for workers, jit in ((1, 'on'), (2, 'off'), (2, 'on'), (4, 'on')):
        ex = [x for c in (f'set softgpu jit {jit}', f'set env TSDB_SOFT_WORKERS={workers}', *probes(), 'run', 'info probes --json') for x in ('-ex', c)]
        r = t.tsdb('--batch', '--no-init', '--gpu', 'soft', *ex, '--args', prog)
        t.equal(r.status, 0, 'exit status')
        check_counts(t, probed(r.out)[0])
        t.check(total in r.out, f'{total} as without probes')


def test_loops_count_runs(t):
    """The head of a loop has a run for its beginning and one for each turn; a loop on one line is one run."""
    record(t)
    r = shell(t, 'replay start --on soft', f'probe work:{line_of("for (int k = 0; k < 4")} count', f'probe turns:{line_of("/* one line */")} count',
              'info probes --json')
    t.equal([p['threads'] for p in probed(r.out)[0]], [96 * 5, 40], 'threads')


def test_variables_of_the_source(t):
    """What `nvcc -G` tells of variables: in registers that are others at each place, in local, shared and global memory, behind pointers."""
    record(t)
    ps = [f'probe work:debugged.cu:{line_of("sum +=")} by k',
          f'probe work:debugged.cu:{line_of("sum +=")} by squares[k] if i % 32 == 5',
          f'probe debugged.cu:{line_of("/* twice */")} hist r + p.tag[1] if v > 3',
          f'probe work:debugged.cu:{line_of("twice(i, mine)")} by tile[threadIdx.x ^ 1] - i + table[i & 3]',
          f'probe work:debugged.cu:{line_of("/* end */")} by given.y',
          f'probe work:debugged.cu:{line_of("/* end */")} by nosuch']
    thirds = [i for i in LANES if i % 3 == 0]
    live = [x for c in (*ps, 'run', 'info probes --json') for x in ('-ex', c)]
    for r in (shell(t, 'replay start --on soft', *ps, 'info probes --json'),
              t.tsdb('--batch', '--no-init', '--gpu', 'soft', *live, '--args', program('debugged'))):
        a = probed(r.out)[0]
        t.equal(groups(a[0]), {k: 96 for k in range(4)}, 'k')
        t.equal(groups(a[1]), counted(i * k * k for i in LANES if i % 32 == 5 for k in range(4)), 'squares[k]')
        t.equal(groups(a[2]), counted(log2(3 * i + i) for i in thirds if i > 3), 'of a function, behind a reference')
        t.equal(groups(a[3]), counted((i % 48 ^ 1) + i // 48 * 48 - i + 10 * (1 + i % 4) for i in thirds), 'shared and global memory')
        t.equal([(g['key'], g['threads']) for g in a[4]['groups']], [('-2.25', 96)], 'a float')
        t.equal((a[5]['threads'], a[5]['uncounted']), (0, 96), 'no variable')


def test_one_lane_of_each_warp(t):
    t.need_soft()
    recorded(t, 'reduce', options=('--memory', 'all'))
    line = example_line('reduce.cu', 'warp_sums[warp] = x')
    r = shell(t, 'replay start --on soft', f'probe sum_kernel:reduce.cu:{line} by threadIdx.x', 'info probes --json')
    p = probed(r.out)[0][0]
    t.equal(groups(p), {32 * w: 196 for w in range(8)}, 'lane 0 of each of 8 warps in 196 blocks')
    t.equal(p['threads'], 196 * 8, 'threads')


def test_a_line_alone_is_of_the_file_where_it_stands(t):
    t.need_soft()
    recorded(t, 'reduce', options=('--memory', 'all'))
    line = example_line('reduce.cu', 'warp_sums[warp] = x')
    r = shell(t, 'replay start --on soft', f'probe {line} count', f"goto {find(t, 'sum_kernel<<<')}", f'probe {line} count', status=1)
    t.match(rf'^Probe 1 at reduce\.cu:{line}: count$', r.out)
    t.equal(len(re.findall('^tsdb: ', r.err, re.M)), 1, f'nothing has stopped at first\n{r.err}')


def test_what_is_refused(t):
    record(t)
    r = shell(t, 'replay start --on soft', 'probe nosuch:12 count', 'probe work:9999 count', 'probe work count', 'probe work:30 sum', 'probe work:30 by',
              'probe work:30 count %r1', 'unprobe 3', 'info probes', status=1)
    for text in ('the trace has no code of a kernel nosuch', 'neither line 9999 nor any behind it is in a kernel', 'a probe is at KERNEL:LINE',
                 'a probe does count, hist EXPR or by EXPR', 'there is no expression', 'count takes no expression', 'there is no probe 3'):
        t.check(text in r.err, text)
    t.match(r'^No probes\.$', r.out)
