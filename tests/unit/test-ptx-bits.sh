#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# The software GPU gives the bits that an H200 gave (driver 580.159.04): a hash per instruction over operands with NaNs and subnormals among
# them; its approximations are within their bounds of results of that H200. What scripts/ptx-goldens has not been recorded for yet is counted,
# not compared. Speaks TAP.
build=${TSDB_BUILD:-.} src=${TSDB_SRC:-.}
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
echo 1..5
status=0
i=0
for program in ptx-bits ptx-mats; do
	for env in X=1 TSDB_SOFT_NO_AVX2=1; do
		i=$((i + 1))
		if env $env LD_LIBRARY_PATH="$build/softgpu" "$build/tests/programs/$program" "$tmp/bits" 2>"$tmp/err" && [ ! -s "$tmp/err" ] &&
			"$build/tests/programs/$program" --hashes "$tmp/bits" >"$tmp/hashes" &&
			awk 'FILENAME == ARGV[1] { if (/^#/) next; golden[substr($0, 18)] = $1; next }
				{ form = substr($0, 18); if (!(form in golden)) { fresh++; next }
				same++; if (golden[form] != $1) { print "differs: " form; bad = 1; same-- } delete golden[form] }
				END { for (form in golden) { print "not run: " form; bad = 1 }
				printf "%d forms, %s; %d without golden\n", same, bad ? "others differ" : "all equal", fresh; exit bad }' "$src/tests/programs/$program.h200" "$tmp/hashes" >"$tmp/diff"; then
			sed 's/^/# /' "$tmp/diff"
			echo "ok $i - the bits of an H200, $program $env"
		else
			cat "$tmp/err" "$tmp/diff" | head -n 40 | sed 's/^/# /'
			echo "not ok $i - the bits of an H200, $program $env"
			status=1
		fi
	done
done
if LD_LIBRARY_PATH="$build/softgpu" "$build/tests/programs/ptx-bits" "$tmp/bits" && "$build/tests/programs/ptx-bits" --near "$src/tests/programs/ptx-near.h200" "$tmp/bits" >"$tmp/diff"; then
	sed 's/^/# /' "$tmp/diff"
	echo "ok 5 - approximations are near an H200's"
else
	head -n 40 "$tmp/diff" | sed 's/^/# /'
	echo "not ok 5 - approximations are near an H200's"
	status=1
fi
exit $status
