/* SPDX-License-Identifier: Apache-2.0
 *
 * See replay-trace.h. The kernel repeats x = x * a + c; what n of these do to a number is x * a^n +
 * c * (1 + a + ... + a^(n-1)), which takes no loop of that length: so the hash at the window's end
 * is known beforehand.
 */
#include "replay-trace.h"

#include <stdlib.h>
#include <string.h>
#include "sbt/memory.h"

#define THREADS 128u
#define PART (4u << 20) /* bytes made at a time */
#define MUL 1664525u
#define ADD 1013904223u

const char *const contents_name[CONTENTS_END] = {[CONTENTS_WEIGHTS] = "random float32 weights",
	[CONTENTS_COARSE] = "weights rounded to 16 bits",
	[CONTENTS_SPARSE] = "activations, two thirds zeros",
	[CONTENTS_TEXT] = "records of 320 bytes that repeat",
	[CONTENTS_ZEROS] = "zeros"};

static const char ptx[] =
	".version 6.4\n.target sm_75\n.address_size 64\n"
	".visible .entry load(.param .u64 v, .param .u32 n)\n{\n"
	"	.reg .pred %c;\n	.reg .b32 %r<9>;\n	.reg .b64 %a<3>;\n"
	"	mov.u32 %r1, %ctaid.x;\n	mov.u32 %r2, %ntid.x;\n	mov.u32 %r3, %tid.x;\n"
	"	mad.lo.u32 %r4, %r1, %r2, %r3;\n	ld.param.u32 %r5, [n];\n	ld.param.u64 %a1, [v];\n"
	"	mul.wide.u32 %a2, %r4, 4;\n	add.u64 %a1, %a1, %a2;\n	ld.global.u32 %r6, [%a1];\n"
	"loop:\n	setp.eq.u32 %c, %r5, 0;\n	@%c bra done;\n"
	"	mad.lo.u32 %r6, %r6, 1664525, 1013904223;\n	sub.u32 %r5, %r5, 1;\n	bra loop;\n"
	"done:\n	st.global.u32 [%a1], %r6;\n	ret;\n}\n";

/* --- contents --- */

static uint64_t next(uint64_t *x)
{
	*x ^= *x << 13;
	*x ^= *x >> 7;
	*x ^= *x << 17;
	return *x;
}

/* The sum of eight bytes is about normally distributed; the lower bits of the number are as random
 * as its bytes. */
static void weights(float *p, size_t n, uint64_t *x)
{
	for (size_t i = 0; i < n; i++) {
		const uint64_t r = next(x);
		const uint64_t pairs =
			(r & 0x00ff00ff00ff00ffull) + (r >> 8 & 0x00ff00ff00ff00ffull);
		const uint32_t sum = (uint32_t)((pairs * 0x0001000100010001ull) >> 48);

		p[i] = ((float)sum - 1020.0f + (float)(r >> 40 & 0xffffff) / 16777216.0f) * 1e-4f;
	}
}

/* Twice PART bytes; what begins at another place of them makes other pages. */
static uint8_t *make(enum contents c)
{
	uint8_t *p = calloc(2, PART);
	uint64_t x = 88172645463325252ull;

	if (!p || c == CONTENTS_ZEROS)
		return p;
	weights((float *)(void *)p, 2 * PART / 4, &x);
	for (size_t i = 0; c == CONTENTS_COARSE && i < 2 * PART; i += 4)
		p[i] = p[i + 1] = 0;
	for (size_t i = 0; c == CONTENTS_SPARSE && i < 2 * PART; i += 4)
		if (next(&x) % 3)
			memset(p + i, 0, 4);
	for (size_t i = 320; c == CONTENTS_TEXT && i < 2 * PART;
		i++) /* and each is a little different */
		p[i] = i % 320 == 7 ? (uint8_t)next(&x) : p[i - 320];
	return p;
}

/* --- writing --- */

struct maker {
	struct sbt_writer *w;
	uint64_t seq, code;
};

static struct err *put(struct maker *m, struct sbt_cmd c)
{
	c.seq = ++m->seq;
	c.thread = 1;
	c.host_ns = 1000000000 + c.seq * 1000;
	return sbt_writer_cmd(m->w, &c);
}

static struct sbt_blob text(const char *s)
{
	return (struct sbt_blob){s, strlen(s)};
}

static struct err *objects(struct maker *m, const struct replay_trace *t)
{
	static const uint32_t params[] = {0, 8, 8, 4};

	TRY(put(m, (struct sbt_cmd){.kind = SBT_DEVICE,
			   .u.device = {.device_name = text("none"), .total_mem = 1ull << 38}}));
	TRY(put(m, (struct sbt_cmd){.kind = SBT_CTX_CREATE,
			   .u.ctx_create = {.primary = 1, .handle = 0xc000}}));
	TRY(put(m, (struct sbt_cmd){.kind = SBT_STREAM_CREATE,
			   .u.stream_create = {
				   .new_stream = 1, .stream_flags = 1, .handle = 0x5000}}));
	TRY(put(m, (struct sbt_cmd){.kind = SBT_MODULE_LOAD,
			   .u.module_load = {.new_module = 1, .code_hash = m->code}}));
	TRY(put(m, (struct sbt_cmd){.kind = SBT_KERNEL_DEF,
			   .u.kernel_def = {.new_kernel = 1,
				   .module = 1,
				   .kernel_name = text("load"),
				   .params = {params, sizeof params},
				   .code_hash = m->code}}));
	TRY(put(m, (struct sbt_cmd){.kind = SBT_ALLOC,
			   .u.alloc = {.addr = t->small,
				   .size = 4ull * THREADS * t->blocks,
				   .stream = SBT_NO_ID}}));
	return put(
		m, (struct sbt_cmd){.kind = SBT_ALLOC,
			   .u.alloc = {.addr = t->large, .size = t->bytes, .stream = SBT_NO_ID}});
}

static struct sbt_memory piece_of(
	uint64_t seq, enum sbt_memory_role role, uint64_t addr, uint64_t size)
{
	return (struct sbt_memory){.seq = seq,
		.role = role,
		.owner = SBT_MEMORY_ALLOCATION,
		.addr = addr,
		.size = size,
		.module = SBT_NO_ID,
		.has_bytes = role == SBT_MEMORY_START};
}

static struct err *large(struct maker *m, const struct replay_trace *t)
{
	struct sbt_memory end = piece_of(t->last, SBT_MEMORY_END, t->large, t->bytes);
	struct sbt_memory start = piece_of(t->first, SBT_MEMORY_START, t->large, t->bytes);
	uint8_t *all = make(t->contents);
	struct err *e = all ? NULL : err_nomem();
	uint32_t id = 0;

	if (!e)
		e = sbt_writer_memory(m->w, &start, &id);
	for (uint64_t at = 0; at < t->bytes && !e; at += PART) {
		const size_t n = t->bytes - at < PART ? (size_t)(t->bytes - at) : PART;
		const uint8_t *p = all + at / PART * 4 * 977 % PART;

		for (size_t i = 0; i < n; i += SBT_PAGE)
			sbt_range_hash_add(
				&end.hash, (at + i) / SBT_PAGE, sbt_page_hash(p + i, SBT_PAGE));
		e = sbt_writer_memory_bytes(m->w, id, p, n);
	}
	free(all);
	TRY(e);
	sbt_range_hash_end(&end.hash, t->bytes);
	return sbt_writer_memory(m->w, &end, &id);
}

/* What launches * iterations steps make of a number. */
static uint32_t after(uint32_t v, uint64_t steps)
{
	uint32_t mul = MUL, add = ADD;

	for (; steps; steps >>= 1) {
		if (steps & 1)
			v = v * mul + add;
		add = add * mul + add;
		mul *= mul;
	}
	return v;
}

static struct err *small(struct maker *m, const struct replay_trace *t)
{
	const uint32_t n = THREADS * t->blocks;
	struct sbt_memory start = piece_of(t->first, SBT_MEMORY_START, t->small, 4ull * n);
	struct sbt_memory end = piece_of(t->last, SBT_MEMORY_END, t->small, 4ull * n);
	uint32_t *v = malloc(4ull * n), id = 0;

	if (!v)
		return err_nomem();
	for (uint32_t i = 0; i < n; i++)
		v[i] = i;
	struct err *e = sbt_writer_memory(m->w, &start, &id);
	if (!e)
		e = sbt_writer_memory_bytes(m->w, id, v, 4ull * n);
	for (uint32_t i = 0; i < n; i++)
		v[i] = after(i, (uint64_t)t->launches * t->iterations);
	end.hash = sbt_range_hash(v, 4ull * n);
	if (!e)
		e = sbt_writer_memory(m->w, &end, &id);
	free(v);
	return e;
}

static struct err *launches(struct maker *m, const struct replay_trace *t)
{
	uint8_t args[12];

	memcpy(args, &t->small, 8);
	memcpy(args + 8, &t->iterations, 4);
	for (unsigned i = 0; i < t->launches; i++)
		TRY(put(m, (struct sbt_cmd){.kind = SBT_LAUNCH,
				   .u.launch = {.stream = 1,
					   .kernel = 1,
					   .grid_x = t->blocks,
					   .grid_y = 1,
					   .grid_z = 1,
					   .block_x = THREADS,
					   .block_y = 1,
					   .block_z = 1,
					   .args = {args, sizeof args}}}));
	return NULL;
}

static struct err *all(struct maker *m, struct replay_trace *t)
{
	TRY(sbt_writer_code(m->w, ptx, sizeof ptx - 1, CODE_PTX, &m->code));
	TRY(objects(m, t));
	t->first = m->seq + 1;
	t->last = m->seq + t->launches;
	TRY(launches(m, t));
	TRY(large(m, t));
	TRY(small(m, t));
	return sbt_writer_window(m->w, t->first, t->last);
}

struct err *replay_trace_write(struct replay_trace *t, const char *path)
{
	const struct sbt_meta meta = {.program = "bench-replay",
		.cwd = "/",
		.host = "h",
		.gpu = "none",
		.tsdb = "0",
		.pid = 1};
	struct maker m = {0};
	struct err *e, *end;

	TRY(sbt_writer_open(&m.w, path, &meta));
	e = all(&m, t);
	end = sbt_writer_close(m.w);
	if (!e)
		return end;
	err_free(end);
	return e;
}
