/* SPDX-License-Identifier: Apache-2.0
 *
 * Recording of memory, end to end: this program runs itself with libtsdb-agent.so on the software
 * GPU, and is the debugger that empties the bulk slots. What arrives is compared with what the
 * child computed by itself.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <cuda.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <nvtx3/nvToolsExt.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "capture/pipeline/bulk.h"
#include "capture/wire.h"
#include "sbt/cmd.h"
#include "sbt/cmd-pack.h"

#define RING_BYTES (1u << 20)
#define BIG (3u * 1024 * 1024 + 4096 + 12)
#define THREADS 3

/* --- children --- */

static struct {
	__typeof__(&cuInit) init;
	__typeof__(&cuDevicePrimaryCtxRetain) retain;
	__typeof__(&cuCtxSetCurrent) set_current;
	__typeof__(&cuMemAlloc) alloc;
	__typeof__(&cuMemAllocHost) alloc_host;
	__typeof__(&cuMemFree) free;
	__typeof__(&cuMemsetD32Async) fill;
	__typeof__(&cuMemcpyDtoH) d2h;
	__typeof__(&cuMemcpyDtoHAsync) d2h_async;
	__typeof__(&cuMemcpyHtoD) h2d;
	__typeof__(&cuMemcpyHtoDAsync) h2d_async;
	__typeof__(&cuMemcpy2D) copy_2d;
	__typeof__(&cuStreamCreate) stream;
	__typeof__(&cuStreamSynchronize) sync;
	__typeof__(&cuModuleLoadData) load;
	__typeof__(&cuModuleGetFunction) function;
	__typeof__(&cuModuleGetGlobal) global;
	__typeof__(&cuLaunchKernel) launch;
	__typeof__(&cuCtxSynchronize) ctx_sync;
	__typeof__(&cuStreamBeginCapture) begin_capture;
	__typeof__(&cuStreamEndCapture) end_capture;
	__typeof__(&cuGraphInstantiateWithFlags) instantiate;
	__typeof__(&cuGraphLaunch) launch_graph;
} cu;

static void must(CUresult r, const char *what)
{
	if (!r)
		return;
	fprintf(stderr, "child: %s: %d\n", what, (int)r);
	_exit(3);
}
#define MUST(x) must(x, #x)

static CUcontext begin(void)
{
	CUcontext ctx;
	void *lib = dlopen("libcuda.so.1", RTLD_NOW);
	if (!lib)
		_exit(4);
#define FIND(member, name) cu.member = (__typeof__(cu.member))(uintptr_t)dlsym(lib, name)
	FIND(init, "cuInit");
	FIND(retain, "cuDevicePrimaryCtxRetain");
	FIND(set_current, "cuCtxSetCurrent");
	FIND(alloc, "cuMemAlloc_v2");
	FIND(alloc_host, "cuMemAllocHost_v2");
	FIND(free, "cuMemFree_v2");
	FIND(fill, "cuMemsetD32Async");
	FIND(d2h, "cuMemcpyDtoH_v2");
	FIND(d2h_async, "cuMemcpyDtoHAsync_v2");
	FIND(h2d, "cuMemcpyHtoD_v2");
	FIND(h2d_async, "cuMemcpyHtoDAsync_v2");
	FIND(copy_2d, "cuMemcpy2D_v2");
	FIND(stream, "cuStreamCreate");
	FIND(sync, "cuStreamSynchronize");
	FIND(load, "cuModuleLoadData");
	FIND(function, "cuModuleGetFunction");
	FIND(global, "cuModuleGetGlobal_v2");
	FIND(launch, "cuLaunchKernel");
	FIND(ctx_sync, "cuCtxSynchronize");
	FIND(begin_capture, "cuStreamBeginCapture_v2");
	FIND(end_capture, "cuStreamEndCapture");
	FIND(instantiate, "cuGraphInstantiateWithFlags");
	FIND(launch_graph, "cuGraphLaunch");
#undef FIND
	MUST(cu.init(0));
	MUST(cu.retain(&ctx, 0));
	MUST(cu.set_current(ctx));
	return ctx;
}

static uint8_t pattern(size_t i)
{
	return (uint8_t)(i * 7 + (i >> 9));
}

static uint8_t host[BIG];

static void fill_host(void)
{
	for (size_t i = 0; i < BIG; i++)
		host[i] = pattern(i);
}

/* The whole run is a window. */
static int child_copies(void)
{
	static uint8_t back[BIG], other[4096];
	CUdeviceptr p;
	CUstream s;
	begin();
	fill_host();
	MUST(cu.alloc(&p, BIG));
	MUST(cu.stream(&s, CU_STREAM_NON_BLOCKING));
	MUST(cu.h2d(p, host, BIG));
	host[0]++; /* what the copy took is not what is there later */
	MUST(cu.d2h(back, p, BIG));
	MUST(cu.fill(p, 0x01020304, 1024, s));
	MUST(cu.d2h_async(other, p, 4096, s));
	MUST(cu.sync(s));
	CUDA_MEMCPY2D m = {.srcMemoryType = CU_MEMORYTYPE_HOST,
		.srcHost = host,
		.srcPitch = 256,
		.dstMemoryType = CU_MEMORYTYPE_DEVICE,
		.dstDevice = p,
		.dstPitch = 512,
		.srcXInBytes = 16,
		.srcY = 2,
		.WidthInBytes = 100,
		.Height = 3};
	MUST(cu.copy_2d(&m));
	return 7;
}

/* What is alive when a window opens is recorded as it was then. */
static int child_window(void)
{
	CUdeviceptr p, gone, zero;
	begin();
	fill_host();
	MUST(cu.alloc(&p, BIG));
	MUST(cu.alloc(&gone, 4096));
	MUST(cu.alloc(&zero, 100));
	MUST(cu.h2d(p, host, BIG));
	MUST(cu.fill(zero, 0, 25, NULL));
	MUST(cu.free(gone));
	nvtxRangePushA("phase");
	MUST(cu.fill(p, 0xffffffff, BIG / 4, NULL));
	MUST(cu.free(zero));
	nvtxRangePop();
	MUST(cu.fill(p, 0x11111111, BIG / 4, NULL));
	return 7;
}

static int child_exits(void)
{
	CUdeviceptr p[4];
	begin();
	for (unsigned i = 0; i < 4; i++) {
		MUST(cu.alloc(&p[i], 24u << 20));
		MUST(cu.fill(p[i], i + 1, 6u << 20, NULL));
	}
	nvtxRangePushA("phase");
	MUST(cu.fill(p[0], 99, 1, NULL));
	exit(7); /* in the window, and in the middle of sending */
}

static int child_forks(void)
{
	int status;
	CUdeviceptr p;
	begin();
	MUST(cu.alloc(&p, 4096));
	MUST(cu.fill(p, 5, 1024, NULL));
	pid_t other = fork();
	if (!other)
		exit(0); /* its exit ends nothing */
	if (waitpid(other, &status, 0) != other || !WIFEXITED(status))
		return 1;
	MUST(cu.fill(p, 6, 1024, NULL));
	return 7;
}

static struct tsdb_control
	*child_control; /* the child's own view of the debugger's memory, to know when to go on */

static void see_control(void)
{
	const char *path = getenv("TSDB_CONTROL");
	int file = open(path ? path : "", O_RDWR | O_CLOEXEC);
	child_control =
		mmap(NULL, sizeof(*child_control), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	close(file);
}

static CUdeviceptr of_thread[THREADS];
static _Atomic uint32_t stop_threads;

static _Atomic unsigned fills_done;

/* However slow the machine is. */
static void wait_for_fills(unsigned n)
{
	const unsigned from = atomic_load(&fills_done);
	while (atomic_load(&fills_done) - from < n)
		usleep(1000);
}

static void *fill_on_and_on(void *arg)
{
	CUdeviceptr *p = arg;
	CUstream s;
	MUST(cu.stream(&s, CU_STREAM_NON_BLOCKING));
	for (uint32_t i = 1; !atomic_load(&stop_threads); i++) {
		MUST(cu.fill(*p, i, 4096, s));
		atomic_fetch_add(&fills_done, 1);
		if (i % 64 == 0)
			MUST(cu.sync(s));
	}
	return NULL;
}

/* Threads give work all the time while a window begins. */
static void *with_ctx(void *arg)
{
	CUcontext ctx;
	MUST(cu.retain(&ctx, 0));
	MUST(cu.set_current(ctx));
	return fill_on_and_on(arg);
}

static int child_threads(void)
{
	pthread_t t[THREADS];
	void *big; /* its copy takes long enough for others to get between, if they could */
	begin();
	see_control();
	MUST(cu.alloc_host(&big, 32u << 20));
	for (unsigned i = 0; i < THREADS; i++) {
		MUST(cu.alloc(&of_thread[i], 16384));
		MUST(cu.fill(of_thread[i], 0, 4096, NULL));
	}
	MUST(cu.ctx_sync());
	for (unsigned i = 0; i < THREADS; i++)
		if (pthread_create(&t[i], NULL, with_ctx, &of_thread[i]))
			return 1;
	wait_for_fills(100);
	atomic_store(&child_control->capture_all, 1);
	while (!atomic_load(&child_control->pause_ns))
		usleep(1000);
	wait_for_fills(500);
	atomic_store(&child_control->capture_all, 0);
	wait_for_fills(100);
	atomic_store(&stop_threads, 1);
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	MUST(cu.ctx_sync());
	return 7;
}

static const char ptx[] =
	".version 7.0\n.target sm_70\n.address_size 64\n"
	"// a comment; with .global .u32 nothing;\n"
	".visible .global .align 4 .u32 counter;\n"
	".global .align 4 .b8 table[8] = {1, 2, 3, 4, 5, 6, 7, 8};\n"
	".visible .entry add(.param .u64 at)\n{\n"
	"	.reg .b64 %rd<4>;\n	.reg .b32 %r<4>;\n"
	"	ld.param.u64 %rd1, [at];\n	cvta.to.global.u64 %rd1, %rd1;\n"
	"	ld.global.u32 %r1, [%rd1];\n	add.u32 %r1, %r1, 1;\n	st.global.u32 [%rd1], %r1;\n"
	"	ld.global.u32 %r2, [counter];\n	add.u32 %r2, %r2, 1;\n	st.global.u32 [counter], %r2;\n"
	"	ret;\n}\n";

/* Pinned memory that the program writes without a call; a module's globals. */
static int child_kernel(void)
{
	CUmodule m;
	CUfunction f;
	uint32_t *pinned;
	CUdeviceptr p, other;
	begin();
	MUST(cu.load(&m, ptx));
	MUST(cu.function(&f, m, "add"));
	MUST(cu.alloc_host((void **)&pinned, 3 * SBT_PAGE));
	MUST(cu.alloc(&p, 4096));
	MUST(cu.alloc(&other, 4096));
	MUST(cu.fill(p, 10, 1024, NULL));
	MUST(cu.fill(other, 11, 1024, NULL));
	memset(pinned, 1, 3 * SBT_PAGE);
	void *args[] = {&p};
	MUST(cu.launch(f, 1, 1, 1, 1, 1, 1, 0, NULL, args, NULL)); /* counter is 1 */
	MUST(cu.ctx_sync());
	nvtxRangePushA("phase");
	MUST(cu.launch(f, 1, 1, 1, 1, 1, 1, 0, NULL, args, NULL));
	pinned[SBT_PAGE / 4] = 77;
	MUST(cu.launch(f, 1, 1, 1, 1, 1, 1, 0, NULL, args, NULL));
	nvtxRangePop();
	return 7;
}

/* A graph's copies read and write the host when it is launched. */
static int child_graph(void)
{
	static uint8_t back[4096];
	CUdeviceptr p;
	CUstream s;
	CUgraph g;
	CUgraphExec e;
	begin();
	MUST(cu.alloc(&p, 4096));
	MUST(cu.stream(&s, CU_STREAM_NON_BLOCKING));
	MUST(cu.begin_capture(s, CU_STREAM_CAPTURE_MODE_GLOBAL));
	MUST(cu.h2d_async(p, host, 4096, s));
	MUST(cu.d2h_async(back, p, 4096, s));
	MUST(cu.end_capture(s, &g));
	MUST(cu.instantiate(&e, g, 0));
	for (unsigned i = 1; i <= 2; i++) {
		memset(host, (int)i, 4096);
		MUST(cu.launch_graph(e, s));
		MUST(cu.sync(s));
	}
	return back[4095] == 2 ? 7 : 6;
}

/* --- the debugger's side --- */

#define PIECES_MAX 256
struct got {
	struct tsdb_bulk head; /* of the first slot */
	uint8_t *bytes;
	uint64_t n;
	bool whole, hash_only, cut;
};
static struct got pieces[PIECES_MAX];
static unsigned npieces;
static struct tsdb_control *control;
static uint64_t next_ticket, ring_at[TSDB_RING_COUNT];
static char self[4096];
static pid_t pid;
static int fd;

/* What came through the rings. */
static struct {
	uint64_t first, last, complete, begins, ends;
	struct {
		uint64_t seq, dst, value;
	} fill[1 << 20]; /* every one */
	unsigned nfills;
	struct sbt_cmd cmd[512];
	unsigned n;
} seen;

/* Pages that were sent, as tsdb keeps them. */
static struct {
	struct sbt_hash hash;
	uint32_t n;
	uint8_t bytes[SBT_PAGE];
} * stored;
static unsigned nstored, came_again; /* pages; bytes that came as hashes of them */

static const uint8_t *stored_page(struct sbt_hash hash, uint32_t n)
{
	static const uint8_t zeros[SBT_PAGE];
	if (sbt_hash_equal(hash, sbt_page_hash(zeros, 1)))
		return zeros;
	for (unsigned i = 0; i < nstored; i++)
		if (stored[i].n == n && sbt_hash_equal(stored[i].hash, hash))
			return stored[i].bytes;
	return NULL;
}

static uint32_t page_at(const struct got *g, uint64_t at)
{
	return g->head.size - at < SBT_PAGE ? (uint32_t)(g->head.size - at) : SBT_PAGE;
}

/* What came in a slot, which begins and ends at the pages' bounds. */
static void store_pages(const struct got *g, uint64_t from)
{
	for (uint64_t at = from; at < g->n; at += SBT_PAGE) {
		const uint32_t n = page_at(g, at);
		const struct sbt_hash hash = sbt_page_hash(g->bytes + at, n);
		if (stored_page(hash, n))
			continue;
		stored = realloc(stored, (nstored + 1) * sizeof(*stored));
		assert_non_null(stored);
		stored[nstored].hash = hash;
		stored[nstored].n = n;
		memcpy(stored[nstored++].bytes, g->bytes + at, n);
	}
}

static void take_same(struct got *g, const struct tsdb_bulk *b, const uint8_t *data)
{
	assert_int_equal(b->offset % SBT_PAGE, 0);
	assert_true(b->n % SBT_PAGE == 0 || b->n == g->head.size - g->n);
	for (uint64_t done = 0; done < b->n; done += SBT_PAGE) {
		const uint32_t n = page_at(g, g->n + done);
		const uint8_t *page = stored_page(
			((const struct sbt_hash *)(const void *)data)[done / SBT_PAGE], n);
		assert_non_null(page);
		memcpy(g->bytes + g->n + done, page, n);
		came_again += n;
	}
}

static void take_slot(const struct tsdb_bulk *b, const uint8_t *data)
{
	struct got *g = NULL;
	if (!b->piece)
		return;
	for (unsigned i = 0; i < npieces; i++)
		if (pieces[i].head.piece == b->piece)
			g = &pieces[i];
	if (!g) {
		assert_true(npieces < PIECES_MAX);
		assert_int_equal(b->offset, 0);
		g = &pieces[npieces++];
		g->head = *b;
		g->bytes = malloc(b->size + 1);
		assert_non_null(g->bytes);
	}
	assert_false(g->whole);
	assert_int_equal(b->offset, g->n);
	assert_true(g->n + b->n <= g->head.size &&
		    b->n <= (b->flags & TSDB_BULK_SAME ? TSDB_SAME_MAX : TSDB_BULK_BYTES));
	if (b->flags & TSDB_BULK_SAME)
		take_same(g, b, data);
	else
		memcpy(g->bytes + g->n, data, b->n);
	g->n += b->n;
	if (!(b->flags & (TSDB_BULK_SAME | TSDB_BULK_HASH_ONLY)) && g->head.size > SBT_PAGE &&
		(g->head.role == BULK_START || g->head.role == BULK_HOST))
		store_pages(g, g->n - b->n);
	g->hash_only |= b->flags & TSDB_BULK_HASH_ONLY;
	g->cut |= !!(b->flags & TSDB_BULK_CUT);
	g->whole = g->hash_only || g->cut || g->n == g->head.size;
}

static bool take_bulk(void)
{
	struct tsdb_bulk *b = &control->bulk[next_ticket % TSDB_BULK_SLOTS];
	if (atomic_load(&b->state) != TSDB_BULK_FULL)
		return false;
	take_slot(b, (const uint8_t *)control +
			     tsdb_bulk_offset(RING_BYTES, next_ticket % TSDB_BULK_SLOTS));
	next_ticket++;
	atomic_store(&b->turn, (uint32_t)(next_ticket + TSDB_BULK_SLOTS - 1) / TSDB_BULK_SLOTS);
	atomic_store(&b->state, TSDB_BULK_FREE);
	return true;
}

static void take_record(const struct tsdb_msg_head *h)
{
	const struct tsdb_msg_window *w = (const void *)h;
	struct sbt_cmd c;
	if (h->type == TSDB_MSG_WINDOW) {
		if (w->ended) {
			seen.last = w->seq;
			seen.complete = w->complete;
			seen.ends++;
			for (unsigned i = 0; i < npieces; i++)
				assert_true(pieces[i].whole || next_ticket < control->next_bulk);
		} else {
			seen.first = w->seq;
			seen.begins++;
		}
	} else if (h->type < 0x8000) {
		assert_int_equal(sbt_unpack(&c, h, h->size), h->size);
		if (seen.n < 512)
			seen.cmd[seen.n++] = c;
		if (c.kind == SBT_FILL && seen.nfills < sizeof(seen.fill) / sizeof(*seen.fill))
			seen.fill[seen.nfills++] =
				(__typeof__(seen.fill[0])){c.seq, c.u.fill.dst, c.u.fill.value};
	}
}

/* A ring is read in one mapping here: a record that wraps is put together. */
static bool take_ring(unsigned i)
{
	static _Alignas(8) uint8_t copy[TSDB_RECORD_MAX];
	struct tsdb_ring *r = &control->ring[i];
	const uint64_t head = atomic_load(&r->head);
	const uint8_t *data = (const uint8_t *)control + tsdb_ring_offset(RING_BYTES, i);
	if (ring_at[i] == head)
		return false;
	uint32_t size;
	memcpy(&size, data + (ring_at[i] & (RING_BYTES - 1)), 4);
	assert_true(size >= 8 && size <= TSDB_RECORD_MAX);
	for (uint32_t k = 0; k < size; k++)
		copy[k] = data[(ring_at[i] + k) & (RING_BYTES - 1)];
	take_record((const void *)copy);
	ring_at[i] += size;
	atomic_store(&r->tail, ring_at[i]);
	return true;
}

static void start(const char *what, void (*configure)(void))
{
	char path[64], folder[4096], library[4096];
	const char *build = getenv("TSDB_BUILD");
	int go[2];
	for (unsigned i = 0; i < npieces; i++)
		free(pieces[i].bytes);
	memset(pieces, 0, sizeof(pieces));
	memset(&seen, 0, sizeof(seen));
	memset(ring_at, 0, sizeof(ring_at));
	npieces = nstored = came_again = 0;
	next_ticket = 0;
	fd = memfd_create("control", MFD_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, (off_t)tsdb_wire_bytes(RING_BYTES)), 0);
	control = mmap(NULL, tsdb_wire_bytes(RING_BYTES), PROT_READ | PROT_WRITE,
		MAP_SHARED | MAP_NORESERVE, fd, 0);
	assert_true(control != MAP_FAILED);
	control->magic = TSDB_WIRE_MAGIC;
	control->version = TSDB_WIRE_VERSION;
	control->bytes = tsdb_wire_bytes(RING_BYTES);
	control->ring_bytes = RING_BYTES;
	control->debugger_pid = (uint32_t)getpid();
	control->on = control->code = 1;
	control->memory = TSDB_MEMORY_ALL;
	configure();
	snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)getpid(), fd);
	snprintf(folder, sizeof(folder), "%s/softgpu", build ? build : ".");
	snprintf(library, sizeof(library), "%s/libtsdb-agent.so", build ? build : ".");
	assert_int_equal(pipe(go), 0);
	pid = fork();
	if (!pid) {
		char c;
		setenv("TSDB_CONTROL", path, 1);
		setenv("LD_LIBRARY_PATH", folder, 1);
		setenv("CUDA_INJECTION64_PATH", library, 1);
		setenv("NVTX_INJECTION64_PATH", library, 1);
		if (read(go[0], &c, 1) == 1)
			execl(self, self, what, NULL);
		_exit(9);
	}
	control->pid = (uint32_t)pid;
	assert_int_equal(write(go[1], "x", 1), 1);
	close(go[0]);
	close(go[1]);
}

static bool drain(void)
{
	bool any = false;
	while (take_bulk())
		any = true;
	for (unsigned i = 0; i < tsdb_rings(control); i++)
		while (take_ring(i))
			any = true;
	return any;
}

/* Runs the child to its end, emptying what it fills. */
static void run(const char *what, void (*configure)(void))
{
	int status;
	pid_t ended;
	start(what, configure);
	while (!(ended = waitpid(pid, &status, WNOHANG)))
		if (!drain())
			nanosleep(&(struct timespec){.tv_nsec = 200000}, NULL);
	drain();
	assert_int_equal(ended, pid);
	close(fd);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 7);
	assert_int_equal(next_ticket, control->next_bulk);
}

static const struct got *piece(unsigned role, unsigned nth)
{
	for (unsigned i = 0; i < npieces; i++)
		if (pieces[i].head.role == role && !nth--)
			return &pieces[i];
	fail_msg("no piece %u of role %u", nth, role);
	return NULL;
}

static unsigned count(unsigned role)
{
	unsigned n = 0;
	for (unsigned i = 0; i < npieces; i++)
		n += pieces[i].head.role == role;
	return n;
}

static struct sbt_cmd command(unsigned kind, unsigned nth)
{
	for (unsigned i = 0; i < seen.n; i++)
		if (seen.cmd[i].kind == kind && !nth--)
			return seen.cmd[i];
	fail_msg("no command of kind %u", kind);
	return seen.cmd[0];
}

static void expect_hash(const struct got *g, const void *bytes, size_t n)
{
	assert_true(g->hash_only);
	assert_int_equal(g->head.size, n);
	assert_true(sbt_hash_equal(g->head.hash, sbt_range_hash(bytes, n)));
}

static void expect_words(const uint8_t *bytes, size_t n, uint32_t word)
{
	for (size_t i = 0; i + 4 <= n; i += 4)
		assert_memory_equal(bytes + i, &word, 4);
}

static void whole_run(void)
{
	control->capture_all = 1;
}

static void phase(void)
{
	strcpy(control->window.glob, "phase");
	control->window.kind = TSDB_WINDOW_NVTX;
}

static void copies_have_their_payload(void **state)
{
	uint8_t *want = malloc(BIG);
	assert_non_null(want);
	fill_host();
	memcpy(want, host, BIG);
	run("copies", whole_run);
	assert_int_equal(seen.begins, 1);
	assert_int_equal(seen.ends, 1);
	assert_int_equal(seen.complete, 1);
	assert_string_equal(control->text2, "");
	assert_int_equal(count(BULK_START), 0);
	/* The first copy's bytes, as they were when it was called. */
	const struct got *in = piece(BULK_INPUT, 0);
	const struct sbt_cmd h2d = command(SBT_COPY, 0);
	assert_int_equal(in->head.seq, h2d.seq);
	assert_int_equal(in->head.addr, h2d.u.copy.src);
	assert_int_equal(in->n, BIG);
	assert_memory_equal(in->bytes, want, BIG);
	expect_hash(piece(BULK_OUTPUT, 0), want, BIG);
	assert_int_equal(piece(BULK_OUTPUT, 0)->head.seq, command(SBT_COPY, 1).seq);
	for (size_t i = 0; i < 4096; i += 4)
		memcpy(want + i, &(uint32_t){0x01020304}, 4);
	expect_hash(piece(BULK_OUTPUT, 1), want, 4096);
	/* Rows of 100 bytes, 256 apart; what is between them counts as zeros. */
	in = piece(BULK_INPUT, 1);
	assert_int_equal(in->head.addr, command(SBT_COPY, 3).u.copy.src);
	assert_int_equal(in->n, 2 * 256 + 100);
	for (size_t i = 0; i < in->n; i++)
		assert_int_equal(in->bytes[i], i % 256 < 100 ? pattern(2 * 256 + 16 + i) : 0);
	for (unsigned row = 0; row < 3; row++)
		for (unsigned i = 0; i < 100; i++)
			want[row * 512 + i] = pattern((row + 2) * 256 + 16 + i);
	const struct got *end = piece(BULK_END, 0);
	expect_hash(end, want, BIG);
	assert_int_equal(end->head.seq, seen.last);
	assert_int_equal(seen.last, control->next_seq - 1);
	assert_int_equal(count(BULK_END), 1);
	free(want);
}

static void a_window_begins_with_what_is_there(void **state)
{
	run("window", phase);
	assert_int_equal(seen.complete, 1);
	assert_int_equal(count(BULK_START), 2); /* not the one that was freed */
	const struct got *start = piece(BULK_START, 0);
	assert_int_equal(start->head.addr, command(SBT_ALLOC, 0).u.alloc.addr);
	assert_int_equal(start->head.seq, seen.first);
	assert_int_equal(start->n, BIG);
	fill_host();
	assert_memory_equal(start->bytes, host, BIG);
	expect_words(piece(BULK_START, 1)->bytes, 100, 0);
	assert_int_equal(count(BULK_END), 1);
	memset(host, 0xff, BIG);
	expect_hash(piece(BULK_END, 0), host, BIG);
	assert_int_equal(seen.last, control->window.closed_seq);
	assert_true(
		seen.first <= command(SBT_FILL, 1).seq && seen.first > command(SBT_FREE, 0).seq);
	assert_true(control->pause_ns > 0);
}

static void an_exit_waits_until_all_is_sent(void **state)
{
	run("exits", phase);
	assert_int_equal(seen.complete, 1);
	assert_int_equal(count(BULK_START), 4);
	assert_int_equal(came_again, (96u << 20) - 4 * SBT_PAGE); /* all pages of each are alike */
	for (unsigned i = 0; i < 4; i++) {
		assert_int_equal(piece(BULK_START, i)->n, 24u << 20);
		expect_words(piece(BULK_START, i)->bytes, 24u << 20, i + 1);
	}
	assert_int_equal(count(BULK_END), 4);
}

static void a_forked_child_ends_nothing(void **state)
{
	run("forks", whole_run);
	assert_int_equal(seen.ends, 1);
	assert_int_equal(seen.complete, 1);
	for (unsigned i = 0; i < 4096; i += 4)
		memcpy(host + i, &(uint32_t){6}, 4);
	expect_hash(piece(BULK_END, 0), host, 4096);
}

static void nothing(void)
{
}

/* Every thread's memory is as its last fill before the window left it. */
static void threads_are_held_up(void **state)
{
	run("threads", nothing);
	assert_true(seen.nfills < sizeof(seen.fill) / sizeof(*seen.fill));
	assert_int_equal(seen.begins, 1);
	assert_int_equal(seen.ends, 1);
	assert_int_equal(seen.complete, 1);
	assert_int_equal(count(BULK_START), THREADS + 1);
	unsigned in_window = 0;
	for (unsigned i = 0; i <= THREADS; i++) {
		const struct got *g = piece(BULK_START, i);
		if (g->head.size != 16384)
			continue;
		uint64_t last_before = 0, seq = 0, last_in = 0, seq_in = 0;
		for (unsigned k = 0; k < seen.nfills; k++) {
			const __typeof__(seen.fill[0]) *c = &seen.fill[k];
			if (c->dst != g->head.addr)
				continue;
			if (c->seq < seen.first && c->seq > seq) {
				seq = c->seq;
				last_before = c->value;
			}
			if (c->seq <= seen.last && c->seq > seq_in) {
				seq_in = c->seq;
				last_in = c->value;
			}
			in_window += c->seq >= seen.first && c->seq <= seen.last;
		}
		expect_words(g->bytes, g->n, (uint32_t)last_before);
		for (unsigned k = 0; k < 16384; k += 4)
			memcpy(host + k, &(uint32_t){(uint32_t)last_in}, 4);
		for (unsigned k = 0; k <= THREADS; k++)
			if (piece(BULK_END, k)->head.addr == g->head.addr)
				expect_hash(piece(BULK_END, k), host, 16384);
	}
	assert_true(in_window > 100);
}

static void over_the_limit(void)
{
	phase();
	control->memory_limit = 1 << 20;
}

static void nobody_to_ask_means_no(void **state)
{
	run("window", over_the_limit);
	assert_int_equal(seen.begins, 1);
	assert_int_equal(seen.ends, 1);
	assert_int_equal(seen.complete, 0);
	assert_int_equal(seen.last, seen.first - 1);
	assert_int_equal(control->memory_needed, BIG + 100);
	assert_non_null(strstr(control->text2, "limit"));
	assert_int_equal(npieces, 0);
}

static const struct got *global(unsigned role, const char *name)
{
	for (unsigned i = 0; i < npieces; i++)
		if (pieces[i].head.role == role && pieces[i].head.owner == BULK_GLOBAL &&
			pieces[i].head.name_len == strlen(name) &&
			!memcmp(pieces[i].head.name, name, strlen(name)))
			return &pieces[i];
	fail_msg("no global %s", name);
	return NULL;
}

static void globals_and_host_memory(void **state)
{
	run("kernel", phase);
	assert_int_equal(seen.complete, 1);
	const struct got *counter = global(BULK_START, "counter");
	assert_int_equal(counter->n, 4);
	expect_words(counter->bytes, 4, 1);
	assert_memory_equal(global(BULK_START, "table")->bytes, "\1\2\3\4\5\6\7\10", 8);
	assert_int_equal(
		counter->head.module, command(SBT_MODULE_LOAD, 0).u.module_load.new_module);
	expect_hash(global(BULK_END, "counter"), &(uint32_t){3}, 4);
	/* One page changed, before the second launch in the window. */
	assert_int_equal(count(BULK_HOST), 1);
	const struct got *page = piece(BULK_HOST, 0);
	assert_int_equal(page->head.seq, command(SBT_LAUNCH, 2).seq);
	assert_int_equal(page->n, SBT_PAGE);
	assert_int_equal(page->head.addr, command(SBT_ALLOC, 0).u.alloc.addr + SBT_PAGE);
	expect_words(page->bytes, 4, 77);
	expect_words(page->bytes + 4, SBT_PAGE - 4, 0x01010101);
	for (unsigned i = 0; i < npieces; i++)
		if (pieces[i].head.role == BULK_START &&
			pieces[i].head.addr == page->head.addr - SBT_PAGE)
			expect_words(pieces[i].bytes, 3 * SBT_PAGE, 0x01010101);
}

static void a_graph_copies_when_it_is_launched(void **state)
{
	run("graph", whole_run);
	assert_int_equal(seen.complete, 1);
	assert_int_equal(count(BULK_INPUT), 2);
	assert_int_equal(count(BULK_OUTPUT), 2);
	for (unsigned i = 0; i < 2; i++) {
		const struct got *in = piece(BULK_INPUT, i);
		memset(host, (int)i + 1, 4096);
		assert_int_equal(in->head.seq, command(SBT_GRAPH_LAUNCH, i).seq);
		assert_int_equal(in->n, 4096);
		assert_memory_equal(in->bytes, host, 4096);
		assert_int_equal(piece(BULK_OUTPUT, i)->head.seq, in->head.seq);
		expect_hash(piece(BULK_OUTPUT, i), host, 4096);
	}
}

static void touched_only(void)
{
	phase();
	control->memory = TSDB_MEMORY_TOUCHED;
}

static void touched_memory_is_what_is_named(void **state)
{
	unsigned allocations = 0;
	run("kernel", touched_only);
	assert_int_equal(seen.complete, 1);
	for (unsigned i = 0; i < npieces; i++)
		if (pieces[i].head.role == BULK_START && pieces[i].head.owner == BULK_ALLOCATION) {
			allocations++;
			assert_int_equal(pieces[i].head.addr, command(SBT_ALLOC, 1).u.alloc.addr);
			expect_words(
				pieces[i].bytes, 4, 11); /* 10, and the launch before the window */
			expect_words(pieces[i].bytes + 4, 4092, 10);
		}
	assert_int_equal(allocations, 1);
	/* The other allocation was not named: nothing is said of its end either. */
	for (unsigned i = 0; i < npieces; i++)
		assert_true(pieces[i].head.role != BULK_END ||
			    pieces[i].head.addr != command(SBT_ALLOC, 2).u.alloc.addr);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		int (*fn)(void);
	} children[] = {{"copies", child_copies}, {"window", child_window}, {"exits", child_exits},
		{"forks", child_forks}, {"threads", child_threads}, {"kernel", child_kernel},
		{"graph", child_graph}};
	for (unsigned i = 0; argc > 1 && i < sizeof(children) / sizeof(*children); i++)
		if (!strcmp(argv[1], children[i].name))
			return children[i].fn();
	const ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	self[n > 0 ? n : 0] = '\0';
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(copies_have_their_payload),
		cmocka_unit_test(a_window_begins_with_what_is_there),
		cmocka_unit_test(an_exit_waits_until_all_is_sent),
		cmocka_unit_test(a_forked_child_ends_nothing),
		cmocka_unit_test(threads_are_held_up),
		cmocka_unit_test(nobody_to_ask_means_no),
		cmocka_unit_test(globals_and_host_memory),
		cmocka_unit_test(touched_memory_is_what_is_named),
		cmocka_unit_test(a_graph_copies_when_it_is_launched),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
