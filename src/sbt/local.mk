# SPDX-License-Identifier: Apache-2.0
#
# Room sbt: the trace. libsbt.a for tsdb; the agent compiles cmd.c, kernel-name.c and expr.c itself.
# What links libsbt.a needs $(SBT_LIBS) behind it.

SBT_LIBS = $(ZSTD_LIBS) $(XXHASH_LIBS) -lpthread

noinst_LIBRARIES += libsbt.a
libsbt_a_CFLAGS = $(AM_CFLAGS) $(ZSTD_CFLAGS) $(XXHASH_CFLAGS)
libsbt_a_SOURCES = \
	src/sbt/cmd/cmd.c src/sbt/cmd.h src/sbt/fields.h src/sbt/cmd-pack.h src/sbt/commands.def \
	src/sbt/cmd/footprint.c src/sbt/footprint.h \
	src/sbt/cmd/kernel-name.c src/sbt/kernel-name.h \
	src/sbt/cmd/expr.c src/sbt/cmd/expr-parse.c src/sbt/expr.h \
	src/sbt/format/pagehash.c src/sbt/pagehash.h \
	src/sbt/format/python.c src/sbt/format/python-lines.c src/sbt/python.h \
	src/sbt/format/format.h src/sbt/varint.h \
	src/sbt/cmd/encode.c src/sbt/cmd/decode.c src/sbt/cmd/encode.h \
	src/sbt/writer/writer.c src/sbt/writer/writer-chunk.c src/sbt/writer/writer-memory.c src/sbt/writer/writer.h \
	src/sbt/writer/packer.c src/sbt/writer/packer.h src/sbt/format/pagecode.c src/sbt/format/pagecode.h src/sbt/memory.h \
	src/sbt/reader/reader.c src/sbt/reader/reader-chunk.c src/sbt/reader/reader-index.c src/sbt/reader/reader-stacks.c src/sbt/reader/reader-symbols.c \
	src/sbt/reader/reader-memory.c src/sbt/reader/reader-pages.c src/sbt/reader/reader.h \
	src/sbt/format/cursor.c src/sbt/cmd/print-cmd.c src/sbt/cmd/json.c \
	src/sbt/sbt.h
HEADERS_TO_CHECK += src/sbt/footprint.h src/sbt/python.h src/sbt/cmd.h src/sbt/fields.h src/sbt/cmd-pack.h src/sbt/kernel-name.h src/sbt/expr.h src/sbt/format/format.h src/sbt/varint.h src/sbt/cmd/encode.h src/sbt/writer/writer.h src/sbt/reader/reader.h src/sbt/writer/packer.h src/sbt/sbt.h src/sbt/vendor.h src/sbt/memory.h src/sbt/pagehash.h src/sbt/format/pagecode.h

EXTRA_DIST += tests/python-lines.py docs/sbt.md tests/sbt_reader.py tests/sbt-second-reader.py tests/sbt-old-traces.py tests/sbt-old-commands.py tests/sbt-doc.sh tests/traces
dist_noinst_SCRIPTS += scripts/sbt-doc
check_PROGRAMS += tests/unit/sbt-gen tests/unit/python-lines
TESTS += tests/sbt-second-reader.py tests/sbt-old-traces.py tests/sbt-old-commands.py tests/sbt-doc.sh tests/python-lines.py
tests_unit_python_lines_SOURCES = tests/unit/python-lines.c
tests_unit_python_lines_LDADD = libsbt.a
tests_unit_sbt_gen_SOURCES = tests/unit/sbt-gen.c tests/unit/sbt-make.h tests/unit/sbt-dump.h
tests_unit_sbt_gen_LDADD = libsbt.a libcommon.a $(SBT_LIBS)

# Every table of docs/ that is made of a table in the sources: kinds (docs/sbt.md), JSON (docs/json.md), instructions
# (docs/softgpu.md), entry points (docs/coverage*.md), declarations (docs/api.md, bindings/rust).
.PHONY: docs
docs: tests/json-schema update-coverage update-calls
	python3 $(srcdir)/scripts/sbt-doc $(srcdir)/src/sbt/commands.def $(srcdir)/docs/sbt.md
	python3 $(srcdir)/scripts/json-doc tests/json-schema $(srcdir)/docs/json.md
	python3 $(srcdir)/scripts/api-docs $(srcdir)
	python3 $(srcdir)/scripts/rust-bindings $(srcdir)

if HAVE_CMOCKA
SBT_TESTS = tests/unit/test-text tests/unit/test-json-put tests/unit/test-sbt-footprint tests/unit/test-sbt-python tests/unit/test-sbt-cmd tests/unit/test-sbt-expr tests/unit/test-sbt-pagehash tests/unit/test-sbt-pagecode tests/unit/test-sbt-memory \
	tests/unit/test-sbt-trace tests/unit/test-sbt-skim tests/unit/test-sbt-whole tests/unit/test-sbt-second tests/unit/test-sbt-disk tests/unit/test-sbt-names tests/unit/test-sbt-print tests/unit/test-sbt-asked tests/unit/test-sbt-damage
check_PROGRAMS += $(SBT_TESTS)
TESTS += $(SBT_TESTS)
SBT_TEST_LIBS = libsbt.a libcommon.a $(CMOCKA_LIBS) $(SBT_LIBS)
tests_unit_test_sbt_footprint_SOURCES = tests/unit/test-sbt-footprint.c tests/unit/cmds.h
tests_unit_test_sbt_footprint_LDADD = $(SBT_TEST_LIBS)
tests_unit_test_text_SOURCES = tests/unit/test-text.c
tests_unit_test_text_LDADD = libcommon.a $(CMOCKA_LIBS)
tests_unit_test_json_put_SOURCES = tests/unit/test-json-put.c
tests_unit_test_json_put_LDADD = libcommon.a $(CMOCKA_LIBS) -lm
tests_unit_test_sbt_trace_SOURCES = tests/unit/test-sbt-trace.c tests/unit/sbt-make.h
tests_unit_test_sbt_trace_LDADD = $(SBT_TEST_LIBS)
tests_unit_test_sbt_skim_SOURCES = tests/unit/test-sbt-skim.c tests/unit/sbt-make.h
tests_unit_test_sbt_skim_LDADD = $(SBT_TEST_LIBS)
tests_unit_test_sbt_whole_SOURCES = tests/unit/test-sbt-whole.c tests/unit/sbt-make.h tests/unit/sbt-dump.h tests/unit/sbt-repair.h
tests_unit_test_sbt_whole_LDADD = $(SBT_TEST_LIBS)
tests_unit_test_sbt_second_SOURCES = tests/unit/test-sbt-second.c tests/unit/sbt-make.h
tests_unit_test_sbt_second_LDADD = $(SBT_TEST_LIBS)
tests_unit_test_sbt_names_SOURCES = tests/unit/test-sbt-names.c tests/unit/sbt-make.h
tests_unit_test_sbt_names_LDADD = $(SBT_TEST_LIBS)
tests_unit_test_sbt_disk_SOURCES = tests/unit/test-sbt-disk.c tests/unit/sbt-make.h
tests_unit_test_sbt_disk_LDADD = $(SBT_TEST_LIBS)
tests_unit_test_sbt_asked_SOURCES = tests/unit/test-sbt-asked.c tests/unit/no-error.h tests/unit/sbt-make.h
tests_unit_test_sbt_asked_LDADD = $(SBT_TEST_LIBS)
tests_unit_test_sbt_print_SOURCES = tests/unit/test-sbt-print.c
tests_unit_test_sbt_print_LDADD = $(SBT_TEST_LIBS) $(JANSSON_LIBS)
tests_unit_test_sbt_damage_SOURCES = tests/unit/test-sbt-damage.c tests/unit/sbt-make.h tests/unit/sbt-dump.h tests/unit/sbt-repair.h
tests_unit_test_sbt_damage_LDADD = $(SBT_TEST_LIBS)
tests_unit_test_sbt_cmd_SOURCES = tests/unit/test-sbt-cmd.c tests/unit/sbt-make.h
tests_unit_test_sbt_cmd_LDADD = $(SBT_TEST_LIBS)
tests_unit_test_sbt_memory_SOURCES = tests/unit/test-sbt-memory.c tests/unit/sbt-make.h tests/unit/sbt-repair.h
tests_unit_test_sbt_memory_LDADD = $(SBT_TEST_LIBS)
tests_unit_test_sbt_pagecode_SOURCES = tests/unit/test-sbt-pagecode.c
tests_unit_test_sbt_pagecode_LDADD = $(SBT_TEST_LIBS)
tests_unit_test_sbt_pagehash_SOURCES = tests/unit/test-sbt-pagehash.c
tests_unit_test_sbt_pagehash_LDADD = $(SBT_TEST_LIBS)
tests_unit_test_sbt_python_SOURCES = tests/unit/test-sbt-python.c
tests_unit_test_sbt_python_LDADD = $(SBT_TEST_LIBS)
tests_unit_test_sbt_expr_SOURCES = tests/unit/test-sbt-expr.c
tests_unit_test_sbt_expr_LDADD = $(SBT_TEST_LIBS)
endif
