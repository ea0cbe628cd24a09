/* SPDX-License-Identifier: Apache-2.0
 *
 * Host stacks of the calling thread, as ids. A path that was seen before costs one read per frame.
 */
#ifndef CAPTURE_STACK_H
#define CAPTURE_STACK_H

#include <stdint.h>

struct thread;

/* Finds libunwind. Without it frame pointers are used. */
void stack_init(void);
/* The id of the stack above the agent's callback, whose frame address (__builtin_frame_address(0))
 * is frame. Sends the stack's definition if it is new. 0: no stack could be taken. depth: most
 * frames. hint: any number that differs for calls which take turns in one function, such as the
 * kernel's; it decides only how fast the stack is found. */
uint32_t stack_take(struct thread *t, const void *frame, uint32_t depth, uint32_t hint);

/* The thread ends: frees its memory. */
void stack_forget(struct thread *t);

#endif
