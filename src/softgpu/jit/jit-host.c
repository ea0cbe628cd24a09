/* SPDX-License-Identifier: Apache-2.0
 *
 * The software GPU's side of compiled code: what is hot, the plugin, the thread that compiles. The
 * surprising thing: at exit the process waits for a compilation under way (some tens of
 * milliseconds), because the compiler's own destructors must not run under its feet.
 */
#include "softgpu/jit/jit.h"

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "base/monotonic.h"

#define HOT 3000 /* times that an entry was met */
#define MAX_QUEUE 256
#define LARGE 400 /* instructions of a function's first regions */
/* of those that come after NLARGE: much of what they could take in is compiled already */
#define SMALL 120
#define NLARGE 4
#define PLUGIN "tsdb-softgpu-jit.so"

struct job {
	const struct ptx_function *fn;
	uint32_t pc;
	bool full;
};

struct code { /* compiled code, for giving it back */
	struct code *next;
	const struct ptx_function *fn;
	void *handle;
};

static struct {
	pthread_mutex_t lock;
	pthread_cond_t work, idle;
	pthread_once_t once;
	_Atomic int mode;
	bool thread, busy, stop, opened;
	const struct ptx_module *current; /* of the job under way */
	const struct ptx_jit_plugin *plugin;
	struct job queue[MAX_QUEUE];
	unsigned first, n;
	struct code *codes;
	struct ptx_jit_stats stats;
	uint64_t start_ns,
		spent_ns; /* when the first kernel was hot; what the thread has spent since */
} jit = {.lock = PTHREAD_MUTEX_INITIALIZER,
	.work = PTHREAD_COND_INITIALIZER,
	.idle = PTHREAD_COND_INITIALIZER,
	.once = PTHREAD_ONCE_INIT};

/* --- the mode --- */
static void after_fork(void)
{
	pthread_mutex_init(&jit.lock, NULL);
	pthread_cond_init(&jit.work, NULL);
	pthread_cond_init(&jit.idle, NULL);
	jit.thread = jit.busy = false;
	jit.n = 0;
	atomic_store(&jit.mode, PTX_JIT_OFF);
}

static void jit_init(void)
{
	const char *s = getenv("TSDB_SOFT_JIT");

	atomic_store(&jit.mode, !s || !*s			       ? PTX_JIT_ON
				: !strcmp(s, "force")		       ? PTX_JIT_FORCE
				: !strcmp(s, "0") || !strcmp(s, "off") ? PTX_JIT_OFF
								       : PTX_JIT_ON);
	pthread_atfork(NULL, NULL, after_fork);
}

bool ptx_jit_wanted(void)
{
	pthread_once(&jit.once, jit_init);
	return atomic_load_explicit(&jit.mode, memory_order_relaxed) != PTX_JIT_OFF;
}

void ptx_jit_set(enum ptx_jit_mode mode)
{
	pthread_once(&jit.once, jit_init);
	atomic_store(&jit.mode, (int)mode);
}

/* --- the plugin --- */
static bool find_range(struct ptx_worker *wk, uint32_t slot, uint64_t a)
{
	const struct ptx_cached *c = ptx_find_range(wk, a);
	struct ptx_jit_range *r = &wk->jit_range[slot];

	if (!c || (slot >= PTX_JIT_RANGES / 2 && c->ro))
		return false;
	*r = (struct ptx_jit_range){c->start, c->end - c->start};
	return true;
}

static const struct ptx_jit_host host = {
	.abi = PTX_JIT_ABI,
	.range = find_range,
	.param_32 = {h_ld_param_32_base, h_ld_param_32_avx2},
	.param_64 = {h_ld_param_64_base, h_ld_param_64_avx2},
};

/*
 * Registered before the compiler is loaded, so that a compilation under way, or the loading itself,
 * ends before the libraries' own destructors. Those that the compiler would register while it works
 * would run sooner: the plugin takes them out (jit-llvm.c, __cxa_atexit).
 */
static void at_exit(void)
{
	pthread_mutex_lock(&jit.lock);
	jit.stop = true;
	jit.n = 0;
	pthread_cond_broadcast(&jit.work);
	while (jit.busy)
		pthread_cond_wait(&jit.idle, &jit.lock);
	pthread_mutex_unlock(&jit.lock);
}

static void *open_plugin(void)
{
	const char *env = getenv("TSDB_SOFT_JIT_PLUGIN");
	char path[4096];
	Dl_info info;
	int flags = RTLD_NOW | RTLD_LOCAL;

	if (!dlsym(RTLD_DEFAULT,
		    "__asan_init"))	/* which ends the program at the sight of the flag */
		flags |= RTLD_DEEPBIND; /* not the program's own LLVM */
	if (env)
		return dlopen(env, flags);
	if (!dladdr((void *)(uintptr_t)open_plugin, &info) || !info.dli_fname ||
		!strrchr(info.dli_fname, '/'))
		return NULL;
	snprintf(path, sizeof(path), "%.*s/" PLUGIN,
		(int)(strrchr(info.dli_fname, '/') - info.dli_fname), info.dli_fname);
	return dlopen(path, flags);
}

/* Under the lock. */
static bool plugin_ready(void)
{
	ptx_jit_open *open;
	void *lib;

	if (jit.opened)
		return jit.plugin != NULL;
	jit.opened = true;
	lib = open_plugin();
	open = lib ? (ptx_jit_open *)(uintptr_t)dlsym(lib, "tsdb_soft_jit") : NULL;
	if (!open) {
		const char *why = dlerror();
		snprintf(jit.stats.why, sizeof(jit.stats.why), "%.190s",
			why ? why : PLUGIN " is not there");
		return false;
	}
	jit.plugin = open(&host, jit.stats.why, sizeof(jit.stats.why));
	if (jit.plugin && jit.plugin->abi != PTX_JIT_ABI) {
		jit.plugin = NULL;
		snprintf(jit.stats.why, sizeof(jit.stats.why), PLUGIN " is of another version");
	}
	return jit.plugin != NULL;
}

/* --- compiling --- */
static unsigned region_size(const struct ptx_function *fn)
{
	unsigned n = 0;

	for (const struct code *c = jit.codes; c; c = c->next)
		n += c->fn == fn;
	return n < NLARGE ? LARGE : SMALL;
}

/* Compiling has taken its share: a second, and a quarter of the time since the first kernel was
 * hot. Under the lock. */
static bool over_budget(void)
{
	uint64_t now = monotonic_ns();

	if (!jit.start_ns)
		jit.start_ns = now;
	return jit.spent_ns > 1000000000u + (now - jit.start_ns) / 4;
}

/* With the lock held, which is given up meanwhile; jit.busy is the right to call the plugin. */
static void compile(const struct job *j)
{
	struct ptx_jit_entry *e = &j->fn->jit[j->pc];
	struct code *c = NULL;
	ptx_jit_code *code = NULL;
	void *handle = NULL;
	char why[200] = "";
	unsigned max = region_size(j->fn);
	uint64_t start = monotonic_ns();
	bool ready;

	if (!jit.opened)
		atexit(at_exit);
	jit.busy = true;
	jit.current = j->fn->m;
	ready = plugin_ready();
	pthread_mutex_unlock(&jit.lock);
	if (!ready)
		atomic_store(&jit.mode, PTX_JIT_OFF);
	else
		code = jit.plugin->compile(j->fn, j->pc, j->full, max, &handle, why, sizeof(why));
	if (code)
		c = calloc(1, sizeof(*c));
	pthread_mutex_lock(&jit.lock);
	if (c) {
		*c = (struct code){jit.codes, j->fn, handle};
		jit.codes = c;
	}
	jit.stats.ns += monotonic_ns() - start;
	jit.stats.regions += code != NULL;
	jit.stats.refused += !code;
	if (getenv("TSDB_SOFT_JIT_LOG"))
		fprintf(stderr, "tsdb softgpu: jit: %s, PTX line %u, %s: %s%.1f ms\n", j->fn->name,
			j->fn->insns[j->pc].line, j->full ? "all lanes" : "some lanes",
			code ? "" : why, (double)(monotonic_ns() - start) / 1e6);
	if (code)
		atomic_store_explicit(&e->code[!j->full], code, memory_order_release);
	atomic_store(&e->hits[!j->full], PTX_JIT_NEVER);
	jit.busy = false;
	jit.current = NULL;
	pthread_cond_broadcast(&jit.idle);
}

static void *compiler_main(void *arg)
{
	pthread_setname_np(pthread_self(), "tsdb-jit");
	pthread_mutex_lock(&jit.lock);
	for (;;) {
		struct job j;
		while (!jit.n || jit.busy)
			pthread_cond_wait(jit.busy ? &jit.idle : &jit.work, &jit.lock);
		j = jit.queue[jit.first];
		jit.first = (jit.first + 1) % MAX_QUEUE;
		jit.n--;
		if (!jit.stop) {
			uint64_t before = jit.stats.ns;
			compile(&j);
			jit.spent_ns += jit.stats.ns - before;
		}
	}
	return NULL;
}

/* Under the lock. */
static bool start_thread(void)
{
	sigset_t all, old;
	pthread_attr_t attr;
	pthread_t t;

	if (jit.thread)
		return true;
	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&attr, 16u << 20);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	jit.thread = !pthread_create(&t, &attr, compiler_main, NULL);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	pthread_attr_destroy(&attr);
	return jit.thread;
}

static void compile_now(const struct job *j)
{
	struct ptx_jit_entry *e = &j->fn->jit[j->pc];

	pthread_mutex_lock(&jit.lock);
	while (jit.busy)
		pthread_cond_wait(&jit.idle, &jit.lock);
	if (!jit.stop && atomic_load(&e->hits[!j->full]) != PTX_JIT_NEVER)
		compile(j);
	pthread_mutex_unlock(&jit.lock);
}

static void enqueue(const struct job *j)
{
	pthread_mutex_lock(&jit.lock);
	if (over_budget() || jit.n == MAX_QUEUE) {
		atomic_store(&j->fn->jit[j->pc].hits[!j->full], HOT / 2); /* later, perhaps */
	} else if (!jit.stop && start_thread()) {
		jit.queue[(jit.first + jit.n++) % MAX_QUEUE] = *j;
		pthread_cond_signal(&jit.work);
	}
	pthread_mutex_unlock(&jit.lock);
}

ptx_jit_code *ptx_jit_hot(
	const struct ptx_function *fn, uint32_t pc, struct ptx_jit_entry *e, bool full)
{
	struct job j = {fn, pc, full};
	uint32_t hits = atomic_load_explicit(&e->hits[!full], memory_order_relaxed);

	if (hits == PTX_JIT_NEVER)
		return NULL;
	if (atomic_load_explicit(&jit.mode, memory_order_relaxed) == PTX_JIT_FORCE) {
		compile_now(&j);
		return atomic_load_explicit(&e->code[!full], memory_order_acquire);
	}
	if (hits >= HOT)
		return NULL; /* is in the queue */
	/* lost counts do not matter, but only one thread may see the last one */
	if (atomic_fetch_add_explicit(&e->hits[!full], 1, memory_order_relaxed) == HOT - 1)
		enqueue(&j);
	return NULL;
}

struct ptx_jit_entry *ptx_jit_entries(const struct ptx_function *fn)
{
	struct ptx_function *f = (struct ptx_function *)(uintptr_t)fn;
	struct ptx_jit_entry *e = __atomic_load_n(&f->jit, __ATOMIC_ACQUIRE);

	if (e)
		return e;
	pthread_mutex_lock(&jit.lock);
	if (!f->jit)
		__atomic_store_n(&f->jit, calloc(f->ninsns, sizeof(*e)), __ATOMIC_RELEASE);
	e = f->jit;
	pthread_mutex_unlock(&jit.lock);
	return e;
}

void ptx_jit_forget(struct ptx_module *m)
{
	struct code **p, *c;
	unsigned kept = 0;

	pthread_mutex_lock(&jit.lock);
	for (unsigned k = 0; k < jit.n; k++) {
		struct job j = jit.queue[(jit.first + k) % MAX_QUEUE];
		if (j.fn->m != m)
			jit.queue[(jit.first + kept++) % MAX_QUEUE] = j;
	}
	jit.n = kept;
	while (jit.busy)
		pthread_cond_wait(&jit.idle, &jit.lock);
	for (p = &jit.codes; (c = *p);) {
		if (c->fn->m != m) {
			p = &c->next;
			continue;
		}
		*p = c->next;
		jit.plugin->drop(c->handle);
		free(c);
	}
	for (unsigned k = 0; k < m->nfuncs; k++) {
		free(m->funcs[k]->jit);
		m->funcs[k]->jit = NULL;
	}
	pthread_mutex_unlock(&jit.lock);
}

void ptx_jit_drain(void)
{
	pthread_mutex_lock(&jit.lock);
	while (jit.n || jit.busy)
		pthread_cond_wait(&jit.idle, &jit.lock);
	pthread_mutex_unlock(&jit.lock);
}

void ptx_jit_stats(struct ptx_jit_stats *ret)
{
	pthread_mutex_lock(&jit.lock);
	*ret = jit.stats;
	pthread_mutex_unlock(&jit.lock);
}
