/* SPDX-License-Identifier: Apache-2.0
 *
 * What this machine can do (`tsdb doctor`).
 */
#ifndef SHELL_GPU_H
#define SHELL_GPU_H

#include "engine/parts.h"
#include "shell/line/session.h"

/* Prints a line for each thing that tsdb needs. Returns false if its main work cannot be done
 * here. */
bool gpu_doctor(struct session *s, bool json);

#endif
