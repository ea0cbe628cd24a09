/* SPDX-License-Identifier: Apache-2.0
 *
 * What only a replay on a device can do: replay restart, verify, stream, range, kernel, swap.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "replay/replay.h"
#include "sbt/memory.h"
#include "sbt/kernel-name.h"
#include "shell/line/interrupt.h"
#include "shell/values/memory-view.h"
#include "shell/print/replay-print.h"
#include "engine/partial.h"
#include "engine/replay-device.h"
#include "shell/tools/tool-options.h"
#include "shell/trace/replay-run.h"
#include "shell/trace/trace.h"
#include "shell/print/verdict-text.h"
#include "base/words.h"
#include "state/state.h"
#include "gpucode/code-kind.h"

enum {
	CODE_MAX = 8 << 20,	 /* bytes of a replacement */
	SWAP_SHOWN = 8,		 /* differences shown of one allocation */
	SWAP_COMPARED = 4 << 20, /* bytes of one allocation that are compared value by value */
};

/* --- restart --- */

const char cmd_replay_restart_help[] =
	"Goes before the first command of the window. On a device, forgets what `set memory`,\n"
	"`set arg` and `replay swap` changed and what a partial replay left out: the recorded\n"
	"run again.\n";

struct err *cmd_replay_restart(struct session *s, const struct cmd_args *a)
{
	if (s->engine.trace.device)
		TRY(replay_device_restore(s->engine.trace.device));
	return replay_go(s, &(struct move){.how = MOVE_GOTO});
}

/* --- verify --- */

/* Executes the whole window and compares. Afterwards the replay is at the end. */
static struct err *run_and_verify(
	struct session *s, struct replay_device *rd, struct device_verified *ret)
{
	struct replay_stop stop;

	TRY(replay_goto(s->engine.trace.replay, 0, &stop));
	TRY(replay_until(s->engine.trace.replay, rd->last, &stop));
	if (stop.why == REPLAY_INTERRUPTED)
		return err_new(ERR_INTERRUPTED, "interrupted at #%" PRIu64, stop.seq);
	return device_verify(rd->d, ret);
}

static struct err *go_back(struct session *s, uint64_t seq)
{
	struct replay_stop stop;

	return replay_goto(s->engine.trace.replay, seq, &stop);
}

/* why: NULL if the user changed something. */
static void tell_verified(struct session *s, const struct replay_device *rd,
	const struct device_verified *v, const struct verdict *why)
{
	bool ok = device_verified_ok(v);
	struct buf b = BUF_INIT;

	device_verified_print(&b, v);
	buf_byte(&b, '\n');
	replay_device_notes(rd, "  ", &b);
	if (why)
		verdict_print(s, why, &b);
	if (!ok)
		buf_printf(&b, "Not verified: the replay differs from the recording%s.\n",
			rd->what_if ? " (it is a what-if; `replay restart` takes that back)" : "");
	out_str(s->out, buf_cstr(&b));
	buf_free(&b);
	if (!ok && s->batch)
		s->quit_status = REPLAY_STATUS_DIFFERS;
}

const char cmd_replay_verify_help[] =
	"Executes the whole window from its beginning and compares every allocation with the\n"
	"hash that was recorded at its end, and what copies to the host delivered with what\n"
	"they had delivered, and says why when something differs. The replay is then where it\n"
	"was. With --batch the exit status is 3 when something differs.\n"
	"Example: replay verify\n";

struct err *cmd_replay_verify(struct session *s, const struct cmd_args *a)
{
	uint64_t seq = replay_seq(s->engine.trace.replay);
	struct replay_device *rd;
	struct device_verified v;
	struct verdict why;

	TRY(replay_device_need(&s->engine, "replay verify", &rd));
	if (rd->partial)
		return err_cure(
			err_new(ERR_STATE,
				"commands are left out of this replay, so its end is another one"),
			"Use \"replay restart\" first");
	TRY(run_and_verify(s, rd, &v));
	verdict_find(&s->engine, &v, &why);
	if (a->json) {
		struct buf b = BUF_INIT;

		replayed_json(s, &b, &v, &why, NAN);
		out_printf(s->out, "%s\n", buf_cstr(&b));
		buf_free(&b);
	}
	if (a->json && !device_verified_ok(&v) && s->batch)
		s->quit_status = REPLAY_STATUS_DIFFERS;
	if (!a->json)
		tell_verified(s, rd, &v, &why);
	verdict_free(&why);
	device_verified_free(&v);
	return go_back(s, seq);
}

/* --- parts --- */

static struct err *run_partial(struct session *s, const struct partial *p)
{
	struct partial_result r;
	struct replay_device *rd;
	struct buf b = BUF_INIT;

	TRY(replay_device_need(&s->engine, "a partial replay", &rd));
	s->focus = FOCUS_REPLAY;
	TRY(partial_run(&s->engine, rd, p, &r));
	partial_print(&b, &r);
	out_str(s->out, buf_cstr(&b));
	buf_free(&b);
	if (!partial_ok(&r) && s->batch)
		s->quit_status = REPLAY_STATUS_DIFFERS;
	partial_free(&r);
	return replay_go(s, &(struct move){.how = MOVE_NOWHERE});
}

const char cmd_replay_stream_help[] =
	"Executes only streams N, M, ... of the window, and what they depend on: what the\n"
	"program ordered before their commands, and whatever wrote memory that they may read.\n"
	"With --alone nothing else: what copies from the host brought comes out of the trace,\n"
	"and a command that reads what another stream computed is refused by name. Says what\n"
	"was left out, and compares memory with the whole replay up to the same command. Until\n"
	"`replay restart`, moving in the replay leaves the same commands out.\n"
	"Example: replay stream 2\n";

struct err *cmd_replay_stream(struct session *s, const struct cmd_args *a)
{
	struct partial p = {.kind = PARTIAL_NONE};

	for (unsigned i = 0; i < a->argc; i++) {
		if (!strcmp(a->argv[i], "--alone"))
			p.alone = true;
		else if (p.kind)
			return err_cure(
				err_new(ERR_USAGE, "replay stream has no \"%s\"", a->argv[i]),
				"Use \"replay stream 1,3 --alone\"");
		else
			TRY(partial_streams(&p, a->argv[i]));
	}
	if (!p.kind)
		return err_cure(err_new(ERR_USAGE, "replay stream needs streams"),
			"Use \"replay stream 2\" or \"replay stream 1,3\"");
	return run_partial(s, &p);
}

const char cmd_replay_range_help[] =
	"Executes only the commands A to B of the window and what they depend on, as `replay\n"
	"stream` does, and is then at B.\n"
	"Example: replay range 100-120\n";

struct err *cmd_replay_range(struct session *s, const struct cmd_args *a)
{
	struct partial p = {.kind = PARTIAL_NONE};

	if (a->argc != 1)
		return err_cure(err_new(ERR_USAGE, "replay range needs a range of commands"),
			"Use \"replay range 100-120\"");
	TRY(partial_range(&p, a->argv[0]));
	return run_partial(s, &p);
}

const char cmd_replay_kernel_help[] =
	"Brings memory to what it was right before the Kth launch (the first without `nth K`) of\n"
	"a kernel that matches GLOB and executes that launch.\n"
	"Example: replay kernel scale nth 3\n";

struct err *cmd_replay_kernel(struct session *s, const struct cmd_args *a)
{
	struct partial p = {.kind = PARTIAL_KERNEL, .nth = 1};

	if ((a->argc != 1 && a->argc != 3) ||
		(a->argc == 3 && (strcmp(a->argv[1], "nth") || !word_u64(a->argv[2], &p.nth))))
		return err_cure(err_new(ERR_USAGE, "replay kernel needs a kernel"),
			"Use \"replay kernel scale nth 3\"");
	p.kernel = a->argv[0];
	return run_partial(s, &p);
}

/* --- swap --- */

const char cmd_replay_swap_help[] =
	"Replaces a kernel by the one of the same name in FILE (PTX, or a cubin; the parameters\n"
	"must be the same), executes the window with it and compares with the recording; then\n"
	"shows the first values that differ from the recorded run's. So a kernel can be edited,\n"
	"compiled and compared on its real inputs, without the program. The replacement stays\n"
	"until `replay swap KERNEL off` or `replay restart`.\n"
	"Example: replay swap matmul new.ptx\n";

struct kernels {
	uint32_t *id;
	unsigned n;
	char *name; /* of the first; heap */
};

static struct err *find_kernels(struct session *s, const char *glob, struct kernels *ret)
{
	const struct state *st;
	struct state_kernel k;

	*ret = (struct kernels){0};
	TRY(engine_end_state(&s->engine, &st));
	for (unsigned i = 0; state_kernel(st, i, &k); i++) {
		if (!sbt_kernel_glob(glob, k.name, k.short_name))
			continue;
		if (ret->n && strcmp(ret->name, k.name)) {
			struct err *e = err_cure(
				err_new(ERR_USAGE, "\"%s\" matches several kernels, %s and %s",
					glob, ret->name, k.name),
				"Name one; \"info kernels\" lists them");

			free(ret->id);
			free(ret->name);
			return e;
		}
		if (!ret->n)
			ret->name = xstrdup(k.name);
		ret->id = xrealloc(ret->id, (ret->n + 1) * sizeof *ret->id);
		ret->id[ret->n++] = k.id;
	}
	return ret->n ? NULL
		      : err_cure(err_new(ERR_NOT_FOUND, "the trace has no kernel %s", glob),
				"\"info kernels\" lists them at the end of the trace");
}

static struct err *read_code(const char *path, struct buf *ret)
{
	FILE *f = fopen(path, "re");
	size_t n = 0;
	int sys;

	if (!f)
		return err_sys(errno, "cannot read %s", path);
	while (ret->len <= CODE_MAX && (n = fread(buf_room(ret, 65536), 1, 65536, f)) > 0)
		ret->len += n;
	sys = ferror(f) ? errno : 0;
	fclose(f);
	if (sys)
		return err_sys(sys, "cannot read %s", path);
	if (!ret->len)
		return err_new(ERR_USAGE, "%s is empty", path);
	return ret->len > CODE_MAX
		       ? err_new(ERR_LIMIT, "%s is larger than %d MiB", path, CODE_MAX >> 20)
		       : NULL;
}

static void remember_swap(struct replay_device *rd, uint32_t kernel, bool on)
{
	unsigned i = 0;

	while (i < rd->nswapped && rd->swapped[i] != kernel)
		i++;
	if (on && i == rd->nswapped) {
		rd->swapped = xrealloc(rd->swapped, (rd->nswapped + 1) * sizeof *rd->swapped);
		rd->swapped[rd->nswapped++] = kernel;
	} else if (!on && i < rd->nswapped) {
		rd->swapped[i] = rd->swapped[--rd->nswapped];
	}
}

/* Replaces the code of all of the kernels; NULL: back to the recorded code. */
static struct err *swap_all(
	struct replay_device *rd, const struct kernels *k, const struct buf *code)
{
	const enum code_kind kind = code ? code_kind_of(code->data, code->len) : CODE_UNKNOWN;

	for (unsigned i = 0; i < k->n; i++) {
		TRY(device_swap(
			rd->d, k->id[i], kind, code ? code->data : NULL, code ? code->len : 0));
		remember_swap(rd, k->id[i], code != NULL);
	}
	rd->what_if = rd->what_if || code;
	return NULL;
}

/* The part of a piece that is compared value by value: it begins at the first page known to
 * differ. */
static void part_of(const struct replayer_piece *p, uint64_t *ret_at, size_t *ret_n)
{
	uint64_t at = p->first_page == UINT64_MAX ? 0 : p->first_page * SBT_PAGE;

	*ret_at = at < p->size ? at : 0;
	*ret_n = p->size - *ret_at < SWAP_COMPARED ? (size_t)(p->size - *ret_at) : SWAP_COMPARED;
}

/* Appends the contents of the parts to b, one after the other. */
static struct err *read_parts(
	struct replay_device *rd, const struct device_verified *v, struct buf *b)
{
	for (size_t i = 0; i < v->npieces; i++) {
		const struct replayer_piece *p = &v->pieces[i];
		uint64_t at;
		size_t n;

		if (!p->checked || p->same)
			continue;
		part_of(p, &at, &n);
		TRY(device_read(rd->d, p->addr + at, buf_room(b, n), n));
		b->len += n;
	}
	return NULL;
}

static void tell_parts(struct session *s, const struct device_verified *v,
	const struct buf *recorded, const struct buf *swapped)
{
	struct x_format f = {.count = 1, .unit = 'w'};
	size_t offset = 0;

	for (size_t i = 0; i < v->npieces; i++) {
		const struct replayer_piece *p = &v->pieces[i];
		struct buf text = BUF_INIT;
		struct memory_difference diff;
		uint64_t at;
		size_t n;

		if (!p->checked || p->same)
			continue;
		part_of(p, &at, &n);
		diff = memory_compare(&text, &f, p->addr + at, p->addr, recorded->data + offset,
			swapped->data + offset, n, SWAP_SHOWN);
		out_printf(s->out,
			"0x%" PRIx64 ", %" PRIu64 " bytes: %" PRIu64
			" of the %s%zu differ (recorded -> replacement)\n%s",
			p->addr, p->size, diff.bytes, n < p->size ? "first " : "", n,
			buf_cstr(&text));
		buf_free(&text);
		offset += n;
	}
}

/* Reads what the copy to the host with this seq copied, from the device's memory right behind the
 * copy; *ret_n 0: there is nothing to read. */
static struct err *read_output(struct session *s, struct replay_device *rd, uint64_t seq,
	struct buf *b, uint64_t *ret_addr, size_t *ret_n)
{
	const struct sbt_cmd *c;

	*ret_n = 0;
	TRY(go_back(s, seq));
	c = replay_cmd(s->engine.trace.replay);
	if (!c || c->kind != SBT_COPY || c->u.copy.width || !c->u.copy.size)
		return NULL;
	*ret_addr = c->u.copy.src;
	*ret_n = c->u.copy.size < SWAP_COMPARED ? (size_t)c->u.copy.size : SWAP_COMPARED;
	TRY(device_read(rd->d, *ret_addr, buf_room(b, *ret_n), *ret_n));
	b->len += *ret_n;
	return NULL;
}

static void tell_output(struct session *s, uint64_t seq, uint64_t addr, size_t n,
	const struct buf *recorded, const struct buf *swapped)
{
	struct x_format f = {.count = 1, .unit = 'w'};
	struct buf text = BUF_INIT;
	struct memory_difference diff =
		memory_compare(&text, &f, addr, addr, recorded->data + recorded->len - n,
			swapped->data + swapped->len - n, n, SWAP_SHOWN);

	out_printf(s->out,
		"What #%" PRIu64 " copies to the host: %" PRIu64
		" of %zu bytes differ (recorded -> replacement)\n%s",
		seq, diff.bytes, n, buf_cstr(&text));
	buf_free(&text);
}

/* Reads memory of the present run, at the window's end and at the first output that differs. */
static struct err *read_both(struct session *s, struct replay_device *rd,
	const struct device_verified *v, struct buf *b, uint64_t *ret_addr, size_t *ret_n)
{
	*ret_n = 0;
	TRY(read_parts(rd, v, b));
	return v->sums.first_output ? read_output(s, rd, v->sums.first_output, b, ret_addr, ret_n)
				    : NULL;
}

/* Runs once with the replacement and, when something differs, once without it, for the values. */
static struct err *compare_swap(struct session *s, struct replay_device *rd,
	const struct kernels *k, const struct buf *code)
{
	struct buf recorded = BUF_INIT, swapped = BUF_INIT;
	struct device_verified v, whole;
	uint64_t addr = 0;
	size_t n;
	struct err *e;

	TRY(run_and_verify(s, rd, &v));
	tell_verified(s, rd, &v, NULL);
	if (device_verified_ok(&v)) {
		device_verified_free(&v);
		return NULL;
	}
	e = read_both(s, rd, &v, &swapped, &addr, &n);
	if (!e)
		e = swap_all(rd, k, NULL);
	if (!e)
		e = run_and_verify(s, rd, &whole);
	if (!e) {
		device_verified_free(&whole);
		e = read_both(s, rd, &v, &recorded, &addr, &n);
	}
	if (!e)
		tell_parts(s, &v, &recorded, &swapped);
	if (!e && n)
		tell_output(s, v.sums.first_output, addr, n, &recorded, &swapped);
	if (!e)
		e = swap_all(rd, k, code);
	buf_free(&recorded);
	buf_free(&swapped);
	device_verified_free(&v);
	return e;
}

static struct err *swap_off(struct session *s, struct replay_device *rd, const struct kernels *k)
{
	TRY(swap_all(rd, k, NULL));
	rd->what_if = rd->nswapped || rd->nargs || device_what_if(rd->d);
	out_printf(s->out, "%s is the recorded one again.\n", k->name);
	return go_back(s, 0);
}

static struct err *swap(
	struct session *s, struct replay_device *rd, const struct kernels *k, const char *file)
{
	struct buf code = BUF_INIT;
	struct err *e = read_code(file, &code), *off;

	if (!e)
		e = go_back(s, 0);
	if (!e)
		e = swap_all(rd, k, &code);
	if (!e) {
		e = compare_swap(s, rd, k, &code);
		if (!e)
			e = go_back(s, 0);
	} else if (rd->nswapped) { /* only some of them accepted the code */
		off = swap_all(rd, k, NULL);
		err_free(off);
	}
	buf_free(&code);
	return e;
}

struct err *cmd_replay_swap(struct session *s, const struct cmd_args *a)
{
	struct replay_device *rd;
	struct kernels k;
	struct err *e;

	TRY(replay_device_need(&s->engine, "replay swap", &rd));
	if (a->argc != 2)
		return err_cure(err_new(ERR_USAGE, "replay swap needs a kernel and a file"),
			"For example: replay swap matmul new.ptx");
	s->focus = FOCUS_REPLAY;
	TRY(find_kernels(s, a->argv[0], &k));
	e = !strcmp(a->argv[1], "off") ? swap_off(s, rd, &k) : swap(s, rd, &k, a->argv[1]);
	free(k.id);
	free(k.name);
	return e;
}
