# SPDX-License-Identifier: Apache-2.0
"""The Python module tracesmith (python/), and the C program examples/trace_reader.c, against what tsdb tells of the same traces."""
import glob
import json
import os
import re
import subprocess
import sys

from e2e import BUILD, SRC, Skip, first_existing

PYTHONS = [sys.executable, '/usr/bin/python3']


def module():
    path = os.path.join(BUILD, 'python')
    if not os.path.exists(os.path.join(path, 'tracesmith', '_core.abi3.so')):
        raise Skip('the Python module is not built')
    return path


def python(t, code, *args, interpreter=sys.executable, **kw):
    """Runs code with the module; its output."""
    r = t.run([interpreter, '-X', 'faulthandler', '-c', code, *args], env={'PYTHONPATH': module()}, **kw)
    t.equal(r.status, 0, f'python: {r.out}{r.err}')
    return r.out


def with_module(t, name):
    """An interpreter that has the module called name."""
    for interpreter in PYTHONS:
        if os.path.exists(interpreter) and subprocess.run([interpreter, '-c', f'import {name}'], stderr=subprocess.DEVNULL, check=False).returncode == 0:
            return interpreter
    raise Skip(f'{name} is not there')


def test_session_of_the_page(t):
    module()
    t.record('race_demo', out='race_demo.sbt')
    with open(os.path.join(SRC, 'docs', 'python-module.md'), encoding='utf-8') as f:
        page = f.read()
    blocks = re.findall(r'^```pycon\n(.*?)^```$', page, re.M | re.S)
    t.equal(len(blocks), 5, 'sessions of the page')
    with open(t.path('page.txt'), 'w', encoding='utf-8') as f:
        f.write('\n\n'.join(blocks))
    out = python(t, 'import doctest; print(doctest.testfile("page.txt", module_relative=False))')
    t.match(r'TestResults\(failed=0, attempted=2\d\)', out)


FIELDS = '''
import json, sys, tracesmith as ts
t = ts.open("t.sbt")
seen = 0
for line in open("view.json"):
    want = json.loads(line)
    c = t[want["seq"]]
    assert c.kind == want["kind"]
    for name, expected in want.items():
        v = c.kind if name == "kind" else c.fields[name]
        told = [v.hex()] if isinstance(v, bytes) else [v] if isinstance(v, str) else [v, hex(v), bool(v)] + [None] * (v == ts.NO_ID)
        assert expected in told, (want["seq"], name, expected, told)
    seen += 1
assert seen == len(t) == len(list(t)) > 50
print("same")
'''


def test_every_field_is_what_tsdb_tells(t):
    module()
    t.record('pipeline')
    with open(t.path('view.json'), 'w', encoding='utf-8') as f:
        f.write(t.tsdb('view', '--json', 't.sbt').out)
    t.equal(python(t, FIELDS), 'same\n', 'fields')


COLUMNS = '''
import tracesmith as ts
t = ts.open("t.sbt")
names = "seq", "kind", "kernel", "stream", "grid_x", "dir", "priority", "kernel_id", "host_ns"
filters = {}, {"kind": "launch"}, {"kernel": "*sca*"}, {"stream": 1}, {"condition": "grid_x > 1"}, {"first": 20, "last": 40}
for f in filters:
    rows = list(t.commands(**f))
    c = t.columns(*names, **f)
    assert c.rows == len(rows) and all(len(v) == c.rows for v in c.values())
    for i, r in enumerate(rows):
        for n in names:
            none = None if n in ("kind", "kernel", "dir") else ts.MISSING_SIGNED if n == "priority" else ts.MISSING
            try:
                want = r.fields["kernel_name"] if n == "kernel" and "kernel_name" in r.fields else getattr(r, n)
            except AttributeError:
                want = none
            assert c[n][i] == want, (f, r, n, c[n][i], want)
assert 0 < len(list(t.commands(kind="launch"))) < len(t)
assert [c.seq for c in t[20:23]] == [20, 21, 22] and t[-1].seq == t.last_seq and t[:2] == [t[1]]
m = memoryview(t.columns("seq")["seq"])
assert m.format == "Q" and m.readonly and m.tolist() == [c.seq for c in t]
print("same")
'''


def test_columns_are_what_commands_are(t):
    module()
    t.record('pipeline')
    t.equal(python(t, COLUMNS), 'same\n', 'columns')


REFUSED = '''
import tracesmith as ts
t = ts.open("t.sbt")
def refused(what, code, f, *a, **k):
    try:
        f(*a, **k)
    except what as e:
        assert getattr(e, "code", code) == code and str(e), (e, code)
        return
    raise SystemExit(f"not refused: {f} {a} {k}")
refused(ts.Error, "system", ts.open, "/nowhere/at/all")
refused(ts.Error, "bad trace", ts.open, __import__("os").__file__)
refused(ts.Error, "not found", t.columns, "lunch")
refused(ts.Error, "usage", t.columns, "args")
refused(ts.Error, "not found", t.commands, kind="lunch")
refused(ts.Error, "usage", t.commands, condition="grid_x >")
refused(IndexError, None, t.__getitem__, 0)
refused(IndexError, None, t.__getitem__, 10**30)
refused(IndexError, None, t.__getitem__, -10**30)
refused(ValueError, None, t.__getitem__, slice(1, 5, 2))
refused(AttributeError, None, getattr, t[1], "grid_x")
refused(TypeError, None, ts.open, 5)
refused(TypeError, None, ts._core.Trace)
refused(ValueError, None, ts.fields, "lunch")
with t:
    launch = next(t.commands(kind="launch"))
    commands, column, state = iter(t), t.columns("seq")["seq"], t.state(t.last_seq)
    next(commands)
for f in (lambda: next(commands), lambda: launch.stack, lambda: launch.args, lambda: t[1], lambda: t.state(1), lambda: t.columns("seq"), lambda: t.damage):
    refused(ValueError, None, f)
t.close()
del t
assert launch.grid and column[0] == 1 and len(state.streams) and "<table>" in state._repr_html_()
refused(TypeError, None, lambda: __import__("ctypes").c_char.from_buffer(column))
print("refused")
'''


def test_what_cannot_be_is_an_exception(t):
    module()
    t.record('pipeline')
    t.equal(python(t, REFUSED), 'refused\n', 'refusals')


HOSTILE = '''
import random, sys, tracesmith as ts
def read(path):
    with ts.open(path) as t:
        t.meta, t.damage, repr(t), t._repr_html_()
        for c in t:
            repr(c), c._repr_html_(), c.stack, c.args, c.mangled
        t.columns("seq", "kind", "kernel", "gpu_ns", "dir", "priority", "stream")
        for seq in (t.first_seq, t.last_seq, (t.first_seq + t.last_seq) // 2):
            s = t.state(seq)
            repr(s), s._repr_html_(), s.graphs, s.kernels, s.threads
            for a in s.allocations.values():
                repr(a)
seen = {}
for path in sys.argv[1:]:
    data, r = open(path, "rb").read(), random.Random(path)
    for case in range(6):
        changed = bytearray(data)
        for _ in range(case):
            changed[r.randrange(len(changed))] = r.randrange(256)
        open("changed.sbt", "wb").write(changed[:r.randrange(len(changed))] if case == 5 else changed)
        try:
            read("changed.sbt")
            seen["read"] = seen.get("read", 0) + 1
        except ts.Error as e:
            assert str(e)
            seen["refused"] = seen.get("refused", 0) + 1
assert seen["read"] and seen["refused"], seen
print("alive")
'''


def test_hostile_traces_are_exceptions(t):
    module()
    traces = sorted(glob.glob(os.path.join(SRC, 'tests/fuzz/corpus/traces/*.sbt')))
    if not traces:
        raise Skip('no corpus of traces')
    t.equal(python(t, HOSTILE, *traces, timeout=240), 'alive\n', 'hostile traces')


THREADS = '''
import gc, threading, tracesmith as ts
t = ts.open("t.sbt")
want = [c.seq for c in t]
wrong = []
def work(n):
    try:
        for i in range(30):
            if n % 2:
                got = t.columns("seq", "kernel")["seq"]
                ok = memoryview(got).tolist() == want
            else:
                half = iter(t)
                next(half)
                ok = [c.seq for c in t] == want and t.state(want[i]).streams is not None
            if not ok:
                wrong.append(n)
    except BaseException as e:
        wrong.append(e)
gc.set_threshold(5)
threads = [threading.Thread(target=work, args=(n,)) for n in range(6)]
[x.start() for x in threads]; [x.join() for x in threads]
assert not wrong, wrong
# closing while others read: each gets its answer or ValueError
def until_closed():
    try:
        while True:
            t.columns("seq"), list(t.commands(kind="launch")), t[20].stack
    except ValueError:
        pass
    except BaseException as e:
        wrong.append(e)
threads = [threading.Thread(target=until_closed) for n in range(4)]
[x.start() for x in threads]; t.close(); [x.join() for x in threads]
assert not wrong, wrong
print("right")
'''


def test_threads_share_a_trace(t):
    module()
    t.record('pipeline')
    t.equal(python(t, THREADS, timeout=240), 'right\n', 'threads')


NUMPY = '''
import numpy, tracesmith as ts
t = ts.open("t.sbt")
c = t.columns("seq", "kernel", "priority")
a = numpy.asarray(c["seq"])
assert a.dtype == "uint64" and not a.flags.writeable and a.tolist() == [x.seq for x in t]
assert a.__array_interface__["data"][0] == numpy.asarray(memoryview(c["seq"])).__array_interface__["data"][0]
assert numpy.asarray(c["priority"]).dtype == "int64"
names = numpy.asarray(c["kernel"])
assert names.dtype == object and names.tolist() == list(c["kernel"]) and None in names.tolist()
del c, t
assert a[0] == 1
print("numpy")
'''
PANDAS = '''
import pandas, tracesmith as ts
t = ts.open("t.sbt")
d = pandas.DataFrame(t.columns("seq", "kernel", "stream", kind="launch"))
want = [(c.seq, c.kernel, c.stream) for c in t.commands(kind="launch")]
assert list(d.itertuples(index=False, name=None)) == want and len(want) > 3
assert sorted(d.groupby("kernel").size()) and str(d.dtypes["seq"]) == "uint64"
print("pandas")
'''


def test_numpy_shares_memory(t):
    interpreter = with_module(t, 'numpy')
    t.record('pipeline')
    t.equal(python(t, NUMPY, interpreter=interpreter), 'numpy\n', 'numpy')


def test_pandas_takes_columns(t):
    interpreter = with_module(t, 'pandas')
    t.record('pipeline')
    t.equal(python(t, PANDAS, interpreter=interpreter), 'pandas\n', 'pandas')


def test_every_public_name_is_described_and_typed(t):
    code = '''
import tracesmith as ts
for n in ts.__all__:
    o = getattr(ts, n)
    assert isinstance(o, int) or o.__doc__, n
    if isinstance(o, type):
        for m, f in vars(o).items():
            assert m.startswith("_") or not (callable(f) or isinstance(f, property)) or f.__doc__, (n, m)
print("\\n".join(ts.__all__))
'''
    names = python(t, code).split()
    with open(os.path.join(SRC, 'python/tracesmith/__init__.pyi'), encoding='utf-8') as f:
        stub = f.read()
    for n in names:
        t.match(rf'^(class {n}\b|def {n}\(|{n}:)', stub, f'__init__.pyi, {n}')


def test_pip_installs_it_without_network(t):
    module()
    interpreter = with_module(t, 'setuptools, pip, wheel')
    tree = t.path('tree')
    os.makedirs(tree)
    for name in ('python', 'include', 'configure.ac'):
        t.run(['cp', '-r', os.path.join(SRC, name), tree])
    r = t.run([interpreter, '-m', 'pip', 'install', '--no-index', '--no-build-isolation', '--no-deps', '--target', t.path('site'), './tree/python'],
              env={'TRACESMITH_BUILD': BUILD, 'PIP_DISABLE_PIP_VERSION_CHECK': '1'}, timeout=240)
    t.equal(r.status, 0, f'pip: {r.out}{r.err}')
    t.check(os.path.exists(t.path('site/tracesmith/libtracesmith.so.0')), 'the library is in the package')
    t.record('vecadd')
    r = t.run([interpreter, '-c', 'import tracesmith as ts; print(ts.__file__, len(ts.open("t.sbt")) > 5)'], env={'PYTHONPATH': t.path('site')})
    t.match(r'site/tracesmith/__init__.py True', r.out)


def test_the_example_is_c_and_cxx(t):
    library = first_existing(os.path.join(BUILD, 'libtracesmith.so.0'), os.path.join(BUILD, 'lib', 'libtracesmith.so.0'))
    header = os.path.join(SRC, 'include')
    if not library or not os.path.isdir(header):
        raise Skip('libtracesmith or its header is not there')
    t.record('race_demo')
    out = {}
    for compiler, language in (('cc', 'c'), ('c++', 'c++')):
        if t.run(['sh', '-c', f'command -v {compiler}']).status:
            raise Skip(f'no {compiler}')
        r = t.run([compiler, '-Wall', '-Wextra', '-Werror', f'-I{header}', '-x', language, os.path.join(SRC, 'examples/trace_reader.c'), '-x', 'none', library,
                   f'-Wl,-rpath,{os.path.dirname(library)}', '-o', t.path('reader')])
        t.equal(r.status, 0, f'{compiler}: {r.err}')
        out[language] = t.run([t.path('reader'), 't.sbt', 'consume']).out
    t.equal(out['c'], out['c++'], 'C and C++')
    t.equal(len(re.findall(r'^#\d+ consume float \* \w+=0x[0-9a-f]+ const float \* \w+=0x[0-9a-f]+ int \w+=1024 from main:\d+$', out['c'], re.M)), 10, out['c'])
    t.match(r'^produce: 10 launches\nconsume: 10 launches$', out['c'])
    t.match(r'^stream 0: Idle\nstream 1: \w+\nstream 2: \w+$', out['c'])


def test_states_are_what_tsdb_tells(t):
    module()
    t.record('pipeline')
    for seq in (20, 40):
        want = json.loads(t.tsdb('--batch', '-ex', 'file t.sbt', '-ex', 'replay start none', '-ex', f'replay goto {seq}',
                                 '-ex', 'state show --json').out.splitlines()[-1])
        code = f'''
import json, tracesmith as ts
s = ts.open("t.sbt").state({seq})
print(json.dumps([json.loads(s._core.json(n)) for n in ("streams", "events", "allocations", "kernels")]))
'''
        got = json.loads(python(t, code))
        t.equal(got, [want[f'{n}_list'] for n in ('stream', 'event', 'allocation', 'kernel')], f'state at {seq}')
