/* SPDX-License-Identifier: Apache-2.0
 *
 * The Chrome JSON of PyTorch's profiler (Kineto), as HTA and others read it. HTA looks for the rank
 * with a regular expression that wants `"rank": N` with its blank on one line, drops rows without
 * "dur", and joins host and GPU rows by "correlation", which is the command's number here. How long
 * a call took is not recorded, so its row has length 0; waits of the host have theirs. Times are in
 * microseconds since baseTimeNanoseconds. What waits for what are rows "cuda_sync", as with the
 * profiler's enable_cuda_sync_events.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include "base/id-table.h"
#include "base/json-put.h"
#include "gpucode/call-names.h"
#include "sbt/vendor.h"
#include "export/formats/formats.h"

enum { STACKS_KEPT = 1024, NAMES_KEPT = 1024 };

struct kineto {
	struct export_job *j;
	uint64_t base; /* ns */
	bool any;
	uint32_t devices;	 /* numbers below were seen */
	struct id_table records; /* struct record, by event */
	struct stack_kept {
		uint32_t id;
		struct buf text; /* as JSON; empty: none is kept */
	} stacks[STACKS_KEPT];
	struct name_kept {
		const char *name; /* lives as long as the job */
		struct buf text;  /* as JSON */
	} names[NAMES_KEPT];
};
/* The last record of an event. */
struct record {
	uint64_t seq; /* 0: it was not seen */
	uint64_t stream;
};

/* A literal, and a literal before a number, in one go: what each row has many of. */
#define lit(b, text) put_text(b, text, sizeof(text) - 1)
#define put(b, before, v) put_number(b, before, sizeof(before) - 1, v)
/* Microseconds with three decimals; times before the base are negative. */
#define put_us(b, before, ns, base) put_time(b, before, sizeof(before) - 1, ns, base)

static inline void put_text(struct buf *b, const char *text, size_t n)
{
	memcpy(buf_room(b, n), text, n);
	b->len += n;
}

static inline void put_number(struct buf *b, const char *before, size_t n, uint64_t v)
{
	uint8_t *to = buf_room(b, n + JS_DIGITS);

	memcpy(to, before, n);
	b->len += (size_t)(js_digits(to + n, v) - to);
}

static inline void put_time(struct buf *b, const char *before, size_t n, uint64_t ns, uint64_t base)
{
	const uint64_t v = ns >= base ? ns - base : base - ns, part = v % 1000;
	uint8_t *to = buf_room(b, n + JS_DIGITS + sizeof "-.000"), *p = to + n;

	memcpy(to, before, n);
	*p = '-';
	p = js_digits(p + (ns < base), v / 1000);
	*p++ = '.';
	*p++ = (uint8_t)('0' + part / 100);
	*p++ = (uint8_t)('0' + part / 10 % 10);
	*p++ = (uint8_t)('0' + part % 10);
	b->len += (size_t)(p - to);
}

/* A name as JSON; those that came lately are kept. */
static void put_name(struct kineto *k, const char *name)
{
	struct name_kept *kept = &k->names[((uintptr_t)name >> 4) % NAMES_KEPT];

	if (kept->name != name) {
		buf_clear(&kept->text);
		js_text(&kept->text, name);
		kept->name = name;
	}
	put_text(&k->j->line, (const char *)kept->text.data, kept->text.len);
}

static void row(struct kineto *k, const char *cat, const char *name, uint64_t pid, uint64_t tid,
	uint64_t from, uint64_t ns)
{
	struct buf *b = &k->j->line;

	if (k->any)
		lit(b, ",\n{\"ph\":\"X\",\"cat\":\"");
	else
		lit(b, "\n{\"ph\":\"X\",\"cat\":\"");
	buf_str(b, cat);
	lit(b, "\",\"name\":");
	put_name(k, name);
	put(b, ",\"pid\":", pid);
	put(b, ",\"tid\":", tid);
	put_us(b, ",\"ts\":", from, k->base);
	put_us(b, ",\"dur\":", ns, 0);
	lit(b, ",\"args\":{");
	k->any = true;
}

static void arrow(
	struct kineto *k, const char *ends, uint64_t pid, uint64_t tid, uint64_t at, uint64_t id)
{
	struct buf *b = &k->j->line;

	lit(b, ",\n{\"cat\":\"ac2g\",\"name\":\"ac2g\",\"ph\":");
	buf_str(b, ends);
	put(b, ",\"id\":", id);
	put(b, ",\"pid\":", pid);
	put(b, ",\"tid\":", tid);
	put_us(b, ",\"ts\":", at, k->base);
	buf_byte(b, '}');
}

static void put_launch(struct export_job *j, const struct export_event *ev)
{
	const struct sbt_cmd_launch *l = &ev->c->u.launch;
	const struct export_kernel *kernel = export_kernel(j, ev->kernel);
	struct buf *b = &j->line;

	put(b, ",\"grid\":[", l->grid_x);
	put(b, ",", l->grid_y);
	put(b, ",", l->grid_z);
	put(b, "],\"block\":[", l->block_x);
	put(b, ",", l->block_y);
	put(b, ",", l->block_z);
	put(b, "],\"shared memory\":", l->shared + (kernel ? kernel->static_shared : 0));
	if (kernel)
		put(b, ",\"registers per thread\":", kernel->regs);
}

/* n / per with six decimals, rounded. */
static void put_ratio(struct buf *b, uint64_t n, uint64_t per)
{
	const unsigned __int128 v = ((unsigned __int128)n * 1000000 + per / 2) / per;
	uint64_t part = (uint64_t)(v % 1000000);

	js_u64(b, (uint64_t)(v / 1000000));
	buf_byte(b, '.');
	for (uint64_t digit = 100000; digit; digit /= 10) {
		buf_byte(b, (uint8_t)('0' + part / digit));
		part %= digit;
	}
}

static void put_bytes(struct buf *b, const struct export_event *ev)
{
	put(b, ",\"bytes\":", ev->bytes);
	if (!ev->gpu_ns)
		return;
	lit(b, ",\"memory bandwidth (GB/s)\":");
	put_ratio(b, ev->bytes, ev->gpu_ns);
}

static const char *gpu_name(const struct export_event *ev)
{
	static const char *const copies[] = {"Memcpy HtoD", "Memcpy DtoH", "Memcpy DtoD",
		"Memcpy HtoH", "Memcpy PtoP", "Memcpy"};

	if (ev->what == EXPORT_COPY)
		return copies[ev->c->u.copy.dir < 6 ? ev->c->u.copy.dir : 5];
	return ev->what == EXPORT_FILL ? "Memset (Device)" : ev->name;
}

static void put_gpu(struct kineto *k, const struct export_event *ev)
{
	static const char *const cats[] = {"kernel", "kernel", "gpu_memcpy", "gpu_memset"};
	struct buf *b = &k->j->line;

	row(k, cats[ev->what], gpu_name(ev), ev->device, ev->stream, ev->c->gpu_start_ns,
		ev->gpu_ns);
	put(b, "\"device\":", ev->device);
	put(b, ",\"context\":", ev->c->ctx);
	put(b, ",\"stream\":", ev->stream);
	put(b, ",\"correlation\":", ev->c->seq);
	put(b, ",\"External id\":", ev->c->seq);
	if (ev->what == EXPORT_KERNEL)
		put_launch(k->j, ev);
	else if (ev->what == EXPORT_COPY || ev->what == EXPORT_FILL)
		put_bytes(b, ev);
	lit(b, "}}");
	arrow(k, "\"f\",\"bp\":\"e\"", ev->device, ev->stream, ev->c->gpu_start_ns, ev->c->seq);
	if (ev->device >= k->devices)
		k->devices = ev->device + 1;
}

static void stack_text(struct buf *ret, const struct export_stack *st)
{
	struct buf text = BUF_INIT;

	for (unsigned i = st->n; i-- > 0;) {
		const struct export_frame *f = &st->frames[i];

		buf_printf(&text, "%s", f->function);
		if (f->file)
			buf_printf(&text, " (%s:%u)", f->file, f->line);
		if (i)
			buf_byte(&text, '\n');
	}
	buf_clear(ret);
	js_text(ret, buf_cstr(&text));
	buf_free(&text);
}

/* The texts of stacks that came lately are kept: most commands have one of few. */
static void put_stack(struct kineto *k, uint32_t id, const struct export_stack *st)
{
	struct stack_kept *kept = &k->stacks[id % STACKS_KEPT];

	if (!kept->text.len || kept->id != id)
		stack_text(&kept->text, st);
	kept->id = id;
	lit(&k->j->line, ",\"stack\":");
	put_text(&k->j->line, (const char *)kept->text.data, kept->text.len);
}

/* Of a call without a recorded end the row is 1 ns long: HTA's critical path leaves out rows of
 * length 0, and all that they launched. */
static void put_host(struct kineto *k, const struct export_event *ev)
{
	const struct export_stack *st = export_stack(k->j, ev->c->stack);
	const bool runtime = st && st->runtime;
	const uint64_t tid = export_os_tid(k->j, ev->c->thread), from = ev->c->host_ns;
	const char *name = call_name_shown(ev->c, sbt_meta_is_hip(k->j->meta), runtime);
	struct buf *b = &k->j->line;

	if (!name || !from)
		return;
	row(k, runtime ? "cuda_runtime" : "cuda_driver", name, k->j->meta->pid, tid, from,
		ev->host_end > from ? ev->host_end - from : 1);
	put(b, "\"correlation\":", ev->c->seq);
	put(b, ",\"External id\":", ev->c->seq);
	if (st)
		put_stack(k, ev->c->stack, st);
	lit(b, "}}");
	if (ev->timed && ev->what <= EXPORT_FILL)
		arrow(k, "\"s\"", k->j->meta->pid, tid, from, ev->c->seq);
}

/* What the row of a wait begins with; the stream is its thread. */
static void sync_row(
	struct kineto *k, const struct export_event *ev, const char *what, uint64_t stream)
{
	const uint64_t from = ev->c->host_ns;
	struct buf *b = &k->j->line;

	row(k, "cuda_sync", what, ev->device, stream == SBT_NO_ID ? 0 : stream, from,
		ev->host_end > from ? ev->host_end - from : 0);
	buf_str(b, "\"cuda_sync_kind\":\"");
	buf_str(b, what);
	buf_str(b, "\",\"stream\":");
	if (stream == SBT_NO_ID)
		buf_str(b, "-1");
	else
		js_u64(b, stream);
	put(b, ",\"correlation\":", ev->c->seq);
	put(b, ",\"device\":", ev->device);
	put(b, ",\"context\":", ev->c->ctx);
}

/* Which record a wait for an event is for; -1: it is not in the file. */
static void put_record(struct kineto *k, uint64_t event)
{
	const struct record *r = id_table_row(&k->records, event, false);
	struct buf *b = &k->j->line;

	if (r && r->seq) {
		put(b, ",\"wait_on_stream\":", r->stream);
		put(b, ",\"wait_on_cuda_event_record_corr_id\":", r->seq);
	} else {
		lit(b, ",\"wait_on_stream\":-1,\"wait_on_cuda_event_record_corr_id\":-1");
	}
	put(b, ",\"wait_on_cuda_event_id\":", event);
}

static void put_host_wait(struct kineto *k, const struct export_event *ev)
{
	const struct sbt_cmd_sync *u = &ev->c->u.sync;
	const char *what = u->scope == SBT_SYNC_STREAM	? "Stream Sync"
			   : u->scope == SBT_SYNC_EVENT ? "Event Sync"
							: "Context Sync";

	sync_row(k, ev, what, u->scope == SBT_SYNC_STREAM ? u->stream : SBT_NO_ID);
	if (u->scope == SBT_SYNC_EVENT)
		put_record(k, u->event);
	lit(&k->j->line, "}}");
}

static void put_sync(struct kineto *k, const struct export_event *ev)
{
	const struct sbt_cmd *c = ev->c;
	struct record *r;

	if (!c->host_ns)
		return;
	if (ev->what == EXPORT_HOST_WAIT) {
		put_host_wait(k, ev);
	} else if (ev->what == EXPORT_OTHER_WORK && c->kind == SBT_STREAM_WAIT) {
		sync_row(k, ev, "Stream Wait Event", c->u.stream_wait.stream);
		put_record(k, c->u.stream_wait.event);
		lit(&k->j->line, "}}");
	} else if (ev->what == EXPORT_OTHER_WORK && c->kind == SBT_EVENT_RECORD) {
		r = id_table_row(&k->records, c->u.event_record.event, true);
		if (r)
			*r = (struct record){c->seq, c->u.event_record.stream};
	}
}

/* The digits that end "step 3", "Step#3", "iteration_3" and the like; NULL: no step's name. */
static const char *step_number(const char *name)
{
	static const char *const words[] = {"step", "iteration", "iter"};
	enum { DIGITS = 9 };

	for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
		const size_t n = strlen(words[i]);
		const char *p;

		if (strncasecmp(name, words[i], n))
			continue;
		p = name + n + strspn(name + n, " _#:-");
		if (*p && strspn(p, "0123456789") == strlen(p) && strlen(p) <= DIGITS)
			return p;
	}
	return NULL;
}

static void put_annotation(struct kineto *k, const struct export_event *ev, const char *name)
{
	row(k, "user_annotation", name, k->j->meta->pid, export_os_tid(k->j, ev->c->thread),
		ev->c->host_ns, ev->host_end - ev->c->host_ns);
	lit(&k->j->line, "}}");
}

/* HTA knows steps by the name that PyTorch's profiler gives them: a step has a row of that name,
 * too, in front of its own. */
static void put_range(struct kineto *k, const struct export_event *ev)
{
	const char *n = step_number(ev->name);
	char name[32];

	if (ev->host_end < ev->c->host_ns)
		return;
	if (n) {
		snprintf(name, sizeof name, "ProfilerStep#%s", n);
		put_annotation(k, ev, symbols_keep(k->j->ask->symbols, name));
	}
	put_annotation(k, ev, ev->name);
}

static void put_event(struct kineto *k, const struct export_event *ev)
{
	if (ev->what == EXPORT_RANGE) {
		put_range(k, ev);
		return;
	}
	put_host(k, ev);
	put_sync(k, ev);
	if (ev->timed && ev->what <= EXPORT_FILL)
		put_gpu(k, ev);
}

/* Names the rows of process pid. */
static void put_process(
	struct kineto *k, uint64_t pid, const char *name, const char *label, unsigned sort)
{
	struct buf *b = &k->j->line;

	buf_printf(b,
		"%s\n{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":%" PRIu64
		",\"tid\":0,\"args\":{\"name\":",
		k->any ? "," : "", pid);
	js_text(b, name);
	buf_printf(b,
		"}},\n{\"ph\":\"M\",\"name\":\"process_labels\",\"pid\":%" PRIu64
		",\"tid\":0,\"args\":{\"labels\":",
		pid);
	js_text(b, label);
	buf_printf(b,
		"}},\n{\"ph\":\"M\",\"name\":\"process_sort_index\",\"pid\":%" PRIu64
		",\"tid\":0,\"args\":{\"sort_index\":%u}}",
		pid, sort);
	k->any = true;
}

static void put_processes(struct kineto *k)
{
	char label[32];

	put_process(k, k->j->meta->pid, k->j->meta->program, "CPU", 0);
	for (uint32_t i = 0; i < k->devices && i < 1024; i++) {
		snprintf(label, sizeof label, "GPU %u", i);
		put_process(k, i, k->j->meta->program, label, 1000 + i);
	}
}

static void put_devices(struct kineto *k)
{
	struct buf *b = &k->j->line;
	const char *between = "";

	buf_str(b, ",\n\"deviceProperties\": [");
	for (uint32_t i = 0; i < k->devices && i < 1024; i++) {
		const struct sbt_cmd_device *d = export_device(k->j, i);

		if (!d)
			continue;
		buf_printf(b, "%s\n{\"id\":%u,\"name\":", between, i);
		js_text(b, d->device_name.p);
		buf_printf(b,
			",\"totalGlobalMem\":%" PRIu64 ",\"computeMajor\":%" PRIu64
			",\"computeMinor\":%" PRIu64 ",\"numSms\":%" PRIu64 "}",
			d->total_mem, d->sm_major, d->sm_minor, d->sm_count);
		between = ",";
	}
	buf_byte(b, ']');
}

static void put_head(struct kineto *k)
{
	const struct sbt_meta *m = k->j->meta;
	struct buf *b = &k->j->line;

	buf_str(b, "{\"schemaVersion\": 1,\n");
	if (m->rank)
		buf_printf(b,
			"\"distributedInfo\": {\"backend\": \"nccl\", \"rank\": %" PRIu64
			", \"world_size\": %" PRIu64 "},\n",
			m->rank - 1, m->ranks ? m->ranks - 1 : 0);
	else
		buf_str(b,
			"\"distributedInfo\": {\"backend\": \"none\", \"rank\": 0, \"world_size\": 1},\n");
	buf_printf(b,
		"\"displayTimeUnit\": \"ms\",\n\"baseTimeNanoseconds\": %" PRIu64
		",\n\"traceEvents\": [",
		k->base);
}

static struct err *put_events(struct kineto *k)
{
	const struct export_event *ev;

	for (;;) {
		TRY(export_next(k->j, &ev));
		if (!ev)
			return NULL;
		put_event(k, ev);
		TRY(export_flush_some(k->j));
	}
}

struct err *export_kineto(struct export_job *j)
{
	struct kineto k = {
		.j = j, .base = j->meta->start_ns, .records.size = sizeof(struct record)};
	struct err *e;

	put_head(&k);
	e = put_events(&k);
	free(k.records.at);
	for (unsigned i = 0; i < STACKS_KEPT; i++)
		buf_free(&k.stacks[i].text);
	for (unsigned i = 0; i < NAMES_KEPT; i++)
		buf_free(&k.names[i].text);
	if (e)
		return e;
	put_processes(&k);
	buf_str(&j->line, "]");
	put_devices(&k);
	buf_str(&j->line, ",\n\"traceName\": ");
	js_text(&j->line, j->meta->program);
	buf_str(&j->line, "}\n");
	return NULL;
}
