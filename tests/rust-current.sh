#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# What the Rust crates have of tracesmith.h and of commands.def is what scripts/rust-bindings makes of them.
echo 1..1
if stale=$(python3 "${TSDB_SRC:-.}/scripts/rust-bindings" --check "${TSDB_SRC:-.}" 2>&1); then
	echo "ok 1 - the Rust crates are current"
else
	echo "not ok 1 - the Rust crates are current"
	echo "$stale" | sed 's/^/# /'
	echo "# scripts/rust-bindings . in the source tree makes them anew"
fi
