/* SPDX-License-Identifier: Apache-2.0
 *
 * Reading and writing of models, with the reader and the writer that tsdb has.
 */
#include "model.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "sbt/fields.h"

#define STACKS_MAX 64 /* kept of a trace: they are all alike to what reads them */

static void *copy_of(const void *p, size_t n)
{
	void *q = xmalloc(n + 1);

	if (n)
		memcpy(q, p, n);
	((char *)q)[n] = 0;
	return q;
}

static const char *text_of(const char *s)
{
	return s ? xstrdup(s) : NULL;
}

/* Room for one more at the end of an array. */
#define MORE(array, n) ((array) = xrealloc((array), ((n) + 1) * sizeof *(array)), &(array)[(n)++])

/* --- reading --- */

static void keep_meta(struct model *m, const struct sbt_meta *meta)
{
	m->meta = *meta;
	m->meta.program = text_of(meta->program);
	m->meta.cwd = text_of(meta->cwd);
	m->meta.host = text_of(meta->host);
	m->meta.gpu = text_of(meta->gpu);
	m->meta.vendor = text_of(meta->vendor);
	m->meta.target = text_of(meta->target);
	m->meta.tsdb = text_of(meta->tsdb);
}

static void keep_blobs(struct sbt_cmd *c)
{
	const struct sbt_kind_desc *k = sbt_kind(c->kind);

	for (unsigned i = 0; i < k->nfields; i++)
		if (sbt_type_is_blob(k->fields[i].type)) {
			struct sbt_blob *b =
				(struct sbt_blob *)(void *)((char *)c + k->fields[i].offset);

			b->p = copy_of(b->p, b->len);
		}
}

static struct err *keep_stack(struct model *m, struct sbt_reader *r, uint32_t id)
{
	const struct sbt_frame *frames;
	struct model_stack *s;
	unsigned n;

	for (size_t i = 0; i < m->nstacks; i++)
		if (m->stacks[i].id == id)
			return NULL;
	if (!id || m->nstacks == STACKS_MAX)
		return NULL;
	TRY(sbt_reader_stack(r, id, &frames, &n));
	s = MORE(m->stacks, m->nstacks);
	*s = (struct model_stack){id, n, copy_of(frames, n * sizeof *frames)};
	return NULL;
}

static struct err *keep_cmds(struct model *m, struct sbt_reader *r)
{
	const struct sbt_cmd *c;
	struct sbt_cursor *cursor;
	struct err *e;

	TRY(sbt_cursor_open(&cursor, r));
	while (!(e = sbt_cursor_next(cursor, &c)) && c) {
		struct sbt_cmd *mine = MORE(m->cmds, m->ncmds);

		*mine = *c;
		keep_blobs(mine);
		e = keep_stack(m, r, c->stack);
		if (e)
			break;
	}
	sbt_cursor_close(cursor);
	return e;
}

struct keeper {
	struct model *m;
	struct sbt_reader *r;
};

static struct err *keep_piece(void *arg, const struct sbt_memory *piece)
{
	struct keeper *k = arg;
	struct model_piece *p = MORE(k->m->pieces, k->m->npieces);

	*p = (struct model_piece){.m = *piece};
	p->m.name.p = copy_of(piece->name.p, piece->name.len);
	if (!piece->has_bytes)
		return NULL;
	p->n = piece->size;
	p->bytes = xmalloc(p->n + 1);
	return sbt_reader_memory_read(k->r, piece, 0, p->bytes, p->n);
}

static struct err *keep_codes(struct model *m, struct sbt_reader *r)
{
	uint64_t hash;
	enum code_kind kind;

	for (unsigned i = 0; sbt_reader_code_at(r, i, &hash, &kind); i++) {
		struct model_code *c = MORE(m->codes, m->ncodes);
		struct buf b = BUF_INIT;

		TRY(sbt_reader_code(r, hash, &b, &kind));
		*c = (struct model_code){hash, kind, copy_of(b.data, b.len), b.len};
		buf_free(&b);
	}
	return NULL;
}

struct err *model_read(struct model *m, const char *path)
{
	struct keeper k = {.m = m};
	const struct sbt_host_module *module;
	struct window w;
	struct err *e;

	memset(m, 0, sizeof *m);
	TRY(sbt_reader_open(&k.r, path));
	keep_meta(m, sbt_reader_meta(k.r));
	e = keep_codes(m, k.r);
	if (!e)
		e = keep_cmds(m, k.r);
	if (!e)
		e = sbt_reader_memory(k.r, 0, UINT64_MAX, keep_piece, &k);
	for (unsigned i = 0; !e && sbt_reader_window(k.r, i, &w.first, &w.last); i++)
		*MORE(m->windows, m->nwindows) = w;
	for (unsigned i = 0; !e && (module = sbt_reader_module(k.r, i)); i++)
		*MORE(m->modules, m->nmodules) =
			(struct sbt_host_module){text_of(module->path), text_of(module->build_id)};
	sbt_reader_close(k.r);
	return e;
}

/* --- copies --- */

struct model model_copy(const struct model *m)
{
	struct model ret = *m;

	ret.cmds = copy_of(m->cmds, m->ncmds * sizeof *m->cmds);
	ret.windows = copy_of(m->windows, m->nwindows * sizeof *m->windows);
	ret.codes = copy_of(m->codes, m->ncodes * sizeof *m->codes);
	for (size_t i = 0; i < m->ncodes; i++)
		ret.codes[i].p = copy_of(m->codes[i].p, m->codes[i].n);
	ret.pieces = copy_of(m->pieces, m->npieces * sizeof *m->pieces);
	for (size_t i = 0; i < m->npieces; i++)
		ret.pieces[i].bytes = copy_of(m->pieces[i].bytes, m->pieces[i].n);
	return ret;
}

void model_free_copy(struct model *m)
{
	for (size_t i = 0; i < m->ncodes; i++)
		free(m->codes[i].p);
	for (size_t i = 0; i < m->npieces; i++)
		free(m->pieces[i].bytes);
	free(m->cmds);
	free(m->windows);
	free(m->codes);
	free(m->pieces);
}

/* --- writing --- */

/* What a code's hash was, it is now something else, in every command. */
static void refer(struct model *m, uint64_t was, uint64_t is)
{
	for (size_t i = 0; i < m->ncmds; i++) {
		const struct sbt_kind_desc *k = sbt_kind(m->cmds[i].kind);

		for (unsigned f = 0; f < k->nfields; f++)
			if (k->fields[f].type == SBT_T_HEX &&
				sbt_get(&m->cmds[i], &k->fields[f]) == was)
				sbt_set(&m->cmds[i], &k->fields[f], is);
	}
}

static struct err *write_piece(struct sbt_writer *w, const struct model_piece *p)
{
	const size_t n = p->n < p->m.size ? p->n : p->m.size;
	uint32_t id;

	TRY(sbt_writer_memory(w, &p->m, &id));
	if (id == SBT_NO_ID)
		return NULL;
	TRY(sbt_writer_memory_bytes(w, id, p->bytes, n));
	return n < p->m.size ? sbt_writer_memory_cut(w, id) : NULL;
}

static struct err *write_parts(struct model *m, struct sbt_writer *w)
{
	uint32_t index;

	for (size_t i = 0; i < m->ncodes; i++) {
		uint64_t hash;

		TRY(sbt_writer_code(w, m->codes[i].p, m->codes[i].n, m->codes[i].kind, &hash));
		if (hash != m->codes[i].hash)
			refer(m, m->codes[i].hash, hash);
	}
	for (size_t i = 0; i < m->nmodules; i++)
		TRY(sbt_writer_module(w, m->modules[i].path, m->modules[i].build_id, &index));
	for (size_t i = 0; i < m->nstacks; i++)
		TRY(sbt_writer_stack(w, m->stacks[i].id, m->stacks[i].frames, m->stacks[i].n));
	for (size_t i = 0; i < m->ncmds; i++)
		TRY(sbt_writer_cmd(w, &m->cmds[i]));
	for (size_t i = 0; i < m->npieces; i++)
		TRY(write_piece(w, &m->pieces[i]));
	for (size_t i = 0; i < m->nwindows; i++)
		TRY(sbt_writer_window(w, m->windows[i].first, m->windows[i].last));
	return NULL;
}

struct err *model_write(struct model *m, const char *path)
{
	struct sbt_writer *w;
	struct err *e, *closed;

	TRY(sbt_writer_open(&w, path, &m->meta));
	e = write_parts(m, w);
	closed = sbt_writer_close(w);
	if (!e)
		return closed;
	err_free(closed);
	return e;
}
