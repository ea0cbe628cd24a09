# SPDX-License-Identifier: Apache-2.0
"""What the software GPU says about kernels: access sets, races inside them, schedules by seed."""
import json
import os
import re

from e2e import GPU, SRC, Skip, program

# kernel_races NAME: the instructions' kinds, the space, and source lines by a word of theirs
RACY = {
    'reduction': ('shared', 's[t] += s[t + k]'),
    'warp_swap': ('shared', 's[t ^ 1]'),
    'flagged': ('global', 'message'),
    'increment': ('global', 'out[in[threadIdx.x] & 1]++'),
    'overlap': ('global', 'out['),
    'last_block': ('global', 'out['),
}


def soft():
    if GPU != 'soft':
        raise Skip('only on the software GPU')


def recorded(t, prog, *args):
    r = t.record(prog, *args)
    t.equal(r.status, 0, f'record {prog}')


def shell(t, *commands, trace='t.sbt', status=0):
    ex = [x for c in commands for x in ('-ex', c)]
    r = t.tsdb('--batch', '--no-init', *ex, *([trace] if trace else []))
    t.equal(r.status, status, 'exit status')
    return r


def as_json(r):
    return json.loads(r.out[re.search(r'^[{\[]', r.out, re.M).start():])


def test_races_are_found(t):
    soft()
    source = open(os.path.join(SRC, 'tests', 'programs', 'kernel_races.cu')).read().split('\n')
    for name, (space, text) in RACY.items():
        recorded(t, 'kernel_races', name)
        found = as_json(shell(t, 'replay start', 'replay racecheck --json', status=3))['races']
        races = [r for r in found if r['tier'] == 'race']
        t.check(races, f'{name}: a race')
        for r in races:
            t.equal(r['space'], space, f'{name}: space')
            t.check(name in r['kernel_name'], f'{name}: kernel')
            kinds = {s['kind'] for s in r['sides']}
            t.check('write' in kinds, f'{name}: one side writes')
            for s in r['sides']:
                t.check(s['file'].endswith('kernel_races.cu') and s['line'] > 0, f'{name}: a source line')
                t.check(s['code_line'] > 0 and s['instruction'].startswith(('ld.', 'st.')), f'{name}: a PTX line')
            a, b = r['sides']
            t.check((a['block'], a['kernel_thread']) != (b['block'], b['kernel_thread']), f'{name}: two threads')
        t.check(any(text in source[s['line'] - 1] for r in races for s in r['sides']), f'{name}: the right line')


def test_fixed_twins_are_not_accused(t):
    soft()
    for name in [*RACY, 'float_sum']:
        recorded(t, 'kernel_races', name, 'fixed')
        r = shell(t, 'replay start', 'replay racecheck')
        t.match(r'^0 races in #\d+ to #\d+\.$', r.out, name)
        t.check('may be meant' not in r.out and 'could not be checked' not in r.out, f'{name}: nothing else')


def test_examples_are_not_accused(t):
    soft()
    for prog, args in [('vecadd', []), ('matmul', ['64']), ('reduce', []), ('tiny_launches', []), ('pipeline', []), ('race_demo', ['fixed'])]:
        try:
            program(prog)
        except Skip:
            continue
        recorded(t, prog, *args)
        r = shell(t, 'replay start', 'replay racecheck')
        t.match(r'^0 races in', r.out, prog)
        t.check('could not be checked' not in r.out, f'{prog}: checked whole')


def test_racecheck_of_a_part(t):
    soft()
    recorded(t, 'kernel_races', 'flagged')
    r = shell(t, 'replay start', 'replay racecheck flagged', 'when', status=3)
    t.match(r'^#\d+ flagged$', r.out)
    t.match(r'^At the beginning of', r.out, 'the replay stays')
    seq = re.search(r'^1 race in #(\d+)\.$', r.out, re.M)[1]
    shell(t, 'replay start', f'replay racecheck {seq}', status=3)
    r = shell(t, 'replay start', f'replay racecheck 1-{int(seq) - 1}')
    t.match(r'^0 races in #1 to', r.out)
    r = t.tsdb('--batch', '--no-init', '-ex', 'replay start', '-ex', 'replay racecheck nosuch', 't.sbt')
    t.check(r.status == 1 and 'nosuch' in r.err, 'no such kernel')


def test_racecheck_on_the_way(t):
    soft()
    recorded(t, 'kernel_races', 'overlap')
    r = shell(t, 'set softgpu racecheck on', 'replay start', 'replay continue', 'replay goto begin', 'replay continue', status=3)
    t.equal(len(re.findall(r'^  Race: 4 bytes of global memory at 0x[0-9a-f]+ \+1024, 7 times$', r.out, re.M)), 1, 'told once')


def test_racecheck_of_a_live_program(t):
    soft()
    r = t.tsdb('--batch', '--no-init', '-ex', 'set softgpu racecheck on', '-ex', 'run', '--args', program('kernel_races'), 'flagged')
    t.equal(r.status, 3, 'exit status')
    t.match(r'^  Race: 4 bytes of global memory', r.out)
    t.check('race' not in r.err, "not on the program's standard error")
    r = t.tsdb('--batch', '--no-init', '-ex', 'set softgpu racecheck on', '-ex', 'run', '--args', program('kernel_races'), 'flagged', 'fixed')
    t.equal(r.status, 0, 'exit status of the fixed one')


def hash_of(r, name):
    return re.search(rf'^{name} ([0-9a-f]+)$', r.out, re.M)[1]


def live(t, name, schedule, *args):
    return hash_of(t.tsdb('--batch', '--no-init', '-ex', f'set softgpu schedule {schedule}', '-ex', 'run', '--args', program('kernel_races'),
                          name, *args), name)


def test_schedules(t):
    soft()
    for name in 'reduction', 'float_sum', 'warp_swap':
        results = [live(t, name, f'random seed {n}') for n in (1, 2, 3, 4, 5, 6)]
        t.check(len(set(results)) > 1 or name == 'warp_swap', f'{name}: the seed changes what comes out')
        t.equal(live(t, name, 'random seed 4'), results[3], f'{name}: a seed comes again')
        fixed = {live(t, name, s, 'fixed') for s in ('fixed', 'random seed 1', 'random seed 2')}
        t.equal(len(fixed), 1, f'{name}: the fixed twin does not change')


def test_schedule_at_replay(t):
    """A replay with another schedule differs from the recording where the recording was a matter of luck; the same seed twice does not."""
    soft()
    recorded(t, 'kernel_races', 'float_sum')
    shell(t, 'replay start', 'replay verify')
    status = {n: t.tsdb('--batch', '--no-init', '-ex', f'set softgpu schedule random seed {n}', '-ex', 'replay start', '-ex', 'replay verify',
                        't.sbt').status for n in (1, 2, 3, 4)}
    t.check(3 in status.values(), 'some seed gives another sum')
    t.equal(set(status.values()) - {0, 3}, set(), 'statuses')
    recorded(t, 'kernel_races', 'float_sum', 'fixed')
    for n in 1, 2:
        shell(t, f'set softgpu schedule random seed {n}', 'replay start', 'replay verify')
    r = t.tsdb('--batch', '--no-init', '-ex', 'set softgpu schedule random')
    t.check(r.status == 1 and 'random seed 7' in r.err, 'a schedule without a seed')


def sets_of(t, what, *before):
    return {x['command']['seq']: x for x in as_json(shell(t, 'replay start', *before, f'info accesses {what} --json'))}


def span(x):
    return [(s['allocation'], s['offset'], s['size']) for s in x]


def test_access_sets(t):
    soft()
    recorded(t, 'vecadd')
    sets = sets_of(t, '1-')
    kinds = {s['command']['kind']: s for s in sets.values()}
    launch = kinds['launch']
    t.check(all(s['exact'] for s in sets.values()), 'exact')
    t.equal(len(launch['read']), 2, 'two inputs')
    t.equal([s[1:] for s in span(launch['read'])], [(0, 40000)] * 2, 'all of both')
    t.equal([s[1:] for s in span(launch['written'])], [(0, 40000)], 'the output')
    t.equal(launch['atomic'], [], 'no atomics')
    copies = [s for s in sets.values() if s['command']['kind'] == 'copy']
    t.equal(sorted(len(s['read']) for s in copies), [0, 0, 1], 'copies')
    t.equal(span(launch['written']), span([c for c in copies if c['read']][0]['read']), 'what is copied out was written')
    r = shell(t, 'replay start', 'replay goto end', f'info accesses {launch["seq"]}', 'when')
    t.match(r'^  writes 40000 bytes$', r.out)
    t.match(r'^    0x[0-9a-f]+ \+0, 40000 bytes: all of it$', r.out)


def test_access_sets_of_atomics_and_parts(t):
    soft()
    recorded(t, 'kernel_races', 'overlap')
    launch = [s for s in sets_of(t, '1-').values() if s['command']['kind'] == 'launch'][0]
    t.equal([s[1:] for s in span(launch['written'])], [(0, 8192)], 'written')
    recorded(t, 'kernel_races', 'increment', 'fixed')
    launch = [s for s in sets_of(t, '1-').values() if s['command']['kind'] == 'launch'][0]
    t.equal([s[1:] for s in span(launch['atomic'])], [(0, 8)], 'atomics')
    t.equal([s[1:] for s in span(launch['read'])], [(0, 1024)], 'read')
    t.equal(launch['written'], [], 'nothing else')


def test_access_sets_of_graphs(t):
    soft()
    recorded(t, 'graphs')
    sets = [s for s in sets_of(t, '1-').values() if s['command']['kind'] == 'graph_launch']
    t.check(sets, 'graph launches')
    t.check(all(s['read'] or s['written'] or s['atomic'] for s in sets), 'their nodes count')


def test_refusals(t):
    recorded(t, 'vecadd')
    outside = 'outside' if GPU == 'soft' else 'does not tell which bytes' # which comes first: a GPU refuses whatever the command is
    for command, said in [('info accesses', 'before its first command'), ('info accesses 9999', outside), ('info accesses x', 'a command or a range'),
                          ('replay racecheck 1 2', 'commands or a kernel' if GPU == 'soft' else 'software GPU only')]:
        r = t.tsdb('--batch', '--no-init', '-ex', 'replay start', '-ex', command, 't.sbt')
        t.check(r.status == 1 and said in r.err, f'{command}: {r.err}')
    r = t.tsdb('--batch', '--no-init', '-ex', 'replay start --on none', '-ex', 'info accesses 5', 't.sbt')
    t.check(r.status == 1 and 'on a device' in r.err, 'without a device')
