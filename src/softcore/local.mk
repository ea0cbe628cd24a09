# SPDX-License-Identifier: Apache-2.0
#
# Room softcore: what both software GPUs have. Loaded into other people's programs; each library compiles it for itself.

HEADERS_TO_CHECK += src/softcore/access-set.h src/softcore/lane-expr.h src/softcore/lane-print.h src/softcore/lane-probe.h src/softcore/micro-core.h src/softcore/probe-area.h src/softcore/race-list.h src/softcore/vclock.h src/softcore/watch-env.h
SOFTCORE_SOURCES = src/softcore/access-set.c src/softcore/access-set.h src/softcore/lane-expr.c src/softcore/lane-expr.h \
	src/softcore/lane-print.c src/softcore/lane-print.h src/softcore/lane-probe.c src/softcore/lane-probe.h src/softcore/probe-area.c src/softcore/probe-area.h \
	src/softcore/micro-core.c src/softcore/micro-core.h src/softcore/micro-watch.c src/softcore/race-list.c src/softcore/race-list.h \
	src/softcore/vclock.c src/softcore/vclock.h src/softcore/watch-env.c src/softcore/watch-env.h
