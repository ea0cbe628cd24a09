# SPDX-License-Identifier: Apache-2.0
#
# Room library: libtracesmith.so.0, what other people's programs use. Its header is include/tracesmith/tracesmith.h (mark.h needs no library); nothing
# else is visible (tracesmith.map).

tslibdir = $(libdir)
tslib_PROGRAMS = libtracesmith.so.0
libtracesmith_so_0_SOURCES = src/library/library.h src/library/ts-error.c src/library/ts-trace.c src/library/ts-cursor.c src/library/ts-kernels.c \
	src/library/ts-dictionary.c src/library/ts-columns.c src/library/ts-filter.c src/library/ts-args.c \
	src/library/ts-state.c src/library/ts-writer.c \
	src/library/ts-session.h src/library/ts-answer.c src/library/ts-session.c src/library/ts-debug.c
libtracesmith_so_0_CPPFLAGS = $(AM_CPPFLAGS) -I$(srcdir)/include $(ELF_CFLAGS)
libtracesmith_so_0_CFLAGS = $(AM_CFLAGS) $(JANSSON_CFLAGS) -fvisibility=hidden
libtracesmith_so_0_LDFLAGS = $(AM_LDFLAGS) $(SO_LDFLAGS) -Wl,-soname,libtracesmith.so.0 -Wl,--exclude-libs,ALL \
	-Wl,--version-script=$(srcdir)/src/library/tracesmith.map
libtracesmith_so_0_LDADD = libdoor.a libstate.a libsymbols.a liblang.a libgpucode.a libsbt.a libcommon.a $(SYMBOLS_LIBS) $(ZSTD_LIBS) $(XXHASH_LIBS) $(JANSSON_LIBS) -lpthread -lm
libtracesmith_so_0_DEPENDENCIES = libdoor.a libstate.a libsymbols.a liblang.a libgpucode.a libsbt.a libcommon.a src/library/tracesmith.map
# What of it works with a session: the room dap is a user of sessions, too.
noinst_LIBRARIES += libsession.a
libsession_a_SOURCES = src/library/library.h src/library/ts-session.h src/library/ts-error.c src/library/ts-answer.c src/library/ts-session.c
libsession_a_CPPFLAGS = $(AM_CPPFLAGS) -I$(srcdir)/include $(ELF_CFLAGS)
libsession_a_CFLAGS = $(AM_CFLAGS) $(JANSSON_CFLAGS)
pkgconfigdir = $(libdir)/pkgconfig
pkgconfig_DATA = tracesmith.pc
tsincdir = $(includedir)/tracesmith
tsinc_HEADERS = include/tracesmith/tracesmith.h include/tracesmith/mark.h include/tracesmith/stops.h
HEADERS_TO_CHECK += include/tracesmith/tracesmith.h include/tracesmith/mark.h include/tracesmith/stops.h
EXTRA_DIST += src/library/tracesmith.map tests/installed.c tests/library-symbols.sh
TESTS += tests/library-symbols.sh
# The ABI of the first release; `make update-abi` with a new soname only.
EXTRA_DIST += tests/library-abi.py tests/library/first-release.abi tests/library/first-release.c
TESTS += tests/library-abi.py
.PHONY: update-abi
update-abi: libtracesmith.so.0
	TSDB_SRC=$(srcdir) TSDB_BUILD=. $(srcdir)/tests/library-abi.py --write
# The Rust crates; scripts/rust-bindings makes their parts anew that come from C.
EXTRA_DIST += scripts/rust-bindings tests/rust-current.sh bindings/rust/Cargo.toml bindings/rust/tracesmith-sys/Cargo.toml \
	bindings/rust/tracesmith-sys/build.rs bindings/rust/tracesmith-sys/src/api.rs bindings/rust/tracesmith-sys/src/lib.rs \
	bindings/rust/tracesmith/Cargo.toml bindings/rust/tracesmith/src/answer.rs bindings/rust/tracesmith/src/kinds.rs \
	bindings/rust/tracesmith/src/lib.rs bindings/rust/tracesmith/src/session.rs bindings/rust/tracesmith/src/trace.rs \
	bindings/rust/tracesmith/src/columns.rs bindings/rust/tracesmith/examples/time_travel.rs \
	bindings/rust/tracesmith/tests/scenario.rs
TESTS += tests/rust-current.sh

install-data-hook:
	cd "$(DESTDIR)$(libdir)" && ln -sf libtracesmith.so.0 libtracesmith.so
uninstall-hook:
	rm -f "$(DESTDIR)$(libdir)/libtracesmith.so"

# What answers are read with, for its own tests and the fuzzer.
EXTRA_LIBRARIES = libanswertest.a
libanswertest_a_SOURCES = src/library/ts-answer.c src/library/ts-error.c
libanswertest_a_CPPFLAGS = $(libtracesmith_so_0_CPPFLAGS)
libanswertest_a_CFLAGS = $(AM_CFLAGS) $(JANSSON_CFLAGS)

if HAVE_CMOCKA
check_PROGRAMS += tests/unit/test-library-answer
TESTS += tests/unit/test-library-answer
tests_unit_test_library_answer_SOURCES = tests/unit/test-library-answer.c
tests_unit_test_library_answer_CPPFLAGS = $(libtracesmith_so_0_CPPFLAGS)
tests_unit_test_library_answer_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_library_answer_LDADD = libanswertest.a libcommon.a $(CMOCKA_LIBS) $(JANSSON_LIBS)
check_PROGRAMS += tests/unit/test-library
TESTS += tests/unit/test-library
tests_unit_test_library_SOURCES = tests/unit/test-library.c
tests_unit_test_library_CPPFLAGS = -I$(srcdir)/include
tests_unit_test_library_LDFLAGS = $(AM_LDFLAGS) -Wl,-rpath,'$$ORIGIN/../..'
tests_unit_test_library_LDADD = libtracesmith.so.0 $(CMOCKA_LIBS)
check_PROGRAMS += tests/unit/test-library-memory
TESTS += tests/unit/test-library-memory
tests_unit_test_library_memory_SOURCES = tests/unit/test-library-memory.c
tests_unit_test_library_memory_CPPFLAGS = $(tests_unit_test_library_CPPFLAGS)
tests_unit_test_library_memory_LDFLAGS = $(tests_unit_test_library_LDFLAGS)
tests_unit_test_library_memory_LDADD = $(tests_unit_test_library_LDADD)
check_PROGRAMS += tests/unit/test-library-session
TESTS += tests/unit/test-library-session
tests_unit_test_library_session_SOURCES = tests/unit/test-library-session.c
tests_unit_test_library_session_CPPFLAGS = $(AM_CPPFLAGS) -I$(srcdir)/include
tests_unit_test_library_session_LDFLAGS = $(tests_unit_test_library_LDFLAGS)
tests_unit_test_library_session_LDADD = libdoor.a $(tests_unit_test_library_LDADD)
endif

# Builds a program against the installed copy, as C and as C++, with what pkg-config says and nothing else, and runs it.
installcheck-local:
	@PKG_CONFIG_PATH="$(DESTDIR)$(pkgconfigdir):$$PKG_CONFIG_PATH" PKG_CONFIG_SYSROOT_DIR="$(DESTDIR)"; \
	LD_LIBRARY_PATH="$(DESTDIR)$(libdir):$$LD_LIBRARY_PATH"; export PKG_CONFIG_PATH PKG_CONFIG_SYSROOT_DIR LD_LIBRARY_PATH; \
	for as in c c++; do \
		$(CC) -x $$as $(MODE_CFLAGS) $(CFLAGS) $$($(PKG_CONFIG) --cflags tracesmith) -o installcheck-program \
			$(srcdir)/tests/installed.c -x none $(MODE_LDFLAGS) $(LDFLAGS) $$($(PKG_CONFIG) --libs tracesmith) \
			&& ./installcheck-program || exit 1; done; rm -f installcheck-program
