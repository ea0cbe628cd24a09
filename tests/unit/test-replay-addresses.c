/* SPDX-License-Identifier: Apache-2.0
 *
 * Addresses that are elsewhere: words of memory translated, places that say different things of one
 * function, and where a cubin's variables begin with functions' addresses. The cubin is written out
 * here byte by byte, as the ELF specification has it.
 */
#include <elf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "gpucode/address-map.h"
#include "gpucode/cubin-cells.h"

static void ranges_move_words(void **state)
{
	struct address_map m = {0};
	uint64_t w[200];
	uint64_t to;

	(void)state;
	address_map_add(&m, 0x7000, 0x100, 0x9000);
	address_map_add(&m, 0x5000, 8, 0x5000);		/* stays */
	address_map_add(&m, 0x8000, 0, 0x1000);		/* nothing */
	address_map_add(&m, UINT64_MAX - 3, 8, 0x1000); /* wraps */
	address_map_add(&m, 0x4000, 1, 0x6000);
	address_map_add(&m, 0x7080, 0x100, 0xa000); /* overlaps */
	address_map_add(&m, 0x7000, 1, 0xb000);	    /* the longer stays */
	address_map_end(&m);
	assert_int_equal(m.n, 2);
	assert_false(address_map_find(&m, 0x3fff, &to));
	assert_true(address_map_find(&m, 0x4000, &to));
	assert_int_equal(to, 0x6000);
	assert_false(address_map_find(&m, 0x4001, &to));
	assert_true(address_map_find(&m, 0x70ff, &to));
	assert_int_equal(to, 0x90ff);
	assert_false(address_map_find(&m, 0x7100, &to));
	for (unsigned i = 0; i < 200; i++)
		w[i] = i;
	w[3] = 0x4000;
	w[64] = 0x7010;
	w[150] = 0x5001; /* between the ranges */
	w[199] = 0x7000;
	assert_int_equal(address_map_words(&m, 0x10000, w, sizeof w), 3);
	assert_int_equal(w[3], 0x6000);
	assert_int_equal(w[64], 0x9010);
	assert_int_equal(w[150], 0x5001);
	assert_int_equal(w[199], 0x9000);
	assert_int_equal(w[198], 198);
	address_map_free(&m);
	w[0] = 0x7010;
	assert_int_equal(address_map_words(&m, 0, w, 8), 0);
}

static void words_are_where_addresses_are_multiples(void **state)
{
	struct address_map m = {0};
	const uint64_t there = 0x7000;
	uint8_t b[21] = {0};
	uint64_t got;

	(void)state;
	address_map_add(&m, there, 8, 0x123456789abc);
	address_map_end(&m);
	memcpy(b + 3, &there, 8);
	assert_int_equal(address_map_words(&m, 0x1000, b, sizeof b), 0);
	assert_int_equal(address_map_words(&m, 0x1005, b, sizeof b), 1);
	memcpy(&got, b + 3, 8);
	assert_int_equal(got, 0x123456789abc);
	memcpy(b + 3, &there, 8);
	assert_int_equal(address_map_words(&m, 0x1005, b, 10), 0); /* cut off */
	assert_int_equal(address_map_words(&m, 0x1005, b, 2), 0);
	address_map_free(&m);
}

static uint64_t said(const struct address_pair *p, size_t n, uint64_t here)
{
	for (size_t i = 0; i < n; i++)
		if (p[i].here == here)
			return p[i].there;
	return 0;
}

static void places_that_disagree(void **state)
{
	(void)state;
	/* A table has 1, 2 and 3; a variable that began with 1 holds 3 now. */
	struct address_pair p[] = {{1, 101}, {2, 102}, {3, 103}, {1, 103}};
	assert_int_equal(address_pairs_agree(p, 4), 3);
	assert_int_equal(said(p, 3, 1), 101);
	assert_int_equal(said(p, 3, 2), 102);
	assert_int_equal(said(p, 3, 3), 103);

	/* Two places say one thing, a third another; nobody else knows. */
	struct address_pair q[] = {{1, 101}, {1, 109}, {1, 101}};
	assert_int_equal(address_pairs_agree(q, 3), 1);
	assert_int_equal(q[0].there, 101);

	/* As many say this as that. */
	struct address_pair r[] = {{1, 101}, {1, 109}, {2, 102}};
	assert_int_equal(address_pairs_agree(r, 3), 1);
	assert_int_equal(r[0].here, 2);

	/* Two functions cannot have been at one address. */
	struct address_pair t[] = {{1, 101}, {2, 101}};
	assert_int_equal(address_pairs_agree(t, 2), 0);
	struct address_pair u[] = {{1, 101}, {2, 101}, {2, 101}};
	assert_int_equal(address_pairs_agree(u, 3), 1);
	assert_int_equal(u[0].here, 2);
	assert_int_equal(address_pairs_agree(NULL, 0), 0);
}

/* --- a cubin --- */

enum { NAMES = 1, TEXT, INIT, SYMBOLS, RELOCATIONS, SECTIONS };

struct cubin {
	Elf64_Ehdr header;
	Elf64_Shdr s[SECTIONS];
	char names[80];
	uint64_t init[6];
	Elf64_Sym symbols[5];
	Elf64_Rela rela[5];
};

static const char names[80] = "\0.nv.global.init\0table\0chosen\0add\0.text.add\0numbers";
#define NAME_OF(x) ((uint32_t)((const char *)memmem(names, sizeof names, x, sizeof x - 1) - names))

static struct cubin make(void)
{
	struct cubin c = {.header = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB},
				  .e_shoff = offsetof(struct cubin, s),
				  .e_shentsize = sizeof(Elf64_Shdr),
				  .e_shnum = SECTIONS,
				  .e_shstrndx = NAMES}};

	memcpy(c.names, names, sizeof names);
	c.s[NAMES] = (Elf64_Shdr){.sh_type = SHT_STRTAB,
		.sh_offset = offsetof(struct cubin, names),
		.sh_size = sizeof c.names};
	c.s[TEXT] = (Elf64_Shdr){.sh_name = NAME_OF(".text.add"), .sh_type = SHT_PROGBITS};
	c.s[INIT] = (Elf64_Shdr){.sh_name = NAME_OF(".nv.global.init"),
		.sh_type = SHT_PROGBITS,
		.sh_offset = offsetof(struct cubin, init),
		.sh_size = sizeof c.init};
	c.s[SYMBOLS] = (Elf64_Shdr){.sh_type = SHT_SYMTAB,
		.sh_offset = offsetof(struct cubin, symbols),
		.sh_size = sizeof c.symbols,
		.sh_link = NAMES,
		.sh_entsize = sizeof(Elf64_Sym)};
	c.s[RELOCATIONS] = (Elf64_Shdr){.sh_type = SHT_RELA,
		.sh_offset = offsetof(struct cubin, rela),
		.sh_size = sizeof c.rela,
		.sh_link = SYMBOLS,
		.sh_info = INIT,
		.sh_entsize = sizeof(Elf64_Rela)};
	/* Not in the order of their places. */
	c.symbols[1] = (Elf64_Sym){
		NAME_OF("table"), ELF64_ST_INFO(STB_LOCAL, STT_OBJECT), 0, INIT, 16, 24};
	c.symbols[2] = (Elf64_Sym){
		NAME_OF("chosen"), ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT), 0, INIT, 0, 8};
	c.symbols[3] =
		(Elf64_Sym){NAME_OF("add"), ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), 0, TEXT, 0, 256};
	c.symbols[4] = (Elf64_Sym){
		NAME_OF("numbers"), ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT), 0, INIT, 8, 8};
	c.rela[0] = (Elf64_Rela){16 + 16, ELF64_R_INFO(3ull, 2), 0};
	c.rela[1] = (Elf64_Rela){0, ELF64_R_INFO(3ull, 2), 0};
	c.rela[2] = (Elf64_Rela){8, ELF64_R_INFO(4ull, 4), 0};	/* of data */
	c.rela[3] = (Elf64_Rela){40, ELF64_R_INFO(3ull, 2), 0}; /* in no variable */
	c.rela[4] =
		(Elf64_Rela){16 + 20, ELF64_R_INFO(3ull, 2), 0}; /* not all of it in the variable */
	return c;
}

struct told {
	unsigned n;
	char text[256];
};

static void tell(void *arg, const char *variable, uint64_t offset)
{
	struct told *t = arg;
	const size_t len = strlen(t->text);

	t->n++;
	snprintf(t->text + len, sizeof t->text - len, "%s+%u ", variable, (unsigned)offset);
}

static void cells_of_a_cubin(void **state)
{
	const struct cubin c = make();
	struct told t = {0};

	(void)state;
	assert_true(cubin_cells(&c, sizeof c, tell, &t));
	assert_string_equal(t.text, "table+16 chosen+0 ");
	assert_false(cubin_cells("//\n.version 7.0", 15, tell, &t));
	assert_int_equal(t.n, 2);
}

/* Cut off and altered anywhere: it ends, and reads nothing that is not there (which sanitizers
 * see). */
static void damaged_cubins(void **state)
{
	const struct cubin good = make();
	struct told t = {0};

	(void)state;
	srandom(11);
	for (size_t n = 0; n < sizeof good; n++) {
		void *p = malloc(n + !n);

		memcpy(p, &good, n);
		(void)cubin_cells(p, n, tell, &t);
		free(p);
	}
	for (unsigned i = 0; i < 20000; i++) {
		struct cubin *p = malloc(sizeof *p);

		*p = good;
		for (unsigned k = 0; k < 4; k++)
			((uint8_t *)p)[(size_t)random() % sizeof *p] =
				random() & 1 ? 0xff : (uint8_t)random();
		t = (struct told){0};
		(void)cubin_cells(p, sizeof *p, tell, &t);
		free(p);
	}
}

/* Tables of virtual functions: as many variables as a cubin has, each with a word, in the order of
 * their symbols. */
static void many_variables(void **state)
{
	enum { N = 30000 };
	struct many {
		struct cubin c;
		Elf64_Sym symbols[N + 1];
		Elf64_Rela rela[N];
	} *m = calloc(1, sizeof *m);
	struct told t = {0};

	(void)state;
	m->c = make();
	m->c.s[SYMBOLS].sh_offset = offsetof(struct many, symbols);
	m->c.s[SYMBOLS].sh_size = sizeof m->symbols;
	m->c.s[RELOCATIONS].sh_offset = offsetof(struct many, rela);
	m->c.s[RELOCATIONS].sh_size = sizeof m->rela;
	m->symbols[N] = m->c.symbols[3];
	for (uint64_t i = 0; i < N; i++) {
		m->symbols[i] = (Elf64_Sym){
			NAME_OF("table"), ELF64_ST_INFO(STB_LOCAL, STT_OBJECT), 0, INIT, 8 * i, 8};
		m->rela[i] = (Elf64_Rela){8 * i, ELF64_R_INFO((uint64_t)N, 2), 0};
	}
	assert_true(cubin_cells(m, sizeof *m, tell, &t));
	assert_int_equal(t.n, N);
	free(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ranges_move_words),
		cmocka_unit_test(words_are_where_addresses_are_multiples),
		cmocka_unit_test(places_that_disagree),
		cmocka_unit_test(cells_of_a_cubin),
		cmocka_unit_test(damaged_cubins),
		cmocka_unit_test(many_variables),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
