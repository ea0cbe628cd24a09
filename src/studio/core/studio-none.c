/* SPDX-License-Identifier: Apache-2.0
 *
 * A build without libmicrohttpd: the command says so.
 */
#include "studio/studio.h"

struct err *studio_possible(void)
{
	return err_cure(
		err_new(ERR_UNSUPPORTED,
			"tsdb studio needs libmicrohttpd, which this tsdb was built without"),
		"Install libmicrohttpd-dev, run configure again, and build tsdb anew");
}

struct err *studio_run(const struct studio_ask *ask)
{
	(void)ask;
	return studio_possible();
}
