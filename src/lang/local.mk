# SPDX-License-Identifier: Apache-2.0
#
# Room lang: C's expressions over typed values. Who links liblang.a links libcommon.a after it, and -lm.

noinst_LIBRARIES += liblang.a
liblang_a_SOURCES = src/lang/lang.h src/lang/core/core.h src/lang/core/lex.h src/lang/core/types.c src/lang/core/lex.c \
	src/lang/core/parse.c src/lang/core/arith.c src/lang/core/typed-value.c src/lang/core/eval.c src/lang/core/show.c
HEADERS_TO_CHECK += src/lang/lang.h src/lang/core/core.h src/lang/core/lex.h

# What gdb makes of the same expressions: tests/unit/test-lang-gdb.py; tests/unit/lang-print prints ours.
check_PROGRAMS += tests/unit/lang-print
tests_unit_lang_print_SOURCES = tests/unit/lang-print.c
tests_unit_lang_print_LDADD = liblang.a libcommon.a -lm
TESTS += tests/unit/test-lang-gdb.py
EXTRA_DIST += tests/unit/test-lang-gdb.py
if HAVE_CMOCKA
check_PROGRAMS += tests/unit/test-lang
TESTS += tests/unit/test-lang
tests_unit_test_lang_SOURCES = tests/unit/test-lang.c
tests_unit_test_lang_LDADD = liblang.a libcommon.a $(CMOCKA_LIBS) -lm
endif
