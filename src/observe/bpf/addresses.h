/* SPDX-License-Identifier: Apache-2.0
 *
 * Private to the room observe: where a driver's entry points are in its file. The exported symbols are one answer; cuGetProcAddress, which the
 * runtime asks, may give another.
 */
#ifndef OBSERVE_ADDRESSES_H
#define OBSERVE_ADDRESSES_H

#include <stdbool.h>
#include <stdint.h>

/* File offset of each exported entry point of the library at path, by call; 0: it has none. Returns how many. */
unsigned addresses_exported(const char *path, bool runtime, uint64_t *offset);
/* Those that cuGetProcAddress gives out instead, where they are others: 0 where it agrees, cannot be asked, or the call has several versions.
 * Loads the library, in a child process: only for files that are trusted. */
void addresses_given_out(const char *path, uint64_t *offset);
/* Whether to load it: it is root's, nobody else may change it, and it is where the system's libraries are. */
bool addresses_trusted(const char *path);

#endif
