/* SPDX-License-Identifier: Apache-2.0
 *
 * See ptx-text.h. Between a kernel's name and its body PTX has no braces and no semicolons but in
 * comments.
 */
#include "gpucode/ptx-text.h"

#include <string.h>

bool ptx_is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

bool ptx_is_name(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_' || c == '$' || c == '%';
}

const char *ptx_skip_comment(const char *p, const char *end)
{
	const char *at;

	if (end - p < 2 || p[0] != '/' || (p[1] != '/' && p[1] != '*'))
		return p;
	if (p[1] == '/')
		at = memchr(p, '\n', (size_t)(end - p));
	else
		at = memmem(p + 2, (size_t)(end - p - 2), "*/", 2);
	return !at ? end : at + (p[1] == '/' ? 1 : 2);
}

const char *ptx_skip(const char *p, const char *end)
{
	for (const char *from = NULL; p != from;) {
		from = p;
		while (p < end && ptx_is_space(*p))
			p++;
		p = ptx_skip_comment(p, end);
	}
	return p;
}

struct ptx_text ptx_word(const char *p, const char *end)
{
	struct ptx_text t = {p, p};

	while (t.end < end && (ptx_is_name(*t.end) || *t.end == '.' || *t.end == ':'))
		t.end++;
	return t;
}

bool ptx_begins(struct ptx_text word, const char *with)
{
	const size_t n = strlen(with);

	return (size_t)(word.end - word.p) >= n && !memcmp(word.p, with, n) &&
	       (word.p + n == word.end || word.p[n] == '.');
}

bool ptx_has(struct ptx_text t, const char *part)
{
	return memmem(t.p, (size_t)(t.end - t.p), part, strlen(part)) != NULL;
}

bool ptx_has_name(struct ptx_text t, const char *name)
{
	const size_t n = strlen(name);

	for (const char *p = t.p; (p = memmem(p, (size_t)(t.end - p), name, n)); p++)
		if ((p == t.p || !ptx_is_name(p[-1])) && (p + n == t.end || !ptx_is_name(p[n])))
			return true;
	return false;
}

static bool is_in_comment(struct ptx_text t, const char *at)
{
	for (const char *p = t.p; (p = memchr(p, '/', (size_t)(at - p)));) {
		const char *behind = ptx_skip_comment(p, t.end);

		if (behind > at)
			return true;
		p = behind == p ? p + 1 : behind;
	}
	return false;
}

/* As ptx_find_entry(), from a place in the text. */
static const char *next_entry(struct ptx_text t, const char *from, const char *kernel)
{
	static const char entry[] = ".entry";
	const size_t n = strlen(kernel);

	for (const char *p = from; (p = memmem(p, (size_t)(t.end - p), entry, sizeof entry - 1));) {
		const char *at = p;

		p = ptx_skip(p + sizeof entry - 1, t.end);
		if ((size_t)(t.end - p) > n && !memcmp(p, kernel, n) && !ptx_is_name(p[n]) &&
			!is_in_comment(t, at))
			return p + n;
	}
	return NULL;
}

const char *ptx_find_entry(struct ptx_text t, const char *kernel)
{
	return next_entry(t, t.p, kernel);
}

const char *ptx_close(const char *p, const char *end)
{
	for (int depth = 1; p < end;) {
		const char *behind = ptx_skip_comment(p, end);

		if (behind == p) {
			depth += (*p == '{') - (*p == '}');
			if (!depth)
				return p;
			behind++;
		}
		p = behind;
	}
	return end;
}

/* Behind the brace that opens the body of the entry whose name ends at p; NULL: it has none. */
static const char *find_open(const char *p, const char *end)
{
	for (p = ptx_skip(p, end); p < end && *p != '{' && *p != ';';)
		p = ptx_skip(p + 1, end);
	return p < end && *p == '{' ? p + 1 : NULL;
}

bool ptx_body(struct ptx_text t, const char *kernel, struct ptx_text *ret)
{
	const char *open = NULL;

	for (const char *p = t.p; !open && (p = next_entry(t, p, kernel));)
		open = find_open(p, t.end);
	if (open)
		*ret = (struct ptx_text){open, ptx_close(open, t.end)};
	return open != NULL;
}
