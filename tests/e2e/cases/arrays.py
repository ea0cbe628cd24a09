# SPDX-License-Identifier: Apache-2.0
"""CUDA arrays, textures and surfaces: recorded as memory and objects, executed again, compared, looked for races in."""
import json
import os
import re

W, H, LAYERS = 64, 16, 3
HOST = [i % 97 for i in range(LAYERS * W * H)]


def between(rows):
    """What the kernel of that name adds up to: half way between a texel and the next one, which at the edge is itself."""
    return sum((r[x] + r[min(x + 1, W - 1)]) / 2 for r in rows for x in range(W))


ROWS = [HOST[y * W:(y + 1) * W] for y in range(H)]
SHIFTED = [HOST[y * W + 1:(y + 1) * W + 1] for y in range(H - 1)] + ROWS[-1:]


BY_DRIVER = {'TSDB_REPLAYER_TEXTURES': 'driver'}


def ways(t):
    """How objects come back: on the software GPU by handle, and also as with every other driver; on a GPU only so."""
    return [None, BY_DRIVER] if t.gpu == 'soft' else [None]


def recorded(t, how, *also):
    r = t.record('arrays', *([how] if how else []), *also)
    t.equal(r.status, 0, f'record {how}')
    t.no_match('not replayable', r.err)
    return r


def lines(t, trace='t.sbt'):
    return t.tsdb('view', trace).out


def seq(t, pattern, which=0):
    found = re.findall(rf'^#(\d+) {pattern}', lines(t), re.M)
    t.check(len(found) > which, f'no {pattern} in the trace')
    return int(found[which])


def test_arrays_are_replayed(t):
    r = recorded(t, '')
    doubled = [2 * x for x in ROWS[2]]
    t.equal(r.out.splitlines()[:5],
            [f'between: {between(ROWS):.1f}', f'doubled: {2 * HOST[1]} {2 * HOST[W * H - 1]}', f'held: {sum(doubled)}',
             f'layers: {sum(HOST[k * W * H + x] for k in range(LAYERS) for x in range(W))}', f'pitched: {between(ROWS):.1f}'], 'what the program computes')
    held = seq(t, 'held')
    for env in ways(t):
        r = t.tsdb('replay', '--json', 't.sbt', env=env)
        t.equal(r.status, 0, f'replay: {r.out}{r.err}')
        w = json.loads(r.out)['windows'][0]
        t.equal((w['outputs'], w['outputs_identical'], w['allocations'], w['identical']), (5, 5, 5, 5), 'compared')
        t.equal(t.tsdb('check', 't.sbt', '3', env=env).status, 0, 'check')
        t.equal(t.tsdb('explore', 't.sbt', env=env).status, 0, 'explore')
        # A handle that lies in memory is found by a part of the window, too.
        t.equal(t.tsdb('replay', '--range', f'{held}-{held}', 't.sbt', env=env).status, 0, 'one launch and what it needs')
        t.equal(t.tsdb('replay', '--touched', 't.sbt', env=env).status, 0, 'what is named alone')
    if t.gpu == 'soft':
        r = t.tsdb('races', '--exact', 't.sbt')
        t.equal((r.status, r.out.splitlines()[0]), (0, 'No races in 41 commands.'), 'races')
    r = t.tsdb('extract', 't.sbt', '--kernel', 'between', '-o', 'ex')
    t.equal(r.status, 1, 'extract')
    t.sentence(r, 'is a texture or surface object, which cannot be extracted')


def test_a_texel_that_differs_is_seen_by_kernels(t):
    """A bit of the array is inverted behind the copy into it: what the texture's kernel computes differs, so kernels fetch what is replayed there."""
    recorded(t, '')
    copy = seq(t, r'copy h2d .* -> 0x28')
    for env in ways(t):
        r = t.tsdb('replay', '--json', 't.sbt', env={**(env or {}), 'TSDB_REPLAYER_FLIP': f'{copy}:280000000007'})
        t.equal(r.status, 3, f'replay: {r.err}')
        w = json.loads(r.out)['windows'][0]
        t.check(w['outputs_identical'] < w['outputs'], 'an output differs')


def test_streams_do_not_overlap_around_arrays(t):
    """Where arrays are brought to the device around each launch, that order is not given up silently."""
    recorded(t, 'race')
    for env in ways(t):
        if env or t.gpu != 'soft':
            r = t.tsdb('--batch', '--no-init', '-ex', 'set replay order concurrent', '-ex', 'replay start', '-ex', 'replay goto end', 't.sbt', env=env)
            t.equal(r.status, 1, 'concurrent')
            t.sentence(r, 'streams cannot overlap where kernels may use textures or surfaces of arrays')


def test_windows_begin_with_arrays(t):
    """What arrays hold when a window begins is recorded, and the objects that are alive then are made again."""
    for memory in 'all', 'touched':
        for first, last in (12, 23), (18, 19), (13, 36), (21, 35), (24, 40):
            r = t.session('arrays', f'set capture memory {memory}', f'capture window seq {first}-{last}', 'run', 'continue')
            t.equal(r.status, 0, f'window {first}-{last}')
            for env in ways(t):
                r = t.tsdb('replay', '--verify', 'arrays.sbt', env=env)
                t.equal(r.status, 0, f'replay of {first}-{last}, {memory}: {r.out}{r.err}')
            os.unlink(t.path('arrays.sbt'))


def test_going_back_over_a_handle(t):
    """The same handle is an object of one array first and of another later: each launch has its own, also on the way back."""
    t.need_soft()
    recorded(t, '')
    first, held = seq(t, 'between'), seq(t, 'held')
    handles = re.findall(r'^#\d+ texture_create texture (\d+) (?!surface)', lines(t), re.M)
    t.equal(handles, ['0', '2', '3', '4'], 'textures')
    ex = ['replay start', f'replay goto {held}', 'x/2fw 0x302000000', f'replay goto {first}', 'x/2fw 0x302000000', f'replay goto {held}', 'x/2fw 0x302000000']
    for env in ways(t):
        r = t.tsdb('--batch', '--no-init', *[x for c in ex for x in ('-ex', c)], 't.sbt', env=env)
        t.equal(re.findall(r'^0x302000000:\s+(\S+)\s+(\S+)', r.out, re.M), [('62', '64'), ('0.5', '1.5'), ('62', '64')], 'what the launches wrote')


def test_a_graph_copies_into_an_array(t):
    r = recorded(t, 'graph')
    t.match(rf'^graph: {between(SHIFTED):.1f}$', r.out)
    for env in ways(t):
        r = t.tsdb('replay', '--verify', 't.sbt', env=env)
        t.equal(r.status, 0, r.out + r.err)
        t.match('1 of 1 outputs identical', r.out)
        t.equal(t.tsdb('check', 't.sbt', '3', env=env).status, 0, 'check')


def test_a_race_about_an_array(t):
    """One stream copies into the array, another fetches from it. An event between them is the cure."""
    t.need_soft()
    recorded(t, 'race')
    copy, fetch = seq(t, 'copy d2d'), seq(t, 'between')
    r = t.tsdb('races', '--exact', 't.sbt')
    t.equal(r.status, 3, 'races')
    # from texel 1 on to the last one of the row: the fetch of texel 0 is at x = 0.5 + 0.5
    t.match(rf'^Race 1 \(certain\): #{copy} and #{fetch} both touch \d+ bytes at 0x28', r.out)
    r = t.tsdb('explore', 't.sbt')
    t.equal(r.status, 3, 'explore')
    t.match(rf'^Result 1: another one, because #{copy} and #{fetch} are unordered', r.out)
    recorded(t, 'ordered')
    t.equal(t.tsdb('races', '--exact', 't.sbt').status, 0, 'with the event')
    t.equal(t.tsdb('explore', 't.sbt').status, 0, 'and no other order')
