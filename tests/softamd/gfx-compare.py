#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Our disassembler of GFX9 against LLVM's.

gfx-compare.py [--count N] [--seed N] [--gfx 90a,908,...] [--mc PROGRAM] random
    random words for each row of the table: what both read has the same text, and what we read LLVM reads, too.
gfx-compare.py [--objdump PROGRAM] objects FILE...
    every instruction of code objects (or of offload bundles made by hipcc -c): all are read, with the same text and length.

Prints a TAP result. As a test it compares a sample, with a fixed seed.
"""
import argparse
import collections
import os
import random
import re
import shutil
import subprocess
import sys

SRC = os.environ.get('TSDB_SRC', '.')
BUILD = os.environ.get('TSDB_BUILD', 'build')
ROW = re.compile(r'GFX(?:_ALSO)?\((\w+), (0x\w+), (\w+), (\w+), "([^"]*)", "([^"]*)"\)')
TARGETS = {'G_ALL': 31, 'G_906': 30, 'G_908': 28, 'G_90A': 24, 'G_942': 16, 'G_TO908': 7, 'G_TO90A': 15, 'G_900': 1, 'G_908_90A': 12, 'G_90A_ONLY': 8}
BIT = {'900': 1, '906': 2, '908': 4, '90a': 8, '942': 16}
# Where an encoding's opcode is, and which other bits of its first word are free.
BASE = {
    'SOP2': (0x80000000, 23, 0x7fffff), 'SOPK': (0xB0000000, 23, 0x7fffff), 'SOP1': (0xBE800000, 8, 0x7f00ff), 'SOPC': (0xBF000000, 16, 0xffff),
    'SOPP': (0xBF800000, 16, 0xffff), 'SMEM': (0xC0000000, 18, 0x3ffff), 'VOP2': (0, 25, 0x1ffffff), 'VOP1': (0x7E000000, 9, 0x1fe01ff),
    'VOPC': (0x7C000000, 17, 0x1ffff), 'VOP3': (0xD0000000, 16, 0xffff), 'VOP3P': (0xD3800000, 16, 0xffff), 'DS': (0xD8000000, 17, 0x201ffff),
    'FLAT': (0xDC000000, 18, 0x2033fff), 'SCRATCH': (0xDC004000, 18, 0x2033fff), 'GLOBAL': (0xDC008000, 18, 0x2033fff),
    'MUBUF': (0xE0000000, 18, 0x203ffff)}
VOP3_OF = {'VOPC': 0, 'VOP2': 0x100, 'VOP1': 0x140}
NOP = 0xBF805A5A  # s_nop with a number of its own: between the instructions that are asked for


def table():
    with open(os.path.join(SRC, 'src/gpucode/gfx/gfx9-insns.def'), encoding='utf-8') as f:
        return [(m[1], int(m[2], 16), m[3], TARGETS[m[4]], m[5], m[6]) for m in ROW.finditer(f.read())]


def in_hex(words):
    return '[' + ' '.join('0x%02x' % b for w in words for b in w.to_bytes(4, 'little')) + ']'


def ask_llvm(mc, gfx, words):
    """The text of each instruction, None where LLVM reads none (or falls over)."""
    lines = ''.join(f'{in_hex(w)}\n{in_hex([NOP])}\n' for w in words)
    p = subprocess.run([mc, '--disassemble', '-triple=amdgcn-amd-amdhsa', '-mcpu=gfx' + gfx], input=lines, capture_output=True, text=True)
    bad = {(int(m[1]) - 1) // 2 for m in re.finditer(r'<stdin>:(\d+):[12]: ', p.stderr)}
    answers = [[]]
    for line in p.stdout.splitlines():
        text = ' '.join(line.split())
        if text == 's_nop 0x5a5a':
            answers.append([])
        elif text and not text.startswith('.'):
            answers[-1].append(text)
    if len(answers) != len(words) + 1:
        if len(words) == 1:
            return [None]
        half = len(words) // 2
        return ask_llvm(mc, gfx, words[:half]) + ask_llvm(mc, gfx, words[half:])
    return [None if n in bad or not a else a[0] for n, a in enumerate(answers[:-1])]


def ask_us(gfx, words):
    """(length, text) of each instruction; (0, None): unknown."""
    dis = os.path.join(BUILD, 'tests/softamd/gfx-dis')
    p = subprocess.run([dis, gfx], input=''.join(' '.join('%08x' % x for x in w) + '\n' for w in words), capture_output=True, text=True, check=True)
    return [(0, None) if line == 'unknown' else (int(line.split(' ', 1)[0]), line.split(' ', 1)[1]) for line in p.stdout.splitlines()]


def sparse(rnd, n):
    """n random bits, mostly few."""
    v, k = rnd.getrandbits(n), rnd.random()
    if k < .4:
        v &= rnd.getrandbits(n)
    if k < .2:
        v &= rnd.getrandbits(n)
    return 0 if k < .05 else v


def source(rnd):
    return rnd.choice([rnd.randrange(512), 256 + rnd.randrange(256), rnd.randrange(128), rnd.randrange(128, 256), 249, 250, 255])


def vop3_words(rnd, enc, op, name, operands):
    first = BASE[enc][0] | op << 16 | rnd.randrange(256) | (sparse(rnd, 8) << 8 if rnd.random() < .6 else 0)
    if 'mfma' in name:
        second = (256 + rnd.randrange(256)) | (256 + rnd.randrange(256)) << 9 | rnd.choice([256 + rnd.randrange(256), 128, 242]) << 18
    else:
        second = sum(source(rnd) << 9 * i for i in range(3) if i < len(operands.split(':')[1]) or rnd.random() < .02)
    return first, second | (sparse(rnd, 5) << 27 if rnd.random() < .5 else 0)


def second_word(rnd, enc, first):
    w = sparse(rnd, 32)
    if enc in VOP3_OF and first & 0x1ff == 249:
        w = rnd.randrange(256) | rnd.randrange(7) << 8 | rnd.randrange(3) << 11 | rnd.randrange(7) << 16 | rnd.choice([0, rnd.randrange(16)]) << 20
        if enc != 'VOP1':
            w |= rnd.randrange(7) << 24 | rnd.choice([0, rnd.randrange(16)]) << 28
    elif enc in VOP3_OF and first & 0x1ff == 250:
        w = rnd.randrange(256) | rnd.choice([rnd.randrange(0x200), rnd.randrange(0x100, 0x160)]) << 8 | rnd.choice([0, rnd.randrange(32)]) << 19
        w |= rnd.randrange(256) << 24
    elif enc in ('FLAT', 'SCRATCH', 'GLOBAL') and rnd.random() < .7:
        w = w & ~0x7f0000 | (0 if enc == 'FLAT' else 0x7f0000)
    elif enc == 'MUBUF' and rnd.random() < .5:
        w &= 0x9f1fffff
    elif enc == 'SMEM' and rnd.random() < .7:
        w &= 0x1fffff
    return w


def random_words(rnd, row, k):
    enc, op, name, _, operands, forms = row
    if enc in VOP3_OF and k % 2 and 'e' in forms:
        return vop3_words(rnd, 'VOP3', op + VOP3_OF[enc], name, operands)
    if enc in ('VOP3', 'VOP3P'):
        return vop3_words(rnd, enc, op, name, operands)
    base, shift, mask = BASE[enc]
    first = base | op << shift | sparse(rnd, 32) & mask
    if enc in VOP3_OF:
        first = first & ~0x1ff | source(rnd)
    return first, second_word(rnd, enc, first)


def knows(mc, gfx):
    p = subprocess.run([mc, '--disassemble', '-triple=amdgcn-amd-amdhsa', '-mcpu=gfx' + gfx], input='', capture_output=True, text=True)
    return 'is not a recognized processor' not in p.stderr


def compare_random(mc, gfx, count, seed):
    rnd = random.Random(f'{seed} {gfx}')
    words = [random_words(rnd, row, k) for row in table() if row[3] & BIT[gfx] for k in range(count)]
    words += [(rnd.getrandbits(32), rnd.getrandbits(32)) for _ in range(200 * count)]
    figures, wrong = collections.Counter(), []
    as_gfx = gfx if gfx != '942' or knows(mc, '942') else '940'  # LLVM 15 has the instructions by the name that the processor had first
    if as_gfx == '940' and not knows(mc, '940'):
        return None, []
    names = {'hwreg(%d' % n: 'hwreg(HW_REG_' + name for n, name in ((16, 'TBA_LO'), (17, 'TBA_HI'), (18, 'TMA_LO'), (19, 'TMA_HI'))}
    for w, theirs, (_, ours) in zip(words, ask_llvm(mc, as_gfx, words), ask_us(gfx, words)):
        if theirs:  # LLVM 14 does not know their names
            theirs = re.sub(r'hwreg\(1[6-9]', lambda m: names[m[0]], theirs)
        if theirs and as_gfx == '940' and re.match(r'v_mfma_[fi]32_\w+x\d+(f32|f16|i8) ', theirs):
            figures['by another name in LLVM 15'] += 1
        elif ours is None:
            figures['refused, LLVM reads it' if theirs else 'unknown to both'] += 1
        elif ours == theirs:
            figures['equal'] += 1
        else:
            wrong.append(f'{w[0]:08x} {w[1]:08x}: ours "{ours}", theirs "{theirs}"')
    return figures, wrong


def objects_in(path, work):
    """The code objects of a file: itself, or the entries of an offload bundle."""
    with open(path, 'rb') as f:
        data = f.read()
    if data.startswith(b'\x7fELF'):
        return [path]
    out = []
    for n, m in enumerate(re.finditer(rb'\x7fELF\x02\x01\x01\x40', data)):
        out.append(os.path.join(work, f'{os.path.basename(path)}.{n}'))
        with open(out[-1], 'wb') as f:
            f.write(data[m.start():])
    return out


def as_value(v):
    """A literal that could have been a constant, which newer LLVMs mark, as LLVM 15 prints it."""
    signed = v - (1 << 32) if v >> 31 else v
    return str(signed) if -16 <= signed <= 64 else hex(v)


def compare_object(objdump, path):
    p = subprocess.run([objdump, '-d', path], capture_output=True, text=True, errors='replace')
    gfx = subprocess.run([objdump, '-d', '-j', 'none', path], capture_output=True, text=True, errors='replace').stdout
    arch = re.search(r'gfx(9[04]\w)', subprocess.run(['strings', '-n', '6', path], capture_output=True, text=True).stdout + gfx)
    found = []
    for line in p.stdout.splitlines():
        m = re.match(r'\t(.*?)\s*// [0-9A-F]+: ((?:[0-9A-F]{8} ?)+)(?:<.*>)?\s*$', line)
        if m:
            found.append((' '.join(m[1].split()), tuple(int(x, 16) for x in m[2].split())))
    wrong = []
    found = [(re.sub(r'lit\((0x[0-9a-f]+)\)', lambda m: as_value(int(m[1], 16)), theirs), w) for theirs, w in found]
    for (theirs, w), (size, ours) in zip(found, ask_us(arch[1], [w for _, w in found])):
        if ours != theirs or size != 4 * len(w):
            wrong.append(f'{" ".join("%08x" % x for x in w)}: ours "{ours}" ({size} bytes), theirs "{theirs}"')
    return arch[1], len(found), wrong


def the_llvm():
    return next((p for p in ('llvm-mc-15', 'llvm-mc') if shutil.which(p)), None)


def main():
    a = argparse.ArgumentParser()
    a.add_argument('--count', type=int, default=4)
    a.add_argument('--seed', type=int, default=1)
    a.add_argument('--gfx', default='942,90a,908,906,900')
    a.add_argument('--mc', default=None)
    a.add_argument('--objdump', default='llvm-objdump-15')
    a.add_argument('what', nargs='?', default='random')
    a.add_argument('files', nargs='*')
    o = a.parse_args()
    if o.what == 'objects':
        return compare_files(o)
    mc = o.mc or the_llvm()
    if not mc or not ask_llvm(mc, '90a', [(0x7E000280,)])[0]:
        print('1..0 # SKIP needs llvm-mc with AMDGPU (package llvm-15)')
        return 0
    targets = o.gfx.split(',')
    print(f'1..{len(targets)}')
    failed = 0
    for n, gfx in enumerate(targets, 1):
        figures, wrong = compare_random(mc, gfx, o.count, o.seed)
        if figures is None:
            print(f'ok {n} # SKIP {mc} does not know gfx{gfx}')
            continue
        print(f'# gfx{gfx}, {mc}:', ', '.join(f'{v} {k}' for k, v in sorted(figures.items())))
        for line in wrong[:20]:
            print('#', line)
        print('not ' * bool(wrong) + f'ok {n} - random words of gfx{gfx} are read as LLVM reads them, or refused')
        failed |= bool(wrong) or not figures['equal']
    return int(failed)


def compare_files(o):
    work = os.path.join(BUILD, 'tests/softamd/objects')
    os.makedirs(work, exist_ok=True)
    all_n, files, failed = collections.Counter(), collections.Counter(), 0
    for path in o.files:
        for obj in objects_in(path, work):
            gfx, n, wrong = compare_object(o.objdump, obj)
            all_n[gfx] += n
            files[gfx] += 1
            for line in wrong[:5]:
                print(f'# {path}: {line}')
            failed += len(wrong)
    for gfx in all_n:
        print(f'# gfx{gfx}: {files[gfx]} code objects, {all_n[gfx]} instructions')
    print('1..1\n' + 'not ' * bool(failed) + f'ok 1 - {sum(all_n.values())} instructions, {failed} of them read otherwise')
    return int(failed > 0)


if __name__ == '__main__':
    sys.exit(main())
