/* SPDX-License-Identifier: Apache-2.0
 *
 * The command table's generated code: descriptions, access by field, and the packed form of the
 * agent's ring. Everything here is expanded from commands.def. Packing is straight-line stores
 * without a loop over descriptors: it is on the path of every GPU call of the inferior. This file
 * is also compiled into the agent: no allocation, no libc but string.h.
 */
#include <string.h>
#include "sbt/cmd.h"
#include "sbt/fields.h"
#include "sbt/cmd-pack.h"

/* --- descriptions
 * -------------------------------------------------------------------------------------------------
 * One function per kind, because FIELD() does not know the kind it is in: inside a function `self`
 * can name its struct. */

#define CMD(num, ID, nm, class, does, text)                                                        \
	static const struct sbt_kind_desc *desc_##nm(void)                                         \
	{                                                                                          \
		typedef struct sbt_cmd_##nm self;                                                  \
		static const char name[] = #nm, help[] = text;                                     \
		enum { CLS = SBT_CLASS_##class, DOES = (does) };                                   \
		static const struct sbt_field fields[] = {
#define FIELD(ty, nm, text)                                                                        \
	{#nm, SBT_T_##ty, offsetof(struct sbt_cmd, u) + offsetof(self, nm), text},
#define END(ID)                                                                                    \
	{                                                                                          \
		NULL, 0, 0, NULL                                                                   \
	}                                                                                          \
	}                                                                                          \
	;                                                                                          \
	static const struct sbt_kind_desc desc = {name, #ID, (enum sbt_class)CLS, DOES, help,      \
		fields, sizeof fields / sizeof *fields - 1};                                       \
	return &desc;                                                                              \
	}
#include "sbt/commands.def"
#undef CMD
#undef FIELD
#undef END

const struct sbt_kind_desc *sbt_kind(unsigned kind)
{
	switch (kind) {
#define CMD(num, ID, nm, class, does, text)                                                        \
	case num:                                                                                  \
		return desc_##nm();
#define FIELD(ty, nm, text)
#define END(ID)
#include "sbt/commands.def"
#undef CMD
#undef FIELD
#undef END
	default:
		return NULL;
	}
}

const struct sbt_field sbt_common_fields[] = {
	{"seq", SBT_T_SEQ, offsetof(struct sbt_cmd, seq), "number of the command, from 1"},
	{"kind", SBT_T_UINT, offsetof(struct sbt_cmd, kind), "number of the kind"},
	{"flags", SBT_T_HEX, offsetof(struct sbt_cmd, flags),
		"1 window, 2 graph, 4 synthetic, 8 per-thread default stream"},
	{"thread", SBT_T_UINT, offsetof(struct sbt_cmd, thread), "thread number, from 1"},
	{"ctx", SBT_T_CONTEXT, offsetof(struct sbt_cmd, ctx), "current context"},
	{"stack", SBT_T_UINT, offsetof(struct sbt_cmd, stack), "id of the host stack; 0: none"},
	{"result", SBT_T_UINT, offsetof(struct sbt_cmd, result), "CUresult; 0 is success"},
	{"corr", SBT_T_UINT, offsetof(struct sbt_cmd, corr), "correlation id; 0: none"},
	{"host_ns", SBT_T_TIME, offsetof(struct sbt_cmd, host_ns), "host time at API entry"},
	{"gpu_start_ns", SBT_T_TIME, offsetof(struct sbt_cmd, gpu_start_ns),
		"start on the GPU; 0: not known"},
	{"gpu_end_ns", SBT_T_TIME, offsetof(struct sbt_cmd, gpu_end_ns),
		"end on the GPU; 0: not known"},
	{NULL, 0, 0, NULL},
};

unsigned sbt_kind_by_name(const char *name)
{
	for (unsigned i = 1; i < SBT_KIND_END; i++) {
		const struct sbt_kind_desc *d = sbt_kind(i);

		if (d && strcmp(d->name, name) == 0)
			return i;
	}
	return 0;
}

const struct sbt_field *sbt_field(unsigned kind, const char *name)
{
	const struct sbt_kind_desc *d = sbt_kind(kind);

	if (!d)
		return NULL;
	for (const struct sbt_field *f = d->fields; f->name; f++)
		if (strcmp(f->name, name) == 0)
			return f;
	return NULL;
}

/* Bytes that a scalar takes in struct sbt_cmd: 8, but for some of the common fields. */
static unsigned scalar_width(unsigned offset)
{
	switch (offset) {
	case offsetof(struct sbt_cmd, kind):
	case offsetof(struct sbt_cmd, flags):
		return 2;
	case offsetof(struct sbt_cmd, thread):
	case offsetof(struct sbt_cmd, ctx):
	case offsetof(struct sbt_cmd, stack):
	case offsetof(struct sbt_cmd, result):
	case offsetof(struct sbt_cmd, corr):
		return 4;
	default:
		return 8;
	}
}

uint64_t sbt_get(const struct sbt_cmd *c, const struct sbt_field *f)
{
	const char *p = (const char *)c + f->offset;
	uint64_t v = 0;

	memcpy(&v, p, scalar_width(f->offset)); /* little endian */
	return v;
}

void sbt_set(struct sbt_cmd *c, const struct sbt_field *f, uint64_t v)
{
	memcpy((char *)c + f->offset, &v, scalar_width(f->offset));
}

const struct sbt_blob *sbt_get_blob(const struct sbt_cmd *c, const struct sbt_field *f)
{
	return (const struct sbt_blob *)(const void *)((const char *)c + f->offset);
}

const char *sbt_enum_name(enum sbt_type type, uint64_t value)
{
	static const char *const copy[] = {"h2d", "d2h", "d2d", "h2h", "peer", "any"};
	static const char *const mem[] = {
		"device", "pinned", "managed", "registered", "async", "vmm", "ipc", "array"};
	static const char *const sync[] = {"ctx", "stream", "event"};
	static const char *const capture[] = {"global", "thread", "relaxed"};
	static const char *const node[] = {"kernel", "copy", "fill", "host", "graph", "empty",
		"wait_event", "event_record", "other"};
#define PICK(t) return value < sizeof t / sizeof *t ? t[value] : NULL

	switch (type) {
	case SBT_T_ENUM_COPY:
		PICK(copy);
	case SBT_T_ENUM_MEM:
		PICK(mem);
	case SBT_T_ENUM_SYNC:
		PICK(sync);
	case SBT_T_ENUM_CAPTURE:
		PICK(capture);
	case SBT_T_ENUM_NODE:
		PICK(node);
	default:
		return NULL;
	}
#undef PICK
}

bool sbt_cmd_is_work(const struct sbt_cmd *c)
{
	const struct sbt_kind_desc *d = sbt_kind(c->kind);

	return d && d->cls == SBT_CLASS_WORK && !c->result && !(c->flags & SBT_F_GRAPH);
}

unsigned sbt_kind_does(unsigned kind)
{
	enum { KNOWN = 0x8000 };
	static const uint16_t of[SBT_KIND_END] = {
#define CMD(num, ID, nm, class, does, text) [num] = KNOWN | (does),
#define FIELD(ty, nm, text)
#define END(ID)
#include "sbt/commands.def"
#undef CMD
#undef FIELD
#undef END
	};

	return kind < SBT_KIND_END && of[kind] ? of[kind] & ~(unsigned)KNOWN : SBT_DOES_UNKNOWN;
}

bool sbt_kind_takes_turn(unsigned kind)
{
	const unsigned does = sbt_kind_does(kind);

	return does & SBT_QUEUED &&
	       does & (SBT_READS | SBT_WRITES | SBT_UPDATES | SBT_RUNS_KERNEL | SBT_RUNS_GRAPH);
}

/* One function per kind, as above: a sum of zeros and of the one offset, which the compiler adds
 * up. */
#define CMD(num, ID, nm, class, does, text)                                                        \
	static inline uint16_t stream_of_##nm(void)                                                \
	{                                                                                          \
		typedef struct sbt_cmd_##nm self;                                                  \
		return 0
#define FIELD(ty, nm, text)                                                                        \
	+(__builtin_strcmp(#nm, "stream") ? 0 : offsetof(struct sbt_cmd, u) + offsetof(self, nm))
#define END(ID)                                                                                    \
	;                                                                                          \
	}
#include "sbt/commands.def"
#undef CMD
#undef FIELD
#undef END

uint16_t sbt_stream_offset(unsigned kind)
{
	switch (kind) {
#define CMD(num, ID, nm, class, does, text)                                                        \
	case num:                                                                                  \
		return stream_of_##nm();
#define FIELD(ty, nm, text)
#define END(ID)
#include "sbt/commands.def"
#undef CMD
#undef FIELD
#undef END
	default:
		return 0;
	}
}

/* The largest value of a field of each type. */
#define SBT_MAX_UINT UINT64_MAX
#define SBT_MAX_INT UINT64_MAX
#define SBT_MAX_BOOL UINT64_MAX
#define SBT_MAX_SIZE UINT64_MAX
#define SBT_MAX_ADDR UINT64_MAX
#define SBT_MAX_HEX UINT64_MAX
#define SBT_MAX_STREAM SBT_NO_ID
#define SBT_MAX_EVENT SBT_NO_ID
#define SBT_MAX_CONTEXT SBT_NO_ID
#define SBT_MAX_MODULE SBT_NO_ID
#define SBT_MAX_KERNEL SBT_NO_ID
#define SBT_MAX_GRAPH SBT_NO_ID
#define SBT_MAX_SEQ UINT64_MAX
#define SBT_MAX_TIME UINT64_MAX
#define SBT_MAX_DURATION UINT64_MAX
#define SBT_MAX_STR UINT64_MAX
#define SBT_MAX_BLOB UINT64_MAX
#define SBT_MAX_ENUM_COPY UINT8_MAX
#define SBT_MAX_ENUM_MEM UINT8_MAX
#define SBT_MAX_ENUM_SYNC UINT8_MAX
#define SBT_MAX_ENUM_CAPTURE UINT8_MAX
#define SBT_MAX_ENUM_NODE UINT8_MAX

static inline uint64_t number_of(const void *field, bool is_blob)
{
	return is_blob ? 0 : *(const uint64_t *)field;
}

/* One function per kind, as above: the place of the field among the kind's, from 1. Comparisons
 * that cannot fail are compiled away. */
#define CMD(num, ID, nm, class, does, text)                                                        \
	static inline unsigned out_of_range_##nm(const struct sbt_cmd_##nm *s)                     \
	{                                                                                          \
		unsigned at = 0, bad = 0;                                                          \
		(void)s;
#define FIELD(ty, nm, text)                                                                        \
	at++;                                                                                      \
	if (number_of(&s->nm, sbt_type_is_blob(SBT_T_##ty)) > (uint64_t)SBT_MAX_##ty)              \
		bad = at;
#define END(ID)                                                                                    \
	return at ? bad : 0;                                                                       \
	}
#include "sbt/commands.def"
#undef CMD
#undef FIELD
#undef END

const struct sbt_field *sbt_out_of_range(const struct sbt_cmd *c)
{
	unsigned bad = 0;

	switch (c->kind) {
#define CMD(num, ID, nm, class, does, text)                                                        \
	case num:                                                                                  \
		bad = out_of_range_##nm(&c->u.nm);                                                 \
		break;
#define FIELD(ty, nm, text)
#define END(ID)
#include "sbt/commands.def"
#undef CMD
#undef FIELD
#undef END
	default:
		break;
	}
	return bad ? &sbt_kind(c->kind)->fields[bad - 1] : NULL;
}

uint32_t sbt_cmd_stream(const struct sbt_cmd *c)
{
	const struct sbt_kind_desc *d = sbt_kind(c->kind);
	const uint16_t at = d && d->cls == SBT_CLASS_WORK ? sbt_stream_offset(c->kind) : 0;

	return at ? (uint32_t) * (const uint64_t *)((const char *)c + at) : SBT_NO_ID;
}

/* --- the packed form --- */

struct packed {
	uint32_t size;
	uint16_t kind, flags;
	uint64_t seq;
	uint32_t thread, ctx;
	uint32_t stack, result;
	uint32_t corr, nfields;
	uint64_t host_ns;
	uint64_t field[]; /* nfields of them, then the blobs' bytes */
};
_Static_assert(sizeof(struct packed) == 48, "packed layout");
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the packed form is little endian");

static inline uint64_t pad8(uint64_t n)
{
	return (n + 7) & ~(uint64_t)7;
}

/* SBT_IF_type(s, b): s for types held in a u64, b for blobs. */
#define SBT_IF_UINT(s, b) s
#define SBT_IF_INT(s, b) s
#define SBT_IF_BOOL(s, b) s
#define SBT_IF_SIZE(s, b) s
#define SBT_IF_ADDR(s, b) s
#define SBT_IF_HEX(s, b) s
#define SBT_IF_STREAM(s, b) s
#define SBT_IF_EVENT(s, b) s
#define SBT_IF_CONTEXT(s, b) s
#define SBT_IF_MODULE(s, b) s
#define SBT_IF_KERNEL(s, b) s
#define SBT_IF_GRAPH(s, b) s
#define SBT_IF_SEQ(s, b) s
#define SBT_IF_TIME(s, b) s
#define SBT_IF_DURATION(s, b) s
#define SBT_IF_STR(s, b) b
#define SBT_IF_BLOB(s, b) b
#define SBT_IF_ENUM_COPY(s, b) s
#define SBT_IF_ENUM_MEM(s, b) s
#define SBT_IF_ENUM_SYNC(s, b) s
#define SBT_IF_ENUM_CAPTURE(s, b) s
#define SBT_IF_ENUM_NODE(s, b) s

bool sbt_wait_is_over(const struct sbt_cmd_batch *wait, uint64_t v)
{
	const uint64_t mask = wait->elem == 4 ? UINT32_MAX : UINT64_MAX, want = wait->value & mask;

	v &= mask;
	switch (wait->op_flags & 3) {
	case 0:
		return wait->elem == 4 ? (int32_t)(uint32_t)(v - want) >= 0
				       : (int64_t)(v - want) >= 0;
	case 1:
		return v == want;
	case 2:
		return (v & want) != 0;
	default:
		return (~(v | want) & mask) != 0;
	}
}

size_t sbt_pack_size(const struct sbt_cmd *c)
{
	size_t n = sizeof(struct packed);

	switch (c->kind) {
#define CMD(num, ID, nm, class, does, text)                                                        \
	case num: {                                                                                \
		const struct sbt_cmd_##nm *s = &c->u.nm;                                           \
		(void)s;
#define FIELD(ty, nm, text) n += 8 + SBT_IF_##ty(0, pad8(s->nm.len));
#define END(ID)                                                                                    \
	break;                                                                                     \
	}
#include "sbt/commands.def"
#undef CMD
#undef FIELD
#undef END
	default:
		break;
	}
	return n;
}

/* Copies a blob behind p, zeroes the padding, returns where the next one goes. */
static inline char *put_blob(char *p, const struct sbt_blob *b)
{
	uint64_t padded = pad8(b->len);

	if (!b->len)
		return p;
	memset(p + padded - 8, 0, 8);
	memcpy(p, b->p, b->len);
	return p + padded;
}

#define CMD(num, ID, nm, class, does, text)                                                        \
	static inline uint32_t pack_##nm(struct packed *dst, const struct sbt_cmd_##nm *s)         \
	{                                                                                          \
		uint64_t *d = dst->field;
#define FIELD(ty, nm, text) *d++ = SBT_IF_##ty(s->nm, s->nm.len);
#define END(ID)                                                                                    \
	dst->nfields = (uint32_t)(d - dst->field);                                                 \
	return dst->nfields;                                                                       \
	}
#include "sbt/commands.def"
#undef CMD
#undef FIELD
#undef END

#define CMD(num, ID, nm, class, does, text)                                                        \
	static inline char *blobs_##nm(char *p, const struct sbt_cmd_##nm *s)                      \
	{                                                                                          \
		(void)s;
#define FIELD(ty, nm, text) SBT_IF_##ty(, p = put_blob(p, &s->nm);)
#define END(ID)                                                                                    \
	return p;                                                                                  \
	}
#include "sbt/commands.def"
#undef CMD
#undef FIELD
#undef END

void sbt_pack(void *dst, const struct sbt_cmd *c)
{
	struct packed *d = dst;
	char *end = (char *)d->field;

	d->kind = c->kind;
	d->flags = c->flags;
	d->seq = c->seq;
	d->thread = c->thread;
	d->ctx = c->ctx;
	d->stack = c->stack;
	d->result = c->result;
	d->corr = c->corr;
	d->nfields = 0;
	d->host_ns = c->host_ns;
	switch (c->kind) {
#define CMD(num, ID, nm, class, does, text)                                                        \
	case num:                                                                                  \
		end = (char *)(d->field + pack_##nm(d, &c->u.nm));                                 \
		end = blobs_##nm(end, &c->u.nm);                                                   \
		break;
#define FIELD(ty, nm, text)
#define END(ID)
#include "sbt/commands.def"
#undef CMD
#undef FIELD
#undef END
	default:
		break;
	}
	d->size = (uint32_t)(end - (char *)dst);
}

/* Points the blob at the next len bytes of [*p, end). False when they are not there. */
static bool take_blob(struct sbt_blob *ret, uint64_t len, const char **p, const char *end)
{
	uint64_t left = (uint64_t)(end - *p);

	if (len > left || pad8(len) > left)
		return false;
	*ret = (struct sbt_blob){len ? *p : NULL, len};
	*p += pad8(len);
	return true;
}

size_t sbt_unpack(struct sbt_cmd *ret, const void *src, size_t n)
{
	const struct sbt_kind_desc *d;
	const char *field = (const char *)src + sizeof(struct packed), *p, *end;
	struct packed s;

	if (n < sizeof s)
		return 0;
	memcpy(&s, src, sizeof s); /* a payload in a trace need not be aligned */
	d = sbt_kind(s.kind);
	if (!d || s.size < sizeof s || s.size > n || s.size % 8 ||
		s.nfields > (s.size - sizeof s) / 8)
		return 0;
	memset(ret, 0, sizeof *ret);
	ret->seq = s.seq;
	ret->kind = s.kind;
	ret->flags = s.flags;
	ret->thread = s.thread;
	ret->ctx = s.ctx;
	ret->stack = s.stack;
	ret->result = s.result;
	ret->corr = s.corr;
	ret->host_ns = s.host_ns;
	p = field + 8 * (size_t)s.nfields;
	end = (const char *)src + s.size;
	/* Fewer fields: an older writer, the rest is 0. More: a newer one, their blobs come last
	 * and are ignored. */
	for (unsigned i = 0; i < d->nfields && i < s.nfields; i++) {
		const struct sbt_field *f = &d->fields[i];
		char *to = (char *)ret + f->offset;
		uint64_t v;

		memcpy(&v, field + 8 * (size_t)i, sizeof v);
		if (!sbt_type_is_blob(f->type))
			memcpy(to, &v, sizeof v);
		else if (!take_blob((struct sbt_blob *)(void *)to, v, &p, end))
			return 0;
	}
	if (s.nfields <= d->nfields && p != end)
		return 0;
	return s.size;
}
