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
cd "$src" || exit 1
wrong=$(find src include python tests bench examples -name '*.[ch]' -print0 | xargs -0 -P 2 -n 64 clang-format --dry-run 2>&1 |
	sed -n 's/^\([^:]*:[0-9]*\):.*/\1/p' | sort -u | head -n 20)
if [ -z "$wrong" ]; then
	echo "ok 1 - layout of C"
else
	echo "# make format lays these out, and others"
	echo "$wrong" | sed 's/^/# /'
	echo "not ok 1 - layout of C"
fi
