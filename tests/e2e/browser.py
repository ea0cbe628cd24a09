# SPDX-License-Identifier: Apache-2.0
"""A page in headless Chromium, driven through --remote-debugging-pipe: two pipes that carry JSON messages with a NUL after each. Needs no
package but chromium itself. What the page asks the network for, prints on the console or throws is kept for the test to judge."""
import base64
import contextlib
import json
import os
import re
import select
import shutil
import signal
import subprocess
import tempfile
import time

import e2e

ANSWER = 120  # seconds that one answer may take: what it waits for is decided by conditions, and this only ends a test that hangs
FLAGS = ['--headless', '--disable-gpu', '--no-first-run', '--no-default-browser-check', '--disable-extensions', '--disable-background-networking',
         '--disable-component-update', '--disable-sync', '--disable-dev-shm-usage', '--force-device-scale-factor=1', '--hide-scrollbars',
         '--disable-breakpad', '--remote-debugging-pipe']
KEYS = {'Enter': 13, 'Escape': 27, 'ArrowLeft': 37, 'ArrowUp': 38, 'ArrowRight': 39, 'ArrowDown': 40, 'Home': 36,
        'F1': 112, 'F5': 116}


def chromium():
    path = shutil.which('chromium') or shutil.which('chromium-browser') or shutil.which('google-chrome')
    if not path:
        raise e2e.Skip('needs chromium')
    return path


class Ended(e2e.Failure):
    """The browser is gone. Before its first answer that is a start to try again; later it is a failure."""


class Reloaded(e2e.Failure):
    """The document in which a script was evaluated has gone: the page loads itself anew."""


class Browser:
    def __init__(self, t, width=1400, height=900):
        self.t, self.size = t, (width, height)
        try:
            self.start()
        except Ended:
            self.close()
            self.start()
        target = self.call('Target.createTarget', url='about:blank')['targetId']
        self.session = self.call('Target.attachToTarget', targetId=target, flatten=True)['sessionId']
        for domain in ('Page', 'Runtime', 'Network', 'Log'):
            self.do(f'{domain}.enable')
        self.resize(width, height)

    def start(self):
        """A process of its own profile (one that another has open would be handed over to it, and this process end), with the two pipes as
        its descriptors 3 and 4, and its first answer. The shell moves them there from 0 and 1: between a fork and its exec nothing of Python
        runs, so that tests in other threads may start what they like meanwhile."""
        self.next, self.rest, self.requests, self.errors, self.committed = 0, b'', [], [], set()
        width, height = self.size
        profile = os.path.basename(tempfile.mkdtemp(prefix='chromium-', dir=self.t.dir))
        flags = [*FLAGS, f'--user-data-dir={self.t.path(profile)}', f'--window-size={width},{height}', *(['--no-sandbox'] if os.getuid() == 0 else [])]
        with open(self.t.path(profile + '.log'), 'wb') as log:
            self.process = subprocess.Popen(['/bin/sh', '-c', 'exec "$0" "$@" 3<&0 4>&1 </dev/null >/dev/null', chromium(), *flags], cwd=self.t.dir,
                                            env=self.t.environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, start_new_session=True)
        self.log, self.to, self.back = log.name, self.process.stdin.fileno(), self.process.stdout.fileno()
        self.call('Browser.getVersion')

    def ended(self):
        with open(self.log, encoding='utf-8', errors='replace') as f:
            raise Ended(f'the browser has ended; the end of what it wrote: {f.read()[-500:]}')

    def close(self):
        """Nothing of it is worth waiting for: its folder is the test's, and goes with it."""
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()
        for end in (self.process.stdin, self.process.stdout):
            try:
                end.close()
            except BrokenPipeError:
                pass

    def __enter__(self):
        return self

    def __exit__(self, *what):
        self.close()

    # -- messages
    def receive(self, until):
        """The next message; keeps what events tell."""
        while b'\0' not in self.rest:
            if not select.select([self.back], [], [], max(0, until - time.monotonic()))[0]:
                raise e2e.Failure('the browser does not answer')
            more = os.read(self.back, 1 << 20)
            if not more:
                self.ended()
            self.rest += more
        text, self.rest = self.rest.split(b'\0', 1)
        message = json.loads(text)
        what, p = message.get('method'), message.get('params', {})
        if what == 'Page.frameNavigated':
            self.committed.add(p['frame']['loaderId'])
        elif what == 'Network.requestWillBeSent':
            self.requests.append(p['request']['url'][:200])
        elif what == 'Runtime.exceptionThrown':
            d = p['exceptionDetails']
            self.errors.append(d.get('exception', {}).get('description') or d['text'])
        elif what == 'Log.entryAdded' and p['entry']['level'] == 'error':
            self.errors.append(p['entry']['text'])
        elif what == 'Runtime.consoleAPICalled' and p['type'] in ('error', 'warning', 'assert'):
            self.errors.append(str(p['args']))
        return message

    def call(self, method, session=None, **params):
        self.next += 1
        message = {'id': self.next, 'method': method, 'params': params}
        if session:
            message['sessionId'] = session
        try:
            os.write(self.to, json.dumps(message).encode() + b'\0')
        except BrokenPipeError:
            self.ended()
        until = time.monotonic() + ANSWER
        while True:
            reply = self.receive(until)
            if reply.get('id') == self.next:
                if 'error' in reply:
                    gone = re.search('target navigated|context was destroyed|find context', reply['error']['message'])
                    raise (Reloaded if gone else e2e.Failure)(f'{method}: {reply["error"]}')
                return reply['result']

    def do(self, method, **params):
        return self.call(method, self.session, **params)

    # -- the page
    def navigate(self, url):
        """Shows url in a new document, and returns when this document has taken the place of the old one. The answer to Page.navigate comes
        before that, and a script that is evaluated in between meets the old document, or none."""
        loader = self.do('Page.navigate', url=url).get('loaderId')
        if not loader:
            raise e2e.Failure(f'{url} is a place in the document that is shown')
        until = time.monotonic() + ANSWER
        while loader not in self.committed:
            self.receive(until)

    def open(self, name, fragment=''):
        """Opens a file of the test's folder, always anew, and waits until the report is shown."""
        self.navigate('about:blank')
        self.navigate(f'file://{self.t.path(name)}{fragment}')
        self.wait('document.documentElement?.dataset.ready')

    def wait(self, expression):
        """Until it is so, in this document or in one that takes its place meanwhile."""
        until = time.monotonic() + ANSWER

        def holds():
            try:
                return self.value(expression)
            except Reloaded:
                return False
        while not holds():
            if self.errors or time.monotonic() > until:
                raise e2e.Failure(f'never: {expression}; {self.errors}; the page says {self.value("document.body?.innerText.slice(0, 300)")!r}')
            time.sleep(0.02)

    def go(self, fragment, first=''):
        """Sets the URL's fragment, as a user does who edits the URL, and returns when the page has followed and drawn. What is done first
        is done by the same script, so that no frame comes between."""
        self.value(f'''new Promise((done) => {{
            {first}
            const before = location.href;
            addEventListener('hashchange', done, {{ once: true }});
            location.hash = {json.dumps(fragment)};
            if (location.href === before)
                done();
        }})''')
        self.settle()

    def value(self, expression):
        r = self.do('Runtime.evaluate', expression=expression, returnByValue=True, awaitPromise=True)
        if 'exceptionDetails' in r:
            d = r['exceptionDetails']
            raise e2e.Failure(f'{expression}: {d.get("exception", {}).get("description") or d["text"]}')
        return r['result'].get('value')

    def settle(self):
        """Two frames later everything is drawn, and the URL says where one is. A document that goes meanwhile draws no more."""
        with contextlib.suppress(Reloaded):
            self.value('new Promise((f) => requestAnimationFrame(() => requestAnimationFrame(() => f(1))))')

    def key(self, key, text=None, shift=False):
        code = KEYS.get(key) or ord(key.upper())
        common = {'key': key, 'windowsVirtualKeyCode': code, 'modifiers': 8 if shift else 0, **({'code': key} if key in KEYS else {})}
        down = {'type': 'keyDown', 'text': key if text is None and len(key) == 1 else text or ('\r' if key == 'Enter' else '')}
        self.do('Input.dispatchKeyEvent', **common, **down)
        self.do('Input.dispatchKeyEvent', **common, type='keyUp')
        self.settle()

    def type(self, text):
        self.do('Input.insertText', text=text)
        self.settle()

    def mouse(self, kind, x, y, button='left', buttons=1):
        self.do('Input.dispatchMouseEvent', type=kind, x=x, y=y, button=button, buttons=buttons, clickCount=1)

    def click(self, x, y):
        self.mouse('mousePressed', x, y)
        self.mouse('mouseReleased', x, y, buttons=0)
        self.settle()

    def resize(self, width, height):
        self.do('Emulation.setDeviceMetricsOverride', width=width, height=height, deviceScaleFactor=1, mobile=False)

    def scheme(self, name):
        self.do('Emulation.setEmulatedMedia', features=[{'name': 'prefers-color-scheme', 'value': name}])
        self.settle()

    def screenshot(self, path):
        with open(path, 'wb') as f:
            f.write(base64.b64decode(self.do('Page.captureScreenshot')['data']))
