/* SPDX-License-Identifier: Apache-2.0
 *
 * struct rp, which holds a whole replay. There is one process, one trace, its devices, one thread
 * that calls the GPU, and a watchdog that only looks at the clock. Each device has one context
 * here, which replaces all contexts that the program made on it. The context of home, the window's
 * first device, is current, except while a command of another device is executed
 * (replayer-devices.c).
 */
#ifndef REPLAYER_RP_H
#define REPLAYER_RP_H

#include <stdatomic.h>
#include "base/buf.h"
#include "replay/protocol.h"
#include "replayer/backend.h"
#include "replayer/inspect/inspect.h"
#include "replayer/memory/contents.h"
#include "replayer/objects/objects.h"
#include "replayer/sandbox/sandbox.h"
#include "sbt/footprint.h"
#include "sbt/memory.h"
#include "state/state.h"
#include "state/late-work.h"
#include "state/steps.h"

/* What the user changed; applied whenever execution passes it. */
struct edit {
	uint64_t seq; /* a write: after this command. A parameter: of this launch */
	bool is_param;
	uint32_t param;
	uint64_t addr;
	uint8_t *bytes;
	size_t n;
};

/* Remembers what was submitted last, when one command runs after the other (replayer-turn.c). */
struct turn {
	bool overlap; /* streams overlap instead */
	bool ordered; /* ORDER says what comes when, and waits where the stream changes */
	bool any; /* something may be in flight: what was submitted to stream last of device dev,
		     and all before it */
	struct gpu_stream *last;
	unsigned dev;
	struct gpu_event *event[DEVICES_MAX]; /* by device; NULL: not made */
};

struct watchdog {
	_Atomic uint64_t turn; /* another number for each wait; 0: nothing is being waited for */
	uint64_t turns;	       /* the main thread's: the last number given */
	_Atomic uint64_t seq, first; /* first: nothing before it is in flight */
	/* the thread that may write to the socket: 0 the main thread, 1 the watchdog */
	_Atomic int owner;
	_Atomic uint64_t limit_ns; /* while a GPU is being opened OPEN_NS at least */
	uint64_t command_ns;	   /* what a command may take */
	int fd;
};

/* Events along the way, so that a long wait becomes many short ones and the host knows about how
 * far the device is. At most MARKS of them are pending; the commands between two of them take some
 * milliseconds. */
#define MARKS 3u
#define MARK_EVERY_MAX 64u
struct marks {
	struct gpu_event *event[MARKS];
	unsigned dev[MARKS]; /* of the events */
	uint64_t seq[MARKS];
	unsigned head, n, since, every;
	uint64_t passed_ns; /* when the device was seen to pass the last one; 0: nothing has been in
			       flight since */
	uint64_t pretend_ns, clock_ns; /* for tests, else 0: how far each passing moves
					  marks_clock(), and its time */
};

#define TABLE_PAGE 4096
struct rp {
	/* A page that is read-only once the backend's library is open. */
	_Alignas(TABLE_PAGE) const struct backend *gpu;
	struct backend_library lib;
	_Alignas(TABLE_PAGE) struct sandbox *sandbox; /* NULL: none */
	int trace_fd;
	struct sbt_reader *trace;
	struct sbt_cursor *cursor;
	uint64_t cursor_seq; /* of the command it delivered last; UINT64_MAX: it must seek */
	bool open;
	unsigned flags; /* enum replayer_open_flags */
	uint64_t first, last;
	uint64_t position; /* everything up to here has been submitted */
	uint64_t current;  /* being submitted */
	uint64_t finished; /* everything up to here is known to have finished */
	bool trace_soft; /* recorded on the software NVIDIA GPU, which fills new memory its own way
			  */
	bool attached;	 /* an agent came late: not everything that was there is known */
	struct devices devices;
	struct gpu_stream *own; /* ours: contents, checkpoints */
	struct objects objects;
	struct place place;
	struct contents contents;
	struct restore_kit *restore_kits; /* replayer-restore.c; NULL: none yet */
	struct feeder *feeder;		  /* NULL: nothing for it to do */
	struct checkpoints checkpoints;
	struct in_graph { /* replayer-node.c: the position is before launch seq, memory is as after
			     so many steps of it */
		uint64_t seq; /* 0: in none */
		uint32_t done;
		struct state_steps steps;
	} in_graph;
	struct replayer_graph_part part; /* seq 0: graph launches are executed whole */
	struct moved moved;
	struct probe *probes; /* by number of the code; NULL: none yet */
	struct soft_watching {
		const struct soft_watch *soft; /* NULL: not the software GPU */
		struct replayer_soft how;
		struct buf *out; /* access sets go there; NULL: none are asked for */
		uint32_t max;
		uint64_t n;
		bool by_base;	/* launches whose addressing is known are collected by base */
		uint32_t bases; /* the present one is: how many sets it has */
	} watch;
	struct window_kept *kept; /* replayer-order.c; NULL: not read */
	uint64_t host_done; /* the host's changes of memory before commands up to this one were made
			       already, or are not to be; 0: as each command comes */
	void (*tell)(struct rp *rp); /* while it goes a long way: says how far it is, now and then;
					NULL: nobody listens */
	uint64_t told_ns;
	int fd;		/* where that is said */
	bool live_host; /* the copy being executed reads what is in host memory, not what it carried
			 */
	bool holding;	/* a held launch was submitted, and since then only such as may overtake it:
			   nothing may come between them */
	struct checking *checking; /* replayer-check.c; NULL: nothing is checked */
	struct fresh {		   /* replayer-fresh.c: memory allocated since, newest last */
		bool on;
		struct fresh_range {
			uint64_t addr, here, size; /* of the recording; in this process */
		} * r;
		size_t n, cap;
	} fresh;
	struct {
		bool may_run; /* some code that was loaded has functions of the device's own heap */
		const char
			*before; /* a kernel that may have used it before the window; NULL: none */
		uint64_t ran;	 /* the last command that used it, or may have; 0: none */
	} heap;
	/* memory at the position differs from what executing up to there gives: the next seek
	 * restores it */
	bool stale;
	struct edit *edits;
	size_t nedits, cap_edits;
	uint64_t *skip; /* sorted */
	size_t nskip;
	bool skip_recorded;
	struct microscope micro;
	struct counting counting;
	struct marks marks;
	struct turn turn;
	struct late
		*late; /* submitted, and not executed yet: it waits for a value (replayer-late.c) */
	struct {
		uint64_t addr, size; /* size 0: nothing is */
		struct sbt_hash is;  /* right now */
		uint64_t seq;	     /* the last command that came late and changed it; 0: none */
	} late_watched;
	/* Executes a command that comes late; NULL: execute_late(). */
	struct err *(*late_by)(struct rp *rp, const struct sbt_cmd *c);
	uint64_t forced; /* of those, the first wait that went on without its value; 0: none */
	struct watchdog watchdog;
	bool has_hash;	  /* false: the driver would not load it; hash on the host */
	char *path;	  /* of the trace */
	struct buf notes; /* sentences for OPEN's reply */
	uint64_t unrepeatable;
	uint64_t work, recorded, left_out; /* of struct replayer_opened */
	struct recorded_fault {
		uint64_t told, first,
			last; /* the call that got the error, 0: none; the commands that can have
				 caused it, first 0: none in the window */
		uint32_t code;
		uint64_t wait; /* while learning: the last wait for a context */
	} fault;
	struct replayer_figures figures;
	/* of the error being returned */
	uint32_t fail_code;
	uint64_t fail_seq, fail_first;
};

/* Translates n bytes that have addresses of the recording, for memory that was at addr then; any
 * thread. For a copy from or to the host, addr is the side on the device. Returns how many
 * addresses changed. */
static inline size_t moved_to_here(const struct rp *rp, uint64_t addr, void *p, size_t n)
{
	return address_map_words(&rp->moved.to_here, addr, p, n);
}
/* Translates n bytes of this device back to the recording's addresses, for comparing or showing
 * them. */
static inline size_t moved_to_there(const struct rp *rp, uint64_t addr, void *p, size_t n)
{
	return address_map_words(&rp->moved.to_there, addr, p, n);
}

#endif
