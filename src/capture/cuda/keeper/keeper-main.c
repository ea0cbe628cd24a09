/* SPDX-License-Identifier: Apache-2.0
 *
 * tsdb-keeper SOCKET PID NUMBER: owns the device memory that the agent in process PID copies the
 * program's memory to; see keeper.h. Its number is the upper half of all ids. tsdb starts it and it
 * ends with tsdb. The surprise: it has no context until something is read back, so that it costs
 * the program no device memory but the copies.
 */
#include <cuda.h>
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
#include "capture/cuda/keeper/keeper.h"
#include "base/checked.h"

#define STAGING (1u << 20)
#define DEVICES 64
#define RETRY_NS 10000000 /* until there may be a descriptor, or memory, again */

#define FUNCTIONS(F)                                                                               \
	F(cuInit)                                                                                  \
	F(cuDeviceGetCount)                                                                        \
	F(cuDeviceGet)                                                                             \
	F(cuDeviceGetUuid_v2)                                                                      \
	F(cuDevicePrimaryCtxRetain)                                                                \
	F(cuCtxSetCurrent)                                                                         \
	F(cuMemGetAllocationGranularity)                                                           \
	F(cuMemCreate)                                                                             \
	F(cuMemRelease)                                                                            \
	F(cuMemExportToShareableHandle)                                                            \
	F(cuMemAddressReserve)                                                                     \
	F(cuMemMap)                                                                                \
	F(cuMemUnmap)                                                                              \
	F(cuMemAddressFree)                                                                        \
	F(cuMemSetAccess)                                                                          \
	F(cuMemcpyDtoH_v2)

static struct {
#define FUNCTION(name) __typeof__(&name) name;
	FUNCTIONS(FUNCTION)
#undef FUNCTION
} driver;

struct block {
	struct block *next;
	uint64_t id, bytes;
	CUdevice dev;
	CUmemGenericAllocationHandle handle;
	CUdeviceptr at; /* 0: not mapped here yet */
};

/* Guards everything below, and the blocks. It is not held while sending: the receiver may be
 * stopped. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct block *blocks;
static uint64_t first_id;
static uint32_t last_id;
static CUcontext contexts[DEVICES];
static CUresult opened = CUDA_ERROR_NOT_INITIALIZED;

/* ---- the driver ---- */

static CUresult open_driver(void)
{
	static bool tried;
	void *lib = tried ? NULL : dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);

	if (tried)
		return opened;
	tried = true;
	opened = CUDA_ERROR_NOT_SUPPORTED;
	if (!lib)
		return opened;
#define FUNCTION(name)                                                                             \
	driver.name = (__typeof__(driver.name))(uintptr_t)dlsym(lib, #name);                       \
	if (!driver.name)                                                                          \
		return opened;
	FUNCTIONS(FUNCTION)
#undef FUNCTION
	opened = driver.cuInit(0);
	return opened;
}

static CUresult find_device(const uint8_t uuid[16], CUdevice *ret)
{
	CUuuid have;
	int n = 0;
	CUresult r = driver.cuDeviceGetCount(&n);

	for (int i = 0; !r && i < n && i < DEVICES; i++) {
		r = driver.cuDeviceGet(ret, i);
		if (!r && !driver.cuDeviceGetUuid_v2(&have, *ret) &&
			!memcmp(have.bytes, uuid, sizeof(have.bytes)))
			return CUDA_SUCCESS;
	}
	return r ? r : CUDA_ERROR_INVALID_DEVICE;
}

/* Makes the device's context current to this thread. */
static CUresult enter(CUdevice dev)
{
	CUresult r = CUDA_SUCCESS;

	if (dev < 0 || dev >= DEVICES)
		return CUDA_ERROR_INVALID_DEVICE;
	if (!contexts[dev])
		r = driver.cuDevicePrimaryCtxRetain(&contexts[dev], dev);
	return r ? r : driver.cuCtxSetCurrent(contexts[dev]);
}

/* ---- blocks ---- */

static CUresult create(struct block *b, uint64_t bytes, int *ret_fd)
{
	const CUmemAllocationProp prop = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
		.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
		.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = b->dev}};
	size_t grain = 0;
	CUresult r = driver.cuMemGetAllocationGranularity(
		&grain, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM);

	if (r)
		return r;
	if (!bytes || !grain || ckd_add(&b->bytes, bytes, (uint64_t)grain - 1))
		return CUDA_ERROR_INVALID_VALUE;
	b->bytes -= b->bytes % grain;
	r = driver.cuMemCreate(&b->handle, b->bytes, &prop, 0);
	if (r && r != CUDA_ERROR_OUT_OF_MEMORY &&
		!enter(b->dev)) /* a driver that wants a context */
		r = driver.cuMemCreate(&b->handle, b->bytes, &prop, 0);
	if (r)
		return r;
	r = driver.cuMemExportToShareableHandle(
		ret_fd, b->handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0);
	if (r)
		driver.cuMemRelease(b->handle);
	return r;
}

static CUresult make(const struct keeper_ask *q, struct keeper_answer *a, int *ret_fd)
{
	struct block *b = calloc(1, sizeof(*b));
	CUresult r = b ? open_driver() : CUDA_ERROR_OUT_OF_MEMORY;

	if (!r)
		r = find_device(q->uuid, &b->dev);
	if (!r)
		r = create(b, q->bytes, ret_fd);
	if (r) {
		free(b);
		return r;
	}
	b->next = blocks;
	b->id = first_id | ++last_id;
	blocks = b;
	a->id = b->id;
	a->bytes = b->bytes;
	return CUDA_SUCCESS;
}

static struct block **find(uint64_t id)
{
	struct block **at = &blocks;

	while (*at && (*at)->id != id)
		at = &(*at)->next;
	return at;
}

static CUresult drop(uint64_t id)
{
	struct block **at = find(id), *b = *at;

	if (!b)
		return CUDA_ERROR_NOT_FOUND;
	*at = b->next;
	if (b->at) {
		driver.cuMemUnmap(b->at, b->bytes);
		driver.cuMemAddressFree(b->at, b->bytes);
	}
	driver.cuMemRelease(b->handle);
	free(b);
	return CUDA_SUCCESS;
}

static CUresult map(struct block *b)
{
	const CUmemAccessDesc may = {
		.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = b->dev},
		.flags = CU_MEM_ACCESS_FLAGS_PROT_READ};
	CUresult r = CUDA_SUCCESS;

	if (b->at)
		return r;
	r = driver.cuMemAddressReserve(&b->at, b->bytes, 0, 0, 0);
	if (r)
		return r;
	r = driver.cuMemMap(b->at, b->bytes, 0, b->handle, 0);
	if (!r) {
		r = driver.cuMemSetAccess(b->at, b->bytes, &may, 1);
		if (r)
			driver.cuMemUnmap(b->at, b->bytes);
	}
	if (r) {
		driver.cuMemAddressFree(b->at, b->bytes);
		b->at = 0;
	}
	return r;
}

/* Copies one piece of it; dst NULL: only checks whether it could be read. */
static CUresult copy(uint64_t id, uint64_t offset, uint64_t n, void *dst)
{
	struct block *b = *find(id);
	CUresult r;

	if (!b)
		return CUDA_ERROR_NOT_FOUND;
	if (!range_within(offset, n, 0, b->bytes))
		return CUDA_ERROR_INVALID_VALUE;
	r = enter(b->dev);
	if (!r)
		r = map(b);
	return r || !dst ? r : driver.cuMemcpyDtoH_v2(dst, b->at + offset, n);
}

/* ---- the socket ---- */

static bool send_answer(int s, const struct keeper_answer *a, int fd)
{
	union {
		struct cmsghdr head;
		char bytes[CMSG_SPACE(sizeof(int))];
	} box;
	struct iovec v = {(void *)(uintptr_t)a, sizeof(*a)};
	struct msghdr m = {
		.msg_iov = &v, .msg_iovlen = 1, .msg_control = &box, .msg_controllen = sizeof(box)};

	if (fd < 0)
		return keeper_send(s, a, sizeof(*a));
	memset(&box, 0, sizeof(box));
	box.head.cmsg_level = SOL_SOCKET;
	box.head.cmsg_type = SCM_RIGHTS;
	box.head.cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(&box.head), &fd, sizeof(fd));
	return sendmsg(s, &m, MSG_NOSIGNAL) == (ssize_t)sizeof(*a);
}

static void send_bytes(int s, const struct keeper_ask *q)
{
	char *staging = malloc(STAGING);

	for (uint64_t done = 0; staging && done < q->bytes;) {
		size_t n = q->bytes - done < STAGING ? (size_t)(q->bytes - done) : STAGING;
		CUresult r;

		pthread_mutex_lock(&lock);
		r = copy(q->id, q->offset + done, n, staging);
		pthread_mutex_unlock(&lock);
		if (r || !keeper_send(s, staging, n))
			break; /* the client sees the end of the connection */
		done += n;
	}
	free(staging);
}

static void *serve(void *arg)
{
	const int s = (int)(intptr_t)arg;
	struct keeper_answer a = {.result = CUDA_ERROR_INVALID_VALUE};
	struct keeper_ask q;
	bool sent;
	int fd = -1;

	if (keeper_receive(s, &q, sizeof(q))) {
		pthread_mutex_lock(&lock);
		if (q.kind == KEEPER_MAKE)
			a.result = make(&q, &a, &fd);
		else if (q.kind == KEEPER_DROP)
			a.result = drop(q.id);
		else if (q.kind == KEEPER_READ)
			a.result = copy(q.id, q.offset, q.bytes, NULL);
		pthread_mutex_unlock(&lock);
		sent = send_answer(s, &a, fd);
		if (!sent && fd >= 0) { /* nobody will drop it */
			pthread_mutex_lock(&lock);
			drop(a.id);
			pthread_mutex_unlock(&lock);
		}
		if (sent && q.kind == KEEPER_READ && !a.result)
			send_bytes(s, &q);
	}
	if (fd >= 0)
		close(fd);
	close(s);
	return NULL;
}

static bool is_from(int s, pid_t pid)
{
	struct ucred who;
	socklen_t n = sizeof(who);

	return !getsockopt(s, SOL_SOCKET, SO_PEERCRED, &who, &n) && who.pid == pid;
}

static void nap(void)
{
	nanosleep(&(struct timespec){.tv_nsec = RETRY_NS}, NULL);
}

/* A driver may hold a descriptor for each block, and each client has one. */
static void raise_limit(void)
{
	struct rlimit files;

	if (getrlimit(RLIMIT_NOFILE, &files))
		return;
	files.rlim_cur = files.rlim_max;
	(void)setrlimit(RLIMIT_NOFILE, &files);
}

/* Clients wait while the system lacks what their connection needs: an end of this process would
 * lose all copies. */
static void serve_all(int listening, pid_t pid)
{
	pthread_attr_t detached;
	pthread_t thread;
	int s;

	pthread_attr_init(&detached);
	pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
	for (;;) {
		s = accept4(listening, NULL, NULL, SOCK_CLOEXEC);
		if (s < 0) {
			if (errno != EINTR && errno != ECONNABORTED)
				nap();
			continue;
		}
		if (!is_from(s, pid)) {
			close(s);
			continue;
		}
		while (pthread_create(&thread, &detached, serve, (void *)(intptr_t)s))
			nap();
	}
}

static bool is_listening(int s)
{
	int yes = 0;
	socklen_t n = sizeof(yes);

	return !getsockopt(s, SOL_SOCKET, SO_ACCEPTCONN, &yes, &n) && yes;
}

int main(int argc, char **argv)
{
	int listening = argc == 4 ? atoi(argv[1]) : -1;

	if (!is_listening(listening)) {
		fputs("tsdb-keeper: is started by tsdb\n", stderr);
		return 2;
	}
	first_id = strtoull(argv[3], NULL, 10) << 32;
	raise_limit();
	pthread_mutex_lock(&lock);
	/* takes some tenths of a second: so it is done before any client waits */
	(void)open_driver();
	pthread_mutex_unlock(&lock);
	serve_all(listening, atoi(argv[2]));
}
