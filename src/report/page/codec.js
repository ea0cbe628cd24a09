// SPDX-License-Identifier: Apache-2.0
//
// From the page's elements to numbers: base64, zlib, varints (src/report/core/pack.h). Pure but for inflate(), which asks the browser.

const DIGITS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';

/** The bytes of a base64 text. A plain loop: Uint8Array.from(atob()) takes ten times as long. */
export function fromBase64(text) {
	if (Uint8Array.fromBase64)
		return Uint8Array.fromBase64(text);
	const value = new Uint8Array(128);
	for (let i = 0; i < 64; i++)
		value[DIGITS.charCodeAt(i)] = i;
	let n = text.length;
	while (n && text[n - 1] === '=')
		n--;
	const out = new Uint8Array(Math.floor(n * 3 / 4));
	for (let i = 0, o = 0; i < n; i += 4) {
		const v = value[text.charCodeAt(i)] << 18 | value[text.charCodeAt(i + 1)] << 12 |
			value[text.charCodeAt(i + 2) & 127] << 6 | value[text.charCodeAt(i + 3) & 127];
		out[o++] = v >> 16;
		out[o++] = v >> 8;
		out[o++] = v;
	}
	return out;
}

/** The bytes that zlib made `bytes` of. */
export async function inflate(bytes) {
	const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('deflate'));
	return new Uint8Array(await new Response(stream).arrayBuffer());
}

/** Reads varints one after the other; numbers above 2^53 lose their last digits, and big() does not. */
export class Reader {
	constructor(bytes, at = 0) {
		this.bytes = bytes;
		this.at = at;
	}
	get more() {
		return this.at < this.bytes.length;
	}
	u() {
		const bytes = this.bytes;
		let b = bytes[this.at++];
		if (b < 128)
			return b;
		let v = b & 127, scale = 128;
		do {
			b = bytes[this.at++];
			v += (b & 127) * scale;
			scale *= 128;
		} while (b >= 128);
		return v;
	}
	/** Zigzag. */
	i() {
		const v = this.u();
		return v % 2 ? -(v + 1) / 2 : v / 2;
	}
	big() {
		let v = 0n, shift = 0n, b;
		do {
			b = this.bytes[this.at++];
			v |= BigInt(b & 127) << shift;
			shift += 7n;
		} while (b >= 128);
		return v;
	}
	bigSigned() {
		const v = this.big();
		return v & 1n ? -((v + 1n) >> 1n) : v >> 1n;
	}
	take(n) {
		const from = this.at;
		this.at += n;
		return this.bytes.subarray(from, this.at);
	}
}

/** Puts n numbers into out: as they are, or as sums of what came before (`sums`), signed or not. */
export function column(bytes, out, { sums = false, signed = false } = {}) {
	const r = new Reader(bytes);
	let last = 0;
	for (let k = 0; k < out.length; k++) {
		const v = signed ? r.i() : r.u();
		last = sums ? last + v : v;
		out[k] = last;
	}
	return out;
}
