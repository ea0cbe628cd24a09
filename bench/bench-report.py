#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a report of a long trace costs: to write it (processor time, memory, size), to open it in headless Chromium, and to move in it.
A synthetic trace of BENCH_REPORT_COMMANDS commands (1,000,000 when not set); races are not looked for. Times in the browser are of a
clock: on a busy machine they are those of the machine, whose load is printed, and the browser's processor time is beside them."""
import os
import statistics
import subprocess
import sys
import tempfile
import time

SRC = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..')
sys.path.insert(0, os.path.join(SRC, 'tests', 'e2e'))
import browser  # noqa: E402  pylint: disable=wrong-import-position
import e2e  # noqa: E402  pylint: disable=wrong-import-position

BUILD = os.environ.get('TSDB_BUILD', 'build')
COMMANDS = int(os.environ.get('BENCH_REPORT_COMMANDS', '1000000'))
FRAMES = 60


class Folder:
    """What browser.py wants of a test."""
    def __init__(self, path):
        self.dir = path

    def path(self, name):
        return os.path.join(self.dir, name)

    def environment(self):
        return dict(os.environ)


def tsdb(*argv):
    """Seconds, seconds of processor time, and the most memory in MB."""
    begin = time.monotonic()
    p = subprocess.Popen([os.path.join(BUILD, 'tsdb'), *argv], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, used = os.wait4(p.pid, 0)
    if status:
        sys.exit(f'tsdb {argv[0]} failed')
    return time.monotonic() - begin, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


def write(folder):
    trace, page = folder.path('t.sbt'), folder.path('r.html')
    subprocess.run([os.path.join(BUILD, 'bench/make-trace'), trace, str(COMMANDS), 'times'], check=True)
    reading = min(tsdb('view', trace, '--count')[1] for _ in range(3))
    took, spent, memory = tsdb('report', trace, '--no-races', '-o', page)
    print(f'{COMMANDS} commands: written in {took:.2f} s, {spent:.2f} s of processor time, {spent / reading:.1f} times what reading them takes, '
          f'{memory:.0f} MB of memory, {os.path.getsize(page) / 1e6:.1f} MB', flush=True)


def move(b, action):
    """The median of what frames take, in ms, after FRAMES times an action."""
    b.value('report.frames.length = 0')
    for k in range(FRAMES):
        b.value(f'(() => {{ const k = {k}; {action}; report.redraw(); }})()')
        b.settle()
    return statistics.median(b.value('report.frames'))


def processor_time(b):
    """Of the page's process, s."""
    return {m['name']: m['value'] for m in b.do('Performance.getMetrics')['metrics']}['TaskDuration']


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = Folder(name)
        write(folder)
        try:
            browser.chromium()
        except e2e.Skip as e:
            print(e)
            return
        with browser.Browser(folder) as b:
            b.do('Performance.enable', timeDomain='threadTicks')
            b.open('r.html')
            print(f'opened: lanes are drawn after {b.value("report.shown"):.0f} ms, all is there after {b.value("report.loaded"):.0f} ms, '
                  f'{processor_time(b) * 1000:.0f} ms of processor time (load {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors)')
            for what, action in (('whole', ''), ('zooming in', 'report.view.zoom(0.8, 300)'), ('moving', 'report.view.pan(k % 2 ? 40 : -35)')):
                print(f'{what}: a frame takes {move(b, action):.1f} ms in the median', flush=True)


main()
