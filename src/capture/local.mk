# SPDX-License-Identifier: Apache-2.0
#
# Room capture: the agent, libtsdb-agent.so. Loaded into other people's programs: never sanitised, few dependencies, three
# exported functions. It compiles the files of room sbt that it needs itself.

HEADERS_TO_CHECK += src/capture/wire.h src/capture/soft-fault.h

if HAVE_CUDA
HEADERS_TO_CHECK += \
	src/capture/agent.h src/capture/areas.h src/capture/bulk.h src/capture/discover.h src/capture/images.h src/capture/late.h src/capture/old-code.h src/capture/calls.h src/capture/clock.h src/capture/code.h src/capture/cupti-api.h \
	src/capture/device.h src/capture/driver.h src/capture/effect.h src/capture/extent.h src/capture/forget.h src/capture/fresh.h src/capture/gate.h src/capture/globals.h src/capture/graph-nodes.h src/capture/host.h src/capture/ipc.h \
	src/capture/known.h src/capture/live.h src/capture/payload.h src/capture/ptx.h src/capture/room.h src/capture/sender.h src/capture/shadow.h src/capture/span.h src/capture/touched.h \
	src/capture/ids.h src/capture/kernel.h src/capture/launch-shape.h src/capture/map.h src/capture/mapping.h src/capture/nvinfo.h src/capture/ring.h \
	src/capture/elf-look.h src/capture/python.h \
	src/capture/source.h src/capture/stack.h src/capture/stop.h src/capture/thread.h src/capture/window.h

agent_sources = \
	src/capture/activity.c \
	src/capture/agent.c src/capture/agent.h \
	src/capture/attached.c \
	src/capture/bulk.c src/capture/bulk.h \
	src/capture/call-copy.c \
	src/capture/call-graph.c src/capture/call-graph-update.c \
	src/capture/graph-nodes.c src/capture/graph-nodes.h src/capture/graph-table.c \
	src/capture/call-launch.c \
	src/capture/call-memory.c \
	src/capture/call-object.c \
	src/capture/calls.c src/capture/calls.h src/capture/cuda-calls.def \
	src/capture/clock.c src/capture/clock.h \
	src/capture/code.c src/capture/code.h \
	src/capture/ipc.c src/capture/ipc.h \
	src/capture/cupti-api.h \
	src/capture/areas.c src/capture/areas.h \
	src/capture/discover.c src/capture/discover.h \
	src/capture/images.c src/capture/images.h \
	src/capture/late.c src/capture/late.h \
	src/capture/old-code.c src/capture/old-code.h \
	src/capture/driver.c src/capture/driver.h \
	src/capture/effect.c src/capture/effect.h \
	src/capture/forget.c src/capture/forget.h \
	src/capture/touched.c src/capture/touched.h \
	src/capture/span.c src/capture/span.h src/capture/span-memory.c src/capture/span-memory.h src/capture/span-cells.c src/capture/span-cells.h src/capture/span-times.c \
	src/capture/room.c src/capture/room.h \
	src/capture/sender.c src/capture/sender.h \
	src/capture/shadow.c src/capture/shadow.h \
	src/capture/payload.c src/capture/payload.h \
	src/capture/ptx.c src/capture/ptx.h \
	src/capture/known.c src/capture/known.h \
	src/capture/live.c src/capture/live.h \
	src/capture/host.c src/capture/host.h \
	src/capture/globals.c src/capture/globals.h \
	src/capture/gate.c src/capture/gate.h \
	src/capture/extent.c src/capture/extent.h \
	src/capture/fresh.c src/capture/fresh.h \
	src/capture/device.c src/capture/device.h \
	src/capture/ids.c src/capture/ids.h \
	src/capture/kernel.c src/capture/kernel.h src/capture/launch-shape.h \
	src/capture/map.c src/capture/map.h \
	src/capture/mapping.c src/capture/mapping.h \
	src/capture/nvinfo.c src/capture/nvinfo.h \
	src/capture/nvtx.c \
	src/capture/elf-look.c src/capture/elf-look.h \
	src/capture/python.c src/capture/python.h \
	src/capture/ring.c src/capture/ring.h \
	src/capture/source-cupti.c src/capture/source.h \
	src/capture/stack.c src/capture/stack.h \
	src/capture/stop.c src/capture/stop.h \
	src/capture/thread.c src/capture/thread.h \
	src/capture/window.c src/capture/window.h \
	src/capture/wire.h \
	src/replay/cubin.c src/replay/cubin.h src/replay/cubin-cells.c src/replay/cubin-cells.h \
	src/sbt/cmd.c src/sbt/footprint.c src/sbt/expr.c src/sbt/kernel-name.c src/sbt/pagehash.c src/sbt/python.c src/sbt/python-lines.c
agent_cflags = $(SO_CFLAGS) $(CUDA_CFLAGS) $(UNWIND_CFLAGS) $(XXHASH_CFLAGS) -O2

plugin_PROGRAMS += libtsdb-agent.so
libtsdb_agent_so_SOURCES = $(agent_sources)
libtsdb_agent_so_CFLAGS = $(agent_cflags)
# A program must not unload it while the driver holds our callbacks.
libtsdb_agent_so_LDFLAGS = $(SO_LDFLAGS) -Wl,-z,nodelete -Wl,--exclude-libs,ALL -Wl,-soname,libtsdb-agent.so
libtsdb_agent_so_LDADD = libhashkernel.a -lpthread -ldl

# make check-tsan: the agent with ThreadSanitizer in a program that has it, and the software GPU without. Not part of `make check`.
EXTRA_PROGRAMS += tests/stress/libtsdb-agent.so tests/stress/agent-stress
tests_stress_libtsdb_agent_so_SOURCES = $(agent_sources)
tests_stress_libtsdb_agent_so_CFLAGS = $(agent_cflags) -O1 -fsanitize=thread -Wno-tsan
tests_stress_libtsdb_agent_so_LDFLAGS = -shared -fsanitize=thread -Wl,-z,nodelete -Wl,--exclude-libs,ALL -Wl,-soname,libtsdb-agent.so
tests_stress_libtsdb_agent_so_LDADD = libhashkernel.a -lpthread -ldl
tests_stress_agent_stress_SOURCES = tests/stress/agent-stress.c tests/programs/ptx-driver.h
tests_stress_agent_stress_CFLAGS = -std=gnu11 -g -O1 $(WARN_CFLAGS) -fsanitize=thread
tests_stress_agent_stress_LDFLAGS = -fsanitize=thread
tests_stress_agent_stress_LDADD = -lpthread -ldl
CLEANFILES += tests/stress/libtsdb-agent.so tests/stress/agent-stress
check-tsan: tests/stress/libtsdb-agent.so tests/stress/agent-stress tsdb
	TSDB_BUILD=$(abs_builddir) $(srcdir)/tests/e2e/e2e.py 'tsan-*' -v

if HAVE_CMOCKA
# The agent's files again, built like the tests that use them.
check_LIBRARIES = libagenttest.a
libagenttest_a_SOURCES = $(agent_sources) src/sbt/expr-parse.c tests/unit/capture-fake.c tests/unit/capture-fake.h
libagenttest_a_CFLAGS = $(AM_CFLAGS) $(CUDA_CFLAGS) $(UNWIND_CFLAGS) $(XXHASH_CFLAGS) $(CMOCKA_CFLAGS)
capture_tests = \
	tests/unit/test-capture-agent tests/unit/test-capture-calls tests/unit/test-capture-clock tests/unit/test-capture-late tests/unit/test-capture-live tests/unit/test-capture-memory tests/unit/test-capture-ring \
	tests/unit/test-capture-python tests/unit/test-capture-span tests/unit/test-capture-stack tests/unit/test-capture-stop
check_PROGRAMS += $(capture_tests)
TESTS += $(capture_tests)
capture_test_cflags = $(libagenttest_a_CFLAGS)
capture_test_ldadd = libagenttest.a libhashkernel.a $(CMOCKA_LIBS) -lpthread -ldl
# Loads the agent into itself, so it is built as foreign programs are.
tests_unit_test_capture_agent_SOURCES = tests/unit/test-capture-agent.c src/sbt/cmd.c src/capture/wire.h
tests_unit_test_capture_agent_CFLAGS = -std=gnu11 -g -O1 -fno-omit-frame-pointer $(WARN_CFLAGS) $(CUDA_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_capture_agent_LDFLAGS =
tests_unit_test_capture_agent_LDADD = $(CMOCKA_LIBS) -lpthread -ldl
EXTRA_tests_unit_test_capture_agent_DEPENDENCIES = libtsdb-agent.so
tests_unit_test_capture_memory_SOURCES = tests/unit/test-capture-memory.c src/sbt/cmd.c src/sbt/pagehash.c src/capture/wire.h
tests_unit_test_capture_memory_CFLAGS = $(tests_unit_test_capture_agent_CFLAGS)
tests_unit_test_capture_memory_LDFLAGS =
tests_unit_test_capture_memory_LDADD = $(CMOCKA_LIBS) -lpthread -ldl
EXTRA_tests_unit_test_capture_memory_DEPENDENCIES = libtsdb-agent.so
tests_unit_test_capture_clock_CFLAGS = $(capture_test_cflags)
tests_unit_test_capture_clock_LDADD = $(capture_test_ldadd)
tests_unit_test_capture_calls_CFLAGS = $(capture_test_cflags)
tests_unit_test_capture_calls_LDADD = $(capture_test_ldadd)
tests_unit_test_capture_late_CFLAGS = $(capture_test_cflags)
tests_unit_test_capture_late_LDADD = $(capture_test_ldadd)
tests_unit_test_capture_live_CFLAGS = $(capture_test_cflags)
tests_unit_test_capture_live_LDADD = $(capture_test_ldadd)
tests_unit_test_capture_ring_CFLAGS = $(capture_test_cflags)
tests_unit_test_capture_ring_LDADD = $(capture_test_ldadd)
tests_unit_test_capture_span_CFLAGS = $(capture_test_cflags)
tests_unit_test_capture_span_LDADD = $(capture_test_ldadd)
tests_unit_test_capture_python_CFLAGS = $(capture_test_cflags)
# The agent finds an interpreter by the symbols that a file exports.
tests_unit_test_capture_python_LDFLAGS = -Wl,--export-dynamic
tests_unit_test_capture_python_LDADD = $(capture_test_ldadd)
tests_unit_test_capture_stack_CFLAGS = $(capture_test_cflags)
tests_unit_test_capture_stack_LDADD = $(capture_test_ldadd)
tests_unit_test_capture_stop_CFLAGS = $(capture_test_cflags)
tests_unit_test_capture_stop_LDADD = $(capture_test_ldadd)
endif
endif
