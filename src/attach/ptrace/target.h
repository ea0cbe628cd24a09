/* SPDX-License-Identifier: Apache-2.0
 *
 * Private to the room attach: whether tsdb can attach to a running process. All refusals that can
 * be known beforehand are made here, before anything is changed in the process.
 */
#ifndef ATTACH_TARGET_H
#define ATTACH_TARGET_H

#include "attach/attach.h"

/* agent: the path of the agent's library, as tsdb sees it. */
struct err *target_check(pid_t pid, const char *agent) TS_CHECK;
/* Whether the process cannot look into tsdb's /proc: it belongs to another user or user namespace,
 * or has fewer capabilities. */
bool target_is_foreign(pid_t pid);
/* The error for a refusal of PTRACE_SEIZE (sys: its errno). */
struct err *target_seize_error(pid_t pid, int sys) TS_CHECK;
/* The value of kernel.yama.ptrace_scope, -1 without Yama. */
int target_yama_scope(void);
/* The path of a process's program, with the kernel's " (deleted)" if the file was removed. Returns
 * false, with path "", if it cannot be read. */
bool target_program(pid_t pid, char *path, size_t n);
/* The command name of a process, "?" when it has ended. */
void target_name(pid_t pid, char name[16]);

#endif
