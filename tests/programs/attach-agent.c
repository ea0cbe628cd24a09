/* SPDX-License-Identifier: Apache-2.0
 *
 * An inferior with an agent of its own making: it speaks capture/wire.h without any GPU, well or badly, so that the room attach can be
 * tested alone. One behaviour per first argument.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include "capture/wire.h"

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
	if (control_fd < 0 || pread(control_fd, &bytes, sizeof(bytes), offsetof(struct tsdb_control, bytes)) != sizeof(bytes))
		exit(101);
	control = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, control_fd, 0);
	if (control == MAP_FAILED || control->magic != TSDB_WIRE_MAGIC || control->pid != (uint32_t)getpid())
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

	for (unsigned i = 0; !p.s; i = (i + 1) % TSDB_RING_COUNT) {
		uint32_t none = TSDB_RING_FREE;

		if (atomic_compare_exchange_strong(&control->ring[i].state, &none, TSDB_RING_USED)) {
			p.s = &control->ring[i];
			p.data = mmap(NULL, 2 * (size_t)n, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
			for (int k = 0; k < 2; k++)
				mmap(p.data + (size_t)k * n, n, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, control_fd,
					(off_t)tsdb_ring_offset(n, i));
		} else if (i == TSDB_RING_COUNT - 1) {
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
	while (control->ring_bytes - (p->head - atomic_load_explicit(&p->s->tail, memory_order_acquire)) < n)
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
	atomic_store_explicit(&p->s->inflight, atomic_load(&control->next_seq), memory_order_release);
	return atomic_fetch_add(&control->next_seq, 1);
}

static void end(struct producer *p, uint64_t seq, uint32_t stack, uint32_t corr)
{
	static __thread _Alignas(8) uint8_t bytes[4096];
	struct sbt_cmd c = {.seq = seq, .kind = SBT_SYNC, .thread = p->thread, .stack = stack, .corr = corr, .ctx = SBT_NO_ID};

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
	case 0: r.h.size = 0; break;
	case 1: r.h.size = 4; break;
	case 2: r.h.size = 0xfffffff8u; break;
	case 3: r.rest[0] = begin(&p); r.rest[5] = UINT64_MAX; break;	   /* a command whose fields are not there */
	case 4: r.h.type = TSDB_MSG_STACK; r.rest[0] = 1 | 1000ull << 32; break; /* more frames than bytes */
	case 5: r.h.type = TSDB_MSG_MAPPING; r.rest[0] = 9; r.rest[1] = 8; break; /* ends before it starts */
	case 6: r.h.type = TSDB_MSG_CODE; r.rest[1] = UINT64_MAX; break;
	case 7: r.h.size = 8; r.h.type = TSDB_MSG_TIME; break;
	case 8: r.h.type = 0x7fff; r.rest[0] = begin(&p); break; /* no such kind */
	case 9: r.rest[0] = 0; break;				  /* seq 0 */
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
			q->data[(q->head - 1 - (unsigned)rand_r(&seed) % 2000) & (bytes - 1)] = (uint8_t)rand_r(&seed);
		if (i % 64 == 63) {
			pause_us(100);
			for (int k = 0; k < 4; k++) /* abandoned or not, go on from where tsdb is */
				if (i > 2000 && rand_r(&seed) % 8 == 0)
					atomic_store(&p[k].s->head, p[k].head = ((uint64_t)rand_r(&seed) << 3));
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

		fill_stop(&p, TSDB_STOP_BREAK, (int32_t)i + 1, seq);
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
	if (q->size > sizeof(q->data) || q->addr < MEMORY_AT || q->addr - MEMORY_AT > sizeof(memory) - q->size)
		return 1;
	if (q->kind == TSDB_REQ_READ)
		memcpy(q->data, memory + (q->addr - MEMORY_AT), q->size);
	else
		memcpy(memory + (q->addr - MEMORY_AT), q->data, q->size);
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
	fill_stop(&p, TSDB_STOP_BREAK, 1, seq);
	fake_stop();
	while (control->request.kind != TSDB_REQ_NONE) {
		control->request.result = serve(&control->request, a[0]);
		control->request.kind = TSDB_REQ_NONE;
		control->stop.why = TSDB_STOP_SERVED;
		fake_stop();
	}
	end(&p, seq, 0, 0);
	seq = begin(&p);
	fill_stop(&p, TSDB_STOP_STEP, 0, seq);
	fake_stop();
	end(&p, seq, 0, 0);
	return memory[5] == 200 ? 12 : 11;
}

/* Two threads that stop at the same time, in turn. */
static void *stopper(void *arg)
{
	static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;
	struct producer p = ring_open();

	for (int i = 0; i < 100; i++) {
		uint64_t seq = begin(&p);

		pthread_mutex_lock(&turn);
		fill_stop(&p, TSDB_STOP_STEP, (int32_t)p.thread, seq);
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

static const struct {
	const char *name;
	int (*fn)(char **);
} table[] = {
	{"commands", do_commands}, {"vanish", do_vanish}, {"slow", do_slow}, {"killed", do_killed}, {"exec", do_exec},
	{"scribble", do_scribble}, {"rage", do_rage}, {"stops", do_stops}, {"serve", do_serve}, {"race", do_race},
};

int main(int argc, char **argv)
{
	agent_up();
	for (size_t i = 0; argc > 1 && i < sizeof(table) / sizeof(*table); i++)
		if (strcmp(table[i].name, argv[1]) == 0)
			return table[i].fn(argv + 2);
	return 100;
}
