// SPDX-License-Identifier: Apache-2.0
//
// The panel beside the lanes: the command at the cursor with fields, arguments and stack; the GPU's state right after it; the facts.
import { el, table } from './dom.js';
import { hex, readings } from './details.js';
import { bytes, duration } from './view.js';
import { ARROW_HOST, ARROW_LEARNED, ARROW_STREAM, FAILED, IN_GRAPH, KIND, SYNTHETIC } from './trace.js';

const ROWS_MAX = 300;
const BAD = ['fault', 'race', 'unstable']; /* topics */

/** go(t, i): moves the cursor; it becomes the button's action. */
export class Panel {
	constructor(model, go) {
		Object.assign(this, { model, go });
	}

	link(t, seq) {
		const i = this.model.sides[t].trace.indexOf(seq);
		return i < 0 ? `#${seq}` : el('button', { class: 'link', click: () => this.go(t, i) }, `#${seq}`);
	}

	/* --- the command --- */

	command() {
		const at = this.model.cursor;
		if (!at)
			return [el('p', { class: 'hint' }, 'Click a command, or search. Keys: ? lists them.')];
		const { trace, details, states } = this.model.sides[at.t], { i } = at, seq = trace.seq[i];
		if (!details)
			return [el('p', { class: 'hint' }, 'Reading ...')];
		return [
			el('h2', { id: 'title' }, title(trace, details, i)),
			this.#times(trace, at),
			this.#fields(trace, details, at),
			this.#args(details, states, at, seq),
			this.#waits(trace, at),
			stack(trace.frames(i)),
		].flat();
	}
	#times(trace, { t, i }) {
		const rows = [...(this.model.together ? [['Rank', String(trace.head.rank)]] : []), ['Called', `${duration(trace.host[i])} after the first call, thread ${trace.thread[i]}`]];
		if (trace.timed(i))
			rows.push(['Ran', `${duration(trace.gpuNs(i))}, from ${duration(trace.start[i])} on`]);
		else if (trace.stream[i])
			rows.push(['Ran', 'when is not recorded']);
		if (trace.flags[i] & FAILED)
			rows.push(['Failed', 'the call returned an error: see result']);
		if (trace.flags[i] & IN_GRAPH)
			rows.push(['Graph', 'captured into a graph, not executed here']);
		if (trace.flags[i] & SYNTHETIC)
			rows.push(['Noted', 'by tsdb: no call of the program']);
		const other = this.model.other({ t, i });
		if (this.model.pairs)
			rows.push([t ? 'In A' : 'In B', other ? this.link(other.t, this.model.sides[other.t].trace.seq[other.i]) : 'has no such command']);
		return el('dl', {}, rows.map(([k, v]) => [el('dt', {}, k), el('dd', {}, v)]).flat());
	}
	#fields(trace, details, { t, i }) {
		const raw = details.raw(i);
		const rows = details.fields(i).map((f) => [el('span', { title: f.help }, f.name), f.seq ? this.link(t, f.seq) : el('span', { class: /^(0|0x0|false|none)$/.test(f.value) && 'dim' }, f.value)]);
		if (raw.result)
			rows.unshift(['result', String(raw.result)]);
		return [el('h3', {}, 'Fields'), table(['Name', 'Value'], rows, { id: 'fields' })];
	}
	#args(details, states, { i }, seq) {
		const args = details.args(i);
		if (!args.length)
			return [];
		const rows = args.slice(0, ROWS_MAX).map(({ offset, size, bytes: b }) => {
			const r = readings(b), alloc = r.address ? states.allocOf(r.address, seq) : null;
			return [String(offset), String(size), r.hex, alloc ? `${hex(alloc.addr)}+${r.address - alloc.addr}, ${bytes(alloc.size)} of #${alloc.from}` : [r.int, r.float].filter(Boolean).join(', ')];
		});
		return [el('h3', {}, 'Arguments'), table(['>At', '>Bytes', 'Bits', 'As'], rows, { id: 'args' })];
	}
	#waits(trace, { t, i }) {
		const line = (what, list) => list.length && el('p', {}, `${what} `, list.slice(0, 40).map((w, k) => [k ? ', ' : '', this.link(t, trace.seq[w.index])]).flat(), list.length > 40 ? ` and ${list.length - 40} more` : '');
		const before = trace.waitsFor(i), after = trace.waitedForBy(i), of = (list, what) => list.filter((w) => w.what === what);
		const lines = [
			line('Waits for the work of other streams:', of(before, ARROW_STREAM)),
			line('Submitted behind what the host had learned at', of(before, ARROW_HOST)),
			line('The host learns here that these are finished:', of(before, ARROW_LEARNED)),
			line('Other streams wait for it:', of(after, ARROW_STREAM)),
			line('The host learns that it is finished at', of(after, ARROW_LEARNED)),
			line('Submitted behind it:', of(after, ARROW_HOST)),
		].filter(Boolean);
		return lines.length ? [el('h3', {}, 'Order'), el('div', { id: 'order' }, lines)] : [];
	}

	/* --- the state --- */

	state() {
		const at = this.model.cursor;
		if (!at)
			return [el('p', { class: 'hint' }, 'The state is that right after the command at the cursor: choose one.')];
		const { trace, states } = this.model.sides[at.t], seq = trace.seq[at.i];
		if (!states)
			return [el('p', { class: 'hint' }, 'Reading ...')];
		return [
			el('h2', {}, `After #${seq}`),
			el('p', { class: 'hint' }, 'What the program could know by then, as in ', el('code', {}, `state show at ${seq}`), '.'),
			this.#streams(states.streamsAt(seq), at.t),
			this.#events(states.eventsAt(seq), at.t),
			this.#allocs(states.allocsAt(seq), at.t),
		].flat();
	}
	#streams(streams, t) {
		const rows = streams.map((s) => [
			String(s.id), el('span', { class: `status s${s.status}` }, s.statusName + (s.destroyed ? ' (destroyed)' : '') + (s.capturing ? ' (capturing)' : '')),
			s.head ? this.link(t, s.head) : '', String(s.pending), String(s.finished),
			s.waitSeq ? [this.link(t, s.waitSeq), s.waitStream >= 0 ? ` on stream ${s.waitStream}` : ''] : '',
		].map((c) => (Array.isArray(c) ? el('span', {}, c) : c)));
		return [el('h3', {}, 'Streams'), table(['>Id', 'Status', '>Head', '>Queue', '>Finished', 'Waits for'], rows, { id: 'streams' })];
	}
	#events(events, t) {
		if (!events.length)
			return [];
		const alive = events.filter((e) => !e.destroyed);
		const rows = alive.slice(0, ROWS_MAX).map((e) => [String(e.id), e.recorded ? (e.complete ? 'finished' : 'pending') : 'never recorded', e.recorded ? this.link(t, e.record) : '', e.recorded ? String(e.stream) : '']);
		return [el('h3', {}, `Events (${alive.length})`), table(['>Id', 'Record', '>At', '>Stream'], rows, { id: 'events' }), more(alive.length)];
	}
	#allocs(allocs, t) {
		const sum = allocs.reduce((n, a) => n + a.size, 0);
		const rows = allocs.slice(0, ROWS_MAX).map((a) => [hex(a.addr), String(a.size), a.kind, String(a.device), this.link(t, a.from)]);
		return [el('h3', {}, `Allocations (${allocs.length}, ${bytes(sum)})`), table(['Address', '>Bytes', 'Kind', '>Device', '>Of'], rows, { id: 'allocs' }), more(allocs.length)];
	}

	/* --- facts --- */

	facts() {
		const { model } = this, all = model.together ? [el('h2', {}, `All ranks: ${model.together.trace}`), this.#topics(model.together, 0)] : [];
		return all.concat(model.sides.map((side, t) => {
			if (!side.trace.facts)
				return [];
			const head = model.sides.length > 1 ? [el('h2', {}, model.label(t))] : [];
			return head.concat(this.#topics(side.trace.facts, t));
		})).flat(2);
	}
	#topics(facts, t) {
		return facts.topics.map((topic) => [el('h3', {}, topic.title), el('ul', { class: `facts ${topic.topic}` }, topic.facts.map((f) => this.#fact(f, t, BAD.includes(topic.topic))))]).flat();
	}
	/** bad: those of its topic that name a command are bad news. */
	#fact(f, t, bad) {
		const links = f.seqs.filter((s) => !f.text.includes(`#${s}`)).map((s) => [' ', this.link(t, s)]).flat();
		return el('li', { class: bad && f.seqs.length > 0 && 'bad' }, this.#linked(f.text, f.seqs, t), f.call_site ? el('span', { class: 'place' }, ` ${f.call_site}`) : '', links);
	}
	/** The text with its "#41" as links. */
	#linked(text, seqs, t) {
		return text.split(/(#\d+)/).map((part) => (/^#\d+$/.test(part) && seqs.includes(Number(part.slice(1))) ? this.link(t, Number(part.slice(1))) : part));
	}
}

function more(n) {
	return n > ROWS_MAX ? el('p', { class: 'hint' }, `and ${n - ROWS_MAX} more`) : null;
}

/** "#41 matmul<<<(64,64,1),(16,16,1)>>> stream 2" */
export function title(trace, details, i) {
	const raw = details?.raw(i), stream = trace.stream[i] ? ` stream ${trace.stream[i] - 1}` : '';
	const name = `#${trace.seq[i]} ${trace.nameOf(i)}`;
	if (!raw)
		return name + stream;
	if (trace.kind[i] === KIND.LAUNCH)
		return `${name}<<<(${raw.grid_x},${raw.grid_y},${raw.grid_z}),(${raw.block_x},${raw.block_y},${raw.block_z})>>>${stream}`;
	if (trace.kind[i] === KIND.COPY || trace.kind[i] === KIND.FILL)
		return `${name} ${raw.size} bytes${stream}`;
	if (trace.kind[i] === KIND.MARK)
		return `#${trace.seq[i]} mark ${trace.nameOf(i)}`;
	return name + stream;
}

/** A host stack, outermost last. */
function stack(frames) {
	if (!frames.length)
		return [el('h3', {}, 'Stack'), el('p', { class: 'hint' }, 'None was recorded.')];
	return [el('h3', {}, 'Stack'), el('ol', { id: 'stack' }, frames.map((f) => el('li', { class: f.python ? 'python' : f.stub && 'dim' }, el('code', {}, f.function), f.file ? el('span', { class: 'place' }, ` ${f.file}${f.line ? `:${f.line}` : ''}`) : '')))];
}
