# SPDX-License-Identifier: Apache-2.0
"""Child processes, ranks and names: one trace per process that uses the GPU."""
import glob
import json
import os
import re
import random
import signal
import subprocess
import sys
import time

from e2e import Skip, program, tsdb_path

# A process that uses the driver by itself, through ctypes: fills 1000 bytes with 7 and reads them back.
GPU = '''
import ctypes, sys
def use():
    cu = ctypes.CDLL('libcuda.so.1')
    ctx, p, out = ctypes.c_void_p(), ctypes.c_uint64(), (ctypes.c_ubyte * 1000)()
    for r in (cu.cuInit(0), cu.cuDevicePrimaryCtxRetain(ctypes.byref(ctx), 0), cu.cuCtxSetCurrent(ctx),
              cu.cuMemAlloc_v2(ctypes.byref(p), ctypes.c_size_t(1000)), cu.cuMemsetD8_v2(p, ctypes.c_ubyte(7), ctypes.c_size_t(1000)),
              cu.cuMemcpyDtoH_v2(out, p, ctypes.c_size_t(1000))):
        if r:
            sys.exit('CUDA error %d' % r)
    assert bytes(out) == b'\\x07' * 1000
'''


def traces(t, pattern='*.sbt'):
    return sorted(os.path.basename(p) for p in glob.glob(t.path(pattern)))


def info(t, name):
    r = t.tsdb('info', '--json', name)
    t.equal(r.status, 0, 'info')
    return json.loads(r.out)


def children(t, *argv, out='k.sbt', status=0, **kw):
    r = t.tsdb('record', '--gpu', t.gpu, '--children', '-o', out, '--', *argv, **kw)
    t.equal(r.status, status, 'exit status')
    return r


def script(t, name, text):
    with open(t.path(name), 'w', encoding='utf-8') as f:
        f.write(text)
    return t.path(name)


def test_shell_starts_two(t):
    r = children(t, 'sh', '-c', f'{program("vecadd")} & RANK=3 WORLD_SIZE=8 {program("matmul")} 64; wait', out='k.%n.%r.sbt')
    t.match(r'^\[3 processes, 2 used the GPU:$', r.err)
    names = traces(t)
    t.equal(len(names), 2, 'traces')
    t.check('k.matmul.3.sbt' in names, 'the rank in the name')
    i = info(t, 'k.matmul.3.sbt')
    t.equal((i['rank'], i['ranks']), (3, 8), 'rank')
    for n in names:
        t.equal(t.tsdb('replay', n).status, 0, 'replay')
    t.match(r'^rank +3 of 8$', t.tsdb('info', 'k.matmul.3.sbt').out)


def test_name_without_places_gets_the_process(t):
    r = children(t, 'sh', '-c', f'{program("vecadd")}; {program("vecadd")}; true')
    names = traces(t)
    t.equal(len(names), 2, 'traces')
    for n in names:
        pid = int(n.split('.')[1])
        t.equal(info(t, n)['pid'], pid, 'process')
        t.match(rf'{n}: process {pid}, {info(t, n)["commands"]} commands', r.err)
    t.match(rf'^  {sum(info(t, n)["commands"] for n in names)} commands in all\]$', r.err)


def test_the_program_itself_keeps_its_name(t):
    children(t, program('vecadd'))
    t.equal(traces(t), ['k.sbt'], 'traces')


def test_wrapper_that_execs(t):
    children(t, 'sh', '-c', f'exec env A=1 {program("vecadd")}', out='k.%n.sbt')
    t.equal(len(traces(t)), 1, 'traces')


def multiprocess(t, method):
    prog = script(t, 'm.py', GPU + f'''
import multiprocessing
if __name__ == '__main__':
    c = multiprocessing.get_context('{method}')
    ps = [c.Process(target=use) for i in range(3)]
    [p.start() for p in ps]
    [p.join() for p in ps]
    sys.exit(any(p.exitcode for p in ps))
''')
    r = children(t, sys.executable, prog)
    names = traces(t)
    t.equal(len(names), 3, 'traces')
    t.match(r'3 used the GPU', r.err)
    for n in names:
        out = t.tsdb('view', '--json', n).out.splitlines()
        t.equal(sum(json.loads(line)['kind'] == 'fill' for line in out), 1, 'fills')


def test_multiprocessing_fork(t):
    multiprocess(t, 'fork')


def test_multiprocessing_spawn(t):
    multiprocess(t, 'spawn')


def test_multiprocessing_forkserver(t):
    multiprocess(t, 'forkserver')


def test_parent_and_children_use_the_gpu(t):
    prog = script(t, 'm.py', GPU + '''
import os, subprocess
if len(sys.argv) < 2:
    use()
    ps = [subprocess.Popen([sys.executable, __file__, 'child']) for i in range(2)]
    if any(p.wait() for p in ps):
        sys.exit('a child failed')
use()
''')
    children(t, sys.executable, prog)
    names = traces(t)
    t.equal(len(names), 3, 'traces')
    t.check('k.sbt' in names, "the program's own")


def test_child_forked_after_cuda_is_left_alone(t):
    prog = script(t, 'm.py', GPU + '''
import os
use()
pid = os.fork()
if not pid:
    os._exit(5)
_, st = os.waitpid(pid, 0)
sys.exit(os.waitstatus_to_exitcode(st) != 5)
''')
    children(t, sys.executable, prog)
    t.equal(traces(t), ['k.sbt'], 'traces')


def test_status_is_the_programs(t):
    children(t, 'sh', '-c', f'{program("vecadd")}; exit 7', status=7)


def test_no_process_used_the_gpu(t):
    r = children(t, 'sh', '-c', 'true; true')
    t.match(r'^\[\d+ process(es)?, 0 used the GPU\]$', r.err)
    t.equal(traces(t), [], 'traces')


def test_many_short_lived(t):
    t0 = time.monotonic()
    r = children(t, 'sh', '-c', 'i=0; while [ $i -lt 300 ]; do sh -c true; i=$((i+1)); done')
    t.match(r'^\[301 processes, 0 used the GPU\]$', r.err)
    t.check(time.monotonic() - t0 < 60, '300 children in a minute')


def test_children_that_die_at_once(t):
    children(t, sys.executable, '-c', '''
import os, signal
for i in range(50):
    p = os.fork()
    if not p:
        os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(p, 0)
''')


def test_all_at_once(t):
    r = children(t, 'sh', '-c', 'for i in 1 2 3 4 5 6 7 8; do %s & done; wait' % program('vecadd'))
    t.equal(len(traces(t)), 8, 'traces')
    t.match(r'8 used the GPU', r.err)


def test_outlives_the_program(t):
    r = children(t, 'sh', '-c', f'(setsid sh -c "sleep 0.3; {program("vecadd")}" &); true')
    t.match(r'1 used the GPU', r.err)
    t.equal(len(traces(t)), 1, 'traces')


def test_few_descriptors(t):
    r = t.run(['sh', '-c', f'ulimit -n 40; exec {tsdb_path()} record --gpu {t.gpu} --children -o k.sbt sh -c '
               '"i=0; while [ \\$i -lt 60 ]; do sleep 1000 & all=\\"\\$all \\$!\\"; i=\\$((i+1)); done; kill \\$all; wait"'])
    t.equal(r.status, 0, 'status')
    t.match(r'processes were not followed: too many at once; raise `ulimit -n`', r.err)


def of_its_own():
    """A time to sleep for that no other test has, so that its processes can be found by it."""
    return f'7654.{random.randrange(10**8):08}'


def test_detach_lets_children_go(t):
    seconds = of_its_own()
    prog = t.executable('w.sh', f'#!/bin/sh\nsleep {seconds} &\n{program("vecadd")}\nexec {program("long_running")} 3600 {seconds}\n')
    # Who goes on keeps what tsdb writes to open: no pipe, which would not end.
    r = t.run(['sh', '-c', f'exec {tsdb_path()} --gpu {t.gpu} --batch -ex "set follow children on" -ex start -ex detach {prog} >out.txt 2>&1'])
    try:
        with open(t.path('out.txt'), encoding='utf-8') as f:
            t.match(r'^\[process \d+ goes on without tsdb\]$', f.read())
        t.equal(r.status, 0, 'exit status')
        t.equal(alive(seconds), 2, 'the program and its child go on')
    finally:
        for p in filter(str.isdigit, os.listdir('/proc')):
            try:
                with open(f'/proc/{p}/cmdline', 'rb') as f:
                    words = f.read().split(b'\0')
                if seconds.encode() in words:
                    os.kill(int(p), signal.SIGKILL)
            except OSError:
                pass


def test_attached_has_no_children(t):
    t.sentence(t.tsdb('record', '--children', '-p', '1'), 'children of a process that runs already are not followed')


def alive(word):
    n = 0
    for p in filter(str.isdigit, os.listdir('/proc')):
        try:
            with open(f'/proc/{p}/cmdline', 'rb') as f:
                n += word.encode() in f.read().split(b'\0')
        except OSError:
            pass
    return n


def test_daemon_is_ended_by_ctrl_c(t):
    seconds = of_its_own()
    p = subprocess.Popen([tsdb_path(), 'record', '--gpu', t.gpu, '--children', '-o', t.path('k.sbt'), '--', 'sh', '-c',
                          f'setsid sleep {seconds} & {program("vecadd")}'], cwd=t.dir, env=t.environment(), stdin=subprocess.DEVNULL,
                         stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, start_new_session=True)
    line = ''
    while 'go' not in line:
        line = p.stderr.readline()
        t.check(line, 'it says that a process goes on')
    p.send_signal(signal.SIGINT)
    _, err = p.communicate(timeout=90)
    t.match(r'1 used the GPU', err)
    t.equal(alive(seconds), 0, 'daemons')
    t.equal(len(traces(t)), 1, 'traces')


def test_tsdb_killed_leaves_nothing(t):
    seconds = of_its_own()
    p = subprocess.Popen([tsdb_path(), 'record', '--gpu', t.gpu, '--children', '-o', t.path('k.sbt'), '--', 'sh', '-c',
                          f'sleep {seconds} & sleep {seconds} & wait'], cwd=t.dir, env=t.environment(), stdin=subprocess.DEVNULL,
                         stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
    for _ in range(1800):
        if alive(seconds) == 2:
            break
        time.sleep(0.05)
    p.kill()
    p.wait()
    for _ in range(1800):
        if not alive(seconds):
            return
        time.sleep(0.05)
    t.check(False, 'the children are gone')


def test_rank_inside_mpirun(t):
    r = t.tsdb('record', '--gpu', t.gpu, '-o', 'run.%r.%p.sbt', program('vecadd'), env={'OMPI_COMM_WORLD_RANK': '2', 'OMPI_COMM_WORLD_SIZE': '4'})
    t.equal(r.status, 0, 'record')
    names = traces(t)
    t.equal(len(names), 1, 'traces')
    i = info(t, names[0])
    t.equal(names[0], f'run.2.{i["pid"]}.sbt', 'name')
    t.equal((i['rank'], i['ranks']), (2, 4), 'rank')


def test_bad_pattern(t):
    t.sentence(t.tsdb('record', '-o', 'a.%q.sbt', program('vecadd')), r'"%q" in the file name a\.%q\.sbt means nothing')


def test_shell_follows(t):
    prog = t.executable('w.sh', f'#!/bin/sh\n{program("vecadd")}\n{program("matmul")} 64\n')
    r = t.tsdb('--gpu', t.gpu, '--batch', '-ex', 'set follow children on', '-ex', 'capture start k.sbt', '-ex', 'run', '-ex', 'info inferiors', prog)
    t.equal(r.status, 0, 'status')
    t.equal(len(traces(t)), 2, 'traces')
    t.match(r'^3 processes in all, 0 of the children run\.$', r.out)


def test_mpirun(t):
    if not any(os.access(os.path.join(d, 'mpirun'), os.X_OK) for d in os.environ['PATH'].split(':')):
        raise Skip('no mpirun')
    env = {'OMPI_ALLOW_RUN_AS_ROOT': '1', 'OMPI_ALLOW_RUN_AS_ROOT_CONFIRM': '1'}
    children(t, 'mpirun', '--oversubscribe', '-n', '4', program('vecadd'), out='a.%r.sbt', env=env)
    t.equal(traces(t, 'a.*'), [f'a.{i}.sbt' for i in range(4)], 'traces')
    r = t.run(['mpirun', '--oversubscribe', '-n', '4', tsdb_path(), 'record', '--gpu', t.gpu, '-o', 'b.%r.sbt', program('vecadd')], env=env)
    t.equal(r.status, 0, 'mpirun')
    t.equal(traces(t, 'b.*'), [f'b.{i}.sbt' for i in range(4)], 'traces')
    t.equal(info(t, 'b.3.sbt')['ranks'], 4, 'ranks')


# -- several GPUs in one process

def two_devices(t, *args, **kw):
    """Records the program on two devices; skipped where there is one."""
    r = t.record('two_devices', *args, env={'TSDB_SOFT_DEVICES': '2'}, **kw)
    if r.status == 77:
        raise Skip('one device only')
    t.equal(r.status, 0, 'record')
    t.match(r'^two_devices: ok$', r.out)
    return r


def test_two_devices_replay(t):
    r = two_devices(t, '5')
    t.no_match('not replayable', r.err)
    r = t.tsdb('replay', '--json', 't.sbt')
    t.equal(r.status, 0, 'replay')
    w = json.loads(r.out)['windows'][0]
    t.check(w['verified'] and w['allocations'] == w['identical'] >= 8 and w['outputs'] == w['outputs_identical'] == 3, 'all is identical')
    t.equal(w['notes'], [], 'notes')


def test_two_devices_back_and_forth(t):
    two_devices(t, '4')
    r = t.tsdb('--batch', 't.sbt', '-ex', 'replay start', '-ex', 'replay step 60', '-ex', 'replay reverse-step 25', '-ex', 'replay step 3',
               '-ex', 'replay reverse-step 9', '-ex', 'replay continue', '-ex', 'replay verify')
    t.equal(r.status, 0, 'status')
    m = t.match(r'^(\d+) of (\d+) allocations identical, (\d+) of (\d+) outputs', r.out)
    t.check(m[1] == m[2] and m[3] == m[4], 'identical')


def test_two_devices_window(t):
    r = t.run([tsdb_path(), '--gpu', t.gpu, '--batch', '-ex', 'capture window kernel add count 2', '-ex', 'run', '-ex', 'continue', '--args',
               program('two_devices'), '6'], env={'TSDB_SOFT_DEVICES': '2'})
    if 'one device only' in r.out:
        raise Skip('one device only')
    name = t.match(r'-> (\S+sbt),', r.out)[1]
    t.equal(t.tsdb('replay', name).status, 0, 'replay')


def test_two_devices_large_uploads(t):
    """What reads large payloads ahead serves streams of both devices."""
    r = t.record('two_uploads', '4', env={'TSDB_SOFT_DEVICES': '2'})
    if r.status == 77:
        raise Skip('one device only')
    t.equal(r.status, 0, 'record')
    for slots in {}, {'TSDB_REPLAYER_SLOTS': '2'}:
        t.equal(t.tsdb('replay', 't.sbt', env=slots).status, 0, 'replay')


def test_state_show_device(t):
    two_devices(t)
    for d in 0, 1:
        r = t.tsdb('--batch', '-ex', f'state show device {d} --json', 't.sbt')
        t.equal(r.status, 0, 'status')
        s = json.loads(r.out[r.out.index('{'):])
        t.equal([x['device'] for x in s['device_list']], [d], 'devices')
        t.equal({x['device'] for x in s['context_list']}, {d}, 'contexts')
        t.equal({x['device'] for x in s['allocation_list']}, {d}, 'allocations')
        ctx = {x['id'] for x in s['context_list']}
        t.check(len(s['stream_list']) >= 3 and {x['ctx'] for x in s['stream_list']} <= ctx, 'streams')
    t.match(r'^Streams$', t.tsdb('--batch', '-ex', 'state show device 1', 't.sbt').out)
    for view in 'devices', 'contexts', 'streams', 'modules', 'kernels', 'memory':
        # on a terminal, of 80 columns: elsewhere tables are as wide as they are
        r = t.run(['script', '-qec', f"{tsdb_path()} --batch -ex 'state show {view}' t.sbt", '/dev/null'])
        t.equal(r.status, 0, view)
        wide = [x for x in r.out.splitlines() if len(x) > 80]
        t.equal(wide, [], f'{view}: lines that do not fit a screen')
    t.sentence(t.tsdb('--batch', '-ex', 'state show device 7', 't.sbt'), 'the program saw no device 7')


def test_too_few_devices(t):
    t.need_soft()
    two_devices(t)
    t.sentence(t.tsdb('replay', 't.sbt', env={'TSDB_REPLAYER_DEVICES': '1'}),
               r'the window uses 2 GPUs \(devices 0 and 1 of the recording\); this machine shows 1')


def test_what_one_device_only_can(t):
    t.need_soft()
    two_devices(t)
    t.sentence(t.tsdb('check', 't.sbt', '2'), 'a check of launches is done in windows of one GPU only')


# -- merge

def two_ranks(t, *options):
    r = t.tsdb('record', '--gpu', t.gpu, '--timestamps', *options, '--children', '-o', 'run.%r.sbt', '--', 'sh', '-c',
               f'RANK=0 WORLD_SIZE=2 {program("reduce")} & RANK=1 WORLD_SIZE=2 {program("reduce")}; wait')
    t.equal(r.status, 0, 'record')
    t.equal(traces(t), ['run.0.sbt', 'run.1.sbt'], 'traces')


def test_merge(t):
    two_ranks(t)
    r = t.tsdb('merge', '-o', 'all.sbt', 'run.1.sbt', 'run.0.sbt')
    t.equal(r.status, 0, 'merge')
    t.match(r'^rank 0 on \S+, run\.0\.sbt, \d+ commands: the reference$', r.out)
    t.match(r'^rank 1 on .*the same host as the first', r.out)
    t.match(r'^all\.sbt: 2 ranks$', r.out)
    own = [[json.loads(x) for x in t.tsdb('view', '--json', f'run.{i}.sbt').out.splitlines()] for i in (0, 1)]
    both = [json.loads(x) for x in t.tsdb('view', '--json', 'all.sbt').out.splitlines()]
    t.equal(len(both), len(own[0]) + len(own[1]), 'commands')
    t.equal([c['time_ns'] for c in both], sorted(c['time_ns'] for c in both), 'one timeline')
    for i in 0, 1:
        t.equal([c['seq'] for c in both if c['rank'] == i], [c['seq'] for c in own[i]], f'order of rank {i}')
    t.equal({c['host'] for c in both}, {os.uname().nodename}, 'hosts')
    one = [json.loads(x) for x in t.tsdb('view', '--json', '--rank', '1', 'all.sbt').out.splitlines()]
    t.equal([c['seq'] for c in one], [c['seq'] for c in own[1]], 'rank 1 alone')
    launches = t.tsdb('view', '--kind', 'launch', 'all.sbt').out.splitlines()
    t.match(r'^ +Time  Rank  Host +Command$', launches[0])
    t.equal(len(launches) - 1, sum(c['kind'] == 'launch' for c in both), 'launches')
    t.match(r'^ *\+\d+\.\d{6} ms +[01]  \S+ +#\d+ ', launches[1])
    t.equal([x['rank'] for x in json.loads(t.tsdb('info', '--json', 'all.sbt').out)['rank_list']], [0, 1], 'info')


def test_merge_by_meetings(t):
    two_ranks(t)
    r = t.tsdb('merge', '-o', 'all.sbt', '--match', '*', 'run.0.sbt', 'run.1.sbt')
    t.equal(r.status, 0, 'merge')
    t.match(r'^rank 1 .* \d+ meetings, ends [+-]\d+\.\d us apart to \d+\.\d us, drift [+-]0\.000 ppm; the same host', r.out)


def test_set_in_the_shell(t):
    two_ranks(t)
    t.equal(t.tsdb('merge', '-o', 'all.sbt', 'run.0.sbt', 'run.1.sbt').status, 0, 'merge')
    r = t.tsdb('--batch', 'all.sbt', '-ex', 'info ranks', '-ex', 'rank', '-ex', 'rank 1', '-ex', 'replay start', '-ex', 'replay continue',
               '-ex', 'replay verify', '-ex', 'view --rank all --kind launch', '-ex', 'state show streams at +1000ms')
    t.equal(r.status, 0, 'status')
    t.match(r'^Rank 0 on \S+: run\.0\.sbt$', r.out)
    t.match(r'^Rank 1 on \S+: run\.1\.sbt$', r.out)
    t.match(r'allocations identical', r.out)
    t.sentence(t.tsdb('--batch', 'all.sbt', '-ex', 'rank 2'), 'the set has no rank 2')


def test_sets_are_not_replayed(t):
    two_ranks(t)
    t.equal(t.tsdb('merge', '-o', 'all.sbt', 'run.0.sbt', 'run.1.sbt').status, 0, 'merge')
    for tool in ['replay'], ['check'], ['races'], ['extract', '--kernel', '*', '-o', 'x']:
        t.sentence(t.tsdb(*tool, 'all.sbt'), 'all.sbt is a set of traces: its ranks are replayed and looked at one at a time')
    t.equal(t.tsdb('replay', 'run.1.sbt').status, 0, 'one rank')


def test_merge_refuses(t):
    two_ranks(t)
    t.sentence(t.tsdb('merge', 'run.0.sbt'), 'merge needs a file to write')
    t.sentence(t.tsdb('merge', '-o', 'all.sbt'), 'merge needs traces')
    t.sentence(t.tsdb('merge', '-o', 'run.0.sbt', 'run.1.sbt'), 'run.0.sbt is there and is no set of traces; it is not overwritten')
    t.equal(t.tsdb('merge', '-o', 'all.sbt', 'run.0.sbt', 'run.1.sbt').status, 0, 'merge')
    t.sentence(t.tsdb('merge', '-o', 'more.sbt', 'all.sbt', 'run.1.sbt'), 'all.sbt is a set already')
    t.sentence(t.tsdb('view', 'all.sbt', '1-5'), 'a range is one rank')
    t.sentence(t.tsdb('view', 'run.0.sbt', '--rank', '0'), "is one rank's trace, not a set")
    two = t.tsdb('merge', '-o', 'same.sbt', 'run.0.sbt', 'run.0.sbt')
    t.match('numbered as they were given', two.err)
    t.equal(t.record('vecadd', out='run.1.sbt').status, 0, 'record')
    t.sentence(t.tsdb('view', 'all.sbt'), r'run\.1\.sbt is another trace than the one that was merged')


def test_clocks_of_devices(t):
    for _ in range(5):  # a busy machine holds the threads that read clocks up: then it is said that they do not fit
        two_devices(t, '20', options=['--timestamps'])
        out = t.tsdb('info', '--clocks', 't.sbt').out
        if 'not a steady distance' not in out:
            break
    for d in 0, 1:
        m = t.match(rf"^clock +device {d}, (\d+) times: the host's, between (\d+\.\d) us before and (\d+\.\d) us behind", out)
        t.check(int(m[1]) >= 20, 'times')
        clock = json.loads(t.tsdb('info', '--clocks', '--json', 't.sbt').out)['clocks'][d]
        t.equal((clock['device'], clock['times'], clock['distance']), (d, int(m[1]), 'same'), 'JSON')
        t.equal((f'{max(-clock["low_ns"], 0) / 1e3:.1f}', f'{max(clock["high_ns"], 0) / 1e3:.1f}'), (m[2], m[3]), 'bounds')
    t.check('clocks' not in json.loads(t.tsdb('info', '--json', 't.sbt').out), 'only when asked')
    two_devices(t, '2')
    t.equal(json.loads(t.tsdb('info', '--clocks', '--json', 't.sbt').out)['clocks'], [], 'no times')
    t.match(r'^clock +no GPU times were recorded', t.tsdb('info', '--clocks', 't.sbt').out)


# -- memory of other processes

def test_ranks_that_wait_for_each_other_inside_kernels(t):
    """Recorded while both go on; each rank's trace replays alone: what the collective kernel left in memory is recorded. Calls of another thread that only give
    out handles are no work that cannot be told apart from it."""
    r = children(t, program('collective'))
    t.equal(sorted(r.out.splitlines()), ['collective: rank 0 ok', 'collective: rank 1 ok'], 'both ranks')
    names = traces(t)
    t.equal(len(names), 2, 'traces')
    for n in names:
        r = t.tsdb('replay', '--verify', n)
        t.equal(r.status, 0, f'replay of {n}')
        t.equal(len(re.findall(r'ncclDevKernel_AllReduce_Sum\S*: communicates with other GPUs; its recorded effect on memory is applied', r.out)), 3, 'collectives')
        t.match(r'^(\d+) of \1 allocations identical, (\d+) of \2 outputs identical$', r.out)


def test_ipc_memory(t):
    r = children(t, program('ipc'))
    t.match(r'^ipc: ok$', r.out)
    names = traces(t)
    t.equal(len(names), 2, 'traces')
    t.no_match('not replayable', r.err)
    for n in names:
        cmds = [json.loads(x) for x in t.tsdb('view', '--json', n).out.splitlines()]
        opened = [c for c in cmds if c['kind'] == 'alloc' and c['mem'] == 'ipc']
        closed = [c for c in cmds if c['kind'] == 'free' and c['mem'] == 'ipc']
        t.equal([c['size'] for c in opened], [] if n == 'k.sbt' else [20000], 'memory of another process')
        t.equal(len(closed), len(opened), 'closed')
        r = t.tsdb('replay', n)
        t.equal(r.status, 0, f'replay of {n}')
        t.match(r'outputs identical$', r.out)
