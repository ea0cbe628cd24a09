/* SPDX-License-Identifier: Apache-2.0
 *
 * The kernel's side of tsdb observe, see probes.h. The BPF programs are in this object file as
 * bytes (probes-object.S), so tsdb needs no other file. A probe is placed in a file, not in a
 * process: processes that load the library later have it too.
 */
#include "observe/bpf/probes.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "observe/bpf/probes-private.h"

extern const uint8_t observe_object[], observe_object_end[];

static const char *const program_names[PROGRAMS] = {
	"enter", "enter_peek", "enter_config", "leave", "enter_runtime"};

/* --- refusals --- */

static bool locked_down(void)
{
	FILE *f = fopen("/sys/kernel/security/lockdown", "re");
	char line[100] = "";

	if (!f)
		return false;
	if (!fgets(line, sizeof line, f))
		*line = 0;
	fclose(f);
	return strstr(line, "[confidentiality]") != NULL;
}

/* Makes one sentence, with its cure, from the kernel's refusal. */
struct err *probes_refused(int sys, const char *what)
{
	if (sys == ENOSYS)
		return err_cure(
			err_new(ERR_UNSUPPORTED,
				"cannot observe: this kernel has no BPF (CONFIG_BPF_SYSCALL)"),
			"Use a kernel that has it, as all distributions' have, or tsdb record");
	if ((sys == EPERM || sys == EACCES) && locked_down())
		return err_cure(
			err_new(ERR_PERMISSION,
				"cannot observe: the kernel's lockdown forbids BPF to read user memory"),
			"Boot with lockdown=integrity, or without Secure Boot, or use tsdb record");
	if (sys == EPERM || sys == EACCES)
		return err_cure(err_new(ERR_PERMISSION,
					"cannot observe: BPF is not permitted here (%s: %s)", what,
					strerror(sys)),
			"Run tsdb observe as root; in a container, start it with --cap-add=BPF --cap-add=PERFMON (or --privileged); or use tsdb record");
	if (sys == EINVAL || sys == ENOTSUP)
		return err_cure(err_new(ERR_UNSUPPORTED,
					"cannot observe: this kernel lacks something (%s: %s)",
					what, strerror(sys)),
			"Linux 5.15 or later is needed, with CONFIG_BPF_EVENTS and CONFIG_UPROBE_EVENTS; or use tsdb record");
	return err_cure(err_sys(sys, "cannot observe: %s", what), "Use tsdb record");
}

static bool has_uprobes(void)
{
	return !access("/sys/bus/event_source/devices/uprobe/type", R_OK) ||
	       !access("/sys/kernel/tracing/uprobe_events", F_OK) ||
	       !access("/sys/kernel/debug/tracing/uprobe_events", F_OK);
}

static int silent(enum libbpf_print_level level, const char *fmt, va_list ap)
{
	return getenv("TSDB_OBSERVE_DEBUG") ? vfprintf(stderr, fmt, ap) : 0;
}

/* --- open, close --- */

/* Process ids must be those that tsdb sees: in a container they differ from the kernel's. */
static void settings_fill(struct obs_settings *s, bool wake)
{
	static const ino_t first = 0xeffffffc; /* PROC_PID_INIT_INO, linux/proc_ns.h */
	struct stat st;

	*s = (struct obs_settings){.wake = wake};
	if (!stat("/proc/self/ns/pid", &st) && st.st_ino != first) {
		s->ns_dev = st.st_dev;
		s->ns_ino = st.st_ino;
	}
}

static int on_record(void *arg, void *record, size_t n)
{
	struct probes *p = arg;

	if (!p->failed)
		p->failed = p->fn(p->arg, record, n);
	return 0;
}

static int map_fd(const struct probes *p, const char *name)
{
	const struct bpf_map *m = bpf_object__find_map_by_name(p->object, name);

	BUG_ON(!m);
	return bpf_map__fd(m);
}

static struct err *load(struct probes *p)
{
	LIBBPF_OPTS(bpf_object_open_opts, opts, .object_name = "tsdb_observe");
	struct obs_settings s;
	uint32_t zero = 0;
	int r;

	p->object = bpf_object__open_mem(
		observe_object, (size_t)(observe_object_end - observe_object), &opts);
	if (!p->object)
		return probes_refused(errno, "opening the programs");
	if (p->o.ring_bytes)
		bpf_map__set_max_entries(
			bpf_object__find_map_by_name(p->object, "ring"), p->o.ring_bytes);
	if (getenv("TSDB_OBSERVE_STACKS")) /* for tests: as when the kernel's map of stacks is full
					    */
		bpf_map__set_max_entries(bpf_object__find_map_by_name(p->object, "stacks"),
			(uint32_t)atoi(getenv("TSDB_OBSERVE_STACKS")));
	for (unsigned i = 0; i < PROGRAMS; i++) {
		p->program[i] = bpf_object__find_program_by_name(p->object, program_names[i]);
		BUG_ON(!p->program[i]);
	}
	for (unsigned i = 0; i < PROGRAMS && p->multi; i++)
		bpf_program__set_expected_attach_type(
			p->program[i], (enum bpf_attach_type)PROBES_MULTI);
	r = bpf_object__load(p->object);
	if (r)
		return probes_refused(-r, "loading the programs");
	p->stacks = map_fd(p, "stacks");
	p->counts = map_fd(p, "counts");
	p->procs = map_fd(p, "procs");
	settings_fill(&s, p->o.wake);
	r = bpf_map_update_elem(map_fd(p, "settings"), &zero, &s, BPF_ANY);
	if (r)
		return probes_refused(-r, "writing a map");
	p->ring = ring_buffer__new(map_fd(p, "ring"), on_record, p, NULL);
	return p->ring ? NULL : probes_refused(errno, "mapping the ring");
}

struct err *probes_open(struct probes **ret, const struct probes_options *o)
{
	struct probes *p;
	struct err *e;

	*ret = NULL;
	if (!has_uprobes())
		return err_cure(
			err_new(ERR_UNSUPPORTED,
				"cannot observe: this kernel has no user-space probes (CONFIG_UPROBE_EVENTS), or /sys is not mounted"),
			"Mount sysfs, or use a kernel that has them, or tsdb record");
	libbpf_set_print(silent);
	p = xcalloc(1, sizeof *p);
	p->o = *o;
	p->multi = probes_has_multi();
	e = load(p);
	if (e) {
		probes_close(p);
		return e;
	}
	*ret = p;
	return NULL;
}

void probes_close(struct probes *p)
{
	if (!p)
		return;
	probes_detach(p);
	free(p->libraries);
	ring_buffer__free(p->ring);
	bpf_object__close(p->object);
	err_free(p->failed);
	free(p);
}

/* --- reading --- */

void probes_ignore(struct probes *p, pid_t pid)
{
	uint32_t key = (uint32_t)pid, value = OBS_PROC_IGNORED;

	bpf_map_update_elem(p->procs, &key, &value, BPF_ANY);
}

struct err *probes_read(struct probes *p, int timeout_ms,
	struct err *(*fn)(void *arg, const void *record, size_t n), void *arg)
{
	struct err *e;
	int r;

	p->fn = fn;
	p->arg = arg;
	r = ring_buffer__poll(p->ring, timeout_ms);
	if (r == 0) /* not woken, as is usual */
		r = ring_buffer__consume(p->ring);
	e = p->failed;
	p->failed = NULL;
	return e || r >= 0 || r == -EINTR ? e : err_sys(-r, "cannot read the ring");
}

unsigned probes_stack(struct probes *p, int32_t id, uint64_t *ret)
{
	uint32_t key = (uint32_t)id;
	unsigned n = 0;

	if (id < 0 || bpf_map_lookup_elem(p->stacks, &key, ret))
		return 0;
	while (n < OBS_DEPTH && ret[n])
		n++;
	return n;
}

void probes_counts(struct probes *p, uint64_t ret[OBS_COUNTS])
{
	int cpus = libbpf_num_possible_cpus();
	uint64_t *each = xcalloc(cpus > 0 ? (size_t)cpus : 1, sizeof *each);

	for (uint32_t i = 0; i < OBS_COUNTS; i++) {
		ret[i] = 0;
		if (bpf_map_lookup_elem(p->counts, &i, each))
			continue;
		for (int c = 0; c < cpus; c++)
			ret[i] += each[c];
	}
	free(each);
}
