/* SPDX-License-Identifier: Apache-2.0
 *
 * A program with the sections that nvcc makes, filled by hand: an empty region, padding, then a
 * region with a cubin entry and, with -DPTX, a PTX entry behind it.
 */
#include <stdint.h>

struct entry {
	uint16_t kind, one;
	uint32_t header;
	uint64_t payload;
	uint8_t rest[0x30];
	uint8_t bytes[16];
};
struct region {
	uint32_t magic;
	uint16_t version, header;
	uint64_t size;
};

#ifdef PTX
#define ENTRIES 2
#else
#define ENTRIES 1
#endif

static const struct {
	struct region empty;
	uint64_t padding[3];
	struct region r;
	struct entry e[ENTRIES];
} fatbin __attribute__((section(".nv_fatbin"), used)) = {
	.empty = {0xba55ed50u, 1, 16, 0},
	.r = {0xba55ed50u, 1, 16, sizeof(struct entry) * ENTRIES},
	.e =
		{
			{2, 0x0101, 0x40, 16, {0}, {0}},
#ifdef PTX
			{1, 0x0101, 0x40, 16, {0}, {0}},
#endif
		},
};
static const void *segment[3] __attribute__((section(".nvFatBinSegment"), used)) = {&fatbin};

int main(void)
{
	return 0;
}
