# SPDX-License-Identifier: Apache-2.0
"""GPU core dumps: tsdb core, and the driver's dumps on demand. The dump is an H200's; tests/unit/test-gpu-core.c has its program."""
import ctypes
import glob
import json
import os

from e2e import SRC, program


def unpacked(t):
    with open(os.path.join(SRC, 'tests/unit/data/h200-spin.core.zst'), 'rb') as f:
        packed = f.read()
    zstd = ctypes.CDLL('libzstd.so.1')
    zstd.ZSTD_getFrameContentSize.restype = ctypes.c_ulonglong
    zstd.ZSTD_decompress.restype = ctypes.c_size_t
    size = zstd.ZSTD_getFrameContentSize(packed, ctypes.c_size_t(len(packed)))
    out = ctypes.create_string_buffer(size)
    t.equal(zstd.ZSTD_decompress(out, ctypes.c_size_t(size), packed, ctypes.c_size_t(len(packed))), size, 'bytes of the dump')
    with open(t.path('spin.core'), 'wb') as f:
        f.write(out.raw)
    return t.path('spin.core')


def test_kernels_and_places(t):
    r = t.tsdb('core', unpacked(t))
    t.equal(r.status, 0, 'status')
    lines = r.out.splitlines()
    t.equal(lines[0], 'wait_flag(int volatile*, int)<<<3,64>>> on device 0, launched by host thread 570: 3 blocks and 192 lanes running', 'kernel')
    t.check('144 lanes in wait_flag(int volatile*, int) at spin.cu:21; the first: block (0,0,0) thread (8,0,0)' in lines[1], lines[1])
    t.check(any('in look(int volatile*) at spin.cu:13 <- wait_flag(int volatile*, int) at spin.cu:18' in x for x in lines), r.out)


def test_json(t):
    kernels = json.loads(t.tsdb('core', '--json', unpacked(t)).out)
    t.equal(len(kernels), 1, 'kernels')
    t.equal(sum(p['lane_count'] for p in kernels[0]['place_list']), kernels[0]['lane_count'], 'lanes of the places')


def test_refusals(t):
    with open(t.path('cut.core'), 'wb') as cut, open(unpacked(t), 'rb') as f:
        cut.write(f.read()[:100000])
    for args, says in ((['cut.core'], 'cut.core: the GPU core dump is damaged'), (['/proc/self/exe'], 'this is no GPU core dump'),
                       (['nowhere'], 'cannot open nowhere'), ([], 'core needs a GPU core dump'), (['a', 'b'], 'core has no option b')):
        r = t.tsdb('core', *args)
        t.equal(r.status, 1, f'status of {args}')
        t.check(says in r.err, f'{args}: {r.err}')


def test_driver_is_asked_before_the_first_context(t):
    """The software GPU takes the place of the driver; what the program prints is the same, and nothing is left behind."""
    t.need_soft()
    plain = t.tsdb('--batch', '-ex', 'run', program('vecadd'))
    env = {'TMPDIR': t.dir, 'TSDB_SOFT_CORE': unpacked(t)}
    r = t.tsdb('--batch', '-ex', 'set coredump on', '-ex', 'break launch', '-ex', 'run', '-ex', f'shell ls -l {t.dir}/tsdb-core-*/', '-ex',
               'delete', '-ex', 'continue', program('vecadd'), env=env)
    t.check('pipe.' in r.out, r.out)
    t.equal(r.status, plain.status, 'status')
    t.equal(glob.glob(t.path('tsdb-core-*')), [], 'folders that are left')


def test_off_unless_asked_for(t):
    t.need_soft()
    env = {'TMPDIR': t.dir, 'TSDB_SOFT_CORE': unpacked(t)}
    r = t.tsdb('--batch', '-ex', 'break launch', '-ex', 'run', '-ex', f'shell ls {t.dir}', '-ex', 'kill', program('vecadd'), env=env)
    t.check('tsdb-core-' not in r.out, r.out)


def hung(t, *settings):
    from cases.interactive import Terminal
    s = Terminal(t, '-q', '-ex', 'set confirm off', '-ex', 'set width 200', *[x for c in settings for x in ('-ex', c)], '--args', program('two_streams'))
    s.prompt()
    s.p.sendline('run')
    s.expect('ready')
    t.run(['sleep', '0.5'])
    s.p.sendintr()
    s.prompt()
    return s


def test_why_looks_inside_by_a_dump(t):
    t.need_soft()
    os.environ['TSDB_SOFT_CORE'] = unpacked(t)
    try:
        s = hung(t, 'set coredump on')
        out = s.type('why --inside')
        t.check('Stuck: ' in out and 'Inside the device (the program has lost its context):' in out, out)
        t.check('144 lanes in wait_flag(int volatile*, int) at spin.cu:21' in out, out)
        t.check('Running' in s.type('info streams'), 'the program is stopped again')
        why = json.loads(next(x for x in s.type('why --inside --json').splitlines() if x.startswith('{"answer"')))
        t.equal(why['inside'][0]['lane_count'], 192, 'lanes in JSON')
        s.type('kill')
        s.quit()
    finally:
        del os.environ['TSDB_SOFT_CORE']


def test_why_says_what_it_needs_to_look_inside(t):
    t.need_soft()
    s = hung(t)
    out = s.type('why --inside')
    t.check('the software GPU writes no core dumps; `why` looks inside its kernels without' in out, out)
    t.check('why takes no "inside"' in s.type('why inside'), 'usage')
    s.type('kill')
    s.quit()
