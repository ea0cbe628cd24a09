// SPDX-License-Identifier: Apache-2.0
//
// Code objects' metadata; see amd-object.h. A value of MessagePack begins with a byte that says
// what it is; whole values are stepped over without recursion, by a count of what is still to come.
#include "gpucode/amd-object.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"

enum { NOTE_METADATA = 32 }; /* NT_AMDGPU_METADATA, of "AMDGPU" */

struct reader {
	const unsigned char *p;
	size_t n;
};

enum kind { NOTHING, NUMBER, TEXT, LIST, MAP };
struct value {
	enum kind kind;
	uint64_t number; /* or how many elements, or pairs */
	struct amd_text text;
};

static bool take(struct reader *r, size_t n, const unsigned char **ret)
{
	if (n > r->n)
		return false;
	*ret = r->p;
	r->p += n;
	r->n -= n;
	return true;
}

static bool big_endian(struct reader *r, size_t bytes, uint64_t *ret)
{
	const unsigned char *p;

	if (!take(r, bytes, &p))
		return false;
	*ret = 0;
	for (size_t i = 0; i < bytes; i++)
		*ret = *ret << 8 | p[i];
	return true;
}

static bool text_of(struct reader *r, uint64_t n, struct value *v)
{
	const unsigned char *p;

	if (n > r->n || !take(r, (size_t)n, &p))
		return false;
	v->kind = TEXT;
	v->text = (struct amd_text){(const char *)p, (size_t)n};
	return true;
}

/* What begins with 0xc0 to 0xdf. */
static bool take_long(struct reader *r, unsigned char first, struct value *v)
{
	uint64_t n = 0;

	if (first <= 0xc3) /* nil, false, true */
		return first != 0xc1;
	if (first >= 0xd9 && first <= 0xdb) /* text */
		return big_endian(r, (size_t)1 << (first - 0xd9), &n) && text_of(r, n, v);
	if (first >= 0xc4 && first <= 0xc6) { /* bytes: of no meaning here */
		if (!big_endian(r, (size_t)1 << (first - 0xc4), &n) || !text_of(r, n, v))
			return false;
		v->kind = NOTHING;
		return true;
	}
	if (first >= 0xcc && first <= 0xcf) {
		v->kind = NUMBER;
		return big_endian(r, (size_t)1 << (first - 0xcc), &v->number);
	}
	if (first >= 0xd0 && first <= 0xd3) /* with a sign: none of the numbers here has one */
		return big_endian(r, (size_t)1 << (first - 0xd0), &n);
	if (first == 0xca || first == 0xcb)
		return big_endian(r, first == 0xca ? 4 : 8, &n);
	if (first >= 0xdc) {
		v->kind = first <= 0xdd ? LIST : MAP;
		return big_endian(r, first & 1 ? 4 : 2, &v->number);
	}
	return false; /* extensions */
}

/* The next value, of a list or map only its head. */
static bool next(struct reader *r, struct value *v)
{
	const unsigned char *p;

	*v = (struct value){NOTHING};
	if (!take(r, 1, &p))
		return false;
	if (*p <= 0x7f) {
		v->kind = NUMBER;
		v->number = *p;
	} else if (*p <= 0x8f) {
		v->kind = MAP;
		v->number = *p & 0xf;
	} else if (*p <= 0x9f) {
		v->kind = LIST;
		v->number = *p & 0xf;
	} else if (*p <= 0xbf) {
		return text_of(r, *p & 0x1f, v);
	} else if (*p <= 0xdf) {
		return take_long(r, *p, v);
	}
	return true; /* the rest are small negative numbers */
}

/* Steps over what belongs to a head that was read. Each value has a byte at least. */
static bool skip_inside(struct reader *r, const struct value *head)
{
	uint64_t left = head->kind == MAP    ? 2 * head->number
			: head->kind == LIST ? head->number
					     : 0;

	while (left) {
		struct value v;

		if (left > r->n || !next(r, &v))
			return false;
		left--;
		if (v.kind == MAP || v.kind == LIST)
			left += v.kind == MAP ? 2 * v.number : v.number;
	}
	return true;
}

static bool is(const struct value *v, const char *text)
{
	return v->kind == TEXT && v->text.n == strlen(text) && !memcmp(v->text.p, text, v->text.n);
}

/* ---- the note ---- */

static bool note_in(struct reader r, struct reader *ret)
{
	while (r.n >= sizeof(Elf64_Nhdr)) {
		const unsigned char *name, *desc;
		Elf64_Nhdr h;

		memcpy(&h, r.p, sizeof(h));
		r.p += sizeof(h);
		r.n -= sizeof(h);
		if (!take(&r, ((size_t)h.n_namesz + 3) & ~(size_t)3, &name) ||
			!take(&r, h.n_descsz, &desc))
			return false;
		if (h.n_type == NOTE_METADATA && h.n_namesz == 7 && !memcmp(name, "AMDGPU", 7)) {
			*ret = (struct reader){desc, h.n_descsz};
			return true;
		}
		if (!take(&r, -h.n_descsz & 3, &desc))
			return false;
	}
	return false;
}

static bool open_object(const void *object, size_t size, Elf64_Ehdr *e)
{
	if (size < sizeof(*e))
		return false;
	memcpy(e, object, sizeof(*e));
	return !memcmp(e->e_ident, ELFMAG, SELFMAG) && e->e_ident[EI_CLASS] == ELFCLASS64 &&
	       e->e_ident[EI_DATA] == ELFDATA2LSB && e->e_machine == EM_AMDGPU &&
	       e->e_phentsize == sizeof(Elf64_Phdr);
}

/* Entry i of a table at `table` whose entries have n bytes. */
static bool entry(const void *object, size_t size, uint64_t table, uint64_t i, void *ret, size_t n)
{
	uint64_t at;

	if (ckd_mul(&at, i, (uint64_t)n) || ckd_add(&at, at, table) ||
		!range_within(at, n, 0, size))
		return false;
	memcpy(ret, (const char *)object + at, n);
	return true;
}

static bool metadata(const void *object, size_t size, struct reader *ret)
{
	Elf64_Ehdr e;

	if (!open_object(object, size, &e))
		return false;
	for (unsigned i = 0; i < e.e_phnum; i++) {
		Elf64_Phdr p;

		if (!entry(object, size, e.e_phoff, i, &p, sizeof(p)))
			return false;
		if (p.p_type != PT_NOTE || !range_within(p.p_offset, p.p_filesz, 0, size))
			continue;
		if (note_in((struct reader){(const unsigned char *)object + p.p_offset,
				    (size_t)p.p_filesz},
			    ret))
			return true;
	}
	return false;
}

/* The value of a key in the outermost map: its head is in *v, and r is behind that. */
static bool find_key(struct reader *r, const char *key, struct value *v)
{
	struct value map, k;

	if (!next(r, &map) || map.kind != MAP)
		return false;
	for (uint64_t i = 0; i < map.number; i++) {
		if (!next(r, &k) || !skip_inside(r, &k) || !next(r, v))
			return false;
		if (is(&k, key))
			return true;
		if (!skip_inside(r, v))
			return false;
	}
	return false;
}

/* ---- kernels ---- */

static bool arg_of(struct reader *r, struct amd_arg *a)
{
	struct value map, k, v;

	*a = (struct amd_arg){{"", 0}};
	if (!next(r, &map) || map.kind != MAP)
		return false;
	for (uint64_t i = 0; i < map.number; i++) {
		if (!next(r, &k) || !skip_inside(r, &k) || !next(r, &v))
			return false;
		if (is(&k, ".name") && v.kind == TEXT)
			a->name = v.text;
		else if (is(&k, ".value_kind") && v.kind == TEXT)
			a->kind = v.text;
		else if (is(&k, ".offset") && v.kind == NUMBER)
			a->offset = v.number;
		else if (is(&k, ".size") && v.kind == NUMBER)
			a->size = v.number;
		if (!skip_inside(r, &v))
			return false;
	}
	a->hidden = a->kind.n >= 7 && !memcmp(a->kind.p, "hidden_", 7);
	return true;
}

static bool is_text(const struct amd_text *t, const char *s)
{
	return t->n == strlen(s) && !memcmp(t->p, s, t->n);
}

struct room {
	struct amd_arg *args;
	uint32_t most;
};

static bool args_of(
	struct reader *r, const struct value *list, struct amd_kernel *k, const struct room *to)
{
	struct amd_arg a;

	k->args = 0;
	for (uint64_t i = 0; i < list->number; i++) {
		if (!arg_of(r, &a))
			return false;
		if (a.hidden) {
			k->calls_host |= is_text(&a.kind, "hidden_hostcall_buffer") ||
					 is_text(&a.kind, "hidden_heap_v1");
			continue;
		}
		if (k->args < to->most)
			to->args[k->args] = a;
		if (ckd_add(&k->args, k->args, 1))
			return false;
	}
	return true;
}

static void number_of(struct amd_kernel *to, const struct value *key, uint64_t v)
{
	const struct {
		const char *key;
		uint64_t *at;
	} all[] = {{".group_segment_fixed_size", &to->group_bytes},
		{".private_segment_fixed_size", &to->private_bytes},
		{".kernarg_segment_size", &to->kernarg_bytes}, {".vgpr_count", &to->vgprs},
		{".sgpr_count", &to->sgprs}, {".max_flat_workgroup_size", &to->max_items}};

	for (unsigned i = 0; i < sizeof(all) / sizeof(*all); i++)
		if (is(key, all[i].key))
			*all[i].at = v;
}

static bool kernel_of(struct reader *r, struct amd_kernel *to, const struct room *room)
{
	struct value map, k, v;

	*to = (struct amd_kernel){{"", 0}};
	if (!next(r, &map) || map.kind != MAP)
		return false;
	for (uint64_t i = 0; i < map.number; i++) {
		if (!next(r, &k) || !skip_inside(r, &k) || !next(r, &v))
			return false;
		if (is(&k, ".args") && v.kind == LIST) {
			if (!args_of(r, &v, to, room))
				return false;
			continue;
		}
		if (is(&k, ".symbol") && v.kind == TEXT)
			to->symbol = v.text;
		else if (v.kind == NUMBER)
			number_of(to, &k, v.number);
		if (!skip_inside(r, &v))
			return false;
	}
	return true;
}

bool amd_object_kernels(const void *object, size_t size,
	bool (*fn)(void *arg, const struct amd_kernel *k), void *arg)
{
	const struct room none = {NULL, 0};
	struct amd_kernel k;
	struct reader r;
	struct value list;

	if (!metadata(object, size, &r) || !find_key(&r, "amdhsa.kernels", &list) ||
		list.kind != LIST)
		return false;
	for (uint64_t i = 0; i < list.number; i++) {
		if (!kernel_of(&r, &k, &none))
			return false;
		if (!fn(arg, &k))
			break;
	}
	return true;
}

bool amd_object_kernel(const void *object, size_t size, const char *name, struct amd_kernel *ret,
	struct amd_arg *args, uint32_t most)
{
	const struct room room = {args, most};
	const size_t n = strlen(name);
	struct reader r;
	struct value list;

	if (!metadata(object, size, &r) || !find_key(&r, "amdhsa.kernels", &list) ||
		list.kind != LIST)
		return false;
	for (uint64_t i = 0; i < list.number && kernel_of(&r, ret, &room); i++)
		if (ret->symbol.n == n + 3 && !memcmp(ret->symbol.p, name, n) &&
			!memcmp(ret->symbol.p + n, ".kd", 3))
			return true;
	return false;
}

bool amd_object_target(const void *object, size_t size, struct amd_text *ret)
{
	static const char before[] = "amdgcn-amd-amdhsa--";
	const size_t n = sizeof(before) - 1;
	struct reader r;
	struct value v;

	if (!metadata(object, size, &r) || !find_key(&r, "amdhsa.target", &v) || v.kind != TEXT ||
		v.text.n <= n || memcmp(v.text.p, before, n))
		return false;
	*ret = (struct amd_text){v.text.p + n, v.text.n - n};
	return true;
}

/* ---- variables ---- */

struct file {
	const void *object;
	size_t size;
	Elf64_Ehdr head;
};

static bool section(const struct file *f, uint64_t i, Elf64_Shdr *ret)
{
	return i < f->head.e_shnum && f->head.e_shentsize == sizeof(*ret) &&
	       entry(f->object, f->size, f->head.e_shoff, i, ret, sizeof(*ret));
}

/* The table that has the most: of all symbols, else of the exported ones. */
static bool symbols(const struct file *f, Elf64_Shdr *ret)
{
	Elf64_Shdr s;
	bool found = false;

	for (unsigned i = 0; section(f, i, &s); i++) {
		if (s.sh_type != SHT_SYMTAB && (s.sh_type != SHT_DYNSYM || found))
			continue;
		*ret = s;
		found = true;
		if (s.sh_type == SHT_SYMTAB)
			break;
	}
	return found && range_within(ret->sh_offset, ret->sh_size, 0, f->size);
}

static bool name_in(
	const struct file *f, const Elf64_Shdr *names, uint64_t at, struct amd_text *ret)
{
	const char *p = (const char *)f->object + names->sh_offset + at;
	size_t most;

	if (at >= names->sh_size || !range_within(names->sh_offset, names->sh_size, 0, f->size))
		return false;
	most = (size_t)(names->sh_size - at);
	*ret = (struct amd_text){p, strnlen(p, most)};
	return ret->n && ret->n < most;
}

/* Kernels' descriptors, and what HIP's headers define for threadIdx and the like. */
static bool is_furniture(const struct amd_text *name)
{
	static const char index[] = "_ZN17__HIP_Coordinates";

	return (name->n > 3 && !memcmp(name->p + name->n - 3, ".kd", 3)) ||
	       (name->n >= sizeof(index) - 1 && !memcmp(name->p, index, sizeof(index) - 1));
}

/* By its name the linker keeps the compiled file's object apart from others. */
static bool is_mark_of_file(const struct amd_text *name)
{
	static const char mark[] = "__hip_cuid_";

	return name->n >= sizeof(mark) - 1 && !memcmp(name->p, mark, sizeof(mark) - 1);
}

/* Newer compilers put constants, which the host may set, into sections that are only read. What is
 * local there is the compiler's own. */
static bool is_variable(const struct file *f, const Elf64_Sym *y, const struct amd_text *name)
{
	Elf64_Shdr in;

	return ELF64_ST_TYPE(y->st_info) == STT_OBJECT && y->st_size &&
	       section(f, y->st_shndx, &in) && in.sh_flags & SHF_ALLOC &&
	       !(in.sh_flags & SHF_EXECINSTR) && !is_mark_of_file(name) &&
	       (in.sh_flags & SHF_WRITE ||
		       (ELF64_ST_BIND(y->st_info) != STB_LOCAL && !is_furniture(name))) &&
	       range_within(y->st_value, y->st_size, in.sh_addr, in.sh_size);
}

bool amd_object_variables(const void *object, size_t size,
	bool (*fn)(void *arg, const struct amd_variable *v), void *arg)
{
	struct file f = {object, size};
	struct amd_variable v;
	Elf64_Shdr table, names;
	Elf64_Sym y;

	if (!open_object(object, size, &f.head) || !symbols(&f, &table) ||
		!section(&f, table.sh_link, &names))
		return false;
	for (uint64_t i = 0; i < table.sh_size / sizeof(y); i++) {
		if (!entry(object, size, table.sh_offset, i, &y, sizeof(y)))
			return false;
		if (!name_in(&f, &names, y.st_name, &v.name) || !is_variable(&f, &y, &v.name))
			continue;
		v.addr = y.st_value;
		v.size = y.st_size;
		if (!fn(arg, &v))
			break;
	}
	return true;
}

struct wanted {
	const char *name;
	struct amd_variable *ret;
	bool found;
};

static bool is_wanted(void *arg, const struct amd_variable *v)
{
	struct wanted *w = arg;

	w->found = v->name.n == strlen(w->name) && !memcmp(v->name.p, w->name, v->name.n);
	if (w->found)
		*w->ret = *v;
	return !w->found;
}

bool amd_object_variable(
	const void *object, size_t size, const char *name, struct amd_variable *ret)
{
	struct wanted w = {name, ret, false};

	(void)amd_object_variables(object, size, is_wanted, &w);
	return w.found;
}

/* ---- functions ---- */

static bool is_function(const struct file *f, const Elf64_Sym *y, Elf64_Shdr *in)
{
	return ELF64_ST_TYPE(y->st_info) == STT_FUNC && y->st_size && section(f, y->st_shndx, in) &&
	       in->sh_type == SHT_PROGBITS &&
	       range_within(y->st_value, y->st_size, in->sh_addr, in->sh_size) &&
	       range_within(in->sh_offset, in->sh_size, 0, f->size);
}

void amd_object_code(const void *object, size_t size, const char *name,
	void (*fn)(void *arg, const void *code, size_t n), void *arg)
{
	struct file f = {object, size};
	struct amd_text have;
	Elf64_Shdr table, names, in;
	Elf64_Sym y;

	if (!open_object(object, size, &f.head) || !symbols(&f, &table) ||
		!section(&f, table.sh_link, &names))
		return;
	for (uint64_t i = 0; i < table.sh_size / sizeof(y); i++)
		if (entry(object, size, table.sh_offset, i, &y, sizeof(y)) &&
			is_function(&f, &y, &in) && name_in(&f, &names, y.st_name, &have) &&
			(!name || is_text(&have, name)))
			fn(arg, (const char *)object + in.sh_offset + (y.st_value - in.sh_addr),
				(size_t)y.st_size);
}

unsigned amd_object_gfx(const void *object, size_t size)
{
	/* EF_AMDGPU_MACH (LLVM, "User Guide for AMDGPU Backend", Header) */
	static const struct {
		uint8_t mach;
		uint16_t gfx;
	} all[] = {{0x2c, 0x900}, {0x2d, 0x902}, {0x2e, 0x904}, {0x2f, 0x906}, {0x30, 0x908},
		{0x3f, 0x90a}, {0x4c, 0x942}};
	Elf64_Ehdr e;

	if (!open_object(object, size, &e))
		return 0;
	for (unsigned i = 0; i < sizeof(all) / sizeof(*all); i++)
		if ((e.e_flags & 0xff) == all[i].mach)
			return all[i].gfx;
	return 0;
}

/* ---- the whole ---- */

uint64_t amd_object_span(const void *object, size_t size)
{
	Elf64_Ehdr e;
	Elf64_Phdr p;
	uint64_t end, span = 0;

	if (!open_object(object, size, &e))
		return 0;
	for (unsigned i = 0; i < e.e_phnum; i++) {
		if (!entry(object, size, e.e_phoff, i, &p, sizeof(p)) ||
			ckd_add(&end, p.p_vaddr, p.p_memsz))
			return 0;
		if (p.p_type == PT_LOAD && end > span)
			span = end;
	}
	return span;
}

bool amd_object_is_whole(const void *object, size_t size)
{
	struct file f = {object, size};
	Elf64_Phdr p;
	Elf64_Shdr s;

	if (!open_object(object, size, &f.head) || !amd_object_span(object, size))
		return false;
	for (unsigned i = 0; i < f.head.e_phnum; i++)
		if (!entry(object, size, f.head.e_phoff, i, &p, sizeof(p)) ||
			!range_within(p.p_offset, p.p_filesz, 0, size) || p.p_filesz > p.p_memsz)
			return false;
	for (unsigned i = 0; i < f.head.e_shnum; i++)
		if (!section(&f, i, &s) ||
			(s.sh_type != SHT_NOBITS && !range_within(s.sh_offset, s.sh_size, 0, size)))
			return false;
	return true;
}

static bool number_at(const char *uri, const char *key, uint64_t *ret)
{
	const char *p = strstr(uri, key);

	if (p)
		*ret = strtoull(p + strlen(key), NULL, 0);
	return p;
}

bool amd_object_uri(const char *uri, uint64_t *ret_offset, uint64_t *ret_size)
{
	return number_at(uri, "offset=", ret_offset) && number_at(uri, "size=", ret_size) &&
	       *ret_size;
}

/* --- offload bundles (LLVM, "Clang Offload Bundler") --- */

static const char magic[] = "__CLANG_OFFLOAD_BUNDLE__";
enum { MAGIC = sizeof(magic) - 1 };

static uint64_t u64_at(const unsigned char *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

/* One bundle of at most `size` bytes. */
static void bundle_objects(const unsigned char *p, size_t size,
	void (*fn)(void *arg, const void *object, size_t n), void *arg)
{
	uint64_t at = MAGIC + 8, count;

	if (size < at)
		return;
	count = u64_at(p + MAGIC);
	while (count-- && range_within(at, 24, 0, size)) {
		const uint64_t offset = u64_at(p + at), n = u64_at(p + at + 8),
			       name = u64_at(p + at + 16);

		at += 24;
		if (!range_within(at, name, 0, size) || !range_within(offset, n, 0, size))
			return;
		if (n && memmem(p + at, name, "amdgcn", 6))
			fn(arg, p + offset, n);
		at += name;
	}
}

void amd_bundle_objects(const void *bundles, size_t size,
	void (*fn)(void *arg, const void *object, size_t n), void *arg)
{
	const unsigned char *p = bundles, *end = p + size;

	while (size && (p = memmem(p, (size_t)(end - p), magic, MAGIC))) {
		bundle_objects(p, (size_t)(end - p), fn, arg);
		p += MAGIC;
	}
}
