/* SPDX-License-Identifier: Apache-2.0
 *
 * Inside sandbox.h: one function for each wall. Each fills b->up and b->how; what the kernel does not grant is no error.
 */
#ifndef REPLAY_SANDBOX_PRIVATE_H
#define REPLAY_SANDBOX_PRIVATE_H

#include "replayer/sandbox/sandbox.h"

#define SANDBOX_FILES_SOFT 512u	 /* open files: threads that read the trace have one each */
#define SANDBOX_FILES_REAL 4096u /* a driver with several devices has hundreds */

/* The wall is up; the format says what it does here. */
void sandbox_has(struct sandbox *b, enum sandbox_wall w, const char *fmt, ...) TS_PRINTF(3, 4);
/* The wall is missing; the format says why. */
void sandbox_lacks(struct sandbox *b, enum sandbox_wall w, const char *fmt, ...) TS_PRINTF(3, 4);

/* When memory runs out, the kernel ends this process first. */
void sandbox_first_to_go(void);
void sandbox_namespaces(struct sandbox *b);
/* An empty folder becomes the root. Needs a namespace of our own, or root's rights. */
bool sandbox_empty_root(void);
void sandbox_limits(struct sandbox *b);
/* folder: stays readable; may be NULL. */
void sandbox_landlock(struct sandbox *b, const char *folder);
void sandbox_capabilities(struct sandbox *b);
/* Comes last: what the other walls need to go up is not permitted any more. */
void sandbox_seccomp(struct sandbox *b);

#endif
