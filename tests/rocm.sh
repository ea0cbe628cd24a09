#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# The end-to-end tests of HIP with another version of HIP than this machine's: TSDB_TEST_ROCM is a folder with the root file system of a
# Debian that has hipcc, HIP and python3 (apt-get -o Dir=... --download-only, then dpkg-deb --extract of each package, makes one).
# The programs are compiled there, and tsdb runs there as it was built here. TSDB_TEST_ROCM_CASES: patterns of tests, else all of HIP's.
set -u
root=${TSDB_TEST_ROCM:-} src=$(cd "${TSDB_SRC:-.}" && pwd) build=$(cd "${TSDB_BUILD:-.}" && pwd)
skip() {
	echo "1..0 # SKIP $1"
	exit 0
}
[ -n "$root" ] || skip "TSDB_TEST_ROCM names no folder with another version of HIP"
[ -x "$root/usr/bin/hipcc" ] && [ -x "$root/usr/bin/python3" ] || skip "there is no hipcc, or no python3, in $root/usr/bin"
[ -f "$build/softamd/libhsakmt.so.1" ] || skip "tsdb was built without HIP"
there="$src/scripts/in-root $root $src $build --"
version=$($there hipcc --version 2>/dev/null | sed -n 's/^HIP version: \([0-9.]*\).*/\1/p')
[ -n "$version" ] || skip "hipcc in $root does not say its version"

# A build folder that has all of this one but the programs.
other=$build/hip-$version
mkdir -p "$other/tests/programs/hip" "$other/tests/amd" "$other/examples" || exit 1
for f in "$build"/*; do
	case ${f##*/} in hip-[0-9]* | tests | examples) ;; *) ln -sfn "$f" "$other/${f##*/}" ;; esac
done
for f in "$build"/tests/*; do
	case ${f##*/} in programs | amd) ;; *) ln -sfn "$f" "$other/tests/${f##*/}" ;; esac
done
echo 'int main(void) { return 0; }' >"$other/parts.hip"
parts=-fno-offload-uniform-block
$there hipcc $parts -fsyntax-only "$other/parts.hip" >"$other/programs.log" 2>&1 || parts=
make -s -f "$build/Makefile" -k -C "$other" srcdir="$src" VPATH="$src" HIPCC="env LC_ALL=C $there hipcc" HIP_PARTS=$parts hip-programs >>"$other/programs.log" 2>&1 ||
	echo "# some programs do not compile with HIP $version: $other/programs.log"
echo "# HIP $version of $root"
# shellcheck disable=SC2086 # patterns are words
exec $there env HSA_ENABLE_DTIF=1 TSDB_SRC="$src" TSDB_BUILD="$other" "$src/tests/e2e/e2e.py" ${TSDB_TEST_ROCM_CASES:-'hip-*' 'hip_*' 'softamd-*' 'twins-*'}
