/* SPDX-License-Identifier: Apache-2.0
 *
 * Collectives of several ranks compared, see why-ranks.h. All ranks have launched the same ones up
 * to some number; what comes next is either missing on a rank, or differs.
 */
#include "engine/why-ranks.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "base/buf.h"
#include "base/proc-stat.h"
#include "engine/names.h"
#include "sbt/cmd.h"
#include "sbt/sbt.h"
#include "sbt/kernel-name.h"

static const char *const collectives[] = {
	"nccl*AllReduce*", "nccl*AllGather*", "nccl*ReduceScatter*", NULL};

/* --- reading --- */

struct reading {
	struct why_rank *to;
	const char *match;
	char **kernel; /* by id: the short name of a collective; NULL: it is none */
	uint32_t nkernels;
	uint64_t *comm; /* their pointers, by number */
	uint32_t ncomms, comms_cap;
	uint32_t *launched; /* by communicator */
	uint32_t launched_cap;
};

static bool is_collective(const struct reading *r, const char *mangled, const char *name)
{
	if (r->match)
		return sbt_kernel_glob(r->match, mangled, name);
	for (const char *const *g = collectives; *g; g++)
		if (sbt_kernel_glob(*g, mangled, name))
			return true;
	return false;
}

static void learn_kernel(struct reading *r, const struct sbt_cmd_kernel_def *k)
{
	char name[512], mangled[1024];
	const uint32_t id = k->new_kernel;

	if (id > 1u << 24)
		return;
	if (id >= r->nkernels) {
		r->kernel = xrealloc(r->kernel, (id + 1) * sizeof(*r->kernel));
		memset(r->kernel + r->nkernels, 0, (id + 1 - r->nkernels) * sizeof(*r->kernel));
		r->nkernels = id + 1;
	}
	snprintf(mangled, sizeof(mangled), "%.*s",
		k->kernel_name.len < sizeof(mangled) ? (int)k->kernel_name.len : 0,
		(const char *)k->kernel_name.p);
	sbt_kernel_short_name(name, sizeof(name), mangled);
	free(r->kernel[id]);
	r->kernel[id] = is_collective(r, mangled, name) ? xstrdup(name) : NULL;
}

static uint32_t comm_number(struct reading *r, const struct sbt_blob *args)
{
	uint64_t p = 0;

	memcpy(&p, args->p, args->len < sizeof(p) ? args->len : sizeof(p));
	for (uint32_t i = 0; i < r->ncomms; i++)
		if (r->comm[i] == p)
			return i;
	MAKE_ROOM(r->launched, r->ncomms, r->launched_cap);
	r->launched[r->ncomms] = 0;
	MAKE_ROOM(r->comm, r->ncomms, r->comms_cap);
	r->comm[r->ncomms] = p;
	return r->ncomms++;
}

static void learn_launch(struct reading *r, const struct sbt_cmd *c)
{
	const struct sbt_cmd_launch *l = &c->u.launch;
	struct why_rank *to = r->to;
	uint32_t comm;

	if (c->result || l->kernel >= r->nkernels || !r->kernel[l->kernel])
		return;
	comm = comm_number(r, &l->args);
	MAKE_ROOM(to->m, to->n, to->cap);
	to->m[to->n++] = (struct why_meeting){.name = xstrdup(r->kernel[l->kernel]),
		.comm = comm,
		.nth = ++r->launched[comm],
		.stream = l->stream,
		.seq = c->seq};
}

static struct err *read_commands(struct reading *r, struct sbt_reader *reader)
{
	struct sbt_cursor *at;
	const struct sbt_cmd *c = NULL;
	struct err *e;

	TRY(sbt_cursor_open(&at, reader));
	while (!(e = sbt_cursor_next(at, &c)) && c) {
		r->to->commands++;
		if (c->kind == SBT_KERNEL_DEF)
			learn_kernel(r, &c->u.kernel_def);
		else if (c->kind == SBT_LAUNCH)
			learn_launch(r, c);
	}
	sbt_cursor_close(at);
	for (uint32_t i = 0; i < r->nkernels; i++)
		free(r->kernel[i]);
	free(r->kernel);
	free(r->comm);
	free(r->launched);
	return e;
}

/* CLOCK_REALTIME in nanoseconds, of a moment in clock ticks since the machine's start. */
static uint64_t real_ns(uint64_t ticks)
{
	struct timespec now, up;

	clock_gettime(CLOCK_REALTIME, &now);
	clock_gettime(CLOCK_BOOTTIME, &up);
	return (uint64_t)(now.tv_sec - up.tv_sec) * 1000000000u +
	       ticks * (1000000000u / (uint64_t)sysconf(_SC_CLK_TCK));
}

/* Whether the process that was recorded still is there: not another one that has its number. */
static void find_process(struct why_rank *r, const struct sbt_meta *m)
{
	char *host = names_host();
	const size_t n = strlen(host);
	const uint64_t slack = 2000000000u;
	struct proc_stat now;

	/* the trace has the release of the kernel behind the name */
	if (!strncmp(m->host, host, n) && (!m->host[n] || m->host[n] == ' ')) {
		r->here = proc_stat_read(r->pid, 0, &now) && !proc_stat_ended(&now) &&
			  real_ns(now.start_ticks) < m->start_ns + slack;
		r->ended = !r->here;
	}
	free(host);
}

struct err *why_rank_read(struct why_rank *ret, const char *file, const char *match)
{
	struct reading r = {.to = ret, .match = match};
	const struct sbt_meta *m;
	struct sbt_reader *reader;
	struct err *e;

	*ret = (struct why_rank){.rank = -1, .file = xstrdup(file)};
	TRY(sbt_reader_open(&reader, file));
	m = sbt_reader_meta(reader);
	ret->rank = (int64_t)m->rank - 1;
	ret->pid = (pid_t)m->pid;
	find_process(ret, m);
	e = read_commands(&r, reader);
	sbt_reader_close(reader);
	return e;
}

void why_rank_free(struct why_rank *r)
{
	for (unsigned i = 0; i < r->n; i++)
		free(r->m[i].name);
	free(r->m);
	free(r->file);
	*r = (struct why_rank){0};
}

/* --- comparing --- */

struct job {
	struct why *w;
	const struct why_rank *r;
	unsigned n, same; /* collectives that all ranks have launched alike */
	bool several;	  /* communicators */
};

static bool alike(const struct why_meeting *a, const struct why_meeting *b)
{
	return a->comm == b->comm && a->nth == b->nth && !strcmp(a->name, b->name);
}

static unsigned count_same(const struct why_rank *r, unsigned n)
{
	for (unsigned i = 0;; i++)
		for (unsigned k = 0; k < n; k++)
			if (i >= r[k].n || !alike(&r[k].m[i], &r[0].m[i]))
				return i;
}

static void name_of(const struct job *j, const struct why_meeting *m, char *to, size_t n)
{
	snprintf(to, n, "%.100s #%u", m->name, m->nth);
	if (j->several)
		snprintf(to, n, "%.100s #%u of communicator %u", m->name, m->nth, m->comm);
}

static uint32_t collective_node(const struct job *j, const struct why_meeting *m)
{
	char name[160];

	name_of(j, m, name, sizeof(name));
	return why_node(j->w, WHY_COLLECTIVE, 0, (uint64_t)m->comm << 32 | m->nth, name);
}

static uint32_t rank_node(const struct job *j, const struct why_rank *r)
{
	char name[64];

	snprintf(name, sizeof(name), "rank %" PRId64 " (process %d)", r->rank, (int)r->pid);
	return why_node(j->w, WHY_RANK, r->pid, (uint64_t)r->rank, name);
}

static uint32_t process_node(const struct job *j, const struct why_rank *r)
{
	char name[64];
	uint32_t node;

	/* two machines may have a process of that number */
	const uint64_t id = (r->here ? 0 : (uint64_t)r->rank + 1) << 32 | (uint32_t)r->pid;

	snprintf(name, sizeof(name), "process %d", (int)r->pid);
	node = why_node(j->w, WHY_PROCESS, r->pid, id, name);
	if (r->ended) {
		why_at(j->w, node)->end = WHY_END_NEVER;
		why_set(&why_at(j->w, node)->because, "it has ended");
	} else if (!r->here) {
		why_set(&why_at(j->w, node)->because, "it is on another machine");
	}
	return node;
}

/* Where the rank launched the collective; NULL: it has not. */
static const struct why_meeting *launched_by(
	const struct job *j, const struct why_rank *r, const struct why_meeting *m)
{
	for (unsigned i = j->same; i < r->n; i++)
		if (alike(&r->m[i], m))
			return &r->m[i];
	return NULL;
}

/* What the collective needs of a rank that is not at it. */
static void add_other(
	const struct job *j, const struct why_meeting *m, const struct why_rank *other)
{
	const uint32_t c = collective_node(j, m);
	const struct why_meeting *later = launched_by(j, other, m);
	char name[160];
	uint32_t rank;

	if (later && later->stream != other->m[j->same].stream)
		return; /* it may run beside the one that the rank is at */
	rank = rank_node(j, other);
	if (later) {
		why_edge(j->w, c, rank, WHY_KNOWN_RECORDED, "comes later on");
		return;
	}
	why_edge(j->w, c, other->n > j->same ? process_node(j, other) : rank, WHY_KNOWN_RECORDED,
		"has not been launched by");
	if (other->n > j->same)
		return;
	name_of(j, m, name, sizeof(name));
	why_set(&why_at(j->w, rank)->does, "has not launched %s", name);
	why_edge(j->w, rank, process_node(j, other), WHY_KNOWN_SYSTEM, "runs in");
}

void why_ranks(struct why *w, const struct why_rank *r, unsigned n)
{
	struct job j = {.w = w, .r = r, .n = n};
	char name[160];

	j.same = n ? count_same(r, n) : 0;
	for (unsigned k = 0; k < n; k++)
		for (unsigned i = 0; i < r[k].n; i++)
			j.several |= r[k].m[i].comm != 0;
	for (unsigned k = 0; k < n; k++) {
		const struct why_meeting *m = r[k].n > j.same ? &r[k].m[j.same] : NULL;
		const uint32_t rank = rank_node(&j, &r[k]);

		if (!m)
			continue;
		name_of(&j, m, name, sizeof(name));
		why_at(w, rank)->root = true;
		why_set(&why_at(w, rank)->does, "waits in %s, command #%" PRIu64 " of %s", name,
			m->seq, r[k].file);
		why_edge(w, rank, collective_node(&j, m), WHY_KNOWN_RECORDED, "waits in");
		for (unsigned o = 0; o < n; o++)
			if (o != k && (r[o].n <= j.same || !alike(&r[o].m[j.same], m)))
				add_other(&j, m, &r[o]);
	}
}
