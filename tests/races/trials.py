#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The corpus's kernels that are wrong by themselves, tried on the device: other work beside them, other contents of fresh memory.

run.py looks into kernels on the software GPU, whatever was recorded where. Here each program of the kind is recorded and checked on the one device
(TSDB_GPU), by `tsdb check N --perturb`. Reads of memory that nobody wrote have to be found, since they are provoked; what hangs on chance (atomics,
races between blocks) is told and not required on a real GPU. Nothing of a fixed program may be accused.

Environment: TSDB_BUILD, TSDB_SRC, TSDB_GPU as for run.py. Arguments: names of programs (globs); --runs N: executions of each launch (20); --table FILE.
"""
import argparse
import fnmatch
import json
import subprocess
import sys

import run

PROVOKED = ('uninitialised', 'uninitialised_tail')


class Trial(run.Case):
    """One program, racy and fixed."""

    def __init__(self, name, first, second, options):
        super().__init__(name, first, second, options)
        self.differs = self.reads = self.looks = '-'

    def check(self, which):
        """What is accused: launches that are not deterministic, and those that read what nobody wrote."""
        out = json.loads(self.tsdb('check', which + '.sbt', str(self.options.runs), '--perturb', '--on', run.GPU, '--json', ok=(0, run.DIFFERS)))
        return [l for w in out for l in w['nondeterministic']], [l for w in out for l in w['unwritten']]

    def judge(self):
        try:
            self.record('racy')
            self.record('fixed', 'fixed')
            differ, read = self.check('racy')
            self.tell(differ, read)
            accused = {l['command']['kernel_name'] for found in self.check('fixed') for l in found}
            self.accused = str(len(accused))
            if accused:
                raise run.Failure(f'the fixed one is accused: {accused}')
            if self.name in PROVOKED and self.first not in {l['command']['kernel_name'] for l in read}:
                raise run.Failure(f'the read by {self.first} was not found')
        except (run.Failure, subprocess.TimeoutExpired, ValueError, KeyError) as e:
            self.failure = f'{type(e).__name__}: {e}'
        return self

    def tell(self, differ, read):
        mine = [l for l in differ if l['command']['kernel_name'] == self.first]
        others = {l['command']['kernel_name'] for l in differ + read} - {self.first}
        if mine:
            self.differs = f'{mine[0]["differing"]} of {mine[0]["executions"]}'
            self.looks = mine[0]['looks_like']
        if read:
            self.reads = f'+{int(read[0]["addr"], 16) - int(read[0]["allocation"], 16)}'
        if others:
            raise run.Failure(f'{others} accused, want {self.first} alone')


def table(trials):
    yield '| program | kernel | executions that differed | it looks like | first unwritten bytes that matter | fixed one accused |'
    yield '| --- | --- | --- | --- | --- | --- |'
    for t in trials:
        yield f'| {t.name} | {t.first} | {t.differs} | {t.looks} | {t.reads} | {t.accused} |'


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument('names', nargs='*')
    ap.add_argument('--runs', type=int, default=20)
    ap.add_argument('--table')
    ap.add_argument('-v', action='store_true')
    options = ap.parse_args()
    options.times = options.alone = 0
    trials = [Trial(*row, options) for row in run.corpus() if row[2] in ('perturb', 'racecheck')
              and (not options.names or any(fnmatch.fnmatch(row[0], n) for n in options.names))]
    print(f'1..{len(trials)}')
    for i, t in enumerate(trials):
        t.judge()
        print(f'{"not ok" if t.failure else "ok"} {i + 1} - {t.name}' + (f': {t.failure}' if t.failure else ''), flush=True)
        if t.failure and options.v:
            print(''.join(f'# {line}\n' for line in '\n'.join(t.log).splitlines()), end='')
        t.judge_alone()  # removes its folder
    lines = list(table(trials))
    print('\n' + '\n'.join(lines))
    if options.table:
        with open(options.table, 'w', encoding='utf-8') as f:
            f.write('\n'.join(lines) + '\n')
    return 1 if any(t.failure for t in trials) else 0


if __name__ == '__main__':
    sys.exit(main())
