# SPDX-License-Identifier: Apache-2.0
"""tsdb explore: other orders that the program allows, and the one that gives another result."""
import json
import re
import os


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
    t.equal((names[f['pairs'][0]['earlier']], names[f['pairs'][0]['later']]), ('produce', 'consume'), 'which pair')
    order = f['schedule']
    t.check(order.index(f['pairs'][0]['later']) < order.index(f['pairs'][0]['earlier']), 'the pair is turned round')
    t.check(f['again'] > 0, 'the places meet in every round')
    for _ in range(5):
        again = t.tsdb('replay', f['trace'])
        t.equal(again.status, 0, again.out + again.err)
    t.check(list(launches(t, f['trace']).values())[0] == 'consume', 'the schedule as a trace')


def record_race(t, name, *args):
    t.equal(t.record('../races/races', name, *args).status, 0, name)


def test_the_host_overtakes_a_copy(t):
    """The next batch is written while the last one is copied; in one process and in shards, as text and as JSON."""
    record_race(t, 'pinned_reused')
    status, r = explore(t)
    t.equal(status, 3, 'status')
    pair = r['found'][0]['pairs'][0]
    order = r['found'][0]['schedule']
    t.check(isinstance(pair['earlier'], int) and pair['later'].startswith('host '), 'a copy and the host: ' + str(pair))
    t.check(order.index(pair['later']) < order.index(pair['earlier']), 'turned round')
    t.equal(t.tsdb('replay', r['found'][0]['trace']).status, 0, 'the schedule gives its result')
    _, jobs = explore(t, '--jobs', '2')
    t.equal([p['later'] for p in jobs['found'][0]['pairs']], [pair['later']], 'by two processes')
    text = t.tsdb('explore', 't.sbt', '--no-save').out
    t.check("the host's write between #" in text and 'the host writes there before #' in text, text)
    record_race(t, 'pinned_reused', 'fixed')
    status, r = explore(t)
    t.equal((status, r['found']), (0, []), 'it waits')


def test_two_buffers_in_a_page(t):
    """The recording has pages; what the host changed is told by their words, also where nothing is executed."""
    for words in (('--exact',), ('--no-exact',)):
        record_race(t, 'half_copied', 'fixed')
        r = t.tsdb('races', 't.sbt', *words)
        t.equal(r.status, 0, f'{words}: {r.out}')
        record_race(t, 'half_copied')
        r = t.tsdb('races', 't.sbt', '--json', *words)
        t.equal(r.status, 3, f'{words}: {r.out}')
        found = [(f['tier'], f['a']['by_host'], f['b']['by_host'], f['size']) for f in json.loads(r.out)]
        t.equal(found, [('certain', False, True, 2048)], words)


def test_poison(t):
    """Freed memory is filled in the schedule, behind the free, and only there."""
    record_race(t, 'used_after_free')
    status, r = explore(t)
    t.equal(status, 3, 'status')
    f = r['found'][0]
    t.equal(f['poison'], f['pairs'][0]['later'], 'at the free')
    cmds = [json.loads(line) for line in t.tsdb('view', '--json', f['trace']).out.splitlines()]
    kinds = [c['kind'] for c in cmds if c['kind'] not in ('sync', 'sync_end', 'kernel_def')]
    at = kinds.index('free')
    t.equal(kinds[at:at + 3], ['free', 'fill', 'launch'], str(kinds))
    fill = next(c for c in cmds[[c['kind'] for c in cmds].index('free'):] if c['kind'] == 'fill')
    t.equal(fill['value'], '0xff', str(fill))
    t.equal(t.tsdb('replay', f['trace']).status, 0, 'the schedule gives its result')
    t.check('poisoned with 0xff at #' in t.tsdb('explore', 't.sbt', '--no-save').out, 'text')


def test_use_after_a_free_whatever_the_order(t):
    record_race(t, 'freed_then_used')
    for jobs in ([], ['--jobs', '2']):
        status, r = explore(t, *jobs)
        f = r['found'][0]
        t.equal((status, len(r['found']), f['always'], f['poison']), (3, 1, True, f['pairs'][0]['earlier']), str(r))
        t.equal(t.tsdb('replay', f['trace']).status, 0, 'the schedule gives its result')
    text = t.tsdb('explore', 't.sbt', '--no-save').out
    t.check(' uses memory that #' in text and '  poisoned: 0xffffffff' in text, text)


def test_a_late_user_meets_the_next_owner(t):
    record_race(t, 'freed_too_early')
    status, r = explore(t)
    t.equal((status, len(r['found']), r['found'][0]['poison']), (3, 1, 0), 'other memory says it all')
    t.equal(t.tsdb('replay', r['found'][0]['trace']).status, 0, 'the schedule gives its result')


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
    t.check('#20' in r.out.split(' executed in ')[1], 'the replay is where it was: ' + r.out)
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


def test_processes_and_shards(t):
    """The same place whoever finds it: in one process, in three, in shards merged from files."""
    t.record('race_demo')
    _, alone = explore(t)
    where = [p['sites'] for p in alone['found'][0]['pairs']]
    status, r = explore(t, '--jobs', '3')
    t.equal((status, len(r['found']), r['shards'], r['have']), (3, 1, 3, [1, 2, 3]), 'three processes')
    t.equal([p['sites'] for p in r['found'][0]['pairs']], where, 'the same place')
    t.equal(os.path.basename(r['found'][0]['trace']), 't.schedule-1.sbt', 'its name')
    t.equal(sorted(x for x in os.listdir(t.path('.')) if 'schedule-' in x), ['t.schedule-1.sbt'], 'one schedule is kept')
    t.equal(t.tsdb('replay', 't.schedule-1.sbt').status, 0, 'and gives its result')
    parts, names = [], []
    for i in (1, 2, 3):
        out = t.tsdb('explore', 't.sbt', '--json', '--shard', f'{i}/3', '--budget', '70').out
        parts.append(json.loads(out))
        names.append(f's{i}.json')
        with open(t.path(names[-1]), 'w', encoding='utf-8') as f:
            f.write(out)
    r = t.tsdb('explore', 'merge', *names, '--json')
    merged = json.loads(r.out)
    t.equal(r.status, 3, 'status')
    t.equal([len(merged['found']), [p['sites'] for p in merged['found'][0]['pairs']]], [1, where], 'merged')
    t.equal(merged['executed'], sum(p['executed'] for p in parts), 'sum of schedules')
    t.equal(t.tsdb('replay', merged['found'][0]['trace']).status, 0, 'the schedule of a shard')
    r = t.tsdb('explore', 'merge', *names[:2])
    t.check('Not complete: without shard 3 of 3.' in r.out, r.out)
    for words, said in (((names[0], names[0]), 'shard 1 of 3 is there twice'), (('t.sbt',), 'is no JSON'), ((), 'no results were named')):
        r = t.tsdb('explore', 'merge', *words)
        t.equal(r.status, 1, str(words))
        t.check(said in r.err, r.err)


def test_shards_of_few_pairs_are_complete_together(t):
    t.record('orders')
    _, alone = explore(t, '--most', '100')
    t.check(alone['complete'], alone)
    for i in (1, 2):
        with open(t.path(f's{i}.json'), 'w', encoding='utf-8') as f:
            f.write(t.tsdb('explore', 't.sbt', '--json', '--most', '100', '--shard', f'{i}/2').out)
    merged = json.loads(t.tsdb('explore', 'merge', 's1.json', 's2.json', '--json').out)
    half = json.loads(t.tsdb('explore', 'merge', 's1.json', '--json').out)
    t.equal((merged['complete'], half['complete']), (True, False), 'complete')


def orders(t, case, *words):
    t.equal(t.record('orders', case).status, 0, 'record')
    return explore(t, '--most', '100', *words)


def test_every_order_is_counted(t):
    """Three commands on one stream, one on the other: it may be first, second, third or last."""
    status, r = orders(t, 'few')
    t.equal((status, r['unordered'], r['executed'], r['complete']), (3, 3, 3, True), 'the three others')
    t.equal(len(r['found']), 1, 'one place')
    f = r['found'][0]
    t.equal((f['was'][:8], f['is'][:8]), ('0e000000', '18000000'), '14 as recorded, 24 with the last two turned round')
    t.equal(t.tsdb('replay', f['trace']).status, 0, 'the schedule')


def test_more_pairs_than_can_be_gone_through(t):
    status, r = orders(t, 'many', '--budget', '60')
    t.equal((status, r['unordered'], r['complete']), (3, 16, False), 'sampled')
    t.check(20 < r['executed'] <= 69, f'{r["executed"]} of the 69 other orders of 4 and 4')


def test_what_is_ordered_is_not_accused(t):
    """Events recorded anew, memory that the allocator hands from stream to stream, memory that the host changes, host functions."""
    for case in ('events', 'reuse', 'pinned', 'functions'):
        status, r = orders(t, case)
        t.equal((status, r['found'], r['executed'] > 0), (0, [], True), case)


def test_races_are_told_by_cause(t):
    """Two lines of one function that meet as writes and as reads, in both directions: one missing order."""
    t.equal(t.record('orders', 'many').status, 0, 'record')
    r = t.tsdb('races', 't.sbt')
    t.equal(r.status, 3, 'status')
    t.equal(r.out.count('\nRace ') + r.out.startswith('Race '), 1, r.out)
    t.match('4 races of 1 cause in', r.out)
    t.check(re.search(r'Also, between the same functions: #\d+ and #\d+\n', r.out), r.out)
    t.equal(len(json.loads(t.tsdb('races', 't.sbt', '--json').out)), 4, 'each in JSON')


def test_what_is_ordered_is_not_executed(t):
    """One stream: no launch can race. A budget that is used up says what is by arguments."""
    t.equal(t.record('sums').status, 0, 'record')
    r = t.tsdb('races', 't.sbt', '--exact')
    t.equal(r.status, 0, r.both)
    t.match('No launch had to be executed', r.out)
    r = t.tsdb('races', 't.sbt', '--budget', 'much')
    t.equal(r.status, 1, 'no time')
    t.match('--budget takes a time', r.err)


def test_only_what_the_host_gets_is_different(t):
    status, r = orders(t, 'outputs')
    t.equal((status, len(r['found']), r['found'][0]['allocation']), (3, 1, '0x0'), 'found')


def test_a_graph_that_changes_between_launches(t):
    """Each launch is of the graph as it was when it was launched, in every order."""
    t.equal(t.record('orders', 'updates').status, 0, 'record')
    r = t.tsdb('explore', 't.sbt')
    t.equal(r.status, 0, 'status')
    t.match('Always the same result', r.out)


def test_launches_that_could_not_be_made_to_overlap_are_said(t):
    t.equal(t.record('../races/dependent-launches', 'never_triggers').status, 0, 'record')
    r = t.tsdb('explore', 't.sbt')
    t.equal(r.status, 0, r.both)
    t.match('Not tried: programmatic dependent launches', r.out)
    t.check('every order' not in r.out, r.out)
    t.record('../races/dependent-launches', 'never_triggers', 'fixed')
    t.check('Not tried' not in t.tsdb('explore', 't.sbt').out, 'the fixed one')


def test_an_event_that_a_launch_records_itself(t):
    """It fires when the launch lets others begin: what waited for it may run before the launch stores anything."""
    t.record('../races/dependent-launches', 'attribute_event')
    lines = t.tsdb('view', 't.sbt').out
    front, behind = (int(re.search(rf'^#(\d+) {k}<<<', lines, re.M)[1]) for k in ('produce_late', 'copies_at_once'))
    r = t.tsdb('races', 't.sbt')
    t.equal(r.status, 3, 'races')
    t.match(rf'^Race 1 \(certain\): #{front} and #{behind} both touch 8192 bytes', r.out)
    t.match(rf'^    Stream \d+ waited for an event that #{front} records by a launch attribute when it lets others begin, not when it has ended$', r.out)
    t.match(rf'^    Cure: an event recorded by cuEventRecord after #{front}, and cuStreamWaitEvent for it on stream \d+ before #{behind}$', r.out)
    r = t.tsdb('--batch', '--no-init', '-ex', f'order why {front} {behind}', 't.sbt')
    t.match(rf'#{behind} may begin before #{front} has finished: it waits for an event that #{front} records when it lets others begin, not when it has ended', r.both)
    t.equal(t.tsdb('explore', 't.sbt').status, 3, 'explore')
    t.equal(t.tsdb('replay', 't.schedule-1.sbt').status, 0, 'the order that fails')
    for order in 'fixed', 'concurrent':
        r = t.tsdb('replay', '--order', order, 't.sbt')
        t.equal((r.status, 'Verified.' in r.out), (0, True), f'replay --order {order}')


def test_nodes_behind_programmatic_edges_are_judged_exactly(t):
    t.record('../races/dependent-launches', 'captured_launch')
    r = t.tsdb('races', 't.sbt', '--possible')
    t.equal(r.status, 3, r.both)
    t.match('Race 1 .certain.: nodes 0 .produce_late. and 1 .consume_at_once.', r.out)
    t.match('some of its threads touch this memory without having waited', r.out)
    t.check('is not known' not in r.out, r.out)
    t.match('whether it waits is not known', t.tsdb('races', 't.sbt', '--possible', '--no-exact').out)
    t.record('../races/dependent-launches', 'captured_launch', 'fixed')
    t.match('No races', t.tsdb('races', 't.sbt', '--possible').out)


def test_what_code_says_of_a_launch_that_was_not_executed(t):
    t.record('../races/dependent-launches', 'no_wait')
    r = t.tsdb('races', 't.sbt', '--no-exact', '--possible')
    t.equal(r.status, 0, r.both)
    t.match('its code has no wait', r.out)
    t.check('not known' not in r.out, r.out)
    t.record('../races/dependent-launches', 'no_wait', 'fixed')
    t.match('No races', t.tsdb('races', 't.sbt', '--no-exact', '--possible').out)
    t.record('../races/dependent-launches', 'one_role_waits')
    t.match('whether it waits is not known', t.tsdb('races', 't.sbt', '--no-exact', '--possible').out)


def test_a_chain_says_which_launch_lacks_the_wait(t):
    t.record('../races/dependent-launches', 'two_behind')
    r = t.tsdb('races', 't.sbt')
    t.equal(r.status, 3, 'status')
    t.match('without having waited, and it may begin before the launches between them have waited', r.out)
    t.check('in the launches between' not in r.out, r.out)
    t.record('../races/dependent-launches', 'chain_of_three')
    r = t.tsdb('races', 't.sbt')
    t.match('a launch between them does not wait, and waiting for that one is not enough', r.out)
    t.match('and in the launches between the two', r.out)


def test_a_window_that_is_not_there(t):
    t.record('orders')
    r = t.tsdb('explore', 't.sbt', '--json', '--window', '2')
    t.equal(r.status, 1, 'status')
    t.check('window' in r.err, r.both)
    t.equal(json.loads(t.tsdb('explore', 't.sbt', '--json', '--window', '1').out)['unordered'], 3, 'the first one')
