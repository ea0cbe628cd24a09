/* SPDX-License-Identifier: Apache-2.0
 *
 * See fault.h. The launch is found by its kernel among those that are not known to have finished; a driver that names no kernel leaves all of them.
 */
#include "shell/fault.h"

#include <inttypes.h>
#include <string.h>
#include "buf.h"
#include "shell/out.h"
#include "shell/recorder.h"
#include "state/state.h"

#define LAUNCHES_TOLD 5u

static void text_of(char *to, size_t size, const char *from)
{
	memcpy(to, from, size - 1);
	to[size - 1] = 0;
}

static bool is_kernel(const struct state *st, const struct sbt_cmd *c, const char *mangled)
{
	struct state_kernel k;

	return c->kind == SBT_LAUNCH && (!*mangled || (state_kernel_by_id(st, (uint32_t)c->u.launch.kernel, &k) && !strcmp(k.name, mangled)));
}

/* The launches that may have done it. Returns how many there are. */
static unsigned tell_launches(struct session *s, const struct state *st, const char *mangled)
{
	struct sbt_names names = state_names(st);
	struct state_stream stream;
	enum state_status status;
	struct sbt_cmd c;
	unsigned n = 0;

	for (unsigned i = 0; state_stream(st, i, &stream); i++)
		for (unsigned k = 0; state_queue(st, stream.id, k, &c, &status); k++) {
			struct buf b = BUF_INIT;

			if (!is_kernel(st, &c, mangled) || n++ >= LAUNCHES_TOLD)
				continue;
			sbt_print_cmd(&b, &c, &names);
			out_printf(s->out, "  %s %s\n", *mangled ? "in" : "not known to have finished:", buf_cstr(&b));
			buf_free(&b);
		}
	if (n > LAUNCHES_TOLD)
		out_printf(s->out, "  and %u more\n", n - LAUNCHES_TOLD);
	return n;
}

static uint64_t distance(const struct state_alloc *a, uint64_t addr)
{
	return addr < a->addr ? a->addr - addr : addr - a->addr < a->size ? 0 : addr - a->addr - a->size + 1;
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
		out_printf(s->out, ", byte %" PRIu64 " of the %" PRIu64 " bytes that #%" PRIu64 " allocated at 0x%" PRIx64 "\n", addr - best.addr, best.size,
			best.alloc_seq, best.addr);
	else
		out_printf(s->out, ", %" PRIu64 " bytes %s the nearest allocation: %" PRIu64 " bytes at 0x%" PRIx64 ", by #%" PRIu64 "\n",
			addr < best.addr ? best.addr - addr : addr - best.addr - best.size, addr < best.addr ? "before" : "past the end of", best.size, best.addr,
			best.alloc_seq);
}

static void tell_fault(struct session *s, const struct state *st, const struct tsdb_error *e)
{
	char kernel[sizeof(e->kernel)], text[sizeof(e->text)];

	if (!e->known) {
		if (!tell_launches(s, st, ""))
			out_str(s->out, "  no launch is known that had not finished\n");
		out_str(s->out, "  This driver does not say which thread of which launch it was.\n");
		return;
	}
	text_of(kernel, sizeof(kernel), e->kernel);
	text_of(text, sizeof(text), e->text);
	(void)tell_launches(s, st, kernel);
	out_printf(s->out, "  block (%u,%u,%u), thread (%u,%u,%u), line %u of the PTX\n", e->block[0], e->block[1], e->block[2], e->thread[0], e->thread[1],
		e->thread[2], e->line);
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
		out_style(s->out, STYLE_STOP, "The GPU has faulted: %s (%u), first said by %s:", name, e.code, call);
	else
		out_style(s->out, STYLE_STOP, "%s has failed: %s (%u):", call, name, e.code);
	out_str(s->out, "\n");
	if (e.sticky && s->recorder)
		tell_fault(s, recorder_state(s->recorder), &e);
}
