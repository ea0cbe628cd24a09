#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# The direction of dependencies between rooms (docs/design.md), checked on #include lines. Prints a TAP result.
set -eu
cd "$(dirname "$0")/.."
echo 1..1
bad=$(
	for f in src/*/*.[ch] src/*/*.def; do
		room=$(echo "$f" | cut -d/ -f2)
		case $room in
		sbt) may='sbt' ;;
		state) may='sbt state' ;;
		order) may='sbt state order' ;;
		attach) may='sbt attach capture/wire.h' ;;
		capture) may='sbt/cmd.h sbt/footprint.h sbt/commands.def sbt/expr.h sbt/pagehash.h sbt/python.h replay/hash-kernel.h replay/cubin.h replay/cubin-cells.h capture' ;;
		replay) may='sbt state order replay' ;;
		softgpu) may='softgpu capture/soft-fault.h replay/soft-watch.h replay/soft-debug.h' ;;
		observe) may='sbt state attach observe' ;;
		shell) may='sbt state order replay attach observe shell capture/wire.h' ;;
		*) echo "$f: a room nobody knows"; continue ;;
		esac
		sed -n 's/^#[ \t]*include "\([^"]*\)".*/\1/p' "$f" | while read -r inc; do
			case $inc in
			config.h | maps-line.h | checked.h | patience.h) continue ;;
			err.h | buf.h | log.h | text.h | file.h)
				case $room in
				capture | softgpu) echo "$f: includes $inc, which is not for code in other people's programs" ;;
				esac
				continue
				;;
			*/*) ;;
			*) continue ;;
			esac
			ok=
			for m in $may; do
				case $inc in
				"$m" | "$m"/*) ok=1 ;;
				esac
			done
			[ -n "$ok" ] || echo "$f: room $room may not include $inc"
		done
	done
)
if [ -z "$bad" ]; then
	echo "ok 1 - layers"
else
	echo "$bad" | sed 's/^/# /'
	echo "not ok 1 - layers"
	exit 1
fi
