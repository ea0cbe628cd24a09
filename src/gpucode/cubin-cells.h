/* SPDX-License-Identifier: Apache-2.0
 *
 * Finds the words of a cubin's variables that its loader fills with addresses of functions, which
 * differ from run to run.
 */
#ifndef REPLAY_CUBIN_CELLS_H
#define REPLAY_CUBIN_CELLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Such a word: the 8 bytes at offset in the variable. The name is valid during the call. */
typedef void cubin_cell_fn(void *arg, const char *variable, uint64_t offset);
/* Calls fn for each such word. Returns false if the input is not a cubin, is damaged, or needs
 * too many look-ups; some words may already have been reported. code may be anything; it is only
 * read. */
bool cubin_cells(const void *code, size_t size, cubin_cell_fn *fn, void *arg);

#endif
