/* SPDX-License-Identifier: Apache-2.0
 *
 * What the records of launches, copies and fills mean. Of a launch's parameters the values are not
 * taken: only grid, block, stream and handle. gpucode/memory-calls.def says what the arguments of
 * copies and fills mean, gpucode/object-calls.def those of host functions and graph launches.
 */
#include <string.h>
#include "observe/decode/observe-calls.h"

/* Work on the stream with this handle. */
static struct err *on_stream(struct seen *x, uint64_t handle, uint64_t *ret)
{
	TRY(seen_stream(x, handle, ret));
	seen_captured(x, *ret);
	return NULL;
}

/* --- launches --- */

static struct err *launch(struct seen *x, uint64_t kernel, const struct obs_config *c)
{
	struct sbt_cmd_launch *l = &x->cmd.u.launch;

	TRY(on_stream(x, c->stream, &l->stream));
	TRY(seen_kernel(x, kernel, &l->kernel));
	l->grid_x = c->grid[0];
	l->grid_y = c->grid[1];
	l->grid_z = c->grid[2];
	l->block_x = c->block[0];
	l->block_y = c->block[1];
	l->block_z = c->block[2];
	l->shared = c->shared;
	l->cooperative = c->cooperative;
	l->cluster_x = c->cluster[0];
	l->cluster_y = c->cluster[1];
	l->cluster_z = c->cluster[2];
	l->launch_attrs = c->bits;
	return seen_send(x, SBT_LAUNCH);
}

/* cuLaunchKernel(f, gridX, gridY, gridZ, blockX, blockY, | blockZ, shared, stream, params, extra):
 * the upper halves of 32-bit arguments are undefined. */
static struct err *launch_plain(struct seen *x, bool cooperative)
{
	struct obs_config c = {.stream = seen_arg(x, 8), .cooperative = cooperative};

	for (unsigned i = 0; i < 3; i++) {
		c.grid[i] = (uint32_t)seen_arg(x, 1 + i);
		c.block[i] = (uint32_t)seen_arg(x, 4 + i);
	}
	c.shared = (uint32_t)seen_arg(x, 7);
	return launch(x, seen_arg(x, 0), &c);
}

struct err *see_launch(struct seen *x)
{
	return launch_plain(x, false);
}

struct err *see_launch_cooperative(struct seen *x)
{
	return launch_plain(x, true);
}

/* cuLaunchKernelEx(config, f, params, extra) */
struct err *see_launch_config(struct seen *x)
{
	struct obs_config c = {0};

	if (x->n >= sizeof c)
		memcpy(&c, x->data, sizeof c);
	else
		x->d->bad++; /* its shape could not be read: the launch counts all the same */
	return launch(x, seen_arg(x, 1), &c);
}

/* cuGraphLaunch(exec, stream) */
struct err *see_graph_launch(struct seen *x)
{
	struct sbt_cmd_graph_launch *g = &x->cmd.u.graph_launch;
	struct sbt_cmd c = {0};

	TRY(seen_object_call(x, OBJECT_CALL_graph_launch));
	seen_captured(x, g->stream);
	if (g->exec == SBT_NO_ID) {
		c.flags = SBT_F_BEFORE;
		c.u.graph_instantiate.new_exec = g->exec =
			seen_new_id(x, OBS_GRAPH, seen_arg(x, 0));
		c.u.graph_instantiate.graph = SBT_NO_ID;
		c.u.graph_instantiate.handle = seen_arg(x, 0);
		TRY(seen_introduce(x, &c, SBT_GRAPH_INSTANTIATE));
	}
	return seen_send(x, SBT_GRAPH_LAUNCH);
}

struct err *see_host_func(struct seen *x)
{
	TRY(seen_object_call(x, OBJECT_CALL_host_func));
	seen_captured(x, x->cmd.u.host_func.stream);
	return seen_send(x, SBT_HOST_FUNC);
}

/* --- copies --- */

static struct err *copied(struct seen *x, const struct memory_asked *a)
{
	struct sbt_cmd_copy *k = &x->cmd.u.copy;

	TRY(on_stream(x, a->stream, &k->stream));
	/* The driver finds the direction from the addresses. tsdb cannot ask it. */
	k->pageable = (k->dir == SBT_COPY_H2D || k->dir == SBT_COPY_D2H) &&
		      !seen_pinned(x, k->dir == SBT_COPY_H2D ? k->src : k->dst);
	return seen_send(x, SBT_COPY);
}

static struct err *copy(struct seen *x, enum memory_call which)
{
	struct memory_asked a;

	seen_memory_call(x, which, NULL, &a);
	return copied(x, &a);
}

/* The structure that the first argument points to came with the record, unless it could not be
 * read. */
static struct err *copy_rows(struct seen *x, enum memory_call which, unsigned words)
{
	uint64_t w[MEMORY_CALL_3D_WORDS];
	struct memory_asked a;
	bool there = x->n >= words * sizeof *w;

	if (there)
		memcpy(w, x->data, words * sizeof *w);
	else
		x->d->bad++;
	seen_memory_call(x, which, there ? w : NULL, &a);
	return copied(x, &a);
}

/* --- fills --- */

static struct err *fill(struct seen *x, enum memory_call which)
{
	struct memory_asked a;

	seen_memory_call(x, which, NULL, &a);
	TRY(on_stream(x, a.stream, &x->cmd.u.fill.stream));
	return seen_send(x, SBT_FILL);
}

/* --- the table's functions --- */

#define SEE(name, body)                                                                            \
	struct err *see_##name(struct seen *x)                                                     \
	{                                                                                          \
		return body;                                                                       \
	}
#define COPY(name, ...) SEE(name, copy(x, MEMORY_##name))
#define COPY_2D(name, ...) SEE(name, copy_rows(x, MEMORY_##name, MEMORY_CALL_2D_WORDS))
#define COPY_3D(name, ...) SEE(name, copy_rows(x, MEMORY_##name, MEMORY_CALL_3D_WORDS))
#define FILL(name, ...) SEE(name, fill(x, MEMORY_##name))
#define FILL_2D(name, ...) SEE(name, fill(x, MEMORY_##name))
#define ALLOC(name, ...)
#define FREE(name, ...)
#include "gpucode/memory-calls.def"
