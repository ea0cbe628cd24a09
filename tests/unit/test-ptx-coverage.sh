#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# The table of instructions in docs/softgpu.md is the one that the decoder has.
exec "${TSDB_SRC:-.}/scripts/ptx-coverage" "${TSDB_BUILD:-.}/tests/ptx-coverage" "${TSDB_SRC:-.}/docs/softgpu.md"
