/* SPDX-License-Identifier: Apache-2.0
 *
 * What executing a trace again costs: rates and times as ratios to what the same machine, or the
 * recorded program, needed in the same run. bench-replay [--check] [DIR]      --check: only replay
 * check; DIR: for traces, some of 8 GiB and more; default $TMPDIR or /tmp It finds tsdb by
 * TSDB_BUILD (a build tree or a bundle; default .) and uses the libcuda.so.1 that is found: the
 * sizes are small when that is the software GPU's, whose ratios show that the bench works, and
 * nothing else.
 */
#include <cuda.h>
#include <dlfcn.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "replay-trace.h"
#include "replay/device.h"
#include "sbt/memory.h"

#define GIB ((uint64_t)1 << 30)
#define MIB ((uint64_t)1 << 20)
#define RATE_RUNS 5

struct rates {
	int soft;
	double up, across; /* bytes a second: pinned memory to the device; payload from device to
			      device */
	uint64_t large, small; /* addresses that a program on this device gets */
};

struct bench {
	struct rates rates;
	char build[3072], dir[3072], replayer[4096], softgpu[4096], tsdb[4096];
	unsigned missed;
};

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void ok(struct err *e)
{
	if (!e)
		return;
	fprintf(stderr, "bench-replay: %s%s%s\n", e->what, e->cure ? "; " : "",
		e->cure ? e->cure : "");
	exit(1);
}

/* A figure beside what it should be. The software GPU is held to nothing. */
static void figure(struct bench *b, double value, bool at_least, double goal, const char *what)
{
	const bool good = at_least ? value >= goal : value <= goal;

	printf("    %-58s %9.3f  (%s %g)%s\n", what, value, at_least ? "at least" : "at most", goal,
		b->rates.soft ? ""
		: good	      ? "  ok"
			      : "  MISSED");
	b->missed += !good && !b->rates.soft;
	fflush(stdout);
}

/* --- the machine's own rates, measured in a process of their own so that no context is left --- */

#define FUNCTIONS(FN)                                                                              \
	FN(cuInit)                                                                                 \
	FN(cuDevicePrimaryCtxRetain)                                                               \
	FN(cuCtxSetCurrent)                                                                        \
	FN(cuCtxSynchronize)                                                                       \
	FN(cuMemAlloc_v2)                                                                          \
	FN(cuMemHostAlloc)                                                                         \
	FN(cuMemcpyHtoDAsync_v2)                                                                   \
	FN(cuMemcpyDtoDAsync_v2)

static struct {
#define FIELD(name) __typeof__(&name) name;
	FUNCTIONS(FIELD)
} cu;

static void check(CUresult r, const char *what)
{
	if (r == CUDA_SUCCESS)
		return;
	fprintf(stderr, "bench-replay: %s: error %d\n", what, (int)r);
	exit(1);
}
#define CHECK(call) check(call, #call)

static int load_driver(void)
{
	void *lib = dlopen("libcuda.so.1", RTLD_NOW);

	if (!lib) {
		fprintf(stderr, "bench-replay: %s\n", dlerror());
		exit(77);
	}
#define LOAD(name)                                                                                 \
	cu.name = (__typeof__(cu.name))(uintptr_t)dlsym(lib, #name);                               \
	if (!cu.name)                                                                              \
		check(CUDA_ERROR_NOT_FOUND, #name);
	FUNCTIONS(LOAD)
	return dlsym(lib, "tsdb_soft_set_hooks") != NULL;
}

static struct rates measure(void)
{
	struct rates r = {.soft = load_driver()};
	const size_t up = r.soft ? 16 * MIB : GIB, across = r.soft ? 64 * MIB : 8 * GIB;
	CUdeviceptr from, to, small;
	CUcontext ctx;
	void *host;

	CHECK(cu.cuInit(0));
	CHECK(cu.cuDevicePrimaryCtxRetain(&ctx, 0));
	CHECK(cu.cuCtxSetCurrent(ctx));
	CHECK(cu.cuMemAlloc_v2(&from, across));
	CHECK(cu.cuMemAlloc_v2(&to, across));
	CHECK(cu.cuMemAlloc_v2(&small, 2 * MIB));
	r.large = from;
	r.small = small;
	CHECK(cu.cuMemHostAlloc(&host, up, 0));
	memset(host, 1, up);
	for (int i = 0; i <= RATE_RUNS; i++) { /* the first one warms up */
		double begin = now();

		CHECK(cu.cuMemcpyHtoDAsync_v2(from, host, up, NULL));
		CHECK(cu.cuCtxSynchronize());
		if (i && (double)up / (now() - begin) > r.up)
			r.up = (double)up / (now() - begin);
		begin = now();
		CHECK(cu.cuMemcpyDtoDAsync_v2(to, from, across, NULL));
		CHECK(cu.cuCtxSynchronize());
		if (i && (double)across / (now() - begin) > r.across)
			r.across = (double)across / (now() - begin);
	}
	return r;
}

static struct rates measure_apart(void)
{
	struct rates r;
	int fds[2], status;
	pid_t pid;

	fflush(stdout);
	if (pipe(fds) || (pid = fork()) < 0)
		exit(1);
	if (!pid) {
		r = measure();
		_exit(write(fds[1], &r, sizeof r) != sizeof r);
	}
	close(fds[1]);
	const bool got = read(fds[0], &r, sizeof r) == sizeof r;
	close(fds[0]);
	waitpid(pid, &status, 0);
	if (!got)
		exit(WIFEXITED(status) && WEXITSTATUS(status) ? WEXITSTATUS(status) : 1);
	return r;
}

/* --- a window, opened and looked at --- */

struct run {
	struct sbt_reader *r;
	struct device *d;
	struct replay *p;
	uint64_t first, last;
	double open_s;
	struct replayer_figures opened;
};

static struct run open_run(const struct bench *b, const char *trace)
{
	struct device_options o = {.replayer = b->replayer,
		.trace = trace,
		.softgpu = b->rates.soft ? b->softgpu : NULL,
		.flags = REPLAYER_ANY_DEVICE};
	struct replay_executor ex;
	struct run x = {0};

	ok(sbt_reader_open(&x.r, trace));
	if (!sbt_reader_window(x.r, 0, &x.first, &x.last))
		ok(err_new(ERR_INCOMPLETE, "%s has no window", trace));
	o.first = x.first;
	o.last = x.last;
	const double begin = now();
	ok(device_open(&x.d, &o));
	x.open_s = now() - begin;
	ok(device_figures(x.d, &x.opened));
	ex = device_executor(x.d);
	ok(replay_open(&x.p, x.r, &ex));
	return x;
}

static void close_run(struct run *x)
{
	replay_close(x->p);
	sbt_reader_close(x->r);
}

static struct replayer_figures figures(const struct run *x)
{
	struct replayer_figures f;

	ok(device_figures(x->d, &f));
	return f;
}

/* Returns how long it took. */
static double verify(struct bench *b, const struct run *x)
{
	struct device_verified v;
	struct buf text = BUF_INIT;
	const double begin = now();

	ok(device_verify(x->d, &v));
	const double took = now() - begin;
	device_verified_print(&text, &v);
	printf("    %s\n", buf_cstr(&text));
	b->missed += !device_verified_ok(&v);
	buf_free(&text);
	device_verified_free(&v);
	return took;
}

static double to_end(const struct run *x)
{
	struct replay_stop stop;
	const double begin = now();

	ok(replay_until(x->p, x->last, &stop));
	return now() - begin;
}

static double ms(uint64_t ns)
{
	return (double)ns / 1e6;
}

static void split(
	const struct run *x, const struct replayer_figures *f, double run_s, double verify_s)
{
	const struct replayer_figures *o = &x->opened;
	const uint64_t inside = o->read_ns + o->device_ns + o->place_ns + o->code_ns +
				o->restore_ns + o->save_ns + o->room_ns;

	printf("    ms: open %.1f = start %.1f, read trace %.1f, driver %.1f, place %.1f, code %.1f, restore %.1f (until a byte moves %.1f), "
	       "checkpoint %.1f (room %.1f); execute %.1f (device %.1f); compare %.1f (hash %.1f)\n",
		x->open_s * 1e3, x->open_s * 1e3 - ms(inside), ms(o->read_ns), ms(o->device_ns),
		ms(o->place_ns), ms(o->code_ns), ms(o->restore_ns), ms(o->restore_setup_ns),
		ms(o->save_ns + o->room_ns), ms(o->room_ns), run_s * 1e3, ms(f->gpu_ns),
		verify_s * 1e3, ms(f->hash_ns));
}

/* Where the time of the restoring threads went; rates are of one thread while it does that. */
static void restoring(const struct replayer_figures *f)
{
	const double gb = (double)f->restored_bytes / 1e9,
		     file = (double)f->restore_file_bytes / 1e9;
	const double read = (double)f->restore_read_ns / 1e9,
		     unpack = (double)f->restore_unpack_ns / 1e9,
		     hash = (double)f->restore_hash_ns / 1e9;

	printf("    ms of all threads: open %.1f, read %.1f (%.2f GB at %.1f GB/s), decode %.1f (%.1f GB/s), hash %.1f (%.1f GB/s), wait for a slot %.1f, "
	       "submit %.1f; hash on the device at the end %.1f\n",
		ms(f->restore_open_ns), ms(f->restore_read_ns), file, read > 0 ? file / read : 0,
		ms(f->restore_unpack_ns), unpack > 0 ? gb / unpack : 0, ms(f->restore_hash_ns),
		hash > 0 ? gb / hash : 0, ms(f->restore_wait_ns), ms(f->restore_submit_ns),
		ms(f->restore_check_ns));
}

/* --- a program, recorded and executed again --- */

struct program {
	const char *name, *what;
	const char *soft, *real; /* arguments */
	double goal;		 /* of time over recorded span; 0: none is set */
};

/* From the first work's start to the last one's end, as recorded; launches only: copies from
 * pageable memory wait for the host. */
static double recorded_span(const struct run *x, unsigned *ret_launches)
{
	uint64_t start = UINT64_MAX, end = 0;
	struct sbt_cursor *cursor;
	const struct sbt_cmd *c;

	*ret_launches = 0;
	ok(sbt_cursor_open(&cursor, x->r));
	for (;;) {
		ok(sbt_cursor_next(cursor, &c));
		if (!c || c->seq > x->last)
			break;
		if (c->seq < x->first || (c->kind != SBT_LAUNCH && c->kind != SBT_GRAPH_LAUNCH) ||
			!c->gpu_end_ns)
			continue;
		++*ret_launches;
		start = c->gpu_start_ns < start ? c->gpu_start_ns : start;
		end = c->gpu_end_ns > end ? c->gpu_end_ns : end;
	}
	sbt_cursor_close(cursor);
	return end > start ? (double)(end - start) / 1e9 : 0;
}

static bool find(char *ret, size_t n, const char *build, const char *a, const char *b)
{
	snprintf(ret, n, "%s/%s", build, a);
	if (!access(ret, R_OK))
		return true;
	snprintf(ret, n, "%s/%s", build, b);
	return !access(ret, R_OK);
}

static bool record(const struct bench *b, const struct program *p, const char *trace)
{
	char program[4096], *command;
	bool good;

	if (!find(program, sizeof program, b->build, p->name, p->name))
		return false; /* built without nvcc */
	command = xasprintf(
		"'%s' record --gpu %s --timestamps --memory all --no-stacks -o '%s' -- '%s' %s >/dev/null 2>&1",
		b->tsdb, b->rates.soft ? "soft" : "real", trace, program,
		b->rates.soft ? p->soft : p->real);
	good = !system(command);
	if (!good)
		fprintf(stderr, "bench-replay: failed: %s\n", command);
	free(command);
	return good;
}

static void recorded(struct bench *b, const struct program *p)
{
	struct replayer_figures f;
	unsigned launches;
	struct replay_stop stop;
	char trace[4096];
	double best = 0;

	snprintf(trace, sizeof trace, "%s/bench-replay-program.sbt", b->dir);
	if (!record(b, p, trace)) {
		printf("  %s: not recorded\n", p->what);
		return;
	}
	struct run x = open_run(b, trace);
	const double span = recorded_span(&x, &launches);
	const double first = to_end(&x);
	f = figures(&x);
	printf("  %s: %u launches with times, recorded span %.2f ms\n", p->what, launches,
		span * 1e3);
	split(&x, &f, first, verify(b, &x));
	for (int i = 0; i < 3;
		i++) { /* and again, from the first checkpoint: those on the way are there by now */
		ok(replay_goto(x.p, 0, &stop));
		const double took = to_end(&x);

		best = !i || took < best ? took : best;
	}
	if (span > 0 && p->goal > 0)
		figure(b, first / span, false, p->goal, "time to execute / recorded span");
	else if (span > 0)
		printf("    %-58s %9.3f\n", "time to execute / recorded span", first / span);
	if (span > 0)
		printf("    %-58s %9.3f\n    %-58s %9.3f\n", "the same by the device's clock",
			(double)f.gpu_ns / 1e9 / span, "best of three more", best / span);
	close_run(&x);
	unlink(trace);
}

static void recorded_all(struct bench *b)
{
	static const struct program programs[] = {
		{"bench/bench-load", "one stream, launches of some 100 us", "1 40 20 2",
			"1 5000 20000 264", 1.05},
		{"bench/bench-load", "the same, and 16 MiB from pageable memory every 100 launches",
			"1 40 20 2 1", "1 5000 20000 264 16", 1.05},
		{"bench/bench-load", "three streams, launches of some 100 us", "3 60 20 2",
			"3 6000 20000 88", 1.05},
		{"bench/bench-load", "one stream, launches of some 10 us", "1 40 10 2",
			"1 10000 2000 132", 1.05},
		{"bench/bench-load", "10,000 launches of nothing, one stream", "1 200 0 1",
			"1 10000 0 1", 1.05},
		{"examples/tiny_launches", "tiny_launches, 10,000 of them", "200", "10000", 1.05},
		{"examples/matmul", "matmul as it is", "", "", 0},
		{"examples/transformer", "transformer as it is", "2", "32", 0},
	};

	printf("programs recorded and executed again\n");
	for (size_t i = 0; i < sizeof programs / sizeof *programs; i++)
		recorded(b, &programs[i]);
}

/* --- restoring, checkpoints --- */

static void checkpoints(struct bench *b, const struct run *x)
{
	const struct replayer_figures f = figures(x);
	struct replayer_figures g;
	uint64_t at = x->first;

	for (int i = 0; i < 4; i++) {
		at = x->first + (x->last - x->first) / 8 * (unsigned)i;
		ok(device_seek(x->d, at));
		ok(device_checkpoint(x->d));
	}
	g = figures(x);
	if (g.saved == f.saved || g.save_ns == f.save_ns) {
		printf("    no room for checkpoints\n");
		return;
	}
	figure(b,
		(double)(g.saved_bytes - f.saved_bytes) / (double)(g.save_ns - f.save_ns) * 1e9 /
			b->rates.across,
		true, 0.7, "checkpoint: rate / copying on the device");
	for (int i = 0; i < 4; i++)
		ok(device_seek(x->d, x->first + (x->last - x->first) / 8 * (unsigned)(3 - i)));
	const struct replayer_figures h = figures(x);
	if (h.back > g.back)
		figure(b,
			(double)(h.back_bytes - g.back_bytes) / (double)(h.back_ns - g.back_ns) *
				1e9 / b->rates.across,
			true, 0.7, "going back to one: rate / copying on the device");
	printf("    room for a checkpoint %.2f ms\n",
		(double)(g.room_ns - f.room_ns) / 1e6 / (double)(g.saved - f.saved));
}

static void restored(struct bench *b, enum contents contents)
{
	struct replay_trace t = {.contents = contents,
		.bytes = b->rates.soft ? 16 * MIB : 8 * GIB,
		.launches = b->rates.soft ? 64 : 1000,
		.iterations = 10,
		.blocks = 2,
		.large = b->rates.large,
		.small = b->rates.small};
	char path[4096];
	struct stat st;

	snprintf(path, sizeof path, "%s/bench-replay-restore.sbt", b->dir);
	const double begin = now();
	ok(replay_trace_write(&t, path));
	if (stat(path, &st))
		st.st_size = 0;
	printf("  %s, %" PRIu64 " MiB (%lld MiB in the trace, made in %.1f s)\n",
		contents_name[contents], t.bytes / MIB, (long long)st.st_size >> 20, now() - begin);
	struct run x = open_run(b, path);
	const struct replayer_figures f = figures(&x);
	const double rate = (double)f.restored_bytes / (double)f.restore_ns * 1e9;
	printf("    restored at %.1f GB/s\n", rate / 1e9);
	figure(b, rate / b->rates.up, true, 0.5, "restore: rate / pinned memory to the device");
	restoring(&f);
	if (contents == CONTENTS_WEIGHTS) {
		checkpoints(b, &x);
		const double run_s = to_end(&x), verify_s = verify(b, &x);
		const struct replayer_figures g = figures(&x);
		split(&x, &g, run_s, verify_s);
	}
	close_run(&x);
	if (contents == CONTENTS_WEIGHTS) { /* what it takes when the threads hash what they read */
		setenv("TSDB_REPLAYER_CHECK", "host", 1);
		x = open_run(b, path);
		unsetenv("TSDB_REPLAYER_CHECK");
		const struct replayer_figures g = figures(&x);

		printf("    the same, pages hashed on the host: %.1f GB/s\n",
			(double)g.restored_bytes / (double)g.restore_ns);
		restoring(&g);
		close_run(&x);
	}
	unlink(path);
}

/* --- backwards --- */

static int by_value(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

#define STEPS 200

static void tell_steps(struct bench *b, double *took, unsigned n, const char *what)
{
	qsort(took, n, sizeof *took, by_value);
	figure(b, took[n / 2] * 1e3, false, 100, what);
	printf("    %-58s %9.3f, most %.3f\n", "9 of 10 take at most", took[n * 9 / 10] * 1e3,
		took[n - 1] * 1e3);
}

static void backwards(
	struct bench *b, const char *what, uint64_t bytes, unsigned launches, unsigned iterations)
{
	struct replay_trace t = {.contents = CONTENTS_ZEROS,
		.bytes = bytes,
		.launches = launches,
		.iterations = iterations,
		.blocks = 2,
		.large = b->rates.large,
		.small = b->rates.small};
	const unsigned steps = b->rates.soft ? 20 : STEPS, jumps = b->rates.soft ? 5 : 40;
	double took[STEPS], gone[STEPS];
	struct replay_stop stop;
	uint64_t dice = 12345;
	char path[4096];

	snprintf(path, sizeof path, "%s/bench-replay-back.sbt", b->dir);
	ok(replay_trace_write(&t, path));
	struct run x = open_run(b, path);
	const double run_s = to_end(&x);
	printf("  %s: %u commands, %.1f ms to the end, %u checkpoints\n", what, launches,
		run_s * 1e3, figures(&x).checkpoints);
	for (unsigned i = 0; i < steps; i++) {
		const double begin = now();

		ok(replay_reverse_step(x.p, 1, &stop));
		took[i] = now() - begin;
	}
	printf("    the first one %.3f ms\n", took[0] * 1e3);
	tell_steps(b, took, steps, "reverse-step after reverse-step from the end: median, ms");
	for (unsigned i = 0; i < jumps; i++) {
		dice = dice * 6364136223846793005u + 1442695040888963407u;
		double begin = now();
		ok(replay_goto(x.p, x.first + 1 + (dice >> 33) % (x.last - x.first), &stop));
		gone[i] = now() - begin;
		begin = now();
		ok(replay_reverse_step(x.p, 1, &stop));
		took[i] = now() - begin;
	}
	tell_steps(b, took, jumps, "reverse-step at random places: median, ms");
	qsort(gone, jumps, sizeof *gone, by_value);
	printf("    %-58s %9.3f, most %.3f\n", "goto random places: median, ms",
		gone[jumps / 2] * 1e3, gone[jumps - 1] * 1e3);
	printf("    %u checkpoints\n", figures(&x).checkpoints);
	ok(replay_goto(x.p, x.last, &stop));
	printf("    all of it: compared in %.1f ms\n", verify(b, &x) * 1e3);
	close_run(&x);
	unlink(path);
}

/* --- replay check 10: against 15 times the window's own GPU time and the hashing, measured --- */

#define CHECK_RUNS 10u

/* ns of hashing, comparing and putting back are added to figures when how->timed is set. */
static double check_window(
	struct bench *b, const struct run *x, const struct replayer_check *how, unsigned launches)
{
	struct device_checked c;
	const double begin = now();

	ok(device_check(x->d, how, NULL, 0, &c));
	const double took = now() - begin;
	if (c.n || c.checked < launches || c.outside) {
		printf("    %zu differences, %" PRIu64 " launches checked, %" PRIu64
		       " times more was changed than expected\n",
			c.n, c.checked, c.outside);
		b->missed++;
	}
	device_checked_free(&c);
	return took;
}

/* The whole window again: the median of five. By the device's clock; the software GPU's events are
 * those of its threads, so there by the host's. */
static double own_time(const struct run *x, const struct replay_trace *t, bool soft)
{
	double took[5];

	for (unsigned i = 0; i < 5; i++) {
		const uint64_t before = figures(x).gpu_ns;

		ok(device_seek(x->d, t->first - 1));
		const double begin = now();
		ok(device_run(x->d, t->last, 0, 0, NULL));
		took[i] = soft ? now() - begin : (double)(figures(x).gpu_ns - before) / 1e9;
	}
	qsort(took, 5, sizeof *took, by_value);
	return took[2];
}

static void checking(struct bench *b, const char *what, unsigned launches, unsigned iterations)
{
	struct replay_trace t = {.contents = CONTENTS_ZEROS,
		.bytes = b->rates.soft ? MIB : 64 * MIB,
		.launches = launches,
		.iterations = iterations,
		.blocks = 2,
		.large = b->rates.large,
		.small = b->rates.small};
	struct replayer_check how = {.runs = CHECK_RUNS};
	char path[4096];

	snprintf(path, sizeof path, "%s/bench-replay-check.sbt", b->dir);
	ok(replay_trace_write(&t, path));
	struct run x = open_run(b, path);
	how.from = t.first;
	how.to = t.last;
	const double gpu = own_time(&x, &t, b->rates.soft);
	(void)check_window(b, &x, &how, launches);
	const double took = check_window(b, &x, &how, launches);
	how.timed = 1;
	const uint64_t before = figures(&x).settle_ns;
	const double timed = check_window(b, &x, &how, launches),
		     hashed = (double)(figures(&x).settle_ns - before) / 1e9;
	how.timed = 0;
	how.thorough = 1;
	const double thorough = check_window(b, &x, &how, launches);
	printf("  %-24s %7.2f %9.2f %9.2f %9.2f %9.2f %9.2f %9.1f%s\n", what, gpu * 1e3, took * 1e3,
		hashed * 1e3, (took - hashed) / gpu, took / gpu, thorough / gpu,
		took * 1e6 / launches / CHECK_RUNS,
		b->rates.soft		      ? ""
		: (took - hashed) / gpu <= 15 ? "  ok"
					      : "  MISSED");
	if (hashed > timed)
		printf("    hashing took longer than all of it: the device's clock is wrong\n");
	b->missed += !b->rates.soft && (took - hashed) / gpu > 15;
	fflush(stdout);
	close_run(&x);
	unlink(path);
}

static void checking_all(struct bench *b)
{
	const bool soft = b->rates.soft;

	printf("replay check %u of a window of %u launches; ms, but for the ratios to the window's own GPU time, and us for a repetition of a launch\n",
		CHECK_RUNS, soft ? 100 : 1000);
	printf("  %-24s %7s %9s %9s %9s %9s %9s %9s\n", "", "window", "checked", "hashing",
		"without", "with", "one by 1", "us each");
	checking(b, "tiny kernels", soft ? 100 : 1000, 10);
	checking(b, "kernels of some 10 us", soft ? 50 : 1000, 1500);
	checking(b, "kernels of some 100 us", soft ? 20 : 1000, 15000);
}

/* --- other orders of the two-stream example: what `tsdb explore` itself says --- */

static void exploring(const struct bench *b)
{
	char race[4096], command[20000], line[512];
	FILE *f;

	snprintf(race, sizeof race, "%s/examples/race_demo", b->build);
	if (access(race, X_OK))
		return;
	snprintf(command, sizeof command,
		"cd '%s' && '%s' record -o bench-replay-race.sbt '%s' >/dev/null 2>&1; '%s' explore bench-replay-race.sbt --budget 1000 --no-save;"
		" rm -f bench-replay-race.sbt",
		b->dir, b->tsdb, race, b->tsdb);
	f = popen(command, "r");
	while (f && fgets(line, sizeof line, f))
		if (strstr(line, "schedules executed"))
			printf("  %s", line);
	if (f)
		pclose(f);
}

int main(int argc, char **argv)
{
	static struct bench b;
	const char *build = getenv("TSDB_BUILD"), *tmp = getenv("TMPDIR");

	const bool check_only = argc > 1 && !strcmp(argv[1], "--check");

	argc -= check_only;
	argv += check_only;
	snprintf(b.build, sizeof b.build, "%s", build ? build : ".");
	snprintf(b.dir, sizeof b.dir, "%s", argc > 1 ? argv[1] : tmp && *tmp ? tmp : "/tmp");
	if (!find(b.replayer, sizeof b.replayer, b.build, "tsdb-replayer",
		    "lib/tsdb/tsdb-replayer") ||
		!find(b.softgpu, sizeof b.softgpu, b.build, "softgpu", "lib/tsdb/softgpu") ||
		!find(b.tsdb, sizeof b.tsdb, b.build, "bin/tsdb", "tsdb")) {
		fprintf(stderr, "bench-replay: no tsdb in %s: set TSDB_BUILD\n", b.build);
		return 2;
	}
	b.rates = measure_apart();
	printf("device: %s; pinned memory to the device %.1f GB/s, on the device %.1f GB/s\n",
		b.rates.soft ? "the software GPU" : "a GPU", b.rates.up / 1e9,
		b.rates.across / 1e9);
	if (check_only) {
		checking_all(&b);
		return b.missed != 0;
	}
	recorded_all(&b);
	printf("the window's start restored from the trace, checkpoints\n");
	for (unsigned i = 0; i < CONTENTS_END; i++)
		restored(&b, (enum contents)i);
	printf("backwards\n");
	if (b.rates.soft) {
		backwards(&b, "short launches", 4 * MIB, 300, 4);
	} else {
		backwards(&b, "short launches, 1 GiB", GIB, 10000, 10);
		backwards(&b, "launches of some 0.3 ms, 1 GiB", GIB, 10000, 50000);
		backwards(&b, "launches of some 0.3 ms, 8 GiB", 8 * GIB, 10000, 50000);
	}
	checking_all(&b);
	printf("explore race_demo\n");
	exploring(&b);
	printf("%u figures missed\n", b.missed);
	return b.missed != 0;
}
