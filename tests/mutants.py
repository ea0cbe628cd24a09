#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
# Every entry of tests/mutants-equal is about a line that is there, and a change of it that scripts/mutate makes. A map of lines chooses
# no fewer tests than may notice a mutant, and an old one is refused.
import contextlib
import importlib.machinery
import importlib.util
import json
import os
import sys
import tempfile

ROOT = os.environ.get("TSDB_SRC", ".")


def script():
    sys.dont_write_bytecode = True  # the sources may be read-only
    path = os.path.join(ROOT, "scripts", "mutate")
    spec = importlib.util.spec_from_loader("mutate", importlib.machinery.SourceFileLoader("mutate", path))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


CODE = """static const int sizes[] = {
\t1,
\t2,
};

static int f(int a, int b)
{
\tif (a > 1 &&
\t    b > 2)
\t\treturn a + 1;
\tswitch (a) {
\tcase 7:
\t\tb = g(a,
\t\t      b + 1);
\t}
\treturn b - 1;
}
"""
ONE, TWO, NEW, FAILED = ("tests/unit/test-room-" + n for n in ("one", "two", "new", "failed"))
# Executed: by one all but `return a + 1`, by two the first line of the condition alone, which is where the compiler counts both.
EXECUTED = {6: [ONE, TWO], 8: [ONE, TWO], 10: [], 11: [ONE], 13: [ONE], 16: [ONE], 17: [ONE]}
CHOSEN = {2: {ONE, TWO}, 8: {ONE, TWO}, 9: {ONE, TWO}, 10: set(), 11: {ONE}, 12: {ONE, TWO}, 13: {ONE}, 14: {ONE}, 16: {ONE}}


def write(root, path, text):
    os.makedirs(os.path.dirname(os.path.join(root, path)), exist_ok=True)
    with open(os.path.join(root, path), "w", encoding="utf-8") as f:
        f.write(text)


def wrong_choices(mutate):
    """What a map of CODE chooses and should not, or does not and should. The test that failed when it was made, and the one that is not in it, always run."""
    with tempfile.TemporaryDirectory() as root:
        write(root, "src/room/f.c", CODE)
        for test in ONE, TWO, NEW, FAILED:
            write(root, test + ".c", "")
        tests = {t: {"known": t != FAILED, "sources": mutate.sources_of(root, t)} for t in (ONE, TWO, FAILED)}
        lines = {"src/room/f.c": {str(n): of for n, of in EXECUTED.items()}}
        write(root, "map", json.dumps({"room": "room", "sources": mutate.room_hashes(root), "tests": tests, "lines": lines}))

        def chosen(number):
            line = CODE.split("\n")[number - 1]
            return set(mutate.Lines(os.path.join(root, "map"), root, "room").choose(
                ("src/room/f.c", number, line, line), [ONE, TWO, NEW, FAILED]))

        for number, want in CHOSEN.items():
            if chosen(number) != want | {NEW, FAILED}:
                yield "line %d: %s" % (number, " ".join(sorted(chosen(number))))
        write(root, TWO + ".c", "changed")
        if TWO not in chosen(10):
            yield "a changed test was passed over"
        write(root, "src/other/g.h", "new")
        try:
            with open(os.devnull, "w", encoding="utf-8") as f, contextlib.redirect_stderr(f):
                chosen(10)
            yield "an old map was taken"
        except SystemExit as e:
            if "src/other/g.h changed" not in str(e):
                yield "an old map was refused with: %s" % e


def main():
    mutate = script()
    equal = mutate.equal_mutants(ROOT)
    known = set()
    for path in sorted({e[0] for e in equal}):
        if os.path.exists(os.path.join(ROOT, path)):
            known |= {mutate.name_of(ROOT, m) for m in mutate.mutants_of(ROOT, path)}
    stale = [e for e in equal if e not in known or not equal[e].strip()]
    print("1..2")
    for path, function, line, changed in stale:
        print("# %s %s: no such line, change or reason\n#   -%s\n#   +%s" % (path, function, line, changed))
    print("%sok 1 - every entry of tests/mutants-equal is about a line that is there" % ("not " if stale else ""))
    wrong = list(wrong_choices(mutate))
    for what in wrong:
        print("# %s" % what)
    print("%sok 2 - a map of lines chooses every test that may notice a mutant" % ("not " if wrong else ""))
    sys.exit(bool(stale or wrong))


main()
