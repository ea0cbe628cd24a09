/* SPDX-License-Identifier: Apache-2.0
 *
 * The PTX lexer. Numbers follow "PTX ISA 9.0", 4.5: decimal, octal, hex and binary integers,
 * 0fXXXXXXXX and 0dXXXXXXXXXXXXXXXX bit patterns, decimal doubles.
 */
#include "softgpu/ptx/ptx-lex.h"

#include <ctype.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>

void ptx_lex_init(struct ptx_lex *lx, const char *text, size_t n)
{
	const char *nul = memchr(text, 0, n);

	memset(lx, 0, sizeof(*lx));
	lx->p = text;
	lx->end = nul ? nul : text + n;
	lx->line = 1;
	ptx_lex_next(lx);
}

bool ptx_tok_is(const struct ptx_token *t, enum ptx_tok kind, const char *s)
{
	return t->kind == kind && strlen(s) == t->n && !memcmp(t->s, s, t->n);
}

/* Returns false for an unterminated comment. */
static bool skip_space(struct ptx_lex *lx)
{
	while (lx->p < lx->end) {
		char c = *lx->p;
		if (c == '\n') {
			lx->line++;
			lx->p++;
		} else if (isspace((unsigned char)c)) {
			lx->p++;
		} else if (c == '/' && lx->end - lx->p > 1 && lx->p[1] == '/') {
			while (lx->p < lx->end && *lx->p != '\n')
				lx->p++;
		} else if (c == '/' && lx->end - lx->p > 1 && lx->p[1] == '*') {
			const char *q = lx->p + 2;
			while (q + 1 < lx->end && !(q[0] == '*' && q[1] == '/')) {
				if (*q == '\n')
					lx->line++;
				q++;
			}
			if (q + 1 >= lx->end)
				return false;
			lx->p = q + 2;
		} else {
			break;
		}
	}
	return true;
}

static bool is_ident(int c)
{
	return isalnum(c) || c == '_' || c == '$';
}

static void lex_bits(struct ptx_lex *lx, enum ptx_tok kind, unsigned digits)
{
	uint64_t v = 0;
	unsigned n = 0;

	lx->p += 2;
	while (lx->p < lx->end && isxdigit((unsigned char)*lx->p) && n < digits) {
		int c = tolower((unsigned char)*lx->p++);
		v = v << 4 | (uint64_t)(c <= '9' ? c - '0' : c - 'a' + 10);
		n++;
	}
	lx->t.kind = n == digits ? kind : TK_BAD;
	lx->t.value = v;
}

/* A decimal floating literal of at most 63 characters; always read in the C locale. */
static void lex_decimal(struct ptx_lex *lx, const char *end)
{
	char buf[64];
	size_t n = (size_t)(end - lx->p);
	static locale_t c_locale;
	double d;

	lx->t.kind = TK_BAD;
	if (n < sizeof(buf)) {
		memcpy(buf, lx->p, n);
		buf[n] = 0;
		if (!c_locale)
			c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
		d = c_locale ? strtod_l(buf, NULL, c_locale) : strtod(buf, NULL);
		memcpy(&lx->t.value, &d, 8);
		lx->t.kind = TK_F64;
	}
	lx->p = end;
}

static void lex_integer(struct ptx_lex *lx)
{
	const char *p = lx->p;
	unsigned base = 10;
	uint64_t v = 0;
	bool any = false, over = false;

	if (*p == '0' && lx->end - p > 1) {
		if (p[1] == 'x' || p[1] == 'X') {
			base = 16;
			p += 2;
		} else if (p[1] == 'b' || p[1] == 'B') {
			base = 2;
			p += 2;
		} else if (isdigit((unsigned char)p[1])) {
			base = 8;
		}
	}
	for (; p < lx->end; p++) {
		int c = tolower((unsigned char)*p);
		unsigned d = isdigit(c)	   ? (unsigned)(c - '0')
			     : isxdigit(c) ? (unsigned)(c - 'a' + 10)
					   : 99;
		if (d >= base)
			break;
		over |= __builtin_mul_overflow(v, base, &v);
		over |= __builtin_add_overflow(v, d, &v);
		any = true;
	}
	if (p < lx->end && *p == 'U')
		p++;
	lx->t.kind = any && !over ? TK_INT : TK_BAD;
	lx->t.value = v;
	lx->p = p;
}

static void lex_number(struct ptx_lex *lx)
{
	const char *p = lx->p;

	if (*p == '0' && lx->end - p > 1) {
		if (p[1] == 'f' || p[1] == 'F') {
			lex_bits(lx, TK_F32, 8);
			return;
		}
		if (p[1] == 'd' || p[1] == 'D') {
			lex_bits(lx, TK_F64, 16);
			return;
		}
		if (p[1] == 'x' || p[1] == 'X') {
			lex_integer(lx);
			return;
		}
	}
	while (p < lx->end && isdigit((unsigned char)*p))
		p++;
	if (p < lx->end && (*p == '.' || *p == 'e' || *p == 'E') &&
		(*p != '.' || (p + 1 < lx->end && isdigit((unsigned char)p[1])))) {
		while (p < lx->end &&
			(isdigit((unsigned char)*p) || *p == '.' || *p == 'e' || *p == 'E' ||
				((*p == '-' || *p == '+') && (p[-1] == 'e' || p[-1] == 'E'))))
			p++;
		lex_decimal(lx, p);
		return;
	}
	lex_integer(lx);
}

static void lex_string(struct ptx_lex *lx)
{
	const char *q = ++lx->p;

	while (q < lx->end && *q != '"' && *q != '\n')
		q += *q == '\\' && q + 1 < lx->end ? 2 : 1;
	lx->t.s = lx->p;
	lx->t.n = (size_t)((q < lx->end ? q : lx->end) - lx->p);
	lx->t.kind = q < lx->end && *q == '"' ? TK_STRING : TK_BAD;
	lx->p = q < lx->end ? q + 1 : lx->end;
}

/* Identifiers, and what follows a dot: letters, digits and "::". */
static void lex_word(struct ptx_lex *lx, enum ptx_tok kind, bool colons)
{
	const char *q = lx->p;

	if (kind == TK_IDENT)
		q++; /* % or $ or a letter */
	for (; q < lx->end; q++) {
		if (is_ident((unsigned char)*q))
			continue;
		if (colons && *q == ':' && q + 2 < lx->end && q[1] == ':' &&
			isalnum((unsigned char)q[2])) {
			q++;
			continue;
		}
		break;
	}
	lx->t.kind = kind;
	lx->t.s = lx->p;
	lx->t.n = (size_t)(q - lx->p);
	lx->p = q;
}

void ptx_lex_next(struct ptx_lex *lx)
{
	const char *before = lx->p;
	int c;

	lx->t.s = lx->p;
	lx->t.n = 0;
	lx->t.punct = 0;
	if (!skip_space(lx)) {
		lx->t.kind = TK_BAD;
		lx->t.line = lx->line;
		lx->p = lx->end;
		return;
	}
	lx->t.glued = lx->p == before;
	lx->t.line = lx->line;
	lx->t.s = lx->p;
	if (lx->p >= lx->end) {
		lx->t.kind = TK_EOF;
		return;
	}
	c = (unsigned char)*lx->p;
	if (isdigit(c)) {
		lex_number(lx);
	} else if (c == '"') {
		lex_string(lx);
		return;
	} else if (c == '.' && lx->end - lx->p > 1 && is_ident((unsigned char)lx->p[1])) {
		lx->p++;
		lex_word(lx, TK_DOT, true);
	} else if (isalpha(c) || c == '_' || c == '$' || c == '%') {
		lex_word(lx, TK_IDENT, false);
	} else {
		lx->t.kind = strchr("{}()[],;:<>=+-*/@!|~&^?", c) ? TK_PUNCT : TK_BAD;
		lx->t.punct = (char)c;
		lx->t.n = 1;
		lx->p++;
		return;
	}
	if (lx->t.kind == TK_INT || lx->t.kind == TK_F32 || lx->t.kind == TK_F64)
		lx->t.n = (size_t)(lx->p - lx->t.s);
}
