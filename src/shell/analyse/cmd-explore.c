/* SPDX-License-Identifier: Apache-2.0
 *
 * replay explore and replay schedule.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "shell/print/explore-text.h"
#include "shell/tools/explore-words.h"
#include "shell/trace/trace.h"

const char cmd_replay_explore_help[] =
	"Executes the window's work in other orders: each respects everything that the program\n"
	"orders (streams, events, the default stream, what the host waited for), and nothing more.\n"
	"First every pair of commands that touch the same bytes without an order is turned round,\n"
	"what `races` names before the others; so is what the host wrote into page-locked memory.\n"
	"Memory that a stream-ordered free gives back, or an allocation has yet to give, is filled\n"
	"with 0xff there when somebody may use it (the schedule has that as a fill). A launch\n"
	"that programmatic dependent launches may overtake is held while they go on. Then,\n"
	"when there are few pairs, all ways of ordering them; then streams are starved; then chance\n"
	"(--seed). An order that gives another result is proof of a missing wait: it is brought\n"
	"down to the fewest pairs and saved as TRACE.schedule-N.sbt, a trace that gives that\n"
	"result every time. --budget: so many schedules (200), or a time such as 30s. --jobs N: by\n"
	"N processes at once. --shard K/N: the K-th of N parts alone, or \"auto\" in a job's array;\n"
	"`tsdb merge A.json B.json` puts what `tsdb explore -o` wrote together. --strict: copies of\n"
	"at most 64 KiB from pageable memory may arrive late, too (see races).\n"
	"With --batch the exit status is 3 when another result was found.\n"
	"Example: replay explore --budget 1000 --jobs 4\n";

void explore_tell(struct session *s, const struct explore_result *r, bool json)
{
	struct buf out = BUF_INIT;

	if (json)
		explore_json(r, &out);
	else
		explore_print(s, r, &out);
	out_str(s->out, buf_cstr(&out));
	buf_free(&out);
}

/* What was found is shown already; that it may not be all is an error all the same. */
struct err *explore_check_ended(const struct explore_result *r)
{
	return !r->interrupted ? NULL
			       : err_new(ERR_INTERRUPTED,
					 "exploring was interrupted after %" PRIu64
					 " schedules: there may be more to find than is shown",
					 r->executed);
}

struct err *cmd_replay_explore(struct session *s, const struct cmd_args *a)
{
	struct explore_options o;
	struct explore_result r;
	struct err *e;

	TRY(explore_words(&o, (int)a->argc, a->argv, NULL, NULL));
	s->focus = FOCUS_REPLAY;
	if (o.jobs > 1)
		out_flush(s->out);
	TRY(explore_run(&s->engine, &o, &r));
	explore_tell(s, &r, a->json);
	if (r.nfound && s->batch)
		s->quit_status = REPLAY_STATUS_DIFFERS;
	e = explore_check_ended(&r);
	explore_free(&r);
	return e;
}

/* --- schedules that were found --- */

const char cmd_replay_schedule_help[] =
	"Replays a schedule that `replay explore` found and saved, by its number: executes it and\n"
	"says whether its result came out again. With --step the schedule's trace is opened in the\n"
	"place of this one, at its beginning: `replay step`, `watch` and all the rest work in it.\n"
	"Example: replay schedule 1 --step\n";

/* "2", or "3-2" of shard 3. */
static struct err *schedule_path(struct session *s, const char *id, char **ret)
{
	unsigned shard = 0, number = 0;
	int end = 0;

	if (strspn(id, "0123456789-") == strlen(id) &&
		sscanf(id, "%u-%u%n", &shard, &number, &end) < 2) {
		number = shard;
		shard = 0;
		end = strchr(id, '-') ? 0 : (int)strlen(id);
	}
	if (!number || end != (int)strlen(id))
		return err_cure(err_new(ERR_USAGE, "\"%s\" is no schedule's number", id),
			"Use: replay schedule N [--step]");
	*ret = explore_schedule_name(s->engine.trace.path, shard, number);
	if (trace_is(*ret))
		return NULL;
	struct err *e = err_cure(err_new(ERR_NOT_FOUND, "there is no %s", *ret),
		"\"replay explore\" finds schedules and saves them");
	free(*ret);
	return e;
}

static struct err *execute_schedule(struct session *s, const struct replay_choice *c)
{
	struct device_verified v;
	struct replay_stop stop;
	struct buf b = BUF_INIT;

	TRY(engine_replay(&s->engine, c));
	TRY(replay_until(s->engine.trace.replay, s->engine.trace.device->last, &stop));
	TRY(device_verify(s->engine.trace.device->d, &v));
	device_verified_print(&b, &v);
	out_printf(s->out, "%s\n%s\n", buf_cstr(&b),
		device_verified_ok(&v) ? "The schedule gave its result again."
				       : "The schedule gave yet another result.");
	if (!device_verified_ok(&v) && s->batch)
		s->quit_status = REPLAY_STATUS_DIFFERS;
	device_verified_free(&v);
	buf_free(&b);
	return NULL;
}

struct err *cmd_replay_schedule(struct session *s, const struct cmd_args *a)
{
	struct replay_choice c = replay_choice_default(&s->engine);
	const bool step = a->argc == 2 && !strcmp(a->argv[1], "--step");
	struct replay_device *rd;
	char *path = NULL;
	struct err *e;

	if (a->argc < 1 || (a->argc > 1 && !step))
		return err_cure(
			err_new(ERR_USAGE, "which schedule?"), "Use: replay schedule N [--step]");
	TRY(replay_device_need(&s->engine, "a schedule", &rd));
	TRY(schedule_path(s, a->argv[0], &path));
	c.on = rd->soft ? REPLAY_ON_SOFT : REPLAY_ON_REAL;
	c.strict = true;
	e = trace_open(s, path);
	if (!e)
		out_printf(
			s->out, "Now in %s; the trace it came from is opened by its name.\n", path);
	if (!e)
		e = step ? engine_replay(&s->engine, &c) : execute_schedule(s, &c);
	free(path);
	return e;
}
