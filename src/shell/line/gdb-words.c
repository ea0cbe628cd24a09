/* SPDX-License-Identifier: Apache-2.0
 *
 * The table of gdb's words, see gdb-words.h. Words that mean the same here are not in it.
 */
#include "shell/line/gdb-words.h"

#include <stddef.h>
#include <string.h>

const struct gdb_word gdb_words[] = {
	{"call", "Functions of the program are not called; \"print\" evaluates expressions"},
	{"core-file", "Use \"replay start FILE\" for a trace"},
	{"hbreak", "Use \"break\""},
	{"inferior", "Use \"info inferiors\", and \"rank\" in a set of traces"},
	{"jump", "The host is not moved; \"goto\" moves a replay"},
	{"record", "Use \"capture start\" before \"run\""},
	{"return",
		"The host's functions are not left early; \"set arg\" changes a launch of a replay"},
	{"target", "Use \"attach PID\""},
	{"trace", "Use \"probe PLACE count\" for a line of a kernel, \"dprintf\" for others"},
	{"tstart", "Probes count from \"run\" on; \"info probes\" shows them"},
	{NULL, NULL},
};

const char *gdb_word_here(const char *word)
{
	for (const struct gdb_word *w = gdb_words; w->word; w++)
		if (!strcmp(w->word, word))
			return w->here;
	return NULL;
}
