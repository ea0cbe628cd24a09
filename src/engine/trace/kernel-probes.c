/* SPDX-License-Identifier: Apache-2.0
 *
 * Probes and messages in kernels, see soft-settings.h. A replay executes its window once more for
 * them, with nothing else on the way, so each launch is counted once, wherever the user is. A live
 * program maps a file that tsdb made; the first process that loads the software GPU counts there.
 */
#include "engine/soft-settings.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "engine/breakpoints.h"
#include "engine/kernel-lines.h"
#include "engine/trace/kernel-probes.h"
#include "engine/trace/probe-names.h"
#include "engine/replay-device.h"
#include "replay/replay.h"
#include "sbt/sbt.h"
#include "sbt/kernel-name.h"
#include "symbols/elf-facts.h"
#include "lang/lang.h"

struct probes {
	struct probe v[SOFT_PROBES_MAX];
	unsigned n, last_id;
	struct lang *l; /* of variables in their expressions; NULL: not needed yet */
	char *path;	/* of the live program's file; NULL: none */
	struct soft_probe_area *area;
	/* What the area has, before names are replaced, probes first. */
	struct soft_probe given[SOFT_PROBES_MAX];
	unsigned ngiven;
	bool shows; /* the last pass that was printed was shown, not ignored */
};

static struct probes *probes_of(struct engine *en)
{
	if (!en->probes)
		en->probes = xcalloc(1, sizeof *en->probes);
	return en->probes;
}

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

static void fill_message(struct engine *en, const struct breakpoint *bp, struct soft_probe *to)
{
	const uint64_t limit = en->set.number[SET_DPRINTF_LINES];

	memset(to, 0, sizeof *to);
	to->id = (uint32_t)bp->id;
	to->kind = SOFT_PROBE_PRINT;
	to->line = bp->line;
	to->limit = limit < UINT32_MAX ? (uint32_t)limit : 0;
	put(to->kernel, sizeof to->kernel, bp->glob);
	put(to->file, sizeof to->file, bp->file);
	put(to->expr, sizeof to->expr, breakpoint_message_values(bp));
	put(to->condition, sizeof to->condition, bp->cond);
}

/* Puts the source's variables in; a trace that cannot be read has none. */
void probes_add_names(struct engine *en, bool replay, struct soft_probe *to)
{
	char *program = !replay && en->live.program ? program_find(en->live.program) : NULL;
	struct probes *p = probes_of(en);
	struct err *e;

	if (!p->l)
		p->l = lang_new();
	e = probe_names_fill(p->l, replay ? en->trace.reader : NULL, program, to);
	err_free(e);
	free(program);
}

unsigned probes_messages(struct engine *en, struct soft_probe *v)
{
	const struct breakpoint *bp;
	unsigned n = 0;

	for (unsigned i = 0; (bp = breakpoints_nth(en->breaks, i)) != NULL; i++) {
		if (!bp->enabled || !breakpoint_is_in_kernel(bp) || !bp->file)
			continue;
		if (v && n < SOFT_PROBES_MAX)
			fill_message(en, bp, &v[n]);
		n++;
	}
	return n;
}

/* Makes p->given. Returns how many there would be with those that have no room. */
static unsigned collect(struct engine *en)
{
	struct probes *p = en->probes;
	struct soft_probe *messages = xcalloc(SOFT_PROBES_MAX, sizeof *messages);
	const unsigned n = probes_messages(en, messages), room = SOFT_PROBES_MAX - p->n;

	for (unsigned i = 0; i < p->n; i++)
		fill(&p->v[i], &p->given[i]);
	memcpy(p->given + p->n, messages, (n < room ? n : room) * sizeof *messages);
	p->ngiven = p->n + (n < room ? n : room);
	free(messages);
	return p->n + n;
}

/* Writes them where the live program reads them; no kernel of it runs. */
static void give_live(struct engine *en)
{
	struct probes *p = en->probes;
	struct soft_probe_area *a = p->area;

	if (!a)
		return;
	collect(en);
	a->n = 0;
	for (unsigned i = 0; i < p->ngiven; i++) {
		a->probe[i] = p->given[i];
		probes_add_names(en, false, &a->probe[i]);
	}
	memset(a->slot, 0, sizeof a->slot);
	atomic_fetch_add(&a->generation, 1);
	a->n = p->ngiven;
}

/* Whether what the program has is not what there is now; *ret_over: some have no room. */
static bool is_old(struct engine *en, bool *ret_over)
{
	struct probes *p = en->probes;
	struct soft_probe *was = xmalloc(sizeof p->given);
	const unsigned n = p->ngiven;
	bool old;

	memcpy(was, p->given, sizeof p->given);
	*ret_over = collect(en) > SOFT_PROBES_MAX;
	old = n != p->ngiven || memcmp(was, p->given, n * sizeof *was) != 0;
	free(was);
	return old;
}

struct err *kernel_prints_set(struct engine *en)
{
	bool over;

	if (!probes_messages(en, NULL) && !(en->probes && en->probes->ngiven))
		return NULL;
	if (!probes_of(en)->area)
		return err_cure(
			err_new(ERR_STATE,
				"the program was started before it had probes or messages inside kernels"),
			"\"run\" starts it with them");
	if (is_old(en, &over))
		give_live(en);
	return over ? err_cure(err_new(ERR_LIMIT,
				       "there are at most %d probes and messages inside kernels",
				       SOFT_PROBES_MAX),
			      "Delete some, or disable them")
		    : NULL;
}

/* A record on its way to the hook. */
struct printing {
	struct engine *en;
	const struct soft_print *r;
};

static void print_one(void *arg, struct breakpoint *bp)
{
	const struct printing *p = arg;

	probes_of(p->en)->shows = true;
	if (p->en->hooks.printed)
		p->en->hooks.printed(p->en->hooks.arg, bp, p->r);
}

void probes_tell_print(struct engine *en, const struct soft_print *r)
{
	struct breakpoint *bp =
		r->id <= INT32_MAX ? breakpoints_by_id(en->breaks, (int)r->id) : NULL;
	struct printing p = {en, r};

	if (!bp || !breakpoint_is_in_kernel(bp))
		return;
	if (!r->lanes) {
		bp->hits += r->passes;
		bp->left_out += r->left + r->lost;
		print_one(&p, bp);
	} else if (!r->more) {
		probes_of(en)->shows = false;
		breakpoints_say(en->breaks, bp->id, false, print_one, &p);
	} else if (probes_of(en)->shows) {
		print_one(&p, bp);
	}
}

/* The program can write anything into the area: no more is taken at once than it holds. */
void kernel_prints_take(struct engine *en)
{
	struct soft_probe_area *a = en->probes ? en->probes->area : NULL;
	uint64_t at = a ? atomic_load(&a->taken) : 0, lost;

	for (unsigned k = 0; a && k < SOFT_PRINTS && at < atomic_load(&a->printed); k++, at++) {
		const struct soft_print r = a->print[at % SOFT_PRINTS];

		atomic_store(&a->taken, at + 1);
		probes_tell_print(en, &r);
	}
	lost = a ? atomic_exchange(&a->lost, 0) : 0;
	if (lost && en->hooks.note) {
		char *text = xasprintf(
			"[%llu messages of kernels were lost: they came faster than they could be shown]",
			(unsigned long long)lost);

		en->hooks.note(en->hooks.arg, text);
		free(text);
	}
}

const char *probes_file(struct engine *en)
{
	struct probes *p = en->probes;
	const char *dir = getenv("TMPDIR");
	int fd;

	if (!(p && p->n) && !probes_messages(en, NULL))
		return NULL;
	p = probes_of(en);
	if (p->path) {
		p->area->owner = 0; /* of a program that runs anew */
		p->area->taken = p->area->printed = p->area->lost = 0;
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
		return err_cure(err_new(ERR_INCOMPLETE, "the code of %s has no lines of its source",
					p->kernel ? p->kernel : "the kernels"),
			"Build with \"nvcc -lineinfo\" or \"nvcc -G\", HIP programs with \"hipcc -gline-tables-only\" or \"-g\"");
	if (kernel)
		return err_cure(
			err_new(ERR_NOT_FOUND, "neither line %u nor any behind it is in a kernel",
				p->line),
			"Choose a line before it; \"list KERNEL\" shows them");
	return err_cure(err_new(ERR_NOT_FOUND, "the trace has no code of a kernel %s", p->kernel),
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
	struct probes *all = probes_of(en);
	struct err *e = check_lengths(&p);

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

	if (en->live.inf && !en->live.soft && !en->live.soft_amd)
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

/* Says it if memory is not as recorded behind a window that changed code executed. */
static void tell_differs(struct engine *en, const char *what, const struct device_verified *v)
{
	struct buf b = BUF_INIT;

	if (device_verified_ok(v) || !en->hooks.note)
		return;
	buf_printf(&b, "With the code that %s, memory is not as recorded: ", what);
	device_verified_print(&b, v);
	buf_str(&b, "\n\"replay verify\" says whether it is without that code.");
	en->hooks.note(en->hooks.arg, buf_cstr(&b));
	buf_free(&b);
}

struct err *probes_by_code(
	struct engine *en, const struct replay_device *rd, const struct probes_coded *how)
{
	struct replay_choice c = rd->choice;
	struct device_verified v = {0};
	struct replay_device *own;
	struct err *e;

	if (rd->hip)
		return err_cure(err_new(ERR_UNSUPPORTED,
					"%s by changed code change PTX, and this is a HIP trace",
					how->what),
			"\"set probes rewrite off\"");
	if (rd->what_if || rd->partial)
		return err_cure(
			err_new(ERR_UNSUPPORTED,
				"%s by changed code execute the window as it was recorded, and this replay was changed",
				how->what),
			"\"replay restart\" undoes that");
	c.on = rd->soft ? REPLAY_ON_SOFT : REPLAY_ON_REAL;
	c.any_device = c.any_device || rd->choice.on == REPLAY_ON_AUTO;
	c.overlap = false;
	c.probes = how->p;
	c.nprobes = how->n;
	TRY(replay_device_open(en, &c, &own));
	e = device_run(own->d, own->last, 0, 0, NULL);
	if (!e)
		e = how->take(how->arg, own->d);
	if (!e)
		e = device_verify(own->d, &v);
	if (!e)
		tell_differs(en, how->does, &v);
	device_verified_free(&v);
	device_close(own->d);
	replay_device_free(own);
	engine_progress_end(en);
	return e;
}

struct counted {
	struct soft_probe_result *v;
	unsigned n;
};

static struct err *take_counted(void *arg, struct device *d)
{
	const struct counted *c = arg;

	return device_probed(d, c->v, c->n);
}

static struct err *of_replay(struct engine *en, struct soft_probe_result *ret)
{
	struct replay_device *rd;
	struct soft_probe *s;
	struct replay_stop stop;
	bool changed;
	uint64_t was;

	TRY(replay_device_need(en, "probes", &rd));
	changed = !rd->shows || settings_on(&en->set, SET_PROBES_REWRITE);
	was = replay_seq(en->trace.replay);
	s = xcalloc(en->probes->n, sizeof *s);
	for (unsigned i = 0; i < en->probes->n; i++) {
		fill(&en->probes->v[i], &s[i]);
		probes_add_names(en, true, &s[i]);
	}
	if (changed) {
		struct counted c = {ret, en->probes->n};
		struct err *e = probes_by_code(en, rd,
			&(struct probes_coded){
				"probes", "counts", s, en->probes->n, take_counted, &c});

		free(s);
		return e;
	}
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
