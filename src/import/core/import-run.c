/* SPDX-License-Identifier: Apache-2.0
 *
 * Finds the format, and goes through both passes. The trace is written beside its name and renamed
 * when it is whole.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/file.h"
#include "import/core/emit.h"
#include "import/formats/readers.h"

const struct import_format import_formats[] = {
	{"kineto", "the Chrome JSON of PyTorch's profiler, plain or compressed by gzip"},
	{"nsys", "the database that `nsys export --type sqlite` makes"},
	{"xray", "LLVM XRay's log: functions of the host"}, {NULL, NULL}};
static struct err *(*const readers[])(struct stage *s) = {read_kineto, read_nsight, read_xray};

enum { FORMAT_KINETO, FORMAT_NSIGHT, FORMAT_XRAY, FORMATS };

static struct err *unknown(const char *file)
{
	return err_cure(err_new(ERR_BAD_TRACE, "%s is no profile that tsdb knows", file),
		"It reads Chrome JSON of PyTorch's profiler, Nsight Systems' export to SQLite and XRay's log");
}

/* What a file begins with. */
static struct err *sniff(const char *file, unsigned *ret)
{
	static const char sqlite[] = "SQLite format 3";
	unsigned char head[64];
	size_t n = 0, at = 0;
	const int fd = open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	int failed;

	if (fd < 0)
		return err_sys(errno, "cannot open %s", file);
	failed = file_take(fd, head, sizeof head, &n);
	close(fd);
	if (failed)
		return err_sys(failed, "cannot read %s", file);
	while (at < n && strchr(" \t\r\n", head[at]) && head[at])
		at++;
	if (n >= sizeof sqlite && !memcmp(head, sqlite, sizeof sqlite))
		*ret = FORMAT_NSIGHT;
	else if (n > 2 && head[0] == 0x1f && head[1] == 0x8b)
		*ret = FORMAT_KINETO;
	else if (at < n && (head[at] == '{' || head[at] == '['))
		*ret = FORMAT_KINETO;
	else if (n >= 32 && head[0] >= 1 && head[0] <= 5 && !head[1] && head[2] <= 1 && !head[3])
		*ret = FORMAT_XRAY; /* version and type */
	else
		return unknown(file);
	return NULL;
}

static struct err *choose(const struct import_ask *ask, unsigned *ret)
{
	if (!ask->format)
		return sniff(ask->file, ret);
	for (*ret = 0; *ret < FORMATS; ++*ret) {
		if (!strcmp(ask->format, import_formats[*ret].name))
			return NULL;
	}
	return err_cure(err_new(ERR_USAGE, "there is no format \"%s\"", ask->format),
		"Formats are kineto, nsys, xray");
}

static struct err *write_trace(struct stage *s, const char *output)
{
	if (!file_is_replaced(output))
		return err_cure(
			err_new(ERR_USAGE, "%s is no file that a trace can be written to", output),
			"Name a regular file");
	char *part = xasprintf("%s.part", output);
	struct err *e = emit_trace(s, part);

	if (!e && rename(part, output))
		e = err_sys(errno, "cannot rename %s", part);
	if (e)
		unlink(part);
	free(part);
	return e;
}

struct err *import_run(const struct import_ask *ask, struct import_result *ret)
{
	struct stage s;
	unsigned format = 0;
	struct err *e;

	*ret = (struct import_result){0};
	TRY(choose(ask, &format));
	ret->format = import_formats[format].name;
	stage_open(&s, ask, ret);
	e = s.failed ? NULL : readers[format](&s);
	if (!e)
		e = stage_end(&s);
	if (!e)
		e = write_trace(&s, ask->output);
	stage_close(&s);
	return e;
}
