/* SPDX-License-Identifier: Apache-2.0
 *
 * make-trace FILE [COMMANDS] [times]: writes a synthetic trace, for benchmarks and for trying
 * things out.
 */
#include <stdio.h>
#include <stdlib.h>
#include "bench/synthetic.h"

int main(int argc, char **argv)
{
	struct err *e;

	if (argc < 2) {
		fprintf(stderr, "usage: %s FILE [COMMANDS] [times]\n", argv[0]);
		return 1;
	}
	e = synthetic_write(argv[1], argc > 2 ? strtoull(argv[2], NULL, 0) : 1000000, argc > 3);
	if (!e)
		return 0;
	fprintf(stderr, "%s\n", e->what);
	err_free(e);
	return 1;
}
