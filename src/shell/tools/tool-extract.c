/* SPDX-License-Identifier: Apache-2.0
 *
 * `tsdb extract FILE --kernel GLOB -o DIR`: writes one launch of a trace as a C program that stands
 * alone.
 */
#include <inttypes.h>
#include <string.h>
#include "base/words.h"
#include "engine/extract.h"
#include "engine/replay-device.h"
#include "shell/tools/tool-options.h"
#include "shell/tools/tools.h"
#include "shell/trace/trace.h"

#define USAGE                                                                                      \
	"Use: tsdb extract FILE --kernel GLOB [--nth K] [--graph SEQ] -o DIR [--all] [--window N] [--on auto|soft|real]"

struct tool_extract {
	struct replay_choice choice;
	struct extract_options o;
	const char *file;
	uint64_t window; /* from 1; 0: the first */
};

static struct err *usage(const char *fmt, const char *word)
{
	return err_cure(err_new(ERR_USAGE, fmt, word), USAGE);
}

/* --- options --- */

static struct err *take_value(struct tool_extract *x, const char *name, const char *value)
{
	if (!strcmp(name, "--on"))
		return replay_on_parse(value, &x->choice.on);
	if (!strcmp(name, "--kernel"))
		x->o.kernel = value;
	else if (!strcmp(name, "-o"))
		x->o.dir = value;
	else if (!strcmp(name, "--nth"))
		return word_u64(value, &x->o.nth) && x->o.nth
			       ? NULL
			       : usage("\"%s\" is no count of launches, from 1", value);
	else if (!strcmp(name, "--graph"))
		return word_u64(*value == '#' ? value + 1 : value, &x->o.graph) && x->o.graph
			       ? NULL
			       : usage("\"%s\" is no graph launch's number", value);
	else
		return tool_option_window(value, USAGE, &x->window);
	return NULL;
}

static struct err *take_options(struct tool_extract *x, int argc, char **argv)
{
	static const char *const valued[] = {
		"--kernel", "--nth", "--graph", "-o", "--window", "--on", NULL};

	for (int i = 0; i < argc; i++) {
		const char *w = argv[i], *value,
			   *name = tool_option_valued(valued, argc, argv, &i, &value);

		if (name && !value)
			return usage("%s needs a value", name);
		if (name)
			TRY(take_value(x, name, value));
		else if (!strcmp(w, "--all"))
			x->o.all = true;
		else if (*w == '-' || x->file)
			return usage("extract has no option %s", w);
		else
			x->file = w;
	}
	if (!x->file || !x->o.kernel || !x->o.dir)
		return usage("extract needs %s", !x->file	? "a trace"
						 : !x->o.kernel ? "--kernel"
								: "-o DIR");
	if (x->choice.on == REPLAY_ON_NONE)
		return usage("--on none executes nothing%s", "");
	return NULL;
}

static struct err *run(struct session *s, const struct tool_extract *x, struct extract_result *ret)
{
	TRY(trace_open(s, x->file));
	TRY(engine_replay(&s->engine, &x->choice));
	return extract_run(&s->engine, &x->o, ret);
}

int tool_extract(struct session *s, int argc, char **argv)
{
	struct tool_extract x = {.choice = replay_choice_default(&s->engine), .o = {.nth = 1}};
	struct err *e = take_options(&x, argc, argv);
	struct extract_result r = {0};
	char size[32];

	x.choice.strict = true;
	x.choice.window = x.window ? (unsigned)x.window - 1 : 0;
	if (!e)
		e = run(s, &x, &r);
	if (e) {
		out_error(s->out, e);
		return 1;
	}
	out_printf(s->out,
		"#%" PRIu64
		" %s with %zu allocation%s, %s, is in %s; `make -C %s check` runs it.\n",
		r.seq, r.kernel, r.allocations, r.allocations == 1 ? "" : "s",
		words_bytes(size, sizeof size, r.bytes), x.o.dir, x.o.dir);
	extract_free(&r);
	return 0;
}
