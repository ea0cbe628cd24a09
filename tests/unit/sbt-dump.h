/* SPDX-License-Identifier: Apache-2.0
 *
 * Everything a reader can be asked, asked: for comparing traces, and for finding crashes.
 */
#ifndef SBT_DUMP_H
#define SBT_DUMP_H

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

#include "sbt/memory.h"
#include "sbt/sbt.h"

static inline void dump_cmds(struct buf *out, struct sbt_reader *r, bool times)
{
	const struct sbt_cmd *c;
	struct sbt_cursor *cur;
	struct sbt_cmd copy;

	if (sbt_cursor_open(&cur, r))
		BUG("cursor");
	for (;;) {
		struct err *e = sbt_cursor_next(cur, &c);

		if (e || !c) {
			err_free(e);
			break;
		}
		copy = *c;
		if (!times)
			copy.gpu_start_ns = copy.gpu_end_ns = 0;
		sbt_json_cmd(out, &copy, NULL);
		buf_byte(out, '\n');
	}
	sbt_cursor_close(cur);
}

static inline void dump_stack(struct buf *out, struct sbt_reader *r, uint32_t id)
{
	const struct sbt_frame *f;
	unsigned n;

	if (sbt_reader_stack(r, id, &f, &n))
		BUG("stack");
	buf_printf(out, "stack %u:", id);
	for (unsigned i = 0; i < n; i++)
		buf_printf(out, " %u+%" PRIx64, f[i].module, f[i].offset);
	buf_byte(out, '\n');
}

struct dump_memory {
	struct buf *out;
	struct sbt_reader *r;
};

#define DUMP_MEMORY_MAX (1u << 20) /* of larger pieces only the ends are read */

static inline struct err *dump_piece(void *arg, const struct sbt_memory *m)
{
	struct dump_memory *d = arg;
	size_t n = m->size < DUMP_MEMORY_MAX ? (size_t)m->size : DUMP_MEMORY_MAX;
	uint8_t *p = malloc(n + 1);
	struct err *e;

	if (!p)
		BUG("out of memory");
	buf_printf(d->out, "memory %" PRIu64 " %u %u %" PRIx64 " %" PRIu64 " %u ", m->seq, m->role,
		m->owner, m->addr, m->size, m->module);
	buf_add(d->out, m->name.p, (size_t)m->name.len);
	buf_printf(d->out, " %" PRIu64 " %" PRIx64 " %" PRIx64, m->missing, m->hash.half[0],
		m->hash.half[1]);
	e = sbt_reader_memory_read(d->r, m, m->size - n, p, n);
	if (!e)
		e = sbt_reader_memory_read(d->r, m, 0, p, n);
	if (!e)
		buf_printf(d->out, " %" PRIx64 "\n", (uint64_t)XXH64(p, n, 0));
	else
		buf_printf(d->out, " %s\n", e->code == ERR_NOT_FOUND ? "none" : "damaged");
	err_free(e);
	free(p);
	return NULL;
}

static inline void dump_memory(struct buf *out, struct sbt_reader *r)
{
	struct dump_memory d = {out, r};
	uint64_t first, last;
	struct err *e;

	for (unsigned i = 0; sbt_reader_window(r, i, &first, &last); i++)
		buf_printf(out, "window %" PRIu64 " %" PRIu64 "\n", first, last);
	e = sbt_reader_memory(r, 0, UINT64_MAX, dump_piece, &d);
	if (e)
		buf_printf(out, "memory: %s\n", e->what);
	err_free(e);
}

static inline void dump_rest(struct buf *out, struct sbt_reader *r, uint64_t code_hash)
{
	const struct sbt_meta *m = sbt_reader_meta(r);
	uint64_t last = sbt_reader_last_seq(r), seq, n;
	struct buf b = BUF_INIT;
	const char *call;
	struct err *e;
	enum code_kind kind;

	buf_printf(out, "%s|%s|%s|%s|%s|%" PRIu64 "|%u|%u|%d%d%d\n", m->program, m->cwd, m->host,
		m->gpu, m->tsdb, m->start_ns, m->pid, m->driver_version, m->soft, m->stacks,
		m->timestamps);
	buf_printf(out, "count %" PRIu64 " first %" PRIu64 " last %" PRIu64 " lost %" PRIu64 "\n",
		sbt_reader_count(r), sbt_reader_first_seq(r), last, sbt_reader_lost(r));
	for (uint32_t id = 0; id < 60; id++)
		dump_stack(out, r, id);
	for (uint32_t i = 0; i < 4; i++) {
		const struct sbt_host_module *mod = sbt_reader_module(r, i);

		buf_printf(out, "module %u %s %s\n", i, mod ? mod->path : "-",
			mod ? mod->build_id : "-");
	}
	for (uint32_t i = 0; i < 4; i++) {
		const struct sbt_place *p = sbt_reader_place(r, i);

		if (p)
			buf_printf(out, "place %u %s %s %u %u\n", i, p->file, p->function,
				p->first_line, p->line);
	}
	for (uint32_t i = 0; i < 2; i++) {
		const struct sbt_frame f = {i, i ? 0x1000 : 0x1234};
		unsigned names;
		const struct sbt_symbol *y = sbt_reader_symbol(r, &f, &names);

		for (unsigned k = 0; k < names; k++)
			buf_printf(out, "symbol %u %" PRIx64 " %u|%s|%s|%s|%u|%" PRIx64 "\n",
				f.module, f.offset, k, y[k].function ? y[k].function : "",
				y[k].file ? y[k].file : "", y[k].folder ? y[k].folder : "",
				y[k].line, y[k].start);
	}
	for (unsigned i = 0; i < sbt_reader_sources(r); i++) {
		struct buf text = BUF_INIT;
		char *file;
		struct err *bad = sbt_reader_source(r, i, &file, &text);

		if (!bad)
			buf_printf(out, "source %s %zu %.*s\n", file, text.len,
				(int)strcspn(buf_cstr(&text), "\n"), buf_cstr(&text));
		err_free(bad);
		free(file);
		buf_free(&text);
	}
	for (unsigned i = 0; sbt_reader_unreplayable(r, i, &call, &n); i++)
		buf_printf(out, "unreplayable %s %" PRIu64 "\n", call, n);
	for (unsigned i = 0; i <= 4; i++) {
		if (sbt_reader_keyframe(r, last / 4 * i, &seq, &b))
			BUG("keyframe");
		buf_printf(out, "keyframe %" PRIu64 " %zu bytes\n", seq, b.len);
	}
	buf_clear(&b);
	e = sbt_reader_code(r, code_hash, &b, &kind);
	buf_printf(out, "code %s %zu\n",
		e		   ? "none"
		: kind == CODE_PTX ? "ptx"
				   : "cubin",
		e ? 0 : b.len);
	err_free(e);
	buf_free(&b);
	dump_memory(out, r);
}

#endif
