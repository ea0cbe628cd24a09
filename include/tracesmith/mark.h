/* SPDX-License-Identifier: Apache-2.0
 *
 * What a program tells the debugger that records it: marks, ranges, windows, triggers. The header
 * is all there is: no library is linked. Where no tsdb is, each call is a load and a compare, and
 * does nothing.
 *
 *     #include <tracesmith/mark.h>
 *
 *     for (int i = 0; i < steps; i++) {
 *         tracesmith_window_begin("step 12");
 *         step(i);
 *         tracesmith_window_end();
 *         if (isnan(loss))
 *             tracesmith_trigger("the loss is not a number");
 *     }
 *
 * Ranges belong to the thread that opens them, and are closed by it, the innermost first. All of
 * it may be called by any thread, before the GPU is used, in forked children (where it does
 * nothing, unless tsdb follows them), and with a tsdb that attaches later. Not in signal handlers
 * that may interrupt the first call of a module. errno is kept. x86-64 and ARM64 Linux; elsewhere,
 * and in device code, the functions do nothing. With a C library older than glibc 2.34: -ldl.
 */
#ifndef TRACESMITH_MARK_H
#define TRACESMITH_MARK_H

#ifdef __cplusplus
extern "C" {
#endif

/* What tsdb is asked for; numbers are for ever. */
enum tracesmith_ask {
	TRACESMITH_MARK = 0,
	TRACESMITH_PUSH = 1,
	TRACESMITH_POP = 2,
	TRACESMITH_TRIGGER = 3,
	TRACESMITH_WINDOW = 4,
	TRACESMITH_HERE = 5
};

#if defined(__linux__) && (defined(__x86_64__) || defined(__aarch64__)) &&                         \
	!defined(__CUDA_ARCH__) && !defined(__HIP_DEVICE_COMPILE__)

#include <dlfcn.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/auxv.h>

typedef int tracesmith_hook(unsigned ask, const char *text);

/* One for each executable or library that includes this header, and a note that says where it is,
 * for a tsdb that attaches. NULL: nobody has looked for tsdb yet. */
extern tracesmith_hook *tracesmith_door __attribute__((visibility("hidden")));
__asm__(".ifndef tracesmith_door\n" /* one assembly of all files, with -flto */
	".pushsection .data.tracesmith_door,\"awG\",%progbits,tracesmith_door,comdat\n"
	".weak tracesmith_door\n"
	".hidden tracesmith_door\n"
	".type tracesmith_door, %object\n"
	".size tracesmith_door, 8\n"
	".balign 8\n"
	"tracesmith_door:\n"
	".quad 0\n"
	".popsection\n"
	".pushsection .note.tracesmith,\"a\",%note\n"
	".balign 4\n"
	".long 11\n"
	".long 8\n"
	".long 1\n"
	".asciz \"TraceSmith\"\n"
	".balign 4\n"
	".quad tracesmith_door - .\n"
	".popsection\n"
	".endif\n");

#define TRACESMITH_NOBODY ((tracesmith_hook *)(uintptr_t)1)

/* Called once in each module: tsdb's agent is in the process, or tsdb has started the program and
 * names it. */
__attribute__((noinline, unused)) static tracesmith_hook *tracesmith_find(void)
{
	const int saved = errno;
	tracesmith_hook *hook = NULL, *none = NULL;
	void *agent = dlopen("libtsdb-agent.so", RTLD_NOW | RTLD_NOLOAD);
	const char *path = getenv("TSDB_AGENT");

	if (!agent && path && getenv("TSDB_CONTROL") && !getauxval(AT_SECURE))
		agent = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (agent)
		*(void **)&hook = dlsym(agent, "tsdb_agent_mark");
	if (!hook)
		hook = TRACESMITH_NOBODY;
	/* Unless a tsdb that attaches has written it meanwhile. */
	if (!__atomic_compare_exchange_n(
		    &tracesmith_door, &none, hook, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
		hook = none;
	errno = saved;
	return hook;
}

static inline int tracesmith_say(enum tracesmith_ask ask, const char *text)
{
	tracesmith_hook *hook = __atomic_load_n(&tracesmith_door, __ATOMIC_ACQUIRE);

	if (__builtin_expect(!hook, 0))
		hook = tracesmith_find();
	return hook == TRACESMITH_NOBODY ? 0 : hook((unsigned)ask, text);
}

#else

static inline int tracesmith_say(enum tracesmith_ask ask, const char *text)
{
	(void)ask;
	(void)text;
	return 0;
}

#endif

/* Each returns 1 if tsdb is there and has taken it, else 0. Texts are UTF-8, at most 4096 bytes
 * of them count, NULL is "". */

/* A mark in the trace, with the time and the thread. `break mark NAME` stops there. */
static inline int tracesmith_mark(const char *name)
{
	return tracesmith_say(TRACESMITH_MARK, name);
}

/* A range of this thread, as NVTX has them: `view --nvtx NAME`, `diff --step`. */
static inline int tracesmith_range_push(const char *name)
{
	return tracesmith_say(TRACESMITH_PUSH, name);
}
static inline int tracesmith_range_pop(void)
{
	return tracesmith_say(TRACESMITH_POP, 0);
}

/* A range that is recorded as a window, with memory, where one is wanted: `tsdb record --windows`,
 * `capture window program`. Else it is a range. */
static inline int tracesmith_window_begin(const char *name)
{
	return tracesmith_say(TRACESMITH_WINDOW, name);
}
static inline int tracesmith_window_end(void)
{
	return tracesmith_say(TRACESMITH_POP, 0);
}

/* Something has happened that somebody should look at: a live session stops here and says why,
 * `tsdb record --until-trigger` ends the trace here; a mark in the trace. */
static inline int tracesmith_trigger(const char *why)
{
	return tracesmith_say(TRACESMITH_TRIGGER, why);
}

/* Whether tsdb is there and takes marks, ranges, windows and triggers. */
static inline int tracesmith_active(void)
{
	return tracesmith_say(TRACESMITH_HERE, 0);
}

#ifdef __cplusplus
}
#endif

#endif
