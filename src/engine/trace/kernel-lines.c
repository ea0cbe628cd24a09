/* SPDX-License-Identifier: Apache-2.0
 *
 * Lines of kernels, see kernel-lines.h: `.file` and `.loc` of PTX, read line by line; functions and
 * line tables of code objects.
 */
#include "engine/kernel-lines.h"

#include <stdlib.h>
#include <string.h>
#include "gpucode/amd-image.h"
#include "gpucode/fatbin-text.h"
#include "base/first-where.h"
#include "sbt/sbt.h"
#include "symbols/elf-facts.h"
#include "symbols/places.h"

enum { FILES_MAX = 4096, ARCH_MAX = 9999 };

struct reading {
	struct kernel_lines *out;
	const char *files[FILES_MAX];
	const char *kernel; /* whose body it is in; NULL: in none */
	bool func;	    /* it is in the body of a device function */
	unsigned begin;	    /* first of the kernel's lines in out */
	unsigned at;	    /* line of the PTX */
};

static const char *keep(struct kernel_lines *l, const char *p, size_t n)
{
	char *text = strndup(p, n);

	BUG_ON(!text);
	l->texts = xrealloc(l->texts, (l->ntexts + 1) * sizeof *l->texts);
	return l->texts[l->ntexts++] = text;
}

static void add(
	struct kernel_lines *l, const char *kernel, const char *file, unsigned line, unsigned ptx)
{
	if (!(l->n & (l->n + 1)) || !l->v)
		l->v = xrealloc(l->v, (l->n * 2 + 2) * sizeof *l->v);
	l->v[l->n++] = (struct kernel_line){kernel, file, line, ptx};
}

static void end_kernel(struct reading *r)
{
	if (r->kernel && r->begin == r->out->n)
		add(r->out, r->kernel, NULL, 0, 0);
	r->kernel = NULL;
}

static const char *behind(const char *line, const char *word)
{
	const char *p = strstr(line, word);

	return p && (p == line || strchr(" \t", p[-1])) && strchr(" \t", p[strlen(word)])
		       ? p + strlen(word) + strspn(p + strlen(word), " \t")
		       : NULL;
}

static void take_file(struct reading *r, const char *text)
{
	char *end;
	const unsigned long i = strtoul(text, &end, 10);
	const char *open = strchr(end, '"'), *close = open ? strchr(open + 1, '"') : NULL;

	if (close && i < FILES_MAX)
		r->files[i] = keep(r->out, open + 1, (size_t)(close - open - 1));
}

static void take_loc(struct reading *r, const char *text)
{
	struct kernel_lines *l = r->out;
	char *end;
	const unsigned long i = strtoul(text, &end, 10), line = strtoul(end, NULL, 10);

	if (i >= FILES_MAX || !line || line > INT32_MAX)
		return;
	if (r->func) {
		MAKE_ROOM(l->device, l->ndevice, l->device_cap);
		l->device[l->ndevice++] =
			(struct device_line){(const char *)(uintptr_t)i, (unsigned)line, 0, 0};
	}
	if (!r->kernel)
		return;
	for (unsigned k = r->begin; k < l->n; k++)
		if (l->v[k].line == line && (uintptr_t)l->v[k].file == i)
			return;
	add(l, r->kernel, (const char *)(uintptr_t)i, (unsigned)line, r->at + 1);
}

static void take_line(struct reading *r, const char *line)
{
	const char *p;

	if ((p = behind(line, ".entry"))) {
		end_kernel(r);
		r->func = false;
		r->kernel = keep(r->out, p, strcspn(p, "( \t"));
		r->begin = r->out->n;
	} else if (behind(line, ".func")) {
		end_kernel(r);
		r->func = true;
	} else if ((p = behind(line, ".file"))) {
		take_file(r, p);
	} else if ((p = behind(line, ".loc"))) {
		take_loc(r, p);
	}
}

/* Adds what a PTX text says; it ends in NUL. */
static void take_text(struct kernel_lines *out, const char *text)
{
	struct reading r = {.out = out};
	const unsigned first = out->n, first_device = out->ndevice;

	while (*text) {
		const size_t n = strcspn(text, "\n");
		char line[1024];

		r.at++;
		if (n < sizeof line && memchr(text, '.', n)) {
			memcpy(line, text, n);
			line[n] = 0;
			take_line(&r, line);
		}
		text += n + (text[n] == '\n');
	}
	end_kernel(&r);
	for (unsigned i = first; i < out->n; i++) /* files may be named behind the code */
		if (out->v[i].line)
			out->v[i].file = r.files[(uintptr_t)out->v[i].file];
	for (unsigned i = first_device; i < out->ndevice; i++) {
		struct device_line *d = &out->device[i];

		*d = (struct device_line){r.files[(uintptr_t)d->file], d->line, first, out->n};
	}
}

/* --- code objects --- */

static bool has_line(const struct kernel_lines *l, unsigned first, const char *file, unsigned line)
{
	for (unsigned i = first; i < l->n; i++)
		if (l->v[i].line == line && l->v[i].file == file)
			return true;
	return false;
}

/* The lines of one function: each once, with its first address. */
static void take_function(struct kernel_lines *out, const struct amd_image *m,
	const struct amd_function *f, const char *const *files)
{
	const unsigned first = out->n;
	const char *name = keep(out, f->name, strlen(f->name));

	for (size_t k = FIRST_WHERE(m->lines.n, i, m->lines.v[i].addr >= f->addr);
		k < m->lines.n && m->lines.v[k].addr - f->addr < f->size; k++) {
		const struct amd_line *l = &m->lines.v[k];

		if (l->line && l->line <= INT32_MAX && l->addr <= UINT32_MAX &&
			!has_line(out, first, files[l->file], l->line))
			add(out, name, files[l->file], l->line, (unsigned)l->addr);
	}
	if (out->n == first)
		add(out, name, NULL, 0, 0);
}

static void take_device_lines(struct kernel_lines *out, const struct amd_image *m,
	const char *const *files, unsigned first)
{
	for (size_t k = 0; k < m->lines.n; k++) {
		const struct amd_line *l = &m->lines.v[k];
		const struct amd_function *f = amd_image_function(m, l->addr);

		if (!l->line || l->line > INT32_MAX || !f || f->is_kernel)
			continue;
		MAKE_ROOM(out->device, out->ndevice, out->device_cap);
		out->device[out->ndevice++] =
			(struct device_line){files[l->file], l->line, first, out->n};
	}
}

static void take_object(void *arg, const void *object, size_t n)
{
	struct kernel_lines *out = arg;
	struct amd_image *m = amd_image_new(object, n);
	const unsigned first = out->n;
	const char **files;

	if (!m)
		return;
	files = xcalloc(m->lines.nfiles + 1, sizeof *files);
	for (size_t k = 0; k < m->lines.nfiles; k++)
		files[k] = keep(out, m->lines.files[k], strlen(m->lines.files[k]));
	for (size_t k = 0; k < m->nfunctions; k++)
		if (m->functions[k].is_kernel)
			take_function(out, m, &m->functions[k], files);
	take_device_lines(out, m, files, first);
	free(files);
	amd_image_free(m);
}

static void take_lines(void *arg, const char *text)
{
	take_text(arg, text);
}

/* What is called with a PTX text. */
struct taker {
	void (*each)(void *arg, const char *text);
	void *arg;
	struct kernel_lines
		*objects; /* gets the lines of code objects; NULL: they are passed over */
};

static void take_fatbin(void *arg, const void *fatbin, size_t n)
{
	const struct taker *t = arg;
	size_t size;
	char *text;

	if (fatbin_ptx(fatbin, n, ARCH_MAX, &text, &size, NULL) != FATBIN_OK)
		return;
	t->each(t->arg, text);
	free(text);
}

static struct err *take_code(struct sbt_reader *r, uint64_t hash, struct taker *t)
{
	struct buf code = BUF_INIT;
	enum code_kind kind;
	struct err *e = sbt_reader_code(r, hash, &code, &kind);

	if (!e && kind == CODE_PTX)
		t->each(t->arg, buf_cstr(&code));
	else if (!e && kind == CODE_FATBIN)
		take_fatbin(t, code.data, code.len);
	else if (!e && kind == CODE_AMD_OBJECT && t->objects)
		take_object(t->objects, code.data, code.len);
	buf_free(&code);
	return e;
}

static struct err *take_all(struct sbt_reader *r, struct taker *t)
{
	struct err *e = NULL;
	enum code_kind kind;
	uint64_t hash;

	for (unsigned i = 0; !e && sbt_reader_code_at(r, i, &hash, &kind); i++)
		e = take_code(r, hash, t);
	return e;
}

struct err *kernel_texts_of_trace(
	struct sbt_reader *r, void (*each)(void *arg, const char *text), void *arg)
{
	return take_all(r, &(struct taker){each, arg, NULL});
}

void kernel_texts_of_program(const char *path, void (*each)(void *arg, const char *text), void *arg)
{
	program_fatbins(path, take_fatbin, &(struct taker){each, arg, NULL});
}

struct err *kernel_lines_of_trace(struct sbt_reader *r, struct kernel_lines *ret)
{
	struct err *e;

	*ret = (struct kernel_lines){0};
	e = take_all(r, &(struct taker){take_lines, ret, ret});
	if (e)
		kernel_lines_free(ret);
	return e;
}

struct err *kernel_lines_of_code(struct sbt_reader *r, uint64_t hash, struct kernel_lines *ret)
{
	struct err *e;

	*ret = (struct kernel_lines){0};
	e = take_code(r, hash, &(struct taker){take_lines, ret, ret});
	if (e)
		kernel_lines_free(ret);
	return e;
}

void kernel_lines_of_program(const char *path, struct kernel_lines *ret)
{
	*ret = (struct kernel_lines){0};
	kernel_texts_of_program(path, take_lines, ret);
	program_amd_objects(path, take_object, ret);
}

void kernel_lines_free(struct kernel_lines *l)
{
	for (unsigned i = 0; i < l->ntexts; i++)
		free(l->texts[i]);
	free(l->texts);
	free(l->v);
	free(l->device);
	*l = (struct kernel_lines){0};
}

/* Makes line *best if it is nearer behind `asked`, of a file called so. */
static void nearer(const char *file, unsigned line, const char *wanted, unsigned asked,
	unsigned *best, bool *ret_known)
{
	if (!file || !symbols_same_file(file, wanted))
		return;
	*ret_known = true;
	if (line >= asked && (!*best || line < *best))
		*best = line;
}

unsigned kernel_lines_find(
	const struct kernel_lines *l, const char *file, unsigned line, bool *ret_known)
{
	unsigned best = 0;

	*ret_known = false;
	for (unsigned i = 0; i < l->n; i++)
		nearer(l->v[i].file, l->v[i].line, file, line, &best, ret_known);
	for (unsigned i = 0; i < l->ndevice; i++) {
		if (l->device[i].first < l->device[i].end)
			nearer(l->device[i].file, l->device[i].line, file, line, &best, ret_known);
	}
	return best;
}
