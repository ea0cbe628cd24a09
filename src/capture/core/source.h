/* SPDX-License-Identifier: Apache-2.0
 *
 * Where GPU calls are seen. A source turns a vendor's callbacks into calls_enter() and calls_exit()
 * (calls.h): it has a table of rows for the calls that it sees, whose functions read their
 * parameters. It knows how to get the device's timestamps, and whom to ask (driver.h). A vendor's
 * source lies in the vendor's drawer: cuda/ is the first.
 */
#ifndef CAPTURE_SOURCE_H
#define CAPTURE_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct driver;

/* Kinds of the vendor's files, given by prefixes of their names. */
enum source_names {
	SOURCE_HIDDEN,	/* libraries whose frames are left out of host stacks */
	SOURCE_FOREIGN, /* libraries whose code is not the program's */
	SOURCE_DEVICES, /* paths of device files: mappings of them may be a device's memory */
	SOURCE_NAMES,
};

struct source {
	const char *name;
	uint32_t number; /* control.source */
	const struct driver *driver;
	/* Of the environment: it has the vendor's library load the agent when the program
	 * initialises it. */
	const char *variable;
	const char *const *names[SOURCE_NAMES]; /* NULL ends each list */
	/* Subscribes. On failure -errno and one sentence in why. Called once, with the driver
	 * loaded. */
	int (*start)(char *why, size_t why_size);
	/* Unsubscribes: no callback begins afterwards. Does nothing before start(). */
	void (*stop)(void);
	/* Switches timestamps on or off. May be called from within a callback. */
	void (*timestamps)(bool on);
	/* A context of the agent's own is about to be made; has been. What the source sets aside
	 * for each context it may never give back. One thread. */
	void (*own_context)(bool about_to);
	/* Hands over timestamps that are ready; with force also what the device has not finished
	 * with. */
	void (*flush)(bool force);
};

/* The source of the vendor whose library this process has loaded: `driver` (driver.h) is its driver
 * from then on. NULL: none is loaded. */
const struct source *source_find(void);
/* Whether the name begins like one in that list of any source. */
bool source_names(enum source_names which, const char *name);
/* Calls fn for each known source. */
void source_each(void (*fn)(const struct source *s, const void *arg), const void *arg);

extern const struct source source_cupti, source_hip; /* source_hip: if built with HIP */

#endif
