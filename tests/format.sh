#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# C is laid out as .clang-format says, by the version that Debian 12 has: others differ in small things.
src=${TSDB_SRC:-.}
if ! clang-format --version 2>/dev/null | grep -q 'version 14\.'; then
	echo "1..0 # SKIP needs clang-format 14"
	exit 0
fi
echo 1..1
if wrong=$("$src/scripts/format" format.known --check); then
	echo "ok 1 - layout of C"
else
	echo "# make format lays these out, and others"
	echo "$wrong" | sed 's/^/# /'
	echo "not ok 1 - layout of C"
fi
