# SPDX-License-Identifier: Apache-2.0
#
# Room report: a trace as an HTML page. Who links libreport.a links libsqueeze.a and $(SQUEEZE_LIBS) after it. The page's script is made of the modules in REPORT_PAGE, in this order, by scripts/page; it needs
# sh, sed, awk, od and sha256sum.

REPORT_PAGE = codec.js bisect.js trace.js details.js states.js lanes.js view.js colours.js model.js search.js place.js dom.js paint.js \
	timeline.js overview.js panel.js keys.js flame.js main.js start.js
REPORT_PAGE_FILES = $(addprefix $(srcdir)/src/report/page/,$(REPORT_PAGE) page.html style.css)

noinst_LIBRARIES += libreport.a
libreport_a_SOURCES = src/report/report.h src/report/facts.h \
	src/report/core/report.c src/report/core/pack.c src/report/core/pack.h src/report/core/page-names.c src/report/core/page-names.h \
	src/report/core/columns.c src/report/core/columns.h src/report/core/states.c src/report/core/states.h \
	src/report/core/arrows.c src/report/core/arrows.h src/report/core/head.c src/report/core/head.h src/report/core/page.h \
	src/report/facts/facts.c src/report/facts/fact-list.h src/report/facts/facts-run.c src/report/facts/facts-time.c \
	src/report/facts/facts-path.c src/report/facts/facts-races.c src/report/facts/facts-set.c src/report/facts/facts-print.c
nodist_libreport_a_SOURCES = src/report/core/page-text.c
src/report/core/page-text.c: $(REPORT_PAGE_FILES) $(srcdir)/scripts/page
	@$(MKDIR_P) src/report/core
	$(AM_V_GEN)$(SHELL) $(srcdir)/scripts/page $(srcdir)/src/report/page $(REPORT_PAGE) >$@.tmp && mv $@.tmp $@
CLEANFILES += src/report/core/page-text.c src/report/core/page-text.c.tmp
EXTRA_DIST += scripts/page $(addprefix src/report/page/,$(REPORT_PAGE) page.html style.css)
HEADERS_TO_CHECK += src/report/report.h src/report/facts.h src/report/core/pack.h src/report/core/page-names.h src/report/core/columns.h \
	src/report/core/states.h src/report/core/arrows.h src/report/core/head.h src/report/core/page.h src/report/facts/fact-list.h

check_PROGRAMS += tests/report/hostile-trace
tests_report_hostile_trace_SOURCES = tests/report/hostile-trace.c tests/unit/cmds.h
tests_report_hostile_trace_CPPFLAGS = $(AM_CPPFLAGS) -I$(srcdir)
tests_report_hostile_trace_LDADD = libsbt.a libcommon.a $(SBT_LIBS)
