// SPDX-License-Identifier: Apache-2.0
//
// The pane "Memory": bytes at the replay's place as values, beside those at another place; who wrote a value, and who before that.
import { $, el, table } from './dom.js';
import { hex } from './details.js';
import { bytes } from './view.js';
import { addressOf, base64OfBytes, bytesOfBase64, bytesOfHex, bytesOfValue, VALUES, valuesOf } from './studio-values.js';
import { commandLine, stackList } from './studio-races.js';

const COUNT_MAX = 4096, HISTORY = 20;

export class MemoryPane {
	constructor(live, link) {
		Object.assign(this, { live, link, asked: 0, shown: null, chosen: 0, watched: null });
		this.address = el('input', { id: 'memory-address', size: 18, spellcheck: 'false', autocomplete: 'off', placeholder: '0x302000000', 'aria-label': 'Address', list: 'memory-places' });
		this.places = el('datalist', { id: 'memory-places' });
		this.type = el('select', { id: 'memory-type', 'aria-label': 'Type' }, Object.keys(VALUES).map((t) => el('option', {}, t)));
		this.count = el('input', { id: 'memory-count', type: 'number', min: 1, max: COUNT_MAX, value: 16, 'aria-label': 'How many values' });
		this.other = el('input', { id: 'memory-other', size: 6, spellcheck: 'false', autocomplete: 'off', placeholder: '#', 'aria-label': 'Compare with the memory behind command' });
		this.arguments = el('p', { id: 'memory-arguments' });
		this.values = el('div', { id: 'memory-values' });
		this.about = el('div', { id: 'memory-about' });
		const form = el('form', { id: 'memory-form', novalidate: true, submit: (e) => {
			e.preventDefault();
			this.read();
		} }, el('label', {}, 'Address ', this.address), el('label', {}, 'as ', this.type), el('label', {}, 'values ', this.count), el('label', {}, 'compare with #', this.other), el('button', { id: 'memory-read' }, 'Read'));
		this.root = el('div', {}, form, this.places, this.arguments, this.values, this.about);
		this.type.addEventListener('change', () => this.read());
		live.movers.push(() => this.#moved());
		live.memory = this;
	}

	/** What the command that the replay is at points to, and all that is allocated, to choose from. */
	#moved() {
		const { page } = this.live, at = page.model.cursor, side = page.model.side(), pointers = at && side.details ? pointersOf(side, at.i) : [];
		this.arguments.replaceChildren(...(pointers.length ? ['Arguments: ', ...pointers.flatMap((p, k) => [k ? ', ' : '', el('button', { class: 'link', type: 'button', click: () => this.show(p.address) }, `${hex(p.address)}`), el('span', { class: 'dim' }, ` (${bytes(p.rest)})`)])] : []));
		const allocs = side.states ? side.states.allocsAt(this.live.position.seq) : [];
		this.places.replaceChildren(...allocs.slice(0, 200).map((a) => el('option', { value: hex(a.addr) }, `${bytes(a.size)}, of #${a.from}`)));
		if (this.shown)
			this.read();
	}
	/** Shows memory from an address on. */
	show(address) {
		this.address.value = hex(address);
		this.chosen = 0;
		this.live.page.setTab('memory');
		return this.read();
	}

	/* --- reading --- */

	/** What is asked for; null: something of it makes no sense, and that is said. */
	#wanted() {
		const address = addressOf(this.address.value), count = Number(this.count.value), type = this.type.value, text = this.other.value.trim().replace(/^#/, '');
		const other = text === '' ? null : Number(text), { size } = VALUES[type];
		const wrong = address === null ? 'An address is a hexadecimal number, with a + and a number of bytes behind it or not' :
			!Number.isInteger(count) || count < 1 || count > COUNT_MAX ? `1 to ${COUNT_MAX} values are shown at once` :
				other !== null && (!Number.isSafeInteger(other) || other < 0) ? `There is no command #${text}` : null;
		if (wrong)
			this.#say(wrong);
		return wrong ? null : { address, count, type, other, size };
	}
	#say(text) {
		this.shown = null;
		this.values.replaceChildren(el('p', { class: 'hint bad' }, `${text}.`));
	}
	async read() {
		const want = this.#wanted(), mine = ++this.asked;
		if (!want)
			return;
		try {
			const got = want.other === null ? await this.#here(want) : await this.#both(want);
			if (mine !== this.asked)
				return;
			this.shown = { ...want, ...got, at: this.live.position.seq };
			this.#draw();
		} catch (e) {
			if (mine === this.asked)
				this.#say(e.message);
		}
	}
	async #here({ address, count, size }) {
		const r = await this.link.ask('readMemory', { memoryReference: hex(address), count: count * size });
		if (r.unreadableBytes === count * size)
			throw new Error(`There is no memory at ${hex(address)} here`);
		return { now: bytesOfBase64(r.data), then: null };
	}
	async #both({ address, count, size, other }) {
		const { answer } = await this.link.ask('tsdb/memoryDiff', { a: other, b: this.live.position.seq, memoryReference: hex(address), size: count * size });
		return { then: bytesOfHex(answer.from_data), now: bytesOfHex(answer.to_data) };
	}

	/* --- showing --- */

	#draw() {
		const { address, type, size, now, then, other, at } = this.shown, values = valuesOf(now, type), before = then && valuesOf(then, type);
		this.chosen = Math.min(this.chosen, Math.max(values.length - 1, 0));
		const changed = before ? values.filter((v, i) => !sameBytes(now, then, i * size, size)).length : 0;
		const cell = (v, i) => el('button', { class: `value${before && !sameBytes(now, then, i * size, size) ? ' changed' : ''}${i === this.chosen ? ' chosen' : ''}`, type: 'button', title: hex(address + BigInt(i * size)), 'data-i': i,
			click: () => this.#choose(i) }, v);
		const grid = (list, button) => {
			const out = [];
			for (let i = 0; i < list.length; i += 8)
				out.push(el('tr', {}, el('td', { class: 'dim' }, hex(address + BigInt(i * size))), list.slice(i, i + 8).map((v, k) => el('td', { class: 'n' }, button ? cell(v, i + k) : el('span', { class: !sameBytes(now, then, (i + k) * size, size) && 'changed' }, v)))));
			return el('table', { id: button ? 'memory-now' : 'memory-then', class: 'values' }, el('tbody', {}, out));
		};
		const typed = this.#typed();
		this.values.replaceChildren(
			...(before ? [el('h3', {}, `Behind #${other}`), el('div', { class: 'wide' }, grid(before, false))] : []),
			el('h3', {}, at ? `${this.live.position.in_kernel ? 'Inside' : 'Behind'} #${at}${before ? `: ${changed} of ${values.length} differ` : ''}` : 'At the beginning'), el('div', { class: 'wide' }, grid(values, true)),
			el('p', { id: 'memory-actions' },
				el('button', { id: 'who-wrote', type: 'button', click: () => this.whoWrote() }, 'Who wrote this?'),
				el('button', { id: 'back-to-writer', type: 'button', click: () => this.backToWriter() }, 'Back to who wrote it'),
				el('button', { id: 'history', type: 'button', click: () => this.history() }, 'All who wrote it'),
				el('button', { id: 'watch', type: 'button', 'aria-pressed': String(!!this.watched), click: () => this.watch() }, this.watched ? `Watching ${this.watched.text}` : 'Stop where it changes')),
			el('p', { class: 'hint' }, `Of the value at ${this.#chosenAddress()}.`), this.#changeForm(values[this.chosen] ?? '', typed));
	}
	/** What is being typed over the chosen value, and was not written: it is kept when memory is read again. Else null. */
	#typed() {
		const input = this.values.querySelector('#memory-value');
		return input && input.dataset.of === this.#chosenName() && input.value !== input.dataset.from ? input.value : null;
	}
	#chosenName() {
		return `${this.#chosenAddress()} ${this.shown.type}`;
	}
	/** Another value in place of the chosen one: what is executed from here on is a what-if. typed: see #typed(). */
	#changeForm(value, typed) {
		const input = el('input', { id: 'memory-value', size: 14, value: typed ?? value, 'data-from': value, 'data-of': this.#chosenName(), spellcheck: 'false', autocomplete: 'off', 'aria-label': `Another value of type ${this.shown.type}` });
		return el('form', { id: 'memory-change', novalidate: true, submit: (e) => {
			e.preventDefault();
			this.write(input);
		} }, el('label', {}, `As ${this.shown.type} `, input), el('button', { id: 'memory-write', title: 'The replay goes on with it; the trace stays as it is' }, 'Change it'));
	}
	async write(input) {
		const text = input.value, bytes = bytesOfValue(text, this.shown.type), address = this.#chosenAddress();
		if (!bytes) {
			this.#tell(el('p', { class: 'hint bad' }, `"${text}" is no value of the type ${this.shown.type}.`));
			return;
		}
		try {
			input.dataset.from = text; // no longer what is only typed
			await this.link.ask('writeMemory', { memoryReference: address, data: base64OfBytes(bytes) });
			this.#tell(el('p', { id: 'memory-written' }, `${bytes.length} bytes at ${address} were changed.`));
		} catch (e) {
			this.#tell(el('p', { class: 'hint bad' }, `${e.message}.`));
		}
	}
	#chosenAddress() {
		return hex(this.shown.address + BigInt(this.chosen * this.shown.size));
	}
	#choose(i) {
		this.chosen = i;
		this.about.replaceChildren();
		this.#draw();
	}

	/* --- who wrote --- */

	async #writers(most) {
		const { answer } = await this.link.ask('tsdb/whoWrote', { memoryReference: this.#chosenAddress(), size: this.shown.size, ...(most ? { most } : {}) });
		return answer;
	}
	#tell(...parts) {
		this.about.replaceChildren(...parts);
	}
	async whoWrote() {
		try {
			const w = await this.#writers();
			this.#tell(el('h3', {}, `Who wrote ${w.addr}`), this.#writer(w), stackList(w.frames));
			return w;
		} catch (e) {
			this.#tell(el('p', { class: 'hint bad' }, `${e.message}.`));
			return null;
		}
	}
	async backToWriter() {
		const w = await this.whoWrote();
		if (w)
			this.live.goto(w.seq);
	}
	async history() {
		try {
			const all = await this.#writers(HISTORY), list = Array.isArray(all) ? all : [all];
			this.#tell(el('h3', {}, `Who wrote ${this.#chosenAddress()}, the last one first`), el('ol', { id: 'writers' }, list.map((w) => el('li', {}, this.#writer(w)))),
				...(list.length === HISTORY ? [el('p', { class: 'hint' }, `The last ${HISTORY}.`)] : []));
		} catch (e) {
			this.#tell(el('p', { class: 'hint bad' }, `${e.message}.`));
		}
	}
	#writer(w) {
		const sure = !w.certain ? ', perhaps: it had a pointer there' : w.changed ? '' : ', perhaps the same bytes';
		return el('p', { class: 'writer' }, el('button', { class: 'link', type: 'button', title: `Replay to #${w.seq}`, click: () => this.live.goto(w.seq) }, commandLine(w.command ?? { seq: w.seq, kind: 'command' })), w.step ? `, its step ${w.step}` : '', sure);
	}

	/* --- watching --- */

	/** ◀◀ and ▶▶ then stop where the value changes. */
	async watch() {
		const text = this.#chosenAddress();
		try {
			if (this.watched) {
				await this.link.ask('setDataBreakpoints', { breakpoints: [] });
				this.watched = null;
			} else {
				const { dataId, description } = await this.link.ask('dataBreakpointInfo', { name: text, asAddress: true, bytes: this.shown.size });
				if (!dataId)
					throw new Error(description);
				await this.link.ask('setDataBreakpoints', { breakpoints: [{ dataId, accessType: 'write' }] });
				this.watched = { text };
			}
			this.#draw();
		} catch (e) {
			this.#tell(el('p', { class: 'hint bad' }, `${e.message}.`));
		}
	}
}

function sameBytes(a, b, at, n) {
	for (let i = at; i < at + n; i++)
		if (a[i] !== b[i])
			return false;
	return true;
}

/** Arguments of a launch that point into an allocation: {address, rest}, each once. */
function pointersOf(side, i) {
	const out = new Map(), seq = side.trace.seq[i];
	for (const { size, bytes: raw } of side.details.args(i)) {
		if (size !== 8)
			continue;
		const address = new DataView(raw.buffer, raw.byteOffset, 8).getBigUint64(0, true), alloc = side.states.allocOf(address, seq);
		if (alloc)
			out.set(address, { address, rest: alloc.size - Number(address - alloc.addr) });
	}
	return [...out.values()];
}
