/* SPDX-License-Identifier: Apache-2.0
 *
 * Limits on what a replay may use, and capabilities. The surprise: address space has no limit,
 * since both CUDA's driver and the software GPU reserve far more of it than there is memory.
 * Writable memory (RLIMIT_DATA) has one.
 */
#include <fcntl.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <unistd.h>
#include "replayer/sandbox/sandbox-private.h"

#define CPU_SECONDS (7u * 86400u) /* of all threads together: a day of a check on seven cores */
/* of memory, beyond twice what the machine has: the software GPU maps more than it uses */
#define SPARE (16ull << 30)

/* Sets a limit, never above the one that the process already has. */
static bool limit(int what, rlim_t n)
{
	struct rlimit l;

	if (getrlimit(what, &l))
		return false;
	if (l.rlim_max != RLIM_INFINITY && l.rlim_max < n)
		n = l.rlim_max;
	return !setrlimit(what, &(struct rlimit){n, n});
}

void sandbox_first_to_go(void)
{
	const int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

	if (fd >= 0 && write(fd, "1000", 4) < 0)
		(void)fd; /* harmless: the kernel chooses by size then */
	if (fd >= 0)
		close(fd);
}

/* RLIM_INFINITY: none. */
static rlim_t most_memory(void)
{
	struct sysinfo s;
	rlim_t n;

#ifdef __SANITIZE_ADDRESS__
	return RLIM_INFINITY; /* its shadow can be written to, all 16 TiB of it */
#endif
	if (getenv("TSDB_SOFT_MEMORY")) /* the user decides how much there is */
		return RLIM_INFINITY;
	if (sysinfo(&s) ||
		__builtin_mul_overflow(
			(rlim_t)s.totalram + s.totalswap, (rlim_t)s.mem_unit * 2, &n) ||
		__builtin_add_overflow(n, (rlim_t)SPARE, &n))
		return RLIM_INFINITY;
	return n;
}

void sandbox_limits(struct sandbox *b)
{
	const rlim_t files = b->soft ? SANDBOX_FILES_SOFT : SANDBOX_FILES_REAL,
		     memory = most_memory();
	char text[40] = "memory as there is";

	if (memory != RLIM_INFINITY)
		snprintf(text, sizeof text, "%llu GiB of memory",
			(unsigned long long)(memory >> 30));
	if (limit(RLIMIT_CORE, 0) && limit(RLIMIT_CPU, CPU_SECONDS) &&
		limit(RLIMIT_NOFILE, files) && limit(RLIMIT_DATA, memory))
		sandbox_has(b, SANDBOX_LIMITS,
			"%s, %u hours of processor time, %u open files, no core", text,
			CPU_SECONDS / 3600, (unsigned)files);
	else
		sandbox_lacks(b, SANDBOX_LIMITS, "the system sets no limits");
}

void sandbox_capabilities(struct sandbox *b)
{
	struct __user_cap_header_struct head = {_LINUX_CAPABILITY_VERSION_3, 0};
	struct __user_cap_data_struct none[2] = {{0}};

	for (unsigned long cap = 0; cap <= CAP_LAST_CAP + 16u;
		cap++) /* newer kernels have more; unknown ones are refused */
		(void)prctl(PR_CAPBSET_DROP, cap, 0, 0, 0);
	if (syscall(SYS_capset, &head, none))
		sandbox_lacks(b, SANDBOX_CAPABILITIES, "they cannot be dropped");
	else
		sandbox_has(b, SANDBOX_CAPABILITIES, "none");
}
