/* SPDX-License-Identifier: Apache-2.0
 *
 * The agent's three questions about a command are answered as footprint.h does: which memory it
 * names for the first time in a window (touched.c), which memory from before the agent came it
 * names (discover.c), and whether memory of the host must be compared for it (host.c). The commands
 * are those of awkward-cmds.h. A graph's nodes are not known in the agent: a launch is noted.
 */
#include "capture-fake.h"

#include <stdlib.h>
#include <string.h>
#include "awkward-cmds.h"
#include "base/checked.h"
#include "capture/core/calls.h"
#include "capture/core/driver.h"
#include "capture/memory/discover.h"
#include "capture/host/host.h"
#include "capture/memory/touched.h"
#include "capture/objects/live.h"

#define MANY 1500u
#define NAMES (SBT_READS | SBT_WRITES | SBT_UPDATES)

static const uint64_t addrs[] = {AWK_A, AWK_B, AWK_FAR};
#define ALLOCS (sizeof addrs / sizeof *addrs)

static unsigned notes;

void __wrap_window_note(const char *sentence);
void __wrap_window_note(const char *sentence)
{
	notes++;
}

static bool mem_at(uint64_t addr, struct driver_memory *ret)
{
	for (unsigned i = 0; i < ALLOCS; i++)
		if (addr - addrs[i] < AWK_SIZE) {
			*ret = (struct driver_memory){
				.addr = addrs[i], .size = AWK_SIZE, .mem = SBT_MEM_VMM};
			return true;
		}
	return false;
}

static void know_allocations(uint32_t mem)
{
	live_forget();
	for (unsigned i = 0; i < ALLOCS; i++)
		assert_true(live_take_over(&(struct live){
			.addr = addrs[i], .size = AWK_SIZE, .mem = mem, .ctx = SBT_NO_ID}));
}

static struct thread *thread;

static int start(void **state)
{
	static struct driver fake;
	(void)fake_start();
	FAKE(cuMemsetD8_v2, .dstDevice = 0x10, .N = 1); /* introduces the context and the thread */
	thread = tls.thread;
	fake_skip();
	fake = *driver;
	fake.mem_at = mem_at;
	driver = &fake;
	return 0;
}

static bool range_meets(const struct sbt_rows *r, uint64_t addr)
{
	return r->addr < addr + AWK_SIZE && sat_add(r->addr, sbt_rows_size(r)) > addr;
}

static bool names(const struct sbt_footprint *f, uint64_t addr)
{
	for (unsigned i = 0; i < f->n; i++)
		if (f->touch[i].how & NAMES && range_meets(&f->touch[i].rows, addr))
			return true;
	return false;
}

static void look(void *arg, struct live *l)
{
	*(bool *)arg = !l->untouched;
}

static bool is_touched(uint64_t addr)
{
	bool ret = false;
	live_visit(addr, 1, look, &ret);
	return ret;
}

/* Not recorded, since its effect is: an unreplayable call. */
static void first_mentions_agree(void **unused)
{
	struct device_set none = {0};
	know_allocations(SBT_MEM_DEVICE);
	for (unsigned i = 0; i < MANY; i++) {
		struct call c = {.t = thread, .cmd = awk_cmd(i + 1)};
		struct sbt_footprint f;
		unsigned first = 0;
		sbt_footprint(&f, &c.cmd);
		touched_begin(&none);
		notes = 0;
		touched_enter(&c, &none);
		for (unsigned k = 0; k < ALLOCS; k++) {
			assert_int_equal(is_touched(addrs[k]), names(&f, addrs[k]));
			first += is_touched(addrs[k]);
		}
		/* Each comes with a note here, as its context is not known. */
		const bool noted = f.does & SBT_RUNS_GRAPH ||
				   (f.does & SBT_DOES_UNKNOWN && c.cmd.kind != SBT_UNREPLAYABLE);
		assert_int_equal(notes, first + noted);
		touched_end();
	}
	live_forget();
}

/* A range that begins elsewhere is followed over what is mapped without a gap, which is not so far
 * as to there: rows may have a pitch of 4 GiB. */
static bool leads_to(const struct sbt_footprint *f, uint64_t addr)
{
	for (unsigned i = 0; i < f->n; i++)
		if (f->touch[i].how & NAMES && range_meets(&f->touch[i].rows, addr) &&
			(addr != AWK_FAR || f->touch[i].rows.addr >= AWK_FAR))
			return true;
	return false;
}

static void old_memory_agrees(void **unused)
{
	struct live l;
	live_forget();
	for (unsigned i = 0; i < MANY / 5; i++) {
		struct call c = {.t = thread, .cmd = awk_cmd(i + 1)};
		struct sbt_footprint f;
		sbt_footprint(&f, &c.cmd);
		discover_begin();
		discover_enter(&c);
		for (unsigned k = 0; k < ALLOCS; k++)
			assert_int_equal(live_at(addrs[k], &l), leads_to(&f, addrs[k]));
		discover_end();
		live_forget();
		fake_skip();
	}
}

/* Copies from the host have their bytes in the trace, unless the host may change them meanwhile;
 * the host waits for the others. */
static bool is_plain_upload(const struct sbt_cmd *c, const struct sbt_footprint *f)
{
	return c->kind == SBT_COPY && c->u.copy.dir == SBT_COPY_H2D &&
	       !(f->does & SBT_DOES_UNKNOWN) && (!f->n || !c->u.copy.async || c->u.copy.pageable);
}

static void comparing_agrees(void **unused)
{
	know_allocations(SBT_MEM_PINNED);
	for (unsigned i = 0; i < MANY; i++) {
		struct call c = {.t = thread, .cmd = awk_cmd(i + 1)};
		struct sbt_footprint f;
		if (c.cmd.kind == SBT_COPY && rnd(2))
			c.cmd.u.copy.async = c.cmd.u.copy.pageable = rnd(2);
		sbt_footprint(&f, &c.cmd);
		const bool unknown = f.does & SBT_DOES_UNKNOWN && c.cmd.kind != SBT_UNREPLAYABLE;
		const bool want =
			(f.does & (NAMES | SBT_RUNS_KERNEL | SBT_RUNS_GRAPH) || unknown) &&
			!is_plain_upload(&c.cmd, &f);
		assert_true(host_turn(&c));
		assert_int_equal(c.turn, want);
		host_turn_over(&c);
	}
	live_forget();
}

/* What the agent does not know may read anything: its field `dir` is not a copy's. */
static void no_kind_is_compared_for(void **unused)
{
	struct call c = {.t = thread, .cmd = cmd_any(1, SBT_KIND_END)};
	know_allocations(SBT_MEM_PINNED);
	assert_true(host_turn(&c) && c.turn);
	host_turn_over(&c);
	live_forget();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(first_mentions_agree),
		cmocka_unit_test(old_memory_agrees),
		cmocka_unit_test(comparing_agrees),
		cmocka_unit_test(no_kind_is_compared_for),
	};
	return cmocka_run_group_tests(tests, start, NULL);
}
