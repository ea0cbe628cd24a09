// SPDX-License-Identifier: Apache-2.0
//
// The report begins: reads the traces out of the page and shows them.
import { $, el } from './dom.js';
import { help } from './keys.js';
import { Page } from './main.js';
import { Model } from './model.js';
import { readLater, readPairs, readSet, readTrace } from './trace.js';
import { counted } from './view.js';

async function readTraces() {
	const out = [];
	for (let t; (t = await readTrace(document, out.length));)
		out.push(t);
	return out;
}

async function main() {
	const begin = performance.now(), traces = await readTraces(), [a, b] = traces, set = await readSet(document);
	const pairs = b && !set ? await readPairs(document, a, b) : null, n = traces.reduce((sum, t) => sum + t.n, 0);
	const name = set ? set.trace : a.head.program || a.head.path;
	$('help-keys').replaceChildren(help());
	$('program').replaceChildren(el('span', { title: name }, name.replace(/.*\//, '')),
		el('span', { class: 'dim' }, ` ${set ? `${counted(traces.length, 'rank')}, ` : ''}${counted(pairs ? a.n : n, 'command')}, ${a.head.gpu || 'no device'}`));
	document.title = `${set ? set.trace : a.head.path}: tsdb report`;
	const page = globalThis.report = new Page(new Model(traces, pairs, set));
	if (page.timeline.rows.some((r) => r.lane))
		$('loading').remove();
	else
		$('loading').textContent = 'There is no command to draw.';
	await new Promise((drawn) => requestAnimationFrame(() => setTimeout(drawn)));
	page.shown = performance.now() - begin; /* ms */
	await Promise.all(page.model.sides.map(async (side, t) => {
		await readLater(document, t, side.trace);
		side.know();
	}));
	page.refresh();
	page.loaded = performance.now() - begin;
	document.documentElement.dataset.ready = 'yes';
}

main().catch((e) => {
	$('loading').textContent = `This report cannot be shown: ${e.message}`;
	throw e;
});
