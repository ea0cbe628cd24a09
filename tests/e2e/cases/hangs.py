# SPDX-License-Identifier: Apache-2.0
"""Programs that are stuck and programs that are busy (tests/programs/hangs): what `why` says of them."""
import importlib.util
import os
import re

from e2e import SRC

HANGS = os.path.join(SRC, 'tests', 'programs', 'hangs')


def table():
    spec = importlib.util.spec_from_file_location('hangs_table', os.path.join(HANGS, 'table.py'))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def cases_of(path):
    """What the first argument of a program may be."""
    with open(path, encoding='utf-8') as f:
        text = f.read()
    if path.endswith('.py'):
        return re.search(r'^CASES = \[(.*)\]$', text, re.M)[1].split(', ')
    rows = re.search(r'hang_case all\[\] = (.*?)\};\n', text, re.S)[1]
    return re.findall(r'CASE\((\w+)\)|\{"(\w+)"', rows)


def test_the_table_is_whole(t):
    """A row for each case of each program, and a case for each row; and as many as the project promises."""
    rows = table()
    have = {(name.removesuffix('.cu'), ''.join(c)) for name in os.listdir(HANGS) if name.endswith(('.cu', '.py')) and name != 'table.py'
            for c in cases_of(os.path.join(HANGS, name))}
    t.equal(sorted((r.program, r.case) for r in rows.STUCK + rows.BUSY), sorted(have), 'rows of table.py')
    t.check(len(rows.STUCK) >= 30 and len({r.kind for r in rows.STUCK}) >= 15, 'fewer deadlocks than 30 of 15 kinds')
    t.check(len(rows.BUSY) >= 30, 'fewer than 30 busy programs')
