/* SPDX-License-Identifier: Apache-2.0
 *
 * One launch of a trace as a C program, see extract.h: finds the launch and its code. The contents
 * of memory come from a replay on a device, not from the recording, which has them only at the
 * window's ends.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/file.h"
#include "engine/extract/extract-private.h"
#include "gpucode/amd-object.h"
#include "replay/plan.h"
#include "state/args.h"
#include "sbt/kernel-name.h"
#include "sbt/cmd-pack.h"

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
	size_t n = strlen(x->o.dir);

	while (n > 1 && x->o.dir[n - 1] == '/')
		n--;
	x->part = xasprintf("%.*s.part-XXXXXX", (int)n, x->o.dir);
	if (mkdtemp(x->part))
		return NULL;
	struct err *e = err_sys(errno, "cannot make the folder %s", x->o.dir);
	free(x->part);
	x->part = NULL;
	return e;
}

/* The user may have edited the files of an earlier extract, so only an empty folder is replaced. */
static struct err *end_dir(struct extract *x, struct err *e)
{
	if (x->part && !e && rename(x->part, x->o.dir))
		e = errno == ENOTEMPTY || errno == EEXIST
			    ? err_cure(err_new(ERR_STATE, "%s is there already", x->o.dir),
				      "Name another folder, or remove it")
			    : err_sys(errno, "cannot make the folder %s", x->o.dir);
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

	TRY(sbt_cursor_open(&cursor, x->en->trace.reader));
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

/* The program that is written makes no textures. A handle that lies in memory is not found: that
 * program's own check fails then. */
static struct err *refuse_textures(struct extract *x, const struct state *st)
{
	const struct sbt_blob args = {x->args.data, x->args.len},
			      params = {x->params.data, x->params.len};
	struct args_words w = args_words(args, params);
	struct state_texture t;
	uint64_t v;

	while (args_words_any(&w, &v))
		if (state_texture_named(st, v, &(unsigned){0}, &t))
			return err_cure(
				err_new(ERR_UNSUPPORTED,
					"#%" PRIu64 " %s: 0x%" PRIx64
					" among its parameters is a texture or surface object, which cannot be extracted",
					x->seq, buf_cstr(&x->name), v),
				"`replay enter` goes through it");
	return NULL;
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
	return refuse_textures(x, st);
}

/* Finds PTX in the trace that defines the kernel, if its own code is machine code or not known. */
static struct err *find_ptx(struct extract *x)
{
	struct sbt_reader *r = x->en->trace.reader;
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

/* The code object says how many bytes of arguments HIP takes, its own among them. */
static struct err *take_kernarg(struct extract *x)
{
	struct amd_kernel k;

	if (!x->code.len || x->kind != CODE_AMD_OBJECT ||
		!amd_object_kernel(x->code.data, x->code.len, buf_cstr(&x->name), &k, NULL, 0))
		return err_cure(err_new(ERR_INCOMPLETE, "the trace does not have the code of %s",
					buf_cstr(&x->name)),
			"Record with `set capture code on`");
	x->kernarg = k.kernarg_bytes <= UINT16_MAX ? k.kernarg_bytes : 0;
	return NULL;
}

/* Of HIP, launches whose grid is counted in work-items have another call. */
static struct err *refuse_last(struct extract *x)
{
	if (!x->launch.last_x && !x->launch.last_y && !x->launch.last_z)
		return NULL;
	return err_cure(
		err_new(ERR_UNSUPPORTED,
			"#%" PRIu64
			" %s has a last workgroup that is smaller than the others: extract does not write such launches",
			x->seq, buf_cstr(&x->name)),
		"`replay enter` goes through it");
}

static struct err *take_code(struct extract *x)
{
	struct err *e = x->code_hash ? sbt_reader_code(x->en->trace.reader, x->code_hash, &x->code,
					       &x->kind)
				     : NULL;

	err_free(e);
	if (x->words == &extract_hip)
		TRY(take_kernarg(x));
	else if (e || !x->code_hash || (x->kind != CODE_PTX && x->en->trace.device->soft))
		TRY(find_ptx(x));
	while (x->kind == CODE_PTX && x->code.len && !x->code.data[x->code.len - 1])
		x->code.len--;
	return extract_write(x, extract_code_file(x), x->code.data, x->code.len);
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
			!sbt_kernel_glob(x->o.kernel, k.name, k.short_name) || ++seen != x->o.nth)
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
				      x->o.graph);
	}
	return err_new(ERR_NOT_FOUND,
		"the graph of #%" PRIu64 " has %" PRIu64 " kernel node%s like %s, not %" PRIu64,
		x->o.graph, seen, seen == 1 ? "" : "s", x->o.kernel, x->o.nth);
}

static struct err *find_in_graph(struct extract *x)
{
	struct replay_device *rd = x->en->trace.device;
	const struct sbt_cmd *c = NULL;
	struct sbt_cursor *cursor;
	struct state *st;
	struct err *e;

	if (x->o.graph < rd->first || x->o.graph > rd->last)
		return err_new(ERR_NOT_FOUND,
			"#%" PRIu64 " is outside the window #%" PRIu64 " to #%" PRIu64, x->o.graph,
			rd->first, rd->last);
	TRY(sbt_cursor_open(&cursor, x->en->trace.reader));
	e = sbt_cursor_seek(cursor, x->o.graph);
	if (!e)
		e = sbt_cursor_next(cursor, &c);
	if (!e && (!c || c->seq != x->o.graph || c->kind != SBT_GRAPH_LAUNCH))
		e = err_new(ERR_NOT_FOUND, "#%" PRIu64 " is not a graph launch", x->o.graph);
	x->seq = x->o.graph;
	const uint32_t exec = e ? 0 : (uint32_t)c->u.graph_launch.exec;
	sbt_cursor_close(cursor);
	TRY(e);
	TRY(state_at(&st, x->en->trace.reader, x->seq - 1));
	e = find_node(x, st, exec);
	state_free(st);
	return e;
}

static struct err *find_launch(struct extract *x)
{
	struct replay_device *rd = x->en->trace.device;
	struct plan plan;
	struct err *e =
		plan_kernel(&plan, x->en->trace.reader, rd->first, rd->last, x->o.kernel, x->o.nth);

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

	TRY(x->o.graph ? find_in_graph(x) : find_launch(x));
	TRY(state_at(&st, x->en->trace.reader, x->seq - 1));
	e = take_kernel(x, st);
	if (!e)
		e = refuse_last(x);
	if (!e)
		e = extract_find_memory(x, st);
	state_free(st);
	if (e)
		return e;
	TRY(extract_find_globals(x));
	TRY(begin_dir(x));
	return end_dir(x, fill_dir(x));
}

struct err *extract_run(
	struct engine *en, const struct extract_options *o, struct extract_result *ret)
{
	struct extract x = {.en = en, .o = *o};
	struct err *e;

	*ret = (struct extract_result){0};
	if (!en->trace.device)
		return err_cure(err_new(ERR_STATE, "no replay on a device is on"),
			"Use \"replay start\" with a device");
	x.words = en->trace.device->hip ? &extract_hip : &extract_cuda;
	x.o.nth += !x.o.nth;
	e = extract(&x);
	if (!e) {
		ret->seq = x.seq;
		ret->kernel = xstrdup(buf_cstr(&x.name));
		ret->allocations = x.npieces;
	}
	for (size_t i = 0; !e && i < x.npieces; i++)
		ret->bytes += x.pieces[i].size;
	buf_free(&x.args);
	buf_free(&x.name);
	buf_free(&x.params);
	buf_free(&x.code);
	extract_free_memory(&x);
	return e;
}

void extract_free(struct extract_result *r)
{
	free(r->kernel);
	r->kernel = NULL;
}
