/* SPDX-License-Identifier: Apache-2.0
 *
 * The statements of PTX text with the lines of the source that they come from, and what is declared
 * where: enough to put code between them. The text is not checked, since a driver compiles it
 * afterwards. PTX ISA 9.0, chapters 4, 5 and 11.
 */
#ifndef GPUCODE_PTX_SCAN_H
#define GPUCODE_PTX_SCAN_H

#include "base/buf.h"
#include "base/err.h"
#include "gpucode/ptx-text.h"

#include <stdint.h>

enum ptx_where {
	PTX_IN_REGISTER,
	PTX_IN_GLOBAL,
	PTX_IN_CONST,
	PTX_IN_SHARED,
	PTX_IN_LOCAL,
	PTX_IN_PARAM
};
struct ptx_decl {
	struct ptx_text name; /* of registers that are numbered the part before the number */
	unsigned count;	      /* of those; 0: the name is whole */
	enum ptx_where where;
	char type[8];  /* "b32"; of an array its elements' */
	uint64_t size; /* bytes, of a variable; 0: not known */
	unsigned scope;
	const char *at;
};
struct ptx_scope {
	unsigned parent;	 /* 0: the module */
	const char *begin, *end; /* at the braces */
	const char *call;	 /* the first call in it, not in one below; NULL: none */
};
struct ptx_function_at {
	struct ptx_text name;
	bool entry;
	unsigned scope;
	unsigned first, end; /* statements */
};
struct ptx_statement {
	const char *at; /* its guard, if it has one */
	unsigned line;	/* of the text, from 1 */
	unsigned scope, function;
	uint32_t file, source; /* source 0: not known */
	bool marked;	       /* a .loc is right before it */
};
struct ptx_file_name {
	uint64_t number;
	struct ptx_text name;
};
struct ptx_scan {
	struct ptx_text text;
	const char *head; /* behind .address_size 64; NULL: the text has none */
	struct ptx_decl *decls;
	struct ptx_scope *scopes; /* 0: the module */
	struct ptx_function_at *functions;
	struct ptx_statement *statements;
	struct ptx_file_name *files;
	unsigned ndecls, nscopes, nfunctions, nstatements, nfiles;
	unsigned cap_decls, cap_scopes, cap_functions, cap_statements, cap_files;
};

/* ERR_UNSUPPORTED: the text ends in the middle of something. The caller frees *ret in any case. */
struct err *ptx_scan(struct ptx_scan *ret, const char *text, size_t n) TS_CHECK;
void ptx_scan_free(struct ptx_scan *s);

/* The name of a file; empty: it is not known. */
struct ptx_text ptx_scan_file(const struct ptx_scan *s, uint32_t number);
/* Whether a run of statements of its line begins with statement i. */
bool ptx_scan_begins(const struct ptx_scan *s, unsigned i);
/* What a name means at a place in a scope; NULL: nothing. */
const struct ptx_decl *ptx_scan_find(
	const struct ptx_scan *s, unsigned scope, const char *at, const char *name, size_t n);

#endif
