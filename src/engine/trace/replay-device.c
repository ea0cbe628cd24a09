/* SPDX-License-Identifier: Apache-2.0
 *
 * The device under a replay, see replay-device.h.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "sbt/memory.h"
#include "sbt/vendor.h"
#include "engine/parts.h"
#include "engine/graph-steps.h"
#include "engine/replay-device.h"
#include "replay/device-kernel.h"
#include "engine/soft-settings.h"

enum { REPLY_S = 300 }; /* what one reply of the replayer may take by default */

/* --- choosing --- */

struct err *replay_on_parse(const char *word, enum replay_on *ret)
{
	static const char *const names[] = {"auto", "soft", "real", "none", "soft-amd"};

	for (unsigned i = 0; i < sizeof names / sizeof *names; i++) {
		if (!strcmp(word, names[i])) {
			*ret = (enum replay_on)i;
			return NULL;
		}
	}
	return err_cure(err_new(ERR_USAGE, "--on %s is no device", word),
		"It is auto, soft, soft-amd, real or none");
}

struct err *replay_order_parse(const char *word, bool *ret_overlap)
{
	*ret_overlap = !strcmp(word, "concurrent");
	return *ret_overlap || !strcmp(word, "fixed")
		       ? NULL
		       : err_cure(err_new(ERR_USAGE, "--order %s is no order", word),
				 "It is fixed, concurrent, or for a whole window started");
}

struct err *replay_device_order(struct engine *en)
{
	return en->trace.device
		       ? device_overlap(en->trace.device->d, en->set.number[SET_REPLAY_ORDER] != 0)
		       : NULL;
}

struct replay_choice replay_choice_default(const struct engine *en)
{
	return (struct replay_choice){.on = (enum replay_on)en->set.number[SET_REPLAY_DEVICE],
		.overlap = en->set.number[SET_REPLAY_ORDER] != 0};
}

enum { GPU_AUTO, GPU_SOFT, GPU_REAL, GPU_SOFT_AMD }; /* the values of `set gpu` */

/* HIP traces have the software AMD GPU alone. */
static struct err *choose_for_hip(const struct engine *en, enum replay_on on)
{
	const uint64_t gpu = en->set.number[SET_GPU];

	if (on == REPLAY_ON_SOFT || on == REPLAY_ON_SOFT_AMD ||
		(on == REPLAY_ON_AUTO && (gpu == GPU_AUTO || gpu == GPU_SOFT_AMD)))
		return NULL;
	return err_cure(
		err_new(ERR_UNSUPPORTED,
			"%s is of a HIP program, and those are replayed on the software AMD GPU alone so far",
			en->trace.path),
		"`--on soft` takes it; `--on none` replays the state without executing anything");
}

/* Chooses the kind of device: without a choice for replays it is that of `--gpu`, else the one the
 * trace was recorded on. */
static struct err *choose_soft(
	const struct engine *en, const struct sbt_meta *meta, enum replay_on on, bool *ret)
{
	uint64_t gpu = en->set.number[SET_GPU];

	*ret = true;
	if (sbt_meta_is_hip(meta))
		return choose_for_hip(en, on);
	if (on == REPLAY_ON_SOFT_AMD || (on == REPLAY_ON_AUTO && gpu == GPU_SOFT_AMD))
		return err_cure(
			err_new(ERR_UNSUPPORTED,
				"%s is of a CUDA program, and the software AMD GPU cannot execute its code",
				en->trace.path),
			"`--on soft` takes the software NVIDIA GPU");
	*ret = on == REPLAY_ON_SOFT ||
	       (on == REPLAY_ON_AUTO && (gpu == GPU_AUTO ? meta->soft : gpu == GPU_SOFT));
	if (*ret || gpu_has_driver())
		return NULL;
	return err_cure(
		err_new(ERR_STATE,
			"the trace was recorded on %s, and there is no NVIDIA driver on this machine",
			meta->gpu && *meta->gpu ? meta->gpu : "an NVIDIA GPU"),
		"`--on soft` tries the software GPU, which runs what the trace has PTX of");
}

static struct err *find_window(
	const struct engine *en, unsigned i, uint64_t *ret_first, uint64_t *ret_last)
{
	unsigned n = 0;

	if (sbt_reader_window(en->trace.reader, i, ret_first, ret_last))
		return NULL;
	while (sbt_reader_window(en->trace.reader, n, ret_first, ret_last))
		n++;
	if (n)
		return err_cure(
			err_new(ERR_NOT_FOUND, "the trace has %u window%s", n, n == 1 ? "" : "s"),
			"They are numbered from 1");
	if (sbt_reader_meta(en->trace.reader)->observed)
		return err_cure(
			err_new(ERR_INCOMPLETE,
				"%s was observed from outside: it holds no memory contents and no code, so its commands cannot be executed again",
				en->trace.path),
			"`tsdb record` makes a trace that can be");
	return err_cure(
		err_new(ERR_INCOMPLETE,
			"%s holds no memory contents, so its commands cannot be executed again",
			en->trace.path),
		"Record it with memory: `tsdb record --memory all`, or `set capture memory all` "
		"before `capture start`");
}

struct err *replay_device_check(const struct engine *en, const struct replay_choice *c)
{
	uint64_t first, last;
	bool soft;

	TRY(find_window(en, c->window, &first, &last));
	return choose_soft(en, sbt_reader_meta(en->trace.reader), c->on, &soft);
}

/* --- progress --- */

static void show_progress(void *arg, const struct device_progress *dp)
{
	static const char *const doing[] = {[DEVICE_OPENING] = "preparing the device for command",
		[DEVICE_EXECUTING] = "executed again up to command",
		[DEVICE_GOING] = "going to command"};
	const struct engine *en = arg;
	char what[80];
	struct engine_progress p = {.what = doing[dp->doing], .done = dp->seq, .moving = true};

	/* other work has a measure of its own, of which this is a part */
	if (dp->total && en->trace.device && en->trace.device->moves) {
		snprintf(what, sizeof what, "%s %" PRIu64 ",", p.what, dp->seq);
		p.what = what;
		p.done = dp->done;
		p.total = dp->total;
	}
	en->hooks.progress(en->hooks.arg, &p);
}

/* --- open, close --- */

/* The folder of the software GPU; NULL: it is not installed. */
static char *soft_dir(bool hip)
{
	return hip ? gpu_soft_amd_dir() : gpu_soft_dir_for_replay();
}

/* "gfx90a" of "gfx90a:sramecc+:xnack-"; NULL: the trace does not say it. */
static char *amd_target(const struct sbt_meta *meta)
{
	return meta->target && *meta->target
		       ? xasprintf("%.*s", (int)strcspn(meta->target, ":"), meta->target)
		       : NULL;
}

static const char *device_name(bool soft, bool hip)
{
	return hip ? "the software AMD GPU" : soft ? "the software GPU" : "the machine's GPU";
}

static void note_undone(void *arg, uint64_t seq)
{
	struct engine *en = arg;
	struct replay_device *rd = en->trace.device;
	const struct soft_stop *inside;
	char text[96];

	if (!rd)
		return;
	rd->what_if = rd->nswapped || rd->nargs || device_what_if(rd->d);
	inside = device_kernel_stop(rd->d);
	if (!en->hooks.note || (inside && inside->seq == seq)) /* who looks there says it */
		return;
	snprintf(text, sizeof text,
		"What was set in #%" PRIu64 " is undone: it executes as recorded.", seq);
	en->hooks.note(en->hooks.arg, text);
}

/* Of the replayer that a choice asks for; soft: it is one of the software GPUs. */
static unsigned device_flags(const struct replay_choice *c, const struct sbt_meta *meta, bool soft)
{
	/* a choice that names another kind of device than the recording's is deliberate */
	const bool any = c->any_device || (c->on != REPLAY_ON_AUTO && soft != meta->soft);

	return (c->touched ? REPLAYER_TOUCHED : 0) | (c->overlap ? REPLAYER_OVERLAPS : 0) |
	       (any ? REPLAYER_ANY_DEVICE : 0) | (sbt_meta_is_hip(meta) ? REPLAYER_HIP : 0);
}

/* The replayer's path, and the software GPU's folder if it is to be one: heap strings. */
static struct err *find_parts(bool soft, bool hip, char **ret_replayer, char **ret_softgpu)
{
	*ret_softgpu = NULL;
	*ret_replayer = gpu_replayer_path();
	if (!*ret_replayer)
		return err_cure(
			err_new(ERR_UNSUPPORTED,
				"tsdb-replayer is not installed, so commands cannot be executed again"),
			"Build tsdb where the CUDA toolkit's headers are");
	if (!soft || (*ret_softgpu = soft_dir(hip)))
		return NULL;
	free(*ret_replayer);
	return err_cure(err_new(ERR_UNSUPPORTED, "%s is not installed", device_name(soft, hip)),
		"\"tsdb doctor\" says more");
}

struct err *replay_device_open(
	struct engine *en, const struct replay_choice *c, struct replay_device **ret)
{
	const struct sbt_meta *meta = sbt_reader_meta(en->trace.reader);
	struct device_options o = {.trace = en->trace.path,
		.interrupt = en->cancel,
		.progress = c->quiet || !en->hooks.progress ? NULL : show_progress,
		.progress_arg = en,
		.said = c->nprobes ? NULL : en->hooks.said,
		.said_arg = en->hooks.arg,
		.undone = c->quiet ? NULL : note_undone,
		.undone_arg = en,
		.probes = c->probes,
		.nprobes = c->nprobes};
	const bool hip = sbt_meta_is_hip(meta);
	char *replayer, *softgpu, *target;
	struct device *d;
	struct err *e;
	bool soft;

	*ret = NULL;
	TRY(find_window(en, c->window, &o.first, &o.last));
	TRY(choose_soft(en, meta, c->on, &soft));
	TRY(find_parts(soft, hip, &replayer, &softgpu));
	o.replayer = replayer;
	o.softgpu = softgpu;
	o.amd_target = target = hip ? amd_target(meta) : NULL;
	o.flags = device_flags(c, meta, soft);
	o.no_sandbox = c->no_sandbox || !en->set.number[SET_REPLAY_SANDBOX];
	o.limit_s = (unsigned)en->set.number[SET_REPLAY_TIMEOUT];
	o.timeout_s = o.limit_s > REPLY_S / 5 ? o.limit_s * 5 : 0;
	if (en->hooks.executes)
		en->hooks.executes(en->hooks.arg, o.no_sandbox);
	e = device_open(&d, &o);
	free(replayer);
	free(softgpu);
	free(target);
	if (e)
		return err_wrap(e, "cannot replay %s on %s", en->trace.path,
			soft ? device_name(soft, hip) : "the GPU");
	*ret = xcalloc(1, sizeof **ret);
	**ret = (struct replay_device){.d = d,
		.number = ++en->replays,
		.first = o.first,
		.last = o.last,
		.choice = *c,
		.soft = soft,
		.hip = hip,
		.watches = soft,
		.shows = soft};
	return NULL;
}

void replay_device_free(struct replay_device *rd)
{
	if (!rd)
		return;
	free(rd->args);
	free(rd->swapped);
	kernel_prints_free(rd->prints);
	free(rd);
}

const char *replay_device_name(const struct replay_device *rd)
{
	return device_name(rd->soft, rd->hip);
}

struct err *replay_device_need(struct engine *en, const char *what, struct replay_device **ret)
{
	uint64_t first, last;

	*ret = en->trace.device;
	if (*ret)
		return NULL;
	if (!en->trace.reader)
		return err_cure(err_new(ERR_STATE, "%s needs a replay on a device", what),
			"Use \"replay start FILE\"");
	TRY(find_window(en, 0, &first, &last));
	return err_cure(
		err_new(ERR_STATE,
			"%s needs a replay on a device; this one replays the state alone", what),
		"Use \"replay start --on soft\" or \"replay start --on real\"");
}

struct err *replay_device_lacks(const struct replay_device *rd, const char *what)
{
	if (rd->hip)
		return err_new(ERR_UNSUPPORTED,
			"%s the software NVIDIA GPU: the software AMD GPU does not have that yet",
			what);
	return err_cure(err_new(ERR_UNSUPPORTED, "%s the software GPU", what),
		"Use \"replay start --on soft\"");
}

void replay_device_fault(const struct replay_device *rd, struct buf *out)
{
	const struct device_fault f = device_info(rd->d).fault;

	if (!f.told)
		return;
	if (!f.first)
		buf_str(out, "A command before the window faulted in the recording");
	else if (f.first == f.last)
		buf_printf(out, "#%" PRIu64 " faulted in the recording and does not here", f.first);
	else
		buf_printf(out,
			"A command of #%" PRIu64 " to #%" PRIu64
			" faulted in the recording, and none does here",
			f.first, f.last);
	buf_printf(out, " (%s error %u, told to the program by #%" PRIu64 ").\n",
		rd->hip ? "HIP" : "CUDA", f.code, f.told);
}

void replay_device_notes(const struct replay_device *rd, const char *indent, struct buf *out)
{
	const char *p = device_info(rd->d).notes;

	while (p && *p) {
		int n = (int)strcspn(p, "\n");

		if (n)
			buf_printf(out, "%s%.*s\n", indent, n, p);
		p += n;
		p += *p == '\n';
	}
}

/* --- what-ifs --- */

struct err *replay_device_restore(struct replay_device *rd)
{
	for (; rd->nswapped; rd->nswapped--)
		TRY(device_swap(rd->d, rd->swapped[rd->nswapped - 1], CODE_UNKNOWN, NULL, 0));
	if (rd->partial)
		TRY(device_skip(rd->d, NULL, 0, false));
	TRY(device_forget(rd->d));
	rd->nargs = 0;
	rd->what_if = rd->partial = false;
	return NULL;
}

struct err *replay_device_back(struct engine *en, struct err *e)
{
	struct device *d = en->trace.device ? en->trace.device->d : NULL;
	struct replay_stop stop;

	if (!d)
		return e;
	struct err *back =
		device_culprit(d, NULL) && e ? NULL : device_seek(d, replay_seq(en->trace.replay));

	if (!e)
		e = back;
	else
		err_free(back);
	if (!e)
		e = graph_return(en);
	if (e && device_seq(d) != replay_seq(en->trace.replay)) {
		back = replay_goto(en->trace.replay,
			device_seq(d) < en->trace.device->first ? 0 : device_seq(d), &stop);
		err_free(back);
	}
	return e;
}

const struct replay_arg *replay_device_arg(
	const struct replay_device *rd, uint64_t seq, uint32_t param)
{
	for (unsigned i = rd ? rd->nargs : 0; i--;) {
		if (rd->args[i].seq == seq && rd->args[i].param == param)
			return &rd->args[i];
	}
	return NULL;
}
