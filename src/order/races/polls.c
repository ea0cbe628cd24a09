/* SPDX-License-Identifier: Apache-2.0
 *
 * Kernels that poll, see polls.h. Where an entry calls functions, all of the module's text counts.
 */
#include "order/races/polls.h"

#include <stdlib.h>
#include <string.h>
#include "gpucode/ptx-text.h"

#define KERNELS_MAX (1u << 24)

static bool is_strong(struct ptx_text opcode)
{
	static const char *const strong[] = {".volatile", ".relaxed", ".acquire", ".mmio"};

	if (ptx_has(opcode, ".shared") || ptx_has(opcode, ".local") || ptx_has(opcode, ".param"))
		return false;
	if (!memcmp(opcode.p, "atom.", 5))
		return true;
	for (unsigned i = 0; i < sizeof strong / sizeof *strong; i++)
		if (ptx_has(opcode, strong[i]))
			return true;
	return false;
}

/* Opcodes are words with dots. *ret_calls: there is a call. */
static bool scan(struct ptx_text t, bool *ret_calls)
{
	for (const char *p = t.p; p < t.end;) {
		const struct ptx_text w = ptx_word(p, t.end);

		if (w.end - w.p > 5 && (!memcmp(w.p, "ld.", 3) || !memcmp(w.p, "atom.", 5)) &&
			is_strong(w))
			return true;
		*ret_calls |= ptx_begins(w, "call");
		p = w.end > p ? w.end : p + 1;
	}
	return false;
}

bool polls_text(const char *text, size_t n, const char *entry)
{
	const struct ptx_text all = {text, text + n};
	struct ptx_text body;
	bool calls = false;

	return ptx_body(all, entry, &body) && (scan(body, &calls) || (calls && scan(all, &calls)));
}

static struct err *polls_kernel(
	struct polls *p, struct sbt_reader *trace, const struct state *s, uint64_t id, bool *ret)
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
		TRY(ptx_texts_read(&p->texts, trace));
		p->known[id] = 1;
		for (size_t i = 0; i < p->texts.n; i++)
			if (p->texts.text[i].len && polls_text((const char *)p->texts.text[i].data,
							    p->texts.text[i].len, k.name))
				p->known[id] = 2;
	}
	*ret = p->known[id] == 2;
	return NULL;
}

struct err *polls_launch(struct polls *p, struct sbt_reader *trace, const struct state *s,
	const struct sbt_cmd *c, bool *ret)
{
	struct state_node n;
	struct sbt_cmd node;

	*ret = false;
	if (c->kind == SBT_LAUNCH)
		return polls_kernel(p, trace, s, c->u.launch.kernel, ret);
	if (c->kind != SBT_GRAPH_LAUNCH || c->u.graph_launch.exec >= SBT_NO_ID)
		return NULL;
	for (unsigned i = 0; !*ret && state_graph_node(s, (uint32_t)c->u.graph_launch.exec, i, &n);
		i++)
		if (n.payload.len && sbt_unpack(&node, n.payload.p, n.payload.len) &&
			node.kind == SBT_LAUNCH)
			TRY(polls_kernel(p, trace, s, node.u.launch.kernel, ret));
	return NULL;
}

void polls_free(struct polls *p)
{
	ptx_texts_free(&p->texts);
	free(p->known);
	*p = (struct polls){0};
}
