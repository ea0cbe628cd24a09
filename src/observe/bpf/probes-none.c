/* SPDX-License-Identifier: Apache-2.0
 *
 * The kernel's side of tsdb observe in a build without libbpf or clang, see probes.h: opening
 * fails, so no other function is ever called.
 */
#include "observe/bpf/probes.h"

#include <stddef.h>

struct err *probes_open(struct probes **ret, const struct probes_options *o)
{
	*ret = NULL;
	return err_cure(err_new(ERR_UNSUPPORTED, "this tsdb was built without observe"),
		"Install libbpf-dev and clang, then configure and build again; record needs neither");
}

void probes_close(struct probes *p)
{
}

struct err *probes_attach(
	struct probes *p, const char *path, bool runtime, pid_t pid, unsigned *ret)
{
	BUG("no probes");
}

struct err *probes_names(struct probes *p, bool on)
{
	BUG("no probes");
}

void probes_detach(struct probes *p)
{
}

void probes_ignore(struct probes *p, pid_t pid)
{
}

struct err *probes_read(struct probes *p, int timeout_ms,
	struct err *(*fn)(void *arg, const void *record, size_t n), void *arg)
{
	BUG("no probes");
}

unsigned probes_stack(struct probes *p, int32_t id, uint64_t *ret)
{
	return 0;
}

void probes_counts(struct probes *p, uint64_t ret[OBS_COUNTS])
{
	for (unsigned i = 0; i < OBS_COUNTS; i++)
		ret[i] = 0;
}
