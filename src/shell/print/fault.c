/* SPDX-License-Identifier: Apache-2.0
 *
 * Prints faults, see fault.h. The software GPU identifies the launch by its correlation id. If that
 * is not among the last commands, the launch is looked for by its kernel among those not known to
 * have finished. A driver that names no kernel leaves all of these.
 */
#include "shell/print/fault.h"

#include <inttypes.h>
#include <string.h>
#include "base/buf.h"
#include "shell/line/out.h"
#include "engine/recorder.h"
#include "shell/print/stack-view.h"
#include "state/state.h"

#define LAUNCHES_TOLD 5u
#define FRAMES_TOLD 16u	  /* of the one launch */
#define FRAMES_OF_MANY 4u /* of each that it may have been */

static void text_of(char *to, size_t size, const char *from)
{
	memcpy(to, from, size - 1);
	to[size - 1] = 0;
}

static bool is_kernel(const struct state *st, const struct sbt_cmd *c, const char *mangled)
{
	struct state_kernel k;

	if (c->kind == SBT_GRAPH_LAUNCH)
		return !*mangled;
	return c->kind == SBT_LAUNCH &&
	       (!*mangled || (state_kernel_by_id(st, (uint32_t)c->u.launch.kernel, &k) &&
				     !strcmp(k.name, mangled)));
}

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

/* Prints the launches that may have caused the fault. Returns how many there are. */
static unsigned tell_launches(struct session *s, const struct state *st, const char *mangled)
{
	struct state_stream stream;
	enum state_status status;
	struct sbt_cmd c;
	unsigned n = 0;

	for (unsigned i = 0; state_stream(st, i, &stream); i++)
		for (unsigned k = 0; state_queue(st, stream.id, k, &c, &status); k++) {
			if (!is_kernel(st, &c, mangled))
				continue;
			s->target.fault_launch = n ? 0 : c.seq;
			if (n++ < LAUNCHES_TOLD)
				tell_launch(s, st,
					*mangled ? "in" : "not known to have finished:", &c,
					FRAMES_OF_MANY);
		}
	if (n > LAUNCHES_TOLD)
		out_printf(s->out, "  and %u more\n", n - LAUNCHES_TOLD);
	return n;
}

/* Prints the launch that the device names, if it is among the last commands. */
static bool tell_named(
	struct session *s, const struct state *st, const struct tsdb_error *e, const char *mangled)
{
	struct sbt_cmd c;

	for (unsigned age = 0; e->corr && recorder_recent(s->recorder, age, &c); age++) {
		if (c.corr != e->corr ||
			!(c.kind == SBT_GRAPH_LAUNCH || is_kernel(st, &c, mangled)))
			continue;
		s->target.fault_launch = c.seq;
		tell_launch(s, st, "in", &c, FRAMES_TOLD);
		return true;
	}
	return false;
}

bool fault_launch(struct session *s, struct sbt_cmd *ret, bool *ret_sure)
{
	const struct target *t = &s->target;

	if (!t->inf || !s->recorder || !t->at_cmd || t->last_stop != TSDB_STOP_ERROR ||
		!t->fault_launch)
		return false;
	*ret_sure = inferior_control(t->inf)->error.known;
	for (unsigned age = 0; recorder_recent(s->recorder, age, ret); age++)
		if (ret->seq == t->fault_launch)
			return true;
	return false;
}

static uint64_t distance(const struct state_alloc *a, uint64_t addr)
{
	return addr < a->addr		  ? a->addr - addr
	       : addr - a->addr < a->size ? 0
					  : addr - a->addr - a->size + 1;
}

static void tell_address(struct session *s, const struct state *st, uint64_t addr, uint32_t size)
{
	struct state_alloc a, best = {0};

	for (unsigned i = 0; state_alloc(st, i, &a); i++)
		if (!best.size || distance(&a, addr) < distance(&best, addr))
			best = a;
	out_printf(s->out, "  %u bytes at 0x%" PRIx64, size, addr);
	if (!best.size)
		out_str(s->out, "; no memory is allocated\n");
	else if (addr - best.addr < best.size)
		out_printf(s->out,
			", byte %" PRIu64 " of the %" PRIu64 " bytes that #%" PRIu64
			" allocated at 0x%" PRIx64 "\n",
			addr - best.addr, best.size, best.alloc_seq, best.addr);
	else
		out_printf(s->out,
			", %" PRIu64 " bytes %s the nearest allocation: %" PRIu64
			" bytes at 0x%" PRIx64 ", by #%" PRIu64 "\n",
			addr < best.addr ? best.addr - addr : addr - best.addr - best.size,
			addr < best.addr ? "before" : "past the end of", best.size, best.addr,
			best.alloc_seq);
}

static void tell_fault(struct session *s, const struct state *st, const struct tsdb_error *e)
{
	char kernel[sizeof(e->kernel)], text[sizeof(e->text)], file[sizeof(e->file)];

	if (!e->known) {
		if (!tell_launches(s, st, ""))
			out_str(s->out, "  no launch is known that had not finished\n");
		out_str(s->out,
			"  This driver does not say which thread of which launch it was.\n");
		return;
	}
	text_of(kernel, sizeof(kernel), e->kernel);
	text_of(text, sizeof(text), e->text);
	text_of(file, sizeof(file), e->file);
	if (!tell_named(s, st, e, kernel))
		(void)tell_launches(s, st, kernel);
	out_printf(s->out, "  block (%u,%u,%u), thread (%u,%u,%u), ", e->block[0], e->block[1],
		e->block[2], e->thread[0], e->thread[1], e->thread[2]);
	if (e->source_line && *file)
		out_printf(s->out, "%s:%u, ", file, e->source_line);
	out_printf(s->out, "line %u of the PTX\n", e->line);
	if (e->addr)
		tell_address(s, st, e->addr, e->size);
	out_printf(s->out, "  %s\n", text);
}

void fault_tell(struct session *s, const struct tsdb_error *error)
{
	const struct tsdb_error e = *error;
	char name[sizeof(e.name)], call[sizeof(e.call)];

	text_of(name, sizeof(name), e.name);
	text_of(call, sizeof(call), e.call);
	if (e.sticky)
		out_style(s->out, STYLE_STOP,
			"The GPU has faulted: %s (%u), first said by %s:", name, e.code, call);
	else
		out_style(s->out, STYLE_STOP, "%s has failed: %s (%u):", call, name, e.code);
	out_str(s->out, "\n");
	if (e.sticky && s->recorder)
		tell_fault(s, recorder_state(s->recorder), &e);
}
