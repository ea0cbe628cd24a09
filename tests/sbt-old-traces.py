#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Traces of earlier versions, kept in tests/traces, still read as they did: FILE.txt is what `sbt-gen dump` said then. Fields that came later may be
there too. TAP.

When a version of the format is released: sbt-gen write tests/traces/vX.Y.sbt SEED 60, sbt-gen dump into vX.Y.txt, its stderr
behind that with "# " before each line; never change the old ones.
"""
import glob
import json
import os
import subprocess
import sys

SRC = os.environ.get('TSDB_SRC', os.path.join(os.path.dirname(os.path.abspath(__file__)), '..'))
GEN = os.path.join(os.environ.get('TSDB_BUILD', '.'), 'tests/unit/sbt-gen')


def same(then, now):
    """A value that cannot be was printed as a number until docs/json.md gave every name one type: a BOOL above 1, an enumeration's unknown value."""
    if isinstance(then, int) and not isinstance(then, bool) and then > 1:
        return now == then or now is True or now == str(then)
    return now == then


def difference(path):
    with open(path[:-4] + '.txt', encoding='utf-8') as f:
        lines = f.read().split('\n')
    told = [a[2:] for a in lines if a.startswith('# ')] # what the reader says is missing
    then = [a for a in lines if not a.startswith('# ')]
    p = subprocess.run([GEN, 'dump', path], check=True, capture_output=True, encoding='utf-8')
    now = p.stdout.split('\n')
    if p.stderr.splitlines() != told:
        return p.stderr or f'not told: {told}'
    if len(then) != len(now):
        return f'{len(then)} lines, now {len(now)}'
    for a, b in zip(then, now):
        if not a.startswith('{'):
            if a != b:
                return f'then {a}\nnow  {b}'
            continue
        old, new = json.loads(a), json.loads(b)
        for k, v in old.items():
            if k not in new or not same(v, new[k]):
                return f'#{old["seq"]} {old["kind"]}: {k} was {v!r}, is {new.get(k)!r}'
    return None


def main():
    paths = sorted(glob.glob(os.path.join(SRC, 'tests/traces/*.sbt')))
    print(f'1..{len(paths)}')
    failed = 0
    for i, path in enumerate(paths, 1):
        text = difference(path)
        failed += text is not None
        for line in (text or '').splitlines():
            print(f'# {line}')
        print(f'{"not ok" if text else "ok"} {i} - {os.path.basename(path)}')
    return failed != 0 or not paths


if __name__ == '__main__':
    sys.exit(main())
