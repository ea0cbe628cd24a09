/* SPDX-License-Identifier: Apache-2.0
 *
 * The machine, see gpu.h. Surprise: libcuda and CUPTI are opened in a child process, so that a
 * driver that hangs or crashes does not take the shell with it.
 */
#include "config.h"
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>
#include "observe/observe.h"
#include "base/child.h"
#include "shell/live/doctor-row.h"
#include "shell/live/gpu.h"
#include "shell/live/trust.h"

JS_DEFINE(doctor_object, "doctor", doctor_row, JS(BOOL, doctor_row, ok),
	JS(TEXT, doctor_row, name, text, cure));

/* As text each line is on the screen before the next thing is tried, which may take seconds. */
void doctor_tell(struct listing *l, const struct doctor_row *r)
{
	struct session *s = l->s;

	if (l->json) {
		listing_add(l, r);
		return;
	}
	out_style(s->out, r->ok ? STYLE_NAME : STYLE_ERROR, "%-8s", r->ok ? "ok" : "missing");
	out_printf(s->out, "%-14s %s\n", r->name, r->text);
	if (r->cure)
		out_printf(s->out, "%-23s%s\n", "", r->cure);
}

static void verdict(
	struct listing *l, bool ok, const char *what, const char *text, const char *cure)
{
	doctor_tell(l, &(struct doctor_row){ok, what, text, ok ? NULL : cure});
}

/* Waits for a child that ends itself after 20 s, if the driver lets it. Returns false if it did not
 * end by itself. */
static bool ended(pid_t pid, int *ret_status)
{
	if (pid < 0)
		return false;
	if (!child_wait(pid, 25000, ret_status)) {
		(void)child_kill(pid, NULL);
		return false;
	}
	return WIFEXITED(*ret_status);
}

/* Runs probe in a child; its exit status, or -1. */
static int in_child(int (*probe)(void))
{
	int status = 0;
	pid_t pid = fork();

	if (!pid) {
		alarm(20);
		_exit(probe());
	}
	return ended(pid, &status) ? WEXITSTATUS(status) : -1;
}

/* 0 when the library can be loaded, in a child. */
static int in_child_load(const char *path)
{
	int status = 0;
	pid_t pid = fork();

	if (!pid) {
		alarm(20);
		_exit(!dlopen(path, RTLD_NOW | RTLD_LOCAL));
	}
	return ended(pid, &status) ? WEXITSTATUS(status) : 1;
}

/* 0: a driver with devices; 1: no library; 2: no device answers. */
static int probe_driver(void)
{
	void *lib = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
	int (*init)(unsigned) = NULL, (*count)(int *) = NULL;
	int n = 0;

	if (!lib)
		return 1;
	*(void **)&init = dlsym(lib, "cuInit");
	*(void **)&count = dlsym(lib, "cuDeviceGetCount");
	return !init || !count || init(0) || count(&n) || !n ? 2 : 0;
}

static int probe_cupti(void)
{
	static const char *const names[] = {"libcupti.so.13", "libcupti.so.12", "libcupti.so",
		"/usr/local/cuda/lib64/libcupti.so",
		"/usr/local/cuda/extras/CUPTI/lib64/libcupti.so"};

	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		if (dlopen(names[i], RTLD_NOW | RTLD_LOCAL))
			return 0;
	}
	return 1;
}

/* Returns 0 if tsdb can trace a child of its own; else the errno. */
static int probe_ptrace(void)
{
	int sys = 0;
	pid_t pid = fork();

	if (pid < 0)
		return errno;
	if (!pid) {
		pause();
		_exit(0);
	}
	if (ptrace(PTRACE_SEIZE, pid, 0, 0))
		sys = errno;
	(void)child_kill(pid, NULL);
	return sys;
}

static bool doctor_driver(struct listing *l)
{
	int r = gpu_has_driver() ? in_child(probe_driver) : 1;

	verdict(l, r == 0, "NVIDIA driver",
		r == 0	 ? "answers, with a device"
		: r == 2 ? "is there, but no device answers"
		: r == 1 ? "not on this machine"
			 : "does not answer",
		r == 1 ? "Not needed: the software GPU runs programs on the CPU."
		       : "Try nvidia-smi; in a container, start it with --gpus all.");
	return r == 0;
}

static bool doctor_agent(struct listing *l, bool driver)
{
	char *agent = gpu_agent_path();
	int reporter = driver ? in_child(probe_cupti) : 0;

	verdict(l, agent != NULL, "agent", agent ? agent : "libtsdb-agent.so is not beside tsdb",
		"Build tsdb where the CUDA toolkit's headers are (configure says whether it found them).");
	if (driver)
		verdict(l, reporter == 0, "CUPTI",
			reporter == 0 ? "can be loaded" : "libcupti.so cannot be loaded",
			"Install the CUDA toolkit's CUPTI, or put its folder into LD_LIBRARY_PATH.");
	free(agent);
	return agent && reporter == 0;
}

/* Checks the compiler of hot kernels; everything works without it, but slower. */
static void doctor_jit(struct listing *l, const char *soft)
{
	char path[4096];

	snprintf(path, sizeof path, "%s/tsdb-softgpu-jit.so", soft);
	verdict(l, true, "hot kernels",
		access(path, R_OK)
			? "are interpreted: built without LLVM (install llvm-dev, configure again)"
		: in_child_load(path)
			? "are interpreted: tsdb-softgpu-jit.so cannot be loaded (its libLLVM is missing?)"
			: "are compiled",
		NULL);
}

static bool doctor_soft(struct listing *l)
{
	char *soft = gpu_soft_dir();
	bool ok = soft != NULL;

	verdict(l, ok, "software GPU", ok ? soft : "not beside tsdb",
		"Build tsdb where the CUDA toolkit's headers are (configure says whether it found them).");
	if (ok)
		doctor_jit(l, soft);
	free(soft);
	return ok;
}

/* --- how HIP reports a program's calls --- */

enum { HIP_NOWHERE, HIP_OTHERWISE, HIP_API_CALLBACK, HIP_TRACER, HIP_TABLE, HIP_WAYS };
enum { HIP_OLDEST = 5, HIP_NEWEST = 7 }; /* numbers of libamdhip64.so */

/* The newest HIP runtime that can be loaded, and the newest way that it offers. */
static int probe_hip(void)
{
	for (int version = HIP_NEWEST; version >= HIP_OLDEST; version--) {
		char name[32];
		void *lib;
		int way;

		snprintf(name, sizeof(name), "libamdhip64.so.%d", version);
		lib = dlopen(name, RTLD_NOW | RTLD_LOCAL);
		if (!lib)
			continue;
		/* dlsym() finds what the libraries have that it is linked with, too. */
		way = dlsym(lib, "rocprofiler_register_library_api_table") ? HIP_TABLE
		      : dlsym(lib, "hipRegisterTracerCallback")		   ? HIP_TRACER
		      : dlsym(lib, "hipRegisterApiCallback")		   ? HIP_API_CALLBACK
									   : HIP_OTHERWISE;
		return HIP_WAYS * version + way;
	}
	return HIP_NOWHERE;
}

/* A HIP that cannot be read is no error here: only HIP programs need it. */
static void doctor_hip(struct listing *l)
{
	static const char *const ways[HIP_WAYS] = {
		[HIP_OTHERWISE] = "reports no calls in a way that is known",
		[HIP_API_CALLBACK] =
			"reports calls by hipRegisterApiCallback, which tsdb reads (HIP 5.2)",
		[HIP_TRACER] =
			"reports calls by hipRegisterTracerCallback, which tsdb reads (HIP 5.4 to 5.7, 6.0 to 6.4, 7.0 to 7.2)",
		[HIP_TABLE] =
			"reports calls by hipRegisterTracerCallback, which tsdb reads (up to HIP 7.2), and to rocprofiler-register",
	};
	int status = 0;
	char text[200];
	pid_t pid = fork();

	if (!pid) {
		alarm(20);
		_exit(probe_hip());
	}
	if (!ended(pid, &status) || !WIFEXITED(status) || WEXITSTATUS(status) < HIP_WAYS)
		return;
	snprintf(text, sizeof(text), "libamdhip64.so.%d %s", WEXITSTATUS(status) / HIP_WAYS,
		ways[WEXITSTATUS(status) % HIP_WAYS]);
	verdict(l, true, "HIP", text, NULL);
}

/* Whether HIP programs can run on the CPU; only they need it, so a lack is no error. */
static void doctor_soft_amd(struct listing *l)
{
	char *soft = gpu_soft_amd_dir();
	const char *text =
		!soft ? "not built: HIP's headers are missing (scripts/setup installs them; configure again)"
		: in_child_load("libamdhip64.so.5") && in_child_load("libamdhip64.so.6") &&
				in_child_load("libamdhip64.so.7")
			? "is there, but HIP's runtime, libamdhip64.so.5, .6 or .7, cannot be loaded"
			: "runs HIP programs with --gpu soft-amd; verified on it with AMD's runtime 5.2.3, not yet on AMD hardware";

	verdict(l, true, "soft AMD GPU", text, NULL);
	free(soft);
	doctor_hip(l);
}

/* Checks observing; no other command needs it, so a failure here is no error. */
static void doctor_observe(struct listing *l)
{
	struct err *e = observe_possible();
	const char *why = e ? e->what : NULL;
	static const char head[] = "cannot observe: ";

	if (why && !strncmp(why, head, strlen(head)))
		why += strlen(head);
	verdict(l, !e, "observe", e ? why : "permitted (BPF)", e ? e->cure : NULL);
	err_free(e);
}

/* Checks the sandbox, which only the execution of traces needs. */
static void doctor_sandbox(struct listing *l, bool driver)
{
	char *replayer = gpu_replayer_path();

	if (replayer)
		trust_doctor(l, replayer, driver);
	free(replayer);
}

bool gpu_doctor(struct session *s, bool json)
{
	struct listing list = listing_begin(s, json, &doctor_object, NULL, NULL), *l = &list;
	int trace = in_child(probe_ptrace);
	bool driver, agent, soft;

	if (!json)
		out_printf(s->out, "tsdb %s\n", PACKAGE_VERSION);
	driver = doctor_driver(l);
	soft = doctor_soft(l);
	doctor_soft_amd(l);
	agent = doctor_agent(l, driver);
	verdict(l, trace == 0, "ptrace",
		trace == 0  ? "permitted"
		: trace > 0 ? strerror(trace)
			    : "cannot be tried",
		"In a container, start it with --cap-add=SYS_PTRACE (or --security-opt seccomp=unconfined).");
	doctor_sandbox(l, driver);
	doctor_observe(l);
	verdict(l, true, "traces", "view, info and replay need nothing else", NULL);
	listing_end(l, NULL);
	return trace == 0 && agent && (driver || soft);
}
