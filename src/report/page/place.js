// SPDX-License-Identifier: Apache-2.0
//
// A place in the page as the URL's fragment: "#at=41&view=0,1200&axis=time&tab=state&find=matmul&sel=10,20". Pure.

/** The panel's tabs, in the order of their keys 1, 2 ... A page with more appends its own. */
export const TABS = ['command', 'state', 'flame', 'facts'];

/** place: {at: seq, trace: its number, from, to, axis: 'time'|'commands', tab, find, sel: {from, to}}; what is undefined is left out. */
export function toHash(place) {
	const out = [];
	const add = (key, value) => out.push(`${key}=${encodeURIComponent(value)}`);
	if (place.at !== undefined)
		add('at', place.at);
	if (place.trace)
		add('trace', place.trace === 1 ? 'b' : place.trace);
	if (place.from !== undefined)
		add('view', `${digits(place.from)},${digits(place.to)}`);
	if (place.axis)
		add('axis', place.axis);
	if (place.tab)
		add('tab', place.tab);
	if (place.find)
		add('find', place.find);
	if (place.sel)
		add('sel', `${digits(place.sel.from)},${digits(place.sel.to)}`);
	return '#' + out.join('&').replaceAll('%2C', ',');
}

function digits(v) {
	return Number(v.toPrecision(15)).toString();
}

function pair(text) {
	const [from, to] = (text ?? '').split(',').map(Number);
	return Number.isFinite(from) && Number.isFinite(to) && from < to ? { from, to } : undefined;
}

/** The same, from a fragment that anybody may have written: what makes no sense is left out. */
export function fromHash(hash) {
	const given = new Map();
	for (const part of hash.replace(/^#/, '').split('&')) {
		const [key, value = ''] = part.split('=');
		try {
			given.set(key, decodeURIComponent(value));
		} catch {
			/* no valid %xx: not ours */
		}
	}
	const view = pair(given.get('view')), at = Number(given.get('at'));
	return {
		at: given.has('at') && Number.isSafeInteger(at) && at >= 0 ? at : undefined,
		trace: given.get('trace') === 'b' ? 1 : /^\d{1,6}$/.test(given.get('trace')) ? Number(given.get('trace')) : 0,
		from: view?.from,
		to: view?.to,
		axis: ['time', 'commands'].includes(given.get('axis')) ? given.get('axis') : undefined,
		tab: TABS.includes(given.get('tab')) ? given.get('tab') : undefined,
		find: given.get('find') || undefined,
		sel: pair(given.get('sel')),
	};
}
