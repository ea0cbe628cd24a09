/* SPDX-License-Identifier: Apache-2.0
 *
 * The GPU's state: state show, and the info commands that are one view of it each.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "attach/attach.h"
#include "shell/print/graph.h"
#include "engine/ranks.h"
#include "engine/live-look.h"
#include "shell/line/session.h"
#include "shell/trace/trace.h"
#include "base/words.h"
#include "state/state.h"

/* After an attach few objects are known at first; says so. */
static void tell_attached(struct session *s, const struct state *st)
{
	struct inferior *inf = s->focus == FOCUS_LIVE ? s->engine.live.inf : NULL;
	struct state_totals t;

	if (!inf || !inferior_attached(inf) || !inferior_control(inf))
		return;
	state_totals(st, &t);
	if (atomic_load(&inferior_control(inf)->agent_state) == TSDB_AGENT_WAITING)
		out_style(s->out, STYLE_NOTE, "(It has not used the GPU yet.)");
	else if (atomic_load(&inferior_control(inf)->agent_state) == TSDB_AGENT_NONE)
		out_style(s->out, STYLE_NOTE,
			"(Nothing is known of the GPU: the agent of an earlier attach is still in a call of the driver that does not return.)");
	else if (atomic_load(&inferior_control(inf)->agent_state) == TSDB_AGENT_STARTING)
		out_style(s->out, STYLE_NOTE,
			"(Nothing is known of the GPU until the work that was there ends: the agent's start waits for it.)");
	else if (!t.found_ns)
		out_style(s->out, STYLE_NOTE,
			"(What was there before the attach is found as the program uses it, or when a capture begins.)");
	else
		return;
	out_str(s->out, "\n");
}

static void show_view(struct session *s, const struct state *st, enum state_view view, bool json)
{
	struct buf b = BUF_INIT;
	bool empty;

	if (json) {
		state_json(&b, st, view);
		if (b.len && b.data[b.len - 1] != '\n')
			buf_byte(&b, '\n');
		out_str(s->out, buf_cstr(&b));
	} else {
		state_print(&b, st, view, out_table_columns());
		empty = view == STATE_VIEW_ALL ? strstr(buf_cstr(&b), "\nNo contexts.") != NULL
					       : !strncmp(buf_cstr(&b), "No ", 3);
		if (view == STATE_VIEW_ALL)
			out_str(s->out, buf_cstr(&b));
		else
			out_table(s->out, &b);
		if (empty)
			tell_attached(s, st);
	}
	buf_free(&b);
}

/* What the device has reached, where it was asked. */
static const struct state *device_state(struct session *s, const struct state *known)
{
	const struct state *st = live_device_state(&s->engine);

	return st ? st : known;
}

static struct err *info_view(struct session *s, const struct cmd_args *a, enum state_view view)
{
	const struct state *st;

	if (a->argc)
		return err_cure(err_new(ERR_USAGE, "%s takes no \"%s\"", a->cmd->name, a->argv[0]),
			"See \"help %s\"", a->cmd->name);
	TRY(session_state(s, &st));
	if (s->focus == FOCUS_LIVE && (view == STATE_VIEW_STREAMS || view == STATE_VIEW_EVENTS))
		st = device_state(s, st);
	show_view(s, st, view, a->json);
	return NULL;
}

#define INFO(name, VIEW, help)                                                                     \
	const char cmd_info_##name##_help[] = help;                                                \
	struct err *cmd_info_##name(struct session *s, const struct cmd_args *a)                   \
	{                                                                                          \
		return info_view(s, a, VIEW);                                                      \
	}

INFO(streams, STATE_VIEW_STREAMS,
	"Lists streams: what is at the head of each, whether it runs or waits, and for what;\n"
	"how much is pending. `state show stream N` shows a whole queue. At Ctrl-C the device is\n"
	"asked how far it is; at a GPU command it is what the program knows.\n"
	"Example: info streams\n")
INFO(events, STATE_VIEW_EVENTS,
	"Lists events: the last record of each, its stream, and whether it is known to be finished.\n"
	"At Ctrl-C the device is asked.\n"
	"Example: info events\n")
INFO(modules, STATE_VIEW_MODULES,
	"Lists GPU modules and libraries that are loaded.\n"
	"Example: info modules\n")
INFO(allocations, STATE_VIEW_ALLOCS,
	"Lists live allocations by address: size, kind, who allocated, and the last writer.\n"
	"Example: info allocations --json\n")
INFO(contexts, STATE_VIEW_CONTEXTS,
	"Lists GPU contexts.\n"
	"Example: info contexts\n")
INFO(devices, STATE_VIEW_DEVICES,
	"Lists the devices that the program sees, and what it has done on each.\n"
	"Example: info devices\n")
INFO(graphs, STATE_VIEW_GRAPHS,
	"Lists CUDA graphs and executable graphs, with launches. `info graph ID` shows one.\n"
	"Example: info graphs\n")

/* --- state show --- */

const char cmd_state_show_help[] =
	"Shows the state of the GPU at the stop, or where the replay is: all of it, or\n"
	"  stream [N]   streams; with N one stream with its queue and why it waits\n"
	"  device [N]   devices; with N one device with its contexts, streams and allocations\n"
	"  event, memory, context, module, kernel, graph, thread\n"
	"  at SEQ       the state right after command SEQ of the open trace\n"
	"  at 12.3ms    the state at a time after the trace's start (needs GPU times, see\n"
	"               `set capture timestamps`); with a set of ranks, after the first one's\n"
	"Example: state show stream 2 at 143\n";

static const struct {
	const char *word;
	enum state_view view;
} views[] = {
	{"all", STATE_VIEW_ALL},
	{"streams", STATE_VIEW_STREAMS},
	{"events", STATE_VIEW_EVENTS},
	{"memory", STATE_VIEW_ALLOCS},
	{"allocations", STATE_VIEW_ALLOCS},
	{"devices", STATE_VIEW_DEVICES},
	{"contexts", STATE_VIEW_CONTEXTS},
	{"modules", STATE_VIEW_MODULES},
	{"kernels", STATE_VIEW_KERNELS},
	{"graphs", STATE_VIEW_GRAPHS},
	{"threads", STATE_VIEW_THREADS},
};

struct show {
	enum state_view view;
	bool one, json; /* one: of the streams or devices */
	uint32_t id;
	const char *at;
};

static bool find_view(const char *word, enum state_view *ret)
{
	for (size_t i = 0; i < sizeof views / sizeof *views; i++) {
		if (!strncmp(views[i].word, word, strlen(word))) {
			*ret = views[i].view;
			return true;
		}
	}
	return false;
}

static struct err *parse_show(const struct cmd_args *a, struct show *w)
{
	bool chosen = false;
	uint64_t v;

	*w = (struct show){.view = STATE_VIEW_ALL, .json = a->json};
	for (unsigned i = 0; i < a->argc; i++) {
		const char *word = a->argv[i];

		if (!strcmp(word, "at") && i + 1 < a->argc) {
			w->at = a->argv[++i];
		} else if ((w->view == STATE_VIEW_STREAMS || w->view == STATE_VIEW_DEVICES) &&
			   !w->one && word_u64(word, &v) && v <= UINT32_MAX) {
			w->one = true;
			w->id = (uint32_t)v;
		} else if (chosen) {
			return err_cure(
				err_new(ERR_USAGE,
					"state show takes one of these at a time, and then \"%s\"",
					word),
				"For example: state show stream 2 at 143");
		} else if (*word && find_view(word, &w->view)) {
			chosen = true;
		} else {
			return err_cure(err_new(ERR_USAGE, "state show has no \"%s\"", word),
				"It has stream [N], device [N], event, memory, context, module, kernel, graph, thread, all, at SEQ");
		}
	}
	return NULL;
}

static struct err *show_state(struct session *s, const struct state *st, const struct show *w)
{
	struct buf b = BUF_INIT;
	bool found;

	if (!w->one) {
		show_view(s, st, w->view, w->json);
		return NULL;
	}
	if (w->view == STATE_VIEW_DEVICES)
		found = w->json ? state_json_device(&b, st, w->id)
				: state_print_device(&b, st, w->id, out_table_columns());
	else
		found = w->json ? state_json_stream(&b, st, w->id)
				: state_print_stream(&b, st, w->id);
	if (b.len && b.data[b.len - 1] != '\n')
		buf_byte(&b, '\n');
	if (found)
		out_str(s->out, buf_cstr(&b));
	buf_free(&b);
	if (!found && w->view == STATE_VIEW_DEVICES)
		return err_cure(err_new(ERR_NOT_FOUND, "the program saw no device %u", w->id),
			"\"state show device\" lists them");
	return found ? NULL
		     : err_cure(err_new(ERR_NOT_FOUND, "there is no stream %u", w->id),
			       "\"info streams\" lists them");
}

/* Makes the state that "at WHERE" names; the caller frees it. */
static struct err *state_where(struct session *s, const char *where, struct state **ret)
{
	struct sbt_reader *r = s->engine.trace.reader;
	uint64_t v;

	if (!r)
		return err_cure(err_new(ERR_STATE, "\"at\" needs an open trace"),
			"Use \"replay start FILE\"");
	if (word_u64(where, &v)) {
		if (v > sbt_reader_last_seq(r) || v + 1 < sbt_reader_first_seq(r))
			return err_cure(err_new(ERR_NOT_FOUND, "the trace has no #%" PRIu64, v),
				"It holds #%" PRIu64 "-#%" PRIu64, sbt_reader_first_seq(r),
				sbt_reader_last_seq(r));
		return state_at(ret, r, v);
	}
	if (!word_duration(*where == '+' ? where + 1 : where, &v))
		return err_cure(err_new(ERR_USAGE,
					"\"%s\" is neither a command's number nor a time", where),
			"Use \"at 143\" or \"at 12.3ms\"");
	if (s->engine.ranks) /* since the first rank's start, whichever rank is looked at */
		return state_at_time(ret, r,
			ranks_local(ranks_find(s->engine.ranks, s->engine.rank),
				ranks_start(s->engine.ranks) + v));
	return state_at_time(ret, r, sbt_reader_meta(r)->start_ns + v);
}

/* Says that the state is the one at the launch: it does not include which of its steps are done. */
static void tell_place(struct session *s)
{
	const struct graph_place *p = graph_place(s);
	struct buf b = BUF_INIT;

	if (!p)
		return;
	graph_print_place(&b, s, p);
	out_printf(s->out, "In a graph launch, %u of its %u steps are done: %s\n", p->step,
		p->steps.n, buf_cstr(&b));
	buf_free(&b);
}

struct err *cmd_state_show(struct session *s, const struct cmd_args *a)
{
	const struct state *st;
	struct state *own;
	struct show w;
	struct err *e;

	TRY(parse_show(a, &w));
	if (!w.at) {
		TRY(session_state(s, &st));
		if (!a->json)
			tell_place(s);
		return show_state(s, st, &w);
	}
	TRY(state_where(s, w.at, &own));
	e = show_state(s, own, &w);
	state_free(own);
	return e;
}
