#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What it costs to export BENCH_COMMANDS commands (10,000,000 when not set) in each format, and as a ZIP of two ranks with half of them each:
processor time, commands a second of it, that time as a multiple of what reading the commands takes (`tsdb view --count`), the most memory, and
that of a tenth of the commands, of which it should be no multiple. BENCH_FORMATS picks formats. Files go to the temporary folder, one at a time:
10,000,000 commands make up to 7 GB."""
import os
import subprocess
import sys
import tempfile

from built import BUILD, TSDB

COMMANDS = int(os.environ.get('BENCH_COMMANDS', '10000000'))
FORMATS = os.environ.get('BENCH_FORMATS', 'folded pprof hatchet speedscope flamegraph csv sqlite kineto perfetto zip').split()
AIM = 500000  # commands a second


def run(*argv):
    """Seconds of processor time, and the most memory in MB."""
    with subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as p:
        _, status, used = os.wait4(p.pid, 0)
        p.returncode = status
    if status:
        sys.exit(f'{" ".join(argv)}: status {status}')
    return used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


def make(path, n):
    run(os.path.join(BUILD, 'bench/make-trace'), path, str(n), 'times')
    return path


def inputs(folder, n):
    """The trace, and the set of two ranks."""
    name = os.path.join(folder, str(n))
    ranks = [make(name + f'-r{i}.sbt', n // 2) for i in (0, 1)]
    run(TSDB, 'merge', '-o', name + '.sbts', *ranks)
    return make(name + '.sbt', n), name + '.sbts'


def export(form, trace, of_ranks, out):
    argv = ['perfetto', of_ranks, '-o', out + '.zip'] if form == 'zip' else [form, trace, '-o', out]
    spent = run(TSDB, 'export', *argv)
    size = os.path.getsize(argv[-1])
    os.unlink(argv[-1])
    return *spent, size


def main():
    with tempfile.TemporaryDirectory() as folder:
        whole, tenth, out = inputs(folder, COMMANDS), inputs(folder, COMMANDS // 10), os.path.join(folder, 'out')
        reading = min(run(TSDB, 'view', whole[0], '--count')[0] for _ in range(3))
        print(f'{COMMANDS} commands; reading them takes {reading:.1f} s of processor time ({os.cpu_count()} processors, load {os.getloadavg()[0]:.1f})')
        for form in FORMATS:
            spent, memory, size = export(form, *whole, out)
            _, little, _ = export(form, *tenth, out)
            rate = COMMANDS / spent
            print(f'{form:<12}{spent:7.1f} s {rate:10,.0f} a second {spent / reading:5.1f} times reading {size / 1e6:8.1f} MB '
                  f'{memory:6.1f} MB of memory, {little:.1f} for a tenth{"" if rate >= AIM else f"  under {AIM:,}"}', flush=True)


main()
