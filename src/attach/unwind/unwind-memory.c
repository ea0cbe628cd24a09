/* SPDX-License-Identifier: Apache-2.0
 *
 * Unwind tables of files that were deleted or replaced on disk. libunwind reads the tables from
 * files; this reads them in the process's memory, where the program itself finds them
 * (.eh_frame_hdr, the Linux Standard Base's "DWARF Extensions").
 */
#include "attach/unwind/frames.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>
#include "attach/remote.h"

/* A function of libunwind that is not in its headers: it looks up ip in a table and follows it to
 * the frame's description, with the accessors of as. */
int UNW_OBJ(dwarf_search_unwind_table)(unw_addr_space_t as, unw_word_t ip, unw_dyn_info_t *di,
	unw_proc_info_t *pi, int need_info, void *arg);

#define HEADER_VERSION 1u
#define ENC_SDATA4_PCREL 0x1bu
#define ENC_UDATA4 0x03u
#define ENC_TABLE 0x3bu /* sdata4, relative to the header: what every linker makes */
#define TABLE_MAX (1u << 24)

/* Finds the table of the file that contains ip. */
static bool find_table(const struct remote_space *maps, uint64_t ip, unw_dyn_info_t *ret)
{
	const struct remote_map *m = remote_map_at(maps, ip);
	struct {
		uint8_t version, frame, count_enc, table;
		uint32_t at, count;
	} head;
	uint64_t bias, addr, size;

	if (!m ||
		!remote_segment(maps->pid, remote_base(maps, m)->start, PT_GNU_EH_FRAME, &bias,
			&addr, &size) ||
		size < sizeof(head) || !remote_read(maps->pid, addr, &head, sizeof(head)) ||
		head.version != HEADER_VERSION || head.frame != ENC_SDATA4_PCREL ||
		head.count_enc != ENC_UDATA4 || head.table != ENC_TABLE || !head.count ||
		head.count >= TABLE_MAX)
		return false;
	*ret = (unw_dyn_info_t){.start_ip = m->start,
		.end_ip = m->end,
		.format = UNW_INFO_FORMAT_REMOTE_TABLE,
		.u.rti = {.segbase = addr,
			.table_data = addr + sizeof(head),
			.table_len = head.count}};
	return true;
}

int unwind_memory_find(unw_addr_space_t as, const struct remote_space *maps, unw_word_t ip,
	unw_proc_info_t *pi, int need_info, void *arg)
{
	unw_dyn_info_t di;

	if (!find_table(maps, ip, &di))
		return -UNW_ENOINFO;
	return UNW_OBJ(dwarf_search_unwind_table)(as, ip, &di, pi, need_info, arg);
}
