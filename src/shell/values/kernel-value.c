/* SPDX-License-Identifier: Apache-2.0
 *
 * Values inside a launch: registers and expressions over them, typed as the PTX declares them;
 * memory of the focused thread.
 */
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "shell/print/kernel-text.h"
#include "shell/values/kernel-source.h"
#include "shell/values/value-text.h"
#include "shell/values/value.h"
#include "shell/values/vars.h"
#include "base/words.h"

const char *const kernel_spaces[SOFT_SPACES] = {"global", "shared", "local", "param"};

bool kernel_has_register(const char *text)
{
	for (; *text; text++)
		if (*text == '%' && (isalpha((unsigned char)text[1]) || text[1] == '_'))
			return true;
	return false;
}

static struct err *ask(struct session *s, const char *text, struct soft_value *ret)
{
	struct soft_ask q = {.what = SOFT_ASK_VALUE};
	struct device *d;
	void *v;
	size_t n;

	TRY(microscope_need(&s->engine, "a register", &d));
	if (strlen(text) >= sizeof q.text)
		return err_new(ERR_LIMIT, "the expression is longer than %zu characters",
			sizeof q.text - 1);
	strcpy(q.text, text);
	TRY(device_kernel_ask(d, &q, sizeof *ret, &v, &n));
	if (n)
		memcpy(ret, v, sizeof *ret);
	free(v);
	return n ? NULL : err_new(ERR_INFERIOR, "the replayer has no answer");
}

/* The type of a register's value. */
static const struct lang_type *lane_type(const struct soft_value *v)
{
	static const struct lang_type floats[] = {
		{.kind = LANG_FLOAT, .name = "f16", .size = 2, .is_signed = true},
		{.kind = LANG_FLOAT, .name = "float", .size = 4, .is_signed = true},
		{.kind = LANG_FLOAT, .name = "double", .size = 8, .is_signed = true}};
	static const struct lang_type ints[2][4] = {
		{{.kind = LANG_INT, .name = "u8", .size = 1},
			{.kind = LANG_INT, .name = "unsigned short", .size = 2},
			{.kind = LANG_INT, .name = "unsigned int", .size = 4},
			{.kind = LANG_INT, .name = "unsigned long", .size = 8}},
		{{.kind = LANG_INT, .name = "s8", .size = 1, .is_signed = true},
			{.kind = LANG_INT, .name = "short", .size = 2, .is_signed = true},
			{.kind = LANG_INT, .name = "int", .size = 4, .is_signed = true},
			{.kind = LANG_INT, .name = "long", .size = 8, .is_signed = true}}};
	static const struct lang_type truth = {.kind = LANG_BOOL, .name = "bool", .size = 1};

	if (v->type == SOFT_BOOL)
		return &truth;
	if (v->type == SOFT_FLOAT)
		return &floats[v->bytes == 2 ? 0 : v->bytes == 4 ? 1 : 2];
	return &ints[v->type == SOFT_INT][v->bytes == 1	  ? 0
					  : v->bytes == 2 ? 1
					  : v->bytes == 4 ? 2
							  : 3];
}

struct lang_value kernel_lane(const struct soft_value *v, unsigned lane)
{
	const uint64_t u = v->value[lane % SOFT_LANES];

	return lang_from_bytes(lane_type(v), &u); /* little endian: the low bytes */
}

void kernel_format(const struct soft_value *v, unsigned lane, char letter, struct buf *out)
{
	const struct lang_format f = {.letter = letter};
	struct lang_value one = kernel_lane(v, lane);

	err_free(lang_show(NULL, NULL, &f, &one, out));
	lang_value_free(&one);
}

/* A variable of the PTX is its address; what it leads to is bytes. */
static const struct lang_type variable_byte = {.kind = LANG_INT, .name = "u8", .size = 1};
static const struct lang_type to_variable = {
	.kind = LANG_POINTER, .size = 8, .target = &variable_byte};

static int space_of(const char *text, size_t n)
{
	static const struct {
		const char *name;
		int space;
	} amd[] = {{"lds", SOFT_SHARED}, {"private", SOFT_LOCAL}, {"kernarg", SOFT_PARAM}};

	for (int i = 0; i < SOFT_SPACES; i++)
		if (strlen(kernel_spaces[i]) == n && !memcmp(kernel_spaces[i], text, n))
			return i;
	for (unsigned i = 0; i < sizeof amd / sizeof *amd; i++)
		if (strlen(amd[i].name) == n && !memcmp(amd[i].name, text, n))
			return amd[i].space;
	return -1;
}

/* threadIdx and its like, as CUDA has them; false: it is none. */
static struct err *builtin(
	struct session *s, const char *name, int lane, struct lang_value *ret, bool *ret_found)
{
	static const struct lang_type u32 = {.kind = LANG_INT, .name = "unsigned int", .size = 4};
	static const struct lang_member members[] = {{.name = "x", .type = &u32},
		{.name = "y", .type = &u32, .offset = 4}, {.name = "z", .type = &u32, .offset = 8}};
	static const struct lang_type triple = {.kind = LANG_STRUCT,
		.name = "uint3",
		.prefix = "struct",
		.is_plain = true,
		.size = 12,
		.members = members,
		.nmembers = 3};
	static const char *const names[][2] = {{"threadIdx", "tid"}, {"blockIdx", "ctaid"},
		{"blockDim", "ntid"}, {"gridDim", "nctaid"}};
	const struct soft_stop *t = kernel_stop(s);
	uint32_t v[3];

	*ret_found = false;
	for (unsigned i = 0; t && i < sizeof names / sizeof *names; i++) {
		if (strcmp(names[i][0], name))
			continue;
		for (unsigned k = 0; k < 3; k++) {
			struct soft_value one = {0};
			char reg[16];

			snprintf(reg, sizeof reg, "%%%s.%c", names[i][1], 'x' + (char)k);
			TRY(ask(s, reg, &one));
			v[k] = (uint32_t)one
				       .value[(lane >= 0 ? (unsigned)lane : t->lane) % SOFT_LANES];
		}
		*ret = lang_from_bytes(&triple, v);
		*ret_found = true;
	}
	return NULL;
}

struct err *kernel_name(
	struct session *s, const char *name, int lane, struct lang_value *ret, bool *ret_found)
{
	const struct soft_stop *t = kernel_stop(s);
	struct soft_value v = {0};
	struct err *e;
	int space;

	*ret_found = false;
	if (!t && *name != '%')
		return NULL;
	TRY(builtin(s, name, lane, ret, ret_found));
	if (*ret_found)
		return NULL;
	e = ask(s, name, &v);
	if (*name != '%' && e) { /* no variable of the kernel's */
		err_free(e);
		return NULL;
	}
	TRY(e);
	space = space_of(v.declared, strlen(v.declared));
	if (*name != '%' && space < 0)
		return NULL;
	*ret = kernel_lane(&v, lane >= 0 ? (unsigned)lane : t ? t->lane : 0);
	if (space >= 0) {
		ret->type = &to_variable;
		ret->space = (unsigned)space;
	} else if (t) {
		ret->variable = xstrdup(name);
	}
	*ret_found = true;
	return NULL;
}

struct err *kernel_lane_value(struct session *s, const char *text, int lane, struct lang_value *ret)
{
	struct soft_value v = {0};
	char replaced[SOFT_TEXT];
	struct err *e;

	if (!kernel_source_replaced(s, text, replaced, sizeof replaced))
		return value_eval_lane(s, text, lane, ret);
	e = ask(s, replaced, &v);
	if (e) {
		err_free(e);
		return value_eval_lane(s, text, lane, ret);
	}
	if (!(v.lanes >> lane & 1))
		return err_new(ERR_NOT_FOUND, "\"%s\" has no value in lane %d", text, lane);
	*ret = kernel_lane(&v, (unsigned)lane);
	return NULL;
}

/* --- print --- */

/* One lane's value. One that is not there in this lane alone says so in its place. */
static struct err *show_lane(struct session *s, const char *text, int lane, char letter,
	struct lang_value *ret, struct buf *out)
{
	const struct soft_stop *t = kernel_stop(s);
	struct err *e = value_eval_lane(s, text, lane, ret);

	if (e && t && t->lane != (unsigned)lane && e->code != ERR_USAGE) {
		buf_str(out, "<not here>");
		err_free(e);
		return NULL;
	}
	return e ? e : value_show(s, ret, letter, out);
}

/* The value of an expression in every lane of the focused warp. */
static struct err *print_all(struct session *s, const char *text, char letter, bool json)
{
	struct buf b = BUF_INIT;
	struct soft_value lanes = {0};
	struct lang_value one = {0};
	char name[16], *all;
	struct err *e;

	TRY(ask(s, "%laneid", &lanes));
	e = NULL;
	for (int l = 0; l < SOFT_LANES && !e; l++) {
		if (!(lanes.lanes >> l & 1))
			continue;
		buf_str(&b, b.len ? ", " : "");
		lang_value_free(&one);
		e = show_lane(s, text, l, letter, &one, &b);
	}
	if (!e) {
		snprintf(name, sizeof name, "$%u", vars_remember(s->vars, &one));
		all = xasprintf("{%s}", buf_cstr(&b));
		shown_value_tell(s, json, shown_value_of(name, &one, all));
		free(all);
	}
	lang_value_free(&one);
	buf_free(&b);
	return e;
}

struct err *kernel_print(
	struct session *s, const char *text, char letter, bool json, bool *ret_done)
{
	static const char all[] = "[all]";
	const size_t n = strlen(text), k = strlen(all);
	char *plain;
	struct err *e;

	*ret_done = n > k && !strcmp(text + n - k, all) &&
		    (kernel_stop(s) || kernel_has_register(text));
	if (!*ret_done)
		return NULL;
	plain = strndup(text, n - k);
	BUG_ON(!plain);
	e = print_all(s, plain, letter, json);
	free(plain);
	return e;
}

/* --- memory --- */

void kernel_leave_window(unsigned *space, uint64_t *addr)
{
	for (unsigned i = 1; i < SOFT_SPACES; i++)
		if (*addr >> 32 == soft_windows[i] >> 32) {
			*space = i;
			*addr = (uint32_t)*addr;
			return;
		}
}

struct err *kernel_address(
	struct session *s, const char *text, unsigned *ret_space, uint64_t *ret, bool *ret_done)
{
	const bool at = *text == '@';
	const char *word = text + at;
	const size_t n = strspn(word, "abcdefghijklmnopqrstuvwxyz");
	int space = at || word[n] == ':' ? space_of(word, n) : -1;

	*ret_done = at || space >= 0 || kernel_stop(s) || kernel_has_register(text);
	if (at && space < 0)
		return err_cure(err_new(ERR_USAGE, "\"%s\" is no memory space", text),
			"It is @global, @shared, @local or @param");
	if (!*ret_done)
		return NULL;
	if (space >= 0)
		text = word + n + (word[n] == ':');
	text += strspn(text, " \t");
	*ret_space = space < 0 ? SOFT_GLOBAL : (unsigned)space;
	if (space >= 0 && word_u64(*text ? text : "0", ret)) /* needs no launch to know */
		return NULL;
	TRY(value_address(s, *text ? text : "0", ret, space < 0 ? ret_space : NULL));
	if (space < 0 && *ret_space == SOFT_GLOBAL)
		kernel_leave_window(ret_space, ret);
	return NULL;
}

struct err *kernel_read(
	struct session *s, unsigned space, uint64_t addr, int lane, void *dst, size_t n)
{
	struct soft_ask q = {.what = SOFT_ASK_MEMORY,
		.space = space,
		.addr = addr,
		.size = n,
		.lane = lane < 0 ? 0 : (uint32_t)lane + 1};
	struct device *d;
	void *bytes;
	size_t got;

	TRY(microscope_need(&s->engine, "this memory", &d));
	TRY(device_kernel_ask(d, &q, 1, &bytes, &got));
	if (got == n)
		memcpy(dst, bytes, n);
	free(bytes);
	return got == n ? NULL
			: err_new(ERR_INFERIOR,
				  "the replayer answered with %zu bytes instead of %zu", got, n);
}

/* --- changing --- */

static uint32_t lane_set(const struct soft_stop *t, int lane)
{
	return lane >= 0 ? (uint32_t)lane : t->lane;
}

static struct err *set_register(
	struct session *s, const char *name, int lane, const struct lang_value *v)
{
	const struct soft_stop *t = kernel_stop(s);
	struct soft_put p = {.space = SOFT_SPACES};
	struct device *d;

	TRY(microscope_need(&s->engine, "setting a register", &d));
	if (!t || !v->bytes || strlen(name) >= sizeof p.text || v->type->size > 8)
		return err_new(ERR_UNSUPPORTED, "%s cannot be set here", name);
	p.lane = lane_set(t, lane);
	TRY(kernel_frame_call(s, lane, &p.frame));
	strcpy(p.text, name);
	s->kernel_set_in = t->seq;
	return device_kernel_put(d, &p, v->bytes, (size_t)v->type->size);
}

struct err *kernel_set_register(
	struct session *s, const char *name, int lane, const struct lang_value *v)
{
	struct ptx_copies c = {.n = 1};

	if (name[1] == '%')
		TRY(kernel_source_copies(s, lane, name + 1, &c));
	else
		snprintf(c.reg[0], sizeof c.reg[0], "%s", name);
	for (unsigned i = 0; i < c.n; i++)
		TRY(set_register(s, c.reg[i], lane, v));
	return NULL;
}

struct err *kernel_write(
	struct session *s, unsigned space, uint64_t addr, int lane, const void *src, size_t n)
{
	const struct soft_stop *t = kernel_stop(s);
	struct soft_put p = {.space = space, .addr = addr};
	struct device *d;

	TRY(microscope_need(&s->engine, "setting memory", &d));
	if (p.space == SOFT_GLOBAL)
		kernel_leave_window(&p.space, &p.addr);
	p.lane = lane_set(t, lane);
	s->kernel_set_in = t->seq;
	return device_kernel_put(d, &p, src, n);
}
