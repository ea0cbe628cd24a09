#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# The corpus of races as HIP, on the software AMD GPU: a few pairs of each kind. All of them: RACES_HIP='*' (make races-hip).
set -f
dir=$(dirname "$0")
TSDB_GPU=soft-amd exec python3 "$dir/run.py" --no-explore ${RACES_HIP:-missing_event_wait tiles_overlap graph_edge blocks_overlap lost_update rounded_up_grid used_after_free uninitialised flag_of_the_host shared_memory sync_warp graph_fills woven}
