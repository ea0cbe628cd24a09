/* SPDX-License-Identifier: Apache-2.0
 *
 * Kernels that poll, see polls.h. Of several that have one name, one that polls is enough.
 */
#include "order/races/polls.h"

#include <stdlib.h>
#include <string.h>

#include "gpucode/code-traits.h"
#include "sbt/cmd-pack.h"

#define KERNELS_MAX (1u << 24)

static bool any_polls(const struct trace_codes *codes, const char *kernel)
{
	for (size_t i = 0; i < codes->n; i++) {
		const struct trace_code *c = &codes->code[i];

		if (code_traits_of(c->bytes.data, c->bytes.len, c->kind, kernel).polls)
			return true;
	}
	return false;
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
		TRY(trace_codes_read(&p->codes, trace));
		p->known[id] = 1 + any_polls(&p->codes, k.name);
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
	trace_codes_free(&p->codes);
	free(p->known);
	*p = (struct polls){0};
}
