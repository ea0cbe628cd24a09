# SPDX-License-Identifier: Apache-2.0
#
# End-to-end tests, and unit tests of the headers at the root of src/. A room's unit tests are in its own local.mk.

# Half of what a unit test takes to compile is its optimisation, and it runs for a moment.
tests/unit/%.o: CFLAGS := $(patsubst -O2,-O1,$(CFLAGS))

if HAVE_CMOCKA
check_PROGRAMS += tests/unit/test-checked tests/unit/test-patience tests/unit/test-proc-read
TESTS += tests/unit/test-checked tests/unit/test-patience tests/unit/test-proc-read
tests_unit_test_patience_SOURCES = tests/unit/test-patience.c
tests_unit_test_patience_LDADD = libcommon.a $(CMOCKA_LIBS)
tests_unit_test_proc_read_SOURCES = tests/unit/test-proc-read.c
tests_unit_test_proc_read_LDADD = libcommon.a $(CMOCKA_LIBS) -lpthread
tests_unit_test_checked_SOURCES = tests/unit/test-checked.c
tests_unit_test_checked_LDADD = $(CMOCKA_LIBS)
endif
EXTRA_DIST += tests/attach/late-check tests/attach/hung-check tests/python tests/e2e tests/dap editors

# The tests again and again, to find the flaky ones: make check-loop [LOOPS=10] [TESTS=...]
LOOPS = 10
.PHONY: check-loop
check-loop:
	@i=0; while [ $$i -lt $(LOOPS) ]; do i=$$((i+1)); \
		$(MAKE) -s $(AM_MAKEFLAGS) check >check-loop.log 2>&1 || { tail -n 30 check-loop.log; echo "failed in loop $$i"; exit 1; }; \
		echo "loop $$i: $$(sed -n 's/^# PASS: *//p' check-loop.log | tail -n 1) passed"; done
CLEANFILES += check-loop.log libptxtest.a

# Random requests to `tsdb dap`, sessions of a seed each: make fuzz-dap [DAP_SESSIONS=100] [DAP_SEED=1]
DAP_SESSIONS = 100
DAP_SEED = 1
.PHONY: fuzz-dap
fuzz-dap: tsdb examples/race_demo
	./tsdb record --gpu soft -o fuzz-dap.sbt examples/race_demo || test -s fuzz-dap.sbt
	python3 $(srcdir)/tests/dap/fuzz.py ./tsdb fuzz-dap.sbt --seed $(DAP_SEED) --sessions $(DAP_SESSIONS)
CLEANFILES += fuzz-dap.sbt

# The extension in the editor itself, which is no package of Debian's: CODE_SERVER=PATH, and VSCE=PATH to install it as it is packaged.
.PHONY: check-vscode
check-vscode: all $(check_SCRIPTS)
	E2E_TIMEOUT=600 TSDB_BUILD=. TSDB_SRC=$(srcdir) $(srcdir)/tests/e2e/e2e.py 'vscode-*'

# What is exported, in the programs that people look at it with and that are no packages of Debian's: SPEEDSCOPE=FOLDER
# TRACE_PROCESSOR=FOLDER HTA=FOLDER, see tests/e2e/cases/viewers.py.
.PHONY: check-viewers
check-viewers: all $(check_SCRIPTS)
	E2E_TIMEOUT=600 TSDB_BUILD=. TSDB_SRC=$(srcdir) $(srcdir)/tests/e2e/e2e.py 'viewers-*'

# Attaching 500 times and being killed 200 times, as the project promises: many minutes.
.PHONY: soak-attach
soak-attach: all $(check_PROGRAMS) $(check_SCRIPTS)
	TSDB_SOAK=1 E2E_JOBS=1 E2E_TIMEOUT=600 TSDB_BUILD=. TSDB_SRC=$(srcdir) $(srcdir)/tests/e2e/e2e.py 'attach-*'

# What `why` says of all programs that hang, and of busy ones: minutes.
# make why-corpus [HANGS='setter_behind_event sleeps']
.PHONY: why-corpus
why-corpus: all $(check_SCRIPTS)
	TSDB_BUILD=$(abs_builddir) TSDB_SRC=$(abs_srcdir) $(srcdir)/tests/why-corpus $(HANGS)
EXTRA_DIST += tests/why-corpus

# The software GPU's programs compiled before their first instruction, under more schedules, recorded and replayed: minutes.
# make check-soft-long [SUITE_PROGRAMS='scan fft']
.PHONY: check-soft-long
check-soft-long: all $(check_SCRIPTS)
	TSDB_BUILD=. TSDB_SRC=$(srcdir) $(srcdir)/tests/soft-long.py $(SUITE_PROGRAMS)
EXTRA_DIST += tests/soft-long.py

# Folders in EXTRA_DIST are copied from the build folder too: not with what an earlier `make check` left there.
dist-hook:
	find $(distdir)/tests \( -name '*.log' -o -name '*.trs' -o -name '*.pyc' \) -exec rm -f {} +
	find $(distdir)/tests -name __pycache__ -exec rmdir {} +
