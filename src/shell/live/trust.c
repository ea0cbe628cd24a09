/* SPDX-License-Identifier: Apache-2.0
 *
 * Warnings before a trace's code runs, see trust.h. The recorder of a trace is known only from its
 * file's owner and its own contents. Neither is proof, so all traces are executed in the sandbox.
 * The sentence is for users who think that opening a recording is like opening a picture.
 */
#include "shell/live/trust.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>
#include "sbt/sbt.h"
#include "shell/line/out.h"
#include "shell/live/doctor-row.h"

/* "in the sandbox" or not, for a sentence that begins "its code is executed". */
static const char *where(bool no_sandbox)
{
	return no_sandbox ? "WITHOUT a sandbox: it can do all that you can"
			  : "here, in a sandbox (docs/security.md)";
}

/* The trace's host is "NAME RELEASE"; an old trace has none. */
static bool other_machine(const char *host, int *ret_length)
{
	struct utsname u;

	*ret_length = host ? (int)strcspn(host, " ") : 0;
	return *ret_length && !uname(&u) &&
	       (strlen(u.nodename) != (size_t)*ret_length ||
		       strncmp(u.nodename, host, (size_t)*ret_length));
}

void trust_tell(struct session *s, bool no_sandbox)
{
	const struct sbt_meta *meta = sbt_reader_meta(s->engine.trace.reader);
	struct stat st;
	int n;

	if (s->trust_told)
		return;
	s->trust_told = true;
	if (other_machine(meta->host, &n))
		out_warn(s->out,
			"%s was recorded on another machine, %.*s: its code is executed %s",
			s->engine.trace.path, n, meta->host, where(no_sandbox));
	else if (!stat(s->engine.trace.path, &st) && st.st_uid != geteuid())
		out_warn(s->out, "%s belongs to another user (number %u): its code is executed %s",
			s->engine.trace.path, (unsigned)st.st_uid, where(no_sandbox));
	else if (no_sandbox)
		out_warn(
			s->out, "the code of %s is executed %s", s->engine.trace.path, where(true));
	else
		s->trust_told = false; /* warn again for the next trace */
}

/* --- doctor --- */

/* Prints a wall from a line of tsdb-replayer's: "up landlock version 7: ...". */
static bool tell_wall(struct listing *l, char *line)
{
	char *name = strchr(line, ' '), *text, *shown;

	line[strcspn(line, "\n")] = '\0';
	if (!name)
		return true;
	*name++ = '\0';
	if (!strcmp(line, "error")) {
		doctor_tell(l, &(struct doctor_row){false, "sandbox", name, NULL});
		return false;
	}
	text = strchr(name, ' ');
	if (text)
		*text++ = '\0';
	shown = xasprintf("%s: %s", name, text ? text : "");
	doctor_tell(l, &(struct doctor_row){!strcmp(line, "up"), "sandbox", shown, NULL});
	free(shown);
	return true;
}

void trust_doctor(struct listing *l, const char *replayer, bool driver)
{
	char *command =
		xasprintf("'%s' --sandbox-report=%s 2>&1", replayer, driver ? "real" : "soft");
	FILE *f = strchr(replayer, '\'') ? NULL : popen(command, "re");
	char line[512];
	bool ok = f != NULL;

	free(command);
	while (f && fgets(line, sizeof line, f))
		ok = tell_wall(l, line) && ok;
	if (f)
		pclose(f);
	if (!ok)
		doctor_tell(
			l, &(struct doctor_row){false, "traces",
				   "are executed here only with --no-sandbox (docs/security.md)",
				   NULL});
}
