# SPDX-License-Identifier: Apache-2.0
"""tsdb diff: tests/programs/variants.cu makes the same four steps in variants with one difference each, in the second step. Which difference that
is, and of which command, was written down from the program's text."""
import json
import os
import re

from e2e import program

# variant: (what differs, how many commands, the command's name, the how manieth of its name it is in A, in B; None: not there)
PLANTED = {
    'removed': ('removed', 1, 'square<<<', 2, None),
    'extra': ('inserted', 1, 'square<<<', None, 3),
    'extra-copy': ('inserted', 1, 'copy d2d', None, 1),
    'no-wait': ('wait_gone', 1, 'stream_wait', 3, None),
    'no-sync': ('wait_gone', 1, 'sync ', 2, None),
    'wait-added': ('wait_added', 1, 'sync ', None, 2),
    'event': ('wait_other', 1, 'stream_wait', 4, 4),
    'grid': ('reshaped', 1, 'add<<<', 2, 2),
    'block': ('reshaped', 1, 'add<<<', 2, 2),
    'shared': ('reshaped', 1, 'add<<<', 2, 2),
    'copy-size': ('reshaped', 1, 'copy h2d', 2, 2),
    'fill': ('reshaped', 1, 'fill', 2, 2),
    'kernel': ('replaced', 1, 'square<<<', 2, 'cube<<<'),
    'template': ('replaced', 1, 'convert<', 2, 2),
    'stream': ('moved', 1, 'square<<<', 2, 2),
    'order': ('reordered', 1, 'add<<<', 2, 2),
    'record-early': ('reordered', 1, 'scale<<<', 2, 2),
    'graph': ('reshaped', 1, 'graph_launch', 1, 1),
    'steps-more': ('inserted', 26, 'fill', None, 5),
    'steps-less': ('removed', 13, 'fill', 4, None),
}
COUNTS = ('removed', 'inserted', 'replaced', 'reshaped', 'reordered', 'other_stream', 'wait_gone', 'wait_added', 'wait_other')


def record(t, *variants, options=()):
    t.need_soft()
    for v in variants:
        r = t.tsdb('--gpu', 'soft', 'record', *options, '-o', f'{v}.sbt', '--', program('variants'), v)
        t.equal(r.status, 0, f'record {v}: {r.err}')


def diff(t, a, b, *words):
    r = t.tsdb('diff', f'{a}.sbt', f'{b}.sbt', *words, '--json')
    return r.status, json.loads(r.out)


def nth(t, trace, name, seq):
    """The how manieth command of that name this is."""
    lines = t.tsdb('view', f'{trace}.sbt').out.splitlines()
    seqs = [int(line.split()[0][1:]) for line in lines if re.match(rf'#\d+ {re.escape(name)}', line)]
    return seqs.index(seq) + 1


def side(t, trace, variant, what, name, want):
    if want is None:
        t.equal(what, None, f'{variant}: {trace} has none')
        return
    if isinstance(want, str):
        name, want = want, 1
    t.match(rf'^#\d+ {re.escape(name)}', what['command_text'], variant)
    t.equal(nth(t, trace, name, what['first_seq']), want, f'{variant}: which {name} of {trace}')
    t.check(any('variants.cu' in (f['file'] or '') for f in what['frames']), f'{variant}: the host stack {what["frames"]}')


def test_planted(t):
    record(t, 'base', *PLANTED)
    for v, (what, count, name, in_a, in_b) in PLANTED.items():
        status, d = diff(t, 'base', v)
        t.equal(status, 3, f'{v}: exit status')
        field = {'moved': 'other_stream'}.get(what, what)
        t.equal({k: d[k] for k in COUNTS if d[k]}, {field: count}, v)
        first = d['difference_list'][0]
        t.equal((len(d['difference_list']), first['difference'], first['count']), (1, what, count), v)
        side(t, 'base', v, first['in_a'], name, in_a)
        side(t, v, v, first['in_b'], name, in_b)
        # and the other way round: what was inserted is removed
        turned = {'removed': 'inserted', 'inserted': 'removed', 'wait_gone': 'wait_added', 'wait_added': 'wait_gone'}
        t.equal({k: n for k, n in diff(t, v, 'base')[1].items() if k in COUNTS and n}, {turned.get(what, field): count}, f'{v} turned round')


def test_two_commands_for_one(t):
    record(t, 'base', 'fused')
    d = diff(t, 'base', 'fused')[1]
    t.equal({k: d[k] for k in COUNTS if d[k]}, {'replaced': 1, 'removed': 1}, 'fused')
    first = d['difference_list'][0]
    t.equal((first['in_a']['command_text'].split('<')[0].split()[1], first['in_b']['command_text'].split('<')[0].split()[1]), ('add', 'add_square'), 'first')


def test_the_same(t):
    """A against A, another run of A, a slower one, and one whose ids and addresses are others."""
    record(t, 'base', 'slow', 'ids')
    os.rename(t.path('base.sbt'), t.path('one.sbt'))
    record(t, 'base')
    for other in ('base', 'one', 'slow', 'ids'):
        status, d = diff(t, 'base', other)
        t.equal((status, d['same'], d['difference_list'], d['matched']), (0, True, [], d['a_commands']), f'base and {other}')
    t.match('^They are the same:', t.tsdb('diff', 'base.sbt', 'ids.sbt').out)


def test_time(t):
    """The kernel spin runs a hundred times as long."""
    record(t, 'base', 'slow', options=['--timestamps'])
    status, d = diff(t, 'base', 'slow', '--time')
    t.equal((status, d['times_known'], d['same']), (0, True, True), 'times')
    slow = next(r for r in d['time_list'] if r['name'] == 'spin')
    t.check(slow['count'] == 4 and slow['b_ns'] > 2 * slow['a_ns'] and slow['change_ns'] == slow['b_ns'] - slow['a_ns'], f'spin: {slow}')
    t.equal(sum(r['a_ns'] for r in d['time_list']), d['a_matched_ns'], 'all of it')
    for text, ok in (('structure == same', True), ('time < 1.05', False), ('time > 1.05 && structure == same', True), ('time < 1.05 && structure == same', False),
                     ('time < 1.05 || inserted == 0', True), ('structure != same || removed > 0', False)):
        t.equal(t.tsdb('diff', 'base.sbt', 'slow.sbt', '--assert', text).status, 0 if ok else 3, text)


def test_what_is_refused(t):
    record(t, 'base')
    for words, text in ((['base.sbt'], 'needs two traces'), (['base.sbt', 'base.sbt', '--time'], 'needs GPU times'),
                        (['base.sbt', 'base.sbt', '--assert', 'time < 1'], 'needs GPU times'), (['base.sbt', 'base.sbt', '--assert', 'size < 1'], 'knows no "size"'),
                        (['base.sbt', 'base.sbt', '--assert', 'inserted <'], 'cannot read'), (['base.sbt', 'base.sbt', '--assert', 'inserted < 1 x'], 'cannot read'),
                        (['base.sbt', 'none.sbt'], 'none.sbt')):
        r = t.tsdb('diff', *words)
        t.check(r.status == 1 and text in r.err, f'{words}: {r.status} {r.err}')


def test_a_part(t):
    """The second and the third step of one trace are the first and the second of it."""
    record(t, 'base')
    syncs = [int(line.split()[0][1:]) for line in t.tsdb('view', 'base.sbt', '--kind', 'sync').out.splitlines()]
    status, d = diff(t, 'base', 'base', '--range-a', f'{syncs[0] + 2}-{syncs[2]}', '--range-b', f'{syncs[1] + 2}-{syncs[3]}')
    t.equal((status, d['same'], d['a_commands']), (0, True, 26), 'two steps')


def test_threads(t):
    """Twelve threads that do nearly the same, each a launch more than the one before, in whatever order: which is which is known by how much each does."""
    t.need_soft()
    for i in (1, 2, 3):
        r = t.tsdb('--gpu', 'soft', 'record', '-o', f'{i}.sbt', '--', program('threads'))
        t.equal(r.status, 0, r.err)
    for a, b in ((1, 2), (2, 3), (1, 3)):
        status, d = diff(t, a, b)
        t.equal((status, d['same'], d['difference_list']), (0, True, []), f'{a} and {b}')
