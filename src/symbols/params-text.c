/* SPDX-License-Identifier: Apache-2.0
 *
 * Names of a kernel's parameters by its declaration in a source, see kernel-params.h. There is no
 * preprocessor here: a macro, a directive or anything else that is not a plain list of types and
 * names ends the reading, and the parameters stay without names.
 */
#include "symbols/kernel-params.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include "base/buf.h"

enum { TOKENS_MAX = 64, TEXT_MAX = 128 };

struct token {
	const char *p;
	size_t n;
};

static bool is(const struct token *t, const char *word)
{
	return strlen(word) == t->n && !memcmp(t->p, word, t->n);
}

static bool is_word(const char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

/* Behind blanks and comments. */
static const char *skip(const char *p)
{
	for (;;) {
		const char *end;

		p += strspn(p, " \t\r\n");
		if (p[0] == '/' && p[1] == '/') {
			p += strcspn(p, "\n");
		} else if (p[0] == '/' && p[1] == '*') {
			end = strstr(p + 2, "*/");
			p = end ? end + 2 : p + strlen(p);
		} else {
			return p;
		}
	}
}

/* A word with its "::", a number, or one character. */
static const char *next(const char *p, struct token *ret)
{
	size_t n = 0;

	p = skip(p);
	while (is_word(p[n]) || (p[n] == ':' && p[n + 1] == ':') ||
		(n && p[n] == ':' && p[n - 1] == ':'))
		n++;
	if (!n && *p)
		n = 1;
	*ret = (struct token){p, n};
	return p + n;
}

/* --- types as text --- */

/* The words of C's integer and floating types in one order: "unsigned long". */
static bool base_name(const char *text, char ret[TEXT_MAX])
{
	static const char *const words[] = {"unsigned", "signed", "long", "short", "char", "int",
		"float", "double", "bool", "__int64"};
	enum { UNSIGNED, SIGNED, LONG, SHORT, CHAR, INT, FLOAT, DOUBLE, BOOL };
	unsigned have[sizeof words / sizeof *words] = {0};

	for (const char *p = text; *(p = skip(p));) {
		struct token t;
		unsigned i = 0;

		p = next(p, &t);
		while (i < sizeof words / sizeof *words && !is(&t, words[i]))
			i++;
		if (i == sizeof words / sizeof *words)
			return false;
		have[i]++;
	}
	if (have[CHAR] || have[FLOAT] || have[DOUBLE] || have[BOOL])
		snprintf(ret, TEXT_MAX, "%s%s%s",
			have[UNSIGNED] ? "u"
			: have[SIGNED] ? "s"
				       : "",
			have[LONG] ? "long " : "",
			have[CHAR]     ? "char"
			: have[FLOAT]  ? "float"
			: have[DOUBLE] ? "double"
				       : "bool");
	else
		snprintf(ret, TEXT_MAX, "%s%s", have[UNSIGNED] ? "u" : "",
			have[SHORT]	  ? "short"
			: have[LONG] == 1 ? "long"
			: have[LONG] >= 2 ? "longlong"
					  : "int");
	return true;
}

/* Names that mean a type of C's in every program (LP64). */
static const struct {
	const char *name, *is;
} standard[] = {{"size_t", "unsigned long"}, {"ptrdiff_t", "long"}, {"int8_t", "signed char"},
	{"uint8_t", "unsigned char"}, {"int16_t", "short"}, {"uint16_t", "unsigned short"},
	{"int32_t", "int"}, {"uint32_t", "unsigned"}, {"int64_t", "long"},
	{"uint64_t", "unsigned long"}};

/* One text for each type, however it was written; the part behind the last "::" of a name. */
static void canonical(const char *text, char ret[TEXT_MAX])
{
	const char *colon;
	size_t n = 0;

	for (const char *p = text; (colon = strstr(p, "::")) && !strchr(text, '<'); p = text)
		text = colon + 2;
	for (unsigned i = 0; i < sizeof standard / sizeof *standard; i++)
		if (!strcmp(text, standard[i].name))
			text = standard[i].is;
	if (base_name(text, ret))
		return;
	for (const char *p = text; *p && n + 1 < TEXT_MAX; p++)
		if (!isspace((unsigned char)*p))
			ret[n++] = *p;
	ret[n] = 0;
}

/* Whether a type is `stars` pointers to what text names. */
static bool agrees(const struct lang_type *t, const char *text, unsigned stars)
{
	char have[TEXT_MAX], want[TEXT_MAX], raw[TEXT_MAX];

	for (; stars; stars--) {
		if (!t || t->kind != LANG_POINTER || t->is_reference)
			return false;
		t = t->target;
	}
	if (!t)
		return !strcmp(text, "void");
	if (t->kind == LANG_VOID && !strcmp(text, "void"))
		return true;
	if (t->kind == LANG_POINTER || t->kind == LANG_FUNCTION || !t->name ||
		strlen(t->name) >= TEXT_MAX || strlen(text) >= TEXT_MAX)
		return false;
	snprintf(raw, sizeof raw, "%s", t->name);
	canonical(raw, have);
	canonical(text, want);
	return !strcmp(have, want);
}

/* --- a parameter --- */

static bool is_qualifier(const struct token *t)
{
	static const char *const words[] = {"const", "volatile", "__restrict__", "__restrict",
		"restrict", "struct", "class", "enum", "union", "typename", "__grid_constant__"};

	for (unsigned i = 0; i < sizeof words / sizeof *words; i++)
		if (is(t, words[i]))
			return true;
	return false;
}

struct param {
	struct token v[TOKENS_MAX];
	unsigned n, stars;
};

static bool add_token(struct param *p, const struct token *t)
{
	if (is_qualifier(t))
		return true;
	if (is(t, "*")) {
		p->stars++;
		return true;
	}
	if (p->n == TOKENS_MAX || !(is_word(*t->p) || *t->p == ':' || strchr("<>,[]", *t->p)))
		return false;
	p->v[p->n++] = *t;
	return true;
}

/* Whether the parameter is of that type; its name, from malloc. */
static bool finish(struct param *p, const struct lang_type *type, char **ret_name)
{
	struct buf text = BUF_INIT;
	char base[TEXT_MAX];
	bool ok;

	*ret_name = NULL;
	if (p->n >= 3 && is(&p->v[p->n - 1], "]")) { /* "g[]" or "g[4]" */
		p->n -= is(&p->v[p->n - 2], "[") ? 2 : 3;
		if (!is(&p->v[p->n], "["))
			return false;
		p->stars++;
	}
	if (p->n < 2 || !(isalpha((unsigned char)*p->v[p->n - 1].p) || *p->v[p->n - 1].p == '_'))
		return false;
	*ret_name = strndup(p->v[p->n - 1].p, p->v[p->n - 1].n);
	BUG_ON(!*ret_name);
	for (unsigned i = 0; i + 1 < p->n; i++)
		buf_printf(&text, "%s%.*s", i ? " " : "", (int)p->v[i].n, p->v[i].p);
	ok = !base_name(*ret_name, base) && !strchr(*ret_name, ':') &&
	     agrees(type, buf_cstr(&text), p->stars);
	buf_free(&text);
	return ok;
}

/* --- the declaration --- */

/* Where the list of `kernel` begins in line `line`; NULL: it is not declared there. */
static const char *find_list(const char *text, const char *kernel, unsigned line)
{
	const size_t n = strlen(kernel);
	const char *begin = text, *end;

	for (unsigned i = 1; i < line && begin; i++) {
		begin = strchr(begin, '\n');
		begin += begin != NULL;
	}
	if (!begin || !n)
		return NULL;
	end = begin + strcspn(begin, "\n");
	for (const char *p = begin; (p = strstr(p, kernel)) && p < end; p += n) {
		const char *behind = skip(p + n), *back = p;

		if ((p > text && is_word(p[-1])) || is_word(p[n]) || *behind != '(')
			continue;
		while (back > text &&
			!strchr(";}", back[-1])) /* the beginning of its declaration */
			back--;
		for (const char *g = back; (g = strstr(g, "__global__")) && g < p; g++)
			return behind + 1;
	}
	return NULL;
}

/* Reads the list; names gets one for each parameter. */
static bool read_list(const char *p, const struct kernel_params *of, char **names)
{
	struct param one = {.n = 0};
	unsigned n = 0, depth = 0;

	for (;;) {
		struct token t;

		p = next(p, &t);
		if (!t.n)
			return false;
		depth += is(&t, "<");
		if (is(&t, ">") && depth)
			depth--;
		if (depth || !(is(&t, ",") || is(&t, ")"))) {
			if (!add_token(&one, &t))
				return false;
			continue;
		}
		if (is(&t, ")") && !n && (!one.n || (one.n == 1 && is(&one.v[0], "void"))) &&
			!one.stars)
			break;
		if (n == of->n || !finish(&one, of->v[n].type, &names[n]))
			return false;
		n++;
		if (is(&t, ")"))
			break;
		one = (struct param){.n = 0};
	}
	p = skip(p);
	return n == of->n && (*p == '{' || *p == ';');
}

bool kernel_params_take_names(struct kernel_params *p, const char *kernel, const char *text)
{
	const char *list = p->line ? find_list(text, kernel, p->line) : NULL;
	char **names;
	bool ok;

	if (!list)
		return false;
	for (unsigned i = 0; i < p->n; i++)
		if (!p->v[i].type)
			return false;
	names = xcalloc(p->n + 1, sizeof *names);
	ok = read_list(list, p, names);
	for (unsigned i = 0; i < p->n; i++) {
		if (ok) {
			free(p->v[i].name);
			p->v[i].name = names[i];
		} else {
			free(names[i]);
		}
	}
	free(names);
	p->named = p->named || ok;
	return ok;
}
