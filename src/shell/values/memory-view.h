/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory at the point that commands refer to, and its bytes shown as typed values.
 */
#ifndef SHELL_MEMORY_H
#define SHELL_MEMORY_H

#include "shell/line/session.h"
#include "shell/values/x-format.h"

/* Reads device or host memory: of the stopped program, or at the replay's position on its
 * device. */
struct err *memory_read(struct session *s, uint64_t addr, void *dst, size_t n) TS_CHECK;
/* Appends the characters of a text at addr, up to its zero byte, at most `most`; *ret_whole: the
 * zero byte was found. */
struct err *memory_string(
	struct session *s, uint64_t addr, size_t most, struct buf *out, bool *ret_whole) TS_CHECK;
/* cmd-data.c: what `x/fmt text` shows; text "": what follows what was shown last. */
struct err *memory_examine(
	struct session *s, const char *fmt, const char *text, bool json) TS_CHECK;
/* At a stop at a fault of the device: reads the copy of its memory from before command *ret_before,
 * where the capture began. Returns false if there is no copy, or at another stop. */
bool memory_kept(struct session *s, uint64_t addr, void *dst, size_t n, uint64_t *ret_before);
/* Writes memory of the replay's device, as a what-if, or host memory of the stopped program. */
struct err *memory_write(struct session *s, uint64_t addr, const void *src, size_t n) TS_CHECK;

/* An element's type by its name: f32 f64 s8 s16 s32 s64 u8 u16 u32 u64 x8 x16 x32 x64, and C's
 * float double char short int long unsigned. */
bool memory_type(const char *name, size_t len, struct x_format *ret);
/* Encodes a number in the user's notation as an element of that type. */
struct err *memory_encode(const struct x_format *f, const char *word, void *dst) TS_CHECK;
/* Guesses a type from the bytes, when the user gave none: 4-byte floats, integers, or
 * hexadecimal. */
struct x_format memory_guess(const void *bytes, size_t n);
/* Appends "{1, 2, 3...}", up to most of count elements; more: whether there are further
 * elements. */
void memory_list(
	struct buf *out, const struct x_format *f, const void *bytes, uint64_t count, bool more);

struct memory_difference {
	uint64_t bytes; /* that differ */
	uint64_t first; /* offset of the first one */
};
/* Compares, and appends lines " +16 0x7f..: 1 -> 2" for the first elements that differ, at most
 * `most`. f->letter 0: the type is guessed. */
struct memory_difference memory_compare(struct buf *out, const struct x_format *f, uint64_t addr,
	uint64_t base, const void *before, const void *after, size_t n, unsigned most);

/* Parses "ADDRESS [len N]" or "ARGn [len N]". Without len it is 4 bytes, for an argument everything
 * up to the end of its allocation. */
struct err *memory_range(
	struct session *s, const char *text, uint64_t *ret_addr, uint64_t *ret_size) TS_CHECK;

#endif
