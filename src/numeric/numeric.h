/* SPDX-License-Identifier: Apache-2.0
 *
 * The numbers of two traces: both windows are executed again, side by side, and for each pair of
 * commands that belong together the bytes that they read and wrote are compared. The origin is the
 * first pair whose inputs agree and whose outputs differ.
 *
 * Memory is compared by what it is, never by its address: areas (allocations, globals of modules)
 * of both traces are paired by the uses that paired commands make of them, then by size and
 * allocating stack, in order; globals by name. Two aligned words of 8 bytes that differ are equal
 * if they are addresses of the same place in paired areas.
 */
#ifndef NUMERIC_NUMERIC_H
#define NUMERIC_NUMERIC_H

#include "engine/engine.h"
#include "engine/replay-device.h"
#include "replay/protocol.h"

struct numeric_pair {
	uint64_t a, b; /* seq */
};

enum numeric_kind {
	NUMERIC_ORIGIN,	   /* inputs agree, outputs differ */
	NUMERIC_ARGUMENTS, /* memory agrees, the program passes other arguments; outputs differ */
	NUMERIC_HOST,	   /* the program copied, or wrote, other bytes */
	NUMERIC_STRUCTURE, /* it reads what a command wrote that the other trace does not have */
	NUMERIC_HEIR,	   /* inputs differ, and outputs, too */
	NUMERIC_START,	   /* inputs differ, and did when the windows began */
	NUMERIC_UNSTEADY,  /* nondeterministic: executed again it differs from itself */
	NUMERIC_UNSURE,	   /* outputs differ; what it read is not known */
	NUMERIC_KINDS
};
enum numeric_proof {
	NUMERIC_NOT_TRIED,
	NUMERIC_STAYS,	/* B's command makes the difference from A's inputs, too */
	NUMERIC_GOES,	/* with A's inputs B's command gives A's outputs */
	NUMERIC_CANNOT, /* it was tried, and cannot be done */
};

/* Whether a difference is larger than what A's results move by when its inputs move by one ULP. */
enum numeric_matters {
	NUMERIC_MATTERS_NOT_ASKED, /* or it is a copy that only passes on what differs */
	NUMERIC_MATTERS_UNKNOWN,   /* between, of no float type, or some inputs were not moved */
	NUMERIC_MATTERS_NO,	   /* at most twice as large */
	NUMERIC_MATTERS_YES	   /* more than four times as large */
};

/* What differs in one area. */
struct numeric_place {
	uint64_t addr_a, addr_b, size; /* the area; size: A's */
	char *name;		       /* heap: a global's; NULL: an allocation */
	uint64_t alloc_a, alloc_b;     /* seq of the allocations; 0: before the recording */
	uint64_t bytes;		       /* that differ */
	uint64_t first;		       /* offset of the first of them */
	enum replayer_as as;	       /* AUTO: the type is not known, and there is nothing below */
	uint64_t elements, compared;   /* that differ, of how many */
	double largest, relative, ulp; /* each the largest; ulp of floats */
	uint64_t at;		       /* offset of the element with the largest difference */
	uint64_t a, b;		       /* its bits */
	uint64_t nan_a, nan_b;	       /* elements that are NaN in one alone */
	double spread, spread_ulp;     /* the largest that A moves by, if that was asked for */
};

struct numeric_finding {
	enum numeric_kind kind;
	uint64_t a, b;
	uint64_t from_a, from_b; /* HEIR, STRUCTURE: what wrote the first differing input last, 0:
				    none on that side */
	struct numeric_place *places; /* outputs; heap */
	size_t nplaces;
	uint64_t input_bytes; /* that differ */
	uint32_t param;	      /* of launches: offset of the first that differs */
	enum numeric_proof proof;
	char *why_not;		      /* CANNOT; heap */
	bool code_same;		      /* both launches are of the same code */
	double own, own_ulp;	      /* UNSTEADY: by how much it differs from itself */
	enum numeric_matters matters; /* the worst of its places */
};

/* What was not compared, by cause. */
struct numeric_left {
	uint64_t outside;   /* pairs not in both windows */
	uint64_t kept_back; /* pairs that a wait for a value keeps back */
	uint64_t unknown;   /* pairs of which one touched memory that no area is known for */
	uint64_t unpaired;  /* areas without a counterpart that compared commands use */
	unsigned windows_a, windows_b; /* behind the first */
	uint64_t alone_a, alone_b;     /* commands that work in the window and have no pair */
};

struct numeric {
	uint64_t first_a, last_a, first_b, last_b; /* windows */
	uint64_t pairs, same, absorbed; /* compared; same outputs; inputs differ, outputs do not */
	uint64_t by_kind[NUMERIC_KINDS];
	struct numeric_finding *f; /* in A's order; the first NUMERIC_MAX */
	size_t n;
	struct numeric_place *start; /* that differ when the windows begin; heap */
	size_t nstart;
	unsigned seeds;	   /* A was executed so often with moved inputs; 0: it was not */
	uint64_t moved;	   /* elements of inputs that were moved each time */
	uint64_t pointers; /* words that differ and are addresses of the same place */
	struct numeric_left left;
	bool exact;	  /* what commands read and wrote is known to the byte */
	bool interrupted; /* pairs behind reached are not compared */
	uint64_t reached; /* in A */
	const char *device_a, *device_b;
};
#define NUMERIC_MAX 1000
#define NUMERIC_CHECKED 32 /* findings that are checked for nondeterminism, and proved */

struct numeric_ask {
	struct engine *en; /* settings, hooks and cancel of the caller; its trace is not touched */
	const char *path_a, *path_b;
	struct replay_choice on;
	const struct numeric_pair *pairs; /* in A's order */
	size_t npairs;
	enum replayer_as as; /* AUTO: by the kernel's parameters */
	/* A number for the place in the program that a stack is; b: of the second trace. */
	uint64_t (*place)(void *arg, bool b, uint32_t stack);
	void *arg;
	unsigned runs;	    /* executions of a finding in the check of nondeterminism */
	uint64_t budget_ns; /* of that check; 0: none */
	unsigned seeds;	    /* executions of A's window with inputs moved by one ULP; 0: none */
};

/* ERR_INCOMPLETE: a trace has no window; ERR_STATE, ERR_UNSUPPORTED: no such device here;
 * ERR_LIMIT: too many accesses. After Ctrl-C the result is what is known so far. */
struct err *numeric_run(struct numeric *ret, const struct numeric_ask *ask) TS_CHECK;
void numeric_free(struct numeric *r);
/* Whether nothing differs but behind nondeterministic launches. */
bool numeric_same(const struct numeric *r);
/* The first finding that is no heir and not nondeterministic; NULL: there is none. */
const struct numeric_finding *numeric_origin(const struct numeric *r);
/* The first heir when no finding is the cause: where reads are not known, each pair may have read
 * what differed before it. NULL: there is a cause, or nothing differs but behind nondeterministic
 * launches. */
const struct numeric_finding *numeric_unexplained(const struct numeric *r);
const char *numeric_kind_name(enum numeric_kind kind);
/* Findings, the nondeterministic aside, that are not within what one ULP of the inputs makes. */
uint64_t numeric_not_within(const struct numeric *r);
/* NULL: it was not asked for. */
const char *numeric_matters_name(enum numeric_matters m);
const char *numeric_proof_name(enum numeric_proof proof);

#endif
