/* SPDX-License-Identifier: Apache-2.0
 *
 * A comparison of numbers from beginning to end: both devices go through their windows together,
 * pair by pair.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "base/first-where.h"
#include "numeric/core/numeric-private.h"
#include "sbt/memory.h"
#include "state/state.h"

enum { BUFFER = 1 << 20 };

const char *numeric_kind_name(enum numeric_kind kind)
{
	static const char *const names[NUMERIC_KINDS] = {
		"origin", "arguments", "host", "structure", "heir", "start", "unsteady", "unsure"};

	return (unsigned)kind < NUMERIC_KINDS ? names[kind] : "?";
}

const char *numeric_proof_name(enum numeric_proof proof)
{
	static const char *const names[] = {"not_tried", "stays", "goes", "cannot"};

	return (unsigned)proof < sizeof names / sizeof *names ? names[proof] : "?";
}

static bool is_cause(enum numeric_kind kind)
{
	return kind != NUMERIC_HEIR && kind != NUMERIC_UNSTEADY;
}

bool numeric_same(const struct numeric *r)
{
	for (unsigned k = 0; k < NUMERIC_KINDS; k++)
		if (is_cause((enum numeric_kind)k) && r->by_kind[k])
			return false;
	return !r->by_kind[NUMERIC_HEIR] || r->by_kind[NUMERIC_UNSTEADY];
}

const struct numeric_finding *numeric_origin(const struct numeric *r)
{
	for (size_t i = 0; i < r->n; i++)
		if (is_cause(r->f[i].kind))
			return &r->f[i];
	return NULL;
}

const struct numeric_finding *numeric_unexplained(const struct numeric *r)
{
	if (numeric_same(r) || numeric_origin(r))
		return NULL;
	for (size_t i = 0; i < r->n; i++)
		if (r->f[i].kind == NUMERIC_HEIR)
			return &r->f[i];
	return NULL;
}

void numeric_free(struct numeric *r)
{
	for (size_t i = 0; i < r->n; i++) {
		places_free(r->f[i].places, r->f[i].nplaces);
		free(r->f[i].why_not);
	}
	free(r->f);
	places_free(r->start, r->nstart);
	*r = (struct numeric){0};
}

/* --- where a differing input comes from --- */

/* The last command before seq that wrote the byte; 0: none in the window. */
static uint64_t last_writer(const struct numeric_side *s, uint64_t addr, uint64_t seq)
{
	for (size_t i = FIRST_WHERE(s->nwork, k, s->work[k].seq >= seq); i--;) {
		const struct work *w = &s->work[i];

		for (size_t k = 0; k < w->nwrites; k++)
			if (addr - s->spans[w->writes + k].addr < s->spans[w->writes + k].size)
				return w->seq;
	}
	return 0;
}

static bool are_pair(const struct numeric_ask *ask, uint64_t a, uint64_t b)
{
	const size_t at = FIRST_WHERE(ask->npairs, k, ask->pairs[k].a >= a);

	return a && b && at < ask->npairs && ask->pairs[at].a == a && ask->pairs[at].b == b;
}

static const struct numeric_finding *finding_at(const struct numeric *r, uint64_t a)
{
	for (size_t i = r->n; i--;)
		if (r->f[i].a == a)
			return &r->f[i];
	return NULL;
}

static bool began_different(const struct numeric_job *j, uint32_t area)
{
	for (size_t i = 0; i < j->ret->nstart; i++)
		if (j->ret->start[i].addr_a == j->a.areas[area].addr)
			return true;
	return false;
}

static enum numeric_kind kind_of_heir(
	struct numeric_job *j, const struct bytes_result *in, struct numeric_finding *f)
{
	const struct area *a = &j->a.areas[in->area];

	f->from_a = last_writer(&j->a, a->addr + in->off, f->a);
	f->from_b = last_writer(&j->b, j->b.areas[a->twin].addr + in->off, f->b);
	if (!j->ret->exact) /* copies' writes are not known */
		return NUMERIC_HEIR;
	if (!f->from_a && !f->from_b)
		return began_different(j, in->area) ? NUMERIC_START : NUMERIC_HOST;
	if (!are_pair(j->ask, f->from_a, f->from_b))
		return NUMERIC_STRUCTURE;
	/* behind a pair that left the same there only the program can have written */
	return finding_at(j->ret, f->from_a) || j->ret->n == NUMERIC_MAX ? NUMERIC_HEIR
									 : NUMERIC_HOST;
}

/* --- one pair --- */

enum replayer_as numeric_type_for(const struct numeric_job *j, const struct work *w)
{
	const struct state *end;
	struct state_kernel k;
	struct err *e;

	if (j->ask->as != REPLAYER_AS_AUTO || w->kind != SBT_LAUNCH)
		return j->ask->as;
	e = engine_end_state((struct engine *)&j->a.en, &end);
	if (!e && state_kernel_by_id(end, w->kernel, &k))
		return values_type_of(k.name);
	err_free(e);
	return REPLAYER_AS_AUTO;
}

static void add_finding(struct numeric_job *j, struct numeric_finding *f, struct bytes_result *out)
{
	struct numeric *r = j->ret;

	r->by_kind[f->kind]++;
	if (r->n == NUMERIC_MAX)
		return;
	f->places = out->places;
	f->nplaces = out->nplaces;
	out->places = NULL;
	out->nplaces = 0;
	MAKE_ROOM(r->f, r->n, j->cap);
	r->f[r->n++] = *f;
}

/* What the pair is, of which something differs. all_same: where reads are not known, whether all
 * other memory agreed before it, too. */
static enum numeric_kind kind_of(struct numeric_job *j, const struct work *a,
	const struct bytes_result *in, bool all_same, struct numeric_finding *f)
{
	if (in->bytes)
		return kind_of_heir(j, in, f);
	if (a->pageable)
		return NUMERIC_HOST;
	if (f->param != UINT32_MAX)
		return NUMERIC_ARGUMENTS;
	return all_same ? NUMERIC_ORIGIN : NUMERIC_UNSURE;
}

static struct err *inputs(struct numeric_job *j, const struct work *a, const struct work *b,
	struct bytes_result *in, bool *ret_all_same)
{
	struct extents x = extents_of_pair(j, a, b, EXTENTS_READ), all = {0};
	struct bytes_result rest = {0};
	struct err *e = bytes_compare(j, &x, false, REPLAYER_AS_AUTO, in);

	*ret_all_same = !x.unknown && !a->cut && !b->cut;
	if (!*ret_all_same)
		j->ret->left.unknown++;
	if (!e && !j->ret->exact && !in->bytes) {
		all = extents_of_all(j);
		e = bytes_compare(j, &all, false, REPLAYER_AS_AUTO, &rest);
		*ret_all_same &= !rest.bytes;
	}
	free(x.e);
	free(all.e);
	return e;
}

static struct err *outputs(
	struct numeric_job *j, const struct work *a, const struct work *b, struct bytes_result *out)
{
	struct extents x = extents_of_pair(j, a, b, EXTENTS_WRITTEN);
	struct err *e = bytes_compare(j, &x, true, numeric_type_for(j, a), out);

	free(x.e);
	return e;
}

static struct err *kept_back(struct numeric_job *j, uint64_t a, uint64_t b, bool *ret)
{
	uint64_t wait_a = 0, wait_b = 0;

	TRY(device_kept(j->a.en.trace.device->d, a, &wait_a, NULL));
	TRY(device_kept(j->b.en.trace.device->d, b, &wait_b, NULL));
	*ret = wait_a || wait_b;
	return NULL;
}

static struct err *seek_both(struct numeric_job *j, uint64_t a, uint64_t b)
{
	TRY(device_seek(j->a.en.trace.device->d, a));
	return device_seek(j->b.en.trace.device->d, b);
}

static void judge_pair(struct numeric_job *j, const struct work *a, const struct work *b,
	const struct bytes_result *in, struct bytes_result *out, bool all_same)
{
	struct numeric_finding f = {.a = a->seq,
		.b = b->seq,
		.input_bytes = in->bytes,
		.param = args_differ(j, a, b),
		.code_same = a->code_hash && a->code_hash == b->code_hash};

	j->ret->pairs++;
	if (!out->bytes && !(in->bytes && a->kind == SBT_COPY)) {
		j->ret->same++;
		j->ret->absorbed += in->bytes != 0;
		return;
	}
	f.kind = kind_of(j, a, in, all_same, &f);
	add_finding(j, &f, out);
}

static struct err *compare_pair(struct numeric_job *j, const struct work *a, const struct work *b)
{
	struct bytes_result in = {0}, out = {0};
	bool all_same, kept;
	struct err *e;

	side_live(&j->a, a->seq);
	side_live(&j->b, b->seq);
	TRY(seek_both(j, a->seq - 1, b->seq - 1));
	TRY(inputs(j, a, b, &in, &all_same));
	TRY(seek_both(j, a->seq, b->seq));
	TRY(kept_back(j, a->seq, b->seq, &kept));
	if (kept) {
		j->ret->left.kept_back++;
		return NULL;
	}
	e = outputs(j, a, b, &out);
	if (!e)
		judge_pair(j, a, b, &in, &out, all_same);
	places_free(out.places, out.nplaces);
	return e;
}

/* --- all of them --- */

static struct err *compare_start(struct numeric_job *j)
{
	struct extents all;
	struct bytes_result r;
	struct err *e;

	side_live(&j->a, j->a.first);
	side_live(&j->b, j->b.first);
	TRY(seek_both(j, j->a.first - 1, j->b.first - 1));
	all = extents_of_all(j);
	e = bytes_compare(j, &all, true, j->ask->as, &r);
	free(all.e);
	j->ret->start = r.places;
	j->ret->nstart = r.nplaces;
	return e;
}

static struct work *in_window(const struct numeric_side *s, uint64_t seq)
{
	return seq >= s->first && seq <= s->last ? side_work(s, seq) : NULL;
}

static struct err *compare_pairs(struct numeric_job *j)
{
	const struct numeric_ask *ask = j->ask;

	for (size_t i = 0; i < ask->npairs; i++) {
		const struct work *a = in_window(&j->a, ask->pairs[i].a),
				  *b = in_window(&j->b, ask->pairs[i].b);

		if (!a || !b) {
			j->ret->left.outside += side_work(&j->a, ask->pairs[i].a) &&
						side_work(&j->b, ask->pairs[i].b);
			continue;
		}
		engine_progress(&j->a.en, "comparing command", a->seq, j->a.last);
		if (engine_cancelled(&j->a.en))
			return err_new(ERR_INTERRUPTED, "interrupted at #%" PRIu64, a->seq);
		TRY(compare_pair(j, a, b));
		j->ret->reached = a->seq;
	}
	return NULL;
}

/* Commands of the windows that no pair has. */
static void count_alone(struct numeric_job *j)
{
	uint64_t paired = 0;

	for (size_t i = 0; i < j->a.nwork; i++)
		j->ret->left.alone_a += j->a.work[i].seq >= j->a.first;
	for (size_t i = 0; i < j->b.nwork; i++)
		j->ret->left.alone_b += j->b.work[i].seq >= j->b.first;
	for (size_t i = 0; i < j->ask->npairs; i++)
		paired += in_window(&j->a, j->ask->pairs[i].a) &&
			  in_window(&j->b, j->ask->pairs[i].b);
	j->ret->left.alone_a -= paired;
	j->ret->left.alone_b -= paired;
}

static struct err *compare_all(struct numeric_job *j)
{
	TRY(side_learn(&j->a));
	TRY(side_learn(&j->b));
	TRY(compare_start(j));
	TRY(compare_pairs(j));
	TRY(numeric_control(j));
	TRY(numeric_prove(j));
	return numeric_spread(j);
}

static unsigned more_windows(const struct numeric_side *s)
{
	uint64_t first, last;
	unsigned n = 1;

	while (sbt_reader_window(s->en.trace.reader, n, &first, &last))
		n++;
	return n - 1;
}

static struct err *open_both(struct numeric_job *j)
{
	struct numeric *r = j->ret;

	TRY(side_open(&j->a, j->ask, false));
	TRY(side_open(&j->b, j->ask, true));
	r->first_a = j->a.first;
	r->last_a = j->a.last;
	r->first_b = j->b.first;
	r->last_b = j->b.last;
	r->device_a = replay_device_name(j->a.en.trace.device);
	r->device_b = replay_device_name(j->b.en.trace.device);
	r->exact = j->a.en.trace.device->watches && j->b.en.trace.device->watches;
	r->left.windows_a = more_windows(&j->a);
	r->left.windows_b = more_windows(&j->b);
	areas_pair(&j->a, &j->b, j->ask->pairs, j->ask->npairs);
	count_alone(j);
	j->reported_unpaired = xcalloc(j->a.nareas + 1, sizeof *j->reported_unpaired);
	j->buf_a = xmalloc(BUFFER);
	j->buf_b = xmalloc(BUFFER);
	return NULL;
}

struct err *numeric_run(struct numeric *ret, const struct numeric_ask *ask)
{
	struct numeric_job *j = xcalloc(1, sizeof *j);
	struct err *e;

	*ret = (struct numeric){0};
	j->ask = ask;
	j->ret = ret;
	e = open_both(j);
	if (!e)
		e = compare_all(j);
	if (e && e->code == ERR_INTERRUPTED && ret->pairs) {
		ret->interrupted = true;
		err_free(e);
		e = NULL;
	}
	side_close(&j->a);
	side_close(&j->b);
	free(j->reported_unpaired);
	free(j->buf_a);
	free(j->buf_b);
	free(j);
	engine_progress_end(ask->en);
	if (e)
		numeric_free(ret);
	return e;
}
