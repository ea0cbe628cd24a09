/* SPDX-License-Identifier: Apache-2.0
 *
 * The lower half of Perfetto's format: packets, field numbers (google/perfetto,
 * protos/perfetto/trace, v58), and what is written once and referred to by its number.
 */
#ifndef EXPORT_PERFETTO_OUT_H
#define EXPORT_PERFETTO_OUT_H

#include "export/core/frame-table.h"
#include "export/core/proto.h"

enum { TRACE_PACKET = 1 };
enum {
	PACKET_CLOCKS = 6,
	PACKET_TIME = 8,
	PACKET_SEQUENCE = 10,
	PACKET_EVENT = 11,
	PACKET_INTERNED = 12,
	PACKET_FLAGS = 13,
	PACKET_GPU = 53,
	PACKET_CLOCK = 58,
	PACKET_DEFAULTS = 59,
	PACKET_TRACK = 60
};
enum { FLAG_CLEARED = 1, FLAG_NEEDS = 2 };
enum { CLOCK_REAL = 1, CLOCK_BOOT = 6 };
enum {
	TRACK_UUID = 1,
	TRACK_NAME = 2,
	TRACK_PROCESS = 3,
	TRACK_THREAD = 4,
	TRACK_PARENT = 5,
	TRACK_COUNTER = 8
};
enum {
	EVENT_ANNOTATION = 4,
	EVENT_TYPE = 9,
	EVENT_TRACK = 11,
	EVENT_CATEGORY = 3,
	EVENT_NAME = 10,
	EVENT_COUNTER = 30,
	EVENT_REAL = 44,
	EVENT_FLOW = 47,
	EVENT_CORRELATION = 52,
	EVENT_STACK = 56,
	EVENT_WEIGHT = 57
};
enum { ANNOTATION_TEXT = 6, ANNOTATION_NAME = 10 };
enum perfetto_unit { UNIT_NONE = 0, UNIT_COUNT = 2, UNIT_BYTES = 3 };
enum { COUNTER_UNIT = 3 };
enum { TYPE_BEGIN = 1, TYPE_END = 2, TYPE_INSTANT = 3, TYPE_COUNTER = 4 };
enum {
	GPU_ID = 1,
	GPU_DURATION = 2,
	GPU_CONTEXT = 5,
	GPU_GPU = 11,
	GPU_QUEUE = 13,
	GPU_STAGE = 14,
	GPU_NAME = 17,
	GPU_WAITS = 18,
	GPU_LAUNCH = 21
};
enum { LAUNCH_GRID = 1, LAUNCH_GROUP = 2, LAUNCH_ARG = 3, ARG_NAME = 2, ARG_UINT = 4 };
enum {
	INTERN_CATEGORY = 1,
	INTERN_NAME = 2,
	INTERN_FUNCTION = 5,
	INTERN_FRAME = 6,
	INTERN_STACK = 7,
	INTERN_SOURCE = 18,
	INTERN_CONTEXT = 23,
	INTERN_SPEC = 24
};
enum { API_CUDA = 4, CATEGORY_OTHER = 0, CATEGORY_COMPUTE = 2 };

/* Tracks' numbers: which they are is ours to say. */
enum perfetto_track {
	TRACK_OF_PROCESS = 1,
	TRACK_OF_THREAD,
	TRACK_OF_QUEUE,
	TRACK_OF_STATE,
	TRACK_OF_RACES,
	TRACK_OF_PAIRS,
	TRACK_OF_BUSY,
	TRACK_OF_DEPTH,
	TRACK_OF_RATE,
	TRACK_OF_MEMORY
};

/* Texts that go out once. */
struct perfetto_texts {
	struct text_table table;
	uint32_t told;
};
/* A text as it may be written. */
struct perfetto_plain {
	const char *text; /* NULL: not asked for so far */
	size_t len;
};
struct perfetto {
	struct export_job *j;
	unsigned source; /* each is a sequence of packets by itself, with a process of its own */
	struct buf interned; /* goes out with the packet that is being written */
	struct perfetto_texts functions, sources, names, categories;
	struct perfetto_plain *plain; /* by the number of a name */
	uint32_t nplain;
	struct frame_table frames;
	uint32_t frames_told, contexts_told;
	struct id_marks stacks, threads, lanes, race_tracks;
	bool stages_told[4], begun;
	struct perfetto_queue *queues; /* by stream */
	uint32_t nqueues;
	struct perfetto_device *devices; /* their counters; NULL: none so far */
	struct race_end *ends;		 /* of races, by seq */
	size_t nends;
	struct pair_end *paired; /* commands that the other run has, by seq */
	struct id_marks pair_tracks;
	unsigned *files; /* sources that have a file in the archive */
	size_t nfiles, cap_files;
};

/* Forgets what the sequence has introduced. */
void perfetto_free(struct perfetto *p);
/* A packet that is being written to the job's line, and the track event in it, if it is one. */
struct perfetto_packet {
	struct pb w;
	enum pb_width width;
	size_t at, event;
};
/* Begins a packet with this time, ns; 0: it has none. Until it is closed only what it refers to may
 * be introduced, not tracks, which are packets. */
PB_INLINE struct perfetto_packet perfetto_open(
	struct perfetto *p, uint64_t time, enum pb_width width)
{
	struct perfetto_packet k = {.w = pb_begin(&p->j->line), .width = width};

	k.at = pb_open(&k.w, TRACE_PACKET, width);
	if (time)
		pb_u64(&k.w, PACKET_TIME, time);
	pb_u64(&k.w, PACKET_SEQUENCE, p->source + 1);
	pb_u64(&k.w, PACKET_FLAGS, p->begun ? FLAG_NEEDS : FLAG_CLEARED | FLAG_NEEDS);
	p->begun = true;
	return k;
}
PB_INLINE void perfetto_close(struct perfetto *p, struct perfetto_packet *k)
{
	if (p->interned.len) {
		pb_bytes(&k->w, PACKET_INTERNED, p->interned.data, p->interned.len);
		buf_clear(&p->interned);
	}
	pb_close(&k->w, k->at, k->width);
	pb_end(&k->w);
}
/* A packet that is an event of a track. */
PB_INLINE struct perfetto_packet perfetto_event(
	struct perfetto *p, uint64_t time, unsigned type, uint64_t track)
{
	struct perfetto_packet k = perfetto_open(p, time, PB_BELOW_128);

	k.event = pb_open(&k.w, PACKET_EVENT, PB_BELOW_128);
	pb_u64(&k.w, EVENT_TYPE, type);
	pb_u64(&k.w, EVENT_TRACK, track);
	return k;
}
PB_INLINE void perfetto_event_close(struct perfetto *p, struct perfetto_packet *k)
{
	pb_close(&k->w, k->event, PB_BELOW_128);
	perfetto_close(p, k);
}
/* Writes a packet that ends a slice, and has nothing else to say. */
PB_INLINE void perfetto_slice_end(struct perfetto *p, uint64_t time, uint64_t track)
{
	struct perfetto_packet k = perfetto_event(p, time, TYPE_END, track);

	perfetto_event_close(p, &k);
}
/* Writes a packet that names a track below the process's; if it is one of counts, of this unit. */
void perfetto_name_track(struct perfetto *p, uint64_t track, const char *name);
void perfetto_name_counter(
	struct perfetto *p, uint64_t track, const char *name, enum perfetto_unit unit);
/* The number of a process's track (id 0), a thread's, or a stream's. */
PB_INLINE uint64_t perfetto_track(const struct perfetto *p, enum perfetto_track what, uint32_t id)
{
	return (uint64_t)p->source << 36 | (uint64_t)what << 32 | id;
}
/* The clocks and the process's track: the first packets of a source. */
void perfetto_begin(struct perfetto *p);
/* Introduces a host thread's track, once. */
void perfetto_thread(struct perfetto *p, uint32_t thread);

/* The numbers of an event's name and category, a stack (0: there is none), a kind of work, a
 * stream's lane and a context. */
uint64_t perfetto_name(struct perfetto *p, const char *s);
const struct perfetto_plain *perfetto_plain(struct perfetto *p, const char *name);
uint64_t perfetto_category(struct perfetto *p, const char *s);
uint64_t perfetto_stack(struct perfetto *p, uint32_t id);
uint64_t perfetto_stage(struct perfetto *p, enum export_what what);
uint64_t perfetto_lane(struct perfetto *p, uint32_t stream);
uint64_t perfetto_context(struct perfetto *p, uint32_t ctx);

/* Writes what is to be counted of a command, by device. */
void perfetto_counters_put(struct perfetto *p, const struct export_event *ev);
/* After the last command of the source. */
void perfetto_counters_end(struct perfetto *p);
/* Learns which races are asked for; once for a source. */
void perfetto_races_begin(struct perfetto *p);
/* Writes what this command has of them. */
void perfetto_races_put(struct perfetto *p, const struct export_event *ev);
/* Learns which commands the other run has; once for a source. */
void perfetto_pairs_begin(struct perfetto *p);
/* Writes whether it has this one. */
void perfetto_pairs_put(struct perfetto *p, const struct export_event *ev);
/* Where each source has a file of its own: begins the one of this source, and, after the last one,
 * says how they belong together. */
struct err *perfetto_file_begin(struct perfetto *p) TS_CHECK;
struct err *perfetto_files_end(struct perfetto *p) TS_CHECK;
/* The number of the source's process: two runs may have one number, and are two processes. */
uint64_t perfetto_pid(const struct perfetto *p);

#endif
