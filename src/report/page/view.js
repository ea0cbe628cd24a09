// SPDX-License-Identifier: Apache-2.0
//
// What part of an axis is seen: zoom, pan, pixels and back. Pure.

export class View {
	constructor(from, to) {
		this.limit(from, to);
		this.width = 1000; /* pixels */
		this.all();
	}
	/** The whole axis: one sees a little beyond it at most. */
	limit(from, to) {
		this.least = from - (to - from) * 0.02;
		this.most = to + (to - from) * 0.02;
		this.smallest = Math.max((to - from) * 1e-9, 1e-3);
	}
	get scale() {
		return this.width / (this.to - this.from);
	}
	x(v) {
		return (v - this.from) * this.scale;
	}
	v(x) {
		return this.from + x / this.scale;
	}
	/** Shows the whole axis. */
	all() {
		this.set(this.least, this.most);
	}
	get whole() {
		return this.to - this.from > (this.most - this.least) * (1 - 1e-9);
	}
	set(from, to) {
		const span = Math.min(Math.max(to - from, this.smallest), this.most - this.least);
		const middle = (from + to) / 2;
		this.from = Math.min(Math.max(middle - span / 2, this.least), this.most - span);
		this.to = this.from + span;
	}
	/** Zooms by a factor, below 1 inwards; what is at x stays there. */
	zoom(factor, x) {
		const v = this.v(x), span = (this.to - this.from) * factor;
		const left = x / this.width;
		this.set(v - span * left, v + span * (1 - left));
	}
	pan(pixels) {
		const d = pixels / this.scale;
		this.set(this.from + d, this.to + d);
	}
	/** Makes [from, to] visible, moved no more than needed; what is smaller than a pixel or larger than the view is zoomed to. */
	reveal(from, to) {
		const span = this.to - this.from, wanted = to - from;
		if (wanted > span * 0.9) {
			this.set(from - wanted * 0.3, to + wanted * 0.3);
		} else if (from < this.from || to > this.to) {
			const middle = (from + to) / 2;
			this.set(middle - span / 2, middle + span / 2);
		}
	}
}

/** A round step for marks on an axis, so that there are about `n` of them. */
export function step(span, n) {
	const raw = span / n, power = 10 ** Math.floor(Math.log10(raw));
	return [1, 2, 5, 10].map((k) => k * power).find((s) => s >= raw);
}

/** A mark of an axis whose marks are `s` apart: as many digits as tell it from the next. */
export function marked(ns, s) {
	const a = Math.abs(ns), by = a >= 1e9 ? 1e9 : a >= 1e6 ? 1e6 : a >= 1e3 ? 1e3 : 1;
	return duration(ns, Math.max(0, Math.min(12, Math.ceil(-Math.log10(s / by) - 1e-9))));
}

/** Nanoseconds as people read them; digits: after the point. */
export function duration(ns, digits = 3) {
	const a = Math.abs(ns);
	const [unit, by] = a >= 1e9 ? ['s', 1e9] : a >= 1e6 ? ['ms', 1e6] : a >= 1e3 ? ['µs', 1e3] : ['ns', 1];
	return `${Number((ns / by).toFixed(by === 1 ? 0 : digits))} ${unit}`;
}

/** "1 command", "2 commands". */
export function counted(n, one) {
	return `${n} ${one}${n === 1 ? '' : 's'}`;
}

export function bytes(n) {
	const units = ['B', 'kB', 'MB', 'GB', 'TB'];
	let k = 0;
	for (; n >= 1000 && k < units.length - 1; k++)
		n /= 1000;
	return `${Number(n.toFixed(1))} ${units[k]}`;
}
