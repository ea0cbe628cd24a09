/* SPDX-License-Identifier: Apache-2.0
 *
 * Probes in kernels, see soft-settings.h. A replay executes its window once more for them, with
 * nothing else on the way, so each launch is counted once, wherever the user is. A live program
 * maps a file of ours; one process counts there, the first that loads the software GPU.
 */
#include "engine/soft-settings.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "engine/kernel-lines.h"
#include "engine/trace/probe-names.h"
#include "engine/replay-device.h"
#include "replay/replay.h"
#include "sbt/sbt.h"
#include "symbols/elf-facts.h"
#include "lang/lang.h"

struct probes {
	struct probe v[SOFT_PROBES_MAX];
	unsigned n, last_id;
	struct lang *l; /* of variables in their expressions; NULL: not needed yet */
	char *path;	/* of the live program's file; NULL: none */
	struct soft_probe_area *area;
};

void probe_free(struct probe *p)
{
	free(p->kernel);
	free(p->file);
	free(p->expr);
	free(p->condition);
}

static void close_area(struct probes *p)
{
	if (p->area)
		munmap(p->area, sizeof *p->area);
	if (p->path)
		unlink(p->path);
	free(p->path);
	p->path = NULL;
	p->area = NULL;
}

void probes_free(struct probes *p)
{
	if (!p)
		return;
	close_area(p);
	if (p->l)
		lang_free(p->l);
	for (unsigned i = 0; i < p->n; i++)
		probe_free(&p->v[i]);
	free(p);
}

const struct probe *probes_nth(const struct engine *en, unsigned i)
{
	return en->probes && i < en->probes->n ? &en->probes->v[i] : NULL;
}

/* --- as the software GPU takes them --- */

static void put(char *dst, size_t n, const char *text)
{
	if (text)
		strncpy(dst, text, n - 1);
}

static void fill(const struct probe *p, struct soft_probe *to)
{
	memset(to, 0, sizeof *to);
	to->id = p->id;
	to->kind = p->kind;
	to->line = p->line;
	put(to->kernel, sizeof to->kernel, p->kernel);
	put(to->file, sizeof to->file, p->file);
	put(to->expr, sizeof to->expr, p->expr);
	put(to->condition, sizeof to->condition, p->condition);
}

/* With the source's variables; a trace that cannot be read has none. */
static void fill_named(struct engine *en, const struct probe *p, bool replay, struct soft_probe *to)
{
	char *program = !replay && en->live.program ? program_find(en->live.program) : NULL;
	struct err *e;

	fill(p, to);
	if (!en->probes->l)
		en->probes->l = lang_new();
	e = probe_names_fill(en->probes->l, replay ? en->trace.reader : NULL, program, to);
	err_free(e);
	free(program);
}

/* Writes them where the live program reads them; no kernel of it runs. */
static void give_live(struct engine *en)
{
	struct probes *p = en->probes;
	struct soft_probe_area *a = p->area;

	if (!a)
		return;
	a->n = 0;
	for (unsigned i = 0; i < p->n; i++)
		fill_named(en, &p->v[i], false, &a->probe[i]);
	memset(a->slot, 0, sizeof a->slot);
	atomic_fetch_add(&a->generation, 1);
	a->n = p->n;
}

const char *probes_file(struct engine *en)
{
	struct probes *p = en->probes;
	const char *dir = getenv("TMPDIR");
	int fd;

	if (!p || !p->n)
		return NULL;
	if (p->path) {
		p->area->owner = 0; /* of a program that runs anew */
		give_live(en);
		return p->path;
	}
	p->path = xasprintf("%s/tsdb-probes-XXXXXX", dir && *dir == '/' ? dir : "/tmp");
	fd = mkostemp(p->path, O_CLOEXEC);
	if (fd >= 0 && !ftruncate(fd, sizeof *p->area)) {
		void *a = mmap(NULL, sizeof *p->area, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

		p->area = a == MAP_FAILED ? NULL : a;
	}
	if (fd >= 0)
		close(fd);
	if (!p->area) {
		close_area(p);
		return NULL;
	}
	p->area->magic = SOFT_PROBE_MAGIC;
	p->area->size = sizeof *p->area;
	give_live(en);
	return p->path;
}

/* --- setting --- */

/* Checks that some kernel of the trace has such a line; one that is not known counts as there. */
static struct err *check_place(struct engine *en, const struct probe *p)
{
	struct kernel_lines l;
	bool found = false, kernel = false, lines = false;

	if (!en->trace.reader)
		return NULL;
	TRY(kernel_lines_of_trace(en->trace.reader, &l));
	for (unsigned i = 0; i < l.n && !found; i++) {
		char name[SOFT_NAME];

		sbt_kernel_short_name(name, sizeof name, l.v[i].kernel);
		if (p->kernel && !sbt_kernel_glob(p->kernel, l.v[i].kernel, name))
			continue;
		kernel = true;
		lines |= l.v[i].file != NULL;
		found = l.v[i].file && l.v[i].line >= p->line;
	}
	kernel_lines_free(&l);
	if (found)
		return NULL;
	if (kernel && !lines)
		return err_cure(err_new(ERR_INCOMPLETE, "the PTX of %s has no lines of its source",
					p->kernel ? p->kernel : "the kernels"),
			"Build with \"nvcc -lineinfo\" or \"nvcc -G\"");
	if (kernel)
		return err_cure(
			err_new(ERR_NOT_FOUND, "neither line %u nor any behind it is in a kernel",
				p->line),
			"Choose a line before it; \"list KERNEL\" shows them");
	return err_cure(err_new(ERR_NOT_FOUND, "the trace has no PTX of a kernel %s", p->kernel),
		"\"info kernels\" lists the kernels");
}

static struct err *check_lengths(const struct probe *p)
{
	const char *const texts[] = {p->kernel, p->file, p->expr, p->condition};

	for (unsigned i = 0; i < 4; i++)
		if (texts[i] && strlen(texts[i]) >= SOFT_TEXT)
			return err_new(ERR_LIMIT, "\"%.20s...\" is longer than %d characters",
				texts[i], SOFT_TEXT - 1);
	return NULL;
}

struct err *probes_add(struct engine *en, struct probe p, unsigned *ret_id)
{
	struct probes *all = en->probes;
	struct err *e = check_lengths(&p);

	if (!all)
		all = en->probes = xcalloc(1, sizeof *all);
	if (!e && all->n == SOFT_PROBES_MAX)
		e = err_cure(err_new(ERR_LIMIT, "there are at most %d probes", SOFT_PROBES_MAX),
			"\"unprobe N\" removes one");
	if (!e)
		e = check_place(en, &p);
	if (e) {
		probe_free(&p);
		return e;
	}
	p.id = *ret_id = ++all->last_id;
	all->v[all->n++] = p;
	give_live(en);
	return NULL;
}

bool probes_remove(struct engine *en, unsigned id)
{
	struct probes *p = en->probes;
	unsigned k = 0;

	while (p && k < p->n && p->v[k].id != id)
		k++;
	if (!p || k == p->n)
		return false;
	probe_free(&p->v[k]);
	memmove(&p->v[k], &p->v[k + 1], (p->n - k - 1) * sizeof *p->v);
	p->n--;
	give_live(en);
	return true;
}

/* --- results --- */

static struct err *of_live(struct engine *en, struct soft_probe_result *ret)
{
	const struct probes *p = en->probes;

	if (en->live.inf && !en->live.soft)
		return err_cure(err_new(ERR_UNSUPPORTED, "probes need the software GPU"),
			"Use \"run --gpu soft\", or record the program and probe its replay with \"replay start --on soft\"");
	if (!p->area)
		return err_cure(err_new(ERR_STATE, "the program was started before it had probes"),
			"\"run\" starts it with them");
	for (unsigned i = 0; i < p->n; i++) {
		const struct soft_probe_slot *s = &p->area->slot[i];

		ret[i] = s->result[atomic_load(&s->now) & 1];
		if (ret[i].nkeys > SOFT_PROBE_KEYS)
			ret[i].nkeys = SOFT_PROBE_KEYS;
	}
	return NULL;
}

/* Executes the window from its beginning with the probes. */
static struct err *execute(struct engine *en, struct replay_device *rd, const struct soft_probe *s,
	struct soft_probe_result *ret)
{
	const unsigned n = en->probes->n;
	struct replay_stop stop;

	TRY(replay_goto(en->trace.replay, rd->first > 1 ? rd->first - 1 : 0, &stop));
	TRY(device_probes(rd->d, s, n));
	struct err *e = replay_goto(en->trace.replay, rd->last, &stop), *off;

	if (!e)
		e = device_probed(rd->d, ret, n);
	off = device_probes(rd->d, NULL, 0);
	if (!e)
		return off;
	err_free(off);
	return e;
}

static struct err *of_replay(struct engine *en, struct soft_probe_result *ret)
{
	struct replay_device *rd;
	struct soft_probe *s;
	struct replay_stop stop;
	uint64_t was;

	if (en->trace.device && !en->trace.device->soft)
		return err_cure(err_new(ERR_UNSUPPORTED, "probes need the software GPU"),
			"Use \"replay start --on soft\"");
	TRY(replay_device_need(en, "probes", &rd));
	if (!rd->soft)
		return err_cure(err_new(ERR_UNSUPPORTED, "probes need the software GPU"),
			"Use \"replay start --on soft\"");
	was = replay_seq(en->trace.replay);
	s = xcalloc(en->probes->n, sizeof *s);
	for (unsigned i = 0; i < en->probes->n; i++)
		fill_named(en, &en->probes->v[i], true, &s[i]);
	struct err *e = execute(en, rd, s, ret), *back = replay_goto(en->trace.replay, was, &stop);

	free(s);
	if (!e)
		return back;
	err_free(back);
	return e;
}

struct err *probes_results(struct engine *en, bool replay, struct soft_probe_result **ret)
{
	struct err *e;

	*ret = NULL;
	if (!en->probes || !en->probes->n)
		return err_cure(err_new(ERR_STATE, "there are no probes"),
			"For example: probe matmul:25 count");
	*ret = xcalloc(en->probes->n, sizeof **ret);
	e = replay ? of_replay(en, *ret) : of_live(en, *ret);
	if (e) {
		free(*ret);
		*ret = NULL;
	}
	return e;
}
