# SPDX-License-Identifier: Apache-2.0
"""The words about the Python modules, and their sample: stubs (python/*.pyi) and docs/api.md have every public name, docstrings are there, what
the page shows runs, and `make install` installs it."""
import ast
import inspect
import os
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from e2e import BUILD, SRC, Skip, program  # noqa: E402
from pymodule import module, python  # noqa: E402
from replay import race_demo  # noqa: E402


def stub(name):
    with open(os.path.join(SRC, 'python', name), encoding='utf-8') as f:
        return {n.name if hasattr(n, 'name') else n.target.id: n for n in ast.parse(f.read()).body
                if isinstance(n, (ast.FunctionDef, ast.ClassDef, ast.AnnAssign))}


def parts(node):
    """{name: its stub} of a class."""
    return {n.name if hasattr(n, 'name') else n.target.id: n for n in node.body if isinstance(n, (ast.FunctionDef, ast.AnnAssign))}


def parameters(node):
    a = node.args
    return [x.arg for x in a.posonlyargs + a.args + ([a.vararg] if a.vararg else []) + a.kwonlyargs + ([a.kwarg] if a.kwarg else [])]


def compare(wrong, name, it, node):
    """A function or property and its stub."""
    function = it.fget if isinstance(it, property) else it
    if not inspect.getdoc(it):
        wrong.append(f'{name} has no docstring')
    if isinstance(node, ast.AnnAssign):
        if not isinstance(it, property):
            wrong.append(f'{name} is no attribute')
    elif parameters(node) != list(inspect.signature(function).parameters):
        wrong.append(f'{name}: the stub has {parameters(node)}, it is {inspect.signature(function)}')


def compare_class(wrong, name, cls, node):
    there = parts(node)
    if not cls.__doc__:
        wrong.append(f'{name} has no docstring')
    own = {n: v for n, v in vars(cls).items() if not n.startswith('_') and (inspect.isfunction(v) or isinstance(v, property))}
    for n, v in own.items():
        inherited = any(n in vars(b) for b in cls.__mro__[1:])
        if n in there:
            compare(wrong, f'{name}.{n}', v, there[n])
        elif not inherited:
            wrong.append(f'{name}.{n} has no stub')
    for n, v in there.items():
        if isinstance(v, ast.FunctionDef) and n != '__getattr__' and not hasattr(cls, n):
            wrong.append(f'{name}.{n} is in the stub only')


def differences():
    """What the stubs and the modules do not have in common; run where the module can be imported."""
    import tracesmith  # pylint: disable=import-outside-toplevel
    from tracesmith import inshell  # pylint: disable=import-outside-toplevel
    wrong = []
    there = stub('tracesmith/__init__.pyi')
    for name in tracesmith.__all__:
        it = getattr(tracesmith, name)
        if name not in there:
            wrong.append(f'tracesmith.{name} has no stub')
        elif inspect.isclass(it):
            compare_class(wrong, name, it, there[name])
        elif inspect.isfunction(it):
            compare(wrong, name, it, there[name])
    wrong += [f'tracesmith.{n} is in the stub only' for n in there if n not in tracesmith.__all__]
    there = stub('tsdb-stubs/__init__.pyi')
    shell = {n: v for n, v in vars(inshell.Shell).items() if not n.startswith('_')}
    for name, it in shell.items():
        if name not in there:
            wrong.append(f'tsdb.{name} has no stub')
        elif isinstance(there[name], ast.FunctionDef):
            there[name].args.args.insert(0, ast.arg('self'))
            compare(wrong, f'tsdb.{name}', it, there[name])
    compare_class(wrong, 'tsdb.Value', inshell.Value, there['Value'])
    wrong += [f'tsdb.{n} is in the stub only' for n in there if n not in shell and n != 'Value']
    return wrong


def test_stubs_are_current(t):
    path = module()
    code = f'import sys; sys.path[:0] = {[os.path.dirname(os.path.abspath(__file__)), os.path.join(SRC, "tests", "e2e")]!r}; import pydocs; print(*pydocs.differences(), sep="\\n")'
    r = t.run([sys.executable, '-c', code], env={'PYTHONPATH': path, 'TSDB_BUILD': BUILD, 'TSDB_SRC': SRC})
    t.equal((r.status, r.out), (0, '\n'), f'differences {r.err}')


def test_stubs_are_python(t):
    """mypy reads them, and what docs/python-module.md shows fits them; a call that does not fit is noticed."""
    mypy = shutil.which('mypy')
    if not mypy:
        raise Skip('mypy is not there')
    for package in 'tracesmith', 'tsdb':
        os.makedirs(t.path(f'stubs/{package}'))
    shutil.copy(os.path.join(SRC, 'python/tracesmith/__init__.pyi'), t.path('stubs/tracesmith'))
    shutil.copy(os.path.join(SRC, 'python/tsdb-stubs/__init__.pyi'), t.path('stubs/tsdb'))
    with open(os.path.join(SRC, 'docs', 'python-module.md'), encoding='utf-8') as f:
        page = f.read()
    for name, title in (('glance', 'At a glance'), ('wait', 'The missing wait')):
        t.executable(f'{name}.py', re.search(rf'^## {title}\n.*?^```python\n(.*?)^```$', page, re.M | re.S).group(1))
    t.executable('wrong.py', 'import tracesmith as ts\nts.open("a").replay(on=1).goto("x")\n')
    env = {'MYPYPATH': t.path('stubs')}
    r = t.run([mypy, '--strict', t.path('stubs/tracesmith/__init__.pyi'), t.path('stubs/tsdb/__init__.pyi')], env=env, timeout=120)
    t.equal(r.status, 0, r.out)
    r = t.run([mypy, '--ignore-missing-imports', 'glance.py', 'wait.py'], env=env, timeout=120)
    t.equal(r.status, 0, r.out)
    r = t.run([mypy, 'wrong.py'], env=env, timeout=120)
    t.equal((r.status, r.out.count('error:')), (1, 2), r.out)


def test_the_reference_is_current(t):
    r = t.run([sys.executable, os.path.join(SRC, 'scripts', 'api-docs'), '--check', SRC])
    t.equal((r.status, r.err), (0, ''), 'api-docs --check')


PANDAS = 'class DataFrame(dict):\n    pass\n'
ASSERTS = '''
assert len(t) == 56 and t[41].kernel == "matmul" and t[41].stack[0].file.endswith("sample.cu") and t[41].args["lr"] == 27.5
assert [x.seq for x in t.commands(kind="launch", kernel="matmul*", stream=2)] == list(range(15, 54, 2)) and c.seq == 53
assert list(df["seq"]) == list(range(1, 57)) and list(df["kernel"])[40] == "matmul"
assert t.state(41).streams[2].status in ("Running", "Waiting") and t.races()[0].tier == "certain" and not t.order.why(18, 21).ordered
assert len(a) == 64 and w.seq == 33 and w.changed, w
assert stop.why == "breakpoint" and stop.seq == 15 and any(f.function == "main" for f in stop.stack)
assert d.same and d.matched == d.a_commands
for o in t, t[41], t.columns("seq"), t.state(41), t.state(41).streams, t.races(), t.races()[0], d, t.order.why(18, 21):
    h = o._repr_html_()
    assert h.count("<table>") == h.count("</table>") > 0, o
with t.replay(on="soft") as r:
    r.goto(41); r.ask("stepi"); h = r.lanes._repr_html_(); assert h.count("<tr>") == 33, h
hostile = ts.Object({"<script>": "<b>&", "rows": [{"a": "<i>"}]})._repr_html_()
assert "<b>" not in hostile and "<i>" not in hostile and "<script>" not in hostile, hostile
print("right")
'''


def test_the_sample_runs_as_it_is_written(t):
    t.need_soft()
    path = module()
    t.copy_program(program('sample'), 'app')  # newer than its source, which has the arguments' names
    for name in 'app.sbt', 'a.sbt', 'b.sbt':
        t.equal(t.tsdb('record', '-o', name, './app').status, 0, 'record')
    with open(os.path.join(SRC, 'docs', 'python-module.md'), encoding='utf-8') as f:
        sample = re.search(r'^## At a glance\n\n```python\n(.*?)^```$', f.read(), re.M | re.S).group(1)
    t.equal(len(re.findall(r'^\S', sample, re.M)), 9, 'lines of the sample')
    if subprocess.run([sys.executable, '-c', 'import pandas'], stderr=subprocess.DEVNULL, check=False).returncode:
        t.executable('pandas.py', PANDAS)
    t.executable('sample.py', sample + ASSERTS)
    r = t.run([sys.executable, 'sample.py'], env={'PYTHONPATH': path}, timeout=120)
    t.equal((r.status, r.out), (0, 'right\n'), r.err)


SCENARIO = '''
assert (race.a.seq, race.b.seq) == (18, 21) and race.cure.startswith("cuStreamWaitEvent on stream 2 before #21"), race
assert "waits for nothing of stream 1" in t.order.why(18, 21).text
assert set(data) == {1.0} and (wrote.seq, t[18].kernel) == (18, "produce"), wrote
assert states == ["Running", "Running"], states
assert total == 54 and (stop.why, stop.command.kernel_name) == ("watchpoint", "consume"), stop
assert [wrong.state(stop.seq).streams[n].status for n in (1, 2)] == ["Idle", "Running"]
assert same.identical == same.allocations > 0, same
print("right")
'''


def test_the_missing_wait(t):
    """The scenario of docs/python-module.md, as it is written there."""
    t.need_soft()
    path = module()
    race_demo(t, 'race_demo.sbt')
    with open(os.path.join(SRC, 'docs', 'python-module.md'), encoding='utf-8') as f:
        code = re.search(r'^## The missing wait\n.*?^```python\n(.*?)^```$', f.read(), re.M | re.S).group(1)
    t.executable('scenario.py', code + SCENARIO)
    r = t.run([sys.executable, 'scenario.py'], env={'PYTHONPATH': path}, timeout=120)
    t.equal((r.status, r.out), (0, 'right\n'), r.err)


INSTALLED = '''
import tracesmith as ts, os
assert ts.__file__.startswith(os.getcwd()), ts.__file__
t = ts.open("t.sbt"); print(len(t) > 10, ts.mark("x"))
'''


def test_make_install(t):
    path = module()
    makefile = os.path.join(BUILD, 'Makefile')
    if not os.path.exists(makefile):
        raise Skip('no build folder')
    t.record('vecadd')
    stage = t.path('stage')
    what = ['tspyPROGRAMS', 'tspyDATA', 'tspystubsDATA', 'tslibPROGRAMS']
    make = ['make', '-s', '-C', BUILD, f'DESTDIR={stage}', 'prefix=/here', 'exec_prefix=/here', 'libdir=/here/lib', '-o', 'python/tracesmith/_core.abi3.so',
            '-o', 'libtracesmith.so.0']
    r = t.run([*make, *(f'install-{w}' for w in what)], env={'MAKEFLAGS': '', 'MAKELEVEL': None}, timeout=120)
    t.equal(r.status, 0, r.out + r.err)
    found = [os.path.relpath(os.path.join(d, f), stage) for d, _, files in os.walk(stage) for f in files]
    core = [f for f in found if f.endswith('_core.abi3.so')]
    t.equal(len(core), 1, 'the module')
    t.check(all(f.startswith('here/') for f in found), f'outside of the prefix: {found}')
    site = os.path.dirname(os.path.dirname(core[0]))
    for name in os.listdir(os.path.join(path, 'tracesmith')):
        if not name.startswith(('.', '_core', '__pycache__')):
            t.check(os.path.exists(os.path.join(stage, site, 'tracesmith', name)), f'{name} is not installed')
    r = t.run([sys.executable, '-B', '-c', INSTALLED], env={'PYTHONPATH': os.path.join(stage, site)})
    t.equal((r.status, r.out), (0, 'True False\n'), r.err)
    t.equal(t.run([*make, *(f'uninstall-{w}' for w in what)], env={'MAKEFLAGS': '', 'MAKELEVEL': None}).status, 0, 'uninstall')
    t.equal([f for _, _, files in os.walk(stage) for f in files], [], 'left behind')
