/* SPDX-License-Identifier: Apache-2.0
 *
 * Breakpoint commands. For a kernel that the program has not shown yet no question is asked: the
 * breakpoint is pending.
 */
#include <inttypes.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/file.h"
#include "engine/breakpoints.h"
#include "shell/stops/break-place.h"
#include "shell/print/kernel-text.h"
#include "shell/commands/by-number.h"
#include "shell/live/breakpoints-text.h"
#include "shell/print/kernel-text.h"
#include "shell/live/process.h"
#include "engine/replay-device.h"
#include "engine/soft-settings.h"
#include "shell/script/kernel-said.h"
#include "shell/script/script.h"
#include "shell/trace/replay-run.h"
#include "shell/values/format-text.h"
#include "shell/values/kernel-args.h"
#include "shell/values/vars.h"
#include "base/words.h"
#include "state/state.h"

/* How a breakpoint is made. */
struct making {
	bool temporary;
	const char *message; /* NULL: it stops */
};
static struct err *add(struct session *s, const char *spec, struct making how);

/* --- catch --- */

const char cmd_catch_help[] =
	"`catch launch [KERNEL]` is a breakpoint at launches, `catch load` one where GPU code is\n"
	"loaded. `catch fault` stops where a call says that the device has faulted, as tsdb does\n"
	"unless `set stop-on-error off`.\n"
	"`catch error` stops the program where a GPU call has failed: any, those of a CALL of the driver\n"
	"(cuMemAlloc, a beginning is enough), or those with an error, by NAME or number. Calls\n"
	"that say that the device has faulted stop it anyway; in a replay, a breakpoint at the\n"
	"commands that had failed; `set stop-on-error fault` makes\n"
	"that the only ones again, `off` none.\n"
	"Examples: catch error\n"
	"          catch error cuMemAlloc\n"
	"          catch error CUDA_ERROR_OUT_OF_MEMORY\n";

/* What is caught by a breakpoint, or by a setting. *ret_done false: it is none of these. */
static struct err *catch_event(struct session *s, const struct cmd_args *a, bool *ret_done)
{
	const char *event = a->argc ? a->argv[0] : "";
	char *spec;
	struct err *e;

	*ret_done = true;
	if (!strcmp(event, "launch") && a->argc <= 2) {
		spec = a->argc > 1 ? xasprintf("kernel %s", a->argv[1]) : xstrdup("launch");
		e = add(s, spec, (struct making){0});
		free(spec);
		return e;
	}
	if (!strcmp(event, "load") && a->argc == 1)
		return add(s, "module_load", (struct making){0});
	if (!strcmp(event, "fault") && a->argc == 1) {
		s->engine.set.number[SET_STOP_ON_ERROR] = TSDB_ERRORS_STICKY;
		live_configure(&s->engine);
		out_str(s->out,
			"The program stops where a GPU call says that the device has faulted.\n");
		return NULL;
	}
	*ret_done = false;
	return NULL;
}

/* In a replay: calls that failed are commands with a result. */
static struct err *catch_recorded(struct session *s, const char *what)
{
	uint64_t code;
	char *spec;
	struct err *e;

	if (*what && !word_u64(what, &code))
		return err_cure(
			err_new(ERR_UNSUPPORTED,
				"a trace has numbers of errors, and neither their names nor the calls'"),
			"For example: catch error 2, or break alloc if result != 0");
	spec = *what ? xasprintf("command if result == %" PRIu64, code)
		     : xstrdup("command if result != 0");
	e = add(s, spec, (struct making){0});
	free(spec);
	return e;
}

struct err *cmd_catch(struct session *s, const struct cmd_args *a)
{
	const char *what = a->argc > 1 ? a->argv[1] : "";
	uint64_t code = 0;
	bool done;

	TRY(catch_event(s, a, &done));
	if (done)
		return NULL;
	if (!a->argc || a->argc > 2 || strcmp(a->argv[0], "error") ||
		strlen(what) >= sizeof(s->engine.live.catch_what))
		return err_cure(err_new(ERR_USAGE,
					"catch needs \"error\", \"launch\", \"load\" or \"fault\""),
			"For example: catch error, catch error cuMemAlloc, catch error 2");
	if (s->focus == FOCUS_REPLAY)
		return catch_recorded(s, what);
	if (*what && word_u64(what, &code))
		what = "";
	if (code > UINT32_MAX)
		return err_new(ERR_USAGE, "there is no error %s", a->argv[1]);
	memset(s->engine.live.catch_what, 0, sizeof(s->engine.live.catch_what));
	memcpy(s->engine.live.catch_what, what, strlen(what));
	s->engine.live.catch_code = (uint32_t)code;
	s->engine.set.number[SET_STOP_ON_ERROR] = TSDB_ERRORS_ALL;
	live_configure(&s->engine);
	out_printf(s->out, "The program stops where %s%s fails.\n",
		a->argc > 1 ? "a GPU call with " : "any GPU call", a->argc > 1 ? a->argv[1] : "");
	return NULL;
}

/* --- break, tbreak --- */

const char cmd_break_help[] =
	"Stops the program before the driver does a GPU command, and a replay right after it\n"
	"was submitted. What to stop at:\n"
	"  kernel GLOB   launches of a kernel; *, ? and [..] match; the qualified name without\n"
	"                arguments, its last part, or the mangled name; also of graphs: the\n"
	"                program stops at the graph's launch, a replay right before the node\n"
	"  mark GLOB     marks of the program, and where its ranges begin (NVTX, or\n"
	"                tracesmith/mark.h); `nvtx GLOB` is the same\n"
	"  KIND          launch, copy, fill, alloc, free, event_record, stream_wait, sync,\n"
	"                graph_launch, ...: see `help kinds`\n"
	"  CLASS         work, object, host, note: all kinds of a class\n"
	"  seq N         the command with this number\n"
	"  from FUNCTION, from FILE:LINE\n"
	"                any GPU command that the host, or Python, makes in a function, or in one\n"
	"                that it calls; or that has the line on its host stack\n"
	"  NAME          kernel NAME if there is such a kernel, else from NAME\n"
	"  FILE:LINE, LINE\n"
	"                a line of a kernel's source (nvcc -lineinfo): a replay on the software\n"
	"                GPU stops at it, a live program where the kernel is launched; else from\n"
	"                FILE:LINE. LINE alone: of the file that is shown\n"
	"  KERNEL:LINE   a line of the file that the kernel begins in\n"
	"  code KERNEL:LINE, ptx KERNEL:LINE\n"
	"                inside a launch of a replay on the software GPU: before the\n"
	"                instruction at a line of the PTX, which `disassemble` shows; of a HIP\n"
	"                kernel, at an address in its code object (0x1724), or +0x24 from the\n"
	"                kernel's first instruction on\n"
	"  code KERNEL:FILE:LINE\n"
	"                the same, a line of the source (nvcc -lineinfo, hipcc -gline-tables-only)\n"
	"Conditions inside a launch are over registers, of each thread: %tid.x == 3 && %r4 > 0;\n"
	"of a HIP kernel %v2 > 0 && %s4 == 1.\n"
	"Other conditions are over the command's fields (`help expressions`). Of a live program\n"
	"a place need not be known yet: the breakpoint is pending then, and one that was never\n"
	"hit says so at the program's end. In a replay everything is known.\n"
	"Examples: break kernel matmul if grid_x > 64 && stream == 2\n"
	"          break train_step\n"
	"          break blur.cu:25\n"
	"          break copy if dir == h2d && size >= 1M\n"
	"          break launch if pystack == \"Net.forward\"\n";
const char cmd_tbreak_help[] =
	"The same as `break`, but the breakpoint is deleted when it is hit.\n"
	"Examples: tbreak kernel matmul\n"
	"          tbreak launch if pyfunc == \"forward\"\n";

static struct err *add_here(
	struct session *s, struct breakpoint *bp, const struct break_place *place)
{
	char text[KERNEL_LINE_ROOM];
	struct buf at = BUF_INIT;
	unsigned line = 0;
	struct err *e = NULL;

	if (bp->line && !(bp->message && bp->file) && s->focus == FOCUS_REPLAY &&
		s->engine.trace.device && !s->engine.trace.device->soft)
		e = err_cure(
			err_new(ERR_UNSUPPORTED, "instruction-level access needs the software GPU"),
			"Use \"replay start --on soft\"");
	if (!e && bp->line)
		e = microscope_check_points(&s->engine, bp->id, &line);
	if (e) {
		breakpoints_delete(s->engine.breaks, bp);
		return e;
	}
	vars_set(s->vars, "bpnum", bp->id);
	breakpoint_place(bp, &at);
	out_printf(s->out, "%s %d at %s%s\n",
		bp->message	? "Dprintf"
		: bp->temporary ? "Temporary breakpoint"
				: "Breakpoint",
		bp->id, buf_cstr(&at), place->pending ? " (pending)" : "");
	buf_free(&at);
	if (place->note)
		out_printf(s->out, "%s\n", place->note);
	if (line && line != bp->line)
		out_printf(s->out, "Here that is %s%s.\n",
			kernel_stop(s)->unit == SOFT_CODE ? "" : "PTX line ",
			kernel_line(text, kernel_stop(s)->unit, line));
	else if (!line && bp->line && kernel_stop(s))
		out_str(s->out, "It is at no instruction of the launch under the microscope.\n");
	return live_rearm(&s->engine);
}

/* The kernels that a place without its condition means. False: it is not about launches alone. */
static bool launches_at(const char *what, size_t n, char **ret_glob)
{
	static const char kernel[] = "kernel ";
	const size_t k = strlen(kernel);

	while (n && strchr(" \t", what[n - 1]))
		n--;
	*ret_glob = n > k && !strncmp(what, kernel, k) ? xasprintf("%.*s", (int)(n - k), what + k)
						       : NULL;
	return *ret_glob || (n == strlen("launch") && !strncmp(what, "launch", n));
}

/* Adds a breakpoint whose condition may have names of the kernel's arguments. */
static struct err *add_spec(
	struct session *s, const char *spec, bool temporary, struct breakpoint **ret)
{
	const char *if_at = strstr(spec, " if "), *cond = if_at ? if_at + 4 : "";
	const size_t n = if_at ? (size_t)(if_at - spec) : 0;
	char *glob = NULL, *meant = NULL, *whole;
	struct err *e;

	cond += strspn(cond, " \t");
	if (!*cond || !launches_at(spec, n, &glob))
		return breakpoints_add(s->engine.breaks, spec, temporary, ret);
	e = kernel_args_condition(s, glob, cond, &meant);
	free(glob);
	TRY(e);
	whole = xasprintf("%.*s if %s", (int)n, spec, meant);
	e = breakpoints_add(s->engine.breaks, whole, temporary, ret);
	if (!e && strcmp(meant, cond) != 0)
		e = breakpoints_condition_shown(*ret, meant, cond);
	free(whole);
	free(meant);
	return e;
}

/* Deletes bp when it cannot be. */
static struct err *check_in_kernel(struct session *s, struct breakpoint *bp)
{
	const struct live *l = &s->engine.live;
	struct err *e = format_check_kernel(bp->message);

	if (!e && s->focus == FOCUS_LIVE && l->inf && !l->soft)
		e = err_cure(err_new(ERR_UNSUPPORTED,
				     "a dprintf inside a kernel needs the software GPU"),
			"Use \"run --gpu soft\", or record the program: its replay shows them");
	if (!e && (s->focus == FOCUS_LIVE || kernel_prints_coded(&s->engine)) &&
		(strlen(breakpoint_message_values(bp)) >= SOFT_TEXT ||
			(bp->cond && strlen(bp->cond) >= SOFT_TEXT)))
		e = err_new(
			ERR_LIMIT, "what a dprintf shows has at most %d characters", SOFT_TEXT - 1);
	if (e)
		breakpoints_delete(s->engine.breaks, bp);
	return e;
}

static struct err *add(struct session *s, const char *spec, struct making how)
{
	struct break_place place;
	struct breakpoint *bp;
	struct err *e;

	TRY(break_place(s, spec, how.message != NULL, &place));
	e = add_spec(s, place.spec, how.temporary, &bp);
	if (!e && how.message)
		bp->message = xstrdup(how.message);
	if (!e && breakpoint_is_in_kernel(bp))
		e = check_in_kernel(s, bp);
	if (!e)
		e = add_here(s, bp, &place);
	break_place_free(&place);
	return e;
}

struct err *cmd_break(struct session *s, const struct cmd_args *a)
{
	return add(s, a->rest, (struct making){0});
}

struct err *cmd_tbreak(struct session *s, const struct cmd_args *a)
{
	return add(s, a->rest, (struct making){.temporary = true});
}

/* Goes on to a place, or to an earlier stop; no breakpoint is left either way. */
static struct err *go_on_to(struct session *s, const char *place)
{
	struct breakpoint *bp;
	struct err *e;
	int id;

	TRY(add(s, place, (struct making){.temporary = true}));
	id = breakpoints_last_id(s->engine.breaks);
	e = session_execute(s, "continue");
	bp = breakpoints_by_id(s->engine.breaks, id);
	if (!bp)
		return e;
	breakpoints_delete(s->engine.breaks, bp);
	return e ? e : live_rearm(&s->engine);
}

const char cmd_until_help[] =
	"In a replay, goes forwards to the command with number SEQ without stopping at breakpoints.\n"
	"With a PLACE, as `break` takes it, goes on to there or to an earlier stop. Without, the\n"
	"same as `next`; inside a kernel with line numbers, goes on to a line behind the present\n"
	"one: past the turns of a loop.\n"
	"Examples: until 143\n"
	"          until kernel matmul\n";

struct err *cmd_until(struct session *s, const struct cmd_args *a)
{
	const bool replay = s->focus == FOCUS_REPLAY && s->engine.trace.reader;
	char *line;
	struct err *e;

	if (!*a->rest && replay && kernel_stop(s) && kernel_stop(s)->source_line)
		return kernel_until(s);
	if (!*a->rest)
		return session_execute(s, "next");
	if (!replay || !replay_is_position(a->rest))
		return go_on_to(s, a->rest);
	line = xasprintf("replay until %s", a->rest);
	e = session_execute(s, line);
	free(line);
	return e;
}

/* --- rbreak --- */

struct matching {
	regex_t re;
	char **names;
	unsigned n, cap;
};

static void add_matching(void *arg, const char *name)
{
	struct matching *m = arg;

	if (regexec(&m->re, name, 0, NULL, 0))
		return;
	for (unsigned i = 0; i < m->n; i++)
		if (!strcmp(m->names[i], name))
			return;
	MAKE_ROOM(m->names, m->n, m->cap);
	m->names[m->n++] = xstrdup(name);
}

const char cmd_rbreak_help[] =
	"Sets a breakpoint at each kernel that is known, of the program or of the trace, whose name\n"
	"matches an extended regular expression anywhere.\n"
	"Example: rbreak ^(mat|vec)mul\n";

struct err *cmd_rbreak(struct session *s, const struct cmd_args *a)
{
	struct matching m = {0};
	struct err *e;
	char why[128];
	int r = regcomp(&m.re, a->rest, REG_EXTENDED | REG_NOSUB);

	if (r) {
		regerror(r, &m.re, why, sizeof why);
		return err_cure(
			err_new(ERR_USAGE, "\"%s\" is no regular expression: %s", a->rest, why),
			"For example: rbreak ^mat");
	}
	e = break_each_kernel(s, add_matching, &m);
	for (unsigned i = 0; !e && i < m.n; i++) {
		char *spec = xasprintf("kernel %s", m.names[i]);

		e = add(s, spec, (struct making){0});
		free(spec);
	}
	if (!e && !m.n)
		e = err_cure(
			err_new(ERR_NOT_FOUND, "no kernel that is known matches \"%s\"", a->rest),
			"\"info kernels\" lists them; \"break kernel GLOB\" waits for kernels to come");
	for (unsigned i = 0; i < m.n; i++)
		free(m.names[i]);
	free(m.names);
	regfree(&m.re);
	return e;
}

/* --- dprintf --- */

const char cmd_dprintf_help[] =
	"Sets a breakpoint that shows a text, as `printf` does, and goes on. PLACE is as for\n"
	"`break`; expressions are about the command, or the launch, that is reached. `condition`\n"
	"and `ignore` are for it, too.\n"
	"At a line of a kernel (KERNEL:LINE, FILE:LINE; in replays, and live on the software GPU) its\n"
	"threads show the text, each with its own values: threadIdx.x, registers, with nvcc -G\n"
	"variables, as `probe` has them. Threads of a warp that say the same are one line; of a\n"
	"launch `set dprintf-lines` lines are shown, and the others are counted.\n"
	"Examples: dprintf kernel matmul,\"%d blocks, lr %g\\n\", grid_x, arg3.f32\n"
	"          dprintf copy,\"%lu bytes\\n\", size\n"
	"          dprintf matmul:25 if threadIdx.x == 0,\"%d: %f\\n\", blockIdx.x, f32[%rd4]\n";

/* Where the format begins, behind the comma; NULL: there is none. */
static const char *find_format(const char *text)
{
	for (const char *p = strchr(text, ','); p; p = strchr(p + 1, ','))
		if (p[1 + strspn(p + 1, " \t")] == '"')
			return p;
	return NULL;
}

struct err *cmd_dprintf(struct session *s, const struct cmd_args *a)
{
	const char *comma = find_format(a->rest), *format;
	char *place;
	struct err *e;

	if (!comma || comma == a->rest)
		return err_cure(err_new(ERR_USAGE, "dprintf needs a place, a comma and a format"),
			"For example: dprintf kernel matmul,\"%%d blocks\\n\", grid_x");
	format = comma + 1 + strspn(comma + 1, " \t");
	TRY(format_check(format));
	place = xasprintf("%.*s", (int)(comma - a->rest), a->rest);
	e = add(s, place, (struct making){.message = format});
	free(place);
	return e;
}

void break_say(void *session, struct breakpoint *bp)
{
	struct session *s = session;
	const struct sbt_cmd *c;
	struct buf b = BUF_INIT;
	struct err *e;

	if (breakpoint_is_in_kernel(bp) && kernel_stop(s)) {
		kernel_said(s, bp);
		return;
	}
	if (session_cmd(s, &c))
		vars_set(s->vars, "seq", (int64_t)c->seq);
	e = format_text(s, bp->message, &b);
	out_str(s->out, buf_cstr(&b));
	if (e)
		out_error(s->out, err_wrap(e, "dprintf %d", bp->id));
	out_flush(s->out);
	buf_free(&b);
}

const char cmd_advance_help[] =
	"Continues to a place, as `tbreak` takes it, or to an earlier stop.\n"
	"Examples: advance matmul\n"
	"          advance blur.cu:25\n";

struct err *cmd_advance(struct session *s, const struct cmd_args *a)
{
	return go_on_to(s, a->rest);
}

/* --- by number --- */

static struct err *no_breakpoint(const char *word)
{
	return err_cure(err_new(ERR_NOT_FOUND, "there is no breakpoint %s", word),
		"\"info breakpoints\" lists them");
}

/* Parses a breakpoint's number, or a variable such as $bpnum. */
static bool breakpoint_number(struct session *s, const char *word, uint64_t *ret)
{
	int64_t v;

	if (*word != '$')
		return word_u64(word, ret);
	if (!vars_get(s->vars, word + 1, &v) || v < 0)
		return false;
	*ret = (uint64_t)v;
	return true;
}

static struct err *find(struct session *s, const char *word, struct breakpoint **ret)
{
	uint64_t id;

	*ret = NULL;
	if (!breakpoint_number(s, word, &id))
		return err_cure(err_new(ERR_USAGE, "\"%s\" is no breakpoint number", word),
			"\"info breakpoints\" lists them");
	*ret = id <= INT32_MAX ? breakpoints_by_id(s->engine.breaks, (int)id) : NULL;
	return *ret ? NULL : no_breakpoint(word);
}

/* Calls fn for each breakpoint that the words name ("2", "3-5"); without words for all. */
static struct err *for_each(struct session *s, unsigned argc, char *const *argv,
	void (*fn)(struct session *s, struct breakpoint *bp))
{
	for (unsigned i = 0; i < argc; i++) {
		uint64_t first, last;
		struct breakpoint *bp;

		if (*argv[i] != '$' && strchr(argv[i], '-') && word_range(argv[i], &first, &last) &&
			last <= INT32_MAX) {
			unsigned found = 0;

			for (int id = (int)first;
				id <= (int)last && id <= breakpoints_last_id(s->engine.breaks);
				id++) {
				bp = breakpoints_by_id(s->engine.breaks, id);
				found += bp != NULL;
				if (bp)
					fn(s, bp);
			}
			if (!found)
				return no_breakpoint(argv[i]);
			continue;
		}
		TRY(find(s, argv[i], &bp));
		fn(s, bp);
	}
	for (unsigned i = 0; !argc && breakpoints_nth(s->engine.breaks, i);) {
		struct breakpoint *bp = breakpoints_nth(s->engine.breaks, i);

		fn(s, bp);
		i += breakpoints_nth(s->engine.breaks, i) == bp;
	}
	return live_rearm(&s->engine);
}

static void delete_one(struct session *s, struct breakpoint *bp)
{
	breakpoints_delete(s->engine.breaks, bp);
}

const char cmd_delete_help[] = "Deletes breakpoints by number (2, 3-5), or all of them.\n"
			       "Example: delete 1 3\n";

struct err *cmd_delete(struct session *s, const struct cmd_args *a)
{
	unsigned skip = a->argc && !strcmp(a->argv[0], "breakpoints");
	struct err *e;

	if (displays_command(s, a, &e) || checkpoints_command(s, a, &e))
		return e;
	if (a->argc == skip && breakpoints_nth(s->engine.breaks, 0) &&
		!session_confirm(s, "Delete all breakpoints?"))
		return NULL;
	return for_each(s, a->argc - skip, a->argv + skip, delete_one);
}

static void disable_one(struct session *s, struct breakpoint *bp)
{
	bp->enabled = false;
}

static void enable_one(struct session *s, struct breakpoint *bp)
{
	bp->enabled = true;
}

static void enable_delete(struct session *s, struct breakpoint *bp)
{
	bp->enabled = bp->temporary = true;
}

const char cmd_disable_help[] =
	"Switches breakpoints off, by number (2, 3-5), or all of them. `enable` brings them back.\n"
	"Example: disable 2\n";

struct err *cmd_disable(struct session *s, const struct cmd_args *a)
{
	unsigned skip = a->argc && !strcmp(a->argv[0], "breakpoints");
	struct err *e;

	if (displays_command(s, a, &e))
		return e;
	return for_each(s, a->argc - skip, a->argv + skip, disable_one);
}

const char cmd_enable_help[] =
	"Switches breakpoints on, by number (2, 3-5), or all of them. `enable delete N` also\n"
	"makes them temporary.\n"
	"Examples: enable 2\n"
	"          enable delete 2\n";

struct err *cmd_enable(struct session *s, const struct cmd_args *a)
{
	unsigned skip =
		a->argc && (!strcmp(a->argv[0], "breakpoints") || !strcmp(a->argv[0], "delete"));
	bool temporary = a->argc && !strcmp(a->argv[0], "delete");
	struct err *e;

	if (displays_command(s, a, &e))
		return e;
	if (a->argc && !strcmp(a->argv[0], "once"))
		return err_cure(err_new(ERR_UNSUPPORTED, "enable once is not in this version"),
			"Use \"enable delete N\" or \"tbreak\"");
	return for_each(s, a->argc - skip, a->argv + skip, temporary ? enable_delete : enable_one);
}

/* Splits "N rest" of a raw line. */
static struct err *number_and_rest(
	struct session *s, const char *text, struct breakpoint **ret, const char **ret_rest)
{
	size_t n = strcspn(text, " \t");
	char *word = strndup(text, n);
	struct err *e;

	BUG_ON(!word);
	e = n ? find(s, word, ret)
	      : err_cure(err_new(ERR_USAGE, "a breakpoint's number is missing"),
			"For example: condition 1 grid_x > 4");
	*ret_rest = text + n + strspn(text + n, " \t");
	free(word);
	return e;
}

const char cmd_condition_help[] =
	"Makes breakpoint N stop only when EXPR is not 0; without EXPR, always. `help\n"
	"expressions` has the grammar.\n"
	"Example: condition 1 block_x > 256\n";

struct err *cmd_condition(struct session *s, const struct cmd_args *a)
{
	struct breakpoint *bp;
	const char *rest;

	TRY(number_and_rest(s, a->rest, &bp, &rest));
	if (bp->size)
		return err_cure(
			err_new(ERR_UNSUPPORTED, "watchpoint %d takes no condition", bp->id),
			"`ignore %d N` passes it by", bp->id);
	TRY(kernel_args_set_condition(s, bp, rest));
	if (!*rest)
		out_printf(s->out, "Breakpoint %d now unconditional.\n", bp->id);
	return live_rearm(&s->engine);
}

const char cmd_ignore_help[] = "Passes breakpoint N by COUNT times before it stops again.\n"
			       "Example: ignore 1 3\n";

struct err *cmd_ignore(struct session *s, const struct cmd_args *a)
{
	struct breakpoint *bp;
	uint64_t count;

	if (a->argc != 2 || !word_u64(a->argv[1], &count))
		return err_cure(err_new(ERR_USAGE, "ignore needs a breakpoint and a count"),
			"For example: ignore 1 3");
	TRY(find(s, a->argv[0], &bp));
	bp->ignore = count;
	TRY(live_set_ignore(&s->engine, bp));
	if (count == 1)
		out_printf(s->out, "Will ignore the next hit of breakpoint %d.\n", bp->id);
	else if (count)
		out_printf(s->out, "Will ignore the next %" PRIu64 " hits of breakpoint %d.\n",
			count, bp->id);
	else
		out_printf(s->out, "Will stop next time breakpoint %d is reached.\n", bp->id);
	return NULL;
}

/* --- commands --- */

const char cmd_commands_help[] =
	"Reads commands, a line each, until a line `end`; they run whenever breakpoint N (2, 3-5,\n"
	"the newest without N) is hit. No lines: none any more. If the first line is `silent`,\n"
	"the stop is not shown. `if`, `while` and `commands` may be among the commands, each with\n"
	"an `end` of its own. What follows one that has moved the program is left out.\n"
	"Example:\n"
	"  commands 1\n"
	"  info args\n"
	"  continue\n"
	"  end\n";

/* The breakpoints that `commands` names: "2", "3-5", or none: the last one that was set. */
static struct err *named_breakpoints(
	struct session *s, const struct cmd_args *a, struct breakpoint ***ret, unsigned *ret_n)
{
	unsigned cap = 0;

	*ret = NULL;
	*ret_n = 0;
	for (unsigned i = 0; i < a->argc; i++) {
		struct breakpoint *bp;
		uint64_t first, last;

		if (*a->argv[i] == '$' || !strchr(a->argv[i], '-')) {
			TRY(find(s, a->argv[i], &bp));
			MAKE_ROOM(*ret, *ret_n, cap);
			(*ret)[(*ret_n)++] = bp;
			continue;
		}
		if (!word_range(a->argv[i], &first, &last))
			return no_breakpoint(a->argv[i]);
		for (unsigned k = 0; (bp = breakpoints_nth(s->engine.breaks, k)) != NULL; k++) {
			if ((uint64_t)bp->id < first || (uint64_t)bp->id > last)
				continue;
			MAKE_ROOM(*ret, *ret_n, cap);
			(*ret)[(*ret_n)++] = bp;
		}
		if (!*ret_n)
			return no_breakpoint(a->argv[i]);
	}
	if (a->argc)
		return NULL;
	MAKE_ROOM(*ret, *ret_n, cap);
	(*ret)[0] = breakpoints_by_id(s->engine.breaks, breakpoints_last_id(s->engine.breaks));
	*ret_n = (*ret)[0] != NULL;
	return *ret_n ? NULL
		      : err_cure(err_new(ERR_STATE, "there is no breakpoint"),
				"Set one with \"break\"");
}

/* The lines of a block, indented, without empty ones; NULL: there are none. */
static char *tidy(const struct session *s, const char *text)
{
	struct buf b = BUF_INIT, lines = BUF_INIT;

	script_print(s, text, 0, &lines);
	for (const char *p = buf_cstr(&lines); *p;) {
		size_t n = strcspn(p, "\n");

		if (n)
			buf_printf(&b, "%.*s\n", (int)n, p);
		p += n + (p[n] == '\n');
	}
	buf_free(&lines);
	return b.len ? buf_steal(&b) : NULL;
}

struct err *cmd_commands(struct session *s, const struct cmd_args *a)
{
	struct breakpoint **bps;
	struct script_block b;
	unsigned n;
	struct err *e = named_breakpoints(s, a, &bps, &n);

	if (!e && s->interactive)
		out_printf(s->out,
			"Commands for breakpoint%s %d%s, one a line; \"end\" ends them.\n",
			n > 1 ? "s" : "", bps[0]->id, n > 1 ? " and others" : "");
	if (e)
		e = err_first(e, script_skip(s, SCRIPT_COMMANDS));
	else
		e = script_read(s, "commands", SCRIPT_COMMANDS, &b);
	if (!e) {
		for (unsigned i = 0; i < n; i++) {
			free(bps[i]->commands);
			bps[i]->commands = tidy(s, b.text);
		}
		script_block_free(&b);
	}
	free(bps);
	return e;
}

/* --- info, save --- */

const char cmd_info_breakpoints_help[] =
	"Shows breakpoints: number, whether hits delete it, whether it is on, hits so far, where.\n"
	"Example: info breakpoints\n";

struct err *cmd_info_breakpoints(struct session *s, const struct cmd_args *a)
{
	struct buf b = BUF_INIT;

	if (s->engine.live.inf)
		breakpoints_collect(s->engine.breaks, live_control(&s->engine));
	if (a->json)
		breakpoints_json(s->engine.breaks, &b);
	else
		breakpoints_print(s->engine.breaks, &b);
	if (a->json || !breakpoints_nth(s->engine.breaks, 0))
		out_str(s->out, buf_cstr(&b));
	else
		out_table(s->out, &b);
	buf_free(&b);
	return NULL;
}

const char cmd_save_breakpoints_help[] =
	"Writes all breakpoints into FILE, as commands for `source FILE`.\n"
	"Example: save breakpoints stops.tsdb\n";

struct err *cmd_save_breakpoints(struct session *s, const struct cmd_args *a)
{
	struct buf b = BUF_INIT;
	struct err *e;

	if (a->argc != 1)
		return err_cure(err_new(ERR_USAGE, "save breakpoints needs a file name"),
			"For example: save breakpoints my.tsdb");
	breakpoints_script(s->engine.breaks, &b);
	e = file_write(a->argv[0], b.data, b.len);
	buf_free(&b);
	return e;
}
