/* SPDX-License-Identifier: Apache-2.0
 *
 * See ptx-waits.h. The body is taken as statements; from its beginning, all that can be reached
 * without passing a griddepcontrol.wait is marked. A predicated wait is passed and not passed.
 * Brackets of any other kind, calls and jumps by table: the text does not say. PTX ISA 9.0,
 * chapters 4 and 9.
 */
#include "order/races/ptx-waits.h"

#include <stdlib.h>
#include <string.h>
#include "gpucode/ptx-text.h"

#define KERNELS_MAX (1u << 24)
#define STATEMENTS_MAX (1u << 20)

enum what { PLAIN, LABEL, WAIT, TRIGGER, ACCESS, JUMP, RETURN, STRANGE };

struct statement {
	enum what what;
	bool predicated, reached;
	struct ptx_text name; /* of a label; of a jump, where to */
};

struct body {
	struct statement *s;
	size_t n, cap;
	size_t *todo;
	size_t ntodo;
};

/* An instruction that computes in registers, or in memory that no other launch sees. */
static bool is_plain(struct ptx_text op)
{
	static const char *const plain[] = {"mov", "add", "sub", "mul", "mad", "fma", "div", "rem",
		"abs", "neg", "min", "max", "and", "or", "xor", "not", "cnot", "lop3", "shl", "shr",
		"shf", "bfe", "bfi", "bfind", "brev", "popc", "clz", "prmt", "set", "setp", "selp",
		"slct", "cvt", "cvta", "isspacep", "mul24", "mad24", "sad", "dp4a", "dp2a", "rcp",
		"sqrt", "rsqrt", "sin", "cos", "lg2", "ex2", "tanh", "testp", "copysign", "bar",
		"barrier", "shfl", "vote", "match", "activemask", "elect", "redux", "nanosleep",
		"membar", "fence", "mbarrier", "mapa", "getctarank", "setmaxnreg", "pmevent",
		"trap", "szext", "bmsk", "createpolicy", "addc", "subc", "madc", "prefetch",
		"prefetchu", "applypriority"};

	for (unsigned i = 0; i < sizeof plain / sizeof *plain; i++)
		if (ptx_begins(op, plain[i]))
			return true;
	return (ptx_begins(op, "ld") || ptx_begins(op, "st") || ptx_begins(op, "atom") ||
		       ptx_begins(op, "red")) &&
	       (ptx_has(op, ".param") || ptx_has(op, ".shared") || ptx_has(op, ".local"));
}

static enum what what_is(struct ptx_text op)
{
	if (ptx_begins(op, "griddepcontrol"))
		return ptx_has(op, ".wait") ? WAIT : TRIGGER;
	if (ptx_begins(op, "bra"))
		return JUMP;
	if (ptx_begins(op, "ret") || ptx_begins(op, "exit"))
		return RETURN;
	if (ptx_begins(op, "call") || ptx_begins(op, "brx") || ptx_begins(op, "tcgen05"))
		return STRANGE;
	return is_plain(op) ? PLAIN : ACCESS;
}

static void put(struct body *b, struct statement s)
{
	MAKE_ROOM(b->s, b->n, b->cap);
	b->s[b->n++] = s;
}

/* The colon behind the label that the word begins with; NULL: it does not begin with one. Opcodes
 * have double colons. What follows the label may be part of the word. */
static const char *colon(struct ptx_text w)
{
	for (const char *p = w.p; p < w.end; p++)
		if (*p == ':') {
			if (p + 1 == w.end || p[1] != ':')
				return p;
			p++;
		}
	return NULL;
}

/* The statement at p, which is no brace. Behind it. */
static const char *take(struct body *b, const char *p, const char *end)
{
	struct statement s = {.what = PLAIN};
	struct ptx_text w;
	int inside = 0;

	if (*p == '.') { /* a declaration; .loc and .file end with the line */
		const bool line = ptx_begins(ptx_word(p + 1, end), "loc") ||
				  ptx_begins(ptx_word(p + 1, end), "file");

		for (; p < end && (line ? *p != '\n' : *p != ';' || inside); p++)
			inside += (*p == '{') - (*p == '}');
		return p < end ? p + 1 : end;
	}
	if (*p == '@') {
		s.predicated = true;
		while (p < end && !ptx_is_space(*p))
			p++;
		p = ptx_skip(p, end);
	}
	w = ptx_word(p, end);
	if (!s.predicated && colon(w)) {
		put(b, (struct statement){.what = LABEL, .name = {w.p, colon(w)}});
		return colon(w) + 1;
	}
	s.what = w.end > w.p ? what_is(w) : STRANGE;
	p = ptx_skip(w.end, end);
	s.name = ptx_word(p, end);
	put(b, s);
	for (; p < end && (*p != ';' || inside); p++)
		inside += (*p == '{') - (*p == '}');
	return p < end ? p + 1 : end;
}

/* From behind the brace that opens it. False: it does not end. */
static bool read_body(struct body *b, const char *p, const char *end)
{
	for (int depth = 1; depth && b->n < STATEMENTS_MAX;) {
		p = ptx_skip(p, end);
		if (p >= end)
			return false;
		if (*p == '{' || *p == '}')
			depth += *p++ == '{' ? 1 : -1;
		else
			p = take(b, p, end);
	}
	return b->n < STATEMENTS_MAX;
}

static void reach(struct body *b, size_t i)
{
	if (i >= b->n || b->s[i].reached)
		return;
	b->s[i].reached = true;
	b->todo[b->ntodo++] = i;
}

/* False: there is no such label, or more than one. */
static bool jump(struct body *b, struct ptx_text to)
{
	const size_t n = (size_t)(to.end - to.p);
	size_t found = 0, at = 0;

	for (size_t i = 0; i < b->n; i++)
		if (b->s[i].what == LABEL && (size_t)(b->s[i].name.end - b->s[i].name.p) == n &&
			!memcmp(b->s[i].name.p, to.p, n)) {
			found++;
			at = i;
		}
	if (found == 1)
		reach(b, at);
	return found == 1;
}

/* Marks what is reached without a wait. *ret_ends: an end of the thread is among it. False: the
 * text does not say. */
static bool walk(struct body *b, bool *ret_ends)
{
	reach(b, 0);
	while (b->ntodo) {
		const size_t i = b->todo[--b->ntodo];
		const struct statement *s = &b->s[i];
		const bool goes_on =
			s->predicated || (s->what != JUMP && s->what != RETURN && s->what != WAIT);

		if (s->what == STRANGE || (s->what == JUMP && !jump(b, s->name)))
			return false;
		*ret_ends |= s->what == RETURN || (goes_on && i + 1 == b->n);
		if (goes_on)
			reach(b, i + 1);
	}
	return true;
}

static bool any(const struct body *b, enum what what, bool reached)
{
	for (size_t i = 0; i < b->n; i++)
		if (b->s[i].what == what && (!reached || b->s[i].reached))
			return true;
	return false;
}

/* Whether every thread triggers before anything else can happen to it. */
static bool triggers_first(const struct body *b)
{
	for (size_t i = 0;
		i < b->n && !b->s[i].predicated &&
		(b->s[i].what == PLAIN || b->s[i].what == TRIGGER || b->s[i].what == ACCESS);
		i++)
		if (b->s[i].what == TRIGGER)
			return true;
	return false;
}

static bool judge(struct body *b, struct order_early *ret)
{
	bool ends = false;

	b->todo = xcalloc(b->n + 1, sizeof *b->todo);
	if (!b->n || any(b, STRANGE, false) || !walk(b, &ends))
		return false;
	*ret = (struct order_early){
		.known = true, .code = true, .triggers = any(b, TRIGGER, false)};
	if (!any(b, WAIT, false)) {
		ret->before = true;
		return true;
	}
	ret->waits = true;
	ret->trigger_waits = !any(b, TRIGGER, true); /* blocks that end have waited */
	return !ends && !any(b, ACCESS, true) && (ret->trigger_waits || triggers_first(b));
}

/* Code for older GPUs says nothing: its source may have more for newer ones. */
static bool is_new(struct ptx_text t)
{
	const char *p = memmem(t.p, (size_t)(t.end - t.p), ".target sm_", 11);

	return p && t.end - p > 13 && atoi(p + 11) >= 90;
}

bool waits_text(const char *text, size_t n, const char *entry, struct order_early *ret)
{
	const struct ptx_text t = {text, text + strnlen(text, n)};
	struct ptx_text body;
	struct body b = {0};
	bool known = is_new(t) && ptx_body(t, entry, &body) && read_body(&b, body.p, t.end) &&
		     judge(&b, ret);

	free(b.s);
	free(b.todo);
	if (!known)
		*ret = (struct order_early){0};
	return known;
}

/* --- kernels of a trace --- */

/* Texts that all say the same count as one. */
static void ask(const struct waits *w, const char *name, struct waits_known *ret)
{
	bool differ = false;

	for (size_t i = 0; i < w->codes.n && !differ; i++) {
		const struct trace_code *c = &w->codes.code[i];
		const struct ptx_text t = {
			(const char *)c->bytes.data, (const char *)c->bytes.data + c->bytes.len};
		struct ptx_text body;
		struct order_early e;

		if (c->kind != CODE_PTX || !c->bytes.len || !ptx_body(t, name, &body))
			continue;
		(void)waits_text(t.p, c->bytes.len, name, &e);
		differ = !e.known || (ret->is.known && memcmp(&e, &ret->is, sizeof e));
		ret->is = e;
	}
	if (differ)
		ret->is = (struct order_early){0};
}

struct err *waits_kernel(struct waits *w, struct sbt_reader *trace, const struct state *s,
	uint64_t id, struct order_early *ret, bool *ret_known)
{
	struct state_kernel k;

	*ret = (struct order_early){0};
	*ret_known = false;
	if (id >= KERNELS_MAX || !state_kernel_by_id(s, (uint32_t)id, &k) || !k.name)
		return NULL;
	if (id >= w->nknown) {
		const size_t n = (id + 64) & ~(size_t)63;

		w->known = xrealloc(w->known, n * sizeof *w->known);
		memset(w->known + w->nknown, 0, (n - w->nknown) * sizeof *w->known);
		w->nknown = n;
	}
	if (!w->known[id].asked) {
		TRY(trace_codes_read(&w->codes, trace));
		w->known[id].asked = true;
		ask(w, k.name, &w->known[id]);
	}
	*ret = w->known[id].is;
	*ret_known = ret->known;
	return NULL;
}

void waits_free(struct waits *w)
{
	trace_codes_free(&w->codes);
	free(w->known);
	*w = (struct waits){0};
}
