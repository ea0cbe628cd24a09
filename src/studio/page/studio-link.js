// SPDX-License-Identifier: Apache-2.0
//
// The line to the server: questions, and what happens in the session, which all its windows hear.

const KEY = 'tsdb-token', AGAIN_MS = 1000;

/** The token comes once, behind the address's #, and is taken out of the address: it would stay in the history, and on pictures. */
export function takeToken() {
	const hash = location.hash, m = /(^#|&)token=([0-9a-f]{32})(?=&|$)/.exec(hash);
	if (m) {
		sessionStorage.setItem(KEY, m[2]);
		history.replaceState(null, '', location.pathname + hash.replace(m[0], m[1]).replace(/^#&/, '#').replace(/^#$/, ''));
	}
	return sessionStorage.getItem(KEY);
}

function elementsOf(text) {
	const found = new Map();
	for (const m of text.matchAll(/<script type="[^"]*" id="(t0-[a-z]+)">([A-Za-z0-9+/=]*)<\/script>/g))
		found.set(m[1], { textContent: m[2], remove: () => found.delete(m[1]) });
	return { getElementById: (id) => found.get(id) ?? null };
}

/** The server is gone, or is another one. */
export class Gone extends Error {}

export class Link {
	constructor(token) {
		this.token = token;
		this.next = 0;
		this.asking = 0; /* questions whose answer has not come yet */
	}

	async #get(path, options = {}) {
		let r;
		try {
			r = await fetch(path, { ...options, headers: { Authorization: `Bearer ${this.token}`, ...options.headers }, cache: 'no-store', credentials: 'omit', redirect: 'error' });
		} catch {
			throw new Gone('tsdb studio does not answer: it has ended, or the connection to it has');
		}
		if (r.status === 403)
			throw new Gone('This address is of another session: open the one that tsdb studio has printed');
		return r;
	}

	/** Asks the session; the answer's body. Throws an Error with the sentence that says why not. */
	async ask(command, args) {
		this.asking++;
		try {
			const r = await this.#get('/ask', { method: 'POST', body: JSON.stringify(args ? { command, arguments: args } : { command }), headers: { 'Content-Type': 'application/json' } });
			const answer = await r.json();
			if (!answer.success)
				throw new Error(answer.message);
			return answer.body ?? {};
		} finally {
			this.asking--;
		}
	}

	/** The elements with data of the session trace's report, as of a document. They are read as text: nothing of it becomes part of a page. */
	async trace() {
		const r = await this.#get('/trace');
		if (!r.ok)
			throw new Error((await r.json()).message);
		return elementsOf(await r.text());
	}

	/** Calls hear(event) for all that happens from now on, and lost() when some of it is not known any more; gone(error) while nobody answers. */
	async listen({ hear, lost, gone }) {
		let fails = 0;
		for (;;) {
			try {
				const r = await this.#get('/events', { headers: { 'X-Tsdb-After': String(this.next) } }), { next, events, lost: some } = await r.json();
				if (fails)
					lost();
				fails = 0;
				this.next = next;
				if (some)
					lost();
				for (const e of events)
					hear(e);
			} catch (e) {
				if (!(e instanceof Gone) && !(e instanceof SyntaxError))
					throw e;
				gone(e);
				fails++;
				await new Promise((f) => setTimeout(f, AGAIN_MS));
			}
		}
	}
}
