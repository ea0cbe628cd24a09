/* SPDX-License-Identifier: Apache-2.0
 *
 * A compressed column, see pack.h.
 */
#include "report/core/pack.h"

#include <errno.h>
#include <string.h>

enum { RAW_MAX = 1 << 16 };

/* Compresses what is there. */
static void compress(struct pack *p)
{
	if (!p->squeeze)
		p->squeeze = squeeze_new(SQUEEZE_ZLIB);
	squeeze_put(p->squeeze, p->raw.data, p->raw.len, &p->out);
	buf_clear(&p->raw);
}

static void added(struct pack *p, size_t n)
{
	p->size += n;
	if (p->raw.len >= RAW_MAX)
		compress(p);
}

void pack_u64(struct pack *p, uint64_t v)
{
	uint8_t *to = buf_room(&p->raw, 10);
	size_t n = 0;

	for (; v >= 0x80; v >>= 7)
		to[n++] = (uint8_t)(v | 0x80);
	to[n++] = (uint8_t)v;
	p->raw.len += n;
	added(p, n);
}

void pack_i64(struct pack *p, int64_t v)
{
	pack_u64(p, (uint64_t)v << 1 ^ (uint64_t)(v >> 63));
}

void pack_bytes(struct pack *p, const void *bytes, size_t n)
{
	while (n) {
		const size_t some = n < RAW_MAX ? n : RAW_MAX;

		buf_add(&p->raw, bytes, some);
		added(p, some);
		bytes = (const uint8_t *)bytes + some;
		n -= some;
	}
}

static void base64(struct buf *out, const uint8_t *p, size_t n)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	uint8_t *to = buf_room(out, (n + 2) / 3 * 4);

	out->len += (n + 2) / 3 * 4;
	for (; n; p += 3, to += 4) {
		const size_t k = n < 3 ? n : 3;
		const uint32_t v = (uint32_t)p[0] << 16 | (k > 1 ? (uint32_t)p[1] << 8 : 0) |
				   (k > 2 ? p[2] : 0);

		to[0] = (uint8_t)digits[v >> 18];
		to[1] = (uint8_t)digits[v >> 12 & 63];
		to[2] = k > 1 ? (uint8_t)digits[v >> 6 & 63] : '=';
		to[3] = k > 2 ? (uint8_t)digits[v & 63] : '=';
		n -= k;
	}
}

struct err *pack_end(struct pack *p, FILE *f, unsigned trace, const char *name)
{
	enum { STEP = 48 * 1024 }; /* a multiple of 3 */
	struct buf text = BUF_INIT;
	struct err *e = NULL;
	bool ok;

	compress(p);
	squeeze_end(p->squeeze, &p->out);
	ok = fprintf(f, "<script type=\"text/plain\" id=\"t%u-%s\">", trace, name) > 0;
	for (size_t at = 0; ok && at < p->out.len; at += STEP) {
		buf_clear(&text);
		base64(&text, p->out.data + at, p->out.len - at < STEP ? p->out.len - at : STEP);
		ok = fwrite(text.data, 1, text.len, f) == text.len;
	}
	ok = ok && fputs("</script>\n", f) >= 0;
	if (!ok)
		e = err_sys(errno, "cannot write the report");
	buf_free(&text);
	pack_free(p);
	return e;
}

void pack_free(struct pack *p)
{
	squeeze_free(p->squeeze);
	buf_free(&p->raw);
	buf_free(&p->out);
	*p = (struct pack){0};
}
