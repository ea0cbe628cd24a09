/* SPDX-License-Identifier: Apache-2.0
 *
 * Device memory of the keeper's process; see keep.h.
 */
#include "capture/cuda/keeper/keep.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>
#include "capture/cuda/cuda-api.h"
#include "capture/cuda/keeper/keeper.h"

#define PATIENCE_SECONDS 10
#define NAP_NS 10000000
#define NAPS_MOST 200

/* Of keepers, by their numbers (control.keeper_number); 0: of none. */
static _Atomic uint32_t refused; /* no memory is asked for any more: it did not work */
static _Atomic uint32_t lost;	 /* nothing is asked any more: it did not answer */
static _Atomic uint32_t told;	 /* a sentence was said about it */
static _Atomic uint32_t naps;	 /* all that were taken for want of a descriptor */

/* ---- finding the keeper ---- */

static uint32_t number(void)
{
	return atomic_load(&agent.control->keeper_number);
}

/* The upper half of an id is the number of the keeper that made it. */
static uint32_t maker(uint64_t id)
{
	return (uint32_t)(id >> 32);
}

bool keep_is_safe(uint64_t id)
{
	return maker(id) == number() && atomic_load(&lost) != maker(id);
}

/* One sentence for the user, the first about each keeper. Always returns false. No lock: at a stop
 * its holder may be stopped. */
static bool tell(uint32_t keeper, const char *why, unsigned code)
{
	if (keeper == number() && atomic_exchange(&told, keeper) != keeper)
		snprintf(agent.control->keep_text, sizeof(agent.control->keep_text), why, code);
	return false;
}

static bool refuse(const char *why, unsigned code)
{
	const uint32_t keeper = number();
	atomic_store(&refused, keeper);
	return tell(keeper, why, code);
}

/* The socket's limit is over, or its other end is closed. */
static void lose(uint32_t keeper, int why)
{
	atomic_store(&lost, keeper);
	if (why == EAGAIN || why == EWOULDBLOCK)
		tell(keeper, "the process that keeps them did not answer within %u s",
			PATIENCE_SECONDS);
	else
		tell(keeper,
			"the process that keeps them has ended, or cannot be reached (error %u)",
			(unsigned)why);
}

/* ---- the socket ---- */

/* A program may have no descriptor left. Waits for one, two seconds in its life. */
static int new_socket(void)
{
	int s;
	while ((s = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) < 0 &&
		(errno == EMFILE || errno == ENFILE) && atomic_fetch_add(&naps, 1) < NAPS_MOST)
		nanosleep(&(struct timespec){.tv_nsec = NAP_NS}, NULL);
	return s;
}

static int call(uint32_t keeper)
{
	struct sockaddr_un to = {.sun_family = AF_UNIX};
	const struct timeval most = {.tv_sec = PATIENCE_SECONDS};
	const char *name = agent.control->keeper;
	const size_t n = strnlen(name, sizeof(agent.control->keeper));
	if (n < 2 || n >= sizeof(agent.control->keeper) || n > sizeof(to.sun_path))
		return -1;
	const int s = new_socket();
	if (s < 0) {
		refuse("the program had no file descriptor left for asking the process that keeps them",
			0);
		return -1;
	}
	memcpy(to.sun_path + 1, name + 1, n - 1); /* begins with a NUL */
	(void)setsockopt(s, SOL_SOCKET, SO_RCVTIMEO, &most, sizeof(most));
	(void)setsockopt(s, SOL_SOCKET, SO_SNDTIMEO, &most, sizeof(most));
	if (!connect(s, (const struct sockaddr *)&to,
		    (socklen_t)(offsetof(struct sockaddr_un, sun_path) + n)))
		return s;
	lose(keeper, errno);
	close(s);
	return -1;
}

/* *ret_fd: the descriptor that came with the answer, or -1. */
static bool receive_answer(int s, struct keeper_answer *a, int *ret_fd)
{
	union {
		struct cmsghdr head;
		char bytes[CMSG_SPACE(sizeof(int))];
	} box;
	struct iovec v = {a, sizeof(*a)};
	struct msghdr m = {
		.msg_iov = &v, .msg_iovlen = 1, .msg_control = &box, .msg_controllen = sizeof(box)};
	ssize_t n;
	*ret_fd = -1;
	do
		n = recvmsg(s, &m, MSG_CMSG_CLOEXEC | MSG_WAITALL);
	while (n < 0 && errno == EINTR);
	if (n > 0 && m.msg_controllen >= sizeof(box.head) && box.head.cmsg_level == SOL_SOCKET &&
		box.head.cmsg_type == SCM_RIGHTS && box.head.cmsg_len == CMSG_LEN(sizeof(int)))
		memcpy(ret_fd, CMSG_DATA(&box.head), sizeof(*ret_fd));
	if (n >= 0 && n != (ssize_t)sizeof(*a))
		errno = ECONNRESET;
	return n == (ssize_t)sizeof(*a);
}

/* Sends a request. Returns the socket, from which more may be read; -1: no answer, or a refusal,
 * which is in ret->result. */
static int ask(uint32_t keeper, const struct keeper_ask *q, struct keeper_answer *ret, int *ret_fd)
{
	*ret = (struct keeper_answer){.result = CUDA_SUCCESS};
	*ret_fd = -1;
	const int s = keeper && atomic_load(&lost) != keeper ? call(keeper) : -1;
	if (s < 0)
		return -1;
	if (!keeper_send(s, q, sizeof(*q)) || !receive_answer(s, ret, ret_fd)) {
		ret->result = CUDA_SUCCESS;
		lose(keeper, errno);
	} else if (!ret->result) {
		return s;
	}
	if (*ret_fd >= 0)
		close(*ret_fd);
	*ret_fd = -1;
	close(s);
	return -1;
}

/* ---- memory ---- */

static bool have_functions(void)
{
	return cuda.cuMemImportFromShareableHandle && cuda.cuMemAddressReserve &&
	       cuda.cuMemAddressFree && cuda.cuMemMap && cuda.cuMemUnmap && cuda.cuMemSetAccess &&
	       cuda.cuMemRelease && cuda.cuDeviceGetUuid_v2;
}

static CUresult map_at(CUdeviceptr at, uint64_t bytes, CUmemGenericAllocationHandle h, CUdevice dev)
{
	const CUmemAccessDesc may = {.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = dev},
		.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
	CUresult r = OWN(cuda.cuMemMap(at, bytes, 0, h, 0));
	if (r)
		return r;
	r = OWN(cuda.cuMemSetAccess(at, bytes, &may, 1));
	if (r)
		(void)OWN(cuda.cuMemUnmap(at, bytes));
	return r;
}

/* Maps the memory. The mapping keeps it; the handle is released. */
static bool map_fd(int fd, uint64_t bytes, CUdevice dev, CUdeviceptr *ret)
{
	CUmemGenericAllocationHandle h;
	CUresult r = OWN(cuda.cuMemImportFromShareableHandle(
		&h, (void *)(uintptr_t)fd, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
	if (r)
		return refuse(
			"the driver does not import memory of another process (CUDA error %u)", r);
	r = OWN(cuda.cuMemAddressReserve(ret, bytes, 0, 0, 0));
	if (!r) {
		r = map_at(*ret, bytes, h, dev);
		if (r)
			(void)OWN(cuda.cuMemAddressFree(*ret, bytes));
	}
	(void)OWN(cuda.cuMemRelease(h));
	return !r || refuse("the driver does not map memory of another process (CUDA error %u)", r);
}

static void drop(uint64_t id)
{
	const struct keeper_ask q = {.kind = KEEPER_DROP, .id = id};
	struct keeper_answer a;
	int fd;
	const int s = keep_is_safe(id) ? ask(maker(id), &q, &a, &fd) : -1;
	if (s < 0)
		return;
	if (fd >= 0)
		close(fd);
	close(s);
}

/* Asks for memory. Returns its descriptor, or -1. */
static int make(const struct keeper_ask *q, uint32_t keeper, struct keeper_answer *a)
{
	int fd;
	const int s = ask(keeper, q, a, &fd);
	if (s >= 0)
		close(s);
	if (s < 0 && a->result && a->result != CUDA_ERROR_OUT_OF_MEMORY)
		refuse("the process that keeps them gave no memory (CUDA error %u)", a->result);
	if (s >= 0 && fd < 0) {
		refuse("no file descriptor came from the process that keeps them: the program may have none left",
			0);
		drop(a->id);
	}
	return fd;
}

uint64_t keep_new(uint64_t bytes, uint64_t *ret_addr, uint64_t *ret_bytes)
{
	const uint32_t keeper = number();
	struct keeper_ask q = {.kind = KEEPER_MAKE, .bytes = bytes};
	struct keeper_answer a;
	CUdeviceptr addr = 0;
	CUdevice dev;
	CUuuid uuid;
	if (!keeper || atomic_load(&refused) == keeper || !have_functions() ||
		OWN(cuda.cuCtxGetDevice(&dev)) || OWN(cuda.cuDeviceGetUuid_v2(&uuid, dev)))
		return 0;
	memcpy(q.uuid, uuid.bytes, sizeof(q.uuid));
	const int fd = make(&q, keeper, &a);
	if (fd < 0)
		return 0;
	const bool sound = maker(a.id) == keeper && a.bytes >= bytes,
		   good = sound ? map_fd(fd, a.bytes, dev, &addr)
				: refuse("the process that keeps them answered nonsense", 0);
	close(fd);
	if (!good)
		drop(a.id);
	*ret_addr = addr;
	*ret_bytes = a.bytes;
	return good ? a.id : 0;
}

void keep_free(uint64_t id, uint64_t addr, uint64_t bytes)
{
	(void)OWN(cuda.cuMemUnmap(addr, bytes));
	(void)OWN(cuda.cuMemAddressFree(addr, bytes));
	drop(id);
}

bool keep_read(uint64_t id, uint64_t offset, void *dst, size_t n)
{
	const struct keeper_ask q = {.kind = KEEPER_READ, .id = id, .offset = offset, .bytes = n};
	struct keeper_answer a;
	int fd;
	const int s = keep_is_safe(id) ? ask(maker(id), &q, &a, &fd) : -1;
	if (s < 0)
		return false;
	const bool good = keeper_receive(s, dst, n);
	if (!good)
		lose(maker(id), errno);
	if (fd >= 0)
		close(fd);
	close(s);
	return good;
}
