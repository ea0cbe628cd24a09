// SPDX-License-Identifier: Apache-2.0
//
// The keyboard, as in Perfetto where it has the same. Each row: keys, what they do, the name of the action.
import { el } from './dom.js';

export const KEYS = [
	[['w', 'ArrowUp+'], 'zoom in', 'zoomIn'],
	[['s', 'ArrowDown+'], 'zoom out', 'zoomOut'],
	[['a'], 'move left', 'left'],
	[['d'], 'move right', 'right'],
	[['.', 'ArrowRight'], 'next command of the lane', 'next'],
	[[',', 'ArrowLeft'], 'previous command of the lane', 'previous'],
	[[']'], 'next command of the program', 'nextAny'],
	[['['], 'previous command of the program', 'previousAny'],
	[['f'], 'show the command at the cursor', 'focus'],
	[['0', 'Home'], 'show everything', 'all'],
	[['m'], 'select the time of the command at the cursor', 'mark'],
	[['Escape'], 'give the selection up', 'clear'],
	[['t'], 'time, or one slot for each command', 'axis'],
	[['l'], 'two traces: line both up at the cursor', 'lineUp'],
	[['o'], 'two traces: go to the same command of the other one', 'other'],
	[['1', '2', '3', '4'], 'command, state, flame graph, facts', 'tab'],
	[['/'], 'search; Enter: next, Shift+Enter: previous', 'search'],
	[['?'], 'this list', 'help'],
];

/** Calls actions[name](key) for the keys that are pressed while nothing is typed into. */
export function listen(actions) {
	const by = new Map(KEYS.flatMap(([keys, , name]) => keys.map((k) => [k.replace(/\+$/, ''), name])));
	addEventListener('keydown', (e) => {
		if (e.ctrlKey || e.metaKey || e.altKey || /^(INPUT|SELECT|TEXTAREA)$/.test(e.target.tagName))
			return;
		const name = by.get(e.key) ?? by.get(e.key.toLowerCase());
		if (!name || (e.target.tagName === 'BUTTON' && /^(Enter| )$/.test(e.key)))
			return;
		e.preventDefault();
		actions[name](e.key, e);
	});
}

export function help() {
	return el('table', {}, KEYS.map(([keys, what]) => el('tr', {}, el('td', {}, keys.map((k) => el('kbd', {}, k.replace(/\+$/, '').replace('Arrow', '')))), el('td', {}, what))));
}
