/* SPDX-License-Identifier: Apache-2.0
 *
 * What the programs of this folder share: refusal on an error, NVTX ranges "step N", a checksum to
 * print.
 */
#ifndef TESTS_REAL_H
#define TESTS_REAL_H

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>
#include <nvtx3/nvToolsExt.h>

#define CHECK(call)                                                                                \
	do {                                                                                       \
		long status_ = (long)(call);                                                       \
		if (status_ != 0) {                                                                \
			fprintf(stderr, "%s:%d: %s: %ld\n", __FILE__, __LINE__, #call, status_);   \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)

struct step {
	explicit step(int n)
	{
		char name[32];
		snprintf(name, sizeof name, "step %d", n);
		nvtxRangePushA(name);
	}
	~step()
	{
		nvtxRangePop();
	}
};

static inline int steps_of(int argc, char **argv)
{
	return argc > 1 ? atoi(argv[1]) : 5;
}

/* FNV-1a over the bytes. */
static inline uint64_t checksum(const void *data, size_t n)
{
	const unsigned char *p = (const unsigned char *)data;
	uint64_t h = 0xcbf29ce484222325u;

	while (n--)
		h = (h ^ *p++) * 0x100000001b3u;
	return h;
}

#endif
