/* SPDX-License-Identifier: Apache-2.0
 *
 * The tables of Nsight Systems' export in a database of SQLite. How long a call took is not
 * recorded, so it ends when it begins in CUPTI_ACTIVITY_KIND_RUNTIME; waits of the host have their
 * length.
 */
#include "gpucode/call-names.h"
#include "sbt/vendor.h"
#include "export/formats/sqlite-parts.h"

void nsight_frame(struct sqlite *q, uint32_t id, unsigned depth, const struct export_frame *f)
{
	db_row(&q->db, DB_CALLCHAINS);
	db_u64(&q->db, id);
	db_u64(&q->db, sqlite_text(q, f->function));
	db_u64(&q->db, sqlite_text(q, f->file ? f->file : ""));
	db_skip(&q->db, 6);
	db_u64(&q->db, depth);
	db_end(&q->db);
}

static int64_t since(const struct sqlite *q, uint64_t ns)
{
	return (int64_t)(ns - q->j->meta->start_ns);
}

static void put_span(struct sqlite *q, uint64_t from, uint64_t to)
{
	db_i64(&q->db, since(q, from));
	db_i64(&q->db, since(q, to));
}

static uint64_t pid_of(const struct sqlite *q)
{
	return (uint64_t)(q->j->meta->pid & 0xffffff) << 24;
}

static uint64_t tid_of(const struct sqlite *q, const struct sbt_cmd *c)
{
	return pid_of(q) | (export_os_tid(q->j, c->thread) & 0xffffff);
}

static void put_context(struct sqlite *q, const struct sbt_cmd *c)
{
	db_u64(&q->db, c->ctx == SBT_NO_ID ? 0 : c->ctx);
}

/* What every activity of a device begins with; graph: its id comes in between. */
static void begin_activity(struct sqlite *q, enum db_table t, const struct export_event *ev)
{
	struct db *d = &q->db;

	db_row(d, t);
	put_span(q, ev->c->gpu_start_ns, ev->c->gpu_end_ns);
	db_u64(d, ev->device);
	if (t == DB_NSIGHT_GRAPH)
		db_u64(d, ev->c->u.graph_launch.exec);
	put_context(q, ev->c);
	db_skip(d, 1);
	db_u64(d, ev->stream);
	db_u64(d, ev->c->seq);
	db_u64(d, pid_of(q));
}

static void put_kernel_activity(struct sqlite *q, const struct export_event *ev)
{
	const struct export_kernel *k = export_kernel(q->j, ev->kernel);
	const uint64_t name = sqlite_text(q, ev->name),
		       brief = sqlite_text(q, k ? k->brief : ev->name),
		       mangled = k ? sqlite_text(q, k->mangled) : UINT64_MAX;
	struct db *d = &q->db;

	begin_activity(q, DB_NSIGHT_KERNEL, ev);
	db_u64(d, name);
	db_u64(d, brief);
	db_u64(d, mangled);
	db_skip(d, 2);
	db_u64(d, k && k->regs <= INT64_MAX ? k->regs : 0);
	sqlite_dims(d, &ev->c->u.launch);
	db_u64(d, k && k->static_shared <= INT64_MAX ? k->static_shared : 0);
	db_u64(d, ev->c->u.launch.shared & INT64_MAX);
	db_end(d);
}

static void put_copy_activity(struct sqlite *q, const struct export_event *ev)
{
	/* CUpti_ActivityMemcpyKind, by enum sbt_copy */
	static const uint8_t kinds[] = {1, 2, 8, 9, 10, 0};
	const uint64_t dir = ev->c->u.copy.dir;

	begin_activity(q, DB_NSIGHT_MEMCPY, ev);
	db_u64(&q->db, ev->bytes & INT64_MAX);
	db_u64(&q->db, dir < sizeof kinds ? kinds[dir] : 0);
	db_end(&q->db);
}

static void put_activity(struct sqlite *q, const struct export_event *ev)
{
	switch (ev->what) {
	case EXPORT_KERNEL:
		put_kernel_activity(q, ev);
		break;
	case EXPORT_GRAPH:
		begin_activity(q, DB_NSIGHT_GRAPH, ev);
		db_end(&q->db);
		break;
	case EXPORT_COPY:
		put_copy_activity(q, ev);
		break;
	case EXPORT_FILL:
		begin_activity(q, DB_NSIGHT_MEMSET, ev);
		db_u64(&q->db, ev->c->u.fill.value & INT64_MAX);
		db_u64(&q->db, ev->bytes & INT64_MAX);
		db_end(&q->db);
		break;
	default:
		break;
	}
}

/* Nsight Systems shows calls of the runtime as CUPTI names its callbacks. */
static const char *call_shown(struct sqlite *q, const struct export_event *ev, bool runtime)
{
	const char *name = call_name_shown(ev->c, sbt_meta_is_hip(q->j->meta), runtime);
	const struct call_name *n = call_name_of(ev->c);

	return n && name == n->runtime ? n->callback : name;
}

static void put_call(struct sqlite *q, const struct export_event *ev, const struct export_stack *st)
{
	enum { RUNTIME, DRIVER };
	const bool runtime = st && st->runtime;
	const char *name = ev->c->host_ns ? call_shown(q, ev, runtime) : NULL;
	const uint64_t from = ev->c->host_ns, to = ev->host_end > from ? ev->host_end : from;
	uint64_t id;

	if (!name)
		return;
	id = sqlite_text(q, name);
	db_row(&q->db, DB_NSIGHT_RUNTIME);
	put_span(q, from, to);
	db_u64(&q->db, runtime ? RUNTIME : DRIVER);
	db_u64(&q->db, tid_of(q, ev->c));
	db_u64(&q->db, ev->c->seq);
	db_u64(&q->db, id);
	db_u64(&q->db, ev->c->result);
	db_u64_if(&q->db, st, ev->c->stack);
	db_end(&q->db);
}

/* A wait of the host, or of a stream for an event. */
static void put_sync(struct sqlite *q, const struct export_event *ev)
{
	/* CUpti_ActivitySynchronizationType, by enum sbt_sync */
	static const uint8_t types[] = {4, 3, 1};
	enum { STREAM_WAIT_EVENT = 2 };
	const struct sbt_cmd *c = ev->c;
	const bool host = ev->what == EXPORT_HOST_WAIT;
	const uint64_t scope = host ? c->u.sync.scope : 0,
		       stream = host ? c->u.sync.stream : c->u.stream_wait.stream,
		       event = host ? c->u.sync.event : c->u.stream_wait.event;
	struct db *d = &q->db;

	db_row(d, DB_NSIGHT_SYNC);
	put_span(q, c->host_ns, ev->host_end > c->host_ns ? ev->host_end : c->host_ns);
	db_u64(d, ev->device);
	put_context(q, c);
	db_skip(d, 1);
	db_u64(d, stream & 0xffffffff);
	db_u64(d, c->seq);
	db_u64(d, pid_of(q));
	db_u64(d, !host ? STREAM_WAIT_EVENT : types[scope < sizeof types ? scope : 0]);
	db_u64(d, event & 0xffffffff);
	db_end(d);
}

static void put_nvtx(struct sqlite *q, const struct export_event *ev)
{
	enum { MARK = 34, PUSH_POP = 59 }; /* ENUM_NSYS_EVENT_TYPE */
	const bool range = ev->what == EXPORT_RANGE;

	db_row(&q->db, DB_NVTX);
	db_i64(&q->db, since(q, ev->c->host_ns));
	if (range && ev->host_end >= ev->c->host_ns)
		db_i64(&q->db, since(q, ev->host_end));
	else
		db_skip(&q->db, 1);
	db_u64(&q->db, range ? PUSH_POP : MARK);
	db_skip(&q->db, 3);
	db_text(&q->db, ev->name);
	db_u64(&q->db, tid_of(q, ev->c));
	db_end(&q->db);
}

void nsight_event(struct sqlite *q, const struct export_event *ev, const struct export_stack *st)
{
	if (ev->what == EXPORT_RANGE || ev->what == EXPORT_MARK) {
		put_nvtx(q, ev);
		return;
	}
	put_call(q, ev, st);
	if (ev->what == EXPORT_HOST_WAIT || ev->c->kind == SBT_STREAM_WAIT)
		put_sync(q, ev);
	if (ev->timed)
		put_activity(q, ev);
}

static void put_gpus(struct sqlite *q)
{
	for (uint32_t i = 0; i < 1024; i++) {
		const struct sbt_cmd_device *v = export_device(q->j, i);

		if (!v)
			continue;
		db_row(&q->db, DB_GPU);
		db_u64(&q->db, 0);
		db_u64(&q->db, i);
		db_text(&q->db, v->device_name.p);
		db_skip(&q->db, 2);
		db_u64(&q->db, v->total_mem);
		db_u64(&q->db, v->sm_count);
		db_u64(&q->db, v->sm_major);
		db_u64(&q->db, v->sm_minor);
		db_end(&q->db);
	}
}

static void put_enum(
	struct sqlite *q, enum db_table t, uint64_t id, const char *name, const char *label)
{
	db_row(&q->db, t);
	db_u64(&q->db, id);
	db_text(&q->db, name);
	db_text(&q->db, label);
	db_end(&q->db);
}

static void put_enums(struct sqlite *q)
{
	put_enum(q, DB_COPY_KINDS, 0, "CUDA_MEMCPY_KIND_UNKNOWN", "Unknown");
	put_enum(q, DB_COPY_KINDS, 1, "CUDA_MEMCPY_KIND_HTOD", "Host-to-Device");
	put_enum(q, DB_COPY_KINDS, 2, "CUDA_MEMCPY_KIND_DTOH", "Device-to-Host");
	put_enum(q, DB_COPY_KINDS, 8, "CUDA_MEMCPY_KIND_DTOD", "Device-to-Device");
	put_enum(q, DB_COPY_KINDS, 9, "CUDA_MEMCPY_KIND_HTOH", "Host-to-Host");
	put_enum(q, DB_COPY_KINDS, 10, "CUDA_MEMCPY_KIND_PTOP", "Peer-to-Peer");
	put_enum(q, DB_SYNC_KINDS, 1, "CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_EVENT_SYNCHRONIZE",
		"Event synchronize");
	put_enum(q, DB_SYNC_KINDS, 2, "CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_WAIT_EVENT",
		"Stream wait event");
	put_enum(q, DB_SYNC_KINDS, 3, "CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_SYNCHRONIZE",
		"Stream synchronize");
	put_enum(q, DB_SYNC_KINDS, 4, "CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_CONTEXT_SYNCHRONIZE",
		"Context synchronize");
}

void nsight_end(struct sqlite *q)
{
	put_gpus(q);
	put_enums(q);
	db_row(&q->db, DB_SESSION);
	db_u64(&q->db, q->j->meta->start_ns);
	db_end(&q->db);
}
