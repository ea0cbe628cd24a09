#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
# The ordinary CUDA programs of tests/programs/ptx-suite on the software GPU: each compares its results with the CPU's. Speaks
# TAP.

import glob
import os
import re
import subprocess
import sys

BUILD = os.environ.get("TSDB_BUILD", ".")
SRC = os.environ.get("TSDB_SRC", ".")
programs = sorted(os.path.basename(p)[:-3] for p in glob.glob(os.path.join(SRC, "tests", "programs", "ptx-suite", "*.cu")))
failed = 0

if not os.path.exists(os.path.join(BUILD, "tests", "programs", "ptx-suite", "scan")):
    print("1..0 # SKIP no nvcc when this was built")
    sys.exit(0)
# The interpreter has two ways to compute and any number of workers: none of it may show. Nor may another order of blocks and warps; and
# the race check accuses nobody (what may be meant, it tells as such; large_tiles of groups_reduce says about itself why it is told).
modes = [{"TSDB_SOFT_WORKERS": "4"}, {"TSDB_SOFT_WORKERS": "1", "TSDB_SOFT_NO_AVX2": "1"}, {"TSDB_SOFT_SCHEDULE": "random:1"},
         {"TSDB_SOFT_SCHEDULE": "random:2", "TSDB_SOFT_RACECHECK": "1"}]
print(f"1..{len(programs) * len(modes)}")
n = 0
for name in programs:
    for mode in modes:
        n += 1
        env = dict(os.environ, LD_LIBRARY_PATH=os.path.join(BUILD, "softgpu"), **mode)
        env.pop("CUDA_INJECTION64_PATH", None)
        try:
            p = subprocess.run([os.path.join(BUILD, "tests", "programs", "ptx-suite", name)], env=env, capture_output=True, text=True, timeout=600)
            told = p.stderr if "TSDB_SOFT_RACECHECK" not in mode else "".join(re.findall(r"^tsdb: software GPU: (?!race \(|race in \w*large_tiles).*", p.stderr, re.M))
            ok = p.returncode == 0 and p.stdout == f"{name}: ok\n" and not told
            why = (p.stdout + p.stderr).splitlines()
        except subprocess.TimeoutExpired:
            ok, why = False, ["takes more than ten minutes"]
        failed += not ok
        if not ok:
            for line in why[-10:]:
                print("# " + line)
        print(f"{'ok' if ok else 'not ok'} {n} - {name} {' '.join(k + '=' + v for k, v in mode.items())}", flush=True)
sys.exit(failed != 0)
