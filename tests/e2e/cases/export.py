# SPDX-License-Identifier: Apache-2.0
"""tsdb export: each format is read by an outside reader, or by its own published rules, and compared with `view --json`."""
import csv
import gzip
import http.client
import io
import json
import os
import re
import shutil
import socket
import sqlite3
import struct
import subprocess
import sys
import xml.etree.ElementTree as ET
import zipfile
import zlib

import e2e

PROTOS = os.path.join(os.path.dirname(os.path.abspath(e2e.__file__)), '..', 'export')
sys.path.insert(0, PROTOS)
import readers  # pylint: disable=wrong-import-position

WORK = ('launch', 'graph_launch', 'copy', 'fill')


def recorded(t, prog='pipeline', *args, times=True):
    r = t.record(prog, *args, options=['--timestamps'] if times else [])
    t.check(r.status == 0 or prog == 'race_demo', f'record: {r.err}')  # race_demo's status says whether it noticed its race


def commands(t):
    """The commands of t.sbt that are the program's own, by number."""
    rows = (json.loads(line) for line in t.tsdb('view', 't.sbt', '--json').out.splitlines())
    return {r['seq']: r for r in rows if not r['flags'] & 4}


def export(t, form, *words, status=0):
    r = t.tsdb('export', form, 't.sbt', '-o', 'x', *words)
    t.equal(r.status, status, form + ': ' + r.err)
    if status:
        return r.err
    with open(t.path('x'), 'rb') as f:
        return f.read()


def gpu_ns(c):
    return c['gpu_end_ns'] - c['gpu_start_ns']


def work_of(t, cmds):
    work = {s: c for s, c in cmds.items() if c['kind'] in WORK and c.get('gpu_start_ns')}
    t.check(len(work) > 20, 'work with GPU times')
    return work


def decode(t, name, message, data):
    """protoc's text of a message as nested lists of (field, value); a field that the schema lacks fails the test."""
    if not shutil.which('protoc'):
        raise e2e.Skip('needs protobuf-compiler')
    p = subprocess.run(['protoc', f'--decode=tsdb.{message}', '-I', PROTOS, name], input=data, capture_output=True, check=False)
    t.equal((p.returncode, p.stderr), (0, b''), 'protoc')
    stack = [[]]
    for line in p.stdout.decode().splitlines():
        line = line.strip()
        t.check(not re.match(r'\d', line), f'a field that {name} does not have: {line}')
        if line.endswith('{'):
            inner = []
            stack[-1].append((line[:-2], inner))
            stack.append(inner)
        elif line == '}':
            stack.pop()
        else:
            field, value = line.split(': ', 1)
            stack[-1].append((field, value[1:-1] if value[0] == '"' else int(value) if re.fullmatch(r'-?\d+', value) else float(value)))
    return stack[0]


def values(message, field):
    return [v for f, v in message if f == field]


def value(message, field, other=None):
    return next(iter(values(message, field)), other)


def waits_by_events(cmds):
    """For each command, the work on other streams that its stream waited for by an event: from the trace alone."""
    last, recorded_behind, pending, out = {}, {}, {}, {}
    for seq, c in sorted(cmds.items()):
        stream = c.get('stream')
        if c['kind'] == 'event_record':
            recorded_behind[c['event']] = (last.get(stream), stream)
        elif c['kind'] == 'stream_wait' and c['event'] in recorded_behind:
            behind, on = recorded_behind[c['event']]
            if behind and on != stream:
                pending.setdefault(stream, []).append(behind)
        elif c['kind'] in WORK:
            out[seq] = sorted(set(pending.pop(stream, [])))
            last[stream] = seq
    return out


def check_spans(t, spans, work):
    """A stream's states follow each other without a gap; each command with times is Running from its start, or the end of the one before, to its end."""
    for stream, found in spans.items():
        for a, b in zip(found, found[1:]):
            t.equal(a[2], b[1], f'stream {stream}: no gap and no overlap')
        mine = sorted((c['gpu_start_ns'], c['gpu_end_ns']) for c in work.values() if c['stream'] == stream)
        t.equal([to for name, _, to in found if name == 'Running'], [to for _, to in mine], f'stream {stream} runs')
    t.equal(sorted(spans), sorted({c['stream'] for c in work.values()}), 'streams')
    names = {name for found in spans.values() for name, _, _ in found}
    t.check({'Running'} < names <= {'Idle', 'Wait', 'Dispatch Pending', 'Running'}, f'states: {names}')  # which of them depends on the machine


def event_names(packets):
    """{number: name} of the events of a trace of one rank."""
    return {value(n, 'iid'): value(n, 'str') for p in packets for i in values(p, 'interned_data') for n in values(i, 'event_names')}


def check_states(t, work, packets, events):
    names = event_names(packets)
    tracks = {value(d, 'uuid'): value(d, 'name', '') for p in packets for d in values(p, 'track_descriptor')}
    spans, last = {}, {}
    for at, v in events:
        name = tracks.get(value(v, 'track_uuid'), '')
        if not name.endswith(': state'):
            continue
        found = spans.setdefault(int(name.split()[1][:-1]), [])
        if value(v, 'type') == 1:
            found.append([names[value(v, 'name_iid')], at, None])
        elif value(v, 'type') == 2:
            found[-1][2] = at
        else:
            last[int(name.split()[1][:-1])] = (names[value(v, 'name_iid')], at)
    check_spans(t, spans, work)
    t.equal(last, {s: ('Finished', found[-1][2]) for s, found in spans.items()}, 'the end of each stream')


def test_perfetto(t):
    recorded(t)
    cmds = commands(t)
    work, waits = work_of(t, cmds), waits_by_events(cmds)
    packets = values(decode(t, 'perfetto.proto', 'Trace', export(t, 'perfetto')), 'packet')
    t.equal(value(packets[0], 'sequence_flags'), 3, 'the first packet clears what was interned')
    t.check(all(value(p, 'sequence_flags') == 2 for p in packets[1:]), 'others need it')
    stages = {value(v, 'event_id'): (value(p, 'timestamp'), v) for p in packets for v in values(p, 'gpu_render_stage_event')}
    t.equal(sorted(stages), sorted(work), 'one stage for each command with a time')
    for seq, (at, stage) in stages.items():
        args = {value(a, 'name'): value(a, 'uint_value') for a in values(value(stage, 'launch'), 'args')}
        t.equal((at, value(stage, 'duration'), args['stream'], args['seq']), (work[seq]['gpu_start_ns'], gpu_ns(work[seq]), work[seq]['stream'], seq), f'#{seq}')
        t.equal(sorted(values(stage, 'event_wait_ids')), waits[seq], f'what #{seq} waited for')
    t.check(any(waits.values()), 'pipeline waits for other streams')
    events = [(value(p, 'timestamp'), v) for p in packets for v in values(p, 'track_event')]
    calls = {value(v, 'correlation_id'): (at, v) for at, v in events if value(v, 'correlation_id')}
    t.check(set(work) <= set(calls), 'each has its call')
    t.equal({s: calls[s][0] for s in work}, {s: work[s]['host_ns'] for s in work}, 'when they were made')
    t.equal({s: value(calls[s][1], 'callstack_weight') for s in work}, {s: gpu_ns(work[s]) for s in work}, 'weights of stacks')
    interned = [i for p in packets for i in values(p, 'interned_data')]
    stacks = {value(s, 'iid'): values(s, 'frame_ids') for i in interned for s in values(i, 'callstacks')}
    frames = {value(f, 'iid'): value(f, 'function_name_id') for i in interned for f in values(i, 'frames')}
    names = {value(f, 'iid'): value(f, 'str') for i in interned for f in values(i, 'function_names')}
    for s in work:
        t.equal(names[frames[stacks[value(calls[s][1], 'callstack_iid')][0]]], 'main', f'the outermost function of #{s}')
    event = event_names(packets)
    waits_of_host = [v for _, v in events if event.get(value(v, 'name_iid')) == 'wait']
    t.equal(len(waits_of_host), sum(c['kind'] == 'sync' for c in cmds.values()), 'waits of the host')
    check_states(t, work, packets, events)
    counts = counters(packets, events)
    streams = {name: [v for _, v in c] for name, c in counts.items() if name.startswith('stream')}
    t.check(streams and all(c[-1] == 0 and min(c) == 0 and max(c) > 0 for c in streams.values()), f'streams fill and empty: {streams}')
    check_device(t, counts)


def counters(packets, events):
    """{name of a counter: [(time, value)]} in order of time."""
    names = {value(d, 'uuid'): value(d, 'name') for p in packets for d in values(p, 'track_descriptor') if values(d, 'counter')}
    out = {}
    for at, v in sorted(((at, v) for at, v in events if value(v, 'type') == 4), key=lambda x: x[0]):
        real = value(v, 'double_counter_value')
        out.setdefault(names[value(v, 'track_uuid')], []).append((at, value(v, 'counter_value') if real is None else real))
    return out


def integral(steps):
    """Of a counter that keeps each value until the next one."""
    return sum(v * (then - at) for (at, v), (then, _) in zip(steps, steps[1:]))


def check_device(t, counts):
    """What counters of the device add up to is what stats has."""
    stats = json.loads(t.tsdb('stats', 't.sbt', '--json').out)
    device = stats['device_list'][0]
    use, c = device['use'], {name.split(': ')[1]: steps for name, steps in counts.items() if name.startswith('device 0: ')}
    t.equal(set(c), {'utilisation, %', 'commands submitted', 'copies and fills, bytes per second', 'bytes allocated'}, 'counters of the device')
    busy = integral(c['utilisation, %']) / 100
    t.check(abs(busy - use['busy_ns']) < 2, f'busy for {busy}, stats: {use["busy_ns"]}')
    t.check(all(0 <= v <= 100.0001 for _, v in c['utilisation, %']), 'per cent')
    t.equal(max(v for _, v in c['commands submitted']), use['depth_most'], 'the deepest queue')
    moved = integral(c['copies and fills, bytes per second']) / 1e9
    total = sum(x['bytes'] for x in stats['copies_by'] if x['timed'])
    t.check(abs(moved - total) <= 1 + total / 1e6, f'{moved} bytes moved, stats: {total}')
    memory = [v for _, v in c['bytes allocated']]
    t.equal((max(memory), memory[-1]), (device['alloc_peak'], device['alloc_bytes']), 'memory')
    for name in set(c) - {'bytes allocated'}:
        t.equal(c[name][-1][1], 0, f'{name} at the end')


def test_perfetto_counters(t):
    """The same of a longer run, in which idle time passes and windows grow."""
    recorded(t, 'transformer')
    packets = values(decode(t, 'perfetto.proto', 'Trace', export(t, 'perfetto')), 'packet')
    events = [(value(p, 'timestamp'), v) for p in packets for v in values(p, 'track_event')]
    counts = counters(packets, events)
    check_device(t, counts)
    t.check(sum(len(c) for name, c in counts.items() if name.startswith('device')) < 5 * 3 * 4096, 'how many there are is bounded')


def ask(path, method='GET', host='127.0.0.1:9001', **headers):
    """(status, headers, body) of a request to the port of --open."""
    c = http.client.HTTPConnection('127.0.0.1', 9001, timeout=60)
    c.putrequest(method, path, skip_host=True)
    for name, text in {'Host': host, **headers}.items():
        c.putheader(name, text)
    c.endheaders()
    r = c.getresponse()
    out = r.status, dict(r.getheaders()), r.read()
    c.close()
    return out


PAGE = 'https://ui.perfetto.dev'


def check_refused(t, path):
    """What the server gives to nobody."""
    for what, words in (('another page', {'Origin': 'https://evil.example'}), ('a page from a file', {'Origin': 'null'}), ('a page like it', {'Origin': PAGE + '.evil.example'}),
                        ('another name of this machine', {'host': 'evil.example:9001'}), ('two origins', {'Origin': PAGE + ' https://evil.example'})):
        got = ask(path, **words)
        t.equal((got[0], got[2], 'Access-Control-Allow-Origin' in got[1]), (403, b'', False), what)
    t.equal(ask('/a%20b%26c.pftrace', Origin=PAGE)[0], 404, 'without the word')
    t.equal(ask(path + '/../x', Origin=PAGE)[0], 404, 'another path')
    t.equal(ask(path, 'POST', Origin=PAGE)[0], 405, 'another method')
    for rubbish in (b'\0\0\0', b'GET\r\n\r\n', b'x' * 9000, b'GET / HTTP/1.1\r\n\r\n'):
        with socket.create_connection(('127.0.0.1', 9001), timeout=60) as c:
            try:
                c.sendall(rubbish)
                c.shutdown(socket.SHUT_WR)
                while c.recv(100):
                    pass
            except OSError:
                pass  # it has hung up


def free_port(t):
    with socket.socket() as s:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            s.bind(('127.0.0.1', 9001))
        except OSError as e:
            raise e2e.Skip('port 9001 is in use') from e
        s.listen()
        t.sentence(t.tsdb('export', 'perfetto', 't.sbt', '-o', 'x', '--open'), 'cannot listen on 127.0.0.1:9001')


def test_open(t):
    """The file is served once, whole, from the loopback address, to Perfetto's page and to nobody who asks from elsewhere."""
    recorded(t)
    free_port(t)
    os.mkfifo(t.path('asked'))
    t.executable('xdg-open', f'#!/bin/sh\nprintf %s "$1" >{t.path("asked")}\n')
    env = {**t.environment(), 'PATH': f'{t.dir}:{os.environ["PATH"]}'}
    with subprocess.Popen([e2e.tsdb_path(), 'export', 'perfetto', 't.sbt', '-o', 'a b&c.pftrace', '--open'], cwd=t.dir, env=env, stderr=subprocess.DEVNULL) as p:
        try:
            with open(t.path('asked'), encoding='utf-8') as f:
                url = f.read()
            m = re.fullmatch(r'https://ui\.perfetto\.dev/#!/\?url=http://127\.0\.0\.1:9001(/[0-9a-f]{16}/a%20b%26c\.pftrace)', url)
            t.check(m, f'the address {url}')
            check_refused(t, m[1])
            got = ask(m[1], 'OPTIONS', Origin=PAGE, **{'Access-Control-Request-Private-Network': 'true'})
            t.equal((got[0], got[1].get('Access-Control-Allow-Origin'), got[1].get('Access-Control-Allow-Private-Network')), (204, PAGE, 'true'), 'what the browser asks first')
            t.equal(p.poll(), None, 'it still waits for the page')
            got = ask(m[1], Origin=PAGE)
            with open(t.path('a b&c.pftrace'), 'rb') as f:
                t.equal((got[0], got[1]['Access-Control-Allow-Origin'], got[2]), (200, PAGE, f.read()), 'the file')
            t.equal(p.wait(60), 0, 'it ends')
        finally:
            p.kill()
    with socket.socket() as s:
        t.check(s.connect_ex(('127.0.0.1', 9001)), 'the port is closed')
    t.sentence(t.tsdb('export', 'csv', 't.sbt', '--open'), '--open is for perfetto')
    t.sentence(t.tsdb('export', 'perfetto', 't.sbt', '-o', '-', '--open'), '--open needs a file')


def test_perfetto_races(t):
    """Each race that tsdb races finds is one flow between two slices of category race, which are the two commands as long as they ran."""
    t.need_soft()
    check_races(t, 1, 'race_demo')
    check_races(t, 3, 'variants', 'no-wait')
    recorded(t, 'race_demo', times=False)
    refused = export(t, 'perfetto', '--races', status=1)
    t.match('the trace has no GPU times', refused)
    t.check('drawn' not in refused, f'it looks for no races: {refused}')


def check_races(t, n, *prog):
    recorded(t, *prog)
    races = json.loads(t.tsdb('races', 't.sbt', '--json').out)
    t.equal(len(races), n, f'races of {prog}')
    work = {s: c for s, c in commands(t).items() if c['kind'] in WORK and c.get('gpu_start_ns')}
    packets = values(decode(t, 'perfetto.proto', 'Trace', export(t, 'perfetto', '--races')), 'packet')
    interned = [i for p in packets for i in values(p, 'interned_data')]
    categories = {value(n, 'iid'): value(n, 'str') for i in interned for n in values(i, 'event_categories')}
    tracks = {value(d, 'uuid'): value(d, 'name', '') for p in packets for d in values(p, 'track_descriptor')}
    flows, ends = {}, {}
    for p in packets:
        for v in values(p, 'track_event'):
            track = tracks.get(value(v, 'track_uuid'), '')
            if value(v, 'type') == 2 and track.endswith(': races'):
                ends[value(v, 'track_uuid')] = value(p, 'timestamp')
            for flow in values(v, 'flow_ids'):
                t.equal(categories[value(v, 'category_iids')], 'race', 'category')
                flows.setdefault(flow, []).append((track, value(p, 'timestamp'), [value(a, 'string_value') for a in values(v, 'debug_annotations')]))
    t.equal(len(flows), len(races), 'a flow for each race')
    for r, (_, found) in zip(races, sorted(flows.items())):
        both = [work[r[x]['seq']] for x in 'ab']
        t.equal(sorted((x[0], x[1]) for x in found), sorted((f'stream {c["stream"]}: races', c['gpu_start_ns']) for c in both), 'both commands')
        t.check(all(any(r['cure'] in text for text in x[2]) for x in found), f'the cure is said: {found}')
    t.check(set(ends.values()) <= {c['gpu_end_ns'] for c in work.values()}, 'slices end with their commands')
    plain = values(decode(t, 'perfetto.proto', 'Trace', export(t, 'perfetto')), 'packet')
    t.equal([v for p in plain for v in values(p, 'track_event') if values(v, 'flow_ids')], [], 'only when asked')
    t.match('does not draw races', export(t, 'csv', '--races', status=1))
    t.match('exclude each other', export(t, 'perfetto', '--races', '--stream', '1', status=1))


def check_kineto_waits(t, rows, cmds):
    """A row for each wait, with the record that it is for: the last of its event."""
    last, wanted = {}, []
    for seq, c in sorted(cmds.items()):
        if c['kind'] == 'event_record':
            last[c['event']] = (seq, c['stream'])
        elif c['kind'] == 'stream_wait':
            wanted.append(('Stream Wait Event', seq, c['stream']) + last[c['event']])
        elif c['kind'] == 'sync':
            event = last[c['event']] if c['scope'] == 'event' else (None, None)
            wanted.append(({'ctx': 'Context Sync', 'stream': 'Stream Sync', 'event': 'Event Sync'}[c['scope']], seq, c['stream'] if c['scope'] == 'stream' else -1) + event)
    found = [(e['name'], e['args']['correlation'], e['args']['stream'], e['args'].get('wait_on_cuda_event_record_corr_id'), e['args'].get('wait_on_stream')) for e in rows]
    t.check(any(w[0] == 'Stream Wait Event' for w in wanted), 'waits')
    t.equal(sorted(found, key=str), sorted(wanted, key=str), 'what waits for what')


def test_kineto(t):
    """The rules by which HTA reads such a file."""
    recorded(t)
    work = work_of(t, commands(t))
    text = export(t, 'kineto').decode()
    t.check(any(re.search(r'"rank":\s+(\d+)', line) for line in text.splitlines()[:5]), 'HTA finds the rank by this expression, line by line')
    d = json.loads(text)
    rows = [e for e in d['traceEvents'] if e['ph'] == 'X']
    t.check(all(e['dur'] >= 0 and isinstance(e['pid'], int) and isinstance(e['tid'], int) for e in rows), 'each row has a length')
    gpu = {e['args']['correlation']: e for e in rows if e['cat'] in ('kernel', 'gpu_memcpy', 'gpu_memset')}
    host = {e['args']['correlation']: e for e in rows if e['cat'] in ('cuda_runtime', 'cuda_driver') and e['args']['correlation'] in gpu}
    t.equal(sorted(gpu), sorted(work), 'rows of the GPU')
    t.equal(len([e for e in rows if e['cat'].startswith(('kernel', 'gpu_'))]), len(gpu), 'no number twice')
    t.equal(sorted(host), sorted(work), 'rows of the host')
    for s, e in gpu.items():
        t.equal(round(e['dur'] * 1000), gpu_ns(work[s]), f'length of #{s}')
        t.equal(d['baseTimeNanoseconds'] + round(e['ts'] * 1000), work[s]['gpu_start_ns'], f'begin of #{s}')
        t.equal((e['args']['stream'], e['tid']), (work[s]['stream'],) * 2, f'stream of #{s}')
    t.check(all(e['dur'] > 0 for e in host.values()), "HTA's critical path leaves out calls of length 0, and what they launched")
    t.check({'cudaLaunchKernel', 'cudaMemcpyAsync'} <= {e['name'] for e in host.values()}, 'names of the runtime')
    arrows = [(e['ph'], e['id']) for e in d['traceEvents'] if e['ph'] in 'sf']
    t.equal(sorted(arrows), sorted([(p, s) for p in 'sf' for s in work]), 'arrows')
    t.equal(d['deviceProperties'][0]['id'], 0, 'the device')
    check_kineto_waits(t, [e for e in rows if e['cat'] == 'cuda_sync'], commands(t))


def test_nvtx_ranges(t):
    """tests/programs/nvtx.cu: "step" twice with "inner" in it, "load" and "job" once."""
    recorded(t, 'nvtx')
    rows = [e for e in json.loads(export(t, 'kineto'))['traceEvents'] if e.get('cat') == 'user_annotation']
    t.equal(sorted(e['name'] for e in rows), ['inner', 'inner', 'job', 'load', 'step', 'step'], 'ranges')
    for inner in (e for e in rows if e['name'] == 'inner'):
        t.check(any(s['ts'] <= inner['ts'] and inner['ts'] + inner['dur'] <= s['ts'] + s['dur'] + 1e-6 for s in rows if s['name'] == 'step'), 'inner lies in a step')


def test_kineto_steps(t):
    """HTA knows steps by the name that PyTorch's profiler gives them: "step 10" has a row of that name, too."""
    recorded(t, 'variants', 'ranges')
    rows = [e for e in json.loads(export(t, 'kineto'))['traceEvents'] if e.get('cat') == 'user_annotation']
    t.equal(sorted(e['name'] for e in rows), [f'ProfilerStep#{i}' for i in range(10, 14)] + [f'step {i}' for i in range(10, 14)], 'rows')
    where = {e['name']: [e[k] for k in ('ts', 'dur', 'pid', 'tid')] for e in rows}
    t.equal([where[f'ProfilerStep#{i}'] for i in range(10, 14)], [where[f'step {i}'] for i in range(10, 14)], 'where they are')


def test_profiles_agree(t):
    """pprof, folded stacks, speedscope and the flame graph come to the same sums, which are the trace's."""
    recorded(t)
    work = work_of(t, commands(t))
    time = sum(gpu_ns(c) for c in work.values())
    folded = {}
    for line in export(t, 'folded').decode().splitlines():
        stack, n = line.rsplit(' ', 1)
        folded[stack] = folded.get(stack, 0) + int(n)
    t.equal(sum(folded.values()), time, 'folded')
    t.check(all(s.startswith('main;') and s.rsplit(';', 1)[1].startswith('[') for s in folded), 'outermost first, the GPU last')
    t.equal({s.rsplit(';', 1)[1] for s in folded if 'GPU_Kernel' in s}, {'[GPU_Kernel]scale(float*, float, int)', '[GPU_Kernel]accumulate(float*, float const*, int)'}, 'kernels')
    s = json.loads(export(t, 'speedscope'))
    p = s['profiles'][0]
    t.equal((sum(p['weights']), p['endValue'], len(p['weights']), p['unit']), (time, time, len(p['samples']), 'nanoseconds'), 'speedscope')
    t.check(all(0 <= i < len(s['shared']['frames']) for stack in p['samples'] for i in stack), 'frames')
    got = {}
    for stack, w in zip(p['samples'], p['weights']):
        name = ';'.join(s['shared']['frames'][i]['name'] for i in stack)
        got[name] = got.get(name, 0) + w
    t.equal(got, folded, 'speedscope and folded')
    shown = [(f['name'], f.get('file')) for f in s['shared']['frames']]
    t.equal(len(set(shown)), len(shown), 'speedscope adds up by the number of a frame: a function has one')
    stacks = [c['frames'] for c in map(json.loads, t.tsdb('view', 't.sbt', '--json', '--stacks').out.splitlines()) if c['seq'] in work]
    lines = {f['function']: min(x['line'] for frames in stacks for x in frames if x['function'] == f['function']) for frames in stacks for f in frames if f['line']}
    t.equal({f['name']: f['line'] for f in s['shared']['frames'] if f.get('file')}, {n: lines[n] for n in lines if n in {f['name'] for f in s['shared']['frames']}}, 'lines')
    profile = decode(t, 'pprof.proto', 'Profile', gzip.decompress(export(t, 'pprof')))
    texts = values(profile, 'string_table')
    t.equal((texts[0], texts[value(profile, 'default_sample_type')]), ('', 'gpu'), 'texts')
    samples = values(profile, 'sample')
    launches, moved = sum(c['kind'] == 'launch' for c in work.values()), sum(c['size'] for c in work.values() if c['kind'] in ('copy', 'fill'))
    t.equal([sum(values(x, 'value')[i] for x in samples) for i in range(3)], [launches, moved, time], 'pprof: a copy is no launch')
    flame = ET.fromstring(export(t, 'flamegraph'))
    boxes = [(float(g.get('data-x')), float(g.get('data-w'))) for g in flame.iter('{http://www.w3.org/2000/svg}g')]
    t.equal(boxes[0], (0.0, 1.0), 'the whole')
    t.check(all(x >= -1e-3 and x + w <= 1 + 1e-3 for x, w in boxes), 'boxes lie within')


def pprof_top(t, *words):
    """{kernel or copy: its own value} as `go tool pprof` adds it up; a text has no blanks there."""
    p = subprocess.run(['go', 'tool', 'pprof', '-top', '-unit=ns', '-nodecount=0', '-nodefraction=0', *words], cwd=t.dir, capture_output=True, text=True, check=False,
                       env={**t.environment(), 'HOME': t.dir, 'PPROF_TMPDIR': t.dir})
    t.equal(p.returncode, 0, p.stderr)
    rows = [line.split(None, 5) for line in p.stdout.splitlines() if re.match(r' *-?\d+(ns)? +\d', line)]
    return {r[5].strip(): int(r[0].removesuffix('ns')) for r in rows if r[0] not in ('0', '0ns')}


def test_pprof_is_read_by_pprof(t):
    """go tool pprof itself: what each kernel took, and of two runs what has become longer."""
    if not shutil.which('go'):
        raise e2e.Skip('needs golang-go')
    sums = {}
    for run in 'ab':
        recorded(t)
        work = work_of(t, commands(t))
        export(t, 'pprof')
        os.rename(t.path('x'), t.path(run + '.pb.gz'))
        sums[run] = {}
        for c in (c for c in work.values() if c['kind'] == 'launch'):
            sums[run][c['kernel_name'].split('(')[0]] = sums[run].get(c['kernel_name'].split('(')[0], 0) + gpu_ns(c)
    found = {r: {re.sub(r'^\[GPU_Kernel\]|\(.*', '', k): n for k, n in pprof_top(t, f'{r}.pb.gz').items() if 'GPU_Kernel' in k} for r in 'ab'}
    t.equal(found, sums, '-top')
    more = {re.sub(r'^\[GPU_Kernel\]|\(.*', '', k): n for k, n in pprof_top(t, '-diff_base=a.pb.gz', 'b.pb.gz').items() if 'GPU_Kernel' in k}
    t.equal(more, {k: n - sums['a'][k] for k, n in sums['b'].items() if n != sums['a'][k]}, '-diff_base')


def hatchet_rows(tree, above=()):
    """(path, metrics) of each node, and the rule of Hatchet: what a node has with all below is its own and that of its children."""
    for node in tree:
        path = above + (node['frame']['name'],)
        for m in ('time', 'launches', 'bytes'):
            if m in node['metrics']:
                assert node['metrics'][m + ' (inc)'] == node['metrics'][m] + sum(c['metrics'][m + ' (inc)'] for c in node['children']), path
        yield path, node
        yield from hatchet_rows(node['children'], path)


def test_hatchet(t):
    recorded(t)
    work = work_of(t, commands(t))
    tree = json.loads(export(t, 'hatchet'))
    rows = list(hatchet_rows(tree))
    for m, expected in (('time', sum(map(gpu_ns, work.values()))), ('launches', sum(c['kind'] == 'launch' for c in work.values())),
                        ('bytes', sum(c['size'] for c in work.values() if c['kind'] in ('copy', 'fill')))):
        t.equal(sum(n['metrics'][m + ' (inc)'] for n in tree), expected, m)
    t.equal({n['frame']['type'] for _, n in rows}, {'function', 'kernel', 'memory'}, 'types')
    t.check(all(not n['children'] for _, n in rows if n['frame']['type'] != 'function'), 'work is a leaf')
    stacks = {}
    for line in t.tsdb('export', 'folded', 't.sbt', '-o', '-').out.splitlines():
        stack, weight = line.rsplit(' ', 1)
        stacks[re.sub(r'\[GPU_Kernel\]|[][]', '', stack)] = int(weight)
    t.equal({re.sub(r'[][]', '', ';'.join(path)): n['metrics']['time'] for path, n in rows if n['metrics']['time']}, stacks, 'as folded has them')
    recorded(t, times=False)
    t.check(all('time' not in n['metrics'] for _, n in hatchet_rows(json.loads(export(t, 'hatchet')))), 'no times are invented')


def test_csv(t):
    recorded(t)
    cmds = commands(t)
    rows = list(csv.DictReader(io.StringIO(export(t, 'csv').decode())))
    begun = {s: c for s, c in cmds.items() if c['kind'] != 'sync_end'}
    t.equal(sorted(int(r['seq']) for r in rows), sorted(begun), 'a line for each')
    for r in rows:
        c = begun[int(r['seq'])]
        t.equal((r['kind'], int(r['host_ns'])), (c['kind'], c['host_ns']), r['seq'])
        if c['kind'] == 'launch':
            t.equal((int(r['grid_x']), int(r['stream'])), (c['grid_x'], c['stream']), r['seq'])
    part = list(csv.DictReader(io.StringIO(export(t, 'csv', '30-40', '--stream', '2').decode())))
    t.equal([int(r['seq']) for r in part], [s for s, c in sorted(begun.items()) if 30 <= s <= 40 and c.get('stream') == 2 and c['kind'] in
                                           WORK + ('event_record', 'stream_wait')], 'a range of one stream')


def database(t, prog='pipeline'):
    recorded(t, prog)
    export(t, 'sqlite')
    db = sqlite3.connect(t.path('x'))
    t.equal(db.execute('PRAGMA integrity_check').fetchall(), [('ok',)], 'a sound database')
    return db


def test_sqlite(t):
    """tsdb's own tables say what `view --json` does."""
    db = database(t)
    cmds = commands(t)
    work, waits = work_of(t, cmds), waits_by_events(cmds)
    begun = {s: c for s, c in cmds.items() if c['kind'] != 'sync_end'}
    rows = {r[0]: r[1:] for r in db.execute('SELECT seq, k.value, stream, thread, host_ns, gpu_start_ns, gpu_end_ns FROM command JOIN StringIds k ON k.id = kind')}
    t.equal(sorted(rows), sorted(begun), 'a row for each command')
    for s, (kind, stream, thread, host, start, end) in rows.items():
        c = begun[s]
        t.equal((kind, thread, host), (c['kind'], c['thread'], c['host_ns']), f'#{s}')
        t.equal((stream, start, end), (c['stream'], c['gpu_start_ns'], c['gpu_end_ns']) if s in work else (stream, None, None), f'#{s} on the GPU')
    t.equal(sorted(db.execute('SELECT seq, waits_for FROM edge')), sorted((s, w) for s in work for w in waits[s]), 'who waited for whom')
    grids = dict((r[0], r[1:]) for r in db.execute('SELECT seq, k.name, grid_x, block_x FROM launch JOIN kernel k ON k.id = kernel'))
    t.equal(grids, {s: (grids[s][0], c['grid_x'], c['block_x']) for s, c in cmds.items() if c['kind'] == 'launch'}, 'launches')
    t.equal({n for n, _, _ in grids.values()}, {'scale(float*, float, int)', 'accumulate(float*, float const*, int)'}, 'kernels')
    t.equal(set(db.execute('SELECT function FROM stack JOIN command USING (stack) JOIN launch USING (seq) WHERE depth = 0')), {('main',)}, 'the outermost function')
    spans = {}
    for stream, name, start, end in db.execute('SELECT stream, state, start_ns, end_ns FROM state ORDER BY rowid'):
        spans.setdefault(stream, []).append((name, start, end))
    check_spans(t, spans, work)
    t.equal(db.execute("SELECT value FROM meta WHERE key = 'program'").fetchone()[0].split('/')[-1], 'pipeline', 'the program')


def test_sqlite_as_nsight_systems(t):
    """Queries that others published for the export of Nsight Systems, as they are made there: they look for tables and add columns."""
    db = database(t)
    work = work_of(t, commands(t))
    tables = {r[0] for r in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    t.check({'CUPTI_ACTIVITY_KIND_' + x for x in ('KERNEL', 'MEMCPY', 'MEMSET', 'RUNTIME', 'SYNCHRONIZATION')} <= tables, 'tables')
    db.executescript("""
        ALTER TABLE CUPTI_ACTIVITY_KIND_RUNTIME ADD COLUMN name TEXT;
        ALTER TABLE CUPTI_ACTIVITY_KIND_RUNTIME ADD COLUMN kernelName TEXT;
        UPDATE CUPTI_ACTIVITY_KIND_RUNTIME SET kernelName = (SELECT value FROM StringIds JOIN CUPTI_ACTIVITY_KIND_KERNEL AS cuda_gpu
            ON cuda_gpu.shortName = StringIds.id AND CUPTI_ACTIVITY_KIND_RUNTIME.correlationId = cuda_gpu.correlationId);
        UPDATE CUPTI_ACTIVITY_KIND_RUNTIME SET name = (SELECT value FROM StringIds WHERE nameId = StringIds.id);
        ALTER TABLE CUDA_CALLCHAINS ADD COLUMN symbolName TEXT;
        UPDATE CUDA_CALLCHAINS SET symbolName = (SELECT value FROM StringIds WHERE symbol = StringIds.id);""")
    names = dict(db.execute('SELECT correlationId, name || COALESCE(":" || kernelName, "") FROM CUPTI_ACTIVITY_KIND_RUNTIME').fetchall())
    t.equal(sorted(names[s] for s, c in work.items() if c['kind'] == 'launch'), ['cudaLaunchKernel_v7000:accumulate'] * 8 + ['cudaLaunchKernel_v7000:scale'] * 8, 'calls with the kernels they launched')
    chains = {}
    for call, depth, name in db.execute('SELECT correlationId, stackDepth, symbolName FROM CUDA_CALLCHAINS JOIN CUPTI_ACTIVITY_KIND_RUNTIME ON callchainId == CUDA_CALLCHAINS.id'):
        chains.setdefault(call, {})[depth] = name
    t.check(all(sorted(c) == list(range(len(c))) for c in chains.values()), 'depths')
    deep = [c for c in chains.values() if len(c) > 1 and 'main' in c.values()]
    t.check(deep and all(c[len(c) - 1] == 'main' for c in deep), 'the outermost function comes last')
    pid = db.execute("SELECT value FROM meta WHERE key = 'pid'").fetchone()[0]
    t.equal(set(db.execute('SELECT globalTid / 0x1000000 % 0x1000000, globalTid % 0x1000000 FROM CUPTI_ACTIVITY_KIND_RUNTIME')), {(pid, pid)}, 'process and thread')
    start = db.execute('SELECT utcEpochNs FROM TARGET_INFO_SESSION_START_TIME').fetchone()[0]
    found = {}
    for table in ('KERNEL', 'MEMCPY', 'MEMSET'):
        found.update((s, (a + start, b + start, stream)) for s, a, b, stream in db.execute(f'SELECT correlationId, start, end, streamId FROM CUPTI_ACTIVITY_KIND_{table}'))
    t.equal(found, {s: (c['gpu_start_ns'], c['gpu_end_ns'], c['stream']) for s, c in work.items()}, 'work of the GPU')
    copies = db.execute('SELECT label, COUNT(*), SUM(bytes) FROM CUPTI_ACTIVITY_KIND_MEMCPY JOIN ENUM_CUDA_MEMCPY_OPER e ON e.id = copyKind GROUP BY label').fetchall()
    t.equal(sorted(copies), sorted((label, sum(c['dir'] == d for c in work.values() if c['kind'] == 'copy'), sum(c['size'] for c in work.values() if c['kind'] == 'copy' and c['dir'] == d))
                                   for d, label in (('h2d', 'Host-to-Device'), ('d2h', 'Device-to-Host')) if any(c.get('dir') == d for c in work.values())), 'copies')


def test_sqlite_ranges(t):
    db = database(t, 'nvtx')
    ranges = db.execute('SELECT text, start, end FROM NVTX_EVENTS WHERE eventType = 59').fetchall()
    t.equal(sorted(r[0] for r in ranges), ['inner', 'inner', 'job', 'load', 'step', 'step'], 'ranges')
    t.check(all(a <= b for _, a, b in ranges), 'they end after they begin')


def test_readers(t):
    """The readers for machines without tools (tests/export/readers.py, tests/real/seeing) take each format, and notice each sum that is another."""
    recorded(t)
    wanted = readers.of_trace(e2e.tsdb_path(), t.path('t.sbt'))
    t.equal((wanted.work, wanted.launches), (len(work_of(t, commands(t))), 16), 'the trace')
    says = {'work': ('perfetto', 'kineto', 'sqlite', 'csv'), 'launches': tuple(readers.READERS), 'ns': tuple(f for f in readers.READERS if f != 'flamegraph')}
    for form in readers.READERS:
        total, launches, _ = readers.read(e2e.tsdb_path(), t.path('t.sbt'), form, t.dir)
        readers.compare(total, launches, wanted)
        for what in says:
            other = readers.Sum(wanted.work, wanted.launches, wanted.ns)
            setattr(other, what, getattr(wanted, what) + 1)
            try:
                readers.compare(total, launches, other)
                t.check(form not in says[what], f'{form} notices other {what}')
            except readers.Wrong:
                t.check(form in says[what], f'{form} knows nothing of {what}')


def test_sqlite_wherever_it_goes(t):
    """Pages are written to their places in a new file, and elsewhere first where there is no such file; the database is the same, rows that
    come out of order among it."""
    recorded(t, 'nvtx')
    whole = export(t, 'sqlite')

    def sent(shell):
        p = t.run(['sh', '-c', shell.replace('EXPORT', '"$0" export sqlite t.sbt -o -'), e2e.tsdb_path()])
        t.equal((p.status, p.out), (0, ''), shell + ': ' + p.err)
        with open(t.path('there'), 'rb') as f:
            return f.read()

    t.equal(sent('EXPORT >there') == whole, True, 'a new file')
    t.equal(sent('EXPORT | cat >there') == whole, True, 'a pipe')
    t.equal(sent(': >there; EXPORT >>there') == whole, True, 'appended')
    t.equal(sent('printf before >there; EXPORT >>there') == b'before' + whole, True, 'appended to a file with something in it')
    t.equal(sent('{ printf before; EXPORT; printf behind; } >there') == b'before' + whole + b'behind', True, 'between other things')
    t.equal(sent('{ EXPORT; printf behind; } >there') == whole + b'behind', True, 'before other things')
    t.equal(sent('exec 3>gone 4<gone; rm gone; EXPORT >&3; cat <&4 >there') == whole, True, 'a file without a name')
    t.equal(sent('exec 3>gone 4<gone; mv gone moved; printf x >gone; EXPORT >&3; cat <&4 >there') == whole, True, 'a file of another name')
    with open(t.path('gone'), 'rb') as f:
        t.equal(f.read(), b'x', 'the other file is as it was')
    t.equal([n for n in os.listdir(t.dir) if 'late' in n or 'journal' in n], [], 'nothing is left beside it')


def test_without_times(t):
    """No length is invented: what needs GPU times is refused by name, the rest is written."""
    recorded(t, times=False)
    for form in ('perfetto', 'kineto', 'folded', 'flamegraph', 'speedscope'):
        t.match(r'no GPU times', export(t, form, status=1))
        t.check(not os.path.exists(t.path('x')) and not os.path.exists(t.path('x.part')), 'no file is left')
    folded = export(t, 'folded', '--weight', 'count').decode().splitlines()
    t.equal(sum(int(line.rsplit(' ', 1)[1]) for line in folded), sum(c['kind'] in WORK for c in commands(t).values()), 'by count')
    export(t, 'pprof')
    export(t, 'csv')
    export(t, 'sqlite')
    t.equal(sqlite3.connect(t.path('x')).execute('SELECT COUNT(*) FROM CUPTI_ACTIVITY_KIND_KERNEL').fetchone(), (0,), 'no time, no activity')


def test_refused(t):
    recorded(t)
    for words in ([], ['vhs', 't.sbt'], ['csv'], ['csv', 't.sbt', '--weight', 'count'], ['folded', 't.sbt', '--weight', 'kg'], ['csv', 't.sbt', 'x-y'],
                  ['csv', 't.sbt', '--stream', 'two'], ['csv', 't.sbt', '-o'], ['csv', 'none.sbt'], ['csv', 't.sbt', '--fast'], ['csv', 't.sbt', '-o', 'no/such/folder']):
        t.sentence(t.tsdb('export', *words), r'^tsdb: ')


def test_standard_output_and_names(t):
    recorded(t)
    r = t.tsdb('export', 'folded', 't.sbt', '-o', '-')
    t.check(r.status == 0 and r.out.startswith('main;') and 'of 16 launches 16 have a stack and 16 a GPU time' in r.err, r.err)
    t.equal(t.tsdb('export', 'flamegraph', 't.sbt').status, 0, 'a name by itself')
    t.check(os.path.exists(t.path('t.svg')), 't.svg')


# -- sets

LATE = 5_000_000  # ns by which rank 1's clock is late in a_set()


def a_set(t):
    """all.sbt of two ranks; {rank: its work by number}, times on the set's clock."""
    for rank in '01':
        r = t.tsdb('record', '--gpu', t.gpu, '--timestamps', '-o', f'r{rank}.sbt', e2e.program('pipeline'), env={'RANK': rank, 'WORLD_SIZE': '2'})
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
        if c['kind'] in WORK and c.get('gpu_start_ns'):
            c.update((k, c[k] + LATE * c['rank']) for k in ('host_ns', 'gpu_start_ns', 'gpu_end_ns'))
            t.equal(c['host_ns'], c['time_ns'], 'the time of the set')
            found[c['rank']][c['seq']] = c
    t.check(all(len(w) > 20 for w in found.values()), 'work of both')
    return found


def export_set(t, form, *words):
    r = t.tsdb('export', form, 'all.sbt', '-o', 'x', *words)
    t.equal(r.status, 0, form + ': ' + r.err)
    with open(t.path('x'), 'rb') as f:
        return f.read()


def test_sets_in_one_file(t):
    work = a_set(t)
    t.check(min(work[0]) == min(work[1]), 'both count from the same numbers')
    packets = values(decode(t, 'perfetto.proto', 'Trace', export_set(t, 'perfetto')), 'packet')
    for rank in work:
        own = [p for p in packets if value(p, 'trusted_packet_sequence_id') == rank + 1]
        t.equal(value(own[0], 'sequence_flags'), 3, f'rank {rank} begins a sequence')
        stages = {value(v, 'event_id'): (value(p, 'timestamp'), value(v, 'gpu_id', 0)) for p in own for v in values(p, 'gpu_render_stage_event')}
        t.equal(stages, {s: (c['gpu_start_ns'], rank) for s, c in work[rank].items()}, f'work of rank {rank} on the clock of the set')
    tracks = [value(d, 'uuid') for p in packets for d in values(p, 'track_descriptor')]
    t.equal(len(tracks), len(set(tracks)), 'no track twice')
    time = {r: sum(gpu_ns(c) for c in w.values()) for r, w in work.items()}
    folded = {0: 0, 1: 0}
    for line in export_set(t, 'folded').decode().splitlines():
        m = t.match(r'^rank ([01]);main;.* (\d+)$', line)
        folded[int(m[1])] += int(m[2])
    t.equal(folded, time, 'folded')
    s = json.loads(export_set(t, 'speedscope'))
    names = [f['name'] for f in s['shared']['frames']]
    found = {0: 0, 1: 0}
    for stack, w in zip(s['profiles'][0]['samples'], s['profiles'][0]['weights']):
        found[int(names[stack[0]].split()[1])] += w
    t.equal(found, time, 'speedscope')
    profile = decode(t, 'pprof.proto', 'Profile', gzip.decompress(export_set(t, 'pprof')))
    texts = values(profile, 'string_table')
    found = {0: 0, 1: 0}
    for x in values(profile, 'sample'):
        found[next(value(n, 'num', 0) for n in values(x, 'label') if texts[value(n, 'key')] == 'rank')] += values(x, 'value')[2]
    t.equal(found, time, 'pprof')
    rows = list(csv.DictReader(io.StringIO(export_set(t, 'csv').decode())))
    t.equal(sorted((int(r['rank']), int(r['seq']), int(r['gpu_start_ns'])) for r in rows if r['gpu_start_ns']),
            sorted((c['rank'], s, c['gpu_start_ns']) for w in work.values() for s, c in w.items()), 'csv')
    one = list(csv.DictReader(io.StringIO(export_set(t, 'csv', '--rank', '1', '20-30').decode())))
    t.check(one and {r['rank'] for r in one} == {'1'} and all(20 <= int(r['seq']) <= 30 for r in one), 'a range of one rank')


def as_perfetto_reads(t, data):
    """{name: bytes} of a ZIP file by the rules of Perfetto's own reader: from the first byte on, version 2.0, no ZIP64, deflate where sizes come behind."""
    members, at = {}, 0
    while data[at:at + 4] == b'PK\x03\x04':
        version, flags, method, _, _, _, _, _, name, extra = struct.unpack('<HHHHHIIIHH', data[at + 4:at + 30])
        t.check(version <= 20 and not flags & ~8 and method == 8 and flags == 8, f'version {version}, flags {flags}, method {method}')
        begin = at + 30 + name + extra
        d = zlib.decompressobj(-15)
        text = d.decompress(data[begin:]) + d.flush()
        t.check(d.eof, 'a whole stream')
        at = len(data) - len(d.unused_data)
        t.equal(struct.unpack('<IIII', data[at:at + 16]), (0x08074b50, zlib.crc32(text), at - begin, len(text)), 'what comes behind it')
        members[data[begin - extra - name:begin - extra].decode()] = text
        at += 16
    t.equal(data[at:at + 4], b'PK\x01\x02', 'the list')
    return members


def archive(t, **rank1):
    """all.sbt as a ZIP file, with rank 1 changed so, by two readers: ({name: bytes}, the manifest)."""
    with open(t.path('all.sbt'), encoding='utf-8') as f:
        s = json.load(f)
    s['traces'][1].update(rank1)
    with open(t.path('all.sbt'), 'w', encoding='utf-8') as f:
        json.dump(s, f)
    r = t.tsdb('export', 'perfetto', 'all.sbt')
    t.equal((r.status, os.path.exists(t.path('all.pftrace'))), (0, False), r.err)
    t.match('Each of 2 ranks is a file in it', r.err)
    with zipfile.ZipFile(t.path('all.pftrace.zip')) as z:
        t.equal(z.testzip(), None, 'checksums')
        members = {n: z.read(n) for n in z.namelist()}
    with open(t.path('all.pftrace.zip'), 'rb') as f:
        t.equal(as_perfetto_reads(t, f.read()), members, 'two readers')
    t.equal(sorted(members), ['perfetto_manifest.json', 'rank0.pftrace', 'rank1.pftrace'], 'members')
    text = members['perfetto_manifest.json'].decode()
    t.check(text.startswith('{"perfetto_manifest"'), 'known by its first bytes')
    return members, json.loads(text)['perfetto_manifest']


def test_sets_as_an_archive(t):
    """A file for each rank on its own clock, and a manifest with which the times are those of the set."""
    work = a_set(t)
    members, m = archive(t)
    host, name1 = (f['machine'].pop('name') for f in m['files'])
    t.check(host and name1 == f'{host} (rank 1)', f'another clock is another machine: {name1}')
    clocks = {'clock': 'REALTIME', 'sync_to': {'file': 'rank0.pftrace', 'clock': 'REALTIME'}, 'offset_ns': LATE}
    t.equal(m, {'version': 1, 'trace_time': {'clock': 'REALTIME', 'file': 'rank0.pftrace'},
                'files': [{'path': 'rank0.pftrace', 'machine': {}}, {'path': 'rank1.pftrace', 'machine': {}, 'clocks': clocks}]}, 'the manifest')
    check_ranks(t, members, work, LATE)


def check_ranks(t, members, work, offset):
    tracks = set()
    for rank in work:
        packets = values(decode(t, 'perfetto.proto', 'Trace', members[f'rank{rank}.pftrace']), 'packet')
        t.equal({value(p, 'trusted_packet_sequence_id') for p in packets}, {rank + 1}, f'nothing else in the file of rank {rank}')
        t.equal(value(packets[0], 'sequence_flags'), 3, f'rank {rank} begins a sequence')
        found = {value(v, 'event_id'): value(p, 'timestamp') + (offset if rank else 0) for p in packets for v in values(p, 'gpu_render_stage_event')}
        t.equal(found, {s: c['gpu_start_ns'] for s, c in work[rank].items()}, f'rank {rank}, with the offset of the manifest')
        own = {value(d, 'uuid') for p in packets for d in values(p, 'track_descriptor')}
        t.check(not own & tracks, 'tracks of their own')
        tracks |= own


def test_archive_of_a_clock_that_drifts(t):
    """The drift is taken out of the times in the file, the offset is left to the manifest."""
    own = {s: c['gpu_start_ns'] - LATE for s, c in a_set(t)[1].items()}
    at = min(own.values()) - 50_000_000
    members, m = archive(t, drift=0.001, at_ns=at, offset_ns=-LATE, host='elsewhere')
    t.equal((m['files'][1]['machine'], m['files'][1]['clocks']['offset_ns']), ({'name': 'elsewhere'}, -LATE), 'the machine and its offset')
    found = {value(v, 'event_id'): value(p, 'timestamp') for p in values(decode(t, 'perfetto.proto', 'Trace', members['rank1.pftrace']), 'packet')
             for v in values(p, 'gpu_render_stage_event')}
    t.equal(sorted(found), sorted(own), 'all work')
    t.check(all(abs(found[s] - ns - (ns - at) // 1000) <= 1 for s, ns in own.items()), 'the drift')
    _, m = archive(t, fitted=False)
    t.equal(m['files'][1]['clocks']['offset_ns'], 0, 'a clock that is taken as it is')
    _, m = archive(t, host=m['files'][0]['machine']['name'])
    t.check('clocks' not in m['files'][1] and m['files'][0]['machine'] == m['files'][1]['machine'], 'one host, one clock: one machine')


def test_archive_is_refused(t):
    a_set(t)
    whole = 'only a set of ranks is exported as a ZIP file, whole. Give -o a name that does not end in .zip'
    t.sentence(t.tsdb('export', 'perfetto', 'r0.sbt', '-o', 'x.zip'), whole)
    t.sentence(t.tsdb('export', 'perfetto', 'all.sbt', '--rank', '1', '-o', 'x.zip'), whole)
    t.sentence(t.tsdb('export', 'perfetto', 'r0.sbt', 'r1.sbt', '-o', 'x.zip'), whole)
    t.equal(os.path.exists(t.path('x.zip')), False, 'nothing was written')
    with open(t.path('all.sbt'), encoding='utf-8') as f:
        s = json.load(f)
    s['traces'][0].update(fitted=True, offset_ns=2 ** 62)
    s['traces'][1].update(offset_ns=-2 ** 62 - 1)
    with open(t.path('all.sbt'), 'w', encoding='utf-8') as f:
        json.dump(s, f)
    t.sentence(t.tsdb('export', 'perfetto', 'all.sbt'), 'the clocks of ranks 0 and 1 are further apart than Perfetto has numbers for')
    t.equal(os.path.exists(t.path('all.pftrace.zip')), False, 'no half of a file')


def test_sets_in_a_file_each(t):
    work = a_set(t)
    t.equal(t.tsdb('export', 'kineto', 'all.sbt').status, 0, 'kineto')
    for rank in work:
        with open(t.path(f'all.rank{rank}.kineto.json'), encoding='utf-8') as f:
            d = json.load(f)
        t.equal(d['distributedInfo']['rank'], rank, 'its rank')
        found = {e['args']['correlation']: d['baseTimeNanoseconds'] + round(e['ts'] * 1000) for e in d['traceEvents'] if e.get('cat') in ('kernel', 'gpu_memcpy', 'gpu_memset')}
        t.equal(found, {s: c['gpu_start_ns'] for s, c in work[rank].items()}, f'rank {rank}')
    t.sentence(t.tsdb('export', 'sqlite', 'all.sbt', '-o', 'x'), 'sqlite is written as a file for each rank. Give -o a name with %r, or choose one with --rank')
    t.equal(t.tsdb('export', 'sqlite', 'all.sbt', '-o', 'of-%r.db').status, 0, 'sqlite')
    for rank in work:
        starts = dict(sqlite3.connect(t.path(f'of-{rank}.db')).execute('SELECT seq, gpu_start_ns FROM command WHERE gpu_start_ns NOT NULL AND bytes IS NULL'))
        t.equal(starts, {s: c['gpu_start_ns'] for s, c in work[rank].items() if c['kind'] == 'launch'}, f'rank {rank}')
    t.sentence(t.tsdb('export', 'csv', 'all.sbt', '20-30'), "a range is of one rank's commands, and all.sbt is a set")
    t.sentence(t.tsdb('export', 'csv', 'all.sbt', '--rank', '2'), 'all.sbt has no rank 2')
    t.sentence(t.tsdb('export', 'csv', 'r0.sbt', '--rank', '0'), "r0.sbt is one rank's trace, not a set")
