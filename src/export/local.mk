# SPDX-License-Identifier: Apache-2.0
#
# Room export: a trace in formats that other programs read. Who links libexport.a links libstate.a, libsymbols.a, $(SYMBOLS_LIBS),
# libsqueeze.a, libsbt.a, libcommon.a and $(EXPORT_LIBS) after it.

noinst_LIBRARIES += libexport.a
libexport_a_SOURCES = src/export/export.h src/export/core/export-job.h src/export/core/export-walk.c src/export/core/export-run.c \
	src/export/core/zip.c src/export/core/zip.h src/export/core/samples.c src/export/core/samples.h src/export/core/frame-table.c src/export/core/frame-table.h \
	src/export/core/proto.c src/export/core/proto.h \
	src/export/formats/formats.h src/export/formats/formats.def src/export/formats/folded.c src/export/formats/flamegraph.c src/export/formats/speedscope.c \
	src/export/formats/pprof.c src/export/formats/kineto.c src/export/formats/csv.c src/export/formats/hatchet.c \
	src/export/formats/sqlite.c src/export/formats/sqlite-nsight.c src/export/formats/sqlite-parts.h src/export/formats/sqlite-out.c src/export/formats/sqlite-out.h src/export/formats/sqlite-tree.c src/export/formats/sqlite-tree.h src/export/formats/sqlite-schema.def \
	src/export/formats/perfetto.c src/export/formats/perfetto-out.c src/export/formats/perfetto-out.h src/export/formats/perfetto-races.c src/export/formats/perfetto-counters.c \
	src/export/formats/perfetto-pairs.c src/export/formats/perfetto-files.c
EXPORT_LIBS = $(SQUEEZE_LIBS) $(ZLIB_LIBS) $(SQLITE_LIBS)
HEADERS_TO_CHECK += src/export/export.h src/export/core/zip.h src/export/core/export-job.h src/export/core/samples.h src/export/core/frame-table.h \
	src/export/core/proto.h src/export/formats/formats.h src/export/formats/perfetto-out.h \
	src/export/formats/sqlite-out.h src/export/formats/sqlite-tree.h src/export/formats/sqlite-parts.h

EXTRA_DIST += tests/export/perfetto.proto tests/export/pprof.proto tests/export/xray-basic.log tests/export/xray-basic.yaml tests/export/xray-fdr.log \
	tests/export/xray-fdr.yaml
if HAVE_CMOCKA
check_PROGRAMS += tests/unit/test-export
TESTS += tests/unit/test-export
tests_unit_test_export_SOURCES = tests/unit/test-export.c
tests_unit_test_export_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS) $(ELF_CFLAGS) $(JANSSON_CFLAGS)
tests_unit_test_export_LDADD = libexport.a libsqueeze.a libstate.a libsymbols.a liblang.a libfatbin.a libgpucode.a libsbt.a libcommon.a $(SYMBOLS_LIBS) $(CMOCKA_LIBS) \
	$(JANSSON_LIBS) $(ZSTD_LIBS) $(XXHASH_LIBS) $(EXPORT_LIBS) -lm
check_PROGRAMS += tests/unit/test-export-sqlite
TESTS += tests/unit/test-export-sqlite
tests_unit_test_export_sqlite_SOURCES = tests/unit/test-export-sqlite.c
tests_unit_test_export_sqlite_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_export_sqlite_LDADD = libexport.a libcommon.a $(CMOCKA_LIBS) $(SQLITE_LIBS)
endif
