/* SPDX-License-Identifier: Apache-2.0
 *
 * Encodes commands to the payload of a commands chunk and decodes them again, without files.
 * Private to the room.
 *
 * A command is written as the difference against the last one in the same slot. A slot is whatever
 * the encoder likes (here: same kind, thread, stream and kernel); the decoder only follows slot
 * numbers. Each piece goes to a column of its own, because bytes of one meaning compress well next
 * to each other. Format: docs/sbt.md, "Commands".
 */
#ifndef SBT_ENCODE_H
#define SBT_ENCODE_H

#include "base/err.h"
#include "base/buf.h"
#include "sbt/cmd.h"

struct sbt_encoder;

struct sbt_encoder *sbt_encoder_create(void);
void sbt_encoder_destroy(struct sbt_encoder *e);
/* Adds a command; kinds that are not in the table are an error. seq must be larger than the last
 * one's. */
struct err *sbt_encoder_add(struct sbt_encoder *e, const struct sbt_cmd *c) TS_CHECK;
uint32_t sbt_encoder_count(const struct sbt_encoder *e);
uint64_t sbt_encoder_first(const struct sbt_encoder *e);
uint64_t sbt_encoder_last(const struct sbt_encoder *e);
/* About how many bytes sbt_encoder_finish() would append. */
size_t sbt_encoder_size(const struct sbt_encoder *e);
/* Appends the payload to out and begins a new one. */
void sbt_encoder_finish(struct sbt_encoder *e, struct buf *out);

struct sbt_decoder;

/* Decodes payload (n bytes), which must stay where it is until destroy. */
struct err *sbt_decoder_create(struct sbt_decoder **ret, const void *payload, size_t n) TS_CHECK;
void sbt_decoder_destroy(struct sbt_decoder *d);
/* How many commands are left, those of unknown kinds included, as the payload says. */
uint64_t sbt_decoder_left(const struct sbt_decoder *d);
/* Before the first command: BLOB fields are passed over, and empty in every command. */
void sbt_decoder_skim(struct sbt_decoder *d);
/* The next command in *ret, valid until the next call; NULL at the end. Commands of unknown kinds
 * are passed over. The caller may set its GPU times, which are what the caller set last in a
 * command that was kept in the same place. */
struct err *sbt_decoder_next(struct sbt_decoder *d, struct sbt_cmd **ret) TS_CHECK;
/* How many commands of unknown kinds were passed over so far. */
uint64_t sbt_decoder_unknown(const struct sbt_decoder *d);

#endif
