// SPDX-License-Identifier: Apache-2.0
//
// The pane "Replay": both streams' states as the session has them, and what tsdb said.
import { el, table } from './dom.js';
import { KernelView } from './studio-kernel.js';

const STATUS_CLASS = { 'Idle': 0, 'Dispatch Pending': 1, 'Running': 2, 'Waiting': 3, 'Finished': 4 };

export class ReplayPane {
	constructor(live, link) {
		Object.assign(this, { live, link, state: null, asked: 0, kernel: new KernelView(live, link) });
		this.root = el('div', {});
		live.movers.push(() => this.#ask(), () => this.kernel.ask());
		live.pane = () => this.show();
	}
	/** Of two answers that cross, the one to the later question counts. */
	async #ask() {
		const mine = ++this.asked;
		try {
			const { answer } = await this.link.ask('tsdb/state');
			if (mine === this.asked)
				this.state = answer;
		} catch (e) {
			if (mine === this.asked)
				this.live.say(e.message);
		}
		this.show();
	}
	show() {
		const { live, state } = this, seq = (n) => (n ? this.#link(n) : '');
		const streams = (state?.stream_list ?? []).filter((s) => !s.destroyed).map((s) => [
			String(s.id), el('span', { class: `status s${STATUS_CLASS[s.status] ?? 0}` }, s.status), seq(s.head), String(s.pending), String(s.finished),
			s.wait_seq ? el('span', {}, this.#link(s.wait_seq), s.wait_stream === null ? '' : ` on stream ${s.wait_stream}`) : '', s.pending ? el('span', { class: 'alone' }, this.#alone(s.id, 'next', 'Next'), this.#alone(s.id, 'stepOut', 'All')) : '']);
		const events = (state?.event_list ?? []).filter((e) => !e.destroyed && e.recorded).map((e) => [String(e.id), e.complete ? 'finished' : 'pending', seq(e.record_seq), String(e.stream ?? '')]);
		this.kernel.show();
		this.root.replaceChildren(
			el('h2', { id: 'replay-place' }, live.place()), this.kernel.root,
			el('h3', {}, 'Streams, as the replay has them'), table(['>Id', 'Status', '>Head', '>Queue', '>Finished', 'Waits for', 'Alone'], streams, { id: 'live-streams' }),
			...(events.length ? [el('h3', {}, 'Events'), table(['>Id', 'Record', '>At', '>Stream'], events, { id: 'live-events' })] : []),
			...(live.log.length ? [el('h3', {}, 'Said by tsdb'), el('pre', { id: 'live-log' }, live.log.slice(-60).join('\n'))] : []));
	}
	/** This stream finishes a command, or all that it has, and the others stay where they are. */
	#alone(id, command, text) {
		const what = command === 'next' ? 'finishes the command at its head' : 'finishes all that was submitted';
		return el('button', { type: 'button', id: `${command}-stream-${id}`, title: `Stream ${id} ${what}, and no other`, disabled: this.live.moving, click: () => this.live.move(command, { threadId: id + 1, singleThread: true }) }, text);
	}
	#link(seq) {
		return el('button', { class: 'link', title: `Replay to #${seq}`, click: () => this.live.goto(seq) }, `#${seq}`);
	}
}
