# SPDX-License-Identifier: Apache-2.0
"""Why a move ended, as JSON (the object `stop`): each reason where it comes about, with what belongs to it."""
import json
import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from replay import find, race_demo, recorded, shell  # noqa: E402


def stops(r):
    """The last_stop of every `info program --json`."""
    return [json.loads(line)['last_stop'] for line in r.out.splitlines() if line.startswith('{"program"')]


def between(*commands):
    return [c for command in commands for c in (command, 'info program --json')]


def reasons(found):
    return [s and s['stop_reason'] for s in found]


def test_stops_of_a_program(t):
    r = t.session('pipeline', *between('break launch', 'tbreak copy', 'run', 'next', 'delete', 'handle SIGUSR1 stop', 'continue'))
    found = stops(r)
    t.equal(reasons(found)[:4], [None, None, 'breakpoint', 'step'], 'reasons')
    hit, end = found[2], found[-1]
    t.equal((hit['before'], hit['in_replay'], hit['stops'], hit['breakpoint_list'], hit['temporary']), (True, False, 1, [2], True), 'the stop')
    t.equal(hit['kind'], 'copy', 'what it is at')
    t.check(hit['pid'] > 0 and hit['tid'] > 0 and hit['seq'] > 0, 'the process')
    t.equal((end['stop_reason'], end['exit_code'], end['seq'], end['stream'], end['signal']), ('exited', 0, None, None, None), 'the end')


def test_a_kernel_and_two_breakpoints(t):
    found = stops(t.session('race_demo', *between('break kernel consume', 'break launch if stream == 2', 'run')))[-1]
    t.equal((found['stop_reason'], found['breakpoint_list'], found['kernel_name'], found['kind'], found['stream']),
            ('breakpoint', [1, 2], 'consume', 'launch', 2), 'the stop')


def test_ends(t):
    end = stops(t.session('exit_code', *between('run')))[-1]
    t.equal((end['stop_reason'], end['exit_code'] > 0), ('exited', True), 'a status')
    r = t.session('crash_segv', *between('run', 'continue'))
    signal, end = stops(r)
    t.equal((signal['stop_reason'], signal['signal'], signal['exit_code']), ('signal', 'SIGSEGV', -1), 'a signal')
    t.equal((end['stop_reason'], end['signal'], end['seq']), ('killed', 'SIGSEGV', None), 'its death')


def test_failures(t):
    fault = stops(t.session('bad_address', *between('run')))[-1]
    t.equal((fault['stop_reason'], fault['failure']['code'], fault['failure']['error'], fault['before']),
            ('fault', 700, 'CUDA_ERROR_ILLEGAL_ADDRESS', False), 'a fault')
    if t.gpu == 'soft':
        t.check(int(fault['failure']['addr'], 16) >= 4 * 2**40, 'where')
    call = stops(t.session('failing_calls', *between('catch error cuMemAlloc', 'run')))[-1]
    t.equal((call['stop_reason'], call['failure']['code']), ('failed-call', 2), 'a call')
    t.match('cuMemAlloc', call['failure']['call'])


def test_stops_of_a_replay(t):
    t.need_soft()
    race_demo(t)
    produce, consume = find(t, 'produce<<<'), find(t, 'consume<<<')
    r = shell(t, 'replay start --on soft', *between(
        f'goto {consume}', 'break kernel produce', 'reverse-continue', 'reverse-continue', 'delete', f'goto {produce - 1}',
        'watch 0x302000000 len 8', 'continue', 'reverse-continue', 'delete', 'rwatch 0x302000004 len 4', 'continue', 'goto begin', 'delete',
        'replay next', 'continue'))
    found = stops(r)
    at = {s['stops']: s for s in found if s}
    t.equal([s['stop_reason'] for s in at.values()],
            ['step', 'breakpoint', 'begin', 'step', 'watchpoint', 'watchpoint', 'watchpoint', 'begin', 'step', 'end'], 'reasons')
    t.equal((at[1]['seq'], at[2]['seq'], at[2]['breakpoint_list'], at[2]['before']), (consume, produce, [1], False), 'the breakpoint')
    w = at[5]['watch']
    t.equal((at[5]['seq'], w['by'], int(w['addr'], 16), w['size'], w['changed'], w['sure']), (produce, produce, 0x302000000, 8, True, True), 'watch')
    t.equal((w['bytes_before'], w['bytes_after']), ('00' * 8, '0000803f' * 2), 'its bytes')
    w = at[7]['watch']
    t.equal((at[7]['seq'], w['by'], int(w['addr'], 16), w['size'], w['reads'], w['writes'], w['sure'], w['bytes_after']),
            (consume, consume, 0x302000004, 4, True, False, True, None), 'rwatch')
    t.equal(at[3]['seq'], None, 'the beginning')
    t.check(all(s['in_replay'] and not s['pid'] for s in at.values()), 'of the replay')
    t.equal([s['stops'] for s in found[3:5]], [3, 3], 'what is no move is no stop')


def test_stops_inside_kernels(t):
    t.need_soft()
    recorded(t, 'reduce', options=('--memory', 'all'))
    seq = find(t, 'sum_kernel<<<')
    r = shell(t, 'replay start --on soft', *between(
        f'replay enter {seq}', 'stepi 3', 'thread (160,0,0)', 'watch @shared 4 * 5 len 4', 'continue', 'delete', 'finish'))
    found = stops(r)
    t.equal(reasons(found), ['kernel-begin', 'step', 'step', 'step', 'watchpoint', 'watchpoint', 'kernel-end'], 'reasons')
    t.equal((found[0]['in_thread']['kernel_thread'], found[0]['seq'], found[0]['kernel_name']), ([0, 0, 0], seq, 'sum_kernel'), 'the launch')
    t.equal(found[2]['stops'], found[1]['stops'], 'choosing a thread is no stop')
    w = found[4]['watch']
    t.equal((w['space'], int(w['addr'], 16), w['by'], w['changed'], w['bytes_before']), ('shared', 20, seq, True, '00' * 4), 'the change')
    t.equal(int.from_bytes(bytes.fromhex(w['bytes_after']), 'little'), int(re.search(r'\n  0x0 \(0\) -> 0x[0-9a-f]+ \((\d+)', r.out)[1]), 'its value')
    t.equal(found[6]['in_thread'], None, 'behind it')


def test_stops_inside_graphs(t):
    t.need_soft()
    recorded(t, 'graphs')
    first = find(t, 'graph_launch')
    found = stops(shell(t, 'replay start --on soft', *between(f'goto {first}.2', f'goto {first}.0', f'goto {first}.5', f'goto {first - 1}', 'break kernel count', 'continue')))
    t.equal([(s['seq'], s['step'], s['before']) for s in found[:3]], [(first, 2, False), (first, 1, True), (first, 5, False)], 'steps')
    t.equal((found[5]['stop_reason'], found[5]['seq'], found[5]['before'], found[5]['breakpoint_list']), ('breakpoint', first, True, [1]), 'a node')
    t.equal(found[5]['kernel_name'], 'count', 'its kernel')
