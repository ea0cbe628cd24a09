/* SPDX-License-Identifier: Apache-2.0
 *
 * Every request of the protocol, each answered in every wrong way by the scripted replayer: the
 * client says a sentence and goes on rightly, or what it took is harmless. Then each number of an
 * answer that the client could believe, as a lie: it does not.
 */
#include "scripted-replayer.h"
#include "replay/device-node.h"

#define AT 200u

/* --- one call for each request --- */

static bool told_right; /* what the last call gave out is what the right answer has */

static struct err *ask_open(struct device *d)
{
	struct err *e = device_restart(d);

	told_right = !e && device_info(d).work == 5 && !strcmp(device_info(d).notes, "a note\n");
	return e;
}

static struct err *ask_seek(struct device *d)
{
	struct err *e = device_seek(d, 300);

	told_right = device_seq(d) == 300;
	return e;
}

static struct err *ask_execute(struct device *d)
{
	struct err *e = device_execute(d, AT + 1, true);

	told_right = device_seq(d) == AT + 1;
	return e;
}

static struct err *ask_read(struct device *d)
{
	uint8_t got[40];
	struct err *e = device_read(d, ADDR, got, sizeof got);

	told_right = !e && got[39] == byte_at(&(struct memory){.pos = AT}, ADDR + 39);
	return e;
}

static struct err *ask_write(struct device *d)
{
	return device_write(d, ADDR + 5000, "x", 1);
}

static struct err *ask_hash(struct device *d)
{
	struct sbt_hash h = {{0}};
	struct err *e = device_hash(d, ADDR, 16, &h);

	told_right = h.half[1] == 16;
	return e;
}

static struct err *ask_hash_recorded(struct device *d)
{
	struct sbt_hash h = {{0}};
	struct err *e = device_hash_recorded(d, ADDR, 16, &h);

	told_right = h.half[1] == 16;
	return e;
}

static struct err *ask_arg(struct device *d)
{
	return device_set_arg(d, LAST, 0, "x", 1);
}

static struct err *ask_skip(struct device *d)
{
	return device_skip(d, NULL, 0, false);
}

static struct err *ask_swap(struct device *d)
{
	return device_swap(d, 3, CODE_PTX, "code", 4);
}

static struct err *ask_run(struct device *d)
{
	struct err *e = device_run(d, 300, 0, 0, NULL);

	told_right = device_seq(d) == 300;
	return e;
}

static struct err *ask_run_watching(struct device *d)
{
	bool hit = true;
	struct err *e = device_run(d, 300, ADDR, 8, &hit);

	told_right = !hit && device_seq(d) == 300;
	return e;
}

static struct err *ask_verify(struct device *d)
{
	struct device_verified v;
	struct err *e = device_seek(d, LAST);

	if (!e)
		e = device_verify(d, &v);
	if (e)
		return e;
	told_right = device_verified_ok(&v) && v.npieces == 1 && v.pieces[0].addr == ADDR;
	device_verified_free(&v);
	return NULL;
}

static struct err *ask_checkpoint(struct device *d)
{
	return device_checkpoint(d);
}

static struct err *ask_figures(struct device *d)
{
	struct replayer_figures f = {0};
	struct err *e = device_figures(d, &f);

	told_right = f.executed == 7;
	return e;
}

static struct err *ask_soft(struct device *d)
{
	return device_soft(d, &(struct replayer_soft){0});
}

static struct err *ask_overlap(struct device *d)
{
	return device_overlap(d, !device_info(d).overlap);
}

static struct err *ask_order(struct device *d)
{
	const uint64_t entries[] = {FIRST, LAST};
	const struct device_order o = {.entries = entries, .n = 2};
	struct device_ordered got;
	struct err *e = device_order(d, &o, &got);

	told_right = !e && got.sums.n == 1 && got.places[0].addr == ADDR && !got.sums.changes;
	if (!e)
		device_ordered_free(&got);
	return e;
}

static struct err *ask_check(struct device *d)
{
	const struct replayer_check how = {.from = AT, .to = 300, .runs = 2};
	struct device_checked c;
	struct err *e = device_check(d, &how, NULL, 0, &c);

	told_right = !e && c.n == 1 && c.rows[0].seq == FIRST && c.checked == 1;
	if (!e)
		device_checked_free(&c);
	return e;
}

static struct err *count_set(void *arg, const struct access_set *a)
{
	struct device *d = arg;

	told_right = a->set.n[0] == 1 && a->set.span[0]->addr == ADDR && a->seq == 300;
	if (a->seq < FIRST || a->seq > device_seq(d))
		fail_msg("a set of #%d", (int)a->seq);
	for (unsigned k = 0; k < SOFT_ACCESS_SETS; k++)
		for (uint32_t i = 0; i < a->set.n[k]; i++)
			told_right = told_right && a->set.span[k][i].size;
	return NULL;
}

static struct err *ask_changed(struct device *d)
{
	return device_changed_sets(d, AT + 1, 300, 9, count_set, d);
}

static struct err *ask_accesses(struct device *d)
{
	return device_access_sets(d, AT + 1, 300, 9, count_set, d);
}

static struct err *ask_races(struct device *d)
{
	struct device_races r;
	struct err *e = device_races(d, &r);

	told_right = r.n == 1 && r.race[0].label == 1;
	assert_true(memchr(r.doubt, '\0', sizeof r.doubt) != NULL);
	if (e)
		assert_true(!r.race && !r.n);
	free(r.race);
	return e;
}

static void is_safe_text(const char *text, size_t room)
{
	assert_non_null(memchr(text, '\0', room));
	for (; *text; text++)
		assert_true((unsigned char)*text >= 0x20 && *text != 0x7f);
}

static void is_safe_stop(const struct soft_stop *t)
{
	is_safe_text(t->kernel, sizeof t->kernel);
	is_safe_text(t->function, sizeof t->function);
	is_safe_text(t->file, sizeof t->file);
	is_safe_text(t->text, sizeof t->text);
	is_safe_text(t->sentence, sizeof t->sentence);
	is_safe_text(t->change.file, sizeof t->change.file);
	is_safe_text(t->change.text, sizeof t->change.text);
	assert_true(t->change.size <= SOFT_BYTES);
	told_right = !strcmp(t->kernel, "k");
}

static struct err *ask_kernel(struct device *d)
{
	const struct soft_stop *t;
	struct err *e = device_kernel(d, AT + 1, &t);

	assert_true(!e == (t != NULL));
	if (t)
		is_safe_stop(t);
	return e;
}

/* Within a launch: it is entered rightly first. */
static struct err *inside(struct device *d)
{
	const enum how how = wire->how;
	const uint32_t type = wire->type;
	const struct soft_stop *t;

	wire->type = 0;
	ok(device_kernel(d, AT + 1, &t));
	wire->how = how;
	wire->type = type;
	return NULL;
}

static struct err *ask_go(struct device *d)
{
	const struct soft_stop *t = NULL;

	TRY(inside(d));
	TRY(device_kernel_go(d, SOFT_STEP, 1, &t));
	is_safe_stop(t);
	return NULL;
}

static struct err *ask_focus(struct device *d)
{
	const struct soft_stop *t = NULL;

	TRY(inside(d));
	TRY(device_kernel_focus(d, (const uint32_t[3]){0}, (const uint32_t[3]){5}, &t));
	is_safe_stop(t);
	return NULL;
}

static struct err *ask_points(struct device *d)
{
	struct soft_point p[2] = {{.line = 4}, {.line = 5}};

	TRY(inside(d));
	TRY(device_kernel_points(d, p, 2));
	told_right = p[0].line == 4 && p[1].line == 5;
	return NULL;
}

static struct err *ask_ask(struct device *d)
{
	const struct soft_ask q = {.what = SOFT_ASK_WARPS};
	struct soft_warp *w = NULL;
	void *v;
	size_t n;
	struct err *e;

	TRY(inside(d));
	e = device_kernel_ask(d, &q, sizeof *w, &v, &n);
	w = v;
	if (e)
		assert_true(!w && !n);
	for (size_t i = 0; i < n; i++)
		is_safe_text(w[i].text, sizeof w[i].text);
	told_right = n == 2;
	free(v);
	return e;
}

static struct err *ask_put(struct device *d)
{
	const struct soft_put p = {.space = SOFT_GLOBAL, .addr = ADDR};

	TRY(inside(d));
	return device_kernel_put(d, &p, "abc", 3);
}

static struct err *ask_addressing(struct device *d)
{
	struct soft_addressing a;
	struct err *e = device_addressing(d, 3, &a);

	assert_true(a.n <= SOFT_SOURCES);
	told_right = a.known && a.n == 2;
	return e;
}

static struct err *ask_kept(struct device *d)
{
	uint64_t wait = 0, n = 0;
	struct err *e = device_kept(d, 150, &wait, &n);

	told_right = wait == 150 && n == 1;
	if (!e)
		assert_true(wait <= 150);
	return e;
}

static struct err *ask_probes(struct device *d)
{
	const struct soft_probe p = {.id = 1};

	return device_probes(d, &p, 1);
}

static struct err *ask_probed(struct device *d)
{
	struct soft_probe_result r = {0};
	struct err *e = device_probed(d, &r, 1);

	assert_true(r.nkeys <= SOFT_PROBE_KEYS);
	told_right = r.nkeys == 1;
	return e;
}

static struct err *ask_printed(struct device *d)
{
	struct soft_print *p;
	size_t n;
	struct err *e = device_printed(d, &p, &n);

	if (e)
		assert_true(!p && !n);
	told_right = n == 1;
	free(p);
	return e;
}

static struct err *ask_node(struct device *d)
{
	uint32_t steps = 0;
	struct err *e = device_node(d, AT + 1, 1, &steps);

	told_right = steps == STEPS;
	return e;
}

static struct err *ask_node_last(struct device *d)
{
	uint32_t steps = 0;
	struct err *e = device_node(d, AT + 1, STEPS, &steps);

	told_right = device_seq(d) == AT + 1;
	return e;
}

static struct err *ask_part(struct device *d)
{
	return device_graph_part(d, 0, 0, false);
}

/* --- the table --- */

#define NUMBER(structure, member, number)                                                          \
	.lie = {offsetof(struct structure, member), sizeof(((struct structure *)NULL)->member),    \
		number}
#define BEHIND(structure, next, member, number)                                                    \
	.lie = {sizeof(struct structure) + offsetof(struct next, member),                          \
		sizeof(((struct next *)NULL)->member), number}

/* Which call makes a request, and what is answered wrongly to it. */
static const struct row {
	uint32_t type;
	struct err *(*ask)(struct device *d);
	struct {
		struct lie lie;
		const char *says; /* the sentence has it; NULL: what it tells is not believed */
		bool again;	  /* the next answer has the same lie */
	} lies[6];
} rows[] = {
	{REPLAYER_OPEN, ask_open, {{NUMBER(replayer_opened, work, UINT64_MAX)}}},
	{REPLAYER_SEEK, ask_seek,
		{{NUMBER(replayer_done, seq, 299), "was to go to #300 and says that it is at #299"},
			{NUMBER(replayer_done, seq, UINT64_MAX), "was to go to #300"},
			{NUMBER(replayer_done, seq, 0), "it was ended"}}},
	{REPLAYER_EXECUTE, ask_execute,
		{{NUMBER(replayer_done, seq, AT), "was to go to #201 and says that it is at #200"},
			{NUMBER(replayer_done, seq, AT + 2), "it was ended"}}},
	{REPLAYER_READ, ask_read, {{.lie.n = 0}}},
	{REPLAYER_WRITE, ask_write, {{.lie.n = 0}}},
	{REPLAYER_HASH, ask_hash, {{.lie.n = 0}}},
	{REPLAYER_HASH_RECORDED, ask_hash_recorded, {{.lie.n = 0}}},
	{REPLAYER_ARG, ask_arg, {{.lie.n = 0}}},
	{REPLAYER_SKIP, ask_skip, {{.lie.n = 0}}},
	{REPLAYER_SWAP, ask_swap, {{.lie.n = 0}}},
	{REPLAYER_RUN, ask_run,
		{{NUMBER(replayer_ran, seq, 299), "was to run to #300 and did not"},
			{NUMBER(replayer_ran, seq, 301), "was to run to #300 and did not"},
			{NUMBER(replayer_ran, seq, 0), "was to run to #300 and did not"},
			/* nothing is watched: a hit and what came late are nothing */
			{NUMBER(replayer_ran, hit, 1)}, {NUMBER(replayer_ran, late, 5)}}},
	{REPLAYER_RUN, ask_run_watching,
		{{NUMBER(replayer_ran, seq, 299), "was to run to #300 and did not"},
			{NUMBER(replayer_ran, late, 5)}}},
	{REPLAYER_VERIFY, ask_verify,
		{{NUMBER(replayer_verified, pieces, UINT64_MAX)},
			{NUMBER(replayer_verified, same, 2)},
			{NUMBER(replayer_verified, outputs, 1)},
			{NUMBER(replayer_verified, freed, 1)},
			{NUMBER(replayer_verified, pieces, 0)}}},
	{REPLAYER_CHECKPOINT, ask_checkpoint, {{.lie.n = 0}}},
	{REPLAYER_FIGURES, ask_figures, {{.lie.n = 0}}},
	{REPLAYER_SOFT, ask_soft, {{.lie.n = 0}}},
	{REPLAYER_OVERLAP, ask_overlap, {{.lie.n = 0}}},
	{REPLAYER_ORDER, ask_order,
		{{NUMBER(replayer_ordered, seq, LAST - 1), "of an order up to #3000"},
			{NUMBER(replayer_ordered, seq, LAST + 1), "nobody asked for"},
			{NUMBER(replayer_ordered, n, 2), "sends less than 2 places"},
			{NUMBER(replayer_ordered, n, UINT64_MAX), "sends less than"},
			{NUMBER(replayer_ordered, changes, 1), "sends less than"},
			{NUMBER(replayer_ordered, changes, UINT64_MAX), "sends less than"}}},
	{REPLAYER_CHECK, ask_check,
		{{NUMBER(replayer_check_done, seq, 301), "which nobody asked for"},
			{NUMBER(replayer_check_done, seq, AT - 1), "does not get beyond #199"},
			{NUMBER(replayer_check_done, n, UINT64_MAX), "differences and sends 1"},
			{BEHIND(replayer_check_done, replayer_difference, as, REPLAYER_AS_END),
				"a difference that is none"},
			{BEHIND(replayer_check_done, replayer_difference, seq, 301),
				"a difference that is none"},
			{BEHIND(replayer_check_done, replayer_difference, unwritten, 3),
				"a difference that is none"}}},
	{REPLAYER_CHECK_END, ask_changed, {{.lie.n = 0}}},
	{REPLAYER_CHANGED, ask_changed,
		{{NUMBER(replayer_accessed, seq, AT), "access sets that are none"},
			{NUMBER(replayer_accessed, seq, 301), "which nobody asked for"},
			{NUMBER(replayer_accessed, n, 2), "access sets that are none"},
			{BEHIND(replayer_accessed, replayer_access_set, seq, 301),
				"access sets that are none"}}},
	{REPLAYER_ACCESSES, ask_accesses,
		{{NUMBER(replayer_accessed, seq, AT), "access sets that are none"},
			{NUMBER(replayer_accessed, n, UINT64_MAX), "access sets that are none"},
			{BEHIND(replayer_accessed, replayer_access_set, seq, 99),
				"access sets that are none"},
			{BEHIND(replayer_accessed, replayer_access_set, n[0], 2),
				"access sets that are none"},
			{BEHIND(replayer_accessed, replayer_access_set, n[1], UINT32_MAX),
				"access sets that are none"}}},
	{REPLAYER_RACES, ask_races,
		{{NUMBER(replayer_races, n, 2), "races that are none"},
			{NUMBER(replayer_races, n, UINT64_MAX), "races that are none"},
			{NUMBER(replayer_races, more, 1), "races that are none", true}}},
	{REPLAYER_KERNEL, ask_kernel, {{.lie.n = 0}}},
	{REPLAYER_KERNEL_GO, ask_go, {{.lie.n = 0}}},
	{REPLAYER_KERNEL_FOCUS, ask_focus, {{.lie.n = 0}}},
	{REPLAYER_KERNEL_POINTS, ask_points, {{.lie.n = 0}}},
	{REPLAYER_KERNEL_ASK, ask_ask, {{.lie.n = 0}}},
	{REPLAYER_KERNEL_PUT, ask_put, {{.lie.n = 0}}},
	{REPLAYER_ADDRESSING, ask_addressing,
		{{NUMBER(replayer_addressing, a.n, UINT32_MAX)},
			{NUMBER(replayer_addressing, a.known, 0)}}},
	{REPLAYER_KEPT, ask_kept,
		{{NUMBER(replayer_kept, wait, 151), "is kept back by #151, which cannot be"},
			{NUMBER(replayer_kept, n, 0), "which cannot be"}}},
	{REPLAYER_PROBES, ask_probes, {{.lie.n = 0}}},
	{REPLAYER_PROBED, ask_probed,
		{{BEHIND(replayer_none, soft_probe_result, nkeys, UINT32_MAX)}}},
	{REPLAYER_PRINTED, ask_printed,
		{{NUMBER(replayer_printed, n, 2), "printed lines that are none"},
			{NUMBER(replayer_printed, n, UINT64_MAX), "printed lines that are none"},
			{NUMBER(replayer_printed, more, 1), "printed lines that are none", true}}},
	{REPLAYER_NODE, ask_node,
		{{NUMBER(replayer_at_node, step, 2), "was to go to step 1 of #201 and did not"},
			{NUMBER(replayer_at_node, seq, AT + 1), "was to go to step 1 of #201"},
			{NUMBER(replayer_at_node, seq, 0), "was to go to step 1 of #201"},
			/* a launch of one step would be over */
			{NUMBER(replayer_at_node, steps, 1), "was to go to step 1 of #201"}}},
	{REPLAYER_NODE, ask_node_last,
		{{NUMBER(replayer_at_node, seq, AT), "was to go to step 3 of #201"},
			{NUMBER(replayer_at_node, steps, 4), "was to go to step 3 of #201"}}},
	{REPLAYER_GRAPH_PART, ask_part, {{.lie.n = 0}}},
};
#define ROWS (sizeof rows / sizeof *rows)

/* Which answers are whole whatever follows them. */
static bool may_be_longer(uint32_t type)
{
	return type == REPLAYER_OPEN || type == REPLAYER_VERIFY || type == REPLAYER_ORDER ||
	       type == REPLAYER_CHECK || type == REPLAYER_CHANGED || type == REPLAYER_ACCESSES ||
	       type == REPLAYER_RACES || type == REPLAYER_PRINTED || type == REPLAYER_KERNEL_POINTS;
}

/* What a fresh process is asked when the first one cannot go back. */
static bool is_tried_again(uint32_t type)
{
	return type == REPLAYER_SEEK || type == REPLAYER_KERNEL || type == REPLAYER_ORDER ||
	       type == REPLAYER_CHECK || type == REPLAYER_CHANGED || type == REPLAYER_ACCESSES;
}

static unsigned times_asked(uint32_t type)
{
	unsigned n = 0;

	for (unsigned i = 0; i < wire->n; i++)
		n += wire->asked[i].type == type;
	return n;
}

static void says(const struct row *r, enum how how, struct err *e, const char *one, const char *two)
{
	if (!e || (!strstr(e->what, one) && !(two && strstr(e->what, two))))
		fail_msg("request %u, answer %u: %s, not %s", r->type, how,
			e ? e->what : "no error", one);
}

/* It goes on, with right answers. */
static void goes_on(struct device *d)
{
	struct memory m = {0};

	behave();
	for (unsigned i = 0; i < 3; i++) {
		struct err *e = device_seek(d, 250 + i);

		if (e) /* a process that has died: once */
			err_free(e);
		else
			break;
		assert_int_not_equal(i, 2);
	}
	is_right(d, &m);
}

/* Those that take long say where they are. */
static bool has_way(uint32_t type)
{
	return type == REPLAYER_SEEK || type == REPLAYER_RUN;
}

static void answers(const struct row *r, enum how how)
{
	struct device *d = open_it();
	struct err *e;

	ok(device_seek(d, AT));
	go_wrong(r->type, 0, how);
	told_right = true;
	wire->n = 0;
	e = r->ask(d);
	assert_true(wire->fired);
	switch (how) {
	case SHORT:
		if (r->type == REPLAYER_OPEN || r->type == REPLAYER_VERIFY)
			break; /* a shorter note, a piece less; see below */
		says(r, how, e, "too short", "it was ended");
		break;
	case EMPTY:
		says(r, how, e, "too short", NULL);
		break;
	case LONG:
		if (!may_be_longer(r->type))
			says(r, how, e, "too long", "it was ended");
		break;
	case KIND:
	case CHANGED_AFAR:
	case HUGE_SIZE:
	case ERROR_HEAD:
		says(r, how, e, "answers what is no answer", NULL);
		break;
	case HALF_HEAD:
	case HALF_BODY:
	case EXITS:
		says(r, how, e, "exit status 0", NULL);
		break;
	case EXITS_9:
		says(r, how, e, "exit status 9", NULL);
		break;
	case KILLED:
		says(r, how, e, "signal 9", NULL);
		break;
	case CLOSES:
		says(r, how, e, "closed its socket", "died");
		break;
	case SILENT:
		says(r, how, e, "no answer from the replayer in time", NULL);
		break;
	case REFUSES:
	case FAULTS:
	case FAULTS_AFAR:
		says(r, how, e, "why", NULL);
		break;
	case AGAIN:
		if (is_tried_again(r->type))
			ok(e);
		else
			says(r, how, e, "why", NULL);
		if (is_tried_again(r->type) && times_asked(r->type) != 2)
			fail_msg("request %u came %u times", r->type, times_asked(r->type));
		break;
	case PLACE:
		if (r->type == REPLAYER_OPEN)
			ok(e);
		else
			says(r, how, e, "why", NULL);
		break;
	case ON_WAY:
	case ON_WAY_AFAR:
	case ON_WAY_BACK:
	case ON_WAY_LONG:
		if (how == ON_WAY_LONG || !has_way(r->type))
			says(r, how, e, "answers what is no answer", NULL);
		else if (how == ON_WAY)
			ok(e);
		else
			says(r, how, e, "is where it cannot be", NULL);
		break;
	default: /* LEAVES: what comes behind it may fail */
		break;
	}
	if (!e && how != SHORT && how != LONG && !told_right)
		fail_msg("request %u, answer %u: what it tells is wrong", r->type, how);
	names_commands(e);
	err_free(e);
	assert_in_range(device_seq(d), FIRST - 1, LAST);
	goes_on(d);
	device_close(d);
}

static void every_request_in_every_way(void **arg)
{
	const unsigned before = descriptors();

	for (size_t i = 0; i < ROWS; i++)
		for (unsigned how = SHORT; how < HOWS; how++) {
			answers(&rows[i], (enum how)how);
			if (descriptors() != before)
				fail_msg("request %u, answer %u: descriptors", rows[i].type, how);
		}
}

/* Each request of the protocol is in the table, and the scripted replayer answers it rightly. */
static void the_table_is_whole(void **arg)
{
	static const uint32_t types[] = {
#define REQ(n, NAME, req, rep, length, help) n,
		REPLAYER_REQUESTS(REQ)
#undef REQ
	};

	for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
		bool found = types[i] == REPLAYER_QUIT; /* the client closes its socket instead */

		for (size_t k = 0; k < ROWS; k++)
			found = found || rows[k].type == types[i];
		if (!found)
			fail_msg("request %u has no row", types[i]);
	}
	for (size_t i = 0; i < ROWS; i++) {
		struct device *d = open_it();

		ok(device_seek(d, AT));
		go_wrong(rows[i].type, 0, FINE);
		told_right = true;
		wire->n = 0;
		ok(rows[i].ask(d));
		assert_true(wire->fired);
		if (times_asked(rows[i].type) != 1)
			fail_msg("request %u came %u times", rows[i].type,
				times_asked(rows[i].type));
		if (!told_right)
			fail_msg("request %u is not answered rightly", rows[i].type);
		goes_on(d);
		device_close(d);
	}
}

static void numbers_that_are_lies(void **arg)
{
	for (size_t i = 0; i < ROWS; i++)
		for (unsigned k = 0; k < 6 && rows[i].lies[k].lie.n; k++) {
			struct device *d = open_it();
			struct err *e;

			ok(device_seek(d, AT));
			go_wrong(rows[i].type, 0, LIES);
			wire->lie = rows[i].lies[k].lie;
			wire->next = rows[i].lies[k].again ? LIES : FINE;
			told_right = true;
			e = rows[i].ask(d);
			assert_true(wire->fired);
			if (rows[i].lies[k].says) {
				says(&rows[i], LIES, e, rows[i].lies[k].says, NULL);
				assert_int_equal(device_pid(d), 0);
			} else if (e) {
				fail_msg("request %u, lie %u: %s", rows[i].type, k, e->what);
			} else if (rows[i].type != REPLAYER_RUN && told_right) {
				fail_msg("request %u, lie %u: no difference", rows[i].type, k);
			} else if (rows[i].type == REPLAYER_RUN && !told_right) {
				fail_msg("request %u, lie %u: believed", rows[i].type, k);
			}
			err_free(e);
			goes_on(d);
			device_close(d);
		}
}

/* Whatever bytes come: no crash, no text without an end, no index outside of a table. */
static void rubbish(void **arg)
{
	static const uint64_t values[] = {0, 0x1b, 0x7f, 0xff, 300, 301, 302};

	for (size_t i = 0; i < ROWS; i++)
		for (unsigned k = 0; k < sizeof values / sizeof *values; k++) {
			struct device *d = open_it();

			ok(device_seek(d, AT));
			go_wrong(rows[i].type, 0, RUBBISH);
			wire->lie.value = values[k];
			err_free(rows[i].ask(d));
			assert_true(wire->fired);
			assert_in_range(device_seq(d), FIRST - 1, LAST);
			goes_on(d);
			device_close(d);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_table_is_whole),
		cmocka_unit_test(numbers_that_are_lies),
		cmocka_unit_test(rubbish),
		cmocka_unit_test(every_request_in_every_way),
	};

	return scripted_main(tests, sizeof tests / sizeof *tests);
}
