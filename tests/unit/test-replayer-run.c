/* SPDX-License-Identifier: Apache-2.0
 *
 * tsdb-replayer from outside: the program is driven over its socket on the software GPU, with the
 * trace of replayer-trace.h.
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
#include "replay/protocol.h"
#include "replayer-trace.h"

/* --- the other end of the socket --- */

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
	const struct replayer_head head = {.type = type, .size = (uint32_t)(n + tail_n)};

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
	const struct replayer_open o = {
		.version = REPLAYER_VERSION, .first = FIRST, .last = last_seq};

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
	got = (const uint32_t *)(const void *)((const uint8_t *)reply() +
					       sizeof(struct replayer_done));
	assert_int_equal(peer.n, sizeof(struct replayer_done) + BYTES);
	for (unsigned i = 0; i < N; i++)
		if (got[i] != want[i])
			fail_msg("0x%llx[%u] is %u, not %u", (unsigned long long)addr, i, got[i],
				want[i]);
	ask(REPLAYER_HASH, &r, sizeof r, NULL, 0);
	assert_true(sbt_hash_equal(
		((const struct replayer_hash *)reply())->hash, sbt_range_hash(want, BYTES)));
}

static void same_as_model(uint64_t seq)
{
	same_memory(A, at_seq[seq].a);
	same_memory(Q, at_seq[seq].q);
	if (seq >= 15)
		same_memory(B, at_seq[seq].b);
}

/* --- tests --- */

/* --- inside a launch: add() of the trace, 25 instructions with PTX lines from 10 on --- */

static struct soft_stop stopped;

static void at(uint32_t type, const void *req, size_t n)
{
	ask(type, req, n, NULL, 0);
	const void *p = reply();
	assert_int_equal(peer.n, sizeof stopped);
	memcpy(&stopped, p, sizeof stopped);
}

static void kernel(uint64_t seq)
{
	at(REPLAYER_KERNEL, &(struct replayer_kernel){seq}, sizeof(struct replayer_kernel));
}

static void move(uint32_t how, uint64_t n)
{
	at(REPLAYER_KERNEL_GO, &(struct soft_go){.how = how, .n = n}, sizeof(struct soft_go));
}

static uint32_t word_at(uint64_t addr)
{
	const struct replayer_range r = {addr, 4};
	uint32_t v;

	ask(REPLAYER_READ, &r, sizeof r, NULL, 0);
	memcpy(&v, (const uint8_t *)reply() + sizeof(struct replayer_done), 4);
	return v;
}

static void looks_into_a_launch(void **state)
{
	const struct soft_point store = {
		.id = 3, .kind = SOFT_WATCH, .space = SOFT_GLOBAL, .addr = A + 4 * 200, .size = 4};
	const struct replayer_kernel_focus f = {.block = {2, 0, 0}, .thread = {33, 0, 0}};
	const struct replayer_none none = {0};

	make_trace(PLAIN);
	start(NULL, NULL);
	open_trace();
	reply();
	kernel(14);
	assert_int_equal(stopped.why, SOFT_WHY_BEGIN);
	assert_int_equal(stopped.seq, 14);
	assert_string_equal(stopped.kernel, "add");
	same_memory(A, at_seq[13].a);
	same_memory(Q, at_seq[14].q); /* the host wrote there before the launch */
	ask(REPLAYER_KERNEL_POINTS, &none, sizeof none, &store, sizeof store);
	reply();
	assert_int_equal(peer.n, sizeof none + sizeof store);
	move(SOFT_RUN, 0);
	assert_int_equal(stopped.why, SOFT_WHY_WATCH);
	assert_int_equal(stopped.change.block[0], 1); /* 200 = 128 + 72 */
	assert_int_equal(stopped.change.thread[0], 72);
	assert_int_equal(word_at(A + 4 * 200), at_seq[14].a[200]); /* written already */
	assert_int_equal(word_at(A + 4 * 300), at_seq[13].a[300]); /* block 2's: not yet */
	move(SOFT_BACK_STEP, 1);
	assert_int_equal(word_at(A + 4 * 200), at_seq[13].a[200]);
	assert_int_equal(word_at(A + 4 * 100), at_seq[14].a[100]); /* block 0 was there before it */
	move(SOFT_BACK_RUN, 0);
	assert_int_equal(stopped.why, SOFT_WHY_BEGIN);
	same_memory(A, at_seq[13].a);
	at(REPLAYER_KERNEL_FOCUS, &f, sizeof f); /* begins with block 2 */
	assert_int_equal(stopped.block[0], 2);
	assert_int_equal(stopped.thread[0], 33);
	move(SOFT_STEP, 100);
	assert_int_equal(stopped.why, SOFT_WHY_WARP_ENDED);
	assert_int_equal(word_at(A + 4 * (2 * 128 + 33)), at_seq[14].a[2 * 128 + 33]);
	assert_int_equal(word_at(A + 4 * 100), at_seq[13].a[100]);
	/* something else moves: it is as if it had not been */
	go(REPLAYER_SEEK, 13);
	assert_int_equal(((const struct replayer_done *)reply())->seq, 13);
	same_as_model(13);
	kernel(14);
	move(SOFT_STEP, 20);
	step(15);
	reply();
	kernel(14);
	move(SOFT_FINISH, 0);
	assert_int_equal(stopped.state, SOFT_ENDED);
	same_as_model(14);
	run(last_seq);
	reply();
	same_as_model(last_seq);
	stop();
}

static void refuses_what_is_wrong_inside(void **state)
{
	static struct soft_point many[SOFT_POINTS_MAX + 1];
	const struct soft_point wrong = {.id = 1, .kind = 77}, cond = {.id = 2,
								       .kind = SOFT_AT_LINE,
								       .line = 10,
								       .condition = "%nothing"};
	const struct replayer_none none = {0};
	struct soft_ask q = {.what = SOFT_ASK_WARPS};

	make_trace(PLAIN);
	start(NULL, NULL);
	open_trace();
	reply();
	ask(REPLAYER_KERNEL_GO, &(struct soft_go){.how = SOFT_STEP, .n = 1}, sizeof(struct soft_go),
		NULL, 0);
	refusal();
	ask(REPLAYER_KERNEL_ASK, &q, sizeof q, NULL, 0);
	refusal();
	for (uint64_t seq = 0; seq < 3; seq++) { /* before the window, a copy, after the end */
		const uint64_t seqs[] = {3, 10, last_seq + 1};

		ask(REPLAYER_KERNEL, &(struct replayer_kernel){seqs[seq]},
			sizeof(struct replayer_kernel), NULL, 0);
		refusal();
	}
	kernel(14);
	ask(REPLAYER_KERNEL_GO, &(struct soft_go){.how = 99, .n = 1}, sizeof(struct soft_go), NULL,
		0);
	refusal();
	ask(REPLAYER_KERNEL_GO, &(struct soft_go){.how = SOFT_STEP}, 4, NULL, 0); /* too short */
	refusal();
	ask(REPLAYER_KERNEL_POINTS, &none, sizeof none, many, sizeof many);
	refusal();
	ask(REPLAYER_KERNEL_POINTS, &none, sizeof none, many, 100);
	refusal();
	ask(REPLAYER_KERNEL_POINTS, &none, sizeof none, &wrong, sizeof wrong);
	refusal();
	ask(REPLAYER_KERNEL_POINTS, &none, sizeof none, &cond, sizeof cond);
	refusal();
	q.what = 1000;
	ask(REPLAYER_KERNEL_ASK, &q, sizeof q, NULL, 0);
	refusal();
	q.what = SOFT_ASK_VALUE;
	memset(q.text, 'x', sizeof q.text); /* no end */
	ask(REPLAYER_KERNEL_ASK, &q, sizeof q, NULL, 0);
	refusal();
	q = (struct soft_ask){
		.what = SOFT_ASK_MEMORY, .space = SOFT_PARAM, .addr = 8, .size = UINT64_MAX};
	ask(REPLAYER_KERNEL_ASK, &q, sizeof q, NULL, 0);
	refusal();
	q.size = 13; /* 20 bytes of parameters */
	ask(REPLAYER_KERNEL_ASK, &q, sizeof q, NULL, 0);
	refusal();
	q.size = 12;
	ask(REPLAYER_KERNEL_ASK, &q, sizeof q, NULL, 0);
	reply();
	assert_int_equal(peer.n, sizeof none + 12);
	ask(REPLAYER_KERNEL_FOCUS, &(struct replayer_kernel_focus){.block = {UINT32_MAX, 0, 0}},
		sizeof(struct replayer_kernel_focus), NULL, 0);
	refusal();
	move(SOFT_FINISH, 0);
	ask(REPLAYER_KERNEL_GO, &(struct soft_go){.how = SOFT_STEP, .n = 1}, sizeof(struct soft_go),
		NULL, 0);
	refusal();
	same_as_model(14);
	stop();
}

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

/* The trace says nothing of R at the window's beginning; #18 copies to it. */
static void pinned_memory_without_contents_begins_as_zeros(void **state)
{
	static const uint32_t zeros[BYTES / 4];

	make_trace(OWN);
	start("TSDB_REPLAYER_CHECKPOINTS", "0");
	open_trace();
	reply();
	same_memory(R, zeros);
	run(28);
	reply();
	same_memory(R, at_seq[18].b);
	go(REPLAYER_SEEK, 0);
	reply();
	same_memory(R, zeros);
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
	/* One at the very beginning: the copy 10 overwrites A, and nothing overwrites the end of Q
	 * before 14. */
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
	const uint64_t seqs[] = {
		10, 14}; /* the copy is taken from the recording, the launch is left out */
	const struct replayer_swap swap = {.kernel = 1, .kind = CODE_PTX};

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
	/* Without waiting between, it is one of those behind the last wait for everything: the host
	 * function's effect at 27. */
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
	assert_non_null(strstr((const char *)(refusal() + 1), "0xffff900000000000"));
	stop();
}

/* Work that there is no way to execute is told when the trace is opened, and refused when its turn
 * comes; never passed over. */
static void refuses_a_kind_without_a_way(void **state)
{
	make_trace(PLAIN);
	start("TSDB_REPLAYER_LACKS", "fill");
	open_trace();
	reply();
	assert_int_equal(((const struct replayer_opened *)(const void *)peer.body)->unrepeatable,
		2); /* and the host function */
	peer.body[peer.n] = 0;
	assert_non_null(strstr((const char *)(peer.body + sizeof(struct replayer_opened)),
		"#16 fill: this replayer cannot execute"));
	for (uint64_t seq = FIRST; seq <= 15; seq++) {
		step(seq);
		reply();
	}
	step(16);
	assert_int_equal(refusal()->code, REPLAYER_E_REFUSED);
	assert_int_equal(refusal()->seq, 16);
	assert_non_null(
		strstr((const char *)(refusal() + 1), "#16 fill: this replayer cannot execute"));
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

/* --- other orders, and executing again: the requests ORDER and CHECK --- */

/* All work of the window, as recorded; of it the records of an event and the wait for it may be in
 * any order that a caller says. */
static const uint64_t work[] = {10, 12, 13, 14, 16, 17, 18, 25, 27, 28};
#define WORK (sizeof work / sizeof *work)

static void order(const uint64_t *seqs, uint32_t n, size_t bytes)
{
	const struct replayer_order q = {.n = n};

	ask(REPLAYER_ORDER, &q, sizeof q, seqs, bytes);
}

static void executes_in_another_order(void **state)
{
	uint64_t seqs[WORK];
	static struct model want;

	make_trace(PLAIN);
	start(NULL, NULL);
	open_trace();
	reply();
	order(work, WORK, sizeof work);
	const struct replayer_ordered *o = reply();
	assert_int_equal(o->seq, last_seq);
	assert_int_equal(o->outputs, 1);
	assert_int_equal(o->outputs_same, 1);
	same_as_model(last_seq);
	/* The fill 16 behind the launch 17: B is then what was filled, where it fills, and the copy
	 * delivers something else. */
	memcpy(seqs, work, sizeof seqs);
	seqs[4] = 17;
	seqs[5] = 16;
	order(seqs, WORK, sizeof seqs);
	assert_int_equal(((const struct replayer_ordered *)reply())->outputs_same, 0);
	want = at_seq[last_seq];
	memset(want.b, 0xa5, BYTES);
	add(want.b, at_seq[14].a);
	for (unsigned i = 0; i < N / 2; i++)
		want.b[i] = 0x01020304;
	add(want.b, at_seq[14].a);
	add(want.b, at_seq[14].a);
	same_memory(B, want.b);
	same_memory(A, want.a);
	/* The launch 28 first: it reads what the host had put into Q before 14, although that was
	 * noted with 14, and the copy 10 is over A again. */
	const uint64_t late[] = {28, 10, 12, 13, 14, 16, 17, 18, 25, 27};
	order(late, WORK, sizeof late);
	reply();
	same_memory(A, at_seq[14].a);
	go(REPLAYER_SEEK, 14);
	reply();
	same_as_model(14); /* the recorded run is as it was */
	stop();
}

static void refuses_wrong_orders(void **state)
{
	uint64_t seqs[WORK + 1];

	make_trace(PLAIN);
	start(NULL, NULL);
	open_trace();
	reply();
	memcpy(seqs, work, sizeof work);
	order(seqs, WORK + 1, sizeof work); /* more than there are bytes */
	refusal();
	order(seqs, UINT32_MAX, sizeof work);
	refusal();
	order(seqs, WORK, sizeof work - 3);
	refusal();
	order(seqs, WORK - 1, sizeof work - 8); /* 28 is missing */
	assert_non_null(strstr((const char *)(refusal() + 1), "#28 is missing"));
	seqs[3] = seqs[4];
	order(seqs, WORK, sizeof work);
	assert_non_null(strstr((const char *)(refusal() + 1), "twice"));
	seqs[3] = UINT64_MAX;
	order(seqs, WORK, sizeof work);
	assert_non_null(strstr((const char *)(refusal() + 1), "not in the window"));
	order(NULL, 0, 0);
	assert_non_null(strstr((const char *)(refusal() + 1), "#10 is missing"));
	go(REPLAYER_SEEK, 17);
	reply();
	same_as_model(17);
	order(work, WORK, sizeof work);
	reply();
	same_as_model(last_seq);
	stop();
}

static void refuses_wrong_checks(void **state)
{
	const struct replayer_check good = {
		.from = FIRST, .to = 28, .runs = 3, .perturb = REPLAYER_PERTURB_ALL};
	struct replayer_check q;
	const struct replayer_none none = {0};
	const uint32_t kernels[] = {77};

	make_trace(PLAIN);
	start(NULL, NULL);
	open_trace();
	reply();
	for (unsigned i = 0; i < 6; i++) {
		q = good;
		q.to = i == 0 ? 29 : i == 1 ? UINT64_MAX : 28;
		q.runs = i == 2 ? 1 : i == 3 ? UINT32_MAX : 3;
		q.as = i == 4 ? REPLAYER_AS_END : REPLAYER_AS_AUTO;
		q.perturb = i == 5 ? REPLAYER_PERTURB_END : REPLAYER_PERTURB_NONE;
		ask(REPLAYER_CHECK, &q, sizeof q, NULL, 0);
		refusal();
	}
	ask(REPLAYER_CHECK, &good, sizeof good, kernels, 3);
	refusal();
	ask(REPLAYER_CHECK, &good, sizeof good - 1, NULL, 0);
	refusal();
	ask(REPLAYER_CHECK_END, &none, sizeof none, NULL, 0); /* nothing was begun */
	reply();
	ask(REPLAYER_CHECK, &good, sizeof good, kernels,
		sizeof kernels); /* no kernel: nothing is checked */
	assert_int_equal(((const struct replayer_check_done *)reply())->checked, 0);
	stop();
}

/* B is allocated in the window and half of it filled: add() at 17 reads the other half, and so do
 * those in the graph. */
static void finds_reads_of_what_nobody_wrote(void **state)
{
	const struct replayer_check q = {
		.from = FIRST, .to = 28, .runs = 3, .perturb = REPLAYER_PERTURB_ALL};
	const struct replayer_none none = {0};
	struct replayer_difference d;
	struct replayer_check_done head = {0};
	unsigned rows = 0, checked = 0;

	make_trace(PLAIN);
	start(NULL, NULL);
	open_trace();
	reply();
	while (head.seq < 28) {
		ask(REPLAYER_CHECK, &q, sizeof q, NULL, 0);
		memcpy(&head, reply(), sizeof head);
		checked += (unsigned)head.checked;
		for (uint64_t i = 0; i < head.n; i++, rows++) {
			memcpy(&d, peer.body + sizeof head + i * sizeof d, sizeof d);
			assert_int_equal(d.seq, 17);
			assert_int_equal(d.unwritten, REPLAYER_UNWRITTEN_MEMORY);
			assert_int_equal(d.addr, B + BYTES / 2); /* the first that was not filled */
			assert_int_equal(d.at, B);
			assert_int_equal(d.size, BYTES);
		}
	}
	assert_int_equal(rows, 1);
	assert_int_equal(checked, 4); /* 14, 17, the graph 25, 28 */
	same_as_model(28);
	ask(REPLAYER_CHECK_END, &none, sizeof none, NULL, 0);
	reply();
	go(REPLAYER_SEEK, 17);
	reply();
	same_as_model(17);
	stop();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(verifies),
		cmocka_unit_test(looks_into_a_launch),
		cmocka_unit_test(refuses_what_is_wrong_inside),
		cmocka_unit_test(is_the_same_by_any_way),
		cmocka_unit_test(restores_from_the_trace_without_checkpoints),
		cmocka_unit_test(pinned_memory_without_contents_begins_as_zeros),
		cmocka_unit_test(watches),
		cmocka_unit_test(what_ifs_stay_until_forgotten),
		cmocka_unit_test(skips_and_swaps),
		cmocka_unit_test(names_the_command_that_faulted),
		cmocka_unit_test(names_the_command_that_hangs),
		cmocka_unit_test(names_what_cannot_be_placed),
		cmocka_unit_test(executes_in_another_order),
		cmocka_unit_test(refuses_wrong_orders),
		cmocka_unit_test(refuses_wrong_checks),
		cmocka_unit_test(finds_reads_of_what_nobody_wrote),
		cmocka_unit_test(refuses),
		cmocka_unit_test(refuses_a_kind_without_a_way),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
