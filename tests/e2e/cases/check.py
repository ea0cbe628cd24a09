# SPDX-License-Identifier: Apache-2.0
"""tsdb check, races and order: what is not deterministic, and what is not ordered."""
import json
import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from e2e import Skip, tsdb_path  # noqa: E402


def check(t, *words):
    r = t.tsdb('check', 't.sbt', '--json', *words)
    return r.status, [w for w in json.loads(r.out)] if r.status in (0, 3) else r.err


def test_deterministic_kernels(t):
    t.equal(t.record('vecadd').status, 0, 'record')
    status, windows = check(t, '5')
    t.equal(status, 0, 'status')
    t.equal(windows[0]['nondeterministic'], [], 'found')
    t.check(windows[0]['checked'] > 0, 'nothing was checked')
    t.equal(windows[0]['executions'], 5, 'executions')


def test_float_atomics_in_another_order(t):
    t.equal(t.record('sums').status, 0, 'record')
    status, windows = check(t, '6', '--perturb')
    t.equal(status, 3, 'status')
    found = windows[0]['nondeterministic']
    t.equal([f['command']['kernel_name'] for f in found], ['sum'], 'which kernel')
    t.equal(found[0]['looks_like'], 'atomics', 'what it looks like')
    t.equal([(p['size'], p['type'], p['elements']) for p in found[0]['places']], [(4, 'f32', 1)], 'where')
    scale = [c['seq'] for c in map(json.loads, t.tsdb('view', '--json', 't.sbt').out.splitlines())
             if c['kind'] == 'launch' and c.get('kernel_name') == 'scale']
    t.equal(windows[0]['passing'], scale, 'what passes it on')


def differing_sums(t, seqs):
    """The launches of sum that differ: all, one by one. Newer compilers for AMD's GPUs add within each wave first, which leaves few addends, and no
    halves of the sum's unit: while the sum's exponent stays, each is rounded by itself, whatever the order. It differs where the exponent changes."""
    found = check(t, '6', '--perturb')[1][0]['nondeterministic']
    numbers = [f['seq'] for f in found]
    if t.gpu == 'soft-amd' and numbers != seqs:
        units = [f['places'][0]['largest'] / f['places'][0]['ulp'] for f in found]
        t.check(len(units) > 1 and all(a < b for a, b in zip(units, units[1:])), f'one launch for each exponent: {units}')
        t.check(set(numbers) < set(seqs), numbers)
    else:
        t.equal(numbers, seqs, 'JSON has each')
    return numbers


def test_findings_that_are_alike_are_one(t):
    """Ten launches of one kernel that are not deterministic in the same way: the first in full, the others by number."""
    t.equal(t.record('sums', '10').status, 0, 'record')
    seqs = [c['seq'] for c in map(json.loads, t.tsdb('view', '--json', '--kernel', 'sum', 't.sbt').out.splitlines())]
    t.equal(len(seqs), 10, 'launches')
    found = differing_sums(t, seqs)
    r = t.tsdb('check', 't.sbt', '6', '--perturb')
    t.equal(r.status, 3, 'status')
    t.equal(r.out.count('Not deterministic'), 1, 'findings in full')
    more = f', and {len(found) - 8} more' if len(found) > 8 else ''
    t.match(f'^    {len(found)} launches of sum do so: ' + ', '.join(f'#{n}' for n in found[:8]) + more + '$', r.out)
    t.match(rf'executed 6 times each: {len(found)} not deterministic\.$', r.out)


def test_one_kernel_is_checked(t):
    t.equal(t.record('sums').status, 0, 'record')
    status, windows = check(t, '4', '--perturb', '--kernel', 'fill')
    t.equal((status, windows[0]['checked'], windows[0]['nondeterministic']), (0, 1, []), 'fill alone')
    r = t.tsdb('check', 't.sbt', '--kernel', 'nobody')
    t.equal(r.status, 1, 'status')
    t.check('no kernel of the trace matches "nobody"' in r.err, r.err)


def of_counted(t, what, *words):
    t.equal(t.record('counted', *what.split()).status, 0, 'record')
    status, windows = check(t, *words)
    w = windows[0]
    names = [(f['command'].get('kernel_name', ''), f['looks_like'], f['differing']) for f in w['nondeterministic']]
    return status, names, w['checked'], bool(w['outside']), w['nondeterministic']


def test_a_launch_that_differs_among_others(t):
    status, names, checked, outside, found = of_counted(t, 'each', '6')
    t.equal((status, names, checked, outside), (3, [('each', 'race', 5)], 7, False), 'what was found')
    t.equal([(p['elements'], int(p['addr'], 16) - int(p['allocation'], 16)) for p in found[0]['places']], [(1, 20)], 'where')
    # One by one, with other work beside it, the same.
    t.equal(of_counted(t, 'each', '6', '--perturb')[:3], (3, [('each', 'race', 5)], 7), 'perturbed')


def test_a_launch_that_differs_only_once(t):
    status, names, checked, outside, found = of_counted(t, 'once', '6')
    t.equal((status, names, checked, outside), (3, [('once', 'seen_once', 1)], 7, False), 'what was found')
    t.equal([p['size'] for p in found[0]['places']], [1 << 20], 'where')
    r = t.tsdb('check', 't.sbt', '6')
    t.check('was different once, and not when each execution was looked at' in r.out, r.out)
    t.equal(of_counted(t, 'once', '6', '--thorough')[:4], (3, [('once', 'seen_once', 1)], 7, False), 'thorough')
    t.equal([(f['step'], f['nodes'], f['looks_like']) for f in of_counted(t, 'once graph', '6')[4]], [(0, 3, 'seen_once')], 'in a graph')
    # With no more executions than the one that differs needs, it is not seen.
    t.equal(check(t, '3')[0], 0, 'three executions')


def test_stores_to_what_a_launch_was_not_given(t):
    status, names, checked, outside, _ = of_counted(t, 'beyond', '6')
    t.equal((status, names, checked, outside), (0, [], 7, True), 'the same every time')
    t.check('by its PTX, no launch writes to' in t.tsdb('check', 't.sbt', '6').out, 'told')
    status, names, checked, outside, found = of_counted(t, 'astray', '6')
    t.equal((status, names, checked, outside), (3, [('astray', 'race', 5)], 7, True), 'different every time')
    # All memory compared after each execution: nothing lies outside.
    t.equal(of_counted(t, 'astray', '6', '--thorough')[:4], (3, [('astray', 'race', 5)], 7, False), 'thorough')


def test_a_node_of_a_graph_that_differs(t):
    status, names, checked, _, found = of_counted(t, 'each graph', '6')
    t.equal((status, checked), (3, 7), 'six launches and one of a graph')
    t.equal([(f['step'], f['nodes'], f['differing'], f['looks_like'], f['command'].get('kernel_name')) for f in found],
            [(0, 3, 5, 'race', None), (2, 0, 5, 'race', 'each')], 'the launch, its second node')
    t.equal([[(p['elements'], int(p['addr'], 16) - int(p['allocation'], 16)) for p in f['places']] for f in found], [[(1, 20)], [(1, 20)]], 'where')
    r = t.tsdb('check', 't.sbt', '6')
    t.match(r'^  Of its 3 nodes, one by one:\n  #\d+\.2 each<<<.*>>> stream \d, in 5 of 5\n    made by #\d+ main \(\) at .*counted\.cu:\d+\n    0x[0-9a-f]+ ', r.out)
    t.match(r'executed 6 times each: 1 not deterministic\.$', r.out)
    t.equal([[f['command'].get('kernel_name', '') for f in w['nondeterministic']] for w in check(t, '3', '--perturb')[1]], [['', 'each']], 'one by one')
    # Executed anew from the window's beginning, the replay is what it was.
    r = t.tsdb('--batch', '-ex', 'replay start', '-ex', 'replay check 6', '-ex', 'replay goto end', '-ex', 'replay verify', 't.sbt')
    t.match(r'^(\d) of \1 allocations identical', r.out)
    _, _, _, _, found = of_counted(t, 'apart graph', '6')
    t.equal([(f['step'], f['nodes'], f['looks_like']) for f in found], [(0, 4, 'race')], 'no node alone')
    t.match(r'^    each of its 4 nodes alone gave the same bytes every time: it may be their order', t.tsdb('check', 't.sbt', '6').out)


def test_a_graph_is_looked_into_once(t):
    found = of_counted(t, 'each twice', '4')[4]
    t.equal([(f['step'], f['nodes']) for f in found], [(0, 3), (2, 0), (0, 0)], 'two launches, one with its nodes')
    t.equal([(f['step'], f['nodes']) for f in check(t, '4')[1][0]['nondeterministic']], [(0, 3), (2, 0), (0, 0)], 'and again')
    r = t.tsdb('--batch', '-ex', 'replay start', '-ex', 'replay check 4', '-ex', 'replay check 4', 't.sbt')
    t.equal(len(re.findall('^  Of its 3 nodes', r.out, re.M)), 2, 'once in each check')


def test_nodes_that_differ_in_more_places_than_are_listed(t):
    found = of_counted(t, 'many graph', '3')[4]
    t.equal([(f['step'], f['nodes']) for f in found], [(0, 12)] + [(i, 0) for i in range(2, 12)], 'the launch, all its nodes that differ')
    t.match(r'^[^\n]* 1 not deterministic \(\d+ more pages differ than were looked at\)\.$', t.tsdb('check', 't.sbt', '3').out)


def test_a_budget_that_is_too_small(t):
    """Neither words nor exit status say more than was seen; the figures add up to all launches."""
    t.equal(t.record('threads').status, 0, 'record')
    lines = map(json.loads, t.tsdb('view', '--json', 't.sbt').out.splitlines())
    launches = [c['seq'] for c in lines if c['kind'] == 'launch']
    r = t.tsdb('check', 't.sbt', '1000', '--budget', '1ms', '--json')
    w = json.loads(r.out)[0]
    t.equal((r.status, w['ended_by']), (1, 'budget'), 'status')
    t.check(w['not_checked'] > 0, 'all was checked')
    t.equal(w['checked'], sum(n <= w['reached'] for n in launches), 'checked')
    t.equal(w['not_checked'], sum(n > w['reached'] for n in launches), 'not checked')
    r = t.tsdb('check', 't.sbt', '1000', '--budget', '1ms')
    t.equal(r.status, 1, 'status')
    t.match(r'^Not checked: \d+ launches from #\d+ on: the budget is spent ', r.out)
    t.equal(t.tsdb('check', 't.sbt', '--budget', 'soon').status, 1, 'no time')


def test_without_a_budget(t):
    t.equal(t.record('counted', 'each').status, 0, 'record')
    status, windows = check(t, '6', '--budget', '0')
    w = windows[0]
    t.equal((status, w['checked'], w['not_checked'], w['ended_by']), (3, 7, 0, None), 'all of it')


def test_many_groups_of_launches(t):
    t.equal(t.record('threads').status, 0, 'record')
    launches = [c for c in map(json.loads, t.tsdb('view', '--json', 't.sbt').out.splitlines()) if c['kind'] == 'launch']
    t.check(len(launches) > 1000, 'several groups')
    status, windows = check(t, '2')
    t.equal((status, windows[0]['checked'], windows[0]['outside']), (0, len(launches), 0), 'each once')


def test_check_leaves_the_replay_where_it_was(t):
    t.equal(t.record('pipeline').status, 0, 'record')
    launches = [c['seq'] for c in map(json.loads, t.tsdb('view', '--json', 't.sbt').out.splitlines()) if c['kind'] == 'launch']
    at = launches[len(launches) // 2] # sequence numbers are not the same on every device
    r = t.tsdb('--batch', '-ex', 'replay start', '-ex', f'replay goto {at}', '-ex', 'replay check 3', '-ex', 'when', 't.sbt')
    t.equal(r.status, 0, r.err)
    t.check('all gave the same bytes every time' in r.out, r.out)
    t.check(f'#{at} ' in r.out.split('every time')[1], r.out)


def test_check_words(t):
    t.equal(t.record('vecadd').status, 0, 'record')
    for words, said in ((['1'], '2 to 1000 can'), (['--as', 'f31'], '"f31" does not say'), (['x', 'y'], 'does not say')):
        r = t.tsdb('check', 't.sbt', *words)
        t.equal(r.status, 1, str(words))
        t.check(said in r.err, r.err)


def test_order_and_races_of_the_demo(t):
    t.equal(t.record('race_demo').status in (0, 1), True, 'record')
    r = t.tsdb('races', 't.sbt', '--json', '--possible')
    races = json.loads(r.out)
    t.equal(len(races), 1, 'races')
    t.equal({races[0]['a']['command']['kernel_name'], races[0]['b']['command']['kernel_name']}, {'produce', 'consume'}, 'who')
    t.check(races[0]['a']['frames'] and races[0]['b']['frames'], 'both stacks')
    a, b = races[0]['a']['seq'], races[0]['b']['seq']
    r = t.tsdb('--batch', '-ex', f'order why {a} {b}', 't.sbt')
    t.check(r.out.startswith('No order: '), r.out)
    waits = [c for c in map(json.loads, t.tsdb('view', '--json', 't.sbt').out.splitlines()) if c['kind'] == 'stream_wait']
    record = waits[0]['seq'] - 1
    r = t.tsdb('--batch', '-ex', f'order why {record} {waits[0]["seq"]}', 't.sbt')
    t.check('event wait' in r.out, r.out)
    r = t.tsdb('--batch', '-ex', 'order graph -o g.dot', 't.sbt')
    t.equal(r.status, 0, r.err)
    with open(t.path('g.dot'), encoding='utf-8') as f:
        dot = f.read()
    t.check(dot.startswith('digraph order {') and f'n{record} -> n{waits[0]["seq"]} [color=red' in dot, dot[:300])


def test_a_drawing_leaves_open_files_alone(t):
    """dot runs with the graph and the picture as its input and output: tsdb's own descriptors are what they were."""
    t.equal(t.record('pipeline').status, 0, 'record')
    os.mkdir(t.path('bin'))
    t.executable('bin/dot', '#!/bin/sh\n[ "$1" = -Tsvg ] || exit 1\nreadlink /proc/$PPID/fd/9 >&2\nhead -n 1\n')
    open(t.path('nine'), 'w', encoding='utf-8').close()
    path = {'PATH': t.path('bin') + ':' + os.environ['PATH']}
    nine = ['sh', '-c', 'exec 9<nine; exec "$0" "$@"', tsdb_path(), '--batch']
    look = 'shell readlink /proc/$PPID/fd/9'
    r = t.run([*nine, '-ex', 'order graph -o g.svg', '-ex', look, 't.sbt'], env=path)
    t.equal(r.status, 0, r.err)
    t.equal(r.out.splitlines()[-1], t.path('nine'), 'descriptor 9 behind the drawing')
    t.equal(r.err.splitlines()[0], t.path('nine'), 'descriptor 9 while dot draws')
    with open(t.path('g.svg'), encoding='utf-8') as f:
        t.equal(f.read(), 'digraph order {\n', 'what the picture has')
    # A dot that fails, and none at all: a picture that was there stays.
    for env, what in (({'PATH': t.path('bin') + ':' + os.environ['PATH']}, 'g.png'), ({'PATH': '/nowhere'}, 'g.svg')):
        with open(t.path(what), 'w', encoding='utf-8') as f:
            f.write('old')
        r = t.tsdb('--batch', '-ex', f'order graph -o {what}', 't.sbt', env=env)
        t.sentence(r, rf"Graphviz's dot did not draw {what}")
        with open(t.path(what), encoding='utf-8') as f:
            t.equal(f.read(), 'old', 'what was there')


def test_races_of_a_copy_whose_pitch_is_0(t):
    """The bytes that it reads are in a race, those between its slices are not; and a replay copies the same bytes."""
    r = t.record('pitches', 'race')
    if r.status == 77:
        raise Skip('the driver refuses a pitch of 0')
    t.equal(r.status, 0, 'record')
    r = t.tsdb('races', 't.sbt')
    t.equal(r.status, 3, 'races')
    t.match(r'^Race 1 \(certain\): #\d+ and #\d+ both touch 32 bytes at 0x[0-9a-f]+ \(0x[0-9a-f]+\+640\)', r.out)
    t.check('+200)' not in r.out, r.out)
    t.match(r'^1 race in', r.out)
    r = t.record('pitches', out='table.sbt')
    t.equal(r.status, 0, 'each copy is as the rule says')
    t.match(r'^0 of 17 differ from the rule$', r.out)
    r = t.tsdb('replay', 'table.sbt')
    t.equal(r.status, 0, 'replay')
    t.match(r'^Verified', r.out)


def test_races_are_exact_by_a_replay_on_the_software_gpu(t):
    t.equal(t.record('race_demo').status in (0, 1), True, 'record')
    t.equal(t.record('race_demo', 'fixed', out='fixed.sbt').status, 0, 'record the fixed one')
    r = t.tsdb('races', 't.sbt')
    t.equal(r.status, 3, 'exit status')
    t.check('Race 1 (certain)' in r.out and 'stream 1 writes' in r.out and 'stream 2 reads' in r.out, r.out)
    t.check('exact: 2 of 20 launches executed on the software GPU, and 18 that are like one of them.' in r.out, r.out)
    r = t.tsdb('races', 'fixed.sbt', '--exact', '--possible')
    t.equal(r.status, 0, 'fixed')
    t.check(re.match(r'No races in \d+ commands\.$', r.out.splitlines()[0]), r.out)
    r = t.tsdb('races', 't.sbt', '--no-exact')
    t.equal(r.status, 0, 'by arguments alone nothing is certain')
    t.check('1 more is possible' in r.out and 'exact' not in r.out, r.out)
    r = t.tsdb('--batch', '-ex', 'replay start --on soft', '-ex', 'replay goto 20', '-ex', 'races --exact', '-ex', 'when', 't.sbt')
    t.equal(r.status, 3, r.both)
    t.check(re.search(r'\n#20 of #1-#\d+ in t\.sbt\n', r.out), r.out)
    t.equal(t.record('race_demo', out='n.sbt', options=('--memory', 'none')).status in (0, 1), True, 'record')
    r = t.tsdb('races', 'n.sbt', '--exact')
    t.equal(r.status, 1, 'no memory')
    t.check('holds no memory contents' in r.err and '--memory all' in r.err, r.err)
    r = t.tsdb('races', 'n.sbt')
    t.equal(r.status, 0, r.both)
    t.check("accesses are by their arguments: the trace holds no memory" in r.out, r.out)


def unwritten(t, case):
    t.equal(t.record('unwritten', case).status, 0, 'record')
    status, windows = check(t, '3', '--perturb')
    return status, windows[0]


def test_reads_of_memory_that_nothing_has_written(t):
    """The last of 50,001 numbers is missing: four bytes at 200,000."""
    status, found = unwritten(t, 'global')
    t.equal((status, found['nondeterministic']), (3, []), 'deterministic')
    t.equal([u['command']['kernel_name'] for u in found['unwritten']], ['last'], 'which kernel')
    u = found['unwritten'][0]
    t.equal(int(u['addr'], 0) - int(u['allocation'], 0), 200000, 'where')
    status, windows = check(t, '3')
    t.equal((status, windows[0]['nondeterministic'], windows[0]['unwritten']), (0, [], []), 'without --perturb it is the same every time')


def test_such_reads_are_found_by_trying(t):
    """As on a machine's GPU: of a run that is not the recorded one no access sets are taken."""
    t.equal(t.record('unwritten', 'global').status, 0, 'record')
    seq = [c['seq'] for c in map(json.loads, t.tsdb('view', '--json', 't.sbt').out.splitlines())
           if c['kind'] == 'launch' and c.get('kernel_name') == 'last'][0]
    r = t.tsdb('--batch', '-ex', 'replay start', '-ex', f'replay goto {seq}', '-ex', 'set arg 2 50001', '-ex', 'replay check 3 --perturb', 't.sbt')
    t.equal(r.status, 3, r.both)
    t.match(r'^    reads 0x[0-9a-f]+, \+200000 of the allocation #\d+ at 0x[0-9a-f]+, the first such address that matters$', r.out)
    r = t.tsdb('--batch', '-ex', 'replay start', '-ex', f'replay goto {seq}', '-ex', 'set arg 2 49990', '-ex', 'replay check 3 --perturb', 't.sbt')
    t.equal(r.status, 0, 'it reads what was written: ' + r.both)


def test_reads_of_shared_memory_that_nothing_has_written(t):
    t.need_soft()
    status, found = unwritten(t, 'shared')
    t.equal(status, 3, 'status')
    t.equal([(w['command']['kernel_name'], w['unwritten_shared'], w['places']) for w in found['nondeterministic']], [('rotate', True, [])], 'which kernel')
    t.equal(found['unwritten'], [], 'no other memory')


def test_fresh_memory_that_is_written_first(t):
    """Zeros written to it, numbers that leave half of eight bytes as they were: no reads."""
    status, found = unwritten(t, 'none')
    t.equal((status, found['nondeterministic'], found['unwritten']), (0, [], []), 'nothing')


def test_the_device_heap(t):
    """What a launch takes from the device's heap, or gives back, cannot be put back: it is executed once, and that is said."""
    t.equal(t.record('device_heap').status, 0, 'record')
    for words in (), ('--thorough',), ('--perturb',):
        r = t.tsdb('check', 't.sbt', '3', *words)
        t.equal(r.status, 0, f'check {words}')
        t.match(r'^1 launch of #\d+-#\d+ executed 3 times each: all gave the same bytes every time\.$', r.out)
        t.match(r'^2 launches not checked, executed once: what they take from the device', r.out)
    only = re.findall(r'(\w+)<<<', t.tsdb('view', 't.sbt').out)[0]
    r = t.tsdb('check', 't.sbt', '3', '--kernel', only)
    t.match(r'^No launch of #\d+-#\d+ was checked\.$', r.out)
    t.no_match('same bytes', r.out)
