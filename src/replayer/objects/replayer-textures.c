/* SPDX-License-Identifier: Apache-2.0
 *
 * Texture and surface objects of the trace. Kernels get them by handles, which lie in parameters
 * and in memory and look like small numbers: so objects get their recorded handles, and nothing has
 * to be translated. The software GPU makes them so; with another driver see replayer-arrays.c.
 */
#include "replayer/execute/replayer-fail.h"

#include <stdlib.h>
#include <string.h>

/* --- learning --- */

static struct rtexture *add(struct textures *x, uint64_t seq, uint64_t id)
{
	MAKE_ROOM(x->list, x->nlist, x->cap_list);
	x->list[x->nlist] = (struct rtexture){.seq = seq, .id = id};
	return &x->list[x->nlist++];
}

/* A number of the trace that a field of the device's cannot hold is one that it refuses. */
static uint32_t narrow(uint64_t v)
{
	return v < UINT32_MAX ? (uint32_t)v : UINT32_MAX;
}

static void learn_created(struct textures *x, uint64_t seq, const struct sbt_cmd_texture_create *u)
{
	struct rtexture *t = add(x, seq, u->new_texture);

	t->is = (struct soft_texture){.handle = u->handle,
		.addr = u->addr,
		.surface = u->surface != 0,
		.resource = narrow(u->resource),
		.format = narrow(u->format),
		.channels = narrow(u->channels),
		.width = u->width,
		.height = u->height,
		.depth = u->depth,
		.pitch = u->pitch,
		.size = u->size,
		.array_flags = narrow(u->array_flags),
		.address = {narrow(u->address_x), narrow(u->address_y), narrow(u->address_z)},
		.filter = narrow(u->filter),
		.flags = narrow(u->texture_flags),
		.anisotropy = narrow(u->anisotropy),
		.border = {narrow(u->border_r), narrow(u->border_g), narrow(u->border_b),
			narrow(u->border_a)}};
}

static void learn_destroyed(struct textures *x, uint64_t seq, uint64_t id)
{
	for (size_t i = x->nlist; i--;)
		if (x->list[i].id == id && !x->list[i].gone) {
			const uint64_t handle = x->list[i].is.handle;
			struct rtexture *t = add(x, seq, id);

			t->gone = true;
			t->of = i;
			t->is.handle = handle;
			return;
		}
}

void textures_from_state(struct rp *rp, const struct state *s)
{
	struct state_texture t;

	for (unsigned i = 0; state_texture(s, i, &t); i++)
		learn_created(&rp->objects.textures, 0, t.is);
}

void textures_learn(struct rp *rp, const struct sbt_cmd *c)
{
	struct textures *x = &rp->objects.textures;

	if (c->kind == SBT_TEXTURE_CREATE)
		learn_created(x, c->seq, &c->u.texture_create);
	else if (c->kind == SBT_TEXTURE_DESTROY)
		learn_destroyed(x, c->seq, c->u.texture_destroy.dead_texture);
}

/* --- making --- */

/* TSDB_REPLAYER_TEXTURES=driver (for tests): the software GPU's driver makes them, too. */
static bool is_by_driver(const struct rp *rp)
{
	const char *by = getenv("TSDB_REPLAYER_TEXTURES");

	return !rp->watch.soft || (by && !strcmp(by, "driver"));
}

static const struct rtexture *first_made(const struct textures *x)
{
	for (size_t i = 0; i < x->nlist; i++)
		if (!x->list[i].gone)
			return &x->list[i];
	return NULL;
}

struct err *textures_open(struct rp *rp)
{
	struct textures *x = &rp->objects.textures;
	const struct rtexture *t = first_made(x);

	x->by_driver = is_by_driver(rp);
	if (!t || !x->by_driver)
		return NULL;
	if (!(rp->lib.can & GPU_CAN_TEXTURES))
		return rp_fail(rp, REPLAYER_E_DEVICE, t->seq,
			"this driver has no texture and surface objects");
	if (rp->devices.n > 1)
		return err_cure(
			rp_fail(rp, REPLAYER_E_REFUSED, t->seq,
				"the program's %s objects can be replayed on one GPU only, and it uses %u",
				t->is.surface ? "surface" : "texture", rp->devices.n),
			"`--on none` replays the state without executing anything");
	return NULL;
}

static struct err *make(struct rp *rp, struct rtexture *t)
{
	struct textures *x = &rp->objects.textures;
	const char *why = NULL;

	if (x->by_driver && !t->gone)
		return texture_make(rp, t);
	if (x->by_driver)
		return texture_unmake(rp, &x->list[t->of]);
	if (t->gone)
		rp->watch.soft->texture_gone(t->is.handle);
	else
		why = rp->watch.soft->texture(&t->is);
	return why ? rp_fail(rp, REPLAYER_E_REFUSED, t->seq,
			     "#%llu: the %s object 0x%llx cannot be made again: %s",
			     (unsigned long long)t->seq, t->is.surface ? "surface" : "texture",
			     (unsigned long long)t->is.handle, why)
		   : NULL;
}

static struct err *unmake_all(struct rp *rp)
{
	struct textures *x = &rp->objects.textures;

	while (x->done) {
		struct rtexture *t = &x->list[--x->done];

		if (x->by_driver)
			TRY(texture_unmake(rp, t));
		else
			rp->watch.soft->texture_gone(t->is.handle);
	}
	return NULL;
}

struct err *textures_at(struct rp *rp, uint64_t seq)
{
	struct textures *x = &rp->objects.textures;
	const bool back = x->done && x->list[x->done - 1].seq >= seq,
		   on = x->done < x->nlist && x->list[x->done].seq < seq;

	if (!back && !on)
		return NULL;
	TRY(devices_finish(rp)); /* what runs may use them */
	if (back)
		TRY(unmake_all(rp));
	for (; x->done < x->nlist && x->list[x->done].seq < seq; x->done++)
		TRY(make(rp, &x->list[x->done]));
	return NULL;
}
