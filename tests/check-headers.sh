#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Every header of a room compiles alone.
echo 1..1
if out=$(MAKEFLAGS= make -s -C "$TSDB_BUILD" check-headers 2>&1); then
	echo "ok 1 - headers compile alone"
else
	echo "$out" | sed 's/^/# /'
	echo "not ok 1 - headers compile alone"
	exit 1
fi
