# SPDX-License-Identifier: Apache-2.0
"""tsdb stats and info stats: where the time of a recorded program went. The figures themselves are computed by hand in
tests/unit/test-state-stats.c; here they have to add up, to name places in the program, and to be refused where they cannot be known."""
import json
import os

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
