# SPDX-License-Identifier: Apache-2.0
"""GPU work from many kinds of Python frames, through ctypes and the driver API. Needs nothing but CPython.

Each launch is of a kernel named after what its stack must show; the lines marked with # AT name are where it is launched.
"""
import asyncio
import ctypes
import sys
import threading

cuda = ctypes.CDLL('libcuda.so.1')

NAMES = ['nested', 'lambda_', 'generator', 'coroutine', 'thread', 'callback', 'deep', 'evaluated', 'executed', 'method', 'init', 'comprehension',
         'decorated', 'finalizer', 'umlaut']
PTX = '.version 7.0\n.target sm_75\n.address_size 64\n' + ''.join(
    f'.visible .entry {n}() {{ ret; }}\n' for n in NAMES)


def check(r):
    if r:
        raise RuntimeError(f'CUDA error {r}')


kernels = {}
ctx, module = ctypes.c_void_p(), ctypes.c_void_p()


def start():
    dev = ctypes.c_int()
    check(cuda.cuInit(0))
    check(cuda.cuDeviceGet(ctypes.byref(dev), 0))
    check(cuda.cuDevicePrimaryCtxRetain(ctypes.byref(ctx), dev))
    check(cuda.cuCtxSetCurrent(ctx))
    check(cuda.cuModuleLoadData(ctypes.byref(module), PTX.encode()))
    for n in NAMES:
        f = ctypes.c_void_p()
        check(cuda.cuModuleGetFunction(ctypes.byref(f), module, n.encode()))
        kernels[n] = f


def launch(name):
    check(cuda.cuLaunchKernel(kernels[name], 1, 1, 1, 1, 1, 1, 0, None, None, None))  # AT launch


def outer():
    return middle()  # AT outer


def middle():
    launch('nested')  # AT middle


def gen():
    yield 1
    launch('generator')  # AT gen
    yield 2


def drain():
    return list(gen())  # AT drain


async def inner_task():
    await asyncio.sleep(0)
    launch('coroutine')  # AT inner_task


async def outer_task():
    await inner_task()  # AT outer_task


def in_thread():
    check(cuda.cuCtxSetCurrent(ctx))
    launch('thread')  # AT in_thread


COMPARE = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
seen = []


def compare(a, b):
    if not seen:
        seen.append(1)
        launch('callback')  # AT compare
    return 0


def sort():
    libc = ctypes.CDLL(None)
    array = (ctypes.c_int * 2)(2, 1)
    libc.qsort(array, 2, 4, COMPARE(compare))  # AT sort


def deep(n):
    if n:
        return deep(n - 1)  # AT deep
    launch('deep')  # AT bottom


class Net:
    def __init__(self):
        launch('init')  # AT init

    def forward(self):
        launch('method')  # AT forward

    def __call__(self):
        self.forward()  # AT call

    def __del__(self):
        launch('finalizer')  # AT del


def decorate(f):
    def wrapper(*args):
        return f(*args)  # AT wrapper
    return wrapper


@decorate
def decorated():
    launch('decorated')  # AT decorated


def größe():
    launch('umlaut')  # AT umlaut


def main():
    sys.setrecursionlimit(20000)
    start()
    outer()  # AT main
    (lambda: launch('lambda_'))()  # AT lambda
    drain()
    asyncio.run(outer_task())
    t = threading.Thread(target=in_thread)
    t.start()
    t.join()
    sort()
    deep(int(sys.argv[1]) if len(sys.argv) > 1 else 10)
    eval("launch('evaluated')", globals())  # AT eval
    exec("def f():\n    launch('executed')\nf()\n", {'launch': launch})  # AT exec
    net = Net()
    net()
    del net  # AT delete
    [launch('comprehension') for _ in range(1)]  # AT comprehension
    decorated()
    größe()
    check(cuda.cuCtxSynchronize())
    print('done')


if __name__ == '__main__':
    main()  # AT module
