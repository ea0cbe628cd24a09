# SPDX-License-Identifier: Apache-2.0
"""The inside of HIP kernels in a replay on the software AMD GPU: steps, registers, LDS, lanes, calls, breakpoints, watchpoints, the way back."""
import os
import re
import sys

sys.path.insert(0, os.path.dirname(__file__))

from e2e import program  # noqa: E402
from hip import hip_version, need_hip, recorded_with_memory  # noqa: E402


def inside(t, name, *commands, record=True):
    if record:
        recorded_with_memory(t, name)
    ex = [w for c in ('replay start', *commands) for w in ('-ex', c)]
    return t.tsdb('--batch', *ex, 't.sbt')


def launch_of(t, kernel):
    return int(re.search(rf'^#(\d+) {kernel}<<<', t.tsdb('view', 't.sbt').out, re.M)[1])


def test_steps_and_registers(t):
    recorded_with_memory(t, 'reduction')
    seq = launch_of(t, 'sum')
    r = inside(t, 'reduction', f'replay enter {seq}', 'print %v0[all]', 'print %s6', 'print blockIdx.x', 'thread (70,0,0)', 'print %v0', 'stepi',
               'print/x %exec', 'info args', 'bt', 'x/2xg @kernarg 0', 'next', 'when', 'finish', 'replay verify', record=False)
    t.equal(r.status, 0, r.show())
    t.match(rf'^The beginning of #{seq} sum, block \(0,0,0\), thread \(0,0,0\)\n0x(\w+) <\+0x0>:\t(\S+ .*)\t(?:reduction\.hip:9|amd_hip_runtime\.h:\d+)$', r.out)
    t.match(r'^\$1 = \{' + ', '.join(str(i) for i in range(64)) + r'\}$', r.out, 'the lanes of a wave')
    t.match(r'^block \(0,0,0\), thread \(70,0,0\), warp 1, lane 6$', r.out)
    t.match(r'^\$4 = 70$', r.out, "the work-item's number in its workgroup")
    t.match(r'^\$5 = 0xffffffffffffffff$', r.out, 'EXEC')
    t.match(r'^arg2 = 100000$', r.out)
    t.match(r'^#0 +sum\(unsigned int\*, unsigned int const\*, int\) at .*reduction\.hip:9 \(GPU\)\n#1 +main \(\) at .*reduction\.hip:34$', r.out)
    args = re.search(r'^arg0 = .* (0x\w+) <.*\n.*\narg1 = .* (0x\w+) <', r.out, re.M)
    t.match(rf'^0x0:\t0x0*{args[1][2:]}\t0x0*{args[2][2:]}$', r.out, 'the arguments in memory')
    t.match(rf'^Inside #{seq}, block \(0,0,0\), thread \(70,0,0\), code at 0x\w+, after \d+ instructions of its wave$', r.out)
    t.match(rf'^#{seq} sum has ended; its warps executed \d+ instructions\.$', r.out)
    t.match(r'^2 of 2 allocations identical', r.out)


def test_what_is_set(t):
    """The first wave of the first workgroup takes itself for one of the second: what it would have written stays, and what follows is executed on that."""
    recorded_with_memory(t, 'reduction')
    seq = launch_of(t, 'sum')
    r = inside(t, 'reduction', f'replay enter {seq}', 'print %s6', 'set var %s6 = 1', 'print blockIdx.x', 'print %s6', 'set var %v0 = %v0 + 0', 'print %v0[all]', 'stepi', 'finish',
               'when', f'replay goto {seq - 1}', 'replay verify', record=False)
    t.equal(r.status, 0, r.show())
    t.match(r'^\$1 = 0\n\$2 = 0\n\$3 = 1$', r.out, 'the register, and not the dispatch')
    t.match(r'^\$4 = \{' + ', '.join(str(i) for i in range(64)) + r'\}$', r.out, 'a lane of a vector register')
    t.match('What was set in it counts from here on', r.out)
    t.match(r'not as recorded \(what-if\)$', r.out)
    t.match(rf'^What was set in #{seq} is undone', r.out)
    t.match(r'^2 of 2 allocations identical', r.out)
    r = inside(t, 'reduction', f'replay enter {seq}', 'set var %exec = 0', 'set var %v300 = 1', 'set var %pc = 1', record=False)
    t.equal(r.status, 1, r.show())
    for name in '%exec', '%v300', '%pc':
        t.check(name in r.err, f'{name}: {r.err}')


def test_disassemble(t):
    recorded_with_memory(t, 'vectors')
    r = inside(t, 'vectors', f'replay enter {launch_of(t, "add")}', 'disassemble add', record=False)
    lines = re.findall(r'^(?:=>|  ) (0x\w+)  (\S.*?)(?: {2,}\S+:\d+)?$', r.out, re.M)
    t.check(len(lines) > 10 and lines[-1][1] == 's_endpgm', r.show())
    t.equal(lines[0][0], re.search(r'^(0x\w+) <\+0x0>', r.out, re.M)[1], 'the first is where the kernel begins')
    sizes = {int(b[0], 0) - int(a[0], 0) for a, b in zip(lines, lines[1:])}
    t.check(sizes <= {4, 8}, sizes)


def test_breakpoints_and_lds(t):
    recorded_with_memory(t, 'reduction')
    seq = launch_of(t, 'sum')
    r = inside(t, 'reduction', 'break code sum:reduction.hip:15 if %v0 == 70 && blockIdx.x == 2', f'replay goto {seq - 1}', 'continue', 'x/dw @lds 280',
               'info lanes', 'delete', 'break reduction.hip:18', 'tbreak code sum:+0', 'info breakpoints', 'finish', record=False)
    t.equal(r.status, 0, r.show())
    t.match(rf'^Breakpoint 1, #{seq} sum, block \(2,0,0\), thread \(70,0,0\)\n0x\w+ <\+0x\w+>:.*reduction\.hip:15', r.out)
    value = (2 * 256 + 70) * 2654435761 % 2**32
    t.match(rf'^0x118:\t{value - 2**32 if value >= 2**31 else value}$', r.out, 'part[70] before it is added to')
    t.match(r'^\* 6 +\(70,0,0\) +active ', r.out)
    t.match(r'^Temporary breakpoint 3 at \+0x0 of sum$', r.out)
    r = inside(t, 'reduction', f'replay enter {seq}', 'break code sum:+0x3', 'continue', 'break code sum:0x10', 'break code sum:%q', record=False)
    t.match(r'^Here that is 0x\w+\.$', r.out, 'the next instruction')
    t.match(r'^Breakpoint 1, #\d+ sum', r.out)
    t.match(r'^It is at no instruction of the launch under the microscope\.$', r.out)
    t.match(r'is no line of a kernel', r.err)


def test_a_watchpoint_names_the_writer_and_backwards_is_the_same_way(t):
    recorded_with_memory(t, 'reduction')
    seq = launch_of(t, 'sum')
    r = inside(t, 'reduction', 'watch @lds 4 len 4', f'replay enter {seq}', 'continue', 'continue', 'continue', 'reverse-continue', 'reverse-continue',
               'reverse-stepi 2', 'stepi 2', 'finish', 'reverse-continue', record=False)
    stops = re.findall(r'^Watchpoint 1: shared 0x4, written by (block .*)\n  (0x\w+) .* -> (0x\w+) .*\n  by (0x\w+:.*)$', r.out, re.M)
    t.equal(len(stops), 7, r.show())
    t.equal(stops[0][0], 'block (0,0,0), thread (1,0,0)', 'the writer')
    t.equal((stops[0][1], stops[0][2]), ('0x0', '0x9e3779b1'), 'v[1] of the first workgroup')
    t.match(r'ds_write_b32 .*reduction\.hip:11', stops[0][3])
    t.equal(stops[3:5], [stops[1], stops[0]], 'the way back')
    t.equal(stops[1][1], stops[0][2], 'the next write begins with the last value')
    t.equal(stops[5], stops[0], 'two instructions back and two on')
    t.equal(stops[6][0], 'block (390,0,0), thread (1,0,0)', 'the last write, from the end')


def test_calls(t):
    recorded_with_memory(t, 'calls')
    seq = launch_of(t, 'work')
    r = inside(t, 'calls', 'break calls.hip:8', f'replay goto {seq - 1}', 'continue', 'continue', 'bt', 'info lanes', 'next', 'bt', 'up', 'print foo', record=False)
    t.match(r'\[32 of 64 lanes\]$', r.out, 'the odd lanes')
    frames = re.findall(r'^#(\d+) +(\w+).* at .*calls\.hip:(\d+)', r.out, re.M)
    t.equal(frames[:4], [('0', 'square', '8'), ('1', 'outer', '16'), ('2', 'work', '25'), ('3', 'main', '35')], 'the stack')
    t.equal(frames[4:6], [('0', 'outer', '16'), ('1', 'work', '25')], 'behind the return')
    t.match(r'^  0 +\(0,0,0\) +diverged +- +-$', r.out)
    t.match(r'^\* 1 +\(1,0,0\) +active ', r.out)
    t.match(r'foo is not known: variables of HIP kernels are not read', r.err)


def test_a_fault_stops_before_its_instruction(t):
    need_hip()
    t.tsdb('record', '--gpu', 'soft-amd', '--memory', 'all', '-o', 't.sbt', program('hip/wild_store'))
    r = inside(t, 'wild_store', f'replay enter {launch_of(t, "wild")}', 'continue', 'print threadIdx.x', 'reverse-stepi', 'stepi', 'stepi', record=False)
    t.match(r'^#\d+ wild breaks here: write of 4 bytes at 0x\w+, which is not memory of this device: it is \d+ bytes after the last of device memory', r.out)
    t.match(r'^block \(0,0,0\), thread \(5,0,0\)\n0x\w+ <\+0x[0-9a-f]+>:\tglobal_store_dword .*wild_store\.hip:8$', r.out)
    t.match(r'^\$1 = 5$', r.out)


def test_looking_elsewhere_comes_back(t):
    recorded_with_memory(t, 'reduction')
    seq = launch_of(t, 'sum')
    r = inside(t, 'reduction', f'replay enter {seq}', 'stepi 9', 'when', 'who-wrote arg0', 'when', 'replay step', 'when', record=False)
    places = re.findall(r'^Inside #.*$', r.out, re.M)
    t.equal(len(places), 2, r.show())
    t.equal(places[0], places[1], 'the place')


def test_probes_in_a_replay(t):
    """Counts are those that the program's own numbers give: 391 workgroups of 256, of which 255 add in each."""
    recorded_with_memory(t, 'reduction')
    r = inside(t, 'reduction', 'probe sum:reduction.hip:15 count', 'probe sum:18 hist threadIdx.x if blockIdx.x == 7', 'probe sum:15 by %s4 if blockIdx.x == 3',
               'probe sum:14 by total', 'probe sum:14 count if %v250 == 0', 'info probes', 'replay verify', record=False)
    t.equal(r.status, 0, r.show())
    t.match(rf'^Probe 1 at sum:reduction\.hip:15: count\n  {391 * 255} threads, 1 launch$', r.out)
    t.match(r'^  256 threads, 1 launch\n  \[0\] +1 .*\n  \[1\] +1 .*\n  \[2, 4\) +2 .*\n', r.out, 'a histogram')
    halves = r'  128 +128 .*\n  64 +64 ' if hip_version() < (6, 0) else r'  -?\d+ +\d+ '  # another compiler keeps something else in s4
    t.match(r'^  255 threads, 1 launch\n' + halves, r.out, 'values of a register')
    t.equal(len(re.findall(rf'^  {391 * 256 * 8} threads were not counted: the expression has no value there$', r.out, re.M)), 2,
            'a variable, and a register that the kernel does not have')
    r = inside(t, 'reduction', 'probe sum:15 count', 'set probes rewrite on', 'info probes', 'probe nosuch:15 count', 'probe sum:9999 count', record=False)
    t.match(r'probes by changed code change PTX, and this is a HIP trace', r.err)
    t.match(r'the trace has no code of a kernel nosuch', r.err)
    t.match(r'neither line 9999 nor any behind it is in a kernel', r.err)


def test_probes_in_functions_and_parted_lanes(t):
    recorded_with_memory(t, 'calls')
    r = inside(t, 'calls', 'probe calls.hip:8 count', 'probe calls.hip:16 hist lane', 'info probes', record=False)
    t.match(r'^Probe 1 .*\n  150 threads, 1 launch$', r.out, '100 work-items, the odd ones twice')
    t.match(r'^Probe 2 .*\n  50 threads, 1 launch$', r.out)


def test_messages_of_work_items(t):
    recorded_with_memory(t, 'reduction')
    seq = launch_of(t, 'sum')
    said = ['block (0,0,0), thread (1,0,0): i=1 b=0', 'block (0,0,0), thread (101,0,0): i=101 b=0', 'block (0,0,0), thread (201,0,0): i=201 b=0']
    message = 'dprintf sum:reduction.hip:18 if blockIdx.x < 1 && threadIdx.x % 100 == 1,"i=%d b=%d\\n", threadIdx.x, blockIdx.x'
    r = inside(t, 'reduction', message, f'replay goto {seq - 1}', 'continue', record=False)
    t.equal(re.findall(r'^block .*$', r.out, re.M), said, 'in a replay')
    r = t.tsdb('--gpu', 'soft-amd', '--batch', '-ex', message, '-ex', 'probe sum:reduction.hip:15 count', '-ex', 'run', '-ex', 'info probes', '--args',
               program('hip/reduction'))
    t.equal(r.status, 0, r.show())
    t.equal(re.findall(r'^block .*$', r.out, re.M), said, 'of the program as it runs')
    t.no_match(r'needs the software GPU', r.out + r.err)
    t.match(rf'^  {391 * 255} threads, 1 launch$', r.out)
    t.match(r'^the sum is \d+$', r.out)
