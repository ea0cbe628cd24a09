# SPDX-License-Identifier: Apache-2.0
"""libtracesmith against tsdb: both tell the same of a recorded program."""
import ctypes
import json
import os

from e2e import BUILD, SRC, Skip, first_existing


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
