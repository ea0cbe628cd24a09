/* SPDX-License-Identifier: Apache-2.0
 *
 * Fuzz target: after a 'k' a keyframe, after a 'c' packed commands, as hostile bytes. What decodes,
 * and whatever the commands come to, must stand everything that is done with a state: folding on,
 * retiring, printing, cloning, and storing to the same state again.
 */
#include <stdlib.h>
#include "fuzz.h"
#include "state/state.h"
#include "../unit/random-cmds.h"
#include "sbt/cmd-pack.h"

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

	state_print(&b, s, STATE_VIEW_ALL, 80);
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

static void use(struct state *s, uint64_t seed)
{
	struct state *clone;

	look(s);
	store_again(s);
	clone = state_clone(s);
	fold_on(clone, seed);
	look(clone);
	state_free(clone);
	store_again(s);
}

static struct state *fold(const uint8_t *p, size_t n)
{
	struct state *s = state_new();
	struct sbt_cmd c;
	size_t used;

	for (; (used = sbt_unpack(&c, p, n)); p += used, n -= used)
		err_free(state_apply(s, &c));
	return s;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct state *s = NULL;

	if (!size)
		return 0;
	if (data[0] == 'c')
		s = fold(data + 1, size - 1);
	else if (data[0] == 'k')
		err_free(state_decode(&s, data + 1, size - 1));
	if (s)
		use(s, size);
	state_free(s);
	return 0;
}
