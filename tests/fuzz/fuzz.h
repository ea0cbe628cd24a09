/* SPDX-License-Identifier: Apache-2.0
 *
 * What every fuzz target defines; libFuzzer or replay-main.c calls it.
 */
#ifndef FUZZ_H
#define FUZZ_H

#include <stddef.h>
#include <stdint.h>

/* Must survive any bytes. Returns 0. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

#endif
