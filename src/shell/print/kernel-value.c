/* SPDX-License-Identifier: Apache-2.0
 *
 * Values inside a launch: registers and expressions over them, typed as the PTX declares them;
 * memory of the focused thread.
 */
#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "shell/live/microscope.h"
#include "shell/print/vars.h"
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

	TRY(kernel_need(s, "a register", &d));
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

struct value kernel_lane(const struct soft_value *v, unsigned lane)
{
	const uint64_t u = v->value[lane % SOFT_LANES];
	const unsigned bytes = v->bytes && v->bytes <= 8 ? v->bytes : 8;
	struct value r = {.kind = VALUE_INT,
		.size = bytes,
		.type = v->type == SOFT_INT ? SBT_T_INT : SBT_T_UINT,
		.i = (int64_t)u};

	if (v->type == SOFT_FLOAT) {
		float f32;

		r = (struct value){.kind = VALUE_FLOAT, .size = bytes};
		memcpy(&f32, &u, 4);
		memcpy(&r.f, &u, 8);
		if (bytes == 4)
			r.f = (double)f32;
	} else if (v->type == SOFT_INT && bytes < 8) {
		r.i = (int64_t)(u << (64 - 8 * bytes)) >> (64 - 8 * bytes);
	}
	return r;
}

struct err *kernel_value(
	struct session *s, const char *text, struct value *ret, struct soft_value *all)
{
	const struct soft_stop *t = kernel_stop(s);
	struct soft_value v = {0};

	TRY(ask(s, text, &v));
	*ret = kernel_lane(&v, t ? t->lane : 0);
	if (all)
		*all = v;
	return NULL;
}

void kernel_format(const struct soft_value *v, unsigned lane, char letter, struct buf *out)
{
	const struct value r = kernel_lane(v, lane);

	if (v->type == SOFT_BOOL && !letter)
		buf_str(out, r.i ? "true" : "false");
	else
		err_free(value_format(&r, letter, 0, out));
}

/* --- print --- */

static void print_all(struct session *s, const struct soft_value *v, char letter)
{
	struct buf b = BUF_INIT;
	const char *sep = "";

	for (unsigned l = 0; l < SOFT_LANES; l++) {
		if (!(v->lanes >> l & 1))
			continue;
		buf_str(&b, sep);
		kernel_format(v, l, letter, &b);
		sep = ", ";
	}
	out_printf(
		s->out, "$%u = {%s}\n", vars_remember(s->vars, kernel_lane(v, 0).i), buf_cstr(&b));
	buf_free(&b);
}

struct err *kernel_print(struct session *s, const char *text, char letter, bool *ret_done)
{
	static const char all[] = "[all]";
	const struct soft_stop *t = kernel_stop(s);
	const size_t n = strlen(text), k = strlen(all);
	const bool vector = n > k && !strcmp(text + n - k, all);
	struct soft_value v = {0};
	struct value one;
	char *plain;
	struct err *e;

	*ret_done = kernel_has_register(text) || (t && vector);
	if (!*ret_done && !t)
		return NULL;
	plain = strndup(text, vector ? n - k : n);
	BUG_ON(!plain);
	e = kernel_value(s, plain, &one, &v);
	free(plain);
	if (e && !*ret_done) {
		err_free(e);
		return NULL;
	}
	*ret_done = true;
	TRY(e);
	struct buf b = BUF_INIT;
	e = value_format(&one, letter, 0, &b); /* a letter that is none */
	buf_clear(&b);
	if (e || vector) {
		if (!e)
			print_all(s, &v, letter);
		buf_free(&b);
		return e;
	}
	if (v.declared[0] && memchr("gslp", v.declared[0], 4) && strlen(v.declared) > 4)
		buf_printf(&b, "@%s ", v.declared); /* the address of a variable */
	kernel_format(&v, t ? t->lane : 0, letter ? letter : b.len ? 'x' : 0, &b);
	out_printf(s->out, "$%u = %s\n",
		vars_remember(s->vars, one.kind == VALUE_FLOAT ? (int64_t)one.f : one.i),
		buf_cstr(&b));
	buf_free(&b);
	return NULL;
}

/* --- memory --- */

static int space_of(const char *text, size_t n)
{
	for (int i = 0; i < SOFT_SPACES; i++)
		if (strlen(kernel_spaces[i]) == n && !memcmp(kernel_spaces[i], text, n))
			return i;
	return -1;
}

/* The windows of generic addresses, see softgpu/ptx/ptx-int.h. */
static void leave_window(unsigned *space, uint64_t *addr)
{
	static const uint64_t windows[SOFT_SPACES] = {
		[SOFT_SHARED] = 0x40000001, [SOFT_LOCAL] = 0x40000002, [SOFT_PARAM] = 0x40000003};

	for (unsigned i = 0; i < SOFT_SPACES; i++)
		if (windows[i] && *addr >> 32 == windows[i]) {
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
	struct soft_value v = {0};
	struct value one;

	*ret_done = at || space >= 0 || kernel_has_register(text);
	if (at && space < 0)
		return err_cure(err_new(ERR_USAGE, "\"%s\" is no memory space", text),
			"It is @global, @shared, @local or @param");
	if (!*ret_done && !kernel_stop(s))
		return NULL;
	if (space >= 0)
		text = word + n + (word[n] == ':');
	text += strspn(text, " \t");
	if (space >= 0 && word_u64(*text ? text : "0", ret)) { /* needs no launch to know */
		*ret_space = (unsigned)space;
		return NULL;
	}
	struct err *e = kernel_value(s, *text ? text : "0", &one, &v);
	if (e && !*ret_done) {
		err_free(e);
		return NULL;
	}
	TRY(e);
	if (one.kind != VALUE_INT)
		return err_cure(err_new(ERR_USAGE, "\"%s\" is no address", text),
			"Registers of 64 bits hold addresses; see \"info registers\"");
	if (!*ret_done && !v.declared[0])
		return NULL; /* a number: memory as ever */
	*ret_done = true;
	if (space < 0)
		space = space_of(v.declared, strlen(v.declared));
	*ret_space = space < 0 ? SOFT_GLOBAL : (unsigned)space;
	*ret = v.bytes == 4 && v.type == SOFT_INT ? (uint32_t)one.i : (uint64_t)one.i;
	if (space < 0)
		leave_window(ret_space, ret);
	return NULL;
}

struct err *kernel_read(struct session *s, unsigned space, uint64_t addr, void *dst, size_t n)
{
	struct soft_ask q = {.what = SOFT_ASK_MEMORY, .space = space, .addr = addr, .size = n};
	struct device *d;
	void *bytes;
	size_t got;

	TRY(kernel_need(s, "this memory", &d));
	TRY(device_kernel_ask(d, &q, 1, &bytes, &got));
	if (got == n)
		memcpy(dst, bytes, n);
	free(bytes);
	return got == n ? NULL
			: err_new(ERR_INFERIOR,
				  "the replayer answered with %zu bytes instead of %zu", got, n);
}
