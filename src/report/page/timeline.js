// SPDX-License-Identifier: Apache-2.0
//
// The canvas with the lanes: where each lane lies, what is drawn on it, and what is under the mouse.
import { ARROW_STREAM, FAILED } from './trace.js';
import { placeAt, SLOTS, TIME } from './lanes.js';
import { Bars, fitted, FONT, PixelRow, walk } from './paint.js';
import { lowerBound, upperBound } from './bisect.js';
import { marked, step } from './view.js';

export const LABELS = 148; /* pixels for the lanes' names */
const AXIS = 22, GROUP = 22, STREAM = 26, HOST = 20, RANGE = 16, STRIP = 4, GAP = 3, ALONE = 4;
const ARROWS_MAX = 600;

export class Timeline {
	constructor(canvas, model, view, colours) {
		Object.assign(this, { canvas, model, view, colours, bars: new Bars(), pixels: new PixelRow(), strip: new PixelRow(), scroll: 0, rows: [], hover: null });
		this.g = canvas.getContext('2d', { alpha: false });
		this.layout();
	}

	/** Gives each group and lane its place: lanes are higher where there is room. */
	layout() {
		this.#place(1);
		if (this.seen > this.height)
			this.#place(Math.min(this.seen / this.height, 1.7));
	}
	#place(stretch) {
		let y = AXIS;
		this.rows = [];
		this.model.sides.forEach((side, t) => {
			let group = null;
			if (this.model.sides.length > 1) {
				this.rows.push({ heading: true, y, h: GROUP, label: this.model.label(t), t });
				y += GROUP;
			}
			for (const lane of side.lanes) {
				if (lane.group !== group) {
					group = lane.group;
					this.rows.push({ group: true, y, h: GROUP, label: groupLabel(side.trace, group), t });
					y += GROUP;
				}
				const h = Math.floor((lane.kind === 'stream' ? STREAM : lane.kind === 'host' ? HOST : RANGE) * stretch);
				this.rows.push({ lane, side, t, y, h });
				y += h + GAP;
			}
		});
		this.height = y + 8;
	}

	resize() {
		const box = this.canvas.getBoundingClientRect(), ratio = devicePixelRatio || 1;
		this.width = box.width;
		this.seen = box.height;
		this.canvas.width = Math.round(box.width * ratio);
		this.canvas.height = Math.round(box.height * ratio);
		this.ratio = ratio;
		this.view.width = Math.max(box.width - LABELS, 50);
		this.layout();
		this.scrollTo(this.scroll);
	}
	scrollTo(y) {
		this.scroll = Math.max(0, Math.min(y, this.height - this.seen));
	}

	/* --- drawing --- */

	draw() {
		const { g, colours } = this;
		g.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
		g.font = FONT;
		g.textBaseline = 'middle';
		this.letter ??= g.measureText('0'.repeat(100)).width / 100;
		g.fillStyle = colours.ground;
		g.fillRect(0, 0, this.width, this.seen);
		g.save();
		g.translate(LABELS, -this.scroll);
		g.beginPath();
		g.rect(0, this.scroll + AXIS, this.view.width, this.seen);
		g.clip();
		this.#grid();
		for (const row of this.#visible())
			this.#row(row);
		this.#arrows();
		this.#selection();
		g.restore();
		this.#labels();
		this.#axis();
	}
	#visible() {
		return this.rows.filter((r) => r.y + r.h > this.scroll && r.y < this.scroll + this.seen);
	}

	/** From one mark of the axis to the next: commands have no halves. */
	#apart() {
		const s = step(this.view.to - this.view.from, Math.max(2, this.view.width / 130));
		return this.model.axis === TIME ? s : Math.max(1, s);
	}
	#marks() {
		const { view } = this, s = this.#apart(), out = [], any = this.rows.some((r) => r.lane);
		for (let v = Math.ceil(view.from / s) * s; any && v < view.to && out.length < 100; v += s)
			out.push(v);
		return out;
	}
	#grid() {
		const { g, view } = this;
		g.fillStyle = this.colours.line;
		for (const v of this.#marks())
			g.fillRect(Math.round(view.x(v)), this.scroll, 1, this.seen);
	}
	/** The axis' marks that have room for their text: [{x, text}]. */
	axisTexts() {
		const { view, model } = this, apart = this.#apart();
		return this.#marks().map((v) => ({ x: view.x(v) + 3, text: model.axis === TIME ? marked(v, apart) : slotLabel(model, v) }))
			.filter(({ x, text }) => x + text.length * this.letter <= view.width);
	}
	#axis() {
		const { g } = this;
		g.fillStyle = this.colours.panel;
		g.fillRect(0, 0, this.width, AXIS);
		g.fillStyle = this.colours.dim;
		for (const { x, text } of this.axisTexts())
			g.fillText(text, LABELS + x, AXIS / 2);
		g.fillRect(0, AXIS - 1, this.width, 1);
	}

	#row(row) {
		const { lane } = row;
		if (!lane)
			return;
		const axis = lane.on(this.model.axis), match = row.side.match, labels = [], width = Math.ceil(this.view.width);
		const top = row.y, height = row.h - (lane.kind === 'stream' ? STRIP : 0), running = this.colours.pixel(this.colours.running);
		this.pixels.begin(width);
		this.strip.begin(width);
		walk(axis, this.view, 2, (k, x0, x1) => {
			const i = lane.items[axis.order[k]], w = Math.max(x1 - x0 - (x1 - x0 > 4 ? 1 : 0), 1);
			this.bars.add(this.#colour(row, i, match), x0, top, w, height);
			if (this.model.alone(row.t, i))
				this.bars.add(this.colours.bad, x0, top, w, ALONE);
			if (x1 - x0 > 24)
				labels.push(i, Math.max(x0, 0), x1);
			this.strip.set(Math.floor(x0), Math.ceil(x1 - x0), running);
		}, (k, x, next) => {
			let i = lane.items[axis.order[k]];
			if (match && !match[i])
				i = matchIn(lane, axis, match, k, next) ?? i;
			const single = next === k + 1 && (next >= axis.begins.length || this.view.x(axis.begins[next]) > x + 3);
			this.pixels.set(x, single ? 2 : 1, this.colours.pixel(this.#colour(row, i, match)));
			if (row.side.trace.timed(i))
				this.strip.set(x, 1, running);
			if (this.model.alone(row.t, i))
				this.bars.add(this.colours.bad, x, top, single ? 2 : 1, ALONE);
		});
		this.pixels.draw(this.g, top, height);
		this.bars.draw(this.g);
		this.#texts(labels, top, height, row);
		if (lane.kind === 'stream')
			this.#strip(row, top + height);
	}
	#colour(row, i, match) {
		const { trace } = row.side;
		if (match && !match[i])
			return this.colours.grey;
		if (trace.flags[i] & FAILED)
			return this.colours.bad;
		if (row.lane.kind === 'host' && trace.stream[i])
			return this.colours.host;
		return this.colours.names[row.side.colour(trace.name[i])];
	}
	#texts(labels, top, height, row) {
		const { g } = this;
		g.fillStyle = this.colours.ink;
		for (let k = 0; k < labels.length; k += 3) {
			const text = fitted(row.side.trace.nameOf(labels[k]), Math.min(labels[k + 2], this.view.width) - labels[k + 1], this.letter);
			if (text)
				g.fillText(text, labels[k + 1] + 3, top + height / 2 + 0.5);
		}
	}

	/** The stream's state: on the axis of time by GPU times, if there are any, else by what the host knew. */
	#strip(row, y) {
		const { states, trace } = row.side;
		if (!states)
			return;
		if (this.model.axis === TIME && trace.head.timed)
			this.#doing(row, states.doing.get(row.lane.stream));
		else
			this.#known(row, states.streams.get(row.lane.stream));
		this.strip.draw(this.g, y, STRIP - 1);
	}
	/** What runs is in this.strip already. */
	#doing(row, doing) {
		const { view, colours } = this, { shift } = row.side;
		if (!doing)
			return;
		for (let k = lowerBound(doing.ends, view.from - shift); k < doing.begins.length && doing.begins[k] + shift <= view.to;) {
			const x0 = Math.max(Math.floor(view.x(doing.begins[k] + shift)), 0), x1 = Math.min(view.x(doing.ends[k] + shift), view.width);
			this.strip.set(x0, Math.max(Math.ceil(x1 - x0), 1), colours.pixel(colours.status(doing.status[k])), x1 - x0 >= 1);
			k = Math.max(k + 1, lowerBound(doing.ends, view.v(x0 + 1) - shift, k + 1));
		}
	}
	#known(row, log) {
		const { view, model, colours } = this, width = Math.ceil(view.width);
		this.strip.begin(width);
		if (!log)
			return;
		row.lane.strip ??= [TIME, SLOTS].map((axis) => Float64Array.from(log.seqs, (seq) => row.side.place(seq, axis)));
		const at = row.lane.strip[model.axis];
		let k = Math.max(upperBound(at, view.from) - 1, 0);
		while (k < at.length && at[k] <= view.to) {
			const x0 = Math.max(Math.floor(view.x(at[k])), 0), next = Math.max(k + 1, lowerBound(at, view.v(x0 + 1), k + 1));
			const x1 = next < at.length ? Math.min(view.x(at[next]), width) : width;
			this.strip.set(x0, Math.max(Math.ceil(x1 - x0), 1), colours.pixel(colours.status(log.status[next - 1])));
			k = next;
		}
	}

	#labels() {
		const { g } = this;
		g.save();
		g.beginPath();
		g.rect(0, AXIS, this.width, this.seen);
		g.clip();
		g.translate(0, -this.scroll);
		for (const row of this.#visible()) {
			if (!row.lane) {
				g.fillStyle = row.heading ? this.colours.heading : this.colours.panel;
				g.fillRect(0, row.y, this.width, row.h - GAP);
				g.fillStyle = this.colours.text;
				g.fillText(fitted(row.label, this.width, this.letter), 6, row.y + row.h / 2 - 1);
				continue;
			}
			g.fillStyle = this.colours.ground;
			g.fillRect(0, row.y, LABELS, row.h + GAP);
			g.fillStyle = this.colours.dim;
			g.fillText(fitted(row.lane.label, LABELS - 8, this.letter), 14, row.y + row.h / 2);
			g.fillStyle = this.colours.line;
			g.fillRect(LABELS - 1, row.y, 1, row.h + GAP);
		}
		g.restore();
	}

	/* --- arrows --- */

	/** The row and the axis' place where a command is drawn; streams first. */
	where(t, i) {
		const side = this.model.sides[t], { trace } = side;
		const stream = trace.stream[i] - 1, thread = trace.thread[i];
		const row = this.rows.find((r) => r.t === t && r.lane && (stream >= 0 ? r.lane.kind === 'stream' && r.lane.stream === stream : r.lane.kind === 'host' && r.lane.thread === thread));
		const from = side.begins(i, this.model.axis), to = side.ends(i, this.model.axis);
		return row ? { row, from, to, x: LABELS + this.view.x((from + to) / 2), y: row.y + row.h / 2 - this.scroll } : null;
	}
	#arrows() {
		const { model } = this, chosen = model.cursor;
		model.sides.forEach((side, t) => {
			const a = side.trace.arrows;
			side.arrowPlaces ??= [TIME, SLOTS].map((axis) => arrowPlaces(side, axis));
			const { at, order } = side.arrowPlaces[model.axis];
			const from = lowerBound(at, this.view.from), to = upperBound(at, this.view.to), few = to - from <= ARROWS_MAX;
			for (let k = from; few && k < to; k++)
				this.#arrow(t, a.from[order[k]], a.to[order[k]], 0.35);
			if (chosen && chosen.t === t) {
				for (const { index } of side.trace.waitsFor(chosen.i))
					this.#arrow(t, index, chosen.i, 1);
				for (const { index } of side.trace.waitedForBy(chosen.i).slice(0, ARROWS_MAX))
					this.#arrow(t, chosen.i, index, 1);
			}
		});
	}
	#arrow(t, i, k, alpha) {
		const from = this.where(t, i), to = this.where(t, k), { g } = this;
		if (!from || !to || from.row === to.row)
			return;
		const x0 = this.view.x(from.to), x1 = this.view.x(to.from), y0 = from.row.y + from.row.h / 2, y1 = to.row.y + to.row.h / 2;
		const bend = Math.max(12, Math.min(60, Math.abs(x1 - x0) / 2));
		g.globalAlpha = alpha;
		g.strokeStyle = g.fillStyle = this.colours.accent;
		g.lineWidth = alpha === 1 ? 1.5 : 1;
		g.beginPath();
		g.moveTo(x0, y0);
		g.bezierCurveTo(x0 + bend, y0, x1 - bend, y1, x1, y1);
		g.stroke();
		g.beginPath();
		g.moveTo(x1, y1);
		g.lineTo(x1 - 6, y1 - 3.5);
		g.lineTo(x1 - 6, y1 + 3.5);
		g.fill();
		g.globalAlpha = 1;
	}

	/* --- what is chosen --- */

	#selection() {
		const { g, model, view } = this;
		if (model.range) {
			const x0 = view.x(model.range.from), x1 = view.x(model.range.to);
			g.globalAlpha = 0.16;
			g.fillStyle = this.colours.accent;
			g.fillRect(x0, this.scroll, x1 - x0, this.seen);
			g.globalAlpha = 1;
		}
		this.#replay(model.live);
		this.#outline(this.hover, this.colours.dim, 1);
		if (!model.cursor)
			return;
		const place = this.#outline(model.cursor, this.colours.mark, 2);
		if (place) {
			g.fillStyle = this.colours.mark;
			g.fillRect(view.x(place.from), this.scroll, 1, this.seen);
		}
		const other = model.other(model.cursor);
		this.#outline(other, this.colours.mark, 2);
	}
	/** A line: what is left of it has been replayed. */
	#replay(live) {
		const { g, model, view } = this;
		if (!live)
			return;
		const side = model.sides[live.t], x = Math.round(live.i < 0 ? view.x(model.extent().from) - 3 : view.x(side.ends(live.i, model.axis)));
		g.fillStyle = this.colours.accent;
		g.fillRect(x - 1, this.scroll, 2, this.seen);
	}
	#outline(at, colour, width) {
		const place = at && this.where(at.t, at.i);
		if (!place)
			return null;
		const x0 = Math.max(this.view.x(place.from), -4), x1 = Math.min(this.view.x(place.to), this.view.width + 4);
		this.g.strokeStyle = colour;
		this.g.lineWidth = width;
		this.g.strokeRect(x0 - 0.5, place.row.y - 0.5, Math.max(x1 - x0, 2), place.row.h - (place.row.lane.kind === 'stream' ? STRIP : 0) + 1);
		return place;
	}

	/** The command at a point of the canvas: {t, i}, or null. */
	hit(x, y) {
		const row = this.rows.find((r) => r.lane && y + this.scroll >= r.y && y + this.scroll < r.y + r.h);
		if (!row || x < LABELS || y < AXIS)
			return null;
		const axis = row.lane.on(this.model.axis), k = placeAt(axis, this.view.v(x - LABELS), 3 / this.view.scale);
		return k < 0 ? null : { t: row.t, i: row.lane.items[axis.order[k]] };
	}

	/** Scrolls so that a command's lane is seen. */
	reveal(t, i) {
		const place = this.where(t, i);
		if (!place)
			return;
		this.view.reveal(place.from, place.to);
		if (place.row.y < this.scroll + AXIS)
			this.scrollTo(place.row.y - AXIS - 20);
		else if (place.row.y + place.row.h > this.scroll + this.seen)
			this.scrollTo(place.row.y + place.row.h + 20 - this.seen);
	}
}

function matchIn(lane, axis, match, from, to) {
	for (let k = from, until = Math.min(to, from + 256); k < until; k++) {
		const i = lane.items[axis.order[k]];
		if (match[i])
			return i;
	}
	return undefined;
}

/** Arrows between streams in order of where they end on an axis. */
function arrowPlaces(side, axis) {
	const a = side.trace.arrows, place = Float64Array.from(a.to, (i) => side.begins(i, axis));
	const order = Uint32Array.from(a.to.keys()).filter((k) => a.what[k] === ARROW_STREAM).sort((x, y) => place[x] - place[y]);
	return { order, at: Float64Array.from(order, (k) => place[k]) };
}

function groupLabel(trace, group) {
	const m = /^device (\d+)$/.exec(group), d = m && trace.head.devices.find((x) => x.id === Number(m[1]));
	return d && d.name ? `${group}: ${d.name}` : group === 'host' ? `host, process ${trace.head.pid}` : group;
}

function slotLabel(model, v) {
	const i = Math.round(v), { trace } = model.sides[0];
	return model.sides.length === 1 && i >= 0 && i < trace.n ? `#${trace.seq[i]}` : String(i);
}

