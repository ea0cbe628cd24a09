/* SPDX-License-Identifier: Apache-2.0
 *
 * The GPU's state at a command.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "base/buf.h"
#include "library/library.h"
#include "state/state.h"

struct ts_state {
	struct state *state;
};

int ts_state_at(ts_state **ret, ts_trace *t, uint64_t seq)
{
	struct state *state;
	const int r = result_of(state_at(&state, t->reader, seq));

	if (r)
		return r;
	*ret = xcalloc(1, sizeof **ret);
	(*ret)->state = state;
	return TS_OK;
}

void ts_state_free(ts_state *s)
{
	if (!s)
		return;
	state_free(s->state);
	free(s);
}

int ts_state_stream(const ts_state *s, unsigned index, struct ts_stream *ret)
{
	struct state_stream st;
	struct ts_stream found;

	if (!ret->size || ret->size > sizeof found)
		return result_of(err_new(ERR_USAGE,
			"the caller sets size to sizeof(struct ts_stream), at most %zu here",
			sizeof found));
	if (!state_stream(s->state, index, &st))
		return TS_END;
	found = (struct ts_stream){.size = ret->size,
		.id = st.id,
		.ctx = st.ctx,
		.status = state_status_name(st.status),
		.pending = st.pending};
	memcpy(ret, &found, ret->size);
	return TS_OK;
}

/* The number of live allocations; *ret_bytes: their sizes' sum. */
static uint64_t count_live(const struct state *s, uint64_t *ret_bytes)
{
	struct state_alloc a;
	unsigned n = 0;

	for (*ret_bytes = 0; state_alloc(s, n, &a); n++)
		*ret_bytes += a.size;
	return n;
}

int ts_state_number(const ts_state *s, const char *name, uint64_t *ret)
{
	uint64_t live = 0, live_bytes = 0;
	struct state_totals totals;

	state_totals(s->state, &totals);
	if (!strncmp(name, "live_", 5))
		live = count_live(s->state, &live_bytes);
	const struct library_number numbers[] = {{"commands", totals.commands},
		{"launches", totals.launches}, {"copies", totals.copies}, {"fills", totals.fills},
		{"syncs", totals.syncs}, {"failed", totals.failed}, {"pending", totals.pending},
		{"live_bytes", live_bytes}, {"live_allocations", live}, {NULL, 0}};

	return library_number(numbers, "a state", name, ret);
}
