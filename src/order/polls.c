/* SPDX-License-Identifier: Apache-2.0
 *
 * Kernels that poll, see polls.h. Where an entry calls functions, all of the module's text counts.
 */
#include "order/polls.h"

#include <stdlib.h>
#include <string.h>

#define KERNELS_MAX (1u << 24)

struct text {
	const char *p, *end;
};

static bool is_name(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '$' || c == '%';
}

/* Behind its name; NULL: not there. */
static const char *find_entry(struct text t, const char *name)
{
	const size_t n = strlen(name);

	for (const char *p = t.p; (p = memmem(p, (size_t)(t.end - p), ".entry", 6));) {
		for (p += 6; p < t.end && (*p == ' ' || *p == '\t' || *p == '\n' || *p == '\r');)
			p++;
		if ((size_t)(t.end - p) > n && !memcmp(p, name, n) && !is_name(p[n]))
			return p + n;
	}
	return NULL;
}

static struct text body_of(struct text t, const char *entry)
{
	const char *from = find_entry(t, entry);
	int depth = 0;

	if (!from || !(from = memchr(from, '{', (size_t)(t.end - from))))
		return (struct text){NULL, NULL};
	for (const char *p = from; p < t.end; p++) {
		depth += (*p == '{') - (*p == '}');
		if (!depth)
			return (struct text){from, p};
	}
	return (struct text){from, t.end};
}

static bool has(struct text opcode, const char *part)
{
	return memmem(opcode.p, (size_t)(opcode.end - opcode.p), part, strlen(part)) != NULL;
}

static bool is_strong(struct text opcode)
{
	static const char *const strong[] = {".volatile", ".relaxed", ".acquire", ".mmio"};

	if (has(opcode, ".shared") || has(opcode, ".local") || has(opcode, ".param"))
		return false;
	if (!memcmp(opcode.p, "atom.", 5))
		return true;
	for (unsigned i = 0; i < sizeof strong / sizeof *strong; i++)
		if (has(opcode, strong[i]))
			return true;
	return false;
}

/* Opcodes are words with dots. *ret_calls: there is a call. */
static bool scan(struct text t, bool *ret_calls)
{
	for (const char *p = t.p; p < t.end;) {
		struct text w = {p, p};

		while (w.end < t.end && (is_name(*w.end) || *w.end == '.' || *w.end == ':'))
			w.end++;
		if (w.end - w.p > 5 && (!memcmp(w.p, "ld.", 3) || !memcmp(w.p, "atom.", 5)) && is_strong(w))
			return true;
		*ret_calls |= w.end - w.p >= 4 && !memcmp(w.p, "call", 4) && (w.end - w.p == 4 || w.p[4] == '.');
		p = w.end > p ? w.end : p + 1;
	}
	return false;
}

bool polls_text(const char *text, size_t n, const char *entry)
{
	const struct text all = {text, text + n}, body = body_of(all, entry);
	bool calls = false;

	return body.p && (scan(body, &calls) || (calls && scan(all, &calls)));
}

static struct err *read_texts(struct polls *p, struct sbt_reader *trace)
{
	uint64_t hash;
	bool is_ptx;

	p->read = true;
	for (unsigned i = 0; sbt_reader_code_at(trace, i, &hash, &is_ptx); i++) {
		if (!is_ptx)
			continue;
		p->text = xrealloc(p->text, (p->ntexts + 1) * sizeof *p->text);
		p->text[p->ntexts] = (struct buf)BUF_INIT;
		TRY(sbt_reader_code(trace, hash, &p->text[p->ntexts++], &is_ptx));
	}
	return NULL;
}

static struct err *polls_kernel(struct polls *p, struct sbt_reader *trace, const struct state *s, uint64_t id, bool *ret)
{
	struct state_kernel k;

	if (*ret || id >= KERNELS_MAX || !state_kernel_by_id(s, (uint32_t)id, &k) || !k.name)
		return NULL;
	if (id >= p->nknown) {
		const size_t n = (id + 64) & ~(size_t)63;

		p->known = xrealloc(p->known, n);
		memset(p->known + p->nknown, 0, n - p->nknown);
		p->nknown = n;
	}
	if (!p->known[id]) {
		if (!p->read)
			TRY(read_texts(p, trace));
		p->known[id] = 1;
		for (size_t i = 0; i < p->ntexts; i++)
			if (p->text[i].len && polls_text((const char *)p->text[i].data, p->text[i].len, k.name))
				p->known[id] = 2;
	}
	*ret = p->known[id] == 2;
	return NULL;
}

struct err *polls_launch(struct polls *p, struct sbt_reader *trace, const struct state *s, const struct sbt_cmd *c, bool *ret)
{
	struct state_node n;
	struct sbt_cmd node;

	*ret = false;
	if (c->kind == SBT_LAUNCH)
		return polls_kernel(p, trace, s, c->u.launch.kernel, ret);
	if (c->kind != SBT_GRAPH_LAUNCH || c->u.graph_launch.exec >= SBT_NO_ID)
		return NULL;
	for (unsigned i = 0; !*ret && state_graph_node(s, (uint32_t)c->u.graph_launch.exec, i, &n); i++)
		if (n.payload.len && sbt_unpack(&node, n.payload.p, n.payload.len) && node.kind == SBT_LAUNCH)
			TRY(polls_kernel(p, trace, s, node.u.launch.kernel, ret));
	return NULL;
}

void polls_free(struct polls *p)
{
	for (size_t i = 0; i < p->ntexts; i++)
		buf_free(&p->text[i]);
	free(p->text);
	free(p->known);
	*p = (struct polls){0};
}
