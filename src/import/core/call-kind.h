/* SPDX-License-Identifier: Apache-2.0
 *
 * What a call of a GPU's runtime or driver does, by its name.
 */
#ifndef IMPORT_CALL_KIND_H
#define IMPORT_CALL_KIND_H

#include <stdbool.h>

enum call_kind {
	CALL_OTHER,    /* nothing that a trace shows */
	CALL_LAUNCHES, /* a kernel */
	CALL_COPIES,
	CALL_FILLS,
	CALL_GRAPH,
	CALL_WAITS_CTX,
	CALL_WAITS_STREAM,
	CALL_WAITS_EVENT,
	CALL_RECORDS,
	CALL_STREAM_WAITS,
};
/* "cudaLaunchKernel_v7000", "cuStreamSynchronize", "hipMemcpyAsync". */
enum call_kind call_kind_of(const char *name);
bool call_kind_waits(enum call_kind k);
/* Whether the call returns before its work is done. */
bool call_is_async(const char *name);
bool call_is_hip(const char *name);

#endif
