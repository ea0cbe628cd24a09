/* SPDX-License-Identifier: Apache-2.0
 *
 * Modules' code, in the form that the driver passes on when it loads it.
 */
#ifndef CAPTURE_CODE_H
#define CAPTURE_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "gpucode/code-kind.h"

struct thread;

/* Puts hash and size into t (loaded_hash, loaded_size), and sends the bytes in pieces, once for
 * each content, if control.code says so. */
void code_loaded(struct thread *t, const void *code, size_t size);

/* Only puts hash and size into t. */
void code_peek(struct thread *t, const void *code, size_t size);

struct object;
/* The code loaded last in t is this module's. If the module's code was not known, records that, and
 * returns the record's number (0: none). module may be NULL. */
uint64_t code_belongs(struct thread *t, struct object *module);

/* Whether code is recorded. */
bool code_wanted(void);
/* Sends the bytes, once for each content. Returns their hash. */
uint64_t code_send(struct thread *t, const void *code, size_t size, enum code_kind kind);

#endif
