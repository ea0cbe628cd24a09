/* SPDX-License-Identifier: Apache-2.0
 *
 * Private to the room attach: shared by the files of the drainer. drain.c merges the rings,
 * drain-ring.c reads one ring, drain-stacks.c handles modules and stack ids, drain-python.c
 * Python's code; drain-join.c joins times with commands, drain-code.c assembles code,
 * drain-memory.c takes memory contents. The inferior wrote everything in the rings, so all of it is
 * checked.
 */
#ifndef ATTACH_DRAIN_H
#define ATTACH_DRAIN_H

#include "attach/ptrace/inferior.h"
#include "gpucode/code-kind.h"

/* ---- drain-python.c ---- */

/* Python's code objects, and the places in them that stacks mention. */
struct drain_code_object {
	uint32_t epoch, number;
	char *file, *function; /* file: NULL when the slot is free */
	uint8_t *lines;
	size_t nlines;
	unsigned first_line;
};
struct drain_place_slot {
	uint32_t code, line; /* code: index + 1, 0: free */
	uint32_t place;
};
struct drain_python {
	struct drain_code_object *codes;
	unsigned ncodes, codes_cap;
	uint32_t *by_number; /* open addressing by (epoch, number): index + 1 */
	unsigned by_number_cap;
	struct sbt_place *places; /* strings are those of codes */
	unsigned nplaces, places_cap;
	struct drain_place_slot *slots; /* open addressing by (code, line) */
	unsigned slots_cap;
};
void drain_python_free(struct drain_python *p);
/* Takes a code object's message; returns false if it is malformed. */
bool drain_python_code(struct drain_python *p, uint32_t epoch, const struct tsdb_msg_python *m);
/* The number, for drain_place(), of the place that a TSDB_PC_PYTHON() means. */
uint32_t drain_python_place(struct drain_python *p, uint32_t epoch, uint64_t pc);

/* ---- drain-stacks.c ---- */

/* A file mapped in one of the programs that the process has run (epoch: counts its execs). */
struct drain_mapping {
	uint64_t start, end, bias;
	uint32_t epoch, module;
};
struct drain_stacks {
	struct drain_mapping *maps;
	unsigned nmaps, maps_cap;
	struct sbt_host_module *modules; /* strings owned */
	unsigned nmodules, modules_cap;
	uint32_t unknown_module; /* SBT_NO_ID until a frame is in no file */
	/* Stack ids of the program since the last exec are moved up by id_base, so that ids are
	 * unique in the trace. */
	uint32_t *id_bases; /* one per epoch */
	uint32_t nepochs;
	uint8_t *known; /* a bit per (moved) id that was handed out */
	size_t known_bytes;
	uint32_t max_id; /* seen so far, moved */
	struct sbt_frame frames[TSDB_STACK_MAX];
	struct drain_python python;
	uint32_t python_module; /* SBT_NO_ID until there is a frame of Python's */
};
void drain_stacks_init(struct drain_stacks *s);
void drain_stacks_free(struct drain_stacks *s);
void drain_stacks_exec(struct drain_stacks *s);
/* The id as handed out, or 0 if it was never defined. */
uint32_t drain_stack_id(const struct drain_stacks *s, uint32_t epoch, uint32_t id);
/* Called when an id is about to be defined. */
void drain_stacks_saw(struct drain_stacks *s, uint32_t epoch, uint32_t id);
/* These take a whole message of n bytes and return false if it is malformed. */
bool drain_stacks_mapping(struct drain_stacks *s, uint32_t epoch, const struct tsdb_msg_mapping *m);
/* ret->kind stays NONE if the stack is known already. */
bool drain_stacks_define(struct drain_stacks *s, uint32_t epoch, const struct tsdb_msg_stack *m,
	struct drain_item *ret);

/* ---- drain-join.c ---- */

/* Both tables are indexed by the low bits of the correlation id. CUPTI counts it up, so entries are
 * overwritten only after that many calls, long after their times came. */
#define JOIN_CMDS (1u << 20)
#define JOIN_TIMES (1u << 16)
struct join_cmd {
	uint32_t corr, epoch;
	uint64_t seq;
};
struct join_time {
	uint32_t corr, epoch;
	uint64_t start_ns, end_ns;
};
struct drain_join {
	struct join_cmd *cmds;
	struct join_time *times; /* came before their command was merged */
};
void drain_join_init(struct drain_join *j);
void drain_join_free(struct drain_join *j);
/* Remembers the command; returns true if its times came before it, in *ret. */
bool drain_join_cmd(
	struct drain_join *j, uint32_t epoch, const struct sbt_cmd *c, struct join_time *ret);
/* The seq of the newest command with this correlation id; 0: not known. */
uint64_t drain_join_seq(const struct drain_join *j, uint32_t epoch, uint32_t corr);
/* The seq of the command that the time belongs to; 0: not merged yet, the time is kept for
 * drain_join_cmd(). */
uint64_t drain_join_time(struct drain_join *j, uint32_t epoch, const struct tsdb_msg_time *m);

/* ---- drain-code.c ---- */

/* A module's code as it comes through one ring: pieces come in order. */
struct drain_code {
	uint64_t hash, total;
	enum code_kind kind;
	bool open;
	struct buf bytes;
};
/* Returns false if the piece is malformed. ret->kind is DRAIN_CODE when it was the last one. */
bool drain_code_piece(struct drain_code *c, const struct tsdb_msg_code *m, struct drain_item *ret);
void drain_code_free(struct drain_code *c);

/* ---- drain-memory.c ---- */

struct drain_bulk;
struct drain_bulk *drain_bulk_new(void);
void drain_bulk_free(struct drain_bulk *b);
void drain_bulk_unmap(struct drain_bulk *b);
/* Returns the next part of a piece; false: no slot is ready. Pointers in it are valid until the
 * next call. final: as in drain_next(). */
bool drain_bulk_give(struct inferior *inf, bool final, struct drain_item *ret);
/* How many slots wait, per mille. */
unsigned drain_bulk_pressure(const struct inferior *inf);
void drain_bulk_exec(struct inferior *inf);
/* Whether the next part is of the program before an exec: it comes before the new program's
 * commands. */
bool drain_bulk_is_old(const struct drain_bulk *b);
/* Takes a message about a window; returns false if it is malformed. */
bool drain_window_add(struct inferior *inf, const struct tsdb_msg_window *m, uint32_t epoch);
/* Returns the next beginning or end of a window; an end waits for the memory that was sent before
 * it. */
bool drain_window_give(struct inferior *inf, bool begins_only, struct drain_item *ret);

/* ---- drain-ring.c: one ring, drain.c: all of them ---- */

#define DRAIN_WARNINGS_MAX 16u
#define DRAIN_SPILLED (1ull << 63)

struct drain_entry {
	uint64_t seq;
	uint64_t at; /* bytes ever written before it; with DRAIN_SPILLED: offset in spill */
};

/* tsdb's end of a ring. */
struct drain_view {
	uint8_t *data;		   /* 2 * bytes, mapped at first use */
	uint32_t bytes;		   /* of the ring */
	uint64_t scanned;	   /* bytes indexed so far */
	uint64_t tail;		   /* as published */
	struct drain_entry *index; /* commands scanned and not handed out yet: next..n */
	unsigned next, n, cap;
	bool in_order; /* the index has rising offsets, so a tail can be published in the middle of
			  a batch */
	bool used;     /* epoch is valid */
	bool bad;
	uint32_t epoch;
	struct drain_code code;
	struct buf spill; /* records moved out of the ring, see drain_ring_release() */
};

struct drain_side { /* a stack or a piece of code */
	uint32_t ring;
	uint64_t at;
};
struct drain_time {
	struct tsdb_msg_time msg;
	uint32_t epoch;
};

struct drain_front {
	uint64_t seq; /* of the ring's next command */
	uint32_t ring;
};

struct drain {
	struct drain_view views[TSDB_RING_COUNT];
	uint32_t rings; /* views that may be in use */
	uint32_t epoch; /* execs so far */
	uint64_t watermark;
	struct drain_front
		heap[TSDB_RING_COUNT]; /* rings with commands, by the seq of the next one */
	unsigned nheap;
	struct drain_side *sides;
	unsigned side_next, nsides, sides_cap;
	struct drain_time *times;
	unsigned time_next, ntimes, times_cap;
	unsigned batches,
		bulk_left; /* of this turn of the caller's; bulk slots to hand out in this batch */
	struct drain_bulk *bulk;
	uint64_t spilled;   /* bytes in all spills */
	uint64_t last_seq;  /* handed out */
	uint64_t lost;	    /* in abandoned rings, and commands that came too late */
	uint64_t lost_full; /* in slots given back */
	struct drain_stacks stacks;
	struct drain_join join;
	bool has_time; /* came before its command, which was just handed out */
	uint64_t time_seq;
	struct join_time time;
	char *warnings[DRAIN_WARNINGS_MAX];
	unsigned nwarnings, warned;
	_Alignas(8) uint8_t record[TSDB_RECORD_MAX];
};

/* One sentence for drain_warning(). */
void drain_warn(struct drain *d, const char *fmt, ...) TS_PRINTF(2, 3);
/* Drops the remaining records of the ring; counts and reports them. */
void drain_abandon(struct drain *d, struct tsdb_ring *s, struct drain_view *v, const char *why);
/* Indexes new records in slot i, which is in use. A closed slot whose records have been handed out
 * is given back. */
void drain_ring_look(struct inferior *inf, uint32_t i, uint32_t state);
/* A copy of the record at offset at, valid until the next call. NULL if its size has changed since
 * it was scanned. */
const void *drain_ring_fetch(
	struct inferior *inf, struct drain_view *v, uint64_t at, uint32_t *ret_size);
/* Tells the producer that everything before tail has been read. */
void drain_ring_publish_tail(struct tsdb_ring *s, struct drain_view *v, uint64_t tail);
/* Called between batches: frees what has been handed out of slot i, and moves records that must
 * wait out of a ring that is half full. */
void drain_ring_release(struct inferior *inf, uint32_t i);

#endif
