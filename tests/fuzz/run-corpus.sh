#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Every file of every fuzz corpus through its target, without a fuzzer. A target is tests/fuzz/fuzz-NAME.c, its corpus
# tests/fuzz/corpus/NAME/.
build=${TSDB_BUILD:-.} src=${TSDB_SRC:-.}
set -- "$build"/tests/fuzz/replay-*
n=0
for t; do
	case $t in *.o | *.d) ;; *) n=$((n + 1)) ;; esac
done
echo 1..$n
i=0 failed=0
for t; do
	case $t in *.o | *.d) continue ;; esac
	i=$((i + 1)) name=${t##*/replay-}
	set -- "$src/tests/fuzz/corpus/$name"/*
	if [ ! -e "$1" ]; then
		echo "not ok $i - $name: no corpus"
		failed=1
	elif out=$("$t" "$@" 2>&1); then
		echo "ok $i - $name: $# files"
	else
		echo "$out" | tail -n 40 | sed 's/^/# /'
		echo "not ok $i - $name"
		failed=1
	fi
done
exit $failed
