/* SPDX-License-Identifier: Apache-2.0
 *
 * Text that is safe to show, see text.h.
 */
#include "base/text.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

size_t text_utf8_length(const void *text, size_t n)
{
	const uint8_t *p = text;
	size_t len = p[0] < 0x80		    ? 1
		     : p[0] >= 0xc2 && p[0] <= 0xdf ? 2
		     : (p[0] & 0xf0) == 0xe0	    ? 3
		     : p[0] >= 0xf0 && p[0] <= 0xf4 ? 4
						    : 0;

	if (!len || len > n)
		return 0;
	for (size_t i = 1; i < len; i++)
		if ((p[i] & 0xc0) != 0x80)
			return 0;
	if ((p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xed && p[1] > 0x9f) ||
		(p[0] == 0xf0 && p[1] < 0x90) || (p[0] == 0xf4 && p[1] > 0x8f))
		return 0;
	return len;
}

static const struct {
	unsigned first, last;
} unsafe[] = {{0x00, 0x1f}, {0x7f, 0x9f}, {0x61c, 0x61c}, {0x200e, 0x200f}, {0x2028, 0x202e},
	{0x2066, 0x2069}};

static unsigned code_point(const uint8_t *p, size_t len)
{
	unsigned v = len == 1	? p[0]
		     : len == 2 ? p[0] & 0x1f
		     : len == 3 ? p[0] & 0x0f
				: p[0] & 0x07;

	for (size_t i = 1; i < len; i++)
		v = v << 6 | (p[i] & 0x3f);
	return v;
}

static bool is_unsafe(unsigned v)
{
	for (size_t i = 0; i < sizeof unsafe / sizeof *unsafe; i++)
		if (v >= unsafe[i].first && v <= unsafe[i].last)
			return true;
	return false;
}

unsigned text_unsafe(const void *p, size_t len)
{
	const unsigned v = code_point(p, len);

	return is_unsafe(v) ? v : 0;
}

/* Whether the sequence at p (len 0: no valid one) is written out. */
static bool is_written_out(const uint8_t *p, size_t len, unsigned flags)
{
	if (flags & TEXT_LINES && (*p == '\n' || *p == '\t'))
		return false;
	return !len || is_unsafe(code_point(p, len));
}

size_t text_plain(const void *text, size_t n, unsigned flags)
{
	const uint8_t *p = text;
	size_t i = 0;

	while (i < n && ((p[i] >= 0x20 && p[i] < 0x7f) ||
				(flags & TEXT_LINES && (p[i] == '\n' || p[i] == '\t')))) {
		if (flags & TEXT_QUOTE && (p[i] == '"' || p[i] == '\\'))
			break;
		i++;
	}
	return i;
}

void text_safe(struct buf *out, const void *text, size_t n, unsigned flags)
{
	const uint8_t *p = text, *end = p + n;

	while (p < end) {
		const size_t run = text_plain(p, (size_t)(end - p), flags);

		buf_add(out, p, run);
		p += run;
		if (p == end)
			break;

		const size_t valid = text_utf8_length(p, (size_t)(end - p)),
			     len = valid ? valid : 1;

		if (flags & TEXT_QUOTE && (*p == '"' || *p == '\\'))
			buf_byte(out, '\\');
		if (is_written_out(p, valid, flags))
			for (size_t i = 0; i < len; i++)
				buf_printf(out, "\\x%02x", p[i]);
		else
			buf_add(out, p, len);
		p += len;
	}
}

bool text_is_safe(const char *s)
{
	const size_t n = strlen(s), run = text_plain(s, n, 0);

	if (run == n)
		return true;
	char *shown = text_safe_dup(s + run, n - run);
	const bool same = !strcmp(shown, s + run);

	free(shown);
	return same;
}

char *text_safe_dup(const char *s, size_t n)
{
	struct buf b = BUF_INIT;

	text_safe(&b, s, n, 0);
	return buf_steal(&b);
}

void text_safe_tail(struct buf *b, size_t from)
{
	struct buf rest = BUF_INIT;

	from += text_plain(b->data + from, b->len - from, TEXT_LINES);
	if (from == b->len)
		return;
	buf_add(&rest, b->data + from, b->len - from);
	b->len = from;
	text_safe(b, rest.data, rest.len, TEXT_LINES);
	buf_free(&rest);
}

void text_print(FILE *f, const char *fmt, ...)
{
	struct buf b = BUF_INIT;
	va_list ap;

	va_start(ap, fmt);
	buf_vprintf(&b, fmt, ap);
	va_end(ap);
	text_safe_tail(&b, 0);
	fwrite(b.data, 1, b.len, f);
	buf_free(&b);
}
