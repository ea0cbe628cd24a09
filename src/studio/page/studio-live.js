// SPDX-License-Identifier: Apache-2.0
//
// The session as this window knows it: where the replay is, whether it moves, what goes on. Panes register what they do when it moves.
import { $, el } from './dom.js';
import { title } from './panel.js';

/** Buttons above the lanes: sign, what it does, the key, the question and its arguments. */
const MOVES = [
	['|◀', 'to the beginning', null, 'tsdb/goto', { place: 'begin' }],
	['◀◀', 'backwards, to where watched memory changed', 'r', 'reverseContinue'],
	['◀', 'one command back', 'b', 'stepBack'],
	['▶', 'one command on', 'n', 'next'],
	['↓', 'into the launch, or a line or an instruction on inside of it', 'i', 'stepIn'],
	['↑', 'out of the launch; elsewhere: finish what was submitted', 'u', 'stepOut'],
	['▶▶', 'on, to where watched memory changes', 'c', 'continue'],
	['▶|', 'to the end', null, 'tsdb/goto', { place: 'end' }],
];
/** Rows for KEYS: the page's actions have these names. */
export const STUDIO_KEYS = [
	[['n'], 'replay: one command on', 'liveNext'],
	[['b'], 'replay: one command back', 'liveBack'],
	[['c'], 'replay: on, to where watched memory changes', 'liveOn'],
	[['r'], 'replay: the same backwards', 'liveReverse'],
	[['i'], 'replay: into the launch, and on inside of it', 'liveInto'],
	[['u'], 'replay: out of the launch', 'liveOut'],
	[['g'], 'replay: to the command at the cursor', 'liveHere'],
	[['5', '6', '7'], 'replay, memory, races', 'tab'],
];

export class Live {
	constructor(link) {
		this.link = link;
		this.page = null;
		this.position = null; /* JSON `position` */
		this.status = { state: 'starting' };
		this.moving = false;
		this.trouble = ''; /* a sentence that is shown until the next move */
		this.movers = [];
		this.tasks = new Map(); /* progressId: {title, message, percentage} */
		this.log = [];
		this.bar = this.#toolbar();
		this.banner = el('div', { id: 'banner', role: 'alert', hidden: true });
	}

	actions() {
		return {
			liveNext: () => this.move('next'), liveBack: () => this.move('stepBack'), liveOn: () => this.move('continue'), liveReverse: () => this.move('reverseContinue'),
			liveInto: () => this.move('stepIn'), liveOut: () => this.move('stepOut'), liveHere: () => this.goHere(),
		};
	}
	#toolbar() {
		this.buttons = MOVES.map(([sign, what, key, command, args]) =>
			el('button', { type: 'button', id: `move-${args?.place ?? command}`, title: `Replay ${what}${key ? ` (${key})` : ''}`, 'aria-label': `Replay ${what}`, click: () => this.move(command, args) }, sign));
		this.here = el('button', { type: 'button', id: 'move-here', title: 'Replay to the command at the cursor (g)', click: () => this.goHere() }, 'Replay to here');
		this.stop = el('button', { type: 'button', id: 'move-stop', title: 'Stop what runs', hidden: true, click: () => this.pause() }, 'Stop');
		this.where = el('span', { id: 'where', 'aria-live': 'polite' }, 'The replay is starting ...');
		return el('div', { id: 'studio-bar', role: 'toolbar', 'aria-label': 'Replay' }, this.buttons, this.here, this.stop, this.where);
	}

	/* --- asking --- */

	/** An error becomes the banner's sentence. */
	async ask(command, args) {
		try {
			return await this.link.ask(command, args);
		} catch (e) {
			this.say(e.message);
			throw e;
		}
	}
	async move(command, args) {
		if (this.status.state !== 'live' || this.moving)
			return;
		this.moving = true;
		this.trouble = '';
		this.show();
		try {
			await this.link.ask(command, args);
		} catch (e) {
			this.moving = false;
			this.say(e.message);
		}
	}
	goto(seq) {
		return this.move('tsdb/goto', { seq });
	}
	goHere() {
		const at = this.page?.model.cursor;
		return at ? this.goto(this.page.model.sides[0].trace.seq[at.i]) : undefined;
	}
	pause() {
		return this.link.ask('pause').catch((e) => this.say(e.message));
	}
	/** A new session, of the trace that the studio was opened with. */
	async begin() {
		this.trouble = '';
		try {
			this.#status(await this.link.ask('studio/begin'));
		} catch (e) {
			this.say(e.message);
		}
	}

	/* --- hearing --- */

	hear({ event, body }) {
		if (event === 'tsdb/position')
			this.#moved(body);
		else if (event === 'studio/status')
			this.#status(body);
		else if (event === 'output')
			this.#printed(body);
		else if (event === 'progressStart')
			this.tasks.set(body.progressId, body);
		else if (event === 'progressUpdate' && this.tasks.has(body.progressId))
			Object.assign(this.tasks.get(body.progressId), body);
		else if (event === 'progressEnd')
			this.tasks.delete(body.progressId);
		this.show();
	}
	#printed({ category, output }) {
		if (output.trim())
			this.log.push(...output.trimEnd().split('\n'));
		this.log.splice(0, Math.max(0, this.log.length - 200));
		if (category === 'important' && output.trim())
			this.trouble = output.trim();
	}
	#moved({ position }) {
		this.moving = false;
		this.position = position;
		this.follow();
	}
	#status(status) {
		const other = this.status.trace && status.trace !== this.status.trace;
		this.status = status;
		if (other) {
			delete document.documentElement.dataset.ready;
			location.reload(); /* the session is in another trace: the page is made anew of it */
			return;
		}
		if (status.state !== 'live') {
			this.moving = false;
			this.tasks.clear();
		}
		this.show();
	}
	/** After the beginning, and when events were missed. The server knows the newest position and what goes on: the session, which may be
	 * at work for long, is not asked. */
	async look() {
		try {
			const status = await this.link.ask('studio/status');
			this.#status(status);
			this.tasks = new Map(Object.entries(status.tasks));
			if (status.position)
				this.#moved(status.position);
		} catch (e) {
			this.say(e.message);
		}
	}

	/* --- showing --- */

	say(text) {
		this.trouble = text;
		this.show();
	}
	/** While it moves: how much of the window, or of the way, is behind it, where that takes long. */
	#way() {
		const move = [...this.tasks.values()].find((x) => x.progressId.startsWith('move-') && x.percentage !== undefined);
		return move ? `Moving ... ${Math.floor(move.percentage)} %` : 'Moving ...';
	}
	/** The cursor goes where the replay is. */
	follow() {
		const { page, position } = this;
		if (!page || !position)
			return;
		const i = page.model.sides[0].trace.indexOf(position.seq);
		page.model.live = { t: 0, i };
		page.model.cursor = i < 0 ? null : { t: 0, i };
		if (i >= 0)
			page.timeline.reveal(0, i);
		for (const moved of this.movers)
			moved();
		page.refresh();
		this.show();
	}
	/** What the replay is at, as a sentence. */
	place() {
		const { position, page } = this;
		if (!position)
			return 'The replay is starting ...';
		const i = page ? page.model.sides[0].trace.indexOf(position.seq) : -1;
		const where = i < 0 ? 'At the beginning' : `Behind ${title(page.model.sides[0].trace, page.model.sides[0].details, i)}`;
		const on = position.on_device ? (position.soft ? 'on the software GPU' : 'on the GPU') : 'the state alone, nothing is executed';
		return `${position.in_kernel ? where.replace('Behind', 'Inside') : where}, ${on}`;
	}
	show() {
		const { status, moving } = this, live = status.state === 'live';
		for (const b of [...this.buttons, this.here])
			b.disabled = !live || moving;
		this.stop.hidden = !moving;
		this.where.textContent = status.state === 'ended' ? 'There is no replay' : moving ? this.#way() : this.place();
		this.#banner(live);
		this.pane?.();
		this.races?.();
	}
	#banner(live) {
		const other = status => status.trace && status.original && status.trace !== status.original;
		const text = this.status.state === 'ended' ? this.status.why : this.trouble;
		const parts = [text && el('span', {}, text.replace(/([^.])$/, '$1.'))];
		if (!live && this.status.state === 'ended')
			parts.push(el('button', { type: 'button', id: 'begin-again', click: () => this.begin() }, 'Begin again'));
		else if (other(this.status))
			parts.push(el('span', { id: 'schedule-note' }, `This is an order of ${this.status.original.replace(/.*\//, '')} that gives another result.`),
				el('button', { type: 'button', id: 'begin-again', click: () => this.begin() }, 'Back to the recording'));
		else if (this.position?.what_if)
			parts.push(el('span', { id: 'what-if' }, 'Memory was changed by hand: what is executed from there on is a what-if.'),
				el('button', { type: 'button', id: 'forget-change', disabled: this.moving, title: 'To the beginning, with the recorded memory', click: () => this.move('restart') }, 'Forget the change'));
		if (text && live)
			parts.push(el('button', { type: 'button', 'aria-label': 'Close', click: () => this.say('') }, '×'));
		this.banner.replaceChildren(...parts.filter(Boolean));
		this.banner.classList.toggle('bad', !!text);
		this.banner.hidden = !this.banner.childNodes.length;
	}
}

/** Puts the toolbar and the banner below the page's head. */
export function placeBars(live) {
	$('studio-place')?.remove();
	document.querySelector('header').after(el('div', { id: 'studio-place' }, live.bar, live.banner));
}
