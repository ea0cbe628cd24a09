/* SPDX-License-Identifier: Apache-2.0
 *
 * The grammar: C's, by precedence, with gdb's `@`, `{type}` and names of types that the scope
 * knows.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "lang/core/lex.h"

enum { DEPTH_MAX = 200, NODES_MAX = 4000 }; /* evaluation recurses as deep as the tree */

struct parser {
	struct lang_lexer x;
	const struct lang_scope *scope;
	struct lang_node *all;
	unsigned depth, nodes;
};

static struct err *parse_comma(struct parser *p, struct lang_node **ret);
static struct err *parse_assign(struct parser *p, struct lang_node **ret);
static struct err *parse_unary(struct parser *p, struct lang_node **ret);

static struct lang_node *new_node(struct parser *p, enum lang_op op, struct lang_node *a)
{
	struct lang_node *n = xcalloc(1, sizeof *n);

	n->op = op;
	n->how = LANG_OP_CONST;
	n->a = a;
	n->next = p->all;
	p->all = n;
	p->nodes++;
	return n;
}

void lang_tree_free(struct lang_node *all)
{
	struct lang_node *next;

	for (; all; all = next) {
		next = all->next;
		lang_value_free(&all->value);
		free(all->text);
		free(all);
	}
}

/* Goes to the next token; operand says whether an operand may come. */
static struct err *advance(struct parser *p, bool operand)
{
	p->x.operand = operand;
	return lang_lex(&p->x);
}

static bool is_sign(const struct parser *p, const char *sign)
{
	return p->x.token == LANG_T_SIGN && !strcmp(p->x.sign, sign);
}

static struct err *expect(struct parser *p, const char *sign, bool operand)
{
	return is_sign(p, sign) ? advance(p, operand) : lang_lex_refuse(&p->x);
}

/* --- names of types --- */

static bool is_tag(const char *name)
{
	return !strcmp(name, "struct") || !strcmp(name, "union") || !strcmp(name, "class") ||
	       !strcmp(name, "enum");
}

static bool is_qualifier(const char *name)
{
	return !strcmp(name, "const") || !strcmp(name, "volatile");
}

/* The words of C's own types, in any order: "long unsigned int". */
struct words {
	unsigned is_unsigned, is_signed, longs, shorts, ints, chars, n;
};

static bool count_word(struct words *w, const char *name)
{
	unsigned *count = !strcmp(name, "unsigned") ? &w->is_unsigned
			  : !strcmp(name, "signed") ? &w->is_signed
			  : !strcmp(name, "long")   ? &w->longs
			  : !strcmp(name, "short")  ? &w->shorts
			  : !strcmp(name, "int")    ? &w->ints
			  : !strcmp(name, "char")   ? &w->chars
						    : NULL;

	if (count) {
		++*count;
		w->n++;
	}
	return count != NULL;
}

static const struct lang_type *type_of_words(struct lang *l, const struct words *w)
{
	if (w->is_unsigned + w->is_signed > 1 || w->longs > 2 || w->shorts + w->chars > 1 ||
		w->ints + w->chars > 1 || (w->longs && w->shorts + w->chars))
		return NULL;
	if (w->chars)
		return lang_base_type(l, w->is_unsigned ? "unsigned char"
					 : w->is_signed ? "signed char"
							: "char");
	if (w->longs == 2)
		return lang_base_type(l, w->is_unsigned ? "unsigned long long" : "long long");
	return lang_int_type(l, w->longs ? 8 : w->shorts ? 2 : 4, !w->is_unsigned);
}

static const struct lang_type *type_named(struct parser *p, const char *name)
{
	const struct lang_type *t = NULL;

	if (p->scope && p->scope->type)
		t = p->scope->type(p->scope->arg, name);
	return t ? t : lang_base_type(p->x.l, name);
}

/* Whether a name is a variable: it is one before it is a type. */
static bool is_variable(struct parser *p, const char *name)
{
	struct lang_value v = {0};
	bool found = false;
	struct err *e;

	if (!p->scope || !p->scope->name)
		return false;
	e = p->scope->name(p->scope->arg, name, &v, &found);
	lang_value_free(&v);
	err_free(e);
	return found;
}

/* Whether a type's name begins at the current token. */
static bool begins_type(struct parser *p)
{
	struct words w = {0};
	const char *name = p->x.name;

	if (p->x.token != LANG_T_NAME)
		return false;
	if (is_tag(name) || is_qualifier(name) || count_word(&w, name))
		return true;
	return type_named(p, name) && !is_variable(p, name);
}

static struct err *no_type(const char *name)
{
	return err_cure(err_new(ERR_NOT_FOUND, "there is no type \"%s\"", name),
		"Types are those of C, f16 bf16 f32 f64 s8 to s64 u8 to u64, and those of the program's debug information");
}

/* Words up to the first star or bracket: "const unsigned long", "struct point". */
static struct err *parse_base(struct parser *p, const struct lang_type **ret)
{
	struct words w = {0};
	bool is_const = false, is_volatile = false;
	char name[sizeof p->x.name + 8];

	*ret = NULL;
	while (p->x.token == LANG_T_NAME) {
		const char *word = p->x.name;

		if (!strcmp(word, "const")) {
			is_const = true;
		} else if (!strcmp(word, "volatile")) {
			is_volatile = true;
		} else if (is_tag(word) && !*ret && !w.n) {
			snprintf(name, sizeof name, "%s ", word);
			TRY(advance(p, true));
			if (p->x.token != LANG_T_NAME)
				return lang_lex_refuse(&p->x);
			strncat(name, p->x.name, sizeof name - strlen(name) - 1);
			*ret = type_named(p, name);
			if (!*ret)
				return no_type(name);
		} else if (!*ret && count_word(&w, word)) {
		} else if (!*ret && !w.n) {
			*ret = type_named(p, word);
			if (!*ret)
				return no_type(word);
		} else {
			break;
		}
		TRY(advance(p, false));
	}
	if (!*ret && w.n)
		*ret = type_of_words(p->x.l, &w);
	if (!*ret)
		return lang_lex_refuse(&p->x);
	if (is_const)
		*ret = lang_qualified(p->x.l, *ret, "const ");
	if (is_volatile)
		*ret = lang_qualified(p->x.l, *ret, "volatile ");
	return NULL;
}

static struct err *parse_count(struct parser *p, uint64_t *ret)
{
	int64_t n = -1;

	TRY(advance(p, true)); /* over [ */
	if (p->x.token != LANG_T_NUMBER)
		return lang_lex_refuse(&p->x);
	TRY(lang_to_int(NULL, &p->x.value, &n));
	if (n <= 0)
		return err_new(ERR_USAGE, "an array has 1 element and more");
	*ret = (uint64_t)n;
	TRY(advance(p, false));
	return expect(p, "]", false);
}

/* Arrays and functions behind a declarator: "[3][4]", "(int)". A function's parameters are read and
 * forgotten. */
static struct err *parse_behind(struct parser *p, const struct lang_type **t)
{
	uint64_t counts[8];
	unsigned n = 0;

	while (is_sign(p, "[")) {
		if (n == sizeof counts / sizeof *counts)
			return err_new(ERR_LIMIT, "an array has at most %u dimensions", n);
		TRY(parse_count(p, &counts[n++]));
	}
	while (n) {
		*t = lang_array_of(p->x.l, *t, counts[--n]);
		if (!*t)
			return err_new(ERR_LIMIT, "an array of this size does not fit into memory");
	}
	return NULL;
}

static struct err *parse_stars(struct parser *p, const struct lang_type **t)
{
	while (is_sign(p, "*") || is_sign(p, "&")) {
		*t = lang_pointer_to(p->x.l, *t);
		TRY(advance(p, false));
		while (p->x.token == LANG_T_NAME && is_qualifier(p->x.name)) {
			*t = lang_qualified(
				p->x.l, *t, p->x.name[0] == 'c' ? "const " : "volatile ");
			TRY(advance(p, false));
		}
	}
	return NULL;
}

/* A type's name: words, stars, dimensions, and "(*)[3]". */
static struct err *parse_type(struct parser *p, const struct lang_type **ret)
{
	unsigned inner = 0;

	TRY(parse_base(p, ret));
	TRY(parse_stars(p, ret));
	if (is_sign(p, "(")) {
		TRY(advance(p, false));
		for (; is_sign(p, "*"); inner++)
			TRY(advance(p, false));
		if (!inner)
			return lang_lex_refuse(&p->x);
		TRY(expect(p, ")", false));
	}
	TRY(parse_behind(p, ret));
	while (inner--)
		*ret = lang_pointer_to(p->x.l, *ret);
	return NULL;
}

/* --- operands --- */

static struct err *parse_name(struct parser *p, struct lang_node **ret)
{
	*ret = new_node(p, LANG_OP_NAME, NULL);
	(*ret)->text = xstrdup(p->x.name);
	return advance(p, false);
}

static struct err *parse_constant(struct parser *p, struct lang_node **ret)
{
	*ret = new_node(p, LANG_OP_CONST, NULL);
	(*ret)->value = p->x.value;
	p->x.value = (struct lang_value){0};
	return advance(p, false);
}

/* "a" "b" is one text. */
static struct err *parse_texts(struct parser *p, struct lang_node **ret)
{
	struct buf b = BUF_INIT;
	struct err *e = NULL;

	while (!e && p->x.token == LANG_T_TEXT) {
		buf_add(&b, p->x.value.bytes, (size_t)p->x.value.type->size - 1);
		e = advance(p, false);
	}
	*ret = new_node(p, LANG_OP_CONST, NULL);
	(*ret)->value = lang_from_text(p->x.l, (const char *)b.data, b.len);
	buf_free(&b);
	return e;
}

static struct err *parse_sizeof(struct parser *p, struct lang_node **ret)
{
	struct lang_node *what;

	TRY(advance(p, true));
	if (is_sign(p, "(")) {
		struct lang_lexer saved = p->x;

		TRY(advance(p, true));
		if (begins_type(p)) {
			what = new_node(p, LANG_OP_TYPE, NULL);
			TRY(parse_type(p, &what->type));
			TRY(expect(p, ")", false));
			*ret = new_node(p, LANG_OP_SIZEOF, what);
			return NULL;
		}
		lang_value_free(&p->x.value);
		p->x = saved;
	}
	TRY(parse_unary(p, &what));
	*ret = new_node(p, LANG_OP_SIZEOF, what);
	return NULL;
}

static struct err *parse_operand(struct parser *p, struct lang_node **ret)
{
	if (p->x.token == LANG_T_NUMBER)
		return parse_constant(p, ret);
	if (p->x.token == LANG_T_TEXT)
		return parse_texts(p, ret);
	if (p->x.token == LANG_T_NAME) {
		if (!strcmp(p->x.name, "sizeof"))
			return parse_sizeof(p, ret);
		if (begins_type(p)) {
			*ret = new_node(p, LANG_OP_TYPE, NULL);
			return parse_type(p, &(*ret)->type);
		}
		return parse_name(p, ret);
	}
	if (!is_sign(p, "("))
		return lang_lex_refuse(&p->x);
	TRY(advance(p, true));
	TRY(parse_comma(p, ret));
	return expect(p, ")", false);
}

static struct err *parse_member(struct parser *p, enum lang_op op, struct lang_node **ret)
{
	struct lang_node *n = new_node(p, op, *ret);

	TRY(advance(p, false));
	if (p->x.token != LANG_T_NAME || *p->x.name == '$' || *p->x.name == '%')
		return lang_lex_refuse(&p->x);
	n->text = xstrdup(p->x.name);
	*ret = n;
	return advance(p, false);
}

static struct err *parse_call(struct parser *p, struct lang_node **ret)
{
	struct lang_node *arg;

	TRY(advance(p, true));
	while (!is_sign(p, ")")) {
		TRY(parse_assign(p, &arg));
		if (!is_sign(p, ","))
			break;
		TRY(advance(p, true));
	}
	*ret = new_node(p, LANG_OP_CALL, *ret);
	return expect(p, ")", false);
}

static struct err *parse_step(struct parser *p, enum lang_op op, struct lang_node **ret)
{
	struct lang_node *n = new_node(p, op, *ret);

	n->how = is_sign(p, "++") ? LANG_OP_ADD : LANG_OP_SUB;
	*ret = n;
	return advance(p, op == LANG_OP_BEFORE);
}

/* What stands behind an operand. */
static struct err *parse_postfix(struct parser *p, struct lang_node **ret)
{
	struct lang_node *n;

	TRY(parse_operand(p, ret));
	for (;;) {
		if (is_sign(p, ".")) {
			TRY(parse_member(p, LANG_OP_MEMBER, ret));
		} else if (is_sign(p, "->")) {
			TRY(parse_member(p, LANG_OP_ARROW, ret));
		} else if (is_sign(p, "[")) {
			TRY(advance(p, true));
			n = new_node(p, LANG_OP_INDEX, *ret);
			TRY(parse_comma(p, &n->b));
			TRY(expect(p, "]", false));
			*ret = n;
		} else if (is_sign(p, "(")) {
			TRY(parse_call(p, ret));
		} else if (is_sign(p, "++") || is_sign(p, "--")) {
			TRY(parse_step(p, LANG_OP_AFTER, ret));
		} else {
			return NULL;
		}
	}
}

/* --- operations --- */

static struct err *parse_cast(struct parser *p, struct lang_node **ret, bool *ret_is)
{
	struct lang_lexer saved = p->x;
	struct lang_node *n;

	TRY(advance(p, true));
	*ret_is = begins_type(p);
	if (!*ret_is) {
		lang_value_free(&p->x.value);
		p->x = saved;
		return NULL;
	}
	n = new_node(p, LANG_OP_CAST, NULL);
	TRY(parse_type(p, &n->type));
	TRY(expect(p, ")", true));
	if (p->x.token == LANG_T_END) { /* `whatis (int)` */
		n->op = LANG_OP_TYPE;
		*ret = n;
		return NULL;
	}
	TRY(parse_unary(p, &n->a));
	*ret = n;
	return NULL;
}

static struct err *parse_braces(struct parser *p, struct lang_node **ret)
{
	struct lang_node *n = new_node(p, LANG_OP_AT, NULL);

	TRY(advance(p, true));
	TRY(parse_type(p, &n->type));
	TRY(expect(p, "}", true));
	TRY(parse_unary(p, &n->a));
	*ret = n;
	return NULL;
}

static enum lang_op unary_op(const struct parser *p)
{
	static const struct {
		const char *sign;
		enum lang_op op;
	} ops[] = {{"-", LANG_OP_NEGATE}, {"+", LANG_OP_PLUS}, {"!", LANG_OP_NOT},
		{"~", LANG_OP_INVERT}, {"*", LANG_OP_DEREF}, {"&", LANG_OP_ADDRESS}};

	for (unsigned i = 0; i < sizeof ops / sizeof *ops; i++) {
		if (is_sign(p, ops[i].sign))
			return ops[i].op;
	}
	return LANG_OP_CONST;
}

static struct err *parse_unary_inner(struct parser *p, struct lang_node **ret)
{
	enum lang_op op = unary_op(p);
	struct lang_node *n = NULL;
	bool is_cast = false;

	if (op != LANG_OP_CONST) {
		TRY(advance(p, true));
		TRY(parse_unary(p, &n));
		*ret = new_node(p, op, n);
		return NULL;
	}
	if (is_sign(p, "++") || is_sign(p, "--")) {
		*ret = NULL;
		TRY(parse_step(p, LANG_OP_BEFORE, ret));
		return parse_unary(p, &(*ret)->a);
	}
	if (is_sign(p, "{"))
		return parse_braces(p, ret);
	if (is_sign(p, "(")) {
		TRY(parse_cast(p, ret, &is_cast));
		if (is_cast)
			return NULL;
	}
	return parse_postfix(p, ret);
}

static struct err *parse_unary(struct parser *p, struct lang_node **ret)
{
	struct err *e;

	if (p->depth >= DEPTH_MAX)
		return err_new(ERR_LIMIT, "the expression is nested more than %u deep", DEPTH_MAX);
	p->depth++;
	e = parse_unary_inner(p, ret);
	p->depth--;
	return e;
}

/* From the weakest to the strongest; gdb's @ lies between shifts and sums. */
static const struct {
	const char *sign;
	enum lang_op op;
	unsigned level;
} binary[] = {{"||", LANG_OP_OROR, 1}, {"&&", LANG_OP_ANDAND, 2}, {"|", LANG_OP_OR, 3},
	{"^", LANG_OP_XOR, 4}, {"&", LANG_OP_AND, 5}, {"==", LANG_OP_EQ, 6}, {"!=", LANG_OP_NE, 6},
	{"<", LANG_OP_LT, 7}, {">", LANG_OP_GT, 7}, {"<=", LANG_OP_LE, 7}, {">=", LANG_OP_GE, 7},
	{"<<", LANG_OP_SHL, 8}, {">>", LANG_OP_SHR, 8}, {"@", LANG_OP_REPEAT, 9},
	{"+", LANG_OP_ADD, 10}, {"-", LANG_OP_SUB, 10}, {"*", LANG_OP_MUL, 11},
	{"/", LANG_OP_DIV, 11}, {"%", LANG_OP_MOD, 11}};

const char *lang_op_name(enum lang_op op)
{
	for (unsigned i = 0; i < sizeof binary / sizeof *binary; i++) {
		if (binary[i].op == op)
			return binary[i].sign;
	}
	return op == LANG_OP_NEGATE ? "-"
	       : op == LANG_OP_PLUS ? "+"
	       : op == LANG_OP_NOT  ? "!"
				    : "~";
}

static unsigned level_of(const struct parser *p, enum lang_op *ret)
{
	if (p->x.token != LANG_T_SIGN)
		return 0;
	for (unsigned i = 0; i < sizeof binary / sizeof *binary; i++) {
		if (!strcmp(p->x.sign, binary[i].sign)) {
			*ret = binary[i].op;
			return binary[i].level;
		}
	}
	return 0;
}

/* Operations of at least this level, from the left. */
static struct err *parse_binary(struct parser *p, unsigned least, struct lang_node **ret)
{
	enum lang_op op = LANG_OP_CONST;
	unsigned level;

	if (p->nodes > NODES_MAX)
		return err_new(ERR_LIMIT, "the expression has more than %u parts", NODES_MAX);
	TRY(parse_unary(p, ret));
	while ((level = level_of(p, &op)) >= least && level) {
		struct lang_node *n = new_node(p, op, *ret);

		TRY(advance(p, true));
		TRY(parse_binary(p, level + 1, &n->b));
		*ret = n;
	}
	return NULL;
}

static struct err *parse_choose(struct parser *p, struct lang_node **ret)
{
	struct lang_node *n;

	TRY(parse_binary(p, 1, ret));
	if (!is_sign(p, "?"))
		return NULL;
	n = new_node(p, LANG_OP_CHOOSE, *ret);
	*ret = n;
	TRY(advance(p, true));
	TRY(parse_comma(p, &n->b));
	TRY(expect(p, ":", true));
	return parse_assign(p, &n->c);
}

/* The operation in "+=", CONST for "=", COMMA for no assignment. */
static enum lang_op assignment(const struct parser *p)
{
	size_t n = p->x.token == LANG_T_SIGN ? strlen(p->x.sign) : 0;

	if (!n || p->x.sign[n - 1] != '=')
		return LANG_OP_COMMA;
	if (n == 1)
		return LANG_OP_CONST;
	for (unsigned i = 0; i < sizeof binary / sizeof *binary; i++) {
		if (strlen(binary[i].sign) == n - 1 && !strncmp(binary[i].sign, p->x.sign, n - 1) &&
			binary[i].level != 7)
			return binary[i].op;
	}
	return LANG_OP_COMMA;
}

static struct err *assign_inner(struct parser *p, struct lang_node **ret)
{
	enum lang_op how;
	struct lang_node *n;

	TRY(parse_choose(p, ret));
	how = assignment(p);
	if (how == LANG_OP_COMMA)
		return NULL;
	n = new_node(p, LANG_OP_ASSIGN, *ret);
	n->how = how;
	*ret = n;
	TRY(advance(p, true));
	return parse_assign(p, &n->b);
}

static struct err *parse_assign(struct parser *p, struct lang_node **ret)
{
	struct err *e;

	if (p->depth >= DEPTH_MAX)
		return err_new(ERR_LIMIT, "the expression is nested more than %u deep", DEPTH_MAX);
	p->depth++;
	e = assign_inner(p, ret);
	p->depth--;
	return e;
}

static struct err *parse_comma(struct parser *p, struct lang_node **ret)
{
	TRY(parse_assign(p, ret));
	while (is_sign(p, ",")) {
		struct lang_node *n = new_node(p, LANG_OP_COMMA, *ret);

		TRY(advance(p, true));
		TRY(parse_assign(p, &n->b));
		*ret = n;
	}
	return NULL;
}

struct err *lang_parse(struct lang *l, const struct lang_scope *scope, const char *text,
	struct lang_node **ret_root, struct lang_node **ret_all)
{
	struct parser p = {.scope = scope};
	struct err *e;

	lang_lex_begin(&p.x, l, text);
	e = advance(&p, true);
	if (!e && p.x.token == LANG_T_END)
		e = err_cure(err_new(ERR_USAGE, "there is no expression"),
			"For example: print $cmd.grid_x");
	if (!e)
		e = parse_comma(&p, ret_root);
	if (!e && p.x.token != LANG_T_END)
		e = lang_lex_refuse(&p.x);
	lang_value_free(&p.x.value);
	if (e) {
		lang_tree_free(p.all);
		return e;
	}
	*ret_all = p.all;
	return NULL;
}
