#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# libtracesmith offers what its header declares and nothing else; the header is C++, too.
build=${TSDB_BUILD:-.} src=${TSDB_SRC:-.}
header=$src/include/tracesmith/tracesmith.h
echo 1..2
declared=$(sed -n 's/^TS_API [^(]*[ *]\(ts_[a-z_]*\)(.*/\1/p' "$header" | sort)
visible=$(nm -D --defined-only "$build/libtracesmith.so.0" | sed -n 's/.* [TDBRVW] \([^@]*\).*/\1/p' | sort)
if [ -n "$declared" ] && [ "$declared" = "$visible" ]; then
	echo "ok 1 - what is visible is what is declared"
else
	echo "not ok 1 - what is visible is what is declared"
	echo "# declared: $declared" | tr '\n' ' '
	echo
	echo "# visible: $visible" | tr '\n' ' '
	echo
fi
if ! command -v c++ >/dev/null; then
	echo "ok 2 - the header is C++ # SKIP no C++ compiler"
elif echo "#include <tracesmith/tracesmith.h>" | c++ -std=c++11 -pedantic -Wall -Wextra -Werror -fsyntax-only -I"$src/include" -x c++ -; then
	echo "ok 2 - the header is C++"
else
	echo "not ok 2 - the header is C++"
fi
