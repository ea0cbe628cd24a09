/* SPDX-License-Identifier: Apache-2.0
 *
 * Writes numbers as varints and reads them back from bytes that may be hostile. Chunks of a trace
 * and keyframes are made of these.
 */
#ifndef SBT_VARINT_H
#define SBT_VARINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include "base/buf.h"

static inline uint64_t sbt_zigzag(uint64_t delta)
{
	return (delta << 1) ^ (0 - (delta >> 63));
}

static inline uint64_t sbt_unzigzag(uint64_t v)
{
	return (v >> 1) ^ (0 - (v & 1));
}

/* LEB128: 7 bits a byte, low bits first, the top bit set on all bytes but the last. */
static inline void sbt_put(struct buf *b, uint64_t v)
{
	uint8_t *p = buf_room(b, 10), *start = p;

	while (v >= 0x80) {
		*p++ = (uint8_t)v | 0x80;
		v >>= 7;
	}
	*p++ = (uint8_t)v;
	b->len += (size_t)(p - start);
}

static inline void sbt_put_delta(struct buf *b, uint64_t now, uint64_t before)
{
	sbt_put(b, sbt_zigzag(now - before));
}

/* A reading position in a payload. Once a read does not fit, bad is set and every further read
 * returns 0. */
struct sbt_in {
	const uint8_t *p, *end;
	bool bad;
};

static inline struct sbt_in sbt_in_of(const struct buf *b)
{
	const uint8_t *p = b->data ? b->data : (const uint8_t *)"";

	return (struct sbt_in){p, p + b->len, false};
}

static inline size_t sbt_left(const struct sbt_in *in)
{
	return (size_t)(in->end - in->p);
}

static inline uint64_t sbt_get_slow(struct sbt_in *in)
{
	uint64_t v = 0;

	for (unsigned shift = 0; in->p < in->end && shift < 64; shift += 7) {
		uint8_t b = *in->p++;

		if (shift == 63 && b > 1)
			break;
		v |= (uint64_t)(b & 0x7f) << shift;
		if (!(b & 0x80))
			return v;
	}
	in->bad = true;
	in->p = in->end;
	return 0;
}

/* Numbers of up to 8 bytes, where as many are left, without a branch that depends on their length:
 * numbers of a column have different ones. */
static inline uint64_t sbt_take(struct sbt_in *in)
{
	const uint64_t tops = 0x8080808080808080;
	uint64_t v, last;

	if (in->end - in->p < 8)
		return sbt_get_slow(in);
	memcpy(&v, in->p, 8); /* little-endian, as all of tsdb */
	last = ~v & tops;
	if (__builtin_expect(!last, 0))
		return sbt_get_slow(in);
	in->p += (__builtin_ctzll(last) >> 3) + 1;
	v &= last ^ (last - 1); /* the bytes behind the last one are others' */
	v = (v & 0x007f007f007f007f) | (v & 0x7f007f007f007f00) >> 1;
	v = (v & 0x00003fff00003fff) | (v & 0x3fff00003fff0000) >> 2;
	return (v & 0x0fffffff) | (v & 0x0fffffff00000000) >> 4;
}

/* For numbers that are most often below 128. */
static inline uint64_t sbt_take_small(struct sbt_in *in)
{
	return in->p < in->end && *in->p < 0x80 ? *in->p++ : sbt_take(in);
}

static inline void sbt_skip_slow(struct sbt_in *in, uint64_t n)
{
	while (n && in->p < in->end)
		n -= !(*in->p++ & 0x80);
	if (n)
		in->bad = true;
}

/* Passes n numbers over: no more than their ends are looked at. */
static inline void sbt_skip(struct sbt_in *in, uint64_t n)
{
	const uint64_t tops = 0x8080808080808080;

	while (n && in->end - in->p >= 8) {
		uint64_t v, ends;
		unsigned found;

		memcpy(&v, in->p, 8);
		ends = ~v & tops;
		found = (unsigned)((ends >> 7) * 0x0101010101010101 >> 56);
		if (found >= n) {
			while (--n)
				ends &= ends - 1;
			in->p += (__builtin_ctzll(ends) >> 3) + 1;
			return;
		}
		n -= found;
		in->p += 8;
	}
	sbt_skip_slow(in, n);
}

static inline uint64_t sbt_take_delta(struct sbt_in *in, uint64_t before)
{
	return before + sbt_unzigzag(sbt_take(in));
}

/* A varint that must be at most max. */
static inline uint64_t sbt_take_max(struct sbt_in *in, uint64_t max)
{
	uint64_t v = sbt_take(in);

	if (v > max) {
		in->bad = true;
		return 0;
	}
	return v;
}

/* The next n bytes, or NULL. */
static inline const uint8_t *sbt_take_bytes(struct sbt_in *in, uint64_t n)
{
	const uint8_t *p = in->p;

	if (in->bad || n > sbt_left(in)) {
		in->bad = true;
		return NULL;
	}
	in->p += n;
	return p;
}

#endif
