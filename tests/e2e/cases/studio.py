# SPDX-License-Identifier: Apache-2.0
"""tsdb studio: a server on the loopback device, a page in headless Chromium, and those who should get nothing."""
import base64
import contextlib
import http.client
import json
import os
import random
import re
import resource
import shutil
import signal
import socket
import struct
import subprocess
import sys
import threading
import time

import browser
import e2e

ADDRESS = re.compile(r'^http://127\.0\.0\.1:(\d+)/#token=([0-9a-f]{32})$', re.M)


class Studio:
    """A server of this test's, with its trace."""

    def __init__(self, t, *words, trace='race.sbt'):
        self.t, self.said = t, []
        self.process = subprocess.Popen([e2e.tsdb_path(), 'studio', *words, trace], cwd=t.dir, env=t.environment(), stdin=subprocess.DEVNULL,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)
        for line in self.process.stdout:
            self.said.append(line)
            if m := ADDRESS.match(line):
                self.port, self.token, self.address = int(m[1]), m[2], line.strip()
                return
        _, err = self.process.communicate()
        if 'libmicrohttpd' in err:
            raise e2e.Skip('needs a build with libmicrohttpd')
        raise e2e.Failure(f'tsdb studio ended: {err}')

    def end(self, sig=signal.SIGINT):
        """Ends it as Ctrl-C does; its exit status."""
        if self.process.poll() is None:
            self.process.send_signal(sig)
        out, self.err = self.process.communicate(timeout=60)
        self.said.append(out)
        return self.process.returncode

    # -- asking
    def headers(self, **more):
        all_of = {'Host': f'127.0.0.1:{self.port}', 'Authorization': f'Bearer {self.token}', **{k.replace('_', '-'): v for k, v in more.items()}}
        return {k: v for k, v in all_of.items() if v is not None}

    def http(self, method, path, body=None, **headers):
        """(status, body) of a request that browsers send; headers: others, or None for none."""
        c = http.client.HTTPConnection('127.0.0.1', self.port, timeout=60)
        try:
            c.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
            for k, v in self.headers(**headers).items():
                c.putheader(k, v)
            if body is not None:
                c.putheader('Content-Length', str(len(body)))
            c.endheaders(body)
            r = c.getresponse()
            self.answered = r
            return r.status, r.read().decode()
        finally:
            c.close()

    def ask(self, command, **arguments):
        status, text = self.http('POST', '/ask', json.dumps({'command': command, 'arguments': arguments}).encode())
        answer = json.loads(text)
        self.t.check(status == 200 and answer['success'], f'{command}: {status} {text}')
        return answer.get('body')

    def live(self):
        """Waits until the replay is at its beginning, and no more events come."""
        after = 0
        while self.ask('studio/status')['state'] != 'live':
            after = self.events(after)['next']

    def events(self, after=0):
        status, text = self.http('GET', '/events', X_Tsdb_After=str(after))
        self.t.equal(status, 200, 'events')
        return json.loads(text)

    def move(self, command, **arguments):
        """Moves, waits until the replay has arrived; the position."""
        after = self.events()['next']
        self.ask(command, **arguments)
        while True:
            news = self.events(after)
            for e in news['events']:
                if e['event'] == 'tsdb/position':
                    return e['body']['position']
            after = news['next']


@contextlib.contextmanager
def studio(t, *words, trace='race.sbt'):
    s = Studio(t, *words, trace=trace)
    try:
        yield s
        t.equal(s.end(), 0, 'the exit status after Ctrl-C')
    finally:
        s.end(signal.SIGKILL)
    t.equal(s.err, '', 'what it said on stderr')


def recorded(t):
    t.need_soft()
    t.check(t.record('race_demo', out='race.sbt', options=['--timestamps']).status in (0, 1), 'recording; the sums may be wrong')


@contextlib.contextmanager
def window(t, s):
    """A window of the session's, shown; nothing failed in it, and it asked nobody but the server."""
    with browser.Browser(t) as b:
        b.navigate(s.address)
        b.wait('document.documentElement?.dataset.ready')
        yield b
        here = f'http://127.0.0.1:{s.port}'
        t.equal(sorted({u for u in b.requests if u != 'about:blank'} - {f'{here}{p}' for p in ('/', '/ask', '/events', '/trace')}),
                [], 'requests to others')
        t.equal(b.errors, [], 'errors in the page')


def text(b, what):
    return b.value(f'document.querySelector({json.dumps(what)})?.textContent')


def rows(b, table):
    return b.value(f"[...document.querySelectorAll('#{table} tbody tr')].map((r) => [...r.cells].map((c) => c.textContent))")


def press(b, what, quiet=True):
    """Clicks, as a user does who waits until the page shows what it was asked for: meanwhile it may put another button in this one's
    place, under the mouse. A button that is disabled or not there is a failure."""
    if quiet:
        b.wait('!studioLive.moving && !studioLive.link.asking')
    at = b.value(f'''(() => {{
        const e = document.querySelector({json.dumps(what)});
        e?.scrollIntoView({{ block: 'nearest' }});
        const r = e?.getBoundingClientRect(), x = r && r.x + r.width / 2, y = r && r.y + r.height / 2;
        return r && !e.disabled && e.contains(document.elementFromPoint(x, y)) ? [x, y] : null;
    }})()''')
    if not at:
        raise e2e.Failure(f'{what} cannot be clicked')
    b.click(*at)


def at(b, seq):
    """Waits until this window shows the replay at a command."""
    b.wait(f'studioLive.position?.seq === {seq} && !studioLive.moving')


# --- moving ---

def test_moves(t):
    """Forwards, backwards, to a place, from the page; both streams' states are what the shell says."""
    browser.chromium()
    recorded(t)
    with studio(t) as s, window(t, s) as b:
        t.equal(b.value('location.href').split('#')[0], f'http://127.0.0.1:{s.port}/', 'the address')
        t.no_match(s.token, b.value('location.href'), 'the address, which a history keeps')
        at(b, 0)
        t.match('^At the beginning, on the software GPU$', text(b, '#where'))
        b.go('#at=21&tab=replay')
        press(b, '#move-here')
        at(b, 21)
        t.match(r'^Behind #21 consume<<<\(4,1,1\),\(256,1,1\)>>> stream 2, on the software GPU$', text(b, '#where'))
        b.wait("document.querySelectorAll('#live-streams tbody tr').length === 3")
        t.equal([r[:3] for r in rows(b, 'live-streams')], [['0', 'Idle', ''], ['1', 'Running', '#18'], ['2', 'Running', '#21']], 'streams')
        b.key('b')
        at(b, 20)
        b.key('n')
        at(b, 21)
        b.key('c')
        b.wait('studioLive.position?.seq > 70 && !studioLive.moving')
        b.key('r')
        at(b, 0)
        press(b, '#move-end')
        b.wait('studioLive.position?.seq > 70 && !studioLive.moving')
        press(b, '#move-begin')
        at(b, 0)
        t.equal(b.value('report.model.live.i'), -1, 'the line is in front of all commands')


def test_two_windows(t):
    """What one window does the other one shows."""
    browser.chromium()
    recorded(t)
    with studio(t) as s, window(t, s) as a, window(t, s) as b:
        a.go('#at=21&tab=replay')
        press(a, '#move-here')
        at(a, 21)
        at(b, 21)
        t.equal(b.value('report.model.sides[0].trace.seq[report.model.cursor.i]'), 21, 'the cursor')
        press(b, '#move-stepBack')
        at(a, 20)
        at(b, 20)
        t.equal(text(a, '#where'), text(b, '#where'), 'the place')


def one_stream_alone(t, b):
    """A stream finishes what it has, and the others stay where they are: what the page shows is what the session says."""
    b.wait("document.querySelectorAll('.alone').length === 2")
    t.equal([r[3:5] for r in rows(b, 'live-streams')], [['0', '2'], ['2', '0'], ['1', '0']], 'queues, and what is finished')
    press(b, '#next-stream-1')
    b.wait("document.querySelectorAll('#live-streams tbody tr')[1].cells[4].textContent === '1' && !studioLive.moving")
    t.equal([r[:5] for r in rows(b, 'live-streams')][1:], [['1', 'Running', '#19', '1', '1'], ['2', 'Running', '#21', '1', '0']], 'the launch of stream 1 is over')
    t.equal(b.value('studioLive.position.seq'), 21, 'nothing was submitted')
    press(b, '#stepOut-stream-2')
    b.wait("document.querySelectorAll('.alone').length === 1 && !studioLive.moving")
    t.equal([r[:5] for r in rows(b, 'live-streams')][1:], [['1', 'Running', '#19', '1', '1'], ['2', 'Idle', '', '0', '1']], 'stream 2 is, too')


def test_inside_a_launch(t):
    """One stream alone; into a launch, by lines and instructions, both ways, another lane and block, its variables, and out."""
    browser.chromium()
    recorded(t)
    with open(os.path.join(e2e.SRC, 'examples', 'race_demo.cu'), encoding='utf-8') as f:
        source = f.read().splitlines()
    with studio(t) as s, window(t, s) as b:
        def place():
            b.wait("!studioLive.moving && !!document.getElementById('kernel-place')")
            b.settle()
            return text(b, '#kernel-place'), text(b, '#kernel-code')

        def until(what, value):
            b.wait(f'!studioLive.moving && document.querySelector({json.dumps(what)})?.textContent.includes({json.dumps(value)})')
        b.value('studioLive.goto(21)')
        at(b, 21)
        one_stream_alone(t, b)
        b.value('studioLive.goto(21)')
        b.wait("document.querySelectorAll('.alone').length === 2 && !studioLive.moving")
        b.key('i')
        until('#kernel-place', 'Inside #21: block (0,0,0), thread (0,0,0)')
        t.match('^Inside #21 consume', text(b, '#where'))
        first = int(place()[1].split(':')[0])
        t.equal(len(b.value("[...document.querySelectorAll('#kernel-lanes .lane.active')].map((x) => x.textContent)")), 32, 'lanes')
        t.equal([r[0] for r in rows(b, 'kernel-warps')], [str(n) for n in range(8)], 'warps of 256 threads')
        values_ = {r[0]: r[2] for r in rows(b, 'kernel-arguments')}
        t.equal((list(values_), values_['n']), (['sum', 'in', 'n'], '1024'), 'arguments')
        # on by a line, by an instruction, and back
        press(b, '#kernel-line')
        line = [n for n, x in enumerate(source, 1) if 'int i = blockIdx.x' in x][-1]
        until('#kernel .place', f'race_demo.cu:{line}')
        before = place()[1]
        press(b, '#kernel-instruction')
        b.wait(f"!studioLive.moving && document.getElementById('kernel-code').textContent !== {json.dumps(before)}")
        t.check(int(place()[1].split(':')[0]) > first, 'an instruction further')
        # lanes that differ are shown one by one
        for _ in range(6):
            before = place()[1]
            press(b, '#kernel-instruction')
            b.wait(f"!studioLive.moving && document.getElementById('kernel-code').textContent !== {json.dumps(before)}")
        press(b, '#kernel-registers summary')
        b.value("[...document.querySelectorAll('#kernel-registers tr')].find((r) => r.cells[0].textContent === '%r5').querySelector('button').click()")
        b.wait("[...document.querySelectorAll('#kernel-registers tr')].some((r) => r.cells[2].textContent.startsWith('0 1 2 3 '))")
        # another thread of the warp, and another block, which then runs first
        press(b, '#kernel-lanes button:nth-of-type(6)')
        until('#kernel-place', 'thread (5,0,0)')
        press(b, '#kernel-blocks tbody tr:last-child button')
        until('#kernel-place', 'block (1,0,0)')
        press(b, '#kernel-out')
        b.wait("!studioLive.moving && document.getElementById('kernel')?.hidden")
        t.match('^Behind #21 consume', text(b, '#where'))
        t.equal(b.value('studioLive.position.seq'), 21, 'the launch')


# --- memory, races, other orders ---

def values(b, table='memory-now'):
    return b.value(f"[...document.querySelectorAll('#{table} td.n')].map((c) => c.textContent)")


def read(b, address, as_type, count, other=''):
    """Types into the form of the pane "Memory", and reads."""
    b.value(f'''(() => {{
        const set = (id, v) => document.getElementById(`memory-${{id}}`).value = v;
        set('address', {json.dumps(address)}); set('type', {json.dumps(as_type)}); set('count', {count}); set('other', {json.dumps(other)});
        document.getElementById('memory-values').replaceChildren();
    }})()''')
    press(b, '#memory-read')
    b.wait("document.getElementById('memory-values').childNodes.length > 0")


def test_the_missing_wait(t):
    """The scenario of docs/studio.md: to the wrong sum, back to who wrote it, both streams, the missing wait, the order that fails."""
    browser.chromium()
    recorded(t)
    with studio(t) as s, window(t, s) as b:
        # to a sum that may be wrong: the first launch of consume
        b.go('#find=consume&tab=replay')
        b.value("document.getElementById('find').focus()")
        b.key('Enter')
        press(b, '#tab-replay')
        press(b, '#move-here')
        at(b, 21)
        # what it adds: its argument `in`, in the order of the parameters the second one
        press(b, '#tab-memory')
        b.wait("document.querySelectorAll('#memory-arguments button').length === 2")
        press(b, '#memory-arguments button:last-of-type')
        b.wait("!!document.querySelector('#memory-now')")
        t.equal(values(b), ['1'] * 16, 'what consume adds in the first round')
        # backwards to who wrote it, twice: by asking, and by running backwards until it changes
        press(b, '#back-to-writer')
        at(b, 18)
        t.match('^#18 produce<<<', text(b, '.writer'), 'who wrote it')
        b.value('studioLive.goto(21)')
        at(b, 21)
        b.wait("!!document.querySelector('#watch')")
        press(b, '#watch')
        b.wait("document.querySelector('#watch').ariaPressed === 'true'")
        press(b, '#move-reverseContinue')
        at(b, 18)
        press(b, '#watch')
        b.wait("document.querySelector('#watch').ariaPressed === 'false'")
        # both streams' states
        press(b, '#tab-replay')
        b.value('studioLive.goto(21)')
        at(b, 21)
        b.wait("document.querySelector('#live-streams tbody tr:last-child td:nth-child(3)').textContent === '#21'")
        t.equal([r[:3] for r in rows(b, 'live-streams')][1:], [['1', 'Running', '#18'], ['2', 'Running', '#21']], 'both are running')
        # which wait is missing
        press(b, '#tab-races')
        press(b, '#races-look')
        b.wait("!!document.querySelector('.cure')")
        t.match('What is missing: cuStreamWaitEvent on stream 2 before #21', text(b, '.cure'))
        t.equal(b.value("[...document.querySelectorAll('.side .link')].slice(0, 2).map((x) => x.textContent.slice(0, 11))"), ['#18 produce', '#21 consume'], 'side by side')
        press(b, '.why')
        b.wait("!!document.querySelector('pre.order')")
        t.match('waits for nothing of stream 1', text(b, 'pre.order'))
        # the order that fails
        b.value("document.getElementById('explore-budget').value = '40'")
        press(b, '#explore')
        b.wait("!!document.querySelector('.replay-order')")
        t.match('Order 1: #21 before #18', text(b, '#orders h3'))
        press(b, '.replay-order')
        b.wait("!!document.documentElement?.dataset.ready && !!document.querySelector('#schedule-note')")
        t.match('^race.schedule-1.sbt', text(b, '#program'))
        b.wait("document.getElementById('where').textContent.startsWith('At the beginning')")
        launches = b.value("(() => { const { trace } = report.model.sides[0]; return [...trace.seq].flatMap((q, i) => (trace.kindName(i) === 'launch' ? [[q, trace.nameOf(i)]] : [])); })()")
        t.equal([n for _, n in launches[:2]], ['consume', 'produce'], 'in this order consume comes first')
        b.value(f'studioLive.goto({launches[0][0]})')
        at(b, launches[0][0])
        press(b, '#tab-memory')
        press(b, '#memory-arguments button:last-of-type')
        b.wait("!!document.querySelector('#memory-now')")
        t.equal(values(b), ['0'] * 16, 'and adds what is not there yet')
        # to the wrong sum, and backwards to who wrote it
        press(b, '#move-end')
        b.wait("studioLive.position?.seq > 60 && !studioLive.moving")
        read(b, '0x302001200', 'f32', 1)
        t.equal(values(b), ['54'], 'one round is not in the sum')
        press(b, '#watch')
        b.wait("document.querySelector('#watch').ariaPressed === 'true'")
        press(b, '#move-reverseContinue')
        b.wait("/^Behind #\\d+ consume/.test(document.getElementById('where').textContent) && !studioLive.moving")
        press(b, '#tab-replay')
        b.wait("document.querySelectorAll('#live-streams tbody tr')[2]?.cells[1].textContent === 'Running'")
        press(b, '#begin-again')
        b.wait("!!document.documentElement?.dataset.ready && document.getElementById('program').textContent.startsWith('race.sbt')")
        at(b, 0)


def test_memory(t):
    """Values are those that the shell's x shows; two places beside each other; who wrote, all the way back."""
    browser.chromium()
    recorded(t)
    script = ['replay start --on soft', 'goto 45', 'x/8fw 0x302001200', 'x/2xg 0x302001200', 'x/3db 0x302001200']
    shell = t.tsdb('--batch', 'race.sbt', *[w for x in script for w in ('-ex', x)]).out
    floats = [v for line in re.findall(r'^0x302001[0-9a-f]+.*?:\s+(.*)$', shell, re.M)[:2] for v in line.split()][:8]
    with studio(t) as s, window(t, s) as b:
        b.value('studioLive.goto(45)')
        at(b, 45)
        press(b, '#tab-memory')
        read(b, '302001200', 'f32', 8)
        t.equal([float(v) for v in values(b)], [float(v) for v in floats], 'as x shows them')
        read(b, '0x302001200 + 4', 'x32', 1)
        t.match('^0x[0-9a-f]{8}$', values(b)[0])
        read(b, '0x302000000', 'i32', 4, '17')
        t.equal(values(b, 'memory-then'), ['0'] * 4, 'before the first round')
        t.equal(values(b), [str(0x40c00000)] * 4, 'in the sixth: 6.0')  # #44 is the sixth launch of produce
        t.match('^Behind #45: 4 of 4 differ$', text(b, '#memory-values h3:nth-of-type(2)'))
        press(b, '#history')
        b.wait("!!document.querySelector('#writers')")
        t.equal(b.value("[...document.querySelectorAll('#writers .link')].map((x) => x.textContent.split(' ')[0])"), [f'#{n}' for n in (44, 39, 34, 29, 24, 18, 11, 9)], 'all who wrote, from the allocation on')
        for address, why in (('0x10', 'no memory at 0x10'), ('zz', 'An address is'), ('0x302000000', '1 to 4096 values')):
            read(b, address, 'f32', 4 if address != '0x302000000' else 4097)
            t.match(why, text(b, '#memory-values'))
        b.wait("document.querySelector('#memory-values .bad') !== null")


def change(b, value):
    """Types another value in place of the chosen one."""
    b.value(f"document.getElementById('memory-value').value = {json.dumps(value)}; document.getElementById('memory-about').replaceChildren()")
    press(b, '#memory-write')
    b.wait("document.getElementById('memory-about').childNodes.length > 0")


def test_memory_is_typed_over(t):
    """A value in place of another: the replay goes on with it, says that it is a what-if, and forgets it; the trace stays as it is."""
    browser.chromium()
    recorded(t)
    with open(t.path('race.sbt'), 'rb') as f:
        trace = f.read()
    with studio(t) as s, window(t, s) as b, window(t, s) as other:
        b.value('studioLive.goto(20)')  # before the first consume: what it will add is there
        at(b, 20)
        press(b, '#tab-memory')
        read(b, '0x302000000', 'f32', 2)
        t.equal(values(b), ['1', '1'], 'what produce wrote')
        # What is being typed stays when the memory is read again, as a change from elsewhere has it done.
        b.value("window.before = document.getElementById('memory-value'); window.before.value = '77'; studioLive.memory.read(); 0")
        b.wait("document.getElementById('memory-value') && document.getElementById('memory-value') !== window.before")
        t.equal(b.value("document.getElementById('memory-value').value"), '77', 'what is being typed')
        change(b, '41.5')
        b.wait("document.querySelector('#memory-now .n')?.textContent === '41.5'")
        t.equal(values(b), ['41.5', '1'], 'one value, and no other')
        for x in (b, other):
            x.wait("!!document.getElementById('what-if')")
        b.key('n')
        at(b, 21)
        press(b, '#tab-replay')
        press(b, '#stepOut-stream-2')
        b.wait("document.querySelectorAll('#live-streams tbody tr')[2].cells[1].textContent === 'Idle' && !studioLive.moving")
        press(b, '#tab-memory')
        read(b, '0x302001200', 'f32', 2)
        t.equal(values(b), ['41.5', '1'], 'consume has added it')
        for type_, typed, bytes_ in (('f16', '2049', '0068'), ('x64', '0xfffffffffffffffe', 'feffffffffffffff')):
            read(b, '0x302001200', type_, 1)
            change(b, typed)
            b.wait("!!document.getElementById('memory-written')")
            got = s.ask('readMemory', memoryReference='0x302001200', count=len(bytes_) // 2)['data']
            t.equal(base64.b64decode(got).hex(), bytes_, f'{typed} as {type_}')
        change(b, '0x1ffffffffffffffff')
        b.wait("document.getElementById('memory-about').textContent.includes('is no value of the type x64')")
        # a window that opens now is told, too; and all forget it
        with window(t, s) as third:
            third.wait("!!document.getElementById('what-if')")
        press(b, '#forget-change')
        at(b, 0)
        for x in (b, other):
            x.wait("!document.getElementById('what-if')")
        b.value('studioLive.goto(20)')
        at(b, 20)
        read(b, '0x302000000', 'f32', 2)
        t.equal(values(b), ['1', '1'], 'the recorded memory')
    with open(t.path('race.sbt'), 'rb') as f:
        t.equal(f.read(), trace, 'the trace')


NODE = '''
import { bytesOfValue } from %s;
let text = '';
for await (const part of process.stdin)
    text += part;
console.log(JSON.stringify(JSON.parse(text).map(([type, typed]) => bytesOfValue(typed, type)?.reduce((a, x) => a + x.toString(16).padStart(2, '0'), '') ?? null)));
'''


def bf16(v):
    """The nearest one of a float32, the even one of two."""
    bits = struct.unpack('<I', struct.pack('<f', v))[0]
    return struct.pack('<H', (bits + 0x7fff + (bits >> 16 & 1)) >> 16)


def test_values_that_are_typed(t):
    """What becomes of a text as a type's bytes, against Python's struct, for numbers at random and at the types' edges; else it is refused."""
    node = shutil.which('node')
    if not node:
        raise e2e.Skip('needs node')
    r, rows_ = random.Random(7), []
    for typed, code, low, high in (('i8', 'b', -128, 127), ('u8', 'B', 0, 255), ('i32', 'i', -1 << 31, (1 << 31) - 1), ('u32', 'I', 0, (1 << 32) - 1),
                                   ('i64', 'q', -1 << 63, (1 << 63) - 1), ('u64', 'Q', 0, (1 << 64) - 1)):
        rows_ += [(typed, str(n), struct.pack('<' + code, n)) for n in (low, high, 0, 1, *(r.randint(low, high) for _ in range(20)))]
        rows_ += [(typed, x, None) for x in (str(low - 1), str(high + 1), '1.5', '', '1 2', '0x', '--1', '1e3', '+1')]
    rows_ += [('x32', '0xfffffffe', b'\xfe\xff\xff\xff'), ('x64', '0xfffffffffffffffe', b'\xfe' + b'\xff' * 7), ('x32', '0x100000000', None)]
    for v in [0.0, -0.0, 65504.0, 65519.999, 2049.0, 2051.0, 6e-8, 2.9e-8, 2 ** -24, 2 ** -25, 3 * 2 ** -26, 2 ** -14, 2 ** -14 - 2 ** -26, 0.99999, 1 - 2 ** -12, 1 - 2 ** -13,
              *(r.choice((-1, 1)) * r.uniform(1, 2) * 2.0 ** r.randint(-28, 15) for _ in range(2000))]:
        with contextlib.suppress(OverflowError):
            rows_.append(('f16', repr(v), struct.pack('<e', v)))
        f = struct.unpack('<f', struct.pack('<f', v))[0]
        rows_ += [('f32', repr(f), struct.pack('<f', f)), ('f64', repr(v), struct.pack('<d', v)), ('bf16', repr(f), bf16(f))]
    rows_ += [('f16', '65520', b'\0\x7c'), ('f16', '-inf', b'\0\xfc'), ('bf16', '3.4e38', b'\x80\x7f'), ('bf16', 'nan', b'\xc0\x7f'), ('f32', 'Infinity', b'\0\0\x80\x7f'), ('f32', '.5', b'\0\0\0\x3f')]
    rows_ += [(k, x, None) for k in ('f16', 'bf16', 'f32', 'f64') for x in ('', 'one', '1 2', '0x10', '1e', '.', 'nano')]
    module = './page-values.mjs'  # by this name every node takes it for a module
    shutil.copyfile(os.path.join(e2e.SRC, 'src/studio/page/studio-values.js'), t.path(module))
    with open(t.path('values.mjs'), 'w', encoding='utf-8') as f:
        f.write(NODE % json.dumps(module))
    got = subprocess.run([node, '--no-warnings', t.path('values.mjs')], input=json.dumps([x[:2] for x in rows_]), capture_output=True, text=True, check=False, timeout=120)
    t.equal(got.stderr, '', 'node')
    wrong = [(x[:2], y, x[2] and x[2].hex()) for x, y in zip(rows_, json.loads(got.stdout)) if y != (x[2] and x[2].hex())]
    t.equal(wrong[:5], [], f'{len(wrong)} of {len(rows_)}')


def test_other_orders_are_cancelled(t):
    """Long work is shown in every window, also in one that is opened meanwhile, and any of them ends it."""
    browser.chromium()
    recorded(t)
    with studio(t) as s, window(t, s) as a, window(t, s) as b:
        a.value('studioLive.goto(21)')
        at(a, 21)
        press(a, '#tab-races')
        press(b, '#tab-races')
        a.value("document.getElementById('explore-budget').value = '300s'")
        press(a, '#explore')
        b.wait("!document.getElementById('explore-cancel').hidden && /^schedules|^executed again/.test(document.getElementById('explore-said').textContent)")
        t.equal(b.value("document.getElementById('explore').disabled"), True, 'nobody begins another one meanwhile')
        with window(t, s) as late:
            t.equal(late.value('studioLive.position?.seq'), 21, 'the place')
            t.match('^Behind #21 consume', text(late, '#where'))
            press(late, '#tab-races', quiet=False)
            t.equal(late.value("document.getElementById('explore-cancel').hidden"), False, 'the work is shown')
            press(late, '#explore-cancel', quiet=False)
            a.wait("!!document.querySelector('#explore-result, #explore-why')")
            late.wait("document.getElementById('explore-cancel').hidden && document.querySelectorAll('#live-streams tbody tr').length === 3")
        b.wait("document.getElementById('explore-cancel').hidden")
        t.match('cancelled|interrupted', a.value("document.querySelector('#explore-result, #explore-why').textContent"))
        press(a, '#move-next')
        at(a, 22)
        at(b, 22)


def test_what_is_killed_is_said(t):
    """The replayer, then the session's tsdb: a sentence in the page, and a way on."""
    browser.chromium()
    recorded(t)
    with studio(t) as s, window(t, s) as b:
        b.value('studioLive.goto(21)')
        at(b, 21)
        os.kill(below(s.process.pid)['tsdb-replayer'], signal.SIGKILL)
        press(b, '#move-next')
        b.wait("!document.getElementById('banner').hidden && !studioLive.moving")
        # at #22 where the signal came to it when it had that command already
        t.match('the replayer died at #2[12]: signal 9', text(b, '#banner'), 'what the page says of the replayer')
        press(b, '#move-next')
        at(b, 22)
        t.equal(b.value("document.getElementById('banner').hidden"), True, 'it was started again')
        os.kill(below(s.process.pid)['--serve=3'], signal.SIGKILL)
        b.value("studioLive.move('next')")
        b.wait("studioLive.status.state === 'ended'")
        t.match('The session has ended|the session', text(b, '#banner'))
        t.equal(text(b, '#where'), 'There is no replay', 'the place')
        press(b, '#begin-again')
        b.wait("studioLive.status.state === 'live'")
        at(b, 0)
        press(b, '#move-next')
        at(b, 1)
        os.kill(below(s.process.pid)['dap'], signal.SIGKILL)
        b.wait("studioLive.status.state === 'ended'")
        press(b, '#begin-again')
        b.wait("studioLive.status.state === 'live'")
        at(b, 0)
    t.equal(s.process.returncode, 0, 'it ended in order')


# --- who gets nothing ---

def refused(t, s, status, method, path, body=None, **headers):
    got, said = s.http(method, path, body, **headers)
    t.equal(got, status, f'{method} {path} {headers}: {said}')
    t.no_match('"seq":|doctype|success":true', said, f'{method} {path} {headers}')
    return said


def test_strangers(t):
    """Another name, another page, no token, a wrong one: none of them gets anything of the session."""
    recorded(t)
    asks = json.dumps({'command': 'tsdb/position'}).encode()
    with studio(t) as s:
        for method, path, body in (('POST', '/ask', asks), ('GET', '/trace', None), ('GET', '/events', None)):
            refused(t, s, 403, method, path, body, Authorization=None)
            refused(t, s, 403, method, path, body, Authorization='Bearer ' + '0' * 32)
            refused(t, s, 403, method, path, body, Authorization='Bearer ' + s.token[:-1])
            refused(t, s, 403, method, path, body, Authorization=s.token)
            refused(t, s, 403, method, path, body, Host=f'attacker.example:{s.port}')
            refused(t, s, 403, method, path, body, Host='127.0.0.1')
            refused(t, s, 400, method, path, body, Host=None)
            refused(t, s, 403, method, path, body, Origin='http://attacker.example')
            refused(t, s, 403, method, path, body, Origin='null')
            refused(t, s, 403, method, path, body, Origin=f'http://attacker.example:{s.port}', Host=f'attacker.example:{s.port}')
            refused(t, s, 403, method, path, body, Origin=f'http://localhost:{s.port}')  # of another origin than Host's
            refused(t, s, 403, method, path, body, Sec_Fetch_Site='cross-site')
            refused(t, s, 403, method, path + f'?token={s.token}', body, Authorization=None)
            refused(t, s, 400, method, path + '?x=1', body)
        for path in ('/ask', '/nothing', '/../../etc/passwd', '/..%2f..%2fetc/passwd', '//etc/passwd', '/trace/', '/./trace', '/index.html', f'/{s.token}'):
            t.no_match('root:', refused(t, s, 405 if path == '/ask' else 404, 'GET', path), path)
            refused(t, s, 403, 'GET', path, Authorization=None)
        for method in ('PUT', 'DELETE', 'OPTIONS', 'TRACE', 'PATCH'):
            refused(t, s, 405, method, '/trace')
        refused(t, s, 403, 'GET', '/', Host='attacker.example')
        # the page itself is no secret: it has nothing of the trace and no token
        status, page = s.http('GET', '/', Authorization=None)
        t.equal(status, 200, 'the page')
        t.no_match(f'{s.token}|race\.sbt|race_demo', page, 'the page')
        policy = s.answered.getheader('Content-Security-Policy')
        t.match("^default-src 'none'; script-src 'sha256-[^ ']+'; style-src 'sha256-[^ ']+'; img-src data:; connect-src 'self'; ", policy)
        t.match("frame-ancestors 'none'", policy)
        t.equal(s.answered.getheader('Access-Control-Allow-Origin'), None, 'who else may read it')
        s.live()
        t.equal(s.ask('tsdb/position')['answer']['seq'], 0, 'and the session has not moved')
        t.equal(s.http('GET', '/trace', Host=f'localhost:{s.port}', Origin=f'http://localhost:{s.port}')[0], 200, 'by its other name')
        listening = [x.split() for x in open('/proc/net/tcp', encoding='ascii') if x.split()[3] == '0A' and int(x.split()[1].split(':')[1], 16) in (s.port,)]
        t.equal([x[1].split(':')[0] for x in listening], ['0100007F'], 'it listens on 127.0.0.1 alone')
    t.equal(sum(x.count(s.token) for x in s.said), 1, 'the token is printed once')


STRANGER = '''
import encodings.idna, os, socket, sys  # what the other user may not be able to read
os.setuid(65534)
c = socket.create_connection(('127.0.0.1', int(sys.argv[1])), timeout=60)
try:
    c.sendall(sys.argv[2].encode())
    print(c.recv(4096).decode())
except ConnectionError:
    pass
'''


def test_other_users(t):
    """One who has the token, and is another user of this machine, gets nothing; unless that was asked for. Root, who can be anybody, tries it."""
    if os.geteuid() != 0:
        raise e2e.Skip('needs root, to be another user')
    recorded(t)

    def tries(s):
        head = ''.join(f'{k}: {v}\r\n' for k, v in s.headers().items())
        r = t.run([sys.executable, '-c', STRANGER, str(s.port), f'GET /events HTTP/1.1\r\n{head}X-Tsdb-After: 0\r\n\r\n'])
        t.equal(r.err, '', 'the stranger')
        return r.out.strip()
    with studio(t) as s:
        s.live()
        t.equal(tries(s), '', 'of another user')
        t.equal(tries(s), '', 'and again')
        t.match('"events":', s.http('GET', '/events')[1], 'of its own')
    t.equal(s.said[-1].splitlines(), ['A connection of the user 65534 was refused. With --any-user the token alone decides.'], 'said once')
    with studio(t, '--any-user') as s:
        s.live()
        t.match('HTTP/1.1 200 OK', tries(s), 'when any user may')


def test_questions_that_are_none(t):
    """Whoever has the token still gets no shell: only what the page asks is asked, with arguments that fit."""
    recorded(t)
    with studio(t) as s:
        s.live()
        for body in (b'', b'{', b'[]', b'1', b'{"command": 1}', b'{"command": "next", "command": "next"}', b'{"command": "next", "x": 1}', b'\xff\xfe',
                     b'{"command": "tsdb/goto\\u0000"}', b'{"command": "next", "arguments": []}', b'[' * 60000):
            refused(t, s, 400, 'POST', '/ask', body)
        for command, arguments in (('evaluate', {'expression': 'shell true'}), ('launch', {'program': '/bin/true'}), ('attach', {'pid': 1}), ('disconnect', {}),
                                   ('source', {}), ('initialize', {}), ('tsdb/goto', {'place': 'nvtx x'}), ('tsdb/goto', {'seq': -1}), ('tsdb/goto', {'seq': 1.5}),
                                   ('tsdb/goto', {'seq': '21'}), ('tsdb/goto', {'seq': 2 ** 60}), ('tsdb/explore', {'budget': '1; shell true'}),
                                   ('tsdb/whoWrote', {'memoryReference': '0x1\nshell true'}), ('readMemory', {'memoryReference': '0x302000000', 'count': 1 << 30}),
                                   ('setDataBreakpoints', {'breakpoints': [{'dataId': '0x1 4', 'accessType': 'write', 'condition': 'x'}]}),
                                   ('tsdb/schedule', {'number': 1, 'step': 'yes'}), ('next', {'granularity': 'statement'}),
                                   ('tsdb/focus', {'block': '(0,0,0) thread (1,0,0)'}), ('setVariable', {'variablesReference': 1, 'name': 'n', 'value': '1'}),
                                   ('writeMemory', {'memoryReference': '0x302000000', 'data': 'AAAA\n'})):
            said = refused(t, s, 400, 'POST', '/ask', json.dumps({'command': command, 'arguments': arguments}).encode())
            t.match('the page asks no|takes no|cannot be that', said, command)
        t.equal(s.ask('tsdb/position')['answer']['seq'], 0, 'the session has not moved')
        # what an error says is said, and the session lives
        _, said = s.http('POST', '/ask', json.dumps({'command': 'tsdb/whoWrote', 'arguments': {'memoryReference': '0x10'}}).encode())
        t.match('nothing has been executed', json.loads(said)['message'])
        t.equal(s.move('tsdb/goto', seq=21)['seq'], 21, 'it moves')


def raw(s, data=b''):
    c = socket.create_connection(('127.0.0.1', s.port), timeout=60)
    c.sendall(data)
    return c


def test_a_load_of_requests(t):
    """Slow clients, huge bodies, those that leave, and a thousand at once; the session stays, and answers."""
    recorded(t)
    ask = json.dumps({'command': 'tsdb/position'}).encode()
    with studio(t) as s:
        s.live()
        head = ''.join(f'{k}: {v}\r\n' for k, v in s.headers().items()).encode()
        slow = [raw(s, part) for part in (b'', b'GET', b'GET /ask HTTP/1.1\r\nHost: 127', b'POST /ask HTTP/1.1\r\n' + head + b'Content-Length: 100\r\n\r\n{')]
        # a head that does not end, a body that is too long, said or not
        refused(t, s, 413, 'POST', '/ask', b'x' * 70000)
        with raw(s, b'POST /ask HTTP/1.1\r\n' + head + b'Content-Length: 99999999999999999999\r\n\r\n') as c:
            t.check(b' 4' in c.recv(4096)[:14], 'a length that cannot be')
        for data in (b'GET / HTTP/1.1\r\n' + b'x: ' + b'y' * 100000, b'POST /ask HTTP/1.1\r\n' + head + b'Transfer-Encoding: chunked\r\n\r\n' + b'ffff\r\n' + b'x' * 65535 + b'\r\nffff\r\n' + b'x' * 65535 + b'\r\n0\r\n\r\n'):
            with contextlib.suppress(ConnectionError, BrokenPipeError), raw(s, data) as c:
                t.check(b' 200 ' not in c.recv(4096), 'what is too long is no question')
        # those that do not wait for their answer
        for _ in range(20):
            raw(s, b'POST /ask HTTP/1.1\r\n' + head + b'Content-Length: %d\r\n\r\n' % len(ask) + ask).close()
            raw(s, b'GET /trace HTTP/1.1\r\n' + head + b'\r\n').close()
            raw(s, b'GET /events HTTP/1.1\r\n' + head + b'X-Tsdb-After: 9999\r\n\r\n').close()
        answers, lock = [], threading.Lock()

        def some(n):
            for _ in range(n):
                status, said = s.http('POST', '/ask', ask)
                with lock:
                    answers.append((status, json.loads(said).get('success', False)))
        threads = [threading.Thread(target=some, args=(10,)) for _ in range(100)]
        for x in threads:
            x.start()
        for x in threads:
            x.join()
        t.equal(len(answers), 1000, 'a thousand answers')
        t.check(set(answers) <= {(200, True), (503, False)}, f'all are answers: {set(answers)}')
        t.check(answers.count((200, True)) > 500, 'most of them of the session')
        t.equal(s.move('tsdb/goto', seq=21)['seq'], 21, 'and it moves')
        for c in slow:
            c.settimeout(60)
            t.check(c.recv(4096)[:12] in (b'', b'HTTP/1.1 400', b'HTTP/1.1 408'), 'the slow ones are cut, in the end')
            c.close()


def drained(c):
    """All that comes until it is closed, in whatever way."""
    data = b''
    with contextlib.suppress(ConnectionError), c:
        while part := c.recv(65536):
            data += part
    return data


def test_a_thousand_at_once(t):
    """A thousand connections with a question each, none of which waits for another: all end, with an answer or a refusal, and it goes on."""
    recorded(t)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < 1500:
        raise e2e.Skip('a process may not have a thousand files')
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 1500), hard))
    ask = json.dumps({'command': 'tsdb/position'}).encode()
    with studio(t) as s:
        s.live()
        head = ''.join(f'{k}: {v}\r\n' for k, v in s.headers(Connection='close').items()).encode()
        asked = [raw(s, b'POST /ask HTTP/1.1\r\n' + head + b'Content-Length: %d\r\n\r\n' % len(ask) + ask) for _ in range(1000)]
        answers = [(x[9:12], b'"success":true' in x) for x in map(drained, asked)]
        t.check(set(answers) <= {(b'200', True), (b'503', False), (b'', False)}, f'each is an answer, or none: {set(answers)}')
        t.check(answers.count((b'200', True)) > 100, f'{answers.count((b"200", True))} answers')
        t.equal(s.move('tsdb/goto', seq=21)['seq'], 21, 'and it moves')


# --- its end ---

def below(pid):
    """What runs because of this process: {what: pid}."""
    found = {}
    with contextlib.suppress(OSError):
        for child in [c for task in os.listdir(f'/proc/{pid}/task') for c in open(f'/proc/{pid}/task/{task}/children', encoding='ascii').read().split()]:
            with open(f'/proc/{child}/cmdline', 'rb') as f:
                words = f.read().split(b'\0')
            if not running(child):
                continue  # not waited for yet
            name = words[1] if os.path.basename(words[0]) == b'tsdb' and len(words) > 1 else os.path.basename(words[0])
            found = {**found, name.decode(): int(child), **below(child)}
    return found


def running(pid):
    with contextlib.suppress(OSError), open(f'/proc/{pid}/stat', encoding='ascii') as f:
        return f.read().rpartition(')')[2].split()[0] not in 'ZX'
    return False


def test_it_leaves_nothing(t):
    recorded(t)
    for sig in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
        s = Studio(t)
        s.live()
        until = time.monotonic() + 60  # the report of the trace is written first
        while 'report' in (runs := below(s.process.pid)) and time.monotonic() < until:
            time.sleep(0.05)
        t.equal(sorted(runs), ['--serve=3', 'dap', 'tsdb-replayer'], 'what runs')
        t.equal(s.end(sig), 0 if sig != signal.SIGKILL else -signal.SIGKILL, 'the exit status')
        t.equal(t.left_running(), [], f'what still runs after signal {sig}')
        until = time.monotonic() + 30
        while (left := [what for what, pid in runs.items() if running(pid)]) and time.monotonic() < until:
            time.sleep(0.05)
        t.equal(left, [], f'what still runs after signal {sig}')


def test_words(t):
    """What cannot be shown is said before a browser is opened."""
    recorded(t)
    t.sentence(t.tsdb('studio'), 'needs a trace')
    t.sentence(t.tsdb('studio', 'race.sbt', 'other.sbt'), 'shows one trace')
    t.sentence(t.tsdb('studio', 'race.sbt', '--listen'), 'no option --listen')
    t.sentence(t.tsdb('studio', 'race.sbt', '--port', '0'), 'is no port')
    t.sentence(t.tsdb('studio', 'race.sbt', '--port', '70000'), 'is no port')
    t.sentence(t.tsdb('studio', 'race.sbt', '--on', 'moon'), 'is no device')
    t.sentence(t.tsdb('studio', 'none.sbt'), 'none.sbt')
    with open(t.path('bad.sbt'), 'w', encoding='ascii') as f:
        f.write('no trace')
    t.sentence(t.tsdb('studio', 'bad.sbt'), 'bad.sbt')
    with studio(t) as s:
        t.sentence(t.tsdb('studio', '--port', str(s.port), 'race.sbt'), 'cannot listen on 127.0.0.1')
