#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the fixed order of a replay costs: time on the device of the same trace, one command after the other and with streams that overlap.

  bench-replay-order.py [ROUNDS]      TSDB_BUILD, TSDB_GPU as for the end-to-end tests; the median of ROUNDS (5), the two by turns
"""
import json
import os
import statistics
import subprocess
import sys
import tempfile

from built import GPU, TSDB, find

ROUNDS = int(sys.argv[1]) if len(sys.argv) > 1 else 5
LOAD = find('bench/overlap-load')
SCALE = 1 if GPU == 'real' else 20  # the software GPU shows that the bench works, and nothing else
# what it shows, streams, launches of each, blocks, rounds
ROWS = [
    ('one stream', 1, 4000, 1, 2000),
    ('8 streams of tiny kernels, each after another stream', 8, 500, 1, 10),
    ('8 streams of 1 block: all of it could overlap', 8, 500, 1, 20000),
    ('8 streams of 33 blocks', 8, 500, 33, 20000),
    ('8 streams of 2112 blocks: the GPU is full with one', 8, 100, 2112, 20000),
]


def replay(trace, order):
    r = subprocess.run([TSDB, 'replay', trace, '--order', order, '--json'], capture_output=True, text=True, check=False)
    if r.returncode:
        sys.exit(f'bench: replay --order {order} ended with {r.returncode}: {r.stderr}')
    return json.loads(r.stdout)['windows'][0]['milliseconds']['execute_on_device']


def main():
    print(f'{"":54} {"fixed":>10} {"concurrent":>10} {"ratio":>7}')
    with tempfile.TemporaryDirectory() as d:
        for name, streams, launches, blocks, rounds in ROWS:
            trace = os.path.join(d, 't.sbt')
            args = [streams, max(launches // SCALE, 2), max(blocks // SCALE, 1), rounds // SCALE]
            subprocess.run([TSDB, 'record', '--gpu', GPU, '-o', trace, '--', LOAD, *map(str, args)], check=True, capture_output=True)
            ms = {'fixed': [], 'concurrent': []}
            for _ in range(ROUNDS):
                for order, times in ms.items():
                    times.append(replay(trace, order))
            fixed, concurrent = (statistics.median(ms[k]) for k in ('fixed', 'concurrent'))
            print(f'{name:54} {fixed:7.2f} ms {concurrent:7.2f} ms {fixed / max(concurrent, 1e-6):7.2f}')
            sys.stdout.flush()


if __name__ == '__main__':
    main()
