# SPDX-License-Identifier: Apache-2.0
#
# Fuzzing. A new target: its name in FUZZ_TARGETS, tests/fuzz/fuzz-NAME.c with LLVMFuzzerTestOneInput(), a few small files in
# tests/fuzz/corpus/NAME/; if it needs an archive that is not in FUZZ_ARCHIVES, that too.
#   make fuzz [FUZZ_SECONDS=60] [FUZZ_TARGETS=sbt]   runs libFuzzer on each (needs clang); what it finds is in fuzz-work/
#   make check                                       runs each corpus once, with any compiler

FUZZ_TARGETS = sbt expr python name state fatbin cubin dwarf gpudebug shell ptx rings gfx import answer
FUZZ_ARCHIVES = libanswertest.a libimport.a libshell.a libdoor.a libengine.a libattach.a libsymbols.a liblang.a libstate.a libsbt.a libfatbin.a libptxtest.a libamdtest.a libranges.a libgpucode.a libcommon.a
FUZZ_SECONDS = 60

FUZZ_REPLAYERS = $(FUZZ_TARGETS:%=tests/fuzz/replay-%)
FUZZERS = $(FUZZ_TARGETS:%=tests/fuzz/fuzz-%)
FUZZ_COMPILE = $(CC) $(DEFS) $(AM_CPPFLAGS) -I$(srcdir)/include $(CPPFLAGS) $(ZSTD_CFLAGS) $(XXHASH_CFLAGS) $(AM_CFLAGS) $(CFLAGS)
FUZZ_LINK = -Wl,--start-group $(FUZZ_ARCHIVES) -Wl,--end-group $(AM_LDFLAGS) $(LDFLAGS) $(ZSTD_LIBS) $(ATTACH_LIBS) $(IMPORT_LIBS) $(JANSSON_LIBS) -lpthread -lm

check_DATA = $(FUZZ_REPLAYERS)
TESTS += tests/fuzz/run-corpus.sh
EXTRA_DIST += tests/fuzz/run-corpus.sh tests/fuzz/fuzz.h tests/fuzz/replay-main.c $(FUZZ_TARGETS:%=tests/fuzz/fuzz-%.c) tests/fuzz/corpus
CLEANFILES += $(FUZZ_REPLAYERS) $(FUZZERS)

tests/fuzz/replay-%: tests/fuzz/fuzz-%.c tests/fuzz/replay-main.c tests/fuzz/fuzz.h $(FUZZ_ARCHIVES)
	@mkdir -p tests/fuzz
	$(AM_V_CCLD)$(FUZZ_COMPILE) -o $@ $< $(srcdir)/tests/fuzz/replay-main.c $(FUZZ_LINK)

tests/fuzz/fuzz-%: tests/fuzz/fuzz-%.c tests/fuzz/fuzz.h $(FUZZ_ARCHIVES)
	@mkdir -p tests/fuzz
	$(AM_V_CCLD)$(FUZZ_COMPILE) -fsanitize=fuzzer -o $@ $< $(FUZZ_LINK)

# Whole traces through all that executes them, in one program: tests/fuzz/traces/main.c. In builds with sanitizers.
#   make check                                           the corpus, and a slice of changed traces (with --enable-sanitizers)
#   make fuzz-traces [FUZZ_SEED=1] [FUZZ_COUNT=2000] [FUZZ_JOBS=1]   others; what breaks something is kept in fuzz-work/traces/, by its seed
#   make fuzz-long [FUZZ_SEED=1] [FUZZ_COUNT=1000000] [FUZZ_SECONDS=3600]   that, and then every libFuzzer target: hours
# A trace that broke something goes into tests/fuzz/corpus/traces/.
FUZZ_SEED = 1
FUZZ_COUNT = 2000
FUZZ_JOBS = 1
FUZZ_TRACES = $(srcdir)/tests/fuzz/corpus/traces/*.sbt
TESTS += tests/fuzz/run-traces.sh
EXTRA_DIST += tests/fuzz/run-traces.sh tests/fuzz/traces/seeds.cu
TRACE_FUZZ_SOURCES = tests/fuzz/traces/main.c tests/fuzz/traces/cases.c tests/fuzz/traces/cases.h tests/fuzz/traces/spare.c tests/fuzz/traces/spare.h \
	tests/fuzz/traces/model.c tests/fuzz/traces/model.h tests/fuzz/traces/mutate.c tests/fuzz/traces/mutate.h \
	tests/fuzz/traces/mutate-file.c tests/fuzz/traces/mutate-ptx.c tests/fuzz/traces/mutate-ptx.h
EXTRA_DIST += $(TRACE_FUZZ_SOURCES)
if SANITIZERS
if HAVE_CUDA
EXTRA_LIBRARIES += libfuzzreplayer.a libfuzztsdb.a
libfuzzreplayer_a_SOURCES = $(tsdb_replayer_SOURCES)
libfuzzreplayer_a_CPPFLAGS = $(AM_CPPFLAGS) -Dmain=tsdb_replayer_main
libfuzzreplayer_a_CFLAGS = $(AM_CFLAGS) $(CUDA_CFLAGS) $(SECCOMP_CFLAGS) -Wno-missing-prototypes
libfuzztsdb_a_SOURCES = src/shell/line/main.c
libfuzztsdb_a_CPPFLAGS = $(AM_CPPFLAGS) -Dmain=tsdb_main
libfuzztsdb_a_CFLAGS = $(AM_CFLAGS) -Wno-missing-prototypes
# Beside tsdb, as it looks for its parts there.
check_PROGRAMS += trace-fuzz
trace_fuzz_SOURCES = $(TRACE_FUZZ_SOURCES)
# Bound at once: what is bound late is bound again in each process.
trace_fuzz_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=device_spawn -Wl,-z,now
trace_fuzz_LDADD = libfuzztsdb.a fuzz-replayer.o libhashkernel.a libranges.a libgpucode.a $(tsdb_LDADD) $(SECCOMP_LIBS) -lpthread -ldl
EXTRA_trace_fuzz_DEPENDENCIES = softgpu/sanitised/libcuda.so.1 fuzz-replayer.o tsdb-replayer
# One object that shows tsdb_replayer_main() alone: tsdb has functions of the same names.
fuzz-replayer.o: libfuzzreplayer.a
	$(AM_V_GEN)$(CC) -r -nostdlib -o $@ -Wl,--whole-archive libfuzzreplayer.a && $(OBJCOPY) --keep-global-symbol=tsdb_replayer_main $@
CLEANFILES += fuzz-replayer.o
endif
endif

.PHONY: fuzz fuzz-traces fuzz-long
if SANITIZERS
fuzz-traces: trace-fuzz
	@mkdir -p fuzz-work/traces
	TSDB_BUILD=$(abs_builddir) ./trace-fuzz --seed $(FUZZ_SEED) --count $(FUZZ_COUNT) --jobs $(FUZZ_JOBS) --keep fuzz-work/traces $(FUZZ_TRACES)
else
fuzz-traces:
	@mkdir -p fuzz-build-san && cd fuzz-build-san && { test -f Makefile || $(abs_srcdir)/configure -q --enable-sanitizers; } \
		&& $(MAKE) $(AM_MAKEFLAGS) fuzz-traces FUZZ_SEED=$(FUZZ_SEED) FUZZ_COUNT=$(FUZZ_COUNT) FUZZ_JOBS=$(FUZZ_JOBS)
endif
fuzz-long: FUZZ_COUNT = 1000000
fuzz-long: FUZZ_SECONDS = 3600
fuzz-long:
	$(MAKE) $(AM_MAKEFLAGS) fuzz-traces FUZZ_SEED=$(FUZZ_SEED) FUZZ_COUNT=$(FUZZ_COUNT) FUZZ_JOBS=$(FUZZ_JOBS)
	$(MAKE) $(AM_MAKEFLAGS) fuzz FUZZ_SECONDS=$(FUZZ_SECONDS)
if FUZZING
fuzz: $(FUZZERS)
	@for t in $(FUZZ_TARGETS); do \
		mkdir -p fuzz-work/$$t; \
		echo "fuzz-$$t: $(FUZZ_SECONDS) seconds"; \
		tests/fuzz/fuzz-$$t -max_total_time=$(FUZZ_SECONDS) -timeout=10 -rss_limit_mb=2560 -print_final_stats=1 \
			-artifact_prefix=fuzz-work/$$t- fuzz-work/$$t $(srcdir)/tests/fuzz/corpus/$$t >fuzz-work/$$t.log 2>&1 \
		|| { tail -n 40 fuzz-work/$$t.log; exit 1; }; \
		grep -E 'stat::(number_of_executed_units|average_exec)' fuzz-work/$$t.log; done
else
fuzz:
	@mkdir -p fuzz-build && cd fuzz-build && { test -f Makefile || $(abs_srcdir)/configure -q CC=clang --enable-fuzzing; } \
		&& $(MAKE) $(AM_MAKEFLAGS) fuzz FUZZ_SECONDS=$(FUZZ_SECONDS) FUZZ_TARGETS="$(FUZZ_TARGETS)"
endif
