#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What tsdb costs a training step of PyTorch (tests/real/gpt.py), as ratios of medians from one run: attached with no window open, full
capture of commands with Python and native stacks, PyTorch's own profiler with stacks; and what a window of one step holds the
program up for, over the device-to-device copy time of the memory that was live. Needs a GPU and torch.

  bench-torch.py [STEPS [ROUNDS]]      TSDB_BUILD as for the end-to-end tests
"""
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time

from built import HERE, TSDB

GPT = os.path.join(os.path.dirname(HERE), 'tests', 'real', 'gpt.py')
STEPS = int(sys.argv[1]) if len(sys.argv) > 1 else 200
ROUNDS = int(sys.argv[2]) if len(sys.argv) > 2 else 3
SETTLE = float(os.environ.get('BENCH_SETTLE', '25'))  # seconds after attaching before it is measured
COPY = """
import torch
a = torch.empty({0}, dtype=torch.uint8, device="cuda"); b = torch.empty_like(a)
times = []
for _ in range(20):
    s, e = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    s.record(); b.copy_(a); e.record(); e.synchronize(); times.append(s.elapsed_time(e))
print(sorted(times)[10])
"""


def step_time(argv):
    out = subprocess.run(argv, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    for line in out.stdout.splitlines():
        if line.startswith('median '):
            return float(line.split()[1])
    sys.exit(f'bench: {argv} printed\n{out.stdout}{out.stderr}')


def separate(d):
    """Each mode in processes of its own, interleaved."""
    gpt = [sys.executable, GPT, str(STEPS), 'time']
    modes = {
        'without tsdb': gpt,
        'record, stacks': [TSDB, 'record', '--memory', 'none', '-o', os.path.join(d, 't.sbt'), '--', *gpt],
        'record, stacks, times': [TSDB, 'record', '--memory', 'none', '--timestamps', '-o', os.path.join(d, 't.sbt'), '--', *gpt],
        "PyTorch's profiler": [*gpt, 'profile'],
    }
    times = {m: [] for m in modes}
    for _ in range(ROUNDS):
        for m, argv in modes.items():
            times[m].append(step_time(argv))
    base = statistics.median(times['without tsdb'])
    print(f'{STEPS} steps, {ROUNDS} rounds')
    for m, t in times.items():
        print(f'{m:24} {statistics.median(t):8.3f} ms/step  min {min(t):8.3f}  max {max(t):8.3f}  ratio {statistics.median(t) / base:6.3f}')


def lines(p, n, skip=1):
    """The next n medians that the looping program prints, after those that were under way."""
    for _ in range(skip):
        p.stdout.readline()
    return [float(p.stdout.readline()) for _ in range(n)]


def attached(d):
    """One process that goes on; tsdb comes, looks for what was there before, and goes. A median of 50 steps at a time."""
    p = subprocess.Popen([sys.executable, GPT, '0', 'loop'], stdout=subprocess.PIPE, text=True)
    t = None
    try:
        lines(p, 4)
        alone = lines(p, 10, 0)
        log = open(os.path.join(d, 'attach.log'), 'w+', encoding='utf-8')
        began = time.monotonic()
        t = subprocess.Popen([TSDB, '--batch', '-p', str(p.pid), '-ex', 'continue'], stdout=log, stderr=log, stdin=subprocess.DEVNULL)
        curve = []
        while time.monotonic() - began < SETTLE and t.poll() is None:
            curve.append((time.monotonic() - began, lines(p, 1, 0)[0]))
        watched = lines(p, 10, 0)
        t.send_signal(signal.SIGINT)
        t.wait()
        log.seek(0)
        said = log.read()
        log.close()
        lines(p, 2)
        alone += lines(p, 10, 0)
        print(''.join(f'  {l}\n' for l in said.splitlines()[:3]), end='')
        print('  since attaching, s: ms/step: ' + ', '.join(f'{at:.1f}: {v:.2f}' for at, v in curve[::max(1, len(curve) // 20)]))
        a, w = statistics.median(alone), statistics.median(watched)
        print(f'attached, no window      {w:8.3f} ms/step  min {min(watched):8.3f}  max {max(watched):8.3f}  ratio {w / a:6.3f}   '
              f'(at most 1.02; alone {a:.3f}, min {min(alone):.3f}, max {max(alone):.3f})')
    finally:
        for x in t, p:
            if x:
                x.kill()
                x.wait()


def window(d):
    times, trace = os.path.join(d, 'times'), os.path.join(d, 'w.sbt')
    env = dict(os.environ, TSDB_AGENT_TIMES=times)
    out = subprocess.run([TSDB, '--batch', '-ex', f'set capture output {trace}', '-ex', 'set capture window-stop off', '-ex', 'capture window nvtx "step 10"', '-ex',
                          'run', '--args', sys.executable, GPT, '20'], env=env, capture_output=True, text=True, check=False)
    if not os.path.exists(times):
        return print(f'no window was recorded: {out.stdout[-500:]}{out.stderr[-500:]}')
    with open(times, encoding='utf-8') as f:
        agent = json.loads(f.readlines()[-1])
    n = agent['shadowed']
    copy = float(subprocess.run([sys.executable, '-c', COPY.format(n)], capture_output=True, text=True, check=True).stdout)
    for name, part in (('start', agent['begin']), ('end', agent['end'])):
        pause = (part['gate'] + part['idle'] + part['work']) / 1e6
        print(f'window {name}: {n >> 20} MiB live, pause {pause:.3f} ms (gate {part["gate"] / 1e6:.3f}, idle {part["idle"] / 1e6:.3f}, '
              f'work {part["work"] / 1e6:.3f}: allocations {part["memory"] / 1e6:.3f}, launch {part["go"] / 1e6:.3f}, host {part.get("host", 0) / 1e6:.3f}, globals {part["globals"] / 1e6:.3f}), '
              f'device-to-device copy {copy:.3f} ms, ratio {pause / copy:.2f}   (at most 2)')


def main():
    with tempfile.TemporaryDirectory() as d:
        for what in os.environ.get('BENCH_TORCH', 'separate attached window').split():
            {'separate': separate, 'attached': attached, 'window': window}[what](d)


main()
