/* SPDX-License-Identifier: Apache-2.0
 *
 * The table of breakpoints as text, as JSON and as shell commands.
 */
#include "shell/live/breakpoints-text.h"

#include <string.h>
#include "base/json-put.h"

static void print_commands(const char *commands, const char *indent, struct buf *out)
{
	while (*commands) {
		int n = (int)strcspn(commands, "\n");

		buf_printf(out, "%s%.*s\n", indent, n, commands);
		commands += n;
		commands += *commands == '\n';
	}
}

void breakpoint_place(const struct breakpoint *bp, struct buf *out)
{
	const char *kernel = bp->glob ? bp->glob : "*";

	if (bp->line && bp->file)
		buf_printf(out, "%s:%u in %s", bp->file, bp->line, kernel);
	else if (bp->line)
		buf_printf(out,
			bp->is_offset			? "+0x%x of %s"
			: !strncmp(bp->what, "code", 4) ? "0x%x of %s"
							: "PTX line %u of %s",
			bp->line - bp->is_offset, kernel);
	else if (bp->from && bp->from_line)
		buf_printf(out, "%s:%u", bp->from, bp->from_line);
	else
		buf_str(out, bp->from ? bp->from : bp->what);
	if (bp->cond)
		buf_printf(out, " if %s", bp->cond);
}

void breakpoints_print(struct breakpoints *b, struct buf *out)
{
	const struct breakpoint *bp;

	if (!breakpoints_nth(b, 0)) {
		buf_str(out, "No breakpoints.\n");
		return;
	}
	buf_str(out, "Num  Disp  Enb  Hits  What\n");
	for (unsigned i = 0; (bp = breakpoints_nth(b, i)) != NULL; i++) {
		buf_printf(out, "%-4d %-5s %-4s %-5llu %s\n", bp->id,
			bp->temporary ? "del" : "keep", bp->enabled ? "y" : "n",
			(unsigned long long)bp->hits, bp->what);
		if (bp->cond)
			buf_printf(out, "        stop only if %s\n", bp->cond);
		if (bp->message)
			buf_printf(out, "        printf %s\n", bp->message);
		if (bp->left_out)
			buf_printf(out, "        %llu thread%s not shown\n",
				(unsigned long long)bp->left_out, bp->left_out == 1 ? "" : "s");
		if (bp->ignore)
			buf_printf(out, "        ignore the next %llu hits\n",
				(unsigned long long)bp->ignore);
		if (bp->commands)
			print_commands(bp->commands, "        ", out);
	}
}

JS_DEFINE(breakpoint_object, "breakpoint", breakpoint, JS(UINT, breakpoint, id),
	JS(BOOL, breakpoint, enabled, temporary), JS(UINT, breakpoint, hits, ignore),
	JS_AS("spec", TEXT, breakpoint, what), JS_AS("condition", TEXT, breakpoint, cond),
	JS_AS("script", TEXT, breakpoint, commands), JS(TEXT, breakpoint, message),
	JS(UINT, breakpoint, left_out));

void breakpoints_json(struct breakpoints *b, struct buf *out)
{
	const struct breakpoint *bp;

	buf_byte(out, '[');
	for (unsigned i = 0; (bp = breakpoints_nth(b, i)) != NULL; i++)
		js_add(out, &breakpoint_object, bp);
	buf_str(out, "]\n");
}

void breakpoints_script(struct breakpoints *b, struct buf *out)
{
	const struct breakpoint *bp;

	for (unsigned i = 0; (bp = breakpoints_nth(b, i)) != NULL; i++) {
		buf_printf(out, "%s%s%s%s\n",
			bp->size	? ""
			: bp->message	? "dprintf "
			: bp->temporary ? "tbreak "
					: "break ",
			bp->what,
			bp->message ? ","
			: bp->cond  ? " if "
				    : "",
			bp->message ? bp->message
			: bp->cond  ? bp->cond
				    : "");
		if (bp->message && bp->cond)
			buf_printf(out, "condition $bpnum %s\n", bp->cond);
		if (bp->ignore)
			buf_printf(out, "ignore $bpnum %llu\n", (unsigned long long)bp->ignore);
		if (!bp->enabled)
			buf_str(out, "disable $bpnum\n");
		if (bp->commands) {
			buf_str(out, "commands\n");
			print_commands(bp->commands, "  ", out);
			buf_str(out, "end\n");
		}
	}
}
