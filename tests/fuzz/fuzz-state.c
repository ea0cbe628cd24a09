/* SPDX-License-Identifier: Apache-2.0
 *
 * Fuzz target: a keyframe as hostile bytes. What decodes must stand everything that is done with a state: folding on,
 * retiring, printing, cloning, and storing to the same state again.
 */
#include <stdlib.h>
#include "state/state.h"
#include "../unit/random-cmds.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void fold_on(struct state *s, uint64_t seed)
{
	struct state_totals t;
	struct random_cmds r = {.x = seed | 1};

	state_totals(s, &t);
	r.seq = t.seq + 1;
	for (unsigned i = 0; i < 60 && r.seq > t.seq; i++) {
		struct sbt_cmd c = random_cmd(&r);

		err_free(state_apply(s, &c));
		if (i % 8 == 0)
			state_retire(s, t.seq - random_below(&r, 50));
	}
}

static void look(const struct state *s)
{
	struct buf b = BUF_INIT;
	struct state_stream st;

	state_print(&b, s, STATE_VIEW_ALL);
	buf_clear(&b);
	state_json(&b, s, STATE_VIEW_ALL);
	for (unsigned i = 0; i < 16 && state_stream(s, i, &st); i++) {
		buf_clear(&b);
		state_print_stream(&b, s, st.id);
		state_json_stream(&b, s, st.id);
	}
	buf_free(&b);
}

static void store_again(const struct state *s)
{
	struct buf b = BUF_INIT;
	struct state *again;

	state_encode(s, &b);
	if (state_decode(&again, b.data, b.len))
		abort(); /* a state that was accepted can be stored */
	if (state_hash(again) != state_hash(s))
		abort();
	state_free(again);
	buf_free(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct state *s, *clone;
	struct err *e = state_decode(&s, data, size);

	if (e) {
		err_free(e);
		return 0;
	}
	look(s);
	store_again(s);
	clone = state_clone(s);
	fold_on(clone, size);
	look(clone);
	state_free(clone);
	store_again(s);
	state_free(s);
	return 0;
}
