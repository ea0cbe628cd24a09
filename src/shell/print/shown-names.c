/* SPDX-License-Identifier: Apache-2.0
 *
 * Kernels' names, see shown-names.h. Demangled names come from symbols/, which keeps each.
 */
#include "shell/print/shown-names.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include "engine/trace-file.h"
#include "state/state.h"
#include "symbols/symbols.h"
#include "sbt/kernel-name.h"

/* --- shortening --- */

/* Behind the bracket that closes the one at p; the end of the text if none does. `>` of an arrow or
 * an operator is within parentheses in what nvcc makes. */
static const char *behind_bracket(const char *p)
{
	unsigned depth = 0;

	do {
		depth += *p == '<' || *p == '(' || *p == '[' || *p == '{';
		depth -= *p == '>' || *p == ')' || *p == ']' || *p == '}';
		p++;
	} while (*p && depth);
	return p;
}

/* Begins with the function's name: a template's return type comes before it, up to a blank outside
 * of all brackets. */
static const char *behind_return_type(const char *text)
{
	const char *name = text;

	for (const char *p = text; *p && *p != '(';) {
		if (!strncmp(p, "operator", 8))
			break;
		if (!strncmp(p, "(anonymous", 10) || *p == '<') {
			p = behind_bracket(p);
			continue;
		}
		if (*p++ == ' ')
			name = p;
	}
	return name;
}

/* Where the parameters begin: the first "(" outside of template arguments that is no "(anonymous
 * namespace)". */
static const char *parameters_of(const char *name)
{
	const char *p = name;

	while (*p && !(*p == '(' && strncmp(p, "(anonymous", 10)))
		p = *p == '<' || *p == '(' ? behind_bracket(p) : p + 1;
	return p;
}

/* How much of template arguments is kept. */
enum keep { KEEP_LAST_NAMES, KEEP_OUTER, KEEP_NOTHING };

/* Appends text up to end without namespaces: "at::native::Add<float>" -> "Add<float>". With
 * KEEP_OUTER the arguments of arguments become "...". */
static void put_arguments(struct buf *out, const char *text, const char *end, enum keep keep)
{
	size_t word = out->len; /* where the present name begins */

	while (text < end) {
		if (text[0] == ':' && text[1] == ':') {
			out->len = word;
			text += 2;
		} else if (*text == '<' && keep == KEEP_OUTER) {
			buf_str(out, "<...>");
			text = behind_bracket(text);
		} else {
			buf_byte(out, (uint8_t)*text);
			if (!isalnum((unsigned char)*text) && *text != '_')
				word = out->len;
			text++;
		}
	}
}

/* Appends the qualified name with its template arguments as far as they are kept. */
static void put_name(struct buf *out, const char *name, const char *end, enum keep keep)
{
	while (name < end) {
		const char *behind = *name == '<' ? behind_bracket(name) : name + 1;

		if (*name != '<')
			buf_byte(out, (uint8_t)*name);
		else if (keep == KEEP_NOTHING)
			buf_str(out, "<...>");
		else {
			buf_byte(out, '<');
			put_arguments(out, name + 1, behind < end ? behind : end, keep);
		}
		name = behind;
	}
}

void kernel_brief_name(struct buf *out, const char *demangled)
{
	const char *name = behind_return_type(demangled), *end = parameters_of(name);
	const size_t from = out->len;

	if (end - name <= NAMES_BRIEF_MAX) {
		buf_add(out, name, (size_t)(end - name));
		return;
	}
	for (enum keep keep = KEEP_LAST_NAMES; keep <= KEEP_NOTHING; keep++) {
		out->len = from;
		put_name(out, name, end, keep);
		if (out->len - from <= NAMES_BRIEF_MAX)
			return;
	}
}

/* --- names --- */

const char *kernel_shown_name(struct session *s, const char *mangled)
{
	const enum names_how how = (enum names_how)s->set.number[SHELL_NAMES];
	struct buf b = BUF_INIT;
	const char *shown, *whole;
	char brief[512];

	if (!s->symbols)
		s->symbols = symbols_new();
	whole = how == NAMES_SHORT ? mangled : symbols_demangle(s->symbols, mangled);
	if (how == NAMES_SHORT || (whole == mangled || !strcmp(whole, mangled))) {
		sbt_kernel_short_name(brief, sizeof brief, mangled);
		return symbols_keep(s->symbols, brief);
	}
	if (how == NAMES_FULL)
		return whole;
	kernel_brief_name(&b, whole);
	shown = symbols_keep(s->symbols, buf_cstr(&b));
	buf_free(&b);
	return shown;
}

static const char *shown_name(void *arg, uint32_t id)
{
	const struct shown_names *of = arg;
	struct state_kernel k;

	return state_kernel_by_id(of->st, id, &k) && k.name ? kernel_shown_name(of->s, k.name)
							    : NULL;
}

static bool params_of(void *arg, uint32_t id, struct sbt_blob *ret)
{
	const struct sbt_names names = state_names(((const struct shown_names *)arg)->st);

	return names.params(names.arg, id, ret);
}

struct sbt_names kernel_names(const struct shown_names *of)
{
	return (struct sbt_names){
		.arg = (void *)(uintptr_t)of, .kernel = shown_name, .params = params_of};
}

struct err *shown_cmd(const struct shown_names *of, struct sbt_reader *r, uint64_t seq, bool json,
	struct buf *out, uint32_t *ret_stack)
{
	struct sbt_names names = json ? state_names(of->st) : kernel_names(of);
	struct sbt_cursor *cur;
	const struct sbt_cmd *c;

	TRY(trace_cmd(r, seq, &cur, &c));
	*ret_stack = c->stack;
	if (json)
		sbt_json_cmd(out, c, &names);
	else
		sbt_print_cmd(out, c, &names);
	sbt_cursor_close(cur);
	return NULL;
}
