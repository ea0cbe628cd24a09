#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""src/capture/hip/hip-calls.def against HIP's own list of entry points: each has one row, or is in the list of those in no row. TAP."""
import os
import re
import sys

SRC = os.environ.get('TSDB_SRC', os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
HEADER = '/usr/include/hip/amd_detail/hip_prof_str.h'


def problems(header, table):
    known = {n for n in re.findall(r'^  HIP_API_ID_(\w+) = \d+', header, re.M) if n not in ('NONE', 'FIRST', 'LAST') and not n.startswith('RESERVED')}
    rows = re.findall(r'^(?:CALL|WITH_EXIT|HANDLES|IGNORED)\((\w+)', table, re.M)
    listed = set(re.findall(r'\b_*hip\w+', re.search(r'In no row are:(.*?)\*/', table, re.S).group(1)))
    for n in sorted({n for n in rows if rows.count(n) > 1}):
        yield f'{n} has two rows'
    for n in sorted(set(rows) - known):
        yield f'{n} has a row, and HIP has no such entry point'
    for n in sorted(listed & set(rows)):
        yield f'{n} has a row, and is in the list of those in no row'
    for n in sorted(known - set(rows) - listed):
        yield f'{n} is in no row, and not in the list of those'


def main():
    print('1..1')
    if not os.path.exists(HEADER):
        print("ok 1 - HIP's entry points # SKIP HIP's headers are not there")
        return 0
    with open(HEADER, encoding='utf-8') as h, open(os.path.join(SRC, 'src/capture/hip/hip-calls.def'), encoding='utf-8') as t:
        found = list(problems(h.read(), t.read()))
    for p in found:
        print('#', p)
    print('not ok' if found else 'ok', "1 - HIP's entry points")
    return 1 if found else 0


if __name__ == '__main__':
    sys.exit(main())
