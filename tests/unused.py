#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What nobody uses: functions that a header of src/ declares and macros that a file there defines, which no other line of src/ names.
Functions that tests alone call count as used if FOR_TESTS says why they are there. Speaks TAP."""
import collections
import os
import re
import sys

SRC = os.environ.get('TSDB_SRC', '.')
WORD = re.compile(r'\b[A-Za-z_]\w*\b')
COMMENT = re.compile(r'/\*.*?\*/|(?<!:)//[^\n]*', re.S)  # names in strings are asked for by dlsym()
FUNCTION = re.compile(r'^(?:extern )?(?!static|typedef|return|else|#)[\w][\w \t\*]*?\b(\w+)\(', re.M)
MACRO = re.compile(r'^[ \t]*#[ \t]*define[ \t]+(\w+)', re.M)
PASTED = re.compile(r'\b(\w+)##')

FOR_TESTS = {
    'gpu_parts_folder': 'a test says where the software GPU lies',
    'address_map_free': 'the replayer lives as long as its map',
    'amd_object_kernels': 'the fuzzed reader of all kernels',
    'amd_object_target': 'the fuzzed reader of the target',
    'hash_kernel_pages_device': 'compared with the host\'s hashes on real devices',
    'order_is_legal': 'an order judged by the rule and not by how it was made',
    'device_pid': 'a test kills the replayer', 'device_restart': 'a replayer that was killed',
    'tsdb_softamd_order': 'the replayer finds it by a name that hip-driver.c puts together',
    'sbt_expr_value': 'expressions as numbers', 'sbt_expr_asks_python': 'which expressions look at Python\'s stack',
    'studio_question_name': 'each question of the list is asked',
    'sbt_page_hash_by': 'all ways of computing the hash agree', 'sbt_writer_count': 'what was written so far',
    'amd_wave_exec': 'lanes, for an observer', 'ptx_jit_drain': 'waits for the compiler',
    'mem_pages_new': 'a table of pages without a device', 'ptx_kernel_by_name': 'a kernel without a driver',
    'ptx_accesses_free': 'sets that no device keeps', 'late_at': 'what is kept back',
    'gpu_core_parse': 'a core dump out of memory',
}


def sources():
    for folder, _, names in os.walk(os.path.join(SRC, 'src')):
        for name in sorted(names):
            if name.endswith(('.c', '.h', '.def', '.inc', '.S', '.cu', '.map')):
                path = os.path.join(folder, name)
                with open(path, encoding='utf-8', errors='replace') as f:
                    yield os.path.relpath(path, SRC), COMMENT.sub(' ', f.read())


def unused(files):
    """(path, name) of each function of a header, and of each macro, that is named nowhere else."""
    times = collections.Counter(w for text in files.values() for w in WORD.findall(text))
    pasted = {p for text in files.values() for p in PASTED.findall(text) if len(p) > 2}

    def is_pasted(name):
        """NAME##x somewhere, and the rest of this name is a word."""
        return any(name.startswith(p) and (name[len(p):].isdigit() or name[len(p):] in times) for p in pasted)

    for path, text in files.items():
        if path.endswith('.h'):
            for name in FUNCTION.findall(text):
                if times[name] <= 2 and not is_pasted(name):  # declared and defined
                    yield path, name
        for name in MACRO.findall(text):
            if times[name] == 1 and not is_pasted(name) and not name.endswith('_H') and name not in SYSTEM:
                yield path, name


# Macros that a system's headers read.
SYSTEM = {'UNW_LOCAL_ONLY', '_GNU_SOURCE'}


def main():
    files = dict(sources())
    found = {name: path for path, name in unused(files)}
    dead = sorted(f'{path}: {name}' for name, path in found.items() if name not in FOR_TESTS)
    stale = sorted(name for name in FOR_TESTS if name not in found)
    print('1..2')
    for d in dead:
        print(f'# {d} is used by nothing in src/: delete it, or say in FOR_TESTS of tests/unused.py what it is for')
    print('not ' * bool(dead) + 'ok 1 - every function of a header and every macro is used')
    for s in stale:
        print(f'# {s} is used, or gone: take it out of FOR_TESTS')
    print('not ' * bool(stale) + 'ok 2 - the list of functions for tests is short')
    return 1 if dead or stale else 0


if __name__ == '__main__':
    sys.exit(main())
