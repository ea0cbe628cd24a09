/* SPDX-License-Identifier: Apache-2.0
 *
 * Marks at written pages; see written.h. The kernel drops them all when the descriptor is closed,
 * also by the program, which may close what it does not know and open something else under the same
 * number: so the descriptor is looked at before it is used, and PAGEMAP_SCAN fails by itself where
 * no marks are made (PM_SCAN_CHECK_WPASYNC). In a forked child the descriptor would act on the
 * parent's memory.
 */
#include "capture/host/written.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <linux/userfaultfd.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "base/maps-line.h"
#include "capture/host/bypass.h"
#include "capture/stacks/areas.h"

/* Of Linux 6.7, include/uapi/linux/userfaultfd.h and fs.h, for older headers. */
#ifndef UFFD_USER_MODE_ONLY
#define UFFD_USER_MODE_ONLY 1
#endif
#ifndef UFFD_FEATURE_WP_UNPOPULATED
#define UFFD_FEATURE_WP_UNPOPULATED (1 << 13)
#endif
#ifndef UFFD_FEATURE_WP_ASYNC
#define UFFD_FEATURE_WP_ASYNC (1 << 15)
#endif
#ifndef PAGEMAP_SCAN
#define PAGE_IS_WRITTEN (1 << 1)
#define PM_SCAN_WP_MATCHING (1 << 0)
#define PM_SCAN_CHECK_WPASYNC (1 << 1)
struct page_region {
	__u64 start, end, categories;
};
struct pm_scan_arg {
	__u64 size, flags, start, end, walk_end, vec, vec_len, max_pages;
	__u64 category_inverted, category_mask, category_anyof_mask, return_mask;
};
#define PAGEMAP_SCAN _IOWR('f', 16, struct pm_scan_arg)
#endif

_Static_assert(sizeof(struct written_run) == sizeof(struct page_region), "Linux fills it");
#define RUNS 256u
/* The descriptor's number: above those that programs get, or choose. */
#define NUMBER 1000u
#define NUMBERS_LEFT 24u

static struct {
	int fd;
	pid_t owner;  /* 0: there is no descriptor */
	bool lacking; /* the kernel has no such marks */
	int map;      /* /proc/self/pagemap, while it is looked at */
	bool looking;
	struct written_run run[RUNS];
} marks;

/* --- the descriptor --- */

static bool is_open(void)
{
	char name[sizeof "/proc/self/fd/" + 3 * sizeof(int)] = "/proc/self/fd/", to[32];
	char *at = name + strlen(name), digits[3 * sizeof(int)];
	unsigned n = 0;
	if (marks.owner != getpid())
		return false;
	for (unsigned v = (unsigned)marks.fd; v || !n; v /= 10)
		digits[n++] = (char)('0' + v % 10);
	while (n)
		*at++ = digits[--n];
	*at = '\0';
	const ssize_t got = readlink(name, to, sizeof(to));
	return got == (ssize_t)strlen("anon_inode:[userfaultfd]") &&
	       !strncmp(to, "anon_inode:[userfaultfd]", (size_t)got);
}

static int moved_up(int fd)
{
	struct rlimit l;
	unsigned at = NUMBER;
	if (!getrlimit(RLIMIT_NOFILE, &l) && l.rlim_cur < NUMBER + NUMBERS_LEFT)
		at = l.rlim_cur > NUMBERS_LEFT ? (unsigned)l.rlim_cur - NUMBERS_LEFT : 0;
	const int up = fcntl(fd, F_DUPFD_CLOEXEC, at);
	if (up < 0)
		return fd;
	close(fd);
	return up;
}

static bool have_descriptor(void)
{
	struct uffdio_api api = {
		.api = UFFD_API, .features = UFFD_FEATURE_WP_ASYNC | UFFD_FEATURE_WP_UNPOPULATED};
	if (is_open() || marks.lacking)
		return !marks.lacking;
	const int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK | UFFD_USER_MODE_ONLY);
	if (fd < 0 || ioctl(fd, UFFDIO_API, &api)) {
		if (fd >= 0)
			close(fd);
		marks.lacking = true;
		return false;
	}
	marks.fd = moved_up(fd);
	marks.owner = getpid();
	return true;
}

/* --- which memory --- */

struct kinds {
	uint64_t next, end;   /* of the range: not looked at yet */
	uint64_t inode, base; /* of the one shared mapping that it lies in; inode 0: in none */
	bool bad;
};

static bool is_private(const struct maps_line *l)
{
	return !l->shared && !l->inode;
}

/* Memory without a name, which forked children alone can have besides. */
static bool is_nameless(const struct maps_line *l)
{
	return l->shared && !strcmp(l->path, "/dev/zero (deleted)");
}

static bool judge(void *arg, const struct maps_line *l)
{
	struct kinds *k = arg;
	if (l->end <= k->next)
		return false;
	if (l->start > k->next)
		return k->bad = true;
	k->bad = !l->w || !(is_private(l) || (is_nameless(l) && !bypass_by_children()));
	if (l->shared && k->inode && k->inode != l->inode)
		k->bad = true;
	if (l->shared) {
		k->inode = l->inode;
		k->base = l->start - l->offset;
	}
	k->next = l->end;
	return k->bad || k->next >= k->end;
}

/* Whether the line maps the same memory at other addresses. */
static bool other_mapping(void *arg, const struct maps_line *l)
{
	struct kinds *k = arg;
	if (l->inode == k->inode && is_nameless(l))
		k->bad |= l->start - l->offset != k->base;
	return k->bad;
}

static enum written kind_of(uint64_t addr, uint64_t size)
{
	struct kinds k = {.end = addr + size, .next = addr};
	if (!areas_lines(judge, &k) || k.bad || k.next < k.end)
		return WRITTEN_UNSEEN;
	if (!k.inode)
		return WRITTEN_NOTED;
	return areas_lines(other_mapping, &k) && !k.bad ? WRITTEN_IF_ALONE : WRITTEN_UNSEEN;
}

/* --- marks --- */

enum written written_begin(uint64_t addr, uint64_t size)
{
	struct uffdio_register r = {.range = {addr, size}, .mode = UFFDIO_REGISTER_MODE_WP};
	struct uffdio_writeprotect w = {.range = {addr, size}, .mode = UFFDIO_WRITEPROTECT_MODE_WP};
	const enum written kind = size && have_descriptor() ? kind_of(addr, size) : WRITTEN_UNSEEN;
	const bool good = kind && !ioctl(marks.fd, UFFDIO_REGISTER, &r) &&
			  !ioctl(marks.fd, UFFDIO_WRITEPROTECT, &w);
	return good ? kind : WRITTEN_UNSEEN;
}

/* Some runs of pages, from a->start on; -1: not known. a->walk_end is where it ended. */
static long next_runs(int fd, struct pm_scan_arg *a)
{
	a->size = sizeof(*a);
	a->flags = PM_SCAN_WP_MATCHING | PM_SCAN_CHECK_WPASYNC;
	a->vec = (uintptr_t)marks.run;
	a->vec_len = RUNS;
	a->category_mask = a->return_mask = PAGE_IS_WRITTEN;
	return ioctl(fd, PAGEMAP_SCAN, a);
}

/* Many allocations are looked at for one command. */
static bool is_looking(void)
{
	if (!marks.looking) {
		marks.map = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
		marks.looking = marks.map >= 0;
	}
	return marks.looking;
}

void written_looked(void)
{
	if (marks.looking)
		close(marks.map);
	marks.looking = false;
}

bool written_each(uint64_t addr, uint64_t size,
	bool (*fn)(void *arg, const struct written_run *run, unsigned n), void *arg)
{
	struct pm_scan_arg a = {.start = addr, .end = addr + size};
	bool good = is_looking();
	while (good && a.start < a.end) {
		const long n = next_runs(marks.map, &a);
		good = n >= 0 && a.walk_end > a.start;
		if (good && n)
			good = fn(arg, marks.run, (unsigned)n);
		a.start = a.walk_end;
	}
	return good;
}

void written_forget(uint64_t addr, uint64_t size)
{
	if (is_open())
		(void)ioctl(marks.fd, UFFDIO_UNREGISTER, &(struct uffdio_range){addr, size});
}

void written_end(void)
{
	if (is_open())
		close(marks.fd);
	marks.owner = 0;
}
