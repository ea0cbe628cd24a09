# SPDX-License-Identifier: Apache-2.0
"""tsdb explore: other orders that the program allows, and the one that gives another result."""
import json


def explore(t, *words):
    r = t.tsdb('explore', 't.sbt', '--json', *words)
    t.check(r.status in (0, 3), r.err)
    return r.status, json.loads(r.out)


def launches(t, trace='t.sbt'):
    return {c['seq']: c['kernel_name'] for c in map(json.loads, t.tsdb('view', '--json', trace).out.splitlines()) if c['kind'] == 'launch'}


def test_missing_wait(t):
    t.record('race_demo')
    status, r = explore(t)
    t.equal(status, 3, 'status')
    t.equal(len(r['found']), 1, 'one place in the program')
    f = r['found'][0]
    t.equal(len(f['pairs']), 1, 'one pair is enough')
    names = launches(t)
    t.equal((names[f['pairs'][0]['a']], names[f['pairs'][0]['b']]), ('produce', 'consume'), 'which pair')
    order = f['schedule']
    t.check(order.index(f['pairs'][0]['b']) < order.index(f['pairs'][0]['a']), 'the pair is turned round')
    t.check(f['again'] > 0, 'the places meet in every round')
    for _ in range(5):
        again = t.tsdb('replay', f['trace'])
        t.equal(again.status, 0, again.out + again.err)
    t.check(list(launches(t, f['trace']).values())[0] == 'consume', 'the schedule as a trace')


def test_ordered_programs_have_one_result(t):
    for name in ('vecadd', 'pipeline', 'graphs'):
        t.equal(t.record(name).status, 0, name)
        status, r = explore(t, '--budget', '30')
        t.equal((status, r['found']), (0, []), name)


def test_in_a_session(t):
    t.record('race_demo')
    r = t.tsdb('--batch', '-ex', 'replay start', '-ex', 'replay goto 20', '-ex', 'replay explore --most 1', '-ex', 'when', '-ex',
               'replay schedule 1', '-ex', 'replay schedule 1 --step', 't.sbt')
    t.check('are unordered' in r.out, r.out)
    t.check('#20' in r.out.split('schedules executed')[1], 'the replay is where it was: ' + r.out)
    t.check('The schedule gave its result again.' in r.out, r.out)
    t.check('there is no' in r.err, 'in the schedule, its own number: ' + r.err)


def test_words(t):
    t.record('vecadd')
    for words, said in ((['--shard', '3/2'], '3/2'), (['--budget', 'x'], '"x" does not say'), (['--seed'], 'does not say')):
        r = t.tsdb('explore', 't.sbt', *words)
        t.equal(r.status, 1, str(words))
        t.check(said in r.err, r.err)


def test_demo_race(t):
    t.record('race_demo')  # skips where it is not built
    r = t.tsdb('demo', 'race', env={'TMPDIR': t.dir})
    t.equal(r.status, 0, r.err)
    for said in ('Race 1 (certain)', 'are unordered', 'Verified.', 'race_demo: ok', 'No races in', 'Always the same result.'):
        t.check(said in r.out, said)
    t.equal(t.tsdb('demo').status, 1, 'which demo?')
