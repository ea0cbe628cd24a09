# SPDX-License-Identifier: Apache-2.0
"""Code objects that come and go, many threads, and sub-interpreters: launch number i (grid_x) must show function f<i> at line 3 + i % 5 (number 100000, of the
sub-interpreter: line 7)."""
import ctypes
import gc
import sys
import threading

cuda = ctypes.CDLL('libcuda.so.1')
PTX = b'.version 7.0\n.target sm_75\n.address_size 64\n.visible .entry churn() { ret; }\n'
ctx, module, kernel, dev = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_int()
for r in (cuda.cuInit(0), cuda.cuDeviceGet(ctypes.byref(dev), 0), cuda.cuDevicePrimaryCtxRetain(ctypes.byref(ctx), dev), cuda.cuCtxSetCurrent(ctx),
          cuda.cuModuleLoadData(ctypes.byref(module), PTX), cuda.cuModuleGetFunction(ctypes.byref(kernel), module, b'churn')):
    if r:
        sys.exit(f'CUDA error {r}')


def launch(i):
    if cuda.cuLaunchKernel(kernel, i, 1, 1, 1, 1, 1, 0, None, None, None):
        raise RuntimeError('launch')


def once(i):
    scope = {'launch': launch}
    exec(f'# comment\ndef f{i}():' + '\n' * (i % 5) + f'\n    launch({i})\n', scope)
    scope[f'f{i}']()


def churn(first, n):
    cuda.cuCtxSetCurrent(ctx)
    for i in range(first, first + n):
        once(i)
        if i % 50 == 0:
            gc.collect()


SUB = '''
import ctypes
cuda = ctypes.CDLL('libcuda.so.1')
kernel = ctypes.c_void_p({kernel})
def f{i}():

    cuda.cuLaunchKernel(kernel, {i}, 1, 1, 1, 1, 1, 0, None, None, None)
f{i}()
'''


def sub():
    """In another interpreter of the same thread: Python functions below and above."""
    for name in ('_interpreters', '_xxsubinterpreters'):
        try:
            m = __import__(name)
        except ImportError:
            continue
        try:
            i = m.create('legacy') if name == '_interpreters' else m.create(isolated=False)
        except TypeError:
            i = m.create()
        m.run_string(i, SUB.format(kernel=kernel.value, i=100000))
        return


def main():
    churn(1, 400)
    threads = [threading.Thread(target=churn, args=(1000 * k, 200)) for k in range(1, 5)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    if sys.argv[1:] == ['sub']:
        sub()
    cuda.cuCtxSynchronize()


main()
