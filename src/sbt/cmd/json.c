/* SPDX-License-Identifier: Apache-2.0
 *
 * A command as one JSON object on one line, see sbt.h. Numbers are exact integers; addresses, flags
 * and raw handles are "0x.." strings, because many readers hold numbers in a double. Ids that are
 * none are null. Blobs are strings of hex digits.
 */
#include <inttypes.h>
#include <string.h>

#include "sbt/sbt.h"
#include "sbt/fields.h"
#include "base/json-put.h"

static void put_id(struct buf *out, uint64_t v)
{
	if (v == SBT_NO_ID)
		buf_str(out, "null");
	else
		js_u64(out, v);
}

static void put_hex(struct buf *out, const struct sbt_blob *b)
{
	const uint8_t *p = b->p;

	buf_byte(out, '"');
	for (uint64_t i = 0; i < b->len; i++) {
		buf_byte(out, (uint8_t) "0123456789abcdef"[p[i] >> 4]);
		buf_byte(out, (uint8_t) "0123456789abcdef"[p[i] & 15]);
	}
	buf_byte(out, '"');
}

static void put_enum(struct buf *out, enum sbt_type type, uint64_t v)
{
	const char *name = sbt_enum_name(type, v);

	if (name)
		buf_printf(out, "\"%s\"", name);
	else
		buf_printf(out, "\"%" PRIu64 "\"", v);
}

static void put_value(struct buf *out, const struct sbt_cmd *c, const struct sbt_field *f)
{
	uint64_t v = sbt_type_is_blob(f->type) ? 0 : sbt_get(c, f);

	switch (f->type) {
	case SBT_T_STR:
		js_bytes(out, sbt_get_blob(c, f)->p, sbt_get_blob(c, f)->len);
		break;
	case SBT_T_BLOB:
		put_hex(out, sbt_get_blob(c, f));
		break;
	case SBT_T_BOOL:
		buf_str(out, v ? "true" : "false");
		break;
	case SBT_T_INT:
		buf_printf(out, "%" PRId64, (int64_t)v);
		break;
	case SBT_T_ADDR:
	case SBT_T_HEX:
		buf_printf(out, "\"0x%" PRIx64 "\"", v);
		break;
	case SBT_T_STREAM:
	case SBT_T_EVENT:
	case SBT_T_CONTEXT:
	case SBT_T_MODULE:
	case SBT_T_KERNEL:
	case SBT_T_GRAPH:
		put_id(out, v);
		break;
	case SBT_T_ENUM_COPY:
	case SBT_T_ENUM_MEM:
	case SBT_T_ENUM_SYNC:
	case SBT_T_ENUM_CAPTURE:
	case SBT_T_ENUM_NODE:
		put_enum(out, f->type, v);
		break;
	default:
		js_u64(out, v);
		break;
	}
}

static const char *kind_name(uint64_t kind)
{
	const struct sbt_kind_desc *d = sbt_kind((unsigned)kind);

	return d ? d->name : "?";
}

JS_DEFINE(cmd_object, "command", sbt_cmd, JS(UINT, sbt_cmd, seq),
	{"kind", JS_NAMED, JS_MEMBER(sbt_cmd, kind), .named = kind_name},
	JS(UINT, sbt_cmd, flags, thread), JS(ID, sbt_cmd, ctx),
	JS(UINT, sbt_cmd, stack, result, corr, host_ns),
	JS_MAYBE("gpu_start_ns", SEQ, sbt_cmd, gpu_start_ns),
	JS_MAYBE("gpu_end_ns", SEQ, sbt_cmd, gpu_end_ns));

struct launched {
	const char *kernel_name;
};
JS_DEFINE(launched_object, "command.launch", launched,
	JS_MAYBE("kernel_name", TEXT, launched, kernel_name));

void sbt_json_cmd(struct buf *out, const struct sbt_cmd *c, const struct sbt_names *names)
{
	const struct sbt_kind_desc *d = sbt_kind(c->kind);
	struct launched l;

	buf_byte(out, '{');
	js_members(out, &cmd_object, c);
	for (const struct sbt_field *f = d ? d->fields : NULL; f && f->name; f++) {
		buf_str(out, ",\"");
		buf_str(out, f->name);
		buf_str(out, "\":");
		put_value(out, c, f);
	}
	l.kernel_name = c->kind == SBT_LAUNCH && names && names->kernel
				? names->kernel(names->arg, (uint32_t)c->u.launch.kernel)
				: NULL;
	if (l.kernel_name) {
		buf_byte(out, ',');
		js_members(out, &launched_object, &l);
	}
	buf_byte(out, '}');
}

void sbt_json_ref(struct buf *out, const void *ref)
{
	const struct sbt_cmd_ref *r = ref;

	if (r->c)
		sbt_json_cmd(out, r->c, r->names);
	else
		buf_str(out, "null");
}
