# SPDX-License-Identifier: Apache-2.0
"""tsdb stats and info stats: where the time of a recorded program went. The figures themselves are computed by hand in
tests/unit/test-state-stats.c; here they have to add up, to name places in the program, and to be refused where they cannot be known."""
import json
import os
import re

from e2e import BUILD


def record(t, program, *options):
    t.need_soft()
    t.tsdb('--gpu', 'soft', 'record', *options, '-o', 't.sbt', '--', os.path.join(BUILD, 'examples', program))


def stats(t, *words):
    return json.loads(t.tsdb('stats', 't.sbt', *words, '--json').out)


def test_times_add_up(t):
    record(t, 'pipeline', '--timestamps')
    s = stats(t)
    t.equal(s['refused'], [], 'what is refused')
    t.equal(s['timed'], s['work'], 'work with times')
    span = s['end_ns'] - s['begin_ns']
    for stream in s['stream_list']:
        t.equal(sum(stream['time'].values()), span, f'times of stream {stream["stream"]}')
    device = s['device_list'][0]['use']
    t.equal(device['busy_ns'] + device['idle_ns'], device['end_ns'] - device['begin_ns'], 'times of the device')
    t.equal(device['host_late_ns'] + device['starting_ns'], device['idle_ns'], 'idle time')
    t.equal(sum(device['busy_parts']), device['busy_ns'], 'parts of its time')
    t.equal(device['busy_ns'], device['kernel_ns'] + device['copy_ns'] - device['overlap_ns'], 'kernels and copies')
    t.equal(sum(b['idle_ns'] for b in stats(t, '--top', '0')['idle_by']) + s['idle_unknown_ns'], device['host_late_ns'], 'what the host did meanwhile')
    t.equal(sum(stream['work'] for stream in s['stream_list']), s['sums']['all']['count'], 'work')
    t.equal(sum(r['count'] for r in s['sums']['by_kernel']), s['work'], 'work by kernel')
    t.check(all('pipeline.cu' in r['name'] for r in s['sums']['by_site']), f'places: {s["sums"]["by_site"]}')
    t.check('pipeline.cu' in s['device_list'][0]['peak_place'], f'where memory was most: {s["device_list"][0]}')


def test_screen(t):
    record(t, 'pipeline', '--timestamps')
    out = t.tsdb('t.sbt', '--batch', '-ex', 'info stats --top 2').out
    for text in ('all with GPU times', 'Device 0', '  busy ', 'Streams', 'Copies and fills', 'By kernel', 'By call site', '(--top 0 shows all)'):
        t.check(text in out, f'{text} is not in {out}')
    t.equal('Idle devices' in out, bool(stats(t, '--top', '0')['idle_by']), f'whether the host was late is up to the machine: {out}')
    t.check('Not known' not in out, f'nothing is refused: {out}')
    work = [c['seq'] for c in map(json.loads, t.tsdb('view', 't.sbt', '--json').out.splitlines()) if c['kind'] in ('copy', 'launch')]
    one, many = t.tsdb('stats', 't.sbt', f'{work[0]}-{work[1]}').out, out
    for text in (one, many):
        gaps, word = re.search(r'in (\d+) (\w+): [\d.]+ ms until the host', text).groups()
        t.equal(word, 'gap' if gaps == '1' else 'gaps', text)
    t.match(r'in 1 gap: ', one, 'one piece of work behind the other')


def test_without_times(t):
    """What needs GPU times is named, everything else is there."""
    record(t, 'pipeline')
    s = stats(t)
    t.equal(s['timed'], 0, 'work with times')
    t.equal({r['figure'] for r in s['refused']},
            {'times of streams', 'use of devices', 'queue depth', 'launch latency', 'bandwidth', 'idle time by host call'}, 'what is refused')
    t.check(all('--timestamps' in r['reason'] for r in s['refused']), f'the cure: {s["refused"]}')
    t.equal({x['time'] for x in s['stream_list']} | {x['use'] for x in s['device_list']}, {None}, 'times')
    t.equal((s['latency'], s['queued']), (None, None), 'latency')
    t.check(s['copies_by'] and s['copies_by'][0]['bytes'] > 0, f'bytes of copies: {s["copies_by"]}')
    t.check(s['device_list'][0]['alloc_peak'] > 0, f'memory: {s["device_list"]}')
    out = t.tsdb('stats', 't.sbt').out
    t.check('Not known\n  times of streams, use of devices, queue depth, launch latency, bandwidth, idle time by host call: ' in out, out)


def test_critical_path(t):
    """examples/pipeline.cu computes in stream 2 and copies in stream 1: its path goes through kernels and the host, and names lines of it."""
    record(t, 'pipeline', '--timestamps')
    p = stats(t, '--critical-path', '--top', '0')
    t.equal(sum(part['path_ns'] for part in p['part_list']), p['length_ns'], 'parts of the path')
    t.equal(p['end_ns'] - p['begin_ns'], p['length_ns'], 'its length')
    steps = p['longest_steps']
    t.equal((steps[0]['begin_ns'], steps[-1]['end_ns']), (p['begin_ns'], p['end_ns']), 'where it begins and ends')
    t.equal([a['end_ns'] for a in steps[:-1]], [b['begin_ns'] for b in steps[1:]], 'that each step waited for the one before')
    t.check(any(part['part'] == 'kernel' and 'pipeline.cu' in part['call_site'] for part in p['part_list']), f'lines of the program: {p["part_list"]}')
    t.check(all(0 <= part['gain']['gain_ns'] <= p['length_ns'] for part in p['part_list'][:16]), 'gains')
    out = t.tsdb('t.sbt', '--batch', '-ex', 'info critical-path --top 3').out
    t.match(r'^It is mostly .*: \d+\.\d %, \d+\.\d{3} ms\.$', out)
    t.match(r'^If that took no time, the run would be \d+\.\d{3} ms shorter', out)
    for text in ('On it', 'Its longest steps'):
        t.check(text in out, f'{text} is not in {out}')


def test_critical_path_needs_times(t):
    record(t, 'pipeline')
    r = t.tsdb('stats', 't.sbt', '--critical-path')
    t.check(r.status == 1 and 'no GPU times' in r.err and '--timestamps' in r.err, r.err)


def test_words(t):
    record(t, 'vecadd')
    for words, text in ((['stats'], 'stats needs a trace'), (['stats', 't.sbt', '--top'], '--top needs a number'), (['stats', 't.sbt', 'x'], 'no range')):
        p = t.tsdb(*words)
        t.check(p.status == 1 and text in p.err, f'{words}: {p.status} {p.err}')


# -- sets

LATE = 5_000_000  # ns by which rank 1's clock is late in a_set()


def a_set(t, options=('--timestamps',)):
    """set.sbt of two ranks that run different programs, r0.sbt and r1.sbt."""
    t.need_soft()
    for rank, program in enumerate(('pipeline', 'vecadd')):
        r = t.tsdb('--gpu', 'soft', 'record', *options, '-o', f'r{rank}.sbt', '--', os.path.join(BUILD, 'examples', program), env={'RANK': str(rank), 'WORLD_SIZE': '2'})
        t.equal(r.status, 0, 'record')
    t.equal(t.tsdb('merge', '-o', 'set.sbt', 'r0.sbt', 'r1.sbt').status, 0, 'merge')
    with open(t.path('set.sbt'), encoding='utf-8') as f:
        s = json.load(f)
    s['traces'][1].update(fitted=True, matches=9, offset_ns=LATE)
    with open(t.path('set.sbt'), 'w', encoding='utf-8') as f:
        json.dump(s, f)
    return [json.loads(t.tsdb('stats', f'r{rank}.sbt', '--json').out) for rank in (0, 1)]


def test_ranks_of_a_set(t):
    """Each rank's figures are those of its own trace, sums are of both, and times are on the set's clock."""
    own = a_set(t)
    s = json.loads(t.tsdb('stats', 'set.sbt', '--json').out)
    t.equal([r['stats'] for r in s['rank_list']], own, 'each rank')
    t.equal([r['rank'] for r in s['rank_list']], [0, 1], 'ranks')
    ends = [(o['begin_ns'] + rank * LATE, o['end_ns'] + rank * LATE) for rank, o in enumerate(own)]
    t.equal([(r['begin_ns'], r['end_ns']) for r in s['rank_list']], ends, 'times on the set\'s clock')
    t.equal((s['begin_ns'], s['end_ns']), (min(e[0] for e in ends), max(e[1] for e in ends)), 'the whole')
    for field in ('commands', 'work', 'timed'):
        t.equal(s[field], sum(o[field] for o in own), field)
    for table in ('by_kernel', 'by_site', 'by_range'):
        names = {row['name'] for o in own for row in o['sums'][table]}
        t.equal({row['name'] for row in s[table]}, names, table)
        for row in s[table]:
            parts = {rank: x for rank, o in enumerate(own) for x in o['sums'][table] if x['name'] == row['name']}
            for field in ('count', 'timed', 'gpu_ns', 'bytes'):
                t.equal(row[field], sum(x[field] for x in parts.values()), f'{field} of {row["name"]}')
            t.equal(row['ranks'], len(parts), f'ranks that have {row["name"]}')
            t.equal((row['least_ns'], row['most_ns']), (min(x['gpu_ns'] for x in parts.values()), max(x['gpu_ns'] for x in parts.values())), row['name'])
            for which in ('least', 'most'):
                t.equal(parts[row[f'{which}_rank']]['gpu_ns'], row[f'{which}_ns'], f'the rank with the {which} of {row["name"]}')
    t.check([row for row in s['by_kernel'] if row['ranks'] == 2] and [row for row in s['by_kernel'] if row['ranks'] == 1], 'kernels of one and of both')
    t.equal([row['gpu_ns'] for row in s['by_kernel']], sorted((row['gpu_ns'] for row in s['by_kernel']), reverse=True), 'the most time first')
    out = t.tsdb('stats', 'set.sbt', '--top', '1').out
    t.match(r'^2 ranks, \d+ commands, \d+\.\d+ ms on the set\'s clock; \d+ launches, copies and fills, all with GPU times\.$', out)
    t.match(r'^   1 +\d+ +\d', out, 'a row for rank 1')
    t.match(r'^By call site, all ranks$', out)
    t.match(r'^and \d+ more \(--top 0 shows all\)$', out)
    # one rank is as its own trace
    t.equal(json.loads(t.tsdb('stats', 'set.sbt', '--rank', '1', '--json').out), own[1], '--rank 1')
    t.equal(t.tsdb('stats', 'set.sbt', '--rank', '0', '--critical-path').out, t.tsdb('stats', 'r0.sbt', '--critical-path').out, 'its critical path')
    for words, why in ((('set.sbt', '--critical-path'), 'a critical path is one rank\'s'), (('set.sbt', '1-5'), 'a range is of one rank\'s commands'),
                       (('set.sbt', '--rank', '7'), 'has no rank 7'), (('r0.sbt', '--rank', '0'), 'is one rank\'s trace, not a set'), (('set.sbt', '--rank', 'x'), '--rank needs')):
        t.sentence(t.tsdb('stats', *words), why)


def test_set_without_times(t):
    a_set(t, ())
    out = t.tsdb('stats', 'set.sbt').out
    t.match(r'^How busy the devices of rank 1 were is not known: .*--timestamps', out)
    t.no_match('Busy', out)
    os.remove(t.path('r1.sbt'))
    t.sentence(t.tsdb('stats', 'set.sbt'), 'r1.sbt')
