# SPDX-License-Identifier: Apache-2.0
"""Programs that are stuck and programs that are busy (tests/programs/hangs): what `why` says of them."""
import importlib.util
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from attach import soft_dir  # noqa: E402
from e2e import SRC, Failure, Skip, program, tsdb_path  # noqa: E402

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


# ---- asking

AFTER_READY = 0.7  # s: so long a case is left alone before why is asked, on a machine that is idle
LIMIT = 2.0  # s: so long why may take


def leave_alone(seconds=AFTER_READY):
    """In many naps: on a busy machine each takes longer, as does what the program is about to do."""
    for _ in range(round(seconds / 0.02)):
        time.sleep(0.02)


class Asked:
    """What why said: its object, and the seconds that it took."""

    def __init__(self, text, seconds):
        self.text, self.seconds = text, seconds
        self.json = next((json.loads(line) for line in text.splitlines() if line.startswith('{"answer"')), None)

    @property
    def verdict(self):
        return self.json['answer'] if self.json else 'nothing'

    def named(self):
        """The names of the nodes that why blames: those of the cycle, or the leaf."""
        a = self.json
        return [node_text(a['waiting_list'][i]) for i in a['cycle'] or ([a['leaf']] if a.get('leaf') is not None else [])]

    def reached(self):
        """The names of all nodes that a thread waits for, directly or not."""
        nodes, edges = self.json['waiting_list'], self.json['wait_list']
        found = {i for i, n in enumerate(nodes) if n['kind'] == 'thread'}
        for _ in nodes:
            found |= {e['waits_for'] for e in edges if e['waiter'] in found}
        return [node_text(nodes[i]) for i in sorted(found)]

    def edges(self):
        nodes = self.json['waiting_list']
        return [(node_text(nodes[e['waiter']]), node_text(nodes[e['waits_for']])) for e in self.json['wait_list']]


def node_text(n):
    return f'{n["kind"]}: {n["name"]}'


def fits(pattern, text):
    """Whether "kind|kind: name" fits a node's "kind: name"."""
    return re.match(rf'(?:{pattern.partition(": ")[0]}): ', text) and re.search(pattern.partition(': ')[2], text.partition(': ')[2])


def argv_of(row):
    path = os.path.join(HANGS, row.program)
    return ['python3', path, row.case] if row.program.endswith('.py') else [program(f'hangs/{row.program}'), row.case]


class Session:
    """tsdb with the program under it, typed to through a pipe."""

    def __init__(self, t, row):
        self.t = t
        self.out = open(t.path(f'{row.case}.early'), 'w+', errors='replace')
        self.p = subprocess.Popen([tsdb_path(), '-q', '--gpu', t.gpu, '--args', *argv_of(row)], cwd=t.dir, env=t.environment({'HANG_SECONDS': '300'}),
                                  stdin=subprocess.PIPE, stdout=self.out, stderr=subprocess.STDOUT, text=True, start_new_session=True)

    def text(self):
        with open(self.out.name, errors='replace') as f:
            return f.read()

    def type(self, line):
        self.p.stdin.write(line + '\n')
        self.p.stdin.flush()

    def until(self, what, begin=0, seconds=90):
        end = time.monotonic() + seconds
        while not re.search(what, self.text()[begin:], re.M):
            if self.p.poll() is not None or time.monotonic() > end:
                raise Failure(f'{what!r} did not come: {self.text()[-2000:]}')
            time.sleep(0.01)

    def answer(self, line):
        """What the screen shows of a command."""
        at = len(self.text())
        self.type(line)
        self.type('echo that is all\\n')
        self.until('^that is all', at)
        return self.text()[at:]

    def end(self):
        kill_all(self.t, self.p)
        self.out.close()


def kill_all(t, p):
    """The process, its group and all that it started: none may be left, whatever it waits for."""
    for pid in {p.pid, *t.processes()}:
        try:
            os.kill(pid, signal.SIGKILL)
        except OSError:
            pass
    p.wait(30)


def ask_early(t, row, inside=True):
    """inside=False: the software GPU is asked no more than what NVIDIA's driver would answer."""
    s = Session(t, row)
    try:
        begin = stop_when_ready(s, inside)
        return Asked(s.answer('why --json'), time.monotonic() - begin)
    finally:
        s.end()


def stop_when_ready(s, inside):
    """Returns when it was asked to stop."""
    if not inside:
        s.type('set look-inside off')
    s.type('run')
    s.until('^ready')
    leave_alone()
    begin = time.monotonic()
    s.p.send_signal(signal.SIGINT)
    s.until(r'Interrupt|SIGINT')
    return begin


def await_ready(p, path, seconds=90):
    end = time.monotonic() + seconds
    while 'ready' not in open(path, errors='replace').read():
        if p.poll() is not None or time.monotonic() > end:
            raise Failure(f'it is not ready: {open(path, errors="replace").read()}')
        time.sleep(0.01)


def ask_late(t, row, *options):
    env = {'HANG_SECONDS': '300', **({'LD_LIBRARY_PATH': soft_dir()} if t.gpu == 'soft' else {})}
    with open(t.path(f'{row.case}.late'), 'w+') as out:
        p = subprocess.Popen(argv_of(row), cwd=t.dir, env=t.environment(env), stdin=subprocess.PIPE, stdout=out, stderr=subprocess.STDOUT,
                             start_new_session=True)
        try:
            await_ready(p, out.name)
            leave_alone()
            begin = time.monotonic()
            r = t.tsdb('why', str(p.pid), *options, '--json', timeout=60)
            return Asked(r.both, time.monotonic() - begin)
        finally:
            kill_all(t, p)


def ask_job(t, row):
    """Ranks are recorded, and asked about by their traces."""
    with open(t.path(f'{row.case}.job'), 'w+') as out:
        p = subprocess.Popen([tsdb_path(), 'record', '--gpu', t.gpu, '--children', '-o', f'{row.case}.%r.sbt', '--', *argv_of(row)], cwd=t.dir,
                             env=t.environment({'HANG_SECONDS': '300', 'RANK': '0'}), stdin=subprocess.PIPE, stdout=out, stderr=subprocess.STDOUT,
                             start_new_session=True)
        try:
            await_ready(p, out.name)
            leave_alone(AFTER_READY + 0.7)  # the recorder writes what it has each 0.7 s
            begin = time.monotonic()
            r = t.tsdb('why', '--ranks', f'{row.case}.*.sbt', '--match', 'all_reduce*', '--json', timeout=60)
            return Asked(r.both, time.monotonic() - begin)
        finally:
            kill_all(t, p)


def ask_once(t, row, way):
    """Ways: early, code, late, and inside: late, with cuda-gdb, which sees what is in flight and not what is queued."""
    if way in ('late', 'inside'):
        return ask_late(t, row, *(['--inside'] if way == 'inside' else []))
    return ask_job(t, row) if row.program == 'ranks' else ask_early(t, row, inside=way != 'code')


def ask(t, row, way):
    """Who waits for Python's lock wakes up every 5 ms, and is one who runs then: "open" is right, and on a busy machine it is so for long. Asked again."""
    for _ in range(6 if getattr(row, 'kind', None) == 'GIL' else 1):
        asked = ask_once(t, row, way)
        if asked.verdict != 'open':
            break
    return asked


def judge(row, asked, way, timed=True):
    """None: as the table says; else what is wrong."""
    if asked.json is None:
        return 'it said nothing: ' + asked.text[-300:].strip().replace('\n', ' / ')
    if not hasattr(row, 'culprit'):
        return f'accused: {asked.named()}' if asked.verdict == 'stuck' else None
    open_inside = way == 'inside' and asked.verdict == 'open'
    if asked.verdict != row.verdict and not open_inside:
        return f'not called {row.verdict} but {asked.verdict}: {asked.named()}'
    named = asked.reached() if open_inside else asked.named()
    if not any(fits(row.culprit, n) for n in named):
        return f'{row.culprit!r} is not among {named}'
    edge = row.inside if open_inside and row.inside else row.late if way in ('late', 'inside') and row.late else row.edge
    if not any(fits(edge[0], a) and fits(edge[1], b) for a, b in asked.edges()):
        return f'no edge {edge[0]!r} -> {edge[1]!r} among {asked.edges()}'
    if timed and way != 'inside' and asked.seconds > LIMIT:
        return f'it took {asked.seconds:.1f} s'
    return None


# ---- some of them; make why-corpus asks about all, and how long it takes

def all_right(t, way, cases):
    rows = table()
    for row in rows.STUCK + rows.BUSY:
        if row.case in cases:
            asked = ask(t, row, way)
            wrong = judge(row, asked, way, timed=False)
            t.check(wrong is None, f'{row.case}, {way}: {wrong}')


def test_deadlocks_are_named(t):
    t.need_soft()
    all_right(t, 'early', ('values_in_a_circle', 'setter_behind_event', 'setter_on_the_legacy_stream', 'two_kernels_do_not_fit', 'host_function_needs_a_mutex',
                           'callback_calls_cuda', 'mutex_of_a_thread_that_waits_for_the_gpu', 'pipes_both_read', 'event_polled', 'gil_held_while_the_gpu_is_waited_for'))


def test_deadlocks_are_named_late(t):
    t.need_soft()
    all_right(t, 'late', ('value_never_written', 'event_polled', 'setter_behind_event', 'mutexes_in_opposite_orders', 'pipe_full'))


def test_busy_programs_are_not_accused(t):
    t.need_soft()
    all_right(t, 'early', ('long_kernel', 'setter_later_by_the_host', 'value_later_by_a_stream', 'waits_for_a_producer', 'server_polls', 'slow_child',
                           'queue_with_a_slow_worker'))


def test_busy_programs_are_not_accused_late(t):
    t.need_soft()
    all_right(t, 'late', ('kernels_take_turns', 'event_polled_slowly', 'slow_host_functions', 'very_late_rank'))


def test_a_late_answer_names_the_cure(t):
    """As on a GPU that nothing looks into: what was submitted before is not known, and that is said, with what to do. The setting holds for a child, too."""
    t.need_soft()
    for row in table().STUCK:
        if row.case not in ('flag_never_written', 'child_that_waits_for_the_gpu'):
            continue
        with open(t.path('cure.late'), 'w+') as out:
            p = subprocess.Popen(argv_of(row), cwd=t.dir, env=t.environment({'HANG_SECONDS': '300', 'LD_LIBRARY_PATH': soft_dir()}), stdin=subprocess.PIPE,
                                 stdout=out, stderr=subprocess.STDOUT, start_new_session=True)
            try:
                await_ready(p, out.name)
                leave_alone()
                for inside in ('on', 'off'):
                    said = t.tsdb('--gpu', t.gpu, '--batch', '-ex', f'set look-inside {inside}', '-ex', 'set gpu-timeout 500', '-ex', f'attach {p.pid}', '-ex', 'why',
                                  '-ex', 'detach', timeout=60).both
                    what = f'{row.case}, look-inside {inside}: {said}'
                    t.check(('run the program under tsdb, or attach before it hangs' in said) == (inside == 'off'), what)
                    t.check(('Stuck' in said) == (inside == 'on'), what)
                    t.check(('wait_flag' in said) == (inside == 'on'), what)
            finally:
                kill_all(t, p)


def test_a_late_look_starts_no_cupti(t):
    """So that GPU core dumps stay possible, and the one that can be asked for is named."""
    t.need_soft()
    pipe = t.path('corepipe')
    os.mkfifo(pipe)
    row = next(r for r in table().STUCK if r.case == 'flag_never_written')
    for variables in ({}, {'CUDA_ENABLE_USER_TRIGGERED_COREDUMP': '1', 'CUDA_COREDUMP_PIPE': pipe}):
        with open(t.path('core.late'), 'w+') as out:
            p = subprocess.Popen(argv_of(row), cwd=t.dir, env=t.environment({'HANG_SECONDS': '300', 'LD_LIBRARY_PATH': soft_dir(), **variables}),
                                 stdin=subprocess.PIPE, stdout=out, stderr=subprocess.STDOUT, start_new_session=True)
            try:
                await_ready(p, out.name)
                leave_alone()
                said = t.tsdb('why', str(p.pid), '--json', timeout=60).both
                with open(f'/proc/{p.pid}/maps') as maps:
                    t.check('libcupti' not in maps.read(), 'CUPTI was loaded')
                t.check(('--inside` says in which lines' in said) == bool(variables), f'a core dump was offered, or was not: {said[-400:]}')
            finally:
                kill_all(t, p)


def test_a_look_inside_with_cuda_gdb(t):
    """On an NVIDIA GPU: kernels in flight, their lanes and what they read, and the busy one is not accused."""
    if t.gpu == 'soft' or not shutil.which('cuda-gdb'):
        raise Skip('needs a GPU and cuda-gdb')
    all_right(t, 'inside', ('flag_never_written', 'setter_behind_event', 'grid_does_not_fit', 'mutex_of_a_thread_that_waits_for_the_gpu', 'child_that_waits_for_the_gpu',
                            'long_kernel', 'kernels_take_turns'))


# ---- by the kernels' code alone, as on a GPU that nothing can look into

def test_deadlocks_are_named_by_code(t):
    t.need_soft()
    all_right(t, 'code', ('flag_never_written', 'pinned_never_written', 'setter_behind_event', 'setter_on_the_legacy_stream', 'grid_does_not_fit',
                          'two_kernels_do_not_fit', 'communicators_in_opposite_orders', 'mutex_of_a_thread_that_waits_for_the_gpu',
                          'graph_edge_the_wrong_way', 'graph_host_node_needs_a_mutex', 'event_polled'))


def test_busy_programs_are_not_accused_by_code(t):
    t.need_soft()
    all_right(t, 'code', ('long_kernel', 'kernels_take_turns', 'setter_later_by_the_host', 'setter_later_by_a_stream', 'flag_that_was_reset',
                           'flag_reset_by_the_kernel', 'graphs_in_a_loop', 'slow_producer'))


def still_kernels(asked):
    """Kernels that only wait: what each reads, by its name. Nodes of graphs have numbers of the device's, or of the recording."""
    nodes = asked.json['waiting_list']
    return {(n['id'] if n['id'] < 1 << 63 else 0, n['name']): {nodes[e['waits_for']]['name'] for e in asked.json['wait_list'] if e['waiter'] == i and e['how'] == 'reads'}
            for i, n in enumerate(nodes) if n['kind'] == 'command' and n['moved'] == 'still'}


def test_code_agrees_with_what_is_seen(t):
    """At one stop, what the code says of kernels in flight and what their lanes are seen to do: a kernel that only waits by its code is seen to loop, and reads the
    same bytes. The other way round, the code of these kernels is clear enough, in graphs, too."""
    t.need_soft()
    seen_in_all = 0
    for row in table().STUCK + table().BUSY:
        if row.program != 'stuck_gpu' and row.case not in ('long_kernel', 'many_blocks', 'kernels_take_turns', 'setter_later_by_a_stream'):
            continue
        s = Session(t, row)
        try:
            stop_when_ready(s, True)
            seen = still_kernels(Asked(s.answer('why --json'), 0))
            s.answer('set look-inside off')
            code = still_kernels(Asked(s.answer('why --json'), 0))
        finally:
            s.end()
        for kernel, reads in code.items():
            t.check(kernel in seen, f'{row.case}: by its code {kernel} only waits, and it is not seen to: {seen}')
            t.check(kernel not in seen or reads == seen[kernel], f'{row.case}: {kernel} reads {seen.get(kernel)}, by its code {reads}')
        t.equal(sorted(code), sorted(seen), f'{row.case}: kernels that only wait, by their code')
        seen_in_all += len(seen)
    t.check(seen_in_all >= 12, f'only {seen_in_all} kernels were seen to wait: too few to compare')


def test_the_rank_that_is_missing_is_named(t):
    t.need_soft()
    all_right(t, 'early', ('missing', 'opposite_orders', 'late_rank'))


def test_ranks_that_cannot_be_compared(t):
    t.sentence(t.tsdb('why', '--ranks', 'none.*.sbt'), r'^tsdb: no file is called none\.\*\.sbt')
    t.sentence(t.tsdb('why', '--ranks'), r'^tsdb: --ranks needs a value')
    t.sentence(t.tsdb('why'), r'^tsdb: why needs a process, or the traces of a job')
