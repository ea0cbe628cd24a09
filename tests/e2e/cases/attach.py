# SPDX-License-Identifier: Apache-2.0
"""Attaching to programs that run, leaving them, and being killed meanwhile. attach-target notices waits that end early, registers, errno and masks that
change. TSDB_SOAK=1 (make soak-attach): as often as the project promises."""
import os
import random
import re
import shutil
import signal
import subprocess
import time

from e2e import BUILD, Failure, Skip, first_existing, program, tsdb_path

SOAK = os.environ.get('TSDB_SOAK') == '1'
# Programs that nobody can trace, or nobody but their parent: nothing here can work.
SCOPE = '/proc/sys/kernel/yama/ptrace_scope'


def soft_dir():
    return first_existing(os.path.join(BUILD, 'softgpu'), os.path.join(BUILD, 'lib', 'tsdb', 'softgpu'))


class Running:
    """A program that runs by itself."""

    def __init__(self, t, argv, env=None, **kw):
        self.t = t
        extra = {'LD_LIBRARY_PATH': soft_dir()} if t.gpu == 'soft' else {}
        self.out = open(t.path(f'running-{time.monotonic_ns()}.out'), 'w+')
        self.p = subprocess.Popen([str(a) for a in argv], cwd=t.dir, env=t.environment({**extra, **(env or {})}), stdin=subprocess.DEVNULL,
                                  stdout=self.out, stderr=subprocess.STDOUT, start_new_session=True, **kw)

    @property
    def pid(self):
        return self.p.pid

    def text(self):
        self.out.seek(0)
        return self.out.read()

    def await_text(self, what, seconds=90):
        end = time.monotonic() + seconds
        while what not in self.text():
            if self.p.poll() is not None or time.monotonic() > end:
                raise Failure(f'{what!r} did not come: {self.text()!r}, {self.p.returncode}')
            time.sleep(0.01)
        return self

    def finish(self, want=0, seconds=90):
        """The programs that are made for this end when they are told to, so how fast the machine is does not matter."""
        end = self.t.path('end')
        with open(end, 'w'):
            pass
        try:
            status = self.p.wait(seconds)
        except subprocess.TimeoutExpired:
            raise Failure(f'the program hangs: {self.text()!r}')
        finally:
            os.unlink(end)
        if status != want:
            raise Failure(f'the program ended with {status}, not {want}: {self.text()!r}')
        return self.text()

    def field(self, name):
        with open(f'/proc/{self.pid}/status') as f:
            return re.search(rf'^{name}:\s*(.*)$', f.read(), re.M).group(1)

    def switches(self):
        """How often its first thread has waited: long_running does so once or a few times for each launch."""
        return int(self.field('voluntary_ctxt_switches'))

    def kill(self):
        if self.p.poll() is None:
            self.p.kill()
            self.p.wait()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.kill()
        self.out.close()


def until(condition, what, seconds=90):
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise Failure(f'{what}: not within {seconds} s')
        time.sleep(0.01)


# Both run until finish().
def launcher(t):
    return Running(t, [program('long_running'), 3600]).await_text('running')


def target(t, *only, **kw):
    return Running(t, [program('attach-target'), 3600, *only], **kw).await_text('running')


def goes_on(p, tsdb):
    """Waits until a process that tsdb has attached to (and says so) runs again."""
    until(lambda: p.field('TracerPid') == str(tsdb.pid) and p.field('State')[0] != 't', 'continue')


def attach(t, who, *commands, options=(), **kw):
    if os.path.exists(SCOPE) and open(SCOPE).read().strip() not in ('0',) and os.geteuid():
        raise Skip('kernel.yama.ptrace_scope')
    return t.tsdb('--batch', *options, '-p', who, *[x for c in commands for x in ('-ex', c)], **kw)


def attached(t, who, *commands, **kw):
    r = attach(t, who, *commands, **kw)
    t.equal(r.status, 0, 'attaching')
    t.match(r'^Attached to process \d+ \(.*\), \d+ threads?; it was held up for [\d.]+ ms', r.out)
    return r


# ---- what one does with it

def test_break_look_and_leave(t):
    with launcher(t) as p:
        r = attached(t, p.pid, 'break kernel count', 'continue', 'bt', 'next', 'info kernels', 'info streams', 'info threads', 'delete', 'detach')
        t.match(r'^Breakpoint 1, #\d+ count<<<\(1,1,1\),\(1,1,1\)>>> stream 0$', r.out)
        t.match(r'^#\d+ .* main \(\) at .*long_running\.cu:\d+', r.out)
        t.match(r'^ +\d+ +count ', r.out)
        t.match(rf'^\[process {p.pid} goes on without tsdb\]$', r.out)
        t.equal(p.field('TracerPid'), '0', 'tracer')
        t.equal(p.finish(), 'long_running: running\nlong_running: ok\n', 'what the program printed')


def test_a_gpu_that_hangs(t):
    """No step waits for the device for ever; what would have to is left out, and said. The program ends as it would have when its GPU does."""
    for mode, what in (('spin', 'spin_for_ever'), ('value', 'waits for a value')):
        with Running(t, [program('hung'), mode]) as p:
            p.await_text('hung: running')
            r = attached(t, p.pid, 'info streams', 'bt', 'detach', options=['-ex', 'set gpu-timeout 2000'], timeout=120)
            t.match(r'^The GPU does not come to an end: CUPTI, .* Capture begins when that is over\.$', r.out)
            if t.gpu == 'soft': # NVIDIA's driver cannot be asked while it waits
                t.match(rf'^  stream 0x[0-9a-f]+: .*{what}.*; behind it 1 more$', r.out)
            t.match(r'^\(Nothing is known of the GPU until the work that was there ends', r.out)
            t.match(r'^#\d+ .* main \(\) at .*hung\.cu:\d+', r.out)
            t.match(rf'^\[process {p.pid} goes on without tsdb\]$', r.out)
            # The first agent is still in its call: another one cannot come in, but threads and stacks can be looked at.
            r = attached(t, p.pid, 'info threads', 'info streams', 'bt', 'detach', options=['-ex', 'set gpu-timeout 2000'], timeout=120)
            t.match(rf"^Attached to process {p.pid} \(hung\), \d+ threads; .*\nThe agent of an earlier attach is still in a call of the GPU driver that does not return", r.out)
            t.match(r'^\(Nothing is known of the GPU: the agent of an earlier attach', r.out)
            t.match(r'^#\d+ .* main \(\) at .*hung\.cu:\d+', r.out)
            t.no_match(r'\btsdb-late\b', r.out, 'the thread that the first agent left is none of the program')
            if mode == 'value':
                t.sentence(t.tsdb('record', '-o', 'hung.sbt', '-p', str(p.pid), timeout=120), r'the agent in process \d+ still serves an earlier debugger')
            t.equal(p.finish(), 'hung: running\nhung: over, counted 1\n', 'what the program printed')


def test_an_agent_that_was_left_in_a_call_goes_when_that_ends(t):
    """The debugger leaves while the driver does not return: what the agent has is freed when it does, without another attach."""
    with Running(t, [program('hung'), 'value', 'stays']).await_text('hung: running') as p:
        r = attached(t, p.pid, 'detach', options=['-ex', 'set gpu-timeout 1000'], timeout=120)
        t.match(r'^The GPU does not come to an end: ', r.out)
        t.check(not has_left(p), 'the agent is in a call')
        with open(t.path('end'), 'w'):
            p.await_text('hung: over')
        until(lambda: has_left(p), 'the end of the agent')
        if t.gpu == 'soft':  # NVIDIA's driver makes threads of its own from tsdb-late, which have its name and stay
            until(lambda: not [n for n in threads_of(p) if n in ('tsdb-late', 'tsdb-agent')], 'the end of its threads')
        attached(t, p.pid, 'detach')
        with open(t.path('gone'), 'w'):
            p.finish()


def test_a_gpu_that_hangs_later(t):
    """A window that begins when the GPU already hangs is given up after gpu-timeout, with a sentence; the program's threads go on."""
    with Running(t, [program('hung'), 'later']) as p:
        p.await_text('hung: running')
        r = attached(t, p.pid, 'set gpu-timeout 1000', 'set capture window-stop off', 'break kernel spin_for_ever', f'shell touch {t.path("go")}', 'continue', 'delete',
                     'capture window kernel count count 3', 'break kernel count', 'ignore 2 40', 'continue', 'detach', timeout=240)
        t.match(r'work on the device did not end when the window began, not within 1\.0 s \(set gpu-timeout\)', r.both)
        t.match(r'^Breakpoint 2, ', r.out)
        t.match(rf'^\[process {p.pid} goes on without tsdb\]$', r.out)
        text = p.finish()
        t.equal(text, 'hung: running\nhung: spins\nhung: over\n', 'what the program printed')


def test_quit_leaves_and_kill_kills(t):
    with launcher(t) as p:
        attached(t, p.pid, 'break kernel count', 'continue')
        t.equal(p.finish(), 'long_running: running\nlong_running: ok\n', 'what the program printed')
    with launcher(t) as p:
        r = attached(t, p.pid, 'kill')
        t.match(rf'^\[process {p.pid} killed\]$', r.out)
        p.finish(-signal.SIGKILL)


def test_a_capture_after_attach(t):
    with launcher(t) as p:
        r = attached(t, p.pid, 'capture start a.sbt', 'break kernel count', 'ignore 1 20', 'continue', 'capture stop', 'detach')
        t.match(r'^\[captured #\d+-#\d+ -> a\.sbt', r.out)
        p.finish()
    r = t.tsdb('view', 'a.sbt', '--kind', 'launch')
    t.check(len(re.findall(r'count<<<', r.out)) >= 15, 'launches in the trace')


def test_a_program_with_an_allocator_of_its_own(t):
    with Running(t, [program('attach-malloc'), 3600]).await_text('running') as p:
        for _ in range(3):
            attached(t, p.pid, 'detach')
        t.equal(p.finish(), 'attach-malloc: running\nattach-malloc: ok\n', 'what the program printed')


INLINED = '''#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char pool[1ul << 30];
static size_t at;
static inline __attribute__((always_inline)) void *take(size_t n)
{
	pthread_mutex_lock(&lock);
	for (volatile int i = 0; i < 200000; i++) ;
	void *p = pool + at;
	at = (at + n + 15) / 16 * 16;
	pthread_mutex_unlock(&lock);
	return p;
}
void *malloc(size_t n) { return take(n); }
void free(void *p) { }
void *calloc(size_t a, size_t b) { return memset(take(a * b), 0, a * b); }
void *realloc(void *p, size_t n) { void *q = take(n + 4096); return p ? memmove(q, p, n) : q; }
int main(void)
{
	pthread_mutex_lock(&lock); /* wherever it is stopped, it has the lock */
	write(1, "running\\n", 8);
	while (access("end", F_OK) != 0)
		for (volatile int i = 0; i < 200000; i++) ;
	pthread_mutex_unlock(&lock);
	write(1, "ok\\n", 3);
	return 0;
}
'''


def test_a_call_that_never_returns_is_taken_back(t):
    """The borrowed thread holds the allocator's lock, and no frame tells: it is given up, and the program goes on."""
    with open(t.path('inlined.c'), 'w') as f:
        f.write(INLINED)
    if not shutil.which('gcc') or t.run(['gcc', '-O2', '-w', '-pthread', '-o', 'inlined', 'inlined.c']).status:
        raise Skip('no C compiler')
    with Running(t, [t.path('inlined')]).await_text('running') as p:
        t.sentence(attach(t, p.pid), r'dlopen\(\) does not return.*waits for a lock.*taken back')
        t.equal(p.field('TracerPid'), '0', 'tracer')
        t.equal(p.finish(), 'running\nok\n', 'what the program printed')


def named(t):
    """long_running under a name that nobody else has."""
    name = 'lr' + os.path.basename(t.dir).replace('tsdb-e2e-', '-')
    os.symlink(os.path.abspath(program('long_running')), t.path(name))
    return name


def test_by_name(t):
    name = named(t)
    with Running(t, [t.path(name), 3600]).await_text('running') as p:
        with Running(t, [t.path(name), 3600]).await_text('running') as other:
            t.sentence(attach(t, name), rf'2 processes are called {name}: .*{p.pid}')
            other.kill()
        r = attached(t, name, 'detach')
        t.match(rf'^Attached to process {p.pid} \({name}\)', r.out)


def test_wait_catches_the_next_start(t):
    name = named(t)
    tsdb = subprocess.Popen([tsdb_path(), '--batch', '-ex', f'attach --wait {name}', '-ex', 'break kernel count', '-ex', 'continue', '-ex', 'detach'],
                            cwd=t.dir, env=t.environment(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        first = tsdb.stdout.readline()
        t.match(rf'^Waiting for a process called {name}', first)
        with Running(t, [t.path(name), 3600]) as p:
            out = tsdb.communicate(timeout=90)[0]
            t.match(rf'^Attached to process {p.pid} ', out)
            t.match(r'^Breakpoint 1, #\d+ count<<<', out)
            t.equal(tsdb.returncode, 0, 'attach --wait')
            t.equal(p.finish(), 'long_running: running\nlong_running: ok\n', 'what the program printed')
    finally:
        if tsdb.poll() is None:
            tsdb.kill()
            tsdb.wait()


LOOPS = '''import ctypes, os, sys, time
print("running", flush=True)
while not os.path.exists("init"):
    time.sleep(0.01)
cuda = ctypes.CDLL("libcuda.so.1")
ctx, mod, f = (ctypes.c_void_p() for _ in range(3))
PTX = b".version 7.0\\n.target sm_75\\n.address_size 64\\n.visible .entry loops() { ret; }\\n"
def do(r):
    assert r == 0, r
do(cuda.cuInit(0)), do(cuda.cuDevicePrimaryCtxRetain(ctypes.byref(ctx), 0)), do(cuda.cuCtxSetCurrent(ctx))
do(cuda.cuModuleLoadData(ctypes.byref(mod), PTX)), do(cuda.cuModuleGetFunction(ctypes.byref(f), mod, b"loops"))
p, h = ctypes.c_uint64(), (ctypes.c_uint8 * 64)()
do(cuda.cuMemAlloc_v2(ctypes.byref(p), ctypes.c_size_t(64))), do(cuda.cuMemsetD8_v2(p, 5, ctypes.c_size_t(64)))
while not os.path.exists("end"):
    do(cuda.cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, None, None, None)), do(cuda.cuMemcpyDtoH_v2(h, p, ctypes.c_size_t(64)))
    time.sleep(0.001)
'''


BEFORE = 'print("running", flush=True)\nwhile not os.path.exists("init"):\n    time.sleep(0.01)\n'
LOAD = 'cuda = ctypes.CDLL("libcuda.so.1")\n'
LOADED = LOOPS.replace(BEFORE + LOAD, LOAD + BEFORE + '''if sys.argv[1:]:
    ctypes.CDLL(None).unsetenv(b"CUDA_INJECTION64_PATH")
''')


def with_a_driver_that_is_loaded_only(t, *args):
    """The library is there and cuInit() has not come to its end: CUPTI is not started beside it, on an NVIDIA driver callbacks may then be missed."""
    with Running(t, ['python3', '-c', LOADED, *args]).await_text('running') as p:
        r = attached(t, p.pid, 'break kernel loops', 'shell touch init', 'continue', 'detach')
        t.match(r'^It has not used the GPU yet: capture begins when it does\.$', r.out)
        os.unlink(t.path('init'))
        p.finish()
    return int(t.match(r'^Breakpoint 1, #(\d+) loops<<<', r.out)[1])


def test_a_driver_that_is_not_initialised(t):
    """The driver loads the agent: the breakpoint is hit by the first launch, with what came before it: device, context, module, kernel, allocation, fill."""
    t.check(with_a_driver_that_is_loaded_only(t) <= 10, 'the first launch')


def test_a_driver_that_does_not_load_the_agent(t):
    """As one that had looked at the environment before the attach: the agent starts by itself."""
    with_a_driver_that_is_loaded_only(t, 'alone')


def test_a_window_of_a_program_that_had_not_used_the_gpu(t):
    """Which GPU it uses is known when its driver starts: the trace is replayed there."""
    with Running(t, ['python3', '-c', LOOPS, 'a b']).await_text('running') as p:
        r = attached(t, p.pid, 'info program', 'capture window kernel loops count 5', 'shell touch init', 'continue', 'info program', 'detach')
        t.match(rf"^process {p.pid}, stopped, has not used the GPU yet$", r.out)
        t.match(rf"^process {p.pid}, stopped at a GPU command, on the {'software' if t.gpu == 'soft' else 'machine.s'} GPU$", r.out)
        name = t.match(r'-> (\S+\.sbt)', r.out).group(1).rstrip(',')
        p.finish()
    r = t.tsdb('replay', name, '--verify')
    t.equal(r.status, 0, r.both)
    t.match(r'4 of 4 outputs identical', r.out)


def test_kill_and_run_again(t):
    """`run` starts the program of the process that was attached to, with its arguments."""
    with Running(t, [program('long_running'), 3600]).await_text('running') as p:
        r = t.session(None, f'attach {p.pid}', 'kill', 'break kernel count', 'run > again.txt', 'info program', 'kill')
        t.match(r'/long_running 3600$', r.out)
        t.match(r'^Breakpoint 1, #\d+ count<<<', r.out)
        p.p.wait()


def test_a_program_without_cuda(t):
    """Nothing that it does is disturbed, and nothing is claimed about GPUs."""
    with target(t) as p:
        r = attached(t, p.pid, 'info threads', 'detach')
        t.match(r'^It has not used the GPU yet: capture begins when it does\.$', r.out)
        t.check(len(re.findall(r'attach-target', r.out)) >= 10, 'its threads')
        t.equal(p.finish(), 'attach-target: running\nattach-target: ok\n', 'what the program printed')


def replaced(t, path, other):
    os.unlink(path)
    t.copy_program(other, path)


def test_a_program_that_was_replaced_on_disk(t):
    """As by a build: names, lines and variables are the running program's, not those of the new file."""
    t.copy_program(program('long_running'), 'prog')
    with Running(t, [t.path('prog'), 3600]).await_text('running') as p:
        replaced(t, t.path('prog'), program('vecadd'))
        r = attached(t, p.pid, 'break kernel count', 'continue', 'bt', 'info sharedlibrary', 'capture window kernel count count 3', 'delete', 'continue', 'detach')
        t.match(r'^#\d+ .* main \(\) at .*long_running\.cu:\d+', r.out)
        t.match(r'/prog \(deleted\)$', r.out)
        t.match(r'-> prog\.sbt', r.out)
        p.finish()


def test_libraries_that_were_replaced_on_disk(t):
    """As by an upgrade: a stack goes through them by what is in memory. Their functions have names where the kernel lets us at the file."""
    if t.gpu != 'soft':
        raise Skip('another driver cannot be copied')
    os.chmod(t.dir, 0o777)
    for name in 'libcuda.so.1', 'libcudart.so.13', 'libcupti.so.13':
        t.copy_program(os.path.join(soft_dir(), name), name)
    user = {} if os.geteuid() or subprocess.run(['test', '-x', tsdb_path()], user=65534).returncode else {'user': 65534, 'group': 65534}
    with Running(t, [program('long_running'), 3600], env={'LD_LIBRARY_PATH': t.dir}, **user).await_text('running') as p:
        for name in 'libcuda.so.1', 'libcudart.so.13':
            replaced(t, t.path(name), program('vecadd'))
        for who in ({}, user):
            r = t.run([tsdb_path(), '--batch', '-p', str(p.pid), '-ex', 'set backtrace runtime on', '-ex', 'break kernel count', '-ex', 'continue', '-ex', 'bt', '-ex', 'detach'],
                      **who)
            t.match(r'^#\d+ .* main \(\) at .*long_running\.cu:\d+', r.out)
            t.no_match(r'vecadd', r.out)
            if not os.geteuid() and not who:
                t.match(r'^#\d+ .*cudaLaunchKernel.*(\n.*)*main \(\)', r.out)
        p.finish()


def test_a_program_that_executes_another(t):
    """Breakpoints are the new one's, too."""
    with Running(t, ['sh', '-c', f'echo running; while [ ! -e go ]; do sleep 0.05; done; exec {program("long_running")} 3600']).await_text('running') as p:
        tsdb = subprocess.Popen([tsdb_path(), '--batch', '-p', str(p.pid), '-ex', 'break kernel count', '-ex', 'continue', '-ex', 'bt', '-ex', 'info program',
                                 '-ex', 'detach'], cwd=t.dir, env=t.environment(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        try:
            t.match(r'^Attached to process', tsdb.stdout.readline())
            goes_on(p, tsdb)
            with open(t.path('go'), 'w'):
                pass
            out = tsdb.communicate(timeout=90)[0]
        finally:
            if tsdb.poll() is None:
                tsdb.kill()
                tsdb.wait()
        t.match(rf'^\[process {p.pid} is executing another program\]\nAttached to process {p.pid} \(long_running\)', out)
        t.match(r'^Breakpoint 1, #\d+ count<<<', out)
        t.match(r' main \(\) at .*long_running\.cu:\d+', out)
        t.match(r'/long_running\b', out)
        t.equal(tsdb.returncode, 0, out)
        t.equal(p.finish(), 'running\nlong_running: running\nlong_running: ok\n', 'what the program printed')


def test_what_is_not_known_yet_is_said(t):
    """Contexts are known at once; no list claims that nothing was there before."""
    unknown = r'\n\(What was there before the attach is found as the program uses it, or when a capture begins\.\)$'
    with launcher(t) as p:
        r = attached(t, p.pid, 'info contexts', 'info graphs', 'info graphs --json', 'detach')
        t.match(r'^ +0 +0 +primary, from before', r.out)
        t.match(r'^No graphs\.' + unknown, r.out)
        t.equal(r.out.count('What was there before'), 1, 'times that it is said')
    with target(t) as p:
        r = attached(t, p.pid, 'info streams', 'detach')
        t.match(r'^No streams\.\n\(It has not used the GPU yet\.\)$', r.out)


def test_a_program_that_is_being_executed(t):
    """For a moment it has no libraries: it is not called static for that."""
    with open(t.path('again.c'), 'w') as f:
        f.write('#include <unistd.h>\nint main(int c, char **v) { return execv("/proc/self/exe", v); }\n')
    t.equal(t.run(['gcc', '-o', 'again', 'again.c']).status, 0, 'gcc')
    with Running(t, [t.path('again')]) as p:
        for _ in range(20):
            r = attach(t, p.pid, 'detach')
            if r.status:
                t.match(r'^tsdb: .*(executed another program|program cannot be looked at|ended|none of its 1 threads came to a place .*not stopped)', r.both)


def test_options_that_attach_has_not(t):
    for word in '--wayt', '-5':
        t.sentence(t.tsdb('--batch', '-ex', f'attach {word}'), rf'attach has no "{word}"')


def test_a_stop_by_the_user(t):
    """Ctrl-C in tsdb stops the program and does not reach it."""
    with launcher(t) as p:
        tsdb = subprocess.Popen([tsdb_path(), '--batch', '-p', str(p.pid), '-ex', 'continue', '-ex', 'bt', '-ex', 'detach'], cwd=t.dir,
                                env=t.environment(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        t.match(r'^Attached to process', tsdb.stdout.readline())
        goes_on(p, tsdb)
        tsdb.send_signal(signal.SIGINT)
        out = tsdb.communicate(timeout=90)[0]
        t.match(r'^Program received signal SIGINT', out)
        t.match(r' main \(\) at .*long_running\.cu', out)
        p.finish()


def test_every_single_thread_can_be_borrowed(t):
    """Programs whose threads do one kind of thing: whichever is borrowed goes on as if nothing had been."""
    kinds = 'nanosleep usleep poll epoll cond vectors errno malloc dlopen threads children signals'.split()
    for kind in kinds if SOAK else random.sample(kinds, 4) + ['vectors', 'epoll']:
        with target(t, kind) as p:
            for _ in range(8 if SOAK else 3):
                attached(t, p.pid, 'detach')
            p.finish()


def test_a_program_that_was_launched_is_left_too(t):
    r = t.session('long_running', 'break kernel count', 'run > out.txt 2> err.txt', 'detach', args=['3600'])
    t.equal(r.status, 0, 'tsdb')
    pid = int(t.match(r'^\[process (\d+) goes on without tsdb\]$', r.out).group(1))
    r = attached(t, pid, 'break kernel count', 'continue', 'bt', 'detach')
    t.match(r'^Breakpoint 1, #\d+ count<<<', r.out)
    with open(t.path('end'), 'w'):
        pass
    until(lambda: 'ok' in open(t.path('out.txt')).read(), 'the end of the program')
    t.equal(open(t.path('out.txt')).read(), 'long_running: running\nlong_running: ok\n', 'what the program printed')


def has_launches(t, trace):
    """Of the kernel count; the trace may be being written."""
    r = t.tsdb('view', trace, '--kind', 'launch')
    t.log.pop()
    return 'count<<<' in r.out


def test_record_a_process_that_runs(t):
    with launcher(t) as p:
        tsdb = subprocess.Popen([tsdb_path(), 'record', '-o', 'r.sbt', '-p', str(p.pid)], cwd=t.dir, env=t.environment(), stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        first = tsdb.stdout.readline() + tsdb.stdout.readline()
        t.match(r'^Recording until Ctrl-C', first)
        goes_on(p, tsdb)
        until(lambda: has_launches(t, 'r.sbt'), 'launches')
        begun = p.switches()
        until(lambda: p.switches() > begun + 600, 'more of them')
        tsdb.send_signal(signal.SIGINT)
        out = tsdb.communicate(timeout=90)[0]
        t.equal(tsdb.returncode, 0, out)
        t.equal(p.finish(), 'long_running: running\nlong_running: ok\n', 'what the program printed')
    t.check(len(re.findall(r'count<<<', t.tsdb('view', 'r.sbt', '--kind', 'launch').out)) > 100, 'launches in the trace')
    t.equal(t.tsdb('replay', 'r.sbt', '--verify', '--on', t.gpu).status, 0, 'replay')


# ---- many times

def usage(p):
    with open(f'/proc/{p.pid}/maps') as f:
        maps = len(f.readlines())
    return {'descriptors': len(os.listdir(f'/proc/{p.pid}/fd')), 'threads': len(os.listdir(f'/proc/{p.pid}/task')), 'mappings': maps,
            'kB': int(p.field('VmRSS').split()[0])}


def is_open(p):
    """What its descriptors are, as text."""
    names = {}
    for fd in sorted(os.listdir(f'/proc/{p.pid}/fd'), key=int):
        try:
            names[fd] = os.readlink(f'/proc/{p.pid}/fd/{fd}')
        except FileNotFoundError:  # closed meanwhile
            pass
    return names


def threads_of(p):
    """Names of its threads, for what is said of a failure. A thread that a driver starts for the agent keeps the agent's name."""
    names = []
    for task in sorted(os.listdir(f'/proc/{p.pid}/task'), key=int):
        try:
            with open(f'/proc/{p.pid}/task/{task}/comm') as f:
                names.append(f.read().strip())
        except OSError:  # it has ended
            pass
    return names


def comes(condition, seconds):
    """Whether it becomes true in that time."""
    try:
        until(condition, 'that', seconds)
    except Failure:
        return False
    return True


def has_left(p):
    """The agent says that it leaves, and then it unmaps and closes what it had: a detach does not wait for that. Only when a thread of the program is
    in a long call of the driver, which long_running never is, the agent leaves its control block behind for the next debugger."""
    with open(f'/proc/{p.pid}/maps') as f:
        return 'tsdb-control' not in f.read()


def is_more(now, before):
    """What there is more of; mappings may be a few more, since the driver's heaps grow."""
    return [what for what, few in (('descriptors', 0), ('threads', 0), ('mappings', 4), ('kB', 2048)) if now[what] > before[what] + few]


def test_leaks_nothing(t):
    rounds = 500 if SOAK else 12
    # The driver's compiler takes tens of megabytes when a kernel is hot: here with the first launch, not at some time between two measurements.
    with Running(t, [program('long_running'), 3600], {'TSDB_SOFT_JIT': 'force'}).await_text('running') as p:
        for i in range(rounds):
            attached(t, p.pid, 'break kernel count', 'continue', 'bt', 'detach')
            t.log.clear()
            until(lambda: has_left(p), f'the end of the agent, round {i}')
            if i == (9 if SOAK else 3):
                before = usage(p)
        after = usage(p)
        print(f'# {rounds} times: {before} -> {after}, open {is_open(p)}, threads {threads_of(p)}')
        t.check(not is_more(after, before), f'more of {is_more(after, before)}: {before} {after}')


def test_a_detach_does_not_wait_for_the_search(t):
    """Looking for the memory that was there before takes a second here. The debugger leaves, or dies, meanwhile: the agent gives the search up and is gone
    whole, so what it had mapped is unmapped without another attach."""
    with launcher(t) as p:
        attached(t, p.pid, 'detach')
        until(lambda: has_left(p), 'the end of the agent after a detach')
        for _ in range(3):
            tsdb = subprocess.Popen([tsdb_path(), '--batch', '-p', str(p.pid), '-ex', 'continue'], cwd=t.dir, env=t.environment(), stdin=subprocess.DEVNULL,
                                    stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            goes_on(p, tsdb)
            tsdb.kill()
            tsdb.wait()
            until(lambda: has_left(p), 'the end of the agent after a kill')


def test_timestamps_leave_no_thread(t):
    """CUPTI hands records over on a thread of its own, every tenth of a second: not in a program that tsdb has left. It does so again at the next attach."""
    t.need_soft()
    driver = ('tsdb-jit', 'tsdb-soft', 'tsdb-softgpu')  # threads of the driver's, which may come at any time
    with launcher(t) as p:
        for i in range(3):
            attached(t, p.pid, f'capture start t{i}.sbt', 'break kernel count', 'continue', 'continue', 'continue', 'shell sleep 0.3', 'continue', 'detach',
                     options=['-ex', 'set capture timestamps on'])
            comes(lambda: [n for n in threads_of(p) if n not in driver] == ['long_running'], 10)
            t.equal([n for n in threads_of(p) if n not in driver], ['long_running'], 'threads of the program')
            r = t.tsdb('view', f't{i}.sbt', '--json', '--kind', 'launch')
            t.match(r'"gpu_start_ns":[1-9]', r.out, 'when a launch ran')
        p.finish()


def killed_at_random(t, p, times, most):
    rng = random.Random(os.environ.get('TSDB_SEED', '1'))
    for i in range(times):
        tsdb = subprocess.Popen([tsdb_path(), '--batch', '-p', str(p.pid), '-ex', 'break kernel count', '-ex', 'continue', '-ex', 'bt', '-ex', 'capture start k.sbt',
                                 '-ex', 'continue', '-ex', 'continue', '-ex', 'detach'], cwd=t.dir, env=t.environment(), stdin=subprocess.DEVNULL,
                                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            tsdb.wait(rng.uniform(0, most))
        except subprocess.TimeoutExpired:
            tsdb.kill()
            tsdb.wait()
        if p.p.poll() == 0:
            return  # it was over: a slow machine
        t.check(p.p.poll() is None, f'the program died of kill {i}: {p.p.returncode}, {p.text()!r}')
        t.equal(p.field('TracerPid'), '0', 'tracer')


def test_killed_at_random_moments(t):
    with launcher(t) as p:
        killed_at_random(t, p, 200 if SOAK else 15, 0.4)
        t.equal(p.finish(seconds=150), 'long_running: running\nlong_running: ok\n', 'what the program printed')


def test_killed_at_random_moments_of_a_program_that_notices(t):
    # A debugger that is killed right after its stop leaves epoll_wait() with EINTR, as the kernel ends it (signal(7)).
    with target(t, '-epoll') as p:
        killed_at_random(t, p, 200 if SOAK else 15, 0.2)
        t.equal(p.finish(seconds=150), 'attach-target: running\nattach-target: ok\n', 'what the program printed')


FORKS = '''import os, time
def until(name):
    while not os.path.exists(name):
        time.sleep(0.05)
print("running", flush=True)
until("fork")
pid = os.fork()
if pid == 0:
    print("child", os.getpid(), flush=True)
    until("end")
    os._exit(0)
print(os.waitpid(pid, 0)[1], flush=True)
'''


def test_children_of_a_program_that_was_attached_to(t):
    """A forked child has the agent's memory but none of its threads; it can be attached to all the same, while its parent is or is not."""
    with Running(t, ['python3', '-c', FORKS]).await_text('running') as p:
        attached(t, p.pid, 'detach')
        with open(t.path('fork'), 'w'):
            pass
        child = int(re.search(r'child (\d+)', p.await_text('child').text()).group(1))
        attached(t, child, 'detach')
        attached(t, p.pid, 'detach')
        attached(t, child, 'detach')
        t.match(r'^0$', p.finish())


# ---- what cannot be

def test_a_traced_process_names_its_tracer(t):
    with launcher(t) as p:
        first = subprocess.Popen([tsdb_path(), '-p', str(p.pid)], cwd=t.dir, env=t.environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                 stderr=subprocess.STDOUT, text=True)
        try:
            until(lambda: p.field('TracerPid') != '0', 'a tracer')
            t.sentence(attach(t, p.pid), rf'tsdb \(process {first.pid}\) is tracing it')
        finally:
            first.communicate('detach\nquit\n', timeout=90)
        attached(t, p.pid, 'detach')


def thread_state(pid, tid):
    with open(f'/proc/{pid}/task/{tid}/stat') as f:
        return f.read().rpartition(')')[2].split()[0]


def test_a_stopped_process_stays_stopped(t):
    with launcher(t) as p:
        os.kill(p.pid, signal.SIGSTOP)
        until(lambda: p.field('State')[0] == 'T', 'the stop')
        for _ in range(2):  # the second time the agent is there
            r = attached(t, p.pid, 'info threads', 'detach')
            t.match(r'^It was stopped \(by SIGSTOP or Ctrl-Z\): `continue` wakes it, `detach` leaves it stopped\.$', r.out)
            t.match(r'long_running', r.out)
            t.no_match(r'tsdb-agent|tsdb-late', r.out, "tsdb's own threads")
            # a thread stops when it next runs, which may be some time on a busy machine
            until(lambda: {thread_state(p.pid, tid) for tid in os.listdir(f'/proc/{p.pid}/task')} == {'T'}, 'that every thread is stopped again')
        os.kill(p.pid, signal.SIGCONT)
        attached(t, p.pid, 'detach')
        t.equal(p.finish(), 'long_running: running\nlong_running: ok\n', 'what the program printed')


def test_continue_wakes_a_stopped_process(t):
    with launcher(t) as p:
        os.kill(p.pid, signal.SIGSTOP)
        until(lambda: p.field('State')[0] == 'T', 'the stop')
        r = attached(t, p.pid, 'break kernel count', 'continue', 'continue', 'detach')
        t.match(r'^\[it was stopped: it gets SIGCONT\]\nBreakpoint 1, #\d+ count<<<', r.out)
        t.equal(r.out.count('SIGCONT'), 1, 'times that it was woken')
        until(lambda: p.field('State')[0] not in 'Tt', 'that it runs')
        t.equal(p.finish(), 'long_running: running\nlong_running: ok\n', 'what the program printed')


def test_a_process_that_is_stopped_while_tsdb_is_attached(t):
    """It stays stopped, tsdb can leave it all the same, and recording it waits until somebody continues it."""
    with launcher(t) as p:
        os.kill(p.pid, signal.SIGSTOP)
        until(lambda: p.field('State')[0] == 'T', 'the stop')
        tsdb = subprocess.Popen([tsdb_path(), 'record', '-o', 'r.sbt', '-p', str(p.pid)], cwd=t.dir, env=t.environment(), stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        t.match(r'^Attached to process', tsdb.stdout.readline())
        t.match(rf'^It was stopped .*until `kill -CONT {p.pid}`\.$', tsdb.stdout.readline())
        t.match(r'^Recording until Ctrl-C', tsdb.stdout.readline())
        time.sleep(0.3)
        begun = p.switches()
        time.sleep(0.3)
        t.equal(p.switches(), begun, 'what a stopped program does')
        os.kill(p.pid, signal.SIGCONT)
        until(lambda: p.switches() > begun + 50, 'that it goes on')
        until(lambda: has_launches(t, 'r.sbt'), 'launches in the trace')
        os.kill(p.pid, signal.SIGSTOP)
        time.sleep(0.3)
        tsdb.send_signal(signal.SIGINT)
        out = tsdb.communicate(timeout=90)[0]
        t.equal(tsdb.returncode, 0, out)
        until(lambda: p.field('State')[0] == 'T' and p.field('TracerPid') == '0', 'that it is left stopped')
        os.kill(p.pid, signal.SIGCONT)
        t.equal(p.finish(), 'long_running: running\nlong_running: ok\n', 'what the program printed')
    t.check('count<<<' in t.tsdb('view', 'r.sbt', '--kind', 'launch').out, 'launches in the trace')


def test_processes_that_are_none(t):
    zombie = subprocess.Popen(['true'])
    os.waitid(os.P_PID, zombie.pid, os.WEXITED | os.WNOWAIT)
    t.sentence(attach(t, zombie.pid), r'it has ended')
    zombie.wait()
    t.sentence(attach(t, zombie.pid), r'there is no process|belongs to|is no process')
    t.sentence(attach(t, 1), r'first process')
    for path in os.listdir('/proc'):
        if path.isdigit() and os.path.exists(f'/proc/{path}/status'):
            with open(f'/proc/{path}/status') as f:
                if re.search(r'^Kthread:\s*1', f.read(), re.M):
                    t.sentence(attach(t, path), r'thread of the kernel')
                    break
    with target(t) as p:
        thread = sorted(int(x) for x in os.listdir(f'/proc/{p.pid}/task'))[1]
        t.sentence(attach(t, thread), rf'{thread} is a thread of process {p.pid}.*attach {p.pid}')


def test_tsdb_itself(t):
    with open(t.path('self'), 'w') as f:
        f.write('import os, sys\npid = os.getpid()\nos.execv(sys.argv[1], [sys.argv[1], "--batch", "-p", str(pid)])\n')
    t.sentence(t.run(['python3', 'self', tsdb_path()]), r'that is tsdb itself')


def test_a_process_of_another_user(t):
    """Root may: the control block goes through a socket."""
    if os.geteuid():
        raise Skip('not root')
    os.chmod(t.dir, 0o755)
    probe = subprocess.run(['test', '-x', program('long_running')], user=65534)
    if probe.returncode:
        raise Skip('another user cannot run the test programs')
    with Running(t, [program('long_running'), 3600], user=65534, group=65534).await_text('running') as p:
        for _ in range(2):
            r = attached(t, p.pid, 'break kernel count', 'continue', 'detach')
            t.match(r'^Breakpoint 1, #\d+ count<<<', r.out)
        t.equal(p.finish(), 'long_running: running\nlong_running: ok\n', 'what the program printed')


def test_not_as_another_user(t):
    if os.geteuid():
        raise Skip('not root')
    os.chmod(t.dir, 0o777)
    with launcher(t) as p:
        r = t.run([tsdb_path(), '--batch', '-p', p.pid], user=65534, group=65534)
        if 'Permission denied' in r.both:
            raise Skip('another user cannot run tsdb')
        t.sentence(r, r'belongs to another user, root.*sudo')


def test_a_static_program(t):
    with open(t.path('static.c'), 'w') as f:
        f.write('#include <unistd.h>\nint main(void) { return sleep(600); }\n')
    if t.run(['gcc', '-static', '-o', 'static', 'static.c']).status:
        raise Skip('no static C library')
    with Running(t, [t.path('static')]) as p:
        time.sleep(0.2)
        t.sentence(attach(t, p.pid), r'static program')


def test_a_musl_program(t):
    with open(t.path('musl.c'), 'w') as f:
        f.write('#include <unistd.h>\nint main(void) { return sleep(600); }\n')
    if not shutil.which('musl-gcc') or t.run(['musl-gcc', '-o', 'musl', 'musl.c']).status:
        raise Skip('no musl-gcc')
    with Running(t, [t.path('musl')]) as p:
        time.sleep(0.2)
        t.sentence(attach(t, p.pid), r'C library is musl')


def test_a_process_whose_first_thread_has_ended(t):
    with open(t.path('first.c'), 'w') as f:
        f.write('#include <pthread.h>\n#include <unistd.h>\nstatic void *other(void *x) { sleep(600); return x; }\n'
                'int main(void) { pthread_t t; pthread_create(&t, 0, other, 0); pthread_exit(0); }\n')
    t.equal(t.run(['gcc', '-pthread', '-o', 'first', 'first.c']).status, 0, 'gcc')
    with Running(t, [t.path('first')]) as p:
        until(lambda: p.field('State')[0] == 'Z', "the first thread's end")
        t.sentence(attach(t, p.pid), r'its first thread has ended while others run on')


def test_a_process_that_may_less_than_tsdb(t):
    """In a user namespace of its own, or without a capability, a program may not look into tsdb's /proc: memory is handed over."""
    for less in ['unshare', '--user', '--map-root-user'], ['setpriv', '--bounding-set', '-sys_ptrace', '--inh-caps', '-sys_ptrace']:
        if os.geteuid() or not shutil.which(less[0]) or subprocess.run([*less, 'true'], stderr=subprocess.DEVNULL).returncode:
            continue
        with Running(t, [*less, program('long_running'), 3600]).await_text('running') as p:
            r = attached(t, p.pid, 'break kernel count', 'continue', 'detach')
            t.match(r'^Breakpoint 1, #\d+ count<<<', r.out)
            p.finish()


def test_the_first_process_of_a_container(t):
    """When it uses the GPU it is the program; another is left alone."""
    inside = ['unshare', '--pid', '--fork', '--mount-proc']
    if os.geteuid() or not shutil.which('nsenter') or subprocess.run([*inside, 'true'], stderr=subprocess.DEVNULL).returncode:
        raise Skip('no containers')

    def attach_inside(p, *commands):
        with open(f'/proc/{p.pid}/task/{p.pid}/children') as f:
            enter = ['nsenter', '-t', f.read().split()[0], '-p', '-m', '--']
        return t.run([*enter, tsdb_path(), '--batch', '-p', '1', *[x for c in commands for x in ('-ex', c)]])
    with Running(t, [*inside, '--kill-child', program('long_running'), 3600]).await_text('running') as p:
        r = attach_inside(p, 'break kernel count', 'continue', 'detach')
        t.match(r'^Attached to process 1 \(long_running\)', r.out)
        t.match(r'^Breakpoint 1, #\d+ count<<<', r.out)
        t.equal(p.finish(), 'long_running: running\nlong_running: ok\n', 'what the program printed')
    with Running(t, [*inside, '--kill-child', program('attach-target'), 3600]).await_text('running') as p:
        t.sentence(attach_inside(p), r'it is the first process')


def test_a_32_bit_program(t):
    """A header is enough to be refused: one is run where the kernel and libraries can."""
    with open(t.path('small.c'), 'w') as f:
        f.write('int main(void) { for (;;) ; }\n')
    if t.run(['gcc', '-m32', '-static', '-nostdlib', '-e', 'main', '-o', 'small', 'small.c']).status:
        raise Skip('no 32-bit compiler')
    with Running(t, [t.path('small')]) as p:
        time.sleep(0.2)
        t.sentence(attach(t, p.pid), r'32-bit')


def test_a_vfork_child(t):
    with open(t.path('vf.c'), 'w') as f:
        f.write('#define _GNU_SOURCE\n#include <unistd.h>\n#include <stdio.h>\n#include <stdlib.h>\n'
                'int main(void) { pid_t p = vfork(); if (!p) { printf("%d\\n", getpid()); fflush(stdout); '
                'while (access("end", F_OK)) usleep(10000); _exit(0); } return 0; }\n')
    t.equal(t.run(['gcc', '-w', '-o', 'vf', 'vf.c']).status, 0, 'gcc')
    with Running(t, [t.path('vf')]) as p:
        p.await_text('\n')
        t.sentence(attach(t, int(p.text())), r'vfork child')
        p.finish()


def test_a_program_that_uses_cupti(t):
    with Running(t, [program('uses_cupti'), '3600']).await_text('counted') as p:
        t.sentence(attach(t, p.pid), r'already uses CUPTI')
        t.check(p.p.poll() is None, 'it goes on')


def test_processes_that_go_away_meanwhile(t):
    """Exits and execs at any point of an attach: one sentence or success, and no tsdb that hangs."""
    script = 'import os, sys, time\ntime.sleep(float(sys.argv[1]))\nif sys.argv[2] == "exec": os.execv("/bin/sleep", ["sleep", "2"])\n'
    with open(t.path('goes.py'), 'w') as f:
        f.write(script)
    for i in range(40 if SOAK else 8):
        with Running(t, ['python3', 'goes.py', str(0.1 + 0.005 * i), 'exec' if i % 2 else 'exit']) as p:
            time.sleep(0.1)
            r = attach(t, p.pid, 'continue', timeout=60)
            t.check(r.status is not None and 'BUG' not in r.both, 'how tsdb ended')
            if r.status:
                t.match(r'^tsdb: .*\.$', r.both)
            p.p.wait(20)


LATER = '''import ctypes, os, time
print("running", flush=True)
while not os.path.exists("init"):
    time.sleep(0.01)
cuda = ctypes.CDLL("libcuda.so.1")
ctx, p = ctypes.c_void_p(), ctypes.c_uint64()
r = [cuda.cuInit(0), cuda.cuDevicePrimaryCtxRetain(ctypes.byref(ctx), 0), cuda.cuCtxSetCurrent(ctx), cuda.cuMemAlloc_v2(ctypes.byref(p), ctypes.c_size_t(4096))]
r.append(cuda.cuMemFree_v2(p))
print(r, flush=True)
'''


def test_a_program_that_uses_the_gpu_later(t):
    """Nothing of it is missed: the driver brings the agent in at cuInit()."""
    with Running(t, ['python3', '-c', LATER]).await_text('running') as p:
        r = attached(t, p.pid, 'break alloc', 'shell touch init', 'continue', 'info allocations', 'delete', 'break free', 'continue', 'info allocations')
        t.match(r'^It has not used the GPU yet', r.out)
        t.match(r'^Breakpoint 1, #\d+ alloc 4\.?0* ?Ki?B|^Breakpoint 1, #\d+ .*4096', r.out)
        t.match(r'^Breakpoint 2, #\d+ free', r.out)
        t.equal(p.finish(), 'running\n[0, 0, 0, 0, 0]\n', 'what the program printed')


def test_a_window_after_attach_replays(t):
    """Memory, code and streams from before the attach are in the window's trace, so it can be executed again."""
    with Running(t, [program('late'), 3600]).await_text('running') as p:
        r = attached(t, p.pid, 'capture window kernel table_step count 20', 'continue', 'detach')
        t.match(r'^The capture window is closed', r.out)
        name = t.match(r'-> (\S+\.sbt)', r.out).group(1).rstrip(',')
        p.finish()
    r = t.tsdb('replay', name, '--verify', '--on', t.gpu)
    t.equal(r.status, 0, 'replay')
    t.match(r'(\d+) of \1 allocations identical, 19 of 19 outputs identical', r.out)
