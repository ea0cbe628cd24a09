/* SPDX-License-Identifier: Apache-2.0
 *
 * A database of SQLite: its tables of tsdb's own, see sqlite-schema.def, and the pass that fills
 * all. SQLite writes to a file with a name: that of the export, or one of its own that is copied to
 * where the export goes.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/file.h"
#include "export/formats/formats.h"
#include "export/formats/sqlite-parts.h"
#include "sbt/fields.h"

enum { TEXTS_FROM = 1 };

/* --- texts and stacks, each once --- */

uint64_t sqlite_text(struct sqlite *q, const char *s)
{
	return text_number(&q->texts, s) + TEXTS_FROM;
}

static void put_texts(struct sqlite *q)
{
	for (; q->texts_told < q->texts.n; q->texts_told++) {
		db_row(&q->db, DB_STRINGS);
		db_u64(&q->db, q->texts_told + TEXTS_FROM);
		db_text(&q->db, q->texts.v[q->texts_told]);
		db_end(&q->db);
	}
}

static void put_frame(struct sqlite *q, uint32_t id, unsigned depth, const struct export_frame *f)
{
	db_row(&q->db, DB_STACK);
	db_u64(&q->db, id);
	db_u64(&q->db, depth);
	db_text(&q->db, f->function);
	db_text(&q->db, f->file);
	db_u64_if(&q->db, f->line, f->line);
	db_u64(&q->db, f->python);
	db_end(&q->db);
}

/* Puts the stack of a command the first time; NULL: it has none. */
static const struct export_stack *put_stack(struct sqlite *q, uint32_t id)
{
	const struct export_stack *st = export_stack(q->j, id);

	if (!st || !id_is_new(&q->stacks, id))
		return st;
	for (unsigned i = 0; i < st->n; i++) {
		put_frame(q, id, i, &st->frames[i]);
		nsight_frame(q, id, st->n - 1 - i, &st->frames[i]);
	}
	return st;
}

/* --- tsdb's own tables --- */

static void put_command(struct sqlite *q, const struct export_event *ev, bool stack)
{
	const struct sbt_kind_desc *kind = sbt_kind(ev->c->kind);
	const struct sbt_cmd *c = ev->c;
	struct db *d = &q->db;

	db_row(d, DB_COMMAND);
	db_u64(d, c->seq);
	db_u64(d, sqlite_text(q, kind ? kind->name : "unknown"));
	db_u64(d, sqlite_text(q, ev->name));
	db_u64_if(d, ev->stream != SBT_NO_ID, ev->device);
	db_u64_if(d, ev->stream != SBT_NO_ID, ev->stream);
	db_u64(d, c->thread);
	db_u64_if(d, c->ctx != SBT_NO_ID, c->ctx);
	db_u64(d, c->result);
	db_u64_if(d, c->host_ns, c->host_ns);
	db_u64_if(d, ev->host_end, ev->host_end);
	db_u64_if(d, ev->timed, c->gpu_start_ns);
	db_u64_if(d, ev->timed, c->gpu_end_ns);
	db_u64_if(d, ev->what == EXPORT_COPY || ev->what == EXPORT_FILL, ev->bytes);
	db_u64_if(d, stack, c->stack);
	db_end(d);
	for (unsigned i = 0; i < ev->nwaits; i++) {
		db_row(d, DB_EDGE);
		db_u64(d, c->seq);
		db_u64(d, ev->waits[i]);
		db_end(d);
	}
}

static void put_states(struct sqlite *q, const struct export_event *ev)
{
	for (unsigned i = 0; i < ev->nspans; i++) {
		db_row(&q->db, DB_STATE);
		db_u64(&q->db, ev->stream);
		db_u64(&q->db, ev->device);
		db_u64(&q->db, ev->c->seq);
		db_text(&q->db, export_doing_name(ev->spans[i].what));
		db_i64(&q->db, (int64_t)ev->spans[i].from);
		db_i64(&q->db, (int64_t)ev->spans[i].to);
		db_end(&q->db);
	}
}

void sqlite_dims(struct db *d, const struct sbt_cmd_launch *l)
{
	const uint64_t v[] = {l->grid_x, l->grid_y, l->grid_z, l->block_x, l->block_y, l->block_z};

	for (unsigned i = 0; i < sizeof v / sizeof *v; i++)
		db_i64(d, v[i] > INT64_MAX ? INT64_MAX : (int64_t)v[i]);
}

static void put_launch(struct sqlite *q, const struct export_event *ev)
{
	const struct sbt_cmd_launch *l = &ev->c->u.launch;
	struct db *d = &q->db;

	db_row(d, DB_LAUNCH);
	db_u64(d, ev->c->seq);
	db_u64_if(d, export_kernel(q->j, ev->kernel) != NULL, ev->kernel);
	sqlite_dims(d, l);
	db_u64(d, l->shared);
	db_end(d);
}

static void put_kernels(struct sqlite *q)
{
	for (uint32_t id = 0; id < export_kernels(q->j); id++) {
		const struct export_kernel *k = export_kernel(q->j, id);

		if (!k)
			continue;
		db_row(&q->db, DB_KERNEL);
		db_u64(&q->db, id);
		db_text(&q->db, k->name);
		db_u64(&q->db, k->regs);
		db_u64(&q->db, k->static_shared);
		db_end(&q->db);
	}
}

static void put_meta(struct sqlite *q)
{
	const struct sbt_meta *m = q->j->meta;
	const struct {
		const char *key, *text;
		uint64_t number;
	} rows[] = {{"program", m->program, 0}, {"cwd", m->cwd, 0}, {"host", m->host, 0},
		{"gpu", m->gpu, 0}, {"tsdb", m->tsdb, 0}, {"pid", NULL, m->pid},
		{"start_ns", NULL, m->start_ns}, {"driver_version", NULL, m->driver_version},
		{"rank", NULL, m->rank ? m->rank - 1 : UINT64_MAX},
		{"ranks", NULL, m->ranks ? m->ranks - 1 : UINT64_MAX}};

	for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++) {
		db_row(&q->db, DB_META);
		db_text(&q->db, rows[i].key);
		if (rows[i].text)
			db_text(&q->db, rows[i].text);
		else
			db_u64(&q->db, rows[i].number);
		db_end(&q->db);
	}
}

static void put_end(struct sqlite *q)
{
	put_meta(q);
	put_kernels(q);
	nsight_end(q);
	put_texts(q);
}

/* --- the pass --- */

static void put_event(struct sqlite *q, const struct export_event *ev)
{
	const struct export_stack *st = put_stack(q, ev->c->stack);

	put_command(q, ev, st != NULL);
	put_states(q, ev);
	if (ev->what == EXPORT_KERNEL)
		put_launch(q, ev);
	nsight_event(q, ev, st);
}

static struct err *put_all(struct sqlite *q)
{
	const struct export_event *ev;

	while (!q->db.failed) {
		TRY(export_next(q->j, &ev));
		if (!ev)
			break;
		put_event(q, ev);
		put_texts(q);
	}
	put_end(q);
	return NULL;
}

/* Appends the file to the export. */
static struct err *copy_out(struct export_job *j, int fd)
{
	enum { PART = 1 << 20 };
	char *part = xmalloc(PART);
	ssize_t n;

	while ((n = read(fd, part, PART)) > 0 && fwrite(part, 1, (size_t)n, j->f) == (size_t)n)
		continue;
	free(part);
	return n ? err_sys(errno, "cannot write the export") : NULL;
}

static struct err *make(struct export_job *j, const char *path, int fd)
{
	struct sqlite q = {.j = j};
	struct err *e;

	db_open(&q.db, path, fd);
	e = put_all(&q);
	e = err_first(e, db_close(&q.db));
	text_table_free(&q.texts);
	free(q.stacks.at);
	return e;
}

/* The name of the file that the export goes to, when it is an empty one that pages can be written
 * to at their places, so that none has to be written twice; heap. NULL: it is none. */
static char *own_file(const struct export_job *j, int fd)
{
	char path[PATH_MAX], *link = xasprintf("/proc/self/fd/%d", fd);
	const ssize_t n = readlink(link, path, sizeof path - 1);
	const int flags = fcntl(fd, F_GETFL);
	struct stat here, there;

	free(link);
	if (n <= 0 || flags < 0 || flags & O_APPEND || ftello(j->f) || fstat(fd, &here))
		return NULL;
	path[n] = 0;
	if (!S_ISREG(here.st_mode) || here.st_size || here.st_nlink != 1 || stat(path, &there) ||
		here.st_dev != there.st_dev || here.st_ino != there.st_ino ||
		access(path, R_OK | W_OK))
		return NULL;
	return xstrdup(path);
}

static struct err *make_there(struct export_job *j, const char *path, int fd)
{
	TRY(make(j, path, fd));
	return fseeko(j->f, 0, SEEK_END) ? err_sys(errno, "cannot write the export") : NULL;
}

/* By way of a file of its own. */
static struct err *make_elsewhere(struct export_job *j)
{
	const char *dir = getenv("TMPDIR");
	char *path = xasprintf("%s/tsdb-export-XXXXXX", dir && *dir ? dir : "/var/tmp");
	const int fd = mkstemp(path);
	struct err *e = fd < 0 ? err_sys(errno, "cannot make %s", path) : make(j, path, fd);

	if (!e)
		e = copy_out(j, fd);
	if (fd >= 0) {
		close(fd);
		unlink(path);
	}
	free(path);
	return e;
}

struct err *export_sqlite(struct export_job *j)
{
	const int fd = fileno(j->f);
	char *path = own_file(j, fd);
	struct err *e = path ? make_there(j, path, fd) : make_elsewhere(j);

	free(path);
	return e;
}
