/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory contents through the bulk slots, from an agent of our own making
 * (tests/programs/attach-agent.c): several threads, tickets filled in any order, slots that make no
 * sense, a program that dies or executes another one with pieces under way.
 */
#include "base/monotonic.h"
#include "test-attach-common.h"

#define A(s) ((char *)(s))
#define ARGS(...) ((char *const[]){(char *)built("tests/programs/attach-agent"), __VA_ARGS__, NULL})
#define PIECES 1024

struct piece {
	struct sbt_memory m;
	uint64_t got;
	char name[32];
	bool begun, cut;
	unsigned bad; /* bytes that are not the pattern's, in words */
};

struct seen {
	struct piece piece[PIECES];
	unsigned begun, cut, windows, ends, complete,
		at_end; /* at_end: pieces complete when the window's end came */
	uint64_t bytes, commands, first_window_before;
	uint32_t epochs;
	uint64_t same;
};

static struct inferior *launch(char *const *args)
{
	struct launch_options o = {.argv = args,
		.agent = "/nowhere/libtsdb-agent.so",
		.ring_bytes = 2 * TSDB_RECORD_MAX};
	struct inferior *inf;

	must(inferior_launch(&inf, &o));
	return inf;
}

static void check_pattern(struct piece *p, uint64_t piece, const struct drain_item *it)
{
	for (size_t i = 0; i + 8 <= it->nbytes; i += 8) {
		uint64_t v;

		memcpy(&v, (const char *)it->bytes + i, 8);
		p->bad += v != piece * 0x9e3779b97f4a7c15u + p->got + i;
	}
}

static void take_memory(struct seen *s, const struct drain_item *it, bool pattern)
{
	struct piece *p = &s->piece[it->piece % PIECES];

	switch (it->part) {
	case DRAIN_PIECE_BEGINS:
		*p = (struct piece){.m = it->memory, .begun = true};
		assert_true(it->memory.name.len < TSDB_NAME_MAX + 1);
		if (it->memory.name.len < sizeof(p->name))
			memcpy(p->name, it->memory.name.p, it->memory.name.len);
		s->begun++;
		break;
	case DRAIN_PIECE_BYTES:
		assert_true(p->begun && p->m.has_bytes);
		assert_true(it->nbytes > 0 && it->nbytes <= p->m.size - p->got);
		if (pattern)
			check_pattern(p, it->piece, it);
		p->got += it->nbytes;
		s->bytes += it->nbytes;
		break;
	case DRAIN_PIECE_SAME:
		assert_true(p->begun && p->m.has_bytes);
		assert_true(it->nbytes > 0 && it->nbytes <= p->m.size - p->got);
		assert_true(p->got % SBT_PAGE == 0);
		p->got += it->nbytes;
		s->same += it->nbytes;
		break;
	case DRAIN_PIECE_CUT:
		assert_true(p->begun && !p->cut && p->got < p->m.size);
		p->cut = true;
		s->cut++;
		break;
	}
}

static void drain(struct inferior *inf, bool final, struct seen *s, bool pattern)
{
	static struct drain_item it;

	for (;;) {
		must(drain_next(inf, final, &it));
		switch (it.kind) {
		case DRAIN_NONE:
			return;
		case DRAIN_CMD:
			s->commands++;
			s->epochs = it.epoch;
			break;
		case DRAIN_MEMORY:
			take_memory(s, &it, pattern);
			break;
		case DRAIN_WINDOW:
			s->windows++;
			if (!it.ended) {
				s->first_window_before = s->commands;
				break;
			}
			s->ends++;
			s->complete += it.complete;
			for (unsigned i = 0; i < PIECES; i++)
				s->at_end +=
					s->piece[i].begun && s->piece[i].got == s->piece[i].m.size;
			break;
		default:
			break;
		}
	}
}

static struct inferior_event drain_to_end(struct inferior *inf, struct seen *s, bool pattern)
{
	struct inferior_event ev;

	must(inferior_resume(inf, false));
	do {
		must(inferior_wait(inf, drain_pressure(inf) ? 0 : 1, &ev));
		drain(inf, false, s, pattern);
	} while (inferior_alive(inf));
	drain(inf, true, s, pattern);
	return ev;
}

static void pieces_of_threads(void **state)
{
	static const char *const threads[] = {"1", "2", "7"};
	static const char *const sizes[] = {"8", "3145728", "1048584"};

	for (int i = 0; i < 3; i++) {
		struct inferior *inf = launch(ARGS(A("pieces"), A(threads[i]), A(sizes[i])));
		struct seen *s = xcalloc(1, sizeof(*s));
		unsigned n = 8 * (unsigned)atoi(threads[i]);

		assert_exited(drain_to_end(inf, s, true), 0);
		assert_int_equal(s->begun, n);
		for (unsigned k = 1; k <= n; k++) {
			const struct piece *p = &s->piece[k];
			char name[32];

			snprintf(name, sizeof(name), "piece%u", k);
			assert_string_equal(p->name, name);
			assert_int_equal(p->m.size, strtoull(sizes[i], NULL, 0) + (k - 1) % 8 * 8);
			assert_int_equal(p->got, p->m.size);
			assert_int_equal(p->m.addr, (uint64_t)k << 32);
			assert_int_equal(p->m.role, SBT_MEMORY_START);
			assert_int_equal(p->bad, 0);
		}
		assert_int_equal(s->windows, 2);
		assert_int_equal(s->first_window_before, 0);
		assert_int_equal(s->complete, 1);
		assert_int_equal(s->at_end, n); /* the end came after all of its memory */
		assert_int_equal(s->commands, 2);
		assert_int_equal(drain_lost(inf, NULL), 0);
		assert_null(drain_warning(inf));
		inferior_free(inf);
		free(s);
	}
}

static void tickets_filled_out_of_order(void **state)
{
	struct inferior *inf = launch(ARGS(A("tickets")));
	struct seen *s = xcalloc(1, sizeof(*s));

	assert_exited(drain_to_end(inf, s, true), 0);
	assert_int_equal(s->begun, 4);
	assert_int_equal(s->piece[1].got, 32);
	assert_int_equal(s->piece[1].bad, 0);
	assert_false(s->piece[4].m.has_bytes);
	assert_int_equal(s->piece[4].m.hash.half[1], 2);
	assert_true(s->piece[5].begun);
	assert_int_equal(s->piece[6].got, 40);
	assert_true(s->piece[6].cut);
	assert_int_equal(s->cut, 1);
	assert_null(drain_warning(inf));
	inferior_free(inf);
	free(s);
}

static void program_that_dies(void **state)
{
	struct inferior *inf = launch(ARGS(A("dies")));
	struct seen *s = xcalloc(1, sizeof(*s));

	assert_int_equal(drain_to_end(inf, s, true).kind, INFERIOR_SIGNALLED);
	assert_int_equal(s->piece[1].got, 16); /* up to the gap */
	assert_true(s->piece[1].cut);
	assert_int_equal(s->piece[2].got, 8); /* behind it */
	assert_false(s->piece[2].cut);
	assert_int_equal(s->piece[1].bad + s->piece[2].bad, 0);
	assert_int_equal(s->cut, 1);
	assert_null(drain_warning(inf));
	inferior_free(inf);
	free(s);
}

/* A slot that makes no sense costs memory contents and one sentence; nobody waits for ever,
 * commands come. */
static void damaged_slots(void **state)
{
	for (int how = 0; how <= 16; how++) {
		char n[16];
		struct inferior *inf;
		struct seen *s = xcalloc(1, sizeof(*s));
		const char *w;

		snprintf(n, sizeof(n), "%d", how);
		inf = launch(ARGS(A("bulk-scribble"), n));
		assert_exited(drain_to_end(inf, s, false), 0);
		assert_int_equal(s->piece[100].got, 64);
		assert_int_equal(s->commands, 1);
		assert_int_equal(s->begun, 1 + (how == 13 || how == 14 || how == 15 || how == 16));
		assert_int_equal(s->cut, s->begun - 1);
		assert_int_equal(drain_lost(inf, NULL), 1);
		w = drain_warning(inf);
		assert_non_null(w);
		assert_non_null(strstr(w, "memory contents"));
		assert_null(drain_warning(inf));
		inferior_free(inf);
		free(s);
	}
}

static void slots_scribbled_on(void **state)
{
	for (int seed = 1; seed <= 30; seed++) {
		char n[16];
		struct inferior *inf;
		struct seen *s = xcalloc(1, sizeof(*s));

		snprintf(n, sizeof(n), "%d", seed);
		inf = launch(ARGS(A("bulk-rage"), n));
		assert_exited(drain_to_end(inf, s, false), 0);
		for (unsigned i = 0; i < PIECES; i++)
			assert_true(!s->piece[i].begun || !s->piece[i].m.has_bytes ||
				    s->piece[i].cut || s->piece[i].got == s->piece[i].m.size);
		inferior_free(inf);
		free(s);
	}
}

/* What the old program had filled is still handed out, before the new one's; its window has no end.
 */
static void program_that_execs(void **state)
{
	struct inferior *inf = launch(ARGS(A("bulk-exec"), A("again")));
	struct seen *s = xcalloc(1, sizeof(*s));

	assert_exited(drain_to_end(inf, s, true), 0);
	assert_int_equal(s->commands, 2);
	assert_int_equal(s->epochs, 1);
	assert_int_equal(s->begun, 2);
	assert_int_equal(s->bytes, 48);
	assert_int_equal(s->cut, 2);
	assert_int_equal(s->piece[1].bad, 0);
	assert_int_equal(s->windows, 2);
	assert_int_equal(s->ends, 0);
	assert_null(drain_warning(inf));
	inferior_free(inf);
	free(s);
}

/* Not timed against a limit here (the machine may be busy): the figure is printed. */
static void flood(void **state)
{
	struct inferior *inf = launch(ARGS(A("flood"), A("2147483648")));
	struct seen *s = xcalloc(1, sizeof(*s));
	uint64_t begin = monotonic_ms(), took;

	assert_exited(drain_to_end(inf, s, false), 0);
	took = monotonic_ms() - begin;
	assert_int_equal(s->bytes, 2147483648u);
	print_message("%.1f GB/s\n", 2147483648e-6 / (double)(took ? took : 1));
	inferior_free(inf);
	free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pieces_of_threads),
		cmocka_unit_test(tickets_filled_out_of_order),
		cmocka_unit_test(program_that_dies),
		cmocka_unit_test(damaged_slots),
		cmocka_unit_test(slots_scribbled_on),
		cmocka_unit_test(program_that_execs),
		cmocka_unit_test(flood),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
