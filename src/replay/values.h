/* SPDX-License-Identifier: Apache-2.0
 *
 * Bytes as the numbers that a kernel takes them for: the types of --as. For tsdb and the replayer.
 */
#ifndef REPLAY_VALUES_H
#define REPLAY_VALUES_H

#include <stdbool.h>
#include <stdint.h>
#include "replay/protocol.h"

struct value_type {
	const char *name;
	unsigned bytes; /* at most 8 */
	bool is_float;
};
/* AUTO is there too, as what it means while nothing was seen. */
extern const struct value_type value_types[REPLAYER_AS_END];

/* The number whose bits are the low ones; floats narrower than a double and integers up to 2^53 exactly. */
double value_of(uint64_t bits, enum replayer_as as);
/* Its bits as an integer with a sign. */
int64_t value_signed(uint64_t bits, enum replayer_as as);

#endif
