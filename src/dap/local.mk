# SPDX-License-Identifier: Apache-2.0
#
# Room dap: the Debug Adapter Protocol, over sessions of libtracesmith.

noinst_LIBRARIES += libdap.a
libdap_a_SOURCES = src/dap/dap.h \
	src/dap/wire/dap-frame.c src/dap/dap-frame.h src/dap/wire/dap-link.c src/dap/wire/dap-link.h \
	src/dap/core/dap-private.h src/dap/dap-requests.def src/dap/core/dap-table.c src/dap/core/dap-main.c src/dap/core/dap-args.c \
	src/dap/core/dap-ask.c src/dap/core/dap-move.c \
	src/dap/requests/dap-begin.c src/dap/requests/dap-moves.c src/dap/requests/dap-points.c src/dap/requests/dap-filters.c \
	src/dap/requests/dap-stack.c src/dap/requests/dap-values.c src/dap/requests/dap-evaluate.c src/dap/requests/dap-memory.c \
	src/dap/requests/dap-code.c src/dap/requests/dap-own.c
libdap_a_CPPFLAGS = $(AM_CPPFLAGS) -I$(srcdir)/include
libdap_a_CFLAGS = $(AM_CFLAGS) $(JANSSON_CFLAGS)
HEADERS_TO_CHECK += src/dap/dap.h src/dap/dap-frame.h src/dap/wire/dap-link.h src/dap/core/dap-private.h
