/* SPDX-License-Identifier: Apache-2.0
 *
 * The microscope of dispatches: what softcore/micro-core.h asks of a machine. A line of code is an
 * address in the code object's ELF file, as llvm-objdump shows it. The device gives a session the
 * dispatch that it waits for (amd_micro_begin), runs it, and says how it ended; everything else
 * is for the one caller's thread.
 */
#ifndef SOFTAMD_AMD_MICRO_H
#define SOFTAMD_AMD_MICRO_H

#include "softamd/machine/amd-machine.h"
#include "gpucode/amd-image.h"
#include "softcore/lane-expr.h"
#include "softcore/micro-core.h"

enum { AMD_CALLS = 32 }; /* calls of a wave that are remembered */

/* The calls that a wave is in: machine code has no frames, so they are followed as they are made.
 */
struct amd_calls {
	uint32_t n, lost; /* lost: deeper ones */
	uint64_t ret[AMD_CALLS];
	uint64_t prev; /* the instruction that the wave has begun; 0: none */
	enum amd_goes { AMD_GOES_ON, AMD_GOES_IN, AMD_GOES_BACK } goes; /* what that one does */
};

/* soft_session.machine */
struct amd_micro {
	struct amd_observer observer;
	struct amd_launch *l; /* while a workgroup runs */
	const struct amd_memory *memory;
	unsigned target;
	uint64_t entry, kernarg;
	uint32_t kernarg_bytes;
	struct amd_image *image; /* NULL: the code object is not known */
	uint64_t bias;		 /* an address of the process minus that in the ELF file */
	char kernel[SOFT_NAME];
	uint64_t first_group;
	struct amd_calls *calls;      /* by place and wave, as soft_session.steps */
	const struct amd_wave *begun; /* the last that began an instruction, and which */
	uint64_t begun_pc, touch_pc;
	/* What lies at an address that is not memory: for a fault's sentence. May be NULL. */
	void (*describe)(void *arg, uint64_t address, char *text, size_t n);
	void *describe_arg;
};
static inline struct amd_micro *amd_micro_of(const struct soft_session *s)
{
	return s->machine;
}

/* A session that waits for a dispatch of that kernel. NULL: no memory. */
struct soft_session *amd_micro_new(const struct soft_start *start);
/* Before amd_run(d): puts the observer into d. The session owns image, which may be NULL. */
void amd_micro_begin(
	struct soft_session *s, struct amd_dispatch *d, struct amd_image *image, uint64_t bias);
/* After it; f: NULL or its fault. */
void amd_micro_ended(struct soft_session *s, const struct amd_fault *f);
const char *amd_micro_ask(
	struct soft_session *s, const struct soft_ask *q, soft_add *add, void *arg);
const char *amd_micro_put(struct soft_session *s, const struct soft_put *p);
/* The launch is over, or never began. */
void amd_micro_free(struct soft_session *s);

/* --- inside --- */
static inline struct amd_group *amd_micro_group(struct micro_at w)
{
	return w.block;
}
/* NULL: the workgroup has fewer waves. */
static inline struct amd_wave *amd_micro_wave(struct micro_at w)
{
	struct amd_group *g = w.block;

	return g && w.warp < g->nwaves ? &g->waves[w.warp] : NULL;
}
/* n bytes of the arguments' segment; NULL: they are not there. */
uint8_t *amd_micro_argument(const struct amd_micro *m, uint64_t at, uint64_t n);
uint64_t amd_micro_lanes(const struct amd_wave *w); /* that it was given */
void amd_micro_item(const struct amd_wave *w, unsigned lane, uint32_t ret[3]);
struct amd_calls *amd_micro_calls(const struct soft_session *s, struct micro_at w);
/* Functions and lines by address of the process; the ELF address, 0: beyond 32 bits. */
uint32_t amd_micro_line_of(const struct amd_micro *m, uint64_t pc);
void amd_micro_source(
	const struct amd_micro *m, uint64_t pc, uint32_t *ret_line, char *file, size_t n);
/* Decodes the instruction at pc into text; returns its size, 0: that is no memory. */
unsigned amd_micro_text(const struct amd_micro *m, uint64_t pc, char *text, size_t n);

/* --- amd-micro-points.c: members of struct micro_machine --- */
const char *amd_micro_point(struct soft_session *s, struct micro_point *q, struct soft_point *p);
void amd_micro_no_points(struct soft_session *s);
void amd_micro_point_free(void *own);
const struct micro_point *amd_micro_hit(
	struct soft_session *s, struct micro_at w, uint64_t *ret_lanes);

/* --- amd-micro-names.c: expressions --- */
/* How many scalar registers the code may use; vector ones are in the launch. */
unsigned amd_micro_scalars(const struct amd_launch *l);
/* Names of a launch's waves. l NULL: registers as far as the target has any. */
const char *amd_micro_compile(
	struct lane_expr *x, const struct amd_launch *l, const char *text, char *why, size_t n);
struct lane_value amd_micro_eval(
	const struct lane_expr *x, const struct amd_wave *w, unsigned lane);
void amd_micro_type(const struct lane_expr *x, struct soft_value *ret, int *ret_space);
/* Sets a register of the lane, or of the wave. False: it has no such register, or one that decides
 * what the wave executes (exec, mode, pc). */
bool amd_micro_set(struct amd_wave *w, unsigned lane, const char *name, uint64_t value);
/* The n bytes at a flat address; those of scratch are gathered in room, of 8 bytes. */
const uint8_t *amd_micro_bytes(
	const struct amd_wave *w, unsigned lane, uint64_t addr, unsigned n, uint8_t *room);
/* n bytes of a lane's private memory. False: they are not there. */
bool amd_micro_private(
	const struct amd_wave *w, unsigned lane, uint64_t offset, uint64_t n, uint8_t *dst);

#endif
