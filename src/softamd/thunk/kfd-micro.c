// SPDX-License-Identifier: Apache-2.0
//
// tsdb_soft_debug: the microscope as libhsakmt.so.1 offers it (replayer/soft-debug.h). A session
// waits for a dispatch of its kernel, which the runtime puts into a queue, and runs it on a thread
// of its own. The packet completes at once: for the runtime nothing is in flight, so that it
// answers while the launch stands, and hears of no fault that the user came to see.
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "replayer/soft-debug.h"
#include "softamd/micro/amd-micro.h"
#include "softamd/thunk/kfd-micro.h"

enum { BEGIN_MS = 60000 };
#define BLOCKS_MAX (1ull << 28)

static struct {
	pthread_mutex_t lock;
	struct soft_session *waits; /* for its dispatch; NULL: none */
	/* of the one session that runs */
	struct amd_dispatch d;
	pthread_t thread;
	bool joins; /* there is a thread */
} micro = {.lock = PTHREAD_MUTEX_INITIALIZER};
static bool any; /* atomic: a session waits */

/* --- the queue's side --- */

static void describe(void *arg, uint64_t address, char *text, size_t n)
{
	const struct kfd_queue *q = arg;

	kfd_describe(q->node, address, text, n);
}

static uint64_t groups(uint32_t items, uint32_t size)
{
	return ((uint64_t)(items ? items : 1) + (size ? size : 1) - 1) / (size ? size : 1);
}

/* Whether this is the dispatch that the session is for. */
static bool is_for(const struct soft_session *s, const struct amd_dispatch *d)
{
	char name[SOFT_NAME];

	for (unsigned k = 0; k < 3; k++)
		if (groups(d->grid[k], d->workgroup[k]) != s->grid[k] ||
			(d->workgroup[k] ? d->workgroup[k] : 1) != s->block[k])
			return false;
	kfd_kernel_name(d->kernel_object, name, sizeof(name));
	return !strcmp(name, s->kernel);
}

static void *run(void *arg)
{
	struct amd_fault fault = {0};

	amd_micro_ended(arg, amd_run(&micro.d, &fault) ? NULL : &fault);
	return NULL;
}

static bool start_thread(struct soft_session *s)
{
	sigset_t all, old;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	micro.joins = !pthread_create(&micro.thread, NULL, run, s);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return micro.joins;
}

bool kfd_micro_take(struct kfd_queue *q, const struct amd_dispatch *d)
{
	struct soft_session *s;
	struct amd_image *image;
	uint64_t bias = 0;

	if (!__atomic_load_n(&any, __ATOMIC_ACQUIRE))
		return false;
	pthread_mutex_lock(&micro.lock);
	s = micro.waits && is_for(micro.waits, d) ? micro.waits : NULL;
	if (s) {
		micro.waits = NULL;
		__atomic_store_n(&any, false, __ATOMIC_RELEASE);
	}
	pthread_mutex_unlock(&micro.lock);
	if (!s)
		return false;
	image = kfd_image_of(d->kernel_object, &bias);
	amd_micro_of(s)->describe = describe;
	amd_micro_of(s)->describe_arg = q;
	micro.d = *d;
	micro.d.report = NULL;
	amd_micro_begin(s, &micro.d, image, bias);
	if (!start_thread(s))
		micro_over(s, "the host has no thread for the launch");
	return true;
}

/* --- the debugger's side --- */

static const char *start(
	const struct soft_start *l, struct soft_session **ret, struct soft_stop *stop)
{
	const uint64_t blocks = (uint64_t)l->grid[0] * l->grid[1] * l->grid[2],
		       items = (uint64_t)l->block[0] * l->block[1] * l->block[2];

	*ret = NULL;
	memset(stop, 0, sizeof(*stop));
	if (!blocks || !items || items > 1024)
		return "a launch of that shape is not possible";
	if (blocks > BLOCKS_MAX)
		return "a launch of more than 2^28 blocks is too large to look into: each takes memory";
	if (l->first_block >= blocks)
		return "that block is not in the grid";
	if (l->cooperative || l->cluster[0])
		return "the software AMD GPU has no cooperative launches and no clusters";
	pthread_mutex_lock(&micro.lock);
	if (!micro.waits)
		micro.waits = *ret = amd_micro_new(l);
	__atomic_store_n(&any, micro.waits != NULL, __ATOMIC_RELEASE);
	pthread_mutex_unlock(&micro.lock);
	return *ret ? NULL : "the host has no memory for the launch, or another one is looked into";
}

/* True: the session still waited, and does not any more. */
static bool give_back(const struct soft_session *s)
{
	bool waited;

	pthread_mutex_lock(&micro.lock);
	waited = micro.waits == s;
	if (waited) {
		micro.waits = NULL;
		__atomic_store_n(&any, false, __ATOMIC_RELEASE);
	}
	pthread_mutex_unlock(&micro.lock);
	return waited;
}

static const char *begun(struct soft_session *s, struct soft_stop *stop)
{
	return micro_begun(s, BEGIN_MS, stop)
		       ? NULL
		       : "the runtime has not begun the launch within a minute";
}

static void end(struct soft_session *s)
{
	const bool waited = give_back(s);

	micro_abort(s);
	if (!waited)
		micro_wait_over(s);
	if (!waited && micro.joins)
		pthread_join(micro.thread, NULL);
	micro.joins = false;
	amd_micro_free(s);
}

KFD_PUBLIC const struct soft_debug *tsdb_soft_debug(void)
{
	static const struct soft_debug table = {.version = SOFT_DEBUG_VERSION,
		.size = sizeof(table),
		.start = start,
		.go = micro_go,
		.begun = begun,
		.points = micro_points,
		.focus = micro_focus,
		.ask = amd_micro_ask,
		.turns = micro_turns,
		.end = end,
		.put = amd_micro_put};

	return &table;
}
