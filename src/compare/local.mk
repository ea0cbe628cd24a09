# SPDX-License-Identifier: Apache-2.0
#
# Room compare: two traces side by side.

noinst_LIBRARIES += libcompare.a
libcompare_a_SOURCES = src/compare/compare.h src/compare/core/side.h src/compare/core/side.c src/compare/core/align.c src/compare/core/myers.h \
	src/compare/core/myers.c src/compare/core/classify.c src/compare/core/times.c src/compare/core/compare-steps.c src/compare/core/compare-sites.c src/compare/core/compare.c \
	src/compare/runs.h src/compare/core/runs.c src/compare/core/rank-test.c
HEADERS_TO_CHECK += src/compare/compare.h src/compare/runs.h src/compare/core/side.h src/compare/core/myers.h

if HAVE_CMOCKA
check_PROGRAMS += tests/unit/test-compare
TESTS += tests/unit/test-compare
tests_unit_test_compare_SOURCES = tests/unit/test-compare.c tests/unit/cmds.h
tests_unit_test_compare_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_compare_LDADD = libcompare.a libsbt.a libcommon.a $(CMOCKA_LIBS) $(SBT_LIBS) -lm
check_PROGRAMS += tests/unit/test-compare-runs
TESTS += tests/unit/test-compare-runs
tests_unit_test_compare_runs_SOURCES = tests/unit/test-compare-runs.c
tests_unit_test_compare_runs_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_compare_runs_LDADD = libcompare.a libcommon.a $(CMOCKA_LIBS) -lm
endif
