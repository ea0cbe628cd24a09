/* SPDX-License-Identifier: Apache-2.0
 *
 * Where code is: info line, info symbol, info frame. Of the host by its debug information, of
 * kernels by their PTX. In a trace the host's addresses are the ELF files' own: it does not say
 * where they were loaded.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "attach/attach.h"
#include "attach/program-names.h"
#include "base/file.h"
#include "base/words.h"
#include "engine/kernel-lines.h"
#include "shell/print/kernel-text.h"
#include "shell/print/listing.h"
#include "shell/print/stack-view.h"
#include "shell/source/source-place.h"
#include "shell/source/source-view.h"
#include "shell/values/value.h"
#include "state/state.h"
#include "symbols/places.h"

enum { NAME_ROOM = 512 };

static bool in_replay(const struct session *s)
{
	return s->focus == FOCUS_REPLAY && s->engine.trace.reader;
}

/* --- info line --- */

const char cmd_info_line_help[] =
	"Says which code a line of the source has: addresses of the host's, lines of the PTX of\n"
	"kernels (those that `break ptx` takes). Without a place, the line of the last stop or of\n"
	"the selected frame; *ADDRESS: the line that the code at an address is of. Addresses of a\n"
	"program that does not run are its file's own.\n"
	"Examples: info line 71\n"
	"          info line blur.cu:25\n"
	"          info line *0x401a2b\n";

struct code_row {
	const char *file, *kernel, *function, *binary; /* kernel or function */
	unsigned line;
	uint64_t ptx, offset, start, end; /* ptx: line of the PTX, 0: host code */
};
JS_DEFINE(code_object, "code", code_row, JS(TEXT, code_row, file), JS(UINT, code_row, line),
	JS_MAYBE("start", HEX, code_row, start), JS_MAYBE("end", HEX, code_row, end),
	JS_AS("kernel_name", TEXT, code_row, kernel), JS_MAYBE("code_line", SEQ, code_row, ptx),
	JS(TEXT, code_row, function, binary));

static void code_text(struct buf *b, const void *row)
{
	const struct code_row *r = row;

	buf_printf(b, "Line %u of \"%s\" ", r->line, r->file);
	if (r->kernel) {
		buf_printf(b, "begins at line %" PRIu64 " of the PTX of %s.\n", r->ptx, r->kernel);
		return;
	}
	buf_printf(b, "starts at address 0x%" PRIx64, r->start);
	if (r->function)
		buf_printf(b, " <%s+%" PRIu64 ">", r->function, r->offset);
	buf_printf(b, " and ends at 0x%" PRIx64 ".\n", r->end);
}

struct line_code {
	struct session *s;
	struct listing l;
	const char *binary;
	uint64_t bias;
};

static void add_code(void *arg, const struct symbols_code *c)
{
	struct line_code *x = arg;
	struct code_row r = {.file = c->file,
		.line = c->line,
		.binary = x->binary,
		.start = c->begin + x->bias,
		.end = c->end + x->bias};
	struct symbol sym;

	if (symbols_data(session_symbols(x->s), x->binary, c->begin, &sym)) {
		r.function = sym.function;
		r.offset = sym.offset;
	}
	listing_add(&x->l, &r);
}

static struct err *code_of_kernels(struct line_code *x, const struct source_found *at)
{
	struct kernel_lines l;
	char name[NAME_ROOM];

	TRY(source_kernel_lines(x->s, &l));
	for (unsigned i = 0; i < l.n; i++) {
		const struct kernel_line *k = &l.v[i];

		if (!k->file || k->line != at->line ||
			!symbols_same_file(k->file, file_name_of(at->file)))
			continue;
		listing_add(
			&x->l, &(struct code_row){.file = k->file,
				       .line = k->line,
				       .ptx = k->ptx,
				       .kernel = kernel_short_name(name, sizeof name, k->kernel)});
	}
	kernel_lines_free(&l);
	return NULL;
}

/* Host and kernels may have other paths for one file: its name counts. */
static struct err *code_of_place(struct session *s, const struct source_found *at, bool json)
{
	struct line_code x = {.s = s, .l = listing_begin(s, json, &code_object, NULL, code_text)};
	char *program = NULL, *none;
	struct err *e = code_of_kernels(&x, at);

	for (unsigned i = 0; !e && (x.binary = source_binary(s, i, &program)); i++) {
		x.bias = source_bias(s, i);
		if (*x.binary)
			symbols_code_of_line(session_symbols(s), x.binary, file_name_of(at->file),
				at->line, add_code, &x);
	}
	free(program);
	if (e) {
		buf_free(&x.l.b);
		return e;
	}
	none = xasprintf("Line %u of \"%s\" has no code.\n", at->line, at->file);
	listing_end(&x.l, none);
	free(none);
	return NULL;
}

static struct err *no_code_at(uint64_t addr)
{
	return err_cure(err_new(ERR_NOT_FOUND, "no code with line numbers is at 0x%" PRIx64, addr),
		"\"info sharedlibrary\" says which files have them");
}

/* The line of an address of the live program, or of the program's file. */
static struct err *line_of_address(struct session *s, const char *text, struct source_found *ret)
{
	char *program = NULL;
	const char *path;
	uint64_t addr;
	bool done = false;

	TRY(value_address(s, text, &addr, NULL));
	for (unsigned i = 0; !done && (path = source_binary(s, i, &program)); i++) {
		struct symbol y;

		if (!*path ||
			!symbols_lookup(
				session_symbols(s), path, NULL, addr - source_bias(s, i), &y, 1) ||
			!y.file || !y.line)
			continue;
		*ret = (struct source_found){
			xstrdup(y.file), y.folder ? xstrdup(y.folder) : NULL, y.line};
		done = true;
	}
	free(program);
	return done ? NULL : no_code_at(addr);
}

struct err *cmd_info_line(struct session *s, const struct cmd_args *a)
{
	struct source_found at = {0};
	struct source_place here;
	struct err *e = NULL;

	if (*a->rest == '*')
		e = line_of_address(s, a->rest + 1, &at);
	else if (*a->rest)
		e = source_of_place(s, a->rest, &at);
	else if (source_current(s, &here))
		at = (struct source_found){xstrdup(here.file), NULL, here.line};
	else
		e = err_cure(err_new(ERR_STATE, "there is no place in the source to look at"),
			"Stop somewhere first, or use \"info line FILE:LINE\"");
	if (!e)
		e = code_of_place(s, &at, a->json);
	source_found_free(&at);
	return e;
}

/* --- info symbol --- */

const char cmd_info_symbol_help[] =
	"Says what is at an address: a function or variable of the program, or an allocation of the\n"
	"device. A trace does not say where the host's code was loaded.\n"
	"Example: info symbol 0x302000010\n";

struct symbol_row {
	uint64_t addr, offset, allocation, size, seq;
	const char *name, *binary;
};
JS_DEFINE(symbol_object, "symbol", symbol_row, JS(HEX, symbol_row, addr),
	JS(TEXT, symbol_row, name, binary), JS_MAYBE("allocation", HEX, symbol_row, allocation),
	JS(UINT, symbol_row, offset), JS_MAYBE("size", SEQ, symbol_row, size),
	JS_MAYBE("alloc_seq", SEQ, symbol_row, seq));

static void symbol_text(struct buf *b, const void *row)
{
	const struct symbol_row *r = row;

	if (r->name) {
		buf_str(b, r->name);
		if (r->offset)
			buf_printf(b, " + %" PRIu64, r->offset);
		buf_printf(b, " in %s\n", r->binary);
		return;
	}
	if (r->offset)
		buf_printf(b, "%" PRIu64 " byte%s into ", r->offset, r->offset == 1 ? "" : "s");
	buf_printf(b, "the allocation of %" PRIu64 " byte%s at 0x%" PRIx64, r->size,
		r->size == 1 ? "" : "s", r->allocation);
	if (r->seq)
		buf_printf(b, ", made by #%" PRIu64, r->seq);
	buf_byte(b, '\n');
}

/* Whether a live allocation of the device has the address. */
static bool in_allocation(struct session *s, uint64_t addr, struct symbol_row *ret)
{
	const struct state *st;
	struct state_alloc al;
	struct err *e = session_state(s, &st);
	const bool known = !e && state_alloc_at(st, addr, &al);

	err_free(e);
	if (known)
		*ret = (struct symbol_row){.addr = addr,
			.offset = addr - al.addr,
			.allocation = al.addr,
			.size = al.size,
			.seq = al.alloc_seq};
	return known;
}

/* Whether a file of the program has it; of a program that does not run, by its own addresses. */
static bool in_program(struct session *s, uint64_t addr, struct symbol_row *ret)
{
	char *program = NULL;
	const char *path;
	struct symbol y;
	bool done = false;

	if (in_replay(s))
		return false;
	if (s->engine.live.inf) {
		done = program_symbol(&(struct program_place){.inf = s->engine.live.inf}, addr, &y);
	} else {
		path = source_binary(s, 0, &program);
		done = path && *path && symbols_data(session_symbols(s), path, addr, &y);
	}
	free(program);
	if (done)
		*ret = (struct symbol_row){
			.addr = addr, .offset = y.offset, .name = y.function, .binary = y.module};
	return done;
}

struct err *cmd_info_symbol(struct session *s, const struct cmd_args *a)
{
	struct symbol_row row;
	uint64_t addr;

	if (!*a->rest)
		return err_cure(err_new(ERR_USAGE, "info symbol needs an address"),
			"For example: info symbol 0x302000010");
	TRY(value_address(s, a->rest, &addr, NULL));
	if (!in_allocation(s, addr, &row) && !in_program(s, addr, &row))
		return err_cure(err_new(ERR_NOT_FOUND, "no symbol matches 0x%" PRIx64, addr),
			in_replay(s)
				? "In a replay the addresses are the device's: \"info allocations\" lists them"
				: "\"info functions\" lists functions, \"info allocations\" memory of the device");
	listing_one(s, a->json, &symbol_object, symbol_text, &row);
	return NULL;
}

/* --- info frame --- */

const char cmd_info_frame_help[] =
	"Says what is known of the selected frame of the host stack: function, line, address, file,\n"
	"and which frame called it. N: of that frame.\n"
	"Example: info frame 2\n";

static void frame_text(struct buf *b, const struct stack *st, unsigned i)
{
	const struct backtrace_frame *f = &st->frames[i];

	buf_printf(b, "Frame %u: ", i);
	stack_print_place(b, st, i);
	buf_byte(b, '\n');
	if (f->inlined)
		buf_str(b, "  inlined into the frame that called it\n");
	else if (!f->python)
		buf_printf(b,
			st->recorded ? "  at 0x%" PRIx64 " of its file\n" : "  pc 0x%" PRIx64 "\n",
			f->pc);
	if (f->sym.function && !f->python && !f->inlined)
		buf_printf(b, "  %" PRIu64 " bytes behind the beginning of the function\n",
			f->sym.offset);
	if (f->sym.module)
		buf_printf(b, "  file %s\n", f->sym.module);
	if (f->sp)
		buf_printf(b, "  stack pointer 0x%" PRIx64 "\n", f->sp);
	if (i + 1 == st->n)
		return;
	buf_printf(b, "  called by frame %u: ", i + 1);
	stack_print_place(b, st, i + 1);
	buf_byte(b, '\n');
}

struct err *cmd_info_frame(struct session *s, const struct cmd_args *a)
{
	uint64_t i = s->engine.live.frame;
	struct buf b = BUF_INIT;
	struct stack st;

	if (a->argc > 1 || (a->argc && !word_u64(a->argv[0], &i)))
		return err_cure(err_new(ERR_USAGE, "\"%s\" is no frame", a->rest),
			"\"bt\" shows their numbers");
	TRY(stack_get(s, STACK_MIXED, &st));
	if (i >= st.n) {
		const unsigned n = st.n;

		stack_free(&st);
		return err_cure(
			err_new(ERR_NOT_FOUND, "the stack has %u frame%s", n, n == 1 ? "" : "s"),
			"\"bt\" shows %s", n == 1 ? "it" : "them");
	}
	if (a->json)
		stack_json_frame(&b, &st, (unsigned)i);
	else
		frame_text(&b, &st, (unsigned)i);
	if (a->json)
		buf_byte(&b, '\n');
	out_str(s->out, buf_cstr(&b));
	buf_free(&b);
	stack_free(&st);
	return NULL;
}
