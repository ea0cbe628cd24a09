/* SPDX-License-Identifier: Apache-2.0
 *
 * Inside sandbox.h: one function for each wall. Each fills b->up and b->how. What the kernel does
 * not grant is no error.
 */
#ifndef REPLAY_SANDBOX_PRIVATE_H
#define REPLAY_SANDBOX_PRIVATE_H

#include "replayer/sandbox/sandbox.h"

#define SANDBOX_FILES_SOFT 512u	 /* open files: threads that read the trace have one each */
#define SANDBOX_FILES_REAL 4096u /* a driver with several devices has hundreds */

/* Notes that the wall is up; the format says what it does here. */
void sandbox_has(struct sandbox *b, enum sandbox_wall w, const char *fmt, ...) TS_PRINTF(3, 4);
/* Notes that the wall is missing; the format says why. */
void sandbox_lacks(struct sandbox *b, enum sandbox_wall w, const char *fmt, ...) TS_PRINTF(3, 4);

/* Makes the kernel end this process first when memory runs out. */
void sandbox_first_to_go(void);
void sandbox_namespaces(struct sandbox *b);
/* Makes an empty folder the root. Needs a namespace of its own, or root's rights. */
bool sandbox_empty_root(void);
/* Mounts an empty file system in memory at /tmp, for this process alone. */
bool sandbox_scratch(void);
void sandbox_limits(struct sandbox *b);
/* folder: stays readable; may be NULL. */
void sandbox_landlock(struct sandbox *b, const char *folder);
void sandbox_capabilities(struct sandbox *b);
/* Comes last: the calls that put up the other walls are forbidden after it. */
void sandbox_seccomp(struct sandbox *b);

#endif
