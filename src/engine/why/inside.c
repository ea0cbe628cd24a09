/* SPDX-License-Identifier: Apache-2.0
 *
 * Where the lanes of kernels in flight are: warps to a sentence for each launch.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "base/buf.h"
#include "engine/why/why-private.h"

/* Lanes at one place. */
struct place {
	const struct why_warp *of;
	uint64_t lanes;
};

static bool same_place(const struct why_warp *a, const struct why_warp *b)
{
	if (!a->line || !b->line)
		return a->line == b->line && a->pc == b->pc;
	return a->line == b->line && !strcmp(a->file ? a->file : "", b->file ? b->file : "");
}

static int by_lanes(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	return x->lanes < y->lanes ? 1 : x->lanes > y->lanes ? -1 : 0;
}

/* Appends the file's last part and the line. */
static void put_place(struct buf *b, const struct why_warp *w)
{
	const char *slash = w->file ? strrchr(w->file, '/') : NULL;

	if (w->line && w->file)
		buf_printf(b, "%s:%" PRIu32, slash ? slash + 1 : w->file, w->line);
	else if (w->line)
		buf_printf(b, "line %" PRIu32, w->line);
	else
		buf_printf(b, "+%#" PRIx64, w->pc);
}

static void tell(struct why_node *n, struct place *place, unsigned nplaces)
{
	struct buf b = BUF_INIT;

	if (nplaces == 1) {
		buf_printf(&b, place->lanes == 1 ? "its lane at " : "all %" PRIu64 " lanes at ",
			place->lanes);
		put_place(&b, place->of);
	} else {
		qsort(place, nplaces, sizeof *place, by_lanes);
		for (unsigned i = 0; i < nplaces && i < WHY_PLACES; i++) {
			buf_printf(&b, "%s%" PRIu64 " lane%s at ", i ? ", " : "", place[i].lanes,
				place[i].lanes == 1 ? "" : "s");
			put_place(&b, place[i].of);
		}
		if (nplaces > WHY_PLACES)
			buf_printf(&b, " and %u other places", nplaces - WHY_PLACES);
	}
	why_set(&n->where, "%s", buf_cstr(&b));
	buf_free(&b);
}

static void launch(struct why *w, pid_t pid, const struct why_warp *warps, unsigned n)
{
	struct place *place = NULL;
	unsigned nplaces = 0, cap = 0, at;
	char name[32];

	for (unsigned i = 0; i < n; i++) {
		if (warps[i].seq != warps->seq || !warps[i].lanes)
			continue;
		for (at = 0; at < nplaces && !same_place(place[at].of, &warps[i]); at++)
			;
		if (at == nplaces) {
			MAKE_ROOM(place, nplaces, cap);
			place[nplaces++] = (struct place){.of = &warps[i]};
		}
		place[at].lanes += (unsigned)__builtin_popcount(warps[i].lanes);
	}
	snprintf(name, sizeof name, "#%" PRIu64, warps->seq);
	if (nplaces)
		tell(why_at(w, why_node(w, WHY_COMMAND, pid, warps->seq, name)), place, nplaces);
	free(place);
}

void why_inside(struct why *w, pid_t pid, const struct why_warp *warps, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		unsigned before = 0;

		while (before < i && warps[before].seq != warps[i].seq)
			before++;
		if (before == i)
			launch(w, pid, warps + i, n - i);
	}
}
