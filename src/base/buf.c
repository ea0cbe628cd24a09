/* SPDX-License-Identifier: Apache-2.0
 *
 * The growing buffer and the allocation helpers, see buf.h.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/buf.h"
#include "base/memory-door.h"

_Thread_local struct memory_door *memory_door;

void memory_out(void)
{
	if (memory_door)
		longjmp(memory_door->back, 1);
	fputs("tsdb: out of memory\n", stderr);
	abort();
}

void *xmalloc(size_t n)
{
	void *p = malloc(n ? n : 1);

	if (!p)
		memory_out();
	return p;
}

void *xcalloc(size_t n, size_t size)
{
	void *p = calloc(n ? n : 1, size ? size : 1);

	if (!p)
		memory_out();
	return p;
}

void *xrealloc(void *p, size_t n)
{
	p = realloc(p, n ? n : 1);
	if (!p)
		memory_out();
	return p;
}

char *xstrdup(const char *s)
{
	char *p = strdup(s);

	if (!p)
		memory_out();
	return p;
}

char *xasprintf(const char *fmt, ...)
{
	va_list ap;
	char *s;

	va_start(ap, fmt);
	if (vasprintf(&s, fmt, ap) < 0)
		memory_out();
	va_end(ap);
	return s;
}

void buf_free(struct buf *b)
{
	free(b->data);
	*b = (struct buf)BUF_INIT;
}

void buf_clear(struct buf *b)
{
	b->len = 0;
}

uint8_t *buf_grow(struct buf *b, size_t n)
{
	if (n > SIZE_MAX / 2 - b->len)
		memory_out();
	if (!b->data || b->cap - b->len < n) {
		size_t cap = b->cap ? b->cap * 2 : 64;

		while (cap < b->len + n)
			cap *= 2;
		b->data = xrealloc(b->data, cap);
		b->cap = cap;
	}
	return b->data + b->len;
}

void buf_add(struct buf *b, const void *p, size_t n)
{
	if (!n)
		return;
	memcpy(buf_room(b, n), p, n);
	b->len += n;
}

void buf_byte(struct buf *b, uint8_t v)
{
	*buf_room(b, 1) = v;
	b->len++;
}

void buf_str(struct buf *b, const char *s)
{
	buf_add(b, s, strlen(s));
}

void buf_vprintf(struct buf *b, const char *fmt, va_list ap)
{
	va_list again;
	int n;

	va_copy(again, ap);
	n = vsnprintf(NULL, 0, fmt, ap);
	BUG_ON(n < 0);
	vsnprintf((char *)buf_room(b, (size_t)n + 1), (size_t)n + 1, fmt, again);
	va_end(again);
	b->len += (size_t)n;
}

void buf_printf(struct buf *b, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	buf_vprintf(b, fmt, ap);
	va_end(ap);
}

const char *buf_cstr(struct buf *b)
{
	*buf_room(b, 1) = 0;
	return (const char *)b->data;
}

char *buf_steal(struct buf *b)
{
	char *s = (char *)(uintptr_t)buf_cstr(b);

	*b = (struct buf)BUF_INIT;
	return s;
}
