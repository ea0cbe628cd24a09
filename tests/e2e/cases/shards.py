# SPDX-License-Identifier: Apache-2.0
"""Exploring in shards: together they execute what one process executes and find what it finds, whatever ends one of them in between."""
import json
import os
import random
import signal
import subprocess
import time

from e2e import tsdb_path

# what one process and shards have to agree on
SAME = ('recording', 'first_seq', 'last_seq', 'executed', 'alike', 'unordered', 'unstable', 'complete', 'went_through', 'left_early', 'course')


def result(path):
    with open(path, encoding='utf-8') as f:
        return [json.loads(line) for line in f]


def findings(r):
    return [{k: v for k, v in f.items() if k != 'trace'} for f in r['found']]


def compare(t, whole, merged, what):
    t.equal({k: merged[k] for k in SAME}, {k: whole[k] for k in SAME}, what)
    t.equal(findings(merged), findings(whole), what)


def shards(t, n, *words):
    for k in range(1, n + 1):
        r = t.tsdb('explore', 't.sbt', '--shard', f'{k}/{n}', '-o', 's%k.json', '--no-save', '--found-ok', *words)
        t.equal(r.status, 0, r.both)
    return [f's{k}.json' for k in range(1, n + 1)]


# many pairs, few, a launch that may be overtaken, freed memory, a graph with branches, the host
PROGRAMS = (('orders', 'many'), ('orders', 'few'), ('../races/dependent-launches', 'two_behind'), ('../races/races', 'used_after_free'),
            ('../races/races', 'pinned_reused'))


def test_any_partition_is_the_whole(t):
    seed = random.randrange(1000)
    for i, (name, case) in enumerate(PROGRAMS):
        t.equal(t.record(name, case).status, 0, case)
        words = ('--budget', '40', '--most', '50', '--seed', str(seed))
        t.tsdb('explore', 't.sbt', '-o', 'whole.json', '--no-save', *words)
        n = 2 + (seed + i) % 4
        names = shards(t, n, *words)
        random.shuffle(names)
        r = t.tsdb('merge', *names, '--json')
        whole = result(t.path('whole.json'))[0]
        t.equal(r.status, 3 if whole['found'] else 0, r.both)
        compare(t, whole, json.loads(r.out), f'{case}, {n} shards, seed {seed}')


def test_enough_is_found_by_the_same_schedules(t):
    """--most ends one process early; of what the shards find the same is left."""
    t.equal(t.record('orders', 'many').status, 0, 'record')
    t.tsdb('explore', 't.sbt', '-o', 'whole.json', '--no-save', '--most', '1')
    merged = json.loads(t.tsdb('merge', *shards(t, 3, '--most', '1'), '--json').out)
    t.equal(findings(merged), findings(result(t.path('whole.json'))[0]), 'the first one')


def start(t, *words):
    return subprocess.Popen([tsdb_path(), 'explore', 't.sbt', '--no-save', *words], cwd=t.dir, env=t.environment(),
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_ended_at_any_point_and_resumed(t):
    """By signals that leave it time, and by SIGKILL, which does not: what the file says is true at every moment."""
    t.equal(t.record('orders', 'many').status, 0, 'record')
    words = ('--budget', '69', '--most', '100', '--on', 'soft')
    t.tsdb('explore', 't.sbt', '-o', 'whole.json', '--no-save', *words)
    whole = result(t.path('whole.json'))[0]
    ends = []
    for sigs in ((signal.SIGKILL,), (signal.SIGTERM, signal.SIGUSR1)):
        for _ in range(50):  # a quick machine may be done before the signal comes, a busy one too
            ends += ended_and_resumed(t, words, whole, sigs)
            if sum(e in sigs for e in ends) > 1:
                break
        else:
            t.check(False, f'it was ended in between: {ends}')


def ended_and_resumed(t, words, whole, sigs):
    """One exploration, ended again and again soon after its file says more than before; the signals that ended it too early."""
    at, ends = 0, []
    while True:
        p = start(t, '-o', 'part.json', '--resume', '--checkpoint', '0ns', '--found-ok', *words)
        now = sigs[len(ends) % len(sigs)]
        while p.poll() is None:
            if os.path.exists(t.path('part.json')) and result(t.path('part.json'))[0]['course'] > at:
                time.sleep(random.choice((0, 0.01, 0.1)) * random.random())
                p.send_signal(now)
                break
            time.sleep(0.001)
        out, err = p.communicate(timeout=60)
        part = result(t.path('part.json'))[0]
        t.check(part['course'] >= at, f'nothing is lost: {at}, then {part["course"]}')
        at = part['course']
        if part['have']:
            t.equal((p.returncode, part['begun']), (0, []) if p.returncode >= 0 else (-now, []), out + err)
            break
        t.equal((part['begun'], part['complete']), ([1], False), 'not whole')
        ends.append(now)
        if now != signal.SIGKILL:
            t.equal(p.returncode, 1, 'its status')
            t.match('--resume go on from there', err)
    compare(t, whole, part, f'after {ends}')
    os.unlink(t.path('part.json'))
    return ends


def test_missing_shards_are_named_with_the_lines_that_run_them(t):
    t.equal(t.record('orders', 'many').status, 0, 'record')
    words = ('--budget', '30', '--seed', '7', '--strict')
    names = shards(t, 4, *words)
    for name in names[1:3]:
        os.unlink(t.path(name))
    r = t.tsdb('explore', 't.sbt', '--shard', '3/4', '-o', 'three.json', '--no-save', *words, '--budget', '1')
    r = t.tsdb('merge', 's1.json', 'three.json')
    t.equal(r.status, 1, 'another budget')
    t.match('different options', r.err)
    r = t.tsdb('merge', 's1.json', 's4.json')
    t.check(r.status in (1, 3), r.both)
    t.match(r'Not complete: without shard 2, 3 of 4\.', r.out)
    lines = [line.split() for line in r.out.splitlines() if line.startswith('  tsdb explore ')]
    t.equal(len(lines), 2, r.out)
    for line in lines:
        t.tsdb(*line[1:], '--no-save')
    r = t.tsdb('merge', 's1.json', 's4.json', *[line[line.index('-o') + 1] for line in lines], '--json')
    t.equal(json.loads(r.out)['have'], [1, 2, 3, 4], r.both)
    t.tsdb('explore', 't.sbt', '-o', 'whole.json', '--no-save', *words)
    compare(t, result(t.path('whole.json'))[0], json.loads(r.out), 'with those lines')


def test_a_shard_from_the_environment(t):
    """In a job's array, and the name of the result from it."""
    t.equal(t.record('orders', 'few').status, 0, 'record')
    env = {'SLURM_ARRAY_TASK_ID': '12', 'SLURM_ARRAY_TASK_MIN': '10', 'SLURM_ARRAY_TASK_MAX': '13', 'SLURM_ARRAY_TASK_STEP': '1',
           'SLURM_ARRAY_TASK_COUNT': '4', 'SLURM_JOB_ID': '77', 'SLURM_PROCID': '0', 'SLURM_NTASKS': '8'}
    r = t.tsdb('explore', 't.sbt', '--shard', 'auto', '--no-save', '--found-ok', '-o', 'r.%j.%a.%k.json', env=env)
    t.equal(r.status, 0, r.both)
    one = result(t.path('r.77.12.3.json'))[0]
    t.equal((one['shards'], one['have']), (4, [3]), 'the third of four')
    r = t.tsdb('explore', 't.sbt', '--shard', 'auto', env={**env, 'SLURM_ARRAY_TASK_COUNT': '3'})
    t.match('an array with gaps', r.err)
    r = t.tsdb('explore', 't.sbt', '--shard', 'auto')
    t.equal(r.status, 1, 'no job')
    t.match('no job.s variables are set', r.err)


def test_what_was_done_for_something_else_is_refused(t):
    t.equal(t.record('orders', 'few').status, 0, 'record')
    t.equal(t.tsdb('explore', 't.sbt', '-o', 'a.json', '--no-save', '--found-ok').status, 0, 'first')
    for words in (['--seed', '3'], ['--budget', '7'], ['--shard', '1/2']):
        r = t.tsdb('explore', 't.sbt', '-o', 'a.json', '--resume', '--no-save', *words)
        t.equal(r.status, 1, str(words))
        t.match('of another recording, window or shard, or of other options', r.err)
    t.equal(t.record('orders', 'many').status, 0, 'another recording')
    t.equal(t.tsdb('explore', 't.sbt', '-o', 'a.json', '--resume', '--no-save').status, 1, 'another recording')
    t.match('--resume needs the file', t.tsdb('explore', 't.sbt', '--resume').err)
