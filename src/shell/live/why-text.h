/* SPDX-License-Identifier: Apache-2.0
 *
 * What a program waits for, as sentences and as JSON.
 */
#ifndef SHELL_WHY_TEXT_H
#define SHELL_WHY_TEXT_H

#include "base/buf.h"
#include "engine/why.h"

void why_text(struct buf *out, const struct why *w, const struct why_answer *a);
void why_json(struct buf *out, const struct why *w, const struct why_answer *a);

#endif
