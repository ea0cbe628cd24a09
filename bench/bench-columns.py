#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Commands to columns in Python, on a synthetic trace of BENCH_COMMANDS commands (10,000,000 when not set): processor time, commands a second, and
that time as a part of what `tsdb view --count` takes, which reads every command, too. The aim: the five columns of the first line in under 3 s."""
import os
import subprocess
import sys
import tempfile
import time

BUILD = os.path.abspath(os.environ.get('TSDB_BUILD', 'build'))
COMMANDS = int(os.environ.get('BENCH_COMMANDS', '10000000'))
ASKED = [('seq', 'kernel', 'stream', 'gpu_start_ns', 'gpu_ns'), ('seq',), ('kind', 'kernel', 'thread', 'stream', 'grid_x', 'host_ns', 'gpu_ns')]

sys.path.insert(0, os.path.join(BUILD, 'python'))
try:
    import tracesmith
except ImportError as e:
    print(f'no columns: {e}')
    sys.exit(0)


def least(what):
    """Processor time of the quickest of three."""
    took = []
    for _ in range(3):
        before = time.process_time()
        what()
        took.append(time.process_time() - before)
    return min(took)


def view(path):
    p = subprocess.Popen([os.path.join(BUILD, 'tsdb'), 'view', '--count', path], stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(p.pid, 0)
    if status:
        sys.exit('tsdb view failed')
    return used.ru_utime + used.ru_stime


def read(path, names):
    with tracesmith.open(path) as t:
        columns = t.columns(*names)
        if columns.rows != COMMANDS:
            sys.exit(f'{columns.rows} rows of {COMMANDS} commands')


with tempfile.TemporaryDirectory() as folder:
    made = os.path.join(folder, 'made.sbt')
    subprocess.run([os.path.join(BUILD, 'bench/make-trace'), made, str(COMMANDS), 'times'], check=True)
    reading = min(view(made) for _ in range(3))
    for asked in ASKED:
        cost = least(lambda names=asked: read(made, names))
        print(f'{", ".join(asked)}: {cost:.2f} s, {COMMANDS / cost:,.0f} commands a second, {cost / reading:.2f} of `view --count`', flush=True)
