# SPDX-License-Identifier: Apache-2.0
"""The list of planted differences: programs that differ from their base in one thing, what tsdb diff has to say first, and their equal twins, which it must
not accuse. Each row was written down from the program's text (tests/programs/variants.cu, numbers.cu, decoder.cu).

On a real GPU alone can be seen: TF32 as cuBLAS does it, another split that cuBLAS chooses, sums by atomics whose order changes from run to run, and a
kernel that another version of Triton compiled. Here kernels of numbers.cu and decoder.cu do the same arithmetic: ten bits of each factor, another block,
atomics in the software GPU's order, a fused multiply-add under the same name."""
import json
import re

# Structure. (program, variant, what differs, how many commands, the command's name, the how manieth of its name it is in A, in B; None: not there)
STRUCTURE = [
    ('variants', 'removed', 'removed', 1, 'square<<<', 2, None),
    ('variants', 'extra', 'inserted', 1, 'square<<<', None, 3),
    ('variants', 'extra-copy', 'inserted', 1, 'copy d2d', None, 1),
    ('variants', 'no-wait', 'wait_gone', 1, 'stream_wait', 3, None),
    ('variants', 'no-sync', 'wait_gone', 1, 'sync ', 2, None),
    ('variants', 'wait-added', 'wait_added', 1, 'sync ', None, 2),
    ('variants', 'event', 'wait_other', 1, 'stream_wait', 4, 4),
    ('variants', 'grid', 'reshaped', 1, 'add<<<', 2, 2),
    ('variants', 'block', 'reshaped', 1, 'add<<<', 2, 2),
    ('variants', 'shared', 'reshaped', 1, 'add<<<', 2, 2),
    ('variants', 'copy-size', 'reshaped', 1, 'copy h2d', 2, 2),
    ('variants', 'fill', 'reshaped', 1, 'fill', 2, 2),
    ('variants', 'kernel', 'replaced', 1, 'square<<<', 2, 'cube<<<'),
    ('variants', 'template', 'replaced', 1, 'convert<', 2, 2),
    ('variants', 'stream', 'moved', 1, 'square<<<', 2, 2),
    ('variants', 'order', 'reordered', 1, 'add<<<', 2, 2),
    ('variants', 'record-early', 'reordered', 1, 'scale<<<', 2, 2),
    ('variants', 'graph', 'reshaped', 1, 'graph_launch', 1, 1),
    ('variants', 'steps-more', 'inserted', 26, 'fill', None, 5),
    ('variants', 'steps-less', 'removed', 13, 'fill', 4, None),
    # two tokens more are exactly the block of two tokens, in front of the last copy
    ('decoder', 'tokens', 'inserted', 14, 'attend<<<', None, 11),
    ('decoder', 'generated', 'reshaped', 5, 'fused_mul_add_0<<<', 1, 1),
]
# Numbers. (program, variant, kind of the first cause, kernel or copy of A that it is, whether B's command gives A's result from A's inputs, kernels that
# inherit it)
NUMBERS = [
    ('numbers', 'tf32', 'origin', 'product', 'stays', ['reduce', 'divide', 'shift', 'noise', 'gather', 'narrow']),
    ('numbers', 'split', 'origin', 'reduce', 'stays', ['divide', 'shift', 'noise', 'gather']),
    ('numbers', 'twice', 'arguments', 'product', 'goes', ['reduce', 'divide', 'shift', 'noise', 'gather', 'narrow']),
    ('numbers', 'seed', 'arguments', 'noise', 'goes', ['gather']),
    ('numbers', 'nan', 'arguments', 'shift', 'goes', ['noise', 'gather', 'narrow']),
    ('numbers', 'data', 'host', 'copy h2d', 'not_tried', ['product']),
    ('numbers', 'pointer', 'host', 'copy h2d', 'not_tried', ['gather']),
    ('numbers', 'global', 'structure', 'shift', 'goes', ['noise', 'gather', 'narrow']),
    ('numbers', 'removed', 'structure', 'noise', 'goes', ['gather']),
    ('numbers', 'extra', 'structure', 'noise', 'goes', ['gather']),
    ('numbers', 'extra-copy', 'structure', 'noise', 'goes', ['gather']),
    ('numbers', 'fill', 'origin', 'fill', 'not_tried', []),
    ('numbers', 'fused', 'origin', 'divide', 'stays', []),
    ('numbers', 'atomics', 'origin', 'reduce', 'stays', ['divide']),
    ('numbers', 'padded', 'origin', 'reduce', 'stays', ['divide', 'shift', 'noise', 'gather']),
    ('decoder', 'generated', 'origin', 'fused_mul_add_0', 'stays', ['attend', 'mlp', 'fused_mul_add_0']),
]
PLANTED = STRUCTURE + NUMBERS
COUNTS = ('removed', 'inserted', 'replaced', 'reshaped', 'reordered', 'other_stream', 'wait_gone', 'wait_added', 'wait_other')
TURNED = {'removed': 'inserted', 'inserted': 'removed', 'wait_gone': 'wait_added', 'wait_added': 'wait_gone'}


def record(t, prog, variant, out, memory, **env):
    t.need_software()
    r = t.record(prog, variant, out=f'{out}.sbt', options=['--memory', 'all'] if memory else [], env=env)
    t.equal(r.status, 0, f'record {prog} {variant}: {r.err}')


def diff(t, a, b, *words):
    r = t.tsdb('diff', f'{a}.sbt', f'{b}.sbt', *words, '--json')
    t.check(r.status in (0, 3), f'{a} {b}: {r.status} {r.err}')
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
    t.check(any(re.search('(variants|decoder).cu',  f['file'] or '') for f in what['frames']), f'{variant}: the host stack {what["frames"]}')


def name(command):
    return re.match(r'#\d+ (copy \w+|\w+)', command)[1]


def check_structure(t, row):
    prog, v, what, count, command, in_a, in_b = row
    field = {'moved': 'other_stream'}.get(what, what)
    status, d = diff(t, f'{prog}-base', f'{prog}-{v}')
    t.equal(status, 3, f'{v}: exit status')
    t.equal({k: d[k] for k in COUNTS if d[k]}, {field: count}, v)
    first = d['difference_list'][0]
    t.equal(first['difference'], what, v)
    if prog == 'variants' or v == 'tokens':
        t.equal((len(d['difference_list']), first['count']), (1, count), v)
    side(t, f'{prog}-base', v, first['in_a'], command, in_a)
    side(t, f'{prog}-{v}', v, first['in_b'], command, in_b)
    # and the other way round: what was inserted is removed
    t.equal({k: n for k, n in diff(t, f'{prog}-{v}', f'{prog}-base')[1].items() if k in COUNTS and n}, {TURNED.get(what, field): count}, f'{v} turned round')


def check_numbers(t, row):
    prog, v, kind, command, swapped, heirs = row
    status, d = diff(t, f'{prog}-base', f'{prog}-{v}', '--numeric')
    n = d['numbers']
    first = n['first_cause']
    t.equal((status, n['same'], n['exact'], n['pairs_unknown']), (3, False, True, 0), v)
    t.equal((first['kind'], name(first['command_a']), first['swapped']), (kind, command, swapped), f'{v}: the first cause')
    t.equal(first['seq_a'], min(f['seq_a'] for f in n['finding_list']), f'{v}: nothing differs in front of it')
    causes = [f for f in n['finding_list'] if f['kind'] != 'heir' and name(f['command_a']) != command]
    t.equal(causes, [], f'{v}: nothing else is a cause')
    inherit = [name(f['command_a']) for f in n['finding_list'] if f['seq_a'] != first['seq_a']]
    t.check(all(h in inherit for h in heirs), f'{v}: heirs {inherit}')
    # the other way round it is the same place
    turned = diff(t, f'{prog}-{v}', f'{prog}-base', '--numeric')[1]['numbers']['first_cause']
    t.equal((turned['kind'], turned['seq_a']), (kind, first['seq_b']), f'{v} turned round')


def check_twin(t, a, b, *words):
    status, d = diff(t, a, b, *words)
    t.equal((status, d['same'], d['difference_list'], d['matched']), (0, True, [], d['a_commands']), f'{a} and {b}')
    if words:
        t.equal((d['numbers']['same'], d['numbers']['finding_list'], d['numbers']['pairs_unknown']), (True, [], 0), f'{a} and {b}')


def walk(t, rows, check, *words):
    """Each row, and its twin: another run of the variant whose addresses and ids are others. The base has two twins: itself and another run."""
    bases = set()
    for row in rows:
        if row[0] not in bases:
            base = f'{row[0]}-base'
            record(t, row[0], 'base', base, bool(words))
            record(t, row[0], 'base', 'again', bool(words))
            check_twin(t, base, base, *words)
            check_twin(t, base, 'again', *words)
            bases.add(row[0])
        record(t, row[0], row[1], f'{row[0]}-{row[1]}', bool(words))
        check(t, row)
        record(t, row[0], row[1], 'twin', bool(words), OTHER_LAYOUT='1')
        check_twin(t, f'{row[0]}-{row[1]}', 'twin', *words)


def test_list(t):
    """25 and more, each once."""
    t.check(len(PLANTED) >= 25 and len({(r[0], r[1], len(r)) for r in PLANTED}) == len(PLANTED), f'{len(PLANTED)} rows')


def test_structure(t):
    walk(t, STRUCTURE, check_structure)


def test_numbers(t):
    walk(t, NUMBERS, check_numbers, '--numeric')
