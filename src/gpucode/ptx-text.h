/* SPDX-License-Identifier: Apache-2.0
 *
 * Looks for things in PTX text without a parser: words, comments, and the bodies of kernels. Text
 * need not end with NUL, and may be anything: nothing is read outside of it. Nothing here allocates
 * or prints. PTX ISA 9.0, chapter 4.
 */
#ifndef GPUCODE_PTX_TEXT_H
#define GPUCODE_PTX_TEXT_H

#include <stdbool.h>
#include <stddef.h>

struct ptx_text {
	const char *p, *end;
};

bool ptx_is_space(char c);
/* A character of an identifier, a register or a number. */
bool ptx_is_name(char c);
/* Behind the comment that begins at p; p when none does. */
const char *ptx_skip_comment(const char *p, const char *end);
/* Behind white space and comments. */
const char *ptx_skip(const char *p, const char *end);
/* An opcode, a label or a name at p: names with dots and colons. Empty when there is none. */
struct ptx_text ptx_word(const char *p, const char *end);
/* Whether the word is `with`, or begins with it and a dot. */
bool ptx_begins(struct ptx_text word, const char *with);
bool ptx_has(struct ptx_text t, const char *part);
/* Whether the text has this name as a whole word. */
bool ptx_has_name(struct ptx_text t, const char *name);

/* At the brace that closes the one before p; the end if none does. */
const char *ptx_close(const char *p, const char *end);

/* Behind the name of the kernel where the text declares it as .entry; NULL: it does not. */
const char *ptx_find_entry(struct ptx_text t, const char *kernel);
/* Between the braces of the kernel's body. False: the text has no such kernel with a body. A body
 * that does not end goes to the end of the text. */
bool ptx_body(struct ptx_text t, const char *kernel, struct ptx_text *ret);

/* --- ptx-copies.c --- */

/* Which registers of a function may have the value of one by moves alone: PTX has a variable of the
 * source in several, since a loop's turn moves it from one to another. */
enum { PTX_COPY_NAME = 24, PTX_COPIES_MAX = 64 };
struct ptx_copies {
	unsigned n; /* reg itself first */
	char reg[PTX_COPIES_MAX][PTX_COPY_NAME];
};
/* In lines first to last of the text, whatever the order of the moves. False: there are more. */
bool ptx_copies(
	const char *text, unsigned first, unsigned last, const char *reg, struct ptx_copies *ret);

#endif
