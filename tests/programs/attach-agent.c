/* SPDX-License-Identifier: Apache-2.0
 *
 * An inferior with an agent of its own making: it speaks capture/wire.h without any GPU, well or
 * badly, so that the room attach can be tested alone. One behaviour per first argument.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include "capture/wire.h"
#include "sbt/memory.h"
#include "sbt/cmd-pack.h"

static struct tsdb_control *control;
static int control_fd;

void fake_stop(void);
__asm__(".pushsection .text\n"
	".globl fake_stop\n"
	".type fake_stop, @function\n"
	"fake_stop:\n"
	".cfi_startproc\n"
	"	int3\n"
	"	ret\n"
	".cfi_endproc\n"
	".size fake_stop, . - fake_stop\n"
	".popsection\n");

static void pause_us(long us)
{
	struct timespec ts = {us / 1000000, us % 1000000 * 1000};

	nanosleep(&ts, NULL);
}

static void agent_up(void)
{
	const char *path = getenv("TSDB_CONTROL");
	uint64_t bytes;

	control_fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
	if (control_fd < 0 || pread(control_fd, &bytes, sizeof(bytes),
				      offsetof(struct tsdb_control, bytes)) != sizeof(bytes))
		exit(101);
	control = mmap(
		NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, control_fd, 0);
	if (control == MAP_FAILED || control->magic != TSDB_WIRE_MAGIC ||
		control->pid != (uint32_t)getpid())
		exit(102);
	control->stop_pc = (uint64_t)(uintptr_t)fake_stop;
	atomic_store(&control->agent_state, TSDB_AGENT_UP);
}

/* ---- a ring ---- */

struct producer {
	struct tsdb_ring *s;
	uint8_t *data;
	uint64_t head;
	uint32_t thread;
};

static struct producer ring_open(void)
{
	struct producer p = {0};
	uint32_t n = control->ring_bytes;

	for (unsigned i = 0; !p.s; i = (i + 1) % TSDB_RING_LARGE) {
		uint32_t none = TSDB_RING_FREE;

		if (atomic_compare_exchange_strong(
			    &control->ring[i].state, &none, TSDB_RING_USED)) {
			p.s = &control->ring[i];
			atomic_store(&control->rings, TSDB_RING_LARGE);
			p.data = mmap(NULL, 2 * (size_t)n, PROT_NONE,
				MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
			for (int k = 0; k < 2; k++)
				mmap(p.data + (size_t)k * n, n, PROT_READ | PROT_WRITE,
					MAP_SHARED | MAP_FIXED, control_fd,
					(off_t)tsdb_ring_offset(n, i));
		} else if (i == TSDB_RING_LARGE - 1) {
			pause_us(1000);
		}
	}
	p.s->os_tid = (uint32_t)syscall(SYS_gettid);
	p.thread = p.s->thread = 1 + atomic_fetch_add(&control->next_thread, 1);
	p.head = atomic_load(&p.s->head);
	return p;
}

static void *reserve(struct producer *p, uint32_t n)
{
	while (control->ring_bytes -
			(p->head - atomic_load_explicit(&p->s->tail, memory_order_acquire)) <
		n)
		pause_us(50);
	return p->data + (p->head & (control->ring_bytes - 1));
}

static void publish(struct producer *p, const void *record)
{
	uint32_t n = *(const uint32_t *)record;

	memcpy(reserve(p, n), record, n);
	p->head += n;
	atomic_store_explicit(&p->s->head, p->head, memory_order_release);
}

static void ring_close(struct producer *p)
{
	atomic_store(&p->s->inflight, TSDB_IDLE);
	atomic_store(&p->s->state, TSDB_RING_CLOSED);
}

static uint64_t begin(struct producer *p)
{
	atomic_store_explicit(
		&p->s->inflight, atomic_load(&control->next_seq), memory_order_release);
	return atomic_fetch_add(&control->next_seq, 1);
}

static void end(struct producer *p, uint64_t seq, uint32_t stack, uint32_t corr)
{
	static __thread _Alignas(8) uint8_t bytes[4096];
	struct sbt_cmd c = {.seq = seq,
		.kind = SBT_SYNC,
		.thread = p->thread,
		.stack = stack,
		.corr = corr,
		.ctx = SBT_NO_ID};

	sbt_pack(bytes, &c);
	publish(p, bytes);
	atomic_store_explicit(&p->s->inflight, TSDB_IDLE, memory_order_release);
}

/* ---- behaviours ---- */

static void *commands_thread(void *arg)
{
	struct producer p = ring_open();
	long n = (long)arg;

	for (long i = 0; i < n; i++)
		end(&p, begin(&p), 0, 0);
	ring_close(&p);
	return NULL;
}

/* commands THREADS EACH */
static int do_commands(char **a)
{
	pthread_t t[512];
	int n = atoi(a[0]);

	for (int i = 0; i < n && i < 512; i++)
		pthread_create(&t[i], NULL, commands_thread, (void *)atol(a[1]));
	for (int i = 0; i < n && i < 512; i++)
		pthread_join(t[i], NULL);
	return 0;
}

/* Ends without closing its ring, in the middle of a call. */
static void *lost_thread(void *arg)
{
	struct producer p = ring_open();

	end(&p, begin(&p), 0, 0);
	(void)begin(&p);
	return NULL;
}

static int do_vanish(char **a)
{
	pthread_t t;

	pthread_create(&t, NULL, lost_thread, NULL);
	pthread_join(t, NULL);
	return do_commands(a);
}

/* One thread is in a call until the other has published more than a ring holds. */
static void *slow_thread(void *arg)
{
	struct producer p = ring_open();
	uint64_t seq = begin(&p);

	*(_Atomic int *)arg = 1;
	while (*(_Atomic int *)arg != 2)
		pause_us(100);
	end(&p, seq, 0, 0);
	ring_close(&p);
	return NULL;
}

static int do_slow(char **a)
{
	static _Atomic int stage;
	pthread_t t;

	pthread_create(&t, NULL, slow_thread, (void *)&stage);
	while (stage != 1)
		pause_us(100);
	commands_thread((void *)atol(a[0]));
	stage = 2;
	pthread_join(t, NULL);
	return 0;
}

static int do_killed(char **a)
{
	struct producer p = ring_open();

	for (int i = 0; i < 100; i++)
		end(&p, begin(&p), 0, 0);
	(void)begin(&p);
	raise(SIGKILL);
	return 99;
}

static void stack_message(struct producer *p, uint32_t id, uint64_t pc)
{
	struct {
		struct tsdb_msg_stack m;
		uint64_t pcs[2];
	} s = {{{sizeof(s), TSDB_MSG_STACK, 0}, id, 2}, {pc, pc + 0x10}};

	publish(p, &s);
}

static int do_exec(char **a)
{
	struct producer p = ring_open();

	stack_message(&p, 7, 0x1000);
	for (int i = 0; i < 10; i++)
		end(&p, begin(&p), 7, 0);
	(void)begin(&p);
	if (a[0]) /* again, without a further exec */
		execl("/proc/self/exe", "again", "exec", NULL);
	ring_close(&p);
	return 0;
}

/* Records that make no sense, at one place each. */
static int do_scribble(char **a)
{
	struct producer p = ring_open(), good = ring_open();
	int how = atoi(a[0]);
	struct {
		struct tsdb_msg_head h;
		uint64_t rest[31];
	} r = {.h = {sizeof(r), SBT_SYNC, 0}};

	end(&p, begin(&p), 0, 0);
	switch (how) {
	case 0:
		r.h.size = 0;
		break;
	case 1:
		r.h.size = 4;
		break;
	case 2:
		r.h.size = 0xfffffff8u;
		break;
	case 3:
		r.rest[0] = begin(&p);
		r.rest[5] = UINT64_MAX;
		break; /* a command whose fields are not there */
	case 4:
		r.h.type = TSDB_MSG_STACK;
		r.rest[0] = 1 | 1000ull << 32;
		break; /* more frames than bytes */
	case 5:
		r.h.type = TSDB_MSG_MAPPING;
		r.rest[0] = 9;
		r.rest[1] = 8;
		break; /* ends before it starts */
	case 6:
		r.h.type = TSDB_MSG_CODE;
		r.rest[1] = UINT64_MAX;
		break;
	case 7:
		r.h.size = 8;
		r.h.type = TSDB_MSG_TIME;
		break;
	case 8:
		r.h.type = 0x7fff;
		r.rest[0] = begin(&p);
		break; /* no such kind */
	case 9:
		r.rest[0] = 0;
		break; /* seq 0 */
	}
	if (how == 10) {
		atomic_store(&p.s->head, p.head + (1ull << 40));
	} else if (how == 11) {
		atomic_store(&p.s->head, 0);
		p.s->lost = 5;
	} else {
		memcpy(reserve(&p, sizeof(r)), &r, sizeof(r));
		atomic_store_explicit(&p.s->head, p.head + sizeof(r), memory_order_release);
	}
	atomic_store(&p.s->inflight, TSDB_IDLE);
	for (int i = 0; i < 100; i++)
		end(&good, begin(&good), 0, 0);
	return 0;
}

/* Random bytes over rings and control block while they are being drained. */
static int do_rage(char **a)
{
	struct producer p[4] = {ring_open(), ring_open(), ring_open(), ring_open()};
	unsigned seed = (unsigned)atoi(a[0]);
	uint32_t bytes = control->ring_bytes;

	for (int i = 0; i < 4000; i++) {
		struct producer *q = &p[i % 4];

		end(q, begin(q), 3, (uint32_t)i);
		for (int k = 0; k < 4; k++)
			q->data[(q->head - 1 - (unsigned)rand_r(&seed) % 2000) & (bytes - 1)] =
				(uint8_t)rand_r(&seed);
		if (i % 64 == 63) {
			pause_us(100);
			for (int k = 0; k < 4; k++) /* abandoned or not, go on from where tsdb is */
				if (i > 2000 && rand_r(&seed) % 8 == 0)
					atomic_store(&p[k].s->head,
						p[k].head = ((uint64_t)rand_r(&seed) << 3));
		}
		if (atomic_load(&q->s->head) - atomic_load(&q->s->tail) > bytes / 2)
			atomic_store(&q->s->head, q->head = atomic_load(&q->s->tail));
	}
	return 0;
}

/* ---- stops ---- */

static void fill_stop(struct producer *p, uint32_t why, int32_t id, uint64_t seq)
{
	struct tsdb_stop *s = &control->stop;
	struct sbt_cmd c = {.seq = seq, .kind = SBT_SYNC, .thread = p->thread};

	s->break_id = id;
	s->os_tid = (uint32_t)syscall(SYS_gettid);
	s->seq = seq;
	s->cmd_size = (uint32_t)sbt_pack_size(&c);
	sbt_pack(s->cmd, &c);
	s->why = why;
	control->request.kind = TSDB_REQ_NONE;
}

static void *idle_thread(void *arg)
{
	for (;;)
		pause();
	return NULL;
}

/* stops N THREADS: the only thread that runs stops N times. */
static int do_stops(char **a)
{
	struct producer p = ring_open();
	long n = atol(a[0]);

	for (int i = 0; i < atoi(a[1]); i++) {
		pthread_t t;

		pthread_create(&t, NULL, idle_thread, NULL);
	}
	for (long i = 0; i < n; i++) {
		uint64_t seq = begin(&p);

		fill_stop(&p, STOP_BREAKPOINT, (int32_t)i + 1, seq);
		fake_stop();
		end(&p, seq, 0, 0);
	}
	ring_close(&p);
	return 0;
}

static uint8_t memory[1 << 20]; /* at address 0x1000000 */
#define MEMORY_AT 0x1000000u

static uint32_t serve(struct tsdb_req *q, const char *how)
{
	if (strcmp(how, "hang") == 0 && q->kind == TSDB_REQ_SYNC_STREAM)
		pause_us(600000);
	if (strcmp(how, "crash") == 0)
		raise(SIGSEGV);
	if (strcmp(how, "exit") == 0)
		_exit(55);
	if (q->kind == TSDB_REQ_SYNC_STREAM)
		return q->stream == 1 ? 0 : 400;
	if (q->size > sizeof(q->data) || q->addr < MEMORY_AT ||
		q->addr - MEMORY_AT > sizeof(memory) - q->size)
		return 1;
	memcpy(q->data, memory + (q->addr - MEMORY_AT), q->size);
	return 0;
}

static int do_serve(char **a)
{
	static _Atomic uint64_t turns;
	struct producer p = ring_open();
	pthread_t t;
	uint64_t seq = begin(&p);

	pthread_create(&t, NULL, idle_thread, (void *)&turns);
	for (size_t i = 0; i < sizeof(memory); i++)
		memory[i] = (uint8_t)(i * 7);
	fill_stop(&p, STOP_BREAKPOINT, 1, seq);
	fake_stop();
	while (control->request.kind != TSDB_REQ_NONE) {
		control->request.result = serve(&control->request, a[0]);
		control->request.kind = TSDB_REQ_NONE;
		control->stop.why = STOP_SERVED;
		fake_stop();
	}
	end(&p, seq, 0, 0);
	seq = begin(&p);
	fill_stop(&p, STOP_STEP, 0, seq);
	fake_stop();
	end(&p, seq, 0, 0);
	return 12;
}

/* Two threads that stop at the same time, in turn. */
static void *stopper(void *arg)
{
	static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;
	struct producer p = ring_open();

	for (int i = 0; i < 100; i++) {
		uint64_t seq = begin(&p);

		pthread_mutex_lock(&turn);
		fill_stop(&p, STOP_STEP, (int32_t)p.thread, seq);
		fake_stop();
		pthread_mutex_unlock(&turn);
		end(&p, seq, 0, 0);
	}
	ring_close(&p);
	return NULL;
}

static int do_race(char **a)
{
	pthread_t t[4];

	for (int i = 0; i < 4; i++)
		pthread_create(&t[i], NULL, stopper, NULL);
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
	return 0;
}

/* ---- memory ---- */

static uint8_t *bulk_data(unsigned i)
{
	static uint8_t *all;

	if (!all)
		all = mmap(NULL, (size_t)TSDB_BULK_SLOTS * TSDB_BULK_BYTES, PROT_READ | PROT_WRITE,
			MAP_SHARED, control_fd, (off_t)tsdb_bulk_offset(control->ring_bytes, 0));
	return all + (size_t)TSDB_BULK_BYTES * i;
}

/* Waits until a ticket's slot is ours; NULL: never. */
static struct tsdb_bulk *bulk_wait(uint64_t ticket)
{
	struct tsdb_bulk *s = &control->bulk[ticket % TSDB_BULK_SLOTS];

	for (long tries = 0;
		atomic_load_explicit(&s->state, memory_order_acquire) != TSDB_BULK_FREE ||
		atomic_load_explicit(&s->turn, memory_order_relaxed) !=
			(uint32_t)(ticket / TSDB_BULK_SLOTS);
		tries++) {
		if (tries > 200000)
			return NULL;
		pause_us(50);
	}
	s->piece = s->seq = s->addr = s->size = s->offset = 0;
	s->role = SBT_MEMORY_START;
	s->owner = SBT_MEMORY_ALLOCATION;
	s->module = SBT_NO_ID;
	s->flags = s->n = s->name_len = 0;
	return s;
}

static void bulk_full(struct tsdb_bulk *s)
{
	atomic_store_explicit(&s->state, TSDB_BULK_FULL, memory_order_release);
}

/* The byte of a piece at an offset, as the test expects it. */
static void fill_pattern(uint8_t *p, uint64_t piece, uint64_t offset, uint32_t n)
{
	for (uint32_t i = 0; i + 8 <= n; i += 8) {
		uint64_t v = piece * 0x9e3779b97f4a7c15u + offset + i;

		memcpy(p + i, &v, 8);
	}
}

static int send_piece(uint64_t piece, uint64_t size, bool pattern)
{
	uint64_t offset = 0;

	do {
		uint64_t ticket = atomic_fetch_add(&control->next_bulk, 1);
		struct tsdb_bulk *s = bulk_wait(ticket);

		if (!s)
			return 77;
		s->piece = piece;
		s->seq = piece;
		s->addr = piece << 32;
		s->size = size;
		s->offset = offset;
		s->n = (uint32_t)(size - offset < TSDB_BULK_BYTES ? size - offset
								  : TSDB_BULK_BYTES);
		if (!offset)
			s->name_len = (uint32_t)snprintf(
				s->name, sizeof(s->name), "piece%llu", (unsigned long long)piece);
		if (pattern)
			fill_pattern(bulk_data(ticket % TSDB_BULK_SLOTS), piece, offset, s->n);
		offset += s->n;
		bulk_full(s);
	} while (offset < size);
	return 0;
}

static uint64_t piece_bytes;

static void *pieces_thread(void *arg)
{
	uint64_t first = (uint64_t)(uintptr_t)arg;

	for (uint64_t k = 0; k < 8; k++)
		if (send_piece(first + k, piece_bytes + k * 8, true))
			exit(77);
	return NULL;
}

static void window_message(struct producer *p, uint64_t seq, uint32_t ended)
{
	struct tsdb_msg_window m = {{sizeof(m), TSDB_MSG_WINDOW, 0}, seq, ended, 1};

	publish(p, &m);
}

/* pieces THREADS BYTES: eight pieces of each thread, in a window of two commands. */
static int do_pieces(char **a)
{
	struct producer p = ring_open();
	pthread_t t[64];
	unsigned n = (unsigned)atoi(a[0]);

	piece_bytes = strtoull(a[1], NULL, 0);
	window_message(&p, 1, 0);
	end(&p, begin(&p), 0, 0);
	for (unsigned i = 0; i < n && i < 64; i++)
		pthread_create(&t[i], NULL, pieces_thread, (void *)(uintptr_t)(1 + i * 8));
	for (unsigned i = 0; i < n && i < 64; i++)
		pthread_join(t[i], NULL);
	end(&p, begin(&p), 0, 0);
	window_message(&p, 2, 1);
	ring_close(&p);
	return 0;
}

/* flood BYTES: one large piece, as fast as may be. */
static int do_flood(char **a)
{
	return send_piece(1, strtoull(a[0], NULL, 0), false);
}

/* Slots filled in an order that is not that of their tickets; then one piece with only its hash, an
 * empty one, one that is cut. */
static int do_tickets(char **a)
{
	static const unsigned order[] = {3, 1, 0, 2};
	uint64_t first = atomic_fetch_add(&control->next_bulk, 8);

	for (unsigned k = 0; k < 4; k++) {
		struct tsdb_bulk *s = bulk_wait(first + order[k]);

		s->piece = 1;
		s->size = 32;
		s->offset = order[k] * 8;
		s->n = 8;
		fill_pattern(bulk_data((unsigned)(first + order[k])), 1, s->offset, 8);
		bulk_full(s);
		pause_us(20000);
	}
	for (unsigned k = 4; k < 8; k++) {
		struct tsdb_bulk *s = bulk_wait(first + k);

		s->piece = k;
		s->size = k == 5 ? 0 : 100;
		s->n = k == 6 ? 40 : 0;
		s->hash = (struct sbt_hash){{1, 2}};
		s->flags = k == 4 ? TSDB_BULK_HASH_ONLY : k == 6 ? TSDB_BULK_CUT : 0;
		if (k == 7)
			s->piece = 0; /* a ticket that was not needed */
		bulk_full(s);
	}
	return 0;
}

/* Dies with a piece under way, a ticket that it has not filled, and full slots behind that. */
static int do_dies(char **a)
{
	uint64_t first = atomic_fetch_add(&control->next_bulk, 5);

	for (unsigned k = 0; k < 5; k++) {
		struct tsdb_bulk *s;

		if (k == 2)
			continue;
		s = bulk_wait(first + k);
		s->piece = k == 4 ? 2 : 1;
		s->size = k == 4 ? 8 : 64;
		s->offset = k == 4 ? 0 : k * 8;
		s->n = 8;
		fill_pattern(bulk_data((unsigned)(first + k)), s->piece, s->offset, 8);
		bulk_full(s);
	}
	raise(SIGKILL);
	return 99;
}

/* A slot that makes no sense, at one place each; then pieces, which must not wait. */
static int do_bulk_scribble(char **a)
{
	int how = atoi(a[0]);
	struct producer p = ring_open();
	struct tsdb_bulk *s;
	uint64_t t;

	if (send_piece(100, 64, true))
		return 77;
	s = bulk_wait(t = atomic_fetch_add(&control->next_bulk, 1));
	s->piece = 1;
	s->size = 64;
	s->n = 16;
	switch (how) {
	case 0:
		s->n = TSDB_BULK_BYTES + 1;
		s->size = 1u << 30;
		break;
	case 1:
		s->n = 65;
		break;
	case 2:
		s->offset = 8;
		break;
	case 3:
		s->role = 0;
		break;
	case 4:
		s->role = 99;
		break;
	case 5:
		s->owner = 3;
		break;
	case 6:
		s->name_len = TSDB_NAME_MAX + 1;
		break;
	case 7:
		s->addr = UINT64_MAX - 3;
		break;
	case 8:
		s->size = UINT64_MAX;
		break;
	case 9:
		s->n = 0;
		break;
	case 10:
		s->piece = 0;
		break;
	case 11:
		s->flags = TSDB_BULK_HASH_ONLY;
		break;
	case 12:
		atomic_store(&s->turn, 12345);
		break;
	}
	bulk_full(s);
	if (how >= 13) {
		s = bulk_wait(t = atomic_fetch_add(&control->next_bulk, 1));
		s->piece = 1;
		s->size = how == 13 ? 65 : 64;
		s->offset = how == 14 ? 24 : how == 15 ? 0 : 16;
		s->n = how == 16 ? 49 : 8;
		bulk_full(s);
	}
	for (uint64_t k = 0; k < 100; k++)
		if (send_piece(200 + k, TSDB_BULK_BYTES + 8, true))
			return 77;
	end(&p, begin(&p), 0, 0);
	return 0;
}

/* Random bytes over the slots while they are read. */
static int do_bulk_rage(char **a)
{
	unsigned seed = (unsigned)atoi(a[0]);

	for (uint64_t k = 0; k < 300; k++) {
		uint64_t t = atomic_fetch_add(&control->next_bulk, 1);
		struct tsdb_bulk *s = &control->bulk[t % TSDB_BULK_SLOTS];

		s->piece = 1 + k / 4;
		s->size = 4 * 4096;
		s->offset = k % 4 * 4096;
		s->n = 4096;
		s->role = 1;
		s->owner = s->flags = s->name_len = 0;
		s->addr = s->seq = k;
		bulk_full(s);
		if (k > 20)
			((uint8_t *)s)[(unsigned)rand_r(&seed) % sizeof(*s)] =
				(uint8_t)rand_r(&seed);
		if (k % 16 == 15)
			pause_us(500);
	}
	return 0;
}

/* A piece under way and a window that has not ended at an exec; the new program does the same. */
static int do_bulk_exec(char **a)
{
	struct producer p = ring_open();
	uint64_t seq = begin(&p);
	struct tsdb_bulk *s;

	window_message(&p, seq, 0);
	end(&p, seq, 0, 0);
	for (unsigned k = 0; k < 3; k++) {
		s = bulk_wait(atomic_fetch_add(&control->next_bulk, 1));
		s->piece = 1;
		s->size = 32;
		s->offset = k * 8;
		s->n = 8;
		fill_pattern(bulk_data((unsigned)(s - control->bulk)), 1, s->offset, 8);
		bulk_full(s);
	}
	(void)atomic_fetch_add(&control->next_bulk, 1);
	if (a[0]) /* again, without a further exec */
		execl("/proc/self/exe", "again", "bulk-exec", NULL);
	ring_close(&p);
	return 0;
}

/* ---- windows ---- */

/* ask BYTES: would record more than the limit allows; exits with the answer. */
static int do_ask(char **a)
{
	struct producer p = ring_open();
	uint64_t seq = begin(&p);

	control->memory_needed = strtoull(a[0], NULL, 0);
	fill_stop(&p, STOP_ASKS, 0, seq);
	if (control->memory_needed > control->memory_limit)
		fake_stop();
	end(&p, seq, 0, 0);
	return (int)atomic_load(&control->memory_answer);
}

static uint64_t window_pieces, window_bytes;

static void begin_window(struct producer *p, uint64_t seq)
{
	window_message(p, seq, 0);
	send_piece(++window_pieces, 80008, true);
}

static void end_window(struct producer *p, uint64_t last)
{
	send_piece(++window_pieces, window_bytes, true);
	window_message(p, last, 1);
}

static void maybe_stop(struct producer *p, uint64_t seq, bool *in_window)
{
	if (!atomic_exchange(&control->step, 0))
		return;
	fill_stop(p, STOP_STEP, 0, seq);
	fake_stop();
	while (control->request.kind != TSDB_REQ_NONE) {
		if (control->request.kind == TSDB_REQ_END_WINDOW && *in_window) {
			end_window(p, seq - 1);
			*in_window = false;
		}
		control->request.kind = TSDB_REQ_NONE;
		control->stop.why = STOP_SERVED;
		fake_stop();
	}
}

/* window COMMANDS BYTES [die|trap]: makes commands; records a window while control.capture_all asks
 * for it, with so many bytes at its end; dies by SIGKILL, or gets a SIGTRAP half way. */
static int do_window(char **a)
{
	struct producer p = ring_open();
	bool in_window = false;
	uint64_t seq = 0;

	window_bytes = strtoull(a[1], NULL, 0);
	for (int i = 0; i < atoi(a[0]); i++) {
		bool wants;

		if (a[2] && !strcmp(a[2], "trap") && i == atoi(a[0]) / 2)
			raise(SIGTRAP);
		wants = atomic_load(&control->capture_all) &&
			atomic_load(&control->memory) != TSDB_MEMORY_NONE;

		seq = begin(&p);
		if (wants && !in_window)
			begin_window(&p, seq);
		else if (!wants && in_window)
			end_window(&p, seq - 1);
		in_window = wants;
		maybe_stop(&p, seq, &in_window);
		end(&p, seq, 0, 0);
	}
	if (a[2] && !strcmp(a[2], "die"))
		raise(SIGKILL);
	if (in_window)
		end_window(&p, seq);
	ring_close(&p);
	return 0;
}

static const struct {
	const char *name;
	int (*fn)(char **);
} table[] = {
	{"commands", do_commands},
	{"vanish", do_vanish},
	{"slow", do_slow},
	{"killed", do_killed},
	{"exec", do_exec},
	{"scribble", do_scribble},
	{"rage", do_rage},
	{"stops", do_stops},
	{"serve", do_serve},
	{"race", do_race},
	{"pieces", do_pieces},
	{"flood", do_flood},
	{"tickets", do_tickets},
	{"dies", do_dies},
	{"bulk-scribble", do_bulk_scribble},
	{"bulk-rage", do_bulk_rage},
	{"bulk-exec", do_bulk_exec},
	{"ask", do_ask},
	{"window", do_window},
};

int main(int argc, char **argv)
{
	agent_up();
	for (size_t i = 0; argc > 1 && i < sizeof(table) / sizeof(*table); i++)
		if (strcmp(table[i].name, argv[1]) == 0)
			return table[i].fn(argv + 2);
	return 100;
}
