/* SPDX-License-Identifier: Apache-2.0
 *
 * Parts of a search for where a NaN was born.
 */
#ifndef ENGINE_NAN_PRIVATE_H
#define ENGINE_NAN_PRIVATE_H

#include "base/buf.h"
#include "engine/nan.h"
#include "sbt/footprint.h"
#include "sbt/sbt.h"
#include "state/state.h"

#define NAN_NO_PARAM UINT32_MAX

/* Bytes of one allocation, of one type. */
struct nan_span {
	uint64_t addr, size;
	enum replayer_as as; /* AUTO: not known, or no float */
	enum nan_typed typed;
	uint32_t param;	  /* NAN_NO_PARAM: none */
	uint32_t pointer; /* of the parameter's: which it is behind */
	uint64_t base;	  /* that address; 0: none */
};

/* An address of memory among a launch's arguments. */
struct nan_pointer {
	uint64_t addr;
	uint32_t param, number; /* of those in the parameter */
};
enum { NAN_POINTERS_MAX = 512 };
struct nan_pointers {
	struct nan_pointer v[NAN_POINTERS_MAX];
	unsigned n;
};

/* A command of the window that writes, or that gives memory to the program. */
struct nan_work {
	uint64_t seq;
	uint8_t kind;
	bool from_host, to_host; /* a copy */
	bool recorded;		 /* it is not executed: what it left comes from the recording */
	bool cut;		 /* it touched other memory, too */
	bool written;		 /* spans are split and typed */
	/* a command that was kept back: the wait for a value that kept it, and the command that
	 * let it go (UINT64_MAX: none of the window); 0, 0: it ran at its own seq */
	uint64_t wait, ran;
	struct sbt_rows dst, src;	       /* of a copy */
	size_t reads, nreads, writes, nwrites; /* in nan_job.spans */
	uint64_t nans, infs;
	struct nan_element *bad; /* heap; the first NAN_KEPT of those that are not finite */
	size_t nbad;
};
#define NAN_KEPT 4096

struct nan_job {
	struct engine *en;
	struct replay_device *rd;
	struct device *d;
	const struct nan_ask *ask;
	struct nan_result *ret;
	uint64_t first, last;
	uint64_t addr, size; /* only elements that reach into these bytes count; size 0: all */
	struct nan_work *work;
	size_t nwork, cap_work;
	size_t nlate; /* works that were kept back */
	struct nan_span *spans;
	size_t nspans, cap_spans;
	bool exact;	    /* reads are known */
	struct nan_change { /* what the program wrote right before command seq */
		uint64_t seq, addr, size;
	} * changes; /* heap */
	size_t nchanges, cap_changes;
	struct { /* what the PTX says of kernels' parameters; nan-types.c */
		struct nan_kernel *v;
		size_t n, cap;
	} kernels;
	struct { /* addresses that launches were given; nan-readers.c */
		struct nan_given *v;
		size_t n, cap;
	} given;
	bool forgets; /* memory was changed: device_forget() is due */
};

/* --- nan-find.c --- */
/* Fills in rd, d, the window and *ret; what: names what needs a device. */
struct err *nan_job_open(struct nan_job *j, const char *what) TS_CHECK;
/* Brings the replay back to where it was; returns e, if that is an error. */
struct err *nan_job_close(struct nan_job *j, struct err *e) TS_CHECK;
void nan_job_free(struct nan_job *j);

/* --- nan-window.c --- */
/* Finds the window's works, and what they touch. */
struct err *nan_learn(struct nan_job *j) TS_CHECK;
/* The first work with seq or behind it. */
size_t nan_work_at(const struct nan_job *j, uint64_t seq);
/* The position behind which a work's bytes are in memory. */
uint64_t nan_ran(const struct nan_work *w);
bool nan_wrote(const struct nan_job *j, const struct nan_work *w, uint64_t addr, uint64_t size);
/* The work that wrote last to the bytes of those that ran before `before`; NULL: none of the
 * window. */
struct nan_work *nan_last_writer(
	const struct nan_job *j, uint64_t addr, uint64_t size, uint64_t before);
/* The span of works' that holds addr among n from `at` on; NULL: none. */
const struct nan_span *nan_span_at(const struct nan_job *j, size_t at, size_t n, uint64_t addr);
/* The state before command seq and, if ret_cmd is not NULL, the command itself with its cursor,
 * which the caller closes. The caller frees the state. */
struct err *nan_before(struct nan_job *j, uint64_t seq, struct state **ret,
	struct sbt_cursor **ret_cursor, const struct sbt_cmd **ret_cmd) TS_CHECK;

/* --- nan-types.c --- */
/* Whether a launch was given an address in the allocation that holds addr. */
bool nan_reaches(const struct state *st, const struct sbt_cmd *c, uint64_t addr);
void nan_pointers_of(const struct state *st, const struct sbt_cmd *c, struct nan_pointers *ret);
/* As what launch c reads there. */
struct nan_named nan_reads_as(struct nan_job *j, const struct state *st, const struct sbt_cmd *c,
	const struct nan_pointer *p);
/* Splits n spans from *at on at the borders of allocations and at the addresses that a launch was
 * given; they are then elsewhere in nan_job.spans. c NULL: no launch. */
struct err *nan_split(struct nan_job *j, const struct state *st, const struct sbt_cmd *c,
	size_t *at, size_t *n) TS_CHECK;
/* Types a span that launch c stores to, or loads from; bytes: what lies there. */
void nan_type_span(struct nan_job *j, const struct state *st, const struct sbt_cmd *c,
	struct nan_span *s, bool stores, const uint8_t *bytes, size_t n);
/* The type that most of the bytes look like; AUTO: none. */
enum replayer_as nan_type_by_values(const uint8_t *bytes, size_t n, uint64_t addr);
void nan_kernels_free(struct nan_job *j);

/* --- nan-readers.c --- */
/* Finds which addresses the window's launches were given, and which they read. */
struct err *nan_learn_readers(struct nan_job *j) TS_CHECK;
/* Types what launch seq wrote by the next that reads it; false: none is known to. */
bool nan_type_by_reader(const struct nan_job *j, uint64_t seq, struct nan_span *s);

/* --- nan-scan.c --- */
/* Executes the window and looks at what its works wrote. */
struct err *nan_scan(struct nan_job *j) TS_CHECK;
/* Looks at the n bytes of span s; adds to *nans, *infs and, if it is not NULL, to w->bad. */
void nan_look(const struct nan_span *s, const uint8_t *bytes, size_t n, uint64_t addr,
	struct nan_work *w, uint64_t *nans, uint64_t *infs);
bool nan_is_nan(uint64_t bits, enum replayer_as as);
bool nan_is_inf(uint64_t bits, enum replayer_as as);
struct err *nan_read(struct nan_job *j, struct nan_element *x) TS_CHECK;
/* Fills in the element's allocation and parameter. */
void nan_place(const struct state *st, const struct sbt_cmd *c, const struct nan_span *s,
	struct nan_element *x);

/* --- nan-test.c --- */
struct nan_verdict {
	/* BY_HOST: of what the program wrote right before the launch, which is not tested;
	 * OF_UNWRITTEN: of memory that nothing has written; both with step->in */
	enum {
		NAN_MADE_HERE,
		NAN_MADE_OF_INPUT,
		NAN_MADE_OF_UNWRITTEN,
		NAN_MADE_BY_HOST,
		NAN_NOT_STEADY,
		NAN_NOT_TOLD
	} is;
	bool by_inf; /* MADE_OF_INPUT: of infinities */
	char *why;   /* heap: NOT_STEADY, NOT_TOLD */
};
/* Why launch or graph launch w wrote step->out: fills in the step's inputs and `in`. */
struct err *nan_test(struct nan_job *j, const struct nan_work *w, struct nan_step *step,
	struct nan_verdict *ret) TS_CHECK;

/* --- nan-graph.c --- */
/* Graph launch w made c->at of finite numbers: finds which of its nodes did. */
struct err *nan_find_node(
	struct nan_job *j, const struct nan_work *w, struct nan_cause *c) TS_CHECK;

/* --- nan-walk.c --- */
/* Follows element x, seen before command `before`, to its cause. */
struct err *nan_walk(struct nan_job *j, const struct nan_element *x, uint64_t before,
	struct nan_cause *ret) TS_CHECK;

/* --- nan-site.c --- */
/* Looks for the instruction of the launch at c->seq that made c->at. */
struct err *nan_find_site(struct nan_job *j, struct nan_cause *c) TS_CHECK;

#endif
