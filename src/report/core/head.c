/* SPDX-License-Identifier: Apache-2.0
 *
 * What the page knows of a trace besides columns, see head.h.
 */
#include "report/core/head.h"

#include <inttypes.h>
#include <string.h>
#include <stdlib.h>
#include "base/file.h"
#include "base/json-put.h"
#include "base/text.h"
#include "symbols/host-stack.h"
#include "sbt/fields.h"

static void put_text(struct buf *out, const char *key, const char *text)
{
	char *safe = text ? text_safe_dup(text, strlen(text)) : NULL;

	buf_printf(out, "\"%s\":", key);
	js_text(out, safe);
	buf_byte(out, ',');
	free(safe);
}

static void put_blob(struct buf *out, const char *key, const struct sbt_blob *b)
{
	struct buf safe = BUF_INIT;

	text_safe(&safe, b->p, b->len, 0);
	buf_printf(out, "\"%s\":", key);
	js_bytes(out, safe.data, safe.len);
	buf_byte(out, ',');
	buf_free(&safe);
}

static void put_number(struct buf *out, const char *key, uint64_t v)
{
	buf_printf(out, "\"%s\":%" PRIu64 ",", key, v);
}

/* Takes the last comma away and closes. */
static void close_with(struct buf *out, char with)
{
	if (out->len && out->data[out->len - 1] == ',')
		out->len--;
	buf_byte(out, (uint8_t)with);
}

/* --- the command table --- */

static void put_fields(struct buf *out, const struct sbt_kind_desc *d)
{
	buf_str(out, "\"fields\":[");
	for (unsigned i = 0; i < d->nfields; i++) {
		buf_printf(out, "[\"%s\",%d,", d->fields[i].name, (int)d->fields[i].type);
		js_text(out, d->fields[i].help);
		buf_str(out, "],");
	}
	close_with(out, ']');
}

static void put_kinds(struct buf *out, const struct columns *c)
{
	buf_str(out, "\"kinds\":{");
	for (unsigned k = 0; k < SBT_KIND_END; k++) {
		const struct sbt_kind_desc *d = sbt_kind(k);

		if (!d || !c->kinds[k])
			continue;
		buf_printf(out, "\"%u\":{", k);
		put_text(out, "name", d->name);
		put_text(out, "help", d->help);
		put_fields(out, d);
		buf_str(out, "},");
	}
	close_with(out, '}');
	buf_byte(out, ',');
}

/* The names of the values of enumerations, by the number of the type. */
static void put_enums(struct buf *out)
{
	buf_str(out, "\"enums\":{");
	for (int t = SBT_T_ENUM_COPY; t <= SBT_T_ENUM_NODE; t++) {
		const char *name;

		buf_printf(out, "\"%d\":[", t);
		for (uint64_t v = 0; (name = sbt_enum_name((enum sbt_type)t, v)); v++)
			buf_printf(out, "\"%s\",", name);
		close_with(out, ']');
		buf_byte(out, ',');
	}
	close_with(out, '}');
	buf_byte(out, ',');
}

/* --- objects --- */

static void put_kernel(struct buf *out, const struct state_kernel *k)
{
	buf_printf(out, "\"%u\":{", k->id);
	put_text(out, "mangled", k->name);
	put_number(out, "regs", k->regs);
	put_number(out, "shared", k->static_shared);
	buf_str(out, "\"params\":[");
	for (uint64_t at = 0; at + 8 <= k->params.len; at += 8) {
		uint32_t v[2];

		memcpy(v, (const uint8_t *)k->params.p + at, sizeof v);
		buf_printf(out, "[%u,%u],", v[0], v[1]);
	}
	close_with(out, ']');
	buf_str(out, "},");
}

static void put_streams(struct buf *out, const struct states *states)
{
	const struct states_stream *s = states->last.at;

	buf_str(out, "\"streams\":[");
	for (size_t i = 0; i < states->last.n; i++) {
		if (s[i].known)
			buf_printf(out, "{\"id\":%u,\"device\":%" PRId64 ",\"default\":%d},",
				s[i].is.id, s[i].device == SBT_NO_ID ? -1 : (int64_t)s[i].device,
				s[i].is.is_default);
	}
	close_with(out, ']');
	buf_byte(out, ',');
}

static void put_objects(struct buf *out, const struct state *st)
{
	struct state_kernel k;
	struct state_thread t;
	struct state_device d;

	buf_str(out, "\"kernels\":{");
	for (unsigned i = 0; state_kernel(st, i, &k); i++)
		put_kernel(out, &k);
	close_with(out, '}');
	buf_str(out, ",\"threads\":[");
	for (unsigned i = 0; state_thread(st, i, &t); i++) {
		buf_printf(out, "{\"id\":%u,\"os_tid\":%u,", t.thread, t.os_tid);
		put_blob(out, "name", &t.name);
		close_with(out, '}');
		buf_byte(out, ',');
	}
	close_with(out, ']');
	buf_str(out, ",\"devices\":[");
	for (unsigned i = 0; state_device(st, i, &d); i++) {
		buf_printf(out, "{\"id\":%u,", d.device);
		put_blob(out, "name", &d.name);
		put_number(out, "memory", d.total_mem);
		close_with(out, '}');
		buf_byte(out, ',');
	}
	close_with(out, ']');
}

struct err *head_write(const struct report_trace *t, const char *set, const struct columns *c,
	const struct states *states, const struct state *end, FILE *f, unsigned trace)
{
	const struct sbt_meta *m = sbt_reader_meta(t->r);
	struct pack p = {0};
	struct buf b = BUF_INIT;

	buf_byte(&b, '{');
	put_text(&b, "path", t->path);
	put_text(&b, "program", m->program);
	put_text(&b, "host", m->host);
	put_text(&b, "gpu", m->gpu);
	put_text(&b, "tsdb", m->tsdb);
	if (set) {
		put_text(&b, "set", set);
		put_number(&b, "rank", t->rank);
	}
	put_number(&b, "pid", m->pid);
	put_number(&b, "soft", m->soft);
	put_number(&b, "count", c->n);
	put_number(&b, "timed", c->timed);
	buf_printf(&b, "\"begin\":\"%" PRIu64 "\",", c->first_host); /* too large for a double */
	put_kinds(&b, c);
	put_enums(&b);
	buf_str(&b, "\"names\":");
	names_put(&b, c->names);
	buf_byte(&b, ',');
	put_streams(&b, states);
	put_objects(&b, end);
	buf_byte(&b, '}');
	pack_bytes(&p, b.data, b.len);
	buf_free(&b);
	return pack_end(&p, f, trace, "head");
}

/* --- host stacks --- */

/* A kernel's host function, which launches it, is no function of the program's text. */
static void know_stubs(struct id_table *stubs, struct names *names, struct symbols *symbols,
	const struct state *st)
{
	struct state_kernel k;

	*stubs = (struct id_table){.size = sizeof(uint8_t)};
	for (unsigned i = 0; state_kernel(st, i, &k); i++) {
		uint8_t *at = id_table_row(
			stubs, names_of(names, symbols_demangle(symbols, k.name)), true);

		if (at)
			*at = 1;
	}
}

/* Each frame: name of the function, file (or -1), line, bits: 1 Python, 2 a kernel's host function.
 */
static void put_frames(
	struct buf *out, struct names *names, struct id_table *stubs, const struct stack *st)
{
	for (unsigned i = 0; i < st->n; i++) {
		const struct backtrace_frame *fr = &st->frames[i];
		const char *module = fr->sym.module ? fr->sym.module : "unknown";
		char *bare = xasprintf("%s+0x%" PRIx64, file_name_of(module), fr->pc);
		const uint32_t function =
			names_of(names, fr->sym.function ? fr->sym.function : bare);
		const uint8_t *stub = id_table_row(stubs, function, false);

		buf_printf(out, "%s[%u,%" PRId64 ",%u,%u]", i ? "," : "", function,
			fr->sym.file ? (int64_t)names_of(names, fr->sym.file) : -1, fr->sym.line,
			(unsigned)fr->python | (stub && *stub ? 2 : 0));
		free(bare);
	}
}

struct err *stacks_write(const struct report_trace *t, struct symbols *symbols, struct columns *c,
	const struct state *end, FILE *f, unsigned trace)
{
	struct pack p = {0};
	struct buf b = BUF_INIT;
	struct id_table stubs;

	know_stubs(&stubs, c->names, symbols, end);
	buf_byte(&b, '[');
	for (uint32_t i = 0; i < c->nstacks; i++) {
		struct stack st = {0};
		struct err *e = stack_read(&st, symbols, t->r, c->stack_ids[i]);

		if (!e)
			stack_hide(&st, &(struct stack_shown){.only = STACK_MIXED});
		err_free(e); /* a stack that cannot be read is shown as none */
		buf_str(&b, i ? ",[" : "[");
		put_frames(&b, c->names, &stubs, &st);
		buf_byte(&b, ']');
		stack_free(&st);
		pack_bytes(&p, b.data, b.len);
		buf_clear(&b);
	}
	buf_byte(&b, ']');
	pack_bytes(&p, b.data, b.len);
	buf_free(&b);
	free(stubs.at);
	return pack_end(&p, f, trace, "stacks");
}
