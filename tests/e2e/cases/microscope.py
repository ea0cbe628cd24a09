# SPDX-License-Identifier: Apache-2.0
"""Inside a launch of a replay, instruction by instruction, on the software GPU. What is expected is worked out here from the programs' source:
line numbers are looked up in it, values computed."""
import json
import os
import re
import struct
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from e2e import SRC  # noqa: E402
from interactive import Terminal  # noqa: E402
from replay import find, recorded, shell  # noqa: E402


def f32(x):
    return struct.unpack('f', struct.pack('f', x))[0]


def check_value(i):
    """examples/check.h"""
    i = (i * 2654435761 + 12345) & 0xffffffff
    return f32(f32(((i >> 16) % 1000) / 1000) - 0.5)


def line_of(name, text):
    with open(os.path.join(SRC, 'examples', name), encoding='utf-8') as f:
        for n, line in enumerate(f, 1):
            if text in line:
                return n
    raise AssertionError(text)


def inside(t, seq, *commands, trace='t.sbt', status=0, **kw):
    return shell(t, 'replay start --on soft', f'replay enter {seq}', *commands, trace=trace, status=status, **kw)


def on_soft(t, prog, *args):
    t.need_soft()
    recorded(t, prog, *args, options=('--memory', 'all'))


def vectors(out):
    """What `print X[all]` showed, in order."""
    return [[int(v) for v in m.split(', ')] for m in re.findall(r'^\$\d+ = \{(.*)\}$', out, re.M)]


def test_registers_of_all_lanes(t):
    on_soft(t, 'reduce')
    seq = find(t, 'sum_kernel<<<')
    line = line_of('reduce.cu', 'if (lane == 0)')
    # the sum of each lane and those behind it in its warp, as __shfl_down_sync leaves it: lanes past the end give their own
    r = inside(t, seq, 'print %laneid[all]', 'print %tid.x * 2 + %ctaid.x', 'block (3,0,0) thread (70,0,0)', 'print %tid.x[all]',
               'print %tid.x', 'print %ctaid.x == 3 && %ntid.x == 256', f'break ptx sum_kernel:reduce.cu:{line} if %tid.x == 64', 'continue')
    v = vectors(r.out)
    t.equal(v[0], list(range(32)), 'lanes')
    t.equal(v[1], list(range(64, 96)), 'threads of warp 2')
    t.match(r'^\$2 = 0$', r.out)
    t.match(r'^\$4 = 70$', r.out)
    t.match(r'^\$5 = 1$', r.out)
    t.match(r'^The launch begins again, with this block first\.$', r.out)
    t.match(rf'^Breakpoint 1, #{seq} sum_kernel, block \(3,0,0\), thread \(64,0,0\)$', r.out)


def test_shared_memory_holds_the_tile(t):
    on_soft(t, 'matmul', 64)
    seq = find(t, 'matmul<<<')
    line = line_of('matmul.cu', 'sum = fmaf(ta')
    tile = '_ZZ6matmulPfPKfS1_iE2ta'
    r = inside(t, seq, f'break ptx matmul:matmul.cu:{line}', 'continue', f'x/16fw {tile} + 16 * 4', f'print {tile}', f'x/2xw @shared {tile}',
               'block (0,2,0)', f'x/1fw {tile}', 'continue', f'x/1fw {tile}')
    got = re.findall(r'^0x[0-9a-f]+:\t(.*)$', r.out, re.M)
    row = ' '.join(got[:4]).split()
    t.equal([float(v) for v in row], [float('%.9g' % check_value(64 + k)) for k in range(16)], 'a[1][0..15] in the tile')
    t.match(r'^\$1 = @shared 0x', r.out)
    t.equal(float(got[-2]), 0.0, 'shared memory begins as zeros')
    t.equal(float(got[-1]), float('%.9g' % check_value(32 * 64)), 'a[32][0], in block (0,2,0)')


def test_a_barrier_lets_the_other_warps_run(t):
    on_soft(t, 'matmul', 64)
    seq = find(t, 'matmul<<<')
    r = inside(t, seq, f'tbreak ptx matmul:matmul.cu:{line_of("matmul.cu", "__syncthreads();")}', 'continue', 'info warps --json',
               'stepi', 'info warps --json')
    before, after = [json.loads(m) for m in re.findall(r'^\[\{.*?\}\]$', r.out, re.M | re.S)]
    t.equal([w['instructions'] for w in before[1:]], [0] * 7, 'only warp 0 has run up to the barrier')
    t.equal(after[0]['instructions'], before[0]['instructions'] + 1, 'warp 0 made one step')
    t.check(all(w['instructions'] == before[0]['instructions'] + 1 for w in after[1:]), 'the others came to the barrier')


def test_lanes_that_part(t):
    on_soft(t, 'reduce')
    seq = find(t, 'sum_kernel<<<')
    line = line_of('reduce.cu', 'warp_sums[warp] = x;')
    r = inside(t, seq, f'break ptx reduce.cu:{line}', 'continue', 'info lanes --json', 'info registers %p* --json')
    m = json.loads(re.search(r'^\[\{"lane.*?\}\]$', r.out, re.M | re.S)[0])
    t.equal([x['state'] for x in m], ['active'] + ['diverged'] * 31, 'only lane 0 stores')
    t.equal(m[5]['kernel_thread'], [5, 0, 0], 'thread')
    t.match(r'\[1 of 32 lanes\]', r.out)


def test_watchpoint_names_the_writer(t):
    on_soft(t, 'reduce')
    seq = find(t, 'sum_kernel<<<')
    v = [int(f32(check_value(i) * 1000)) + 500 for i in range(512)]
    r = inside(t, seq, 'watch @shared 4 * 5 len 4', 'continue', 'delete', 'watch arg0 len 8', 'continue', 'print %rd6', 'continue', 'when')
    warp5 = sum(v[160:192])
    m = t.match(r'^Watchpoint 1: shared 0x14, written by block \(0,0,0\), thread \(160,0,0\)\n  0x0 \(0\) -> 0x[0-9a-f]+ \((\d+)', r.out)
    t.equal(int(m[1]), warp5, 'the sum of warp 5')
    t.match(rf'by \d+:\tst\.shared\.u32 .*\treduce\.cu:{line_of("reduce.cu", "warp_sums[warp] = x;")}$', r.out)
    a = re.findall(r'^Watchpoint 2: global 0x[0-9a-f]+, written by block \((\d),0,0\), thread \((\d+),0,0\)\n  0x[0-9a-f]+ \((\d+)\) -> 0x[0-9a-f]+ '
                   r'\((\d+)\)\n  by \d+:\tatom\.global\.add\.u64', r.out, re.M)
    t.equal(a, [('0', '0', '0', str(sum(v[:256]))), ('1', '0', str(sum(v[:256])), str(sum(v[:512])))], 'the first two blocks')


def test_backwards_is_the_same_way(t):
    on_soft(t, 'matmul', 64)
    seq = find(t, 'matmul<<<')
    there = ['stepi 40', 'info registers --json', 'stepi', 'info registers --json', 'stepi 30', 'info registers --json']
    back = ['reverse-stepi 30', 'info registers --json', 'reverse-stepi', 'info registers --json', 'reverse-stepi 100', 'reverse-stepi']
    r = inside(t, seq, *there, *back, 'stepi 71', 'info registers --json')
    got = re.findall(r'^\[\{"name.*?\}\]$', r.out, re.M | re.S)
    t.equal(len(got), 6, 'dumps')
    t.equal(got[3], got[1], '30 forwards and back')
    t.equal(got[4], got[0], 'one more back')
    t.equal(got[5], got[2], 'forwards again')
    t.check(got[0] != got[1] or got[1] != got[2], 'something changes on the way')
    t.equal(len(re.findall(r'^The beginning of #', r.out, re.M)), 3, 'the beginning: entered, and twice backwards')


def test_backwards_to_breakpoints(t):
    on_soft(t, 'reduce')
    seq = find(t, 'histogram<<<')
    line = line_of('reduce.cu', 'local[threadIdx.x] = 0;')
    r = inside(t, seq, f'break ptx histogram:reduce.cu:{line} if %ctaid.x == 2', 'continue', 'continue', 'finish', 'reverse-continue',
               'reverse-continue', 'reverse-continue')
    hits = re.findall(rf'^Breakpoint 1, #{seq} histogram, block \((\d),0,0\), thread \((\d+),0,0\)$', r.out, re.M)
    t.equal(hits, [('2', '0'), ('2', '32'), ('2', '32'), ('2', '0')], 'two warps of block 2, and back')
    t.match(r'^The beginning of #\d+ histogram, block \(0,0,0\)', r.out[r.out.rindex('Breakpoint 1'):])


def test_the_rest_of_the_replay_is_as_recorded(t):
    on_soft(t, 'reduce')
    seq = find(t, 'sum_kernel<<<')
    r = inside(t, seq, 'stepi 30', 'finish', 'replay verify')
    t.match(r'has ended; its warps executed \d+ instructions\.$', r.out)
    t.match(r'outputs identical', r.out)
    # leaving in the middle of it, too
    r = inside(t, seq, 'block (7,0,0)', 'stepi 30', 'replay goto end', 'replay verify')
    t.match(r'outputs identical', r.out)
    r = inside(t, seq, 'stepi 50', 'replay step', 'when', 'replay reverse-step', 'stepi', 'replay verify')
    t.match(r'outputs identical', r.out)


def test_from_outside_to_a_line(t):
    on_soft(t, 'reduce')
    seq = find(t, 'histogram<<<')
    line = line_of('reduce.cu', 'atomicAdd(&local[v[i] & 63], 1u);')
    r = shell(t, 'replay start --on soft', f'break ptx histogram:reduce.cu:{line} if %tid.x == 100', 'continue', 'bt', 'continue',
              'delete', 'continue', 'continue')
    t.match(rf'^Breakpoint 1, #{seq} histogram, block \(0,0,0\), thread \(100,0,0\)$', r.out)
    t.match(rf'reduce\.cu:{line}$', r.out)
    t.match(r'main', r.out)
    t.match(rf'^#{seq} histogram has ended', r.out)
    t.match(r'^The end of the window', r.out)
    # the launch that it stands at counts, once
    r = shell(t, 'replay start --on soft', f'replay goto {seq}', f'break ptx histogram:{line_of("reduce.cu", "int main")}',
              f'break ptx histogram:reduce.cu:{line_of("reduce.cu", "local[threadIdx.x] = 0;")} if %tid.x == 33 && %ctaid.x == 6', 'delete 1',
              'continue', 'continue', 'continue')
    t.match(rf'^Breakpoint 2, #{seq} histogram, block \(6,0,0\), thread \(33,0,0\)\n[^\n]*\n[^\n]*\n#{seq} histogram has ended[^\n]*\n(.*\n)*The end of the window', r.out)


def test_a_launch_that_breaks_the_device(t):
    on_soft(t, 'vecadd')
    seq = find(t, 'vecadd<<<')
    r = shell(t, 'replay start --on soft', f'replay goto {seq}', 'set arg 0 16', 'stepi', 'continue', 'print %tid.x', 'reverse-stepi', 'continue',
              'continue', 'replay restart', f'replay enter {seq}', 'finish', 'replay verify', status=1)
    t.match(rf'^#{seq} vecadd breaks here: illegal address: .*thread \(0,0,0\), PTX line \d+: st\.global\.f32 to 0x10, 4 bytes$', r.out)
    t.match(r'^\d+:\tst\.global\.f32 .*\tvecadd\.cu:\d+', r.out)
    t.match(r'has ended with a fault', r.out)
    t.match(r'outputs identical', r.out)


def test_a_recorded_fault(t):
    """The recording ends with a kernel that faults: replay goes up to it, and into it."""
    t.need_soft()
    t.equal(t.record('bad_address').status, 0, 'record')
    seq = find(t, 'stray<<<')
    r = t.tsdb('--batch', '--no-init', '-ex', 'replay start', '-ex', f'replay goto {seq - 1}', '-ex', f'replay enter {seq}', '-ex', 'stepi', '-ex', 'stepi 100', '-ex',
               'print %tid.x', 't.sbt')
    t.equal(r.status, 0, r.both)
    t.match(rf'^The beginning of #{seq} stray, block \(0,0,0\), thread \(0,0,0\)$', r.out)
    t.match(rf'^#{seq} stray breaks here: illegal address: .* st\.global\.u32 to 0x40[0-9a-f]+, 4 bytes$', r.out)
    t.match(r'^\d+:\tst\.global\.u32', r.out)
    r = t.tsdb('--batch', '--no-init', '-ex', 'replay start', '-ex', 'replay continue', '-ex', 'when', 't.sbt')
    t.equal(r.status, 1, 'it faults again')
    t.match(rf'#{seq} stray<<<.*the device failed', r.err)
    t.match(rf'^#{seq - 1} ', r.out, 'the replay stands before it')


def test_what_is_refused(t):
    on_soft(t, 'reduce')
    seq = find(t, 'sum_kernel<<<')
    for commands, says in [
            ((f'replay goto {find(t, "copy h2d")}', 'stepi'), 'neither at a kernel launch nor right before one'),
            ((f'replay enter {find(t, "copy h2d")}',), 'is no kernel launch'),
            (('replay enter 99999',), 'does not hold|is outside|99999'),
            (('info warps',), 'none is under the microscope'),
            (('print %r1',), 'none is under the microscope'),
            (('reverse-stepi',), 'no instructions to go back'),
            ((f'replay enter {seq}', 'print %r9999'), 'there is no register %r9999 here'),
            ((f'replay enter {seq}', 'print %laneid +'), 'ends in the middle'),
            ((f'replay enter {seq}', 'break ptx sum_kernel:40 if %nothing'), 'no register %nothing'),
            ((f'replay enter {seq}', 'break ptx sum_kernel'), 'is no line of a kernel'),
            ((f'replay enter {seq}', 'block (196,0,0)'), r'the grid is \(196,1,1\): there is no block'),
            ((f'replay enter {seq}', 'thread (256,0,0)'), r'blocks are \(256,1,1\): there is no thread'),
            ((f'replay enter {seq}', 'thread (1,2'), 'no coordinates'),
            ((f'replay enter {seq}', 'x/64xw @shared 0'), 'the shared memory here has 128 bytes'),
            ((f'replay enter {seq}', 'x/xw @texture 0'), 'is no memory space'),
            ((f'replay enter {seq}', 'watch @local 0'), 'cannot be watched'),
            ((f'replay enter {seq}', 'set memory arg0 s32 1'), 'in the middle of launch'),
            ((f'replay enter {seq}', 'disassemble nothing'), 'no function nothing'),
            ((f'replay enter {seq}', 'stepi 0'), 'is no count'),
            ((f'replay enter {seq}', 'finish', 'info registers'), 'the launch has ended'),
    ]:
        r = shell(t, 'replay start --on soft', *commands, status=1)
        t.match(says, r.err, ' ; '.join(commands))
    r = shell(t, 'replay start --on none', f'replay goto {seq}', 'stepi', status=1)
    t.match('needs a replay on a device', r.err)


def test_machine_gpus_have_no_instructions(t):
    if t.gpu != 'real':
        return
    recorded(t, 'reduce', options=('--memory', 'all'))
    seq = find(t, 'sum_kernel<<<')
    for command in ['stepi', 'info warps', 'disassemble', 'break ptx sum_kernel:40', f'replay enter {seq}']:
        r = shell(t, 'replay start --on real', f'replay goto {seq}', command, status=1)
        t.match('instruction-level access needs the software GPU', r.err, command)
    # the same trace there: it was recorded on another GPU, and has PTX
    r = shell(t, 'replay start --on soft', f'replay goto {seq}', 'stepi 3', 'info registers')
    t.match(r'^%r', r.out)


def test_lines_of_the_source(t):
    on_soft(t, 'matmul', 64)
    seq = find(t, 'matmul<<<')
    first = line_of('matmul.cu', '__global__ void matmul')
    r = inside(t, seq, 'next', 'next', 'step', 'next 3')
    at = [int(x) for x in re.findall(r'^(\d+)\t', r.out, re.M)]  # of the source
    t.equal(at[0], first, 'the kernel begins there')
    t.check(all(a != b for a, b in zip(at, at[1:4])), f'each is another line: {at}')
    t.equal(len(at), 5, 'stops')
    t.equal(len(re.findall(r'\tmatmul\.cu:', r.out)), 1, 'PTX is shown at the beginning alone')


def test_texts(t):
    on_soft(t, 'reduce')
    seq = find(t, 'sum_kernel<<<')
    r = inside(t, seq, 'stepi 2', 'disassemble', 'disassemble --json', 'disassemble histogram', 'disassemble 1,3', 'list', 'list 3', 'when', 'when --json')
    t.match(r'^=> +\d+  \s*ld\.param\.u32', r.out)
    lines = json.loads(re.search(r'^\[\{"code_line".*?\}\]$', r.out, re.M | re.S)[0])
    t.equal(len([x for x in lines if x['here']]), 1, 'one line is marked')
    t.equal([x['code_line'] for x in lines], list(range(lines[0]['code_line'], lines[0]['code_line'] + len(lines))), 'numbers')
    t.match(r'atom\.shared\.add\.u32', r.out, 'disassemble histogram')
    t.match(r'^ +3  ', r.out, 'disassemble 1,3')
    t.match(rf'^=> +{line_of("reduce.cu", "__global__ void sum_kernel")}  __global__ void sum_kernel', r.out)
    t.match(rf'^Inside #{seq}, block \(0,0,0\), thread \(0,0,0\), PTX line \d+, after 2 instructions of its warp$', r.out)
    t.match(rf'"in_kernel":{{"seq":{seq},"code_line":\d+', r.out)


# --- everything is about the launch inside of it

def test_commands_are_about_the_launch(t):
    recorded(t, 'arguments', options=('--memory', 'all'))
    first, last = find(t, 'adam<<<'), find(t, 'adam<<<', which=3)
    for before in ((), (f'replay goto {last}',), (f'replay goto {first}',)):
        r = shell(t, 'replay start --on soft', *before, f'replay enter {last}', 'stepi 3', 'info args', 'print lr', 'print $cmd.seq', 'bt', 'info command', 'when')
        t.match(r'^lr = 0\.75$', r.out)
        t.match(rf'^\$1 = 0\.75\n\$2 = {last}$', r.out)
        t.match(r'main \(\) at \S*arguments\.cu:', r.out)
        t.match(rf'^#{last} adam<<<.*\nstream ', r.out)
        t.match(rf'^Inside #{last}, .* after 3 instructions', r.out)


def test_looking_elsewhere_comes_back(t):
    recorded(t, 'arguments', options=('--memory', 'all'))
    first, last = find(t, 'adam<<<'), find(t, 'adam<<<', which=3)
    looks = ('who-wrote m', f'info accesses {first}', f'diff {first - 1} {first}', 'races', 'replay check 2')
    for place in (('stepi 7',), ('block (2,0,0) thread (40,0,0)', 'stepi 5')):
        r = inside(t, last, *place, 'when', 'print %tid.x + %ctaid.x * 1000', *(x for look in looks for x in (look, 'when', 'print %tid.x + %ctaid.x * 1000')), 'stepi')
        at = re.findall(r'^Inside #.*$', r.out, re.M)
        t.equal(len(at), 1 + len(looks), 'inside')
        t.equal(len(set(at)), 1, f'the same place: {at}')
        t.equal(len(set(re.findall(r'^\$\d+ = (\d+)$', r.out, re.M))), 1, 'the same thread')
        t.no_match('at its beginning again', r.out)


def test_a_kernel_that_never_ends(t):
    """It waits for the host, which does nothing in a replay: it is entered, not executed, and an interruption shows the lane that spins."""
    t.need_soft()
    t.equal(t.record('endless_wait', options=('--memory', 'all')).status, 0, 'record')
    seq = find(t, 'spin<<<')
    s = Terminal(t, '-q', 't.sbt')
    s.prompt()
    s.type('replay start')
    t.match(r'The beginning of #', s.type(f'replay enter {seq}'))
    s.p.sendline('continue')
    t.await_ticks(0.5)
    s.p.sendintr()
    t.match(r'Interrupted in block \(0,0,0\), thread \(5,0,0\)', s.prompt())
    t.match(r'= 5\b', s.type('print %tid.x'))
    s.quit()
    r = shell(t, 'set replay timeout 2', 'replay start', f'replay goto {seq + 1}', status=1)
    t.match(r'set replay timeout SECONDS', r.err)
