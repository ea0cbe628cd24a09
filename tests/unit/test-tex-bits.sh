#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Textures give the same bits in every mode of the software GPU and, where an H200's are recorded (tests/programs/tex-bits.h200: the output of
# tex-bits --hashes there), those bits. Speaks TAP.
build=${TSDB_BUILD:-.} src=${TSDB_SRC:-.}
bits=$build/tests/programs/tex-bits
if [ ! -x "$bits" ]; then
	echo "1..0 # SKIP no nvcc when this was built"
	exit 0
fi
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
status=0
check() {
	name=$1
	shift
	if "$@" >"$tmp/out" 2>&1; then
		echo "ok $name"
	else
		head -n 40 "$tmp/out" | sed 's/^/# /'
		echo "not ok $name"
		status=1
	fi
}
export LD_LIBRARY_PATH="$build/softgpu"
echo 1..4
check "1 - runs" "$bits" "$tmp/a"
check "2 - runs on one worker, for any x86-64" env TSDB_SOFT_WORKERS=1 TSDB_SOFT_NO_AVX2=1 "$bits" "$tmp/b"
check "3 - the same bits" "$bits" --compare "$tmp/a" "$tmp/b"
if [ -e "$src/tests/programs/tex-bits.h200" ]; then
	"$bits" --hashes "$tmp/a" >"$tmp/hashes"
	check "4 - the bits of an H200" diff "$src/tests/programs/tex-bits.h200" "$tmp/hashes"
else
	echo "ok 4 - the bits of an H200 # SKIP not recorded"
fi
exit $status
