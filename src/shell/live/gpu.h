/* SPDX-License-Identifier: Apache-2.0
 *
 * Which device a program gets, where tsdb's own libraries are, and what this machine can do (`tsdb
 * doctor`).
 */
#ifndef SHELL_GPU_H
#define SHELL_GPU_H

#include "attach/attach.h"
#include "symbols/elf-facts.h"
#include "engine/parts.h"
#include "shell/line/session.h"

/* Chooses the device for a program by `set gpu`; prints it if tsdb made the choice. Refuses what
 * cannot work, with the cure. */
struct err *gpu_choose(struct session *s, const char *path, const struct program_facts *facts,
	bool *ret_soft) TS_CHECK;
/* Prints a line for each thing that tsdb needs. Returns false if its main work cannot be done
 * here. */
bool gpu_doctor(struct session *s);

#endif
