/* SPDX-License-Identifier: Apache-2.0
 *
 * DWARF: looks up addresses in any ELF file, as a trace names a file and offsets in it: addresses
 * where small files have code, and those that the file's last bytes contain. Each look-up returns
 * texts that end, and a small number of inlined calls. What is in scope there is shown, with its
 * types; memory is what it must be to lead far: pointers to anywhere, numbers of all sizes.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "symbols/symbols.h"
#include "symbols/variables.h"
#include "base/err.h"
#include "fuzz.h"

#define MAX 32u
#define OFFSETS 8u /* at the end of the data, two bytes each */

static volatile size_t told;

const char *__lsan_default_suppressions(void);

/* dwarf_getscopes() of elfutils 0.188 loses its list when a later DIE is damaged. */
const char *__lsan_default_suppressions(void)
{
	return "leak:libdw";
}

static void look(struct symbols *s, const char *path, uint64_t vaddr)
{
	struct symbol found[MAX];
	const unsigned n = symbols_lookup(s, path, NULL, vaddr, found, MAX);

	BUG_ON(n < 1 || n > MAX);
	for (unsigned i = 0; i < n; i++) {
		BUG_ON(found[i].module_offset != vaddr);
		told += found[i].function ? strlen(found[i].function) : 0;
		told += found[i].file ? strlen(found[i].file) : 0;
	}
}

/* --- variables --- */

#define SHOWN_MAX                                                                                  \
	(8u << 20) /* bytes of one value: a limit of show.c, and what types' names may add */

static struct err *read_memory(void *arg, uint64_t addr, void *dst, size_t n)
{
	if (addr % 5 == 0)
		return err_new(ERR_NOT_FOUND, "no memory");
	memset(dst, (int)(addr >> 3), n);
	return NULL;
}

static struct err *read_space(void *arg, unsigned space, uint64_t addr, void *dst, size_t n)
{
	return read_memory(arg, addr, dst, n);
}

static const struct lang_scope scope = {.read = read_space};

static void show_type(const struct lang_type *t)
{
	struct buf b = BUF_INIT;

	lang_type_name(&b, t, "x");
	lang_type_layout(&b, t);
	told += b.len;
	buf_free(&b);
}

static void show(void *arg, const char *name, const struct lang_value *v, const char *why)
{
	const struct lang_format f = {.elements = 20};
	struct buf b = BUF_INIT;

	BUG_ON(!name);
	if (why) {
		told += strlen(why);
		return;
	}
	show_type(v->type);
	if (v->type && v->type->size < 1u << 16)
		err_free(lang_show(arg, &scope, &f, v, &b));
	BUG_ON(b.len > SHOWN_MAX);
	told += b.len;
	buf_free(&b);
}

/* The names in the file's strings. */
static void look_up_names(struct lang *l, struct file_names *names,
	const struct variables_frame *fr, const uint8_t *data, size_t n)
{
	unsigned left = 200;

	for (size_t i = 0; i + 1 < n && left; i++) {
		const char *name = (const char *)data + i;
		const size_t len = strnlen(name, n - i);
		const struct lang_type *t;
		struct lang_value v = {0};
		bool found = false;

		if (len < 2 || len > 64 || i + len == n) {
			i += len;
			continue;
		}
		left--;
		err_free(file_variable(names, fr->ctx, NULL, name, &v, &found));
		if (found)
			show(l, name, &v, NULL);
		lang_value_free(&v);
		t = file_type(names, NULL, name);
		show_type(t ? t : frame_type(fr, name));
		i += len;
	}
}

static void look_variables(struct symbols *s, struct lang *l, const char *path, uint64_t vaddr,
	const uint8_t *data, size_t n)
{
	const struct frame_registers at = {.cfa = 0x1000, .valid = 0xffff};
	struct symbols_scope sc;
	struct dwarf_context ctx = {.read = read_memory, .frame = &at};
	struct variables_frame fr = {.ctx = &ctx, .sc = &sc};

	fr.names = symbols_names(s, l, path);
	if (!fr.names || !symbols_scopes(s, path, vaddr, &sc))
		return;
	ctx.pc = sc.addr;
	for (fr.depth = 0; fr.depth < 3; fr.depth++)
		frame_variables(&fr, show, l);
	fr.depth = 0;
	told += frame_is_stub(&fr);
	if (data)
		look_up_names(l, fr.names, &fr, data, n);
	free(sc.scopes);
}

static void look_tail(struct symbols *s, struct lang *l, const char *path, uint64_t vaddr,
	const uint8_t *data, size_t n)
{
	look(s, path, vaddr);
	look_variables(s, l, path, vaddr, data, n);
}

static void look_all(const char *path, const uint8_t *data, size_t n)
{
	struct symbols *s = symbols_new();
	struct lang *l = lang_new();

	for (uint64_t at = 0; at < 0x100; at += 0x11) {
		look(s, path, 0x200 + at);
		look_variables(s, l, path, 0x200 + at, at ? NULL : data, n);
	}
	for (size_t i = 0; i < OFFSETS && 2 * i + 2 <= n; i++)
		look_tail(s, l, path, (unsigned)data[n - 2 * i - 1] << 8 | data[n - 2 * i - 2],
			data, n);
	look(s, path, UINT64_MAX);
	symbols_free(s);
	lang_free(l);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	const int fd = memfd_create("fuzz-dwarf", MFD_CLOEXEC);
	char path[64];

	if (fd < 0)
		return 0;
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	if (write(fd, data, n) == (ssize_t)n)
		look_all(path, data, n);
	close(fd);
	return 0;
}
