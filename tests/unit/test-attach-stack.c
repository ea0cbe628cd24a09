/* SPDX-License-Identifier: Apache-2.0
 *
 * Backtraces of tests/programs/attach-stack.c: function, file, line, inlined calls, C++ names,
 * variables; and what ELF files tell.
 */
#include "test-attach-common.h"
#include "attach/program-names.h"
#include "symbols/elf-facts.h"

static struct inferior *stopped(const char *program, const char *how, struct inferior_event *ret)
{
	struct launch_options o = {
		.argv = (char *const[]){(char *)built(program), (char *)how, NULL}};
	struct inferior *inf;

	must(inferior_launch(&inf, &o));
	*ret = run_to_end(inf);
	assert_int_equal(ret->kind, INFERIOR_STOP_SIGNAL);
	return inf;
}

struct taken_stack {
	struct backtrace_frame *f;
	unsigned n;
};

static struct taken_stack stack_of(struct inferior *inf, pid_t tid)
{
	struct taken_stack s;

	must(inferior_backtrace(inf, tid, 0, &s.f, &s.n));
	assert_true(s.n > 0);
	return s;
}

/* The frame called name; its number, or fails. */
static unsigned frame_named(const struct taken_stack *s, const char *name)
{
	for (unsigned i = 0; i < s->n; i++)
		if (s->f[i].sym.function && strcmp(s->f[i].sym.function, name) == 0)
			return i;
	for (unsigned i = 0; i < s->n; i++)
		print_error("#%u %s\n", i, s->f[i].sym.function ? s->f[i].sym.function : "??");
	fail_msg("no frame %s", name);
	return 0;
}

/* The line of attach-stack.c that holds text. */
static unsigned line_with(const char *text)
{
	const char *src = getenv("TSDB_SRC");
	char path[PATH_MAX], *all, *at;
	unsigned line = 1;

	snprintf(path, sizeof(path), "%s/tests/programs/attach-stack.c", src ? src : "..");
	all = read_file(path);
	at = strstr(all, text);
	assert_non_null(at);
	for (char *p = all; p < at; p++)
		line += *p == '\n';
	free(all);
	return line;
}

static void check_place(const struct backtrace_frame *f, unsigned line)
{
	assert_non_null(f->sym.file);
	assert_non_null(strstr(f->sym.file, "attach-stack.c"));
	assert_int_equal(f->sym.line, line);
}

static void check_chain(const struct taken_stack *s, bool inlines)
{
	unsigned leaf = frame_named(s, "leaf"), middle = frame_named(s, "middle");

	assert_int_equal(middle, leaf + (inlines ? 2 : 1));
	for (unsigned i = 0; i < 4; i++)
		assert_string_equal(s->f[middle + 1 + i].sym.function, "demo::outer(int)");
	assert_string_equal(s->f[middle + 5].sym.function, "main");
	assert_non_null(strstr(s->f[leaf].sym.module, "attach-stack"));
	assert_true(s->f[middle + 1].sp < s->f[middle + 2].sp);
}

static void optimised(void **state)
{
	struct inferior_event ev;
	struct inferior *inf = stopped("tests/programs/attach-stack-o2", "0", &ev);
	struct taken_stack s = stack_of(inf, ev.tid);
	unsigned leaf = frame_named(&s, "leaf");

	assert_int_equal(ev.signal, SIGABRT);
	assert_true(leaf > 0); /* abort() and below come first */
	check_chain(&s, true);
	assert_string_equal(s.f[leaf + 1].sym.function, "inlined");
	assert_true(s.f[leaf + 1].inlined);
	assert_false(s.f[leaf + 2].inlined);
	check_place(&s.f[leaf + 1], line_with("CALL-IN-INLINED"));
	check_place(&s.f[leaf + 2], line_with("inlined(number + array"));
	check_place(&s.f[frame_named(&s, "main")], line_with("sink = outer(3)"));
	free(s.f);
	inferior_free(inf);
}

static void without_address_ranges(void **state)
{
	struct inferior_event ev;
	struct inferior *inf = stopped("tests/programs/attach-stack-noaranges", "0", &ev);
	struct taken_stack s = stack_of(inf, ev.tid);

	check_chain(&s, true);
	check_place(&s.f[frame_named(&s, "inlined")], line_with("CALL-IN-INLINED"));
	check_place(&s.f[frame_named(&s, "main")], line_with("sink = outer(3)"));
	free(s.f);
	inferior_free(inf);
}

static void innermost_frame(void **state)
{
	struct inferior_event ev;
	struct inferior *inf = stopped("tests/programs/attach-stack-o2", "1", &ev);
	struct taken_stack s = stack_of(inf, ev.tid);

	assert_int_equal(ev.signal, SIGSEGV);
	assert_string_equal(s.f[0].sym.function, "leaf");
	check_place(&s.f[0], line_with("frame 0 in our own code"));
	check_chain(&s, true);
	free(s.f);
	inferior_free(inf);
}

static void through_a_signal_handler(void **state)
{
	struct inferior_event ev;
	struct inferior *inf = stopped("tests/programs/attach-stack-o2", "2", &ev);
	struct taken_stack s = stack_of(inf, ev.tid);

	assert_true(frame_named(&s, "on_usr1") < frame_named(&s, "leaf"));
	check_chain(&s, true);
	free(s.f);
	inferior_free(inf);
}

static void of_a_thread(void **state)
{
	struct inferior_event ev;
	struct inferior *inf = stopped("tests/programs/attach-stack-o2", "3", &ev);
	struct taken_stack s = stack_of(inf, ev.tid);

	assert_int_not_equal(ev.tid, inferior_pid(inf));
	(void)frame_named(&s, "thread");
	free(s.f);
	s = stack_of(inf, inferior_pid(inf));
	(void)frame_named(&s, "main");
	free(s.f);
	inferior_free(inf);
}

static void without_debugging_information(void **state)
{
	struct inferior_event ev;
	struct inferior *inf = stopped("tests/programs/attach-stack-plain", "0", &ev);
	struct taken_stack s = stack_of(inf, ev.tid);
	unsigned leaf = frame_named(&s, "leaf");

	check_chain(&s, false);
	assert_null(s.f[leaf].sym.file);
	assert_true(s.f[leaf].sym.offset > 0 && s.f[leaf].sym.offset < 200);
	free(s.f);
	inferior_free(inf);
}

static void a_few_frames(void **state)
{
	struct inferior_event ev;
	struct inferior *inf = stopped("tests/programs/attach-stack-o2", "1", &ev);
	struct taken_stack s;

	must(inferior_backtrace(inf, ev.tid, 3, &s.f, &s.n));
	assert_int_equal(s.n, 3);
	free(s.f);
	must(inferior_resume(inf, true));
	assert_int_equal(next_event(inf).kind, INFERIOR_STOP_SIGNAL);
	inferior_free(inf);
}

/* The agent's and CUPTI's frames are not the user's business. */
static void without_ours(void **state)
{
	char *agent = xstrdup(built("tests/programs/libtsdb-agent-stub.so"));
	char *cupti = xstrdup(built("tests/programs/libcupti-stub.so"));
	char *program = xstrdup(built("tests/programs/attach-inferior"));
	struct launch_options o = {
		.argv = (char *const[]){program, (char *)"stub", agent, cupti, NULL}};
	struct inferior *inf;
	struct inferior_event ev;
	struct taken_stack s;

	must(inferior_launch(&inf, &o));
	ev = run_to_end(inf);
	assert_int_equal(ev.signal, SIGILL);
	s = stack_of(inf, ev.tid);
	assert_string_equal(s.f[0].sym.function, "do_stub");
	free(s.f);
	inferior_free(inf);
	o.argv = (char *const[]){program, (char *)"stub", agent, agent,
		NULL}; /* no stub_call in it: crashes in the program */
	must(inferior_launch(&inf, &o));
	ev = run_to_end(inf);
	assert_int_equal(ev.signal, SIGSEGV);
	s = stack_of(inf, ev.tid);
	assert_int_equal(s.f[0].pc, 0); /* a call of nothing is shown as it is */
	assert_string_equal(s.f[1].sym.function, "do_stub");
	free(s.f);
	inferior_free(inf);
	free(agent), free(cupti), free(program);
}

/* ---- variables ---- */

static struct lang *lang; /* of one test: types live as long as the inferior */

static struct err *read_memory(void *arg, unsigned space, uint64_t addr, void *dst, size_t n)
{
	return inferior_read(arg, addr, dst, n);
}

struct lines {
	struct inferior *inf;
	struct buf text;
};

static void add_line(void *arg, const char *name, const struct lang_value *v, const char *why)
{
	struct lines *l = arg;
	const struct lang_scope scope = {.arg = l->inf, .read = read_memory};
	const struct lang_format f = {.elements = 200, .nested = true};

	buf_printf(&l->text, "%s = ", name);
	if (why)
		buf_printf(&l->text, "<%s>", why);
	else
		must(lang_show(lang, &scope, &f, v, &l->text));
	buf_byte(&l->text, '\n');
}

static char *locals_of(struct inferior *inf, pid_t tid, unsigned frame)
{
	const struct program_place p = {inf, lang, tid, frame};
	struct lines l = {.inf = inf};
	bool known;

	must(program_locals(&p, add_line, &l, &known));
	assert_true(known);
	(void)buf_cstr(&l.text);
	return buf_steal(&l.text);
}

static void has_line(const char *text, const char *line)
{
	size_t n = strlen(line);

	for (const char *p = text; p; p = strchr(p, '\n') ? strchr(p, '\n') + 1 : NULL)
		if (strncmp(p, line, n) == 0 && (p[n] == '\n' || !p[n]))
			return;
	print_error("no line \"%s\" in:\n%s", line, text);
	fail();
}

static void no_frame(struct inferior *inf, pid_t tid)
{
	const struct program_place p = {inf, lang, tid, 1000};
	bool known;

	must_say(
		program_locals(&p, add_line, &(struct lines){.inf = inf}, &known), "no frame 1000");
}

static struct err *find(void *arg, const char *name, struct lang_value *ret, bool *ret_found)
{
	return program_variable(arg, name, ret, ret_found);
}

static const struct lang_type *find_type(void *arg, const char *name)
{
	return program_type(arg, name);
}

static struct err *read_place(void *arg, unsigned space, uint64_t addr, void *dst, size_t n)
{
	return inferior_read(((const struct program_place *)arg)->inf, addr, dst, n);
}

/* An expression's value in a frame. */
static void has_name(
	struct inferior *inf, pid_t tid, unsigned frame, const char *text, const char *value)
{
	struct program_place p = {inf, lang, tid, frame};
	const struct lang_scope scope = {
		.arg = &p, .name = find, .type = find_type, .read = read_place};
	const struct lang_format f = {.elements = 200};
	struct lang_value v;
	struct buf b = BUF_INIT;

	must(lang_eval(lang, &scope, text, &v));
	must(lang_show(lang, &scope, &f, &v, &b));
	assert_string_equal(buf_cstr(&b), value);
	lang_value_free(&v);
	buf_free(&b);
}

static void variables(void **state)
{
	struct inferior_event ev;
	struct inferior *inf = stopped("tests/programs/attach-stack-o0", "0", &ev);
	struct taken_stack s = stack_of(inf, ev.tid);
	char *text;

	lang = lang_new();
	text = locals_of(inf, ev.tid, frame_named(&s, "middle"));
	has_line(text, "number = 42");
	has_line(text, "real = 2.5");
	assert_non_null(strstr(text, "text = 0x"));
	assert_non_null(strstr(text, " \"hello\"\n"));
	assert_non_null(
		strstr(text, "l = {a = {x = 3, y = 1.5, name = \"inner\\000\\000\"}, b = 0x"));
	assert_non_null(strstr(text, ", bits = 5}\n"));
	has_line(text, "array = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}");
	has_line(text, "letters = \"a\\tb\\\"c\"");
	has_line(text, "c = GREEN");
	has_line(text, "u = 65535");
	has_line(text, "wide = 40000");
	has_line(text, "below = -7");
	has_line(text, "f = -0.25");
	has_line(text, "yes = true");
	has_line(text, "small = -3 '\\375'");
	has_line(text, "ch = 120 'x'");
	has_line(text, "big = -1234567890123");
	has_line(text, "nothing = 0x0");
	free(text);
	text = locals_of(inf, ev.tid, frame_named(&s, "inlined"));
	assert_non_null(strstr(text, "v = "));
	assert_non_null(strstr(text, "twice = "));
	assert_null(strstr(text, "number"));
	free(text);
	text = locals_of(inf, ev.tid, frame_named(&s, "demo::outer(int)"));
	has_line(text, "n = 0");
	has_line(text, "p = {x = 1, y = -2.5, name = \"pt\\000\\000\\000\\000\\000\"}");
	free(text);
	no_frame(inf, ev.tid);
	free(s.f);
	inferior_free(inf);
	lang_free(lang);
}

/* A name in a frame means the innermost variable; then what lies outside of functions. */
static void names(void **state)
{
	struct inferior_event ev;
	struct inferior *inf = stopped("tests/programs/attach-stack-o0", "0", &ev);
	struct taken_stack s = stack_of(inf, ev.tid);

	lang = lang_new();
	has_name(inf, ev.tid, frame_named(&s, "middle"), "array[number & 3]", "3");
	has_name(inf, ev.tid, frame_named(&s, "middle"), "l.b->y", "-2.5");
	has_name(inf, ev.tid, frame_named(&s, "middle"), "where->name",
		"\"pt\\000\\000\\000\\000\\000\"");
	has_name(inf, ev.tid, frame_named(&s, "inlined"), "twice == 2 * v", "1");
	has_name(inf, ev.tid, frame_named(&s, "inlined"), "how", "0");
	has_name(inf, ev.tid, frame_named(&s, "middle"), "GREEN + 1", "6");
	has_name(inf, ev.tid, frame_named(&s, "middle"), "((struct point *)where)->x", "1");
	has_name(inf, ev.tid, frame_named(&s, "middle"), "sizeof(struct line)", "40");
	/* abort() and what it calls may have no debug information: main's code then */
	has_name(inf, ev.tid, 0, "sizeof(odd)", "2");
	free(s.f);
	inferior_free(inf);
	lang_free(lang);
}

/* What was shown can be shown again when the program and its files are gone. */
static void after_the_end(void **state)
{
	struct inferior_event ev;
	struct inferior *inf = stopped("tests/programs/attach-stack-o0", "0", &ev);
	struct taken_stack s = stack_of(inf, ev.tid);
	const struct lang_format f = {.elements = 200};
	struct program_place p = {.inf = inf, .tid = ev.tid, .frame = frame_named(&s, "middle")};
	struct lang_value v, unread;
	struct buf b = BUF_INIT;
	bool found;

	p.l = lang = lang_new();
	must(program_variable(&p, "l", &v, &found));
	assert_true(found);
	must(program_variable(&p, "where", &unread, &found));
	assert_true(found);
	must(lang_fetch(&(struct lang_scope){.arg = inf, .read = read_memory}, &v));
	must(lang_show(lang, NULL, &f, &v, &b));
	buf_clear(&b);
	free(s.f);
	inferior_free(inf);
	must(lang_show(lang, NULL, &f, &v, &b));
	assert_non_null(strstr(buf_cstr(&b), "{a = {x = 3, y = 1.5,"));
	buf_clear(&b);
	lang_type_layout(&b, unread.type);
	assert_non_null(strstr(buf_cstr(&b), "struct point {"));
	buf_free(&b);
	lang_value_free(&v);
	lang_value_free(&unread);
	lang_free(lang);
}

static void optimised_variables(void **state)
{
	struct inferior_event ev;
	struct inferior *inf = stopped("tests/programs/attach-stack-o2", "0", &ev);
	struct taken_stack s = stack_of(inf, ev.tid);
	char *text;

	lang = lang_new();
	text = locals_of(inf, ev.tid, frame_named(&s, "middle"));
	assert_non_null(strstr(text, "number = "));
	assert_non_null(strstr(text, "<"));
	has_line(text, "c = GREEN"); /* constants in the DWARF */
	has_line(text, "wide = 40000");
	has_line(text, "wider = 4294967295");
	has_line(text, "below = -7");
	free(text);
	free(s.f);
	inferior_free(inf);
	lang_free(lang);
}

/* ---- symbols without a process ---- */

static void libraries(void **state)
{
	struct inferior_event ev;
	struct inferior *inf = stopped("tests/programs/attach-stack-o2", "0", &ev);
	struct inferior_library l;
	bool program = false, libc = false;

	for (unsigned i = 0; inferior_library(inf, i, &l); i++) {
		assert_true(l.start < l.end);
		if (strstr(l.path, "attach-stack-o2")) {
			program = true;
			assert_true(l.has_symbols && l.has_lines);
		}
		libc |= strstr(l.path, "libc.so") != NULL;
	}
	assert_true(program && libc);
	inferior_free(inf);
}

static void symbols_of_a_file(void **state)
{
	struct inferior_event ev;
	struct inferior *inf = stopped("tests/programs/attach-stack-o2", "1", &ev);
	struct taken_stack s = stack_of(inf, ev.tid);
	struct symbols *sy = symbols_new();
	struct symbol sym[8];
	const char *path = built("tests/programs/attach-stack-o2");
	char *id = elf_build_id(path);
	uint64_t at = s.f[0].sym.module_offset;

	assert_int_equal(symbols_lookup(sy, path, NULL, at, sym, 8), 1);
	assert_string_equal(sym[0].function, "leaf");
	assert_int_equal(symbols_lookup(sy, path, id, at, sym, 8), 1);
	assert_string_equal(sym[0].function, "leaf");
	if (*id) {
		assert_int_equal(symbols_lookup(sy, path, "00ff", at, sym, 8), 1);
		assert_null(sym[0].function);
		assert_non_null(sym[0].module);
	}
	assert_int_equal(symbols_lookup(sy, "/no/such/file", "", 4096, sym, 8), 1);
	assert_null(sym[0].function);
	assert_int_equal(symbols_lookup(sy, "/etc/passwd", "", 4096, sym, 8), 1);
	assert_null(sym[0].function);
	assert_string_equal(symbols_demangle(sy, "_ZN2at6native6matmulIfEEvPT_"),
		"void at::native::matmul<float>(float*)");
	assert_string_equal(symbols_demangle(sy, "main"), "main");
	assert_string_equal(symbols_demangle(sy, "_Zgarbage"), "_Zgarbage");
	free(id);
	free(s.f);
	symbols_free(sy);
	inferior_free(inf);
}

/* ---- what ELF files tell ---- */

static void facts_of(const char *program, struct program_facts *ret)
{
	must(program_facts(built(program), ret));
	assert_true(ret->elf && ret->elf64 && ret->x86_64 && ret->executable);
	assert_false(ret->script);
}

static void facts(void **state)
{
	struct program_facts f;

	facts_of("tests/programs/attach-stack-plain", &f);
	assert_false(f.needs_libcuda || f.needs_libcudart || f.static_cudart || f.has_fatbin ||
		     f.fatbin_has_ptx);
	facts_of("tests/programs/attach-fatbin-ptx", &f);
	assert_true(f.has_fatbin && f.fatbin_has_ptx);
	assert_true(f.static_cudart); /* a registered fatbin, no libcudart */
	facts_of("tests/programs/attach-fatbin-elf", &f);
	assert_true(f.has_fatbin);
	assert_false(f.fatbin_has_ptx);
	must(program_facts("true", &f));
	assert_true(f.executable);
	must_say(program_facts("no-such-program-anywhere", &f), "no such program in PATH");
}

/* Damaged files: whatever is in them, we answer or say no. */
static void damaged_files(void **state)
{
	FILE *f = fopen(built("tests/programs/attach-stack-o2"), "r");
	static unsigned char good[1 << 20], bad[1 << 20];
	size_t n = fread(good, 1, sizeof(good), f);
	unsigned seed = 1;
	char *name = temp_name();

	fclose(f);
	for (int i = 0; i < 300; i++) {
		struct program_facts pf;
		struct elf_layout l;
		struct symbol sym[4];
		struct symbols *sy = symbols_new();
		size_t length = i % 3 == 2 ? (size_t)rand_r(&seed) % n : n;
		char *id;

		memcpy(bad, good, n);
		for (int k = 0; k < 1 + i % 20; k++) { /* headers are at both ends */
			size_t at = (size_t)rand_r(&seed) % 1000;

			bad[i % 2 ? at : n - 1 - at * 4 % n] = (unsigned char)rand_r(&seed);
		}
		f = fopen(name, "w");
		fwrite(bad, 1, length, f);
		fclose(f);
		err_free(program_facts(name, &pf));
		elf_layout_read(name, &l);
		id = elf_build_id(name);
		(void)symbols_lookup(
			sy, name, "", 0x1200 + (uint64_t)rand_r(&seed) % 0x200, sym, 4);
		free(id);
		symbols_free(sy);
	}
	unlink(name);
	free(name);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(optimised),
		cmocka_unit_test(without_address_ranges),
		cmocka_unit_test(innermost_frame),
		cmocka_unit_test(through_a_signal_handler),
		cmocka_unit_test(of_a_thread),
		cmocka_unit_test(without_debugging_information),
		cmocka_unit_test(a_few_frames),
		cmocka_unit_test(without_ours),
		cmocka_unit_test(variables),
		cmocka_unit_test(optimised_variables),
		cmocka_unit_test(names),
		cmocka_unit_test(after_the_end),
		cmocka_unit_test(libraries),
		cmocka_unit_test(symbols_of_a_file),
		cmocka_unit_test(facts),
		cmocka_unit_test(damaged_files),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
