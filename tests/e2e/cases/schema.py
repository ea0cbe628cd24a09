# SPDX-License-Identifier: Apache-2.0
"""Every command with --json: all that it prints is JSON, and each object has the fields of tests/json-schema, of those types; docs/json.md says which
command prints what, and has the same fields (tests/json-doc.sh)."""
import json
import os
import re
import shutil
import subprocess

from e2e import BUILD, SRC, Skip, program, tsdb_path

GEN = os.path.join(BUILD, 'tests/unit/sbt-gen')
SCHEMA = os.path.join(BUILD, 'tests/json-schema')
CORPUS = os.path.join(SRC, 'tests/fuzz/corpus/traces')
SIMPLE = {
    'number': lambda v: isinstance(v, int) and not isinstance(v, bool),
    'real': lambda v: isinstance(v, (int, float)) and not isinstance(v, bool),
    'bool': lambda v: isinstance(v, bool),
    'text': lambda v: isinstance(v, str),
    'hex': lambda v: isinstance(v, str) and re.fullmatch('0x[0-9a-f]+', v),
    'numbers by name': lambda v: isinstance(v, dict) and all(SIMPLE['number'](n) for n in v.values()),
    'entry': lambda v: SIMPLE['number'](v) or isinstance(v, str) and re.fullmatch(r'(host )?\d+(\.\d+)?', v),
}


class Schema:
    def __init__(self):
        if not os.path.exists(SCHEMA):
            raise Skip('json-schema was not built')
        self.objects, self.met = {}, set()
        for line in subprocess.run([SCHEMA], check=True, capture_output=True, text=True).stdout.splitlines():
            obj, name, kind = line.split('\t')
            self.objects.setdefault(obj, {})[name] = kind

    def fields(self, name, value):
        fields = self.objects[name]
        self.met.add(name)
        if name == 'command':
            fields = {**fields, **self.objects.get(f'command.{value.get("kind")}', {})}
            if 'rank' in value:
                fields = {**fields, **self.objects['ranked']}
                self.met.add('ranked')
        if name == 'command' and 'frames' in value:
            fields = {**fields, **self.objects['stacked']}
            self.met.add('stacked')
        return fields

    def wrong(self, kind, value, where):
        """What is wrong with a value that should be of that kind; None: nothing."""
        kinds = re.split(r' / (?![^\[]*\])', kind)
        if len(kinds) > 1:
            bad = [self.wrong(k, value, where) for k in kinds]
            return None if None in bad else '; or '.join(bad)
        if kind.endswith(' or null'):
            return None if value is None else self.wrong(kind[:-8], value, where)
        if kind.startswith('['):
            if not isinstance(value, list):
                return f'{where} is no list: {value!r}'
            return next(filter(None, (self.wrong(kind[1:-1], v, f'{where}[]') for v in value)), None)
        if kind in SIMPLE:
            return None if SIMPLE[kind](value) else f'{where} is no {kind}: {value!r}'
        if not isinstance(value, dict):
            return f'{where} is no {kind}: {value!r}'
        fields = self.fields(kind, value)
        extra = set(value) - set(fields)
        if extra:
            return f'{where} ({kind}) has {sorted(extra)}, which is not in the schema'
        for name, k in fields.items():
            if name in value:
                bad = self.wrong(k.removeprefix('optional '), value[name], f'{where}.{name}')
                if bad:
                    return bad
            elif not k.startswith('optional '):
                return f'{where} ({kind}) lacks {name}'
        return None


# What each prints, once or several times.
PRINTS = dict(re.findall(r'^\| `([^`]+)` \| ([^,|]*?)(?:, an object a line)? \|$',
                         open(os.path.join(SRC, 'docs/json.md'), encoding='utf-8').read().split('<!-- objects')[0], re.M))
TOOLS = {c[5:]: PRINTS[c] for c in PRINTS if c.startswith('tsdb ')}
SHELL = {c: PRINTS[c] for c in PRINTS if not c.startswith('tsdb ')}
# Of a running program, which the software GPU's tests of tsdb observe look at: tests/unit/test-observe-table.c.
BY_PROGRAMS = {'unwritten', 'kernel_race', 'race_side'}  # test_what_programs_show
NOT_HERE = {'wait', 'history', 'observed', 'observed_process', 'observed_frame', 'busy_kernel', 'busy_place', 'sums', 'directions', 'direction'}


def values(text):
    """Every JSON value that begins a line of the text, which must hold nothing else that begins like one."""
    at, found = 0, []
    decoder = json.JSONDecoder()
    for m in re.finditer(r'^[\[{]', text, re.M):
        if m.start() >= at:
            value, at = decoder.raw_decode(text, m.start())
            found.append(value)
    return found


class Looker:
    def __init__(self, t):
        self.t, self.schema, self.ran = t, Schema(), set()

    def judge(self, what, kind, out, least=1, note=b''):
        text = out.decode('utf-8')  # and fails where it is none
        found = values(text)
        self.t.check(len(found) >= least, f'{what} prints no JSON: {text[-300:]} {note[-600:]}')
        for value in found:
            bad = self.schema.wrong(kind, value, what)
            self.t.check(not bad, bad)

    def run(self, *argv):
        return subprocess.run([tsdb_path(), *argv], cwd=self.t.dir, env=self.t.environment(), capture_output=True, timeout=120, stdin=subprocess.DEVNULL)

    def tool(self, name, *argv, least=1):
        self.ran.add(name)
        p = self.run(name, *argv, '--json')
        self.t.check(p.returncode in (0, 1, 3), f'{name} {argv}: exit status {p.returncode}')
        self.judge(f'tsdb {name}', TOOLS[name], p.stdout, least, p.stderr)

    def shell(self, before, lines, argv=()):
        """Each line alone takes --json, behind the commands before; they are marked by echo, so that each one's output is found."""
        ex = []
        for c in [*before, *(x for i, line in enumerate(lines) for x in (f'echo @@{i}\\n', line)), f'echo @@{len(lines)}\\n']:
            ex += ['-ex', c]
        p = self.run('--gpu', 'soft', *ex, *argv)
        parts = re.split(rb'(?m)^@@\d+$', p.stdout)
        self.t.equal(len(parts), len(lines) + 2, f'parts of {p.stdout[-2000:]!r} {p.stderr[-500:]!r}')
        for line, out in zip(lines, parts[1:]):
            name = max((c for c in SHELL if line.removeprefix('--json ').startswith(c)), key=len, default=None)
            self.t.check(name, f'docs/json.md does not say what {line} prints')
            self.ran.add(name)
            self.judge(line, SHELL[name], out, note=p.stderr)


def corpus(t, name, out='t.sbt'):
    shutil.copy(os.path.join(CORPUS, name + '.sbt'), t.path(out))
    return out


def hostile(t, name, out='h.sbt'):
    if not os.path.exists(GEN):
        raise Skip('sbt-gen was not built')
    subprocess.run([GEN, 'hostile', os.path.join(CORPUS, name + '.sbt'), t.path(out)], check=True)
    return out


VIEWS = ['info streams', 'info events', 'info kernels', 'info modules', 'info allocations', 'info contexts', 'info devices', 'info graphs',
         'info threads', 'state show', 'state show stream', 'state show stream 0', 'state show event', 'state show memory', 'state show device 0',
         'info commands', 'info command', 'info trace', 'view', 'view --stacks', 'when', 'replay status', 'show', 'show env', 'show env HOME',
         'show version', 'show user', 'info display', 'info checkpoints', 'show listsize', 'show values', 'history', 'doctor', 'apropos stream', 'print seq + 1', 'whatis 1.5f', 'ptype $cmd']
VIEWS += ['view --count']


def info_of_a_trace():
    """Each `info` that lists or tells something of a trace, and needs no words."""
    with open(os.path.join(SRC, 'src/shell/line/shell-commands.def'), encoding='utf-8') as f:
        rows = re.findall(r'^COMMAND\("(info [^"]+)", "[^"]*", \w+, ([^,]*), \w+, \w+,\s*"((?:\[[^\]]*\] ?)*)"', f.read(), re.M)
    return [name for name, flags, _ in rows if 'CMD_NEEDS_TRACE' in flags and 'CMD_JSON' in flags]


# The critical path needs times of a GPU.
VIEWS += [c for c in info_of_a_trace() if c not in VIEWS and c != 'info critical-path']


def core_dump(t):
    from cases.coredump import unpacked
    return unpacked(t)


def test_every_command(t):
    t.need_soft()
    look = Looker(t)
    bare = [f'{v} --json' for v in VIEWS]
    # a hostile text in every field, paths included
    name = hostile(t, 'all_kinds')
    look.tool('doctor')
    look.tool('core', core_dump(t))
    for tool in ('info', 'view', 'races', 'summary', 'stats'):
        look.tool(tool, name)
    look.shell([f'replay start {name}', 'replay goto 20', 'alias two = print 2 +', 'display/x seq', 'checkpoint'], [*bare, 'backtrace --json'])
    odd = os.path.join(os.fsencode(t.dir), b'q"\\\x1b[31m\xff\n.sbt')
    for trace in ('race', 'unwritten', 'graphs'):
        shutil.copy(os.path.join(CORPUS, trace + '.sbt'), odd)
        for tool in ('info', 'view', 'replay', 'races', 'check', 'explore'):
            look.tool(tool, odd, *(['--no-save'] if tool == 'explore' else []))
    # what analyses find
    corpus(t, 'race')
    look.shell(['replay start t.sbt', 'replay goto 30'],
               ['races --possible --json', 'order why 18 21 --json', 'order why 18 30 --json', 'order why 3 20 --json', 'replay verify --json', 'replay check --json', 'replay explore --no-save --json', *bare])
    t.check({'race', 'party', 'frame', 'found', 'pair'} <= look.schema.met, f'races and results of exploring were met: {sorted(look.schema.met)}')
    look.tool('check', corpus(t, 'sums'), '--perturb')
    r = t.tsdb('--gpu', 'soft', 'record', '--memory', 'all', '-o', 'n.sbt', '--', program('nans'), 'two_inputs')
    t.equal(r.status, 0, r.err)
    look.tool('nan', 'n.sbt', '--inf')
    t.tsdb('--gpu', 'soft', 'record', '--memory', 'all', '-o', 'b.sbt', '--', program('nans'), 'zero_by_zero')
    look.tool('nan', 'b.sbt')
    look.shell(['replay start n.sbt --on soft'], ['nan --json'])
    for trace in ('seed-kernels', 'seed-streams'):  # which do not come out as recorded
        look.tool('replay', corpus(t, trace))
    look.tool('replay', corpus(t, 'parts'), '--stream', '0')
    look.tool('replay', corpus(t, 'bad_address'), least=0)
    # the microscope
    corpus(t, 'sums')
    seq = launch(look, 't.sbt')
    look.shell(['replay start t.sbt --on soft', f'replay goto {seq}'],
               ['info args --json', f'info accesses {seq} --json', f'diff --json {seq - 1} {seq}', f'diff --json {seq - 1} {seq} arg0 16', 'who-wrote --json arg0', 'who-wrote --json --last 3 arg0',
                'replay racecheck --json', 'when --json', 'x/4xw arg0 --json', 'find --json arg0, +4, {u8}arg0', 'x/s --json arg0', 'print arg0 --json'])
    look.shell(['replay start t.sbt --on soft', f'replay enter {seq}'],
               ['info blocks --json', 'info warps --json', 'info lanes --json', 'info registers --json', 'when --json', 'print --json %tid.x[all]', 'disassemble --json'])
    look.shell(['replay start t.sbt --on soft', 'probe *:1 count', 'probe *:1 hist lane', 'probe *:1 by blockIdx.x if lane == 0'], ['info probes --json'])
    # graphs
    corpus(t, 'graphs')
    seq = launch(look, 't.sbt', 'graph_launch')
    look.shell(['replay start t.sbt --on soft', f'replay goto {seq}.1'],
               ['info graph --json', 'info graphs --json', 'when --json', 'state show --json', 'info contexts --json'])
    # a running program
    look.shell(['break kernel scale if grid_x > 1', 'break kernel accumulate', 'capture start q.sbt', 'directory /x', 'set substitute-path /a /b', 'run'],
               ['why --json', 'progress --json', 'info breakpoints --json', 'info threads --json', 'info sharedlibrary --json', 'info signals --json', 'info signals SIGUSR1 --json',
                'info inferiors --json', 'info program --json', 'capture status --json', 'info args --json', 'info commands --json', 'backtrace --json',
                'when --json', 'state show --json', 'state show stream 1 --json', 'info command --json', 'why --json', 'frame 1 --json', 'info locals --json', 'down --json', 'up --json', 'list --json', 'info source --json',
                'info line --json', 'info line accumulate --json', 'info symbol arg0 --json', 'info symbol main --json', 'info functions ^acc --json', 'info functions main --json', 'info scope main --json', 'info frame --json',
                'show directories --json', 'show substitute-path --json'], argv=[program('pipeline')])
    # stops: a fault, a change that a watchpoint saw, a thread inside a kernel
    look.shell(['run'], ['info program --json'], argv=[program('bad_address')])
    corpus(t, 'race')
    seq = launch(look, 't.sbt', 'launch')
    look.shell(['replay start t.sbt --on soft', f'replay goto {seq}', 'watch arg0 len 64', 'goto begin', 'continue'], ['info program --json'])
    look.shell(['replay start t.sbt --on soft', f'replay enter {seq}'], ['info program --json'])
    with subprocess.Popen([program('two_streams')], stdout=subprocess.PIPE, env={**os.environ, 'LD_LIBRARY_PATH': os.path.join(BUILD, 'softgpu')}) as p:
        p.stdout.readline()
        try:
            look.tool('why', str(p.pid))
        finally:
            p.kill()
    # a set of traces
    for i in range(2):
        look.run('record', '--gpu', 'soft', '--timestamps', '-o', f'r{i}.sbt', '--', program('vecadd'))
    look.tool('info', 'r0.sbt', '--clocks')
    look.run('record', '--gpu', 'soft', '--timestamps', '-o', 'p.sbt', '--', program('pipeline'))
    look.tool('diff', 'r0.sbt', 'p.sbt')
    look.tool('diff', 'p.sbt', 'p.sbt', '--time')
    look.run('record', '--gpu', 'soft', '-o', 'v.sbt', '--', program('variants'))
    look.tool('diff', 'v.sbt', 'v.sbt', '--step', 'A:1', 'B:2')
    look.tool('diff', 'p.sbt', 'p.sbt', '--why')
    look.tool('diff', '--control', 'p.sbt', 'p.sbt', 'p.sbt', 'p.sbt')
    for variant in 'base', 'tf32':
        look.run('record', '--gpu', 'soft', '--memory', 'all', '-o', variant + '.sbt', '--', program('numbers'), variant)
    look.tool('diff', 'base.sbt', 'tf32.sbt', '--numeric')
    look.tool('diff', 'base.sbt', 'tf32.sbt', '--matters')
    look.tool('stats', 'r0.sbt')
    look.tool('report', 'r0.sbt')
    look.tool('stats', 'r0.sbt', '--critical-path')
    look.shell(['file r0.sbt'], ['info critical-path --json'])
    look.run('merge', '-o', 'set.json', 'r0.sbt', 'r1.sbt')
    look.tool('info', 'set.json')
    look.tool('view', 'set.json', '--rank', 'all')
    look.tool('diff', 'set.json', 'set.json')
    look.tool('stats', 'set.json')
    look.tool('report', 'set.json')
    odd = t.path('odd')
    os.mkdir(odd)
    subprocess.run([os.path.join(BUILD, 'bench', 'make-ranks'), odd, '9', '9', '4'], check=True)
    look.run('merge', '-o', 'odd.json', *[f'odd/r.{i:05}.sbt' for i in range(9)])
    look.tool('stats', 'odd.json')
    look.shell(['file set.json'], ['info ranks --json', 'view --rank all --json'])
    # nothing was left out
    rows = open(os.path.join(SRC, 'src/shell/line/shell-commands.def'), encoding='utf-8').read()
    t.equal(sorted(re.findall(r'^COMMAND\("([^"]+)", "[^"]*", \w+, [^"]*CMD_JSON', rows, re.M)), sorted(SHELL), 'the commands with --json')
    t.equal(sorted(set(SHELL) - look.ran), [], 'commands that were not tried')
    t.equal(sorted(set(TOOLS) - look.ran - {'observe'}), [], 'tools that were not tried')
    t.equal(sorted(o for o in set(look.schema.objects) - look.schema.met - NOT_HERE - BY_PROGRAMS if not o.startswith('command.')), [], 'objects that were not met')


def test_what_programs_show(t):
    t.need_soft()
    look = Looker(t)
    t.equal(t.record('unwritten', 'global').status, 0, 'record')
    look.tool('check', 't.sbt', '--perturb')
    t.equal(t.record('kernel_races', 'overlap').status, 0, 'record')
    look.shell(['replay start t.sbt --on soft'], ['replay racecheck --json'])
    t.equal(sorted(BY_PROGRAMS - look.schema.met), [], 'objects that were not met')


def launch(look, trace, kind='launch'):
    for value in values(look.run('view', trace, '--json').stdout.decode()):
        if value['kind'] == kind:
            return value['seq']
    return None


def test_one_name_is_one_type(t):
    """In all objects, and in all kinds of commands."""
    types = {}
    for obj, fields in Schema().objects.items():
        for name, kind in fields.items():
            kind = kind.removeprefix('optional ').removesuffix(' or null')
            kind = 'list' if kind.startswith('[') else kind
            t.equal(types.setdefault(name, (kind, obj))[0], kind, f'{name} in {obj} and {types[name][1]}')
