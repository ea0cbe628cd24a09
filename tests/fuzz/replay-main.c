/* SPDX-License-Identifier: Apache-2.0
 *
 * Runs a fuzz target on the files named, without a fuzzer: the corpus as an ordinary test, a crash
 * found again under gdb. The bytes are in a block of exactly their size, so that a sanitiser sees a
 * read past the end.
 */
#include <stdio.h>
#include <stdlib.h>

#include "fuzz.h"

static int run(const char *path)
{
	FILE *f = fopen(path, "rb");
	uint8_t *data;
	long n;

	if (!f || fseek(f, 0, SEEK_END) || (n = ftell(f)) < 0 || fseek(f, 0, SEEK_SET)) {
		perror(path);
		return 1;
	}
	data = malloc((size_t)n);
	if (n && fread(data, 1, (size_t)n, f) != (size_t)n) {
		perror(path);
		return 1;
	}
	fclose(f);
	LLVMFuzzerTestOneInput(data, (size_t)n);
	free(data);
	return 0;
}

int main(int argc, char **argv)
{
	int failed = 0;

	for (int i = 1; i < argc; i++)
		failed |= run(argv[i]);
	return failed;
}
