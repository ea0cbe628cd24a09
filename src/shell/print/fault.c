/* SPDX-License-Identifier: Apache-2.0
 *
 * Prints faults, see fault.h.
 */
#include "shell/print/fault.h"

#include <inttypes.h>
#include "base/buf.h"
#include "shell/line/out.h"
#include "shell/print/stack-view.h"
#include "state/state.h"

#define FRAMES_TOLD 16u	  /* of the one launch */
#define FRAMES_OF_MANY 4u /* of each that it may have been */

/* Prints a launch with the host stack of its call. */
static void tell_launch(struct session *s, const struct state *st, const char *word,
	const struct sbt_cmd *c, unsigned frames)
{
	struct sbt_names names = state_names(st);
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
	out_printf(s->out, "  block (%u,%u,%u), thread (%u,%u,%u), ", e->block[0], e->block[1],
		e->block[2], e->thread[0], e->thread[1], e->thread[2]);
	if (e->source_line && *e->file)
		out_printf(s->out, "%s:%u, ", e->file, e->source_line);
	out_printf(s->out, "line %u of the PTX\n", e->line);
	if (e->addr)
		tell_address(s, f);
	out_printf(s->out, "  %s\n", e->text);
}

void fault_tell(struct session *s, const struct live_fault *f)
{
	const struct tsdb_error *e = &f->error;

	if (e->sticky)
		out_style(s->out, STYLE_STOP,
			"The GPU has faulted: %s (%u), first said by %s:", e->name, e->code,
			e->call);
	else
		out_style(s->out, STYLE_STOP, "%s has failed: %s (%u):", e->call, e->name, e->code);
	out_str(s->out, "\n");
	if (e->sticky && s->engine.live.recorder)
		tell_fault(s, recorder_state(s->engine.live.recorder), f);
}
