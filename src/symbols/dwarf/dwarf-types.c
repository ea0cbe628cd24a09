/* SPDX-License-Identifier: Apache-2.0
 *
 * DWARF types as lang's, see dwarf-types.h. The file may be anything. A type that is asked for
 * while it is being made, but for a struct, is one that contains itself: it is not understood. The
 * same holds for a struct that lies in itself. Chains are bounded, and so are numbers of members.
 */
#include "symbols/dwarf/dwarf-types.h"

#include <stdlib.h>
#include <string.h>
#include "base/buf.h"
#include "base/err.h"
#include "symbols/dwarf/dwarf-walk.h"
#include "symbols/variables.h"

enum { BUCKETS = 4096, CHAIN_MAX = 100, DIMENSIONS_MAX = 16, LIST_MAX = 1 << 16, NEST_MAX = 40 };

struct made {
	struct made *next;
	const void *addr;	      /* of the DIE */
	const struct lang_type *type; /* NULL: it is being made */
};

/* A struct whose members are still to be read; in lang's memory. */
struct unread {
	struct dwarf_types *types; /* NULL: the file is closed */
	struct unread *next;
	Dwarf_Die die;
	bool busy; /* a by-value member of it is being completed */
};

struct dwarf_types {
	struct lang *l;
	struct dwarf_names *names;
	struct made *made[BUCKETS];
	struct unread *unread;
	const struct lang_type *unknown;
	unsigned depth, nest;
};

struct dwarf_types *dwarf_types_new(struct lang *l, struct dwarf_names *names)
{
	struct dwarf_types *t = xcalloc(1, sizeof *t);
	struct lang_type *unknown = lang_alloc(l, sizeof *unknown);

	*unknown = (struct lang_type){.kind = LANG_STRUCT,
		.name = "<type not understood>",
		.opaque = "<type not understood>"};
	t->unknown = unknown;
	t->l = l;
	t->names = names;
	return t;
}

void dwarf_types_free(struct dwarf_types *t)
{
	if (!t)
		return;
	for (struct unread *u = t->unread; u; u = u->next)
		u->types = NULL;
	for (unsigned i = 0; i < BUCKETS; i++) {
		for (struct made *m = t->made[i], *next; m; m = next) {
			next = m->next;
			free(m);
		}
	}
	free(t);
}

static struct lang_type *new_type(struct dwarf_types *t, enum lang_kind kind, uint64_t size)
{
	struct lang_type *r = lang_alloc(t->l, sizeof *r);

	r->kind = kind;
	r->size = size;
	return r;
}

/* The DIE's name with its namespaces; NULL: it has none. */
static const char *full_name(struct dwarf_types *t, Dwarf_Die *die)
{
	const char *name = dwarf_diename(die), *scope;
	struct buf b = BUF_INIT;

	if (!name)
		return NULL;
	scope = dwarf_names_scope(t->names, die);
	if (!*scope)
		return lang_strdup(t->l, name);
	buf_printf(&b, "%s%s", scope, name);
	name = lang_strdup(t->l, buf_cstr(&b));
	buf_free(&b);
	return name;
}

/* A type of size bytes whose values are not shown, but for why. */
static const struct lang_type *opaque(
	struct dwarf_types *t, Dwarf_Die *die, uint64_t size, const char *why)
{
	struct lang_type *r = new_type(t, LANG_STRUCT, size);
	const char *name = full_name(t, die);

	r->name = name ? name : why;
	r->opaque = why;
	r->is_plain = true;
	return r;
}

/* --- numbers --- */

/* As C writes it, where compilers begin with the size: "long unsigned int". */
static const char *plain_name(const char *name)
{
	static const char *const pairs[][2] = {{"long unsigned int", "unsigned long"},
		{"long int", "long"}, {"short int", "short"},
		{"short unsigned int", "unsigned short"}, {"long long int", "long long"},
		{"long long unsigned int", "unsigned long long"}};

	for (unsigned i = 0; i < sizeof pairs / sizeof *pairs; i++) {
		if (!strcmp(name, pairs[i][0]))
			return pairs[i][1];
	}
	return name;
}

static bool is_char(uint64_t encoding, uint64_t size, const char *name)
{
	if (encoding == DW_ATE_UTF)
		return size == 1 || size == 2 || size == 4;
	if (!strcmp(name, "wchar_t"))
		return size == 4;
	return size == 1 && (encoding == DW_ATE_signed_char || encoding == DW_ATE_unsigned_char);
}

static bool is_float(uint64_t size, const char *name)
{
	return (size == 2 || size == 4 || size == 8 || size == 16) && !strstr(name, "128");
}

static const struct lang_type *base_type(struct dwarf_types *t, Dwarf_Die *die)
{
	const uint64_t size = die_number(die, DW_AT_byte_size, 0),
		       encoding = die_number(die, DW_AT_encoding, 0);
	const char *name = dwarf_diename(die);
	struct lang_type *r = new_type(t, LANG_INT, size);

	r->name = name = lang_strdup(t->l, plain_name(name ? name : "<no name>"));
	r->is_signed = encoding == DW_ATE_signed || encoding == DW_ATE_signed_char;
	if (encoding == DW_ATE_float && is_float(size, name)) {
		r->kind = LANG_FLOAT;
		r->is_signed = true;
		r->is_brain = size == 2 && strstr(name, "bf16");
	} else if (encoding == DW_ATE_boolean && size && size <= 8) {
		r->kind = LANG_BOOL;
	} else if (is_char(encoding, size, name)) {
		r->kind = LANG_CHAR;
	} else if ((!r->is_signed && encoding != DW_ATE_unsigned &&
			   encoding != DW_ATE_unsigned_char) ||
		   !(size == 1 || size == 2 || size == 4 || size == 8 || size == 16)) {
		return opaque(t, die, size <= 4096 ? size : 0, "<type not understood>");
	}
	return r;
}

/* nvcc mangles the names of enumerators in PTX: "_ZN3sim4mode5twiceE" is sim::mode::twice. False:
 * it is no such name. */
static bool put_nested(struct buf *b, const char *name)
{
	const size_t begin = b->len;

	if (strncmp(name, "_ZN", 3) != 0)
		return false;
	for (name += 3; *name >= '1' && *name <= '9';) {
		char *rest;
		const unsigned long n = strtoul(name, &rest, 10);

		if (n > strlen(rest))
			break;
		buf_printf(b, "%s%.*s", b->len > begin ? "::" : "", (int)n, rest);
		name = rest + n;
	}
	if (b->len > begin && !strcmp(name, "E"))
		return true;
	buf_clear(b);
	return false;
}

static void put_enumerator(struct buf *b, const char *name, const struct lang_type *r,
	const char *scope, bool is_class)
{
	if (put_nested(b, name))
		return;
	if (is_class && r->name)
		buf_printf(b, "%s::", r->name);
	else
		buf_str(b, scope);
	buf_str(b, name);
}

static const struct lang_type *enumeration(struct dwarf_types *t, Dwarf_Die *die)
{
	uint64_t size = die_number(die, DW_AT_byte_size, 4);
	const bool cplusplus = die_is_cplusplus(die);
	struct lang_enumerator *list;
	struct lang_type *r;
	const char *scope = "";
	bool negative = false;
	unsigned n = 0;
	Dwarf_Die e, whole;

	if (die_ref(die, DW_AT_signature, &whole))
		return dwarf_type(t, &whole);
	if (die_flag(die, DW_AT_declaration))
		return opaque(t, die, 0, "<incomplete type>");
	if (size != 1 && size != 2 && size != 4 && size != 8)
		return opaque(t, die, 0, "<type not understood>");
	r = new_type(t, LANG_ENUM, size);
	r->name = full_name(t, die);
	r->prefix = "enum";
	r->is_plain = cplusplus && r->name;
	if (cplusplus) {
		r->target = die_ref(die, DW_AT_type, &whole) ? dwarf_type(t, &whole) : NULL;
		r->prefix = die_flag(die, DW_AT_enum_class) ? "enum class" : "enum";
	}
	for (bool more = die_first(die, &e); more && n < LIST_MAX; more = die_next(&e))
		n += dwarf_tag(&e) == DW_TAG_enumerator;
	r->enumerators = list = lang_alloc(t->l, (n + 1) * sizeof *list);
	if (cplusplus)
		scope = dwarf_names_scope(t->names, die);
	for (bool more = die_first(die, &e); more && r->nenumerators < n; more = die_next(&e)) {
		struct buf b = BUF_INIT;
		int64_t v;

		if (dwarf_tag(&e) != DW_TAG_enumerator || !dwarf_diename(&e) ||
			!die_signed(&e, DW_AT_const_value, &v))
			continue;
		put_enumerator(&b, dwarf_diename(&e), r, scope, die_flag(die, DW_AT_enum_class));
		negative |= v < 0;
		list[r->nenumerators++] =
			(struct lang_enumerator){lang_strdup(t->l, buf_cstr(&b)), v};
		buf_free(&b);
	}
	r->is_signed = negative;
	return r;
}

/* --- derived types --- */

static const struct lang_type *target_of(struct dwarf_types *t, Dwarf_Die *die)
{
	return dwarf_type_of(t, die, NULL);
}

static const struct lang_type *pointer(struct dwarf_types *t, Dwarf_Die *die)
{
	const int tag = dwarf_tag(die);
	struct lang_type *r = new_type(t, LANG_POINTER, die_number(die, DW_AT_byte_size, 8));

	if (r->size != 8)
		return opaque(t, die, 0, "<type not understood>");
	r->target = target_of(t, die);
	r->is_rvalue = tag == DW_TAG_rvalue_reference_type;
	r->is_reference = r->is_rvalue || tag == DW_TAG_reference_type;
	return r;
}

/* C's names of wide characters are typedefs of integers. */
static const struct lang_type *wide_character(
	struct dwarf_types *t, const char *name, const struct lang_type *target)
{
	const struct lang_type *plain = lang_strip(target);
	struct lang_type *r;

	if (plain->kind != LANG_INT ||
		(strcmp(name, "wchar_t") && strcmp(name, "char16_t") && strcmp(name, "char32_t")))
		return target;
	r = lang_alloc(t->l, sizeof *r);
	*r = *plain;
	r->kind = LANG_CHAR;
	return r;
}

static const struct lang_type *another_name(struct dwarf_types *t, Dwarf_Die *die)
{
	const struct lang_type *target = target_of(t, die);
	struct lang_type *r = new_type(t, LANG_TYPEDEF, target->size);

	r->name = full_name(t, die);
	if (!r->name)
		return target;
	r->target = wide_character(t, r->name, target);
	return r;
}

/* const volatile restrict, in the order in which gdb writes them. */
static const struct lang_type *qualified(struct dwarf_types *t, Dwarf_Die *die)
{
	static const struct {
		int tag;
		const char *word;
	} words[] = {{DW_TAG_const_type, "const "}, {DW_TAG_volatile_type, "volatile "},
		{DW_TAG_restrict_type, "restrict "}, {DW_TAG_atomic_type, "_Atomic "}};
	enum { WORDS = sizeof words / sizeof *words };
	const struct lang_type *r;
	bool have[WORDS] = {false};
	Dwarf_Die at = *die, next;
	struct buf b = BUF_INIT;

	for (unsigned i = 0; i < CHAIN_MAX; i++) {
		bool any = false;

		for (unsigned k = 0; k < WORDS; k++)
			any |= dwarf_tag(&at) == words[k].tag && (have[k] = true);
		if (!any)
			break;
		if (!die_ref(&at, DW_AT_type, &next)) {
			at.addr = NULL;
			break;
		}
		at = next;
	}
	r = at.addr ? dwarf_type(t, &at) : lang_base_type(t->l, "void");
	for (unsigned k = 0; k < WORDS; k++)
		buf_str(&b, have[k] ? words[k].word : "");
	if (r->kind != LANG_ARRAY && r->kind != LANG_FUNCTION && r != t->unknown)
		r = lang_qualified(t->l, r, buf_cstr(&b));
	buf_free(&b);
	return r;
}

static const struct lang_type *function(struct dwarf_types *t, Dwarf_Die *die)
{
	struct lang_type *r = new_type(t, LANG_FUNCTION, 1);
	const struct lang_type **params;
	unsigned n = 0;
	Dwarf_Die p;

	r->target = target_of(t, die);
	for (bool more = die_first(die, &p); more && n < LIST_MAX; more = die_next(&p))
		n += dwarf_tag(&p) == DW_TAG_formal_parameter;
	params = lang_alloc(t->l, (n + 1) * sizeof *params);
	r->params = params;
	for (bool more = die_first(die, &p); more && r->nparams < n; more = die_next(&p)) {
		if (dwarf_tag(&p) == DW_TAG_formal_parameter)
			params[r->nparams++] = target_of(t, &p);
	}
	for (bool more = die_first(die, &p); more; more = die_next(&p))
		r->is_variadic |= dwarf_tag(&p) == DW_TAG_unspecified_parameters;
	return r;
}

/* --- arrays --- */

/* Elements of a dimension; 0 when they are not known. With ctx a bound may be computed. */
static uint64_t elements_of(Dwarf_Die *range, const struct dwarf_context *ctx)
{
	Dwarf_Attribute attr;
	Dwarf_Word v;
	uint64_t upper;

	if (dwarf_attr_integrate(range, DW_AT_count, &attr)) {
		if (dwarf_formudata(&attr, &v) == 0)
			return v;
		return ctx && dwarf_number_at(ctx, &attr, &upper) ? upper : 0;
	}
	if (!dwarf_attr_integrate(range, DW_AT_upper_bound, &attr))
		return 0;
	if (dwarf_formudata(&attr, &v) == 0)
		return v == UINT32_MAX || v == UINT64_MAX ? 0 : v + 1; /* [0] has the bound -1 */
	return ctx && dwarf_number_at(ctx, &attr, &upper) ? upper + 1 : 0;
}

static const struct lang_type *array(
	struct dwarf_types *t, Dwarf_Die *die, const struct dwarf_context *ctx)
{
	const struct lang_type *r = target_of(t, die);
	uint64_t counts[DIMENSIONS_MAX];
	unsigned n = 0;
	Dwarf_Die d;

	for (bool more = die_first(die, &d); more; more = die_next(&d)) {
		const int tag = dwarf_tag(&d);

		if (tag != DW_TAG_subrange_type && tag != DW_TAG_enumeration_type)
			continue;
		if (n == DIMENSIONS_MAX)
			return t->unknown;
		counts[n++] = elements_of(&d, ctx);
	}
	while (n && r) {
		r = lang_array_of(t->l, r, counts[--n]);
		if (r && r->size > INT64_MAX)
			return t->unknown;
	}
	return r ? r : t->unknown;
}

/* --- structs --- */

/* Where a member lies, in bytes; false when that is computed (a virtual base). */
static bool member_offset(Dwarf_Die *m, uint64_t *ret)
{
	Dwarf_Attribute attr;
	Dwarf_Op *ops;
	size_t n;
	Dwarf_Word v;

	*ret = 0;
	if (!dwarf_attr(m, DW_AT_data_member_location, &attr))
		return true;
	if (dwarf_formudata(&attr, &v) == 0) {
		*ret = v;
		return true;
	}
	if (dwarf_getlocation(&attr, &ops, &n) || n != 1 || ops[0].atom != DW_OP_plus_uconst)
		return false;
	*ret = ops[0].number;
	return true;
}

/* A bit-field's first bit from the start of the struct, whose bytes are little endian. */
static bool first_bit(
	Dwarf_Die *m, const struct lang_type *type, uint64_t offset, uint64_t bits, uint64_t *ret)
{
	Dwarf_Attribute attr;
	int64_t from_top;
	uint64_t storage;

	if (dwarf_attr(m, DW_AT_data_bit_offset, &attr)) {
		*ret = die_number(m, DW_AT_data_bit_offset, UINT64_MAX);
		return *ret < UINT64_MAX / 16;
	}
	*ret = offset * 8;
	if (!dwarf_attr(m, DW_AT_bit_offset, &attr))
		return true;
	storage = die_number(m, DW_AT_byte_size, type->size);
	if (!die_signed(m, DW_AT_bit_offset, &from_top) || from_top > 128 || from_top < -128 ||
		storage > 16)
		return false;
	*ret = offset * 8 + storage * 8 - (uint64_t)from_top - bits;
	return *ret < UINT64_MAX / 16;
}

static bool is_integral(const struct lang_type *t)
{
	t = lang_strip(t);
	return t->kind == LANG_INT || t->kind == LANG_CHAR || t->kind == LANG_BOOL ||
	       t->kind == LANG_ENUM;
}

/* Reads the members of a struct that lies in another one, so that one that lies in itself is seen.
 */
static const struct lang_type *contained(struct dwarf_types *t, const struct lang_type *type)
{
	const struct lang_type *inner = lang_strip(type);
	const struct unread *u;

	for (unsigned i = 0; inner->kind == LANG_ARRAY && i < DIMENSIONS_MAX + CHAIN_MAX; i++)
		inner = lang_strip(inner->target);
	if (inner->kind != LANG_STRUCT || !inner->complete_arg)
		return type;
	u = inner->complete_arg;
	if (u->busy || (inner->complete && t->nest > NEST_MAX))
		return t->unknown;
	lang_complete(inner);
	return type;
}

static bool take_member(struct dwarf_types *t, Dwarf_Die *m, struct lang_member *ret)
{
	const int tag = dwarf_tag(m);
	const char *name = dwarf_diename(m);
	uint64_t bits, bit;
	Dwarf_Attribute attr;

	if ((tag != DW_TAG_member && tag != DW_TAG_inheritance) || die_flag(m, DW_AT_declaration) ||
		die_flag(m, DW_AT_external))
		return false;
	*ret = (struct lang_member){.name = name ? lang_strdup(t->l, name) : NULL,
		.type = contained(t, target_of(t, m)),
		.is_base = tag == DW_TAG_inheritance};
	if (!member_offset(m, &ret->offset) || ret->offset > UINT64_MAX / 16)
		ret->type = t->unknown;
	bits = die_number(m, DW_AT_bit_size, 0);
	if (!dwarf_attr(m, DW_AT_bit_size, &attr) || ret->type == t->unknown)
		return true;
	if (!bits || bits > 64 || !is_integral(ret->type) || lang_strip(ret->type)->size > 8 ||
		!first_bit(m, ret->type, ret->offset, bits, &bit)) {
		ret->type = t->unknown;
		return true;
	}
	ret->offset = bit / 8;
	ret->bit_offset = bit % 8;
	ret->bits = (unsigned)bits;
	return true;
}

static void read_members(struct dwarf_types *t, struct lang_type *type, Dwarf_Die *die)
{
	struct lang_member *list;
	unsigned n = 0;
	Dwarf_Die m;

	for (bool more = die_first(die, &m); more && n < LIST_MAX; more = die_next(&m))
		n += dwarf_tag(&m) == DW_TAG_member || dwarf_tag(&m) == DW_TAG_inheritance;
	type->members = list = lang_alloc(t->l, (n + 1) * sizeof *list);
	for (bool more = die_first(die, &m); more && type->nmembers < n; more = die_next(&m))
		type->nmembers += take_member(t, &m, &list[type->nmembers]);
}

static void complete(struct lang_type *type)
{
	struct unread *u = type->complete_arg;
	struct dwarf_types *t = u->types;

	if (!t) {
		type->opaque = "<the program's debug information is closed>";
		return;
	}
	u->busy = true;
	t->nest++;
	read_members(t, type, &u->die);
	t->nest--;
	u->busy = false;
}

/* The complete struct of the name that die only declares. */
static bool definition(struct dwarf_types *t, Dwarf_Die *die, Dwarf_Die *ret)
{
	const char *name = dwarf_diename(die);
	const unsigned kind =
		dwarf_tag(die) == DW_TAG_union_type ? DWARF_NAME_UNION : DWARF_NAME_STRUCT;
	struct buf b = BUF_INIT;
	bool found;

	if (!name)
		return false;
	buf_printf(&b, "%s%s", dwarf_names_scope(t->names, die), name);
	found = dwarf_names_find(t->names, kind, buf_cstr(&b), NULL, ret);
	buf_free(&b);
	return found && !die_flag(ret, DW_AT_declaration);
}

static const struct lang_type *structure(struct dwarf_types *t, Dwarf_Die *die)
{
	const int tag = dwarf_tag(die);
	struct lang_type *r;
	struct unread *u;
	Dwarf_Die whole;

	if (die_ref(die, DW_AT_signature, &whole))
		return dwarf_type(t, &whole);
	if (die_flag(die, DW_AT_declaration) && definition(t, die, &whole))
		return dwarf_type(t, &whole);
	r = new_type(t, LANG_STRUCT, die_number(die, DW_AT_byte_size, 0));
	r->name = full_name(t, die);
	r->prefix = tag == DW_TAG_union_type   ? "union"
		    : tag == DW_TAG_class_type ? "class"
					       : "struct";
	r->is_plain = r->name && die_is_cplusplus(die);
	if (die_flag(die, DW_AT_declaration)) {
		r->opaque = "<incomplete type>";
		return r;
	}
	if (r->size > INT64_MAX)
		return t->unknown;
	u = lang_alloc(t->l, sizeof *u);
	*u = (struct unread){.types = t, .next = t->unread, .die = *die};
	t->unread = u;
	r->complete = complete;
	r->complete_arg = u;
	return r;
}

/* --- all --- */

static const struct lang_type *make(struct dwarf_types *t, Dwarf_Die *die)
{
	switch (dwarf_tag(die)) {
	case DW_TAG_base_type:
		return base_type(t, die);
	case DW_TAG_enumeration_type:
		return enumeration(t, die);
	case DW_TAG_pointer_type:
	case DW_TAG_reference_type:
	case DW_TAG_rvalue_reference_type:
		return pointer(t, die);
	case DW_TAG_typedef:
		return another_name(t, die);
	case DW_TAG_const_type:
	case DW_TAG_volatile_type:
	case DW_TAG_restrict_type:
	case DW_TAG_atomic_type:
		return qualified(t, die);
	case DW_TAG_subroutine_type:
	case DW_TAG_subprogram:
		return function(t, die);
	case DW_TAG_array_type:
		return array(t, die, NULL);
	case DW_TAG_structure_type:
	case DW_TAG_class_type:
	case DW_TAG_union_type:
		return structure(t, die);
	default: {
		const uint64_t size = die_number(die, DW_AT_byte_size, 0);

		return opaque(t, die, size <= 4096 ? size : 0, "<type not understood>");
	}
	}
}

static unsigned bucket_of(const void *addr)
{
	return (unsigned)((uint64_t)(uintptr_t)addr * 0x9e3779b97f4a7c15u >> 40) % BUCKETS;
}

const struct lang_type *dwarf_type(struct dwarf_types *t, Dwarf_Die *die)
{
	const unsigned h = bucket_of(die->addr);
	const struct lang_type *type;
	struct made *m;

	for (m = t->made[h]; m; m = m->next) {
		if (m->addr == die->addr)
			return m->type ? m->type : t->unknown;
	}
	if (t->depth > CHAIN_MAX)
		return t->unknown;
	m = xmalloc(sizeof *m);
	*m = (struct made){.next = t->made[h], .addr = die->addr};
	t->made[h] = m;
	t->depth++;
	type = make(t, die);
	t->depth--;
	m->type = type;
	return type;
}

/* Through typedefs and qualifiers to an array, which has its size from the frame. */
static bool find_array(Dwarf_Die *die, Dwarf_Die *ret)
{
	Dwarf_Die at = *die;

	for (unsigned i = 0; i < CHAIN_MAX; i++) {
		const int tag = dwarf_tag(&at);

		if (tag == DW_TAG_array_type) {
			*ret = at;
			return true;
		}
		if ((tag != DW_TAG_typedef && tag != DW_TAG_const_type &&
			    tag != DW_TAG_volatile_type) ||
			!die_ref(&at, DW_AT_type, &at))
			return false;
	}
	return false;
}

const struct lang_type *dwarf_type_of(
	struct dwarf_types *t, Dwarf_Die *die, const struct dwarf_context *ctx)
{
	const struct lang_type *r;
	Dwarf_Die type, whole;

	if (!die_ref(die, DW_AT_type, &type))
		return lang_base_type(t->l, "void");
	r = dwarf_type(t, &type);
	if (ctx && lang_strip(r)->kind == LANG_ARRAY && !r->size && find_array(&type, &whole))
		return array(t, &whole, ctx);
	return r;
}
