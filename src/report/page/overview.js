// SPDX-License-Identifier: Apache-2.0
//
// The strip above the lanes: how busy the streams are over the whole axis, what the search found, and which part is in view.
import { LABELS } from './timeline.js';
import { FONT } from './paint.js';
import { lowerBound } from './bisect.js';

export class Overview {
	constructor(canvas, model, view, colours) {
		Object.assign(this, { canvas, model, view, colours });
		this.g = canvas.getContext('2d', { alpha: false });
	}
	resize() {
		const box = this.canvas.getBoundingClientRect();
		this.ratio = devicePixelRatio || 1;
		this.width = box.width;
		this.height = box.height;
		this.canvas.width = Math.round(box.width * this.ratio);
		this.canvas.height = Math.round(box.height * this.ratio);
		this.known = null;
	}
	#x(v) {
		return LABELS + (v - this.view.least) / (this.view.most - this.view.least) * (this.width - LABELS);
	}

	/** Commands that begin in each pixel column, all streams together; kept until the axis changes. */
	#counts() {
		const key = `${this.model.axis} ${this.view.least} ${this.view.most} ${this.width}`;
		if (this.known === key)
			return;
		const n = Math.max(1, Math.round(this.width - LABELS)), span = this.view.most - this.view.least;
		this.known = key;
		this.count = new Float64Array(n);
		for (const side of this.model.sides) {
			for (const lane of side.lanes.filter((l) => l.kind === 'stream')) {
				const { begins } = lane.on(this.model.axis);
				for (let x = 0, k = 0; x < n; x++) {
					const next = lowerBound(begins, this.view.least + span * (x + 1) / n, k);
					this.count[x] += next - k;
					k = next;
				}
			}
		}
		this.most = this.count.reduce((m, c) => Math.max(m, c), 1);
	}

	draw() {
		const { g, colours } = this;
		this.#counts();
		g.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
		g.fillStyle = colours.panel;
		g.fillRect(0, 0, this.width, this.height);
		g.font = FONT;
		g.textBaseline = 'middle';
		g.fillStyle = colours.dim;
		g.fillText('commands', 14, this.height / 2);
		g.fillStyle = colours.running;
		this.count.forEach((c, x) => {
			const h = c ? Math.max(2, (this.height - 4) * Math.log1p(c) / Math.log1p(this.most)) : 0;
			g.fillRect(LABELS + x, this.height - h, 1, h);
		});
		this.#found();
		const x0 = this.#x(this.view.from), x1 = this.#x(this.view.to);
		g.globalAlpha = 0.18;
		g.fillStyle = colours.accent;
		g.fillRect(x0, 0, Math.max(x1 - x0, 2), this.height);
		g.globalAlpha = 1;
		g.strokeStyle = colours.accent;
		g.strokeRect(x0 + 0.5, 0.5, Math.max(x1 - x0 - 1, 2), this.height - 1);
	}
	#found() {
		const { g } = this;
		g.fillStyle = this.colours.mark;
		for (const side of this.model.sides) {
			let drawn = -1;
			for (let i = 0; side.match && i < side.trace.n; i++) {
				const x = side.match[i] ? Math.round(this.#x(side.begins(i, this.model.axis))) : drawn;
				if (x !== drawn)
					g.fillRect(drawn = x, 0, 1, 4);
			}
		}
	}

	/** A click or a drag moves the view there. */
	listen(moved) {
		const to = (e) => {
			if (!(e.buttons & 1) || e.offsetX < LABELS)
				return;
			const span = this.view.to - this.view.from;
			const v = this.view.least + (e.offsetX - LABELS) / (this.width - LABELS) * (this.view.most - this.view.least);
			this.view.set(v - span / 2, v + span / 2);
			moved();
		};
		this.canvas.addEventListener('pointerdown', to);
		this.canvas.addEventListener('pointermove', to);
	}
}
