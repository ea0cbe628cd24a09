/* SPDX-License-Identifier: Apache-2.0
 *
 * A GPU core dump (symbols/gpu-core.h) as text and as JSON.
 */
#ifndef SHELL_CORE_TEXT_H
#define SHELL_CORE_TEXT_H

#include "base/buf.h"

struct gpu_core;
struct symbols;

/* Appends each kernel and its places, those with the most lanes first. names: demangles. */
void core_text(struct buf *out, const struct gpu_core *c, struct symbols *names);
/* The same as a list of objects, with a newline. */
void core_json(struct buf *out, const struct gpu_core *c, struct symbols *names);

#endif
