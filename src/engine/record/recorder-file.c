/* SPDX-License-Identifier: Apache-2.0
 *
 * The recorder's file, see recorder.h: from its creation to its end. Surprise: it is opened at the
 * first command or the first memory that comes, because the trace's head names the GPU, which only
 * the first command (device) gives. recorder_arm() reports a bad path earlier.
 */
#include "config.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>
#include "base/file.h"
#include "engine/record/recorder-inside.h"
#include "engine/trace-file.h"
#include "sbt/vendor.h"

struct err *recorder_check_path(const char *path)
{
	struct stat st;

	if (!stat(path, &st) && S_ISREG(st.st_mode) && st.st_size && !trace_is(path))
		return err_cure(err_new(ERR_USAGE,
					"%s is there and is no trace; it is not overwritten", path),
			"Name another file");
	return file_can_create(path);
}

struct err *recorder_arm(
	struct recorder *r, enum recorder_mode mode, const char *path, uint64_t from)
{
	BUG_ON(r->w);
	TRY(recorder_check_path(path));
	free(r->path);
	r->path = xstrdup(path);
	buf_clear(&r->tail);
	r->mode = mode;
	r->from = from;
	r->first = r->last = r->commands = r->bytes = 0;
	r->memory.figures = (struct sbt_memory_figures){0};
	r->memory.last = 0;
	r->memory.lacks = r->memory.ending = r->memory.no_end = false;
	recorder_keep_earlier(r);
	return NULL;
}

/* The device that the trace's head names: the first one known, or the one in c. */
static void describe_gpu(
	struct recorder *r, const struct sbt_cmd *c, struct sbt_meta *m, char *name, size_t n)
{
	struct state_device d;
	struct sbt_blob b = {0};

	*name = 0;
	if (state_device(r->state, 0, &d)) {
		b = d.name;
		m->soft = d.soft; /* tsdb may not have known when it attached */
		m->driver_version = (uint32_t)d.driver_version;
	} else if (c && c->kind == SBT_DEVICE) {
		b = c->u.device.device_name;
		m->soft = c->u.device.soft;
		m->driver_version = (uint32_t)c->u.device.driver_version;
	}
	if (b.len >= n)
		b.len = n - 1;
	if (b.len)
		memcpy(name, b.p, b.len);
	name[b.len] = 0;
	m->gpu = name;
	if (*name)
		m->vendor = sbt_version_is_hip(m->driver_version) ? SBT_AMD : SBT_NVIDIA;
	m->target = r->target;
}

void recorder_learn_target(struct recorder *r, const struct sbt_cmd *c)
{
	const size_t n = c->u.device.device_target.len;

	if (c->u.device.device || n >= sizeof r->target)
		return;
	if (n)
		memcpy(r->target, c->u.device.device_target.p, n);
	r->target[n] = 0;
}

/* Writes code that was loaded before the capture. */
static struct err *write_code(struct recorder *r)
{
	uint64_t hash;

	for (size_t i = 0; i < r->ncode; i++)
		TRY(sbt_writer_code(r->w, r->code[i].bytes, r->code[i].n, r->code[i].kind, &hash));
	return NULL;
}

struct err *recorder_keyframe(struct recorder *r)
{
	struct buf frame = BUF_INIT;
	struct err *e;

	if (!r->last_seq)
		return NULL;
	state_encode(r->state, &frame);
	e = sbt_writer_keyframe(r->w, r->last_seq, frame.data, frame.len);
	buf_free(&frame);
	return e;
}

/* Opens the trace, or writes its head again. */
static struct err *write_head(struct recorder *r, const struct sbt_cmd *c)
{
	struct sbt_meta m = {.program = r->program,
		.cwd = r->cwd,
		.tsdb = PACKAGE_VERSION,
		.start_ns = r->start_ns,
		.pid = (uint32_t)r->o.pid,
		.rank = (uint64_t)(r->o.rank + 1),
		.ranks = (uint64_t)(r->o.ranks + 1),
		.soft = r->o.soft,
		.stacks = r->o.stacks,
		.timestamps = r->o.timestamps};
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
	r->device_known = *gpu;
	e = r->w ? sbt_writer_meta(r->w, &m) : sbt_writer_open(&r->w, r->path, &m);
	free(cwd);
	return e;
}

struct err *recorder_device(struct recorder *r, const struct sbt_cmd *c)
{
	struct state_device d;

	if (r->device_known || (c->kind != SBT_DEVICE && !state_device(r->state, 0, &d)))
		return NULL;
	return write_head(r, c);
}

struct err *recorder_open(struct recorder *r, const struct sbt_cmd *c)
{
	struct err *e = write_head(r, c);

	if (e) {
		r->w = NULL;
		return e;
	}
	for (size_t i = 0; i < r->nstacks; i++)
		r->stacks[i].written = false;
	recorder_symbols_free(r);
	for (size_t i = 0; i < r->nmodules; i++)
		r->modules[i] = UINT32_MAX;
	for (size_t i = 0; i < r->nplaces; i++)
		r->places[i] = UINT32_MAX;
	r->flushed_ns = recorder_clock_ns(CLOCK_MONOTONIC);
	TRY(recorder_use_earlier(r));
	return write_code(r);
}

struct err *recorder_give_up(struct recorder *r, struct err *e)
{
	if (r->w)
		err_free(sbt_writer_close(r->w));
	r->w = NULL;
	r->mode = RECORDER_OFF;
	return err_cure(err_wrap(e, "the capture has ended at #%llu", (unsigned long long)r->last),
		"The program goes on; what is in %s so far can be read", r->path);
}

bool recorder_capture(struct recorder *r, struct recorder_capture *ret)
{
	if (r->mode == RECORDER_OFF)
		return false;
	if (r->w)
		sbt_writer_memory_figures(r->w, &r->memory.figures);
	*ret = (struct recorder_capture){.path = r->path,
		.first = r->first,
		.last = r->last,
		.commands = r->commands,
		.bytes = r->w ? sbt_writer_bytes(r->w) : 0,
		.memory = r->memory.figures.bytes,
		.memory_stored = r->memory.figures.bytes_stored,
		.memory_lacks = r->memory.lacks};
	return true;
}

static struct err *write_end(struct recorder *r, uint64_t lost)
{
	TRY(recorder_end_memory(r));
	for (unsigned i = 0; i < r->ncalls; i++)
		TRY(sbt_writer_unreplayable(r->w, r->calls[i].name, r->calls[i].n));
	if (lost)
		TRY(sbt_writer_lost(r->w, r->last_seq, lost));
	return recorder_symbols_write(r);
}

/* Opens the trace, if it is not open, when its commands still wait: its keyframe is of the state
 * known so far. */
static struct err *begin_late(struct recorder *r)
{
	if (!r->w)
		TRY(recorder_open(r, NULL));
	return recorder_keyframe(r);
}

static struct err *write_rest(
	struct recorder *r, struct inferior *inf, uint64_t last, uint64_t known)
{
	const uint64_t end = last > known ? last : known;
	struct drain_item it;

	TRY(recorder_write_tail(r, inf, last, known));
	if (r->holds) /* all waiting commands are another program's */
		return NULL;
	for (uint64_t after = r->last_seq;
		drain_peek(inf, after, &it) && it.cmd.seq <= end && it.epoch == r->epoch;
		after = it.cmd.seq) {
		if (!r->commands && r->mode != RECORDER_ALL)
			break;
		if (!r->commands)
			TRY(begin_late(r));
		TRY(recorder_write_to(r, inf, &it.cmd, last, known));
	}
	return NULL;
}

struct err *recorder_close(struct recorder *r, struct inferior *inf, uint64_t last, uint64_t known)
{
	struct err *e = r->mode == RECORDER_OFF ? NULL : write_rest(r, inf, last, known);

	return e ? recorder_give_up(r, e) : NULL;
}

struct err *recorder_end(
	struct recorder *r, uint64_t lost, bool always, struct recorder_capture *ret)
{
	struct err *e = NULL, *closing;
	bool unwanted;
	struct stat st;

	memset(ret, 0, sizeof *ret);
	if (r->mode == RECORDER_OFF)
		return NULL;
	if (!r->w && always)
		e = recorder_open(r, NULL);
	unwanted = r->w && !r->commands && !always; /* memory came, but no command */
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
	if (unwanted)
		unlink(r->path);
	*ret = (struct recorder_capture){.path = r->path,
		.first = r->first,
		.last = r->last,
		.commands = r->commands,
		.memory = r->memory.figures.bytes,
		.memory_stored = r->memory.figures.bytes_stored,
		.memory_lacks = r->memory.lacks,
		.memory_no_end = r->memory.no_end};
	if (!e && r->commands && !r->memory.lacks && r->memory.figures.bytes) {
		free(r->memory.whole);
		r->memory.whole = xstrdup(r->path);
	}
	if (!stat(r->path, &st))
		ret->bytes = (uint64_t)st.st_size;
	return e ? err_cure(err_wrap(e, "the capture's end could not be written"),
			   "What is in %s so far can be read", r->path)
		 : NULL;
}
