# SPDX-License-Identifier: Apache-2.0
#
# Room state: the GPU state machine.

noinst_LIBRARIES += libstate.a
libstate_a_SOURCES = src/state/state.h src/state/marks.h src/state/fold/marks.c src/state/summary.h src/state/fold/summary.c src/state/trace-stats.h src/state/set-stats.h src/state/stats/set-stats.c src/state/stats/set-outliers.c src/state/stats/set-outliers.h src/state/stream-time.h src/state/stats/stream-time.c src/state/stats/stats-parts.h src/state/stats/stats-run.c src/state/stats/stats-spread.c src/state/stats/stats-streams.c src/state/stats/stats-sweep.c src/state/args.h src/state/fold/state-private.h \
	src/state/tables/vec.c src/state/tables/vec.h src/state/tables/allocs.c src/state/tables/allocs.h \
	src/state/fold/state.c src/state/fold/transitions.c src/state/fold/transitions.h \
	src/state/fold/transitions-objects.c src/state/fold/transitions-work.c src/state/fold/transitions-graphs.c \
	src/state/fold/queue.c src/state/fold/keyframe.c src/state/fold/look.c \
	src/state/print/print.c src/state/print/print-json.c src/state/print/print-views.c src/state/print/print-private.h src/state/fold/seek.c src/state/fold/steps.c src/state/steps.h src/state/late-work.h src/state/fold/late-work.c
HEADERS_TO_CHECK += src/state/stats/set-outliers.h src/state/stream-time.h src/state/summary.h src/state/trace-stats.h src/state/set-stats.h src/state/stats/stats-parts.h src/state/marks.h src/state/steps.h src/state/late-work.h tests/unit/cmds.h src/state/state.h src/state/fold/state-private.h src/state/print/print-private.h src/state/args.h src/state/tables/vec.h src/state/tables/allocs.h \
	src/state/fold/transitions.h

if HAVE_CMOCKA
STATE_TESTS = tests/unit/test-state-fold tests/unit/test-state-objects tests/unit/test-state-keyframe \
	tests/unit/test-state-print tests/unit/test-state-seek tests/unit/test-state-steps \
	tests/unit/test-state-late tests/unit/test-state-each tests/unit/test-state-marks \
	tests/unit/test-state-outliers tests/unit/test-state-tables tests/unit/test-state-summary tests/unit/test-state-queue tests/unit/test-state-stats tests/unit/test-state-rows tests/unit/test-state-model
check_PROGRAMS += $(STATE_TESTS)
TESTS += $(STATE_TESTS)
STATE_TEST_LIBS = libstate.a libsbt.a libcommon.a $(CMOCKA_LIBS) $(SBT_LIBS)
tests_unit_test_state_outliers_SOURCES = tests/unit/test-state-outliers.c tests/unit/state-test.h tests/unit/no-error.h tests/unit/cmds.h
tests_unit_test_state_outliers_LDADD = $(STATE_TEST_LIBS)
tests_unit_test_state_tables_SOURCES = tests/unit/test-state-tables.c tests/unit/state-test.h tests/unit/no-error.h tests/unit/cmds.h
tests_unit_test_state_tables_LDADD = $(STATE_TEST_LIBS)
tests_unit_test_state_summary_SOURCES = tests/unit/test-state-summary.c tests/unit/state-test.h tests/unit/no-error.h tests/unit/cmds.h \
	tests/unit/random-cmds.h tests/unit/random-trace.h
tests_unit_test_state_summary_LDADD = $(STATE_TEST_LIBS)
tests_unit_test_state_model_SOURCES = tests/unit/test-state-model.c tests/unit/state-test.h tests/unit/no-error.h tests/unit/cmds.h
tests_unit_test_state_model_LDADD = $(STATE_TEST_LIBS)
tests_unit_test_state_rows_SOURCES = tests/unit/test-state-rows.c tests/unit/state-test.h tests/unit/no-error.h tests/unit/cmds.h \
	tests/unit/random-cmds.h tests/unit/random-trace.h
tests_unit_test_state_rows_LDADD = $(STATE_TEST_LIBS)
tests_unit_test_state_stats_SOURCES = tests/unit/test-state-stats.c tests/unit/state-test.h tests/unit/no-error.h tests/unit/cmds.h \
	tests/unit/random-cmds.h tests/unit/random-trace.h
tests_unit_test_state_stats_LDADD = $(STATE_TEST_LIBS)
tests_unit_test_state_queue_SOURCES = tests/unit/test-state-queue.c tests/unit/state-test.h tests/unit/no-error.h tests/unit/cmds.h
tests_unit_test_state_queue_LDADD = $(STATE_TEST_LIBS)
tests_unit_test_state_fold_SOURCES = tests/unit/test-state-fold.c tests/unit/state-test.h tests/unit/no-error.h tests/unit/cmds.h
tests_unit_test_state_fold_LDADD = $(STATE_TEST_LIBS)
tests_unit_test_state_objects_SOURCES = tests/unit/test-state-objects.c tests/unit/state-test.h tests/unit/no-error.h tests/unit/cmds.h
tests_unit_test_state_objects_LDADD = $(STATE_TEST_LIBS)
tests_unit_test_state_keyframe_SOURCES = tests/unit/test-state-keyframe.c tests/unit/state-test.h tests/unit/no-error.h tests/unit/cmds.h \
	tests/unit/random-cmds.h
tests_unit_test_state_keyframe_LDADD = $(STATE_TEST_LIBS)
tests_unit_test_state_each_SOURCES = tests/unit/test-state-each.c tests/unit/state-test.h tests/unit/no-error.h tests/unit/cmds.h
tests_unit_test_state_each_LDADD = $(STATE_TEST_LIBS)
tests_unit_test_state_marks_SOURCES = tests/unit/test-state-marks.c
tests_unit_test_state_marks_LDADD = $(STATE_TEST_LIBS)
tests_unit_test_state_late_SOURCES = tests/unit/test-state-late.c tests/unit/state-test.h tests/unit/no-error.h tests/unit/cmds.h
tests_unit_test_state_late_LDADD = $(STATE_TEST_LIBS)
tests_unit_test_state_steps_SOURCES = tests/unit/test-state-steps.c tests/unit/state-test.h tests/unit/no-error.h tests/unit/cmds.h
tests_unit_test_state_steps_LDADD = $(STATE_TEST_LIBS)
tests_unit_test_state_print_SOURCES = tests/unit/test-state-print.c tests/unit/state-test.h tests/unit/no-error.h tests/unit/cmds.h
tests_unit_test_state_print_LDADD = $(STATE_TEST_LIBS) $(JANSSON_LIBS)
tests_unit_test_state_seek_SOURCES = tests/unit/test-state-seek.c tests/unit/state-test.h tests/unit/no-error.h tests/unit/cmds.h \
	tests/unit/random-cmds.h tests/unit/random-trace.h
tests_unit_test_state_seek_LDADD = $(STATE_TEST_LIBS)
endif
