/* SPDX-License-Identifier: Apache-2.0
 *
 * The CUPTI functions that the agent uses, from the library that source-cupti.c has opened. Never
 * linked: the agent must load where there is no CUPTI.
 */
#ifndef CAPTURE_CUPTI_API_H
#define CAPTURE_CUPTI_API_H

#include <cupti.h>
#include <stdbool.h>

#define CUPTI_FUNCTIONS(REQUIRED, OPTIONAL)                                                        \
	REQUIRED(cuptiSubscribe)                                                                   \
	REQUIRED(cuptiEnableCallback)                                                              \
	REQUIRED(cuptiEnableDomain)                                                                \
	OPTIONAL(cuptiUnsubscribe)                                                                 \
	OPTIONAL(cuptiGetCallbackName)                                                             \
	OPTIONAL(cuptiActivityEnable)                                                              \
	OPTIONAL(cuptiActivityDisable)                                                             \
	OPTIONAL(cuptiActivityRegisterCallbacks)                                                   \
	OPTIONAL(cuptiActivityGetNextRecord)                                                       \
	OPTIONAL(cuptiActivityFlushAll)                                                            \
	OPTIONAL(cuptiActivityFlushPeriod)                                                         \
	OPTIONAL(cuptiActivityGetAttribute)                                                        \
	OPTIONAL(cuptiActivitySetAttribute)                                                        \
	OPTIONAL(cuptiActivityGetNumDroppedRecords)

struct cupti {
#define FUNCTION(name) __typeof__(&name) name;
	CUPTI_FUNCTIONS(FUNCTION, FUNCTION)
#undef FUNCTION
};
extern struct cupti cupti;

/* Timestamps (activity.c). */
void activity_switch(bool on);
void activity_flush(bool force);

#endif
