/* SPDX-License-Identifier: Apache-2.0
 *
 * What is compiled, when and in which order, with a compiler that this test makes up: it writes
 * down what it is asked for, and stands still, refuses or takes time when it is told to. Time is
 * the test's own. Each case is a process of its own, since a process opens one compiler.
 */
#include "ptx-test.h"
#include "thread-signals.h"

#include "softgpu/jit/jit.h"

#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define CHECK(x)                                                                                   \
	do {                                                                                       \
		if (!(x)) {                                                                        \
			fprintf(stderr, "line %d: %s\n", __LINE__, #x);                            \
			_exit(1);                                                                  \
		}                                                                                  \
	} while (0)

/* --- the compiler --- */
enum { MAX_SEEN = 1000 };
static struct job {
	const struct ptx_function *fn;
	uint32_t pc;
	bool full;
	unsigned max;
	void *handle;
} seen[MAX_SEEN];
static _Atomic unsigned nseen;
static unsigned dropped[MAX_SEEN + 1];
static sem_t begun, gate;
static _Atomic bool held, refuses;
static _Atomic uint64_t cost, now = 7000000000000; /* nanoseconds */
static int told = -1;				   /* a pipe that is told of each end */
static const struct ptx_jit_host *host;

static bool found[3];
static struct ptx_jit_range ranges[2];
static uint64_t asked[2]; /* memory that is written, and that is not */

/* Goes on at the function's last instruction. */
static uint32_t code(struct ptx_warp *w, uint8_t *frame, uint32_t mask, uint32_t rpc)
{
	const unsigned stores = PTX_JIT_RANGES / 2;

	found[0] = host->range(w->wk, 0, asked[0]) && host->range(w->wk, stores, asked[0] + 99);
	ranges[0] = w->wk->jit_range[stores];
	found[1] = host->range(w->wk, stores - 1, asked[1]);
	ranges[1] = w->wk->jit_range[stores - 1];
	found[2] = host->range(w->wk, stores, asked[1]) || host->range(w->wk, 0, 64) ||
		   host->range(w->wk, PTX_JIT_RANGES - 1, asked[1]);
	return w->frames[0].fn->ninsns - 1;
}

static ptx_jit_code *compile(const struct ptx_function *fn, uint32_t pc, bool full, unsigned max,
	void **handle, char *buf, size_t n)
{
	const unsigned at = nseen;

	seen[at] = (struct job){fn, pc, full, max, (void *)(uintptr_t)(at + 1)};
	nseen = at + 1;
	if (held) {
		sem_post(&begun);
		sem_wait(&gate);
	}
	now += cost;
	if (told >= 0) {
		usleep(50000);
		CHECK(write(told, "x", 1) == 1);
	}
	if (refuses) {
		snprintf(buf, n, "the test refuses");
		return NULL;
	}
	*handle = seen[at].handle;
	return code;
}

static void drop(void *handle)
{
	dropped[(uintptr_t)handle]++;
}

static struct ptx_jit_plugin plugin = {.abi = 0, .compile = compile, .drop = drop};
static const struct ptx_jit_plugin *open_plugin(const struct ptx_jit_host *h, char *buf, size_t n)
{
	host = h;
	if (!plugin.compile) {
		snprintf(buf, n, "not on this machine");
		return NULL;
	}
	return &plugin;
}

/* The link puts these in the place of the library's. */
static char opened[4096];
static bool no_library, no_symbol;
static int library;

void *__real_dlopen(const char *path, int flags);
void *__wrap_dlopen(const char *path, int flags);
void *__wrap_dlopen(const char *path, int flags)
{
	snprintf(opened, sizeof(opened), "%s", path);
	return no_library ? __real_dlopen("/none/at-all.so", flags) : &library;
}

void *__real_dlsym(void *lib, const char *name);
void *__wrap_dlsym(void *lib, const char *name);
void *__wrap_dlsym(void *lib, const char *name)
{
	if (lib != &library || no_symbol || strcmp(name, "tsdb_soft_jit") != 0)
		return __real_dlsym(lib == &library ? RTLD_DEFAULT : lib, name);
	return (void *)(uintptr_t)open_plugin;
}

int __real_clock_gettime(clockid_t id, struct timespec *ts);
int __wrap_clock_gettime(clockid_t id, struct timespec *ts);
int __wrap_clock_gettime(clockid_t id, struct timespec *ts)
{
	if (id != CLOCK_MONOTONIC)
		return __real_clock_gettime(id, ts);
	*ts = (struct timespec){(time_t)(now / 1000000000), (long)(now % 1000000000)};
	return 0;
}

/* --- what is met --- */
static struct ptx_module *module(void)
{
	static char text[1 << 16];
	size_t at = (size_t)snprintf(text, sizeof(text), PTX_HEAD);

	for (unsigned f = 0; f < 2; f++) {
		at += (size_t)snprintf(text + at, sizeof(text) - at,
			".visible .entry %c() { .reg .b32 %%r<2>; mov.u32 %%r1, 0;\n", "kj"[f]);
		for (unsigned k = 0; k < 600; k++)
			at += (size_t)snprintf(
				text + at, sizeof(text) - at, "add.u32 %%r1, %%r1, 1;\n");
		at += (size_t)snprintf(text + at, sizeof(text) - at, "ret; }\n");
	}
	return load(text);
}

static const struct ptx_function *function(const struct ptx_module *m, unsigned k)
{
	return ptx_kernel_by_name(m, k ? "j" : "k");
}

static ptx_jit_code *meet(const struct ptx_function *fn, uint32_t pc, bool full)
{
	return ptx_jit_hot(fn, pc, &ptx_jit_entries(fn)[pc], full);
}

static unsigned heat; /* so often until it is hot */
static void find_heat(const struct ptx_function *fn, uint32_t pc)
{
	const unsigned before = nseen;

	for (heat = 0; nseen == before; heat++) {
		CHECK(heat < 100000);
		CHECK(!meet(fn, pc, true));
		ptx_jit_drain();
	}
	CHECK(heat > 100);
}

static void heat_up(const struct ptx_function *fn, uint32_t pc, bool full)
{
	for (unsigned k = 0; k < heat; k++)
		(void)meet(fn, pc, full);
}

static bool is_seen(unsigned k, const struct ptx_function *fn, uint32_t pc, bool full)
{
	return seen[k].fn == fn && seen[k].pc == pc && seen[k].full == full;
}

static struct ptx_jit_stats stats(void)
{
	struct ptx_jit_stats ret;

	ptx_jit_stats(&ret);
	return ret;
}

/* --- cases, each in a process --- */
static void hot(void)
{
	struct ptx_module *m = module();
	const struct ptx_function *fn = function(m, 0);
	struct ptx_jit_entry *e = ptx_jit_entries(fn);

	CHECK(e && e == ptx_jit_entries(fn) && ptx_jit_entries(function(m, 1)) != e);
	find_heat(fn, 7);
	CHECK(nseen == 1 && is_seen(0, fn, 7, true));
	CHECK(threads_without_signals() == 1 && a_thread_is_called("tsdb-jit"));
	CHECK(e[7].code[0] == code && !e[7].code[1] && !e[6].code[0] && !e[8].code[0]);
	heat_up(fn, 7, true);
	ptx_jit_drain();
	CHECK(nseen == 1); /* not again */
	heat_up(fn, 7, false);
	ptx_jit_drain();
	CHECK(nseen == 2 && is_seen(1, fn, 7, false) && e[7].code[1] == code);
	for (unsigned k = 1; k < heat; k++)
		(void)meet(fn, 8, true);
	ptx_jit_drain();
	CHECK(nseen == 2); /* once less than it takes */
	CHECK(!meet(fn, 8, true));
	ptx_jit_drain();
	CHECK(nseen == 3 && is_seen(2, fn, 8, true));
	CHECK(stats().regions == 3 && !stats().refused && !stats().why[0]);
	ptx_free(m);
	for (unsigned k = 1; k <= 3; k++)
		CHECK(dropped[k] == 1);
}

/* The first regions of a function may be large, those that come after them less. */
static void sizes(void)
{
	struct ptx_module *m = module();

	find_heat(function(m, 0), 1);
	for (unsigned k = 2; k <= 8; k++)
		heat_up(function(m, 0), k, true);
	heat_up(function(m, 1), 1, true);
	ptx_jit_drain();
	CHECK(nseen == 9);
	for (unsigned k = 0; k < 8; k++)
		CHECK(seen[k].max == seen[k < 4 ? 0 : 7].max);
	CHECK(seen[7].max < seen[0].max && seen[7].max > 0);
	CHECK(seen[8].max == seen[0].max);
	ptx_free(m);
}

static void refused(void)
{
	struct ptx_module *m = module();
	const struct ptx_function *fn = function(m, 0);

	refuses = true;
	find_heat(fn, 3);
	heat_up(fn, 3, true);
	ptx_jit_drain();
	CHECK(nseen == 1 && !ptx_jit_entries(fn)[3].code[0]);
	CHECK(!stats().regions && stats().refused == 1 && !stats().why[0]);
	ptx_jit_set(PTX_JIT_FORCE);
	CHECK(!meet(fn, 3, true) && nseen == 1);
	CHECK(!meet(fn, 3, false) && nseen == 2); /* with some lanes it is another one */
	CHECK(!meet(fn, 3, false) && nseen == 2);
	ptx_free(m);
	CHECK(!dropped[1] && !dropped[2]);
}

static void forced(void)
{
	struct ptx_module *m = module();
	const struct ptx_function *fn = function(m, 0);

	CHECK(ptx_jit_wanted());
	for (unsigned k = 0; k < 4; k++)
		CHECK(meet(fn, 4 + k / 2, k % 2) == code && nseen == k + 1 &&
			is_seen(k, fn, 4 + k / 2, k % 2));
	CHECK(stats().regions == 4);
	ptx_free(m);
}

/* While one is compiled, others wait, in order; those for which there is no room are hot again
 * sooner than at first. Twice, so that the queue begins anywhere. */
static void queue(void)
{
	struct ptx_module *m = module();
	const struct ptx_function *fn = function(m, 0);
	unsigned took = 0;

	find_heat(fn, 0);
	for (unsigned round = 0; round < 2; round++) {
		const unsigned first = 1 + round * 290, before = nseen;

		held = true;
		heat_up(fn, first, true);
		sem_wait(&begun);
		for (unsigned k = 1; k < 280; k++)
			heat_up(fn, first + k, true);
		held = false;
		sem_post(&gate);
		ptx_jit_drain();
		took = nseen - before;
		CHECK(took > 100 && took < 280);
		for (unsigned k = 0; k < took; k++)
			CHECK(is_seen(before + k, fn, first + k, true));
		for (unsigned k = took; k < 280; k++)
			for (unsigned n = 0; n <= heat / 2; n++)
				(void)meet(fn, first + k, true);
		ptx_jit_drain();
		CHECK(nseen - before == 280);
		for (unsigned k = took; k < 280; k++)
			CHECK(is_seen(before + k, fn, first + k, true));
	}
	ptx_free(m);
}

static void *release_soon(void *arg)
{
	usleep(30000);
	held = false;
	sem_post(&gate);
	return NULL;
}

/* A module that goes takes its jobs out of the queue and gives its code back; those of others stay,
 * in order. */
static void forgotten(void)
{
	struct ptx_module *a = module(), *b = module(), *c = module();
	const struct ptx_function *fa = function(a, 0), *fb = function(b, 1);
	unsigned before, nb = 0, of_a = 0, after;
	pthread_t t;

	find_heat(function(c, 0), 0);
	for (unsigned k = 0; k < 5; k++) { /* code of both */
		heat_up(fa, 100 + k, true);
		heat_up(fb, 100 + k, true);
	}
	ptx_jit_drain();
	CHECK(nseen == 11);
	before = nseen;
	held = true;
	heat_up(function(c, 0), 1, true);
	sem_wait(&begun);
	for (unsigned k = 0; k < 20; k++) {
		heat_up(k % 3 ? fa : fb, k, true);
		heat_up(k % 4 ? fb : fa, 30 + k, true);
	}
	CHECK(!pthread_create(&t, NULL, release_soon, NULL));
	ptx_free(a);
	after = nseen;
	pthread_join(t, NULL);
	ptx_jit_drain();
	for (unsigned k = 0; k < nseen; k++) {
		if (seen[k].fn != fa) {
			CHECK(!dropped[k + 1]);
			continue;
		}
		of_a++;
		CHECK(k < after && dropped[k + 1] == 1);
	}
	CHECK(of_a >= 5);
	for (unsigned k = before + 1, n = 0; k < nseen; k++) {
		if (seen[k].fn != fb)
			continue;
		/* 0 (k % 3 == 0), 30 + k (k % 4): as they were met */
		for (;; n++) {
			if (n % 2 ? n / 2 % 4 != 0 : n / 2 % 3 == 0)
				break;
		}
		CHECK(seen[k].pc == (n % 2 ? 30 + n / 2 : n / 2));
		n++;
		nb++;
	}
	CHECK(nb == 7 + 15);
	ptx_free(b);
	for (unsigned k = 0; k < nseen; k++)
		CHECK(dropped[k + 1] == (seen[k].fn == fa || seen[k].fn == fb));
	ptx_free(c);
	for (unsigned k = 0; k < nseen; k++)
		CHECK(dropped[k + 1] == 1);
}

/* A second, and a quarter of the time since the first was hot. */
static void budget(void)
{
	static const uint64_t ms = 1000000;
	struct ptx_module *m = module();
	const struct ptx_function *fn = function(m, 0);

	cost = 900 * ms;
	find_heat(fn, 0);
	heat_up(fn, 1, true); /* 0.9 s are spent, and have passed */
	ptx_jit_drain();
	CHECK(nseen == 2);
	heat_up(fn, 2, true); /* 1.8 s of 1 + 1.8 / 4 */
	ptx_jit_drain();
	CHECK(nseen == 2);
	now += 1390 * ms; /* 1.8 of 1 + 3.19 / 4 */
	heat_up(fn, 2, true);
	ptx_jit_drain();
	CHECK(nseen == 2);
	now += 10 * ms; /* 1 + 3.2 / 4: no more than its share */
	heat_up(fn, 2, true);
	ptx_jit_drain();
	CHECK(nseen == 3 && is_seen(2, fn, 2, true));
	CHECK(stats().ns == 2700 * ms);
	ptx_jit_set(PTX_JIT_FORCE); /* whatever it takes */
	CHECK(meet(fn, 5, true) == code && nseen == 4);
	CHECK(stats().ns == 3600 * ms);
	ptx_free(m);
}

static void release(void)
{
	sem_post(&gate);
}

/* exit() waits for what is being compiled, and nothing else is begun. */
static void ends(void)
{
	struct ptx_module *m = module();
	const struct ptx_function *fn = function(m, 0);
	int ends[2];
	char got[4];

	CHECK(!pipe(ends));
	if (fork()) {
		int status;

		close(ends[1]);
		CHECK(wait(&status) > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 5);
		CHECK(read(ends[0], got, sizeof(got)) == 2); /* find_heat()'s and that one */
		return;
	}
	ptx_jit_set(PTX_JIT_ON);
	told = ends[1];
	find_heat(fn, 0);
	held = true;
	heat_up(fn, 1, true);
	sem_wait(&begun);
	heat_up(fn, 2, true);
	held = false;
	atexit(release);
	exit(5);
}

/* A child interprets, and waits for nobody. */
static void forks(void)
{
	struct ptx_module *m = module();
	const struct ptx_function *fn = function(m, 0);
	int status;

	CHECK(ptx_jit_wanted());
	find_heat(fn, 0);
	held = true;
	heat_up(fn, 1, true);
	sem_wait(&begun);
	heat_up(fn, 2, true);
	if (!fork()) {
		alarm(20);
		CHECK(!ptx_jit_wanted());
		ptx_jit_drain();
		CHECK(stats().regions == 1);
		ptx_jit_set(PTX_JIT_ON); /* a thread of its own, if one asks */
		held = false;
		heat_up(fn, 9, true);
		ptx_jit_drain();
		CHECK(nseen == 3 && is_seen(2, fn, 9, true));
		ptx_free(m);
		_exit(0);
	}
	CHECK(wait(&status) > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0);
	held = false;
	sem_post(&gate);
	ptx_jit_drain();
	CHECK(nseen == 3 && is_seen(2, fn, 2, true));
	usleep(20000); /* the thread waits for work; the child's is another one */
	if (!fork()) {
		alarm(20);
		ptx_jit_set(PTX_JIT_ON);
		for (unsigned k = 0; k < 6; k++) {
			heat_up(fn, 20 + k, true);
			ptx_jit_drain();
			usleep(1000);
			CHECK(nseen == 4 + k && is_seen(3 + k, fn, 20 + k, true));
		}
		_exit(0);
	}
	CHECK(wait(&status) > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0);
	ptx_free(m);
}

/* Compiled code asks for the memory behind an address: for stores, for memory that may be written.
 */
static void memory(void)
{
	struct ptx_module *m = module();
	const struct mem_range *rw = mem_alloc(MEM_DEVICE, 4096, 256, 0),
			       *ro = mem_alloc(MEM_DEVICE, 512, 256, 0);

	mem_set_flags(ro, 0, true);
	asked[0] = rw->start + 100;
	asked[1] = ro->start + 511;
	run(m, "k", 1, 32, NULL);
	CHECK(nseen == 1 && is_seen(0, function(m, 0), 0, true));
	CHECK(found[0] && found[1] && !found[2]);
	CHECK(ranges[0].start == rw->start && ranges[0].len == rw->end - rw->start);
	CHECK(ranges[1].start == ro->start && ranges[1].len == ro->end - ro->start);
	CHECK(host->abi == PTX_JIT_ABI);
	run(m, "k", 1, 31, NULL);
	CHECK(nseen == 2 && is_seen(1, function(m, 0), 0, false));
	ptx_free(m);
}

/* Without a compiler kernels are interpreted, and it is said why. */
static void without(const char *why)
{
	struct ptx_module *m = module();
	const struct ptx_function *fn = function(m, 0);

	CHECK(ptx_jit_wanted());
	CHECK(!meet(fn, 1, true));
	CHECK(!ptx_jit_wanted());
	CHECK(!nseen && stats().refused == 1 && !stats().regions);
	CHECK(strstr(stats().why, why));
	ptx_jit_set(PTX_JIT_FORCE);
	strcpy(opened, "not again");
	CHECK(!meet(fn, 2, true));
	CHECK(!strcmp(opened, "not again"));
	ptx_free(m);
}

static void no_plugin(void)
{
	no_library = true;
	without("at-all.so");
}

static void no_entry(void)
{
	no_symbol = true;
	without("tsdb_soft_jit");
}

static void other_version(void)
{
	plugin.abi++;
	without("another version");
}

static void other_machine(void)
{
	plugin.compile = NULL;
	without("not on this machine");
}

/* It lies beside the driver, unless it is told where. */
static void beside(void)
{
	struct ptx_module *m = module();
	char self[PATH_MAX], same[PATH_MAX];
	char *name;

	CHECK(realpath("/proc/self/exe", self));
	CHECK(ptx_jit_wanted() && meet(function(m, 0), 1, true) == code);
	name = strrchr(opened, '/');
	CHECK(name && !strcmp(name, "/tsdb-softgpu-jit.so"));
	strcpy(name, strrchr(self, '/')); /* the driver, by the name that it has here */
	CHECK(realpath(opened, same) && !strcmp(same, self));
	ptx_free(m);
}

static void elsewhere(void)
{
	struct ptx_module *m = module();

	CHECK(ptx_jit_wanted() && meet(function(m, 0), 1, true) == code);
	CHECK(!strcmp(opened, "/a/place/of/its.so"));
	ptx_free(m);
}

/* --- the test --- */
static void in_process(void (*body)(void), const char *mode, const char *place)
{
	int status;
	pid_t p;

	fflush(NULL);
	p = fork();
	assert_true(p >= 0);
	if (!p) {
		alarm(60);
		plugin.abi = PTX_JIT_ABI;
		sem_init(&begun, 0, 0);
		sem_init(&gate, 0, 0);
		if (mode)
			setenv("TSDB_SOFT_JIT", mode, 1);
		else
			unsetenv("TSDB_SOFT_JIT");
		if (place)
			setenv("TSDB_SOFT_JIT_PLUGIN", place, 1);
		else
			unsetenv("TSDB_SOFT_JIT_PLUGIN");
		body();
		_exit(0);
	}
	assert_int_equal(waitpid(p, &status, 0), p);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

static void wanted(void)
{
	CHECK(ptx_jit_wanted());
	ptx_jit_set(PTX_JIT_OFF);
	CHECK(!ptx_jit_wanted());
	ptx_jit_set(PTX_JIT_FORCE);
	CHECK(ptx_jit_wanted());
}

static void unwanted(void)
{
	CHECK(!ptx_jit_wanted());
	ptx_jit_set(PTX_JIT_ON);
	CHECK(ptx_jit_wanted());
}

static void set_first(void)
{
	ptx_jit_set(PTX_JIT_OFF);
	CHECK(!ptx_jit_wanted());
}

static void not_at_once(void)
{
	struct ptx_module *m = module();

	CHECK(!meet(function(m, 0), 1, true));
	ptx_jit_drain();
	CHECK(!nseen);
	ptx_free(m);
}

static void test_modes(void **state)
{
	static const char *const on[] = {NULL, "", "1", "on", "anything"};

	for (size_t k = 0; k < sizeof(on) / sizeof(on[0]); k++) {
		in_process(wanted, on[k], NULL);
		in_process(not_at_once, on[k], NULL);
	}
	in_process(set_first, "1", NULL);
	in_process(unwanted, "0", NULL);
	in_process(unwanted, "off", NULL);
	in_process(wanted, "force", NULL);
	in_process(forced, "force", NULL);
}

#define CASE(name, mode)                                                                           \
	static void test_##name(void **state)                                                      \
	{                                                                                          \
		in_process(name, mode, NULL);                                                      \
	}
CASE(hot, NULL)
CASE(sizes, NULL)
CASE(refused, NULL)
CASE(queue, NULL)
CASE(forgotten, NULL)
CASE(budget, NULL)
CASE(ends, NULL)
CASE(forks, NULL)
CASE(memory, "force")

static void test_compilers(void **state)
{
	in_process(no_plugin, "force", NULL);
	in_process(no_entry, "force", NULL);
	in_process(other_version, "force", NULL);
	in_process(other_machine, "force", NULL);
	in_process(beside, "force", NULL);
	in_process(elsewhere, "force", "/a/place/of/its.so");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_modes),
		cmocka_unit_test(test_hot),
		cmocka_unit_test(test_sizes),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_queue),
		cmocka_unit_test(test_forgotten),
		cmocka_unit_test(test_budget),
		cmocka_unit_test(test_ends),
		cmocka_unit_test(test_forks),
		cmocka_unit_test(test_memory),
		cmocka_unit_test(test_compilers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
