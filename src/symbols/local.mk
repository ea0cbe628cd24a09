# SPDX-License-Identifier: Apache-2.0
#
# Room symbols: what addresses in host code mean, without a process. Who links libsymbols.a links $(SYMBOLS_LIBS),
# liblang.a, libgpucode.a, libsbt.a and libcommon.a after it.

noinst_LIBRARIES += libsymbols.a
libsymbols_a_SOURCES = src/symbols/symbols.c src/symbols/symbols.h src/symbols/elf-facts.c src/symbols/elf-facts.h \
	src/symbols/dwarf/variables.c src/symbols/variables.h src/symbols/dwarf/dwarf-value.c src/symbols/dwarf/dwarf-types.c src/symbols/dwarf/dwarf-types.h \
	src/symbols/dwarf/dwarf-names.c src/symbols/dwarf/dwarf-names.h src/symbols/dwarf/dwarf-walk.h src/symbols/dwarf/symbols-files.h \
	src/symbols/places.c src/symbols/places.h src/symbols/host-stack.c src/symbols/host-stack.h \
	src/symbols/gpu-core.c src/symbols/gpu-core.h src/symbols/gpu-core-code.c src/symbols/gpu-core-code.h
libsymbols_a_SOURCES += src/symbols/kernel-params.c src/symbols/params-text.c src/symbols/kernel-params.h src/symbols/sources.c src/symbols/sources.h
libsymbols_a_SOURCES += src/symbols/ptx/kernel-debug.c src/symbols/kernel-debug.h src/symbols/ptx/ptx-sections.c src/symbols/ptx/ptx-sections.h \
	src/symbols/dwarf/file-names.h src/symbols/dwarf/symtab.c src/symbols/dwarf/symtab.h
HEADERS_TO_CHECK += src/symbols/kernel-debug.h src/symbols/ptx/ptx-sections.h src/symbols/dwarf/file-names.h src/symbols/dwarf/symtab.h
HEADERS_TO_CHECK += src/symbols/kernel-params.h src/symbols/sources.h
libsymbols_a_CPPFLAGS = $(AM_CPPFLAGS) $(ELF_CFLAGS)
SYMBOLS_LIBS = $(ELF_LIBS) -ldl
HEADERS_TO_CHECK += src/symbols/places.h src/symbols/symbols.h src/symbols/elf-facts.h src/symbols/variables.h src/symbols/host-stack.h \
	src/symbols/gpu-core.h src/symbols/gpu-core-code.h \
	src/symbols/dwarf/dwarf-types.h src/symbols/dwarf/dwarf-names.h src/symbols/dwarf/dwarf-walk.h src/symbols/dwarf/symbols-files.h

check_PROGRAMS += tests/unit/test-gpu-core
TESTS += tests/unit/test-gpu-core
EXTRA_DIST += tests/unit/data/h200-spin.core.zst
tests_unit_test_gpu_core_SOURCES = tests/unit/test-gpu-core.c
tests_unit_test_gpu_core_LDADD = libsymbols.a liblang.a libgpucode.a libsbt.a libcommon.a $(CMOCKA_LIBS) $(ZSTD_LIBS) $(SYMBOLS_LIBS)

if HAVE_CMOCKA
check_PROGRAMS += tests/unit/test-kernel-params
TESTS += tests/unit/test-kernel-params
tests_unit_test_kernel_params_SOURCES = tests/unit/test-kernel-params.c
tests_unit_test_kernel_params_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS) $(ELF_CFLAGS)
tests_unit_test_kernel_params_LDADD = libsymbols.a liblang.a libgpucode.a libsbt.a libcommon.a $(SYMBOLS_LIBS) $(CMOCKA_LIBS) -lm
check_PROGRAMS += tests/unit/test-symtab
TESTS += tests/unit/test-symtab
tests_unit_test_symtab_SOURCES = tests/unit/test-symtab.c
tests_unit_test_symtab_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS) $(ELF_CFLAGS)
tests_unit_test_symtab_LDADD = libsymbols.a libcommon.a $(SYMBOLS_LIBS) $(CMOCKA_LIBS)
check_PROGRAMS += tests/unit/test-kernel-debug
TESTS += tests/unit/test-kernel-debug
tests_unit_test_kernel_debug_SOURCES = tests/unit/test-kernel-debug.c
tests_unit_test_kernel_debug_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS) $(ELF_CFLAGS)
tests_unit_test_kernel_debug_LDADD = libsymbols.a liblang.a libgpucode.a libsbt.a libcommon.a $(SYMBOLS_LIBS) $(CMOCKA_LIBS) -lm
endif
