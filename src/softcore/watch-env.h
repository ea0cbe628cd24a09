/* SPDX-License-Identifier: Apache-2.0
 *
 * What the environment of a program asks of the software GPU that executes it:
 *   TSDB_SOFT_SCHEDULE   "fixed", or "random:SEED"
 *   TSDB_SOFT_RACECHECK  1: look for races and say what is found on stderr; a path: append it there
 *                        (struct soft_race)
 */
#ifndef SOFTCORE_WATCH_ENV_H
#define SOFTCORE_WATCH_ENV_H

#include <stdbool.h>
#include <stdint.h>

#include "softcore/race-list.h"

struct watch_env {
	bool racecheck; /* races are printed when found, see race_list_tell() */
	bool random;
	uint64_t seed;
};
/* Reads it. Words stay the caller's and must live on; by them a schedule that is neither is said.
 */
void watch_env_read(struct watch_env *ret, const struct race_words *words);

#endif
