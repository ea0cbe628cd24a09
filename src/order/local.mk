# SPDX-License-Identifier: Apache-2.0
#
# Room order: happens-before, access sets, races.

noinst_LIBRARIES += liborder.a
liborder_a_SOURCES = src/order/order.h src/order/order.c src/order/clock.h src/order/clock.c src/order/fold.h src/order/fold.c \
	src/order/access.c src/order/conflicts.c src/order/schedule.c src/order/rewrite.c src/order/ledger.h src/order/ledger.c \
	src/order/nodes.h src/order/nodes.c src/order/races.c src/order/kept.h src/order/kept.c src/order/place.h \
	src/order/unread.h src/order/unread.c src/order/early.h src/order/early.c src/order/in-flight.h src/order/in-flight.c \
	src/order/staged.h src/order/staged.c src/order/suspects.c src/order/polls.h src/order/polls.c src/order/flow.h src/order/flow.c src/order/copied.h src/order/copied.c src/order/expand.h src/order/expand.c
HEADERS_TO_CHECK += src/order/order.h src/order/flow.h src/order/fold.h src/order/clock.h src/order/ledger.h src/order/nodes.h src/order/kept.h \
	src/order/place.h src/order/unread.h src/order/early.h src/order/in-flight.h src/order/staged.h src/order/polls.h src/order/copied.h src/order/expand.h

if HAVE_CMOCKA
ORDER_TESTS = tests/unit/test-order tests/unit/test-order-early tests/unit/test-order-flow tests/unit/test-order-schedule
check_PROGRAMS += $(ORDER_TESTS)
TESTS += $(ORDER_TESTS)
order_test_shared = tests/unit/order-test.h tests/unit/state-test.h tests/unit/cmds.h tests/unit/random-cmds.h tests/unit/random-trace.h
order_test_libs = liborder.a libstate.a libsbt.a libcommon.a $(CMOCKA_LIBS) $(SBT_LIBS)
tests_unit_test_order_SOURCES = tests/unit/test-order.c $(order_test_shared)
tests_unit_test_order_LDADD = $(order_test_libs)
tests_unit_test_order_early_SOURCES = tests/unit/test-order-early.c $(order_test_shared)
tests_unit_test_order_early_LDADD = $(order_test_libs)
tests_unit_test_order_flow_SOURCES = tests/unit/test-order-flow.c $(order_test_shared)
tests_unit_test_order_flow_LDADD = $(order_test_libs)
tests_unit_test_order_schedule_SOURCES = tests/unit/test-order-schedule.c $(order_test_shared)
tests_unit_test_order_schedule_LDADD = $(order_test_libs)
endif
