/* SPDX-License-Identifier: Apache-2.0
 *
 * Tells an observer which threads have waited for the launch in front (griddepcontrol.wait): those
 * that executed it, and those that a barrier of the warp, the block or the cluster, or an mbarrier,
 * put behind one that did, since the wait makes memory visible to the whole grid (PTX ISA 9.0,
 * 9.7.13.13). A thread that reads a flag in global memory is behind the wait of the thread that set
 * it, when the one released and the other acquired (8.9.4, observation and synchronizes-with), by
 * the access itself or by a fence.
 */
#ifndef SOFTGPU_PTX_DEPEND_H
#define SOFTGPU_PTX_DEPEND_H

#include "softgpu/watch/ptx-observe.h"

#define PTX_DEPEND_OBJECTS 64u /* mbarriers, clusters' barriers; the newest */

/* Of a launch; zeroes at first. */
struct ptx_depends {
	uint64_t objects[PTX_DEPEND_OBJECTS]; /* published by a thread that had waited */
	unsigned nobjects;
	uint64_t flags[PTX_DEPEND_OBJECTS]; /* addresses in global memory, written by such a thread;
					       the newest */
	unsigned nflags;
	bool waits;	    /* a thread waited */
	bool triggers;	    /* a thread executed griddepcontrol.launch_dependents */
	bool old;	    /* code for a GPU that has no griddepcontrol */
	bool trigger_waits; /* a block let the launches behind begin, or ended, behind a wait alone:
			       they begin when those in front have finished */
};

/* Which of the two forms of griddepcontrol an instruction is. */
bool ptx_is_grid_wait(const struct ptx_insn *i);
bool ptx_is_grid_trigger(const struct ptx_insn *i);

/* For observers: call each from the callback of its name. */
void ptx_depends_sync(struct ptx_depends *d, const struct ptx_sync *s);
/* Call it after an access to global memory. */
void ptx_depends_access(struct ptx_depends *d, const struct ptx_access *x);
void ptx_depends_block_start(struct ptx_depends *d, struct ptx_block *b);
void ptx_depends_block_end(struct ptx_depends *d, const struct ptx_block *b);

#endif
