# SPDX-License-Identifier: Apache-2.0
"""tsdb studio: a server on the loopback device, a page in headless Chromium, and those who should get nothing."""
import contextlib
import http.client
import json
import os
import re
import signal
import socket
import subprocess
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


def test_other_orders_are_cancelled(t):
    """Long work is shown in every window, and any of them ends it."""
    browser.chromium()
    recorded(t)
    with studio(t) as s, window(t, s) as a, window(t, s) as b:
        press(a, '#tab-races')
        press(b, '#tab-races')
        a.value("document.getElementById('explore-budget').value = '300s'")
        press(a, '#explore')
        b.wait("!document.getElementById('explore-cancel').hidden && /^schedules|^executed again/.test(document.getElementById('explore-said').textContent)")
        t.equal(b.value("document.getElementById('explore').disabled"), True, 'nobody begins another one meanwhile')
        press(b, '#explore-cancel', quiet=False)
        a.wait("!!document.querySelector('#explore-result, #explore-why')")
        b.wait("document.getElementById('explore-cancel').hidden")
        t.match('cancelled|interrupted', a.value("document.querySelector('#explore-result, #explore-why').textContent"))
        press(a, '#move-next')
        at(a, 1)
        at(b, 1)


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
