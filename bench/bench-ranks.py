#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A job of 1,024 ranks, 200 steps each, one of them slow, one without its last collective: processor time, time and memory of
what reads all of it."""
import glob
import os
import subprocess
import sys
import tempfile
import time

from built import BUILD


def run(name, *argv):
    before = time.monotonic()
    p = subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, used = os.wait4(p.pid, 0)
    print(f'{name:<18}{used.ru_utime + used.ru_stime:8.2f} s of processor time{time.monotonic() - before:8.2f} s{used.ru_maxrss / 1024:8.0f} MiB'
          + (f'  (status {status >> 8})' if status else ''), flush=True)


def main():
    ranks = sys.argv[1] if len(sys.argv) > 1 else '1024'
    tsdb = os.path.join(BUILD, 'tsdb')
    with tempfile.TemporaryDirectory() as d:
        run('making the traces', os.path.join(BUILD, 'bench/make-ranks'), d, ranks, '200', '517', '900')
        all_of_it = os.path.join(d, 'all.sbts')
        run('merge', tsdb, 'merge', '-o', all_of_it, *sorted(glob.glob(d + '/r.*.sbt')))
        for words in ('info', 'stats', 'stats --json', 'report -o ' + d + '/all.html', 'export perfetto -o ' + d + '/all.pftrace', 'export perfetto -o ' + d + '/all.zip', 'export csv -o ' + d + '/all.csv'):
            w = words.split()
            n = 2 if w[0] == 'export' else 1
            run(' '.join(w[:n]) + (' (ZIP)' if words.endswith('.zip') else '') + (' --json' if '--json' in w else ''), tsdb, *w[:n], all_of_it, *w[n:])
        run('why --ranks', tsdb, 'why', '--ranks', d + '/r.*.sbt')


main()
