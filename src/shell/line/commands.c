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
		[GROUP_DATA] = "Looking at values and memory",
		[GROUP_STACK] = "Looking at the host stack",
		[GROUP_FILES] = "Files",
		[GROUP_SUPPORT] = "Settings, help, the system",
		[GROUP_SCRIPT] = "Scripts",
		[GROUP_USER] = "Defined by you",
	};

	return titles[g];
}

const char *command_group_name(enum group g)
{
	static const char *const names[GROUP_END] = {
		[GROUP_RUNNING] = "running",
		[GROUP_BREAKPOINTS] = "breakpoints",
		[GROUP_CAPTURE] = "capturing",
		[GROUP_REPLAY] = "replaying",
		[GROUP_KERNEL] = "kernels",
		[GROUP_STATE] = "status",
		[GROUP_DATA] = "data",
		[GROUP_STACK] = "stack",
		[GROUP_FILES] = "files",
		[GROUP_SUPPORT] = "support",
		[GROUP_SCRIPT] = "scripts",
		[GROUP_USER] = "user-defined",
	};

	return names[g];
}
