# SPDX-License-Identifier: Apache-2.0
#
# Room replayer: tsdb-replayer, the process that executes a trace on a device. libcuda.so.1 is opened when it runs, never linked.

HEADERS_TO_CHECK += src/replayer/memory/replayer-ranges.h
noinst_LIBRARIES += libranges.a
libranges_a_SOURCES = src/replayer/memory/replayer-ranges.c src/replayer/memory/replayer-ranges.h
if HAVE_CUDA
HEADERS_TO_CHECK += src/replayer/sandbox/sandbox.h src/replayer/sandbox/sandbox-private.h src/replayer/backend.h src/replayer/backend-cuda/cuda-driver.h src/replayer/execute/replayer-copy.h src/replayer/execute/replayer-execute.h src/replayer/execute/replayer-fail.h src/replayer/execute/replayer-fault.h src/replayer/execute/replayer-held.h src/replayer/execute/replayer-into.h src/replayer/execute/replayer-late.h src/replayer/execute/replayer-rp.h src/replayer/execute/replayer-turn.h src/replayer/execute/replayer-watchdog.h src/replayer/execute/replayer-window.h src/replayer/objects/objects.h src/replayer/memory/contents.h \
	src/replayer/inspect/inspect.h src/replayer/check/replayer-check.h \
	src/replayer/execute/replayer-order.h
plugin_PROGRAMS += tsdb-replayer
tsdb_replayer_SOURCES = \
	src/replay/protocol.h src/replayer/execute/replayer-copy.h src/replayer/execute/replayer-execute.h src/replayer/execute/replayer-fail.h src/replayer/execute/replayer-fault.h src/replayer/execute/replayer-held.h src/replayer/execute/replayer-into.h src/replayer/execute/replayer-late.h src/replayer/execute/replayer-rp.h src/replayer/execute/replayer-turn.h src/replayer/execute/replayer-watchdog.h src/replayer/execute/replayer-window.h src/replayer/objects/objects.h src/replayer/memory/contents.h \
	src/replayer/inspect/inspect.h \
	src/replayer/check/replayer-check.c src/replayer/check/replayer-check.h src/replayer/check/replayer-check-steps.c \
	src/replayer/check/replayer-batch.c src/replayer/check/replayer-changed.c src/replayer/check/replayer-fresh.c src/replayer/check/replayer-reach.c \
	src/replayer/memory/replayer-checkpoint.c src/replayer/sandbox/replayer-comm.c \
	src/replayer/objects/replayer-code.c \
	src/replayer/execute/replayer-copy.c \
	src/replayer/backend.h src/replayer/backend-cuda/cuda-driver.h src/replayer/backend-cuda/cuda-driver.c src/replayer/backend-cuda/cuda-memory.c src/replayer/backend-cuda/cuda-array.c \
	src/replayer/backend-cuda/cuda-work.c src/replayer/backend-cuda/cuda-graph.c \
	src/replayer/execute/replayer-execute.c \
	src/replayer/execute/replayer-fail.c src/replayer/execute/replayer-fault.c src/replayer/memory/replayer-feeder.c src/replayer/execute/replayer-heap.c \
	src/replayer/objects/replayer-graph.c \
	src/replayer/memory/replayer-image.c \
	src/replayer/execute/replayer-main.c \
	src/replayer/memory/replayer-memory.c src/replayer/objects/replayer-moved.c \
	src/replayer/execute/replayer-into.c src/replayer/inspect/replayer-micro.c src/replayer/soft-debug.h \
	src/replayer/inspect/replayer-node.c \
	src/replayer/objects/replayer-objects.c src/replayer/objects/replayer-textures.c src/replayer/objects/replayer-arrays.c src/replayer/objects/replayer-graph-nodes.c src/replayer/execute/replayer-order.c src/replayer/execute/replayer-order-host.c src/replayer/execute/replayer-order-learn.c src/replayer/execute/replayer-order.h \
	src/replayer/memory/replayer-place.c \
	src/replayer/memory/replayer-restore.c \
	src/replayer/memory/replayer-staging.c \
	src/replayer/memory/replayer-touched.c \
	src/replayer/execute/replayer-held.c \
	src/replayer/execute/replayer-turn.c src/replayer/execute/replayer-late.c \
	src/replay/engine/values.c src/replay/values.h \
	src/replayer/inspect/replayer-watch.c \
	src/replayer/inspect/replayer-probe.c src/replayer/inspect/replayer-print.c \
	src/replayer/objects/replayer-limits.c \
	src/replayer/execute/replayer-watchdog.c \
	src/replayer/objects/replayer-devices.c src/replayer/execute/replayer-window.c \
	src/replayer/sandbox/sandbox.c src/replayer/sandbox/sandbox.h src/replayer/sandbox/sandbox-private.h src/replayer/sandbox/sandbox-landlock.c \
	src/replayer/sandbox/sandbox-limits.c src/replayer/sandbox/sandbox-namespaces.c src/replayer/sandbox/sandbox-seccomp.c
if HAVE_HIP
HEADERS_TO_CHECK += src/replayer/backend-hip/hip-driver.h
tsdb_replayer_SOURCES += src/replayer/backend-hip/hip-driver.h src/replayer/backend-hip/hip-driver.c src/replayer/backend-hip/hip-memory.c \
	src/replayer/backend-hip/hip-graph.c src/replayer/backend-hip/hip-work.c
endif
# Anywhere in its address space, tables of addresses read-only from the beginning on.
REPLAYER_HARDENED = -pie -Wl,-z,relro -Wl,-z,now -Wl,-z,noexecstack
tsdb_replayer_CFLAGS = $(AM_CFLAGS) $(CUDA_CFLAGS) $(SECCOMP_CFLAGS) -fstack-protector-strong
tsdb_replayer_LDFLAGS = $(AM_LDFLAGS) $(REPLAYER_HARDENED) -Wl,--export-dynamic-symbol=open,--export-dynamic-symbol=open64 \
	-Wl,--export-dynamic-symbol=fopen,--export-dynamic-symbol=fopen64
tsdb_replayer_LDADD = libhashkernel.a liborder.a libstate.a libsbt.a libranges.a libgpucode.a libcommon.a $(ZSTD_LIBS) $(XXHASH_LIBS) $(SECCOMP_LIBS) -lpthread -ldl -lm
endif

if HAVE_CMOCKA
check_PROGRAMS += tests/unit/test-replayer-comm
TESTS += tests/unit/test-replayer-comm
tests_unit_test_replayer_comm_SOURCES = tests/unit/test-replayer-comm.c src/replayer/sandbox/replayer-comm.c
tests_unit_test_replayer_comm_LDADD = $(CMOCKA_LIBS) -ldl
check_PROGRAMS += tests/unit/test-replayer-heap
TESTS += tests/unit/test-replayer-heap
tests_unit_test_replayer_heap_SOURCES = tests/unit/test-replayer-heap.c src/replayer/execute/replayer-heap.c
tests_unit_test_replayer_heap_LDADD = libgpucode.a libcommon.a $(CMOCKA_LIBS)
check_PROGRAMS += tests/unit/test-replayer-limits
TESTS += tests/unit/test-replayer-limits
tests_unit_test_replayer_limits_SOURCES = tests/unit/test-replayer-limits.c src/replayer/objects/replayer-limits.c
tests_unit_test_replayer_limits_LDADD = libcommon.a $(CMOCKA_LIBS)
check_PROGRAMS += tests/unit/test-replayer-ranges
TESTS += tests/unit/test-replayer-ranges
tests_unit_test_replayer_ranges_SOURCES = tests/unit/test-replayer-ranges.c
tests_unit_test_replayer_ranges_LDADD = libranges.a libcommon.a $(CMOCKA_LIBS)
if HAVE_CUDA
check_PROGRAMS += tests/unit/test-replayer-place
TESTS += tests/unit/test-replayer-place
tests_unit_test_replayer_place_SOURCES = tests/unit/test-replayer-place.c src/replayer/memory/replayer-place.c
tests_unit_test_replayer_place_LDADD = libranges.a libcommon.a $(CMOCKA_LIBS)
check_PROGRAMS += tests/unit/test-footprint-replayer
TESTS += tests/unit/test-footprint-replayer
tests_unit_test_footprint_replayer_SOURCES = tests/unit/test-footprint-replayer.c tests/unit/awkward-cmds.h tests/unit/state-test.h tests/unit/cmds.h \
	tests/unit/random-cmds.h tests/unit/random-trace.h src/replayer/check/replayer-reach.c src/replayer/memory/replayer-touched.c
tests_unit_test_footprint_replayer_LDADD = libstate.a libgpucode.a libsbt.a libcommon.a $(CMOCKA_LIBS) $(SBT_LIBS)
# The process on the software GPU.
check_PROGRAMS += tests/unit/test-replayer-run
TESTS += tests/unit/test-replayer-run
tests_unit_test_replayer_run_SOURCES = tests/unit/test-replayer-run.c tests/unit/replayer-trace.h tests/unit/cmds.h
tests_unit_test_replayer_run_LDADD = libsbt.a libcommon.a $(CMOCKA_LIBS) $(ZSTD_LIBS) $(XXHASH_LIBS)
EXTRA_tests_unit_test_replayer_run_DEPENDENCIES = tsdb-replayer softgpu/libcuda.so.1
# Traces made to break the process that executes them.
check_PROGRAMS += tests/unit/test-replay-attacks
TESTS += tests/unit/test-replay-attacks
tests_unit_test_replay_attacks_SOURCES = tests/unit/test-replay-attacks.c tests/unit/replayer-trace.h tests/unit/cmds.h
tests_unit_test_replay_attacks_LDADD = libsbt.a libcommon.a $(CMOCKA_LIBS) $(SBT_LIBS)
EXTRA_tests_unit_test_replay_attacks_DEPENDENCIES = tsdb tsdb-replayer softgpu/libcuda.so.1
# What is wrong with a trace or a device, and what is still possible then.
check_PROGRAMS += tests/unit/test-replay-bad
TESTS += tests/unit/test-replay-bad
tests_unit_test_replay_bad_SOURCES = tests/unit/test-replay-bad.c tests/unit/replayer-trace.h tests/unit/cmds.h
tests_unit_test_replay_bad_LDADD = libreplay.a libstate.a libsbt.a libcommon.a $(CMOCKA_LIBS) $(SBT_LIBS)
EXTRA_tests_unit_test_replay_bad_DEPENDENCIES = tsdb-replayer softgpu/libcuda.so.1
if !SANITIZERS
# The whole way: examples recorded, executed again, compared.
check_PROGRAMS += tests/unit/test-replay-soft
TESTS += tests/unit/test-replay-soft
tests_unit_test_replay_soft_SOURCES = tests/unit/test-replay-soft.c tests/unit/state-test.h tests/unit/cmds.h \
	tests/unit/random-cmds.h tests/unit/random-trace.h tests/unit/replay-recorded.h bench/replay-trace.c bench/replay-trace.h
tests_unit_test_replay_soft_CPPFLAGS = $(AM_CPPFLAGS) -I$(srcdir)/bench
tests_unit_test_replay_soft_LDADD = libreplay.a libstate.a libsbt.a libcommon.a $(CMOCKA_LIBS) $(SBT_LIBS)
# A position has one memory, however it is reached.
check_PROGRAMS += tests/unit/test-replay-order
TESTS += tests/unit/test-replay-order
tests_unit_test_replay_order_SOURCES = tests/unit/test-replay-order.c tests/unit/state-test.h tests/unit/cmds.h tests/unit/random-cmds.h \
	tests/unit/replay-recorded.h
tests_unit_test_replay_order_LDADD = libreplay.a liborder.a libstate.a libgpucode.a libsbt.a libcommon.a $(CMOCKA_LIBS) $(SBT_LIBS)
endif
endif
endif
