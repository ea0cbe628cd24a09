/* SPDX-License-Identifier: Apache-2.0
 *
 * What commands.def says of kinds and their fields, for code that goes through them: printers,
 * coders, expressions. Needs no libc beyond stdint.
 */
#ifndef SBT_FIELDS_H
#define SBT_FIELDS_H

#include "sbt/cmd.h"

/* How a field is printed and packed. All scalars are a u64 in memory, STR and BLOB a struct
 * sbt_blob. */
enum sbt_type {
	SBT_T_UINT,
	SBT_T_INT,
	SBT_T_BOOL,
	SBT_T_SIZE,
	SBT_T_ADDR,
	SBT_T_HEX,
	SBT_T_STREAM,
	SBT_T_EVENT,
	SBT_T_CONTEXT,
	SBT_T_MODULE,
	SBT_T_KERNEL,
	SBT_T_GRAPH,
	SBT_T_SEQ,
	SBT_T_TIME,
	SBT_T_DURATION,
	SBT_T_STR,
	SBT_T_BLOB,
	SBT_T_ENUM_COPY,
	SBT_T_ENUM_MEM,
	SBT_T_ENUM_SYNC,
	SBT_T_ENUM_CAPTURE,
	SBT_T_ENUM_NODE
};

struct sbt_field {
	const char *name;
	enum sbt_type type;
	uint16_t offset; /* of the value within struct sbt_cmd */
	const char *help;
};

struct sbt_kind_desc {
	const char *name;  /* "launch" */
	const char *label; /* "LAUNCH" */
	enum sbt_class cls;
	unsigned does; /* enum sbt_does */
	const char *help;
	const struct sbt_field *fields; /* ends with name == NULL */
	unsigned nfields;
};

/* The description of a kind, or NULL for a number that is not in the table. */
const struct sbt_kind_desc *sbt_kind(unsigned kind);
/* The kind called name, or 0. */
unsigned sbt_kind_by_name(const char *name);
/* The field called name of a kind, or NULL. Names common to all kinds (seq, kind, flags, thread,
 * ctx, stack, result, corr, host_ns, gpu_start_ns, gpu_end_ns) are in sbt_common_fields. */
const struct sbt_field *sbt_field(unsigned kind, const char *name);
extern const struct sbt_field sbt_common_fields[];

static inline bool sbt_type_is_blob(enum sbt_type t)
{
	return t == SBT_T_STR || t == SBT_T_BLOB;
}

/* The value of a scalar field of c. For the 32- and 16-bit common fields too. */
uint64_t sbt_get(const struct sbt_cmd *c, const struct sbt_field *f);
void sbt_set(struct sbt_cmd *c, const struct sbt_field *f, uint64_t v);
const struct sbt_blob *sbt_get_blob(const struct sbt_cmd *c, const struct sbt_field *f);
/* "h2d" for (SBT_T_ENUM_COPY, SBT_COPY_H2D); NULL for a type that is no enumeration or a value out
 * of range. */
const char *sbt_enum_name(enum sbt_type type, uint64_t value);

/* The first field of c with an impossible value: an id above SBT_NO_ID, or an enumeration's value
 * above 255 (tables hold 32 and 8 bits of them). NULL: there is none. Readers check this before
 * they cut values to 32 or 8 bits. */
const struct sbt_field *sbt_out_of_range(const struct sbt_cmd *c);

#endif
