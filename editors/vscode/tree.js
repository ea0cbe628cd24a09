// SPDX-License-Identifier: Apache-2.0
//
// What the views show, made of what tsdb/state answers (the objects of docs/json.md). It needs no editor: a test runs it.
//
// A row is {label, text, inside, seq}: inside() gives rows below it, seq is a command to go to.
'use strict';

/** One object comes as itself, several as a list. */
function list(answer) {
	return Array.isArray(answer) ? answer : answer && Object.keys(answer).length ? [answer] : [];
}

function plain(v) {
	return v === null || v === undefined ? 'none' : String(v);
}

/** The members of an object as rows. */
function members(object) {
	return Object.entries(object).map(([label, v]) => {
		if (v === null || typeof v !== 'object')
			return { label, text: plain(v), inside: null, seq: 0 };
		return { label, text: Array.isArray(v) ? String(v.length) : '', inside: () => members(v), seq: 0 };
	});
}

function commandText(c) {
	const grid = c.kind === 'launch' ? `<<<(${c.grid_x},${c.grid_y},${c.grid_z}),(${c.block_x},${c.block_y},${c.block_z})>>>` : '';

	return `${c.kernel_name || c.kind}${grid}`;
}

function queued(q) {
	return { label: `#${q.command.seq}`, text: `${commandText(q.command)} ${q.status}`, inside: () => members(q.command), seq: q.command.seq };
}

function stream(s) {
	const head = s.head ? ` #${s.head}` : '';
	const waits = s.wait_event !== null && s.wait_event !== undefined ? ` for event ${s.wait_event}` : '';

	return {
		label: `stream ${plain(s.id)}`,
		text: `${s.status}${head}${waits}`,
		inside: () => [...(s.queue || []).map(queued), ...members({ ...s, queue: undefined }).filter((r) => r.label !== 'queue')],
		seq: s.head || 0,
	};
}

/** The streams of a state, those that were destroyed left out. */
function streams(state) {
	return (state.stream_list || []).filter((s) => !s.destroyed).map(stream);
}

const KINDS = [['allocation_list', 'allocations', (a) => [a.addr, `${a.size} bytes`]], ['event_list', 'events', (e) => [`event ${e.id}`, '']],
	['kernel_list', 'kernels', (k) => [k.short_name || k.name, '']], ['module_list', 'modules', (m) => [`module ${m.id}`, m.file || '']],
	['graph_list', 'graphs', (g) => [`graph ${g.id}`, `${g.nodes} nodes`]], ['context_list', 'contexts', (c) => [`context ${c.id}`, '']],
	['device_list', 'devices', (d) => [d.name, '']]];

function named(o, name) {
	const [label, text] = name(o);

	return { label: plain(label), text, inside: () => members(o), seq: 0 };
}

/** All else of a state. */
function state(answer) {
	return KINDS.filter(([key]) => (answer[key] || []).length).map(([key, label, name]) =>
		({ label, text: String(answer[key].length), inside: () => answer[key].map((o) => named(o, name)), seq: 0 }));
}

function writer(w) {
	const sure = w.certain ? 'wrote' : 'may have written';

	return w.seq ? `#${w.seq} ${w.command ? commandText(w.command) : ''} ${sure} it` : 'Nothing that was recorded wrote it.';
}

const MEMORY_LINE = 16; // bytes of a row

/** Memory that was read: rows of bytes, each with what they are as float32 and as integers; what cannot be read is said, never zeroes. */
function memory(address, base64, unreadable) {
	const bytes = Buffer.from(base64 || '', 'base64'), rows = [];

	for (let at = 0; at < bytes.length; at += MEMORY_LINE) {
		const part = bytes.subarray(at, at + MEMORY_LINE), words = Array.from({ length: part.length >> 2 }, (_, i) => 4 * i);
		const as = (label, say) => ({ label, text: words.map(say).join(' '), inside: null, seq: 0 });

		rows.push({ label: `0x${(BigInt(address) + BigInt(at)).toString(16)}`, text: part.toString('hex').replace(/(..)(?=.)/g, '$1 '), seq: 0,
			inside: () => [as('float32', (i) => Number(part.readFloatLE(i).toPrecision(8))), as('int32', (i) => part.readInt32LE(i))] });
	}
	if (unreadable)
		rows.push({ label: `${unreadable} bytes`, text: 'cannot be read', inside: null, seq: 0 });
	return rows;
}

function race(r) {
	return { label: `#${r.a.seq} ${commandText(r.a.command)}, #${r.b.seq} ${commandText(r.b.command)}`, detail: r.cure || '', seq: r.b.seq };
}

module.exports = { list, streams, state, memory, writer, race };
