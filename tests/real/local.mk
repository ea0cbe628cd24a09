# SPDX-License-Identifier: Apache-2.0
#
# Real programs for tests/real/check. Not part of `make check`: they want cuBLAS, cuFFT and cuSOLVER, and most of
# them a GPU. make real-programs [REAL=names]

REAL = blas fft solver groups memory graph_loop objects
EXTRA_DIST += tests/real
.PHONY: real-programs
if HAVE_NVCC

real-programs: $(REAL:%=tests/real/%) tests/real/objects_linked
# Relocatable device code: its tables have functions' addresses, others small numbers.
tests/real/objects_linked: tests/real/objects.cu tests/real/real.h
	@$(MKDIR_P) tests/real
	$(AM_V_NVCC)$(NVCC) $(PROGRAM_FLAGS:-gencode=-gencode arch=compute_90,code=sm_90 -gencode) -rdc=true -cudart shared -o $@ $<
$(REAL:%=tests/real/%): tests/real/%: tests/real/%.cu tests/real/real.h
	@$(MKDIR_P) tests/real
	$(AM_V_NVCC)$(NVCC) $(PROGRAM_FLAGS:-std=c++14=-std=c++17) -gencode arch=compute_90,code=compute_90 -cudart shared -o $@ $< \
		-Xlinker --as-needed -lcublas -lcufft -lcusolver -L$(CUDA_DIR)/lib64/stubs -lcuda
CLEANFILES += $(REAL:%=tests/real/%) tests/real/objects_linked
endif
