#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# docs/coverage-hip.md is what scripts/coverage-hip makes of src/capture/hip/hip-calls.def.
src=${TSDB_SRC:-$(cd "$(dirname "$0")/.." && pwd)}
exec python3 "$src/scripts/coverage-hip" --check "$src"
