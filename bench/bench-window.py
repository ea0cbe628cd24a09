#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a capture window holds the program up for: its first launch, which copies all live memory on the device, and its last one, which hashes it. Both
over the device-to-device copy time of that much memory, measured by the same program in the same run.

  bench-window.py [MIB [ROUNDS]]      TSDB_BUILD, TSDB_GPU as for the end-to-end tests; --verify also replays the last trace,
  --keep-off copies to the program's own memory, not to a process of tsdb's (set capture keep)
"""
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile

from built import GPU, TSDB, environment, find

KEEP = 'off' if '--keep-off' in sys.argv else 'on'
ARGS = [a for a in sys.argv[1:] if a not in ('--verify', '--keep-off')]
MIB = int(ARGS[0]) if ARGS else (8192 if GPU == 'real' else 64)
ROUNDS = int(ARGS[1]) if len(ARGS) > 1 else 3
COUNT = 100


LOAD = find('bench/window-load')


def folder():
    """Where the trace goes: a disk would be the slowest part."""
    for d in ('/dev/shm', None):
        if d is None or (os.path.isdir(d) and shutil.disk_usage(d).free > (MIB + 512) << 20):
            return d
    return None


def one_round(d):
    """One window: what the program printed, what the agent says of its pauses."""
    times, trace = os.path.join(d, 'times'), os.path.join(d, 'w.sbt')
    for p in (times, trace):
        if os.path.exists(p):
            os.unlink(p)
    env = dict(os.environ, TSDB_AGENT_TIMES=times)
    out = subprocess.run([TSDB, '--gpu', GPU, '--batch', '-ex', f'set capture memory-limit {MIB // 1024 + 4}G',
                          '-ex', f'set capture keep {KEEP}', '-ex', f'set capture output {trace}', '-ex', 'set capture window-stop off', '-ex', f'capture window kernel work count {COUNT}', '-ex', 'run',
                          '--args', LOAD, str(MIB), str(COUNT)], env=env, capture_output=True, text=True, check=False)
    printed = [l for l in out.stdout.splitlines() if l.startswith('{"bytes"')]
    if not printed or not os.path.exists(times):
        sys.exit(f'bench: no window was recorded:\n{out.stdout}{out.stderr}')
    with open(times, encoding='utf-8') as f:
        agent = json.loads(f.readlines()[-1])
    return json.loads(printed[-1]), agent, trace, out.stdout


def alone():
    env = environment()
    out = subprocess.run([LOAD, str(MIB), str(COUNT)], env=env, capture_output=True, text=True, check=True)
    return json.loads(out.stdout.splitlines()[-1])


def ms(ns):
    return ns / 1e6


def main():
    with tempfile.TemporaryDirectory(dir=folder()) as d:
        bare = alone()
        copy = bare['copy_ms']
        usual = statistics.median(bare['rounds'][0]['work'])
        print(f'{MIB} MiB live; copied on the device in {copy:.3f} ms; a launch without tsdb {usual * 1000:.1f} us')
        ratios = {'first': [], 'last': []}
        for i in range(ROUNDS):
            load, agent, trace, out = one_round(d)
            work, after = load['rounds'][0]['work'], load['rounds'][0]['after']
            # What tsdb had to do with the program's waiting for it: not the launches themselves.
            first, last = work[0], work[-1]
            between = statistics.median(work[1:-1])
            b, e = agent['begin'], agent['end']
            ratios['first'].append(first / copy)
            ratios['last'].append(last / copy)
            print(f'window {i}: first launch {first:.3f} ms = {first / copy:.2f} of the copy '
                  f'(prepare {ms(b["prepare"]):.3f}, gate {ms(b["gate"]):.3f}, idle {ms(b["idle"]):.3f}, copy {ms(b["work"]):.3f}); '
                  f'last launch {last:.3f} ms = {last / copy:.2f} '
                  f'(gate {ms(e["gate"]):.3f}, idle {ms(e["idle"]):.3f}, hash {ms(e["work"]):.3f}); '
                  f'between {between * 1000:.1f} us, slowest {max(work[1:-1]) * 1000:.0f} us; '
                  f'after it {statistics.median(after) * 1000:.1f} us, slowest {max(after) * 1000:.0f} us')
            if agent['shadowed'] < MIB << 20:
                print(f'  only {agent["shadowed"] >> 20} MiB were copied on the device')
        if '--verify' in sys.argv:
            r = subprocess.run([TSDB, 'replay', trace, '--verify'], capture_output=True, text=True, check=False)
            print(f'replay: exit {r.returncode}: {(r.stdout.strip().splitlines() or ["nothing printed"])[-1]}')
        first, last = statistics.median(ratios['first']), statistics.median(ratios['last'])
        print(f'window start over device-to-device copy: {first:.2f}   (at most 2)')
        print(f'window end over device-to-device copy:   {last:.2f}')


main()
