/* SPDX-License-Identifier: Apache-2.0
 *
 * Tokens of PTX. The surprising thing: ".lo" is one token, so `mad.lo.s32` is three of them.
 */
#ifndef SOFTGPU_PTX_LEX_H
#define SOFTGPU_PTX_LEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum ptx_tok { TK_EOF, TK_BAD, TK_IDENT, TK_DOT, TK_INT, TK_F32, TK_F64, TK_STRING, TK_PUNCT };

struct ptx_token {
	enum ptx_tok kind;
	const char *s; /* into the text; without the dot and the quotes */
	size_t n;
	uint64_t value; /* TK_INT; bits of TK_F32 and TK_F64 */
	char punct;
	bool glued; /* nothing between it and the token before */
	unsigned line;
};

struct ptx_lex {
	const char *p, *end;
	unsigned line;
	struct ptx_token t; /* the current one */
};

void ptx_lex_init(struct ptx_lex *lx, const char *text, size_t n);
/* Moves on. At the end it stays at TK_EOF. */
void ptx_lex_next(struct ptx_lex *lx);
/* Passes over the rest of the current line (.file, .loc, .pragma-like debug lines). */
bool ptx_tok_is(const struct ptx_token *t, enum ptx_tok kind, const char *s);
#endif
