/* SPDX-License-Identifier: Apache-2.0
 *
 * display, undisplay, info display, and `enable display`, `disable display`, `delete display`.
 */
#include <string.h>
#include "base/words.h"
#include "shell/commands/by-number.h"
#include "shell/print/listing.h"
#include "shell/script/displays.h"
#include "shell/values/value.h"
#include "shell/values/x-format.h"

const char cmd_display_help[] =
	"Shows an expression now and at each stop, as `print` does, or with a size (b h w g) or s\n"
	"in FMT as `x` does. Where its names are not there, it is passed over. Without EXPR:\n"
	"shows all. `undisplay N`, `disable display N`, `enable display N`, `info display`.\n"
	"Examples: display/x arg0\n"
	"          display/4fw arg0\n";

struct err *cmd_display(struct session *s, const struct cmd_args *a)
{
	struct x_format f = {.count = 1, .letter = 'x', .unit = 'w'};
	const struct lang_type *t;
	const struct display *d;
	struct err *e;

	if (!*a->rest) {
		displays_show(s);
		return NULL;
	}
	TRY(x_format_parse(&f, a->fmt));
	e = value_type(s, a->rest, &t);
	if (e && e->code != ERR_NOT_FOUND && e->code != ERR_STATE)
		return e; /* it can never be shown */
	d = displays_add(s, a->fmt, a->rest);
	if (!e)
		return display_show(s, d, true);
	out_printf(s->out, "%u: %s is shown where it is known: now %s.\n", d->id, d->expr, e->what);
	err_free(e);
	return NULL;
}

/* --- by number --- */

enum change { DELETE, ENABLE, DISABLE };

static void change_one(struct session *s, struct display *d, enum change how)
{
	if (how == DELETE)
		displays_delete(s, d->id);
	else
		d->enabled = how == ENABLE;
}

/* Changes the displays that the words name ("2", "3-5"), or all. */
static struct err *change(struct session *s, unsigned argc, char *const *argv, enum change how)
{
	struct display *d;

	for (unsigned i = 0; i < argc; i++) {
		uint64_t first, last;
		bool found = false;

		if (!word_range(argv[i], &first, &last))
			return err_cure(
				err_new(ERR_USAGE, "\"%s\" is no display's number", argv[i]),
				"\"info display\" lists them");
		for (unsigned k = 0; (d = displays_nth(s, k)) != NULL;) {
			const unsigned id = d->id;

			if (id >= first && id <= last) {
				found = true;
				change_one(s, d, how);
			}
			d = displays_nth(s, k);
			k += d && d->id == id;
		}
		if (!found)
			return err_cure(err_new(ERR_NOT_FOUND, "there is no display %s", argv[i]),
				"\"info display\" lists them");
	}
	for (unsigned k = 0; !argc && (d = displays_nth(s, k)) != NULL; k += how != DELETE)
		change_one(s, d, how);
	return NULL;
}

const char cmd_undisplay_help[] =
	"Ends displays by number (2, 3-5), or all. `delete display` is the same.\n"
	"Example: undisplay 2\n";

static struct err *delete_displays(struct session *s, unsigned argc, char *const *argv)
{
	if (!argc && displays_nth(s, 0) && !session_confirm(s, "Delete all displays?"))
		return NULL;
	return change(s, argc, argv, DELETE);
}

struct err *cmd_undisplay(struct session *s, const struct cmd_args *a)
{
	return delete_displays(s, a->argc, a->argv);
}

bool displays_command(struct session *s, const struct cmd_args *a, struct err **ret)
{
	if (!a->argc || strcmp(a->argv[0], "display") != 0)
		return false;
	if (!strcmp(a->cmd->name, "delete"))
		*ret = delete_displays(s, a->argc - 1, a->argv + 1);
	else
		*ret = change(s, a->argc - 1, a->argv + 1,
			!strcmp(a->cmd->name, "enable") ? ENABLE : DISABLE);
	return true;
}

/* --- info display --- */

const char cmd_info_display_help[] = "Lists the expressions that `display` shows at each stop.\n"
				     "Example: info display\n";

JS_DEFINE(display_object, "display", display, JS(UINT, display, id), JS(BOOL, display, enabled),
	JS_AS("shown_as", TEXT, display, fmt), JS_AS("expression", TEXT, display, expr));

static void display_text(struct buf *out, const void *row)
{
	const struct display *d = row;

	buf_printf(out, "%u:   %c  %s%s%s%s\n", d->id, d->enabled ? 'y' : 'n', *d->fmt ? "/" : "",
		d->fmt, *d->fmt ? " " : "", d->expr);
}

struct err *cmd_info_display(struct session *s, const struct cmd_args *a)
{
	struct listing l =
		listing_begin(s, a->json, &display_object, "Num Enb Expression\n", display_text);
	const struct display *d;

	for (unsigned i = 0; (d = displays_nth(s, i)) != NULL; i++)
		listing_add(&l, d);
	listing_end(&l, "There are no displays.\n");
	return NULL;
}
