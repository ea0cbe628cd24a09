# SPDX-License-Identifier: Apache-2.0
"""Python in tsdb's shell: this process is started by tsdb, executes what its user types, and asks it over a socket. What users see is
the module `tsdb`, see `help python` there."""
import io
import signal
import socket
import struct
import sys
import traceback
import types

import tracesmith
from . import sessions

_QUESTION = struct.Struct('=IIQQQ')
_ANSWER = struct.Struct('=IIIIIIQ')
_COMMAND, _READ, _WRITE, _PRINT, _DONE, _PRINTERS = 1, 3, 4, 5, 6, 7
_LINE, _BLOCK, _FILE, _CALL, _SHOW = 1, 2, 3, 4, 5
_PIECE = 16 << 20
_CODES = ('ok', 'usage', 'system', 'not found', 'bad trace', 'incomplete', 'usage', 'permission', 'unsupported', 'limit', 'system',
          'interrupted')


class _Closed(BaseException):
    """The shell has ended."""


class _Socket:
    """Questions to the shell. One at a time: the user's threads must not ask."""

    def __init__(self, fd):
        self._socket = socket.socket(fileno=fd)

    def receive(self, size):
        data = bytearray()
        while len(data) < size:
            piece = self._socket.recv(min(size - len(data), 1 << 20))
            if not piece:
                raise _Closed
            data += piece
        return bytes(data)

    def send(self, op, data=b'', addr=0, n=0):
        if len(data) > _PIECE:
            raise ValueError('too much at once')
        self._socket.sendall(_QUESTION.pack(op, 0, addr, n, len(data)) + data)

    def ask(self, op, data=b'', addr=0, n=0):
        """The answer's bytes, and the stop that came of it, as JSON or None. Ctrl-C waits until the answer is whole."""
        sys.stdout.flush()
        before = signal.signal(signal.SIGINT, signal.SIG_IGN)
        try:
            self.send(op, data, addr, n)
            code, *sizes, _, size = _ANSWER.unpack(self.receive(_ANSWER.size))
            what, cure, _, stop = (self.receive(s).decode(errors='replace') for s in sizes)
            data = self.receive(size)
        finally:
            signal.signal(signal.SIGINT, before)
        if code:
            error = tracesmith.Error(what)
            error.cure, error.code = cure, _CODES[code] if code < len(_CODES) else 'system'
            raise error
        return data, stop or None


class _Core:
    """What tracesmith's sessions need of a session: this one is the shell's own."""

    def __init__(self, to):
        self._to, self.conditions = to, {}

    def passes(self, stop):
        """Whether a stop is at a breakpoint whose condition does not hold."""
        stop = sessions.answer(stop) if stop else None
        condition = self.conditions.get(stop.breakpoint_list[0]) if stop and stop.stop_reason == 'breakpoint' else None
        return condition is not None and not condition(stop)

    def ask(self, command):
        return self._to.ask(_COMMAND, command.encode(), n=1)[0].decode(errors='replace')

    def go(self, how):
        text, stop = self._to.ask(_COMMAND, (b'run', b'continue', b'reverse-continue')[how], n=1)
        if stop is None:
            raise tracesmith.Error('it has not stopped anywhere')
        while self.passes(stop):
            text, stop = self._to.ask(_COMMAND, b'reverse-continue' if how == 2 else b'continue', n=1)
        return stop, text.decode(errors='replace')

    def read(self, addr, size):
        data = bytearray()
        while len(data) < size:
            n = min(size - len(data), _PIECE)
            data += self._to.ask(_READ, addr=addr + len(data), n=n)[0]
        return data

    def write(self, addr, data):
        data = bytes(data)
        for at in range(0, len(data), _PIECE):
            self._to.ask(_WRITE, data[at:at + _PIECE], addr=addr + at)

    def interrupt(self):
        """Nothing: Ctrl-C is the shell's."""

    def close(self):
        """Nothing: the session is the shell's, and goes on."""


class _Output(io.TextIOBase):
    """Standard output: what is printed goes through the shell, to its pager, its log, its pipes."""

    def __init__(self, to):
        super().__init__()
        self._to, self._held = to, ''

    def writable(self):
        return True

    def write(self, text):
        self._held += text
        if len(self._held) > 4096:
            self.flush()
        return len(text)

    def flush(self):
        data, self._held = self._held.replace('\0', '\\0').encode(errors='replace'), ''
        for at in range(0, len(data), _PIECE):
            self._to.send(_PRINT, data[at:at + _PIECE])


class Value:
    """What a printer shows: type (text), bytes, address (a number, or None: it lies nowhere)."""

    def __init__(self, type_name, data, address):
        self.type, self.bytes, self.address = type_name, data, address

    def __int__(self):
        return int.from_bytes(self.bytes, 'little')

    def unpack(self, layout):
        """The bytes by a format of the module struct ("<ff"), from their beginning."""
        return struct.unpack_from(layout, self.bytes)


class Shell(types.ModuleType):
    """The module tsdb."""

    def __init__(self, to):
        super().__init__('tsdb', 'The debugger whose shell this Python was started from.')
        self._to, self._core, self._trace, self._path = to, _Core(to), None, None
        self._functions, self._then, self._printers, self._shown = {}, [], [], None
        self.Error, self.Value = tracesmith.Error, Value

    def execute(self, command):
        """Runs a command, or several lines, of the shell; what it shows goes to the screen."""
        _, stop = self._to.ask(_COMMAND, command.encode())
        while self._core.passes(stop):
            _, stop = self._to.ask(_COMMAND, b'continue')

    def ask(self, command):
        """The same; returns what it shows."""
        return self._core.ask(command)

    def post(self, command):
        """Runs a command when Python has come back to the shell."""
        self._then.append(command)

    @property
    def session(self):
        """The shell's session: a program with breakpoints, as tracesmith.launch() gives."""
        return sessions.Program(self._core)

    @property
    def trace(self):
        """The open trace, a tracesmith.Trace."""
        path = sessions.answer(self.ask('info trace --json')).file
        if path != self._path:
            self._trace, self._path = tracesmith.open(path), path
        return self._trace

    @property
    def replay(self):
        """The shell's replay, as Trace.replay() gives; moves are the shell's."""
        return sessions.Replay(self.trace, self._core)

    def memory(self, addr, size, dtype='u1'):
        """Memory at the stop, of a program or a replay."""
        return self.session.memory(addr, size, dtype)

    def register_command(self, name, function, doc=None):
        """Makes function(ARGUMENTS), which gets the rest of the line, a command of the shell."""
        if not callable(function):
            raise TypeError('a command is a function of one argument, the text behind its name')
        self.ask(f'alias {name} = python @{name}')
        self._functions[name] = function
        if doc:
            function.__doc__ = doc

    def register_printer(self, type_name, function):
        """Values of a C++ type, or of the types that a glob matches ("float *", "struct params", "vec<*>"), are shown as the text that
        function(VALUE) returns, by `print` and `info args`; None: as always. VALUE has type, bytes, and address (None: of none). The
        newest printer that matches is asked; function None takes the type's printer away. What a printer raises is said, and the value
        shown as always; Ctrl-C ends one that takes too long."""
        if function is not None and not callable(function):
            raise TypeError('a printer is a function of one argument, the value')
        if not type_name or '\n' in type_name:
            raise ValueError('a type is one line')
        self._printers = [p for p in self._printers if p[0] != type_name]
        if function is not None:
            self._printers.insert(0, (type_name, function))
        self._to.send(_PRINTERS, '\n'.join(t for t, _ in self._printers).encode())

    def breakpoint(self, place, condition=None):
        """A breakpoint at what `break PLACE` takes; its number. condition(stop): whether to stop there; stop is the object `stop` of
        docs/json.md, and the program or the replay is at it."""
        number = self.session.break_at(place)
        if condition is not None:
            self._core.conditions[number] = condition
            self.ask(f'commands {number}\nsilent\npython @.stop {number}\nend')
        return number

    # -- what the shell asks for

    def _judge(self, number):
        stop = sessions.answer(self.ask('info program --json')).last_stop
        if number not in self._core.conditions or self._core.conditions[number](stop):
            print(f'Breakpoint {number}, ' + self.ask('when').splitlines()[0])
        else:
            self.post('continue')

    def _call(self, text):
        name, _, rest = text.partition(' ')
        if name == '.stop':
            self._judge(int(rest))
        elif name in self._functions:
            self._functions[name](rest.strip())
        else:
            raise KeyError(f'no command @{name} is registered')

    def _show(self, text):
        which, type_name, address, data = text.split('\n')
        value = Value(type_name, bytes.fromhex(data), int(address, 16) if address else None)
        shown = self._printers[int(which)][1](value)
        if shown is not None and not isinstance(shown, str):
            raise TypeError(f'a printer returns a text or None, not {type(shown).__name__}')
        self._shown = shown

    def _do(self, what, text, names):
        if what == _SHOW:
            self._show(text)
        elif what == _CALL:
            self._call(text)
        elif what == _FILE:
            with open(text, 'rb') as f:
                code = compile(f.read(), text, 'exec')
            exec(code, {**names, '__name__': '__main__', '__file__': text})  # pylint: disable=exec-used
        else:
            code = compile(text, '<tsdb>', 'single' if what == _LINE else 'exec')
            exec(code, names)  # pylint: disable=exec-used


def _sentence(e):
    """What went wrong, in a line; where, on standard error, if that is more than the line that was typed."""
    text = ''.join(traceback.format_exception_only(type(e), e)).strip().splitlines()[-1]
    frames = traceback.extract_tb(e.__traceback__)
    frames = [f for f in frames if f.filename != __file__]
    if len(frames) > 1 or (frames and frames[0].filename != '<tsdb>'):
        sys.stderr.write(''.join(traceback.format_list(frames)))
        sys.stderr.flush()
    cure = getattr(e, 'cure', '')
    return f'{text}. {cure}' if cure else text


def _once(shell, what, text, names):
    """Does it; the error's sentence, None: it went well."""
    try:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        try:
            shell._do(what, text, names)  # pylint: disable=protected-access
        finally:
            signal.signal(signal.SIGINT, signal.SIG_IGN)
        return None
    except _Closed:
        raise
    except BaseException as e:  # pylint: disable=broad-except
        return _sentence(e)


def main(fd):
    """Executes what comes over the socket until it is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    to = _Socket(fd)
    shell = sys.modules['tsdb'] = Shell(to)
    sys.stdout = _Output(to)
    names = {'__name__': '__main__', 'tsdb': shell, 'tracesmith': tracesmith, 'ts': tracesmith}
    try:
        while True:
            what, _, _, _, size = _QUESTION.unpack(to.receive(_QUESTION.size))
            error = _once(shell, what, to.receive(size).decode(errors='replace'), names)
            sys.stdout.flush()
            then, shell._then = shell._then, []  # pylint: disable=protected-access
            if what == _SHOW and error is None:
                then, shell._shown = ['=' + shell._shown] if shell._shown is not None else [], None  # pylint: disable=protected-access
            to.send(_DONE, ('\n'.join(then) if error is None else error).encode(errors='replace')[:_PIECE], n=error is not None)
    except (_Closed, OSError):
        pass
    sys.stdout = sys.__stdout__
