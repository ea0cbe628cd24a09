# SPDX-License-Identifier: Apache-2.0
#
# Room studio: a trace and its replay in a browser. The page is the report's, with the modules of src/studio/page behind them.

STUDIO_PAGE = studio-values.js studio-link.js studio-live.js studio-kernel.js studio-replay.js studio-races.js studio-memory.js studio-start.js
STUDIO_PAGE_FILES = $(addprefix $(srcdir)/src/studio/page/,$(STUDIO_PAGE) studio.css)

noinst_LIBRARIES += libstudio.a
libstudio_a_SOURCES = src/studio/studio.h src/studio/core/studio-check.c src/studio/core/studio-check.h \
	src/studio/core/studio-events.c src/studio/core/studio-events.h
HEADERS_TO_CHECK += src/studio/studio.h src/studio/core/studio-check.h src/studio/core/studio-events.h
STUDIO_SERVER = src/studio/core/studio-run.c src/studio/core/adapter.c src/studio/core/adapter.h \
	src/studio/core/studio-trace.c src/studio/core/studio-trace.h \
	src/studio/core/studio-text.h src/studio/http/studio-http.c src/studio/http/studio-http.h \
	src/studio/http/studio-peer.c src/studio/http/studio-peer.h
if HAVE_MICROHTTPD
libstudio_a_SOURCES += $(STUDIO_SERVER)
nodist_libstudio_a_SOURCES = src/studio/core/studio-page.c
HEADERS_TO_CHECK += src/studio/core/adapter.h src/studio/core/studio-trace.h src/studio/core/studio-text.h \
	src/studio/http/studio-http.h src/studio/http/studio-peer.h
else
libstudio_a_SOURCES += src/studio/core/studio-none.c
endif
libstudio_a_CFLAGS = $(AM_CFLAGS) $(JANSSON_CFLAGS) $(MICROHTTPD_CFLAGS)
src/studio/core/studio-page.c: $(REPORT_PAGE_FILES) $(STUDIO_PAGE_FILES) $(srcdir)/scripts/page
	@$(MKDIR_P) src/studio/core
	$(AM_V_GEN)$(SHELL) $(srcdir)/scripts/page --studio $(srcdir)/src/report/page $(filter-out start.js,$(REPORT_PAGE)) \
		$(addprefix $(srcdir)/src/studio/page/,$(STUDIO_PAGE)) >$@.tmp && mv $@.tmp $@
CLEANFILES += src/studio/core/studio-page.c src/studio/core/studio-page.c.tmp
EXTRA_DIST += docs/studio.md docs/studio.png $(addprefix src/studio/page/,$(STUDIO_PAGE) studio.css)

if HAVE_CMOCKA
check_PROGRAMS += tests/unit/test-studio-check
TESTS += tests/unit/test-studio-check
tests_unit_test_studio_check_SOURCES = tests/unit/test-studio-check.c
tests_unit_test_studio_check_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS) $(JANSSON_CFLAGS)
tests_unit_test_studio_check_LDADD = libstudio.a libcommon.a $(CMOCKA_LIBS) $(JANSSON_LIBS)
endif
