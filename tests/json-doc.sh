#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# The tables in docs/json.md are those that tsdb prints by, and every name in them has a meaning.
echo 1..1
src=${TSDB_SRC:-.} build=${TSDB_BUILD:-.}
if python3 "$src/scripts/json-doc" --check "$build/tests/json-schema" "$src/docs/json.md" 2>&1 | sed 's/^/# /' | grep .; then
	echo "not ok 1 - docs/json.md is up to date"
	exit 1
fi
echo "ok 1 - docs/json.md is up to date"
