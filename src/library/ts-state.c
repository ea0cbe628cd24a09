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
	bool broken; /* memory was out while it was asked */
	struct buf json;
};

static int at(ts_state **ret, ts_trace *t, uint64_t seq)
{
	ts_state *const s = xcalloc(1, sizeof *s);
	const int r = result_of(state_at(&s->state, t->reader, seq));

	if (r)
		free(s);
	else
		*ret = s;
	return r;
}

int ts_state_at(ts_state **ret, ts_trace *t, uint64_t seq)
{
	LIBRARY_DOOR(&t->broken, library_no_memory(&t->broken));
	return at(ret, t, seq);
}

void ts_state_free(ts_state *s)
{
	if (!s)
		return;
	if (!s->broken) {
		buf_free(&s->json);
		state_free(s->state);
	}
	free(s);
}

/* A question may build an index. */
static bool *mark(const ts_state *s)
{
	return &((ts_state *)(uintptr_t)s)->broken;
}

int ts_state_stream(const ts_state *s, unsigned index, struct ts_stream *ret)
{
	struct state_stream st;
	struct ts_stream found;

	LIBRARY_DOOR(mark(s), library_no_memory(mark(s)));
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

static int number_of(const ts_state *s, const char *name, uint64_t *ret)
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

int ts_state_number(const ts_state *s, const char *name, uint64_t *ret)
{
	LIBRARY_DOOR(mark(s), library_no_memory(mark(s)));
	return number_of(s, name, ret);
}

static int json_of(ts_state *s, const char *what, const char **ret)
{
	static const char *const views[] = {[STATE_VIEW_STREAMS] = "streams",
		[STATE_VIEW_EVENTS] = "events",
		[STATE_VIEW_CONTEXTS] = "contexts",
		[STATE_VIEW_MODULES] = "modules",
		[STATE_VIEW_KERNELS] = "kernels",
		[STATE_VIEW_ALLOCS] = "allocations",
		[STATE_VIEW_GRAPHS] = "graphs",
		[STATE_VIEW_DEVICES] = "devices",
		[STATE_VIEW_THREADS] = "threads",
		[STATE_VIEW_ALL] = "all"};

	for (unsigned i = 0; i < sizeof views / sizeof *views; i++) {
		if (strcmp(what, views[i]) != 0)
			continue;
		s->json.len = 0;
		state_json(&s->json, s->state, (enum state_view)i);
		*ret = buf_cstr(&s->json);
		return TS_OK;
	}
	return result_of(err_new(ERR_NOT_FOUND, "a state has no objects called \"%s\"", what));
}

int ts_state_json(ts_state *s, const char *what, const char **ret)
{
	LIBRARY_DOOR(mark(s), library_no_memory(mark(s)));
	return json_of(s, what, ret);
}
