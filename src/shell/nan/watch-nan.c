/* SPDX-License-Identifier: Apache-2.0
 *
 * `watch --nan`: a replay stops behind commands that wrote NaN.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "engine/breakpoints.h"
#include "engine/nan.h"
#include "engine/replay-moves.h"
#include "replay/values.h"
#include "shell/nan/nan-text.h"
#include "shell/values/memory-view.h"
#include "shell/values/vars.h"

static struct err *list(struct session *s, uint64_t addr, uint64_t size, struct nan_list **ret)
{
	struct nan_params params = {.s = s};
	const struct nan_ask ask = {.param_type = nan_param_type, .arg = &params};
	struct err *e = nan_list_make(&s->engine, &ask, addr, size, ret);

	nan_params_free(&params);
	return e;
}

static void tell(struct session *s, const struct breakpoint *bp)
{
	const struct nan_list *l = bp->nan;
	char where[64] = "anywhere";

	if (bp->size != UINT64_MAX)
		snprintf(
			where, sizeof where, "%" PRIu64 " bytes at 0x%" PRIx64, bp->size, bp->addr);
	out_printf(s->out, "NaN watchpoint %d: %s; %zu command%s NaN there\n", bp->id, where, l->n,
		l->n == 1 ? " writes" : "s write");
	if (l->untyped)
		out_printf(s->out,
			"  %" PRIu64 " bytes that commands write are no floats, or of no type that "
			"is known: not looked at\n",
			l->untyped);
}

struct err *watch_nan(struct session *s, const char *place)
{
	uint64_t addr = 0, size = 0;
	struct nan_list *found;
	struct breakpoint *bp;

	s->focus = FOCUS_REPLAY;
	place += strspn(place, " \t");
	if (*place)
		TRY(memory_range(s, place, &addr, &size));
	TRY(list(s, addr, size, &found));
	bp = breakpoints_add_nan(s->engine.breaks, addr, size, found);
	vars_set(s->vars, "bpnum", bp->id);
	tell(s, bp);
	return NULL;
}

void watch_tell_nan(struct session *s, const struct watch_touch *t)
{
	out_printf(s->out, "  %s %" PRIu64 " NaN there, the first at 0x%" PRIx64 " (%s%s%s)%s\n",
		t->sure ? "wrote" : "may have written", t->nans, t->addr, value_types[t->as].name,
		t->typed == NAN_TYPE_VALUES ? " by " : " as ", nan_typed_name(t->typed),
		t->sure ? "" : ": bytes there or beside it became others");
}
