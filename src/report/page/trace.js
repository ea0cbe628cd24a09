// SPDX-License-Identifier: Apache-2.0
//
// A trace out of the page's elements: columns as typed arrays (src/report/core/columns.h), host stacks, facts. Commands are counted
// from 0 here: an index. Times are nanoseconds since the first command's call.
import { column, fromBase64, inflate, Reader } from './codec.js';
import { lowerBound } from './bisect.js';

export const FAILED = 1 << 16, IN_GRAPH = 2, SYNTHETIC = 4;
export const KIND = { LAUNCH: 14, COPY: 15, FILL: 16, SYNC: 19, SYNC_END: 20, GRAPH_LAUNCH: 29, MARK: 32 };
export const ARROW_STREAM = 0, ARROW_LEARNED = 1, ARROW_HOST = 2;

export class Trace {
	/** parts: function from an element's name to its bytes. */
	constructor(parts) {
		const json = (name) => JSON.parse(new TextDecoder().decode(parts(name)));
		this.head = json('head');
		this.stacks = json('stacks');
		this.facts = json('facts');
		this.names = this.head.names;
		this.n = this.head.count;
		this.begin = BigInt(this.head.begin);
		this.#columns(parts);
		this.#spans(parts('spans'));
		this.#arrows(parts('arrows'));
		this.later = null; /* details and states: see readLater() */
	}

	#columns(parts) {
		const n = this.n;
		this.seq = column(parts('seq'), new Float64Array(n), { sums: true });
		this.kind = column(parts('kind'), new Uint8Array(n));
		this.flags = column(parts('flags'), new Uint32Array(n));
		/* the stream plus 1; 0: it ran on none */
		this.stream = column(parts('stream'), new Uint32Array(n));
		this.thread = column(parts('thread'), new Uint32Array(n));
		this.host = column(parts('host'), new Float64Array(n), { sums: true, signed: true });
		this.start = column(parts('start'), new Float64Array(n), { signed: true });
		this.dur = column(parts('dur'), new Float64Array(n)); /* plus 1; 0: not known */
		this.name = column(parts('name'), new Uint32Array(n));
		this.stack = column(parts('stack'), new Uint32Array(n));
		for (let i = 0; i < n; i++)
			this.start[i] += this.host[i];
	}

	#spans(bytes) {
		const r = new Reader(bytes);
		let end = 0;
		this.spans = [];
		while (r.more) {
			end += r.u();
			const begin = end - r.u(), what = r.u(), depth = r.u();
			this.spans.push({ begin: this.indexOf(begin), end: this.indexOf(end), range: what === 1, depth });
		}
	}

	#arrows(bytes) {
		const r = new Reader(bytes), to = [], from = [], what = [];
		let seq = 0;
		while (r.more) {
			seq += r.u();
			const before = seq - r.u(), w = r.u(), i = this.indexOf(seq), k = this.indexOf(before);
			if (i >= 0 && k >= 0) {
				to.push(i);
				from.push(k);
				what.push(w);
			}
		}
		this.arrows = { to: Uint32Array.from(to), from: Uint32Array.from(from), what: Uint8Array.from(what) };
		/* the same by the earlier command */
		const order = Uint32Array.from(from.keys()).sort((x, y) => from[x] - from[y]);
		this.arrows.byFrom = order;
		this.arrows.fromSorted = order.map((k) => from[k]);
	}

	/** The index of the command with that number; -1: it is not here. */
	indexOf(seq) {
		const i = lowerBound(this.seq, seq);
		return i < this.n && this.seq[i] === seq ? i : -1;
	}
	kindName(i) {
		return this.head.kinds[this.kind[i]].name;
	}
	nameOf(i) {
		return this.names[this.name[i]];
	}
	/** Whether tsdb diff looks at it: work that ran, and waits. */
	compared(i) {
		return !(this.flags[i] & SYNTHETIC) && (this.stream[i] > 0 || this.kind[i] === KIND.SYNC);
	}
	timed(i) {
		return this.dur[i] > 0;
	}
	gpuNs(i) {
		return this.dur[i] ? this.dur[i] - 1 : 0;
	}
	/** Frames of a command's host stack, innermost first. */
	frames(i) {
		return this.framesOf(this.stack[i]);
	}
	framesOf(stack) {
		return (stack ? this.stacks[stack - 1] : []).map(([f, file, line, bits]) =>
			({ function: this.names[f], file: file < 0 ? null : this.names[file], line, python: (bits & 1) > 0, stub: (bits & 2) > 0 }));
	}
	/** What a command waits for, and what waits for it: [{index, what}]. */
	waitsFor(i) {
		const a = this.arrows, out = [];
		for (let k = lowerBound(a.to, i); k < a.to.length && a.to[k] === i; k++)
			out.push({ index: a.from[k], what: a.what[k] });
		return out;
	}
	waitedForBy(i) {
		const a = this.arrows, out = [];
		for (let k = lowerBound(a.fromSorted, i); k < a.byFrom.length && a.fromSorted[k] === i; k++)
			out.push({ index: a.to[a.byFrom[k]], what: a.what[a.byFrom[k]] });
		return out;
	}
}

const FIRST = ['head', 'stacks', 'facts', 'seq', 'kind', 'flags', 'stream', 'thread', 'host', 'start', 'dur', 'name', 'stack', 'spans', 'arrows'];
const LATER = ['doing', 'details', 'blocks', 'streams', 'events', 'allocs'];

/** The bytes of element t<number>-<name>, which is emptied: the text is not needed twice. */
async function part(doc, number, name) {
	const e = doc.getElementById(`t${number}-${name}`), text = e.textContent;
	e.remove();
	return inflate(fromBase64(text));
}

async function readParts(doc, number, names) {
	const all = new Map();
	await Promise.all(names.map(async (name) => all.set(name, await part(doc, number, name))));
	return all;
}

/** Reads what the lanes of trace `number` need; null: the page has none. */
export async function readTrace(doc, number) {
	if (!doc.getElementById(`t${number}-head`))
		return null;
	const all = await readParts(doc, number, FIRST);
	return new Trace((name) => all.get(name));
}
/** Reads the rest, which is the larger part: {details, blocks, streams, events, allocs}. */
export async function readLater(doc, number, trace) {
	trace.later = Object.fromEntries(await readParts(doc, number, LATER));
}

/** What the ranks of a set have in common, as facts; null: they are no ranks. */
export async function readSet(doc) {
	return doc.getElementById('t0-set') ? JSON.parse(new TextDecoder().decode(await part(doc, 0, 'set'))) : null;
}

/** The pairs of commands that two traces have in common: for each index of B the one of A, or -1. */
export async function readPairs(doc, a, b) {
	const r = new Reader(await part(doc, 1, 'pairs')), toA = new Int32Array(b.n).fill(-1), toB = new Int32Array(a.n).fill(-1);
	let seqA = 0, seqB = 0;
	while (r.more) {
		seqA += r.i();
		seqB += r.i();
		const i = a.indexOf(seqA), k = b.indexOf(seqB);
		if (i >= 0 && k >= 0) {
			toA[k] = i;
			toB[i] = k;
		}
	}
	return { toA, toB };
}
