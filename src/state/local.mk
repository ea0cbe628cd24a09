# SPDX-License-Identifier: Apache-2.0
#
# Room state: the GPU state machine.

noinst_LIBRARIES += libstate.a
libstate_a_SOURCES = src/state/state.h
HEADERS_TO_CHECK += src/state/state.h
