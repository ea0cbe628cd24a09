# SPDX-License-Identifier: Apache-2.0
"""What a program waits for: the device's real progress at a stop, and `why`."""
import json
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from e2e import BUILD, program  # noqa: E402
from interactive import Terminal  # noqa: E402


def interrupted(t, name, *args):
    """The shell at Ctrl-C in a program that waits."""
    s = Terminal(t, '-q', '-ex', 'set confirm off', '-ex', 'set width 200', '--args', program(name), *args)
    s.prompt()
    s.p.sendline('run')
    s.expect('ready')
    t.run(['sleep', '0.5'])
    s.p.sendintr()
    s.stop = s.prompt()
    return s


def test_streams_at_the_command_that_the_device_is_at(t):
    """scale on stream 2 has finished, though no call has told the program so; wait_flag behind it spins."""
    t.need_soft()
    s = interrupted(t, 'two_streams')
    out = s.type('info streams')
    commands = s.type('info commands')
    spins = re.search(r'(#\d+) wait_flag<<<', commands)[1]
    waits = re.search(r'(#\d+) stream_wait', commands)[1]
    t.match(rf'^ +2 +0 +non-blocking +Running +{spins} +2 +3 +1\s*$', out)
    t.match(rf'^ +1 +0 +non-blocking +Waiting +{waits} +3 +3 +0 +event 0 \(#20 on stream 2\)\s*$', out)
    s.type('kill')
    s.quit()


def waiting(why, i):
    n = why['waiting_list'][i]
    return f'{n["kind"]}: {n["name"]}'


def test_a_cycle_of_two_streams(t):
    """At Ctrl-C, by `why`, and with every step in JSON. The numbers are those of the commands as the program makes them."""
    t.need_soft()
    s = interrupted(t, 'two_streams')
    for out in s.stop, s.type('why'):
        t.match(r'^Stuck: no command has finished for \d+\.\d s\.\s*$', out)
        t.match(r'^  host thread 1 waits in cudaStreamSynchronize\(stream 1\) +two_streams\.cu:47 <- main\s*$', out)
        t.match(r'^  stream 1 waits for event 0, recorded at #20 on stream 2\s*$', out)
        t.match(r'^  stream 2: #19 wait_flag<<<1,32>>> has been running for \d+\.\d s; all 32 lanes at two_streams\.cu:(8|9|10), '
                r'reading 4 bytes at 0x302000000 \(now 0\)\s*$', out)
        t.match(r'^  #24 set_flag<<<1,1>>> would write there; it is on stream 1, behind #21: a cycle\. '
                r'Cure: launch set_flag before the wait, or on another stream\.\s*$', out)
    out = s.type('why --json')
    why = json.loads(re.search(r'^\{"answer".*$', out, re.M)[0])
    t.equal(why['answer'], 'stuck', 'the answer')
    t.equal([waiting(why, i) for i in why['cycle']],
            ['command: stream_wait', 'event: event 0', 'command: event_record', 'command: wait_flag<<<1,32>>>', 'value: 4 bytes at 0x302000000',
             'command: set_flag<<<1,1>>>'], 'the cycle')
    t.equal(why['leaf'], None, 'the leaf')
    s.type('kill')
    s.quit()


def test_a_kernel_that_computes_is_slow(t):
    t.need_soft()
    s = interrupted(t, 'hangs/busy', 'long_kernel')
    t.match(r'^Slow, not stuck: what is waited for moves \(two looks, 200 ms apart\)\.\s*$', s.stop)
    t.match(r'work<<<1,32>>> has been running for .*; it moves', s.stop)
    s.type('kill')
    s.quit()


def moving(said):
    """What `progress --json` says of each kernel: whether it moves, and how that is known."""
    p = json.loads(re.search(r'^\{"object".*$|^\{"still_ns".*$', said, re.M)[0])
    return {n['name']: (n['moved'], n['moved_by']) for n in p['running_list']}


def ended(s):
    s.type('kill')
    s.quit()


def test_progress_by_warps(t):
    """Followed, a warp that only loops comes back to where it was, and one that computes does not; new blocks are seen to begin."""
    t.need_soft()
    s = interrupted(t, 'two_streams')
    out = s.type('progress')
    t.match(r'^Two looks, 200 ms apart: no command finished between them; \d+ have not\.\s*$', out)
    t.match(r'^  stream 2: #19 wait_flag<<<1,32>>> does not move: at both looks its 1 warp came back to the registers and memory that it had, '
            r'and changed no byte\.\s*$', out)
    t.equal(moving(s.type('progress --json'))['wait_flag<<<1,32>>>'][0], 'still', 'by progress --json')
    s.type('set look-apart 30')
    t.match(r'^Two looks, 30 ms apart: ', s.type('why --progress'))
    ended(s)
    s = interrupted(t, 'hangs/busy', 'long_kernel')
    t.match(r'work<<<1,32>>> moves: 1 of its 1 warp, followed for \d{4,} instructions, changes registers or memory as it goes\.', s.type('progress test'))
    ended(s)
    s = interrupted(t, 'hangs/busy', 'many_blocks')
    t.match(r'work<<<1048576,32>>> moves: \d+ of its 1048576 blocks had begun at the first look, \d+ at the second\.', s.type('progress'))
    ended(s)


def test_progress_by_memory(t):
    """Where nothing looks inside: copies beside the kernel see that what it was given changes. Not where another stream may be the writer."""
    t.need_soft()
    for case, moves in ('writes_as_it_goes', 'moves'), ('long_kernel', 'unknown'), ('waits_beside_a_writer', 'unknown'):
        s = interrupted(t, 'hangs/busy', case)
        s.type('set look-inside off')
        kernels = moving(s.type('progress --json'))
        name = next(n for n in kernels if n.startswith(('count', 'work')))
        t.equal(kernels[name][0], moves, f'{case}: {kernels}')
        if case == 'waits_beside_a_writer':
            t.equal(kernels['wait_flag<<<1,32>>>'][0], 'still', f'by its code: {kernels}')
        if moves == 'moves':
            t.match(r'^memory at 0x[0-9a-f]+, which #\d+ was given, has changed between the looks, and no other stream runs$', kernels[name][1])
            t.match(r'^Slow, not stuck', s.type('why'))
        ended(s)


def test_progress_words(t):
    r = t.tsdb('--batch', '-ex', 'progress')
    t.sentence(r, 'the program is not being run')
    s = interrupted(t, 'two_streams')
    t.match('why takes --progress, or --inside, or nothing', s.type('why now'))
    t.match('progress does not take "x"', s.type('progress x'))
    if t.gpu == 'real':
        t.match('the driver writes no core dump of a program that a tool which uses CUPTI looks at', s.type('why --inside'))
        return ended(s)
    t.match(r'^Stuck', s.type('why --inside'))
    s.type('set look-inside off')
    t.match('looking into the software GPU is switched off', s.type('why --inside'))
    ended(s)


def test_without_a_program(t):
    r = t.tsdb('--batch', '-ex', 'why')
    t.equal(r.status, 1, 'exit status')
    r = t.tsdb('why')
    t.equal(r.status, 1, 'exit status')
    t.match('Usage: tsdb why', r.err)


def test_a_process_that_runs(t):
    """Attached late: the cycle's streams are found by their handles; the process goes on."""
    t.need_soft()
    with subprocess.Popen([program('hangs/stuck_gpu'), 'flag_never_written'], stdout=subprocess.PIPE, text=True,
                          env={**os.environ, 'LD_LIBRARY_PATH': os.path.join(BUILD, 'softgpu')}) as p:
        try:
            p.stdout.readline()
            for _ in range(3):  # on a busy machine a look may have no answer in its time: then it is "not known"
                r = t.tsdb('why', str(p.pid), '--json')
                if r.status == 3:
                    break
                t.match('"answer":"open"', r.out)
            t.equal(r.status, 3, 'exit status')
            why = json.loads(re.search(r'^\{"answer".*$', r.out, re.M)[0])
            t.equal(why['answer'], 'stuck', 'the answer')
            t.check('command: wait_flag' in [waiting(why, i) for i in why['cycle']], 'the kernel is in the cycle')
            t.equal(p.poll(), None, 'the process goes on')
        finally:
            p.kill()
