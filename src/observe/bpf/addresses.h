/* SPDX-License-Identifier: Apache-2.0
 *
 * Private to the room observe: where a driver's entry points are in its file. The exported symbols
 * are one answer; cuGetProcAddress, which the runtime asks, may give another.
 */
#ifndef OBSERVE_ADDRESSES_H
#define OBSERVE_ADDRESSES_H

#include <stdbool.h>
#include <stdint.h>

/* File offset of each exported entry point of the library at path, by call; 0: it has none. Returns
 * how many. */
unsigned addresses_exported(const char *path, bool runtime, uint64_t *offset);
/* The addresses that cuGetProcAddress returns, where they differ: 0 where it agrees, cannot be
 * asked, or the call has several versions. Loads the library in a child process: only for trusted
 * files. */
void addresses_given_out(const char *path, uint64_t *offset);
/* Whether the file may be loaded: it belongs to root, no other user may change it, and it is in a
 * folder of system libraries. */
bool addresses_trusted(const char *path);

#endif
