#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Compiled kernels give the interpreter's bits: every form of ptx-bits, both ways, and the programs of ptx-suite compiled before their first
# instruction (but for those that take long to compile; `make check-soft-long` has them). Speaks TAP.
build=${TSDB_BUILD:-.}
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
if ! [ -e "$build/softgpu/tsdb-softgpu-jit.so" ]; then
	echo "1..0 # SKIP built without LLVM"
	exit 0
fi
export LD_LIBRARY_PATH="$build/softgpu"
unset CUDA_INJECTION64_PATH
status=0
n=0
tell() { # status name
	n=$((n + 1))
	if [ "$1" = 0 ]; then
		echo "ok $n - $2"
	else
		head -n 20 "$tmp/err" | sed 's/^/# /'
		echo "not ok $n - $2"
		status=1
	fi
}

TSDB_SOFT_JIT=0 "$build/tests/programs/ptx-bits" "$tmp/interpreted" 2>"$tmp/err" &&
	TSDB_SOFT_JIT=force TSDB_SOFT_JIT_LOG=1 "$build/tests/programs/ptx-bits" "$tmp/compiled" 2>"$tmp/log" &&
	cmp "$tmp/interpreted" "$tmp/compiled" >"$tmp/err" 2>&1
tell $? "the bits of ptx-bits"
[ "$(grep -c ' ms$' "$tmp/log")" -ge 200 ]
tell $? "they were compiled"
# The tables of instructions with results worked out by hand; a form that the compiler takes for another shows here.
for t in insns forms; do
	TSDB_SOFT_JIT=force TSDB_SOFT_JIT_LOG=1 TSDB_SOFT_JIT_PLUGIN="$build/softgpu/tsdb-softgpu-jit.so" \
		"$build/tests/unit/test-softgpu-ptx-$t" >"$tmp/err" 2>"$tmp/log"
	status_of=$?
	grep -v '^ptx-jit' "$tmp/log" >>"$tmp/err"
	[ $status_of = 0 ] && grep -q ' ms$' "$tmp/log"
	tell $? "test-softgpu-ptx-$t compiled"
done
for p in "$build"/tests/programs/ptx-suite/*; do
	name=${p##*/}
	[ -f "$p" ] && [ -x "$p" ] || continue
	case $name in maths | attention | cholesky | cub_device | cub_sort | curand | thrust) continue ;; esac
	TSDB_SOFT_JIT=force timeout 120 "$p" >"$tmp/out" 2>"$tmp/err" && [ "$(cat "$tmp/out")" = "$name: ok" ]
	tell $? "$name"
done
echo "1..$n"
exit $status
