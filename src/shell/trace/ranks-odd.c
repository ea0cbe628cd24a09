/* SPDX-License-Identifier: Apache-2.0
 *
 * Which ranks of a large set stand out, for merge and info; see ranks-odd.h. A number of commands
 * stands out only if seven of eight ranks agree on another one: in a pipeline every rank may have
 * its own.
 */
#include <stdlib.h>
#include <string.h>
#include "base/words.h"
#include "shell/trace/ranks-odd.h"

enum { RANKS_ALL = 32 };

static int by_commands(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* The number of commands that seven of eight ranks have; false: there is none. */
static bool usual_commands(const struct ranks *set, uint64_t *ret)
{
	uint64_t *n = xcalloc(set->n + 1, sizeof *n);
	unsigned most = 0, same = 0;

	for (unsigned i = 0; i < set->n; i++)
		n[i] = set->r[i].commands;
	qsort(n, set->n, sizeof *n, by_commands);
	for (unsigned i = 0; i < set->n; i++) {
		same = i && n[i] == n[i - 1] ? same + 1 : 1;
		if (same > most) {
			most = same;
			*ret = n[i];
		}
	}
	free(n);
	return most >= set->n / 8 * 7;
}

/* Whether the rank is on another host than the first, by a clock that is not known. */
static bool is_unknown(const struct ranks *set, unsigned i)
{
	return !set->r[i].fitted && strcmp(set->r[i].host, set->r[0].host) != 0;
}

static void sum_up(const struct ranks *set, unsigned i, struct ranks_odd *o)
{
	const struct rank *r = &set->r[i];

	o->others++;
	o->unknown += is_unknown(set, i);
	if (!r->fitted)
		return;
	o->low = !o->fitted || r->fit.offset < o->low ? r->fit.offset : o->low;
	o->high = !o->fitted || r->fit.offset > o->high ? r->fit.offset : o->high;
	o->error = r->fit.error > o->error ? r->fit.error : o->error;
	o->fitted++;
}

void ranks_odd_find(const struct ranks *set, struct ranks_odd *ret)
{
	uint64_t usual = 0;
	const bool has_usual = usual_commands(set, &usual);
	unsigned unknown = 0;

	*ret = (struct ranks_odd){.line = xcalloc(set->n + 1, sizeof *ret->line)};
	for (unsigned i = 0; i < set->n; i++)
		unknown += is_unknown(set, i);
	for (unsigned i = 0; i < set->n; i++) {
		ret->line[i] = set->n <= RANKS_ALL || !i ||
			       (has_usual && set->r[i].commands != usual) ||
			       (is_unknown(set, i) && unknown <= set->n / 8);
		if (!ret->line[i])
			sum_up(set, i, ret);
	}
}

void ranks_odd_others(struct buf *out, const struct ranks_odd *o)
{
	const unsigned same = o->others - o->fitted - o->unknown;
	const char *between = "";

	if (!o->others)
		return;
	buf_printf(out, "%u other rank%s: ", o->others, o->others == 1 ? "" : "s");
	if (o->fitted) {
		buf_printf(out,
			"clocks of %u fitted by meetings, ends %+.1f us to %+.1f us apart, at most to "
			"%.1f us",
			o->fitted, (double)o->low / 1e3, (double)o->high / 1e3, o->error / 1e3);
		between = "; ";
	}
	if (same) {
		buf_printf(out, "%s%u on the first's host, with its clock", between, same);
		between = "; ";
	}
	if (o->unknown)
		buf_printf(out, "%s%u on other hosts, by clocks taken as they are", between,
			o->unknown);
	buf_byte(out, '\n');
}

void ranks_odd_free(struct ranks_odd *o)
{
	free(o->line);
	*o = (struct ranks_odd){0};
}
