/* SPDX-License-Identifier: Apache-2.0
 *
 * Kernels for tests of the software AMD GPU's processor: words in memory, run by amd_run().
 */
#ifndef AMD_TEST_H
#define AMD_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "gpucode/gfx-decode.h"
#include "softamd/machine/amd-run.h"

#define ALL 0xffffffffffffffffull
#define CODE_WORDS 1024
#define MEMORY_BYTES 65536

/* A kernel descriptor, code after it, and memory whose address is in s[0:1]. */
struct machine {
	_Alignas(4096) uint8_t code[256 + 4 * CODE_WORDS];
	_Alignas(4096) uint8_t memory[MEMORY_BYTES];
	unsigned n; /* words of code */
	struct amd_memory door;
	struct amd_dispatch d;
	struct amd_report report;
	struct amd_fault fault;
};

static inline bool machine_find(void *arg, uint64_t addr, struct amd_extent *e)
{
	struct machine *m = arg;
	uint64_t code = (uintptr_t)m->code, memory = (uintptr_t)m->memory;

	if (addr >= code && addr < code + sizeof(m->code))
		*e = (struct amd_extent){code, code + sizeof(m->code), false};
	else if (addr >= memory && addr < memory + sizeof(m->memory))
		*e = (struct amd_extent){memory, memory + sizeof(m->memory), true};
	else
		return false;
	return true;
}

static inline void descriptor(struct machine *m, unsigned offset, uint32_t v)
{
	memcpy(m->code + offset, &v, 4);
}

/* gfx90a; one workgroup of `items`; LDS and private bytes for a lane. */
static inline struct machine *machine_new(unsigned items, uint32_t lds, uint32_t private_bytes)
{
	struct machine *m = aligned_alloc(4096, (sizeof(*m) + 4095) / 4096 * 4096);

	assert_non_null(m);
	memset(m, 0, sizeof(*m));
	m->door = (struct amd_memory){.arg = m, .find = machine_find};
	m->d = (struct amd_dispatch){.gfx = 0x90a,
		.kernel_object = (uintptr_t)m->code,
		.kernarg = (uintptr_t)m->memory,
		.grid = {items, 1, 1},
		.workgroup = {(uint16_t)items, 1, 1},
		.private_aperture = 2ull << 48,
		.shared_aperture = 1ull << 48,
		.memory = &m->door,
		.steps_max = 10000000,
		.report = &m->report};
	descriptor(m, 0, lds);
	descriptor(m, 4, private_bytes);
	descriptor(m, 16, 256);
	descriptor(m, 44, 31);			      /* 128 vector registers */
	descriptor(m, 48, 31 | 0xf0 << 12 | 5 << 21); /* all denormals, DX10_CLAMP, IEEE */
	descriptor(m, 52, 2 << 1);		      /* two scalars are given: */
	descriptor(m, 56, 8);			      /* the arguments' address */
	return m;
}

static inline void word(struct machine *m, uint32_t w)
{
	assert_true(m->n < CODE_WORDS);
	memcpy(m->code + 256 + 4 * m->n++, &w, 4);
}

/* An instruction; the text says what the words are, and is checked. */
static inline void insn(struct machine *m, uint32_t w0, uint32_t w1, const char *text)
{
	uint32_t w[2] = {w0, w1};
	struct gfx_insn i;
	char got[200];

	assert_true(gfx_decode(gfx_target(m->d.gfx), w, 2, &i));
	gfx_text(gfx_target(m->d.gfx), &i, got, sizeof(got));
	assert_string_equal(got, text);
	word(m, w0);
	if (i.size == 8)
		word(m, w1);
}

static inline void end(struct machine *m)
{
	insn(m, 0xbf810000, 0, "s_endpgm");
}

static inline void runs(struct machine *m)
{
	if (!amd_run(&m->d, &m->fault))
		fail_msg("%s", m->fault.text);
}

static inline void faults(struct machine *m, enum amd_fault_kind kind, const char *part)
{
	assert_false(amd_run(&m->d, &m->fault));
	assert_int_equal(m->fault.kind, kind);
	if (!strstr(m->fault.text, part))
		fail_msg("\"%s\" does not say \"%s\"", m->fault.text, part);
}

static inline uint32_t *at(struct machine *m, unsigned byte)
{
	return (uint32_t *)(m->memory + byte);
}

#endif
