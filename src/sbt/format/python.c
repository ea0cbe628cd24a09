/* SPDX-License-Identifier: Apache-2.0
 *
 * CPython's structures by version; see python.h. The offsets were computed with offsetof() from the
 * headers of the versions named there; they are stable within a minor version. Compiled into the
 * agent, too: no allocation, no libc beyond memcpy.
 */
#include "sbt/python.h"

static const struct python_layout layouts[] = {
	{
		.version = 0x030b,
		.frame = {.code = 32, .previous = 48, .instr = 56, .owner = 69, .entry = 68},
		.thread =
			{.cframe = 56, .next = 8, .interp = 16, .thread_id = 152, .native_id = 160},
		.cframe = {.frame = 8, .previous = 16},
		.code = {.first_line = 72,
			.filename = 112,
			.name = 120,
			.qualname = 128,
			.lines = 136,
			.bytes = 184,
			.traceable = 168},
		.ascii_data = 48,
		.compact_data = 72,
		.interp = {.head = 40, .next = 0, .threads = 16},
	},
	{
		.version = 0x030c,
		.frame = {.code = 0, .previous = 8, .instr = 56, .owner = 70},
		.thread =
			{.cframe = 56, .next = 8, .interp = 16, .thread_id = 136, .native_id = 144},
		.cframe = {.frame = 0, .previous = 8},
		.code = {.first_line = 68,
			.filename = 112,
			.name = 120,
			.qualname = 128,
			.lines = 136,
			.bytes = 192,
			.traceable = 176,
			.version = 92},
		.ascii_data = 40,
		.compact_data = 56,
		.interp = {.head = 40, .next = 0, .threads = 72},
	},
	{
		.version = 0x030d,
		.frame = {.code = 0, .previous = 8, .instr = 56, .owner = 70},
		.thread =
			{.frame = 72, .next = 8, .interp = 16, .thread_id = 152, .native_id = 160},
		.code = {.first_line = 68,
			.filename = 112,
			.name = 120,
			.qualname = 128,
			.lines = 136,
			.bytes = 200,
			.traceable = 184,
			.version = 92},
		.ascii_data = 40,
		.compact_data = 56,
		.interp = {.head = 632, .next = 7264, .threads = 7344},
	},
};

/* --- 3.13's own table (_Py_DebugOffsets) --- */

/* Indices of its 8-byte words (pycore_runtime.h of 3.13). */
enum { DEBUG_FREE_THREADED = 2 };
struct place {
	uint16_t word;
	uint16_t offset; /* offset in struct python_layout of the uint16_t to compare */
};
#define PLACE(word, member)                                                                        \
	{                                                                                          \
		word, offsetof(struct python_layout, member)                                       \
	}
static const struct place taken[] = {
	PLACE(5, interp.head),
	PLACE(8, interp.next),
	PLACE(9, interp.threads),
	PLACE(21, thread.next),
	PLACE(22, thread.interp),
	PLACE(23, thread.frame),
	PLACE(24, thread.thread_id),
	PLACE(25, thread.native_id),
};
static const struct place compared[] = {
	PLACE(29, frame.previous),
	PLACE(30, frame.code),
	PLACE(31, frame.instr),
	PLACE(33, frame.owner),
	PLACE(35, code.filename),
	PLACE(36, code.name),
	PLACE(37, code.qualname),
	PLACE(38, code.lines),
	PLACE(39, code.first_line),
	PLACE(43, code.bytes),
};

static bool follow_debug_table(struct python_layout *l, const void *head, const char **why)
{
	uint64_t word[PYTHON_DEBUG_BYTES / 8];

	memcpy(word, head, sizeof word);
	*why = "its table of offsets is not where it should be";
	if (memcmp(word, "xdebugpy", 8) != 0)
		return false;
	*why = "it is built without the global interpreter lock";
	if (word[DEBUG_FREE_THREADED])
		return false;
	*why = "its structures are laid out differently from those of its version";
	for (size_t i = 0; i < sizeof compared / sizeof *compared; i++) {
		uint16_t ours;

		memcpy(&ours, (const char *)l + compared[i].offset, sizeof ours);
		if (word[compared[i].word] != ours)
			return false;
	}
	for (size_t i = 0; i < sizeof taken / sizeof *taken; i++) {
		const uint16_t theirs = (uint16_t)word[taken[i].word];

		if (word[taken[i].word] != theirs || theirs & 7)
			return false;
		memcpy((char *)l + taken[i].offset, &theirs, sizeof theirs);
	}
	return true;
}

bool python_layout(struct python_layout *ret, uint32_t version, const void *head, const char **why)
{
	*why = "its version is not one of 3.11, 3.12 and 3.13";
	for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++)
		if (layouts[i].version == version >> 16) {
			*ret = layouts[i];
			return version >> 16 < 0x030d || follow_debug_table(ret, head, why);
		}
	return false;
}

/* --- objects --- */

/* Appends a character as UTF-8 when there is room. */
static bool put_char(char *to, size_t *n, size_t max, uint32_t c)
{
	static const uint8_t lead[] = {0, 0, 0xc0, 0xe0, 0xf0};
	const unsigned k = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;

	if (*n + k >= max)
		return false;
	for (unsigned i = k; i-- > 1; c >>= 6)
		to[*n + i] = (char)(0x80 | (c & 0x3f));
	to[*n] = (char)(lead[k < 2 ? 0 : k] | c);
	*n += k;
	return true;
}

/* kind: bytes per character, 1, 2 or 4. */
static size_t wide_text(
	uint64_t at, uint64_t n, unsigned kind, char *to, size_t max, python_read *read, void *arg)
{
	size_t len = 0;

	for (uint64_t i = 0; i < n; i++) {
		uint32_t c = 0;

		if (!read(arg, at + i * kind, &c, kind))
			return 0;
		if (c > 0x10ffff ||
			(c >= 0xd800 && c < 0xe000)) /* file names may hold lone surrogates */
			c = 0xfffd;
		if (!put_char(to, &len, max, c))
			break;
	}
	return len;
}

size_t python_text(const struct python_layout *l, uint64_t object, char *to, size_t max,
	python_read *read, void *arg)
{
	uint64_t n;
	uint32_t state;
	size_t len;

	to[0] = 0;
	if (!python_plausible(object) || !read(arg, object + PYTHON_SIZE, &n, 8) ||
		!read(arg, object + PYTHON_TEXT_STATE, &state, 4))
		return 0;
	/* struct { interned:2; kind:3; compact:1; ascii:1; } */
	const unsigned kind = state >> 2 & 7;
	const bool compact = state >> 5 & 1, ascii = state >> 6 & 1;
	if (!compact || (kind != 1 && kind != 2 && kind != 4) || n > 1u << 20)
		return 0;
	if (ascii) {
		len = n < max ? n : max - 1;
		if (!read(arg, object + l->ascii_data, to, len))
			len = 0;
	} else {
		len = wide_text(object + l->compact_data, n, kind, to, max, read, arg);
	}
	to[len] = 0;
	return len;
}

bool python_bytes(
	uint64_t object, uint64_t *ret_address, uint64_t *ret_n, python_read *read, void *arg)
{
	if (!python_plausible(object) || !read(arg, object + PYTHON_SIZE, ret_n, 8) ||
		*ret_n > 1u << 28)
		return false;
	*ret_address = object + PYTHON_BYTES_DATA;
	return true;
}
