/* SPDX-License-Identifier: Apache-2.0
 *
 * tsdb export: writes a trace in another program's format. The file is written beside its name and
 * renamed when it is whole, so that no reader ever sees half of one.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/file.h"
#include "base/words.h"
#include "export/export.h"
#include "shell/line/interrupt.h"
#include "shell/tools/tool-options.h"
#include "shell/tools/tools.h"
#include "shell/trace/trace.h"

#define USAGE                                                                                      \
	"Use: tsdb export FORMAT FILE [RANGE] [-o FILE|-] [--stream N] [--weight gpu|count|bytes]"

struct tool_export {
	struct export_ask ask;
	const char *file, *output; /* output NULL: none given */
};

static struct err *usage(const char *fmt, const char *word)
{
	return err_cure(err_new(ERR_USAGE, fmt, word), USAGE);
}

static struct err *no_format(const char *word)
{
	struct buf names = BUF_INIT;
	struct err *e = err_new(ERR_USAGE, "there is no format \"%s\"", word);

	for (const struct export_format *f = export_formats; f->name; f++)
		buf_printf(&names, "%s%s", f == export_formats ? "" : ", ", f->name);
	e = err_cure(e, "Formats are %s", buf_cstr(&names));
	buf_free(&names);
	return e;
}

static struct err *take_value(struct tool_export *x, const char *name, const char *value)
{
	uint64_t n;

	if (!strcmp(name, "-o")) {
		x->output = value;
	} else if (!strcmp(name, "--stream")) {
		if (!word_u64(value, &n) || n >= SBT_NO_ID)
			return usage("\"%s\" is no stream", value);
		x->ask.stream = (uint32_t)n;
	} else if (!export_weight_parse(value, &x->ask.weight)) {
		return usage("--weight takes gpu, count or bytes, not \"%s\"", value);
	} else if (!x->ask.format || !x->ask.format->weighted) {
		return err_cure(err_new(ERR_USAGE, "only a format with one weight takes --weight"),
			"folded, flamegraph and speedscope do; the others have all of them");
	}
	return NULL;
}

static struct err *take_word(struct tool_export *x, const char *w)
{
	if (*w == '-')
		return usage("export has no option %s", w);
	if (!x->ask.format) {
		x->ask.format = export_format(w);
		return x->ask.format ? NULL : no_format(w);
	}
	if (!x->file) {
		x->file = w;
		return NULL;
	}
	if (!word_range(w, &x->ask.first, &x->ask.last))
		return usage("\"%s\" is no range of commands", w);
	return NULL;
}

static struct err *take_options(struct tool_export *x, int argc, char **argv)
{
	static const char *const valued[] = {"-o", "--stream", "--weight", NULL};

	for (int i = 0; i < argc; i++) {
		const char *value, *name = tool_option_valued(valued, argc, argv, &i, &value);

		if (name && !value)
			return usage("%s needs a value", name);
		TRY(name ? take_value(x, name, value) : take_word(x, argv[i]));
	}
	if (!x->ask.format)
		return no_format("");
	return x->file ? NULL : usage("export needs a trace%s", "");
}

static bool cancelled(void *session, uint64_t done, uint64_t of)
{
	struct session *s = session;

	out_progress(s->out, "exporting", done, of);
	return interrupt_flag;
}

/* "run.sbt" as "run.pftrace"; heap. */
static char *output_name(const struct tool_export *x)
{
	const char *base = file_name_of(x->file), *dot = strrchr(base, '.');

	return xasprintf("%.*s.%s", dot && dot != base ? (int)(dot - base) : (int)strlen(base),
		base, x->ask.format->suffix);
}

/* Says what was written, on stderr: standard output may be the export. */
static void tell(const struct tool_export *x, const char *path, const struct export_result *r)
{
	fprintf(stderr,
		"%s: %" PRIu64 " commands as %s; of %" PRIu64 " launches %" PRIu64
		" have a stack and %" PRIu64 " a GPU time.\n",
		path, r->commands, x->ask.format->name, r->launches, r->stacks, r->timed);
	if (r->not_kept)
		fprintf(stderr, "%" PRIu64 " %s in no sum: there are too many different ones.\n",
			r->not_kept, r->not_kept == 1 ? "command is" : "commands are");
	if (r->interrupted)
		fprintf(stderr, "Interrupted: what comes later is missing.\n");
}

static struct err *write_file(struct tool_export *x, const char *path, struct export_result *r)
{
	char *part = xasprintf("%s.part", path);
	FILE *f = NULL;
	struct err *e = file_create(part, &f);

	if (!e) {
		e = export_run(&x->ask, f, r);
		e = err_first(e, file_close(f, part));
		if (!e && rename(part, path))
			e = err_sys(errno, "cannot rename %s", part);
		if (e)
			unlink(part);
	}
	free(part);
	return e;
}

static struct err *run(struct session *s, struct tool_export *x, struct export_result *r)
{
	char *path = x->output ? xstrdup(x->output) : output_name(x);
	struct err *e;

	x->ask.r = s->engine.trace.reader;
	x->ask.symbols = session_symbols(s);
	x->ask.cancelled = cancelled;
	x->ask.arg = s;
	e = strcmp(path, "-") ? write_file(x, path, r) : export_run(&x->ask, stdout, r);
	out_progress_end(s->out);
	if (!e && fflush(stdout))
		e = err_sys(errno, "cannot write to standard output");
	if (!e)
		tell(x, path, r);
	free(path);
	return e;
}

int tool_export(struct session *s, int argc, char **argv)
{
	struct tool_export x = {.ask = {.last = UINT64_MAX, .stream = SBT_NO_ID}};
	struct export_result r = {0};
	struct err *e = take_options(&x, argc, argv);

	if (!e)
		e = trace_open(s, x.file);
	if (!e)
		e = run(s, &x, &r);
	if (e)
		out_error(s->out, e);
	return e || r.interrupted;
}
