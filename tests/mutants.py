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
import resource
import shutil
import subprocess
import sys
import tempfile

ROOT = os.environ.get("TSDB_SRC", ".")


def script(name):
    sys.dont_write_bytecode = True  # the sources may be read-only
    path = os.path.join(ROOT, "scripts", name)
    spec = importlib.util.spec_from_loader(name, importlib.machinery.SourceFileLoader(name, path))
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


# Processes that end in every way that runs no destructor; the line of each function's body is noted, but for never().
ENDS = """#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
static volatile int n;
static void leaves(void) { n++; _exit(0); }
static void faults(void) { n++; *(volatile int *)8 = 1; }
static void killed(void) { n++; kill(getpid(), SIGKILL); }
static void aborts(void) { n++; abort(); }
static void early(void) __attribute__((constructor(102)));
static void early(void) { n++; }
static void never(void) { n++; }
static void in_child(void (*f)(void))
{
	if (!fork())
		f();
	wait(0);
}
int main(int argc, char **argv)
{
	if (argc > 1)
		never();
	in_child(leaves);
	in_child(faults);
	in_child(aborts);
	in_child(killed);
	killed();
}
"""


def wrong_lines(coverage):
    """The functions of ENDS that were executed and not noted, or noted and not executed."""
    with tempfile.TemporaryDirectory() as root:
        for name in "noted", "build":
            os.mkdir(os.path.join(root, name))
        write(root, "ends.c", ENDS)
        note, program = os.path.join(root, "note.o"), os.path.join(root, "ends")
        subprocess.run(["gcc", "-O2", "-fPIC", '-DMUTATE_LINES="%s/noted"' % root, "-c", os.path.join(ROOT, "scripts/mutate-lines.c"),
                        "-o", note], check=True)
        subprocess.run(["gcc", "-O0", "-g", "-fsanitize-coverage=trace-pc", os.path.join(root, "ends.c"), note, "-Wl,--build-id", "-o", program],
                       check=True)
        subprocess.run([program], stderr=subprocess.DEVNULL, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CORE, (0, 0)))
        c = coverage.Coverage.__new__(coverage.Coverage)
        c.noted, c.blocks, c.names = os.path.join(root, "noted"), {}, {"ends.c": "ends.c"}
        c.dir, c.tests, c.programs = root, ["ends"], []
        c.at = c.images()
        ran, could = c.executed()
        for number, line in enumerate(ENDS.split("\n"), 1):
            if "{ n++;" in line and (("ends.c", number) in ran) == ("never" in line) or "n++" in line and ("ends.c", number) not in could:
                yield "%s: %s" % ("noted" if "never" in line else "not noted", line)


TRAPPED = """static int a[4] = {1, 2, 3, 4}, b = 7;
int main(int n, char **unused)
{
\tint sum = 0;
\tfor (int i = 0; i LESS 4; i++)
\t\tsum += a[i] << (n + SHIFT);
\treturn sum == b;
}
"""


def wrong_traps(mutate):
    """What scripts/mutate compiles with traps that ends by itself and should not, or does not and should."""
    with tempfile.TemporaryDirectory() as root:
        for less, shift, ends in ("<", "3", True), ("<=", "3", False), ("<", "31", False):
            write(root, "trapped.c", TRAPPED.replace("LESS", less).replace("SHIFT", shift))
            program = os.path.join(root, "trapped")
            subprocess.run(["gcc", "-O1", "-w", os.path.join(root, "trapped.c"), "-o", program] + mutate.TRAPS.split(), check=True)
            code = subprocess.run([program], preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CORE, (0, 0))).returncode
            if (code >= 0) != ends:
                yield "i %s 4, << %s: %d" % (less, shift, code)


def main():
    mutate = script("mutate")
    equal = mutate.equal_mutants(ROOT)
    known = set()
    for path in sorted({e[0] for e in equal}):
        if os.path.exists(os.path.join(ROOT, path)):
            known |= {mutate.name_of(ROOT, m) for m in mutate.mutants_of(ROOT, path)}
    stale = [e for e in equal if e not in known or not equal[e].strip()]
    print("1..4")
    for path, function, line, changed in stale:
        print("# %s %s: no such line, change or reason\n#   -%s\n#   +%s" % (path, function, line, changed))
    print("%sok 1 - every entry of tests/mutants-equal is about a line that is there" % ("not " if stale else ""))
    wrong = list(wrong_choices(mutate))
    for what in wrong:
        print("# %s" % what)
    print("%sok 2 - a map of lines chooses every test that may notice a mutant" % ("not " if wrong else ""))
    lost = []
    if all(map(shutil.which, ("gcc", "objdump", "readelf"))):
        lost = list(wrong_lines(script("mutate-coverage")))
        for what in lost:
            print("# %s" % what)
        print("%sok 3 - what was executed is noted, however a process ends" % ("not " if lost else ""))
    else:
        print("ok 3 - what was executed is noted, however a process ends # SKIP needs gcc, objdump and readelf")
    traps = []
    if shutil.which("gcc"):
        traps = list(wrong_traps(mutate))
        for what in traps:
            print("# %s" % what)
        print("%sok 4 - a mutant that does what C does not define is ended" % ("not " if traps else ""))
    else:
        print("ok 4 - a mutant that does what C does not define is ended # SKIP needs gcc")
    sys.exit(bool(stale or wrong or lost or traps))


main()
