#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every file that CONTRIBUTING.md and docs/design.md name is there, and so is every function and table that they send the reader to.
Speaks TAP."""
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


def sources():
    """Paths below src, and all their text."""
    paths = [os.path.relpath(p, SRC) for p in glob.glob(os.path.join(SRC, 'src', '**', '*.*'), recursive=True)]
    return paths, '\n'.join(open(os.path.join(SRC, p), encoding='utf-8').read() for p in paths if p.endswith(('.c', '.h', '.def')))


def missing_in_design(text):
    """There files are named from src on, or by their name alone, which is unique; functions by their name."""
    paths, code = sources()
    for name in sorted(set(re.findall(r'`((?:[\w-]+/)*[\w*-]+\.(?:c|h|def|cu|py|sh|md))`', text))):
        pattern = re.escape(name).replace(r'\*', '[^/]*')
        there = os.path.exists(os.path.join(SRC, name)) or os.path.exists(os.path.join(SRC, 'docs', name))
        if not there and not any(re.search(rf'(?:^|/){pattern}$', p) for p in paths):
            yield name
    for name in sorted(set(re.findall(r'`(\w+\*?)\(\)`', text))):
        if not re.search(r'\b' + name.replace('*', r'\w*') + r'\(', code):
            yield name + '()'
    for name, path in re.findall(r'`(\w+\*?)\(\)`\s+\(`([^`*]+\.[ch])`', text):  # `name()` (`FILE`: it is defined, or declared, there
        own = [p for p in paths if p.endswith('/' + path)]
        if own and not re.search(r'^\w.*\b' + name.replace('*', r'\w*') + r'\(', open(os.path.join(SRC, own[0]), encoding='utf-8').read(), re.M):
            yield f'{name}() in {path}'


PAGES = (('CONTRIBUTING.md', 'files', missing_files), ('CONTRIBUTING.md', 'names', missing_names),
         ('docs/design.md', 'files and functions', missing_in_design))


def main():
    status = 0
    print(f'1..{len(PAGES)}')
    for number, (page, what, bad) in enumerate(PAGES, 1):
        with open(os.path.join(SRC, page), encoding='utf-8') as f:
            found = list(bad(f.read()))
        for b in found:
            print(f'# {page} names {b}, which is not there')
        print(f'{"not ok" if found else "ok"} {number} - the {what} that {page} names are there')
        status |= bool(found)
    return status


if __name__ == '__main__':
    sys.exit(main())
