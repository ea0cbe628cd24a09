// SPDX-License-Identifier: Apache-2.0
//
// The studio begins: the report's page over the session's trace, with what a live replay adds.
import { $, el } from './dom.js';
import { help, KEYS } from './keys.js';
import { Page } from './main.js';
import { Model } from './model.js';
import { Panel } from './panel.js';
import { TABS } from './place.js';
import { readLater, readTrace } from './trace.js';
import { counted } from './view.js';
import { Link, takeToken } from './studio-link.js';
import { MemoryPane } from './studio-memory.js';
import { RacesPane } from './studio-races.js';
import { Live, placeBars, STUDIO_KEYS } from './studio-live.js';
import { ReplayPane } from './studio-replay.js';

const PANES = [['replay', 'Replay'], ['memory', 'Memory'], ['races', 'Races']];

function addPanes() {
	const list = document.querySelector('[role=tablist]');
	for (const [name, label] of PANES) {
		TABS.push(name);
		list.append(el('button', { role: 'tab', id: `tab-${name}` }, label));
		document.querySelector('aside').append(el('section', { id: `pane-${name}`, hidden: true }));
	}
	KEYS.splice(-2, 0, ...STUDIO_KEYS);
}

async function studio() {
	const token = takeToken();
	$('program').textContent = 'tsdb studio';
	if (!token)
		throw new Error('the address has no token: open the one that tsdb studio has printed');
	const link = new Link(token), live = new Live(link), panes = { replay: new ReplayPane(live, link), memory: new MemoryPane(live, link), races: new RacesPane(live, link) };
	placeBars(live);
	live.show();
	const status = await link.ask('studio/status'), doc = await link.trace(), trace = await readTrace(doc, 0), { head } = trace;
	addPanes();
	$('help-keys').replaceChildren(help());
	$('program').replaceChildren(el('span', { title: head.path }, head.path.replace(/.*\//, '')), el('span', { class: 'dim' }, ` ${counted(trace.n, 'command')}, ${head.gpu || 'no device'}`));
	document.title = `${head.path.replace(/.*\//, '')}: tsdb studio`;
	const model = new Model([trace]);
	await readLater(doc, 0, trace);
	model.side(0).know();
	for (const [name] of PANES)
		Panel.prototype[name] = () => [panes[name].root];
	const page = live.page = globalThis.report = new Page(model, live.actions());
	live.status = status;
	link.next = status.next;
	$('loading').remove();
	page.setTab(location.hash.includes('tab=') ? page.tab : 'replay');
	globalThis.studioLive = live; /* for tests and the curious */
	await live.look();
	link.listen({ hear: (e) => live.hear(e), lost: () => live.look(), gone: (e) => live.say(e.message) });
	document.documentElement.dataset.ready = 'yes';
}

studio().catch((e) => {
	$('loading').textContent = `The studio cannot be shown: ${e.message}.`;
	throw e;
});
