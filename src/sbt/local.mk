# SPDX-License-Identifier: Apache-2.0
#
# Room sbt: the trace. libsbt.a for tsdb; the agent compiles the few files it needs itself.

noinst_LIBRARIES += libsbt.a
libsbt_a_SOURCES = src/sbt/cmd.h src/sbt/commands.def src/sbt/expr.h src/sbt/sbt.h
HEADERS_TO_CHECK += src/sbt/cmd.h src/sbt/expr.h src/sbt/sbt.h
