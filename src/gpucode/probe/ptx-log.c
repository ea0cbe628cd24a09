/* SPDX-License-Identifier: Apache-2.0
 *
 * Logs values, see ptx-log.h. One lane takes places for all that pass together, and hands them out
 * by a shuffle, so that what was together stays together, in the order of time. The mask is asked
 * for behind the expressions: a guarded load may have parted the lanes, and it names those that
 * execute the vote and the shuffle.
 */
#include "gpucode/probe/ptx-log.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/list-part.h"
#include "gpucode/ptx-probe.h"

#define LINE(...) ptx_emit_line(m, __VA_ARGS__)

enum { TEXT_MAX = 4096, VERSION_MAJOR = 6, VERSION_MINOR = 2 };

/* --- the expressions --- */

unsigned ptx_print_count(const char *text)
{
	unsigned n = 0;

	while (text[strspn(text, " \t")]) {
		const size_t k = list_part_length(text);

		text += k + (text[k] == ',');
		n++;
	}
	return n;
}

static bool evaluate(struct ptx_emit *m, const char *text, unsigned n, struct ptx_value *v)
{
	char one[TEXT_MAX];

	for (unsigned k = 0; k < n; k++) {
		const size_t len = list_part_length(text);

		if (len >= sizeof one) {
			snprintf(m->why, sizeof m->why, "an expression is too long");
			return false;
		}
		memcpy(one, text, len);
		one[len] = 0;
		v[k] = (struct ptx_value){0};
		if (!ptx_emit_expr(m, one, &v[k]))
			return false;
		text += len + (text[len] == ',');
	}
	return true;
}

/* 4 bits for each. */
static uint32_t types_of(const struct ptx_value *v, unsigned n)
{
	uint32_t types = 0;

	for (unsigned k = 0; k < n; k++) {
		unsigned type = v[k].is_float ? PTX_PRINT_F64 : PTX_PRINT_S64;

		if (v[k].type)
			type = v[k].type - 1;
		types |= (uint32_t)type << 4 * k;
	}
	return types;
}

/* --- a place in the log --- */

static void guarded(struct ptx_emit *m, unsigned p, const char *line)
{
	if (p)
		LINE("@%%tsdb_p%u %s", p - 1, line);
	else
		LINE("%s", line);
}

/* The lanes that pass together; *ret_here: those that execute this. */
static unsigned take_mask(struct ptx_emit *m, unsigned yes, unsigned *ret_here)
{
	const unsigned here = m->words++, mask = m->words++;

	LINE("activemask.b32 %%tsdb_u%u", here);
	if (yes)
		LINE("vote.sync.ballot.b32 %%tsdb_u%u, %%tsdb_p%u, %%tsdb_u%u", mask, yes - 1,
			here);
	else
		LINE("mov.b32 %%tsdb_u%u, %%tsdb_u%u", mask, here);
	*ret_here = here;
	return mask;
}

/* The number of lanes of the mask before this one. */
static unsigned take_rank(struct ptx_emit *m, unsigned mask)
{
	const unsigned rank = m->words++;

	LINE("mov.u32 %%tsdb_u%u, %%lanemask_lt", rank);
	LINE("and.b32 %%tsdb_u%u, %%tsdb_u%u, %%tsdb_u%u", rank, rank, mask);
	LINE("popc.b32 %%tsdb_u%u, %%tsdb_u%u", rank, rank);
	return rank;
}

/* The first lane of the mask moves the cursor by all of them; where it was, in that lane. */
static unsigned move_cursor(
	struct ptx_emit *m, const struct ptx_log *log, unsigned yes, unsigned mask, unsigned rank)
{
	const unsigned n = m->ints++, from = m->ints++, first = m->preds++;
	char line[120];

	LINE("popc.b32 %%tsdb_w, %%tsdb_u%u", mask);
	LINE("cvt.u64.u32 %%tsdb_i%u, %%tsdb_w", n);
	LINE("setp.eq.u32 %%tsdb_p%u, %%tsdb_u%u, 0", first, rank);
	if (yes)
		LINE("and.pred %%tsdb_p%u, %%tsdb_p%u, %%tsdb_p%u", first, first, yes - 1);
	LINE("mov.b64 %%tsdb_i%u, 0", from);
	snprintf(line, sizeof line,
		"atom.global.add.u64 %%tsdb_i%u, [%%tsdb_area+%" PRIu64 "], %%tsdb_i%u", from,
		log->cursor_at, n);
	guarded(m, first + 1, line);
	return from;
}

/* Hands a value of the mask's first lane to the others. */
static void hand_out(struct ptx_emit *m, unsigned from, unsigned mask, unsigned here)
{
	const unsigned lane = m->words++, half = m->words++, high = m->ints++;

	LINE("brev.b32 %%tsdb_u%u, %%tsdb_u%u", lane, mask);
	LINE("clz.b32 %%tsdb_u%u, %%tsdb_u%u", lane, lane);
	LINE("shr.u64 %%tsdb_i%u, %%tsdb_i%u, 32", high, from);
	LINE("cvt.u32.u64 %%tsdb_u%u, %%tsdb_i%u", half, high);
	LINE("shfl.sync.idx.b32 %%tsdb_u%u, %%tsdb_u%u, %%tsdb_u%u, 31, %%tsdb_u%u", half, half,
		lane, here);
	LINE("cvt.u64.u32 %%tsdb_i%u, %%tsdb_u%u", high, half);
	LINE("shl.b64 %%tsdb_i%u, %%tsdb_i%u, 32", high, high);
	LINE("cvt.u32.u64 %%tsdb_u%u, %%tsdb_i%u", half, from);
	LINE("shfl.sync.idx.b32 %%tsdb_u%u, %%tsdb_u%u, %%tsdb_u%u, 31, %%tsdb_u%u", half, half,
		lane, here);
	LINE("cvt.u64.u32 %%tsdb_i%u, %%tsdb_u%u", from, half);
	LINE("or.b64 %%tsdb_i%u, %%tsdb_i%u, %%tsdb_i%u", from, from, high);
}

/* --- the record --- */

struct record {
	unsigned at;   /* the register with its address, less the log's offset */
	unsigned room; /* 1 + the predicate of lanes that have one */
	uint64_t log;
};

static void put_word(struct ptx_emit *m, const struct record *r, size_t offset, const char *value)
{
	char line[120];

	snprintf(line, sizeof line, "st.global.u32 [%%tsdb_i%u+%" PRIu64 "], %s", r->at,
		r->log + offset, value);
	guarded(m, r->room, line);
}

static void put_special(struct ptx_emit *m, const struct record *r, size_t offset, const char *name)
{
	LINE("mov.u32 %%tsdb_w, %%%s", name);
	put_word(m, r, offset, "%tsdb_w");
}

static void put_bad(
	struct ptx_emit *m, const struct record *r, const struct ptx_value *v, unsigned n)
{
	const unsigned all = m->words++;
	char name[24];

	LINE("mov.b32 %%tsdb_u%u, 0", all);
	for (unsigned k = 0; k < n; k++) {
		if (!v[k].bad)
			continue;
		LINE("selp.b32 %%tsdb_w, %u, 0, %%tsdb_p%u", 1u << k, v[k].bad - 1);
		LINE("or.b32 %%tsdb_u%u, %%tsdb_u%u, %%tsdb_w", all, all);
	}
	snprintf(name, sizeof name, "%%tsdb_u%u", all);
	put_word(m, r, offsetof(struct ptx_print_record, bad), name);
}

#define WORD(member) offsetof(struct ptx_print_record, member)

static void put_record(struct ptx_emit *m, const struct record *r, unsigned mask, unsigned probe,
	const struct ptx_value *v, unsigned n)
{
	static const struct {
		size_t at;
		const char *name;
	} specials[] = {{WORD(block[0]), "ctaid.x"}, {WORD(block[1]), "ctaid.y"},
		{WORD(block[2]), "ctaid.z"}, {WORD(thread[0]), "tid.x"}, {WORD(thread[1]), "tid.y"},
		{WORD(thread[2]), "tid.z"}, {WORD(size[0]), "ntid.x"}, {WORD(size[1]), "ntid.y"}};
	char text[120];

	snprintf(text, sizeof text, "0x%x", types_of(v, n));
	put_word(m, r, WORD(types), text);
	snprintf(text, sizeof text, "%%tsdb_u%u", mask);
	put_word(m, r, WORD(mask), text);
	for (unsigned k = 0; k < sizeof specials / sizeof *specials; k++)
		put_special(m, r, specials[k].at, specials[k].name);
	LINE("mov.u32 %%tsdb_w, %%laneid");
	LINE("or.b32 %%tsdb_w, %%tsdb_w, %u", probe << 8);
	put_word(m, r, WORD(lane), "%tsdb_w");
	put_bad(m, r, v, n);
	for (unsigned k = 0; k < n; k++) {
		snprintf(text, sizeof text, "st.global.%s [%%tsdb_i%u+%" PRIu64 "], %s%u",
			v[k].is_float ? "f64" : "u64", r->at, r->log + ptx_print_size(k),
			v[k].is_float ? "%tsdb_f" : "%tsdb_i", v[k].reg);
		guarded(m, r->room, text);
	}
}

/* The lanes of the mask whose place is in the log, and its address. */
static struct record take_place(
	struct ptx_emit *m, const struct ptx_log *log, unsigned yes, unsigned from, unsigned rank)
{
	const unsigned at = m->ints++, room = m->preds++;

	LINE("cvt.u64.u32 %%tsdb_i%u, %%tsdb_u%u", at, rank);
	LINE("add.s64 %%tsdb_i%u, %%tsdb_i%u, %%tsdb_i%u", at, at, from);
	LINE("setp.lt.u64 %%tsdb_p%u, %%tsdb_i%u, %" PRIu64, room, at, log->room);
	if (yes)
		LINE("and.pred %%tsdb_p%u, %%tsdb_p%u, %%tsdb_p%u", room, room, yes - 1);
	LINE("mul.lo.s64 %%tsdb_i%u, %%tsdb_i%u, %zu", at, at, ptx_print_size(log->nvalues));
	LINE("add.s64 %%tsdb_i%u, %%tsdb_i%u, %%tsdb_area", at, at);
	return (struct record){at, room + 1, log->at};
}

bool ptx_log_put(
	struct ptx_emit *m, const char *expressions, const struct ptx_log *log, unsigned yes)
{
	const unsigned n = ptx_print_count(expressions);
	struct ptx_value v[PTX_PRINT_VALUES];
	unsigned here, mask, rank, from;
	struct record r;

	if (n > log->nvalues || n > PTX_PRINT_VALUES) {
		snprintf(m->why, sizeof m->why, "it has more than %u expressions", log->nvalues);
		return false;
	}
	if (!evaluate(m, expressions, n, v))
		return false;
	mask = take_mask(m, yes, &here);
	rank = take_rank(m, mask);
	from = move_cursor(m, log, yes, mask, rank);
	hand_out(m, from, mask, here);
	r = take_place(m, log, yes, from, rank);
	put_record(m, &r, mask, log->probe, v, n);
	return true;
}

/* --- the version --- */

static unsigned take_number(const char **p, const char *end)
{
	unsigned n = 0;

	for (; *p < end && **p >= '0' && **p <= '9'; ++*p)
		n = n < 1000 ? 10 * n + (unsigned)(**p - '0') : n;
	return n;
}

struct err *ptx_log_check(const struct ptx_scan *s)
{
	static const char word[] = ".version";
	const size_t len = sizeof word - 1;
	const char *p = s->text.p, *end = s->text.end;
	unsigned major, minor = 0;

	while (p < end && ((size_t)(end - p) < len || memcmp(p, word, len) != 0))
		p++;
	p = p < end ? ptx_skip(p + len, end) : end;
	major = take_number(&p, end);
	if (p < end && *p++ == '.')
		minor = take_number(&p, end);
	if (major > VERSION_MAJOR || (major == VERSION_MAJOR && minor >= VERSION_MINOR))
		return NULL;
	return err_new(ERR_UNSUPPORTED,
		"the PTX is of version %u.%u, and what threads show needs instructions of %d.%d",
		major, minor, VERSION_MAJOR, VERSION_MINOR);
}
