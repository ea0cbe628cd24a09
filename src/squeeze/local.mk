# SPDX-License-Identifier: Apache-2.0
#
# Room squeeze: compressing. Who links libsqueeze.a links libcommon.a and $(SQUEEZE_LIBS) after it.

noinst_LIBRARIES += libsqueeze.a
libsqueeze_a_SOURCES = src/squeeze/squeeze.h
EXTRA_libsqueeze_a_SOURCES = src/squeeze/squeeze-isal.c src/squeeze/squeeze-zlib.c
if HAVE_ISAL
libsqueeze_a_SOURCES += src/squeeze/squeeze-isal.c
SQUEEZE_LIBS = $(ISAL_LIBS)
else
libsqueeze_a_SOURCES += src/squeeze/squeeze-zlib.c
SQUEEZE_LIBS = $(ZLIB_LIBS)
endif
HEADERS_TO_CHECK += src/squeeze/squeeze.h

if HAVE_CMOCKA
check_PROGRAMS += tests/unit/test-squeeze
TESTS += tests/unit/test-squeeze
tests_unit_test_squeeze_SOURCES = tests/unit/test-squeeze.c
tests_unit_test_squeeze_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_squeeze_LDADD = libsqueeze.a libcommon.a $(CMOCKA_LIBS) $(SQUEEZE_LIBS) $(ZLIB_LIBS)
if HAVE_ISAL
# What other builds compress with.
check_PROGRAMS += tests/unit/test-squeeze-zlib
TESTS += tests/unit/test-squeeze-zlib
tests_unit_test_squeeze_zlib_SOURCES = tests/unit/test-squeeze.c src/squeeze/squeeze-zlib.c
tests_unit_test_squeeze_zlib_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_squeeze_zlib_LDADD = libcommon.a $(CMOCKA_LIBS) $(ZLIB_LIBS)
endif
endif
