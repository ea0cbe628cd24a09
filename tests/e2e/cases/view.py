# SPDX-License-Identifier: Apache-2.0
"""What a trace shows of itself: filters of view, sums, names, tables without a terminal."""
import json
import os

import e2e


def lines(r):
    return r.out.splitlines()


def test_ranges_and_counts(t):
    """tests/programs/nvtx.cu: in "load" one launch, in each of two "step" three, one of them in "inner"; in "job" one; the others outside."""
    t.equal(t.record('nvtx').status, 0, 'record')
    t.equal([line.split()[1].split('<')[0] for line in lines(t.tsdb('view', 't.sbt', '--nvtx', 'inner', '--kind', 'launch'))], ['in_inner'] * 2, 'in inner')
    t.equal(lines(t.tsdb('view', 't.sbt', '--nvtx', 'step', '--kind', 'launch', '--count'))[0].split()[0], '6', 'in step')
    last = lines(t.tsdb('view', 't.sbt', '--nvtx', 'step', '--kind', 'launch', '--last', '2'))
    t.equal([line.split()[1].split('<')[0] for line in last], ['in_inner', 'in_step'], 'the last two in step')
    sums = json.loads(t.tsdb('--json', 'summary', 't.sbt').out)
    t.equal({r['name']: r['count'] for r in sums['by_range']}, {'step': 6, 'inner': 2, 'load': 1, 'job': 1}, 'by range')
    launches = sum(r['count'] for r in sums['by_kernel'] if 'copy' not in r['name'] and 'fill' not in r['name'])
    t.equal(launches, int(lines(t.tsdb('view', 't.sbt', '--count', '--kind', 'launch'))[0].split()[0]), 'launches')
    t.equal(sums['all']['count'], sum(r['count'] for r in sums['by_kernel']), 'all')


def test_graphs_count(t):
    """tests/programs/graphs.cu: a graph of four launches of one kernel, launched three times, then destroyed."""
    t.equal(t.record('graphs').status, 0, 'record')
    rows = json.loads(t.tsdb('summary', 't.sbt', '--json').out)['by_kernel']
    t.equal([(r['count'], r['in_graphs']) for r in rows if r['name'] == 'count'], [(0, 12)], 'summary')
    r = t.tsdb('--batch', '-ex', 'replay goto end', '-ex', 'info kernels', 't.sbt')
    t.match(r'In graphs', r.out)
    t.match(r'^2 kernels, 0 launches, 12 in graphs\.$', r.out)
    r = t.tsdb('--batch', '-ex', 'info kernels --sort time', 't.sbt')
    t.sentence(r, 'no GPU times to sort by')
    r = t.tsdb('--batch', '-ex', 'info kernels --sort bytes', 't.sbt')
    t.sentence(r, 'bytes that kernels touch are not in a trace')


def test_sums_by_time(t):
    """examples/pipeline.cu: 8 chunks, each a copy, scale and accumulate; a fill before and a copy behind."""
    t.equal(t.record('pipeline', options=['--timestamps']).status, 0, 'record')
    sums = json.loads(t.tsdb('summary', 't.sbt', '--json').out)
    t.equal({r['name']: (r['count'], r['bytes']) for r in sums['by_kernel']},
            {'scale': (8, 0), 'accumulate': (8, 0), 'copy h2d': (8, 8 * 16384), 'copy d2h': (1, 16384), 'fill': (1, 16384)}, 'by kernel')
    times = [r['gpu_ns'] for r in sums['by_kernel']]
    t.equal(times, sorted(times, reverse=True), 'sorted by time')
    t.equal(sum(times), sums['all']['gpu_ns'], 'time of all')
    sites = {r['name'].split('/')[-1]: r['count'] for r in sums['by_site']}
    t.equal(sorted(sites.values()), [1, 1, 8, 8, 8], f'call sites {sites}')
    r = t.tsdb('--batch', '-ex', 'replay goto end', '-ex', 'info kernels scale --sort time', 't.sbt')
    t.match(r'^1 kernel, 8 launches, \d+\.\d{3} ms\.$', r.out)


def test_conditions(t):
    t.equal(t.record('pipeline').status, 0, 'record')
    t.equal(lines(t.tsdb('view', 't.sbt', '--count', 'if', 'kind == launch && arg1.f32 == 2'))[0], '8 of 89 commands.', 'arg1 of scale is 2.0')
    t.equal(len(lines(t.tsdb('view', 't.sbt', 'if', 'dir == h2d', '&&', 'size', '>=', '16K'))), 8, 'copies')
    t.equal(t.tsdb('view', 't.sbt', 'if', 'grid_x > 1000').out, 'No such commands.\n', 'none')
    t.sentence(t.tsdb('view', 't.sbt', 'if', 'grd_x > 1'), 'no command has a field grd_x')
    t.sentence(t.tsdb('view', 't.sbt', 'if', 'grid_x >'), 'ends in the middle')
    t.sentence(t.tsdb('view', 't.sbt', 'if', '1 / (seq - 3)'), r'#3: division by zero')
    t.sentence(t.tsdb('view', 't.sbt', '--last', '0'), '"0" is no count')
    t.equal(json.loads(t.tsdb('view', 't.sbt', '--count', '--json', '--last', '3').out), {'count': 3, 'commands': 89}, 'as JSON')


def test_stacks_as_json(t):
    """With --stacks each command has its frames, innermost first, and the file and line where the program launched; without it none has."""
    t.equal(t.record('pipeline').status, 0, 'record')
    with open(os.path.join(e2e.SRC, 'examples/pipeline.cu'), encoding='utf-8') as f:
        line = {text.split('<<<')[0].strip(): n for n, text in enumerate(f, 1) if '<<<' in text}
    rows = [json.loads(text) for text in lines(t.tsdb('view', 't.sbt', '--json', '--stacks'))]
    launches = [r for r in rows if r['kind'] == 'launch']
    t.equal(len(launches), 16, 'launches')
    for r in launches:
        frames = r['frames']
        t.equal([f['frame'] for f in frames], list(range(len(frames))), 'numbered from the innermost')
        main = frames[-1]
        t.equal((main['function'], os.path.basename(main['file']), main['line']), ('main', 'pipeline.cu', line[r['kernel_name']]), f'#{r["seq"]}')
    t.equal([r['frames'] for r in rows if not r['stack']], [[] for r in rows if not r['stack']], 'without a stack')
    t.check(all(r['frames'] for r in rows if r['stack']), 'with one')
    plain = [json.loads(text) for text in lines(t.tsdb('view', 't.sbt', '--json'))]
    for r in rows:
        del r['frames']
    t.equal(rows, plain, 'nothing else differs')


def test_tables_are_whole_without_a_terminal(t):
    """More columns than 80 characters hold, in one table."""
    t.equal(t.record('pipeline').status, 0, 'record')
    r = t.tsdb('--batch', '-ex', 'replay goto 41', '-ex', 'info allocations', 't.sbt')
    header = t.match(r'^ *Address.*$', r.out)[0]
    t.check('Last writer' in header, header)
    t.equal(r.out.count('Address '), 1, 'tables')
