/* SPDX-License-Identifier: Apache-2.0
 *
 * Text of the program that `tsdb extract` writes. Both are lists of pieces, NULL at the end.
 */
#ifndef SHELL_EXTRACT_H
#define SHELL_EXTRACT_H

/* What main.c ends with; what stands before it declares CODE_FILE, KERNEL, memory[], ranges[] and launch(). */
extern const char *const extract_main_text[];
extern const char *const extract_makefile_text[];

#endif
