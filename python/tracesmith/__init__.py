# SPDX-License-Identifier: Apache-2.0
"""Traces of GPU commands (.sbt), as tsdb records them.

    import tracesmith as ts
    with ts.open("app.sbt") as t:
        print(t, t[41].kernel, t[41].stack[0].file, t[41].args)
        for c in t.commands(kind="launch", kernel="matmul*", stream=2):
            print(c.seq, c.gpu_ns)
        frame = pandas.DataFrame(t.columns("seq", "kernel", "stream", "gpu_ns"))
        print(t.state(41).streams[2].status)

Times are nanoseconds (`*_ns`; those of the host and of the GPU's starts and ends are CLOCK_REALTIME),
sizes are bytes. Whatever a trace cannot give raises Error, which says why and, in `cure`, what to do.
A trace may be used by several threads; long reads let other threads run. Commands and columns stay
valid after their trace is closed; what they would have to read then raises ValueError.
"""
import json as _json
import struct as _struct
from collections.abc import Mapping as _Mapping, Sequence as _Sequence

from . import _core
from ._core import Error
from .inside import Range, active, mark, span, trigger, window
from .sessions import Memory, Object, Program, Replay, Rows, Session, Stop, answer as _answer, diff, launch
from .show import clean as _clean, table as _table_html

__all__ = ['open', 'Trace', 'Command', 'Frame', 'Args', 'Columns', 'TextColumn', 'State', 'Table', 'Row', 'Error', 'MISSING',
           'MISSING_SIGNED', 'NO_ID', 'Order', 'Session', 'Replay', 'Program', 'Stop', 'Memory', 'Object', 'Rows', 'launch', 'diff', 'mark', 'span', 'window', 'trigger', 'active', 'Range', 'kinds', 'fields', 'version']

MISSING = 2**64 - 1
"""In a column of unsigned numbers: the command has no such field, or it is not known."""
MISSING_SIGNED = -2**63
"""The same in a column of signed numbers."""
NO_ID = 2**32 - 1
"""In a field that holds the number of an object (stream, event, context ...): none."""

_ANY = MISSING


def open(path):  # pylint: disable=redefined-builtin
    """Opens a trace. Raises Error if it cannot be read; a damaged one opens if a part is whole (Trace.damage)."""
    return Trace(path)


def version():
    """The version of libtracesmith."""
    return _core.version()


def kinds():
    """The names of the kinds of commands."""
    return _core.kinds()


def fields(kind=''):
    """What commands of a kind have: {name: what it is}. Without a kind, what all commands have."""
    if kind and kind not in _core.kinds():
        raise ValueError(f'there is no kind of commands called {kind!r}')
    return dict(_core.fields(kind))


class Frame:
    """One frame of a host stack: function, file, module (texts or None), offset (ELF virtual address of the call, 0 for Python),
    line (0: not known), inlined, python."""
    __slots__ = ('function', 'file', 'module', 'offset', 'line', 'inlined', 'python')

    def __init__(self, function, file, module, offset, line, inlined, python):
        self.function, self.file, self.module, self.offset = function, file, module, offset
        self.line, self.inlined, self.python = line, inlined, python

    def __repr__(self):
        where = f' at {_clean(self.file)}:{self.line}' if self.file else f' in {_clean(self.module)}' if self.module else ''
        return f'<{_clean(self.function or hex(self.offset))}{where}>'


_UNSIGNED, _SIGNED, _FLOAT, _POINTER = 1, 2, 3, 4
_FLOATS = {2: '<e', 4: '<f', 8: '<d'}


def _arg_value(is_, data):
    """The argument as a number where its type says so, else its bytes; None: it was not recorded."""
    if data is None:
        return None
    if is_ in (_UNSIGNED, _SIGNED, _POINTER) and len(data) <= 8:
        return int.from_bytes(data, 'little', signed=is_ == _SIGNED)
    if is_ == _FLOAT and len(data) in _FLOATS:
        return _struct.unpack(_FLOATS[len(data)], data)[0]
    return data


class Args(dict):
    """Arguments of a launch by name, or "arg0", "arg1" ... where names are not known; args[0] is the first one. A pointer is
    its address; what has no known type of a number is bytes. types: {name: C++ type or None}."""

    def __init__(self, rows):
        super().__init__()
        self.types = {}
        for i, (name, type_, is_, data) in enumerate(rows):
            key = name if name and name not in self else f'arg{i}'
            self[key] = _arg_value(is_, data)
            self.types[key] = type_

    def __missing__(self, key):
        if isinstance(key, int):
            try:
                return list(self.values())[key]
            except IndexError:
                raise IndexError(f'there are {len(self)} arguments') from None
        raise KeyError(key)


class Command:
    """A command: attributes are the fields of its kind (tracesmith.fields(c.kind)), and

    kernel: the name without template arguments, of what runs a kernel; kernel_id: its number.
    mangled: the kernel's mangled name. gpu_ns: nanoseconds on the GPU; None: not known.
    args: Args of a launch. stack: [Frame], innermost first; [] when none was recorded.
    """
    __slots__ = ('_trace', 'seq', 'kind', '_fields')

    def __init__(self, trace, seq, kind, values):
        self._trace, self.seq, self.kind, self._fields = trace, seq, kind, values

    def __getattr__(self, name):
        if name.startswith('__'):
            raise AttributeError(name)
        if name == 'kernel_id' and 'kernel' in self._fields:
            return self._fields['kernel']
        if name == 'kernel' and 'kernel' in self._fields:
            return self._fields.get('kernel_name')
        try:
            return self._fields[name]
        except KeyError:
            raise AttributeError(f'a command of the kind {self.kind} has no field {name!r}') from None

    def __dir__(self):
        return sorted({*super().__dir__(), *self._fields})

    @property
    def fields(self):
        """All fields, {name: value}."""
        return dict(self._fields)

    @property
    def gpu_ns(self):
        """Nanoseconds on the GPU; None: not known."""
        start, end = self._fields['gpu_start_ns'], self._fields['gpu_end_ns']
        return end - start if start and end >= start else None

    @property
    def mangled(self):
        """The kernel's mangled name; None: it runs none, or it is not known."""
        return self._trace._core.kernel(self._fields['kernel']) if 'kernel' in self._fields else None  # pylint: disable=protected-access

    @property
    def args(self):
        """The arguments, of a launch; else there are none."""
        return Args(self._trace._at(self.seq).args() if self.kind == 'launch' else [])  # pylint: disable=protected-access

    @property
    def stack(self):
        """The host stack that it was called from, innermost first."""
        return [Frame(*f) for f in self._trace._at(self.seq).stack()]  # pylint: disable=protected-access

    @property
    def grid(self):
        """(x, y, z), of a launch."""
        return tuple(getattr(self, f'grid_{a}') for a in 'xyz')

    @property
    def block(self):
        """(x, y, z), of a launch."""
        return tuple(getattr(self, f'block_{a}') for a in 'xyz')

    def __eq__(self, other):
        if not isinstance(other, Command):
            return NotImplemented
        return (self.seq, self.kind, self._fields) == (other.seq, other.kind, other._fields)

    def __hash__(self):
        return hash((self.seq, self.kind))

    def _what(self):
        if self.kind == 'launch':
            shape = ','.join(map(str, self.grid)), ','.join(map(str, self.block))
            return f'{_clean(self.kernel or "kernel " + str(self.kernel_id))}<<<({shape[0]}),({shape[1]})>>>'
        return self.kind

    def __repr__(self):
        stream = self._fields.get('stream', NO_ID)
        return f'<#{self.seq} {self._what()}' + ('' if stream == NO_ID else f' stream {stream}') + '>'

    def _repr_html_(self):
        return _table_html(f'#{self.seq} {self._what()}', ('field', 'value'), self._fields.items())


class TextColumn(_Sequence):
    """A column of texts: `codes`, a buffer of int64, has for each row an index into `texts`, or -1 for none (None when the
    row is asked for). pandas.Categorical.from_codes(numpy.asarray(c.codes), c.texts) takes both as they are."""

    def __init__(self, codes, texts):
        self.codes, self.texts = codes, texts

    def __len__(self):
        return len(self.codes)

    def __getitem__(self, i):
        if isinstance(i, slice):
            return [self[j] for j in range(*i.indices(len(self)))]
        code = self.codes[i]
        return None if code < 0 else self.texts[code]

    def __array__(self, dtype=None, copy=None):
        import numpy  # pylint: disable=import-outside-toplevel
        texts = numpy.empty(len(self.texts) + 1, dtype=object)
        texts[:-1], texts[-1] = self.texts, None  # code -1 is the last one
        return texts[numpy.asarray(self.codes)]

    def __repr__(self):
        return f'<{len(self)} texts, {len(self.texts)} different>'


class Columns(dict):
    """{name: column}, all of one length, in the order of the request. A column of numbers is a read-only buffer of 64-bit
    integers (uint64, of signed fields int64): numpy.asarray(column) and memoryview(column) share its memory. One of texts is a
    TextColumn. pandas.DataFrame(columns) works. `rows`: how many commands."""
    rows = 0

    def __repr__(self):
        return f'<{self.rows} rows of {", ".join(self)}>'

    def _repr_html_(self):
        shown = range(min(self.rows, 20))
        return _table_html(f'{self.rows} rows', self, ([c[i] for c in self.values()] for i in shown))


_HEX = ('addr', 'handle', 'code_hash')


class Row:
    """An object of a state: its attributes are those of docs/json.md; addresses and handles are numbers."""

    def __init__(self, values):
        self.__dict__.update((k, int(v, 16) if k in _HEX and v else v) for k, v in values.items())

    def __repr__(self):
        return '<' + ' '.join(f'{k}={hex(v) if k in _HEX and v is not None else _clean(v)}' for k, v in self.__dict__.items()) + '>'

    def _repr_html_(self):
        return _table_html('', ('name', 'value'), self.__dict__.items())


class Table(_Mapping):
    """Objects of a state by number (allocations: by address). Iterating gives the numbers, values() the objects."""

    def __init__(self, name, rows, key):
        self._name = name
        self._rows = {key(r): r for r in map(Row, rows)}

    def __getitem__(self, number):
        return self._rows[number]

    def __iter__(self):
        return iter(self._rows)

    def __len__(self):
        return len(self._rows)

    def __repr__(self):
        return f'<{len(self)} {self._name}>'

    def _repr_html_(self):
        rows = [r.__dict__ for r in self._rows.values()]
        names = list(rows[0]) if rows else []
        return _table_html(f'{len(rows)} {self._name}', names, ([r.get(n) for n in names] for r in rows))


def _number(row):
    return next(iter(row.__dict__.values()))


def _address(row):
    return row.addr


class State:
    """The GPU's state right after command `seq` was called: streams, events, contexts, modules, kernels, graphs, devices and
    threads are Tables by number, allocations one by address; they stay valid for ever."""

    def __init__(self, core, seq):
        self._core, self.seq, self._made = core, seq, {}

    def __getattr__(self, name):
        if name not in ('streams', 'events', 'contexts', 'modules', 'kernels', 'allocations', 'graphs', 'devices', 'threads'):
            raise AttributeError(f'a state has no {name!r}')
        if name not in self._made:
            rows = _json.loads(self._core.json(name))
            self._made[name] = Table(name, rows, _address if name == 'allocations' else _number)
        return self._made[name]

    def allocation_at(self, address):
        """The live allocation that holds the address; None: none does."""
        for start, a in self.allocations.items():
            if start <= address < start + a.size:
                return a
        return None

    def __repr__(self):
        return f'<state at #{self.seq}: {len(self.streams)} streams, {len(self.events)} events, {len(self.allocations)} allocations>'

    def _repr_html_(self):
        return f'<p>State at #{self.seq}</p>' + ''.join(
            getattr(self, n)._repr_html_() for n in ('streams', 'events', 'allocations'))  # pylint: disable=protected-access


# What users call it, and what libtracesmith does.
_COLUMNS = {'kind': 'kind_name', 'kind_number': 'kind', 'kernel': 'kernel_name', 'kernel_id': 'kernel'}
_TEXTS = ('program', 'cwd', 'host', 'gpu', 'tsdb')
_NUMBERS = ('commands', 'first_seq', 'last_seq', 'lost', 'bytes', 'start_ns', 'pid')
_FLAGS = ('soft', 'stacks', 'timestamps', 'observed')


def _seq(number):
    """A seq for C: what lies outside is cut to the nearest."""
    return min(max(int(number), 0), MISSING)


class Order:
    """What a trace's program ordered."""

    def __init__(self, trace):
        self._trace = trace

    def why(self, a, b):
        """Whether command a is finished before b begins: ordered, path, and text if it is not."""
        return _answer(self._trace._core.why(_seq(a), _seq(b)))  # pylint: disable=protected-access


class Trace:
    """An open trace. len() is its number of commands; t[41] is command #41, t[-1] the last one, t[10:20] a list of #10 to #19
    (slices have a step of 1); iterating gives all commands. A context manager: it is closed at the end of `with`.

    Also the entries of `meta` are attributes: t.program, t.gpu, t.last_seq ..."""

    def __init__(self, path):
        self._core = _core.open(path)
        self.path = path
        self._meta = {n: self._core.text(n) for n in _TEXTS} | {n: self._core.number(n) for n in _NUMBERS}
        self._meta |= {n: bool(self._core.number(n)) for n in _FLAGS}
        for name in ('rank', 'ranks'):
            n = self._core.number(name)
            self._meta[name] = None if n == MISSING else n

    def close(self):
        """Closes it; again is fine. States, columns and fields of commands stay valid."""
        self._core.close()

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.close()

    @property
    def meta(self):
        """What the trace says of itself: program, cwd, host, gpu, tsdb (texts); commands, first_seq, last_seq, lost (records),
        bytes, start_ns, pid; rank, ranks (None: not known); soft, stacks, timestamps, observed (bools)."""
        return dict(self._meta)

    def __getattr__(self, name):
        if name != '_meta' and name in self._meta:
            return self._meta[name]
        raise AttributeError(f'a trace has no {name!r}')

    @property
    def damage(self):
        """What is damaged or missing, sentences; None: nothing that was read so far."""
        return self._core.text('damage')

    def __len__(self):
        return self._meta['commands']

    def _cursor(self, first=0, kind=None, kernel=None, stream=None, condition=None, last=MISSING):
        return self._core.cursor(_seq(first), kind, kernel, _ANY if stream is None else _seq(stream), condition, _seq(last))

    def _at(self, seq):
        """A cursor at the command."""
        cursor = self._cursor(seq, last=seq)
        if next(cursor, None) is None:
            raise IndexError(f'the trace has no command #{seq}')
        return cursor

    def __getitem__(self, index):
        if isinstance(index, slice):
            return self._slice(index)
        seq = index if index >= 0 else self._meta['last_seq'] + 1 + index
        found = next(self._cursor(seq, last=seq), None) if seq >= 0 else None
        if found is None:
            raise IndexError(f'the trace has no command #{seq}; it has #{self.first_seq} to #{self.last_seq}')
        return Command(self, *found)

    def _slice(self, index):
        if index.step not in (None, 1):
            raise ValueError('a slice of a trace has no step')
        end = self._meta['last_seq'] + 1
        start, stop = (end + i if i is not None and i < 0 else i for i in (index.start, index.stop))
        stop = end if stop is None else stop
        return list(self.commands(first=start or 0, last=stop - 1)) if stop > 0 else []

    def __iter__(self):
        return self.commands()

    def commands(self, kind=None, kernel=None, stream=None, condition=None, first=0, last=MISSING):
        """An iterator of the commands for which all that is given holds: kind ("launch"; tracesmith.kinds() has them), kernel (a
        glob of the name: *, ?, [..], A|B), stream (its number), condition (as breakpoints have it: "grid_x > 64 && arg2 != 0"),
        first and last seq. Raises Error for a kind or a condition that cannot be."""
        cursor = self._cursor(first, kind, kernel, stream, condition, last)
        return (Command(self, *found) for found in cursor)

    def columns(self, *names, kind=None, kernel=None, stream=None, condition=None, first=0, last=MISSING):
        """Columns of the fields with these names, of the commands that commands() would give. Besides the fields: kind (its
        name), kind_number, kernel (its name), kernel_id, gpu_ns. A command without such a field has MISSING, of a signed field
        MISSING_SIGNED, of a text None. 8 bytes a row and column. Raises Error for names that no command has, and for bytes."""
        asked = tuple(_COLUMNS.get(n, n) for n in names)
        made = self._core.columns(
            asked, _seq(first), kind, kernel, _ANY if stream is None else _seq(stream), condition, _seq(last))
        ret = Columns((n, c if texts is None else TextColumn(c, texts)) for n, (c, texts) in zip(names, made))
        ret.rows = len(made[0][0]) if made else 0
        return ret

    def races(self, options=''):
        """Pairs of commands that nothing orders and that touch the same memory: a list with tier, addr, size, a and b (seq, how,
        frames) and cure, the call that would order them. options: as of `races`. May execute launches, in a sandbox."""
        return _answer(self._core.question(0, options))

    @property
    def order(self):
        """What the program ordered: order.why(18, 21)."""
        return Order(self)

    def stats(self, options=''):
        """Where the time went (`info stats`)."""
        return _answer(self._core.question(1, options))

    def critical_path(self, options=''):
        """What the end waited for (`info critical-path`)."""
        return _answer(self._core.question(2, options))

    def replay(self, on=None, window=None, any_device=False, no_sandbox=False):
        """A Replay, before the first command. on: "soft", "real", "none" (the state alone)."""
        return Replay(self, self._core.replay(on, MISSING if window is None else _seq(window), any_device, no_sandbox))

    def state(self, seq):
        """The GPU's state right after command `seq` was called."""
        return State(self._core.state(_seq(seq)), seq)

    def __repr__(self):
        return f'<trace {_clean(self.path)}: {len(self)} commands of {_clean(self.program)}>'

    def _repr_html_(self):
        return _table_html(str(self.path), ('name', 'value'), self._meta.items())
