/* SPDX-License-Identifier: Apache-2.0
 *
 * Clusters: blocks that run at the same time, see one another's shared memory and have a barrier of
 * their own. All of a cluster's blocks run on one worker, in turns. A launch without clusters has
 * one of a single block around each block, as "PTX ISA 9.0", 2.2.2 says.
 */
#ifndef SOFTGPU_PTX_CLUSTER_H
#define SOFTGPU_PTX_CLUSTER_H

#include "softgpu/machine/ptx-exec.h"

/* Blocks in a cluster; 1 without clusters. */
static inline unsigned ptx_cluster_size(const struct ptx_launch *l)
{
	return l->cluster[0] ? l->cluster[0] * l->cluster[1] * l->cluster[2] : 1;
}

/* The grid index of the block with this rank in cluster number `cluster`, and back. */
uint64_t ptx_cluster_block(const struct ptx_launch *l, uint64_t cluster, unsigned rank);
void ptx_cluster_of(
	const struct ptx_launch *l, const uint32_t ctaid[3], uint64_t *cluster, unsigned *rank);
/* A special register of clusters. */
uint32_t ptx_cluster_special(const struct ptx_warp *w, unsigned sreg);

/* Whether this is in the shared memory of a block of the cluster. */
static inline bool ptx_cluster_has(const struct ptx_cluster *c, uint64_t p)
{
	for (unsigned k = 0; k < c->n; k++)
		if (p - (uint64_t)(uintptr_t)c->blocks[k]->shared < c->blocks[k]->shared_size)
			return true;
	return false;
}

/* Releases the lanes that wait at the cluster's barrier, when all that live have arrived. */
void ptx_cluster_check(struct ptx_cluster *c);
/* Takes lanes that exit out of the cluster's barrier. */
void ptx_cluster_exit(struct ptx_warp *w, uint32_t mask);
/* Whether a lane of the block waits at the barrier of its cluster of several blocks: another block
 * may release it. */
bool ptx_cluster_waits(const struct ptx_block *b);
/* barrier.cluster.wait: true when the lanes may pass. Raises when they have not arrived. */
bool ptx_cluster_pass(struct ptx_warp *w, const struct ptx_insn *i, uint32_t mask);

#endif
