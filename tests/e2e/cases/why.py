# SPDX-License-Identifier: Apache-2.0
"""What a program waits for: the device's real progress at a stop, and `why`."""
import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from e2e import program  # noqa: E402
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
