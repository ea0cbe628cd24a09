/* SPDX-License-Identifier: Apache-2.0
 *
 * Counts commands, see stats.h.
 */
#include "observe/process/stats.h"
#include "sbt/kernel-name.h"

#include <stdlib.h>
#include <string.h>

void observe_stats_init(struct observe_stats *s, uint64_t now_ns)
{
	*s = (struct observe_stats){.turned_ns = now_ns};
}

void observe_stats_free(struct observe_stats *s)
{
	for (unsigned i = 0; i < s->nkernels; i++)
		free(s->kernels[i].name);
	free(s->kernels);
	free(s->sites);
	handles_free(&s->site_of);
	handles_free(&s->sizes);
	handles_free(&s->waits);
}

/* --- kernels and places --- */

static struct observe_kernel *kernel(struct observe_stats *s, uint64_t id)
{
	enum { KERNELS_MAX = 1 << 20 };

	if (id >= KERNELS_MAX)
		return NULL;
	if (id >= s->nkernels) {
		unsigned n = (unsigned)id + 1;

		s->kernels = xrealloc(s->kernels, n * sizeof *s->kernels);
		memset(s->kernels + s->nkernels, 0, (n - s->nkernels) * sizeof *s->kernels);
		s->nkernels = n;
	}
	return &s->kernels[id];
}

/* The driver gave the name of a kernel that was launched without one: the earlier launches were of
 * the same kernel. */
static void take_over(struct observe_stats *s, struct observe_kernel *k, uint64_t handle)
{
	for (unsigned i = 0; i < s->nkernels; i++) {
		struct observe_kernel *old = &s->kernels[i];

		if (old == k || old->handle != handle)
			continue;
		k->launches += old->launches;
		k->before += old->before;
		old->launches = old->before = old->handle = 0;
	}
}

static void name_kernel(struct observe_stats *s, const struct sbt_cmd_kernel_def *u)
{
	struct observe_kernel *k = kernel(s, u->new_kernel);
	char *mangled, brief[512];

	if (!k)
		return;
	if (u->module == SBT_NO_ID && u->kernel_name.len > 7 &&
		!memcmp(u->kernel_name.p, "unknown", 7)) /* seen_kernel_def() */
		k->handle = u->handle;
	else if (u->module == SBT_NO_ID && u->handle)
		take_over(s, k, u->handle);
	mangled = xasprintf("%.*s", (int)(u->kernel_name.len < 8192 ? u->kernel_name.len : 8192),
		(const char *)u->kernel_name.p);
	sbt_kernel_short_name(brief, sizeof brief, mangled);
	free(mangled);
	free(k->name);
	k->name = xstrdup(brief);
}

static void count_site(struct observe_stats *s, uint32_t stack)
{
	uint64_t i = handles_get(&s->site_of, stack);

	if (!stack)
		return;
	if (!i) {
		s->sites = xrealloc(s->sites, (s->nsites + 1) * sizeof *s->sites);
		s->sites[s->nsites++] = (struct observe_site){.stack = stack};
		i = s->nsites;
		handles_put(&s->site_of, stack, i);
	}
	s->sites[i - 1].calls++;
}

/* --- memory and waits --- */

static void count_free(struct observe_stats *s, uint64_t addr)
{
	uint64_t size = handles_remove(&s->sizes, addr);

	if (!size)
		return;
	s->live--;
	s->live_bytes -= size;
}

static void count_alloc(struct observe_stats *s, const struct sbt_cmd *c)
{
	const struct sbt_cmd_alloc *u = &c->u.alloc;

	s->sums.allocs++;
	s->sums.alloc_bytes += u->size;
	if (!u->addr || !u->size || c->flags & SBT_F_GRAPH)
		return;
	count_free(s, u->addr); /* a free that was missed */
	handles_put(&s->sizes, u->addr, u->size);
	s->live++;
	s->live_bytes += u->size;
	if (s->live_bytes > s->live_peak)
		s->live_peak = s->live_bytes;
}

static void count_wait(struct observe_stats *s, const struct sbt_cmd *c)
{
	uint64_t began = handles_remove(&s->waits, c->u.sync_end.begin);

	if (began && c->host_ns > began)
		s->sums.wait_ns += c->host_ns - began;
}

static void count_copy(struct observe_stats *s, const struct sbt_cmd_copy *u)
{
	unsigned dir = u->dir <= SBT_COPY_ANY ? (unsigned)u->dir : SBT_COPY_ANY;

	s->sums.copies++;
	s->sums.copy_bytes += u->size;
	s->sums.dir[dir]++;
	s->sums.dir_bytes[dir] += u->size;
}

/* --- commands --- */

/* Counts what has a column of its own. */
static void count(struct observe_stats *s, const struct sbt_cmd *c)
{
	struct observe_kernel *k;

	switch (c->kind) {
	case SBT_LAUNCH:
		s->sums.launches++;
		k = kernel(s, c->u.launch.kernel);
		if (k)
			k->launches++;
		break;
	case SBT_GRAPH_LAUNCH:
		s->sums.graph_launches++;
		break;
	case SBT_COPY:
		count_copy(s, &c->u.copy);
		break;
	case SBT_FILL:
		s->sums.fills++;
		break;
	case SBT_ALLOC:
		count_alloc(s, c);
		break;
	case SBT_FREE:
		s->sums.frees++;
		count_free(s, c->u.free.addr);
		break;
	case SBT_SYNC:
		s->sums.syncs++;
		if (c->host_ns)
			handles_put(&s->waits, c->seq, c->host_ns);
		break;
	default:
		break;
	}
}

void observe_stats_take(struct observe_stats *s, const struct sbt_cmd *c)
{
	if (c->kind == SBT_KERNEL_DEF)
		name_kernel(s, &c->u.kernel_def);
	if (c->kind == SBT_SYNC_END)
		count_wait(s, c);
	if (c->flags & SBT_F_SYNTHETIC || c->result || c->kind == SBT_SYNC_END)
		return;
	s->sums.calls++;
	count_site(s, c->stack);
	count(s, c);
}

/* --- turns --- */

void observe_stats_turn(struct observe_stats *s, uint64_t now_ns)
{
	const uint64_t *now = (const uint64_t *)&s->sums;
	uint64_t *before = (uint64_t *)&s->before, *rate = (uint64_t *)&s->rate;
	double seconds = (double)(now_ns - s->turned_ns) / 1e9;

	if (now_ns <= s->turned_ns)
		return;
	for (size_t i = 0; i < sizeof s->sums / sizeof *now; i++) {
		rate[i] = (uint64_t)((double)(now[i] - before[i]) / seconds + 0.5);
		before[i] = now[i];
	}
	for (unsigned i = 0; i < s->nkernels; i++) {
		s->kernels[i].rate =
			(double)(s->kernels[i].launches - s->kernels[i].before) / seconds;
		s->kernels[i].before = s->kernels[i].launches;
	}
	for (unsigned i = 0; i < s->nsites; i++) {
		s->sites[i].rate = (double)(s->sites[i].calls - s->sites[i].before) / seconds;
		s->sites[i].before = s->sites[i].calls;
	}
	s->turned_ns = now_ns;
}
