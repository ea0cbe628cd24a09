# SPDX-License-Identifier: Apache-2.0
"""GPU core dumps: tsdb core, of a file and of a process. The dump is an H200's; tests/unit/test-gpu-core.c has its program."""
import ctypes
import json
import os
import subprocess
import sys

from e2e import SRC


def unpacked(t):
    with open(os.path.join(SRC, 'tests/unit/data/h200-spin.core.zst'), 'rb') as f:
        packed = f.read()
    zstd = ctypes.CDLL('libzstd.so.1')
    zstd.ZSTD_getFrameContentSize.restype = ctypes.c_ulonglong
    zstd.ZSTD_decompress.restype = ctypes.c_size_t
    size = zstd.ZSTD_getFrameContentSize(packed, ctypes.c_size_t(len(packed)))
    out = ctypes.create_string_buffer(size)
    t.equal(zstd.ZSTD_decompress(out, ctypes.c_size_t(size), packed, ctypes.c_size_t(len(packed))), size, 'bytes of the dump')
    with open(t.path('spin.core'), 'wb') as f:
        f.write(out.raw)
    return t.path('spin.core')


def test_kernels_and_places(t):
    r = t.tsdb('core', unpacked(t))
    t.equal(r.status, 0, 'status')
    lines = r.out.splitlines()
    t.equal(lines[0], 'wait_flag(int volatile*, int)<<<3,64>>> on device 0, launched by host thread 570: 3 blocks and 192 lanes running', 'kernel')
    t.check('144 lanes in wait_flag(int volatile*, int) at spin.cu:21; the first: block (0,0,0) thread (8,0,0)' in lines[1], lines[1])
    t.check(any('in look(int volatile*) at spin.cu:13 <- wait_flag(int volatile*, int) at spin.cu:18' in x for x in lines), r.out)


def test_json(t):
    kernels = json.loads(t.tsdb('core', '--json', unpacked(t)).out)
    t.equal(len(kernels), 1, 'kernels')
    t.equal(sum(p['lane_count'] for p in kernels[0]['place_list']), kernels[0]['lane_count'], 'lanes of the places')


def test_refusals(t):
    with open(t.path('cut.core'), 'wb') as cut, open(unpacked(t), 'rb') as f:
        cut.write(f.read()[:100000])
    for args, says in ((['cut.core'], 'cut.core: the GPU core dump is damaged'), (['/proc/self/exe'], 'this is no GPU core dump'),
                       (['nowhere'], 'cannot open nowhere'), ([], 'core needs a GPU core dump, or a process'), (['a', 'b'], 'core has no option b')):
        r = t.tsdb('core', *args)
        t.equal(r.status, 1, f'status of {args}')
        t.check(says in r.err, f'{args}: {r.err}')


DRIVER = """
import os, sys, time
folder, dump = sys.argv[1:]
fifo = os.path.join(folder, f'pipe.{os.getpid()}')
os.mkfifo(fifo)
with open(os.open(fifo, os.O_RDWR), 'rb', buffering=0) as f, open(dump, 'rb') as d:
    print('ready', flush=True)
    f.read(1)
    with open(os.path.join(folder, f'core.1700000000.{os.getpid()}'), 'wb', buffering=0) as out:
        while part := d.read(40000):  # it grows, as the driver's does
            out.write(part)
            time.sleep(0.02)
time.sleep(60)
"""


def started(t, **env):
    """A process that stands in for one with NVIDIA's driver."""
    p = subprocess.Popen([sys.executable, '-c', DRIVER, t.dir, unpacked(t)], env=t.environment(env), stdout=subprocess.PIPE, text=True)
    p.stdout.readline()
    return p


def test_a_process_is_asked(t):
    env = {'CUDA_ENABLE_USER_TRIGGERED_COREDUMP': '1', 'CUDA_COREDUMP_PIPE': t.path('pipe.%p'), 'CUDA_COREDUMP_FILE': t.path('core.%t.%p')}
    p = started(t, **env)
    try:
        r = t.tsdb('core', '-p', p.pid)
        t.equal(r.status, 0, 'status')
        t.check('144 lanes in wait_flag(int volatile*, int) at spin.cu:21' in r.out, r.out)
        t.check(f'the dump is {t.path("core.1700000000")}.{p.pid}; the process has lost its context' in r.err, r.err)
    finally:
        p.kill()
        p.wait()


def test_why_inside(t):
    """What costs the program its context is asked for only if the user says so, and only where cuda-gdb is not installed."""
    none = {'TSDB_CUDA_GDB': '/nonexistent'}
    env = {'CUDA_ENABLE_USER_TRIGGERED_COREDUMP': '1', 'CUDA_COREDUMP_PIPE': t.path('pipe.%p'), 'CUDA_COREDUMP_FILE': t.path('core.%t.%p')}
    p = started(t, **env)
    try:
        r = t.tsdb('why', p.pid, '--inside', env=none)
        t.check('there is no terminal to ask at. Use --yes, or `set coredump on`' in r.err, r.err)
        t.check('144 lanes' not in r.out, r.out)
        r = t.tsdb('-ex', 'set coredump off', 'why', p.pid, '--inside', '--yes', env=none)
        t.check('144 lanes' not in r.out, 'it is switched off: ' + r.both)
        r = t.tsdb('why', p.pid, '--inside', '--yes', env=none)
        t.equal(r.status, 0, 'status')
        t.check('144 lanes in wait_flag(int volatile*, int) at spin.cu:21' in r.out, r.both)
        t.check('the process has lost its context' in r.err, r.err)
    finally:
        p.kill()
        p.wait()
    t.sentence(t.tsdb('why', '1', '--yes'), '--yes needs --inside')


def test_a_process_that_cannot_be_asked(t):
    p = started(t)
    try:
        t.sentence(t.tsdb('core', '-p', p.pid), r'process \d+ was not started for core dumps\. Start it with CUDA_ENABLE_USER_TRIGGERED_COREDUMP=1')
    finally:
        p.kill()
        p.wait()
    p = started(t, CUDA_ENABLE_USER_TRIGGERED_COREDUMP='1', CUDA_COREDUMP_PIPE=t.path('elsewhere.%p'))
    try:
        t.sentence(t.tsdb('core', '-p', p.pid), r'the driver in process \d+ listens at no pipe for core dumps')
    finally:
        p.kill()
        p.wait()
    t.sentence(t.tsdb('core', '-p', '4194000'), 'there is no process 4194000')
    t.sentence(t.tsdb('core', '-p', 'x'), '"x" is no process number')
