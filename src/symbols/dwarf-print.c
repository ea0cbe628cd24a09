/* SPDX-License-Identifier: Apache-2.0
 *
 * Prints a variable as gdb would, by its DWARF type: numbers, characters, pointers, C strings,
 * enumerations, structures and arrays, the last two cut short: a backtrace is to be read, not
 * scrolled. Types may be cyclic or hostile: depth and counts are bounded.
 */
#include "symbols/variables.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <string.h>

#define DEPTH_MAX 3u /* structures within structures; then {...} */
#define ELEMENTS_MAX 8u
#define MEMBERS_MAX 16u
#define STRING_MAX 200u
#define PEEL_MAX 32u

struct printer {
	const struct dwarf_context *ctx;
	struct buf *out;
};

/* ---- types ---- */

static bool type_of(Dwarf_Die *die, Dwarf_Die *ret)
{
	Dwarf_Attribute attr;

	return dwarf_attr_integrate(die, DW_AT_type, &attr) && dwarf_formref_die(&attr, ret);
}

/* Without typedef, const, volatile and the like. False for void. */
static bool peel(Dwarf_Die *type)
{
	for (unsigned i = 0; i < PEEL_MAX; i++) {
		switch (dwarf_tag(type)) {
		case DW_TAG_typedef:
		case DW_TAG_const_type:
		case DW_TAG_volatile_type:
		case DW_TAG_restrict_type:
		case DW_TAG_atomic_type:
			break;
		default:
			return true;
		}
		if (!type_of(type, type))
			return false;
	}
	return false;
}

static uint64_t unsigned_attr(Dwarf_Die *die, unsigned name, uint64_t otherwise)
{
	Dwarf_Attribute attr;
	Dwarf_Word v;

	return dwarf_attr_integrate(die, name, &attr) && dwarf_formudata(&attr, &v) == 0
		       ? v
		       : otherwise;
}

static uint64_t size_of(Dwarf_Die *type)
{
	Dwarf_Word n;

	return dwarf_aggregate_size(type, &n) == 0 ? n : 0;
}

static bool is_char(Dwarf_Die *type)
{
	uint64_t e;

	if (dwarf_tag(type) != DW_TAG_base_type || size_of(type) != 1)
		return false;
	e = unsigned_attr(type, DW_AT_encoding, 0);
	return e == DW_ATE_signed_char || e == DW_ATE_unsigned_char || e == DW_ATE_UTF;
}

/* ---- bytes ---- */

static bool read_place(
	const struct printer *p, const struct dwarf_place *place, void *dst, uint64_t n)
{
	struct err *e;

	if (place->kind == PLACE_VALUE) {
		if (n > sizeof(place->value))
			return false;
		memcpy(dst, &place->value, n);
		return true;
	}
	e = p->ctx->read(p->ctx->arg, place->addr, dst, n);
	err_free(e);
	return !e;
}

static void unreadable(const struct printer *p, const struct dwarf_place *place)
{
	if (place->kind == PLACE_VALUE)
		buf_str(p->out, "<value larger than a register>");
	else
		buf_printf(p->out, "<cannot access memory at 0x%llx>",
			(unsigned long long)place->addr);
}

static void print_char(struct buf *out, unsigned char c, char quote)
{
	if (c >= 7 && c <= 13)
		buf_printf(out, "\\%c", "abtnvfr"[c - 7]);
	else if (c == (unsigned char)quote || c == '\\')
		buf_printf(out, "\\%c", c);
	else if (c >= 32 && c != 127)
		buf_byte(out, c);
	else
		buf_printf(out, "\\%03o", c);
}

/* Bytes up to a NUL, limit, or unreadable memory. */
static void print_string(const struct printer *p, uint64_t addr, uint64_t limit)
{
	uint64_t n = 0;
	unsigned char c;
	bool ended = false;

	buf_byte(p->out, '"');
	for (; n < limit && n < STRING_MAX; n++) {
		struct err *e = p->ctx->read(p->ctx->arg, addr + n, &c, 1);

		err_free(e);
		if (e || !c) {
			ended = true;
			break;
		}
		print_char(p->out, c, '"');
	}
	buf_byte(p->out, '"');
	if (!ended && n < limit)
		buf_str(p->out, "...");
}

/* ---- scalars ---- */

static void print_float(const struct printer *p, const unsigned char *b, uint64_t n)
{
	float f;
	double d;
	long double l;

	if (n == sizeof(f)) {
		memcpy(&f, b, n);
		buf_printf(p->out, "%.9g", (double)f);
	} else if (n == sizeof(d)) {
		memcpy(&d, b, n);
		buf_printf(p->out, "%.17g", d);
	} else if (n == sizeof(l)) {
		memcpy(&l, b, n);
		buf_printf(p->out, "%.18Lg", l);
	} else {
		buf_printf(p->out, "<%llu-byte float>", (unsigned long long)n);
	}
}

static int64_t sign_extend(uint64_t v, uint64_t bytes)
{
	unsigned shift = 64 - 8 * (unsigned)bytes;

	return (int64_t)(v << shift) >> shift;
}

static void print_base(const struct printer *p, Dwarf_Die *type, const struct dwarf_place *place)
{
	unsigned char b[16] = {0};
	uint64_t n = size_of(type), v = 0,
		 encoding = unsigned_attr(type, DW_AT_encoding, DW_ATE_signed);

	if (n == 0 || n > sizeof(b)) {
		buf_printf(p->out, "<%llu bytes>", (unsigned long long)n);
		return;
	}
	if (!read_place(p, place, b, n)) {
		unreadable(p, place);
		return;
	}
	if (encoding == DW_ATE_float) {
		print_float(p, b, n);
		return;
	}
	if (n > sizeof(v)) {
		buf_str(p->out, "0x");
		for (uint64_t i = n; i-- > 0;)
			buf_printf(p->out, "%02x", b[i]);
		return;
	}
	memcpy(&v, b, n);
	if (encoding == DW_ATE_boolean && v <= 1)
		buf_str(p->out, v ? "true" : "false");
	else if (encoding == DW_ATE_unsigned || encoding == DW_ATE_unsigned_char ||
		 encoding == DW_ATE_UTF)
		buf_printf(p->out, "%llu", (unsigned long long)v);
	else
		buf_printf(p->out, "%lld", (long long)sign_extend(v, n));
	if (is_char(type)) {
		buf_str(p->out, " '");
		if (b[0] < 128)
			print_char(p->out, b[0], '\'');
		else
			buf_printf(p->out, "\\%03o", b[0]);
		buf_byte(p->out, '\'');
	}
}

static void print_enum(const struct printer *p, Dwarf_Die *type, const struct dwarf_place *place)
{
	uint64_t n = size_of(type), v = 0;
	int64_t value;
	Dwarf_Die child;

	if (n == 0 || n > sizeof(v) || !read_place(p, place, &v, n)) {
		unreadable(p, place);
		return;
	}
	value = sign_extend(v, n);
	for (int r = dwarf_child(type, &child); r == 0; r = dwarf_siblingof(&child, &child)) {
		Dwarf_Attribute attr;
		Dwarf_Sword c;

		if (dwarf_tag(&child) == DW_TAG_enumerator &&
			dwarf_attr(&child, DW_AT_const_value, &attr) &&
			dwarf_formsdata(&attr, &c) == 0 && (c == value || (uint64_t)c == v) &&
			dwarf_diename(&child)) {
			buf_str(p->out, dwarf_diename(&child));
			return;
		}
	}
	buf_printf(p->out, "%lld", (long long)value);
}

static void print_pointer(const struct printer *p, Dwarf_Die *type, const struct dwarf_place *place)
{
	uint64_t v;
	Dwarf_Die to;

	if (!read_place(p, place, &v, sizeof(v))) {
		unreadable(p, place);
		return;
	}
	if (dwarf_tag(type) != DW_TAG_pointer_type)
		buf_byte(p->out, '@'); /* a reference */
	buf_printf(p->out, "0x%llx", (unsigned long long)v);
	if (v && type_of(type, &to) && peel(&to) && is_char(&to)) {
		buf_byte(p->out, ' ');
		print_string(p, v, UINT64_MAX);
	}
}

/* ---- aggregates ---- */

static void print_value(
	const struct printer *p, Dwarf_Die *type, const struct dwarf_place *place, unsigned depth);

static void print_member(
	const struct printer *p, Dwarf_Die *member, const struct dwarf_place *whole, unsigned depth)
{
	struct dwarf_place place = *whole;
	Dwarf_Attribute attr;
	Dwarf_Die type;
	uint64_t offset = unsigned_attr(member, DW_AT_data_member_location, 0);

	if (dwarf_attr(member, DW_AT_bit_size, &attr) ||
		(whole->kind == PLACE_VALUE && offset >= 8) || !type_of(member, &type)) {
		buf_str(p->out, "...");
		return;
	}
	place.addr += offset;
	place.value >>= 8 * (offset & 7);
	print_value(p, &type, &place, depth + 1);
}

static void print_struct(
	const struct printer *p, Dwarf_Die *type, const struct dwarf_place *place, unsigned depth)
{
	unsigned n = 0;
	Dwarf_Die m;

	if (depth >= DEPTH_MAX || (place->kind == PLACE_VALUE && size_of(type) > 8)) {
		buf_str(p->out, "{...}");
		return;
	}
	buf_byte(p->out, '{');
	for (int r = dwarf_child(type, &m); r == 0; r = dwarf_siblingof(&m, &m)) {
		int tag = dwarf_tag(&m);
		Dwarf_Attribute attr;

		if ((tag != DW_TAG_member && tag != DW_TAG_inheritance) ||
			dwarf_attr(&m, DW_AT_external, &attr))
			continue;
		if (n++)
			buf_str(p->out, ", ");
		if (n > MEMBERS_MAX) {
			buf_str(p->out, "...");
			break;
		}
		if (dwarf_diename(&m))
			buf_printf(p->out, "%s = ", dwarf_diename(&m));
		print_member(p, &m, place, depth);
	}
	buf_byte(p->out, '}');
}

/* Elements of the first dimension; UINT64_MAX when that is not known. */
static uint64_t array_count(Dwarf_Die *type, bool *ret_more_dimensions)
{
	uint64_t n = UINT64_MAX;
	unsigned dimensions = 0;
	Dwarf_Die d;

	for (int r = dwarf_child(type, &d); r == 0; r = dwarf_siblingof(&d, &d)) {
		uint64_t upper;

		if (dwarf_tag(&d) != DW_TAG_subrange_type || dimensions++)
			continue;
		upper = unsigned_attr(&d, DW_AT_upper_bound, UINT64_MAX);
		n = unsigned_attr(&d, DW_AT_count, upper == UINT64_MAX ? UINT64_MAX : upper + 1);
	}
	*ret_more_dimensions = dimensions > 1;
	return n;
}

static void print_array(
	const struct printer *p, Dwarf_Die *type, const struct dwarf_place *place, unsigned depth)
{
	bool more;
	uint64_t n = array_count(type, &more), size;
	Dwarf_Die element, peeled;

	if (place->kind != PLACE_MEMORY || depth >= DEPTH_MAX || more || n == UINT64_MAX ||
		!type_of(type, &element)) {
		buf_str(p->out, "{...}");
		return;
	}
	peeled = element;
	if (peel(&peeled) && is_char(&peeled)) {
		print_string(p, place->addr, n);
		return;
	}
	size = size_of(&element);
	buf_byte(p->out, '{');
	for (uint64_t i = 0; i < n && i < ELEMENTS_MAX; i++) {
		struct dwarf_place at = {.kind = PLACE_MEMORY, .addr = place->addr + i * size};

		if (i)
			buf_str(p->out, ", ");
		print_value(p, &element, &at, depth + 1);
	}
	buf_str(p->out, n > ELEMENTS_MAX ? ", ...}" : "}");
}

static void print_value(
	const struct printer *p, Dwarf_Die *type, const struct dwarf_place *place, unsigned depth)
{
	Dwarf_Die t = *type;

	if (!peel(&t)) {
		buf_str(p->out, "<void>");
		return;
	}
	switch (dwarf_tag(&t)) {
	case DW_TAG_base_type:
		print_base(p, &t, place);
		return;
	case DW_TAG_enumeration_type:
		print_enum(p, &t, place);
		return;
	case DW_TAG_pointer_type:
	case DW_TAG_reference_type:
	case DW_TAG_rvalue_reference_type:
		print_pointer(p, &t, place);
		return;
	case DW_TAG_structure_type:
	case DW_TAG_class_type:
		print_struct(p, &t, place, depth);
		return;
	case DW_TAG_array_type:
		print_array(p, &t, place, depth);
		return;
	default: /* unions, member pointers, ... */
		buf_str(p->out, "{...}");
	}
}

void dwarf_print(const struct dwarf_context *ctx, struct buf *out, Dwarf_Die *type,
	const struct dwarf_place *place)
{
	struct printer p = {ctx, out};

	print_value(&p, type, place, 0);
}
