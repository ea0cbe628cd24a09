/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory as bytes: find, dump, restore. In pieces, so that a range may be larger than tsdb's
 * memory.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/words.h"
#include "shell/print/listing.h"
#include "shell/line/interrupt.h"
#include "shell/values/format-text.h"
#include "shell/values/memory-view.h"
#include "shell/values/value.h"
#include "shell/values/vars.h"

enum { PIECE = 1 << 20, PATTERN_MAX = 1 << 16 };

static struct err *interrupted(void)
{
	return interrupt_flag ? err_new(ERR_INTERRUPTED, "interrupted") : NULL;
}

/* "END" or "+LENGTH", an expression each; *ret_end: behind the last byte. inclusive: END is the
 * last. */
static struct err *range_end(
	struct session *s, const char *text, uint64_t start, bool inclusive, uint64_t *ret_end)
{
	const bool length = *text == '+';

	TRY(value_address(s, text + length, ret_end, NULL));
	if (length && *ret_end > UINT64_MAX - start)
		return err_new(ERR_USAGE, "the range goes beyond all memory");
	*ret_end += length ? start : inclusive && *ret_end != UINT64_MAX;
	return *ret_end > start ? NULL
				: err_cure(err_new(ERR_USAGE, "the range is empty"),
					  "Its end lies behind its start; +N is a length");
}

/* --- find --- */

const char cmd_find_help[] =
	"Looks for values in memory, and shows the address of each place. The range ends with the\n"
	"byte at END, or has LENGTH bytes. Values are as large as their types, or as SIZE says\n"
	"(b h w g: 1, 2, 4, 8 bytes); of a text its characters count. At most COUNT are shown.\n"
	"$_ is the last address, $numfound how many there were.\n"
	"Examples: find arg0, +4096, 1.5f\n"
	"          find/1w arg0, +64, 7, 8\n";

struct search {
	uint64_t start, end, most;
	char unit; /* 0: by type */
	struct buf pattern;
};

/* Appends a value's bytes to what is looked for. */
static struct err *add_value(struct session *s, struct search *f, const char *text)
{
	static const char units[] = "bhwg";
	struct lang_value v;
	const struct lang_type *t;
	size_t n;
	struct err *e;

	TRY(value_eval(s, text, &v));
	t = lang_strip(v.type);
	e = t ? value_fetch(s, &v) : err_new(ERR_USAGE, "\"%s\" has no value", text);
	if (!e && t->kind == LANG_ARRAY && *text == '"') {
		buf_add(&f->pattern, v.bytes, strnlen((char *)v.bytes, (size_t)t->size));
	} else if (!e && f->unit && t->kind != LANG_ARRAY && t->kind != LANG_STRUCT &&
		   t->kind != LANG_FLOAT) {
		int64_t i;

		e = value_int(s, &v, &i);
		n = (size_t)1 << (strchr(units, f->unit) - units);
		if (!e)
			buf_add(&f->pattern, &i, n);
	} else if (!e) {
		n = (size_t)t->size;
		if (n > PATTERN_MAX)
			e = err_new(ERR_LIMIT, "\"%s\" is too large to look for", text);
		else
			buf_add(&f->pattern, v.bytes, n);
	}
	lang_value_free(&v);
	if (!e && f->pattern.len > PATTERN_MAX)
		e = err_new(ERR_LIMIT, "at most %u bytes are looked for", PATTERN_MAX);
	return e;
}

static struct err *search_format(struct search *f, const char *fmt)
{
	const size_t digits = strspn(fmt, "0123456789");
	const char *p = fmt;

	f->most = UINT64_MAX;
	for (; *p; p++) {
		if (*p >= '0' && *p <= '9') {
			char *end;

			f->most = strtoull(p, &end, 10);
			p = end - 1;
		} else if (strchr("bhwg", *p)) {
			f->unit = *p;
		} else {
			return err_cure(err_new(ERR_USAGE, "find/%s is no format", fmt),
				"It is one of b h w g, and a count: find/1w arg0, +64, 7");
		}
	}
	return f->most || !digits ? NULL : err_new(ERR_USAGE, "a count of 0 finds nothing");
}

/* Takes "START, END, VALUE..." apart. */
static struct err *search_words(struct session *s, struct search *f, const char *text)
{
	unsigned i = 0;
	struct err *e = NULL;

	for (; !e && *text; i++) {
		const size_t n = format_expression_length(text);
		char *one = xasprintf("%.*s", (int)n, text);

		e = !*one    ? err_new(ERR_USAGE, "an expression is empty")
		    : i == 0 ? value_address(s, one, &f->start, NULL)
		    : i == 1 ? range_end(s, one, f->start, true, &f->end)
			     : add_value(s, f, one);
		free(one);
		text += n + (text[n] == ',');
		text += strspn(text, " \t");
	}
	if (!e && i < 3)
		e = err_cure(err_new(ERR_USAGE, "find needs a range and a value"),
			"For example: find arg0, +4096, 1.5f");
	if (!e && !f->pattern.len)
		e = err_new(ERR_USAGE, "there is nothing to look for");
	return e;
}

struct place {
	uint64_t addr;
};
JS_DEFINE(place_object, "place", place, JS(HEX, place, addr));

static void place_text(struct buf *out, const void *row)
{
	buf_printf(out, "0x%" PRIx64 "\n", ((const struct place *)row)->addr);
}

/* Adds the places in one piece of memory at addr. */
static void add_found(struct session *s, struct listing *l, const struct search *f, uint64_t addr,
	const uint8_t *bytes, size_t n, uint64_t *found)
{
	const uint8_t *at = bytes;

	while (*found < f->most && (at = memmem(at, n - (size_t)(at - bytes), f->pattern.data,
					    f->pattern.len)) != NULL) {
		const uint64_t here = addr + (uint64_t)(at - bytes);

		listing_add(l, &(struct place){here});
		vars_set(s->vars, "_", (int64_t)here);
		++*found;
		at++;
	}
}

static struct err *search(
	struct session *s, struct listing *l, const struct search *f, uint64_t *found)
{
	uint8_t *piece = xmalloc(PIECE + PATTERN_MAX);
	struct err *e = NULL;

	for (uint64_t at = f->start; !e && at < f->end && f->end - at >= f->pattern.len &&
				     *found < f->most && !out_closed(s->out);
		at += PIECE) {
		uint64_t n = PIECE + f->pattern.len - 1;

		n = n < f->end - at ? n : f->end - at;
		e = interrupted();
		if (!e)
			e = memory_read(s, at, piece, (size_t)n);
		if (!e)
			add_found(s, l, f, at, piece, (size_t)n, found);
		if (f->end - at <= PIECE)
			break;
	}
	free(piece);
	return e;
}

struct err *cmd_find(struct session *s, const struct cmd_args *a)
{
	struct listing l = listing_begin(s, a->json, &place_object, NULL, place_text);
	struct search f = {0};
	uint64_t found = 0;
	struct err *e = search_format(&f, a->fmt);

	if (!e)
		e = search_words(s, &f, a->rest);
	if (!e)
		e = search(s, &l, &f, &found);
	buf_free(&f.pattern);
	if (e) {
		buf_free(&l.b);
		return e;
	}
	vars_set(s->vars, "numfound", (int64_t)found);
	listing_end(&l, "Pattern not found.\n");
	if (found && !a->json)
		out_printf(s->out, "%" PRIu64 " pattern%s found.\n", found, found == 1 ? "" : "s");
	return NULL;
}

/* --- dump --- */

const char cmd_dump_help[] =
	"Writes memory from START up to, without, END (or +LENGTH), or a value's bytes, into a\n"
	"file. `binary`, the only form there is, may be left out.\n"
	"Examples: dump memory weights.bin arg0 +4096\n"
	"          dump value lr.bin arg3\n";

static struct err *write_memory(struct session *s, FILE *f, uint64_t start, uint64_t end)
{
	uint8_t *piece = xmalloc(PIECE);
	struct err *e = NULL;

	while (!e && start < end) {
		const size_t n = end - start < PIECE ? (size_t)(end - start) : PIECE;

		e = interrupted();
		if (!e)
			e = memory_read(s, start, piece, n);
		if (!e && fwrite(piece, 1, n, f) != n)
			e = err_sys(errno, "cannot write the file");
		start += n;
	}
	free(piece);
	return e;
}

static struct err *write_value(struct session *s, FILE *f, const char *text)
{
	struct lang_value v;
	struct err *e;

	TRY(value_eval(s, text, &v));
	e = v.type ? value_fetch(s, &v) : err_new(ERR_USAGE, "\"%s\" has no value", text);
	if (!e && fwrite(v.bytes, 1, (size_t)v.type->size, f) != v.type->size)
		e = err_sys(errno, "cannot write the file");
	lang_value_free(&v);
	return e;
}

/* Writes what the words behind the file's name say; a file that is not whole is removed. */
static struct err *dump_to(
	struct session *s, const char *file, bool memory, unsigned argc, char *const *argv)
{
	uint64_t start = 0, end = 0;
	char *rest = words_join(argv, argc);
	FILE *f = NULL;
	struct err *e = NULL;

	if (memory && argc == 2) {
		e = value_address(s, argv[0], &start, NULL);
		if (!e)
			e = range_end(s, argv[1], start, false, &end);
	}
	if (!e) {
		f = fopen(file, "we");
		e = f ? NULL : err_sys(errno, "cannot write %s", file);
	}
	if (!e)
		e = memory ? write_memory(s, f, start, end) : write_value(s, f, rest);
	if (f && fclose(f) && !e)
		e = err_sys(errno, "cannot write %s", file);
	if (f && e)
		unlink(file);
	free(rest);
	return e;
}

struct err *cmd_dump(struct session *s, const struct cmd_args *a)
{
	const unsigned skip = a->argc && !strcmp(a->argv[0], "binary");
	const char *what = a->argc > skip ? a->argv[skip] : "";
	const bool memory = !strcmp(what, "memory");

	if (!memory && strcmp(what, "value") != 0)
		return err_cure(err_new(ERR_USAGE, "dump needs \"memory\" or \"value\""),
			"For example: dump memory weights.bin arg0 +4096");
	if (memory ? a->argc != skip + 4 : a->argc < skip + 3)
		return err_cure(err_new(ERR_USAGE, "dump %s needs a file and %s", what,
					memory ? "a start and an end" : "an expression"),
			memory ? "For example: dump memory weights.bin arg0 +4096"
			       : "For example: dump value lr.bin arg3");
	return dump_to(s, a->argv[skip + 1], memory, a->argc - skip - 2, a->argv + skip + 2);
}

/* --- restore --- */

const char cmd_restore_help[] =
	"Writes a file's bytes, or those from START up to END in it, to memory at ADDRESS plus\n"
	"START: host memory of the stopped program, or in a replay on a device, to see what would\n"
	"have been (until `replay restart`).\n"
	"Example: restore weights.bin binary arg0\n";

static struct err *read_file_to(
	struct session *s, FILE *f, uint64_t start, uint64_t end, uint64_t addr)
{
	uint8_t *piece = xmalloc(PIECE);
	struct err *e =
		fseeko(f, (off_t)start, SEEK_SET) ? err_sys(errno, "cannot read the file") : NULL;

	for (uint64_t at = start; !e && at < end; at += PIECE) {
		const size_t n = end - at < PIECE ? (size_t)(end - at) : PIECE;

		e = interrupted();
		if (!e && fread(piece, 1, n, f) != n)
			e = err_sys(ferror(f) ? errno : EIO, "cannot read the file");
		if (!e)
			e = memory_write(s, addr + at, piece, n);
	}
	free(piece);
	return e;
}

static struct err *restore_from(
	struct session *s, FILE *f, const char *file, const struct cmd_args *a)
{
	uint64_t addr, start = 0, end;
	struct stat st;

	if (fstat(fileno(f), &st) || !S_ISREG(st.st_mode))
		return err_new(ERR_USAGE, "%s is no file with bytes", file);
	end = (uint64_t)st.st_size;
	TRY(value_address(s, a->argv[2], &addr, NULL));
	if (a->argc > 3 && (!word_size(a->argv[3], &start) || start >= end))
		return err_new(ERR_USAGE, "\"%s\" is no place in %s, which has %" PRIu64 " bytes",
			a->argv[3], file, end);
	if (a->argc > 4 &&
		(!word_size(a->argv[4], &end) || end <= start || end > (uint64_t)st.st_size))
		return err_new(ERR_USAGE, "\"%s\" is no end in %s, which has %" PRIu64 " bytes",
			a->argv[4], file, (uint64_t)st.st_size);
	if (start >= end || end > UINT64_MAX - addr)
		return err_new(ERR_USAGE, "there are no bytes to write");
	out_printf(s->out,
		"Restoring binary file %s into memory (0x%" PRIx64 " to 0x%" PRIx64 ")\n", file,
		addr + start, addr + end);
	return read_file_to(s, f, start, end, addr);
}

struct err *cmd_restore(struct session *s, const struct cmd_args *a)
{
	FILE *f;
	struct err *e;

	if (a->argc < 3 || a->argc > 5 || strcmp(a->argv[1], "binary") != 0)
		return err_cure(
			err_new(ERR_USAGE, "restore needs a file, \"binary\" and an address"),
			"For example: restore weights.bin binary arg0");
	f = fopen(a->argv[0], "re");
	if (!f)
		return err_sys(errno, "cannot read %s", a->argv[0]);
	e = restore_from(s, f, a->argv[0], a);
	fclose(f);
	return e;
}
