# SPDX-License-Identifier: Apache-2.0
"""Deadlocks of Python threads with the GPU, through ctypes and the driver API. stuck_python.py CASE; what is wrong in each is said in table.py. Needs nothing but
CPython. ctypes.PyDLL keeps the interpreter's lock during a call, as an extension that forgets to release it does."""
import ctypes
import os
import signal
import sys
import threading
import time

free, holding = ctypes.CDLL('libcuda.so.1'), ctypes.PyDLL('libcuda.so.1')
PTX = b"""
.version 7.0
.target sm_75
.address_size 64
.visible .entry wait_flag(.param .u64 flag)
{
	.reg .u64 %a; .reg .u32 %v; .reg .pred %p;
	ld.param.u64 %a, [flag];
again:
	ld.volatile.global.u32 %v, [%a];
	setp.eq.u32 %p, %v, 0;
	@%p bra again;
	ret;
}
"""


def check(r):
    if r:
        raise RuntimeError(f'CUDA error {r}')


ctx, module, kernel, stream = (ctypes.c_void_p() for _ in range(4))
flag = ctypes.c_void_p()


def start():
    dev = ctypes.c_int()
    check(free.cuInit(0))
    check(free.cuDeviceGet(ctypes.byref(dev), 0))
    check(free.cuDevicePrimaryCtxRetain(ctypes.byref(ctx), dev))
    check(free.cuCtxSetCurrent(ctx))
    check(free.cuModuleLoadData(ctypes.byref(module), PTX))
    check(free.cuModuleGetFunction(ctypes.byref(kernel), module, b'wait_flag'))
    check(free.cuStreamCreate(ctypes.byref(stream), 1))
    check(free.cuMemHostAlloc(ctypes.byref(flag), ctypes.c_size_t(4096), 2))
    ctypes.memset(flag, 0, 4096)


def launch():
    args = (ctypes.c_void_p * 1)(ctypes.addressof(flag))
    check(free.cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, stream, args, None))


def ready():
    print('ready', flush=True)


def set_flag_later():
    time.sleep(0.2)  # and needs the interpreter's lock to come back
    ctypes.cast(flag, ctypes.POINTER(ctypes.c_int))[0] = 1


def gil_held_while_the_gpu_is_waited_for():
    launch()
    threading.Thread(target=set_flag_later, name='setter', daemon=True).start()
    ready()
    check(holding.cuStreamSynchronize(stream))


HOST_FN = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


@HOST_FN
def host_function(arg):
    pass


def host_function_needs_the_gil():
    """The stream's thread cannot begin the function, since this one has the lock and waits for the stream."""
    sys.setswitchinterval(1000)
    check(free.cuStreamWaitValue32_v2(stream, flag, 1, 1))
    check(free.cuLaunchHostFunc(stream, host_function, None))
    ready()
    ctypes.cast(flag, ctypes.POINTER(ctypes.c_int))[0] = 1
    check(holding.cuStreamSynchronize(stream))


def locks_in_opposite_orders():
    a, b, both = threading.Lock(), threading.Lock(), threading.Barrier(2)

    def other():
        with b:
            both.wait()
            with a:
                pass
    threading.Thread(target=other, name='other', daemon=True).start()
    with a:
        both.wait()
        ready()
        with b:
            pass


CASES = [gil_held_while_the_gpu_is_waited_for, host_function_needs_the_gil, locks_in_opposite_orders]

signal.alarm(int(os.environ.get('HANG_SECONDS', '120')))
start()
{f.__name__: f for f in CASES}[sys.argv[1]]()
