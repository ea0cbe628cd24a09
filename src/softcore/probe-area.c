/* SPDX-License-Identifier: Apache-2.0
 *
 * The probes that are set, and what launches have counted and printed (replayer/soft-probe.h). They
 * lie in memory of this process, or in tsdb's file: that is opened when the library is loaded,
 * since a sandbox may come later.
 */
#include "softcore/probe-area.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* How long a kernel waits for tsdb to take what was printed. */
enum { WAIT_MS = 2000 };

static struct {
	pthread_mutex_t lock;		      /* of results */
	struct soft_probe_area *_Atomic area; /* NULL: there were never any probes */
} probes = {.lock = PTHREAD_MUTEX_INITIALIZER};
static atomic_ullong launches; /* that had probes */

static void __attribute__((constructor)) open_file(void)
{
	const char *path = getenv("TSDB_SOFT_PROBES");
	const int fd = path && *path ? open(path, O_RDWR | O_CLOEXEC) : -1;
	struct soft_probe_area *a = MAP_FAILED;
	struct stat st;
	int nobody = 0;

	if (fd >= 0 && !fstat(fd, &st) && (uint64_t)st.st_size >= sizeof(*a))
		a = mmap(NULL, sizeof(*a), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (fd >= 0)
		close(fd);
	if (a == MAP_FAILED)
		return;
	if (a->magic == SOFT_PROBE_MAGIC && a->size == sizeof(*a) &&
		(atomic_compare_exchange_strong(&a->owner, &nobody, getpid()) ||
			nobody == getpid()))
		probes.area = a;
	else
		munmap(a, sizeof(*a));
}

/* Whether there is room for one more; waits for it. */
static bool has_room(struct soft_probe_area *a)
{
	const struct timespec ms = {.tv_nsec = 1000000};

	for (unsigned k = 0;; k++) {
		if (atomic_load(&a->printed) - atomic_load(&a->taken) < SOFT_PRINTS)
			return true;
		/* once none was taken in time, prints wait no more until some are taken */
		if (!a->owner || k == WAIT_MS || atomic_load(&a->lost))
			return false;
		nanosleep(&ms, NULL);
	}
}

static void print(void *arg, const struct soft_print *r)
{
	const struct launch_probes *lp = arg;
	struct soft_probe_area *a = probes.area;
	uint64_t at;

	pthread_mutex_lock(&probes.lock);
	if (atomic_load(&a->generation) == lp->generation) {
		if (has_room(a)) {
			at = atomic_load(&a->printed);
			a->print[at % SOFT_PRINTS] = *r;
			a->print[at % SOFT_PRINTS].launch = lp->launch;
			atomic_store(&a->printed, at + 1);
		} else {
			atomic_fetch_add(&a->lost, 1);
		}
	}
	pthread_mutex_unlock(&probes.lock);
}

bool probes_take(struct launch_probes *lp)
{
	struct soft_probe_area *a = atomic_load_explicit(&probes.area, memory_order_relaxed);
	unsigned count;

	lp->b = NULL;
	lp->copy = NULL;
	if (!a || !a->n)
		return false;
	if (a->owner && a->owner != getpid()) /* of the process that this one was forked from */
		return false;
	count = a->n < SOFT_PROBES_MAX ? a->n : SOFT_PROBES_MAX;
	lp->generation = atomic_load(&a->generation);
	lp->copy = malloc(count * sizeof(*lp->copy));
	if (!lp->copy)
		return false;
	memcpy(lp->copy, a->probe, count * sizeof(*lp->copy));
	for (unsigned k = 0; k < count; k++) {
		struct soft_probe *p = &lp->copy[k];

		p->kernel[sizeof(p->kernel) - 1] = p->file[sizeof(p->file) - 1] = 0;
		p->expr[sizeof(p->expr) - 1] = p->condition[sizeof(p->condition) - 1] = 0;
		for (unsigned j = 0; j < SOFT_PROBE_ROWS; j++)
			p->row[j].expr[SOFT_TEXT - 1] = p->row[j].condition[SOFT_TEXT - 1] = 0;
	}
	lp->n = count;
	return true;
}

void probes_begin(struct launch_probes *lp, struct probed *b)
{
	lp->b = b;
	if (!b)
		return;
	lp->launch = atomic_fetch_add(&launches, 1) + 1;
	probed_prints(b, print, lp);
}

/* Results change as a whole: the one that is not shown is made, then shown. */
static void add(struct soft_probe_slot *s, struct probed *b, unsigned probe, uint32_t id)
{
	const unsigned now = atomic_load(&s->now) & 1;

	s->result[!now] = s->result[now];
	s->result[!now].id = id;
	probed_add(b, probe, &s->result[!now]);
	atomic_store(&s->now, !now);
}

void probes_end(struct launch_probes *lp)
{
	struct soft_probe_area *a = probes.area;

	if (!lp->copy)
		return;
	if (lp->b)
		probed_tell_left(lp->b);
	pthread_mutex_lock(&probes.lock);
	for (unsigned k = 0; lp->b && k < lp->n; k++)
		if (probed_has(lp->b, k) && atomic_load(&a->generation) == lp->generation)
			add(&a->slot[k], lp->b, k, lp->copy[k].id);
	pthread_mutex_unlock(&probes.lock);
	probed_free(lp->b);
	free(lp->copy);
}

void probes_set(const struct soft_probe *p, unsigned n)
{
	struct soft_probe_area *a;

	pthread_mutex_lock(&probes.lock);
	a = probes.area;
	if (!a && n)
		a = calloc(1, sizeof(*a));
	if (a) {
		a->n = 0;
		if (n)
			memcpy(a->probe, p, n * sizeof(*p));
		memset(a->slot, 0, sizeof(a->slot));
		atomic_fetch_add(&a->generation, 1);
		a->n = n;
		probes.area = a;
	}
	pthread_mutex_unlock(&probes.lock);
}

bool probes_result(unsigned i, struct soft_probe_result *ret)
{
	struct soft_probe_area *a = probes.area;

	memset(ret, 0, sizeof(*ret));
	if (!a || i >= a->n || i >= SOFT_PROBES_MAX)
		return false;
	pthread_mutex_lock(&probes.lock);
	*ret = a->slot[i].result[atomic_load(&a->slot[i].now) & 1];
	ret->id = a->probe[i].id;
	pthread_mutex_unlock(&probes.lock);
	return true;
}
