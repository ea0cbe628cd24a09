/* SPDX-License-Identifier: Apache-2.0
 *
 * The kernels that a trace defines. A cursor that passes a definition keeps it; the first question
 * about a kernel that none has passed reads the whole trace once.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "base/buf.h"
#include "base/first-where.h"
#include "library/library.h"
#include "sbt/fields.h"
#include "sbt/kernel-name.h"

enum { NAME_MAX_BYTES = 65536, SHORT_ROOM = 4096 };

/* Where the kernel is, or would be. */
static size_t place_of(const ts_trace *t, uint64_t id)
{
	return FIRST_WHERE(t->nkernels, i, t->kernels[i].id >= id);
}

static bool is_at(const ts_trace *t, size_t at, uint64_t id)
{
	return at < t->nkernels && t->kernels[at].id == id;
}

void library_kernel_passed(ts_trace *t, const struct sbt_cmd_kernel_def *d)
{
	const size_t at = place_of(t, d->new_kernel);
	const struct sbt_blob *n = &d->kernel_name;
	char text[SHORT_ROOM];
	struct kernel_name k = {.id = d->new_kernel};

	if (is_at(t, at, k.id))
		return;
	MAKE_ROOM(t->kernels, t->nkernels, t->cap_kernels);
	k.name = xasprintf("%.*s", (int)(n->len < NAME_MAX_BYTES ? n->len : NAME_MAX_BYTES),
		n->len ? (const char *)n->p : "");
	sbt_kernel_short_name(text, sizeof text, k.name);
	k.short_name = xstrdup(text);
	if (d->params.len) {
		void *copy = xmalloc(d->params.len);

		memcpy(copy, d->params.p, d->params.len);
		k.params = (struct sbt_blob){copy, d->params.len};
	}
	memmove(&t->kernels[at + 1], &t->kernels[at], (t->nkernels - at) * sizeof k);
	t->kernels[at] = k;
	t->nkernels++;
}

static struct err *read_kernels(ts_trace *t)
{
	const struct sbt_cmd *c;
	struct sbt_cursor *cursor;
	struct err *e;

	TRY(sbt_cursor_open(&cursor, t->reader));
	while (!(e = sbt_cursor_next(cursor, &c)) && c) {
		if (c->kind == SBT_KERNEL_DEF)
			library_kernel_passed(t, &c->u.kernel_def);
	}
	sbt_cursor_close(cursor);
	return e;
}

const struct kernel_name *library_kernel(ts_trace *t, uint64_t id)
{
	size_t at = is_at(t, t->last_kernel, id) ? t->last_kernel : place_of(t, id);

	if (!is_at(t, at, id) && !t->kernels_read) {
		(void)result_of(read_kernels(t));
		t->kernels_read = true;
		at = place_of(t, id);
	}
	if (!is_at(t, at, id))
		return NULL;
	t->last_kernel = at;
	return &t->kernels[at];
}

const struct sbt_field *library_kernel_field(unsigned kind)
{
	const struct sbt_field *f = kind == SBT_KERNEL_DEF ? NULL : sbt_field(kind, "kernel");

	return f && f->type == SBT_T_KERNEL ? f : NULL;
}

const struct kernel_name *library_kernel_of(ts_trace *t, const struct sbt_cmd *c)
{
	const struct sbt_field *f;

	if (c->kind == SBT_LAUNCH)
		return library_kernel(t, c->u.launch.kernel);
	f = library_kernel_field(c->kind);
	return f ? library_kernel(t, sbt_get(c, f)) : NULL;
}

void library_kernels_free(ts_trace *t)
{
	for (size_t i = 0; i < t->nkernels; i++) {
		free(t->kernels[i].name);
		free(t->kernels[i].short_name);
		free((void *)(uintptr_t)t->kernels[i].params.p);
	}
	free(t->kernels);
}

const char *ts_kernel(ts_trace *t, uint64_t kernel)
{
	const struct kernel_name *k;

	LIBRARY_DOOR(&t->broken, (library_no_memory(&t->broken), NULL));
	k = library_kernel(t, kernel);
	return k ? k->name : NULL;
}

const char *ts_kernel_short(ts_trace *t, uint64_t kernel)
{
	const struct kernel_name *k;

	LIBRARY_DOOR(&t->broken, (library_no_memory(&t->broken), NULL));
	k = library_kernel(t, kernel);
	return k ? k->short_name : NULL;
}
