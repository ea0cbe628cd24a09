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
