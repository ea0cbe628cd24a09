# SPDX-License-Identifier: Apache-2.0
#
# Room numeric: what the commands of two traces computed.

noinst_LIBRARIES += libnumeric.a
libnumeric_a_SOURCES = src/numeric/numeric.h src/numeric/core/numeric-private.h src/numeric/core/numeric-areas.c src/numeric/core/numeric-bytes.c src/numeric/core/numeric-prove.c src/numeric/core/numeric-spread.c \
	src/numeric/core/numeric-run.c src/numeric/core/numeric-side.c src/numeric/core/numeric-values.c
HEADERS_TO_CHECK += src/numeric/numeric.h src/numeric/core/numeric-private.h

if HAVE_CMOCKA
check_PROGRAMS += tests/unit/test-numeric
TESTS += tests/unit/test-numeric
tests_unit_test_numeric_SOURCES = tests/unit/test-numeric.c
tests_unit_test_numeric_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_numeric_LDADD = libnumeric.a $(ENGINE_LIBS) $(CMOCKA_LIBS)
endif
