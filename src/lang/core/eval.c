/* SPDX-License-Identifier: Apache-2.0
 *
 * Evaluates the tree of an expression. With types_only nothing is read, computed or assigned: every
 * value has the right type and zeros.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include "base/checked.h"
#include "lang/core/core.h"

enum { REPEAT_MAX = 1 << 20 };

struct eval {
	struct lang *l;
	const struct lang_scope *scope;
	bool types_only;
};

static struct err *eval(struct eval *ev, const struct lang_node *n, struct lang_value *ret);

static struct err *not_void(const struct lang_value *v)
{
	return v->type && lang_strip(v->type)->kind != LANG_VOID
		       ? NULL
		       : err_new(ERR_USAGE, "void has no value to compute with");
}

static struct err *wrong_type(const char *what, const struct lang_value *v)
{
	struct buf b = BUF_INIT;
	struct err *e;

	lang_type_name(&b, v->type, "");
	e = err_new(ERR_USAGE, "%s: its type is %s", what, buf_cstr(&b));
	buf_free(&b);
	return e;
}

/* A reference as what it refers to. */
static struct err *refer(struct eval *ev, struct lang_value *v)
{
	const struct lang_type *t = lang_strip(v->type);
	struct lang_number n = {0};
	unsigned space = v->space;

	if (!t || t->kind != LANG_POINTER || !t->is_reference)
		return NULL;
	if (!ev->types_only || v->bytes)
		TRY(lang_fetch(ev->scope, v));
	if (v->bytes && !lang_load(t, v->bytes, &n))
		return wrong_type("there is no address in this reference", v);
	lang_value_free(v);
	*v = lang_at(t->target, space, n.u);
	return NULL;
}

/* An array in memory as the pointer to its first element, a function as a pointer to it; others as
 * they are. */
static void decay(struct eval *ev, struct lang_value *v)
{
	const struct lang_type *t = lang_strip(v->type), *pointer;
	unsigned space = v->space;
	uint64_t addr = v->addr;

	if (!t || v->place != LANG_MEMORY || (t->kind != LANG_ARRAY && t->kind != LANG_FUNCTION))
		return;
	pointer = lang_pointer_to(ev->l, t->kind == LANG_ARRAY ? t->target : v->type);
	lang_value_free(v);
	*v = lang_from_int(pointer, (int64_t)addr);
	v->space = space;
}

static struct err *load(struct eval *ev, struct lang_value *v, struct lang_number *ret)
{
	const struct lang_type *t;

	TRY(not_void(v));
	TRY(refer(ev, v));
	decay(ev, v);
	t = lang_strip(v->type);
	if (!lang_is_scalar(t))
		return wrong_type("the operand is no number", v);
	if (ev->types_only && !v->bytes)
		*ret = (struct lang_number){.type = t, .is_float = t->kind == LANG_FLOAT};
	else
		TRY(lang_fetch(ev->scope, v));
	if (v->bytes && !lang_load(t, v->bytes, ret))
		return wrong_type("there is no arithmetic with this operand", v);
	return NULL;
}

static struct lang_value of_number(const struct lang_number *n)
{
	return n->is_float ? lang_from_double(n->type, n->f)
			   : lang_from_int(n->type, (int64_t)n->u);
}

/* --- names --- */

static struct err *no_name(const char *name)
{
	return err_cure(err_new(ERR_NOT_FOUND, "there is no \"%s\" here", name),
		"\"info locals\", \"info args\" and \"info command\" list names");
}

static struct err *eval_name(struct eval *ev, const char *name, struct lang_value *ret)
{
	bool found = false;

	*ret = (struct lang_value){0};
	if (ev->scope && ev->scope->name)
		TRY(ev->scope->name(ev->scope->arg, name, ret, &found));
	if (!found && *name != '$')
		return no_name(name);
	if (!found && (isalpha((unsigned char)name[1]) || name[1] == '_'))
		ret->variable = xstrdup(name + 1);
	return NULL;
}

/* --- memory --- */

/* The pointer in v as the value that it points to. */
static struct err *follow(struct eval *ev, struct lang_value *v)
{
	const struct lang_type *t, *target;
	struct lang_number n;
	unsigned space;

	TRY(refer(ev, v));
	decay(ev, v);
	t = lang_strip(v->type);
	if (!t || (t->kind != LANG_POINTER && !lang_is_integral(t)))
		return v->type ? wrong_type("what is followed is no pointer", v) : not_void(v);
	TRY(load(ev, v, &n));
	/* a number is the address of a long, as gdb has it */
	target = t->kind == LANG_POINTER ? t->target : lang_int_type(ev->l, 8, true);
	if (!target || lang_strip(target)->kind == LANG_VOID)
		return err_cure(err_new(ERR_USAGE, "a void pointer leads to no value"),
			"Cast it: *(float *)p");
	if (!lang_strip(target)->size && lang_strip(target)->kind != LANG_FUNCTION &&
		lang_strip(target)->kind != LANG_ARRAY)
		return err_new(ERR_USAGE, "the pointer leads to a type that is only declared");
	space = v->space;
	lang_value_free(v);
	*v = lang_at(target, space, n.u);
	return NULL;
}

static struct err *address_of(struct eval *ev, struct lang_value *v)
{
	const struct lang_type *type;
	unsigned space;
	uint64_t addr;

	TRY(refer(ev, v));
	type = v->type;
	space = v->space;
	addr = v->addr;
	if (!type || v->place != LANG_MEMORY)
		return err_new(ERR_USAGE, "only what lies in memory has an address");
	lang_value_free(v);
	*v = lang_from_int(lang_pointer_to(ev->l, type), (int64_t)addr);
	v->space = space;
	return NULL;
}

/* Pointer + n elements. */
static struct err *move(struct eval *ev, struct lang_value *v, const struct lang_number *p,
	const struct lang_number *by, bool back)
{
	const struct lang_type *type = v->type, *target = lang_strip(p->type->target);
	const uint64_t size = target && target->size ? target->size : 1;
	const unsigned space = v->space;

	(void)ev;
	if (by->is_float)
		return err_new(ERR_USAGE, "a pointer moves by integers, not by floating point");
	lang_value_free(v);
	*v = lang_from_int(type, (int64_t)(back ? p->u - by->u * size : p->u + by->u * size));
	v->space = space;
	return NULL;
}

static struct err *eval_index(struct eval *ev, const struct lang_node *n, struct lang_value *ret)
{
	struct lang_value at = {0};
	const struct lang_type *t;
	struct lang_number i = {0}, p;
	struct err *e;

	TRY(eval(ev, n->a, ret));
	e = eval(ev, n->b, &at);
	if (!e)
		e = load(ev, &at, &i);
	lang_value_free(&at);
	TRY(e);
	if (i.is_float)
		return err_new(ERR_USAGE, "an index is an integer, not floating point");
	TRY(refer(ev, ret));
	t = lang_strip(ret->type);
	if (t && t->kind == LANG_ARRAY && ret->place == LANG_COMPUTED) {
		struct lang_value one;

		if (i.u >= t->count)
			return err_new(ERR_USAGE, "the array has %llu elements: there is no [%lld]",
				(unsigned long long)t->count, (long long)i.u);
		one = lang_from_bytes(
			t->target, ret->bytes ? ret->bytes + i.u * t->target->size : NULL);
		lang_value_free(ret);
		*ret = one;
		return NULL;
	}
	decay(ev, ret);
	if (!ret->type || lang_strip(ret->type)->kind != LANG_POINTER)
		return ret->type ? wrong_type("what is indexed is no array and no pointer", ret)
				 : not_void(ret);
	TRY(load(ev, ret, &p));
	TRY(move(ev, ret, &p, &i, false));
	return follow(ev, ret);
}

/* x@n: n values like x, from x on. */
static struct err *repeat(struct eval *ev, struct lang_value *a, struct lang_value *b)
{
	struct lang_number n;
	const struct lang_type *t;

	TRY(not_void(a));
	TRY(load(ev, b, &n));
	if (n.is_float || (int64_t)n.u <= 0)
		return err_new(ERR_USAGE, "\"@\" takes a count of 1 and more");
	if (n.u > REPEAT_MAX)
		return err_new(ERR_LIMIT, "\"@\" takes a count up to %d", REPEAT_MAX);
	if (a->place != LANG_MEMORY)
		return err_cure(err_new(ERR_USAGE, "\"@\" extends what lies in memory"),
			"For example: print *arg0@8, or {f32[8]}arg0");
	t = lang_array_of(ev->l, a->type, n.u);
	if (!t)
		return err_new(ERR_LIMIT, "this many do not fit into memory");
	free(a->bytes);
	a->bytes = NULL;
	a->type = t;
	return NULL;
}

/* --- members --- */

/* Finds a member, in anonymous members and base classes too. *ret_offset: from the start of t. */
static const struct lang_member *find_member(
	const struct lang_type *t, const char *name, uint64_t *ret_offset, unsigned depth)
{
	lang_complete(t);
	for (unsigned i = 0; i < t->nmembers; i++) {
		const struct lang_member *m = &t->members[i], *inner;
		const struct lang_type *mt = lang_strip(m->type);

		if (m->name && !m->is_base && !strcmp(m->name, name)) {
			*ret_offset += m->offset;
			return m;
		}
		if ((m->name && !m->is_base) || !mt || mt->kind != LANG_STRUCT || depth > 16)
			continue;
		*ret_offset += m->offset;
		inner = find_member(mt, name, ret_offset, depth + 1);
		if (inner)
			return inner;
		*ret_offset -= m->offset;
	}
	return NULL;
}

/* The bytes that a bit-field's bits lie in, as a value of its type: *v is all of its struct. */
static struct err *take_bits(struct eval *ev, const struct lang_member *m, uint64_t offset,
	uint64_t struct_size, struct lang_value *v)
{
	const size_t n = (m->bit_offset + m->bits + 7) / 8;
	uint8_t bytes[9] = {0};

	if (ev->types_only) {
		lang_value_free(v);
		*v = (struct lang_value){.type = m->type};
		return NULL;
	}
	if (!range_within(offset, n, 0, struct_size) || n > sizeof bytes)
		return err_new(ERR_USAGE, "\"%s\" lies outside its struct", m->name);
	if (v->place == LANG_MEMORY) {
		if (!ev->scope || !ev->scope->read)
			return err_new(ERR_STATE, "there is no memory to read");
		TRY(ev->scope->read(ev->scope->arg, v->space, v->addr + offset, bytes, n));
	} else if (v->bytes) {
		memcpy(bytes, v->bytes + offset, n);
	}
	lang_value_free(v);
	*v = lang_bits(m, bytes);
	return NULL;
}

static struct err *no_member(const struct lang_value *v, const char *name)
{
	struct buf b = BUF_INIT, names = BUF_INIT;
	const struct lang_type *t = lang_strip(v->type);
	struct err *e;

	lang_type_name(&b, v->type, "");
	for (unsigned i = 0; i < t->nmembers && names.len < 200; i++) {
		if (t->members[i].name)
			buf_printf(&names, "%s%s", names.len ? ", " : "", t->members[i].name);
	}
	e = err_cure(err_new(ERR_NOT_FOUND, "%s has no member \"%s\"", buf_cstr(&b), name),
		"It has %s", names.len ? buf_cstr(&names) : "none");
	buf_free(&names);
	buf_free(&b);
	return e;
}

/* `.f32` behind a number: its bytes as another type. */
static struct err *as_view(struct eval *ev, const char *name, struct lang_value *v)
{
	const struct lang_type *t = lang_strip(v->type), *view = lang_base_type(ev->l, name);
	struct lang_value r;

	if (!view || !t || !strchr("fsuxb", *name) || !lang_is_scalar(view) || !lang_is_scalar(t))
		return wrong_type("only a struct has members", v);
	if (view->size > t->size)
		return err_new(ERR_USAGE, "the value has %llu bytes: %s has %llu",
			(unsigned long long)t->size, name, (unsigned long long)view->size);
	if (v->place == LANG_MEMORY) {
		free(v->bytes);
		v->bytes = NULL;
		v->type = view;
		return NULL;
	}
	TRY(lang_fetch(ev->scope, v));
	r = lang_from_bytes(view, v->bytes);
	lang_value_free(v);
	*v = r;
	return NULL;
}

static struct err *take_member(struct eval *ev, const char *name, struct lang_value *v)
{
	const struct lang_type *t;
	const struct lang_member *m;
	uint64_t offset = 0;

	TRY(not_void(v));
	TRY(refer(ev, v));
	t = lang_strip(v->type);
	if (t->kind == LANG_POINTER && t->target && lang_strip(t->target)->kind == LANG_STRUCT) {
		TRY(follow(ev, v)); /* as gdb has it: p.x is p->x */
		t = lang_strip(v->type);
	}
	if (t->kind != LANG_STRUCT)
		return as_view(ev, name, v);
	m = find_member(t, name, &offset, 0);
	if (!m)
		return no_member(v, name);
	if (v->place == LANG_GONE)
		return lang_fetch(ev->scope, v);
	if (m->bits)
		return take_bits(ev, m, offset, t->size, v);
	if (v->place == LANG_MEMORY) {
		free(v->bytes);
		v->bytes = NULL;
		v->addr += offset;
	} else {
		struct lang_value part;

		if (!range_within(offset, m->type->size, 0, t->size))
			return err_new(ERR_USAGE, "\"%s\" lies outside its struct", name);
		part = lang_from_bytes(m->type, v->bytes ? v->bytes + offset : NULL);
		lang_value_free(v);
		*v = part;
	}
	v->type = m->type;
	return NULL;
}

static struct err *eval_arrow(struct eval *ev, const struct lang_node *n, struct lang_value *ret)
{
	TRY(eval(ev, n->a, ret));
	TRY(refer(ev, ret));
	decay(ev, ret);
	if (ret->type && lang_strip(ret->type)->kind == LANG_POINTER)
		TRY(follow(ev, ret));
	return take_member(ev, n->text, ret);
}

/* --- operations --- */

static bool is_pointer(const struct lang_number *n)
{
	return n->type->kind == LANG_POINTER;
}

/* Pointers: p + n, n + p, p - n, p - q, comparisons. Sets *ret_done. */
static struct err *pointer_op(struct eval *ev, enum lang_op op, struct lang_value *a,
	struct lang_value *b, struct lang_number *x, struct lang_number *y, bool *ret_done)
{
	const struct lang_type *target;

	*ret_done = true;
	if (op == LANG_OP_ADD && is_pointer(x) != is_pointer(y)) {
		struct lang_value hold = *a;

		if (is_pointer(x))
			return move(ev, a, x, y, false);
		*a = *b;
		*b = hold;
		return move(ev, a, y, x, false);
	}
	if (op == LANG_OP_SUB && is_pointer(x) && !is_pointer(y))
		return move(ev, a, x, y, true);
	if (op == LANG_OP_SUB && is_pointer(x)) {
		target = lang_strip(x->type->target);
		x->u = (uint64_t)((int64_t)(x->u - y->u) /
				  (int64_t)(target && target->size ? target->size : 1));
		lang_value_free(a);
		*a = lang_from_int(lang_int_type(ev->l, 8, true), (int64_t)x->u);
		return NULL;
	}
	*ret_done = false; /* addresses are numbers from here on */
	x->type = is_pointer(x) ? lang_int_type(ev->l, 8, false) : x->type;
	y->type = is_pointer(y) ? lang_int_type(ev->l, 8, false) : y->type;
	return NULL;
}

/* The characters of an array of char; false when v is none. */
static bool as_text(struct eval *ev, struct lang_value *v, const char **ret, size_t *ret_n)
{
	const struct lang_type *t = lang_strip(v->type), *of = t ? lang_strip(t->target) : NULL;

	if (!t || t->kind != LANG_ARRAY || !of || of->kind != LANG_CHAR)
		return false;
	err_free(lang_fetch(ev->scope, v));
	if (!v->bytes)
		return false;
	*ret = (const char *)v->bytes;
	*ret_n = strnlen(*ret, (size_t)t->size);
	return true;
}

/* Two texts compared by their characters; sets *ret_done when both are texts. */
static bool text_op(struct eval *ev, enum lang_op op, struct lang_value *a, struct lang_value *b)
{
	const char *x, *y;
	size_t nx, ny;
	bool same;

	if ((op != LANG_OP_EQ && op != LANG_OP_NE) || !as_text(ev, a, &x, &nx) ||
		!as_text(ev, b, &y, &ny))
		return false;
	same = nx == ny && !memcmp(x, y, nx);
	lang_value_free(a);
	*a = lang_from_int(lang_int_type(ev->l, 4, true), same == (op == LANG_OP_EQ));
	return true;
}

static bool divides(enum lang_op op)
{
	return op == LANG_OP_DIV || op == LANG_OP_MOD;
}

static bool shifts(enum lang_op op)
{
	return op == LANG_OP_SHL || op == LANG_OP_SHR;
}

/* a = a OP b. */
static struct err *apply(
	struct eval *ev, enum lang_op op, struct lang_value *a, struct lang_value *b)
{
	struct lang_number x = {0}, y = {0}, r;
	struct err *e = NULL;
	bool done = false;

	TRY(not_void(a));
	TRY(not_void(b));
	TRY(refer(ev, a));
	TRY(refer(ev, b));
	if (op == LANG_OP_REPEAT)
		return repeat(ev, a, b);
	if (text_op(ev, op, a, b))
		return NULL;
	TRY(load(ev, a, &x));
	TRY(load(ev, b, &y));
	if (is_pointer(&x) || is_pointer(&y))
		TRY(pointer_op(ev, op, a, b, &x, &y, &done));
	if (done)
		return NULL;
	if (ev->types_only && !y.is_float) /* refuses no number */
		y.u = divides(op) && !y.u ? 1 : shifts(op) && (int64_t)y.u < 0 ? 0 : y.u;
	e = lang_arith(ev->l, op, &x, &y, &r);
	lang_value_free(a);
	if (!e)
		*a = of_number(&r);
	return e;
}

static struct err *eval_binary(struct eval *ev, const struct lang_node *n, struct lang_value *ret)
{
	struct lang_value b = {0};
	struct err *e;

	TRY(eval(ev, n->a, ret));
	e = eval(ev, n->b, &b);
	if (!e)
		e = apply(ev, n->op, ret, &b);
	lang_value_free(&b);
	return e;
}

static struct err *eval_unary(struct eval *ev, const struct lang_node *n, struct lang_value *ret)
{
	struct lang_number x, r;

	TRY(eval(ev, n->a, ret));
	TRY(load(ev, ret, &x));
	if (is_pointer(&x))
		x.type = lang_int_type(ev->l, 8, false);
	TRY(lang_arith(ev->l, n->op, &x, NULL, &r));
	lang_value_free(ret);
	*ret = of_number(&r);
	return NULL;
}

/* Whether a condition holds. */
static struct err *truth(struct eval *ev, const struct lang_node *n, bool *ret)
{
	struct lang_value v = {0};
	struct lang_number x;
	struct err *e = eval(ev, n, &v);

	if (!e)
		e = load(ev, &v, &x);
	if (!e)
		*ret = x.is_float ? x.f != 0 : x.u != 0;
	lang_value_free(&v);
	return e;
}

/* && and ||: the second operand only when it counts; its type is looked at always. */
static struct err *eval_logic(struct eval *ev, const struct lang_node *n, struct lang_value *ret)
{
	struct eval quiet = *ev;
	bool a = false, b = false, decided;

	TRY(truth(ev, n->a, &a));
	decided = a == (n->op == LANG_OP_OROR);
	quiet.types_only = ev->types_only || decided;
	TRY(truth(&quiet, n->b, &b));
	*ret = lang_from_int(lang_int_type(ev->l, 4, true), decided ? a : b);
	return NULL;
}

/* The value, and the type, of the operand that is chosen, as gdb has it; C would convert both to
 * one type.
 */
static struct err *eval_choose(struct eval *ev, const struct lang_node *n, struct lang_value *ret)
{
	bool a = false;

	TRY(truth(ev, n->a, &a));
	return eval(ev, a ? n->b : n->c, ret);
}

/* --- assignments --- */

/* Puts v, as a value of to's type, into the register or the memory that to names; to has it then.
 */
static struct err *assign_as(struct eval *ev, struct lang_value *to, struct lang_value *v)
{
	struct lang_value as = {0};
	struct err *e;

	TRY(lang_cast(ev->l, ev->scope, to->type, v, &as));
	e = lang_fetch(ev->scope, &as);
	if (!e && to->variable)
		e = ev->scope->assign(ev->scope->arg, to->variable, &as);
	else if (!e)
		e = ev->scope->write(
			ev->scope->arg, to->space, to->addr, as.bytes, (size_t)to->type->size);
	if (!e) {
		free(to->bytes);
		to->bytes = as.bytes;
		as.bytes = NULL;
	}
	lang_value_free(&as);
	return e;
}

static struct err *assign_register(struct eval *ev, struct lang_value *to, struct lang_value *v)
{
	if (!ev->scope || !ev->scope->assign)
		return err_new(ERR_UNSUPPORTED, "registers cannot be changed here");
	return assign_as(ev, to, v);
}

static struct err *assign(struct eval *ev, struct lang_value *to, struct lang_value *v)
{
	struct err *e;

	if (to->variable && *to->variable == '%')
		return assign_register(ev, to, v);
	if (to->variable) {
		char *name = to->variable;

		to->variable = NULL;
		e = lang_fetch(ev->scope, v);
		if (!e && (!ev->scope || !ev->scope->assign))
			e = err_new(ERR_STATE, "variables are not kept here");
		if (!e)
			e = ev->scope->assign(ev->scope->arg, name, v);
		lang_value_free(to);
		*to = lang_value_copy(v);
		to->variable = name;
		return e;
	}
	if (to->place == LANG_GONE)
		return err_new(ERR_UNSUPPORTED,
			"it is optimized out here: it has no place that could be set");
	if (to->place != LANG_MEMORY)
		return err_cure(
			err_new(ERR_USAGE, "what stands before \"=\" cannot be assigned to"),
			"Variables ($x) and memory can");
	if (!ev->scope || !ev->scope->write)
		return err_new(ERR_UNSUPPORTED, "memory cannot be changed here");
	return assign_as(ev, to, v);
}

static struct err *eval_assign(struct eval *ev, const struct lang_node *n, struct lang_value *ret)
{
	struct lang_value v = {0}, old;
	struct err *e;

	TRY(eval(ev, n->a, ret));
	TRY(refer(ev, ret));
	e = eval(ev, n->b, &v);
	if (!e && n->how != LANG_OP_CONST) {
		old = lang_value_copy(ret);
		e = apply(ev, n->how, &old, &v);
		lang_value_free(&v);
		v = old;
	}
	if (!e && !ev->types_only)
		e = assign(ev, ret, &v);
	else if (!e && ret->variable)
		ret->type = v.type;
	lang_value_free(&v);
	return e;
}

static struct err *eval_step(struct eval *ev, const struct lang_node *n, struct lang_value *ret)
{
	struct lang_value one = lang_from_int(lang_int_type(ev->l, 4, true), 1), old = {0},
			  now = {0};
	struct err *e = eval(ev, n->a, ret);

	if (!e)
		e = lang_fetch(ev->scope, ret);
	if (!e) {
		old = lang_value_copy(ret);
		now = lang_value_copy(ret);
		e = apply(ev, n->how, &now, &one);
	}
	if (!e && !ev->types_only)
		e = assign(ev, ret, &now);
	if (!e && n->op == LANG_OP_AFTER) {
		lang_value_free(ret);
		*ret = old;
		old = (struct lang_value){0};
	}
	lang_value_free(&old);
	lang_value_free(&now);
	lang_value_free(&one);
	return e;
}

/* --- the tree --- */

static struct err *eval_sizeof(struct eval *ev, const struct lang_node *n, struct lang_value *ret)
{
	struct eval quiet = *ev;
	struct lang_value v = {0};
	uint64_t size;

	quiet.types_only = true;
	TRY(eval(&quiet, n->a, &v));
	size = v.type ? v.type->size : 1;
	if (v.type && lang_strip(v.type)->kind == LANG_TYPEDEF)
		size = lang_strip(v.type)->size;
	lang_value_free(&v);
	*ret = lang_from_int(lang_int_type(ev->l, 8, false), (int64_t)size);
	return NULL;
}

static struct err *eval_cast(struct eval *ev, const struct lang_node *n, struct lang_value *ret)
{
	struct lang_value v = {0};
	struct err *e = eval(ev, n->a, &v);

	if (!e && ev->types_only && !v.bytes)
		*ret = (struct lang_value){.type = n->type, .place = v.place};
	else if (!e)
		e = lang_cast(ev->l, ev->scope, n->type, &v, ret);
	if (!e && !ret->space)
		ret->space = v.space;
	lang_value_free(&v);
	return e;
}

static struct err *eval_at(struct eval *ev, const struct lang_node *n, struct lang_value *ret)
{
	struct lang_value v = {0};
	struct lang_number x;
	struct err *e = eval(ev, n->a, &v);

	if (!e)
		e = load(ev, &v, &x);
	if (!e && x.is_float)
		e = err_new(ERR_USAGE, "floating point is no address");
	if (!e)
		*ret = lang_at(n->type, v.space, x.u);
	lang_value_free(&v);
	return e;
}

static struct err *eval_comma(struct eval *ev, const struct lang_node *n, struct lang_value *ret)
{
	TRY(eval(ev, n->a, ret));
	lang_value_free(ret);
	return eval(ev, n->b, ret);
}

static struct err *eval_node(struct eval *ev, const struct lang_node *n, struct lang_value *ret)
{
	switch (n->op) {
	case LANG_OP_CONST:
		*ret = lang_value_copy(&n->value);
		return NULL;
	case LANG_OP_NAME:
		return eval_name(ev, n->text, ret);
	case LANG_OP_TYPE:
		if (!ev->types_only)
			return err_cure(err_new(ERR_USAGE, "a type is no value"),
				"\"whatis\" and \"ptype\" show types");
		*ret = (struct lang_value){.type = n->type};
		return NULL;
	case LANG_OP_CAST:
		return eval_cast(ev, n, ret);
	case LANG_OP_AT:
		return eval_at(ev, n, ret);
	case LANG_OP_MEMBER:
		TRY(eval(ev, n->a, ret));
		return take_member(ev, n->text, ret);
	case LANG_OP_ARROW:
		return eval_arrow(ev, n, ret);
	case LANG_OP_INDEX:
		return eval_index(ev, n, ret);
	case LANG_OP_DEREF:
		TRY(eval(ev, n->a, ret));
		return follow(ev, ret);
	case LANG_OP_ADDRESS:
		TRY(eval(ev, n->a, ret));
		return address_of(ev, ret);
	case LANG_OP_NEGATE:
	case LANG_OP_PLUS:
	case LANG_OP_NOT:
	case LANG_OP_INVERT:
		return eval_unary(ev, n, ret);
	case LANG_OP_SIZEOF:
		return eval_sizeof(ev, n, ret);
	case LANG_OP_CALL:
		return err_new(ERR_UNSUPPORTED, "functions of the program are not called");
	case LANG_OP_BEFORE:
	case LANG_OP_AFTER:
		return eval_step(ev, n, ret);
	case LANG_OP_ANDAND:
	case LANG_OP_OROR:
		return eval_logic(ev, n, ret);
	case LANG_OP_ASSIGN:
		return eval_assign(ev, n, ret);
	case LANG_OP_COMMA:
		return eval_comma(ev, n, ret);
	case LANG_OP_CHOOSE:
		return eval_choose(ev, n, ret);
	default:
		return eval_binary(ev, n, ret);
	}
}

static struct err *eval(struct eval *ev, const struct lang_node *n, struct lang_value *ret)
{
	struct err *e = eval_node(ev, n, ret);

	if (e)
		lang_value_free(ret);
	return e;
}

struct err *lang_eval(
	struct lang *l, const struct lang_scope *scope, const char *text, struct lang_value *ret)
{
	struct eval ev = {.l = l, .scope = scope};
	struct lang_node *root = NULL, *all = NULL;
	struct err *e;

	*ret = (struct lang_value){0};
	TRY(lang_parse(l, scope, text, &root, &all));
	e = eval(&ev, root, ret);
	lang_tree_free(all);
	return e;
}

struct err *lang_type_of(struct lang *l, const struct lang_scope *scope, const char *text,
	const struct lang_type **ret)
{
	struct eval ev = {.l = l, .scope = scope, .types_only = true};
	struct lang_node *root = NULL, *all = NULL;
	struct lang_value v = {0};
	struct err *e;

	TRY(lang_parse(l, scope, text, &root, &all));
	e = eval(&ev, root, &v);
	*ret = v.type;
	if (!e && root->op == LANG_OP_TYPE && v.type && v.type->kind == LANG_TYPEDEF)
		*ret = v.type->target; /* as gdb has it: what the name stands for */
	lang_value_free(&v);
	lang_tree_free(all);
	return e;
}
