/* SPDX-License-Identifier: Apache-2.0
 *
 * A command in memory, generated from commands.def, and the tables that describe it. The agent, the
 * trace, the state machine and the shell all pass commands as `struct sbt_cmd`. Needs no libc
 * beyond stdint and string.h: it is also compiled into the agent.
 */
#ifndef SBT_CMD_H
#define SBT_CMD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SBT_NO_ID 0xffffffffu /* "none" in a field that holds an id */

/* Bytes that are owned elsewhere. */
struct sbt_blob {
	const void *p;
	uint64_t len;
};

enum sbt_kind {
#define CMD(n, ID, name, cls, does, help) SBT_##ID = n,
#define FIELD(type, name, help)
#define END(ID)
#include "sbt/commands.def"
#undef CMD
#undef FIELD
#undef END
	SBT_KIND_END
};

enum sbt_class { SBT_CLASS_WORK, SBT_CLASS_OBJECT, SBT_CLASS_HOST, SBT_CLASS_NOTE };

/* What commands of a kind do, or may do: the column DOES of commands.def. sbt_footprint() answers
 * for one command. */
enum sbt_does {
	SBT_QUEUED = 1,	 /* waits its turn in the stream that it names, if any; becomes a
			  * graph's node while that stream is captured */
	SBT_READS = 2,	 /* bytes that its record tells */
	SBT_WRITES = 4,	 /* bytes that its record tells */
	SBT_UPDATES = 8, /* bytes that its record tells; others are meant to read them
			  * meanwhile, as with an atomic */
	SBT_ALLOCATES = 16,
	SBT_FREES = 32,	   /* an allocation; the record has its address only */
	SBT_WAITS = 64,	   /* its stream waits for another's work */
	SBT_SIGNALS = 128, /* others may wait for it */
	SBT_HOST_WAITS = 256,
	SBT_CALLS_HOST = 512,	 /* a function of the program; the record does not tell what it
				  * touches */
	SBT_RUNS_KERNEL = 1024,	 /* what the code touches is for the caller to find: from access
				  * sets, PTX or the arguments */
	SBT_RUNS_GRAPH = 2048,	 /* what the graph's nodes do */
	SBT_DOES_UNKNOWN = 4096, /* not known: it may touch everything */
	SBT_PASSED = 8192,	 /* no stop for `next`: it tells something of other commands, or
				  * asks about them */
};
/* May change memory, or which allocation memory belongs to. */
#define SBT_CHANGES                                                                                \
	(SBT_WRITES | SBT_UPDATES | SBT_FREES | SBT_CALLS_HOST | SBT_RUNS_KERNEL |                 \
		SBT_RUNS_GRAPH | SBT_DOES_UNKNOWN)

/* Enumerations of the table; names for printing come from sbt_enum_name(). */
enum sbt_copy {
	SBT_COPY_H2D,
	SBT_COPY_D2H,
	SBT_COPY_D2D,
	SBT_COPY_H2H,
	SBT_COPY_PEER,
	SBT_COPY_ANY
};
enum sbt_mem {
	SBT_MEM_DEVICE,
	SBT_MEM_PINNED,
	SBT_MEM_MANAGED,
	SBT_MEM_REGISTERED,
	SBT_MEM_ASYNC,
	SBT_MEM_VMM,
	SBT_MEM_IPC,
	SBT_MEM_ARRAY /* a CUDA array. Its address is the agent's: see SBT_ARRAYS_BASE */
};
/* CUDA arrays have no address that a program could use. The agent gives each one from here on,
 * which nothing else has: texels lie there row after row, slice after slice, without gaps. So an
 * array is memory to all that looks at traces. */
#define SBT_ARRAYS_BASE UINT64_C(0x280000000000)
#define SBT_ARRAYS_END UINT64_C(0x2a0000000000)
static inline bool sbt_is_array(uint64_t addr)
{
	return addr - SBT_ARRAYS_BASE < SBT_ARRAYS_END - SBT_ARRAYS_BASE;
}
enum sbt_sync { SBT_SYNC_CTX, SBT_SYNC_STREAM, SBT_SYNC_EVENT };
enum sbt_capture { SBT_CAPTURE_GLOBAL, SBT_CAPTURE_THREAD, SBT_CAPTURE_RELAXED };
enum sbt_node {
	SBT_NODE_KERNEL,
	SBT_NODE_COPY,
	SBT_NODE_FILL,
	SBT_NODE_HOST,
	SBT_NODE_GRAPH,
	SBT_NODE_EMPTY,
	SBT_NODE_WAIT_EVENT,
	SBT_NODE_EVENT_RECORD,
	SBT_NODE_OTHER
};

/* attach.what */
enum sbt_attach { SBT_ATTACH_BEGINS, SBT_ATTACH_FOUND, SBT_ATTACH_UNKNOWN };

#define SBT_C_UINT uint64_t
#define SBT_C_INT uint64_t
#define SBT_C_BOOL uint64_t
#define SBT_C_SIZE uint64_t
#define SBT_C_ADDR uint64_t
#define SBT_C_HEX uint64_t
#define SBT_C_STREAM uint64_t
#define SBT_C_EVENT uint64_t
#define SBT_C_CONTEXT uint64_t
#define SBT_C_MODULE uint64_t
#define SBT_C_KERNEL uint64_t
#define SBT_C_GRAPH uint64_t
#define SBT_C_SEQ uint64_t
#define SBT_C_TIME uint64_t
#define SBT_C_DURATION uint64_t
#define SBT_C_STR struct sbt_blob
#define SBT_C_BLOB struct sbt_blob
#define SBT_C_ENUM_COPY uint64_t
#define SBT_C_ENUM_MEM uint64_t
#define SBT_C_ENUM_SYNC uint64_t
#define SBT_C_ENUM_CAPTURE uint64_t
#define SBT_C_ENUM_NODE uint64_t

/* struct sbt_launch, struct sbt_copy_cmd, ...: one per kind */
#define CMD(n, ID, name, cls, does, help) struct sbt_cmd_##name {
#define FIELD(type, name, help) SBT_C_##type name;
#define END(ID)                                                                                    \
	}                                                                                          \
	;
#include "sbt/commands.def"
#undef CMD
#undef FIELD
#undef END

enum sbt_cmd_flags {
	SBT_F_WINDOW = 1,    /* inside a capture window */
	SBT_F_GRAPH = 2,     /* captured into a graph, not executed now */
	SBT_F_SYNTHETIC = 4, /* not a call of the program: something that the agent found out,
			      * such as an object seen for the first time */
	SBT_F_PTDS = 8,	     /* issued to the per-thread default stream */
	SBT_F_BEFORE = 16,   /* on a command that introduces an object: it existed before tsdb
			      * was attached to the running program */
};

/* Bits of launch_attrs (CUlaunchAttributeID) that tsdb uses. */
enum sbt_launch_attr {
	SBT_ATTR_PROGRAMMATIC_STREAM =
		6, /* the launch may begin before the one in front on its stream has finished */
	SBT_ATTR_PROGRAMMATIC_EVENT =
		7, /* an event is recorded when the launch lets those behind it begin */
	SBT_ATTR_COMPLETION_EVENT = 12, /* an event is recorded when all blocks have begun */
	/* Not an attribute of CUDA; in saved schedules only. The launch is held while the launches
	 * behind it that may begin early run as far as they can. */
	SBT_ATTR_HELD = 63,
};

#define SBT_STREAM_UNKNOWN 0x80000000u /* in stream_flags: the flags are not known */

struct sbt_cmd {
	uint64_t seq;	  /* global, in order of API entry over all threads; from 1 */
	uint16_t kind;	  /* enum sbt_kind */
	uint16_t flags;	  /* enum sbt_cmd_flags */
	uint32_t thread;  /* thread number, from 1, in order of first GPU call */
	uint32_t ctx;	  /* id of the current context, or SBT_NO_ID */
	uint32_t stack;	  /* id of the host stack; 0: none taken */
	uint32_t result;  /* CUresult; 0 is success */
	uint32_t corr;	  /* CUPTI correlation id; 0: none */
	uint64_t host_ns; /* CLOCK_REALTIME at API entry */
	uint64_t gpu_start_ns,
		gpu_end_ns; /* CLOCK_REALTIME; 0 while not known. In the trace: the times chunks */
	union {
#define CMD(n, ID, name, cls, does, help) struct sbt_cmd_##name name;
#define FIELD(type, name, help)
#define END(ID)
#include "sbt/commands.def"
#undef CMD
#undef FIELD
#undef END
	} u;
};

/* enum sbt_does of a kind; of a number that is not in the table SBT_DOES_UNKNOWN. */
unsigned sbt_kind_does(unsigned kind);
/* Whether a replay that goes one command after the other must keep commands of the kind in that
 * order: they touch device memory in their stream. Records of events and waits touch none, and take
 * no turn. */
bool sbt_kind_takes_turn(unsigned kind);
/* Where the field called stream lies within struct sbt_cmd; 0: the kind has none. */
uint16_t sbt_stream_offset(unsigned kind);
/* The stream that the command is work on (class WORK), or SBT_NO_ID. A stream-ordered alloc or free
 * is of class OBJECT and has its stream in a field. */
uint32_t sbt_cmd_stream(const struct sbt_cmd *c);
/* Whether it ran on a stream: class WORK, no failed call, not captured into a graph. */
bool sbt_cmd_is_work(const struct sbt_cmd *c);
/* Whether the wait ends when memory holds v (CUDA driver API, CUstreamWaitValue_flags). */
bool sbt_wait_is_over(const struct sbt_cmd_batch *wait, uint64_t v);

#endif
