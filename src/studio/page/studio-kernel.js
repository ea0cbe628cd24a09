// SPDX-License-Identifier: Apache-2.0
//
// What is inside the launch that the replay has gone into: the thread, its code, blocks, warps and lanes, and variables.
import { el, table } from './dom.js';

const KERNEL_SCOPES = ['Arguments', 'Locals', 'Registers'], KERNEL_ROWS = 200;

/** "1,0,0", as tsdb/focus takes it. */
const coordinates = (xyz) => xyz.join(','), inBrackets = (xyz) => `(${xyz.join(',')})`;

export class KernelView {
	constructor(live, link) {
		Object.assign(this, { live, link, inside: null, asked: 0, lanesOf: new Map() });
		this.root = el('section', { id: 'kernel' });
	}

	/** Asks anew where the replay is; of two answers that cross, the one to the later question counts. */
	async ask() {
		const mine = ++this.asked, { position } = this.live;
		this.lanesOf.clear();
		if (!position?.in_kernel) {
			this.inside = null;
			this.show();
			return;
		}
		try {
			const look = await this.link.ask('tsdb/lanes'), frame = (await this.link.ask('stackTrace', { threadId: position.command.stream + 1, levels: 1 })).stackFrames[0];
			const variables = frame ? await this.#variables(frame.id) : [];
			if (mine === this.asked)
				this.inside = { ...look, frame, variables };
		} catch (e) {
			if (mine === this.asked)
				this.inside = { why: e.message };
		}
		this.show();
	}
	/** [scope, variables or why there are none], in the order of KERNEL_SCOPES. */
	async #variables(frameId) {
		const { scopes } = await this.link.ask('scopes', { frameId }), out = [];
		for (const name of KERNEL_SCOPES) {
			const scope = scopes.find((s) => s.name === name);
			if (!scope)
				continue;
			try {
				out.push([name, (await this.link.ask('variables', { variablesReference: scope.variablesReference, start: 0, count: KERNEL_ROWS })).variables]);
			} catch (e) {
				out.push([name, e.message]);
			}
		}
		return out;
	}
	async #lanes(v) {
		try {
			this.lanesOf.set(v.name, (await this.link.ask('variables', { variablesReference: v.variablesReference, start: 0, count: 64 })).variables.map((x) => x.value).join(' '));
		} catch (e) {
			this.lanesOf.set(v.name, e.message);
		}
		this.show();
	}

	/* --- showing --- */

	show() {
		const { inside, live } = this;
		this.root.hidden = !inside;
		if (!inside)
			return;
		if (inside.why) {
			this.root.replaceChildren(el('p', { class: 'hint bad' }, `${inside.why}.`));
			return;
		}
		const lane = inside.lanes.find((x) => x.focus), warp = inside.warps.find((w) => w.focus), block = inside.blocks.find((b) => b.state === 'running'), { frame } = inside;
		this.root.replaceChildren(
			el('h3', { id: 'kernel-place' }, `Inside #${live.position.in_kernel.seq}: block ${block ? inBrackets(block.first_block) : '?'}, thread ${lane ? inBrackets(lane.kernel_thread) : '?'}`),
			el('p', { class: 'place' }, frame ? `${frame.name}${frame.source ? `, ${frame.source.name}:${frame.line}` : ''}` : ''),
			el('pre', { id: 'kernel-code' }, warp ? `${warp.code_line}:  ${warp.instruction}` : ''),
			el('p', { id: 'kernel-moves' }, this.#button('kernel-line', 'One line on', 'next', { granularity: 'line' }), this.#button('kernel-instruction', 'One instruction on', 'stepIn', { granularity: 'instruction' }),
				this.#button('kernel-back', 'One instruction back', 'stepBack'), this.#button('kernel-out', 'To the end of the launch', 'stepOut')),
			...this.#variableTables(),
			el('h4', {}, `Lanes of warp ${warp?.warp ?? '?'}`), el('p', { id: 'kernel-lanes' }, inside.lanes.map((x) => el('button', { type: 'button', class: `lane ${x.state === 'active' ? 'active' : ''}${x.focus ? ' chosen' : ''}`, disabled: live.moving,
				title: `thread ${inBrackets(x.kernel_thread)}: ${x.state}${x.line ? `, line ${x.line}` : ''}`, click: () => live.move('tsdb/focus', { thread: coordinates(x.kernel_thread) }) }, String(x.lane)))),
			el('h4', {}, 'Warps of the block'), el('div', { class: 'wide' }, table(['>Warp', 'State', '>Line', 'Instruction', 'First thread'], inside.warps.slice(0, KERNEL_ROWS).map((w) => [String(w.warp), w.barrier === null ? w.state : `${w.state}, barrier ${w.barrier}`, String(w.line ?? ''),
				el('code', {}, w.instruction ?? ''), this.#to(inBrackets(w.first_thread), { thread: coordinates(w.first_thread) })]), { id: 'kernel-warps' })),
			el('h4', {}, 'Blocks'), table(['From', 'To', '>Blocks', 'State'], inside.blocks.slice(0, KERNEL_ROWS).map((b) => [this.#to(inBrackets(b.first_block), { block: coordinates(b.first_block) }), inBrackets(b.last_block), String(b.count), b.state]), { id: 'kernel-blocks' }));
	}
	#button(id, text, command, args) {
		return el('button', { id, type: 'button', disabled: this.live.moving, click: () => this.live.move(command, args) }, text);
	}
	#to(text, args) {
		return el('button', { type: 'button', class: 'link', disabled: this.live.moving, click: () => this.live.move('tsdb/focus', args) }, text);
	}
	#variableTables() {
		return this.inside.variables.filter(([, rows]) => rows.length).map(([name, rows]) => el('details', { open: name !== 'Registers' || undefined, id: `kernel-${name.toLowerCase()}` }, el('summary', {}, typeof rows === 'string' ? name : `${name} (${rows.length})`),
			typeof rows === 'string' ? el('p', { class: 'hint' }, rows) : el('div', { class: 'wide' }, table(['Name', 'Type', 'Value'], rows.map((v) => [v.name, el('span', { class: 'dim' }, v.type ?? ''), this.#value(v)])))));
	}
	#value(v) {
		if (v.memoryReference)
			return el('button', { type: 'button', class: 'link', title: 'See the memory', click: () => this.live.memory.show(BigInt(v.memoryReference)) }, v.value);
		if (!v.variablesReference)
			return v.value;
		const lanes = this.lanesOf.get(v.name);
		return lanes === undefined ? el('button', { type: 'button', class: 'link', title: 'Of each lane', click: () => this.#lanes(v) }, v.value) : lanes;
	}
}
