#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The rooms of src/: their doors, and which way dependencies point. Checked on #include lines; prints a TAP result.

A header that lies in a room's own folder is a door: other rooms may include it. A header in a drawer (a folder below the room's) is
private to its room. ROOMS says which rooms, or which single doors of them, a room may use. docs/design.md has the table that
`scripts/check-layers.py --table` prints; `--update` puts it there. `--figures` counts: lines, doors, folders, long functions, vendors' words.

A vendor's types, functions, headers and libraries are named in the vendor's drawers alone, and in the rooms whose subject they are
(VENDOR_PLACES); a drawer's headers are included by the drawer alone.
"""
import os
import re
import sys
from collections import defaultdict

FILES_MAX = 35  # in one folder
FUNCTION_MAX = 60  # lines

# Where a vendor's types, functions and libraries have their place. Everywhere else they may stand in comments and in texts for the user.
VENDOR_PLACES = re.compile(r'src/(?:capture/(?:cuda|hip)|replayer/backend-\w+|gpucode|softgpu|softamd|observe)/')
VENDOR_DRAWERS = re.compile(r'(?:capture/(?:cuda|hip)|replayer/backend-\w+)/')
VENDOR_WORD = re.compile(r'\b(?:CU[a-z]\w*|cu[A-Z]\w*|CU_\w+|cuda[A-Z]\w*|CUDA\w*|CUPTI\w*|cupti\w*|nvtx\w*|hip[A-Z]\w*|HIP_\w+|(?:hsa|HSA)_\w+)')
VENDOR_HEADER = re.compile(r'^[ \t]*#[ \t]*include[ \t]*<(?:cuda|cupti|nvtx|nvml|nvrtc|hip/|hsa)[^>]*>', re.M)
# A string that is nothing but a vendor's name of something: a function, a library, a variable of the environment.
VENDOR_NAME = re.compile(r'(?:CUDA_\w+(?:=\S*)?|cu[A-Z]\w+|cuda[A-Z]\w+|hip[A-Z]\w+|hsa_\w+|\S*lib(?:cuda|cupti|nv|amdhip|hsa)\S*|cupti\w+)')
# Files that name them all the same. Take lines out of here; put none in.
VENDOR_EXCEPTIONS = {
    'src/export/formats/sqlite-nsight.c': "rows as readers of Nsight Systems' export name them",
    'src/export/formats/sqlite-schema.def': "tables as readers of Nsight Systems' export name them",
    'src/import/formats/nsight-read.c': "tables as Nsight Systems' export names them",
    'src/shell/live/gpu.c': 'what the machine has',
}
# In this order: what begins first hides the others.
TEXT = re.compile(r'/\*.*?\*/|//[^\n]*|"((?:\\.|[^"\\\n])*)"', re.S)

# What runs in other people's programs may use of the room base only what allocates nothing and prints nothing.
BASE_ANYWHERE = ['base/checked.h', 'base/first-where.h', 'base/list-part.h', 'base/maps-at.h', 'base/maps-line.h', 'base/monotonic.h', 'base/patience.h', 'base/stop-reason.h']
# Between the software GPU and whoever looks into it.
SOFT_SEAM = ['replayer/soft-watch.h', 'replayer/soft-debug.h', 'replayer/soft-probe.h']

# room: (what it is, what it may include besides itself)
ROOMS = {
    'base': ('errors as values, a growing buffer, checked arithmetic, text that is safe to show, words and numbers that users type, lists of settings, files that tsdb makes, structs as JSON', []),
    'sbt': ('the command table, footprints, conditions; the trace format, its reader and writer', ['base', 'gpucode/code-kind.h']),
    'state': ('the GPU state machine: a fold over commands', ['base', 'sbt']),
    'order': ('happens-before, access sets, races, schedules', ['base', 'sbt', 'state', 'gpucode/ptx-text.h', 'gpucode/code-traits.h', 'gpucode/code-kind.h']),
    'gpucode': ("GPU code: fatbins, cubins, what a kernel's PTX can write; our own kernel, which hashes", ['base', 'sbt/pagehash.h', 'sbt/cmd.h', 'sbt/footprint.h']),
    'capture': ('the agent inside the inferior', BASE_ANYWHERE + [
        'sbt/cmd.h', 'sbt/cmd-pack.h', 'sbt/kernel-name.h', 'sbt/footprint.h', 'sbt/expr.h', 'sbt/pagehash.h', 'sbt/python.h', 'gpucode/hash-kernel.h', 'gpucode/hash-rows.h', 'gpucode/cubin.h', 'gpucode/cubin-cells.h',
        'gpucode/fatbin.h', 'gpucode/ptx-text.h', 'gpucode/code-kind.h', 'gpucode/memory-calls.h', 'gpucode/memory-calls.def', 'gpucode/object-calls.h', 'gpucode/object-calls.def', 'gpucode/code-globals.h',
        'gpucode/cuda-faults.h', 'gpucode/amd-object.h']),
    'lang': ("C's expressions over typed values: types, evaluation, showing them as gdb does", ['base']),
    'symbols': ('what addresses in host code mean, without a process: names, lines, variables, facts about ELF files, recorded stacks, GPU core dumps', [
        'base', 'lang', 'sbt', 'gpucode/amd-object.h', 'gpucode/cubin.h', 'gpucode/fatbin.h', 'gpucode/code-kind.h', 'gpucode/gpu-files.h']),
    'door': ('what libtracesmith and the tsdb that works for it say to each other', []),
    'library': ('libtracesmith: traces for other people\'s programs, behind `include/tracesmith/tracesmith.h`', ['base', 'door', 'lang', 'sbt', 'state', 'symbols']),
    'attach': ('the inferior: ptrace, calls injected into running programs, unwinding, the rings\' consumer', ['base', 'lang', 'sbt', 'symbols', 'gpucode/code-kind.h', 'capture/wire.h', 'gpucode/gpu-files.h']),
    'observe': ('a process seen from outside, by eBPF', ['base', 'sbt', 'state', 'symbols', 'attach', 'gpucode/memory-calls.h', 'gpucode/memory-calls.def', 'gpucode/object-calls.h', 'gpucode/object-calls.def']),
    'replay': ('a position in a trace, moved both ways; plans for parts of it; the client of tsdb-replayer', ['base', 'sbt', 'state', 'order', 'gpucode/code-kind.h', 'gpucode/gpu-files.h'] + SOFT_SEAM),
    'replayer': ('tsdb-replayer: executes a window on a device, in a sandbox', [
        'base', 'sbt', 'state', 'order', 'gpucode', 'replay/protocol.h', 'replay/values.h']),
    'softcore': ("what both software GPUs have: sets of accessed bytes, vector clocks, races that were found, the microscope's session", BASE_ANYWHERE + SOFT_SEAM),
    'softgpu': ('a CUDA driver, runtime and CUPTI on the CPU', BASE_ANYWHERE + ['softcore', 'capture/soft-fault.h', 'capture/soft-look.h', 'gpucode/fatbin.h', 'gpucode/fatbin-text.h', 'gpucode/code-kind.h', 'gpucode/cuda-faults.h'] + SOFT_SEAM),
    'softamd': ("a device on the CPU below AMD's own runtime: the processor of its code objects", BASE_ANYWHERE + ['softcore', 'capture/soft-fault.h', 'gpucode/amd-image.h', 'gpucode/gfx-decode.h'] + SOFT_SEAM),
    'compare': ('two traces side by side', ['base', 'sbt']),
    'squeeze': ('bytes as deflate compresses them', ['base']),
    'export': ('a trace in formats that other programs read', ['base', 'squeeze', 'sbt', 'state', 'symbols', 'gpucode/call-names.h']),
    'report': ('a trace, or two, as one HTML page; what analyses found, as facts', ['base', 'squeeze', 'sbt', 'state', 'order', 'symbols', 'compare']),
    'import': ('a trace of what another profiler recorded', ['base', 'sbt', 'state', 'symbols']),
    'engine': ('what tsdb can do, without a terminal: the live program, recording, replay, analyses, ranks and their clocks, settings', [
        'base', 'lang', 'sbt', 'state', 'order', 'replay', 'symbols', 'attach', 'observe', 'gpucode', 'capture/wire.h', 'replayer/soft-watch.h', 'replayer/soft-probe.h']),
    'numeric': ('what the commands of two traces computed, found by executing both', ['base', 'sbt', 'state', 'replay', 'replayer/soft-watch.h', 'replayer/soft-probe.h', 'engine']),
    'dap': ('the Debug Adapter Protocol for editors, over sessions of libtracesmith', ['base', 'library']),
    'studio': ('a trace and its replay in a browser: the server, between windows and a `tsdb dap`', ['base', 'dap/dap-frame.h', 'dap/dap-requests.def']),
    'shell': ('tsdb: the command line, its commands, printing', ['dap', 'studio', 'door', 'engine', 'export', 'import', 'compare', 'report', 'numeric', 'base', 'lang', 'sbt', 'state', 'order', 'replay', 'symbols', 'attach', 'observe', 'gpucode/code-kind.h', 'capture/wire.h', 'replayer/soft-watch.h', 'replayer/soft-probe.h', 'gpucode/gpu-files.h']),
}
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.M)


def sources():
    """Every source file below src/, its room, and the room's headers that it includes."""
    for folder, folders, names in os.walk('src'):
        folders.sort()
        for name in sorted(names):
            if name.endswith(('.c', '.h', '.def', '.cu', '.S')):
                path = os.path.join(folder, name)
                with open(path, encoding='utf-8') as f:
                    yield path, path.split('/')[1], INCLUDE.findall(f.read())


def wrong_include(path, room, inc):
    """Why this file may not include that header; None when it may."""
    if '/' not in inc:
        return None if inc == 'config.h' else f'{path}: "{inc}" is written without its room'
    if not inc.endswith('.inc') and not os.path.exists('src/' + inc):
        return f'{path}: there is no src/{inc}'
    other = inc.split('/')[0]
    if other == room:
        return None
    if other not in ROOMS:
        return f'{path}: {inc}: no such room'
    if inc.count('/') > 1:
        return f'{path}: {inc} is private to the room {other}'
    if other not in ROOMS[room][1] and inc not in ROOMS[room][1]:
        return f'{path}: the room {room} may not include {inc}'
    return None


def vendor_words(path, text):
    """The vendor's words in a file, with their lines; in comments and in sentences they do not count."""
    found = []

    def blank(m):
        if m[1] is not None and VENDOR_NAME.fullmatch(m[1]) and not path.endswith('.def'):
            found.append((text.count('\n', 0, m.start()) + 1, m[0]))
        return re.sub(r'[^\n]', ' ', m[0])

    headers = [(text.count('\n', 0, m.start()) + 1, m[0].strip()) for m in VENDOR_HEADER.finditer(text)]
    code = TEXT.sub(blank, text)
    found += [(code.count('\n', 0, m.start()) + 1, m[0]) for m in VENDOR_WORD.finditer(VENDOR_HEADER.sub('', code))]
    return headers + found


def wrong_vendor(path, text, includes):
    """What of a vendor's stands in this file and has its place in a vendor's drawer."""
    if VENDOR_PLACES.match(path):
        place = VENDOR_DRAWERS.match(path[len('src/'):])
        own = place[0] if place else ''
        return [f'{path}: {i} is private to its vendor' for i in includes if VENDOR_DRAWERS.match(i) and not i.startswith(own or ' ')]
    bad = [f'{path}: {i} is private to its vendor' for i in includes if VENDOR_DRAWERS.match(i)]
    words = vendor_words(path, text)
    if path in VENDOR_EXCEPTIONS:
        return bad if words else bad + [f'{path}: has no vendor\'s word any more: take it out of VENDOR_EXCEPTIONS']
    return bad + [f'{path}:{line}: {word} has its place in a vendor\'s drawer' for line, word in words]


def check_vendors():
    bad = [f'{path}: is not there: take it out of VENDOR_EXCEPTIONS' for path in VENDOR_EXCEPTIONS if not os.path.exists(path)]
    for path, _, includes in sources():
        with open(path, encoding='utf-8') as f:
            bad += wrong_vendor(path, f.read(), includes)
    return bad


def check():
    bad, names, sizes = [], defaultdict(list), defaultdict(int)
    for path, room, includes in sources():
        names[os.path.basename(path)].append(path)
        sizes[os.path.dirname(path)] += 1
        if room not in ROOMS:
            bad.append(f'{path}: no such room')
            continue
        bad += filter(None, (wrong_include(path, room, i) for i in includes))
    bad += [f'{folder}: {n} files, more than {FILES_MAX}' for folder, n in sizes.items() if n > FILES_MAX]
    bad += [f'{name} is the name of {" and ".join(paths)}' for name, paths in names.items() if len(paths) > 1]
    return bad


def table():
    lines = ['| room | what it is | doors | may use |', '| --- | --- | --- | --- |']
    for room, (what, may) in ROOMS.items():
        doors = sorted(n for n in os.listdir('src/' + room) if n.endswith('.h'))
        shown = '' if room == 'base' else ', '.join(f'`{d}`' for d in doors)
        lines.append(f'| `src/{room}` | {what} | {shown or ("all its headers" if room == "base" else "")} | {", ".join(may) or "nothing"} |')
    return '\n'.join(lines) + '\n'


def long_functions(text):
    """How many functions a file has, and the lines of each that has more than FUNCTION_MAX: from its brace to the closing one."""
    n, found, begin = 0, [], None
    for i, line in enumerate(text.split('\n')):
        if line == '{':
            begin = i
        elif line == '}' and begin is not None:
            n += 1
            found += [i - begin + 1] if i - begin + 1 > FUNCTION_MAX else []
            begin = None
    return n, found


def figures():
    """A table, a row for each room, and what counts for the whole of src/."""
    lines, doors, opened, folders = defaultdict(int), {}, defaultdict(set), defaultdict(int)
    functions, long, words = 0, [], defaultdict(int)
    for path, room, includes in sources():
        with open(path, encoding='utf-8') as f:
            text = f.read()
        lines[room] += text.count('\n')
        folders[os.path.dirname(path)] += 1
        n, found = long_functions(text)
        functions, long = functions + n, long + found
        for i in includes:
            if '/' in i and i.split('/')[0] != room:
                opened[i.split('/')[0]].add(i)
        if not VENDOR_PLACES.match(path):
            words[path] += len(vendor_words(path, text))
    for room in ROOMS:
        doors[room] = sum(n.endswith('.h') for n in os.listdir('src/' + room))
    out = ['| room | lines | largest folder | headers that others open, of doors |', '| --- | --- | --- | --- |']
    for room in ROOMS:
        largest = max(n for folder, n in folders.items() if (folder + '/').startswith(f'src/{room}/'))
        out.append(f'| {room} | {lines[room]:,} | {largest} | {sum(i.endswith(".h") for i in opened[room])} of {doors[room]} |')
    out.append('')
    out.append(f'{sum(lines.values()):,} lines; {len(long)} of {functions:,} functions have more than {FUNCTION_MAX}, the longest {max(long)}; '
               f'the largest folder has {max(folders.values())} files; {sum(words.values())} words of a vendor outside its places, in {sum(n > 0 for n in words.values())} files.')
    return '\n'.join(out) + '\n'


def in_design(text):
    """The page with the table between its marks made anew."""
    return re.sub(r'(<!-- rooms -->\n).*?(<!-- end of rooms -->)', lambda m: m[1] + table() + m[2], text, flags=re.S)


def main():
    os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), '..'))
    if sys.argv[1:] == ['--table']:
        sys.stdout.write(table())
        return 0
    if sys.argv[1:] == ['--figures']:
        sys.stdout.write(figures())
        return 0
    with open('docs/design.md', encoding='utf-8') as f:
        page = f.read()
    if sys.argv[1:] == ['--update']:
        with open('docs/design.md', 'w', encoding='utf-8') as f:
            f.write(in_design(page))
        return 0
    bad = check()
    stale = [] if in_design(page) == page else ['its table of rooms is not what scripts/check-layers.py --table prints; --update mends it']
    vendors = check_vendors()
    print('1..3')
    for n, (what, found) in enumerate((('rooms, doors and names', bad), ('docs/design.md', stale), ("vendors' words", vendors)), 1):
        for line in found:
            print('#', line)
        print('not ' * bool(found) + f'ok {n} - {what}')
    return 1 if bad or stale or vendors else 0


if __name__ == '__main__':
    sys.exit(main())
