#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Random requests to `tsdb dap`: fuzz.py TSDB TRACE.sbt [--seed S] [--count N] [--verbose].

A seed is a session. Arguments are sensible, of another type, or beyond every bound; requests come one by one, or several before the first
answer; some are cancelled. What must hold: each request has one answer, which says why when it is a refusal; a move ends in `stopped`; and at
the end the session still says where it is, and leaves with status 0.
"""
import argparse
import base64
import os
import random
import re
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
from client import Client, Refused  # noqa: E402 (the path is set above)

TABLE = os.path.join(HERE, '..', '..', 'src', 'dap', 'dap-requests.def')
MOVES = {'continue', 'next', 'stepIn', 'stepOut', 'stepBack', 'reverseContinue', 'goto', 'tsdb/goto', 'tsdb/reverseFinish', 'tsdb/schedule', 'restart'}
# They end the session, or begin it: each session has them once.
LEFT_OUT = {'initialize', 'launch', 'attach', 'configurationDone', 'disconnect', 'terminate'}
ODD = [None, True, False, 0, -1, 1 << 62, -(1 << 63), 1.5, '', 'x', '0x', '0xffffffffffffffff', 'a\nb', '\u202e', '"', '\\', '%n%s', [], {}, [[]], 'A' * 3000]
LINES = ['when', 'info streams', 'info breakpoints', 'replay goto 30', 'next', 'reverse-step', 'enter', 'stepi', 'bt', 'delete', 'print grid_x',
         'x/4fw 0x302000000', 'info allocations', 'no such', '', '#', 'continue', 'break kernel consume', 'watch 0x302000000 len 64', 'replay restart',
         'set arg 2 5', 'info registers', 'replay stop', 'replay start --on soft', 'state show', 'kill', 'echo \\n', 'help']


def requests():
    with open(TABLE, encoding='utf-8') as f:
        return re.findall(r'^REQUEST\("([^"]+)"', f.read(), re.M)


class Session:
    def __init__(self, rng, client, source):
        self.rng, self.c, self.source = rng, client, source
        self.frames, self.refs, self.asked = [1], [1], []

    def number(self):
        return self.rng.choice([0, 1, 2, 3, 4, 18, 21, 30, 72, 1 << 24, (1 << 24) + 1, 100000])

    def address(self):
        return hex(self.rng.choice([0x302000000, 0x302001200, 0x302000ffc, 0x302001000, 1, 0x65, 0x69, 0]) + self.rng.choice([0, 0, 4, 4092]))

    def condition(self):
        return self.rng.choice(['seq > 20', 'grid_x == 4', '', 'nonsense', '((', 'x' * 500, 'stream == 2 && block_x > 8'])

    def points(self, **make):
        def point():
            p = {k: v() for k, v in make.items()}
            for name, value in (('condition', self.condition), ('hitCondition', lambda: self.rng.choice(['2', '', 'often', '== 3', '0'])),
                                ('logMessage', lambda: self.rng.choice(['at {seq}', '{', '{x:%f}', '%s', '{}', 'half {grid_x']))):
                if self.rng.random() < 0.2:
                    p[name] = value()
            return p
        return [point() for _ in range(self.rng.randrange(4))]

    def sensible(self, command):
        r = self.rng
        thread = {'threadId': r.choice([1, 2, 3, (1 << 24) + 1]), 'singleThread': r.random() < 0.3, 'granularity': r.choice(['line', 'instruction', 'statement'])}
        by_name = {
            'stackTrace': lambda: {**thread, 'startFrame': r.randrange(3), 'levels': r.randrange(5)},
            'scopes': lambda: {'frameId': r.choice(self.frames)},
            'variables': lambda: {'variablesReference': r.choice(self.refs), 'start': r.randrange(3), 'count': r.randrange(40)},
            'setVariable': lambda: {'variablesReference': r.choice(self.refs), 'name': r.choice(['n', 'in', 'x']), 'value': r.choice(['5', '0x302000000', 'y'])},
            'evaluate': lambda: {'expression': r.choice(LINES), 'context': r.choice(['repl', 'hover', 'watch']), 'frameId': r.choice([*self.frames, 0])},
            'readMemory': lambda: {'memoryReference': self.address(), 'offset': r.choice([0, 0, 4, -4, 4090]), 'count': r.choice([0, 1, 64, 5000])},
            'writeMemory': lambda: {'memoryReference': self.address(), 'data': base64.b64encode(r.randbytes(r.randrange(20))).decode()},
            'disassemble': lambda: {'memoryReference': self.address(), 'instructionOffset': r.randrange(-50, 50), 'instructionCount': r.randrange(200)},
            'goto': lambda: {'threadId': 1, 'targetId': self.number()},
            'tsdb/goto': lambda: r.choice([{'seq': self.number()}, {'place': r.choice(['begin', 'end', '21', 'nowhere', '21.3'])}]),
            'gotoTargets': lambda: {'source': {'path': self.source}, 'line': r.randrange(1, 80)},
            'setBreakpoints': lambda: {'source': {'path': self.source}, 'breakpoints': self.points(line=lambda: r.randrange(0, 80))},
            'setFunctionBreakpoints': lambda: {'breakpoints': self.points(name=lambda: r.choice(
                ['kernel produce', 'consume', 'copy', 'nobody', 'kernel *', 'seq 40', '((']))},
            'setInstructionBreakpoints': lambda: {'breakpoints': self.points(instructionReference=self.address)},
            'setDataBreakpoints': lambda: {'breakpoints': self.points(dataId=lambda: f'{self.address()} {self.number()}', accessType=lambda: r.choice(
                ['read', 'write', 'readWrite', 'eat']))},
            'dataBreakpointInfo': lambda: {'name': r.choice(['in', 'sum', 'n', self.address()]), 'variablesReference': r.choice([0, *self.refs]),
                                           'asAddress': r.random() < 0.5},
            'setExceptionBreakpoints': lambda: {'filters': r.sample(['fault', 'race', 'failed-call', 'moon'], r.randrange(4))},
            'source': lambda: {'source': {'path': self.source}, 'sourceReference': 0},
            'cancel': lambda: {'requestId': r.choice([*self.asked[-3:], 1])},
            'tsdb/state': lambda: {'stream': r.choice([-1, 0, 1, 2, 9]), 'at': self.number()},
            'tsdb/order': lambda: {'a': self.number(), 'b': self.number()},
            'tsdb/whoWrote': lambda: {'memoryReference': self.address(), 'size': r.choice([1, 4, 4096])},
            'tsdb/explore': lambda: {'budget': '3', 'seed': r.randrange(5)},
            'tsdb/schedule': lambda: {'number': r.choice([1, 2, 99]), 'step': r.random() < 0.5},
        }
        return by_name.get(command, lambda: thread)()

    def arguments(self, command):
        args = self.sensible(command)
        while self.rng.random() < 0.15 and args:
            args[self.rng.choice(sorted(args))] = self.rng.choice(ODD)
        return args if self.rng.random() > 0.02 else self.rng.choice([None, {}])

    def learn(self, command, body):
        """Numbers that later requests use."""
        if command == 'stackTrace':
            self.frames = [f['id'] for f in body['stackFrames']] or self.frames
        for name in ('scopes', 'variables'):
            if command == name:
                self.refs += [x['variablesReference'] for x in body[name] if x['variablesReference']]
                self.refs = self.refs[-20:]

    def check(self, command, seq, answer):
        if answer['command'] != command or answer['request_seq'] != seq:
            raise AssertionError(f'{command} {seq} was answered by {answer}')
        if answer['success']:
            self.learn(command, answer.get('body') or {})
        elif not answer.get('message') or not answer['body']['error']['variables']['text']:
            raise AssertionError(f'{command} was refused without a reason: {answer}')

    def one(self, names, verbose):
        """Some requests at once; then their answers, and the stops of those that moved."""
        batch = [(x, self.arguments(x)) for x in self.rng.choices(names, k=self.rng.choice([1, 1, 1, 1, 2, 5]))]
        if verbose:
            print(batch, flush=True)
        sent = [(name, self.c.send(name, args)) for name, args in batch]
        self.asked += [seq for _, seq in sent]
        for name, seq in sent:
            answer = self.c.answer(seq)
            self.check(name, seq, answer)
            if name in MOVES and answer['success']:
                self.c.event('stopped')


def run(tsdb, trace, seed, count, verbose, cwd=None, env=None):
    """A session; what it found wrong, or None."""
    rng = random.Random(seed)
    names = [x for x in requests() if x not in LEFT_OUT]
    c = Client([*tsdb, 'dap'], cwd=cwd, env=env)
    try:
        c.replay(trace)
        s = Session(rng, c, '/examples/race_demo.cu')
        for _ in range(count):
            s.one(names, verbose)
        c.ask('tsdb/position')
        unasked = [a for a in c.answers.values()]
        if unasked:
            return f'answers that nobody waits for: {unasked[:3]}'
    except (AssertionError, TimeoutError, Refused, KeyError) as e:
        return f'{type(e).__name__}: {e}'
    except Exception as e:  # the adapter has ended: Gone
        return f'{type(e).__name__}: {e}; on stderr: {c.process.stderr.read().decode(errors="replace")[-2000:]}'
    finally:
        status = c.close()
    return None if status == 0 else f'exit status {status}'


def main():
    p = argparse.ArgumentParser()
    p.add_argument('tsdb')
    p.add_argument('trace')
    p.add_argument('--seed', type=int, default=1)
    p.add_argument('--sessions', type=int, default=1)
    p.add_argument('--count', type=int, default=200)
    p.add_argument('--verbose', action='store_true')
    a = p.parse_args()
    bad = 0
    for seed in range(a.seed, a.seed + a.sessions):
        wrong = run(a.tsdb.split(), a.trace, seed, a.count, a.verbose)
        if wrong:
            bad += 1
            print(f'seed {seed}: {wrong}', flush=True)
    print(f'{a.sessions} sessions of {a.count} batches, {bad} wrong')
    return 1 if bad else 0


if __name__ == '__main__':
    sys.exit(main())
