// SPDX-License-Identifier: Apache-2.0
//
// Which lanes a trace has, and where its commands begin and end on them: per device its streams, then host threads with what lasts on
// them. On the axis of time a command is where it ran, on that of commands each has one slot. Pure.
import { KIND, SYNTHETIC } from './trace.js';
import { lowerBound } from './bisect.js';

export const TIME = 0, SLOTS = 1;

/** Commands on one lane, in order of their beginning on each axis. */
export class Lane {
	constructor(group, label, kind) {
		Object.assign(this, { group, label, kind, items: [], axes: [null, null] });
	}
	/** begin(i), end(i): of the item at that place of this.items. */
	settle(begin, end) {
		const items = Uint32Array.from(this.items), n = items.length;
		this.items = items;
		this.axes = [TIME, SLOTS].map((axis) => settled(n, (k) => begin(k, axis), (k) => end(k, axis)));
	}
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
	const lanes = new Map();
	for (let i = 0; i < trace.n; i++) {
		const stream = trace.stream[i] - 1;
		if (stream < 0)
			continue;
		if (!lanes.has(stream))
			lanes.set(stream, new Lane(deviceOf(trace, stream), `stream ${stream}`, 'stream'));
		lanes.get(stream).items.push(i);
	}
	for (const [stream, lane] of lanes) {
		lane.stream = stream;
		lane.settle((k, axis) => (axis === TIME ? at.begin(lane.items[k]) : slot(lane.items[k])),
			(k, axis) => (axis === TIME ? at.end(lane.items[k]) : slot(lane.items[k]) + 1));
	}
	return [...lanes.values()].sort((x, y) => x.group.localeCompare(y.group, 'en', { numeric: true }) || x.stream - y.stream);
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
	const lanes = new Map(), ends = waitEnds(trace);
	for (let i = 0; i < trace.n; i++) {
		if (trace.flags[i] & SYNTHETIC || trace.kind[i] === KIND.SYNC_END)
			continue;
		const thread = trace.thread[i];
		if (!lanes.has(thread))
			lanes.set(thread, new Lane('host', threadName(trace, thread), 'host'));
		lanes.get(thread).items.push(i);
	}
	for (const [thread, lane] of lanes) {
		lane.thread = thread;
		const end = (i) => ends.get(i) ?? i;
		lane.settle((k, axis) => (axis === TIME ? at.call(lane.items[k]) : slot(lane.items[k])),
			(k, axis) => (axis === TIME ? at.call(end(lane.items[k])) : slot(end(lane.items[k])) + 1));
	}
	return [...lanes.values()].sort((x, y) => x.thread - y.thread);
}

/** NVTX ranges, a lane for each depth of each thread. */
function rangeLanes(trace, at, slot) {
	const lanes = new Map();
	for (const s of trace.spans.filter((x) => x.range)) {
		const thread = trace.thread[s.begin], key = `${thread} ${s.depth}`;
		if (!lanes.has(key))
			lanes.set(key, Object.assign(new Lane('host', '', 'range'), { thread, depth: s.depth, ends: [] }));
		lanes.get(key).items.push(s.begin);
		lanes.get(key).ends.push(s.end);
	}
	for (const lane of lanes.values()) {
		lane.settle((k, axis) => (axis === TIME ? at.call(lane.items[k]) : slot(lane.items[k])),
			(k, axis) => (axis === TIME ? at.call(lane.ends[k]) : slot(lane.ends[k]) + 1));
	}
	return [...lanes.values()].sort((x, y) => x.thread - y.thread || x.depth - y.depth);
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
	for (const { axes } of lanes) {
		const a = axes[axis];
		if (a.begins.length) {
			from = Math.min(from, a.begins[0]);
			to = Math.max(to, a.reach.at(-1));
		}
	}
	return from < to ? { from, to } : { from: Number.isFinite(from) ? from : 0, to: (Number.isFinite(from) ? from : 0) + 1 };
}

