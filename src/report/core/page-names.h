/* SPDX-License-Identifier: Apache-2.0
 *
 * Texts with numbers: equal ones once, in the order in which they first came. Each is safe to show
 * (base/text.h) before it is compared.
 */
#ifndef REPORT_PAGE_NAMES_H
#define REPORT_PAGE_NAMES_H

#include "base/buf.h"

struct names {
	char **v; /* heap */
	uint32_t n, cap;
	uint32_t *index; /* hash table: number plus 1 */
	uint32_t slots;
};
/* text: n bytes, made safe here. Beyond NAMES_MAX texts it is the number of "...". */
enum { NAMES_MAX = 1 << 20, NAME_BYTES_MAX = 4096 };
uint32_t names_number(struct names *t, const void *text, size_t n);
uint32_t names_of(struct names *t, const char *text);
/* As a list for JSON. */
void names_put(struct buf *out, const struct names *t);
void names_free(struct names *t);

#endif
