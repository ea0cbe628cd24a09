#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Each instruction's results against another emulator's: tinygrad's (CDNA), from a checkout of it.

gfx-fuzz-tinygrad.py TINYGRAD [--rounds N] [--seed N] [--exec PROGRAM] [--names PART...]

Not a test of the suite: it needs tinygrad, llvm-mc and minutes. For each vector or scalar instruction without memory: N rounds of 64
lanes with random sources, numbers at the edges among them. Prints the instructions that differ, with the first lane; two NaNs are equal.
"""
import argparse
import contextlib
import ctypes
import os
import random
import re
import struct
import subprocess
import sys
import tempfile

SRC = os.environ.get('TSDB_SRC', '.')
ROW = re.compile(r'GFX(?:_ALSO)?\((\w+), (0x\w+), (\w+), (\w+), "([^"]*)", "([^"]*)"\)')
BEFORE = ['v_lshlrev_b32_e32 v1, 6, v0', 'global_load_dwordx4 v[4:7], v1, s[0:1]', 'global_load_dwordx4 v[8:11], v1, s[0:1] offset:16',
          'global_load_dwordx4 v[12:15], v1, s[0:1] offset:32', 's_load_dwordx8 s[8:15], s[0:1], 0x1000', 's_waitcnt vmcnt(0) lgkmcnt(0)',
          's_mov_b64 vcc, s[12:13]', 's_mov_b64 s[20:21], s[14:15]', 's_mov_b64 s[22:23], 0', 's_cmp_lg_u32 s12, 0']
AFTER = ['s_cselect_b32 s22, 1, 0', 'v_mov_b32_e32 v16, vcc_lo', 'v_mov_b32_e32 v17, vcc_hi', 'v_mov_b32_e32 v18, s20', 'v_mov_b32_e32 v19, s21',
         'global_store_dwordx4 v1, v[12:15], s[0:1] offset:32', 'global_store_dwordx4 v1, v[16:19], s[0:1] offset:48',
         'v_mov_b32_e32 v16, s22', 'global_store_dword v1, v16, s[0:1] offset:12', 's_waitcnt vmcnt(0)', 's_endpgm']
SKIP = re.compile(r'v_(interp|screen|nop|clrexcp|mfma|accvgpr|swap|readfirst|readlane|writelane|mad_legacy|cube)|atomic|branch|setpc|swappc|getpc|rfe|'
                  r'set_gpr|movrel|cbranch|call|getreg|setreg|trap|setvskip|_fork|_join|wrexec|saveexec|_endpgm|cmpx')
EDGES32 = [0, 1, 2, 31, 32, 33, 63, 64, 0x7f, 0x80, 0xff, 0x7fff, 0x8000, 0xffff, 0x10000, 0x7fffffff, 0x80000000, 0x80000001, 0xffffffff, 0xfffffff0,
           0x3f800000, 0xbf800000, 0x7f800000, 0xff800000, 0x7fc00000, 0x00800000, 0x7f7fffff, 0x3c003c00, 0x7c00, 0xfc00, 0x3bff, 0x4b800000,
           0xcf000000, 0x4f000000, 0x4effffff, 0x40490fdb, 0x3f000000, 0xbf000000, 0x3f000001, 0x40200000]
EDGES64 = [0, 1, 0x3ff0000000000000, 0xbff0000000000000, 0x7ff0000000000000, 0xfff0000000000000, 0x7ff8000000000000, 0x0010000000000000, 0x7fefffffffffffff,
           0x41dfffffffc00000, 0xc1e0000000000000, 0x3fe0000000000000, 0x3fe0000000000001, 1 << 63, (1 << 63) - 1, (1 << 64) - 1, 0xffffffff, 1 << 32]


def reg(bank, n, w):
    return f'{bank}{n}' if w == 1 else f'{bank}[{n}:{n + w - 1}]'


WIDTH = {'1': 1, '2': 2, 'h': 1, 'j': 1, 'c': 2, 's': 1, 'v': 1, 'q': 1, '4': 4}


def text_of(row):
    """The instruction with its sources in v4, v6, v8 (s8, s10), its result in v12 (s20); None: not one of these."""
    enc, _, name, _, operands, forms = row
    dst, src = operands.split(':')
    if SKIP.search(name) or any(c not in WIDTH for c in dst + src if c != 'k') or 'G_TO908' in row[3]:
        return None
    if enc in ('SOP2', 'SOP1', 'SOPC'):
        ops = ([reg('s', 20, WIDTH[dst])] if dst else []) + [reg('s', 8 + 2 * k, WIDTH[c]) for k, c in enumerate(src)]
        return f'{name} {", ".join(ops)}'
    if enc not in ('VOP1', 'VOP2', 'VOPC', 'VOP3', 'VOP3P'):
        return None
    ops = []
    for k, c in enumerate(dst):
        ops.append('vcc' if c == 'c' and enc != 'VOP3' else 's[20:21]' if c == 'c' else reg('v', 12, WIDTH[c]))
    for k, c in enumerate(src):
        ops.append('vcc' if c == 'c' else reg('v', 4 + 2 * k, WIDTH[c]))
    suffix = '_e32' if enc in ('VOP1', 'VOP2', 'VOPC') and forms else ''
    return f'{name}{suffix} {", ".join(ops)}'


def assemble(lines):
    p = subprocess.run(['llvm-mc-15', '-triple=amdgcn-amd-amdhsa', '-mcpu=gfx90a', '--show-encoding'], input='\n'.join(lines) + '\n', capture_output=True, text=True)
    out = [bytes(int(x, 16) for x in m[1].split(',')) for m in re.finditer(r'encoding: \[([^\]]*)\]', p.stdout)]
    return out if len(out) == len(lines) and not p.stderr else None


def value(rnd):
    k = rnd.random()
    if k < .25:
        return rnd.choice(EDGES32)
    if k < .45:  # a float of middle size
        return struct.unpack('<I', struct.pack('<f', rnd.uniform(-100, 100)))[0]
    if k < .55:  # two halves
        return struct.unpack('<I', struct.pack('<ee', rnd.uniform(-10, 10), rnd.uniform(-10, 10)))[0]
    if k < .65:
        return rnd.getrandbits(rnd.randrange(1, 32))
    v = rnd.getrandbits(32)
    return v if v & 0x7f800000 else v | 0x3f800000


def pair(rnd):
    k = rnd.random()
    if k < .3:
        return rnd.choice(EDGES64)
    if k < .6:
        return struct.unpack('<Q', struct.pack('<d', rnd.uniform(-1000, 1000)))[0]
    return value(rnd) | value(rnd) << 32


def inputs(rnd, wide):
    words = []
    for _ in range(64):
        for _ in range(8):
            v = pair(rnd) if wide else value(rnd) | value(rnd) << 32
            words += [v & 0xffffffff, v >> 32]
    tail = [pair(rnd) if wide else value(rnd) | value(rnd) << 32 for _ in range(4)]
    return struct.pack('<1024I', *words) + struct.pack('<4Q', *tail) + bytes(32)


def ours(program, code, memory):
    with tempfile.TemporaryDirectory() as d:
        paths = [os.path.join(d, n) for n in ('code', 'memory')]
        for p, b in zip(paths, (code, memory)):
            with open(p, 'wb') as f:
                f.write(b)
        r = subprocess.run([program, '90a', *paths], capture_output=True, text=True)
        if r.returncode:
            return r.stdout.strip() or 'died'
        with open(paths[1], 'rb') as f:
            return f.read()


def theirs(emu, code, memory):
    buf = (ctypes.c_uint8 * (len(memory) + 64)).from_buffer_copy(memory + bytes(64))
    kernel = (ctypes.c_char * (len(code) + 64)).from_buffer_copy(code + bytes(64))
    emu.run_asm(ctypes.addressof(kernel), len(code), 1, 1, 1, 64, 1, 1, ctypes.addressof(buf), 2 << 1, arch='cdna')
    return bytes(buf)[:len(memory)]


def is_nan(kind, v):
    if kind == 'f64':
        return v & 0x7fffffffffffffff > 0x7ff0000000000000
    if kind == 'f32':
        return v & 0x7fffffff > 0x7f800000
    return v & 0x7fff > 0x7c00


def same(name, a, b):
    """Lanes' words equal, but for NaNs; returns the first lane that is not."""
    kinds = re.findall(r'f(?:16|32|64)', name)
    kind = kinds[0] if kinds else ''
    for lane in range(64):
        x, y = (struct.unpack_from('<16I', m, 64 * lane) for m in (a, b))
        if x[3:4] + x[8:] == y[3:4] + y[8:]:
            continue
        if kind == 'f64' and is_nan(kind, x[8] | x[9] << 32) and is_nan(kind, y[8] | y[9] << 32) and x[10:] == y[10:]:
            continue
        if kind in ('f16', 'f32') and is_nan(kind, x[8]) and is_nan(kind, y[8]) and x[9:] == y[9:]:
            continue
        return lane
    return None


def main():
    a = argparse.ArgumentParser()
    a.add_argument('tinygrad')
    a.add_argument('--rounds', type=int, default=4)
    a.add_argument('--seed', type=int, default=1)
    a.add_argument('--exec', default='build/tests/softamd/gfx-exec')
    a.add_argument('--names', nargs='*', default=[])
    o = a.parse_args()
    sys.path.insert(0, o.tinygrad)
    from test.mockgpu.amd import emu
    emu._MXCSRContext = contextlib.nullcontext  # denormals as they are
    with open(os.path.join(SRC, 'src/gpucode/gfx/gfx9-insns.def'), encoding='utf-8') as f:
        rows = [m.groups() for m in ROW.finditer(f.read())]
    before, after = b''.join(assemble(BEFORE)), b''.join(assemble(AFTER))
    equal, differ, refused, no_oracle = 0, [], [], []
    for row in rows:
        text = text_of(row)
        if not text or (o.names and not any(n in row[2] for n in o.names)):
            continue
        word = assemble([text])
        if not word:
            print('not assembled:', text)
            continue
        rnd, bad, known = random.Random(f'{o.seed} {row[2]}'), None, True
        code = before + word[0] + after
        for _ in range(o.rounds):
            memory = inputs(rnd, '2' in row[4])
            x = ours(o.exec, code, memory)
            if isinstance(x, str):
                refused.append((row[2], x))
                known = False
                break
            try:
                y = theirs(emu, code, memory)
            except Exception as e:  # what it cannot do, in whatever way it says so
                no_oracle.append((row[2], repr(e)[:100]))
                known = False
                break
            lane = same(row[2], x, y)
            if lane is not None:
                bad = (lane, memory, x, y)
                break
        if bad:
            lane, memory, x, y = bad
            src = struct.unpack_from('<10I', memory, 0x1000 if row[0].startswith('SO') else 64 * lane)
            differ.append(row[2])
            print(f'{text}: lane {lane}: sources', ' '.join('%08x' % v for v in src[:10]), 'old', '%08x' % src[8], '\n    ours  ',
                  ' '.join('%08x' % v for v in struct.unpack_from('<16I', x, 64 * lane)[8:] + struct.unpack_from('<16I', x, 64 * lane)[3:4]), '\n    theirs',
                  ' '.join('%08x' % v for v in struct.unpack_from('<16I', y, 64 * lane)[8:] + struct.unpack_from('<16I', y, 64 * lane)[3:4]), flush=True)
        elif known:
            equal += 1
    print(f'{equal} instructions equal in {o.rounds * 64} lanes each; {len(differ)} differ: {" ".join(differ)}')
    print(f'{len(refused)} refused here: {" ".join(n for n, _ in refused)}')
    print(f'{len(no_oracle)} not known there: {" ".join(n for n, _ in no_oracle)}')
    return 0


if __name__ == '__main__':
    sys.exit(main())
