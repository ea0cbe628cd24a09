/* SPDX-License-Identifier: Apache-2.0
 *
 * User objects: things of the program's that live as long as the graphs that use them. A graph, its
 * clones and its executable graphs hold references. Destructors run on a thread of the driver's or
 * the program's, with no lock held, and may not call CUDA.
 */
#include "softgpu/graph/drv-graph.h"

#include <stdatomic.h>
#include <stdlib.h>

struct user_ref {
	struct user_ref *next;
	struct user_object *object;
	unsigned count;
};

static struct user_object *_Atomic dead; /* their destructors are due */

void user_unref(struct user_object *o, unsigned count)
{
	struct user_object *head;

	if (atomic_fetch_sub(&o->refs, (int)count) != (int)count)
		return;
	head = atomic_load(&dead);
	do
		o->next = head;
	while (!atomic_compare_exchange_weak(&dead, &head, o));
}

void user_flush(void)
{
	struct user_object *o, *next;

	if (!atomic_load_explicit(&dead, memory_order_relaxed))
		return;
	for (o = atomic_exchange(&dead, NULL); o; o = next) {
		bool inside = drv_in_host_fn;

		next = o->next;
		drv_in_host_fn = true;
		o->destroy(o->data);
		drv_in_host_fn = inside;
		obj_free(OBJ_USER, o);
	}
}

bool user_refs_copy(struct user_ref *from, struct user_ref **to)
{
	for (; from; from = from->next) {
		struct user_ref *r = malloc(sizeof(*r));

		if (!r)
			return false;
		*r = (struct user_ref){*to, from->object, from->count};
		atomic_fetch_add(&from->object->refs, (int)from->count);
		*to = r;
	}
	return true;
}

void user_refs_drop(struct user_ref **list)
{
	struct user_ref *r;

	while ((r = *list)) {
		*list = r->next;
		user_unref(r->object, r->count);
		free(r);
	}
}

DRV_DEFINE(5, cuUserObjectCreate, CUuserObject *, object_out, void *, ptr, CUhostFn, destroy,
	unsigned int, initialRefcount, unsigned int, flags)
{
	struct user_object *o;

	REQUIRE(object_out && destroy && initialRefcount && initialRefcount <= INT32_MAX &&
		flags == CU_USER_OBJECT_NO_DESTRUCTOR_SYNC);
	o = obj_new(OBJ_USER);
	if (!o)
		return CUDA_ERROR_OUT_OF_MEMORY;
	o->refs = (int)initialRefcount;
	o->destroy = destroy;
	o->data = ptr;
	*object_out = (CUuserObject)o;
	return CUDA_SUCCESS;
}

static CUresult resolve(CUuserObject h, unsigned count, struct user_object **ret)
{
	REQUIRE(obj_alive(OBJ_USER, h) && count && count <= INT32_MAX);
	*ret = (struct user_object *)h;
	return CUDA_SUCCESS;
}

DRV_DEFINE(2, cuUserObjectRetain, CUuserObject, object, unsigned int, count)
{
	struct user_object *o;

	TRY_CU(resolve(object, count, &o));
	atomic_fetch_add(&o->refs, (int)count);
	return CUDA_SUCCESS;
}

DRV_DEFINE(2, cuUserObjectRelease, CUuserObject, object, unsigned int, count)
{
	struct user_object *o;

	TRY_CU(resolve(object, count, &o));
	REQUIRE(o->refs >= (int)count);
	user_unref(o, count);
	user_flush();
	return CUDA_SUCCESS;
}

DRV_DEFINE(4, cuGraphRetainUserObject, CUgraph, graph, CUuserObject, object, unsigned int, count,
	unsigned int, flags)
{
	struct user_object *o;
	struct user_ref *r;
	struct graph *g;

	REQUIRE(!(flags & ~(unsigned)CU_GRAPH_USER_OBJECT_MOVE));
	TRY_CU(graph_resolve(graph, &g));
	TRY_CU(resolve(object, count, &o));
	REQUIRE(!flags || o->refs >= (int)count);
	r = malloc(sizeof(*r));
	if (!r)
		return CUDA_ERROR_OUT_OF_MEMORY;
	if (!flags)
		atomic_fetch_add(&o->refs, (int)count);
	pthread_mutex_lock(&drv_lock);
	*r = (struct user_ref){g->users, o, count};
	g->users = r;
	pthread_mutex_unlock(&drv_lock);
	return CUDA_SUCCESS;
}

DRV_DEFINE(3, cuGraphReleaseUserObject, CUgraph, graph, CUuserObject, object, unsigned int, count)
{
	struct user_ref **at, *r;
	struct user_object *o;
	unsigned have = 0, left = count;
	struct graph *g;

	TRY_CU(graph_resolve(graph, &g));
	TRY_CU(resolve(object, count, &o));
	pthread_mutex_lock(&drv_lock);
	for (r = g->users; r; r = r->next)
		have += r->object == o ? r->count : 0;
	for (at = &g->users; have >= count && left && *at;) {
		unsigned n;

		r = *at;
		n = r->object != o ? 0 : r->count < left ? r->count : left;
		left -= n;
		r->count -= n;
		if (r->count) {
			at = &r->next;
			continue;
		}
		*at = r->next;
		free(r);
	}
	pthread_mutex_unlock(&drv_lock);
	REQUIRE(have >= count);
	user_unref(o, count);
	user_flush();
	return CUDA_SUCCESS;
}
