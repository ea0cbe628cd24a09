# SPDX-License-Identifier: Apache-2.0
"""`tsdb dap` as an editor sees it. Cases of one session are rows of a table: each begins where its session's `reset` puts it."""
import base64
import contextlib
import json
import os
import re
import shutil
import struct
import subprocess
import sys

from attach import Running
from e2e import BUILD, SRC, Skip, first_existing, program, tsdb_path

sys.path.insert(0, os.path.join(SRC, 'tests', 'dap'))
import fuzz  # noqa: E402 (the path is set above)
from client import Client, Gone, Refused  # noqa: E402


SOURCE = os.path.join(SRC, 'examples', 'race_demo.cu')
TABLES = {}


def case(session):
    """The function below is a case of this session, in the order of the file."""
    def add(fn):
        TABLES.setdefault(session, []).append(fn)
        return fn
    return add


def line_of(text):
    """The last line of race_demo.cu that has this text."""
    with open(SOURCE, encoding='utf-8') as f:
        return [n for n, line in enumerate(f, 1) if text in line][-1]


@contextlib.contextmanager
def adapter(t, **env):
    c = Client([tsdb_path(), 'dap'], cwd=t.dir, env={**t.environment(), **env})
    try:
        yield c
    finally:
        c.close()


def run_table(t, session, c, reset):
    for fn in TABLES[session]:
        try:
            reset(c)
            fn(t, c)
        except (Refused, Gone, TimeoutError, KeyError, IndexError) as e:
            t.check(False, f'{fn.__name__}: {type(e).__name__} {e}')


def refused(t, c, command, arguments, words):
    try:
        body = c.ask(command, arguments)
    except Refused as e:
        t.match(words, e.text, command)
        return e
    return t.check(False, f'{command} {arguments} was answered with {body}')


def variables(c, scope, thread=3, frame=0):
    """The variables of a scope of a frame, by name."""
    frames = c.ask('stackTrace', {'threadId': thread})['stackFrames']
    scopes = {s['name']: s for s in c.ask('scopes', {'frameId': frames[frame]['id']})['scopes']}
    return {v['name']: v for v in c.ask('variables', {'variablesReference': scopes[scope]['variablesReference']})['variables']}


def floats(c, reference, n=4, offset=0):
    data = c.ask('readMemory', {'memoryReference': reference, 'count': 4 * n, 'offset': offset})['data']
    return list(struct.unpack(f'<{n}f', base64.b64decode(data)))


# --- a replay: race_demo at the launch #21 of consume, stream 2; #18 is the first launch of produce, stream 1 ---

DATA = '0x302000000'  # what produce writes and consume reads: checked below


@case('replay')
def threads_are_the_streams(t, c):
    names = {x['id']: x['name'] for x in c.ask('threads')['threads']}
    t.match(r'^stream 1 ', names[2])
    t.match(r'^stream 2 .*#21', names[3])
    t.check(any('race_demo' in n for n in names.values()), f'the host thread is among {names}')


@case('replay')
def stack_is_the_command_and_the_host_stack(t, c):
    frames = c.ask('stackTrace', {'threadId': 3})['stackFrames']
    t.match(r'^#21 consume<<<\(4,1,1\),\(256,1,1\)>>>', frames[0]['name'])
    t.equal(frames[0]['presentationHint'], 'label', 'hint')
    t.equal(frames[-1]['name'], 'main', 'last frame')
    t.equal(os.path.realpath(frames[-1]['source']['path']), os.path.realpath(SOURCE), 'source of main')
    t.equal(frames[-1]['line'], line_of('consume<<<'), 'line of main')


@case('replay')
def stack_of_another_stream(t, c):
    frames = c.ask('stackTrace', {'threadId': 2})['stackFrames']
    t.match(r'^#18 produce', frames[0]['name'])
    t.equal(frames[-1]['line'], line_of('produce<<<'), 'line of main')


@case('replay')
def stack_in_parts(t, c):
    whole = c.ask('stackTrace', {'threadId': 3})
    part = c.ask('stackTrace', {'threadId': 3, 'startFrame': 1, 'levels': 1})
    t.equal(part['totalFrames'], whole['totalFrames'], 'total')
    t.equal([f['name'] for f in part['stackFrames']], [whole['stackFrames'][1]['name']], 'frames')


@case('replay')
def stack_of_no_thread(t, c):
    refused(t, c, 'stackTrace', {'threadId': 0}, 'no such thread')


@case('replay')
def fields_of_the_command(t, c):
    v = variables(c, 'Command')
    t.equal((v['seq']['value'], v['kind']['value'], v['grid_x']['value']), ('21', 'launch', '4'), 'fields')


@case('replay')
def arguments_have_names_types_and_memory(t, c):
    v = variables(c, 'Arguments')
    t.equal(list(v), ['sum', 'in', 'n'], 'names')
    t.equal((v['in']['type'], v['in']['memoryReference']), ('const float *', DATA), 'in')
    t.equal(v['n']['value'], '1024', 'n')


@case('replay')
def scopes_show_the_state(t, c):
    t.equal(variables(c, 'Stream')['status']['value'], 'Running', 'the stream of #21')
    t.equal(variables(c, 'Stream', thread=2)['head']['value'], '18', 'the head of stream 1')
    t.equal(len(variables(c, 'Streams')), 3, 'streams')
    t.check(f'addr {DATA}' in variables(c, 'Allocations'), 'the allocation is listed')
    t.equal(len(variables(c, 'Events')), 2, 'events')


@case('replay')
def variables_in_pages(t, c):
    frames = c.ask('stackTrace', {'threadId': 3})['stackFrames']
    ref = next(s for s in c.ask('scopes', {'frameId': frames[0]['id']})['scopes'] if s['name'] == 'Streams')['variablesReference']
    page = c.ask('variables', {'variablesReference': ref, 'start': 1, 'count': 1})['variables']
    t.equal([v['name'] for v in page], ['id 1'], 'the second row')


@case('replay')
def references_end_with_their_stop(t, c):
    frames = c.ask('stackTrace', {'threadId': 3})['stackFrames']
    c.move('next')
    refused(t, c, 'scopes', {'frameId': frames[0]['id']}, 'no frame')


@case('replay')
def memory_is_read(t, c):
    t.equal(floats(c, DATA), [1.0] * 4, 'what #18 wrote')
    t.equal(floats(c, DATA, offset=4), [1.0] * 4, 'with an offset')


@case('replay')
def memory_beyond_the_allocation_is_not_invented(t, c):
    r = c.ask('readMemory', {'memoryReference': DATA, 'offset': 4088, 'count': 16})
    t.equal(len(base64.b64decode(r['data'])), 8, 'bytes of the allocation')
    t.equal(r['unreadableBytes'], 8, 'bytes behind it')
    r = c.ask('readMemory', {'memoryReference': '0x10', 'count': 16})
    t.equal((r.get('data'), r['unreadableBytes']), ('', 16), 'memory that nobody has')


@case('replay')
def memory_that_cannot_be(t, c):
    refused(t, c, 'readMemory', {'memoryReference': 'sum', 'count': 4}, 'no address')
    refused(t, c, 'readMemory', {'memoryReference': '0xffffffffffffffff', 'offset': 16, 'count': 4}, 'beyond all addresses')
    refused(t, c, 'readMemory', {'memoryReference': DATA, 'count': 1 << 40}, 'at once')


@case('replay')
def memory_is_written_to_see_what_would_have_been(t, c):
    five = base64.b64encode(struct.pack('<2f', 5, 5)).decode()
    t.equal(c.ask('writeMemory', {'memoryReference': DATA, 'data': five})['bytesWritten'], 8, 'bytes')
    t.equal(floats(c, DATA), [5.0, 5.0, 1.0, 1.0], 'memory')
    c.event('memory')
    c.move('restart', {})
    c.move('tsdb/goto', {'seq': 21})
    t.equal(floats(c, DATA), [1.0] * 4, 'forgotten')


@case('replay')
def base64_that_is_none(t, c):
    refused(t, c, 'writeMemory', {'memoryReference': DATA, 'data': 'AAA'}, 'base64')
    refused(t, c, 'writeMemory', {'memoryReference': DATA, 'data': 'A?=='}, 'base64')
    refused(t, c, 'writeMemory', {'memoryReference': DATA, 'data': '===='}, 'base64')


@case('replay')
def an_argument_is_set(t, c):
    frames = c.ask('stackTrace', {'threadId': 3})['stackFrames']
    ref = next(s for s in c.ask('scopes', {'frameId': frames[0]['id']})['scopes'] if s['name'] == 'Arguments')['variablesReference']
    c.ask('setVariable', {'variablesReference': ref, 'name': 'n', 'value': '512'})
    v = {x['name']: x['value'] for x in c.ask('variables', {'variablesReference': ref})['variables']}
    t.match('512', v['n'])
    refused(t, c, 'setVariable', {'variablesReference': ref, 'name': 'nobody', 'value': '1'}, 'no argument')
    c.move('restart', {})


@case('replay')
def next_and_back(t, c):
    t.equal(c.move('next')['reason'], 'step', 'reason')
    t.equal(c.ask('tsdb/position')['answer']['seq'], 22, 'position')
    c.move('stepBack')
    t.equal(c.ask('tsdb/position')['answer']['seq'], 21, 'position')


@case('replay')
def next_of_one_stream(t, c):
    stopped = c.move('next', {'threadId': 2, 'singleThread': True})
    t.equal(stopped['reason'], 'step', 'reason')
    t.equal(c.ask('tsdb/state', {'stream': 1})['answer']['finished'], 1, 'commands that stream 1 has finished')
    t.equal(c.ask('tsdb/position')['answer']['seq'], 21, 'position')


@case('replay')
def the_end_and_the_beginning(t, c):
    t.equal(c.move('continue')['reason'], 'end', 'forwards')
    t.equal(c.move('reverseContinue')['reason'], 'begin', 'backwards')


@case('replay')
def step_into_a_launch_and_out(t, c):
    c.move('stepIn')
    frames = c.ask('stackTrace', {'threadId': 3})['stackFrames']
    t.match('consume', frames[0]['name'])
    t.match('^0x', frames[0]['instructionPointerReference'])
    c.move('next')
    t.equal(c.ask('stackTrace', {'threadId': 3})['stackFrames'][0]['line'], line_of('int i = blockIdx.x'), 'the next line')
    c.move('stepOut')
    t.equal(c.ask('tsdb/position')['answer']['in_kernel'], None, 'inside')


@case('replay')
def instructions_forwards_and_backwards(t, c):
    c.move('stepIn')
    first = c.ask('tsdb/position')['answer']['in_kernel']['code_line']
    c.move('stepIn', {'threadId': 3, 'granularity': 'instruction'})
    t.check(c.ask('tsdb/position')['answer']['in_kernel']['code_line'] > first, 'an instruction further')
    c.move('stepBack')
    t.equal(c.ask('tsdb/position')['answer']['in_kernel']['code_line'], first, 'and back')
    c.move('stepBack')
    t.equal(c.ask('tsdb/position')['answer']['seq'], 20, 'out of the launch, backwards')


@case('replay')
def registers_and_lanes(t, c):
    c.move('stepIn')
    for _ in range(9):
        c.move('stepIn', {'threadId': 3, 'granularity': 'instruction'})
    v = variables(c, 'Registers')
    t.equal(v['%r4']['value'], '256', 'ntid.x, in all lanes')
    t.equal(v['%r5']['value'], 'differs', 'tid.x')
    lanes = c.ask('variables', {'variablesReference': v['%r5']['variablesReference'], 'start': 30})['variables']
    t.equal([x['value'] for x in lanes], ['30', '31'], 'the last lanes')
    t.equal(len(c.ask('tsdb/lanes')['lanes']), 32, 'lanes')


@case('replay')
def another_thread_of_a_launch(t, c):
    refused(t, c, 'tsdb/focus', {}, 'needs "block" or "thread"')
    for wrong in ('1', '(1,0,0)', '1,0,0 x', '1,0,0\nquit', '1,-2,0'):
        refused(t, c, 'tsdb/focus', {'thread': wrong}, 'is no thread|line')
    c.move('stepIn')
    c.move('tsdb/focus', {'thread': '37,0,0'})
    focused = [x['kernel_thread'] for x in c.ask('tsdb/lanes')['lanes'] if x['focus']]
    t.equal(focused, [[37, 0, 0]], 'the lane')
    c.move('tsdb/focus', {'block': '2,0,0', 'thread': '5,0,0'})
    look = c.ask('tsdb/lanes')
    t.equal([x['kernel_thread'] for x in look['lanes'] if x['focus']], [[5, 0, 0]], 'the lane of the other block')
    t.equal([x['first_block'] for x in look['blocks'] if x['state'] == 'running'], [[2, 0, 0]], 'which runs first now')


@case('replay')
def disassembly_has_as_many_as_were_asked_for(t, c):
    c.move('stepIn')
    here = c.ask('stackTrace', {'threadId': 3})['stackFrames'][0]['instructionPointerReference']
    rows = c.ask('disassemble', {'memoryReference': here, 'instructionOffset': -400, 'instructionCount': 800})['instructions']
    t.equal(len(rows), 800, 'instructions')
    t.equal(rows[400]['address'], here, 'the one asked about')
    t.match('ld.param', rows[400]['instruction'])
    t.equal(rows[0]['presentationHint'], 'invalid', 'before the beginning')
    refused(t, c, 'disassemble', {'memoryReference': here, 'instructionCount': 1 << 50}, 'at once')


@case('replay')
def breakpoint_at_an_instruction(t, c):
    c.move('stepIn')
    here = int(c.ask('stackTrace', {'threadId': 3})['stackFrames'][0]['instructionPointerReference'], 16)
    b = c.ask('setInstructionBreakpoints', {'breakpoints': [{'instructionReference': hex(here), 'offset': 2}]})['breakpoints'][0]
    t.check(b['verified'], b)
    stopped = c.move('continue')
    t.equal((stopped['reason'], stopped['hitBreakpointIds']), ('instruction breakpoint', [b['id']]), 'stop')
    t.equal(c.ask('tsdb/position')['answer']['in_kernel']['code_line'], here + 2, 'line')


@case('replay')
def function_breakpoints(t, c):
    set_ = c.ask('setFunctionBreakpoints', {'breakpoints': [{'name': 'kernel prod*'}, {'name': 'nobody'}]})['breakpoints']
    t.equal([b['verified'] for b in set_], [True, False], 'verified')
    t.match('nobody', set_[1]['message'])
    stopped = c.move('continue')
    t.equal((stopped['reason'], stopped['hitBreakpointIds']), ('function breakpoint', [set_[0]['id']]), 'stop')
    t.equal(c.ask('tsdb/position')['answer']['seq'], 24, 'the next launch of produce')


@case('replay')
def function_breakpoint_with_a_condition_and_hits(t, c):
    c.ask('setFunctionBreakpoints', {'breakpoints': [{'name': 'kernel consume', 'condition': 'seq > 30', 'hitCondition': '2'}]})
    c.move('continue')
    t.equal(c.ask('tsdb/position')['answer']['seq'], 36, 'the second beyond #30')
    b = c.ask('setFunctionBreakpoints', {'breakpoints': [{'name': 'consume', 'hitCondition': 'often'}]})['breakpoints'][0]
    t.match('hits', b['message'])
    b = c.ask('setFunctionBreakpoints', {'breakpoints': [{'name': 'consume', 'condition': 'nonsense > 3'}]})['breakpoints'][0]
    t.match('nonsense', b['message'])


@case('replay')
def a_breakpoint_that_stays_keeps_its_number(t, c):
    first = c.ask('setFunctionBreakpoints', {'breakpoints': [{'name': 'kernel consume'}]})['breakpoints'][0]['id']
    again = c.ask('setFunctionBreakpoints', {'breakpoints': [{'name': 'kernel produce'}, {'name': 'kernel consume'}]})['breakpoints']
    t.equal(again[1]['id'], first, 'number')
    c.ask('setFunctionBreakpoints', {'breakpoints': []})
    t.match('No breakpoints', c.repl('info breakpoints'))


@case('replay')
def breakpoint_at_a_launch_site(t, c):
    line = line_of('produce<<<')
    b = c.ask('setBreakpoints', {'source': {'path': SOURCE}, 'breakpoints': [{'line': line}]})['breakpoints'][0]
    t.check(b['verified'], b)
    stopped = c.move('continue')
    t.equal((stopped['reason'], stopped['hitBreakpointIds']), ('breakpoint', [b['id']]), 'stop')
    t.equal(c.ask('tsdb/position')['answer']['seq'], 24, 'position')


@case('replay')
def breakpoint_at_a_kernel_line(t, c):
    line = line_of('if (i < n)')
    c.move('tsdb/goto', {'seq': 20})
    b = c.ask('setBreakpoints', {'source': {'path': SOURCE}, 'breakpoints': [{'line': line}]})['breakpoints'][0]
    t.check(b['verified'], b)
    c.move('continue')
    t.equal(c.ask('tsdb/position')['answer']['in_kernel']['seq'], 21, 'inside the next launch of consume')


@case('replay')
def logpoints(t, c):
    c.ask('setBreakpoints', {'source': {'path': SOURCE},
                             'breakpoints': [{'line': line_of('produce<<<'), 'logMessage': '100% of "{grid_x}" with {arg1.f32:%g}'}]})
    t.equal(c.move('continue')['reason'], 'end', 'it does not stop')
    t.match('100% of "4" with 2', c.printed('console'))
    b = c.ask('setBreakpoints', {'source': {'path': SOURCE}, 'breakpoints': [{'line': line_of('produce<<<'), 'logMessage': 'half {'}]})['breakpoints'][0]
    t.match(r'without an expression', b['message'])


@case('replay')
def breakpoints_in_a_file_that_nobody_knows(t, c):
    b = c.ask('setBreakpoints', {'source': {'path': '/nowhere/other.cu'}, 'breakpoints': [{'line': 3}]})['breakpoints'][0]
    t.check(not b['verified'], b)
    t.match('other.cu', b['message'])


@case('replay')
def who_wrote_this_backwards(t, c):
    c.move('tsdb/goto', {'seq': 40})
    info = c.ask('dataBreakpointInfo', {'name': DATA, 'asAddress': True, 'bytes': 4})
    t.check('write' in info['accessTypes'], info)
    b = c.ask('setDataBreakpoints', {'breakpoints': [{'dataId': info['dataId'], 'accessType': 'write'}]})['breakpoints'][0]
    stopped = c.move('reverseContinue')
    t.equal((stopped['reason'], stopped['hitBreakpointIds']), ('data breakpoint', [b['id']]), 'stop')
    t.equal(c.ask('tsdb/position')['answer']['seq'], 39, 'produce wrote it last')
    c.move('reverseContinue')
    t.equal(c.ask('tsdb/position')['answer']['seq'], 34, 'and before')


@case('replay')
def data_of_an_argument(t, c):
    frames = c.ask('stackTrace', {'threadId': 3})['stackFrames']
    ref = next(s for s in c.ask('scopes', {'frameId': frames[0]['id']})['scopes'] if s['name'] == 'Arguments')['variablesReference']
    info = c.ask('dataBreakpointInfo', {'variablesReference': ref, 'name': 'in'})
    t.equal(info['dataId'], f'{DATA} 4096', 'to the end of its allocation')
    info = c.ask('dataBreakpointInfo', {'variablesReference': ref, 'name': 'n'})
    t.equal(info['dataId'], None, 'a number points nowhere')


@case('replay')
def reads_are_watched(t, c):
    c.ask('setDataBreakpoints', {'breakpoints': [{'dataId': f'{DATA} 4096', 'accessType': 'read'}]})
    c.move('continue')
    t.equal(c.ask('tsdb/position')['answer']['seq'], 26, 'consume reads it')
    b = c.ask('setDataBreakpoints', {'breakpoints': [{'dataId': 'nonsense'}]})['breakpoints'][0]
    t.check(not b['verified'], b)


@case('replay')
def exceptions_are_races(t, c):
    c.move('tsdb/goto', {'seq': 0})
    rows = c.ask('setExceptionBreakpoints', {'filters': ['race', 'nobody']})['breakpoints']
    t.equal([r['verified'] for r in rows], [True, False], 'filters')
    t.equal(c.move('continue')['reason'], 'exception', 'reason')
    info = c.ask('exceptionInfo', {'threadId': 3})
    t.equal(info['exceptionId'], 'race', 'exception')
    t.match(r'#18 and #21.*cuStreamWaitEvent', info['description'])
    t.equal(c.ask('tsdb/position')['answer']['seq'], 21, 'position')


@case('replay')
def a_move_of_no_protocol_takes_older_reasons_off_the_threads(t, c):
    """An editor shows the reason of a thread's last stop until it hears that the thread goes on; a description in place of the thread's name."""
    for move in (lambda: c.move('tsdb/goto', {'seq': 18}), lambda: c.repl('replay goto 21'), lambda: c.move('tsdb/reverseFinish')):
        before = len(c.all_events)
        c.events.clear()
        move()
        c.event('tsdb/position')
        seen = [e['event'] for e in list(c.all_events)[before:]]
        t.equal([e for e in seen if e in ('continued', 'stopped')], ['continued', 'stopped'], 'events')
        stopped = [e['body'] for e in list(c.all_events)[before:] if e['event'] == 'stopped'][0]
        t.check('description' not in stopped, stopped)
    before = len(c.all_events)
    c.move('stepBack')
    t.check('continued' not in [e['event'] for e in list(c.all_events)[before:]], 'a move that the editor began')


@case('replay')
def exceptions_that_there_are_not(t, c):
    rows = c.ask('setExceptionBreakpoints', {'filters': ['nondeterministic', 'failed-call', 'fault']})['breakpoints']
    t.equal([r['verified'] for r in rows], [True] * 3, 'filters')
    t.equal(c.move('continue')['reason'], 'end', 'nothing of that kind')
    refused(t, c, 'exceptionInfo', {'threadId': 3}, 'no exception')


@case('replay')
def goto_targets(t, c):
    targets = c.ask('gotoTargets', {'source': {'path': SOURCE}, 'line': line_of('consume<<<')})['targets']
    t.equal([x['id'] for x in targets[:2]], [21, 26], 'launches of that line')
    t.equal(c.move('goto', {'threadId': 3, 'targetId': 26})['reason'], 'goto', 'reason')
    t.equal(c.ask('tsdb/position')['answer']['seq'], 26, 'position')
    t.equal(c.ask('gotoTargets', {'source': {'path': '/x/race_demo.cu'}, 'line': line_of('consume<<<')})['targets'], [], 'another file')


@case('replay')
def hover(t, c):
    r = c.ask('evaluate', {'expression': 'grid_x', 'context': 'hover'})
    t.equal(r['result'], '4', 'grid_x')
    r = c.ask('evaluate', {'expression': 'in', 'context': 'watch'})
    t.equal((r['type'], r['memoryReference']), ('const float *', DATA), 'in')
    refused(t, c, 'evaluate', {'expression': 'nonsense', 'context': 'hover'}, 'nonsense')
    refused(t, c, 'evaluate', {'expression': '1\nquit', 'context': 'hover'}, 'one line')


@case('replay')
def a_schedule_without_explore(t, c):
    refused(t, c, 'tsdb/schedule', {'number': 0}, 'counted from 1')
    c.move('tsdb/schedule', {'number': 77})
    t.match(r'explore', c.printed('important'), 'why it went nowhere')


@case('replay')
def a_line_without_code_says_where_it_went(t, c):
    b = c.ask('setBreakpoints', {'source': {'path': '/some where/' + os.path.basename(SOURCE)}, 'breakpoints': [{'line': 3}]})['breakpoints'][0]
    t.check(b['verified'], 'a folder with a blank in its name')
    c.ask('setBreakpoints', {'source': {'path': '/some where/' + os.path.basename(SOURCE)}, 'breakpoints': []})
    b = c.ask('setBreakpoints', {'source': {'path': '/some where.cu'}, 'breakpoints': [{'line': 3}]})['breakpoints'][0]
    t.match('blanks', b['message'])
    c.ask('setBreakpoints', {'source': {'path': '/some where.cu'}, 'breakpoints': []})


@case('replay')
def hit_conditions(t, c):
    for hits, good in (('>= 2', True), ('2', True), ('== 2', False), ('0', False), ('%2', False), ('99999999999999999999', False)):
        b = c.ask('setFunctionBreakpoints', {'breakpoints': [{'name': 'kernel consume', 'hitCondition': hits}]})['breakpoints'][0]
        t.equal(b['verified'], good, hits)
    t.match('No breakpoints', c.repl('delete') + c.repl('info breakpoints'))


@case('replay')
def instruction_breakpoints_need_a_launch(t, c):
    c.move('tsdb/goto', {'seq': 9})
    b = c.ask('setInstructionBreakpoints', {'breakpoints': [{'instructionReference': '0x65'}]})['breakpoints'][0]
    t.check(not b['verified'], b)
    t.match('at no launch', b['message'])


@case('replay')
def host_threads_have_stacks(t, c):
    thread = next(x['id'] for x in c.ask('threads')['threads'] if 'race_demo' in x['name'])
    t.match('^#21 ', c.ask('stackTrace', {'threadId': thread})['stackFrames'][0]['name'])


@case('replay')
def console(t, c):
    t.match(r'Stream +Context', c.repl('info streams'))
    refused(t, c, 'evaluate', {'expression': 'no such command', 'context': 'repl'}, 'unknown command|no such')


@case('replay')
def a_command_that_moves_is_a_stop(t, c):
    c.events.clear()
    c.repl('replay goto 30')
    t.equal(c.event('stopped')['reason'], 'goto', 'reason')
    t.equal(c.event('tsdb/position')['position']['seq'], 30, 'position')


@case('replay')
def own_requests(t, c):
    t.equal(c.ask('tsdb/state', {'stream': 1, 'at': 30})['answer']['id'], 1, 'state')
    race = c.ask('tsdb/races')['answer']
    race = race[0] if isinstance(race, list) else race
    t.equal((race['a']['seq'], race['b']['seq']), (18, 21), 'race')
    t.equal(c.ask('tsdb/order', {'a': 18, 'b': 21})['answer']['ordered'], False, 'order')
    t.equal(c.ask('tsdb/whoWrote', {'memoryReference': DATA})['answer']['seq'], 18, 'who wrote')
    t.equal(c.ask('tsdb/check')['answer']['nondeterministic'], [], 'check')
    refused(t, c, 'tsdb/explore', {'budget': '1; shell true'}, 'budget')


@case('replay')
def modules_and_sources(t, c):
    t.equal(c.ask('modules')['totalModules'], 1, 'modules')
    c.ask('stackTrace', {'threadId': 3})
    t.match('cudaStreamWaitEvent', c.ask('source', {'source': {'path': SOURCE}, 'sourceReference': 0})['content'])


@case('replay')
def arguments_of_wrong_types(t, c):
    for command, arguments in (('stackTrace', {'threadId': 'one'}), ('stackTrace', {}), ('scopes', {'frameId': 1.5}),
                               ('variables', {'variablesReference': 999999}), ('variables', {'variablesReference': None}),
                               ('setBreakpoints', {'source': 3}), ('setBreakpoints', {'source': {'path': SOURCE}, 'breakpoints': {}}),
                               ('readMemory', {'memoryReference': [], 'count': 1}), ('evaluate', {'expression': 7}),
                               ('tsdb/goto', {'place': '3\nquit'}), ('setFunctionBreakpoints', {'breakpoints': 'x'})):
        refused(t, c, command, arguments, 'argument|no frame|no reference')
    b = c.ask('setFunctionBreakpoints', {'breakpoints': [{'name': 'x\nquit'}, {}, 7]})['breakpoints']
    t.equal([x['verified'] for x in b], [False] * 3, 'breakpoints')


@case('replay')
def requests_that_there_are_not(t, c):
    refused(t, c, 'fly', {}, 'no request')
    refused(t, c, 'launch', {'trace': 'race.sbt'}, 'not possible')
    refused(t, c, 'configurationDone', {}, 'not possible')


def reset_replay(c):
    for kind in ('Function', 'Data', 'Instruction'):
        c.ask(f'set{kind}Breakpoints', {'breakpoints': []})
    c.ask('setBreakpoints', {'source': {'path': SOURCE}, 'breakpoints': []})
    c.ask('setExceptionBreakpoints', {'filters': []})
    c.move('tsdb/goto', {'seq': 21})


def recorded(t):
    t.need_soft()
    t.check(t.record('race_demo', out='race.sbt').status in (0, 1), 'recording; the sums may be wrong')


def test_a_replay_in_an_editor(t):
    recorded(t)
    with adapter(t) as c:
        body = c.replay('race.sbt')
        t.equal(body['supportsStepBack'], False, 'going back, before there is a replay')
        t.check(any(e['event'] == 'capabilities' and e['body']['capabilities']['supportsStepBack'] for e in c.all_events), 'and then')
        run_table(t, 'replay', c, reset_replay)


def exceptions(t, c, launch, filters):
    """What a session with these filters stops at: (reason, exceptionId, description) up to the end or six of them."""
    def set_up():
        rows = c.ask('setExceptionBreakpoints', {'filters': filters})['breakpoints']
        t.equal([r['verified'] for r in rows], [True] * len(filters), f'filters {filters}')
    c.begin('launch', {'on': 'soft', 'cwd': t.dir, 'stopOnEntry': False, **launch}, set_up)
    found = []
    while len(found) < 6:
        if found:
            c.events.clear()
            c.ask('continue', {'threadId': body['threadId']})
        over = c.wait(lambda: next((e for e in c.events if e['event'] in ('stopped', 'terminated')), None), 'a stop or the end')
        body = over.get('body') or {}
        if over['event'] == 'terminated' or body['reason'] == 'end':
            break
        info = c.ask('exceptionInfo', {'threadId': body['threadId']}) if body['reason'] == 'exception' else {}
        found.append((body['reason'], info.get('exceptionId'), info.get('description')))
    return found


def test_exceptions_of_faults(t):
    t.need_soft()
    with adapter(t) as c:
        found = exceptions(t, c, {'program': program('bad_address')}, ['fault'])
        t.equal([f[:2] for f in found], [('exception', 'fault')], 'a program')
        t.match('illegal address: kernel _Z5strayPil', found[0][2])
    with adapter(t) as c:
        t.equal(exceptions(t, c, {'program': program('bad_address')}, []), [], 'without the filter')
    t.record('bad_address')
    with adapter(t) as c:
        found = exceptions(t, c, {'trace': 't.sbt'}, ['fault'])
        t.equal([f[:2] for f in found], [('exception', 'fault')] * 6, 'a replay does not get behind it')
        t.match('^#10 stray.* the device failed at #10: CUDA_ERROR_ILLEGAL_ADDRESS', found[0][2])
        t.equal(c.ask('tsdb/position')['answer']['seq'], 9, 'it is before the command')


def test_exceptions_of_failed_calls(t):
    t.need_soft()
    with adapter(t) as c:
        found = exceptions(t, c, {'program': program('failing_calls')}, ['failed-call'])
        t.equal([f[:2] for f in found], [('exception', 'failed-call')] * 3, 'a program')
        t.equal([f[2] for f in found], ['CUDA_ERROR_OUT_OF_MEMORY'] + ['CUDA_ERROR_INVALID_VALUE'] * 2, 'what they say')
    t.record('failing_calls')
    with adapter(t) as c:
        t.equal([f[:2] for f in exceptions(t, c, {'trace': 't.sbt'}, ['failed-call'])], [('exception', 'failed-call')] * 3, 'a replay')


def test_exceptions_of_launches_that_are_not_deterministic(t):
    """A sum of floats by atomics is; the launch behind it, which passes the sum on, is not one."""
    t.need_soft()
    t.record('sums')
    seqs = [json.loads(line)['seq'] for line in t.tsdb('view', '--json', '--kernel', 'sum', 't.sbt').out.splitlines()]
    with adapter(t) as c:
        found = exceptions(t, c, {'trace': 't.sbt'}, ['nondeterministic'])
        t.equal([f[:2] for f in found], [('exception', 'nondeterministic')], 'stops')
        t.match(f'^#{seqs[0]} is not deterministic', found[0][2])


def test_exceptions_of_nans(t):
    """It stops where the NaN was born, and nowhere where all numbers are fine."""
    t.need_soft()
    for words, want in ((('zero_by_zero',), [('exception', 'nan')]), (('zero_by_zero', 'healthy'), [])):
        t.record('nans', *words, out='n.sbt', options=['--memory', 'all'])
        with adapter(t) as c:
            found = exceptions(t, c, {'trace': 'n.sbt'}, ['nan'])
            t.equal([f[:2] for f in found], want, str(words))
        if found:
            divide = [json.loads(x)['seq'] for x in t.tsdb('view', '--json', '--kernel', 'divide', 'n.sbt').out.splitlines()]
            t.match(rf'^a NaN comes from #{divide[0]}: born, nan at 0x', found[0][2])


def test_the_missing_wait_found_in_an_editor(t):
    """The scenario of docs/editor.md."""
    recorded(t)
    with adapter(t) as c:
        c.replay('race.sbt')
        # to the wrong sum: the last launch of consume
        targets = c.ask('gotoTargets', {'source': {'path': SOURCE}, 'line': line_of('consume<<<')})['targets']
        c.move('goto', {'threadId': 3, 'targetId': targets[0]['id']})
        arguments = variables(c, 'Arguments')
        # backwards to who wrote what it adds
        info = c.ask('dataBreakpointInfo', {'name': arguments['in']['memoryReference'], 'asAddress': True, 'bytes': 4})
        c.ask('setDataBreakpoints', {'breakpoints': [{'dataId': info['dataId'], 'accessType': 'write'}]})
        c.move('reverseContinue')
        writer = c.ask('tsdb/position')['answer']['command']
        t.equal((writer['seq'], writer['kernel_name'], writer['stream']), (18, 'produce', 1), 'who wrote it')
        # both streams
        c.move('goto', {'threadId': 3, 'targetId': targets[0]['id']})
        names = [x['name'] for x in c.ask('threads')['threads']]
        t.check('stream 1 Running #18' in names and 'stream 2 Running #21' in names, f'both are running: {names}')
        # the missing wait
        race = c.ask('tsdb/races')['answer']
        race = race[0] if isinstance(race, list) else race
        t.match('cuStreamWaitEvent on stream 2 before #21', race['cure'])
        t.match('waits for nothing of stream 1', c.ask('tsdb/order', {'a': 18, 'b': 21})['answer']['text'])
        # the schedule in which the sum is another one
        found = c.ask('tsdb/explore', {'budget': '40', 'save': True})['answer']['found']
        t.check(found, 'a schedule with another sum')
        order = [x for x in found[0]['schedule'] if isinstance(x, int)]
        t.check(order.index(21) < order.index(18), f'#21 comes before #18 in {order}')
        c.ask('setDataBreakpoints', {'breakpoints': []})
        # it is replayed: to the wrong sum, and backwards to who wrote it
        c.move('tsdb/schedule', {'number': 1, 'step': True})
        t.match('schedule-1', c.ask('tsdb/position')['answer']['file'])
        t.equal(c.move('continue')['reason'], 'end', 'the end')
        t.equal(floats(c, found[0]['addr'], 1), [54.0], 'one round is not in the sum')
        info = c.ask('dataBreakpointInfo', {'name': found[0]['addr'], 'asAddress': True, 'bytes': 4})
        c.ask('setDataBreakpoints', {'breakpoints': [{'dataId': info['dataId'], 'accessType': 'write'}]})
        t.equal(c.move('reverseContinue')['reason'], 'data breakpoint', 'backwards')
        t.equal(c.ask('tsdb/position')['answer']['command']['kernel_name'], 'consume', 'who wrote the sum')
        names = [x['name'] for x in c.ask('threads')['threads']]
        t.check(any(n.startswith('stream 2 Running') for n in names), f'both streams: {names}')


# --- a program that runs: race_demo, stopped at its first launch of consume ---

@case('live')
def threads_are_the_hosts(t, c):
    threads = c.ask('threads')['threads']
    t.check(any('race_demo' in x['name'] for x in threads), threads)


@case('live')
def stack_of_the_program(t, c):
    thread = c.ask('threads')['threads'][0]['id']
    names = [f['name'] for f in c.ask('stackTrace', {'threadId': thread})['stackFrames']]
    t.check('main' in names and any('consume' in n for n in names), names)


@case('live')
def state_of_the_gpu_lives(t, c):
    t.check(len(c.ask('tsdb/state')['answer']['stream_list']) >= 2, 'streams')


@case('live')
def backwards_is_refused_by_name(t, c):
    for command in ('stepBack', 'reverseContinue', 'tsdb/whoWrote', 'goto', 'gotoTargets', 'tsdb/explore'):
        refused(t, c, command, {'threadId': 1}, 'possible in a replay')
    info = c.ask('dataBreakpointInfo', {'name': DATA, 'asAddress': True})
    t.equal(info['dataId'], None, 'watching')
    t.match('possible in a replay', info['description'])
    rows = c.ask('setExceptionBreakpoints', {'filters': ['race', 'fault']})['breakpoints']
    t.equal([r['verified'] for r in rows], [False, True], 'filters')


@case('live')
def the_next_command(t, c):
    t.equal(c.move('next')['reason'], 'step', 'reason')
    t.match(r'#\d+ ', c.repl('info commands'))


@case('live')
def breakpoints_of_a_program(t, c):
    b = c.ask('setFunctionBreakpoints', {'breakpoints': [{'name': 'kernel produce'}]})['breakpoints'][0]
    stopped = c.move('continue')
    t.equal((stopped['reason'], stopped['hitBreakpointIds']), ('function breakpoint', [b['id']]), 'stop')


@case('live')
def a_breakpoint_that_waits_says_so(t, c):
    b = c.ask('setFunctionBreakpoints', {'breakpoints': [{'name': 'kernel later'}]})['breakpoints'][0]
    t.check(not b['verified'] and b['id'], b)
    t.match('waits until', b['message'])


def test_a_program_in_an_editor(t):
    t.need_soft()
    with adapter(t) as c:
        def set_up():
            b = c.ask('setFunctionBreakpoints', {'breakpoints': [{'name': 'launch', 'condition': 'stream == 2'}]})['breakpoints'][0]
            t.check(b['id'] and not b['verified'], f'no launch has been reached yet: {b}')
        c.begin('launch', {'program': program('race_demo'), 'args': ['fixed'], 'on': 'soft', 'cwd': t.dir}, set_up)
        t.equal(c.event('breakpoint')['breakpoint']['verified'], True, 'it is reached, so it is known')
        t.equal(c.event('stopped')['reason'], 'function breakpoint', 'the first stop')
        run_table(t, 'live', c, lambda c: c.events.clear())
        c.ask('setFunctionBreakpoints', {'breakpoints': []})
        c.ask('continue', {'threadId': 1})
        t.equal(c.event('exited')['exitCode'], 0, 'exit code')
        c.event('terminated')
        t.match('race_demo: ok', c.printed('stdout'))


def test_a_program_is_recorded_and_replayed(t):
    t.need_soft()
    with adapter(t) as c:
        c.begin('launch', {'program': program('race_demo'), 'on': 'soft', 'cwd': t.dir, 'record': True, 'replay': True, 'args': []})
        stopped = c.event('stopped')
        t.equal(stopped['reason'], 'entry', 'the end of the recorded run')
        t.check(any(e['event'] == 'exited' for e in c.all_events), 'the program has ended')
        t.check(c.ask('tsdb/position')['answer']['seq'] > 60, 'at the end')
        c.move('stepBack')
        c.ask('setFunctionBreakpoints', {'breakpoints': [{'name': 'kernel consume'}]})
        t.equal(c.move('reverseContinue')['reason'], 'function breakpoint', 'backwards')
        t.check(os.path.exists(t.path('race_demo.sbt')), 'the trace')


def test_a_program_that_runs_is_paused_and_asked(t):
    t.need_soft()
    with adapter(t) as c:
        c.begin('launch', {'program': program('long_running'), 'args': ['3600'], 'on': 'soft'})
        # answered in a short stop that the client does not see
        b = c.ask('setFunctionBreakpoints', {'breakpoints': [{'name': 'kernel nobody'}]})['breakpoints'][0]
        t.check(b['id'], b)
        t.match('Stream|No streams', c.repl('info streams'))  # the program may not have begun
        e = refused(t, c, 'stackTrace', {'threadId': 1}, 'while the program runs')
        t.equal(e.message, 'notStopped', 'the word for it')
        t.equal([x for x in c.all_events if x['event'] == 'stopped'], [], 'stops that the client was told of')
        c.ask('pause', {'threadId': 1})
        t.equal(c.event('stopped')['reason'], 'pause', 'reason')
        t.check(c.ask('threads')['threads'], 'threads')
        c.ask('continue', {'threadId': 1})
        c.ask('terminate')
        c.event('terminated')


# --- without a session ---

def hostile(t, data, words, status=1):
    """Bytes that end the conversation: the client is told why."""
    c = Client([tsdb_path(), 'dap'], cwd=t.dir, env=t.environment())
    try:
        c.send_bytes(data)
    except Gone:
        pass
    try:
        c.event('terminated')
    except Gone:
        t.check(False, f'{data[:60]!r}: the adapter ended without a word')
    t.match(words, c.printed('important'))
    t.equal(c.close(), status, f'exit status after {data[:60]!r}')


def test_bytes_that_are_no_messages(t):
    for data, words in ((b'Content-Length: 99999999999999999999\r\n\r\n', 'more than'), (b'Content-Length: -1\r\n\r\n', 'no number'),
                        (b'Content-Length: \r\n\r\n', 'empty'), (b'Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}', 'two lengths'),
                        (b'Content-Type: x\r\n\r\n{}', 'no Content-Length'), (b'GET / HTTP/1.1\r\n\r\n', 'no colon'),
                        (b'x' * 5000, 'does not end')):
        hostile(t, data, words)


def test_messages_that_are_no_requests(t):
    with adapter(t) as c:
        for text, words in (('{', 'no JSON'), (b'\xff\xfe', 'no JSON'), ('[]', 'no object'), ('{"seq":1,"type":"event"}', 'no request'),
                            ('{"type":"request","command":"x"}', 'no number'), ('{"seq":"1","type":"request","command":"x"}', 'no number'),
                            ('{"seq":5,"type":"request","command":3}', 'no command'),
                            ('{"seq":5,"type":"request","command":"x","arguments":[]}', 'no object'), ('[' * 100000, 'no JSON'),
                            ('{"seq":5,"seq":6,"type":"request","command":"x"}', 'no JSON')):
            c.send_raw(text)
            n = 5 if isinstance(text, str) and '"seq":5' in text and 'seq":6' not in text else 1 if '"seq":1,' in str(text) else 0
            a = c.answer(n)
            t.equal(a['success'], False, text[:60])
            t.match(words, a['message'], text[:60])
        t.check('supportsStepBack' in c.ask('initialize', {}), 'it goes on')


def test_requests_in_the_wrong_order(t):
    with adapter(t) as c:
        refused(t, c, 'threads', {}, 'before "initialize"')
        refused(t, c, 'launch', {'program': 'x'}, 'before "initialize"')
        refused(t, c, 'initialize', {'pathFormat': 'uri'}, 'paths')
        refused(t, c, 'initialize', {'linesStartAt1': False}, 'begin with 1')
        c.ask('initialize', {})
        refused(t, c, 'continue', {'threadId': 1}, 'before "launch"')
        refused(t, c, 'launch', {}, 'needs "program"')
        refused(t, c, 'launch', {'program': 'x', 'trace': 'y.sbt'}, 'exclude')
        refused(t, c, 'launch', {'trace': 'nothing.sbt'}, 'nothing.sbt')
        refused(t, c, 'launch', {'trace': '--version'}, 'no trace')
        refused(t, c, 'launch', {'program': 'nothing'}, 'nothing')
        refused(t, c, 'launch', {'program': program('race_demo'), 'on': 'moon'}, 'no device')
        refused(t, c, 'launch', {'program': program('race_demo'), 'args': [1]}, 'list of texts')
        refused(t, c, 'launch', {'program': program('race_demo'), 'env': {'A=B': 'c'}}, 'variable')
        refused(t, c, 'launch', {'program': program('race_demo'), 'replay': True}, 'not recorded')
        refused(t, c, 'attach', {'pid': -1}, 'needs "pid"')
        refused(t, c, 'attach', {'pid': 999999999}, r'.')
        c.ask('launch', {'program': program('race_demo')})
        refused(t, c, 'continue', {'threadId': 1}, 'before "configurationDone"')


def test_the_table_is_what_is_offered(t):
    with open(os.path.join(SRC, 'src/dap/dap-requests.def'), encoding='utf-8') as f:
        table = f.read()
    words = set(re.findall(r'support\w+', table))
    with adapter(t) as c:
        body = c.ask('initialize', {})
    t.equal({k for k in body if k.startswith('support')}, words, 'capabilities')


def test_quit_in_the_console_ends_the_session(t):
    recorded(t)
    with adapter(t) as c:
        c.replay('race.sbt')
        c.repl('quit')
        c.event('terminated')
        refused(t, c, 'evaluate', {'expression': 'when', 'context': 'repl'}, 'has ended')
        refused(t, c, 'next', {'threadId': 1}, 'after the program has ended')


def test_a_program_that_a_signal_ends(t):
    t.need_soft()
    with adapter(t) as c:
        c.begin('launch', {'program': program('kill_self'), 'on': 'soft'})
        t.equal(c.event('exited')['exitCode'], 128 + 9, 'exit code')
        c.event('terminated')


def test_work_is_cancelled_and_shown(t):
    recorded(t)
    with adapter(t) as c:
        c.replay('race.sbt')
        seq = c.send('tsdb/explore', {'budget': '300s', 'most': 1000000})
        late = c.send('tsdb/position')
        c.ask('cancel', {'requestId': late})
        progress = c.event('progressStart')
        t.equal((progress['requestId'], progress['cancellable']), (seq, True), 'progress')
        c.ask('cancel', {'progressId': progress['progressId']})
        a = c.answer(seq)
        t.check(a['success'] or a['message'] == 'cancelled', f'it ended early: {json.dumps(a)[:200]}')
        c.event('progressEnd')
        parts = [e['body'] for e in c.all_events if e['event'] == 'progressUpdate' and 'percentage' in e['body']]
        t.equal(parts, [], 'how far one of its replays is, is no part of work that ends by the clock')
        t.equal(c.answer(late)['message'], 'cancelled', 'the request that waited')
        t.equal(c.ask('tsdb/position')['answer']['seq'], 0, 'the session lives')


def test_a_move_says_how_far_it_is(t):
    """A replay of long launches: a part of the window, more and more of it; and who cancels that stops on the way."""
    t.need_soft()
    load = first_existing(os.path.join(BUILD, 'bench', 'bench-load'))
    if not load:
        raise Skip('bench-load was not built')
    t.equal(t.tsdb('record', '--gpu', t.gpu, '-o', 'load.sbt', '--', load, '1', '32', '6000000', '1').status, 0, 'record')
    with adapter(t, TSDB_SOFT_JIT='0') as c:  # slow enough to be seen
        c.replay('load.sbt')
        c.ask('continue', {'threadId': 1})
        progress = c.event('progressStart')
        t.equal((progress['title'], progress['cancellable'], 'requestId' in progress), ('continue', True, False), 'progress of a move')
        parts = [c.event('progressUpdate')['percentage'] for _ in range(3)]
        t.check(0 <= parts[0] <= parts[-1] < 100 and parts == sorted(parts), f'a part of the window: {parts}')
        c.ask('cancel', {'progressId': progress['progressId']})
        t.equal(c.event('progressEnd')['progressId'], progress['progressId'], 'its end')
        t.equal(c.event('stopped')['reason'], 'pause', 'it stops on the way')
        t.equal(c.ask('cancel', {'progressId': progress['progressId']}), {}, 'again: nothing is left to cancel')
        t.equal(c.move('tsdb/goto', {'seq': 3})['reason'], 'goto', 'and it goes on')


# --- the extension ---

TREE = '''
const tree = require(process.argv[1]);
const { state, writer, race, memory } = JSON.parse(require('fs').readFileSync(0));
const shown = (rows) => rows.map((r) => [r.label, r.text, r.seq, r.inside ? r.inside().map((x) => x.label) : []]);
console.log(JSON.stringify({ streams: shown(tree.streams(state)), state: shown(tree.state(state)), memory: tree.memory(memory.address, memory.data, memory.unreadableBytes).map((r) => [r.label, r.text, r.inside ? r.inside().map((x) => x.text) : []]), writer: tree.writer(writer), race: tree.race(race) }));
'''


def test_views_of_the_extension(t):
    node = shutil.which('node')
    if not node:
        raise Skip('node is not there')
    recorded(t)
    with adapter(t) as c:
        c.replay('race.sbt')
        c.move('tsdb/goto', {'seq': 21})
        race = c.ask('tsdb/races')['answer']
        state = c.ask('tsdb/state')['answer']
        state['stream_list'] = [c.ask('tsdb/state', {'stream': s['id']})['answer'] for s in state['stream_list']]
        given = {'state': state, 'writer': c.ask('tsdb/whoWrote', {'memoryReference': DATA})['answer'],
                 'memory': c.ask('readMemory', {'memoryReference': hex(int(DATA, 16) + 4096 - 20), 'count': 64}),
                 'race': race[0] if isinstance(race, list) else race}
    r = subprocess.run([node, '-e', TREE, os.path.join(SRC, 'editors/vscode/tree.js')], input=json.dumps(given), capture_output=True, text=True,
                       check=False, timeout=60)
    t.equal(r.stderr, '', 'node')
    views = json.loads(r.stdout)
    t.equal([x[:3] for x in views['streams'][1:]], [['stream 1', 'Running #18', 18], ['stream 2', 'Running #21', 21]], 'streams')
    t.check('#18' in views['streams'][1][3], 'what is queued is inside')
    t.check(['allocations', '2'] in [x[:2] for x in views['state']], views['state'])
    one = struct.unpack('<i', struct.pack('<f', 1))[0]
    t.equal(views['memory'], [['0x302000fec', '00 00 80 3f ' * 3 + '00 00 80 3f', ['1 1 1 1', f'{one} {one} {one} {one}']], ['0x302000ffc', '00 00 80 3f', ['1', f'{one}']],
                              ['44 bytes', 'cannot be read', []]], 'memory up to the end of its allocation')
    t.equal(views['writer'], '#18 produce<<<(4,1,1),(256,1,1)>>> wrote it', 'writer')
    t.equal(views['race']['seq'], 21, 'race')


def test_the_extension_names_what_it_has(t):
    """Every command and view that package.json offers is registered in extension.js."""
    folder = os.path.join(SRC, 'editors/vscode')
    with open(os.path.join(folder, 'package.json'), encoding='utf-8') as f:
        package = json.load(f)
    with open(os.path.join(folder, 'extension.js'), encoding='utf-8') as f:
        code = f.read()
    names = [x['command'] for x in package['contributes']['commands']] + [x['id'] for x in package['contributes']['views']['debug']]
    for name in names:
        t.check(f"'{name}'" in code, f'{name} is in package.json and not in extension.js')
    with open(os.path.join(SRC, 'src/dap/requests/dap-begin.c'), encoding='utf-8') as f:
        begin = f.read()
    for name in package['contributes']['debuggers'][0]['configurationAttributes']['launch']['properties']:
        t.check(f'"{name}"' in begin, f'launch has no argument {name}')


# --- a client by others, and random requests ---

def test_a_client_by_others(t):
    node, npm = shutil.which('node'), shutil.which('npm')
    if not node or not npm:
        raise Skip('node and npm are not there')
    path = os.environ.get('NODE_PATH') or subprocess.run([npm, 'root', '-g'], capture_output=True, text=True, check=False).stdout.strip()
    env = {**t.environment(), 'NODE_PATH': path}
    if subprocess.run([node, '-e', 'require.resolve("@vscode/debugadapter-testsupport")'], env=env, capture_output=True, check=False).returncode:
        raise Skip("npm's @vscode/debugadapter-testsupport is not installed")
    recorded(t)
    r = subprocess.run([node, os.path.join(SRC, 'tests/dap/testsupport.js'), tsdb_path(), t.path('race.sbt'), os.path.realpath(SOURCE), str(line_of('consume<<<'))],
                       env=env, capture_output=True, text=True, check=False, timeout=60)
    t.equal((r.returncode, r.stdout.strip()), (0, 'ok'), r.stderr)


def test_emacs(t):
    """editors/emacs/tsdb.el in dap-mode: to a breakpoint at a line, on, back, and back to the beginning."""
    emacs = shutil.which('emacs')
    if not emacs or t.run([emacs, '--batch', '-q', '--eval', "(require 'dap-mode)"], timeout=60).status:
        raise Skip('emacs with dap-mode is not there (elpa-dap-mode)')
    recorded(t)
    r = t.run([emacs, '--batch', '-q', '--load', os.path.join(SRC, 'tests/dap/emacs.el'), os.path.join(SRC, 'editors/emacs/tsdb.el'), tsdb_path(),
               os.path.realpath(SOURCE), str(line_of('consume<<<')), t.path('race.sbt')], timeout=120)
    launch, behind = '#21 #21 consume<<<(4,1,1),(256,1,1)>>> stream 2', '#22 #22 event_record event 1 stream 2'
    t.equal((r.status, r.out.splitlines()), (0, ['begin', launch, behind, launch, 'begin', 'done']), r.err)


def test_neovim(t):
    """The configuration of docs/editor.md in nvim-dap: to a breakpoint at a line, on, back, and back to the beginning."""
    nvim = shutil.which('nvim')
    if not nvim or not os.environ.get('NVIM_DAP'):
        raise Skip('needs nvim, and nvim-dap (NVIM_DAP=FOLDER)')
    recorded(t)
    r = t.run([nvim, '--headless', '--clean', '-c', f'luafile {os.path.join(SRC, "tests/dap/nvim.lua")}'], timeout=120,
              env={'TSDB': tsdb_path(), 'SOURCE': os.path.realpath(SOURCE), 'LINE': str(line_of('consume<<<')), 'TRACE': t.path('race.sbt')})
    t.equal((r.status, r.out.splitlines()), (0, ['begin', '#21 consume', '#22 event_record', '#21 consume', 'begin', 'done']), r.err)


def test_random_requests(t):
    """A short session; `make fuzz-dap` has long ones."""
    recorded(t)
    for seed in (1, 2):
        t.equal(fuzz.run([tsdb_path()], t.path('race.sbt'), seed, 60, False, cwd=t.dir, env=t.environment()), None, f'seed {seed}')


def test_a_process_is_attached_to_and_left_alone(t):
    t.need_soft()
    with Running(t, [program('long_running'), 3600]).await_text('running') as p:
        with adapter(t) as c:
            c.begin('attach', {'pid': p.pid, 'stopOnEntry': True})
            c.event('stopped')
            t.check(c.ask('threads')['threads'], 'threads')
            b = c.ask('setFunctionBreakpoints', {'breakpoints': [{'name': 'launch'}]})['breakpoints'][0]
            t.equal(c.move('continue')['hitBreakpointIds'], [b['id']], 'breakpoint')
            c.ask('disconnect', {})
            t.equal(c.process.wait(30), 0, 'exit status')
        p.finish()
