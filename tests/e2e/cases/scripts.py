# SPDX-License-Identifier: Apache-2.0
"""Scripts at a live program and in a replay: messages in place of stops, displays, conditional commands, source lines of kernels."""
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
    t.match(r'(block 0\n)+(block 1\n)+#', r.out)
    t.no_match(r'block 2|Breakpoint', r.out)


def test_stops_at_nvtx_names(t):
    r = script(t, 'break nvtx in*er\nrun\n', '--args', program('nvtx'))
    t.match(r'^Only a replay stops at NVTX marks', r.out)
    t.no_match(r'never hit', r.out)
    t.run([tsdb_path(), '--gpu', t.gpu, 'record', '-o', t.path('n.sbt'), program('nvtx')])
    r = script(t, 'replay start n.sbt --on none\nbreak nvtx in*er\ncontinue\nprint text\ngoto nvtx step\n')
    t.match(r'^Breakpoint 1, #\d+ mark push "inner"', r.out)
    t.match(r'= "inner"', r.out)
    t.match(r'^#\d+ mark push "step"', r.out)
