/* SPDX-License-Identifier: Apache-2.0
 *
 * Replayers without exec: a spare process, small and with the software GPU's driver loaded, is
 * forked once and forks each of them.
 */
#ifndef FUZZ_SPARE_H
#define FUZZ_SPARE_H

#include <stdbool.h>

/* Forks the spare process of the calling process: early, while there is little to copy. Its
 * replayers are the caller's children and inherit its standard error. False when it cannot be
 * made. */
bool spare_start(void);
/* Whether the replayers from now on go into their sandbox, as they do elsewhere. What a sanitizer
 * reports there has no stack: it cannot read files. */
void spare_sandbox(bool on);
/* Ends and reaps the replayers that the case has left. */
void spare_reap(void);

#endif
