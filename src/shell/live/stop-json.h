/* SPDX-License-Identifier: Apache-2.0
 *
 * A stop of the program or of a replay as the JSON object `stop` (docs/json.md).
 */
#ifndef SHELL_STOP_JSON_H
#define SHELL_STOP_JSON_H

#include "base/buf.h"
#include "engine/last-stop.h"

/* null for a stop that there was not (number 0). */
void stop_json(struct buf *out, const struct stop *s);
/* The same for JS_BY(): stop is a pointer to a const struct stop *. */
void stop_json_at(struct buf *out, const void *stop);

#endif
