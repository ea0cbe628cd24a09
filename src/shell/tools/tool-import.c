/* SPDX-License-Identifier: Apache-2.0
 *
 * tsdb import: makes a trace of another profiler's file, and says what of it is not in the trace.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "base/file.h"
#include "base/words.h"
#include "import/import.h"
#include "shell/line/interrupt.h"
#include "shell/tools/tool-options.h"
#include "shell/tools/tools.h"

#define USAGE                                                                                      \
	"Use: tsdb import FILE [-o FILE] [--as kineto|nsys|xray] [--pid N] [--graph-nodes] [--map FILE]"

static struct err *usage(const char *fmt, const char *word)
{
	return err_cure(err_new(ERR_USAGE, fmt, word), USAGE);
}

static struct err *take_value(struct import_ask *ask, const char *name, const char *value)
{
	if (!strcmp(name, "-o"))
		ask->output = value;
	else if (!strcmp(name, "--as"))
		ask->format = value;
	else if (!strcmp(name, "--map"))
		ask->map = value;
	else if (!word_u64(value, &ask->pid) || !ask->pid || ask->pid > INT32_MAX)
		return usage("\"%s\" is no process", value);
	return NULL;
}

static struct err *take_options(struct import_ask *ask, int argc, char **argv)
{
	static const char *const valued[] = {"-o", "--as", "--pid", "--map", NULL};

	for (int i = 0; i < argc; i++) {
		const char *value, *name = tool_option_valued(valued, argc, argv, &i, &value);

		if (name && !value)
			return usage("%s needs a value", name);
		if (name)
			TRY(take_value(ask, name, value));
		else if (!strcmp(argv[i], "--graph-nodes"))
			ask->graph_nodes = true;
		else if (*argv[i] == '-')
			return usage("import has no option %s", argv[i]);
		else if (ask->file)
			return usage("import takes one file, not \"%s\" too", argv[i]);
		else
			ask->file = argv[i];
	}
	return ask->file ? NULL : usage("import needs a file%s", "");
}

static bool cancelled(void *session, uint64_t done)
{
	struct session *s = session;

	out_progress(s->out, "importing", done, 0);
	return interrupt_flag;
}

/* "run.json.gz" as "run.sbt"; heap. */
static char *output_name(const char *file)
{
	static const char *const suffixes[] = {".gz", ".json", ".pt.trace", ".sqlite", NULL};
	char *name = xstrdup(file_name_of(file)), *ret;

	for (const char *const *s = suffixes; *s; s++) {
		const size_t n = strlen(name), of = strlen(*s);

		if (n > of && !strcmp(name + n - of, *s))
			name[n - of] = 0;
	}
	ret = xasprintf("%s.sbt", name);
	free(name);
	return ret;
}

static void tell_missing(uint64_t n, const char *one, const char *many)
{
	if (n)
		fprintf(stderr, "%" PRIu64 " %s\n", n, n == 1 ? one : many);
}

/* Says on stderr what was made, and what of the profile is not in it. */
static void tell(const char *path, const struct import_result *r)
{
	const uint64_t launches = r->launches + r->graphs;

	fprintf(stderr,
		"%s: of %s, %" PRIu64 " launch%s (%" PRIu64 " with a stack), %" PRIu64
		" graph launch%s, %" PRIu64 " cop%s, %" PRIu64 " fill%s, %" PRIu64
		" wait%s of the host, %" PRIu64 " range%s.\n",
		path, r->format, launches, launches == 1 ? "" : "es", r->stacks, r->graphs,
		r->graphs == 1 ? "" : "es", r->copies, r->copies == 1 ? "y" : "ies", r->fills,
		r->fills == 1 ? "" : "s", r->waits, r->waits == 1 ? "" : "s", r->ranges,
		r->ranges == 1 ? "" : "s");
	tell_missing(r->graph_nodes,
		"kernel, copy or fill ran in a graph launch, which has one time (--graph-nodes: a command of its own).",
		"kernels, copies and fills ran in graph launches, which have one time each (--graph-nodes: commands of their own).");
	tell_missing(r->no_call, "piece of work has no call: when it was submitted is not known.",
		"pieces of work have no call: when they were submitted is not known.");
	tell_missing(r->no_work,
		"call that launches, copies or fills has no work on the GPU: it is left out.",
		"calls that launch, copy or fill have no work on the GPU: they are left out.");
	tell_missing(r->no_stream,
		"record of an event or wait for one is left out: its stream is not known.",
		"records of events and waits for them are left out: their streams are not known.");
	tell_missing(r->unclosed, "range or wait is left out: it does not nest with the others.",
		"ranges or waits are left out: they do not nest with the others.");
	tell_missing(r->bad, "row is left out: a number in it cannot be.",
		"rows are left out: a number in each cannot be.");
	if (r->no_date)
		fprintf(stderr, "The profile has no date: times count from its beginning.\n");
}

static struct err *run(struct session *s, struct import_ask *ask, struct import_result *r)
{
	char *path = ask->output ? xstrdup(ask->output) : output_name(ask->file);
	struct err *e;

	ask->output = path;
	ask->cancelled = cancelled;
	ask->arg = s;
	e = import_run(ask, r);
	out_progress_end(s->out);
	if (!e)
		tell(path, r);
	free(path);
	return e;
}

int tool_import(struct session *s, int argc, char **argv)
{
	struct import_ask ask = {0};
	struct import_result r;
	struct err *e = take_options(&ask, argc, argv);

	if (!e)
		e = run(s, &ask, &r);
	if (e)
		out_error(s->out, e);
	return e != NULL;
}
