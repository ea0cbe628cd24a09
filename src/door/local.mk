# SPDX-License-Identifier: Apache-2.0
#
# Room door: what libtracesmith and the tsdb that works for it say to each other.

noinst_LIBRARIES += libdoor.a
libdoor_a_SOURCES = src/door/door.c src/door/door.h src/door/door-peer.c src/door/door-peer.h
HEADERS_TO_CHECK += src/door/door.h src/door/door-peer.h
