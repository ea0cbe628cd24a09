/* SPDX-License-Identifier: Apache-2.0
 *
 * The probes of tsdb observe as a script for bpftrace, to begin one's own from: a probe for each
 * entry point that the library has, in three groups by what observe-calls.def says of them.
 */
#include <stdlib.h>
#include "observe/bpf/addresses.h"
#include "observe/bpf/probe.h"
#include "observe/decode/observe-calls.h"
#include "observe/observe.h"

enum group { PLAIN, WITH_STACK, RETURNING, GROUPS };

static enum group group_of(uint64_t cookie)
{
	if (cookie & OBS_C_LEAVE)
		return RETURNING;
	return cookie & OBS_C_STACK ? WITH_STACK : PLAIN;
}

/* "uprobe:LIBRARY:NAME," for each entry point of the group; false: there is none. */
static bool put_probes(struct buf *out, const char *kind, const char *library,
	const uint64_t *offset, enum group group)
{
	bool any = false;

	for (unsigned i = 0; i < obs_ncalls; i++) {
		if (!offset[i] || !obs_calls[i].see || group_of(obs_calls[i].cookie) != group)
			continue;
		buf_printf(out, "%s%s:%s:%s", any ? ",\n" : "", kind, library, obs_calls[i].name);
		any = true;
	}
	return any;
}

static void put_groups(struct buf *out, const char *library, const uint64_t *offset)
{
	static const char of_process[] = "\n/!$1 || pid == $1/\n";

	if (put_probes(out, "uprobe", library, offset, PLAIN))
		buf_printf(out, "%s{\n\t@calls[probe] = count();\n}\n\n", of_process);
	buf_str(out, "/* Launches, copies, records: with where the program called. */\n");
	if (put_probes(out, "uprobe", library, offset, WITH_STACK))
		buf_printf(out,
			"%s{\n\t@calls[probe] = count();\n\t@places[probe, ustack(16)] = count();\n}\n\n",
			of_process);
	buf_str(out, "/* What creates something, or waits: with how long it took. */\n");
	if (put_probes(out, "uprobe", library, offset, RETURNING))
		buf_printf(out, "%s{\n\t@calls[probe] = count();\n\t@begun[tid] = nsecs;\n}\n\n",
			of_process);
	if (put_probes(out, "uretprobe", library, offset, RETURNING))
		buf_str(out, "\n/@begun[tid]/\n{\n\t@took_ns[probe] = hist(nsecs - @begun[tid]);\n"
			     "\tif (retval) {\n\t\t@failed[probe, retval] = count();\n\t}\n"
			     "\tdelete(@begun[tid]);\n}\n\n");
}

struct err *observe_script(const char *library, struct buf *out)
{
	uint64_t *offset;
	unsigned n;

	for (const char *p = library; *p; p++)
		if (*p == ':' || *p == ',' || *p == '*' || *p == '\n' || *p == '"')
			return err_new(ERR_UNSUPPORTED,
				"bpftrace cannot name a library with '%c' in its path", *p);
	offset = xcalloc(obs_ncalls, sizeof *offset);
	n = addresses_exported(library, false, offset);
	if (n) {
		buf_printf(out,
			"#!/usr/bin/env bpftrace\n/*\n * Calls of a GPU's driver: the %u entry points that tsdb observe looks at in this library.\n"
			" * Run it as root: bpftrace FILE [PID]. Every 5 seconds the calls since then; at the end the rest.\n */\n",
			n);
		put_groups(out, library, offset);
		buf_str(out, "interval:s:5\n{\n\tprint(@calls);\n\tclear(@calls);\n}\n\n"
			     "END\n{\n\tclear(@begun);\n}\n");
	}
	free(offset);
	return n ? NULL
		 : err_new(ERR_NOT_FOUND, "%s has no entry point of a GPU's driver", library);
}
