/* SPDX-License-Identifier: Apache-2.0
 *
 * tsdb_soft_look(): where every stream is, and what the kernels in flight do. It is called while
 * the program's threads stand still, perhaps inside a call of this library; so it waits for no lock
 * that such a thread may hold.
 */
#include "softgpu/driver/drv.h"
#include "softgpu/machine/ptx-look.h"

#include <string.h>
#include <time.h>

#define TRIES 1000
#define NAP_NS 100000

static bool try_lock(void)
{
	for (unsigned k = 0; pthread_mutex_trylock(&drv_lock); k++) {
		if (k == TRIES)
			return false;
		nanosleep(&(struct timespec){0, NAP_NS}, NULL);
	}
	return true;
}

static uint64_t handle_of(const struct stream *s)
{
	return s->legacy ? 0 : (uint64_t)(uintptr_t)s;
}

static uint64_t owner_of(const struct timeline *tl)
{
	for (struct stream *s = obj_next(OBJ_STREAM, NULL); s; s = obj_next(OBJ_STREAM, s))
		if (s->tl == tl)
			return handle_of(s);
	return 0;
}

static void look_at_streams(struct soft_look *ret)
{
	const struct timeline *behind;

	for (struct stream *s = obj_next(OBJ_STREAM, NULL); s; s = obj_next(OBJ_STREAM, s)) {
		struct soft_look_stream *to = &ret->stream[ret->nstreams];

		if (ret->nstreams == SOFT_LOOK_STREAMS) {
			ret->cut = 1;
			return;
		}
		timeline_look(s->tl, to, &behind);
		to->handle = handle_of(s);
		to->ctx = (uint64_t)(uintptr_t)s->ctx;
		to->behind = to->waits ? owner_of(behind) : 0;
		ret->nstreams++;
	}
}

void tsdb_soft_look(struct soft_look *ret, unsigned ms)
{
	memset(ret, 0, sizeof(*ret));
	ptx_look(ret, ms);
	if (!drv_ready || !try_lock())
		return;
	look_at_streams(ret);
	ret->known = 1;
	pthread_mutex_unlock(&drv_lock);
}
