/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads bytes as numbers of a given type: the types of --as. For tsdb and the replayer.
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
/* Indexed by enum replayer_as. The row of AUTO is the type used when no values were seen. */
extern const struct value_type value_types[REPLAYER_AS_END];

/* The number that the low bits encode; exact for floats narrower than a double and for integers up
 * to 2^53. */
double value_of(uint64_t bits, enum replayer_as as);
/* The low bits as a signed integer. */
int64_t value_signed(uint64_t bits, enum replayer_as as);

#endif
