# SPDX-License-Identifier: Apache-2.0
"""Files that tsdb makes: for their owner alone, one writer each, whole or not there; and output that does not arrive is never a success."""
import fcntl
import os
import stat
import subprocess

from e2e import program, tsdb_path


def mode(path):
    return stat.S_IMODE(os.stat(path).st_mode)


def recorded(t):
    t.equal(t.record('vecadd', out='v.sbt').status, 0, 'recording')


def run_to(t, out, *args):
    return subprocess.run([tsdb_path(), *args], cwd=t.dir, env=t.environment(), stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.PIPE,
                          text=True, timeout=120)


def test_traces_are_for_their_owner(t):
    old = os.umask(0)
    try:
        recorded(t)
        t.equal(mode(t.path('v.sbt')), 0o600, 'mode of a trace')
        t.equal(t.tsdb('extract', 'v.sbt', '--kernel', '*', '-o', 'x').status, 0, 'extract')
        t.equal(mode(t.path('x')), 0o700, "mode of extract's folder")
        for f in os.listdir(t.path('x')):
            t.equal(mode(t.path('x/' + f)), 0o600, f'mode of x/{f}')
        t.equal(t.tsdb('merge', 'v.sbt', '-o', 'set.sbts').status, 0, 'merge')
        t.equal(mode(t.path('set.sbts')), 0o600, 'mode of a set')
    finally:
        os.umask(old)


def test_a_second_recorder_says_so(t):
    recorded(t)
    before = open(t.path('v.sbt'), 'rb').read()
    with open(t.path('v.sbt'), 'r+b') as f:
        fcntl.flock(f, fcntl.LOCK_EX)
        t.sentence(t.record('vecadd', out='v.sbt'), r'v\.sbt is being written by another process. Name another file')
    t.equal(open(t.path('v.sbt'), 'rb').read(), before, 'the trace of the first')


def test_record_to_what_is_no_file(t):
    os.mkfifo(t.path('fifo'))
    os.mkdir(t.path('dir'))
    for to, what in (('/dev/full', 'device'), ('/dev/null', 'device'), ('fifo', 'FIFO'), ('dir', 'directory')):
        t.sentence(t.tsdb('record', '--gpu', t.gpu, '-o', to, '--', program('vecadd')), rf'cannot write .*{to}: it is a {what}. Name a regular file')


def test_no_tool_takes_the_place_of_a_pipe(t):
    """What export, report and import write replaces a file, never a device or a pipe: as root, /dev/null would be gone."""
    t.record('vecadd', out='v.sbt', options=['--timestamps'])
    os.mkfifo(t.path('fifo'))
    for tool in ['export', 'csv', 'v.sbt', '-o'], ['report', 'v.sbt', '-o']:
        reader = subprocess.Popen(['cat', t.path('fifo')], stdout=subprocess.PIPE)
        r = t.tsdb(*tool, 'fifo')
        text = reader.communicate(timeout=60)[0]
        t.equal(r.status, 0, f'{tool}: {r.err}')
        t.check(len(text) > 100, f'{tool}: {len(text)} bytes came through the pipe')
        t.check(stat.S_ISFIFO(os.stat(t.path('fifo')).st_mode), f'{tool}: the pipe is still one')
    t.tsdb('export', 'kineto', 'v.sbt', '-o', 'k.json')
    t.sentence(t.tsdb('import', 'k.json', '-o', 'fifo'), 'fifo is no file that a trace can be written to. Name a regular file')
    t.check(stat.S_ISFIFO(os.stat(t.path('fifo')).st_mode), 'import: the pipe is still one')


def test_output_to_a_full_disk_is_an_error(t):
    recorded(t)
    for tool in (['view', 'v.sbt'], ['view', 'v.sbt', '--json'], ['info', 'v.sbt'], ['info', 'v.sbt', '--json'], ['--version'],
                 ['--batch', '-ex', 'help', 'v.sbt'], ['races', 'v.sbt'], ['doctor']):
        with open('/dev/full', 'w') as full:
            r = run_to(t, full, *tool)
        t.equal(r.returncode, 1, f'{tool}: exit status')
        t.match(r'cannot write to standard output: No space left', r.stderr, f'{tool}: stderr')


def test_report_to_a_full_disk(t):
    recorded(t)
    for form in ([], ['--md'], ['--json'], ['--explain']):
        with open('/dev/full', 'w') as full:
            r = run_to(t, full, 'report', 'v.sbt', '-o', '-', *form)
        t.equal(r.returncode, 1, f'{form}: exit status')
        t.match(r'cannot write the report: No space left', r.stderr, f'{form}: stderr')
    t.sentence(t.tsdb('report', 'v.sbt', '-o', '/dev/full'), 'No space left on device')


def test_output_to_a_closed_pipe_is_no_success(t):
    recorded(t)
    for tool in (['view', 'v.sbt', '--json'], ['info', 'v.sbt', '--json']):
        read, write = os.pipe()
        os.close(read)
        r = run_to(t, write, *tool)
        os.close(write)
        t.equal(r.returncode, 141, f'{tool}: exit status')
        t.equal(r.stderr, '', f'{tool}: stderr')


def test_a_failed_extract_leaves_nothing(t):
    recorded(t)
    t.equal(t.tsdb('extract', 'v.sbt', '--kernel', '*', '-o', 'x').status, 0, 'extract')
    before = {f: open(t.path('x/' + f), 'rb').read() for f in os.listdir(t.path('x'))}
    t.sentence(t.tsdb('extract', 'v.sbt', '--kernel', '*', '-o', 'x'), r'x is there already. Name another folder')
    t.equal({f: open(t.path('x/' + f), 'rb').read() for f in os.listdir(t.path('x'))}, before, 'the earlier folder')
    # no room for the images: files of at most one block
    r = subprocess.run(['sh', '-c', 'ulimit -f 1; trap "" XFSZ; exec "$@"', 'sh', tsdb_path(), 'extract', 'v.sbt', '--kernel', '*', '-o', 'y'],
                       cwd=t.dir, env=t.environment(), capture_output=True, text=True, timeout=120)
    t.equal(r.returncode, 1, f'extract without room: {r.stderr}')
    t.equal(sorted(f for f in os.listdir(t.dir) if f.startswith(('x', 'y'))), ['x'], 'what is left')
