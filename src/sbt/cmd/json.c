/* SPDX-License-Identifier: Apache-2.0
 *
 * A command as one JSON object on one line, see sbt.h. Numbers are exact integers; addresses, flags and raw handles are "0x.." strings, because
 * many readers hold numbers in a double. Ids that are none are null. Blobs are strings of hex digits. Whatever the bytes of a
 * string are, the output is valid UTF-8: what is not becomes U+FFFD.
 */
#include <inttypes.h>
#include <string.h>

#include "sbt/sbt.h"
#include "base/text.h"

void sbt_json_string(struct buf *out, const void *text, size_t n)
{
	const uint8_t *p = text;
	size_t len;

	buf_byte(out, '"');
	for (size_t i = 0; i < n; i += len) {
		len = text_utf8_length(p + i, n - i);
		if (!len) {
			buf_str(out, "\\ufffd");
			len = 1;
		} else if (p[i] == '"' || p[i] == '\\') {
			buf_byte(out, '\\');
			buf_byte(out, p[i]);
		} else if (p[i] == 0 || text_unsafe(p + i, len)) {
			buf_printf(out, "\\u%04x", text_unsafe(p + i, len));
		} else {
			buf_add(out, p + i, len);
		}
	}
	buf_byte(out, '"');
}

static void put_id(struct buf *out, uint64_t v)
{
	if (v == SBT_NO_ID)
		buf_str(out, "null");
	else
		buf_printf(out, "%" PRIu64, v);
}

static void put_hex(struct buf *out, const struct sbt_blob *b)
{
	const uint8_t *p = b->p;

	buf_byte(out, '"');
	for (uint64_t i = 0; i < b->len; i++) {
		buf_byte(out, (uint8_t)"0123456789abcdef"[p[i] >> 4]);
		buf_byte(out, (uint8_t)"0123456789abcdef"[p[i] & 15]);
	}
	buf_byte(out, '"');
}

static void put_enum(struct buf *out, enum sbt_type type, uint64_t v)
{
	const char *name = sbt_enum_name(type, v);

	if (name)
		buf_printf(out, "\"%s\"", name);
	else
		buf_printf(out, "%" PRIu64, v);
}

static void put_value(struct buf *out, const struct sbt_cmd *c, const struct sbt_field *f)
{
	uint64_t v = sbt_type_is_blob(f->type) ? 0 : sbt_get(c, f);

	switch (f->type) {
	case SBT_T_STR:
		sbt_json_string(out, sbt_get_blob(c, f)->p, sbt_get_blob(c, f)->len);
		break;
	case SBT_T_BLOB:
		put_hex(out, sbt_get_blob(c, f));
		break;
	case SBT_T_BOOL:
		if (v <= 1)
			buf_str(out, v ? "true" : "false");
		else
			buf_printf(out, "%" PRIu64, v);
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
		buf_printf(out, "%" PRIu64, v);
		break;
	}
}

void sbt_json_cmd(struct buf *out, const struct sbt_cmd *c, const struct sbt_names *names)
{
	const struct sbt_kind_desc *d = sbt_kind(c->kind);
	const char *name;

	buf_printf(out, "{\"seq\":%" PRIu64 ",\"kind\":", c->seq);
	if (d)
		buf_printf(out, "\"%s\"", d->name);
	else
		buf_printf(out, "%u", c->kind);
	buf_printf(out, ",\"flags\":%u,\"thread\":%u,\"ctx\":", c->flags, c->thread);
	put_id(out, c->ctx);
	buf_printf(out, ",\"stack\":%u,\"result\":%u,\"corr\":%u,\"host_ns\":%" PRIu64, c->stack, c->result, c->corr, c->host_ns);
	if (c->gpu_start_ns || c->gpu_end_ns)
		buf_printf(out, ",\"gpu_start_ns\":%" PRIu64 ",\"gpu_end_ns\":%" PRIu64, c->gpu_start_ns, c->gpu_end_ns);
	for (const struct sbt_field *f = d ? d->fields : NULL; f && f->name; f++) {
		buf_printf(out, ",\"%s\":", f->name);
		put_value(out, c, f);
	}
	name = c->kind == SBT_LAUNCH && names && names->kernel ? names->kernel(names->arg, (uint32_t)c->u.launch.kernel) : NULL;
	if (name) {
		buf_str(out, ",\"kernel_name\":");
		sbt_json_string(out, name, strlen(name));
	}
	buf_byte(out, '}');
}
