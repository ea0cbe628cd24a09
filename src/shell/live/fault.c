/* SPDX-License-Identifier: Apache-2.0
 *
 * Prints faults, see fault.h.
 */
#include "shell/print/shown-names.h"
#include "shell/live/fault.h"

#include <inttypes.h>
#include <stdio.h>
#include "base/buf.h"
#include "shell/line/out.h"
#include "shell/values/memory-view.h"
#include "shell/print/stack-view.h"
#include "state/state.h"

#define FRAMES_TOLD 16u	  /* of the one launch */
#define FRAMES_OF_MANY 4u /* of each that it may have been */
#define ALLOCS_ASKED 16u  /* allocations that are asked about */

/* Prints a launch with the host stack of its call. */
static void tell_launch(struct session *s, const struct state *st, const char *word,
	const struct sbt_cmd *c, unsigned frames)
{
	struct sbt_names names = kernel_names(&(struct shown_names){s, st});
	struct buf b = BUF_INIT;
	struct stack stack;

	sbt_print_cmd(&b, c, &names);
	buf_byte(&b, '\n');
	stack_kept(s, c->stack, &stack);
	stack_print_brief(&b, &stack, "      ", frames);
	stack_free(&stack);
	out_printf(s->out, "  %s %s", word, buf_cstr(&b));
	buf_free(&b);
}

/* Prints the launches that may have caused the fault. */
static void tell_launches(struct session *s, const struct state *st, const struct live_fault *f)
{
	const char *word = f->named || (f->error.known && *f->error.kernel)
				   ? "in"
				   : "not known to have finished:";

	for (unsigned i = 0; i < f->n && i < LIVE_LAUNCHES; i++)
		tell_launch(s, st, word, &f->launch[i], f->named ? FRAMES_TOLD : FRAMES_OF_MANY);
	if (f->n > LIVE_LAUNCHES)
		out_printf(s->out, "  and %u more\n", f->n - LIVE_LAUNCHES);
}

static void tell_address(struct session *s, const struct live_fault *f)
{
	const struct state_alloc *a = &f->nearest;
	const uint64_t addr = f->error.addr;

	out_printf(s->out, "  %u bytes at 0x%" PRIx64, f->error.size, addr);
	if (!a->size)
		out_str(s->out, "; no memory is allocated\n");
	else if (addr - a->addr < a->size)
		out_printf(s->out,
			", byte %" PRIu64 " of the %" PRIu64 " bytes that #%" PRIu64
			" allocated at 0x%" PRIx64 "\n",
			addr - a->addr, a->size, a->alloc_seq, a->addr);
	else
		out_printf(s->out,
			", %" PRIu64 " bytes %s the nearest allocation: %" PRIu64
			" bytes at 0x%" PRIx64 ", by #%" PRIu64 "\n",
			addr < a->addr ? a->addr - addr : addr - a->addr - a->size,
			addr < a->addr ? "before" : "past the end of", a->size, a->addr,
			a->alloc_seq);
}

static void tell_fault(struct session *s, const struct state *st, const struct live_fault *f)
{
	const struct tsdb_error *e = &f->error;

	tell_launches(s, st, f);
	if (!e->known) {
		if (!f->n)
			out_str(s->out, "  no launch is known that had not finished\n");
		out_str(s->out,
			"  This driver does not say which thread of which launch it was.\n");
		return;
	}
	out_printf(s->out, "  block (%u,%u,%u), thread (%u,%u,%u)", e->block[0], e->block[1],
		e->block[2], e->thread[0], e->thread[1], e->thread[2]);
	if (e->source_line && *e->file)
		out_printf(s->out, ", %s:%u", e->file, e->source_line);
	if (e->line)
		out_printf(s->out, ", line %u of the PTX", e->line);
	out_str(s->out, "\n");
	if (e->addr)
		tell_address(s, f);
	out_printf(s->out, "  %s\n", e->text);
}

/* ---- memory ---- */

/* What keeps the memory from before the fault the next time: 160 bytes. */
static void capture_that_keeps(struct session *s, char *to)
{
	const struct settings *set = &s->engine.set;
	const struct live *l = &s->engine.live;
	const bool all = atomic_load(&live_control(&s->engine)->memory) == TSDB_MEMORY_ALL;
	const char *memory = all ? "" : "`set capture memory all`, ",
		   *keep = settings_on(set, SET_KEEP) ? "" : "`set capture keep on`, ";

	if (inferior_attached(l->inf))
		snprintf(to, 160, "%s%s`capture start` before the fault keeps it", memory, keep);
	else
		snprintf(to, 160,
			"%s%s`capture window seq %" PRIu64 "-%" PRIu64 "` and `run` keep it",
			memory, keep, l->fault_first, l->fault_last);
}

static const char *why_lost(struct session *s, char *cure)
{
	switch (live_why_lost(&s->engine)) {
	case LIVE_LOST_NO_CAPTURE:
		capture_that_keeps(s, cure);
		return "no capture was on";
	case LIVE_LOST_NO_SPAN:
		capture_that_keeps(s, cure);
		return "the capture window had not begun";
	case LIVE_LOST_NOT_COPIED:
		snprintf(cure, 160, "`set capture memory all` keeps it");
		return "the capture copies no memory where it begins";
	case LIVE_LOST_WITH_CONTEXT:
		snprintf(cure, 160, "`set capture keep on` keeps it");
		return "the capture's copies were in the program's memory";
	default:
		snprintf(cure, 160,
			"The copies need room on the device, and tsdb-keeper (docs/faults.md)");
		return "no copy from before outlived it";
	}
}

struct err *fault_lost(struct session *s, struct err *e)
{
	char cure[160];
	const char *why;

	if (!e || e->code != ERR_NOT_FOUND || s->focus == FOCUS_REPLAY ||
		!live_at_fault(&s->engine))
		return e;
	err_free(e);
	why = why_lost(s, cure);
	return err_cure(
		err_new(ERR_NOT_FOUND, "device memory is lost, the GPU has faulted: %s", why), "%s",
		cure);
}

/* Whether a copy of any memory outlived the fault. */
static bool is_any_kept(struct session *s, const struct state *st, bool *ret_any)
{
	struct state_alloc a;
	uint64_t before;
	uint8_t byte;

	*ret_any = false;
	for (unsigned i = 0; i < ALLOCS_ASKED && state_alloc(st, i, &a); i++) {
		if (a.mem == SBT_MEM_PINNED || a.mem == SBT_MEM_REGISTERED)
			continue;
		*ret_any = true;
		if (memory_kept(s, a.addr, &byte, 1, &before))
			return true;
	}
	return false;
}

static void tell_lost(struct session *s, const struct state *st)
{
	char cure[160];
	const char *why;
	bool any;

	if (is_any_kept(s, st, &any) || !any)
		return;
	why = why_lost(s, cure);
	out_printf(s->out, "  Device memory is lost: %s. %s.\n", why, cure);
}

void fault_tell(struct session *s, const struct live_fault *f)
{
	const struct tsdb_error *e = &f->error;

	if (e->sticky && !*e->call) /* the device says so itself: no call has an error */
		out_style(s->out, STYLE_STOP, "The GPU has faulted:");
	else if (e->sticky)
		out_style(s->out, STYLE_STOP,
			"The GPU has faulted: %s (%u), first said by %s:", e->name, e->code,
			e->call);
	else
		out_style(s->out, STYLE_STOP, "%s has failed: %s (%u):", e->call, e->name, e->code);
	out_str(s->out, "\n");
	if (!e->sticky || !s->engine.live.recorder)
		return;
	tell_fault(s, recorder_state(s->engine.live.recorder), f);
	if (*e->call)
		tell_lost(s, recorder_state(s->engine.live.recorder));
}
