#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# The software GPU gives the bits that an H200 gave (driver 580.159.04): a hash per instruction over 2,048 operand triples, NaNs and
# subnormals among them. Speaks TAP.
build=${TSDB_BUILD:-.} src=${TSDB_SRC:-.}
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
echo 1..2
status=0
i=0
for env in X=1 TSDB_SOFT_NO_AVX2=1; do
	i=$((i + 1))
	if env $env LD_LIBRARY_PATH="$build/softgpu" "$build/tests/programs/ptx-bits" "$tmp/bits" 2>"$tmp/err" &&
		"$build/tests/programs/ptx-bits" --hashes "$tmp/bits" >"$tmp/hashes" &&
		diff "$src/tests/programs/ptx-bits.h200" "$tmp/hashes" >"$tmp/diff"; then
		echo "ok $i - the bits of an H200, $env"
	else
		cat "$tmp/err" "$tmp/diff" | head -n 40 | sed 's/^/# /'
		echo "not ok $i - the bits of an H200, $env"
		status=1
	fi
done
exit $status
