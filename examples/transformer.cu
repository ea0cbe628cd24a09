/* SPDX-License-Identifier: Apache-2.0
 *
 * A small transformer's forward pass, token by token with a cache of keys and values: rmsnorm, matrix products, attention, a gated
 * MLP, residuals, argmax. Several hundred launches on two streams (the next token's embedding row is copied while the last one is
 * computed). The tokens that come out are compared with the same arithmetic on the CPU.
 *   transformer [TOKENS]     default 8, at most 32
 */
#include "check.h"

#define LAYERS 4
#define DIM 64
#define HEADS 4
#define HEAD (DIM / HEADS)
#define HIDDEN 128
#define VOCAB 96
#define MAX_TOKENS 32
#define THREADS 64

/* out[row] = sum over k of w[row][k] * in[k]; one block a row */
__global__ void matvec(float *out, const float *w, const float *in, int n)
{
	__shared__ float part[THREADS];
	float sum = 0;

	for (int k = threadIdx.x; k < n; k += THREADS)
		sum = fmaf(w[blockIdx.x * n + k], in[k], sum);
	part[threadIdx.x] = sum;
	__syncthreads();
	for (int d = THREADS / 2; d; d /= 2) {
		if (threadIdx.x < d)
			part[threadIdx.x] += part[threadIdx.x + d];
		__syncthreads();
	}
	if (threadIdx.x == 0)
		out[blockIdx.x] = part[0];
}

__global__ void rmsnorm(float *out, const float *in, const float *gain)
{
	__shared__ float part[DIM];

	part[threadIdx.x] = in[threadIdx.x] * in[threadIdx.x];
	__syncthreads();
	for (int d = DIM / 2; d; d /= 2) {
		if (threadIdx.x < d)
			part[threadIdx.x] += part[threadIdx.x + d];
		__syncthreads();
	}
	out[threadIdx.x] = in[threadIdx.x] / sqrtf(part[0] / DIM + 1e-5f) * gain[threadIdx.x];
}

/* One block a head, one thread a component; scores by thread 0..pos */
__global__ void attention(float *out, const float *q, const float *keys, const float *values, int pos)
{
	__shared__ float score[MAX_TOKENS];
	const float *qh = q + blockIdx.x * HEAD;

	for (int t = threadIdx.x; t <= pos; t += HEAD) {
		float s = 0;
		for (int i = 0; i < HEAD; i++)
			s = fmaf(qh[i], keys[t * DIM + blockIdx.x * HEAD + i], s);
		score[t] = s / sqrtf((float)HEAD);
	}
	__syncthreads();
	float max = score[0], sum = 0, x = 0;
	for (int t = 1; t <= pos; t++)
		max = fmaxf(max, score[t]);
	for (int t = 0; t <= pos; t++) {
		float e = expf(score[t] - max);
		sum += e;
		x = fmaf(e, values[t * DIM + blockIdx.x * HEAD + threadIdx.x], x);
	}
	out[blockIdx.x * HEAD + threadIdx.x] = x / sum;
}

__global__ void gate(float *h, const float *up)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	h[i] = h[i] / (1 + expf(-h[i])) * up[i];
}

__global__ void add(float *x, const float *y)
{
	x[threadIdx.x] += y[threadIdx.x];
}

__global__ void argmax(int *out, const float *v, int n)
{
	int best = 0;

	for (int i = 1; i < n; i++)
		if (v[i] > v[best])
			best = i;
	*out = best;
}

struct layer {
	float *norm1, *wq, *wk, *wv, *wo, *norm2, *w1, *w3, *w2;
};

struct model {
	float *embedding;
	struct layer layer[LAYERS];
	float *norm, *head;
};

static unsigned next_weight;

/* The same weights on the device and on the host. */
static float *weights(float **host, int n, float around)
{
	float *d;

	*host = (float *)malloc(n * sizeof(float));
	for (int i = 0; i < n; i++)
		(*host)[i] = around + 0.6f * check_value(next_weight++);
	CHECK(cudaMalloc(&d, n * sizeof(float)));
	CHECK(cudaMemcpy(d, *host, n * sizeof(float), cudaMemcpyHostToDevice));
	return d;
}

static void model_init(struct model *dev, struct model *host)
{
	dev->embedding = weights(&host->embedding, VOCAB * DIM, 0);
	for (int l = 0; l < LAYERS; l++) {
		struct layer *d = &dev->layer[l], *h = &host->layer[l];

		d->norm1 = weights(&h->norm1, DIM, 1);
		d->wq = weights(&h->wq, DIM * DIM, 0);
		d->wk = weights(&h->wk, DIM * DIM, 0);
		d->wv = weights(&h->wv, DIM * DIM, 0);
		d->wo = weights(&h->wo, DIM * DIM, 0);
		d->norm2 = weights(&h->norm2, DIM, 1);
		d->w1 = weights(&h->w1, HIDDEN * DIM, 0);
		d->w3 = weights(&h->w3, HIDDEN * DIM, 0);
		d->w2 = weights(&h->w2, DIM * HIDDEN, 0);
	}
	dev->norm = weights(&host->norm, DIM, 1);
	dev->head = weights(&host->head, VOCAB * DIM, 0);
}

/* The CPU's side: plain loops in double, enough to choose the same token. */
static void host_matvec(double *out, const float *w, const double *in, int rows, int n)
{
	for (int r = 0; r < rows; r++) {
		out[r] = 0;
		for (int k = 0; k < n; k++)
			out[r] += (double)w[r * n + k] * in[k];
	}
}

static void host_norm(double *out, const double *in, const float *gain)
{
	double sum = 0;

	for (int i = 0; i < DIM; i++)
		sum += in[i] * in[i];
	for (int i = 0; i < DIM; i++)
		out[i] = in[i] / sqrt(sum / DIM + 1e-5) * gain[i];
}

static double host_keys[LAYERS][MAX_TOKENS][DIM], host_values[LAYERS][MAX_TOKENS][DIM];

static void host_attention(double *out, const double *q, double (*keys)[DIM], double (*values)[DIM], int pos)
{
	for (int h = 0; h < HEADS; h++) {
		double score[MAX_TOKENS], max = -1e30, sum = 0;

		for (int t = 0; t <= pos; t++) {
			score[t] = 0;
			for (int i = 0; i < HEAD; i++)
				score[t] += q[h * HEAD + i] * keys[t][h * HEAD + i];
			score[t] /= sqrt((double)HEAD);
			max = fmax(max, score[t]);
		}
		for (int t = 0; t <= pos; t++)
			sum += score[t] = exp(score[t] - max);
		for (int i = 0; i < HEAD; i++) {
			out[h * HEAD + i] = 0;
			for (int t = 0; t <= pos; t++)
				out[h * HEAD + i] += score[t] * values[t][h * HEAD + i] / sum;
		}
	}
}

static int host_forward(const struct model *m, int token, int pos, double *margin)
{
	double x[DIM], n[DIM], q[DIM], a[DIM], y[DIM], h1[HIDDEN], h3[HIDDEN], logits[VOCAB];
	int best = 0;

	for (int i = 0; i < DIM; i++)
		x[i] = m->embedding[token * DIM + i];
	for (int l = 0; l < LAYERS; l++) {
		const struct layer *w = &m->layer[l];

		host_norm(n, x, w->norm1);
		host_matvec(q, w->wq, n, DIM, DIM);
		host_matvec(host_keys[l][pos], w->wk, n, DIM, DIM);
		host_matvec(host_values[l][pos], w->wv, n, DIM, DIM);
		host_attention(a, q, host_keys[l], host_values[l], pos);
		host_matvec(y, w->wo, a, DIM, DIM);
		for (int i = 0; i < DIM; i++)
			x[i] += y[i];
		host_norm(n, x, w->norm2);
		host_matvec(h1, w->w1, n, HIDDEN, DIM);
		host_matvec(h3, w->w3, n, HIDDEN, DIM);
		for (int i = 0; i < HIDDEN; i++)
			h1[i] = h1[i] / (1 + exp(-h1[i])) * h3[i];
		host_matvec(y, w->w2, h1, DIM, HIDDEN);
		for (int i = 0; i < DIM; i++)
			x[i] += y[i];
	}
	host_norm(n, x, m->norm);
	host_matvec(logits, m->head, n, VOCAB, DIM);
	for (int i = 1; i < VOCAB; i++)
		if (logits[i] > logits[best])
			best = i;
	*margin = 1e30;
	for (int i = 0; i < VOCAB; i++)
		if (i != best && logits[best] - logits[i] < *margin)
			*margin = logits[best] - logits[i];
	return best;
}

int main(int argc, char **argv)
{
	const int tokens = argc > 1 ? atoi(argv[1]) : 8;
	struct model dev, host;
	float *x, *n, *q, *a, *y, *h1, *h3, *logits, *keys, *values;
	int *dtoken, token = 1, launches = 0;
	cudaStream_t compute, fetch;
	cudaEvent_t fetched;

	if (tokens < 1 || tokens > MAX_TOKENS) {
		fprintf(stderr, "usage: transformer [TOKENS], 1 to %d\n", MAX_TOKENS);
		return 1;
	}
	model_init(&dev, &host);
	CHECK(cudaStreamCreate(&compute));
	CHECK(cudaStreamCreate(&fetch));
	CHECK(cudaEventCreateWithFlags(&fetched, cudaEventDisableTiming));
	CHECK(cudaMalloc(&x, DIM * 4));
	CHECK(cudaMalloc(&n, DIM * 4));
	CHECK(cudaMalloc(&q, DIM * 4));
	CHECK(cudaMalloc(&a, DIM * 4));
	CHECK(cudaMalloc(&y, DIM * 4));
	CHECK(cudaMalloc(&h1, HIDDEN * 4));
	CHECK(cudaMalloc(&h3, HIDDEN * 4));
	CHECK(cudaMalloc(&logits, VOCAB * 4));
	CHECK(cudaMalloc(&keys, LAYERS * MAX_TOKENS * DIM * 4));
	CHECK(cudaMalloc(&values, LAYERS * MAX_TOKENS * DIM * 4));
	CHECK(cudaMalloc(&dtoken, sizeof(int)));

	printf("transformer:");
	for (int pos = 0; pos < tokens; pos++) {
		double margin;
		int want = host_forward(&host, token, pos, &margin), got;

		CHECK(cudaMemcpyAsync(x, dev.embedding + token * DIM, DIM * 4, cudaMemcpyDeviceToDevice, fetch));
		CHECK(cudaEventRecord(fetched, fetch));
		CHECK(cudaStreamWaitEvent(compute, fetched, 0));
		for (int l = 0; l < LAYERS; l++) {
			const struct layer *w = &dev.layer[l];
			float *k = keys + l * MAX_TOKENS * DIM, *v = values + l * MAX_TOKENS * DIM;

			rmsnorm<<<1, DIM, 0, compute>>>(n, x, w->norm1);
			matvec<<<DIM, THREADS, 0, compute>>>(q, w->wq, n, DIM);
			matvec<<<DIM, THREADS, 0, compute>>>(k + pos * DIM, w->wk, n, DIM);
			matvec<<<DIM, THREADS, 0, compute>>>(v + pos * DIM, w->wv, n, DIM);
			attention<<<HEADS, HEAD, 0, compute>>>(a, q, k, v, pos);
			matvec<<<DIM, THREADS, 0, compute>>>(y, w->wo, a, DIM);
			add<<<1, DIM, 0, compute>>>(x, y);
			rmsnorm<<<1, DIM, 0, compute>>>(n, x, w->norm2);
			matvec<<<HIDDEN, THREADS, 0, compute>>>(h1, w->w1, n, DIM);
			matvec<<<HIDDEN, THREADS, 0, compute>>>(h3, w->w3, n, DIM);
			gate<<<2, HIDDEN / 2, 0, compute>>>(h1, h3);
			matvec<<<DIM, THREADS, 0, compute>>>(y, w->w2, h1, HIDDEN);
			add<<<1, DIM, 0, compute>>>(x, y);
			launches += 13;
		}
		rmsnorm<<<1, DIM, 0, compute>>>(n, x, dev.norm);
		matvec<<<VOCAB, THREADS, 0, compute>>>(logits, dev.head, n, DIM);
		argmax<<<1, 1, 0, compute>>>(dtoken, logits, VOCAB);
		launches += 3;
		CHECK(cudaGetLastError());
		CHECK(cudaMemcpyAsync(&got, dtoken, sizeof(int), cudaMemcpyDeviceToHost, compute));
		CHECK(cudaStreamSynchronize(compute));
		printf(" %d", got);
		if (got != want && margin > 1e-3) {
			printf("\ntransformer: WRONG token at %d: %d, not %d\n", pos, got, want);
			return 1;
		}
		token = got;
	}
	printf("\ntransformer: %d launches ok\n", launches);
	return 0;
}
