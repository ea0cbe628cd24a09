/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory at the point that commands are about, and showing its bytes as typed values.
 */
#ifndef SHELL_MEMORY_H
#define SHELL_MEMORY_H

#include "shell/line/session.h"
#include "shell/print/value.h"

/* Reads device or host memory: of the stopped program, or where the replay stands on its device. */
struct err *memory_read(struct session *s, uint64_t addr, void *dst, size_t n) TS_CHECK;
/* Where the program is stopped at a fault of the device: what is kept of its memory from before
 * command *ret_before, where the capture began. False: nothing is, or it is another stop. */
bool memory_kept(struct session *s, uint64_t addr, void *dst, size_t n, uint64_t *ret_before);
/* Writes on the replay's device: a what-if. */
struct err *memory_write(struct session *s, uint64_t addr, const void *src, size_t n) TS_CHECK;

/* An element's type by its name: f32 f64 s8 s16 s32 s64 u8 u16 u32 u64 x8 x16 x32 x64, and C's float double char short int long unsigned. */
bool memory_type(const char *name, size_t len, struct x_format *ret);
/* A number as the user wrote it into an element of that type. */
struct err *memory_encode(const struct x_format *f, const char *word, void *dst) TS_CHECK;
/* The type that the bytes look like, for those who gave none: 4-byte floats, integers, or hexadecimal. */
struct x_format memory_guess(const void *bytes, size_t n);
/* "{1, 2, 3...}" of up to most of count elements; more: whether there are more behind them. */
void memory_list(struct buf *out, const struct x_format *f, const void *bytes, uint64_t count, bool more);

struct memory_difference {
	uint64_t bytes;	   /* that differ */
	uint64_t first;	   /* offset of the first one */
};
/* Compares; lines "  +16 0x7f..: 1 -> 2" for the first elements that differ, most of them. f->letter 0: guessed. */
struct memory_difference memory_compare(struct buf *out, const struct x_format *f, uint64_t addr, uint64_t base, const void *before,
	const void *after, size_t n, unsigned most);

/* "ADDRESS [len N]" or "ARGn [len N]": without len 4 bytes, of an argument all to the end of its allocation. */
struct err *memory_range(struct session *s, const char *text, uint64_t *ret_addr, uint64_t *ret_size) TS_CHECK;

#endif
