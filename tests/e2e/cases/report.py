# SPDX-License-Identifier: Apache-2.0
"""tsdb report: the page in headless Chromium, from file://. What it shows is compared with what the shell says of the same trace."""
import json
import os
import re

import browser
import e2e

WORK = ('launch', 'graph_launch', 'copy', 'fill')


def made(t, prog='pipeline', *words, options=('--timestamps',), args=()):
    browser.chromium()
    t.equal(t.record(prog, *args, options=list(options)).status, 0, 'record')
    r = t.tsdb('report', 't.sbt', '-o', 'r.html', *words)
    t.equal(r.status, 0, 'report: ' + r.err)


def clean(t, b, names=('r.html',)):
    """Nothing was asked for but the page itself, and nothing went wrong in it."""
    t.equal(sorted({u for u in b.requests if u != 'about:blank'}), sorted(f'file://{t.path(n)}' for n in names), 'requests')
    t.equal(b.errors, [], 'errors in the page')


def commands(t):
    return {c['seq']: c for c in map(json.loads, t.tsdb('view', 't.sbt', '--json').out.splitlines())}


def rows(b, table):
    """The cells of a table in the panel, as texts."""
    return b.value(f"[...document.querySelectorAll('#{table} tbody tr')].map((r) => [...r.cells].map((c) => c.textContent))")


def title(b):
    return b.value("document.getElementById('title')?.textContent")


def goto(b, seq, tab='command'):
    b.go(f'#at={seq}&tab={tab}')


def shown(value):
    """A field of view --json as the page shows it."""
    return {None: 'none', True: 'true', False: 'false'}.get(value) if value is None or isinstance(value, bool) else str(value)


def test_page(t):
    """No request leaves, nothing fails, and there are lanes where commands ran."""
    made(t)
    cmds = commands(t)
    with browser.Browser(t) as b:
        b.open('r.html')
        clean(t, b)
        policy = b.value("document.querySelector('meta[http-equiv]').content")
        t.match("default-src 'none'", policy)
        t.no_match('unsafe|https?:', policy)
        labels = b.value('report.timeline.rows.filter((r) => r.lane).map((r) => r.lane.label)')
        streams = sorted({c['stream'] for c in cmds.values() if c['kind'] in WORK})
        t.equal([x for x in labels if x.startswith('stream')], [f'stream {s}' for s in streams], 'lanes')
        # pixels in the middle of the longest launch of each stream have its kernel's colour, but for those that an arrow crosses; one below all has not
        for stream in streams:
            work = [c for c in cmds.values() if c['kind'] in WORK and c['stream'] == stream and c.get('gpu_start_ns')]
            longest = max(work, key=lambda c: c['gpu_end_ns'] - c['gpu_start_ns'])['seq']
            goto(b, longest)
            b.key('f')
            b.value('report.model.cursor = null; report.redraw()')
            b.settle()
            pixels = b.value(f'''(() => {{
                const tl = report.timeline, i = report.model.sides[0].trace.indexOf({longest}), w = tl.where(0, i), g = tl.g;
                const at = (x, y) => [...g.getImageData(x * tl.ratio, y * tl.ratio, 1, 1).data].slice(0, 3).join();
                g.fillStyle = report.colours.names[report.model.sides[0].colour(report.model.sides[0].trace.name[i])];
                const inside = [2, 3, 4, 5, 6, 7, 8].map((y) => at(w.x, w.row.y - tl.scroll + y));
                g.fillRect(0, 0, 2, 2);
                return [inside, at(0, 0), at(w.x, tl.height - tl.scroll + 4)];
            }})()''')
            t.check(pixels[0].count(pixels[1]) >= 4, f'colour of #{longest}: {pixels}')
            t.check(pixels[2] != pixels[1], 'the ground has another colour')
        clean(t, b)


# What the page has of each command: fields, times, and the state after it.
LOOK = """(() => {
    const side = report.model.sides[0], { trace } = side, big = (k, v) => (typeof v === 'bigint' ? String(v) : v);
    return JSON.stringify([...trace.seq].map((seq, i) => ({
        seq, kind: trace.kindName(i), fields: side.details.fields(i), timed: trace.timed(i), host: BigInt(trace.host[i]) + trace.begin,
        start: trace.timed(i) ? BigInt(trace.start[i]) + trace.begin : null, ns: trace.gpuNs(i), frames: trace.frames(i),
        streams: side.states.streamsAt(seq), events: side.states.eventsAt(seq), allocs: side.states.allocsAt(seq),
    })), big);
})()"""


def same_state(t, got, st, s):
    """The page's streams, events and allocations after command s against `state show --json`; objects that are gone are in neither."""
    t.equal([(x['id'], x['statusName'], x['head'] or None, x['pending'], x['finished'], x['waitSeq'] or None) for x in got['streams'] if not x['destroyed']],
            [(x['id'], x['status'], x['head'], x['pending'], x['finished'], x['wait_seq']) for x in st['stream_list'] if not x['destroyed']], f'streams after #{s}')
    t.equal([(x['id'], x['recorded'], x['complete'], x['record'] or None) for x in got['events'] if not x['destroyed']],
            [(x['id'], x['recorded'], x['complete'], x['record_seq']) for x in st['event_list'] if not x['destroyed']], f'events after #{s}')
    t.equal([(int(x['addr']), x['size'], x['kind'], x['from']) for x in got['allocs']],
            [(int(x['addr'], 0), x['size'], x['mem'], x['alloc_seq']) for x in st['allocation_list']], f'allocations after #{s}')


def same_values(t, prog, args=()):
    """Everything at every command. Returns the commands."""
    made(t, prog, '--no-races', args=args)
    rows_of = list(map(json.loads, t.tsdb('view', 't.sbt', '--json', '--stacks').out.splitlines()))
    seqs = [c['seq'] for c in rows_of]
    with open(t.path('script'), 'w', encoding='utf-8') as f:
        f.write(''.join(f'echo @{s}\\n\nstate show at {s} --json\n' for s in seqs))
    states = t.tsdb('--batch', '-x', 'script', 't.sbt').out
    states = {int(p.split('\n', 1)[0]): json.loads(p.split('\n', 1)[1]) for p in states.split('@')[1:]}
    t.equal(sorted(states), seqs, 'states')
    with browser.Browser(t) as b:
        b.open('r.html')
        looks = json.loads(b.value(LOOK))
        clean(t, b)
    t.equal([x['seq'] for x in looks], seqs, 'commands')
    for got, c in zip(looks, rows_of):
        s = c['seq']
        t.equal(got['kind'], c['kind'], f'kind of #{s}')
        for f in got['fields']:
            t.equal(f['value'], shown(c[f['name']]), f'{f["name"]} of #{s}')
        t.equal(int(got['host']), c['host_ns'], f'call of #{s}')
        if c['kind'] in WORK and c.get('gpu_start_ns'):
            t.equal((int(got['start']), got['ns']), (c['gpu_start_ns'], c['gpu_end_ns'] - c['gpu_start_ns']), f'times of #{s}')
        t.equal([(x['function'], x['line'] or None) for x in got['frames']], [(x['function'], x['line']) for x in c['frames']], f'stack of #{s}')
        same_state(t, got, states[s], s)
    return {c['seq']: c for c in rows_of}, states


def test_values(t):
    """Fields, times, streams, events, allocations and stacks are those that the shell gives, at every command; the panel shows them."""
    cmds, states = same_values(t, 'pipeline')
    with browser.Browser(t) as b:
        b.open('r.html')
        launch = min(s for s, c in cmds.items() if c['kind'] == 'launch')
        goto(b, launch, 'state')
        t.equal([r[1] for r in rows(b, 'streams')], [x['status'] for x in states[launch]['stream_list']], 'status in the panel')
        goto(b, launch)
        c = cmds[launch]
        t.match(rf'^#{launch} \w+<<<\({c["grid_x"]},1,1\),\({c["block_x"]},1,1\)>>> stream {c["stream"]}$', title(b))
        t.check([r for r in rows(b, 'args') if re.match('0x', r[3])], f'an argument points into an allocation: {rows(b, "args")}')
        clean(t, b)


def test_values_of_a_long_one(t):
    """The same of a program with the legacy default stream, hundreds of commands and waits of several kinds."""
    same_values(t, 'transformer')


def test_keyboard(t):
    made(t)
    cmds = commands(t)
    with browser.Browser(t) as b:
        b.open('r.html')
        first = min(s for s, c in cmds.items() if c['kind'] == 'launch')
        stream = [s for s, c in sorted(cmds.items()) if c.get('stream') == cmds[first]['stream'] and c['kind'] in (*WORK, 'event_record', 'stream_wait')]
        goto(b, first)
        b.key('.')
        t.match(f'^#{stream[stream.index(first) + 1]} ', title(b), 'next of the lane')
        b.key(',')
        t.match(f'^#{first} ', title(b), 'and back')
        b.key(']')
        t.match(f'^#{first + 1} ', title(b), 'next of the program')
        span = 'report.view.to - report.view.from'
        whole = b.value(span)
        b.key('w')
        t.check(b.value(span) < whole, 'w zooms in')
        middle, near = b.value('report.view.from'), b.value(span)
        b.key('d')
        t.check(b.value('report.view.from') > middle and abs(b.value(span) - near) < 1, 'd moves right')
        b.key('a')
        t.check(abs(b.value('report.view.from') - middle) < 1, 'a moves back')
        b.key('s')
        t.check(abs(b.value(span) - whole) < 1, 's zooms out')
        b.key('2')
        t.equal(b.value("document.getElementById('pane-state').hidden"), False, '2 shows the state')
        b.key('4')
        t.match('The run', b.value("document.getElementById('pane-facts').innerText"))
        b.key('t')
        t.match('axis=commands', b.value('location.hash'))
        b.key('/')
        b.type('name:scale')
        launches = [s for s, c in sorted(cmds.items()) if c['kind'] == 'launch']
        b.key('Enter')
        t.match(f'^#{launches[0]} scale', title(b), 'found')
        b.key('Enter', shift=True)
        t.match(r'^#\d+ scale', title(b), 'the last one')
        found = b.value("document.getElementById('found').textContent")
        t.match(r'^8 of 8$', found)
        b.key('Escape')
        b.key('/')
        b.type(f'#{launches[1]}')
        b.key('Enter')
        t.match(f'^#{launches[1]} ', title(b), 'the number of a command')
        t.equal((b.value("document.getElementById('found').textContent"), b.value('report.model.sides[0].match')), ('', None), 'is no filter: nothing is dimmed')
        b.key('Escape')
        b.key('?')
        t.equal(b.value("document.getElementById('help').open"), True, '? opens the list')
        b.key('Escape')
        t.equal(b.value("document.getElementById('help').open"), False, 'and Escape closes it')
        clean(t, b)


def test_place(t):
    """The URL says where one is, and brings one back there; a URL that makes no sense does no harm."""
    made(t)
    with browser.Browser(t) as b:
        b.open('r.html', '#at=57&tab=state&axis=commands&view=40,60&find=name:scale&sel=44,50')
        place = b.value('location.hash')
        look = "JSON.stringify([report.model.cursor, report.view.from, report.view.to, report.tab, report.model.axis, report.model.range, document.getElementById('found').textContent])"
        was = b.value(look)
        t.match(r'"i":56.*40,60,"state",1,\{"from":44,"to":50\},"8 found"', was)
        b.open('r.html', '#at=3')
        b.go(place)
        t.equal(b.value(look), was, 'the place again')
        for bad in ('#at=99999999999999999999', '#at=-1&view=9,3&axis=x&tab=__proto__&sel=NaN,1', '#%E0%A4%A&at=%', '#view=1e400,2&find=%00%ff'):
            b.open('r.html', bad)
            b.go(bad)
        # a place that is asked for while a frame is due is not lost to what this frame writes into the URL
        for busy in range(2, 22, 2):
            b.go(f'#at={30 + busy}', f'report.redraw(); for (const end = performance.now() + {busy}; performance.now() < end;);')
            t.match(f'^#{30 + busy} ', title(b), f'{busy} ms after the last frame')
        clean(t, b)


ROOM = """(() => {
    const find = document.getElementById('find'), style = getComputedStyle(find), g = document.createElement('canvas').getContext('2d');
    g.font = style.font;
    return find.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight) - g.measureText(find.placeholder).width;
})()"""
ENDS = """report.timeline.rows.filter((r) => r.lane).map((r) => { const a = r.lane.on(report.model.axis); return [report.view.x(a.begins[0]), report.view.width - report.view.x(a.reach.at(-1))]; })"""


def test_first_sight(t):
    """Wide or narrow: the search's hint is whole, the first and last command of each lane are in view, and no two marks of the axis are the same."""
    made(t)
    with browser.Browser(t) as b:
        for width in (1400, 700):
            b.resize(width, 900)
            b.open('r.html')
            t.check(b.value(ROOM) >= 18, f'the hint, and the cross that empties the field, have no room at {width}')
            for axis in ('time', 'commands'):
                b.open('r.html', f'#axis={axis}')
                t.equal([e for e in b.value(ENDS) if min(e) < 3], [], f'ends of lanes at {width}, {axis}')
            b.open('r.html')
            for _ in range(30):
                texts = b.value('report.timeline.axisTexts()')
                t.equal(len({x['text'] for x in texts}), len(texts), f'marks {texts}')
                t.check(all(x['x'] >= 0 and x['x'] < width for x in texts), f'marks {texts}')
                b.value('report.view.zoom(0.6, report.view.width / 3)')
        clean(t, b)


def test_nothing_to_draw(t):
    """A trace without a command, and a range of those that no lane shows: the page says so, and has what facts there are."""
    browser.chromium()
    t.equal(t.tsdb('record', '--gpu', t.gpu, '-o', 'e.sbt', '--', '/bin/true').status, 0, 'record')
    made(t)
    t.equal(t.tsdb('report', 'e.sbt', '-o', 'e.html').status, 0, 'report')
    t.equal(t.tsdb('report', 't.sbt', '1', '-o', 's.html').status, 0, 'report of notes')
    with browser.Browser(t) as b:
        for name, n in (('e.html', '0 commands'), ('s.html', '1 command')):
            b.open(name)
            t.equal(b.value("document.getElementById('loading').textContent"), 'There is no command to draw.', name)
            t.match(rf'\b{n},', b.value("document.getElementById('program').textContent"))
            t.match(rf'{n}, none of which is work', b.value("document.getElementById('pane-facts').innerText"))
            for tab in ('command', 'state', 'flame'):
                b.value(f"report.setTab('{tab}')")
            for key in ('.', ']', 'w', 'f', 'm', 't', 'o', 'l'):
                b.key(key)
        t.equal(b.errors, [], 'errors in the page')


def test_refused(t):
    t.record('vecadd')
    t.sentence(t.tsdb('report'), 'report needs a trace')
    t.sentence(t.tsdb('report', 't.sbt', '--pdf'), 'report has no option --pdf')
    t.sentence(t.tsdb('report', 't.sbt', 'x'), '"x" is no range of commands')
    t.sentence(t.tsdb('report', 't.sbt', '-o', 'none/x.html'), 'none/x.html')


def test_hostile_names(t):
    """What a trace calls things stays text: no element, no script, no control character comes of it, in any tab or format."""
    path = os.path.join(e2e.BUILD, 'tests', 'report', 'hostile-trace')
    if not os.path.exists(path):
        raise e2e.Skip('hostile-trace was not built')
    t.equal(t.run([path, 't.sbt']).status, 0, 'hostile-trace')
    browser.chromium()
    t.equal(t.tsdb('report', 't.sbt', '-o', 'r.html').status, 0, 'report')
    with open(t.path('r.html'), encoding='utf-8') as f:
        page = f.read()
    t.no_match('onerror|owned', page, 'the page as it is written')
    for form in ('--md', '--explain', '--json'):
        text = t.tsdb('report', 't.sbt', form).out
        t.no_match('[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]', text, form)
        if form == '--md':
            t.no_match(r'(?<!\\)<(?!<)', text, 'Markdown without markup of a name')
        elif form == '--json':
            t.check(json.loads(text)['topics'], 'JSON')
    with browser.Browser(t) as b:
        b.open('r.html')
        n = b.value('report.model.sides[0].trace.n')
        plain = b.value("document.querySelectorAll('*').length")
        for i in range(0, n, 3):
            b.value(f'report.go(0, {i})')
            for tab in ('command', 'state', 'flame', 'facts'):
                b.value(f"report.setTab('{tab}')")
                t.equal(b.value("document.querySelectorAll('img, script:not(:first-of-type):not(:last-of-type), iframe, [onerror]').length"), 0, f'elements at {i}, {tab}')
        b.value("report.find('img'); report.findNext(1)")
        b.settle()
        t.check(b.value("document.body.innerText.includes('<img src=x')"), 'the name is shown as it is')
        bad = r'/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]/'
        t.equal(b.value(f'report.model.sides[0].trace.names.filter((x) => {bad}.test(x)).length'), 0, 'names are safe to show')
        t.equal(b.value(f'{bad}.test(document.body.innerText + document.title)'), False, 'so is the page')
        t.check('owned' not in b.value('document.title').split(':')[-1], 'the title is ours')
        t.check(plain > 10, 'a page')
        for look in json.loads(b.value(LOOK)):
            if look['kind'] in ('event_record', 'copy', 'sync'):
                same_state(t, look, json.loads(t.tsdb('--batch', '-ex', f'state show at {look["seq"]} --json', 't.sbt').out), look['seq'])
        copies = [s for s, c in commands(t).items() if c['kind'] == 'copy']
        goto(b, copies[0])
        t.equal([r[1] for r in rows(b, 'fields') if r[0] in ('dst', 'src', 'size')], ['0xffffffffffffffff', '0x8000000000000001', str(2 ** 53 + 1)], 'numbers to the last digit')
        clean(t, b)


def test_texts(t):
    """--md, --json and --explain have the same facts as the page."""
    made(t)
    facts = json.loads(t.tsdb('report', 't.sbt', '--json').out)
    flat = [(topic['topic'], f) for topic in facts['topics'] for f in topic['facts']]
    t.equal([f['number'] for _, f in flat], list(range(1, len(flat) + 1)), 'numbers')
    explain = t.tsdb('report', 't.sbt', '--explain').out.splitlines()[1:]
    t.equal([line.split(']')[0] for line in explain], [f'[{n}' for n in range(1, len(flat) + 1)], 'evidence')
    for (topic, f), line in zip(flat, explain):
        t.check(line.startswith(f'[{f["number"]}] {topic}: {f["text"]}'), f'the same sentence: {line}')
        for s in f['seqs']:
            t.check(re.search(rf'#{s}\b', line), f'#{s} in: {line}')
    md = t.tsdb('report', 't.sbt', '--md').out
    t.equal(len(re.findall('^- ', md, re.M)), len(flat), 'Markdown')
    # against the figures of stats and races
    stats = json.loads(t.tsdb('stats', 't.sbt', '--json').out)
    busy = next(f for topic, f in flat if topic == 'time' and 'Device 0' in f['text'])
    t.equal(busy['figures']['busy_ns'], stats['device_list'][0]['use']['busy_ns'], 'busy')
    path = json.loads(t.tsdb('stats', 't.sbt', '--critical-path', '--json').out)
    pole = next(f for topic, f in flat if topic == 'path')
    t.equal(pole['figures']['length_ns'], path['length_ns'], 'the long pole')
    t.check(any('No race' in f['text'] for topic, f in flat if topic == 'race'), 'no races')
    with browser.Browser(t) as b:
        b.open('r.html', '#tab=facts')
        t.equal(b.value("document.querySelectorAll('#pane-facts li').length"), len(flat), 'in the page')
        # what streams waited for is what stats adds up; the flame graph has all GPU time, and none twice
        doing = b.value('[...report.model.sides[0].states.doing].map(([s, d]) => [s, [3, 1].map((w) => d.begins.reduce((n, x, k) => n + (d.status[k] === w ? d.ends[k] - x : 0), 0))])')
        t.equal(sorted(doing), sorted([s['stream'], [s['time']['event_wait_ns'], s['time']['starting_ns']]] for s in stats['stream_list']), 'waits of streams')
        b.key('3')
        t.equal(b.value('report.flame.top.weight'), sum(c['gpu_end_ns'] - c['gpu_start_ns'] for c in commands(t).values() if c['kind'] in WORK), 'GPU time')
        leaves = '(function sum(n) { return n.children.size ? [...n.children.values()].reduce((s, c) => s + sum(c), 0) : n.weight; })(report.flame.top)'
        t.equal(b.value(leaves), b.value('report.flame.top.weight'), 'leaves')
        b.value("report.select({ from: report.view.from, to: report.view.from + 1 })")
        t.equal(b.value('report.flame.top.count'), 0, 'nothing is selected')
        clean(t, b)


def test_nondeterministic_launches(t):
    """--check takes what tsdb check printed, and nothing else."""
    t.equal(t.record('pipeline').status, 0, 'record')
    unstable = {'seq': 25, 'differing': 3, 'executions': 20, 'looks_like': 'an atomic'}
    window = {'checked': 16, 'not_checked': 2, 'nondeterministic': [unstable]}
    for name, what in (('some', [window]), ('none', [{**window, 'nondeterministic': [], 'not_checked': 0}]), ('other', [{**window, 'nondeterministic': [{**unstable, 'seq': 10 ** 6}]}]), ('bad', {})):
        with open(t.path(name), 'w', encoding='utf-8') as f:
            json.dump(what, f)
    text = t.tsdb('report', 't.sbt', '--explain', '--no-exact', '--check', 'some').out
    t.match(r'unstable: #25 gave another result in 3 of 20 executions from the same memory: it looks like an atomic\.', text)
    t.match(r'missing: 2 launches were not executed again', text)
    t.match(r'unstable: None of 16 launches', t.tsdb('report', 't.sbt', '--explain', '--no-exact', '--check', 'none').out)
    t.match(r'missing: Whether launches are deterministic was not tried', t.tsdb('report', 't.sbt', '--explain', '--no-exact').out)
    for name in ('other', 'bad', 'missing'):
        t.sentence(t.tsdb('report', 't.sbt', '--explain', '--no-exact', '--check', name), f'{name} is no check of this trace')
    checked = t.tsdb('check', 't.sbt', '--json')
    with open(t.path('real'), 'w', encoding='utf-8') as f:
        f.write(checked.out)
    t.match(r'unstable: None of 16 launches', t.tsdb('report', 't.sbt', '--explain', '--no-exact', '--check', 'real').out)


def test_races(t):
    """A missing wait: the report names both commands and the call that would order them, as tsdb races does."""
    t.need_soft()
    browser.chromium()
    t.record('race_demo', options=['--timestamps'])  # its status says whether the race was lost
    t.equal(t.tsdb('report', 't.sbt', '-o', 'r.html').status, 0, 'report')
    races = json.loads(t.tsdb('races', 't.sbt', '--json').out)
    t.check(races, 'race_demo has a race')
    facts = json.loads(t.tsdb('report', 't.sbt', '--json').out)
    found = [f for topic in facts['topics'] if topic['topic'] == 'race' for f in topic['facts']]
    t.equal([f['seqs'] for f in found], [[r['a']['seq'], r['b']['seq']] for r in races], 'pairs')
    for f, r in zip(found, races):
        t.check(r['cure'] in f['text'] and r['tier'] in f['text'], f'cure and tier in: {f["text"]}')
    with browser.Browser(t) as b:
        b.open('r.html', '#tab=facts')
        t.check(b.value("document.querySelector('#pane-facts .race .link')") is not None, 'links')
        marked = b.value("[...document.querySelectorAll('#pane-facts li')].map((li) => [li.className, li.innerText])")
        t.equal([x for c, x in marked if c == 'bad' and not re.search('A certain race|A likely race', x)], [], 'what has a red mark')
        t.equal(len([x for c, x in marked if c == 'bad']), len(races), 'red marks')
        t.equal([c for c, x in marked if x == 'No call failed.'], [''], 'good news has none')
        t.check([x for c, x in marked if re.match(r'\d+ commands: 20 launches, 1 copy, ', x)], 'one copy is no copies')
        b.value("document.querySelector('#pane-facts .race .link').click()")
        b.settle()
        t.match(f'^#{races[0]["a"]["seq"]} ', title(b), 'the link goes there')
        clean(t, b)


def test_two_traces(t):
    """The second trace lies below: what tsdb diff calls the same is in one slot, what it calls inserted has none above."""
    t.need_soft()
    browser.chromium()
    for name in ('base', 'extra', 'kernel'):
        t.equal(t.tsdb('record', '--gpu', 'soft', '--timestamps', '-o', f'{name}.sbt', '--', e2e.program('variants'), name).status, 0, 'record')
    t.equal(t.tsdb('report', 'base.sbt', 'extra.sbt', '-o', 'r.html').status, 0, 'report')
    diff = json.loads(t.tsdb('diff', 'base.sbt', 'extra.sbt', '--json').out)
    inserted = diff['difference_list'][0]['in_b']['first_seq']
    changes = [f for topic in json.loads(t.tsdb('report', 'base.sbt', 'extra.sbt', '--json').out)['topics'] if topic['topic'] == 'change' for f in topic['facts']]
    t.equal(changes[0]['figures'], {'matched': diff['matched']}, 'matched')
    t.match(f'inserted: B #{inserted}', changes[1]['text'])
    with browser.Browser(t) as b:
        b.open('r.html', '#axis=commands')
        pairs = b.value('[...report.model.pairs.toB].map((k, i) => k < 0 ? null : [i, k]).filter(Boolean)')
        t.equal(len(pairs), diff['matched'], 'pairs')
        slots = b.value('report.model.sides.map((s) => [...s.slot])')
        t.equal([slots[0][i] for i, k in pairs], [slots[1][k] for i, k in pairs], 'slots of pairs')
        for side in slots:
            t.equal(sorted(set(side)), side, 'in order, none twice')
        own = b.value(f'report.model.sides[1].slot[report.model.sides[1].trace.indexOf({inserted})]')
        t.check(own not in slots[0], 'the inserted one has a slot of its own')
        t.equal(b.value(f'report.model.alone(1, report.model.sides[1].trace.indexOf({inserted}))'), True, 'and is marked')
        t.equal(b.value('report.model.sides.map((s, t) => s.trace.seq.filter((x, i) => report.model.alone(t, i)).length)'), [0, 1], 'no other is')
        # the cursor goes over to the same command, and lines both up there
        i, k = pairs[-1]
        b.value(f'report.go(0, {i})')
        b.key('o')
        t.equal(b.value('report.model.cursor'), {'t': 1, 'i': k}, 'o')
        b.key('t')
        b.key('l')
        begins = b.value(f'[report.model.sides[0].begins({i}, 0), report.model.sides[1].begins({k}, 0)]')
        t.check(abs(begins[0] - begins[1]) < 1e-3, f'lined up: {begins}')
        t.match(r'trace=b', b.value('location.hash'))
        clean(t, b)
    t.equal(t.tsdb('report', 'base.sbt', 'kernel.sbt', '-o', 'r.html').status, 0, 'report')
    with browser.Browser(t) as b:
        b.open('r.html', '#axis=commands')
        alone = b.value('report.model.sides.map((s, t) => [...s.slot].filter((x, i) => report.model.alone(t, i)))')
        t.check([len(x) for x in alone] == [1, 1] and alone[0] != alone[1], f'a launch in place of another is not the same one: {alone}')
        clean(t, b)
    same = json.loads(t.tsdb('report', 'base.sbt', 'base.sbt', '--json').out)
    t.check(any('There is no difference' in f['text'] for topic in same['topics'] for f in topic['facts']), 'no difference')


# -- sets

LATE = 5_000_000  # ns by which rank 1's clock is late in a_set()


def a_set(t):
    """all.sbt of two ranks that run different programs: {rank: its commands by number, times on the set's clock}."""
    t.need_soft()
    browser.chromium()
    for rank, prog in enumerate(('pipeline', 'vecadd')):
        r = t.tsdb('record', '--gpu', 'soft', '--timestamps', '-o', f'r{rank}.sbt', '--', e2e.program(prog), env={'RANK': str(rank), 'WORLD_SIZE': '2'})
        t.equal(r.status, 0, 'record')
    t.equal(t.tsdb('merge', '-o', 'all.sbt', 'r0.sbt', 'r1.sbt').status, 0, 'merge')
    with open(t.path('all.sbt'), encoding='utf-8') as f:
        s = json.load(f)
    s['traces'][1].update(fitted=True, matches=9, offset_ns=LATE)
    with open(t.path('all.sbt'), 'w', encoding='utf-8') as f:
        json.dump(s, f)
    found = {0: {}, 1: {}}
    for line in t.tsdb('view', 'all.sbt', '--json').out.splitlines():
        c = json.loads(line)
        c.update((k, c[k] + LATE * c['rank']) for k in ('host_ns', 'gpu_start_ns', 'gpu_end_ns') if c.get(k))
        found[c['rank']][c['seq']] = c
    return found


def test_ranks_of_a_set(t):
    """Lanes of all ranks on the set's clock; flame graph, search and URL over all of them; facts of each and of all."""
    cmds = a_set(t)
    t.equal(t.tsdb('report', 'all.sbt', '-o', 'r.html').status, 0, 'report')
    first = min(c['host_ns'] for r in cmds.values() for c in r.values())
    with browser.Browser(t) as b:
        b.open('r.html')
        clean(t, b)
        t.equal(b.value('report.timeline.rows.filter((r) => r.heading).map((r) => r.label.replace(/ on .*: /, \': \'))'), ['rank 0: r0.sbt', 'rank 1: r1.sbt'], 'headings')
        shown_at = b.value("""report.model.sides.map((s) => [...s.trace.seq].map((seq, i) => [seq, s.trace.timed(i), s.begins(i, 0), s.ends(i, 0)]))""")
        for rank, side in enumerate(shown_at):
            t.equal([x[0] for x in side], sorted(cmds[rank]), f'commands of rank {rank}')
            for seq, timed, begin, end in side:
                c = cmds[rank][seq]
                want = (c['gpu_start_ns'], c['gpu_end_ns']) if timed else (c['host_ns'], c['host_ns'])
                t.check(abs(begin - (want[0] - first)) <= 1 and abs(end - (want[1] - first)) <= 1, f'rank {rank} #{seq}: {begin}, {end}, want {want[0] - first}')
        b.key('3')
        work = {rank: sum(c['gpu_end_ns'] - c['gpu_start_ns'] for c in of.values() if c['kind'] in WORK and c.get('gpu_start_ns')) for rank, of in cmds.items()}
        t.equal(b.value('[...report.flame.top.children.values()].map((n) => [n.name, n.weight])'), [[f'rank {rank}', w] for rank, w in work.items()], 'flame graph')
        begins = [x[2] for x in shown_at[1] if x[1]]
        b.value(f'report.select({{ from: {min(begins) - 1}, to: {max(x[3] for x in shown_at[1]) + 1} }})')
        t.equal(b.value('[...report.flame.top.children.values()].at(-1).weight'), work[1], 'of a selection')
        b.key('Escape')
        # search and URL
        adds = [s for s, c in sorted(cmds[1].items()) if c['kind'] == 'launch']
        b.value("document.getElementById('find').value = 'kind:launch'; report.find('kind:launch')")
        t.equal(b.value('report.found.map((x) => [x.t, report.model.sides[x.t].trace.seq[x.i]])'),
                [[rank, s] for rank, of in cmds.items() for s, c in sorted(of.items()) if c['kind'] == 'launch'], 'found in both')
        b.value('report.findNext(-1)')
        b.settle()
        t.match(f'^#{adds[-1]} ', title(b), 'the last one is of rank 1')
        t.check(['Rank', '1'] in b.value("[...document.querySelectorAll('#pane-command dt')].map((x) => [x.textContent, x.nextSibling.textContent])"), 'its rank is said')
        place = b.value('location.hash')
        t.match('trace=b', place)
        b.open('r.html', place)
        t.equal(b.value('report.model.cursor.t'), 1, 'the place again')
        for bad in ('#at=1&trace=99', '#at=1&trace=-1', '#at=1&trace=1e9', '#at=1&trace=__proto__'):
            b.open('r.html', bad)
        # facts
        b.open('r.html', '#tab=facts')
        own = [json.loads(t.tsdb('report', f'r{rank}.sbt', '--json').out) for rank in (0, 1)]
        s = json.loads(t.tsdb('report', 'all.sbt', '--json').out)
        t.equal([r['report'] for r in s['rank_list']], own, 'each rank has the facts of its trace')
        count = sum(len(topic['facts']) for r in (s['together'], *own) for topic in r['topics'])
        t.equal(b.value("document.querySelectorAll('#pane-facts li').length"), count, 'facts in the page')
        clean(t, b)
    stats = json.loads(t.tsdb('stats', 'all.sbt', '--json').out)
    rows_ = {f['text'].split(':')[0]: f['figures'] for topic in s['together']['topics'] if topic['topic'] == 'work' for f in topic['facts']}
    t.equal(rows_, {r['name']: {k: r[k] for k in ('count', 'ranks', 'gpu_ns', 'least_ns', 'most_ns')} for r in stats['by_kernel']}, 'kernels of all ranks, as stats has them')
    for form, mark in (('--md', r'^# '), ('--explain', r'^Evidence from ')):
        t.equal(len(re.findall(mark, t.tsdb('report', 'all.sbt', form).out, re.M)), 3, form)
    t.equal(t.tsdb('report', 'all.sbt', '--rank', '1', '--json').out, t.tsdb('report', 'r1.sbt', '--json').out, '--rank')
    for words, why in ((('all.sbt', '1-5'), 'a range is of one rank\'s commands'), (('all.sbt', 'r0.sbt'), 'is a set, and two traces are compared'), (('r0.sbt', 'all.sbt'), 'is a set, and two traces'),
                       (('all.sbt', '--rank', '9'), 'has no rank 9'), (('r0.sbt', '--rank', '0'), 'is one rank\'s trace, not a set'), (('all.sbt', '--rank', '-1'), 'is no rank'),
                       (('all.sbt', '--check', 'x'), '--check is of one rank\'s launches')):
        t.sentence(t.tsdb('report', *words, '-o', 'none.html'), why)
