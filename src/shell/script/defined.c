/* SPDX-License-Identifier: Apache-2.0
 *
 * The user's own commands, see defined.h. Rows point to texts that live as long as the session,
 * since a command may be defined again while it runs.
 */
#include <stdlib.h>
#include <string.h>
#include "base/buf.h"
#include "shell/script/defined.h"

struct user_command {
	char *name;
	struct script_block body;
	char *text;	  /* of `document`; NULL: none */
	char *first;	  /* its first line, or what is said instead */
	char *stands_for; /* of an alias */
	bool running;	  /* as a hook */
};

struct defined {
	struct command *table; /* the shell's rows, some replaced, then the user's */
	unsigned n, cap;
	struct user_command **user;
	unsigned nuser, user_cap;
	bool hooks; /* some command is a hook */
};

struct defined *defined_new(void)
{
	struct defined *d = xcalloc(1, sizeof *d);

	d->n = d->cap = commands_count;
	d->table = xcalloc(d->n, sizeof *d->table);
	memcpy(d->table, commands, d->n * sizeof *d->table);
	return d;
}

void defined_free(struct defined *d)
{
	if (!d)
		return;
	for (unsigned i = 0; i < d->nuser; i++) {
		struct user_command *u = d->user[i];

		free(u->name);
		script_block_free(&u->body);
		free(u->text);
		free(u->first);
		free(u->stands_for);
		free(u);
	}
	free(d->user);
	free(d->table);
	free(d);
}

const struct command *defined_table(const struct session *s, unsigned *ret_n)
{
	*ret_n = s->defined->n;
	return s->defined->table;
}

struct err *defined_lookup(const struct session *s, const char *text, const struct command **ret,
	const char **ret_rest)
{
	return lookup_command(s->defined->table, s->defined->n, text, ret, ret_rest);
}

static struct user_command *find(const struct session *s, const char *name)
{
	struct defined *d = s->defined;

	for (unsigned i = 0; i < d->nuser; i++)
		if (!strcmp(d->user[i]->name, name))
			return d->user[i];
	return NULL;
}

static struct user_command *find_or_add(struct session *s, const char *name)
{
	struct defined *d = s->defined;
	struct user_command *u = find(s, name);

	if (u)
		return u;
	u = xcalloc(1, sizeof *u);
	u->name = xstrdup(name);
	MAKE_ROOM(d->user, d->nuser, d->user_cap);
	d->user[d->nuser++] = u;
	return u;
}

/* The row of that name, or a new one. A replaced row of the shell keeps its short forms. */
static struct command *row_of(struct session *s, const char *name)
{
	struct defined *d = s->defined;

	for (unsigned i = 0; i < d->n; i++)
		if (!strcmp(d->table[i].name, name))
			return &d->table[i];
	MAKE_ROOM(d->table, d->n, d->cap);
	d->table[d->n] = (struct command){.name = name, .aliases = ""};
	return &d->table[d->n++];
}

static void set_row(struct session *s, const struct user_command *u, unsigned flags)
{
	struct command *c = row_of(s, u->name);

	*c = (struct command){.name = u->name,
		.aliases = c->aliases,
		.run = defined_run,
		.flags = flags,
		.group = GROUP_USER,
		.usage = "[ARGS]",
		.doc = u->first,
		.help = u->text ? u->text : "",
		.stands_for = u->stands_for};
}

void defined_add(struct session *s, const char *name, struct script_block *b)
{
	const char *last = strrchr(name, ' ');
	struct user_command *u = find_or_add(s, name);

	script_block_free(&u->body);
	u->body = *b;
	*b = (struct script_block){0};
	free(u->stands_for);
	u->stands_for = NULL;
	if (!u->first)
		u->first = xstrdup("User-defined");
	last = last ? last + 1 : name;
	s->defined->hooks |= !strncmp(last, "hook-", 5) || !strncmp(last, "hookpost-", 9);
	set_row(s, u, CMD_RAW | CMD_REPEATS);
}

void defined_alias(struct session *s, const char *name, const char *stands_for, bool listed)
{
	struct user_command *u = find_or_add(s, name);

	script_block_free(&u->body);
	free(u->stands_for);
	u->stands_for = xstrdup(stands_for);
	free(u->first);
	u->first = xasprintf("The same as `%s`", stands_for);
	set_row(s, u, CMD_RAW | CMD_REPEATS | (listed ? 0 : CMD_UNLISTED));
}

const struct script_block *defined_body(const struct session *s, const char *name)
{
	const struct user_command *u = find(s, name);

	return u && !u->stands_for ? &u->body : NULL;
}

void defined_document(struct session *s, const char *name, const char *text)
{
	struct user_command *u = find(s, name);
	size_t n = strcspn(text, "\n");

	BUG_ON(!u);
	while (n && strchr(". ", text[n - 1]))
		n--;
	free(u->text);
	free(u->first);
	u->text = xstrdup(text);
	u->first = n ? xasprintf("%.*s", (int)n, text) : xstrdup("User-defined");
	set_row(s, u, CMD_RAW | CMD_REPEATS);
}

const char *defined_text(const struct session *s, const char *name)
{
	const struct user_command *u = find(s, name);

	return u ? u->text : NULL;
}

/* --- running --- */

static struct err *call(struct session *s, const struct script_block *body, const char *rest)
{
	const unsigned loops = s->script.loops, most = (unsigned)s->set.number[SHELL_CALL_DEPTH];
	struct user_args *args;
	struct script_block b;
	struct err *e;

	if (s->script.calls >= most)
		return err_cure(
			err_new(ERR_LIMIT,
				"user-defined commands call one another more than %u deep", most),
			"`set max-user-call-depth` changes the limit");
	script_block_copy(body, &b); /* the command may be defined again while it runs */
	args = user_args_new(rest);
	s->script.loops = 0;
	s->script.calls++;
	e = script_run(s, &b, args);
	s->script.calls--;
	s->script.loops = loops;
	user_args_free(args);
	script_block_free(&b);
	return e;
}

struct err *defined_run(struct session *s, const struct cmd_args *a)
{
	const struct script_block *body = defined_body(s, a->cmd->name);

	BUG_ON(!body);
	return call(s, body, a->rest);
}

struct err *defined_hook(struct session *s, const char *prefix, const char *name)
{
	const char *last = strrchr(name, ' ');
	struct user_command *u;
	char *hook;
	struct err *e;

	if (!s->defined->hooks)
		return NULL;
	last = last ? last + 1 : name;
	hook = xasprintf("%.*s%s%s", (int)(last - name), name, prefix, last);
	u = find(s, hook);
	free(hook);
	if (!u || u->running || u->stands_for)
		return NULL;
	u->running = true;
	e = call(s, &u->body, "");
	u->running = false;
	return e;
}
