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
			g.beginPath();
			for (let k = 0; k < list.length; k += 4)
				g.rect(list[k], list[k + 1], list[k + 2], list[k + 3]);
			g.fill();
		}
		this.of.clear();
	}
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
		const column = Math.floor(x0), edge = view.v(column + 1);
		let next = lowerBound(begins, edge, k + 1);
		/* a long one that begins in the column is drawn as such, if it is near */
		for (let m = k + 1, until = Math.min(next, k + 64); m < until; m++) {
			if ((ends[m] - begins[m]) * view.scale >= least) {
				next = m;
				break;
			}
		}
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
