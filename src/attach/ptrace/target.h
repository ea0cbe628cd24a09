/* SPDX-License-Identifier: Apache-2.0
 *
 * Private to the room attach: whether a running process can be attached to. All refusals that can be known beforehand are made here, before anything
 * is changed in the process.
 */
#ifndef ATTACH_TARGET_H
#define ATTACH_TARGET_H

#include "attach/attach.h"

/* agent: the path of the agent's library, as tsdb sees it. */
struct err *target_check(pid_t pid, const char *agent) TS_CHECK;
/* Whether it may not look into our /proc: it belongs to another user or user namespace, or has fewer capabilities. */
bool target_is_foreign(pid_t pid);
/* What a refusal of PTRACE_SEIZE means (sys: its errno). */
struct err *target_seize_error(pid_t pid, int sys) TS_CHECK;
/* kernel.yama.ptrace_scope, -1 without Yama. */
int target_yama_scope(void);
/* The path of a process's program, with the kernel's " (deleted)" where it has gone. False, and "": it cannot be told. */
bool target_program(pid_t pid, char *path, size_t n);
/* The command name of a process, "?" when it is gone. */
void target_name(pid_t pid, char name[16]);

#endif
