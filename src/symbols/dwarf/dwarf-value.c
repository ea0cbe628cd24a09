/* SPDX-License-Identifier: Apache-2.0
 *
 * Evaluates the location of a variable (DWARF 5, 2.5 and 2.6) as far as compilers need it for plain
 * variables: frame base, registers, addresses, constants and a little arithmetic. Anything else is
 * named, never guessed. Expressions come from a file on disk that may be anything: the stack is
 * bounded, and there are no jumps, so evaluation ends.
 */
#include "symbols/variables.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <string.h>
#include "symbols/dwarf/dwarf-walk.h"

#define DEPTH 32u

struct machine {
	const struct dwarf_context *ctx;
	Dwarf_Attribute *attr; /* that the location is of */
	uint64_t stack[DEPTH];
	unsigned n;
	bool is_value; /* DW_OP_stack_value or a register was seen: the top is the value, not its
			  address */
	const char *why;
};

static const struct dwarf_place nowhere = {.kind = PLACE_NONE};

static bool fail(struct machine *m, const char *why)
{
	m->why = why;
	return false;
}

static bool push(struct machine *m, uint64_t v)
{
	if (m->n == DEPTH)
		return fail(m, "its location is too complicated");
	m->stack[m->n++] = v;
	return true;
}

static bool push_reg(struct machine *m, uint64_t reg, int64_t offset)
{
	const struct frame_registers *f = m->ctx->frame;
	const char *why;
	uint64_t v;

	if (!f) {
		why = m->ctx->reg ? m->ctx->reg(m->ctx->arg, reg, &v) : "registers are not known";
		return why ? fail(m, why) : push(m, v + (uint64_t)offset);
	}
	if (reg >= FRAME_REGISTERS)
		return fail(m, "it is in a vector register");
	if (!(f->valid >> reg & 1))
		return fail(m, "its register was not saved");
	return push(m, f->regs[reg] + (uint64_t)offset);
}

static bool run(struct machine *m, const Dwarf_Op *ops, size_t n);

static bool push_frame_base(struct machine *m, int64_t offset)
{
	Dwarf_Attribute attr;
	Dwarf_Op *ops;
	size_t n;
	struct machine inner = {.ctx = m->ctx, .attr = &attr};

	if (!m->ctx->function || !dwarf_attr_integrate(m->ctx->function, DW_AT_frame_base, &attr) ||
		dwarf_getlocation_addr(&attr, m->ctx->pc, &ops, &n, 1) != 1)
		return fail(m, "its function has no frame base");
	for (size_t i = 0; i < n; i++)
		if (ops[i].atom == DW_OP_fbreg)
			return fail(m, "its frame base refers to itself");
	if (!run(&inner, ops, n) || inner.n == 0)
		return fail(m, inner.why ? inner.why : "its frame base is empty");
	return push(m, inner.stack[inner.n - 1] + (uint64_t)offset);
}

static bool binary(struct machine *m, uint8_t atom)
{
	uint64_t b, a;

	if (m->n < 2)
		return fail(m, "its location is malformed");
	b = m->stack[--m->n];
	a = m->stack[--m->n];
	switch (atom) {
	case DW_OP_plus:
		return push(m, a + b);
	case DW_OP_minus:
		return push(m, a - b);
	case DW_OP_mul:
		return push(m, a * b);
	case DW_OP_and:
		return push(m, a & b);
	case DW_OP_or:
		return push(m, a | b);
	case DW_OP_xor:
		return push(m, a ^ b);
	case DW_OP_shl:
		return push(m, b < 64 ? a << b : 0);
	case DW_OP_shr:
		return push(m, b < 64 ? a >> b : 0);
	default:
		return push(m, (uint64_t)((int64_t)a >> (b < 63 ? b : 63)));
	}
}

static bool deref(struct machine *m)
{
	uint64_t v;
	struct err *e;

	if (!m->n)
		return fail(m, "its location is malformed");
	e = m->ctx->read(m->ctx->arg, m->stack[--m->n], &v, sizeof(v));
	err_free(e);
	return e ? fail(m, "memory on the way to it cannot be read") : push(m, v);
}

static bool call_frame_cfa(struct machine *m)
{
	if (!m->ctx->frame || !m->ctx->frame->cfa)
		return fail(m, "its frame's address is not known");
	return push(m, m->ctx->frame->cfa);
}

/* An address or a constant in the file's table of them. */
static bool indexed(struct machine *m, const Dwarf_Op *op)
{
	const bool is_address = op->atom == DW_OP_addrx || op->atom == DW_OP_GNU_addr_index;
	Dwarf_Attribute at;
	Dwarf_Addr v;

	if (dwarf_getlocation_attr(m->attr, op, &at) || dwarf_formaddr(&at, &v))
		return fail(m, "its location is malformed");
	return push(m, is_address ? v + m->ctx->load_bias : v);
}

static bool unary(struct machine *m, const Dwarf_Op *op)
{
	uint64_t *top = m->n ? &m->stack[m->n - 1] : NULL;

	if (!top)
		return fail(m, "its location is malformed");
	switch (op->atom) {
	case DW_OP_plus_uconst:
		*top += op->number;
		return true;
	case DW_OP_neg:
		*top = -*top;
		return true;
	case DW_OP_not:
		*top = ~*top;
		return true;
	case DW_OP_dup:
		return push(m, *top);
	default: /* DW_OP_drop */
		m->n--;
		return true;
	}
}

static bool step(struct machine *m, const Dwarf_Op *op)
{
	if (op->atom >= DW_OP_lit0 && op->atom <= DW_OP_lit31)
		return push(m, op->atom - DW_OP_lit0);
	if (op->atom >= DW_OP_breg0 && op->atom <= DW_OP_breg31)
		return push_reg(m, op->atom - DW_OP_breg0, (int64_t)op->number);
	if (op->atom >= DW_OP_reg0 && op->atom <= DW_OP_reg31) {
		m->is_value = true;
		return push_reg(m, op->atom - DW_OP_reg0, 0);
	}
	switch (op->atom) {
	case DW_OP_fbreg:
		return push_frame_base(m, (int64_t)op->number);
	case DW_OP_bregx:
		return push_reg(m, op->number, (int64_t)op->number2);
	case DW_OP_regx:
		m->is_value = true;
		return push_reg(m, op->number, 0);
	case DW_OP_call_frame_cfa:
		return call_frame_cfa(m);
	case DW_OP_addr:
		return push(m, op->number + m->ctx->load_bias);
	case DW_OP_addrx:
	case DW_OP_constx:
	case DW_OP_GNU_addr_index:
	case DW_OP_GNU_const_index:
		return indexed(m, op);
	case DW_OP_const1u:
	case DW_OP_const2u:
	case DW_OP_const4u:
	case DW_OP_const8u:
	case DW_OP_constu:
	case DW_OP_const1s:
	case DW_OP_const2s:
	case DW_OP_const4s:
	case DW_OP_const8s:
	case DW_OP_consts:
		return push(m, op->number); /* libdw has widened it */
	case DW_OP_plus_uconst:
	case DW_OP_neg:
	case DW_OP_not:
	case DW_OP_dup:
	case DW_OP_drop:
		return unary(m, op);
	case DW_OP_plus:
	case DW_OP_minus:
	case DW_OP_mul:
	case DW_OP_and:
	case DW_OP_or:
	case DW_OP_xor:
	case DW_OP_shl:
	case DW_OP_shr:
	case DW_OP_shra:
		return binary(m, op->atom);
	case DW_OP_deref:
		return deref(m);
	case DW_OP_stack_value:
		m->is_value = true;
		return true;
	case DW_OP_nop:
		return true;
	case DW_OP_entry_value:
	case DW_OP_GNU_entry_value:
		return fail(m, "only its value at the function's entry is known");
	case DW_OP_piece:
	case DW_OP_bit_piece:
		return fail(m, "it lies in pieces");
	case DW_OP_form_tls_address:
	case DW_OP_GNU_push_tls_address:
		return fail(m, "it is thread-local");
	default:
		return fail(m, "its location is of a kind that is not evaluated");
	}
}

static bool run(struct machine *m, const Dwarf_Op *ops, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!step(m, &ops[i]))
			return false;
	return true;
}

static struct dwarf_place constant(Dwarf_Die *var, Dwarf_Attribute *attr)
{
	Dwarf_Block block;
	int64_t v;

	if (dwarf_formblock(attr, &block) == 0)
		return (struct dwarf_place){
			.kind = PLACE_BYTES, .bytes = block.data, .nbytes = block.length};
	if (die_signed(var, DW_AT_const_value, &v))
		return (struct dwarf_place){.kind = PLACE_VALUE, .value = (uint64_t)v};
	return (struct dwarf_place){
		.kind = PLACE_UNKNOWN, .why = "a constant that is not a number"};
}

/* DW_OP_implicit_value: the bytes lie in the file. */
static struct dwarf_place implicit(Dwarf_Attribute *attr, const Dwarf_Op *op)
{
	Dwarf_Block block;

	if (dwarf_getlocation_implicit_value(attr, op, &block))
		return (struct dwarf_place){.kind = PLACE_UNKNOWN, .why = "its value is malformed"};
	return (struct dwarf_place){
		.kind = PLACE_BYTES, .bytes = block.data, .nbytes = block.length};
}

/* The bytes of a number of up to 8 bytes that a variable is. */
static size_t number_size(Dwarf_Die *var)
{
	Dwarf_Die type;
	Dwarf_Word size;

	return die_ref(var, DW_AT_type, &type) && dwarf_aggregate_size(&type, &size) == 0 && size &&
			       size < sizeof(uint64_t)
		       ? (size_t)size
		       : sizeof(uint64_t);
}

bool dwarf_number_at(const struct dwarf_context *ctx, Dwarf_Attribute *attr, uint64_t *ret)
{
	struct machine m = {.ctx = ctx, .attr = attr};
	struct dwarf_place place;
	Dwarf_Op *ops;
	Dwarf_Die var;
	size_t n;

	if (dwarf_formref_die(attr, &var)) {
		place = dwarf_locate(ctx, &var);
		if (place.kind == PLACE_VALUE) {
			*ret = place.value;
			return true;
		}
		if (place.kind == PLACE_MEMORY) {
			struct err *e;

			*ret = 0;
			e = ctx->read(ctx->arg, place.addr, ret, number_size(&var));
			err_free(e);
			return !e;
		}
		return false;
	}
	if (dwarf_getlocation_addr(attr, ctx->pc, &ops, &n, 1) != 1 || !run(&m, ops, n) || !m.n)
		return false;
	*ret = m.stack[m.n - 1];
	return true;
}

struct dwarf_place dwarf_locate(const struct dwarf_context *ctx, Dwarf_Die *var)
{
	Dwarf_Attribute attr;
	struct machine m = {.ctx = ctx, .attr = &attr};
	Dwarf_Op *ops;
	size_t n;

	if (dwarf_attr_integrate(var, DW_AT_const_value, &attr))
		return constant(var, &attr);
	if (!dwarf_attr_integrate(var, DW_AT_location, &attr) ||
		dwarf_getlocation_addr(&attr, ctx->pc, &ops, &n, 1) != 1 || n == 0)
		return nowhere;
	if (n == 1 && ops[0].atom == DW_OP_implicit_value)
		return implicit(&attr, &ops[0]);
	if (!run(&m, ops, n))
		return (struct dwarf_place){.kind = PLACE_UNKNOWN, .why = m.why};
	if (!m.n)
		return nowhere;
	if (m.is_value)
		return (struct dwarf_place){.kind = PLACE_VALUE, .value = m.stack[m.n - 1]};
	return (struct dwarf_place){.kind = PLACE_MEMORY, .addr = m.stack[m.n - 1]};
}
