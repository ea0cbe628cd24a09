#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Probes by changed code on this machine's GPU, against the software GPU's own probes over the same traces, and what they cost. In a bundle
(make gpu-bundle) or a build tree: tests/real/probes.py [BUILD-DIR] [--on soft]. Exit status 1 when a table differs."""
import json
import os
import re
import subprocess
import sys
import tempfile
import time

here = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
args = sys.argv[1:]
ON = 'real'
if '--on' in args:
    at = args.index('--on')
    ON = args[at + 1]
    del args[at:at + 2]
build = os.path.abspath(args[0]) if args else here
os.environ['TSDB_BUILD'], os.environ['TSDB_SRC'] = build, here
sys.path.insert(0, os.path.join(here, 'tests', 'e2e'))
sys.path.insert(0, os.path.join(here, 'tests', 'e2e', 'cases'))
from e2e import Skip, program, tsdb_path  # noqa: E402
from rewritten import EXPRESSIONS, PROGRAMS, lines_of  # noqa: E402


def shell(trace, on, commands):
    ex = [x for c in (f'replay start --on {on}', *commands) for x in ('-ex', c)]
    begin = time.monotonic()
    r = subprocess.run([tsdb_path(), '-q', '--batch', '--no-init', *ex, trace], capture_output=True, text=True, timeout=900)
    return r, time.monotonic() - begin


def tables(r):
    ret = [json.loads(m) for m in re.findall(r'^\[\{"id".*?\]$', r.stdout, re.M | re.S)]
    for table in ret:
        for p in table:
            p['groups'].sort(key=lambda g: g['key'])
    return ret


def one(name, alike, folder):
    """A row: the program, probes, threads counted, what came of it, seconds of the replay without probes and of `info probes` on the GPU."""
    trace = os.path.join(folder, name + '.sbt')
    r = subprocess.run([tsdb_path(), '--gpu', ON, '-q', 'record', '--memory', 'all', '-o', trace, program('ptx-suite/' + name)], capture_output=True, text=True, timeout=900)
    if r.returncode:
        return name, 0, 0, 'not recorded: ' + r.stderr.strip().splitlines()[-1], 0, 0
    seen, _ = shell(trace, 'soft', [f'break {name}.cu:{n}' for n in lines_of(name)])
    lines = sorted({int(m) for m in re.findall(rf'^Breakpoint \d+ at (?:ptx .*:)?{name}\.cu:(\d+)', seen.stdout, re.M)})
    if not lines:
        return name, 0, 0, 'refused: no line takes a breakpoint: ' + (seen.stdout + seen.stderr).strip()[-200:], 0, 0
    threads, says, plain, cost = 0, 'same tables, same memory', 0, 0
    for first in range(0, len(lines), 16):
        ps = [f'probe {name}.cu:{n} {EXPRESSIONS[k % len(EXPRESSIONS)]}' for k, n in enumerate(lines[first:first + 16], first)]
        own = tables(shell(trace, 'soft', [*ps, 'info probes --json'])[0])
        _, alone = shell(trace, ON, ['replay verify'])
        r, took = shell(trace, ON, ['set probes rewrite on', *ps, 'info probes --json'])
        plain, cost = plain + alone, cost + took
        changed = tables(r)
        if not own or not changed:
            return name, len(lines), threads, 'refused: ' + (r.stderr.strip().splitlines() or ['?'])[-1], plain, cost
        threads += sum(p['threads'] for p in changed[0])
        differs = [f'{a["location"]} {a["counts"]} {a["expression"]} if {a["condition"]}: {a["threads"]} and {b["threads"]}'
                   for a, b in zip(own[0], changed[0]) if a != b]
        if differs and alike:
            says = 'DIFFERS: ' + differs[0]
        elif differs:
            says = 'other interleaving'
        if 'memory is not as recorded' in r.stdout and alike:  # of the others the order of blocks decides
            says = 'MEMORY: ' + re.search(r'memory is not as recorded: (.*)', r.stdout).group(1)
    return name, len(lines), threads, says, plain, cost


status = 0
print(f'{"program":12} {"probes":>6} {"threads":>12} {"replay":>8} {"counted":>8}  result')
with tempfile.TemporaryDirectory() as folder:
    for name, alike in PROGRAMS.items():
        try:
            row = one(name, alike, folder)
        except Skip as e:
            row = (name, 0, 0, f'skipped: {e}', 0, 0)
        print(f'{row[0]:12} {row[1]:6} {row[2]:12} {row[4]:7.2f}s {row[5]:7.2f}s  {row[3]}', flush=True)
        status |= row[3].startswith(('DIFFERS', 'MEMORY', 'refused', 'not recorded'))
sys.exit(status)
