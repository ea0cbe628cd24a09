/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads kernels' names from a running process, see kernel-names.h. The process is not stopped.
 */
#include "observe/decode/kernel-names.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include "attach/remote.h"
#include "base/buf.h"

#define NAME_AT 8 /* bytes into the driver's record */
#define NAME_MAX_BYTES 4096u
#define PAGE 4096u
#define LOOKS_MAX 64u /* at names that the driver returned */

struct kernel_names {
	pid_t pid;
	unsigned looks;
	bool confirmed, refuted;
	char name[NAME_MAX_BYTES];
};

struct kernel_names *kernel_names_new(pid_t pid)
{
	struct kernel_names *k = xcalloc(1, sizeof *k);

	k->pid = pid;
	return k;
}

void kernel_names_free(struct kernel_names *k)
{
	free(k);
}

/* Reads text up to its NUL, page by page: memory behind the name may not be mapped. */
static bool read_text(struct kernel_names *k, uint64_t addr)
{
	size_t have = 0;

	while (have < NAME_MAX_BYTES) {
		size_t n = PAGE - (addr + have) % PAGE;

		n = n < NAME_MAX_BYTES - have ? n : NAME_MAX_BYTES - have;
		if (!remote_read(k->pid, addr + have, k->name + have, n))
			return false;
		if (memchr(k->name + have, '\0', n))
			return true;
		have += n;
	}
	return false;
}

/* An identifier of PTX (PTX ISA, "Identifiers"): what an entry function can be called. */
static bool is_identifier(const char *s)
{
	if (!isalpha((unsigned char)*s) && !strchr("_$%", *s))
		return false;
	for (; *s; s++)
		if (!isalnum((unsigned char)*s) && !strchr("_$%.", *s))
			return false;
	return true;
}

static bool find(struct kernel_names *k, uint64_t handle)
{
	uint64_t at;

	return handle && handle % 8 == 0 && remote_read(k->pid, handle + NAME_AT, &at, sizeof at) &&
	       at && read_text(k, at) && *k->name && is_identifier(k->name);
}

void kernel_names_told(struct kernel_names *k, uint64_t handle, const char *name)
{
	uint64_t probe;

	if (k->confirmed || k->looks == LOOKS_MAX ||
		!remote_read(k->pid, handle, &probe, sizeof probe))
		return;
	k->looks++;
	k->confirmed = find(k, handle) && !strcmp(k->name, name);
	/* or the kernel was unloaded meanwhile: then another name confirms */
	k->refuted = !k->confirmed;
}

const char *kernel_names_get(struct kernel_names *k, uint64_t handle, bool known)
{
	return !k->refuted && (known || k->confirmed) && find(k, handle) ? k->name : NULL;
}
