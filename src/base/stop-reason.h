/* SPDX-License-Identifier: Apache-2.0
 *
 * Why a program or a replay stopped: the agent says it to tsdb (capture/wire.h), the engine to its
 * callers, with the library's numbers (tracesmith/stops.h has the table).
 */
#ifndef BASE_STOP_REASON_H
#define BASE_STOP_REASON_H

#include <tracesmith/stops.h>

enum stop_reason {
	STOP_NONE, /* no stop */
#define STOP_ENUM(name, number, word) STOP_##name = number,
	TS_STOP_REASONS(STOP_ENUM)
#undef STOP_ENUM
	/* Between the agent and tsdb, which tells nobody of them; they have no word. */
	STOP_SERVED = 1000, /* what tsdb asked of the agent has been done */
	STOP_ASKS,	    /* whether to record more memory than the limit */
};

#endif
