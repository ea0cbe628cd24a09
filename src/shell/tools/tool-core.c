/* SPDX-License-Identifier: Apache-2.0
 *
 * tsdb core: what a GPU core dump says, of each kernel where its lanes are; a dump that is there,
 * or one that a running process is asked for.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "base/json-put.h"
#include "shell/line/session.h"
#include "shell/tools/core-ask.h"
#include "shell/tools/core-text.h"
#include "shell/tools/tools.h"
#include "symbols/gpu-core.h"
#include "symbols/symbols.h"

#define USAGE "Usage: tsdb core FILE | -p PID [--json]"

static struct err *options(int argc, char **argv, bool *json, const char **file, pid_t *pid)
{
	for (int i = 0; i < argc; i++) {
		char *end = NULL;

		if (!strcmp(argv[i], "--json")) {
			*json = true;
		} else if (!strcmp(argv[i], "-p") && i + 1 < argc && !*pid) {
			const long n = strtol(argv[++i], &end, 10);

			if (*end || n <= 0 || n > 1 << 22)
				return err_cure(
					err_new(ERR_USAGE, "\"%s\" is no process number", argv[i]),
					USAGE);
			*pid = (pid_t)n;
		} else if (*argv[i] == '-' || *file) {
			return err_cure(
				err_new(ERR_USAGE, "core has no option %s", argv[i]), USAGE);
		} else {
			*file = argv[i];
		}
	}
	return !*file == !*pid
		       ? err_cure(err_new(ERR_USAGE, "core needs a GPU core dump, or a process"),
				 USAGE)
		       : NULL;
}

struct err *core_show(struct session *s, pid_t pid, const char *file, bool json)
{
	char *made = NULL;
	struct gpu_core *c = NULL;
	struct symbols *names;
	struct buf b = BUF_INIT;

	TRY(pid ? core_ask(pid, &c, &made) : gpu_core_read(file, &c));
	names = symbols_new();
	(json ? core_json : core_text)(&b, c, names);
	out_str(s->out, buf_cstr(&b));
	if (made)
		fprintf(stderr, "tsdb: the dump is %s; the process has lost its context.\n", made);
	buf_free(&b);
	symbols_free(names);
	gpu_core_free(c);
	free(made);
	return NULL;
}

int tool_core(struct session *s, int argc, char **argv)
{
	const char *file = NULL;
	bool json = false;
	pid_t pid = 0;
	struct err *e = options(argc, argv, &json, &file, &pid);

	if (!e)
		e = core_show(s, pid, file, json);
	if (e)
		out_error(s->out, e);
	return e != NULL;
}
