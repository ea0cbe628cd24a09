/* SPDX-License-Identifier: Apache-2.0
 *
 * What the tests of rooms state and replay share: cmocka, applying, and short questions. Include
 * first.
 */
#ifndef TESTS_STATE_TEST_H
#define TESTS_STATE_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include "base/buf.h"
#include "cmds.h"
#include "no-error.h"
#include "state/state.h"

#define TEST_FN static inline __attribute__((unused))

TEST_FN void apply(struct state *s, struct sbt_cmd c)
{
	ok(state_apply(s, &c));
}

TEST_FN struct state_stream stream_of(const struct state *s, uint32_t id)
{
	struct state_stream st;

	if (!state_stream_by_id(s, id, &st))
		fail_msg("no stream %u", id);
	return st;
}

TEST_FN struct state_event event_of(const struct state *s, uint32_t id)
{
	struct state_event e;

	if (!state_event_by_id(s, id, &e))
		fail_msg("no event %u", id);
	return e;
}

TEST_FN struct state_totals totals_of(const struct state *s)
{
	struct state_totals t;

	state_totals(s, &t);
	return t;
}

/* Device 0, context 0 with legacy default stream 0, blocking streams 1 and 2, non-blocking stream
 * 3, kernels 0 and 1. Seqs 1 to 7; the next is 8. */
TEST_FN struct state *state_small(void)
{
	struct state *s = state_new();

	apply(s, cmd_device(1, 0, "Soft"));
	apply(s, cmd_ctx_create(2, 0, 0));
	apply(s, cmd_stream_create(3, 1, 0));
	apply(s, cmd_stream_create(4, 2, 0));
	apply(s, cmd_stream_create(5, 3, 1));
	apply(s, cmd_kernel_def(6, 0, SBT_NO_ID, "alpha", NULL, 0));
	apply(s, cmd_kernel_def(7, 1, SBT_NO_ID, "beta", NULL, 0));
	return s;
}

/* Status, head and number of pending commands of a stream, in one line. */
#define assert_stream(s, id, want_status, want_head, want_pending)                                 \
	do {                                                                                       \
		struct state_stream as_ = stream_of(s, id);                                        \
		assert_string_equal(                                                               \
			state_status_name(as_.status), state_status_name(want_status));            \
		assert_int_equal(as_.head, want_head);                                             \
		assert_int_equal(as_.pending, want_pending);                                       \
	} while (0)

#endif
