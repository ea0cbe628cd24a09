# SPDX-License-Identifier: Apache-2.0
"""The output door: text out of a trace or a kernel never steers the terminal and never forges a line; kernels' printf stays out of standard output."""
import json
import os
import re
import subprocess

from e2e import BUILD, SRC, Skip, tsdb_path

GEN = os.path.join(BUILD, 'tests/unit/sbt-gen')
# What must not reach a terminal: C0 but line feed and tab, DEL, C1, marks that reorder text (Unicode UAX #9), bytes that are no UTF-8.
CONTROLS = re.compile('[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufffd]')


def hostile(t, prog='all_kinds'):
    if not os.path.exists(GEN):
        raise Skip('sbt-gen was not built')
    r = t.record(prog, out='plain.sbt')
    t.equal(r.status, 0, f'recording {prog}')
    subprocess.run([GEN, 'hostile', t.path('plain.sbt'), t.path('h.sbt')], check=True)


def raw(t, *args, stdin=b''):
    p = subprocess.run([tsdb_path(), *args], input=stdin, cwd=t.dir, env=t.environment(), capture_output=True, timeout=120)
    return p.stdout + b'\n' + p.stderr


def safe(t, what, data):
    text = data.decode('utf-8', errors='replace')
    bad = CONTROLS.search(text)
    t.check(not bad, f'{what}: U+{ord(bad[0]):04X} in {text[max(0, bad.start() - 80):bad.end() + 40]!r}' if bad else '')
    t.no_match(r'(?m)^FORGED', text, f'{what}: a text of the trace makes a line of its own')


TOOLS = (['info'], ['info', '--json'], ['view'], ['view', '--stacks'], ['view', '--json'], ['races'], ['races', '--json'], ['check'], ['replay'],
         ['explore'])


def test_tools_pass_no_control_character(t):
    hostile(t)
    for tool in TOOLS:
        out = raw(t, tool[0], 'h.sbt', *tool[1:])
        t.check(b'ESC' in out or tool[0] in ('check', 'replay', 'explore', 'races'), f'{tool} shows no text of the trace')
        safe(t, f'tsdb {" ".join(tool)}', out)


def test_tools_json_is_json(t):
    hostile(t)
    json.loads(raw(t, 'info', 'h.sbt', '--json').decode().strip())
    for line in raw(t, 'view', 'h.sbt', '--json').decode().splitlines():
        if line.strip():
            json.loads(line)


def test_shell_passes_no_control_character(t):
    hostile(t)
    infos = re.findall(r'^COMMAND\("(info [a-z -]+)"', open(os.path.join(SRC, "src/shell/line/shell-commands.def")).read(), re.M)
    t.check(len(infos) > 10, f'the table of commands has info commands: {infos}')
    words = ['replay start h.sbt', 'replay goto 20', 'bt', 'state show', 'list', 'info args', 'print $kernel', 'display', 'order why 3 20', 'focus',
             *infos, *(f'{i} --json' for i in infos), 'replay next', 'replay next', 'replay next', 'bt', 'break kernel nothing', 'info breakpoints',
             'view', 'view --stacks', 'races', 'who-wrote 0x302000000', 'state show --json']
    out = raw(t, '--batch', *(x for w in words for x in ('-ex', w)), 'h.sbt')
    safe(t, 'the shell', out)
    for w in words:  # --batch ends at the first command that fails
        safe(t, w, raw(t, '--batch', '-ex', 'replay start h.sbt --on none', '-ex', 'replay goto 20', '-ex', w))


def test_what_kernels_print_in_a_replay_goes_to_stderr_whole_and_safe(t):
    t.need_soft()
    t.equal(t.record('prints', out='p.sbt').status, 0, 'recording')
    r = t.tsdb('replay', 'p.sbt', '--json')
    json.loads(r.out)
    t.equal(len(r.err.splitlines()), 513, 'lines that the kernels printed')
    t.check('\x1b' not in r.err, 'an escape sequence of a kernel reaches the terminal')
    t.match(r'^line 7 of 63 \\x1b\[31m$', r.err)


def test_what_kernels_print_is_not_repeated_by_checks_and_going_back(t):
    t.need_soft()
    t.equal(t.record('prints', out='p.sbt').status, 0, 'recording')
    for tool in ('check', 'explore'):
        t.no_match(r'line \d', t.tsdb(tool, 'p.sbt').both, f'tsdb {tool}')
    last = t.tsdb('--batch', '-ex', 'replay start p.sbt', '-ex', 'replay continue', '-ex', 'echo BACK\\n', '-ex', 'replay goto 1',
                  '-ex', 'replay reverse-step', stdin='')
    t.equal(len(re.findall(r'^line ', last.err, re.M)), 513, 'lines printed, once each')
