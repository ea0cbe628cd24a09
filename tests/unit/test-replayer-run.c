/* SPDX-License-Identifier: Apache-2.0
 *
 * tsdb-replayer from outside: a trace is written by hand, with contents worked out here on the CPU, and the program is driven over its socket on
 * the software GPU. Every expected number comes from the arithmetic below, none from a replay.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include "cmds.h"
#include "replay/replayer.h"
#include "sbt/memory.h"
#include "sbt/sbt.h"

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
#define A 0x302000000ull
#define B (A + 0x100000)  /* allocated in the window */
#define Q 0x7f1234560000ull /* pinned */
#define HOST 0x55aa00001000ull /* the program's own memory: not here at replay */
#define BUMP_WAS 0x302fff000ull
#define BUMP 1000u
#define FIRST 10u

enum variant { PLAIN, FAULT, HANG, BLOCKED };

/* The world according to the CPU. */
struct model {
	uint32_t a[N], b[N], q[N];
};
static struct model at_seq[64]; /* after each seq */
static uint64_t last_seq;
static char trace_path[256];

static void ok(struct err *e)
{
	if (e)
		fail_msg("%s", e->what);
}

/* ---- the trace -------------------------------------------------------------------------------------------------------- */

struct maker {
	struct sbt_writer *w;
	struct model now;
	uint64_t hash;
};

static void put(struct maker *m, struct sbt_cmd c)
{
	ok(sbt_writer_cmd(m->w, &c));
	at_seq[c.seq] = m->now;
	last_seq = c.seq;
}

static void piece(struct maker *m, uint64_t seq, unsigned role, unsigned owner, uint64_t addr, const void *p, size_t n, bool bytes)
{
	struct sbt_memory x = {.seq = seq, .role = role, .owner = owner, .addr = addr, .size = n, .module = SBT_NO_ID,
		.hash = sbt_range_hash(p, n), .has_bytes = bytes};
	uint32_t id;

	if (owner == SBT_MEMORY_GLOBAL) {
		x.module = 1;
		x.name = cmd_blob("bump");
	}
	ok(sbt_writer_memory(m->w, &x, &id));
	if (bytes)
		ok(sbt_writer_memory_bytes(m->w, id, p, n));
}

static struct sbt_cmd kernel_def(uint64_t seq, uint64_t id, const char *name, uint64_t hash, const uint32_t *params, unsigned n)
{
	struct sbt_cmd c = cmd_any(seq, SBT_KERNEL_DEF);

	c.u.kernel_def = (struct sbt_cmd_kernel_def){.new_kernel = id, .module = 1, .kernel_name = cmd_blob(name),
		.params = {params, n * 8ull}, .code_hash = hash};
	return c;
}

static struct sbt_cmd alloc(uint64_t seq, uint64_t addr, uint64_t size, unsigned mem)
{
	struct sbt_cmd c = cmd_any(seq, SBT_ALLOC);

	c.u.alloc = (struct sbt_cmd_alloc){.addr = addr, .size = size, .mem = mem, .stream = SBT_NO_ID};
	return c;
}

static struct sbt_cmd copy(uint64_t seq, unsigned dir, uint64_t dst, uint64_t src, uint64_t stream)
{
	struct sbt_cmd c = cmd_any(seq, SBT_COPY);

	c.u.copy = (struct sbt_cmd_copy){.stream = stream, .dir = dir, .dst = dst, .src = src, .size = BYTES, .async = 1};
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
	c.u.launch = (struct sbt_cmd_launch){.stream = stream, .kernel = kernel, .grid_x = (N + 127) / 128, .grid_y = 1, .grid_z = 1,
		.block_x = 128, .block_y = 1, .block_z = 1};
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

static void before_window(struct maker *m, enum variant v)
{
	static const uint32_t params[] = {0, 8, 8, 8, 16, 4};
	struct sbt_cmd c = cmd_device(1, 0, "software");

	c.u.device.soft = 1;
	put(m, c);
	put(m, cmd_ctx_create(2, 0, 0));
	put(m, cmd_stream_create(3, 1, 1));
	c = cmd_any(4, SBT_MODULE_LOAD);
	c.u.module_load.new_module = 1;
	c.u.module_load.code_hash = m->hash;
	put(m, c);
	put(m, kernel_def(5, 1, "add", m->hash, params, 3));
	put(m, kernel_def(6, 2, "bad", m->hash, params, 0));
	put(m, kernel_def(7, 3, "spin", m->hash, params, 0));
	put(m, alloc(8, A, BYTES, SBT_MEM_DEVICE));
	put(m, alloc(9, v == BLOCKED ? 0x68000000 : Q, BYTES, SBT_MEM_PINNED)); /* blocked: where tsdb-replayer itself is */
	for (unsigned i = 0; i < N; i++) {
		m->now.a[i] = i * 3;
		m->now.q[i] = 7;
	}
	const uint32_t bump = BUMP;
	at_seq[9] = m->now;
	piece(m, FIRST, SBT_MEMORY_START, SBT_MEMORY_ALLOCATION, A, m->now.a, BYTES, true);
	piece(m, FIRST, SBT_MEMORY_START, SBT_MEMORY_ALLOCATION, Q, m->now.q, BYTES, true);
	piece(m, FIRST, SBT_MEMORY_START, SBT_MEMORY_GLOBAL, BUMP_WAS, &bump, 4, true);
}

static void graph(struct maker *m, uint64_t seq)
{
	static uint64_t packed[64];
	struct sbt_cmd c = cmd_any(seq, SBT_GRAPH_CREATE), k = launch(0, 1, SBT_NO_ID, B, A);
	const uint32_t after[] = {0};

	c.u.graph_create.new_graph = 4;
	c.u.graph_create.clone_of = SBT_NO_ID;
	put(m, c);
	assert_true(sbt_pack_size(&k) <= sizeof packed);
	sbt_pack(packed, &k);
	/* Node 1 waits for node 0, and is listed first. */
	for (unsigned node = 2; node--;) {
		c = cmd_any(seq + 2 - node, SBT_GRAPH_NODE);
		c.u.graph_node = (struct sbt_cmd_graph_node){.graph = 4, .node = node, .type = SBT_NODE_KERNEL, .kernel = 1,
			.payload = {packed, sbt_pack_size(&k)}};
		if (node)
			c.u.graph_node.deps = (struct sbt_blob){after, 4};
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
	memset(m->now.b, 0xa5, BYTES); /* fresh memory of the software GPU */
	put(m, alloc(15, B, BYTES, SBT_MEM_DEVICE));
	c = cmd_any(16, SBT_FILL);
	c.u.fill = (struct sbt_cmd_fill){.stream = 0, .dst = B, .size = BYTES / 2, .value = 0x01020304, .elem = 4, .async = 1};
	for (unsigned i = 0; i < N / 2; i++)
		m->now.b[i] = 0x01020304;
	put(m, c);
	add(m->now.b, m->now.a);
	put(m, launch(17, 1, 0, B, A));
	piece(m, 18, SBT_MEMORY_OUTPUT, SBT_MEMORY_ANY, HOST, m->now.b, BYTES, false);
	put(m, copy(18, SBT_COPY_D2H, HOST, B, 0));
	c = cmd_any(19, SBT_SYNC);
	c.u.sync.scope = SBT_SYNC_STREAM;
	c.u.sync.event = SBT_NO_ID;
	put(m, c);
	c = cmd_any(20, SBT_QUERY);
	c.u.query.scope = SBT_SYNC_EVENT;
	c.u.query.event = 1;
	put(m, c);
	graph(m, 21);
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
	free(payload);
}

static void make_trace(enum variant v)
{
	const struct sbt_meta meta = {.program = "test", .cwd = "/", .host = "h", .gpu = "software", .tsdb = "0", .soft = true,
		.pid = 1};
	struct maker m = {0};
	const uint32_t bump = BUMP;

	snprintf(trace_path, sizeof trace_path, "/tmp/tsdb-replayer-test-%d.sbt", (int)getpid());
	ok(sbt_writer_open(&m.w, trace_path, &meta));
	ok(sbt_writer_code(m.w, ptx, sizeof ptx - 1, true, &m.hash));
	before_window(&m, v);
	window(&m, v);
	piece(&m, last_seq, SBT_MEMORY_END, SBT_MEMORY_ALLOCATION, A, m.now.a, BYTES, false);
	piece(&m, last_seq, SBT_MEMORY_END, SBT_MEMORY_ALLOCATION, B, m.now.b, BYTES, false);
	piece(&m, last_seq, SBT_MEMORY_END, SBT_MEMORY_GLOBAL, BUMP_WAS, &bump, 4, false);
	ok(sbt_writer_window(m.w, FIRST, last_seq));
	ok(sbt_writer_close(m.w));
}

/* ---- the other end of the socket ------------------------------------------------------------------------------------------- */

struct peer {
	pid_t pid;
	int fd;
	uint32_t type;
	_Alignas(16) uint8_t body[1 << 20];
	size_t n;
};
static struct peer peer;

static void start(const char *name, const char *value)
{
	int fds[2];
	char lib[512], path[512], fd[16];
	const char *build = getenv("TSDB_BUILD") ? getenv("TSDB_BUILD") : ".";

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
	snprintf(lib, sizeof lib, "%s/softgpu", build);
	snprintf(path, sizeof path, "%s/tsdb-replayer", build);
	snprintf(fd, sizeof fd, "%d", fds[1]);
	peer.pid = fork();
	if (!peer.pid) {
		close(fds[0]);
		setenv("LD_LIBRARY_PATH", lib, 1);
		setenv(REPLAYER_FD_ENV, fd, 1);
		if (name)
			setenv(name, value, 1);
		execl(path, path, NULL);
		_exit(127);
	}
	close(fds[1]);
	peer.fd = fds[0];
}

static int stop(void)
{
	int status;

	close(peer.fd);
	waitpid(peer.pid, &status, 0);
	return status;
}

static void take(void *p, size_t n)
{
	for (size_t at = 0; at < n;) {
		const ssize_t got = read(peer.fd, (uint8_t *)p + at, n - at);

		if (got <= 0)
			fail_msg("the replayer has gone");
		at += (size_t)got;
	}
}

static void send_request(uint32_t type, const void *req, size_t n, const void *tail, size_t tail_n)
{
	const struct replayer_head head = {type, (uint32_t)(n + tail_n)};

	assert_int_equal(write(peer.fd, &head, sizeof head), sizeof head);
	assert_int_equal(write(peer.fd, req, n), n);
	if (tail_n)
		assert_int_equal(write(peer.fd, tail, tail_n), tail_n);
}

static void receive(void)
{
	struct replayer_head head;

	take(&head, sizeof head);
	assert_true(head.size < sizeof peer.body);
	take(peer.body, head.size);
	peer.type = head.type;
	peer.n = head.size;
	peer.body[head.size] = '\0';
}

static void ask(uint32_t type, const void *req, size_t n, const void *tail, size_t tail_n)
{
	send_request(type, req, n, tail, tail_n);
	receive();
}

/* The reply's structure. */
static const void *reply(void)
{
	if (peer.type == REPLAYER_ERROR)
		fail_msg("%s", (const char *)peer.body + sizeof(struct replayer_error));
	assert_int_equal(peer.type, REPLAYER_REPLY);
	return peer.body;
}

static const struct replayer_error *refusal(void)
{
	assert_int_equal(peer.type, REPLAYER_ERROR);
	return (const void *)peer.body;
}

static void open_trace(void)
{
	const struct replayer_open o = {.version = REPLAYER_VERSION, .first = FIRST, .last = last_seq};

	ask(REPLAYER_OPEN, &o, sizeof o, trace_path, strlen(trace_path));
}

static void go(uint32_t type, uint64_t seq)
{
	const struct replayer_seek s = {seq};

	ask(type, &s, sizeof s, NULL, 0);
}

static void step(uint64_t seq)
{
	const struct replayer_execute x = {.seq = seq, .wait = 1};

	ask(REPLAYER_EXECUTE, &x, sizeof x, NULL, 0);
}

static void run(uint64_t to)
{
	const struct replayer_run r = {.to = to};

	ask(REPLAYER_RUN, &r, sizeof r, NULL, 0);
}

static void same_memory(uint64_t addr, const uint32_t *want)
{
	const struct replayer_range r = {addr, BYTES};
	const uint32_t *got;

	ask(REPLAYER_READ, &r, sizeof r, NULL, 0);
	got = (const uint32_t *)(const void *)((const uint8_t *)reply() + sizeof(struct replayer_done));
	assert_int_equal(peer.n, sizeof(struct replayer_done) + BYTES);
	for (unsigned i = 0; i < N; i++)
		if (got[i] != want[i])
			fail_msg("0x%llx[%u] is %u, not %u", (unsigned long long)addr, i, got[i], want[i]);
	ask(REPLAYER_HASH, &r, sizeof r, NULL, 0);
	assert_true(sbt_hash_equal(((const struct replayer_hash *)reply())->hash, sbt_range_hash(want, BYTES)));
}

static void same_as_model(uint64_t seq)
{
	same_memory(A, at_seq[seq].a);
	same_memory(Q, at_seq[seq].q);
	if (seq >= 15)
		same_memory(B, at_seq[seq].b);
}

/* ---- tests ------------------------------------------------------------------------------------------------------------------ */

static void verifies(void **state)
{
	make_trace(PLAIN);
	start(NULL, NULL);
	open_trace();
	const struct replayer_opened *o = reply();
	assert_int_equal(o->ranges, 3); /* A, B, the pinned memory */
	assert_int_equal(o->unrepeatable, 1);
	assert_non_null(strstr((const char *)(o + 1), "#27 host function"));
	same_as_model(9);
	run(last_seq);
	assert_int_equal(((const struct replayer_ran *)reply())->seq, last_seq);
	go(REPLAYER_VERIFY, last_seq);
	const struct replayer_verified *v = reply();
	assert_int_equal(v->pieces, 4); /* the pinned memory was not recorded at the end */
	assert_int_equal(v->same, 3);
	assert_int_equal(v->unchecked, 1);
	assert_int_equal(v->outputs, 1);
	assert_int_equal(v->outputs_same, 1);
	same_as_model(last_seq);
	go(REPLAYER_QUIT, 0);
	reply();
	assert_int_equal(stop(), 0);
}

static void is_the_same_by_any_way(void **state)
{
	uint64_t seed = 1234567;

	make_trace(PLAIN);
	start(NULL, NULL);
	open_trace();
	reply();
	for (uint64_t seq = FIRST; seq <= last_seq; seq++) {
		step(seq);
		assert_int_equal(((const struct replayer_done *)reply())->seq, seq);
		same_as_model(seq);
	}
	for (uint64_t seq = last_seq; seq-- > FIRST;) {
		go(REPLAYER_SEEK, seq);
		reply();
		same_as_model(seq);
	}
	for (unsigned i = 0; i < 20; i++) {
		seed = seed * 6364136223846793005u + 1442695040888963407u;
		const uint64_t seq = 9 + (seed >> 33) % (last_seq - 8);

		go(i % 5 == 4 ? REPLAYER_CHECKPOINT : REPLAYER_SEEK, seq);
		if (i % 5 != 4)
			assert_int_equal(((const struct replayer_done *)reply())->seq, seq);
		same_as_model(((const struct replayer_done *)reply())->seq);
	}
	stop();
}

static void restores_from_the_trace_without_checkpoints(void **state)
{
	make_trace(PLAIN);
	start("TSDB_REPLAYER_CHECKPOINTS", "0");
	open_trace();
	reply();
	run(28);
	reply();
	go(REPLAYER_SEEK, 17);
	reply();
	same_as_model(17);
	go(REPLAYER_SEEK, 0);
	assert_int_equal(((const struct replayer_done *)reply())->seq, FIRST - 1);
	same_as_model(9);
	ask(REPLAYER_FIGURES, &(struct replayer_none){0}, sizeof(struct replayer_none), NULL, 0);
	assert_int_equal(((const struct replayer_figures *)reply())->checkpoints, 0);
	stop();
}

static void watches(void **state)
{
	const struct replayer_run r = {.to = 28, .watch_addr = A + 4 * 100, .watch_size = 8};

	make_trace(PLAIN);
	start(NULL, NULL);
	open_trace();
	reply();
	const uint64_t hits[] = {10, 14, 28};
	for (unsigned i = 0; i < 3; i++) {
		ask(REPLAYER_RUN, &r, sizeof r, NULL, 0);
		assert_int_equal(((const struct replayer_ran *)reply())->hit, 1);
		assert_int_equal(((const struct replayer_ran *)reply())->seq, hits[i]);
	}
	stop();
}

static void what_ifs_stay_until_forgotten(void **state)
{
	const uint32_t value = 12345, n = 1;
	const struct replayer_range w = {A + 40, 4};
	const struct replayer_arg arg = {.seq = 28, .param = 2, .size = 4}, none = {0};
	static struct model want;

	make_trace(PLAIN);
	start(NULL, NULL);
	open_trace();
	reply();
	go(REPLAYER_SEEK, 14);
	reply();
	ask(REPLAYER_WRITE, &w, sizeof w, &value, 4);
	reply();
	ask(REPLAYER_ARG, &arg, sizeof arg, &n, 4); /* launch 28 does the first element only */
	reply();
	want = at_seq[14];
	want.a[10] = value;
	want.a[0] += 9 + BUMP;
	memcpy(want.q, at_seq[28].q, BYTES);
	for (unsigned i = 0; i < 3; i++) { /* by running, by going back and forth */
		go(REPLAYER_SEEK, 28);
		reply();
		same_memory(A, want.a);
		go(REPLAYER_SEEK, 12);
		reply();
		same_as_model(12);
	}
	ask(REPLAYER_ARG, &none, sizeof none, NULL, 0);
	reply();
	go(REPLAYER_SEEK, 0);
	reply();
	run(28);
	reply();
	same_as_model(28);
	/* One at the very beginning: the copy 10 overwrites A, and nothing overwrites the end of Q before 14. */
	const struct replayer_range q = {Q + 4, 4};
	want = at_seq[9];
	want.q[1] = value;
	go(REPLAYER_SEEK, 0);
	reply();
	ask(REPLAYER_WRITE, &q, sizeof q, &value, 4);
	reply();
	for (unsigned i = 0; i < 2; i++) {
		go(REPLAYER_SEEK, 13);
		reply();
		same_memory(Q, want.q);
		go(REPLAYER_SEEK, 0);
		reply();
		same_memory(Q, want.q);
	}
	ask(REPLAYER_ARG, &none, sizeof none, NULL, 0);
	reply();
	go(REPLAYER_SEEK, 0);
	reply();
	same_as_model(9);
	stop();
}

static void skips_and_swaps(void **state)
{
	const struct replayer_skip skip = {.n = 2, .recorded_inputs = 1}, all = {0};
	const uint64_t seqs[] = {10, 14}; /* the copy is taken from the recording, the launch is left out */
	const struct replayer_swap swap = {.kernel = 1, .is_ptx = 1};

	make_trace(PLAIN);
	start(NULL, NULL);
	open_trace();
	reply();
	ask(REPLAYER_SKIP, &skip, sizeof skip, seqs, sizeof seqs);
	reply();
	run(14);
	reply();
	same_memory(A, at_seq[13].a);
	ask(REPLAYER_SKIP, &all, sizeof all, NULL, 0);
	reply();
	ask(REPLAYER_SWAP, &swap, sizeof swap, other_ptx, sizeof other_ptx - 1);
	reply();
	go(REPLAYER_SEEK, 9);
	reply();
	run(14);
	reply();
	static uint32_t want[N];
	for (unsigned i = 0; i < N; i++)
		want[i] = N;
	same_memory(A, want);
	ask(REPLAYER_SWAP, &swap, sizeof swap, NULL, 0);
	reply();
	go(REPLAYER_SEEK, 9);
	reply();
	run(28);
	reply();
	same_as_model(28);
	ask(REPLAYER_SWAP, &swap, sizeof swap, "nonsense", 8);
	assert_non_null(strstr((const char *)(refusal() + 1), "replacement for add"));
	stop();
}

static void names_the_command_that_faulted(void **state)
{
	make_trace(FAULT);
	start(NULL, NULL);
	open_trace();
	reply();
	run(28);
	reply();
	step(29);
	assert_int_equal(refusal()->code, REPLAYER_E_FAULT);
	assert_int_equal(refusal()->seq, 29);
	assert_int_equal(refusal()->first, 29);
	assert_int_equal(stop(), 0);
	/* Without waiting between, it is one of those behind the last wait for everything: the host function's effect at 27. */
	start(NULL, NULL);
	open_trace();
	reply();
	run(29);
	assert_int_equal(refusal()->code, REPLAYER_E_FAULT);
	assert_int_equal(refusal()->seq, 29);
	assert_int_equal(refusal()->first, 27);
	stop();
}

static void names_the_command_that_hangs(void **state)
{
	make_trace(HANG);
	start("TSDB_REPLAYER_TIMEOUT", "1");
	open_trace();
	reply();
	run(29);
	assert_int_equal(refusal()->code, REPLAYER_E_TIMEOUT);
	assert_int_equal(refusal()->seq, 29);
	assert_true(WIFEXITED(stop()));
}

static void names_what_cannot_be_placed(void **state)
{
	make_trace(BLOCKED);
	start(NULL, NULL);
	open_trace();
	assert_int_equal(refusal()->code, REPLAYER_E_PLACE);
	assert_non_null(strstr((const char *)(refusal() + 1), "0x68000000"));
	stop();
}

/* Work that there is no way to execute is told when the trace is opened, and refused when its turn comes; never passed over. */
static void refuses_a_kind_without_a_way(void **state)
{
	make_trace(PLAIN);
	start("TSDB_REPLAYER_LACKS", "fill");
	open_trace();
	reply();
	assert_int_equal(((const struct replayer_opened *)(const void *)peer.body)->unrepeatable, 2); /* and the host function */
	peer.body[peer.n] = 0;
	assert_non_null(strstr((const char *)(peer.body + sizeof(struct replayer_opened)), "#16 fill: this replayer cannot execute"));
	for (uint64_t seq = FIRST; seq <= 15; seq++) {
		step(seq);
		reply();
	}
	step(16);
	assert_int_equal(refusal()->code, REPLAYER_E_REFUSED);
	assert_int_equal(refusal()->seq, 16);
	assert_non_null(strstr((const char *)(refusal() + 1), "#16 fill: this replayer cannot execute"));
	run(last_seq);
	assert_int_equal(refusal()->code, REPLAYER_E_REFUSED);
	stop();
	unlink(trace_path);
}

static void refuses(void **state)
{
	struct replayer_open o = {.version = REPLAYER_VERSION, .first = FIRST, .last = 27};
	const struct replayer_range r = {0x1000, 16};

	make_trace(PLAIN);
	start(NULL, NULL);
	go(REPLAYER_SEEK, 3);
	assert_non_null(strstr((const char *)(refusal() + 1), "SEEK before OPEN"));
	ask(REPLAYER_OPEN, &o, sizeof o, trace_path, strlen(trace_path));
	assert_int_equal(refusal()->code, REPLAYER_E_TRACE);
	stop();
	start(NULL, NULL);
	open_trace();
	reply();
	ask(REPLAYER_READ, &r, sizeof r, NULL, 0);
	assert_non_null(strstr((const char *)(refusal() + 1), "not memory of the window"));
	go(REPLAYER_VERIFY, last_seq);
	assert_non_null(strstr((const char *)(refusal() + 1), "the position is #9"));
	go(77, 0);
	assert_non_null(strstr((const char *)(refusal() + 1), "no request 77"));
	/* Executing without a reply: the next request that has one tells. */
	const struct replayer_execute x = {.seq = 100};
	send_request(REPLAYER_EXECUTE, &x, sizeof x, NULL, 0);
	go(REPLAYER_SEEK, 10);
	assert_int_equal(refusal()->code, REPLAYER_E_REFUSED);
	assert_int_equal(refusal()->seq, 100);
	go(REPLAYER_SEEK, 10);
	reply();
	stop();
	unlink(trace_path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(verifies),
		cmocka_unit_test(is_the_same_by_any_way),
		cmocka_unit_test(restores_from_the_trace_without_checkpoints),
		cmocka_unit_test(watches),
		cmocka_unit_test(what_ifs_stay_until_forgotten),
		cmocka_unit_test(skips_and_swaps),
		cmocka_unit_test(names_the_command_that_faulted),
		cmocka_unit_test(names_the_command_that_hangs),
		cmocka_unit_test(names_what_cannot_be_placed),
		cmocka_unit_test(refuses),
		cmocka_unit_test(refuses_a_kind_without_a_way),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
