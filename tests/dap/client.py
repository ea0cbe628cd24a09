# SPDX-License-Identifier: Apache-2.0
"""A client of the Debug Adapter Protocol, for tests: `with Client([tsdb, 'dap']) as c`."""
import collections
import json
import os
import subprocess
import threading


class Refused(Exception):
    """The answer says success: false."""

    def __init__(self, answer):
        body = answer.get('body') or {}
        error = body.get('error') or {}
        self.message = answer.get('message', '')
        self.text = error.get('variables', {}).get('text', self.message)
        super().__init__(f'{answer.get("command")}: {self.text}')


class Gone(Exception):
    """The adapter has closed its output."""


class Client:
    TIMEOUT = 60

    def __init__(self, argv, cwd=None, env=None):
        self.process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=cwd, env=env)
        self.seq = 0
        self.answers = {}
        self.events = collections.deque()
        self.all_events = []
        self.changed = threading.Condition()
        self.over = False
        self.bad = None
        self.listener = threading.Thread(target=self.listen, daemon=True)
        self.listener.start()

    def __enter__(self):
        return self

    def __exit__(self, *what):
        self.close()

    def listen(self):
        f = self.process.stdout
        try:
            while True:
                length = None
                while (line := f.readline()) not in (b'', b'\r\n'):
                    name, _, value = line.partition(b':')
                    if name.lower() == b'content-length':
                        length = int(value)
                if length is None:
                    break
                message = json.loads(f.read(length).decode('utf-8'))
                with self.changed:
                    if message['type'] == 'event':
                        self.events.append(message)
                        self.all_events.append(message)
                    else:
                        self.answers[message['request_seq']] = message
                    self.changed.notify_all()
        except (ValueError, KeyError) as e:
            self.bad = e
        with self.changed:
            self.over = True
            self.changed.notify_all()

    # --- sending ---

    def send_bytes(self, data):
        try:
            self.process.stdin.write(data)
            self.process.stdin.flush()
        except BrokenPipeError:
            raise Gone('the adapter does not read any more') from None

    def send_raw(self, text):
        body = text if isinstance(text, bytes) else text.encode()
        self.send_bytes(b'Content-Length: %d\r\n\r\n' % len(body) + body)

    def send(self, command, arguments=None):
        """Sends a request; its number."""
        self.seq += 1
        message = {'seq': self.seq, 'type': 'request', 'command': command}
        if arguments is not None:
            message['arguments'] = arguments
        self.send_raw(json.dumps(message))
        return self.seq

    # --- waiting ---

    def wait(self, found, what):
        with self.changed:
            result = None

            def ready():
                nonlocal result
                result = found()
                return result is not None or self.over

            if not self.changed.wait_for(ready, self.TIMEOUT):
                raise TimeoutError(f'{what} has not come; events: {[e["event"] for e in self.all_events][-12:]}')
            if result is None:
                raise Gone(f'{what} has not come, the adapter has ended: {self.bad}')
            return result

    def answer(self, seq):
        """The whole answer to request seq."""
        return self.wait(lambda: self.answers.pop(seq, None), f'the answer to request {seq}')

    def ask(self, command, arguments=None):
        """Asks; the answer's body, or Refused."""
        a = self.answer(self.send(command, arguments))
        if not a['success']:
            raise Refused(a)
        return a.get('body') or {}

    def event(self, name, where=lambda body: True):
        """The next event of this name, events before it are passed over; its body."""
        def find():
            for i, e in enumerate(self.events):
                if e['event'] == name and where(e.get('body') or {}):
                    for _ in range(i + 1):
                        self.events.popleft()
                    return e.get('body') or {}
            return None
        return self.wait(find, f'the event {name}')

    def printed(self, category):
        return ''.join(e['body']['output'] for e in self.all_events if e['event'] == 'output' and e['body']['category'] == category)

    # --- what tests do again and again ---

    def begin(self, how, arguments, set_up=lambda: None):
        """initialize, launch or attach, set_up(), configurationDone; the body of `initialize`."""
        body = self.ask('initialize', {'adapterID': 'tsdb', 'supportsProgressReporting': True, 'supportsMemoryEvent': True})
        self.ask(how, arguments)
        self.event('initialized')
        set_up()
        self.ask('configurationDone')
        return body

    def replay(self, trace, set_up=lambda: None, **more):
        body = self.begin('launch', {'trace': trace, 'on': 'soft', **more}, set_up)
        self.event('stopped')
        return body

    def move(self, command, arguments=None):
        """A request that moves; the body of `stopped`."""
        self.events.clear()
        self.ask(command, arguments if arguments is not None else {'threadId': 1})
        return self.event('stopped')

    def repl(self, line):
        return self.ask('evaluate', {'expression': line, 'context': 'repl'})['result']

    def close(self):
        """Leaves; the exit status."""
        if self.process.poll() is None and not self.over:
            try:
                self.ask('disconnect', {'terminateDebuggee': True})
            except (Gone, Refused, TimeoutError):
                pass
        try:
            self.process.stdin.close()
        except BrokenPipeError:
            pass
        try:
            status = self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            status = self.process.wait()
        self.listener.join(10)
        self.process.stdout.close()
        self.process.stderr.close()
        return status
