/* SPDX-License-Identifier: Apache-2.0
 *
 * rank, info ranks: the trace of an open set that commands refer to.
 */
#include <inttypes.h>
#include "shell/trace/ranks-view.h"
#include "base/words.h"

static struct err *need_set(struct session *s)
{
	return s->engine.ranks ? NULL
			       : err_cure(err_new(ERR_STATE, "no set of traces is open"),
					 "\"tsdb merge\" makes one; open it with \"file FILE\"");
}

const char cmd_rank_help[] =
	"Without N shows which rank of the open set commands are about; with it opens that\n"
	"rank's trace: state, view, replay and everything else are about it from now on.\n"
	"A set is made by `tsdb merge`. Its ranks are replayed one at a time.\n"
	"Example: rank 1\n";

struct err *cmd_rank(struct session *s, const struct cmd_args *a)
{
	const struct rank *r;
	uint64_t v;

	TRY(need_set(s));
	if (a->argc > 1 || (a->argc && !word_u64(a->argv[0], &v)))
		return err_cure(err_new(ERR_USAGE, "\"%s\" is no rank", a->rest),
			"\"info ranks\" lists them");
	if (a->argc) {
		r = ranks_find(s->engine.ranks, v);
		if (!r)
			return err_cure(err_new(ERR_NOT_FOUND, "the set has no rank %" PRIu64, v),
				"\"info ranks\" lists them");
		TRY(trace_open(s, r->file));
		s->engine.rank = v;
	}
	r = ranks_find(s->engine.ranks, s->engine.rank);
	out_printf(s->out, "Rank %" PRIu64 " on %s: %s\n", r->rank, r->host, r->file);
	return NULL;
}

const char cmd_info_ranks_help[] =
	"Lists the traces of the open set: rank, host, process, commands, and how the host's clock goes into the set's.\n"
	"Of more than 32 ranks those that differ and a line about the others; --json\n"
	"lists all.\n"
	"Example: info ranks\n";

struct err *cmd_info_ranks(struct session *s, const struct cmd_args *a)
{
	TRY(need_set(s));
	if (a->argc)
		return err_cure(err_new(ERR_USAGE, "info ranks takes no \"%s\"", a->argv[0]),
			"Use \"info ranks\"");
	return ranks_info(s, s->engine.ranks, a->json);
}
