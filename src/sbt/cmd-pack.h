/* SPDX-License-Identifier: Apache-2.0
 *
 * A command as one run of bytes: in the agent's ring, and in graph_node.payload. Needs no libc
 * beyond stdint and string.h: it is also compiled into the agent.
 */
#ifndef SBT_CMD_PACK_H
#define SBT_CMD_PACK_H

#include "sbt/cmd.h"

/* --- the packed form used in the agent's ring and in graph_node.payload
 * ------------------------------------------ u32 total size in bytes (a multiple of 8), u16 kind,
 * u16 flags, u64 seq, u32 thread, ctx, stack, result, corr, u32 number of fields, u64 host_ns; then
 * for each field of the kind 8 bytes: the scalar, or the length of a BLOB or STR; after them the
 * bytes of the blobs in order, each padded to 8 with zeros. Little endian. GPU times are not in it.
 * The number of fields lets a payload of an older or newer minor version be read.
 */
/* Bytes that packing c takes. */
size_t sbt_pack_size(const struct sbt_cmd *c);
/* Packs c into dst, which has sbt_pack_size(c) bytes, aligned to 8. No allocation, no lock: the
 * agent's hot path. */
void sbt_pack(void *dst, const struct sbt_cmd *c);
/* Unpacks; blobs point into src. Returns the bytes used, or 0 when src (n bytes) is not a whole,
 * valid record. */
size_t sbt_unpack(struct sbt_cmd *ret, const void *src, size_t n);

#endif
