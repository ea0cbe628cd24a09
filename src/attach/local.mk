# SPDX-License-Identifier: Apache-2.0
#
# Room attach: the inferior. Who links libattach.a links $(ATTACH_LIBS), libsymbols.a, liblang.a, libgpucode.a, libsbt.a and libcommon.a after it.

noinst_LIBRARIES += libattach.a
libattach_a_SOURCES = \
	src/attach/attach.h src/attach/ptrace/inferior.h src/attach/arch/arch.h src/attach/arch/x86-64.c \
	src/attach/ptrace/inferior.c src/attach/ptrace/launch.c src/attach/ptrace/stops.c src/attach/ptrace/waits.c src/attach/ptrace/newborn.c src/attach/ptrace/terminal.c \
	src/attach/ptrace/control.c src/attach/ptrace/device-ask.c src/attach/ptrace/family.c src/attach/ptrace/request.c \
	src/attach/inject/remote.c src/attach/remote.h src/attach/ptrace/target.c src/attach/ptrace/target.h \
	src/attach/inject/inject.c src/attach/inject/inject.h src/attach/inject/safe.c src/attach/inject/seize.c src/attach/ptrace/detach.c src/attach/ptrace/find.c src/attach/inject/handover.c src/attach/inject/handover.h \
	src/attach/ptrace/keeper-process.c src/attach/ptrace/keeper-process.h \
	src/attach/drain/drain.c src/attach/drain/drain.h src/attach/drain/drain-ring.c src/attach/drain/drain-stacks.c src/attach/drain/drain-join.c src/attach/drain/drain-code.c \
	src/attach/drain/drain-memory.c src/attach/drain/drain-python.c \
	src/attach/ptrace/libraries.c \
	src/attach/unwind/frames.h src/attach/unwind/unwind.c src/attach/unwind/unwind-memory.c src/attach/unwind/backtrace.c src/attach/unwind/python-frames.c \
	src/attach/unwind/program-names.c src/attach/program-names.h
libattach_a_CPPFLAGS = $(AM_CPPFLAGS) $(ELF_CFLAGS) $(UNWIND_PTRACE_CFLAGS) $(XXHASH_CFLAGS)
ATTACH_LIBS = $(ELF_LIBS) $(UNWIND_PTRACE_LIBS) $(XXHASH_LIBS) -ldl -lm
HEADERS_TO_CHECK += src/attach/attach.h src/attach/program-names.h src/attach/arch/arch.h src/attach/ptrace/inferior.h src/attach/drain/drain.h \
	src/attach/unwind/frames.h src/attach/inject/inject.h src/attach/remote.h src/attach/ptrace/target.h src/attach/inject/handover.h src/attach/ptrace/keeper-process.h

# Programs under test are never sanitised: LeakSanitizer refuses to work under ptrace.
check_PROGRAMS += tests/programs/attach-agent
tests_programs_attach_agent_SOURCES = tests/programs/attach-agent.c src/sbt/cmd/cmd.c src/sbt/cmd/kernel-name.c src/sbt/cmd/expr.c
tests_programs_attach_agent_CFLAGS = -std=gnu11 $(WARN_CFLAGS)
tests_programs_attach_agent_LDFLAGS = -pthread

if HAVE_CMOCKA
ATTACH_TEST_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
ATTACH_TEST_LIBS = libattach.a libsymbols.a liblang.a libgpucode.a libsbt.a libcommon.a $(CMOCKA_LIBS) $(ATTACH_LIBS) -lpthread
check_PROGRAMS += tests/programs/attach-inferior
tests_programs_attach_inferior_SOURCES = tests/programs/attach-inferior.c
tests_programs_attach_inferior_CFLAGS = -std=gnu11 -g -O1 -Wno-unused-parameter
tests_programs_attach_inferior_LDFLAGS = -pthread
tests_programs_attach_inferior_LDADD = -ldl
check_PROGRAMS += tests/programs/libtsdb-agent-stub.so tests/programs/libcupti-stub.so
tests_programs_libtsdb_agent_stub_so_SOURCES = tests/programs/attach-stub.c
tests_programs_libtsdb_agent_stub_so_CFLAGS = -std=gnu11 -fPIC -DSTUB_AGENT
tests_programs_libtsdb_agent_stub_so_LDFLAGS = -shared
tests_programs_libcupti_stub_so_SOURCES = tests/programs/attach-stub.c
tests_programs_libcupti_stub_so_CFLAGS = -std=gnu11 -fPIC -fno-optimize-sibling-calls
tests_programs_libcupti_stub_so_LDFLAGS = -shared
check_PROGRAMS += tests/unit/test-attach-maps-line
TESTS += tests/unit/test-attach-maps-line
tests_unit_test_attach_maps_line_SOURCES = tests/unit/test-attach-maps-line.c
tests_unit_test_attach_maps_line_CFLAGS = $(ATTACH_TEST_CFLAGS)
tests_unit_test_attach_maps_line_LDADD = $(CMOCKA_LIBS)
check_PROGRAMS += tests/unit/test-attach-launch
TESTS += tests/unit/test-attach-launch
tests_unit_test_attach_launch_SOURCES = tests/unit/test-attach-launch.c tests/unit/test-attach-common.h
tests_unit_test_attach_launch_CFLAGS = $(ATTACH_TEST_CFLAGS)
tests_unit_test_attach_launch_LDADD = $(ATTACH_TEST_LIBS)
check_PROGRAMS += tests/unit/test-attach-stops
TESTS += tests/unit/test-attach-stops
tests_unit_test_attach_stops_SOURCES = tests/unit/test-attach-stops.c tests/unit/test-attach-common.h
tests_unit_test_attach_stops_CFLAGS = $(ATTACH_TEST_CFLAGS)
tests_unit_test_attach_stops_LDADD = $(ATTACH_TEST_LIBS)
check_PROGRAMS += tests/unit/test-attach-inject
TESTS += tests/unit/test-attach-inject
tests_unit_test_attach_inject_SOURCES = tests/unit/test-attach-inject.c
tests_unit_test_attach_inject_CFLAGS = $(ATTACH_TEST_CFLAGS)
tests_unit_test_attach_inject_LDADD = $(ATTACH_TEST_LIBS)
check_PROGRAMS += tests/unit/test-attach-agent
TESTS += tests/unit/test-attach-agent
tests_unit_test_attach_agent_SOURCES = tests/unit/test-attach-agent.c tests/unit/test-attach-common.h
tests_unit_test_attach_agent_CFLAGS = $(ATTACH_TEST_CFLAGS)
tests_unit_test_attach_agent_LDADD = $(ATTACH_TEST_LIBS)
check_PROGRAMS += tests/programs/attach-stack-o0 tests/programs/attach-stack-o2 tests/programs/attach-stack-plain
ATTACH_STACK_CFLAGS = -std=gnu11 -Wno-unused-parameter $(NO_IPA_CFLAGS)
tests_programs_attach_stack_o0_SOURCES = tests/programs/attach-stack.c
tests_programs_attach_stack_o0_CFLAGS = $(ATTACH_STACK_CFLAGS)
tests_programs_attach_stack_o0_LDFLAGS = -pthread
tests_programs_attach_stack_o2_SOURCES = tests/programs/attach-stack.c
tests_programs_attach_stack_o2_CFLAGS = $(ATTACH_STACK_CFLAGS)
tests_programs_attach_stack_o2_LDFLAGS = -pthread
tests_programs_attach_stack_plain_SOURCES = tests/programs/attach-stack.c
tests_programs_attach_stack_plain_CFLAGS = $(ATTACH_STACK_CFLAGS)
tests_programs_attach_stack_plain_LDFLAGS = -pthread
# What the user put into CFLAGS comes last on the command line, so these are set for the objects alone.
tests/programs/attach_stack_o0-attach-stack.$(OBJEXT): CFLAGS = -g -O0
tests/programs/attach_stack_o2-attach-stack.$(OBJEXT): CFLAGS = -g -O2 -fomit-frame-pointer -fno-optimize-sibling-calls
tests/programs/attach_stack_plain-attach-stack.$(OBJEXT): CFLAGS = -g0 -O1 -fomit-frame-pointer -fno-optimize-sibling-calls
# As clang leaves it.
check_SCRIPTS += tests/programs/attach-stack-noaranges
tests/programs/attach-stack-noaranges: tests/programs/attach-stack-o2$(EXEEXT)
	$(AM_V_GEN)$(OBJCOPY) --remove-section .debug_aranges $< $@
CLEANFILES += tests/programs/attach-stack-noaranges
check_PROGRAMS += tests/programs/attach-fatbin-ptx tests/programs/attach-fatbin-elf
tests_programs_attach_fatbin_ptx_SOURCES = tests/programs/attach-fatbin.c
tests_programs_attach_fatbin_ptx_CFLAGS = -std=gnu11 -DPTX
tests_programs_attach_fatbin_elf_SOURCES = tests/programs/attach-fatbin.c
tests_programs_attach_fatbin_elf_CFLAGS = -std=gnu11
tests_programs_attach_fatbin_ptx_LDFLAGS = -pthread
tests_programs_attach_fatbin_elf_LDFLAGS = -pthread
check_PROGRAMS += tests/unit/test-attach-stack
TESTS += tests/unit/test-attach-stack
tests_unit_test_attach_stack_SOURCES = tests/unit/test-attach-stack.c tests/unit/test-attach-common.h
tests_unit_test_attach_stack_CFLAGS = $(ATTACH_TEST_CFLAGS)
tests_unit_test_attach_stack_LDADD = $(ATTACH_TEST_LIBS)
check_PROGRAMS += tests/unit/test-attach-memory
TESTS += tests/unit/test-attach-memory
tests_unit_test_attach_memory_SOURCES = tests/unit/test-attach-memory.c tests/unit/test-attach-common.h
tests_unit_test_attach_memory_CFLAGS = $(ATTACH_TEST_CFLAGS)
tests_unit_test_attach_memory_LDADD = $(ATTACH_TEST_LIBS)
check_PROGRAMS += tests/unit/test-attach-drain
TESTS += tests/unit/test-attach-drain
tests_unit_test_attach_drain_SOURCES = tests/unit/test-attach-drain.c tests/unit/test-attach-common.h
tests_unit_test_attach_drain_CFLAGS = $(ATTACH_TEST_CFLAGS) $(XXHASH_CFLAGS)
tests_unit_test_attach_drain_LDADD = $(ATTACH_TEST_LIBS)
endif
