/* SPDX-License-Identifier: Apache-2.0
 *
 * A whole trace in memory, taken apart, so that a mutator can change any part of it and write it
 * again with checksums that are right.
 */
#ifndef FUZZ_MODEL_H
#define FUZZ_MODEL_H

#include "sbt/memory.h"
#include "sbt/sbt.h"
#include "gpucode/code-kind.h"

struct model_code {
	uint64_t hash; /* by which commands refer to it; what it is when written may be another */
	enum code_kind kind;
	char *p;
	size_t n;
};

struct model_piece {
	struct sbt_memory m;
	uint8_t *bytes; /* m.size of them when m.has_bytes; the mutator may make m.size something
			   else */
	size_t n;
};

struct model_stack {
	uint32_t id;
	unsigned n;
	struct sbt_frame *frames;
};

struct model {
	struct sbt_meta meta;
	struct model_code *codes;
	struct sbt_cmd *cmds; /* their blobs are the model's */
	struct model_piece *pieces;
	struct model_stack *stacks;
	struct sbt_host_module *modules;
	struct window {
		uint64_t first, last;
	} * windows;
	size_t ncodes, ncmds, npieces, nstacks, nmodules, nwindows;
};

/* The trace at path. What a model holds lives until the process ends. */
struct err *model_read(struct model *ret, const char *path) TS_CHECK;
/* As a trace of its own. Commands that refer to a code by its hash refer to it by the hash that it
 * now has. */
struct err *model_write(struct model *m, const char *path) TS_CHECK;

/* One to be changed and written: what a mutator changes in place is its own. What it replaces is
 * never freed: a few bytes. */
struct model model_copy(const struct model *m);
void model_free_copy(struct model *m);

#endif
