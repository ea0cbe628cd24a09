# SPDX-License-Identifier: Apache-2.0
#
# Room replay: the replay engine.

noinst_LIBRARIES += libreplay.a
libreplay_a_SOURCES = src/replay/replay.h src/replay/replayer.h src/replay/replay-private.h \
	src/replay/replay.c src/replay/points.c src/replay/run.c src/replay/moves.c src/replay/watch.c \
	src/replay/device.h src/replay/device-private.h src/replay/device.c src/replay/device-process.c src/replay/device-said.c src/replay/device-child.c \
	src/replay/plan.h src/replay/plan-private.h src/replay/plan.c src/replay/plan-scan.c \
	src/replay/soft-watch.h src/replay/device-check.c src/replay/device-order.c src/replay/device-watch.c \
	src/replay/nodes.c src/replay/device-node.c src/replay/device-node.h \
	src/replay/values.c src/replay/values.h
HEADERS_TO_CHECK += src/replay/device-node.h
HEADERS_TO_CHECK += src/replay/values.h src/replay/soft-watch.h src/replay/replay.h src/replay/replayer.h src/replay/replay-private.h src/replay/device.h \
	src/replay/device-private.h src/replay/plan.h src/replay/plan-private.h

libreplay_a_SOURCES += src/replay/device-kernel.c src/replay/device-kernel.h src/replay/soft-debug.h

# The process that executes a trace on a device. libcuda.so.1 is opened when it runs, never linked.
HEADERS_TO_CHECK += src/replay/address-map.h src/replay/cubin.h src/replay/cubin-cells.h src/replay/ptx-stores.h src/replay/replayer-ranges.h src/replay/device-kernel.h
noinst_LIBRARIES += libranges.a
libranges_a_SOURCES = src/replay/address-map.c src/replay/address-map.h src/replay/cubin.c src/replay/cubin.h src/replay/cubin-cells.c src/replay/cubin-cells.h \
	src/replay/replayer-ranges.c src/replay/replayer-ranges.h src/replay/ptx-stores.c src/replay/ptx-stores.h \
	src/replay/ptx-hold.c src/replay/ptx-hold.h
HEADERS_TO_CHECK += src/replay/ptx-hold.h
if HAVE_CUDA
HEADERS_TO_CHECK += src/replay/sandbox.h src/replay/sandbox-private.h src/replay/replayer-driver.h src/replay/replayer-int.h src/replay/replayer-check.h \
	src/replay/replayer-order.h
plugin_PROGRAMS += tsdb-replayer
tsdb_replayer_SOURCES = \
	src/replay/replayer.h src/replay/replayer-int.h \
	src/replay/replayer-check.c src/replay/replayer-check.h src/replay/replayer-check-steps.c \
	src/replay/replayer-batch.c src/replay/replayer-changed.c src/replay/replayer-fresh.c src/replay/replayer-reach.c \
	src/replay/replayer-checkpoint.c src/replay/replayer-comm.c \
	src/replay/replayer-code.c \
	src/replay/replayer-copy.c \
	src/replay/replayer-driver.c src/replay/replayer-driver.h \
	src/replay/replayer-execute.c \
	src/replay/replayer-fault.c src/replay/replayer-feeder.c src/replay/replayer-heap.c \
	src/replay/replayer-graph.c \
	src/replay/replayer-image.c \
	src/replay/replayer-main.c \
	src/replay/replayer-memory.c src/replay/replayer-moved.c \
	src/replay/replayer-into.c src/replay/replayer-micro.c src/replay/soft-debug.h \
	src/replay/replayer-node.c \
	src/replay/replayer-objects.c src/replay/replayer-order.c src/replay/replayer-order-host.c src/replay/replayer-order-learn.c src/replay/replayer-order.h \
	src/replay/replayer-place.c \
	src/replay/replayer-restore.c \
	src/replay/replayer-staging.c \
	src/replay/replayer-touched.c \
	src/replay/replayer-held.c \
	src/replay/replayer-turn.c \
	src/replay/values.c src/replay/values.h \
	src/replay/replayer-watch.c \
	src/replay/replayer-watchdog.c \
	src/replay/replayer-devices.c src/replay/replayer-window.c \
	src/replay/sandbox.c src/replay/sandbox.h src/replay/sandbox-private.h src/replay/sandbox-landlock.c \
	src/replay/sandbox-limits.c src/replay/sandbox-namespaces.c src/replay/sandbox-seccomp.c
# Anywhere in its address space, tables of addresses read-only from the beginning on.
REPLAYER_HARDENED = -pie -Wl,-z,relro -Wl,-z,now -Wl,-z,noexecstack
tsdb_replayer_CFLAGS = $(AM_CFLAGS) $(CUDA_CFLAGS) $(SECCOMP_CFLAGS) -fstack-protector-strong
tsdb_replayer_LDFLAGS = $(AM_LDFLAGS) $(REPLAYER_HARDENED) -Wl,--export-dynamic-symbol=open,--export-dynamic-symbol=open64 \
	-Wl,--export-dynamic-symbol=fopen,--export-dynamic-symbol=fopen64
tsdb_replayer_LDADD = libhashkernel.a liborder.a libstate.a libsbt.a libranges.a libcommon.a $(ZSTD_LIBS) $(XXHASH_LIBS) $(SECCOMP_LIBS) -lpthread -ldl -lm
endif

if HAVE_CMOCKA
check_PROGRAMS += tests/unit/test-replayer-comm
TESTS += tests/unit/test-replayer-comm
tests_unit_test_replayer_comm_SOURCES = tests/unit/test-replayer-comm.c src/replay/replayer-comm.c
tests_unit_test_replayer_comm_LDADD = $(CMOCKA_LIBS) -ldl
check_PROGRAMS += tests/unit/test-replay-addresses tests/unit/test-replayer-ranges
TESTS += tests/unit/test-replay-addresses tests/unit/test-replayer-ranges
tests_unit_test_replay_addresses_SOURCES = tests/unit/test-replay-addresses.c
tests_unit_test_replay_addresses_LDADD = libranges.a libcommon.a $(CMOCKA_LIBS)
tests_unit_test_replayer_ranges_SOURCES = tests/unit/test-replayer-ranges.c
tests_unit_test_replayer_ranges_LDADD = libranges.a libcommon.a $(CMOCKA_LIBS)
check_PROGRAMS += tests/unit/test-replay-stores
TESTS += tests/unit/test-replay-stores
tests_unit_test_replay_stores_SOURCES = tests/unit/test-replay-stores.c
tests_unit_test_replay_stores_LDADD = libranges.a libcommon.a $(CMOCKA_LIBS)
check_PROGRAMS += tests/unit/test-replay-hold
TESTS += tests/unit/test-replay-hold
tests_unit_test_replay_hold_SOURCES = tests/unit/test-replay-hold.c
tests_unit_test_replay_hold_LDADD = libranges.a libcommon.a $(CMOCKA_LIBS)
if HAVE_CUDA
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
tests_unit_test_replay_order_LDADD = libreplay.a liborder.a libstate.a libsbt.a libcommon.a $(CMOCKA_LIBS) $(SBT_LIBS)
endif
endif
REPLAY_TESTS = tests/unit/test-replay-moves tests/unit/test-replay-run
check_PROGRAMS += $(REPLAY_TESTS)
TESTS += $(REPLAY_TESTS)
REPLAY_TEST_LIBS = libreplay.a libstate.a libsbt.a libcommon.a $(CMOCKA_LIBS) $(SBT_LIBS)
check_PROGRAMS += tests/unit/test-order-expand
TESTS += tests/unit/test-order-expand
tests_unit_test_order_expand_SOURCES = tests/unit/test-order-expand.c tests/unit/order-test.h tests/unit/state-test.h tests/unit/cmds.h \
	tests/unit/random-cmds.h tests/unit/random-trace.h
tests_unit_test_order_expand_LDADD = libreplay.a liborder.a libstate.a libsbt.a libcommon.a $(CMOCKA_LIBS) $(SBT_LIBS)
tests_unit_test_replay_moves_SOURCES = tests/unit/test-replay-moves.c tests/unit/state-test.h tests/unit/cmds.h \
	tests/unit/random-cmds.h tests/unit/random-trace.h
tests_unit_test_replay_moves_LDADD = $(REPLAY_TEST_LIBS)
tests_unit_test_replay_run_SOURCES = tests/unit/test-replay-run.c tests/unit/state-test.h tests/unit/cmds.h \
	tests/unit/random-cmds.h tests/unit/random-trace.h
tests_unit_test_replay_run_LDADD = $(REPLAY_TEST_LIBS)
check_PROGRAMS += tests/unit/test-replay-plan
TESTS += tests/unit/test-replay-plan
tests_unit_test_replay_plan_SOURCES = tests/unit/test-replay-plan.c tests/unit/state-test.h tests/unit/cmds.h \
	tests/unit/random-cmds.h tests/unit/random-trace.h
tests_unit_test_replay_plan_LDADD = $(REPLAY_TEST_LIBS)
check_PROGRAMS += tests/unit/test-footprint-clients
TESTS += tests/unit/test-footprint-clients
tests_unit_test_footprint_clients_SOURCES = tests/unit/test-footprint-clients.c tests/unit/state-test.h tests/unit/cmds.h \
	tests/unit/random-cmds.h tests/unit/random-trace.h
tests_unit_test_footprint_clients_LDADD = libreplay.a liborder.a libstate.a libsbt.a libcommon.a $(CMOCKA_LIBS) $(SBT_LIBS)
check_PROGRAMS += tests/unit/test-replay-values
TESTS += tests/unit/test-replay-values
tests_unit_test_replay_values_SOURCES = tests/unit/test-replay-values.c
tests_unit_test_replay_values_LDADD = libreplay.a $(CMOCKA_LIBS) -lm
# The client against a replayer without a device.
check_PROGRAMS += tests/unit/test-replay-device tests/unit/fake-replayer
TESTS += tests/unit/test-replay-device
tests_unit_test_replay_device_SOURCES = tests/unit/test-replay-device.c tests/unit/state-test.h tests/unit/cmds.h \
	tests/unit/random-cmds.h tests/unit/random-trace.h tests/unit/fake-replayer.h
tests_unit_test_replay_device_LDADD = $(REPLAY_TEST_LIBS) -lpthread
EXTRA_tests_unit_test_replay_device_DEPENDENCIES = tests/unit/fake-replayer
tests_unit_fake_replayer_SOURCES = tests/unit/fake-replayer.c tests/unit/fake-replayer.h
tests_unit_fake_replayer_LDADD = libsbt.a libcommon.a $(SBT_LIBS)
endif

# Hashes on the device: a library of its own, since the agent has it too (never sanitised). kernels.ptx is checked in; after a change of
# kernels.cu `make replay-ptx` makes it again. Its version is lowered to the first that knows sm_75, for drivers older than the toolkit.
EXTRA_DIST += src/replay/kernels.cu src/replay/kernels.ptx
if HAVE_CUDA
noinst_LIBRARIES += libhashkernel.a
libhashkernel_a_SOURCES = src/replay/hash-kernel.c src/replay/hash-kernel.h
libhashkernel_a_CFLAGS = $(SO_CFLAGS) $(CUDA_CFLAGS) -O2 -Wa,-I$(srcdir)
HEADERS_TO_CHECK += src/replay/hash-kernel.h
hash_kernel_code = src/replay/kernels.ptx
src/replay/libhashkernel_a-hash-kernel.$(OBJEXT): $(hash_kernel_code)
# Machine code too, where there is a compiler for it, so that the driver need not compile while a program waits. Code for 8.0 runs on
# all of 8.x ("Binary Compatibility" in NVIDIA's Ampere Compatibility Guide).
if HAVE_NVCC
libhashkernel_a_CFLAGS += -DHASH_KERNEL_FATBIN -Wa,-I.
hash_kernel_code += src/replay/kernels.fatbin
src/replay/kernels.fatbin: src/replay/kernels.cu
	@$(MKDIR_P) src/replay
	$(AM_V_NVCC)$(NVCC) -O3 -fatbin -gencode arch=compute_75,code=sm_75 -gencode arch=compute_80,code=sm_80 \
		-gencode arch=compute_90,code=sm_90 -o $@ $<
CLEANFILES += src/replay/kernels.fatbin
endif
if HAVE_CMOCKA
check_PROGRAMS += tests/unit/test-replay-hash
TESTS += tests/unit/test-replay-hash
tests_unit_test_replay_hash_SOURCES = tests/unit/test-replay-hash.c
tests_unit_test_replay_hash_CFLAGS = $(AM_CFLAGS) $(CUDA_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_replay_hash_LDFLAGS = $(AM_LDFLAGS) -Wl,-rpath,$(abs_builddir)/softgpu
tests_unit_test_replay_hash_LDADD = libhashkernel.a libsbt.a softgpu/libcuda.so.1 $(CMOCKA_LIBS)
endif
endif
.PHONY: replay-ptx
replay-ptx:
	$(NVCC) -O3 -arch=compute_75 -ptx -o kernels.ptx.new $(srcdir)/src/replay/kernels.cu
	$(SED) -e '/^\/\//d' -e 's/^\.version .*/.version 6.4/' kernels.ptx.new >$(srcdir)/src/replay/kernels.ptx
	rm -f kernels.ptx.new
