# SPDX-License-Identifier: Apache-2.0
"""Limits of contexts (cuCtxSetLimit): recorded, shown, set again."""
import re


def test_a_replay_has_the_recorded_limits(t):
    """The kernel takes 32 MiB from the device's heap, which has 8 unless the program's limit is set."""
    r = t.record('limits')
    t.equal(r.status, 0, 'record')
    t.match(r'^limits: 131 132 133$', r.out)
    shown = re.findall(r'ctx_limit limit (\d+) value (\d+)( = ERROR)?', t.tsdb('view', 't.sbt').out)
    t.equal(shown, [('0', '8192', ''), ('1', str(4 << 20), ''), ('2', str(16 << 20), ''), ('2', str(64 << 20), ''), ('0', '16384', ''),
                    ('2', str(1 << 20), ' = ERROR')], 'what the program set')
    r = t.tsdb('replay', 't.sbt')
    t.equal(r.status, 0, f'replay: {r.out}{r.err}')
    t.match(r'^3 of 3 allocations identical', r.out)
    t.no_match('does not take|cuCtxSetLimit', r.out + r.err)


def test_a_window_behind_the_limits(t):
    """They were set before the window began."""
    r = t.session('limits', 'set capture window-stop off', 'capture window seq 9-23', 'run')
    out = re.findall(r'^\[captured .* -> (\S+?),', r.out + r.err, re.M)
    t.check(out, f'a trace: {r.out}{r.err}')
    r = t.tsdb('replay', out[0])
    t.equal(r.status, 0, f'replay: {r.out}{r.err}')
    t.match(r'^Verified\.$', r.out)
