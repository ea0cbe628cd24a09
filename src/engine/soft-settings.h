/* SPDX-License-Identifier: Apache-2.0
 *
 * The settings of the software GPU and probes in its kernels: as a request to a replay's device,
 * and as the environment of a live program, which writes the races that it finds into a file of the
 * engine.
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
#define SOFT_OWN 8
char **soft_settings_env(struct engine *en, char **ret_own);
/* Reads at most `most` new races that the live program found; returns how many. */
size_t soft_races(struct engine *en, struct soft_race *ret, size_t most);
void soft_races_end(struct engine *en);

/* --- probes (kernel-probes.c): replayer/soft-probe.h says what they count --- */

struct probe {
	unsigned id;
	enum soft_probe_kind kind;
	char *kernel, *file; /* heap; kernel NULL: any; file NULL: the kernel's own */
	unsigned line;
	char *expr, *condition; /* heap; NULL: none */
};
struct probes;
void probes_free(struct probes *p); /* NULL is fine */
void probe_free(struct probe *p);
/* Adds a probe, whose texts the engine takes also when it fails. ERR_NOT_FOUND: the trace has no
 * kernel with such a line; ERR_LIMIT: there are as many as there can be. */
struct err *probes_add(struct engine *en, struct probe p, unsigned *ret_id) TS_CHECK;
const struct probe *probes_nth(const struct engine *en, unsigned i); /* NULL: there are no more */
/* False: there is none with that number. What the others counted of the program is forgotten. */
bool probes_remove(struct engine *en, unsigned id);
/* What each has counted: live, of the program's launches that have ended; with replay, of all
 * launches of the window, which are executed for it; the replay is then where it was. *ret (heap)
 * has as many as there are probes. ERR_UNSUPPORTED: there is no software GPU. */
struct err *probes_results(struct engine *en, bool replay, struct soft_probe_result **ret) TS_CHECK;
/* The file for a live program that is about to run; NULL: there are neither probes nor messages
 * inside kernels. Belongs to en. */
const char *probes_file(struct engine *en);
/* Gives the live program the messages inside kernels (breakpoint_is_in_kernel()) as they are now.
 * ERR_LIMIT: with the probes there are too many; ERR_STATE: the program was started without any. */
struct err *kernel_prints_set(struct engine *en) TS_CHECK;
/* Calls the hook for what the program's kernels have printed since. */
void kernel_prints_take(struct engine *en);

/* --- messages inside kernels of a replay, by changed code (kernel-prints.c) --- */

struct kernel_prints; /* what threads of the window show; in struct replay_device */
void kernel_prints_free(struct kernel_prints *k); /* NULL is fine */
/* Whether the replay's device shows them that way: it cannot stop inside kernels, or
 * `set probes rewrite` is on. */
bool kernel_prints_coded(const struct engine *en);
/* Executes the whole window in a process of its own, unless there are no such messages, or they
 * are those of the last time. ERR_UNSUPPORTED: the code cannot be changed so. */
struct err *kernel_prints_collect(struct engine *en) TS_CHECK;
/* Calls the hook for what launches first to last show. The launch `first` is left out if it was the
 * last of the call before, and kernel_prints_moved() was not called since. */
void kernel_prints_tell(struct engine *en, uint64_t first, uint64_t last);
void kernel_prints_moved(struct engine *en);

#endif
