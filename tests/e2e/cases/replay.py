# SPDX-License-Identifier: Apache-2.0
"""Replay on a device: programs recorded with memory, executed again, compared, stepped, watched, changed."""
import json
import os
import random
import re
import shutil
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from interactive import Terminal  # noqa: E402
from e2e import BUILD, Skip, first_existing, program  # noqa: E402

# race_demo without "fixed" has a race: what it computes is not the same twice
EXAMPLES = [('vecadd', []), ('matmul', ['64']), ('reduce', []), ('tiny_launches', []), ('pipeline', []), ('transformer', []), ('race_demo', ['fixed'])]


def recorded(t, prog='pipeline', *args, **kw):
    r = t.record(prog, *args, **kw)
    t.equal(r.status, 0, f'record {prog}')


def race_demo(t, out='t.sbt', options=()):
    """A recording of race_demo in which the sums came out right: on a busy machine its race is one."""
    for _ in range(20):
        if not t.record('race_demo', out=out, options=options).status:
            return
    raise Skip('race_demo never came out right')


def shell(t, *commands, trace='t.sbt', status=0, **kw):
    ex = [x for c in commands for x in ('-ex', c)]
    r = t.tsdb('--batch', '--no-init', *ex, trace, **kw)
    t.equal(r.status, status, 'exit status')
    return r


def find(t, pattern, trace='t.sbt', which=0):
    """The seq of a command in a trace by what its line shows."""
    lines = t.tsdb('view', trace).out
    found = re.findall(rf'^#(\d+) {pattern}', lines, re.M)
    t.check(found, f'no {pattern} in the trace')
    return int(found[which])


def test_a_copy_goes_on_in_the_next_piece(t):
    """Memory that was mapped piece by piece: a copy touches the piece in which it ends, too."""
    recorded(t, 'grown_array')
    t.match(r'(\d+) of \1 allocations identical', t.tsdb('replay', '--verify', 't.sbt').out)
    first, last = find(t, 'copy d2d'), find(t, 'copy d2d', which=1)
    fill = find(t, 'fill')
    writers = re.findall(r'^ *0x[0-9a-f]+ +\d+ +vmm .*#(\d+)$', shell(t, 'info allocations').out, re.M)
    t.equal(writers, [str(fill)] * 2, 'who wrote the pieces last')
    r = t.session('grown_array', 'set capture memory touched', f'capture window seq {first}-{last}', 'run')
    t.equal(r.status, 0, 'record what is touched')
    r = t.tsdb('replay', '--verify', 'grown_array.sbt')
    t.equal(r.status, 0, 'replay of what was touched')
    t.match(r'(\d+) of \1 allocations identical', r.out)


def test_last_call_changed_nothing(t):
    """A call that failed is a command; one that only takes a number may end a window."""
    for how, last in ('module', 'module_load = ERROR ' + ('218' if t.gpu == 'soft' else '200')), ('unknown', 'unreplayable "cuArrayCreate_v2" = ERROR 1'), \
            ('destroy', 'event_destroy event 0 = ERROR 400'), ('release', None):
        if how == 'destroy' and t.gpu != 'soft':
            continue  # the handle is no event, and NVIDIA's driver follows it
        r = t.record('failed_last', how)
        t.equal(r.status, 0, f'record {how}')
        t.no_match('not replayable', r.err)
        if last:
            find(t, re.escape(last))
        r = t.tsdb('replay', 't.sbt')
        t.equal(r.status, 0, f'replay {how}')
        t.match(r'^1 of 1 allocations identical, 1 of 1 outputs', r.out)
        t.equal(t.tsdb('check', 't.sbt', '2').status, 0, f'check {how}')
        shell(t, 'replay start', 'replay continue', 'replay goto end', 'replay reverse-step', 'replay verify')
    t.equal(t.record('failed_last', 'alone').status, 0, 'record alone')
    r = t.tsdb('replay', 't.sbt')
    t.equal(r.status, 0, 'replay alone')
    t.match('nothing to compare', r.out)


def test_nothing_is_left_to_compare_at_the_end(t):
    """A program that works in pinned memory and frees it: what it held then is compared."""
    t.equal(t.record('pinned_freed').status, 0, 'record')
    r = t.tsdb('replay', 't.sbt')
    t.equal(r.status, 0, 'replay')
    t.match(r'^1 of 1 freed allocations identical$', r.out)
    t.no_match('cut short|0 of 0|nothing to compare', r.both)


def test_a_fault_of_the_recording(t):
    """A fault is reproduced, or its absence told; calls that failed after it are commands; nothing is executed twice."""
    t.equal(t.record('faults', '100000000').status, 0, 'record')
    r = t.tsdb('replay', 't.sbt')
    t.equal(r.status, 0, 'replay')
    t.match(r'^#15 behind<<<.*: the device failed at #15: CUDA_ERROR_ILLEGAL_ADDRESS$', r.out)
    t.match(r'^Failed as recorded: #16 told the program, CUDA error 700', r.out)
    if t.gpu == 'soft':
        t.equal(r.err.count('illegal address'), 1, 'how often it was executed')
    # 64 bytes behind an allocation of 256, and within what a replay maps
    t.equal(t.record('faults', '64', out='near.sbt').status, 0, 'record')
    r = t.tsdb('replay', 'near.sbt')
    if t.gpu == 'soft':
        t.equal(r.status, 0, 'replay')
        t.match('ld.global.u32 from 0x302000100, 4 bytes; the nearest allocation is 0x302000000\\+256', r.err)
        t.match('^Failed as recorded', r.out)
        # in the gap between two allocations
        t.equal(t.record('faults', '64', 'two', out='gap.sbt').status, 0, 'record')
        gap = t.tsdb('replay', 'gap.sbt')
        t.equal(gap.status, 0, 'replay of a fault between two allocations')
        t.match('^Failed as recorded', gap.out)
        r = t.tsdb('replay', '--touched', 'near.sbt')
        t.equal(r.status, 3, 'replay without the fault')
        t.match('^A command of #13 to #15 faulted in the recording, and none does here', r.out)
    else: # a GPU maps more than the allocation: neither the recording nor the replay faults
        t.equal(r.status, 0, 'replay of what did not fault')
    one = json.loads(t.tsdb('replay', '--json', 't.sbt').out)
    fault = one['windows'][0]['fault']
    t.equal([fault[k] for k in ('seq', 'told_seq', 'code', 'as_recorded')], [15, 16, 700, True], 'json')
    r = t.tsdb('check', 't.sbt', '2')
    t.equal(r.status, 0, 'check')
    t.match(r'^1 launch of #1-#12 executed 2 times each: all gave the same', r.out)
    t.match(r'^Not checked from #13 on: a command there faulted in the recording \(CUDA error 700, reported by #16\)', r.out)
    t.equal(t.tsdb('check', 't.sbt', '2', '13-16').status, 1, 'check of what faulted')
    shell(t, 'replay start', 'replay goto 14', 'replay verify', 'replay goto end', status=1)


def test_textures_are_replayed(t):
    """A texture of linear memory, a surface of an array: by handle, and as a driver makes them that chooses handles itself."""
    for how in 'texture', 'surface':
        t.equal(t.record('texture', how).status, 0, 'record')
        for env in (None, {'TSDB_REPLAYER_TEXTURES': 'driver'})[:2 if t.gpu == 'soft' else 1]:
            r = t.tsdb('replay', 't.sbt', env=env)
            t.equal(r.status, 0, f'{how}: {r.err}')
            t.match(r'^Verified\.$', r.out)
            t.equal(t.tsdb('check', 't.sbt', '3', env=env).status, 0, how)


def test_examples_are_identical(t):
    for prog, args in EXAMPLES:
        try:
            program(prog)
        except Skip:
            continue
        recorded(t, prog, *args)
        r = t.tsdb('replay', 't.sbt', '--verify')
        t.equal(r.status, 0, f'replay {prog}')
        m = t.match(r'^(\d+) of (\d+) allocations identical, (\d+) of (\d+) outputs identical$', r.out, prog)
        t.equal((m[1], m[3]), (m[2], m[4]), prog)
        t.check(int(m[2]) + int(m[4]) > 0, f'{prog}: something was compared')
        t.match(r'^Verified\.$', r.out, prog)


def all_the_same(t, trace, outputs):
    r = t.tsdb('replay', trace, '--verify')
    t.equal(r.status, 0, f'replay {trace}')
    m = t.match(r'^(\d+) of (\d+) allocations identical, (\d+) of (\d+) outputs identical$', r.out, trace)
    t.equal((m[1], m[3]), (m[2], m[4]), f'{trace}: allocations, outputs')
    t.equal(int(m[4]), outputs, f'{trace}: outputs')


def test_addresses_of_variables_go_where_the_variables_are(t):
    """A module that is gone in the window lay before the one that is used: in the replay this one is elsewhere. Its addresses are in
    another variable, in memory, in a parameter's structure, in a payload, in what kernels write and in what comes back."""
    r = t.session('moved_addresses', 'break kernel follow', 'run', 'continue', 'delete', 'capture start w.sbt', 'continue')
    t.match(r'^13847 4$', r.out)
    all_the_same(t, 'w.sbt', 10)
    recorded(t, 'moved_addresses')
    all_the_same(t, 't.sbt', 10)
    for trace in 'w.sbt', 't.sbt':
        out = t.tsdb('view', trace).out
        at = re.search(r'copy d2h 64 bytes (0x[0-9a-f]+)', out)[1]
        words = []
        for when in 'begin', 'end':
            r = shell(t, 'replay start', f'replay goto {when}', f'x/8gx {at}', trace=trace)
            words.append([int(w, 16) for w in re.findall(r'\t(0x[0-9a-f]+)', r.out)])
        t.equal([len(w) for w in words], [8, 8], 'words')
        low = min(w for w in words[1] if w)
        t.check(all(not w or w - low in (0, 4, 8) for w in words[1]), f'{trace}: addresses of three neighbours: {words[1]}')
        t.equal(len({w for w in words[0] + words[1] if w} - set(words[1])), 0, f'{trace}: shown as they were recorded')
        part, word = next((int(at, 16) + 8 * i, w) for i, w in enumerate(words[1]) if w)
        r = shell(t, 'replay start', 'replay goto end', f'x/1xw {part}', f'x/1xw {part + 4}', f'x/1xg {part - 4}', trace=trace)
        t.equal([int(w, 16) for w in re.findall(r'\t(0x[0-9a-f]+)', r.out)], [word & 0xffffffff, word >> 32, (word & 0xffffffff) << 32], f'{trace}: parts of one')
        r = shell(t, 'replay start', 'replay goto end', f'set {{u32}}{part} = 0', f'set {{u32}}{part} = {word & 0xffffffff}', f'x/1xg {part}', 'replay verify', trace=trace)
        t.equal(int(t.match(r'\t(0x[0-9a-f]+)', r.out)[1], 16), word, f'{trace}: parts of one written')
        t.match(r'^(\d+) of \1 allocations identical', r.out)
    three = re.search(r'global_def .*"three" (0x[0-9a-f]+)', out)[1]
    seq = re.findall(r'^#(\d+) length<<<', out, re.M)[-1]
    r = shell(t, 'replay start', f'replay goto {seq}', f'set arg 0 {three}', f'x/3dw {three}', trace=trace)
    t.match(rf'^{three}:\t6\t0\t0$', r.out)


def test_functions_called_through_their_addresses(t):
    for prog in 'function_table', 'function_table_linked':
        recorded(t, prog)
        t.match(r'^5866767$', t.log[-1].out, prog)
        all_the_same(t, 't.sbt', 2)
        r = t.session(prog, 'break kernel by_parameter', 'run', 'continue', 'delete', 'capture start w.sbt', 'continue')
        t.match(r'^5866767$', r.out, prog)
        all_the_same(t, 'w.sbt', 1)


def freed_replay(t, case, env=None):
    """What a replay of `freed CASE` says of freed allocations: the line's text and the result."""
    t.equal(t.record('freed', case).status, 0, case)
    r = t.tsdb('replay', 't.sbt', env=env)
    return t.match(r'^(\d+ of \d+ freed allocations identical.*)$', r.out, case)[1], r


def test_memory_is_compared_when_it_is_freed(t):
    """Programs that leave nothing behind, and copy nothing to the host, are verified by what they free."""
    for case, n in ('one', 2), ('stream', 1), ('context', 2), ('host', 2):
        text, r = freed_replay(t, case)
        t.equal(text, f'{n} of {n} freed allocations identical', case)
        t.equal(r.status, 0, case)
        t.match(r'^Verified\.$', r.out, case)
    text, r = freed_replay(t, 'both')
    if t.gpu != 'soft' and text == '0 of 1 freed allocations identical':  # managed memory is the device's in a replay there
        t.equal(r.status, 3, 'both')
        t.match(r'^Why: that could not be found out\. #\d+ touches memory that the program and the device share', r.out)
        return
    t.match(r'^(1 of 1 freed allocations identical|0 of 1 freed allocations identical \(1 not compared: both the program and kernels write there\))$', text)
    t.equal(r.status, 0 if text.startswith('1') else 1, 'both')
    if r.status:
        t.match(r'^tsdb: both the program and its kernels wrote to the page-locked or managed memory that it freed', r.err)


def test_freed_memory_with_addresses_of_the_devices_heap_is_not_compared(t):
    """A kernel leaves a pointer to what it got from malloc(): the heap is elsewhere in a replay."""
    text, r = freed_replay(t, 'heap')
    t.match(r'^0 of 1 freed allocations identical \(1 not compared: kernels use the device\'s own heap, whose addresses are others here\)$|^1 of 1 ', text)
    t.equal(r.status, 0, 'the number that came out was compared')


def test_freed_memory_that_differs_is_named(t):
    freed_replay(t, 'one')
    launch, free = find(t, 'fill<<<'), find(t, 'free device')
    addr = int(re.search(rf'^#{free} free device (0x[0-9a-f]+)', t.tsdb('view', 't.sbt').out, re.M)[1], 16)
    r = t.tsdb('replay', 't.sbt', env={'TSDB_REPLAYER_FLIP': f'{launch}:{addr + 8:x}'})
    t.equal(r.status, 3, 'a bit was flipped')
    t.match(r'^1 of 2 freed allocations identical$', r.out)
    t.match(rf'^  #{free} frees the first that differs: {addr:#x}, 20000 bytes$', r.out)
    w = json.loads(t.tsdb('replay', 't.sbt', '--json').out)['windows'][0]
    t.equal((w['freed'], w['freed_identical'], w['freed_own'], w['freed_mixed'], w['freed_unchecked'], w['first_freed']), (2, 2, 0, 0, 0, 0), 'json')


def test_device_code_linked_from_several_files(t):
    recorded(t, 'linked')
    t.match(r'^1136 1291, 32 lanes$', t.log[-1].out)
    all_the_same(t, 't.sbt', 2)


def test_global_asked_for_its_address_alone(t):
    """The size is not asked for; a copy there still finds the global in the replay."""
    recorded(t, 'global_address')
    r = t.tsdb('replay', 't.sbt', '--verify')
    t.equal(r.status, 0, 'replay')
    t.match(r'^Verified\.$', r.out)
    seq = find(t, 'global_def')
    t.equal(json.loads(t.tsdb('view', 't.sbt', f'#{seq}', '--json').out)['size'], 8, 'size')


def test_windows_end_where_they_say(t):
    """A window takes in its last command and nothing of the next one, also where its last number is a kernel's definition."""
    for prog in 'transformer', 'pipeline':
        try:
            program(prog)
        except Skip:
            continue
        recorded(t, prog)
        lines = t.tsdb('view', 't.sbt').out
        defs = [int(x) for x in re.findall(r'^#(\d+) kernel_def ', lines, re.M)]
        launches = [int(x) for x in re.findall(r'^#(\d+) \w+<<<', lines, re.M)]
        first = launches[0] - 2
        mid = launches[len(launches) // 2]
        windows = [f'seq {first}-{defs[-1]}', f'seq {defs[0]}-{launches[0]}', f'seq {first}-{mid}', f'seq {mid}-{mid + 9}',
                   'kernel * count 1', 'kernel * count 7']
        for w in windows:
            r = t.session(prog, f'capture window {w}', 'run', 'continue')
            t.equal(r.status, 0, f'{prog}: {w}')
            v = t.tsdb('replay', f'{prog}.sbt', '--verify')
            t.equal(v.status, 0, f'{prog}: {w}: {v.both}')
            t.match(r'^Verified\.$', v.out, f'{prog}: {w}')


def test_json(t):
    recorded(t)
    r = t.tsdb('replay', '--json', 't.sbt')
    t.equal(r.status, 0, 'exit status')
    j = json.loads(r.out)
    t.equal((j['file'], j['verified'], len(j['windows'])), ('t.sbt', True, 1), 'the file')
    w = j['windows'][0]
    t.check(w['verified'] and w['outputs'] == w['outputs_identical'] > 0 and w['differences'] == [] and w['bytes'] > 0, f'window {w}')
    t.equal(w['soft'], t.gpu.startswith('soft'), 'device')


def test_json_tells_where_the_time_went(t):
    recorded(t, 'vecadd')
    w = json.loads(t.tsdb('replay', 't.sbt', '--json').out)['windows'][0]
    ms = w['milliseconds']
    t.equal(sorted(ms), ['checkpointing', 'driver', 'execute', 'execute_on_device', 'hash', 'load_code', 'place', 'read_trace', 'restore'], 'phases')
    t.check(0 < sum(v for k, v in ms.items() if k != 'execute_on_device') <= w['seconds'] * 1000 + 1, 'phases are parts of the whole')


def test_without_memory(t):
    recorded(t, options=['--memory', 'none'])
    t.sentence(t.tsdb('replay', 't.sbt'), r'^tsdb: t\.sbt holds no memory contents, so its commands cannot be executed again\. .*--memory all')
    r = shell(t, 'replay start', 'replay step 3', 'x arg0', status=1)
    t.match(r'^The state alone is replayed: t\.sbt holds no memory contents', r.out)
    t.match(r'^#3 ', r.out)
    t.match(r'--memory all', r.err)
    t.sentence(shell(t, 'replay start --on soft', status=1), 'holds no memory contents')


def test_refused_words(t):
    recorded(t, 'vecadd')
    for words in ([], ['--on', 'gpu', 't.sbt'], ['--on'], ['t.sbt', '--quick'], ['t.sbt', 'u.sbt'], ['t.sbt', '--window', '7'], ['t.sbt', '--window', '0'],
                  ['none.sbt']):
        t.sentence(t.tsdb('replay', *words), r'^tsdb: ')
    for line in ('replay start --on gpu', 'replay start --window 9', 'replay start t.sbt t.sbt', 'diff 1', 'diff 1 999999', 'watch', 'watch arg0 len 0',
                 'set memory 1 f32', 'set {f99}1 = 2', 'print {f32[0]}0', 'replay swap', 'replay swap vecadd nowhere.ptx', 'replay until x',
                 'who-wrote nothing', 'replay finish'):
        r = shell(t, line, status=1)
        t.equal(len(r.err.splitlines()), 1, f'sentences after {line}')


def test_step_and_look(t):
    recorded(t, 'vecadd')
    seq = find(t, 'vecadd<<<')
    r = shell(t, 'replay start', f'replay goto {seq - 1}', f'replay step', 'print {f32[2]}arg0', 'x/2fw arg0', 'print/x {u32}arg0',
              'replay reverse-step', 'replay step', 'print {f32[2]}arg0', f'replay goto {seq}', 'print {f32[2]}arg0', 'replay until 99999', status=1)
    values = re.findall(r'^\$\d+ = ({.*})$', r.out, re.M)
    t.equal(len(set(values)), 1, 'the same however one gets there')
    t.equal(len(values), 3, 'values')
    t.check(values[0] != '{0, 0}', 'the kernel has run')
    first = values[0][1:].split(',')[0]
    t.match(rf'^0x[0-9a-f]+:\t{re.escape(first)}\t', r.out)


def test_watch(t):
    recorded(t)
    seq = find(t, 'scale<<<', which=1)
    r = shell(t, f'replay goto {seq}', 'watch/f arg0 len 64', 'reverse-continue', 'replay continue', 'info breakpoints', 'delete 1', 'replay continue')
    hits = re.findall(r'^Watchpoint 1, #(\d+) (\S+)', r.out, re.M)
    t.check(hits[0][1] == 'copy' and int(hits[0][0]) < seq, f'the copy before the launch: {hits}')
    t.equal(int(hits[1][0]), seq, 'forwards again, the launch')
    t.match(r'^  0x[0-9a-f]+: -?\d\S* -> -?\d\S*$', r.out)
    t.match(r'^  \d+ of 64 bytes changed$', r.out)
    t.match(r'^1 +keep +y +2 +watch 0x[0-9a-f]+ len 64$', r.out)
    t.match(r'^The end of the window\.$', r.out)


def test_who_wrote(t):
    recorded(t)
    launch = find(t, 'scale<<<')
    copy = find(t, 'copy h2d')
    r = shell(t, f'replay goto {launch}', 'who-wrote arg0', 'who-wrote --json arg0', f'replay goto {copy}', status=0)
    t.match(rf'^#{launch} scale<<<.*\n#0 .* at .*pipeline', r.out)
    j = json.loads(t.match(r'^{"addr"(.|\n)*?}\]}$', r.out)[0])
    t.equal((j['seq'], j['certain'], j['changed']), (launch, True, True), 'json')
    addr = j['addr']
    r = shell(t, f'replay goto {copy}', f'who-wrote {addr}')
    t.match(rf'^#{copy} copy h2d', r.out)


def test_diff(t):
    recorded(t)
    launch = find(t, 'scale<<<')
    r = shell(t, f'replay goto {launch}', f'diff {launch - 1} {launch}', f'diff/x {launch - 1} {launch} arg0 8', f'diff {launch} {launch}',
              f'diff --json {launch - 1} {launch}', 'when')
    t.match(r'^0x[0-9a-f]+, 16384 bytes \(allocated by #\d+\): \d+ bytes changed, from offset \d+ on\n  0x[0-9a-f]+.*: \S+ -> \S+$', r.out)
    t.match(r'^  0x[0-9a-f]+: 0x[0-9a-f]{8} -> 0x[0-9a-f]{8}$', r.out)
    t.match(rf'^Nothing changed from #{launch} to #{launch}\.$', r.out)
    j = json.loads(t.match(r'^{"from_seq"(.|\n)*?}\]}$', r.out)[0])
    t.equal((j['from_seq'], j['to_seq']), (launch - 1, launch), 'json')
    t.check(any(x['size'] == 16384 and x['bytes'] for x in j['changes']), 'what the kernel wrote')
    t.match(rf'^#{launch} of #1-', r.out, 'the replay is where it was')


def test_what_if(t):
    recorded(t)
    launch = find(t, 'accumulate<<<')
    r = shell(t, 'replay verify', f'replay goto {launch}', 'set memory arg0 f32 100 200', 'print {f32[2]}arg0', 'set {s32}(arg0+8) = -1', 'print {s32}(arg0+8)',
              'when', 'replay reverse-step', 'print {f32[2]}0', status=1)
    t.match(r'= {100, 200}$', r.out)
    t.match(r'= -1$', r.out)
    t.match(r'^On .*; not as recorded \(what-if\)$', r.out)
    r = shell(t, f'replay goto {launch}', 'set memory arg0 f32 100 200', 'replay verify', status=3)
    t.match(r'^Not verified: .*what-if', r.out)
    r = shell(t, f'replay goto {launch}', 'set arg 2 0', 'replay verify', 'when', status=3)
    t.match(rf'^#{launch} was executed again with another arg2', r.out)
    r = shell(t, f'replay goto {launch}', 'set arg 2 0', 'set memory arg0 f32 100', 'replay restart', 'when', 'replay verify')
    t.no_match('what-if\\)$', r.out.splitlines()[-1])
    t.match(r'^At the beginning of t\.sbt', r.out)


def test_logical_when_asked(t):
    recorded(t)
    r = shell(t, 'set replay device none', 'replay start', 'replay step', 'replay verify', status=1)
    t.no_match('window', r.out)
    t.match(r'replay verify needs a replay on a device', r.err)


def test_replayer_dies(t):
    """Whatever happens to the process that executes, the shell goes on with a fresh one."""
    recorded(t)
    seq = find(t, 'scale<<<')
    r = shell(t, f'replay goto {seq}', 'print {f32[4]}arg0', 'shell kill -9 $(pgrep -P $PPID -f tsdb-replayer)', 'print {f32[4]}arg0',
              'print {f32[4]}arg0', 'replay step', status=1)
    t.match(r'^tsdb: the replayer died at #\d+: signal 9', r.err)
    t.equal(len(r.err.splitlines()), 1, 'sentences')
    values = re.findall(r'^\$\d+ = (.*)$', r.out, re.M)
    t.equal(len(values), 2, 'values')
    t.equal(values[0], values[1], 'the same again')
    t.match(rf'^#{seq + 1} ', r.out)


# what nvcc makes of: if (i < n) v[i] *= by + 1.0f
SCALE_PTX = r"""
.version 6.4
.target sm_75
.address_size 64
.visible .entry _Z5scalePffi(.param .u64 v, .param .f32 by, .param .u32 n)
{
	.reg .pred %p<2>;
	.reg .f32 %f<5>;
	.reg .b32 %r<6>;
	.reg .b64 %rd<5>;
	ld.param.u64 %rd1, [v];
	ld.param.f32 %f1, [by];
	ld.param.u32 %r2, [n];
	mov.u32 %r3, %ctaid.x;
	mov.u32 %r4, %ntid.x;
	mov.u32 %r5, %tid.x;
	mad.lo.s32 %r1, %r3, %r4, %r5;
	setp.ge.s32 %p1, %r1, %r2;
	@%p1 bra DONE;
	cvta.to.global.u64 %rd2, %rd1;
	mul.wide.s32 %rd3, %r1, 4;
	add.s64 %rd4, %rd2, %rd3;
	ADD
	ld.global.f32 %f3, [%rd4];
	mul.f32 %f4, %f2, %f3;
	st.global.f32 [%rd4], %f4;
DONE:
	ret;
}
"""


def test_swap(t):
    recorded(t)
    for name, add in (('other.ptx', 'add.f32 %f2, %f1, 0f3F800000;'), ('same.ptx', 'mov.f32 %f2, %f1;')):
        with open(t.path(name), 'w', encoding='ascii') as f:
            f.write(SCALE_PTX.replace('ADD', add))
    r = shell(t, 'replay swap scale other.ptx', 'when', 'replay restart', 'replay verify', status=3)
    t.match(r'^Not verified', r.out)
    t.match(r'^What #\d+ copies to the host: \d+ of 16384 bytes differ \(recorded -> replacement\)\n  0x[0-9a-f]+: (-?[\d.]+) -> (-?[\d.]+)$', r.out)
    t.match(r'what-if', r.out)
    t.match(r'1 of 1 outputs identical', r.out, 'after replay restart')
    r = shell(t, 'replay swap scale same.ptx', 'replay swap scale off', 'replay verify')
    t.equal(len(re.findall(r'1 of 1 outputs identical', r.out)), 2, 'an equal kernel')
    for line in ('replay swap nothing same.ptx', 'replay swap * same.ptx', 'replay swap accumulate same.ptx'):
        t.check(shell(t, line, 'replay verify', status=1).err.startswith('tsdb: '), line)


def test_parts(t):
    recorded(t)
    second = find(t, 'scale<<<', which=1)
    r = shell(t, 'replay stream 1', 'when', 'replay verify', 'replay restart', 'replay verify', status=1)
    t.match(r'^Left out: .* on stream 2', r.out)
    t.match(r'^(\d+) of \1 allocations are at #\d+ what they are in the whole replay', r.out)
    t.match(r'commands are left out \(partial\)$', r.out)
    t.match(r'commands are left out of this replay', r.err)
    t.match(r'1 of 1 outputs identical', r.out, 'after replay restart')
    r = shell(t, 'replay kernel scale nth 2', 'info args')
    t.match(rf'^#{second} scale', r.out)
    t.match(r'^\w+ = \(.*\) 0x.*\n +{-?\d.*\.\.\.}$', r.out)
    r = shell(t, f'replay range {second}-{second}')
    t.match(rf'^#{second} scale', r.out)
    t.match(r'^([1-9]\d*) of \1 allocations are', r.out)
    for line in ('replay stream', 'replay stream x', 'replay stream 77', 'replay range x', 'replay range 9999-99999', 'replay kernel nothing',
                 'replay kernel scale nth 99', 'replay stream 2 --alone'):
        said = shell(t, line, status=1).err
        if t.gpu == 'soft-amd':  # HSA runtimes from ROCm 7 on say how they come to the device
            said = re.sub(r'^(?:Load .*|DtifCreate .*)\n', '', said, flags=re.M)
        t.equal(len(said.splitlines()), 1, f'sentences after {line}')
    r = t.tsdb('replay', 't.sbt', '--stream', '1')
    t.equal(r.status, 0, 'exit status')
    t.match(r'^Left out: .* on stream 2', r.out)
    r = t.tsdb('replay', '--json', f'--range={second}-{second}', 't.sbt')
    w = json.loads(r.out)['windows'][0]
    t.check(r.status == 0 and w['verified'] and w['allocations'] == w['identical'] > 0 and w['left_out'] > 0, f'{w}')
    for words in (['--alone'], ['--nth', '2'], ['--stream', '1', '--range', '1-2'], ['--stream', '77'], ['--stream', '2', '--alone']):
        t.sentence(t.tsdb('replay', 't.sbt', *words), r'^tsdb: ')


def test_fault(t):
    """A kernel that faults: named, the shell lives, memory before it can be looked at."""
    recorded(t)
    seq = find(t, 'scale<<<', which=1)
    r = shell(t, f'replay goto {seq}', 'set $a = arg0', 'set arg 0 0x10', 'when', 'print {f32[2]}$a', 'replay step', 'replay restart', f'replay goto {seq}',
              'print {f32[2]}arg0', status=1)
    t.equal(len(re.findall(rf'^tsdb: #{seq} scale<<<.*failed', r.err, re.M)), 2, 'each time the launch is executed')
    t.match(rf'^#{seq - 1} ', r.out, 'the replay stands before it')
    t.equal(len(re.findall(r'^\$\d+ = {-?\d', r.out, re.M)), 2, 'memory before it, and after restart')


def test_hang(t):
    """A kernel that never ends: named exactly, the shell lives, memory before it can be looked at, and without it all is well."""
    recorded(t)
    seq = find(t, 'scale<<<')
    with open(t.path('hang.ptx'), 'w', encoding='ascii') as f:
        f.write(SCALE_PTX.replace('ADD', 'again: ld.volatile.global.f32 %f2, [%rd4]; bra again;'))
    ex = [x for c in ('replay swap scale hang.ptx', f'replay goto {seq - 1}', 'when', 'replay swap scale off', 'replay restart',
                      'replay verify') for x in ('-ex', c)]
    r = t.tsdb('--batch', '--no-init', *ex, 't.sbt', env={'TSDB_REPLAYER_TIMEOUT': '1'})
    t.equal(r.status, 1, 'exit status')
    t.match(rf'#{seq} scale<<<.*#{seq} has not finished within 1 s', r.err)
    t.match(rf'^#{seq - 1} ', r.out, 'the replay can stand before it')
    t.match(r'1 of 1 outputs identical', r.out)


def test_prompt_says_what_if(t):
    recorded(t, 'vecadd')
    seq = find(t, 'vecadd<<<')
    s = Terminal(t, '-q', 't.sbt')
    s.prompt()
    t.no_match('what-if', s.type(f'replay goto {seq}'))
    s.type('set memory arg0 f32 5')
    t.match(r'[(]what-if[)] [(]tsdb[)] $', s.type('x/2fw arg0'))
    s.type('replay restart')
    t.no_match('what-if', s.type('when'))
    s.quit()


def test_info_tells_windows(t):
    recorded(t, 'vecadd')
    t.match(r'^replayable +#\d+-#\d+ on a device, with memory in .*B$', t.tsdb('info', 't.sbt').out)
    t.equal(len(json.loads(t.tsdb('info', '--json', 't.sbt').out)['windows']), 1, 'windows')
    recorded(t, 'vecadd', options=['--memory', 'none'])
    t.no_match('replayable', t.tsdb('info', 't.sbt').out)


def test_two_windows(t):
    """A trace of the middle of a run, and one of what came later: each begins with the memory there."""
    r = t.session('pipeline', 'break kernel accumulate', 'run', 'delete', 'capture start', 'next 12', 'capture stop', 'next 3', 'capture start', 'next 6',
                  'capture stop', 'continue')
    names = re.findall(r'^\[captured #\d+-#\d+ -> (\S+),', r.out, re.M)
    t.equal(len(names), 2, 'captures')
    for name in names:
        r = t.tsdb('replay', name)
        t.equal(r.status, 0, f'replay {name}')
        t.match(r'^([1-9]\d*) of \1 allocations identical', r.out)


CLOCK_CU = r"""
#include <cstdio>
__global__ void tick(unsigned long long *out) { unsigned long long t; asm volatile("mov.u64 %0, %globaltimer;" : "=l"(t)); *out = t; }
int main()
{
	unsigned long long *d, *kept, h;
	cudaMalloc(&d, 8);
	cudaMalloc(&kept, 8);
	cudaMemset(kept, 7, 8);
	tick<<<1, 1>>>(d);
	cudaMemcpy(&h, d, 8, cudaMemcpyDeviceToHost);
	return h == 0;
}
"""


def test_difference_is_status_3(t):
    """What a kernel takes from a clock is another value each time."""
    nvcc = shutil.which('nvcc') or shutil.which('/usr/local/cuda/bin/nvcc')
    if not nvcc:
        raise Skip('no nvcc')
    with open(t.path('tick.cu'), 'w', encoding='ascii') as f:
        f.write(CLOCK_CU)
    t.equal(t.run([nvcc, '-cudart', 'shared', '-gencode', 'arch=compute_75,code=compute_75', '-o', 'tick', 'tick.cu']).status, 0, 'nvcc')
    t.equal(t.tsdb('record', '--gpu', t.gpu, '-o', 't.sbt', './tick').status, 0, 'record')
    r = t.tsdb('replay', 't.sbt')
    t.equal((r.status, r.err), (3, ''), 'replay')
    t.match(r'^1 of 2 allocations identical, 0 of 1 outputs identical\n  #\d+ is the first output that differs\n  0x[0-9a-f]+, 8 bytes, differs', r.out)
    t.match(r'^Not verified: the replay differs from the recording\.$', r.out)
    r = t.tsdb('replay', 't.sbt', '--json')
    j = json.loads(r.out)
    t.equal((r.status, j['verified'], j['windows'][0]['verified'], len(j['windows'][0]['differences'])), (3, False, False, 1), 'json')


def test_gpu_option(t):
    """--gpu is about programs: a replay that cannot be had there is none on a device."""
    recorded(t, 'vecadd', options=['--memory', 'none'])
    r = t.tsdb('--gpu', t.gpu, '--batch', '-ex', 'replay start', '-ex', 'replay step', 't.sbt')
    t.equal(r.status, 0, 'exit status')
    t.match(r'^The state alone is replayed', r.out)


def test_memory_is_the_same_however_one_gets_there(t):
    """Random walks: step, reverse-step, goto, until and runs to breakpoints, with all memory read at each stop."""
    recorded(t)
    lo, hi = find(t, 'scale<<<'), find(t, 'copy d2h') - 1
    addrs = sorted(set(re.findall(r'alloc device 16384 bytes (0x[0-9a-f]+)', t.tsdb('view', 't.sbt').out)))
    t.equal(len(addrs), 3, 'allocations')
    look = ['replay status --json'] + [f'print {{x32[4096]}}{a}' for a in addrs]
    known = {}
    for seed in range(3):
        rng = random.Random(seed)
        at, lines = lo, ['set print elements 0', 'break kernel accumulate', f'replay goto {lo}', *look]
        for _ in range(25):
            move = rng.randrange(5)
            if move == 0 and at < hi:
                n = rng.randint(1, min(9, hi - at))
                at, line = at + n, f'replay step {n}'
            elif move == 1 and at > lo:
                n = rng.randint(1, min(9, at - lo))
                at, line = at - n, f'replay reverse-step {n}'
            elif move == 2 and at < hi:
                at = rng.randint(at + 1, hi)
                line = f'replay until {at}'
            elif move == 3: # where that ends is not known here: from a known place, and back to one
                lines += [f'replay goto {(lo + hi) // 2}', rng.choice(('replay continue', 'reverse-continue')), *look]
                at, line = lo, f'replay goto {lo}'
            else:
                at = rng.randint(lo, hi)
                line = f'replay goto {at}'
            lines += [line, *look]
        with open(t.path('walk'), 'w', encoding='ascii') as f:
            f.write('\n'.join(lines) + '\n')
        r = t.tsdb('--batch', '--no-init', '-x', 'walk', 't.sbt')
        stops = re.findall(r'^{"seq":(\d+).*\n\$\d+ = (.*)\n\$\d+ = (.*)\n\$\d+ = (.*)$', r.out, re.M)
        t.check(len(stops) > 20, f'{len(stops)} stops: {r.err}')
        for seq, *contents in stops:
            t.check(known.setdefault(seq, contents) == contents, f'memory at #{seq} depends on the way there')
    t.check(len(known) > 20, 'places')


def test_progress_on_a_terminal(t):
    t.need_soft()
    load = first_existing(os.path.join(BUILD, 'bench', 'bench-load'))
    if not load:
        raise Skip('bench-load was not built')
    t.equal(t.tsdb('record', '--gpu', t.gpu, '-o', 't.sbt', '--', load, '1', '16', '6000000', '1').status, 0, 'record')
    os.environ['TSDB_SOFT_JIT'] = '0'  # slow enough to be seen
    try:
        s = Terminal(t, '-q', 't.sbt')
    finally:
        del os.environ['TSDB_SOFT_JIT']
    s.prompt()
    s.type('replay start')
    t.match(r'executed again up to command \d+', s.type('replay continue'))
    s.quit()
    # Elsewhere there is none.
    for words in (['replay', 't.sbt'], ['replay', 't.sbt', '--json'], ['--batch', '-ex', 'replay start', '-ex', 'replay continue', 't.sbt']):
        r = t.tsdb(*words)
        t.equal(r.status, 0, ' '.join(words))
        t.no_match(r'command \d+', r.err)


def test_on_the_other_device(t):
    """What was recorded here on the software GPU and the other way round: by the PTX, for programs that compute exactly."""
    if t.gpu != 'real':
        raise Skip('needs both devices')
    for prog in 'vecadd', 'tiny_launches', 'pipeline':
        for here, there in ('soft', 'real'), ('real', 'soft'):
            r = t.tsdb('record', '--gpu', here, '-o', 't.sbt', '--', program(prog))
            t.equal(r.status, 0, f'record {prog} on {here}')
            r = t.tsdb('replay', 't.sbt', '--on', there)
            t.equal(r.status, 0, f'{prog} of {here} on {there}')
            t.match(r'replayed on', r.out)


def toolkit(t):
    """Skips without what builds an extracted launch; the toolkit's folder and the environment to run it in."""
    cuda = os.environ.get('CUDA_DIR', '/usr/local/cuda')
    if not os.path.exists(os.path.join(cuda, 'include', 'cuda.h')) or not os.path.exists(os.path.join(cuda, 'lib64', 'stubs', 'libcuda.so')):
        raise Skip('no CUDA toolkit; CUDA_DIR names one')
    if not shutil.which('make') or not shutil.which('cc'):
        raise Skip('no make or cc')
    soft = os.path.dirname(first_existing(*(os.path.join(BUILD, d, 'libcuda.so.1') for d in ('softgpu', 'lib/tsdb/softgpu', '.')))
                           or '') if t.gpu == 'soft' else ''
    return cuda, {'LD_LIBRARY_PATH': soft} if soft else {}


def test_extract(t):
    """One launch as a program of its own: built, run, and run again with another input."""
    cuda, env = toolkit(t)
    recorded(t, 'matmul', '64')
    seq = find(t, 'matmul<<<', which=1)
    r = t.tsdb('extract', 't.sbt', '--kernel', 'matmul', '--nth', '2', '-o', 'one')
    t.equal(r.status, 0, 'extract')
    t.match(rf'^#{seq} \S*matmul\S* with 3 allocations', r.out)
    r = t.run(['make', '-C', 'one', f'CUDA_DIR={cuda}', 'CFLAGS=-Wall -Wextra -Werror'])
    t.equal(r.status, 0, 'make')
    run = ['sh', '-c', 'cd one && exec ./launch']
    r = t.run(run, env=env)
    t.equal((r.status, r.out), (0, '3 of 3 allocations identical\n'), 'the launch alone')
    with open(t.path('one/main.c'), encoding='ascii') as f:
        text = f.read()
    t.equal(text.count('-after.bin"'), 1, 'what the launch changed')
    a = re.search(r'arg1 = .* memory\[(\d+)\] \+ 0', text)
    t.check(a, 'the second parameter points to memory')
    with open(t.path(f'one/memory-{int(a[1]) + 1}.bin'), 'r+b') as f:
        f.seek(3)
        old = f.read(1)[0]
        f.seek(3)
        f.write(bytes([old ^ 0x80])) # the sign of the first element
    r = t.run(run, env=env)
    t.equal(r.status, 1, 'another input')
    t.match(r'^2 of 3 allocations identical$', r.out)
    t.sentence(t.tsdb('extract', 't.sbt', '--kernel', 'matmul', '-o', 'one'), r'^tsdb: one is there already')
    t.sentence(t.tsdb('extract', 't.sbt', '--kernel', 'matmul', '--nth', '9', '-o', 'two'), 'has 3 launches')
    t.sentence(t.tsdb('extract', 't.sbt', '-o', 'two'), r'needs --kernel')


def test_extract_all_kinds_of_memory(t):
    """Globals of the module, pinned and managed memory, pointers within a structure, and a cooperative launch."""
    cuda, env = toolkit(t)
    recorded(t, 'parts')
    for kernel, names, changed in (('weigh', {'weights', 'bias', 'launches', 'arrived'}, 'launches'),
                                   ('meet', {'weights', 'bias', 'launches', 'arrived'}, 'arrived')):
        r = t.tsdb('extract', 't.sbt', '--kernel', kernel, '-o', kernel)
        t.equal(r.status, 0, f'extract {kernel}')
        with open(t.path(f'{kernel}/main.c'), encoding='ascii') as f:
            text = f.read()
        rows = re.findall(r'^\t{(DEVICE|HOST|GLOBAL), (0x\w+), \d+, "([^"]*)", (?:"([^"]*)"|NULL), (?:"([^"]*)"|NULL)},$', text, re.M)
        found = {r[4]: r for r in rows if r[0] == 'GLOBAL'}
        t.check(changed in found and set(found) <= names, f'globals {set(found)}')
        t.check(found[changed][3], f'{changed} was changed by {kernel}')
        t.equal(r.status, 0, 'extract')
        t.equal(t.run(['make', '-C', kernel, f'CUDA_DIR={cuda}', 'CFLAGS=-Wall -Wextra -Werror']).status, 0, 'make')
        run = ['sh', '-c', f'cd {kernel} && exec ./launch']
        r = t.run(run, env=env)
        t.equal((r.status, r.out), (0, f'{len(rows)} of {len(rows)} allocations identical\n'), f'{kernel} alone')
        with open(t.path(f'{kernel}/{found[changed][2]}'), 'r+b') as f: # another beginning, another end
            f.write(b'\1')
        r = t.run(run, env=env)
        t.equal(r.status, 1, 'another global')
        t.match(rf'^{len(rows) - 1} of {len(rows)} allocations identical$', r.out)
    with open(t.path('weigh/main.c'), encoding='ascii') as f:
        text = f.read()
    t.equal(text.count('memcpy(args + '), 3 + (3 if t.gpu == 'soft' else 2), 'parameters, and pointers to what may lie elsewhere')
    t.match('CU_LAUNCH_ATTRIBUTE_COOPERATIVE', open(t.path('meet/main.c'), encoding='ascii').read())


def test_extract_from_a_graph(t):
    """Four nodes in a row add 32 each to a counter that the first one, a fill, clears."""
    cuda, env = toolkit(t)
    recorded(t, 'graphs')
    seq = find(t, 'graph_launch', which=1)
    for k in (1, 3, 4):
        r = t.tsdb('extract', 't.sbt', '--graph', str(seq), '--kernel', 'count', '--nth', str(k), '-o', f'node{k}')
        t.equal(r.status, 0, f'extract node {k}')
        for name, value in ('memory-1.bin', 32 * (k - 1)), ('memory-1-after.bin', 32 * k):
            with open(t.path(f'node{k}/{name}'), 'rb') as f:
                t.equal(int.from_bytes(f.read(4), 'little'), value, f'{name} of node {k}')
        t.equal(t.run(['make', '-C', f'node{k}', f'CUDA_DIR={cuda}', 'CFLAGS=-Wall -Wextra -Werror']).status, 0, 'make')
        t.equal(t.run(['sh', '-c', f'cd node{k} && exec ./launch'], env=env).status, 0, f'node {k} alone')
    t.sentence(t.tsdb('extract', 't.sbt', '--graph', str(seq), '--kernel', 'count', '--nth', '5', '-o', 'no'), 'has 4 kernel nodes like count, not 5')
    t.sentence(t.tsdb('extract', 't.sbt', '--graph', str(seq - 2), '--kernel', 'count', '-o', 'no'), 'is not a graph launch')
    t.sentence(t.tsdb('extract', 't.sbt', '--kernel', 'count', '-o', 'no'), '--graph SEQ')


def cubin(t, name, ptx, arch):
    """The machine code of PTX; skips without an assembler."""
    ptxas = shutil.which('ptxas') or os.path.join(os.environ.get('CUDA_DIR', '/usr/local/cuda'), 'bin', 'ptxas')
    if not os.path.exists(ptxas):
        raise Skip('no ptxas; CUDA_DIR names a toolkit')
    with open(t.path('code.ptx'), 'w', encoding='ascii') as f:
        f.write(ptx)
    t.equal(t.run([ptxas, f'-arch={arch}', 'code.ptx', '-o', name]).status, 0, 'ptxas')


def test_swap_machine_code(t):
    recorded(t)
    arch = 'sm_75'
    if t.gpu == 'real':
        arch = 'sm_' + t.run(['nvidia-smi', '-i', '0', '--query-gpu=compute_cap', '--format=csv,noheader']).out.strip().replace('.', '')
    cubin(t, 'other.cubin', SCALE_PTX.replace('ADD', 'add.f32 %f2, %f1, 0f3F800000;'), arch)
    cubin(t, 'same.cubin', SCALE_PTX.replace('ADD', 'mov.f32 %f2, %f1;'), arch)
    if t.gpu == 'soft':
        r = shell(t, 'replay swap scale same.cubin', status=1)
        t.sentence(r, r'^tsdb: the replacement for _Z5scalePffi is machine code; the software GPU runs PTX only\.$')
        return
    r = shell(t, 'replay swap scale other.cubin', 'when', 'replay restart', 'replay verify', status=3)
    t.match(r'^What #\d+ copies to the host: \d+ of 16384 bytes differ \(recorded -> replacement\)$', r.out)
    t.match(r'1 of 1 outputs identical', r.out, 'after replay restart')
    r = shell(t, 'replay swap scale same.cubin', 'replay swap scale off', 'replay verify')
    t.equal(len(re.findall(r'1 of 1 outputs identical', r.out)), 2, 'an equal kernel')


def values_at(t, trace, addr, *ways):
    """The word at addr, behind each way: moves of one session."""
    r = shell(t, 'replay start', *[x for way in ways for x in (*way, f'x/1fw {addr}')], trace=trace)
    return re.findall(rf'^{addr}:\t(\S+)$', r.out, re.M)


def test_a_position_has_the_same_bytes(t):
    """A program with a race: its recording, mostly right, is verified each time, and every way to a position gives what it gave before."""
    r = t.record('race_demo')
    out = t.tsdb('view', 't.sbt').out
    last, addr = re.search(r'^#(\d+) copy d2h 4096 bytes (0x[0-9a-f]+) ', out, re.M).groups()
    seen = set()
    for _ in range(3):
        seen |= set(values_at(t, 't.sbt', addr, [f'replay goto {last}'], [f'replay goto {int(last) // 2}', f'replay goto {last}'],
                              ['replay step', 'replay reverse-step'], ['replay restart', 'replay step 500', f'replay goto {last}']))
    t.equal(seen, {'55'}, 'the sum 1 + ... + 10, in the order of submission')
    if 'race_demo: ok' in r.out:
        for _ in range(3):
            t.equal(t.tsdb('replay', 't.sbt').status, 0, 'what was right is verified')
    r = t.tsdb('replay', '--order', 'some', 't.sbt')
    t.sentence(r, r'^tsdb: --order some is no order\. It is fixed, concurrent, or for a whole window started')


def test_streams_that_need_each_other(t):
    """A kernel that waits for a later one on another stream: named in the fixed order, with the way out, and verified with that."""
    recorded(t, 'handshake')
    seq = find(t, 'wait_for<<<')
    r = t.tsdb('replay', 't.sbt', env={'TSDB_REPLAYER_TIMEOUT': '2'})
    t.equal(r.status, 1, 'exit status')
    t.match(rf'#{seq} wait_for<<<.*#{seq} has not finished within 2 s.*`set replay order concurrent`', r.err)
    r = t.tsdb('replay', '--order', 'concurrent', 't.sbt')
    t.equal((r.status, 'Verified.' in r.out), (0, True), 'with streams that overlap')
    r = shell(t, 'set replay order concurrent', 'replay start', 'replay verify')
    t.match('1 of 1 outputs identical', r.out)


def verdict_of(t, *words, env=None, status=3):
    """The recorded program executed again: what it says, and the verdict of --json."""
    for _ in range(5):
        if t.record('verdicts', *words).status != 77:  # else the recording went another way than the case needs
            break
    else:
        raise Skip('the recording never went the way that this case needs')
    env = env(t) if env else None
    r = t.tsdb('replay', 't.sbt', env=env)
    t.equal(r.status, status, f'replay of verdicts {words}')
    j = t.tsdb('replay', '--json', 't.sbt', env=env)
    t.equal(j.status, status, f'replay --json of verdicts {words}')
    return r.out, json.loads(j.out)['windows'][0]['verdict'], env


def verdict_case(t, word, kind, pattern, env=None):
    """The cause is named, and the same program without it is verified."""
    out, v, env = verdict_of(t, word, env=env)
    t.equal(v['kind'], kind, f'verdict of {word}')
    t.match(r'^Why: ' + pattern, out)
    t.match(r'^Why: ' + pattern, v['text'])
    t.match(r'^Not verified: the replay differs from the recording\.$', out)
    r = t.tsdb('--batch', '--no-init', '-ex', 'replay start', '-ex', 'replay verify', 't.sbt', env=env)
    t.equal(r.status, 3, 'replay verify')
    t.match(r'^Why: ' + pattern, r.out)
    out, fixed, _ = verdict_of(t, word, 'fixed', status=0)
    t.equal(fixed, None, f'verdict of {word} fixed')
    t.no_match('Why', out)
    return v


def test_verdict_not_deterministic(t):
    v = verdict_case(t, 'clock', 'not_deterministic', r'#\d+ is not deterministic\. It is executed again as it was recorded, and no two runs of the program')
    t.match(rf"^  #{v['seq']} tick<<<", v['text'], 'the kernel that reads the clock, not the one that adds it up')
    t.match(r'^    the kernel reads a clock \(%globaltimer\): its results differ by nature$', v['text'])


def test_verdict_race(t):
    v = verdict_case(t, 'race', 'race', r'a race \(certain\), see #\d+ and #\d+: both touch 4096 bytes at 0x[0-9a-f]+, and nothing orders them\.')
    t.match(rf"^    With #{v['with']} before #{v['seq']} the window gives exactly what was recorded\.$", v['text'])
    t.match(rf"^    Cure: cuStreamWaitEvent on stream 2 before #{v['with']}, for an event recorded on stream 1 after #{v['seq']}$", v['text'])


def test_order_of_starts(t):
    """With GPU times the recorded outcome of a race comes back in the order in which the commands had started."""
    for _ in range(5):
        if t.record('verdicts', 'race', options=['--timestamps']).status != 77:
            break
    else:
        raise Skip('the recording never went the way that this case needs')
    t.equal(t.tsdb('replay', 't.sbt').status, 3, 'in the order of submission')
    r = t.tsdb('replay', '--order', 'started', 't.sbt')
    t.equal((r.status, 'Verified.' in r.out), (0, True), 'in the order of starts')
    t.sentence(t.tsdb('replay', '--order', 'started', '--stream', '1', 't.sbt'), r'^tsdb: --order started executes whole windows')
    recorded(t, 'verdicts', 'clock', 'fixed')
    t.sentence(t.tsdb('replay', '--order', 'started', 't.sbt'), r'^tsdb: no GPU times were recorded, so the order of starts is not known\.')


def test_verdict_not_executed(t):
    verdict_case(t, 'function', 'not_executed', r'a call that is not executed again: #\d+ a host function\.')


def test_value_that_is_written_later(t):
    """A wait that was submitted before the write which ends it: what is behind it is executed behind the write."""
    for word in 'stream', 'pingpong', 'kernel':
        recorded(t, 'value_waits', word)
        r = t.tsdb('replay', 't.sbt')
        t.equal((r.status, 'Verified.' in r.out, 'waits for a value' in r.out), (0, True, False), f'replay of {word}')
        t.equal(t.tsdb('races', 't.sbt').status, 0, f'races of {word}')
        r = t.tsdb('explore', 't.sbt')
        t.equal(r.status, 0, f'explore of {word}')
        if word == 'stream':
            t.match(r'; 0 unordered pairs', r.out, f'explore of {word}')
        r = t.tsdb('check', 't.sbt', '3')
        t.equal(r.status, 0, f'check of {word}')
    recorded(t, 'value_waits', 'stream')
    wait, put, fetch = find(t, 'batch is_wait'), find(t, 'put<<<'), find(t, 'fetch<<<')
    t.check(wait < fetch < put, 'the wait was submitted first')
    y = re.search(r'copy d2h 4096 bytes 0x([0-9a-f]+) ', t.tsdb('view', 't.sbt').out)[1]
    r = shell(t, 'replay start', f'replay goto {put}', f'x/1uw 0x{y}', f'replay goto {put + 1}', f'x/1uw 0x{y}', f'replay goto {fetch}', f'x/1uw 0x{y}')
    t.equal(re.findall(r'^0x[0-9a-f]+.*:\s+(\d+)$', r.out, re.M), ['0', '6', '0'], 'before the write, behind it, and back')
    t.match(r'stream memory wait', shell(t, f'order why {put} {fetch}').out)


def test_kept_back_launch_stepped(t):
    """What stands behind a wait for a value runs behind the write, however one gets there; at its own number it has not run, and nothing says that it has."""
    recorded(t, 'value_waits', 'stream')
    wait, put, fetch, write = find(t, 'batch is_wait'), find(t, 'put<<<'), find(t, 'fetch<<<'), find(t, 'batch 0x')
    y = re.search(r'copy d2h 4096 bytes 0x([0-9a-f]+) ', t.tsdb('view', 't.sbt').out)[1]
    at = rf'#{fetch} is kept back: it stands behind #{wait}, which waits for a value, and runs when that is written'
    r = shell(t, 'replay start', f'replay goto {put}', 'replay step', f'x/1uw 0x{y}', 'replay step', f'x/1uw 0x{y}', f'replay goto {fetch}', f'x/1uw 0x{y}')
    t.equal(re.findall(r'^0x[0-9a-f]+.*:\s+(\d+)$', r.out, re.M), ['6', '6', '0'], 'a step over the write takes along what waited for it')
    t.equal(len(re.findall(rf'^  {at}$', r.out, re.M)), 1, 'told where the replay stands at it')
    for command in (f'replay enter {fetch}', f'info accesses {fetch}')[t.gpu != 'soft':]:  # a launch is entered on the software GPU
        r = shell(t, 'replay start', command, f'replay goto {write}', f'x/1uw 0x{y}', 'replay verify', status=1)
        t.match(at if t.gpu == 'soft' else "the machine's GPU does not tell which bytes its kernels access", r.err, command)
        t.match(r':\s+6$', r.out, command)
        t.match(r'^3 of 3 allocations identical, 1 of 1 outputs identical', r.out)
    if t.gpu == 'soft':
        r = shell(t, 'replay start', f'info accesses {wait}-{write}')
        heads = re.findall(r'^#(\d+) (\w+)', r.out, re.M)
        t.check((str(fetch), 'fetch') in heads and (str(put), 'put') in heads, f'each with its own command: {heads}')
    r = shell(t, 'replay start', f'replay goto {wait}', f'watch 0x{y} len 4', 'continue', 'who-wrote 0x' + y, f'replay goto {put}', 'who-wrote 0x' + y)
    t.match(rf'^Watchpoint 1, #{write} batch', r.out)
    t.match(rf'^  changed by #{fetch} fetch<<<.*, which was kept back until then$', r.out)
    t.match(rf'^#{fetch} fetch<<<', r.out, 'who wrote')
    t.match(r'^#\d+ fill 8192 bytes', r.out, 'before the write that lets it go')


def test_kept_back_launch_is_checked(t):
    """A launch that does not run at its own place is executed several times where it runs, as every other."""
    for word, options in ('stream', []), ('stream', ['--thorough']), ('pingpong', []), ('pingpong', ['--perturb']), ('bare', []):
        t.record('value_waits', word)
        launches = len(re.findall(r'^#\d+ (?:put|fetch)<<<', t.tsdb('view', 't.sbt').out, re.M))
        r = t.tsdb('check', 't.sbt', '3', *options)
        t.equal(r.status, 0, word)
        t.match(rf'^{launches} launches of ', r.out)
        t.no_match('not checked', r.out)
        one = json.loads(t.tsdb('check', 't.sbt', '3', '--json', *options).out)[0]
        t.equal((one['checked'], one['kept_back']), (launches, 0), f'--json of {word}')
    recorded(t, 'value_waits', 'clock')
    for options in [], ['--thorough'], ['--perturb']:
        r = t.tsdb('check', 't.sbt', '3', *options)
        t.equal(r.status, 3, 'clock')
        t.equal(re.findall(r'^  (#\d+ \w+)<<<', r.out, re.M), [f"#{find(t, 'tick<<<')} tick"], 'the one between the two others')
        t.equal(t.tsdb('replay', 't.sbt').status, 3, 'the time is another one')


def test_value_wait_that_is_missing(t):
    """The same without the wait is a race; one of two writes leaves it open, so nothing is certain."""
    t.record('value_waits', 'bare')
    r = t.tsdb('races', 't.sbt')
    t.equal(r.status, 3, 'races of bare')
    t.match(rf"^Race 1 \(certain\): #{find(t, 'fetch<<<')} and #{find(t, 'put<<<')} both touch 4096 bytes", r.out)
    t.equal(t.tsdb('explore', 't.sbt').status, 3, 'explore of bare')
    t.record('value_waits', 'third')
    r = t.tsdb('races', 't.sbt')
    t.equal(r.status, 3, 'races of third')
    t.match(r'^Race 1 \(certain\): #\d+ and #\d+ both touch 4096 bytes', r.out)
    t.match(r'more<<<', r.out)
    t.no_match(r'^Race 2', r.out, 'the other two are ordered')
    for word in 'either', 'kernel':
        t.record('value_waits', word)
        t.equal(t.tsdb('races', 't.sbt').status, 0, f'races of {word}')
        r = t.tsdb('races', '--possible', 't.sbt')
        t.match(r'^Race \d \(possible\): ', r.out)
        t.match(r'^    A stream waited for a value in memory before one of them, and which write that was is not known: it may order them$', r.out)


def test_flag_that_a_copy_sets(t):
    """Cleared by a copy from the host, or set by a copy: the order is as certain as with a stream's write, and so is a race beside it."""
    for word in 'copied', 'set_by_copy':
        recorded(t, 'value_waits', word)
        r = t.tsdb('races', '--possible', 't.sbt')
        t.equal(r.status, 0, word)
        t.match(r'^No races in \d+ commands\.$', r.out, word)
        t.equal(t.tsdb('explore', 't.sbt').status, 0, word)
        t.equal(t.tsdb('replay', 't.sbt').status, 0, word)
    t.record('value_waits', 'copied_third')
    r = t.tsdb('races', '--possible', 't.sbt')
    t.equal(r.status, 3, 'copied_third')
    t.match(rf"^Race 1 \(certain\): #{find(t, 'more<<<')} and #{find(t, 'fetch<<<', which=-1)} both touch 4096 bytes", r.out)
    t.no_match(r'^Race 2', r.out)


def test_value_waits_in_a_circle(t):
    """The host broke the circle, which no record shows: the replay goes on and says so."""
    recorded(t, 'value_waits', 'circle')
    r = t.tsdb('replay', 't.sbt')
    t.match(r'^  #\d+ waits for a value that nothing wrote in this replay: it went on when the program knew that the wait was over$', r.out)
    for tool in 'races', 'explore':
        t.equal(t.tsdb(tool, 't.sbt').status, 0, tool)


def copied_out(t):
    return int(re.search(r'copy d2h \d+ bytes 0x([0-9a-f]+) ', t.tsdb('view', 't.sbt').out)[1], 16)


def flipped(kernel, at=0):
    """A bit of what that kernel's last launch wrote to what is copied out is wrong, each time."""
    return lambda t: {'TSDB_REPLAYER_FLIP': f'{find(t, kernel + "<<<", which=-1)}:{copied_out(t) + at:x}'}


def test_verdict_is_not_the_innocent_one(t):
    """Something that could be taken for the cause is close by, and is not named."""
    race = r'a race \(certain\), see #\d+ and #\d+'
    v = verdict_case(t, 'raced', 'race', race)
    t.match(rf"^    #{v['seq']} put<<<\(4,1,1\).*\n    #{v['with']} fetch<<<\(4,1,1\)", v['text'], 'raced: the input of a kernel that is the same every time')
    v = verdict_case(t, 'both', 'race', race)
    t.match('fetch_and_tick<<<', v['text'], 'both: what the clock changes is elsewhere')
    v = verdict_case(t, 'used', 'not_deterministic', r'#\d+ is not deterministic')
    t.match('tick<<<', v['text'], 'used: the host wrote before')
    exact = t.gpu == 'soft'  # a real GPU adds floats in another order each time
    for word in ('stale', 'unwritten', *(['floats'] if exact else []), 'idle', 'shared', 'before'):
        out, v, _ = verdict_of(t, word, status=0)
        t.equal(v, None, f'{word} is as recorded')
        t.no_match('Why', out)
    if not exact:  # and has no kernels that can be told to compute something else
        return
    device = r'^Why: the device disagrees with the recording\.'
    for word, kernel in ('idle', 'slow'), ('before', 'fetch'), ('sum', 'slow'):
        out, v, _ = verdict_of(t, word, env=flipped(kernel, 16))
        t.equal((v['kind'], v['seq']), ('device', find(t, kernel + '<<<', which=-1)), f'{word}, and a device that computes something else')
        t.match(device, out)
    out, v, _ = verdict_of(t, 'shared', env=flipped('fetch', 16))
    t.equal((v['kind'], v['seq']), ('open', find(t, r'copy h2d \d+ bytes')), 'shared')
    t.match(r'^Why: that could not be found out\. #\d+ touches memory that the program and the device share, 0x', out)
    for word in 'stale', 'unwritten':
        out, v, _ = verdict_of(t, word, env=flipped('fetch', 16))
        t.equal((v['kind'], v['seq']), ('unwritten', find(t, 'fetch<<<')), word)
        t.match(r'^Why: #\d+ reads memory that nobody wrote, 0x[0-9a-f]+ of the allocation #\d+ at .*: what lay there in the recording is not in the trace\.$', out)
    out, v, _ = verdict_of(t, 'unwritten', 'fixed', env=flipped('fetch', 16))
    t.equal(v['kind'], 'device', 'unwritten, and then written')
    out, v, _ = verdict_of(t, 'floats', env=flipped('add_floats'))
    t.equal(v['kind'], 'not_deterministic', 'sums in another order')
    t.match(r'^Why: #\d+ may give other bytes than it did\. Executed again as it is here it does not', out)
    out, v, _ = verdict_of(t, 'floats', 'fixed', env=flipped('add_floats'))
    t.equal(v['kind'], 'device', 'sums that are the same in any order')
    out, v, _ = verdict_of(t, 'limit', env=flipped('add_floats'))
    t.equal((v['kind'], v['seq']), ('not_deterministic', find(t, 'add_floats<<<')), 'sums in another order, behind a call that is not executed again')
    out, v, _ = verdict_of(t, 'limited', env=flipped('slow'))
    t.equal((v['kind'], v['seq']), ('device', find(t, 'slow<<<', which=-1)), 'a call that is not executed again, and touches nothing')
    out, v, _ = verdict_of(t, 'elsewhere', env=flipped('slow', 16))
    t.equal((v['kind'], v['seq']), ('not_executed', find(t, 'unreplayable "cuCtxAttach"')), 'memory that no command writes')
    verdict_case(t, 'node', 'not_executed', r'a call that is not executed again: #\d+ a host function\.')


def test_verdict_of_what_was_kept_back(t):
    """The device computes something else in a launch that was kept back: it is executed several times, as every other, and gives the same bytes."""
    recorded(t, 'value_waits', 'stream')
    y = int(re.search(r'copy d2h 4096 bytes 0x([0-9a-f]+) ', t.tsdb('view', 't.sbt').out)[1], 16)
    fetch = find(t, 'fetch<<<')
    env = {'TSDB_REPLAYER_FLIP': f'{fetch}:{y + 16:x}'}
    v = json.loads(t.tsdb('replay', '--json', 't.sbt', env=env).out)['windows'][0]['verdict']
    t.equal((v['kind'], v['seq']), ('device', fetch), 'verdict')
    t.record('value_waits', 'clock')
    out = t.tsdb('replay', '--json', 't.sbt', env={'TSDB_REPLAYER_FLIP': f"{find(t, 'tick<<<')}:{y + 16:x}"}).out
    t.equal(json.loads(out)['windows'][0]['verdict']['kind'], 'not_deterministic', 'a clock that was kept back')


def test_verdict_host(t):
    verdict_case(t, 'host', 'host_wrote', r'memory that the host wrote meanwhile\. What #\d+ copied lies on the device as recorded; ')


def broken_device(t):
    """From the second launch on a bit of what it wrote is wrong, each time."""
    addr = re.search(r'copy d2h 4096 bytes 0x([0-9a-f]+) ', t.tsdb('view', 't.sbt').out)[1]
    return {'TSDB_REPLAYER_FLIP': f"{find(t, 'slow<<<', which=1)}:{int(addr, 16) + 16:x}"}


def test_verdict_device(t):
    v = verdict_case(t, 'sum', 'device', r'the device disagrees with the recording\. #\d+ is the last command that writes to 0x[0-9a-f]+; executed again', broken_device)
    t.equal(v['seq'], find(t, 'slow<<<', which=1), 'the command')
    t.match(r'A fault of the hardware may', v['text'])


def test_verdict_half(t):
    """A launch is not deterministic, and something else of what it writes differs: it is named, and not the device, as soon as nothing else explains it."""
    out, v, _ = verdict_of(t, 'half', env=lambda t: {'TSDB_REPLAYER_FLIP': f"{find(t, 'tick_and_put<<<')}:{copied_out(t) + 16:x}"})
    t.equal((v['kind'], v['seq']), ('not_deterministic', find(t, 'tick_and_put<<<')), 'the launch')
    t.match(r'^Why: #\d+ is not deterministic\.', out)
    out, v, _ = verdict_of(t, 'half', 'fixed', env=lambda t: {'TSDB_REPLAYER_FLIP': f"{find(t, 'tick_and_put<<<')}:{copied_out(t) + 16:x}"})
    t.equal(v['kind'], 'device', 'the same launch, deterministic')


def output_of(t, case, options=()):
    """The line about outputs of a replay of host_outputs, which must verify."""
    t.equal(t.record('host_outputs', case, options=options).status, 0, case)
    r = t.tsdb('replay', '--on', t.gpu, 't.sbt')
    t.equal(r.status, 0, f'{case}: {r.out}{r.err}')
    t.match('^Verified', r.out, case)
    a = json.loads(t.tsdb('replay', '--on', t.gpu, '--json', 't.sbt').out)
    w = (a['windows'] if isinstance(a, dict) else a)[0]
    return w['outputs'], w['outputs_identical'], w['outputs_unchecked'], t.match(r', (\d+ of \d+ outputs identical.*)$', r.out)[1]


def test_copies_whose_destination_is_freed_before_a_wait(t):
    for case in 'freed', 'freed-twin', 'freed-by-event', 'freed-by-event-twin', 'freed-under-way', 'freed-under-way-twin':
        t.equal(output_of(t, case), (1, 1, 0, '1 of 1 outputs identical'), case)


def test_copies_whose_destination_a_host_function_changes(t):
    """In the copy's stream they are looked at first. Elsewhere, and in a graph, a difference may be the function's: that output is not compared."""
    unknown = 'not compared: the recording could not look in time at what #'
    for case in 'changed', 'changed-twin', 'changed-by-event-twin':
        t.equal(output_of(t, case), (1, 1, 0, '1 of 1 outputs identical'), case)
    t.equal(output_of(t, 'graph-twin')[:3], (2, 2, 0), 'graph-twin')
    for case, n, tail in ('changed-by-event', 1, r''), ('graph', 2, ', and others'):
        got = output_of(t, case)
        t.equal(got[:3], (n, 0, n), case)
        t.check(re.fullmatch(rf'0 of {n} outputs identical \({n} {unknown}\d+ delivered{tail}\)', got[3]), f'{case}: {got[3]}')


def test_one_copy_whose_destination_cannot_be_read_costs_one_comparison(t):
    for options in (), ('--outputs', 'full'):
        t.equal(output_of(t, 'hidden-twin', options)[:3], (1, 1, 0), 'hidden-twin')
        t.equal(output_of(t, 'hidden', options)[:3], (1, 0, 1), 'hidden')
    t.equal(output_of(t, 'nothing-left-twin')[:3], (1, 1, 0), 'nothing-left-twin')
    t.equal(t.record('host_outputs', 'nothing-left').status, 0, 'nothing-left')
    r = t.tsdb('replay', '--on', t.gpu, 't.sbt')
    t.equal(r.status, 0, 'nothing-left: what was freed is compared')
    t.match(r'^0 of 0 allocations identical, 0 of 1 outputs identical \(1 not compared: the recording could not look in time at what #\d+ delivered\)$', r.out)
    t.match(r'^3 of 3 freed allocations identical$', r.out)


def test_gpu_and_on_are_one_option(t):
    recorded(t, 'vecadd', options=['--on', t.gpu])
    for words in (['replay', '--gpu', t.gpu, 't.sbt'], ['replay', '--gpu=' + t.gpu, 't.sbt'], ['replay', 't.sbt', '--on=' + t.gpu],
                  ['check', 't.sbt', '--gpu', t.gpu], ['--on', t.gpu, '--batch', '-ex', 'replay start t.sbt --gpu ' + t.gpu]):
        r = t.tsdb(*words)
        t.equal((r.status, r.err), (0, ''), ' '.join(words))
    t.sentence(t.tsdb('replay', '--gpu', 'vga', 't.sbt'), 'vga')


def test_finish_in_a_replay(t):
    """At a command, outside launches: the work that is submitted on its stream is done, and on no other."""
    recorded(t)
    launch = find(t, 'scale<<<', which=2)
    r = shell(t, f'goto {launch}', 'finish', 'info streams', 'thread 1', 'goto begin', 'finish', status=1)
    t.match(rf'^#{launch} has finished; at #{launch} scale<<<', r.out)
    t.match(r'^ +1 +\d+ +non-blocking +Idle +- +0 .*\n +2 +\d+ +non-blocking +Running', r.out)
    t.match(r'a replay has no thread to select', r.err)
    t.match(r'the replay is not at a command of a stream\. Use "finish stream N"', r.err)
