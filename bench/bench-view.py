#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What looking at a long trace costs: view's filters, the summary and exports, on a synthetic trace of BENCH_COMMANDS commands (10,000,000 when not set).
Each line: processor time of the pass, commands a second, and the most memory that tsdb took: it must not grow with the trace."""
import os
import subprocess
import sys
import tempfile

BUILD = os.environ.get('TSDB_BUILD', 'build')
COMMANDS = int(os.environ.get('BENCH_COMMANDS', '10000000'))
ASKED = [['view', '--count'], ['view', '--last', '10'], ['view', '--last', '10', '--kernel', 'kernel007'], ['view', '--count', '--nvtx', 'step*'],
         ['view', '--count', 'if', 'grid_x > 64 && stream == 2'], ['summary']]
FORMATS = ['perfetto', 'kineto', 'pprof', 'folded', 'flamegraph', 'speedscope', 'hatchet', 'sqlite', 'csv']


def cost(argv):
    """Processor time in s and memory in MB."""
    p = subprocess.Popen(argv, stdout=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
    _, status, used = os.wait4(p.pid, 0)
    if status:
        sys.exit(f'{" ".join(argv)} failed')
    return used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


with tempfile.TemporaryDirectory() as folder:
    made = {}
    for n in (COMMANDS // 10, COMMANDS):
        made[n] = os.path.join(folder, f'{n}.sbt')
        subprocess.run([os.path.join(BUILD, 'bench/make-trace'), made[n], str(n), 'times'], check=True)
    for tool, *options in ASKED + [['export', form] for form in FORMATS]:
        before, after = ([options[0]], ['-o', '-']) if tool == 'export' else ([], options)
        small, large = (cost([os.path.join(BUILD, 'tsdb'), tool, *before, path, *after]) for path in made.values())
        print(f'tsdb {tool} {" ".join(before or options)}: {large[0]:.2f} s, {COMMANDS / large[0]:,.0f} a second, {large[1]:.1f} MB '
              f'(of a tenth of the commands: {small[1]:.1f} MB)', flush=True)
