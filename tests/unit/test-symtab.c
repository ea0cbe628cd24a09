/* SPDX-License-Identifier: Apache-2.0
 *
 * Symbols by address against libdwfl's own answers: in the C library, in a large library, and in
 * this program, which has symbols that lie in each other, begin or end together, are weak, have no
 * size or no neighbours.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

#include "symbols/dwarf/symtab.h"

/* 256 bytes of code that nobody runs. NAME, binding, beginning and size of each symbol. */
#define SYMBOL(name, binding, from, size)                                                          \
	"." binding " " name "\n.type " name ", @function\n.set " name ", odd_base + " from        \
	"\n.size " name ", " size "\n"
#define LOCAL(name, from, size)                                                                    \
	".type " name ", @function\n.set " name ", odd_base + " from "\n.size " name ", " size "\n"
__asm__(".pushsection .text.odd, \"ax\", @progbits\n"
	"odd_base: .fill 256, 1, 0x90\n" SYMBOL("odd_outer", "globl", "16", "128") SYMBOL(
		"odd_inner", "globl", "32", "16") SYMBOL("odd_weak_inner", "weak", "40",
		"4") SYMBOL("odd_weak_first", "weak", "64", "8") SYMBOL("odd_same_long", "globl",
		"64", "16") SYMBOL("odd_same_short", "globl", "64", "8") SYMBOL("odd_twin_a",
		"globl", "96", "8") SYMBOL("odd_twin_b", "globl", "96",
		"8") SYMBOL("odd_weak_outer", "weak", "90", "60") SYMBOL("odd_label", "globl",
		"160", "0") SYMBOL("odd_label_inside", "globl", "100", "0") SYMBOL("odd_alone",
		"globl", "200", "4") SYMBOL("odd_label_behind", "globl", "210",
		"0") ".type odd_local, @function\n.set odd_local, odd_base + 220\n.size odd_local, 8\n"
		     ".popsection\n");
extern char odd_outer[];

static const Dwfl_Callbacks callbacks = {.find_elf = dwfl_build_id_find_elf,
	.find_debuginfo = dwfl_standard_find_debuginfo,
	.section_address = dwfl_offline_section_address};

struct file {
	Dwfl *dwfl;
	Dwfl_Module *m;
	struct symtab *tab;
};

static bool file_open(struct file *f, const char *path)
{
	const int fd = open(path, O_RDONLY);

	*f = (struct file){0};
	if (fd < 0)
		return false;
	f->dwfl = dwfl_begin(&callbacks);
	dwfl_report_begin(f->dwfl);
	f->m = dwfl_report_elf(f->dwfl, path, path, fd, 0, true);
	dwfl_report_end(f->dwfl, NULL, NULL);
	return f->m != NULL;
}

static void file_close(struct file *f)
{
	symtab_free(f->tab);
	dwfl_end(f->dwfl);
}

static void same(struct file *f, uint64_t addr)
{
	GElf_Off offset = 0, want_offset = 0;
	GElf_Sym sym = {0}, want_sym = {0};
	const char *name = symtab_find(&f->tab, f->m, addr, &offset, &sym),
		   *want = dwfl_module_addrinfo(
			   f->m, addr, &want_offset, &want_sym, NULL, NULL, NULL);

	if (!want != !name || (want && (strcmp(want, name) || offset != want_offset ||
					       memcmp(&sym, &want_sym, sizeof sym))))
		fail_msg("0x%llx is %s+%llu, libdwfl says %s+%llu", (unsigned long long)addr,
			name ? name : "nothing", (unsigned long long)offset,
			want ? want : "nothing", (unsigned long long)want_offset);
}

/* n symbols of the table: before, at and behind their ends, and some places at random. */
static void walk(struct file *f, unsigned n)
{
	const int all = dwfl_module_getsymtab(f->m);
	GElf_Addr low, high, from;
	GElf_Sym sym;

	dwfl_module_info(f->m, NULL, &low, &high, NULL, NULL, NULL, NULL);
	srand(7);
	for (unsigned i = 0; i < n; i++) {
		const uint64_t r = (uint64_t)rand() << 20 ^ (uint64_t)rand();

		if (dwfl_module_getsym_info(f->m, rand() % all, &sym, &from, NULL, NULL, NULL)) {
			same(f, from);
			same(f, from - 1);
			same(f, from + sym.st_size);
			same(f, from + sym.st_size / 2);
		}
		same(f, low + r % (high - low + 64));
	}
	same(f, 0);
	same(f, UINT64_MAX);
}

static void test_odd(void **state)
{
	struct file f;
	GElf_Addr from, base = 0;
	GElf_Sym sym;

	(void)state;
	assert_true(odd_outer != NULL);
	assert_true(file_open(&f, "/proc/self/exe"));
	for (int i = 1; i < dwfl_module_getsymtab(f.m); i++) {
		const char *name = dwfl_module_getsym_info(f.m, i, &sym, &from, NULL, NULL, NULL);

		if (name && !strcmp(name, "odd_outer"))
			base = from - 16;
	}
	assert_true(base != 0);
	for (unsigned i = 0; i < 20; i++)
		same(&f, base); /* now the table is sorted */
	for (unsigned i = 0; i < 300; i++)
		same(&f, base - 20 + i);
	file_close(&f);
}

static void test_programs(void **state)
{
	struct file f;
	Dl_info info;

	(void)state;
	assert_true(file_open(&f, "/proc/self/exe"));
	walk(&f, 2000);
	file_close(&f);
	assert_true(dladdr((void *)(uintptr_t)&printf, &info) && file_open(&f, info.dli_fname));
	walk(&f, 400);
	file_close(&f);
	assert_true(dladdr((void *)(uintptr_t)&dwfl_begin, &info) && file_open(&f, info.dli_fname));
	walk(&f, 1000);
	file_close(&f);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_odd), cmocka_unit_test(test_programs)};
	struct file f;

	if (argc > 1 && file_open(&f, argv[1])) { /* another file, by hand */
		walk(&f, argc > 2 ? (unsigned)atoi(argv[2]) : 100);
		file_close(&f);
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
