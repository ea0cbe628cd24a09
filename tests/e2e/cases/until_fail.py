# SPDX-License-Identifier: Apache-2.0
"""tsdb record --until-fail: the run that failed, one that passed, and where they begin to differ."""
import os

from e2e import program


def flaky(t, *runs):
    """A program whose n-th run is runs[n - 1], a line of shell; the last one again after those."""
    rows = '\n'.join(f'{i + 1}) {line};;' for i, line in enumerate(runs))
    return t.executable('flaky', f'#!/bin/sh\necho >>{t.path("count")}\ncase $(wc -l <{t.path("count")}) in\n{rows}\n*) {runs[-1]};;\nesac\n')


def made(t):
    return sorted(x for x in os.listdir(t.dir) if x.endswith('.sbt'))


def record(t, *words, **kw):
    return t.tsdb('record', '--gpu', t.gpu, *words, **kw)


def commands(t, name):
    return t.tsdb('view', '--json', name).out.count('"kind":"launch"')


def test_the_run_that_fails_and_one_that_passed(t):
    passes, fails = f'exec {program("vecadd")}', f'{program("matmul")} 64; exit 7'
    r = record(t, '--until-fail', '--runs', '9', '-o', 'run.sbt', flaky(t, passes, passes, 'exec ' + program('exits_early'), fails))
    t.equal(r.status, 3, r.both)
    t.match(r'^Run 3 ended with status 3: run\.failed\.sbt$', r.out)
    t.match(r'^A run that passed: run\.passed\.sbt$', r.out)
    t.equal(made(t), ['run.failed.sbt', 'run.passed.sbt'], 'these two are kept')
    t.check('vecAdd' in t.tsdb('view', 'run.passed.sbt').out or commands(t, 'run.passed.sbt'), 'the one that passed')
    d = t.tsdb('diff', 'run.passed.sbt', 'run.failed.sbt', '--top', '1')
    t.check(d.out and d.out in r.out, f'the first difference\n{d.both}\n{r.both}')
    t.no_match('tsdb races', r.out, 'their order is not asked about')


def test_the_same_commands(t):
    """Where the commands are the same, their order may be the cause."""
    prog = program('exit_code')
    r = record(t, '--until-fail', '--runs', '3', '-o', 'run.sbt', flaky(t, f'exec {prog} 0', f'exec {prog} 9'))
    t.equal((r.status, made(t)), (9, ['run.failed.sbt', 'run.passed.sbt']), r.both)
    t.match(r'`tsdb races run\.failed\.sbt` says what nothing orders, `tsdb explore run\.failed\.sbt` what comes of it\.$', r.out)
    t.equal(t.tsdb('races', 'run.failed.sbt').status, 0, 'as it says')


def test_none_fails(t):
    r = record(t, '--until-fail', '--runs', '2', '-o', 'run.sbt', program('vecadd'))
    t.equal((r.status, made(t)), (0, ['run.passed.sbt']), r.both)
    t.match(r'^2 runs, none failed\. The last one: run\.passed\.sbt$', r.out)


def test_none_passes(t):
    r = record(t, '--until-fail', '--runs', '2', '-o', 'run.sbt', program('exits_early'))
    t.equal((r.status, made(t)), (3, ['run.failed.sbt']), r.both)
    t.match(r'^None of 2 runs passed\.$', r.out)


def test_one_that_passes_after_the_first_that_failed(t):
    r = record(t, '--until-fail', '-o', 'run.sbt', flaky(t, 'exec ' + program('exits_early'), 'exec ' + program('vecadd')))
    t.equal((r.status, made(t)), (3, ['run.failed.sbt', 'run.passed.sbt']), r.both)
    t.match(r'^Run 1 ended with status 3', r.out)


def test_words(t):
    for words, said in ((['--runs', '3'], '--runs goes with --until-fail'), (['--until-fail', '--runs', '0'], '"0" is no number of runs'),
                        (['--until-fail', '--children'], 'whole runs of one program'), (['--until-fail', '--windows'], 'whole runs of one program')):
        r = record(t, *words, program('vecadd'))
        t.equal((r.status, made(t)), (1, []), str(words))
        t.check(said in r.err, r.err)
    r = record(t, '--until-fail', '--runs', '3', '/bin/true')
    t.equal(r.status, 1, r.both)
    t.match('run 1 made no GPU commands', r.err)
