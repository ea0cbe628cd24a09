/* SPDX-License-Identifier: Apache-2.0
 *
 * Which commands can have caused the device's fault in the recording.
 */
#ifndef REPLAYER_FAULT_H
#define REPLAYER_FAULT_H

#include "replayer/execute/replayer-rp.h"

/* Learns from a command of the window; called in order. */
void fault_learn(struct rp *rp, const struct sbt_cmd *c);
/* Whether c may be the one that broke the device in the recording. */
bool fault_suspects(const struct rp *rp, const struct sbt_cmd *c);

#endif
