# SPDX-License-Identifier: Apache-2.0
"""tsdb observe: what it sees from outside is what the agent records from inside; where BPF is not permitted it says so and nothing else breaks."""
import collections
import json
import os
import re
import select
import shutil
import signal
import subprocess
import sys
import time

from e2e import BUILD, Failure, Skip, program, tsdb_path

SLOW = float(os.environ.get('E2E_SLOW', '1'))  # in an emulator all takes longer
SOFT = next((d for d in (os.path.join(BUILD, 'softgpu'), os.path.join(BUILD, 'lib', 'tsdb', 'softgpu')) if os.path.exists(d)), BUILD)


def permitted(t):
    """Skips where this machine, or this build, cannot observe. test_refusal covers the rest."""
    if not os.path.exists(os.path.join(SOFT, 'libcuda.so.1')):
        raise Skip('no software GPU')
    r = t.tsdb('observe', '--gpu', 'soft', '-q', '--', '/bin/true')
    m = re.search(r'(cannot observe: .*?\.|built without observe)', r.err)
    if r.status and m:
        raise Skip(m[1])
    t.equal(r.status, 0, 'observing /bin/true')


def commands(t, trace):
    r = t.tsdb('view', '--json', trace)
    t.equal(r.status, 0, 'view')
    return [json.loads(line) for line in r.out.splitlines()]


def observe(t, prog, *args, out='o.sbt', options=(), **kw):
    return t.tsdb('observe', '--gpu', t.gpu, '-o', out, *options, '--', program(prog), *args, **kw)


def start(t, *argv, **kw):
    env = t.environment({'LD_LIBRARY_PATH': SOFT} if t.gpu == 'soft' else None)
    return subprocess.Popen([str(a) for a in argv], cwd=t.dir, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **kw)


def until(condition, what, seconds=90):
    end = time.monotonic() + seconds * SLOW
    while not condition():
        if time.monotonic() > end:
            raise Failure(f'{what}: not within {seconds * SLOW:g} s')
        time.sleep(0.05)


def info_now(t, trace):
    """Of a trace that is being written, perhaps."""
    r = t.tsdb('info', '--json', trace)
    t.log.pop()
    return json.loads(r.out or '{}')


def has_commands(t, trace, n=10):
    return info_now(t, trace).get('commands', 0) > n


def watch(t, p, enough, *options):
    """The lines of figures about a process, until one is enough, and the last one."""
    o = start(t, tsdb_path(), 'observe', '--json', '--interval', '300ms', *options, p.pid)
    lines = []
    try:
        end = time.monotonic() + 90 * SLOW
        while not (lines and enough(lines)):
            line = o.stdout.readline()
            if not line or time.monotonic() > end:
                raise Failure(f'not enough was seen: {lines[-1:]} {o.stderr.read() if not line else ""}')
            lines.append(json.loads(line))
        o.send_signal(signal.SIGINT)
        out, err = o.communicate(timeout=60 * SLOW)
        t.equal(o.returncode, 0, f'exit status: {err}')
        return lines + [json.loads(x) for x in out.splitlines()]
    finally:
        if o.poll() is None:
            o.kill()
            o.communicate()


# What must be the same, seen from outside and from inside. Ids and addresses are each one's own; failed calls differ: an observer sees only
# the call, so programs without failing calls are compared.
FIELDS = {
    'launch': ['stream', 'grid_x', 'grid_y', 'grid_z', 'block_x', 'block_y', 'block_z', 'shared', 'cooperative', 'cluster_x', 'cluster_y', 'cluster_z'],
    'copy': ['stream', 'size', 'async', 'width', 'height', 'depth', 'dst_pitch', 'src_pitch'],
    'fill': ['stream', 'size', 'value', 'elem', 'async', 'width', 'height'],
    'alloc': ['size', 'mem', 'pitch'],
    'free': ['mem'],
    'event_record': ['stream', 'event'],
    'stream_wait': ['stream', 'event'],
    'sync': ['scope', 'stream', 'event'],
    'graph_launch': ['stream'],
    'capture_begin': ['stream', 'mode'],
    'host_func': ['stream'],
}


def essence(cmds):
    names = {c['new_kernel']: c['kernel_name'] for c in cmds if c['kind'] == 'kernel_def'}
    found = []
    for c in cmds:
        if c['kind'] in FIELDS and not c.get('result'):
            row = tuple(c.get(f) for f in FIELDS[c['kind']])
            found.append((c['kind'], bool(c['flags'] & 2), names.get(c.get('kernel')) if c['kind'] == 'launch' else None) + row)
    return found


def compare(t, prog, *args, ordered=True):
    t.equal(t.record(prog, *args, out='r.sbt').status, 0, 'record')
    r = observe(t, prog, *args)
    t.equal(r.status, 0, 'observe')
    inside, outside = essence(commands(t, 'r.sbt')), essence(commands(t, 'o.sbt'))
    t.check(inside, 'the program does something')
    if ordered:
        for i, (a, b) in enumerate(zip(inside, outside)):
            t.equal(b, a, f'{prog}: command {i}')
    else:
        t.equal(collections.Counter(outside) - collections.Counter(inside), collections.Counter(), f'{prog}: seen, not recorded')
        t.equal(collections.Counter(inside) - collections.Counter(outside), collections.Counter(), f'{prog}: recorded, not seen')
    t.equal(len(outside), len(inside), f'{prog}: how many')


def test_sees_what_is_recorded(t):
    permitted(t)
    for prog in 'vecadd', 'pipeline', 'reduce', 'transformer':
        compare(t, prog)


def test_graphs_and_captures(t):
    permitted(t)
    compare(t, 'graphs')


def test_launch_configurations(t):
    permitted(t)
    compare(t, 'parts')


def test_threads(t):
    permitted(t)
    t.equal(t.record('threads', out='r.sbt').status, 0, 'record')
    t.equal(observe(t, 'threads').status, 0, 'observe')
    a, b = commands(t, 'r.sbt'), commands(t, 'o.sbt')
    for kind in 'launch', 'thread', 'stream_create':
        t.equal(sum(c['kind'] == kind for c in b), sum(c['kind'] == kind for c in a), kind)


def test_stacks_have_functions_and_lines(t):
    permitted(t)
    t.equal(observe(t, 'vecadd').status, 0, 'observe')
    r = t.tsdb('view', '--stacks', '--kind', 'copy', 'o.sbt')
    t.equal(len(re.findall(r'#\d+ +main \(\) at .*vecadd\.cu:\d+', r.out)), 3, 'each copy comes from main')


def test_stacks_of_a_program_that_has_ended(t):
    """Before tsdb had a chance to look into it: it is stopped from before the program's exec until nothing is left but its number."""
    permitted(t)
    t.need_soft()
    o = start(t, tsdb_path(), 'observe', '--gpu', 'soft', '-o', 'o.sbt', '--', '/bin/sh', '-c', f'while [ ! -e go ]; do sleep 0.05; done; exec {program("vecadd")}')
    try:
        children = f'/proc/{o.pid}/task/{o.pid}/children'
        shell = lambda: [c for c in open(children).read().split() if open(f'/proc/{c}/comm').read() == 'sh\n']
        until(shell, 'the program is started')
        child = shell()[0]
        o.send_signal(signal.SIGSTOP)
        with open(t.path('go'), 'w'):
            pass
        until(lambda: open(f'/proc/{child}/stat').read().rsplit(') ', 1)[1][0] == 'Z', 'the program ends')
        o.send_signal(signal.SIGCONT)
        out, err = o.communicate(timeout=60 * SLOW)
    finally:
        o.kill()
    t.equal(o.returncode, 0, f'exit status: {err}')
    r = t.tsdb('view', '--stacks', '--kind', 'copy', 'o.sbt')
    if not re.search('main', r.out) and int(open('/proc/sys/kernel/perf_event_paranoid').read()) > 2:
        raise Skip('perf_event_open() is not permitted')
    t.equal(len(re.findall(r'#\d+ +main \(\) at .*vecadd\.cu:\d+', r.out)), 3, 'each copy comes from main')


def test_stacks_when_the_kernels_map_is_full(t):
    permitted(t)
    t.equal(observe(t, 'vecadd', env={'TSDB_OBSERVE_STACKS': '1'}).status, 0, 'observe')
    r = t.tsdb('view', '--stacks', '--kind', 'copy', 'o.sbt')
    t.equal(len(re.findall(r'#\d+ +main \(\) at .*vecadd\.cu:\d+', r.out)), 3, 'each copy comes from main')


def test_one_link_for_each_place(t):
    """As kernels before 6.6 have it. A process takes the places away when tsdb has ended; nobody waits for it, neither for a descriptor nor for the trace."""
    permitted(t)
    ours, theirs = os.pipe()
    t.equal(observe(t, 'vecadd', env={'TSDB_OBSERVE_SINGLE': '1'}, pass_fds=[theirs]).status, 0, 'observe')
    os.close(theirs)
    t.equal(collections.Counter(c['kind'] for c in commands(t, 'o.sbt'))['copy'], 3, 'copies')
    with os.fdopen(ours, 'rb') as f:
        t.equal(select.select([f], [], [], 10)[0], [f], 'the end of a pipe that tsdb had inherited')
        t.equal(f.read(), b'', 'the pipe')
    for pid in t.processes():
        try:
            with open(f'/proc/{pid}/comm') as f:
                t.equal(f.read(), 'tsdb-unprobe\n', 'the name of what is left')
        except OSError:
            pass  # it has ended
    t.equal(observe(t, 'vecadd').status, 0, 'observe to the same file')
    until(lambda: not t.processes(), 'the end of what takes the places away', 200)


def test_killing_the_observer_harms_nobody(t):
    permitted(t)
    p = start(t, program('long_running'), 6 * SLOW)
    p.stdout.readline()
    for i in range(6):
        o = start(t, tsdb_path(), 'observe', '-o', 'o.sbt', str(p.pid))
        time.sleep(0.15 * i)
        o.kill()
        o.communicate()
    t.match('long_running: ok', p.communicate()[0])
    t.equal(p.returncode, 0, 'exit status')
    r = t.tsdb('view', 'o.sbt')
    t.check(r.status in (0, 1), 'what is in the trace can be read')


def test_observed_trace(t):
    """It is marked, its state can be seen, and what needs contents is refused by name."""
    permitted(t)
    t.equal(observe(t, 'pipeline').status, 0, 'observe')
    info = json.loads(t.tsdb('info', '--json', 'o.sbt').out)
    t.equal((info['observed'], info['timestamps'], info['windows'], info['damage']), (True, False, [], None), 'info')
    t.match(r'^observed +from outside', t.tsdb('info', 'o.sbt').out)
    r = t.tsdb('--batch', '-ex', 'replay start', '-ex', 'replay continue', '-ex', 'state show', 'o.sbt')
    t.match(r'observed from outside', r.both)
    t.match(r'0 pending', r.out)
    for tool in (['replay'], ['check'], ['explore'], ['extract', '--kernel', '*', '-o', 'x']):
        t.sentence(t.tsdb(tool[0], 'o.sbt', *tool[1:]), r'o\.sbt was observed from outside: .*cannot be executed again.*tsdb record')
    t.sentence(t.tsdb('races', 'o.sbt'), r'observed from outside')


def test_a_running_process(t):
    permitted(t)
    p = start(t, program('long_running'), 3600)
    try:
        p.stdout.readline()
        lines = watch(t, p, lambda lines: len(lines) >= 3 and lines[1]['processes'] and lines[-1]['processes'][0]['totals']['launches'] > 50, '-o', 'o.sbt')
        t.check(p.poll() is None, 'the program goes on')
        t.check(lines[-1]['final'] and not lines[0]['final'], 'a line each interval, and a last one')
        t.equal((lines[-1]['lost'], lines[-1]['not_understood'], lines[-1]['no_stack']), (0, 0, 0), 'nothing is missing')
        total = lines[-1]['processes'][0]
        t.equal((total['pid'], total['program'], total['ended']), (p.pid, 'long_running', False), 'the process')
        t.check(total['totals']['wait_ns'] > 0, 'it waits for the device')
        t.check(any(line['processes'][0]['per_second']['launches'] > 10 for line in lines if line['processes']), 'launches a second')
        n = sum(c['kind'] == 'launch' for c in commands(t, 'o.sbt'))
        t.equal(n, total['totals']['launches'], 'the trace has them all')
    finally:
        p.kill()
        p.communicate()


def test_ctrl_c_ends_with_a_whole_trace(t):
    permitted(t)
    p = start(t, program('long_running'), 3600)
    try:
        p.stdout.readline()
        for sig in signal.SIGINT, signal.SIGTERM:
            out = f'{sig.name}.sbt'
            o = start(t, tsdb_path(), 'observe', '-o', out, str(p.pid))
            until(lambda: has_commands(t, out), 'commands')
            o.send_signal(sig)
            text, err = o.communicate(timeout=60 * SLOW)
            t.equal(o.returncode, 0, f'exit status: {err}')
            t.match(r'^observed .* 1 process, ', text)
            info = json.loads(t.tsdb('info', '--json', out).out)
            t.equal(info['damage'], None, 'the trace is whole')
            t.check(info['commands'] > 10, 'commands')
        t.check(p.poll() is None, 'the program goes on')
    finally:
        p.kill()
        p.communicate()


def test_the_process_ends(t):
    permitted(t)
    p = start(t, program('long_running'), 3600)
    try:
        p.stdout.readline()
        o = start(t, tsdb_path(), 'observe', '-o', 'o.sbt', str(p.pid))
        until(lambda: has_commands(t, 'o.sbt'), 'commands')
        with open(t.path('end'), 'w'):  # which ends the program
            pass
        out, _ = p.communicate(timeout=60 * SLOW)
        text, err = o.communicate(timeout=60 * SLOW)
    finally:
        p.kill()
    t.equal((o.returncode, p.returncode), (0, 0), f'both ended: {err}')
    t.match('long_running: ok', out)
    t.match(rf'^ +{p.pid} long_running .* ended$', text)


def test_exit_status_is_the_programs(t):
    permitted(t)
    t.equal(observe(t, 'exit_code').status, t.run([program('exit_code')], env={'LD_LIBRARY_PATH': SOFT}).status, 'exit status')
    t.equal(observe(t, 'kill_self').status, t.run([program('kill_self')], env={'LD_LIBRARY_PATH': SOFT}).status, 'signal')


def test_a_driver_that_comes_late(t):
    """From a file that nobody could have known of, after the process is observed."""
    permitted(t)
    t.need_soft()
    t.copy_program(os.path.join(SOFT, 'libcuda.so.1'), 'libcuda.so.1')
    script = '''
import ctypes, os, sys, time
end = time.monotonic() + 120
while not os.path.exists("go") and time.monotonic() < end:
    time.sleep(0.05)
cu = ctypes.CDLL(sys.argv[1])
# Until the probes are there: the kernel writes int3 over the first instruction.
calls = [ctypes.cast(f, ctypes.c_void_p).value for f in (cu.cuDevicePrimaryCtxRetain, cu.cuMemAlloc_v2, cu.cuMemsetD8_v2, cu.cuMemFree_v2)]
end = time.monotonic() + 60
while any(ctypes.string_at(f, 1) != b"\\xcc" for f in calls) and time.monotonic() < end:
    time.sleep(0.05)
assert not cu.cuInit(0)
ctx, p = ctypes.c_void_p(), ctypes.c_void_p()
assert not cu.cuDevicePrimaryCtxRetain(ctypes.byref(ctx), 0)
assert not cu.cuCtxSetCurrent(ctx)
assert not cu.cuMemAlloc_v2(ctypes.byref(p), ctypes.c_size_t(12345))
assert not cu.cuMemsetD8_v2(p, 7, ctypes.c_size_t(345))
assert not cu.cuMemFree_v2(p)
'''
    p = start(t, sys.executable, '-c', script, t.path('libcuda.so.1'))
    o = start(t, tsdb_path(), 'observe', '-o', 'o.sbt', str(p.pid))
    try:
        t.match('has not loaded libcuda.so.1; it is observed as soon as it does', o.stderr.readline())
        with open(t.path('go'), 'w'):
            pass
        p.communicate(timeout=90 * SLOW)
        o.communicate(timeout=60 * SLOW)
    finally:
        p.kill()
        o.kill()
    t.equal((o.returncode, p.returncode), (0, 0), 'exit status')
    got = [(c['kind'], c.get('size')) for c in commands(t, 'o.sbt') if c['kind'] in ('alloc', 'fill', 'free')]
    t.equal(got, [('alloc', 12345), ('fill', 345), ('free', None)], 'what it did')


def test_all_processes(t):
    permitted(t)
    first = start(t, program('long_running'), 3600)
    o = None
    try:
        first.stdout.readline()
        o = start(t, tsdb_path(), 'observe', '--all', '--json', '-q', '-o', 'run.sbt')
        until(lambda: has_commands(t, f'run.{first.pid}.sbt'), 'the process that was there')
        second = start(t, program('vecadd'))
        second.communicate()
        # whole: it has seen the end
        until(lambda: info_now(t, f'run.{second.pid}.sbt').get('damage', 'no trace') is None, 'the one that came later')
        o.send_signal(signal.SIGINT)
        out, err = o.communicate(timeout=60 * SLOW)
        t.equal(o.returncode, 0, f'exit status: {err}')
        seen = {p['pid']: p for p in json.loads(out.splitlines()[-1])['processes']}
        t.check(first.pid in seen and second.pid in seen, f'both processes: {sorted(seen)}')
        t.equal((seen[second.pid]['totals']['launches'], seen[second.pid]['ended']), (1, True), 'vecadd')
        t.equal(sum(c['kind'] == 'launch' for c in commands(t, f'run.{second.pid}.sbt')), 1, 'launches of vecadd')
    finally:
        for p in first, o:
            if p:
                p.kill()
                p.communicate()


def test_lost_records_are_counted(t):
    permitted(t)
    r = observe(t, 'tiny_launches', '20000', options=('--ring', '64K', '--json'))
    t.equal(r.status, 0, 'observe')
    final = json.loads(r.err.splitlines()[-1])
    seen = final['processes'][0]['totals']['launches']
    t.check(seen <= 20000, 'no launch twice')
    if seen < 20000:
        t.check(final['lost'] >= 20000 - seen, f'{20000 - seen} launches are missing, {final["lost"]} records lost')
        t.match(r'records were lost: the ring was full', r.err)
        t.equal(json.loads(t.tsdb('info', '--json', 'o.sbt').out)['lost'], final['lost'], 'the trace says so')


def test_refusal(t):
    """Where it is not permitted: one sentence with the cure, and everything else works."""
    t.equal(t.record('vecadd').status, 0, 'record')
    os.chmod(t.dir, 0o755)
    argv = [tsdb_path(), 'observe', '--gpu', t.gpu, '-q', '--', '/bin/true']
    if os.geteuid() == 0:
        if not shutil.which('setpriv'):
            raise Skip('no setpriv')
        drop = ['setpriv', '--reuid=65534', '--regid=65534', '--clear-groups', '--bounding-set=-all', '--inh-caps=-all', '--']
        if t.run(drop + ['/bin/sh', '-c', f'exec {tsdb_path()} --version']).status:
            raise Skip('another user cannot start tsdb here')
        argv = drop + argv
    elif not t.run(argv).status:
        raise Skip('every user may use BPF here')
    else:
        drop = []
    r = t.run(argv)
    t.sentence(r, r'^tsdb: (cannot observe: .*\. (Run tsdb observe as root|Linux 5\.15|Use a kernel|Mount sysfs).*tsdb record|'
                  r'this tsdb was built without observe\. Install libbpf-dev and clang)')
    t.equal(len([x for x in r.err.splitlines() if 'software GPU' not in x]), 1, 'one sentence')
    os.chmod(t.path('t.sbt'), 0o644)  # a trace is its owner's alone
    r = t.run(drop + [tsdb_path(), 'info', t.path('t.sbt')])
    t.equal(r.status, 0, 'info still works')


def test_words_that_are_wrong(t):
    bad = {
        (): r'observe needs the number of a process, a program, or --all',
        ('--all', '12'): r'--all takes no process or program: 12',
        ('--no-such', '12'): r'observe has no option --no-such',
        ('--top', 'x', '12'): r'"x" is no number of lines',
        ('--for', '0', '12'): r'"0" is no time',
        ('--ring', '1', '12'): r'"1" is no size of a ring',
        ('12', '13'): r'one process at a time, or --all: 13 is one too many',
        ('--for',): r'--for needs a value',
        ('--', 'no-such-program-anywhere'): r'no-such-program-anywhere',
    }
    for words, want in bad.items():
        t.sentence(t.tsdb('observe', *words), want)


def test_files_that_cannot_be_written(t):
    with open(t.path('notes'), 'w', encoding='utf-8') as f:
        f.write('not to be lost')
    os.mkdir(t.path('folder'))
    for path, want in {'notes': r'notes is there and is no trace; it is not overwritten', 'folder': r'it is a directory', 'no/where': r'cannot create'}.items():
        t.sentence(t.tsdb('observe', '-o', path, str(os.getpid())), want)
    t.equal(open(t.path('notes'), encoding='utf-8').read(), 'not to be lost', 'the file')


def test_processes_that_cannot_be(t):
    permitted(t)
    p = subprocess.Popen(['/bin/true'])
    os.waitid(os.P_PID, p.pid, os.WEXITED | os.WNOWAIT)
    t.sentence(t.tsdb('observe', str(p.pid)), r'has ended and waits for its parent')
    p.wait()
    t.sentence(t.tsdb('observe', str(p.pid)), r'there is no process \d+')
    r = t.tsdb('observe', '--for', '3s', '-q', '1')
    t.equal(r.status, 0, 'process 1 has no CUDA')
    t.match(r'has not loaded libcuda|0 process', r.both)


def from_now_on(t, enough, *options):
    """What is seen of a process that launched its kernel before."""
    p = start(t, program('observed'), 3600)
    try:
        p.stdout.readline()
        return watch(t, p, lambda lines: lines[-1]['kernel_list'] and enough(lines[-1]), *options)[-1]
    finally:
        p.kill()
        p.communicate()


def test_kernels_launched_before(t):
    """Their names are told where the runtime asks the driver for them, and by the host function where the runtime's entry points are probed."""
    permitted(t)
    final = from_now_on(t, lambda line: line['kernel_list'][0]['launches'] > 500 or line['kernel_list'][0]['name'] == 'count')
    names = [k['name'] for k in final['kernel_list'] if k['launches']]
    t.equal(names, ['count'], 'launches before the name was known are of the same kernel')
    final = from_now_on(t, lambda line: any(k['launches'] > 50 for k in line['kernel_list']) and len(line['places']) > 1, '--runtime')
    named = {k['name']: k['launches'] for k in final['kernel_list']}
    t.check(named.get('count', 0) > 50, f'the name: {named}')
    stacks = [[f['function'] for f in p['frames']] for p in final['places']]
    # a call that had begun before the probes were placed has no runtime around it
    t.equal(sorted(s[0].split('(')[0] for s in stacks[:2]), ['main', 'once'], f'stacks begin in the program: {final["places"]}')


def test_bpftrace_script(t):
    """A probe for each entry point that the library has and observe looks at; bpftrace reads the script."""
    soft = os.path.join(SOFT, 'libcuda.so.1')
    r = t.tsdb('observe', '--bpftrace=' + soft)
    t.equal(r.status, 0, r.err)
    probes = re.findall(r'^(u(?:ret)?probe):(.*):(\w+),?$', r.out, re.M)
    entries = [name for kind, _, name in probes if kind == 'uprobe']
    exported = set(re.findall(r' T (\w+)', subprocess.run(['nm', '-D', soft], capture_output=True, text=True, check=True).stdout))
    known = set(t.tsdb('observe', '--list').out.split())
    t.equal(sorted(entries), sorted(n for n in exported & known if not n.startswith('cuda')), 'entry points, each once')
    t.equal({path for _, path, _ in probes}, {soft}, 'library')
    returns = {name for kind, _, name in probes if kind == 'uretprobe'}
    t.check(returns < set(entries) and 'cuMemAlloc_v2' in returns and 'cuLaunchKernel' not in returns, 'what is seen when it returns')
    t.sentence(t.tsdb('observe', '--bpftrace=/bin/true'), 'has no entry point of a GPU')
    t.sentence(t.tsdb('observe', '--bpftrace=/a:b'), 'cannot name a library')
    if not shutil.which('bpftrace'):
        raise Skip('needs bpftrace')
    with open(t.path('probes.bt'), 'w', encoding='utf-8') as f:
        f.write(r.out)
    read = subprocess.run(['bpftrace', '-d', t.path('probes.bt'), '0'], capture_output=True, text=True, check=False)
    t.check('syntax error' not in read.stderr and re.search(r'^ *ret i64', read.stdout, re.M), read.stderr)  # it made code of it
