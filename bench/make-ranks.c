/* SPDX-License-Identifier: Apache-2.0
 *
 * make-ranks FOLDER RANKS STEPS [SLOW [MISSING]]: the traces of a job that never ran, one for each
 * rank, eight ranks to a host. Each step multiplies, exchanges and copies. Hosts' clocks are apart
 * and drift; rank SLOW multiplies three times as long, so that the others wait for it; rank MISSING
 * does not launch the last collective.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/buf.h"
#include "sbt/sbt.h"

#define PER_HOST 8
#define T0 UINT64_C(1795269433000000000)
#define US UINT64_C(1000)
#define NOBODY UINT64_MAX

enum { GEMM = 1, REDUCE, KERNELS };
static const char *const kernels[] = {
	[GEMM] = "gemm", [REDUCE] = "ncclDevKernel_AllReduce_Sum_f32_RING_LL"};

struct job {
	uint64_t ranks, steps, slow, missing;
};

static uint64_t mix(uint64_t x)
{
	x = (x ^ x >> 31) * UINT64_C(0x7fb5d329728ea185);
	x = (x ^ x >> 27) * UINT64_C(0x81dadef4bc2dd44d);
	return x ^ x >> 33;
}

/* The time of the host's clock when true time is t: up to 2 ms apart, up to 20 ppm of drift. */
static uint64_t clock_of(uint64_t host, uint64_t t)
{
	const int64_t offset = (int64_t)(mix(host + 1) % 4000001) - 2000000,
		      drift = (int64_t)(mix(host + 7777) % 41) - 20;

	if (!host)
		return t;
	return (uint64_t)((int64_t)t + offset + (int64_t)(t - T0) / 1000000 * drift);
}

static uint64_t gemm_ns(const struct job *j, uint64_t rank, uint64_t step)
{
	return (900 + mix(rank * 1000003 + step) % 200) * US * (rank == j->slow ? 3 : 1);
}

/* When the step's collective ends on all ranks: 100 us after the last has come. */
static uint64_t *collective_ends(const struct job *j)
{
	uint64_t *end = xcalloc(j->steps + 1, sizeof *end);

	end[0] = T0;
	for (uint64_t s = 0; s < j->steps; s++) {
		uint64_t most = 0;

		for (uint64_t r = 0; r < j->ranks; r++)
			most = gemm_ns(j, r, s) > most ? gemm_ns(j, r, s) : most;
		end[s + 1] = end[s] + 50 * US + most + 100 * US;
	}
	return end;
}

struct rank_writer {
	struct sbt_writer *w;
	uint64_t host, seq;
};

static struct err *launch(struct rank_writer *x, uint32_t kernel, uint64_t start, uint64_t end)
{
	static const uint64_t comm = 0x7f0000001000;
	struct sbt_cmd c = {.kind = SBT_LAUNCH,
		.seq = ++x->seq,
		.thread = 1,
		.host_ns = clock_of(x->host, start - 20 * US)};

	c.u.launch.kernel = kernel;
	c.u.launch.stream = 0;
	c.u.launch.grid_x = c.u.launch.grid_y = c.u.launch.grid_z = 1;
	c.u.launch.block_x = 128, c.u.launch.block_y = c.u.launch.block_z = 1;
	c.u.launch.args = (struct sbt_blob){(const uint8_t *)&comm, sizeof comm};
	c.gpu_start_ns = clock_of(x->host, start);
	c.gpu_end_ns = clock_of(x->host, end);
	return sbt_writer_cmd(x->w, &c);
}

static struct err *steps(
	const struct job *j, uint64_t rank, const uint64_t *end, struct rank_writer *x)
{
	for (uint64_t s = 0; s < j->steps; s++) {
		const uint64_t begin = end[s] + 50 * US, done = begin + gemm_ns(j, rank, s);

		TRY(launch(x, GEMM, begin, done));
		if (rank != j->missing || s + 1 < j->steps)
			TRY(launch(x, REDUCE, done + US, end[s + 1] + mix(rank + s) % 1000));
	}
	return NULL;
}

static struct err *write_rank(
	const struct job *j, uint64_t rank, const uint64_t *end, struct sbt_writer *w)
{
	struct rank_writer x = {.w = w, .host = rank / PER_HOST};

	for (uint32_t k = GEMM; k < KERNELS; k++) {
		struct sbt_cmd c = {
			.kind = SBT_KERNEL_DEF, .seq = ++x.seq, .host_ns = clock_of(x.host, T0)};

		c.u.kernel_def.new_kernel = k;
		c.u.kernel_def.kernel_name =
			(struct sbt_blob){(const uint8_t *)kernels[k], strlen(kernels[k])};
		TRY(sbt_writer_cmd(w, &c));
	}
	return steps(j, rank, end, &x);
}

static struct err *make(const struct job *j, const char *folder, uint64_t rank, const uint64_t *end)
{
	char *path = xasprintf("%s/r.%05" PRIu64 ".sbt", folder, rank),
	     *host = xasprintf("node%" PRIu64 " 6.1", rank / PER_HOST);
	const struct sbt_meta meta = {.program = "train",
		.cwd = "/",
		.host = host,
		.gpu = "Synthetic GPU",
		.tsdb = "bench",
		.start_ns = clock_of(rank / PER_HOST, T0),
		.pid = (uint32_t)(100 + rank % PER_HOST),
		.rank = rank + 1,
		.ranks = j->ranks + 1,
		.timestamps = true};
	struct sbt_writer *w;
	struct err *e = sbt_writer_open(&w, path, &meta);

	if (!e) {
		e = write_rank(j, rank, end, w);
		e = err_first(e, sbt_writer_close(w));
	}
	free(path);
	free(host);
	return e;
}

int main(int argc, char **argv)
{
	struct job j = {.slow = NOBODY, .missing = NOBODY};
	struct err *e = NULL;

	if (argc < 4) {
		fprintf(stderr, "usage: %s FOLDER RANKS STEPS [SLOW [MISSING]]\n", argv[0]);
		return 1;
	}
	j.ranks = strtoull(argv[2], NULL, 0);
	j.steps = strtoull(argv[3], NULL, 0);
	if (argc > 4)
		j.slow = strtoull(argv[4], NULL, 0);
	if (argc > 5)
		j.missing = strtoull(argv[5], NULL, 0);
	uint64_t *end = collective_ends(&j);

	for (uint64_t r = 0; !e && r < j.ranks; r++)
		e = make(&j, argv[1], r, end);
	free(end);
	if (!e)
		return 0;
	fprintf(stderr, "%s\n", e->what);
	err_free(e);
	return 1;
}
