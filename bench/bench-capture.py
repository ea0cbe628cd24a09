#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What capture costs: time per tiny launch under each mode over time per launch without tsdb, bytes per launch, lost
records, and breakpoint stops per second. All figures of a row are medians over rounds that interleave the modes.

  bench-capture.py [LAUNCHES [ROUNDS]]      TSDB_BUILD, TSDB_GPU as for the end-to-end tests
"""
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time

from built import GPU, TSDB, environment, find

LAUNCHES = int(sys.argv[1]) if len(sys.argv) > 1 else (200000 if GPU == 'real' else 20000)
ROUNDS = int(sys.argv[2]) if len(sys.argv) > 2 else 5


TINY = find('examples/tiny_launches')
INJECT = find('bench/libbench-inject.so')


def launch_time(argv, env=None):
    e = environment(env)
    out = subprocess.run(argv, env=e, capture_output=True, text=True, check=False)
    m = re.search(r'([\d.]+) (?:us|microseconds) per launch', out.stdout)
    if not m:
        sys.exit(f'bench: {argv} printed\n{out.stdout}{out.stderr}')
    return float(m[1])


def record(out, *options):
    return [TSDB, 'record', '--gpu', GPU, '-o', out, *options, '--', TINY, str(LAUNCHES)]


def run(*commands):
    ex = [x for c in commands for x in ('-ex', c)]
    return [TSDB, '--gpu', GPU, '--batch', *ex, '-ex', 'run', '--args', TINY, str(LAUNCHES)]


def stops_per_second(stops):
    """The time that `stops` more stops take, from scripts of `continue`."""
    def run(n):
        with tempfile.NamedTemporaryFile('w', suffix='.tsdb') as script:
            script.write('break launch\nrun\n' + 'continue\n' * n + 'kill\n')
            script.flush()
            begin = time.monotonic()
            subprocess.run([TSDB, '--gpu', GPU, '--batch', '-x', script.name, '--args', TINY, str(stops * 2)],
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
            return time.monotonic() - begin
    few, many = run(10), run(10 + stops)
    return stops / max(many - few, 1e-9)


def main():
    with tempfile.TemporaryDirectory() as d:
        trace = os.path.join(d, 't.sbt')
        modes = {
            'without tsdb': ([TINY, str(LAUNCHES)], None),
            'subscriber only': ([TINY, str(LAUNCHES)], {'CUDA_INJECTION64_PATH': INJECT, 'BENCH_INJECT': 'subscriber'}),
            'empty callback': ([TINY, str(LAUNCHES)], {'CUDA_INJECTION64_PATH': INJECT, 'BENCH_INJECT': 'callback'}),
            # Nothing is captured: what is left is what a stop at a fault would show.
            'run, stop-on-error off': (run('set stop-on-error off'), None),
            'run, no stacks': (run('set capture stacks off'), None),
            'run, stop-on-error fault': (run(), None),
            'record, no stacks': (record(trace, '--no-stacks'), None),
            'record with stacks': (record(trace), None),
            'record, stacks, timestamps': (record(trace, '--timestamps'), None),
        }
        times = {m: [] for m in modes}
        size = {}
        launch_time(*modes['without tsdb'])
        for _ in range(ROUNDS):
            for m, (argv, env) in modes.items():
                times[m].append(launch_time(argv, env))
                if argv[:2] == [TSDB, 'record']:
                    size[m] = os.path.getsize(trace) / LAUNCHES
        base = statistics.median(times['without tsdb'])
        print(f'{LAUNCHES} tiny launches, {ROUNDS} rounds, device {GPU}')
        print(f'{"mode":28} {"us/launch":>9} {"min":>7} {"max":>7} {"ratio":>6} {"bytes/launch":>12}')
        for m, t in times.items():
            print(f'{m:28} {statistics.median(t):9.3f} {min(t):7.3f} {max(t):7.3f} {statistics.median(t) / base:6.3f} '
                  + (f'{size[m]:12.2f}' if m in size else f'{"":12}'))
        for m in ('run, no stacks', 'run, stop-on-error fault'):
            ratio = statistics.median(a / b for a, b in zip(times[m], times['run, stop-on-error off']))
            print(f'{m} over stop-on-error off, median of pairs: {ratio:.3f}')
        info = subprocess.run([TSDB, 'info', '--json', trace], capture_output=True, text=True, check=False).stdout
        print(f'lost records: {json.loads(info).get("lost", "?")}')
    print(f'breakpoint stop and continue, from a script: {stops_per_second(3000):.0f} per second')


main()
