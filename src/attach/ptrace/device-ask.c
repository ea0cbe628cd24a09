/* SPDX-License-Identifier: Apache-2.0
 *
 * Asks at a stop what the device has finished: see struct tsdb_look in wire.h. The program's
 * threads stand still meanwhile, so what is seen belongs to one moment of the host.
 */
#include "attach/drain/drain.h"
#include "attach/ptrace/inferior.h"

#include <limits.h>
#include <linux/futex.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "base/monotonic.h"

#define END(text) ((text)[sizeof(text) - 1] = 0)

struct waiting {
	struct tsdb_look *l;
	uint32_t asked;
	uint64_t until; /* monotonic ms; 0: for the answer */
};

static bool is_over(void *arg)
{
	const struct waiting *w = arg;

	if (w->until)
		return monotonic_ms() >= w->until;
	return atomic_load(&w->l->answered) == w->asked;
}

static uint32_t at_most(uint32_t n, uint32_t most)
{
	return n < most ? n : most;
}

/* What the inferior wrote becomes sound. */
static void take(struct tsdb_look *ret, const struct tsdb_look *l)
{
	memcpy(ret, l, sizeof(*ret));
	ret->nquestions = at_most(ret->nquestions, TSDB_LOOK_QUESTIONS);
	if (!ret->is_soft)
		memset(&ret->soft, 0, sizeof(ret->soft));
	ret->soft.nstreams = at_most(ret->soft.nstreams, SOFT_LOOK_STREAMS);
	ret->soft.nkernels = at_most(ret->soft.nkernels, SOFT_LOOK_KERNELS);
	for (uint32_t i = 0; i < ret->soft.nkernels; i++) {
		struct soft_look_kernel *k = &ret->soft.kernel[i];

		END(k->name);
		k->nplaces = at_most(k->nplaces, SOFT_LOOK_PLACES);
		k->nreads = at_most(k->nreads, SOFT_LOOK_READS);
		for (uint32_t n = 0; n < k->nplaces; n++)
			END(k->place[n].file);
		for (uint32_t n = 0; n < k->nreads; n++)
			k->read[n].place = at_most(k->read[n].place, SOFT_LOOK_PLACES - 1);
	}
}

static bool ask(struct inferior *inf, struct tsdb_look *ret, unsigned timeout_ms)
{
	struct tsdb_look *l = &inf->control->look;
	struct waiting w = {.l = l};

	memcpy(l->question, ret->question, sizeof(l->question));
	l->nquestions = ret->nquestions;
	l->soft_ms = ret->soft_ms;
	atomic_store(&l->at, 0);
	w.asked = atomic_fetch_add(&l->asked, 1) + 1;
	(void)syscall(SYS_futex, &l->asked, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
	if (!stops_run_device(inf, is_over, &w, (int)timeout_ms)) {
		atomic_store(&ret->at, atomic_load(&l->at));
		return false;
	}
	take(ret, l);
	return true;
}

bool inferior_look(
	struct inferior *inf, struct tsdb_look *ret, unsigned apart_ms, unsigned timeout_ms)
{
	struct tsdb_look *l = inf->control ? &inf->control->look : NULL;
	struct waiting apart = {.l = l};

	if (!inf->alive || inf->running || !l || !atomic_load(&l->there) ||
		atomic_load(&l->asked) != atomic_load(&l->answered))
		return false;
	if (apart_ms)
		memcpy(&ret[1], &ret[0], sizeof(*ret));
	if (!ask(inf, &ret[0], timeout_ms))
		return false;
	if (!apart_ms)
		return true;
	apart.until = monotonic_ms() + apart_ms;
	(void)stops_run_device(inf, is_over, &apart, (int)(apart_ms + 1000));
	return !inf->died && ask(inf, &ret[1], timeout_ms);
}

uint64_t inferior_seq_of(const struct inferior *inf, uint32_t corr)
{
	return inf->drain ? drain_join_seq(&inf->drain->join, inf->drain->epoch, corr) : 0;
}
