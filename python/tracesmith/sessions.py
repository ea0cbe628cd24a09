# SPDX-License-Identifier: Apache-2.0
"""Replays and programs with breakpoints: each is a tsdb of its own, a process that ends with the object."""
import json as _json
import os as _os

from . import _core
from .show import table as _table

_FORMATS = {'f2': 'e', 'f4': 'f', 'f8': 'd', 'i1': 'b', 'i2': 'h', 'i4': 'i', 'i8': 'q', 'u1': 'B', 'u2': 'H', 'u4': 'I', 'u8': 'Q'}


class Object:
    """What an answer has, as attributes (docs/json.md); lists are lists, addresses numbers."""

    def __init__(self, values):
        for name, value in values.items():
            setattr(self, name, _made(name, value))

    def __getitem__(self, name):
        return self.__dict__[name]

    def _plain(self):
        return {k: v for k, v in self.__dict__.items() if not isinstance(v, (list, Object))}

    def __repr__(self):
        return '<' + ' '.join(f'{k}={v!r}' for k, v in self._plain().items()) + '>'

    def _repr_html_(self):
        inner = ''.join(f'<p>{k}</p>' + v._repr_html_() for k, v in self.__dict__.items()  # pylint: disable=protected-access
                        if isinstance(v, (Rows, Object)) and v)
        return _table('', ('name', 'value'), self._plain().items()) + inner

    def __bool__(self):
        return True


class Rows(list):
    """A list of an answer. In a notebook it is a table, its first 50 rows."""

    def _repr_html_(self):
        shown = [r if isinstance(r, Object) else Object({'value': r}) for r in self[:50]]
        names = list(dict.fromkeys(k for r in shown for k in r._plain()))  # pylint: disable=protected-access
        return _table(f'{len(self)} rows', names, ([r.__dict__.get(n, '') for n in names] for r in shown))


def _made(name, value):
    if isinstance(value, dict):
        return Object(value)
    if isinstance(value, list):
        return Rows(_made(name, v) for v in value)
    if name in ('addr', 'allocation', 'pc', 'handle', 'code_hash') and isinstance(value, str):
        return int(value, 16)
    return value


def answer(text):
    """The objects of a JSON text."""
    return _made('', _json.loads(text))


class Memory:
    """Bytes of memory at an address, read once: numpy.asarray() takes them without a copy, as does memoryview(m.bytes). Indexing
    gives elements of its dtype ("f4", "u1", "i8" ...)."""

    def __init__(self, addr, data, dtype):
        self.addr, self.bytes, self.dtype = addr, data, dtype
        self.size = len(data)

    @property
    def __array_interface__(self):
        n = int(self.dtype[1:])
        kind = '|' if n == 1 else '<'
        return {'version': 3, 'shape': (self.size // n,), 'typestr': kind + self.dtype, 'data': self.bytes}

    def _view(self):
        import struct  # pylint: disable=import-outside-toplevel
        n = int(self.dtype[1:])
        return [v for (v,) in struct.iter_unpack('<' + _FORMATS[self.dtype], bytes(self.bytes[:self.size // n * n]))]

    def __len__(self):
        return self.size // int(self.dtype[1:])

    def __getitem__(self, i):
        return self._view()[i]

    def __repr__(self):
        return f'<{self.size} bytes at {self.addr:#x}, {self.dtype}>'


def _recorded_stack(session):
    """The stack of the command that it is at; [] where none was recorded."""
    try:
        return answer(session.ask('backtrace --json'))
    except _core.Error as e:
        if e.code in ('not found', 'incomplete'):
            return []
        raise


class Stop:
    """Where a move has ended. why: "breakpoint", "watchpoint", "step", "begin", "end", "exited", "killed", "signal", "fault" ...
    (stop_reason in docs/json.md); text: what tsdb's shell says; seq (None: of none); breakpoints: the numbers of those that were hit;
    watch: what a watchpoint saw; failure: of a fault or a call; command and stack (of a stop at a command, else None and []);
    fields: all of the object `stop`."""

    def __init__(self, session, stop, text):
        self.fields, self.text, self.command, self.stack = stop, text, None, []
        self.why, self.seq, self.breakpoints = stop.stop_reason, stop.seq, stop.breakpoint_list
        self.watch, self.failure = stop.watch, stop.failure
        if self.seq is not None and self.why != 'fault':
            at = answer(session.ask('when --json'))
            self.command = getattr(at, 'command', None) if stop.in_replay else at
        if self.command is not None:
            self.stack = _recorded_stack(session)

    def __repr__(self):
        return f'<stop: {self.why}' + (f' at #{self.seq}' if self.seq is not None else '') + '>'


class Session:
    """What replays and programs have in common. A context manager. One thread at a time is at work in it; the others wait. All
    raise Error with what tsdb says, and ValueError once it is closed."""

    def __init__(self, core):
        self._core = core

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.close()

    def close(self):
        """Ends it; again is fine."""
        self._core.close()

    def interrupt(self):
        """Ends what another thread waits for in this session."""
        self._core.interrupt()

    def ask(self, command):
        """A command of tsdb's shell, or several lines, and what it prints."""
        return self._core.ask(command)

    def _stop(self, how):
        stop, text = self._core.go(how)
        return Stop(self, answer(stop), text)

    def break_at(self, place):
        """A breakpoint at what `break PLACE` takes; its number."""
        if '\n' in place:
            raise ValueError('a place is one line')
        self.ask(f'break {place}')
        return answer(self.ask('info breakpoints --json'))[-1].id

    def delete(self, number=None):
        """Deletes a breakpoint or watchpoint; None: all."""
        self.ask('delete' if number is None else f'delete {int(number)}')

    def break_kernel(self, kernel, condition=None):
        """A breakpoint at launches of a kernel (a glob of its name), for which a condition holds; its number."""
        return self.break_at(f'kernel {kernel}' + (f' if {condition}' if condition else ''))

    def go_on(self):
        """Runs on; a Stop."""
        return self._stop(1)

    @property
    def stack(self):
        """The host stack of the command that it is at, innermost first."""
        return answer(self.ask('backtrace --json'))

    def memory(self, addr, size, dtype='u1'):
        """Memory of `size` bytes. addr: a number, or a Memory. dtype: f2 f4 f8 i1 ... u8."""
        if dtype not in _FORMATS:
            raise ValueError(f'no dtype {dtype!r}: one of {", ".join(_FORMATS)}')
        addr = getattr(addr, 'addr', addr)
        return Memory(addr, self._core.read(addr, size), dtype)

    def write(self, addr, data):
        """Writes bytes (any buffer). In a replay this is a what-if: what runs from here on finds them."""
        self._core.write(getattr(addr, 'addr', addr), data)


class Replay(Session):
    """A replay of a trace, at first before its first command."""

    def __init__(self, trace, core):
        super().__init__(core)
        self._trace = trace

    @property
    def seq(self):
        """The command that was submitted last; 0 at the beginning."""
        return answer(self.ask('when --json')).seq

    @property
    def command(self):
        """The trace's Command at the position."""
        return self._trace[self.seq]

    def goto(self, seq):
        """To right behind command `seq`; 0: the beginning."""
        self.ask(f'replay goto {int(seq) or "begin"}')

    def step(self, n=1):
        """n commands on, or -n back."""
        if n:
            self.ask(f'replay step {int(n)}' if n > 0 else f'reverse-step {-int(n)}')

    def go_back(self):
        """Runs backwards to the previous breakpoint; a Stop."""
        return self._stop(2)

    def memory(self, addr, size=None, dtype='u1'):
        """GPU memory at the position. Without a size: up to the end of its allocation."""
        at = getattr(addr, 'addr', addr)
        if size is None:
            a = self._trace.state(self.seq).allocation_at(at)
            if a is None:
                raise ValueError(f'{at:#x} is in no allocation; give a size')
            size = a.addr + a.size - at
        return super().memory(at, size, dtype)

    def who_wrote(self, addr, size=None):
        """The last command up to here that wrote to memory: seq, certain, changed, command, frames. addr: a number or Memory."""
        size = size or getattr(addr, 'size', 4)
        return answer(self.ask(f'who-wrote --json {getattr(addr, "addr", addr):#x} len {int(size)}'))

    def watch(self, addr, size=None):
        """A watchpoint on memory: go_on() and go_back() stop where it changes; its number. addr: a number or Memory."""
        size = size or getattr(addr, 'size', 4)
        self.ask(f'watch {getattr(addr, "addr", addr):#x} len {int(size)}')
        return answer(self.ask('info breakpoints --json'))[-1].id

    def explore(self, options=''):
        """Executes the window in other orders that the program allows: the object explore of docs/json.md. An order with another
        result, an item of `found`, is saved beside the trace (`trace`). options: as of `replay explore`."""
        return answer(self.ask(f'replay explore --json {options}'))

    def check(self, options=''):
        """Which launches give other results from the same memory; options: as of `replay check`."""
        return answer(self.ask(f'replay check --json {options}'))

    @property
    def lanes(self):
        """Inside a launch (ask("stepi")): the lanes of the focused warp, Rows."""
        return answer(self.ask('info lanes --json'))

    def verify(self):
        """The whole run compared with the recording."""
        return answer(self.ask('replay verify --json'))

    def __repr__(self):
        return f'<replay of {self._trace!r}>'


class Program(Session):
    """A program that run() starts, with breakpoints."""

    def run(self):
        """Starts it; a Stop at the first breakpoint, or at its end."""
        return self._stop(0)


def launch(argv, on=None, cwd=None, record=None):
    """A program that run() starts. argv: its words. on: "soft" or "real", the GPU. record: the trace to be written."""
    if isinstance(argv, (str, bytes)):
        raise TypeError('argv is a list of words')
    record = None if record is None else _os.path.abspath(_os.fspath(record))
    return Program(_core.launch([_os.fspath(w) for w in argv], on, None if cwd is None else _os.fspath(cwd), record))


def diff(a, b, *options):
    """Two traces compared (`tsdb diff`): the object trace_diff of docs/json.md. options: "--time", "--numeric" ..."""
    return answer(_core.diff(_os.path.abspath(_os.fspath(a)), _os.path.abspath(_os.fspath(b)), list(options)))
