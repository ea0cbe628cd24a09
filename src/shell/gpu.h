/* SPDX-License-Identifier: Apache-2.0
 *
 * Which device a program gets, where our own libraries are, and what this machine can do (`tsdb doctor`).
 */
#ifndef SHELL_GPU_H
#define SHELL_GPU_H

#include "attach/attach.h"
#include "shell/session.h"

/* Whether the machine has an NVIDIA driver; a look at files, the driver is not loaded. */
bool gpu_has_driver(void);
/* libtsdb-agent.so and the software GPU's folder: beside tsdb in a build tree or a bundle, else where they were installed.
 * Heap strings; NULL when they are not there. */
char *gpu_agent_path(void);
char *gpu_soft_dir(void);
/* The same for tsdb-replayer: sanitised when that is. */
char *gpu_soft_dir_for_replay(void);
/* The program tsdb-replayer. */
char *gpu_replayer_path(void);
/* The device for a program by `set gpu`; says which one when the choice was ours. Refuses what cannot work, with the cure. */
struct err *gpu_choose(struct session *s, const char *path, const struct program_facts *facts, bool *ret_soft) TS_CHECK;
/* A line for each thing tsdb needs. False when the main job cannot be done here. */
bool gpu_doctor(struct session *s);

#endif
