# SPDX-License-Identifier: Apache-2.0
#
# Room softgpu: the CUDA driver that runs on the CPU. Loaded into other people's programs, so never sanitised.
# Four parts: libsoftptx.a (PTX and the address space), libcuda.so.1, libcupti.so.13, libcudart.so.13.

HEADERS_TO_CHECK += src/softgpu/mem.h src/softgpu/ptx.h

if HAVE_CUDA
HEADERS_TO_CHECK += src/softgpu/soft.h src/softgpu/entry.h

# --- PTX: parser, interpreter, worker pool ------------------------------------------------------------
noinst_LIBRARIES += libsoftptx.a
libsoftptx_a_SOURCES = \
	src/softgpu/mem.c \
	src/softgpu/mem.h \
	src/softgpu/ptx.h
libsoftptx_a_CFLAGS = $(SO_CFLAGS) -O2

# --- libcuda.so.1, libcupti.so.13: land with their sources --------------------------------------------

# --- libcudart.so.13 ----------------------------------------------------------------------------------
HEADERS_TO_CHECK += src/softgpu/rt.h

softgpu_PROGRAMS += softgpu/libcudart.so.13
softgpu_libcudart_so_13_SOURCES = \
	src/softgpu/rt-copy.c \
	src/softgpu/rt-device.c \
	src/softgpu/rt-error.c \
	src/softgpu/rt-errors.def \
	src/softgpu/rt-func.c \
	src/softgpu/rt-graph.c \
	src/softgpu/rt-launch.c \
	src/softgpu/rt-memory.c \
	src/softgpu/rt-module.c \
	src/softgpu/rt-node.c \
	src/softgpu/rt-pool.c \
	src/softgpu/rt-props.c \
	src/softgpu/rt-refused.c \
	src/softgpu/rt-refused.def \
	src/softgpu/rt-stream.c \
	src/softgpu/rt-trace.c \
	src/softgpu/rt.h
softgpu_libcudart_so_13_CFLAGS = $(SO_CFLAGS) $(CUDA_CFLAGS) -O2
softgpu_libcudart_so_13_LDFLAGS = $(SO_LDFLAGS) -Wl,-soname,libcudart.so.13 -Wl,-rpath,'$$ORIGIN' \
	-Wl,--version-script=$(srcdir)/src/softgpu/rt.map
# Once libcuda.so.1 is in the tree: LDADD = softgpu/libcuda.so.1 -lpthread, and no -z undefs.
softgpu_libcudart_so_13_LDFLAGS += -Wl,-z,undefs
softgpu_libcudart_so_13_LDADD = -lpthread
softgpu_libcudart_so_13_DEPENDENCIES = src/softgpu/rt.map
EXTRA_DIST += src/softgpu/rt.map
endif
