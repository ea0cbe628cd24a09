# SPDX-License-Identifier: Apache-2.0
"""The sessions in README.md and docs/*.md, typed as they stand there: every ```console block is executed, the blocks of a page in one folder, and the
screen must be what the page shows. Only what VARIES names may differ; a line `...` stands for any lines, but for no error. What a page needs that it does
not show is in a comment before the block: <!-- before: $ COMMAND -->. A session of another kind of block is in NOT_RUN, with its reason."""
import glob
import os
import re
import shlex

import e2e
from interactive import Terminal

# (pattern, what stands for it)
VARIES = [(r'^\[process \d+ ', '[process N '),
          (r'(?<=\.sbt, ).*(?=\]$)', 'SIZES'),  # "[captured #1-#89 -> pipeline.sbt, 3.1 kB, memory 278.5 kB in 262.9 kB]": compressed, build paths in it
          (r'^(#\d+ +)0x0000[0-9a-f]{12} in ', r'\1RETURN in '),
          (r'^race_demo: .*', 'race_demo: WHAT THE RACE MAKES OF IT'),
          (r' at \S*?(examples/\w+\.cu:\d+)', r' at \1'),  # the build folder may be anywhere
          (r'held up for [\d.]+ ms, and the agent was up [\d.]+ ms later', 'held up for T ms'),
          (r'^tsdb \d+\.\d+\.\d+\. Type', 'tsdb VERSION. Type')]
ERROR = re.compile(r'tsdb: (?!no NVIDIA driver here)|.*\b[Ee]rror\b')
# Blocks that show sessions and are not executed: page, how the block begins, why not.
NOT_RUN = [
    ('attach.md', '$ LD_LIBRARY_PATH', 'a program in the background, stopped wherever it is; cases/attach.py does the same'),
    ('faults.md', '', 'the programs of cases/faults.py, by which each is tested'),
    ('microscope.md', '(tsdb) stepi', 'a program with a fault; cases/microscope.py has one'),
    ('microscope.md', '(tsdb) break code', 'a HIP program, where hipcc is there; cases/hip_inside.py types the like'),
    ('microscope.md', '(tsdb) probe', 'a program of the tests; cases/probes.py types the like'),
    ('microscope.md', '(tsdb) dprintf', 'a program of the tests; cases/kernelsays.py types the like'),
    ('graphs.md', '', 'the programs of cases/graphs.py and tests/races'),
    ('many.md', '', 'torchrun, mpirun, several hosts'),
    ('python.md', '', 'PyTorch on a GPU'),
    ('python-module.md', '', 'Python; cases/pymodule.py types it'),
    ('library.md', '', 'no session'),
    ('editor.md', '', 'an editor; cases/dap.py is one'),
    ('studio.md', '', 'a browser; cases/studio.py does the same'),
    ('replayer.md', '', 'clusters, and a program with a race inside a kernel'),
    ('softgpu.md', '', 'programs of the reader'),
    ('nondeterminism.md', '', 'programs of the reader; tests/races has their like'),
    ('why.md', '', 'programs that are stuck, for as long as one looks; cases/why.py has them'),
    ('observe.md', '', 'needs the right to use eBPF'),
    ('security.md', '', 'a trace of somebody else'),
    ('gpu-results.md', '', 'what was seen on GPUs'),
    ('coverage.md', '', 'no session'),
    ('coverage-hip.md', '', 'no session'),
    ('sbt.md', '', 'no session'),
    ('json.md', '', 'no session'),
    ('design.md', '', 'no session'),
]


def pages():
    return [os.path.join(e2e.SRC, 'README.md'), *sorted(glob.glob(os.path.join(e2e.SRC, 'docs/*.md')))]


def read(path):
    with open(path, encoding='utf-8') as f:
        return f.read()


class Run:
    """A command line with what it prints; for tsdb's shell: what is on the screen before the first prompt, then (command, lines)."""

    def __init__(self, line):
        self.line, self.head, self.typed = line, [], []

    def lines(self):
        return self.typed[-1][1] if self.typed else self.head


def runs(block):
    found = []
    for line in block.splitlines():
        prompt = re.match(r'(?:\(\S+\) )?\(tsdb\) ', line)
        if line.startswith('$ '):
            found.append(Run(line[2:]))
        elif prompt:
            found[-1].typed.append((line[prompt.end():], []))
        else:
            found[-1].lines().append(line)
    return found


def sessions(text):
    """(what comes before, block) of each ```console block."""
    for m in re.finditer(r'((?:<!-- before: \$ .*? -->\n)*)```console\n(.*?)^```', text, re.S | re.M):
        yield re.findall(r'<!-- before: \$ (.*?) -->', m[1]), runs(m[2])


def plain(lines):
    out = []
    for line in lines:
        for pattern, to in VARIES:
            line = re.sub(pattern, to, line)
        if line.strip():
            out.append(line.rstrip())
    return out


def fits(got, want):
    """Whether lines are as wanted, where `...` takes any that are no error."""
    if not want:
        return not got
    if want[0].strip() == '...':
        return any(fits(got[n:], want[1:]) for n in range(len(got) + 1) if not any(ERROR.match(line) for line in got[:n]))
    return bool(got) and got[0] == want[0] and fits(got[1:], want[1:])


def compare(t, what, got, want):
    got, want = plain(got), plain(want)
    t.check(fits(got, want), what + ' shows\n' + '\n'.join(got) + '\n--- but the page says\n' + '\n'.join(want))


def words(line):
    line = line.replace('build/', e2e.BUILD + '/')
    line = re.sub(r'(^|\s)tsdb\b', lambda m: m[1] + e2e.tsdb_path(), line)
    return shlex.split(re.sub(r'(^|\s)\./(\w+)', lambda m: m[1] + e2e.program(m[2]), line))


def shell(t, argv):
    return t.run(['sh', '-c', shlex.join(argv) + ' 2>&1']).out.splitlines()


def execute(t, page, run):
    argv = words(run.line)
    if not run.typed:
        compare(t, f'{page}: {run.line}', shell(t, argv), run.head)
        return
    if run.head or '-q' not in argv:
        screen = Terminal(t, *argv[1:])
        before = screen.prompt().replace('\r', '')
        compare(t, f'{page}: {run.line}', re.sub(r'\x1b\[[^a-zA-Z]*[a-zA-Z]|\(tsdb\) ', '', before).splitlines(), run.head)
        screen.quit()
    ex = [x for i, (command, _) in enumerate(run.typed) for x in ('-ex', f'echo @@{i}@@\\n', '-ex', command)]
    screen = '\n'.join(shell(t, [argv[0], '--batch', *ex, *argv[1:]]))
    parts = re.split(r'@@\d+@@\n?', screen)[1:]
    t.equal(len(parts), len(run.typed), f'{page}: {run.line}: commands that were reached')
    for (command, want), got in zip(run.typed, parts):
        compare(t, f'{page}: {run.line}: (tsdb) {command}', got.splitlines(), want)


def test_sessions(t):
    if t.gpu != 'soft':
        raise e2e.Skip('the pages were written on the software GPU')
    done = 0
    for path in pages():
        case = e2e.Case('docs')
        try:
            for before, block in sessions(read(path)):
                for line in before:
                    case.equal(case.run(words(line)).status, 0, line)
                for run in block:
                    execute(case, os.path.basename(path), run)
                    done += 1
        finally:
            t.log += case.log[-1:]
            case.close()
    t.check(done >= 8, 'the pages have their sessions')


def test_every_session_is_run_or_has_a_reason(t):
    for path in pages():
        page = os.path.basename(path)
        for kind, block in re.findall(r'^```(\w*)\n(.*?)^```', read(path), re.S | re.M):
            if kind == 'console' or not re.search(r'^(\(tsdb\)|\$) ', block, re.M):
                continue
            t.check(any(p == page and block.startswith(begin) for p, begin, _ in NOT_RUN), f'{page} has a session that no test types:\n{block}')


def test_a_wrong_page_is_noticed(t):
    """`...` takes lines, but no error; everything else is to the letter."""
    for got, want, ok in [(['a', 'b'], ['a', 'b'], True), (['a', 'b'], ['a'], False), (['a'], ['a', 'b'], False), (['a', 'x', 'b'], ['a', '...', 'b'], True),
                          (['a', 'tsdb: no such thing.', 'b'], ['a', '...', 'b'], False), (['CUDA error 700'], ['...'], False), ([], ['...'], True),
                          (['#1 copy 16 bytes'], ['#1 copy 17 bytes'], False), (['[process 12 exited'], ['[process 99 exited'], True)]:
        t.equal(fits(plain(got), plain(want)), ok, f'{got} as {want}')


def test_what_pages_say_of_json(t):
    """docs/json.md names what has no --json; a tool of the usage that lists or judges has it."""
    usage = t.tsdb('--help').out
    for tool in ('view', 'info', 'summary', 'stats', 'replay', 'check', 'races', 'explore', 'observe', 'doctor'):
        t.match(rf'^ +{tool} ', usage)
        t.match(r'--json', t.tsdb(tool, '--help').out, f'tsdb {tool} --help')
