// SPDX-License-Identifier: Apache-2.0
//
// Draws one lane: commands wider than a pixel one by one, the others one bar a pixel column, found by bisection, so that a frame costs
// what the screen is wide, not what the trace is long. Bars of a colour are drawn together.
import { firstVisible } from './lanes.js';
import { lowerBound } from './bisect.js';

export const FONT = '11px ui-monospace, "DejaVu Sans Mono", monospace';

/** Collects bars by colour, then draws them. */
export class Bars {
	constructor() {
		this.of = new Map(); /* colour: [x, y, width, height, ...] */
	}
	add(colour, x, y, w, h) {
		const list = this.of.get(colour);
		if (list)
			list.push(x, y, w, h);
		else
			this.of.set(colour, [x, y, w, h]);
	}
	draw(g) {
		for (const [colour, list] of this.of) {
			g.fillStyle = colour;
			for (let k = 0; k < list.length; k += 4)
				g.fillRect(list[k], list[k + 1], list[k + 2], list[k + 3]);
		}
		this.of.clear();
	}
}

/** A row of pixel columns: drawn at once, stretched to the lane's height. Far cheaper than a bar for each. */
export class PixelRow {
	constructor() {
		this.canvas = document.createElement('canvas');
		this.canvas.height = 1;
		this.g = this.canvas.getContext('2d');
		this.any = false;
	}
	begin(width) {
		if (this.canvas.width !== width || !this.image) {
			this.canvas.width = width;
			this.image = this.g.createImageData(width, 1);
			this.pixels = new Uint32Array(this.image.data.buffer);
		} else if (this.any) {
			this.pixels.fill(0);
		}
		this.any = false;
	}
	/** colour: a number of Colours.pixel(); over: also where there is one already. */
	set(x, n, colour, over = true) {
		for (let k = Math.max(x, 0); k < x + n && k < this.pixels.length; k++) {
			if (over || !this.pixels[k])
				this.pixels[k] = colour;
		}
		this.any = true;
	}
	draw(g, y, height) {
		if (!this.any)
			return;
		this.g.putImageData(this.image, 0, 0);
		g.imageSmoothingEnabled = false;
		g.drawImage(this.canvas, 0, 0, this.canvas.width, 1, 0, y, this.canvas.width, height);
	}
}

/** The first of the places from..to whose command is at least `least` pixels wide; `to`: none is. */
function firstWide(axis, view, least, from, to) {
	const long = least / view.scale;
	if (to <= from || axis.reach[to - 1] < axis.begins[from] + long)
		return to; /* all have ended before */
	for (let k = from; k < to; k++) {
		if (axis.ends[k] - axis.begins[k] >= long)
			return k;
	}
	return to;
}

/**
 * Calls wide(place, x0, x1) for each command of at least `least` pixels, and thin(place, x, next) for each pixel column that has only
 * smaller ones: the first of them, and the first place behind the column. Pure.
 */
export function walk(axis, view, least, wide, thin) {
	const { begins, ends } = axis, n = begins.length;
	let k = firstVisible(axis, view.from), drawn = -Infinity;
	while (k < n && begins[k] <= view.to) {
		const x0 = view.x(begins[k]), x1 = view.x(ends[k]);
		if (x1 - x0 >= least) {
			wide(k, Math.max(x0, -2), Math.min(x1, view.width + 2));
			k++;
			continue;
		}
		const column = Math.floor(x0), next = firstWide(axis, view, least, k + 1, lowerBound(begins, view.v(column + 1), k + 1));
		if (column > drawn) {
			thin(k, column, next);
			drawn = column;
		}
		k = next;
	}
}

/** Text that fits into `width` pixels of letters that are `letter` wide; '' where it would be too short to read. */
export function fitted(text, width, letter) {
	const n = Math.floor((width - 6) / letter);
	if (n >= text.length)
		return text;
	return n < 3 ? '' : text.slice(0, n - 1) + '…';
}
