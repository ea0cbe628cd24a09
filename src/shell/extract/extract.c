/* SPDX-License-Identifier: Apache-2.0
 *
 * `tsdb extract FILE --kernel GLOB -o DIR`: writes one launch of a trace as an independent C
 * program: its code, the memory that its parameters point into, and that memory's contents
 * afterwards. The contents come from a replay on a device, not from the recording, which has them
 * only at the window's ends.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/file.h"
#include "replay/plan.h"
#include "shell/extract/extract.h"
#include "engine/replay-device.h"
#include "shell/tools/tool-options.h"
#include "shell/tools/tools.h"
#include "shell/trace/trace.h"
#include "base/words.h"

#define USAGE                                                                                      \
	"Use: tsdb extract FILE --kernel GLOB [--nth K] [--graph SEQ] -o DIR [--all] [--window N] [--on auto|soft|real]"

static struct err *usage(const char *fmt, const char *word)
{
	return err_cure(err_new(ERR_USAGE, fmt, word), USAGE);
}

/* --- options --- */

static struct err *take_value(struct extract *x, const char *name, const char *value)
{
	if (!strcmp(name, "--on"))
		return replay_on_parse(value, &x->choice.on);
	if (!strcmp(name, "--kernel"))
		x->glob = value;
	else if (!strcmp(name, "-o"))
		x->dir = value;
	else if (!strcmp(name, "--nth"))
		return word_u64(value, &x->nth) && x->nth
			       ? NULL
			       : usage("\"%s\" is no count of launches, from 1", value);
	else if (!strcmp(name, "--graph"))
		return word_u64(*value == '#' ? value + 1 : value, &x->graph) && x->graph
			       ? NULL
			       : usage("\"%s\" is no graph launch's number", value);
	else
		return tool_option_window(value, USAGE, &x->window);
	return NULL;
}

static struct err *take_options(struct extract *x, int argc, char **argv)
{
	static const char *const valued[] = {
		"--kernel", "--nth", "--graph", "-o", "--window", "--on", NULL};

	for (int i = 0; i < argc; i++) {
		const char *w = argv[i], *value,
			   *name = tool_option_valued(valued, argc, argv, &i, &value);

		if (name && !value)
			return usage("%s needs a value", name);
		if (name)
			TRY(take_value(x, name, value));
		else if (!strcmp(w, "--all"))
			x->all = true;
		else if (*w == '-' || x->file)
			return usage("extract has no option %s", w);
		else
			x->file = w;
	}
	if (!x->file || !x->glob || !x->dir)
		return usage("extract needs %s", !x->file   ? "a trace"
						 : !x->glob ? "--kernel"
							    : "-o DIR");
	if (x->choice.on == REPLAY_ON_NONE)
		return usage("--on none executes nothing%s", "");
	return NULL;
}

/* --- files --- */

char *extract_path(const struct extract *x, const char *name)
{
	return xasprintf("%s/%s", x->part, name);
}

struct err *extract_write(const struct extract *x, const char *name, const void *p, size_t n)
{
	char *path = extract_path(x, name);
	struct err *e = file_write(path, p, n);

	free(path);
	return e;
}

/* Makes the folder under a temporary name; it gets its own name when it is complete. */
static struct err *begin_dir(struct extract *x)
{
	size_t n = strlen(x->dir);

	while (n > 1 && x->dir[n - 1] == '/')
		n--;
	x->part = xasprintf("%.*s.part-XXXXXX", (int)n, x->dir);
	if (mkdtemp(x->part))
		return NULL;
	struct err *e = err_sys(errno, "cannot make the folder %s", x->dir);
	free(x->part);
	x->part = NULL;
	return e;
}

/* The user may have edited the files of an earlier extract, so only an empty folder is replaced. */
static struct err *end_dir(struct extract *x, struct err *e)
{
	if (x->part && !e && rename(x->part, x->dir))
		e = errno == ENOTEMPTY || errno == EEXIST
			    ? err_cure(err_new(ERR_STATE, "%s is there already", x->dir),
				      "Name another folder, or remove it")
			    : err_sys(errno, "cannot make the folder %s", x->dir);
	if (x->part && e)
		file_remove_all(x->part);
	free(x->part);
	x->part = NULL;
	return e;
}

/* --- the launch --- */

static struct err *take_launch(struct extract *x)
{
	const struct sbt_cmd *c = NULL;
	struct sbt_cursor *cursor;
	struct err *e;

	TRY(sbt_cursor_open(&cursor, x->s->engine.trace.reader));
	e = sbt_cursor_seek(cursor, x->seq);
	if (!e)
		e = sbt_cursor_next(cursor, &c);
	if (!e && (!c || c->seq != x->seq || c->kind != SBT_LAUNCH))
		e = err_new(ERR_BAD_TRACE, "#%" PRIu64 " cannot be read", x->seq);
	if (!e) {
		x->launch = c->u.launch;
		buf_add(&x->args, c->u.launch.args.len ? c->u.launch.args.p : "",
			c->u.launch.args.len);
		x->launch.args = (struct sbt_blob){0};
	}
	sbt_cursor_close(cursor);
	return e;
}

bool extract_plain(const char *p)
{
	return *p &&
	       strspn(p, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_$.") ==
		       strlen(p);
}

bool extract_param(const struct extract *x, uint32_t i, uint32_t *ret_offset, uint32_t *ret_size)
{
	if ((uint64_t)i * 8 + 8 > x->params.len)
		return false;
	memcpy(ret_offset, x->params.data + i * 8, 4);
	memcpy(ret_size, x->params.data + i * 8 + 4, 4);
	return *ret_size && *ret_offset <= x->args.len && *ret_size <= x->args.len - *ret_offset;
}

static struct err *take_kernel(struct extract *x, const struct state *st)
{
	struct state_module m;
	struct state_kernel k;
	uint32_t offset, size;

	if (!state_kernel_by_id(st, (uint32_t)x->launch.kernel, &k) || !extract_plain(k.name))
		return err_new(
			ERR_INCOMPLETE, "the trace does not name the kernel of #%" PRIu64, x->seq);
	buf_str(&x->name, k.name);
	buf_add(&x->params, k.params.len ? k.params.p : "", k.params.len);
	x->module = k.module;
	x->code_hash = k.code_hash;
	for (unsigned i = 0; k.module != SBT_NO_ID && state_module(st, i, &m); i++)
		if (m.id == k.module && m.code_hash)
			x->code_hash = m.code_hash;
	for (uint32_t i = 0; i < k.params.len / 8; i++)
		if (!extract_param(x, i, &offset, &size))
			return err_new(ERR_INCOMPLETE,
				"#%" PRIu64 " %s: its parameters were not recorded", x->seq,
				k.name);
	return NULL;
}

/* Finds PTX in the trace that defines the kernel, if its own code is machine code or not known. */
static struct err *find_ptx(struct extract *x)
{
	struct sbt_reader *r = x->s->engine.trace.reader;
	char *entry = xasprintf(".entry %s(", buf_cstr(&x->name));
	uint64_t hash;
	enum code_kind kind;
	bool found = false;
	struct err *e = NULL;

	for (unsigned i = 0; !e && !found && sbt_reader_code_at(r, i, &hash, &kind); i++) {
		if (kind != CODE_PTX)
			continue;
		buf_clear(&x->code);
		e = sbt_reader_code(r, hash, &x->code, &x->kind);
		found = !e && strstr(buf_cstr(&x->code), entry);
	}
	free(entry);
	if (!e && !found)
		e = err_cure(err_new(ERR_INCOMPLETE, "the trace does not have the code of %s",
				     buf_cstr(&x->name)),
			"Record with `set capture code on`");
	return e;
}

static struct err *take_code(struct extract *x)
{
	struct err *e = x->code_hash ? sbt_reader_code(x->s->engine.trace.reader, x->code_hash,
					       &x->code, &x->kind)
				     : NULL;

	err_free(e);
	if (e || !x->code_hash || (x->kind != CODE_PTX && x->s->engine.trace.device->soft))
		TRY(find_ptx(x));
	while (x->kind == CODE_PTX && x->code.len && !x->code.data[x->code.len - 1])
		x->code.len--;
	return extract_write(
		x, x->kind == CODE_PTX ? "kernel.ptx" : "kernel.cubin", x->code.data, x->code.len);
}

/* --- all of it --- */

/* Finds the nth kernel node that matches glob in the graph launched by #SEQ. */
static struct err *find_node(struct extract *x, const struct state *st, uint32_t graph)
{
	struct state_node n;
	struct state_kernel k;
	struct sbt_cmd c;
	uint64_t seen = 0;

	for (unsigned i = 0; state_graph_node(st, graph, i, &n); i++) {
		if (n.type != SBT_NODE_KERNEL || !state_kernel_by_id(st, n.kernel, &k) ||
			!sbt_kernel_glob(x->glob, k.name, k.short_name) || ++seen != x->nth)
			continue;
		uint64_t *aligned = xcalloc(n.payload.len / 8 + 1, 8);

		if (n.payload.len)
			memcpy(aligned, n.payload.p, n.payload.len);
		const bool good = sbt_unpack(&c, aligned, n.payload.len) && c.kind == SBT_LAUNCH;
		if (good) {
			x->launch = c.u.launch;
			buf_add(&x->args, c.u.launch.args.len ? c.u.launch.args.p : "",
				c.u.launch.args.len);
			x->launch.args = (struct sbt_blob){0};
			x->launch.kernel = n.kernel;
			x->node = n.node;
		}
		free(aligned);
		return good ? NULL
			    : err_new(ERR_INCOMPLETE,
				      "what node %u of #%" PRIu64 " does was not recorded", n.node,
				      x->graph);
	}
	return err_new(ERR_NOT_FOUND,
		"the graph of #%" PRIu64 " has %" PRIu64 " kernel node%s like %s, not %" PRIu64,
		x->graph, seen, seen == 1 ? "" : "s", x->glob, x->nth);
}

static struct err *find_in_graph(struct extract *x)
{
	struct replay_device *rd = x->s->engine.trace.device;
	const struct sbt_cmd *c = NULL;
	struct sbt_cursor *cursor;
	struct state *st;
	struct err *e;

	if (x->graph < rd->first || x->graph > rd->last)
		return err_new(ERR_NOT_FOUND,
			"#%" PRIu64 " is outside the window #%" PRIu64 " to #%" PRIu64, x->graph,
			rd->first, rd->last);
	TRY(sbt_cursor_open(&cursor, x->s->engine.trace.reader));
	e = sbt_cursor_seek(cursor, x->graph);
	if (!e)
		e = sbt_cursor_next(cursor, &c);
	if (!e && (!c || c->seq != x->graph || c->kind != SBT_GRAPH_LAUNCH))
		e = err_new(ERR_NOT_FOUND, "#%" PRIu64 " is not a graph launch", x->graph);
	x->seq = x->graph;
	const uint32_t exec = e ? 0 : (uint32_t)c->u.graph_launch.exec;
	sbt_cursor_close(cursor);
	TRY(e);
	TRY(state_at(&st, x->s->engine.trace.reader, x->seq - 1));
	e = find_node(x, st, exec);
	state_free(st);
	return e;
}

static struct err *find_launch(struct extract *x)
{
	struct replay_device *rd = x->s->engine.trace.device;
	struct plan plan;
	struct err *e =
		plan_kernel(&plan, x->s->engine.trace.reader, rd->first, rd->last, x->glob, x->nth);

	if (e)
		return err_cure(e,
			"A launch inside a graph is found with --graph SEQ, the number of the graph launch");
	x->seq = plan.to;
	plan_free(&plan);
	return take_launch(x);
}

static struct err *fill_dir(struct extract *x)
{
	TRY(take_code(x));
	TRY(extract_save_memory(x, x->seq - 1, false));
	TRY(extract_save_memory(x, x->seq, true));
	return extract_program(x);
}

static struct err *extract(struct extract *x)
{
	struct state *st;
	struct err *e;

	TRY(trace_open(x->s, x->file));
	TRY(engine_replay(&x->s->engine, &x->choice));
	TRY(x->graph ? find_in_graph(x) : find_launch(x));
	TRY(state_at(&st, x->s->engine.trace.reader, x->seq - 1));
	e = take_kernel(x, st);
	if (!e)
		e = extract_find_memory(x, st);
	state_free(st);
	if (e)
		return e;
	TRY(extract_find_globals(x));
	TRY(begin_dir(x));
	return end_dir(x, fill_dir(x));
}

int tool_extract(struct session *s, int argc, char **argv)
{
	struct extract x = {.s = s, .choice = replay_choice_default(&s->engine), .nth = 1};
	struct err *e = take_options(&x, argc, argv);
	uint64_t bytes = 0;
	char size[32];

	x.choice.strict = true;
	x.choice.window = x.window ? (unsigned)x.window - 1 : 0;
	if (!e)
		e = extract(&x);
	for (size_t i = 0; i < x.npieces; i++)
		bytes += x.pieces[i].size;
	if (!e)
		out_printf(s->out,
			"#%" PRIu64
			" %s with %zu allocation%s, %s, is in %s; `make -C %s check` runs it.\n",
			x.seq, buf_cstr(&x.name), x.npieces, x.npieces == 1 ? "" : "s",
			words_bytes(size, sizeof size, bytes), x.dir, x.dir);
	buf_free(&x.args);
	buf_free(&x.name);
	buf_free(&x.params);
	buf_free(&x.code);
	extract_free_memory(&x);
	if (e)
		out_error(s->out, e);
	return e ? 1 : 0;
}
