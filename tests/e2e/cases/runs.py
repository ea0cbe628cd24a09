# SPDX-License-Identifier: Apache-2.0
"""tsdb diff with several traces of each side. The traces are imported profiles that are written here, so that their times are known and no machine's speed
is in them."""
import json

from e2e import program
from export import decode, value, values

BASE = 1700000000000000000
SITES = {'gemm': 'train.py(12): forward', 'relu': 'train.py(12): forward', 'adam': 'train.py(40): update'}


def planted(t, name, times, day=0, rank=None):
    """A trace NAME.sbt: for each step an NVTX range with its launches in it. times: {kernel: [microseconds of its launch in each step]}."""
    rows, now, corr = [], 10.0, 0
    for step in range(max(len(v) for v in times.values())):
        begin = now
        for kernel in times:
            if step >= len(times[kernel]):
                continue
            corr += 1
            us = times[kernel][step]
            rows += [row('python_function', SITES.get(kernel, 'train.py(1): main'), now, 4), row('cuda_runtime', 'cudaLaunchKernel', now + 1, 2, correlation=corr),
                     row('kernel', kernel, now + 5, us, 0, 7, device=0, context=1, stream=7, correlation=corr, grid=[2, 1, 1], block=[64, 1, 1])]
            now += 10 + us
        rows.append(row('user_annotation', f'step {step + 5}', begin - 2, now - begin + 1))
        now += 10
    rows.append({'ph': 'M', 'name': 'process_name', 'pid': 7, 'tid': 0, 'ts': 0, 'args': {'name': 'train'}})
    with open(t.path('p.json'), 'w', encoding='utf-8') as f:
        json.dump({'schemaVersion': 1, 'deviceProperties': [], 'baseTimeNanoseconds': BASE + day * 86400 * 10**9, 'traceEvents': rows,
                   **({} if rank is None else {'distributedInfo': {'backend': 'nccl', 'rank': rank, 'world_size': 8}})}, f)
    r = t.tsdb('import', 'p.json', '-o', f'{name}.sbt')
    t.equal(r.status, 0, r.err)


def row(cat, name, ts, dur, pid=7, tid=8, **args):
    return {'ph': 'X', 'cat': cat, 'name': name, 'pid': pid, 'tid': tid, 'ts': ts, 'dur': dur, 'args': args}


# Microseconds that a run is off: the same for both sides, in another order, so that ranks of A and B are mixed.
OFF_A, OFF_B = [0, 3, -2, 5, 1, -4], [2, -3, 4, -1, 6, 0]


def sides(t, n, slower=0, order=True):
    """n traces a side; gemm of B is slower by so many microseconds in each of its launches, everything else is noise. In turn: a1 b1 a2 b2 ..."""
    for i in range(n):
        for side, off, more in (('a', OFF_A, 0), ('b', OFF_B, slower)):
            noise = off[i % 6] * 0.5
            planted(t, f'{side}{i}', {'gemm': [100 + noise + more] * 3, 'relu': [50 - noise] * 3, 'adam': [20 + noise * 2] * 3},
                    day=2 * i + (side == 'b') if order else i + (n if side == 'b' else 0))
    return [f'a{i}.sbt' for i in range(n)], [f'b{i}.sbt' for i in range(n)]


def diff(t, *words):
    r = t.tsdb('diff', *words, '--json')
    t.check(r.status in (0, 3), f'{words}: {r.status} {r.err}')
    return r.status, json.loads(r.out)


def changes(d, by):
    return {r['name']: r['change'] for r in d['runs']['row_list'] if r['rows_by'] == by}


def test_planted(t):
    """gemm is 30 us slower in each of three steps: it, its call site's sum, the range and the whole are; what only wavers is not."""
    a, b = sides(t, 6, slower=30)
    status, d = diff(t, *a, '--vs', *b)
    n = d['runs']
    t.equal((status, d['same'], n['a_runs'], n['b_runs'], n['decided'], n['in_turn'], n['control']), (0, True, 6, 6, True, True, False), 'runs')
    t.equal(changes(d, 'kernel'), {'gemm': 'slower', 'relu': 'noise', 'adam': 'noise'}, 'kernels')
    t.equal(changes(d, 'call_site'), {'forward () at train.py:12': 'slower', 'update () at train.py:40': 'noise'}, 'call sites')
    t.equal(changes(d, 'range'), {'step *': 'slower'}, 'ranges')
    t.equal(changes(d, 'whole')['GPU time'], 'slower', 'all of it')
    t.equal((n['kernels_slower'], n['kernels_faster'], n['kernels_noise'], n['kernels_not_known']), (1, 0, 2, 0), 'counts')
    gemm = next(r for r in n['row_list'] if r['name'] == 'gemm')
    t.equal((gemm['a_count'], gemm['b_count'], gemm['a_count_varies']), (3, 3, False), 'how many')
    t.equal(gemm['a_run_ns'], [3 * int(100000 + o * 500) for o in OFF_A], 'each run')
    t.equal((gemm['a_median_ns'], gemm['b_median_ns']), (3 * 100250, 3 * 130500), 'medians')
    t.check(abs(gemm['p'] - 2 / 924) < 1e-9, 'six runs of each, none of A above one of B: 2 of 924 ways')
    t.equal(changes(diff(t, *b, '--vs', *a)[1], 'kernel')['gemm'], 'faster', 'the other way round')
    r = t.tsdb('diff', *a, '--vs', *b)
    t.match(r'Runs: 6 of A, 6 of B\.', r.out)
    t.match(r'0\.301 ±2\.2 % +0\.39[12] ±1\.9 % +\+30\.2 % +0\.0022 +slower +3 +gemm', r.out)
    for text, ok in (('slower == 0', False), ('slower == 1 && faster == 0 && noise == 2 && not_known == 0', True), ('time < 1.1', False), ('time < 1.2 && structure == same', True)):
        t.equal(t.tsdb('diff', *a, '--vs', *b, '--assert', text).status, 0 if ok else 3, text)


def test_noise(t):
    """The same program twice: nothing is accused, however the runs are shared out."""
    a, b = sides(t, 6)
    for words in ([*a, '--vs', *b], [*b, '--vs', *a], [*a[:4], '--vs', *b], ['--control', *a, *b], ['--control', *a]):
        status, d = diff(t, *words)
        n = d['runs']
        t.equal((status, n['kernels_slower'], n['kernels_faster'], {r['change'] for r in n['row_list']} - {'noise', 'not known'}), (0, 0, 0, set()), f'{words}')
        t.equal(n['control'], words[0] == '--control', 'control')
    t.equal(t.tsdb('diff', *a, '--vs', *b, '--assert', 'slower == 0 && not_known == 0').status, 0, 'holds')
    t.match('Control: one side against itself', t.tsdb('diff', '--control', *a).out)


def test_control(t):
    """A side that is not one program is found by its control: every other run is slower."""
    a, b = sides(t, 5, slower=30)
    status, d = diff(t, '--control', *[x for pair in zip(a, b) for x in pair])
    t.equal((status, changes(d, 'kernel')), (3, {'gemm': 'slower', 'relu': 'noise', 'adam': 'noise'}), 'two programs')


def test_too_few(t):
    """Three runs of each cannot tell, however far they lie apart, and an assertion about it does not hold: it is refused."""
    a, b = sides(t, 3, slower=3000)
    d = diff(t, *a, '--vs', *b)[1]
    t.equal((d['runs']['decided'], set(changes(d, 'kernel').values())), (False, {'not known'}), 'three runs')
    t.match(r'So few runs cannot tell a difference from chance, however large: their least p is 0\.1\. Record at least 4 of each', t.tsdb('diff', *a, '--vs', *b).out)
    for text in ('slower == 0', 'noise == 3', 'faster < 1'):
        r = t.tsdb('diff', *a, '--vs', *b, '--assert', text)
        t.check(r.status == 1 and '3 and 3 runs cannot tell' in r.err, f'{text}: {r.err}')
    t.equal(t.tsdb('diff', *a, '--vs', *b, '--assert', 'not_known == 3 && time > 2').status, 0, 'what is known')


def test_what_is_said_of_runs(t):
    """Runs not recorded in turn; one with other commands; one without times; what does not go together."""
    a, b = sides(t, 4, order=False)
    d = diff(t, *a, '--vs', *b)[1]
    t.equal(d['runs']['in_turn'], False, 'first all of A')
    t.match('Record them in turn', t.tsdb('diff', *a, '--vs', *b).out)
    planted(t, 'more', {'gemm': [100] * 4, 'relu': [50] * 3, 'adam': [20] * 3})
    d = diff(t, *a, 'more.sbt', '--vs', *b)[1]
    t.equal([(r['file'], r['other_commands']) for r in d['runs']['run_list'] if r['other_commands']], [('more.sbt', 1)], 'another program among them')
    t.check(next(r for r in d['runs']['row_list'] if r['name'] == 'gemm')['a_count_varies'], 'its counts')
    t.match(r'more\.sbt differs from a0\.sbt in 1 commands: its times are of other work', t.tsdb('diff', *a, 'more.sbt', '--vs', *b).out)
    t.need_soft()
    r = t.tsdb('--gpu', 'soft', 'record', '-o', 'bare.sbt', '--', program('variants'))
    t.equal(r.status, 0, r.err)
    for words, text in ((['a0.sbt', 'bare.sbt', '--vs', 'b0.sbt'], 'bare.sbt has no GPU times'), ([*a, *b], '"a2.sbt" is one more'), (['--control', *a, '--vs', *b], '--control compares one side'),
                        (['--control', 'a0.sbt', 'a1.sbt', 'a2.sbt'], 'at least four'), ([*a, '--vs'], 'needs two traces'), ([*a, '--vs', *b, '--numeric'], '--numeric compares one trace with one'),
                        ([*a, '--vs', *b, '--why'], '--why compares one trace with one'), ([*a, '--vs', *b, '--folded'], '--folded compares one trace with one'),
                        (['a0.sbt', 'b0.sbt', '--assert', 'slower == 0'], 'slower needs several traces'), ([*a, '--vs', 'none.sbt'], 'none.sbt')):
        r = t.tsdb('diff', *words)
        t.check(r.status == 1 and text in r.err, f'{words}: {r.status} {r.err}')


def test_steps_of_runs(t):
    """The second step of each run; the others, which are as slow as can be, do not count."""
    for i in range(4):
        planted(t, f'a{i}', {'gemm': [100 + 50 * i, 10 + i, 70 - i]}, day=2 * i)
        planted(t, f'b{i}', {'gemm': [5000 - i, 10 + (i + 2) % 4, 3 + i]}, day=2 * i + 1)
    words = [f'a{i}.sbt' for i in range(4)] + ['--vs'] + [f'b{i}.sbt' for i in range(4)]
    t.equal(changes(diff(t, *words, '--step', '5')[1], 'kernel'), {'gemm': 'slower'}, 'the first step')
    d = diff(t, *words, '--step', '6')[1]
    t.equal(changes(d, 'kernel'), {'gemm': 'noise'}, 'the second step')
    t.equal(next(r for r in d['runs']['row_list'] if r['name'] == 'gemm')['a_run_ns'], [10000, 11000, 12000, 13000], 'its times')


def exported(t, a, b):
    """The slices of an export of two runs: [(process, track, name, category, from, to, flow)], and its render stages [(process, from, duration)]."""
    r = t.tsdb('export', 'perfetto', f'{a}.sbt', f'{b}.sbt', '-o', 'x')
    t.equal(r.status, 0, r.err)
    with open(t.path('x'), 'rb') as f:
        packets = values(decode(t, 'perfetto.proto', 'Trace', f.read()), 'packet')
    texts, tracks, open_, slices, stages = {}, {}, {}, [], []
    for p in packets:
        source = value(p, 'trusted_packet_sequence_id')
        for i in values(p, 'interned_data'):
            for what in ('event_names', 'event_categories'):
                texts.update({(source, what, value(n, 'iid')): value(n, 'str') for n in values(i, what)})
        for d in values(p, 'track_descriptor'):
            tracks[value(d, 'uuid')] = (source, value(d, 'name', ''), [(value(x, 'pid'), value(x, 'process_name')) for x in values(d, 'process')])
        for g in values(p, 'gpu_render_stage_event'):
            stages.append((source, value(p, 'timestamp'), value(g, 'duration')))
        for v in values(p, 'track_event'):
            track = tracks.get(value(v, 'track_uuid'), (0, ''))
            if not track[1].endswith(': compared'):
                t.equal(values(v, 'flow_ids'), [], 'flows are between these slices alone')
            elif value(v, 'type') == 1:
                open_[value(v, 'track_uuid')] = (source, track[1], texts[source, 'event_names', value(v, 'name_iid')],
                                                 texts[source, 'event_categories', value(v, 'category_iids')], value(p, 'timestamp'), values(v, 'flow_ids'))
            else:
                *rest, flow = open_.pop(value(v, 'track_uuid'))
                slices.append((*rest, value(p, 'timestamp'), flow))
    t.equal(open_, {}, 'each slice ends')
    return slices, stages, sorted(p for x in tracks.values() if len(x) > 2 for p in x[2])


def test_export_of_two(t):
    """Two runs of one process number, a day apart: the first kernel of both begins at one time, each command that both have is a flow, the others say so."""
    planted(t, 'a', {'gemm': [100, 110, 120], 'relu': [50, 50, 50], 'gone': [7]}, day=0)
    planted(t, 'b', {'gemm': [200, 210, 220], 'relu': [40, 40, 40], 'new': [9]}, day=1)
    for a, b in (('a', 'b'), ('b', 'a'), ('a', 'a')):
        slices, stages, processes = exported(t, a, b)
        t.equal([n for _, n in processes if n], ['A: train', 'B: train'] if processes[0][1] == 'A: train' else ['B: train', 'A: train'], 'processes')
        t.equal(len({pid for pid, _ in processes}), 2, f'two processes: {processes}')
        first = {source: min(s[4] for s in slices if s[0] == source) for source in (1, 2)}
        t.equal(first[1], first[2], 'one clock')
        flows = {}
        for s in slices:
            for flow in s[6]:
                flows.setdefault(flow, []).append(s)
        both = 7 if a == b else 6
        t.equal((len(flows), [sorted(s[0] for s in f) for f in flows.values()]), (both, [[1, 2]] * both), 'each flow has two ends')
        t.check(all(len({s[2] for s in f}) == 1 and {s[3] for s in f} == {'both'} for f in flows.values()), f'the same kernel at both: {flows}')
        for name in ('gemm', 'relu'): # the first is the first, the second is the second
            order = [[f for s in sorted(slices, key=lambda s: s[4]) if s[0] == source and s[2] == name for f in s[6]] for source in (1, 2)]
            t.equal(order[0], order[1], f'{name}: in order')
        alone = sorted((s[0], s[2], s[3]) for s in slices if not s[6])
        t.equal(alone, [] if a == b else [(1, 'gone' if a == 'a' else 'new', 'only A'), (2, 'new' if a == 'a' else 'gone', 'only B')], 'what one has alone')
        t.equal(sorted((s[0], s[4], s[5] - s[4]) for s in slices), sorted(stages), 'as long as they ran')
        gemm = [s[5] - s[4] for s in slices if s[2] == 'gemm']
        t.equal(sorted(gemm), sorted([x * 1000 for x in (100, 110, 120)] * (2 if a == b else 1) + [x * 1000 for x in (200, 210, 220) if a != b]), 'no length changes')


def test_export_of_two_refuses(t):
    planted(t, 'a', {'gemm': [100]})
    planted(t, 'other', {'nothing_alike': [100]})
    t.need_soft()
    r = t.tsdb('--gpu', 'soft', 'record', '-o', 'bare.sbt', '--', program('variants'))
    t.equal(r.status, 0, r.err)
    r = t.tsdb('merge', '-o', 's.sbts', 'a.sbt', 'other.sbt', '--as-is')
    t.equal(r.status, 0, r.err)
    for words, text in ((['a.sbt', 'bare.sbt', '-o', 'x'], 'bare.sbt has no GPU times'), (['bare.sbt', 'a.sbt', '-o', 'x'], 'bare.sbt has no GPU times'),
                        (['a.sbt', 'other.sbt', '-o', 'x'], 'no command that both have has GPU times'), (['a.sbt', 'a.sbt'], 'needs -o'),
                        (['a.sbt', 'a.sbt', '-o', 'x', '--races'], 'no --races'), (['a.sbt', 'a.sbt', '1-5', '-o', 'x'], 'no range'), (['a.sbt', 'a.sbt', '--stream', '1', '-o', 'x'], 'no --stream'),
                        (['a.sbt', 's.sbts', '-o', 'x'], 's.sbts is a set'), (['s.sbts', 'a.sbt', '-o', 'x'], 's.sbts is a set'), (['a.sbt', 'a.sbt', 'a.sbt', '-o', 'x'], 'no range of commands'),
                        (['a.sbt', 'none.sbt', '-o', 'x'], 'none.sbt')):
        r = t.tsdb('export', 'perfetto', *words)
        t.check(r.status == 1 and text in r.err, f'{words}: {r.status} {r.err}')
    t.match('no range of commands', t.tsdb('export', 'kineto', 'a.sbt', 'a.sbt', '-o', 'x').err)


def job(t, name, ranks):
    """A set NAME.sbts of the traces that are planted for each rank: {rank: times}."""
    for rank, times in ranks.items():
        planted(t, f'{name}{rank}', times, rank=rank)
    r = t.tsdb('merge', '-o', f'{name}.sbts', '--as-is', *[f'{name}{rank}.sbt' for rank in ranks])
    t.equal(r.status, 0, r.err)


def rank_rows(d):
    return {r['rank']: (r['different_commands'], r['change_ns'], r['first_difference'] and r['first_difference'].split(': #')[0]) for r in d['rank_differences']}


def test_sets(t):
    """Two jobs, whose ranks were merged in another order: rank 2 of B is slower, rank 5 has a launch less, rank 7 is in A alone, rank 9 in B alone."""
    same = {'gemm': [100, 100], 'relu': [50, 50]}
    job(t, 'a', {0: same, 2: same, 5: same, 7: same})
    job(t, 'b', {9: same, 5: {'gemm': [100, 100], 'relu': [50]}, 2: {'gemm': [130, 140], 'relu': [50, 50]}, 0: same})
    status, d = diff(t, 'a.sbts', 'b.sbts')
    t.equal((status, d['same']), (3, False), 'status')
    t.equal(rank_rows(d), {0: (0, 0, None), 2: (0, 70000, None), 5: (1, -50000, 'removed'), 7: (0, 0, None), 9: (0, 0, None)}, 'by rank')
    t.equal([(r['rank'], r['in_a_set'], r['in_b_set']) for r in d['rank_differences'] if not (r['in_a_set'] and r['in_b_set'])], [(7, True, False), (9, False, True)], 'in one alone')
    out = t.tsdb('diff', 'a.sbts', 'b.sbts', '--time').out
    t.match('3 of 5 ranks differ', out)
    t.match(r'Rank 5, the first that differs:\nA is .*a5\.sbt, 4 commands; B is .*b5\.sbt, 3; 3 are in both', out)
    t.match(r' 2 +4 +4 +4 +0 +0\.300 +0\.370 +\+0\.070 +the same', out)
    t.match('only A has this rank', out)
    for other in ('a', 'c'):
        if other == 'c':
            job(t, 'c', {7: same, 5: same, 2: same, 0: same})
        status, d = diff(t, 'a.sbts', f'{other}.sbts')
        t.equal((status, d['same'], rank_rows(d)), (0, True, {r: (0, 0, None) for r in (0, 2, 5, 7)}), f'a and {other}')
    job(t, 'd', {0: same, 2: {'gemm': [130, 140], 'relu': [50, 50]}, 5: same, 7: same})
    for text, ok in (('structure == same', True), ('time < 1.1', False), ('time < 1.3 && structure == same', True)):
        t.equal(t.tsdb('diff', 'a.sbts', 'd.sbts', '--assert', text).status, 0 if ok else 3, text)
    # one rank is two traces, with all that is known of those
    status, d = diff(t, 'a.sbts', 'b.sbts', '--rank', '5', '--why')
    t.equal((status, d['removed'], d['difference_list'][0]['difference']), (3, 1, 'removed'), 'rank 5')
    for words, text in ((['a.sbts', 'a0.sbt'], 'a.sbts is a set, and the other one is a trace'), (['a.sbts', 'b.sbts', '--numeric'], 'Choose it with --rank'), (['a.sbts', 'b.sbts', '--step', '2'], 'Choose it with --rank'),
                        (['a.sbts', 'b.sbts', '--rank', '7'], 'b.sbts has no rank 7'), (['a0.sbt', 'b0.sbt', '--rank', '0'], 'a0.sbt is a trace, not a set'), (['a.sbts', 'a.sbts', '--vs', 'b.sbts'], 'a.sbts is a set: several runs'),
                        (['a.sbts', 'b.sbts', '--rank', 'x'], '"x" is no rank')):
        r = t.tsdb('diff', *words)
        t.check(r.status == 1 and text in r.err, f'{words}: {r.status} {r.err}')
    planted(t, 'b0', same, day=3, rank=0)
    r = t.tsdb('diff', 'a.sbts', 'b.sbts')
    t.check(r.status == 1 and 'b0.sbt' in r.err, f'a trace that was recorded anew: {r.err}')


def test_sets_of_runs(t):
    """Five jobs a side of two ranks: rank 1 of B is slower in every run, rank 0 is not."""
    words = {'a': [], 'b': []}
    for run in range(5):
        for side, slower in (('a', 0), ('b', 30)):
            name = f'{side}{run}'
            job(t, name, {0: {'gemm': [100 + run, 100]}, 1: {'gemm': [100 + run + slower, 100 + slower]}})
            words[side].append(f'{name}.sbts')
    for rank, verdict in ((0, 'noise'), (1, 'slower')):
        _, d = diff(t, *words['a'], '--vs', *words['b'], '--rank', str(rank), '--time')
        t.equal(changes(d, 'kernel')['gemm'], verdict, f'rank {rank}')
    _, d = diff(t, '--control', *words['a'], '--rank', '1')
    t.equal(changes(d, 'kernel')['gemm'], 'not known', 'three against two')
    r = t.tsdb('diff', *words['a'], '--vs', *words['b'])
    t.check(r.status == 1 and 'of one rank' in r.err and 'Choose it with --rank' in r.err, r.err)
    r = t.tsdb('diff', *words['a'], '--vs', 'a00.sbt', '--rank', '0')
    t.check(r.status == 1 and 'is a trace, not a set' in r.err, r.err)
    r = t.tsdb('diff', *words['a'], '--vs', *words['b'], '--rank', '2')
    t.check(r.status == 1 and 'has no rank 2' in r.err, r.err)
