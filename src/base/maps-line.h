/* SPDX-License-Identifier: Apache-2.0
 *
 * One line of /proc/PID/maps (proc(5)). Inline, without the C library's parsers and without memory
 * of its own, because the agent reads its own maps where it may call nothing else; for all rooms.
 */
#ifndef TSDB_MAPS_LINE_H
#define TSDB_MAPS_LINE_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

struct maps_line {
	uint64_t start, end, offset, inode;
	bool r, w, x, shared;
	char *path; /* in the text: "/a file", "[heap]", ""; the kernel writes a newline in a name
		       as \012 */
};

static inline uint64_t maps_number(char **s, unsigned base)
{
	uint64_t v = 0;

	for (;; (*s)++) {
		const unsigned c = (unsigned char)**s;
		const unsigned digit = c - '0' < 10 ? c - '0' : c - 'a' < 6 ? c - 'a' + 10 : base;

		if (digit >= base)
			return v;
		v = v * base + digit;
	}
}

static inline void maps_spaces(char **s)
{
	while (**s == ' ')
		(*s)++;
}

/* "55d0-55e0 r-xp 00001000 08:01 123   /path", NUL-terminated; a newline at the end is cut off.
 * False when it is not like that: *ret is undefined. */
static inline bool maps_line_parse(struct maps_line *ret, char *text)
{
	const char *perms;

	ret->start = maps_number(&text, 16);
	if (*text++ != '-')
		return false;
	ret->end = maps_number(&text, 16);
	if (*text++ != ' ' || strnlen(text, 5) < 5 || text[4] != ' ' || ret->start >= ret->end)
		return false;
	perms = text;
	ret->r = perms[0] == 'r';
	ret->w = perms[1] == 'w';
	ret->x = perms[2] == 'x';
	ret->shared = perms[3] == 's';
	text += 5;
	ret->offset = maps_number(&text, 16);
	if (*text++ != ' ')
		return false;
	text += strcspn(text, " \n"); /* the device */
	maps_spaces(&text);
	ret->inode = maps_number(&text, 10);
	maps_spaces(&text);
	text[strcspn(text, "\n")] = '\0';
	ret->path = text;
	return true;
}

#define MAPS_DELETED " (deleted)"

/* Whether the kernel marks the file as deleted. */
static inline bool maps_line_deleted(const struct maps_line *l)
{
	const size_t n = strlen(l->path), mark = sizeof MAPS_DELETED - 1;

	return n >= mark && !strcmp(l->path + n - mark, MAPS_DELETED);
}

/* Removes that mark from the path, if it is there. */
static inline void maps_line_undelete(struct maps_line *l)
{
	if (maps_line_deleted(l))
		l->path[strlen(l->path) - (sizeof MAPS_DELETED - 1)] = '\0';
}

#endif
