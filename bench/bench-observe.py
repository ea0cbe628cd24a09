#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What tsdb observe costs the process that is observed: nanoseconds added for each call, for each way of probing, on entry points that do nothing;
then the ratio for tiny launches on the device. Rounds interleave the modes; figures are the least of them: all else that runs only adds.

  bench-observe.py [CALLS [ROUNDS]]      TSDB_BUILD, TSDB_GPU as for the end-to-end tests
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

from built import GPU, TSDB, environment, find

CALLS = int(sys.argv[1]) if len(sys.argv) > 1 else 50000
ROUNDS = int(sys.argv[2]) if len(sys.argv) > 2 else 3


OBSERVE = [TSDB, 'observe', '--gpu', GPU, '-q', '--ring', '256M']
MODES = {'alone': [], 'observed': OBSERVE + ['--'], 'without stacks': OBSERVE + ['--no-stacks', '--'],
         'one link a place': ['env', 'TSDB_OBSERVE_SINGLE=1'] + OBSERVE + ['--']}


def run(argv):
    e = environment()
    return subprocess.run(argv, env=e, capture_output=True, text=True, check=False)


def calls(lib):
    """{row: {mode: [ns, ...]}}"""
    found = {}
    for _ in range(ROUNDS):
        for mode, prefix in MODES.items():
            r = run(prefix + [find('bench/observe-load'), lib, str(CALLS)])
            if r.returncode:
                sys.exit(f'bench: {r.stderr}')
            lost = re.search(r'([\d,]+) lost', r.stderr)
            if lost and lost[1] != '0':
                print(f'# {mode}: {lost[1]} records lost, so this round is too cheap')
            for line in r.stdout.splitlines():
                label, ns = line.split('\t')
                found.setdefault(label, {}).setdefault(mode, []).append(float(ns))
    return found


def launches():
    n = '200000' if GPU == 'real' else '30000'
    found = {}
    modes = dict(MODES)
    modes['and the runtime'] = OBSERVE + ['--runtime', '--']
    del modes['one link a place']
    for _ in range(ROUNDS):
        for mode, prefix in modes.items():
            r = run(prefix + [find('examples/tiny_launches'), n])
            m = re.search(r'([\d.]+) us per launch', r.stdout)
            if not m:
                sys.exit(f'bench: {r.stdout}{r.stderr}')
            found.setdefault(mode, []).append(float(m[1]))
    return {m: min(v) for m, v in found.items()}


def main():
    r = run(OBSERVE + ['--', '/bin/true'])
    if r.returncode:
        print(f'skipped: {r.stderr.strip()}')
        return
    with tempfile.TemporaryDirectory() as d:
        lib = os.path.join(d, 'libcuda.so.1')
        shutil.copy(find('bench/libobserve-stub.so'), lib)
        rows = calls(lib)
    print(f'{"nanoseconds added to a call":30}' + ''.join(f'{m:>18}' for m in MODES if m != 'alone'))
    for label, modes in rows.items():
        base = min(modes['alone'])
        print(f'{label:30}' + ''.join(f'{min(v) - base:18.0f}' for m, v in modes.items() if m != 'alone'))
    t = launches()
    print(f'\ntiny launches on the {"device" if GPU == "real" else "software GPU"}: {t["alone"]:.2f} us alone')
    for mode, us in t.items():
        if mode != 'alone':
            print(f'  {mode:20}{us:8.2f} us, ratio {us / t["alone"]:.2f}')


main()
