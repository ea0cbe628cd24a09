# SPDX-License-Identifier: Apache-2.0
"""Limits of contexts (cuCtxSetLimit): recorded, shown, set again."""
import re


def test_a_replay_has_the_recorded_limits(t):
    """The kernel takes 32 MiB from the device's heap, which has 8 unless the program's limit is set."""
    r = t.record('limits')
    t.equal(r.status, 0, 'record')
    t.match(r'^limits: 131 132 133$', r.out)
    shown = re.findall(r'ctx_limit limit (\d+) limit_value (\d+)( = ERROR)?', t.tsdb('view', 't.sbt').out)
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


def test_going_back_behind_the_device_heap(t):
    """A replay that has taken memory from the device's heap goes back in another process: `give` frees what `take` took once."""
    t.need_soft()
    t.equal(t.record('limits').status, 0, 'record')
    seq = {k: int(n) for n, k in re.findall(r'^#(\d+) (\w+)<<<', t.tsdb('view', 't.sbt').out, re.M)}
    kept = re.search(r'alloc device 384 bytes (0x\w+)', t.tsdb('view', 't.sbt').out).group(1)
    x = f'x/1dw {kept}'
    r = t.tsdb('--batch', 't.sbt', '-ex', 'replay start', '-ex', f'goto {seq["speak"]}', '-ex', x, '-ex', f'goto {seq["take"] - 1}', '-ex', x,
               '-ex', 'replay verify', '-ex', f'goto {seq["give"] - 1}', '-ex', x, '-ex', f'x/1dw {kept}+128', '-ex', 'reverse-step', '-ex', x)
    t.equal(r.status, 0, f'{r.out}{r.err}')
    t.equal(re.findall(r'^0x\w+:\t(\d+)$', r.out, re.M), ['100', '0', '100', '0', '100'], 'memory at each')
    t.match(r'^3 of 3 allocations identical', r.out)


def test_a_window_that_begins_with_memory_in_the_heap(t):
    """What `take` took is not there: `give` fails, and it is said why."""
    t.need_soft()
    t.equal(t.record('limits').status, 0, 'record')
    give = int(re.search(r'^#(\d+) give<<<', t.tsdb('view', 't.sbt').out, re.M).group(1))
    t.session('limits', 'set capture window-stop off', f'capture window seq {give}-{give + 3}', 'run')
    r = t.tsdb('replay', 'limits.sbt')
    t.check(r.status != 0, 'not verified')
    t.match(r"may have taken from the device's own heap before the window was not recorded", r.out + r.err)
