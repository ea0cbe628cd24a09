/* SPDX-License-Identifier: Apache-2.0
 *
 * A second writer, without anything that makes the first one fast: lists that are searched from the
 * beginning in place of hashes. Both write the same bytes. What docs/sbt.md leaves to a writer, the
 * test says: a slot for each kind, thread, stream and kernel; a blob is patched unless more than
 * three quarters of more than four words changed; how much goes into a chunk.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <unistd.h>
#include <cmocka.h>
#include <xxhash.h>
#include <zstd.h>

#include "sbt-make.h"
#include "sbt/cmd/encode.h"
#include "sbt/format/format.h"
#include "sbt/fields.h"

#define SLOTS 2000

static void ok(struct err *e)
{
	if (e)
		fail_msg("%s", e->what);
}

/* --- commands --- */

struct plain_slot {
	uint64_t of[4]; /* kind, thread, stream, kernel */
	struct sbt_cmd cmd;
	struct buf blob[8];
};

struct plain {
	struct plain_slot slots[SLOTS];
	struct buf strings[SLOTS];
	unsigned nslots, nstrings;
	struct buf col[SBT_COLUMNS];
	bool kinds[SBT_KIND_END];
	uint64_t count, first, seq, corr, host_ns;
};

static bool is_equal(const struct buf *old, const struct sbt_blob *b)
{
	return old->len == b->len && (!b->len || !memcmp(old->data, b->p, b->len));
}

static void take_over(struct buf *old, const struct sbt_blob *b)
{
	buf_clear(old);
	buf_add(old, b->p, b->len);
}

static void put_new(struct plain *p, const struct sbt_blob *b)
{
	sbt_put(&p->col[SBT_COL_VALUE], 0);
	sbt_put(&p->col[SBT_COL_VALUE], b->len);
	buf_add(&p->col[SBT_COL_BYTES], b->p, b->len);
}

static void put_text(struct plain *p, const struct sbt_blob *b)
{
	for (unsigned i = 0; i < p->nstrings; i++)
		if (is_equal(&p->strings[i], b)) {
			sbt_put(&p->col[SBT_COL_VALUE], i + 1);
			return;
		}
	assert_true(p->nstrings < SLOTS);
	take_over(&p->strings[p->nstrings++], b);
	put_new(p, b);
}

static uint64_t word(const void *p, uint64_t n, uint64_t i)
{
	uint64_t w = 0;

	for (unsigned k = 0; k < 8 && 8 * i + k < n; k++)
		w |= (uint64_t)((const uint8_t *)p)[8 * i + k] << 8 * k;
	return w;
}

static void put_bytes(struct plain *p, const struct buf *old, const struct sbt_blob *b)
{
	struct buf *out = &p->col[SBT_COL_VALUE];
	uint64_t words = b->len / 8 + (b->len % 8 != 0), changed = 0, skipped = 0;

	for (uint64_t i = 0; old->len == b->len && i < words; i++)
		changed += word(old->data, b->len, i) != word(b->p, b->len, i);
	if (!b->len || old->len != b->len || (words > 4 && changed > words - words / 4)) {
		put_new(p, b);
		return;
	}
	sbt_put(out, 1);
	sbt_put(out, changed);
	for (uint64_t i = 0; i < words; i++) {
		const uint64_t was = word(old->data, b->len, i), is = word(b->p, b->len, i);

		if (was == is) {
			skipped++;
			continue;
		}
		sbt_put(out, skipped);
		sbt_put_delta(out, is, was);
		skipped = 0;
	}
}

static unsigned slot_of(struct plain *p, const struct sbt_cmd *c)
{
	const uint64_t of[4] = {c->kind, c->thread, sbt_cmd_stream(c),
		c->kind == SBT_LAUNCH ? c->u.launch.kernel : 0};

	for (unsigned i = 0; i < p->nslots; i++)
		if (!memcmp(p->slots[i].of, of, sizeof of))
			return i;
	assert_true(p->nslots < SLOTS);
	memcpy(p->slots[p->nslots].of, of, sizeof of);
	sbt_put(&p->col[SBT_COL_HEAD], 0);
	sbt_put(&p->col[SBT_COL_HEAD], p->nslots);
	sbt_put(&p->col[SBT_COL_HEAD], c->kind);
	p->kinds[c->kind] = true;
	return p->nslots++;
}

/* The bit is set, and the value written, if it changed. */
static uint64_t put_change(struct plain *p, uint64_t bit, uint64_t is, uint64_t was)
{
	if (is == was)
		return 0;
	sbt_put_delta(&p->col[SBT_COL_VALUE], is, was);
	return bit;
}

static uint64_t put_fields(struct plain *p, struct plain_slot *s, const struct sbt_cmd *c)
{
	uint64_t mask = 0, bit = 64;
	unsigned nblob = 0;

	for (const struct sbt_field *f = sbt_kind(c->kind)->fields; f->name; f++, bit *= 2) {
		const struct sbt_blob *b;

		if (!sbt_type_is_blob(f->type)) {
			mask |= put_change(p, bit, sbt_get(c, f), sbt_get(&s->cmd, f));
			continue;
		}
		b = sbt_get_blob(c, f);
		if (!is_equal(&s->blob[nblob], b)) {
			mask |= bit;
			if (f->type == SBT_T_STR)
				put_text(p, b);
			else
				put_bytes(p, &s->blob[nblob], b);
			take_over(&s->blob[nblob], b);
		}
		nblob++;
	}
	return mask;
}

static void plain_add(struct plain *p, const struct sbt_cmd *c)
{
	struct plain_slot *s;
	uint64_t mask = 0;
	unsigned i;

	if (!p->count++) {
		p->first = c->seq;
		p->seq = c->seq - 1;
	}
	i = slot_of(p, c);
	s = &p->slots[i];
	if (c->seq != p->seq + 1) {
		mask = 1;
		sbt_put(&p->col[SBT_COL_VALUE], c->seq - p->seq - 1);
	}
	mask |= put_change(p, 2, c->flags, s->cmd.flags);
	mask |= put_change(p, 4, c->thread, s->cmd.thread);
	mask |= put_change(p, 8, c->ctx, s->cmd.ctx);
	mask |= put_change(p, 16, c->stack, s->cmd.stack);
	mask |= put_change(p, 32, c->result, s->cmd.result);
	mask |= put_fields(p, s, c);
	s->cmd = *c;
	sbt_put(&p->col[SBT_COL_HEAD], 2 * (i + 1) + (mask != 0));
	if (mask)
		sbt_put(&p->col[SBT_COL_MASK], mask);
	if (c->corr) {
		sbt_put(&p->col[SBT_COL_CORR], sbt_zigzag(c->corr - p->corr) + 1);
		p->corr = c->corr;
	} else {
		sbt_put(&p->col[SBT_COL_CORR], 0);
	}
	sbt_put_delta(&p->col[SBT_COL_TIME], c->host_ns, p->host_ns);
	p->host_ns = c->host_ns;
	p->seq = c->seq;
}

static void put_kinds(const struct plain *p, struct buf *out)
{
	unsigned n = 0;

	for (unsigned k = 0; k < SBT_KIND_END; k++)
		n += p->kinds[k];
	sbt_put(out, n);
	for (unsigned k = 0; k < SBT_KIND_END; k++) {
		if (!p->kinds[k])
			continue;
		sbt_put(out, k);
		sbt_put(out, sbt_kind(k)->nfields);
		for (const struct sbt_field *f = sbt_kind(k)->fields; f->name; f++)
			buf_byte(out, f->type == SBT_T_STR ? 1 : f->type == SBT_T_BLOB ? 2 : 0);
	}
}

/* Appends the payload, and forgets everything. */
static void plain_finish(struct plain *p, struct buf *out)
{
	sbt_put(out, p->count);
	sbt_put(out, p->first);
	put_kinds(p, out);
	for (unsigned i = 0; i < SBT_COLUMNS; i++)
		sbt_put(out, p->col[i].len);
	for (unsigned i = 0; i < SBT_COLUMNS; i++) {
		buf_add(out, p->col[i].data, p->col[i].len);
		buf_free(&p->col[i]);
	}
	for (unsigned i = 0; i < p->nslots; i++)
		for (unsigned k = 0; k < 8; k++)
			buf_free(&p->slots[i].blob[k]);
	for (unsigned i = 0; i < p->nstrings; i++)
		buf_free(&p->strings[i]);
	memset(p, 0, sizeof *p);
}

/* A command like one before it: the same but for some words of its blobs. */
static void vary(struct sbt_cmd *c, uint64_t *seed, char *heap)
{
	uint64_t step;

	for (const struct sbt_field *f = sbt_kind(c->kind)->fields; f->name; f++) {
		struct sbt_blob *b;

		if (!sbt_type_is_blob(f->type)) {
			if (make_random(seed) % 6 == 0)
				sbt_set(c, f, make_value(seed));
			continue;
		}
		b = (struct sbt_blob *)(void *)((char *)c + f->offset);
		if (!b->len || make_random(seed) % 3 == 0)
			continue;
		memcpy(heap, b->p, b->len);
		step = make_random(seed) % 2 ? 30 : 12;
		for (uint64_t i = make_random(seed) % 4; i < b->len;
			i += 1 + make_random(seed) % step)
			heap[i] ^= (char)(1 + make_random(seed) % 3);
		b->p = heap;
		heap += b->len;
	}
}

static void same_bytes(const struct buf *got, const struct buf *want)
{
	size_t i = 0;

	while (i < got->len && i < want->len && got->data[i] == want->data[i])
		i++;
	if (i < got->len || i < want->len)
		fail_msg("%zu bytes in place of %zu differ from byte %zu on", got->len, want->len,
			i);
}

#define OLD 64
#define ROUND 300
#define HEAP (4 * 4096)

/* Whole words, as most arguments are. */
static void round_blobs(struct sbt_cmd *c)
{
	for (const struct sbt_field *f = sbt_kind(c->kind)->fields; f->name; f++)
		if (sbt_type_is_blob(f->type))
			((struct sbt_blob *)(void *)((char *)c + f->offset))->len &= ~UINT64_C(7);
}

/* One command of a round, like an old one or new. Its bytes are in heap. */
static struct sbt_cmd any_cmd(const struct sbt_cmd *old, unsigned kinds, uint64_t *seed, char *heap)
{
	struct sbt_cmd c = *old;

	if (c.kind && make_random(seed) % 4) {
		vary(&c, seed, heap);
	} else {
		make_cmd(&c, 0, 1 + (unsigned)(make_random(seed) % kinds), seed, heap);
		if (make_random(seed) % 2)
			round_blobs(&c);
	}
	if (c.kind == SBT_LAUNCH)
		c.u.launch.kernel %= 1000; /* a writer may take larger ones for each other */
	return c;
}

/* As free() does, for paths that end early. */
static void test_none_is_destroyed(void **unused)
{
	(void)unused;
	sbt_encoder_destroy(NULL);
	sbt_decoder_destroy(NULL);
}

static void test_commands(void **unused)
{
	struct plain *p = calloc(1, sizeof *p);
	struct sbt_encoder *e = sbt_encoder_create();
	char *heap = malloc((size_t)ROUND * HEAP);
	uint64_t seed = 4711, seq = 0;

	(void)unused;
	for (unsigned round = 0; round < 10; round++) {
		struct sbt_cmd old[OLD] = {{0}};
		struct buf got = BUF_INIT, want = BUF_INIT;
		size_t columns = 0;

		for (unsigned i = 0; i < ROUND; i++) {
			struct sbt_cmd *c = &old[make_random(&seed) % OLD];

			*c = any_cmd(c, round % 3 ? 12 : SBT_KIND_END - 1, &seed, heap + i * HEAP);
			c->seq = seq += make_random(&seed) % 8 ? 1 : 1 + make_random(&seed) % 300;
			ok(sbt_encoder_add(e, c));
			plain_add(p, c);
			assert_int_equal(sbt_encoder_count(e), p->count);
			assert_int_equal(sbt_encoder_first(e), p->first);
			assert_int_equal(sbt_encoder_last(e), seq);
		}
		for (unsigned i = 0; i < SBT_COLUMNS; i++)
			columns += p->col[i].len;
		assert_int_equal(sbt_encoder_size(e), columns);
		sbt_encoder_finish(e, &got);
		plain_finish(p, &want);
		same_bytes(&got, &want);
		assert_int_equal(sbt_encoder_count(e) + sbt_encoder_size(e), 0);
		buf_free(&got);
		buf_free(&want);
	}
	sbt_encoder_destroy(e);
	free(heap);
	free(p);
}

/* So many that they are close to each other in any table, and so many strings. */
static void test_many_slots_and_strings(void **unused)
{
	struct plain *p = calloc(1, sizeof *p);
	struct sbt_encoder *e = sbt_encoder_create();
	struct buf got = BUF_INIT, want = BUF_INIT;
	uint64_t seed = 3;
	char name[16];

	(void)unused;
	for (uint64_t seq = 1; seq <= 5 * SLOTS; seq++) {
		struct sbt_cmd c = {.seq = seq, .kind = seq % 5 ? SBT_LAUNCH : SBT_KERNEL_DEF};

		if (seq % 5) {
			c.u.launch.kernel = make_random(&seed) % (SLOTS - 1);
		} else {
			snprintf(name, sizeof name, "f%u",
				(unsigned)(make_random(&seed) % (SLOTS / 2)));
			c.u.kernel_def.kernel_name = (struct sbt_blob){name, strlen(name)};
		}
		ok(sbt_encoder_add(e, &c));
		plain_add(p, &c);
	}
	sbt_encoder_finish(e, &got);
	plain_finish(p, &want);
	same_bytes(&got, &want);
	buf_free(&got);
	buf_free(&want);
	sbt_encoder_destroy(e);
	free(p);
}

/* Numbers begin at 1 and rise; after a payload they begin anew, for the writer looks after the
 * rest. */
static void test_numbers_rise(void **unused)
{
	static const uint64_t bad[] = {0, 6, 7};
	struct sbt_encoder *e = sbt_encoder_create();
	struct buf b = BUF_INIT;
	struct sbt_cmd c = {.seq = 0, .kind = SBT_FILL};

	(void)unused;
	for (unsigned round = 0; round < 2; round++) {
		c.seq = 0;
		err_free(sbt_encoder_add(e, &c));
		assert_int_equal(sbt_encoder_count(e), 0);
		c.seq = 7;
		ok(sbt_encoder_add(e, &c));
		for (unsigned i = 0; i < 3; i++) {
			c.seq = bad[i];
			err_free(sbt_encoder_add(e, &c));
			assert_int_equal(sbt_encoder_count(e), 1);
		}
		sbt_encoder_finish(e, &b);
	}
	buf_free(&b);
	sbt_encoder_destroy(e);
}

/* --- files --- */

enum { MOST_COMMANDS = 16384, MOST_BYTES = 1 << 20, MOST_TIMES = 16384, TIMES = 65536 };

struct chunk {
	unsigned type;
	uint64_t first, last, count, n, hash;
};

struct chunks {
	struct chunk c[256];
	unsigned n;
};

/* What waits for its chunk. */
struct waiting {
	struct buf bytes;
	uint64_t first, n;
};

struct second {
	struct sbt_writer *w;
	struct chunks want;
	struct plain *commands;
	struct waiting modules, places, symbols, stacks;
	uint64_t frames, smallest, largest, last_stack, last_offset;
	struct sbt_frame outer[SBT_STACK_DEPTH_MAX];
	unsigned depth;
	uint64_t time[TIMES][3], ntimes;
};

static char path[64];

static void note(struct chunks *to, struct chunk c, const void *p, uint64_t n)
{
	assert_true(to->n < sizeof to->c / sizeof *to->c);
	c.n = n;
	c.hash = XXH64(p, n, 0);
	to->c[to->n++] = c;
}

static void cut(struct second *s, unsigned type, struct waiting *of, uint64_t first, uint64_t last)
{
	if (!of->n)
		return;
	note(&s->want, (struct chunk){type, first, last, .count = of->n}, of->bytes.data,
		of->bytes.len);
	of->first += of->n;
	of->n = 0;
	buf_free(&of->bytes);
}

static void cut_modules(struct second *s)
{
	cut(s, SBT_CHUNK_MODULES, &s->modules, s->modules.first,
		s->modules.first + s->modules.n - 1);
}

static void cut_places(struct second *s)
{
	cut(s, SBT_CHUNK_PLACES, &s->places, s->places.first, s->places.first + s->places.n - 1);
}

static void cut_symbols(struct second *s)
{
	cut(s, SBT_CHUNK_SYMBOLS, &s->symbols, 0, 0);
	s->last_offset = 0;
}

/* Behind what they refer to. */
static void cut_stacks(struct second *s)
{
	cut_places(s);
	cut_symbols(s);
	cut(s, SBT_CHUNK_STACKS, &s->stacks, s->smallest, s->largest);
	s->frames = s->last_stack = s->depth = 0;
	s->smallest = UINT64_MAX;
	s->largest = 0;
}

static void cut_commands(struct second *s)
{
	struct chunk c = {SBT_CHUNK_COMMANDS, s->commands->first, s->commands->seq,
		.count = s->commands->count};
	struct buf b = BUF_INIT;

	if (!c.count)
		return;
	cut_modules(s);
	cut_stacks(s);
	plain_finish(s->commands, &b);
	note(&s->want, c, b.data, b.len);
	buf_free(&b);
}

static int by_seq(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return x[0] < y[0] ? -1 : x[0] > y[0];
}

static void cut_times(struct second *s)
{
	qsort(s->time, s->ntimes, sizeof *s->time, by_seq);
	for (uint64_t i = 0; i < s->ntimes; i += MOST_TIMES) {
		const uint64_t n = s->ntimes - i < MOST_TIMES ? s->ntimes - i : MOST_TIMES;
		const uint64_t(*t)[3] = (const void *)s->time[i];
		struct buf col[3] = {BUF_INIT, BUF_INIT, BUF_INIT}, b = BUF_INIT;

		for (uint64_t k = 0; k < n; k++) {
			sbt_put(&col[0], k ? t[k][0] - t[k - 1][0] : 0);
			sbt_put_delta(&col[1], t[k][1], k ? t[k - 1][2] : 0);
			sbt_put_delta(&col[2], t[k][2], t[k][1]);
		}
		sbt_put(&b, n);
		sbt_put(&b, t[0][0]);
		for (unsigned k = 0; k < 3; k++)
			sbt_put(&b, col[k].len);
		for (unsigned k = 0; k < 3; k++) {
			buf_add(&b, col[k].data, col[k].len);
			buf_free(&col[k]);
		}
		note(&s->want, (struct chunk){SBT_CHUNK_TIMES, t[0][0], t[n - 1][0], .count = n},
			b.data, b.len);
		buf_free(&b);
	}
	s->ntimes = 0;
}

static void text(struct buf *b, const char *t)
{
	sbt_put(b, strlen(t));
	buf_add(b, t, strlen(t));
}

static void put_meta(struct second *s, const char *const *pairs, unsigned n)
{
	struct buf b = BUF_INIT;

	for (unsigned i = 0; i < 2 * n; i++)
		text(&b, pairs[i]);
	note(&s->want, (struct chunk){SBT_CHUNK_META, .count = n}, b.data, b.len);
	buf_free(&b);
}

static struct second *second_open(const struct sbt_meta *meta, const char *const *pairs, unsigned n)
{
	struct second *s = calloc(1, sizeof *s);

	snprintf(path, sizeof path, "test-sbt-second-%d.sbt", (int)getpid());
	s->commands = calloc(1, sizeof *s->commands);
	s->smallest = UINT64_MAX;
	ok(sbt_writer_open(&s->w, path, meta));
	put_meta(s, pairs, n);
	return s;
}

static void has_right_sums(const struct sbt_chunk_header *h, const void *stored)
{
	struct sbt_chunk_header without = *h;

	without.header_sum = 0;
	assert_int_equal(h->header_sum, (uint32_t)XXH64(&without, sizeof without, 0));
	assert_int_equal(h->hash, XXH64(stored, h->stored, 0));
}

/* What is in the file, all unpacked, without index and trailer. */
static struct chunks chunks_of_file(void)
{
	static struct chunks found;
	FILE *f = fopen(path, "rb");
	struct sbt_chunk_header h;

	found.n = 0;
	assert_int_equal(fseek(f, SBT_HEADER_SIZE, SEEK_SET), 0);
	while (fread(&h, sizeof h, 1, f) == 1) {
		uint8_t *stored = malloc(h.stored + 1), *raw = malloc(h.raw + 1);

		assert_int_equal(fread(stored, 1, h.stored, f), h.stored);
		has_right_sums(&h, stored);
		if (h.flags & SBT_CHUNK_ZSTD) {
			assert_true(h.stored < h.raw);
			assert_int_equal(ZSTD_decompress(raw, h.raw, stored, h.stored), h.raw);
		} else {
			assert_int_equal(h.stored, h.raw);
			memcpy(raw, stored, h.raw);
		}
		if (h.type != SBT_CHUNK_INDEX && h.type != SBT_CHUNK_TRAILER)
			note(&found, (struct chunk){h.type, h.first, h.last, .count = h.count}, raw,
				h.raw);
		free(stored);
		free(raw);
	}
	fclose(f);
	return found;
}

/* Closes both: the same chunks in the same order. */
static void second_close(struct second *s)
{
	struct chunks found;

	cut_modules(s);
	cut_stacks(s);
	cut_commands(s);
	cut_times(s);
	ok(sbt_writer_close(s->w));
	found = chunks_of_file();
	for (unsigned i = 0; i < found.n && i < s->want.n; i++)
		if (memcmp(&found.c[i], &s->want.c[i], sizeof *found.c))
			fail_msg(
				"chunk %u of %u: type %u, first %llu, last %llu, %llu of them, %llu bytes; "
				"not type %u, first %llu, last %llu, %llu of them, %llu bytes",
				i, found.n, found.c[i].type, (unsigned long long)found.c[i].first,
				(unsigned long long)found.c[i].last,
				(unsigned long long)found.c[i].count,
				(unsigned long long)found.c[i].n, s->want.c[i].type,
				(unsigned long long)s->want.c[i].first,
				(unsigned long long)s->want.c[i].last,
				(unsigned long long)s->want.c[i].count,
				(unsigned long long)s->want.c[i].n);
	assert_int_equal(found.n, s->want.n);
	unlink(path);
	free(s->commands);
	free(s);
}

/* --- the same call to both --- */

static void add_cmd(struct second *s, const struct sbt_cmd *c)
{
	size_t columns = 0;

	ok(sbt_writer_cmd(s->w, c));
	plain_add(s->commands, c);
	for (unsigned i = 0; i < SBT_COLUMNS; i++)
		columns += s->commands->col[i].len;
	if (s->commands->count >= MOST_COMMANDS || columns >= MOST_BYTES)
		cut_commands(s);
}

static void add_fill(struct second *s, uint64_t seq)
{
	add_cmd(s, &(struct sbt_cmd){.seq = seq, .kind = SBT_FILL, .u.fill.size = seq});
}

static void add_module(struct second *s, const char *name, const char *id)
{
	uint32_t index;

	ok(sbt_writer_module(s->w, name, id, &index));
	assert_int_equal(index, s->modules.first + s->modules.n);
	text(&s->modules.bytes, name);
	text(&s->modules.bytes, id);
	s->modules.n++;
	if (s->modules.bytes.len >= MOST_BYTES)
		cut_modules(s);
}

static void add_place(struct second *s, const struct sbt_place *p)
{
	uint32_t index;

	ok(sbt_writer_place(s->w, p, &index));
	assert_int_equal(index, s->places.first + s->places.n);
	text(&s->places.bytes, p->file);
	text(&s->places.bytes, p->function);
	sbt_put(&s->places.bytes, p->first_line);
	sbt_put_delta(&s->places.bytes, p->line, p->first_line);
	s->places.n++;
	if (s->places.bytes.len >= MOST_BYTES)
		cut_places(s);
}

static void add_symbols(
	struct second *s, struct sbt_frame f, const struct sbt_symbol *v, unsigned n)
{
	struct buf *b = &s->symbols.bytes;

	ok(sbt_writer_symbol(s->w, &f, v, n));
	sbt_put(b, f.module);
	sbt_put_delta(b, f.offset, s->last_offset);
	sbt_put(b, n);
	for (unsigned i = 0; i < n; i++) {
		text(b, v[i].function ? v[i].function : "");
		text(b, v[i].file ? v[i].file : "");
		text(b, v[i].folder ? v[i].folder : "");
		sbt_put(b, v[i].line);
		sbt_put(b, v[i].start);
	}
	s->last_offset = f.offset;
	s->symbols.n++;
	if (b->len >= MOST_BYTES)
		cut_symbols(s);
}

/* Frames as they are given, from the inside out; written from the outside in. */
static void add_stack(struct second *s, uint32_t id, const struct sbt_frame *f, unsigned n)
{
	struct buf *b = &s->stacks.bytes;
	struct sbt_frame before = {0, 0};
	unsigned same = 0;

	ok(sbt_writer_stack(s->w, id, f, n));
	n = n < SBT_STACK_DEPTH_MAX ? n : SBT_STACK_DEPTH_MAX;
	while (same < n && same < s->depth && f[n - 1 - same].module == s->outer[same].module &&
		f[n - 1 - same].offset == s->outer[same].offset)
		before = s->outer[same++];
	sbt_put_delta(b, id, s->last_stack);
	sbt_put(b, n);
	sbt_put(b, same);
	for (unsigned i = 0; i < n; i++) {
		s->outer[i] = f[n - 1 - i];
		if (i < same)
			continue;
		sbt_put_delta(b, s->outer[i].module, before.module);
		sbt_put_delta(b, s->outer[i].offset, before.offset);
		before = s->outer[i];
	}
	s->depth = n;
	s->last_stack = id;
	s->smallest = id < s->smallest ? id : s->smallest;
	s->largest = id > s->largest ? id : s->largest;
	s->stacks.n++;
	s->frames += n;
	if (b->len >= MOST_BYTES || s->frames > SBT_CHUNK_FRAMES_MAX - SBT_STACK_DEPTH_MAX) {
		cut_modules(s);
		cut_stacks(s);
	}
}

static void add_time(struct second *s, uint64_t seq, uint64_t start, uint64_t end)
{
	const uint64_t t[3] = {seq, start, end};

	ok(sbt_writer_time(s->w, seq, start, end));
	memcpy(s->time[s->ntimes++], t, sizeof t);
	if (s->ntimes == TIMES)
		cut_times(s);
}

/* --- what is written --- */

#define PAIRS(...) (const char *const[]){__VA_ARGS__}, sizeof((const char *[]){__VA_ARGS__}) / 16

static struct second *begin(void)
{
	static const struct sbt_meta meta = {
		.program = "./app", .cwd = "/", .host = "h", .gpu = "g", .tsdb = "0"};

	return second_open(
		&meta, PAIRS("program", "./app", "cwd", "/", "host", "h", "gpu", "g", "tsdb", "0",
			       "start_ns", "0", "pid", "0", "driver_version", "0", "soft", "0",
			       "stacks", "0", "timestamps", "0"));
}

static void test_meta(void **unused)
{
	static const struct sbt_meta all = {.program = "./app",
					     .cwd = "/",
					     .host = "h",
					     .gpu = "g",
					     .vendor = "AMD",
					     .target = "gfx90a",
					     .tsdb = "0",
					     .start_ns = UINT64_MAX,
					     .pid = 7,
					     .driver_version = 13000,
					     .soft = true,
					     .stacks = true,
					     .timestamps = true,
					     .rank = 1,
					     .ranks = 9,
					     .observed = true},
				     none = {.vendor = "", .target = ""};
	struct second *s = second_open(&all,
		PAIRS("program", "./app", "cwd", "/", "host", "h", "gpu", "g", "vendor", "AMD",
			"target", "gfx90a", "tsdb", "0", "start_ns", "18446744073709551615", "pid",
			"7", "driver_version", "13000", "soft", "1", "stacks", "1", "timestamps",
			"1", "rank", "0", "ranks", "8", "observed", "1"));

	(void)unused;
	second_close(s);
	s = second_open(&none, PAIRS("program", "", "cwd", "", "host", "", "gpu", "", "tsdb", "",
				       "start_ns", "0", "pid", "0", "driver_version", "0", "soft",
				       "0", "stacks", "0", "timestamps", "0"));
	second_close(s);
}

/* Stacks that share some of their outer frames, ids up and down, deeper ones than are kept. */
static void test_names_and_stacks(void **unused)
{
	static struct sbt_frame f[SBT_STACK_DEPTH_MAX + 9];
	const struct sbt_symbol v[] = {{.function = "in", .file = "a.h", .line = 9},
		{.function = "f", .file = "a.c", .folder = "/b", .line = 3, .start = 17}, {0}};
	struct second *s = begin();
	uint64_t seed = 99;

	(void)unused;
	add_module(s, "/bin/app", "abcd");
	add_module(s, "[python]", "");
	for (unsigned i = 0; i < 40; i++) {
		const unsigned n = i % 13 ? 1 + (unsigned)(make_random(&seed) % 20)
					  : SBT_STACK_DEPTH_MAX - 1 + i / 13;

		for (unsigned k = 0; k < n && make_random(&seed) % 4; k++)
			f[k] = (struct sbt_frame){(uint32_t)(make_random(&seed) % 2),
				make_random(&seed) % 50 ? make_random(&seed) % 4000 : UINT64_MAX};
		add_stack(s, 1 + (uint32_t)(make_random(&seed) % 1000), f, i == 30 ? 0 : n);
		if (i % 7 == 0)
			add_place(s, &(struct sbt_place){"a.py", "f", 10 * i, i % 2 ? 3 : 20 * i});
		if (i % 5 == 0)
			add_symbols(s, f[0], v, 1 + i / 5 % 3);
		if (i == 20)
			add_fill(s, 7); /* not due: it goes into the file when all does */
	}
	second_close(s);
}

/* A chunk is cut when it holds as many bytes as it may, or more. */
static void test_bytes_in_a_chunk(void **unused)
{
	char *name = calloc(1, MOST_BYTES), id[8];
	struct second *s = begin();
	const struct sbt_symbol v = {.function = name};
	const struct sbt_place place = {.file = name, .function = ""};

	(void)unused;
	memset(name, 'x',
		MOST_BYTES - 5); /* with 3 bytes of length, and 1 of none: 1 short of it */
	add_module(s, name, "");
	add_module(s, "", "");
	memset(name + MOST_BYTES - 5, 'y', 1);
	add_module(s, name, "");
	add_module(s, "a", "b");
	name[1000] = 0;
	for (unsigned i = 0; i < 1100; i++) {
		snprintf(id, sizeof id, "%u", i);
		add_module(s, name, id);
		add_place(s, &place);
		add_symbols(s, (struct sbt_frame){1, 77 * i}, &v, 1);
	}
	second_close(s);
	free(name);
}

/* Another module that waits goes before the stacks, and so do places and symbols. */
static void test_frames_in_a_chunk(void **unused)
{
	static struct sbt_frame f[SBT_STACK_DEPTH_MAX];
	struct second *s = begin();
	uint64_t seed = 5;

	(void)unused;
	for (unsigned i = 0; i < SBT_STACK_DEPTH_MAX; i++)
		f[i] = (struct sbt_frame){0, i};
	for (uint32_t i = 1; i < 1100; i++) {
		if (i % 100 == 1)
			add_module(s, "m", "");
		add_stack(s, i, f, SBT_STACK_DEPTH_MAX);
	}
	for (uint32_t i = 1; i < 1200; i++) { /* nothing is shared: bytes end the chunk */
		for (unsigned k = 0; k < 300; k++)
			f[k].offset = make_random(&seed) >> 40;
		add_stack(s, 5000 - i, f, 300);
	}
	second_close(s);
}

static void test_commands_in_a_chunk(void **unused)
{
	static char args[1 << 16];
	struct second *s = begin();
	uint64_t seed = 5, seq = 1;

	(void)unused;
	while (seq < 2 * MOST_COMMANDS + 10) {
		if (seq % 5000 == 0)
			add_module(s, "m", "");
		if (seq % 5000 == 1)
			add_stack(s, (uint32_t)seq, &(struct sbt_frame){0, seq}, 1);
		add_fill(s, seq++);
	}
	for (unsigned i = 0; i < 40; i++) {
		struct sbt_cmd c = {.seq = seq++, .kind = SBT_LAUNCH};

		for (size_t k = 0; k < sizeof args; k++)
			args[k] = (char)make_random(&seed);
		c.u.launch.args = (struct sbt_blob){args, sizeof args - i};
		add_cmd(s, &c);
	}
	second_close(s);
}

static void test_times(void **unused)
{
	struct second *s = begin();
	uint64_t seed = 5;

	(void)unused;
	for (uint64_t i = 0; i < TIMES + MOST_TIMES + 2; i++) {
		const uint64_t start = 1000 * i + make_random(&seed) % 5000;

		/* every number once, not in order: 7919 is prime */
		add_time(s, 1 + i * 7919 % (TIMES * 2), start, start + make_random(&seed) % 900);
	}
	second_close(s);
}

/* Losses are told as what is new; a call that could not be recorded with all of its numbers. */
static void test_losses_and_calls(void **unused)
{
	struct second *s = begin();
	struct buf b = BUF_INIT;

	(void)unused;
	ok(sbt_writer_lost(s->w, 5, 0));
	ok(sbt_writer_unreplayable(s->w, "cuFoo", 0));
	ok(sbt_writer_flush(s->w));
	for (unsigned round = 0; round < 2; round++) {
		ok(sbt_writer_unreplayable(s->w, "cuFoo", 2));
		ok(sbt_writer_unreplayable(s->w, "cuBar", 3 + round));
		ok(sbt_writer_lost(s->w, 7, 3));
		ok(sbt_writer_lost(s->w, 9, 4 + 3 * round));
		ok(sbt_writer_lost(s->w, 10, 4));
		ok(sbt_writer_flush(s->w));
		ok(sbt_writer_flush(s->w)); /* nothing is new */
		text(&b, "cuFoo");
		sbt_put(&b, 2);
		text(&b, "cuBar");
		sbt_put(&b, 3 + round);
		note(&s->want, (struct chunk){SBT_CHUNK_UNREPLAYABLE, .count = 2}, b.data, b.len);
		buf_clear(&b);
		for (unsigned i = round; i < 2; i++) {
			sbt_put(&b, i ? 9 : 7);
			sbt_put(&b, i == 0 || round ? 3 : 1);
		}
		note(&s->want, (struct chunk){SBT_CHUNK_LOST, .count = 2 - round}, b.data, b.len);
		buf_clear(&b);
	}
	second_close(s);
	buf_free(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_none_is_destroyed),
		cmocka_unit_test(test_commands),
		cmocka_unit_test(test_many_slots_and_strings),
		cmocka_unit_test(test_numbers_rise),
		cmocka_unit_test(test_meta),
		cmocka_unit_test(test_names_and_stacks),
		cmocka_unit_test(test_bytes_in_a_chunk),
		cmocka_unit_test(test_frames_in_a_chunk),
		cmocka_unit_test(test_commands_in_a_chunk),
		cmocka_unit_test(test_times),
		cmocka_unit_test(test_losses_and_calls),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
