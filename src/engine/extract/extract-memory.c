/* SPDX-License-Identifier: Apache-2.0
 *
 * The memory that an extracted launch could reach: allocations that its parameters point into, its
 * module's globals, and their contents before and after it, read from a replay. The surprise:
 * pointers in memory are not followed, because they look like numbers; `all` takes every
 * allocation.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/file.h"
#include "sbt/memory.h"
#include "engine/extract/extract-private.h"

#define PIECE (1u << 20) /* bytes read from the device at once */

/* --- pieces --- */

static size_t place_of(const struct extract *x, uint64_t addr)
{
	size_t at = 0;

	while (at < x->npieces && x->pieces[at].addr < addr)
		at++;
	return at;
}

/* Takes name. */
static void add_piece(
	struct extract *x, enum extract_where where, uint64_t addr, uint64_t size, char *name)
{
	const size_t at = place_of(x, addr);

	if (!size || (at < x->npieces && x->pieces[at].addr == addr)) {
		free(name);
		return;
	}
	x->pieces = xrealloc(x->pieces, (x->npieces + 1) * sizeof *x->pieces);
	memmove(x->pieces + at + 1, x->pieces + at, (x->npieces - at) * sizeof *x->pieces);
	x->pieces[at] =
		(struct extract_piece){.where = where, .addr = addr, .size = size, .name = name};
	x->npieces++;
}

const struct extract_piece *extract_piece_at(const struct extract *x, uint64_t addr)
{
	for (size_t i = 0; i < x->npieces; i++)
		if (addr >= x->pieces[i].addr && addr - x->pieces[i].addr < x->pieces[i].size)
			return &x->pieces[i];
	return NULL;
}

void extract_free_memory(struct extract *x)
{
	for (size_t i = 0; i < x->npieces; i++)
		free(x->pieces[i].name);
	free(x->pieces);
}

/* --- allocations --- */

/* Managed memory recorded on a GPU can be placed like device memory; the software GPU's is the
 * program's own. */
static void add_alloc(struct extract *x, const struct state_alloc *a)
{
	const bool host = a->mem == SBT_MEM_PINNED || a->mem == SBT_MEM_REGISTERED ||
			  (a->mem == SBT_MEM_MANAGED && x->en->trace.device->soft);

	add_piece(x, host ? EXTRACT_HOST : EXTRACT_DEVICE, a->addr, a->size, NULL);
}

struct err *extract_find_memory(struct extract *x, const struct state *st)
{
	struct state_alloc a;
	uint64_t v;

	for (unsigned i = 0; x->o.all && state_alloc(st, i, &a); i++)
		add_alloc(x, &a);
	for (size_t i = 0; i + 8 <= x->args.len;
		i +=
		8) { /* pointers are aligned in the parameter buffer, those in structures too */
		memcpy(&v, x->args.data + i, 8);
		if (v > 0xffff && state_alloc_at(st, v, &a))
			add_alloc(x, &a);
	}
	return NULL;
}

/* --- globals: they lie elsewhere in another process, and the kernel would begin with what its code
 * says --- */

static struct err *add_global(struct extract *x, uint32_t module, const struct sbt_blob *name,
	uint64_t addr, uint64_t size)
{
	if (x->module == SBT_NO_ID || module != x->module || !addr)
		return NULL;
	char *text = xmalloc(name->len + 1);

	if (name->len)
		memcpy(text, name->p, name->len);
	text[name->len] = 0;
	if (strlen(text) != name->len || !extract_plain(text)) {
		free(text);
		return err_new(ERR_UNSUPPORTED,
			"the module of %s has a global whose name is not an assembler's",
			buf_cstr(&x->name));
	}
	add_piece(x, EXTRACT_GLOBAL, addr, size, text);
	return NULL;
}

static struct err *on_memory(void *arg, const struct sbt_memory *m)
{
	return m->owner == SBT_MEMORY_GLOBAL
		       ? add_global(arg, m->module, &m->name, m->addr, m->size)
		       : NULL;
}

/* Adds the globals that the recorder saw at the window's ends, and those whose addresses the
 * program asked for. */
struct err *extract_find_globals(struct extract *x)
{
	const struct replay_device *rd = x->en->trace.device;
	const struct sbt_cmd *c;
	struct sbt_cursor *cursor;
	struct err *e;

	TRY(sbt_reader_memory(x->en->trace.reader, rd->first, rd->last, on_memory, x));
	TRY(sbt_cursor_open(&cursor, x->en->trace.reader));
	while (!(e = sbt_cursor_next(cursor, &c)) && c && c->seq < x->seq) {
		if (c->kind == SBT_GLOBAL_DEF)
			e = add_global(x, c->u.global_def.module, &c->u.global_def.global_name,
				c->u.global_def.addr, c->u.global_def.size);
		if (e)
			break;
	}
	sbt_cursor_close(cursor);
	if (!e && !x->npieces)
		e = err_new(ERR_INCOMPLETE,
			"no parameter of #%" PRIu64
			" %s points into an allocation: there is nothing to compare",
			x->seq, buf_cstr(&x->name));
	return e;
}

/* --- contents --- */

void extract_piece_name(char *dst, size_t n, size_t i, bool after)
{
	snprintf(dst, n, "memory-%zu%s.bin", i + 1, after ? "-after" : "");
}

/* Writes the present contents to f; with old, *ret_differs says whether they differ from old's. */
static struct err *copy_piece(
	struct extract *x, const struct extract_piece *p, FILE *f, FILE *old, bool *ret_differs)
{
	uint8_t *here = xmalloc(2 * PIECE), *there = here + PIECE;
	struct err *e = NULL;

	for (uint64_t at = 0; !e && at < p->size; at += PIECE) {
		size_t n = p->size - at < PIECE ? (size_t)(p->size - at) : PIECE;

		if (engine_cancelled(x->en)) {
			e = err_new(ERR_INTERRUPTED, "interrupted at #%" PRIu64, x->seq);
			break;
		}
		e = device_read(x->en->trace.device->d, p->addr + at, here, n);
		if (!e && fwrite(here, 1, n, f) != n)
			e = err_sys(errno, "cannot write to %s", x->o.dir);
		if (!e && old && fread(there, 1, n, old) != n)
			e = err_new(ERR_SYSTEM, "cannot read what was written to %s", x->o.dir);
		if (!e && old && memcmp(here, there, n))
			*ret_differs = true;
	}
	free(here);
	return e;
}

/* Saves a piece; memory that the launch did not change gets no second file. */
static struct err *save_piece(struct extract *x, size_t i, bool after)
{
	struct extract_piece *p = &x->pieces[i];
	char name[64], *path, *before;
	FILE *f, *old = NULL;
	struct err *e;

	extract_piece_name(name, sizeof name, i, false);
	before = extract_path(x, name);
	extract_piece_name(name, sizeof name, i, after);
	path = extract_path(x, name);
	e = file_create(path, &f);
	if (!e && after && !(old = fopen(before, "rb")))
		e = err_sys(errno, "cannot open %s", before);
	if (!e)
		e = copy_piece(x, p, f, old, &p->changed);
	if (old)
		fclose(old);
	if (f)
		e = err_first(e, file_close(f, path));
	if (after && !p->changed)
		unlink(path);
	free(path);
	free(before);
	return e;
}

/* Writes the bytes of m into their place in the file of a piece. */
static struct err *patch(
	struct extract *x, const struct sbt_memory *m, const struct extract_piece *p)
{
	const uint64_t at = m->addr - p->addr;
	const size_t n = (size_t)(m->size < p->size - at ? m->size : p->size - at);
	char name[64], *path;
	FILE *f;

	extract_piece_name(name, sizeof name, (size_t)(p - x->pieces), false);
	path = extract_path(x, name);
	f = fopen(path, "r+b");
	uint8_t *bytes = xmalloc(n ? n : 1);
	struct err *e = f ? sbt_reader_memory_read(x->en->trace.reader, m, 0, bytes, n)
			  : err_sys(errno, "cannot open %s", path);

	if (!e && (fseek(f, (long)at, SEEK_SET) || fwrite(bytes, 1, n, f) != n))
		e = err_sys(errno, "cannot write %s", path);
	if (f && fclose(f) && !e)
		e = err_sys(errno, "cannot write %s", path);
	free(bytes);
	free(path);
	return e;
}

/* Adds what the program wrote to host memory before the launch: a replay writes it when the launch
 * is executed, not before. */
static struct err *on_host_write(void *arg, const struct sbt_memory *m)
{
	struct extract *x = arg;
	const struct extract_piece *p = m->role == SBT_MEMORY_HOST && m->has_bytes && m->size
						? extract_piece_at(x, m->addr)
						: NULL;

	return p ? patch(x, m, p) : NULL;
}

struct err *extract_save_memory(struct extract *x, uint64_t seq, bool after)
{
	struct replay_stop stop;

	/* only a part of the graph was executed: up to before the node, or behind it */
	if (x->o.graph) {
		TRY(replay_goto(x->en->trace.replay, x->seq - 1, &stop));
		TRY(device_graph_part(x->en->trace.device->d, x->o.graph, x->node, after));
		seq = x->seq;
	}
	TRY(replay_goto(x->en->trace.replay, seq, &stop));
	if (stop.why == REPLAY_INTERRUPTED)
		return err_new(ERR_INTERRUPTED, "interrupted at #%" PRIu64, stop.seq);
	for (size_t i = 0; i < x->npieces; i++)
		TRY(save_piece(x, i, after));
	return after || x->o.graph
		       ? NULL
		       : sbt_reader_memory(x->en->trace.reader, x->seq, x->seq, on_host_write, x);
}
