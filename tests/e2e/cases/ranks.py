# SPDX-License-Identifier: Apache-2.0
"""Jobs of many ranks that never ran (bench/make-ranks): clocks that are apart, a slow rank, a collective that one rank lacks. Whoever looks sees those two first."""
import json
import os
import subprocess

from e2e import BUILD, Skip

RANKS, STEPS, SLOW, MISSING = 40, 30, 17, 33


def make(t, ranks=RANKS, *odd):
    maker = os.path.join(BUILD, 'bench', 'make-ranks')
    if not os.path.exists(maker):
        raise Skip('bench/make-ranks was not built')
    subprocess.run([maker, t.dir, str(ranks), str(STEPS), *map(str, odd)], check=True)
    r = t.tsdb('merge', '-o', 'all.sbts', *[f'r.{i:05}.sbt' for i in range(ranks)])
    t.equal(r.status, 0, r.both)
    return r.out


def test_the_two_odd_ones_come_first(t):
    said = make(t, RANKS, SLOW, MISSING)
    lines = said.splitlines()
    t.equal([line.split()[1] for line in lines if line.startswith('rank ')], ['0', str(MISSING)], said)
    t.match(r'^38 other ranks: clocks of 31 fitted by meetings, .*; 7 on the first.s host, with its clock$', said)
    s = json.loads(t.tsdb('stats', 'all.sbts', '--json').out)
    kinds = [(u['rank'], u['name'].split('_')[0], u['count'] - u['usual_count'], (u['gpu_ns'] > u['usual_ns']) - (u['gpu_ns'] < u['usual_ns'])) for u in s['unlike']]
    t.equal(sorted(kinds), [(SLOW, 'gemm', 0, 1), (SLOW, 'ncclDevKernel', 0, -1), (MISSING, 'ncclDevKernel', -1, -1)], str(s['unlike']))
    t.check(all(2.5 < u['gpu_ns'] / u['usual_ns'] < 3.5 for u in s['unlike'] if u['name'] == 'gemm'), str(s['unlike']))
    begins = [r['begin_ns'] for r in s['rank_list']]
    t.check(max(begins) - min(begins) < 100_000, f'clocks up to 4 ms apart, ranks that begin together: {max(begins) - min(begins)} ns')
    text = t.tsdb('stats', 'all.sbts').out
    ranks = text.split('\nRanks\n')[1].split('\n\n')[0].splitlines()
    t.equal([line.split()[0] for line in ranks[1:4]], [str(SLOW), str(MISSING), '0'], text)
    t.match(r'^and 28 more \(--top 0 shows all\)$', text)
    whole = t.tsdb('stats', 'all.sbts', '--top', '0').out.split('\nRanks\n')[1].split('\n\n')[0].splitlines()
    t.equal([line.split()[0] for line in whole[1:]], [str(i) for i in range(RANKS)], 'all of them, in order')


def test_info_of_a_large_set_has_the_odd_ones_and_a_sum(t):
    others = [line for line in make(t, RANKS, SLOW, MISSING).splitlines() if 'other ranks: ' in line]
    t.equal(len(others), 1, 'merge sums up')
    for r in (t.tsdb('info', 'all.sbts'), t.tsdb('--batch', '-ex', 'info ranks', 'all.sbts')):
        lines = r.out.splitlines()
        at = next(i for i, line in enumerate(lines) if line.split()[:1] == ['Rank'])
        t.equal([line.split()[0] for line in lines[at + 1:at + 3]], ['0', str(MISSING)], r.out)
        t.equal(lines[at + 3:], [*others, '(--json lists all ranks)'], 'as merge says it')
    t.equal([x['rank'] for x in json.loads(t.tsdb('info', 'all.sbts', '--json').out)['rank_list']], list(range(RANKS)), 'all of them')


def test_clocks_that_are_not_known_of_many_are_one_line(t):
    """Of a few ranks it is what stands out; of a job merged --as-is it would be a line for each."""
    make(t, RANKS, SLOW, MISSING)
    r = t.tsdb('merge', '--as-is', '-o', 'as-is.sbts', *[f'r.{i:05}.sbt' for i in range(RANKS)])
    t.match(r"^38 other ranks: 7 on the first's host, with its clock; 31 on other hosts, by clocks taken as they are$", r.out)
    t.match('31 on other hosts, by clocks taken as they are', t.tsdb('info', 'as-is.sbts').out)


def test_races_are_of_one_rank(t):
    make(t, RANKS)
    for words in (['races'], ['races', '--no-exact'], ['explore'], ['check']):
        r = t.tsdb(*words, 'all.sbts')
        t.equal(r.status, 1, str(words))
        t.match('all.sbts is a set of traces: its ranks are replayed and looked at one at a time', r.err)
    r = t.tsdb('--batch', '-ex', 'rank 7', '-ex', 'races', 'all.sbts')
    t.equal(r.status, 0, r.both)
    t.match('^No races in ', r.out)


def test_ranks_that_are_alike_do_not_stand_out(t):
    said = make(t)
    t.equal(sum(line.startswith('rank ') for line in said.splitlines()), 1, said)
    s = json.loads(t.tsdb('stats', 'all.sbts', '--json').out)
    t.equal(s['unlike'], [], 'none')


def test_few_ranks_are_all_shown(t):
    said = make(t, 16, 3)
    t.equal(sum(line.startswith('rank ') for line in said.splitlines()), 16, said)
    t.equal({u['rank'] for u in json.loads(t.tsdb('stats', 'all.sbts', '--json').out)['unlike']}, {3}, 'the slow one')


def test_who_has_not_come(t):
    make(t, RANKS, SLOW, MISSING)
    r = t.tsdb('why', '--ranks', t.path('r.*.sbt'))
    t.match(rf'^  rank {MISSING} .* has not launched ncclDevKernel_AllReduce_Sum_f32_RING_LL #{STEPS}: ', r.out)


def test_exports_have_every_rank(t):
    make(t, RANKS, SLOW, MISSING)
    r = t.tsdb('export', 'csv', 'all.sbts', '-o', 'all.csv')
    t.equal(r.status, 0, r.both)
    r = t.tsdb('export', 'perfetto', 'all.sbts', '-o', 'all.pftrace')
    t.equal(r.status, 0, r.both)
    t.match(rf'{RANKS * (2 + 2 * STEPS) - 1} commands as perfetto', r.both)
