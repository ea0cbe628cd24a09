#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""End-to-end tests: real programs under the real tsdb, on the software GPU or on an NVIDIA GPU.

Two kinds of test, one TAP line each:
  transcripts/*.txt   a session: what the user types and what must be on the screen (see Transcript)
  cases/*.py          functions called test_*(t): t is a Case; they raise Failure, or Skip

Environment: TSDB_BUILD (where tsdb is), TSDB_SRC (this tree), TSDB_GPU (soft or real, default soft), E2E_JOBS (how many at a time; default: one more
than there are processors, since a case waits for something a third of its time).
Arguments: names (globs) of the tests to run; -l lists them; -v shows what failed runs printed. No other option.
"""
import concurrent.futures
import faulthandler
import fnmatch
import importlib.util
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback

HERE = os.path.dirname(os.path.abspath(__file__))
SRC = os.environ.get('TSDB_SRC', os.path.dirname(os.path.dirname(HERE)))
BUILD = os.environ.get('TSDB_BUILD', os.path.join(SRC, 'build'))
GPU = os.environ.get('TSDB_GPU', 'soft')
TIMEOUT = float(os.environ.get('E2E_TIMEOUT', '120'))


class Failure(Exception):
    pass


class Skip(Exception):
    pass


def first_existing(*paths):
    for p in paths:
        if os.path.exists(p):
            return p
    return None


def tsdb_path():
    return first_existing(os.path.join(BUILD, 'tsdb'), os.path.join(BUILD, 'bin', 'tsdb'))


def program(name):
    """The path of an example or test program; Skip when it was not built (no nvcc)."""
    p = first_existing(os.path.join(BUILD, 'examples', name), os.path.join(BUILD, 'tests', 'programs', name),
                       os.path.join(BUILD, 'lib', 'tsdb', 'examples', name))
    if not p:
        raise Skip(f'{name} was not built')
    return p


class Result:
    """What a finished command left: exit status (negative: the signal), text on both streams, seconds."""

    def __init__(self, argv, status, out, err):
        self.argv, self.status, self.out, self.err = argv, status, out, err

    @property
    def both(self):
        return self.out + self.err

    def show(self):
        return (f'$ {" ".join(self.argv)}\n[exit status {self.status}]\n--- stdout\n{self.out}\n--- stderr\n{self.err}')


class Case:
    """One test's own folder and helpers. Paths in commands are relative to t.dir."""

    def __init__(self, name):
        self.name = name
        self.dir = tempfile.mkdtemp(prefix='tsdb-e2e-')
        self.log = []
        self.gpu = GPU

    def close(self):
        self.kill_all()
        shutil.rmtree(self.dir, ignore_errors=True)

    def processes(self):
        """pids of what this test started, directly or not, however it detached itself: its HOME is this test's folder."""
        mark, found = b'HOME=' + os.fsencode(self.dir), []
        for pid in filter(str.isdigit, os.listdir('/proc')):
            try:
                with open(f'/proc/{pid}/environ', 'rb') as f:
                    if mark in f.read().split(b'\0'):
                        found.append(int(pid))
            except OSError:
                pass
        return found

    def kill_all(self):
        for pid in self.processes():
            try:
                os.kill(pid, signal.SIGKILL)
            except OSError:
                pass

    def ticks(self):
        """Processor time of what this test started and still runs, in seconds, with all below it: a replayer has no environment that tells."""
        stats = {}
        for pid in filter(str.isdigit, os.listdir('/proc')):
            try:
                with open(f'/proc/{pid}/stat', 'rb') as f:
                    stats[int(pid)] = [int(w) for w in f.read().rpartition(b')')[2].split()[1:15]]
            except OSError:
                pass
        tree = set(self.processes())
        while more := {pid for pid, words in stats.items() if words[0] in tree} - tree:
            tree |= more
        return sum(sum(stats[pid][10:14]) for pid in tree if pid in stats) / os.sysconf('SC_CLK_TCK')

    def await_ticks(self, seconds, most=100):
        """Waits until what runs has used so much more processor time: it works, however busy the machine is."""
        begin, end = self.ticks(), time.monotonic() + most
        while self.ticks() < begin + seconds:
            if time.monotonic() > end:
                raise Failure(f'what runs does not use the processor: {self.ticks() - begin:.1f} s of {seconds} s in {most} s')
            time.sleep(0.02)

    def left_running(self):
        """Command lines of what has not ended some seconds after the test."""
        until = time.monotonic() + 15
        while (pids := self.processes()) and time.monotonic() < until:
            time.sleep(0.05)
        lines = []
        for pid in pids:
            try:
                with open(f'/proc/{pid}/cmdline', 'rb') as f:
                    lines.append(f'{pid}: ' + f.read().replace(b'\0', b' ').decode(errors='replace'))
            except OSError:
                pass
        return lines

    def path(self, name):
        return os.path.join(self.dir, name)

    # A file that this process has open for writing is open in each child that another thread starts meanwhile, until that child's exec: running
    # the file fails with ETXTBSY then. So what will be run is written by a process of its own.
    def copy_program(self, source, name):
        """A copy of the program or library source under name in t.dir, ready to be run; returns its path."""
        subprocess.run(['cp', '--', source, self.path(name)], check=True)
        return self.path(name)

    def executable(self, name, data):
        """A file of this text (or these bytes) under name in t.dir that can be run at once; returns its path."""
        data = data.encode() if isinstance(data, str) else data
        subprocess.run(['sh', '-c', 'cat >"$0" && chmod 755 "$0"', self.path(name)], input=data, check=True)
        return self.path(name)

    def environment(self, extra=None):
        env = dict(os.environ)
        env.update({'HOME': self.dir, 'XDG_CONFIG_HOME': self.path('.config'), 'XDG_STATE_HOME': self.path('.state'),
                    'TERM': 'dumb', 'LC_ALL': 'C.UTF-8'})
        env.pop('NO_COLOR', None)
        for k, v in (extra or {}).items():
            if v is None:
                env.pop(k, None)
            else:
                env[k] = v
        return env

    def run(self, argv, env=None, stdin=None, timeout=None, **kw):
        """Runs argv to its end in t.dir. A run longer than the limit is killed and fails the test."""
        argv = [str(a) for a in argv]
        p = subprocess.Popen(argv, cwd=self.dir, env=self.environment(env), stdin=subprocess.PIPE if stdin is not None
                             else subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                             errors='replace', start_new_session=True, **kw)
        try:
            out, err = p.communicate(stdin, timeout or TIMEOUT)
        except subprocess.TimeoutExpired:
            os.killpg(p.pid, signal.SIGKILL)
            self.kill_all()  # whoever else holds its output open
            out, err = p.communicate()
            r = Result(argv, None, out, err)
            self.log.append(r)
            raise Failure(f'still running after {timeout or TIMEOUT} s')
        r = Result(argv, p.returncode, out, err)
        self.log.append(r)
        return r

    def tsdb(self, *args, **kw):
        return self.run([tsdb_path(), *args], **kw)

    def program(self, name):
        """The program for this test's device: on the software AMD GPU its HIP twin."""
        return program('hip/twin/' + os.path.basename(name) if self.gpu == 'soft-amd' else name)

    def record(self, prog, *args, out='t.sbt', options=(), **kw):
        """tsdb record -o OUT on this test's device; returns the Result."""
        return self.tsdb('record', '--gpu', self.gpu, '-o', out, *options, '--', self.program(prog), *args, **kw)

    def session(self, prog, *commands, args=(), **kw):
        """tsdb --batch with one -ex per command."""
        ex = [x for c in commands for x in ('-ex', c)]
        prog = [self.program(prog)] if prog else []
        return self.tsdb('--gpu', self.gpu, '--batch', *ex, *(['--args'] if prog else []), *prog, *args, **kw)

    # -- judging
    def check(self, ok, what):
        if not ok:
            raise Failure(what)

    def equal(self, got, want, what):
        if got != want:
            raise Failure(f'{what}: got {got!r}, want {want!r}')

    def match(self, pattern, text, what=None):
        m = re.search(pattern, text, re.M)
        if not m:
            raise Failure(f'{what or "output"}: nothing matches {pattern!r} in {text[:400]!r}')
        return m

    def no_match(self, pattern, text, what=None):
        if re.search(pattern, text, re.M):
            raise Failure(f'{what or "output"}: {pattern!r} must not be there')

    def sentence(self, result, pattern, status=1):
        """A refusal: one clear sentence on stderr, the exit status, no crash."""
        self.equal(result.status, status, 'exit status')
        self.match(pattern, result.err, 'stderr')

    def need_soft(self):
        if self.gpu != 'soft':
            raise Skip('only for the software GPU')

    def need_software(self):
        if self.gpu not in ('soft', 'soft-amd'):
            raise Skip('only for the software GPUs')


class Transcript:
    """A session in a text file.

    # comment lines at the top say what the session shows
    args: -q @examples/matmul 64        tsdb's arguments; @examples/NAME is the path of a built program, %t the test's folder
    device: soft                        only there (default: any)
    status: 0                           tsdb's exit status
    > break kernel matmul               what the user types
    Breakpoint 1 at kernel matmul     what must be on the screen, line by line:
    ...                                 any number of lines, none of them an error
    #{{\\d+}} matmul {{.*}}               {{regular expression}} within a line
    Standard output and standard error are one screen. Trailing blanks do not count, empty lines are skipped.
    """

    def __init__(self, path):
        self.args, self.steps, self.status, self.device = [], [], 0, None
        head = []
        with open(path, encoding='utf-8') as f:
            for line in f.read().splitlines():
                if line.startswith('#') and not self.steps:
                    continue
                m = re.match(r'(args|device|status): *(.*)$', line)
                if m and not self.steps:
                    head.append(m)
                elif line.startswith('> '):
                    self.steps.append((line[2:], []))
                elif line.strip() and self.steps:
                    self.steps[-1][1].append(line.rstrip())
        for m in head:
            if m[1] == 'args':
                self.args = m[2].split()
            elif m[1] == 'status':
                self.status = int(m[2])
            else:
                self.device = m[2]

    @staticmethod
    def line_regex(line):
        parts = re.split(r'\{\{(.*?)\}\}', line)
        return ''.join(f'(?:{p})' if i % 2 else re.escape(p) for i, p in enumerate(parts))

    def block_regex(self, lines):
        out = ''
        for line in lines:
            out += r'(?:(?!tsdb: (?!no NVIDIA driver here))[^\n]*\n)*?' if line == '...' else self.line_regex(line) + r'[ \t]*\n'
        return out

    def expand(self, t, word):
        word = re.sub(r'@examples/([\w.-]+)', lambda m: program(m[1]), word)
        return re.sub(r'%t\b', lambda m: t.dir, word)

    def __call__(self, t):
        if self.device and self.device != t.gpu:
            raise Skip(f'only for {self.device}')
        argv = [tsdb_path(), '--gpu', t.gpu, '--batch']
        for i, (command, _) in enumerate(self.steps):
            argv += ['-ex', f'echo @@{i}@@\\n', '-ex', self.expand(t, command)]
        argv += [self.expand(t, a) for a in self.args]
        with open(t.path('screen'), 'w', encoding='utf-8') as screen:
            p = subprocess.Popen(argv, cwd=t.dir, env=t.environment(), stdin=subprocess.DEVNULL, stdout=screen,
                                 stderr=subprocess.STDOUT, start_new_session=True)
            try:
                p.wait(TIMEOUT)
            except subprocess.TimeoutExpired:
                os.killpg(p.pid, signal.SIGKILL)
                p.wait()
        with open(t.path('screen'), encoding='utf-8', errors='replace') as f:
            screen = f.read()
        t.log.append(Result(argv, p.returncode, screen, ''))
        got = re.split(r'@@\d+@@\n', screen)[1:]
        for i, (command, want) in enumerate(self.steps):
            t.check(i < len(got), f'"{command}" was never reached')
            text = re.sub(r'\n+', '\n', got[i].lstrip('\n'))
            if text and not text.endswith('\n'):
                text += '\n'
            if not re.fullmatch(self.block_regex(want), text):
                raise Failure(f'after "{command}" the screen shows\n{text}--- but should show\n' + '\n'.join(want))
        t.equal(p.returncode, self.status, 'exit status')


def all_tests():
    tests = {}
    for name in sorted(os.listdir(os.path.join(HERE, 'transcripts'))):
        if name.endswith('.txt'):
            tests['transcript-' + name[:-4]] = Transcript(os.path.join(HERE, 'transcripts', name))
    sys.path.insert(0, HERE)
    sys.modules['e2e'] = sys.modules[__name__]
    for name in sorted(os.listdir(os.path.join(HERE, 'cases'))):
        if name.endswith('.py'):
            spec = importlib.util.spec_from_file_location('case_' + name[:-3], os.path.join(HERE, 'cases', name))
            module = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(module)
            for f, fn in vars(module).items():
                if f.startswith('test_') and callable(fn):
                    tests[name[:-3] + '-' + f[5:].replace('_', '-')] = fn
    return tests


# Begin first, so that none of them runs alone at the end: what took over 8 s (the last comment lines of a whole run name the slowest).
LONG = '''
replay-verdict-is-not-the-innocent-one replay-verdict-not-executed hangs-code-agrees-with-what-is-seen attach-a-gpu-that-hangs
attach-a-gpu-that-hangs-later keeping-a-keeper-that-hangs observe-one-link-for-each-place studio-a-load-of-requests twins-numeric-matters
softdevice-litmus-shapes-come-out-the-same-on-any-number-of-workers hip-programs-are-executed-again-bit-for-bit
keeping-a-keeper-that-answers-anything twins-explore-missing-wait softamd-races-inside-kernels hangs-deadlocks-are-named-by-code
check-nodes-that-differ-in-more-places-than-are-listed planted-numbers watching-stops-are-where-the-accesses-are hangs-deadlocks-are-named
planted-structure rust-the-scenario-in-rust attach-processes-that-go-away-meanwhile twins-graphs-by-chance pydocs-make-install
softamd-kernels-that-cannot-end-say-why
'''.split()


def long_first(names):
    rank = {name: i for i, name in enumerate(LONG)}
    return sorted(names, key=lambda n: rank.get(n, len(LONG)))


def run_one(name, fn):
    t = Case(name)
    begin = time.monotonic()
    try:
        fn(t)
        left = t.left_running()
        if left:
            raise Failure('left running: ' + '\n'.join(left))
        return 'ok', '', t, time.monotonic() - begin
    except Skip as s:
        return 'skip', str(s), t, 0
    except Failure as f:
        return 'not ok', str(f), t, time.monotonic() - begin
    except Exception:
        return 'not ok', traceback.format_exc(), t, time.monotonic() - begin
    finally:
        t.close()


def main():
    faulthandler.register(signal.SIGTERM, chain=True)  # told to end, it says where each thread is
    options = [a for a in sys.argv[1:] if a.startswith('-')]
    if set(options) - {'-l', '-v'}:
        print(__doc__, file=sys.stderr)
        return 2
    globs = [a for a in sys.argv[1:] if not a.startswith('-')] or ['*']
    tests = {n: f for n, f in all_tests().items() if any(fnmatch.fnmatch(n, g) for g in globs)}
    if '-l' in options:
        print('\n'.join(tests))
        return 0
    if not tsdb_path():
        print(f'1..0 # SKIP no tsdb in {BUILD}')
        return 0
    failed, took, begin = 0, {}, time.monotonic()
    print(f'1..{len(tests)}', flush=True)
    with concurrent.futures.ThreadPoolExecutor(int(os.environ.get('E2E_JOBS', os.cpu_count() + 1))) as pool:
        futures = {pool.submit(run_one, n, tests[n]): n for n in long_first(tests)}
        for i, future in enumerate(concurrent.futures.as_completed(futures), 1):
            name = futures[future]
            verdict, why, t, seconds = future.result()
            took[name] = seconds
            if verdict == 'skip':
                print(f'ok {i} - {name} # SKIP {why}', flush=True)
                continue
            print(f'{verdict} {i} - {name}', flush=True)
            if seconds > 10:
                print(f'# {seconds:.1f} s')
            if verdict == 'not ok':
                failed += 1
                shown = [why] + [r.show() for r in (t.log if '-v' in options else t.log[-1:])]
                print('\n'.join('# ' + line for line in '\n'.join(shown).splitlines()), flush=True)
    if len(tests) > 100:
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        print(f'# {time.monotonic() - begin:.0f} s, {used.ru_utime + used.ru_stime:.0f} s of processors; the slowest:')
        print(*(f'# {took[n]:6.1f} s {n}' for n in sorted(took, key=took.get, reverse=True)[:40]), sep='\n', flush=True)
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
