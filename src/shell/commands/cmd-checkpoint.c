/* SPDX-License-Identifier: Apache-2.0
 *
 * checkpoint, restart, info checkpoints, reverse-finish. In a replay a checkpoint is a position
 * with a number: it costs nothing.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "base/words.h"
#include "engine/replay-moves.h"
#include "replay/replay.h"
#include "shell/commands/by-number.h"
#include "shell/print/graph.h"
#include "shell/print/kernel-text.h"
#include "shell/print/listing.h"
#include "shell/trace/replay-run.h"

enum { CHECKPOINTS_MAX = 10000 };

struct checkpoint {
	unsigned id;
	uint64_t seq;
	uint32_t step; /* in that graph launch; UINT32_MAX: in none */
	char *file;
};
struct checkpoints {
	struct checkpoint *v;
	unsigned n, cap, last;
};

void checkpoints_free(struct checkpoints *c)
{
	for (unsigned i = 0; c && i < c->n; i++)
		free(c->v[i].file);
	if (c)
		free(c->v);
	free(c);
}

static const char *position(const struct checkpoint *c, char *dst, size_t n)
{
	if (c->step == UINT32_MAX)
		snprintf(dst, n, "%" PRIu64, c->seq);
	else
		snprintf(dst, n, "%" PRIu64 ".%" PRIu32, c->seq, c->step);
	return dst;
}

const char cmd_checkpoint_help[] =
	"Gives the replay's position a number, for `restart N`. `info checkpoints` lists them,\n"
	"`delete checkpoint N` ends one. What `set memory` and `set arg` changed is not part of it.\n";

struct err *cmd_checkpoint(struct session *s, const struct cmd_args *a)
{
	const struct graph_place *p = graph_place(s);
	struct checkpoints *all = s->checkpoints;
	struct checkpoint c = {.step = UINT32_MAX};
	char text[48];

	if (kernel_stop(s))
		return err_cure(
			err_new(ERR_UNSUPPORTED, "inside a launch there are no checkpoints"),
			"`enter` goes back to its beginning, `reverse-stepi` back within it");
	if (!all)
		all = s->checkpoints = xcalloc(1, sizeof *all);
	if (all->n >= CHECKPOINTS_MAX)
		return err_new(ERR_LIMIT, "there are %u checkpoints already", all->n);
	c.seq = p ? p->seq : replay_seq(s->engine.trace.replay);
	c.step = p ? p->step : UINT32_MAX;
	c.id = ++all->last;
	c.file = xstrdup(s->engine.trace.path);
	MAKE_ROOM(all->v, all->n, all->cap);
	all->v[all->n++] = c;
	out_printf(s->out, "Checkpoint %u: at #%s\n", c.id, position(&c, text, sizeof text));
	return NULL;
}

/* The checkpoint that a word names, of the open trace. */
static struct err *find(struct session *s, const char *word, unsigned *ret)
{
	const struct checkpoints *all = s->checkpoints;
	uint64_t id;

	if (!word_u64(word, &id))
		return err_cure(err_new(ERR_USAGE, "\"%s\" is no checkpoint's number", word),
			"\"info checkpoints\" lists them");
	for (*ret = 0; all && *ret < all->n; ++*ret)
		if (all->v[*ret].id == id && s->engine.trace.path &&
			!strcmp(all->v[*ret].file, s->engine.trace.path))
			return NULL;
	return err_cure(err_new(ERR_NOT_FOUND, "there is no checkpoint %s in this trace", word),
		"\"info checkpoints\" lists them");
}

const char cmd_restart_help[] =
	"Goes to checkpoint N of the replay. Without N: the same as `replay restart`.\n"
	"Examples: restart 2\n"
	"          restart\n";

struct err *cmd_restart(struct session *s, const struct cmd_args *a)
{
	char text[48], *line;
	unsigned i;
	struct err *e;

	if (!a->argc)
		return session_execute(s, "replay restart");
	if (a->argc > 1)
		return err_cure(
			err_new(ERR_USAGE, "restart takes one number"), "For example: restart 2");
	TRY(find(s, a->argv[0], &i));
	line = xasprintf("replay goto %s", position(&s->checkpoints->v[i], text, sizeof text));
	e = session_execute(s, line);
	free(line);
	return e;
}

bool checkpoints_command(struct session *s, const struct cmd_args *a, struct err **ret)
{
	struct checkpoints *all = s->checkpoints;
	unsigned k;

	if (a->argc < 2 || strcmp(a->argv[0], "checkpoint") != 0 ||
		strcmp(a->cmd->name, "delete") != 0)
		return false;
	*ret = NULL;
	for (unsigned i = 1; !*ret && i < a->argc; i++) {
		*ret = find(s, a->argv[i], &k);
		if (*ret)
			break;
		free(all->v[k].file);
		memmove(&all->v[k], &all->v[k + 1], (all->n - k - 1) * sizeof *all->v);
		all->n--;
	}
	return true;
}

/* --- info checkpoints --- */

const char cmd_info_checkpoints_help[] =
	"Lists the positions of the open trace that `checkpoint` gave numbers.\n"
	"Example: info checkpoints\n";

struct shown {
	uint64_t id, seq;
	uint32_t step;
};
JS_DEFINE(checkpoint_object, "checkpoint", shown, JS(UINT, shown, id, seq),
	JS_MAYBE("step", UINT, shown, step));

static void checkpoint_text(struct buf *out, const void *row)
{
	const struct shown *c = row;

	buf_printf(out, "%-4" PRIu64 " #%" PRIu64, c->id, c->seq);
	if (c->step)
		buf_printf(out, ".%" PRIu32, c->step - 1);
	buf_byte(out, '\n');
}

struct err *cmd_info_checkpoints(struct session *s, const struct cmd_args *a)
{
	struct listing l =
		listing_begin(s, a->json, &checkpoint_object, "Num  Position\n", checkpoint_text);
	const struct checkpoints *all = s->checkpoints;

	for (unsigned i = 0; all && i < all->n; i++)
		if (s->engine.trace.path && !strcmp(all->v[i].file, s->engine.trace.path))
			listing_add(&l,
				&(struct shown){all->v[i].id, all->v[i].seq, all->v[i].step + 1});
	listing_end(&l, "No checkpoints.\n");
	return NULL;
}

/* --- reverse-finish --- */

const char cmd_reverse_finish_help[] =
	"Inside a kernel: goes back to before the launch's first instruction. Inside a graph\n"
	"launch: back to before it.\n";

struct err *cmd_reverse_finish(struct session *s, const struct cmd_args *a)
{
	const struct soft_stop *t = kernel_stop_any(s);
	char *line;
	struct err *e;

	if (t) {
		line = xasprintf("replay enter %" PRIu64, t->seq);
		e = session_execute(s, line);
		free(line);
		return e;
	}
	if (!graph_place(s))
		return err_cure(
			err_new(ERR_STATE, "the replay is in no kernel and in no graph launch"),
			"`reverse-next` goes back by a command, `goto` to one");
	return replay_go(s, &(struct move){.how = MOVE_LEAVE, .backwards = true});
}
