# SPDX-License-Identifier: Apache-2.0
#
# Fuzzing. A new target: its name in FUZZ_TARGETS, tests/fuzz/fuzz-NAME.c with LLVMFuzzerTestOneInput(), a few small files in
# tests/fuzz/corpus/NAME/; if it needs an archive that is not in FUZZ_ARCHIVES, that too.
#   make fuzz [FUZZ_SECONDS=60] [FUZZ_TARGETS=sbt]   runs libFuzzer on each (needs clang); what it finds is in fuzz-work/
#   make check                                       runs each corpus once, with any compiler

FUZZ_TARGETS = sbt expr python name state fatbin shell ptx rings
FUZZ_ARCHIVES = libshell.a libattach.a libstate.a libsbt.a libfatbin.a libptxtest.a libcommon.a
FUZZ_SECONDS = 60

FUZZ_REPLAYERS = $(FUZZ_TARGETS:%=tests/fuzz/replay-%)
FUZZERS = $(FUZZ_TARGETS:%=tests/fuzz/fuzz-%)
FUZZ_COMPILE = $(CC) $(DEFS) $(AM_CPPFLAGS) $(CPPFLAGS) $(ZSTD_CFLAGS) $(XXHASH_CFLAGS) $(AM_CFLAGS) $(CFLAGS)
FUZZ_LINK = -Wl,--start-group $(FUZZ_ARCHIVES) -Wl,--end-group $(AM_LDFLAGS) $(LDFLAGS) $(ZSTD_LIBS) $(ATTACH_LIBS) -lpthread -lm

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

.PHONY: fuzz
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
