/* SPDX-License-Identifier: Apache-2.0
 *
 * A trace for tests in other languages, and what our reader says about it.
 *   sbt-gen write FILE SEED COUNT    random commands, stacks, times, modules, one keyframe
 *   sbt-gen hostile FROM TO          TO is FROM (state and stacks, no memory) with a text that
 * attacks terminals in every field that holds text sbt-gen dump FILE                the commands as
 * JSON lines, then what else is in it
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sbt-dump.h"
#include "sbt-make.h"
#include "sbt/fields.h"

static void ok(struct err *e)
{
	if (!e)
		return;
	fprintf(stderr, "sbt-gen: %s\n", e->what);
	exit(1);
}

static void add_stack(struct sbt_writer *w, uint32_t id, uint64_t *seed)
{
	struct sbt_frame frames[8];
	unsigned n = (unsigned)(make_random(seed) % 8);

	for (unsigned i = 0; i < n; i++) /* the outer frames are often the same */
		frames[i] = (struct sbt_frame){(uint32_t)(i % 3),
			make_random(seed) % 3 ? 0x1000 * (uint64_t)(n - i) : make_random(seed)};
	ok(sbt_writer_stack(w, id, frames, n));
}

/* Pieces of all sizes, some with pages that were there before, some that begin in one flush and end
 * in another, two that are cut. */
static void add_memory(struct sbt_writer *w, uint64_t *seed)
{
	static const uint64_t sizes[] = {0, 1, 4096, 4097, 65536, 65537, 150000, 200000};
	uint8_t *p = calloc(4, SBT_PAGE);
	uint32_t id;

	for (unsigned i = 0; i < 24; i++) {
		struct sbt_memory m = {.seq = 1 + make_random(seed) % 9,
			.role = 1 + i % 6,
			.owner = i % 3,
			.addr = 0x10000 * i,
			.size = sizes[i % 8],
			.module = i % 3 == 1 ? i : SBT_NO_ID,
			.has_bytes = i % 5 != 4};
		uint64_t n = i == 6 ? 70000 : i == 23 ? 3 : m.size; /* that come */

		if (i % 3 == 1)
			m.name = (struct sbt_blob){"counter", 7};
		m.hash.half[0] = i;
		if (i == 12)
			for (unsigned k = 0; k < SBT_PAGE; k++)
				p[SBT_PAGE + k] =
					(uint8_t)make_random(seed); /* does not compress */
		memset(p + i * 5000, (int)i, 300);
		ok(sbt_writer_memory(w, &m, &id));
		if (id == SBT_NO_ID)
			continue;
		ok(sbt_writer_memory_bytes(w, id, p, n / 2));
		if (i % 7 == 0)
			ok(sbt_writer_flush(w));
		ok(sbt_writer_memory_bytes(w, id, p + n / 2, n - n / 2));
		if (n < m.size)
			ok(sbt_writer_memory_cut(w, id));
		if (i == 12)
			ok(sbt_writer_window(w, 3, 9));
	}
	ok(sbt_writer_window(w, 1, 2));
	free(p);
}

/* Pages that are coded as planes and as words, whole and with ends. */
static void add_coded(struct sbt_writer *w, uint64_t *seed)
{
	static const uint64_t sizes[] = {65536, 65536 + 5003};
	uint8_t *p = malloc(2 * SBT_PAGE);
	uint32_t id;

	for (unsigned i = 0; i < 6; i++) {
		struct sbt_memory m = {.seq = 10 + i,
			.role = SBT_MEMORY_START,
			.addr = 0x7000000 + 0x100000 * i,
			.size = sizes[i % 2],
			.module = SBT_NO_ID,
			.has_bytes = true};

		for (unsigned k = 0; k < 2 * SBT_PAGE; k++) {
			p[k] = (uint8_t)make_random(seed);
			if (i / 2 == 0 ? k % 4 < 2 : i / 2 == 1 ? k % 8 > 2 : k / 4 % 3)
				p[k] = i / 2 == 2 ? 0 : (uint8_t)(k % 8);
		}
		ok(sbt_writer_memory(w, &m, &id));
		ok(sbt_writer_memory_bytes(w, id, p, m.size));
	}
	free(p);
}

static void write_trace(const char *path, uint64_t seed, uint64_t count)
{
	struct sbt_meta meta = {.program = "./app 'a b'",
		.cwd = "/home",
		.host = "h 6.1",
		.gpu = "Soft",
		.tsdb = "0.1",
		.start_ns = 12345678901234567,
		.pid = 42,
		.driver_version = 13000,
		.soft = true,
		.stacks = true};
	char *heap = malloc(4 * 4096);
	uint64_t seq = 0, hash;
	struct sbt_writer *w;
	struct sbt_cmd c;
	uint32_t module;

	ok(sbt_writer_open(&w, path, &meta));
	ok(sbt_writer_module(w, "/bin/app", "abcd", &module));
	ok(sbt_writer_code(w, ".version 9.0", 12, CODE_PTX, &hash));
	ok(sbt_writer_place(
		w, &(struct sbt_place){"/app/train.py", "Net.forward", 40, 44}, &module));
	for (uint32_t id = 1; id < 50; id++)
		add_stack(w, id, &seed);
	ok(sbt_writer_symbol(w, &(struct sbt_frame){0, 0x1234},
		(struct sbt_symbol[]){{"inner(int)", "/src/a.cc", NULL, 7, 0},
			{"größe", "b.cc", "/src", 4000000, 0x99}},
		2));
	ok(sbt_writer_symbol(w, &(struct sbt_frame){1, 0x1000},
		&(struct sbt_symbol){"main", NULL, NULL, 0, 1}, 1));
	ok(sbt_writer_source(w, "/src/a.cc", "int inner(int)\n{\n\treturn 1;\n}\n", 30));
	ok(sbt_writer_source(w, "/app/train.py", "print()\n", 8));
	for (uint64_t i = 1; i <= count; i++) {
		seq += make_random(&seed) % 16 ? 1 : 1 + make_random(&seed) % 100;
		make_cmd(&c, seq, 1 + (unsigned)(make_random(&seed) % (SBT_KIND_END - 1)), &seed,
			heap);
		ok(sbt_writer_cmd(w, &c));
		if (make_random(&seed) % 3)
			ok(sbt_writer_time(w, seq, c.host_ns + 700,
				c.host_ns + 700 + make_random(&seed) % 5000));
		if (make_random(&seed) % 400 == 0)
			ok(sbt_writer_flush(w));
		if (i == count / 2) {
			ok(sbt_writer_module(w, "/lib/libx.so", "", &module));
			ok(sbt_writer_place(w,
				&(struct sbt_place){"<string>", "<lambda>", 1000000, 1}, &module));
			ok(sbt_writer_place(w, &(struct sbt_place){"", "größe", 7, 0}, &module));
			ok(sbt_writer_keyframe(w, seq, "a state", 8));
			ok(sbt_writer_unreplayable(w, "cuFoo", 2));
			ok(sbt_writer_lost(w, seq, 3));
		}
	}
	add_memory(w, &seed);
	add_coded(w, &seed);
	ok(sbt_writer_close(w));
	free(heap);
}

/* A colour, a forged line, a C1 control sequence, a title, a mark that turns the direction, a byte
 * that is no UTF-8. */
#define ATTACK                                                                                     \
	"\033[31mESC\nFORGED\n\xc2\x9b"                                                            \
	"31mC1\033]0;TITLE\007\xe2\x80\xae"                                                        \
	"BIDI\r\xff\x9b\"\\"

static void attack_cmd(struct sbt_cmd *c, struct buf *keep)
{
	const struct sbt_kind_desc *d = sbt_kind(c->kind);

	for (const struct sbt_field *f = d->fields; f->name; f++)
		if (f->type == SBT_T_STR) {
			struct sbt_blob *b = (struct sbt_blob *)(uintptr_t)sbt_get_blob(c, f);

			buf_clear(keep);
			buf_add(keep, b->p, b->len);
			buf_str(keep, ATTACK);
			*b = (struct sbt_blob){keep->data, keep->len};
		}
}

static void attack_commands(struct sbt_reader *r, struct sbt_writer *w)
{
	struct buf keep = BUF_INIT;
	const struct sbt_cmd *c;
	struct sbt_cursor *cur;
	uint32_t done = 0;

	ok(sbt_cursor_open(&cur, r));
	for (;;) {
		const struct sbt_frame *f;
		struct sbt_cmd mine;
		unsigned n;

		ok(sbt_cursor_next(cur, &c));
		if (!c)
			break;
		mine = *c;
		if (mine.stack > done) {
			done = mine.stack;
			ok(sbt_reader_stack(r, done, &f, &n));
			if (n)
				ok(sbt_writer_stack(w, done, f, n));
		}
		attack_cmd(&mine, &keep);
		ok(sbt_writer_cmd(w, &mine));
	}
	sbt_cursor_close(cur);
	buf_free(&keep);
}

static void attack_trace(const char *from, const char *to)
{
	const struct sbt_meta *was;
	struct sbt_meta m;
	struct sbt_reader *r;
	struct sbt_writer *w;
	uint32_t index;

	ok(sbt_reader_open(&r, from));
	was = sbt_reader_meta(r);
	m = *was;
	m.program = m.cwd = m.host = m.gpu = m.tsdb = ATTACK;
	ok(sbt_writer_open(&w, to, &m));
	for (uint32_t i = 0; sbt_reader_module(r, i); i++)
		ok(sbt_writer_module(w, "/bin/" ATTACK, i % 2 ? "" : ATTACK, &index));
	ok(sbt_writer_module(w, SBT_MODULE_PYTHON, "", &index));
	ok(sbt_writer_place(w, &(struct sbt_place){ATTACK ".py", ATTACK, 40, 44}, &index));
	attack_commands(r, w);
	ok(sbt_writer_unreplayable(w, ATTACK, 2));
	ok(sbt_writer_close(w));
	sbt_reader_close(r);
}

static void dump_trace(const char *path)
{
	struct buf out = BUF_INIT;
	struct sbt_reader *r;

	ok(sbt_reader_open(&r, path));
	dump_cmds(&out, r, true);
	dump_rest(&out, r, 0);
	if (sbt_reader_damage(r))
		fprintf(stderr, "%s\n", sbt_reader_damage(r));
	sbt_reader_close(r);
	fwrite(out.data, 1, out.len, stdout);
	buf_free(&out);
}

int main(int argc, char **argv)
{
	if (argc == 4 && !strcmp(argv[1], "hostile"))
		attack_trace(argv[2], argv[3]);
	else if (argc == 5 && strcmp(argv[1], "write") == 0)
		write_trace(argv[2], strtoull(argv[3], NULL, 10), strtoull(argv[4], NULL, 10));
	else if (argc == 3 && strcmp(argv[1], "dump") == 0)
		dump_trace(argv[2]);
	else
		return 2;
	return 0;
}
