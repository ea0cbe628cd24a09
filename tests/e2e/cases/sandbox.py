# SPDX-License-Identifier: Apache-2.0
"""The sandbox round the replayer: what a trace that takes the replayer over can do then, and what the user is told (docs/security.md)."""
import os
import re
import shutil

from e2e import BUILD, SRC, Skip, first_existing, program, tsdb_path


def attack(t, *rows):
    """Runs tests/sandbox/attack; each of the rows must be ok."""
    if not first_existing(os.path.join(BUILD, 'tests/sandbox/replayer-under-attack')):
        raise Skip('tests/sandbox/replayer-under-attack was not built')
    r = t.run([os.path.join(SRC, 'tests/sandbox/attack'), '--gpu', t.gpu, '--tsdb', tsdb_path(), '--programs', os.path.dirname(t.program('payload')),
               '--examples', os.path.dirname(t.program('vecadd')), '--only', ','.join(rows)])
    for row in rows:
        t.match(rf'^{row}: ok ', r.out)
    t.equal(r.status, 0, 'tests/sandbox/attack')


def test_a_replayer_that_was_taken_over_is_shut_in(t):
    attack(t, 'sandbox')


def test_the_attacks_get_through_without_a_sandbox(t):
    attack(t, 'no-sandbox')


def test_one_wall_may_be_missing(t):
    t.need_soft()
    attack(t, 'without-landlock', 'without-namespaces', 'without-seccomp')


def test_the_rules_for_a_driver(t):
    t.need_soft()
    attack(t, 'driver-rules', 'driver-no-spaces')


def test_the_replayer_is_somewhere_else_each_time(t):
    attack(t, 'random')


def test_the_replayer_is_built_hardened(t):
    if not shutil.which('readelf'):
        raise Skip('no readelf')
    replayer = first_existing(os.path.join(BUILD, 'tsdb-replayer'), os.path.join(BUILD, 'lib/tsdb/tsdb-replayer'))
    r = t.run(['readelf', '-hldW', replayer])
    for want in (r'Type:\s+DYN', r'BIND_NOW', r'GNU_RELRO', r'GNU_STACK\s.*\sRW\s'):
        t.match(want, r.out)
    t.no_match('TEXTREL', r.out)


def test_hot_kernels_are_compiled_in_the_sandbox(t):
    if not os.path.exists(os.path.join(BUILD, 'softgpu/tsdb-softgpu-jit.so')):
        raise Skip('built without LLVM')
    t.need_soft()
    t.record('vecadd')
    env = {'TSDB_SOFT_JIT': 'force', 'TSDB_SOFT_JIT_LOG': '1'}
    for without in (None, 'landlock'): # then the compiler is opened before the sandbox is shut
        r = t.tsdb('replay', 't.sbt', '--on', 'soft', env=dict(env, TSDB_SANDBOX_WITHOUT=without))
        t.match(r'jit: .*vecadd.*all lanes: [0-9.]+ ms', r.err)
        t.match('^Verified', r.out)


def test_without_walls_it_refuses(t):
    t.record('vecadd')
    r = t.tsdb('replay', 't.sbt', env={'TSDB_SANDBOX_WITHOUT': 'landlock,namespaces,seccomp'})
    t.sentence(r, r'this system grants the replayer no sandbox: .*--no-sandbox executes without one')
    r = t.tsdb('replay', 't.sbt', env={'TSDB_SANDBOX_WITHOUT': 'lock'})
    t.sentence(r, 'the replayer died.*exit status 2|the sandbox has no wall "lock"')


def test_somebody_elses_trace_is_named_once(t):
    if os.geteuid():
        raise Skip('only root can give a file away')
    t.record('vecadd')
    os.chown(t.path('t.sbt'), 4711, 4711)
    r = t.tsdb('--batch', '--no-init', '-ex', 'replay start', '-ex', 'replay start', 't.sbt')
    t.equal(len(re.findall(r'belongs to another user \(number 4711\): its code is executed here, in a sandbox', r.err)), 1, 'sentences')
    r = t.tsdb('view', 't.sbt')
    t.equal(r.err, '', 'what view says')


def test_a_trace_of_another_machine_is_named(t):
    if os.geteuid() or not shutil.which('unshare'):
        raise Skip('only root can call the machine something else')
    record = f"hostname elsewhere; '{tsdb_path()}' record --gpu {t.gpu} -o t.sbt '{program('vecadd')}'"
    if t.run(['unshare', '--uts', 'sh', '-c', record]).status:
        raise Skip('no UTS namespaces here')
    r = t.tsdb('replay', 't.sbt')
    t.match(r'^tsdb: t\.sbt was recorded on another machine, elsewhere: its code is executed here, in a sandbox', r.err)
    t.equal(r.status, 0, 'exit status')


def test_no_sandbox_says_what_it_gives_up(t):
    t.record('vecadd')
    t.equal(t.tsdb('replay', 't.sbt').err, '', 'of a trace of our own')
    sentence = 'the code of t.sbt is executed WITHOUT a sandbox: it can do all that you can'
    for words in (['replay', 't.sbt', '--no-sandbox'], ['--no-sandbox', 'check', 't.sbt', '2'], ['explore', 't.sbt', '--no-sandbox', '--budget', '2'],
                  ['--batch', '--no-init', '-ex', 'replay start --no-sandbox', 't.sbt'],
                  ['extract', 't.sbt', '--no-sandbox', '--kernel', 'vecadd', '-o', 'x'],
                  ['--batch', '--no-init', '-ex', 'set replay sandbox off', '-ex', 'replay start', 't.sbt']):
        r = t.tsdb(*words)
        t.equal(r.err.count(sentence), 1, f'tsdb {" ".join(words)}')
    t.record('race_demo', out='r.sbt') # only what can race is executed by `races`
    t.equal(t.tsdb('races', '--no-sandbox', 'r.sbt').err.count(sentence.replace('t.sbt', 'r.sbt')), 1, 'tsdb races')


def test_doctor_tells_the_walls(t):
    r = t.tsdb('doctor')
    for wall in ('namespaces', 'limits', 'landlock', 'capabilities', 'seccomp'):
        t.match(rf'^(ok|missing) +sandbox +{wall}: \S', r.out)
