#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""docs/sbt.md is true: a reader written from it alone reads what our writer wrote, and both say the same. TAP."""
import json
import os
import re
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import sbt_reader  # noqa: E402

SRC = os.environ.get('TSDB_SRC', os.path.join(os.path.dirname(os.path.abspath(__file__)), '..'))
GEN = os.path.join(os.environ.get('TSDB_BUILD', '.'), 'tests/unit/sbt-gen')
PAGE = os.path.join(SRC, 'docs', 'sbt.md')


def text(b):
    """A string as C's JSON has it: each byte that is no UTF-8 is one U+FFFD."""
    out = ''
    while b:
        for n in range(1, 5):
            try:
                out += b[:n].decode()
                break
            except UnicodeDecodeError:
                continue
        else:
            out, n = out + '\ufffd', 1
        b = b[n:]
    return out


def compare(path, cut=None):
    if cut:
        with open(path, 'rb+') as f:
            f.truncate(os.path.getsize(path) - cut)
    lines = subprocess.run([GEN, 'dump', path], check=True, capture_output=True, text=True).stdout.splitlines()
    r = sbt_reader.Reader(path, PAGE)
    ours = [json.loads(x) for x in lines if x.startswith('{')]
    theirs = [{k: text(v) if isinstance(v, bytes) else v for k, v in c.items()} for c in r.commands()]
    assert len(ours) == len(theirs), f'{len(ours)} commands, {len(theirs)} by the page'
    for a, b in zip(ours, theirs):
        assert a == b, f'ours    {a}\nby page {b}'
        assert list(a) == list(b), 'the order of fields'
    stacks = r.stacks()
    for line in lines:
        m = re.match(r'stack (\d+):(.*)', line)
        if m:
            frames = [(int(x.split('+')[0]), int(x.split('+')[1], 16)) for x in m.group(2).split()]
            assert stacks.get(int(m.group(1)), []) == frames, f'{line}: {stacks.get(int(m.group(1)))}'
        m = re.match(r'module (\d+) (\S+) (\S*)', line)
        if m and m.group(2) != '-':
            assert r.modules()[int(m.group(1))] == (m.group(2), m.group(3)), line
        m = re.match(r'place (\d+) (\S*) (\S+) (\d+) (\d+)', line)
        if m:
            assert r.places()[int(m.group(1))] == (m.group(2), m.group(3), int(m.group(4)), int(m.group(5))), line
        m = re.match(r'symbol (\d+) (\w+) (\d+)\|(.*)\|(.*)\|(.*)\|(\d+)\|(\w+)$', line)
        if m:
            function, file, folder = m.group(4), m.group(5), m.group(6)
            theirs = r.symbols()[int(m.group(1)), int(m.group(2), 16)][int(m.group(3))]
            assert theirs == (function, file, folder, int(m.group(7)), int(m.group(8), 16)), f'{line}: {theirs}'
        m = re.match(r'source (\S+) (\d+) (.*)$', line)
        if m:
            theirs = r.sources()[m.group(1)]
            assert (len(theirs), theirs.split('\n')[0]) == (int(m.group(2)), m.group(3)), f'{line}: {theirs!r}'
        m = re.match(r'unreplayable (\S+) (\d+)', line)
        if m:
            assert r.unreplayable()[m.group(1)] == int(m.group(2)), line
    memory = [x for x in lines if x.startswith('memory ')]
    theirs = r.memory()
    assert len(memory) == len(theirs), f'{len(memory)} pieces of memory, {len(theirs)} by the page'
    for line, (seq, role, addr, owner, size, module, name, missing, digest, data) in zip(memory, theirs):
        what = 'none' if data is None else f'{r.hash(data):x}'
        by_page = f'memory {seq} {role} {owner} {addr:x} {size} {module} {name.decode()} {missing} {digest[0]:x} {digest[1]:x} {what}'
        assert line == by_page, f'ours    {line}\nby page {by_page}'
    windows = [f'window {a} {b}' for a, b in r.windows()]
    assert [x for x in lines if x.startswith('window ')] == windows, windows
    if not cut:
        assert sum(x.startswith('place ') for x in lines) == 3, lines
        assert sum(x.startswith('symbol ') for x in lines) == 3, lines
        assert sum(x.startswith('source ') for x in lines) == 2, lines
        assert len(memory) >= 20 and windows == ['window 1 2', 'window 3 9'], (len(memory), windows)
    assert r.meta()['program'] == "./app 'a b'" and r.meta()['start_ns'] == '12345678901234567', r.meta()
    return len(ours)


def main():
    cases = [(seed, n, cut) for seed, n in ((1, 3000), (2, 10), (3, 20000)) for cut in (None, 80, 200)]
    print(f'1..{len(cases)}')
    failed = 0
    with tempfile.TemporaryDirectory() as d:
        path = os.path.join(d, 'x.sbt')
        for i, (seed, n, cut) in enumerate(cases, 1):
            name = f'seed {seed}, {n} commands, ' + (f'{cut} bytes cut off' if cut else 'whole')
            try:
                subprocess.run([GEN, 'write', path, str(seed), str(n)], check=True)
                got = compare(path, cut)
                assert got == n or (cut and got > 0), f'{got} commands'
                print(f'ok {i} - {name}')
            except sbt_reader.Missing as e:
                print(f'ok {i} - {name} # SKIP no {e}')
            except Exception as e:  # every failure is a line, whatever it is
                failed += 1
                print(f'not ok {i} - {name}')
                print('\n'.join(f'# {x}' for x in f'{type(e).__name__}: {e}'.splitlines()))
    return failed != 0


if __name__ == '__main__':
    sys.exit(main())
