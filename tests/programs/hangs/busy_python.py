# SPDX-License-Identifier: Apache-2.0
"""Python programs that are slow, or have nothing to do, and are not stuck. busy_python.py CASE"""
import ctypes
import os
import queue
import signal
import sys
import threading
import time

cuda = ctypes.CDLL('libcuda.so.1')
ctx, stream, memory = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()


def check(r):
    if r:
        raise RuntimeError(f'CUDA error {r}')


def start():
    dev = ctypes.c_int()
    check(cuda.cuInit(0))
    check(cuda.cuDeviceGet(ctypes.byref(dev), 0))
    check(cuda.cuDevicePrimaryCtxRetain(ctypes.byref(ctx), dev))
    check(cuda.cuCtxSetCurrent(ctx))
    check(cuda.cuStreamCreate(ctypes.byref(stream), 1))
    check(cuda.cuMemAlloc_v2(ctypes.byref(memory), ctypes.c_size_t(1 << 20)))


def step():
    check(cuda.cuCtxSetCurrent(ctx))
    check(cuda.cuMemsetD8Async(memory, 1, ctypes.c_size_t(1 << 20), stream))
    check(cuda.cuStreamSynchronize(stream))


def ready():
    print('ready', flush=True)


def compute(seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        sum(range(1000))


def threads_contend_for_the_gil():
    for _ in range(3):
        threading.Thread(target=compute, args=(1e9,), daemon=True).start()
    ready()
    compute(1e9)


def queue_with_a_slow_worker():
    q = queue.Queue()

    def worker():
        while True:
            compute(0.4)
            step()
            q.put(1)
    threading.Thread(target=worker, daemon=True).start()
    ready()
    while True:
        q.get()


CASES = [threads_contend_for_the_gil, queue_with_a_slow_worker]

signal.alarm(int(os.environ.get('HANG_SECONDS', '120')))
start()
{f.__name__: f for f in CASES}[sys.argv[1]]()
