/* SPDX-License-Identifier: Apache-2.0
 *
 * Figures of the room attach: stops at GPU commands per second (the agent's, and with a backtrace
 * each), interrupts per second, and records drained per second. No GPU: the inferior is
 * tests/programs/attach-agent.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
#include "attach/ptrace/inferior.h"
#include "sbt/cmd-pack.h"

static double now_s(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static void must(struct err *e)
{
	if (!e)
		return;
	fprintf(stderr, "bench-stops: %s\n", e->what);
	exit(1);
}

static struct inferior *launch(const char *program, char **args)
{
	struct launch_options o = {.argv = args, .out = "/dev/null", .agent = "/none"};
	struct inferior *inf;

	args[0] = (char *)program;
	must(inferior_launch(&inf, &o));
	must(inferior_resume(inf, false));
	return inf;
}

/* ---- stops ---- */

static void bench_stops(const char *program, const char *threads, bool backtrace)
{
	char *args[] = {NULL, (char *)"stops", (char *)"3000", (char *)threads, NULL};
	struct inferior *inf = launch(program, args);
	struct inferior_event ev;
	double from = now_s();
	unsigned n = 0, frames;

	for (;;) {
		struct backtrace_frame *f;

		must(inferior_wait(inf, 10000, &ev));
		if (ev.kind != INFERIOR_STOP_AGENT)
			break;
		n++;
		if (backtrace) {
			must(inferior_backtrace(inf, ev.tid, 0, &f, &frames));
			free(f);
		}
		must(inferior_resume(inf, false));
	}
	printf("stop and continue, %s other threads%-15s %9.0f per second\n", threads,
		backtrace ? ", backtrace:" : ":", n / (now_s() - from));
	inferior_free(inf);
}

/* ---- drain ---- */

#define RING (4u << 20)
#define ROUNDS 40u

struct producer {
	struct tsdb_ring *s;
	uint8_t *data;
	uint64_t head;
};

static struct producer open_ring(struct inferior *inf, unsigned slot)
{
	struct producer p = {.s = &inf->control->ring[slot]};

	atomic_store(&p.s->state, TSDB_RING_USED);
	p.data = mmap(NULL, 2 * (size_t)RING, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	for (unsigned k = 0; k < 2; k++)
		mmap(p.data + k * (size_t)RING, RING, PROT_READ | PROT_WRITE,
			MAP_SHARED | MAP_FIXED, inf->control_fd,
			(off_t)tsdb_ring_offset(RING, slot));
	return p;
}

/* Fills all rings with launches of 32 bytes of arguments, turn by turn. */
static uint64_t fill(struct inferior *inf, struct producer *p, unsigned n)
{
	static uint8_t args[32];
	struct sbt_cmd c = {.kind = SBT_LAUNCH, .thread = 1, .stack = 0};
	uint64_t made = 0;
	size_t size;

	c.u.launch.args = (struct sbt_blob){args, sizeof(args)};
	size = sbt_pack_size(&c);
	while (RING - (p[n - 1].head - atomic_load(&p[n - 1].s->tail)) >= size)
		for (unsigned i = 0; i < n; i++) {
			c.seq = atomic_fetch_add(&inf->control->next_seq, 1);
			c.corr = (uint32_t)c.seq;
			sbt_pack(p[i].data + (p[i].head & (RING - 1)), &c);
			p[i].head += size;
			atomic_store_explicit(&p[i].s->head, p[i].head, memory_order_release);
			made++;
		}
	return made;
}

static void bench_drain(unsigned threads)
{
	struct inferior *inf = xcalloc(1, sizeof(*inf));
	struct producer p[64];
	static struct drain_item it;
	uint64_t made = 0, got = 0;
	double busy = 0;

	inf->control_fd = -1;
	inf->drain = drain_new();
	must(control_create(inf, RING));
	for (unsigned i = 0; i < threads; i++)
		p[i] = open_ring(inf, i);
	for (unsigned r = 0; r < ROUNDS / threads + 1; r++) {
		double from;

		made += fill(inf, p, threads);
		from = now_s();
		do {
			must(drain_next(inf, true, &it));
			got += it.kind == DRAIN_CMD;
		} while (it.kind != DRAIN_NONE);
		busy += now_s() - from;
	}
	if (made != got)
		fprintf(stderr, "bench-stops: %llu of %llu came out\n", (unsigned long long)got,
			(unsigned long long)made);
	printf("drain, %2u threads:                             %9.2f million launches per second\n",
		threads, (double)got / busy / 1e6);
	inferior_free(inf);
}

int main(int argc, char **argv)
{
	const char *program = argc > 1 ? argv[1] : "tests/programs/attach-agent";

	bench_stops(program, "0", false);
	bench_stops(program, "4", false);
	bench_stops(program, "32", false);
	bench_stops(program, "4", true);
	bench_drain(1);
	bench_drain(8);
	bench_drain(64);
	return 0;
}
