/* SPDX-License-Identifier: Apache-2.0
 *
 * The agent as it is loaded: this program acts as tsdb and runs itself under the software GPU, with
 * libtsdb-agent.so named in the environment. The child's GPU program is the function child(): what
 * it does is in the rings, record by record.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <nvtx3/nvToolsExt.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>
#include <cuda.h>
#include "capture/wire.h"
#include "sbt/cmd-pack.h"

#define RING_BYTES (1u << 20)
#define THREADS 4
#define PER_THREAD 2000
#define MANY 10000 /* fills of about 150 bytes: more than a ring holds */

/* --- the child --- */

static struct {
	__typeof__(&cuInit) init;
	__typeof__(&cuDevicePrimaryCtxRetain) retain;
	__typeof__(&cuCtxSetCurrent) set_current;
	__typeof__(&cuMemAlloc) alloc;
	__typeof__(&cuMemFree) free;
	__typeof__(&cuMemsetD32Async) fill;
	__typeof__(&cuMemcpyDtoH) d2h;
	__typeof__(&cuMemcpyHtoDAsync) h2d;
	__typeof__(&cuStreamCreate) stream;
	__typeof__(&cuStreamSynchronize) sync;
	__typeof__(&cuEventCreate) event;
	__typeof__(&cuEventRecord) record;
	__typeof__(&cuStreamWaitEvent) wait;
} cu;

static void must(CUresult r, const char *what)
{
	if (!r)
		return;
	fprintf(stderr, "child: %s: %d\n", what, (int)r);
	_exit(3);
}
#define MUST(x) must(x, #x)

static CUdeviceptr memory;

static void find(void)
{
	void *lib = dlopen("libcuda.so.1", RTLD_NOW);
	if (!lib)
		_exit(4);
#define FIND(member, name) cu.member = (__typeof__(cu.member))(uintptr_t)dlsym(lib, name)
	FIND(init, "cuInit");
	FIND(retain, "cuDevicePrimaryCtxRetain");
	FIND(set_current, "cuCtxSetCurrent");
	FIND(alloc, "cuMemAlloc_v2");
	FIND(free, "cuMemFree_v2");
	FIND(fill, "cuMemsetD32Async");
	FIND(d2h, "cuMemcpyDtoH_v2");
	FIND(h2d, "cuMemcpyHtoDAsync_v2");
	FIND(stream, "cuStreamCreate");
	FIND(sync, "cuStreamSynchronize");
	FIND(event, "cuEventCreate");
	FIND(record, "cuEventRecord");
	FIND(wait, "cuStreamWaitEvent");
#undef FIND
}

static CUcontext begin(void)
{
	CUcontext ctx;
	find();
	MUST(cu.init(0));
	MUST(cu.retain(&ctx, 0));
	MUST(cu.set_current(ctx));
	return ctx;
}

static int child_plain(void)
{
	static uint32_t host[256];
	CUstream a, b;
	CUevent e;
	nvtxMarkA("before cuInit");
	begin();
	MUST(cu.alloc(&memory, 1024));
	MUST(cu.stream(&a, CU_STREAM_NON_BLOCKING));
	MUST(cu.stream(&b, CU_STREAM_NON_BLOCKING));
	MUST(cu.event(&e, CU_EVENT_DEFAULT));
	nvtxRangePushA("phase");
	MUST(cu.fill(memory, 0x11223344, 256, a));
	MUST(cu.record(e, a));
	nvtxRangePop();
	MUST(cu.wait(b, e, 0));
	MUST(cu.fill(memory, 0x55667788, 128, b));
	MUST(cu.sync(b));
	MUST(cu.d2h(host, memory, 1024));
	MUST(cu.free(memory));
	if (cu.free(12345) == CUDA_SUCCESS)
		return 5;
	return host[0] == 0x55667788 && host[255] == 0x11223344 ? 7 : 6;
}

static void *one_of_many(void *ctx)
{
	CUstream s;
	MUST(cu.set_current(ctx));
	MUST(cu.stream(&s, CU_STREAM_NON_BLOCKING));
	for (unsigned i = 0; i < PER_THREAD; i++)
		MUST(cu.fill(memory, i, 4, s));
	MUST(cu.sync(s));
	return NULL;
}

static int child_threads(void)
{
	pthread_t t[THREADS];
	CUcontext ctx = begin();
	MUST(cu.alloc(&memory, 1024));
	for (unsigned i = 0; i < THREADS; i++)
		if (pthread_create(&t[i], NULL, one_of_many, ctx))
			return 1;
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	return 7;
}

static int child_many(void)
{
	begin();
	MUST(cu.alloc(&memory, 1024));
	for (unsigned i = 0; i < MANY; i++)
		MUST(cu.fill(memory, i, 4, NULL));
	return 7;
}

/* What was published before the process was killed is there. */
static int child_killed(void)
{
	begin();
	MUST(cu.alloc(&memory, 1024));
	kill(getpid(), SIGKILL);
	return 1;
}

/* A forked child goes on without the agent; so does a program that it runs. */
static int child_forks(void)
{
	int status;
	begin();
	MUST(cu.alloc(&memory, 1024));
	pid_t pid = fork();
	if (!pid) {
		CUdeviceptr p;
		(void)cu.alloc(&p, 4096); /* whatever the driver says */
		_exit(0);
	}
	if (waitpid(pid, &status, 0) != pid)
		return 1;
	MUST(cu.free(memory));
	return 7;
}

/* A program that the program runs has the same environment, and is not the inferior. */
static int child_spawns(void)
{
	int status;
	begin();
	pid_t other = fork();
	if (!other) {
		execl("/proc/self/exe", "plain", "plain", NULL);
		_exit(9);
	}
	return waitpid(other, &status, 0) == other && WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

/* The program subscribes to CUPTI before the driver starts. */
static int child_cupti(void)
{
	void *handle = NULL;
	void *lib = dlopen("libcupti.so.13", RTLD_NOW);
	int (*subscribe)(void **, void *, void *) =
		lib ? (int (*)(void **, void *, void *))(uintptr_t)dlsym(lib, "cuptiSubscribe")
		    : NULL;
	if (!subscribe || subscribe(&handle, (void *)(uintptr_t)abort, NULL))
		return 1;
	begin();
	MUST(cu.alloc(&memory, 1024));
	return 7;
}

/* --- the debugger's side --- */

static struct tsdb_control *control;
static const uint8_t *rings;
static int fd;
static char self[4096];
static pid_t pid;

static void run(const char *what, void (*configure)(void))
{
	char path[64], folder[4096], agent[4096];
	const char *build = getenv("TSDB_BUILD");
	int go[2];
	fd = memfd_create("control", MFD_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, (off_t)tsdb_wire_bytes(RING_BYTES)), 0);
	control = mmap(NULL, tsdb_wire_bytes(RING_BYTES), PROT_READ | PROT_WRITE,
		MAP_SHARED | MAP_NORESERVE, fd, 0);
	assert_true(control != MAP_FAILED);
	rings = (const uint8_t *)control + tsdb_ring_offset(RING_BYTES, 0);
	control->magic = TSDB_WIRE_MAGIC;
	control->version = TSDB_WIRE_VERSION;
	control->bytes = tsdb_wire_bytes(RING_BYTES);
	control->ring_bytes = RING_BYTES;
	control->debugger_pid = (uint32_t)getpid();
	control->on = control->code = control->stacks = 1;
	if (configure)
		configure();
	snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)getpid(), fd);
	snprintf(folder, sizeof(folder), "%s/softgpu", build ? build : ".");
	snprintf(agent, sizeof(agent), "%s/libtsdb-agent.so", build ? build : ".");
	assert_int_equal(pipe(go), 0);
	pid = fork();
	if (!pid) {
		char c;
		setenv("TSDB_CONTROL", path, 1);
		setenv("LD_LIBRARY_PATH", folder, 1);
		setenv("CUDA_INJECTION64_PATH", agent, 1);
		setenv("NVTX_INJECTION64_PATH", agent, 1);
		if (read(go[0], &c, 1) == 1)
			execl(self, self, what, NULL);
		_exit(9);
	}
	control->pid = (uint32_t)pid;
	assert_int_equal(write(go[1], "x", 1), 1);
	close(go[0]);
	close(go[1]);
}

static int finish(void)
{
	int status;
	assert_int_equal(waitpid(pid, &status, 0), pid);
	close(fd);
	return status;
}

static void expect_exit(int code)
{
	const int status = finish();
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), code);
}

/* The next record of ring i at *at; NULL at the end. */
static const struct tsdb_msg_head *next(unsigned i, uint64_t *at)
{
	if (*at == control->ring[i].head)
		return NULL;
	assert_true(control->ring[i].head <= RING_BYTES); /* these tests never fill one */
	const struct tsdb_msg_head *h = (const void *)(rings + (uint64_t)RING_BYTES * i + *at);
	*at += h->size;
	return h;
}

static bool next_cmd(unsigned i, uint64_t *at, struct sbt_cmd *ret)
{
	const struct tsdb_msg_head *h;
	while ((h = next(i, at)))
		if (h->type < 0x8000) {
			assert_int_equal(sbt_unpack(ret, h, h->size), h->size);
			return true;
		}
	return false;
}

static struct sbt_cmd expect(uint64_t *at, unsigned kind)
{
	struct sbt_cmd c = {0};
	assert_true(next_cmd(0, at, &c));
	assert_int_equal(c.kind, kind);
	return c;
}

static void every_call_is_a_record(void **state)
{
	uint64_t at = 0;
	run("plain", NULL);
	expect_exit(7);
	assert_int_equal(control->agent_state, TSDB_AGENT_UP);
	struct sbt_cmd c = expect(&at, SBT_MARK);
	assert_memory_equal(c.u.mark.text.p, "before cuInit", 13);
	c = expect(&at, SBT_DEVICE);
	assert_int_equal(c.u.device.soft, 1);
	c = expect(&at, SBT_THREAD);
	assert_int_equal(c.u.thread.os_tid, pid);
	c = expect(&at, SBT_CTX_CREATE);
	assert_int_equal(c.u.ctx_create.primary, 1);
	assert_int_equal(c.u.ctx_create.default_stream, 0);
	assert_int_not_equal(c.stack, 0);
	expect(&at, SBT_CTX_SET);
	c = expect(&at, SBT_ALLOC);
	const uint64_t addr = c.u.alloc.addr;
	assert_int_equal(c.u.alloc.size, 1024);
	const uint64_t a = expect(&at, SBT_STREAM_CREATE).u.stream_create.new_stream;
	const uint64_t b = expect(&at, SBT_STREAM_CREATE).u.stream_create.new_stream;
	const uint64_t e = expect(&at, SBT_EVENT_CREATE).u.event_create.new_event;
	assert_int_equal(expect(&at, SBT_MARK).u.mark.mark_kind, 1);
	c = expect(&at, SBT_FILL);
	assert_int_equal(c.u.fill.stream, a);
	assert_int_equal(c.u.fill.dst, addr);
	assert_int_equal(c.u.fill.value, 0x11223344);
	c = expect(&at, SBT_EVENT_RECORD);
	assert_int_equal(c.u.event_record.event, e);
	assert_int_equal(c.u.event_record.stream, a);
	assert_int_equal(expect(&at, SBT_MARK).u.mark.mark_kind, 2);
	assert_int_equal(expect(&at, SBT_STREAM_WAIT).u.stream_wait.stream, b);
	assert_int_equal(expect(&at, SBT_FILL).u.fill.size, 512);
	c = expect(&at, SBT_SYNC);
	assert_int_equal(c.u.sync.stream, b);
	assert_int_equal(expect(&at, SBT_SYNC_END).u.sync_end.begin, c.seq);
	c = expect(&at, SBT_COPY);
	assert_int_equal(c.u.copy.dir, SBT_COPY_D2H);
	assert_int_equal(c.u.copy.src, addr);
	assert_int_equal(expect(&at, SBT_FREE).u.free.addr, addr);
	c = expect(&at, SBT_FREE); /* of 12345 */
	assert_int_equal(c.result, CUDA_ERROR_INVALID_VALUE);
	assert_false(next_cmd(0, &at, &c));
	assert_int_equal(control->lost, 0);
	assert_int_equal(control->ring[0].lost, 0);
}

static void threads_keep_their_order(void **state)
{
	static bool seen[1 << 17];
	uint64_t fills = 0, most = 0;
	run("threads", NULL);
	expect_exit(7);
	memset(seen, 0, sizeof(seen));
	/* Ended threads have closed their rings; nobody freed a slot meanwhile, so each has its
	 * own. */
	for (unsigned i = 0; i <= THREADS; i++) {
		uint64_t at = 0, last = 0;
		struct sbt_cmd c;
		assert_int_equal(control->ring[i].state, i ? TSDB_RING_CLOSED : TSDB_RING_USED);
		while (next_cmd(i, &at, &c)) {
			assert_true(c.seq > last);
			last = c.seq;
			assert_true(c.seq < sizeof(seen) && !seen[c.seq]);
			seen[c.seq] = true;
			most = c.seq > most ? c.seq : most;
			fills += c.kind == SBT_FILL;
		}
	}
	assert_int_equal(fills, THREADS * PER_THREAD);
	for (uint64_t s = 1; s <= most; s++)
		assert_true(seen[s]);
	assert_int_equal(control->next_seq, most + 1);
}

static void a_kill_loses_nothing(void **state)
{
	struct sbt_cmd c = {0};
	uint64_t at = 0;
	run("killed", NULL);
	const int status = finish();
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	while (next_cmd(0, &at, &c) && c.kind != SBT_ALLOC)
		;
	assert_int_equal(c.kind, SBT_ALLOC);
}

static void forked_children_are_not_recorded(void **state)
{
	struct sbt_cmd c;
	uint64_t at = 0;
	unsigned allocs = 0, frees = 0;
	run("forks", NULL);
	expect_exit(7);
	while (next_cmd(0, &at, &c)) {
		allocs += c.kind == SBT_ALLOC;
		frees += c.kind == SBT_FREE;
	}
	assert_int_equal(allocs, 1);
	assert_int_equal(frees, 1);
	assert_int_equal(control->ring[1].head, 0);
}

static void spawned_programs_are_not_recorded(void **state)
{
	struct sbt_cmd c;
	uint64_t at = 0;
	run("spawns", NULL);
	expect_exit(7); /* it ran well, and without us */
	while (next_cmd(0, &at, &c))
		assert_true(c.kind != SBT_ALLOC && c.kind != SBT_MARK);
	assert_int_equal(control->ring[1].head, 0);
}

static void cupti_in_use_is_refused(void **state)
{
	run("cupti", NULL);
	expect_exit(7);
	assert_int_equal(control->agent_state, TSDB_AGENT_REFUSED);
	assert_non_null(strstr(control->text, "CUPTI"));
	assert_int_equal(control->ring[0].head, 0);
}

static void timestamps_on(void)
{
	control->timestamps = 1;
}

/* Every fill has its time, told by correlation id, and the times make sense. */
static void times_are_delivered(void **state)
{
	uint32_t fills[8];
	unsigned n = 0, timed = 0;
	struct sbt_cmd c;
	uint64_t at = 0, first_ns = 0;
	run("plain", timestamps_on);
	expect_exit(7);
	while (next_cmd(0, &at, &c))
		if (c.kind == SBT_FILL) {
			assert_true(n < 8 && c.corr);
			fills[n++] = c.corr;
			if (!first_ns)
				first_ns = c.host_ns;
		}
	assert_int_equal(n, 2);
	for (unsigned i = 0; i < tsdb_rings(control); i++) {
		const struct tsdb_msg_head *h;
		for (at = 0; (h = next(i, &at));) {
			const struct tsdb_msg_time *m = (const void *)h;
			if (h->type != TSDB_MSG_TIME)
				continue;
			assert_true(m->end_ns >= m->start_ns);
			for (unsigned k = 0; k < n; k++)
				if (fills[k] == m->corr) {
					timed++;
					assert_true(m->start_ns + 1000000 > first_ns);
				}
		}
	}
	assert_int_equal(timed, 2);
}

static void window_of_phase(void)
{
	strcpy(control->window.glob, "phase");
	control->window.kind = TSDB_WINDOW_NVTX;
	control->stacks = 2;
}

/* From the push of the range called "phase" to its pop, and stacks there only. */
static void an_nvtx_window(void **state)
{
	struct sbt_cmd c;
	uint64_t at = 0;
	unsigned fills = 0, in_window = 0;
	run("plain", window_of_phase);
	expect_exit(7);
	while (next_cmd(0, &at, &c)) {
		const bool inside = c.kind == SBT_EVENT_RECORD || (c.kind == SBT_FILL && !fills);
		fills += c.kind == SBT_FILL;
		in_window += inside;
		/* the range's own two marks, too */
		const bool range = c.kind == SBT_MARK && c.u.mark.mark_kind != 0;
		assert_int_equal(!!(c.flags & SBT_F_WINDOW), inside || range);
		assert_int_equal(c.stack != 0, inside);
	}
	assert_int_equal(in_window, 2);
	assert_int_equal(control->window.state, TSDB_WINDOW_DONE);
	assert_true(control->window.opened_seq &&
		    control->window.closed_seq >= control->window.opened_seq);
}

static void drop_when_full(void)
{
	control->on_full = TSDB_FULL_DROP;
	control->stacks = 0;
}

/* Nobody reads: what does not fit is counted, and the program does not wait. */
static void a_full_ring_counts_what_it_drops(void **state)
{
	struct sbt_cmd c;
	uint64_t at = 0, fills = 0, lost = 0;
	run("many", drop_when_full);
	expect_exit(7);
	while (next_cmd(0, &at, &c))
		fills += c.kind == SBT_FILL;
	lost = control->ring[0].lost;
	assert_true(fills < MANY && lost > 0);
	assert_true(fills + lost >= MANY && fills + lost <= MANY + 8);
}

/* The program's own frames, by the file they are in. */
static void stacks_are_of_the_program(void **state)
{
	const struct tsdb_msg_head *h;
	uint64_t at = 0, start = 0, end = 0;
	unsigned stacks = 0;
	run("plain", NULL);
	expect_exit(7);
	while ((h = next(0, &at))) {
		const struct tsdb_msg_mapping *m = (const void *)h;
		const struct tsdb_msg_stack *s = (const void *)h;
		if (h->type == TSDB_MSG_MAPPING) {
			assert_null(memmem(m->path, m->n, "libcuda.so", 10));
			assert_null(memmem(m->path, m->n, "libtsdb-agent", 13));
			if (m->n == strlen(self) && !memcmp(m->path, self, m->n)) {
				start = m->start;
				end = m->end;
			}
		} else if (h->type == TSDB_MSG_STACK) {
			stacks++;
			assert_true(s->n >= 2);
			assert_true(
				s->pcs[0] > start &&
				s->pcs[0] <= end); /* the caller of the driver is this program */
		}
	}
	assert_true(stacks >= 10);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		int (*fn)(void);
	} children[] = {{"plain", child_plain}, {"threads", child_threads},
		{"killed", child_killed}, {"forks", child_forks}, {"cupti", child_cupti},
		{"many", child_many}, {"spawns", child_spawns}};
	for (unsigned i = 0; argc > 1 && i < sizeof(children) / sizeof(*children); i++)
		if (!strcmp(argv[1], children[i].name))
			return children[i].fn();
	const ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	self[n > 0 ? n : 0] = '\0';
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_call_is_a_record),
		cmocka_unit_test(threads_keep_their_order),
		cmocka_unit_test(a_kill_loses_nothing),
		cmocka_unit_test(forked_children_are_not_recorded),
		cmocka_unit_test(spawned_programs_are_not_recorded),
		cmocka_unit_test(cupti_in_use_is_refused),
		cmocka_unit_test(times_are_delivered),
		cmocka_unit_test(an_nvtx_window),
		cmocka_unit_test(a_full_ring_counts_what_it_drops),
		cmocka_unit_test(stacks_are_of_the_program),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
