/* SPDX-License-Identifier: Apache-2.0
 *
 * Where a cubin's variables begin with the addresses of functions: its loader puts them there, other ones each time.
 */
#ifndef REPLAY_CUBIN_CELLS_H
#define REPLAY_CUBIN_CELLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The 8 bytes at offset in that variable; the name is of the call. */
typedef void cubin_cell_fn(void *arg, const char *variable, uint64_t offset);
/* Tells each of them. False, and nothing or not all is told: no cubin, or a damaged one. code may be anything; it is only read. */
bool cubin_cells(const void *code, size_t size, cubin_cell_fn *fn, void *arg);

#endif
