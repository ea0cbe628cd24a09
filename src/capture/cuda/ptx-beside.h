/* SPDX-License-Identifier: Apache-2.0
 *
 * The PTX beside a module's cubin: in what the program gave the driver to load.
 */
#ifndef CAPTURE_PTX_H
#define CAPTURE_PTX_H

#include <stdint.h>

struct thread;

/* Sends the PTX in an image (text, fat binary, or its wrapper), once per content. Its hash, or 0: there is none, or it cannot be read. */
uint64_t ptx_of_image(struct thread *t, const void *image);
/* The same for a file. */
uint64_t ptx_of_file(struct thread *t, const char *path);

#endif
