#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
# The CUDA programs of tests/programs/ptx-suite, compiled as HIP through a header of renames, on the software AMD GPU: each compares its
# results with the CPU's. Where the CUDA program is there as well, it runs on the software NVIDIA GPU, and both must have the same integers,
# bit for bit, and the same floats where nothing rounds differently. Speaks TAP.

import glob
import os
import re
import subprocess
import sys
import tempfile

BUILD = os.environ.get("TSDB_BUILD", ".")
SRC = os.environ.get("TSDB_SRC", ".")

NO_LIBRARY = "a library of NVIDIA's that Debian's HIP has no sister of"
NOT_HIP = {
    "async": "clusters, bulk copies, barriers in shared memory: NVIDIA's hardware",
    "attention": "wmma",
    "control": "PTX in the source, alloca, lanes of a wave that wait for each other",
    "cub_block": NO_LIBRARY,
    "cub_device": NO_LIBRARY,
    "cub_sort": NO_LIBRARY,
    "curand": NO_LIBRARY,
    "groups": "a cooperative launch",
    "groups_reduce": "collectives that HIP 5.2's cooperative groups do not have",
    "heap": "malloc in kernels: HIP 5.2 has none that works",
    "intrinsics": "roundings and byte products that HIP does not have",
    "libcu": NO_LIBRARY,
    "numbers": "bf16 and fp8 as NVIDIA's headers have them",
    "texture": "images: gfx90a has no instructions for them",
    "thrust": NO_LIBRARY,
    "wmma": "wmma",
}
# Floats that two machines need not have alike, though no approximate instruction is executed: how each C library's function rounds.
OTHER_ROUNDINGS = {}


def run(program, libraries, **env):
    with tempfile.NamedTemporaryFile(prefix="suite-") as f:
        env = dict(os.environ, LD_LIBRARY_PATH=os.path.join(BUILD, libraries), SUITE_RESULTS=f.name, **env)
        env.pop("CUDA_INJECTION64_PATH", None)
        p = subprocess.run([program], env=env, capture_output=True, text=True, timeout=300)
        return p, [line.split("\t") for line in f.read().decode().splitlines()]


def differences(name, ours, theirs, approximate):
    """Of two lists of results; floats count unless something is said to round otherwise."""
    if len(ours) != len(theirs):
        return [f"{len(ours)} comparisons here, {len(theirs)} there"]
    lax = approximate or name in OTHER_ROUNDINGS
    return [f"{a[0]}: {' '.join(a[2:])} here, {' '.join(b[2:])} there" for a, b in zip(ours, theirs) if a != b and not (a[1] == "f" and lax)]


def check(name):
    """What is wrong, and what a reader may want to know."""
    p, ours = run(os.path.join(BUILD, "tests", "programs", "hip", "suite", name), "softamd", TSDB_SOFTAMD_LOG="1", TSDB_SOFTAMD_DEVICES="2")
    said = [line for line in p.stderr.splitlines() if not re.match(r"tsdb: soft-amd: queue \d+: ", line)]
    approximate = sorted(set(re.findall(r"\b[vs]_\w+", " ".join(re.findall(r"perhaps not the hardware's bits:(.*)", p.stderr)))))
    if p.returncode or p.stdout != f"{name}: ok\n" or said:
        return (p.stdout.splitlines() + said)[-10:], ""
    twin = os.path.join(BUILD, "tests", "programs", "ptx-suite", name)
    note = f"{len(ours)} comparisons" + (", approximate: " + " ".join(approximate) if approximate else "")
    if not os.path.exists(twin):
        return [], note + "; no CUDA twin"
    q, theirs = run(twin, "softgpu")
    if q.returncode:
        return ["the CUDA twin: " + (q.stdout + q.stderr)[-300:]], note
    same = sum(a == b for a, b in zip(ours, theirs))
    return differences(name, ours, theirs, approximate), note + f"; {same} the same as on the software NVIDIA GPU"


def main():
    names = sorted(os.path.basename(p)[:-3] for p in glob.glob(os.path.join(SRC, "tests", "programs", "ptx-suite", "*.cu")))
    if not os.path.exists(os.path.join(BUILD, "tests", "programs", "hip", "suite", "scan")):
        print("1..0 # SKIP no hipcc when this was built")
        return 0
    failed = 0
    print(f"1..{len(names)}")
    for n, name in enumerate(names, 1):
        if name in NOT_HIP:
            print(f"ok {n} - {name} # SKIP {NOT_HIP[name]}", flush=True)
            continue
        try:
            wrong, note = check(name)
        except subprocess.TimeoutExpired:
            wrong, note = ["takes more than five minutes"], ""
        for line in wrong:
            print("# " + line)
        print(f"{'not ok' if wrong else 'ok'} {n} - {name}: {note}", flush=True)
        failed += bool(wrong)
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
