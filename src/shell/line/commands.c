/* SPDX-License-Identifier: Apache-2.0
 *
 * The table of shell-commands.def, and the one place where a command's preconditions are checked.
 */
#include "shell/line/command.h"

const struct command commands[] = {
#define COMMAND(name, aliases, fn, flags, completes, group, usage, doc)                            \
	{name, aliases, fn, flags, COMPLETE_##completes, GROUP_##group, usage, doc, fn##_help},
#include "shell/line/shell-commands.def"
#undef COMMAND
};
const unsigned commands_count = sizeof commands / sizeof *commands;

const char *command_group_title(enum group g)
{
	static const char *const titles[GROUP_END] = {
		[GROUP_RUNNING] = "Running the program",
		[GROUP_BREAKPOINTS] = "Breakpoints",
		[GROUP_CAPTURE] = "Capturing a trace",
		[GROUP_REPLAY] = "Replaying a trace",
		[GROUP_KERNEL] = "Inside a launch, on the software GPU",
		[GROUP_STATE] = "Looking at the GPU",
		[GROUP_DATA] = "Looking at values, memory and stacks",
		[GROUP_SUPPORT] = "Settings, help, the system",
		[GROUP_SCRIPT] = "Scripts",
		[GROUP_USER] = "Defined by you",
	};

	return titles[g];
}
