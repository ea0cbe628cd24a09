/* SPDX-License-Identifier: Apache-2.0
 *
 * What an agent that comes late finds: memory that a driver of the test's own making has, code
 * images that lie in this process. One test after the other in the same process, because the
 * agent's state is the process's.
 */
#include "capture-fake.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "capture/stacks/areas.h"
#include "capture/memory/discover.h"
#include "capture/late/late.h"
#include "capture/objects/ids.h"
#include "capture/cuda/images.h"
#include "capture/objects/live.h"

#define MIB (1ull << 20)
#define RESERVED (64 * MIB)

/* --- the driver --- */

static const struct live *found_at(uint64_t addr)
{
	static struct live found;
	return live_at(addr, &found) ? &found : NULL;
}

static struct {
	uint64_t addr, size;
	unsigned type, managed;
	bool pool;
} has[16];
static unsigned nhas;
static uint64_t reserved; /* address of RESERVED bytes that nobody can read */

static void driver_has(uint64_t addr, uint64_t size, unsigned type, unsigned managed, bool pool)
{
	has[nhas].addr = addr;
	has[nhas].size = size;
	has[nhas].type = type;
	has[nhas].managed = managed;
	has[nhas++].pool = pool;
}

static CUresult answer(void *data, CUpointer_attribute a, CUdeviceptr p)
{
	for (unsigned i = 0; i < nhas; i++) {
		if (p - has[i].addr >= has[i].size)
			continue;
		switch (a) {
		case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
			*(CUdeviceptr *)data = has[i].addr;
			return CUDA_SUCCESS;
		case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
			*(size_t *)data = has[i].size;
			return CUDA_SUCCESS;
		case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
			*(unsigned *)data = has[i].type;
			return CUDA_SUCCESS;
		case CU_POINTER_ATTRIBUTE_IS_MANAGED:
			*(unsigned *)data = has[i].managed;
			return CUDA_SUCCESS;
		case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
			*(CUmemoryPool *)data = has[i].pool ? (CUmemoryPool)0x77 : NULL;
			return CUDA_SUCCESS;
		case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
			*(int *)data = 0;
			return CUDA_SUCCESS;
		case CU_POINTER_ATTRIBUTE_CONTEXT:
			*(CUcontext *)data = FAKE_CTX;
			return CUDA_SUCCESS;
		default:
			return CUDA_ERROR_INVALID_VALUE;
		}
	}
	return CUDA_ERROR_INVALID_VALUE;
}

static int start(void **state)
{
	(void)fake_start();
	cuda.cuPointerGetAttribute = answer;
	/* Aligned, so that what is where in a granule is as written here. */
	uint8_t *p = mmap(NULL, RESERVED + 2 * MIB, PROT_NONE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	assert_ptr_not_equal(p, MAP_FAILED);
	reserved = ((uint64_t)(uintptr_t)p + 2 * MIB - 1) & ~(2 * MIB - 1);
	discover_begin();
	FAKE(cuMemsetD8_v2, .dstDevice = 0x10, .N = 1); /* introduces the context */
	fake_skip();
	return 0;
}

static void launch(uint64_t a, uint64_t b)
{
	unsigned n = 7;
	void *params[] = {&a, &n, &b};
	FAKE(cuLaunchKernel, .f = FAKE_FUNC, .gridDimX = 1, .gridDimY = 1, .gridDimZ = 1,
		.blockDimX = 1, .blockDimY = 1, .blockDimZ = 1, .kernelParams = params);
}

static void assert_introduced(uint64_t addr, uint64_t size, uint64_t mem)
{
	const struct sbt_cmd c = fake_expect(SBT_ALLOC);
	assert_int_equal(c.u.alloc.addr, addr);
	assert_int_equal(c.u.alloc.size, size);
	assert_int_equal(c.u.alloc.mem, mem);
	assert_int_equal(
		c.flags & (SBT_F_SYNTHETIC | SBT_F_BEFORE), SBT_F_SYNTHETIC | SBT_F_BEFORE);
	assert_int_equal(c.ctx, ids_object(&ids.ctxs, (uint64_t)(uintptr_t)FAKE_CTX)->id);
}

/* --- memory --- */

/* An address in the middle, and one behind it in the same granule that nothing named. */
static void a_launch_introduces_what_it_names(void **state)
{
	const uint64_t at = 0x555500000000 + 512;
	driver_has(at, 100, CU_MEMORYTYPE_DEVICE, 0, false);
	driver_has(at + 4096, 64, CU_MEMORYTYPE_DEVICE, 0, true);
	launch(at + 99, 12345);
	assert_introduced(at, 100, SBT_MEM_DEVICE);
	assert_introduced(at + 4096, 64, SBT_MEM_ASYNC);
	assert_non_null(found_at(at + 99));
	assert_null(found_at(at + 100));
	(void)fake_expect(SBT_LAUNCH);
	/* Once is enough, and nothing is asked any more. */
	nhas = 0;
	launch(at, at + 4096);
	(void)fake_expect(SBT_LAUNCH);
	fake_expect_nothing();
}

static void a_large_one_lies_in_many_granules(void **state)
{
	const uint64_t at = 0x555600000000;
	driver_has(at, 5 * MIB, CU_MEMORYTYPE_HOST, 1, false);
	FAKE(cuMemsetD8_v2, .dstDevice = at + 4 * MIB, .N = 1);
	assert_introduced(at, 5 * MIB, SBT_MEM_MANAGED);
	FAKE(cuMemsetD8_v2, .dstDevice = at, .N = 1);
	fake_skip();
	fake_expect_nothing();
	nhas = 0;
}

/* The driver still has it for a moment: it must not come back. */
static void what_is_freed_is_not_found_again(void **state)
{
	struct discover_sums sums;
	driver_has(reserved + 10 * MIB, 3 * MIB, CU_MEMORYTYPE_DEVICE, 0, false);
	FAKE(cuMemFree_v2, .dptr = reserved + 10 * MIB);
	assert_introduced(reserved + 10 * MIB, 3 * MIB,
		SBT_MEM_DEVICE); /* with an earlier number than its free */
	assert_int_equal(fake_expect(SBT_FREE).u.free.addr, reserved + 10 * MIB);
	assert_null(found_at(reserved + 10 * MIB));
	/* Nor one that could not be introduced before its free, because a call that allocates was
	 * under way. */
	struct call other = {.cmd.kind = SBT_ALLOC};
	discover_enter(&other);
	driver_has(reserved + 40 * MIB, 3 * MIB, CU_MEMORYTYPE_DEVICE, 0, false);
	FAKE(cuMemFree_v2, .dptr = reserved + 40 * MIB);
	discover_exit(&other);
	fake_skip();
	launch(reserved + 41 * MIB, 0);
	(void)fake_expect(SBT_LAUNCH);
	fake_expect_nothing();
	assert_null(found_at(reserved + 40 * MIB));
	discover_all(tls.thread, &sums);
	assert_int_equal(sums.missed, 0);
	assert_null(found_at(reserved + 10 * MIB));
	assert_null(found_at(reserved + 40 * MIB));
	nhas = 0;
}

/* What a call is just making is that call's, whatever the driver says already. */
static void a_call_that_allocates_is_waited_for(void **state)
{
	struct discover_sums sums;
	CUdeviceptr made = reserved + 20 * MIB;
	discover_end();
	discover_begin();
	assert_false(discover_is_complete());
	const cuMemAlloc_v2_params p = {.dptr = &made, .bytesize = 4 * MIB};
	const uint64_t link = fake_enter(CUPTI_DRIVER_TRACE_CBID_cuMemAlloc_v2, &p);
	driver_has(made, 4 * MIB, CU_MEMORYTYPE_DEVICE, 0, false);
	driver_has(reserved + 32 * MIB, 2 * MIB, CU_MEMORYTYPE_DEVICE, 0, false);
	fake_skip();
	discover_all(tls.thread, &sums);
	assert_true(sums.missed > 0);
	assert_false(discover_is_complete());
	assert_null(found_at(made));
	fake_exit(link, CUDA_SUCCESS);
	assert_int_equal(fake_expect(SBT_ALLOC).flags & SBT_F_SYNTHETIC, 0);
	discover_end();
	discover_begin();
	discover_all(tls.thread, &sums);
	assert_int_equal(sums.missed, 0);
	assert_int_equal(sums.allocations, 1);
	assert_int_equal(sums.bytes, 2 * MIB);
	assert_true(discover_is_complete());
	assert_introduced(reserved + 32 * MIB, 2 * MIB, SBT_MEM_DEVICE);
	fake_expect_nothing();
	nhas = 0;
}

/* The debugger leaves: then nothing is known of what the search has not reached, and it is not
 * taken for complete. A window that is about to open is waited for all the same. */
static void a_search_that_is_given_up(void **state)
{
	struct discover_sums sums;
	driver_has(reserved + 48 * MIB, 2 * MIB, CU_MEMORYTYPE_DEVICE, 0, false);
	discover_end();
	discover_begin();
	atomic_store(&agent.control->leave, 1);
	assert_false(discover_all(tls.thread, &sums));
	assert_false(discover_is_complete());
	assert_null(found_at(reserved + 48 * MIB));
	discover_hurry();
	assert_true(discover_all(tls.thread, &sums));
	assert_true(discover_is_complete());
	assert_introduced(reserved + 48 * MIB, 2 * MIB, SBT_MEM_DEVICE);
	fake_expect_nothing();
	atomic_store(&agent.control->leave, 0);
	nhas = 0;
}

/* Waiting ends after ten seconds in which the search makes no step, and after a minute in all. */
static void a_search_is_waited_for_while_it_goes_on(void **state)
{
	struct late_patience p = {.steps = atomic_load(&late_steps), .idle = 9999};
	assert_true(late_wait(&p));
	assert_false(late_wait(&p));
	p.idle = 10000;
	late_step();
	assert_true(late_wait(&p));
	p.all = 59999;
	late_step();
	assert_true(late_wait(&p));
	late_step();
	assert_false(late_wait(&p));
}

/* Not at a step of the search; found when it is named, and each place asked once. */
static void a_small_one_between_two_steps(void **state)
{
	struct discover_sums sums;
	const size_t large = (size_t)16 << 30;
	uint8_t *p =
		mmap(NULL, large, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	assert_ptr_not_equal(p, MAP_FAILED);
	const uint64_t at = (((uint64_t)(uintptr_t)p + 6 * MIB) & ~(2 * MIB - 1)) + 5 * 512;
	driver_has(at, 200, CU_MEMORYTYPE_DEVICE, 0, false);
	discover_end();
	discover_begin();
	discover_all(tls.thread, &sums);
	assert_true(discover_is_complete());
	assert_true(sums.step >= 4096);
	assert_null(found_at(at));
	launch(at + 100, 0);
	assert_introduced(at, 200, SBT_MEM_DEVICE);
	(void)fake_expect(SBT_LAUNCH);
	/* Had it been there, it would have been found the first time. */
	driver_has(at + 512, 100, CU_MEMORYTYPE_DEVICE, 0, false);
	launch(at + 512, 0x666600000000);
	(void)fake_expect(SBT_LAUNCH);
	fake_expect_nothing();
	assert_null(found_at(at + 512));
	munmap(p, large);
	nhas = 0;
}

static void a_variable_is_withdrawn(void **state)
{
	const uint64_t at = 0x555700000000;
	discover_end();
	discover_begin();
	driver_has(at, 40, CU_MEMORYTYPE_DEVICE, 0, false);
	driver_has(at + 512, 40, CU_MEMORYTYPE_DEVICE, 0, false);
	launch(at, 0);
	fake_skip();
	discover_withdraw(tls.thread, at + 512, 40);
	assert_int_equal(fake_expect(SBT_FREE).u.free.addr, at + 512);
	assert_null(found_at(at + 512));
	discover_withdraw(tls.thread, at, 8); /* larger than the variable: an allocation */
	fake_expect_nothing();
	assert_non_null(found_at(at));
	nhas = 0;
}

/* Its free was under way when the agent came. */
static void what_is_gone_is_taken_back(void **state)
{
	const uint64_t at = 0x555800000000;
	discover_verify(tls.thread); /* nothing of the other tests' is there any more */
	fake_skip();
	driver_has(at, 64, CU_MEMORYTYPE_DEVICE, 0, false);
	driver_has(at + 512, 64, CU_MEMORYTYPE_DEVICE, 0, true);
	driver_has(at + 1024, 64, CU_MEMORYTYPE_DEVICE, 0, false);
	launch(at, 0);
	fake_skip();
	has[0].size = 32; /* another one is there now */
	has[1].addr = 1;
	discover_verify(tls.thread);
	for (unsigned i = 0; i < 2; i++) { /* in any order */
		const struct sbt_cmd c = fake_expect(SBT_FREE);
		assert_true(c.u.free.addr == at || c.u.free.addr == at + 512);
		assert_int_equal(
			c.u.free.mem, c.u.free.addr == at ? SBT_MEM_DEVICE : SBT_MEM_ASYNC);
	}
	fake_expect_nothing();
	assert_null(found_at(at));
	assert_null(found_at(at + 512));
	assert_non_null(found_at(at + 1024));
	nhas = 0;
}

/* --- streams --- */

#define OLD ((CUstream)0x5100)
#define JOINED ((CUstream)0x5200)

static CUresult capture_info(CUstream s, CUstreamCaptureStatus *status, cuuint64_t *number,
	CUgraph *g, const CUgraphNode **deps, size_t *n)
{
	assert_true(s == OLD || s == JOINED);
	*status = CU_STREAM_CAPTURE_STATUS_ACTIVE;
	*number = 7;
	return CUDA_SUCCESS;
}

static CUresult is_capturing(CUstream s, CUstreamCaptureStatus *status)
{
	*status = CU_STREAM_CAPTURE_STATUS_ACTIVE;
	return CUDA_SUCCESS;
}

static void a_capture_that_is_going_on(void **state)
{
	cuda.stream_capture_info = capture_info;
	cuda.cuStreamIsCapturing = is_capturing;
	const int32_t captures = atomic_load(&calls_captures);
	FAKE(cuMemsetD8Async, .dstDevice = 0x10, .N = 1, .hStream = OLD);
	const uint64_t stream = fake_expect(SBT_STREAM_CREATE).u.stream_create.new_stream;
	const struct sbt_cmd begin = fake_expect(SBT_CAPTURE_BEGIN);
	assert_int_equal(begin.u.capture_begin.stream, stream);
	assert_int_equal(begin.flags & SBT_F_BEFORE, SBT_F_BEFORE);
	assert_int_equal(fake_expect(SBT_FILL).flags & SBT_F_GRAPH, SBT_F_GRAPH);
	/* Another stream of the same capture is no capture of its own. */
	FAKE(cuMemsetD8Async, .dstDevice = 0x10, .N = 1, .hStream = JOINED);
	(void)fake_expect(SBT_FILL);
	assert_int_equal(atomic_load(&calls_captures), captures + 1);
	CUgraph g = (CUgraph)0x5300;
	FAKE(cuStreamEndCapture, .hStream = OLD, .phGraph = &g);
	assert_int_equal(atomic_load(&calls_captures), captures);
	fake_skip();
	cuda.stream_capture_info = NULL;
	cuda.cuStreamIsCapturing = NULL;
}

/* --- areas --- */

struct looked {
	uint64_t at;
	unsigned times;
};

static bool look(void *arg, const struct area *a)
{
	struct looked *l = arg;
	assert_true(a->start < a->end);
	l->times += l->at >= a->start && l->at < a->end;
	return false;
}

static void areas_are_what_the_driver_may_have(void **state)
{
	struct looked here = {.at = reserved + MIB}, text = {.at = (uint64_t)(uintptr_t)look},
		      stack = {.at = (uint64_t)(uintptr_t)&here};
	assert_true(areas_each(look, &here));
	assert_true(areas_each(look, &text));
	assert_true(areas_each(look, &stack));
	assert_int_equal(here.times, 1);
	assert_int_equal(text.times, 0);
	assert_int_equal(stack.times, 0);
}

/* --- images --- */

static uint8_t *room;
#define ROOM (2 * MIB)

struct seen {
	unsigned n;
	uint64_t size;
	enum image_kind kind;
	uint8_t first[16];
};

/* Other memory of this process may have images, too: those of the test have a mark behind their
 * header. */
static bool see(void *arg, const struct image *i)
{
	struct seen *s = arg;
	if (!memmem(i->bytes, i->size, "MARKED-IMAGE", 12))
		return false;
	s->n++;
	s->size = i->size;
	s->kind = i->kind;
	return false;
}

static struct seen images(unsigned kinds)
{
	struct images_sums sums;
	struct seen s = {0};
	images_each(kinds, see, &s, &sums);
	assert_true(sums.read >= ROOM);
	return s;
}

/* The magics are made here and not written, so that this program's own text holds none. */
static uint64_t make_cubin(uint8_t *at, uint64_t section_size)
{
	Elf64_Ehdr h = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB},
		.e_machine = 190,
		.e_shoff = sizeof(h),
		.e_shentsize = sizeof(Elf64_Shdr),
		.e_shnum = 2,
		.e_shstrndx = 1};
	Elf64_Shdr s[2] = {{0}, {.sh_type = SHT_STRTAB,
					.sh_offset = sizeof(h) + sizeof(s),
					.sh_size = section_size}};
	memcpy(at, &h, sizeof(h));
	memcpy(at + sizeof(h), s, sizeof(s));
	memcpy(at + sizeof(h) + sizeof(s), "MARKED-", 7);
	memcpy(at + sizeof(h) + sizeof(s) + 7, "IMAGE", 5);
	return sizeof(h) + sizeof(s) + section_size;
}

static void clear(void)
{
	memset(room, 0, ROOM);
}

static void a_cubin_is_found_whole(void **state)
{
	room = mmap(NULL, ROOM, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(room, MAP_FAILED);
	/* Across the border of what is read at once. */
	for (uint64_t at = MIB - 100; at < MIB + 200; at += 150) {
		clear();
		const uint64_t size = make_cubin(room + at, 5000);
		const struct seen s = images(IMAGE_CUBIN | IMAGE_PTX);
		assert_int_equal(s.n, 1);
		assert_int_equal(s.kind, IMAGE_CUBIN);
		assert_int_equal(s.size, size);
		assert_int_equal(images(IMAGE_PTX).n, 0);
	}
}

static void remains_of_a_cubin_are_not_taken(void **state)
{
	Elf64_Ehdr *h = (void *)(room + 4096);
	clear();
	(void)make_cubin(room + 4096, 1ull << 40);
	assert_int_equal(images(IMAGE_CUBIN).n, 0);
	clear();
	(void)make_cubin(room + 4096, 100);
	h->e_shoff = UINT64_MAX - 8;
	assert_int_equal(images(IMAGE_CUBIN).n, 0);
	clear();
	(void)make_cubin(room + 4096, 100);
	h->e_shstrndx = 7;
	assert_int_equal(images(IMAGE_CUBIN).n, 0);
	clear();
	(void)make_cubin(room + 4096, 100);
	h->e_machine = EM_X86_64;
	assert_int_equal(images(IMAGE_CUBIN).n, 0);
}

static void ptx_ends_with_its_text(void **state)
{
	char *at = (char *)room + 70000;
	clear();
	strcpy(at, "// a comment before it\n.ver");
	strcat(at, "sion 8.0\n.tar");
	strcat(at, "get sm_90\n// MARKED-");
	strcat(at, "IMAGE\n");
	const struct seen s = images(IMAGE_CUBIN | IMAGE_PTX);
	assert_int_equal(s.n, 1);
	assert_int_equal(s.kind, IMAGE_PTX);
	assert_int_equal(s.size, strlen(strchr(at, '\n') + 1));
	/* Nor is the source of a string that would be one. */
	*strchr(strstr(at, "sion 8.0"), '\n') = '\\';
	assert_int_equal(images(IMAGE_PTX).n, 0);
	*strchr(strstr(at, "sion 8.0"), '\\') = '\r';
	assert_int_equal(images(IMAGE_PTX).n, 1);
	/* Prose about versions is none. */
	*strstr(at, "get sm_90") = 'x';
	assert_int_equal(images(IMAGE_PTX).n, 0);
}

static void a_fatbin_says_its_size(void **state)
{
	struct {
		uint32_t magic;
		uint16_t version, header;
		uint64_t size;
	} h = {~0x45AA12AFu, 1, 16, 300};
	clear();
	memcpy(room + 8192, &h, sizeof(h));
	memcpy(room + 8192 + 20, "MARKED-", 7);
	memcpy(room + 8192 + 27, "IMAGE", 5);
	const struct seen s = images(IMAGE_FATBIN);
	assert_int_equal(s.n, 1);
	assert_int_equal(s.size, 316);
	h.size = 1ull << 50;
	memcpy(room + 8192, &h, sizeof(h));
	assert_int_equal(images(IMAGE_FATBIN).n, 0);
	munmap(room, ROOM);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_launch_introduces_what_it_names),
		cmocka_unit_test(a_large_one_lies_in_many_granules),
		cmocka_unit_test(what_is_freed_is_not_found_again),
		cmocka_unit_test(a_call_that_allocates_is_waited_for),
		cmocka_unit_test(a_search_that_is_given_up),
		cmocka_unit_test(a_search_is_waited_for_while_it_goes_on),
		cmocka_unit_test(a_small_one_between_two_steps),
		cmocka_unit_test(a_variable_is_withdrawn),
		cmocka_unit_test(what_is_gone_is_taken_back),
		cmocka_unit_test(a_capture_that_is_going_on),
		cmocka_unit_test(areas_are_what_the_driver_may_have),
		cmocka_unit_test(a_cubin_is_found_whole),
		cmocka_unit_test(remains_of_a_cubin_are_not_taken),
		cmocka_unit_test(ptx_ends_with_its_text),
		cmocka_unit_test(a_fatbin_says_its_size),
	};
	return cmocka_run_group_tests(tests, start, NULL);
}
