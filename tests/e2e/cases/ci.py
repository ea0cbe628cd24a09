# SPDX-License-Identifier: Apache-2.0
"""What a job without a GPU runs (examples/ci): its status is the program's, or says that something was found."""
import os
import re
import subprocess

from e2e import SRC, program, tsdb_path

CI = os.path.join(SRC, 'examples', 'ci')


def check(t, *words):
    env = {**t.environment(), 'TSDB': tsdb_path(), 'GITHUB_STEP_SUMMARY': t.path('summary.md')}
    p = subprocess.run([os.path.join(CI, 'tsdb-ci-check'), *words], cwd=t.dir, env=env, capture_output=True, text=True)
    return p.returncode, p.stdout + p.stderr


def summary(t):
    with open(t.path('summary.md'), encoding='utf-8') as f:
        return f.read()


def test_a_right_program_passes(t):
    status, said = check(t, program('vecadd'))
    t.equal(status, 0, said)
    t.match('^    No races in ', summary(t))
    t.equal(re.findall('^### tsdb (.*)$', summary(t), re.M), ['races', 'check'], 'both are in the summary')


def test_a_race_fails_the_job_and_is_in_its_summary(t):
    status, said = check(t, program('race_demo'))
    t.equal(status, 3, said)
    t.match('^    1 race in ', summary(t))
    t.check(os.path.getsize(t.path('gpu.sbt')) > 0 and os.path.getsize(t.path('check.txt')) > 0, 'kept for the artifact')


def test_a_program_that_fails_fails_the_job(t):
    with open(t.path('gpu.sbt'), 'w', encoding='utf-8') as f:
        f.write('of an earlier run')
    status, said = check(t, '/bin/sh', '-c', f'{program("vecadd")}; exit 7')
    t.equal(status, 7, said)
    status, said = check(t, '/bin/sh', '-c', 'exit 7')
    t.equal(status, 7, said)
    t.equal(check(t, '/bin/true')[0], 1, 'no GPU call: nothing was tested')
    t.equal(check(t)[0], 2, 'nothing to run')


def test_the_workflow_and_the_image_name_what_is_there(t):
    """The workflow keeps the files that the script leaves; the image has the packages that debian/control makes."""
    with open(os.path.join(CI, 'gpu-tests.yml'), encoding='utf-8') as f:
        workflow = f.read()
    kept = workflow.split('path: |')[1].split('if-no-files')[0].split()
    check(t, program('vecadd'))
    t.equal([k for k in kept if not os.path.exists(t.path(k))], [], 'kept')
    with open(os.path.join(CI, 'Dockerfile'), encoding='utf-8') as f:
        image = f.read()
    with open(os.path.join(SRC, 'debian', 'control'), encoding='utf-8') as f:
        made = set(re.findall(r'^Package: (.*)$', f.read(), re.M))
    used = set(re.findall(r'/packages/([a-z0-9-]+)_\*', image))
    t.check(used and used <= made, f'{used} of {made}')
    copied = re.findall(r'^COPY (examples/\S+)', image, re.M)
    t.equal([c for c in copied if not os.path.exists(os.path.join(SRC, c))], [], 'copied')
