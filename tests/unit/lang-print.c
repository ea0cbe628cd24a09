/* SPDX-License-Identifier: Apache-2.0
 *
 * Prints what room lang makes of expressions: reads lines "print/F EXPR", "whatis EXPR" from stdin
 * and writes one line for each, "error" for what is refused. Variables hold what was assigned.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lang/lang.h"

struct variable {
	char name[64];
	struct lang_value v;
};
static struct variable variables[256];
static unsigned nvariables;

static struct variable *variable(const char *name)
{
	for (unsigned i = 0; i < nvariables; i++) {
		if (!strcmp(variables[i].name, name))
			return &variables[i];
	}
	return NULL;
}

static struct err *find(void *arg, const char *name, struct lang_value *ret, bool *ret_found)
{
	struct variable *have = *name == '$' ? variable(name + 1) : NULL;

	(void)arg;
	*ret_found = have != NULL;
	if (have) {
		*ret = lang_value_copy(&have->v);
		ret->variable = strdup(have->name);
	}
	return NULL;
}

static struct err *assign(void *arg, const char *name, const struct lang_value *v)
{
	struct variable *have = variable(name);

	(void)arg;
	if (!have && nvariables < 256) {
		have = &variables[nvariables++];
		snprintf(have->name, sizeof have->name, "%s", name);
	}
	if (have) {
		lang_value_free(&have->v);
		have->v = lang_value_copy(v);
	}
	return NULL;
}

static const struct lang_scope scope = {.name = find, .assign = assign};

static struct err *print(struct lang *l, const char *line, struct buf *out)
{
	struct lang_format f = {.elements = 200};
	struct lang_value v;
	struct err *e;

	if (*line == '/') {
		f.letter = line[1];
		line += 2;
	}
	e = lang_eval(l, &scope, line, &v);
	if (!e)
		e = lang_show(l, &scope, &f, &v, out);
	lang_value_free(&v);
	return e;
}

static struct err *whatis(struct lang *l, const char *text, struct buf *out)
{
	const struct lang_type *t;
	struct err *e = lang_type_of(l, &scope, text, &t);

	if (!e) {
		buf_str(out, "type = ");
		lang_type_name(out, t, "");
	}
	return e;
}

int main(void)
{
	struct lang *l = lang_new();
	char line[4096];

	while (fgets(line, sizeof line, stdin)) {
		struct buf out = BUF_INIT;
		struct err *e;

		line[strcspn(line, "\n")] = 0;
		e = !strncmp(line, "whatis ", 7) ? whatis(l, line + 7, &out)
						 : print(l, line + 5, &out);
		puts(e ? "error" : buf_cstr(&out));
		if (e && getenv("LANG_PRINT_WHY"))
			fprintf(stderr, "%s: %s\n", line, e->what);
		err_free(e);
		buf_free(&out);
	}
	for (unsigned i = 0; i < nvariables; i++)
		lang_value_free(&variables[i].v);
	lang_free(l);
	return 0;
}
