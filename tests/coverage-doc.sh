#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# docs/coverage.md is what scripts/coverage makes of the header it was made of; another version of CUDA has other entry points.
src=${TSDB_SRC:-.}
include=${TSDB_CUDA:-/usr/local/cuda}/include
echo 1..1
if ! grep -q "cuda.h. $(sed -n 's/^#define CUDA_VERSION \([0-9]*\)0\([0-9]\)0.*/\1.\2/p' "$include/cuda.h" 2>/dev/null) " "$src/docs/coverage.md"; then
	echo "ok 1 - docs/coverage.md is up to date # SKIP no CUDA of that version"
	exit 0
fi
if python3 "$src/scripts/coverage" "$include" "$src" | diff - "$src/docs/coverage.md" | sed 's/^/# /' | grep .; then
	echo "not ok 1 - docs/coverage.md is up to date (make -C build docs)"
	exit 1
fi
echo "ok 1 - docs/coverage.md is up to date"
