#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
# Every entry of tests/mutants-equal is about a line that is there, and a change of it that scripts/mutate makes.
import importlib.machinery
import importlib.util
import os
import sys

ROOT = os.environ.get("TSDB_SRC", ".")


def script():
    sys.dont_write_bytecode = True  # the sources may be read-only
    path = os.path.join(ROOT, "scripts", "mutate")
    spec = importlib.util.spec_from_loader("mutate", importlib.machinery.SourceFileLoader("mutate", path))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def main():
    mutate = script()
    equal = mutate.equal_mutants(ROOT)
    known = set()
    for path in sorted({e[0] for e in equal}):
        if os.path.exists(os.path.join(ROOT, path)):
            known |= {mutate.name_of(ROOT, m) for m in mutate.mutants_of(ROOT, path)}
    stale = [e for e in equal if e not in known or not equal[e].strip()]
    print("1..1")
    for path, function, line, changed in stale:
        print("# %s %s: no such line, change or reason\n#   -%s\n#   +%s" % (path, function, line, changed))
    print("%sok 1 - every entry of tests/mutants-equal is about a line that is there" % ("not " if stale else ""))
    sys.exit(bool(stale))


main()
