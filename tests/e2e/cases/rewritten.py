# SPDX-License-Identifier: Apache-2.0
"""Probes by changed code: the tables are those that the software GPU's own probes make, and memory stays as it was recorded. On the software
GPU the changed code runs there; on an NVIDIA GPU it runs on that, and the same trace on the software GPU gives the tables to compare with."""
import json
import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from e2e import SRC, program, tsdb_path  # noqa: E402
from kernelvars import line_of  # noqa: E402

# What is counted at every few lines of a program, in turn.
EXPRESSIONS = ('count', 'hist threadIdx.x', 'by blockIdx.x * 3 + lane % 5', 'count if threadIdx.x % 2 && blockIdx.x < 3',
               'hist f32(threadIdx.x) / 3 - 1', 'by (threadIdx.x - 5) / (lane - 3) if lane > 1 || threadIdx.x',
               'by -lane << (threadIdx.x % 70) >> 3', 'hist f64(threadIdx.x - 7) * 1e18 if !(lane & 1)', 'by ~threadIdx.x ^ 5 | lane << 2',
               'count if s8(threadIdx.x * 9) > 5 == (u16(lane - 4) >= 6) || f32(lane) <= 3.5', 'by (lane - 9) % (threadIdx.x - 4)')
# Whether all devices have the same tables. In reduce one instruction of line 26 is executed by the block that comes last, which differs from run to run.
PROGRAMS = {'scan': True, 'bitonic': True, 'transpose': True, 'reduce': False, 'topk': True, 'hashtable': False}


def trace_of(t, name):
    t.run([tsdb_path(), '--gpu', t.gpu, '-q', 'record', '--memory', 'all', '-o', t.path('t.sbt'), program(name)])


def shell(t, on, commands, status=0):
    ex = [x for c in (f'replay start --on {on}', *commands) for x in ('-ex', c)]
    r = t.tsdb('-q', '--batch', '--no-init', *ex, t.path('t.sbt'))
    if status is not None:
        t.equal(r.status, status, f'exit status\n{r.show()}')
    return r


def tables(t, r):
    return [json.loads(m) for m in re.findall(r'^\[\{"id".*?\]$', r.out, re.M | re.S)]


def both(t, probes):
    """The software GPU's own tables, and those of changed code on the device that the tests are for."""
    if t.gpu == 'soft':
        r = shell(t, 'soft', [*probes, 'info probes --json', 'set probes rewrite on', 'info probes --json'])
        own, changed = tables(t, r)
    else:
        own = tables(t, shell(t, 'soft', [*probes, 'info probes --json']))[0]
        r = shell(t, 'real', [*probes, 'info probes --json'])
        changed = tables(t, r)[0]
    t.no_match('memory is not as recorded', r.out, 'memory')
    return own, changed


def sort(table):
    for p in table:
        p['groups'].sort(key=lambda g: g['key'])
    return table


def lines_of(name):
    """A line of the source for each probe: those that have code, found by the program itself."""
    with open(os.path.join(SRC, 'tests/programs/ptx-suite', name + '.cu'), encoding='utf-8') as f:
        text = f.read().splitlines()
    return [n for n, x in enumerate(text, 1) if re.search(r'[;}]\s*$', x) and x.startswith('\t') or x == '}']


def sweep(t, name):
    """Every line of a program that has code, 16 at a time; yields the tables."""
    trace_of(t, f'ptx-suite/{name}')
    seen = shell(t, 'soft', [f'break {name}.cu:{n}' for n in lines_of(name)], status=None)
    lines = sorted({int(m) for m in re.findall(rf'^Breakpoint \d+ at (?:ptx .*:)?{name}\.cu:(\d+)', seen.out, re.M)})
    t.check(len(lines) > 5, f'{name} has lines\n{seen.show()}')
    for first in range(0, len(lines), 16):
        yield both(t, [f'probe {name}.cu:{n} {EXPRESSIONS[k % len(EXPRESSIONS)]}' for k, n in enumerate(lines[first:first + 16], first)])


def check_sweep(t, name):
    threads = 0
    for own, changed in sweep(t, name):
        for a, b in zip(sort(own), sort(changed)):
            t.equal(b, a, f'{a["location"]}: {a["expression"]} if {a["condition"]}')
        threads += sum(p['threads'] for p in own)
    t.check(threads > 1000, f'{threads} threads were counted')


def add_sweep(name, alike):
    def test(t):
        if alike or t.gpu == 'soft':
            check_sweep(t, name)
    test.__doc__ = f'All lines of ptx-suite/{name}.'
    globals()[f'test_tables_of_{name}'] = test


for _name, _alike in PROGRAMS.items():
    add_sweep(_name, _alike)


# What threads show at lines of a program, in turn; each line of the screen is about one thread.
SHOWN = ('%d %ld %g", threadIdx.x, blockIdx.x * 3 + lane % 5, f32(threadIdx.x) / 3 - 1',
         '%u %d %u", %tid.x, s8(threadIdx.x * 9), u16(lane - 4)', '%d %x %ld", threadIdx.x, ~threadIdx.x ^ 5 | lane << 2, (lane - 9) % (threadIdx.x - 4)',
         '%d %f %d %e", threadIdx.x, f64(threadIdx.x - 7) * 1e18, !(lane & 1), 0.0 / (threadIdx.x - 13)',
         '%d %d %p", threadIdx.x, s32[threadIdx.x % 2 * 8], s64(0 - lane)', '%d %lu %u", threadIdx.x, u64(lane - 3), %ntid.x')


def said(r):
    """The lines that threads showed, by block and warp (rows of a block are warps); sorting keeps the order of time."""
    lines = re.findall(r'^block \((\d+),(\d+),(\d+)\), thread \((\d+),(\d+),0\): (.*)$', r.out, re.M)
    return sorted(lines, key=lambda x: [int(v) for v in (x[2], x[1], x[0], x[4])] + [int(x[3]) // 32])


def by_thread(lines):
    threads = {}
    for *thread, text in lines:
        threads.setdefault(tuple(thread), []).append(text)
    return threads


def messages(t, commands):
    """What threads show by the software GPU itself, and by changed code on the device that the tests are for."""
    own = said(shell(t, 'soft', [*commands, 'continue']))
    first = ['set probes rewrite on'] if t.gpu == 'soft' else []
    r = shell(t, t.gpu, [*first, *commands, 'continue'])
    t.no_match('memory is not as recorded', r.out, 'memory')
    return own, said(r)


def check_messages(t, name):
    """The same lines on the same device; on another one warps may part elsewhere, but each thread says the same, in the same order."""
    trace_of(t, f'ptx-suite/{name}')
    seen = shell(t, 'soft', [f'break {name}.cu:{n}' for n in lines_of(name)], status=None)
    lines = sorted({int(m) for m in re.findall(rf'^Breakpoint \d+ at (?:ptx .*:)?{name}\.cu:(\d+)', seen.out, re.M)})[::3][:8]
    which = 'blockIdx.x < 2 && threadIdx.x % 37 == 4'
    own, changed = messages(t, ['set dprintf-lines 0', *(f'dprintf {name}.cu:{n} if {which},"{n}: {SHOWN[k % len(SHOWN)]}'.replace('",', '\\n",', 1)
                                                          for k, n in enumerate(lines))])
    t.check(len(own) > 20, f'{len(own)} lines')
    if t.gpu == 'soft':
        t.equal(changed, own, 'lines')
    t.equal(by_thread(changed), by_thread(own), 'by thread')


def add_messages(name):
    def test(t):
        if t.gpu == 'real' or name != 'scan':  # whose warps pass so often that the microscope takes long
            check_messages(t, name)
    test.__doc__ = f'Every third line of ptx-suite/{name}.'
    globals()[f'test_messages_of_{name}'] = test


for _name in ('scan', 'bitonic', 'transpose', 'topk'):
    add_messages(_name)


def test_messages_that_differ(t):
    """A launch shows its own; others when they are reached; those that were shown are not shown again by going on."""
    trace_of(t, 'debugged')
    at = line_of('/* turn */')
    r = shell(t, t.gpu, ['set probes rewrite on', f'dprintf turns:debugged.cu:{at} if k == 3 && threadIdx.x == 7,"three\\n"', 'break kernel work', 'continue',
                         'continue', 'reverse-continue', 'replay next', 'continue', 'continue'], status=None)
    t.equal(len(re.findall('three$', r.out, re.M)), 2, f'once each time\n{r.show()}')
    t.check(r.out.index('Breakpoint 2') < r.out.index('three'), 'behind the other kernel')


def test_messages_that_cannot_be(t):
    trace_of(t, 'debugged')
    at = line_of('sum +=')
    for what, says in (('%smid', 'there is no register %smid'), ('nosuch', 'there is no variable nosuch'), ('1 +', 'ends too soon')):
        r = shell(t, t.gpu, ['set probes rewrite on', f'dprintf work:debugged.cu:{at},"%d\\n", {what}', 'continue'], status=1)
        t.check(says in r.err and 'dprintf 1' in r.err, f'{what}: {says}\n{r.show()}')
    r = shell(t, t.gpu, ['set probes rewrite on', f'dprintf work:debugged.cu:{at},"%d\\n", k', 'replay goto 9', 'set memory 0x302000000 u32 1', 'continue']
              if t.gpu == 'soft' else ['nosuch'], status=1)
    if t.gpu == 'soft':
        t.match('messages inside kernels by changed code execute the window as it was recorded', r.err)


def test_variables_and_memory(t):
    """Registers of each place, local, shared, constant and global memory, parameters; addresses that are nowhere."""
    trace_of(t, 'debugged')
    total, twice, end, turn, blend = (line_of(x) for x in ('sum +=', '/* twice */', '/* end */', '/* turn */', '/* blend */'))
    own, changed = both(t, [
        f'probe work:debugged.cu:{total} by k', f'probe work:debugged.cu:{total} by squares[k] if i % 32 == 5',
        f'probe debugged.cu:{twice} hist r + v if v > 3', f'probe work:debugged.cu:{end} by given.y',
        f'probe work:debugged.cu:{line_of("twice(i, mine)")} by tile[threadIdx.x ^ 1] - i + table[i & 3]',
        f'probe t*:debugged.cu:{turn} count if k % 3 == 1', f'probe t*:debugged.cu:{turn} hist n - k',
        f'probe work:debugged.cu:{end} by s32[16]', f'probe work:debugged.cu:{end} count if s32[16] == 0 || threadIdx.x > 40',
        f'probe work:debugged.cu:{end} count if threadIdx.x < 40 && s32[8] == 0', f'probe work:{blend} by blockIdx.x',
        f'probe work:debugged.cu:{end} by s32[out]', f'probe work:debugged.cu:{end} by s32[out + 4 * 2 * n]',
        f'probe work:debugged.cu:{end} by f32[out + 4] * 0 + sum if i < n',
        f'probe work:debugged.cu:{end} hist given.x / (sum - 14) if sum < 30', f'probe work:debugged.cu:{end} hist 0.0 / 0.0'])
    for a, b in zip(sort(own), sort(changed)):
        t.equal(b, a, f'{a["location"]}: {a["expression"]} if {a["condition"]}')
    t.equal([p['threads'] for p in own[:3]], [384, 12, len([i for i in range(4, 96) if i % 3 == 0])], 'threads')
    t.equal(own[7]['uncounted'], 96, 'no memory there')
    t.equal(own[15]['uncounted'], 96, 'not a number')


def test_functions_of_several_kernels(t):
    """Lanes in a function count in launches of the kernels that the probe names, and in no others; each launch counts once."""
    trace_of(t, 'debugged')
    twice = line_of('/* twice */')
    own, changed = both(t, [f'probe t*:debugged.cu:{twice} count', f'probe w*:debugged.cu:{twice} count', f'probe debugged.cu:{twice} by lane'])
    t.equal([p['threads'] for p in changed], [0, 32, 32], 'threads')
    t.equal([p['launches'] for p in changed], [0, 1, 1], 'launches')
    t.equal(sort(changed), sort(own), 'tables')


def test_in_graphs(t):
    trace_of(t, 'graphs')
    own, changed = both(t, ['probe count:gpu.h:1 count', 'probe count:gpu.h:1 by threadIdx.x'])
    t.equal(sort(changed), sort(own), 'tables')
    t.check(own[0]['threads'] > 0, 'some are counted')


def test_the_replay_stays(t):
    """It is where it was, also inside a launch; what was changed in it is refused, since the window is executed as it was recorded."""
    trace_of(t, 'debugged')
    on = 'soft' if t.gpu == 'soft' else 'real'
    ps = ['set probes rewrite on', f'probe work:debugged.cu:{line_of("sum +=")} count']
    r = shell(t, on, [*ps, 'replay goto 9', 'when', 'info probes', 'when', 'replay verify', 'info probes'])
    t.equal(len(re.findall(r'384 threads, 1 launch', r.out)), 2, 'counted')
    t.equal(len(re.findall(r'^#9 of #1-', r.out, re.M)), 2, 'the same place')
    r = shell(t, on, [*ps, 'replay goto 13', 'set memory 0x302000000 u32 1', 'info probes'] if on == 'soft' else [*ps, 'nosuch'], status=1)
    if on == 'soft':
        t.match('execute the window as it was recorded', r.err)


def test_memory_that_differs_is_told(t):
    """A device that flips a bit: the changed code's memory is compared with the recording."""
    t.need_soft()  # the bit's address is one of its
    trace_of(t, 'debugged')
    ex = [x for c in ('replay start --on soft', 'set probes rewrite on', f'probe work:debugged.cu:{line_of("sum +=")} count', 'info probes') for x in ('-ex', c)]
    r = t.run([tsdb_path(), '-q', '--batch', '--no-init', *ex, t.path('t.sbt')], env={'TSDB_REPLAYER_FLIP': '12:302000010'})
    t.match(r'^With the code that counts, memory is not as recorded: 1 of 2 allocations identical', r.out)
    t.match(r'^  0x302000000, 768 bytes, differs$', r.out)
    t.match('384 threads, 1 launch', r.out)


def test_what_is_refused(t):
    trace_of(t, 'debugged')
    on = 'soft' if t.gpu == 'soft' else 'real'
    at = f'work:debugged.cu:{line_of("sum +=")}'
    for what, says in ((f'probe {at} by %smid', 'there is no register %smid'), (f'probe {at} by %r99999', 'there is no register %r99999'),
                       (f'probe {at} by nosuch', 'there is no variable nosuch'), (f'probe {at} by 1 +', 'ends too soon'),
                       (f'probe {at} by tile', None)):
        r = shell(t, on, ['set probes rewrite on', what, 'info probes'], status=None)
        if says:
            t.check(r.status == 1 and says in r.err and 'probe 1' in r.err, f'{what}: {says}\n{r.show()}')
        else:
            t.check('Traceback' not in r.err, what)
