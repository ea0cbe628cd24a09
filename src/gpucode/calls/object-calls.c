/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls that name objects; see object-calls.h.
 */
#include "gpucode/object-calls.h"

#include <stddef.h>
#include <string.h>

/* Above the forms that ask for an object, whose numbers are those of enum object_kind. */
enum form { FORM_WORD = OBJECT_EXEC + 1, FORM_MODE, FORM_IS };

struct field {
	uint16_t at;  /* from the beginning of struct sbt_cmd */
	uint8_t form; /* enum object_kind or enum form; 0 behind the last field */
	uint8_t arg;
	uint32_t value;
};

struct row {
	const char *args;
	struct field fields[7];
};

#define AT(member) offsetof(struct sbt_cmd, u.member)
#define WORD(member, i)                                                                            \
	{                                                                                          \
		AT(member), FORM_WORD, i, 0                                                        \
	}
#define MODE(member, i)                                                                            \
	{                                                                                          \
		AT(member), FORM_MODE, i, 0                                                        \
	}
#define STREAM(member, i)                                                                          \
	{                                                                                          \
		AT(member), OBJECT_STREAM, i, 0                                                    \
	}
#define EVENT(member, i)                                                                           \
	{                                                                                          \
		AT(member), OBJECT_EVENT, i, 0                                                     \
	}
#define KERNEL(member, i)                                                                          \
	{                                                                                          \
		AT(member), OBJECT_KERNEL, i, 0                                                    \
	}
#define EXEC(member, i)                                                                            \
	{                                                                                          \
		AT(member), OBJECT_EXEC, i, 0                                                      \
	}
#define IS(member, constant)                                                                       \
	{                                                                                          \
		AT(member), FORM_IS, 0, constant                                                   \
	}
#define NO_ID(member) IS(member, SBT_NO_ID)

static const struct row rows[OBJECT_CALLS] = {
#define CALL(name, args, ...) [OBJECT_CALL_##name] = {args, {__VA_ARGS__}},
#include "gpucode/object-calls.def"
};

static uint64_t narrowed(char type, uint64_t word)
{
	if (type == 'i')
		return (uint64_t)(int64_t)(int32_t)word;
	return type == 'u' ? (uint32_t)word : word;
}

void object_call_args(enum object_call which, const void *params, uint64_t *ret)
{
	const char *from = params;
	size_t at = 0;

	for (const char *type = rows[which].args; *type; type++) {
		const size_t size = *type == 'p' ? sizeof(uint64_t) : sizeof(uint32_t);

		at = (at + size - 1) & ~(size - 1);
		*ret = 0;
		memcpy(ret++, from + at,
			size); /* the lower half: processors with a GPU are little-endian */
		at += size;
	}
}

unsigned object_call(enum object_call which, const uint64_t *args, struct sbt_cmd *cmd,
	struct object_asked ret[OBJECT_CALL_ASKED])
{
	const struct row *r = &rows[which];
	unsigned n = 0;

	for (const struct field *f = r->fields; f->form; f++) {
		uint64_t *const to = (uint64_t *)((char *)cmd + f->at);
		const uint64_t word =
			f->form == FORM_IS ? f->value : narrowed(r->args[f->arg], args[f->arg]);

		*to = f->form == FORM_MODE && word > SBT_CAPTURE_RELAXED ? SBT_CAPTURE_GLOBAL
									 : word;
		if (f->form < FORM_WORD)
			ret[n++] = (struct object_asked){(enum object_kind)f->form, word, to};
	}
	return n;
}
