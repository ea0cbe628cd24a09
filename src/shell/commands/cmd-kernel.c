/* SPDX-License-Identifier: Apache-2.0
 *
 * Inside a launch: replay enter, stepi, nexti, reverse-stepi, block, and its texts: disassemble.
 * `continue`, `finish`, `reverse-continue`, `thread`, `print`, `x`, `watch` and `break ptx`
 * are where they always are, and come here when a launch is under the microscope.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/json-put.h"
#include "engine/breakpoints.h"
#include "shell/print/kernel-text.h"
#include "engine/replay-device.h"
#include "base/words.h"
#include "sbt/kernel-name.h"

enum { LINES_AROUND = 10 };

/* --- moving --- */

const char cmd_replay_enter_help[] =
	"Goes into a launch: to before its first instruction, on the software GPU. Without SEQ,\n"
	"the launch that the replay is at, or that comes next; one that breaks the device\n"
	"can be entered, too. From then on `stepi`, `nexti`, `continue`, `finish`,\n"
	"`reverse-stepi` and `reverse-continue` move within the launch, `break ptx` and `watch`\n"
	"stop there, `block` and `thread` choose a thread, and `info warps`, `info lanes`, `info\n"
	"registers`, `info blocks`, `print %r4`, `x @shared 0`, `disassemble` and `list` show\n"
	"it. `bt`, `info args`, `info command` and `print grid_x` are about it as well. What moves the\n"
	"replay leaves the launch; `who-wrote`, `info accesses`, `diff`, `races` and `replay check`\n"
	"come back to the same place. The launch itself is not executed before: one that never ends\n"
	"can be entered, and Ctrl-C stops it at a lane that runs.\n"
	"Example: replay enter 143\n";

struct err *cmd_replay_enter(struct session *s, const struct cmd_args *a)
{
	uint64_t seq = 0;

	if (a->argc > 1 || (a->argc && (!word_u64(a->argv[0], &seq) || !seq)))
		return err_cure(err_new(ERR_USAGE, "\"%s\" is no command's number", a->rest),
			"Use \"replay enter 143\"");
	return kernel_enter(s, seq);
}

const char cmd_stepi_help[] =
	"Executes N instructions (1 without N) of the focused warp, going into functions: of PTX,\n"
	"or of a HIP kernel's machine code.\n"
	"When that warp waits at a barrier, the others of its block run until it goes on, and\n"
	"stop at breakpoints like everybody. Goes into the launch first that the replay stands\n"
	"at (`help replay enter`).\n"
	"Examples: stepi\n"
	"          stepi 10\n";

struct err *cmd_stepi(struct session *s, const struct cmd_args *a)
{
	uint64_t n;

	TRY(cmd_count(a, &n));
	return kernel_go(s, SOFT_STEP, n);
}

const char cmd_nexti_help[] =
	"The same as `stepi`, but a call of a function counts as one instruction.\n"
	"Examples: nexti\n"
	"          nexti 10\n";

struct err *cmd_nexti(struct session *s, const struct cmd_args *a)
{
	uint64_t n;

	TRY(cmd_count(a, &n));
	return kernel_go(s, SOFT_NEXT, n);
}

const char cmd_reverse_stepi_help[] =
	"Goes back N instructions of the focused warp: the launch runs again from its\n"
	"beginning to that place, which is the same in every detail. Works after the launch\n"
	"has ended, too. `reverse-continue` goes back to a breakpoint or watchpoint.\n"
	"Example: reverse-stepi 10\n";

struct err *cmd_reverse_stepi(struct session *s, const struct cmd_args *a)
{
	uint64_t n;

	TRY(cmd_count(a, &n));
	return kernel_go(s, SOFT_BACK_STEP, n);
}

const char cmd_block_help[] =
	"Chooses the thread that `info registers`, `print` and `x` are about and whose warp\n"
	"`stepi` moves. Without a thread, the block's first. The blocks of a launch run one after\n"
	"the other: one that is not running begins the launch again, with that block first.\n"
	"`thread (x,y,z)` chooses within the block. Without arguments, shows the choice.\n"
	"Examples: block (1,0,0) thread (5,0,0)\n"
	"          block 1\n";

struct err *cmd_block(struct session *s, const struct cmd_args *a)
{
	return kernel_focus(s, "block", a->argc, a->argv);
}

/* --- text --- */

const char cmd_disassemble_help[] =
	"Shows the PTX around the focused warp's next instruction, which is marked =>, with\n"
	"line numbers of the PTX text (those that `break code` takes) and of the source. KERNEL:\n"
	"all of a kernel or device function; FIRST,LAST or FIRST-LAST: these lines. Of a HIP\n"
	"kernel it is the machine code, with addresses in the code object, as llvm-objdump has\n"
	"them.\n"
	"Examples: disassemble\n"
	"          disassemble matmul\n";

struct lines {
	struct soft_line *line;
	size_t n;
};

/* The mangled name of the function that matches glob. */
static struct err *find_function(struct device *d, const char *glob, char ret[SOFT_NAME])
{
	const struct soft_ask q = {.what = SOFT_ASK_FUNCTIONS};
	struct soft_function *f;
	char name[SOFT_NAME];
	void *v;
	size_t n;

	*ret = 0;
	TRY(device_kernel_ask(d, &q, sizeof *f, &v, &n));
	f = v;
	for (size_t i = 0; i < n && !*ret; i++) {
		kernel_short_name(name, sizeof name, f[i].name);
		if (sbt_kernel_glob(glob, f[i].name, name))
			strcpy(ret, f[i].name);
	}
	free(v);
	return *ret ? NULL
		    : err_cure(err_new(ERR_NOT_FOUND, "the code of this launch has no function %s",
				       glob),
			      "Without a name, \"disassemble\" shows where the launch stands");
}

static struct err *get_lines(
	struct session *s, const struct cmd_args *a, struct device *d, struct lines *ret)
{
	struct soft_ask q = {.what = SOFT_ASK_LINES};
	const struct soft_stop *t = kernel_stop(s);
	const char *w = a->rest;
	unsigned first, last;
	char mark;
	int n = 0;
	void *v;

	if (sscanf(w, "%i%c%i%n", (int *)&first, &mark, (int *)&last, &n) == 3 && !w[n] &&
		(mark == ',' || mark == '-')) {
		q.addr = first;
		q.size = last;
	} else if (*w) {
		TRY(find_function(d, w, q.text));
	} else if (t && t->line) {
		const unsigned around = LINES_AROUND * (t->unit == SOFT_CODE ? 6 : 1); /* bytes */

		q.addr = t->line > around ? t->line - around : 1;
		q.size = t->line + around;
	} else {
		return err_cure(err_new(ERR_STATE, "the %s has ended", t ? "warp" : "launch"),
			"Use \"disassemble KERNEL\"");
	}
	TRY(device_kernel_ask(d, &q, sizeof *ret->line, &v, &ret->n));
	ret->line = v;
	return NULL;
}

struct line {
	unsigned code_line, line; /* line 0: not known */
	bool here;
	const char *instruction, *file;
};
JS_DEFINE(line_object, "code_line", line, JS(UINT, line, code_line), JS(BOOL, line, here),
	JS(TEXT, line, instruction, file), JS(UINT, line, line));

static void json_lines(const struct lines *l, struct buf *b)
{
	buf_byte(b, '[');
	for (size_t i = 0; i < l->n; i++) {
		const struct soft_line *x = &l->line[i];

		js_add(b, &line_object,
			&(struct line){x->line, x->source_line, x->here, x->text,
				x->source_line ? x->file : NULL});
	}
	buf_str(b, "]\n");
}

static void print_lines(const struct lines *l, const struct soft_stop *t, struct buf *b)
{
	const uint32_t unit = t ? t->unit : SOFT_PTX;
	const struct soft_line *before = NULL;

	for (size_t i = 0; i < l->n; i++) {
		const struct soft_line *x = &l->line[i];
		char line[KERNEL_LINE_ROOM];
		const bool same = before && x->source_line == before->source_line &&
				  !strcmp(x->file, before->file);

		buf_printf(b, "%s %5s  ", x->here ? "=>" : "  ", kernel_line(line, unit, x->line));
		if (!x->source_line || same) {
			buf_printf(b, "%s", x->text);
		} else {
			buf_printf(b, "%-56s ", x->text);
			kernel_source(b, x->file, x->source_line);
		}
		while (b->len && b->data[b->len - 1] == ' ')
			b->len--;
		buf_byte(b, '\n');
		if (x->source_line)
			before = x;
	}
}

struct err *cmd_disassemble(struct session *s, const struct cmd_args *a)
{
	struct buf b = BUF_INIT;
	struct lines l = {0};
	struct device *d;

	TRY(microscope_need(&s->engine, "disassemble", &d));
	TRY(get_lines(s, a, d, &l));
	if (a->json)
		json_lines(&l, &b);
	else
		print_lines(&l, kernel_stop_any(s), &b);
	out_str(s->out, buf_cstr(&b));
	buf_free(&b);
	free(l.line);
	return NULL;
}
