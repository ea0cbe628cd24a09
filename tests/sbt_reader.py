# SPDX-License-Identifier: Apache-2.0
"""A second reader of SBT traces, written from docs/sbt.md and nothing else. It even takes the kinds from that page's tables.

    python3 sbt_reader.py FILE      prints the commands as JSON, one a line

It is a check of the page, not a tool: slow, and it stops at the first damage.
"""
import ctypes
import ctypes.util
import json
import os
import re
import struct
import sys

MASK64 = (1 << 64) - 1
NO_ID = 0xffffffff
IDS = {'STREAM', 'EVENT', 'CONTEXT', 'MODULE', 'KERNEL', 'GRAPH'}


class Missing(Exception):
    """libzstd or libxxhash is not there."""


class Bad(Exception):
    """The trace is not what docs/sbt.md says."""


def library(name, soname):
    for candidate in (ctypes.util.find_library(name), soname):
        try:
            if candidate:
                return ctypes.CDLL(candidate)
        except OSError:
            pass
    raise Missing(soname)


def load_libraries():
    zstd, xxhash = library('zstd', 'libzstd.so.1'), library('xxhash', 'libxxhash.so.0')
    zstd.ZSTD_decompress.restype = ctypes.c_size_t
    zstd.ZSTD_decompress.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t]
    xxhash.XXH64.restype = ctypes.c_uint64
    xxhash.XXH64.argtypes = [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_uint64]
    return zstd, xxhash


def load_page(path):
    """Kinds {number: (name, [(field, type)])} and enumerations {type: [names]} from docs/sbt.md."""
    with open(path, encoding='utf-8') as f:
        text = f.read()
    enums = {}
    for name, values in re.findall(r'(ENUM_\w+): ((?:\d+ \w+(?:, )?)+)', text):
        enums[name] = [v.split()[1] for v in values.strip(', ').split(', ')]
    kinds = {}
    for line in text.split('## Kinds')[1].splitlines():
        head = re.match(r'\*\*(\d+) (\w+)\*\*', line)
        row = re.match(r'\| (\d+) \| (\w+) \| (\w+) \|', line)
        if head:
            fields = []
            kinds[int(head.group(1))] = (head.group(2), fields)
        elif row:
            if int(row.group(1)) != len(fields):
                raise Bad('the page\'s table')
            fields.append((row.group(2), row.group(3)))
    return kinds, enums


def unzigzag(v):
    return (v >> 1 ^ -(v & 1)) & MASK64


def mix(z):
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9 & MASK64
    z = (z ^ z >> 27) * 0x94d049bb133111eb & MASK64
    return z ^ z >> 31


PAGE_P, PAGE_Q = 0x9e3779b97f4a7c15, 0xc2b2ae3d27d4eb4f
KEYS = [[[mix(1 + lane * 8 + h * 4 + j) & 0xffffffff for j in range(4)] for lane in range(256)] for h in range(2)]


def page_hash(page):
    w = struct.unpack('<16384I', page + bytes(65536 - len(page)))
    halves = []
    for h in range(2):
        total = 0
        for lane in range(256):
            k, acc = KEYS[h][lane], 0
            for at in range(lane * 4, 16384, 1024):
                a, b, c, d = [w[at + j] + k[j] & 0xffffffff for j in range(4)]
                acc = acc * PAGE_P + a * b + c * d & MASK64
            total += mix(acc + (lane + 1) * PAGE_Q & MASK64)
        halves.append(total & MASK64)
    return tuple(halves)


def unpack_page(coded, n):
    """A page of n bytes out of the codes 1 (planes) and 2 (words)."""
    i, out = In(coded), bytearray(n)
    code = i.bytes(1)[0]
    if code == 1:
        mask, values = i.bytes(1)[0], i.bytes(8)
        for k in range(8):
            out[k:n // 8 * 8:8] = i.bytes(n // 8) if mask >> k & 1 else values[k:k + 1] * (n // 8)
        out[n // 8 * 8:] = i.bytes(n % 8)
    elif code == 2:
        bits = i.bytes((n // 4 + 7) // 8)
        for k in range(n // 4):
            if bits[k // 8] >> k % 8 & 1:
                out[4 * k:4 * k + 4] = i.bytes(4)
        out[n // 4 * 4:] = i.bytes(n % 4)
    else:
        raise Bad('the code of a page')
    if not i.end():
        raise Bad('the bytes of a page')
    return bytes(out)


def range_hash(data):
    pages = [page_hash(data[at:at + 65536]) for at in range(0, len(data), 65536)]
    return tuple(sum(mix(p[h] + (i + 1) * PAGE_P & MASK64) for i, p in enumerate(pages)) + mix(len(data)) & MASK64 for h in range(2))


class In:
    def __init__(self, data):
        self.data, self.at = data, 0

    def end(self):
        return self.at >= len(self.data)

    def bytes(self, n):
        if n > len(self.data) - self.at:
            raise Bad('a payload ends early')
        self.at += n
        return self.data[self.at - n:self.at]

    def varint(self):
        v = shift = 0
        while True:
            b = self.bytes(1)[0]
            v |= (b & 0x7f) << shift
            shift += 7
            if not b & 0x80:
                if v > MASK64:
                    raise Bad('a varint')
                return v

    def delta(self, old):
        return (old + unzigzag(self.varint())) & MASK64

    def text(self):
        return self.bytes(self.varint())


class Slot:
    def __init__(self, kind, wires):
        self.kind, self.wires = kind, wires
        self.flags = self.thread = self.ctx = self.stack = self.result = 0
        self.value = [0 if w == 0 else b'' for w in wires]


class Reader:
    META, MODULES, STACKS, CODE, COMMANDS, TIMES, MEMORY, KEYFRAME, UNREPLAYABLE, LOST, INDEX, TRAILER, PAGES, WINDOW, PLACES, SYMBOLS, SOURCE = range(1, 18)

    def __init__(self, path, page):
        self.zstd, self.xxhash = load_libraries()
        self.kinds, self.enums = load_page(page)
        with open(path, 'rb') as f:
            self.data = f.read()
        magic, major, self.minor, order, self.uuid = struct.unpack_from('<8sHHI16s', self.data)
        if magic != b'\x89SBT\r\n\x1a\n' or order != 0x01020304:
            raise Bad('not a trace')
        if major > 1:
            raise Bad('a newer trace')
        if struct.unpack_from('<Q', self.data, 56)[0] != self.hash(self.data[:56]):
            raise Bad('the file header')
        self.chunks = self.from_index() or self.scan()

    def hash(self, data):
        return self.xxhash.XXH64(bytes(data), len(data), 0)

    def header(self, at):
        h = self.data[at:at + 64]
        magic, kind, flags, stored, raw, first, last, count, check, lost, digest = struct.unpack('<IHHQQQQIIQQ', h)
        if magic != 0x43544253 or check != self.hash(h[:44] + bytes(4) + h[48:]) & 0xffffffff:
            raise Bad(f'the chunk header at {at}')
        return {'at': at, 'type': kind, 'flags': flags, 'stored': stored, 'raw': raw, 'first': first, 'last': last, 'count': count,
                'lost': lost, 'hash': digest}

    def payload(self, c):
        stored = self.data[c['at'] + 64:c['at'] + 64 + c['stored']]
        if len(stored) != c['stored'] or self.hash(stored) != c['hash']:
            raise Bad(f'the chunk at {c["at"]}')
        if not c['flags'] & 1:
            return stored
        raw = ctypes.create_string_buffer(c['raw'] or 1)
        if self.zstd.ZSTD_decompress(raw, c['raw'], stored, len(stored)) != c['raw']:
            raise Bad(f'the compression of the chunk at {c["at"]}')
        return raw.raw[:c['raw']]

    def scan(self):
        at, out = 64, []
        while len(self.data) - at >= 64:
            c = self.header(at)
            if c['stored'] > len(self.data) - at - 64:
                break
            out.append(c)
            at += 64 + c['stored']
        return out

    def from_index(self):
        try:
            t = self.header(len(self.data) - 80)
        except (Bad, struct.error):
            return None
        offset, end = struct.unpack('<QQ', self.payload(t))
        if t['type'] != self.TRAILER or end != 0x0a0d444e45544253:
            raise Bad('the trailer')
        i = In(self.payload(self.header(offset)))
        at, last, out = 64, 0, []
        for _ in range(i.varint()):
            kind = i.varint()
            at += i.varint()
            stored, raw = i.varint(), i.varint()
            first = i.delta(last)
            last = i.delta(first)
            count, lost = i.varint(), i.varint()
            c = self.header(at)
            if (kind, stored, raw, first, last, count, lost) != tuple(
                    c[k] for k in ('type', 'stored', 'raw', 'first', 'last', 'count', 'lost')):
                raise Bad('the index')
            out.append(c)
            at += 64 + stored
        return out

    def of_type(self, kind):
        return [c for c in self.chunks if c['type'] == kind]

    def meta(self):
        i, out = In(self.payload(self.of_type(self.META)[-1])), {}
        while not i.end():
            key = i.text().decode()
            out[key] = i.text().decode()
        return out

    def modules(self):
        out = {}
        for c in self.of_type(self.MODULES):
            i = In(self.payload(c))
            for k in range(c['count']):
                out[c['first'] + k] = (i.text().decode(), i.text().decode())
        return out

    def places(self):
        """{number: (file, function, first line, line)}"""
        out = {}
        for c in self.of_type(self.PLACES):
            i = In(self.payload(c))
            for k in range(c['count']):
                file, function, first = i.text().decode(), i.text().decode(), i.varint()
                out[c['first'] + k] = (file, function, first, i.delta(first))
        return out

    def symbols(self):
        """{(module, offset): [(function, file, folder, line, start), ...]}, inlined calls first."""
        out = {}
        for c in self.of_type(self.SYMBOLS):
            i, offset = In(self.payload(c)), 0
            for _ in range(c['count']):
                module, offset = i.varint(), i.delta(offset)
                out[module, offset] = [(i.text().decode(), i.text().decode(), i.text().decode(), i.varint(), i.varint()) for _ in range(i.varint())]
        return out

    def sources(self):
        """{name: text}"""
        out = {}
        for c in self.of_type(self.SOURCE):
            i = In(self.payload(c))
            name = i.text().decode()
            out[name] = i.bytes(len(i.data) - i.at).decode()
        return out

    def stacks(self):
        """{id: [(module, offset), ...]}, innermost first."""
        out = {}
        for c in self.of_type(self.STACKS):
            i, number, last = In(self.payload(c)), 0, []
            while not i.end():
                number = i.delta(number)
                n, same = i.varint(), i.varint()
                frames = last[:same]
                module, offset = frames[-1] if frames else (0, 0)
                for _ in range(n - same):
                    module, offset = i.delta(module), i.delta(offset)
                    frames.append((module, offset))
                last = frames
                out[number] = frames[::-1]
        return out

    def times(self):
        out = {}
        for c in self.of_type(self.TIMES):
            i = In(self.payload(c))
            n, seq = i.varint(), i.varint()
            lengths = [i.varint() for _ in range(3)]
            seqs, starts, ends = [In(i.bytes(k)) for k in lengths]
            end = 0
            for _ in range(n):
                seq += seqs.varint()
                start = starts.delta(end)
                end = ends.delta(start)
                out[seq] = (start, end)
        return out

    def windows(self):
        return sorted((c['first'], c['last']) for c in self.of_type(self.WINDOW))

    def pages(self):
        """{number: bytes}"""
        out = {}
        for c in self.of_type(self.PAGES):
            i = In(self.payload(c))
            table = [struct.unpack('<QQII', i.bytes(24)) for _ in range(c['count'])]
            for k, (half0, half1, size, stored) in enumerate(table):
                page = i.bytes(stored)
                if stored != size and page[0] != 0x28:
                    page = unpack_page(page, size)
                elif stored != size:
                    raw = ctypes.create_string_buffer(size)
                    if self.zstd.ZSTD_decompress(raw, size, page, stored) != size:
                        raise Bad('the compression of a page')
                    page = raw.raw
                if page_hash(page) != (half0, half1):
                    raise Bad('the hash of a page')
                out[c['first'] + k] = page
            if not i.end():
                raise Bad('the table of pages')
        return out

    @staticmethod
    def contents(i, size, pages):
        out, expected = [], 0
        while not i.end():
            v = i.varint()
            n, first = v >> 1, None
            if v & 1:
                first = i.delta(expected)
                expected = first + n
            for k in range(n):
                length = min(65536, size - 65536 * len(out))
                out.append(bytes(length) if first is None else pages[first + k])
                if len(out[-1]) != length:
                    raise Bad('the size of a page')
        return b''.join(out)

    def memory(self):
        """Complete pieces in order, as (seq, role, addr, owner, size, module, name, missing, hash, bytes or None)."""
        pages, out = self.pages(), []
        for c in self.of_type(self.MEMORY):
            records = In(self.payload(c))
            while not records.end():
                i = In(records.text())
                flags, number, seq, role, owner, addr, size, module = [i.varint() for _ in range(8)]
                name = i.text()
                missing = i.varint() if flags & 8 else 0
                if flags & 1 or not 1 <= role <= 7 or owner > 2:
                    continue
                digest, data = struct.unpack('<QQ', i.bytes(16)), None
                if flags & 2:
                    data = i.text() if flags & 4 else self.contents(In(i.text()), size, pages)
                    if len(data) != size or range_hash(data) != digest:
                        raise Bad('the contents of a piece')
                out.append((seq, role, addr, owner, size, module - 1 if module else NO_ID, name, missing, digest, data))
        return sorted(out, key=lambda p: p[:3])

    def unreplayable(self):
        chunks, out = self.of_type(self.UNREPLAYABLE), {}
        i = In(self.payload(chunks[-1]) if chunks else b'')
        while not i.end():
            name = i.text().decode()
            out[name] = i.varint()
        return out

    @staticmethod
    def blob(value, column, old):
        how = value.varint()
        if how == 0:
            return column.bytes(value.varint())
        padded = bytearray(old + bytes(-len(old) % 8))
        at = 0
        for _ in range(value.varint()):
            at += 8 * value.varint()
            word = value.delta(struct.unpack_from('<Q', padded, at)[0])
            struct.pack_into('<Q', padded, at, word)
            at += 8
        return bytes(padded[:len(old)])

    def decode(self, payload):
        i = In(payload)
        count, seq = i.varint(), i.varint() - 1
        wires = {}
        for _ in range(i.varint()):
            kind = i.varint()
            wires[kind] = i.bytes(i.varint())
        lengths = [i.varint() for _ in range(6)]
        head, masks, value, corrs, clock, column = [In(i.bytes(n)) for n in lengths]
        host_ns = corr = 0
        slots, strings = [], []
        for _ in range(count):
            h = head.varint()
            if h == 0:
                number, kind = head.varint(), head.varint()
                slots[number:number + 1] = [Slot(kind, wires[kind])]
                h = head.varint()
            s = slots[(h >> 1) - 1]
            mask = masks.varint() if h & 1 else 0
            if mask & 1:
                seq += value.varint()
            for bit, name in enumerate(('flags', 'thread', 'ctx', 'stack', 'result'), 1):
                if mask >> bit & 1:
                    setattr(s, name, value.delta(getattr(s, name)))
            for k, wire in enumerate(s.wires):
                if not mask >> (6 + k) & 1:
                    continue
                if wire == 0:
                    s.value[k] = value.delta(s.value[k])
                elif wire == 1:
                    which = value.varint()
                    if which == 0:
                        strings.append(column.bytes(value.varint()))
                    s.value[k] = strings[which - 1]
                else:
                    s.value[k] = self.blob(value, column, s.value[k])
            seq += 1
            v = corrs.varint()
            if v:
                corr = (corr + unzigzag(v - 1)) & MASK64
            host_ns = clock.delta(host_ns)
            yield seq, s, corr if v else 0, host_ns

    def show(self, kind, v):
        """A value as `tsdb view --json` prints it."""
        if kind == 'STR':
            return v
        if kind == 'BLOB':
            return v.hex()
        if kind in ('ADDR', 'HEX'):
            return f'0x{v:x}'
        if kind in IDS:
            return None if v == NO_ID else v
        if kind == 'INT':
            return v - (1 << 64) if v >> 63 else v
        if kind == 'BOOL':
            return bool(v)
        if kind in self.enums:
            return self.enums[kind][v] if v < len(self.enums[kind]) else str(v)
        return v

    def commands(self):
        times = self.times()
        for c in self.of_type(self.COMMANDS):
            for seq, s, corr, host_ns in self.decode(self.payload(c)):
                if s.kind not in self.kinds:
                    continue
                name, fields = self.kinds[s.kind]
                out = {'seq': seq, 'kind': name, 'flags': s.flags, 'thread': s.thread, 'ctx': None if s.ctx == NO_ID else s.ctx,
                       'stack': s.stack, 'result': s.result, 'corr': corr, 'host_ns': host_ns}
                if seq in times:
                    out['gpu_start_ns'], out['gpu_end_ns'] = times[seq]
                for k, (field, kind) in enumerate(fields):
                    missing = {'STR': b'', 'BLOB': b''}.get(kind, 0)
                    out[field] = self.show(kind, s.value[k] if k < len(s.value) else missing)
                yield out


if __name__ == '__main__':
    page_path = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'docs', 'sbt.md')
    for command in Reader(sys.argv[1], page_path).commands():
        print(json.dumps({k: v.decode(errors='replace') if isinstance(v, bytes) else v for k, v in command.items()}))
