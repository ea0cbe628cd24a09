/* SPDX-License-Identifier: Apache-2.0
 *
 * Answers: a JSON document and what is in it, by path. jansson reads it, at the first question.
 *
 * Surprise: tsdb's numbers have up to 64 bits, and jansson's integers are signed. An integer that
 * does not fit is given to jansson as {"": "18446744073709551615"}, which nothing else looks like.
 */
#include <ctype.h>
#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include "library/ts-session.h"

enum { DIGITS_MIN = 19 }; /* of an integer that may not fit */

struct ts_answer {
	char *text, *notes;
	json_t *root; /* NULL: not read yet, or text that is no JSON */
	bool read;
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
	json_decref(a->root);
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

/* Whether n characters are an integer that a signed one of 64 bits cannot hold. */
static bool is_wide(const char *p, size_t n)
{
	const bool minus = *p == '-';

	if (n < DIGITS_MIN || n - minus != strspn(p + minus, "0123456789") || p[minus] == '0')
		return false;
	errno = 0;
	(void)strtoll(p, NULL, 10);
	return errno == ERANGE;
}

/* Copies the text that begins at *p, and moves *p behind it. NUL would end the caller's text: it
 * becomes U+FFFD. */
static char *copy_text(char *to, const char **p)
{
	const char *at = *p;

	*to++ = *at++;
	while (*at && *at != '"') {
		if (!strncmp(at, "\\u0000", 6)) {
			to = mempcpy(to, "\\ufffd", 6);
			at += 6;
			continue;
		}
		if (*at == '\\' && at[1])
			*to++ = *at++;
		*to++ = *at++;
	}
	if (*at)
		*to++ = *at++;
	*p = at;
	return to;
}

/* The document as jansson can hold it; a heap string, NULL: no memory. */
static char *prepared(const char *p)
{
	const size_t n = strlen(p);
	char *text = malloc(n + n / 2 + 1), *to = text;

	while (text && *p) {
		const size_t number = strspn(p, "+-0123456789.eE");

		if (*p == '"') {
			to = copy_text(to, &p);
			continue;
		}
		if (is_wide(p, number)) {
			to = stpcpy(to, "{\"\":\"");
			to = mempcpy(to, p, number);
			to = stpcpy(to, "\"}");
		} else {
			to = mempcpy(to, p, number ? number : 1);
		}
		p += number ? number : 1;
	}
	if (text)
		*to = 0;
	return text;
}

/* The digits of an integer that did not fit; NULL: it is something else. */
static const char *wide(const json_t *v)
{
	const char *digits = json_is_object(v) && json_object_size(v) == 1
				     ? json_string_value(json_object_get(v, ""))
				     : NULL;

	return digits && is_wide(digits, strlen(digits)) ? digits : NULL;
}

static json_t *root(const ts_answer *answer)
{
	ts_answer *a = (ts_answer *)(uintptr_t)answer; /* a cache: one thread at a time is here */
	char *text;

	if (a->read)
		return a->root;
	text = prepared(a->text);
	if (!text)
		return NULL;
	a->root = json_loads(text, JSON_DECODE_ANY, NULL);
	a->read = true;
	free(text);
	return a->root;
}

bool library_is_json(const ts_answer *a)
{
	return root(a) != NULL;
}

/* --- paths --- */

static json_t *member(const json_t *of, const char *name, size_t n)
{
	char *copy = strndup(name, n);
	json_t *v = copy && !wide(of) ? json_object_get(of, copy) : NULL;

	free(copy);
	return v;
}

/* One step of a path; *path is moved behind it. NULL: there is nothing, or it is no path. */
static json_t *step(const json_t *at, const char **path)
{
	const char *p = *path;
	char *end;
	uint64_t i;

	if (*p != '[') {
		p += *p == '.';
		*path = p + strcspn(p, ".[");
		return *path > p ? member(at, p, (size_t)(*path - p)) : NULL;
	}
	if (!isdigit((unsigned char)p[1]))
		return NULL;
	errno = 0;
	i = strtoull(p + 1, &end, 10);
	*path = end + 1;
	return *end != ']' || errno ? NULL : json_array_get(at, i);
}

static int find(const ts_answer *a, const char *path, const void *ret, const json_t **ret_at)
{
	const json_t *at;
	const char *rest = path;

	if (!a || !path || !ret)
		return result_of(err_new(
			ERR_USAGE, "an answer, a path and a place for the result are needed"));
	at = root(a);
	if (!at)
		return result_of(err_new(ERR_USAGE, "the answer is text, not JSON"));
	while (at && *rest)
		at = step(at, &rest);
	if (!at || json_is_null(at))
		return result_of(err_new(ERR_NOT_FOUND, "the answer has nothing at \"%s\"", path));
	*ret_at = at;
	return TS_OK;
}

static int wrong_type(const char *path, const char *what)
{
	return result_of(err_new(ERR_USAGE, "what the answer has at \"%s\" is no %s", path, what));
}

int ts_answer_count(const ts_answer *a, const char *path, uint64_t *ret)
{
	const json_t *at;
	const int r = find(a, path, ret, &at);

	if (r)
		return r;
	if (wide(at) || (!json_is_array(at) && !json_is_object(at)))
		return wrong_type(path, "list or object");
	*ret = json_is_array(at) ? json_array_size(at) : json_object_size(at);
	return TS_OK;
}

/* All of a text as a number; false: it is none of 64 bits without a sign. */
static bool whole(const char *text, int base, uint64_t *ret)
{
	char *end;

	errno = 0;
	*ret = strtoull(text, &end, base);
	return *text != '-' && !errno && !*end;
}

int ts_answer_number(const ts_answer *a, const char *path, uint64_t *ret)
{
	const json_t *at;
	const char *text;
	uint64_t n;
	const int r = find(a, path, ret, &at);

	if (r)
		return r;
	text = json_string_value(at);
	if (json_is_boolean(at))
		n = json_is_true(at);
	else if (json_is_integer(at) && json_integer_value(at) >= 0)
		n = (uint64_t)json_integer_value(at);
	else if (wide(at) ? !whole(wide(at), 10, &n)
			  : !text || strncmp(text, "0x", 2) != 0 ||
				    !isxdigit((unsigned char)text[2]) || !whole(text, 16, &n))
		return wrong_type(path, "whole number of 64 bits");
	*ret = n;
	return TS_OK;
}

int ts_answer_real(const ts_answer *a, const char *path, double *ret)
{
	const json_t *at;
	const int r = find(a, path, ret, &at);

	if (r)
		return r;
	if (!json_is_number(at) && !wide(at))
		return wrong_type(path, "number");
	*ret = wide(at) ? strtod(wide(at), NULL) : json_number_value(at);
	return TS_OK;
}

int ts_answer_string(ts_answer *a, const char *path, const char **ret)
{
	const json_t *at;
	const int r = find(a, path, ret, &at);

	if (r)
		return r;
	if (!json_is_string(at))
		return wrong_type(path, "text");
	*ret = json_string_value(at);
	return TS_OK;
}
