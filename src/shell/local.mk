# SPDX-License-Identifier: Apache-2.0
#
# Room shell: the program tsdb. Everything but main.c is in libshell.a, so that tests can link it.

noinst_LIBRARIES += libshell.a
libshell_a_SOURCES = \
	src/shell/breakpoints.c src/shell/breakpoints.h \
	src/shell/capture.c src/shell/capture.h \
	src/shell/cmd-attach.c \
	src/shell/cmd-break.c \
	src/shell/check.c src/shell/check-print.c src/shell/check.h \
	src/shell/cmd-capture.c \
	src/shell/cmd-check.c \
	src/shell/cmd-explore.c \
	src/shell/explore.c src/shell/explore-graphs.c src/shell/explore-pairs.c src/shell/explore-orders.c src/shell/explore-found.c \
	src/shell/explore-private.h src/shell/explore-text.c src/shell/explore-merge.c src/shell/explore-jobs.c src/shell/explore.h \
	src/shell/cmd-data.c \
	src/shell/cmd-device.c \
	src/shell/cmd-info.c \
	src/shell/cmd-graph.c src/shell/graph-steps.c src/shell/graph.h \
	src/shell/cmd-order.c \
	src/shell/cmd-kernel.c src/shell/cmd-kernel-info.c src/shell/kernel.c src/shell/kernel-value.c src/shell/kernel.h \
	src/shell/cmd-replay.c src/shell/replay-run.h \
	src/shell/cmd-run.c \
	src/shell/cmd-set.c \
	src/shell/cmd-stack.c \
	src/shell/cmd-state.c \
	src/shell/cmd-support.c \
	src/shell/cmd-accesses.c \
	src/shell/cmd-races.c src/shell/races.h \
	src/shell/cmd-watch.c \
	src/shell/command.h src/shell/commands.c src/shell/shell-commands.def \
	src/shell/complete.c \
	src/shell/editor.c src/shell/editor.h \
	src/shell/causes.c src/shell/causes.h src/shell/exact.c src/shell/exact.h src/shell/host-changes.c src/shell/host-changes.h \
	src/shell/extract.c src/shell/extract-memory.c src/shell/extract-program.c src/shell/extract-text.c src/shell/extract.h \
	src/shell/focus.c \
	src/shell/fault.c src/shell/fault.h src/shell/follow.c src/shell/follow.h \
	src/shell/gpu.c src/shell/gpu.h \
	src/shell/input.h \
	src/shell/interrupt.c src/shell/interrupt.h \
	src/shell/lookup.c \
	src/shell/memory.c src/shell/memory.h \
	src/shell/names.c src/shell/names.h \
	src/shell/out.c src/shell/out.h \
	src/shell/partial.c src/shell/partial.h \
	src/shell/process.c src/shell/process.h src/shell/process-signals.c \
	src/shell/replay-device.c src/shell/replay-device.h \
	src/shell/clocks.c src/shell/clocks.h src/shell/device-clocks.c src/shell/ranks.c src/shell/ranks-view.c src/shell/ranks.h src/shell/cmd-ranks.c src/shell/tool-merge.c \
	src/shell/recorder.c src/shell/recorder.h src/shell/recorder-inside.h \
	src/shell/recorder-file.c src/shell/recorder-memory.c src/shell/recorder-stacks.c \
	src/shell/session.c src/shell/session.h \
	src/shell/settings.c src/shell/settings.h src/shell/settings.def \
	src/shell/stack.c src/shell/stack.h \
	src/shell/tool-demo.c \
	src/shell/tool-observe.c \
	src/shell/tool-replay.c \
	src/shell/tool-options.c src/shell/tool-options.h \
	src/shell/tools.c src/shell/tools.h \
	src/shell/trust.c src/shell/trust.h src/shell/trace.c src/shell/trace.h \
	src/shell/unwritten.c src/shell/unwritten.h \
	src/shell/value.c src/shell/value.h \
	src/shell/vars.c src/shell/vars.h \
	src/shell/replay-order.c src/shell/replay-order.h \
	src/shell/reads-clock.c src/shell/reads-clock.h \
	src/shell/verdict.c src/shell/verdict.h src/shell/verdict-private.h src/shell/verdict-calls.c src/shell/verdict-race.c \
	src/shell/view.c \
	src/shell/what-if.h \
	src/shell/words.c src/shell/words.h
libshell_a_CPPFLAGS = $(AM_CPPFLAGS) -DTSDB_PLUGINDIR='"$(plugindir)"'
libshell_a_CFLAGS = $(AM_CFLAGS) $(EDIT_CFLAGS) $(JANSSON_CFLAGS)

bin_PROGRAMS += tsdb
tsdb_SOURCES = src/shell/main.c
tsdb_LDADD = libshell.a libreplay.a liborder.a libobserve.a libstate.a libattach.a libsbt.a libcommon.a \
	$(OBSERVE_LIBS) $(EDIT_LIBS) $(UNWIND_PTRACE_LIBS) $(ELF_LIBS) $(ZSTD_LIBS) $(XXHASH_LIBS) $(JANSSON_LIBS) -lm

HEADERS_TO_CHECK += src/shell/trust.h src/shell/breakpoints.h src/shell/capture.h src/shell/check.h src/shell/clocks.h src/shell/command.h src/shell/editor.h src/shell/exact.h src/shell/explore-private.h src/shell/explore.h src/shell/extract.h src/shell/follow.h src/shell/gpu.h src/shell/graph.h src/shell/host-changes.h src/shell/input.h src/shell/kernel.h src/shell/names.h src/shell/ranks.h \
	src/shell/interrupt.h src/shell/out.h src/shell/process.h src/shell/races.h src/shell/recorder.h src/shell/recorder-inside.h src/shell/replay-run.h src/shell/replay-device.h src/shell/memory.h src/shell/partial.h src/shell/what-if.h src/shell/session.h \
	src/shell/settings.h src/shell/stack.h src/shell/tool-options.h src/shell/tools.h src/shell/trace.h src/shell/unwritten.h src/shell/value.h src/shell/vars.h src/shell/words.h

dist_man_MANS += man/tsdb.1

if HAVE_CMOCKA
SHELL_TEST_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
SHELL_TEST_LIBS = $(CMOCKA_LIBS) $(tsdb_LDADD)
check_PROGRAMS += tests/unit/test-shell-words tests/unit/test-shell-table tests/unit/test-shell-session tests/unit/test-shell-memory
TESTS += tests/unit/test-shell-words tests/unit/test-shell-table tests/unit/test-shell-session tests/unit/test-shell-memory
check_PROGRAMS += tests/unit/test-shell-many
TESTS += tests/unit/test-shell-many
tests_unit_test_shell_many_SOURCES = tests/unit/test-shell-many.c
tests_unit_test_shell_many_CFLAGS = $(SHELL_TEST_CFLAGS)
tests_unit_test_shell_many_LDADD = $(SHELL_TEST_LIBS)
tests_unit_test_shell_words_SOURCES = tests/unit/test-shell-words.c
tests_unit_test_shell_words_CFLAGS = $(SHELL_TEST_CFLAGS)
tests_unit_test_shell_words_LDADD = $(SHELL_TEST_LIBS)
tests_unit_test_shell_table_SOURCES = tests/unit/test-shell-table.c
tests_unit_test_shell_table_CFLAGS = $(SHELL_TEST_CFLAGS)
tests_unit_test_shell_table_LDADD = $(SHELL_TEST_LIBS)
tests_unit_test_shell_memory_SOURCES = tests/unit/test-shell-memory.c
tests_unit_test_shell_memory_CFLAGS = $(SHELL_TEST_CFLAGS)
tests_unit_test_shell_memory_LDADD = $(SHELL_TEST_LIBS)
tests_unit_test_shell_session_SOURCES = tests/unit/test-shell-session.c tests/unit/cmds.h
tests_unit_test_shell_session_CFLAGS = $(SHELL_TEST_CFLAGS)
tests_unit_test_shell_session_LDADD = $(SHELL_TEST_LIBS)
endif
