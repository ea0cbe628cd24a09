// SPDX-License-Identifier: Apache-2.0
//
// The flame graph of what is selected: work summed up by host stack, outermost call below the root, the kernel at the end.
import { fitted, FONT } from './paint.js';
import { counted, duration } from './view.js';

/** Sums of a tree: {name, weight, count, children: Map, gpu}. weigh(i): what a command counts. */
export function flameTree(trace, indices, weigh) {
	const root = { name: 'all', weight: 0, count: 0, children: new Map(), gpu: false }, sums = new Map();
	for (const i of indices) {
		const key = trace.stack[i] * 2097152 + trace.name[i], known = sums.get(key);
		if (known) {
			known.weight += weigh(i);
			known.count++;
		} else {
			sums.set(key, { i, weight: weigh(i), count: 1 });
		}
	}
	for (const { i, weight, count } of sums.values()) {
		let node = root;
		add(node, weight, count);
		for (const f of trace.frames(i).filter((x) => !x.stub).reverse())
			add(node = child(node, f.function, false), weight, count);
		add(child(node, trace.nameOf(i), true), weight, count);
	}
	return root;
}
/** One tree of several, each below its name. */
export function flameTogether(trees, names) {
	const root = { name: 'all', weight: 0, count: 0, children: new Map(), gpu: false };
	trees.forEach((tree, k) => {
		root.weight += tree.weight;
		root.count += tree.count;
		root.children.set(names[k], Object.assign(tree, { name: names[k], parent: root }));
	});
	return root;
}
function add(node, weight, count) {
	node.weight += weight;
	node.count += count;
}
function child(node, name, gpu) {
	const key = (gpu ? 'g' : 'h') + name;
	if (!node.children.has(key))
		node.children.set(key, { name, weight: 0, count: 0, children: new Map(), gpu, parent: node });
	return node.children.get(key);
}

/** Boxes of a tree: [{node, x, width, depth}], x and width from 0 to 1; what is narrower than `least` is left out. */
export function boxes(root, least) {
	const out = [];
	const walk = (node, x, depth) => {
		const width = root.weight ? node.weight / root.weight : 0;
		if (width < least)
			return;
		out.push({ node, x, width, depth });
		let at = x;
		for (const c of [...node.children.values()].sort((p, q) => q.weight - p.weight)) {
			walk(c, at, depth + 1);
			at += c.weight / root.weight;
		}
	};
	walk(root, 0, 0);
	return out;
}

const ROW = 18;

/** The canvas that shows a tree; a click goes into a box, one on the lowest goes back. */
export class FlameGraph {
	constructor(canvas, note, colours) {
		Object.assign(this, { canvas, note, colours });
		canvas.addEventListener('mousemove', (e) => this.#tell(this.#hit(e)));
		canvas.addEventListener('click', (e) => {
			const hit = this.#hit(e);
			if (hit)
				this.show(hit.node === this.root && this.root.parent ? this.top : hit.node);
		});
	}
	/** by: 'time' or 'count'. */
	set(tree, by) {
		this.by = by;
		this.top = tree;
		this.show(tree);
	}
	show(node) {
		const width = this.canvas.parentElement.clientWidth || 400, ratio = devicePixelRatio || 1;
		this.root = node;
		this.list = boxes(node, 0.5 / width);
		const height = (Math.max(0, ...this.list.map((b) => b.depth)) + 1) * ROW;
		Object.assign(this.canvas, { width: width * ratio, height: height * ratio });
		this.canvas.style.height = `${height}px`;
		this.width = width;
		const g = this.canvas.getContext('2d');
		g.scale(ratio, ratio);
		g.font = FONT;
		g.textBaseline = 'middle';
		const letter = g.measureText('0'.repeat(100)).width / 100;
		for (const b of this.list) {
			const x = b.x * width, w = Math.max(b.width * width - 1, 0.5), y = b.depth * ROW;
			g.fillStyle = b.depth === 0 && !b.node.gpu ? this.colours.grey : this.colours.names[this.colours.constructor.of(b.node.name)];
			g.fillRect(x, y, w, ROW - 1);
			g.fillStyle = this.colours.ink;
			const text = fitted(b.node.name, w, letter);
			if (text)
				g.fillText(text, x + 3, y + ROW / 2);
		}
		this.#tell({ node });
	}
	#hit(e) {
		const x = e.offsetX / this.width, depth = Math.floor(e.offsetY / ROW);
		return this.list?.find((b) => b.depth === depth && x >= b.x && x < b.x + b.width) ?? null;
	}
	#tell(hit) {
		if (!hit)
			return;
		const { node } = hit, share = this.top.weight ? (100 * node.weight / this.top.weight).toFixed(1) : '0';
		this.note.textContent = `${node.name}: ${this.by === 'time' ? duration(node.weight) : node.weight}, ${counted(node.count, 'command')}, ${share} %`;
	}
}
