# SPDX-License-Identifier: Apache-2.0
"""libtracesmith against tsdb, and the examples of the library's areas: both tell the same of a recorded program."""
import ctypes
import json
import os

from e2e import BUILD, SRC, Skip, first_existing, program


class Value(ctypes.Structure):
    _fields_ = [('type', ctypes.c_int), ('number', ctypes.c_uint64), ('data', ctypes.c_void_p), ('size', ctypes.c_size_t)]


class Frame(ctypes.Structure):
    _fields_ = [('function', ctypes.c_char_p), ('file', ctypes.c_char_p), ('module', ctypes.c_char_p), ('offset', ctypes.c_uint64),
                ('line', ctypes.c_uint), ('inlined', ctypes.c_int), ('python', ctypes.c_int)]


UNSIGNED, SIGNED, NAME, TEXT, BYTES = range(5)
NO_ID = 0xffffffff


def library():
    path = first_existing(os.path.join(BUILD, 'libtracesmith.so.0'), os.path.join(BUILD, 'lib', 'libtracesmith.so.0'))
    if not path:
        raise Skip('libtracesmith is not there')
    lib = ctypes.CDLL(path)
    lib.ts_error.restype = lib.ts_kind.restype = lib.ts_text.restype = lib.ts_kernel.restype = ctypes.c_char_p
    lib.ts_seq.restype = ctypes.c_uint64
    return lib


def told(value):
    """A value as `tsdb view --json` may have it: the readings that are right for its type."""
    if value.type in (TEXT, BYTES):
        raw = ctypes.string_at(value.data, value.size) if value.size else b''
        return {raw.decode(errors='replace') if value.type == TEXT else raw.hex()}
    if value.type == NAME and value.data:
        return {ctypes.string_at(value.data).decode()}
    n = value.number
    if value.type == SIGNED:
        return {n - (1 << 64) if n >> 63 else n}
    return {n, hex(n), bool(n)} | ({None} if n == NO_ID else set())


def commands(t, lib, name):
    trace, cursor = ctypes.c_void_p(), ctypes.c_void_p()
    t.equal(lib.ts_open(ctypes.byref(trace), os.fsencode(t.path(name))), 0, 'ts_open')
    t.equal(lib.ts_cursor_open(ctypes.byref(cursor), trace, ctypes.c_uint64(0)), 0, 'ts_cursor_open')
    while lib.ts_next(cursor) == 0:
        yield trace, cursor
    lib.ts_cursor_close(cursor)
    lib.ts_close(trace)


def test_every_field_is_what_tsdb_tells(t):
    lib = library()
    t.record('pipeline')
    want = [json.loads(line) for line in t.tsdb('view', '--json', 't.sbt').out.splitlines()]
    seen = 0
    for (trace, cursor), c in zip(commands(t, lib, 't.sbt'), want):
        t.equal(lib.ts_seq(cursor), c['seq'], 'seq')
        t.equal(lib.ts_kind(cursor).decode(), c['kind'], 'kind')
        for name, expected in c.items():
            v = Value()
            if name == 'kind' or (c['kind'] == 'launch' and name == 'kernel_name'):
                continue
            t.equal(lib.ts_field(cursor, name.encode(), ctypes.byref(v)), 0, f'{c["kind"]}.{name}')
            t.check(expected in told(v), f'{c["kind"]}.{name} of #{c["seq"]}: {told(v)}, not {expected!r}')
        if c['kind'] == 'launch':
            t.check(c['kernel_name'] in lib.ts_kernel(trace, ctypes.c_uint64(c['kernel'])).decode(), 'kernel')
        seen += 1
    t.equal(seen, len(want), 'commands')
    t.check(seen > 50, 'commands')


def test_stacks_have_names_and_lines(t):
    lib = library()
    t.record('vecadd')
    lines = []
    for _, cursor in commands(t, lib, 't.sbt'):
        frames, n = ctypes.POINTER(Frame)(), ctypes.c_size_t()
        t.equal(lib.ts_stack(cursor, ctypes.byref(frames), ctypes.byref(n)), 0, 'ts_stack')
        stack = [frames[i] for i in range(n.value)]
        if lib.ts_kind(cursor) in (b'copy', b'free'):
            t.equal(stack[-1].function, b'main', 'outermost frame')
            t.check(stack[-1].file.endswith(b'vecadd.cu'), stack[-1].file)
            lines.append(stack[-1].line)
    with open(os.path.join(SRC, 'examples', 'vecadd.cu'), encoding='utf-8') as f:
        source = f.read().splitlines()
    t.equal(len(lines), 6, 'copies and frees')
    for line in lines[:3]:
        t.match('cudaMemcpy', source[line - 1])
    for line in lines[3:]:
        t.match('cudaFree', source[line - 1])


# --- examples, as C and as C++ ---

def example(t, name, *words):
    """What an example prints, compiled both ways; its status is the same, too."""
    path, found = first_existing(os.path.join(BUILD, 'libtracesmith.so.0')), []
    header = os.path.join(SRC, 'include')
    if not path or not os.path.isdir(header):
        raise Skip('libtracesmith or its header is not there')
    for compiler, language in (('cc', 'c'), ('c++', 'c++')):
        if t.run(['sh', '-c', f'command -v {compiler}']).status:
            raise Skip(f'no {compiler}')
        if not os.path.exists(t.path(f'{name}.{language}')):
            r = t.run([compiler, '-Wall', '-Wextra', '-Werror', f'-I{header}', '-x', language, os.path.join(SRC, 'examples', f'{name}.c'),
                       '-x', 'none', path, f'-Wl,-rpath,{BUILD}', '-o', t.path(f'{name}.{language}')])
            t.equal(r.status, 0, f'{compiler} {name}.c: {r.err}')
        r = t.run([t.path(f'{name}.{language}'), *words])
        found.append((r.status, r.out, r.err))
    t.equal(found[0], found[1], f'{name} as C and as C++')
    return found[0]


def test_example_of_states(t):
    t.record('race_demo')
    status, out, err = example(t, 'trace_state', 't.sbt', '21', 'events')
    t.equal((status, err), (0, ''), 'trace_state')
    lines = out.splitlines()
    t.equal(lines[:3], ['21 commands, 2 launches, 2 fills', '8192 bytes in 2 allocations', 'stream 0: Idle, 0 pending'], 'by hand, from race_demo.cu')
    want = json.loads(t.tsdb('--batch', 't.sbt', '-ex', 'replay start none', '-ex', 'goto 21', '-ex', 'state show --json').out.splitlines()[-1])
    t.equal(lines[2:5], [f'stream {s["id"]}: {s["status"]}, {s["pending"]} pending' for s in want['stream_list']], 'streams')
    t.equal(json.loads('\n'.join(lines[5:])), want['event_list'], 'events')
    status, _, err = example(t, 'trace_state', 't.sbt', '21', 'dragons')
    t.equal(status, 1, 'objects that there are not')
    t.match('dragons', err)


def test_example_of_order(t):
    t.record('race_demo', options=['--timestamps'])
    status, out, err = example(t, 'trace_order', 't.sbt', '18', '21')
    t.equal((status, err), (0, ''), 'trace_order')
    lines = out.splitlines()
    t.equal(lines[:4], ['races: 1', 'certain: #18 and #21, 4096 bytes',
                        '  missing: cuStreamWaitEvent on stream 2 before #21, for an event recorded on stream 1 after #18',
                        'not ordered: #21 may begin before #18 has finished: it waits for nothing of stream 1'], 'the race')
    path = json.loads(t.tsdb('--batch', 't.sbt', '-ex', 'info critical-path --json').out)
    t.equal(lines[4:], [f'critical path: {path["length_ns"]} ns'] + [f'  {p["path_ns"]} ns {p["part"]}: {p["name"]}' for p in path['part_list'][:3]], 'the path')


def test_example_of_comparison(t):
    t.record('race_demo', out='racy.sbt')
    t.record('race_demo', 'fixed', out='fixed.sbt')
    status, out, err = example(t, 'trace_diff', 'racy.sbt', 'fixed.sbt')
    t.equal((status, err), (3, ''), 'two that differ')
    lines = out.splitlines()
    t.equal(lines[0], '55 and 65 commands, 55 in both', 'ten waits are more')
    t.equal((lines[1::3], lines[2::3]), (['wait_added'] * 10, ['  a: nothing'] * 10), 'each is one that the fixed one has')
    t.check(all(x.startswith('  b: #') and x.endswith(' stream_wait event 0 stream 2') for x in lines[3::3]), lines[3::3])
    t.equal(example(t, 'trace_diff', 'racy.sbt', 'racy.sbt'), (0, '55 and 55 commands, 55 in both\n', ''), 'one and itself')
    status, out, err = example(t, 'trace_diff', 'racy.sbt', '/nowhere.sbt')
    t.equal((status, out), (1, ''), 'none')
    t.match('/nowhere.sbt', err)


def test_example_of_recording(t):
    t.need_soft()
    status, out, err = example(t, 'record_run', 'made.sbt', 'kernel consume', program('race_demo'), 'fixed')
    t.equal((status, err), (0, ''), 'record_run')
    commands = len(t.tsdb('view', '--json', 'made.sbt').out.splitlines())
    t.equal(out, f'race_demo: ok\nfirst stop: breakpoint\nexited: 0\n{commands} commands, 2 of 2 allocations identical\n', 'the run')
    status, out, err = example(t, 'record_run', 'none.sbt', 'kernel nobody', program('exit_code'), '7')
    t.match('^first stop: exited\nexited: 7$', out, 'a breakpoint that is not reached')


def test_example_of_a_writer(t):
    t.equal(example(t, 'trace_writer', 'made.sbt'), (0, '10 commands in made.sbt\n', ''), 'trace_writer')
    t.match(r'#7 produce<<<\(64,1,1\),\(256,1,1\)>>> stream 1\n.*\n.*\n#10 consume<<<\(64,1,1\),\(256,1,1\)>>> stream 2\n$', t.tsdb('view', 'made.sbt').out)
    t.equal(example(t, 'trace_order', 'made.sbt', '7', '10'), (0, 'races: 0\nordered: stream order to #8, event wait to #9, stream order to #10\n', ''),
            'the order that it wrote')
    status, out, _ = example(t, 'trace_state', 'made.sbt', '10', 'streams')
    t.match(r'^stream 1: \w+, 2 pending\nstream 2: Waiting, 2 pending$', out)
