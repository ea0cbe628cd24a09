/* SPDX-License-Identifier: Apache-2.0
 *
 * Bytes as a JSON string. Bytes that are not UTF-8 become U+FFFD: names in a trace may hold anything.
 */
#ifndef STATE_JSON_H
#define STATE_JSON_H

#include "buf.h"
#include "sbt/cmd.h"

/* Appends t as a JSON string with its quotes. */
void json_text(struct buf *out, struct sbt_blob t);

#endif
