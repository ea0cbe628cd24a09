/* SPDX-License-Identifier: Apache-2.0
 *
 * A command as one line of text, see sbt.h. Launches, copies, fills, allocations and marks have a
 * form of their own; everything else is printed from the table, without what says nothing: raw
 * handles, zero flags, ids that are none. Text out of a trace is made harmless before it reaches a
 * terminal.
 */
#include <inttypes.h>
#include <string.h>

#include "sbt/sbt.h"
#include "sbt/fields.h"
#include "base/text.h"

static void put_kernel(struct buf *out, uint64_t id, const struct sbt_names *names)
{
	const char *name = names && names->kernel ? names->kernel(names->arg, (uint32_t)id) : NULL;

	if (name && *name)
		text_safe(out, name, strlen(name), 0);
	else
		buf_printf(out, "kernel %" PRIu64, id);
}

static void put_stream(struct buf *out, uint64_t stream)
{
	if ((uint32_t)stream != SBT_NO_ID)
		buf_printf(out, " stream %" PRIu64, stream);
}

/* How many threads the last block has in each direction, where it is a smaller one. */
static void put_last(struct buf *out, const struct sbt_cmd_launch *l)
{
	if (l->last_x || l->last_y || l->last_z)
		buf_printf(out, " last (%" PRIu64 ",%" PRIu64 ",%" PRIu64 ")",
			l->last_x ? l->last_x : l->block_x, l->last_y ? l->last_y : l->block_y,
			l->last_z ? l->last_z : l->block_z);
}

static void print_launch(struct buf *out, const struct sbt_cmd *c, const struct sbt_names *names)
{
	const struct sbt_cmd_launch *l = &c->u.launch;

	put_kernel(out, l->kernel, names);
	buf_printf(out,
		"<<<(%" PRIu64 ",%" PRIu64 ",%" PRIu64 "),(%" PRIu64 ",%" PRIu64 ",%" PRIu64 ")",
		l->grid_x, l->grid_y, l->grid_z, l->block_x, l->block_y, l->block_z);
	if (l->shared)
		buf_printf(out, ",%" PRIu64, l->shared);
	buf_str(out, ">>>");
	put_last(out, l);
	if (l->cluster_x)
		buf_printf(out, " cluster (%" PRIu64 ",%" PRIu64 ",%" PRIu64 ")", l->cluster_x,
			l->cluster_y, l->cluster_z);
	if (l->cooperative)
		buf_str(out, " cooperative");
	put_stream(out, l->stream);
}

static void print_enum(struct buf *out, enum sbt_type type, uint64_t v)
{
	const char *name = sbt_enum_name(type, v);

	if (name)
		buf_printf(out, " %s", name);
	else
		buf_printf(out, " ?%" PRIu64, v);
}

static void print_copy(struct buf *out, const struct sbt_cmd *c)
{
	const struct sbt_cmd_copy *p = &c->u.copy;

	buf_str(out, "copy");
	print_enum(out, SBT_T_ENUM_COPY, p->dir);
	buf_printf(out, " %" PRIu64 " bytes", p->size);
	if (p->width)
		buf_printf(out, " (%" PRIu64 " x %" PRIu64 " x %" PRIu64 ")", p->width, p->height,
			p->depth);
	buf_printf(out, " 0x%" PRIx64 " -> 0x%" PRIx64, p->src, p->dst);
	put_stream(out, p->stream);
}

static void print_fill(struct buf *out, const struct sbt_cmd *c)
{
	const struct sbt_cmd_fill *p = &c->u.fill;

	buf_printf(out, "fill %" PRIu64 " bytes", p->size);
	if (p->width)
		buf_printf(out, " (%" PRIu64 " x %" PRIu64 ")", p->width, p->height);
	buf_printf(out, " 0x%" PRIx64 " with 0x%0*" PRIx64, p->dst,
		(int)(p->elem <= 4 ? 2 * p->elem : 8), p->value);
	put_stream(out, p->stream);
}

static void print_alloc(struct buf *out, const struct sbt_cmd *c)
{
	const struct sbt_cmd_alloc *a = &c->u.alloc;

	buf_str(out, "alloc");
	print_enum(out, SBT_T_ENUM_MEM, a->mem);
	buf_printf(out, " %" PRIu64 " bytes 0x%" PRIx64, a->size, a->addr);
	if (a->pitch)
		buf_printf(out, " pitch %" PRIu64, a->pitch);
	if (a->device)
		buf_printf(out, " on device %" PRIu64, a->device);
	put_stream(out, a->stream);
}

static void print_mark(struct buf *out, const struct sbt_cmd *c)
{
	static const char *const kinds[] = {"", " push", " pop", " trigger"};
	const struct sbt_cmd_mark *m = &c->u.mark;

	buf_printf(out, "mark%s", m->mark_kind < 4 ? kinds[m->mark_kind] : " ?");
	if (!m->text.len)
		return;
	buf_str(out, " \"");
	text_safe(out, m->text.p, m->text.len, TEXT_QUOTE);
	buf_str(out, "\"");
}

static void print_attach(struct buf *out, const struct sbt_cmd *c)
{
	const struct sbt_cmd_attach *a = &c->u.attach;

	if (a->what == SBT_ATTACH_BEGINS) {
		buf_str(out, "attached to a running process: what came before is not known");
	} else if (a->what == SBT_ATTACH_FOUND) {
		buf_printf(out,
			"attach: found %" PRIu64 " contexts and %" PRIu64 " allocations, %" PRIu64
			" bytes, in %" PRIu64 " bytes of address space by steps of %" PRIu64
			", %.1f ms",
			a->contexts, a->allocations, a->bytes, a->probed, a->step,
			(double)a->took / 1e6);
		if (a->missed)
			buf_printf(out, "; gave up %" PRIu64 " places", a->missed);
	} else {
		buf_str(out, "attach: not known: ");
		text_safe(out, a->text.p, a->text.len, 0);
	}
}

/* "new_event" is called "event". */
static const char *label(const char *name)
{
	if (strncmp(name, "new_", 4) == 0)
		return name + 4;
	if (strncmp(name, "dead_", 5) == 0)
		return name + 5;
	return name;
}

/* Whether a field of the generic form says nothing. */
static bool idle(const struct sbt_cmd *c, const struct sbt_field *f, uint64_t v)
{
	switch (f->type) {
	case SBT_T_BLOB:
		return true;
	case SBT_T_STR:
		return sbt_get_blob(c, f)->len == 0;
	case SBT_T_STREAM:
	case SBT_T_EVENT:
	case SBT_T_CONTEXT:
	case SBT_T_MODULE:
	case SBT_T_KERNEL:
	case SBT_T_GRAPH:
		return (uint32_t)v == SBT_NO_ID;
	case SBT_T_HEX:
		return v == 0 || strcmp(f->name, "handle") == 0;
	case SBT_T_ENUM_SYNC: /* "sync stream 2" says it already */
		return v != SBT_SYNC_CTX;
	case SBT_T_UINT: /* the number of nothing */
		return v == SBT_NO_ID || (v == 0 && strcmp(f->name, "machine_arch") == 0);
	case SBT_T_BOOL:
	case SBT_T_INT:
	case SBT_T_SIZE:
		return v == 0;
	default:
		return false;
	}
}

static void print_field(struct buf *out, const struct sbt_cmd *c, const struct sbt_field *f,
	const struct sbt_names *names)
{
	uint64_t v = sbt_type_is_blob(f->type) ? 0 : sbt_get(c, f);
	const struct sbt_blob *text;

	if (idle(c, f, v))
		return;
	switch (f->type) {
	case SBT_T_STR:
		text = sbt_get_blob(c, f);
		buf_str(out, " \"");
		text_safe(out, text->p, text->len, TEXT_QUOTE);
		buf_str(out, "\"");
		break;
	case SBT_T_BOOL:
		buf_printf(out, " %s", f->name);
		break;
	case SBT_T_INT:
		buf_printf(out, " %s %" PRId64, f->name, (int64_t)v);
		break;
	case SBT_T_SIZE:
		if (strcmp(f->name, "size") == 0)
			buf_printf(out, " %" PRIu64 " bytes", v);
		else
			buf_printf(out, " %s %" PRIu64, f->name, v);
		break;
	case SBT_T_ADDR:
		buf_printf(out, " %s%s0x%" PRIx64, strcmp(f->name, "addr") ? f->name : "",
			strcmp(f->name, "addr") ? " " : "", v);
		break;
	case SBT_T_HEX:
		buf_printf(out, " %s 0x%" PRIx64, f->name, v);
		break;
	case SBT_T_SEQ:
		buf_printf(out, " #%" PRIu64, v);
		break;
	case SBT_T_ENUM_COPY:
	case SBT_T_ENUM_MEM:
	case SBT_T_ENUM_SYNC:
	case SBT_T_ENUM_CAPTURE:
	case SBT_T_ENUM_NODE:
		print_enum(out, f->type, v);
		break;
	case SBT_T_KERNEL:
		buf_byte(out, ' ');
		put_kernel(out, v, strncmp(f->name, "new_", 4) ? names : NULL);
		break;
	default:
		if (strcmp(label(f->name), sbt_kind(c->kind)->name) !=
			0) /* not "device device 0" */
			buf_printf(out, " %s", label(f->name));
		buf_printf(out, " %" PRIu64, v);
		break;
	}
}

static bool is_enum(enum sbt_type t)
{
	return sbt_enum_name(t, 0) != NULL;
}

/* The kind's name, enumerations ("free device"), its other fields in the table's order, and the
 * stream last. */
static void print_generic(struct buf *out, const struct sbt_cmd *c, const struct sbt_kind_desc *d,
	const struct sbt_names *names)
{
	const struct sbt_field *stream = NULL;

	buf_str(out, d->name);
	for (const struct sbt_field *f = d->fields; f->name; f++)
		if (is_enum(f->type))
			print_field(out, c, f, names);
	for (const struct sbt_field *f = d->fields; f->name; f++) {
		if (strcmp(f->name, "stream") == 0)
			stream = f;
		else if (!is_enum(f->type))
			print_field(out, c, f, names);
	}
	if (stream)
		put_stream(out, sbt_get(c, stream));
}

void sbt_print_cmd(struct buf *out, const struct sbt_cmd *c, const struct sbt_names *names)
{
	const struct sbt_kind_desc *d = sbt_kind(c->kind);

	buf_printf(out, "#%" PRIu64 " ", c->seq);
	if (c->kind == SBT_LAUNCH)
		print_launch(out, c, names);
	else if (c->kind == SBT_COPY)
		print_copy(out, c);
	else if (c->kind == SBT_FILL)
		print_fill(out, c);
	else if (c->kind == SBT_ALLOC)
		print_alloc(out, c);
	else if (c->kind == SBT_MARK)
		print_mark(out, c);
	else if (c->kind == SBT_ATTACH)
		print_attach(out, c);
	else if (d)
		print_generic(out, c, d, names);
	else
		buf_printf(out, "kind %u", c->kind);
	if (c->flags & SBT_F_GRAPH)
		buf_str(out, " (into a graph)");
	if (c->flags & SBT_F_BEFORE)
		buf_str(out, " (was there before the attach)");
	if (c->kind == SBT_QUERY && c->result == 600)
		buf_str(out, " = not ready");
	else if (c->result)
		buf_printf(out, " = ERROR %u", c->result);
}
