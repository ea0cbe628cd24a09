# SPDX-License-Identifier: Apache-2.0
"""The extension in Visual Studio Code itself, by a browser: code-server is that editor behind a web page. Named by CODE_SERVER or in PATH;
`make check-vscode` runs these tests, and says which are skipped without it. HEX_EDITOR names a folder with Microsoft's hex editor as it is
installed (package.json, dist, media), for memory in it."""
import contextlib
import json
import os
import shutil
import socket
import subprocess
import time
import urllib.request

import browser
import e2e

SETTINGS = {'workbench.startupEditor': 'none', 'telemetry.telemetryLevel': 'off', 'security.workspace.trust.enabled': False, 'extensions.ignoreRecommendations': True,
            'debug.openDebug': 'openOnSessionStart', 'debug.internalConsoleOptions': 'openOnSessionStart', 'git.enabled': False, 'workbench.tips.enabled': False,
            'workbench.welcomePage.walkthroughs.openOnInstall': False, 'workbench.secondarySideBar.defaultVisibility': 'hidden', 'chat.commandCenter.enabled': False}


class Silent(list):
    """The editor's page logs errors of its own, about shops that it cannot reach: they are not this test's."""

    def append(self, _):
        pass


def code_server():
    path = os.environ.get('CODE_SERVER') or shutil.which('code-server')
    if not path:
        raise e2e.Skip('needs code-server (CODE_SERVER=PATH)')
    browser.chromium()
    return path


def free_port():
    with socket.socket() as s:
        s.bind(('127.0.0.1', 0))
        return s.getsockname()[1]


def write(path, value):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, 'w', encoding='utf-8') as f:
        json.dump(value, f)


def install(t, program):
    """The extension as it is packaged, if vsce is there; else its folder."""
    source = os.path.join(e2e.SRC, 'editors', 'vscode')
    vsce = os.environ.get('VSCE') or shutil.which('vsce')
    if vsce:
        r = t.run(['env', '-C', source, vsce, 'package', '--no-dependencies', '-o', t.path('tracesmith.vsix')])
        t.equal((r.status, 'WARNING' in r.both), (0, False), r.both)
        r = t.run([program, '--extensions-dir', t.path('extensions'), '--user-data-dir', t.path('data'), '--install-extension', t.path('tracesmith.vsix')], timeout=300)
        t.equal(r.status, 0, r.both)
    else:
        shutil.copytree(source, t.path('extensions/tracesmith.tracesmith-0.1.0'))


@contextlib.contextmanager
def editor(t, configurations):
    """The editor with a folder that has these launch configurations and race_demo's trace and source."""
    program, port = code_server(), free_port()
    t.need_soft()
    os.mkdir(t.path('work'))
    t.check(t.record('race_demo', out='work/race.sbt').status in (0, 1), 'recording; the sums may be wrong')
    shutil.copy(os.path.join(e2e.SRC, 'examples', 'race_demo.cu'), t.path('work'))
    write(t.path('work/.vscode/launch.json'), {'version': '0.2.0', 'configurations': configurations})
    write(t.path('data/User/settings.json'), {**SETTINGS, 'tracesmith.tsdb': e2e.tsdb_path()})
    install(t, program)
    with open(t.path('editor.log'), 'wb') as log:
        server = subprocess.Popen([program, '--bind-addr', f'127.0.0.1:{port}', '--auth', 'none', '--disable-telemetry', '--disable-update-check', '--disable-workspace-trust',
                                   '--user-data-dir', t.path('data'), '--extensions-dir', t.path('extensions')], cwd=t.path('work'), env=t.environment(), stdin=subprocess.DEVNULL,
                                  stdout=log, stderr=log, start_new_session=True)
    try:
        await_server(server, port)
        with browser.Browser(t) as b:
            b.errors = Silent()
            b.navigate(f'http://127.0.0.1:{port}/?folder={t.path("work")}')
            b.wait("!!document.querySelector('.monaco-workbench .activitybar')")
            yield b
    finally:
        server.terminate()
        server.wait()


def await_server(server, port):
    until = time.monotonic() + 120
    while server.poll() is None and time.monotonic() < until:
        if answers(port):
            return
        time.sleep(0.1)
    raise e2e.Failure('the editor does not listen')


def answers(port):
    with contextlib.suppress(OSError):
        with urllib.request.urlopen(f'http://127.0.0.1:{port}/healthz', timeout=5) as r:
            return r.status == 200
    return False


def has(what, text):
    """A condition: an element of this kind has the text; blanks of the editor's are no others."""
    return f"[...document.querySelectorAll({json.dumps(what)})].some((e) => e.textContent.replace(/\\s+/g, ' ').includes({json.dumps(text)}))"


def shows(b, what, text):
    b.wait(has(what, text))


def focused(b):
    """The row of the list that Enter would take."""
    return b.value("document.querySelector('.quick-input-list .monaco-list-row.focused')?.textContent.replace(/\\s+/g, ' ')") or ''


def open_list(b):
    b.wait("!!document.querySelector('.quick-input-widget input') && document.querySelector('.quick-input-widget').style.display !== 'none'")


def command(b, name):
    """By the list of commands. It is made when it is opened, and what an extension brings may not be in it yet: it is opened again then."""
    until = time.monotonic() + browser.ANSWER
    while time.monotonic() < until:
        b.key('F1')
        open_list(b)
        b.type(name)
        for _ in range(30):
            if name in focused(b):
                b.key('Enter')
                return
            time.sleep(0.1)
        b.key('Escape')
    raise e2e.Failure(f'the editor has no command {name}')


def choose(b, row):
    open_list(b)
    b.wait(f"document.querySelector('.quick-input-list .monaco-list-row.focused')?.textContent.replace(/\\s+/g, ' ').includes({json.dumps(row)})")
    b.key('Enter')


def click(b, what):
    """Once it can be: a button of the toolbar is disabled while the session moves."""
    at = f'document.querySelector({json.dumps(what)})'
    b.wait(f"!!{at} && !{at}.closest('[aria-disabled=true], .disabled')")
    b.settle()
    b.click(*b.value(f"(() => {{ const r = {at}.getBoundingClientRect(); return [r.x + r.width / 2, r.y + r.height / 2]; }})()"))


def move(b, button, place):
    """A button of the debugger's toolbar, until the stack is that one's: the editor drops a click that comes before it has looked at a stop."""
    until = time.monotonic() + browser.ANSWER
    while time.monotonic() < until:
        click(b, f'.debug-toolbar .codicon-debug-{button}')
        for _ in range(50):
            if b.value(has('.debug-call-stack .monaco-list-row', place)):
                return
            time.sleep(0.1)
    raise e2e.Failure(f'{button} does not lead to {place}')


def open_pane(b, name):
    b.value(f"[...document.querySelectorAll('.pane-header')].find((h) => h.textContent.includes({json.dumps(name)}) && h.ariaExpanded === 'false')?.click()")


REPLAY = {'type': 'tsdb', 'request': 'launch', 'name': 'Replay', 'trace': '${workspaceFolder}/race.sbt', 'on': 'soft'}


def to_the_race(b):
    """Begins the replay, and goes to the race that is found: #21."""
    b.wait("!!document.querySelector('.explorer-folders-view .monaco-list-row')")  # extensions are there
    command(b, 'Debug: Select and Start Debugging')
    b.type('Replay')
    choose(b, 'Replay')
    shows(b, '.pane-header', 'GPU streams')
    command(b, 'TraceSmith: Races')
    choose(b, '#18 produce<<<(4,1,1),(256,1,1)>>>, #21 consume<<<(4,1,1),(256,1,1)>>>')
    shows(b, '.debug-call-stack .monaco-list-row', '#21 consume<<<(4,1,1),(256,1,1)>>>')


def twist(b, row):
    """Opens or closes a row of the variables."""
    shows(b, '.debug-pane .monaco-list-row', row)
    b.value(f"[...document.querySelectorAll('.debug-pane .monaco-list-row')].find((x) => x.textContent.startsWith({json.dumps(row)})).querySelector('.monaco-tl-twistie').click()")


def test_disassembly(t):
    """Inside a launch the editor's view of the code: PTX below the lines of the source, and a step goes on in it."""
    with editor(t, [REPLAY]) as b:
        to_the_race(b)
        click(b, '.debug-toolbar .codicon-debug-step-into')
        shows(b, '.debug-call-stack .monaco-list-row', 'consume(float*, float const*, int)race_demo.cu23:1')
        command(b, 'Open Disassembly View')
        shows(b, '.disassembly-view .monaco-list-row', 'ld.param.u64 %rd1, [_Z7consumePfPKfi_param_0];')
        shows(b, '.disassembly-view .monaco-list-row', '23: __global__ void consume(float *sum, const float *in, int n)')


def test_memory_in_the_hex_editor(t):
    """The button at an argument opens its memory in Microsoft's hex editor."""
    folder = os.environ.get('HEX_EDITOR')
    if not folder:
        raise e2e.Skip("needs Microsoft's hex editor (HEX_EDITOR=FOLDER)")
    shutil.copytree(folder, t.path('extensions/ms-vscode.hexeditor-1.11.1'))
    with editor(t, [REPLAY]) as b:
        to_the_race(b)
        twist(b, 'Command')
        twist(b, 'Arguments')
        shows(b, '.debug-pane .monaco-list-row', 'in =0x302000000')
        row = "[...document.querySelectorAll('.debug-pane .monaco-list-row')].find((x) => x.textContent.startsWith('in ='))"
        b.mouse('mouseMoved', *b.value(f"(() => {{ const r = {row}.getBoundingClientRect(); return [r.x + 40, r.y + r.height / 2]; }})()"), 'none', 0)
        b.wait(f"!!{row}.querySelector('.codicon-debug-inspect-memory')")
        b.value(f"{row}.querySelector('.codicon-debug-inspect-memory').click()")
        shows(b, '.tab .label-name', 'memory.bin')
        b.wait("!!document.querySelector('iframe.webview.ready')")
        b.settle()
        b.screenshot(t.path('hex.png'))


def test_a_replay_in_the_editor_itself(t):
    """Its debugger begins, shows streams, finds the race, goes there, steps back, and its console answers."""
    with editor(t, [REPLAY]) as b:
        to_the_race(b)
        for row in ('stream 1 Running #18', 'stream 2 Running #21'):
            shows(b, '.debug-call-stack .monaco-list-row', row)
        open_pane(b, 'GPU streams')
        shows(b, '.pane .monaco-list-row', 'stream 1Running #18')
        command(b, 'TraceSmith: GPU Memory')
        open_list(b)
        b.type('0x302000000')
        b.key('Enter')
        shows(b, '.pane .monaco-list-row', '0x302000000' + '00 00 80 3f ' * 3 + '00 00 80 3f')
        move(b, 'step-over', '#22 event_record')
        move(b, 'step-back', '#21 consume<<<(4,1,1),(256,1,1)>>>')
        click(b, '.repl-input-wrapper .view-lines')
        b.type('order why 18 21')
        b.key('Enter')
        shows(b, '.repl .monaco-list-row', 'waits for nothing of stream 1')
