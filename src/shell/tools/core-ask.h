/* SPDX-License-Identifier: Apache-2.0
 *
 * Asks the NVIDIA driver in a running process for a GPU core dump.
 */
#ifndef SHELL_CORE_ASK_H
#define SHELL_CORE_ASK_H

#include <stdbool.h>
#include <sys/types.h>
#include "base/err.h"

struct gpu_core;
struct session;

/* Whether the driver in the process listens for the question below. */
bool core_can_ask(pid_t pid);
/*
 * The process must have been started with CUDA_ENABLE_USER_TRIGGERED_COREDUMP=1. Writes to the
 * driver's pipe and waits for the file, 10 s at most. It costs the process its context: every later
 * call of CUDA in it fails. *ret: the caller's, for gpu_core_free(). *ret_path: the file, from
 * malloc.
 */
struct err *core_ask(pid_t pid, struct gpu_core **ret, char **ret_path) TS_CHECK;
/* Prints the dump that the process is asked for, or, with pid 0, the one that is in a file. */
struct err *core_show(struct session *s, pid_t pid, const char *file, bool json) TS_CHECK;

#endif
