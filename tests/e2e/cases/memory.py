# SPDX-License-Identifier: Apache-2.0
"""Memory contents on their way into a trace. The agent is one of our own making (tests/programs/attach-agent.c), so that no GPU is needed."""
import json
import os
import re
import resource
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..'))
from interactive import Terminal  # noqa: E402
from e2e import SRC, Skip, program  # noqa: E402
import sbt_reader  # noqa: E402


def reader(t, name):
    try:
        return sbt_reader.Reader(t.path(name), os.path.join(SRC, 'docs', 'sbt.md'))
    except sbt_reader.Missing as e:
        raise Skip(str(e)) from None


def pattern(piece, size):
    return b''.join(struct.pack('<Q', (piece * 0x9e3779b97f4a7c15 + at) & (1 << 64) - 1) for at in range(0, size, 8))


def keyframes(r):
    return sorted(c['first'] for c in r.of_type(r.KEYFRAME))


def test_whole_run(t):
    r = t.record('attach-agent', 'window', '20', '70000')
    t.equal(r.status, 0, 'record')
    t.match(r'^\[captured #1-#20 -> t\.sbt, .*, memory 150\.0 kB in \d', r.err)
    trace = reader(t, 't.sbt')
    t.equal(trace.windows(), [(1, 20)], 'windows')
    pieces = trace.memory()
    t.equal([(p[0], p[2], p[4], p[6]) for p in pieces], [(1, 1 << 32, 80008, b'piece1'), (2, 2 << 32, 70000, b'piece2')], 'pieces')
    t.check(pieces[0][9] == pattern(1, 80008) and pieces[1][9] == pattern(2, 70000), 'contents')


def test_without_memory(t):
    r = t.record('attach-agent', 'window', '20', '70000', options=['--memory', 'none'])
    t.equal(r.status, 0, 'record')
    t.no_match('memory', r.err)
    trace = reader(t, 't.sbt')
    t.equal((trace.windows(), trace.memory()), ([], []), 'windows and memory')


def test_program_that_dies_in_a_window(t):
    t.equal(t.record('attach-agent', 'window', '20', '70000', 'die').status, -9, 'record')
    trace = reader(t, 't.sbt')
    t.equal(trace.windows(), [(1, 20)], 'what came before can be executed again')
    t.equal(len(trace.memory()), 1, 'pieces')


def test_stop_at_a_stop(t):
    """More than the slots hold comes while the program stays where it is."""
    r = t.session('attach-agent', 'start', 'next', 'capture start', 'next 3', 'next', 'capture stop', 'info commands', 'next', 'capture stop',
                  args=['window', '20', '90000000'])
    t.match(r'^\[captured #2-#5 -> attach-agent\.sbt, .*, memory 90\.1 MB in ', r.out)
    t.match(r'^#7 ', r.out, 'the program goes on from where it was')
    t.match(r'no capture is on', r.err)
    trace = reader(t, 'attach-agent.sbt')
    t.equal(trace.windows(), [(3, 5)], 'windows')
    t.check(2 in keyframes(trace), 'a keyframe before the first command of the window')


def test_stop_in_the_middle_of_nowhere(t):
    """Where the agent cannot be asked the capture ends at the next command."""
    r = t.session('attach-agent', 'handle SIGTRAP stop nopass', 'capture start', 'run', 'capture stop', 'continue',
                  args=['window', '20', '9000000', 'trap'])
    t.equal(r.status, 0, 'exit status')
    t.match(r'SIGTRAP(.|\n)*^The capture ends at the program\'s next GPU command; its memory is recorded then\.\n'
            r'\[captured #1-#10 -> attach-agent\.sbt, .*, memory 9\.1 MB in .*\n\[process \d+ exited normally\]', r.out)
    t.equal(reader(t, 'attach-agent.sbt').windows(), [(1, 10)], 'windows')


def test_two_captures(t):
    r = t.session('attach-agent', 'start', 'capture start', 'next 3', 'capture stop', 'next 2', 'capture start', 'next 3', 'capture stop', 'continue',
                  args=['window', '30', '8'])
    t.equal(r.status, 0, 'exit status')
    t.equal(re.findall(r'^\[captured #(\d+)-#(\d+) -> ([^,]*),', r.out, re.M),
            [('1', '3', 'attach-agent.sbt'), ('6', '8', 'attach-agent.1.sbt')], 'a file each')
    trace = reader(t, 'attach-agent.1.sbt')
    t.equal(trace.windows(), [(7, 8)], 'windows')


def test_capture_to_the_end(t):
    r = t.session('attach-agent', 'start', 'next 4', 'capture start', 'continue', args=['window', '20', '8'])
    t.match(r'^\[captured #5-#20 -> attach-agent\.sbt', r.out)
    trace = reader(t, 'attach-agent.sbt')
    t.equal(trace.windows(), [(6, 20)], 'windows')
    t.check(5 in keyframes(trace), 'a keyframe before the window, which began after the capture')


def test_limit_refused_in_a_batch(t):
    r = t.session('attach-agent', 'run', args=['ask', '9100000000'])
    t.sentence(r, r'^tsdb: this window would record 9\.1 GB of memory, more than the limit of 4\.3 GB; it is captured without memory\. '
               r'Use "set capture memory-limit 9G" or "set capture memory touched"\.$')
    t.match(r'exited with code 2', r.out)
    t.equal(len(r.err.splitlines()), 1, 'sentences')
    r = t.session('attach-agent', 'set capture memory-limit 9G', 'run', args=['ask', '9100000000'])
    t.equal((r.status, r.err), (0, ''), 'with a higher limit')
    r = t.record('attach-agent', 'ask', '600000000', options=['--memory-limit=512M'])
    t.equal(r.status, 2, 'the program\'s status')
    t.match(r'"--memory-limit 573M"', r.err)


def test_limit_asked_on_a_terminal(t):
    for answer, code in (('y', 1), ('n', 2)):
        s = Terminal(t, '-q', '--args', program('attach-agent'), 'ask', '9100000000')
        s.prompt()
        s.p.sendline('run')
        s.expect(r'This window would record 9\.1 GB of memory, more than the limit of 4\.3 GB\. Record it anyway\? [(]y or n[)] ')
        s.p.sendline(answer)
        t.match(rf'exited with code {code}\b', s.prompt(), f'answer {answer}')
        s.quit()


def test_values_that_are_refused(t):
    for words in (['--memory', 'some'], ['--memory-limit', '4X'], ['--outputs=all'], ['--memory']):
        t.sentence(t.record('attach-agent', 'window', '1', '8', options=words), r'no value for|needs a value')
    t.check(not os.path.exists(t.path('t.sbt')), 'nothing was recorded')


def test_scribbled_slot_is_told(t):
    r = t.record('attach-agent', 'bulk-scribble', '3')
    t.equal(r.status, 0, 'record')
    t.match(r'memory contents that the program sends are damaged', r.err)
    t.match(r'^\[captured #1-#1 -> t\.sbt', r.err)


def test_full_disk(t):
    """The sentence that a full disk costs comes once, the program goes on, the trace can be read."""
    r = t.record('attach-agent', 'window', '20', '90000000',
                 preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (2 << 20, resource.RLIM_INFINITY)))
    t.sentence(r, r'the capture has ended at #\d+.*')
    t.equal(len([x for x in r.err.splitlines() if 'capture has ended' in x]), 1, 'sentences')
    t.check(t.tsdb('view', 't.sbt').status in (0, 1), 'view')


def test_fault_is_told(t):
    """A kernel that faults takes the device's memory with it: that is said; what is recorded can be run again, up to the fault."""
    r = t.record('bad_address')
    t.equal(r.status, 0, 'the program\'s status')
    sync = re.search(r'^#(\d+) sync ctx', t.tsdb('view', 't.sbt').out, re.M)
    t.check(sync, 'the wait that was told')
    t.match(rf'can be run again on a device, but there is nothing to compare the result with: the device has faulted \(CUDA error 700, first reported by #{sync[1]}\): its memory could not be read when the window ended$', r.err)
    t.no_match(r'did not end', r.err)
    out = t.tsdb('view', 't.sbt').out
    t.match(r'^#\d+ stray<<<\(1,1,1\),\(32,1,1\)>>>', out)
    t.match(rf'^#\d+ sync_end #{sync[1]} = ERROR 700', out)
    (first, last), = reader(t, 't.sbt').windows()
    t.check(first == 1 and last > int(sync[1]), f'the window {first}-{last}')
    r = t.tsdb('replay', 't.sbt')
    t.equal(r.status, 0, 'it faults again')
    t.match(rf'stray.*\n^Failed as recorded: #{sync[1]} told the program, CUDA error 700', r.out)


def test_memory_that_did_not_change_is_not_sent_again(t):
    """Two captures, a file each: of the second one's memory only the pages that changed leave the device, and its file is whole alone."""
    times = t.path('times')
    r = t.session('keeps', 'break kernel touch', 'run', 'delete', 'capture start', 'next 4', 'capture stop', 'next 3', 'capture start', 'next 4',
                  'capture stop', 'continue', env={'TSDB_AGENT_TIMES': times})
    names = re.findall(r'^\[captured #\d+-#\d+ -> (\S+),', r.out, re.M)
    t.equal(len(names), 2, 'captures')
    with open(times, encoding='utf-8') as f:
        first, second = [json.loads(line) for line in f]
    t.check(second['live'] > 1 << 20, f'enough memory: {second}')
    t.check(second['sent'] < second['live'] // 4, f'little of it was sent: {first}, {second}')
    t.check(second['same'] > second['live'] // 2, f'tsdb had most of it: {second}')
    os.unlink(t.path(names[0]))
    r = t.tsdb('replay', names[1])
    t.equal(r.status, 0, 'replay')
    t.match(r'^([1-9]\d*) of \1 allocations identical', r.out)


def test_capture_begins_with_the_launch_that_it_is_stopped_at(t):
    r = t.session('keeps', 'break kernel touch', 'run', 'delete', 'capture start', 'next 4', 'capture stop', 'continue')
    seq = re.search(r'^Breakpoint 1, #(\d+) touch', r.out, re.M)
    name = re.search(r'^\[captured #(\d+)-#\d+ -> (\S+),', r.out, re.M)
    t.equal(name[1], seq[1], 'the capture\'s first command')
    (first, _), = reader(t, name[2]).windows()
    t.equal(first, int(seq[1]), 'the window\'s first command')
    r = t.tsdb('replay', name[2])
    t.match(r'^([1-9]\d*) of \1 allocations identical', r.out)


def test_window_within_a_stream_capture_is_told(t):
    """Its kernels become a graph's nodes: there is no memory that they begin with."""
    r = t.session('graphs', 'set capture window-stop off', 'capture window kernel count count 2', 'run')
    t.match(r'some of its memory is missing: all its commands came while a stream was being captured', r.out + r.err)


def test_window_that_ends_within_a_stream_capture(t):
    """It goes on to the capture's end, and is whole."""
    t.record('graphs')
    view = t.tsdb('view', 't.sbt').out
    first = int(re.search(r'^#(\d+) alloc', view, re.M)[1])
    count = [int(n) for n in re.findall(r'^#(\d+) count<<<', view, re.M)]
    r = t.session('graphs', 'set capture window-stop off', f'capture window seq {first}-{count[1]}', 'run')
    name = re.search(r'^\[captured #\d+-#(\d+) -> (\S+),', r.out, re.M)
    t.check(name and int(name[1]) > count[-1], f'up to the end of the stream capture: {name and name[0]}')
    r = t.tsdb('replay', name[2])
    t.match(r'^([1-9]\d*) of \1 allocations identical', r.out)
    r = t.session('graphs', f'capture window seq {first}-{count[1]}', 'run', 'continue')
    t.match(r'^A stream is being captured: the window is complete when that is over\.$', r.out)
    t.match(r'^graphs: 5 nodes, counted 128$', r.out)
    t.match(r'^\[captured #\d+-#(\d+) -> ', r.out)


def test_window_of_a_call_that_does_nothing_to_memory(t):
    t.record('graphs')
    # An NVIDIA runtime makes its context current without a call that one sees.
    seq = int(re.search(r'^#(\d+) (?:ctx_set|stream_create) ', t.tsdb('view', 't.sbt').out, re.M)[1])
    r = t.session('graphs', 'set capture window-stop off', f'capture window seq {seq}-{seq}', 'run')
    name = re.search(r'^\[captured #(\d+)-#(\d+) -> (\S+),', r.out, re.M)
    t.check(name, r.out)
    t.equal(reader(t, name[3]).windows(), [(seq, seq)], 'windows')


def test_effect_of_a_call_that_cannot_be_repeated(t):
    """What it did to memory is recorded, and a replay applies that."""
    r = t.record('batch_copy')
    if r.status == 77:
        raise Skip('the driver has no cuMemcpyBatchAsync')
    t.equal(r.status, 0, 'the program\'s status')
    trace = reader(t, 't.sbt')
    seq = int(re.search(r'^#(\d+) unreplayable "cuMemcpyBatchAsync', t.tsdb('view', 't.sbt').out, re.M)[1])
    r = t.tsdb('replay', 't.sbt')
    t.equal(r.status, 0, 'replay')
    t.match(rf'#{seq} cuMemcpyBatchAsync.*its recorded effect on memory is applied', r.out + r.err)
    t.match(r'^([1-9]\d*) of \1 allocations identical', r.out)
