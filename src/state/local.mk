# SPDX-License-Identifier: Apache-2.0
#
# Room state: the GPU state machine.

noinst_LIBRARIES += libstate.a
libstate_a_SOURCES = src/state/state.h src/state/state-private.h \
	src/state/vec.c src/state/vec.h src/state/allocs.c src/state/allocs.h \
	src/state/state.c src/state/transitions.c src/state/queue.c src/state/keyframe.c src/state/look.c \
	src/state/print.c src/state/json.c src/state/json.h src/state/seek.c
HEADERS_TO_CHECK += src/state/state.h src/state/state-private.h src/state/vec.h src/state/allocs.h \
	src/state/json.h
