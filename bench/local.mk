# SPDX-License-Identifier: Apache-2.0
#
# `make bench` prints figures as ratios from one run. Nothing here is a test.

EXTRA_DIST += bench/bench-capture.py bench/bench-python.py bench/bench-ranks.py bench/built.py

if HAVE_CUDA
noinst_PROGRAMS += bench/libbench-inject.so
bench_libbench_inject_so_SOURCES = bench/inject.c bench/inject-hook.c bench/inject-hook.h
bench_libbench_inject_so_CFLAGS = $(SO_CFLAGS) $(CUDA_CFLAGS)
bench_libbench_inject_so_LDFLAGS = -shared
endif

noinst_PROGRAMS += bench/where
bench_where_SOURCES = bench/where.c
bench_where_LDADD =

# What hashing memory on the device costs, beside reading and copying it.
if HAVE_CUDA
noinst_PROGRAMS += bench/bench-hash
bench_bench_hash_SOURCES = bench/bench-hash.c
bench_bench_hash_CFLAGS = $(AM_CFLAGS) $(CUDA_CFLAGS)
bench_bench_hash_LDADD = libhashkernel.a libsbt.a -ldl
endif

# What executing again costs: opening, restoring, executing, going back.
EXTRA_DIST += bench/bench-replay-order.py bench/overlap-load.cu
EXTRA_DIST += bench/bench-load.cu bench/bench-torch.py bench/bench-window.py bench/window-load.cu bench/launch-price.cu
if HAVE_CUDA
noinst_PROGRAMS += bench/bench-replay
bench_bench_replay_SOURCES = bench/bench-replay.c bench/replay-trace.c bench/replay-trace.h
bench_bench_replay_CPPFLAGS = $(AM_CPPFLAGS) -I$(srcdir)/bench
bench_bench_replay_CFLAGS = $(AM_CFLAGS) $(CUDA_CFLAGS)
bench_bench_replay_LDADD = libreplay.a libstate.a libsbt.a libcommon.a $(SBT_LIBS) -ldl
if HAVE_NVCC
nodist_noinst_SCRIPTS = bench/bench-load bench/overlap-load bench/window-load bench/launch-price
CLEANFILES += bench/bench-load bench/overlap-load bench/window-load bench/launch-price
bench/bench-load: bench/bench-load.cu examples/check.h
	@$(MKDIR_P) bench
	$(AM_V_NVCC)$(NVCC) $(NVCC_FLAGS) -o $@ $<
# What the order of a replay costs: bench-replay-order.py.
bench/overlap-load: bench/overlap-load.cu examples/check.h
	@$(MKDIR_P) bench
	$(AM_V_NVCC)$(NVCC) $(NVCC_FLAGS) -o $@ $<
# What a launch costs: scripts/gpu-cost.
bench/launch-price: bench/launch-price.cu examples/check.h
	@$(MKDIR_P) bench
	$(AM_V_NVCC)$(NVCC) $(NVCC_FLAGS) -o $@ $<
# What a capture window holds the program up for: bench-window.py.
bench/window-load: bench/window-load.cu
	@$(MKDIR_P) bench
	$(AM_V_NVCC)$(NVCC) $(NVCC_FLAGS) -o $@ $<
endif
endif

# A synthetic trace: what state, seeking and replay cost.
EXTRA_PROGRAMS += bench/bench-state bench/make-trace
bench_bench_state_SOURCES = bench/bench-state.c bench/synthetic.c bench/synthetic.h
bench_bench_state_CPPFLAGS = $(AM_CPPFLAGS) -I$(srcdir)
bench_bench_state_LDADD = libreplay.a libstate.a libsbt.a libcommon.a $(SBT_LIBS)
bench_make_trace_SOURCES = bench/make-trace.c bench/synthetic.c bench/synthetic.h
bench_make_trace_CPPFLAGS = $(AM_CPPFLAGS) -I$(srcdir)
bench_make_trace_LDADD = libstate.a libsbt.a libcommon.a $(SBT_LIBS)

# The traces of a job of many ranks; tests make few of them.
check_PROGRAMS += bench/make-ranks
bench_make_ranks_SOURCES = bench/make-ranks.c
bench_make_ranks_CPPFLAGS = $(AM_CPPFLAGS) -I$(srcdir)
bench_make_ranks_LDADD = libsbt.a libcommon.a $(SBT_LIBS)

# What view, summary, reports and exports cost on it.
EXTRA_DIST += bench/bench-view.py bench/bench-report.py bench/bench-columns.py bench/bench-export.py

# Happens-before and races over ten million commands.
EXTRA_PROGRAMS += bench/bench-compare
bench_bench_compare_SOURCES = bench/bench-compare.c bench/synthetic.c bench/synthetic.h
bench_bench_compare_CPPFLAGS = $(AM_CPPFLAGS) -I$(srcdir)
bench_bench_compare_LDADD = libcompare.a libstate.a libsbt.a libcommon.a $(SBT_LIBS) -lm

EXTRA_PROGRAMS += bench/bench-order
bench_bench_order_SOURCES = bench/bench-order.c bench/synthetic.c bench/synthetic.h
bench_bench_order_CPPFLAGS = $(AM_CPPFLAGS) -I$(srcdir)
bench_bench_order_LDADD = liborder.a libstate.a libsbt.a libcommon.a $(SBT_LIBS)

# Stops per second and records drained per second, against an agent without a GPU.
EXTRA_PROGRAMS += bench/bench-stops
bench_bench_stops_SOURCES = bench/bench-stops.c
bench_bench_stops_LDADD = libattach.a libsymbols.a libsbt.a libcommon.a $(ATTACH_LIBS)
EXTRA_bench_bench_stops_DEPENDENCIES = tests/programs/attach-agent

# The software GPU against plain loops.
if HAVE_CUDA
EXTRA_PROGRAMS += bench/bench-softgpu
bench_bench_softgpu_SOURCES = bench/bench-softgpu.c bench/softgpu-loops.h
bench_bench_softgpu_CPPFLAGS = $(AM_CPPFLAGS) $(CUDA_CFLAGS) -DBENCH_MATMUL_PTX='"$(abs_srcdir)/examples/ptx/matmul.ptx"'
bench_bench_softgpu_CFLAGS = $(AM_CFLAGS)
bench_bench_softgpu_LDADD = bench/softgpu-loops.$(OBJEXT) -ldl -lpthread
EXTRA_DIST += bench/softgpu-loops.c
bench/softgpu-loops.$(OBJEXT): bench/softgpu-loops.c bench/softgpu-loops.h
	@$(MKDIR_P) bench
	$(AM_V_CC)$(CC) -std=gnu11 -O2 -I$(srcdir)/bench -c -o $@ $(srcdir)/bench/softgpu-loops.c
CLEANFILES += bench/softgpu-loops.$(OBJEXT)
endif

# What a probe costs a call: bench-observe.py.
EXTRA_DIST += bench/bench-observe.py
noinst_PROGRAMS += bench/observe-load bench/libobserve-stub.so
bench_observe_load_SOURCES = bench/observe-load.c
bench_observe_load_CFLAGS = -std=gnu11 -O1 -fno-omit-frame-pointer -fno-optimize-sibling-calls $(WARN_CFLAGS)
bench_observe_load_LDADD = -ldl
bench_libobserve_stub_so_SOURCES = bench/observe-load.c
bench_libobserve_stub_so_CFLAGS = $(SO_CFLAGS) -DSTUB
bench_libobserve_stub_so_LDFLAGS = -shared

BENCHES = bench/bench-state bench/bench-order bench/bench-compare bench/bench-stops
.PHONY: bench
bench: all
	@for b in $(BENCHES); do echo "== $$b"; $(MAKE) -s $(AM_MAKEFLAGS) $$b && ./$$b || exit 1; done
	@echo "== looking at a long trace"; $(MAKE) -s $(AM_MAKEFLAGS) bench/make-trace && TSDB_BUILD='$(abs_builddir)' python3 $(srcdir)/bench/bench-view.py
	@echo "== columns of a long trace"; TSDB_BUILD='$(abs_builddir)' python3 $(srcdir)/bench/bench-columns.py
	@echo "== exports of a long trace"; TSDB_BUILD='$(abs_builddir)' python3 $(srcdir)/bench/bench-export.py
	@echo "== a job of 1,024 ranks"; $(MAKE) -s $(AM_MAKEFLAGS) bench/make-ranks && TSDB_BUILD='$(abs_builddir)' python3 $(srcdir)/bench/bench-ranks.py
	@echo "== a report of a long trace"; TSDB_BUILD='$(abs_builddir)' python3 $(srcdir)/bench/bench-report.py
if HAVE_CUDA
	@echo "== bench/bench-softgpu"; $(MAKE) -s $(AM_MAKEFLAGS) bench/bench-softgpu && LD_LIBRARY_PATH=softgpu ./bench/bench-softgpu
	@echo "== hash, on the software GPU"; LD_LIBRARY_PATH=softgpu ./bench/bench-hash
	@echo "== replay, on the software GPU"; LD_LIBRARY_PATH=softgpu TSDB_BUILD='$(abs_builddir)' ./bench/bench-replay
endif
if HAVE_NVCC
	@echo "== observe"; TSDB_BUILD='$(abs_builddir)' python3 $(srcdir)/bench/bench-observe.py
	@echo "== capture"; TSDB_BUILD='$(abs_builddir)' python3 $(srcdir)/bench/bench-capture.py
	@echo "== Python stacks"; TSDB_BUILD='$(abs_builddir)' python3 $(srcdir)/bench/bench-python.py
	@echo "== the order of a replay, on the software GPU"; TSDB_BUILD='$(abs_builddir)' python3 $(srcdir)/bench/bench-replay-order.py
	@echo "== capture window, on the software GPU"; TSDB_BUILD='$(abs_builddir)' python3 $(srcdir)/bench/bench-window.py
endif
