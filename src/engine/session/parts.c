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

/* The path of one of tsdb's files: in the chosen folder, else DIR/here next to the program, else
 * DIR/../there, else in the installation's folder. */
static char *own_file(const char *name)
{
	char exe[PATH_MAX], *slash, *path = NULL;
	ssize_t n = readlink("/proc/self/exe", exe, sizeof exe - 1);
	const char *const forms[] = {"%s/%s", "%s/../lib/tsdb/%s"};

	if (parts_folder) {
		path = xasprintf("%s/%s", parts_folder, name);
		if (!access(path, R_OK))
			return path;
		free(path);
	}
	if (n > 0) {
		exe[n] = 0;
		slash = strrchr(exe, '/');
		if (slash)
			*slash = 0;
		path = xasprintf("%s/%s", exe, name);
		if (!access(path, R_OK))
			return path;
		free(path);
		path = xasprintf(forms[1], exe, name);
		if (!access(path, R_OK))
			return path;
		free(path);
	}
	path = xasprintf("%s/%s", TSDB_PLUGINDIR, name);
	if (!access(path, R_OK))
		return path;
	free(path);
	return NULL;
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
	return folder_of(own_file("softgpu/libcuda.so.1"));
}

char *gpu_soft_amd_dir(void)
{
	return folder_of(own_file("softamd/libhsakmt.so.1"));
}

char *gpu_soft_dir_for_replay(void)
{
#ifdef __SANITIZE_ADDRESS__
	char *lib = own_file("softgpu/sanitised/libcuda.so.1");

	if (lib)
		return folder_of(lib);
#endif
	return gpu_soft_dir();
}
