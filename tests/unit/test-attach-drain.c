/* SPDX-License-Identifier: Apache-2.0
 *
 * The drainer without a process: producers are state machines that this test moves a step at a
 * time, in random order, with the consumer coming in anywhere. What comes out must be sorted and
 * complete, every stack defined before its first command, every time joined.
 */
#include "test-attach-common.h"
#include "sbt/cmd-pack.h"
#include <fcntl.h>
#include <sys/mman.h>
#include <xxhash.h>

#define RING (2 * TSDB_RECORD_MAX)
#define PRODUCERS 5

struct producer {
	struct tsdb_ring *s;
	uint8_t *data; /* RING bytes, mapped twice */
	uint64_t head;
	int step;
	uint64_t seq;
	uint32_t stack;
};

struct world {
	struct inferior *inf;
	struct tsdb_control *c;
	struct producer p[PRODUCERS];
	uint64_t made;		/* commands */
	uint64_t got, last_seq; /* commands handed out */
	uint32_t next_stack, next_corr;
	bool *defined;
	uint64_t times_made, times_got;
	unsigned codes;
	uint64_t *seq_of_corr;
	unsigned seed;
};

static unsigned dice(struct world *w, unsigned n)
{
	return (unsigned)rand_r(&w->seed) % n;
}

static struct world *world_new(unsigned seed)
{
	struct world *w = xcalloc(1, sizeof(*w));

	w->inf = xcalloc(1, sizeof(*w->inf));
	w->inf->control_fd = -1;
	w->inf->alive = true;
	w->inf->drain = drain_new();
	must(control_create(w->inf, RING));
	w->c = w->inf->control;
	atomic_store(&w->c->rings, TSDB_RING_LARGE); /* the tests take slots as they like */
	w->seed = seed;
	w->next_stack = w->next_corr = 1;
	w->defined = xcalloc(1 << 20, sizeof(bool));
	w->seq_of_corr = xcalloc(1 << 20, sizeof(uint64_t));
	return w;
}

static void world_free(struct world *w)
{
	for (int i = 0; i < PRODUCERS; i++)
		if (w->p[i].data)
			munmap(w->p[i].data, 2 * RING);
	w->inf->alive = false;
	inferior_free(w->inf);
	free(w->defined);
	free(w->seq_of_corr);
	free(w);
}

static void open_ring(struct world *w, struct producer *p, unsigned slot)
{
	p->s = &w->c->ring[slot];
	assert_int_equal(atomic_load(&p->s->state), TSDB_RING_FREE);
	atomic_store(&p->s->state, TSDB_RING_USED);
	p->head = atomic_load(&p->s->head);
	if (p->data)
		return;
	p->data = mmap(NULL, 2 * RING, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	for (unsigned k = 0; k < 2; k++)
		assert_true(mmap(p->data + k * RING, RING, PROT_READ | PROT_WRITE,
				    MAP_SHARED | MAP_FIXED, w->inf->control_fd,
				    (off_t)tsdb_ring_offset(RING, slot)) != MAP_FAILED);
}

static bool room(const struct producer *p, uint64_t n)
{
	return RING - (p->head - atomic_load(&p->s->tail)) >= n;
}

static void publish(struct producer *p, const void *record)
{
	uint32_t n = *(const uint32_t *)record;

	memcpy(p->data + (p->head & (RING - 1)), record, n);
	p->head += n;
	atomic_store(&p->s->head, p->head);
}

static void publish_stack(struct world *w, struct producer *p)
{
	struct {
		struct tsdb_msg_stack m;
		uint64_t pc;
	} m = {{{sizeof(m), TSDB_MSG_STACK, 0}, w->next_stack++, 1}, 0x401000};

	publish(p, &m);
}

static void publish_time(struct world *w, struct producer *p, uint32_t corr)
{
	struct tsdb_msg_time m = {{sizeof(m), TSDB_MSG_TIME, 0}, corr, 0, corr, corr + 1};

	publish(p, &m);
	w->times_made++;
}

static struct producer *any_open(struct world *w)
{
	struct producer *p = &w->p[dice(w, PRODUCERS)];

	return p->data ? p : &w->p[0];
}

static void publish_cmd(struct world *w, struct producer *p)
{
	static _Alignas(8) uint8_t bytes[TSDB_RECORD_MAX];
	struct sbt_cmd c = {.seq = p->seq,
		.kind = SBT_SYNC,
		.thread = 1,
		.stack = p->stack,
		.corr = w->next_corr};

	sbt_pack(bytes, &c);
	if (dice(w, 3) == 0) /* the time may be in a ring that is read earlier */
		publish_time(w, any_open(w), w->next_corr);
	publish(p, bytes);
	if (dice(w, 3) == 0)
		publish_time(w, any_open(w), w->next_corr);
	w->seq_of_corr[w->next_corr++] = p->seq;
	w->made++;
}

static void publish_code(struct world *w, struct producer *p)
{
	uint8_t code[3000];
	struct {
		struct tsdb_msg_code m;
		uint8_t bytes[1000];
	} m = {{{sizeof(m), TSDB_MSG_CODE, 0}, 0, sizeof(code), 0, 1000, 1}, {0}};

	for (unsigned i = 0; i < sizeof(code); i++)
		code[i] = (uint8_t)rand_r(&w->seed);
	m.m.hash = XXH64(code, sizeof(code), 0);
	for (unsigned i = 0; i < 3; i++) {
		m.m.offset = i * 1000;
		memcpy(m.m.bytes, code + i * 1000, 1000);
		publish(p, &m);
	}
	w->codes++;
}

/* One step of a thread in a GPU call; wire.h says the order. */
static void move(struct world *w, struct producer *p)
{
	switch (p->step) {
	case 0:
		if (!room(p, 2 * TSDB_RECORD_MAX / 4))
			return;
		atomic_store(&p->s->inflight, atomic_load(&w->c->next_seq));
		break;
	case 1:
		p->seq = atomic_fetch_add(&w->c->next_seq, 1);
		p->stack = 0;
		break;
	case 2:
		if (dice(w, 4) == 0)
			publish_stack(w, p);
		if (w->next_stack > 1 && dice(w, 2)) /* anybody's stack that was published before */
			p->stack = 1 + dice(w, w->next_stack - 1);
		if (dice(w, 50) == 0)
			publish_code(w, p);
		break;
	case 3:
		if (dice(w, 20) == 0) /* dropped: the seq is never seen */
			p->seq = 0;
		else
			publish_cmd(w, p);
		break;
	case 4:
		atomic_store(&p->s->inflight, TSDB_IDLE);
		break;
	}
	p->step = (p->step + 1) % 5;
}

static bool take(struct world *w, bool final)
{
	static struct drain_item it;

	must(drain_next(w->inf, final, &it));
	switch (it.kind) {
	case DRAIN_NONE:
		return false;
	case DRAIN_CMD:
		assert_true(it.cmd.seq > w->last_seq);
		w->last_seq = it.cmd.seq;
		w->got++;
		if (it.cmd.stack)
			assert_true(w->defined[it.cmd.stack]);
		return true;
	case DRAIN_STACK:
		assert_false(w->defined[it.stack]);
		w->defined[it.stack] = true;
		assert_int_equal(it.n, 1);
		assert_int_equal(it.frames[0].offset, 0x401000 - 1);
		return true;
	case DRAIN_TIME:
		assert_int_equal(it.seq, w->seq_of_corr[it.corr]);
		assert_int_equal(it.start_ns, it.corr);
		w->times_got++;
		return true;
	case DRAIN_CODE:
		assert_int_equal(it.code_size, 3000);
		assert_int_equal(XXH64(it.code, it.code_size, 0), it.hash);
		w->codes--;
		return true;
	case DRAIN_MEMORY:
	case DRAIN_WINDOW:
		fail(); /* nobody made any */
	}
	return true;
}

static void random_interleavings(void **state)
{
	for (unsigned seed = 1; seed <= 40; seed++) {
		struct world *w = world_new(seed);
		unsigned slow =
			dice(w, 4) ? PRODUCERS
				   : dice(w, PRODUCERS); /* one thread may be in a call for long */

		for (unsigned i = 0; i < PRODUCERS; i++)
			open_ring(w, &w->p[i], i * 50);
		for (unsigned i = 0; i < 60000; i++) {
			unsigned k = dice(w, PRODUCERS + 1);

			if (k == PRODUCERS) {
				for (unsigned n = dice(w, 200); n > 0 && take(w, false); n--)
					;
			} else if (k != slow || dice(w, 3000) == 0) {
				move(w, &w->p[k]);
			}
		}
		for (unsigned k = 0; k < PRODUCERS; k++)
			while (w->p[k].step) {
				while (take(w, false))
					;
				move(w, &w->p[k]);
			}
		while (take(w, false))
			;
		assert_int_equal(w->got, w->made);
		assert_int_equal(w->codes, 0);
		assert_int_equal(drain_lost(w->inf, NULL), 0);
		assert_null(drain_warning(w->inf));
		assert_true(w->times_made > 1000);
		assert_true(w->times_got <= w->times_made);
		assert_true(w->times_got * 2 > w->times_made); /* two times of one command that come
								  before it become one */
		world_free(w);
	}
}

/* A time that comes before its command is kept for it. */
static void time_before_command(void **state)
{
	struct world *w = world_new(1);
	struct drain_item it;

	open_ring(w, &w->p[0], 3);
	publish_time(w, &w->p[0], 1);
	must(drain_next(w->inf, false, &it));
	assert_int_equal(it.kind, DRAIN_NONE);
	w->p[0].seq = atomic_fetch_add(&w->c->next_seq, 1);
	w->seed = 2;
	while (w->made == 0)
		publish_cmd(w, &w->p[0]);
	must(drain_next(w->inf, false, &it));
	assert_int_equal(it.kind, DRAIN_CMD);
	must(drain_next(w->inf, false, &it));
	assert_int_equal(it.kind, DRAIN_TIME);
	assert_int_equal(it.seq, 1);
	assert_int_equal(it.end_ns, 2);
	world_free(w);
}

/* A command in a call holds back later ones, until it is published or the process is dead. */
static void held_back(void **state)
{
	struct world *w = world_new(1);
	struct drain_item it;

	open_ring(w, &w->p[0], 0);
	open_ring(w, &w->p[1], 1);
	atomic_store(&w->p[0].s->inflight, 1);
	(void)atomic_fetch_add(&w->c->next_seq, 1);
	w->p[1].seq = atomic_fetch_add(&w->c->next_seq, 1);
	publish_cmd(w, &w->p[1]);
	must(drain_next(w->inf, false, &it));
	assert_int_not_equal(it.kind, DRAIN_CMD);
	must(drain_next(w->inf, true, &it)); /* it lives: order counts */
	assert_int_not_equal(it.kind, DRAIN_CMD);
	assert_true(drain_peek(w->inf, 0, &it));
	assert_int_equal(it.cmd.seq, 2);
	assert_true(drain_peek(w->inf, 1, &it)); /* it stays */
	assert_int_equal(it.cmd.seq, 2);
	assert_false(drain_peek(w->inf, 2, &it));
	w->inf->alive = false;
	do
		must(drain_next(w->inf, true, &it));
	while (it.kind == DRAIN_TIME);
	assert_int_equal(it.kind, DRAIN_CMD);
	assert_int_equal(it.cmd.seq, 2);
	world_free(w);
}

/* Commands within a call (a callback that makes GPU calls) are published before it, with a later
 * seq. */
static void nested_calls(void **state)
{
	struct world *w = world_new(3);
	struct drain_item it;
	uint64_t outer, want = 1;

	open_ring(w, &w->p[0], 0);
	for (int i = 0; i < 500; i++) {
		atomic_store(&w->p[0].s->inflight, atomic_load(&w->c->next_seq));
		outer = atomic_fetch_add(&w->c->next_seq, 1);
		for (unsigned k = dice(w, 4); k > 0; k--) {
			w->p[0].seq = atomic_fetch_add(&w->c->next_seq, 1);
			publish_cmd(w, &w->p[0]);
		}
		w->p[0].seq = outer;
		publish_cmd(w, &w->p[0]);
		atomic_store(&w->p[0].s->inflight, TSDB_IDLE);
		if (dice(w, 3) == 0) {
			do {
				must(drain_next(w->inf, false, &it));
				if (it.kind == DRAIN_CMD)
					assert_int_equal(it.cmd.seq, want++);
			} while (it.kind != DRAIN_NONE);
		}
	}
	world_free(w);
}

static void mappings_name_frames(void **state)
{
	struct world *w = world_new(1);
	struct drain_item it;
	struct sbt_host_module mod;
	struct {
		struct tsdb_msg_mapping m;
		char path[32];
	} map = {{{sizeof(map), TSDB_MSG_MAPPING, 0}, 0x400000, 0x500000, 0x3ff000, 8, 0},
		"/bin/cat"};

	open_ring(w, &w->p[0], 0);
	open_ring(w, &w->p[1], 1);
	publish_stack(w,
		&w->p[0]); /* the mapping comes later in this list, but it was published before */
	publish(&w->p[1], &map);
	must(drain_next(w->inf, false, &it));
	assert_int_equal(it.kind, DRAIN_STACK);
	assert_int_equal(it.frames[0].offset, 0x401000 - 1 - 0x3ff000);
	assert_true(drain_module(w->inf, it.frames[0].module, &mod));
	assert_string_equal(mod.path, "/bin/cat");
	assert_false(drain_module(w->inf, 1, &mod));
	map.m.gone = 1;
	publish(&w->p[1], &map);
	publish_stack(w, &w->p[1]);
	must(drain_next(w->inf, false, &it));
	assert_int_equal(it.kind, DRAIN_STACK);
	assert_true(drain_module(w->inf, it.frames[0].module, &mod));
	assert_string_equal(mod.path, "[unknown]");
	assert_int_equal(it.frames[0].offset, 0x401000 - 1);
	world_free(w);
}

struct python_message {
	struct tsdb_msg_python m;
	char bytes[64];
};

/* Function f in /a.py, first line 10: instructions 0 and 1 on line 10, the next on 12. */
static struct python_message python_message(uint32_t number)
{
	static const uint8_t lines[] = {0x80 | 13 << 3 | 1, 0x00, 0x80 | 12 << 3, 0, 3};
	struct python_message p = {
		{{sizeof(p), TSDB_MSG_PYTHON, 0}, number, 10, 5, 5, sizeof(lines), 0},
		"/a.pyNet.f"};

	memcpy(p.bytes + 10, lines, sizeof(lines));
	return p;
}

static struct sbt_place place_of(
	struct world *w, struct producer *p, uint64_t pc, uint64_t *ret_index)
{
	struct {
		struct tsdb_msg_stack m;
		uint64_t pc;
	} m = {{{sizeof(m), TSDB_MSG_STACK, 0}, w->next_stack++, 1}, pc};
	struct sbt_host_module mod;
	struct sbt_place place;
	struct drain_item it;
	int tries = 3;

	publish(p, &m);
	do /* a batch ends with NONE */
		must(drain_next(w->inf, false, &it));
	while (it.kind == DRAIN_NONE && tries--);
	assert_int_equal(it.kind, DRAIN_STACK);
	assert_true(drain_module(w->inf, it.frames[0].module, &mod));
	assert_string_equal(mod.path, SBT_MODULE_PYTHON);
	assert_true(drain_place(w->inf, it.frames[0].offset, &place));
	*ret_index = it.frames[0].offset;
	return place;
}

static void python_frames_name_places(void **state)
{
	struct world *w = world_new(1);
	struct python_message m = python_message(7);
	struct sbt_place place;
	uint64_t first, same, other, lost;

	open_ring(w, &w->p[0], 0);
	publish(&w->p[0], &m);
	place = place_of(w, &w->p[0], TSDB_PC_PYTHON(7, 0), &first);
	assert_string_equal(place.file, "/a.py");
	assert_string_equal(place.function, "Net.f");
	assert_int_equal(place.first_line, 10);
	assert_int_equal(place.line, 10);
	(void)place_of(w, &w->p[0], TSDB_PC_PYTHON(7, 2), &same);
	assert_int_equal(same, first); /* the same line */
	place = place_of(w, &w->p[0], TSDB_PC_PYTHON(7, 4), &other);
	assert_int_not_equal(other, first);
	assert_int_equal(place.line, 12);
	assert_int_equal(
		place_of(w, &w->p[0], TSDB_PC_PYTHON(7, 6), &other).line, 0); /* past the table */
	assert_string_equal(
		place_of(w, &w->p[0], TSDB_PC_PYTHON(8, 0), &lost).function, "?"); /* never sent */
	assert_false(drain_place(w->inf, lost + 1, &place));
	m.m.first_line = 99; /* a number that is known: nothing changes */
	publish(&w->p[0], &m);
	assert_int_equal(place_of(w, &w->p[0], TSDB_PC_PYTHON(7, 0), &same).line, 10);
	for (uint32_t i = 100; i < 3100; i++) { /* more than the tables begin with */
		m = python_message(i);
		m.m.first_line = i;
		publish(&w->p[0], &m);
		assert_int_equal(place_of(w, &w->p[0], TSDB_PC_PYTHON(i, 4), &other).line, i + 2);
	}
	assert_null(drain_warning(w->inf));
	world_free(w);
}

/* Lengths that do not fit: the ring is given up, and that is said. */
static void bad_python_messages(void **state)
{
	for (int i = 0; i < 4; i++) {
		struct world *w = world_new(1);
		struct python_message m = python_message(1);
		struct drain_item it;

		open_ring(w, &w->p[0], 0);
		if (i == 0)
			m.m.file = UINT32_MAX;
		else if (i == 1)
			m.m.name = 60;
		else if (i == 2)
			m.m.lines = UINT32_MAX - 9;
		else
			m.m.head.size = 16;
		publish(&w->p[0], &m);
		must(drain_next(w->inf, false, &it));
		assert_int_equal(it.kind, DRAIN_NONE);
		assert_non_null(drain_warning(w->inf));
		world_free(w);
	}
}

/* A slot is used by one thread after another. */
static void slots_come_back(void **state)
{
	struct world *w = world_new(1);

	for (int i = 0; i < 300; i++) {
		open_ring(w, &w->p[0], 9);
		w->p[0].seq = atomic_fetch_add(&w->c->next_seq, 1);
		publish_cmd(w, &w->p[0]);
		w->p[0].s->lost = 2;
		atomic_store(&w->p[0].s->state, TSDB_RING_CLOSED);
		while (take(w, false))
			;
		while (take(w, false))
			;
	}
	assert_int_equal(w->got, 300);
	assert_int_equal(drain_lost(w->inf, NULL), 600);
	world_free(w);
}

static void pressure(void **state)
{
	struct world *w = world_new(1);
	static union {
		struct tsdb_msg_head h;
		uint8_t bytes[RING / 4];
	} pad = {.h = {RING / 4, TSDB_MSG_PAD, 0}};

	open_ring(w, &w->p[0], 200);
	assert_int_equal(drain_pressure(w->inf), 0);
	publish(&w->p[0], &pad);
	assert_int_equal(drain_pressure(w->inf), 250);
	assert_false(take(w, false));
	assert_int_equal(drain_pressure(w->inf), 0);
	world_free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_interleavings),
		cmocka_unit_test(time_before_command),
		cmocka_unit_test(held_back),
		cmocka_unit_test(nested_calls),
		cmocka_unit_test(mappings_name_frames),
		cmocka_unit_test(python_frames_name_places),
		cmocka_unit_test(bad_python_messages),
		cmocka_unit_test(slots_come_back),
		cmocka_unit_test(pressure),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
