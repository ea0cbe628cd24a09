/* SPDX-License-Identifier: Apache-2.0
 *
 * Where a NaN was born: the window is executed again and what each launch wrote is scanned. Then
 * each NaN that the program got, or that is left at the window's end, is followed backwards: from
 * the command that wrote it to the input that made it do so, found by causal tests (the launch is
 * executed again with finite numbers in place of what is not finite), on to what wrote that.
 *
 * NaN that something overwrote before anyone saw it is counted and accuses nobody.
 */
#ifndef ENGINE_NAN_H
#define ENGINE_NAN_H

#include "engine/engine.h"
#include "engine/replay-device.h"

/* How the type of an element is known. */
enum nan_typed {
	NAN_TYPE_UNKNOWN,
	NAN_TYPE_ASKED,	   /* the user said it */
	NAN_TYPE_DECLARED, /* the kernel's parameter is declared so */
	NAN_TYPE_CODE,	   /* the kernel's instructions compute it */
	NAN_TYPE_READER,   /* the next launch that is given the address reads it so */
	NAN_TYPE_VALUES	   /* what lies there looks like it */
};

/* An element in memory. */
struct nan_element {
	uint64_t addr, bits;
	enum replayer_as as;
	enum nan_typed typed;
	uint64_t alloc, alloc_size, alloc_seq; /* the allocation; size 0: none, a global */
	/* of the launch that it belongs to: the parameter whose address is the nearest before it,
	 * and how many elements behind that; param UINT32_MAX: none */
	uint32_t param;
	uint64_t index;
};

/* One input of a launch that holds elements which are not finite. */
struct nan_input {
	struct nan_element first; /* of them */
	uint64_t count;
	bool sufficient; /* with everything else finite, it alone makes the launch write the NaN */
};

/* What a step backwards found: command seq wrote `out`, because `in` was there. */
struct nan_step {
	uint64_t seq;
	uint32_t
		node; /* of graph launch seq: the step (state/steps.h) that wrote; 0: the command */
	struct nan_element out, in;
	bool has_in;
	bool was_inf; /* the launch made a NaN of infinities: from here on Inf is followed */
	struct nan_input *inputs; /* heap; those that hold something that is not finite */
	size_t ninputs;
	unsigned tests; /* executions of the launch that it took */
};

enum nan_end {
	NAN_BORN,      /* a launch made it: out of finite numbers only */
	NAN_FILLED,    /* a fill wrote these bytes */
	NAN_COPIED,    /* the program copied it from its memory */
	NAN_HOST,      /* the program wrote it to memory that it shares with the device */
	NAN_RECORDED,  /* a call that cannot be executed again left it */
	NAN_START,     /* it was there when the window began */
	NAN_UNWRITTEN, /* nothing has written the memory since its allocation */
	NAN_UNSTEADY, /* a launch that is not deterministic: it writes it in some executions only */
	NAN_UNKNOWN,  /* why says so */
	NAN_ENDS
};

/* The operation that made it, where a software GPU can look into the launch. */
struct nan_site {
	bool known;
	uint32_t block[3], thread[3], lane;
	uint32_t line, source_line;   /* of the code; of the source, 0: not known */
	char *file, *function, *text; /* heap; text: the instruction */
	char *operands;		      /* heap: "%f3 = inf, %f4 = inf"; NULL: none */
	bool is_store; /* the instruction that stored it: what made the value was not found */
};

struct nan_cause {
	enum nan_end end;
	uint64_t seq;  /* the command at the end; 0: none */
	uint32_t node; /* of graph launch seq */
	struct nan_element at;
	bool is_inf;	  /* what was born there is an infinity, of which a later launch made NaN */
	uint64_t symptom; /* the copy that gave it to the program; 0: it is there at the end */
	struct nan_element seen; /* where it was seen */
	uint64_t alike;		 /* further symptoms, by command, that came to the same end */
	struct nan_step *steps;	 /* heap; the symptom first */
	size_t nsteps;
	struct nan_site site;
	char *why; /* heap: UNKNOWN, UNSTEADY */
};

/* A launch that wrote something that is not finite. */
struct nan_writer {
	uint64_t seq, nans, infs;
	bool first;   /* no command before it wrote NaN */
	bool expired; /* all of it was overwritten or freed, and no copy gave it to the program */
};

struct nan_result {
	uint64_t first, last; /* the window */
	uint64_t launches;    /* scanned; graph launches count as one */
	uint64_t elements;    /* scanned */
	uint64_t untyped;     /* bytes written whose type is not known, or is no float */
	uint64_t guessed;     /* elements whose type is known by their values only */
	/* NaNs among those, which accuse nobody: the type may be wrong; the first, of command
	 * doubtful_seq */
	uint64_t doubtful, doubtful_seq;
	struct nan_element doubtful_first;
	struct nan_writer *writers; /* heap */
	size_t nwriters;
	struct nan_cause *causes; /* heap; in the order in which they were seen */
	size_t ncauses;
	uint64_t left; /* symptoms that were not followed: there are more than NAN_CAUSES */
	bool exact;    /* what commands touch is known to the byte */
	bool inf;      /* infinities count, too */
	bool differs;  /* the replay is not what was recorded */
	const char *device;
};
#define NAN_CAUSES 8
#define NAN_STEPS 256

/* What a pointer of a launch points to. */
struct nan_named {
	enum replayer_as as; /* AUTO with known: no float */
	bool known;
	bool reads; /* the launch only reads there */
};

struct nan_ask {
	uint64_t first, last; /* 0, 0: the window's; symptoms beyond are not looked for */
	enum replayer_as as;  /* AUTO: by the kernel */
	bool inf;	      /* infinities are symptoms, too */
	bool by_changes; /* look at memory before and after launches, as on a device that does not
			    tell what they touch */
	/* What pointer number `pointer` (of those to memory) within a launch's parameter points to.
	 * May be NULL. */
	struct nan_named (*param_type)(
		void *arg, const struct sbt_cmd *launch, unsigned param, unsigned pointer);
	void *arg;
};

/* By a kernel's demangled name, where its parameters are closures or arrays of pointers: PyTorch's.
 */
struct nan_named nan_type_by_name(const char *name, unsigned pointer);

/* On the replay's device; the replay is where it was. ERR_STATE: there is none; ERR_LIMIT: the
 * commands touch too much memory. */
struct err *nan_find(struct engine *en, const struct nan_ask *ask, struct nan_result *ret) TS_CHECK;
void nan_free(struct nan_result *r);
const char *nan_end_name(enum nan_end end);
const char *nan_typed_name(enum nan_typed typed);

/* --- for `watch --nan` --- */

/* A command of a replay's window that wrote NaN to a place, or anywhere. */
struct nan_written {
	uint64_t at; /* the position behind which it is in memory */
	uint64_t by; /* the command; another than `at`: it was kept back until then */
	uint64_t nans;
	struct nan_element first; /* of the NaNs that lie in the place */
};

struct nan_list {
	uint64_t device; /* replay_device.number */
	bool exact;	 /* else a command may have left a NaN that lies beside what it wrote */
	uint64_t launches, untyped;
	size_t n;
	struct nan_written v[]; /* by `at` */
};

/* size 0: anywhere. *ret is freed with free(). Errors are those of nan_find(). */
struct err *nan_list_make(struct engine *en, const struct nan_ask *ask, uint64_t addr,
	uint64_t size, struct nan_list **ret) TS_CHECK;
/* The nearest behind position `from`, or before it; NULL: none. */
const struct nan_written *nan_list_next(const struct nan_list *l, uint64_t from, bool backwards);

#endif
