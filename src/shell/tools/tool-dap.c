/* SPDX-License-Identifier: Apache-2.0
 *
 * tsdb dap: for editors, see dap/dap.h.
 */
#include <limits.h>
#include <unistd.h>
#include "dap/dap.h"
#include "shell/tools/tools.h"

int tool_dap(struct session *s, int argc, char **argv)
{
	char self[PATH_MAX];
	const ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);

	if (argc || n < 0) {
		out_error(s->out,
			argc ? err_cure(err_new(ERR_USAGE, "dap takes no \"%s\"", argv[0]),
				       "It talks with an editor at standard input and output")
			     : err_new(ERR_SYSTEM, "/proc/self/exe cannot be read"));
		return 1;
	}
	self[n] = 0;
	return dap_talk(self);
}
