/* SPDX-License-Identifier: Apache-2.0
 *
 * What fake-replayer.c and the tests that use it agree on: it executes a trace on FAKE_SIZE bytes
 * at FAKE_BASE.
 *
 * A copy to the device brings (seq * 31 + offset) bytes, a launch changes 64 bytes at every
 * parameter that points into the memory: byte * 5 + kernel + 1, but kernels with id % 4 == 3 write
 * nothing. Other code adds its first byte instead of kernel + 1, and another schedule its number. A
 * graph launch has three steps and adds 1 to a byte, the one of its graph's number; a part of it
 * adds node + with. Of its figures, saved is how many checkpoints were asked for, back how often
 * CHECK_END was, and room_ns 1 while streams overlap, run_ns how many seeks
 * there were. $TSDB_FAKE_REPLAYER holds words that make it
 * misbehave (see main()).
 */
#ifndef TESTS_FAKE_REPLAYER_H
#define TESTS_FAKE_REPLAYER_H

#define FAKE_BASE UINT64_C(0x100000)
#define FAKE_SIZE (UINT64_C(1) << 20)
#define FAKE_WRITES 64

/* kernels with a temper */
enum { FAKE_FAULT = 66, FAKE_HANG = 67, FAKE_CRASH = 68 };

#endif
