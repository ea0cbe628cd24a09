# SPDX-License-Identifier: Apache-2.0
"""The software AMD GPU below AMD's own HIP runtime: programs that hipcc compiled, run as they are, without tsdb."""
import os

from e2e import BUILD, Skip, program

LIBRARIES = os.path.join(BUILD, 'softamd')


def hip(t, name, *args, **env):
    """Runs a HIP program on the software AMD GPU."""
    if not os.path.exists(os.path.join(LIBRARIES, 'libhsakmt.so.1')):
        raise Skip('tsdb was built without HIP')
    return t.run([program('hip/' + name), *args], env={'LD_LIBRARY_PATH': LIBRARIES, **env})


def test_device_is_what_the_environment_asks_for(t):
    r = hip(t, 'device')
    t.equal(r.out, 'device 0: software AMD GPU (gfx90a), gfx90a:sramecc+:xnack-, waves of 64, 104 compute units, 16384 MiB\n1 devices\n', 'by default')
    for target, what in (('gfx900', 'gfx900:xnack-, waves of 64, 64'), ('gfx906', 'gfx906:sramecc+:xnack-, waves of 64, 60'),
                         ('gfx908', 'gfx908:sramecc+:xnack-, waves of 64, 120'), ('gfx1030', 'gfx1030, waves of 32, 40')):
        r = hip(t, 'device', TSDB_SOFTAMD_TARGET=target, TSDB_SOFTAMD_DEVICES='2', TSDB_SOFTAMD_MEMORY='0x40000000')
        t.equal(r.out, ''.join(f'device {i}: software AMD GPU ({target}), {what} compute units, 1024 MiB\n' for i in (0, 1)) + '2 devices\n', target)
        t.equal(r.err, '', target)


def test_what_there_is_not_is_said(t):
    r = hip(t, 'device', TSDB_SOFTAMD_TARGET='gfx942')
    t.match(r'TSDB_SOFTAMD_TARGET=gfx942: no such target; there are gfx90a, gfx900, gfx906, gfx908, gfx1030$', r.err)
    t.match(r'hipGetDeviceCount.*: hipErrorNoDevice$', r.out)
    t.equal(r.status, 1, 'the status')
    for bad in '0', '9', '1x', '-1':
        r = hip(t, 'device', TSDB_SOFTAMD_DEVICES=bad)
        t.match(rf'TSDB_SOFTAMD_DEVICES={bad}: this is a number from 1 to 8$', r.err)
        t.equal(r.status, 1, 'the status')
