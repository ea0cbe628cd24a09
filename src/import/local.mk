# SPDX-License-Identifier: Apache-2.0
#
# Room import: a trace of what another profiler recorded. Who links libimport.a links libstate.a, libsymbols.a, $(SYMBOLS_LIBS), libsbt.a,
# libcommon.a and $(IMPORT_LIBS) after it.

noinst_LIBRARIES += libimport.a
libimport_a_SOURCES = src/import/import.h src/import/core/import-run.c src/import/core/stage.c src/import/core/stage.h \
	src/import/core/emit.c src/import/core/emit.h src/import/core/emit-objects.c src/import/core/emit-stacks.c \
	src/import/core/key-table.c src/import/core/key-table.h src/import/core/figure.c src/import/core/figure.h \
	src/import/core/json-pull.c src/import/core/json-pull.h src/import/core/call-kind.c src/import/core/call-kind.h \
	src/import/formats/readers.h src/import/formats/kineto-read.c src/import/formats/kineto-event.c src/import/formats/kineto-event.h \
	src/import/formats/nsight-read.c src/import/formats/xray-read.c src/import/formats/xray-map.c src/import/formats/xray-map.h
libimport_a_CPPFLAGS = $(AM_CPPFLAGS) $(ELF_CFLAGS)
IMPORT_LIBS = $(ZLIB_LIBS) $(SQLITE_LIBS)
HEADERS_TO_CHECK += src/import/import.h src/import/core/stage.h src/import/core/emit.h src/import/core/key-table.h src/import/core/figure.h \
	src/import/core/json-pull.h src/import/core/call-kind.h src/import/formats/readers.h src/import/formats/kineto-event.h \
	src/import/formats/xray-map.h

if HAVE_CMOCKA
check_PROGRAMS += tests/unit/test-import-figure tests/unit/test-import-json
TESTS += tests/unit/test-import-figure tests/unit/test-import-json
tests_unit_test_import_figure_SOURCES = tests/unit/test-import-figure.c
tests_unit_test_import_figure_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_import_figure_LDADD = libimport.a libcommon.a $(CMOCKA_LIBS)
tests_unit_test_import_json_SOURCES = tests/unit/test-import-json.c
tests_unit_test_import_json_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_import_json_LDADD = libimport.a libcommon.a $(CMOCKA_LIBS) $(IMPORT_LIBS)
endif
