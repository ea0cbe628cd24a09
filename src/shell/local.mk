# SPDX-License-Identifier: Apache-2.0
#
# Room shell: the program tsdb. Everything but main.c is in libshell.a, so that tests can link it.

noinst_LIBRARIES += libshell.a
libshell_a_SOURCES = \
	src/shell/live/breakpoints-text.c src/shell/live/breakpoints-text.h \
	src/shell/commands/cmd-attach.c \
	src/shell/stops/cmd-break.c src/shell/stops/break-place.c src/shell/stops/break-place.h \
	 src/shell/print/check-print.c src/shell/print/check-print.h \
	src/shell/commands/cmd-capture.c \
	src/shell/analyse/cmd-check.c \
	src/shell/nan/cmd-nan.c src/shell/nan/nan-json.c src/shell/nan/nan-params.c src/shell/nan/nan-text.c src/shell/nan/watch-nan.c src/shell/nan/nan-text.h \
	src/shell/analyse/cmd-explore.c src/shell/tools/explore-words.c src/shell/tools/explore-words.h \
	src/shell/tools/until-fail.c src/shell/tools/until-fail.h \
	src/shell/tools/explore-file.c src/shell/tools/tool-explore.c src/shell/tools/tool-explore-merge.c \
	 src/shell/print/explore-text.c src/shell/print/explore-read.c src/shell/print/explore-text.h \
	src/shell/commands/cmd-data.c src/shell/values/program.c src/shell/values/program.h \
	src/shell/commands/cmd-device.c \
	src/shell/commands/cmd-info.c \
	src/shell/commands/cmd-graph.c src/shell/print/graph-text.c src/shell/print/graph.h \
	src/shell/analyse/cmd-order.c \
	src/shell/commands/cmd-kernel.c src/shell/commands/cmd-kernel-info.c src/shell/stops/cmd-probe.c src/shell/print/kernel-text.c src/shell/values/kernel-value.c src/shell/values/kernel-source.c src/shell/values/kernel-source.h src/shell/print/kernel-text.h \
	src/shell/commands/cmd-replay.c src/shell/trace/replay-run.h \
	src/shell/commands/cmd-run.c \
	src/shell/commands/cmd-set.c \
	src/shell/script/cmd-script.c src/shell/script/cmd-printf.c src/shell/script/kernel-said.c src/shell/script/kernel-said.h \
	src/shell/script/script.h src/shell/script/script-block.c src/shell/script/script-run.c src/shell/script/user-args.c \
	src/shell/stops/mark-place.c src/shell/stops/mark-place.h \
	src/shell/commands/cmd-memory.c src/shell/commands/cmd-checkpoint.c \
	src/shell/script/cmd-display.c src/shell/commands/by-number.h src/shell/script/displays.c src/shell/script/displays.h \
	src/shell/script/defined.c src/shell/script/defined.h \
	src/shell/values/format-text.c src/shell/values/format-text.h \
	src/shell/commands/cmd-stack.c \
	src/shell/commands/cmd-state.c \
	src/shell/commands/cmd-summary.c src/shell/print/shown-names.c src/shell/print/shown-names.h \
	src/shell/figures/diff-runs.c src/shell/figures/diff-runs-text.c src/shell/figures/diff-ranks.c \
	src/shell/figures/cmd-stats.c src/shell/figures/tool-diff.c src/shell/figures/diff-trace.c src/shell/figures/diff-steps.c src/shell/figures/diff-why.c src/shell/figures/diff-folded.c src/shell/figures/tool-report.c src/shell/figures/report-sums.c src/shell/figures/report-sums.h src/shell/figures/check-read.c src/shell/figures/check-read.h src/shell/figures/diff-text.c src/shell/figures/diff-assert.c src/shell/figures/numeric-text.c src/shell/figures/diff-text.h src/shell/figures/critical-text.c src/shell/figures/critical-text.h src/shell/figures/stats-set.c src/shell/figures/stats-set.h src/shell/figures/stats-text.c src/shell/figures/stats-text.h src/shell/figures/sums-text.c src/shell/figures/sums-text.h \
	src/shell/commands/cmd-support.c \
	src/shell/analyse/cmd-accesses.c \
	src/shell/analyse/cmd-races.c src/shell/analyse/races.h \
	src/shell/stops/cmd-watch.c \
	src/shell/analyse/cmd-why.c src/shell/analyse/why-stop.h \
	src/shell/live/why-text.c src/shell/live/why-text.h src/shell/live/why-json.c src/shell/live/progress-text.c \
	src/shell/line/command.h src/shell/line/commands.c src/shell/line/shell-commands.def \
	src/shell/line/complete.c \
	src/shell/line/editor.c src/shell/line/editor.h \
	src/shell/print/causes.c src/shell/print/causes.h src/shell/print/drawing.c src/shell/print/drawing.h \
	src/shell/live/focus.c src/shell/live/stop-json.c src/shell/live/stop-json.h \
	src/shell/live/fault.c src/shell/live/fault.h  \
	src/shell/live/gpu.c src/shell/live/gpu.h src/shell/live/doctor-row.h \
	src/shell/line/gdb-words.c src/shell/line/gdb-words.h src/shell/line/input.h \
	src/shell/line/interrupt.c src/shell/line/interrupt.h \
	src/shell/line/lookup.c \
	src/shell/values/memory-view.c src/shell/values/memory-view.h \
	src/shell/line/out.c src/shell/line/out.h \
	src/shell/live/process.c src/shell/live/process.h \
	src/shell/print/listing.c src/shell/print/listing.h src/shell/values/value-text.c src/shell/values/value-text.h src/shell/live/live-text.c src/shell/live/live-text.h src/shell/live/follow-text.c src/shell/live/follow-text.h \
	 src/shell/trace/clocks-text.c src/shell/trace/ranks-odd.c src/shell/trace/ranks-odd.h src/shell/trace/ranks-view.c src/shell/trace/ranks-view.h src/shell/analyse/cmd-ranks.c src/shell/tools/tool-merge.c \
	src/shell/line/session.c src/shell/line/session.h \
	src/shell/line/shell-settings.c src/shell/line/shell-settings.def src/shell/line/shell-settings.h \
	src/shell/print/replay-print.c src/shell/print/replay-print.h \
	src/shell/print/stack-view.c src/shell/print/stack-view.h \
	src/shell/tools/tool-demo.c src/shell/tools/tool-core.c src/shell/tools/core-ask.c src/shell/tools/core-ask.h src/shell/tools/core-text.c src/shell/tools/core-text.h \
	src/shell/tools/tool-extract.c src/shell/tools/tool-export.c src/shell/tools/open-ui.c src/shell/tools/open-ui.h src/shell/tools/export-pair.c src/shell/tools/export-pair.h src/shell/tools/tool-import.c \
	src/shell/tools/tool-observe.c src/shell/tools/tool-dap.c src/shell/tools/tool-studio.c \
	src/shell/tools/tool-replay.c \
	src/shell/tools/tool-options.c src/shell/tools/tool-options.h \
	src/shell/tools/tools.c src/shell/tools/tools.h src/shell/tools/serve.c src/shell/tools/serve.h \
	src/shell/tools/door-reply.c src/shell/tools/door-reply.h \
	src/shell/live/trust.c src/shell/live/trust.h src/shell/trace/trace.c src/shell/trace/trace.h src/shell/trace/view-filter.c src/shell/trace/view-filter.h \
	src/shell/values/value.c src/shell/values/value.h \
	src/shell/values/x-format.c src/shell/values/x-format.h \
	src/shell/values/vars.c src/shell/values/vars.h \
	src/shell/print/verdict-text.c src/shell/print/verdict-text.h \
	src/shell/trace/view.c \
	src/shell/print/what-if.h
libshell_a_SOURCES += src/shell/values/kernel-args.c src/shell/values/arg-condition.c src/shell/values/kernel-args.h
HEADERS_TO_CHECK += src/shell/values/kernel-args.h
libshell_a_SOURCES += src/shell/source/source-view.c src/shell/source/cmd-source.c src/shell/source/source-view.h \
	src/shell/source/cmd-where.c src/shell/source/cmd-names.c src/shell/source/source-place.c src/shell/source/source-place.h
HEADERS_TO_CHECK += src/shell/source/source-view.h src/shell/source/source-place.h src/shell/tools/core-text.h src/shell/tools/core-ask.h
libshell_a_SOURCES += src/shell/tui/tui.h src/shell/tui/cmd-tui.c src/shell/tui/tui-panes.c src/shell/tui/tui-panes.h \
	src/shell/tui/tui-screen.c src/shell/tui/tui-screen.h src/shell/tui/tui-layout.c src/shell/tui/tui-layout.h
libshell_a_SOURCES += src/shell/python/cmd-python.c src/shell/python/py-helper.c src/shell/python/py-helper.h src/shell/python/py-show.c src/shell/python/py-show.h src/shell/python/py-source.h
HEADERS_TO_CHECK += src/shell/python/py-helper.h src/shell/python/py-source.h
HEADERS_TO_CHECK += src/shell/tui/tui.h src/shell/tui/tui-panes.h src/shell/tui/tui-screen.h src/shell/tui/tui-layout.h
libshell_a_CFLAGS = $(AM_CFLAGS) $(EDIT_CFLAGS) $(TINFO_CFLAGS) $(JANSSON_CFLAGS)

bin_PROGRAMS += tsdb
tsdb_SOURCES = src/shell/line/main.c
tsdb_LDADD = libshell.a libstudio.a libdap.a libsession.a libdoor.a libexport.a libimport.a libreport.a libsqueeze.a libcompare.a libnumeric.a $(ENGINE_LIBS) $(EDIT_LIBS) $(TINFO_LIBS) $(EXPORT_LIBS) $(MICROHTTPD_LIBS)

HEADERS_TO_CHECK += src/shell/tools/serve.h src/shell/tools/door-reply.h src/shell/print/shown-names.h
HEADERS_TO_CHECK += src/shell/tools/export-pair.h
HEADERS_TO_CHECK += src/shell/nan/nan-text.h
HEADERS_TO_CHECK += src/shell/commands/by-number.h src/shell/script/displays.h src/shell/script/script.h src/shell/script/defined.h src/shell/values/format-text.h src/shell/line/gdb-words.h src/shell/stops/break-place.h src/shell/line/shell-settings.h src/shell/print/verdict-text.h src/shell/print/drawing.h src/shell/trace/ranks-odd.h src/shell/trace/ranks-view.h src/shell/print/replay-print.h src/shell/print/check-print.h src/shell/print/explore-text.h src/shell/tools/explore-words.h src/shell/tools/until-fail.h src/shell/live/trust.h src/shell/live/breakpoints-text.h src/shell/line/command.h src/shell/line/editor.h src/shell/figures/critical-text.h src/shell/figures/diff-text.h src/shell/figures/stats-set.h src/shell/figures/stats-text.h src/shell/figures/sums-text.h src/shell/print/listing.h src/shell/live/doctor-row.h src/shell/values/value-text.h src/shell/live/follow-text.h src/shell/live/live-text.h src/shell/live/gpu.h src/shell/print/graph.h src/shell/line/input.h src/shell/print/kernel-text.h \
	src/shell/line/interrupt.h src/shell/line/out.h src/shell/live/process.h src/shell/analyse/races.h src/shell/trace/replay-run.h src/shell/values/memory-view.h src/shell/print/what-if.h src/shell/line/session.h \
	 src/shell/print/stack-view.h src/shell/tools/open-ui.h src/shell/tools/tool-options.h src/shell/tools/tools.h src/shell/trace/trace.h src/shell/trace/view-filter.h src/shell/values/x-format.h src/shell/values/value.h src/shell/values/program.h src/shell/values/vars.h

HEADERS_TO_CHECK += src/shell/stops/mark-place.h src/shell/live/stop-json.h

dist_man_MANS += man/tsdb.1
HEADERS_TO_CHECK += src/shell/analyse/why-stop.h src/shell/live/why-text.h

# What the JSON of all commands consists of: docs/json.md has it, and tests go by it.
check_PROGRAMS += tests/json-schema
tests_json_schema_SOURCES = tests/json-schema.c
tests_json_schema_LDADD = $(tsdb_LDADD)
TESTS += tests/json-doc.sh
dist_noinst_SCRIPTS += scripts/json-doc
EXTRA_DIST += docs/json.md tests/json-doc.sh

if HAVE_CMOCKA
SHELL_TEST_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
SHELL_TEST_LIBS = $(CMOCKA_LIBS) $(tsdb_LDADD)
check_PROGRAMS += tests/unit/test-shell-words tests/unit/test-shell-table tests/unit/test-shell-session tests/unit/test-shell-memory
TESTS += tests/unit/test-shell-words tests/unit/test-shell-table tests/unit/test-shell-session tests/unit/test-shell-memory
tests_unit_test_shell_words_SOURCES = tests/unit/test-shell-words.c
tests_unit_test_shell_words_CFLAGS = $(SHELL_TEST_CFLAGS)
tests_unit_test_shell_words_LDADD = $(SHELL_TEST_LIBS)
check_PROGRAMS += tests/unit/test-tui-layout
TESTS += tests/unit/test-tui-layout
tests_unit_test_tui_layout_SOURCES = tests/unit/test-tui-layout.c
tests_unit_test_tui_layout_CFLAGS = $(SHELL_TEST_CFLAGS)
tests_unit_test_tui_layout_LDADD = $(SHELL_TEST_LIBS)
check_PROGRAMS += tests/unit/test-shell-script
TESTS += tests/unit/test-shell-script
tests_unit_test_shell_script_SOURCES = tests/unit/test-shell-script.c tests/unit/shell-test.h tests/unit/cmds.h
tests_unit_test_shell_script_CFLAGS = $(SHELL_TEST_CFLAGS)
tests_unit_test_shell_script_LDADD = $(SHELL_TEST_LIBS)
check_PROGRAMS += tests/unit/test-shell-names
TESTS += tests/unit/test-shell-names
tests_unit_test_shell_names_SOURCES = tests/unit/test-shell-names.c
tests_unit_test_shell_names_CFLAGS = $(SHELL_TEST_CFLAGS)
tests_unit_test_shell_names_LDADD = $(SHELL_TEST_LIBS)
check_PROGRAMS += tests/unit/test-shell-report-sums
TESTS += tests/unit/test-shell-report-sums
tests_unit_test_shell_report_sums_SOURCES = tests/unit/test-shell-report-sums.c
tests_unit_test_shell_report_sums_CFLAGS = $(SHELL_TEST_CFLAGS)
tests_unit_test_shell_report_sums_LDADD = $(SHELL_TEST_LIBS)
check_PROGRAMS += tests/unit/test-shell-verdict
TESTS += tests/unit/test-shell-verdict
tests_unit_test_shell_verdict_SOURCES = tests/unit/test-shell-verdict.c
tests_unit_test_shell_verdict_CFLAGS = $(SHELL_TEST_CFLAGS)
tests_unit_test_shell_verdict_LDADD = $(SHELL_TEST_LIBS)
tests_unit_test_shell_table_SOURCES = tests/unit/test-shell-table.c
tests_unit_test_shell_table_CFLAGS = $(SHELL_TEST_CFLAGS)
tests_unit_test_shell_table_LDADD = $(SHELL_TEST_LIBS)
tests_unit_test_shell_memory_SOURCES = tests/unit/test-shell-memory.c
tests_unit_test_shell_memory_CFLAGS = $(SHELL_TEST_CFLAGS)
tests_unit_test_shell_memory_LDADD = $(SHELL_TEST_LIBS)
tests_unit_test_shell_session_SOURCES = tests/unit/test-shell-session.c tests/unit/shell-test.h tests/unit/cmds.h
tests_unit_test_shell_session_CFLAGS = $(SHELL_TEST_CFLAGS)
tests_unit_test_shell_session_LDADD = $(SHELL_TEST_LIBS)
endif

# What gdb makes of a program's variables, and of scripts.
TESTS += tests/unit/test-values-gdb.py tests/unit/test-script-gdb.py
EXTRA_DIST += tests/unit/test-values-gdb.py tests/unit/test-script-gdb.py tests/programs/value_types.c tests/programs/value_classes.cc
