#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every file that CONTRIBUTING.md names is there, and so is every function and table that it sends the reader to. Speaks TAP."""
import glob
import os
import re
import sys

SRC = os.environ.get('TSDB_SRC', '.')


def missing_files(text):
    """`src/a/b.c`, also with * for any letters and NAME, ROOM, SUBJECT for what the reader chooses. A test goes by its program's name."""
    for name in sorted(set(re.findall(r'`((?:src|tests|docs|man|scripts)/[^`\s]*)`', text))):
        pattern = re.sub(r'[A-Z]{4,}', '*', name)
        if not glob.glob(os.path.join(SRC, pattern)) and not os.path.exists(os.path.join(SRC, name + '.c')):
            yield name


def missing_names(text):
    """`name()` or `name[]` of `FILE`, and `name()` (`FILE`)."""
    for name, path in re.findall(r'`(\w+)(?:\(\)|\[\])`\s+(?:of|in)\s+`((?:src|tests)/[^`\s*]*)`', text) + \
            re.findall(r'`(\w+)(?:\(\)|\[\])`\s+\(`((?:src|tests)/[^`\s*]*)`\)', text):
        full = os.path.join(SRC, path)
        if os.path.exists(full) and not re.search(rf'\b{name}\b', open(full, encoding='utf-8').read()):
            yield f'{name} in {path}'


def main():
    with open(os.path.join(SRC, 'CONTRIBUTING.md'), encoding='utf-8') as f:
        text = f.read()
    status = 0
    print('1..2')
    for number, (what, bad) in enumerate((('files', missing_files), ('names', missing_names)), 1):
        found = list(bad(text))
        for b in found:
            print(f'# CONTRIBUTING.md names {b}, which is not there')
        print(f'{"not ok" if found else "ok"} {number} - the {what} that CONTRIBUTING.md names are there')
        status |= bool(found)
    return status


if __name__ == '__main__':
    sys.exit(main())
