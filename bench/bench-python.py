#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What mixed Python and native stacks cost: nanoseconds per launch of a Python program that launches a tiny kernel through ctypes from under
many frames, recorded without stacks and with them. Every second Python frame is called through a type's slot, as PyTorch's modules are, so that
the interpreter's loop is entered anew. Times are of the launching thread alone (its CPU time). Figures are medians over rounds that interleave the modes.

  bench-python.py [LAUNCHES [ROUNDS]]      TSDB_BUILD, TSDB_GPU as for the end-to-end tests; BENCH_PYTHONS: interpreters, separated by :
"""
import ctypes
import glob
import os
import statistics
import subprocess
import sys
import tempfile
import time

from built import GPU, environment, find

DEPTHS = (4, 32, 64)
PTX = b'.version 7.0\n.target sm_75\n.address_size 64\n.visible .entry tiny() { ret; }\n'


# ---- the program that is measured ----

class Layer:
    def __init__(self, inner):
        self.inner = inner

    def __call__(self, n):
        return self.forward(n)

    def forward(self, n):
        return self.inner(n)


def child(depth, launches):
    cuda = ctypes.CDLL('libcuda.so.1')
    dev, ctx, module, kernel = ctypes.c_int(), ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
    for r in (cuda.cuInit(0), cuda.cuDeviceGet(ctypes.byref(dev), 0), cuda.cuDevicePrimaryCtxRetain(ctypes.byref(ctx), dev), cuda.cuCtxSetCurrent(ctx),
              cuda.cuModuleLoadData(ctypes.byref(module), PTX), cuda.cuModuleGetFunction(ctypes.byref(kernel), module, b'tiny')):
        if r:
            sys.exit(f'CUDA error {r}')

    def work(n):
        launch = cuda.cuLaunchKernel
        begin = time.thread_time_ns()
        for _ in range(n):
            launch(kernel, 1, 1, 1, 1, 1, 1, 0, None, None, None)
        took = time.thread_time_ns() - begin
        cuda.cuCtxSynchronize()
        return took / n

    call = work
    for _ in range(depth // 2):
        call = Layer(call)
    call(1000)
    print('ns per launch', call(launches))


# ---- the measurement ----

def pythons():
    given = os.environ.get('BENCH_PYTHONS')
    if given:
        return given.split(':')
    found = {}
    for folder in os.environ.get('PATH', '/usr/bin').split(':') + sorted(glob.glob(os.path.expanduser('~/.pyenv/versions/*/bin'))):
        for minor in (11, 12, 13):
            path = os.path.join(folder, f'python3.{minor}')
            if os.access(path, os.X_OK):
                p = subprocess.run([path, '-c', 'import ctypes, sys; print(sys.executable)'], capture_output=True, text=True)
                if not p.returncode:
                    found.setdefault(minor, p.stdout.strip())
    return [found[m] for m in sorted(found)]


def measure(argv):
    env = environment()
    p = subprocess.run(argv, env=env, capture_output=True, text=True)
    for line in p.stdout.splitlines():
        if line.startswith('ns per launch'):
            return float(line.split()[-1])
    sys.exit(f'bench: {argv} printed\n{p.stdout}{p.stderr}')


def main():
    launches = int(sys.argv[1]) if len(sys.argv) > 1 else (100000 if GPU == 'real' else 20000)
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 5
    tsdb = find('bin/tsdb', 'tsdb')
    print(f'{launches} launches from Python, {rounds} rounds, device {GPU}; ns per launch (medians)')
    print(f'{"interpreter":42} {"frames":>6} {"plain":>7} {"record, no stacks":>18} {"with stacks":>12} {"stack costs":>12}')
    for python in pythons():
        for depth in DEPTHS:
            with tempfile.TemporaryDirectory() as d:
                program = [python, os.path.abspath(__file__), '--child', str(depth), str(launches)]
                record = [tsdb, 'record', '--gpu', GPU, '-o', os.path.join(d, 't.sbt')]
                modes = (program, record + ['--no-stacks', '--'] + program, record + ['--'] + program)
                times = [[], [], []]
                for _ in range(rounds):
                    for t, argv in zip(times, modes):
                        t.append(measure(argv))
                plain, without, stacks = map(statistics.median, times)
                print(f'{python:42} {depth + 2:6} {plain:7.0f} {without:18.0f} {stacks:12.0f} {stacks - without:12.0f}', flush=True)


if sys.argv[1:2] == ['--child']:
    child(int(sys.argv[2]), int(sys.argv[3]))
else:
    main()
