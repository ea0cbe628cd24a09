/* SPDX-License-Identifier: Apache-2.0
 *
 * Writes one launch of the open trace as an independent C program: its code, the memory that its
 * parameters point into, and that memory's contents afterwards.
 */
#ifndef ENGINE_EXTRACT_H
#define ENGINE_EXTRACT_H

#include "engine/engine.h"

struct extract_options {
	const char *kernel; /* glob */
	const char *dir;    /* a folder that is not there yet, or empty */
	uint64_t nth;	    /* which launch that matches, from 1; 0: the first */
	/* a graph launch: which of its kernel nodes that match, instead of launches; 0: none */
	uint64_t graph;
	bool all; /* every allocation, not only those that parameters point into */
};

struct extract_result {
	uint64_t seq;	    /* the launch, or the graph launch */
	char *kernel;	    /* its name, mangled */
	size_t allocations; /* saved, a module's globals among them */
	uint64_t bytes;	    /* of them */
};

/* Needs a replay on a device of the window that has the launch; moves it. On an error the folder is
 * not there, and the result is empty. The caller frees the result. */
struct err *extract_run(
	struct engine *en, const struct extract_options *o, struct extract_result *ret) TS_CHECK;
void extract_free(struct extract_result *r);

#endif
