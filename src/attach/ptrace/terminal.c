/* SPDX-License-Identifier: Apache-2.0
 *
 * Passes the terminal between tsdb and the inferior. As in gdb, an inferior started from a terminal
 * has a process group of its own and gets the terminal while it runs, so that Ctrl-C signals it and
 * not tsdb; tsdb takes the terminal, and its own modes, back at every stop. Without a terminal on
 * stdin nothing here does anything.
 */
#include "attach/ptrace/inferior.h"

#include <unistd.h>

#define TTY STDIN_FILENO

/* A background process that changes the terminal gets SIGTTOU, so it is blocked around each change.
 */
static void set_foreground(pid_t group)
{
	sigset_t ttou, old;

	sigemptyset(&ttou);
	sigaddset(&ttou, SIGTTOU);
	sigprocmask(SIG_BLOCK, &ttou, &old);
	(void)tcsetpgrp(TTY, group);
	sigprocmask(SIG_SETMASK, &old, NULL);
}

static void set_modes(const struct termios *modes)
{
	sigset_t ttou, old;

	sigemptyset(&ttou);
	sigaddset(&ttou, SIGTTOU);
	sigprocmask(SIG_BLOCK, &ttou, &old);
	(void)tcsetattr(TTY, TCSANOW, modes);
	sigprocmask(SIG_SETMASK, &old, NULL);
}

/* Called before the fork: finds whether there is a terminal to share. */
void terminal_begin(struct inferior *inf)
{
	inf->our_group = getpgrp();
	inf->own_group = isatty(TTY) && tcgetpgrp(TTY) == inf->our_group;
	inf->has_our_modes = inf->own_group && tcgetattr(TTY, &inf->our_modes) == 0;
	inf->its_modes = inf->our_modes;
	inf->has_its_modes = inf->has_our_modes;
}

void inferior_give_terminal(struct inferior *inf)
{
	if (!inf->own_group || inf->has_terminal || !inf->alive)
		return;
	inf->has_our_modes = tcgetattr(TTY, &inf->our_modes) == 0;
	if (inf->has_its_modes)
		set_modes(&inf->its_modes);
	set_foreground(inf->pid);
	inf->has_terminal = true;
}

void inferior_take_terminal(struct inferior *inf)
{
	if (!inf->has_terminal)
		return;
	inf->has_its_modes = tcgetattr(TTY, &inf->its_modes) == 0;
	set_foreground(inf->our_group);
	if (inf->has_our_modes)
		set_modes(&inf->our_modes);
	inf->has_terminal = false;
}
