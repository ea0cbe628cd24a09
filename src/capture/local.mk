# SPDX-License-Identifier: Apache-2.0
#
# Room capture: the agent, libtsdb-agent.so. Loaded into other people's programs: never sanitised, few dependencies, three
# exported functions. It compiles the files of room sbt that it needs itself.

HEADERS_TO_CHECK += src/capture/wire.h src/capture/soft-fault.h src/capture/soft-look.h

if HAVE_CUDA
HEADERS_TO_CHECK += \
	src/capture/core/agent.h src/capture/objects/arrays.h src/capture/stacks/areas.h src/capture/pipeline/bulk.h src/capture/memory/discover.h src/capture/cuda/images.h src/capture/late/device-look.h src/capture/late/late.h src/capture/cuda/old-code.h src/capture/core/calls.h src/capture/core/clock.h src/capture/objects/code.h src/capture/cuda/cuda-calls.h src/capture/cuda/cupti-api.h \
	src/capture/memory/contexts.h src/capture/memory/deadline.h src/capture/cuda/cuda-api.h src/capture/cuda/driver-cuda.h src/capture/core/driver.h src/capture/objects/graph-table.h src/capture/objects/graph-publish.h src/capture/objects/graph-change.h src/capture/memory/effect.h src/capture/host/extent.h src/capture/core/forget.h src/capture/memory/freed.h src/capture/memory/fresh.h src/capture/core/gate.h src/capture/objects/globals.h src/capture/cuda/graph-nodes.h src/capture/host/bypass.h src/capture/host/host.h src/capture/host/written.h src/capture/memory/ipc.h \
	src/capture/cuda/keeper/keep.h src/capture/cuda/keeper/keeper.h src/capture/objects/known.h src/capture/objects/live.h src/capture/pipeline/payload.h src/capture/cuda/ptx-beside.h src/capture/memory/room.h src/capture/pipeline/sender.h src/capture/memory/shadow.h src/capture/memory/window.h src/capture/memory/touched.h \
	src/capture/objects/ids.h src/capture/objects/kernel.h src/capture/cuda/launch-shape.h src/capture/objects/map.h src/capture/stacks/mapping.h src/capture/objects/nvinfo.h src/capture/pipeline/ring.h \
	src/capture/stacks/elf-look.h src/capture/stacks/python-stack.h \
	src/capture/core/source.h src/capture/stacks/stack.h src/capture/core/stop.h src/capture/core/thread.h src/capture/core/armed.h src/capture/core/mark.h

agent_sources = \
	src/capture/cuda/activity.c \
	src/capture/core/agent.c src/capture/core/agent.h \
	src/capture/core/attached.c \
	src/capture/pipeline/bulk.c src/capture/pipeline/bulk.h \
	src/capture/cuda/call-array.c src/capture/objects/arrays.c src/capture/objects/arrays.h \
	src/capture/cuda/call-copy.c \
	src/capture/cuda/call-graph.c src/capture/cuda/call-handles.c src/capture/cuda/call-graph-update.c \
	src/capture/cuda/graph-nodes.c src/capture/cuda/graph-nodes.h src/capture/objects/graph-table.c src/capture/objects/graph-table.h \
	src/capture/objects/graph-publish.c src/capture/objects/graph-publish.h src/capture/objects/graph-change.c src/capture/objects/graph-change.h \
	src/capture/cuda/call-launch.c \
	src/capture/cuda/call-memory.c \
	src/capture/cuda/call-object.c \
	src/capture/core/calls.c src/capture/core/calls.h \
	src/capture/cuda/cuda-calls.c src/capture/cuda/cuda-calls.h src/capture/cuda/cuda-calls.def \
	src/capture/core/clock.c src/capture/core/clock.h \
	src/capture/objects/code.c src/capture/objects/code.h \
	src/capture/memory/ipc.c src/capture/memory/ipc.h \
	src/capture/cuda/cupti-api.h \
	src/capture/stacks/areas.c src/capture/stacks/areas.h \
	src/capture/memory/deadline.c src/capture/memory/deadline.h \
	src/capture/memory/discover.c src/capture/memory/discover.h \
	src/capture/cuda/images.c src/capture/cuda/images.h \
	src/capture/late/device-look.c src/capture/late/device-look.h src/capture/late/late.c src/capture/late/late.h \
	src/capture/cuda/old-code.c src/capture/cuda/old-code.h \
	src/capture/cuda/cuda-api.c src/capture/cuda/cuda-api.h src/capture/cuda/driver-cuda.c src/capture/cuda/driver-cuda.h \
	src/capture/cuda/driver-cuda-memory.c src/capture/cuda/driver-cuda-code.c src/capture/cuda/driver-cuda-hash.c \
	src/capture/core/driver.h src/capture/core/source.c \
	src/capture/memory/effect.c src/capture/memory/effect.h \
	src/capture/core/forget.c src/capture/core/forget.h \
	src/capture/memory/touched.c src/capture/memory/touched.h \
	src/capture/memory/window.c src/capture/memory/window.h src/capture/memory/window-memory.c src/capture/memory/window-memory.h src/capture/memory/window-cells.c src/capture/memory/window-cells.h src/capture/memory/window-times.c \
	src/capture/cuda/keeper/keep.c src/capture/cuda/keeper/keep.h src/capture/cuda/keeper/keeper.h \
	src/capture/memory/room.c src/capture/memory/room.h \
	src/capture/pipeline/sender.c src/capture/pipeline/sender.h src/capture/pipeline/crew.c src/capture/pipeline/crew.h \
	src/capture/memory/shadow.c src/capture/memory/shadow.h \
	src/capture/pipeline/payload.c src/capture/pipeline/payload.h \
	src/capture/cuda/ptx-beside.c src/capture/cuda/ptx-beside.h \
	src/capture/objects/known.c src/capture/objects/known.h \
	src/capture/objects/live.c src/capture/objects/live.h \
	src/capture/host/host.c src/capture/host/host.h \
	src/capture/objects/globals.c src/capture/objects/globals.h \
	src/capture/core/gate.c src/capture/core/gate.h \
	src/capture/host/extent.c src/capture/host/extent.h \
	src/capture/host/bypass.c src/capture/host/bypass.h src/capture/host/written.c src/capture/host/written.h \
	src/capture/memory/freed.c src/capture/memory/freed.h src/capture/memory/fresh.c src/capture/memory/fresh.h src/capture/memory/graph-memory.c src/capture/memory/graph-memory.h \
	src/capture/memory/contexts.c src/capture/memory/contexts.h \
	src/capture/objects/ids.c src/capture/objects/ids.h \
	src/capture/objects/kernel.c src/capture/objects/kernel.h src/capture/cuda/launch-shape.h \
	src/capture/objects/map.c src/capture/objects/map.h \
	src/capture/stacks/mapping.c src/capture/stacks/mapping.h \
	src/capture/objects/nvinfo.c src/capture/objects/nvinfo.h \
	src/capture/cuda/nvtx.c \
	src/capture/core/mark.c src/capture/core/mark.h src/capture/core/mark-doors.c \
	src/capture/stacks/elf-look.c src/capture/stacks/elf-look.h \
	src/capture/stacks/python-stack.c src/capture/stacks/python-stack.h \
	src/capture/pipeline/ring.c src/capture/pipeline/ring.h \
	src/capture/cuda/source-cupti.c src/capture/core/source.h \
	src/capture/stacks/stack.c src/capture/stacks/stack.h \
	src/capture/core/stop.c src/capture/core/stop.h \
	src/capture/core/thread.c src/capture/core/thread.h \
	src/capture/core/armed.c src/capture/core/armed.h \
	src/capture/wire.h \
	src/gpucode/images/fatbin.c src/gpucode/fatbin.h src/gpucode/ptx/ptx-text.c src/gpucode/ptx-text.h \
	src/gpucode/images/cubin.c src/gpucode/cubin.h src/gpucode/images/cubin-cells.c src/gpucode/cubin-cells.h src/gpucode/images/code-globals.c src/gpucode/code-globals.h \
	src/gpucode/amd/amd-object.c src/gpucode/amd-object.h \
	src/gpucode/calls/memory-calls.c src/gpucode/memory-calls.h src/gpucode/memory-calls.def \
	src/gpucode/calls/object-calls.c src/gpucode/object-calls.h src/gpucode/object-calls.def \
	src/sbt/cmd/cmd.c src/sbt/cmd/footprint.c src/sbt/cmd/expr.c src/sbt/cmd/kernel-name.c src/sbt/format/pagehash.c src/sbt/format/python.c src/sbt/format/python-lines.c
EXTRA_DIST += tests/hip-calls.py
if HAVE_HIP
TESTS += tests/hip-calls.py
HEADERS_TO_CHECK += src/capture/hip/hip-api.h src/capture/hip/hip-calls.h src/capture/hip/hsa-signals.h src/capture/hip/driver-hip.h src/capture/hip/hip-version.h src/capture/hip/hip-ways.h
agent_sources += \
	src/capture/hip/call-hip-copy.c src/capture/hip/call-hip-graph.c src/capture/hip/hip-graph-nodes.c src/capture/hip/call-hip-launch.c src/capture/hip/call-hip-memory.c \
	src/capture/hip/call-hip-object.c src/capture/hip/driver-hip.c src/capture/hip/hip-api.h src/capture/hip/hip-calls.c \
	src/capture/hip/hip-calls.def src/capture/hip/hip-newer.def src/capture/hip/hip-version.c src/capture/hip/hip-version.h src/capture/hip/hip-ways.h src/capture/hip/way-callback.c src/capture/hip/way-tracer.c src/capture/hip/hip-calls.h src/capture/hip/hip-code.c src/capture/hip/source-hip.c \
	src/capture/hip/driver-hip-memory.c src/capture/hip/driver-hip.h src/capture/hip/hsa-signals.c src/capture/hip/hsa-signals.h
endif
agent_cflags = -I$(srcdir)/include $(SO_CFLAGS) $(CUDA_CFLAGS) $(UNWIND_CFLAGS) $(XXHASH_CFLAGS) -O2

plugin_PROGRAMS += libtsdb-agent.so
libtsdb_agent_so_SOURCES = $(agent_sources)
libtsdb_agent_so_CFLAGS = $(agent_cflags)
# A program must not unload it while the driver holds our callbacks.
libtsdb_agent_so_LDFLAGS = $(SO_LDFLAGS) -Wl,-z,nodelete -Wl,--exclude-libs,ALL -Wl,-soname,libtsdb-agent.so
libtsdb_agent_so_LDADD = libhashkernel.a -lpthread -ldl

# The other end of keeper.h: a process of tsdb's. libcuda.so.1 is opened when it runs, never linked.
plugin_PROGRAMS += tsdb-keeper
tsdb_keeper_SOURCES = src/capture/cuda/keeper/keeper-main.c src/capture/cuda/keeper/keeper.h
tsdb_keeper_CFLAGS = $(AM_CFLAGS) $(CUDA_CFLAGS)
tsdb_keeper_LDADD = -lpthread -ldl

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
libagenttest_a_SOURCES = $(agent_sources) src/sbt/cmd/expr-parse.c tests/unit/capture-control.c tests/unit/capture-control.h \
	tests/unit/capture-fake.c tests/unit/capture-fake.h
libagenttest_a_CFLAGS = -I$(srcdir)/include $(AM_CFLAGS) $(CUDA_CFLAGS) $(UNWIND_CFLAGS) $(XXHASH_CFLAGS) $(CMOCKA_CFLAGS)
capture_tests = \
	tests/unit/test-capture-agent tests/unit/test-capture-arrays tests/unit/test-capture-calls tests/unit/test-capture-clock tests/unit/test-capture-crew tests/unit/test-capture-written tests/unit/test-capture-deadline tests/unit/test-capture-late tests/unit/test-capture-live tests/unit/test-capture-memory tests/unit/test-capture-ring \
	tests/unit/test-capture-python tests/unit/test-footprint-agent tests/unit/test-capture-source tests/unit/test-capture-window tests/unit/test-capture-stack tests/unit/test-capture-stop
check_PROGRAMS += $(capture_tests)
TESTS += $(capture_tests)
capture_test_cflags = $(libagenttest_a_CFLAGS)
capture_test_ldadd = libagenttest.a libhashkernel.a $(CMOCKA_LIBS) -lpthread -ldl
# Loads the agent into itself, so it is built as foreign programs are.
tests_unit_test_capture_agent_SOURCES = tests/unit/test-capture-agent.c src/sbt/cmd/cmd.c src/capture/wire.h
tests_unit_test_capture_agent_CFLAGS = -std=gnu11 -g -O1 -fno-omit-frame-pointer $(WARN_CFLAGS) $(CUDA_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_capture_agent_LDFLAGS =
tests_unit_test_capture_agent_LDADD = $(CMOCKA_LIBS) -lpthread -ldl
EXTRA_tests_unit_test_capture_agent_DEPENDENCIES = libtsdb-agent.so
tests_unit_test_capture_memory_SOURCES = tests/unit/test-capture-memory.c src/sbt/cmd/cmd.c src/sbt/format/pagehash.c src/capture/wire.h
tests_unit_test_capture_memory_CFLAGS = $(tests_unit_test_capture_agent_CFLAGS)
tests_unit_test_capture_memory_LDFLAGS =
tests_unit_test_capture_memory_LDADD = $(CMOCKA_LIBS) -lpthread -ldl
EXTRA_tests_unit_test_capture_memory_DEPENDENCIES = libtsdb-agent.so
tests_unit_test_capture_arrays_CFLAGS = $(capture_test_cflags)
tests_unit_test_capture_arrays_LDADD = $(capture_test_ldadd)
tests_unit_test_capture_clock_CFLAGS = $(capture_test_cflags)
tests_unit_test_capture_clock_LDADD = $(capture_test_ldadd)
tests_unit_test_capture_written_CFLAGS = $(capture_test_cflags)
tests_unit_test_capture_written_LDADD = $(capture_test_ldadd)
tests_unit_test_capture_crew_CFLAGS = $(capture_test_cflags)
tests_unit_test_capture_crew_LDADD = $(capture_test_ldadd)
tests_unit_test_capture_deadline_CFLAGS = $(capture_test_cflags)
tests_unit_test_capture_deadline_LDADD = $(capture_test_ldadd)
tests_unit_test_capture_calls_CFLAGS = $(capture_test_cflags)
tests_unit_test_capture_calls_LDADD = $(capture_test_ldadd)
tests_unit_test_capture_late_CFLAGS = $(capture_test_cflags)
tests_unit_test_capture_late_LDADD = $(capture_test_ldadd)
tests_unit_test_capture_live_CFLAGS = $(capture_test_cflags)
tests_unit_test_capture_live_LDADD = $(capture_test_ldadd)
tests_unit_test_capture_ring_CFLAGS = $(capture_test_cflags)
tests_unit_test_capture_ring_LDADD = $(capture_test_ldadd)
# Another vendor's source: it sees nothing of CUDA.
tests_unit_test_capture_source_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_capture_source_LDADD = $(capture_test_ldadd)
tests_unit_test_capture_window_CFLAGS = $(capture_test_cflags)
tests_unit_test_capture_window_LDADD = $(capture_test_ldadd)
tests_unit_test_capture_python_CFLAGS = $(capture_test_cflags)
tests_unit_test_footprint_agent_SOURCES = tests/unit/test-footprint-agent.c tests/unit/awkward-cmds.h tests/unit/cmds.h
tests_unit_test_footprint_agent_CFLAGS = $(capture_test_cflags)
tests_unit_test_footprint_agent_LDFLAGS = -Wl,--wrap=window_note
tests_unit_test_footprint_agent_LDADD = $(capture_test_ldadd)
# The agent finds an interpreter by the symbols that a file exports.
tests_unit_test_capture_python_LDFLAGS = -Wl,--export-dynamic
tests_unit_test_capture_python_LDADD = $(capture_test_ldadd)
tests_unit_test_capture_stack_CFLAGS = $(capture_test_cflags)
tests_unit_test_capture_stack_LDADD = $(capture_test_ldadd)
tests_unit_test_capture_stop_CFLAGS = $(capture_test_cflags)
tests_unit_test_capture_stop_LDADD = $(capture_test_ldadd)
endif
endif
