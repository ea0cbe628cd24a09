/* SPDX-License-Identifier: Apache-2.0
 *
 * Protocol Buffers' wire format (protobuf.dev, "Encoding"): fields appended to a buffer. A message
 * within a message is made in a buffer of its own first.
 */
#ifndef EXPORT_PROTO_H
#define EXPORT_PROTO_H

#include "base/buf.h"

/* A field that is a number: int32 to uint64, bool, an enumeration. */
void pb_u64(struct buf *b, unsigned field, uint64_t v);
/* A fixed64. */
void pb_fixed64(struct buf *b, unsigned field, uint64_t v);
/* A string. Text that is not UTF-8 is made so. */
void pb_text(struct buf *b, unsigned field, const char *s);
/* A string of n bytes that is plain text, such as a literal. */
void pb_plain(struct buf *b, unsigned field, const char *s, size_t n);
/* A message, or packed numbers: takes the contents of m, which is empty afterwards. */
void pb_message(struct buf *b, unsigned field, struct buf *m);
/* A number of a packed field, whose buffer is given to pb_message(). */
void pb_packed(struct buf *m, uint64_t v);

#endif
