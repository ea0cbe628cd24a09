# SPDX-License-Identifier: Apache-2.0
#
# Room order: happens-before, access sets, races.

noinst_LIBRARIES += liborder.a
liborder_a_SOURCES = src/order/order.h src/order/fold/order.c src/order/fold/vector-clock.h src/order/fold/vector-clock.c src/order/fold/fold.h src/order/fold/fold.c src/order/fold/fold-lanes.h src/order/fold/fold-lanes.c \
	src/order/fold/access.c src/order/races/conflicts.c src/order/schedule/schedule.c src/order/schedule/rewrite.c src/order/races/ledger.h src/order/races/ledger.c \
	src/order/races/graph-races.h src/order/races/news.c src/order/races/news.h src/order/races/graph-races.c src/order/races/races.c src/order/races/race-cure.c src/order/kept.h src/order/schedule/kept.c src/order/place.h \
	src/order/races/unread.h src/order/races/unread.c src/order/early.h src/order/fold/early.c src/order/in-flight.h src/order/races/in-flight.c \
	src/order/races/staged.h src/order/races/staged.c src/order/races/suspects.c src/order/races/polls.h src/order/races/trace-codes.c src/order/races/trace-codes.h src/order/races/polls.c src/order/races/ptx-waits.h src/order/races/ptx-waits.c src/order/flow.h src/order/races/flow.c src/order/schedule/copied.h src/order/schedule/copied.c src/order/expand.h src/order/schedule/expand.c \
	src/order/fold/written-values.h src/order/fold/written-values.c src/order/fold/feed.h src/order/fold/feed.c \
	src/order/fold/held.h src/order/fold/held.c \
	src/order/critical-path.h src/order/critical/critical-path.c src/order/critical/critical-graph.c src/order/critical/critical-graph.h
HEADERS_TO_CHECK += src/order/critical-path.h src/order/critical/critical-graph.h src/order/races/trace-codes.h src/order/order.h src/order/flow.h src/order/fold/fold.h src/order/fold/fold-lanes.h src/order/fold/vector-clock.h src/order/races/ledger.h src/order/races/graph-races.h src/order/kept.h \
	src/order/place.h src/order/races/unread.h src/order/early.h src/order/in-flight.h src/order/races/staged.h src/order/races/polls.h src/order/races/ptx-waits.h src/order/schedule/copied.h src/order/expand.h src/order/fold/written-values.h src/order/fold/feed.h src/order/fold/held.h

if HAVE_CMOCKA
ORDER_TESTS = tests/unit/test-order tests/unit/test-order-early tests/unit/test-order-flow tests/unit/test-order-schedule tests/unit/test-order-ledger tests/unit/test-order-model tests/unit/test-order-graphs \
	tests/unit/test-order-each tests/unit/test-order-paths tests/unit/test-order-races tests/unit/test-order-critical \
	tests/unit/test-order-parts tests/unit/test-order-ptx tests/unit/test-order-values
check_PROGRAMS += $(ORDER_TESTS)
TESTS += $(ORDER_TESTS)
order_test_shared = tests/unit/order-test.h tests/unit/state-test.h tests/unit/cmds.h tests/unit/random-cmds.h tests/unit/random-trace.h
order_test_libs = liborder.a libstate.a libgpucode.a libsbt.a libcommon.a $(CMOCKA_LIBS) $(SBT_LIBS)
tests_unit_test_order_SOURCES = tests/unit/test-order.c $(order_test_shared)
tests_unit_test_order_LDADD = $(order_test_libs)
tests_unit_test_order_critical_SOURCES = tests/unit/test-order-critical.c $(order_test_shared)
tests_unit_test_order_critical_LDADD = $(order_test_libs)
tests_unit_test_order_early_SOURCES = tests/unit/test-order-early.c $(order_test_shared)
tests_unit_test_order_early_LDADD = $(order_test_libs)
tests_unit_test_order_ledger_SOURCES = tests/unit/test-order-ledger.c $(order_test_shared)
tests_unit_test_order_ledger_LDADD = $(order_test_libs)
tests_unit_test_order_model_SOURCES = tests/unit/test-order-model.c $(order_test_shared)
tests_unit_test_order_model_LDADD = $(order_test_libs)
tests_unit_test_order_each_SOURCES = tests/unit/test-order-each.c $(order_test_shared)
tests_unit_test_order_each_LDADD = $(order_test_libs)
tests_unit_test_order_paths_SOURCES = tests/unit/test-order-paths.c $(order_test_shared)
tests_unit_test_order_paths_LDADD = $(order_test_libs)
tests_unit_test_order_races_SOURCES = tests/unit/test-order-races.c $(order_test_shared)
tests_unit_test_order_races_LDADD = $(order_test_libs)
tests_unit_test_order_ptx_SOURCES = tests/unit/test-order-ptx.c $(order_test_shared)
tests_unit_test_order_ptx_LDADD = $(order_test_libs)
tests_unit_test_order_values_SOURCES = tests/unit/test-order-values.c $(order_test_shared)
tests_unit_test_order_values_LDADD = $(order_test_libs)
tests_unit_test_order_parts_SOURCES = tests/unit/test-order-parts.c $(order_test_shared)
tests_unit_test_order_parts_LDADD = $(order_test_libs)
tests_unit_test_order_graphs_SOURCES = tests/unit/test-order-graphs.c $(order_test_shared)
tests_unit_test_order_graphs_LDADD = $(order_test_libs)
tests_unit_test_order_flow_SOURCES = tests/unit/test-order-flow.c $(order_test_shared)
tests_unit_test_order_flow_LDADD = $(order_test_libs)
tests_unit_test_order_schedule_SOURCES = tests/unit/test-order-schedule.c $(order_test_shared)
tests_unit_test_order_schedule_LDADD = $(order_test_libs)
endif
