# SPDX-License-Identifier: Apache-2.0
#
# libtracesmith: the rooms sbt and state for other people's programs. Headers keep the layout they have in src/, below
# $(includedir)/tracesmith.

tslibdir = $(libdir)
tslib_DATA = libtracesmith.a
pkgconfigdir = $(libdir)/pkgconfig
pkgconfig_DATA = tracesmith.pc
tsincdir = $(includedir)/tracesmith
tsinc_HEADERS = include/tracesmith/tracesmith.h src/err.h src/buf.h
tsincsbtdir = $(tsincdir)/sbt
tsincsbt_HEADERS = src/sbt/sbt.h src/sbt/cmd.h src/sbt/commands.def src/sbt/expr.h
tsincstatedir = $(tsincdir)/state
tsincstate_HEADERS = src/state/state.h
HEADERS_TO_CHECK += include/tracesmith/tracesmith.h
EXTRA_DIST += tests/installed.c

TS_PARTS = libsbt.a libstate.a libcommon.a
libtracesmith.a: $(TS_PARTS)
	$(AM_V_AR)rm -f $@ && { echo "create $@"; for a in $(TS_PARTS); do echo "addlib $$a"; done; echo save; echo end; } | $(AR) -M
CLEANFILES += libtracesmith.a

# Builds a program against the installed copy, with what pkg-config says and nothing else, and runs it.
installcheck-local:
	@PKG_CONFIG_PATH="$(DESTDIR)$(pkgconfigdir):$$PKG_CONFIG_PATH" PKG_CONFIG_SYSROOT_DIR="$(DESTDIR)"; \
	export PKG_CONFIG_PATH PKG_CONFIG_SYSROOT_DIR; \
	$(CC) $(WARN_CFLAGS) $(MODE_CFLAGS) $(CFLAGS) $$($(PKG_CONFIG) --cflags tracesmith) -o installcheck-program \
		$(srcdir)/tests/installed.c $(MODE_LDFLAGS) $(LDFLAGS) $$($(PKG_CONFIG) --libs tracesmith) && ./installcheck-program; \
	status=$$?; rm -f installcheck-program; exit $$status
