/* SPDX-License-Identifier: Apache-2.0
 *
 * Kernel names: any text as a mangled name into buffers of many sizes, then as a glob. The first
 * byte is the size.
 */
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "sbt/cmd.h"
#include "sbt/kernel-name.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	size_t room, cut;
	char *text, *name;

	if (!n)
		return 0;
	room = 1 + data[0];
	text = malloc(n);
	name = malloc(room);
	memcpy(text, data + 1, n - 1);
	text[n - 1] = 0;
	sbt_kernel_short_name(name, room, text);
	BUG_ON(!memchr(name, 0, room));
	for (cut = 0; cut < n - 1 && text[cut] != ' '; cut++)
		;
	if (cut < n - 1 && n < 500) { /* GLOB NAME */
		text[cut] = 0;
		(void)sbt_kernel_glob(text, text + cut + 1, name);
	}
	free(text);
	free(name);
	return 0;
}
