# SPDX-License-Identifier: Apache-2.0
#
# Room replay: the replay engine.

noinst_LIBRARIES += libreplay.a
libreplay_a_SOURCES = src/replay/replay.h src/replay/protocol.h src/replay/engine/replay-private.h \
	src/replay/engine/replay.c src/replay/engine/points.c src/replay/engine/run.c src/replay/engine/moves.c src/replay/engine/watch.c \
	src/replay/device.h src/replay/client/device-private.h src/replay/client/device.c src/replay/client/device-process.c src/replay/client/device-said.c src/replay/client/device-child.c \
	src/replay/plan.h src/replay/plan/plan-private.h src/replay/plan/plan.c src/replay/plan/plan-scan.c \
	src/replayer/soft-watch.h src/replay/client/device-check.c src/replay/client/device-order.c src/replay/client/device-watch.c \
	src/replay/engine/nodes.c src/replay/client/device-node.c src/replay/device-node.h \
	src/replay/engine/values.c src/replay/values.h
HEADERS_TO_CHECK += src/replay/device-node.h
HEADERS_TO_CHECK += src/replay/values.h src/replayer/soft-watch.h src/replay/replay.h src/replay/protocol.h src/replay/engine/replay-private.h src/replay/device.h \
	src/replay/client/device-private.h src/replay/plan.h src/replay/plan/plan-private.h

libreplay_a_SOURCES += src/replay/client/device-kernel.c src/replay/device-kernel.h src/replayer/soft-debug.h

if HAVE_CMOCKA
REPLAY_TESTS = tests/unit/test-replay-moves tests/unit/test-replay-run tests/unit/test-replay-nodes \
	tests/unit/test-replay-far tests/unit/test-replay-watch
check_PROGRAMS += $(REPLAY_TESTS)
TESTS += $(REPLAY_TESTS)
REPLAY_TEST_LIBS = libreplay.a libstate.a libsbt.a libcommon.a $(CMOCKA_LIBS) $(SBT_LIBS)
check_PROGRAMS += tests/unit/test-order-expand
TESTS += tests/unit/test-order-expand
tests_unit_test_order_expand_SOURCES = tests/unit/test-order-expand.c tests/unit/order-test.h tests/unit/state-test.h tests/unit/no-error.h tests/unit/cmds.h \
	tests/unit/random-cmds.h tests/unit/random-trace.h
tests_unit_test_order_expand_LDADD = libreplay.a liborder.a libstate.a libgpucode.a libsbt.a libcommon.a $(CMOCKA_LIBS) $(SBT_LIBS)
tests_unit_test_replay_moves_SOURCES = tests/unit/test-replay-moves.c tests/unit/state-test.h tests/unit/no-error.h tests/unit/cmds.h \
	tests/unit/random-cmds.h tests/unit/random-trace.h
tests_unit_test_replay_moves_LDADD = $(REPLAY_TEST_LIBS)
tests_unit_test_replay_nodes_SOURCES = tests/unit/test-replay-nodes.c tests/unit/state-test.h tests/unit/no-error.h tests/unit/cmds.h \
	tests/unit/random-cmds.h tests/unit/random-trace.h
tests_unit_test_replay_nodes_LDADD = $(REPLAY_TEST_LIBS)
tests_unit_test_replay_far_SOURCES = tests/unit/test-replay-far.c tests/unit/state-test.h tests/unit/no-error.h tests/unit/cmds.h \
	tests/unit/random-cmds.h tests/unit/random-trace.h
tests_unit_test_replay_far_LDADD = $(REPLAY_TEST_LIBS)
tests_unit_test_replay_watch_SOURCES = tests/unit/test-replay-watch.c tests/unit/state-test.h tests/unit/no-error.h tests/unit/cmds.h \
	tests/unit/random-cmds.h tests/unit/random-trace.h
tests_unit_test_replay_watch_LDADD = $(REPLAY_TEST_LIBS)
tests_unit_test_replay_run_SOURCES = tests/unit/test-replay-run.c tests/unit/state-test.h tests/unit/no-error.h tests/unit/cmds.h \
	tests/unit/random-cmds.h tests/unit/random-trace.h
tests_unit_test_replay_run_LDADD = $(REPLAY_TEST_LIBS)
check_PROGRAMS += tests/unit/test-replay-plan
TESTS += tests/unit/test-replay-plan
tests_unit_test_replay_plan_SOURCES = tests/unit/test-replay-plan.c tests/unit/state-test.h tests/unit/no-error.h tests/unit/cmds.h \
	tests/unit/random-cmds.h tests/unit/random-trace.h
tests_unit_test_replay_plan_LDADD = $(REPLAY_TEST_LIBS)
check_PROGRAMS += tests/unit/test-replay-plan-model
TESTS += tests/unit/test-replay-plan-model
tests_unit_test_replay_plan_model_SOURCES = tests/unit/test-replay-plan-model.c tests/unit/state-test.h tests/unit/no-error.h tests/unit/cmds.h \
	tests/unit/random-cmds.h tests/unit/random-trace.h
tests_unit_test_replay_plan_model_LDADD = $(REPLAY_TEST_LIBS)
check_PROGRAMS += tests/unit/test-footprint-clients
TESTS += tests/unit/test-footprint-clients
tests_unit_test_footprint_clients_SOURCES = tests/unit/test-footprint-clients.c tests/unit/awkward-cmds.h tests/unit/state-test.h tests/unit/no-error.h tests/unit/cmds.h \
	tests/unit/random-cmds.h tests/unit/random-trace.h
tests_unit_test_footprint_clients_LDADD = libreplay.a liborder.a libstate.a libgpucode.a libsbt.a libcommon.a $(CMOCKA_LIBS) $(SBT_LIBS)
check_PROGRAMS += tests/unit/test-replay-values
TESTS += tests/unit/test-replay-values
tests_unit_test_replay_values_SOURCES = tests/unit/test-replay-values.c
tests_unit_test_replay_values_LDADD = libreplay.a $(CMOCKA_LIBS) -lm
# The client against a replayer without a device.
check_PROGRAMS += tests/unit/test-replay-child
TESTS += tests/unit/test-replay-child
tests_unit_test_replay_child_SOURCES = tests/unit/test-replay-child.c tests/unit/state-test.h tests/unit/no-error.h tests/unit/cmds.h
tests_unit_test_replay_child_LDADD = $(REPLAY_TEST_LIBS)

check_PROGRAMS += tests/unit/test-replay-device tests/unit/fake-replayer
TESTS += tests/unit/test-replay-device
tests_unit_test_replay_device_SOURCES = tests/unit/test-replay-device.c tests/unit/state-test.h tests/unit/no-error.h tests/unit/cmds.h \
	tests/unit/random-cmds.h tests/unit/random-trace.h tests/unit/fake-replayer.h tests/unit/device-test.h
tests_unit_test_replay_device_LDADD = $(REPLAY_TEST_LIBS) -lpthread
EXTRA_tests_unit_test_replay_device_DEPENDENCIES = tests/unit/fake-replayer
check_PROGRAMS += tests/unit/test-replay-client
TESTS += tests/unit/test-replay-client
tests_unit_test_replay_client_SOURCES = tests/unit/test-replay-client.c tests/unit/state-test.h tests/unit/no-error.h tests/unit/cmds.h \
	tests/unit/random-cmds.h tests/unit/random-trace.h tests/unit/fake-replayer.h tests/unit/device-test.h
tests_unit_test_replay_client_LDADD = $(REPLAY_TEST_LIBS)
EXTRA_tests_unit_test_replay_client_DEPENDENCIES = tests/unit/fake-replayer
check_PROGRAMS += tests/unit/test-replay-walk
TESTS += tests/unit/test-replay-walk
tests_unit_test_replay_walk_SOURCES = tests/unit/test-replay-walk.c tests/unit/state-test.h tests/unit/no-error.h tests/unit/cmds.h \
	tests/unit/random-cmds.h tests/unit/random-trace.h
tests_unit_test_replay_walk_LDADD = $(REPLAY_TEST_LIBS)
check_PROGRAMS += tests/unit/test-replay-wire
TESTS += tests/unit/test-replay-wire
tests_unit_test_replay_wire_SOURCES = tests/unit/test-replay-wire.c tests/unit/scripted-replayer.h tests/unit/state-test.h tests/unit/no-error.h tests/unit/cmds.h \
	tests/unit/random-cmds.h tests/unit/random-trace.h
tests_unit_test_replay_wire_LDADD = $(REPLAY_TEST_LIBS)
check_PROGRAMS += tests/unit/test-replay-answers
TESTS += tests/unit/test-replay-answers
tests_unit_test_replay_answers_SOURCES = tests/unit/test-replay-answers.c tests/unit/scripted-replayer.h tests/unit/state-test.h tests/unit/no-error.h tests/unit/cmds.h \
	tests/unit/random-cmds.h tests/unit/random-trace.h
tests_unit_test_replay_answers_LDADD = $(REPLAY_TEST_LIBS)
tests_unit_fake_replayer_SOURCES = tests/unit/fake-replayer.c tests/unit/fake-replayer.h
tests_unit_fake_replayer_LDADD = libsbt.a libcommon.a $(SBT_LIBS)
endif
