/* SPDX-License-Identifier: Apache-2.0
 *
 * What partial replay leaves out, worked out by hand for small traces: order by streams, events,
 * barriers and the host; memory.
 *
 * All begin alike: context 0 with legacy default stream 0, streams 1 and 2 non-blocking, 3
 * blocking; kernel 0 f(p), kernel 1 g(p, q), both of module 5; event 0; allocations A to D. Seqs 1
 * to 12; the window begins with 13.
 */
#include "random-trace.h"
#include "replay/plan.h"
#include "sbt/memory.h"
#include "sbt/cmd-pack.h"

#define FIRST 13
#define A UINT64_C(0x100000)
#define B UINT64_C(0x200000)
#define C UINT64_C(0x300000)
#define D UINT64_C(0x400000)
#define SIZE UINT64_C(0x1000)

static uint64_t seq;

static void add(struct trace_maker *t, struct sbt_cmd c)
{
	assert_int_equal(c.seq, seq);
	trace_add(t, c);
	seq++;
}

static void begin(struct trace_maker *t)
{
	static const uint32_t params[] = {0, 8, 8, 8};

	seq = 1;
	trace_begin(t, 5);
	add(t, cmd_ctx_create(seq, 0, 0));
	add(t, cmd_stream_create(seq, 1, 1));
	add(t, cmd_stream_create(seq, 2, 1));
	add(t, cmd_stream_create(seq, 3, 0));
	add(t, cmd_module_load(seq, 5));
	add(t, cmd_kernel_def(seq, 0, 5, "f", params, 1));
	add(t, cmd_kernel_def(seq, 1, 5, "g", params, 2));
	add(t, cmd_event_create(seq, 0));
	add(t, cmd_alloc(seq, A, SIZE));
	add(t, cmd_alloc(seq, B, SIZE));
	add(t, cmd_alloc(seq, C, SIZE));
	add(t, cmd_alloc(seq, D, SIZE));
}

static void f(struct trace_maker *t, uint64_t stream, uint64_t p)
{
	struct sbt_cmd c = cmd_launch(seq, stream, 0);

	c.u.launch.args = (struct sbt_blob){&p, 8};
	add(t, c);
}

static void g(struct trace_maker *t, uint64_t stream, uint64_t p, uint64_t q)
{
	struct sbt_cmd c = cmd_launch(seq, stream, 1);
	const uint64_t args[] = {p, q};

	c.u.launch.args = (struct sbt_blob){args, 16};
	add(t, c);
}

#define LIST(...)                                                                                  \
	(const uint64_t[])                                                                         \
	{                                                                                          \
		__VA_ARGS__ __VA_OPT__(, ) 0                                                       \
	}

/* want ends with 0. */
static void assert_skips(const struct plan *p, const uint64_t *want)
{
	size_t n = 0;

	for (; want[n]; n++)
		if (n >= p->nskip || p->skip[n] != want[n])
			fail_msg("left out %d: want #%d, have #%d", (int)n, (int)want[n],
				n < p->nskip ? (int)p->skip[n] : -1);
	assert_int_equal(p->nskip, n);
}

#define assert_stream_plan(r, stream, ...)                                                         \
	do {                                                                                       \
		struct plan p_;                                                                    \
		ok(plan_stream(                                                                    \
			&p_, r, FIRST, sbt_reader_last_seq(r), &(uint32_t){stream}, 1, false));    \
		assert_skips(&p_, LIST(__VA_ARGS__));                                              \
		plan_free(&p_);                                                                    \
	} while (0)

/* 13 f(A) s1, 14 f(B) s1, 15 record s1, 16 f(C) s1, 17 wait s2, 18 f(D) s2, 19 f(D) s3 */
static struct sbt_reader *with_events(void)
{
	struct trace_maker t;

	begin(&t);
	f(&t, 1, A);
	f(&t, 1, B);
	add(&t, cmd_event_record(seq, 1, 0));
	f(&t, 1, C);
	add(&t, cmd_stream_wait(seq, 2, 0));
	f(&t, 2, D);
	f(&t, 3, D);
	return trace_end(&t);
}

static void events(void **arg)
{
	struct sbt_reader *r = with_events();
	const uint32_t both[] = {1, 2};
	struct plan p;

	assert_stream_plan(r, 1, 18, 19);
	assert_stream_plan(r, 2, 16, 19);
	assert_stream_plan(r, 3, 16); /* D was written by #18, which comes after #15 */
	ok(plan_stream(&p, r, FIRST, 19, both, 2, false));
	assert_skips(&p, LIST(19));
	assert_int_equal(p.from, 13);
	assert_int_equal(p.to, 19);
	assert_int_equal(p.executed, 4);
	plan_free(&p);
	fails(plan_stream(&p, r, FIRST, 19, &(uint32_t){7}, 1, false), ERR_NOT_FOUND);
	fails(plan_stream(&p, r, 5, 99, both, 2, false), ERR_INCOMPLETE);
	sbt_reader_close(r);
}

static void events_again(void **arg)
{
	struct trace_maker t;
	struct sbt_reader *r;

	begin(&t); /* the record that counts is the last one before the wait */
	f(&t, 1, A);
	add(&t, cmd_event_record(seq, 1, 0));
	f(&t, 1, B);
	add(&t, cmd_event_record(seq, 1, 0));
	add(&t, cmd_stream_wait(seq, 2, 0));
	f(&t, 2, D);
	f(&t, 1, C); /* 19 */
	add(&t, cmd_event_record(seq, 1, 0));
	r = trace_end(&t);
	assert_stream_plan(r, 2, 19);
	sbt_reader_close(r);

	begin(&t);
	f(&t, 1, A);
	add(&t, cmd_event_record(seq, 1, 0));
	add(&t, cmd_stream_wait(seq, 2, 0));
	f(&t, 1, B); /* 16 */
	add(&t, cmd_event_record(seq, 1, 0));
	f(&t, 2, D);
	r = trace_end(&t);
	assert_stream_plan(r, 2, 16);
	sbt_reader_close(r);

	begin(&t);   /* recorded on another stream in between: only that one counts */
	f(&t, 1, A); /* 13 */
	add(&t, cmd_event_record(seq, 1, 0));
	f(&t, 3, B); /* 15 */
	add(&t, cmd_event_record(seq, 3, 0));
	add(&t, cmd_stream_wait(seq, 2, 0));
	f(&t, 2, D);
	r = trace_end(&t);
	assert_stream_plan(r, 2, 13);
	sbt_reader_close(r);
}

/* 13 f(A) s3, 14 f(B) s1, 15 f(C) default, 16 f(D) s3, 17 f(A) default */
static void default_stream(void **arg)
{
	struct trace_maker t;
	struct sbt_reader *r;

	begin(&t);
	f(&t, 3, A);
	f(&t, 1, B);
	f(&t, 0, C);
	f(&t, 3, D);
	f(&t, 0, A);
	r = trace_end(&t);
	assert_stream_plan(r, 3, 14, 17);
	assert_stream_plan(r, 1, 13, 15, 16, 17);
	assert_stream_plan(r, 0, 14);
	sbt_reader_close(r);
}

/* 13 f(A) s1, 14 sync s1, 15 its end, 16 f(B) s1, 17 f(C) s2, 18 sync s1, 19 its end */
static void host(void **arg)
{
	struct trace_maker t;
	struct sbt_reader *r;

	begin(&t);
	f(&t, 1, A);
	add(&t, cmd_sync_stream(seq, 1));
	add(&t, cmd_sync_end(seq, 14));
	f(&t, 1, B);
	f(&t, 2, C);
	add(&t, cmd_sync_stream(seq, 1));
	add(&t, cmd_sync_end(seq, 18));
	r = trace_end(&t);
	assert_stream_plan(r, 2, 16);
	assert_stream_plan(r, 1, 17);
	sbt_reader_close(r);
}

/* 13 h2d A s1, 14 fill B s1, 15 copy C <- A s2, 16 f(C) s2, 17 copy D <- B s3 */
static void memory(void **arg)
{
	struct trace_maker t;
	struct sbt_reader *r;

	begin(&t);
	add(&t, cmd_copy(seq, 1, SBT_COPY_H2D, A, 0x7000, 64, true));
	add(&t, cmd_fill(seq, 1, B, 64));
	add(&t, cmd_copy(seq, 2, SBT_COPY_D2D, C, A, 64, true));
	f(&t, 2, C);
	add(&t, cmd_copy(seq, 3, SBT_COPY_D2D, D, B + 100, 64, true));
	r = trace_end(&t);
	assert_stream_plan(r, 2, 14, 17);
	assert_stream_plan(r, 3, 15, 16);
	assert_stream_plan(r, 1, 15, 16, 17);
	sbt_reader_close(r);
}

static void unknown(void **arg)
{
	struct trace_maker t;
	struct sbt_reader *r;
	struct sbt_cmd c;

	begin(&t); /* 14 has parameters that were not recorded: it may read anything */
	f(&t, 1, A);
	add(&t, cmd_launch(seq, 2, 0));
	f(&t, 1, B);
	r = trace_end(&t);
	assert_stream_plan(r, 2, 15);
	assert_stream_plan(r, 1); /* it may write anything, too: all is needed */
	sbt_reader_close(r);

	/* globals of other modules, of this one, of both, asked for when all is over */
	for (unsigned with = 0; with < 6; with++) {
		static const uint64_t modules[6][2] = {
			{0, 0}, {5, 0}, {9, 5}, {9, 9}, {SBT_NO_ID, 0}, {9, SBT_NO_ID}};

		begin(&t);
		f(&t, 1, A);
		f(&t, 2, B);
		for (unsigned k = 0; k < 2 && modules[with][k]; k++) {
			c = cmd_any(seq, SBT_GLOBAL_DEF);
			c.u.global_def.module = modules[with][k];
			c.u.global_def.global_name = cmd_blob("counter");
			c.u.global_def.addr = 0x500000;
			c.u.global_def.size = 4;
			add(&t, c);
		}
		r = trace_end(&t);
		if (with == 1 || with == 2 || with >= 4) /* it may be any module's */
			assert_stream_plan(r, 2);
		else
			assert_stream_plan(r, 2, 13);
		sbt_reader_close(r);
	}
}

/* A global that only the recorded memory names counts as one that is defined: of module 5, f's, any
 * launch of f may touch it; of module 9 none may. A kernel of no known module may touch any. */
static void globals_of_the_memory(void **arg)
{
	static const uint32_t params[] = {0, 8};
	static const uint32_t modules[3] = {5, 9, SBT_NO_ID};
	static const uint8_t bytes[4] = {1, 2, 3, 4};

	for (unsigned i = 0; i < 6; i++) {
		const bool nameless = i >= 3;
		struct sbt_memory m = {.seq = 13,
			.role = SBT_MEMORY_START,
			.owner = SBT_MEMORY_GLOBAL,
			.addr = 0x500000,
			.size = sizeof bytes,
			.module = modules[i % 3],
			.has_bytes = true};
		struct trace_maker t;
		struct sbt_reader *r;
		struct sbt_cmd c;
		uint64_t p = A;
		uint32_t id;

		begin(&t);
		add(&t, cmd_kernel_def(seq, 2, nameless ? SBT_NO_ID : 5, "h", params, 1)); /* 13 */
		ok(sbt_writer_memory(t.w, &m, &id));
		ok(sbt_writer_memory_bytes(t.w, id, bytes, sizeof bytes));
		c = cmd_launch(seq, 1, 2); /* 14 h(A) s1 */
		c.u.launch.args = (struct sbt_blob){&p, 8};
		add(&t, c);
		f(&t, 2, B); /* 15 */
		r = trace_end(&t);
		/* h may touch what f does; nameless h may touch any global, f only its own */
		if (modules[i % 3] == 9)
			assert_stream_plan(r, 2, 14);
		else
			assert_stream_plan(r, 2);
		sbt_reader_close(r);
	}
}

/* 13 f(A) s1 fails, 14 f(A) s1 into a graph, 15 f(B) s2 */
static void not_executed(void **arg)
{
	struct trace_maker t;
	struct sbt_reader *r;
	const uint64_t a = A;
	struct sbt_cmd c;

	begin(&t);
	c = cmd_launch(seq, 1, 0);
	c.u.launch.args = (struct sbt_blob){&a, 8};
	c.result = 700;
	add(&t, c);
	c.seq = seq;
	c.result = 0;
	c.flags = SBT_F_GRAPH;
	add(&t, c);
	f(&t, 2, B);
	r = trace_end(&t);
	assert_stream_plan(r, 2);
	sbt_reader_close(r);
}

/* 13 h2d A s1, 14 fill B s1, 15 f(D) s1, 16 g(A, B) s2, 17 g(D, A) s2 */
static struct sbt_reader *for_alone(bool recorded)
{
	struct sbt_memory m = {.seq = 13,
		.role = SBT_MEMORY_INPUT,
		.owner = SBT_MEMORY_ANY,
		.addr = 0x7000,
		.size = 64,
		.module = SBT_NO_ID,
		.has_bytes = true};
	struct trace_maker t;
	uint8_t bytes[64] = {1};
	uint32_t id;

	begin(&t);
	add(&t, cmd_copy(seq, 1, SBT_COPY_H2D, A, 0x7000, 64, true));
	add(&t, cmd_fill(seq, 1, B, 64));
	f(&t, 1, D);
	g(&t, 2, A, B);
	g(&t, 2, D, A);
	if (recorded) {
		ok(sbt_writer_memory(t.w, &m, &id));
		ok(sbt_writer_memory_bytes(t.w, id, bytes, 64));
	}
	return trace_end(&t);
}

static void refused(struct sbt_reader *r, uint64_t last, const char *reader, const char *writer)
{
	struct plan p;
	struct err *e = plan_stream(&p, r, FIRST, last, &(uint32_t){2}, 1, true);

	assert_non_null(e);
	assert_int_equal(e->code, ERR_INCOMPLETE);
	if (!strstr(e->what, reader) || !strstr(e->what, writer))
		fail_msg("%s", e->what);
	err_free(e);
}

static void alone(void **arg)
{
	struct sbt_reader *r = for_alone(true);
	struct plan p;

	ok(plan_stream(&p, r, FIRST, 16, &(uint32_t){2}, 1, true));
	assert_skips(&p, LIST(13, 15));
	assert_true(p.recorded_inputs);
	assert_true(plan_exact(&p, A, SIZE));
	assert_true(plan_exact(&p, B, SIZE));
	assert_false(plan_exact(&p, D, 1));
	plan_free(&p);
	refused(r, 17, "#17 g<<<", "#15 f<<<");
	sbt_reader_close(r);
	r = for_alone(false);
	refused(r, 16, "#16 g<<<", "#13 copy");
	sbt_reader_close(r);
}

static void ranges(void **arg)
{
	struct sbt_reader *r = with_events();
	struct buf b = BUF_INIT;
	struct plan p;

	ok(plan_range(&p, r, FIRST, 19, 18, 18));
	assert_skips(&p, LIST(16));
	assert_int_equal(p.behind, 1);
	assert_int_equal(p.executed, 3);
	assert_true(plan_exact(&p, A, SIZE));
	assert_false(plan_exact(&p, C, 1));
	assert_false(plan_exact(&p, C + SIZE - 1, 100));
	assert_true(plan_exact(&p, C + SIZE, 100));
	assert_true(plan_exact(&p, D, SIZE)); /* #19 comes after the end */
	plan_print(&b, &p);
	assert_string_equal(buf_cstr(&b),
		"Left out: 1 launch on stream 1; 1 launch on stream 3; 1 of these comes after #18.\n"
		"  #16 f<<<(64,1,1),(256,1,1)>>> stream 1\n  #19 f<<<(64,1,1),(256,1,1)>>> stream 3\n");
	plan_free(&p);
	ok(plan_range(&p, r, FIRST, 19, 13, 19));
	assert_skips(&p, LIST());
	buf_clear(&b);
	plan_print(&b, &p);
	assert_string_equal(buf_cstr(&b), "Left out: nothing.\n");
	buf_free(&b);
	plan_free(&p);
	fails(plan_range(&p, r, FIRST, 19, 12, 15), ERR_NOT_FOUND);
	fails(plan_range(&p, r, FIRST, 19, 15, 14), ERR_USAGE);
	sbt_reader_close(r);
}

static void kernels(void **arg)
{
	struct sbt_reader *r = with_events();
	struct plan p;

	ok(plan_kernel(&p, r, FIRST, 19, "f", 3));
	assert_int_equal(p.from, 16);
	assert_int_equal(p.to, 16);
	assert_skips(&p, LIST());
	assert_int_equal(p.behind, 2);
	plan_free(&p);
	fails(plan_kernel(&p, r, FIRST, 19, "f", 6), ERR_NOT_FOUND);
	fails(plan_kernel(&p, r, FIRST, 19, "f", 0), ERR_USAGE);
	fails(plan_kernel(&p, r, FIRST, 19, "g*", 1), ERR_NOT_FOUND);
	sbt_reader_close(r);
}

/* ---- rarer things ---------------------------------------- */

static void a_window_has_its_place(void **arg)
{
	struct sbt_reader *r = with_events(); /* #1 to #19 */
	const uint32_t one = 1;
	struct plan p;

	fails(plan_stream(&p, r, 0, 19, &one, 1, false), ERR_INCOMPLETE);
	fails(plan_stream(&p, r, 15, 14, &one, 1, false), ERR_INCOMPLETE);
	fails(plan_stream(&p, r, FIRST, 20, &one, 1, false), ERR_INCOMPLETE);
	fails(plan_stream(&p, r, FIRST, 19, &one, 0, false), ERR_USAGE);
	fails(plan_range(&p, r, FIRST, 18, 18, 19), ERR_NOT_FOUND);
	ok(plan_stream(&p, r, 1, 19, &one, 1, false));
	plan_free(&p);
	ok(plan_range(&p, r, FIRST, 19, 19, 19));
	assert_int_equal(p.behind, 0);
	plan_free(&p);
	sbt_reader_close(r);
}

/* A handle may come from memory: what a texture lies on may be read by any launch. */
static void textures(void **arg)
{
	for (unsigned with = 0; with < 3; with++) {
		struct sbt_cmd c;
		struct trace_maker t;
		struct sbt_reader *r;

		begin(&t);
		c = cmd_any(seq, SBT_TEXTURE_CREATE);
		c.u.texture_create = (struct sbt_cmd_texture_create){
			.handle = 7, .addr = D + 16, .size = 256, .surface = with == 2};
		if (with)
			add(&t, c);
		else
			add(&t, cmd_event_record(seq, 2, 0));
		f(&t, 1, D);			  /* 14 */
		add(&t, cmd_fill(seq, 1, C, 64)); /* 15 */
		f(&t, 2, A);
		r = trace_end(&t);
		if (with)
			assert_stream_plan(r, 2, 15);
		else
			assert_stream_plan(r, 2, 14, 15);
		sbt_reader_close(r);
	}
}

#define MANY UINT64_C(0x10000000) /* allocations side by side */

static void add_many(struct trace_maker *t, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		add(t, cmd_alloc(seq, MANY + i * SIZE, SIZE));
}

/* Each allocation by itself, however many there are. */
static void many_allocations(void **arg)
{
	const unsigned n = 600;

	for (unsigned read = 3; read < n; read += 199) {
		struct trace_maker t;
		struct sbt_reader *r;
		struct plan p;
		uint64_t first;

		begin(&t);
		add_many(&t, n);
		first = seq;
		for (unsigned i = 0; i < n; i++)
			add(&t, cmd_fill(seq, 1, MANY + i * SIZE, 64));
		f(&t, 2, MANY + read * SIZE + 8);
		r = trace_end(&t);
		ok(plan_stream(&p, r, FIRST, seq - 1, &(uint32_t){2}, 1, false));
		assert_int_equal(p.nskip, n - 1 - read);
		for (size_t i = 0; i < p.nskip; i++)
			assert_int_equal(p.skip[i], first + read + 1 + i);
		plan_free(&p);
		sbt_reader_close(r);
	}
}

/* A range is taken apart into the allocations below it, 256 at most: one over more of them may have
 * touched anything. */
static void a_range_over_many_allocations(void **arg)
{
	static const struct {
		unsigned over, read;
		bool needed;
	} rows[] = {{256, 0, true}, {256, 255, true}, {256, 256, false}, {257, 258, true}};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct trace_maker t;
		struct sbt_reader *r;
		struct plan p;

		begin(&t);
		add_many(&t, 259);
		add(&t, cmd_fill(seq, 1, MANY, rows[i].over * SIZE));
		f(&t, 2, MANY + rows[i].read * SIZE);
		r = trace_end(&t);
		ok(plan_stream(&p, r, FIRST, seq - 1, &(uint32_t){2}, 1, false));
		assert_int_equal(p.nskip, !rows[i].needed);
		assert_false(p.all_spoiled);
		plan_free(&p);
		ok(plan_stream(&p, r, FIRST, seq - 1, &(uint32_t){1}, 1, false)); /* else */
		assert_int_equal(p.nskip, 1);
		plan_free(&p);
		sbt_reader_close(r);
	}
}

static void node(struct trace_maker *t, uint64_t number, struct sbt_cmd what, enum sbt_node type)
{
	static uint64_t packed[64];
	const uint64_t kernel = type == SBT_NODE_KERNEL ? 0 : SBT_NO_ID;

	assert_true(sbt_pack_size(&what) <= sizeof packed);
	sbt_pack(packed, &what);
	add(t, cmd_graph_node(seq, 0, number, type, kernel, packed, sbt_pack_size(&what)));
}

/* A launch of a graph touches what its nodes do: here two fills that begin at the same address. */
static void a_graph_launch(void **arg)
{
	struct trace_maker t;
	struct sbt_reader *r;
	struct sbt_cmd c;
	struct plan p;

	begin(&t);
	c = cmd_any(seq, SBT_GRAPH_CREATE);
	c.u.graph_create.clone_of = SBT_NO_ID;
	add(&t, c);
	node(&t, 0, cmd_fill(0, SBT_NO_ID, A, 16), SBT_NODE_FILL);
	node(&t, 1, cmd_fill(0, SBT_NO_ID, A, 64), SBT_NODE_FILL);
	add(&t, cmd_graph_instantiate(seq, 1, 0));
	add(&t, cmd_graph_launch(seq, 1, 1)); /* 17 */
	f(&t, 2, B);			      /* 18 */
	f(&t, 3, A);			      /* 19 */
	r = trace_end(&t);
	ok(plan_stream(&p, r, FIRST, seq - 1, &(uint32_t){2}, 1, false));
	assert_skips(&p, LIST(17, 19));
	plan_free(&p);
	ok(plan_range(&p, r, FIRST, seq - 1, 18, 18));
	assert_skips(&p, LIST(17));
	assert_false(plan_exact(&p, A, 16));
	assert_false(plan_exact(&p, A + 63, 1));
	assert_true(plan_exact(&p, A + 64, 16));
	plan_free(&p);
	assert_stream_plan(r, 3, 18);
	sbt_reader_close(r);
}

/* Whose write a wait for a value waits for is not known: all before it is needed. A write of a
 * stream to memory is like a fill. */
static void values(void **arg)
{
	struct sbt_cmd c = {.kind = SBT_BATCH};
	struct trace_maker t;
	struct sbt_reader *r;

	begin(&t);
	f(&t, 1, A); /* 13 */
	c.seq = seq;
	c.u.batch = (struct sbt_cmd_batch){
		.stream = 2, .is_wait = true, .addr = C, .value = 1, .elem = 4};
	add(&t, c);
	f(&t, 2, B);
	f(&t, 1, D); /* 16 */
	r = trace_end(&t);
	assert_stream_plan(r, 2, 16);
	sbt_reader_close(r);

	begin(&t);
	c.seq = seq;
	c.u.batch = (struct sbt_cmd_batch){.stream = 1, .addr = C, .value = 1, .elem = 4};
	add(&t, c);  /* 13 */
	f(&t, 1, A); /* 14 */
	f(&t, 2, C);
	f(&t, 3, B);
	r = trace_end(&t);
	assert_stream_plan(r, 2, 14, 16);
	assert_stream_plan(r, 3, 13, 14, 15);
	sbt_reader_close(r);
}

/* Launches that failed, or went into a graph, are none; kernels may come in the window. */
static void which_launch_of_a_kernel(void **arg)
{
	static const uint32_t params[] = {0, 8};
	struct trace_maker t;
	struct sbt_reader *r;
	struct sbt_cmd c;
	struct plan p;

	begin(&t);
	add(&t, cmd_kernel_def(seq, 2, 5, "later", params, 1)); /* 13 */
	c = cmd_launch(seq, 1, 0);
	c.result = 700;
	add(&t, c);
	c.seq = seq;
	c.result = 0;
	c.flags = SBT_F_GRAPH;
	add(&t, c);
	add(&t, cmd_launch(seq, 1, 2)); /* 16 */
	f(&t, 1, A);			/* 17 */
	g(&t, 1, A, B);
	r = trace_end(&t);
	ok(plan_kernel(&p, r, FIRST, seq - 1, "f", 1));
	assert_int_equal(p.to, 17);
	plan_free(&p);
	ok(plan_kernel(&p, r, FIRST, seq - 1, "later", 1));
	assert_int_equal(p.to, 16);
	plan_free(&p);
	for (unsigned nth = 2; nth < 5; nth += 2) {
		struct err *e = plan_kernel(&p, r, FIRST, seq - 1, nth == 2 ? "f" : "?", nth);

		assert_non_null(e);
		assert_int_equal(e->code, ERR_NOT_FOUND);
		assert_non_null(
			strstr(e->what, nth == 2 ? "has 1 launch of kernels like f, not 2"
						 : "has 2 launches of kernels like ?, not 4"));
		err_free(e);
	}
	fails(plan_kernel(&p, r, FIRST, 16, "f", 1), ERR_NOT_FOUND); /* behind the window */
	sbt_reader_close(r);
}

/* A range without work needs what the host knew to be finished there. */
static void a_range_without_work(void **arg)
{
	struct trace_maker t;
	struct sbt_reader *r;
	struct plan p;

	begin(&t);
	f(&t, 1, A); /* 13 */
	add(&t, cmd_sync_stream(seq, 1));
	add(&t, cmd_sync_end(seq, 14));
	f(&t, 1, C); /* 16 */
	add(&t, cmd_event_create(seq, 5));
	f(&t, 2, B);
	r = trace_end(&t);
	ok(plan_range(&p, r, FIRST, seq - 1, 17, 17));
	assert_skips(&p, LIST(16));
	assert_int_equal(p.behind, 1);
	plan_free(&p);
	sbt_reader_close(r);
}

/* Counts by stream and kind, and of the commands the first eight. */
static void what_is_left_out_in_words(void **arg)
{
	struct buf b = BUF_INIT;
	struct trace_maker t;
	struct sbt_reader *r;
	struct plan p;

	begin(&t);
	for (unsigned i = 0; i < 3; i++)
		f(&t, 2, B); /* 13 to 15 */
	for (unsigned i = 0; i < 2; i++)
		add(&t, cmd_copy(seq, 2, SBT_COPY_D2D, C, B, 64, true));  /* 16, 17 */
	add(&t, cmd_copy(seq, 1, SBT_COPY_D2D, C + 64, B + 64, 8, true)); /* 18 */
	for (unsigned i = 0; i < 2; i++)
		add(&t, cmd_fill(seq, 1, C, 64)); /* 19, 20 */
	f(&t, 3, A);				  /* 21 */
	f(&t, 1, A);
	f(&t, 1, A);
	r = trace_end(&t);
	ok(plan_range(&p, r, FIRST, seq - 1, 21, 21));
	plan_print(&b, &p);
	const char *text = buf_cstr(&b), *lines = strchr(text, '\n');

	assert_non_null(lines);
	assert_int_equal(strncmp(text,
				 "Left out: 2 launches, 1 copy, 2 fills on stream 1; 3 launches, 2 "
				 "copies on stream 2; 2 of these come after #21.\n",
				 (size_t)(lines - text + 1)),
		0);
	assert_non_null(strstr(lines, "\n  #13 f<<<"));
	assert_non_null(strstr(lines, "\n  #20 "));
	assert_null(strstr(lines, "\n  #22 "));
	assert_non_null(strstr(lines, "\n  ... and 2 more\n"));
	assert_int_equal(p.ncounts, 5);
	assert_int_equal(p.behind, 2);
	assert_int_equal(p.executed, 1);
	buf_free(&b);
	plan_free(&p);
	sbt_reader_close(r);
}

/* ---- executed ---------------------------------------- */

#define CELL 64
#define CELLS (4 * SIZE / CELL)
#define WORK_MAX 40

/* What work does to memory in cells of 64 bytes: a kernel mixes all of the allocations that it was
 * given, a copy brings what lies there, a fill its number. */
struct deed {
	uint64_t seq, stream, dst, src, n;
	enum { FILLS, COPIES, MIXES, NOTHING } does;
	uint64_t result; /* of what it wrote, when everything is executed */
};

static struct deed deeds[WORK_MAX];
static unsigned ndeeds;
static const uint64_t allocs[] = {A, B, C, D};

/* The place of an address among the cells. */
static size_t cell(uint64_t addr)
{
	size_t i = 0;

	while (addr < allocs[i] || addr >= allocs[i] + SIZE)
		i++;
	return (i * SIZE + (addr - allocs[i])) / CELL;
}

static uint64_t mixed(uint64_t a, uint64_t b)
{
	a ^= b + 0x9e3779b97f4a7c15u + (a << 6) + (a >> 2);
	return a * 0xd6e8feb86659fd93u ^ a >> 29;
}

static uint64_t do_deed(const struct deed *x, uint64_t *mem)
{
	uint64_t h = x->seq;

	switch (x->does) {
	case FILLS:
		for (size_t i = 0; i < x->n / CELL; i++)
			mem[cell(x->dst) + i] = x->seq;
		break;
	case COPIES:
		memmove(&mem[cell(x->dst)], &mem[cell(x->src)], x->n / CELL * sizeof *mem);
		for (size_t i = 0; i < x->n / CELL; i++)
			h = mixed(h, mem[cell(x->dst) + i]);
		break;
	case MIXES:
		for (size_t i = 0; i < SIZE / CELL; i++)
			h = mixed(mixed(h, mem[cell(x->dst) + i]), mem[cell(x->src) + i]);
		for (size_t i = 0; i < SIZE / CELL; i++) {
			mem[cell(x->dst) + i] = mixed(h, i);
			mem[cell(x->src) + i] = mixed(h, i + 1);
		}
		break;
	case NOTHING:
		break;
	}
	return h;
}

static void some_work(struct trace_maker *t, struct random_cmds *dice)
{
	const uint64_t stream = random_below(dice, 4), at = random_below(dice, SIZE / CELL),
		       n = 1 + random_below(dice, SIZE / CELL - at),
		       from = random_below(dice, SIZE / CELL - n + 1), a = random_below(dice, 4),
		       b = (a + 1 + random_below(dice, 3)) % 4;
	struct deed *x = &deeds[ndeeds];
	const uint64_t what = random_below(dice, 9);

	if (what == 8) {
		const uint64_t s = seq;

		add(t, cmd_sync_stream(seq, stream));
		add(t, cmd_sync_end(seq, s));
		return;
	}
	*x = (struct deed){.seq = seq,
		.stream = stream,
		.dst = allocs[a] + at * CELL,
		.src = allocs[b] + from * CELL,
		.n = n * CELL};
	if (what < 2) {
		x->does = FILLS;
		add(t, cmd_fill(seq, stream, x->dst, x->n));
	} else if (what < 5) {
		x->does = COPIES;
		add(t, cmd_copy(seq, stream, SBT_COPY_D2D, x->dst, x->src, x->n, true));
	} else if (what < 6) {
		x->does = MIXES;
		x->dst = allocs[a];
		x->src = allocs[b];
		g(t, stream, x->dst, x->src);
	} else {
		x->does = NOTHING;
		add(t, what == 6 ? cmd_event_record(seq, stream, 0)
				 : cmd_stream_wait(seq, stream, 0));
	}
	ndeeds++;
}

static bool is_left_out(const struct plan *p, uint64_t at)
{
	for (size_t i = 0; i < p->nskip; i++)
		if (p->skip[i] == at)
			return true;
	return false;
}

/* Executed without what the plan leaves out, each command of the stream, or of the range, makes
 * what it makes in the whole; and memory that is said to be exact is. */
static void assert_same_result(const struct plan *p, const uint64_t *whole, uint32_t stream)
{
	static uint64_t mem[CELLS];

	memset(mem, 0, sizeof mem);
	for (unsigned i = 0; i < ndeeds && deeds[i].seq <= p->to; i++) {
		uint64_t made;

		if (is_left_out(p, deeds[i].seq)) {
			assert_true(stream == SBT_NO_ID ? deeds[i].seq < p->from
							: deeds[i].stream != stream);
			assert_true(deeds[i].does != NOTHING);
			continue;
		}
		made = do_deed(&deeds[i], mem);
		if ((stream == SBT_NO_ID ? deeds[i].seq >= p->from : deeds[i].stream == stream) &&
			made != deeds[i].result)
			fail_msg("#%d makes something else", (int)deeds[i].seq);
	}
	for (size_t k = 0; k < CELLS; k++) {
		const uint64_t addr = allocs[k * CELL / SIZE] + k * CELL % SIZE;

		if (plan_exact(p, addr, CELL) && mem[k] != whole[k])
			fail_msg("0x%llx is not exact", (unsigned long long)addr);
	}
}

/* Memory after every command up to `to`. */
static const uint64_t *memory_at(uint64_t to)
{
	static uint64_t mem[CELLS];

	memset(mem, 0, sizeof mem);
	for (unsigned i = 0; i < ndeeds && deeds[i].seq <= to; i++)
		deeds[i].result = do_deed(&deeds[i], mem);
	return mem;
}

static void plans_that_are_executed(void **arg)
{
	unsigned skipped = 0;

	(void)arg;
	for (uint64_t seed = 1; seed <= 300; seed++) {
		struct random_cmds dice = {.x = seed * 7919};
		struct trace_maker t;
		struct sbt_reader *r;
		struct plan p;

		begin(&t);
		ndeeds = 0;
		for (unsigned n = 4 + (unsigned)random_below(&dice, 24); ndeeds < n;)
			some_work(&t, &dice);
		r = trace_end(&t);
		for (uint32_t stream = 0; stream < 4; stream++) {
			struct err *e = plan_stream(&p, r, FIRST, seq - 1, &stream, 1, false);

			if (e) {
				assert_int_equal(e->code, ERR_NOT_FOUND);
				err_free(e);
				continue;
			}
			skipped += p.nskip > 0;
			assert_same_result(&p, memory_at(seq - 1), stream);
			plan_free(&p);
		}
		for (unsigned i = 0; i < 4; i++) {
			const uint64_t a = deeds[random_below(&dice, ndeeds)].seq,
				       b = a + random_below(&dice, seq - a);

			ok(plan_range(&p, r, FIRST, seq - 1, a, b));
			skipped += p.nskip > 0;
			assert_same_result(&p, memory_at(p.to), SBT_NO_ID);
			plan_free(&p);
		}
		sbt_reader_close(r);
	}
	assert_true(skipped > 500); /* there was something to see */
}

/* Against the definition: for random commands, the plan is closed over same stream and known
 * pointers, and never more than all. */
static void random_plans(void **arg)
{
	for (uint64_t seed = 1; seed <= 20; seed++) {
		struct sbt_reader *r = trace_random(seed * 31, 300, 50, 0, NULL, NULL);

		for (uint32_t stream = 0; stream < 6; stream++) {
			struct plan p;
			struct err *e = plan_stream(&p, r, 40, 290, &stream, 1, seed % 2);

			if (e && e->code != ERR_NOT_FOUND && e->code != ERR_INCOMPLETE)
				fail_msg("%s", e->what);
			err_free(e);
			if (e)
				continue;
			for (size_t i = 1; i < p.nskip; i++)
				assert_true(p.skip[i - 1] < p.skip[i]);
			for (size_t i = 1; i < p.nspoiled; i++)
				assert_true(p.spoiled[i - 1].end < p.spoiled[i].addr);
			for (size_t i = 0; i < p.ncounts; i++)
				assert_true(p.counts[i].stream != stream);
			plan_free(&p);
		}
		sbt_reader_close(r);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(events),
		cmocka_unit_test(events_again),
		cmocka_unit_test(default_stream),
		cmocka_unit_test(host),
		cmocka_unit_test(memory),
		cmocka_unit_test(unknown),
		cmocka_unit_test(globals_of_the_memory),
		cmocka_unit_test(not_executed),
		cmocka_unit_test(alone),
		cmocka_unit_test(ranges),
		cmocka_unit_test(kernels),
		cmocka_unit_test(a_window_has_its_place),
		cmocka_unit_test(textures),
		cmocka_unit_test(many_allocations),
		cmocka_unit_test(a_range_over_many_allocations),
		cmocka_unit_test(a_graph_launch),
		cmocka_unit_test(values),
		cmocka_unit_test(which_launch_of_a_kernel),
		cmocka_unit_test(a_range_without_work),
		cmocka_unit_test(what_is_left_out_in_words),
		cmocka_unit_test(plans_that_are_executed),
		cmocka_unit_test(random_plans),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
