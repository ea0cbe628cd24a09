# SPDX-License-Identifier: Apache-2.0
"""rwatch and awatch: stops at commands that read, or read or write, bytes; forwards and backwards, in launches, and what is said where it is not known."""
import json
import os
import random
import re

from e2e import SRC
from replay import find, recorded, shell


def touched(t, kinds, addr, size, trace='t.sbt'):
    """Commands that touch the bytes, by `info accesses`: another way to the same question."""
    rows = json.loads(re.search(r'^\[\{.*\]$', shell(t, 'replay start --on soft', 'info accesses 1- --json', trace=trace).out, re.M | re.S)[0])
    return [r['seq'] for r in rows if any(int(s['addr'], 16) < addr + size and addr < int(s['addr'], 16) + s['size'] for k in kinds for s in r[k])]


def stops(t, watch, *more, start='replay start --on soft', trace='t.sbt'):
    """Where `continue` stops from the beginning to the end, then `reverse-continue` from there."""
    r = shell(t, start, *more, watch, 'goto begin', *['continue'] * 40, 'echo and back\\n', 'goto end', *['reverse-continue'] * 40, trace=trace)
    there, back = r.out.split('and back\n', 1)
    there = there.split('The end of the', 1)[0]  # 40 times may not be enough
    return [[int(n) for n in re.findall(r'^Watchpoint 1, (?:\w+ \d+, )*#(\d+) ', part, re.M)] for part in (there, back)], r


def test_stops_are_where_the_accesses_are(t):
    """Ranges at random: the same commands as `info accesses` says, in both directions."""
    t.need_soft()
    rnd = random.Random(5)
    for prog in 'reduce', 'transformer':
        recorded(t, prog, options=('--memory', 'all'))
        allocs = [(int(m[2], 16), int(m[1])) for m in re.finditer(r'^#\d+ alloc device (\d+) bytes (0x[0-9a-f]+)', t.tsdb('view', 't.sbt').out, re.M)]
        t.check(allocs, 'allocations')
        for _ in range(2):
            base, size = rnd.choice(allocs)
            addr, n = base + rnd.randrange(size), rnd.choice((1, 4, 64))
            for word, kinds in ('rwatch', ('read', 'atomic')), ('awatch', ('read', 'written', 'atomic')):
                want = touched(t, kinds, addr, n)
                (there, back), _r = stops(t, f'{word} {addr:#x} len {n}')
                t.equal(there, want[:40], f'{prog}: {word} {addr:#x} len {n}')
                t.equal(back, want[::-1][:40], f'{prog}: backwards {word} {addr:#x} len {n}')


def test_what_the_access_is(t):
    t.need_soft()
    recorded(t, 'reduce', options=('--memory', 'all'))
    fill, launch, copy = find(t, 'fill 8 bytes'), find(t, 'sum_kernel<<<'), find(t, 'copy d2h 8 bytes')
    at = re.search(r'fill 8 bytes (0x[0-9a-f]+)', t.tsdb('view', 't.sbt').out)[1]
    r = shell(t, 'replay start', f'awatch {at} len 8', 'continue', 'continue', 'continue', 'continue', 'info breakpoints')
    t.match(rf'^Access watchpoint 1: 8 bytes at {at}$', r.out)
    t.match(rf'^Watchpoint 1, #{fill} .*\n(.*\n)?  writes 8 bytes at {at} \({at}\+0\)$', r.out)
    t.match(rf'^Watchpoint 1, #{launch} .*\n(.*\n)?  reads and writes 8 bytes at {at} \({at}\+0\)$', r.out)
    t.match(rf'^Watchpoint 1, #{copy} .*\n(.*\n)?  reads 8 bytes at {at} \({at}\+0\)$', r.out)
    t.match(rf'^1 +keep +y +3 +awatch {at} len 8$', r.out)
    r = shell(t, 'replay start', f'goto {fill}', f'rwatch {at} len 8', f'watch {at} len 8', f'break seq {launch}', 'continue')
    for n in 1, 2, 3:  # all three are about the launch
        t.match(rf'point {n}, (.*, )?#{launch} ', r.out)
    t.no_match('unseen|may ', r.out)


def test_without_the_software_gpu_it_says_may(t):
    recorded(t, 'reduce')
    launch, copy, other = find(t, 'sum_kernel<<<'), find(t, 'copy d2h 8 bytes'), find(t, 'histogram<<<')
    at = re.search(r'fill 8 bytes (0x[0-9a-f]+)', t.tsdb('view', 't.sbt').out)[1]
    r = shell(t, 'replay start --on none', f'rwatch {at} len 8', 'continue', 'continue', 'continue')
    t.match(rf'^Watchpoint 1, #{launch} .*\n(.*\n)?  may read or write 8 bytes at {at} .*it was given a pointer into the allocation', r.out)
    t.match(rf'^Watchpoint 1, #{copy} .*\n(.*\n)?  reads 8 bytes', r.out)
    t.match(r'^  2 commands on the way may have touched watched bytes unseen', r.out)  # histogram and max_kernel have other pointers
    t.check(launch < other < copy, 'they are between the two')
    r = shell(t, 'replay start --on none', f'rwatch {at} len 8', 'goto end', 'reverse-continue', 'reverse-continue')
    t.match(rf'^Watchpoint 1, #{copy} ', r.out)
    t.match(rf'^Watchpoint 1, #{launch} .*\n(.*\n)?  may read.*\n  2 commands on the way', r.out)


def test_a_launch_that_was_kept_back(t):
    """It reads where it runs, not where it was submitted."""
    t.need_soft()
    recorded(t, 'value_waits', 'stream')
    wait, fetch, write = find(t, 'batch is_wait'), find(t, 'fetch<<<'), find(t, 'batch 0x')
    x = re.search(r'fill 4096 bytes (0x[0-9a-f]+)', t.tsdb('view', 't.sbt').out)[1]
    r = shell(t, 'replay start', f'goto {wait}', f'rwatch {x} len 4', 'continue', 'goto end', 'reverse-continue')
    t.equal(len(re.findall(rf'^Watchpoint 1, #{write} batch.*\n  by #{fetch} fetch<<<.*, which was kept back until then$', r.out, re.M)), 2, 'there and back')


def test_graph_launches(t):
    """One that touches the bytes is a stop; so is the rest of one that the replay is inside."""
    t.need_soft()
    recorded(t, 'graphs', options=('--memory', 'all'))
    first, last = find(t, 'graph_launch'), find(t, 'graph_launch', which=-1)
    at = re.search(r'copy d2h 4 bytes (0x[0-9a-f]+)', t.tsdb('view', 't.sbt').out)[1]
    (there, back), _ = stops(t, f'rwatch {at} len 4')
    t.check(first in there and last in there and first in back and last in back, f'graph launches: {there}, {back}')
    r = shell(t, 'replay start', f'goto {first}.1', f'rwatch {at} len 4', 'continue', 'when')
    t.match(rf'^Watchpoint 1, #{first} ', r.out)


def test_inside_a_launch(t):
    t.need_soft()
    recorded(t, 'reduce', options=('--memory', 'all'))
    launch = find(t, 'sum_kernel<<<')
    r = shell(t, 'replay start', f'replay enter {launch}', 'rwatch @shared 4 len 4', 'continue', 'delete', 'awatch arg0 len 4', 'continue', 'reverse-continue', 'delete', 'watch @shared 4 len 4',
              'continue')
    t.match(r'^Watchpoint 1: shared 0x4, read by block \(0,0,0\), thread \(1,0,0\)\n  0x[0-9a-f]+ \(\d+\)\n  by \d+:\tld\.shared', r.out)
    t.match(r'^Watchpoint 2: global 0x[0-9a-f]+, changed atomically by block \(\d,0,0\), thread \(0,0,0\)\n  0x[0-9a-f]+ \(\d+\) -> 0x[0-9a-f]+ \(\d+\)\n  by \d+:\tatom\.global', r.out)
    t.match(r'^Watchpoint 3: shared 0x4, written by', r.out)


def test_live_and_refused(t):
    r = t.session('reduce', 'break sum_kernel', 'run', 'rwatch arg0', 'awatch', 'rwatch 0x10 len 0', 'info breakpoints', 'continue')
    t.match(r'^Read watchpoint 2: 8 bytes at 0x[0-9a-f]+ \(only a replay stops at it\)$', r.out)
    t.match(r'an address is missing', r.err)
    t.match(r'"?0"? is no length', r.err)
    t.match(r'reduce: sum \d+.* ok', r.out)


def test_until_and_advance_leave_nothing(t):
    """No breakpoint is left where an earlier one stopped; inside a kernel `until` goes past a loop."""
    r = t.session('reduce', 'break sum_kernel', 'run', 'advance max_kernel', 'break histogram', 'info breakpoints', 'kill', 'run', 'until max_kernel', 'info breakpoints', 'kill')
    lists = r.out.split('Num  Disp')[1:]
    t.match(r'#\d+ max_kernel<<<', r.out)
    for text in lists:
        t.no_match('max_kernel', text.split('[process')[0].split('Breakpoint ')[0], 'the list of breakpoints')
    t.need_soft()
    recorded(t, 'arguments', options=('--memory', 'all'))
    launch = find(t, 'adam<<<', which=3)
    src = open(os.path.join(SRC, 'tests/programs/arguments.cu'), encoding='utf-8').read().split('\n')
    loop = next(n for n, line in enumerate(src, 1) if 'sum += m[i]' in line)
    r = shell(t, 'replay start', f'goto {launch - 1}', f'break ptx adam:arguments.cu:{loop}', 'continue', 'until', 'delete', 'until', 'list')
    t.check(int(t.match(r'^=> +(\d+)  ', r.out)[1]) > loop, 'behind the loop')
