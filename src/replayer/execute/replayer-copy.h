/* SPDX-License-Identifier: Apache-2.0
 *
 * Copies and fills.
 */
#ifndef REPLAYER_COPY_H
#define REPLAYER_COPY_H

#include "replayer/execute/replayer-rp.h"

struct err *copy_execute(struct rp *rp, const struct sbt_cmd *c) TS_CHECK;
struct err *fill_execute(struct rp *rp, const struct sbt_cmd *c) TS_CHECK;
/* The piece that the copy reads from memory of the program, if it is uploaded as one row of bytes;
 * else NULL. */
const struct sbt_memory *copy_payload(const struct rp *rp, const struct sbt_cmd *c);
/* A side of a copy: its rows as recorded, and where their first byte is here. */
struct copy_side {
	struct sbt_rows rows;
	/* PLACE_NOWHERE: the replayer's own host memory, which has sbt_rows_size() bytes */
	enum place_where where;
	uint64_t here;
};
/* Converts the side for the backend. */
struct gpu_rows copy_rows_of(const struct copy_side *s);

#endif
