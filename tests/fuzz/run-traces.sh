#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Traces through all that executes them, under sanitizers: those of the corpus as they are, then as many changed ones as TSDB_FUZZ_COUNT says, from
# TSDB_FUZZ_SEED on. Needs a build with --enable-sanitizers; a fixed slice, the same cases each time.
build=${TSDB_BUILD:-.} src=${TSDB_SRC:-.} count=${TSDB_FUZZ_COUNT:-8000} seed=${TSDB_FUZZ_SEED:-1}
[ -x "$build/trace-fuzz" ] || {
	echo "1..0 # SKIP needs a build with --enable-sanitizers"
	exit 0
}
echo 1..3
n=0 failed=0
report() {
	n=$((n + 1))
	[ "$1" -eq 0 ] || failed=1
	sed -n '/^#/p' "$2"
	sed -n "s/^\(ok\|not ok\) 1 - /\1 $n - $3: /p" "$2" | grep . || echo "not ok $n - $3: $(tail -n 1 "$2")"
}
out=$(mktemp -d)
"$build/trace-fuzz" "$src"/tests/fuzz/corpus/traces/*.sbt >"$out/corpus" 2>&1
report $? "$out/corpus" corpus
# two at a time, each a half
"$build/trace-fuzz" --seed "$seed" --count $((count / 2)) "$src"/tests/fuzz/corpus/traces/*.sbt >"$out/a" 2>&1 &
first=$!
"$build/trace-fuzz" --seed $((seed + count / 2)) --count $((count - count / 2)) "$src"/tests/fuzz/corpus/traces/*.sbt >"$out/b" 2>&1
second=$?
wait $first
report $? "$out/a" changed
report $second "$out/b" changed
rm -rf "$out"
exit $failed
