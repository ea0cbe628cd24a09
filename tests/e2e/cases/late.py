# SPDX-License-Identifier: Apache-2.0
"""An agent that comes late, to a process that has been computing (tests/programs/late-door.c opens the door that an attaching debugger uses): what was
there before is found, and a window replays."""
import concurrent.futures
import json
import os
import re
import time

from e2e import Skip, program

PROGRAM = 'late'


def is_whole(t):
    """Whether the trace has been written to its end."""
    r = t.tsdb('info', '--json', 't.sbt')
    t.log.pop()
    return r.status == 0 and json.loads(r.out)['damage'] is None


def window(t, *args, kernel='table_step', count=20, prog=PROGRAM, ms=300):
    """Records a window of prog from when the agent has come, and lets the program end when the trace is whole; the screen."""
    door = program('late-door.so')
    for old in 't.sbt', 'end':
        if os.path.exists(t.path(old)):
            os.unlink(t.path(old))
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        run = pool.submit(t.session, prog, f'set env LD_PRELOAD {door}', f'set env TSDB_LATE_MS {ms}', 'set capture output t.sbt',
                          f'capture window kernel {kernel} count {count}', 'run', 'continue', args=['3600', *args])
        while not run.done() and not (os.path.exists(t.path('t.sbt')) and is_whole(t)):
            time.sleep(0.1)
        with open(t.path('end'), 'w'):
            pass
        r = run.result()
    t.match(r'captured #\d+-#\d+ -> t\.sbt', r.out)
    return r


def verified(t):
    r = t.tsdb('replay', '--verify', 't.sbt')
    t.equal(r.status, 0, 'replay --verify')
    t.match(r'^Verified\.', r.out)
    return r


def view(t, kind):
    return t.tsdb('view', 't.sbt', '--kind', kind).out


def test_a_window_after_everything_was_made(t):
    r = window(t)
    t.match(r'late: \d+ rounds ok', r.out)
    found = verified(t).out
    t.match(r'(\d+) of \1 allocations identical, 19 of 19 outputs identical', found)


def test_all_memory_is_found(t):
    """Two for each of six parts, their table, one of eight small ones, one async, one managed, two pinned; no variable of the module."""
    window(t)
    allocs = t.tsdb('--batch', '-ex', 'info allocations', 't.sbt').out
    sizes = sorted((int(size), kind) for size, kind in re.findall(r'^ *0x[0-9a-f]+ +(\d+) +(\w+)', allocs, re.M))
    t.equal(sizes, sorted([(2048, 'device')] * 12 + [(96, 'device'), (64, 'device'), (2048, 'async'), (2048, 'managed')] + [(2048, 'pinned')] * 2),
            'allocations')


def test_an_old_executable_graph_is_recorded_by_its_effect(t):
    window(t, 'graph')
    t.match(r'graph_launch exec 0', view(t, 'graph_launch'))
    t.match(r'^Graph 0, executable, from before tsdb came: its nodes are not known', t.tsdb('--batch', '-ex', 'info graph 0', 't.sbt').out)
    t.match(r'(\d+) of \1 allocations identical, 19 of 19 outputs identical', verified(t).out)


def test_a_module_from_memory(t):
    """PTX text that was loaded by cuModuleLoadData is still there, or the driver's copy of it."""
    for how in '', 'gone':
        r = window(t, how, kernel='step', prog='late_module')
        t.match(r'late_module: \d+ rounds ok', r.out)
        if how == 'gone' and t.gpu != 'soft':
            continue  # whether the driver keeps it is its own affair
        t.match(r'2 of 2 allocations identical, 19 of 19 outputs identical', verified(t).out)


def test_mapped_pieces_are_found(t):
    """Physical memory mapped into a reservation: every piece is an allocation, and what lies between is none."""
    window(t, 'vmm', kernel='step', prog='late_module')
    t.match(r'3 of 3 allocations identical, 19 of 19 outputs identical', verified(t).out)
    allocs = t.tsdb('--batch', '-ex', 'info allocations', 't.sbt').out
    found = re.findall(r'^ *0x([0-9a-f]+) +(\d+) +vmm', allocs, re.M)
    t.equal(len(found), 2, 'pieces')
    t.equal(int(found[1][0], 16) - int(found[0][0], 16), 5 * int(found[0][1]), 'distance')


def test_the_runtime_inside_the_program(t):
    if t.gpu == 'soft':
        raise Skip('a runtime that is linked in needs an NVIDIA driver')
    window(t, prog='late_static_cudart')
    t.match(r'(\d+) of \1 allocations identical, 19 of 19 outputs identical', verified(t).out)


def test_two_modules_that_fit_are_not_guessed(t):
    window(t, 'two', kernel='step', prog='late_module')
    t.match(r'Not known: the code of module 0 \(kernel step\): 2 different images', t.tsdb('--batch', '-ex', 'state show', 't.sbt').out)
    t.match(r'^not known +1 thing: the code of module 0 \(kernel step\): 2 different images', t.tsdb('info', 't.sbt').out)
    t.match(r'"unknown":1\b', t.tsdb('info', '--json', 't.sbt').out)
    r = t.tsdb('replay', '--verify', 't.sbt')
    t.equal(r.status, 1, 'replay')
    t.match(r'does not have the code of step, which was loaded before tsdb was attached: 2 different images in memory have a kernel of that name', r.err)


def test_code_of_a_kernel_first_met_inside_the_window(t):
    """It is found while the program goes on, and told behind the window's last command; its variable, which looked like an allocation, is its variable."""
    r = window(t, 'inside', kernel='next', prog='late_module')
    t.match(r'late_module: \d+ rounds ok', r.out)
    last = int(re.search(r'captured #\d+-#(\d+)', r.out).group(1))
    t.match(r'(\d+) of \1 allocations identical, (\d+) of \2 outputs identical', verified(t).out)
    t.no_match(r'Not known', t.tsdb('--batch', '-ex', 'state show', 't.sbt').out)
    codes = [int(s) for s in re.findall(r'^#(\d+)', view(t, 'module_code'), re.M)]
    t.equal(len(codes) >= 1 and codes[-1] > last, True, 'the code comes after the window')


def test_the_trace_says_where_it_began(t):
    window(t, 'graph')
    show = t.tsdb('--batch', '-ex', 'state show', 't.sbt').out
    # A real driver calls variables of the module allocations, too, until it is known that they are none.
    n, size = ('18', '32928') if t.gpu == 'soft' else (r'(?:18|20)', r'329[24]8')
    t.match(rf'^Attached to a running process at #\d+: {n} allocations, {size} bytes, found; commands before are not known$', show)
    t.no_match(r'oddit', show)
    t.match(rf'^attached +at #\d+, to a running process: {n} allocations were found; commands before', t.tsdb('info', 't.sbt').out)
    t.match(r'recorded by attaching to a running process, at #\d+: commands before', t.tsdb('view', 't.sbt').err)
    for what in (r'primary, from before', r'default, from before', r'non-blocking, from before', r'library, from before',
                 r'executable, from before', r'before  #\d+ perhaps$'):
        t.match(what, show)
