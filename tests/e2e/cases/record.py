# SPDX-License-Identifier: Apache-2.0
"""tsdb record, view and info: what the program did is what the trace says."""
import collections
import json
import os
import random
import signal
import subprocess
import time

from e2e import program, tsdb_path


def commands(t, trace='t.sbt', *options):
    r = t.tsdb('view', '--json', *options, trace)
    t.equal(r.status, 0, 'view')
    return [json.loads(line) for line in r.out.splitlines()]


def kinds(cmds):
    return collections.Counter(c['kind'] for c in cmds)


def processes_with(word):
    """Command lines of processes that have word among their arguments."""
    found = []
    for p in filter(str.isdigit, os.listdir('/proc')):
        try:
            with open(f'/proc/{p}/cmdline', 'rb') as f:
                argv = f.read().split(b'\0')
        except OSError:
            continue
        if word.encode() in argv:
            found.append(argv)
    return found


def test_vecadd(t):
    t.equal(t.record('vecadd').status, 0, 'record')
    c = commands(t)
    k = kinds(c)
    t.check(k['launch'] >= 1, 'a launch')
    t.check(k['alloc'] >= 3, 'three allocations')
    t.check(k['copy'] >= 3, 'two copies in, one out')
    t.equal([x['seq'] for x in c], sorted(x['seq'] for x in c), 'order of seq')
    launch = next(x for x in c if x['kind'] == 'launch')
    t.check(launch['stack'], 'the launch has a host stack')


def test_info_names_the_device(t):
    t.equal(t.record('pipeline').status, 0, 'record')
    info = json.loads(t.tsdb('info', '--json', 't.sbt').out)
    t.check(info['gpu'], 'the name of the device')
    t.check(info['driver_version'] >= 12000, 'the driver')


def test_every_launch_is_there(t):
    t.equal(t.record('tiny_launches', '5000').status, 0, 'record')
    c = commands(t)
    t.equal(kinds(c)['launch'], 5000, 'launches')
    info = json.loads(t.tsdb('info', '--json', 't.sbt').out)
    t.equal(info['lost'], 0, 'lost records')


def test_many_threads(t):
    t.equal(t.record('threads').status, 0, 'record')
    c = commands(t)
    launches = [x for x in c if x['kind'] == 'launch']
    threads = {x['thread'] for x in launches}
    t.check(len(threads) >= 8, f'launches from {len(threads)} threads')
    t.equal([x['seq'] for x in c], sorted({x['seq'] for x in c}), 'order over all threads, no seq twice')


def test_more_threads_than_a_block_of_rings(t):
    """300 threads at once, and 300 more one after the other, whose rings are used again."""
    r = t.record('many_threads', 300, 100, options=('--memory', 'none'))
    t.equal((r.status, r.out), (0, 'many_threads: counted 30300\n'), 'the program')
    t.check('lost' not in r.err, f'nothing is lost: {r.err}')
    c = commands(t)
    t.equal(kinds(c)['launch'], 30300, 'launches')
    t.equal(json.loads(t.tsdb('info', '--json', 't.sbt').out)['lost'], 0, 'lost records')


def test_bytes_per_launch(t):
    """24 bytes is the promise (stacks and arguments included); a size is no time, so it may be a test."""
    n = 20000
    t.equal(t.record('tiny_launches', str(n)).status, 0, 'record')
    size = os.path.getsize(t.path('t.sbt'))
    t.check(size <= 24 * n + 64 * 1024, f'{size} bytes for {n} launches')


def test_exit_while_a_kernel_is_compiled(t):
    """The software GPU compiles hot kernels on a thread of its own: a program may end at any moment of that."""
    for n in range(3000, 45000, 2100):
        t.equal(t.record('tiny_launches', str(n)).status, 0, f'record of {n} launches')


def test_timestamps(t):
    t.equal(t.record('vecadd', options=['--timestamps']).status, 0, 'record')
    for c in commands(t):
        if c['kind'] == 'launch':
            t.check(c['gpu_end_ns'] >= c['gpu_start_ns'] > 0, 'GPU times of a launch')


def test_view_filters(t):
    t.equal(t.record('pipeline').status, 0, 'record')
    everything = commands(t)
    streams = {c['stream'] for c in everything if c['kind'] == 'launch'}
    t.check(len(streams) >= 2, 'two streams')
    for s in streams:
        part = commands(t, 't.sbt', '--stream', str(s))
        t.equal([c['seq'] for c in part if c['kind'] == 'launch'],
                [c['seq'] for c in everything if c['kind'] == 'launch' and c['stream'] == s], f'launches of stream {s}')
    t.equal(commands(t, 't.sbt', '--kernel', 'no_such_kernel_*'), [], 'no such kernel')


def test_failing_calls_are_recorded(t):
    t.equal(t.record('failing_calls').status, 0, 'record')
    t.check(any(c['result'] for c in commands(t)), 'a call that failed')


def test_crash_leaves_a_readable_trace(t):
    t.record('crash_segv')
    t.check(kinds(commands(t))['launch'] > 0, 'launches before the crash')


def test_sigkill_of_the_program_loses_nothing_published(t):
    t.record('kill_self')
    t.check(kinds(commands(t))['launch'] > 0, 'launches before the kill')


def test_tsdb_killed_at_random_points(t):
    """tsdb dies: so does the inferior (EXITKILL), and the trace can be read as far as it goes."""
    rng = random.Random(int(os.environ.get('E2E_SEED', '1')))
    for i in range(5):
        out = t.path(f'k{i}.sbt')
        p = subprocess.Popen([tsdb_path(), 'record', '--gpu', t.gpu, '-o', out, '--', program('long_running'), '30', out],
                             env=t.environment(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
        time.sleep(0.3 + rng.random())
        p.send_signal(signal.SIGKILL)
        p.wait()
        end = time.monotonic() + 60
        while (left := processes_with(out)) and time.monotonic() < end:
            time.sleep(0.05)
        t.equal(left, [], 'processes left behind')
        if os.path.exists(out) and os.path.getsize(out):
            r = t.tsdb('view', '--json', out)
            t.check(r.status in (0, 1), f'view of what a killed tsdb left: {r.status}')
            for line in r.out.splitlines():
                json.loads(line)


def test_output_name_by_default(t):
    r = t.tsdb('record', '--gpu', t.gpu, '--', program('vecadd'))
    t.equal(r.status, 0, 'record')
    t.check(os.path.exists(t.path('vecadd.sbt')), 'vecadd.sbt')


def test_view_into_a_closed_pipe(t):
    t.record('tiny_launches', '20000')
    r = t.run(['sh', '-c', f'{tsdb_path()} view t.sbt | head -n 1'])
    t.equal(r.status, 0, 'head')
    t.equal(r.err, '', 'stderr')


def test_code_that_a_question_loaded_is_known(t):
    t.equal(t.record('asks_first').status, 0, 'record')
    c = commands(t)
    kernels = [k for k in c if k['kind'] == 'kernel_def']
    t.equal([k['kernel_name'].count('count') for k in kernels], [1], 'kernels')
    t.check(int(str(kernels[0]['code_hash']), 0) != 0, 'the code of the kernel is not known')
