/* SPDX-License-Identifier: Apache-2.0
 *
 * The requests to the replayer, and how a new process takes over from a dead one: every call first
 * makes sure that there is a process and that it is at the caller's position (heal()).
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "base/monotonic.h"
#include "replay/device-node.h"
#include "replay/client/device-private.h"

#define TIMEOUT_S 300
#define PIECE (REPLAYER_MESSAGE_MAX / 2) /* bytes of a read or write in one message */
#define SLICE_MS 100			 /* aim of a part of a run */
#define SLICE_FIRST 256			 /* seqs in the first part */
/* commands executed one by one to find the one that broke the device */
#define BLAME_MAX 20000

static struct err *call(struct device *d, uint32_t type, const void *body, size_t n,
	const void *tail, size_t tail_n, size_t reply)
{
	TRY(device_post(d, type, body, n, tail, tail_n));
	return device_reply(d, reply);
}

#define CALL(d, TYPE, body, reply)                                                                 \
	call(d, REPLAYER_##TYPE, &(body), sizeof(body), NULL, 0, sizeof(struct reply))

/* --- a process at the right place --- */

static void take_notes(struct device *d)
{
	struct replayer_opened o;

	memcpy(&o, d->in.data, sizeof o);
	free(d->notes);
	d->notes = xmalloc(d->in.len - sizeof o + 1);
	memcpy(d->notes, d->in.data + sizeof o, d->in.len - sizeof o);
	d->notes[d->in.len - sizeof o] = '\0';
	for (char *p = d->notes; *p; p++)
		if (((unsigned char)*p < 0x20 && *p != '\n') || *p == 0x7f)
			*p = ' ';
	d->info = (struct device_info){.first = d->first,
		.last = d->last,
		.ranges = o.ranges,
		.bytes = o.bytes,
		.unrepeatable = o.unrepeatable,
		.work = o.work,
		.recorded = o.recorded,
		.left_out = o.left_out,
		.fault = {o.fault_told, o.fault_first, o.fault_last, o.fault_code},
		.notes = d->notes};
}

static struct err *start_once(struct device *d)
{
	struct replayer_open o = {
		.version = REPLAYER_VERSION, .flags = d->flags, .first = d->first, .last = d->last};
	const struct replayer_none none = {0};
	struct err *e = NULL;

	d->doing = DEVICE_OPENING;
	TRY(device_spawn(d));
	if (d->nprobes)
		e = call(d, REPLAYER_PROBES, &none, sizeof none, d->probes,
			d->nprobes * sizeof *d->probes, sizeof(struct replayer_done));
	if (!e)
		e = call(d, REPLAYER_OPEN, &o, sizeof o, d->trace, strlen(d->trace),
			sizeof(struct replayer_opened));
	if (e) {
		device_bury(d);
		return e;
	}
	take_notes(d);
	d->doing = DEVICE_EXECUTING;
	d->pos = d->done = d->first - 1;
	d->astray = false;
	return NULL;
}

/* The replayer has to be at seq, and says that it is at d->in's position. */
static struct err *is_there(struct device *d, uint64_t seq)
{
	struct replayer_done done;

	memcpy(&done, d->in.data, sizeof done);
	if (done.seq == seq)
		return NULL;
	device_bury(d);
	return err_new(ERR_INFERIOR,
		"the replayer was to go to #%" PRIu64 " and says that it is at #%" PRIu64
		"; it was ended",
		seq, done.seq);
}

static struct err *start(struct device *d);
static struct err *seek_raw(struct device *d, uint64_t seq);

/* The replayer has ended because it could not go back: another one can. */
static struct err *seek_afresh(struct device *d, uint64_t seq)
{
	struct err *e;

	d->again = true;
	d->culprit = d->culprit_first = 0;
	d->error = 0;
	e = start(d);
	if (!e)
		e = seek_raw(d, seq);
	d->again = false;
	return e;
}

static struct err *seek_raw(struct device *d, uint64_t seq)
{
	struct replayer_seek s = {seq};

	/* a seek may start there, so any command from there on can be to blame */
	d->done = d->first - 1;
	d->pos = seq;
	d->doing = DEVICE_GOING;
	d->on_way = false;
	struct err *e = CALL(d, SEEK, s, replayer_done);
	d->doing = DEVICE_EXECUTING;
	if (e && d->error == REPLAYER_E_AGAIN && !d->again) {
		err_free(e);
		return seek_afresh(d, seq);
	}
	TRY(e);
	TRY(is_there(d, seq));
	d->pos = d->done = seq;
	d->astray = false;
	return NULL;
}

/* The what-ifs in the order they were made. */
static struct err *edit_again(struct device *d)
{
	for (size_t i = 0; i < d->nedits; i++) {
		const struct device_edit *x = &d->edits[i];

		if (x->type == REPLAYER_WRITE && d->pos != x->at)
			TRY(seek_raw(d, x->at));
		TRY(call(d, x->type, x->body.data, x->body.len, NULL, 0,
			sizeof(struct replayer_done)));
	}
	if (d->nedits)
		d->astray = true;
	return NULL;
}

static struct err *start(struct device *d)
{
	struct err *e = NULL;

	for (d->attempt = 0; d->attempt < DEVICE_ATTEMPTS; d->attempt++) {
		err_free(e);
		e = start_once(d);
		if (!e || d->error != REPLAYER_E_PLACE || (d->interrupt && *d->interrupt))
			break;
	}
	if (e)
		return e;
	e = edit_again(d);
	if (e)
		device_bury(d); /* without all of them it would give other results */
	return e;
}

/* Leaves the launch under the microscope, or the graph launch. */
static void leave(struct device *d)
{
	d->graph = 0;
	if (!d->inside)
		return;
	if (d->astray)
		d->want = d->outside;
	d->inside = 0;
}

/* A living process at d->want. Every call begins here. */
static struct err *heal(struct device *d)
{
	leave(d);
	d->culprit = d->culprit_first = 0;
	d->error = 0;
	if (d->pos == d->done) /* else its last words may be in the socket */
		TRY(device_alive(d));
	if (!d->pid)
		TRY(start(d));
	if (d->astray || d->pos != d->want)
		TRY(seek_raw(d, d->want));
	return NULL;
}

/* ---- finding the command that broke the device
 * --------------------------------------------------------------------------- */

static struct err *run_raw(
	struct device *d, uint64_t to, uint64_t addr, uint64_t size, bool *ret_hit)
{
	struct replayer_run r = {.to = to, .watch_addr = addr, .watch_size = size};
	struct replayer_ran ran;

	d->pos = to; /* a crash is blamed on this command */
	d->on_way = false;
	TRY(CALL(d, RUN, r, replayer_ran));
	memcpy(&ran, d->in.data, sizeof ran);
	*ret_hit = ran.hit && size;
	d->late = *ret_hit ? ran.late : 0;
	if (ran.seq > to || (!*ret_hit && ran.seq != to) ||
		(d->late && (d->late < d->first || d->late >= ran.seq))) {
		device_bury(d);
		return err_new(ERR_INFERIOR,
			"the replayer was to run to #%" PRIu64 " and did not; it was ended", to);
	}
	d->pos = d->done = ran.seq;
	d->astray = false;
	return NULL;
}

/* One of first..last broke the device: executes them one by one to find it. Returns NULL if all of
 * them succeeded this time. */
static struct err *one_by_one(struct device *d, uint64_t first, uint64_t last)
{
	bool hit;

	TRY(start(d));
	TRY(seek_raw(d, first - 1));
	for (uint64_t seq = first; seq <= last; seq++) {
		struct err *e;

		e = run_raw(d, seq, 0, 0, &hit);
		if (e && !d->culprit)
			d->culprit = d->culprit_first = seq;
		if (e)
			return e;
	}
	return NULL;
}

static struct err *blame(struct device *d, struct err *e)
{
	uint64_t first = d->culprit_first, last = d->culprit;
	struct err *again;

	d->astray = true;
	if (!last)
		return e;
	d->want = first - 1;
	if (first == last || d->pid || e->code != ERR_INFERIOR || last - first > BLAME_MAX ||
		d->error == DEVICE_SILENT)
		return e;
	again = one_by_one(d, first, last);
	d->astray = true;
	if (again && again->code == ERR_INFERIOR && d->culprit >= first && d->culprit <= last) {
		d->want = d->culprit_first - 1;
		err_free(e);
		return again;
	}
	if (!again)
		e = err_cure(
			e, "it did not happen again when these commands were executed one by one");
	err_free(again);
	d->culprit = last;
	d->culprit_first = first;
	return e;
}

/* Every failure of a call that executes goes through here: where the device is now is not known. */
static struct err *failed(struct device *d, struct err *e)
{
	e = blame(d, e);
	if (d->error != REPLAYER_E_TIMEOUT || d->flags & REPLAYER_OVERLAPS)
		return e;
	return err_cure(e,
		"`set replay timeout SECONDS` (TSDB_REPLAYER_TIMEOUT) gives it more time; if it waits for a later command on another stream, "
		"`set replay order concurrent` (`tsdb replay --order concurrent`) lets streams overlap; the memory before it can be inspected");
}

#define EXECUTING(d, expr)                                                                         \
	do {                                                                                       \
		struct err *ex_err_ = (expr);                                                      \
		if (ex_err_)                                                                       \
			return failed(d, ex_err_);                                                 \
	} while (0)

/* A failure of a call that executes nothing itself. Nothing happened, unless the process died or it
 * is about an earlier command. */
static struct err *refused(struct device *d, struct err *e)
{
	if (!d->pid || d->pos != d->done)
		return failed(d, e);
	d->culprit = d->culprit_first = 0;
	return e;
}

#define ASKING(d, expr)                                                                            \
	do {                                                                                       \
		struct err *ask_err_ = (expr);                                                     \
		if (ask_err_)                                                                      \
			return refused(d, ask_err_);                                               \
	} while (0)

struct err *device_ready(struct device *d)
{
	EXECUTING(d, heal(d));
	return NULL;
}

struct err *device_failed(struct device *d, struct err *e)
{
	return failed(d, e);
}

/* --- open and close --- */

struct err *device_open(struct device **ret, const struct device_options *o)
{
	struct device *d;
	struct err *e;

	*ret = NULL;
	if (!o->first || o->last < o->first)
		return err_new(ERR_INCOMPLETE,
			"the trace has no capture window that can be executed again");
	d = xcalloc(1, sizeof *d);
	d->fd = d->said_fd = -1;
	d->replayer = xstrdup(o->replayer);
	d->trace = xstrdup(o->trace);
	d->softgpu = o->softgpu ? xstrdup(o->softgpu) : NULL;
	d->amd_target = o->amd_target ? xstrdup(o->amd_target) : NULL;
	d->first = o->first;
	d->last = o->last;
	d->flags = o->flags;
	d->no_sandbox = o->no_sandbox;
	d->limit_s = o->limit_s;
	d->timeout_ms = (o->timeout_s ? o->timeout_s : TIMEOUT_S) * 1000;
	d->interrupt = o->interrupt;
	d->progress = o->progress;
	d->progress_arg = o->progress_arg;
	d->said = o->said;
	d->said_arg = o->said_arg;
	d->undone = o->undone;
	d->undone_arg = o->undone_arg;
	d->want = o->first - 1;
	d->nprobes = o->nprobes;
	if (d->nprobes) {
		d->probes = xmalloc(d->nprobes * sizeof *d->probes);
		memcpy(d->probes, o->probes, d->nprobes * sizeof *d->probes);
	}
	e = start(d);
	if (e) {
		device_close(d);
		return e;
	}
	*ret = d;
	return NULL;
}

static void drop_edits(struct device *d, size_t from)
{
	while (d->nedits > from)
		buf_free(&d->edits[--d->nedits].body);
}

void device_close(struct device *d)
{
	if (!d)
		return;
	device_bury(d);
	drop_edits(d, 0);
	free(d->edits);
	buf_free(&d->out);
	buf_free(&d->in);
	free(d->notes);
	free(d->replayer);
	free(d->trace);
	free(d->softgpu);
	free(d->amd_target);
	free(d->probes);
	free(d);
}

struct device_info device_info(const struct device *d)
{
	struct device_info info = d->info;

	info.overlap = d->flags & REPLAYER_OVERLAPS;
	return info;
}

uint64_t device_seq(const struct device *d)
{
	return d->want;
}

int device_pid(const struct device *d)
{
	return d->pid;
}

bool device_failed_as_recorded(const struct device *d)
{
	const struct device_fault *f = &d->info.fault;

	return d->error == REPLAYER_E_FAULT && f->told && f->first &&
	       d->culprit_first >= f->first && d->culprit <= f->last;
}

uint64_t device_culprit(const struct device *d, uint64_t *ret_first)
{
	if (ret_first)
		*ret_first = d->culprit_first;
	return d->culprit;
}

struct err *device_restart(struct device *d)
{
	device_bury(d);
	EXECUTING(d, heal(d));
	return NULL;
}

/* --- moving --- */

static struct err *outside(const struct device *d, uint64_t seq)
{
	return err_new(ERR_NOT_FOUND,
		"#%" PRIu64 " is outside the window #%" PRIu64 " to #%" PRIu64
		" that can be executed",
		seq, d->first, d->last);
}

struct err *device_execute(struct device *d, uint64_t seq, bool wait)
{
	struct replayer_execute x = {.seq = seq, .wait = wait};

	if (seq < d->first || seq > d->last)
		return outside(d, seq);
	if (seq <= d->want)
		return err_new(ERR_STATE,
			"#%" PRIu64 " lies before the device's position, #%" PRIu64, seq, d->want);
	EXECUTING(d, heal(d));
	d->pos = seq;
	EXECUTING(d, device_post(d, REPLAYER_EXECUTE, &x, sizeof x, NULL, 0));
	if (wait) {
		EXECUTING(d, device_reply(d, sizeof(struct replayer_done)));
		EXECUTING(d, is_there(d, seq));
		d->done = seq;
	}
	d->want = seq;
	return NULL;
}

struct err *device_finish(struct device *d)
{
	bool hit;

	EXECUTING(d, heal(d));
	if (d->done == d->pos)
		return NULL;
	EXECUTING(d, run_raw(d, d->pos, 0, 0, &hit));
	return NULL;
}

/* Whether the launch under the microscope has ended, and that is where the caller wants to go: it
 * stays, so that the user can go back into it. */
static bool at_end_inside(const struct device *d, uint64_t seq)
{
	return d->inside && d->pid && !d->astray && d->pos == seq && d->want == seq;
}

struct err *device_seek(struct device *d, uint64_t seq)
{
	if (seq < d->first)
		seq = d->first - 1;
	if (seq > d->last)
		return outside(d, seq);
	if (at_end_inside(d, seq))
		return NULL;
	leave(d);
	if (d->pid && !d->astray && d->pos == seq && d->want == seq)
		return device_finish(d);
	d->culprit = d->culprit_first = 0;
	d->error = 0;
	if (d->pos == d->done)
		EXECUTING(d, device_alive(d));
	if (!d->pid)
		EXECUTING(d, start(d));
	if (d->astray || d->pos != seq) {
		struct err *e;

		d->back = seq <= d->want;
		e = seek_raw(d, seq);
		d->back = false;
		EXECUTING(d, e);
	}
	d->want = seq;
	return NULL;
}

struct err *device_run(struct device *d, uint64_t to, uint64_t addr, uint64_t size, bool *ret_hit)
{
	uint64_t slice = SLICE_FIRST;
	bool hit = false;

	if (ret_hit)
		*ret_hit = false;
	if (to > d->last)
		return outside(d, to);
	if (at_end_inside(d, to))
		return NULL;
	EXECUTING(d, heal(d));
	while (d->want < to && !hit) {
		uint64_t begin = monotonic_ms(), part = to - d->want > slice ? d->want + slice : to;

		if (d->interrupt && *d->interrupt)
			return err_new(ERR_INTERRUPTED, "interrupted at #%" PRIu64, d->want);
		EXECUTING(d, run_raw(d, part, addr, size, &hit));
		if (d->pos <= d->want) {
			device_bury(d);
			return err_new(ERR_INFERIOR,
				"the replayer was to run to #%" PRIu64 " and did not; it was ended",
				part);
		}
		d->want = d->pos;
		if (monotonic_ms() - begin < SLICE_MS)
			slice *= 4;
	}
	if (ret_hit)
		*ret_hit = hit;
	return device_finish(d);
}

/* --- memory --- */

/* To look at memory: also in the middle of a launch. */
static struct err *look(struct device *d)
{
	if ((!d->inside && !d->graph) || !d->pid)
		return heal(d);
	d->culprit = d->culprit_first = 0;
	d->error = 0;
	return NULL;
}

struct err *device_read(struct device *d, uint64_t addr, void *dst, size_t n)
{
	EXECUTING(d, look(d));
	for (size_t at = 0; at < n;) {
		struct replayer_range r = {
			.addr = addr + at, .size = n - at < PIECE ? n - at : PIECE};

		ASKING(d, CALL(d, READ, r, replayer_done));
		if (d->in.len != sizeof(struct replayer_done) + r.size) {
			device_bury(d);
			return err_new(ERR_INFERIOR,
				"the replayer answered a read of %" PRIu64
				" bytes with %zu; it was ended",
				r.size, d->in.len - sizeof(struct replayer_done));
		}
		memcpy((uint8_t *)dst + at, d->in.data + sizeof(struct replayer_done), r.size);
		at += r.size;
		d->done = d->pos;
	}
	return NULL;
}

static struct err *hash(
	struct device *d, uint32_t type, uint64_t addr, uint64_t size, struct sbt_hash *ret)
{
	struct replayer_range r = {.addr = addr, .size = size};

	EXECUTING(d, look(d));
	ASKING(d, call(d, type, &r, sizeof r, NULL, 0, sizeof(struct replayer_hash)));
	memcpy(ret, d->in.data, sizeof *ret);
	d->done = d->pos;
	return NULL;
}

struct err *device_hash(struct device *d, uint64_t addr, uint64_t size, struct sbt_hash *ret)
{
	return hash(d, REPLAYER_HASH, addr, size, ret);
}

struct err *device_hash_recorded(
	struct device *d, uint64_t addr, uint64_t size, struct sbt_hash *ret)
{
	return hash(d, REPLAYER_HASH_RECORDED, addr, size, ret);
}

/* --- what-ifs --- */

/* Sends a what-if, and remembers it for the next process. */
static struct err *edit(struct device *d, uint32_t type, const void *body, size_t n,
	const void *tail, size_t tail_n)
{
	struct device_edit *x;

	if ((d->inside || d->graph) && d->astray)
		return err_cure(err_new(ERR_STATE,
					"nothing can be changed in the middle of launch #%" PRIu64,
					d->inside ? d->inside : d->graph),
			"Finish it, or go before it");
	EXECUTING(d, heal(d));
	ASKING(d, call(d, type, body, n, tail, tail_n, sizeof(struct replayer_done)));
	MAKE_ROOM(d->edits, d->nedits, d->cap_edits);
	x = &d->edits[d->nedits++];
	*x = (struct device_edit){.at = d->want, .type = type};
	buf_add(&x->body, body, n);
	if (tail_n)
		buf_add(&x->body, tail, tail_n);
	return NULL;
}

static struct err *fits(const char *what, size_t n)
{
	if (n <= PIECE)
		return NULL;
	return err_new(ERR_LIMIT, "%s of %zu bytes is too large: at most %u", what, n, PIECE);
}

struct err *device_write(struct device *d, uint64_t addr, const void *src, size_t n)
{
	for (size_t at = 0; at < n;) {
		struct replayer_range r = {
			.addr = addr + at, .size = n - at < PIECE ? n - at : PIECE};

		TRY(edit(d, REPLAYER_WRITE, &r, sizeof r, (const uint8_t *)src + at, r.size));
		at += r.size;
		d->done = d->pos;
	}
	return NULL;
}

struct err *device_set_arg(
	struct device *d, uint64_t seq, uint32_t param, const void *src, uint32_t n)
{
	struct replayer_arg a = {.seq = seq, .param = param, .size = n};

	if (seq < d->first || seq > d->last)
		return outside(d, seq);
	TRY(fits("a parameter", n));
	return edit(d, REPLAYER_ARG, &a, sizeof a, src, n);
}

/* Forgets the earlier requests of this type. */
static void forget_type(struct device *d, uint32_t type)
{
	size_t k = 0;

	for (size_t i = 0; i < d->nedits; i++) {
		if (d->edits[i].type == type)
			buf_free(&d->edits[i].body);
		else
			d->edits[k++] = d->edits[i];
	}
	d->nedits = k;
}

/* Whether `by` takes the place of old. */
static bool is_replaced(const struct device_edit *old, const struct device_edit *by)
{
	return old->type == by->type &&
	       (old->type != REPLAYER_SWAP ||
		       !memcmp(old->body.data, by->body.data, sizeof(uint32_t))); /* the kernel */
}

/* As edit(); it takes the place of an earlier one of this type, for SWAP of this kernel. off: it
 * ends that one, and nothing has to be repeated. */
static struct err *edit_instead(struct device *d, uint32_t type, const void *body, size_t n,
	const void *tail, size_t tail_n, bool off)
{
	size_t k = 0;

	TRY(edit(d, type, body, n, tail, tail_n));
	struct device_edit last = d->edits[--d->nedits];

	for (size_t i = 0; i < d->nedits; i++) {
		if (is_replaced(&d->edits[i], &last))
			buf_free(&d->edits[i].body);
		else
			d->edits[k++] = d->edits[i];
	}
	if (off)
		buf_free(&last.body);
	else
		d->edits[k++] = last;
	d->nedits = k;
	return NULL;
}

struct err *device_edit(struct device *d, uint32_t type, const void *body, size_t n,
	const void *tail, size_t tail_n, bool off)
{
	TRY(edit_instead(d, type, body, n, tail, tail_n, off));
	d->done = d->pos;
	return NULL;
}

struct err *device_skip(struct device *d, const uint64_t *seqs, uint32_t n, bool recorded_inputs)
{
	const struct replayer_skip s = {.n = n, .recorded_inputs = recorded_inputs};

	TRY(fits("a list of commands", (size_t)n * sizeof *seqs));
	return edit_instead(d, REPLAYER_SKIP, &s, sizeof s, seqs, (size_t)n * sizeof *seqs, !n);
}

struct err *device_graph_part(struct device *d, uint64_t seq, uint32_t node, bool with)
{
	const struct replayer_graph_part g = {.seq = seq, .node = node, .with = with};

	return edit_instead(d, REPLAYER_GRAPH_PART, &g, sizeof g, NULL, 0, !seq);
}

struct err *device_swap(
	struct device *d, uint32_t kernel, enum code_kind kind, const void *code, size_t n)
{
	const struct replayer_swap s = {.kernel = kernel, .kind = kind};

	TRY(fits("code", n));
	return edit_instead(d, REPLAYER_SWAP, &s, sizeof s, code, n, !n);
}

struct err *device_forget(struct device *d)
{
	struct replayer_arg none = {0};

	forget_type(d, REPLAYER_WRITE);
	forget_type(d, REPLAYER_ARG);
	d->want = d->first - 1;
	EXECUTING(d, heal(d));
	ASKING(d, CALL(d, ARG, none, replayer_done));
	EXECUTING(d, seek_raw(d, d->want));
	return NULL;
}

bool device_what_if(const struct device *d)
{
	if (d->changed)
		return true;
	for (size_t i = 0; i < d->nedits; i++)
		if (d->edits[i].type != REPLAYER_SOFT && d->edits[i].type != REPLAYER_PROBES)
			return true;
	return false;
}

struct err *device_soft(struct device *d, const struct replayer_soft *s)
{
	TRY(edit_instead(d, REPLAYER_SOFT, s, sizeof *s, NULL, 0, false));
	d->done = d->pos;
	return NULL;
}

struct err *device_ask(struct device *d, uint32_t type, const void *body, size_t n, size_t reply)
{
	EXECUTING(d, heal(d));
	ASKING(d, call(d, type, body, n, NULL, 0, reply));
	d->done = d->pos;
	return NULL;
}

struct err *device_ask_run(
	struct device *d, uint32_t type, const void *body, size_t n, size_t reply, uint64_t to)
{
	uint64_t seq;

	EXECUTING(d, heal(d));
	d->pos = to; /* a crash is blamed on this command */
	struct err *e = call(d, type, body, n, NULL, 0, reply);
	if (e && d->error == REPLAYER_E_AGAIN) {
		err_free(e);
		d->error = 0;
		/* an order begins at the window's start, where a fresh process is */
		EXECUTING(d, type == REPLAYER_ORDER ? start(d) : heal(d));
		d->pos = to;
		e = call(d, type, body, n, NULL, 0, reply);
	}
	EXECUTING(d, e);
	memcpy(&seq, d->in.data, sizeof seq);
	if (seq < d->first - 1 || seq > to) {
		device_bury(d);
		return err_new(ERR_INFERIOR,
			"the replayer says that it is at #%" PRIu64
			", which nobody asked for; it was ended",
			seq);
	}
	d->want = d->pos = d->done = seq;
	d->astray = false;
	return NULL;
}

struct err *device_overlap(struct device *d, bool overlap)
{
	const struct replayer_overlap o = {.on = overlap};
	const unsigned flags =
		overlap ? d->flags | REPLAYER_OVERLAPS : d->flags & ~REPLAYER_OVERLAPS;

	if (flags == d->flags)
		return NULL;
	EXECUTING(d, heal(d));
	ASKING(d, CALL(d, OVERLAP, o, replayer_done));
	d->flags = flags; /* what a fresh process is opened with */
	d->astray = true;
	return NULL;
}

/* --- judging --- */

struct err *device_verify(struct device *d, struct device_verified *ret)
{
	struct replayer_seek s = {d->last};
	size_t n;

	*ret = (struct device_verified){0};
	if (d->want != d->last)
		return err_new(ERR_STATE,
			"only the window's end, #%" PRIu64
			", can be compared with the recording; this is #%" PRIu64,
			d->last, d->want);
	EXECUTING(d, heal(d));
	ASKING(d, CALL(d, VERIFY, s, replayer_verified));
	d->done = d->pos;
	memcpy(&ret->sums, d->in.data, sizeof ret->sums);
	n = (d->in.len - sizeof ret->sums) / sizeof *ret->pieces;
	ret->npieces = n < ret->sums.pieces ? n : ret->sums.pieces;
	ret->pieces = xcalloc(ret->npieces ? ret->npieces : 1, sizeof *ret->pieces);
	memcpy(ret->pieces, d->in.data + sizeof ret->sums, ret->npieces * sizeof *ret->pieces);
	return NULL;
}

void device_verified_free(struct device_verified *v)
{
	free(v->pieces);
	*v = (struct device_verified){0};
}

bool device_verified_ok(const struct device_verified *v)
{
	return v->sums.same + v->sums.unchecked + v->sums.own == v->sums.pieces &&
	       v->sums.outputs == v->sums.outputs_same + v->sums.outputs_unknown &&
	       v->sums.freed == v->sums.freed_same + v->sums.freed_own + v->sums.freed_mixed +
					v->sums.freed_unknown + v->sums.freed_heap;
}

static void print_freed(struct buf *out, const struct replayer_verified *s)
{
	if (!s->freed)
		return;
	buf_printf(out, "%s%" PRIu64 " of %" PRIu64 " freed allocations identical",
		s->pieces || s->outputs ? "\n" : "", s->freed_same, s->freed);
	if (s->freed_own)
		buf_printf(out, " (%" PRIu64 " changed by the program itself)", s->freed_own);
	if (s->freed_mixed)
		buf_printf(out,
			" (%" PRIu64 " not compared: both the program and kernels write there)",
			s->freed_mixed);
	if (s->freed_heap)
		buf_printf(out,
			" (%" PRIu64
			" not compared: kernels use the device's own heap, whose addresses are others here)",
			s->freed_heap);
	if (s->freed_unknown)
		buf_printf(out, " (%" PRIu64 " not compared: the device was still at work)",
			s->freed_unknown);
	if (s->first_freed)
		buf_printf(out,
			"\n  #%" PRIu64 " frees the first that differs: 0x%" PRIx64 ", %" PRIu64
			" bytes",
			s->first_freed, s->freed_addr, s->freed_size);
}

static void print_left(struct buf *out, const struct replayer_verified *s)
{
	buf_printf(out, "%" PRIu64 " of %" PRIu64 " allocations identical", s->same, s->pieces);
	if (s->unchecked)
		buf_printf(out, " (%" PRIu64 " not compared)", s->unchecked);
	if (s->own)
		buf_printf(out,
			" (%" PRIu64 " changed by the program itself, copies to it compared)",
			s->own);
}

void device_verified_print(struct buf *out, const struct device_verified *v)
{
	if (v->sums.pieces || v->sums.outputs || !v->sums.freed)
		print_left(out, &v->sums);
	if (v->sums.outputs)
		buf_printf(out, ", %" PRIu64 " of %" PRIu64 " outputs identical",
			v->sums.outputs_same, v->sums.outputs);
	if (v->sums.outputs_unknown)
		buf_printf(out,
			" (%" PRIu64
			" not compared: the recording could not look in time at what #%" PRIu64
			" delivered%s)",
			v->sums.outputs_unknown, v->sums.first_unknown,
			v->sums.outputs_unknown > 1 ? ", and others" : "");
	if (v->sums.first_output)
		buf_printf(out, "\n  #%" PRIu64 " is the first output that differs",
			v->sums.first_output);
	print_freed(out, &v->sums);
	if (v->sums.forced)
		buf_printf(out,
			"\n  #%" PRIu64 " waits for a value that nothing wrote in this replay: it "
			"went on when the program knew that the wait was over",
			v->sums.forced);
	for (size_t i = 0; i < v->npieces; i++) {
		const struct replayer_piece *p = &v->pieces[i];

		if (p->checked != REPLAYER_CHECKED || p->same)
			continue;
		buf_printf(out, "\n  0x%" PRIx64 ", %" PRIu64 " bytes, differs", p->addr, p->size);
		if (p->first_page != UINT64_MAX)
			buf_printf(out, " from offset %" PRIu64 " on", p->first_page * SBT_PAGE);
	}
}

struct err *device_checkpoint(struct device *d)
{
	struct replayer_seek s = {d->want};

	EXECUTING(d, heal(d));
	ASKING(d, CALL(d, CHECKPOINT, s, replayer_done));
	d->done = d->pos;
	return NULL;
}

uint64_t device_late(const struct device *d)
{
	return d->late;
}

struct err *device_kept(struct device *d, uint64_t seq, uint64_t *ret_wait, uint64_t *ret_n)
{
	struct replayer_seek s = {seq};
	struct replayer_kept k;

	if (d->astray || d->pos != d->want)
		EXECUTING(d, heal(d));
	ASKING(d, CALL(d, KEPT, s, replayer_kept));
	memcpy(&k, d->in.data, sizeof k);
	if (k.wait > seq || (k.wait && !k.n)) {
		device_bury(d);
		return err_new(ERR_INFERIOR,
			"the replayer says that #%" PRIu64 " is kept back by #%" PRIu64
			", which cannot be; it was ended",
			seq, k.wait);
	}
	*ret_wait = k.wait;
	if (ret_n)
		*ret_n = k.n;
	return NULL;
}

struct err *device_figures(struct device *d, struct replayer_figures *ret)
{
	struct replayer_none none = {0};

	EXECUTING(d, heal(d));
	ASKING(d, CALL(d, FIGURES, none, replayer_figures));
	memcpy(ret, d->in.data, sizeof *ret);
	return NULL;
}

/* --- the executor --- */

static struct err *ex_execute(void *arg, const struct sbt_cmd *c, bool wait)
{
	return device_execute(arg, c->seq, wait);
}

static struct err *ex_seek(void *arg, uint64_t seq)
{
	return device_seek(arg, seq);
}

static struct err *ex_read(void *arg, uint64_t addr, void *dst, size_t n)
{
	return device_read(arg, addr, dst, n);
}

static void ex_close(void *arg)
{
	device_close(arg);
}

static struct err *ex_run(
	void *arg, uint64_t to, uint64_t addr, uint64_t size, uint64_t *ret_seq, bool *hit)
{
	struct err *e = device_run(arg, to, addr, size, hit);

	*ret_seq = device_seq(arg);
	return e;
}

static uint64_t ex_late(void *arg)
{
	return device_late(arg);
}

static struct err *ex_kept(void *arg, uint64_t seq, uint64_t *ret_wait)
{
	return device_kept(arg, seq, ret_wait, NULL);
}

static struct err *ex_finish(void *arg)
{
	return device_finish(arg);
}

static uint64_t ex_culprit(void *arg, uint64_t *ret_first)
{
	return device_culprit(arg, ret_first);
}

static struct err *ex_node(void *arg, uint64_t seq, uint32_t step, uint32_t *ret_steps)
{
	return device_node(arg, seq, step, ret_steps);
}

struct replay_executor device_executor(struct device *d)
{
	return (struct replay_executor){.arg = d,
		.execute = ex_execute,
		.seek = ex_seek,
		.read = ex_read,
		.close = ex_close,
		.first = d->first,
		.last = d->last,
		.run = ex_run,
		.finish = ex_finish,
		.culprit = ex_culprit,
		.node = ex_node,
		.late = ex_late,
		.kept = ex_kept};
}
