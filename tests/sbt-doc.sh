#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# The table in docs/sbt.md is that of commands.def.
echo 1..1
src=${TSDB_SRC:-.}
if python3 "$src/scripts/sbt-doc" --check "$src/src/sbt/commands.def" "$src/docs/sbt.md" 2>&1 | sed 's/^/# /' | grep .; then
	echo "not ok 1 - docs/sbt.md is up to date"
	exit 1
fi
echo "ok 1 - docs/sbt.md is up to date"
