/* SPDX-License-Identifier: Apache-2.0
 *
 * The formats that import reads. Each puts what the file says into the stage.
 */
#ifndef IMPORT_READERS_H
#define IMPORT_READERS_H

#include "import/core/stage.h"

/* Chrome JSON of PyTorch's profiler (Kineto), plain or by gzip. */
struct err *read_kineto(struct stage *s) TS_CHECK;
/* The database that `nsys export --type sqlite` makes. */
struct err *read_nsight(struct stage *s) TS_CHECK;
/* LLVM XRay's log. */
struct err *read_xray(struct stage *s) TS_CHECK;

#endif
