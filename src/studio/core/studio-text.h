/* SPDX-License-Identifier: Apache-2.0
 *
 * The page, made by scripts/page of src/report/page/ and src/studio/page/, and its policy, which
 * the server sends with it.
 */
#ifndef STUDIO_STUDIO_TEXT_H
#define STUDIO_STUDIO_TEXT_H

#include <stddef.h>

extern const unsigned char studio_page_head[], studio_page_tail[];
extern const size_t studio_page_head_size, studio_page_tail_size;
extern const char studio_page_policy[];

#endif
