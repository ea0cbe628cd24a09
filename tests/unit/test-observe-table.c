/* SPDX-License-Identifier: Apache-2.0
 *
 * What tsdb observe shows, with figures worked out by hand, and a process's stacks and trace made
 * from records without BPF.
 */
#include <errno.h>
#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>
#include "attach/attach.h"
#include "observe/bpf/addresses.h"
#include "observe/decode/observe-calls.h"
#include "observe/process/observe-private.h"

#define SECOND 1000000000ull

/* --- figures --- */

static void give(struct observe_stats *s, struct sbt_cmd c, unsigned n)
{
	static uint64_t seq;

	for (unsigned i = 0; i < n; i++) {
		c.seq = ++seq;
		observe_stats_take(s, &c);
	}
}

static struct sbt_cmd launch_of(uint32_t kernel, uint32_t stack)
{
	struct sbt_cmd c = {.kind = SBT_LAUNCH, .stack = stack};

	c.u.launch.kernel = kernel;
	return c;
}

static struct sbt_cmd kernel_called(uint32_t id, const char *name)
{
	struct sbt_cmd c = {.kind = SBT_KERNEL_DEF, .flags = SBT_F_SYNTHETIC};

	c.u.kernel_def.new_kernel = id;
	c.u.kernel_def.kernel_name = (struct sbt_blob){name, strlen(name)};
	return c;
}

static struct sbt_cmd copy_of(enum sbt_copy dir, uint64_t size)
{
	struct sbt_cmd c = {.kind = SBT_COPY};

	c.u.copy.dir = dir;
	c.u.copy.size = size;
	return c;
}

/* What happened in the 10 seconds before, and in the 2 seconds of the last turn. */
static void fill_stats(struct observe_stats *s)
{
	struct sbt_cmd alloc = {.kind = SBT_ALLOC}, release = {.kind = SBT_FREE},
		       sync = {.kind = SBT_SYNC}, end = {.kind = SBT_SYNC_END},
		       failed = launch_of(0, 1);

	observe_stats_init(s, 0);
	give(s, kernel_called(0, "_Z6matmulPfS_S_i"), 1);
	give(s, kernel_called(1, "_Z4fillPfi"), 1);
	give(s, launch_of(0, 1), 1200);
	give(s, launch_of(1, 2), 1000000);
	failed.result = 1;
	give(s, failed, 5);
	observe_stats_turn(s, 10 * SECOND);

	give(s, launch_of(0, 1), 3000);
	give(s, launch_of(1, 2), 10);
	give(s, copy_of(SBT_COPY_H2D, 1 << 20), 4);
	give(s, copy_of(SBT_COPY_D2H, 100), 2);
	alloc.u.alloc.addr = 0x1000;
	alloc.u.alloc.size = 1536;
	give(s, alloc, 1);
	alloc.u.alloc.addr = 0x2000;
	alloc.u.alloc.size = 512;
	give(s, alloc, 1);
	release.u.free.addr = 0x2000;
	give(s, release, 1);
	sync.seq = 0;
	sync.host_ns = 5000;
	give(s, sync, 1);
	end.host_ns = 5000 + SECOND / 2;
	for (size_t i = 0; i < s->waits.cap; i++) {
		if (s->waits.slot[i][0])
			end.u.sync_end.begin = s->waits.slot[i][0];
	}
	give(s, end, 1);
	observe_stats_turn(s, 12 * SECOND);
}

/* What was launched before the name was known is the named kernel's; one whose handle is used again
 * by a module that was loaded later is another. */
static void test_names_that_come_later(void **state)
{
	struct sbt_cmd first = kernel_called(0, "unknown kernel 0x70"),
		       other = kernel_called(1, "unknown kernel 0x80"),
		       name = kernel_called(2, "_Z4fillPfi"),
		       loaded = kernel_called(3, "_Z5otherv");
	struct observe_stats s;

	first.u.kernel_def.handle = name.u.kernel_def.handle = 0x70;
	other.u.kernel_def.handle = loaded.u.kernel_def.handle = 0x80;
	first.u.kernel_def.module = other.u.kernel_def.module = name.u.kernel_def.module =
		SBT_NO_ID;
	loaded.u.kernel_def.module = 1;
	observe_stats_init(&s, 0);
	give(&s, first, 1);
	give(&s, launch_of(0, 1), 30);
	give(&s, other, 1);
	give(&s, launch_of(1, 1), 7);
	observe_stats_turn(&s, SECOND);
	give(&s, name, 1);
	give(&s, loaded, 1);
	give(&s, launch_of(2, 1), 20);
	observe_stats_turn(&s, 2 * SECOND);
	assert_int_equal(s.kernels[0].launches, 0);
	assert_int_equal(s.kernels[1].launches, 7);
	assert_int_equal(s.kernels[2].launches, 50);
	assert_true(s.kernels[2].rate == 20.0);
	assert_int_equal(s.kernels[3].launches, 0);
	observe_stats_free(&s);
}

static void test_rates(void **state)
{
	struct observe_stats s;

	fill_stats(&s);
	assert_int_equal(s.sums.launches, 1004210); /* failed ones are none */
	assert_int_equal(s.rate.launches, 1505);    /* 3010 in 2 s */
	assert_int_equal(s.sums.copies, 6);
	assert_int_equal(s.rate.copies, 3);
	assert_int_equal(s.sums.copy_bytes, (4 << 20) + 200);
	assert_int_equal(s.sums.dir[SBT_COPY_D2H], 2);
	assert_int_equal(s.sums.dir_bytes[SBT_COPY_H2D], 4 << 20);
	assert_int_equal(s.live, 1);
	assert_int_equal(s.live_bytes, 1536);
	assert_int_equal(s.live_peak, 2048);
	assert_int_equal(s.sums.wait_ns, SECOND / 2);
	assert_int_equal(s.rate.wait_ns, SECOND / 4); /* a quarter of the time */
	assert_true(s.kernels[0].rate == 1500.0);
	assert_true(s.kernels[1].rate == 5.0);
	assert_int_equal(s.nsites, 2);
	observe_stats_free(&s);
}

/* --- the table --- */

static struct sbt_frame nowhere[2] = {{SBT_NO_ID, 0x1111}, {SBT_NO_ID, 0x2222}};

static struct observe_process *a_process(void)
{
	struct observe_process *p = calloc(1, sizeof *p);

	p->pid = 4711;
	p->pidfd = -1;
	p->name = strdup("train");
	p->args = strdup("./train \"a\"");
	p->maps = observe_maps_new(0, "/dev/null", NULL);
	p->stacks = calloc(2, sizeof *p->stacks);
	p->nstacks = 2;
	for (unsigned i = 0; i < 2; i++) {
		p->stacks[i].n = 2;
		p->stacks[i].frames = malloc(sizeof nowhere);
		memcpy(p->stacks[i].frames, nowhere, sizeof nowhere);
		p->stacks[i].frames[0].offset += i;
	}
	fill_stats(&p->stats);
	return p;
}

static struct observe *a_session(void)
{
	struct observe *o = calloc(1, sizeof *o);

	o->start_ns = 1;
	o->end_ns = 12 * SECOND;
	o->processes = calloc(1, sizeof(struct observe_process *));
	o->processes[0] = a_process();
	o->nprocesses = 1;
	o->counts[OBS_COUNT_LOST] = 1234;
	return o;
}

/* That text has this line, runs of blanks counting as one. */
static void has_line(const char *text, const char *want)
{
	char *squeezed = malloc(strlen(text) + 2), *d = squeezed;

	*d++ = '\n';
	for (const char *s = text; *s; s++) {
		if (*s == ' ' && (d[-1] == ' ' || d[-1] == '\n'))
			continue;
		*d++ = *s;
	}
	*d = 0;
	if (!strstr(squeezed, want))
		fail_msg("no \"%s\" in%s", want, squeezed);
	free(squeezed);
}

static void test_live_table(void **state)
{
	struct observe *o = a_session();
	struct observe_look look = {.top = 5};
	struct buf b = BUF_INIT;

	observe_table(o, &look, &b);
	has_line(buf_cstr(&b),
		"\nobserved 12.0 s, 1 process, 1,004,220 calls, 1,234 lost (Ctrl-C ends)\n");
	/* pid, program, launches, copies, copied, fills, allocs, live, waiting: 4 MiB and 200 bytes
	 * in 2 s */
	has_line(buf_cstr(&b), "\n4711 train 1,505 3 2.0 MiB 0 1 1.5 KiB 25 %\n");
	/* the busiest now is first, though the other one has more in all */
	has_line(buf_cstr(&b), "KERNEL\n1,500 4,200 matmul\n5 1,000,010 fill\n");
	has_line(buf_cstr(&b), "FROM\n1,500 4,200 0x1111 < 0x2222\n5 1,000,010 0x1112 < 0x2222\n");
	buf_clear(&b);
	look.final = true;
	look.top = 1;
	observe_table(o, &look, &b);
	has_line(buf_cstr(&b), "\n4711 train 1,004,210 6 4.0 MiB 0 2 1.5 KiB 0.50 s\n");
	has_line(buf_cstr(&b), "KERNEL\n83,334 1,000,010 fill\n(1 more)\n"); /* in 12 s */
	buf_clear(&b);
	observe_lines(o, &b);
	has_line(buf_cstr(&b),
		"\n12.0 s 4711 train 1,505 launches/s 3 copies/s 2.0 MiB/s 1 allocs/s 1.5 KiB live waiting 25 %\n");
	buf_free(&b);
	observe_free(o);
}

static void test_the_screen_is_not_overrun(void **state)
{
	struct observe *o = a_session();
	struct observe_look look = {.rows = 24, .columns = 40};
	struct buf b = BUF_INIT;
	unsigned lines = 0, kernels = 0;
	char *text, *rest;

	for (unsigned i = 2; i < 100; i++)
		give(&o->processes[0]->stats,
			kernel_called(
				i, "a_kernel_with_a_name_that_is_longer_than_the_screen_is_wide"),
			1);
	for (unsigned i = 2; i < 100; i++)
		give(&o->processes[0]->stats, launch_of(i, 0), 1);
	observe_table(o, &look, &b);
	text = rest = buf_steal(&b);
	for (char *l; (l = strsep(&rest, "\n"));) {
		lines++;
		kernels += strstr(l, "a_kernel") != NULL;
		if (strstr(l, "a_kernel"))
			assert_true(strlen(l) <= 40);
	}
	assert_true(lines <= 24);
	assert_true(kernels >= 2);
	free(text);
	observe_free(o);
}

static void test_json(void **state)
{
	struct observe *o = a_session();
	struct observe_look look = {.final = true};
	struct buf b = BUF_INIT;
	json_t *j, *p;

	observe_json(o, &look, &b);
	j = json_loads(buf_cstr(&b), 0, NULL);
	assert_non_null(j);
	p = json_array_get(json_object_get(j, "processes"), 0);
	assert_int_equal(json_integer_value(json_object_get(j, "lost")), 1234);
	assert_string_equal(json_string_value(json_object_get(p, "args")), "./train \"a\"");
	assert_int_equal(
		json_integer_value(json_object_get(json_object_get(p, "totals"), "launches")),
		1004210);
	assert_int_equal(
		json_integer_value(json_object_get(json_object_get(p, "per_second"), "launches")),
		83684); /* 1,004,210 in 12 s */
	p = json_array_get(json_object_get(j, "kernel_list"), 0);
	assert_string_equal(json_string_value(json_object_get(p, "name")), "fill");
	assert_int_equal(json_integer_value(json_object_get(p, "launches")), 1000010);
	p = json_array_get(json_object_get(j, "places"), 1);
	assert_string_equal(json_string_value(json_object_get(
				    json_array_get(json_object_get(p, "frames"), 1), "pc")),
		"0x2222");
	json_decref(j);
	buf_free(&b);
	observe_free(o);
}

/* --- addresses --- */

static unsigned call_id(const char *name)
{
	unsigned i = 0;

	while (obs_calls[i].name && strcmp(obs_calls[i].name, name))
		i++;
	return i;
}

/* What nm(1) says of a symbol of the library: all of it is in one segment whose offset is its
 * address. */
static uint64_t symbol_value(const char *lib, const char *name)
{
	char *command = xasprintf("nm '%s' | sed -n 's/^0*\\([0-9a-f]*\\) T %s$/\\1/p'", lib, name),
	     line[64] = "";
	FILE *f = popen(command, "r");

	assert_non_null(f);
	assert_non_null(fgets(line, sizeof line, f));
	pclose(f);
	free(command);
	return strtoull(line, NULL, 16);
}

static void test_addresses(void **state)
{
	const char *build = getenv("TSDB_BUILD");
	char *lib = xasprintf("%s/tests/unit/libobserve-driver.so", build ? build : ".");
	uint64_t *exported = xcalloc(obs_ncalls, 8), *given = xcalloc(obs_ncalls, 8);

	assert_int_equal(addresses_exported(lib, false, exported), 4);
	assert_int_equal(exported[call_id("cuLaunchKernel")], symbol_value(lib, "cuLaunchKernel"));
	assert_int_equal(exported[call_id("cuMemAlloc_v2")], symbol_value(lib, "cuMemAlloc_v2"));
	addresses_given_out(lib, given);
	assert_int_equal(given[call_id("cuLaunchKernel")], symbol_value(lib, "other_launch"));
	assert_int_equal(
		given[call_id("cuLaunchKernel_ptsz")], symbol_value(lib, "other_launch_ptsz"));
	assert_int_equal(given[call_id("cuMemAlloc_v2")], 0);  /* the same */
	assert_int_equal(given[call_id("cuCtxCreate_v4")], 0); /* one of several */
	memset(given, 0, obs_ncalls * 8);
	addresses_given_out("/no/such/library", given);
	for (unsigned i = 0; i < obs_ncalls; i++)
		assert_int_equal(given[i], 0);
	assert_false(addresses_trusted(lib)); /* anybody could have made it */
	assert_false(addresses_trusted("/proc/self/exe"));
	assert_true(addresses_trusted("/bin/sh"));
	free(exported);
	free(given);
	free(lib);
}

/* --- maps, stacks, the trace --- */

__attribute__((noinline)) static void a_function_of_ours(void)
{
	__asm__ volatile("nop; nop"); /* the next function does not begin a byte behind it */
}

static void test_maps(void **state)
{
	struct observe_maps *m = observe_maps_new(getpid(), NULL, NULL);
	uint64_t at = (uint64_t)(uintptr_t)a_function_of_ours;
	struct sbt_frame f = observe_maps_frame(m, at);
	struct sbt_host_module module;

	assert_true(observe_maps_module(m, f.module, &module));
	assert_non_null(strstr(module.path, "test-observe-table"));
	assert_string_equal(observe_maps_function(m, at), "a_function_of_ours");
	assert_null(observe_maps_function(m, at + 1)); /* only what begins there */
	assert_int_equal(observe_maps_frame(m, 1).module, SBT_NO_ID);
	assert_true(observe_maps_uses(m, "libc.so"));
	assert_false(observe_maps_uses(m, "libcuda.so"));
	observe_maps_free(m);
}

struct sought {
	const char *name;
	struct mapped_area area;
};

static void seek(void *arg, const struct mapped_area *a)
{
	struct sought *s = arg;
	const char *slash = strrchr(a->path, '/');

	if (slash && !strncmp(slash + 1, s->name, strlen(s->name)))
		s->area = *a;
}

/* A program that is over before anybody looks; what the process was before its exec has nothing to
 * do with it. */
static void test_maps_of_what_has_ended(void **state)
{
	struct sought libc = {.name = "libc.so"}, test = {.name = "test-observe"};
	struct sbt_host_module module;
	struct observe_maps *m;
	struct mapped *mapped;
	struct sbt_frame f;
	int go[2], status;
	char byte;
	pid_t pid;

	assert_int_equal(pipe(go), 0);
	pid = fork();
	if (!pid) {
		if (read(go[0], &byte, 1) == 1)
			execl("/bin/sh", "sh", "-c", "exit 7", NULL);
		_exit(1);
	}
	mapped = mapped_open(pid);
	assert_int_equal(write(go[1], "g", 1), 1);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(WEXITSTATUS(status), 7);
	close(go[0]);
	close(go[1]);
	if (!mapped)
		skip(); /* not permitted here */
	mapped_each(mapped, seek, &libc);
	mapped_each(mapped, seek, &test);
	assert_null(test.area.path);
	assert_non_null(libc.area.path);
	m = observe_maps_new(pid, "/nowhere/maps", mapped);
	f = observe_maps_frame(m, libc.area.start + 16);
	assert_true(observe_maps_module(m, f.module, &module));
	assert_string_equal(module.path, libc.area.path);
	assert_int_equal(
		f.offset, libc.area.offset + 16); /* its segments' addresses are their offsets */
	assert_int_equal(observe_maps_frame(m, 1).module, SBT_NO_ID);
	observe_maps_free(m);
	mapped_close(mapped);
}

static void test_maps_that_are_wrong(void **state)
{
	static const char text[] =
		"\n-\nffff-1 r-xp 0 0 0 /a\n1000-2000 r-xp 0 0 0 /no/such/file (deleted)\n1800-1900 r-xp 0 0 0 /over\n"
		"3000-4000 rw-p 0 0 0 /data\n5000-6000 r-xp 0 0 0 [vdso]\n7000-8000 r-xp";
	char path[] = "/tmp/test-observe-XXXXXX";
	struct observe_maps *m;
	int fd = mkstemp(path);

	assert_true(fd >= 0 && write(fd, text, sizeof text - 1) == (ssize_t)sizeof text - 1);
	m = observe_maps_new(getpid(), path, NULL);
	assert_int_equal(observe_maps_frame(m, 0x1234).module, 0);
	assert_int_equal(observe_maps_frame(m, 0x1234).offset, 0x234);
	assert_int_equal(observe_maps_frame(m, 0x3800).module, SBT_NO_ID); /* no code there */
	assert_int_equal(observe_maps_frame(m, 0x5800).module, SBT_NO_ID);
	assert_true(observe_maps_code(m, 0x1234));
	assert_false(observe_maps_code(m, 0x3800));
	assert_true(observe_maps_code(m, 0x5800)); /* of no file, and code */
	assert_false(observe_maps_code(m, 0x6000));
	assert_null(observe_maps_function(m, 0x1234));
	observe_maps_free(m);
	close(fd);
	unlink(path);
}

static void test_a_trace(void **state)
{
	char path[] = "/tmp/test-observe-XXXXXX";
	int fd = mkstemp(path);
	struct observe_process *p = observe_process_new(getpid(), NULL, path, NULL, NULL);
	uint64_t here = (uint64_t)(uintptr_t)a_function_of_ours;
	struct {
		struct obs_event e;
		uint64_t ip[4];
	} r = {.e = {.ns = 1, .pid = 1, .tid = 1, .stack = -EEXIST, .caller = here + 4, .size = 24},
		.ip = {here, here + 9, 1ull << 62}};
	const struct sbt_frame *frames;
	const struct sbt_cmd *c;
	struct sbt_reader *reader;
	struct sbt_cursor *cur;
	unsigned n, launches = 0;

	close(fd);
	while (strcmp(obs_calls[r.e.call].name, "cuLaunchKernel"))
		r.e.call++;
	for (unsigned i = 0; i < 40000; i++) /* enough for keyframes */
		assert_null(observe_process_take(p, &r, sizeof r));
	assert_int_equal(p->nstacks, 1);
	r.ip[2] = 8; /* no code there: the same stack as before */
	assert_null(observe_process_take(p, &r, sizeof r));
	assert_int_equal(p->nstacks, 1);
	assert_null(observe_process_end(p, 77));
	observe_process_free(p);

	assert_null(sbt_reader_open(&reader, path));
	assert_true(sbt_reader_meta(reader)->observed);
	assert_false(sbt_reader_meta(reader)->timestamps);
	assert_int_equal(sbt_reader_lost(reader), 77);
	assert_true(sbt_reader_keyframe_seq(reader, 40000) > 0);
	assert_null(sbt_cursor_open(&cur, reader));
	while (!sbt_cursor_next(cur, &c) && c) {
		if (c->kind != SBT_LAUNCH)
			continue;
		launches++;
		assert_null(sbt_reader_stack(reader, c->stack, &frames, &n));
		assert_int_equal(n, 2); /* the caller, its caller; what is no address is left out */
		assert_int_equal(frames[1].offset - frames[0].offset, 5);
	}
	assert_int_equal(launches, 40001);
	sbt_cursor_close(cur);
	sbt_reader_close(reader);
	unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rates),
		cmocka_unit_test(test_names_that_come_later),
		cmocka_unit_test(test_live_table),
		cmocka_unit_test(test_the_screen_is_not_overrun),
		cmocka_unit_test(test_json),
		cmocka_unit_test(test_addresses),
		cmocka_unit_test(test_maps),
		cmocka_unit_test(test_maps_of_what_has_ended),
		cmocka_unit_test(test_maps_that_are_wrong),
		cmocka_unit_test(test_a_trace),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
