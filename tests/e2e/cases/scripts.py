# SPDX-License-Identifier: Apache-2.0
"""Scripts at a live program and in a replay: messages in place of stops, displays, conditional commands, source lines of kernels."""
import json
import os
import re
import signal
import subprocess

from e2e import program, tsdb_path


def script(t, text, *args):
    with open(t.path('script'), 'w', encoding='utf-8') as f:
        f.write(text)
    return t.run([tsdb_path(), '--gpu', t.gpu, '-q', '-n', '--batch', '-x', t.path('script'), *args])


def test_messages_and_conditional_commands(t):
    r = script(t, '''dprintf kernel vecadd,"%d blocks of %d\\n", grid_x, block_x
break copy
commands
silent
if dir == h2d
printf "to the device, %lu bytes\\n", size
end
continue
end
display $seq
run
''', '--args', program('vecadd'))
    t.match(r'^(to the device, 40000 bytes\n){2}40 blocks of 256\nvecadd: 10000 sums ok\n', r.out.split('void\n', 1)[1])
    t.no_match(r'Breakpoint 2, |\$seq = \d', r.out)
    t.check(r.status == 0 and not r.err, f'it ended well\n{r.show()}')


def test_next_goes_on_over_a_message(t):
    r = script(t, '''dprintf launch,"launch %d\\n", seq
start
set $i = 0
while $i++ < 60
next
end
''', '--args', program('vecadd'))
    t.match(r'launch (\d+)\n#\1 vecadd', r.out)


def test_messages_inside_kernels(t):
    t.need_soft()
    t.run([tsdb_path(), '--gpu', t.gpu, 'record', '--memory', 'all', '-o', t.path('v.sbt'), program('vecadd')])
    r = script(t, '''replay start v.sbt --on soft
dprintf vecadd.cu:12 if %tid.x == 3 && %ctaid.x < 2,"block %d\\n", %ctaid.x
continue
''')
    t.match(r'(block .0,0,0., thread .3,0,0.: block 0\n)+(block .1,0,0., thread .3,0,0.: block 1\n)+#', r.out)
    t.no_match(r'block 2|Breakpoint', r.out)


def test_stops_at_nvtx_names(t):
    r = script(t, 'break nvtx in*er\nrun\n', '--args', program('nvtx'))
    t.match(r'^Breakpoint 1, #\d+ mark push "inner"', r.out)
    t.run([tsdb_path(), '--gpu', t.gpu, 'record', '-o', t.path('n.sbt'), program('nvtx')])
    r = script(t, 'replay start n.sbt --on none\nbreak nvtx in*er\ncontinue\nprint text\ngoto nvtx step\n')
    t.match(r'^Breakpoint 1, #\d+ mark push "inner"', r.out)
    t.match(r'= "inner"', r.out)
    t.match(r'^#\d+ mark push "step"', r.out)


def test_memory_is_found_and_kept(t):
    t.need_soft()
    t.run([tsdb_path(), '--gpu', t.gpu, 'record', '--memory', 'all', '-o', t.path('v.sbt'), program('vecadd')])
    # arg2 is an array of 10000 floats
    r = script(t, '''replay start v.sbt --on soft
until kernel vecadd
dump memory c.bin arg2 +40000
find/2 arg2, +40000, 0.0f --json
dump value one.bin ((float *)arg2)[7]
find arg2, +40000, ((float *)arg2)[9999]
printf "%d %d\\n", $numfound > 0, $_ == arg2 + 4 * 9999
find/1w arg2, +40000, 0x7fffffff
set {f32}arg2 = 99.5
find/1 arg2, +40000, 99.5f
restore c.bin binary arg2
find/1 arg2, +40000, 99.5f
checkpoint
next
checkpoint
info checkpoints
restart 1
restart 9
''')
    t.match(r'^1 1$', r.out)
    t.match(r'^\[\{"addr":"0x[0-9a-f]+"\},\s*\{"addr":"0x[0-9a-f]+"\}\]$', r.out)
    t.match(r'^Pattern not found\.\n[^\n]*changed[^\n]*\n0x[0-9a-f]+\n1 pattern found\.\nRestoring binary file c.bin into memory \(0x\w+ to 0x\w+\)\nPattern not found\.$', r.out)
    t.match(r'^Num  Position\n1    #(\d+)\n2    #\d+\n#\1 ', r.out)
    t.match(r'there is no checkpoint 9', r.err)
    with open(t.path('c.bin'), 'rb') as f:
        c = f.read()
    with open(t.path('one.bin'), 'rb') as f:
        t.equal(f.read(), c[28:32], 'the eighth value')
    t.equal(len(c), 40000, 'all of the array')
    r = script(t, '''replay start v.sbt --on soft
until kernel vecadd
dump memory d.bin arg2 +40001
''')
    t.match(r'goes beyond its allocation', r.err)
    t.check(not os.path.exists(t.path('d.bin')), 'no file that is not whole')
    for wrong, says in (('find arg2', 'needs a range and a value'), ('find arg2, +0, 1', 'the range is empty'), ('find arg2, +4, ', 'needs a range'),
                        ('dump', 'memory'), ('dump memory x', 'needs a file and a start and an end'), ('restore c.bin', 'needs a file'),
                        ('restore nothing binary arg2', 'cannot read nothing'), ('restore c.bin binary arg2 50000', 'is no place'),
                        ('find/q arg2, +4, 1', 'no format'), ('dump memory /nowhere/x arg2 +4', 'cannot write')):
        r = script(t, 'replay start v.sbt --on soft\nuntil kernel vecadd\n' + wrong + '\n')
        t.match(re.escape(says), r.err, wrong)


def test_reverse_finish(t):
    t.need_soft()
    t.run([tsdb_path(), '--gpu', t.gpu, 'record', '--memory', 'all', '-o', t.path('v.sbt'), program('vecadd')])
    r = script(t, '''replay start v.sbt --on soft
until kernel vecadd
stepi 5
reverse-finish
''')
    t.check(r.status == 0, f'it went back\n{r.show()}')
    t.equal(r.out.count('The beginning of #'), 2, 'twice at the beginning')
    r = script(t, 'replay start v.sbt --on soft\nuntil kernel vecadd\nreverse-finish\n')
    t.match(r'in no kernel and in no graph launch', r.err)


def test_a_tool_that_is_misspelt(t):
    r = t.run([tsdb_path(), 'viw', 'v.sbt'])
    t.match(r'there is no tool or program viw. Did you mean `tsdb view`', r.err)
    t.equal(r.status, 1, 'exit status')


def test_a_capture_says_what_it_overwrites(t):
    lines = 'capture window kernel vecadd\nrun\nkill\n'
    t.no_match(r'overwriting', script(t, lines, '--args', program('vecadd')).err)
    r = script(t, lines, '--args', program('vecadd'))
    t.equal(r.err.count('overwriting the trace vecadd.sbt'), 1, f'said once\n{r.show()}')


def test_exploring_that_is_interrupted_keeps_what_it_found(t):
    t.need_soft()
    t.run([tsdb_path(), '--gpu', t.gpu, 'record', '--memory', 'all', '-o', t.path('r.sbt'), program('race_demo')])
    args = ['explore', 'r.sbt', '--budget', '100000000', '--most', '1000', '--no-save', '--on', 'soft', '--json']
    p = subprocess.Popen([tsdb_path(), *args], cwd=t.dir, env=t.environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    t.await_ticks(2)
    p.send_signal(signal.SIGINT)
    out, err = p.communicate(timeout=60)
    t.match(r'exploring was interrupted after \d+ schedules: there may be more', err)
    found = json.loads(out)
    t.check(found['interrupted'] and not found['complete'] and found['executed'] > 0, f'what it had done until then: {out[:400]}')
    t.equal(p.returncode, 1, 'exit status')
