/* SPDX-License-Identifier: Apache-2.0
 *
 * Where probes are in machine code, see amd-micro-probe.h.
 */
#include "softamd/micro/amd-micro-probe.h"
#include "softamd/micro/amd-micro.h"

static bool compile(
	const void *arg, const void *fn, uint64_t pc, const char *text, struct lane_expr *ret)
{
	char why[160];

	(void)arg, (void)fn, (void)pc;
	return !amd_micro_compile(ret, NULL, text, why, sizeof(why));
}

static struct lane_value eval(const struct lane_expr *x, const void *warp, unsigned lane)
{
	return amd_micro_eval(x, warp, lane);
}

static void who(const void *warp, unsigned lane, uint32_t block[3], uint32_t thread[3])
{
	const struct amd_wave *w = warp;

	memcpy(block, w->group->id, 3 * sizeof(*block));
	amd_micro_item(w, lane, thread);
}

static const struct probe_machine machine = {compile, eval, amd_micro_type, who};

static bool add_places(struct probed *b, const struct soft_probe *p, unsigned probe,
	const struct amd_image *m, uint64_t entry, uint64_t bias)
{
	const char *file = p->file[0] ? p->file : amd_image_file_at(m, entry - bias);
	const uint32_t line = amd_image_find(m, file, p->line);

	for (size_t k = 0; line && k < m->lines.n; k++)
		if (m->lines.v[k].line == line && amd_image_begins(m, k) &&
			amd_image_file_is(m, &m->lines.v[k], file))
			probed_place(b, probe, NULL, bias + m->lines.v[k].addr, NULL);
	return probed_has(b, probe);
}

void amd_probing_begin(struct amd_probing *g, const struct soft_probe *p, unsigned n,
	const char *kernel, const struct amd_image *image, uint64_t entry, uint64_t bias)
{
	bool any = false;

	g->steps = 0;
	g->b = probed_new(&machine, NULL, kernel, p, n);
	for (unsigned k = 0; g->b && k < n; k++)
		if (probed_is_about(g->b, k))
			any |= add_places(g->b, &p[k], k, image, entry, bias);
	if (!any) {
		probed_free(g->b);
		g->b = NULL;
	}
}

void amd_probing_step(struct amd_probing *g, const struct amd_wave *w, uint64_t pc)
{
	const struct probe_step s = {
		.warp = w, .count = ++g->steps, .pc = pc, .mask = amd_exec(w) & amd_micro_lanes(w)};

	probed_step(g->b, &s);
}

void amd_probing_group_ended(struct amd_probing *g, const struct amd_group *group)
{
	for (uint32_t k = 0; k < group->nwaves; k++)
		probed_done(g->b, &group->waves[k]);
}
