# SPDX-License-Identifier: Apache-2.0
"""A device fault, or a call that fails, stops the program where it is first seen."""
import os
import re

from e2e import BUILD, program, tsdb_path


def test_a_fault_stops_the_program(t):
    r = t.session('bad_address', 'run', 'bt', 'info args', 'print arg1', 'print/d arg1 + 1', 'info allocations', 'continue')
    t.equal(r.status, 0, 'the session')
    t.match(r'^The GPU has faulted: CUDA_ERROR_ILLEGAL_ADDRESS \(700\), first said by cuCtxSynchronize(_v2)?:$', r.out)
    if t.gpu == 'soft':
        t.match(r'^  in #\d+ stray<<<\(1,1,1\),\(32,1,1\)>>> stream 0$', r.out)
        t.match(r'^  block \(0,0,0\), thread \(0,0,0\), \S*/bad_address\.cu:9, line \d+ of the PTX$', r.out)
        # The kernel writes element 2^40 of ints; the allocation is 4 bytes.
        t.match(rf'^  4 bytes at 0x[0-9a-f]+, {4 * 2**40 - 4} bytes past the end of the nearest allocation: 4 bytes at 0x[0-9a-f]+, by #\d+$', r.out)
    t.match(r' stray<<<\(1,1,1\),\(32,1,1\)>>> stream 0\n(      #\d+ .*\n)*?      #\d+ +main \(\) at \S*bad_address\.cu:16\n', r.out)
    t.match(r'^Of #\d+, (which faulted|the only launch that was not known to have finished):\nv = \(int \*\) 0x.*\nfar_away = 1099511627776$', r.out)
    t.match(rf'^\$1 = 0x10000000000\n\$2 = {2**40 + 1}$', r.out)
    t.match(r'^#\d+ .*main \(\) at .*bad_address\.cu:17$', r.out)
    t.match(r'^0x[0-9a-f]+ +4 +device', r.out)
    t.match(r'^bad_address: cudaErrorIllegalAddress$', r.out)
    t.match(r'exited normally', r.out)


def test_the_launch_and_where_it_came_from(t):
    """Of three launches of one kernel the second: its place in the kernel, its host stack and its arguments, whichever call said it first."""
    t.need_soft()
    r = t.session('fault_among', 'run', 'info args', 'info args --json', 'print arg1', 'print arg2', 'set stop-on-error off', 'continue')
    t.equal(len(re.findall(r'^  in #', r.out, re.M)), 1, 'launches named')
    t.match(r'^  in #\d+ put<<<\(1,1,1\),\(1,1,1\)>>> stream 1\n(      #\d+ .*\n)*?      #\d+ +send\b.* at \S*fault_among\.cu:14\b.*\n'
            r'      #\d+ +main \(\) at \S*fault_among\.cu:29\n', r.out)
    t.match(r'^  block \(0,0,0\), thread \(0,0,0\), \S*/fault_among\.cu:9, line \d+ of the PTX$', r.out)
    t.match(r'^Of #\d+, which faulted:\nv = .*allocation of 4 bytes.*\nat = 1099511627776$', r.out)
    t.match(r'"arg":1,"offset":8,"size":8,"data":"0000000000010000","value":"0x10000000000"', r.out)
    t.match(r'^\$1 = 0x10000000000$', r.out)  # of #12; #13, which the program stands at, has 0 there
    t.match(r'the kernel has no arg2', r.err)
    t.match(r'^fault_among: cudaErrorIllegalAddress$', r.out)


def test_a_graph_launch_and_where_it_came_from(t):
    t.need_soft()
    r = t.session('fault_among', 'run', 'info args', args=('graph',))
    t.match(r'^  in #\d+ graph_launch .*\n(      #\d+ .*\n)*?      #\d+ +main \(\) at \S*fault_among\.cu:34\n', r.out)
    t.match(r'^  block \(0,0,0\), thread \(0,0,0\), \S*/fault_among\.cu:9, line \d+ of the PTX$', r.out)
    t.match(r'is no kernel launch', r.err)


def test_stacks_may_be_switched_off(t):
    t.need_soft()
    r = t.session('fault_among', 'set capture stacks off', 'run')
    t.match(r'^  in #\d+ put<<<.*\n  block ', r.out)


def test_the_trace_of_a_fault_is_whole(t):
    r = t.session('bad_address', 'set capture output f.sbt', 'start', 'capture start', 'continue', 'capture stop', 'continue')
    t.match(r'^The GPU has faulted', r.out)
    t.match(r'\[captured #\d+-#\d+ -> f\.sbt', r.both)
    v = t.tsdb('view', 'f.sbt')
    t.equal(v.status, 0, 'view')
    t.match(r'stray<<<', v.out)
    t.match(r'sync_end #\d+ = ERROR 700', v.out)


def test_it_may_be_switched_off(t):
    r = t.session('bad_address', 'set stop-on-error off', 'run')
    t.check('faulted' not in r.out, 'no stop')
    t.match(r'exited normally', r.out)


def test_record_does_not_stop(t):
    r = t.record('bad_address')
    t.equal((r.status, r.out), (0, 'bad_address: cudaErrorIllegalAddress\n'), 'the program')


def test_calls_that_fail(t):
    r = t.session('failing_calls', 'catch error cuMemAlloc', 'run', 'bt', 'catch error 1', 'continue', 'set stop-on-error fault', 'continue')
    t.match(r'^cuMemAlloc_v2 has failed: CUDA_ERROR_OUT_OF_MEMORY \(2\):$', r.out)
    t.match(r'^#\d+ .*main \(\) at .*failing_calls\.cu:12$', r.out)
    t.match(r'^cuLaunchKernel has failed: CUDA_ERROR_INVALID_VALUE \(1\):$', r.out)
    t.equal(r.out.count('has failed'), 2, 'stops')
    t.match(r'^failing_calls: 32$', r.out)
    r = t.session('failing_calls', 'catch error CUDA_ERROR_OUT_OF_MEMORY', 'run', 'continue')
    t.equal(r.out.count('has failed'), 1, 'stops')
    t.match(r'^failing_calls: 32$', r.out)
    r = t.session('failing_calls', 'catch nothing')
    t.match(r'catch needs "error"', r.both)


def word(i):
    """What fault_kept writes to element i."""
    return (i * 2654435761 + 1) % 2**32


LAST = (48 << 20) - 4  # of the last four elements the first


def test_memory_from_before_the_fault_is_kept(t):
    """The launch that a window begins with faults, while most of the memory from before it has not been sent yet."""
    r = t.session('fault_kept', 'capture window kernel stray count 2', 'run', f'x/4xw arg0 + {4 * LAST}', 'info args/2x', 'continue')
    t.match(r'^The GPU has faulted: CUDA_ERROR_ILLEGAL_ADDRESS', r.out)
    first, name = t.match(r'\[captured #(\d+)-#\d+ -> (\S+\.sbt)', r.both).groups()
    values = ''.join(f'\\t0x{word(LAST + i):08x}' for i in range(4))
    addr = t.match(f'^As it was before #{first}, where the capture began:\n(0x[0-9a-f]+):{values}$', r.out)[1]
    t.match(rf'^v = .*\n +\{{?0x0*{word(0):x}, 0x0*{word(1):x}\b.*\nat = .*\nValues are as before #{first}, where the capture began\.$', r.out)
    # The replay begins before the launch that faults, with the memory that it had then.
    r = t.tsdb('--batch', '-ex', 'replay start', '-ex', f'x/4xw {addr}', '-ex', f'x/2xw {int(addr, 16) - 4 * LAST:#x}', name)
    t.match(f'^{addr}:{values}$', r.out)
    t.match(f'^0x[0-9a-f]+:\t0x{word(0):08x}\t0x{word(1):08x}$', r.out)


def test_a_program_that_aborts_at_the_fault(t):
    """Nothing of the window is lost: when the program is told of the fault, the memory from before it is on its way to tsdb."""
    r = t.session('fault_kept', 'set stop-on-error off', 'capture window kernel stray count 2', 'run', 'continue', args=('abort',))
    name = t.match(r'\[captured #\d+-#\d+ -> (\S+\.sbt)', r.both)[1]
    t.match(r'killed by SIGABRT', r.out)
    t.match(r'can be run again on a device, but there is nothing to compare the result with: the program died in the window$', r.err)
    r = t.tsdb('replay', name)
    t.equal(r.status, 0, 'replay')
    t.match(r'^Failed as recorded', r.out)
    r = t.tsdb('--batch', '-ex', 'replay start', '-ex', 'info allocations --json', name)
    addr = int(t.match(r'(0x[0-9a-f]+)', r.out)[1], 16)
    r = t.tsdb('--batch', '-ex', 'replay start', '-ex', f'x/4xw {addr + 4 * LAST:#x}', name)
    t.match(''.join(f'\t0x{word(LAST + i):08x}' for i in range(4)) + '$', r.out)


def test_memory_may_be_kept_in_the_program_alone(t):
    """Without a process that keeps it, memory that was not sent before the fault is gone, and that is said."""
    t.need_soft()
    r = t.session('fault_kept', 'set capture keep off', 'capture window kernel stray count 2', 'run', 'x/4xw arg0', 'continue')
    t.match(r"^  Device memory is lost: the capture's copies were in the program's memory\. `set capture keep on` keeps it\.$", r.out)
    t.match(r"^tsdb: device memory is lost, the GPU has faulted: the capture's copies were in the program's memory\. `set capture keep on` keeps it\.$", r.err)
    t.match(r'memory is missing: memory of the device could not be read when the window began', r.err)


def test_memory_that_no_capture_kept(t):
    """The stop at the fault says that nothing is kept and which capture keeps it, and that capture does."""
    r = t.session('fault_kept', 'run', 'bt', 'info allocations', 'x/4xw arg0', 'continue')
    t.match(r'^The GPU has faulted', r.out)
    said = t.match(r'^  Device memory is lost: no capture was on\. `(capture window seq (\d+)-(\d+))` and `run` keep it\.$', r.out)
    t.match(r'^0x[0-9a-f]+ +201326592 +device', r.out)
    t.match(f'^tsdb: device memory is lost, the GPU has faulted: no capture was on\\. `{said[1]}` and `run` keep it\\.$', r.err)
    first, last = (int(said[i]) for i in (2, 3))
    t.match(rf'^#{last} sync', r.out)
    t.match(rf'^  (in|not known to have finished:) #{first} stray<<<', r.out)
    r = t.session('fault_kept', said[1], 'run', f'x/4xw arg0 + {4 * LAST}', 'continue')
    values = ''.join(f'\\t0x{word(LAST + i):08x}' for i in range(4))
    t.match(f'^As it was before #{first}, where the capture began:\n0x[0-9a-f]+:{values}$', r.out)
    t.check('is lost' not in r.both, r.both)
    t.match(r'^\[captured #', r.both)


def test_captures_that_keep_no_memory(t):
    for commands, why, cure in ((('set capture memory none', 'set capture keep off'), 'no capture was on',
                                 r'`set capture memory all`, `set capture keep on`, `capture window seq \d+-\d+` and `run` keep it'),
                                (('capture window kernel nobody',), 'the capture window had not begun', r'`capture window seq \d+-\d+` and `run` keep it'),
                                (('set capture memory none', 'capture window kernel stray count 2'), 'the capture copies no memory where it begins',
                                 '`set capture memory all` keeps it'),
                                (('set capture memory touched', 'capture window kernel stray count 2'), 'the capture copies no memory where it begins',
                                 '`set capture memory all` keeps it')):
        r = t.session('fault_kept', *commands, 'run', 'x/4xw arg0', 'continue')
        t.match(rf'^  Device memory is lost: {why}\. {cure}\.$', r.out)
        t.match(rf'^tsdb: device memory is lost, the GPU has faulted: {why}\. {cure}\.$', r.err)
    # Errors that are no faults leave the memory alone.
    r = t.session('failing_calls', 'catch error cuLaunchKernel', 'run', 'continue')
    t.match(r'has failed', r.out)
    t.check('is lost' not in r.both, r.both)


def test_a_keeper_that_does_not_work(t):
    """It ends at once: the program is recorded as without it, and that is said once."""
    t.need_soft()
    for name in ('softgpu', 'tsdb-replayer', 'libtsdb-agent.so'):
        os.symlink(os.path.join(BUILD, name), t.path(name))
    os.symlink('/bin/false', t.path('tsdb-keeper'))
    t.copy_program(tsdb_path(), 'tsdb')
    r = t.run([t.path('tsdb'), '--gpu', 'soft', '--batch', '-ex', 'capture window kernel touch count 2', '-ex', 'run',
               '-ex', 'continue', '--args', program('keeps')])
    t.equal(len(re.findall('copies of device memory will be lost if the device faults: (tsdb-keeper, the process that has them, ended with status 1;|the process that keeps them has ended,)', r.err)), 1, r.err)
    name = t.match(r'\[captured #\d+-#\d+ -> (\S+\.sbt)', r.both)[1]
    r = t.tsdb('replay', name)
    t.match(r'^([1-9]\d*) of \1 allocations identical', r.out)
