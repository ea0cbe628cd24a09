/* SPDX-License-Identifier: Apache-2.0
 *
 * Asks the stopped thread's agent to read or write device memory or to wait for a stream. For that
 * time only this thread runs, inside the agent, and traps again when it has served.
 */
#include "attach/ptrace/inferior.h"

#include <string.h>

static struct err *check_stop(const struct inferior *inf)
{
	if (inf->alive && !inf->running && inf->at_agent)
		return NULL;
	return err_cure(
		err_new(ERR_STATE,
			"the GPU can be asked only while the program is stopped at a GPU command"),
		"stop at one with `next`, `start` or a breakpoint");
}

/* Has the agent serve control->request. */
static struct err *ask(struct inferior *inf, uint32_t kind, int timeout_ms)
{
	struct tsdb_control *c = inf->control;
	struct tsdb_stop was = {
		.why = c->stop.why, .break_id = c->stop.break_id, .api_exit = c->stop.api_exit};

	c->request.kind = kind;
	c->request.result = 0;
	TRY(stops_serve(inf, timeout_ms));
	c->request.kind = TSDB_REQ_NONE;
	c->stop.why = was.why; /* the agent wrote SERVED; restores the stop's own reason */
	c->stop.break_id = was.break_id;
	c->stop.api_exit = was.api_exit;
	return NULL;
}

static struct err *bad_address(uint64_t addr, uint64_t n, uint32_t result)
{
	return err_cure(err_new(ERR_NOT_FOUND,
				"cannot read %llu bytes of GPU memory at 0x%llx (CUresult %u)",
				(unsigned long long)n, (unsigned long long)addr, result),
		"`info allocations` lists what is there");
}

struct err *inferior_gpu_read(
	struct inferior *inf, uint64_t addr, void *dst, size_t n, int timeout_ms)
{
	TRY(check_stop(inf));
	for (size_t done = 0; done < n;) {
		struct tsdb_req *r = &inf->control->request;
		size_t piece = n - done < sizeof(r->data) ? n - done : sizeof(r->data);

		r->addr = addr + done;
		r->size = piece;
		TRY(ask(inf, TSDB_REQ_READ, timeout_ms));
		if (r->result != 0)
			return bad_address(addr + done, piece, r->result);
		memcpy((char *)dst + done, r->data, piece);
		done += piece;
	}
	return NULL;
}

uint64_t inferior_gpu_read_before(const struct inferior *inf)
{
	return inf->control ? inf->control->request.before : 0;
}

struct err *inferior_gpu_sync(struct inferior *inf, uint32_t stream, int timeout_ms)
{
	TRY(check_stop(inf));
	inf->control->request.stream = stream;
	TRY(ask(inf, TSDB_REQ_SYNC_STREAM, timeout_ms));
	if (inf->control->request.result != 0)
		return err_new(ERR_INFERIOR, "waiting for stream %u failed (CUresult %u)", stream,
			inf->control->request.result);
	return NULL;
}

struct err *inferior_end_window(struct inferior *inf)
{
	TRY(check_stop(inf));
	inf->control->request.kind = TSDB_REQ_END_WINDOW;
	inf->control->request.result = 0;
	return inferior_resume(inf, true);
}
