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
endif
