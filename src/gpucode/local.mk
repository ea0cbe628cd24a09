# SPDX-License-Identifier: Apache-2.0
#
# Room gpucode: readers of GPU code, and the kernel of our own that hashes memory on a device.

noinst_LIBRARIES += libgpucode.a
libgpucode_a_SOURCES = src/gpucode/images/address-map.c src/gpucode/address-map.h src/gpucode/images/cubin.c src/gpucode/cubin.h \
	src/gpucode/images/cubin-cells.c src/gpucode/cubin-cells.h src/gpucode/ptx/ptx-stores.c src/gpucode/ptx-stores.h \
	src/gpucode/probe/ptx-hold.c src/gpucode/ptx-hold.h src/gpucode/images/fatbin.c src/gpucode/fatbin.h \
	src/gpucode/ptx/ptx-text.c src/gpucode/ptx-text.h src/gpucode/traits/ptx-names.h src/gpucode/traits/ptx-types.c src/gpucode/code-kind.h src/gpucode/cuda-faults.h \
	src/gpucode/images/code-globals.c src/gpucode/code-globals.h src/gpucode/amd/amd-object.c src/gpucode/amd-object.h \
	src/gpucode/amd/amd-dwarf-lines.c src/gpucode/amd/amd-image.c src/gpucode/amd-image.h \
	src/gpucode/calls/memory-calls.c src/gpucode/memory-calls.h src/gpucode/memory-calls.def \
	src/gpucode/calls/object-calls.c src/gpucode/object-calls.h src/gpucode/object-calls.def \
	src/gpucode/calls/waiting-calls.c src/gpucode/waiting-calls.h \
	src/gpucode/calls/call-names.c src/gpucode/call-names.h src/gpucode/gpu-files.h \
	src/gpucode/ptx-spins.h src/gpucode/spins/ptx-flow.c src/gpucode/spins/ptx-flow.h src/gpucode/spins/ptx-parts.c \
	src/gpucode/spins/ptx-values.c src/gpucode/spins/ptx-values.h src/gpucode/spins/ptx-spins.c
libgpucode_a_SOURCES += src/gpucode/probe/ptx-copies.c src/gpucode/ptx-probe.h src/gpucode/probe/ptx-probe.c src/gpucode/probe/ptx-emit.c src/gpucode/probe/ptx-emit.h src/gpucode/probe/ptx-log.c src/gpucode/probe/ptx-log.h src/gpucode/probe/ptx-scan.c src/gpucode/probe/ptx-scan.h
libgpucode_a_SOURCES += src/gpucode/code-traits.h src/gpucode/traits/code-traits.c src/gpucode/traits/amd-traits.c src/gpucode/traits/amd-traits.h \
	src/gpucode/gfx-decode.h src/gpucode/gfx/gfx-table.h src/gpucode/gfx/gfx-decode.c src/gpucode/gfx/gfx-table.c src/gpucode/gfx/gfx9-insns.def
HEADERS_TO_CHECK += src/gpucode/code-traits.h src/gpucode/traits/amd-traits.h src/gpucode/gfx-decode.h src/gpucode/gfx/gfx-table.h
HEADERS_TO_CHECK += src/gpucode/ptx-probe.h src/gpucode/probe/ptx-emit.h src/gpucode/probe/ptx-log.h src/gpucode/probe/ptx-scan.h
HEADERS_TO_CHECK += src/gpucode/traits/ptx-names.h src/gpucode/ptx-spins.h src/gpucode/spins/ptx-flow.h src/gpucode/spins/ptx-values.h
HEADERS_TO_CHECK += src/gpucode/call-names.h src/gpucode/gpu-files.h src/gpucode/cuda-faults.h src/gpucode/code-globals.h src/gpucode/memory-calls.h src/gpucode/object-calls.h src/gpucode/waiting-calls.h src/gpucode/ptx-text.h src/gpucode/code-kind.h src/gpucode/address-map.h src/gpucode/cubin.h src/gpucode/cubin-cells.h src/gpucode/ptx-stores.h src/gpucode/ptx-hold.h
if HAVE_CMOCKA
check_PROGRAMS += tests/unit/test-gpucode-amd-object
TESTS += tests/unit/test-gpucode-amd-object
tests_unit_test_gpucode_amd_object_SOURCES = tests/unit/test-gpucode-amd-object.c src/gpucode/amd/amd-object.c src/gpucode/amd-object.h
tests_unit_test_gpucode_amd_object_LDADD = $(CMOCKA_LIBS)
check_PROGRAMS += tests/unit/test-gpucode-amd-image
TESTS += tests/unit/test-gpucode-amd-image
tests_unit_test_gpucode_amd_image_SOURCES = tests/unit/test-gpucode-amd-image.c tests/unit/amd-elf.h src/gpucode/amd/amd-image.c \
	src/gpucode/amd/amd-dwarf-lines.c src/gpucode/amd-image.h
tests_unit_test_gpucode_amd_image_LDADD = $(CMOCKA_LIBS)
endif
HEADERS_TO_CHECK += src/gpucode/amd-object.h src/gpucode/amd-image.h

if HAVE_CMOCKA
check_PROGRAMS += tests/unit/test-replay-addresses
TESTS += tests/unit/test-replay-addresses
tests_unit_test_replay_addresses_SOURCES = tests/unit/test-replay-addresses.c
tests_unit_test_replay_addresses_LDADD = libgpucode.a libcommon.a $(CMOCKA_LIBS)
check_PROGRAMS += tests/unit/test-replay-stores
TESTS += tests/unit/test-replay-stores
tests_unit_test_replay_stores_SOURCES = tests/unit/test-replay-stores.c
tests_unit_test_replay_stores_LDADD = libgpucode.a libcommon.a $(CMOCKA_LIBS)
check_PROGRAMS += tests/unit/test-gpucode-code-traits
TESTS += tests/unit/test-gpucode-code-traits
tests_unit_test_gpucode_code_traits_SOURCES = tests/unit/test-gpucode-code-traits.c
tests_unit_test_gpucode_code_traits_LDADD = libgpucode.a $(CMOCKA_LIBS)
check_PROGRAMS += tests/unit/test-gpucode-ptx-probe
TESTS += tests/unit/test-gpucode-ptx-probe
tests_unit_test_gpucode_ptx_probe_SOURCES = tests/unit/test-gpucode-ptx-probe.c
tests_unit_test_gpucode_ptx_probe_LDADD = libgpucode.a libcommon.a $(CMOCKA_LIBS)
check_PROGRAMS += tests/unit/test-gpucode-ptx-copies
TESTS += tests/unit/test-gpucode-ptx-copies
tests_unit_test_gpucode_ptx_copies_SOURCES = tests/unit/test-gpucode-ptx-copies.c
tests_unit_test_gpucode_ptx_copies_LDADD = libgpucode.a libcommon.a $(CMOCKA_LIBS)
check_PROGRAMS += tests/unit/test-ptx-spins
TESTS += tests/unit/test-ptx-spins
tests_unit_test_ptx_spins_SOURCES = tests/unit/test-ptx-spins.c
tests_unit_test_ptx_spins_LDADD = libgpucode.a libcommon.a $(CMOCKA_LIBS)
check_PROGRAMS += tests/unit/test-gpu-files
TESTS += tests/unit/test-gpu-files
tests_unit_test_gpu_files_SOURCES = tests/unit/test-gpu-files.c
tests_unit_test_gpu_files_LDADD = $(CMOCKA_LIBS)
check_PROGRAMS += tests/unit/test-code-kind
TESTS += tests/unit/test-code-kind
tests_unit_test_code_kind_SOURCES = tests/unit/test-code-kind.c
tests_unit_test_code_kind_LDADD = $(CMOCKA_LIBS)
check_PROGRAMS += tests/unit/test-gpucode-ptx-types
TESTS += tests/unit/test-gpucode-ptx-types
tests_unit_test_gpucode_ptx_types_SOURCES = tests/unit/test-gpucode-ptx-types.c src/gpucode/ptx-stores.h
tests_unit_test_gpucode_ptx_types_LDADD = libgpucode.a libcommon.a $(CMOCKA_LIBS)
check_PROGRAMS += tests/unit/test-ptx-text
TESTS += tests/unit/test-ptx-text
tests_unit_test_ptx_text_SOURCES = tests/unit/test-ptx-text.c
tests_unit_test_ptx_text_LDADD = libgpucode.a libcommon.a $(CMOCKA_LIBS)
check_PROGRAMS += tests/unit/test-memory-calls
TESTS += tests/unit/test-memory-calls
tests_unit_test_memory_calls_SOURCES = tests/unit/test-memory-calls.c
tests_unit_test_memory_calls_LDADD = libgpucode.a libsbt.a libcommon.a $(CMOCKA_LIBS)
check_PROGRAMS += tests/unit/test-object-calls
TESTS += tests/unit/test-object-calls
tests_unit_test_object_calls_SOURCES = tests/unit/test-object-calls.c
tests_unit_test_object_calls_LDADD = libgpucode.a libsbt.a libcommon.a $(CMOCKA_LIBS)
check_PROGRAMS += tests/unit/test-replay-hold
TESTS += tests/unit/test-replay-hold
tests_unit_test_replay_hold_SOURCES = tests/unit/test-replay-hold.c
tests_unit_test_replay_hold_LDADD = libgpucode.a libcommon.a $(CMOCKA_LIBS)
endif

# Fat binaries need no toolkit: tested and fuzzed everywhere, with sanitizers.
HEADERS_TO_CHECK += src/gpucode/fatbin.h src/gpucode/fatbin-text.h
noinst_LIBRARIES += libfatbin.a
libfatbin_a_SOURCES = src/gpucode/images/fatbin-text.c src/gpucode/fatbin-text.h
libfatbin_a_CFLAGS = $(AM_CFLAGS) $(ZSTD_CFLAGS)
if HAVE_CMOCKA
check_PROGRAMS += tests/unit/test-softgpu-fatbin
TESTS += tests/unit/test-softgpu-fatbin
tests_unit_test_softgpu_fatbin_SOURCES = tests/unit/test-softgpu-fatbin.c
tests_unit_test_softgpu_fatbin_CFLAGS = $(AM_CFLAGS) $(ZSTD_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_softgpu_fatbin_LDADD = libfatbin.a libgpucode.a $(ZSTD_LIBS) $(CMOCKA_LIBS)
endif

if HAVE_CUDA
if HAVE_CMOCKA
check_PROGRAMS += tests/unit/test-cuda-faults
TESTS += tests/unit/test-cuda-faults
tests_unit_test_cuda_faults_SOURCES = tests/unit/test-cuda-faults.c
tests_unit_test_cuda_faults_CFLAGS = $(AM_CFLAGS) $(CUDA_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_cuda_faults_LDADD = $(CMOCKA_LIBS)
endif
endif

# Hashes on the device: a library of its own, since the agent has it too (never sanitised). kernels.ptx is checked in; after a change of
# kernels.cu `make replay-ptx` makes it again. Its version is lowered to the first that knows sm_75, for drivers older than the toolkit.
EXTRA_DIST += src/gpucode/hash/kernels.cu src/gpucode/hash/kernels.ptx
if HAVE_CUDA
noinst_LIBRARIES += libhashkernel.a
libhashkernel_a_SOURCES = src/gpucode/hash/hash-kernel.c src/gpucode/hash-kernel.h src/gpucode/hash-rows.h src/gpucode/hash-host.h
libhashkernel_a_CFLAGS = $(SO_CFLAGS) $(CUDA_CFLAGS) -O2 -Wa,-I$(srcdir)
HEADERS_TO_CHECK += src/gpucode/hash-kernel.h src/gpucode/hash-rows.h src/gpucode/hash-host.h
hash_kernel_code = src/gpucode/hash/kernels.ptx
src/gpucode/hash/libhashkernel_a-hash-kernel.$(OBJEXT): $(hash_kernel_code)
# Machine code too, where there is a compiler for it, so that the driver need not compile while a program waits. Code for 8.0 runs on
# all of 8.x ("Binary Compatibility" in NVIDIA's Ampere Compatibility Guide).
if HAVE_NVCC
libhashkernel_a_CFLAGS += -DHASH_KERNEL_FATBIN -Wa,-I.
hash_kernel_code += src/gpucode/hash/kernels.fatbin
src/gpucode/hash/kernels.fatbin: src/gpucode/hash/kernels.cu
	@$(MKDIR_P) src/gpucode/hash
	$(AM_V_NVCC)$(NVCC) -O3 -fatbin -gencode arch=compute_75,code=sm_75 -gencode arch=compute_80,code=sm_80 \
		-gencode arch=compute_90,code=sm_90 -o $@ $<
CLEANFILES += src/gpucode/hash/kernels.fatbin
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
	$(NVCC) -O3 -arch=compute_75 -ptx -o kernels.ptx.new $(srcdir)/src/gpucode/hash/kernels.cu
	$(SED) -e '/^\/\//d' -e 's/^\.version .*/.version 6.4/' kernels.ptx.new >$(srcdir)/src/gpucode/hash/kernels.ptx
	rm -f kernels.ptx.new
