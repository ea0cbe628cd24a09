# SPDX-License-Identifier: Apache-2.0
#
# Room state: the GPU state machine.

noinst_LIBRARIES += libstate.a
libstate_a_SOURCES = src/state/state.h src/state/args.h src/state/state-private.h \
	src/state/vec.c src/state/vec.h src/state/allocs.c src/state/allocs.h \
	src/state/state.c src/state/transitions.c src/state/transitions.h \
	src/state/transitions-objects.c src/state/transitions-work.c src/state/transitions-graphs.c \
	src/state/queue.c src/state/keyframe.c src/state/look.c \
	src/state/print.c src/state/print-json.c src/state/print-views.c src/state/print-private.h src/state/seek.c src/state/steps.c src/state/steps.h
HEADERS_TO_CHECK += src/state/steps.h tests/unit/cmds.h src/state/state.h src/state/state-private.h src/state/print-private.h src/state/args.h src/state/vec.h src/state/allocs.h \
	src/state/transitions.h

if HAVE_CMOCKA
STATE_TESTS = tests/unit/test-state-fold tests/unit/test-state-objects tests/unit/test-state-keyframe \
	tests/unit/test-state-print tests/unit/test-state-seek tests/unit/test-state-steps
check_PROGRAMS += $(STATE_TESTS)
TESTS += $(STATE_TESTS)
STATE_TEST_LIBS = libstate.a libsbt.a libcommon.a $(CMOCKA_LIBS) $(SBT_LIBS)
tests_unit_test_state_fold_SOURCES = tests/unit/test-state-fold.c tests/unit/state-test.h tests/unit/cmds.h
tests_unit_test_state_fold_LDADD = $(STATE_TEST_LIBS)
tests_unit_test_state_objects_SOURCES = tests/unit/test-state-objects.c tests/unit/state-test.h tests/unit/cmds.h
tests_unit_test_state_objects_LDADD = $(STATE_TEST_LIBS)
tests_unit_test_state_keyframe_SOURCES = tests/unit/test-state-keyframe.c tests/unit/state-test.h tests/unit/cmds.h \
	tests/unit/random-cmds.h
tests_unit_test_state_keyframe_LDADD = $(STATE_TEST_LIBS)
tests_unit_test_state_steps_SOURCES = tests/unit/test-state-steps.c tests/unit/state-test.h tests/unit/cmds.h
tests_unit_test_state_steps_LDADD = $(STATE_TEST_LIBS)
tests_unit_test_state_print_SOURCES = tests/unit/test-state-print.c tests/unit/state-test.h tests/unit/cmds.h
tests_unit_test_state_print_LDADD = $(STATE_TEST_LIBS) $(JANSSON_LIBS)
tests_unit_test_state_seek_SOURCES = tests/unit/test-state-seek.c tests/unit/state-test.h tests/unit/cmds.h \
	tests/unit/random-cmds.h tests/unit/random-trace.h
tests_unit_test_state_seek_LDADD = $(STATE_TEST_LIBS)
endif
