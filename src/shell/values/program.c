/* SPDX-License-Identifier: Apache-2.0
 *
 * The live program's names, see program.h.
 */
#include <ctype.h>
#include <inttypes.h>
#include <string.h>
#include "attach/attach.h"
#include "attach/program-names.h"
#include "engine/settings.h"
#include "shell/print/stack-view.h"
#include "shell/values/value-text.h"
#include "shell/values/program.h"
#include "shell/values/value.h"
#include "shell/values/vars.h"
#include "shell/source/source-view.h"
#include "state/state.h"

static bool is_stopped(const struct session *s)
{
	struct inferior *inf = s->engine.live.inf;

	return s->focus != FOCUS_REPLAY && inf && inferior_alive(inf) && !inferior_running(inf);
}

/* The number, among all native frames, of the selected one. */
static unsigned selected_frame(struct session *s)
{
	const unsigned selected = s->engine.live.frame;
	struct stack st;
	unsigned n = selected;
	struct err *e = stack_of_thread(s, s->engine.live.tid, &st);

	if (e) {
		err_free(e);
		return selected;
	}
	if (selected < st.n)
		n = st.frames[selected].number;
	stack_free(&st);
	return n;
}

static struct program_place place(struct session *s)
{
	return (struct program_place){.inf = s->engine.live.inf,
		.l = vars_lang(s->vars),
		.tid = s->engine.live.tid,
		.frame = selected_frame(s)};
}

struct err *program_value(
	struct session *s, const char *name, struct lang_value *ret, bool *ret_found)
{
	struct program_place p;

	*ret_found = false;
	if (!is_stopped(s))
		return NULL;
	p = place(s);
	return program_variable(&p, name, ret, ret_found);
}

/* No frame was chosen: the user looks at the line that the stop has shown, which may be the
 * caller's of a function that nvcc or the toolkit made. */
struct err *program_shown_value(
	struct session *s, const char *name, struct lang_value *ret, bool *ret_found)
{
	struct program_place p;

	*ret_found = false;
	if (!is_stopped(s) || s->engine.live.frame)
		return NULL;
	p = place(s);
	return source_live_frame(s, &p.frame) ? program_variable(&p, name, ret, ret_found) : NULL;
}

struct err *program_library_value(
	struct session *s, const char *name, struct lang_value *ret, bool *ret_found)
{
	struct program_place p;

	*ret_found = false;
	if (!is_stopped(s))
		return NULL;
	p = place(s);
	return program_library_variable(&p, name, ret, ret_found);
}

/* tsdb's own short names mean the same in every program: half, f16, u8, ... */
static bool is_ours(const char *name)
{
	return !strcmp(name, "half") || !strcmp(name, "bf16") ||
	       (strchr("fsux", *name) && isdigit((unsigned char)name[1]) && strlen(name) <= 3);
}

const struct lang_type *program_type_named(struct session *s, const char *name)
{
	struct program_place p;

	if (!is_stopped(s) || is_ours(name))
		return NULL;
	p = place(s);
	return program_type(&p, name);
}

static bool tell_allocation(struct session *s, uint64_t addr, struct buf *out)
{
	const struct state *st;
	struct state_alloc al;
	struct err *e = session_state(s, &st);
	const bool known = !e && state_alloc_at(st, addr, &al);

	err_free(e);
	if (!known)
		return false;
	buf_str(out, " <");
	if (addr != al.addr)
		buf_printf(out, "+%" PRIu64 " in ", addr - al.addr);
	buf_printf(out, "allocation of %" PRIu64 " bytes (#%" PRIu64 ")>", al.size, al.alloc_seq);
	return true;
}

void program_tell_symbol(void *session, uint64_t addr, struct buf *out)
{
	struct session *s = session;
	const struct program_place p = {.inf = s->engine.live.inf};

	if (addr && is_stopped(s))
		program_describe(&p, addr, out);
}

void program_tell_address(struct session *s, uint64_t addr, struct buf *out)
{
	if (addr && !tell_allocation(s, addr, out))
		program_tell_symbol(s, addr, out);
}

/* --- locals --- */

struct err *program_list_locals(
	struct session *s, unsigned frame, struct listing *l, bool *ret_known)
{
	struct shown_list in = {s, l};
	struct program_place p = place(s);

	p.frame = frame;
	return program_locals(&p, shown_list_add, &in, ret_known);
}

struct err *program_print_locals(struct session *s, unsigned frame, struct buf *out)
{
	struct listing l = listing_begin(s, false, &shown_value_object, NULL, shown_value_text);
	bool known = false;
	struct err *e = program_list_locals(s, frame, &l, &known);

	if (!e)
		buf_str(out, l.n     ? buf_cstr(&l.b)
			     : known ? "No locals.\n"
				     : "No symbol table info available.\n");
	buf_free(&l.b);
	return e;
}
