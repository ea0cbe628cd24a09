# SPDX-License-Identifier: Apache-2.0
"""The agent under ThreadSanitizer (make check-tsan builds it; without that these are skipped)."""
import glob
import os

from e2e import BUILD, Skip, tsdb_path


def world(t):
    """tsdb beside the agent that has ThreadSanitizer; the software GPU has not."""
    agent, program = os.path.join(BUILD, 'tests/stress/libtsdb-agent.so'), os.path.join(BUILD, 'tests/stress/agent-stress')
    if t.gpu != 'soft' or not os.path.exists(agent) or not os.path.exists(program):
        raise Skip('make check-tsan builds what this needs')
    t.copy_program(tsdb_path(), 'tsdb')
    for name, to in (('softgpu', os.path.join(BUILD, 'softgpu')), ('tsdb-replayer', os.path.join(BUILD, 'tsdb-replayer')),
                     ('tsdb-keeper', os.path.join(BUILD, 'tsdb-keeper')), ('libtsdb-agent.so', agent)):
        os.symlink(to, t.path(name))
    return t.path('tsdb'), program


def run(t, *options):
    tsdb, program = world(t)
    # What the software GPU keeps in host memory lies where ThreadSanitizer has its shadow, unless it is told another place.
    env = {'TSDB_SOFT_HOST_BASE': '560000000000',
           'TSAN_OPTIONS': f'ignore_noninstrumented_modules=1 die_after_fork=0 report_signal_unsafe=0 log_path={t.path("tsan-log")}'}
    r = t.run([tsdb, 'record', '--gpu', 'soft', *options, '-o', 't.sbt', '--', program, '6'], env=env, timeout=300)
    reports = ''.join(open(f).read() for f in glob.glob(t.path('tsan-log*')))
    t.check(not reports, f'no report: {reports[:6000]}')
    t.equal((r.status, r.out), (0, 'agent-stress: fine\n'), 'the program')


def test_recording_memory(t):
    run(t)


def test_recording_what_is_touched(t):
    run(t, '--memory', 'touched')


def test_recording_commands(t):
    run(t, '--memory', 'none')
