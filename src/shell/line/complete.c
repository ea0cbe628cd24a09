/* SPDX-License-Identifier: Apache-2.0
 *
 * Completion of a line: commands word by word, then what the command's row says: settings, kernels
 * and kinds, streams, files, fields, breakpoint numbers. A `help` is completed like the command it
 * asks about.
 */
#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "engine/breakpoints.h"
#include "shell/print/kernel-text.h"
#include "engine/replay-device.h"
#include "shell/line/session.h"
#include "shell/script/defined.h"
#include "state/state.h"
#include "sbt/fields.h"

struct adder {
	void (*add)(void *to, const char *word);
	void *to;
	const char *word; /* the prefix to match */
};

static void offer(const struct adder *w, const char *candidate)
{
	if (!strncmp(candidate, w->word, strlen(w->word)))
		w->add(w->to, candidate);
}

static void offer_command(void *arg, const char *candidate)
{
	offer(arg, candidate);
}

/* --- sources --- */

/* Offers the next word of a setting's name, or its values. */
static void offer_setting(const struct adder *w, const struct setting_desc *d, const char *before)
{
	size_t n = strlen(before), len = strlen(d->name);
	char word[64];

	if (!strncmp(d->name, before, n)) {
		snprintf(word, sizeof word, "%.*s", (int)strcspn(d->name + n, " "), d->name + n);
		offer(w, word);
	}
	if (!n || strncmp(before, d->name, len) || before[len] != ' ' || before[len + 1])
		return;
	for (unsigned k = 0; settings_choice(d, k, word, sizeof word); k++)
		offer(w, word);
	if (d->type == SETTING_BOOL) {
		offer(w, "on");
		offer(w, "off");
	}
}

static void offer_settings(const struct adder *w, const char *before)
{
	static const struct setting_list *const lists[] = {&engine_settings, &shell_settings};

	for (size_t k = 0; k < sizeof lists / sizeof *lists; k++) {
		for (unsigned i = 0; i < lists[k]->n; i++)
			offer_setting(w, &lists[k]->desc[i], before);
	}
	if (!*before)
		offer(w, "env");
}

static const struct state *any_state(struct session *s)
{
	const struct state *st = NULL;
	struct err *e = session_state(s, &st);

	err_free(e);
	return e ? NULL : st;
}

static void offer_kernels(struct session *s, const struct adder *w, const char *before)
{
	const struct state *st = any_state(s);
	struct state_kernel k;

	for (unsigned i = 0; st && state_kernel(st, i, &k); i++)
		offer(w, k.short_name);
	if (*before)
		return;
	offer(w, "kernel");
	offer(w, "code");
	offer(w, "ptx");
	offer(w, "seq");
	for (unsigned k2 = 1; k2 < SBT_KIND_END; k2++) {
		const struct sbt_kind_desc *d = sbt_kind(k2);

		if (d)
			offer(w, d->name);
	}
}

static void offer_streams(struct session *s, const struct adder *w, const char *before)
{
	static const char *const words[] = {"stream", "event", "memory", "device", "context",
		"module", "kernel", "graph", "thread", "all", "at"};
	const struct state *st = any_state(s);
	size_t n = strlen(before);
	struct state_stream str;

	if (n >= 7 && !strcmp(before + n - 7, "stream ")) {
		for (unsigned i = 0; st && state_stream(st, i, &str); i++) {
			char number[16];

			snprintf(number, sizeof number, "%u", str.id);
			offer(w, number);
		}
		return;
	}
	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		offer(w, words[i]);
}

static void offer_files(const struct adder *w)
{
	const char *slash = strrchr(w->word, '/');
	char *dir = slash ? strndup(w->word, (size_t)(slash - w->word) + 1) : xstrdup("");
	DIR *d = dir ? opendir(*dir ? dir : ".") : NULL;
	struct dirent *de;

	while (d && (de = readdir(d)) != NULL) {
		struct stat st;
		char *path;
		bool is_dir;

		if (de->d_name[0] == '.' && (!slash ? w->word[0] != '.' : slash[1] != '.'))
			continue;
		path = xasprintf("%s%s", dir, de->d_name);
		is_dir = !stat(path, &st) && S_ISDIR(st.st_mode);
		if (is_dir) {
			char *with = xasprintf("%s/", path);

			offer(w, with);
			free(with);
		} else {
			offer(w, path);
		}
		free(path);
	}
	if (d)
		closedir(d);
	free(dir);
}

static void offer_fields(struct session *s, const struct adder *w)
{
	struct adder plain = *w;
	const struct sbt_cmd *c;
	const struct sbt_kind_desc *d;
	char name[64];

	plain.word += strspn(plain.word, "$");
	d = session_cmd(s, &c) ? sbt_kind(c->kind) : sbt_kind(SBT_LAUNCH);
	for (const struct sbt_field *f = d->fields; f->name; f++) {
		snprintf(name, sizeof name, "$cmd.%s", f->name);
		offer(w, name);
		offer(w, f->name);
	}
	for (const struct sbt_field *f = sbt_common_fields; f->name; f++)
		offer(w, f->name);
}

/* Offers registers of the launch under the microscope. */
static void offer_registers(struct session *s, const struct adder *w)
{
	const struct soft_ask q = {.what = SOFT_ASK_REGISTERS};
	struct soft_value *v;
	void *rows = NULL;
	size_t n = 0;

	if (!kernel_stop(s))
		return;
	err_free(device_kernel_ask(s->engine.trace.device->d, &q, sizeof *v, &rows, &n));
	v = rows;
	for (size_t i = 0; i < n; i++)
		offer(w, v[i].name);
	free(rows);
}

static void offer_breakpoints(struct session *s, const struct adder *w)
{
	struct breakpoint *bp;
	char number[16];

	for (unsigned i = 0; (bp = breakpoints_nth(s->engine.breaks, i)) != NULL; i++) {
		snprintf(number, sizeof number, "%d", bp->id);
		offer(w, number);
	}
}

/* --- putting it together --- */

static void offer_words(
	struct session *s, const struct command *c, const char *before, const struct adder *w)
{
	switch (c->completes) {
	case COMPLETE_SETTINGS:
		offer_settings(w, before);
		break;
	case COMPLETE_KERNELS:
		offer_kernels(s, w, before);
		break;
	case COMPLETE_STREAMS:
		offer_streams(s, w, before);
		break;
	case COMPLETE_FILES:
		offer_files(w);
		break;
	case COMPLETE_REGISTERS:
		offer_registers(s, w);
		break;
	case COMPLETE_FIELDS:
		if (*w->word == '%')
			offer_registers(s, w);
		offer_fields(s, w);
		break;
	case COMPLETE_BREAKPOINTS:
		offer_breakpoints(s, w);
		break;
	case COMPLETE_NONE:
	case COMPLETE_COMMANDS:
		break;
	}
}

/* Completes word, the last word of text; the words before it are complete command words ("info
 * "). */
static void complete_in(struct session *s, const char *text, const char *word, struct adder *w)
{
	char parent[64] = "";
	unsigned n_all;
	const struct command *all = defined_table(s, &n_all), *c;
	const char *p = text;

	for (;;) {
		size_t n;
		char *one;
		struct err *e;
		const char *rest;

		p += strspn(p, " \t");
		if (p >= word) {
			lookup_complete(all, n_all, parent, word, offer_command, w);
			return;
		}
		n = strcspn(p, " \t/");
		one = xasprintf("%s%.*s", parent, (int)n, p);
		e = lookup_command(all, n_all, one, &c, &rest);
		free(one);
		err_free(e);
		if (e && !(c && c->flags & CMD_PREFIX))
			return;
		p += n + strspn(p + n, " \t");
		if (!(c->flags & CMD_PREFIX))
			break;
		snprintf(parent, sizeof parent, "%s ", c->name);
	}
	if (!strcmp(c->name, "help")) {
		complete_in(s, p, word, w);
	} else {
		char *before = strndup(p, p < word ? (size_t)(word - p) : 0);

		offer_words(s, c, before ? before : "", w);
		free(before);
	}
}

void session_complete(void *session, const char *line, size_t *ret_start,
	void (*add)(void *to, const char *word), void *to)
{
	size_t n = strlen(line);
	struct adder w = {.add = add, .to = to};

	while (n && !isspace((unsigned char)line[n - 1]))
		n--;
	*ret_start = n;
	w.word = line + n;
	complete_in(session, line, line + n, &w);
}
