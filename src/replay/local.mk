# SPDX-License-Identifier: Apache-2.0
#
# Room replay: the replay engine.

noinst_LIBRARIES += libreplay.a
libreplay_a_SOURCES = src/replay/replay.h src/replay/replay-private.h \
	src/replay/replay.c src/replay/points.c src/replay/run.c
HEADERS_TO_CHECK += src/replay/replay.h src/replay/replayer.h src/replay/replay-private.h

if HAVE_CMOCKA
REPLAY_TESTS = tests/unit/test-replay-moves tests/unit/test-replay-run
check_PROGRAMS += $(REPLAY_TESTS)
TESTS += $(REPLAY_TESTS)
REPLAY_TEST_LIBS = libreplay.a libstate.a libsbt.a libcommon.a $(CMOCKA_LIBS) $(SBT_LIBS)
tests_unit_test_replay_moves_SOURCES = tests/unit/test-replay-moves.c tests/unit/state-test.h tests/unit/cmds.h \
	tests/unit/random-cmds.h tests/unit/random-trace.h
tests_unit_test_replay_moves_LDADD = $(REPLAY_TEST_LIBS)
tests_unit_test_replay_run_SOURCES = tests/unit/test-replay-run.c tests/unit/state-test.h tests/unit/cmds.h \
	tests/unit/random-cmds.h tests/unit/random-trace.h
tests_unit_test_replay_run_LDADD = $(REPLAY_TEST_LIBS)
endif
