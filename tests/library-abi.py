#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Programs that were built with an earlier libtracesmith.so.0 run with this one: tests/library/first-release.abi describes the first
release's functions and structures, and abidiff says what has changed since; first-release.c beside it has the numbers of its constants. Speaks
TAP.

    library-abi.py            the tests
    library-abi.py --write    describes the library as it is: with a new soname, and never otherwise

The last test breaks the header on purpose, in each way that matters, and expects that to be noticed; what a later release may add is no
break. What it compares are libraries made of the header alone, with empty functions.
"""
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from xml.etree import ElementTree

SRC = os.path.abspath(os.environ.get('TSDB_SRC', '.'))
BUILD = os.path.abspath(os.environ.get('TSDB_BUILD', '.'))
ROOM = os.path.join(SRC, 'src', 'library')
HEADERS = os.path.join(SRC, 'include', 'tracesmith')
REFERENCE = os.path.join(SRC, 'tests', 'library', 'first-release.abi')
VALUES = os.path.join(SRC, 'tests', 'library', 'first-release.c')
LIBRARY = os.path.join(BUILD, 'libtracesmith.so.0')

# Structures whose first member is the size that the caller knows (docs/library.md).
SIZED = ('ts_filter', 'ts_stream', 'ts_arg', 'ts_session_options')

# What is done to the header, whether programs break by it, and how: text for text.
CHANGES = [
    ('nothing', False, []),
    ('a result of another size', True, [('TS_API uint64_t ts_seq(', 'TS_API uint32_t ts_seq(')]),
    ('a further parameter', True, [('ts_goto(ts_session *s, uint64_t seq)', 'ts_goto(ts_session *s, uint64_t seq, int how)')]),
    ('a parameter of another type', True, [('ts_step(ts_session *s, int64_t n)', 'ts_step(ts_session *s, int n)')]),
    ('a function is gone', True, [('TS_API int ts_cursor_seek(ts_cursor *c, uint64_t seq);', '')]),
    ('a function has another name', True, [('ts_cursor_seek(', 'ts_cursor_to(')]),
    ('ts_value grows, which callers allocate', True, [('size_t size;	  /* bytes of data */', 'size_t size; uint64_t more;')]),
    ('ts_frame grows, of which arrays are given out', True, [('int inlined, python;', 'int inlined, python; uint64_t more;')]),
    ('a member in the middle', True, [('const char *kind;      /* "launch"', 'uint64_t first; const char *kind; /* "launch"')]),
    ('a member of another size', True, [('uint32_t id, ctx;', 'uint64_t id, ctx;')]),
    ('two members change places', True, [('uint64_t last;	       /* the last seq */', ''),
                                         ('const char *kind;      /*', 'uint64_t last; const char *kind; /*')]),
    ('a member is gone', True, [('const char *record; /* for a program: the trace that is written; NULL: none */', '')]),
    ('a member in the padding, whose lack an old size does not tell', True,
     [('int any_device;', 'int any_device;'), ('int no_sandbox;', 'short no_sandbox, more;')]),
    ('a result has another number', True, [('	TS_SYSTEM,	/*', '	TS_SOMETHING, TS_SYSTEM, /*')]),
    ('a result is gone', True, [('	TS_END,		/* there is no further one: no error */', ''), ('	TS_USAGE,', '	TS_USAGE = 2,')]),
    ('a stop has another number', True, [('X(STEP, 5,', 'X(STEP, 18,')]),
    ('a stop more', False, [('X(AGENT, 17, "agent")', 'X(AGENT, 17, "agent") X(MORE, 18, "more")')]),
    ('a function more', False, [('TS_API int ts_next(ts_cursor *c);', 'TS_API int ts_next(ts_cursor *c);\nTS_API int ts_more(int n);')]),
    ('a result more', False, [('TS_INTERRUPTED, /*', 'TS_INTERRUPTED, TS_MORE, /*')]),
    ('ts_filter grows, which has its size', False, [('uint64_t last;	       /* the last seq */', 'uint64_t last; uint64_t more;')]),
    ('ts_stream grows, which has its size', False, [('uint64_t pending;   /*', 'uint64_t pending; const char *more; /*')]),
    ('ts_arg grows, which has its size', False, [('uint64_t bytes;	      /* of data */', 'uint64_t bytes; uint64_t more;')]),
    ('ts_session_options grows, which has its size', False,
     [('const char *record; /* for', 'const char *record; int more, still_more; /* for')]),
]


def symbols(library):
    out = subprocess.run(['nm', '-D', '--defined-only', '--with-symbol-versions', library], check=True, capture_output=True, text=True).stdout
    return {m[1] for m in re.finditer(r' [TDBRVW] (\w+@@\w+)$', out, re.M)}


def released():
    with open(REFERENCE, encoding='utf-8') as f:
        return {f'{m[1]}@@{m[2]}' for m in re.finditer(r"<elf-symbol name='(\w+)' version='(\w+)'", f.read())}


def describe(library, headers, to):
    """The functions of a library, and what of their types the headers say: the rest is nobody's business."""
    subprocess.run(['abidw', '--drop-private-types', '--exported-interfaces-only', '--no-corpus-path', '--no-comp-dir-path', '--no-show-locs',
                    '--no-elf-needed', '--type-id-style', 'hash', '--headers-dir', headers, '--out-file', to, library], check=True)


def cut(now):
    """Structures that have their size may have grown: what is behind the size that the first release knew is left out of the comparison.
    What was put into its padding is not: the size, as an old program says it, does not tell that it is missing."""
    tree = ElementTree.parse(now)
    old = {c.get('name'): c for c in ElementTree.parse(REFERENCE).iter('class-decl') if c.get('size-in-bits')}
    for c in tree.iter('class-decl'):
        if c.get('name') not in SIZED or not c.get('size-in-bits'):
            continue
        size = int(old[c.get('name')].get('size-in-bits'))
        for member in [m for m in c if int(m.get('layout-offset-in-bits')) >= size]:
            c.remove(member)
        c.set('size-in-bits', str(min(size, int(c.get('size-in-bits')))))
    tree.write(now, encoding='utf-8')


def constants(header):
    """The names of all enumerators, and of macros that are numbers."""
    out = subprocess.run(['cc', '-E', '-P', '-fdirectives-only', header], check=True, capture_output=True, text=True).stdout
    names = re.findall(r'^#define (TS_\w+) (?:0x[0-9a-f]+u|UINT64_MAX|\(\(uint64_t\).*\))', out, re.M)
    out = subprocess.run(['cc', '-E', '-P', header], check=True, capture_output=True, text=True).stdout
    return names + [n for body in re.findall(r'enum ts_\w+ \{(.*?)\}', out, re.S) for n in re.findall(r'\bTS_\w+', body)]


def write_values():
    """Each constant's number, as a declaration that a compiler refuses when it is another one."""
    names = constants(os.path.join(HEADERS, 'tracesmith.h'))
    with tempfile.TemporaryDirectory() as folder:
        source, program = os.path.join(folder, 'a.c'), os.path.join(folder, 'a')
        with open(source, 'w', encoding='utf-8') as f:
            f.write('#include <stdio.h>\n#include <tracesmith/tracesmith.h>\nint main(void)\n{\n')
            f.writelines(f'printf("_Static_assert({n} == %#llxull, \\"{n}\\");\\n", (unsigned long long){n});\n' for n in names)
            f.write('}\n')
        subprocess.run(['cc', '-w', '-I', os.path.dirname(HEADERS), '-o', program, source], check=True)
        lines = subprocess.run([program], check=True, capture_output=True, text=True).stdout
    with open(VALUES, 'w', encoding='utf-8') as f:
        f.write('/* SPDX-License-Identifier: Apache-2.0\n *\n * The constants of libtracesmith.so.0\'s first release, written by tests/library-abi.py. It\n '
                '* is compiled and never run.\n */\n#include <tracesmith/tracesmith.h>\n\n' + lines)


def other_values(include):
    """What a compiler says of constants that have another number, or are gone."""
    r = subprocess.run(['cc', '-w', '-fsyntax-only', '-I', include, VALUES], capture_output=True, text=True, check=False)
    return r.stderr or 'cc failed' if r.returncode else ''


def compare(library, headers):
    """What abidiff complains of; '' if nothing breaks."""
    with tempfile.TemporaryDirectory() as folder:
        now = os.path.join(folder, 'now.abi')
        describe(library, headers, now)
        cut(now)
        r = subprocess.run(['abidiff', '--no-added-syms', REFERENCE, now],
                           capture_output=True, text=True, check=False)
    return r.stdout + r.stderr or 'abidiff failed' if r.returncode else ''


def hollow(header, folder):
    """A library that has the header's functions, which do nothing."""
    os.makedirs(os.path.join(folder, 'tracesmith'))
    with open(os.path.join(folder, 'tracesmith', 'tracesmith.h'), 'w', encoding='utf-8') as f:
        f.write(header)
    plain = re.sub(r'/\*.*?\*/', '', header, flags=re.S)
    functions = re.findall(r'^TS_API [^;]*\)(?=;)', plain, re.M | re.S)
    with open(os.path.join(folder, 'a.c'), 'w', encoding='utf-8') as f:
        f.write('#include <tracesmith/tracesmith.h>\n')
        f.writelines(f'{d}\n{{\n{"" if re.match(r"TS_API void ts", d) else "return 0;"}\n}}\n' for d in functions)
    library = os.path.join(folder, 'libtracesmith.so.0')
    subprocess.run(['cc', '-g', '-w', '-shared', '-fPIC', '-I', folder, '-o', library, os.path.join(folder, 'a.c'), '-Wl,-soname,libtracesmith.so.0',
                    '-Wl,--version-script=' + os.path.join(ROOM, 'tracesmith.map')], check=True)
    return library


def read(name):
    with open(os.path.join(HEADERS, name), encoding='utf-8') as f:
        return f.read()


def changed(header, edits):
    for old, new in edits:
        if header.count(old) != 1:
            raise ValueError(f'"{old}" is in the header {header.count(old)} times')
        header = header.replace(old, new)
    return header


def unnoticed():
    header = read('tracesmith.h').replace('#include "stops.h"\n', read('stops.h'))
    for what, breaks, edits in CHANGES:
        with tempfile.TemporaryDirectory() as folder:
            said = compare(hollow(changed(header, edits), folder), os.path.join(folder, 'tracesmith')) + other_values(folder)
        if bool(said) != breaks:
            yield f'{what}: ' + ('not noticed' if breaks else 'called a break: ' + said)


def report(number, name, wrong):
    for line in '\n'.join(wrong).splitlines():
        print('#', line)
    print('not ' * bool(wrong) + f'ok {number} - {name}')
    return bool(wrong)


def main():
    if sys.argv[1:] == ['--write']:
        describe(LIBRARY, HEADERS, REFERENCE)
        write_values()
        return 0
    names = ['no function of the first release is gone', 'its constants have their numbers',
             'the library breaks no program that was built with the first release', 'what would break programs is noticed']
    print('1..4')
    failed = report(1, names[0], [f'{s} is gone' for s in sorted(released() - symbols(LIBRARY))] if released() else ['no reference'])
    failed |= report(2, names[1], other_values(os.path.dirname(HEADERS)).splitlines())
    sections = subprocess.run(['readelf', '-SW', LIBRARY], check=True, capture_output=True, text=True).stdout
    reason = 'the library has no debug information' if '.debug_info' not in sections else 'the reference is x86-64' if platform.machine() != 'x86_64' else \
        'no abidiff (abigail-tools)' if not shutil.which('abidiff') else ''
    if reason:
        print(f'ok 3 - {names[2]} # SKIP {reason}\nok 4 - {names[3]} # SKIP {reason}')
        return failed
    failed |= report(3, names[2], compare(LIBRARY, HEADERS).splitlines())
    return failed | report(4, names[3], list(unnoticed()))


if __name__ == '__main__':
    sys.exit(main())
