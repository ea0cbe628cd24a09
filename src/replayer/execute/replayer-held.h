/* SPDX-License-Identifier: Apache-2.0
 *
 * Launches that are held back while later ones overtake them (SBT_ATTR_HELD).
 */
#ifndef REPLAYER_HELD_H
#define REPLAYER_HELD_H

#include "replayer/execute/replayer-rp.h"

/* Prepares the next launch, of function *f, to be held; may replace *f. Fails when this device
 * cannot hold it. */
struct err *held_launch(
	struct rp *rp, const struct sbt_cmd_launch *u, struct gpu_kernel **f) TS_CHECK;
/* Prepares the next launch, of function *f, to run while one before it is held. May replace *f, so
 * that the launches behind it can run, too. */
struct err *held_passed(
	struct rp *rp, const struct sbt_cmd_launch *u, struct gpu_kernel **f) TS_CHECK;

#endif
