/* SPDX-License-Identifier: Apache-2.0
 *
 * A set as an archive: a file for each rank, and perfetto_manifest, version 1, which says on which
 * machine each was recorded and how its clock relates to that of the first (perfetto,
 * docs/reference/perfetto-manifest.md). Times in a file are the rank's own, less the drift of its
 * clock, for which a manifest has no word. Files of one machine share its clocks there: a rank
 * whose clock was found to differ from that of another one on its host gets a machine of its own.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "base/checked.h"
#include "base/json-put.h"
#include "export/core/zip.h"
#include "export/formats/perfetto-out.h"

static const struct export_source *source_of(const struct perfetto *p, size_t file)
{
	return &p->j->ask->sources[p->files[file]];
}

/* heap */
static char *path_of(const struct export_source *s)
{
	return xasprintf("rank%" PRIu64 ".pftrace", s->rank);
}

struct err *perfetto_file_begin(struct perfetto *p)
{
	struct err *e;
	char *path;

	if (!p->j->zip)
		return NULL;
	MAKE_ROOM(p->files, p->nfiles, p->cap_files);
	p->files[p->nfiles++] = p->source;
	path = path_of(source_of(p, p->nfiles - 1));
	e = export_flush(p->j);
	if (!e)
		e = zip_begin(p->j->zip, path);
	free(path);
	return e;
}

/* --- the manifest --- */

/* The first file from the same host. */
static size_t first_of_host(const struct perfetto *p, size_t file)
{
	size_t i = 0;

	while (strcmp(source_of(p, i)->host, source_of(p, file)->host))
		i++;
	return i;
}

/* The machine's name; heap. *ret_new: no file before is of that machine. */
static char *machine_of(const struct perfetto *p, size_t file, bool *ret_new)
{
	const struct export_source *s = source_of(p, file);
	const size_t first = first_of_host(p, file);
	const char *host = *s->host ? s->host : "a host without a name";

	*ret_new = first == file || source_of(p, first)->offset_ns != s->offset_ns;
	return *ret_new && first != file ? xasprintf("%s (rank %" PRIu64 ")", host, s->rank)
					 : xstrdup(host);
}

static void put_key_text(struct buf *out, const char *key, const char *text)
{
	buf_printf(out, "\"%s\":", key);
	js_text(out, text);
}

/* How the clock of the file's machine relates to that of the first file's. */
static struct err *put_clocks(struct buf *out, const struct perfetto *p, size_t file)
{
	const struct export_source *s = source_of(p, file), *first = source_of(p, 0);
	char *path = path_of(first);
	int64_t offset;
	struct err *e = NULL;

	if (ckd_sub(&offset, s->offset_ns, first->offset_ns) || offset == INT64_MIN)
		e = err_new(ERR_LIMIT,
			"the clocks of ranks %" PRIu64 " and %" PRIu64
			" are further apart than Perfetto has numbers for",
			first->rank, s->rank);
	buf_str(out, ",\"clocks\":{\"clock\":\"REALTIME\",\"sync_to\":{");
	put_key_text(out, "file", path);
	buf_printf(out, ",\"clock\":\"REALTIME\"},\"offset_ns\":%" PRId64 "}", offset);
	free(path);
	return e;
}

static struct err *put_file(struct buf *out, const struct perfetto *p, size_t file)
{
	bool is_new;
	char *machine = machine_of(p, file, &is_new), *path = path_of(source_of(p, file));
	struct err *e = NULL;

	buf_str(out, file ? ",\n{" : "\n{");
	put_key_text(out, "path", path);
	buf_str(out, ",\"machine\":{");
	put_key_text(out, "name", machine);
	buf_byte(out, '}');
	if (file && is_new)
		e = put_clocks(out, p, file);
	buf_byte(out, '}');
	free(machine);
	free(path);
	return e;
}

static struct err *put_manifest(struct buf *out, const struct perfetto *p)
{
	char *path = path_of(source_of(p, 0));
	struct err *e = NULL;

	/* Perfetto knows a manifest by these first bytes. */
	buf_str(out,
		"{\"perfetto_manifest\":{\"version\":1,\"trace_time\":{\"clock\":\"REALTIME\",");
	put_key_text(out, "file", path);
	buf_str(out, "},\"files\":[");
	for (size_t i = 0; !e && i < p->nfiles; i++)
		e = put_file(out, p, i);
	buf_str(out, "\n]}}\n");
	free(path);
	return e;
}

struct err *perfetto_files_end(struct perfetto *p)
{
	if (!p->j->zip)
		return NULL;
	TRY(export_flush(p->j));
	TRY(zip_begin(p->j->zip, "perfetto_manifest.json"));
	TRY(put_manifest(&p->j->line, p));
	return export_flush(p->j);
}
