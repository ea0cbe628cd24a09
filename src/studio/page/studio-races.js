// SPDX-License-Identifier: Apache-2.0
//
// The pane "Races": pairs that nothing orders, side by side with the call that would; other orders of the program, executed.
import { el } from './dom.js';
import { addressOf, bytesOfHex, valuesOf } from './studio-values.js';

/** A command out of JSON, as the shell says it: "#21 consume<<<(4,1,1),(256,1,1)>>> stream 2". */
export function commandLine(c) {
	const stream = c.stream === undefined || c.stream === null ? '' : ` stream ${c.stream}`;
	if (c.kind === 'launch')
		return `#${c.seq} ${c.kernel_name ?? 'launch'}<<<(${c.grid_x},${c.grid_y},${c.grid_z}),(${c.block_x},${c.block_y},${c.block_z})>>>${stream}`;
	return `#${c.seq} ${c.kind}${c.size === undefined ? '' : ` ${c.size} bytes`}${stream}`;
}

/** Frames out of JSON, innermost first. */
export function stackList(frames) {
	return frames.length ? el('ol', { class: 'frames' }, frames.map((f) => el('li', {}, el('code', {}, f.function ?? f.pc), f.file ? el('span', { class: 'place' }, ` ${f.file}${f.line ? `:${f.line}` : ''}`) : ''))) : el('p', { class: 'hint' }, 'No stack was recorded.');
}

function list(v) {
	return Array.isArray(v) ? v : [v];
}

export class RacesPane {
	constructor(live, link) {
		Object.assign(this, { live, link, found: null, explored: null, looking: false, exploring: false, why: '', order: new Map() });
		this.look = el('button', { id: 'races-look', type: 'button', click: () => this.find() }, 'Look for races');
		this.budget = el('input', { id: 'explore-budget', size: 6, value: '200', 'aria-label': 'How many orders, or for how long', title: '200: so many orders; 30s: for so long' });
		this.start = el('button', { id: 'explore', type: 'button', click: () => this.explore() }, 'Execute other orders');
		this.cancel = el('button', { id: 'explore-cancel', type: 'button', hidden: true, click: () => this.stop() }, 'Cancel');
		this.progress = el('progress', { id: 'explore-progress', hidden: true });
		this.said = el('span', { id: 'explore-said', class: 'dim', 'aria-live': 'polite' });
		this.races = el('div', { id: 'races' });
		this.orders = el('div', { id: 'orders' });
		this.root = el('div', {}, el('p', { class: 'hint' }, 'Commands that touch the same bytes while nothing orders them. Launches are executed to see what they touch.'), el('p', {}, this.look), this.races,
			el('h3', {}, 'Other orders'), el('p', { class: 'hint' }, 'Executes the window in orders that the program allows as well, and keeps those with another result beside the trace.'),
			el('p', { id: 'explore-form' }, this.budget, this.start, this.cancel, this.progress, this.said), this.orders);
		live.races = () => this.show();
	}

	/* --- races --- */

	async find() {
		this.looking = true;
		this.why = '';
		this.show();
		try {
			this.found = list((await this.link.ask('tsdb/races')).answer);
		} catch (e) {
			this.why = e.message;
		}
		this.looking = false;
		this.#drawRaces();
		this.show();
	}
	#drawRaces() {
		this.races.replaceChildren(...(this.why ? [el('p', { class: 'hint bad' }, `${this.why}.`)] : !this.found.length ? [el('p', {}, 'None was found.')] : this.found.map((r) => this.#race(r))));
	}
	#race(r) {
		const side = (x, of) => el('div', { class: 'side' }, el('button', { class: 'link', type: 'button', title: `Replay to #${x.seq}`, click: () => this.live.goto(x.seq) }, commandLine(x.command)),
			el('p', {}, `${x.by_host ? 'the host ' : ''}${x.how} it`), stackList(x.frames), of);
		const order = this.order.get(`${r.a.seq} ${r.b.seq}`);
		return el('article', { class: 'race' },
			el('h3', {}, `${r.tier}: ${r.size} bytes at ${r.addr}${r.count > 1 ? `, ${r.count} such pairs` : ''}`),
			el('div', { class: 'pair' }, side(r.a), side(r.b)),
			el('p', { class: 'cure' }, 'What is missing: ', el('strong', {}, r.cure)),
			el('p', {}, el('button', { class: 'why', type: 'button', click: () => this.why_(r) }, 'Why is nothing ordered?'), ' ',
				el('button', { class: 'see', type: 'button', click: () => this.live.memory.show(addressOf(r.addr)) }, 'See the memory')),
			...(order ? [el('pre', { class: 'order' }, order)] : []));
	}
	async why_(r) {
		try {
			const { answer } = await this.link.ask('tsdb/order', { a: r.a.seq, b: r.b.seq });
			this.order.set(`${r.a.seq} ${r.b.seq}`, answer.text.trimEnd());
		} catch (e) {
			this.order.set(`${r.a.seq} ${r.b.seq}`, e.message);
		}
		this.#drawRaces();
	}

	/* --- other orders --- */

	async explore() {
		this.exploring = true;
		this.explored = null;
		this.orders.replaceChildren();
		this.show();
		try {
			const { answer } = await this.link.ask('tsdb/explore', { budget: this.budget.value.trim(), save: true });
			this.explored = answer;
			this.#drawOrders();
		} catch (e) {
			this.orders.replaceChildren(el('p', { class: 'hint bad', id: 'explore-why' }, `${e.message}.`));
		}
		this.exploring = false;
		this.show();
	}
	/** Of any window's: whoever sees the work may end it. */
	async stop() {
		for (const progressId of this.live.tasks.keys())
			await this.link.ask('cancel', { progressId }).catch((e) => this.live.say(e.message));
	}
	#drawOrders() {
		const { executed, alike, found, complete, interrupted } = this.explored;
		this.orders.replaceChildren(
			el('p', { id: 'explore-result' }, `${executed} orders executed, ${alike} more are like one of them${complete ? ': those are all' : interrupted ? ', then it was cancelled' : ''}. ${found.length ? '' : 'All gave the recorded result.'}`),
			...found.map((f, k) => this.#order(f, k + 1)));
	}
	#order(f, number) {
		const pairs = f.pairs.map((p) => `#${p.later} before #${p.earlier}`).join(', '), say = (text) => valuesOf(bytesOfHex(text), 'f32').join(' ');
		return el('article', { class: 'race' },
			el('h3', {}, `Order ${number}: ${pairs || 'another order'}`),
			el('p', {}, `${f.bytes} of ${f.size} bytes at ${f.allocation} are others, from ${f.addr} on: ${say(f.was)} as recorded, ${say(f.is)} here (as f32).`),
			el('p', {}, el('button', { class: 'replay-order', type: 'button', 'data-number': number, click: () => this.live.move('tsdb/schedule', { number, step: true }) }, 'Replay this order')));
	}

	/* --- while it works --- */

	show() {
		const tasks = [...this.live.tasks.values()].filter((x) => x.title === 'tsdb/explore' || x.title === 'tsdb/races'), task = tasks[0], busy = this.looking || this.exploring || !!task, live = this.live.status.state === 'live';
		this.look.disabled = this.start.disabled = busy || !live || this.live.moving;
		this.look.textContent = this.looking ? 'Looking ...' : 'Look for races';
		this.cancel.hidden = !task;
		this.progress.hidden = !this.exploring && !task;
		if (task?.percentage !== undefined)
			this.progress.value = task.percentage / 100;
		else
			this.progress.removeAttribute('value');
		this.said.textContent = task?.message ?? (this.exploring ? 'executing ...' : '');
	}
}
