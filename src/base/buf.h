/* SPDX-License-Identifier: Apache-2.0
 *
 * A growing byte buffer, also used as a string builder. Owned by whoever declares it
 * (`struct buf b = BUF_INIT;` ... `buf_free(&b)`). Growing aborts when memory is out, or
 * leaves by the door of memory-door.h: host-side code only, the agent never uses it.
 */
#ifndef TS_BUF_H
#define TS_BUF_H

#include <stddef.h>
#include <stdint.h>
#include <stdarg.h>
#include "base/err.h"

struct buf {
	uint8_t *data; /* NULL while empty */
	size_t len;    /* bytes used */
	size_t cap;    /* bytes allocated */
};

#define BUF_INIT                                                                                   \
	{                                                                                          \
		0                                                                                  \
	}

void buf_free(struct buf *b);
/* Keeps the memory, forgets the contents. */
void buf_clear(struct buf *b);
/* Makes room for n more bytes and returns where they go, never NULL. The caller fills them and adds
 * to b->len. */
uint8_t *buf_grow(struct buf *b, size_t n);
static inline uint8_t *buf_room(struct buf *b, size_t n)
{
	return b->data && b->cap - b->len >= n ? b->data + b->len : buf_grow(b, n);
}
void buf_add(struct buf *b, const void *p, size_t n);
void buf_byte(struct buf *b, uint8_t v);
void buf_str(struct buf *b, const char *s);
void buf_printf(struct buf *b, const char *fmt, ...) TS_PRINTF(2, 3);
void buf_vprintf(struct buf *b, const char *fmt, va_list ap);
/* The contents as a NUL-terminated string (the NUL is not counted in len). Valid until the next
 * change. */
const char *buf_cstr(struct buf *b);
/* The contents as a heap string owned by the caller; the buffer is empty afterwards. */
char *buf_steal(struct buf *b);

/* malloc, calloc, realloc and strdup that do not return when memory is out. */
void *xmalloc(size_t n) __attribute__((malloc, returns_nonnull));
void *xcalloc(size_t n, size_t size) __attribute__((malloc, returns_nonnull));
void *xrealloc(void *p, size_t n) __attribute__((returns_nonnull));
/* Grows the heap array p, which holds n of cap elements, when it has no room for one more. */
#define MAKE_ROOM(p, n, cap)                                                                       \
	do {                                                                                       \
		if ((n) == (cap)) {                                                                \
			(cap) = (cap) ? 2 * (cap) : 16;                                            \
			(p) = xrealloc((p), (size_t)(cap) * sizeof *(p));                          \
		}                                                                                  \
	} while (0)
char *xstrdup(const char *s) __attribute__((malloc, returns_nonnull));
char *xasprintf(const char *fmt, ...) TS_PRINTF(1, 2) __attribute__((returns_nonnull));

#endif
