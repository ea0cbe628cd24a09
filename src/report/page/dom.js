// SPDX-License-Identifier: Apache-2.0
//
// Elements from code. Text goes in as text nodes alone, so that no name of a trace is ever HTML.

export const $ = (id) => document.getElementById(id);

/** An element: attributes by name (functions are listeners, `class` a class), then children, which are elements or text. */
export function el(tag, attributes = {}, ...children) {
	const e = document.createElement(tag);
	for (const [name, value] of Object.entries(attributes)) {
		if (typeof value === 'function')
			e.addEventListener(name, value);
		else if (value !== null && value !== undefined && value !== false)
			e.setAttribute(name, value === true ? '' : value);
	}
	e.append(...children.flat().filter((c) => c !== null && c !== undefined && c !== false));
	return e;
}

/** A table; heads may start with '>' for columns of numbers. rows: lists of cells. */
export function table(heads, rows, attributes = {}) {
	const right = heads.map((h) => h.startsWith('>'));
	return el('table', attributes,
		el('thead', {}, el('tr', {}, heads.map((h, k) => el('th', { class: right[k] && 'n' }, right[k] ? h.slice(1) : h)))),
		el('tbody', {}, rows.map((cells) => el('tr', {}, cells.map((c, k) => el('td', { class: right[k] && 'n' }, c ?? ''))))));
}
