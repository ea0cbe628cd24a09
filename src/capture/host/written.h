/* SPDX-License-Identifier: Apache-2.0
 *
 * Which pages of its memory the program wrote, as Linux notes it: pages are write-protected, and
 * the first write to one takes the protection away and leaves a mark (userfaultfd(2), asynchronous;
 * ioctl PAGEMAP_SCAN; Linux 6.7 and later). The program sees nothing of it. Writes of the device,
 * which does not use the processor's page tables, leave no mark. Calls are made one at a time.
 */
#ifndef CAPTURE_WRITTEN_H
#define CAPTURE_WRITTEN_H

#include <stdbool.h>
#include <stdint.h>

/* The unit of addr and size below; a page of SBT_PAGE bytes, too. */
#define WRITTEN_PAGE 4096u

enum written {
	WRITTEN_UNSEEN,
	WRITTEN_IF_ALONE, /* as long as no child is forked: it would share the memory */
	WRITTEN_NOTED
};

/* Begins to note writes to whole pages. WRITTEN_UNSEEN: they cannot be noted: the kernel is older,
 * a sandbox forbids it, the memory is not of a kind of which all writes would be seen (a file's, a
 * device's, memory that another process or another mapping of this one may have), or the program
 * does the same there. */
enum written written_begin(uint64_t addr, uint64_t size);
struct written_run {
	uint64_t first, end, unused; /* as struct page_region of Linux */
};
/* Calls fn with runs of pages that were written since they were last given to it, or since
 * written_begin(), in rising order, some at a time. Their marks are taken away before fn is called
 * and those of later runs are not: so what fn reads of these pages is not older than what is noted
 * from then on. A descriptor stays open until written_looked(). Returns false if fn did, or if it
 * is no longer known what was written: marks may be lost then, and every page may have been. */
bool written_each(uint64_t addr, uint64_t size,
	bool (*fn)(void *arg, const struct written_run *run, unsigned n), void *arg);
void written_looked(void);
/* No more notes of these pages; of any. */
void written_forget(uint64_t addr, uint64_t size);
void written_end(void);

#endif
