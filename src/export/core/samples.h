/* SPDX-License-Identifier: Apache-2.0
 *
 * Work summed up by host stack and name: what flame graphs and profiles are made of. The order is
 * that in which each pair first came.
 */
#ifndef EXPORT_SAMPLES_H
#define EXPORT_SAMPLES_H

#include "export/core/export-job.h"

struct sample {
	const struct export_stack *stack; /* NULL: none was taken */
	uint64_t rank;			  /* of a set: export_source.rank */
	const char *name; /* of the kernel, the copy ...; kept by the job's symbols, or constant */
	bool gpu;	  /* a kernel or a graph: shown as "[GPU_Kernel]name" */
	uint64_t count, gpu_ns, bytes;
};
struct samples {
	struct sample *v;
	uint32_t n, cap;
	uint32_t *index; /* hash table: number of the sample plus 1 */
	uint32_t slots;
	bool timed; /* some work has GPU times */
};

/* Reads the whole pass. What comes after too many different pairs is counted in
 * result->not_kept. */
struct err *samples_read(struct samples *ret, struct export_job *j) TS_CHECK;
void samples_free(struct samples *s);
/* Reads them, has put() write them, and frees them. */
struct err *samples_put(struct export_job *j,
	struct err *(*put)(struct export_job *j, const struct samples *s)) TS_CHECK;
uint64_t sample_weight(const struct sample *s, enum export_weight w);
/* Appends the outermost frame of a set's sample, "rank 3"; false: it is of a single trace. */
bool sample_rank(struct buf *out, const struct export_job *j, const struct sample *s);
/* Appends the sample's own frame: "[GPU_Kernel]matmul(float*)", "[copy h2d]". */
void sample_leaf(struct buf *out, const struct sample *s);
/* Appends what a flame graph calls a frame: the function; for Python with its file. */
void sample_frame(struct buf *out, const struct export_frame *f);
/* ERR_INCOMPLETE when the job's weight is GPU time and no work has any. */
struct err *samples_weighed(const struct samples *s, const struct export_job *j) TS_CHECK;

#endif
