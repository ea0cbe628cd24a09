/* SPDX-License-Identifier: Apache-2.0
 *
 * Processes that are followed together: the launched one and its children. They share a directory
 * (capture/wire.h) in which each finds its own control block by its pid, so the environment that
 * children inherit stays the same. Surprise: the directory and the family may outlive the launched
 * process: the last member frees them.
 */
#include "attach/ptrace/inferior.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct family {
	struct tsdb_directory *dir;
	int fd;
	unsigned members, missed;
};

static struct err *no_directory(struct family *f)
{
	struct err *e = err_sys(errno, "cannot make the memory shared with the program's children");

	if (f->fd >= 0)
		close(f->fd);
	free(f);
	return e;
}

struct err *family_begin(struct inferior *inf)
{
	struct family *f = xcalloc(1, sizeof(*f));
	void *p;

	f->fd = memfd_create("tsdb-directory", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (f->fd < 0 || ftruncate(f->fd, sizeof(*f->dir)) != 0 ||
		fcntl(f->fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0)
		return no_directory(f);
	p = mmap(NULL, sizeof(*f->dir), PROT_READ | PROT_WRITE, MAP_SHARED, f->fd, 0);
	if (p == MAP_FAILED)
		return no_directory(f);
	f->dir = p;
	f->dir->debugger_pid = (uint32_t)getpid();
	f->dir->magic = TSDB_DIRECTORY_MAGIC;
	f->members = 1;
	inf->family = f;
	return NULL;
}

char *family_control(const struct inferior *inf)
{
	return xasprintf(
		"/proc/%d/fd/%d", getpid(), inf->family ? inf->family->fd : inf->control_fd);
}

/* The processes can write into the directory; the worst result is that they do not find their
 * control blocks. */
static struct tsdb_directory_entry *find_entry(struct family *f, uint32_t pid)
{
	for (unsigned i = 0; i < TSDB_DIRECTORY_MAX; i++)
		if (atomic_load(&f->dir->entry[i].pid) == pid)
			return &f->dir->entry[i];
	return NULL;
}

bool family_enter(struct inferior *inf)
{
	struct tsdb_directory_entry *e = find_entry(inf->family, 0);

	if (!e)
		return false;
	e->fd = inf->control_fd;
	atomic_store_explicit(&e->pid, (uint32_t)inf->pid, memory_order_release);
	return true;
}

/* A child is recorded like its parent. It has no breakpoints: no user is at a prompt for it. */
static void copy_configuration(struct tsdb_control *to, struct tsdb_control *from)
{
	to->on = atomic_load(&from->on);
	to->stacks = atomic_load(&from->stacks);
	to->stack_depth = atomic_load(&from->stack_depth);
	to->timestamps = atomic_load(&from->timestamps);
	to->on_full = atomic_load(&from->on_full);
	to->code = atomic_load(&from->code);
	to->memory = atomic_load(&from->memory);
	to->outputs_full = atomic_load(&from->outputs_full);
	to->capture_all = atomic_load(&from->capture_all);
	to->memory_limit = atomic_load(&from->memory_limit);
	to->gpu_timeout = atomic_load(&from->gpu_timeout);
}

static struct err *make_child(struct inferior *inf, struct inferior *parent, pid_t pid)
{
	memcpy(inf->rules, parent->rules, sizeof(inf->rules));
	inf->sigint_ruled = parent->sigint_ruled;
	inf->parent = parent->pid;
	TRY(control_create(inf, parent->ring_bytes));
	inf->control->pid = (uint32_t)pid;
	copy_configuration(inf->control, parent->control);
	inf->pid = pid;
	inf->family = parent->family;
	inf->family->members++;
	if (!family_enter(inf))
		return err_new(ERR_LIMIT, "more than %u processes at once", TSDB_DIRECTORY_MAX);
	inf->alive = true;
	return NULL;
}

bool family_adopt(struct inferior *parent, pid_t child)
{
	struct inferior *inf, **last = &parent->born;
	struct err *e;

	inf = inferior_new(parent->agent);
	e = make_child(inf, parent, child);
	if (e) {
		err_free(e);
		parent->family->missed++;
		inferior_free(inf);
		return false;
	}
	stops_begin(inf, child);
	while (*last)
		last = &(*last)->sibling;
	*last = inf;
	return true;
}

void family_leave(struct inferior *inf)
{
	struct family *f = inf->family;
	struct tsdb_directory_entry *e;
	struct inferior *child;

	while ((child = inferior_take_child(inf)))
		inferior_free(child);
	if (!f)
		return;
	inf->family = NULL;
	e = inf->pid ? find_entry(f, (uint32_t)inf->pid) : NULL;
	if (e)
		atomic_store(&e->pid, 0);
	if (--f->members)
		return;
	munmap(f->dir, sizeof(*f->dir));
	close(f->fd);
	free(f);
}

struct inferior *inferior_take_child(struct inferior *inf)
{
	struct inferior *child = inf->born;

	if (child)
		inf->born = child->sibling;
	if (child)
		child->sibling = NULL;
	return child;
}

unsigned inferior_children_missed(const struct inferior *inf)
{
	return inf->family ? inf->family->missed : 0;
}

pid_t inferior_parent(const struct inferior *inf)
{
	return inf->parent;
}
