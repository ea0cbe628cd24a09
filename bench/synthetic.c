/* SPDX-License-Identifier: Apache-2.0
 *
 * Synthetic traces, see synthetic.h.
 */
#include <stdio.h>
#include "bench/synthetic.h"
#include "state/state.h"

#define DEFINITIONS(g) (3 + (g)->streams + SYNTHETIC_EVENTS + SYNTHETIC_KERNELS + SYNTHETIC_ALLOCS)
#define STEP 200 /* commands from sync to sync */

static uint64_t below(struct synthetic *g, uint64_t n)
{
	g->x ^= g->x << 13; /* xorshift64, Marsaglia 2003 */
	g->x ^= g->x >> 7;
	g->x ^= g->x << 17;
	return (g->x >> 16) % n;
}

static struct sbt_cmd cmd(const struct synthetic *g, enum sbt_kind kind)
{
	return (struct sbt_cmd){.seq = g->seq,
		.kind = (uint16_t)kind,
		.thread = 1,
		.host_ns = UINT64_C(1700000000000000000) + g->seq * 3500,
		.stack = 1 + (uint32_t)(g->seq % 97)};
}

static uint64_t addr(uint64_t slot)
{
	return UINT64_C(0x7f0000000000) + slot * 0x100000;
}

static struct sbt_cmd alloc(const struct synthetic *g, uint64_t slot)
{
	struct sbt_cmd c = cmd(g, SBT_ALLOC);

	c.u.alloc.addr = addr(slot);
	c.u.alloc.size = 0x1000 + slot % 64 * 0x1000;
	c.u.alloc.stream = SBT_NO_ID;
	return c;
}

static struct sbt_cmd kernel_def(const struct synthetic *g, uint64_t id)
{
	static const uint32_t params[] = {0, 8, 8, 8, 16, 8, 24, 4, 28, 4};
	static char name[64];
	struct sbt_cmd c = cmd(g, SBT_KERNEL_DEF);
	int n = snprintf(
		name, sizeof name, "_ZN4nets9kernel%03uIfLi128EEEvPKT_S3_PS1_ii", (unsigned)id);

	c.u.kernel_def.new_kernel = id;
	c.u.kernel_def.kernel_name = (struct sbt_blob){name, (uint64_t)n};
	c.u.kernel_def.params = (struct sbt_blob){params, sizeof params};
	c.u.kernel_def.regs = 32 + id % 128;
	c.u.kernel_def.max_threads = 1024;
	return c;
}

/* The n-th command of the beginning: everything is created. */
static struct sbt_cmd define(const struct synthetic *g, uint64_t n)
{
	struct sbt_cmd c;

	if (n == 0) {
		c = cmd(g, SBT_DEVICE);
		c.u.device.device_name = (struct sbt_blob){"Synthetic GPU", 13};
		c.u.device.total_mem = UINT64_C(1) << 37;
		return c;
	}
	if (n == 1) {
		c = cmd(g, SBT_CTX_CREATE);
		c.u.ctx_create.primary = 1;
		return c;
	}
	if (n == 2) {
		c = cmd(g, SBT_MODULE_LOAD);
		c.u.module_load.code_hash = 0x1234;
		return c;
	}
	n -= 3;
	if (n < g->streams) {
		c = cmd(g, SBT_STREAM_CREATE);
		c.u.stream_create.new_stream = n + 1;
		c.u.stream_create.stream_flags = n & 1;
		return c;
	}
	n -= g->streams;
	if (n < SYNTHETIC_EVENTS) {
		c = cmd(g, SBT_EVENT_CREATE);
		c.u.event_create.new_event = n;
		return c;
	}
	n -= SYNTHETIC_EVENTS;
	return n < SYNTHETIC_KERNELS ? kernel_def(g, n) : alloc(g, (n - SYNTHETIC_KERNELS) * 2);
}

static struct sbt_cmd launch(struct synthetic *g, uint64_t stream)
{
	struct sbt_cmd c = cmd(g, SBT_LAUNCH);

	c.u.launch = (struct sbt_cmd_launch){.stream = stream,
		.kernel = below(g, SYNTHETIC_KERNELS),
		.grid_x = 1 + below(g, 512),
		.grid_y = 1,
		.grid_z = 1,
		.block_x = 256,
		.block_y = 1,
		.block_z = 1};
	for (unsigned i = 0; i < 3; i++)
		g->args.p[i] = addr(g->slot[below(g, SYNTHETIC_ALLOCS)]);
	g->args.n = (uint32_t)below(g, 1000);
	g->args.more = 7;
	c.u.launch.args = (struct sbt_blob){&g->args, sizeof g->args};
	return c;
}

static struct sbt_cmd copy(struct synthetic *g, uint64_t stream)
{
	struct sbt_cmd c = cmd(g, SBT_COPY);

	c.u.copy.stream = stream;
	c.u.copy.dir = SBT_COPY_H2D;
	c.u.copy.dst = addr(g->slot[below(g, SYNTHETIC_ALLOCS)]);
	c.u.copy.src = 0x550000000000;
	c.u.copy.size = 4096;
	c.u.copy.async = 1;
	return c;
}

static struct sbt_cmd event(struct synthetic *g, enum sbt_kind kind, uint64_t stream)
{
	struct sbt_cmd c = cmd(g, kind);

	if (kind == SBT_EVENT_RECORD) {
		c.u.event_record.stream = stream;
		c.u.event_record.event = g->step % SYNTHETIC_EVENTS;
	} else {
		c.u.stream_wait.stream = stream;
		c.u.stream_wait.event = g->step % SYNTHETIC_EVENTS;
	}
	return c;
}

/* A live slot moves to its neighbour: freed in one command, allocated in the next. */
static struct sbt_cmd churn(struct synthetic *g, bool second)
{
	uint32_t *slot = &g->slot[g->step % SYNTHETIC_ALLOCS];
	struct sbt_cmd c;

	if (second) {
		*slot ^= 1;
		return alloc(g, *slot);
	}
	c = cmd(g, SBT_FREE);
	c.u.free.addr = addr(*slot);
	c.u.free.stream = SBT_NO_ID;
	return c;
}

struct sbt_cmd synthetic_next(struct synthetic *g)
{
	uint64_t n = g->seq++, at, stream;
	struct sbt_cmd c;

	if (n < DEFINITIONS(g)) {
		if (n >= DEFINITIONS(g) - SYNTHETIC_ALLOCS) {
			at = n - (DEFINITIONS(g) - SYNTHETIC_ALLOCS);
			g->slot[at] = (uint32_t)at * 2;
		}
		return define(g, n);
	}
	at = (n - DEFINITIONS(g)) % STEP;
	stream = 1 + below(g, g->streams);
	if (g->waits && at > 1 && at < STEP - 2 && at % g->waits < 2) {
		c = event(g, at % g->waits ? SBT_STREAM_WAIT : SBT_EVENT_RECORD, stream);
		if (at % g->waits)
			c.u.stream_wait.event = at / g->waits % SYNTHETIC_EVENTS;
		else
			c.u.event_record.event = at / g->waits % SYNTHETIC_EVENTS;
		return c;
	}
	switch (at) {
	case 0:
		g->step++;
		return copy(g, 1);
	case 50:
		return event(g, SBT_EVENT_RECORD, 2);
	case 51:
		return event(g, SBT_STREAM_WAIT, 4);
	case 100:
	case 101:
		return churn(g, at == 101);
	case STEP - 2:
		c = cmd(g, SBT_SYNC);
		c.u.sync.scope = g->step % 4 ? SBT_SYNC_STREAM : SBT_SYNC_CTX;
		c.u.sync.stream = g->step % 4 ? stream : SBT_NO_ID;
		c.u.sync.event = SBT_NO_ID;
		g->sync = g->seq;
		return c;
	case STEP - 1:
		c = cmd(g, SBT_SYNC_END);
		c.u.sync_end.begin = g->sync;
		return c;
	default:
		return launch(g, stream);
	}
}

static struct err *keyframe(struct sbt_writer *w, const struct state *s, uint64_t seq)
{
	struct buf b = BUF_INIT;
	struct err *e;

	if (sbt_writer_since_keyframe(w) < state_keyframe_every(s))
		return NULL;
	state_encode(s, &b);
	e = sbt_writer_keyframe(w, seq, b.data, b.len);
	buf_free(&b);
	return e;
}

static struct err *write_all(
	struct sbt_writer *w, struct state *s, uint64_t n, bool times, struct synthetic g)
{
	static const struct sbt_frame frames[3] = {{0, 0x1000}, {0, 0x2000}, {0, 0x3000}};
	uint32_t module;

	TRY(sbt_writer_module(w, "/usr/bin/synthetic", "00", &module));
	for (uint32_t i = 1; i <= 97; i++)
		TRY(sbt_writer_stack(w, i, frames, 3));
	while (n--) {
		struct sbt_cmd c = synthetic_next(&g);

		TRY(sbt_writer_cmd(w, &c));
		TRY(state_apply(s, &c));
		if (times && (c.kind == SBT_LAUNCH || c.kind == SBT_COPY))
			TRY(sbt_writer_time(
				w, c.seq, c.host_ns + 5000, c.host_ns + 8000 + below(&g, 4096)));
		TRY(keyframe(w, s, c.seq));
	}
	return NULL;
}

struct err *synthetic_write(const char *path, uint64_t n, bool times)
{
	const struct synthetic shape = SYNTHETIC_INIT;

	return synthetic_write_as(path, n, times, &shape);
}

struct err *synthetic_write_as(
	const char *path, uint64_t n, bool times, const struct synthetic *shape)
{
	const struct sbt_meta meta = {.program = "synthetic",
		.cwd = "/",
		.host = "bench",
		.gpu = "Synthetic GPU",
		.tsdb = "bench",
		.start_ns = UINT64_C(1700000000000000000),
		.pid = 1,
		.stacks = true,
		.timestamps = times};
	struct state *s = state_new();
	struct sbt_writer *w;
	struct err *e = sbt_writer_open(&w, path, &meta), *closed;

	if (!e) {
		e = write_all(w, s, n, times, *shape);
		closed = sbt_writer_close(w);
		if (!e)
			e = closed;
		else
			err_free(closed);
	}
	state_free(s);
	return e;
}
