/* SPDX-License-Identifier: Apache-2.0
 *
 * Splitting command lines into words, and the small things words mean: numbers, sizes, ranges.
 */
#ifndef BASE_WORDS_H
#define BASE_WORDS_H

#include <stdint.h>
#include <stddef.h>
#include "base/err.h"

/* A line as words, separated by blanks; '...' and "..." and \x as a shell reads them, without
 * expansion. *ret is a NULL-terminated heap array, freed with words_free(). */
struct err *words_split(const char *line, char ***ret, unsigned *ret_n) TS_CHECK;
void words_free(char **words);
/* words as one line that words_split() takes apart again; a heap string. */
char *words_join(char *const *words, unsigned n);

/* Decimal, 0x hexadecimal, with a leading # allowed (as in #143). The whole word must be a number.
 */
bool word_u64(const char *word, uint64_t *ret);
/* The same with a suffix K, M or G (powers of 1024). */
bool word_size(const char *word, uint64_t *ret);
/* "A-B", "A-", "-B" or "A"; B is UINT64_MAX when open. A <= B. */
bool word_range(const char *word, uint64_t *ret_first, uint64_t *ret_last);
/* Nanoseconds of "12.3ms", "5us", "1s", "100ns"; a plain number is milliseconds. */
bool word_duration(const char *word, uint64_t *ret_ns);
/* on/off, yes/no, 1/0, enable/disable. */
bool word_bool(const char *word, bool *ret);
/* "1.1 MB": bytes for people, in powers of 1000. */
const char *words_bytes(char *dst, size_t n, uint64_t bytes);

#endif
