/* SPDX-License-Identifier: Apache-2.0
 *
 * The sources that there are, in the order in which they are looked for.
 */
#include "capture/core/source.h"

#include "capture/core/driver.h"

static const struct source *const sources[] = { &source_cupti };
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

void source_each(void (*fn)(const struct source *s, const void *arg), const void *arg)
{
	for (unsigned i = 0; i < SOURCES; i++)
		fn(sources[i], arg);
}
