/* SPDX-License-Identifier: Apache-2.0
 *
 * Options of several tools, see tool-options.h. --on none is refused here for all of them: it means
 * a session without a device, with which a tool can do nothing.
 */
#include "shell/tools/tool-options.h"

#include <stdlib.h>
#include <string.h>
#include "base/words.h"
#include "shell/trace/trace.h"

struct tool_options tool_options_default(const struct session *s)
{
	struct tool_options t = {.choice = replay_choice_default(&s->engine)};

	t.choice.strict = true;
	return t;
}

bool tool_option_is(const char *name, const char *word, size_t n)
{
	if (strlen(name) == n && !strncmp(name, word, n))
		return true;
	return (!strcmp(name, "--on") && n == 5 && !strncmp(word, "--gpu", n)) ||
	       (!strcmp(name, "--gpu") && n == 4 && !strncmp(word, "--on", n));
}

const char *tool_option_valued(
	const char *const *names, int argc, char *const *argv, int *i, const char **ret)
{
	const char *w = argv[*i];
	const size_t n = strcspn(w, "=");

	for (; *names; names++) {
		if (!tool_option_is(*names, w, n))
			continue;
		*ret = w[n] ? w + n + 1 : *i + 1 < argc ? argv[++*i] : NULL;
		return *names;
	}
	return NULL;
}

struct err *tool_option_window(const char *word, const char *usage, uint64_t *ret)
{
	if (word_u64(word, ret) && *ret && *ret <= UINT32_MAX)
		return NULL;
	return err_cure(err_new(ERR_USAGE, "\"%s\" is no window: they are numbered from 1", word),
		"%s", usage);
}

struct err *tool_options_take(struct tool_options *t, const char *usage, int *argc, char **argv)
{
	static const char *const valued[] = {"--on", "--window", NULL};
	int n = 0;

	for (int i = 0; i < *argc; i++) {
		const char *value, *name = tool_option_valued(valued, *argc, argv, &i, &value);

		if (name && !value)
			return err_cure(err_new(ERR_USAGE, "%s needs a value", name), "%s", usage);
		if (name && !strcmp(name, "--on"))
			TRY(replay_on_parse(value, &t->choice.on));
		else if (name)
			TRY(tool_option_window(value, usage, &t->window));
		else if (!strcmp(argv[i], "--any-device"))
			t->choice.any_device = true;
		else if (!strcmp(argv[i], "--json"))
			t->json = true;
		else
			argv[n++] = argv[i];
	}
	*argc = n;
	t->choice.quiet = t->json;
	if (t->choice.on == REPLAY_ON_NONE)
		return err_cure(err_new(ERR_USAGE, "--on none executes nothing"), "%s", usage);
	return NULL;
}

/* ---- parts of a window
 * -------------------------------------------------------------------------------------------------
 */

struct err *partial_streams(struct partial *p, const char *word)
{
	char *copy = xstrdup(word), *save = NULL;
	bool ok = true;
	uint64_t v;

	p->kind = PARTIAL_STREAMS;
	p->n = 0;
	for (char *w = strtok_r(copy, ",", &save); ok && w; w = strtok_r(NULL, ",", &save)) {
		ok = word_u64(w, &v) && v < UINT32_MAX && p->n < PARTIAL_STREAMS_MAX;
		if (ok)
			p->streams[p->n++] = (uint32_t)v;
	}
	free(copy);
	return ok && p->n ? NULL
			  : err_cure(err_new(ERR_USAGE, "\"%s\" names no streams", word),
				    "Use numbers such as 2 or 1,3; see \"info streams\"");
}

struct err *partial_range(struct partial *p, const char *word)
{
	p->kind = PARTIAL_RANGE;
	if (word_range(word, &p->a, &p->b))
		return NULL;
	return err_cure(err_new(ERR_USAGE, "\"%s\" is no range of commands", word),
		"Ranges are like 100-200");
}

/* --- windows --- */

static struct err *each_window(const struct tool_windows *w, struct buf *out)
{
	uint64_t first, last;

	TRY(trace_open(w->s, w->file));
	if (!sbt_reader_window(w->s->engine.trace.reader, 0, &first, &last))
		return w->window(w->arg, 0, out);
	if (w->options->window)
		return w->window(w->arg, (unsigned)w->options->window - 1, out);
	for (unsigned i = 0; sbt_reader_window(w->s->engine.trace.reader, i, &first, &last); i++)
		if (w->wants(w->arg, i, first, last))
			TRY(w->window(w->arg, i, out));
	return NULL;
}

struct err *tool_windows(const struct tool_windows *w)
{
	const bool json = w->options->json;
	struct buf out = BUF_INIT;
	struct err *e;

	buf_str(&out, json ? "[" : "");
	e = each_window(w, &out);
	if (!json)
		out_str(w->s->out, buf_cstr(&out));
	else if (!e)
		out_printf(w->s->out, "%s]\n", buf_cstr(&out));
	buf_free(&out);
	return e;
}
