/* SPDX-License-Identifier: Apache-2.0
 *
 * libcu++ for compute capability 7.5: atomics and references to them with every order, a barrier, a latch, a semaphore, a
 * pipeline of memcpy_async with one producer warp, spans, tuples, complex numbers.
 */
#include "suite.h"
#include <cooperative_groups.h>
#include <cuda/atomic>
#include <cuda/barrier>
#include <cuda/latch>
#include <cuda/pipeline>
#include <cuda/semaphore>
#include <cuda/std/array>
#include <cuda/std/complex>
#include <cuda/std/span>
#include <cuda/std/tuple>

#pragma nv_diag_suppress static_var_with_dynamic_init

namespace cg = cooperative_groups;
#define BLOCKS 4
#define THREADS 64

struct shared {
	cuda::atomic<int, cuda::thread_scope_device> tickets, highest, bits, swapped;
	cuda::atomic<float, cuda::thread_scope_device> sum;
	cuda::atomic<unsigned long long, cuda::thread_scope_device> wide;
	cuda::atomic<short, cuda::thread_scope_device> small; /* compare and swap of the word around it */
};

__global__ void atomics(struct shared *s, int *plain, int *tickets)
{
	int i = blockIdx.x * THREADS + threadIdx.x;

	tickets[s->tickets.fetch_add(1, cuda::memory_order_relaxed)] = 1;
	s->highest.fetch_max(i * 7 % 251, cuda::memory_order_acq_rel);
	s->bits.fetch_or(1 << i % 31);
	s->sum.fetch_add(0.5f);
	s->wide += (unsigned long long)i << 20;
	s->small.fetch_add(1);
	for (int old = s->swapped.load(cuda::memory_order_relaxed); !s->swapped.compare_exchange_weak(old, old + 3);)
		;
	cuda::atomic_ref<int, cuda::thread_scope_device>(*plain).fetch_sub(2, cuda::memory_order_release);
}

/* Block after block, by a flag with release and acquire: data is plain. */
__global__ void chain(cuda::atomic<int, cuda::thread_scope_device> *turn, int *data)
{
	if (threadIdx.x == 0) {
		while (turn->load(cuda::memory_order_acquire) != (int)blockIdx.x)
			;
		*data = *data * 3 + (int)blockIdx.x;
		turn->store(blockIdx.x + 1, cuda::memory_order_release);
		turn->notify_all();
	}
}

__global__ void barriers(const int *in, int *out)
{
	__shared__ cuda::barrier<cuda::thread_scope_block> bar;
	using latch = cuda::latch<cuda::thread_scope_block>;
	using semaphore = cuda::counting_semaphore<cuda::thread_scope_block, 2>;
	/* These have no constructor without arguments. */
	__shared__ alignas(latch) char latch_space[sizeof(latch)];
	__shared__ alignas(semaphore) char semaphore_space[sizeof(semaphore)];
	latch &begun = reinterpret_cast<latch &>(latch_space);
	semaphore &two = reinterpret_cast<semaphore &>(semaphore_space);
	__shared__ int v[THREADS], inside, most;
	int t = threadIdx.x;

	if (t == 0) {
		init(&bar, THREADS);
		new (&begun) latch(THREADS);
		new (&two) semaphore(2);
		inside = most = 0;
	}
	__syncthreads();
	v[t] = in[blockIdx.x * THREADS + t];
	for (int step = 1; step < THREADS; step *= 2) {
		auto token = bar.arrive();
		bar.wait(std::move(token));
		int add = t >= step ? v[t - step] : 0;
		bar.arrive_and_wait();
		v[t] += add;
	}
	begun.arrive_and_wait();
	if (t % 16 == 0) {
		two.acquire();
		atomicMax(&most, atomicAdd(&inside, 1) + 1);
		atomicSub(&inside, 1);
		two.release();
	}
	__syncthreads();
	out[blockIdx.x * THREADS + t] = most <= 2 ? v[t] : -1;
}

/* The last warp fetches, the others add. */
__global__ void pipelined(const int *in, int *out, int steps)
{
	__shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> state;
	__shared__ int tile[2][THREADS];
	cg::thread_block block = cg::this_thread_block();
	bool producer = threadIdx.x >= THREADS;
	auto pipe = cuda::make_pipeline(block, &state, producer ? cuda::pipeline_role::producer : cuda::pipeline_role::consumer);
	int sum = 0;

	in += blockIdx.x * steps * THREADS;
	for (int s = 0; s < steps; s++) {
		if (producer) {
			pipe.producer_acquire();
			for (int i = threadIdx.x % 32; i < THREADS; i += 32)
				cuda::memcpy_async(&tile[s % 2][i], &in[s * THREADS + i], sizeof(int), pipe);
			pipe.producer_commit();
		} else {
			pipe.consumer_wait();
			sum += tile[s % 2][THREADS - 1 - threadIdx.x];
			pipe.consumer_release();
		}
	}
	if (!producer)
		out[blockIdx.x * THREADS + threadIdx.x] = sum;
}

__global__ void values(const double *in, double *out, int n)
{
	cuda::std::span<const double> all(in, n);
	cuda::std::complex<double> z(all[threadIdx.x], 1), w = z * z / cuda::std::complex<double>(0, 2);
	cuda::std::array<double, 2> a = {cuda::std::norm(z), w.real()};
	auto both = cuda::std::make_tuple(a[0], a[1] + w.imag());

	out[threadIdx.x] = cuda::std::get<0>(both) + cuda::std::get<1>(both);
}

static void check_atomics()
{
	const int n = BLOCKS * THREADS;
	struct shared *s = device_zeros<struct shared>(1);
	int *plain = device_zeros<int>(1), *tickets = device_zeros<int>(n), *data = device_zeros<int>(1);
	auto *turn = device_zeros<cuda::atomic<int, cuda::thread_scope_device>>(1);
	int most = 0, value = 0;
	struct {
		int tickets, highest, bits, swapped;
		float sum;
		unsigned long long wide;
		short small;
	} got;

	static_assert(sizeof(got) == sizeof(struct shared), "cuda::atomic<T> is as large as T");
	atomics<<<BLOCKS, THREADS>>>(s, plain, tickets);
	compare("tickets", to_host(tickets, n), std::vector<int>(n, 1));
	CHECK(cudaMemcpy(&got, s, sizeof(got), cudaMemcpyDeviceToHost));
	for (int i = 0; i < n; i++)
		most = i * 7 % 251 > most ? i * 7 % 251 : most;
	compare("atomics", std::vector<double>{(double)got.tickets, (double)got.highest, (double)got.bits, (double)got.swapped, got.sum, (double)got.wide, (double)got.small},
		std::vector<double>{n, (double)most, 0x7fffffff, n * 3.0, n * 0.5, n * (n - 1) / 2 * 1048576.0, n});
	compare("atomic_ref", to_host(plain, 1), std::vector<int>{-2 * n});
	chain<<<BLOCKS, 32>>>(turn, data);
	for (int b = 0; b < BLOCKS; b++)
		value = value * 3 + b;
	compare("chain", to_host(data, 1), std::vector<int>{value});
}

int main()
{
	const int n = BLOCKS * THREADS, steps = 6;
	std::vector<int> in(n * steps), want(n), sums(n);
	std::vector<double> v(32), want_values(32);
	unsigned seed = 52;

	check_atomics();
	for (int &x : in)
		x = next_random(&seed) % 1000;
	for (int i = 0; i < n; i++) {
		want[i] = in[i] + (i % THREADS ? want[i - 1] : 0);
		for (int s = 0; s < steps; s++)
			sums[i] += in[(i / THREADS * steps + s) * THREADS + THREADS - 1 - i % THREADS];
	}
	int *d = to_device(in), *out = device_zeros<int>(n);
	barriers<<<BLOCKS, THREADS>>>(d, out);
	compare("barriers", to_host(out, n), want);
	pipelined<<<BLOCKS, THREADS + 32>>>(d, out, steps);
	compare("pipelined", to_host(out, n), sums);

	/* z = x + i: |z|^2 = x^2 + 1; z^2 / 2i = x - (x^2 - 1) / 2 * i. */
	for (int i = 0; i < 32; i++) {
		v[i] = i / 4.0 - 3;
		want_values[i] = v[i] * v[i] + 1 + v[i] - (v[i] * v[i] - 1) / 2;
	}
	double *results = device_zeros<double>(32);
	values<<<1, 32>>>(to_device(v), results, 32);
	compare("values", to_host(results, 32), want_values, 1e-12);
	return passed("libcu");
}
