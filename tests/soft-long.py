#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
# What `make check` has no time for (`make check-soft-long`): every program of tests/programs/ptx-suite compiled before its first instruction, under
# four more random schedules, and recorded and replayed with everything compared. Arguments: names of programs; none: all. Prints a table, one line for
# each program; what is refused is named. Exit status 1: something failed.

import glob
import os
import re
import subprocess
import sys
import tempfile
import time

BUILD = os.environ.get("TSDB_BUILD", ".")
SRC = os.environ.get("TSDB_SRC", ".")
SUITE = os.path.join(BUILD, "tests", "programs", "ptx-suite")
# What a replay says that it does not do; anything else fails.
REFUSED = {"heap": "what they take from the device's own heap cannot be put back", "peers": "replaying more than one is not supported",
           "texture": "textures and surfaces cannot be replayed"}
LIMIT = 600  # seconds for one run
# Watched launches are interpreted, so these are about the compiler alone.
MODES = [("compiled", {"TSDB_SOFT_JIT": "force"})] + [(f"random {n}", {"TSDB_SOFT_SCHEDULE": f"random:{n}"}) for n in (3, 4)] + \
    [(f"races {n}", {"TSDB_SOFT_RACECHECK": "1", "TSDB_SOFT_SCHEDULE": f"random:{n}"}) for n in (5, 6)]


def run(args, **env):
    e = dict(os.environ, LD_LIBRARY_PATH=os.path.join(BUILD, "softgpu"), **env)
    e.pop("CUDA_INJECTION64_PATH", None)
    try:
        return subprocess.run(args, env=e, capture_output=True, text=True, timeout=LIMIT, errors="replace")
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(args, 124, "", f"more than {LIMIT} s\n")


def plain(name):
    for what, env in MODES:
        p = run([os.path.join(SUITE, name)], **env)
        told = re.findall(r"^tsdb: software GPU: (?!race \(|race in \w*large_tiles).*", p.stderr, re.M) if "races" in what else p.stderr.splitlines()
        yield what, p.returncode == 0 and p.stdout == f"{name}: ok\n" and not told, told or (p.stdout + p.stderr).splitlines()


def replayed(name, tmp):
    trace = os.path.join(tmp, name + ".sbt")
    tsdb = os.path.join(BUILD, "tsdb")
    p = run([tsdb, "--gpu", "soft", "record", "-o", trace, "--", os.path.join(SUITE, name)])
    yield "record", p.returncode == 0 and f"{name}: ok" in p.stdout, (p.stdout + p.stderr).splitlines()
    if os.path.exists(trace):
        p = run([tsdb, "replay", trace, "--verify", "--on", "soft"])
        refused = REFUSED.get(name)
        if refused and p.returncode and refused in p.stdout + p.stderr:
            yield f"replay refused ({refused})", True, []
        else:
            yield "replay", p.returncode == 0, (p.stdout + p.stderr).splitlines()
        os.unlink(trace)


def main():
    names = sys.argv[1:] or sorted(os.path.basename(p)[:-3] for p in glob.glob(os.path.join(SRC, "tests", "programs", "ptx-suite", "*.cu")))
    failed = 0

    if not os.path.exists(os.path.join(SUITE, "scan")):
        print("no nvcc when this was built")
        return 0
    with tempfile.TemporaryDirectory() as tmp:
        for name in names:
            row, why, begun = [], [], time.time()
            for tests in (plain(name), replayed(name, tmp)):
                for what, ok, lines in tests:
                    row.append(what if ok else f"{what} FAILED")
                    if not ok:
                        failed += 1
                        why += [f"    {what}: {line}" for line in lines[-8:]]
            print(f"{name}: {', '.join(row)} ({time.time() - begun:.0f} s)", *why, sep="\n", flush=True)
    return failed != 0


sys.exit(main())
