# SPDX-License-Identifier: Apache-2.0
"""The inferior's output, exit status and signals are what they are without tsdb."""
import json
import os
import signal

from e2e import BUILD, first_existing, program


def alone(t, name, *args, **kw):
    env = kw.pop('env', {})
    if t.gpu == 'soft':
        env['LD_LIBRARY_PATH'] = first_existing(os.path.join(BUILD, 'softgpu'), os.path.join(BUILD, 'lib/tsdb/softgpu'))
    return t.run([program(name), *args], env=env, **kw)


def same(t, name, *args, **kw):
    a = alone(t, name, *args, **kw)
    r = t.record(name, *args, **kw)
    t.equal(r.out, a.out, f'{name}: standard output')
    t.equal(r.status, a.status, f'{name}: exit status')
    return a, r


def test_examples(t):
    for name in ('vecadd', 'reduce', 'pipeline'):
        a, _ = same(t, name)
        t.equal(a.status, 0, name)


def test_transformer(t):
    a, _ = same(t, 'transformer')
    t.equal(a.status, 0, 'transformer')


def test_all_kinds_of_command(t):
    a, _ = same(t, 'all_kinds')
    t.equal(a.status, 0, 'all_kinds')


def test_graphs(t):
    a, _ = same(t, 'graphs')
    t.equal(a.status, 0, 'graphs')


def test_illegal_address(t):
    a, r = same(t, 'bad_address')
    t.match(r'cudaErrorIllegalAddress', a.out)
    if t.gpu == 'soft':
        t.match(r'illegal address.*stray.*thread \(\d+,0,0\).*line \d+', r.err, 'what the software GPU says')


def test_exit_code(t):
    a, _ = same(t, 'exit_code')
    t.equal(a.status, 7, 'exit_code alone')


def test_exit_without_teardown(t):
    same(t, 'exits_early')


def test_segv(t):
    a, r = same(t, 'crash_segv')
    t.equal(a.status, -signal.SIGSEGV, 'crash_segv alone')
    t.match(r'killed by SIGSEGV, Segmentation fault, after \d+ GPU commands; the trace ends there', r.err, 'record says so')


def test_killed(t):
    a, _ = same(t, 'kill_self')
    t.equal(a.status, -signal.SIGKILL, 'kill_self alone')


def test_signals(t):
    same(t, 'signals')


def test_threads(t):
    same(t, 'threads')


def allocated_twice(t, trace):
    """Allocations of addresses whose free comes later: their numbers."""
    live, twice = set(), []
    for line in t.tsdb('view', trace, '--json').out.splitlines():
        c = json.loads(line)
        if c.get('kind') == 'alloc' and not c.get('result'):
            if c['addr'] in live:
                twice.append(c['seq'])
            live.add(c['addr'])
        elif c.get('kind') == 'free' and not c.get('result'):
            live.discard(c['addr'])
    t.check(live or twice, 'the trace has allocations')
    return twice


def test_pinned_memory_of_threads(t):
    """Each thread's free comes while the others' launches are compared with pinned memory; what is recorded is what each launch read."""
    for _ in range(3):
        a, r = same(t, 'pinned_threads', 40)
        t.equal(a.out, 'fine\n', 'the program alone')
        t.check('missing' not in r.err, f'all memory was recorded: {r.err}')
        v = t.tsdb('replay', 't.sbt', '--verify')
        t.match(r'\nVerified\.', v.out, 'the replay')
        t.equal(allocated_twice(t, 't.sbt'), [], 'allocations at an address that another thread frees later')


def test_pages_of_pinned_memory(t):
    """All that the host wrote since the last launch is recorded, also what had been there before."""
    a, r = same(t, 'pinned_pages')
    t.equal(a.out, 'fine\n', 'the program alone')
    t.check('missing' not in r.err, f'all memory was recorded: {r.err}')
    v = t.tsdb('replay', 't.sbt', '--verify')
    t.match(r'\nVerified\.', v.out, 'the replay')


def test_ways_to_pinned_memory(t):
    """Launches that may read page-locked memory have what the host wrote before, whatever way they come to it."""
    a, r = same(t, 'pinned_reach')
    t.equal(a.out, 'fine\n', 'the program alone')
    t.check('missing' not in r.err, f'all memory was recorded: {r.err}')
    v = t.tsdb('replay', 't.sbt', '--verify')
    t.match(r'\nVerified\.', v.out, 'the replay')


def test_host_writes_again(t):
    """What the host writes again, over what the device wrote, is recorded, though it is what was recorded last: where the pages that the
    program wrote are known, and where they are compared."""
    for how in [], ['direct']:
        a, r = same(t, 'host_writes_again', *how)
        t.equal(a.out, 'fine\n', f'the program alone {how}')
        t.check('missing' not in r.err, f'all memory was recorded {how}: {r.err}')
        v = t.tsdb('replay', 't.sbt', '--verify')
        t.match(r'\nVerified\.', v.out, f'the replay {how}')


def test_fork(t):
    same(t, 'forks')


def test_exec(t):
    same(t, 'execs')


def test_failing_calls(t):
    same(t, 'failing_calls')


def test_stdin(t):
    a, _ = same(t, 'stdin_echo', stdin='one\ntwo\n')
    t.match('two', a.out)


def test_program_that_uses_cupti(t):
    _, r = same(t, 'uses_cupti')
    t.match(r'CUPTI', r.err, 'the one clear line')
