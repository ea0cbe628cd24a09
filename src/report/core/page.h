/* SPDX-License-Identifier: Apache-2.0
 *
 * The page without a trace, made of src/report/page/ by scripts/page: what comes before and behind
 * the traces' elements.
 */
#ifndef REPORT_PAGE_H
#define REPORT_PAGE_H

#include <stddef.h>

extern const unsigned char report_page_head[], report_page_tail[];
extern const size_t report_page_head_size, report_page_tail_size;

#endif
