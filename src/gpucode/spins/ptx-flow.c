/* SPDX-License-Identifier: Apache-2.0
 *
 * See ptx-flow.h. PTX ISA 9.0, chapters 4, 9 and 11. The surprise: names are not looked up by
 * scope. Two registers of one name in different braces count as one register with both's
 * definitions, which can only make less known; two labels of one name are refused.
 */
#include "gpucode/spins/ptx-flow.h"

#include <stdlib.h>
#include <string.h>
#include "base/buf.h"

struct reader {
	struct flow *f;
	const char *end;
	int depth; /* of braces; 0: behind the body */
	uint32_t file, line;
};

static void refuse(struct flow *f, const char *why)
{
	if (!f->why)
		f->why = why;
}

/* --- names --- */

uint32_t flow_name(struct flow *f, struct ptx_text text)
{
	const uint32_t i = ptx_names_number(&f->numbers, text);

	if (i == f->nnames) {
		MAKE_ROOM(f->name, f->nnames, f->names_cap);
		f->name[f->nnames++] = (struct flow_name){.param = FLOW_NONE, .label = FLOW_NONE};
	}
	return i;
}

bool flow_find(const struct flow *f, struct ptx_text text, uint32_t *ret)
{
	return ptx_names_find(&f->numbers, text, ret);
}

struct ptx_text flow_word(struct ptx_text *at)
{
	struct ptx_text w;

	while (at->p < at->end && !ptx_is_name(*at->p)) {
		const char *behind = ptx_skip_comment(at->p, at->end);

		at->p = behind == at->p ? at->p + 1 : behind;
	}
	w = ptx_word(at->p, at->end);
	at->p = w.end;
	return w;
}

/* --- parameters --- */

static void declare(struct flow *f, struct ptx_text name, uint32_t param)
{
	const uint32_t at = flow_name(f, name);

	f->name[at].param = param;
}

/* The names of the entry's parameters, from behind its own name; returns what is behind them. A
 * declaration's last name outside of [] is the parameter's: ".param .align 8 .b8 name[24]". */
static const char *read_params(struct flow *f, const char *p, const char *end)
{
	struct ptx_text last = {NULL, NULL};
	uint32_t n = 0;

	p = ptx_skip(p, end);
	if (p >= end || *p != '(')
		return p;
	for (p = ptx_skip(p + 1, end); p < end; p = ptx_skip(p, end)) {
		if (*p == ',' || *p == ')') {
			if (last.p)
				declare(f, last, n++);
			last.p = NULL;
			if (*p++ == ')')
				break;
		} else if (*p == '[') {
			while (p < end && *p != ']')
				p++;
		} else if (*p == '.') {
			p = ptx_word(p + 1, end).end;
		} else if (ptx_is_name(*p)) {
			const struct ptx_text w = ptx_word(p, end);

			if (*w.p < '0' || *w.p > '9')
				last = w;
			p = w.end;
		} else {
			p++;
		}
	}
	return p;
}

/* --- statements --- */

/* Behind the operand that begins at p: at a comma outside of braces, or the end. */
static const char *skip_operand(const char *p, const char *end)
{
	int depth = 0;

	while (p < end && (*p != ',' || depth)) {
		const char *behind = ptx_skip_comment(p, end);

		depth += *p == '[' || *p == '{' || *p == '(';
		depth -= *p == ']' || *p == '}' || *p == ')';
		p = behind == p ? p + 1 : behind;
	}
	return p;
}

static void read_operands(struct flow_insn *i, const char *p, const char *end)
{
	for (p = ptx_skip(p, end); p < end; p = ptx_skip(p < end ? p + 1 : p, end)) {
		const char *from = p;

		p = skip_operand(p, end);
		if (i->nargs < FLOW_ARGS)
			i->arg[i->nargs] = (struct ptx_text){from, p};
		i->nargs++;
	}
}

static void read_instruction(struct reader *r, const char *p, const char *end)
{
	struct flow *f = r->f;
	struct flow_insn i = {.guard = FLOW_NONE,
		.next = FLOW_NONE,
		.target = FLOW_NONE,
		.file = r->file,
		.line = r->line};

	if (p < end && *p == '@') {
		struct ptx_text rest = {ptx_skip(p + 1, end), end};

		i.negated = rest.p < end && *rest.p == '!';
		i.guard = flow_name(f, flow_word(&rest));
		p = ptx_skip(rest.p, end);
	}
	i.op = ptx_word(p, end);
	if (i.op.p == i.op.end) {
		if (p < end)
			refuse(f, "its code has a statement that is not known");
		return;
	}
	read_operands(&i, i.op.end, end);
	if (f->n == FLOW_INSNS_MAX) {
		refuse(f, "its code is too long");
		return;
	}
	MAKE_ROOM(f->insn, f->n, f->cap);
	f->insn[f->n++] = i;
}

/* ".loc 1 23 7": it has no semicolon. */
static const char *read_loc(struct reader *r, const char *p)
{
	const char *line_end = memchr(p, '\n', (size_t)(r->end - p));
	struct ptx_text rest = {p + strlen(".loc"), line_end ? line_end : r->end};
	char number[2][12] = {"", ""};

	for (unsigned i = 0; i < 2; i++) {
		const struct ptx_text w = flow_word(&rest);

		if (ptx_text_length(w) < sizeof(number[i]))
			memcpy(number[i], w.p, ptx_text_length(w));
	}
	r->file = (uint32_t)strtoul(number[0], NULL, 10);
	r->line = (uint32_t)strtoul(number[1], NULL, 10);
	return line_end ? line_end + 1 : r->end;
}

static void add_label(struct flow *f, struct ptx_text w)
{
	const uint32_t at = flow_name(f, w);

	f->name[at].twice |= f->name[at].label != FLOW_NONE;
	f->name[at].label = (uint32_t)f->n;
}

/* At the semicolon of the statement that begins at p; braces and strings within it belong to it. */
static const char *find_end(const char *p, const char *end)
{
	bool quoted = false;

	for (int depth = 0; p < end && (*p != ';' || depth > 0 || quoted);) {
		const char *behind = quoted ? p : ptx_skip_comment(p, end);

		quoted ^= *p == '"';
		depth += quoted ? 0 : (*p == '{') - (*p == '}');
		if (depth < 0)
			return p;
		p = behind == p ? p + 1 : behind;
	}
	return p;
}

static const char *read_statement(struct reader *r, const char *p)
{
	const struct ptx_text w = ptx_word(p, r->end);
	const char *name_end = w.p, *end;

	while (name_end < w.end && ptx_is_name(*name_end))
		name_end++;
	if (*p == '{' || *p == '}') {
		r->depth += *p == '{' ? 1 : -1;
		return p + 1;
	}
	if (r->end - p > 5 && !memcmp(p, ".loc", 4) && ptx_is_space(p[4]))
		return read_loc(r, p);
	if (name_end > w.p && name_end < r->end && *name_end == ':' &&
		(name_end + 1 == r->end || name_end[1] != ':')) {
		add_label(r->f, (struct ptx_text){w.p, name_end});
		return name_end + 1;
	}
	end = find_end(p, r->end);
	if (*p != '.') /* directives declare */
		read_instruction(r, p, end);
	return end < r->end && *end == ';' ? end + 1 : end;
}

/* --- where instructions go on --- */

static void set_target(struct flow *f, struct flow_insn *i)
{
	struct ptx_text at = i->arg[0];
	uint32_t name;

	if (!i->nargs || !flow_find(f, flow_word(&at), &name) || f->name[name].label == FLOW_NONE) {
		refuse(f, "it branches to a label that is not there");
		return;
	}
	if (f->name[name].twice)
		refuse(f, "two of its labels have one name");
	i->target = f->name[name].label < f->n ? f->name[name].label : FLOW_NONE;
}

/* Functions that end by themselves. */
static bool is_harmless_call(const struct flow_insn *i)
{
	for (unsigned k = 0; k < i->nargs && k < FLOW_ARGS; k++)
		if (ptx_has_name(i->arg[k], "vprintf") || ptx_has_name(i->arg[k], "__assertfail"))
			return true;
	return false;
}

static void connect(struct flow *f, uint32_t at)
{
	struct flow_insn *i = &f->insn[at];
	bool over =
		ptx_begins(i->op, "ret") || ptx_begins(i->op, "exit") || ptx_begins(i->op, "trap");

	if (ptx_begins(i->op, "bra")) {
		set_target(f, i);
		over = true;
	} else if (ptx_begins(i->op, "brx")) {
		refuse(f, "it branches by a table");
	} else if (ptx_begins(i->op, "call") && !is_harmless_call(i)) {
		refuse(f, "it calls a function");
	} else if (ptx_begins(i->op, "griddepcontrol.wait")) {
		refuse(f, "it waits for other launches");
	}
	if ((!over || i->guard != FLOW_NONE) && at + 1 < f->n)
		i->next = at + 1;
}

void flow_read(struct flow *ret, struct ptx_text text, const char *kernel)
{
	struct reader r = {.f = ret, .end = text.end};
	struct ptx_text body;
	const char *p = ptx_find_entry(text, kernel);

	*ret = (struct flow){0};
	if (!p || !ptx_body(text, kernel, &body)) {
		refuse(ret, "its PTX does not have it");
		return;
	}
	(void)read_params(ret, p, body.p);
	r.end = body.end;
	for (p = ptx_skip(body.p, r.end); p < r.end && !ret->why; p = ptx_skip(p, r.end))
		p = read_statement(&r, p);
	for (uint32_t i = 0; i < ret->n; i++)
		connect(ret, i);
}

void flow_free(struct flow *f)
{
	free(f->insn);
	free(f->name);
	ptx_names_free(&f->numbers);
	*f = (struct flow){0};
}
