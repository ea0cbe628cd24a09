/* SPDX-License-Identifier: Apache-2.0
 *
 * The list of known sources, in the order in which they are looked for.
 */
#include "capture/core/source.h"

#include "config.h"
#include <string.h>
#include "capture/core/driver.h"

static const struct source *const sources[] = {
	&source_cupti,
#ifdef HAVE_HIP
	&source_hip,
#endif
};
#define SOURCES (sizeof(sources) / sizeof(*sources))

/* One that is not open: it has nothing, and says so. */
const struct driver *driver = &driver_cuda;

const struct source *source_find(void)
{
	for (unsigned i = 0; i < SOURCES; i++)
		if (sources[i]->driver->is_loaded()) {
			if (driver != sources[i]->driver) /* other threads read it */
				driver = sources[i]->driver;
			return sources[i];
		}
	return NULL;
}

static bool begins_like(const char *name, const char *const *list)
{
	for (; *list; list++)
		if (!strncmp(name, *list, strlen(*list)))
			return true;
	return false;
}

bool source_names(enum source_names which, const char *name)
{
	bool found = false;
	for (unsigned i = 0; i < SOURCES && !found; i++)
		found = begins_like(name, sources[i]->names[which]);
	return found;
}

void source_each(void (*fn)(const struct source *s, const void *arg), const void *arg)
{
	for (unsigned i = 0; i < SOURCES; i++)
		fn(sources[i], arg);
}
