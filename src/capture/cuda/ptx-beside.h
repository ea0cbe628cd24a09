/* SPDX-License-Identifier: Apache-2.0
 *
 * The PTX beside a module's cubin, in the data that the program gave to the driver.
 */
#ifndef CAPTURE_PTX_H
#define CAPTURE_PTX_H

#include <stdint.h>

struct thread;

/* Sends the PTX in an image (text, fat binary, or its wrapper), once for each content. Returns its
 * hash, or 0 if there is none or it cannot be read. *ret_arch: the architecture of machine code
 * that lies beside the PTX and that a device here can run (90: 9.0), so that the driver does not
 * compile the PTX; 0: there is none. */
uint64_t ptx_of_image(struct thread *t, const void *image, uint64_t *ret_arch);
/* The same for a file. */
uint64_t ptx_of_file(struct thread *t, const char *path, uint64_t *ret_arch);

#endif
