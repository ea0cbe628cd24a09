/* SPDX-License-Identifier: Apache-2.0
 *
 * Modules' code, as the driver shows it when it loads it.
 */
#ifndef CAPTURE_CODE_H
#define CAPTURE_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "gpucode/code-kind.h"

struct thread;

/* Notes hash and size in t (loaded_hash, loaded_size) and sends the bytes in pieces, once per content, if control.code says so. */
void code_loaded(struct thread *t, const void *code, size_t size);

/* Notes hash and size in t, and does nothing else. */
void code_peek(struct thread *t, const void *code, size_t size);

struct object;
/* What was loaded last in t is this module's code, if that was not known; says so with a record, whose number is returned (0: none). module may be NULL. */
uint64_t code_belongs(struct thread *t, struct object *module);

/* Whether code is recorded. */
bool code_wanted(void);
/* Sends the bytes, once per content. Their hash. */
uint64_t code_send(struct thread *t, const void *code, size_t size, enum code_kind kind);

#endif
