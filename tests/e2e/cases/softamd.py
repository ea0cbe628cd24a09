# SPDX-License-Identifier: Apache-2.0
"""The software AMD GPU below AMD's own HIP runtime: programs that hipcc compiled, run as they are, without tsdb."""
import os
import re
import sys

sys.path.insert(0, os.path.dirname(__file__))

from e2e import BUILD, Skip, program  # noqa: E402
from hip import hip_version, own_words  # noqa: E402

LIBRARIES = os.path.join(BUILD, 'softamd')


def hip(t, name, *args, **env):
    """Runs a HIP program on the software AMD GPU."""
    if not os.path.exists(os.path.join(LIBRARIES, 'libhsakmt.so.1')):
        raise Skip('tsdb was built without HIP')
    r = t.run([program('hip/' + name), *args], env={'LD_LIBRARY_PATH': LIBRARIES, **env})
    r.by_dtif, r.err = 'libdtif.so' in r.err, own_words(r.err)
    return r


def ended_by_an_exception(t, r, said, what=''):
    """The runtime aborts, up to HIP 6; later the program's next call fails, and the runtime says more about the kernel."""
    if hip_version() < (7, 0):
        t.equal((r.out, r.status), (said, -6), f'{what}: the runtime aborts')
    else:
        t.check(r.out.startswith(said), f'{what}: before')
        t.match(r'^ ?\S+\.hip:\d+: hip(DeviceSynchronize|Memcpy)\(.*\): hipError(IllegalAddress|LaunchFailure)$', r.out, f'{what}: the next call')
        t.equal(r.status, 1, f'{what}: the status')


def test_device_is_what_the_environment_asks_for(t):
    r = hip(t, 'device')
    t.equal(r.out, 'device 0: software AMD GPU (gfx90a), gfx90a:sramecc+:xnack-, waves of 64, 104 compute units, 16384 MiB\n1 devices\n', 'by default')
    for target, what in (('gfx900', 'gfx900:xnack-, waves of 64, 64'), ('gfx906', 'gfx906:sramecc+:xnack-, waves of 64, 60'),
                         ('gfx908', 'gfx908:sramecc+:xnack-, waves of 64, 120'), ('gfx1030', 'gfx1030, waves of 32, 40')):
        r = hip(t, 'device', TSDB_SOFTAMD_TARGET=target, TSDB_SOFTAMD_DEVICES='2', TSDB_SOFTAMD_MEMORY='0x40000000')
        t.equal(r.out, ''.join(f'device {i}: software AMD GPU ({target}), {what} compute units, 1024 MiB\n' for i in (0, 1)) + '2 devices\n', target)
        t.equal(r.err, '', target)


def test_what_there_is_not_is_said(t):
    r = hip(t, 'device', TSDB_SOFTAMD_TARGET='gfx940')
    t.match(r'TSDB_SOFTAMD_TARGET=gfx940: no such target; there are gfx90a, gfx900, gfx906, gfx908, gfx942, gfx1030$', r.err)
    t.match(r'hipGetDeviceCount.*: hipErrorNoDevice$', r.out)
    t.equal(r.status, 1, 'the status')
    for bad in '0', '9', '1x', '-1':
        r = hip(t, 'device', TSDB_SOFTAMD_DEVICES=bad)
        t.match(rf'TSDB_SOFTAMD_DEVICES={bad}: this is a number from 1 to 8$', r.err)
        t.equal(r.status, 1, 'the status')


def test_addresses_are_the_same_in_every_run(t):
    first = hip(t, 'addresses').out
    t.match(r'^0x41000[0-9a-f]+ ', first, 'the window of device 1')
    for i in range(9):
        t.equal(hip(t, 'addresses').out, first, f'run {i + 2}')


PROGRAMS = {'copies': 'copies are right\n', 'fills': 'fills are right\n', 'graph': 'three graph launches are right\n', 'histogram': '256 counts are right\n',
            'matrices': 'the product is right\n', 'mfma': 'products are right\n', 'reduction': 'the sum is 678852528\n', 'threads': '8 threads are right\n',
            'two_streams': 'two streams are right\n', 'value_waits': 'values are right\n', 'vectors': 'sums are right\n',
            'prints': 'item 0 of three, half 0.0\nitem 1 of three, half 0.5\nitem 2 of three, half 1.0\ndone\n'}


def test_programs_compute_what_they_must(t):
    for name, out in PROGRAMS.items():
        r = hip(t, name)
        t.equal(r.out, out, name)
        t.equal(r.status, 0, name)
        t.equal(r.err, '', name)


def test_copies_by_the_runtimes_own_kernels(t):
    """Without the copy engine HIP copies by kernels: of its own, and of the HSA runtime's, which are written by hand."""
    for name in 'copies', 'fills', 'two_streams':
        r = hip(t, name, *(['1'] if name == 'copies' else []), HSA_ENABLE_SDMA='0')
        t.equal(r.out, PROGRAMS[name], name)
        t.equal(r.err, '', name)


def test_results_do_not_depend_on_workers(t):
    """Neither what is summed up, nor what workgroups see of one another by atomics, nor the races that are found; and a race is all the same a race."""
    outs, logs, races = {}, {}, {}
    for n in '1', '3', '8':
        r = hip(t, 'workers', TSDB_SOFT_WORKERS=n, TSDB_SOFTAMD_LOG='1')
        outs[n] = r.out
        logs[n] = dict(re.findall(r'queue \d+: _Z\d*(sums|progress|\w*last)\w*, .*\n.*: workgroups on (.*)$', r.err, re.M))
        t.equal(hip(t, 'workers', 'last', 'right', TSDB_SOFT_WORKERS=n, TSDB_SOFT_RACECHECK='1').err, '', f'{n} workers: no race')
        races[n] = hip(t, 'workers', 'last', 'wrong', TSDB_SOFT_WORKERS=n, TSDB_SOFT_RACECHECK='1').err
    t.equal(outs['1'].split()[::2], ['each', 'total', 'seen', 'greatest'], 'what is shown')
    t.equal((outs['3'], outs['8']), (outs['1'], outs['1']), 'the results')
    t.match(r'race in _Z4lastILb1EEvPj: 4 bytes of memory at 0x[0-9a-f]+, unordered, \d+ times?$', races['1'])
    t.equal((races['3'], races['8']), (races['1'], races['1']), 'the races')
    t.equal(logs['8']['sums'], '8 workers', 'sums of integers')
    t.equal(logs['8']['progress'], '1 workers, in their order', 'what sees the others')
    for bad in '0', '1025', 'two':
        t.match(rf'TSDB_SOFT_WORKERS={bad}: this is a number from 1 to 1024$', hip(t, 'device', TSDB_SOFT_WORKERS=bad).err)


def test_two_devices(t):
    r = hip(t, 'two_devices', TSDB_SOFTAMD_DEVICES='2')
    t.equal(r.out, '2 devices\ntwo devices are right\n', 'both')
    t.equal(r.err, '', 'nothing to say')


def test_forked_children(t):
    r = hip(t, 'forks')
    t.equal(r.out, 'child before: 42\nchild before ended with 0\nparent: 42\nchild after ended with 7\nparent again: 42\n', 'both children')
    t.equal(r.err, '', 'nothing to say')


def test_a_wild_store_is_named_and_ends_the_program(t):
    r = hip(t, 'wild_store')
    t.equal(r.out, 'launching\n', 'the end')
    t.equal(r.status, -6, 'the runtime aborts')
    t.match(r'^tsdb: soft-amd: _Z4wildPjm, workgroup \(0,0,0\), wave 0, lane 5, pc 0x[0-9a-f]+ \(its code \+ 0x[0-9a-f]+\): write of 4 bytes at (0x[0-9a-f]+), .*: '
            r'it is 421 bytes after the last of device memory of 67108864 bytes at 0x41[0-9a-f]+$', r.err)
    if r.by_dtif:  # that HSA runtime asks no device for faults of memory
        t.match(r'^tsdb: soft-amd: the program waits for no memory event of the device; it is ended$', r.err)
    else:
        t.match(r'^Memory access fault by GPU node-1 .* on address 0x41[0-9a-f]+000\. Reason: Page not present', r.err)


def fault(t, what, said, **env):
    r = hip(t, 'faults', what, **env)
    ended_by_an_exception(t, r, 'launching\n', what)
    t.match(r'^tsdb: soft-amd: ' + said, r.err, what)
    t.no_match('it is no memory of the device', r.err, what)


PLACE = r'workgroup \(0,0,0\), wave 0(, lane \d+)?, pc 0x[0-9a-f]+ \(its code \+ 0x[0-9a-f]+\): '


def test_kernels_that_cannot_end_say_why(t):
    fault(t, 'lds', '_Z10beyond_ldsPii, ' + PLACE + r'read of 4 bytes at LDS offset 0x100; the workgroup has 256 bytes$')
    fault(t, 'unknown', '_Z7unknownv, ' + PLACE + r'word 0xf0000000 0x[0-9a-f]{8}: unknown to this target$')
    fault(t, 'trap', '_Z4trapv, ' + PLACE + r's_trap 2 ')
    fault(t, 'endless', '_Z7endlessPVi, ' + PLACE + r'the workgroup has executed [0-9]+ instructions, and 1000000 is the limit$', TSDB_SOFTAMD_STEPS='1000000')


RACES = {'barrier': [('LDS', 'ds_read_b32', 'ds_write_b32')], 'groups': [('memory', 'global_store_dword', 's_load_dword')],
         'fence': [('memory', 'global_store_dword', 'global_load_dword')], 'lanes': [('memory', 'global_store_dword', 'global_store_dword')],
         'byte': [('memory', 'global_store_byte', 'global_store_byte')], 'flag': [('memory', 'global_store_dword', 's_load_dword')]}


def test_races_inside_kernels(t):
    """Each kernel has a twin without the mistake, which is not accused."""
    for name, found in RACES.items():
        r = hip(t, 'races', name, 'wrong', TSDB_SOFT_RACECHECK='1')
        t.equal(r.out, 'done\n', name)
        for space, first, second in found:
            t.match(rf'^tsdb: soft-amd: race in _Z\d+{name}ILb0EEv\w+: \d bytes? of {space} at 0x[0-9a-f]+, unordered, \d+ times?$', r.err, name)
            t.match(rf'^    workgroup \(\d+,0,0\) work-item \(\d+,0,0\) \w+ it: \S+/races\.hip:\d+, code \+ 0x[0-9a-f]+, {first}$', r.err, name)
            t.match(rf'^    workgroup \(\d+,0,0\) work-item \(\d+,0,0\) \w+ it: \S+/races\.hip:\d+, code \+ 0x[0-9a-f]+, {second}$', r.err, name)
        r = hip(t, 'races', name, 'right', TSDB_SOFT_RACECHECK='1')
        t.equal((r.out, r.err, r.status), ('done\n', '', 0), f'{name}, right')


def test_a_missing_wait_in_assembly(t):
    r = hip(t, 'waits', 'wrong', TSDB_SOFTAMD_WAITS='1')
    t.match(r'^tsdb: soft-amd: _Z5twiceILb0EEvPi, workgroup \(0,0,0\), wave 0, pc 0x[0-9a-f]+ \(its code \+ 0x[0-9a-f]+\): '
            r'v_add_u32_e32 (v\d+), (v\d+), \2 uses \2, which the load at 0x[0-9a-f]+ \(code \+ 0x[0-9a-f]+\) may not have brought yet: '
            r'no s_waitcnt vmcnt between them$', r.err)
    ended_by_an_exception(t, r, '')
    for how, env in (('right', {'TSDB_SOFTAMD_WAITS': '1'}), ('wrong', {})):
        r = hip(t, 'waits', how, **env)
        t.equal((r.out, r.err, r.status), ('twice is right\n', '', 0), how)


def test_no_wait_is_missing_in_compiled_code(t):
    for name in 'reduction', 'histogram', 'prints', 'copies':
        r = hip(t, name, TSDB_SOFTAMD_WAITS='1')
        t.equal((r.out, r.err), (PROGRAMS[name], ''), name)


def test_matrix_instructions_are_named_in_a_launch(t):
    """Their sums are in another order than the hardware's; those of integers are not named."""
    r = hip(t, 'mfma', TSDB_SOFTAMD_LOG='1')
    said = [re.search(r'_Z\d+([a-z]+\d+_\w+?)PKi', line) or line for line in r.err.splitlines() if re.search(r'PKi|v_mfma', line)]
    named = [said[i - 1][1] for i, line in enumerate(said) if isinstance(line, str)]
    t.equal(named, ['f32_16x16x4', 'f32_32x32x2', 'f16_32x32x8', 'bf16_16x16x16', 'f32_16x16x1', 'f64_16x16x4'], 'all but i8')
