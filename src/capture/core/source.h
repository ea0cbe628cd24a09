/* SPDX-License-Identifier: Apache-2.0
 *
 * Where GPU calls are seen: CUPTI now, HIP next. A source turns the vendor's callbacks into calls_enter() and
 * calls_exit() (calls.h) and knows how to get the device's timestamps.
 */
#ifndef CAPTURE_SOURCE_H
#define CAPTURE_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct source {
	const char *name;
	uint32_t number; /* control.source */
	/* Subscribes. On failure -errno and one sentence in why. Called once, with the driver loaded. */
	int (*start)(char *why, size_t why_size);
	/* Unsubscribes: no callback begins any more. Without effect before start(). */
	void (*stop)(void);
	/* Switches timestamps on or off. May be called from within a callback. */
	void (*timestamps)(bool on);
	/* A context of the agent's own is about to be made; has been. What the source sets aside for each context it may never give back. One thread. */
	void (*own_context)(bool about_to);
	/* Hands over timestamps that are ready; with force also what the device has not finished with. */
	void (*flush)(bool force);
};

extern const struct source source_cupti;

#endif
