# SPDX-License-Identifier: Apache-2.0
#
# libtracesmith: the rooms sbt and state for other people's programs. Headers keep the layout they have in src/, below
# $(includedir)/tracesmith.

tslibdir = $(libdir)
tslib_DATA = libtracesmith.a
pkgconfigdir = $(libdir)/pkgconfig
pkgconfig_DATA = tracesmith.pc
tsincdir = $(includedir)/tracesmith
tsinc_HEADERS = include/tracesmith/tracesmith.h src/base/err.h src/base/buf.h
tsincsbtdir = $(tsincdir)/sbt
tsincsbt_HEADERS = src/sbt/sbt.h src/sbt/memory.h src/sbt/pagehash.h src/sbt/cmd.h src/sbt/commands.def src/sbt/expr.h \
	src/sbt/footprint.h
tsincstatedir = $(tsincdir)/state
tsincstate_HEADERS = src/state/state.h
HEADERS_TO_CHECK += include/tracesmith/tracesmith.h
EXTRA_DIST += tests/installed.c

# One object, in which only what the headers promise is visible: no xmalloc of ours meets one of theirs.
TS_PARTS = libsbt.a libstate.a libcommon.a
libtracesmith.a: $(TS_PARTS)
	$(AM_V_AR)rm -f $@ && $(CC) -r -nostdlib -o libtracesmith.o -Wl,--whole-archive $(TS_PARTS) -Wl,--no-whole-archive \
		&& $(OBJCOPY) -w -G 'sbt_*' -G 'state_*' -G 'err_*' -G 'buf_*' libtracesmith.o \
		&& $(AR) $(ARFLAGS) $@ libtracesmith.o && $(RANLIB) $@
CLEANFILES += libtracesmith.a libtracesmith.o

# Builds a program against the installed copy, with what pkg-config says and nothing else, and runs it.
installcheck-local:
	@! nm -g --defined-only "$(DESTDIR)$(libdir)/libtracesmith.a" | grep -E ' [A-Z] ' | grep -vE ' (sbt|state|err|buf)_' \
		|| { echo "libtracesmith.a defines these too"; exit 1; }
	@PKG_CONFIG_PATH="$(DESTDIR)$(pkgconfigdir):$$PKG_CONFIG_PATH" PKG_CONFIG_SYSROOT_DIR="$(DESTDIR)"; \
	export PKG_CONFIG_PATH PKG_CONFIG_SYSROOT_DIR; \
	$(CC) $(WARN_CFLAGS) $(MODE_CFLAGS) $(CFLAGS) $$($(PKG_CONFIG) --cflags tracesmith) -o installcheck-program \
		$(srcdir)/tests/installed.c $(MODE_LDFLAGS) $(LDFLAGS) $$($(PKG_CONFIG) --libs tracesmith) && ./installcheck-program; \
	status=$$?; rm -f installcheck-program; exit $$status
