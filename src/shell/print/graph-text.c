/* SPDX-License-Identifier: Apache-2.0
 *
 * Where a replay is inside a graph launch, as text.
 */
#include <inttypes.h>
#include <string.h>
#include "replay/replay.h"
#include "shell/print/graph.h"
#include "shell/script/displays.h"
#include "shell/values/vars.h"

const struct graph_place *graph_place(const struct session *s)
{
	return s->focus == FOCUS_REPLAY ? graph_place_of(&s->engine) : NULL;
}

void graph_print_step(struct buf *out, const struct state *st, const struct sbt_cmd *launch,
	uint32_t number, const struct state_step *step, bool json)
{
	const struct sbt_names names = state_names(st);
	struct buf b = BUF_INIT;
	struct sbt_cmd c;
	const char *text;
	struct err *e = step_works(step) ? step_as_command(step, launch, &c) : NULL;
	const bool works = !e && step_works(step);

	err_free(e);
	if (json) {
		if (works)
			sbt_json_cmd(out, &c, &names);
		else
			buf_str(out, "null");
		return;
	}
	buf_printf(out, "#%" PRIu64 ".%" PRIu32 " ", launch->seq, number);
	if (works) {
		c.flags = 0;
		sbt_print_cmd(&b, &c, &names);
		text = buf_cstr(&b);
		buf_str(out, text + strcspn(text, " ") + 1);
	} else {
		graph_node_text(out, st, &step->node);
	}
	buf_free(&b);
}

static void print_step(
	struct buf *out, const struct session *s, uint32_t number, const struct state_step *step)
{
	if (replay_cmd(s->engine.trace.replay))
		graph_print_step(out, replay_state(s->engine.trace.replay),
			replay_cmd(s->engine.trace.replay), number, step, false);
}

void graph_print_place(struct buf *out, const struct session *s, const struct graph_place *p)
{
	const uint32_t about = p->before ? p->step + 1 : p->step;

	if (!about) {
		buf_printf(out, "#%" PRIu64 ".0 before the first of %" PRIu32 " step%s of ", p->seq,
			p->steps.n, p->steps.n == 1 ? "" : "s");
		struct buf b = BUF_INIT;
		const struct sbt_names names = state_names(replay_state(s->engine.trace.replay));

		sbt_print_cmd(&b, replay_cmd(s->engine.trace.replay), &names);
		buf_str(out, buf_cstr(&b) + strcspn(buf_cstr(&b), " ") + 1);
		buf_free(&b);
		return;
	}
	if (p->before)
		buf_str(out, "before ");
	print_step(out, s, about, &p->steps.step[about - 1]);
	buf_printf(out, " (step %" PRIu32 " of %" PRIu32 ")", about, p->steps.n);
}

void graph_tell(struct session *s, const struct replay_stop *stop, uint64_t seq, uint32_t step)
{
	const struct graph_place *p = graph_place(s);
	struct buf b = BUF_INIT;

	vars_set(s->vars, "seq", (int64_t)seq);
	vars_set(s->vars, "step", step);
	if (!displays_stop(s, stop->why == REPLAY_BREAKPOINT || stop->why == REPLAY_WATCHPOINT))
		return;
	if (stop->why == REPLAY_BREAKPOINT)
		out_printf(s->out, "Breakpoint %d, ", stop->breakpoint);
	if (stop->why == REPLAY_WATCHPOINT)
		out_printf(s->out, "Watchpoint %d, ", stop->breakpoint);
	if (p) {
		graph_print_place(&b, s, p);
	} else { /* the last step */
		struct state_steps steps;
		const struct sbt_cmd *c = replay_cmd(s->engine.trace.replay);
		struct err *e = c ? state_steps(&steps, replay_state(s->engine.trace.replay),
					    (uint32_t)c->u.graph_launch.exec)
				  : NULL;

		if (c && !e && step && step <= steps.n) {
			print_step(&b, s, step, &steps.step[step - 1]);
			buf_printf(
				&b, " (step %" PRIu32 " of %" PRIu32 ", the last)", step, steps.n);
		}
		if (c && !e)
			state_steps_free(&steps);
		err_free(e);
	}
	out_style(s->out, STYLE_STOP, "%s", buf_cstr(&b));
	out_str(s->out, "\n");
	buf_free(&b);
}
