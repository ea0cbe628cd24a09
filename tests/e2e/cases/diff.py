# SPDX-License-Identifier: Apache-2.0
"""tsdb diff: tests/programs/variants.cu makes the same four steps in variants with one difference each, in the second step. The differences that
have to be found are in planted.py."""
import json
import os
import re

from e2e import program
from runs import planted

COUNTS = ('removed', 'inserted', 'replaced', 'reshaped', 'reordered', 'other_stream', 'wait_gone', 'wait_added', 'wait_other')


def record(t, *variants, options=()):
    t.need_soft()
    for v in variants:
        r = t.tsdb('--gpu', 'soft', 'record', *options, '-o', f'{v}.sbt', '--', program('variants'), v)
        t.equal(r.status, 0, f'record {v}: {r.err}')


def diff(t, a, b, *words):
    r = t.tsdb('diff', f'{a}.sbt', f'{b}.sbt', *words, '--json')
    return r.status, json.loads(r.out)


def test_two_commands_for_one(t):
    record(t, 'base', 'fused')
    d = diff(t, 'base', 'fused')[1]
    t.equal({k: d[k] for k in COUNTS if d[k]}, {'replaced': 1, 'removed': 1}, 'fused')
    first = d['difference_list'][0]
    t.equal((first['in_a']['command_text'].split('<')[0].split()[1], first['in_b']['command_text'].split('<')[0].split()[1]), ('add', 'add_square'), 'first')


def test_the_same(t):
    """A against A, another run of A, a slower one, and one whose ids and addresses are others."""
    record(t, 'base', 'slow', 'ids')
    os.rename(t.path('base.sbt'), t.path('one.sbt'))
    record(t, 'base')
    for other in ('base', 'one', 'slow', 'ids'):
        status, d = diff(t, 'base', other)
        t.equal((status, d['same'], d['difference_list'], d['matched']), (0, True, [], d['a_commands']), f'base and {other}')
    t.match('^They are the same:', t.tsdb('diff', 'base.sbt', 'ids.sbt').out)


def test_time(t):
    """The kernel spin takes three times as long in each of four steps; "other" wavers. The times are planted."""
    planted(t, 'base', {'spin': [100, 101, 102, 103], 'other': [50, 40, 50, 40]})
    planted(t, 'slow', {'spin': [300, 304, 305, 309], 'other': [40, 50, 41, 50]})
    status, d = diff(t, 'base', 'slow', '--time')
    t.equal((status, d['times_known'], d['same']), (0, True, True), 'times')
    rows = {r['name']: (r['count'], r['a_ns'], r['b_ns'], r['change_ns'], r['noise']) for r in d['time_list']}
    t.equal(rows, {'spin': (4, 406000, 1218000, 812000, False), 'other': (4, 180000, 181000, 1000, True)}, 'kernels')
    t.equal((d['a_matched_ns'], d['b_matched_ns']), (586000, 1399000), 'all of it')
    for text, ok in (('structure == same', True), ('time < 1.05', False), ('time > 1.05 && structure == same', True), ('time < 1.05 && structure == same', False),
                     ('time < 1.05 || inserted == 0', True), ('structure != same || removed > 0', False)):
        t.equal(t.tsdb('diff', 'base.sbt', 'slow.sbt', '--assert', text).status, 0 if ok else 3, text)


def test_what_is_refused(t):
    record(t, 'base')
    for words, text in ((['base.sbt'], 'needs two traces'), (['base.sbt', 'base.sbt', '--time'], 'needs GPU times'),
                        (['base.sbt', 'base.sbt', '--assert', 'time < 1'], 'needs GPU times'), (['base.sbt', 'base.sbt', '--assert', 'size < 1'], 'knows no "size"'),
                        (['base.sbt', 'base.sbt', '--assert', 'inserted <'], 'cannot read'), (['base.sbt', 'base.sbt', '--assert', 'inserted < 1 x'], 'cannot read'),
                        (['base.sbt', 'none.sbt'], 'none.sbt')):
        r = t.tsdb('diff', *words)
        t.check(r.status == 1 and text in r.err, f'{words}: {r.status} {r.err}')


def test_a_part(t):
    """The second and the third step of one trace are the first and the second of it."""
    record(t, 'base')
    syncs = [int(line.split()[0][1:]) for line in t.tsdb('view', 'base.sbt', '--kind', 'sync').out.splitlines()]
    status, d = diff(t, 'base', 'base', '--range-a', f'{syncs[0] + 2}-{syncs[2]}', '--range-b', f'{syncs[1] + 2}-{syncs[3]}')
    t.equal((status, d['same'], d['a_commands']), (0, True, 26), 'two steps')


def test_threads(t):
    """Twelve threads that do nearly the same, each a launch more than the one before, in whatever order: which is which is known by how much each does."""
    t.need_soft()
    for i in (1, 2, 3):
        r = t.tsdb('--gpu', 'soft', 'record', '-o', f'{i}.sbt', '--', program('threads'))
        t.equal(r.status, 0, r.err)
    for a, b in ((1, 2), (2, 3), (1, 3)):
        status, d = diff(t, a, b)
        t.equal((status, d['same'], d['difference_list']), (0, True, []), f'{a} and {b}')


def lines_of(t, trace, *words):
    return [line.split()[0][1:] for line in t.tsdb('view', f'{trace}.sbt', *words).out.splitlines()]


def test_steps(t):
    """By host waits, by NVTX ranges with their own numbers, by launches of a graph; refused by name where there are none."""
    record(t, 'base', 'removed', 'ranges', 'graphs')
    syncs = [int(s) for s in lines_of(t, 'base', '--kind', 'sync')]
    status, d = diff(t, 'base', 'base', '--step', 'A:2', 'B:3')
    t.equal((status, d['same'], d['matched']), (0, True, 13), 'two steps')
    t.equal((d['step_a']['first_seq'], d['step_a']['last_seq'], d['step_a']['steps_by']), (syncs[0] + 1, syncs[1], 'wait'), 'the second step')
    t.equal((d['step_b']['first_seq'], d['step_b']['last_seq'], d['step_b']['steps']), (syncs[1] + 1, syncs[2], 5), 'the third step')
    for words in (['--step', '2'], ['--step=A:2,B:2'], ['--step', 'B:2', 'A:2']):
        status, d = diff(t, 'base', 'removed', *words)
        t.equal((status, d['removed'], len(d['difference_list'])), (3, 1, 1), f'{words}')
    t.equal(diff(t, 'base', 'removed', '--step', 'A:2', 'B:3')[0], 0, 'the removed launch is in the second step alone')
    status, d = diff(t, 'ranges', 'ranges', '--step', 'A:11', 'B:12')
    t.equal((status, d['step_a']['number'], d['step_a']['steps_by'], d['step_a']['range_name'], d['step_a']['work']), (0, 11, 'range', 'step *', 12), 'NVTX')
    status, d = diff(t, 'ranges', 'ranges', '--step', '11', '--step-by', 'range:step 7')
    t.equal((status, d['matched']), (0, 13), 'ranges by name')
    status, d = diff(t, 'graphs', 'graphs', '--step-by', 'graph', '--step', 'A:2', 'B:3')
    t.equal((status, d['reshaped'], d['step_a']['work'], d['step_b']['steps']), (3, 1, 2, 4), 'a graph')
    for words, text in ((['--step', 'A:2', 'B:9'], 'B has 5 steps by wait and no step 9. Its steps are 1 to 5'), (['--step', 'A:2'], 'needs a step of B'),
                        (['--step', '2', '--step-by', 'graph'], 'no steps by graph are in both traces: launches of one graph: 0 in A, 0 in B'),
                        (['--step', '2', '--step-by', 'range'], 'no steps by range are in both'), (['--step', '2', '--step-by', 'range:x'], 'no steps by range are in both'),
                        (['--step', '2', '--step-by', 'day'], 'knows no "day"'), (['--step', 'A:x', 'B:2'], 'cannot read "A:x"'), (['--step', 'A:2,C:3'], 'cannot read'),
                        (['--step', '2', '--range-a', '1-5'], 'the same thing'), (['--step-by', 'wait'], 'is for --step'), (['--step', '0'], 'no step 0')):
        r = t.tsdb('diff', 'base.sbt', 'removed.sbt', *words)
        t.check(r.status == 1 and text in r.err, f'{words}: {r.status} {r.err}')


def folded(text):
    sums = {}
    for line in text.splitlines():
        stack, value = line.rsplit(' ', 1)
        sums[stack] = sums.get(stack, 0) + int(value)
    return sums


def test_folded(t):
    """Each stack with A's and B's value: what the export of each has, and nothing else."""
    record(t, 'base', 'kernel', options=['--timestamps'])
    for words in ([], ['--weight', 'count'], ['--weight', 'bytes']):
        r = t.tsdb('diff', 'base.sbt', 'kernel.sbt', '--folded', *words)
        t.equal((r.status, r.err), (0, ''), f'{words}')
        both = [re.fullmatch(r'(.+) (\d+) (\d+)', line).groups() for line in r.out.splitlines()]
        t.equal(len({b[0] for b in both}), len(both), 'a stack is there once')
        for i, trace in enumerate(('base', 'kernel')):
            want = folded(t.tsdb('export', 'folded', f'{trace}.sbt', '-o', '-', *words).out)
            t.equal({b[0]: int(b[1 + i]) for b in both if b[1 + i] != '0'}, want, f'{trace} {words}')
    counts = {b[0].split(';')[-1].split('(')[0]: b[1:] for b in (line.rsplit(' ', 2) for line in t.tsdb('diff', 'base.sbt', 'kernel.sbt', '--folded', '--weight', 'count').out.splitlines())}
    t.equal((counts['[GPU_Kernel]square'], counts['[GPU_Kernel]cube'], counts['[copy h2d]']), (['4', '3'], ['0', '1'], ['4', '4']), 'a square became a cube')
    one = t.tsdb('diff', 'base.sbt', 'kernel.sbt', '--folded', '--weight', 'count', '--step', '2').out
    t.match(r'\[GPU_Kernel\]cube\S* 0 1\n', one.replace('(int*)', ''))
    record(t, 'slow')
    for words, text in ((['--folded'], 'GPU times'), (['--folded', '--json'], 'nothing else'), (['--folded', '--weight', 'x'], 'gpu, count or bytes'), (['--weight', 'gpu'], 'is for --folded')):
        r = t.tsdb('diff', 'slow.sbt', 'slow.sbt', *words)
        t.check(r.status == 1 and text in r.err and not r.out, f'{words}: {r.status} {r.err}')


def why(t, a, b, *words):
    r = t.tsdb('diff', f'{a}.sbt', f'{b}.sbt', '--why', *words)
    t.check(r.status in (0, 3), r.err)
    lines = [line for line in r.out.splitlines() if line.startswith(('The first difference is', 'Both submit'))]
    t.equal(len(lines), 1, f'one paragraph: {r.out}')
    d = diff(t, a, b, '--why', *words)[1]
    t.equal(d['explanation'], lines[0], 'text and JSON')
    return lines[0], d


def test_why(t):
    """One paragraph, with what is known and nothing else. spin is a hundred times slower in "slow"; "removed" has no square in the second step."""
    record(t, 'base', 'slow', 'removed', 'extra', options=['--timestamps'])
    text, d = why(t, 'base', 'slow')
    t.match(r'^Both submit the same \d+ commands in the same order with the same waits\. What the commands computed was not compared', text)
    for verb, sign in ('loses', 1), ('gains', -1): # which are noise depends on the machine; the sentence says what the list says
        sites = [s for s in d['site_list'] if not s['noise'] and s['change_ns'] * sign >= 500][:3]
        said = [f"{abs(s['change_ns']) / 1e6:.3f} ms in {s['name']} from {s['call_site']} ({s['a_count']} in A, {s['b_count']} in B)" for s in sites]
        t.check((f' B {verb} ' + ', '.join(said) + '.' if said else f'It {verb} nowhere more than noise and 0.0005 ms.') in text, f'{verb}: {said}: {text}')
    t.match(r" A's critical path is \d+\.\d+ ms long, mostly .*: \d+\.\d % of it\. B's critical path is ", text)
    t.check('first difference' not in text, 'none is claimed')
    spin = [s for s in d['site_list'] if s['name'] == 'spin'][0]
    t.equal((spin['a_count'], spin['b_count'], spin['change_ns']), (4, 4, spin['b_ns'] - spin['a_ns']), 'spin')
    t.equal((sum(s['a_ns'] for s in d['site_list']), sum(s['b_ns'] for s in d['site_list'])),
            (d['a_matched_ns'] + d['a_only_ns'], d['b_matched_ns'] + d['b_only_ns']), 'all time has a site')
    text, d = why(t, 'base', 'removed')
    t.match(r'^The first difference is that A has a command that B does not have: A has #39 square<<<.*, called in square.* in step \(\).*; B has nothing behind #38\. '
            r'Nothing else differs', text)
    t.match('Whether the first difference is what changed the time is not known', text)
    square = [s for s in d['site_list'] if s['name'] == 'square'][0]
    t.equal((square['a_count'], square['b_count'], square['noise']), (4, 3, False), 'square')
    text = why(t, 'removed', 'extra')[0]
    t.check('whether because of it is not known' in text or 'Nothing else' in text, text)
    text, d = why(t, 'base', 'base')
    t.match(r'It loses nowhere more than noise and 0\.0005 ms\. It gains nowhere more than noise and 0\.0005 ms', text)
    record(t, 'base')
    text, d = why(t, 'base', 'base')
    t.match(r'Nothing is known of time: not both have GPU times', text)
    t.equal(d['site_list'], [], 'no times')
