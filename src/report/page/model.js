// SPDX-License-Identifier: Apache-2.0
//
// What the page shows: one trace or two, which axis, which command the cursor is at, what is selected and searched for.
import { Colours } from './colours.js';
import { Details } from './details.js';
import { States } from './states.js';
import { lowerBound } from './bisect.js';
import { extent, lanesOf, SLOTS, TIME } from './lanes.js';
import { SYNTHETIC } from './trace.js';

/** One trace with all that is derived from it. */
class Side {
	constructor(trace) {
		this.trace = trace;
		this.states = this.details = null; /* until know() */
		this.colourOf = new Map();
		this.slot = null; /* Float64Array: place of each command on the axis of commands; null: its index */
		this.shift = 0;
		this.match = null; /* Uint8Array: 1 where the search found something */
		this.arrange();
	}
	/** After readLater(). */
	know() {
		this.states = new States(this.trace);
		this.details = new Details(this.trace);
	}
	/** Puts the commands on lanes anew, after slot or shift changed. */
	arrange() {
		const { slot } = this;
		this.lanes = lanesOf(this.trace, { slot: slot ? (i) => slot[i] : (i) => i, shift: this.shift });
		this.arrowPlaces = undefined;
	}
	colour(name) {
		let c = this.colourOf.get(name);
		if (c === undefined)
			this.colourOf.set(name, c = Colours.of(this.trace.names[name]));
		return c;
	}
	begins(i, axis) {
		if (axis === SLOTS)
			return this.slot ? this.slot[i] : i;
		return (this.trace.timed(i) ? this.trace.start[i] : this.trace.host[i]) + this.shift;
	}
	ends(i, axis) {
		return this.begins(i, axis) + (axis === SLOTS ? 1 : this.trace.gpuNs(i));
	}
	/** Where the call of the command seq, or of the next one that is here, lies on an axis. */
	place(seq, axis) {
		const { trace } = this, i = Math.min(lowerBound(trace.seq, seq), trace.n - 1);
		return axis === TIME ? trace.host[i] + this.shift : this.begins(i, axis);
	}
}

export class Model {
	/** pairs: of two traces that are compared; together: facts of a set, whose ranks the traces are. */
	constructor(traces, pairs = null, together = null) {
		this.sides = traces.map((t) => new Side(t));
		Object.assign(this, { pairs, together });
		if (together)
			this.#onOneClock();
		if (pairs) {
			this.#align();
			this.shiftTo(pairs.toA.findIndex((i) => i >= 0));
		}
		this.axis = this.sides.some((s) => s.trace.head.timed) ? TIME : SLOTS;
		this.cursor = null; /* {t, i} */
		this.range = null;  /* {from, to} on the axis */
		this.live = null;   /* {t, i} where a replay is, -1: at the beginning; null: there is none */
	}

	/** Ranks have times of the set's clock, each from its own beginning on. */
	#onOneClock() {
		const begin = this.sides.reduce((b, { trace }) => (trace.n && (b === null || trace.begin < b) ? trace.begin : b), null);
		for (const side of this.sides) {
			side.shift = side.trace.n ? Number(side.trace.begin - begin) : 0;
			side.arrange();
		}
	}
	/** What a trace is called where there are several. */
	label(t) {
		const { head } = this.sides[t].trace;
		return this.together ? `rank ${head.rank} on ${head.host}: ${head.path}` : `${'AB'[t]}: ${head.path}`;
	}

	/**
	 * Gives commands that are the same in both traces the same slot. Between them, what is never compared (allocations, say) shares one
	 * with its like; all else has one of its own.
	 */
	#align() {
		const [a, b] = this.sides, { toB } = this.pairs;
		a.slot = new Float64Array(a.trace.n);
		b.slot = new Float64Array(b.trace.n);
		let i = 0, k = 0, slot = 0;
		const gap = (untilA, untilB) => {
			while (i < untilA || k < untilB) {
				const both = i < untilA && k < untilB && a.trace.kind[i] === b.trace.kind[k] && !a.trace.compared(i);
				const inA = both || (i < untilA && (k >= untilB || !a.trace.compared(i) || b.trace.compared(k)));
				if (both || !inA)
					b.slot[k++] = slot;
				if (inA)
					a.slot[i++] = slot;
				slot++;
			}
		};
		for (let m = 0; m < a.trace.n; m++) {
			if (toB[m] < k)
				continue; /* has none, or in another order */
			gap(m, toB[m]);
			a.slot[i++] = b.slot[k++] = slot++;
		}
		gap(a.trace.n, b.trace.n);
		this.sides.forEach((s) => s.arrange());
	}
	/** Whether a command that is compared has no like in the other trace. */
	alone(t, i) {
		return this.pairs !== null && (t ? this.pairs.toA : this.pairs.toB)[i] < 0 && this.sides[t].trace.compared(i);
	}
	/** Shifts B's times so that its command k begins where the same command of A does. */
	shiftTo(k) {
		const [a, b] = this.sides, i = k < 0 ? -1 : this.pairs.toA[k];
		if (i < 0)
			return false;
		b.shift = 0;
		b.shift = a.begins(i, TIME) - b.begins(k, TIME);
		b.arrange();
		return true;
	}

	extent() {
		const all = this.sides.map((s) => extent(s.lanes, this.axis));
		return { from: Math.min(...all.map((e) => e.from)), to: Math.max(...all.map((e) => e.to)) };
	}
	side(t = this.cursor?.t ?? 0) {
		return this.sides[t];
	}
	/** The same command in the other trace: {t, i}, or null. */
	other(at) {
		if (!at || !this.pairs)
			return null;
		const i = (at.t ? this.pairs.toA : this.pairs.toB)[at.i];
		return i < 0 ? null : { t: 1 - at.t, i };
	}

	/** The next command of the program before or behind the cursor: of all, or of its lane. */
	neighbour(step, ownLane) {
		const at = this.cursor, { trace } = this.side();
		if (!at)
			return trace.n ? { t: 0, i: 0 } : null;
		const lane = (i) => (trace.stream[i] ? `s${trace.stream[i]}` : `t${trace.thread[i]}`), own = lane(at.i);
		for (let i = at.i + step; i >= 0 && i < trace.n; i += step) {
			if (!(trace.flags[i] & SYNTHETIC) && (!ownLane || lane(i) === own))
				return { t: at.t, i };
		}
		return at;
	}
}
