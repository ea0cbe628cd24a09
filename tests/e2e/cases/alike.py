# SPDX-License-Identifier: Apache-2.0
"""Launches that are alike: one is executed for all of them, and none that only looks alike is taken for one."""
import json
import re

# tests/programs/alike NAME, ten launches: how many have to be executed, without and with a last launch that goes elsewhere.
EXECUTED = {
    'product': (1, 1),  # that one goes elsewhere by a pointer: what was touched moves with it
    'offset': (1, 2),  # by a parameter that is no pointer
    'either': (2, 3),  # the parameter that chooses the pointer, and so both pointers, have to be the same
    'distance': (2, 3),
    'branch': (6, 6),  # the five that look at memory, and one of the others
    'index': (10, 10),
    'counted': (10, 10),
}


def races(t, name, race):
    """Of each kernel that was accused: its two launches. The number of launches executed is checked."""
    r = t.record('alike', name + ('_race' if race else ''))
    t.equal(r.status, 0, name)
    kernels = {c['seq']: c['kernel_name'] for c in map(json.loads, t.tsdb('view', '--json', 't.sbt').out.splitlines()) if c['kind'] == 'launch'}
    t.equal(len(kernels), 10, name)
    said = t.tsdb('races', 't.sbt').out
    m = re.search(r"are exact: (\d+) of 10 launches executed on the software GPU, and (\d+) that are like one of them\.", said)
    n = EXECUTED[name][race]
    if n < 10:
        t.check(m and (int(m[1]), int(m[2])) == (n, 10 - n), f'{name}: {said}')
    else:
        t.check("Kernels' accesses are exact: executed on the software GPU." in said, f'{name}: {said}')
    found = json.loads(t.tsdb('races', 't.sbt', '--exact', '--json').out)
    return list(kernels), [(r['a']['seq'], r['b']['seq'], r['tier'], r['size']) for r in found]


def test_one_for_all(t):
    """Two streams that touch nothing in common, and the same with a last launch of one that writes where the other does."""
    for name in EXECUTED:
        _, found = races(t, name, False)
        t.equal(found, [], name)
        if name == 'counted':
            continue
        launches, found = races(t, name, True)
        size = 4 * 256 * 256 if name == 'product' else 128
        t.equal(found, [(launches[-2], launches[-1], 'certain', size)], name)


def test_many_commands(t):
    """What is known without executing is known of ten thousand as of ten, within the usual limits."""
    t.equal(t.record('alike', 'offset_race', '10000').status, 0, 'recorded')
    r = t.tsdb('races', 't.sbt', '--budget', '2s')
    t.equal(r.status, 3, r.out + r.err)
    t.check('2 of 10000 launches executed on the software GPU, and 9998 that are like one of them.' in r.out, r.out)
