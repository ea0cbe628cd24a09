/* SPDX-License-Identifier: Apache-2.0
 *
 * Copies the shape of a launch into its record. The driver's structures with a shape (the
 * parameters of its calls, CUlaunchConfig, the versions of CUDA_KERNEL_NODE_PARAMS) are different
 * types whose members have the same names; so these are macros.
 */
#ifndef CAPTURE_LAUNCH_SHAPE_H
#define CAPTURE_LAUNCH_SHAPE_H

#include <cuda.h>
#include "sbt/cmd.h"

/* Grid, block and shared memory: l a struct sbt_cmd_launch *, p a pointer to any of those
 * structures. */
#define LAUNCH_SHAPE(l, p)                                                                         \
	do {                                                                                       \
		struct sbt_cmd_launch *to_ = (l);                                                  \
		const __auto_type from_ = (p);                                                     \
		to_->grid_x = from_->gridDimX;                                                     \
		to_->grid_y = from_->gridDimY;                                                     \
		to_->grid_z = from_->gridDimZ;                                                     \
		to_->block_x = from_->blockDimX;                                                   \
		to_->block_y = from_->blockDimY;                                                   \
		to_->block_z = from_->blockDimZ;                                                   \
		to_->shared = from_->sharedMemBytes;                                               \
	} while (0)

/* An initializer for today's CUDA_KERNEL_NODE_PARAMS from another version of it: everything but
 * kern and ctx, which the first version lacks. */
#define LAUNCH_NODE_PARAMS(p)                                                                      \
	.func = (p)->func, .gridDimX = (p)->gridDimX, .gridDimY = (p)->gridDimY,                   \
	.gridDimZ = (p)->gridDimZ, .blockDimX = (p)->blockDimX, .blockDimY = (p)->blockDimY,       \
	.blockDimZ = (p)->blockDimZ, .sharedMemBytes = (p)->sharedMemBytes,                        \
	.kernelParams = (p)->kernelParams, .extra = (p)->extra

struct kernel;
/* kernel_gather() for a launch whose parameters are in either of the driver's two forms. */
int64_t launch_gather(
	const struct kernel *k, void **params, void **extra, uint8_t *buf, uint64_t size);

/* Whether the attribute has an effect. Programs pass it to every launch and turn it on or off by
 * its value. */
static inline bool launch_attribute_counts(CUlaunchAttributeID id, const CUlaunchAttributeValue *v)
{
	return id != CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION ||
	       v->programmaticStreamSerializationAllowed;
}

/* Copies an attribute that changes what a launch computes, or whether it can run; others do not
 * change l. */
static inline void launch_attribute(
	struct sbt_cmd_launch *l, CUlaunchAttributeID id, const CUlaunchAttributeValue *v)
{
	if (id == CU_LAUNCH_ATTRIBUTE_COOPERATIVE)
		l->cooperative = v->cooperative != 0;
	if (id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION) {
		l->cluster_x = v->clusterDim.x;
		l->cluster_y = v->clusterDim.y;
		l->cluster_z = v->clusterDim.z;
	}
}

/* Copies those attributes from another launch. */
static inline void launch_keep_attributes(
	struct sbt_cmd_launch *l, const struct sbt_cmd_launch *other)
{
	l->cooperative = other->cooperative;
	l->cluster_x = other->cluster_x;
	l->cluster_y = other->cluster_y;
	l->cluster_z = other->cluster_z;
	l->launch_attrs |= other->launch_attrs & 1ull << SBT_ATTR_PROGRAMMATIC_STREAM;
}

#endif
