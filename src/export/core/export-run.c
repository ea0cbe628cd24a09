/* SPDX-License-Identifier: Apache-2.0
 *
 * One export from beginning to end, and the formats by name.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "export/core/export-job.h"
#include "export/core/zip.h"
#include "export/formats/formats.h"

enum { FLUSH_AT = 1 << 16 };

const struct export_format export_formats[] = {
#define FORMAT(format, of_files, what, ...)                                                        \
	{.name = #format, .suffix = of_files, .doc = what, .write = export_##format, __VA_ARGS__},
#include "export/formats/formats.def"
#undef FORMAT
	{NULL},
};

const struct export_format *export_format(const char *name)
{
	for (const struct export_format *f = export_formats; f->name; f++) {
		if (!strcmp(f->name, name))
			return f;
	}
	return NULL;
}

static const char *const weights[] = {"gpu", "count", "bytes"};

bool export_weight_parse(const char *word, enum export_weight *ret)
{
	for (unsigned i = 0; i < sizeof weights / sizeof *weights; i++) {
		if (!strcmp(word, weights[i])) {
			*ret = (enum export_weight)i;
			return true;
		}
	}
	return false;
}

const char *export_weight_name(enum export_weight w)
{
	return weights[w];
}

struct err *export_flush(struct export_job *j)
{
	const size_t n = j->line.len;
	struct err *e = j->zip && n ? zip_put(j->zip, j->line.data, n) : NULL;

	if (!j->zip && n && fwrite(j->line.data, 1, n, j->f) != n)
		e = err_sys(errno, "cannot write the export");
	buf_clear(&j->line);
	return e;
}

struct err *export_flush_some(struct export_job *j)
{
	return j->line.len >= FLUSH_AT ? export_flush(j) : NULL;
}

static struct err *no_times(const struct export_ask *ask)
{
	struct err *e = err_new(ERR_INCOMPLETE, "the trace has no GPU times, which %s needs",
		ask->format->weighted ? "--weight gpu" : ask->format->name);

	return err_cure(e, "Record with tsdb record --timestamps%s",
		ask->format->weighted
			? ", or take --weight count"
			: "; folded, pprof, flamegraph, speedscope, hatchet and csv need none");
}

struct err *export_no_times(const struct export_job *j)
{
	return no_times(j->ask);
}

struct err *export_check(const struct export_ask *ask)
{
	for (unsigned i = 0; i < ask->nsources; i++)
		if (ask->format->needs_times && !sbt_reader_meta(ask->sources[i].r)->timestamps)
			return no_times(ask);
	return NULL;
}

struct err *export_run(const struct export_ask *ask, FILE *f, struct export_result *ret)
{
	struct export_job j = {.ask = ask, .f = f, .result = ret};
	struct err *e;

	*ret = (struct export_result){0};
	TRY(export_check(ask));
	j.walks = xcalloc(ask->nsources, sizeof *j.walks);
	j.zip = ask->archive ? zip_new(f) : NULL;
	e = export_begin(&j, 0);
	if (!e)
		e = ask->format->write(&j);
	if (!e)
		e = export_flush(&j);
	if (!e && j.zip)
		e = zip_end(j.zip);
	zip_free(j.zip);
	export_end(&j);
	buf_free(&j.line);
	return e;
}
