# SPDX-License-Identifier: Apache-2.0
"""Host stacks of Python programs, with each CPython that is found."""
import glob
import json
import os
import re
import subprocess

from e2e import SRC, Failure, Skip, program

PROGRAM = os.path.abspath(os.path.join(SRC, 'tests', 'programs', 'python_stacks.py'))
VERSIONS = ('3.11', '3.12', '3.13')


def lines():
    """{place: line number}, from the comments in the program."""
    out = {}
    with open(PROGRAM, encoding='utf-8') as f:
        for i, text in enumerate(f, 1):
            m = re.search(r'# AT (\w+)', text)
            if m:
                out[m.group(1)] = i
    return out


def interpreters(version):
    """Every CPython of that version on the machine: Debian's links it statically, others use libpython.so."""
    folders = os.environ.get('PATH', '/usr/bin').split(':') + sorted(glob.glob(os.path.expanduser('~/.pyenv/versions/*/bin')))
    found = {}
    for folder in folders:
        path = os.path.join(folder, 'python' + version)
        if not os.access(path, os.X_OK):
            continue
        p = subprocess.run([path, '-c', 'import sys, ctypes; print(sys.implementation.name, *sys.version_info[:2], sys.executable)'],
                           capture_output=True, text=True)
        words = p.stdout.split()
        if words[:3] == ['cpython'] + version.split('.'):
            found.setdefault(os.path.realpath(words[3]), words[3])
    if not found:
        raise Skip(f'there is no CPython {version}')
    return list(found.values())


def any_python(version):
    try:
        return bool(interpreters(version))
    except Skip:
        return False


AT = lines()
# What the Python frames of each launch are, innermost first: function, place.
BASE = [('main', None), ('<module>', 'module')]
EXPECT = {
    'nested': [('middle', 'middle'), ('outer', 'outer'), ('main', 'main'), ('<module>', 'module')],
    'lambda_': [('main.<locals>.<lambda>', 'lambda'), ('main', 'lambda'), ('<module>', 'module')],
    'generator': [('gen', 'gen'), ('drain', 'drain')] + BASE,
    'coroutine': [('inner_task', 'inner_task'), ('outer_task', 'outer_task')],
    'thread': [('in_thread', 'in_thread'), ('Thread.run', None)],
    'callback': [('compare', 'compare'), ('sort', 'sort')] + BASE,
    'deep': [('deep', 'bottom')] + [('deep', 'deep')] * 10 + BASE,
    'evaluated': [('<module>', 1), ('main', 'eval')],
    'executed': [('f', 2), ('<module>', 3), ('main', 'exec')],
    'method': [('Net.forward', 'forward'), ('Net.__call__', 'call')] + BASE,
    'init': [('Net.__init__', 'init')] + BASE,
    'decorated': [('decorated', 'decorated'), ('decorate.<locals>.wrapper', 'wrapper')] + BASE,
    'finalizer': [('Net.__del__', 'del'), ('main', 'delete')],
    'umlaut': [('größe', 'umlaut')] + BASE,
}


def python_frames(text):
    """{kernel: [(function, file, line)]} of `view --stacks`, the innermost Python frame (launch) left out."""
    out, kernel = {}, None
    for line in text.splitlines():
        m = re.match(r'#\d+ (\w+)<<<', line)
        if m:
            kernel = m.group(1)
            out[kernel] = []
        elif line.startswith('#'):
            kernel = None
        m = re.match(r'\s+#\d+\s+(.*) \(\) at (.*):(\d+) \(Python\)$', line)
        if m and kernel:
            out[kernel].append((m.group(1), m.group(2), int(m.group(3))))
    return out


def expect_frames(got, where):
    for kernel, want in EXPECT.items():
        frames = got.get(kernel, [])
        if not frames or frames[0][0] != 'launch' or frames[0][2] != AT['launch']:
            raise Failure(f'{where}: {kernel} was not launched by launch(): {frames}')
        for i, (function, place) in enumerate(want):
            f = frames[i + 1] if i + 1 < len(frames) else None
            line = AT[place] if isinstance(place, str) else place
            if not f or f[0] != function or (line and f[2] != line):
                raise Failure(f'{where}: frame {i + 1} of {kernel} is {f}, not {function} line {line}: {frames}')


def record_all(t, version):
    for python in interpreters(version):
        t.tsdb('record', '--gpu', t.gpu, '-o', 'py.sbt', '--', python, PROGRAM)
        expect_frames(python_frames(t.tsdb('view', '--stacks', 'py.sbt').out), python)


def test_python_311_stacks(t):
    record_all(t, '3.11')


def test_python_312_stacks(t):
    record_all(t, '3.12')


def test_python_313_stacks(t):
    record_all(t, '3.13')


def test_python_exports(t):
    """Folded stacks have the functions of Python in place of the interpreter's, among those of C (qsort calls compare), and the kernel as their leaf."""
    t.tsdb('record', '--gpu', t.gpu, '-o', 'py.sbt', '--', interpreters('3.11')[0], PROGRAM)
    r = t.tsdb('export', 'folded', 'py.sbt', '--weight', 'count', '-o', '-')
    t.match(r'of (\d+) launches \1 have a stack', r.err)
    stacks = {}
    for line in r.out.splitlines():
        names = line.rsplit(' ', 1)[0].split(';')
        stacks[re.sub(r'^\[GPU_Kernel\]|\(.*', '', names[-1])] = [re.sub(r' \([^()]*\)$', '', n) for n in names[:-1]]
    for kernel, want in EXPECT.items():
        functions = [f for f, _ in want][::-1] + ['launch']
        names = iter(stacks[kernel])
        t.check(all(any(n == f for n in names) for f in functions), f'{kernel}: {functions} in {stacks[kernel]}')
        t.check(not any(n.startswith('_PyEval') for n in stacks[kernel]), f'{kernel}: the interpreter is hidden: {stacks[kernel]}')
    names = stacks['callback']
    between = names[names.index('sort') + 1:names.index('compare')]
    t.check(any('qsort' in n for n in between), f'C lies between functions of Python: {names}')


def test_python_stop(t):
    """At a stop tsdb reads the frames itself, and finds what the agent finds."""
    for version in VERSIONS:
        try:
            found = interpreters(version)
        except Skip:
            continue
        for python in found:
            r = t.tsdb('--gpu', t.gpu, '--batch', '-ex', 'break kernel callback', '-ex', 'run', '-ex', 'bt python', '-ex', 'bt', '-ex', 'bt native',
                       '-ex', 'break kernel deep', '-ex', 'continue', '-ex', 'bt python', '-ex', 'print pyfunc', '-ex', 'print pyfile', '-ex', 'print pyline',
                       '-ex', 'print pystack', '--args', python, PROGRAM, '3000')
            top = re.findall(r'^#0 +([\w<>.]+) \(\) at (\S+):(\d+) \(Python\)', r.out, re.M)[-1]
            for name, value in ('pyfunc', f'"{top[0]}"'), ('pyfile', f'"{top[1]}"'), ('pyline', top[2]):
                t.match(rf'^{name} = {re.escape(value)}$', r.out)
            t.match(rf'^pystack = "{top[0]}" < "', r.out)
            first, second = r.out.split('Breakpoint 2, ')
            order = re.findall(r'^#\d+ +(?:0x\w+ in )?([\w<>.]+)', first, re.M)
            t.equal(order[:5], ['launch', 'compare', 'sort', 'main', '<module>'], f'{python}: bt python')
            mixed = order[5:order.index('<module>', 5) + 1]
            sorts = [x for x in mixed if 'qsort' in x]
            t.check(mixed.index('compare') < mixed.index(sorts[0]) < mixed.index('sort'), f'{python}: qsort lies between the Python frames: {mixed}')
            t.check(not any(x.startswith('_PyEval') for x in mixed), f'{python}: the interpreter is hidden')
            t.no_match(r'\(Python\)', first[first.rindex('<module>'):].split('\n', 1)[1], 'bt native')
            t.check(second.count('deep () at') > 900, f'{python}: a deep stack: {second.count("deep () at")}')


def test_python_refused(t):
    """A version that is not known: native stacks, said once."""
    for version in ('3.10', '3.9', '3.14', '3.15'):
        try:
            python = interpreters(version)[0]
            break
        except Skip:
            continue
    else:
        raise Skip('every CPython here is one that can be read')
    r = t.tsdb('record', '--gpu', t.gpu, '-o', 'py.sbt', '--', python, PROGRAM)
    t.equal(r.status, 0, 'status')
    t.equal(len(re.findall(rf'host stacks do not show the Python functions of CPython {version}[.\d]*: its version is not one of', r.both)), 1, 'said once')
    t.no_match(r'\(Python\)', t.tsdb('view', '--stacks', 'py.sbt').out)


def test_python_conditions(t):
    """Breakpoints that name Python functions: in the agent, and in a replay of what it recorded."""
    conditions = [('pystack == "Net.forward"', 'method'), ("pyfunc == 'launch' && pystack =~ 'inner_*'", 'coroutine'),
                  (f'pyline == {AT["launch"]} && pyfile == "python_stacks.py" && pystack == "compare"', 'callback'),
                  ('pystack == "größe"', 'umlaut')]
    for version in VERSIONS:
        try:
            python = interpreters(version)[0]
        except Skip:
            continue
        breaks = [x for c, _ in conditions for x in ('-ex', f'break launch if {c}')]
        go = ['-ex', 'run'] + ['-ex', 'continue'] * len(conditions)
        r = t.tsdb('--gpu', t.gpu, '--batch', *breaks, *go, '--args', python, PROGRAM)
        t.equal(sorted(re.findall(r'^Breakpoint (\d), #\d+ (\w+)<<<', r.out, re.M)), [(str(i), k) for i, (_, k) in enumerate(conditions, 1)], python)
        t.tsdb('record', '--gpu', t.gpu, '-o', 'py.sbt', '--', python, PROGRAM)
        go = ['-ex', 'replay continue'] * (len(conditions) + 1) + ['-ex', 'replay reverse-continue', '-ex', 'bt python 2', '-ex', 'bt --json']
        r = t.tsdb('--batch', '-ex', 'set replay device none', '-ex', 'replay start', *breaks, *go, 'py.sbt')
        hits = re.findall(r'^Breakpoint (\d), #\d+ (\w+)<<<', r.out, re.M)
        t.equal(sorted(hits[:4]), [(str(i), k) for i, (_, k) in enumerate(conditions, 1)], f'{python}: in the replay')
        t.equal(hits[4:], [('4', 'umlaut')], f'{python}: backwards')
        t.match(r'größe \(\) at .*python_stacks.py:%d \(Python\)' % AT['umlaut'], r.out)
        frames = json.loads(r.out[r.out.index('[{'):])
        t.equal([(f['function'], f['line']) for f in frames if f['python']][:2], [('launch', AT['launch']), ('größe', AT['umlaut'])], 'bt --json')
    r = t.tsdb('--gpu', t.gpu, '--batch', '-ex', 'break launch if pyfunc == forward')
    t.sentence(r, r'a text in "" is expected at "forward"')


def test_python_churn(t):
    """Code objects whose memory is reused, in several threads; and a sub-interpreter."""
    for version in VERSIONS:
        try:
            python = interpreters(version)[0]
        except Skip:
            continue
        r = t.tsdb('record', '--gpu', t.gpu, '-o', 'py.sbt', '--', python, os.path.join(os.path.dirname(PROGRAM), 'python_churn.py'), 'sub')
        t.equal(r.status, 0, python)
        text = t.tsdb('view', '--kernel', 'churn', '--stacks', 'py.sbt').out
        launches = re.split(r'^#\d+ churn<<<', text, flags=re.M)[1:]
        t.equal(len(launches), 1201, f'{python}: launches')
        for block in launches:
            i = int(re.match(r'\((\d+)', block)[1])
            want = (f'f{i}', 7 if i == 100000 else 3 + i % 5)
            frames = [(f, int(line)) for f, line in re.findall(r'#\d+ +(.*) \(\) at .*:(\d+) \(Python\)$', block, re.M)]
            if version == '3.11' and i == 100000:  # which of a thread's states is running cannot be told there
                want = ('sub', None)
            t.check(any(f == want[0] and want[1] in (line, None) for f, line in frames), f'{python}: {want} is not among {frames}')


def test_python_embedded(t):
    """An interpreter that is loaded privately after CUDA has started; a thread that Python did not make; after Py_Finalize."""
    tried = False
    for version in VERSIONS:
        for python in interpreters(version) if any_python(version) else []:
            lib = glob.glob(os.path.join(os.path.dirname(os.path.dirname(python)), 'lib', f'libpython{version}.so.1.0'))
            if not lib:
                continue
            tried = True
            home = {'PYTHONHOME': os.path.dirname(os.path.dirname(python))}
            r = t.tsdb('record', '--gpu', t.gpu, '-o', 'py.sbt', '--', program('embeds_python'), lib[0], env=home)
            t.equal((r.status, r.out), (0, 'done\n'), lib[0])
            text = t.tsdb('view', '--stacks', 'py.sbt').out
            for kernel, frames in (('before', []), ('embedded', [('embedded', '2'), ('<module>', '5')]),
                                   ('foreign', [('on_foreign_thread', '4'), ('<module>', '1')]), ('after', [])):
                block = re.search(rf'^#\d+ {kernel}<<<.*\n((?: +.*\n)*)', text, re.M)[1]
                t.equal(re.findall(r'#\d+ +(.*) \(\) at .*:(\d+) \(Python\)$', block, re.M), frames, f'{lib[0]}: {kernel}')
                t.match(r'embeds_launch', block)
    if not tried:
        raise Skip('no libpython was found')


RACE = '''
import ctypes
cuda = ctypes.CDLL('libcuda.so.1')
ctx, dev, a, s, t = ctypes.c_void_p(), ctypes.c_int(), ctypes.c_uint64(), ctypes.c_void_p(), ctypes.c_void_p()
cuda.cuInit(0), cuda.cuDeviceGet(ctypes.byref(dev), 0), cuda.cuDevicePrimaryCtxRetain(ctypes.byref(ctx), dev), cuda.cuCtxSetCurrent(ctx)
cuda.cuMemAlloc_v2(ctypes.byref(a), ctypes.c_size_t(4096)), cuda.cuStreamCreate(ctypes.byref(s), 1), cuda.cuStreamCreate(ctypes.byref(t), 1)

def writer():
    fill(s, 1)

def other():
    fill(t, 2)

def fill(stream, v):
    cuda.cuMemsetD32Async(a, v, ctypes.c_size_t(1024), stream)

writer()
other()
cuda.cuCtxSynchronize()
out = (ctypes.c_int * 1024)()
cuda.cuMemcpyDtoH_v2(out, a, ctypes.c_size_t(4096))
'''


def test_python_races(t):
    """A report of a race names the Python functions of both commands; so does the schedule that it saves."""
    python = next((interpreters(v)[0] for v in VERSIONS if any_python(v)), None)
    if not python:
        raise Skip('there is no CPython 3.11 to 3.13')
    with open(t.path('race.py'), 'w', encoding='utf-8') as f:
        f.write(RACE)
    t.tsdb('record', '--gpu', t.gpu, '-o', 'py.sbt', '--', python, 'race.py')
    r = t.tsdb('races', 'py.sbt')
    t.equal(r.status, 3, 'races')
    for function in ('writer', 'other'):
        t.match(rf' fill \(\) at .*race.py:15 \(Python\)\n +#\d+ +{function} \(\) at .*race.py:', r.out)
    if t.gpu == 'soft':
        t.match(r'saved as py.schedule-1.sbt', t.tsdb('explore', 'py.sbt').out)
        t.match(r' fill \(\) at .*race.py:15 \(Python\)\n +#\d+ +other \(\) at .*race.py:12 \(Python\)',
                t.tsdb('view', '--stacks', 'py.schedule-1.sbt').out)
