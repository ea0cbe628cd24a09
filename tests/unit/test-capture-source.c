/* SPDX-License-Identifier: Apache-2.0
 *
 * A source and a driver of a vendor that nobody knows: what the agent makes of its calls and asks
 * of it. Nothing here has a type of CUDA's, and the functions of CUDA's driver are not there: an
 * operation that the agent does not ask this driver for would be a crash.
 */
#include "capture-control.h"

#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include "capture/core/driver.h"
#include "capture/memory/window.h"
#include "capture/objects/ids.h"
#include "capture/objects/kernel.h"
#include "capture/pipeline/sender.h"

#define CONTEXT 0x11u
#define STREAM 0x22u
#define KERNEL 0x33u
#define MODULE 0x44u
#define SIZE 10000u
#define NOT_READY 600u
#define FAULT 77u
#define OTHER_FAILURE 5u

static struct tsdb_control *control;
static uint8_t *device; /* the driver's device memory */
static unsigned copies;

/* ---- the driver ---- */

static const struct driver_result good = {DRIVER_OK, 0};

static bool yes(void)
{
	return true;
}

static bool no(void)
{
	return false;
}

static bool can(unsigned what)
{
	return !(what & ~(unsigned)(DRIVER_CAN_READ | DRIVER_CAN_COPY));
}

static uint32_t version(void)
{
	return 702;
}

static bool result_is_fault(uint32_t code)
{
	return code == FAULT;
}

static struct driver_result answer(enum driver_status status)
{
	return (struct driver_result){status, status == DRIVER_OK ? 0 : NOT_READY};
}

static struct driver_result device_count(int *ret)
{
	*ret = 1;
	return good;
}

static void device_facts(int ordinal, struct driver_device *ret)
{
	assert_int_equal(ordinal, 0);
	*ret = (struct driver_device){
		.name = "Other GPU", .memory = 1u << 30, .major = 9, .minor = 4, .units = 304};
}

static void context_facts(uint64_t ctx, int *ret_device, bool *ret_primary)
{
	*ret_device = 0;
	*ret_primary = ctx == CONTEXT;
}

static struct driver_result context_enter(uint64_t ctx)
{
	assert_int_equal(ctx, CONTEXT);
	return good;
}

static void context_leave(void)
{
}

static struct driver_result context_finish(void)
{
	return good;
}

static unsigned relax(void)
{
	return 1;
}

static void restrict_again(unsigned was)
{
	assert_int_equal(was, 1);
}

static struct driver_result stream_create(uint64_t *ret)
{
	*ret = 0x99;
	return good;
}

static void stream_facts(uint64_t s, unsigned *ret_flags, int *ret_priority)
{
	*ret_flags = s == STREAM ? 1 : 0;
	*ret_priority = -3;
}

static struct driver_result on_stream(uint64_t s)
{
	assert_true(s == STREAM_LEGACY || s == STREAM || s == 0x99);
	return good;
}

static struct driver_result copy_to_host(void *dst, uint64_t src, size_t n, uint64_t s)
{
	memcpy(dst, (const void *)(uintptr_t)src, n);
	return on_stream(s);
}

static struct driver_result copy_on_device(uint64_t dst, uint64_t src, size_t n, uint64_t s)
{
	copies++;
	return copy_to_host((void *)(uintptr_t)dst, src, n, s);
}

static struct driver_result host_pin(void *p, size_t n)
{
	return p && n ? good : answer(DRIVER_FAILED);
}

static struct driver_result mem_unused(uint64_t *ret)
{
	*ret = 1u << 30;
	return good;
}

static struct driver_result mem_alloc(uint64_t *ret, size_t n)
{
	void *p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	*ret = (uint64_t)(uintptr_t)p;
	return p != MAP_FAILED ? good : answer(DRIVER_FAILED);
}

static struct driver_result mem_free(uint64_t addr)
{
	return addr ? good : answer(DRIVER_FAILED);
}

static struct driver_result mem_range(uint64_t addr, uint64_t *ret_start, uint64_t *ret_size)
{
	*ret_start = (uint64_t)(uintptr_t)device;
	*ret_size = SIZE;
	return addr - *ret_start < SIZE ? good : answer(DRIVER_NOT_VALID);
}

static uint64_t keep_new(uint64_t n, uint64_t *ret_addr, uint64_t *ret_bytes)
{
	*ret_addr = *ret_bytes = 0;
	return n && 0;
}

static void kernel_facts(uint64_t handle, const char *hint, struct driver_kernel *ret)
{
	assert_int_equal(handle, KERNEL);
	assert_string_equal(hint, "hint");
	*ret = (struct driver_kernel){.name = "_Z4axpyPff", .function = handle, .module = MODULE};
}

static void kernel_numbers(const struct driver_kernel *k, struct driver_numbers *ret)
{
	assert_int_equal(k->function, KERNEL);
	*ret = (struct driver_numbers){
		.regs = 40, .static_shared = 512, .local_mem = 16, .max_threads = 1024};
}

static int kernel_params(
	uint64_t handle, const struct driver_kernel *k, struct kernel_param *to, unsigned max)
{
	assert_true(handle == KERNEL && !k->is_kernel && max >= 2);
	to[0] = (struct kernel_param){0, 8};
	to[1] = (struct kernel_param){8, 4};
	return 2;
}

static struct driver_hasher *hash_open(uint64_t s)
{
	assert_int_equal(s, 0x99);
	return NULL; /* it has no kernels that hash: the host does */
}

static bool old_code_waiting(void)
{
	return false;
}

static uint64_t old_code_settle(void)
{
	return 0;
}

static const struct driver other = {
	.api = "Other",
	.is_open = yes,
	.is_soft = no,
	.can = can,
	.version = version,
	.result_is_fault = result_is_fault,
	.answer = answer,
	.device_count = device_count,
	.device_facts = device_facts,
	.context_facts = context_facts,
	.context_enter = context_enter,
	.context_leave = context_leave,
	.context_finish = context_finish,
	.relax = relax,
	.restrict_again = restrict_again,
	.stream_create = stream_create,
	.stream_facts = stream_facts,
	.stream_query = on_stream,
	.stream_finish = on_stream,
	.copy_to_host = copy_to_host,
	.copy_on_device = copy_on_device,
	.host_pin = host_pin,
	.mem_unused = mem_unused,
	.mem_alloc = mem_alloc,
	.mem_free = mem_free,
	.mem_range = mem_range,
	.keep_new = keep_new,
	.kernel_facts = kernel_facts,
	.kernel_numbers = kernel_numbers,
	.kernel_params = kernel_params,
	.hash_open = hash_open,
	.old_code_waiting = old_code_waiting,
	.old_code_settle = old_code_settle,
};

/* ---- the source ---- */

struct launch_params {
	uint64_t kernel, stream;
	unsigned grid[3], block[3];
	void **args;
};

static void enter_launch(struct call *c)
{
	const struct launch_params *p = c->params;
	struct sbt_cmd_launch *l = &c->cmd.u.launch;
	c->kernel = kernel_get(c->t, c->ctx, p->kernel);
	l->stream = call_stream(c, p->stream);
	l->kernel = c->kernel->id;
	l->grid_x = p->grid[0];
	l->block_x = p->block[0];
	const int64_t n = kernel_gather(c->kernel, p->args, c->t->args, sizeof(c->t->args));
	if (n >= 0)
		l->args = (struct sbt_blob){c->t->args, (uint64_t)n};
}

static void enter_alloc(struct call *c)
{
	c->cmd.u.alloc = (struct sbt_cmd_alloc){
		.mem = SBT_MEM_DEVICE, .size = SIZE, .device = call_device(c), .stream = SBT_NO_ID};
}

static void exit_alloc(struct call *c)
{
	c->cmd.u.alloc.addr = *(const uint64_t *)c->params;
}

static void enter_sync(struct call *c)
{
	c->cmd.u.sync = (struct sbt_cmd_sync){
		.scope = SBT_SYNC_CTX, .stream = SBT_NO_ID, .event = SBT_NO_ID};
}

static const struct call_row launch_row = {
	"otherLaunch", CALL_HANDLED, CALL_ASYNC, SBT_LAUNCH, enter_launch, NULL};
static const struct call_row alloc_row = {
	"otherAlloc", CALL_HANDLED, CALL_AFTER, SBT_ALLOC, enter_alloc, exit_alloc};
static const struct call_row sync_row = {
	"otherFinish", CALL_HANDLED, CALL_FIRST, SBT_SYNC, enter_sync, NULL};

static __attribute__((noinline)) void play(
	const struct call_row *row, const void *params, uint32_t result)
{
	static uint32_t corr;
	uint64_t link = 0;
	tls.inside = 1;
	calls_enter(&(struct call_site){.row = row,
		.params = params,
		.symbol = "hint",
		.ctx = CONTEXT,
		.frame = __builtin_frame_address(0),
		.corr = ++corr,
		.link = &link});
	calls_exit(&link, result, __builtin_frame_address(0));
	tls.inside = 0;
}

static void launch(uint64_t stream, uint32_t result)
{
	uint64_t x = 0x710000000000;
	float a = 2;
	play(&launch_row,
		&(struct launch_params){.kernel = KERNEL,
			.stream = stream,
			.grid = {8, 1, 1},
			.block = {64, 1, 1},
			.args = (void *[]){&x, &a}},
		result);
}

/* ---- what becomes of it ---- */

static struct sbt_cmd next(unsigned kind)
{
	struct fake_record r;
	do
		assert_true(fake_next(0, &r));
	while (r.type >= 0x8000); /* a message */
	assert_int_equal(r.type, kind);
	return r.cmd;
}

static void a_launch_introduces_what_it_names(void **state)
{
	static const uint8_t args[12] = {
		0, 0, 0, 0, 0, 0x71, 0, 0, 0, 0, 0, 0x40}; /* 2.0f is 0x40000000 */
	(void)state;
	launch(STREAM, 0);
	struct sbt_cmd c = next(SBT_DEVICE);
	assert_int_equal(c.u.device.device_name.len, 9);
	assert_memory_equal(c.u.device.device_name.p, "Other GPU", 9);
	assert_int_equal(c.u.device.sm_major, 9);
	assert_int_equal(c.u.device.sm_minor, 4);
	assert_int_equal(c.u.device.sm_count, 304);
	assert_int_equal(c.u.device.driver_version, 702);
	(void)next(SBT_THREAD);
	c = next(SBT_CTX_CREATE);
	assert_int_equal(c.u.ctx_create.handle, CONTEXT);
	assert_int_equal(c.u.ctx_create.primary, 1);
	c = next(SBT_MODULE_LOAD);
	assert_int_equal(c.u.module_load.handle, MODULE);
	assert_int_equal(c.u.module_load.is_library, 0);
	c = next(SBT_KERNEL_DEF);
	assert_int_equal(c.u.kernel_def.kernel_name.len, 10);
	assert_memory_equal(c.u.kernel_def.kernel_name.p, "_Z4axpyPff", 10);
	assert_int_equal(c.u.kernel_def.params.len, 16); /* two offsets and sizes */
	assert_int_equal(c.u.kernel_def.regs, 40);
	assert_int_equal(c.u.kernel_def.static_shared, 512);
	assert_int_equal(c.u.kernel_def.local_mem, 16);
	assert_int_equal(c.u.kernel_def.max_threads, 1024);
	const uint64_t kernel = c.u.kernel_def.new_kernel;
	c = next(SBT_STREAM_CREATE);
	assert_int_equal(c.u.stream_create.handle, STREAM);
	assert_int_equal(c.u.stream_create.stream_flags, 1);
	assert_int_equal(c.u.stream_create.priority, (uint64_t)-3);
	const uint64_t stream = c.u.stream_create.new_stream;
	c = next(SBT_LAUNCH);
	assert_int_equal(c.u.launch.kernel, kernel);
	assert_int_equal(c.u.launch.stream, stream);
	assert_int_equal(c.u.launch.grid_x, 8);
	assert_int_equal(c.u.launch.block_x, 64);
	assert_int_equal(c.u.launch.args.len, sizeof(args));
	assert_memory_equal(c.u.launch.args.p, args, sizeof(args));
	fake_expect_nothing();
}

/* The vendor's number is recorded; whether it is a fault the driver says. */
static void a_fault_is_what_the_driver_calls_one(void **state)
{
	(void)state;
	launch(STREAM, OTHER_FAILURE);
	assert_int_equal(next(SBT_LAUNCH).result, OTHER_FAILURE);
	assert_int_equal(atomic_load(&calls_fault_seq), 0);
	launch(STREAM, FAULT);
	const struct sbt_cmd c = next(SBT_LAUNCH);
	assert_int_equal(c.result, FAULT);
	assert_int_equal(atomic_load(&calls_fault_seq), c.seq);
	assert_int_equal(atomic_load(&calls_fault), FAULT);
	atomic_store(&calls_fault_seq, 0);
}

/* The default stream and the thread's own are told by the numbers of driver.h. */
static void streams_that_every_context_has(void **state)
{
	(void)state;
	launch(0, 0);
	const uint64_t legacy = next(SBT_LAUNCH).u.launch.stream;
	launch(STREAM_LEGACY, 0);
	assert_int_equal(next(SBT_LAUNCH).u.launch.stream, legacy);
	launch(STREAM_PER_THREAD, 0);
	const struct sbt_cmd own = next(SBT_STREAM_CREATE);
	assert_int_equal(own.u.stream_create.per_thread, 1);
	assert_int_equal(own.u.stream_create.handle, STREAM_PER_THREAD);
	assert_int_equal(next(SBT_LAUNCH).u.launch.stream, own.u.stream_create.new_stream);
}

static const struct tsdb_bulk *slot(uint64_t i)
{
	const struct tsdb_bulk *b = &control->bulk[i];
	for (unsigned tries = 0; atomic_load(&b->state) != TSDB_BULK_FULL && tries < 2000; tries++)
		nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
	assert_int_equal(atomic_load(&b->state), TSDB_BULK_FULL);
	return b;
}

/* Its memory is copied on the device when the window begins, read by the sending thread, and hashed
 * by the host at the end. */
static void a_window_holds_the_devices_memory(void **state)
{
	uint8_t was[SIZE];
	const uint64_t at = (uint64_t)(uintptr_t)device;
	(void)state;
	play(&alloc_row, &at, 0);
	assert_int_equal(next(SBT_ALLOC).u.alloc.addr, at);
	for (unsigned i = 0; i < SIZE; i++)
		was[i] = device[i] = (uint8_t)(i * 31 + i / 256);
	control->memory = TSDB_MEMORY_ALL;
	control->capture_all = 1;
	play(&sync_row, NULL, 0);
	assert_int_equal(atomic_load(&window_open), 1);
	assert_string_equal(control->text2, "");
	assert_int_equal(copies, 1);
	memset(device, 7, SIZE); /* the program goes on */
	const struct tsdb_bulk *b = slot(0);
	assert_int_equal(b->role, BULK_START);
	assert_int_equal(b->addr, at);
	assert_int_equal(b->n, SIZE);
	assert_memory_equal(
		(const uint8_t *)control + tsdb_bulk_offset(control->ring_bytes, 0), was, SIZE);
	control->capture_all = 0;
	play(&sync_row, NULL, 0);
	b = slot(1);
	assert_int_equal(b->role, BULK_END);
	assert_true(sbt_hash_equal(b->hash, sbt_range_hash(device, SIZE)));
	assert_int_equal(atomic_load(&window_open), 0);
}

static int start(void **state)
{
	(void)state;
	device = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_true(device != MAP_FAILED);
	driver = &other;
	control = fake_control();
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_launch_introduces_what_it_names),
		cmocka_unit_test(a_fault_is_what_the_driver_calls_one),
		cmocka_unit_test(streams_that_every_context_has),
		cmocka_unit_test(a_window_holds_the_devices_memory),
	};
	return cmocka_run_group_tests(tests, start, NULL);
}
