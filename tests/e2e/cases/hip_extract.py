# SPDX-License-Identifier: Apache-2.0
"""One launch of a HIP trace as a program of its own: built by hipcc, run on the software AMD GPU, and run again with another input."""
import os
import re
import shutil
import sys

sys.path.insert(0, os.path.dirname(__file__))

from e2e import BUILD, Skip, program  # noqa: E402
from hip import own_words, recorded_with_memory  # noqa: E402


def build_and_run(t, folder):
    if not shutil.which('hipcc') or not shutil.which('make'):
        raise Skip('no hipcc, or no make')
    r = t.run(['make', '-C', folder, 'HIPCC=hipcc --offload-arch=gfx90a', 'CFLAGS=-Wall -Wextra -Werror'])
    t.equal(r.status, 0, 'make: ' + r.show())
    return run(t, folder)


def run(t, folder):
    r = t.run(['sh', '-c', f'cd {folder} && exec ./launch'], env={'LD_LIBRARY_PATH': os.path.join(BUILD, 'softamd')})
    r.err = own_words(r.err)
    return r


def test_extract(t):
    recorded_with_memory(t, 'reduction')
    r = t.tsdb('extract', 't.sbt', '--kernel', 'sum', '-o', 'one')
    t.equal(r.status, 0, r.show())
    t.match(r'^#\d+ \S*sum\S* with 2 allocations', r.out)
    r = build_and_run(t, 'one')
    t.equal((r.status, r.out, r.err), (0, '2 of 2 allocations identical\n', ''), 'the launch alone')
    with open(t.path('one/main.c'), encoding='ascii') as f:
        text = f.read()
    a = re.search(r'arg1 = .* memory\[(\d+)\] \+ 0', text)
    with open(t.path(f'one/memory-{int(a[1]) + 1}.bin'), 'r+b') as f: # another number to add
        f.seek(4 * 1000)
        old = f.read(1)[0]
        f.seek(4 * 1000)
        f.write(bytes([old ^ 1]))
    r = run(t, 'one')
    t.equal(r.status, 1, 'another input')
    t.match(r'^1 of 2 allocations identical$', r.out)


def test_all_kinds_of_memory(t):
    """Pointers in a structure and in memory, pinned memory, variables, one of them a file's own."""
    recorded_with_memory(t, 'reaches')
    t.equal(t.tsdb('extract', 't.sbt', '--kernel', 'reach', '--nth', '2', '--all', '-o', 'all').status, 0, 'extract')
    with open(t.path('all/main.c'), encoding='ascii') as f:
        rows = re.findall(r'^\t{(DEVICE|HOST|GLOBAL), 0x\w+, \d+, "[^"]*", ("[^"]*"|NULL), ("[^"]*"|NULL)},$', f.read(), re.M)
    t.equal(sorted((where, after != 'NULL', name) for where, after, name in rows),
            [('DEVICE', False, 'NULL')] * 4 + [('DEVICE', True, 'NULL'), ('GLOBAL', True, '"turns"'), ('HOST', True, 'NULL')],
            'the second launch gives d[0] what it holds already')
    r = build_and_run(t, 'all')
    t.equal((r.status, r.out, r.err), (0, '7 of 7 allocations identical\n', ''), 'the launch alone')
    recorded_with_memory(t, 'variables')
    t.equal(t.tsdb('extract', 't.sbt', '--kernel', 'step', '--nth', '2', '-o', 'step').status, 0, 'extract')
    r = build_and_run(t, 'step')
    t.equal((r.status, r.out, r.err), (0, '5 of 5 allocations identical\n', ''), 'variables')


def test_what_is_not_extracted(t):
    """A grid counted in work-items, whose last workgroup is smaller: another call. The microscope has it."""
    recorded_with_memory(t, 'launches', program('hip/module_code.co'))
    first = re.search(r'^#(\d+) (\w+)<<<\(2,5,1\),\(64,8,1\)>>>', t.tsdb('view', 't.sbt').out, re.M)
    t.sentence(t.tsdb('extract', 't.sbt', '--kernel', first[2], '-o', 'one'), 'has a last workgroup that is smaller than the others')
    t.check(not os.path.exists(t.path('one')), 'nothing is left')
    r = t.tsdb('--batch', '-ex', 'replay start', '-ex', f'replay enter {first[1]}', '-ex', 'block (1,4,0)', '-ex', 'info blocks', '-ex', 'info warps',
               '-ex', 'finish', 't.sbt')
    t.equal(r.status, 0, r.show())
    t.match(r'^\* \(1,4,0\) +\(1,4,0\) +1 +running: 3 warps, 0 at barriers, 0 ended$', r.out, '36 x 5 work-items')
    t.match(rf'^#{first[1]} {first[2]} has ended', r.out)
