/* SPDX-License-Identifier: Apache-2.0
 *
 * Host memory of sizes that a trace says. Everything else here allocates what is known to be small,
 * and gives up when there is no memory; a size from a trace may be anything, so these answer with
 * an error.
 */
#include "replayer/execute/replayer-fail.h"

#include <stdlib.h>
#include "base/checked.h"

struct err *image_array(
	struct rp *rp, uint64_t seq, uint64_t n, uint64_t each, const char *what, void **ret)
{
	uint64_t size;

	*ret = NULL;
	if (ckd_mul(&size, n, each) || size > IMAGE_MAX)
		return err_cure(
			rp_fail(rp, REPLAYER_E_REFUSED, seq,
				"#%llu: %s are more than the %llu GiB that a trace gets on the host",
				(unsigned long long)seq, what, IMAGE_MAX >> 30),
			"replay a window without this command");
	*ret = calloc(size ? size : 1, 1);
	return *ret ? NULL
		    : rp_fail(rp, REPLAYER_E_MEMORY, seq,
			      "#%llu: there is no host memory for %s, %llu bytes",
			      (unsigned long long)seq, what, (unsigned long long)size);
}

struct err *image_alloc(struct rp *rp, uint64_t seq, uint64_t size, const char *what, uint8_t **ret)
{
	void *p;
	struct err *e = image_array(rp, seq, size, 1, what, &p);

	*ret = p;
	return e;
}
