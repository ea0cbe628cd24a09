/* SPDX-License-Identifier: Apache-2.0
 *
 * Whether what runs has moved between the two looks, and how that is known. On the software GPU by
 * what the kernel's warps did; where nothing can look inside, by samples of the memory that the
 * kernel was given. The surprise: memory that stays as it is says nothing, since a kernel may
 * compute for long before it writes.
 */
#include "engine/why/why-device.h"

#include <inttypes.h>
#include "engine/why/why-code.h"
#include "state/args.h"

#define SUMS_MAX 12u	/* allocations that are sampled at a look */
#define LAUNCHES_MAX 4u /* of a stream, from its head on, whose memory is sampled */

/* --- warps --- */

static uint32_t warps_of(const struct soft_look_kernel *k)
{
	return k->looping + k->waiting + k->moving + k->unknown;
}

static const char *plural(uint64_t n)
{
	return n == 1 ? "" : "s";
}

bool why_same_reads(const struct soft_look_kernel *a, const struct soft_look_kernel *b)
{
	if (a->nreads != b->nreads)
		return false;
	for (uint32_t i = 0; i < a->nreads; i++) {
		bool there = false;

		for (uint32_t k = 0; k < b->nreads; k++)
			there |= a->read[i].addr == b->read[k].addr &&
				 a->read[i].value == b->read[k].value;
		if (!there)
			return false;
	}
	return true;
}

static enum why_moved tell_running(const struct soft_look_kernel *k, const char *when, char **how)
{
	why_set(how,
		"%" PRIu32 " of its %" PRIu32 " warp%s, followed for %" PRIu64
		" instruction%s%s, change%s registers or memory as %s",
		k->moving, warps_of(k), plural(warps_of(k)), k->steps, plural(k->steps), when,
		k->moving == 1 ? "s" : "", k->moving == 1 ? "it goes" : "they go");
	return WHY_MOVED;
}

static enum why_moved tell_unknown(const struct soft_look_kernel *k, char **how)
{
	if (!k->whole)
		why_set(how, "not all of its blocks could be looked at in time");
	else if (k->unknown)
		why_set(how, "%" PRIu32 " of its warps could not be followed", k->unknown);
	else
		why_set(how, "all of its warps wait at barriers");
	return WHY_MOVED_UNKNOWN;
}

/* Whether every warp that is there is proven not to go on by itself. */
static bool is_still(const struct soft_look_kernel *k)
{
	return k->whole && !k->moving && !k->unknown && k->looping;
}

enum why_moved why_kernel_moved(
	const struct soft_look_kernel *first, const struct soft_look_kernel *second, char **how)
{
	if (!first) {
		why_set(how, "it began between the looks");
		return WHY_MOVED;
	}
	if (first->begun != second->begun) {
		why_set(how,
			"%" PRIu64 " of its %" PRIu64
			" blocks had begun at the first look, %" PRIu64 " at the second",
			first->begun, second->blocks, second->begun);
		return WHY_MOVED;
	}
	if (second->moving)
		return tell_running(second, "", how);
	if (first->moving)
		return tell_running(first, " at the first look", how);
	if (!is_still(first) || !is_still(second))
		return tell_unknown(is_still(first) ? second : first, how);
	if (!why_same_reads(first, second)) {
		why_set(how, "what it reads has changed between the looks");
		return WHY_MOVED;
	}
	why_set(how,
		"at both looks %s%" PRIu32
		" warp%s came back to the registers and memory that %s had, and changed no byte%s",
		second->waiting ? "" : "its ", second->looping, plural(second->looping),
		second->looping == 1 ? "it" : "they",
		second->waiting ? "; the others wait at a barrier" : "");
	return WHY_STILL;
}

/* --- memory that a launch was given --- */

struct given {
	const struct state *s;
	struct args_words words;
};

static struct given given_begin(const struct state *s, const struct sbt_cmd *launch)
{
	struct state_kernel k = {0};

	(void)state_kernel_by_id(s, (uint32_t)launch->u.launch.kernel, &k);
	return (struct given){.s = s, .words = args_words(launch->u.launch.args, k.params)};
}

/* The next allocation of device memory that an argument points into. */
static bool given_next(struct given *g, struct state_alloc *ret)
{
	uint64_t word;

	while (args_words_next(&g->words, &word))
		if (state_alloc_at(g->s, word, ret) &&
			why_code_kind_of(ret) == TSDB_ASK_DEVICE_BYTES)
			return true;
	return false;
}

static const struct tsdb_question *question_of(const struct tsdb_look *l, uint64_t addr)
{
	for (uint32_t i = 0; i < l->nquestions; i++)
		if (l->question[i].kind == TSDB_ASK_DEVICE_SUM && l->question[i].handle == addr)
			return &l->question[i];
	return NULL;
}

static void ask_sum(
	struct tsdb_look *l, const struct state *s, const struct state_alloc *a, unsigned *left)
{
	if (!*left || l->nquestions == TSDB_LOOK_QUESTIONS || question_of(l, a->addr))
		return;
	--*left;
	l->question[l->nquestions++] = (struct tsdb_question){.handle = a->addr,
		.ctx = why_code_context(s, a->ctx),
		.value = a->size,
		.kind = TSDB_ASK_DEVICE_SUM};
}

/* Calls fn for the stream's first launches, until it returns true; returns whether it did. */
static bool any_launch(const struct recorder *r, const struct state *s, uint32_t stream,
	bool (*fn)(void *arg, const struct sbt_cmd *launch), void *arg)
{
	enum state_status status;
	struct sbt_cmd brief, c;
	unsigned n = 0;

	for (unsigned k = 0; k < WHY_CODE_QUEUE && n < LAUNCHES_MAX &&
			     state_queue(s, stream, k, &brief, &status);
		k++) {
		if (brief.kind != SBT_LAUNCH || !why_code_command(r, brief.seq, &c))
			continue;
		if (fn(arg, &c))
			return true;
		n++;
	}
	return false;
}

struct asking {
	struct tsdb_look *l;
	const struct state *s;
	unsigned left;
};

static bool ask_given(void *arg, const struct sbt_cmd *launch)
{
	struct asking *a = arg;
	struct given g = given_begin(a->s, launch);
	struct state_alloc alloc;

	while (given_next(&g, &alloc))
		ask_sum(a->l, a->s, &alloc, &a->left);
	return false;
}

static bool may_run(const struct state_stream *st)
{
	return st->pending && !st->destroyed && !st->capturing && st->wait_event == SBT_NO_ID &&
	       st->wait_stream == SBT_NO_ID;
}

void why_sum_questions(struct tsdb_look *l, const struct recorder *r, const struct state *s)
{
	struct asking a = {.l = l, .s = s, .left = SUMS_MAX};
	struct state_stream st;

	for (unsigned i = 0; state_stream(s, i, &st); i++)
		if (may_run(&st))
			(void)any_launch(r, s, st.id, ask_given, &a);
}

struct changing {
	const struct why_device *d;
	struct state_alloc alloc; /* that has changed */
	uint64_t seq;		  /* of a launch that was given it */
};

static bool has_changed(void *arg, const struct sbt_cmd *launch)
{
	struct changing *c = arg;
	const struct live_look *look = c->d->look;
	struct given g = given_begin(c->d->state, launch);

	c->seq = launch->seq;
	while (given_next(&g, &c->alloc)) {
		const struct tsdb_question *a = question_of(&look->look[0], c->alloc.addr),
					   *b = question_of(&look->look[1], c->alloc.addr);

		if (a && b && a->answer == TSDB_ANSWER_DONE && b->answer == TSDB_ANSWER_DONE &&
			a->value != b->value && !why_is_shared(c->d, c->alloc.addr, &c->alloc))
			return true;
	}
	return false;
}

/* The only stream at whose commands the device may be: nobody else can have written then. */
static bool runs_alone(const struct why_device *d, uint32_t stream)
{
	struct state_stream st;

	for (unsigned i = 0; state_stream(d->state, i, &st); i++)
		if (may_run(&st) && st.id != stream)
			return false;
	return true;
}

void why_memory_moves(struct why_device *d, uint32_t stream, uint32_t node)
{
	struct changing c = {.d = d};
	struct why_node *n = why_at(d->w, node);

	if (!n || !d->look || !d->look->two || d->look->look[1].is_soft)
		return;
	if (!runs_alone(d, stream)) {
		why_set(&n->moved_by, "the driver says only that it has not finished");
	} else if (any_launch(d->en->live.recorder, d->state, stream, has_changed, &c)) {
		n->moved = WHY_MOVED;
		why_set(&n->moved_by,
			"memory at 0x%" PRIx64 ", which #%" PRIu64
			" was given, has changed between the looks, and no other stream runs",
			c.alloc.addr, c.seq);
	} else {
		why_set(&n->moved_by,
			"the driver says only that it has not finished, and samples of the memory that it was given are as they were");
	}
}
