// SPDX-License-Identifier: Apache-2.0
//
// Memory as values. Pure.

function half(bits) {
	const exponent = bits >> 10 & 31, fraction = bits & 1023, sign = bits >> 15 ? -1 : 1;
	if (exponent === 31)
		return fraction ? NaN : sign * Infinity;
	return sign * (exponent ? 2 ** (exponent - 15) * (1 + fraction / 1024) : 2 ** -14 * (fraction / 1024));
}

function bfloat(bits) {
	const view = new DataView(new ArrayBuffer(4));
	view.setUint32(0, bits << 16 >>> 0);
	return view.getFloat32(0);
}

/** A float's shortest decimal that has the same bits. */
function float32(v) {
	for (let digits = 1; Number.isFinite(v) && digits < 9; digits++) {
		const text = Number(v.toPrecision(digits));
		if (Math.fround(text) === v)
			return minus(text);
	}
	return minus(v);
}

function minus(v) {
	return Object.is(v, -0) ? '-0' : String(v);
}

/* --- values as bytes --- */

/** The nearest of v's neighbours that has `bits` of fraction; of two that are as near, the even one. */
function rounded(v, bits) {
	const scale = 2 ** bits, scaled = v * scale, down = Math.floor(scaled), rest = scaled - down;
	return (down + (rest > .5 || (rest === .5 && down % 2) ? 1 : 0)) / scale;
}

/** The bits of a float with so many bits of exponent and fraction. */
function floatBits(v, exponentBits, fractionBits) {
	const bias = 2 ** (exponentBits - 1) - 1, sign = (v < 0 || Object.is(v, -0) ? 1 : 0) * 2 ** (exponentBits + fractionBits), top = (2 ** exponentBits - 1) * 2 ** fractionBits, size = Math.abs(v);
	if (Number.isNaN(v))
		return top + 2 ** (fractionBits - 1);
	let exponent = Math.max(Math.floor(Math.log2(size)), 1 - bias);
	if (size / 2 ** exponent >= 2)
		exponent++; /* log2 of what is just below a power of two may be rounded up, or down */
	else if (size && size / 2 ** exponent < 1 && exponent > 1 - bias)
		exponent--;
	const fraction = size ? rounded(size / 2 ** exponent, fractionBits) : 0, bits = size === Infinity ? top : fraction < 1 ? fraction * 2 ** fractionBits : (exponent + bias) * 2 ** fractionBits + (fraction - 1) * 2 ** fractionBits;
	return sign + Math.min(bits, top);
}

/** A decimal number, inf or nan; undefined: none of them. */
function floatOf(text) {
	const m = /^([-+]?)(inf(?:inity)?|nan|(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?)$/i.exec(text);
	if (!m)
		return undefined;
	const size = /^i/i.test(m[2]) ? Infinity : /^n/i.test(m[2]) ? NaN : Number(m[2]);
	return m[1] === '-' ? -size : size;
}

/** A whole number of so many bits, decimal or hexadecimal; undefined: it is none, or does not fit. */
function wholeOf(text, bits, signed) {
	const m = /^(-?)(\d{1,20}|0x[0-9a-f]{1,16})$/i.exec(text), n = m && (m[1] ? -BigInt(m[2]) : BigInt(m[2]));
	return m && n >= (signed ? -(1n << BigInt(bits - 1)) : 0n) && n < 1n << BigInt(signed ? bits - 1 : bits) ? n : undefined;
}

function putFloat(size, put) {
	return (text) => {
		const v = floatOf(text), view = new DataView(new ArrayBuffer(size));
		if (v === undefined)
			return null;
		put(view, v);
		return new Uint8Array(view.buffer);
	};
}
function putWhole(size, signed) {
	return (text) => {
		const n = wholeOf(text, size * 8, signed), view = new DataView(new ArrayBuffer(8));
		if (n === undefined)
			return null;
		view.setBigUint64(0, BigInt.asUintN(64, n), true);
		return new Uint8Array(view.buffer, 0, size);
	};
}

/** The bytes of what was typed as a value of the type; null: it is none. */
const PUT = {
	f32: putFloat(4, (view, v) => view.setFloat32(0, v, true)), f64: putFloat(8, (view, v) => view.setFloat64(0, v, true)),
	f16: putFloat(2, (view, v) => view.setUint16(0, floatBits(v, 5, 10), true)), bf16: putFloat(2, (view, v) => view.setUint16(0, floatBits(v, 8, 7), true)),
	i32: putWhole(4, true), u32: putWhole(4, false), i64: putWhole(8, true), u64: putWhole(8, false), i8: putWhole(1, true), u8: putWhole(1, false), x32: putWhole(4, false), x64: putWhole(8, false),
};
export function bytesOfValue(text, type) {
	return PUT[type](text.trim());
}

/** What memory can be read as: size in bytes, and how the bytes at an offset of a DataView are said. */
export const VALUES = {
	f32: { size: 4, say: (v, at) => float32(v.getFloat32(at, true)) },
	f64: { size: 8, say: (v, at) => minus(v.getFloat64(at, true)) },
	f16: { size: 2, say: (v, at) => minus(half(v.getUint16(at, true))) },
	bf16: { size: 2, say: (v, at) => minus(bfloat(v.getUint16(at, true))) },
	i32: { size: 4, say: (v, at) => String(v.getInt32(at, true)) },
	u32: { size: 4, say: (v, at) => String(v.getUint32(at, true)) },
	i64: { size: 8, say: (v, at) => String(v.getBigInt64(at, true)) },
	u64: { size: 8, say: (v, at) => String(v.getBigUint64(at, true)) },
	i8: { size: 1, say: (v, at) => String(v.getInt8(at)) },
	u8: { size: 1, say: (v, at) => String(v.getUint8(at)) },
	x32: { size: 4, say: (v, at) => '0x' + v.getUint32(at, true).toString(16).padStart(8, '0') },
	x64: { size: 8, say: (v, at) => '0x' + v.getBigUint64(at, true).toString(16).padStart(16, '0') },
};

/** The values in bytes; what is left over at the end is none. */
export function valuesOf(bytes, type) {
	const { size, say } = VALUES[type], view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length), out = [];
	for (let at = 0; at + size <= bytes.length; at += size)
		out.push(say(view, at));
	return out;
}

export function bytesOfBase64(text) {
	return Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
}

export function base64OfBytes(bytes) {
	return btoa(String.fromCharCode(...bytes));
}

export function bytesOfHex(text) {
	return Uint8Array.from({ length: text.length / 2 }, (_, i) => parseInt(text.slice(2 * i, 2 * i + 2), 16));
}

/** "0x302000000", "302000000", or "0x302000000 + 64"; null: it is no address. */
export function addressOf(text) {
	const m = /^\s*(?:0x)?([0-9a-f]{1,16})\s*(?:\+\s*(0x[0-9a-f]{1,16}|\d{1,15})\s*)?$/i.exec(text);
	if (!m)
		return null;
	const addr = BigInt('0x' + m[1]) + BigInt(m[2] ?? 0);
	return addr < 1n << 64n ? addr : null;
}
