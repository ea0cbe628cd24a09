# SPDX-License-Identifier: Apache-2.0
"""A device fault, or a call that fails, stops the program where it is first seen."""
import re


def test_a_fault_stops_the_program(t):
    r = t.session('bad_address', 'run', 'bt', 'info args', 'info allocations', 'continue')
    t.equal(r.status, 0, 'the session')
    t.match(r'^The GPU has faulted: CUDA_ERROR_ILLEGAL_ADDRESS \(700\), first said by cuCtxSynchronize(_v2)?:$', r.out)
    if t.gpu == 'soft':
        t.match(r'^  in #\d+ stray<<<\(1,1,1\),\(32,1,1\)>>> stream 0$', r.out)
        t.match(r'^  block \(0,0,0\), thread \(0,0,0\), \S*/bad_address\.cu:9, line \d+ of the PTX$', r.out)
        # The kernel writes element 2^40 of ints; the allocation is 4 bytes.
        t.match(rf'^  4 bytes at 0x[0-9a-f]+, {4 * 2**40 - 4} bytes past the end of the nearest allocation: 4 bytes at 0x[0-9a-f]+, by #\d+$', r.out)
    t.match(r' stray<<<\(1,1,1\),\(32,1,1\)>>> stream 0\n(      #\d+ .*\n)*?      #\d+ +main \(\) at \S*bad_address\.cu:16\n', r.out)
    t.match(r'^Of #\d+, (which faulted|the only launch that was not known to have finished):\narg0 .*\narg1 +8 bytes at 8 +0x10000000000$', r.out)
    t.match(r'^#\d+ .*main \(\) at .*bad_address\.cu:17$', r.out)
    t.match(r'^0x[0-9a-f]+ +4 +device', r.out)
    t.match(r'^bad_address: cudaErrorIllegalAddress$', r.out)
    t.match(r'exited normally', r.out)


def test_the_launch_and_where_it_came_from(t):
    """Of three launches of one kernel the second: its place in the kernel, its host stack and its arguments, whichever call said it first."""
    t.need_soft()
    r = t.session('fault_among', 'run', 'info args', 'info args --json', 'set stop-on-error off', 'continue')
    t.equal(len(re.findall(r'^  in #', r.out, re.M)), 1, 'launches named')
    t.match(r'^  in #\d+ put<<<\(1,1,1\),\(1,1,1\)>>> stream 1\n(      #\d+ .*\n)*?      #\d+ +send\b.* at \S*fault_among\.cu:14\b.*\n'
            r'      #\d+ +main \(\) at \S*fault_among\.cu:29\n', r.out)
    t.match(r'^  block \(0,0,0\), thread \(0,0,0\), \S*/fault_among\.cu:9, line \d+ of the PTX$', r.out)
    t.match(r'^Of #\d+, which faulted:\narg0 .*allocation of 4 bytes.*\narg1 +8 bytes at 8 +0x10000000000$', r.out)
    t.match(r'"arg":1,"offset":8,"size":8,"bytes":"0000000000010000","value":"0x10000000000"', r.out)
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
