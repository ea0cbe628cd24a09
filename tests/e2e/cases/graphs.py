# SPDX-License-Identifier: Apache-2.0
"""Graphs: one shown with its nodes, and replays that go into their launches."""
import json
import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from e2e import BUILD, Skip  # noqa: E402
from replay import recorded, shell  # noqa: E402


def launches(t):
    return [int(s) for s in re.findall(r'^#(\d+) graph_launch', t.tsdb('view', 't.sbt').out, re.M)]


def counter(t):
    """The address of the counter of graphs.cu."""
    return t.match(r'^#\d+ alloc device 4 bytes (0x[0-9a-f]+)', t.tsdb('view', 't.sbt').out)[1]


def values(out):
    return [int(v) for v in re.findall(r'^0x[0-9a-f]+:\s+(-?\d+)$', out, re.M)]


def test_info_graph(t):
    """graphs.cu: a captured memset and four kernels, launched three times."""
    recorded(t, 'graphs')
    r = shell(t, 'info graph 1 --json', 'info graph 1')
    g = json.loads(r.out[:r.out.index('\n]}') + 3] if '\n]}' in r.out else r.out.split(']}\n')[0] + ']}')
    t.equal([s['type'] for s in g['step_list']], ['fill'] + 4 * ['kernel'], 'nodes')
    t.equal([s['after'] for s in g['step_list']], [[], [1], [2], [3], [4]], 'edges')
    t.equal([g['is_exec'], g['source'], g['launches'], g['launched']], [True, 0, 3, launches(t)], 'the graph')
    t.equal(g['step_list'][1]['command']['kernel_name'], 'count', 'kernel')
    t.equal(g['capture']['mode'], 'global', 'mode')
    t.match(r'^Graph 1, executable, made from graph 0 by #\d+: 5 nodes, 4 dependencies$', r.out)
    t.match(r'^  captured from #\d+\.\.#\d+ on stream 1, global mode$', r.out)
    t.match(r'^\.3 +\d +\.2 +count<<<\(1,1,1\),\(32,1,1\)>>>', r.out)
    t.sentence(t.tsdb('--batch', '-ex', 'info graph 99', 't.sbt'), 'there is no graph 99 here')


def test_info_graph_at_a_stop(t):
    r = t.session('graphs', 'break graph_launch', 'run', 'info graph', 'info graphs')
    t.equal(r.status, 0, 'exit status')
    t.match(r'^Graph 1, executable, made from graph 0', r.out)
    t.match(r'^\.5 +\d +\.4 +count<<<', r.out)


def test_steps_of_a_launch(t):
    recorded(t, 'graphs')
    a, (first, second, third) = counter(t), launches(t)
    x = f'x/1dw {a}'
    r = shell(t, 'replay start', f'replay goto {first - 1}', 'step', 'step', x, 'step 2', x, 'reverse-step', x, 'replay finish', x, 'step 3', x,
              'when', 'reverse-next', 'replay next', x)
    t.equal(values(r.out), [32, 96, 64, 128, 64, 128], 'the counter')
    for line in (rf'#{first}.1 fill 4 bytes', rf'#{first}.2 count<<<.*\(step 2 of 5\)$', rf'#{first}.4 count', rf'#{first} graph_launch',
                 rf'#{second}.3 count', rf'In #{second} of .* after 3 of its 5 steps$'):
        t.match('^' + line, r.out)
    r = shell(t, 'replay start', f'replay goto {second}.0', f'replay goto {third}.5', x, f'replay goto {second}.2', x, 'print $cmd.block_x',
              'print $step', 'info args', 'when --json', 'replay verify')
    t.match(rf'^#{second}\.0 before the first of 5 steps of graph_launch', r.out)
    t.match(rf'^#{third}\.5 count.*the last\)$', r.out)
    t.equal(values(r.out), [128, 32], 'the counter')
    t.match(r'= 32$', r.out)
    t.match(r'^(by|arg1) = 1$', r.out)
    t.match(rf'"seq":{second}.*"in_graph":{{"step":2,"steps":5', r.out)
    t.match(r'^1 of 1 allocations identical', r.out)
    t.sentence(t.tsdb('--batch', '-ex', 'replay start', '-ex', f'replay goto {third}.6', 't.sbt'), 'has 5 steps, not 6')
    t.sentence(t.tsdb('--batch', '-ex', 'replay start', '-ex', f'replay goto {first - 1}.1', 't.sbt'), 'is no launch of a graph')


def test_steps_without_a_device(t):
    recorded(t, 'graphs')
    first = launches(t)[0]
    r = shell(t, 'replay start --on none', f'replay goto {first}.2', 'step', 'reverse-step 2', 'break kernel count', 'continue', 'continue')
    for line in (rf'#{first}\.2 count', rf'#{first}\.3 count', rf'#{first}\.1 fill', rf'Breakpoint 1, before #{first}\.2 count',
                 rf'Breakpoint 1, before #{first}\.3 count'):
        t.match('^' + line, r.out)


def test_who_wrote_inside_needs_a_device(t):
    recorded(t, 'graphs')
    first, a = launches(t)[0], counter(t)
    t.sentence(t.tsdb('--batch', '-ex', 'replay start --on none', '-ex', f'replay goto {first}.2', '-ex', f'who-wrote {a}', 't.sbt'),
               'needs a replay on a device')


def test_a_step_is_one_command_when_asked(t):
    recorded(t, 'graphs')
    first = launches(t)[0]
    r = shell(t, 'set replay graph-nodes off', 'replay start', f'replay goto {first - 1}', 'step', 'break kernel count', 'continue')
    t.match(rf'^#{first} graph_launch', r.out)
    t.no_match(rf'#{first}\.', r.out)
    t.no_match('^Breakpoint 1, ', r.out)


def test_stops_at_nodes(t):
    recorded(t, 'graphs')
    a, (first, second, _) = counter(t), launches(t)
    x = f'x/1dw {a}'
    r = shell(t, 'replay start', f'replay goto {first - 1}', 'break kernel count', 'continue', x, 'info args', 'continue', x, 'continue', 'continue',
              'continue', x, 'reverse-continue', x)
    t.equal(re.findall(r'^Breakpoint 1, before #(\d+\.\d)', r.out, re.M),
            [f'{first}.2', f'{first}.3', f'{first}.4', f'{first}.5', f'{second}.2', f'{first}.5'], 'stops')
    t.equal(values(r.out), [0, 32, 0, 96], 'the counter before the node')
    r = shell(t, 'replay start', f'replay goto {first - 1}', f'watch {a}', 'continue', 'continue', 'replay finish', 'continue', 'reverse-continue')
    t.equal(re.findall(r'^Watchpoint 1, #(\d+\.\d)', r.out, re.M), [f'{first}.2', f'{first}.3', f'{second}.1', f'{first}.5'], 'changes')
    t.match(r': 32 -> 64$', r.out)
    t.match(r': 128 -> 0$', r.out)
    r = shell(t, 'replay start', f'replay goto {second}.2', f'who-wrote {a}', f'replay goto {second}.0', f'who-wrote {a}', f'replay goto {second}',
              f'who-wrote {a}', f'diff {first}.1 {first}.3', f'diff {first}.2 {second}.2')
    t.equal(re.findall(r'^#(\d+\.\d) count<<<\S+ stream 1$', r.out, re.M), [f'{second}.2', f'{first}.5', f'{second}.5'], 'who wrote')
    t.match(r': 0 -> 64$', r.out)
    t.match(rf'^Nothing changed', r.out)


def test_every_step_equals_the_whole(t):
    """Node by node through all launches, with the memory of the launch as a whole behind each."""
    recorded(t, 'graphs')
    a, all_of_them = counter(t), launches(t)
    commands = []
    for seq in all_of_them:
        commands += [f'replay goto {seq}', f'x/1dw {a}', f'replay goto {seq - 1}', 'step 5', f'x/1dw {a}']
    r = shell(t, 'replay start', *commands, 'replay goto end', 'replay verify')
    v = values(r.out)
    t.equal(v[0::2], v[1::2], 'whole and step by step')
    t.equal(len(v), 2 * len(all_of_them), 'launches')


def graph_of(t, which, at='end'):
    """info graph as JSON of the executable graph that the launch `which` launches, right at it."""
    r = shell(t, 'replay start --on none', f'replay goto {which}', 'info graph --json')
    return json.loads(r.out[r.out.index('{"id"'):])


UPDATED = [('as made', '194 -1'), ('the graph changed', '194 -1'), ('kernel changed', '450 -1'), ('fill changed', '648 -1'), ('copy changed', '-1 648'),
           ('doubling disabled', '-1 324'), ('child changed', '-1 548'), ('doubling enabled', '-1 1096'), ('all changed', '270 -1'),
           ('nothing changed', '270 -1'), ('two streams', '32 128')]


def test_changes_are_recorded_and_replayed(t):
    recorded(t, 'graph_updates')
    t.equal(re.findall(r'^([a-z ]+): (-?\d+ -?\d+)$', t.log[-1].out, re.M), UPDATED, 'what the program computes')
    t.no_match('not replayable', t.log[-1].both)
    r = t.tsdb('replay', 't.sbt', '--verify')
    t.equal(r.status, 0, 'replay')
    m = t.match(r'^(\d+) of (\d+) allocations identical, (\d+) of (\d+) outputs identical$', r.out)
    t.equal((m[1], m[3]), (m[2], '12'), 'compared')
    seqs = launches(t)
    t.equal(len(seqs), 11, 'launches')
    g = graph_of(t, seqs[0])
    t.equal([(s['type'], s['after']) for s in g['step_list']],
            [('fill', []), ('kernel', [1]), ('kernel', [2]), ('kernel', [3]), ('copy', [4])], 'nodes')
    t.check(g['step_list'][2]['graph'] != g['id'], 'the third step is of the child graph')
    t.check(all(s['origin'] and s['stack'] for s in g['step_list']), 'where nodes come from')
    # what each launch sees: fill's value, kernel's by, child's by, whether doubling is disabled
    def seen(g):
        f, k, c, d, _ = (s['command'] for s in g['step_list'])
        return int(f['value'], 16), int(k['args'][16:18], 16), int(c['args'][16:18], 16), g['step_list'][3]['disabled']
    t.equal([seen(graph_of(t, s)) for s in seqs[:10]],
            [(1, 1, 2, False), (1, 1, 2, False), (1, 5, 2, False), (100, 5, 2, False), (100, 5, 2, False), (100, 5, 2, True), (100, 5, 9, True),
             (100, 5, 9, False), (7, 3, 1, False), (7, 3, 1, False)], 'what each launch sees')
    g = graph_of(t, seqs[9])
    t.equal((g['updates'], len(g['updated'])), (7, 7), 'changes: the one that failed is none')
    r = shell(t, f'info graph {g["id"]}')
    t.match(r'^    #\d+ cuGraphExecKernelNodeSetParams\w*, node \d$', r.out)
    t.match(r'^    #\d+ cuGraphExecUpdate\w*$', r.out)
    t.match(r'count<<<.*#\d+ child \(.*graph_updates\.cu:\d+', r.out)


def test_a_graph_whose_child_was_replaced_in_what_was_made_of_it(t):
    recorded(t, 'graph_updates')
    r = shell(t, 'info graph 1', 'info graph 1 --json')
    t.equal(r.status, 0, 'status')
    t.match(r'^  node 2: child graph \d+, after 1$', r.out)
    t.match(r'^Its child graphs are as they were when it was instantiated; they are not known any more\.$', r.out)


def test_captured_over_two_streams(t):
    recorded(t, 'graph_updates')
    g = graph_of(t, launches(t)[-1])
    # in which order the driver numbers the two branches is its own affair
    def what(step):
        return step['type'], step['command'].get('grid_x'), sorted(what(g['step_list'][d - 1])[:2] for d in step['after'])
    t.equal(sorted(map(what, g['step_list']), key=str),
            sorted([('fill', None, []), ('kernel', 1, [('fill', None)]), ('fill', None, [('fill', None)]), ('kernel', 2, [('fill', None)]),
                    ('copy', None, [('kernel', 1), ('kernel', 2)]), ('copy', None, [('copy', None)])], key=str), 'nodes')
    t.equal(g['capture']['mode'], 'thread', 'mode')
    view = t.tsdb('view', 't.sbt').out
    for s in g['step_list']:
        t.check(g['capture']['first_seq'] < s['origin'] < g['capture']['last_seq'], f'{s["origin"]} is of the capture')
        t.match(rf'^#{s["origin"]} .*\(into a graph\)$', view)


def test_steps_of_changed_graphs(t):
    """Through every launch node by node: the same memory, and the same copies to the host."""
    recorded(t, 'graph_updates')
    a, seqs = counter(t), launches(t)
    steps = [len(graph_of(t, s)['step_list']) for s in seqs]
    commands = []
    for seq, n in zip(seqs, steps):
        commands += [f'replay goto {seq}', f'x/1dw {a}', f'replay goto {seq - 1}', f'step {n}', f'x/1dw {a}']
    r = shell(t, 'replay start', *commands, 'replay goto begin', f'step {seqs[-1] + sum(steps)}', 'replay goto end', 'replay verify')
    v = values(r.out)
    t.equal(v[0::2], v[1::2], 'whole and step by step')
    t.equal(len(v), 2 * len(seqs), 'launches')
    t.match(r'^(\d+) of \1 allocations identical, 12 of 12 outputs identical$', r.out)


def test_a_window_after_a_change(t):
    """What the graph became before the window is in the window's beginning."""
    r = t.session('graph_updates', 'set capture window-stop off', 'break graph_launch', 'run', 'continue 5', 'delete', 'capture start w.sbt', 'continue')
    t.equal(r.status, 0, 'exit status')
    r = t.tsdb('replay', 'w.sbt', '--verify')
    t.equal(r.status, 0, 'replay')
    t.match(r'^(\d+) of \1 allocations identical, (\d+) of \2 outputs identical$', r.out)


def racy_graph(t):
    prog = os.path.join(BUILD, 'tests', 'races', 'races')
    if not os.path.exists(prog):
        raise Skip('tests/races/races was not built')
    r = t.tsdb('record', '--gpu', t.gpu, '-o', 't.sbt', '--', prog, 'graph_edge')
    t.equal(r.status, 0, 'record')


def test_explore_turns_nodes_round(t):
    """The nodes of one launch, and a schedule that fails each time; by one process and by two."""
    racy_graph(t)
    seq = launches(t)[0]
    r = t.tsdb('explore', 't.sbt')
    t.equal(r.status, 3, 'another result')
    t.match(rf'^Result 1: another one, because #{seq}\.1 and #{seq}\.2 are unordered$', r.out)
    t.match(rf'^    #{seq}\.2 consume<<<', r.out)
    for _ in range(20):
        t.equal(t.tsdb('replay', 't.schedule-1.sbt').status, 0, 'the schedule')
    view = t.tsdb('view', 't.schedule-1.sbt').out
    t.check(re.search(r'^#\d+ consume<<<', view, re.M).start() < re.search(r'^#\d+ fill .* with 0x00000003', view, re.M).start(), 'the kernel comes first')
    t.no_match('graph_launch', view)
    found = json.loads(t.tsdb('explore', 't.sbt', '--jobs', '2', '--json', '--no-save').out)['found']
    t.equal([(p['earlier'], p['later']) for p in found[0]['pairs']], [(f'{seq}.1', f'{seq}.2')], 'by two processes')
    r = shell(t, 'replay start', f'replay goto {seq}', 'replay explore --no-save', 'when', 'replay verify', status=3)
    t.match(rf'^#{seq} of #', r.out)
    if t.gpu == 'soft':  # elsewhere the race may have been recorded the other way
        t.match(r'^(\d+) of \1 allocations identical', r.out)


def test_explore_keeps_what_a_graph_orders(t):
    recorded(t, 'graph_updates')
    r = t.tsdb('explore', 't.sbt', '--json')
    t.equal((r.status, json.loads(r.out)['found']), (0, []), 'nothing to find')


def test_live_stops_at_launches_that_run_a_kernel(t):
    """graph_updates: doubling is disabled for two launches, which are passed then."""
    r = t.session('graph_updates', 'break kernel twice', 'run', 'info graph', 'continue 5', 'continue', 'info breakpoints')
    t.equal(r.status, 0, 'exit status')
    t.match(r'^Breakpoint 1, #\d+ graph_launch exec \d+ stream 1\n  its step 4 of 5 is twice<<<\(1,1,1\),\(1,1,1\)>>>; a replay stops right before it$', r.out)
    t.equal(len(re.findall(r'^Breakpoint 1, #\d+ graph_launch', r.out, re.M)), 3, 'stops')
    t.match(r'^1 +keep +y +7 ', r.out)
    r = t.session('graph_updates', 'break kernel count if grid_x == 2', 'run', 'continue')  # the first is when it is captured
    t.match(r'^Breakpoint 1, #\d+ graph_launch.*\n  its step \d of 6 is count<<<\(2,1,1\)', r.out)


def test_nodes_that_cannot_be_told(t):
    """A graph that allocates memory: named when it is recorded, and replayed by what it did."""
    recorded(t, 'graph_memory')
    t.match('not replayable: a graph node that allocates or frees memory', t.log[-1].both)
    r = t.tsdb('replay', 't.sbt', '--verify')
    t.equal(r.status, 0, 'replay')
    t.match(r'launch of graph \d+: not executed again, some of its nodes are not described; its recorded effect on memory is applied', r.both)
    t.match(r'^(\d+) of \1 allocations identical, 1 of 1 outputs identical$', r.out)
    taken = len(re.findall(r'its recorded effect on memory is applied', r.out))
    work = [c['kind'] for c in map(json.loads, t.tsdb('view', '--json', 't.sbt').out.splitlines())]
    executed, left_out = sum(k in ('launch', 'copy', 'fill') for k in work), work.count('unreplayable')
    t.match(rf'^{executed} commands executed, what {taken} more did is taken from the recording, {left_out} left out$', r.out)
    t.match(rf'^Verified\. Not executed, taken from the recording: {taken} commands?\.$', r.out)
    w = json.loads(t.tsdb('replay', 't.sbt', '--json').out)['windows'][0]
    t.equal((w['executed'], w['from_recording'], w['left_out']), (executed, taken, left_out), 'as JSON')
    first, second, _ = launches(t)
    x = f'x/1dw {counter(t)}'
    r = shell(t, 'replay start', f'replay goto {first - 1}', 'step', x, 'step', x)
    t.equal(values(r.out), [224, 448], 'the counter: 32 * 7 a launch')
    t.match(rf'^#{second} graph_launch', r.out)
    t.sentence(t.tsdb('--batch', '-ex', 'replay start', '-ex', f'replay goto {first}.1', 't.sbt'), 'cannot be executed again, so it has no steps here')
    t.match(r'^\.\d +\d +\S+ +a graph node that allocates or frees memory, what it does was not recorded', shell(t, f'info graph {graph_of(t, first)["id"]}').out)
    for stop, name in (f'watch {counter(t)}', 'Watchpoint'), ('break kernel add', 'Breakpoint'):
        r = shell(t, 'replay start', f'replay goto {first - 1}', stop, 'continue', 'continue', f'who-wrote {counter(t)}')
        t.equal(re.findall(r'^(\w+point 1, #\d+ graph_launch)', r.out, re.M), [f'{name} 1, #{s} graph_launch' for s in (first, second)], 'stops')
        t.match(rf'^#{second} graph_launch', r.out)
    r = shell(t, 'replay start --on none', f'replay goto {first}.3')
    t.match(rf'^#{first}\.3 count<<<', r.out)


def test_memory_that_a_graph_leaves_behind(t):
    """A kernel behind the launch reads what nodes of the graph allocated and wrote: it is an allocation of the trace, until something frees it."""
    recorded(t, 'graph_memory', 'kept')
    t.match(r'^graph_memory: 1345$', t.log[-1].out)
    r = t.tsdb('replay', 't.sbt', '--verify')
    t.equal(r.status, 0, r.out + r.err)
    t.match(r'1 of 1 outputs identical', r.out)
    out = t.tsdb('view', 't.sbt').out
    addr = re.search(r'^#\d+ alloc async 4096 bytes (0x[0-9a-f]+) stream 1', out, re.M)[1]
    t.equal(re.findall(rf'^#\d+ (alloc async 4096 bytes|free \w+) {addr}\b', out, re.M),
            ['alloc async 4096 bytes', 'free device', 'alloc async 4096 bytes', 'free async', 'alloc async 4096 bytes', 'free async'], 'three times')
    adds = re.findall(r'^#(\d+) add<<<.* stream 1$', out, re.M)
    r = t.session('graph_memory', f'capture window seq {adds[1]}-{adds[1]}', 'run', 'continue', args=['kept'])
    t.equal(r.status, 0, 'a window that begins with it')
    t.equal(t.tsdb('replay', 'graph_memory.sbt', '--verify').status, 0, 'and its replay')


def cells_of(out):
    """Of each x/6dw its six values; it takes two lines."""
    lines = [m.split() for m in re.findall(r'^0x[0-9a-f]+:((?:\s+-?\d+)+)$', out, re.M)]
    return [a + b for a, b in zip(lines[0::2], lines[1::2])]


def test_graphs_by_chance(t):
    """Step by step through graphs with branches and child graphs: the same memory as from the launch as a whole, and no order gives another."""
    for seed in (1, 2, 3):
        recorded(t, 'graph_random', seed, 40)
        a = t.match(r'^#\d+ alloc device 24 bytes (0x[0-9a-f]+)', t.tsdb('view', 't.sbt').out)[1]
        first, second = launches(t)
        g = graph_of(t, first)
        t.check(all(d < s['step'] for s in g['step_list'] for d in s['after']), 'a step comes behind what it waits for')
        n, x = len(g['step_list']), f'x/6dw {a}'
        r = shell(t, 'replay start', f'replay goto {first}', x, f'replay goto {first - 1}', f'step {n}', x, f'replay goto {second}', x,
                  f'replay goto {second - 1}', f'step {n - 1}', 'step', x, f'replay goto {second}.{n // 2}', x, f'reverse-step {n // 2}', x,
                  'replay goto end', 'replay verify')
        c = cells_of(r.out)
        t.equal(len(c), 6, 'looks at memory')
        t.equal((c[0], c[2]), (c[1], c[3]), f'seed {seed}: whole and step by step')
        t.equal(c[5], c[0], f'seed {seed}: back before the second launch')
        t.match(r'^1 of 1 allocations identical, 1 of 1 outputs identical$', r.out)
    r = t.tsdb('explore', 't.sbt', '--budget', '20', '--json', '--no-save')
    t.equal((r.status, json.loads(r.out)['found']), (0, []), 'every order that the edges allow gives the same')
    r = shell(t, 'replay start', f'replay goto {first}.3', 'state show', 'who-wrote ' + a)
    t.match(r'^In a graph launch, 3 of its \d+ steps are done: ', r.out)
    if t.gpu == 'soft':
        t.sentence(t.tsdb('--batch', '-ex', 'replay start', '-ex', f'replay goto {first}.3', '-ex', 'stepi', 't.sbt'), 'not into nodes of a graph')


CONDITIONAL = '''import ctypes
cuda = ctypes.CDLL("libcuda.so.1")
c, g, n, h = (ctypes.c_void_p() for _ in range(4))
params = (ctypes.c_uint64 * 32)(13)
for e in cuda.cuInit(0), cuda.cuDevicePrimaryCtxRetain(ctypes.byref(c), 0), cuda.cuCtxSetCurrent(c), cuda.cuGraphCreate(ctypes.byref(g), 0):
    assert e == 0, e
print(cuda.cuGraphConditionalHandleCreate(ctypes.byref(h), g, c, 1, 1), cuda.cuGraphAddNode_v2(ctypes.byref(n), g, None, None, ctypes.c_size_t(0), params))
'''


def test_conditional_nodes_are_refused_by_name(t):
    if t.gpu != 'soft':
        raise Skip('another driver has them')
    r = t.tsdb('record', '--gpu', 'soft', '-o', 't.sbt', 'python3', '-c', CONDITIONAL)
    t.equal(r.status, 0, 'status')
    t.match(r'^801 801$', r.out)
    t.match(r'cuGraphConditionalHandleCreate is not supported', r.both)
    t.match(r'conditional graph nodes are not supported', r.both)


def test_conditional_nodes_are_named_where_a_driver_has_them(t):
    recorded(t, 'conditional')
    r = t.log[-1]
    if 'no conditional nodes' in r.out:
        raise Skip('this driver has none')
    t.match(r'^once 202 often 10$', r.out)
    t.match(r'not replayable: a conditional graph node', r.both)
    r = t.tsdb('replay', 't.sbt', '--verify')
    t.equal(r.status, 0, 'replay')
    t.match(r'launch of graph \d+: not executed again, some of its nodes are not described; its recorded effect on memory is applied', r.both)
    t.match(r'^(\d+) of \1 allocations identical, 2 of 2 outputs identical$', r.out)
    first, second = launches(t)
    g = graph_of(t, first)
    t.equal([s['type'] for s in g['step_list']], ['kernel', 'other', 'other'], 'nodes')
    named = re.findall(r'^\.\d .* a conditional graph node, what it does was not recorded .* conditional \(\) at .*conditional\.cu:\d+$',
                       shell(t, f'info graph {g["id"]}').out, re.M)
    t.equal(len(named), 2, 'nodes named')
    t.sentence(t.tsdb('--batch', '-ex', 'replay start', '-ex', f'replay goto {first}.1', 't.sbt'), 'cannot be executed again, so it has no steps here')
    r = t.session('conditional', 'break kernel count', 'run', 'delete', 'capture start w.sbt', 'continue')
    t.match(r'^once 202 often 10$', r.out)
    t.match(r'^Verified\. Not executed, taken from the recording: 2', t.tsdb('replay', 'w.sbt', '--verify').out)
