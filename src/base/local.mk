# SPDX-License-Identifier: Apache-2.0
#
# Room base: what every room may use.

noinst_LIBRARIES += libcommon.a
libcommon_a_SOURCES = \
	src/base/checked.h \
	src/base/proc/child.c src/base/child.h \
	src/base/err.c src/base/err.h \
	src/base/buf.c src/base/buf.h src/base/memory-door.h \
	src/base/proc/file.c src/base/file.h \
	src/base/first-where.h src/base/list-part.h src/base/quiet-thread.h \
	src/base/id-table.c src/base/id-table.h \
	src/base/text/json-put.c src/base/json-put.h \
	src/base/maps-at.h src/base/stop-reason.h \
	src/base/maps-line.h \
	src/base/member.h \
	src/base/monotonic.h \
	src/base/proc/patience.c src/base/patience.h \
	src/base/proc/proc-read.c src/base/proc-read.h \
	src/base/proc/proc-stat.c src/base/proc-stat.h \
	src/base/text/setting-list.c src/base/setting-list.h \
	src/base/text/text-table.c src/base/text-table.h \
	src/base/text/text.c src/base/text.h \
	src/base/text/words.c src/base/words.h
HEADERS_TO_CHECK += src/base/checked.h src/base/child.h src/base/err.h src/base/buf.h src/base/file.h src/base/first-where.h src/base/id-table.h src/base/json-put.h src/base/list-part.h src/base/maps-at.h src/base/maps-line.h src/base/member.h src/base/memory-door.h src/base/monotonic.h src/base/patience.h src/base/proc-read.h src/base/proc-stat.h src/base/quiet-thread.h src/base/setting-list.h src/base/text-table.h src/base/text.h src/base/words.h
