/* SPDX-License-Identifier: Apache-2.0
 *
 * The recorder, see recorder.h. Surprise: the trace's file is opened at the first command, because the trace's head names the GPU and
 * only the first command (device) tells; a bad path is found earlier by recorder_arm().
 */
#include "config.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>
#include "shell/recorder.h"
#include "shell/trace.h"

enum { TAIL_MAX = 16 << 20, RECENT_MAX = 4096, STACK_IDS_MAX = 1 << 24, CALL_NAME_MAX = 128 };
#define FLUSH_EVERY_NS 700000000u

struct kept_stack {
	struct sbt_frame *frames; /* NULL: not defined, or written and not kept */
	unsigned n;
	bool written; /* into the trace that is open */
};

struct kept_code {
	uint64_t hash;
	void *bytes;
	size_t n;
	bool is_ptx;
};

struct kept_call {
	char *name;
	uint64_t n;
	bool told;
};

struct recent {
	uint8_t *bytes; /* packed, aligned to 8 */
	size_t cap, len;
};

struct recorder {
	char *program, *cwd;
	struct recorder_options o;
	struct state *state;
	uint64_t count, last_seq;

	enum recorder_mode mode;
	char *path;
	struct sbt_writer *w; /* NULL: not open (yet) */
	uint64_t first, last, commands, bytes;
	struct buf tail; /* packed commands outside the window since the last one inside: written if another one follows */
	uint64_t flushed_ns, start_ns;

	struct kept_stack *stacks; /* by id */
	size_t nstacks;
	uint32_t *modules; /* index in the trace of each host module; UINT32_MAX: none yet */
	size_t nmodules;
	struct kept_code *code;
	size_t ncode;
	struct kept_call *calls;
	unsigned ncalls;
	uint32_t epoch; /* of the last command */
	bool holds;
	struct drain_item held; /* the first command of another program */
	struct recent *recent;  /* RECENT_MAX, or NULL */
	uint64_t nrecent;
};

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* ---- life --------------------------------------------------------------------------------------------------------- */

struct recorder *recorder_new(const struct recorder_options *o)
{
	struct recorder *r = xcalloc(1, sizeof *r);

	r->o = *o;
	r->program = xstrdup(o->program ? o->program : "");
	r->cwd = xstrdup(o->cwd ? o->cwd : "");
	r->state = state_new();
	r->start_ns = clock_ns(CLOCK_REALTIME);
	if (o->keep)
		r->recent = xcalloc(RECENT_MAX, sizeof *r->recent);
	return r;
}

static void forget_kept(struct recorder *r)
{
	for (size_t i = 0; i < r->nstacks; i++)
		free(r->stacks[i].frames);
	free(r->stacks);
	for (size_t i = 0; i < r->ncode; i++)
		free(r->code[i].bytes);
	free(r->code);
	free(r->modules);
	for (unsigned i = 0; i < r->ncalls; i++)
		free(r->calls[i].name);
	free(r->calls);
	r->stacks = NULL;
	r->code = NULL;
	r->modules = NULL;
	r->calls = NULL;
	r->nstacks = r->ncode = r->nmodules = 0;
	r->ncalls = 0;
}

void recorder_free(struct recorder *r)
{
	if (!r)
		return;
	if (r->w)
		err_free(sbt_writer_close(r->w));
	forget_kept(r);
	for (unsigned i = 0; r->recent && i < RECENT_MAX; i++)
		free(r->recent[i].bytes);
	free(r->recent);
	state_free(r->state);
	buf_free(&r->tail);
	free(r->program);
	free(r->cwd);
	free(r->path);
	free(r);
}

void recorder_exec(struct recorder *r)
{
	state_free(r->state);
	r->state = state_new();
	r->nrecent = 0;
}

/* ---- the file ----------------------------------------------------------------------------------------------------- */

/* Whether a capture may be written to path. */
static struct err *check_path(const char *path)
{
	struct stat st;
	int fd;

	if (!stat(path, &st)) {
		if (S_ISDIR(st.st_mode))
			return err_cure(err_new(ERR_USAGE, "cannot write %s: it is a directory", path), "Name a file");
		if (S_ISREG(st.st_mode) && st.st_size && !trace_is(path))
			return err_cure(err_new(ERR_USAGE, "%s is there and is no trace; it is not overwritten", path), "Name another file");
		return access(path, W_OK) ? err_sys(errno, "cannot write %s", path) : NULL;
	}
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	if (fd < 0)
		return err_cure(err_sys(errno, "cannot create the trace %s", path), "Name a file in a folder that can be written");
	close(fd);
	unlink(path);
	return NULL;
}

struct err *recorder_arm(struct recorder *r, enum recorder_mode mode, const char *path)
{
	BUG_ON(r->w);
	TRY(check_path(path));
	free(r->path);
	r->path = xstrdup(path);
	buf_clear(&r->tail);
	r->mode = mode;
	r->first = r->last = r->commands = r->bytes = 0;
	return NULL;
}

enum recorder_mode recorder_mode(const struct recorder *r)
{
	return r->mode;
}

/* The device that the trace's head names: the first one known, or the one that c tells of. */
static void describe_gpu(struct recorder *r, const struct sbt_cmd *c, struct sbt_meta *m, char *name, size_t n)
{
	struct state_device d;
	struct sbt_blob b = {0};

	*name = 0;
	if (state_device(r->state, 0, &d)) {
		b = d.name;
		m->driver_version = (uint32_t)d.driver_version;
	} else if (c && c->kind == SBT_DEVICE) {
		b = c->u.device.device_name;
		m->driver_version = (uint32_t)c->u.device.driver_version;
	}
	if (b.len >= n)
		b.len = n - 1;
	if (b.len)
		memcpy(name, b.p, b.len);
	name[b.len] = 0;
	m->gpu = name;
}

/* Code that came before the capture. */
static struct err *write_kept(struct recorder *r)
{
	struct buf frame = BUF_INIT;
	struct err *e;
	uint64_t hash;

	for (size_t i = 0; i < r->ncode; i++)
		TRY(sbt_writer_code(r->w, r->code[i].bytes, r->code[i].n, r->code[i].is_ptx, &hash));
	if (!r->last_seq)
		return NULL;
	state_encode(r->state, &frame);
	e = sbt_writer_keyframe(r->w, r->last_seq, frame.data, frame.len);
	buf_free(&frame);
	return e;
}

static struct err *open_trace(struct recorder *r, const struct sbt_cmd *c)
{
	struct sbt_meta m = {.program = r->program, .cwd = r->cwd, .tsdb = PACKAGE_VERSION, .start_ns = r->start_ns,
		.pid = (uint32_t)r->o.pid, .soft = r->o.soft, .stacks = r->o.stacks, .timestamps = r->o.timestamps};
	char gpu[128], host[300] = "", *cwd = NULL;
	struct utsname u;
	struct err *e;

	if (!uname(&u))
		snprintf(host, sizeof host, "%s %s", u.nodename, u.release);
	m.host = host;
	if (!*r->cwd)
		m.cwd = cwd = getcwd(NULL, 0);
	if (!m.cwd)
		m.cwd = "";
	describe_gpu(r, c, &m, gpu, sizeof gpu);
	e = sbt_writer_open(&r->w, r->path, &m);
	free(cwd);
	if (e) {
		r->w = NULL;
		return e;
	}
	for (size_t i = 0; i < r->nstacks; i++)
		r->stacks[i].written = false;
	for (size_t i = 0; i < r->nmodules; i++)
		r->modules[i] = UINT32_MAX;
	r->flushed_ns = clock_ns(CLOCK_MONOTONIC);
	return write_kept(r);
}

/* The capture ends because writing failed; e says why. */
static struct err *give_up(struct recorder *r, struct err *e)
{
	if (r->w)
		err_free(sbt_writer_close(r->w));
	r->w = NULL;
	r->mode = RECORDER_OFF;
	return err_cure(err_wrap(e, "the capture has ended at #%llu", (unsigned long long)r->last),
		"The program goes on; what is in %s so far can be read", r->path);
}

/* ---- stacks and code ---------------------------------------------------------------------------------------------- */

static void keep_stack(struct recorder *r, uint32_t id, const struct sbt_frame *frames, unsigned n)
{
	struct kept_stack *k;

	if (!id || id >= STACK_IDS_MAX)
		return;
	if (id >= r->nstacks) {
		size_t want = (size_t)id * 2 + 64;

		r->stacks = xrealloc(r->stacks, want * sizeof *r->stacks);
		memset(r->stacks + r->nstacks, 0, (want - r->nstacks) * sizeof *r->stacks);
		r->nstacks = want;
	}
	k = &r->stacks[id];
	if (k->frames || k->written)
		return;
	k->frames = xmalloc((n ? n : 1) * sizeof *frames);
	if (n)
		memcpy(k->frames, frames, n * sizeof *frames);
	k->n = n;
}

/* The trace's index of a host module. */
static struct err *module_index(struct recorder *r, struct inferior *inf, uint32_t module, uint32_t *ret)
{
	struct sbt_host_module m;

	if (module >= r->nmodules) {
		size_t want = (size_t)module + 64;

		r->modules = xrealloc(r->modules, want * sizeof *r->modules);
		memset(r->modules + r->nmodules, 0xff, (want - r->nmodules) * sizeof *r->modules);
		r->nmodules = want;
	}
	if (r->modules[module] == UINT32_MAX) {
		if (!drain_module(inf, module, &m))
			m = (struct sbt_host_module){.path = "?", .build_id = ""};
		TRY(sbt_writer_module(r->w, m.path, m.build_id, &r->modules[module]));
	}
	*ret = r->modules[module];
	return NULL;
}

static struct err *write_stack(struct recorder *r, struct inferior *inf, uint32_t id)
{
	struct kept_stack *k;
	struct sbt_frame *frames;
	struct err *e = NULL;

	if (!id || id >= r->nstacks || r->stacks[id].written || !r->stacks[id].frames)
		return NULL;
	k = &r->stacks[id];
	frames = xmalloc((k->n ? k->n : 1) * sizeof *frames);
	memcpy(frames, k->frames, k->n * sizeof *frames);
	for (unsigned i = 0; !e && i < k->n; i++) {
		if (frames[i].module != SBT_NO_ID)
			e = module_index(r, inf, frames[i].module, &frames[i].module);
	}
	if (!e)
		e = sbt_writer_stack(r->w, id, frames, k->n);
	free(frames);
	k->written = true;
	if (!r->o.keep) {
		free(k->frames);
		k->frames = NULL;
	}
	return e;
}

static struct err *take_code(struct recorder *r, const struct drain_item *it)
{
	uint64_t hash;
	struct kept_code *k;

	if (r->w)
		TRY(sbt_writer_code(r->w, it->code, it->code_size, it->is_ptx, &hash));
	if (!r->o.keep && r->w)
		return NULL;
	for (size_t i = 0; i < r->ncode; i++) {
		if (r->code[i].hash == it->hash)
			return NULL;
	}
	r->code = xrealloc(r->code, (r->ncode + 1) * sizeof *r->code);
	k = &r->code[r->ncode++];
	*k = (struct kept_code){.hash = it->hash, .bytes = xmalloc(it->code_size ? it->code_size : 1), .n = it->code_size,
		.is_ptx = it->is_ptx};
	memcpy(k->bytes, it->code, it->code_size);
	return NULL;
}

/* ---- commands ----------------------------------------------------------------------------------------------------- */

static void count_call(struct recorder *r, const struct sbt_blob *name)
{
	size_t n = name->len < CALL_NAME_MAX ? (size_t)name->len : CALL_NAME_MAX;

	for (unsigned i = 0; i < r->ncalls; i++) {
		if (strlen(r->calls[i].name) == n && !memcmp(r->calls[i].name, name->p, n)) {
			r->calls[i].n++;
			return;
		}
	}
	r->calls = xrealloc(r->calls, (r->ncalls + 1) * sizeof *r->calls);
	r->calls[r->ncalls++] = (struct kept_call){.name = xasprintf("%.*s", (int)n, (const char *)name->p), .n = 1};
}

static void keep_recent(struct recorder *r, const struct sbt_cmd *c)
{
	struct recent *slot;
	size_t n;

	if (!r->recent)
		return;
	slot = &r->recent[r->nrecent++ % RECENT_MAX];
	n = sbt_pack_size(c);
	if (n > slot->cap) {
		slot->bytes = xrealloc(slot->bytes, n);
		slot->cap = n;
	}
	sbt_pack(slot->bytes, c);
	slot->len = n;
}

/* What becomes of a command. */
enum fate {
	FATE_SKIP,
	FATE_WRITE,
	FATE_KEEP, /* a window is open, but c is not in it: another thread's, in flight when it opened, or the window is over */
};

static enum fate fate_of(const struct recorder *r, const struct sbt_cmd *c)
{
	if (r->mode == RECORDER_ALL || (r->mode == RECORDER_WINDOW && (c->flags & SBT_F_WINDOW)))
		return FATE_WRITE;
	return r->mode == RECORDER_WINDOW && r->w ? FATE_KEEP : FATE_SKIP;
}

static struct err *write_cmd(struct recorder *r, struct inferior *inf, const struct sbt_cmd *c)
{
	TRY(write_stack(r, inf, c->stack));
	TRY(sbt_writer_cmd(r->w, c));
	if (!r->first)
		r->first = c->seq;
	r->last = c->seq;
	r->commands++;
	return NULL;
}

static void keep_tail(struct recorder *r, const struct sbt_cmd *c)
{
	size_t n = sbt_pack_size(c);

	if (r->tail.len + n > TAIL_MAX)
		return; /* the window was over long ago */
	sbt_pack(buf_room(&r->tail, n), c); /* sizes are multiples of 8, so each one is aligned */
	r->tail.len += n;
}

/* Writes the tail's commands up to seq last. */
static struct err *write_tail(struct recorder *r, struct inferior *inf, uint64_t last)
{
	size_t at = 0, n;
	struct sbt_cmd c;

	while (at < r->tail.len) {
		n = sbt_unpack(&c, r->tail.data + at, r->tail.len - at);
		BUG_ON(!n);
		at += n;
		if (c.seq <= last)
			TRY(write_cmd(r, inf, &c));
	}
	buf_clear(&r->tail);
	return NULL;
}

/* What has to be in the trace before c: the trace itself, what lies between, a keyframe when one is due. */
static struct err *before_cmd(struct recorder *r, struct inferior *inf, const struct sbt_cmd *c)
{
	struct buf frame = BUF_INIT;
	struct err *e;

	if (!r->w)
		return open_trace(r, c);
	TRY(write_tail(r, inf, UINT64_MAX));
	if (!r->commands || sbt_writer_since_keyframe(r->w) < state_keyframe_every(r->state))
		return NULL;
	state_encode(r->state, &frame);
	e = sbt_writer_keyframe(r->w, r->last_seq, frame.data, frame.len);
	buf_free(&frame);
	return e;
}

static struct err *take_cmd(struct recorder *r, struct inferior *inf, const struct sbt_cmd *c)
{
	enum fate fate = fate_of(r, c);
	struct err *e;

	if (c->seq <= r->last_seq)
		return NULL; /* the rings promise order; nothing downstream could use this one */
	if (fate == FATE_WRITE) {
		e = before_cmd(r, inf, c);
		if (e)
			return give_up(r, e);
	}
	e = state_apply(r->state, c);
	if (e) { /* no trace can hold it */
		err_free(e);
		return NULL;
	}
	r->last_seq = c->seq;
	if (c->kind == SBT_UNREPLAYABLE)
		count_call(r, &c->u.unreplayable.call);
	if (!(c->flags & SBT_F_SYNTHETIC) && c->kind != SBT_DEVICE && c->kind != SBT_THREAD)
		r->count++;
	keep_recent(r, c);
	if (fate == FATE_KEEP)
		keep_tail(r, c);
	if (fate == FATE_WRITE) {
		e = write_cmd(r, inf, c);
		if (e)
			return give_up(r, e);
	}
	return NULL;
}

static struct err *take_item(struct recorder *r, struct inferior *inf, const struct drain_item *it)
{
	struct err *e = NULL;

	switch (it->kind) {
	case DRAIN_CMD:
		return take_cmd(r, inf, &it->cmd);
	case DRAIN_STACK:
		if (r->mode != RECORDER_OFF || r->o.keep)
			keep_stack(r, it->stack, it->frames, it->n);
		return NULL;
	case DRAIN_TIME:
		if (r->w && it->seq && it->seq >= r->first && it->seq <= r->last)
			e = sbt_writer_time(r->w, it->seq, it->start_ns, it->end_ns);
		break;
	case DRAIN_CODE:
		if (r->mode != RECORDER_OFF || r->o.keep)
			e = take_code(r, it);
		break;
	case DRAIN_NONE:
		break;
	}
	return e ? give_up(r, e) : NULL;
}

/* Whether the next item begins another program's commands; it is held then. */
static bool is_exec(struct recorder *r, const struct drain_item *it)
{
	if (it->kind != DRAIN_CMD || it->epoch == r->epoch)
		return false;
	r->epoch = it->epoch;
	r->held = *it; /* what it points to lives until the next drain_next() */
	r->holds = true;
	return true;
}

struct err *recorder_drain(struct recorder *r, struct inferior *inf, bool final, unsigned most, enum recorder_turn *ret)
{
	struct drain_item it;

	*ret = RECORDER_DONE;
	if (r->holds) {
		r->holds = false;
		TRY(take_item(r, inf, &r->held));
	}
	for (unsigned n = 0; !most || n < most; n++) {
		TRY(drain_next(inf, final, &it));
		if (it.kind == DRAIN_NONE)
			return NULL;
		if (is_exec(r, &it)) {
			*ret = RECORDER_EXEC;
			return NULL;
		}
		TRY(take_item(r, inf, &it));
	}
	*ret = RECORDER_MORE;
	return NULL;
}

struct err *recorder_tick(struct recorder *r)
{
	struct err *e;
	uint64_t now;

	if (!r->w)
		return NULL;
	now = clock_ns(CLOCK_MONOTONIC);
	if (now - r->flushed_ns < FLUSH_EVERY_NS)
		return NULL;
	r->flushed_ns = now;
	e = sbt_writer_flush(r->w);
	return e ? give_up(r, e) : NULL;
}

/* ---- the end ------------------------------------------------------------------------------------------------------ */

bool recorder_capture(const struct recorder *r, struct recorder_capture *ret)
{
	if (r->mode == RECORDER_OFF)
		return false;
	*ret = (struct recorder_capture){.path = r->path, .first = r->first, .last = r->last, .commands = r->commands,
		.bytes = r->w ? sbt_writer_bytes(r->w) : 0};
	return true;
}

static struct err *write_end(struct recorder *r, uint64_t lost)
{
	for (unsigned i = 0; i < r->ncalls; i++)
		TRY(sbt_writer_unreplayable(r->w, r->calls[i].name, r->calls[i].n));
	if (lost)
		TRY(sbt_writer_lost(r->w, r->last_seq, lost));
	return NULL;
}

struct err *recorder_close_window(struct recorder *r, struct inferior *inf, uint64_t last)
{
	struct err *e = r->w ? write_tail(r, inf, last) : NULL;

	return e ? give_up(r, e) : NULL;
}

struct err *recorder_end(struct recorder *r, uint64_t lost, bool always, struct recorder_capture *ret)
{
	struct err *e = NULL, *closing;
	struct stat st;

	memset(ret, 0, sizeof *ret);
	if (r->mode == RECORDER_OFF)
		return NULL;
	if (!r->w && always)
		e = open_trace(r, NULL);
	if (!e && r->w)
		e = write_end(r, lost);
	if (r->w) {
		closing = sbt_writer_close(r->w);
		r->w = NULL;
		if (e)
			err_free(closing);
		else
			e = closing;
	}
	r->mode = RECORDER_OFF;
	*ret = (struct recorder_capture){.path = r->path, .first = r->first, .last = r->last, .commands = r->commands};
	if (!stat(r->path, &st))
		ret->bytes = (uint64_t)st.st_size;
	return e ? err_cure(err_wrap(e, "the capture's end could not be written"), "What is in %s so far can be read", r->path) : NULL;
}

/* ---- looking ------------------------------------------------------------------------------------------------------ */

struct state *recorder_state(struct recorder *r)
{
	return r->state;
}

uint64_t recorder_count(const struct recorder *r)
{
	return r->count;
}

uint64_t recorder_last_seq(const struct recorder *r)
{
	return r->last_seq;
}

bool recorder_recent(const struct recorder *r, unsigned age, struct sbt_cmd *ret)
{
	const struct recent *slot;

	if (!r->recent || age >= RECENT_MAX || age >= r->nrecent)
		return false;
	slot = &r->recent[(r->nrecent - 1 - age) % RECENT_MAX];
	return sbt_unpack(ret, slot->bytes, slot->len) != 0;
}

bool recorder_unreplayable(struct recorder *r, unsigned i, const char **ret_call, uint64_t *ret_n, bool *ret_new)
{
	if (i >= r->ncalls)
		return false;
	*ret_call = r->calls[i].name;
	*ret_n = r->calls[i].n;
	*ret_new = !r->calls[i].told;
	r->calls[i].told = true;
	return true;
}
