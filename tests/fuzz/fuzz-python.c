/* SPDX-License-Identifier: Apache-2.0
 *
 * CPython's line tables, and the walk over frames in memory that holds anything. The first byte is
 * the version, then an offset.
 */
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "sbt/python.h"
#include "fuzz.h"

#define BASE 0x10000u

struct memory {
	const uint8_t *p;
	size_t n;
};

static bool read_memory(void *arg, uint64_t address, void *to, size_t n)
{
	const struct memory *m = arg;

	if (address < BASE || address - BASE > m->n || n > m->n - (address - BASE))
		return false;
	memcpy(to, m->p + (address - BASE), n);
	return true;
}

static void walk(const struct python_layout *l, struct memory *m)
{
	struct python_walk w;
	struct python_frame f;
	unsigned steps = 0;
	char text[64];

	if (!python_begin(&w, l, BASE, BASE, read_memory, m))
		return;
	while (python_next(&w, &f, read_memory, m)) {
		BUG_ON(++steps > PYTHON_STEPS_MAX);
		BUG_ON(f.code && f.at > INT32_MAX);
		BUG_ON(python_text(l, f.code, text, sizeof text, read_memory, m) >= sizeof text);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	static const uint32_t versions[] = {0x030b00f0, 0x030c00f0};
	struct memory m;
	struct python_layout l;
	uint64_t at;
	const char *why;

	if (n < 3)
		return 0;
	at = (uint64_t)data[1] | (uint64_t)data[2] << 8;
	(void)python_line(data + 3, n - 3, data[0], at);
	m = (struct memory){data + 3, n - 3};
	BUG_ON(!python_layout(&l, versions[data[0] & 1], NULL, &why));
	walk(&l, &m);
	return 0;
}
