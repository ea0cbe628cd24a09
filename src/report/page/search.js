// SPDX-License-Identifier: Apache-2.0
//
// Search: words that all have to be there, in a command's name, kind, or the functions and files of its stack. "kind:copy", "stack:main",
// "stream:2", "failed" ask for one of them; "#41" is a command. Pure.
import { FAILED, SYNTHETIC } from './trace.js';

/** The number of "#41"; null: it is none. */
export function seqOf(query) {
	const m = /^#?(\d+)$/.exec(query.trim());
	return m ? Number(m[1]) : null;
}

/** A test for one word: function from an index to a boolean. */
function test(trace, word, names, stacks) {
	const m = /^(kind|stack|stream|thread|name):(.+)$/.exec(word), text = (m ? m[2] : word).toLowerCase();
	const named = (i) => names(text)[trace.name[i]] === 1;
	const kind = (i) => trace.kindName(i).includes(text);
	const stack = (i) => trace.stack[i] > 0 && stacks(text)[trace.stack[i] - 1] === 1;
	if (!m)
		return word === 'failed' ? (i) => (trace.flags[i] & FAILED) > 0 : (i) => named(i) || kind(i) || stack(i);
	return { kind, stack, name: named, stream: (i) => trace.stream[i] === Number(text) + 1, thread: (i) => trace.thread[i] === Number(text) }[m[1]];
}

function once(make) {
	const known = new Map();
	return (text) => {
		if (!known.has(text))
			known.set(text, make(text));
		return known.get(text);
	};
}

/** Indices of what is found, in order; `flags` (Uint8Array) has a 1 for each. null: the query is empty, or the number of a command. */
export function search(trace, query) {
	const words = query.trim().split(/\s+/).filter(Boolean);
	if (!words.length || /^#\d+$/.test(query.trim())) /* which goes there */
		return null;
	const names = once((text) => Uint8Array.from(trace.names, (n) => (n.toLowerCase().includes(text) ? 1 : 0)));
	const stacks = once((text) => {
		const hit = names(text);
		return Uint8Array.from(trace.stacks, (s) => (s.some(([f, file]) => hit[f] || (file >= 0 && hit[file])) ? 1 : 0));
	});
	const tests = words.map((w) => test(trace, w, names, stacks)), flags = new Uint8Array(trace.n), found = [];
	for (let i = 0; i < trace.n; i++) {
		if (!(trace.flags[i] & SYNTHETIC) && tests.every((f) => f(i))) {
			flags[i] = 1;
			found.push(i);
		}
	}
	return { found: Uint32Array.from(found), flags };
}
