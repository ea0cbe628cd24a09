/* SPDX-License-Identifier: Apache-2.0
 *
 * What cuda-gdb prints, see debugger.h: tables whose columns are words, and machine code of Volta
 * and later (SASS), of which only loads and branches are looked at. Formats as cuda-gdb 13.0 has
 * them; its texts of an H200 are in tests/unit/test-engine-debugger.c.
 */
#include "engine/why/debugger.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define LOOP_MOST 512u /* instructions of a loop that are looked at */

/* --- words --- */

struct line {
	const char *p, *end;
};

static bool next_line(const char **text, struct line *ret)
{
	const char *end;

	if (!**text)
		return false;
	end = strchrnul(*text, '\n');
	*ret = (struct line){*text, end};
	*text = *end ? end + 1 : end;
	return true;
}

static struct line next_word(struct line *l)
{
	struct line w;

	while (l->p < l->end && (*l->p == ' ' || *l->p == '\t'))
		l->p++;
	w.p = l->p;
	while (l->p < l->end && *l->p != ' ' && *l->p != '\t')
		l->p++;
	w.end = l->p;
	return w;
}

static size_t length(struct line w)
{
	return (size_t)(w.end - w.p);
}

static bool is(struct line w, const char *text)
{
	return length(w) == strlen(text) && !memcmp(w.p, text, length(w));
}

/* A whole word that is a number; base as strtoull()'s. */
static bool number(struct line w, int base, uint64_t *ret)
{
	char text[32], *end;

	if (!length(w) || length(w) >= sizeof(text) || *w.p == '-' || *w.p == '+')
		return false;
	memcpy(text, w.p, length(w));
	text[length(w)] = 0;
	*ret = strtoull(text, &end, base);
	return !*end;
}

/* "(8448,1,1)" */
static bool triple(struct line w, uint32_t ret[3])
{
	char text[48], *at = text + 1;

	if (length(w) < 7 || length(w) >= sizeof(text) || *w.p != '(' || w.end[-1] != ')')
		return false;
	memcpy(text, w.p, length(w));
	text[length(w) - 1] = 0;
	for (unsigned i = 0; i < 3; i++) {
		char *end;
		const unsigned long v = strtoul(at, &end, 10);

		if (end == at || v > UINT32_MAX || (i < 2 ? *end != ',' : *end != 0))
			return false;
		ret[i] = (uint32_t)v;
		at = end + 1;
	}
	return true;
}

static void keep(char *to, size_t size, struct line w)
{
	const size_t n = length(w) < size ? length(w) : size - 1;

	memcpy(to, w.p, n);
	to[n] = 0;
}

/* Behind the marker of the row in focus. */
static struct line behind_star(struct line l)
{
	struct line rest = l;

	return is(next_word(&rest), "*") ? rest : l;
}

/* --- kernels --- */

/* "void scale<float>(float*)(p=0x7f, n=3)" without the last parentheses, blanks at the end gone. */
static struct line without_arguments(struct line l)
{
	unsigned depth = 0;

	while (l.p < l.end && *l.p == ' ')
		l.p++;
	while (l.end > l.p && l.end[-1] == ' ')
		l.end--;
	if (l.end == l.p || l.end[-1] != ')')
		return l;
	for (const char *p = l.end; p-- > l.p;) {
		depth += *p == ')';
		depth -= *p == '(';
		if (!depth) {
			l.end = p;
			return l;
		}
	}
	return l;
}

/* Kernel, parent, device, grid, status, mask of processors, two sizes, the call. */
static bool read_kernel(struct line l, struct debugger_kernel *ret)
{
	uint64_t n, device;
	struct line w[8];

	*ret = (struct debugger_kernel){0};
	l = behind_star(l);
	for (unsigned i = 0; i < 8; i++)
		w[i] = next_word(&l);
	if (!number(w[0], 10, &n) || n > UINT32_MAX || !number(w[2], 10, &device) ||
		device > UINT32_MAX || !number(w[3], 10, &ret->id) || !triple(w[6], ret->grid) ||
		!triple(w[7], ret->block))
		return false;
	ret->number = (uint32_t)n;
	ret->device = (uint32_t)device;
	keep(ret->name, sizeof(ret->name), without_arguments(l));
	return *ret->name;
}

void debugger_read_kernels(const char *text, struct debugger_seen *ret)
{
	struct line l;

	*ret = (struct debugger_seen){0};
	while (next_line(&text, &l)) {
		struct debugger_kernel k;

		if (!read_kernel(l, &k))
			continue;
		if (ret->nkernels == DEBUGGER_KERNELS)
			ret->more = true;
		else
			ret->kernel[ret->nkernels++] = k;
	}
}

/* --- threads --- */

/* The file's last part, and the line, behind the program counter: "/src/my app.cu    17". */
static void read_place(struct line l, struct debugger_place *ret)
{
	const char *p;
	uint64_t n;

	while (l.end > l.p && l.end[-1] == ' ')
		l.end--;
	for (p = l.end; p > l.p && p[-1] != ' '; p--)
		;
	if (!number((struct line){p, l.end}, 10, &n) || !n || n > UINT32_MAX)
		return;
	for (l.end = p; l.end > l.p && l.end[-1] == ' '; l.end--)
		;
	while (l.p < l.end && *l.p == ' ')
		l.p++;
	p = memrchr(l.p, '/', length(l));
	if (p)
		l.p = p + 1;
	if (!length(l))
		return;
	keep(ret->file, sizeof(ret->file), l);
	ret->line = (uint32_t)n;
}

static bool same_place(const struct debugger_place *a, const struct debugger_place *b)
{
	if (*a->file || *b->file)
		return a->line == b->line && !strcmp(a->file, b->file);
	return a->pc == b->pc;
}

static void add_place(struct debugger_kernel *k, const struct debugger_place *p)
{
	k->lanes += p->lanes;
	for (unsigned i = 0; i < k->nplaces; i++)
		if (same_place(&k->place[i], p)) {
			k->place[i].lanes += p->lanes;
			return;
		}
	if (k->nplaces < WHY_PLACES)
		k->place[k->nplaces++] = *p;
	else
		k->more_places = true;
}

static void add_block(
	struct debugger_kernel *k, const struct debugger_place *p, const uint32_t to[3])
{
	k->blocks++;
	for (unsigned i = 0; i < 3; i++)
		k->which = (k->which ^ p->block[i] ^ (uint64_t)to[i] << 32) * 0x100000001b3u;
}

void debugger_read_threads(const char *text, struct debugger_kernel *ret)
{
	uint32_t last[3] = {UINT32_MAX, UINT32_MAX, UINT32_MAX};
	struct line l;

	ret->which = 0xcbf29ce484222325u;
	while (next_line(&text, &l)) {
		struct debugger_place p = {0};
		uint32_t to[3], end[3];

		l = behind_star(l);
		if (!triple(next_word(&l), p.block) || !triple(next_word(&l), p.thread) ||
			!triple(next_word(&l), to) || !triple(next_word(&l), end) ||
			!number(next_word(&l), 10, &p.lanes) || !number(next_word(&l), 16, &p.pc))
			continue;
		read_place(l, &p);
		add_place(ret, &p);
		if (memcmp(last, p.block, sizeof(last)) != 0 ||
			memcmp(to, p.block, sizeof(to)) != 0)
			add_block(ret, &p, to);
		ret->ranges |= memcmp(to, p.block, sizeof(to)) != 0;
		memcpy(last, to, sizeof(last));
	}
}

/* --- loops --- */

struct insn {
	uint64_t pc;
	struct line op, rest; /* without its predicate; what follows the operation */
};

/* "=> 0x7fd4db7a0070 <_Z9wait_flagPVi+112>:	LDG.E R0,[R2.64]" */
static bool read_insn(struct line l, struct insn *ret)
{
	const char *colon = memmem(l.p, length(l), ">:", 2);
	struct line w = next_word(&l);

	if (is(w, "=>"))
		w = next_word(&l);
	if (!colon || !number(w, 16, &ret->pc) || length(w) < 3 || w.p[1] != 'x')
		return false;
	l.p = colon + 2;
	ret->op = next_word(&l);
	if (length(ret->op) && *ret->op.p == '@')
		ret->op = next_word(&l);
	ret->rest = l;
	return length(ret->op);
}

static bool begins(struct line w, const char *with)
{
	const size_t n = strlen(with);

	return length(w) >= n && !memcmp(w.p, with, n) && (length(w) == n || w.p[n] == '.');
}

static bool has_part(struct line op, const char *part)
{
	return memmem(op.p, length(op), part, strlen(part)) != NULL;
}

/* Where the branch goes; false: it is none, or one through a register. */
static bool branch_target(const struct insn *i, uint64_t *ret)
{
	struct line l = i->rest, w;

	if (!begins(i->op, "BRA"))
		return false;
	while (length(w = next_word(&l)))
		if (length(w) > 2 && w.p[1] == 'x' && number(w, 16, ret))
			return true;
	w = i->rest; /* "P0,0x7f...": operands without blanks */
	for (const char *p = w.end; p-- > w.p;)
		if (*p == ',')
			return number((struct line){p + 1, w.end}, 16, ret);
	return false;
}

/* The smallest [*ret, *ret_end] that a branch back to *ret closes, with pc in it. */
static bool find_loop(const char *text, uint64_t pc, uint64_t *ret, uint64_t *ret_end)
{
	bool found = false;
	struct line l;

	*ret = *ret_end = 0;
	while (next_line(&text, &l)) {
		struct insn i;
		uint64_t to;

		if (!read_insn(l, &i) || !branch_target(&i, &to) || to > pc || i.pc < pc)
			continue;
		if (to == i.pc || (found && i.pc - to >= *ret_end - *ret))
			continue;
		*ret = to;
		*ret_end = i.pc;
		found = true;
	}
	return found;
}

/* R12 of "R12.64+0x10"; false: it is another operand. */
static bool read_reg(struct line *l, unsigned *ret)
{
	const char *p = l->p;
	unsigned n = 0;

	if (p >= l->end || *p != 'R')
		return false;
	for (p++; p < l->end && *p >= '0' && *p <= '9' && n < 256; p++)
		n = n * 10 + (unsigned)(*p - '0');
	if (p == l->p + 1 || n > 254)
		return false;
	l->p = p;
	*ret = n;
	return true;
}

/* "+0x10", "+-0x10", or nothing; false: a uniform register is added, which is not read here. */
static bool read_offset(struct line l, int64_t *ret)
{
	bool minus = false;
	uint64_t v;

	*ret = 0;
	if (!length(l))
		return true;
	if (*l.p++ != '+')
		return false;
	if (l.p < l.end && *l.p == '-') {
		minus = true;
		l.p++;
	}
	if (!number(l, 16, &v) || v > INT32_MAX)
		return false;
	*ret = minus ? -(int64_t)v : (int64_t)v;
	return true;
}

/* "R0,desc[UR4][R2.64+0x8]": the last brackets hold the address. */
static bool read_address(const struct insn *i, struct debugger_load *ret)
{
	const char *open = memrchr(i->rest.p, '[', length(i->rest));
	const char *close = open ? memchr(open, ']', (size_t)(i->rest.end - open)) : NULL;
	struct line l;

	if (!close)
		return false;
	l = (struct line){open + 1, close};
	if (!read_reg(&l, &ret->reg))
		return false;
	if (length(l) >= 3 && !memcmp(l.p, ".64", 3))
		l.p += 3;
	else if (!has_part(i->op, ".E"))
		return false; /* 32 bits of address */
	return read_offset(l, &ret->offset);
}

static unsigned bytes_of(struct line op)
{
	static const struct {
		const char *part;
		unsigned bytes;
	} sizes[] = {{".128", 16}, {".64", 8}, {".U8", 1}, {".S8", 1}, {".U16", 2}, {".S16", 2}};

	for (unsigned i = 0; i < sizeof(sizes) / sizeof(*sizes); i++)
		if (has_part(op, sizes[i].part))
			return sizes[i].bytes;
	return 4;
}

static bool is_load(const struct insn *i)
{
	return begins(i->op, "LDG") || begins(i->op, "LD");
}

/* Whether the instruction may write one of the two registers: the first register that it names is
 * taken for what it writes, with as many behind it as the operation's sizes say. */
static bool may_write(const struct insn *i, unsigned reg)
{
	static const char *const without[] = {
		"ST", "STG", "STS", "STL", "RED", "BRA", "EXIT", "BAR"};
	struct line l = i->rest;
	unsigned first, n = 1;

	for (unsigned k = 0; k < sizeof(without) / sizeof(*without); k++)
		if (begins(i->op, without[k]))
			return false;
	if (begins(i->op, "CALL") || begins(i->op, "BRX") || begins(i->op, "JMP"))
		return true;
	if (has_part(i->op, ".128"))
		n = 4;
	else if (has_part(i->op, ".64") || has_part(i->op, ".WIDE"))
		n = 2;
	for (; l.p < l.end; l.p++) {
		if (*l.p != 'R' || (l.p > i->rest.p && l.p[-1] == 'U'))
			continue;
		if (read_reg(&l, &first))
			return first <= reg + 1 && first + n > reg;
	}
	return false;
}

static bool changes(const char *text, uint64_t begin, uint64_t end, unsigned reg)
{
	struct line l;

	while (next_line(&text, &l)) {
		struct insn i;

		if (read_insn(l, &i) && i.pc >= begin && i.pc <= end && may_write(&i, reg))
			return true;
	}
	return false;
}

unsigned debugger_read_loop(const char *text, uint64_t pc, struct debugger_load *ret, unsigned max)
{
	uint64_t begin, end;
	unsigned n = 0;
	struct line l;

	if (!find_loop(text, pc, &begin, &end) || (end - begin) / 16 > LOOP_MOST)
		return 0;
	for (const char *at = text; n < max && next_line(&at, &l);) {
		struct debugger_load load = {0};
		struct insn i;

		if (!read_insn(l, &i) || i.pc < begin || i.pc > end || !is_load(&i) ||
			!read_address(&i, &load) || changes(text, begin, end, load.reg))
			continue;
		load.bytes = bytes_of(i.op);
		ret[n++] = load;
	}
	return n;
}

/* --- values --- */

bool debugger_read_register(const char *text, unsigned reg, uint32_t *ret)
{
	struct line l;

	while (next_line(&text, &l)) {
		struct line w = next_word(&l);
		unsigned r;
		uint64_t v;

		if (!read_reg(&w, &r) || length(w) || r != reg)
			continue;
		if (!number(next_word(&l), 16, &v) || v > UINT32_MAX)
			return false;
		*ret = (uint32_t)v;
		return true;
	}
	return false;
}

bool debugger_read_value(const char *text, uint64_t *ret)
{
	struct line l;

	while (next_line(&text, &l)) {
		struct line w = next_word(&l);

		if (length(w) > 1 && *w.p == '$' && is(next_word(&l), "="))
			return number(next_word(&l), 16, ret);
	}
	return false;
}
