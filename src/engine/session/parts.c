/* SPDX-License-Identifier: Apache-2.0
 *
 * The files that belong to tsdb, see parts.h.
 */
#include "engine/parts.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/buf.h"
#include "base/err.h"
#include "gpucode/gpu-files.h"

bool gpu_has_driver(void)
{
	return !access("/proc/driver/nvidia/version", R_OK) || !access("/dev/nvidiactl", F_OK) ||
	       !access("/dev/dxg", F_OK);
}

static const char *parts_folder;

void gpu_parts_folder(const char *dir)
{
	parts_folder = dir;
}

/* DIR/NAME as a heap string where such a file can be read, else NULL. */
static char *file_in(const char *dir, const char *name)
{
	char *path = xasprintf("%s/%s", dir, name);

	if (!access(path, R_OK))
		return path;
	free(path);
	return NULL;
}

/* Where TSDB_PLUGINDIR lies, as seen from TSDB_BINDIR: an installation that was moved or unpacked
 * somewhere else is found by that. A heap string. */
static char *plugins_beside(const char *bin)
{
	static const char from[] = TSDB_BINDIR, to[] = TSDB_PLUGINDIR;
	struct buf path = BUF_INIT;
	size_t same = 0;

	for (size_t i = 0; from[i] && from[i] == to[i]; i++)
		if (from[i] == '/')
			same = i + 1;
	buf_printf(&path, "%s", bin);
	for (const char *p = from + same; p && *p; p = strchr(p, '/') ? strchr(p, '/') + 1 : NULL)
		buf_printf(&path, "/..");
	buf_printf(&path, "/%s", to + same);
	return buf_steal(&path);
}

/* The folder of the running program; false: the kernel does not tell. */
static bool own_folder(char folder[PATH_MAX])
{
	ssize_t n = readlink("/proc/self/exe", folder, PATH_MAX - 1);
	char *slash;

	if (n <= 0)
		return false;
	folder[n] = 0;
	slash = strrchr(folder, '/');
	if (slash)
		*slash = 0;
	return true;
}

/* The path of one of tsdb's files: in the chosen folder, else beside the program (a build), else
 * where the installation has it as seen from the program, else in the bundle's folder, else where
 * it was configured to be. */
static char *own_file(const char *name)
{
	char exe[PATH_MAX], *path = parts_folder ? file_in(parts_folder, name) : NULL;

	if (!path && own_folder(exe)) {
		char *plugins = plugins_beside(exe), *bundle = xasprintf("%s/../lib/tsdb", exe);

		path = file_in(exe, name);
		path = path ? path : file_in(plugins, name);
		path = path ? path : file_in(bundle, name);
		free(plugins);
		free(bundle);
	}
	return path ? path : file_in(TSDB_PLUGINDIR, name);
}

char *gpu_example_path(const char *name)
{
	char *in_folder = xasprintf("examples/%s", name), *path = own_file(in_folder),
	     exe[PATH_MAX];

	free(in_folder);
	if (!path && own_folder(exe)) {
		char *bundle = xasprintf("%s/../examples", exe);

		path = file_in(bundle, name);
		free(bundle);
	}
	return path;
}

char *gpu_agent_path(void)
{
	return own_file("libtsdb-agent.so");
}

char *gpu_replayer_path(void)
{
	return own_file("tsdb-replayer");
}

char *gpu_keeper_path(void)
{
	return own_file("tsdb-keeper");
}

static char *folder_of(char *file)
{
	if (file)
		*strrchr(file, '/') = 0;
	return file;
}

char *gpu_soft_dir(void)
{
	return folder_of(own_file(GPU_SOFT_LIBRARY));
}

char *gpu_soft_amd_dir(void)
{
	return folder_of(own_file(GPU_SOFT_AMD_LIBRARY));
}

char *gpu_soft_dir_for_replay(void)
{
#ifdef __SANITIZE_ADDRESS__
	char *lib = own_file(GPU_SOFT_LIBRARY_SANITISED);

	if (lib)
		return folder_of(lib);
#endif
	return gpu_soft_dir();
}
