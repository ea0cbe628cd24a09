/* SPDX-License-Identifier: Apache-2.0
 *
 * The Python frames of the calling thread, read from the interpreter's structures: without its
 * lock, and without running or allocating anything in Python. The frames belong to the thread, so
 * they do not change while it is in the agent's callback, whichever thread holds the lock.
 */
#ifndef CAPTURE_PYTHON_H
#define CAPTURE_PYTHON_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "sbt/expr.h"

struct thread;

#define PYTHON_FRAMES_MAX 512u /* of one stack, hidden ones included */

/* Set once a known interpreter has been found. A process without Python pays only for this test. */
extern _Atomic bool python_here;

/* Looks for an interpreter among the loaded files. Cheap if there is none. */
void python_look(void);

/* One frame of the walk; see sbt/python.h. */
struct python_step {
	uint64_t pc;	 /* TSDB_PC_PYTHON(); 0: nothing to show */
	uint64_t anchor; /* not 0: it is the outermost of its group */
};

/* A number for the frames on the thread's Python stack now: equal for equal frames, code objects
 * and instructions. 0: there is no Python frame. */
uint64_t python_stack_hash(void);
/* Puts the frames, innermost first, into `to`, at most max, and sends their code objects on the
 * thread's ring; returns how many frames there are. */
unsigned python_stack_take(struct thread *t, struct python_step *to, unsigned max);

/* Answers conditions (struct sbt_python_view); arg is not used. */
uint64_t python_answer(void *arg, enum sbt_python what, const char *text, bool glob);

#endif
