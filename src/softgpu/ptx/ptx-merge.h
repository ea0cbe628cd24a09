/* SPDX-License-Identifier: Apache-2.0
 *
 * Links several PTX texts into one. Private names of a text are made different from the others',
 * repeated weak definitions are left out, and file numbers of debug lines are changed.
 */
#ifndef SOFTGPU_PTX_MERGE_H
#define SOFTGPU_PTX_MERGE_H

#include <stddef.h>

struct ptx_input {
	const char *name, *text; /* text ends with a NUL */
};

/* malloc'ed and NUL-terminated; NULL with a sentence in log when a name is defined twice, a text is
 * no PTX (errno is EINVAL), or memory is out (ENOMEM). */
char *ptx_merge(const struct ptx_input *in, unsigned n, size_t *size, char *log, size_t log_size);

#endif
