/* SPDX-License-Identifier: Apache-2.0
 *
 * Windows with the fake driver, whose device memory is memory of this process: what goes through
 * the bulk slots, the question about too much memory, work that is not over yet.
 */
#include "capture-fake.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "capture/pipeline/bulk.h"
#include "capture/memory/room.h"
#include "capture/pipeline/sender.h"
#include "capture/memory/window.h"

#define SIZE 10000u

static struct tsdb_control *control;
static uint64_t ticket;
static uint8_t *device; /* what the fake calls device memory: at an address that it takes for one */
static uint8_t host[SIZE];

static const struct tsdb_bulk *next_slot(void)
{
	const struct tsdb_bulk *b = &control->bulk[ticket % TSDB_BULK_SLOTS];
	for (unsigned tries = 0; atomic_load(&b->state) != TSDB_BULK_FULL && tries < 2000; tries++)
		nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
	if (atomic_load(&b->state) != TSDB_BULK_FULL)
		fail_msg("no slot was filled");
	ticket++;
	return b;
}

static const uint8_t *bytes_of(const struct tsdb_bulk *b)
{
	return (const uint8_t *)control +
	       tsdb_bulk_offset(control->ring_bytes, (uint32_t)(b - control->bulk));
}

static void give_back(const struct tsdb_bulk *b)
{
	struct tsdb_bulk *slot = &control->bulk[b - control->bulk];
	atomic_fetch_add(&slot->turn, 1);
	atomic_store(&slot->state, TSDB_BULK_FREE);
}

static const struct tsdb_bulk *expect_piece(unsigned role, uint64_t addr, uint64_t size)
{
	const struct tsdb_bulk *b = next_slot();
	assert_int_equal(b->role, role);
	assert_int_equal(b->addr, addr);
	assert_int_equal(b->size, size);
	return b;
}

static void expect_no_piece(void)
{
	assert_int_equal(control->next_bulk, ticket);
}

static bool next_window(unsigned ring, struct tsdb_msg_window *ret)
{
	struct fake_record r;
	while (fake_next(ring, &r))
		if (r.type == TSDB_MSG_WINDOW) {
			memcpy(ret, r.head, sizeof(*ret));
			return true;
		}
	return false;
}

/* A begin comes in the program's ring, and is there; an end in the sending thread's, when all has
 * been sent. */
static struct tsdb_msg_window expect_window(bool ended)
{
	struct tsdb_msg_window w;
	for (unsigned tries = 0; tries < (ended ? 2000 : 1); tries++) {
		if (next_window(ended, &w)) {
			assert_int_equal(w.ended, ended);
			return w;
		}
		nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
	}
	fail_msg("no message of a window's %s", ended ? "end" : "begin");
	return (struct tsdb_msg_window){.seq = 0};
}

static void allocate(void)
{
	CUdeviceptr p = (CUdeviceptr)(uintptr_t)device;
	FAKE(cuMemAlloc_v2, &p, SIZE);
}

/* Any command. */
static void command(void)
{
	fake_call(CUPTI_DRIVER_TRACE_CBID_cuCtxSynchronize, NULL, CUDA_SUCCESS);
}

static void begin(void)
{
	control->capture_all = 1;
	command();
}

static void end(void)
{
	control->capture_all = 0;
	command();
}

static void fill(uint8_t *p, unsigned seed)
{
	for (unsigned i = 0; i < SIZE; i++)
		p[i] = (uint8_t)(i * 31 + i / 256 + seed);
}

static int start(void **state)
{
	void *at = (void *)0x710000000000;
	device = mmap(at, 1 << 20, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	assert_ptr_equal(device, at);
	control = fake_start();
	control->memory = TSDB_MEMORY_ALL;
	return 0;
}

/* Each test leaves nothing behind. */
static int tidy(void **state)
{
	if (control->capture_all)
		end();
	FAKE(cuMemFree_v2, (CUdeviceptr)(uintptr_t)device);
	while (atomic_load(&sender_jobs) || ticket < control->next_bulk)
		if (ticket < control->next_bulk)
			give_back(next_slot());
	fake_skip();
	struct tsdb_msg_window w;
	while (next_window(1, &w))
		;
	control->memory_limit = 0;
	fake_free_memory = (size_t)1 << 30;
	fake_busy = false;
	return 0;
}

static void what_is_alive_is_shadowed(void **state)
{
	uint8_t was[SIZE];
	allocate();
	fill(device, 1);
	memcpy(was, device, SIZE);
	fake_device_copies = fake_syncs = 0;
	begin();
	assert_int_equal(fake_device_copies, 1);
	assert_int_equal(fake_syncs, 1);
	fill(device, 2); /* the program goes on */
	const struct tsdb_bulk *b = expect_piece(BULK_START, (uint64_t)(uintptr_t)device, SIZE);
	const struct tsdb_msg_window w = expect_window(false);
	assert_int_equal(b->seq, w.seq);
	assert_int_equal(
		fake_expect(SBT_SYNC).seq, w.seq); /* it goes out before its first command */
	assert_int_equal(b->n, SIZE);
	assert_memory_equal(bytes_of(b), was, SIZE);
	give_back(b);
	end();
	b = expect_piece(BULK_END, (uint64_t)(uintptr_t)device, SIZE);
	assert_true(sbt_hash_equal(b->hash, sbt_range_hash(device, SIZE)));
	assert_int_equal(b->flags, TSDB_BULK_HASH_ONLY);
	const struct tsdb_msg_window e = expect_window(true);
	assert_int_equal(e.seq, b->seq);
	assert_int_equal(e.complete, 1);
	assert_true(fake_expect(SBT_SYNC).seq >
		    e.seq); /* the call that found that it is over is not in it */
	give_back(b);
	expect_no_piece();
}

static void without_room_it_goes_straight_to_the_host(void **state)
{
	allocate();
	fill(device, 3);
	fake_free_memory = 100 << 20; /* less than what is left alone */
	fake_device_copies = 0;
	begin();
	assert_int_equal(fake_device_copies, 0);
	const struct tsdb_bulk *b = expect_piece(BULK_START, (uint64_t)(uintptr_t)device, SIZE);
	assert_memory_equal(bytes_of(b), device, SIZE);
	assert_int_equal(window_open, 1);
	give_back(b);
}

static void *close_window(void *arg)
{
	FAKE(cuMemsetD8Async, 0x710000080000, 0, 1, NULL);
	return NULL;
}

/* The allocation's number comes when the driver has made it, and is behind the window, so it is no
 * part of what the memory was at the end. */
static void an_allocation_under_way_when_the_window_closes(void **state)
{
	CUdeviceptr p = 0;
	const cuMemAlloc_v2_params params = {&p, SIZE};
	struct tsdb_window *w = &control->window;
	pthread_t other;
	fake_call(CUPTI_DRIVER_TRACE_CBID_cuCtxSynchronize, NULL, CUDA_SUCCESS);
	fake_skip();
	w->first = control->next_seq;
	w->last = w->first + 2; /* the fill, the other thread, its fill */
	w->state = TSDB_WINDOW_ARMED;
	w->kind = TSDB_WINDOW_SEQ;
	FAKE(cuMemsetD8Async, 0x710000080000, 0, 1, NULL);
	(void)expect_window(false);
	const uint64_t link = fake_enter(CUPTI_DRIVER_TRACE_CBID_cuMemAlloc_v2, &params);
	assert_int_equal(pthread_create(&other, NULL, close_window, NULL), 0);
	for (unsigned tries = 0; atomic_load(&w->state) != TSDB_WINDOW_DONE && tries < 2000;
		tries++)
		nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
	assert_int_equal(atomic_load(&w->state), TSDB_WINDOW_DONE);
	p = (CUdeviceptr)(uintptr_t)device;
	fake_exit(link, CUDA_SUCCESS);
	pthread_join(other, NULL);
	const struct sbt_cmd alloc = fake_expect(SBT_ALLOC);
	assert_true(alloc.seq > w->last);
	assert_int_equal(alloc.flags & SBT_F_WINDOW, 0);
	while (atomic_load(&sender_jobs))
		nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
	expect_no_piece();
	w->kind = TSDB_WINDOW_NONE;
}

#define MANY (TSDB_BULK_SLOTS + 16)
#define PART 4096u

static CUdeviceptr part(unsigned i)
{
	return (CUdeviceptr)(uintptr_t)device + (CUdeviceptr)i * PART;
}

/* More than all slots hold, and nobody takes them: the end does not wait, and what it says is of
 * the moment when it was. */
static void an_end_waits_for_nobody(void **state)
{
	struct sbt_hash was[MANY];
	for (unsigned i = 0; i < MANY; i++) {
		CUdeviceptr p = part(i);
		memset((void *)(uintptr_t)p, (int)i, PART);
		FAKE(cuMemAlloc_v2, &p, PART);
	}
	begin();
	const uint64_t first = expect_window(false).seq;
	memset(device, 0x5a, MANY * PART); /* what the window's commands do */
	for (unsigned i = 0; i < MANY; i++)
		was[i] = sbt_range_hash((void *)(uintptr_t)part(i), PART);
	alarm(20); /* of what never comes back */
	end();
	alarm(0);
	assert_int_equal(window_open, 0);
	memset(device, 0x77, MANY * PART); /* what comes after it */
	for (unsigned i = 0; i < MANY; i++) {
		const struct tsdb_bulk *b = expect_piece(BULK_START, part(i), PART);
		assert_int_equal(bytes_of(b)[PART - 1], (uint8_t)i);
		struct tsdb_msg_window early;
		assert_false(next_window(1, &early));
		give_back(b);
	}
	for (unsigned i = 0; i < MANY; i++) {
		const struct tsdb_bulk *b = expect_piece(BULK_END, part(i), PART);
		assert_true(sbt_hash_equal(b->hash, was[i]));
		give_back(b);
	}
	const struct tsdb_msg_window e = expect_window(true);
	assert_true(e.seq >= first);
	assert_int_equal(e.complete, 1);
	for (unsigned i = 0; i < MANY; i++)
		FAKE(cuMemFree_v2, part(i));
}

static void *take_slots(void *arg)
{
	const unsigned n = *(unsigned *)arg;
	nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
	for (unsigned i = 0; i < n; i++)
		give_back(next_slot());
	return NULL;
}

/* A window that is asked for while the one before it is being sent: the copies of both are whole.
 */
static void windows_follow_each_other(void **state)
{
	pthread_t reader;
	unsigned n = 2 * MANY;
	for (unsigned i = 0; i < MANY; i++) {
		CUdeviceptr p = part(i);
		memset((void *)(uintptr_t)p, 1, PART);
		FAKE(cuMemAlloc_v2, &p, PART);
	}
	begin();
	const uint64_t first = expect_window(false).seq;
	memset(device, 2, MANY * PART);
	end();
	memset(device, 3, MANY * PART);
	assert_int_equal(pthread_create(&reader, NULL, take_slots, &n), 0);
	begin(); /* waits until the first one is out */
	assert_int_equal(pthread_join(reader, NULL), 0);
	const struct tsdb_msg_window e = expect_window(true), b = expect_window(false);
	assert_int_equal(e.complete, 1);
	assert_true(e.seq >= first && b.seq > e.seq);
	for (unsigned i = 0; i < MANY; i++) {
		const struct tsdb_bulk *s = next_slot(); /* in any order */
		assert_int_equal(s->role, BULK_START);
		assert_int_equal(s->seq, b.seq);
		assert_int_equal(bytes_of(s)[0], 3);
		give_back(s);
	}
	end();
	for (unsigned i = 0; i < MANY; i++) {
		const struct tsdb_bulk *s = next_slot();
		assert_int_equal(s->role, BULK_END);
		give_back(s);
	}
	assert_true(expect_window(true).seq >= b.seq);
	for (unsigned i = 0; i < MANY; i++)
		FAKE(cuMemFree_v2, part(i));
}

/* Room is taken while a window is armed, given back when it no longer is, or when the program needs
 * the memory. */
static void an_armed_window_is_prepared(void **state)
{
	struct tsdb_window *w = &control->window;
	allocate();
	strcpy(w->glob, "never");
	w->kind = TSDB_WINDOW_KERNEL;
	w->state = TSDB_WINDOW_ARMED;
	command();
	for (unsigned i = 0; !atomic_load(&room_held) && i < 2000; i++)
		nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
	assert_true(atomic_load(&room_held) >= SIZE);
	sender_wait(SENDER_PREPARE, SENDER_FOR_EVER);
	fake_free_memory = 300 << 20;
	CUdeviceptr p = (CUdeviceptr)(uintptr_t)device + (1 << 18);
	FAKE(cuMemAlloc_v2, &p, 1 << 20); /* fits beside it */
	assert_true(atomic_load(&room_held));
	FAKE(cuMemFree_v2, p);
	FAKE(cuMemAlloc_v2, &p, 100 << 20);
	assert_int_equal(room_held, 0);
	fake_free_memory = 257 << 20;
	FAKE(cuMemFree_v2, p);
	sender_wait(SENDER_PREPARE, SENDER_FOR_EVER);
	assert_int_equal(room_held, 0); /* half of what is free is more than what would be left */
	fake_free_memory = (size_t)1 << 30;
	w->glob[0] = 'N';
	room_epoch++; /* something was given back: it is tried again */
	command();
	for (unsigned i = 0; !atomic_load(&room_held) && i < 2000; i++)
		nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
	assert_true(room_held);
	w->kind = TSDB_WINDOW_NONE;
	for (unsigned i = 0; atomic_load(&room_held) && i < 3000; i++)
		nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
	assert_int_equal(room_held, 0);
}

/* An asynchronous copy's result is looked at when the event behind it says that it is there. */
static void results_are_taken_when_they_are_there(void **state)
{
	allocate();
	begin();
	give_back(expect_piece(BULK_START, (uint64_t)(uintptr_t)device, SIZE));
	fake_skip();
	fake_busy = true;
	fill(host, 1);
	FAKE(cuMemcpyDtoHAsync_v2, host, (CUdeviceptr)(uintptr_t)device, SIZE, NULL);
	FAKE(cuStreamSynchronize, (CUstream)0x5100);
	expect_no_piece();
	fill(host, 2);
	fake_busy = false;
	FAKE(cuStreamSynchronize, NULL);
	const struct tsdb_bulk *b = expect_piece(BULK_OUTPUT, (uint64_t)(uintptr_t)host, SIZE);
	assert_int_equal(b->seq, fake_expect(SBT_COPY).seq);
	assert_true(sbt_hash_equal(b->hash, sbt_range_hash(host, SIZE)));
	give_back(b);
	control->outputs_full = 1;
	FAKE(cuMemcpyDtoH_v2, host, (CUdeviceptr)(uintptr_t)device, SIZE);
	control->outputs_full = 0;
	b = expect_piece(BULK_OUTPUT, (uint64_t)(uintptr_t)host, SIZE);
	assert_memory_equal(bytes_of(b), host, SIZE);
	give_back(b);
	/* A copy that failed has delivered nothing. */
	const cuMemcpyDtoH_v2_params p = {host, (CUdeviceptr)(uintptr_t)device, SIZE};
	fake_call(CUPTI_DRIVER_TRACE_CBID_cuMemcpyDtoH_v2, &p, CUDA_ERROR_INVALID_VALUE);
	expect_no_piece();
}

static void *device_finishes(void *arg)
{
	nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
	fill(host, 7);
	fake_busy = false;
	return NULL;
}

/* Pinned memory is freed while a copy into it is under way: the driver waits for the copy, so its
 * bytes are looked at first. */
static void a_result_is_taken_before_its_pinned_memory_goes(void **state)
{
	void *p = host;
	pthread_t gpu;
	allocate();
	FAKE(cuMemHostAlloc, &p, SIZE, 0);
	begin();
	const struct tsdb_bulk *b;
	for (unsigned i = 0; i < 2; i++) { /* what is alive */
		b = next_slot();
		assert_int_equal(b->role, BULK_START);
		give_back(b);
	}
	fake_busy = true;
	fill(host, 1);
	FAKE(cuMemcpyDtoHAsync_v2, host, (CUdeviceptr)(uintptr_t)device, SIZE, NULL);
	assert_int_equal(pthread_create(&gpu, NULL, device_finishes, NULL), 0);
	FAKE(cuMemFreeHost, host);
	pthread_join(gpu, NULL);
	b = expect_piece(BULK_OUTPUT, (uint64_t)(uintptr_t)host, SIZE);
	assert_int_equal(b->flags & TSDB_BULK_DOUBT, 0);
	assert_true(sbt_hash_equal(b->hash, sbt_range_hash(host, SIZE)));
	give_back(b);
}

/* A copy that does not end, as it waits for this thread: the free goes on, and the result is
 * doubtful. */
static void a_free_does_not_wait_for_ever(void **state)
{
	void *p = host;
	FAKE(cuMemHostAlloc, &p, SIZE, 0);
	begin();
	give_back(next_slot());
	fake_busy = true;
	FAKE(cuMemcpyDtoHAsync_v2, host, (CUdeviceptr)(uintptr_t)device, SIZE, NULL);
	FAKE(cuMemFreeHost, host);
	const struct tsdb_bulk *b = expect_piece(BULK_OUTPUT, (uint64_t)(uintptr_t)host, SIZE);
	assert_int_equal(b->flags & TSDB_BULK_DOUBT, TSDB_BULK_DOUBT);
	give_back(b);
	fake_busy = false;
}

/* Of more copies under way than are kept the oldest costs its own comparison, and no other. */
static void the_oldest_of_too_many_results_is_doubtful(void **state)
{
	begin();
	fake_busy = true;
	for (unsigned i = 0; i < 1025; i++) {
		FAKE(cuMemcpyDtoHAsync_v2, host + i, (CUdeviceptr)(uintptr_t)device, 1, NULL);
		fake_skip();
	}
	const struct tsdb_bulk *oldest = expect_piece(BULK_OUTPUT, (uint64_t)(uintptr_t)host, 1);
	assert_int_equal(oldest->flags & TSDB_BULK_DOUBT, TSDB_BULK_DOUBT);
	give_back(oldest);
	fake_busy = false;
	/* The rest comes, the oldest first or not; nobody waits for it here: the slots are given
	 * back as they come. */
	const pid_t reader = fork();
	if (!reader) {
		for (unsigned i = 0; i < 1024; i++)
			give_back(next_slot());
		_exit(0);
	}
	FAKE(cuStreamSynchronize, NULL);
	int status;
	assert_int_equal(waitpid(reader, &status, 0), reader);
	assert_int_equal(status, 0);
	ticket += 1024;
	end();
	assert_int_equal(expect_window(true).complete, 1);
}

static void a_source_that_is_not_there_is_told(void **state)
{
	begin();
	FAKE(cuMemcpyHtoD_v2, (CUdeviceptr)(uintptr_t)device, (void *)8, 100);
	const struct tsdb_bulk *b = expect_piece(BULK_INPUT, 8, 100);
	assert_int_equal(b->flags, TSDB_BULK_CUT);
	assert_int_equal(b->n, 0);
	give_back(b);
	assert_non_null(strstr(control->text2, "source"));
}

static void not_while_a_stream_is_captured(void **state)
{
	CUgraph g = (CUgraph)0x7777;
	fake_skip();
	FAKE(cuStreamBeginCapture_v2, (CUstream)0x5100, CU_STREAM_CAPTURE_MODE_GLOBAL);
	begin();
	assert_int_equal(window_open, 0);
	FAKE(cuStreamEndCapture, (CUstream)0x5100, &g);
	assert_int_equal(window_open, 0);
	command();
	assert_int_equal(window_open, 1);
	/* The window begins behind the capture. */
	assert_true(expect_window(false).seq > 0);
	assert_int_equal(fake_expect(SBT_SYNC).kind, SBT_SYNC);
}

static void a_refused_window_is_tried_again_when_it_is_asked_for_again(void **state)
{
	allocate();
	control->memory_limit = SIZE - 1;
	begin(); /* nobody traces us: nobody to ask */
	assert_int_equal(window_open, 0);
	struct tsdb_msg_window b = expect_window(false), e;
	assert_true(next_window(0, &e) && e.ended); /* refused: both in one ring */
	assert_int_equal(e.seq, b.seq - 1);
	assert_int_equal(e.complete, 0);
	assert_int_equal(control->memory_needed, SIZE);
	control->memory_limit = 0;
	command();
	assert_int_equal(window_open, 0); /* refused once */
	end();
	begin();
	assert_int_equal(window_open, 1);
	give_back(expect_piece(BULK_START, (uint64_t)(uintptr_t)device, SIZE));
}

/* ---- a device that does not come to an end ---- */

static _Atomic uint32_t lets_go, held; /* calls of the driver that were held */

static void hold(void)
{
	atomic_fetch_add(&held, 1);
	while (!atomic_load(&lets_go))
		nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}

static CUresult CUDAAPI held_sync(void)
{
	hold();
	return CUDA_SUCCESS;
}

static CUresult CUDAAPI held_get_info(size_t *ret_free, size_t *ret_total)
{
	hold();
	*ret_free = *ret_total = (size_t)1 << 30;
	return CUDA_SUCCESS;
}

static void expect_given_up(void)
{
	struct tsdb_msg_window w;
	begin();
	assert_int_equal(window_open, 0);
	assert_int_equal(held, 1);
	assert_string_equal(control->text2,
		"work on the device did not end when the window began, not within 0.2 s (set gpu-timeout)");
	while (next_window(0, &w))
		;
	end();
}

/* The driver holds one call. The window is given up, the next one too and without another call;
 * when the device is done windows begin again. */
static void expect_held_once(void)
{
	allocate();
	atomic_store(&lets_go, 0);
	atomic_store(&held, 0);
	control->gpu_timeout = 200;
	expect_given_up();
	expect_given_up();
	atomic_store(&lets_go, 1);
	control->gpu_timeout = 0; /* 5 s */
	begin();
	assert_int_equal(window_open, 1);
	give_back(expect_piece(BULK_START, (uint64_t)(uintptr_t)device, SIZE));
	end();
}

static void work_in_streams_that_nobody_told_of(void **state)
{
	__typeof__(cuda.cuCtxSynchronize) synchronize = cuda.cuCtxSynchronize;
	cuda.cuCtxSynchronize = held_sync;
	control->attached = 1;
	expect_held_once();
	control->attached = 0;
	cuda.cuCtxSynchronize = synchronize;
}

/* Another thread's own default stream: only that thread can ask for it. */
static void work_in_streams_that_nobody_can_ask_for(void **state)
{
	__typeof__(cuda.cuCtxSynchronize) synchronize = cuda.cuCtxSynchronize;
	alarm(60); /* what waits for ever */
	cuda.cuCtxSynchronize = held_sync;
	expect_held_once();
	cuda.cuCtxSynchronize = synchronize;
	alarm(0);
}

static void memory_that_the_driver_does_not_give(void **state)
{
	__typeof__(cuda.cuMemGetInfo_v2) get_info = cuda.cuMemGetInfo_v2;
	room_release();
	cuda.cuMemGetInfo_v2 = held_get_info;
	expect_held_once();
	cuda.cuMemGetInfo_v2 = get_info;
}

/* What fresh memory holds is recorded, unless it is what a replay finds there: zeros where nothing
 * was before. */
static void fresh_memory_is_recorded(void **state)
{
	CUdeviceptr a = (CUdeviceptr)(uintptr_t)device + (8 << 16), b = a + (4 << 20);
	uint8_t *more = mmap((void *)(uintptr_t)(b & ~4095ull), 1 << 20, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	assert_true(more != MAP_FAILED);
	begin();
	memset((void *)(uintptr_t)a, 0, SIZE);
	((uint8_t *)(uintptr_t)a)[SIZE - 1] = 1;
	FAKE(cuMemAlloc_v2, &a, SIZE);
	const struct tsdb_bulk *slot = expect_piece(BULK_EFFECT, a, SIZE);
	assert_int_equal(slot->seq, fake_expect(SBT_ALLOC).seq);
	assert_memory_equal(bytes_of(slot), (void *)(uintptr_t)a, SIZE);
	give_back(slot);
	FAKE(cuMemAlloc_v2, &b, SIZE); /* zeros */
	expect_no_piece();
	FAKE(cuMemFree_v2, b);
	give_back(expect_piece(BULK_FREED, b, SIZE));
	FAKE(cuMemAlloc_v2, &b, SIZE); /* zeros again, where something was */
	give_back(expect_piece(BULK_EFFECT, b, SIZE));
	FAKE(cuMemFree_v2, a);
	give_back(expect_piece(BULK_FREED, a, SIZE));
	FAKE(cuMemFree_v2, b);
	give_back(expect_piece(BULK_FREED, b, SIZE));
	end();
	expect_no_piece();
}

#define STUCK ((CUstream)(uintptr_t)0x7777)
static unsigned stuck_asked, stuck_waits;
static bool is_stuck;

static CUresult stuck_query(CUstream s)
{
	stuck_asked += s == STUCK;
	return s == STUCK && is_stuck ? CUDA_ERROR_NOT_READY : CUDA_SUCCESS;
}

static CUresult stuck_sync(CUstream s)
{
	stuck_waits += s == STUCK; /* would never return: the program's thread, which may be the one
				      that the work waits for, is here */
	return CUDA_SUCCESS;
}

/* Memory that is allocated in a stream whose work does not end is left out, after a time, and that
 * is said; the next one there is left out at once. */
static void fresh_memory_behind_work_that_does_not_end(void **state)
{
	CUdeviceptr a = (CUdeviceptr)(uintptr_t)device + (8 << 16);
	__typeof__(cuda.cuStreamQuery) query = cuda.cuStreamQuery;
	__typeof__(cuda.cuStreamSynchronize) sync = cuda.cuStreamSynchronize;
	unsigned asked;
	begin();
	memset((void *)(uintptr_t)a, 1, SIZE);
	cuda.cuStreamQuery = stuck_query;
	cuda.cuStreamSynchronize = stuck_sync;
	control->gpu_timeout = 200;
	is_stuck = true;
	stuck_asked = stuck_waits = 0;
	FAKE(cuMemAllocAsync, &a, SIZE, STUCK);
	assert_int_equal(stuck_waits, 0);
	assert_true(stuck_asked > 100);
	expect_no_piece();
	assert_non_null(strstr(control->text2, "whose work before did not end"));
	FAKE(cuMemFreeAsync, a, STUCK); /* what it held then is not known */
	give_back(expect_piece(BULK_FREED, a, SIZE));
	asked = stuck_asked;
	FAKE(cuMemAllocAsync, &a, SIZE, STUCK);
	assert_true(stuck_asked - asked <= 200);
	is_stuck = false;
	FAKE(cuMemFreeAsync, a, STUCK);
	give_back(expect_piece(BULK_FREED, a, SIZE));
	FAKE(cuMemAllocAsync, &a, SIZE, STUCK);
	give_back(expect_piece(BULK_EFFECT, a, SIZE));
	FAKE(cuMemFreeAsync, a, STUCK);
	give_back(expect_piece(BULK_FREED, a, SIZE));
	control->gpu_timeout = 0;
	cuda.cuStreamQuery = query;
	cuda.cuStreamSynchronize = sync;
	end();
}

/* --- effects of what cannot be repeated --- */

#define LARGE (5 * SBT_PAGE + 100)

static void effects_of_calls_that_no_kind_describes(void **state)
{
	CUdeviceptr p = (CUdeviceptr)(uintptr_t)device;
	memset(device, 7, LARGE);
	FAKE(cuMemAlloc_v2, &p, LARGE);
	begin();
	give_back(expect_piece(BULK_START, p, LARGE));
	fake_skip();
	const uint64_t link = fake_enter(CUPTI_DRIVER_TRACE_CBID_cuMemcpyBatchAsync, NULL);
	device[SBT_PAGE + 9] = 1; /* pages 1 and 2, and the last */
	device[3 * SBT_PAGE - 1] = 2;
	device[LARGE - 1] = 3;
	fake_exit(link, CUDA_SUCCESS);
	const uint64_t seq = fake_expect(SBT_UNREPLAYABLE).seq;
	const struct tsdb_bulk *b = expect_piece(BULK_EFFECT, p + SBT_PAGE, 2 * SBT_PAGE);
	assert_int_equal(b->seq, seq);
	assert_memory_equal(bytes_of(b), device + SBT_PAGE, 2 * SBT_PAGE);
	give_back(b);
	b = expect_piece(BULK_EFFECT, p + 5 * SBT_PAGE, 100);
	assert_memory_equal(bytes_of(b), device + 5 * SBT_PAGE, 100);
	give_back(b);
	/* One that does nothing, and one that fails. */
	fake_call(CUPTI_DRIVER_TRACE_CBID_cuMemcpyBatchAsync, NULL, CUDA_SUCCESS);
	fake_call(CUPTI_DRIVER_TRACE_CBID_cuMemcpyBatchAsync, NULL, CUDA_ERROR_INVALID_VALUE);
	expect_no_piece();
	/* One that only gives out handles: memory is not looked at. */
	fake_skip();
	const uint64_t handles =
		fake_enter(CUPTI_DRIVER_TRACE_CBID_cuMemExportToShareableHandle, NULL);
	device[0] = 4;
	fake_exit(handles, CUDA_SUCCESS);
	const struct sbt_blob call = fake_expect(SBT_UNREPLAYABLE).u.unreplayable.call;
	assert_int_equal(call.len, strlen("cuMemExportToShareableHandle"));
	assert_memory_equal(call.p, "cuMemExportToShareableHandle", call.len);
	expect_no_piece();
	end();
	give_back(expect_piece(BULK_END, p, LARGE));
	assert_int_equal(expect_window(true).complete, 1);
}

/* --- the question --- */

/* A traced child stops and asks; it leaves with 1 when the window is open then. */
static int ask(uint32_t answer)
{
	int status;
	const pid_t child = fork();
	if (!child) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		agent.live = NULL;
		if (agent_adopt(control))
			_exit(99);
		allocate();
		control->memory_limit = SIZE - 1;
		begin();
		_exit(window_open ? 1 : 0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSTOPPED(status) && WSTOPSIG(status) == SIGTRAP);
	assert_int_equal(control->stop.why, STOP_ASKS);
	assert_int_equal(control->memory_needed, SIZE);
	control->memory_answer = answer;
	assert_int_equal(ptrace(PTRACE_CONT, child, NULL, NULL), 0);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	control->capture_all = 0;
	agent_adopt(control);
	return WEXITSTATUS(status);
}

#define UNMADE ((CUcontext)0x1700)
static CUcontext current;
static CUresult (*fake_push)(CUcontext c);

static CUresult push(CUcontext c)
{
	current = c;
	return fake_push(c);
}

static CUresult create_stream(CUstream *s, unsigned flags)
{
	(void)flags;
	*s = (CUstream)0x9999;
	return current == UNMADE ? CUDA_ERROR_CONTEXT_IS_DESTROYED : CUDA_SUCCESS;
}

static CUresult synchronize(void)
{
	return current == UNMADE ? CUDA_ERROR_CONTEXT_IS_DESTROYED : CUDA_SUCCESS;
}

/* Another thread's primary context is known by its handle before it is there. */
static void a_context_that_is_being_made_is_idle(void **state)
{
	struct cuda_api was = cuda;
	CUcontext made = UNMADE;
	(void)state;
	FAKE(cuCtxCreate_v2, &made, 0, 0);
	fake_push = was.cuCtxPushCurrent_v2;
	cuda.cuCtxPushCurrent_v2 = push;
	cuda.cuStreamCreate = create_stream;
	cuda.cuCtxSynchronize = synchronize;
	allocate();
	begin();
	assert_true(atomic_load(&window_open));
	assert_string_equal(control->text2, "");
	FAKE(cuCtxDestroy_v2, UNMADE);
	cuda = was;
}

static void the_user_is_asked(void **state)
{
	assert_int_equal(ask(TSDB_ANSWER_WITHOUT), 0);
	expect_no_piece();
	assert_int_equal(ask(TSDB_ANSWER_RECORD), 1);
	if (control->next_bulk > ticket) /* the child may have gone before its thread had sent it */
		give_back(expect_piece(BULK_START, (uint64_t)(uintptr_t)device, SIZE));
}

int main(void)
{
#define WINDOW_TEST(fn) cmocka_unit_test_teardown(fn, tidy)
	const struct CMUnitTest tests[] = {
		WINDOW_TEST(what_is_alive_is_shadowed),
		WINDOW_TEST(an_end_waits_for_nobody),
		WINDOW_TEST(windows_follow_each_other),
		WINDOW_TEST(an_allocation_under_way_when_the_window_closes),
		WINDOW_TEST(an_armed_window_is_prepared),
		WINDOW_TEST(without_room_it_goes_straight_to_the_host),
		WINDOW_TEST(results_are_taken_when_they_are_there),
		WINDOW_TEST(a_result_is_taken_before_its_pinned_memory_goes),
		WINDOW_TEST(a_free_does_not_wait_for_ever),
		WINDOW_TEST(the_oldest_of_too_many_results_is_doubtful),
		WINDOW_TEST(a_source_that_is_not_there_is_told),
		WINDOW_TEST(not_while_a_stream_is_captured),
		WINDOW_TEST(fresh_memory_is_recorded),
		WINDOW_TEST(fresh_memory_behind_work_that_does_not_end),
		WINDOW_TEST(a_refused_window_is_tried_again_when_it_is_asked_for_again),
		WINDOW_TEST(work_in_streams_that_nobody_told_of),
		WINDOW_TEST(work_in_streams_that_nobody_can_ask_for),
		WINDOW_TEST(memory_that_the_driver_does_not_give),
		WINDOW_TEST(effects_of_calls_that_no_kind_describes),
		WINDOW_TEST(a_context_that_is_being_made_is_idle),
		cmocka_unit_test(the_user_is_asked),
	};
	return cmocka_run_group_tests(tests, start, NULL);
}
