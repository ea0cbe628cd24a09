#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Readers of what `tsdb export` writes, for machines that have Python and nothing else.

    tests/export/readers.py TSDB TRACE [FORMAT...]

Each reads a file by the published rules of its format and says what it adds up to; main() compares that with the
trace's own commands (`tsdb view --json`), format by format. A set of ranks is compared as a whole.
"""
import csv
import gzip
import json
import os
import re
import sqlite3
import struct
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ET
import zipfile

LAUNCHES = ('launch', 'graph_launch')
WORK = LAUNCHES + ('copy', 'fill')
CATEGORIES = {'cuda_runtime', 'cuda_driver', 'kernel', 'gpu_memcpy', 'gpu_memset', 'cuda_sync', 'cuda_event', 'user_annotation', 'gpu_user_annotation', 'overhead'}


class Wrong(Exception):
    pass


def need(right, what):
    if not right:
        raise Wrong(what)


class Sum:
    """What a file has: pieces of work with GPU times, launches among them, nanoseconds of all. None: the format does not say."""

    def __init__(self, work=0, launches=0, ns=0):
        self.work, self.launches, self.ns = work, launches, ns

    def add(self, other):
        for k in ('work', 'launches', 'ns'):
            a, b = getattr(self, k), getattr(other, k)
            setattr(self, k, None if a is None or b is None else a + b)

    def __str__(self):
        said = [(self.launches, 'launches'), (self.work, 'pieces of work'), (self.ns, 'ns')]
        return ', '.join(f'{n} {what}' for n, what in said if n is not None)


# -- protobuf, without a schema

def fields(data):
    """[(number, value)] of a message: an int (varint, fixed) or bytes."""
    at, end, out = 0, len(data), []
    while at < end:
        key, at = varint(data, at)
        number, wire = key >> 3, key & 7
        if wire == 0:
            value, at = varint(data, at)
        elif wire == 2:
            size, at = varint(data, at)
            need(at + size <= end, 'a field that is longer than its message')
            value, at = data[at:at + size], at + size
        elif wire in (1, 5):
            size = 8 if wire == 1 else 4
            need(at + size <= end, 'a number that is cut off')
            value, at = int.from_bytes(data[at:at + size], 'little'), at + size
        else:
            raise Wrong(f'wire type {wire}')
        out.append((number, value))
    return out


def varint(data, at):
    out = shift = 0
    while True:
        need(at < len(data) and shift < 70, 'a number that does not end')
        b = data[at]
        at += 1
        out |= (b & 127) << shift
        if b < 128:
            return out, at
        shift += 7


def get(message, number, other=None):
    return next((v for n, v in message if n == number), other)


# -- formats

def perfetto_packets(data):
    total, begun, ids, calls, weights, stacks, known = Sum(), set(), set(), set(), 0, set(), set()
    for number, packet in fields(data):
        need(number == 1, 'something that is no packet')
        packet = fields(packet)
        sequence, flags = get(packet, 10), get(packet, 13)
        need(sequence, 'a packet without a sequence')
        need(flags == (2 if sequence in begun else 3), f'flags {flags}: such a packet is dropped')
        begun.add(sequence)
        for n, value in packet:
            if n == 53:
                stage = fields(value)
                seq = get(stage, 1)
                need((sequence, seq) not in ids, f'#{seq} twice')
                need(get(packet, 8) and get(stage, 2) is not None, f'#{seq} without a time')
                ids.add((sequence, seq))
                total.add(Sum(1, None, get(stage, 2)))
                need(all((sequence, v) in ids or v < seq for k, v in stage if k == 18), f'#{seq} waits for what comes later')
            elif n == 11:
                event = fields(value)
                if get(event, 52):
                    calls.add((sequence, get(event, 52)))
                if get(event, 56):
                    stacks.add((sequence, get(event, 56)))
                    weights += get(event, 57, 0)
            elif n == 12:
                known |= {(sequence, get(fields(v), 1)) for k, v in fields(value) if k == 7}
    need(ids <= calls, 'work without its call')
    need(stacks <= known, 'a stack that is not there')
    need(weights == total.ns, f'stacks weigh {weights} ns, the work took {total.ns}')
    return total


def perfetto(path):
    if not zipfile.is_zipfile(path):
        with open(path, 'rb') as f:
            return perfetto_packets(f.read())
    total = Sum()
    with zipfile.ZipFile(path) as z:
        need(z.testzip() is None, 'a checksum')
        manifest = json.loads(z.read('perfetto_manifest.json'))['perfetto_manifest']
        need(manifest['version'] == 1, 'the version of the manifest')
        names = sorted(n for n in z.namelist() if n.endswith('.pftrace'))
        need(names == sorted(f['path'] for f in manifest['files']), f'the manifest has other files: {names}')
        for name in names:
            total.add(perfetto_packets(z.read(name)))
    return total


def kineto(path):
    """What HTA, TraceLens and Perfetto take for granted."""
    with open(path, encoding='utf-8') as f:
        head = [f.readline() for _ in range(6)]
        f.seek(0)
        d = json.load(f)
    need(d['schemaVersion'] == 1 and d['deviceProperties'] and isinstance(d['baseTimeNanoseconds'], int), 'the head')
    if 'distributedInfo' in d:
        need(any(re.search(r'"rank":\s+(\d+)', line) for line in head), 'HTA does not find the rank')
    rows = [e for e in d['traceEvents'] if e['ph'] == 'X']
    need({e['cat'] for e in rows} <= CATEGORIES, 'categories')
    need(all(e['dur'] >= 0 and isinstance(e['pid'], int) and isinstance(e['tid'], int) for e in rows), 'rows')
    gpu = [e for e in rows if e['cat'] in ('kernel', 'gpu_memcpy', 'gpu_memset')]
    host = [e['args']['correlation'] for e in rows if e['cat'] in ('cuda_runtime', 'cuda_driver') and e['dur'] > 0]
    of = {e['args']['correlation'] for e in gpu}
    need(len(of) == len(gpu), 'a correlation twice')
    need(of <= set(host), 'work without its call')
    need(all(e['tid'] == e['args']['stream'] and e['pid'] == e['args']['device'] for e in gpu), 'streams')
    arrows = [(e['ph'], e['id']) for e in d['traceEvents'] if e['ph'] in 'sf']
    need(sorted(arrows) == sorted((p, s) for p in 'sf' for s in of), 'arrows')
    return Sum(len(gpu), None, sum(round(e['dur'] * 1000) for e in gpu))


def pprof(path):
    with gzip.open(path) as f:
        profile = fields(f.read())
    texts = [v.decode() for n, v in profile if n == 6]
    types = [texts[get(fields(v), 1)] for n, v in profile if n == 1]
    need(texts[0] == '' and texts[get(profile, 14)] == 'gpu', 'texts')
    functions = {get(fields(v), 1) for n, v in profile if n == 5}
    places = {}
    for n, v in profile:
        if n == 4:
            place = fields(v)
            places[get(place, 1)] = [get(fields(line), 1) for k, line in place if k == 4]
    need(all(x in functions for p in places.values() for x in p), 'functions')
    total = Sum(None)
    for n, v in profile:
        if n != 2:
            continue
        sample = fields(v)
        numbers = {k: packed(x) for k, x in sample if k in (1, 2)}
        need(all(p in places for p in numbers[1]), 'places')
        values = dict(zip(types, numbers[2]))
        total.launches += values['launches']
        total.ns += values['gpu']
    return total


def packed(value):
    if isinstance(value, int):
        return [value]
    out, at = [], 0
    while at < len(value):
        n, at = varint(value, at)
        out.append(n)
    return out


def folded(path):
    total = Sum(None, None)
    with open(path, encoding='utf-8') as f:
        for line in f:
            m = re.fullmatch(r'(.+;)?\[[^;]+ (\d+)\n', line)
            need(m, f'a line: {line[:100]}')
            total.ns += int(m[2])
    return total


def flamegraph(path):
    with open(path, encoding='utf-8') as f:
        text = f.read()
    need(not re.search(r'(?:href|src)="(?!#)', text), 'it loads something')
    svg = '{http://www.w3.org/2000/svg}'
    root = ET.fromstring(text)
    boxes = [(float(g.get('data-x')), float(g.get('data-w'))) for g in root.iter(svg + 'g') if g.get('data-x')]
    need(boxes and boxes[0] == (0, 1) and all(x >= -1e-3 and x + w <= 1 + 1e-3 for x, w in boxes), 'boxes')
    need(root.find(f'.//{svg}script') is not None, 'its script')
    return Sum(None, None, None)


def speedscope(path):
    with open(path, encoding='utf-8') as f:
        s = json.load(f)
    p, frames = s['profiles'][0], s['shared']['frames']
    need(s['$schema'] == 'https://www.speedscope.app/file-format-schema.json', 'the schema')
    need((p['type'], p['unit'], p['startValue'], p['endValue']) == ('sampled', 'nanoseconds', 0, sum(p['weights'])), 'the profile')
    need(len(p['samples']) == len(p['weights']) and all(0 <= i < len(frames) for x in p['samples'] for i in x), 'samples')
    need(len({(f['name'], f.get('file')) for f in frames}) == len(frames), 'a function twice')
    return Sum(None, None, sum(p['weights']))


def hatchet(path):
    with open(path, encoding='utf-8') as f:
        tree = json.load(f)
    todo = list(tree)
    while todo:
        node = todo.pop()
        for m in ('time', 'launches', 'bytes'):
            if m in node['metrics']:
                below = sum(c['metrics'][m + ' (inc)'] for c in node['children'])
                need(node['metrics'][m + ' (inc)'] == node['metrics'][m] + below, f'{m} of {node["frame"]["name"]}')
        todo += node['children']
    return Sum(None, sum(n['metrics']['launches (inc)'] for n in tree), sum(n['metrics']['time (inc)'] for n in tree))


def sqlite(path):
    db = sqlite3.connect(path)
    need(db.execute('PRAGMA integrity_check').fetchall() == [('ok',)], 'integrity')
    own = db.execute('SELECT COUNT(*), SUM(gpu_end_ns - gpu_start_ns) FROM command WHERE gpu_end_ns IS NOT NULL').fetchone()
    tables, work, ns = [r[0] for r in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")], 0, 0
    launches = 0
    for table in ('KERNEL', 'MEMCPY', 'MEMSET', 'GRAPH_TRACE'):
        if 'CUPTI_ACTIVITY_KIND_' + table in tables:
            n, took = db.execute(f'SELECT COUNT(*), SUM(end - start) FROM CUPTI_ACTIVITY_KIND_{table}').fetchone()
            work, ns = work + n, ns + (took or 0)
            launches += n if table in ('KERNEL', 'GRAPH_TRACE') else 0
    need(own == (work, ns), f'tables of Nsight Systems have {work}, {ns}, its own {own}')
    calls = db.execute('SELECT COUNT(*) FROM CUPTI_ACTIVITY_KIND_KERNEL k JOIN CUPTI_ACTIVITY_KIND_RUNTIME r USING (correlationId)').fetchone()[0]
    kernels = db.execute('SELECT COUNT(*) FROM CUPTI_ACTIVITY_KIND_KERNEL').fetchone()[0]
    need(calls == kernels, f'{calls} calls of {kernels} kernels')
    return Sum(work, launches, ns)


def rows_of_csv(path):
    with open(path, encoding='utf-8', newline='') as f:
        rows = list(csv.DictReader(f))
    timed = [r for r in rows if r['kind'] in WORK and r['gpu_start_ns']]
    need(all(int(r['result']) == 0 for r in timed), 'work that failed')
    return Sum(len(timed), sum(r['kind'] in LAUNCHES for r in timed), sum(int(r['gpu_ns']) for r in timed))


READERS = {'perfetto': perfetto, 'kineto': kineto, 'pprof': pprof, 'folded': folded, 'flamegraph': flamegraph, 'speedscope': speedscope, 'hatchet': hatchet,
           'sqlite': sqlite, 'csv': rows_of_csv}


# -- the trace's own commands

def of_trace(tsdb, trace):
    p = subprocess.run([tsdb, 'view', trace, '--json'], capture_output=True, text=True, check=False)
    need(p.returncode == 0, p.stderr.strip()[:150])
    total = Sum()
    for line in p.stdout.splitlines():
        c = json.loads(line)
        if not c['flags'] & 4 and c['kind'] in WORK and c.get('gpu_start_ns'):
            total.add(Sum(1, c['kind'] in LAUNCHES, c['gpu_end_ns'] - c['gpu_start_ns']))
    return total


def close(a, b, exact):
    return a is None or b is None or a == b or not exact and abs(a - b) <= b * 1e-3


def read(tsdb, trace, form, folder):
    """Exports; (what the files add up to, launches as tsdb said when it wrote them, bytes)."""
    p = subprocess.run([tsdb, 'export', form, os.path.abspath(trace)], cwd=folder, capture_output=True, text=True, check=False)
    need(p.returncode == 0, p.stderr.strip()[:150])
    total, launches, size = Sum(), 0, 0
    written = re.findall(r'^(\S+): \d+ commands as .* of (\d+) launches (\d+) have a stack and (\d+) a GPU time', p.stderr, re.M)
    need(written, p.stderr.strip()[:150])
    for name, of, stacks, times in written:
        need(of == stacks == times, f'of {of} launches {stacks} have a stack and {times} a GPU time')
        launches += int(of)
        total.add(READERS[form](os.path.join(folder, name)))
        size += os.path.getsize(os.path.join(folder, name))
    return total, launches, size


def compare(total, launches, wanted, exact=True):
    """Wrong if it is not the trace. Times of a set lie on another clock: not exact."""
    need(launches == wanted.launches, f'{launches} launches, the trace has {wanted.launches}')
    for k in ('work', 'launches', 'ns'):
        need(close(getattr(total, k), getattr(wanted, k), exact or k != 'ns'), f'it says {total}; the trace has {wanted}')


def check(tsdb, trace, form, folder, wanted, exact=True):
    total, launches, size = read(tsdb, trace, form, folder)
    compare(total, launches, wanted, exact)
    return f'{size / 1e3:.0f} kB, {launches} of {launches}'


def main(tsdb, trace, *forms):
    wanted, wrong = of_trace(tsdb, trace), 0
    with open(trace, 'rb') as f:
        is_set = f.read(1) == b'{'
    print(f'{trace}: {wanted}')
    with tempfile.TemporaryDirectory() as folder:
        for form in forms or READERS:
            try:
                print(f'{form}: {check(tsdb, trace, form, folder, wanted, not is_set)}')
            except (Wrong, KeyError, ValueError, IndexError, TypeError, sqlite3.Error, ET.ParseError, struct.error) as e:
                wrong += 1
                print(f'{form}: WRONG: {type(e).__name__}: {e}')
    return 1 if wrong else 0


if __name__ == '__main__':
    sys.exit(main(*sys.argv[1:]))
