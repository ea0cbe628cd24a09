# SPDX-License-Identifier: Apache-2.0
#
# Room softamd: the software AMD GPU. Loaded into other people's programs, so never sanitised.

# --- the processor: libamdgpu.a; libamdtest.a is the same for its own tests and the fuzzer ---------------
HEADERS_TO_CHECK += src/softamd/machine/amd-run.h
AMD_SOURCES = src/softamd/machine/amd-run.c src/softamd/machine/amd-run.h
# Arithmetic must give the hardware's bits: nothing contracted, nothing reassociated.
AMD_ARITHMETIC = -O3 -ffp-contract=off -fno-math-errno -fno-trapping-math -fno-strict-aliasing
EXTRA_LIBRARIES += libamdtest.a
libamdtest_a_SOURCES = $(AMD_SOURCES)
libamdtest_a_CFLAGS = $(AM_CFLAGS) $(AMD_ARITHMETIC)
noinst_LIBRARIES += libamdgpu.a
libamdgpu_a_SOURCES = $(AMD_SOURCES)
libamdgpu_a_CFLAGS = $(SO_CFLAGS) $(AMD_ARITHMETIC)
