# SPDX-License-Identifier: Apache-2.0
"""tsdb nan: births of NaN (tests/programs/nans.cu), each found with its element, by the program's text; the same program with fine numbers is not accused."""
import json
import os
import re

from e2e import SRC, Skip

# name: (what it is, the command there, the element's number, its type, its value)
BORN = {
    'zero_by_zero': ('born', 'divide', 9, 'f32', 'nan'),
    'inf_minus_inf': ('born', 'exponent', 12, 'f32', 'inf'),
    'negative_log': ('born', 'logarithm', 33, 'f32', 'nan'),
    'negative_root': ('born', 'root', 5, 'f64', 'nan'),
    'negative_rsqrt': ('born', 'reciprocal_root', 63, 'f32', 'nan'),
    'half_overflow': ('born', 'narrow', 17, 'f16', 'inf'),
    'shared': ('born', 'reduce', 0, 'f32', 'nan'),
    'atomics': ('born', 'divide', 11, 'f32', 'nan'),
    'in_place': ('born', 'accumulate', 3, 'f32', 'nan'),
    'masked_row': ('born', 'mask', 56, 'f32', '-inf'),
    'legal': ('born', 'divide', 2, 'f32', 'nan'),
    'empty_mean': ('born', 'average', 0, 'f32', 'nan'),
    'untyped': ('born', 'plain_divide', 19, 'f32', 'nan'),
    'quad': ('born', 'quads', 26, 'f32', 'nan'),
    'graph': ('born', 'graph_launch', 8, 'f32', 'nan'),
    'into_graph': ('born', 'divide', 8, 'f32', 'nan'),
}
BRAIN = {'brain': ('born', 'brain_divide', 50, 'bf16', 'nan')}
COME = {
    'host_inf': ('copied', 'copy', 7, 'f32', 'inf'),
    'host_nan': ('copied', 'copy', 20, 'f32', 'nan'),
    'payload': ('copied', 'copy', 21, 'f32', 'nan'),
    'moved': ('copied', 'copy', 30, 'f32', 'nan'),
    'pitched': ('copied', 'copy', 27, 'f32', 'nan'),
    'two_inputs': ('copied', 'copy', 40, 'f32', 'nan'),
    'gathered': ('copied', 'copy', 45, 'f32', 'nan'),
    'product': ('copied', 'copy', 29, 'f32', 'nan'),
    'filled': ('fill', 'fill', 0, 'f32', 'nan'),
    'pinned': ('host', None, 13, 'f32', 'nan'),
    'order': ('unsteady', 'first_come', 0, 'f32', 'nan'),
}


def need(t):
    if t.gpu not in ('soft', 'soft-amd'):
        raise Skip('only for the software GPUs')


def record(t, name, *words):
    r = t.tsdb('--gpu', t.gpu, 'record', '--memory', 'all', '-o', f'{name}.sbt', '--', t.program('nans'), name, *words)
    t.equal(r.status, 0, f'record {name}: {r.err}')


def found(t, name, *words, status=3):
    r = t.tsdb('nan', f'{name}.sbt', *words, '--json')
    t.equal(r.status, status, f'{name}: {r.out} {r.err}')
    return json.loads(r.out)[0]


def what(d):
    """Its one cause, as in the table."""
    if len(d['causes']) != 1:
        return [(c['is'], c['seq']) for c in d['causes']]
    c = d['causes'][0]
    k = c['command']
    return c['is'], k and (k.get('kernel_name') or k['kind']), c['element']['index'], c['element']['type'], c['element']['shown']


def look(t, table, *words):
    for name, born in table.items():
        record(t, name)
        d = found(t, name, *words)
        t.equal((what(d), d['replay_differs'], d['not_followed']), (born, False, 0), name)


def test_births(t):
    need(t)
    look(t, BORN)


def test_bf16(t):
    need(t)
    look(t, BRAIN)


def test_what_comes_from_elsewhere(t):
    need(t)
    look(t, COME)


def line_of(text):
    """The line of the program that has this text, once."""
    with open(os.path.join(SRC, 'tests/programs/nans.cu'), encoding='utf-8') as f:
        found = [i for i, line in enumerate(f, 1) if text in line]
    return found[0] if len(found) == 1 else None


# name: (thread, the line's text, the instruction begins with, with)
SITES = {
    'zero_by_zero': (9, 'out[threadIdx.x] = a[threadIdx.x] / b[threadIdx.x];', 'div.', '%f1 = 0, %f2 = 0'),
    'negative_root': (5, 'sqrt((double)a[threadIdx.x])', 'sqrt.', '%fd1 = -4'),
    'negative_rsqrt': (63, 'rsqrtf(a[threadIdx.x])', 'rsqrt.', '%f1 = -2'),
    'inf_minus_inf': (12, 'expf(a[threadIdx.x]);', 'mul.', None),
    'empty_mean': (0, 'sum / *count', 'div.', None),
    'shared': (37, 'part[threadIdx.x] = a[threadIdx.x] / b[threadIdx.x];', 'div.', None),
    'quad': (6, 'make_float4(', 'div.', None),
    'brain': (50, None, 'div.', None),
}


def test_the_instruction(t):
    """Thread, line, instruction and operands of the birth: the division of thread 37 is six stores to shared memory before what thread 0 stores."""
    t.need_soft()
    for name, (thread, text, insn, operands) in SITES.items():
        record(t, name)
        s = found(t, name)['causes'][0]['site']
        t.check(s and not s['is_store'], f'{name}: {s}')
        t.equal((s['thread_at'], s['instruction'].startswith(insn)), ([thread, 0, 0], True), f'{name}: {s}')
        if text:
            t.equal(s['source_line'], line_of(text), f'{name}: {s}')
        if operands:
            t.equal(s['operands'], operands, name)
    t.match(r'    by thread \(9,0,0\) of block \(0,0,0\), \S*nans\.cu:\d+: div\.rn\.f32 .*\n      with %f1 = 0, %f2 = 0$', t.tsdb('nan', 'zero_by_zero.sbt').out)


def test_healthy(t):
    """All of the births' twins in one program: infinities that are meant, a NaN that is cleaned up, bits of integers; nobody is accused."""
    need(t)
    record(t, 'all', 'healthy')
    for words in ([], ['--by-changes']):
        d = found(t, 'all', *words, status=0)
        t.equal((d['causes'], sum(w['nans'] for w in d['writers'])), ([], 1), f'{words}: {d["causes"]}')
        t.equal([w['expired'] for w in d['writers'] if w['nans']], [True], 'the one that is cleaned up')
    t.match(r'No NaN in what the program got', t.tsdb('nan', 'all.sbt').out)


def test_as_on_a_gpu(t):
    """What launches touch by what they change: the same answers but for memory that nothing wrote, of which only reads would tell."""
    need(t)
    look(t, {n: BORN[n] for n in ('inf_minus_inf', 'in_place', 'legal', 'graph', 'shared')}, '--by-changes')
    look(t, {n: COME[n] for n in ('pitched', 'two_inputs', 'gathered', 'order')}, '--by-changes')
    record(t, 'unwritten')
    t.equal(what(found(t, 'unwritten', '--by-changes')), ('born', 'reciprocal_root', 32, 'f32', 'nan'), 'from there it cannot be seen')
    t.match(r'What launches read is not known here', t.tsdb('nan', 'unwritten.sbt', '--by-changes').out)


def test_unwritten(t):
    """The root of what lay there before: with other contents it goes. The first element that is not written is 32."""
    need(t)
    record(t, 'unwritten')
    d = found(t, 'unwritten')
    c = d['causes'][0]
    t.equal((c['is'], c['element']['index'], c['command']['kind'], c['step_list'][-1]['wrote']['index']), ('unwritten', 32, 'alloc', 32), 'where')


def test_on_either_machine(t):
    """The same on both vendors' software GPUs (twins.py)."""
    need(t)
    look(t, {n: {**BORN, **COME}[n] for n in ('inf_minus_inf', 'shared', 'graph', 'order')})
    record(t, 'two_inputs')
    t.equal([i['sufficient'] for i in found(t, 'two_inputs')['causes'][0]['step_list'][0]['inputs']], [True, False], 'inputs')


def test_which_input(t):
    """Both inputs hold a NaN, one of them counts; each is tested with all else finite."""
    need(t)
    record(t, 'two_inputs')
    step = found(t, 'two_inputs')['causes'][0]['step_list'][0]
    t.equal([(i['first_element']['name'] or f"arg{i['first_element']['param']}", i['first_element']['index'], i['count'], i['sufficient']) for i in step['inputs']], [('a', 40, 1, True), ('b', 41, 1, False)], 'inputs')
    record(t, 'moved')
    t.equal(len(found(t, 'moved')['causes'][0]['step_list']), 2, 'the launch, and the copy from one place on the device to another')


def test_legal_is_told(t):
    need(t)
    record(t, 'legal')
    d = found(t, 'legal')
    t.equal([w['expired'] for w in d['writers']][:1], [True], 'the first launch that wrote NaN is not the one')
    t.match(r'of \d+ all of it was overwritten or freed unseen: #\d+', t.tsdb('nan', 'legal.sbt').out)


def test_graph_step(t):
    """Which of the graph's nodes: the second of three."""
    need(t)
    record(t, 'graph')
    c = found(t, 'graph')['causes'][0]
    t.equal(c['node'], 2, f'the step: {c}')


def test_kept_back(t):
    """A launch that a wait for a value keeps back writes later than its number says: it is named as the last writer, and not accused; what it overwrites accuses nobody."""
    t.need_soft()
    for name, to in (('kept_back', 'c'), ('kept_before', 'c')):
        record(t, name)
        for words in ([], ['--by-changes']):
            d = found(t, name, *words)
            t.equal(what(d), ('unknown', 'divide', 22, 'f32', 'nan'), f'{name} {words}')
            t.match(r'kept back behind #\d+, a wait for a value, until #\d+', d['causes'][0]['why'])
            t.equal([w['nans'] for w in d['writers'] if w['seq'] == d['causes'][0]['seq']], [1], 'counted where it ran')
    record(t, 'kept_clean')
    for words in ([], ['--by-changes']):
        d = found(t, 'kept_clean', *words, status=0)
        t.equal((d['causes'], d['writers'], d['launches']), ([], [], 1), f'kept_clean {words}')


def test_infinities(t):
    """Infinities that are meant count only when asked for."""
    need(t)
    record(t, 'all', 'healthy')
    d = found(t, 'all', '--inf')
    t.check(all(c['is_inf'] for c in d['causes']) and 'mask' in [c['command'] and c['command'].get('kernel_name') for c in d['causes']], f'{what(d)}')


def test_types(t):
    """The user's word counts more than the kernel's."""
    need(t)
    record(t, 'integer_bits')
    t.equal(found(t, 'integer_bits', status=0)['elements'], 0, 'no floats')
    d = found(t, 'integer_bits', '--as', 'f32')
    t.equal((what(d)[:2], d['causes'][0]['element']['type_by']), (('born', 'integers'), 'asked'), 'as if they were')
    record(t, 'untyped')
    t.equal(found(t, 'untyped')['causes'][0]['element']['type_by'], 'code', 'void *, by the instructions')


def test_types_by_names(t):
    """Templates of PyTorch: the types are in the kernel's name, and no code has them; the way ends at the copy."""
    need(t)
    for words in ([], ['--by-changes']):
        record(t, 'named_half')
        d = found(t, 'named_half', *words)
        t.equal((what(d), d['causes'][0]['seen']['type_by']), (('copied', 'copy', 41, 'f16', 'nan'), 'declared'), f'{words}')
        record(t, 'read_later')
        d = found(t, 'read_later', *words)
        t.equal((what(d), d['causes'][0]['seen']['type_by']), (('copied', 'copy', 21, 'f32', 'nan'), 'reader'), f'{words}')


def test_looks_accuse_nobody(t):
    """What is a NaN only if it is what it looks like: it is counted, and said, until --as says what it is. The same where the next launch with the address writes there, or reads what was written later."""
    need(t)
    for name in ('moved_bits', 'written_later', 'copied_later'):
        record(t, name)
        for words in ([], ['--by-changes']):
            d = found(t, name, *words, status=0)
            t.equal((d['causes'], [w['nans'] for w in d['writers'] if w['nans']], d['doubtful']), ([], [], 1), f'{name} {words}')
            t.equal(what(found(t, name, '--as', 'f32', *words)), ('copied', 'copy', 21, 'f32', 'nan'), f'{name} {words} as asked')
        r = t.tsdb('nan', f'{name}.sbt')
        t.match(rf"1 of those would be NaN, if that is their type: they accuse nobody. --as f32 follows them. The first:\n  #{d['doubtful_by']} copy_words<<<", r.out)


def test_an_input_of_no_type(t):
    """A launch is not accused of what it may have from memory whose type is not known; with --as the way goes on."""
    need(t)
    record(t, 'hidden_input')
    for words in ([], ['--by-changes']):
        d = found(t, 'hidden_input', *words)
        t.equal(what(d)[:2], ('unknown', 'out_of_words'), f'{words}')
        t.match(r'it reads what may be NaN or infinite at 0x\w+, of no type that is known', d['causes'][0]['why'])
        t.equal(what(found(t, 'hidden_input', '--as', 'f32', *words)), ('copied', 'copy', 21, 'f32', 'nan'), f'{words} as asked')


def test_in_a_session(t):
    """The replay stays where it is, and up to a command nothing behind it counts."""
    need(t)
    record(t, 'zero_by_zero')
    r = t.tsdb('--batch', '-ex', 'replay start zero_by_zero.sbt --on soft', '-ex', 'replay goto 14', '-ex', 'nan', '-ex', 'when', '-ex', 'nan 12')
    t.equal(r.status, 3, r.show())
    t.match(r'NaN is born in a launch, of finite numbers\n  #13 divide', r.out)
    t.match(r'^#14 ', r.out)
    t.match(r'No NaN in what the program got, or in memory at the end\.\n0 commands wrote NaN', r.out)
    r = t.tsdb('--batch', '-ex', 'replay start zero_by_zero.sbt --on soft', '-ex', 'replay goto 13', '-ex', 'set memory arg1 f32 1', '-ex', 'nan')
    t.check('the run was changed' in r.err and r.status == 1, r.show())


def watched(t, name, watch, *more):
    """What `continue` shows from the beginning on, and `reverse-continue` from the end: the stops as (command, kernel, how many NaN, address of the first)."""
    r = t.tsdb('--batch', '-ex', f'replay start {name}.sbt --on soft', *[w for m in more for w in ('-ex', m)], '-ex', watch, *['-ex', 'continue'] * 8, '-ex', 'echo back\\n', '-ex', 'goto end', *['-ex', 'reverse-continue'] * 8)
    there, back = r.out.split('back\n', 1)
    there = there.split('The end of the window')[0]
    return [[(int(m[1]), m[2], int(m[3]), int(m[4], 16)) for m in re.finditer(r'^Watchpoint \d+, (?:\w+ \d+, )*#(\d+) (\w+)(?:.*\n){1,3}?  (?:wrote|may have written) (\d+) NaN there, the first at (0x\w+)', part, re.M)] for part in (there, back)], r


def test_watch(t):
    """Stops behind each command that wrote NaN there, and at no other: at one that is cleaned up later, not at the launch that cleans it, not at bits of integers."""
    t.need_soft()
    record(t, 'legal')
    d = found(t, 'legal')
    (there, back), r = watched(t, 'legal', 'watch --nan')
    t.equal([(seq, n) for seq, _k, n, _a in there], [(w['seq'], w['nans']) for w in d['writers'] if w['nans']], f'as nan says it: {r.show()}')
    t.equal([k for _s, k, _n, _a in there], ['divide', 'divide', 'add', 'scale', 'minus'], 'not clean')
    t.equal(back, there[::-1], 'backwards')
    c, bad = there[0][3], there[2][3]
    t.equal(bad, c + 8, 'element 2 of the array whose element 0 was meant')
    for place, want in ((f'{c:#x}', there[:1]), (f'{bad:#x}', there[2:]), (f'{bad + 3:#x} len 1', there[2:]), (f'{bad + 4:#x} len 64', []), (f'{c + 4:#x}', []), (f'{c:#x} len 256', [there[0]] + there[2:])):
        (some, back), r = watched(t, 'legal', f'watch --nan {place}')
        t.equal((some, back), (want, want[::-1]), f'{place}: {r.show()}')
    record(t, 'integer_bits')
    t.equal(watched(t, 'integer_bits', 'watch --nan')[0], [[], []], 'integers')
    record(t, 'graph')
    (there, _back), r = watched(t, 'graph', 'watch --nan')
    t.equal([k for _s, k, _n, _a in there], ['graph_launch'], f'the graph as a whole: {r.show()}')


def test_watch_kept_back(t):
    """At the command that let the launch go; not at the one that found NaN where it wrote nothing yet."""
    t.need_soft()
    record(t, 'kept_back')
    (there, back), r = watched(t, 'kept_back', 'watch --nan')
    t.equal(([k for _s, k, _n, _a in there], back), (['batch'], there), r.show())
    t.match(r'\n  by #\d+ divide.*, which was kept back until then\n', r.out)
    record(t, 'kept_clean')
    t.equal(watched(t, 'kept_clean', 'watch --nan')[0], [[], []], 'finite in the end')


def test_watch_with_others(t):
    """Beside a breakpoint, ignored, disabled, in a run that was changed, and in another replay."""
    t.need_soft()
    record(t, 'legal')
    record(t, 'zero_by_zero')
    r = t.tsdb('--batch', '-ex', 'replay start legal.sbt --on soft', '-ex', 'break kernel add', '-ex', 'watch --nan', '-ex', 'ignore 2 2', '-ex', 'continue', '-ex', 'info breakpoints', '-ex', 'disable 2', '-ex', 'continue')
    t.match(r'^Watchpoint 2, Breakpoint 1, #23 add', r.out)
    t.match(r'^2 +keep +y +3 +watch --nan$', r.out)
    t.match(r'^The end of the window', r.out)
    r = t.tsdb('--batch', '-ex', 'replay start zero_by_zero.sbt --on soft', '-ex', 'watch --nan', '-ex', 'goto 13', '-ex', 'set memory arg1 f32 1', '-ex', 'continue')
    t.check('the run was changed' in r.err and r.status == 1, r.show())
    r = t.tsdb('--batch', '-ex', 'replay start zero_by_zero.sbt --on soft', '-ex', 'watch --nan', '-ex', 'replay start legal.sbt --on soft', '-ex', 'continue', '-ex', 'delete 1', '-ex', 'continue')
    t.check('looked for NaN in another replay' in r.err and 'The end of the window' in r.out, r.show())
    r = t.tsdb('--batch', '-ex', 'replay start legal.sbt --on none', '-ex', 'watch --nan')
    t.check(r.status == 1 and 'watching for NaN' in r.err, r.show())


def test_what_is_refused(t):
    need(t)
    record(t, 'zero_by_zero')
    r = t.tsdb('--gpu', 'soft', 'record', '--memory', 'none', '-o', 'bare.sbt', '--', t.program('nans'), 'zero_by_zero')
    for words, text in ((['bare.sbt'], 'no memory contents'), (['zero_by_zero.sbt', '--as', 'i32'], 'does not say what to look for'),
                        (['zero_by_zero.sbt', '--as'], 'does not say what to look for'), (['zero_by_zero.sbt', 'x', 'y'], 'does not say what to look for'), ([], 'no trace was named')):
        r = t.tsdb('nan', *words)
        t.check(r.status == 1 and text in r.err, f'{words}: {r.status} {r.err}')
