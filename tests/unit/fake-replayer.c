/* SPDX-License-Identifier: Apache-2.0
 *
 * A test double of tsdb-replayer: the same protocol, memory that is an array, and every way to go
 * wrong on request. Like a device it finds out about a fault late: when something waits.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "fake-replayer.h"
#include "replay/protocol.h"
#include "sbt/memory.h"
#include "sbt/sbt.h"

#define POINT_EVERY 16
#define POINTS 4096

struct edit {
	uint64_t seq, addr;
	uint32_t param;
	bool is_arg;
	uint8_t bytes[4096];
	size_t n;
};

static struct sbt_reader *trace;
static struct sbt_cursor *cursor;
static uint64_t cursor_at; /* what the cursor delivers next is behind this; UINT64_MAX: seek */
static uint64_t first, last, pos, finished, broken, executed;
static uint8_t mem[FAKE_SIZE], start[FAKE_SIZE];
static struct {
	uint64_t seq;
	uint8_t *mem;
} points[POINTS];
static unsigned npoints, nedits;
static struct edit edits[64];
static uint64_t *skips;
static uint32_t nskips;
static const char *temper;
static struct replayer_error error;
static char why[200];
static struct {
	struct replayer_graph_part part;
	struct replayer_swap swap;
	uint8_t code; /* the first byte of the other code; 0: none */
	uint32_t schedule;
	bool overlap;
	uint64_t asked_points, ends, seeks; /* CHECKPOINT, CHECK_END, SEEK */
} now;

static void die(const char *what)
{
	fprintf(stderr, "fake-replayer: %s\n", what);
	exit(9);
}

static void must(struct err *e)
{
	if (e)
		die(e->what);
}

static bool has(const char *word)
{
	return temper && strstr(temper, word);
}

static bool fail(unsigned code, uint64_t seq, uint64_t from, const char *what)
{
	error = (struct replayer_error){.code = code, .seq = seq, .first = from};
	snprintf(why, sizeof why, "%s", what);
	return false;
}

static uint8_t *at(uint64_t addr, uint64_t size)
{
	if (addr < FAKE_BASE || size > FAKE_SIZE || addr - FAKE_BASE > FAKE_SIZE - size)
		return NULL;
	return mem + (addr - FAKE_BASE);
}

/* --- commands --- */

static void copy(const struct sbt_cmd *c)
{
	uint8_t *dst = at(c->u.copy.dst, c->u.copy.size), *src = at(c->u.copy.src, c->u.copy.size);

	if (c->u.copy.dir == SBT_COPY_H2D && dst)
		for (uint64_t i = 0; i < c->u.copy.size; i++)
			dst[i] = (uint8_t)(c->seq * 31 + i);
	else if (c->u.copy.dir == SBT_COPY_D2D && dst && src)
		memmove(dst, src, c->u.copy.size);
}

/* What a kernel prints goes to the standard output. */
static void print(const struct sbt_cmd *c)
{
	if (has("prints"))
		printf("#%llu\n", (unsigned long long)c->seq);
	for (unsigned i = 0; has("floods") && i < 6000; i++)
		printf("%49u\n", i);
	fflush(stdout);
}

static uint64_t added(uint64_t kernel)
{
	return (now.code && now.swap.kernel == kernel ? now.code : kernel + 1) + now.schedule;
}

static void launch(const struct sbt_cmd *c)
{
	uint8_t args[4096];
	size_t n = c->u.launch.args.len < sizeof args ? c->u.launch.args.len : sizeof args;

	if (n)
		memcpy(args, c->u.launch.args.p, n);
	for (unsigned i = 0; i < nedits; i++)
		if (edits[i].is_arg && edits[i].seq == c->seq &&
			8 * edits[i].param + edits[i].n <= n)
			memcpy(args + 8 * edits[i].param, edits[i].bytes, edits[i].n);
	if (c->u.launch.kernel == FAKE_FAULT && !broken)
		broken = c->seq;
	if (c->u.launch.kernel == FAKE_HANG)
		for (;;)
			pause();
	if (c->u.launch.kernel == FAKE_CRASH) {
		signal(SIGSEGV, SIG_DFL); /* a sanitizer has its own */
		kill(getpid(), SIGSEGV);
	}
	for (size_t i = 0; i + 8 <= n && c->u.launch.kernel % 4 != 3; i += 8) {
		uint64_t p;
		uint8_t *dst;

		memcpy(&p, args + i, 8);
		dst = at(p, FAKE_WRITES);
		for (unsigned k = 0; dst && k < FAKE_WRITES; k++)
			dst[k] = (uint8_t)(dst[k] * 5 + added(c->u.launch.kernel));
	}
}

static bool skipped(uint64_t seq)
{
	for (uint32_t i = 0; i < nskips; i++)
		if (skips[i] == seq)
			return true;
	return false;
}

static void perform(const struct sbt_cmd *c)
{
	uint8_t *dst;

	executed++;
	if (c->result || (c->flags & SBT_F_GRAPH) || skipped(c->seq))
		return;
	if (c->kind == SBT_COPY)
		copy(c);
	if (c->kind == SBT_FILL && (dst = at(c->u.fill.dst, c->u.fill.size)))
		memset(dst, (int)c->u.fill.value, c->u.fill.size);
	if (c->kind == SBT_LAUNCH) {
		launch(c);
		print(c);
	}
	if (c->kind == SBT_GRAPH_LAUNCH)
		mem[c->u.graph_launch.exec % FAKE_SIZE] +=
			(uint8_t)(now.part.seq == c->seq ? now.part.node + now.part.with : 1);
}

static void keep_point(void)
{
	if (npoints == POINTS || (npoints && points[npoints - 1].seq >= pos))
		return;
	points[npoints].mem = malloc(FAKE_SIZE);
	memcpy(points[npoints].mem, mem, FAKE_SIZE);
	points[npoints++].seq = pos;
}

static void apply_writes(void)
{
	for (unsigned i = 0; i < nedits; i++)
		if (!edits[i].is_arg && edits[i].seq == pos)
			memcpy(at(edits[i].addr, edits[i].n), edits[i].bytes, edits[i].n);
}

/* Executes the next command if it is at most seq. */
static bool next(uint64_t seq)
{
	const struct sbt_cmd *c;

	if (cursor_at != pos)
		must(sbt_cursor_seek(cursor, pos + 1));
	must(sbt_cursor_next(cursor, &c));
	cursor_at = UINT64_MAX;
	if (!c || c->seq > seq)
		return false;
	pos = cursor_at = c->seq;
	perform(c);
	apply_writes();
	if (executed % POINT_EVERY == 0 && !has("nopoints"))
		keep_point();
	return true;
}

static bool finish(void)
{
	if (broken)
		return fail(REPLAYER_E_FAULT, pos, finished + 1, "an illegal address was accessed");
	finished = pos;
	return true;
}

static bool forward(uint64_t seq)
{
	while (pos < seq && next(seq))
		;
	if (pos < seq)
		pos = seq;
	return finish();
}

static bool seek(uint64_t seq)
{
	unsigned i = npoints;

	if (seq + 1 < first || seq > last)
		return fail(REPLAYER_E_REFUSED, 0, 0, "outside the window");
	if (!finish())
		return false;
	while (i && points[i - 1].seq > seq)
		i--;
	if (!(pos <= seq && (!i || points[i - 1].seq <= pos)) || has("always-back")) {
		memcpy(mem, i ? points[i - 1].mem : start, FAKE_SIZE);
		pos = i ? points[i - 1].seq : first - 1;
		if (!i)
			apply_writes();
	}
	return forward(seq);
}

static void forget_points(void)
{
	while (npoints)
		free(points[--npoints].mem);
}

/* --- requests --- */

static struct err *load(void *arg, const struct sbt_memory *m)
{
	if (m->role == SBT_MEMORY_START && m->has_bytes && at(m->addr, m->size))
		return sbt_reader_memory_read(trace, m, 0, start + (m->addr - FAKE_BASE), m->size);
	return NULL;
}

static bool on_open(const uint8_t *body, size_t n, struct buf *out)
{
	struct replayer_open o;
	struct replayer_opened r = {.ranges = 2,
		.bytes = FAKE_SIZE,
		.unrepeatable = 1,
		.work = 5,
		.recorded = 6,
		.left_out = 7};
	char path[4096] = "";

	memcpy(&o, body, sizeof o);
	memcpy(path, body + sizeof o, n - sizeof o < sizeof path ? n - sizeof o : 0);
	if (has("die-open"))
		exit(3);
	if (has("silent-open"))
		for (;;)
			pause();
	if (has("place-once") && access(getenv("TSDB_FAKE_MARK"), F_OK)) {
		fclose(fopen(getenv("TSDB_FAKE_MARK"), "w"));
		return fail(REPLAYER_E_PLACE, 0, 0, "0x100000 is taken");
	}
	if (has("no-room"))
		return fail(
			REPLAYER_E_MEMORY, 0, 0, "the window needs 8 GiB and the device has 4 GiB");
	if (o.version != REPLAYER_VERSION)
		return fail(REPLAYER_E_OTHER, 0, 0, "version");
	must(sbt_reader_open(&trace, path));
	must(sbt_cursor_open(&cursor, trace));
	first = o.first;
	last = o.last;
	now.overlap = o.flags & REPLAYER_OVERLAPS;
	for (size_t i = 0; i < FAKE_SIZE; i++)
		start[i] = (uint8_t)(i * 7);
	must(sbt_reader_memory(trace, first, first, load, NULL));
	memcpy(mem, start, FAKE_SIZE);
	pos = finished = first - 1;
	cursor_at = UINT64_MAX;
	if (has("told-")) { /* which command broke the device in the recording */
		r.fault_first = r.fault_last = (uint64_t)atoi(strstr(temper, "told-") + 5);
		r.fault_told = 14;
		r.fault_code = 700;
	}
	buf_add(out, &r, sizeof r);
	if (has("stdin")) {
		char of[64] = "";

		if (readlink("/proc/self/fd/0", of, sizeof of - 1) < 0)
			die("no standard input");
		buf_add(out, of, strlen(of));
		return true;
	}
	buf_str(out, has("odd-notes") ? "\x1b[31m\ta\x7f\nb\n" : "#3 host function: not called\n");
	return true;
}

static bool on_execute(const struct replayer_execute *x)
{
	if (x->seq <= pos)
		return fail(REPLAYER_E_OTHER, x->seq, 0, "behind the position");
	while (pos < x->seq && next(x->seq))
		;
	pos = x->seq;
	return !x->wait || finish();
}

static bool on_run(const struct replayer_run *r, struct buf *out)
{
	struct replayer_ran ran = {0};
	uint8_t *w = at(r->watch_addr, r->watch_size), *before = malloc(r->watch_size + 1);
	bool good = true;

	if (has("run-nowhere")) {
		ran = (struct replayer_ran){.seq = pos, .hit = 1};
		buf_add(out, &ran, sizeof ran);
		free(before);
		return true;
	}
	if (r->watch_size && !w)
		good = fail(REPLAYER_E_REFUSED, 0, 0, "not memory of the window");
	while (good && !ran.hit && pos < r->to) {
		if (w && r->watch_size)
			memcpy(before, w, r->watch_size);
		if (!next(r->to)) {
			pos = r->to;
			break;
		}
		if (r->watch_size)
			good = finish();
		ran.hit = good && r->watch_size && memcmp(before, w, r->watch_size);
	}
	free(before);
	good = good && finish();
	ran.seq = has("run-stuck") ? r->to - 1 : has("run-beyond") ? r->to + 1 : pos;
	ran.late = has("came-late") ? 8 : 0;
	buf_add(out, &ran, sizeof ran);
	return good;
}

struct verify {
	struct replayer_verified sums;
	struct buf pieces;
};

static struct err *compare(void *arg, const struct sbt_memory *m)
{
	struct verify *v = arg;
	struct replayer_piece p = {
		.addr = m->addr, .size = m->size, .checked = 1, .first_page = UINT64_MAX};

	if (m->role != SBT_MEMORY_END || !at(m->addr, m->size))
		return NULL;
	p.same = sbt_hash_equal(sbt_range_hash(at(m->addr, m->size), m->size), m->hash);
	v->sums.pieces++;
	v->sums.same += p.same;
	buf_add(&v->pieces, &p, sizeof p);
	return NULL;
}

static bool on_verify(struct buf *out)
{
	struct verify v = {.pieces = BUF_INIT};

	if (!finish())
		return false;
	must(sbt_reader_memory(trace, first, last, compare, &v));
	buf_add(out, &v.sums, sizeof v.sums);
	buf_add(out, v.pieces.data, v.pieces.len);
	buf_free(&v.pieces);
	return true;
}

static bool on_edit(uint32_t type, const uint8_t *body, size_t n)
{
	struct edit *e = &edits[nedits];
	struct replayer_range r;
	struct replayer_arg a;

	if (type == REPLAYER_WRITE) {
		memcpy(&r, body, sizeof r);
		*e = (struct edit){.seq = pos, .addr = r.addr, .n = n - sizeof r};
		if (!at(r.addr, r.size) || e->n != r.size || e->n > sizeof e->bytes)
			return fail(REPLAYER_E_REFUSED, 0, 0, "not memory of the window");
		memcpy(e->bytes, body + sizeof r, e->n);
		memcpy(at(r.addr, r.size), e->bytes, e->n);
	} else {
		memcpy(&a, body, sizeof a);
		forget_points();
		if (!a.seq) {
			nedits = 0;
			return true;
		}
		if (a.param > 3)
			return fail(REPLAYER_E_REFUSED, a.seq, 0, "no such parameter");
		*e = (struct edit){
			.seq = a.seq, .param = a.param, .is_arg = true, .n = n - sizeof a};
		memcpy(e->bytes, body + sizeof a, e->n);
	}
	forget_points();
	nedits++;
	return true;
}

/* Each text is full of ESC, without an end. */
static void fill_texts(struct soft_stop *t)
{
	memset(t->kernel, 0x1b, sizeof t->kernel);
	memset(t->function, 0x1b, sizeof t->function);
	memset(t->file, 0x1b, sizeof t->file);
	memset(t->text, 0x1b, sizeof t->text);
	memset(t->sentence, 0x1b, sizeof t->sentence);
	memset(t->change.file, 0x1b, sizeof t->change.file);
	memset(t->change.text, 0x1b, sizeof t->change.text);
	t->change.size = SOFT_BYTES + 1;
}

/* A launch under a microscope that says nothing but x. */
static void on_kernel(uint32_t type, const uint8_t *body, struct buf *out)
{
	static uint64_t inside;
	static uint32_t slices;
	struct soft_stop t;

	memset(&t, 'x', sizeof t);
	t.state = SOFT_STOPPED;
	if (type == REPLAYER_KERNEL) {
		memcpy(&inside, body, sizeof inside);
		seek(inside - 1);
	} else if (type == REPLAYER_KERNEL_FOCUS) {
		const struct replayer_kernel_focus *f = (const void *)body;

		memcpy(t.block, f->block, sizeof t.block);
		memcpy(t.thread, f->thread, sizeof t.thread);
		memcpy(t.text, "\x1b[31m\ta\x7f\xc3\xa9\n", 12);
		if (has("esc-stop"))
			fill_texts(&t);
	} else if (has("slices") && slices < 3) { /* it takes its time, and says what was asked */
		struct soft_go go;

		memcpy(&go, body, sizeof go);
		t.state = SOFT_BUSY;
		t.id = slices++;
		t.step = go.how;
		if ((t.id ? SOFT_ON : SOFT_STEP) != go.how)
			die("a slice is gone on with by SOFT_ON");
	} else if (has("die-go")) {
		exit(5);
	} else if (has("busy")) {
		t.state = SOFT_BUSY;
	} else {
		next(inside);
		t.state = SOFT_ENDED;
		t.why = SOFT_WHY_END;
	}
	buf_add(out, &t, has("short-stop") ? 8 : sizeof t);
}

static void on_kernel_ask(const struct soft_ask *q, struct buf *out)
{
	union {
		struct soft_line line;
		struct soft_warp warp;
		struct soft_value value;
		struct soft_function function;
		struct soft_frame frame;
	} r;
	const size_t size = q->what == SOFT_ASK_WARPS	    ? sizeof r.warp
			    : q->what == SOFT_ASK_REGISTERS ? sizeof r.value
			    : q->what == SOFT_ASK_VALUE	    ? sizeof r.value
			    : q->what == SOFT_ASK_FUNCTIONS ? sizeof r.function
			    : q->what == SOFT_ASK_FRAMES    ? sizeof r.frame
			    : q->what == SOFT_ASK_MEMORY    ? 5
							    : sizeof r.line;

	buf_add(out, &(struct replayer_none){0}, sizeof(struct replayer_none));
	memset(&r, q->size == 1 ? 'y' : q->size == 2 ? '\x1b' : 0x7f, sizeof r);
	buf_add(out, &r, has("odd") ? 3 : size);
}

/* What it was asked, with a line for each; without the list that should follow unless "points". */
static void on_kernel_points(const uint8_t *body, size_t n, struct buf *out)
{
	const size_t head = sizeof(struct replayer_none);
	struct soft_point p;

	buf_add(out, body, head);
	for (size_t at = head; has("points") && at < n; at += sizeof p) {
		memcpy(&p, body + at, sizeof p);
		p.line = 100 + p.id;
		p.size = 200 + p.id;
		buf_add(out, &p, sizeof p);
	}
}

/* A graph launch of three steps, of which only the last does anything. */
static bool on_node(const struct replayer_node *q, struct buf *out)
{
	struct replayer_at_node r = {.step = q->step, .steps = 3};

	if (has("die-node"))
		exit(5);
	if (has("no-node"))
		return fail(REPLAYER_E_REFUSED, q->seq, 0, "no such step");
	if (!seek(q->seq - 1) || (q->step == 3 && !forward(q->seq)))
		return false;
	r.seq = pos;
	buf_add(out, &r, sizeof r);
	return true;
}

/* Two places, with the first entry and the flags as their addresses, and the first change. */
static bool on_order(const uint8_t *body, struct buf *out)
{
	const struct replayer_order *q = (const void *)body;
	const uint64_t *entries = (const void *)(q + 1);
	const struct replayer_ordered sums = {.seq = last,
		.n = has("order-more") ? 3 : 2,
		.changes = has("changes-more") ? 2 : q->nchanges != 0,
		.outputs = q->n,
		.outputs_same = q->nchanges};
	const struct replayer_place places[] = {
		{.addr = q->n ? entries[0] : 0, .size = 8}, {.addr = q->flags, .size = 16}};

	buf_add(out, &sums, sizeof sums);
	buf_add(out, places, sizeof places);
	if (q->nchanges)
		buf_add(out, entries + q->n, 40);
	pos = last;
	return forward(last);
}

static void on_swap(const uint8_t *body, size_t n)
{
	memcpy(&now.swap, body, sizeof now.swap);
	now.code = n > sizeof now.swap ? body[sizeof now.swap] : 0;
	forget_points();
}

/* Two commands at a time, a set for each: it read 8 bytes at 16 * seq, and wrote 1 and 2 bytes. */
static bool on_accesses(const struct replayer_accesses *q, struct buf *out)
{
	const uint64_t to = q->to > pos + 2 ? pos + 2 : q->to;
	struct replayer_accessed head = {.seq = has("sets-stuck") ? pos : to, .n = to - pos};
	uint64_t from = pos;

	if (has("sets-more"))
		head.n++;
	while (pos < to && next(to))
		;
	buf_add(out, &head, sizeof head);
	for (uint64_t seq = from + 1; seq <= to; seq++) {
		const struct replayer_access_set set = {.seq = seq,
			.n = {1, has("sets-long") ? 1000 : 2},
			.inexact = (uint32_t)(seq & 1),
			.depends = SOFT_WAITS,
			.base = q->by_base ? 3 : SOFT_NO_BASE,
			.cut = seq == 9};
		const struct soft_span spans[] = {{16 * seq, 8}, {32 * seq, 1}, {32 * seq + 4, 2}};

		buf_add(out, &set, sizeof set);
		buf_add(out, spans, sizeof spans);
	}
	return true;
}

/* Three races in two replies, and more than there is on request. */
static void on_races(struct buf *out)
{
	static uint64_t told;
	const struct replayer_races head = {.n = has("races-more") ? 100
						 : told		   ? 1
								   : 2,
		.more = told ? 0 : 1,
		.doubts = told ? 0 : 5,
		.doubt = "why"};
	struct soft_race race = {0};

	buf_add(out, &head, sizeof head);
	for (uint64_t n = told ? 1 : 2; n--;) {
		race.label = ++told;
		buf_add(out, &race, sizeof race);
	}
}

/* One difference; its type, or the position, may be none that there is. In pieces of two commands
 * each has one. */
static void on_check(const struct replayer_check *q, struct buf *out)
{
	const uint64_t to = has("check-pieces") && pos + 2 < q->to ? pos + 2 : q->to;
	const struct replayer_difference row = {.seq = has("check-pieces") ? to : q->from,
		.size = 4096,
		.as = has("first-odd-type") ? REPLAYER_AS_END
		      : has("odd-type")	    ? 0x40000000
					    : REPLAYER_AS_F32,
		.unwritten = has("odd-unwritten") ? REPLAYER_UNWRITTEN_SHARED + 1
						  : REPLAYER_UNWRITTEN_SHARED,
		.runs = 1};
	const struct replayer_check_done done = {.seq = has("beyond")	     ? UINT64_MAX
							: has("check-stuck") ? q->from - 1
									     : to,
		.n = has("check-more") ? 2 : 1,
		.checked = 1,
		.left_out = 2,
		.heap = 3,
		.late = 4,
		.outside = 5};

	pos = to;
	buf_add(out, &done, sizeof done);
	buf_add(out, &row, sizeof row);
}

/* Of which the request is a replayer_none. */
static bool says_nothing(uint32_t type)
{
	return type == REPLAYER_FIGURES || type == REPLAYER_CHECK_END || type == REPLAYER_RACES ||
	       type == REPLAYER_KERNEL_POINTS || type == REPLAYER_PROBES ||
	       type == REPLAYER_PROBED || type == REPLAYER_PRINTED;
}

static bool handle(uint32_t type, const uint8_t *body, size_t n, struct buf *out)
{
	struct replayer_range r;
	struct replayer_hash h;
	bool good = true;

	memcpy(&r, body, sizeof r);
	if (says_nothing(type) && r.addr)
		die("replayer_none.unused is not 0");
	switch (type) {
	case REPLAYER_OPEN:
		return on_open(body, n, out);
	case REPLAYER_EXECUTE:
		good = on_execute((const void *)body);
		break;
	case REPLAYER_SEEK:
		now.seeks++;
		good = seek(r.addr);
		break;
	case REPLAYER_RUN:
		return on_run((const void *)body, out);
	case REPLAYER_VERIFY:
		return on_verify(out);
	case REPLAYER_HASH:
	case REPLAYER_HASH_RECORDED:
		if (!finish())
			return false;
		if (!at(r.addr, r.size))
			return fail(REPLAYER_E_REFUSED, 0, 0, "not memory of the window");
		h.hash = sbt_range_hash(at(r.addr, r.size), r.size);
		h.hash.half[0] ^= type == REPLAYER_HASH_RECORDED;
		buf_add(out, &h, sizeof h);
		return true;
	case REPLAYER_READ:
		if (!finish())
			return false;
		if (!at(r.addr, r.size))
			return fail(REPLAYER_E_REFUSED, 0, 0, "not memory of the window");
		buf_add(out, &pos, sizeof pos);
		buf_add(out, at(r.addr, r.size), r.size - has("short-read"));
		return true;
	case REPLAYER_WRITE:
	case REPLAYER_ARG:
		good = finish() && on_edit(type, body, n);
		break;
	case REPLAYER_SKIP:
		forget_points();
		nskips = ((const struct replayer_skip *)(const void *)body)->n;
		free(skips);
		skips = malloc(nskips * 8 + 1);
		memcpy(skips, body + sizeof(struct replayer_skip), nskips * 8);
		break;
	case REPLAYER_KERNEL:
		if (has("no-kernel"))
			return fail(REPLAYER_E_REFUSED, 0, 0, "no kernel");
		/* fall through */
	case REPLAYER_KERNEL_GO:
	case REPLAYER_KERNEL_FOCUS:
		on_kernel(type, body, out);
		return true;
	case REPLAYER_KERNEL_ASK:
		on_kernel_ask((const void *)body, out);
		return true;
	case REPLAYER_KERNEL_POINTS:
		on_kernel_points(body, n, out);
		return true;
	case REPLAYER_NODE:
		return on_node((const void *)body, out);
	case REPLAYER_ORDER:
		return on_order(body, out);
	case REPLAYER_SWAP:
		on_swap(body, n);
		break;
	case REPLAYER_SOFT:
		now.schedule = ((const struct replayer_soft *)(const void *)body)->schedule;
		forget_points();
		break;
	case REPLAYER_GRAPH_PART:
		memcpy(&now.part, body, sizeof now.part);
		forget_points();
		break;
	case REPLAYER_OVERLAP:
		now.overlap = ((const struct replayer_overlap *)(const void *)body)->on;
		break;
	case REPLAYER_CHECKPOINT:
		if (has("code-"))
			return fail((unsigned)atoi(strstr(temper, "code-") + 5), 0, 0,
				has("mute") ? "" : "a\n\x1b[m\x7f");
		now.asked_points++;
		keep_point();
		break;
	case REPLAYER_CHECK_END:
		now.ends++;
		break;
	case REPLAYER_CHANGED:
	case REPLAYER_ACCESSES:
		return on_accesses((const void *)body, out);
	case REPLAYER_RACES:
		on_races(out);
		return true;
	case REPLAYER_ADDRESSING: {
		struct replayer_addressing a = {.a = {.known = 1, .n = has("odd") ? 1000 : 2}};

		memcpy(&a.a.source[0].offset, body, 4); /* the kernel */
		buf_add(out, &a, sizeof a);
		return true;
	}
	case REPLAYER_CHECK:
		on_check((const void *)body, out);
		return true;
	case REPLAYER_KEPT: { /* nothing waits for a value here, unless "keeps" #10 and another */
		const struct replayer_kept k = {
			.n = has("keeps") ? 2 : 0, .wait = has("keeps") && r.addr == 10 ? 9 : 0};

		buf_add(out, &k, sizeof k);
		return true;
	}
	case REPLAYER_FIGURES: {
		struct replayer_figures f = {.executed = executed,
			.checkpoints = npoints,
			.saved = now.asked_points,
			.back = now.ends,
			.room_ns = now.overlap,
			.run_ns = now.seeks};

		buf_add(out, &f, sizeof f);
		return true;
	}
	default:
		break;
	}
	buf_add(out, &pos, sizeof pos);
	return good;
}

/* --- the socket --- */

static int fd;

static void get(void *dst, size_t n)
{
	for (size_t k = 0; k < n;) {
		ssize_t got = read(fd, (uint8_t *)dst + k, n - k);

		if (got <= 0)
			exit(0);
		k += (size_t)got;
	}
}

static void put(uint32_t type, const struct buf *b)
{
	struct replayer_head h = {.type = type, .size = (uint32_t)b->len};

	if (write(fd, &h, sizeof h) < 0)
		exit(1);
	for (size_t k = 0; k < b->len;) {
		ssize_t n = write(fd, b->data + k, b->len - k);

		if (n <= 0)
			exit(1);
		k += (size_t)n;
	}
}

static void misbehave(void)
{
	struct replayer_head h = {.type = has("bad-type") ? 77 : REPLAYER_REPLY,
		.size = has("bad-size") ? UINT32_MAX : 2};

	if (has("bad-type") || has("bad-size") || has("bad-short"))
		if (write(fd, &h, sizeof h) < 0 || write(fd, "xx", 2) < 0)
			exit(1);
	if (has("half-reply")) {
		h.size = 4000;
		if (write(fd, &h, sizeof h) < 0)
			exit(1);
		exit(0);
	}
	if (has("hang"))
		for (;;)
			pause();
}

int main(void)
{
	bool failed = false;

	temper = getenv("TSDB_FAKE_REPLAYER");
	if (!getenv(REPLAYER_FD_ENV))
		die("no socket");
	fd = atoi(getenv(REPLAYER_FD_ENV));
	for (;;) {
		struct replayer_head h;
		static uint8_t body[REPLAYER_MESSAGE_MAX];
		struct buf out = BUF_INIT;
		const struct replayer_execute *x = (const void *)body;

		if (has("deaf") && trace)
			for (;;)
				pause();
		get(&h, sizeof h);
		if (h.size > sizeof body)
			die("too large");
		get(body, h.size);
		if (has("read-") ? h.type == REPLAYER_READ
				 : h.type != REPLAYER_OPEN && h.type != REPLAYER_EXECUTE)
			misbehave();
		if (!failed)
			failed = !handle(h.type, body, h.size, &out);
		if (h.type == REPLAYER_EXECUTE && !x->wait) {
			buf_free(&out);
			continue;
		}
		if (failed) {
			buf_clear(&out);
			buf_add(&out, &error, sizeof error);
			buf_str(&out, why);
		}
		put(failed ? REPLAYER_ERROR : REPLAYER_REPLY, &out);
		buf_free(&out);
		if (failed && error.code == REPLAYER_E_FAULT)
			exit(0);
		failed = false;
	}
}
