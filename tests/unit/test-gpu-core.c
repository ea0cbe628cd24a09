/* SPDX-License-Identifier: Apache-2.0
 *
 * GPU core dumps. data/h200-spin.core.zst was written by the driver (580.159.04, an H200) when it
 * was asked to while this ran, 3 blocks of 64 threads:
 *
 *	10  __device__ __noinline__ int look(volatile int *flag)
 *	12  {
 *	13          return *flag;
 *	..
 *	15  __global__ void wait_flag(volatile int *flag, int which)      which = 7
 *	17          if (threadIdx.x % 32 < 8) {
 *	18                  while (look(flag) == 0)
 *	..
 *	20          } else {
 *	21                  while (flag[1] == 0)
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <elf.h>
#include <cmocka.h>
#include <stdio.h>
#include <zstd.h>
#include "symbols/gpu-core.h"

static uint8_t *dump;
static size_t dump_size;

static int unpack(void **state)
{
	static uint8_t packed[1 << 20];
	const char *src = getenv("TSDB_SRC");
	char path[4096];
	FILE *f;
	size_t n;

	snprintf(path, sizeof path, "%s/tests/unit/data/h200-spin.core.zst", src ? src : ".");
	f = fopen(path, "rb");
	if (!f)
		return 1;
	n = fread(packed, 1, sizeof packed, f);
	fclose(f);
	dump_size = ZSTD_getFrameContentSize(packed, n);
	dump = malloc(dump_size);
	return !dump || ZSTD_decompress(dump, dump_size, packed, n) != dump_size;
}

static int drop(void **state)
{
	free(dump);
	return 0;
}

static void whole(void **state)
{
	struct gpu_core *c;
	uint64_t in_look = 0, in_kernel = 0;
	struct err *e = gpu_core_parse(dump, dump_size, &c);

	if (e)
		fail_msg("%s", e->what);
	assert_int_equal(c->nkernels, 1);
	assert_string_equal(c->kernels[0].name, "_Z9wait_flagPVii");
	assert_int_equal(c->kernels[0].grid[0], 3);
	assert_int_equal(c->kernels[0].block[0], 64);
	assert_int_equal(c->kernels[0].block[1], 1);
	assert_int_equal(c->kernels[0].blocks, 3);
	assert_int_equal(c->kernels[0].lanes, 3 * 64);
	assert_int_equal(c->kernels[0].params_size, 12);
	assert_memory_equal(c->kernels[0].params + 8, "\7\0\0\0", 4);
	for (size_t i = 0; i < c->nplaces; i++) {
		const struct gpu_core_place *p = &c->places[i];

		assert_int_equal(p->kernel, 0);
		assert_int_equal(p->exception, 0);
		assert_true(p->active <= p->lanes);
		if (!strcmp(p->code.function, "_Z4lookPVi")) {
			in_look += p->lanes;
			assert_in_range(p->code.line, 11, 13);
			assert_int_equal(p->ncalls, 1);
			assert_string_equal(p->calls[0].function, "_Z9wait_flagPVii");
			assert_int_equal(p->calls[0].line, 18);
			assert_in_range(p->first.thread[0] % 32, 0, 7);
		} else if (p->first.thread[0] % 32 < 8) {
			/* between the call and the test of what it returned */
			assert_string_equal(p->code.function, "_Z9wait_flagPVii");
			assert_int_equal(p->code.line, 18);
			in_look += p->lanes;
		} else {
			assert_string_equal(p->code.function, "_Z9wait_flagPVii");
			assert_int_equal(p->code.line, 21);
			assert_int_equal(p->ncalls, 0);
			in_kernel += p->lanes;
		}
		assert_non_null(strstr(p->code.file, "spin.cu"));
	}
	assert_int_equal(in_look, 3 * 2 * 8);
	assert_int_equal(in_kernel, 3 * 2 * 24);
	gpu_core_free(c);
}

/* Multiprocessor 3 reports an illegal address at the instruction where lanes of look() are. */
static void fault(void **state)
{
	uint8_t *copy = malloc(dump_size);
	struct gpu_core *c;
	Elf64_Ehdr h;
	Elf64_Shdr s;
	uint64_t pc;

	assert_non_null(copy);
	memcpy(copy, dump, dump_size);
	assert_null(gpu_core_parse(copy, dump_size, &c));
	assert_int_equal(c->nfaults, 0);
	pc = c->places[0].code.pc;
	gpu_core_free(c);
	memcpy(&h, dump, sizeof h);
	for (unsigned i = 1; i < h.e_shnum; i++) {
		memcpy(&s, dump + h.e_shoff + i * sizeof s, sizeof s);
		if (s.sh_type == SHT_LOUSER + 11)
			break;
	}
	memcpy(copy + s.sh_offset + 3 * s.sh_entsize + 8, (uint32_t[]){14, 1}, 8);
	memcpy(copy + s.sh_offset + 3 * s.sh_entsize + 16, &pc, 8);
	assert_null(gpu_core_parse(copy, dump_size, &c));
	assert_int_equal(c->nfaults, 1);
	assert_int_equal(c->faults[0].sm, 3);
	assert_int_equal(c->faults[0].exception, 14);
	assert_string_equal(c->faults[0].code.function, "_Z9wait_flagPVii");
	assert_int_equal(c->faults[0].code.line, 21);
	gpu_core_free(c);
	free(copy);
}

/* A file that ends early is refused wherever it ends: the table of sections is at its end. */
static void cut(void **state)
{
	for (size_t n = 0; n < dump_size; n += n < 200 ? 1 : 997) {
		struct gpu_core *c = NULL;
		struct err *e = gpu_core_parse(dump, n, &c);

		assert_non_null(e);
		err_free(e);
	}
}

static void foreign(void **state)
{
	struct gpu_core *c;
	struct err *e = gpu_core_read("/proc/self/exe", &c);

	assert_non_null(e);
	assert_non_null(strstr(e->what, "/proc/self/exe"));
	assert_non_null(strstr(e->what, "no GPU core dump"));
	err_free(e);
	e = gpu_core_read("/dev/null", &c);
	assert_non_null(e);
	err_free(e);
	e = gpu_core_read("/nowhere", &c);
	assert_non_null(e);
	err_free(e);
}

/* A table of lanes whose link leads nowhere, or to a table of another kind. */
static void bad_links(void **state)
{
	uint8_t *copy = malloc(dump_size);
	Elf64_Ehdr h;

	assert_non_null(copy);
	memcpy(&h, dump, sizeof h);
	for (unsigned i = 1; i < h.e_shnum; i++) {
		const size_t at = h.e_shoff + i * sizeof(Elf64_Shdr);
		struct gpu_core *c = NULL;
		struct err *e;
		Elf64_Shdr s;

		memcpy(&s, dump + at, sizeof s);
		if (s.sh_type < SHT_LOUSER + 11 || s.sh_type > SHT_LOUSER + 15 || !s.sh_size)
			continue;
		for (int way = 0; way < 3; way++) {
			memcpy(copy, dump, dump_size);
			memcpy(&s, dump + at, sizeof s);
			if (way == 0)
				s.sh_link = 60000;
			else if (way == 1)
				s.sh_link = i; /* itself */
			else
				s.sh_info = 1u << 31;
			memcpy(copy + at, &s, sizeof s);
			e = gpu_core_parse(copy, dump_size, &c);
			assert_non_null(e);
			assert_int_equal(e->code, ERR_BAD_TRACE);
			err_free(e);
		}
	}
	free(copy);
}

/* Any bytes changed: an answer or an error, and what it says can be read. */
static void changed(void **state)
{
	uint8_t *copy = malloc(dump_size);
	unsigned long random = 20261123, whole = 0, refused = 0;

	assert_non_null(copy);
	for (int i = 0; i < 400; i++) {
		struct gpu_core *c = NULL;
		struct err *e;

		memcpy(copy, dump, dump_size);
		for (int k = 0; k < 8; k++) {
			random = random * 6364136223846793005ul + 1442695040888963407ul;
			/* every other one in the table of sections, which is at the end */
			const size_t from = k % 2 ? 0 : dump_size - 50000;

			copy[from + (random >> 33) % (dump_size - from)] = (uint8_t)(random >> 25);
		}
		e = gpu_core_parse(copy, dump_size, &c);
		refused += e != NULL;
		err_free(e);
		for (size_t p = 0; c && p < c->nplaces; p++) {
			whole += c->places[p].kernel < c->nkernels && c->places[p].lanes;
			if (c->places[p].code.file)
				whole += strlen(c->places[p].code.file);
		}
		gpu_core_free(c);
	}
	assert_true(whole && refused);
	free(copy);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(whole),
		cmocka_unit_test(fault),
		cmocka_unit_test(cut),
		cmocka_unit_test(foreign),
		cmocka_unit_test(bad_links),
		cmocka_unit_test(changed),
	};

	return cmocka_run_group_tests(tests, unpack, drop);
}
