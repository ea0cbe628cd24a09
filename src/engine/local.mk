# SPDX-License-Identifier: Apache-2.0
#
# Room engine: what tsdb can do, without a terminal.

noinst_LIBRARIES += libengine.a
libengine_a_SOURCES = \
	src/engine/analyse/check.c \
	src/engine/analyse/exact-alike.c \
	src/engine/analyse/exact-alike.h \
	src/engine/analyse/exact.c \
	src/engine/analyse/explore-course.c src/engine/analyse/explore-found.c \
	src/engine/analyse/explore-graphs.c \
	src/engine/analyse/explore-jobs.c \
	src/engine/analyse/explore-merge.c \
	src/engine/analyse/explore-orders.c \
	src/engine/analyse/explore-pairs.c \
	src/engine/analyse/explore-private.h \
	src/engine/analyse/explore.c \
	src/engine/analyse/host-changes.c \
	src/engine/analyse/host-changes.h \
	src/engine/analyse/partial.c \
	src/engine/analyse/races-edges.c src/engine/analyse/races-find.c \
	src/engine/analyse/reads-clock.c \
	src/engine/record/names-shard.c \
	src/engine/analyse/unwritten.c \
	src/engine/nan.h \
	src/engine/nan/nan-find.c \
	src/engine/nan/nan-names.c \
	src/engine/nan/nan-readers.c \
	src/engine/nan/nan-graph.c \
	src/engine/nan/nan-private.h \
	src/engine/nan/nan-scan.c \
	src/engine/nan/nan-site.c \
	src/engine/nan/nan-test.c \
	src/engine/nan/nan-types.c \
	src/engine/nan/nan-walk.c \
	src/engine/nan/nan-window.c \
	src/engine/nan/nan-written.c \
	src/engine/analyse/verdict-calls.c \
	src/engine/analyse/verdict-private.h \
	src/engine/analyse/verdict-race.c src/engine/analyse/verdict-host.c \
	src/engine/analyse/verdict.c \
	src/engine/breakpoints.h \
	src/engine/check.h \
	src/engine/trace/clocks.h \
	src/engine/device-clocks.h \
	src/engine/session/engine.c \
	src/engine/engine.h \
	src/engine/exact.h \
	src/engine/explore.h \
	src/engine/extract.h \
	src/engine/extract/extract-memory.c \
	src/engine/extract/extract-private.h \
	src/engine/extract/extract-program.c \
	src/engine/extract/extract-text.c src/engine/extract/extract-text-hip.c \
	src/engine/extract/extract.c \
	src/engine/graph-steps.h \
	src/engine/kernel-lines.h \
	src/engine/trace/kernel-lines.c \
	src/engine/trace/kernel-vars.c \
	src/engine/trace/kernel-probes.c src/engine/trace/kernel-probes.h src/engine/trace/kernel-prints.c \
	src/engine/trace/probe-names.c src/engine/trace/probe-names.h \
	src/engine/live-capture.h \
	src/engine/live-follow.h \
	src/engine/live-look.h \
	src/engine/live/live-process.h \
	src/engine/live/breakpoints.c \
	src/engine/live/live-attach.c \
	src/engine/live/live-capture.c \
	src/engine/live/live-end.c \
	src/engine/live/live-fault.c \
	src/engine/live/live-follow.c \
	src/engine/live/live-gpu.c \
	src/engine/live/live-keeper.c \
	src/engine/live/live-look.c \
	src/engine/live/live-private.h \
	src/engine/live/live-process.c \
	src/engine/live/live-signals.c \
	src/engine/live/live-step.c \
	src/engine/live/soft-settings.c \
	src/engine/microscope.h \
	src/engine/names.h \
	src/engine/partial.h \
	src/engine/session/parts.c \
	src/engine/parts.h \
	src/engine/analyse/races-edges.h src/engine/races-find.h \
	src/engine/ranks.h \
	src/engine/record/names.c \
	src/engine/record/recorder-file.c \
	src/engine/record/recorder-inside.h \
	src/engine/record/recorder-memory.c \
	src/engine/record/recorder-stacks.c src/engine/record/recorder-symbols.c src/engine/record/recorder-sources.c \
	src/engine/record/recorder.c \
	src/engine/recorder.h \
	src/engine/replay-device.h \
	src/engine/replay-moves.h \
	src/engine/replay-order.h \
	src/engine/session/settings.c src/engine/session/last-stop.c src/engine/last-stop.h \
	src/engine/settings.def \
	src/engine/settings.h \
	src/engine/soft-settings.h \
	src/engine/trace-file.h \
	src/engine/trace/clocks.c \
	src/engine/trace/device-clocks.c \
	src/engine/trace/graph-place.c \
	src/engine/trace/graph-steps.c \
	src/engine/trace/microscope.c \
	src/engine/trace/ranks.c \
	src/engine/trace/replay-device.c \
	src/engine/trace/replay-moves.c src/engine/trace/replay-walk.c src/engine/trace/replay-walk.h src/engine/trace/access-watch.c src/engine/trace/access-watch.h \
	src/engine/trace/replay-order.c \
	src/engine/trace/trace-file.c \
	src/engine/trace/who-wrote.c \
	src/engine/analyse/unwritten.h \
	src/engine/verdict.h \
	src/engine/who-wrote.h \
	src/engine/why.h \
	src/engine/why-ranks.h \
	src/engine/why/collectives.c \
	src/engine/why/ask.c \
	src/engine/why/why-streams.c \
	src/engine/why/why-device.h \
	src/engine/why/why-graphs.h \
	src/engine/why/graph.c \
	src/engine/why/why-kernels.c src/engine/why/why-moves.c \
	src/engine/why/late-streams.c \
	src/engine/why/why-callbacks.c \
	src/engine/why/why-graphs.c \
	src/engine/why/why-code.c \
	src/engine/why/why-code.h \
	src/engine/why/why-helpers.c \
	src/engine/why/why-peers.c \
	src/engine/why/why-queue.c \
	src/engine/why/why-values.c \
	src/engine/why/host-children.c \
	src/engine/why/host-claims.c \
	src/engine/why/host-ends.c \
	src/engine/why/host-files.c \
	src/engine/why/host-futex.c \
	src/engine/why/host-look.c \
	src/engine/why/host-look.h \
	src/engine/why/host-python.c \
	src/engine/why/host-waits.c \
	src/engine/why/why-host.c \
	src/engine/why/job.c \
	src/engine/why/judge.c src/engine/why/why-words.c \
	src/engine/why/debugger.h src/engine/why/debugger-text.c \
	src/engine/why/debugger-ask.c src/engine/why/debugger-nodes.c \
	src/engine/why/why-private.h
libengine_a_CPPFLAGS = $(AM_CPPFLAGS) -DTSDB_PLUGINDIR='"$(plugindir)"' -DTSDB_BINDIR='"$(bindir)"'
libengine_a_CFLAGS = $(AM_CFLAGS) $(JANSSON_CFLAGS)

HEADERS_TO_CHECK += \
	src/engine/analyse/exact-alike.h \
	src/engine/analyse/explore-private.h \
	src/engine/analyse/host-changes.h \
	src/engine/analyse/verdict-private.h \
	src/engine/breakpoints.h \
	src/engine/check.h \
	src/engine/trace/clocks.h \
	src/engine/device-clocks.h \
	src/engine/engine.h \
	src/engine/exact.h \
	src/engine/explore.h \
	src/engine/extract.h \
	src/engine/extract/extract-private.h \
	src/engine/graph-steps.h \
	src/engine/live-capture.h \
	src/engine/live-follow.h \
	src/engine/live-look.h \
	src/engine/live/live-process.h \
	src/engine/live/live-private.h \
	src/engine/microscope.h \
	src/engine/names.h \
	src/engine/nan.h \
	src/engine/nan/nan-private.h \
	src/engine/partial.h \
	src/engine/parts.h \
	src/engine/analyse/races-edges.h src/engine/races-find.h \
	src/engine/ranks.h \
	src/engine/record/recorder-inside.h \
	src/engine/recorder.h \
	src/engine/replay-device.h \
	src/engine/replay-moves.h \
	src/engine/replay-order.h \
	src/engine/settings.h \
	src/engine/soft-settings.h src/engine/last-stop.h \
	src/engine/trace-file.h \
	src/engine/analyse/unwritten.h \
	src/engine/verdict.h \
	src/engine/who-wrote.h \
	src/engine/why.h \
	src/engine/why-ranks.h \
	src/engine/why/host-look.h \
	src/engine/why/why-device.h \
	src/engine/why/why-graphs.h \
	src/engine/why/why-private.h

# Everything that a program with the engine is linked with.
ENGINE_LIBS = libengine.a libreplay.a liborder.a libobserve.a libstate.a libattach.a libsymbols.a liblang.a libfatbin.a libgpucode.a libsbt.a libcommon.a \
	$(OBSERVE_LIBS) $(UNWIND_PTRACE_LIBS) $(ELF_LIBS) $(ZSTD_LIBS) $(XXHASH_LIBS) $(JANSSON_LIBS) -lm

if HAVE_CMOCKA
check_PROGRAMS += tests/unit/test-engine-shard
TESTS += tests/unit/test-engine-shard
tests_unit_test_engine_shard_SOURCES = tests/unit/test-engine-shard.c
tests_unit_test_engine_shard_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_engine_shard_LDADD = $(CMOCKA_LIBS) $(ENGINE_LIBS)
check_PROGRAMS += tests/unit/test-engine-many
TESTS += tests/unit/test-engine-many
tests_unit_test_engine_many_SOURCES = tests/unit/test-engine-many.c
tests_unit_test_engine_many_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_engine_many_LDADD = $(CMOCKA_LIBS) $(ENGINE_LIBS)
check_PROGRAMS += tests/unit/test-engine-why
TESTS += tests/unit/test-engine-why
tests_unit_test_engine_why_SOURCES = tests/unit/test-engine-why.c
tests_unit_test_engine_why_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_engine_why_LDADD = $(CMOCKA_LIBS) $(ENGINE_LIBS)
check_PROGRAMS += tests/unit/test-engine-debugger
TESTS += tests/unit/test-engine-debugger
tests_unit_test_engine_debugger_SOURCES = tests/unit/test-engine-debugger.c
tests_unit_test_engine_debugger_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_engine_debugger_LDADD = $(CMOCKA_LIBS) $(ENGINE_LIBS)
check_PROGRAMS += tests/unit/test-engine-inside
TESTS += tests/unit/test-engine-inside
tests_unit_test_engine_inside_SOURCES = tests/unit/test-engine-inside.c
tests_unit_test_engine_inside_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_engine_inside_LDADD = $(CMOCKA_LIBS) $(ENGINE_LIBS)
EXTRA_DIST += tests/unit/fake-cuda-gdb
check_PROGRAMS += tests/unit/test-engine-why-ranks
TESTS += tests/unit/test-engine-why-ranks
tests_unit_test_engine_why_ranks_SOURCES = tests/unit/test-engine-why-ranks.c
tests_unit_test_engine_why_ranks_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_engine_why_ranks_LDADD = $(CMOCKA_LIBS) $(ENGINE_LIBS)
check_PROGRAMS += tests/unit/test-engine-nan-names
TESTS += tests/unit/test-engine-nan-names
tests_unit_test_engine_nan_names_SOURCES = tests/unit/test-engine-nan-names.c
tests_unit_test_engine_nan_names_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_engine_nan_names_LDADD = $(CMOCKA_LIBS) $(ENGINE_LIBS) -lpthread
check_PROGRAMS += tests/unit/test-engine-why-host
TESTS += tests/unit/test-engine-why-host
tests_unit_test_engine_why_host_SOURCES = tests/unit/test-engine-why-host.c
tests_unit_test_engine_why_host_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_engine_why_host_LDADD = $(CMOCKA_LIBS) $(ENGINE_LIBS) -lpthread
check_PROGRAMS += tests/unit/test-engine-live
TESTS += tests/unit/test-engine-live
tests_unit_test_engine_live_SOURCES = tests/unit/test-engine-live.c tests/unit/engine-test.h
tests_unit_test_engine_live_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_engine_live_LDADD = $(CMOCKA_LIBS) $(ENGINE_LIBS)
check_PROGRAMS += tests/unit/test-engine-extract
TESTS += tests/unit/test-engine-extract
tests_unit_test_engine_extract_SOURCES = tests/unit/test-engine-extract.c tests/unit/engine-test.h
tests_unit_test_engine_extract_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_engine_extract_LDADD = $(CMOCKA_LIBS) $(ENGINE_LIBS)
check_PROGRAMS += tests/unit/test-engine-replay
TESTS += tests/unit/test-engine-replay
tests_unit_test_engine_replay_SOURCES = tests/unit/test-engine-replay.c tests/unit/engine-test.h
tests_unit_test_engine_replay_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_test_engine_replay_LDADD = $(CMOCKA_LIBS) $(ENGINE_LIBS)
endif
