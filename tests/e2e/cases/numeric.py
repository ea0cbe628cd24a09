# SPDX-License-Identifier: Apache-2.0
"""tsdb diff --numeric: variants of tests/programs/numbers.cu, each with one difference. The differences that have to be found are in planted.py."""
import json
import re

from e2e import program

# Equal numbers: another layout of memory, another stream, a wait less, arguments the other way round where that is no difference.
EQUAL = ['order', 'ids', 'padding', 'stream', 'no-wait', 'swapped']


def record(t, *variants, names=None):
    t.need_soft()
    for v in variants:
        r = t.tsdb('--gpu', 'soft', 'record', '--memory', 'all', '-o', f'{names or v}.sbt', '--', program('numbers'), v)
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
    t.equal([numbers(t, 'base', v)[1]['pointer_words'] for v in ('again', 'ids')], [0, 4], 'addresses in memory')


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
    r = t.tsdb('--gpu', 'soft', 'record', '--memory', 'none', '-o', 'bare.sbt', '--', program('numbers'))
    t.equal(r.status, 0, r.err)
    for words, text in ((['base.sbt', 'bare.sbt', '--numeric'], 'bare.sbt holds no memory contents'), (['base.sbt', 'base.sbt', '--numeric', '--on', 'none'], 'which --on none does not'),
                        (['base.sbt', 'base.sbt', '--numeric', '--as', 'f8'], 'no type "f8"'), (['base.sbt', 'base.sbt', '--as', 'f32'], 'are for --numeric'),
                        (['base.sbt', 'base.sbt', '--assert', 'numeric == same'], 'Add --numeric')):
        r = t.tsdb('diff', *words)
        t.check(r.status == 1 and text in r.err, f'{words}: {r.status} {r.err}')
