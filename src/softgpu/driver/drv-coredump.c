/* SPDX-License-Identifier: Apache-2.0
 *
 * Core dumps on demand, as a stand-in for tests of who asks for them: with TSDB_SOFT_CORE=FILE the
 * attributes are taken, the pipe is made, and a byte written to it copies FILE, a dump of a real
 * device, to where the dump was asked for. Without TSDB_SOFT_CORE the calls are refused: what the
 * software GPU knows of a running kernel it says through tsdb_soft_look().
 *
 * Source of the attributes: "Coredump Attributes Control API" in the CUDA driver API. What the
 * stand-in does not do: it writes no dump at a fault, and a dump does not end the context.
 */
#include "softgpu/driver/drv.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct {
	pthread_mutex_t lock;
	bool on[CU_COREDUMP_MAX];	  /* of those that are true or false */
	char text[CU_COREDUMP_MAX][1024]; /* of FILE and PIPE */
	unsigned flags;
} core = {.lock = PTHREAD_MUTEX_INITIALIZER};

static bool is_text(CUcoredumpSettings what)
{
	return what == CU_COREDUMP_FILE || what == CU_COREDUMP_PIPE;
}

static void *value_of(CUcoredumpSettings what, size_t *ret_size)
{
	if (what == CU_COREDUMP_GENERATION_FLAGS) {
		*ret_size = sizeof core.flags;
		return &core.flags;
	}
	*ret_size = sizeof(bool);
	return what >= CU_COREDUMP_ENABLE_ON_EXCEPTION && what < CU_COREDUMP_MAX ? &core.on[what]
										 : NULL;
}

static void copy_file(const char *from, const char *to)
{
	const int in = open(from, O_RDONLY | O_CLOEXEC);
	const int out = open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0640);
	char part[4096];
	ssize_t n;

	/* In small pieces with pauses: a reader sees it grow, as it does with the driver's. */
	while (in >= 0 && out >= 0 && (n = read(in, part, sizeof part)) > 0) {
		if (write(out, part, (size_t)n) != n)
			break;
		usleep(500);
	}
	if (in >= 0)
		close(in);
	if (out >= 0)
		close(out);
}

static void *listen_to_pipe(void *arg)
{
	const int fd = (int)(intptr_t)arg;
	char c;

	pthread_setname_np(pthread_self(), "tsdb-soft-core");
	while (read(fd, &c, 1) == 1) {
		char file[sizeof core.text[0]];

		pthread_mutex_lock(&core.lock);
		memcpy(file, core.text[CU_COREDUMP_FILE], sizeof file);
		pthread_mutex_unlock(&core.lock);
		copy_file(getenv("TSDB_SOFT_CORE"), file);
	}
	close(fd);
	return NULL;
}

/* Open for reading and writing, so that it never ends. */
static CUresult make_pipe(void)
{
	const char *path = core.text[CU_COREDUMP_PIPE];
	pthread_t thread;
	int fd;

	if (mkfifo(path, 0640))
		return CUDA_ERROR_INVALID_VALUE;
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0 || pthread_create(&thread, NULL, listen_to_pipe, (void *)(intptr_t)fd)) {
		if (fd >= 0)
			close(fd);
		return CUDA_ERROR_OPERATING_SYSTEM;
	}
	pthread_detach(thread);
	return CUDA_SUCCESS;
}

static CUresult set(CUcoredumpSettings what, const void *value, size_t size)
{
	size_t has;
	void *to = value_of(what, &has);

	if (is_text(what)) {
		/* "The pipe cannot be changed once user-triggered core dumps are enabled." */
		if (what == CU_COREDUMP_PIPE && core.on[CU_COREDUMP_ENABLE_USER_TRIGGER])
			return CUDA_ERROR_NOT_PERMITTED;
		if (size >= sizeof core.text[what])
			return CUDA_ERROR_INVALID_VALUE;
		memset(core.text[what], 0, sizeof core.text[what]);
		memcpy(core.text[what], value, size);
		return CUDA_SUCCESS;
	}
	if (!to || size != has)
		return CUDA_ERROR_INVALID_VALUE;
	memcpy(to, value, size);
	/* The driver has no user-triggered dumps without those at faults. */
	if (what == CU_COREDUMP_ENABLE_USER_TRIGGER && core.on[what]) {
		core.on[CU_COREDUMP_ENABLE_ON_EXCEPTION] = true;
		return make_pipe();
	}
	return CUDA_SUCCESS;
}

static CUresult refuse(const char *name)
{
	drv_say("%s is not supported", name);
	return CUDA_ERROR_NOT_SUPPORTED;
}

DRV_DEFINE(
	3, cuCoredumpSetAttributeGlobal, CUcoredumpSettings, attrib, void *, value, size_t *, size)
{
	CUresult r;

	if (!getenv("TSDB_SOFT_CORE"))
		return refuse("cuCoredumpSetAttributeGlobal");
	if (!value || !size)
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&core.lock);
	r = set(attrib, value, *size);
	pthread_mutex_unlock(&core.lock);
	return r;
}

DRV_DEFINE(
	3, cuCoredumpGetAttributeGlobal, CUcoredumpSettings, attrib, void *, value, size_t *, size)
{
	size_t has;
	const void *from;

	if (!getenv("TSDB_SOFT_CORE"))
		return refuse("cuCoredumpGetAttributeGlobal");
	if (!value || !size)
		return CUDA_ERROR_INVALID_VALUE;
	from = is_text(attrib) ? (has = strlen(core.text[attrib]) + 1, core.text[attrib])
			       : value_of(attrib, &has);
	if (!from || *size < has)
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&core.lock);
	memcpy(value, from, has);
	*size = has;
	pthread_mutex_unlock(&core.lock);
	return CUDA_SUCCESS;
}
