/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FUZZ_MUTATE_PTX_H
#define FUZZ_MUTATE_PTX_H

#include <stddef.h>
#include <stdint.h>

/* One change to a PTX text on the heap, *n bytes with a NUL behind them: a number, a line, a word
 * of another line, a declaration. */
void mutate_ptx(char **text, size_t *n, uint64_t *random);

#endif
