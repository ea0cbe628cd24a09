// SPDX-License-Identifier: Apache-2.0
//
// AMD's code objects: kernels and arguments out of the note that describes them, written here by
// hand as the MessagePack and ELF documents say, and then damaged in every way a byte can be.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "gpucode/amd-object.h"

static unsigned char object[2048];
static size_t size;

static void bytes(const void *p, size_t n)
{
	assert_true(size + n <= sizeof(object));
	memcpy(object + size, p, n);
	size += n;
}

static void byte(unsigned b)
{
	bytes(&(unsigned char){(unsigned char)b}, 1);
}

static void text(const char *s)
{
	const size_t n = strlen(s);

	if (n < 32) {
		byte(0xa0 | (unsigned)n);
	} else {
		byte(0xd9); /* 8 bits of length */
		byte((unsigned)n);
	}
	bytes(s, n);
}

/* In 16 bits where 7 would do, as writers may. */
static void number(unsigned v)
{
	byte(0xcd);
	byte(v >> 8);
	byte(v & 0xff);
}

static void arg(const char *name, const char *kind, unsigned at, unsigned n)
{
	byte(0x85);
	text(".offset");
	byte(at);
	text(".name");
	text(name);
	text(".size");
	number(n);
	text(".value_kind");
	text(kind);
	text(".is_const"); /* what is not asked for is stepped over */
	byte(0xc3);
}

static void kernel(const char *symbol)
{
	byte(0xde); /* a map with 16 bits of length */
	byte(0);
	byte(7);
	text(".args");
	byte(0x93);
	arg("out", "global_buffer", 0, 8);
	arg("n", "by_value", 8, 4);
	arg("", "hidden_hostcall_buffer", 16, 8);
	text(".group_segment_fixed_size");
	number(1024);
	text(".private_segment_fixed_size");
	byte(16);
	text(".reqd_workgroup_size");
	byte(0x93);
	byte(1);
	byte(2);
	byte(3);
	text(".vgpr_count");
	byte(0xcc);
	byte(200);
	text(".max_flat_workgroup_size");
	number(1024);
	text(".symbol");
	text(symbol);
}

static void elf_begin(void)
{
	Elf64_Ehdr e = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
		.e_machine = EM_AMDGPU,
		.e_phoff = sizeof(e),
		.e_phentsize = sizeof(Elf64_Phdr),
		.e_phnum = 1};
	Elf64_Phdr p = {.p_type = PT_NOTE};
	Elf64_Nhdr n = {.n_namesz = 7, .n_type = 32};

	size = 0;
	memset(object, 0, sizeof(object));
	bytes(&e, sizeof(e));
	bytes(&p, sizeof(p));
	bytes(&n, sizeof(n));
	bytes("AMDGPU\0", 8);
}

static void elf_end(void)
{
	Elf64_Phdr *p = (Elf64_Phdr *)(void *)(object + sizeof(Elf64_Ehdr));
	const size_t from = sizeof(Elf64_Ehdr) + sizeof(*p);

	p->p_offset = from;
	p->p_filesz = size - from;
	((Elf64_Nhdr *)(void *)(object + from))->n_descsz =
		(uint32_t)(size - from - sizeof(Elf64_Nhdr) - 8);
}

static void make(void)
{
	elf_begin();
	byte(0x83);
	text("amdhsa.version");
	byte(0x92);
	byte(1);
	byte(1);
	text("amdhsa.kernels");
	byte(0x92);
	kernel("_Z1aPji.kd");
	kernel("_Z14kernel_with_a_name_of_more_than_31_charactersPji.kd");
	text("amdhsa.target");
	text("amdgcn-amd-amdhsa--gfx90a:sramecc+:xnack-");
	elf_end();
}

static bool is(struct amd_text t, const char *s)
{
	return t.n == strlen(s) && !memcmp(t.p, s, t.n);
}

static void a_kernel_is_found_by_its_name(void **state)
{
	struct amd_arg args[4];
	struct amd_kernel k;
	struct amd_text t;

	(void)state;
	make();
	assert_true(amd_object_kernel(
		object, size, "_Z14kernel_with_a_name_of_more_than_31_charactersPji", &k, args, 4));
	assert_int_equal(k.args, 2); /* the hidden one is not the program's */
	assert_true(k.calls_host);
	assert_true(is(args[0].name, "out") && is(args[0].kind, "global_buffer"));
	assert_true(args[0].offset == 0 && args[0].size == 8);
	assert_true(is(args[1].name, "n") && args[1].offset == 8 && args[1].size == 4);
	assert_int_equal(k.group_bytes, 1024);
	assert_int_equal(k.private_bytes, 16);
	assert_int_equal(k.vgprs, 200);
	assert_int_equal(k.sgprs, 0);
	assert_int_equal(k.max_items, 1024);
	assert_false(amd_object_kernel(object, size, "_Z1aPj", &k, args, 4));
	assert_false(amd_object_kernel(object, size, "_Z1aPji.kd", &k, args, 4));
	assert_true(amd_object_kernel(object, size, "_Z1aPji", &k, args, 1)); /* room for one */
	assert_int_equal(k.args, 2);
	assert_true(amd_object_target(object, size, &t));
	assert_true(is(t, "gfx90a:sramecc+:xnack-"));
}

static bool count(void *arg, const struct amd_kernel *k)
{
	unsigned *n = arg;

	assert_true(k->symbol.n > 3);
	return ++*n < 2;
}

static void all_kernels_are_listed(void **state)
{
	unsigned n = 0;

	(void)state;
	make();
	assert_true(amd_object_kernels(object, size, count, &n));
	assert_int_equal(n, 2);
}

static void what_is_no_code_object_has_none(void **state)
{
	unsigned n = 0;

	(void)state;
	make();
	object[18] = 62; /* x86-64 */
	assert_false(amd_object_kernels(object, size, count, &n));
	make();
	object[sizeof(Elf64_Ehdr) + sizeof(Elf64_Phdr) + 8] = 31; /* another note of AMDGPU's */
	assert_false(amd_object_kernels(object, size, count, &n));
	assert_false(amd_object_kernels("", 0, count, &n));
	assert_int_equal(n, 0);
}

static bool touch(void *arg, const struct amd_kernel *k)
{
	volatile unsigned *sum = arg;

	for (size_t i = 0; i < k->symbol.n; i++)
		*sum += (unsigned char)k->symbol.p[i];
	return true;
}

static bool touch_variable(void *arg, const struct amd_variable *v)
{
	volatile unsigned *sum = arg;

	for (size_t i = 0; i < v->name.n; i++)
		*sum += (unsigned char)v->name.p[i];
	return true;
}

/* ---- variables ---- */

enum { DATA = 1, CODE, SYMBOLS, NAMES, SECTIONS };
static Elf64_Shdr *section(unsigned i)
{
	Elf64_Ehdr e;

	memcpy(&e, object, sizeof(e));
	return (Elf64_Shdr *)(void *)(object + e.e_shoff) + i;
}

static void align(void)
{
	while (size % 8)
		byte(0);
}

/* Data at 0x3000 to 0x3060, code and constants at 0x1000; a kernel, its descriptor, three
 * variables, of which one is a source file's own, and two constants, of which one is the
 * compiler's. */
static void make_variables(void)
{
	static const char names[] =
		"\0counter\0_ZL6hidden\0kernel\0kernel.kd\0outside\0constant\0local\0_ZN17__HIP_CoordinatesI1E1xE\0__hip_cuid_0a";
	const Elf64_Sym y[] = {{0},
		{.st_name = 1,
			.st_info = STT_OBJECT,
			.st_shndx = DATA,
			.st_value = 0x3000,
			.st_size = 4},
		{.st_name = 9,
			.st_info = STT_OBJECT,
			.st_shndx = DATA,
			.st_value = 0x3050,
			.st_size = 16},
		{.st_name = 20,
			.st_info = STT_FUNC,
			.st_shndx = CODE,
			.st_value = 0x1000,
			.st_size = 64},
		{.st_name = 27,
			.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT),
			.st_shndx = CODE,
			.st_value = 0x1040,
			.st_size = 64},
		{.st_name = 37,
			.st_info = STT_OBJECT,
			.st_shndx = DATA,
			.st_value = 0x305c,
			.st_size = 16},
		{.st_name = 45,
			.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT),
			.st_shndx = CODE,
			.st_value = 0x1010,
			.st_size = 8},
		{.st_name = 54,
			.st_info = STT_OBJECT,
			.st_shndx = CODE,
			.st_value = 0x1018,
			.st_size = 8},
		{.st_name = 60,
			.st_info = ELF64_ST_INFO(STB_WEAK, STT_OBJECT),
			.st_shndx = CODE,
			.st_value = 0x1020,
			.st_size = 1},
		{.st_name = 89, /* marks the file that was compiled */
			.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT),
			.st_shndx = DATA,
			.st_value = 0x3010,
			.st_size = 1}};
	Elf64_Ehdr *e = (Elf64_Ehdr *)(void *)object;
	Elf64_Phdr *p;
	size_t at_names, at_symbols;

	make();
	at_names = size;
	bytes(names, sizeof(names));
	align();
	at_symbols = size;
	bytes(y, sizeof(y));
	e->e_shoff = size;
	e->e_shentsize = sizeof(Elf64_Shdr);
	e->e_shnum = SECTIONS;
	const Elf64_Shdr all[SECTIONS] = {[DATA] = {.sh_type = SHT_NOBITS,
						  .sh_flags = SHF_WRITE | SHF_ALLOC,
						  .sh_addr = 0x3000,
						  .sh_size = 0x60,
						  .sh_offset = 1 << 30},
		[CODE] = {.sh_type = SHT_PROGBITS,
			.sh_flags = SHF_ALLOC,
			.sh_addr = 0x1000,
			.sh_size = 0x80},
		[SYMBOLS] = {.sh_type = SHT_SYMTAB,
			.sh_link = NAMES,
			.sh_offset = at_symbols,
			.sh_size = sizeof(y)},
		[NAMES] = {.sh_type = SHT_STRTAB, .sh_offset = at_names, .sh_size = sizeof(names)}};
	bytes(all, sizeof(all));
	p = (Elf64_Phdr *)(void *)(object + sizeof(*e));
	p->p_type = PT_NOTE;
}

struct seen {
	unsigned n;
	uint64_t addr[4], size[4];
};

static bool see(void *arg, const struct amd_variable *v)
{
	struct seen *s = arg;

	assert_true(s->n < 4);
	s->addr[s->n] = v->addr;
	s->size[s->n++] = v->size;
	return true;
}

/* Kernels' descriptors are no variables, nor is what lies outside its section. */
static void variables_are_what_code_or_the_host_can_change(void **state)
{
	struct amd_variable v;
	struct seen s = {0};

	(void)state;
	make_variables();
	assert_true(amd_object_variables(object, size, see, &s));
	assert_int_equal(s.n, 3);
	assert_true(s.addr[0] == 0x3000 && s.size[0] == 4);
	assert_true(s.addr[1] == 0x3050 && s.size[1] == 16);
	assert_true(s.addr[2] == 0x1010 && s.size[2] == 8);
	assert_true(amd_object_variable(object, size, "_ZL6hidden", &v));
	assert_int_equal(v.addr, 0x3050);
	assert_false(amd_object_variable(object, size, "hidden", &v));
	assert_false(amd_object_variable(object, size, "kernel.kd", &v));
	assert_false(amd_object_variable(object, size, "outside", &v));
	assert_false(amd_object_variable(object, size, "local", &v));
	assert_false(amd_object_variable(object, size, "__hip_cuid_0a", &v));
	/* A table of symbols whose names are no table of names. */
	section(SYMBOLS)->sh_link = 99;
	assert_false(amd_object_variables(object, size, see, &s));
}

/* A loader believes the headers. */
static void whole_objects_name_nothing_outside(void **state)
{
	Elf64_Phdr *p = (Elf64_Phdr *)(void *)(object + sizeof(Elf64_Ehdr));

	(void)state;
	make_variables();
	p->p_type = PT_LOAD;
	p->p_vaddr = 0x3000;
	p->p_memsz = p->p_filesz + 0x60;
	assert_int_equal(amd_object_span(object, size), 0x3000 + p->p_memsz);
	assert_true(amd_object_is_whole(object, size));
	assert_false(amd_object_is_whole(object, size - 1)); /* the sections' table */
	section(CODE)->sh_size = size + 1;
	assert_false(amd_object_is_whole(object, size));
	section(CODE)->sh_size = 1;
	p->p_memsz = p->p_filesz - 1;
	assert_false(amd_object_is_whole(object, size));
	p->p_memsz = UINT64_MAX;
	assert_int_equal(amd_object_span(object, size), 0);
	assert_false(amd_object_is_whole(object, size));
}

static void places_are_read(void **state)
{
	uint64_t at = 0, n = 0;

	(void)state;
	assert_true(amd_object_uri("memory://77#offset=0x7f00&size=4096", &at, &n));
	assert_true(at == 0x7f00 && n == 4096);
	assert_true(amd_object_uri("file:///a/b#offset=64&size=0x10", &at, &n));
	assert_true(at == 64 && n == 16);
	assert_false(amd_object_uri("file:///a/b", &at, &n));
	assert_false(amd_object_uri("memory://77#offset=1&size=0", &at, &n));
}

/* Nothing is read outside: the copy ends where the object does, so a sanitizer would see it. */
static void read_all(size_t n)
{
	unsigned char *copy = malloc(n ? n : 1);
	struct amd_arg args[2];
	struct amd_kernel k;
	struct amd_text t;
	unsigned sum = 0;

	memcpy(copy, object, n);
	(void)amd_object_kernels(copy, n, touch, &sum);
	(void)amd_object_kernel(copy, n, "_Z1aPji", &k, args, 2);
	(void)amd_object_target(copy, n, &t);
	(void)amd_object_variables(copy, n, touch_variable, &sum);
	(void)amd_object_is_whole(copy, n);
	free(copy);
}

static void damaged_objects_are_taken(void **state)
{
	size_t whole;
	unsigned n = 0;

	(void)state;
	make_variables();
	whole = size;
	for (size_t i = 0; i < whole; i++) {
		read_all(i);
		for (unsigned v = 0; v < 256; v += v < 0xc0 ? 13 : 1) {
			make_variables();
			object[i] = (unsigned char)v;
			read_all(whole);
		}
	}
	/* Lists of billions in a few bytes, within lists. */
	elf_begin();
	byte(0x81);
	text("amdhsa.kernels");
	for (int i = 0; i < 100; i++)
		bytes("\xdd\xff\xff\xff\xff", 5);
	elf_end();
	assert_false(amd_object_kernels(object, size, count, &n));
	elf_begin();
	byte(0x82);
	for (int i = 0; i < 100; i++)
		bytes("\xdf\xff\xff\xff\xff", 5);
	elf_end();
	assert_false(amd_object_kernels(object, size, count, &n));
}

/* --- offload bundles --- */

struct taken {
	unsigned n;
	size_t sizes;
	unsigned char last;
};

static void take_object(void *arg, const void *p, size_t n)
{
	struct taken *t = arg;

	t->n++;
	t->sizes += n;
	t->last = ((const unsigned char *)p)[n - 1];
}

static void put_u64(unsigned char *p, uint64_t v)
{
	memcpy(p, &v, sizeof v);
}

/* One bundle of 512 bytes: the host's entry, which is empty, and one for gfx90a. */
static void make_bundle(unsigned char *b)
{
	static const char host[] = "host-x86_64-unknown-linux",
			  amd[] = "hipv4-amdgcn-amd-amdhsa--gfx90a";
	unsigned char *at = b + 32;

	memset(b, 0, 512);
	memcpy(b, "__CLANG_OFFLOAD_BUNDLE__", 24);
	put_u64(b + 24, 2);
	put_u64(at, 256);
	put_u64(at + 16, sizeof host - 1);
	memcpy(at + 24, host, sizeof host - 1);
	at += 24 + sizeof host - 1;
	put_u64(at, 300);
	put_u64(at + 8, 100);
	put_u64(at + 16, sizeof amd - 1);
	memcpy(at + 24, amd, sizeof amd - 1);
	b[399] = 77;
}

static void bundles_have_objects(void **state)
{
	unsigned char b[1100] = {0}, one[512];
	struct taken t = {0};

	(void)state;
	make_bundle(b + 3);
	make_bundle(b + 580); /* another, behind padding */
	amd_bundle_objects(b, sizeof b, take_object, &t);
	assert_int_equal(t.n, 2);
	assert_int_equal(t.sizes, 200);
	assert_int_equal(t.last, 77);
	for (size_t n = 0; n < 512; n++) {
		unsigned char *cut = malloc(n + 1); /* so that a sanitizer sees a read behind it */

		make_bundle(one);
		memcpy(cut, one, n);
		t = (struct taken){0};
		amd_bundle_objects(cut, n, take_object, &t);
		assert_int_equal(t.n, n >= 400);
		free(cut);
	}
	for (size_t at = 24; at < 140; at++)
		for (unsigned v = 1; v < 256; v += 51) {
			make_bundle(one);
			one[at] = (unsigned char)v;
			amd_bundle_objects(one, sizeof one, take_object, &t);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_kernel_is_found_by_its_name),
		cmocka_unit_test(all_kernels_are_listed),
		cmocka_unit_test(what_is_no_code_object_has_none),
		cmocka_unit_test(variables_are_what_code_or_the_host_can_change),
		cmocka_unit_test(whole_objects_name_nothing_outside),
		cmocka_unit_test(places_are_read),
		cmocka_unit_test(damaged_objects_are_taken),
		cmocka_unit_test(bundles_have_objects),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
