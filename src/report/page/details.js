// SPDX-License-Identifier: Apache-2.0
//
// All fields of one command: opens the block that it lies in (src/report/core/columns.h), and says values as the shell does. Pure.
import { Reader } from './codec.js';

const BLOCK = 256, NO_ID = 0xffffffffn;
/* numbers of enum sbt_type (src/sbt/cmd.h) */
const TYPE = { UINT: 0, INT: 1, BOOL: 2, SIZE: 3, ADDR: 4, HEX: 5, STREAM: 6, GRAPH: 11, SEQ: 12, TIME: 13, DURATION: 14, STR: 15, BLOB: 16 };
const COMMON = ['ctx', 'result', 'corr'];

export class Details {
	constructor(trace) {
		const r = new Reader(trace.later.blocks);
		this.trace = trace;
		this.at = [0];
		while (r.more)
			this.at.push(this.at.at(-1) + r.u());
		this.open = -1;
	}

	#openBlock(number) {
		const { trace } = this, r = new Reader(trace.later.details, this.at[number]), last = new Map();
		this.rows = [];
		for (let i = number * BLOCK; i < Math.min(trace.n, (number + 1) * BLOCK); i++) {
			const kind = trace.kind[i], fields = trace.head.kinds[kind].fields;
			if (!last.has(kind))
				last.set(kind, []);
			this.rows.push(readRow(r, fields, last.get(kind)));
		}
		this.open = number;
	}

	/** {name: value}: BigInt, or bytes for texts. */
	raw(i) {
		const number = Math.floor(i / BLOCK);
		if (this.open !== number)
			this.#openBlock(number);
		return this.rows[i % BLOCK];
	}

	/** [{name, value, help, seq}]: texts to show; seq: the command that a value names, or 0. */
	fields(i) {
		const raw = this.raw(i), { head } = this.trace;
		return head.kinds[this.trace.kind[i]].fields.filter(([, type]) => type !== TYPE.BLOB).map(([name, type, help]) => ({
			name, help, value: shown(raw[name], type, head.enums), seq: type === TYPE.SEQ ? Number(raw[name]) : 0,
		}));
	}

	/** Words of a launch's parameter buffer: [{offset, size, bytes}]; by the kernel's parameters if they are known. */
	args(i) {
		const raw = this.raw(i), kernel = raw.kernel === undefined ? null : this.trace.head.kernels[raw.kernel];
		if (!raw.args)
			return [];
		const params = kernel && kernel.params.length ? kernel.params : words(raw.args.length);
		return params.filter(([offset, size]) => offset + size <= raw.args.length)
			.map(([offset, size]) => ({ offset, size, bytes: raw.args.subarray(offset, offset + size) }));
	}
}

/** A text, of which those bytes are there that are not the last one's. */
function readBytes(r, last) {
	const out = new Uint8Array(r.u());
	for (let at = 0; at < out.length; at += 8) {
		const changed = r.bytes[r.at++];
		for (let k = 0; k < 8 && at + k < out.length; k++)
			out[at + k] = changed >> k & 1 ? r.bytes[r.at++] : last?.[at + k] ?? 0;
	}
	return out;
}

function readRow(r, fields, last) {
	const row = {}, changed = r.big();
	const scalar = (k) => (BigInt.asUintN(64, (last[k] ?? 0n) + r.bigSigned()));
	COMMON.concat(fields).forEach((field, k) => {
		const [name, type] = k < COMMON.length ? [field] : field, text = type === TYPE.STR || type === TYPE.BLOB;
		if (changed >> BigInt(k) & 1n)
			last[k] = text ? readBytes(r, last[k]) : scalar(k);
		row[name] = last[k] ?? (text ? new Uint8Array() : 0n);
	});
	return row;
}

function words(n) {
	const out = [];
	for (let offset = 0; offset < n; offset += 8)
		out.push([offset, Math.min(8, n - offset)]);
	return out;
}

export function hex(v) {
	return '0x' + v.toString(16);
}

/** Control characters, and those that reorder text, written out: a page must not show them. */
export function safe(text) {
	return text.replace(/[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufffd]/g,
		(c) => '\\x' + c.charCodeAt(0).toString(16).padStart(2, '0'));
}

function shown(v, type, enums) {
	if (type === TYPE.STR)
		return safe(new TextDecoder().decode(v));
	if (type === TYPE.ADDR || type === TYPE.HEX)
		return hex(v);
	if (type === TYPE.INT)
		return BigInt.asIntN(64, v).toString();
	if (type === TYPE.BOOL)
		return v ? 'true' : 'false';
	if (type >= TYPE.STREAM && type <= TYPE.GRAPH && v === NO_ID)
		return 'none';
	if (enums[type])
		return enums[type][Number(v)] ?? v.toString();
	return v.toString();
}

/** What a parameter may mean: its bits, and for 4 and 8 bytes the number and the float they are. */
export function readings(bytes) {
	const padded = new Uint8Array(8);
	padded.set(bytes.subarray(0, 8));
	const view = new DataView(padded.buffer), all = view.getBigUint64(0, true);
	if (bytes.length === 4)
		return { hex: hex(all), int: view.getInt32(0, true).toString(), float: short(view.getFloat32(0, true)) };
	if (bytes.length === 8)
		return { hex: hex(all), int: view.getBigInt64(0, true).toString(), float: short(view.getFloat64(0, true)), address: all };
	if (bytes.length < 8)
		return { hex: hex(all), int: all.toString(), float: '' };
	return { hex: Array.from(bytes.subarray(0, 32), (b) => b.toString(16).padStart(2, '0')).join(' ') + (bytes.length > 32 ? ' ...' : ''), int: '', float: '' };
}

/** A float in few digits; nothing where the bits are hardly meant as one. */
function short(v) {
	const a = Math.abs(v);
	return v === 0 || !Number.isFinite(v) || a < 1e-9 || a > 1e12 ? '' : Number(v.toPrecision(6)).toString();
}
