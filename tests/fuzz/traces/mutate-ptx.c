/* SPDX-License-Identifier: Apache-2.0
 *
 * Mutations of PTX that leave most of the text valid, so that it is loaded and runs.
 */
#include "mutate-ptx.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "mutate.h"

#define COUNT(a) (sizeof(a) / sizeof *(a))

static const char *const numbers[] = {"0", "1", "2", "3", "4", "7", "8", "16", "31", "32", "64",
	"255", "256", "1024", "4096", "65535", "65536", "1048576", "2147483647", "2147483648",
	"4294967295", "4294967296", "4294967297", "218203770", "9223372036854775807",
	"9223372036854775808", "18446744073709551615", "0x7fffffff", "0xfffffffffffffff8"};

/* Lines that stand at the outermost level, or in a body. */
static const char *const outside[] = {
	".extern .global .align 8 .b64 zz[][218203770];",
	".global .align 8 .b64 zz[0];",
	".global .align 8 .b64 zz[4] = {1, 2, 3, 4};",
	".visible .global .align 4 .b8 big[4294967296];",
	".const .align 16 .b8 cc[16] = \"0123456789abcdef0123\";",
	".shared .align 8 .b8 ss[65536];",
	".extern .shared .align 16 .b8 ds[];",
	".extern .func (.param .b32 r) vprintf(.param .b64 a, .param .b64 b);",
	".global .v4 .b32 vv[2][2] = {{{1,2,3,4},{5,6,7,8}},{{1,2,3,4},{5}}};",
	".global .u64 pp[2] = {zz, zz+8};",
};
static const char *const inside[] = {
	"bar.sync 0;",
	"bar.sync 15, 64;",
	"bar.arrive 3, 32;",
	"membar.gl;",
	"exit;",
	"ret;",
	"trap;",
	"{ .reg .b64 %xq<4>; mov.u64 %xq1, 0; ld.global.u64 %xq2, [%xq1]; }",
	"{ .reg .b64 %xq<4>; mov.u64 %xq1, -8; st.shared.u64 [%xq1], %xq1; }",
	"{ .local .align 16 .b8 lo[1048576]; .reg .b64 %xq<4>; mov.u64 %xq1, lo; st.local.u64 [%xq1+1048575], %xq1; }",
	"{ .reg .b32 %xr<4>; mov.u32 %xr1, %tid.x; shfl.sync.bfly.b32 %xr2, %xr1, 31, 31, -1; }",
	"{ .reg .b64 %xq<4>; atom.global.add.u64 %xq2, [%xq1], %xq1; }",
	"{ .reg .b64 %xq<4>; .reg .b32 %xr<8>; mov.u64 %xq1, 4096; tex.2d.v4.u32.s32 {%xr1, %xr2, %xr3, %xr4}, [%xq1, {%xr5, %xr6}]; }",
	"{ .reg .b64 %xq<4>; cp.async.ca.shared.global [%xq1], [%xq2], 16; cp.async.wait_all; }",
	"{ .reg .b64 %xq<4>; mbarrier.init.shared.b64 [%xq1], 1; }",
	"{ .reg .b64 %xq<4>; .reg .b32 %xr<8>; mov.u64 %xq1, 16; suld.b.2d.b32.trap %xr1, [%xq1, {%xr2, %xr3}]; }",
	"{ .reg .b32 %xr<8>; alloca.u32 %xr1, 4294967280; }",
	"{ .reg .b64 %xq<4>; prefetch.global.L2 [%xq1]; }",
};

/* text[from, to) becomes with. */
static void splice(char **text, size_t *n, size_t from, size_t to, const char *with, size_t len)
{
	char *p = xmalloc(*n - (to - from) + len + 1);

	memcpy(p, *text, from);
	memcpy(p + from, with, len);
	memcpy(p + from + len, *text + to, *n - to);
	*n = *n - (to - from) + len;
	p[*n] = 0;
	*text = p; /* the old one may be the model's */
}

static size_t line_from(const char *s, size_t n, size_t at, size_t *end)
{
	size_t from = at;

	while (from && s[from - 1] != '\n')
		from--;
	while (at < n && s[at] != '\n')
		at++;
	*end = at < n ? at + 1 : at;
	return from;
}

/* A word (a number, a name with its %, a directive) at or behind `at`. */
static bool word_from(const char *s, size_t n, size_t *at, size_t *end)
{
	while (*at < n && !isalnum((unsigned char)s[*at]))
		(*at)++;
	*end = *at;
	while (*end < n && (isalnum((unsigned char)s[*end]) || s[*end] == '_'))
		(*end)++;
	return *end > *at;
}

void mutate_ptx(char **text, size_t *n, uint64_t *random)
{
	size_t at = *n ? below(random, *n) : 0, end, other = *n ? below(random, *n) : 0, other_end;
	const char *with;

	switch (below(random, 7)) {
	case 0:
	case 1: /* a number */
		while (at < *n && !isdigit((unsigned char)(*text)[at]))
			at++;
		if (at >= *n || !word_from(*text, *n, &at, &end))
			return;
		with = numbers[below(random, COUNT(numbers))];
		splice(text, n, at, end, with, strlen(with));
		return;
	case 2: /* a word of elsewhere */
		if (!word_from(*text, *n, &at, &end) || !word_from(*text, *n, &other, &other_end))
			return;
		with = *text + other;
		splice(text, n, at, end, with, other_end - other);
		return;
	case 3: /* a line goes, or is there twice */
		at = line_from(*text, *n, at, &end);
		if (below(random, 2))
			splice(text, n, at, end, "", 0);
		else
			splice(text, n, at, at, *text + at, end - at);
		return;
	case 4: /* a line goes elsewhere */
		other = line_from(*text, *n, other, &other_end);
		at = line_from(*text, *n, at, &end);
		splice(text, n, at, at, *text + other, other_end - other);
		return;
	case 5:
		with = inside[below(random, COUNT(inside))];
		at = line_from(*text, *n, at, &end);
		splice(text, n, at, at, with, strlen(with));
		return;
	default:
		with = outside[below(random, COUNT(outside))];
		for (end = at; end + 1 < *n && !((*text)[end] == '}' && (*text)[end + 1] == '\n');
			end++)
			;
		end = end + 1 < *n ? end + 1 : *n;
		splice(text, n, end, end, with, strlen(with));
	}
}
