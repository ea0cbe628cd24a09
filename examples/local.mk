# SPDX-License-Identifier: Apache-2.0
#
# Example programs: CUDA C when nvcc is there; pipeline_ptx needs no CUDA compiler. Their PTX is in examples/ptx, made by `make
# examples-ptx`.

CUDA_EXAMPLES = examples/vecadd examples/matmul examples/reduce examples/pipeline examples/transformer examples/race_demo \
	examples/tiny_launches
EXAMPLES_PTX = $(CUDA_EXAMPLES:examples/%=examples/ptx/%.ptx)
EXTRA_DIST += examples/check.h examples/trace_reader.c examples/trace_state.c examples/trace_order.c \
	examples/trace_diff.c examples/trace_writer.c examples/record_run.c examples/time_travel.c $(CUDA_EXAMPLES:=.cu)
EXTRA_DIST += examples/ci/Dockerfile examples/ci/gpu-tests.yml examples/ci/tsdb-ci-check
examplesdir = $(plugindir)/examples
dist_examples_DATA = examples/check.h
examplesptxdir = $(examplesdir)/ptx
dist_examplesptx_DATA = $(EXAMPLES_PTX)

# PTX for the software GPU and any other, machine code for an H100 or H200. -g gives the host code's lines.
NVCC_FLAGS = -O2 -g -lineinfo -cudart shared -gencode arch=compute_75,code=compute_75 -gencode arch=compute_90,code=sm_90 \
	-Xlinker -rpath=$(CUDA_DIR)/lib64 -Xlinker --enable-new-dtags
AM_V_NVCC = $(am__v_NVCC_@AM_V@)
am__v_NVCC_ = $(am__v_NVCC_@AM_DEFAULT_V@)
am__v_NVCC_0 = @echo "  NVCC    " $@;
am__v_NVCC_1 =

if HAVE_NVCC
nodist_examples_SCRIPTS = $(CUDA_EXAMPLES)
CLEANFILES += $(CUDA_EXAMPLES)
$(CUDA_EXAMPLES): examples/%: examples/%.cu examples/check.h
	@$(MKDIR_P) examples
	$(AM_V_NVCC)$(NVCC) $(NVCC_FLAGS) -o $@ $<

endif

# HIP, for the target that the software AMD GPU has by itself.
HIP_EXAMPLES = examples/stencil
EXTRA_DIST += $(HIP_EXAMPLES:=.hip)
if HAVE_HIPCC
noinst_SCRIPTS = $(HIP_EXAMPLES)
CLEANFILES += $(HIP_EXAMPLES)
$(HIP_EXAMPLES): examples/%: examples/%.hip
	@$(MKDIR_P) examples
	$(AM_V_GEN)$(HIPCC) --offload-arch=gfx90a -O1 -g -o $@ $<
endif

# Only by hand, when an example has changed: the PTX in the tree is what the demo runs where there is no nvcc.
.PHONY: examples-ptx
examples-ptx:
	for e in $(CUDA_EXAMPLES); do $(NVCC) -O2 -arch=compute_75 -ptx -o $(srcdir)/examples/ptx/$${e#examples/}.ptx $(srcdir)/$$e.cu || exit 1; done

if HAVE_CUDA
# Links to the software GPU's libcuda.so.1 only for its symbols; at run time it is whichever the machine or tsdb offers.
examples_PROGRAMS = examples/pipeline_ptx
examples_pipeline_ptx_SOURCES = examples/pipeline_ptx.c
examples_pipeline_ptx_CPPFLAGS = $(AM_CPPFLAGS) -Wa,-I$(srcdir)/examples/ptx
examples_pipeline_ptx_CFLAGS = -std=gnu11 -g $(WARN_CFLAGS) $(CUDA_CFLAGS)
examples_pipeline_ptx_LDADD = softgpu/libcuda.so.1
examples_pipeline_ptx_LDFLAGS =
examples/pipeline_ptx-pipeline_ptx.$(OBJEXT): examples/ptx/pipeline.ptx
endif
