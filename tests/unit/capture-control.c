/* SPDX-License-Identifier: Apache-2.0
 *
 * The fake debugger; see capture-control.h.
 */
#include "capture-control.h"

#include <sys/mman.h>
#include <unistd.h>
#include "capture/stacks/mapping.h"
#include "capture/stacks/stack.h"
#include "sbt/cmd-pack.h"

static struct tsdb_control *control;
static uint64_t read_to[TSDB_RING_COUNT];

struct tsdb_control *fake_control(void)
{
	int fd = memfd_create("control", MFD_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, (off_t)tsdb_wire_bytes(FAKE_RING_BYTES)), 0);
	control = mmap(NULL, tsdb_wire_bytes(FAKE_RING_BYTES), PROT_READ | PROT_WRITE,
		MAP_SHARED | MAP_NORESERVE, fd, 0);
	assert_true(control != MAP_FAILED);
	close(fd);
	control->magic = TSDB_WIRE_MAGIC;
	control->version = TSDB_WIRE_VERSION;
	control->bytes = tsdb_wire_bytes(FAKE_RING_BYTES);
	control->ring_bytes = FAKE_RING_BYTES;
	control->pid = (uint32_t)getpid();
	control->on = 1;
	assert_int_equal(agent_adopt(control), 0);
	mapping_init();
	stack_init();
	thread_init();
	return control;
}

bool fake_next(unsigned i, struct fake_record *ret)
{
	struct tsdb_ring *r = &control->ring[i];
	if (read_to[i] == r->head)
		return false;
	/* tsdb maps a ring twice as well; here the records of a test fit before the end. */
	const uint8_t *data = (const uint8_t *)control + tsdb_ring_offset(FAKE_RING_BYTES, i);
	const uint64_t at = read_to[i] & (FAKE_RING_BYTES - 1);
	ret->head = (const void *)(data + at);
	assert_true(ret->head->size >= sizeof(*ret->head) && ret->head->size % 8 == 0);
	assert_true(at + ret->head->size <= FAKE_RING_BYTES);
	ret->type = ret->head->type;
	if (ret->type < 0x8000)
		assert_int_equal(
			sbt_unpack(&ret->cmd, ret->head, ret->head->size), ret->head->size);
	read_to[i] += ret->head->size;
	r->tail = read_to[i];
	return true;
}

struct sbt_cmd fake_expect(unsigned kind)
{
	struct fake_record r;
	while (fake_next(0, &r))
		if (r.type == kind)
			return r.cmd;
	fail_msg("no record of kind %u", kind);
	return (struct sbt_cmd){0};
}

void fake_expect_nothing(void)
{
	struct fake_record r;
	while (fake_next(0, &r))
		if (r.type < 0x8000)
			fail_msg("a record of kind %u is there", r.type);
}

void fake_skip(void)
{
	struct fake_record r;
	while (fake_next(0, &r))
		;
}
