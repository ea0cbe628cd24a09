/* SPDX-License-Identifier: Apache-2.0
 *
 * The environment of the replayer's process and the layout of its address space. Both are set
 * before it runs, so user data that a trace should not see was never in it. The kernel chooses the
 * addresses at random each time; tsdb only chooses the region, one where recorded programs have
 * nothing: with ADDR_COMPAT_LAYOUT Linux maps libraries upwards from 0x2aaa..., while programs'
 * libraries are below 0x7fff...
 */
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/resource.h>
#include "replay/client/device-private.h"
#include "gpucode/gpu-files.h"

extern char **environ;

/* One layout for each attempt: a recorded range that is in use in one process may be free in the
 * next. */
static const unsigned long layouts[DEVICE_ATTEMPTS] = {
	ADDR_COMPAT_LAYOUT, ADDR_COMPAT_LAYOUT, 0, 0};

void device_child_layout(unsigned attempt)
{
	const unsigned long layout = layouts[attempt % DEVICE_ATTEMPTS];
	const int now = personality(0xffffffff);
	struct rlimit stack;

	if (now != -1 && personality(((unsigned long)now & ~(unsigned long)(ADDR_NO_RANDOMIZE |
									    ADDR_COMPAT_LAYOUT)) |
				     layout) != -1)
		return;
	/* Containers forbid personality(). Older kernels also use this layout when the stack has no
	 * limit. */
	if (layout && !getrlimit(RLIMIT_STACK, &stack) && stack.rlim_max == RLIM_INFINITY) {
		stack.rlim_cur = RLIM_INFINITY;
		(void)setrlimit(RLIMIT_STACK, &stack);
	}
}

/* --- environment --- */

/* Variables that the drivers and tsdb use; a name that ends in * is a prefix. */
static const char *const passed[] = {"TSDB_*", GPU_ENV_ANY, "NVIDIA_*", "LD_LIBRARY_PATH", "LANG",
	"LC_*", "TZ", "ASAN_OPTIONS", "UBSAN_OPTIONS"};

/* Variables that we set ourselves, or that make no sense in a sandbox: code to load, a cache to
 * write to, one process's socket. */
static const char *const never[] = {
	REPLAYER_FD_ENV, GPU_ENV_LOADS, GPU_ENV_LOADS_32, GPU_ENV_CACHE_PATH, GPU_ENV_CACHE_OFF};

static bool is_var(const char *entry, const char *name)
{
	const size_t n = strcspn(name, "*");

	return !strncmp(entry, name, n) && (name[n] || entry[n] == '=');
}

static bool any(const char *entry, const char *const *names, size_t n)
{
	while (n--)
		if (is_var(entry, names[n]))
			return true;
	return false;
}

static bool is_passed(const struct device *d, const char *entry)
{
	if ((d->softgpu && is_var(entry, "LD_LIBRARY_PATH")) ||
		(d->amd_target && is_var(entry, "TSDB_SOFTAMD_TARGET")) ||
		(d->limit_s && is_var(entry, "TSDB_REPLAYER_TIMEOUT")))
		return false;
	if (d->no_sandbox)
		return !is_var(entry, REPLAYER_FD_ENV);
	return any(entry, passed, sizeof passed / sizeof *passed) &&
	       !any(entry, never, sizeof never / sizeof *never);
}

char **device_child_env(const struct device *d, int fd)
{
	const char *path = getenv("LD_LIBRARY_PATH");
	size_t n = 0, k = 0;
	char **env;

	while (environ[n])
		n++;
	env = xcalloc(n + 6, sizeof *env);
	for (size_t i = 0; i < n; i++)
		if (is_passed(d, environ[i]))
			env[k++] = xstrdup(environ[i]);
	if (d->softgpu)
		env[k++] = path && *path ? xasprintf("LD_LIBRARY_PATH=%s:%s", d->softgpu, path)
					 : xasprintf("LD_LIBRARY_PATH=%s", d->softgpu);
	if (!d->no_sandbox)
		env[k++] = xstrdup(GPU_ENV_CACHE_OFF "=1"); /* of what the driver compiles: in the
							       user's home */
	if (d->amd_target)
		env[k++] = xasprintf("TSDB_SOFTAMD_TARGET=%s", d->amd_target);
	if (d->limit_s)
		env[k++] = xasprintf("TSDB_REPLAYER_TIMEOUT=%u", d->limit_s);
	env[k] = xasprintf(REPLAYER_FD_ENV "=%d", fd);
	return env;
}

void device_child_env_free(char **env)
{
	for (size_t i = 0; env[i]; i++)
		free(env[i]);
	free(env);
}
