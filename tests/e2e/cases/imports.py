# SPDX-License-Identifier: Apache-2.0
"""tsdb import: profiles that tsdb itself exported come back as they were; others are written here by the documents of their formats."""
import gzip
import json
import os
import re
import shutil
import sqlite3
import struct
import subprocess

import e2e  # pylint: disable=unused-import

BASE = 1700000000000000000
DEVICE = {'id': 0, 'name': 'GPU "X"', 'totalGlobalMem': 1 << 30, 'computeMajor': 9, 'computeMinor': 0, 'numSms': 132}


def x(cat, name, ts, dur, pid=7, tid=8, **args):
    return {'ph': 'X', 'cat': cat, 'name': name, 'pid': pid, 'tid': tid, 'ts': ts, 'dur': dur, 'args': args}


def kernel(name, ts, dur, corr, stream=7, **more):
    return x('kernel', name, ts, dur, 0, stream, **({'device': 0, 'context': 1, 'stream': stream, 'correlation': corr,
             'grid': [2, 3, 1], 'block': [64, 1, 1], 'shared memory': 16, 'registers per thread': 32} | more))


def call(name, ts, dur, corr, **more):
    return x('cuda_runtime', name, ts, dur, correlation=corr, **more)


def write(t, events, name='p.json', **top):
    text = json.dumps({'schemaVersion': 1, 'deviceProperties': [DEVICE], 'distributedInfo': {'backend': 'nccl', 'rank': 3, 'world_size': 8},
                       'baseTimeNanoseconds': BASE, 'traceEvents': events, 'traceName': 'x'} | top)
    with open(t.path(name), 'w', encoding='utf-8') as f:
        f.write(text)
    return text


def imported(t, name='p.json', *words):
    r = t.tsdb('import', name, '-o', 'o.sbt', *words)
    t.equal(r.status, 0, r.err)
    rows = [json.loads(line) for line in t.tsdb('view', 'o.sbt', '--json', '--stacks').out.splitlines()]
    return r.err, [c for c in rows if not c['flags'] & 4]


def gist(rows, *keys):
    return [tuple(c[k] for k in keys) for c in rows]


def times(c):
    return c['gpu_start_ns'] - BASE, c['gpu_end_ns'] - BASE


def test_kineto(t):
    """A step of PyTorch as its profiler writes it: operators and Python functions around a launch are its stack."""
    write(t, [
        {'ph': 'M', 'name': 'process_name', 'pid': 7, 'tid': 0, 'ts': 0, 'args': {'name': 'python train.py'}},
        {'ph': 'M', 'name': 'thread_name', 'pid': 7, 'tid': 8, 'ts': 0, 'args': {'name': 'main'}},
        x('user_annotation', 'ProfilerStep#1', 100, 900),
        x('python_function', 'train.py(12): step', 110, 500),
        x('python_function', '<built-in method mm>', 120, 200),
        x('cpu_op', 'aten::mm', 130, 100),
        call('cudaLaunchKernel', 140.5, 10, 41),
        kernel('void gemm<float>(float*)', 300.125, 50.25, 41),
        call('cudaMemcpyAsync', 700, 5, 42),
        x('gpu_memcpy', 'Memcpy HtoD (Pinned -> Device)', 710, 2, 0, 20, device=0, context=1, stream=20, correlation=42, bytes=4096),
        call('cudaMemsetAsync', 720, 5, 43),
        x('gpu_memset', 'Memset (Device)', 730, 1, 0, 20, device=0, context=1, stream=20, correlation=43, bytes=64),
        call('cudaStreamSynchronize', 800, 100, 44),
        x('cuda_sync', 'Stream Sync', 800, 90, 0, 20, stream=20, correlation=44, device=0, context=1),
        {'ph': 's', 'id': 41, 'pid': 7, 'tid': 8, 'ts': 140.5, 'cat': 'ac2g', 'name': 'ac2g'},
        x('overhead', 'Buffer Flush', 1, 1),
    ])
    said, rows = imported(t)
    t.match('of kineto, 1 launch \\(1 with a stack\\), 0 graph launches, 1 copy, 1 fill, 1 wait of the host, 1 range\\.', said)
    t.equal(said.count('\n'), 1, 'nothing was left out')
    t.equal(gist(rows, 'kind', 'host_ns'), [
        ('mark', BASE + 100000), ('launch', BASE + 140500), ('copy', BASE + 700000), ('fill', BASE + 720000), ('sync', BASE + 800000),
        ('sync_end', BASE + 900000), ('mark', BASE + 1000000)], 'commands')
    push, launch, copy, fill, sync, end, pop = rows
    t.equal((push['text'], push['mark_kind'], pop['mark_kind']), ('ProfilerStep#1', 1, 2), 'range')
    t.equal(times(launch), (300125, 350375), 'times')
    t.equal([launch[k] for k in ('stream', 'grid_x', 'grid_y', 'grid_z', 'block_x', 'shared')], [7, 2, 3, 1, 64, 16], 'launch')
    t.equal([f['function'] for f in launch['frames']], ['aten::mm', '<built-in method mm>', 'step'], 'stack')
    t.equal([(f['file'], f['line']) for f in launch['frames']][-1], ('train.py', 12), 'place')
    t.equal((copy['dir'], copy['size'], copy['stream'], times(copy)), ('h2d', 4096, 20, (710000, 712000)), 'copy')
    t.equal((fill['size'], fill['stream'], times(fill)), (64, 20, (730000, 731000)), 'fill')
    t.equal((sync['scope'], sync['stream'], end['begin']), ('stream', 20, sync['seq']), 'wait')
    info = json.loads(t.tsdb('info', 'o.sbt', '--json').out)
    t.equal([info[k] for k in ('program', 'gpu', 'rank', 'ranks', 'pid', 'observed', 'timestamps', 'stacks')],
            ['python train.py', 'GPU "X"', 3, 8, 7, True, True, True], 'info')
    t.match('gemm', t.tsdb('stats', 'o.sbt').out)
    t.match('gemm', t.tsdb('stats', 'o.sbt', '--critical-path').out)
    for tool in ('replay', 'check', 'races', 'explore'):
        t.check(t.tsdb(tool, 'o.sbt').status == 1, tool + ' refuses it')
    t.sentence(t.tsdb('check', 'o.sbt'), 'observed from outside')


def test_kineto_events_between_streams(t):
    """A wait whose record has a stream is an edge; a record nobody waited for has none, and is left out."""
    write(t, [
        call('cudaLaunchKernel', 10, 1, 1), kernel('a', 20, 100, 1, 7),
        call('cudaEventRecord', 30, 1, 2), call('cudaEventRecord', 31, 1, 3),
        call('cudaStreamWaitEvent', 40, 1, 4),
        x('cuda_sync', 'Stream Wait Event', 40, 0, 0, 9, stream=9, correlation=4, device=0, context=1, wait_on_stream=7,
          wait_on_cuda_event_record_corr_id=2, wait_on_cuda_event_id=5),
        call('cudaLaunchKernel', 50, 1, 5), kernel('b', 121, 10, 5, 9)])
    said, rows = imported(t)
    t.match('1 record of an event or wait for one is left out: its stream is not known', said)
    t.equal(gist(rows, 'kind', 'stream'), [('launch', 7), ('event_record', 7), ('stream_wait', 9), ('launch', 9)], 'commands')
    t.equal(rows[1]['event'], rows[2]['event'], 'one event')
    t.equal(t.tsdb('export', 'sqlite', 'o.sbt', '-o', 'x.db').status, 0, 'sqlite')
    t.equal(sqlite3.connect(t.path('x.db')).execute('SELECT seq, waits_for FROM edge').fetchall(), [(rows[3]['seq'], rows[0]['seq'])], 'edge')


def test_kineto_graphs_and_work_alone(t):
    events = [
        call('cudaGraphLaunch', 10, 1, 1), kernel('a', 20, 5, 1), kernel('b', 25, 5, 1), kernel('a', 30, 4, 1),
        call('cudaLaunchKernel', 50, 1, 2), kernel('c', 60, 1, 2),
        kernel('lost', 63, 1, 77), kernel('first', 2, 1, 0),
        call('cudaLaunchKernel', 70, 1, 3), kernel('d', 80, 1, 3),
        call('cudaLaunchKernel', 90, 1, 4), call('cudaMalloc', 91, 1, 5)]
    write(t, events)
    said, rows = imported(t)
    t.match('3 kernels, copies and fills ran in graph launches', said)
    t.match('2 pieces of work have no call', said)
    t.match('1 call that launches, copies or fills has no work', said)
    t.equal([(c['kind'], c.get('kernel_name', ''), times(c)) for c in rows], [
        ('launch', 'first', (2000, 3000)), ('graph_launch', '', (20000, 34000)), ('launch', 'c', (60000, 61000)), ('launch', 'lost', (63000, 64000)),
        ('launch', 'd', (80000, 81000))], 'in the order of the stream')
    t.equal([c['host_ns'] for c in rows if c.get('kernel_name') in ('first', 'lost')], [0, 0], 'when they were submitted is not known')
    _, rows = imported(t, 'p.json', '--graph-nodes')
    t.equal([c.get('kernel_name') for c in rows], ['first', 'a', 'b', 'a', 'c', 'lost', 'd'], 'nodes as launches')


def test_kineto_older_and_other(t):
    """Capitalised categories, times since 1970, gzip, a list alone, strings with everything."""
    events = [dict(call('cudaLaunchKernel', BASE / 1000 + 10, 1, 1), cat='Runtime'), dict(kernel('k"\\\n\x07é😀', BASE / 1000 + 20, 5, 1), cat='Kernel')]
    text = json.dumps(events)
    with gzip.open(t.path('p.json.gz'), 'wt') as f:
        f.write(text)
    said, rows = imported(t, 'p.json.gz')
    t.equal([times(c) for c in rows], [(20000, 25000)], 'times')
    t.check('no date' not in said, said)
    events = [call('hipLaunchKernel', 10, 1, 1), kernel('k', 20, 5, 1)]
    with open(t.path('p.json'), 'w', encoding='utf-8') as f:
        json.dump(events, f)
    said, rows = imported(t)
    t.match('has no date', said)
    t.equal(rows[0]['gpu_start_ns'] - rows[0]['host_ns'], 10000, 'distances stay')
    t.equal(json.loads(t.tsdb('info', 'o.sbt', '--json').out)['vendor'], 'AMD', 'vendor')


def test_idle_time_is_blamed(t):
    """The device is empty from 120 us to 500 us. The launch at 400 us ends the wait, so 280 us are its caller's; the rest is the start."""
    write(t, [
        x('python_function', 'train.py(3): quick', 5, 20), call('cudaLaunchKernel', 10, 1, 1), kernel('a', 20, 100, 1),
        x('python_function', 'train.py(9): slow', 200, 250), call('cudaLaunchKernel', 400, 1, 2), kernel('b', 500, 10, 2)])
    imported(t)
    s = json.loads(t.tsdb('stats', 'o.sbt', '--json').out)
    t.equal([(b['name'], b['idle_ns']) for b in s['idle_by']], [('slow () at train.py:9', 280_000)], 'by call site')
    t.equal((s['device_list'][0]['use']['host_late_ns'], s['device_list'][0]['use']['starting_ns'], s['idle_unknown_ns']), (280_000, 100_000, 0), 'the device')
    out = t.tsdb('o.sbt', '--batch', '-ex', 'info stats').out
    t.match(r'^Idle devices.*', out)
    t.match(r'^ +0\.280 +0\.000 +1 +#\d+ +slow \(\) at train\.py:9$', out)


def test_kineto_threads_without_a_name(t):
    """PyTorch's profiler writes the outermost Python frames of threads that it cannot name as process 0's: that makes no second process of it."""
    nameless = x('python_function', 'threading.py(1032): _bootstrap', 5, 90, 0, 0, **{'Python id': 1, 'Python parent id': None})
    work = [call('cudaLaunchKernel', 10, 1, 1), kernel('k', 20, 5, 1)]
    for events in ([nameless, *work], [*work, nameless]):
        write(t, events)
        _, rows = imported(t)
        t.equal([(c['kind'], c['frames']) for c in rows], [('launch', [])], 'the launch, which no frame of another thread is around')
    t.equal(json.loads(t.tsdb('info', 'o.sbt', '--json').out)['pid'], 7, 'the process')
    write(t, [*work, x('cuda_runtime', 'cudaLaunchKernel', 5, 3, 0, 0, correlation=2)])
    t.sentence(t.tsdb('import', 'p.json', '-o', 'o.sbt'), 'is of several processes: 7 and 0')
    with open(t.path('p.json'), 'w', encoding='utf-8') as f:
        json.dump([{'file': 'x.json', 'batch_size': 32}], f)
    t.sentence(t.tsdb('import', 'p.json', '-o', 'o.sbt'), 'is no profile: none of its rows is an event')


def test_kineto_hostile(t):
    good = [call('cudaLaunchKernel', 10, 1, 1), kernel('k', 20, 5, 1)]
    bad = [kernel('k', 1e300, 1, 2), kernel('k', 20, -5, 3), kernel('k', 20, 1, 2 ** 63), kernel('k', 20, 1, 4, -3), x('cuda_runtime', 'cudaFree', -1e200, 1),
           kernel('k', 20, 1, 5, device=5000), kernel('k', 20, 1, 6, grid=[-1, 1, 1]), {'ph': 'X', 'cat': 'kernel', 'name': 'no time', 'pid': 0, 'tid': 7},
           kernel('k', 20, 1, 7, bytes=-4), kernel('k', 1e19, 1e19, 8)]
    odd = [5, 'text', None, [[[]]], {}, {'ph': 7, 'cat': [], 'name': {}, 'args': 3, 'pid': 'Spans', 'tid': None, 'ts': True},
           x('user_annotation', 'a', 100, 50), x('user_annotation', 'overlaps', 120, 50), x('user_annotation', '', 200, 0)]
    write(t, good + bad + odd)
    said, rows = imported(t)
    t.match(f'{len(bad)} rows are left out', said)
    t.match('1 range or wait is left out: it does not nest', said)
    t.equal([c['kind'] for c in rows], ['launch', 'mark', 'mark', 'mark', 'mark'], 'what is left')
    for text, why in (
            (write(t, good)[:-40], 'ends too early'), ('{"traceEvents": [' + '[' * 600, 'nested too deeply'), ('{"traceEvents": [}', 'the wrong bracket'),
            ('{"traceEvents": [{"ph" "X"}]}', 'a key has no colon'), ('{"traceEvents": [{"ph": X}]}', 'there is no value'), ('{"a": 1}', 'has no list'),
            ('{"traceEvents": []} x', 'something follows'), ('[1,]', 'there is no value'), ('{"traceEvents": ["\\q"]}', 'no escape'), ('{"traceEvents"', 'no colon'),
            ('{"baseTimeNanoseconds": 1e40, "traceEvents": []}', 'cannot be')):
        with open(t.path('p.json'), 'w', encoding='utf-8') as f:
            f.write(text)
        t.sentence(t.tsdb('import', 'p.json', '-o', 'bad.sbt'), why)
    with open(t.path('p.json'), 'wb') as f:
        f.write(gzip.compress(json.dumps(good).encode())[:-12])
    t.sentence(t.tsdb('import', 'p.json', '-o', 'bad.sbt'), '^tsdb: ')
    t.check('bad.sbt' not in t.tsdb('info', 'bad.sbt').out, 'no trace was made')
    write(t, good + [x('cuda_runtime', 'cudaLaunchKernel', 30, 1, 99, 8, correlation=9)])
    t.sentence(t.tsdb('import', 'p.json'), 'is of several processes: 7 and 99')


def test_kineto_long_strings(t):
    """A string of 50 MB is cut, in constant memory."""
    with open(t.path('p.json'), 'w', encoding='utf-8') as f:
        f.write('{"traceEvents": [' + json.dumps(call('cudaLaunchKernel', 10, 1, 1)) + ', {"x": "')
        f.write('y' * 50000000)
        f.write('", "ph": "X"}, ' + json.dumps(kernel('k', 20, 5, 1)) + ']}')
    _, rows = imported(t)
    t.equal([c['kind'] for c in rows], ['launch'], 'commands')


def same_work(t, a, b):
    keys = ('kind', 'stream', 'gpu_start_ns', 'gpu_end_ns', 'host_ns')
    kinds = ('launch', 'copy', 'fill')
    launch = ('grid_x', 'grid_y', 'grid_z', 'block_x', 'block_y', 'block_z')
    read = [[json.loads(line) for line in t.tsdb('view', f, '--json').out.splitlines()] for f in (a, b)]
    work = [sorted(tuple(c[k] for k in keys) + tuple(c.get(k) for k in launch + ('size', 'dir')) for c in rows if c['kind'] in kinds) for rows in read]
    t.check(len(work[0]) > 20, 'work')
    t.equal(work[1], work[0], f'{b} has the work of {a}, with its streams and times')
    waits = [[c['host_ns'] for c in rows if c['kind'] in ('sync', 'sync_end')] for rows in read]
    t.equal(waits[1], waits[0], 'waits of the host')


def test_round_trips(t):
    """What tsdb exported comes back: the same work, streams, times, names and stacks; the comparison finds nothing."""
    t.equal(t.record('pipeline', options=['--timestamps']).status, 0, 'record')
    for form in ('kineto', 'sqlite'):
        t.equal(t.tsdb('export', form, 't.sbt', '-o', form).status, 0, form)
        said, _ = imported(t, form)
        t.match('launches \\(16 with a stack\\)', said)
        same_work(t, 't.sbt', 'o.sbt')
        r = t.tsdb('diff', 't.sbt', 'o.sbt')
        t.equal(r.status, 0, r.out)
        t.match('They are the same: the same commands in the same order\\.', r.out)
        t.match('One of them was observed or imported', r.out)
        if form == 'kineto':  # which has what waits for what, too
            edges = []
            for file in ('t.sbt', 'o.sbt'):
                t.equal(t.tsdb('export', 'sqlite', file, '-o', 'edges').status, 0, 'edges')
                edges.append(sqlite3.connect(t.path('edges')).execute(
                    'SELECT a.gpu_start_ns, b.gpu_start_ns FROM edge JOIN command a ON a.seq = edge.seq JOIN command b ON b.seq = waits_for ORDER BY 1, 2').fetchall())
            t.check(edges[0], 'there are edges')
            t.equal(edges[1], edges[0], 'work that waits for work')
        for again in ('perfetto', 'kineto', 'pprof', 'folded', 'csv', 'sqlite'):
            t.equal(t.tsdb('export', again, 'o.sbt', '-o', 'again').status, 0, again)
    folded = [t.tsdb('export', 'folded', f, '-o', '-').out for f in ('t.sbt', 'o.sbt')]
    t.equal(folded[1], folded[0], 'stacks with their GPU times')


def nsight(t, name='n.sqlite', text=True):
    """A database as release 2024.1 makes it, with fewer columns than ours has."""
    db = sqlite3.connect(t.path(name))
    pid, tid = 77 << 24, 77 << 24 | 78
    db.executescript(f'''
        CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL);
        INSERT INTO StringIds VALUES (1,'cudaLaunchKernel_v7000'),(2,'saxpy(int, float*)'),(3,'cudaDeviceSynchronize_v3020'),(4,'main'),(5,'libx.so'),(6,'work'),(7,'step'),(8,'boss');
        CREATE TABLE TARGET_INFO_SESSION_START_TIME (utcEpochNs INT, utcTime TEXT);
        INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES ({BASE}, '');
        CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INT, end INT, globalTid INT, correlationId INT, nameId INT, returnValue INT, callchainId INT);
        INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (100,110,{tid},1,1,0,9),(200,900,{tid},2,3,0,NULL);
        CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (gridX INT, gridY INT, gridZ INT, start INT, end INT, deviceId INT, contextId INT, streamId INT, correlationId INT, globalPid INT, demangledName INT);
        INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (4,2,1,300,800,1,1,13,1,{pid},2);
        CREATE TABLE CUDA_CALLCHAINS (id INT, symbol INT, module INT, stackDepth INT);
        INSERT INTO CUDA_CALLCHAINS VALUES (9,4,5,1),(9,6,5,0);
        CREATE TABLE ThreadNames (nameId INT, priority INT, globalTid INT);
        INSERT INTO ThreadNames VALUES (8,0,{tid});
        CREATE TABLE NVTX_EVENTS (start INT, end INT, eventType INT, text TEXT, globalTid INT, textId INT);
        INSERT INTO NVTX_EVENTS VALUES (50,950,59,{"'step'" if text else 'NULL'},{tid},{'NULL' if text else 7}),(60,NULL,34,'here',{tid},NULL),(60,70,60,'free',{tid},NULL);''')
    db.commit()
    return db


def test_nsight(t):
    for text in (True, False):
        name = f'n{text}.sqlite'
        nsight(t, name, text).close()
        said, rows = imported(t, name)
        t.match('1 range or wait is left out', said)
        t.equal([(c['kind'], c['host_ns'] - BASE) for c in rows],
                [('mark', 50), ('mark', 60), ('launch', 100), ('sync', 200), ('sync_end', 900), ('mark', 950)], 'commands')
        t.equal((rows[0]['text'], rows[1]['text']), ('step', 'here'), 'ranges')
        launch = rows[2]
        t.equal((launch['stream'], times(launch), launch['grid_x'], launch['grid_y'], launch['kernel_name']), (13, (300, 800), 4, 2, 'saxpy(int, float*)'), 'launch')
        t.equal([f['function'] for f in launch['frames']], ['work', 'main'], 'stack')
        t.equal((rows[3]['scope'], rows[3]['ctx']), ('ctx', launch['ctx']), 'the wait, for the only context')


def test_nsight_calls_twice(t):
    """Releases of 2021 have each call twice, in the classes of events 67 (with the stack) and 0: it is one call, and work is not missed. Two calls that
    have one correlation and are not one within the other, or not on one thread, are two."""
    tid = 77 << 24 | 78
    db = nsight(t)
    db.executescript(f'''
        INSERT INTO StringIds VALUES (20,'cudaLaunchKernel');
        INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (101,109,{tid},1,20,0,NULL),(200,899,{tid},2,3,0,NULL);''')
    db.commit()
    said, rows = imported(t, 'n.sqlite')
    t.check('no work' not in said, said)
    t.equal([(c['kind'], c['host_ns'] - BASE) for c in rows],
            [('mark', 50), ('mark', 60), ('launch', 100), ('sync', 200), ('sync_end', 900), ('mark', 950)], 'commands')
    t.check(rows[2]['stack'], 'the stack of the outer one')
    db.executescript(f"INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (105,115,{tid},1,20,0,NULL),(101,109,{tid + 1},1,20,0,NULL)")
    db.commit()
    db.close()
    said, _ = imported(t, 'n.sqlite')
    t.match('2 calls that launch, copy or fill have no work', said)


def test_nsight_processes_and_hostile(t):
    db = nsight(t)
    other = 99 << 24
    db.execute(f'INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (100,110,{other | 5},1,1,0,NULL)')
    db.execute(f'INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (1,1,1,350,360,0,1,7,1,{other},2)')
    db.commit()
    t.sentence(t.tsdb('import', 'n.sqlite'), 'is of several processes: 77 and 99')
    _, rows = imported(t, 'n.sqlite', '--pid', '99')
    t.equal([(c['kind'], c.get('stream'), times(c)) for c in rows], [('launch', 7, (350, 360))], 'of the other process')
    tid = 77 << 24 | 78
    for values in (f"'x',5,{tid},3,1,0,NULL", f'9,5,{tid},3,1,0,NULL', f'{2 ** 63 - 1},5,{tid},3,1,0,NULL', f'5,{2 ** 63 - 1},{tid},3,1,0,NULL', f"x'00',NULL,{tid},'x','y',0,1.5"):
        db.execute(f'INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES ({values})')
    db.commit()
    said, _ = imported(t, 'n.sqlite', '--pid', '77')
    t.match('5 rows are left out', said)
    db.executescript('DROP TABLE CUPTI_ACTIVITY_KIND_KERNEL; DROP TABLE CUPTI_ACTIVITY_KIND_RUNTIME;'
                     'CREATE VIEW CUPTI_ACTIVITY_KIND_KERNEL AS WITH RECURSIVE n(start) AS (SELECT 1 UNION ALL SELECT start + 1 FROM n) SELECT start FROM n;')
    db.commit()
    t.sentence(t.tsdb('import', 'n.sqlite', '-o', 'bad.sbt'), 'has no table of calls, kernels, copies or fills')
    with open(t.path('n.sqlite'), 'r+b') as f:
        f.seek(100)
        f.write(b'\xff' * 4000)
    t.sentence(t.tsdb('import', 'n.sqlite', '-o', 'bad.sbt'), '^tsdb: cannot read')


def xray_head(version, kind, frequency=10 ** 9, size=0):
    return struct.pack('<HHIQQQ', version, kind, 3, frequency, size, 0)


def basic(kind, function, tsc, tid=5, pid=4):
    return struct.pack('<HBBiQIIQ', 0, 0, kind, function, tsc, tid, pid, 0)


def metadata(kind, body=b''):
    return bytes([kind << 1 | 1]) + body.ljust(15, b'\0')


def function(kind, number, delta):
    return struct.pack('<II', number << 4 | kind << 1, delta)


def spans(rows):
    """Ranges as (thread, name, begin, end) out of pushes and pops."""
    open_, out = {}, []
    for c in rows:
        if c['mark_kind'] == 1:
            open_.setdefault(c['thread'], []).append((c['text'], c['host_ns']))
        else:
            out.append((c['thread'],) + open_[c['thread']].pop() + (c['host_ns'],))
    return sorted(out, key=lambda s: (s[2], s[3]))


def xray(t, data, *words):
    with open(t.path('log'), 'wb') as f:
        f.write(data)
    said, rows = imported(t, 'log', *words)
    t.match('has no date', said)
    return said, spans(rows)


def test_xray_basic(t):
    data = xray_head(3, 0, 2 * 10 ** 9) + basic(0, 1, 2000) + basic(3, 2, 3000) + struct.pack('<HHiIIQQ', 1, 0, 2, 5, 4, 42, 0) + basic(0, 1, 3100, 6) + \
        basic(2, 2, 5000) + basic(1, 1, 9000, 6) + basic(1, 1, 10000)
    said, found = xray(t, data)
    t.equal(found, [(1, 'function 1', 1000, 5000), (1, 'function 2', 1500, 2500), (2, 'function 1', 1550, 4500)], 'spans')
    t.equal(json.loads(t.tsdb('info', 'o.sbt', '--json').out)['pid'], 4, 'process')
    # an end without its beginning, a beginning without its end within another, one at the end
    said, found = xray(t, xray_head(1, 0) + basic(1, 9, 5) + basic(0, 1, 10) + basic(0, 2, 20) + basic(1, 1, 30) + basic(0, 3, 40))
    t.equal(found, [(1, 'function 1', 10, 30)], 'what has both')
    t.match('3 ranges or waits are left out', said)


def buffer(version, tid, tsc, *records):
    body = metadata(0, struct.pack('<i', tid)) + metadata(4, struct.pack('<QI', 27343, 397164)) + (metadata(9, struct.pack('<i', 4)) if version >= 3 else b'') + \
        metadata(2, struct.pack('<HQ', 0, tsc)) + b''.join(records)
    return body if version == 1 else metadata(7, struct.pack('<Q', len(body))) + body


def test_xray_flight(t):
    """Buffers of a thread in the wrong order; a counter that wraps; events of which only the size matters."""
    wanted = [(1, 'function 7', 100, 1300), (1, 'function 8', 1105, 1150)]
    for version in (1, 2, 3, 4, 5):
        event = metadata(5, struct.pack('<i', 20) + (struct.pack('<i', 5) if version == 5 else struct.pack('<Q', 0))) + b'\x0f' * 20
        late = buffer(version, 5, 1100, event, function(0, 8, 0 if version == 5 else 5), metadata(6, b'x'), function(1, 8, 45), metadata(3, struct.pack('<Q', 1250)), function(2, 7, 50))
        early = buffer(version, 5, 90, function(3, 7, 10))
        if version == 1:
            late, early = ((b + metadata(1)).ljust(256, b'\xff') for b in (late, early))
        said, found = xray(t, xray_head(version, 1, size=256) + late + (b'' if version == 1 else b'\0\2') + early)
        t.equal(found, wanted, f'version {version}')
        t.equal(said.count('\n'), 2, said)


def test_xray_hostile(t):
    block = buffer(5, 5, 90, function(0, 7, 10), function(1, 7, 10))
    for data, why in ((xray_head(6, 1) + block, 'type 1, version 6'), (xray_head(4, 0), 'type 0, version 4'), (xray_head(5, 1, 0) + block, 'how many cycles'),
                      (xray_head(3, 0) + basic(9, 1, 1), 'unknown type'), (xray_head(3, 0) + basic(0, 1, 1)[:-1], 'ends within a record'),
                      (xray_head(5, 1) + block[:-1], 'ends within a record'), (xray_head(5, 1) + metadata(7, struct.pack('<Q', 7)) + block[16:], 'larger than its buffer'),
                      (xray_head(5, 1) + buffer(5, 5, 90, metadata(5, struct.pack('<i', -1))), 'size that cannot be'),
                      (xray_head(5, 1) + buffer(5, 5, 90, metadata(5, struct.pack('<i', 2 ** 31 - 1))), 'larger than its buffer'),
                      (xray_head(5, 1) + buffer(5, 5, 90, metadata(99)), 'unknown type'), (xray_head(5, 1) + buffer(5, 5, 90, function(6, 1, 1)), 'unknown type'),
                      (xray_head(3, 1) + buffer(3, 5, 90, metadata(1)), 'has no such record')):
        with open(t.path('log'), 'wb') as f:
            f.write(data)
        t.sentence(t.tsdb('import', 'log', '--as', 'xray', '-o', 'bad.sbt'), why)
    said, found = xray(t, xray_head(3, 0, 1) + basic(0, 1, 2 ** 64 - 1) + basic(0, -5, 1) + basic(1, -5, 2))
    t.equal(found, [(1, 'function -5', 10 ** 9, 2 * 10 ** 9)], 'a number below zero')
    t.match('1 row is left out', said)
    for path in ('log', '/bin/true', '/dev/null'):
        t.sentence(t.tsdb('import', 'log', '--map', path, '-o', 'bad.sbt'), 'no program of 64 bits|no map of XRay')


def xray_told(path):
    """{thread of the system: [(function, begin in ns, end in ns)]} of a log as llvm-xray convert has it: what has both."""
    with open(path, encoding='utf-8') as f:
        said = f.read()
    cycles, open_, out = int(re.search(r'cycle-frequency: (\d+)', said)[1]), {}, {}
    for m in re.finditer(r'func-id: (-?\d+), .*thread: (\d+), .*kind: function-(\S+), tsc: (\d+)', said):
        function, tid, at = m[1], int(m[2]), int(m[4])
        here = open_.setdefault(tid, [])
        if m[3] == 'enter':
            here.append((function, at))
            continue
        while here and here[-1][0] != function:  # what threw an exception has no end
            here.pop()
        if here:
            out.setdefault(tid, []).append((f'function {function}', here.pop()[1] * 10 ** 9 // cycles, at * 10 ** 9 // cycles))
    return {tid: sorted(x) for tid, x in out.items()}


def test_xray_real(t):
    """Logs of programs that LLVM 14's runtime wrote, with two threads, recursion, a tail call and an exception, against its own reader."""
    folder = os.path.join(e2e.SRC, 'tests', 'export')
    for name in 'xray-basic', 'xray-fdr':
        shutil.copy(os.path.join(folder, name + '.log'), t.path('log'))
        _, rows = imported(t, 'log')
        tids = {c['thread']: c['os_tid'] for c in (json.loads(x) for x in t.tsdb('view', 'o.sbt', '--json').out.splitlines() if x.startswith('{'))
                if c['kind'] == 'thread'}
        found = {}
        for thread, *span in spans(rows):
            found.setdefault(tids[thread], []).append(tuple(span))
        wanted = xray_told(os.path.join(folder, name + '.yaml'))
        t.equal(len(wanted), 2, 'threads')
        t.equal({tid: sorted(x) for tid, x in found.items()}, wanted, name)


def test_xray_program(t):
    """A program that clang instrumented: every call with its name, and within its caller."""
    clang = shutil.which('clang')
    with open(t.path('x.c'), 'w', encoding='utf-8') as f:
        f.write('#define F __attribute__((noinline, xray_always_instrument))\nF int leaf(int n) { return n + 1; }\n'
                'F int middle(int n) { int s = 0; for (int i = 0; i < n; i++) s += leaf(i); return s; }\nint main(int n, char **v) { return middle(3) != 6; }\n')
    if not clang or subprocess.run([clang, '-fxray-instrument', '-o', t.path('x'), t.path('x.c')], capture_output=True, check=False).returncode:
        raise e2e.Skip('needs clang with the runtime of XRay')
    env = {'XRAY_OPTIONS': 'patch_premain=true xray_mode=xray-basic xray_logfile_base=' + t.path('made.'), 'XRAY_BASIC_OPTIONS': 'func_duration_threshold_us=0'}
    subprocess.run([t.path('x')], env=env, cwd=t.path('.'), capture_output=True, check=True)
    name = subprocess.run(['sh', '-c', 'ls made.*'], cwd=t.path('.'), capture_output=True, check=True, text=True).stdout.strip()
    _, rows = imported(t, name, '--map', 'x')
    found = spans(rows)
    t.equal([s[1] for s in found], ['middle', 'leaf', 'leaf', 'leaf'], 'calls')
    t.check(all(found[0][2] <= s[2] <= s[3] <= found[0][3] for s in found), 'leaf is within middle')


def test_import_words(t):
    write(t, [])
    with open(t.path('else'), 'w', encoding='utf-8') as f:
        f.write('hello')
    for words, why in (((), 'needs a file'), (('p.json', 'q'), 'takes one file'), (('p.json', '--as', 'x'), 'no format "x"'), (('p.json', '-o'), '-o needs a value'),
                       (('p.json', '--pid', '0'), '"0" is no process'), (('p.json', '-z'), 'no option -z'), (('else',), 'no profile that tsdb knows'), (('gone.json',), 'cannot open'),
                       (('/dev/null',), 'no profile')):
        t.sentence(t.tsdb('import', *words), why)
