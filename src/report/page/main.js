// SPDX-License-Identifier: Apache-2.0
//
// Puts the parts of the page together and keeps the URL at the place that is shown.
import { Colours } from './colours.js';
import { $ } from './dom.js';
import { FlameGraph, flameTogether, flameTree } from './flame.js';
import { listen } from './keys.js';
import { SLOTS, TIME } from './lanes.js';
import { Overview } from './overview.js';
import { Panel, title } from './panel.js';
import { fromHash, TABS, toHash } from './place.js';
import { search, seqOf } from './search.js';
import { LABELS, Timeline } from './timeline.js';
import { KIND } from './trace.js';
import { counted, duration, View } from './view.js';

const WORK = [KIND.LAUNCH, KIND.COPY, KIND.FILL, KIND.GRAPH_LAUNCH];

export class Page {
	/** actions: more of them, for keys that were added to KEYS. */
	constructor(model, actions = {}) {
		this.model = model;
		this.more = actions;
		this.colours = new Colours();
		const { from, to } = model.extent();
		this.view = new View(from, to);
		this.timeline = new Timeline($('lanes'), model, this.view, this.colours);
		this.overview = new Overview($('overview'), model, this.view, this.colours);
		this.panel = new Panel(model, (t, i) => this.go(t, i));
		this.flame = new FlameGraph($('flame-canvas'), $('flame-note'), this.colours);
		this.tab = 'facts';
		this.found = null;
		this.frames = []; /* ms that frames took to draw, for tests and the curious */
		this.#listen();
		this.resize();
		this.restore();
	}

	/* --- drawing --- */

	redraw() {
		this.pending ??= requestAnimationFrame(() => {
			const begin = performance.now();
			this.pending = null;
			this.timeline.draw();
			this.overview.draw();
			this.frames.push(performance.now() - begin);
			if (this.frames.length > 1000)
				this.frames.shift();
			this.#remember();
		});
	}
	resize() {
		this.timeline.resize();
		this.overview.resize();
		this.redraw();
	}
	/** What is beside the lanes; built anew only when what it shows has changed. */
	refresh() {
		for (const name of TABS) {
			$(`tab-${name}`).setAttribute('aria-selected', name === this.tab);
			$(`pane-${name}`).hidden = name !== this.tab;
		}
		if (this.tab === 'flame')
			this.#flame();
		else
			this.#fill($(`pane-${this.tab}`), this.panel[this.tab]().filter(Boolean));
		this.redraw();
	}
	/** A pane that keeps its one element keeps the focus, too. */
	#fill(pane, now) {
		if (now.length !== 1 || pane.childNodes.length !== 1 || pane.firstChild !== now[0])
			pane.replaceChildren(...now);
	}
	/** Of all ranks of a set; of two traces that are compared, of the one at the cursor. */
	#flame() {
		const { model } = this, sides = model.together ? model.sides : [model.side()];
		const timed = sides.some((s) => s.trace.head.timed > 0) && $('flame-by').value === 'time';
		const work = sides.map((side) => selectedWork(side, model));
		const trees = sides.map((side, k) => flameTree(side.trace, work[k], timed ? (i) => side.trace.gpuNs(i) : () => 1));
		const n = work.reduce((sum, w) => sum + w.length, 0), of = model.pairs ? ` of ${'AB'[model.sides.indexOf(sides[0])]}` : '';
		$('flame-of').textContent = `${n === 1 ? '1 launch, copy or fill' : `${n} launches, copies and fills`}${of}, ${model.range ? 'those that are selected' : 'all there are; drag over the lanes to select'}`;
		$('flame-by').hidden = !sides.some((s) => s.trace.head.timed);
		this.flame.set(trees.length > 1 ? flameTogether(trees, sides.map((s) => `rank ${s.trace.head.rank}`)) : trees[0], timed ? 'time' : 'count');
	}

	/* --- moving --- */

	go(t, i, reveal = true) {
		this.model.cursor = { t, i };
		if (reveal)
			this.timeline.reveal(t, i);
		if (this.tab === 'facts' || this.tab === 'flame')
			this.tab = 'command';
		this.refresh();
	}
	goSeq(seq, t = 0) {
		const i = this.model.sides[t].trace.indexOf(seq);
		if (i < 0)
			this.say(`There is no #${seq} here.`);
		else
			this.go(t, i);
	}
	setAxis(axis) {
		if (axis === this.model.axis)
			return;
		this.model.axis = axis;
		this.model.range = null;
		const { from, to } = this.model.extent();
		this.view.limit(from, to);
		this.view.all();
		$('axis').value = axis === TIME ? 'time' : 'commands';
		if (this.model.cursor)
			this.timeline.reveal(this.model.cursor.t, this.model.cursor.i);
		this.refresh();
	}
	setTab(name) {
		this.tab = name;
		this.refresh();
	}
	select(range) {
		this.model.range = range;
		if (this.tab === 'flame')
			this.refresh();
		this.#tellRange();
		this.redraw();
	}
	#tellRange() {
		const { range, axis } = this.model;
		this.say(!range ? '' : axis === TIME ? `${duration(range.to - range.from)} selected` : `${counted(Math.round(range.to - range.from), 'command')} selected`);
	}
	say(text) {
		$('said').textContent = text;
	}

	/* --- search --- */

	find(query) {
		this.query = query;
		this.found = null; /* {t, i} of all that is found, trace by trace */
		this.model.sides.forEach((side, t) => {
			const hits = search(side.trace, query);
			side.match = hits?.flags ?? null;
			if (hits)
				this.found = (this.found ?? []).concat(Array.from(hits.found, (i) => ({ t, i })));
		});
		this.foundAt = -1;
		this.#tellFound();
		this.redraw();
	}
	#tellFound() {
		const n = this.found?.length ?? 0;
		$('found').textContent = !this.found ? '' : this.foundAt < 0 ? `${n} found` : `${this.foundAt + 1} of ${n}`;
	}
	findNext(step) {
		const seq = seqOf($('find').value), n = this.found?.length ?? 0;
		if (seq !== null && this.model.side().trace.indexOf(seq) >= 0) {
			this.goSeq(seq, this.model.cursor?.t ?? 0);
		} else if (n) {
			this.foundAt = this.foundAt < 0 ? (step > 0 ? 0 : n - 1) : (this.foundAt + step + n) % n;
			this.go(this.found[this.foundAt].t, this.found[this.foundAt].i);
		}
		this.#tellFound();
	}

	/* --- the URL --- */

	/**
	 * Writes where one is into the URL. A hash that this page has not written is a place somebody asks for: its
	 * hashchange event is on the way, and may come after this frame.
	 */
	#remember() {
		if (location.hash !== this.known)
			return;
		const { model, view } = this, at = model.cursor, moved = !view.whole;
		const hash = toHash({
			at: at ? model.sides[at.t].trace.seq[at.i] : undefined, trace: at?.t,
			from: moved ? view.from : undefined, to: view.to,
			axis: model.axis === TIME ? 'time' : 'commands',
			tab: this.tab, find: this.query || undefined, sel: model.range ?? undefined,
		});
		if (hash !== location.hash)
			history.replaceState(null, '', hash);
		this.known = location.hash;
	}
	/** Goes where the URL says. */
	restore() {
		this.known = location.hash;
		const place = fromHash(this.known), { model } = this;
		if (place.axis)
			this.setAxis(place.axis === 'time' && model.sides.some((s) => s.trace.head.timed) ? TIME : place.axis === 'time' ? model.axis : SLOTS);
		$('axis').value = model.axis === TIME ? 'time' : 'commands';
		const t = Math.min(place.trace, model.sides.length - 1);
		const i = place.at === undefined ? -1 : model.sides[t].trace.indexOf(place.at);
		model.cursor = i < 0 ? null : { t, i };
		model.range = place.sel ?? null;
		this.tab = place.tab ?? (model.cursor ? 'command' : 'facts');
		$('find').value = place.find ?? '';
		this.find(place.find ?? '');
		if (place.from !== undefined)
			this.view.set(place.from, place.to);
		else if (model.cursor)
			this.timeline.reveal(t, i);
		this.refresh();
	}

	/* --- hands --- */

	#actions() {
		const { view, model } = this, moved = (f) => () => {
			f();
			this.redraw();
		};
		const to = (at) => at && this.go(at.t, at.i);
		return {
			zoomIn: moved(() => view.zoom(0.7, this.#pointer())), zoomOut: moved(() => view.zoom(1 / 0.7, this.#pointer())),
			left: moved(() => view.pan(-view.width * 0.15)), right: moved(() => view.pan(view.width * 0.15)),
			next: () => to(model.neighbour(1, true)), previous: () => to(model.neighbour(-1, true)),
			nextAny: () => to(model.neighbour(1, false)), previousAny: () => to(model.neighbour(-1, false)),
			focus: moved(() => this.#focus()),
			all: moved(() => view.all()),
			mark: () => model.cursor && this.select({ from: model.side().begins(model.cursor.i, model.axis), to: model.side().ends(model.cursor.i, model.axis) }),
			clear: () => ($('help').open ? $('help').close() : this.select(null)),
			axis: () => this.setAxis(model.axis === TIME || !model.sides.some((s) => s.trace.head.timed) ? SLOTS : TIME),
			lineUp: () => this.#lineUp(), other: () => to(model.other(model.cursor)),
			tab: (key) => this.setTab(TABS[Number(key) - 1]),
			search: () => $('find').select(),
			help: () => ($('help').open ? $('help').close() : $('help').showModal()),
			...this.more,
		};
	}
	#pointer() {
		return this.mouse ?? this.view.width / 2;
	}
	#focus() {
		const at = this.model.cursor;
		if (!at)
			return;
		const side = this.model.side(), from = side.begins(at.i, this.model.axis), to = side.ends(at.i, this.model.axis);
		const room = Math.max((to - from) * 4, (this.view.most - this.view.least) * 1e-5);
		this.view.set(from - room, to + room);
		this.timeline.reveal(at.t, at.i);
	}
	#lineUp() {
		const at = this.model.cursor, other = this.model.other(at);
		if (!at || !other || !this.model.shiftTo(at.t ? at.i : other.i))
			return;
		this.timeline.layout();
		const { from, to } = this.model.extent();
		this.view.limit(from, to);
		this.redraw();
	}

	#listen() {
		listen(this.#actions());
		new ResizeObserver(() => this.resize()).observe($('lanes'));
		matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => {
			this.colours.read();
			this.refresh();
		});
		addEventListener('hashchange', () => this.restore());
		TABS.forEach((name) => $(`tab-${name}`).addEventListener('click', () => this.setTab(name)));
		$('axis').addEventListener('change', () => this.setAxis($('axis').value === 'time' ? TIME : SLOTS));
		$('flame-by').addEventListener('change', () => this.refresh());
		$('find').addEventListener('input', () => this.find($('find').value));
		$('find').addEventListener('keydown', (e) => {
			if (e.key === 'Enter')
				this.findNext(e.shiftKey ? -1 : 1);
			else if (e.key === 'Escape')
				$('find').blur();
		});
		$('help-button').addEventListener('click', () => $('help').showModal());
		$('help').addEventListener('click', () => $('help').close());
		this.#listenLanes($('lanes'));
		this.overview.listen(() => this.redraw());
	}
	#listenLanes(canvas) {
		canvas.addEventListener('wheel', (e) => {
			e.preventDefault();
			if (e.ctrlKey || e.metaKey)
				this.view.zoom(Math.exp(Math.sign(e.deltaY) * Math.min(Math.abs(e.deltaY), 60) * 0.006), e.offsetX - LABELS);
			else if (e.shiftKey || Math.abs(e.deltaX) > Math.abs(e.deltaY))
				this.view.pan(e.deltaX || e.deltaY);
			else
				this.timeline.scrollTo(this.timeline.scroll + e.deltaY);
			this.redraw();
		}, { passive: false });
		canvas.addEventListener('pointerdown', (e) => {
			canvas.setPointerCapture(e.pointerId);
			this.drag = { x: e.offsetX, from: this.view.v(e.offsetX - LABELS), pan: e.shiftKey || e.button === 1, last: e.offsetX, moved: false };
		});
		canvas.addEventListener('pointermove', (e) => this.#moved(e));
		canvas.addEventListener('pointerup', (e) => this.#released(e));
		canvas.addEventListener('pointerleave', () => {
			this.mouse = null;
			this.timeline.hover = null;
			$('tip').hidden = true;
			this.redraw();
		});
	}
	#moved(e) {
		const d = this.drag;
		this.mouse = Math.max(0, e.offsetX - LABELS);
		if (!d) {
			this.#hover(e);
			return;
		}
		d.moved ||= Math.abs(e.offsetX - d.x) > 3;
		if (d.moved && d.pan)
			this.view.pan(d.last - e.offsetX);
		else if (d.moved)
			this.model.range = { from: Math.min(d.from, this.view.v(this.mouse)), to: Math.max(d.from, this.view.v(this.mouse)) };
		d.last = e.offsetX;
		this.#tellRange();
		this.redraw();
	}
	#released(e) {
		const d = this.drag;
		this.drag = null;
		if (d && d.moved) {
			this.select(this.model.range);
			return;
		}
		const hit = this.timeline.hit(e.offsetX, e.offsetY);
		if (hit)
			this.go(hit.t, hit.i, false);
		else
			this.select(null);
	}
	#hover(e) {
		const hit = this.timeline.hit(e.offsetX, e.offsetY), tip = $('tip');
		this.timeline.hover = hit;
		tip.hidden = !hit;
		if (hit) {
			const { trace, details } = this.model.sides[hit.t];
			tip.textContent = title(trace, details, hit.i) + (trace.timed(hit.i) ? `, ${duration(trace.gpuNs(hit.i))}` : '');
			tip.style.left = `${Math.min(e.offsetX + 14, Math.max(0, e.target.clientWidth - tip.offsetWidth - 8))}px`;
			tip.style.top = `${e.offsetY + 16}px`;
		}
		this.redraw();
	}
}

/** Indices of the work of a trace that is selected; without a selection, of all. */
function selectedWork(side, { range, axis }) {
	const { trace } = side, out = [];
	for (let i = 0; i < trace.n; i++) {
		if (trace.stream[i] && WORK.includes(trace.kind[i]) && (!range || (side.ends(i, axis) > range.from && side.begins(i, axis) < range.to)))
			out.push(i);
	}
	return out;
}
