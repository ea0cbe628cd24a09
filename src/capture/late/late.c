/* SPDX-License-Identifier: Apache-2.0
 *
 * The agent's thread, late; see late.h.
 */
#include "capture/late/late.h"

#include <dlfcn.h>
#include <linux/futex.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include "capture/core/calls.h"
#include "capture/core/clock.h"
#include "capture/memory/discover.h"
#include "capture/cuda/cuda-api.h"
#include "capture/objects/ids.h"
#include "capture/objects/live.h"
#include "capture/cuda/old-code.h"
#include "capture/core/thread.h"

#define DEVICES_MAX 64
#define STREAMS_TOLD 16
#define PATIENCE 100 /* tenths of a second */
#define GRACE_NS 20000000 /* for calls that were under way when the source started: they are not seen */

static struct {
	_Atomic uint32_t finding; /* memory has not been looked for */
} late;

/* Whether the program has initialised the driver. */
static bool is_initialised(void)
{
	CUcontext now;
	return OWN(cuda.cuCtxGetCurrent(&now)) != CUDA_ERROR_NOT_INITIALIZED;
}

static void tell(struct thread *t, enum sbt_attach what, const struct discover_sums *sums, uint64_t contexts)
{
	struct sbt_cmd cmd = { .kind = SBT_ATTACH };
	struct sbt_cmd_attach *a = &cmd.u.attach;
	a->what = what;
	a->contexts = contexts;
	if (sums) {
		a->allocations = sums->allocations;
		a->bytes = sums->bytes;
		a->probed = sums->probed;
		a->step = sums->step;
		a->missed = sums->missed;
		a->took = sums->took_ns;
	}
	a->module = SBT_NO_ID;
	record_in(t, &cmd, SBT_F_SYNTHETIC, SBT_NO_ID);
}

void late_before(void)
{
	if (cuda_open() || !is_initialised())
		return; /* there is nothing to find */
	atomic_store(&late.finding, 1);
	discover_begin();
	live_doubt();
	/* Later commands are not the first ones. */
	atomic_store(&calls_any, 1);
	struct thread *t = thread_get();
	if (!t)
		return;
	thread_announce(t);
	tell(t, SBT_ATTACH_BEGINS, NULL, 0); /* now: what is met as soon as the source has started comes after it */
}

/* The primary context of a device that has one, retained. */
static CUcontext primary_of(int device)
{
	unsigned flags;
	int active = 0;
	CUcontext ctx = NULL;
	if (OWN(cuda.cuDevicePrimaryCtxGetState(device, &flags, &active)) || !active ||
		OWN(cuda.cuDevicePrimaryCtxRetain(&ctx, device)))
		return NULL;
	return ctx;
}

/* Introduces the primary contexts; the others when a call names them, or memory that they own. */
static void find_contexts(struct thread *t)
{
	CUcontext was;
	int n = 0;
	if (!cuda.cuDevicePrimaryCtxGetState || !cuda.cuDevicePrimaryCtxRetain || !cuda.cuDevicePrimaryCtxRelease_v2 ||
		!cuda.cuCtxPushCurrent_v2 || !cuda.cuCtxPopCurrent_v2 || OWN(cuda.cuDeviceGetCount(&n)))
		return;
	for (int i = 0; i < n && i < DEVICES_MAX; i++) {
		CUcontext ctx = primary_of(i);
		if (!ctx)
			continue;
		if (!OWN(cuda.cuCtxPushCurrent_v2(ctx))) {
			(void)ids_introduce_ctx(t, ctx);
			(void)OWN(cuda.cuCtxPopCurrent_v2(&was));
		}
		(void)OWN(cuda.cuDevicePrimaryCtxRelease_v2(i));
	}
}

static bool enter_any(void *arg, uint64_t key, uint64_t value)
{
	return !OWN(cuda.cuCtxPushCurrent_v2((CUcontext)(uintptr_t)key)) && (*(bool *)arg = true);
}

/* Questions about addresses need a context: where there is no primary one they wait for the first that a call names. */
static void find_memory(struct thread *t)
{
	struct discover_sums sums;
	CUcontext was;
	bool entered = false;
	map_each(&ids.ctxs, enter_any, &entered);
	if (!entered)
		return;
	nanosleep(&(struct timespec){ .tv_nsec = GRACE_NS }, NULL);
	const uint64_t from = clock_monotonic_ns();
	discover_all(t, &sums);
	discover_verify(t);
	sums.took_ns = clock_monotonic_ns() - from;
	(void)OWN(cuda.cuCtxPopCurrent_v2(&was));
	tell(t, SBT_ATTACH_FOUND, &sums, atomic_load(&ids.next_ctx));
	if (discover_is_complete())
		live_complete();
	atomic_store(&late.finding, 0);
}

/* A line of control.busy; false: it is full. */
static bool add_line(size_t *at, const char *text)
{
	char *to = agent.control->busy;
	const size_t n = strlen(text);
	if (n + 2 > TSDB_BUSY_MAX - *at)
		return false;
	memcpy(to + *at, text, n);
	to[*at + n] = '\n';
	to[*at += n + 1] = '\0';
	return true;
}

/* NVIDIA's driver names no streams: of each primary context its default stream can be asked. */
static void look_at_contexts(size_t *at)
{
	CUcontext was;
	int n = 0;
	if (!cuda.cuStreamQuery || !cuda.cuDevicePrimaryCtxRelease_v2 || !cuda.cuCtxPushCurrent_v2 || !cuda.cuCtxPopCurrent_v2 ||
		!cuda.cuDevicePrimaryCtxGetState || !cuda.cuDevicePrimaryCtxRetain || OWN(cuda.cuDeviceGetCount(&n)))
		return;
	for (int i = 0; i < n && i < DEVICES_MAX; i++) {
		char text[96];
		CUcontext ctx = primary_of(i);
		if (!ctx)
			continue;
		if (!OWN(cuda.cuCtxPushCurrent_v2(ctx))) {
			const CUresult r = OWN(cuda.cuStreamQuery(CU_STREAM_LEGACY));
			snprintf(text, sizeof(text), r == CUDA_ERROR_NOT_READY ? "device %d: the default stream has work" : r ? "device %d: CUDA error %d" :
				"device %d: the default stream has no work; other streams are not known yet", i, (int)r);
			(void)add_line(at, text);
			(void)OWN(cuda.cuCtxPopCurrent_v2(&was));
		}
		(void)OWN(cuda.cuDevicePrimaryCtxRelease_v2(i));
	}
}

void late_look(void)
{
	int (*const soft_busy)(unsigned i, char *text, unsigned size) =
		(int (*)(unsigned, char *, unsigned))(uintptr_t)(cuda.lib ? dlsym(cuda.lib, "tsdb_soft_busy") : NULL);
	char text[512];
	size_t at = 0;
	if (!cuda.lib || !is_initialised())
		return;
	for (unsigned i = 0; soft_busy && i < STREAMS_TOLD && soft_busy(i, text, sizeof(text)) == 1 && add_line(&at, text); i++)
		;
	if (!soft_busy)
		look_at_contexts(&at);
}

void late_contexts(void)
{
	struct thread *t = atomic_load(&late.finding) ? thread_get() : NULL;
	if (t)
		find_contexts(t);
}

void late_work(void)
{
	struct thread *t = discover_watched() ? thread_get() : NULL;
	if (!t)
		return;
	if (atomic_load(&late.finding))
		find_memory(t);
	old_code_find(t);
}

void late_last(void)
{
	struct thread *t = discover_watched() ? thread_get() : NULL;
	if (t)
		old_code_find(t);
}

void late_over(void)
{
	discover_end();
	old_code_forget();
	atomic_store(&late.finding, 0);
}

void late_wake(void)
{
	(void)syscall(SYS_futex, &agent.control->leave, FUTEX_WAKE, 1 << 30, NULL, NULL, 0);
}

bool late_is_finding(void)
{
	return atomic_load_explicit(&late.finding, memory_order_relaxed) != 0;
}

bool late_settle(struct thread *t)
{
	for (unsigned i = 0; i < PATIENCE * 10 && agent_live() && discover_watched(); i++) {
		if (!atomic_load(&late.finding) && !old_code_waiting())
			break;
		discover_hurry();
		nanosleep(&(struct timespec){ .tv_nsec = 10000000 }, NULL);
	}
	discover_verify(t);
	return !discover_watched() || (!atomic_load(&late.finding) && !old_code_waiting());
}
