/* SPDX-License-Identifier: Apache-2.0
 *
 * How handlers are written: a loop over 64 lanes for each vector instruction, a row in the file's
 * table for each handler.
 */
#ifndef SOFTAMD_AMD_INSN_H
#define SOFTAMD_AMD_INSN_H

#include "softamd/machine/amd-machine.h"

struct amd_entry {
	uint16_t id;
	struct amd_handler h;
};

/* Every file's table ends with an entry without a handler. */
extern const struct amd_entry amd_scalar_entries[], amd_flow_entries[], amd_load_entries[],
	amd_integer_entries[], amd_float_entries[], amd_double_entries[], amd_half_entries[],
	amd_compare_entries[], amd_convert_entries[], amd_lane_entries[], amd_lds_entries[],
	amd_global_entries[], amd_packed_entries[], amd_matrix_entries[];

#define END                                                                                        \
	{                                                                                          \
		0,                                                                                 \
		{                                                                                  \
			.wave = NULL                                                               \
		}                                                                                  \
	}
/* id, function, types of sources and result */
#define LANES(name, fn, from_, to_)                                                                \
	{                                                                                          \
		GFX_##name,                                                                        \
		{                                                                                  \
			.lanes = fn, .from = from_, .to = to_                                      \
		}                                                                                  \
	}
#define WAVE(name, fn)                                                                             \
	{                                                                                          \
		GFX_##name,                                                                        \
		{                                                                                  \
			.wave = fn                                                                 \
		}                                                                                  \
	}

#define LANE_LOOP for (unsigned l = 0; l < AMD_LANES; l++)

static inline uint64_t wide(const uint32_t *p, unsigned l)
{
	return p[l] | (uint64_t)p[AMD_LANES + l] << 32;
}

static inline void set_wide(uint32_t *p, unsigned l, uint64_t v)
{
	p[l] = (uint32_t)v;
	p[AMD_LANES + l] = (uint32_t)(v >> 32);
}

static inline float as_float(uint32_t v)
{
	float f;

	memcpy(&f, &v, 4);
	return f;
}

static inline uint32_t float_bits(float f)
{
	uint32_t v;

	memcpy(&v, &f, 4);
	return v;
}

static inline double as_double(uint64_t v)
{
	double f;

	memcpy(&f, &v, 8);
	return f;
}

static inline uint64_t double_bits(double f)
{
	uint64_t v;

	memcpy(&v, &f, 8);
	return v;
}

/* The NaN of an invalid operation: quiet, positive. */
#define FLOAT_NAN 0x7fc00000u
#define DOUBLE_NAN 0x7ff8000000000000ull

/* Halves (amd-half.c): exact, and rounded to nearest even. */
float amd_half_to_float(uint16_t h);
uint16_t amd_float_to_half(float f);
uint16_t amd_double_to_half(double f);
/* Towards zero. */
uint16_t amd_float_to_half_rtz(float f);
/* a * b + c of halves, rounded once. */
uint16_t amd_half_fma(uint16_t a, uint16_t b, uint16_t c);

#endif
