/* SPDX-License-Identifier: Apache-2.0
 *
 * Files of traces and their commands, see trace-file.h.
 */
#include "engine/trace-file.h"

#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>
#include "base/buf.h"
#include "state/state.h"

bool trace_file_begins(const char *path, const void *magic, size_t n)
{
	char head[64];
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	ssize_t got;

	BUG_ON(n > sizeof head);
	if (fd < 0)
		return false;
	got = read(fd, head, n);
	close(fd);
	return got == (ssize_t)n && !memcmp(head, magic, n);
}

bool trace_is(const char *path)
{
	static const char magic[8] = "\x89SBT\r\n\x1a\n"; /* docs/sbt.md, the file header */

	return trace_file_begins(path, magic, sizeof magic);
}

struct err *trace_cmd(struct sbt_reader *r, uint64_t seq, struct sbt_cursor **ret_cursor,
	const struct sbt_cmd **ret)
{
	struct err *e;

	TRY(sbt_cursor_open(ret_cursor, r));
	e = sbt_cursor_seek(*ret_cursor, seq);
	if (!e)
		e = sbt_cursor_next(*ret_cursor, ret);
	if (!e && (!*ret || (*ret)->seq != seq))
		e = err_new(ERR_NOT_FOUND, "the trace does not hold #%" PRIu64, seq);
	if (e)
		sbt_cursor_close(*ret_cursor);
	return e;
}
