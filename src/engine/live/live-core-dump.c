/* SPDX-License-Identifier: Apache-2.0
 *
 * Core dumps of the device on demand, see capture/cuda/core-dump.h for the agent's part. A byte
 * written to the driver's pipe makes a thread of the driver, in the program, write the dump. So the
 * program has to run until the file is whole.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/file.h"
#include "base/text.h"
#include "engine/live/live-private.h"
#include "symbols/gpu-core.h"

enum { DUMP_MS = 10000, LOOK_MS = 20 };

void live_configure_core_dump(struct engine *en, struct tsdb_control *ctl)
{
	const char *tmp = getenv("TMPDIR");
	char *folder;

	if (en->live.core_folder || !settings_on(&en->set, SET_COREDUMP) || ctl->attached ||
		atomic_load(&ctl->next_seq) > 1 || (en->live.soft && !getenv("TSDB_SOFT_CORE")))
		return;
	folder = xasprintf("%s/tsdb-core-XXXXXX", tmp && *tmp == '/' ? tmp : "/tmp");
	if (strlen(folder) + 2 <= sizeof ctl->core_folder && mkdtemp(folder)) {
		en->live.core_folder = xasprintf("%s/", folder);
		strcpy(ctl->core_folder, en->live.core_folder);
	}
	free(folder);
}

void live_forget_core_dump(struct engine *en)
{
	if (en->live.core_folder)
		file_remove_all(en->live.core_folder);
	free(en->live.core_folder);
	en->live.core_folder = NULL;
}

struct err *live_can_core_dump(struct engine *en)
{
	struct tsdb_control *ctl = live_control(en);

	if (!ctl)
		return err_new(ERR_STATE, "no program is running");
	if (!en->live.core_folder && en->live.soft)
		return err_new(ERR_UNSUPPORTED,
			"the software GPU writes no core dumps; `why` looks inside its kernels without");
	if (!en->live.core_folder)
		return err_cure(
			err_new(ERR_STATE,
				"the driver was not asked for core dumps when the program began"),
			"`set coredump on` before `run`; a program that was attached to cannot be asked");
	switch (atomic_load(&ctl->core)) {
	case TSDB_CORE_READY:
		return NULL;
	case TSDB_CORE_TAKEN:
		return err_cure(err_new(ERR_STATE, "the program has set up core dumps for itself"),
			"unset CUDA_ENABLE_COREDUMP_ON_EXCEPTION and the like in its environment");
	case TSDB_CORE_REFUSED:
		return err_new(ERR_UNSUPPORTED,
			"the driver refuses core dumps on demand (CUDA error %u)",
			(unsigned)ctl->core_result);
	default:
		return err_new(ERR_STATE, "the program has made no context so far");
	}
}

static struct err *trigger(const char *folder, pid_t pid)
{
	char *path = xasprintf("%spipe.%d", folder, (int)pid);
	const int fd = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW);
	struct err *e = NULL;

	if (fd < 0)
		e = errno == ENXIO ? err_new(ERR_STATE, "the driver does not listen at %s", path)
				   : err_sys(errno, "cannot open %s", path);
	else if (write(fd, "d", 1) != 1)
		e = err_sys(errno, "cannot write to %s", path);
	if (fd >= 0)
		close(fd);
	free(path);
	return e;
}

/* One look at the file: *ret stays NULL while the driver writes. */
static void try_to_read(const char *path, struct gpu_core **ret)
{
	struct stat st;

	if (stat(path, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0)
		err_free(gpu_core_read(path, ret));
}

/* Lets the program run until the dump is there. *ended: it has ended meanwhile. */
static struct err *run_until_written(
	struct engine *en, const char *path, struct gpu_core **ret, bool *ended)
{
	struct inferior *inf = en->live.inf;
	struct inferior_event ev;

	for (int ms = 0; !*ret && ms < DUMP_MS && !engine_cancelled(en); ms += LOOK_MS) {
		if (inferior_alive(inf) && !inferior_running(inf))
			TRY(inferior_resume(inf, false));
		(void)live_drain_some(en, false, LIVE_DRAIN_MOST);
		TRY(inferior_wait(inf, LOOK_MS, &ev));
		try_to_read(path, ret);
		if (ev.kind == INFERIOR_EXITED || ev.kind == INFERIOR_SIGNALLED) {
			struct live_stop stop;

			live_end(en, &ev, &stop);
			live_tell(en, &(struct live_note){.kind = LIVE_NOTE_ENDED, .ended = &stop});
			*ended = true;
			return NULL;
		}
	}
	return NULL;
}

static struct err *stop_again(struct engine *en)
{
	struct inferior *inf = en->live.inf;
	struct inferior_event ev = {.kind = INFERIOR_NONE};

	inferior_interrupt(inf);
	while (inferior_running(inf)) {
		TRY(inferior_wait(inf, LOOK_MS, &ev));
		if (ev.kind == INFERIOR_EXITED || ev.kind == INFERIOR_SIGNALLED) {
			struct live_stop stop;

			live_end(en, &ev, &stop);
			live_tell(en, &(struct live_note){.kind = LIVE_NOTE_ENDED, .ended = &stop});
			return NULL;
		}
	}
	return NULL;
}

struct err *live_core_dump(struct engine *en, struct gpu_core **ret)
{
	char *folder, *path;
	bool ended = false;
	struct err *e;

	*ret = NULL;
	TRY(live_can_core_dump(en));
	/* live_end() removes the folder. */
	folder = xstrdup(en->live.core_folder);
	path = xasprintf("%score.%d", folder, (int)inferior_pid(en->live.inf));
	e = trigger(folder, inferior_pid(en->live.inf));
	if (!e) {
		en->live.at_cmd = false;
		live_runs_on(en);
		e = run_until_written(en, path, ret, &ended);
	}
	if (!e && !ended)
		e = stop_again(en);
	if (!e && !*ret)
		e = err_new(
			ERR_INFERIOR, "the driver wrote no core dump within %d s", DUMP_MS / 1000);
	if (e) {
		gpu_core_free(*ret);
		*ret = NULL;
	}
	free(path);
	free(folder);
	return e;
}
