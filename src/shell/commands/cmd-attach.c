/* SPDX-License-Identifier: Apache-2.0
 *
 * Commands for programs that run already: attach, detach, and the option -p.
 */
#include "attach/attach.h"
#include "shell/live/process.h"

const char cmd_attach_help[] =
	"Attaches to a process that runs, by its number or its name, and stops it. The agent\n"
	"is loaded into it there and then; nothing need be restarted, rebuilt or set in its\n"
	"environment. What existed before is found out as it is met. From then on everything\n"
	"works as after `run`; `detach` and `quit` let the process go on, `kill` kills it (`run`\n"
	"starts its program again, with its arguments). One\n"
	"that SIGSTOP or Ctrl-Z has stopped stays so until `continue`.\n"
	"With --wait, waits until the next process of that name starts, and catches it.\n"
	"Example: attach 4711\n"
	"Example: attach --wait train\n";
const char cmd_detach_help[] =
	"Lets the program go on without tsdb: breakpoints are gone, the agent in it sleeps, a\n"
	"capture that is on ends. `attach` comes back to it. One that SIGSTOP had stopped before\n"
	"the attach is left stopped, unless `continue` has woken it.\n"
	"Example: detach\n";

struct err *cmd_attach(struct session *s, const struct cmd_args *a)
{
	bool wait = a->argc && !strcmp(a->argv[0], "--wait");

	if (a->argc != (wait ? 2 : 1))
		return err_cure(err_new(ERR_USAGE, "attach needs a process number, or a name"),
			"For example: attach 4711, attach --wait train");
	return process_attach(s, a->argv[wait], wait);
}

struct err *cmd_detach(struct session *s, const struct cmd_args *a)
{
	int pid = inferior_pid(s->engine.live.inf);
	struct err *e = live_detach(&s->engine);

	out_style(s->out, STYLE_NOTE, "[process %d goes on without tsdb]", pid);
	out_str(s->out, "\n");
	return e;
}
