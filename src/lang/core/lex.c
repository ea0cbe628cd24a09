/* SPDX-License-Identifier: Apache-2.0
 *
 * Tokens: numbers with C's types, characters, texts, names, signs.
 */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/checked.h"
#include "lang/core/lex.h"

/* Longer ones first. */
static const char *const signs[] = {"<<=", ">>=", "->", "++", "--", "<<", ">>",
	"<=", ">=", "==", "!=", "&&", "||",
	"+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "::", "+", "-", "*", "/", "%", "@", "<",
	">", "=", "!", "~", "&", "|", "^", "?", ":", ",", "(", ")", "[", "]", "{", "}", "."};

void lang_lex_begin(struct lang_lexer *x, struct lang *l, const char *text)
{
	*x = (struct lang_lexer){.l = l, .text = text, .p = text, .at = text, .operand = true};
}

struct err *lang_lex_refuse(const struct lang_lexer *x)
{
	if (x->token == LANG_T_END)
		return err_cure(err_new(ERR_USAGE, "\"%s\" ends in the middle", x->text),
			"\"help expressions\" has the grammar");
	return err_cure(
		err_new(ERR_USAGE, "\"%s\" is no expression from \"%s\" on", x->text, x->at),
		"\"help expressions\" has the grammar");
}

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

/* --- numbers --- */

static struct err *bad_number(const char *p, size_t n)
{
	return err_cure(err_new(ERR_USAGE, "\"%.*s\" is no number", (int)n, p),
		"Numbers are 12, 0x1f, 017, 1.5, 1e-3, 4K, with u, l, ul or f behind them as in C");
}

/* The length of the number at p: letters, digits, points, and signs of exponents. */
static size_t number_length(const char *p)
{
	const bool hex = p[0] == '0' && (p[1] == 'x' || p[1] == 'X');
	size_t n = 0;

	while (is_word(p[n]) || p[n] == '.' ||
		(n && (p[n] == '+' || p[n] == '-') &&
			((!hex && (p[n - 1] == 'e' || p[n - 1] == 'E')) ||
				(hex && (p[n - 1] == 'p' || p[n - 1] == 'P')))))
		n++;
	return n;
}

static bool looks_floating(const char *p, size_t n)
{
	const bool hex = n > 1 && p[0] == '0' && (p[1] == 'x' || p[1] == 'X');

	for (size_t i = 0; i < n; i++) {
		if (p[i] == '.' || (!hex && (p[i] == 'e' || p[i] == 'E')) ||
			(hex && (p[i] == 'p' || p[i] == 'P')))
			return true;
	}
	return false;
}

static struct err *lex_floating(struct lang_lexer *x, const char *word, size_t n)
{
	const char *type = "double";
	char *end;
	double v = strtod(word, &end);

	if ((*end == 'f' || *end == 'F') && !end[1]) {
		type = "float";
		v = strtof(word, NULL);
		end++;
	} else if ((*end == 'l' || *end == 'L') && !end[1]) {
		end++;
	}
	if (end == word || *end)
		return bad_number(word, n);
	x->value = lang_from_double(lang_base_type(x->l, type), v);
	return NULL;
}

/* Reads u, l, ll, ul, lul ... at p. */
static bool suffix(const char *p, bool *ret_unsigned, unsigned *ret_long)
{
	for (; *p; p++) {
		if ((*p == 'u' || *p == 'U') && !*ret_unsigned)
			*ret_unsigned = true;
		else if ((*p == 'l' || *p == 'L') && *ret_long < 2)
			++*ret_long;
		else
			return false;
	}
	return true;
}

/* C's table (C11 6.4.4.1): the first type that holds the value; decimal ones without u stay signed.
 * What only an unsigned long holds is one, as gdb has it. */
static const struct lang_type *type_of_number(
	struct lang *l, uint64_t v, bool decimal, bool is_unsigned, unsigned longs)
{
	if (!longs && !is_unsigned && v <= INT32_MAX)
		return lang_int_type(l, 4, true);
	if (!longs && v <= UINT32_MAX && (is_unsigned || !decimal))
		return lang_int_type(l, 4, false);
	if (longs == 2)
		return lang_base_type(
			l, is_unsigned || v > INT64_MAX ? "unsigned long long" : "long long");
	return lang_int_type(l, 8, !is_unsigned && v <= INT64_MAX);
}

static struct err *lex_integer(struct lang_lexer *x, const char *word, size_t n)
{
	const bool decimal = word[0] != '0';
	bool is_unsigned = false;
	unsigned longs = 0;
	uint64_t v;
	char *end;
	unsigned shift;

	errno = 0;
	v = strtoull(word, &end, 0);
	if (errno == ERANGE)
		return err_new(ERR_LIMIT, "\"%s\" does not fit into 64 bits", word);
	shift = *end == 'K' ? 10 : *end == 'M' ? 20 : *end == 'G' ? 30 : 0;
	if (shift && !end[1]) {
		if (ckd_mul(&v, v, 1ull << shift))
			return err_new(ERR_LIMIT, "\"%s\" does not fit into 64 bits", word);
		end++;
	} else if (*end && (!suffix(end, &is_unsigned, &longs) || end == word)) {
		return bad_number(word, n);
	}
	x->value = lang_from_int(type_of_number(x->l, v, decimal, is_unsigned, longs), (int64_t)v);
	return NULL;
}

static struct err *lex_number(struct lang_lexer *x)
{
	char word[512];
	size_t n = number_length(x->p);

	if (n >= sizeof word)
		return err_new(ERR_LIMIT, "a number of %zu digits is too long", n);
	memcpy(word, x->p, n);
	word[n] = 0;
	x->p += n;
	x->token = LANG_T_NUMBER;
	return looks_floating(word, n) ? lex_floating(x, word, n) : lex_integer(x, word, n);
}

/* --- characters and texts --- */

static unsigned hex_digit(char c)
{
	return isdigit((unsigned char)c) ? (unsigned)(c - '0')
					 : (unsigned)(tolower((unsigned char)c) - 'a') + 10;
}

/* One character of a literal, from x->p on; false at an escape that C does not have. */
static bool lex_char(struct lang_lexer *x, unsigned char *ret)
{
	static const char names[] = "ntrabfve\\'\"?", means[] = "\n\t\r\a\b\f\v\033\\'\"?";
	const char *name;
	unsigned v = 0, n = 0;

	if (*x->p != '\\') {
		*ret = (unsigned char)*x->p++;
		return true;
	}
	x->p++;
	if (*x->p == 'x' && isxdigit((unsigned char)x->p[1])) {
		for (x->p++; isxdigit((unsigned char)*x->p); x->p++)
			v = v * 16 + hex_digit(*x->p);
	} else if (*x->p >= '0' && *x->p <= '7') {
		for (; n < 3 && *x->p >= '0' && *x->p <= '7'; n++, x->p++)
			v = v * 8 + (unsigned)(*x->p - '0');
	} else {
		name = *x->p ? strchr(names, *x->p) : NULL;
		if (!name)
			return false;
		v = (unsigned char)means[name - names];
		x->p++;
	}
	*ret = (unsigned char)v;
	return true;
}

static struct err *lex_character(struct lang_lexer *x)
{
	unsigned char c = 0;

	x->p++;
	if (!*x->p || *x->p == '\'' || !lex_char(x, &c) || *x->p != '\'')
		return err_cure(err_new(ERR_USAGE, "%s begins no character", x->at),
			"A character is 'a', '\\n', '\\0' or '\\x41'");
	x->p++;
	x->token = LANG_T_NUMBER;
	x->value = lang_from_int(lang_base_type(x->l, "char"), (int8_t)c);
	return NULL;
}

static struct err *lex_text(struct lang_lexer *x)
{
	struct buf b = BUF_INIT;
	bool good = true;

	for (x->p++; good && *x->p && *x->p != '"';) {
		unsigned char c;

		good = lex_char(x, &c);
		if (good)
			buf_byte(&b, c);
	}
	if (!good || *x->p != '"') {
		buf_free(&b);
		return err_new(ERR_USAGE,
			"%s begins no text: its end is missing, or an escape is none of C's",
			x->at);
	}
	x->p++;
	x->token = LANG_T_TEXT;
	x->value = lang_from_text(x->l, (const char *)b.data, b.len);
	buf_free(&b);
	return NULL;
}

/* --- names and signs --- */

/* The length of the name at p: words joined by ::, `$1`, `$$2`, or %name with its points. */
static size_t name_length(const char *p)
{
	size_t n = 0;

	if (*p == '$' || *p == '%') {
		const char first = *p;

		n = strspn(p, first == '$' ? "$" : "%");
		while (is_word(p[n]) || (first == '%' && p[n] == '.' && is_word(p[n + 1])))
			n++;
		return n;
	}
	for (;;) {
		while (is_word(p[n]))
			n++;
		if (p[n] != ':' || p[n + 1] != ':' ||
			!(is_word(p[n + 2]) && !isdigit((unsigned char)p[n + 2])))
			return n;
		n += 2;
	}
}

static bool begins_name(const struct lang_lexer *x)
{
	const char *p = x->p;

	return isalpha((unsigned char)*p) || *p == '_' || *p == '$' ||
	       (x->operand && *p == '%' && isalpha((unsigned char)p[1])) ||
	       (p[0] == ':' && p[1] == ':' && x->operand);
}

static struct err *lex_name(struct lang_lexer *x)
{
	const bool outermost = *x->p == ':';
	size_t n = name_length(x->p + 2 * outermost);

	x->p += 2 * outermost;
	if (n >= sizeof x->name)
		return err_new(ERR_LIMIT, "a name of %zu characters is too long", n);
	if (!n)
		return lang_lex_refuse(x);
	memcpy(x->name, x->p, n);
	x->name[n] = 0;
	x->p += n;
	x->token = LANG_T_NAME;
	return NULL;
}

struct err *lang_lex(struct lang_lexer *x)
{
	lang_value_free(&x->value);
	x->p += strspn(x->p, " \t\n");
	x->at = x->p;
	if (!*x->p) {
		x->token = LANG_T_END;
		return NULL;
	}
	if (isdigit((unsigned char)*x->p) || (*x->p == '.' && isdigit((unsigned char)x->p[1])))
		return lex_number(x);
	if (*x->p == '\'')
		return lex_character(x);
	if (*x->p == '"')
		return lex_text(x);
	if (begins_name(x))
		return lex_name(x);
	for (unsigned i = 0; i < sizeof signs / sizeof *signs; i++) {
		if (!strncmp(x->p, signs[i], strlen(signs[i]))) {
			x->token = LANG_T_SIGN;
			x->sign = signs[i];
			x->p += strlen(signs[i]);
			return NULL;
		}
	}
	x->token = LANG_T_SIGN;
	x->sign = "";
	return lang_lex_refuse(x);
}
