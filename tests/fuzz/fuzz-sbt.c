/* SPDX-License-Identifier: Apache-2.0
 *
 * The trace reader: any bytes as a trace, with the checksums made right so that the fuzzer gets
 * past them.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../unit/sbt-dump.h"
#include "../unit/sbt-repair.h"
#include "fuzz.h"

static void seek(struct sbt_reader *r, uint64_t seq)
{
	const struct sbt_cmd *c;
	struct sbt_cursor *cur;

	if (sbt_cursor_open(&cur, r))
		BUG("cursor");
	for (unsigned i = 0; i < 3; i++) {
		struct err *e = sbt_cursor_seek(cur, seq >> i);

		if (!e)
			e = sbt_cursor_next(cur, &c);
		if (!e && c && c->seq < seq >> i)
			BUG("seek to %llu came to %llu", (unsigned long long)(seq >> i),
				(unsigned long long)c->seq);
		err_free(e);
	}
	sbt_cursor_close(cur);
}

static void read_all(const char *path, uint64_t code_hash)
{
	struct buf out = BUF_INIT;
	struct sbt_reader *r;
	struct err *e = sbt_reader_open(&r, path);

	if (e) {
		err_free(e);
		return;
	}
	seek(r, sbt_reader_last_seq(r));
	dump_cmds(&out, r, true);
	dump_rest(&out, r, code_hash);
	buf_str(&out, sbt_reader_damage(r) ? sbt_reader_damage(r) : "");
	sbt_reader_close(r);
	buf_free(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	uint8_t *copy = malloc(n);
	uint64_t code_hash = 0;
	char path[32];
	int fd = memfd_create("fuzz-sbt", MFD_CLOEXEC);

	if (fd < 0)
		BUG("memfd_create");
	if (n)
		memcpy(copy, data, n);
	repair(copy, n);
	if (n >= 96)
		memcpy(&code_hash, copy + 88, 8); /* of the first chunk, should that be code */
	if (n && write(fd, copy, n) != (ssize_t)n)
		BUG("write");
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	read_all(path, code_hash);
	close(fd);
	free(copy);
	return 0;
}
