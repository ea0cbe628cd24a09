# SPDX-License-Identifier: Apache-2.0
#
# Room replay: the replay engine.

noinst_LIBRARIES += libreplay.a
libreplay_a_SOURCES = src/replay/replay.h src/replay/replay-private.h \
	src/replay/replay.c src/replay/points.c src/replay/run.c
HEADERS_TO_CHECK += src/replay/replay.h src/replay/replay-private.h
