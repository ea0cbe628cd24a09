#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
# libcudart.so.13 of the software GPU: its exports against the vendor's, and the programs of softgpu-*.cu, which nvcc compiled, on
# it. Speaks TAP.

import os
import re
import subprocess
import sys

BUILD = os.environ.get("TSDB_BUILD", ".")
SRC = os.environ.get("TSDB_SRC", ".")
OURS = os.path.join(BUILD, "softgpu", "libcudart.so.13")
CUDA = os.environ.get("TSDB_CUDA_DIR", "/usr/local/cuda")
count = failed = 0


def result(ok, name, *why):
    global count, failed
    count += 1
    failed += not ok
    for line in why if not ok else ():
        print("# " + line)
    print(f"{'ok' if ok else 'not ok'} {count} - {name}", flush=True)


def skip(name, why):
    global count
    count += 1
    print(f"ok {count} - {name} # SKIP {why}")


def exports(path):
    out = subprocess.run(["nm", "-D", "--defined-only", path], check=True, capture_output=True, text=True)
    return {line.split()[-1] for line in out.stdout.splitlines() if " A " not in line}


def test_exports():
    vendor = os.path.join(CUDA, "lib64", "libcudart.so.13")
    ours = exports(OURS)
    strangers = sorted(n for n in ours if not re.fullmatch(r"(__)?cuda\w+@@libcudart\.so\.13", n))
    result(not strangers, "every export is versioned and the runtime's", *strangers)
    if not os.path.exists(vendor):
        return skip("exports what the vendor's runtime does", "no " + vendor)
    missing = sorted(exports(vendor) - ours)
    result(not missing, "exports what the vendor's runtime does", *missing)


def run(program):
    env = dict(os.environ, LD_LIBRARY_PATH=os.path.join(BUILD, "softgpu"))
    env.pop("CUDA_INJECTION64_PATH", None)
    return subprocess.run([os.path.join(BUILD, "tests", "unit", program)], env=env, capture_output=True, text=True, timeout=600)


def test_tap(program):
    p = run(program)
    seen = 0
    why = []
    for line in p.stdout.splitlines():
        m = re.match(r"(not )?ok \d+ - (.*)", line)
        if m:
            result(not m[1], f"{program}: {m[2]}", *why)
            seen += 1
            why = []
        elif line.startswith("#"):
            why.append(line[2:])
    if not re.search(rf"^1\.\.{seen}$", p.stdout, re.M) or seen == 0:
        result(False, f"{program} ends", f"status {p.returncode}", *p.stderr.splitlines()[-5:])


def test_errors():
    p = run("softgpu-errors")
    with open(os.path.join(SRC, "tests", "unit", "softgpu-errors.expected"), encoding="ascii") as f:
        want = f.read().splitlines()
    got = p.stdout.splitlines()
    differ = [f"{a}   should be   {b.split()[-2:]}" for a, b in zip(got, want) if a != b]
    result(got == want, "wrong calls are answered as on an H200", *differ)


def test_no_ptx():
    p = run("softgpu-no-ptx")
    want = ["malloc 0 0", "launch 209 209", "launch 209 209", "synchronize 0 0", "attributes 209 209",
            "symbol address 209 209", "copy to symbol 209 209"]
    result(p.stdout.splitlines() == want, "a program without PTX", *p.stdout.splitlines())
    result("compute_75" in p.stderr, "it is told how to build", *p.stderr.splitlines())


test_exports()
if os.path.exists(os.path.join(BUILD, "tests", "unit", "softgpu-runtime")):
    test_tap("softgpu-runtime")
    test_tap("softgpu-per-thread")
    test_tap("softgpu-callbacks")
    test_errors()
    test_no_ptx()
else:
    skip("programs", "no nvcc when this was built")
print(f"1..{count}")
sys.exit(failed != 0)
