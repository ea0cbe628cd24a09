#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Our reading of CPython's line tables against CPython's own, over modules of its library; one TAP line for each version found."""
import glob
import os
import subprocess
import sys

BUILD = os.environ.get('TSDB_BUILD', '.')
LINES = os.path.join(BUILD, 'tests/unit/python-lines')
MODULES = 'argparse asyncio.base_events asyncio.tasks typing dataclasses contextlib ast inspect functools subprocess tarfile decimal _pydecimal'

# Runs in the Python that is asked: prints FIRST COUNT TABLE and, on the next line, what co_lines() says of each instruction.
ASK = r'''
import importlib, sys, types
def dump(code):
    lines = [0] * (len(code.co_code) // 2)
    for start, end, line in code.co_lines():
        for i in range(start // 2, end // 2):
            lines[i] = line or 0
    print(code.co_firstlineno, len(lines), code.co_linetable.hex())
    print(*lines)
    for k in code.co_consts:
        if isinstance(k, types.CodeType):
            dump(k)
for name in sys.argv[1:]:
    m = importlib.import_module(name)
    with open(m.__file__, encoding='utf-8') as f:
        dump(compile(f.read(), m.__file__, 'exec'))
'''


def interpreters():
    folders = os.environ.get('PATH', '/usr/bin').split(':') + sorted(glob.glob(os.path.expanduser('~/.pyenv/versions/*/bin')))
    found = {}
    for folder in folders:
        for minor in (11, 12, 13):
            path = os.path.join(folder, f'python3.{minor}')
            if os.access(path, os.X_OK) and not subprocess.run([path, '-c', ''], capture_output=True).returncode:
                found.setdefault(minor, path)
    return found


def main():
    found = interpreters()
    print('1..3')
    failed = False
    for k, minor in enumerate((11, 12, 13), 1):
        if minor not in found:
            print(f'ok {k} - Python 3.{minor} # SKIP there is none')
            continue
        told = subprocess.run([found[minor], '-c', ASK] + MODULES.split(), capture_output=True, text=True, check=True).stdout.splitlines()
        ours = subprocess.run([LINES], input='\n'.join(told[::2]) + '\n', capture_output=True, text=True, check=True).stdout.splitlines()
        bad = [i for i, line in enumerate(told[1::2]) if i >= len(ours) or ours[i] != line]
        failed |= bool(bad) or len(ours) < 1000
        for i in bad[:3]:
            print(f'# {told[2 * i]}\n#   CPython {told[2 * i + 1]}\n#   ours    {ours[i] if i < len(ours) else "-"}')
        print(f'{"not " if bad or len(ours) < 1000 else ""}ok {k} - Python 3.{minor}: {len(ours)} code objects')
    return failed


if __name__ == '__main__':
    sys.exit(main())
