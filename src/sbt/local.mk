# SPDX-License-Identifier: Apache-2.0
#
# Room sbt: the trace. libsbt.a for tsdb; the agent compiles cmd.c, kernel-name.c and expr.c itself.

noinst_LIBRARIES += libsbt.a
libsbt_a_SOURCES = \
	src/sbt/cmd.c src/sbt/cmd.h src/sbt/commands.def \
	src/sbt/kernel-name.c \
	src/sbt/expr.c src/sbt/expr-parse.c src/sbt/expr.h \
	src/sbt/sbt.h
HEADERS_TO_CHECK += src/sbt/cmd.h src/sbt/expr.h src/sbt/sbt.h
