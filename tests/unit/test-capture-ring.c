/* SPDX-License-Identifier: Apache-2.0
 *
 * The producer's side of a ring, against a consumer made here.
 */
#include "capture-fake.h"

#include <pthread.h>
#include <string.h>
#include <time.h>
#include "capture/pipeline/ring.h"

static struct tsdb_control *control;

static int start(void **state)
{
	control = fake_start();
	return 0;
}

/* What tsdb does when a thread has ended: reads the rest, and frees the slot. */
static void shut(struct ring *r)
{
	ring_close(r);
	assert_int_equal(control->ring[0].state, TSDB_RING_CLOSED);
	control->ring[0].tail = control->ring[0].head;
	control->ring[0].state = TSDB_RING_FREE;
}

static void records_are_never_split(void **state)
{
	struct ring r;
	assert_int_equal(ring_open(&r), 0);
	const uint32_t size = 4096 + 8; /* does not divide the ring */
	for (unsigned i = 0; i < 100; i++) {
		uint8_t *p = ring_reserve(&r, size, false);
		assert_non_null(p);
		memset(p, (int)i, size);
		ring_commit(&r, size);
		assert_int_equal(r.shared->head, (uint64_t)size * (i + 1));
		/* As tsdb sees it, through the file: byte by byte around the end. */
		const uint8_t *data =
			(const uint8_t *)control + tsdb_ring_offset(FAKE_RING_BYTES, 0);
		for (uint64_t k = (uint64_t)size * i; k < (uint64_t)size * (i + 1); k++)
			assert_int_equal(data[k % FAKE_RING_BYTES], i);
		r.shared->tail = r.shared->head;
	}
	shut(&r);
}

static void a_full_ring_drops(void **state)
{
	struct ring r;
	control->on_full = TSDB_FULL_DROP;
	assert_int_equal(ring_open(&r), 0);
	unsigned n = 0;
	while (ring_reserve(&r, 8192, false)) {
		ring_commit(&r, 8192);
		n++;
	}
	assert_int_equal(n, FAKE_RING_BYTES / 8192);
	assert_null(ring_reserve(&r, 8, false));
	r.shared->tail += 8192; /* room again */
	assert_non_null(ring_reserve(&r, 8192, false));
	shut(&r);
}

static void *consume_later(void *arg)
{
	/* Not before the producer waits, however late it comes to it. */
	while (!__atomic_load_n(&control->ring[0].stalls, __ATOMIC_ACQUIRE))
		nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
	control->ring[0].tail = control->ring[0].head;
	return NULL;
}

static void a_full_ring_waits(void **state)
{
	struct ring r;
	pthread_t thread;
	control->on_full = TSDB_FULL_WAIT;
	assert_int_equal(ring_open(&r), 0);
	for (unsigned n = 0; n < FAKE_RING_BYTES / 8192; n++) {
		assert_non_null(ring_reserve(&r, 8192, false));
		ring_commit(&r, 8192);
	}
	assert_int_equal(pthread_create(&thread, NULL, consume_later, NULL), 0);
	assert_non_null(ring_reserve(&r, 8192, false));
	assert_int_equal(r.shared->stalls, 1);
	assert_int_equal(r.shared->lost, 0);
	pthread_join(thread, NULL);
	shut(&r);
}

static void a_broken_consumer_does_no_harm(void **state)
{
	struct ring r;
	control->on_full = TSDB_FULL_DROP;
	assert_int_equal(ring_open(&r), 0);
	while (ring_reserve(&r, 8192, false))
		ring_commit(&r, 8192);
	r.shared->tail = r.shared->head + 4096; /* ahead of the producer */
	assert_null(ring_reserve(&r, 8192, false));
	assert_null(ring_reserve(&r, TSDB_RECORD_MAX + 8, false)); /* too large for any ring */
	r.shared->tail = r.shared->head;
	shut(&r);
}

/* Behind the large rings come small ones. */
static void rings_of_two_sizes(void **state)
{
	struct ring r;
	control->on_full = TSDB_FULL_DROP;
	for (unsigned i = 0; i < TSDB_RING_LARGE; i++)
		control->ring[i].state = TSDB_RING_USED;
	assert_int_equal(ring_open(&r), 0);
	assert_ptr_equal(r.shared, &control->ring[TSDB_RING_LARGE]);
	assert_int_equal(control->rings, TSDB_RING_LARGE + 1);
	assert_int_equal(r.shared->inflight, TSDB_IDLE);
	unsigned n = 0;
	for (uint8_t *p; (p = ring_reserve(&r, TSDB_RECORD_MAX, false)); n++) {
		memset(p, (int)n + 1, TSDB_RECORD_MAX);
		ring_commit(&r, TSDB_RECORD_MAX);
	}
	assert_int_equal(n, TSDB_RING_SMALL_BYTES / TSDB_RECORD_MAX);
	const uint8_t *data =
		(const uint8_t *)control + tsdb_ring_offset(FAKE_RING_BYTES, TSDB_RING_LARGE);
	for (uint32_t i = 0; i < TSDB_RING_SMALL_BYTES; i++)
		assert_int_equal(data[i], i / TSDB_RECORD_MAX + 1);
	assert_ptr_equal(data + TSDB_RING_SMALL_BYTES,
		(const uint8_t *)control + tsdb_ring_offset(FAKE_RING_BYTES, TSDB_RING_LARGE + 1));
	ring_close(&r);
	control->ring[TSDB_RING_LARGE].state = TSDB_RING_FREE;
	for (unsigned i = 0; i < TSDB_RING_LARGE; i++)
		control->ring[i].state = TSDB_RING_FREE;
}

static void *three_calls(void *arg)
{
	(void)arg;
	for (unsigned i = 0; i < 3; i++)
		FAKE(cuMemsetD8_v2, 0x700000000000, 0, 16);
	return NULL;
}

/* Not also what says where they came from: its stacks, its mappings. */
static void what_is_lost_counts_once(void **state)
{
	pthread_t thread;
	const uint64_t before = control->lost;
	control->on_full = TSDB_FULL_DROP;
	for (unsigned i = 0; i < TSDB_RING_COUNT; i++)
		control->ring[i].state = TSDB_RING_USED;
	control->stacks = 1;
	control->stack_depth = 16;
	assert_int_equal(pthread_create(&thread, NULL, three_calls, NULL), 0);
	pthread_join(thread, NULL);
	assert_int_equal(control->no_ring, 1);
	assert_in_range(control->lost_no_ring, 3,
		6); /* three fills, and what introduces them: thread, device, context */
	assert_int_equal(control->lost, before);
	for (unsigned i = 0; i < TSDB_RING_COUNT; i++)
		control->ring[i].state = TSDB_RING_FREE;
}

static void a_dead_debugger_is_not_waited_for(void **state)
{
	struct ring r;
	control->on_full = TSDB_FULL_WAIT;
	control->debugger_pid = 0x3ffffffe; /* above the largest process id of Linux, 4 Mi */
	assert_int_equal(ring_open(&r), 0);
	while (ring_reserve(&r, 8192, false))
		ring_commit(&r, 8192);
	assert_false(agent_live()); /* it came back, and the agent has retired */
	ring_close(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(records_are_never_split),
		cmocka_unit_test(a_full_ring_drops),
		cmocka_unit_test(a_full_ring_waits),
		cmocka_unit_test(a_broken_consumer_does_no_harm),
		cmocka_unit_test(rings_of_two_sizes),
		cmocka_unit_test(what_is_lost_counts_once),
		cmocka_unit_test(a_dead_debugger_is_not_waited_for),
	};
	return cmocka_run_group_tests(tests, start, NULL);
}
