// SPDX-License-Identifier: Apache-2.0
//
// Colours: of the theme, from the style sheet; of commands, by name, so that a kernel has the same one everywhere and every time.

const HUES = [214, 28, 146, 275, 350, 188, 48, 100, 312, 236, 8, 168];

export class Colours {
	constructor() {
		this.dark = matchMedia('(prefers-color-scheme: dark)');
		this.read();
	}
	/** Reads the theme again, after it has changed. */
	read() {
		const css = getComputedStyle(document.documentElement);
		for (const name of ['ground', 'panel', 'heading', 'line', 'text', 'dim', 'accent', 'mark', 'host', 'idle', 'pending', 'running', 'waiting', 'grey', 'bad'])
			this[name] = css.getPropertyValue(`--${name}`).trim();
		const dark = this.dark.matches;
		this.names = HUES.flatMap((h) => [0, 1].map((k) => `hsl(${h} ${dark ? 45 : 62}% ${dark ? 34 + 9 * k : 66 + 10 * k}%)`));
		this.numbers = new Map();
		this.ink = dark ? '#f2f4f8' : '#14181f';
	}
	/** The number of a name's colour in this.names. */
	static of(name) {
		let h = 2166136261;
		for (let i = 0; i < name.length; i++)
			h = Math.imul(h ^ name.charCodeAt(i), 16777619);
		return (h >>> 8) % (2 * HUES.length);
	}
	/** A colour as a number for the pixels of an ImageData. */
	pixel(colour) {
		let n = this.numbers.get(colour);
		if (n === undefined) {
			this.one ??= new OffscreenCanvas(1, 1).getContext('2d', { willReadFrequently: true });
			this.one.fillStyle = colour;
			this.one.fillRect(0, 0, 1, 1);
			n = new Uint32Array(this.one.getImageData(0, 0, 1, 1).data.buffer)[0];
			this.numbers.set(colour, n);
		}
		return n;
	}
	status(number) {
		return [this.idle, this.pending, this.running, this.waiting, this.idle][number];
	}
}
