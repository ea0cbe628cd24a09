/* SPDX-License-Identifier: Apache-2.0
 *
 * Makes text safe to show. Text from a trace, a process or a kernel may hold bytes that a terminal
 * obeys: escape sequences that repaint the screen or type for the user, and marks that reverse the
 * direction of the text so that it reads as something else. These functions write such characters
 * out as \xNN instead. Not for the agent (it needs buf.h).
 */
#ifndef TS_TEXT_H
#define TS_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include "base/buf.h"

enum {
	TEXT_QUOTE =
		1, /* quotes and backslashes get a backslash: the text goes between double quotes */
	TEXT_LINES = 2, /* newline and tab pass: for text that tsdb itself broke into lines */
};

/* The length of the UTF-8 sequence at p, which has n > 0 bytes, or 0 when it is not valid (RFC
 * 3629, section 4). */
size_t text_utf8_length(const void *p, size_t n);

/* How many bytes from p on are plain ASCII, which nearly all text is and text_safe() leaves as it
 * is: of n at the most. */
size_t text_plain(const void *p, size_t n, unsigned flags);

/*
 * Appends the n bytes at p, with every byte written as \xNN that belongs to a control character
 * (U+0000 to U+001F, U+007F to U+009F), to one that reorders text (U+061C, U+200E, U+200F, U+202A
 * to U+202E, U+2066 to U+2069; Unicode UAX #9, 2), to a line or paragraph separator (U+2028,
 * U+2029), or to no valid UTF-8. flags: TEXT_*.
 */
void text_safe(struct buf *out, const void *p, size_t n, unsigned flags);

/* Whether text_safe() leaves the string as it is. */
bool text_is_safe(const char *s);

/* text_safe() of the n bytes at s as a heap string, which the caller frees. */
char *text_safe_dup(const char *s, size_t n);

/* Makes the bytes of b from offset `from` on safe in place, with TEXT_LINES. When there is nothing
 * to change, it only reads each byte once. */
void text_safe_tail(struct buf *b, size_t from);

/* printf() to f, made safe with TEXT_LINES: for what goes to stderr. */
void text_print(FILE *f, const char *fmt, ...) TS_PRINTF(2, 3);

/* The code point if the valid sequence at p with this length is one that text_safe() writes out; 0
 * when it may pass, or is U+0000. */
unsigned text_unsafe(const void *p, size_t len);

#endif
