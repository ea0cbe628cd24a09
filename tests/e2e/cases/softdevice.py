# SPDX-License-Identifier: Apache-2.0
"""The software GPU as the shell sets it up: a limit on time, several devices, a kernel that never ends, textures in a trace."""
import os
import shutil
import sys
import time

sys.path.insert(0, os.path.dirname(__file__))
from interactive import Terminal  # noqa: E402
from e2e import BUILD, program  # noqa: E402


def test_kernel_that_never_ends_is_stopped_in_time(t):
    t.need_soft()
    start = time.monotonic()
    r = t.session('endless', 'set softgpu timeout 1', 'set softgpu devices 3', 'run', 'continue')
    t.match(r'^3 devices$', r.out)
    t.match(r'^The GPU has faulted: CUDA_ERROR_LAUNCH_TIMEOUT \(702\), first said by cuCtxSynchronize:$', r.out)
    t.match(r'^702: ', r.out, 'the error of a launch that timed out')
    t.match(r'kernel _Z7endlessPVi.*the time limit is over', r.err)
    t.check(time.monotonic() - start < 90, 'it took too long')


def test_ctrl_c_stops_a_kernel_that_never_ends(t):
    t.need_soft()
    s = Terminal(t, '-q', '--args', program('endless'))
    s.prompt()
    s.p.sendline('run')
    s.expect(r'1 devices')
    t.await_ticks(0.3)
    s.p.sendintr()
    t.match(r'SIGINT|[Ii]nterrupt', s.prompt())
    s.p.sendline('kill')
    s.expect(r'[(]y or n[)]|\(tsdb\) ')
    if 'y or n' in s.p.after:
        s.type('y')
    s.quit()


def test_textures_of_every_shape_are_replayed(t):
    t.need_soft()
    r = t.record('ptx-suite/texture', out='tex.sbt')
    t.equal(r.status, 0, 'recording')
    t.no_match('not replayable', r.err)
    r = t.tsdb('replay', '--verify', 'tex.sbt')
    t.equal(r.status, 0, 'replay')
    t.match(r'^(\d+) of \1 allocations identical, (\d+) of \2 outputs identical$', r.out)


def test_litmus_shapes_come_out_the_same_on_any_number_of_workers(t):
    """The memory model's shapes: nothing forbidden is seen, and a scan with look-back has the same bits, however many workers run it."""
    t.need_soft()
    outs = {}
    for workers in '1', '2', '4':
        for jit in '0', 'force':
            r = t.run([program('litmus')], env={'LD_LIBRARY_PATH': os.path.join(BUILD, 'softgpu'), 'TSDB_SOFT_WORKERS': workers, 'TSDB_SOFT_JIT': jit})
            t.equal(r.status, 0, f'{workers} workers, JIT {jit}: {r.out}')
            outs[workers, jit] = r.out
    t.equal(len(set(outs.values())), 1, f'kinds of output: {outs}')


def test_a_shuffle_from_a_lane_that_is_not_there_is_named_once(t):
    """8 lanes: step 16 reads lanes 16 to 23 and step 8 lanes 8 to 15, none of which takes part: they give 0, as on an H200. 1 + ... + 8 = 36."""
    t.need_soft()
    env = {'LD_LIBRARY_PATH': os.path.join(BUILD, 'softgpu')}
    r = t.run([program('shuffles')], env=env)
    t.equal(r.out, '36\n', 'the sum')
    t.equal(len(r.err.splitlines()), 1, f'lines about it: {r.err}')
    t.match(r'a result that is not defined: kernel _Z4sum8Piii, block \(0,0,0\), thread \(0,0,0\), PTX line \d+: shfl.*reads lane 16, which takes no part', r.err)
    r = t.run([program('shuffles'), 'fixed'], env=env)
    t.equal((r.out, r.err), ('36\n', ''), 'the fixed twin')


def test_memory_that_is_freed_while_a_kernel_uses_it(t):
    """A fault with a name, interpreted and compiled, alone and recorded: the process lives on."""
    t.need_soft()
    line = r'illegal address: kernel _Z6writesPViS0_, .* to 0x[0-9a-f]+, 4 bytes; the program freed this memory while the kernel ran$'
    for jit in '0', '1', 'force':
        r = t.run([program('freed_in_use')], env={'LD_LIBRARY_PATH': os.path.join(BUILD, 'softgpu'), 'TSDB_SOFT_JIT': jit})
        t.equal((r.status, r.out), (0, 'an illegal memory access was encountered\n'), jit)
        t.match(line, r.err, jit)
    r = t.record('freed_in_use')
    t.equal(r.status, 0, 'record')
    t.match(line, r.err)


def test_compute_capability(t):
    """TSDB_SOFT_CC is what programs see, and what decides which PTX they get; one that there is not is refused."""
    t.need_soft()
    for cc in '7.5', '8.0', '9.0', '10.0':
        r = t.record('vecadd', env={'TSDB_SOFT_CC': cc})
        t.equal(r.status, 0, f'record on {cc}')
        major, minor = cc.split('.')
        t.match(rf'^#\d+ device 0 "TraceSmith software GPU" sm_major {major} sm_minor {minor} ' if minor != '0' else rf'^#\d+ device 0 "TraceSmith software GPU" sm_major {major} (?!sm_minor [1-9])',
                t.tsdb('view', 't.sbt').out)
        t.equal(t.tsdb('replay', 't.sbt').status, 0, f'replay of {cc}')
    r = t.session('vecadd', 'set softgpu sm 90', 'show softgpu sm', 'capture start t.sbt', 'run', 'continue')
    t.match(r'sm_major 9 (?!sm_minor [1-9])', t.tsdb('view', 't.sbt').out)
    r = t.session('vecadd', 'set softgpu sm 61', 'show softgpu sm')
    t.match(r'^tsdb: the software GPU has no compute capability sm_61\. Use "set softgpu sm" with 75, 80, 86, 89, 90, 100 or 120', r.err)
    r = t.record('vecadd', env={'TSDB_SOFT_CC': '6.1'})
    t.check(r.status != 0, 'refused')
    t.match(r'TSDB_SOFT_CC=6\.1 is none of the compute capabilities 7\.5, 8\.0, 8\.6, 8\.9, 9\.0, 10\.0 and 12\.0', r.err)
    nvcc = shutil.which('nvcc') or os.path.join(os.environ.get('CUDA_DIR', '/usr/local/cuda'), 'bin', 'nvcc')
    if not os.path.exists(nvcc):
        return
    with open(t.path('which.cu'), 'w', encoding='ascii') as f:
        f.write('#include <cstdio>\n__global__ void k(int *p) {\n#ifdef __CUDA_ARCH__\n*p = __CUDA_ARCH__;\n#endif\n}\n'
                'int main() { int *p, v; cudaMalloc(&p, 4); k<<<1, 1>>>(p); cudaMemcpy(&v, p, 4, cudaMemcpyDeviceToHost); printf("arch %d\\n", v); }\n')
    gen = [x for a in ('75', '80', '90') for x in ('-gencode', f'arch=compute_{a},code=compute_{a}')]
    t.equal(t.run([nvcc, '-cudart', 'shared', *gen, 'which.cu', '-o', 'which']).status, 0, 'nvcc')
    for cc, arch in ('7.5', 750), ('8.6', 800), ('9.0', 900), ('10.0', 900):
        t.match(rf'^arch {arch}$', t.tsdb('record', '--gpu', 'soft', '-o', 'w.sbt', '--', './which', env={'TSDB_SOFT_CC': cc}).out, cc)
