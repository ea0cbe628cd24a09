/* SPDX-License-Identifier: Apache-2.0
 *
 * Mends what ROCclr 5.2.3 gets wrong with the signals of finished commands when a tool has asked
 * HIP to report calls (HsaAmdSignalHandler, device/rocm/rocvirtual.cpp).
 */
#ifndef CAPTURE_HSA_SIGNALS_H
#define CAPTURE_HSA_SIGNALS_H

#include <stdint.h>

/* Puts three functions of ours in front of the HSA runtime's. table: what OnLoad() gets; one of
 * another layout is left alone. */
void hsa_signals_wrap(void *table);

#endif
