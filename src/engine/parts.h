/* SPDX-License-Identifier: Apache-2.0
 *
 * Finds the files that belong to tsdb (agent, replayer, software GPU), and the machine's driver.
 */
#ifndef ENGINE_PARTS_H
#define ENGINE_PARTS_H

#include <stdbool.h>

/* Whether the machine has an NVIDIA driver. Only looks for files; the driver is not loaded. */
bool gpu_has_driver(void);
/* Looks for the files below in this folder first, for programs that do not lie beside them; before
 * any engine is used. dir stays the caller's; NULL: no such folder. */
void gpu_parts_folder(const char *dir);
/* libtsdb-agent.so and the software GPU's folder: beside tsdb in a build tree or a bundle, else
 * where they were installed; an installation that was moved is found as seen from tsdb. Heap
 * strings; NULL when they are not there. */
char *gpu_agent_path(void);
char *gpu_soft_dir(void);
/* The same of the software AMD GPU's library. */
char *gpu_soft_amd_dir(void);
/* The same for tsdb-replayer: a build with sanitisers if tsdb-replayer is one. */
char *gpu_soft_dir_for_replay(void);
/* The program tsdb-replayer. */
char *gpu_replayer_path(void);
/* The program tsdb-keeper. */
char *gpu_keeper_path(void);
/* The example program of this name. */
char *gpu_example_path(const char *name);

#endif
