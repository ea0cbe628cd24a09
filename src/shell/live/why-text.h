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
/* Whether what runs has moved between two looks, and how that is known. */
void progress_text(struct buf *out, const struct why *w);
void progress_json(struct buf *out, const struct why *w);

/* "stream 2: " of a command that a stream is at; nothing of others. */
void why_put_stream(struct buf *out, const struct why *w, uint32_t node);
/* "#19 wait_flag<<<1,32>>>" */
void why_put_name(struct buf *out, const struct why_node *n);
/* Whether `progress` has a line for the node. */
bool progress_lists(const struct why_node *n);

#endif
