/* SPDX-License-Identifier: Apache-2.0
 *
 * Answers: a JSON document and what is in it, by path. The text is read anew for each question; a
 * list's elements are counted from its beginning.
 */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "library/ts-session.h"

enum { DEPTH_MAX = 64 };

struct string {
	struct string *next;
	char text[];
};
struct ts_answer {
	char *text, *notes;
	struct string *strings; /* that were given out */
};

int library_answer(ts_answer **ret, char *text, char *notes)
{
	ts_answer *a = text && notes ? calloc(1, sizeof *a) : NULL;

	if (!a) {
		free(text);
		free(notes);
		return result_of(err_nomem());
	}
	a->text = text;
	a->notes = notes;
	*ret = a;
	return TS_OK;
}

void ts_answer_free(ts_answer *a)
{
	if (!a)
		return;
	while (a->strings) {
		struct string *s = a->strings;

		a->strings = s->next;
		free(s);
	}
	free(a->text);
	free(a->notes);
	free(a);
}

const char *ts_answer_text(const ts_answer *a)
{
	return a ? a->text : "";
}

const char *ts_answer_notes(const ts_answer *a)
{
	return a ? a->notes : "";
}

/* --- reading JSON --- */

static const char *blanks(const char *p)
{
	return p + strspn(p, " \t\r\n");
}

/* Behind the text that begins at p; NULL: it is none. */
static const char *skip_string(const char *p)
{
	for (p++; *p && *p != '"'; p++) {
		if (*p == '\\' && p[1])
			p++;
	}
	return *p ? p + 1 : NULL;
}

static const char *skip_value(const char *p, unsigned depth);

/* Behind a list or an object; *ret_count: its elements. */
static const char *skip_group(const char *p, unsigned depth, uint64_t *ret_count)
{
	const char end = *p == '[' ? ']' : '}';

	*ret_count = 0;
	p = blanks(p + 1);
	if (*p == end)
		return p + 1;
	for (;;) {
		if (end == '}') {
			p = *p == '"' ? skip_string(p) : NULL;
			if (!p || *(p = blanks(p)) != ':')
				return NULL;
			p = blanks(p + 1);
		}
		p = skip_value(p, depth + 1);
		if (!p)
			return NULL;
		++*ret_count;
		p = blanks(p);
		if (*p == end)
			return p + 1;
		if (*p != ',')
			return NULL;
		p = blanks(p + 1);
	}
}

static const char *skip_value(const char *p, unsigned depth)
{
	static const char *const words[] = {"true", "false", "null"};
	uint64_t n;

	if (depth > DEPTH_MAX)
		return NULL;
	if (*p == '"')
		return skip_string(p);
	if (*p == '[' || *p == '{')
		return skip_group(p, depth, &n);
	for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
		if (!strncmp(p, words[i], strlen(words[i])))
			return p + strlen(words[i]);
	}
	n = strspn(p, "+-0123456789.eE");
	return n ? p + n : NULL;
}

bool library_is_json(const char *text)
{
	const char *end = skip_value(blanks(text), 0);

	return end && !*blanks(end);
}

/* The i-th element of the list at p; NULL: there is none. */
static const char *element(const char *p, uint64_t i)
{
	if (*p != '[' || *(p = blanks(p + 1)) == ']')
		return NULL;
	while (i--) {
		p = skip_value(p, 1);
		if (!p || *(p = blanks(p)) != ',')
			return NULL;
		p = blanks(p + 1);
	}
	return p;
}

/* The member of the object at p that has this name, of n bytes. */
static const char *member(const char *p, const char *name, size_t n)
{
	if (*p != '{')
		return NULL;
	p = blanks(p + 1);
	while (*p == '"') {
		const char *end = skip_string(p);
		const bool is = end && (size_t)(end - p) == n + 2 && !memcmp(p + 1, name, n);

		p = end ? blanks(end) : NULL;
		if (!p || *p != ':')
			return NULL;
		p = blanks(p + 1);
		if (is)
			return p;
		p = skip_value(p, 1);
		if (!p || *(p = blanks(p)) != ',')
			return NULL;
		p = blanks(p + 1);
	}
	return NULL;
}

/* One step of a path; *path is moved behind it. */
static const char *step(const char *at, const char **path)
{
	const char *p = *path;

	if (*p == '[') {
		char *end;
		uint64_t i;

		if (!isdigit((unsigned char)p[1]))
			return NULL;
		errno = 0;
		i = strtoull(p + 1, &end, 10);
		if (*end != ']' || errno)
			return NULL;
		*path = end + 1;
		return element(at, i);
	}
	p += *p == '.';
	*path = p + strcspn(p, ".[");
	return *path > p ? member(at, p, (size_t)(*path - p)) : NULL;
}

static int find(const ts_answer *a, const char *path, const char **ret)
{
	const char *at, *rest = path;

	if (!a || !path)
		return result_of(err_new(ERR_USAGE, "an answer and a path are needed"));
	if (!library_is_json(a->text))
		return result_of(err_new(ERR_USAGE, "the answer is text, not JSON"));
	at = blanks(a->text);
	while (at && *rest)
		at = step(at, &rest);
	if (!at || !strncmp(at, "null", 4))
		return result_of(err_new(ERR_NOT_FOUND, "the answer has nothing at \"%s\"", path));
	*ret = at;
	return TS_OK;
}

static int wrong_type(const char *path, const char *what)
{
	return result_of(err_new(ERR_USAGE, "what the answer has at \"%s\" is no %s", path, what));
}

int ts_answer_count(const ts_answer *a, const char *path, uint64_t *ret)
{
	const char *at;
	int r = find(a, path, &at);

	if (r)
		return r;
	if (*at != '[' && *at != '{')
		return wrong_type(path, "list or object");
	return skip_group(at, 0, ret) ? TS_OK : wrong_type(path, "list or object");
}

int ts_answer_number(const ts_answer *a, const char *path, uint64_t *ret)
{
	const char *at;
	char *end;
	uint64_t n;
	int r = find(a, path, &at);

	if (r)
		return r;
	if (*at == 't' || *at == 'f') {
		*ret = *at == 't';
		return TS_OK;
	}
	errno = 0;
	if (!strncmp(at, "\"0x", 3) && isxdigit((unsigned char)at[3])) {
		n = strtoull(at + 1, &end, 16);
		if (*end != '"')
			return wrong_type(path, "number");
	} else if (isdigit((unsigned char)*at)) {
		n = strtoull(at, &end, 10);
		if (*end && strchr(".eE", *end))
			return wrong_type(path, "whole number");
	} else {
		return wrong_type(path, "number");
	}
	if (errno)
		return wrong_type(path, "number of 64 bits");
	*ret = n;
	return TS_OK;
}

int ts_answer_real(const ts_answer *a, const char *path, double *ret)
{
	const char *at;
	int r = find(a, path, &at);

	if (r)
		return r;
	if (*at != '-' && !isdigit((unsigned char)*at))
		return wrong_type(path, "number");
	*ret = strtod(at, NULL);
	return TS_OK;
}

/* --- texts --- */

static unsigned hex4(const char *p)
{
	char digits[5] = {0};

	strncpy(digits, p, 4);
	return (unsigned)strtoul(digits, NULL, 16);
}

static char *put_utf8(char *to, unsigned c)
{
	if (c < 0x80) {
		*to++ = (char)c;
	} else if (c < 0x800) {
		*to++ = (char)(0xc0 | c >> 6);
		*to++ = (char)(0x80 | (c & 0x3f));
	} else if (c < 0x10000) {
		*to++ = (char)(0xe0 | c >> 12);
		*to++ = (char)(0x80 | (c >> 6 & 0x3f));
		*to++ = (char)(0x80 | (c & 0x3f));
	} else {
		*to++ = (char)(0xf0 | c >> 18);
		*to++ = (char)(0x80 | (c >> 12 & 0x3f));
		*to++ = (char)(0x80 | (c >> 6 & 0x3f));
		*to++ = (char)(0x80 | (c & 0x3f));
	}
	return to;
}

/* The character that \uXXXX at *p means; moves *p to the last of its digits. Half of a pair, and 0,
 * which would end the text, become U+FFFD. */
static unsigned unicode(const char **p)
{
	unsigned c = hex4(*p + 2);

	*p += 5;
	if (c >= 0xd800 && c < 0xdc00 && !strncmp(*p + 1, "\\u", 2)) {
		const unsigned low = hex4(*p + 3);

		if (low >= 0xdc00 && low < 0xe000) {
			*p += 6;
			return 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
		}
	}
	return !c || (c >= 0xd800 && c < 0xe000) ? 0xfffd : c;
}

/* Copies the text at p, up to its end, to `to`, which has room for as many bytes. */
static void unescape(char *to, const char *p, const char *end)
{
	static const char from[] = "bfnrt", is[] = "\b\f\n\r\t";

	for (; p < end; p++) {
		const char *plain;

		if (*p != '\\') {
			*to++ = *p;
		} else if (p[1] == 'u' && end - p >= 6) {
			to = put_utf8(to, unicode(&p));
		} else {
			plain = strchr(from, *++p);
			*to++ = plain ? is[plain - from] : *p;
		}
	}
	*to = 0;
}

int ts_answer_string(ts_answer *a, const char *path, const char **ret)
{
	const char *at, *end;
	struct string *s;
	int r = find(a, path, &at);

	if (r)
		return r;
	end = *at == '"' ? skip_string(at) : NULL;
	if (!end)
		return wrong_type(path, "text");
	s = malloc(sizeof *s + (size_t)(end - at));
	if (!s)
		return result_of(err_nomem());
	unescape(s->text, at + 1, end - 1);
	s->next = a->strings;
	a->strings = s;
	*ret = s->text;
	return TS_OK;
}
