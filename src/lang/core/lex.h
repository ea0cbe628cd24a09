/* SPDX-License-Identifier: Apache-2.0
 *
 * The tokens of an expression.
 */
#ifndef LANG_LEX_H
#define LANG_LEX_H

#include "lang/core/core.h"

enum lang_token { LANG_T_END, LANG_T_NUMBER, LANG_T_TEXT, LANG_T_NAME, LANG_T_SIGN };
struct lang_lexer {
	struct lang *l;
	const char *text; /* the whole expression */
	const char *p;	  /* behind the current token */
	const char *at;	  /* where the current token begins */
	enum lang_token token;
	bool operand; /* an operand may come next: `%r4` is a name then, and `-5` no difference */
	const char *sign;	 /* of a SIGN: its spelling, from a fixed table */
	struct lang_value value; /* of NUMBER and TEXT; the lexer's until it is taken */
	char name[256];		 /* of NAME; with :: and a leading $ or % */
};

void lang_lex_begin(struct lang_lexer *x, struct lang *l, const char *text);
/* Reads the next token. */
struct err *lang_lex(struct lang_lexer *x) TS_CHECK;
/* "A syntax error ...": what is wrong at the current token. */
struct err *lang_lex_refuse(const struct lang_lexer *x) TS_CHECK;

#endif
