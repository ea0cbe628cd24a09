// SPDX-License-Identifier: Apache-2.0
//
// The GPU's state at a command, out of what changed (src/report/core/states.h): the last change at or before it. Pure.
import { Reader } from './codec.js';
import { upperBound } from './bisect.js';

export const STATUS = ['Idle', 'Dispatch Pending', 'Running', 'Waiting', 'Finished'];
const PENDING = 1, WAITING = 3; /* enum state_status */
const DOING_WAITS = 1; /* enum stream_doing */
const MEMORY_ENUM = 18; /* enum sbt_type: SBT_T_ENUM_MEM */

export class States {
	constructor(trace) {
		this.trace = trace;
		this.memory = trace.head.enums[MEMORY_ENUM];
		this.#readStreams(new Reader(trace.later.streams));
		this.#readEvents(new Reader(trace.later.events));
		this.#readDoing(new Reader(trace.later.doing));
		this.#readAllocs(new Reader(trace.later.allocs));
	}

	/** Columns of all changes, and for each stream the places of its own: this.streams: Map of {seqs, status, at}. */
	#readStreams(r) {
		const most = Math.floor(r.bytes.length / 10), c = { seq: new Float64Array(most), head: new Float64Array(most), pending: new Uint32Array(most), finished: new Float64Array(most),
			waitSeq: new Float64Array(most), waitStream: new Int32Array(most), waitEvent: new Int32Array(most), status: new Uint8Array(most), bits: new Uint8Array(most) };
		const places = new Map(), finished = new Map();
		let seq = 0;
		for (let k = 0; r.more; k++) {
			seq += r.u();
			const id = r.u();
			c.seq[k] = seq;
			c.status[k] = r.u();
			c.bits[k] = r.u();
			c.head[k] = seq - r.i();
			c.pending[k] = r.u();
			c.finished[k] = (finished.get(id) ?? 0) + r.i();
			c.waitSeq[k] = seq - r.i();
			c.waitStream[k] = r.u() - 1;
			c.waitEvent[k] = r.u() - 1;
			finished.set(id, c.finished[k]);
			if (!places.has(id))
				places.set(id, []);
			places.get(id).push(k);
		}
		this.changes = c;
		this.streams = new Map([...places].map(([id, at]) => [id, { at, seqs: Float64Array.from(at, (k) => c.seq[k]), status: Uint8Array.from(at, (k) => c.status[k]) }]));
	}
	/** What a stream was right after command seq, or null. */
	#streamAt(log, seq) {
		const k = upperBound(log.seqs, seq), c = this.changes;
		if (!k)
			return null;
		const at = log.at[k - 1];
		return Object.fromEntries(Object.entries(c).filter(([name]) => name !== 'seq').map(([name, column]) => [name, column[at]]));
	}

	/** What streams waited for by GPU times: this.doing: Map from the stream to {begins, ends, status}. */
	#readDoing(r) {
		let end = 0;
		this.doing = new Map();
		while (r.more) {
			const stream = r.u(), status = r.u() === DOING_WAITS ? WAITING : PENDING, begin = end + r.i();
			end = begin + r.u();
			if (!this.doing.has(stream))
				this.doing.set(stream, { begins: [], ends: [], status: [] });
			const d = this.doing.get(stream);
			d.begins.push(begin);
			d.ends.push(end);
			d.status.push(status);
		}
	}
	#readEvents(r) {
		let seq = 0;
		this.events = new Map();
		while (r.more) {
			seq += r.u();
			const id = r.u(), bits = r.u(), stream = r.u() - 1, record = seq - r.i();
			if (!this.events.has(id))
				this.events.set(id, { seqs: [], rows: [] });
			this.events.get(id).seqs.push(seq);
			this.events.get(id).rows.push({ recorded: (bits & 1) > 0, destroyed: (bits & 2) > 0, stream, record });
		}
	}

	#readAllocs(r) {
		let addr = 0n;
		this.allocs = [];
		while (r.more) {
			addr += r.bigSigned();
			const size = r.u(), kind = r.u(), device = r.u(), stack = r.u(), from = r.u(), life = r.u();
			this.allocs.push({ addr, size, kind: this.memory[kind] ?? String(kind), device, stack, from, to: life ? from + life : Infinity });
		}
	}

	static #last(log, seq) {
		const k = upperBound(log.seqs, seq);
		return k ? log.rows[k - 1] : null;
	}

	/** Streams right after command seq, in order of id. */
	streamsAt(seq) {
		const out = [];
		for (const [id, log] of [...this.streams].sort((x, y) => x[0] - y[0])) {
			const row = this.#streamAt(log, seq);
			if (row)
				out.push({ id, statusName: STATUS[row.status], destroyed: (row.bits & 1) > 0, capturing: (row.bits & 2) > 0, ...row });
		}
		return out;
	}

	/** Events right after command seq. complete: known to be finished, because its stream has got past the record. */
	eventsAt(seq) {
		const out = [];
		for (const [id, log] of [...this.events].sort((x, y) => x[0] - y[0])) {
			const row = States.#last(log, seq);
			if (!row)
				continue;
			const stream = this.streams.get(row.stream), now = stream && this.#streamAt(stream, seq);
			out.push({ id, ...row, complete: row.recorded && (!now || !now.head || now.head > row.record) });
		}
		return out;
	}

	/** Allocations that are alive right after command seq, by address. */
	allocsAt(seq) {
		return this.allocs.filter((a) => a.from <= seq && seq < a.to).sort((x, y) => (x.addr < y.addr ? -1 : 1));
	}

	/** The allocation that has the byte at addr then, or null. */
	allocOf(addr, seq) {
		return this.allocs.find((a) => a.from <= seq && seq < a.to && addr >= a.addr && addr < a.addr + BigInt(a.size)) ?? null;
	}
}
