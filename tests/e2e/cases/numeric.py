# SPDX-License-Identifier: Apache-2.0
"""tsdb diff --numeric: variants of tests/programs/numbers.cu, each with one difference. The differences that have to be found are in planted.py."""
import json
import re

# Equal numbers: another layout of memory, another stream, a wait less, arguments the other way round where that is no difference.
EQUAL = ['order', 'ids', 'padding', 'stream', 'no-wait', 'swapped']


def record(t, *variants, names=None):
    t.need_software()
    for v in variants:
        r = t.record('numbers', v, out=f'{names or v}.sbt', options=['--memory', 'all'])
        t.equal(r.status, 0, f'record {v}: {r.err}')


def numbers(t, a, b, *words):
    r = t.tsdb('diff', f'{a}.sbt', f'{b}.sbt', '--numeric', *words, '--json')
    t.check(r.status in (0, 3), f'{a} {b}: {r.status} {r.err}')
    return r.status, json.loads(r.out)['numbers']


def name(command):
    return re.match(r'#\d+ (copy \w+|\w+)', command)[1]


def test_equal(t):
    """A against A, another run of A, and variants with the same numbers."""
    record(t, 'base', *EQUAL)
    record(t, 'base', names='again')
    for v in ['base', 'again', *EQUAL]:
        status, n = numbers(t, 'base', v, '--assert', 'numeric == same')
        t.equal((status, n['same'], n['finding_list'], n['same_pairs']), (0, True, [], n['compared_pairs']), v)
        t.equal((n['compared_pairs'], n['pairs_unknown'], n['pairs_outside'], n['start_list']), (13, 0, 0, []), f'{v}: all were compared')
    # the table of pointers, written by the program and read by the kernel, and nothing else
    # HIP's runtime gives the same addresses
    t.equal([numbers(t, 'base', v)[1]['pointer_words'] for v in ('again', 'ids')], [0, 4 if t.gpu == 'soft' else 0], 'addresses in memory')


def test_not_deterministic(t):
    """A kernel that writes the time, and one that reads that: no difference of the two runs. A difference beside it is found."""
    record(t, 'clock')
    status, n = numbers(t, 'clock', 'clock')
    t.equal((status, n['same'], n['unsteady'], n['heirs'], n['first_cause']), (0, True, 1, 1, None), 'the clock')
    t.equal([name(f['command_a']) for f in n['finding_list']], ['stamp', 'since'], 'what it is')
    t.check(n['finding_list'][0]['own_largest'] > 0, 'by how much it differs from itself')
    record(t, 'base')
    status, n = numbers(t, 'base', 'clock')
    t.equal((n['same'], n['alone_b']), (True, 2), 'what only one has is no difference of numbers')


def test_values(t):
    """How far the results lie apart: by hand, from the program's text."""
    record(t, 'base', 'data', 'nan', 'tf32')
    one = numbers(t, 'base', 'data', '--as', 'f32')[1]['first_cause']['memory_list'][0]
    t.equal((one['type'], one['elements'], one['of_elements'], one['ulp'], one['at_offset']), ('f32', 1, 256, 1, 77 * 4), 'a weight is one ULP larger')
    weight = 2 - 77 * 53 % 97 / 128
    t.check(abs(float(one['value_a']) - weight) < 1e-6 and one['largest'] == 2 ** -23, f'the weight: {one}')
    shift = numbers(t, 'base', 'nan')[1]['first_cause']['memory_list'][0]
    t.equal((shift['type'], shift['nan_a'], shift['nan_b']), ('f32', 0, 256), 'NaN is born')
    r = t.tsdb('diff', 'base.sbt', 'tf32.sbt', '--numeric')
    t.match(r'Where the numbers part: it read the same in both, and wrote other bytes\n  A: #\d+ product<<<', r.out)
    t.match(r'\d+ of 256 f32, at most by .*, relative .* ULP; the largest is element \d+: ', r.out)
    t.match(r"Proved: given A's inputs, B's command still does not give A's result", r.out)
    product = numbers(t, 'base', 'tf32')[1]['first_cause']['memory_list'][0]
    # each factor is off by half a unit of its tenth bit at most
    t.check(0 < product['relative'] < 2 * 2 ** -11 * 1.01, f'ten bits: {product}')


def test_what_is_refused(t):
    record(t, 'base')
    r = t.record('numbers', out='bare.sbt', options=['--memory', 'none'])
    t.equal(r.status, 0, r.err)
    for words, text in ((['base.sbt', 'bare.sbt', '--numeric'], 'bare.sbt holds no memory contents'), (['base.sbt', 'base.sbt', '--numeric', '--on', 'none'], 'which --on none does not'),
                        (['base.sbt', 'base.sbt', '--numeric', '--as', 'f8'], 'no type "f8"'), (['base.sbt', 'base.sbt', '--as', 'f32'], 'are for --numeric'),
                        (['base.sbt', 'base.sbt', '--assert', 'numeric == same'], 'Add --numeric')):
        r = t.tsdb('diff', *words)
        t.check(r.status == 1 and text in r.err, f'{words}: {r.status} {r.err}')


def matters(n):
    return {name(f['command_a']): f['matters'] for f in n['finding_list']}


def test_matters(t):
    """What A's own results move by when its inputs move by one ULP. By hand: a product of two factors that each move by one ULP moves by one to five, TF32 is up to
    8192 off; one weight that is one ULP larger is nothing; a sum by another order is off by few ULP. NaN always matters."""
    record(t, 'base', 'tf32', 'data', 'split', 'nan')
    status, n = numbers(t, 'base', 'tf32', '--matters')
    product = n['first_cause']['memory_list'][0]
    t.equal((status, n['spread_seeds'], matters(n)['product'], n['first_cause']['matters']), (3, 8, 'yes', 'yes'), 'TF32')
    t.equal((n['first_cause']['kind'], n['exact'], n['pairs_unknown']), ('origin', True, 0), 'what a launch reads is known, and its arguments are no memory')
    t.check(1 <= product['spread_ulp'] <= 5 and 0 < product['spread'] <= 5 * 2 ** -21, f'what a product moves by: {product}')
    # 256 numbers in, 256 weights, the offset; zero, which out is filled with, is none
    t.equal(n['moved_elements'], 513, 'inputs')
    n = numbers(t, 'base', 'data', '--matters')[1]
    t.equal((matters(n)['product'], matters(n)['divide']), ('no', 'no'), 'one ULP of one weight')
    n = numbers(t, 'base', 'split', '--matters')[1]
    t.check(n['first_cause']['memory_list'][0]['ulp'] <= 2 and matters(n)['reduce'] == 'no', f'another order: {n["first_cause"]}')
    t.equal(matters(numbers(t, 'base', 'nan', '--matters')[1])['shift'], 'yes', 'NaN')
    t.equal({f['matters'] for f in numbers(t, 'base', 'tf32')[1]['finding_list']}, {None}, 'only if asked')
    n = numbers(t, 'base', 'base', '--matters', '--assert', 'matters == 0')
    t.equal((n[0], n[1]['not_within']), (0, 0), 'the same')
    t.match(r"It matters: when its inputs move by one ULP A's own result moves less than a quarter as far", t.tsdb('diff', 'base.sbt', 'tf32.sbt', '--matters').out)
    for words, status, text in ((['base.sbt', 'tf32.sbt', '--matters', '--assert', 'matters == 0'], 3, ''), (['base.sbt', 'tf32.sbt', '--numeric', '--assert', 'matters == 0'], 1, 'Add --matters'),
                                (['base.sbt', 'tf32.sbt', '--assert', 'matters == 0'], 1, 'Add --matters')):
        r = t.tsdb('diff', *words)
        t.check(r.status == status and text in r.err, f'{words}: {r.status} {r.err}')


def test_matters_in_chaos(t):
    """The adversary: sixty steps of the logistic map. Another order of operations gives other results altogether, and so does one ULP of what it reads: no
    difference of that size says anything. The product beside it is as stable as ever, and what differs there matters."""
    record(t, 'chaos', 'chaos-other', 'chaos-tf32')
    n = numbers(t, 'chaos', 'chaos-other', '--matters')[1]
    chaos = n['first_cause']
    t.equal(name(chaos['command_a']), 'chaos', 'the origin')
    t.check(chaos['memory_list'][0]['largest'] > 0.25 and chaos['memory_list'][0]['spread'] > 0.25, f'both are large: {chaos}')
    t.equal(chaos['matters'], 'no', 'and say nothing')
    n = numbers(t, 'chaos', 'chaos-tf32', '--matters')[1]
    t.equal((name(n['first_cause']['command_a']), n['first_cause']['matters']), ('product', 'yes'), 'the stable one beside it')
