/* SPDX-License-Identifier: Apache-2.0
 *
 * cuGetProcAddress() gives another symbol from just those CUDA versions on that the toolkit's own
 * cudaTypedefs.h has in its types: PFN_cuMemAlloc_v3020.
 */
#include "softgpu-test.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAMES_MAX 1024
#define VERSIONS_MAX 16

static struct name {
	char name[64];
	int since[VERSIONS_MAX];
	unsigned n;
} names[NAMES_MAX];
static unsigned nnames;
static int all[256]; /* every version of any name */
static unsigned nall;

static void add(int *list, unsigned *n, unsigned max, int v)
{
	for (unsigned k = 0; k < *n; k++)
		if (list[k] == v)
			return;
	assert_true(*n < max);
	list[(*n)++] = v;
}

/* "PFN_cuMemAlloc_v3020", without a suffix for a default stream. */
static void take(const char *word)
{
	const char *v = strstr(word, "_v");
	const size_t n = v ? (size_t)(v - word) - 4 : 0;
	unsigned k = 0;
	char *end;
	long since;

	if (!v || n >= sizeof names[0].name)
		return;
	since = strtol(v + 2, &end, 10);
	if (isalnum((unsigned char)*end) || *end == '_')
		return;
	while (k < nnames && (strncmp(names[k].name, word + 4, n) || names[k].name[n]))
		k++;
	if (k == nnames) {
		assert_true(nnames < NAMES_MAX);
		memcpy(names[nnames++].name, word + 4, n);
	}
	add(names[k].since, &names[k].n, VERSIONS_MAX, (int)since);
	add(all, &nall, COUNT_OF(all), (int)since);
}

static int read_header(void **state)
{
	char path[512], line[2048];
	FILE *f = NULL;
	char flags[] = CUDA_HEADERS;

	for (char *w = strtok(flags, " "); w && !f; w = strtok(NULL, " ")) {
		snprintf(path, sizeof path, "%s/cudaTypedefs.h", !strncmp(w, "-I", 2) ? w + 2 : w);
		f = fopen(path, "r");
	}
	if (!f)
		return softgpu_start(state);
	while (fgets(line, sizeof line, f))
		for (const char *s = strstr(line, "PFN_cu"); s; s = strstr(s + 1, "PFN_cu"))
			take(s);
	fclose(f);
	/* since then cuda.h means cuGraphInstantiateWithFlags by it, which has a type of its own */
	take("PFN_cuGraphInstantiate_v12000");
	return softgpu_start(state);
}

static void *address(const char *name, int version)
{
	CUdriverProcAddressQueryResult found;
	void *f = &found;

	OK(cuGetProcAddress(name, &f, version, 0, &found));
	assert_int_equal(found == CU_GET_PROC_ADDRESS_SUCCESS, f != NULL);
	return f;
}

static bool has(const struct name *n, int version)
{
	for (unsigned k = 0; k < n->n; k++)
		if (n->since[k] == version)
			return true;
	return false;
}

static void test_changes(void **state)
{
	unsigned changes = 0;

	if (!nnames)
		skip();
	assert_true(nnames > 300);
	for (unsigned k = 0; k < nnames; k++)
		for (unsigned v = 0; v < nall; v++)
			for (int at = all[v]; at <= all[v] + 1; at++) {
				if (address(names[k].name, at - 1) == address(names[k].name, at))
					continue;
				changes++;
				if (!has(&names[k], at))
					fail_msg("%s changes at %d", names[k].name, at);
			}
	assert_true(changes > 60);
}

/* What changes at all is what the header's newest version is of. */
static void test_newest(void **state)
{
	for (unsigned k = 0; k < nnames; k++) {
		int newest = 0;

		for (unsigned v = 0; v < names[k].n; v++)
			newest = names[k].since[v] > newest ? names[k].since[v] : newest;
		if (address(names[k].name, 1) == address(names[k].name, 13000) || newest > 13000)
			continue;
		if (address(names[k].name, newest - 1) == address(names[k].name, newest))
			fail_msg("%s does not change at %d", names[k].name, newest);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_changes),
		cmocka_unit_test(test_newest),
	};

	return cmocka_run_group_tests_name("softgpu-versions", tests, read_header, softgpu_stop);
}
