/* SPDX-License-Identifier: Apache-2.0
 *
 * Happens-before and schedules against the definition: what is finished when an item begins is kept
 * as a plain set of items, and an order is made by looking at every item again for each choice. The
 * fold keeps clocks instead, and the schedules a queue for each lane.
 */
#include "order-test.h"

#define ITEMS_MAX 96
#define STREAMS 7
#define THREADS 2
#define EVENTS 3
#define PAGEABLE UINT64_C(0x7f0000000000)
#define MANAGED UINT64_C(0x900000)
#define REGISTERED UINT64_C(0xa00000)
#define SMALL UINT64_C(65536) /* driver API: up to here such a copy may be staged at once */

typedef unsigned char set[ITEMS_MAX];

struct item {
	uint64_t entry;
	unsigned stream; /* STREAMS: the host's */
	uint16_t kind;	 /* of the command; 0: the host's */
	set before;
	struct touch { /* writes the first, reads the second */
		uint64_t addr, end;
	} touch[2];
};

static struct item items[ITEMS_MAX];
static unsigned nitems;
static const set nothing;
static set on_stream[STREAMS], known[THREADS], recorded[EVENTS], awaited[THREADS];
static uint64_t waiting[THREADS];
static struct order_change changes[ITEMS_MAX];
static size_t nchanges;
static struct random_cmds dice;
static bool apart, strict;
static bool unknown_work; /* a host function may touch anything */

/* Streams 0 to 4 are of context 0, as begin() makes them; 5 is the default stream of context 1, and
 * 6 a blocking one there. */
static bool is_default(unsigned stream)
{
	return stream == 0 || stream == 5;
}

static bool is_blocking(unsigned stream)
{
	return stream == 3 || stream == 4 || stream == 6;
}

static unsigned context_of(unsigned stream)
{
	return stream >= 5;
}

static unsigned below(unsigned n)
{
	return (unsigned)random_below(&dice, n);
}

static void unite(set to, const set from)
{
	for (unsigned i = 0; i < ITEMS_MAX; i++)
		to[i] |= from[i];
}

static unsigned host_of(unsigned thread)
{
	return apart ? thread : 0;
}

static struct item *new_item(uint64_t entry, unsigned stream, const set before)
{
	struct item *it = &items[nitems++];

	assert_true(nitems <= ITEMS_MAX);
	it->entry = entry;
	it->stream = stream;
	it->kind = 0;
	memset(it->touch, 0, sizeof it->touch);
	memcpy(it->before, before, sizeof it->before);
	return it;
}

static void finish(set to, const struct item *it)
{
	unite(to, it->before);
	to[it - items] = 1;
}

/* An item of the host's, which then knows the set. */
static void host_item(uint64_t entry, unsigned thread, const set learned)
{
	set before;

	memcpy(before, known[host_of(thread)], sizeof before);
	unite(before, learned);
	finish(known[host_of(thread)], new_item(entry, STREAMS, before));
}

/* Now and then the host has changed memory before the command. */
static void perhaps_a_change(unsigned thread)
{
	if (below(10))
		return;
	changes[nchanges++] = (struct order_change){.seq = seq, .addr = H, .end = H + 8};
	host_item(seq | ORDER_HOST, thread, nothing);
	items[nitems - 1].touch[0] = (struct touch){H, H + 8};
}

static uint64_t give(struct sbt_cmd c, unsigned thread)
{
	c.thread = thread + 1;
	return add(c);
}

/* ---- work ---------------------------------------- */

static struct item *work(struct sbt_cmd c, unsigned stream, unsigned thread, const set also)
{
	set before;
	struct item *it;

	perhaps_a_change(thread);
	c.ctx = context_of(stream);
	memcpy(before, on_stream[stream], sizeof before);
	unite(before, known[host_of(thread)]);
	unite(before, also);
	for (unsigned s = 0; s < STREAMS; s++)
		if (context_of(s) == context_of(stream) &&
			((is_default(stream) && is_blocking(s)) ||
				(is_default(s) && is_blocking(stream))))
			unite(before, on_stream[s]);
	it = new_item(give(c, thread), stream, before);
	it->kind = c.kind;
	finish(on_stream[stream], it);
	return it;
}

/* It may read and write all of an allocation that it was given an address in. */
static void a_launch(unsigned stream, unsigned thread)
{
	static const uint64_t in[] = {A, B, MANAGED};
	const uint64_t to = in[below(3)];
	uint64_t p = to + 8 * below(4);
	struct sbt_cmd c = cmd_launch(seq, stream, 0);
	struct item *it;

	c.u.launch.args = (struct sbt_blob){&p, 8};
	it = work(c, stream, thread, nothing);
	it->touch[0] = (struct touch){to, to + SIZE};
}

static void a_fill(unsigned stream, unsigned thread)
{
	static const struct {
		uint64_t at;
		bool waits; /* driver API: of such memory a memset is synchronous */
	} to[] = {{A, false}, {H, true}, {MANAGED, true}, {REGISTERED, true}};
	const unsigned i = below(4);
	const uint64_t at = to[i].at + below(40), n = 1 + below(24);
	struct sbt_cmd c = cmd_fill(seq, stream, at, n);
	struct item *it;

	c.u.fill.async = below(2);
	it = work(c, stream, thread, nothing);
	it->touch[0] = (struct touch){at, at + n};
	if (to[i].waits && !c.u.fill.async)
		finish(known[host_of(thread)], it);
}

enum returns { AT_ONCE, PRIOR, DONE };

/* Driver API, "API synchronization behavior", word for word. */
static enum returns returns(enum sbt_copy dir, bool async, bool pageable)
{
	switch (dir) {
	case SBT_COPY_H2H: /* "the function will be synchronous with respect to the host" */
		return DONE;
	case SBT_COPY_D2H: /* "from device memory to pageable host memory, the function will return
			    * only once the copy has completed", of both kinds */
		return async && !pageable ? AT_ONCE : DONE;
	case SBT_COPY_H2D:
		if (async)
			return AT_ONCE;
		return pageable ? PRIOR : DONE;
	default: /* "no host-side synchronization is performed" */
		return AT_ONCE;
	}
}

static void a_copy(unsigned stream, unsigned thread)
{
	static const struct {
		enum sbt_copy says, is;
		uint64_t dst, src;
	} rows[] = {{SBT_COPY_H2D, SBT_COPY_H2D, A, H}, {SBT_COPY_D2H, SBT_COPY_D2H, H, A},
		{SBT_COPY_D2D, SBT_COPY_D2D, A, B}, {SBT_COPY_H2H, SBT_COPY_H2H, H, H + 64},
		{SBT_COPY_PEER, SBT_COPY_PEER, A, B}, {SBT_COPY_ANY, SBT_COPY_H2D, A, PAGEABLE},
		{SBT_COPY_ANY, SBT_COPY_H2D, A, H}, {SBT_COPY_ANY, SBT_COPY_D2H, PAGEABLE, B},
		{SBT_COPY_ANY, SBT_COPY_D2H, REGISTERED, B}, {SBT_COPY_ANY, SBT_COPY_D2D, A, B},
		{SBT_COPY_ANY, SBT_COPY_D2D, MANAGED, B},
		{SBT_COPY_ANY, SBT_COPY_H2H, H, PAGEABLE}};
	const unsigned i = below(sizeof rows / sizeof *rows);
	const uint64_t n = below(2) ? SMALL : SMALL + 1;
	struct sbt_cmd c =
		cmd_copy(seq, stream, rows[i].says, rows[i].dst, rows[i].src, n, below(2));
	struct item *it;

	c.u.copy.pageable = below(2);
	it = work(c, stream, thread, nothing);
	/* of host memory that nothing allocated no command is known to share bytes */
	if (rows[i].dst != PAGEABLE)
		it->touch[0] = (struct touch){rows[i].dst, rows[i].dst + n};
	if (rows[i].src != PAGEABLE)
		it->touch[1] = (struct touch){rows[i].src, rows[i].src + n};
	switch (returns(rows[i].is, c.u.copy.async, c.u.copy.pageable)) {
	case DONE:
		finish(known[host_of(thread)], it);
		break;
	case PRIOR:
		if (!strict && n == SMALL)
			finish(known[host_of(thread)], it);
		unite(known[host_of(thread)], it->before);
		break;
	default:
		break;
	}
}

static void an_event(unsigned stream, unsigned thread)
{
	const unsigned e = below(EVENTS);

	if (below(2))
		work(cmd_stream_wait(seq, stream, e), stream, thread, recorded[e]);
	else {
		const struct item *it =
			work(cmd_event_record(seq, stream, e), stream, thread, nothing);

		memcpy(recorded[e], it->before, sizeof recorded[e]);
		recorded[e][it - items] = 1;
	}
}

/* The next command brings what the function changed. */
static void a_host_function(unsigned stream, unsigned thread)
{
	struct item *it = work(cmd_host_func(seq, stream), stream, thread, nothing);
	const uint64_t at = H + below(200);

	unknown_work = true;
	if (below(3))
		return;
	changes[nchanges++] =
		(struct order_change){.seq = seq, .addr = at, .end = at + 16, .by = it->entry};
	it->touch[0] = (struct touch){at, at + 16};
}

static void in_stream_order(unsigned stream, unsigned thread)
{
	struct sbt_cmd c = cmd_alloc(seq, UINT64_C(0x10000000) + seq * SIZE, SIZE);

	c.u.alloc.mem = SBT_MEM_ASYNC;
	c.u.alloc.stream = stream;
	work(c, stream, thread, nothing);
	if (below(2)) {
		c = cmd_free(seq, c.u.alloc.addr);
		c.u.free.stream = stream;
		work(c, stream, thread, nothing);
	}
}

/* ---- the host ---------------------------------------- */

static void learnable(set ret, unsigned scope, unsigned stream, unsigned event, unsigned ctx)
{
	memset(ret, 0, sizeof(set));
	if (scope == SBT_SYNC_STREAM)
		unite(ret, on_stream[stream]);
	else if (scope == SBT_SYNC_EVENT)
		unite(ret, recorded[event]);
	for (unsigned s = 0; scope == SBT_SYNC_CTX && s < STREAMS; s++)
		if (context_of(s) == ctx)
			unite(ret, on_stream[s]);
}

static void a_sync(unsigned stream, unsigned thread)
{
	const unsigned scope = below(3), event = below(EVENTS), ctx = context_of(stream);
	struct sbt_cmd c = scope == SBT_SYNC_CTX      ? cmd_sync_ctx(seq)
			   : scope == SBT_SYNC_STREAM ? cmd_sync_stream(seq, stream)
						      : cmd_sync_event(seq, event);

	c.ctx = ctx;
	learnable(awaited[thread], scope, stream, event, ctx);
	waiting[thread] = give(c, thread);
}

static void a_sync_end(unsigned thread)
{
	struct sbt_cmd c = cmd_sync_end(seq, waiting[thread]);
	const bool fails = !below(8);

	c.result = fails ? 700 : 0;
	if (!fails)
		host_item(seq, thread, awaited[thread]);
	give(c, thread);
	waiting[thread] = 0;
}

static void a_query(unsigned stream, unsigned thread)
{
	const unsigned event = below(EVENTS), result = below(2) ? 0 : STATE_NOT_READY;
	const bool of_event = below(2);
	set s;

	learnable(s, of_event ? SBT_SYNC_EVENT : SBT_SYNC_STREAM, stream, event, 0);
	if (!result)
		host_item(seq, thread, s);
	give(of_event ? cmd_query_event(seq, event, result) : cmd_query_stream(seq, stream, result),
		thread);
}

static void a_free(unsigned thread)
{
	const uint64_t at = UINT64_C(0x20000000) + seq * SIZE;
	struct sbt_cmd c = cmd_alloc(seq, at, SIZE);
	set s;

	c.u.alloc.stream = SBT_NO_ID;
	give(c, thread);
	c = cmd_free(seq, at);
	c.u.free.stream = SBT_NO_ID;
	learnable(s, SBT_SYNC_CTX, 0, 0, 0);
	host_item(seq, thread, s);
	give(c, thread);
}

static void a_failure(unsigned stream, unsigned thread)
{
	struct sbt_cmd c = cmd_fill(seq, stream, A, 16);

	c.result = 1;
	give(c, thread);
}

static void some_command(void)
{
	const unsigned stream = below(STREAMS), thread = below(THREADS);

	if (waiting[thread]) { /* a thread that waits does nothing else */
		a_sync_end(thread);
		return;
	}
	switch (below(17)) {
	case 15:
	case 16:
		a_launch(stream, thread);
		break;
	case 14:
		a_host_function(stream, thread);
		break;
	case 0:
	case 1:
	case 2:
		a_fill(stream, thread);
		break;
	case 3:
	case 4:
		a_copy(stream, thread);
		break;
	case 5:
	case 6:
	case 7:
	case 8:
		an_event(stream, thread);
		break;
	case 9:
		in_stream_order(stream, thread);
		break;
	case 10:
		a_sync(stream, thread);
		break;
	case 11:
		a_query(stream, thread);
		break;
	case 12:
		a_free(thread);
		break;
	default:
		a_failure(stream, thread);
	}
}

static struct order *some_trace(uint64_t seed)
{
	struct sbt_cmd c;

	dice = (struct random_cmds){.x = seed * 7919};
	apart = below(2);
	strict = below(2);
	nitems = 0;
	nchanges = 0;
	unknown_work = false;
	memset(on_stream, 0, sizeof on_stream);
	memset(known, 0, sizeof known);
	memset(recorded, 0, sizeof recorded);
	memset(waiting, 0, sizeof waiting);
	if (made)
		test_over(); /* one that failed */
	begin();
	add(cmd_ctx_create(seq, 1, 5));
	c = cmd_stream_create(seq, 6, 0);
	c.ctx = 1;
	add(c);
	add(cmd_event_create(seq, 2));
	c = cmd_alloc(seq, MANAGED, SIZE);
	c.u.alloc.mem = SBT_MEM_MANAGED;
	add(c);
	c = cmd_alloc(seq, REGISTERED, SIZE);
	c.u.alloc.mem = SBT_MEM_REGISTERED;
	add(c);
	while (nitems < 40)
		some_command();
	const struct order_options o = {.first = below(2), /* 0: all */
		.last = below(2) ? seq : 0,
		.strict = strict,
		.threads_apart = apart,
		.changes = changes,
		.nchanges = nchanges};
	struct order *g;

	ok(order_open(&g, end_once(), &o));
	return g;
}

/* ---- what the graph says ---------------------------------------- */

static void assert_items(const struct order *g)
{
	struct order_item it;
	assert_int_equal(order_items(g), nitems);
	for (unsigned i = 0; i < nitems; i++) {
		assert_true(order_item_at(g, i, &it));
		assert_int_equal(it.seq, items[i].entry);
		assert_int_equal(order_stream_of(g, it.lane),
			items[i].stream == STREAMS ? SBT_NO_ID : items[i].stream);
		assert_int_equal(order_seq_on(g, it.lane, it.index), items[i].entry);
		assert_true(order_item(g, items[i].entry, &it));
		assert_int_equal(it.seq, items[i].entry);
		assert_int_equal(it.early, 0);
	}
	assert_false(order_item_at(g, nitems, &it));
	assert_false(order_item(g, 1, &it)); /* it makes a context */
	assert_int_equal(order_seq_on(g, 0, 0), 0);
	assert_int_equal(order_seq_on(g, order_lanes(g), 1), 0);
}

static unsigned item_of(uint64_t entry)
{
	unsigned i = 0;

	while (i < nitems && items[i].entry != entry)
		i++;
	return i;
}

/* A path is a chain of items, each before the next one. */
static void assert_path(const struct order *g, unsigned a, unsigned b)
{
	struct order_step *steps;
	size_t n;
	struct err *e = order_path(g, items[a].entry, items[b].entry, &steps, &n);

	if (!items[b].before[a]) {
		assert_non_null(e);
		assert_int_equal(e->code, ERR_NOT_FOUND);
		err_free(e);
		return;
	}
	ok(e);
	assert_true(n > 0);
	assert_int_equal(steps[0].from, items[a].entry);
	assert_int_equal(steps[n - 1].to, items[b].entry);
	for (size_t i = 0; i < n; i++) {
		const unsigned from = item_of(steps[i].from), to = item_of(steps[i].to);
		if (from == nitems || to == nitems || !items[to].before[from])
			fail_msg("#%llx to #%llx by way of #%llx to #%llx, %s",
				(unsigned long long)items[a].entry,
				(unsigned long long)items[b].entry,
				(unsigned long long)steps[i].from, (unsigned long long)steps[i].to,
				order_edge_name(steps[i].edge));
		assert_true(!i || steps[i - 1].to == steps[i].from);
		if (steps[i].edge == ORDER_EDGE_STREAM) {
			uint64_t between = 0;

			assert_int_equal(items[from].stream, items[to].stream);
			for (unsigned k = from + 1; k < to; k++)
				between += items[k].stream == items[from].stream;
			if (items[from].stream < STREAMS)
				assert_int_equal(steps[i].skipped, between);
		}
		if (steps[i].edge == ORDER_EDGE_EVENT)
			assert_int_equal(steps[i].via, steps[i].to);
		if (steps[i].edge == ORDER_EDGE_DEFAULT)
			assert_true(is_default(items[from].stream) || is_default(items[to].stream));
	}
	free(steps);
}

static void test_the_fold_keeps_what_the_definition_says(void **unused)
{
	(void)unused;
	for (uint64_t seed = 1; seed <= 400; seed++) {
		struct order *g = some_trace(seed);

		assert_items(g);
		for (unsigned a = 0; a < nitems; a++)
			for (unsigned b = 0; b < nitems; b++) {
				const uint64_t x = items[a].entry, y = items[b].entry;

				if (order_before(g, x, y) != items[b].before[a])
					fail_msg("seed %u: #%llx before #%llx?", (unsigned)seed,
						(unsigned long long)x, (unsigned long long)y);
				if (seed <= 40 && a != b)
					assert_path(g, a, b);
			}
		graph_over(g);
	}
}

/* ---- conflicts ---------------------------------------- */

static bool meet(const struct touch *a, const struct touch *b)
{
	return a->addr < b->end && b->addr < a->end;
}

static bool conflict(const struct item *a, const struct item *b)
{
	return meet(&a->touch[0], &b->touch[0]) || meet(&a->touch[0], &b->touch[1]) ||
	       meet(&a->touch[1], &b->touch[0]);
}

static unsigned pair_at;

/* Of the host: what it changed before that command. */
static unsigned item_of_party(const struct order_party *p)
{
	return item_of(p->stream == SBT_NO_ID ? p->seq | ORDER_HOST : p->seq);
}

/* Pairs come by the later one. */
static void next_pair(void *arg, const struct order_party *a, const struct order_party *b)
{
	bool *seen = arg;
	const unsigned x = item_of_party(a), y = item_of_party(b);

	assert_true(x < y && y < nitems && y >= pair_at);
	if (!conflict(&items[x], &items[y]) || items[y].before[x])
		fail_msg("#%llx on %d and #%llx on %d: no conflict", (unsigned long long)a->seq,
			(int)a->stream, (unsigned long long)b->seq, (int)b->stream);
	assert_false(seen[x * ITEMS_MAX + y]);
	assert_int_equal(a->stream, items[x].stream == STREAMS ? SBT_NO_ID : items[x].stream);
	assert_int_equal(b->stream, items[y].stream == STREAMS ? SBT_NO_ID : items[y].stream);
	seen[x * ITEMS_MAX + y] = true;
	pair_at = y;
}

static void test_every_pair_that_conflicts_without_an_order(void **unused)
{
	static bool seen[ITEMS_MAX * ITEMS_MAX];

	(void)unused;
	for (uint64_t seed = 2001; seed <= 2100; seed++) {
		struct order *g = some_trace(seed);
		const struct order_options o = {.first = below(2),
			.last = below(2) ? seq : 0,
			.strict = strict,
			.threads_apart = apart,
			.changes = changes,
			.nchanges = nchanges,
			.each = next_pair,
			.each_arg = seen};
		bool unknown;

		memset(seen, 0, sizeof seen);
		pair_at = 0;
		ok(order_conflicts(g, end_once(), &o, &unknown));
		assert_int_equal(unknown, unknown_work);
		for (unsigned y = 0; y < nitems; y++)
			for (unsigned x = 0; x < y; x++)
				if (conflict(&items[x], &items[y]) && !items[y].before[x] &&
					!seen[x * ITEMS_MAX + y])
					fail_msg("#%llx and #%llx conflict",
						(unsigned long long)items[x].entry,
						(unsigned long long)items[y].entry);
		graph_over(g);
	}
}

/* ---- launches whose accesses matter ---------------------------------------- */

static bool touches_memory(const struct item *it)
{
	return it->kind == SBT_LAUNCH || it->kind == SBT_COPY || it->kind == SBT_FILL ||
	       it->kind == SBT_ALLOC || it->kind == SBT_FREE || it->kind == SBT_HOST_FUNC;
}

/* Something that touches memory is not ordered with it; or memory was freed in stream order before,
 * which it may use all the same. */
static bool is_suspected(unsigned i)
{
	for (unsigned k = 0; k < nitems; k++)
		if (k != i && touches_memory(&items[k]) &&
			((k < i && items[k].kind == SBT_FREE) ||
				(!items[i].before[k] && !items[k].before[i])))
			return true;
	return false;
}

static void test_launches_that_something_is_not_ordered_with(void **unused)
{
	(void)unused;
	for (uint64_t seed = 3001; seed <= 3200; seed++) {
		struct order *g = some_trace(seed);
		const struct order_options o = {.threads_apart = apart};
		struct order_suspects x;
		unsigned n = 0, launches = 0;

		if (!strict) { /* suspects are by the letter */
			graph_over(g);
			continue;
		}
		ok(order_suspects(&x, end_once(), &o));
		for (unsigned i = 0; i < nitems; i++) {
			launches += items[i].kind == SBT_LAUNCH;
			if (items[i].kind != SBT_LAUNCH || !is_suspected(i))
				continue;
			assert_true(n < x.n);
			assert_int_equal(x.seq[n++], items[i].entry);
		}
		assert_int_equal(n, x.n);
		assert_int_equal(launches, x.launches);
		assert_false(x.host || x.late);
		order_suspects_free(&x);
		assert_memory_equal(&x, &(struct order_suspects){0}, sizeof x);
		graph_over(g);
	}
}

/* ---- schedules ---------------------------------------- */

static bool is_entry(unsigned i)
{
	return items[i].stream < STREAMS || items[i].entry & ORDER_HOST;
}

/* What may go next: an entry all of whose entries in front have gone. */
static bool may_go(unsigned i, const set gone)
{
	if (!is_entry(i) || gone[i])
		return false;
	for (unsigned k = 0; k < nitems; k++)
		if (items[i].before[k] && is_entry(k) && !gone[k])
			return false;
	return true;
}

static unsigned entries(void)
{
	unsigned n = 0;

	for (unsigned i = 0; i < nitems; i++)
		n += is_entry(i);
	return n;
}

static bool is_legal(const uint64_t *order, size_t n)
{
	set gone = {0};

	for (size_t k = 0; k < n; k++) {
		const unsigned i = item_of(order[k]);

		if (i == nitems || !may_go(i, gone))
			return false;
		gone[i] = 1;
	}
	return n == entries();
}

/* Always the item that may go with the lowest rank, and of those the first one. */
static void assert_by_rank(
	uint64_t *order, size_t n, uint64_t (*rank)(unsigned i, unsigned x), unsigned x)
{
	set gone = {0};

	assert_int_equal(n, entries());
	for (size_t k = 0; k < n; k++) {
		unsigned best = nitems;

		for (unsigned i = 0; i < nitems; i++)
			if (may_go(i, gone) && (best == nitems || rank(i, x) < rank(best, x)))
				best = i;
		assert_int_equal(order[k], items[best].entry);
		gone[best] = 1;
	}
	free(order);
}

static uint64_t as_submitted(unsigned i, unsigned x)
{
	(void)x;
	return i;
}

static uint64_t first_of_all(unsigned i, unsigned stream)
{
	return items[i].stream != stream;
}

static uint64_t last_of_all(unsigned i, unsigned stream)
{
	return items[i].stream == stream;
}

/* Item x with all before it. */
static uint64_t with_its_own(unsigned i, unsigned x)
{
	return i != x && !items[x].before[i];
}

static struct order_start starts[ITEMS_MAX];
static size_t nstarts;

static uint64_t by_start(unsigned i, unsigned x)
{
	(void)x;
	for (size_t k = 0; k < nstarts; k++)
		if (starts[k].seq == items[i].entry)
			return starts[k].ns;
	return 0;
}

static void some_starts(void)
{
	nstarts = 0;
	for (unsigned i = 0; i < nitems; i++)
		if (items[i].stream < STREAMS && below(3))
			starts[nstarts++] =
				(struct order_start){items[i].entry, 1000 + below(1000)};
}

static void assert_flips(const struct order *g)
{
	uint64_t *order;
	size_t n;

	for (unsigned a = 0; a < nitems; a++) {
		const unsigned b = below(nitems);
		struct err *e = order_flip(g, items[a].entry, items[b].entry, &order, &n);

		if (items[b].before[a]) {
			assert_non_null(e);
			assert_int_equal(e->code, ERR_NOT_FOUND);
			err_free(e);
			continue;
		}
		ok(e);
		assert_by_rank(order, n, with_its_own, b);
	}
}

/* Two neighbours change places: legal, unless one is before the other. */
static void assert_only_legal_orders(const struct order *g, const uint64_t *recorded_, size_t n)
{
	uint64_t order[ITEMS_MAX];

	memcpy(order, recorded_, n * sizeof *order);
	for (unsigned k = 0; k < 200; k++) {
		const unsigned i = below((unsigned)n), j = below((unsigned)n);
		const uint64_t was = order[i];

		order[i] = order[j];
		order[j] = was;
		assert_int_equal(order_is_legal(g, order, n), is_legal(order, n));
		if (!is_legal(order, n)) {
			order[j] = order[i];
			order[i] = was;
		}
	}
	assert_false(order_is_legal(g, order, n - 1));
	order[n - 1] = order[0];
	assert_false(order_is_legal(g, order, n));
}

/* Of two pairs: there is such an order, or there is none that has both. */
static void assert_pairs(const struct order *g)
{
	for (unsigned k = 0; k < 30; k++) {
		struct order_pair p[2];
		set gone = {0};
		uint64_t *order;
		size_t n, left = entries();
		unsigned a[2], b[2], i;

		for (i = 0; i < 2; i++) {
			do {
				a[i] = below(nitems);
				b[i] = below(nitems);
			} while (a[i] == b[i] || !is_entry(a[i]) || !is_entry(b[i]));
			p[i] = (struct order_pair){items[a[i]].entry, items[b[i]].entry};
		}
		uint64_t want[ITEMS_MAX];

		for (i = 0, n = 0; i < nitems; i++)
			if (may_go(i, gone) && !(i == b[0] && !gone[a[0]]) &&
				!(i == b[1] && !gone[a[1]])) {
				gone[i] = 1;
				want[n++] = items[i].entry;
				i = UINT32_MAX; /* from the first one again */
			}
		struct err *e = order_with(g, p, 2, &order, &left);
		if (n < entries()) {
			assert_non_null(e);
			assert_int_equal(e->code, ERR_NOT_FOUND);
			err_free(e);
			continue;
		}
		ok(e);
		assert_int_equal(left, n);
		assert_memory_equal(order, want, n * sizeof *want);
		free(order);
	}
}

static void test_schedules_are_made_as_their_rule_says(void **unused)
{
	(void)unused;
	for (uint64_t seed = 1001; seed <= 1060; seed++) {
		struct order *g = some_trace(seed);
		uint64_t *order, *again;
		size_t n;

		assert_items(g);

		ok(order_recorded(g, &order, &n));
		assert_only_legal_orders(g, order, n);
		assert_by_rank(order, n, as_submitted, 0);
		for (unsigned stream = 0; stream < STREAMS; stream++) {
			ok(order_prefer(g, stream, true, &order, &n));
			assert_by_rank(order, n, first_of_all, stream);
			ok(order_prefer(g, stream, false, &order, &n));
			assert_by_rank(order, n, last_of_all, stream);
		}
		some_starts();
		ok(order_started(g, starts, nstarts, &order, &n));
		assert_by_rank(order, n, by_start, 0);
		assert_flips(g);
		assert_pairs(g);
		for (uint64_t i = 0; i < 10; i++) {
			ok(order_shuffle(g, i, &order, &n));
			assert_true(is_legal(order, n) && order_is_legal(g, order, n));
			ok(order_shuffle(g, i, &again, &n));
			assert_memory_equal(order, again, n * sizeof *order);
			free(order);
			free(again);
		}
		graph_over(g);
	}
}

/* ---- clocks ---------------------------------------- */

#define LANES 6

struct model_clock {
	struct clock *c;
	uint32_t at[LANES];
};

static void assert_clock(const struct clock *c, const uint32_t *at)
{
	for (uint32_t i = 0; i < LANES; i++)
		assert_int_equal(clock_at(c, i), at[i]);
	assert_int_equal(clock_at(c, LANES), 0);
}

/* What a knows that b does not. */
static bool knows_more(const uint32_t *a, const uint32_t *b, uint32_t except)
{
	bool more = false;

	for (uint32_t i = 0; i < LANES; i++)
		more |= i != except && a[i] > b[i];
	return more;
}

/* All that either knows; one of the two themselves when it knows all. */
static struct model_clock joined(
	const struct model_clock *a, const struct model_clock *b, uint32_t except)
{
	const bool a_more = knows_more(a->at, b->at, except),
		   b_more = knows_more(b->at, a->at, except);
	struct model_clock r = {.c = clock_join(a->c, b->c, except)};

	if (!b_more)
		assert_ptr_equal(r.c, a->c);
	else if (!a_more)
		assert_ptr_equal(r.c, b->c);
	for (uint32_t i = 0; i < LANES; i++) {
		r.at[i] = a->at[i] > b->at[i] ? a->at[i] : b->at[i];
		if (i != except)
			assert_int_equal(clock_at(r.c, i), r.at[i]);
		else
			assert_true(clock_at(r.c, i) == a->at[i] || clock_at(r.c, i) == b->at[i]);
		r.at[i] = clock_at(r.c, i);
	}
	return r;
}

static void test_clocks_are_sets_of_numbers(void **unused)
{
	struct model_clock k[8] = {{0}};

	(void)unused;
	dice = (struct random_cmds){.x = 12345};
	assert_null(clock_ref(NULL));
	clock_drop(NULL);
	for (unsigned n = 0; n < 20000; n++) {
		struct model_clock *to = &k[below(8)], r = *to;
		const uint32_t lane = below(LANES), v = below(5);

		if (below(2)) {
			r.c = clock_with(to->c, lane, v);
			if (to->at[lane] >= v)
				assert_ptr_equal(r.c, to->c);
			else
				r.at[lane] = v;
		} else if (below(20)) {
			r = joined(to, &k[below(8)], below(2) ? below(LANES) : UINT32_MAX);
		} else {
			r = (struct model_clock){0};
		}
		clock_drop(to->c);
		*to = r;
		for (unsigned i = 0; i < 8; i++) /* what others share has not changed */
			assert_clock(k[i].c, k[i].at);
	}
	for (unsigned i = 0; i < 8; i++)
		clock_drop(k[i].c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_clocks_are_sets_of_numbers),
		cmocka_unit_test(test_the_fold_keeps_what_the_definition_says),
		cmocka_unit_test(test_every_pair_that_conflicts_without_an_order),
		cmocka_unit_test(test_launches_that_something_is_not_ordered_with),
		cmocka_unit_test(test_schedules_are_made_as_their_rule_says)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
