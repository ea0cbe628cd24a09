# SPDX-License-Identifier: Apache-2.0
"""The text screen in a real terminal, which is tmux: what is on it at several sizes, its keys, and that the terminal is left as it was
found, also by signals."""
import os
import re
import shutil
import signal
import subprocess
import time

from e2e import Skip, program, tsdb_path
from replay import find, recorded


class Screen:
    """tmux with a shell in it, in which tsdb is started."""

    def __init__(self, t, columns=90, lines=26, **env):
        if not shutil.which('tmux'):
            raise Skip('no tmux')
        self.t, self.socket = t, t.path(f'tmux{len(os.listdir(t.dir))}')
        env = t.environment({'TERM': 'screen', 'TMUX': None, 'LINES': None, 'COLUMNS': None, 'NO_COLOR': '1', **env})
        subprocess.run(['tmux', '-S', self.socket, '-f', '/dev/null', 'new-session', '-d', '-x', str(columns), '-y', str(lines), 'bash --norc --noprofile'],
                       check=True, env=env, cwd=t.dir)
        self.wait(r'[$#]')
        self.type("PS1='shell> '")
        self.wait(r'^shell>')
        self.type('stty -a > modes.before; echo kept-text')
        self.wait(r'^kept-text$')

    def tmux(self, *args):
        return subprocess.run(['tmux', '-S', self.socket, *args], check=True, capture_output=True, text=True).stdout

    def screen(self):
        return self.tmux('capture-pane', '-p')

    def rows(self):
        return self.screen().split('\n')

    def row_of(self, pattern):
        """The last row that shows it."""
        found = [i for i, row in enumerate(self.rows()) if re.search(pattern, row)]
        self.t.check(found, f'{pattern!r} is not on the screen:\n{self.screen()}')
        return found[-1]

    def type(self, line):
        self.tmux('send-keys', '-l', line)
        self.tmux('send-keys', 'Enter')

    def text(self, text):
        self.tmux('send-keys', '-l', text)

    def keys(self, *keys):
        self.tmux('send-keys', *keys)

    def resize(self, columns, lines):
        self.tmux('resize-window', '-x', str(columns), '-y', str(lines))
        tty = self.tmux('display-message', '-p', '#{pane_tty}').strip()
        until = time.monotonic() + 30
        while time.monotonic() < until:  # tmux lets the program know a quarter of a second later
            if subprocess.run(['stty', '-F', tty, 'size'], capture_output=True, text=True, check=True).stdout.split() == [str(lines), str(columns)]:
                break
            time.sleep(0.05)
        time.sleep(0.3)

    def wait(self, pattern, seconds=60):
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            screen = self.screen()
            if re.search(pattern, screen, re.M):
                return screen
            time.sleep(0.1)
        self.t.check(False, f'{pattern!r} never came on the screen:\n{self.screen()}')

    def tsdb(self, *args):
        self.type(' '.join([tsdb_path(), '-q', '--no-init', '--gpu', 'soft', *args]))
        self.wait(r'^\(tsdb\)$')

    def do(self, line, shows=None):
        """Types a line; waits for what it shows, or, where the screen is not cleared, for the prompt behind the line."""
        self.type(line)
        screen = self.wait(shows or re.escape(line) + r'\s*\n(?:.*\n)*\(tsdb\)$')
        self.wait(r'^\(tsdb\)$')
        return screen

    def pid(self):
        shell = int(self.tmux('display-message', '-p', '#{pane_pid}'))
        with open(f'/proc/{shell}/task/{shell}/children', encoding='ascii') as f:
            return int(f.read().split()[0])

    def left_as_found(self, kept=r'^kept-text$'):
        """The shell's screen and the terminal's modes are what they were, and all of the terminal scrolls."""
        self.t.no_match(r'^[* ] (src|ptx|streams|commands)\b', self.wait(kept + r'(.*\n)*shell>\s*\Z'), 'the panes')
        self.type('stty -a > modes.after; seq 1 60')
        screen = self.wait(r'^60\nshell>')
        self.t.check(re.search(r'^40$', screen, re.M), f'the whole terminal scrolls:\n{screen}')
        with open(self.t.path('modes.before'), encoding='utf-8') as a, open(self.t.path('modes.after'), encoding='utf-8') as b:
            self.t.equal(b.read().split('\n')[1:], a.read().split('\n')[1:], "the terminal's modes")

    def close(self):
        subprocess.run(['tmux', '-S', self.socket, 'kill-server'], capture_output=True, check=False)


def on_screen(t, fn, **kw):
    t.need_soft()
    screen = Screen(t, **kw)
    try:
        fn(screen)
    finally:
        screen.close()


def line_of(text, file='pipeline.cu'):
    """The number of the line of an example that has this text."""
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..', '..', 'examples', file), encoding='utf-8') as f:
        return next(i for i, line in enumerate(f, 1) if text in line)


LAUNCH, BODY = line_of('scale<<<'), line_of('v[i] *= by')


def test_panes_of_a_replay(t):
    recorded(t, 'pipeline', options=('--memory', 'all'))
    launch = find(t, 'scale<<<')

    def look(s):
        s.tsdb('t.sbt')
        s.do('replay start')
        s.do(f'goto {launch}')
        s.do('layout src', rf'^  > +{LAUNCH}  +scale<<<')
        t.match(r'^\* src  \S*pipeline\.cu$', s.rows()[0], 'the title')
        t.match(r'^  streams *\n^Stream +Context .*\n +0 .*\n +1 .*\n +2 ', s.screen())
        s.do(f'break pipeline.cu:{BODY}')
        s.do(f'enter {launch}', r'^  > +\d+  __global__ void scale')
        s.do('continue', rf'^B\+> +{BODY}  +v\[i\]')
        s.do('disable 1', rf'^B-> +{BODY}  ')
        s.do('layout split', r'^  > +\d+  ld\.global|^  > +\d+  \S+ ')
        t.match(r'^  ptx  scale  block \(0,0,0\) thread \(0,0,0\)$', s.screen())
        s.do('layout ptx', r'^\* ptx  scale ')
        s.do('layout streams', rf'^> #{launch} scale<<<')
        t.match(r'^\* streams *\n(.*\n)+  commands *\n', s.screen())
        s.do('goto begin', r'No streams')
        s.do('tui disable', '^kept-text$')
        s.type('quit')
        s.left_as_found()
    on_screen(t, look)
    on_screen(t, look, columns=200, lines=60)


def test_prompt_is_below_the_panes_at_every_size(t):
    def look(s):
        s.tsdb(program('pipeline'))
        s.do('layout src', r'^\* src  \S*pipeline\.cu$')  # main() before the program runs
        for columns, lines in ((90, 26), (40, 12), (20, 5), (10, 3), (20, 5), (120, 40)):
            s.resize(columns, lines)
            s.do(f'p {lines} + 1000', rf'= {lines + 1000}$')
            s.t.equal(s.row_of(r'^\(tsdb\)'), lines - 1, f'the prompt in {lines} lines')
            if lines > 3:
                s.wait(r'^\* src')
                t.equal(s.row_of(r'^\* src'), 0, f'the panes in {lines} lines')
            else:
                t.no_match(r'src', s.screen(), f'panes in {lines} lines')
        s.type('quit')
        s.left_as_found()
    on_screen(t, look)


def test_keys_keep_what_is_typed(t):
    def look(s):
        s.tsdb(program('pipeline'))
        s.do('break scale')
        s.do('run', r'^Breakpoint 1, ')
        s.text('print 40 +')
        s.keys('C-x', 'a')
        s.wait(rf'^  > +{LAUNCH} (?:.*\n)+\(tsdb\) print 40 \+$')
        s.keys('C-x', '2')
        s.wait(r'^\* ptx(?:.*\n)+\(tsdb\) print 40 \+$')
        s.keys('C-x', 'o')
        s.wait(r'^\* streams(?:.*\n)+\(tsdb\) print 40 \+$')
        s.keys('C-l')
        s.wait(r'^\* streams(?:.*\n)+\(tsdb\) print 40 \+$')
        s.keys('C-z')
        s.t.no_match(r'^\* streams', s.wait(r'^kept-text$'))
        s.type('fg')
        s.wait(r'^\* streams(?:.*\n)+\(tsdb\) print 40 \+$')
        s.text(' 2')
        s.keys('Enter')
        s.wait(r'^\$1 = 42$')
        s.text('print 50 +')
        s.resize(100, 40)
        s.wait(r'^\* streams(?:.*\n){20,}\(tsdb\) print 50 \+$')
        s.keys('C-u')
        s.keys('C-x', 'a')
        s.wait(r'^kept-text$')
        s.type('kill')
        s.wait(r'y or n')
        s.type('y')
        s.type('quit')
        s.left_as_found()
    on_screen(t, look)


def test_focus_scrolls_and_winheight_divides(t):
    recorded(t, 'pipeline', options=('--memory', 'all'))

    def look(s):
        s.tsdb('t.sbt')
        s.do('replay start')
        s.do('goto 40')
        s.do('layout streams', r'^> #40 ')
        s.do('focus commands', r'^\* commands')
        s.keys('NPage')
        s.wait(r'^  #45 ')
        for _ in range(30):
            s.keys('NPage')  # the end is the last command, however often
        s.wait(r'^  #89 ')
        s.keys('PPage')
        s.wait(r'^  #82 (.*\n)(?!(.*\n)*  #89 )')
        s.do('goto 41', r'^> #41 ')  # another place: the pane shows it
        s.do('winheight commands 3', r'^\* commands *\n  #.*\n> #41 .*\n(?!  #)')
        s.do('winheight commands +2', r'^\* commands *\n(  #.*\n){2}> #41 .*\n  #.*\n(?!  #)')
        s.do('winheight cmd 20')
        t.equal(s.row_of(r'^\* commands'), 2, 'six lines for two panes')
        s.do('winheight cmd 0', r'^\* commands')
        s.do('winheight src 4', r'names no pane')
        s.do('focus src', r'the layout streams has no pane "src"')
        s.do('focus cmd', r'^  commands')
        s.type('quit')
        s.left_as_found()
    on_screen(t, look)


def test_what_the_program_prints(t):
    """A program that clears the screen and moves the cursor spoils the panes until the next prompt, which is on the last line."""
    with open(t.path('in'), 'w', encoding='utf-8') as f:
        f.write('plain\n\033[H\033[2J\033[5;5Hhere\n')

    def look(s):
        s.tsdb(program('stdin_echo'))
        s.do('layout streams', r'^\* streams')
        s.type('run < in')
        s.wait(r'^\* streams *\n(.*\n)*.*exited normally')
        t.equal(s.row_of(r'^\(tsdb\)$'), 25, 'the prompt')
        for i in range(40):
            s.text(f'x{i} ')  # a line that is longer than the screen
        s.keys('C-u')
        s.keys('C-l')
        s.do('p 3', r'= 3$')
        t.match(r'^\* streams', s.rows()[0])
        s.type('quit')
        s.left_as_found()
    on_screen(t, look)


def test_pager_and_shell_have_the_whole_screen(t):
    recorded(t, 'pipeline')

    def look(s):
        s.tsdb('t.sbt')
        s.do('replay start')
        s.do('layout streams', r'^\* streams')
        s.type('view 1-15')
        t.no_match(r'^[* ] streams', s.wait(r'^#15 (.*\n)+.*\(END\)'))
        s.keys('q')
        s.wait(r'^\* streams(.*\n)+\(tsdb\)$')
        s.type('shell echo $((6 * 7))')
        t.no_match(r'^\* streams', s.wait(r'^42\n\(Enter goes on\)'))
        s.keys('Enter')
        s.wait(r'^\* streams(.*\n)+\(tsdb\)$')
        s.type('pipe info streams | wc -l')
        s.wait(r'^\d+\n\(Enter goes on\)')
        s.keys('Enter')
        s.wait(r'^\* streams(.*\n)+\(tsdb\)$')
        s.type('quit')
        s.left_as_found('Enter goes on')
    on_screen(t, look, LESS='-FRX', PAGER='less')


def test_hostile_source(t):
    """A source that repaints the terminal, reverses its text, is wide, is long: it is shown as it is written, each line on its own."""
    recorded(t, 'pipeline')
    launch = find(t, 'scale<<<')
    before = re.search(r'text is (\S+)/pipeline', t.tsdb('--batch', '--no-init', '-ex', 'replay start', '-ex', f'goto {launch}', '-ex', 'info source', 't.sbt').out)[1]
    os.mkdir(t.path('other'))
    with open(t.path('other/pipeline.cu'), 'wb') as f:
        for i in range(1, 100):
            f.write(b'\033[2J\033[31m\xe2\x80\xaeevil\x9b\xff' if i == LAUNCH else b'y' * 5000 if i == LAUNCH - 1 else b'\t%d' % i if i % 2 else '世'.encode() * 100)
            f.write(b'\n')

    def look(s):
        s.tsdb('t.sbt')
        s.do(f'set substitute-path {before} {t.path("other")}')
        s.do('replay start')
        s.do(f'goto {launch}')
        screen = s.do('layout src', rf'^  > +{LAUNCH}  \\x1b\[2J\\x1b\[31m\\xe2\\x80\\xaeevil\\x9b\\xff$')
        t.match(rf'^ +{LAUNCH - 1}  y+$', screen)
        t.match(rf'^ +{LAUNCH + 1}  \S', screen)
        t.match(r'^ +\d+  世+$', screen)
        t.equal(s.rows()[0], '* src  ' + re.search(r'src  (\S+)', screen)[1], 'the first line')
        s.type('quit')
        s.left_as_found()
    on_screen(t, look)


def test_signals_give_the_terminal_back(t):
    for sig in (signal.SIGTERM, signal.SIGSEGV, signal.SIGABRT, signal.SIGHUP):
        def look(s, sig=sig):
            s.tsdb(program('pipeline'))
            s.do('layout streams', r'^\* streams')
            os.kill(s.pid(), sig)
            s.left_as_found()
        on_screen(t, look)

    def by_key(s):  # it is switched on while a line is edited, which has the terminal's modes changed
        s.tsdb(program('pipeline'))
        s.keys('C-x', 'a')
        s.wait(r'^\* src')
        os.kill(s.pid(), signal.SIGTERM)
        s.wait(r'shell>\s*\Z')
        s.type('stty -a > modes.killed; echo kept-\\text')
        s.wait(r'^kept-text$')
        with open(t.path('modes.killed'), encoding='utf-8') as f:
            t.match(r' icanon .*\n.* echo |[ \n]icanon iexten echo ', f.read(), 'modes')
        s.left_as_found()
    on_screen(t, by_key)


def test_ctrl_c_stops_the_program(t):
    def look(s):
        s.tsdb('--args', program('long_running'), '60')
        s.do('layout src', r'^\* src')
        s.type('run')
        s.wait(r'long_running: running')
        s.keys('C-c')
        s.wait(r'SIGINT(.*\n)+\(tsdb\)$')
        t.match(r'^\* src', s.rows()[0])
        s.type('kill')
        s.wait(r'y or n')
        s.type('y')
        s.type('quit')
        s.left_as_found()
    on_screen(t, look)


def test_option(t):
    def look(s):
        s.type(f'{tsdb_path()} -q --no-init --gpu soft -tui {program("pipeline")}')
        s.wait(r'^\* src  \S*pipeline\.cu(.*\n)+\(tsdb\)$')
        s.type('quit')
        s.left_as_found()
    on_screen(t, look)
    r = t.tsdb('--batch', '--tui', program('pipeline'))
    t.sentence(r, r'the text screen needs a terminal')


def test_refused(t):
    r = t.session(None, 'layout src', 'tui enable', 'tui x', 'focus next', 'layout nothing', 'layout', 'layout s', 'winheight 5', 'refresh')
    t.equal(len(re.findall('the text screen needs a terminal', r.err)), 2, 'no terminal')
    t.match(r'tui has no "x"', r.err)
    t.equal(len(re.findall('the text screen is off', r.err)), 3, 'off')
    t.match(r'there is no layout "nothing"', r.err)
    t.match(r'layout needs a name', r.err)
    t.match(r'there is no layout "s"', r.err)


def test_terminals_that_cannot(t):
    for term, says in (('dumb', r'the terminal "dumb" cannot scroll a part'), ('nothing-known', r'terminfo does not know the terminal "nothing-known"')):
        def look(s, term=term, says=says):
            s.type(f'TERM={term} {tsdb_path()} -q --no-init --gpu soft')
            s.wait(r'^\(tsdb\)')
            s.type('tui enable')
            s.wait(says)
            s.keys('C-x', 'a')
            s.wait(rf'{says}(.*\n)+.*{says}')
            s.type('p 6 * 7')
            s.wait(r'= 42$')
            s.type('quit')
            s.left_as_found()
        on_screen(t, look, columns=150)
