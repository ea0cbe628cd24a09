/* SPDX-License-Identifier: Apache-2.0
 *
 * Makes the checksums of a damaged trace right again, so that tests and fuzzing get past them to
 * the code behind.
 */
#ifndef SBT_REPAIR_H
#define SBT_REPAIR_H

#include <string.h>
#include <xxhash.h>

#include "sbt/format/format.h"

static inline void repair(uint8_t *data, size_t n)
{
	struct sbt_file_header f;
	struct sbt_chunk_header h;

	if (n < sizeof f)
		return;
	memcpy(&f, data, sizeof f);
	f.hash = XXH64(&f, offsetof(struct sbt_file_header, hash), 0);
	memcpy(data, &f, sizeof f);
	for (size_t at = sizeof f; n - at >= sizeof h; at += sizeof h + h.stored) {
		memcpy(&h, data + at, sizeof h);
		if (h.stored > n - at - sizeof h)
			return;
		h.magic = SBT_CHUNK_MAGIC;
		h.hash = XXH64(data + at + sizeof h, h.stored, 0);
		h.header_sum = sbt_header_sum(&h);
		memcpy(data + at, &h, sizeof h);
	}
}

#endif
