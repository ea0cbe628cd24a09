/* SPDX-License-Identifier: Apache-2.0
 *
 * Gravity between 192 bodies, a few steps: float4 loads, shared tiles, rsqrtf, two buffers in turn.
 */
#include "suite.h"

#define BLOCK 64
#define SOFTENING 0.01f

__global__ void advance(const float4 *from, float4 *to, float4 *velocity, int n, float dt)
{
	__shared__ float4 tile[BLOCK];
	int i = blockIdx.x * BLOCK + threadIdx.x;
	float4 me = from[i], v = velocity[i];
	float3 a = make_float3(0, 0, 0);

	for (int first = 0; first < n; first += BLOCK) {
		tile[threadIdx.x] = from[first + threadIdx.x];
		__syncthreads();
#pragma unroll 4
		for (int j = 0; j < BLOCK; j++) {
			float4 o = tile[j];
			float dx = o.x - me.x, dy = o.y - me.y, dz = o.z - me.z;
			float inv = rsqrtf(dx * dx + dy * dy + dz * dz + SOFTENING);
			float s = o.w * inv * inv * inv;

			a.x += dx * s;
			a.y += dy * s;
			a.z += dz * s;
		}
		__syncthreads();
	}
	v.x += a.x * dt;
	v.y += a.y * dt;
	v.z += a.z * dt;
	velocity[i] = v;
	to[i] = make_float4(me.x + v.x * dt, me.y + v.y * dt, me.z + v.z * dt, me.w);
}

int main()
{
	const int n = 3 * BLOCK, steps = 3;
	const float dt = 0.01f;
	std::vector<float4> pos(n), vel(n);
	std::vector<double> p(n * 3), v(n * 3);
	std::vector<float> want(n * 3), got(n * 3);
	unsigned seed = 5;

	for (int i = 0; i < n; i++) {
		float c[3];

		for (int k = 0; k < 3; k++)
			p[i * 3 + k] = c[k] = (float)(next_random(&seed) % 1000) / 500 - 1;
		pos[i] = make_float4(c[0], c[1], c[2], 1.0f / n);
	}
	for (int s = 0; s < steps; s++) {
		std::vector<double> old = p;

		for (int i = 0; i < n; i++) {
			double a[3] = {0, 0, 0};

			for (int j = 0; j < n; j++) {
				double d[3], r = SOFTENING;

				for (int k = 0; k < 3; k++) {
					d[k] = old[j * 3 + k] - old[i * 3 + k];
					r += d[k] * d[k];
				}
				for (int k = 0; k < 3; k++)
					a[k] += d[k] / n / (r * std::sqrt(r));
			}
			for (int k = 0; k < 3; k++) {
				v[i * 3 + k] += a[k] * dt;
				p[i * 3 + k] += v[i * 3 + k] * dt;
			}
		}
	}
	float4 *d_a = to_device(pos), *d_b = device_zeros<float4>(n), *d_v = to_device(vel);
	for (int s = 0; s < steps; s++) {
		advance<<<n / BLOCK, BLOCK>>>(d_a, d_b, d_v, n, dt);
		std::swap(d_a, d_b);
	}
	std::vector<float4> result = to_host(d_a, n);
	for (int i = 0; i < n; i++) {
		got[i * 3] = result[i].x;
		got[i * 3 + 1] = result[i].y;
		got[i * 3 + 2] = result[i].z;
		for (int k = 0; k < 3; k++)
			want[i * 3 + k] = (float)p[i * 3 + k];
	}
	compare("nbody", got, want, 1e-5);
	return passed("nbody");
}
