// SPDX-License-Identifier: Apache-2.0
//
// Two ranks of a job, two processes: collectives as NCCL's do them, a kernel that tells the other rank's, through memory that both have open, and waits for it.
// The parent is rank 0, the same program started again is rank 1, and its RANK says so. ranks CASE; what is wrong in each, or slow, is said in table.py.
#include "hangs.h"

#define COMMS 2

// What a rank shows the other one of each communicator: how often it has come.
struct window {
	int round;
};

static struct window *mine, *his; // COMMS of them
static int rank, in, out;
static int round_of[COMMS];
static cudaStream_t s;

static __device__ void meet(struct window *mine, struct window *his, int round)
{
	__threadfence_system();
	((volatile struct window *)his)->round = round;
	while (((volatile struct window *)mine)->round < round)
		__nanosleep(1000);
}

// As NCCL's, its first argument is the communicator's.
__global__ void all_reduce(struct window *mine, struct window *his, int round)
{
	meet(mine, his, round);
}

static void reduce(int comm)
{
	all_reduce<<<1, 1, 0, s>>>(mine + comm, his + comm, ++round_of[comm]);
}

static void must(ssize_t got, ssize_t want)
{
	if (got != want)
		exit(3);
}

static void open_windows(void)
{
	cudaIpcMemHandle_t h;
	cudaFuncAttributes a;

	CHECK(cudaMalloc(&mine, COMMS * sizeof(*mine)));
	CHECK(cudaMemset(mine, 0, COMMS * sizeof(*mine)));
	CHECK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
	CHECK(cudaFuncGetAttributes(&a, all_reduce));
	CHECK(cudaDeviceSynchronize());
	CHECK(cudaIpcGetMemHandle(&h, mine));
	must(write(out, &h, sizeof(h)), sizeof(h));
	must(read(in, &h, sizeof(h)), sizeof(h));
	CHECK(cudaIpcOpenMemHandle((void **)&his, h, cudaIpcMemLazyEnablePeerAccess));
	reduce(0); // both are there
	CHECK(cudaStreamSynchronize(s));
}

/* --- stuck --- */

static void ready_soon(void)
{
	if (rank)
		return;
	usleep(300000); // the other is where it stays
	ready();
}

static void opposite_orders(void)
{
	reduce(rank ? 1 : 0);
	reduce(rank ? 0 : 1);
	ready_soon();
	CHECK(cudaStreamSynchronize(s));
}

// Rank 1 waits for an input that never comes, before the collective.
static void missing(void)
{
	int nothing[2];
	char x;

	if (rank) {
		must(pipe(nothing), 0);
		must(read(nothing[0], &x, 1), 1);
	}
	reduce(0);
	ready_soon();
	CHECK(cudaStreamSynchronize(s));
}

// Rank 1 ends one collective too early, and its parent has not asked yet how it ended.
static void dead(void)
{
	if (rank)
		_exit(0);
	reduce(0);
	ready_soon();
	CHECK(cudaStreamSynchronize(s));
}

/* --- busy --- */

static void steps(unsigned us, unsigned each)
{
	if (!rank)
		ready();
	for (unsigned step = 0;; step++) {
		if (rank)
			usleep(us);
		for (unsigned i = 0; i < each; i++)
			reduce(0);
		CHECK(cudaStreamSynchronize(s));
	}
}

static void late_rank(void)
{
	steps(300000, 1);
}

static void very_late_rank(void)
{
	steps(20000000, 1);
}

static void many_collectives(void)
{
	steps(100, 20);
}

int main(int argc, char **argv)
{
	static const struct hang_case all[] = {{"opposite_orders", opposite_orders}, {"missing", missing}, {"dead", dead},
		{"late_rank", late_rank}, {"very_late_rank", very_late_rank}, {"many_collectives", many_collectives}};
	int down[2], up[2];

	if (argc > 3) {
		rank = 1;
		in = atoi(argv[2]);
		out = atoi(argv[3]);
	} else {
		must(pipe(down), 0);
		must(pipe(up), 0);
		setenv("RANK", "1", 1);
		hang_child(argc > 1 ? argv[1] : "", down[0], up[1]);
		in = up[0];
		out = down[1];
	}
	hang_limit();
	open_windows();
	return hang_run(all, sizeof(all) / sizeof(*all), argc > 1 ? argv[1] : "");
}
