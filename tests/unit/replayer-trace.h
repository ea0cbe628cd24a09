/* SPDX-License-Identifier: Apache-2.0
 *
 * A trace written by hand, with contents worked out here on the CPU: what tests of tsdb-replayer
 * execute. Every expected number comes from the arithmetic below, none from a replay. Included once
 * by a test; cmocka.h comes before it.
 */
#ifndef TESTS_REPLAYER_TRACE_H
#define TESTS_REPLAYER_TRACE_H

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "cmds.h"
#include "sbt/memory.h"
#include "sbt/sbt.h"
#include "sbt/cmd-pack.h"
#include "softgpu/memory/mem.h"

/* p[i] += q[i] + bump; bad() writes where nothing is; spin() does not end. */
static const char ptx[] =
	".version 7.0\n.target sm_75\n.address_size 64\n"
	".visible .global .align 4 .u32 bump;\n"
	".visible .entry add(.param .u64 p, .param .u64 q, .param .u32 n)\n{\n"
	"	.reg .pred %c;\n	.reg .b32 %r<9>;\n	.reg .b64 %a<9>;\n"
	"	mov.u32 %r1, %ctaid.x;\n	mov.u32 %r2, %ntid.x;\n	mov.u32 %r3, %tid.x;\n"
	"	mad.lo.u32 %r4, %r1, %r2, %r3;\n	ld.param.u32 %r5, [n];\n	setp.ge.u32 %c, %r4, %r5;\n	@%c bra done;\n"
	"	ld.param.u64 %a1, [p];\n	ld.param.u64 %a2, [q];\n	mul.wide.u32 %a3, %r4, 4;\n"
	"	add.u64 %a1, %a1, %a3;\n	add.u64 %a2, %a2, %a3;\n"
	"	ld.global.u32 %r6, [%a1];\n	ld.global.u32 %r7, [%a2];\n	ld.global.u32 %r8, [bump];\n"
	"	add.u32 %r6, %r6, %r7;\n	add.u32 %r6, %r6, %r8;\n	st.global.u32 [%a1], %r6;\n"
	"done:\n	ret;\n}\n"
	".visible .entry bad()\n{\n	.reg .b64 %a<2>;\n	mov.u64 %a1, 4096;\n	st.global.u32 [%a1], 1;\n	ret;\n}\n"
	".visible .entry spin()\n{\n	.reg .b32 %r<2>;\nagain:\n	ld.volatile.global.u32 %r1, [bump];\n	bra again;\n}\n";

/* The same signature, other arithmetic: p[i] = n. */
static const char other_ptx[] =
	".version 7.0\n.target sm_75\n.address_size 64\n"
	".visible .entry add(.param .u64 p, .param .u64 q, .param .u32 n)\n{\n"
	"	.reg .pred %c;\n	.reg .b32 %r<6>;\n	.reg .b64 %a<4>;\n"
	"	mov.u32 %r1, %ctaid.x;\n	mov.u32 %r2, %ntid.x;\n	mov.u32 %r3, %tid.x;\n"
	"	mad.lo.u32 %r4, %r1, %r2, %r3;\n	ld.param.u32 %r5, [n];\n	setp.ge.u32 %c, %r4, %r5;\n	@%c bra done;\n"
	"	ld.param.u64 %a1, [p];\n	mul.wide.u32 %a3, %r4, 4;\n	add.u64 %a1, %a1, %a3;\n	st.global.u32 [%a1], %r5;\n"
	"done:\n	ret;\n}\n";

#define N 40000u /* elements: 160,000 bytes, two pages and a part of one */
#define BYTES (N * 4u)
#define A MEM_DEVICE_BASE
#define B (A + 0x100000)       /* allocated in the window */
#define Q 0x7f1234560000ull    /* pinned */
#define R 0x7f1234760000ull    /* pinned, in OWN; else HOST is there instead */
#define HOST 0x55aa00001000ull /* the program's own memory: not here at replay */
#define BUMP_WAS (A + 0xfff000)
#define BUMP 1000u
#define FIRST 10u

/* Beside what every trace has. */
#define LARGE (A + 0x7e000000) /* no command names it */
#define LARGE_BYTES (96u << 20)
#define TABLE (A + 0x800000)   /* a fill names it; it points to ... */
#define POINTED (A + 0x900000) /* ... this, 256 KiB that do not compress */
#define POINTED_N 65536u

enum variant {
	PLAIN,
	FAULT,
	HANG,
	BLOCKED,   /* blocked: no process can have the pinned memory: its addresses are the kernel's
		    */
	ELSEWHERE, /* recorded on another GPU: machine code, with PTX beside it */
	TABLES,	   /* LARGE, TABLE, POINTED */
	UPLOADS,   /* LARGE is written by UPLOADS_N copies of large payloads */
	CIRCLE,
	DANGLING,
	STRANGE, /* the graph cannot be: edges in a circle, to nowhere; a node of a type that does
		    not exist */
	OWN, /* the program changed R, which copies write to, and Q, which kernels know, after the
		last command */
};

/* The world according to the CPU. */
struct model {
	uint32_t a[N], b[N], q[N];
};
static struct model at_seq[64]; /* after each seq */
static uint64_t last_seq;
static char trace_path[256];
/* What a test adds at the end of the window, from command last_seq + 1 on; NULL: nothing. */
struct maker;
static void (*more)(struct maker *m);

static void ok(struct err *e)
{
	if (e)
		fail_msg("%s", e->what);
}

/* --- the trace --- */

struct maker {
	struct sbt_writer *w;
	struct model now;
	uint64_t hash, ptx_hash;
};

static void put(struct maker *m, struct sbt_cmd c)
{
	ok(sbt_writer_cmd(m->w, &c));
	at_seq[c.seq] = m->now;
	last_seq = c.seq;
}

static void piece(struct maker *m, uint64_t seq, unsigned role, unsigned owner, uint64_t addr,
	const void *p, size_t n, bool bytes)
{
	struct sbt_memory x = {.seq = seq,
		.role = role,
		.owner = owner,
		.addr = addr,
		.size = n,
		.module = SBT_NO_ID,
		.hash = sbt_range_hash(p, n),
		.has_bytes = bytes};
	uint32_t id;

	if (owner == SBT_MEMORY_GLOBAL) {
		x.module = 1;
		x.name = cmd_blob("bump");
	}
	ok(sbt_writer_memory(m->w, &x, &id));
	if (bytes)
		ok(sbt_writer_memory_bytes(m->w, id, p, n));
}

static struct sbt_cmd kernel_def(uint64_t seq, uint64_t id, const char *name, uint64_t hash,
	const uint32_t *params, unsigned n)
{
	struct sbt_cmd c = cmd_any(seq, SBT_KERNEL_DEF);

	c.u.kernel_def = (struct sbt_cmd_kernel_def){.new_kernel = id,
		.module = 1,
		.kernel_name = cmd_blob(name),
		.params = {params, n * 8ull},
		.code_hash = hash};
	return c;
}

static struct sbt_cmd alloc(uint64_t seq, uint64_t addr, uint64_t size, unsigned mem)
{
	struct sbt_cmd c = cmd_any(seq, SBT_ALLOC);

	c.u.alloc =
		(struct sbt_cmd_alloc){.addr = addr, .size = size, .mem = mem, .stream = SBT_NO_ID};
	return c;
}

static struct sbt_cmd copy(uint64_t seq, unsigned dir, uint64_t dst, uint64_t src, uint64_t stream)
{
	struct sbt_cmd c = cmd_any(seq, SBT_COPY);

	c.u.copy = (struct sbt_cmd_copy){
		.stream = stream, .dir = dir, .dst = dst, .src = src, .size = BYTES, .async = 1};
	return c;
}

static uint8_t args[20];

static struct sbt_cmd launch(uint64_t seq, uint64_t kernel, uint64_t stream, uint64_t p, uint64_t q)
{
	struct sbt_cmd c = cmd_any(seq, SBT_LAUNCH);
	const uint32_t n = N;

	memcpy(args, &p, 8);
	memcpy(args + 8, &q, 8);
	memcpy(args + 16, &n, 4);
	c.u.launch = (struct sbt_cmd_launch){.stream = stream,
		.kernel = kernel,
		.grid_x = (N + 127) / 128,
		.grid_y = 1,
		.grid_z = 1,
		.block_x = 128,
		.block_y = 1,
		.block_z = 1};
	if (kernel == 1)
		c.u.launch.args = (struct sbt_blob){args, sizeof args};
	else
		c.u.launch.grid_x = c.u.launch.block_x = 1;
	return c;
}

static void add(uint32_t *p, const uint32_t *q)
{
	for (unsigned i = 0; i < N; i++)
		p[i] += q[i] + BUMP;
}

/* Copy i, command 29 + i, brings this to LARGE + 1 MiB * i; every second payload compresses. */
#define UPLOADS_N 6u
#define UPLOAD_WORDS ((5u << 20) / 4 + 3)

static uint32_t uploaded(unsigned i, uint32_t word)
{
	return i % 2 ? word / 1000 + i : (word + i * 7919) * 2654435761u ^ word >> 7;
}

static uint32_t pointed(uint32_t i)
{
	i *= 2654435761u;
	i ^= i >> 15;
	return i * 2246822519u ^ i;
}

static void tables_start(struct maker *m)
{
	uint32_t *p = malloc(4 * POINTED_N);
	const uint64_t table[4] = {1, POINTED + 4096, 2, 3};
	struct sbt_memory zeros = {.seq = FIRST,
		.role = SBT_MEMORY_START,
		.owner = SBT_MEMORY_ALLOCATION,
		.addr = LARGE,
		.size = LARGE_BYTES,
		.module = SBT_NO_ID,
		.has_bytes = true};
	uint8_t *large = calloc(1, LARGE_BYTES);
	uint32_t id;

	for (uint32_t i = 0; i < POINTED_N; i++)
		p[i] = pointed(i);
	piece(m, FIRST, SBT_MEMORY_START, SBT_MEMORY_ALLOCATION, TABLE, table, sizeof table, true);
	piece(m, FIRST, SBT_MEMORY_START, SBT_MEMORY_ALLOCATION, POINTED, p, 4 * POINTED_N, true);
	ok(sbt_writer_memory(m->w, &zeros, &id));
	ok(sbt_writer_memory_bytes(m->w, id, large, LARGE_BYTES));
	free(large);
	free(p);
}

static void before_window(struct maker *m, enum variant v)
{
	static const uint32_t params[] = {0, 8, 8, 8, 16, 4};
	struct sbt_cmd c = cmd_device(1, 0, v == ELSEWHERE ? "Other GPU" : "software");

	c.u.device.soft = v != ELSEWHERE;
	if (v != TABLES && v != UPLOADS)
		put(m, c);
	put(m, cmd_ctx_create(v == TABLES || v == UPLOADS ? 1 : 2, 0, 0));
	if (v == TABLES || v == UPLOADS)
		put(m, alloc(2, LARGE, LARGE_BYTES, SBT_MEM_DEVICE));
	put(m, cmd_stream_create(3, 1, 1));
	c = cmd_any(4, SBT_MODULE_LOAD);
	c.u.module_load.new_module = 1;
	c.u.module_load.code_hash = m->hash;
	c.u.module_load.ptx_hash = m->ptx_hash;
	put(m, c);
	put(m, kernel_def(5, 1, "add", m->hash, params, 3));
	if (v == ELSEWHERE) { /* the graph's handle of kernel 1: of a module whose code is not told
			       */
		c = kernel_def(6, 9, "add", 0, params, 3);
		c.u.kernel_def.module = 2;
	}
	put(m, v == ELSEWHERE ? c
		: v == OWN    ? alloc(6, R, BYTES, SBT_MEM_PINNED)
		: v == TABLES ? alloc(6, TABLE, 32, SBT_MEM_DEVICE)
			      : kernel_def(6, 2, "bad", m->hash, params, 0));
	put(m, v == TABLES ? alloc(7, POINTED, 4 * POINTED_N, SBT_MEM_DEVICE)
			   : kernel_def(7, 3, "spin", m->hash, params, 0));
	put(m, alloc(8, A, BYTES, SBT_MEM_DEVICE));
	put(m, alloc(9, v == BLOCKED ? 0xffff900000000000 : Q, BYTES, SBT_MEM_PINNED));
	for (unsigned i = 0; i < N; i++) {
		m->now.a[i] = i * 3;
		m->now.q[i] = 7;
	}
	const uint32_t bump = BUMP;
	at_seq[9] = m->now;
	piece(m, FIRST, SBT_MEMORY_START, SBT_MEMORY_ALLOCATION, A, m->now.a, BYTES, true);
	piece(m, FIRST, SBT_MEMORY_START, SBT_MEMORY_ALLOCATION, Q, m->now.q, BYTES, true);
	piece(m, FIRST, SBT_MEMORY_START, SBT_MEMORY_GLOBAL, BUMP_WAS, &bump, 4, true);
	if (v == TABLES)
		tables_start(m);
}

static void graph(struct maker *m, uint64_t seq, enum variant v)
{
	static uint64_t packed[64];
	struct sbt_cmd c = cmd_any(seq, SBT_GRAPH_CREATE), k = launch(0, 1, SBT_NO_ID, B, A);
	static const uint32_t after[] = {0}, itself[] = {1}, nowhere[] = {7};
	const uint64_t kernel = v == ELSEWHERE ? 9 : 1;

	c.u.graph_create.new_graph = 4;
	c.u.graph_create.clone_of = SBT_NO_ID;
	put(m, c);
	k.u.launch.kernel = kernel;
	assert_true(sbt_pack_size(&k) <= sizeof packed);
	sbt_pack(packed, &k);
	/* Node 1 waits for node 0, and is listed first. */
	for (unsigned node = 2; node--;) {
		c = cmd_any(seq + 2 - node, SBT_GRAPH_NODE);
		c.u.graph_node = (struct sbt_cmd_graph_node){.graph = 4,
			.node = node,
			.type = SBT_NODE_KERNEL,
			.kernel = kernel,
			.payload = {packed, sbt_pack_size(&k)}};
		if (node)
			c.u.graph_node.deps = (struct sbt_blob){v == DANGLING ? nowhere : after, 4};
		else if (v == CIRCLE)
			c.u.graph_node.deps = (struct sbt_blob){itself, 4};
		else if (v == STRANGE)
			c.u.graph_node.type = 200;
		put(m, c);
	}
	c = cmd_any(seq + 3, SBT_GRAPH_INSTANTIATE);
	c.u.graph_instantiate = (struct sbt_cmd_graph_instantiate){.new_exec = 5, .graph = 4};
	put(m, c);
	add(m->now.b, m->now.a);
	add(m->now.b, m->now.a);
	c = cmd_any(seq + 4, SBT_GRAPH_LAUNCH);
	c.u.graph_launch.stream = 0;
	c.u.graph_launch.exec = 5;
	put(m, c);
}

static void window(struct maker *m, enum variant v)
{
	struct sbt_cmd c;
	uint32_t *payload = malloc(BYTES);

	for (unsigned i = 0; i < N; i++)
		payload[i] = m->now.a[i] = 5 * i + 1;
	piece(m, 10, SBT_MEMORY_INPUT, SBT_MEMORY_ANY, HOST, payload, BYTES, true);
	put(m, copy(10, SBT_COPY_H2D, A, HOST, 1));
	put(m, cmd_event_create(11, 1));
	c = cmd_any(12, SBT_EVENT_RECORD);
	c.u.event_record.stream = 1;
	c.u.event_record.event = 1;
	put(m, c);
	c = cmd_any(13, SBT_STREAM_WAIT);
	c.u.stream_wait.stream = 0;
	c.u.stream_wait.event = 1;
	put(m, c);
	/* The host changed the pinned memory before launch 14, which reads it. */
	for (unsigned i = 0; i < N; i++)
		m->now.q[i] = i ^ 0x55;
	piece(m, 14, SBT_MEMORY_HOST, SBT_MEMORY_ANY, Q, m->now.q, BYTES, true);
	add(m->now.a, m->now.q);
	put(m, launch(14, 1, 0, A, Q));
	/* fresh memory of the software GPU; of another GPU the replayer's is as at the window's
	 * start */
	memset(m->now.b, v == ELSEWHERE ? 0 : 0xa5, BYTES);
	put(m, alloc(15, B, BYTES, SBT_MEM_DEVICE));
	c = cmd_any(16, SBT_FILL);
	c.u.fill = (struct sbt_cmd_fill){.stream = 0,
		.dst = B,
		.size = BYTES / 2,
		.value = 0x01020304,
		.elem = 4,
		.async = 1};
	for (unsigned i = 0; i < N / 2; i++)
		m->now.b[i] = 0x01020304;
	put(m, c);
	add(m->now.b, m->now.a);
	put(m, launch(17, 1, 0, B, A));
	piece(m, 18, SBT_MEMORY_OUTPUT, SBT_MEMORY_ANY, v == OWN ? R : HOST, m->now.b, BYTES,
		false);
	put(m, copy(18, SBT_COPY_D2H, v == OWN ? R : HOST, B, 0));
	c = cmd_any(19, SBT_SYNC);
	c.u.sync.scope = SBT_SYNC_STREAM;
	c.u.sync.event = SBT_NO_ID;
	put(m, c);
	c = cmd_any(20, SBT_QUERY);
	c.u.query.scope = SBT_SYNC_EVENT;
	c.u.query.event = 1;
	put(m, c);
	graph(m, 21, v);
	c = launch(26, 1, 0, A, B); /* a call that failed: not repeated */
	c.result = 1;
	put(m, c);
	/* A host function: what it did to pinned memory is recorded. */
	for (unsigned i = 0; i < N; i++)
		m->now.q[i] = 9;
	piece(m, 27, SBT_MEMORY_EFFECT, SBT_MEMORY_ANY, Q, m->now.q, BYTES, true);
	put(m, cmd_any(27, SBT_HOST_FUNC));
	add(m->now.a, m->now.q);
	put(m, launch(28, 1, 0, A, Q));
	if (v == FAULT)
		put(m, launch(29, 2, 0, 0, 0));
	if (v == HANG)
		put(m, launch(29, 3, 0, 0, 0));
	for (unsigned i = 0; v == UPLOADS && i < UPLOADS_N; i++) {
		uint32_t *words = malloc(4 * UPLOAD_WORDS);

		for (uint32_t k = 0; k < UPLOAD_WORDS; k++)
			words[k] = uploaded(i, k);
		piece(m, 29 + i, SBT_MEMORY_INPUT, SBT_MEMORY_ANY, HOST, words, 4 * UPLOAD_WORDS,
			true);
		c = copy(29 + i, SBT_COPY_H2D, LARGE + ((uint64_t)i << 20), HOST, 1);
		c.u.copy.size = 4 * UPLOAD_WORDS;
		put(m, c);
		free(words);
	}
	if (v == TABLES) {
		c = cmd_any(29, SBT_FILL);
		c.u.fill = (struct sbt_cmd_fill){
			.stream = 0, .dst = TABLE, .size = 8, .value = 0, .elem = 4};
		put(m, c);
	}
	if (more)
		more(m);
	free(payload);
}

static void ends(struct maker *m, enum variant v)
{
	const uint64_t table[4] = {0, POINTED + 4096, 2, 3};
	const uint32_t bump = BUMP;
	uint32_t *p = malloc(4 * POINTED_N);

	piece(m, last_seq, SBT_MEMORY_END, SBT_MEMORY_ALLOCATION, A, m->now.a, BYTES, false);
	piece(m, last_seq, SBT_MEMORY_END, SBT_MEMORY_ALLOCATION, B, m->now.b, BYTES, false);
	piece(m, last_seq, SBT_MEMORY_END, SBT_MEMORY_GLOBAL, BUMP_WAS, &bump, 4, false);
	for (uint32_t i = 0; i < POINTED_N; i++)
		p[i] = pointed(i);
	if (v == OWN) {
		piece(m, last_seq, SBT_MEMORY_END, SBT_MEMORY_ALLOCATION, Q, p, BYTES, false);
		piece(m, last_seq, SBT_MEMORY_END, SBT_MEMORY_ALLOCATION, R, p, BYTES, false);
	}
	if (v == TABLES) {
		piece(m, last_seq, SBT_MEMORY_END, SBT_MEMORY_ALLOCATION, TABLE, table,
			sizeof table, false);
		piece(m, last_seq, SBT_MEMORY_END, SBT_MEMORY_ALLOCATION, POINTED, p, 4 * POINTED_N,
			false);
	}
	free(p);
}

/* Machine code as the trace's code, its PTX beside it; a PTX with a kernel of the same name and
 * other arithmetic comes first. */
static void elsewhere_code(struct maker *m)
{
	static const uint8_t cubin[256] = "\177ELF no code for this device";
	uint64_t decoy;

	ok(sbt_writer_code(m->w, other_ptx, sizeof other_ptx - 1, CODE_PTX, &decoy));
	ok(sbt_writer_code(m->w, cubin, sizeof cubin, CODE_CUBIN, &m->hash));
	ok(sbt_writer_code(m->w, ptx, sizeof ptx - 1, CODE_PTX, &m->ptx_hash));
}

static void make_trace(enum variant v)
{
	const bool soft = v != ELSEWHERE;
	const struct sbt_meta meta = {.program = "test",
		.cwd = "/",
		.host = "h",
		.gpu = soft ? "software" : "Other GPU",
		.tsdb = "0",
		.soft = soft,
		.driver_version = soft ? 0 : 12020,
		.pid = 1};
	struct maker m = {0};

	snprintf(trace_path, sizeof trace_path, "/tmp/tsdb-replayer-test-%d.sbt", (int)getpid());
	ok(sbt_writer_open(&m.w, trace_path, &meta));
	if (v == ELSEWHERE)
		elsewhere_code(&m);
	else
		ok(sbt_writer_code(m.w, ptx, sizeof ptx - 1, CODE_PTX, &m.hash));
	before_window(&m, v);
	window(&m, v);
	ends(&m, v);
	ok(sbt_writer_window(m.w, FIRST, last_seq));
	ok(sbt_writer_close(m.w));
}

#endif
