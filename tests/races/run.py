#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The corpus of races: every racy program is accused of exactly the pair it is made for, no fixed one of anything.

Each program is recorded racy and fixed. Between commands: `tsdb races` must name the pair, certain, and nothing else; `tsdb explore`
must find another result, and the schedule it saves must give that result again every time. Inside a kernel: `replay racecheck` or
`tsdb check --perturb` must name the kernel. One TAP line each, then a table.

With TSDB_GPU=soft-amd it is the corpus compiled as HIP. On a real GPU (TSDB_GPU=real) programs are recorded and schedules executed there; what kernels touch is found on the software GPU.

Environment: TSDB_BUILD, TSDB_SRC, TSDB_GPU as for tests/e2e/e2e.py. Arguments: names of programs (globs); --times N: how often a
schedule is replayed (3); --alone N: how often each racy program is run without tsdb, counting wrong results (0), which has to be less than half
of them; --jobs N: so many programs at once (one a core, or RACES_JOBS; runs without tsdb: a quarter of that, so that they have the machine nearly
alone); --table FILE: the table as Markdown; -v: what failed runs printed.
"""
import argparse
import collections
import concurrent.futures
import fnmatch
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
SRC = os.environ.get('TSDB_SRC', os.path.dirname(os.path.dirname(HERE)))
BUILD = os.environ.get('TSDB_BUILD', os.getcwd())
GPU = os.environ.get('TSDB_GPU', 'soft')
DIFFERS = 3  # tsdb's exit status when something was found

# What is a race in some runs only, by name, with the two reasons that the table gives: why there is none, why there is one.
EITHER = {}
if GPU == 'real':
    EITHER['query_ignored'] = ('the kernel had ended before the query, which said so: then there is an order',
                               'the kernel had not ended when the query asked')
# What is found in the possible tier only, with the reason.
POSSIBLE = {
    'host_writes_early': 'possible where the copy came last in the recorded run: what the host had written is lost then',
    'host_reads_early': 'what the host reads is not recorded, but when it had not waited is',
    'never_triggers': 'by the letter of the documentation: they overlap at the very end of the first only',
}
# Races by the letter of the documentation: with --strict like any other one, without it possible at most.
STRICT = ('symbol_copy_returns',)
# Races that no order of the commands turns into another result, with the reason.
NO_SCHEDULE = {
    'host_reads_early': 'what the host read is nowhere in memory afterwards',
    'never_triggers': 'one that never triggers is not overtaken',
}
if GPU == 'real':
    NO_SCHEDULE['chain_of_three'] = 'an H200 does not begin the third launch while the first is held; the software GPU does'
# Races on CUDA that are none on AMD's GPUs, with the reason: the racy one is accused of nothing, and gives the fixed one's result whatever the
# order of waves and workgroups.
NO_RACE_ON_HIP = {
    'sync_warp': "no race on AMD's GPUs: the lanes of a wave are in step, and both programs have the same instructions",
}


class Failure(Exception):
    pass


def first_existing(*paths):
    return next((p for p in paths if os.path.exists(p)), paths[0])


TSDB = first_existing(os.path.join(BUILD, 'tsdb'), os.path.join(BUILD, 'bin', 'tsdb'))
HIP = GPU == 'soft-amd'
PROGRAMS = [os.path.join(BUILD, 'tests', 'races', name) for name in (('races-hip',) if HIP else ('races', 'dependent-launches'))]


class Case:
    """One program of the corpus, in a folder of its own."""

    def __init__(self, program, name, first, second, options):
        self.program = program
        self.name, self.first, self.second, self.options = name, first, second, options
        self.dir = tempfile.mkdtemp(prefix='tsdb-races-')
        self.log = []
        self.found = self.tier = self.accused = self.explored = self.alone = '-'
        self.failure = None

    def run(self, *argv, ok=(0,)):
        """Standard output; Failure when the exit status is none of ok."""
        env = dict(os.environ, HOME=self.dir, XDG_CONFIG_HOME=self.dir, XDG_STATE_HOME=self.dir, TERM='dumb', LC_ALL='C.UTF-8')
        r = subprocess.run(argv, cwd=self.dir, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300,
                           check=False)
        self.log.append(f'$ {" ".join(argv)}\n[exit status {r.returncode}]\n{r.stdout}{r.stderr}')
        if ok and r.returncode not in ok:
            raise Failure(f'{os.path.basename(argv[0])} {argv[1]}: exit status {r.returncode}')
        self.status = r.returncode
        return r.stdout

    def tsdb(self, *argv, ok=(0,)):
        return self.run(TSDB, *argv, ok=ok)

    def record(self, which, *args):
        self.tsdb('record', '--gpu', GPU, '-o', which + '.sbt', '--', self.program, self.name, *args)

    # -- between commands
    def pairs(self, which):
        """The pairs of a trace, as words like those in the program: certain and likely ones, unless it is one for the possible tier."""
        more = ['--possible'] if self.name in POSSIBLE else ['--strict'] if self.name in STRICT else []
        if self.name in STRICT:
            self.tsdb('races', which + '.sbt', '--exact')
        races = json.loads(self.tsdb('races', which + '.sbt', '--exact', '--json', *more, ok=(0, DIFFERS)))
        sure = any(r['tier'] != 'possible' for r in races)
        if self.status != (DIFFERS if sure else 0):
            raise Failure(f'tsdb races {which}.sbt: exit status {self.status} for {[r["tier"] for r in races]}')
        return [(party(r['a']), party(r['b']), r['tier']) for r in races]

    def letter(self):
        return ['--strict'] if self.name in STRICT else []

    def explore_fixed(self):
        """No order of the fixed program gives another result."""
        out = json.loads(self.tsdb('explore', 'fixed.sbt', '--budget', '30', '--no-save', '--json', *self.letter()))
        if any(window['found'] for window in (out if isinstance(out, list) else [out])):
            raise Failure('explore found another result of the fixed program')

    def explore(self):
        """A failing order, and how often it failed again."""
        out = self.tsdb('explore', 'racy.sbt', '--budget', '100', '--most', '1', '--json',
                        *self.letter(), ok=(0, 1, DIFFERS) if self.name in NO_SCHEDULE else (0, DIFFERS))
        found = json.loads(out) if self.status != 1 else []
        found = [f for window in (found if isinstance(found, list) else [found]) for f in window['found']]
        if not found:
            self.explored = '-' if self.name in NO_SCHEDULE else 'no'
            if self.name not in NO_SCHEDULE:
                raise Failure('explore found no order that gives another result')
            return
        again = 0
        for _ in range(self.options.times):
            self.tsdb('replay', found[0]['trace'], ok=(0, 1, DIFFERS))
            again += self.status == 0
        self.explored = f'{again} of {self.options.times}'
        if again != self.options.times:
            raise Failure('the schedule does not give its result every time')

    def between_commands(self):
        racy, fixed = self.pairs('racy'), self.pairs('fixed')
        want = (self.first, self.second)
        self.tier = next((tier for first, second, tier in racy if (first, second) == want), '-')
        racy = list(dict.fromkeys(pair[:2] for pair in racy))
        self.accused = str(len(fixed))
        self.found = 'yes' if racy == [want] else 'also others' if want in racy else 'no'
        if fixed:
            raise Failure(f'the fixed one is accused of {fixed}')
        if racy != [want] and (racy or self.name not in EITHER):
            raise Failure(f'found {racy or "nothing"}, want {want}')
        if racy and not self.options.no_explore:
            if self.name == 'host_writes_early' and self.tier == 'possible':
                self.record('racy')  # see POSSIBLE
            self.explore()
            self.explore_fixed()

    # -- inside a kernel
    def suspects(self, which):
        """The kernels that are accused in a trace."""
        if self.second == 'perturb':
            out = self.tsdb('check', which + '.sbt', '5', '--perturb', *([] if HIP else ['--on', 'soft']), '--json', ok=(0, DIFFERS))
            return {l['command']['kernel_name'] for w in json.loads(out) for l in w['nondeterministic'] + w['unwritten']}
        out = self.tsdb('--batch', '-q', '-ex', 'replay start' + ('' if HIP else ' --on soft'), '-ex', 'replay racecheck --json', which + '.sbt',
                        ok=(0, DIFFERS))
        out = out[out.index('\n[') + 1 if '\n[' in out else out.index('\n{') + 1:]
        return {plain(k) for k in re.findall(r'"kernel_name":"(\w+)', out)}

    def inside_a_kernel(self):
        racy, fixed = self.suspects('racy'), self.suspects('fixed')
        self.accused = str(len(fixed))
        if HIP and self.name in NO_RACE_ON_HIP:
            self.is_no_race(racy, fixed)
            return
        self.found = 'yes' if racy == {self.first} else 'also others' if self.first in racy else 'no'
        if fixed:
            raise Failure(f'the fixed one is accused: {fixed}')
        if racy != {self.first}:
            raise Failure(f'accused: {racy or "nobody"}, want {self.first}')

    def is_no_race(self, racy, fixed):
        self.found = NO_RACE_ON_HIP[self.name]
        if racy or fixed:
            raise Failure(f'accused: {racy | fixed}, but it is no race')
        env = ['env', 'LD_LIBRARY_PATH=' + libraries()]
        right = self.run(*env, self.program, self.name, 'fixed')
        for seed in range(1, 6):
            if self.run(*env, f'TSDB_SOFT_SCHEDULE=random:{seed}', self.program, self.name) != right:
                raise Failure(f'another result with the schedule {seed}')

    def runs_alone(self):
        """Without tsdb; the fixed one says what is right."""
        env = ['env', 'LD_LIBRARY_PATH=' + libraries()]
        right = self.run(*env, self.program, self.name, 'fixed')
        wrong = sum(self.run(*env, self.program, self.name, ok=None) != right for _ in range(self.options.alone))
        self.alone = f'{wrong} of {self.options.alone}'
        if 2 * wrong >= self.options.alone:
            raise Failure(f'without tsdb it is wrong in {self.alone} runs: that is no rare failure')

    def judge_alone(self):
        try:
            if self.options.alone and self.second not in ('racecheck', 'perturb'):
                self.runs_alone()
        except (Failure, subprocess.TimeoutExpired) as e:
            self.failure = self.failure or str(e)
        shutil.rmtree(self.dir, ignore_errors=True)
        return self

    def judge(self):
        try:
            self.record('racy')
            self.record('fixed', 'fixed')
            if self.second in ('racecheck', 'perturb'):
                self.inside_a_kernel()
            else:
                self.between_commands()
        except Failure as e:
            self.failure = str(e)
        except (subprocess.TimeoutExpired, ValueError, KeyError) as e:
            self.failure = f'{type(e).__name__}: {e}'
        return self


def plain(mangled):
    """Of a mangled name: the function's own."""
    m = re.match(r'_ZL?(\d+)(\w+)', mangled)
    return m.group(2)[:int(m.group(1))] if m else mangled


def party(p):
    """A kernel's name, or the kind of a command; the host."""
    if p['by_host']:
        return 'host'
    return p.get('name') or p['command'].get('kernel_name') or p['command']['kind']


def corpus():
    for program in PROGRAMS:
        rows = subprocess.run([program], stdout=subprocess.PIPE, env=dict(os.environ, LD_LIBRARY_PATH=libraries()), text=True, check=True)
        yield from ([program, *line.split()] for line in rows.stdout.splitlines())


def libraries():
    """Where the program finds a CUDA driver and runtime."""
    if GPU == 'real':
        return os.environ.get('LD_LIBRARY_PATH', '')
    name = 'softamd' if HIP else 'softgpu'
    soft = first_existing(os.path.join(BUILD, name), os.path.join(BUILD, 'lib', 'tsdb', name))
    return soft + ':' + os.environ.get('LD_LIBRARY_PATH', '')


def table(cases):
    yield '| program | what has to be named | wrong alone | named | tier | fixed one accused | fails again |'
    yield '| --- | --- | --- | --- | --- | --- | --- |'
    for c in cases:
        why = POSSIBLE.get(c.name) if c.tier == 'possible' else EITHER[c.name][c.found == 'yes'] if c.name in EITHER else None
        named = c.found + (f' ({why})' if why else '')
        again = c.explored + (f' ({NO_SCHEDULE[c.name]})' if c.name in NO_SCHEDULE and c.explored == '-' else '')
        yield f'| {c.name} | {c.first}, {c.second} | {c.alone} | {named} | {c.tier} | {c.accused} | {again} |'


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument('names', nargs='*')
    ap.add_argument('--times', type=int, default=3)
    ap.add_argument('--alone', type=int, default=0)
    ap.add_argument('--jobs', type=int, default=int(os.environ.get('RACES_JOBS', '0')) or os.cpu_count() or 1)
    ap.add_argument('--no-explore', action='store_true')
    ap.add_argument('--table')
    ap.add_argument('-v', action='store_true')
    options = ap.parse_args()
    if not all(os.path.exists(program) for program in PROGRAMS):
        print('1..0 # SKIP the programs of tests/races were not built')
        return 77
    cases = [Case(*row, options) for row in corpus()
             if not options.names or any(fnmatch.fnmatch(row[1], n) for n in options.names)]
    print(f'1..{len(cases)}')
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        list(pool.map(Case.judge, cases))
    failed = 0
    with concurrent.futures.ThreadPoolExecutor((options.jobs + 3) // 4) as pool:
        for i, c in enumerate(pool.map(Case.judge_alone, cases)):
            failed += c.failure is not None
            print(f'{"not ok" if c.failure else "ok"} {i + 1} - {c.name}' + (f': {c.failure}' if c.failure else ''), flush=True)
            if c.failure and options.v:
                print(''.join(f'# {line}\n' for line in '\n'.join(c.log).splitlines()), end='')
    lines = list(table(cases))
    print('\n' + '\n'.join(lines))
    if options.table:
        with open(options.table, 'w', encoding='utf-8') as f:
            f.write('\n'.join(lines) + '\n')
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
