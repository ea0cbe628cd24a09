/* SPDX-License-Identifier: Apache-2.0
 *
 * The settings of the software GPU: as a request to a replay's device, and as the environment of a
 * live program, which writes the races that it finds into a file of the engine.
 */
#ifndef ENGINE_SOFT_SETTINGS_H
#define ENGINE_SOFT_SETTINGS_H

#include "engine/engine.h"
#include "replay/protocol.h"

/* Makes a request from `set softgpu schedule` and `racecheck`. ERR_USAGE: the schedule is
 * invalid. */
struct err *soft_settings(const struct settings *set, struct replayer_soft *ret) TS_CHECK;
/* Applies them to the replay's device if it is a software GPU. An invalid schedule is replaced by
 * the default, with an error. */
struct err *soft_settings_apply(struct engine *en) TS_CHECK;

/* Checks `set softgpu sm`. One that the software GPU does not have is replaced by the default, with
 * an error. */
struct err *soft_settings_sm(struct engine *en) TS_CHECK;

/* The program's environment with the settings added: a heap array of strings that belong to
 * live.env or to ret_own (SOFT_OWN of them, each NULL or to be freed with the array). Makes a new
 * file for races if they are looked for. */
#define SOFT_OWN 6
char **soft_settings_env(struct engine *en, char **ret_own);
/* Reads at most `most` new races that the live program found; returns how many. */
size_t soft_races(struct engine *en, struct soft_race *ret, size_t most);
void soft_races_end(struct engine *en);

#endif
