/* SPDX-License-Identifier: Apache-2.0
 *
 * The ways in which HIP reports a program's calls, one per file (way-*.c), and what they share. A
 * way finds each call's row, hands its arguments over as hip_api_data_t has them, and says what it
 * returned.
 */
#ifndef CAPTURE_HIP_WAYS_H
#define CAPTURE_HIP_WAYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct call_row;

struct hip_way {
	const char *name;
	/* Whether the program's HIP has it, and the agent can read it there. Nothing is asked of
	 * HIP, which may be in the middle of its start. */
	bool (*offered)(void);
	/* As of struct source (source.h). */
	int (*start)(char *why, size_t why_size);
	void (*stop)(void);
};
/* Newest first. */
extern const struct hip_way hip_way_tracer, hip_way_callback;

/* The row of an entry point of that name. NULL: in no row. */
const struct call_row *hip_row_named(const char *name);
/* Whether this is a call of the program that is to be reported: not one within the agent or HIP. */
bool hip_reports(void);

/* A call on its way. The words that link its begin and its end stay the caller's. */
struct hip_report {
	const struct call_row *row; /* NULL: in no row */
	const char *name;	    /* never freed */
	const void *data;	    /* hip_api_data_t, as long as the call lasts */
	uint64_t *link;
	const void *frame; /* the callback's */
};
void hip_begin(const struct hip_report *r);
/* result: HIP_RESULT_ASKED where the way does not say it; HIP is asked for the thread's last then.
 */
#define HIP_RESULT_ASKED UINT32_MAX
void hip_end(uint64_t *link, uint32_t result, const void *frame);

#endif
