# SPDX-License-Identifier: Apache-2.0
"""The README's sessions, typed as they stand there. What differs from run to run (process numbers, sizes, return addresses, and what the program
with the race prints) is left open."""
import os
import re
import shlex

import e2e

OPEN = [(r'\[process \d+', '[process N'), (r'\d+(\.\d+)? (kB|MB)', 'SIZE'), (r'0x0000[0-9a-f]{12}', 'RETURN'),
        (r'^race_demo: .*', 'race_demo:'), (r' at \S*?(examples/\w+\.cu:\d+)', r' at \1')]


def blocks(text):
    """The README's console blocks, each a list of (command line, shell commands, expected lines)."""
    for block in re.findall(r'^```console\n(.*?)^```', text, re.S | re.M):
        runs = []
        for line in block.splitlines():
            if line.startswith('$ '):
                runs.append((line[2:], [], []))
            elif line.startswith('(tsdb) '):
                runs[-1][1].append(line[len('(tsdb) '):])
            else:
                runs[-1][2].append(line)
        yield runs


def plain(lines):
    for pattern, to in OPEN:
        lines = [re.sub(pattern, to, line) for line in lines]
    return [re.sub(r'\s+', ' ', line).strip() for line in lines if line.strip()]


def run(t, line, commands):
    """Standard output and error of a command line, in the order in which they came."""
    argv = shlex.split(line.replace('build/', e2e.BUILD + '/'))
    if commands:
        argv[1:1] = ['--batch'] + [x for c in commands for x in ('-ex', c)]
    return t.run(['sh', '-c', shlex.join(argv) + ' 2>&1']).out.splitlines()


def test_readme_sessions(t):
    if t.gpu != 'soft':
        raise e2e.Skip('the README was written on the software GPU')
    for name in ('pipeline', 'race_demo', 'reduce'):
        e2e.program(name)
    with open(os.path.join(e2e.SRC, 'README.md'), encoding='utf-8') as f:
        found = list(blocks(f.read()))
    t.check(len(found) >= 4, 'the README has its sessions')
    for line, commands, expected in (r for b in found for r in b):
        t.equal(plain(run(t, line, commands)), plain(expected), line)
