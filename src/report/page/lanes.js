// SPDX-License-Identifier: Apache-2.0
//
// Which lanes a trace has, and where its commands begin and end on them: per device its streams, then host threads with what lasts on
// them. On the axis of time a command is where it ran, on that of commands each has one slot. Pure.
import { KIND, SYNTHETIC } from './trace.js';
import { lowerBound } from './bisect.js';

export const TIME = 0, SLOTS = 1;

/** Commands on one lane. begin(i, axis), end(i, axis): of the command i; k: its place on the lane. */
export class Lane {
	constructor(group, label, kind, items, begin, end) {
		Object.assign(this, { group, label, kind, items, begin, end, axes: [null, null] });
	}
	/** The lane in order of its commands' beginning on an axis; made when it is first asked for. */
	on(axis) {
		const { items } = this;
		return this.axes[axis] ??= settled(items.length, (k) => this.begin(items[k], axis, k), (k) => this.end(items[k], axis, k));
	}
}

/** The commands by a key, in order: Map of Uint32Array. key(i) below 0: left out. */
function gathered(n, key) {
	const counts = new Map(), lists = new Map();
	let last = -1, count = 0;
	for (let i = 0; i <= n; i++) {
		const k = i < n ? key(i) : -2;
		if (k !== last) {
			if (last >= 0)
				counts.set(last, (counts.get(last) ?? 0) + count);
			last = k;
			count = 0;
		}
		count++;
	}
	for (const [k, size] of counts)
		lists.set(k, { items: new Uint32Array(size), n: 0 });
	let list = null;
	last = -1;
	for (let i = 0; i < n; i++) {
		const k = key(i);
		if (k < 0)
			continue;
		if (k !== last)
			list = lists.get(last = k);
		list.items[list.n++] = i;
	}
	return new Map([...lists].map(([k, { items }]) => [k, items]));
}

/** order: places sorted by beginning; begins; ends; reach: the furthest end so far, by which one bisects. */
function settled(n, begin, end) {
	const order = new Uint32Array(n), begins = new Float64Array(n), ends = new Float64Array(n), reach = new Float64Array(n);
	let sorted = true, last = -Infinity;
	for (let k = 0; k < n; k++) {
		order[k] = k;
		begins[k] = begin(k);
		sorted &&= begins[k] >= last;
		last = begins[k];
	}
	if (!sorted) {
		order.sort((x, y) => begins[x] - begins[y] || x - y);
		begins.set(Float64Array.from(order, (k) => begin(k)));
	}
	let far = -Infinity;
	for (let k = 0; k < n; k++) {
		ends[k] = end(order[k]);
		far = Math.max(far, ends[k]);
		reach[k] = far;
	}
	return { order, begins, ends, reach };
}

/** The first place of the lane that ends behind v: what is in front is left of the view. */
export function firstVisible(axis, v) {
	return lowerBound(axis.reach, v);
}

/** The place on the lane whose command has v, the innermost of several; -1: none within `slack`. */
export function placeAt(axis, v, slack) {
	let best = -1, distance = slack;
	for (let k = firstVisible(axis, v - slack); k < axis.begins.length && axis.begins[k] <= v + slack; k++) {
		const d = v < axis.begins[k] ? axis.begins[k] - v : v > axis.ends[k] ? v - axis.ends[k] : 0;
		if (d <= distance) {
			best = k;
			distance = d;
		}
	}
	return best;
}

function times(trace, shift) {
	const begin = (i) => (trace.timed(i) ? trace.start[i] : trace.host[i]) + shift;
	return { begin, end: (i) => begin(i) + trace.gpuNs(i), call: (i) => trace.host[i] + shift };
}

function streamLanes(trace, at, slot) {
	const begin = (i, axis) => (axis === TIME ? at.begin(i) : slot(i)), end = (i, axis) => (axis === TIME ? at.end(i) : slot(i) + 1);
	const lanes = [...gathered(trace.n, (i) => trace.stream[i] - 1)].map(([stream, items]) =>
		Object.assign(new Lane(deviceOf(trace, stream), `stream ${stream}`, 'stream', items, begin, end), { stream }));
	return lanes.sort((x, y) => x.group.localeCompare(y.group, 'en', { numeric: true }) || x.stream - y.stream);
}

function deviceOf(trace, stream) {
	const s = trace.head.streams.find((x) => x.id === stream);
	return s && s.device >= 0 ? `device ${s.device}` : 'device';
}

function threadName(trace, thread) {
	const t = trace.head.threads.find((x) => x.id === thread);
	return t && t.name ? `${t.name} (${t.os_tid || thread})` : `thread ${thread}`;
}

/** Waits of a thread by the index at which they begin. */
function waitEnds(trace) {
	const ends = new Map();
	for (const s of trace.spans) {
		if (!s.range)
			ends.set(s.begin, s.end);
	}
	return ends;
}

function threadLanes(trace, at, slot) {
	const ends = waitEnds(trace), last = (i) => (ends.size ? ends.get(i) ?? i : i);
	const begin = (i, axis) => (axis === TIME ? at.call(i) : slot(i)), end = (i, axis) => (axis === TIME ? at.call(last(i)) : slot(last(i)) + 1);
	const shown = (i) => (trace.flags[i] & SYNTHETIC || trace.kind[i] === KIND.SYNC_END ? -1 : trace.thread[i]);
	return [...gathered(trace.n, shown)].map(([thread, items]) => Object.assign(new Lane('host', threadName(trace, thread), 'host', items, begin, end), { thread }))
		.sort((x, y) => x.thread - y.thread);
}

/** NVTX ranges, a lane for each depth of each thread. */
function rangeLanes(trace, at, slot) {
	const lists = new Map();
	for (const s of trace.spans.filter((x) => x.range)) {
		const thread = trace.thread[s.begin], key = `${thread} ${s.depth}`;
		if (!lists.has(key))
			lists.set(key, { thread, depth: s.depth, spans: [] });
		lists.get(key).spans.push(s);
	}
	return [...lists.values()].sort((x, y) => x.thread - y.thread || x.depth - y.depth).map(({ thread, depth, spans }) => {
		const begin = (i, axis) => (axis === TIME ? at.call(i) : slot(i)), end = (i, axis, k) => begin(spans[k].end, axis) + (axis === TIME ? 0 : 1);
		return Object.assign(new Lane('host', '', 'range', Uint32Array.from(spans, (s) => s.begin), begin, end), { thread, depth });
	});
}

/** All lanes of a trace. slot: function from an index to its place on the axis of commands; shift: of its times, in ns. */
export function lanesOf(trace, { slot = (i) => i, shift = 0 } = {}) {
	const at = times(trace, shift), ranges = rangeLanes(trace, at, slot), out = streamLanes(trace, at, slot);
	for (const lane of threadLanes(trace, at, slot))
		out.push(lane, ...ranges.filter((r) => r.thread === lane.thread));
	return out;
}

/** From where to where the lanes reach on an axis. */
export function extent(lanes, axis) {
	let from = Infinity, to = -Infinity;
	for (const lane of lanes) {
		const a = lane.on(axis);
		if (a.begins.length) {
			from = Math.min(from, a.begins[0]);
			to = Math.max(to, a.reach.at(-1));
		}
	}
	return from < to ? { from, to } : { from: Number.isFinite(from) ? from : 0, to: (Number.isFinite(from) ? from : 0) + 1 };
}

