/* SPDX-License-Identifier: Apache-2.0
 *
 * tsdb core: what a GPU core dump says, of each kernel where its lanes are.
 */
#include <inttypes.h>
#include <string.h>
#include "base/json-put.h"
#include "shell/line/session.h"
#include "shell/tools/core-text.h"
#include "shell/tools/tools.h"
#include "symbols/gpu-core.h"
#include "symbols/symbols.h"

#define USAGE "Usage: tsdb core FILE [--json]"

int tool_core(struct session *s, int argc, char **argv)
{
	const char *file = NULL;
	struct gpu_core *c;
	struct symbols *names;
	struct buf b = BUF_INIT;
	struct err *e = NULL;
	bool json = false;

	for (int i = 0; !e && i < argc; i++) {
		if (!strcmp(argv[i], "--json"))
			json = true;
		else if (*argv[i] == '-' || file)
			e = err_cure(err_new(ERR_USAGE, "core has no option %s", argv[i]), USAGE);
		else
			file = argv[i];
	}
	if (!e && !file)
		e = err_cure(err_new(ERR_USAGE, "core needs a GPU core dump"), USAGE);
	if (!e)
		e = gpu_core_read(file, &c);
	if (e) {
		out_error(s->out, e);
		return 1;
	}
	names = symbols_new();
	if (json) {
		core_json(&b, c, names);
		buf_byte(&b, '\n');
	} else {
		core_text(&b, c, names);
	}
	out_str(s->out, buf_cstr(&b));
	buf_free(&b);
	symbols_free(names);
	gpu_core_free(c);
	return 0;
}
