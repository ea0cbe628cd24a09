/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory and its typed values, see memory-view.h. Device memory is read by the agent of the stopped
 * thread, or by the process that executes a replay; host memory through /proc.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "attach/attach.h"
#include "replay/replay.h"
#include "shell/live/fault.h"
#include "shell/print/graph.h"
#include "shell/values/memory-view.h"
#include "shell/values/value.h"
#include "engine/recorder.h"
#include "engine/replay-device.h"
#include "base/words.h"
#include "state/state.h"

#define RANGE_DEFAULT 4 /* bytes */

/* --- reading --- */

static struct err *beyond(const struct state_alloc *al, uint64_t addr, size_t n)
{
	return err_cure(
		err_new(ERR_USAGE, "0x%" PRIx64 " + %zu bytes goes beyond its allocation", addr, n),
		"The allocation at 0x%" PRIx64 " has %" PRIu64 " bytes", al->addr, al->size);
}

static struct err *read_replay(struct session *s, uint64_t addr, void *dst, size_t n)
{
	struct replay_device *rd;
	struct state_alloc al;
	bool known;
	struct err *e;

	TRY(replay_device_need(&s->engine, "looking at memory", &rd));
	TRY(graph_return(&s->engine));
	known = state_alloc_at(replay_state(s->engine.trace.replay), addr, &al);
	if (known && n > al.addr + al.size - addr)
		return beyond(&al, addr, n);
	e = device_read(rd->d, addr, dst, n); /* a module's global is in no allocation */
	return e && !known && e->code != ERR_INTERRUPTED && e->code != ERR_INFERIOR
		       ? err_cure(err_wrap(e, "0x%" PRIx64 " is in no allocation here", addr),
				 "\"info allocations\" lists them")
		       : e;
}

/* Whether addr is device memory that the driver has to read: in an allocation that is not plain
 * host memory. */
static bool is_device(struct session *s, uint64_t addr, struct state_alloc *ret)
{
	if (!state_alloc_at(recorder_state(s->engine.live.recorder), addr, ret))
		return false;
	return ret->mem != SBT_MEM_PINNED && ret->mem != SBT_MEM_REGISTERED;
}

/* Reads device memory. After a fault of the device it is lost; a copy from the capture's beginning
 * is read instead. */
static struct err *read_device(struct session *s, uint64_t addr, void *dst, size_t n)
{
	uint64_t before;

	TRY(fault_lost(s, inferior_gpu_read(s->engine.live.inf, addr, dst, n,
				  (int)s->engine.set.number[SET_GPU_TIMEOUT])));
	before = inferior_gpu_read_before(s->engine.live.inf);
	if (before)
		out_printf(s->out, "As it was before #%" PRIu64 ", where the capture began:\n",
			before);
	return NULL;
}

bool memory_kept(struct session *s, uint64_t addr, void *dst, size_t n, uint64_t *ret_before)
{
	struct live *t = &s->engine.live;
	struct err *e;

	if (s->focus == FOCUS_REPLAY || !live_at_fault(&s->engine))
		return false;
	e = inferior_gpu_read(t->inf, addr, dst, n, (int)s->engine.set.number[SET_GPU_TIMEOUT]);
	*ret_before = e ? 0 : inferior_gpu_read_before(t->inf);
	err_free(e);
	return *ret_before;
}

static struct err *read_live(struct session *s, uint64_t addr, void *dst, size_t n)
{
	struct state_alloc al;
	struct err *e;

	if (!s->engine.live.inf)
		return err_cure(
			err_new(ERR_STATE,
				"there is no memory to look at: the program is not being run"),
			"Use \"run\"");
	if (is_device(s, addr, &al)) {
		/* The software AMD GPU's memory is the program's, and it stands still with it. */
		if (s->engine.live.soft_amd)
			return n > al.addr + al.size - addr
				       ? beyond(&al, addr, n)
				       : inferior_read(s->engine.live.inf, addr, dst, n);
		if (!s->engine.live.at_cmd)
			return err_cure(
				err_new(ERR_STATE,
					"device memory can be read only while the program is stopped at a GPU command"),
				"Use \"next\"");
		if (n > al.addr + al.size - addr)
			return beyond(&al, addr, n);
		return read_device(s, addr, dst, n);
	}
	e = inferior_read(s->engine.live.inf, addr, dst, n);
	return e ? err_cure(err_wrap(e, "0x%" PRIx64 " is in no device allocation", addr),
			   "\"info allocations\" lists them")
		 : NULL;
}

struct err *memory_read(struct session *s, uint64_t addr, void *dst, size_t n)
{
	return s->focus == FOCUS_REPLAY ? read_replay(s, addr, dst, n) : read_live(s, addr, dst, n);
}

/* A variable of the program. Device memory stays as it is: a recording would not say that the
 * debugger changed it. */
static struct err *write_live(struct session *s, uint64_t addr, const void *src, size_t n)
{
	struct state_alloc al;

	if (!s->engine.live.inf)
		return err_cure(err_new(ERR_STATE, "the program is not being run"), "Use \"run\"");
	if (is_device(s, addr, &al))
		return err_cure(err_new(ERR_UNSUPPORTED,
					"device memory of the live program cannot be changed"),
			"Capture it, and change memory in a replay on a device");
	return inferior_write(s->engine.live.inf, addr, src, n);
}

struct err *memory_string(
	struct session *s, uint64_t addr, size_t most, struct buf *out, bool *ret_whole)
{
	size_t taken = 0, n;
	char part[64];

	*ret_whole = false;
	while (taken < most) {
		struct err *e;

		n = sizeof part - (addr + taken) % sizeof part;
		n = n < most - taken ? n : most - taken;
		e = memory_read(s, addr + taken, part, n);
		if (e && n > 1) { /* the text may end before the memory does */
			err_free(e);
			n = 1;
			e = memory_read(s, addr + taken, part, n);
		}
		TRY(e);
		*ret_whole = strnlen(part, n) < n;
		buf_add(out, part, strnlen(part, n));
		taken += n;
		if (*ret_whole)
			return NULL;
	}
	return NULL;
}

struct err *memory_write(struct session *s, uint64_t addr, const void *src, size_t n)
{
	struct replay_device *rd;
	struct state_alloc al;

	if (s->focus != FOCUS_REPLAY)
		return write_live(s, addr, src, n);
	TRY(replay_device_need(&s->engine, "changing memory", &rd));
	if (state_alloc_at(replay_state(s->engine.trace.replay), addr, &al) &&
		n > al.addr + al.size - addr)
		return beyond(&al, addr, n);
	TRY(device_write(rd->d, addr, src, n));
	rd->what_if = true;
	return NULL;
}

/* --- types --- */

bool memory_type(const char *name, size_t len, struct x_format *ret)
{
	static const struct {
		const char *name;
		char letter, unit;
	} types[] = {
		{"f32", 'f', 'w'},
		{"f64", 'f', 'g'},
		{"float", 'f', 'w'},
		{"double", 'f', 'g'},
		{"s8", 'd', 'b'},
		{"s16", 'd', 'h'},
		{"s32", 'd', 'w'},
		{"s64", 'd', 'g'},
		{"u8", 'u', 'b'},
		{"u16", 'u', 'h'},
		{"u32", 'u', 'w'},
		{"u64", 'u', 'g'},
		{"x8", 'x', 'b'},
		{"x16", 'x', 'h'},
		{"x32", 'x', 'w'},
		{"x64", 'x', 'g'},
		{"char", 'd', 'b'},
		{"short", 'd', 'h'},
		{"int", 'd', 'w'},
		{"long", 'd', 'g'},
		{"unsigned", 'u', 'w'},
	};

	for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
		if (strlen(types[i].name) == len && !memcmp(types[i].name, name, len)) {
			*ret = (struct x_format){
				.count = 1, .letter = types[i].letter, .unit = types[i].unit};
			return true;
		}
	}
	return false;
}

static struct err *no_value(const char *word, const struct x_format *f)
{
	return err_cure(err_new(ERR_USAGE, "\"%s\" is no %u-byte %s", word, x_unit_bytes(f->unit),
				f->letter == 'f' ? "float" : "integer"),
		"Write a number such as %s", f->letter == 'f' ? "1.5" : "42 or 0x2a");
}

static struct err *encode_int(const struct x_format *f, const char *word, void *dst)
{
	unsigned size = x_unit_bytes(f->unit);
	bool negative = *word == '-';
	uint64_t v, most = size == 8 ? UINT64_MAX : (1ull << 8 * size) - 1;

	if (!word_u64(word + negative, &v) || v > (negative ? most / 2 + 1 : most) ||
		word[negative] == '#')
		return no_value(word, f);
	v = negative ? 0 - v : v;
	memcpy(dst, &v, size);
	return NULL;
}

struct err *memory_encode(const struct x_format *f, const char *word, void *dst)
{
	char *end;
	double d;
	float f32;

	if (f->letter != 'f')
		return encode_int(f, word, dst);
	errno = 0;
	d = strtod(word, &end);
	if (!*word || *end)
		return no_value(word, f);
	f32 = (float)d;
	memcpy(dst, f->unit == 'w' ? (const void *)&f32 : (const void *)&d, x_unit_bytes(f->unit));
	return NULL;
}

/* --- showing --- */

struct x_format memory_guess(const void *bytes, size_t n)
{
	struct x_format f = {.count = 1, .letter = 'x', .unit = n % 4 ? 'b' : 'w'};
	bool floats = true, ints = true, any = false;

	for (size_t i = 0; i + 4 <= n && i < 4096 && f.unit == 'w'; i += 4) {
		int32_t v;
		float x;

		memcpy(&v, (const char *)bytes + i, 4);
		memcpy(&x, &v, 4);
		if (!v)
			continue;
		any = true;
		floats = floats && isfinite(x) &&
			 (v == INT32_MIN || (fabsf(x) > 1e-12f && fabsf(x) < 1e12f));
		ints = ints && v > -(1 << 24) && v < 1 << 24;
	}
	if (any && (floats || ints))
		f.letter = ints ? 'd' : 'f';
	return f;
}

void memory_list(
	struct buf *out, const struct x_format *f, const void *bytes, uint64_t count, bool more)
{
	unsigned size = x_unit_bytes(f->unit);

	buf_byte(out, '{');
	for (uint64_t i = 0; i < count; i++) {
		buf_str(out, i ? ", " : "");
		x_format_one(out, f, (const char *)bytes + i * size);
	}
	buf_str(out, more ? "...}" : "}");
}

static struct x_format pick(
	const struct x_format *f, const void *before, const void *after, size_t n)
{
	struct x_format a, b;

	if (f && f->letter)
		return *f;
	a = memory_guess(before, n);
	b = memory_guess(after, n);
	if (a.letter == b.letter)
		return a;
	/* one of them all zeros, or small integers that are zeros of floats, too */
	return a.letter == 'f' || a.letter == 'd' ? a : b;
}

struct memory_difference memory_compare(struct buf *out, const struct x_format *f, uint64_t addr,
	uint64_t base, const void *before, const void *after, size_t n, unsigned most)
{
	const char *a = before, *b = after;
	struct memory_difference r = {0};
	struct x_format show = pick(f, before, after, n);
	unsigned size = x_unit_bytes(show.unit);
	unsigned shown = 0;

	for (size_t i = 0; i < n; i++) {
		if (a[i] != b[i] && !r.bytes++)
			r.first = i;
	}
	for (size_t i = r.first - r.first % size; r.bytes && i + size <= n && shown < most;
		i += size) {
		if (!memcmp(a + i, b + i, size))
			continue;
		buf_printf(out, "  0x%" PRIx64, addr + i);
		if (addr + i != base)
			buf_printf(out, " (+%" PRIu64 ")", addr + i - base);
		buf_str(out, ": ");
		x_format_one(out, &show, a + i);
		buf_str(out, " -> ");
		x_format_one(out, &show, b + i);
		buf_byte(out, '\n');
		shown++;
	}
	return r;
}

/* --- ranges --- */

/* The last " len " in text. */
static const char *find_len(const char *text)
{
	const char *found = NULL;

	for (const char *p = text; (p = strstr(p, " len ")) != NULL; p++)
		found = p;
	return found;
}

struct err *memory_range(
	struct session *s, const char *text, uint64_t *ret_addr, uint64_t *ret_size)
{
	const char *len = find_len(text);
	char *addr = len ? strndup(text, (size_t)(len - text)) : xstrdup(text);
	const struct state *st;
	struct state_alloc al;
	struct err *e;

	BUG_ON(!addr);
	e = *addr ? value_address(s, addr, ret_addr, NULL)
		  : err_cure(err_new(ERR_USAGE, "an address is missing"),
			    "For example: arg0, or 0x302000000 len 16");
	*ret_size = RANGE_DEFAULT;
	if (!e && len && (!word_size(len + 5 + strspn(len + 5, " \t"), ret_size) || !*ret_size))
		e = err_cure(err_new(ERR_USAGE, "\"%s\" is no length", len + 5),
			"It is a number of bytes; K, M and G may follow");
	if (!e && !len && (!strncmp(addr, "arg", 3) || !strncmp(addr, "$arg", 4))) {
		e = session_state(s, &st);
		if (!e && state_alloc_at(st, *ret_addr, &al))
			*ret_size = al.addr + al.size - *ret_addr;
	}
	free(addr);
	if (!e && *ret_size > UINT64_MAX - *ret_addr)
		return err_new(ERR_USAGE, "0x%" PRIx64 " + %" PRIu64 " bytes is beyond all memory",
			*ret_addr, *ret_size);
	return e;
}
