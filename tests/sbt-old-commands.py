#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every command that takes a trace, on the traces of each minor version of the format. TAP.

tests/traces/v1.N.sbt are made by sbt-gen: any value in any field, for the reader's sake. No program made those commands, so what shows a
trace reads them, and what follows the commands' meaning refuses them by name, with the command and the field. tests/traces/recorded are
recordings of real programs, which every command reads.
"""
import glob
import os
import re
import subprocess
import sys
import tempfile

SRC = os.environ.get('TSDB_SRC', os.path.join(os.path.dirname(os.path.abspath(__file__)), '..'))
TSDB = os.path.abspath(os.path.join(os.environ.get('TSDB_BUILD', '.'), 'tsdb'))
SHOWS = (['info'], ['info', '--json'], ['view'], ['view', '--json'], ['export', 'csv', '-o', 'csv'])
FOLLOWS = (['races'], ['races', '--no-exact'], ['stats'], ['report', '-o', 'report.html'], ['check'], ['replay'], ['explore', '--no-save'],
           ['nan'], ['summary'], ['export', 'perfetto', '-o', 'perfetto'], ['--batch', '-ex', 'state show'])
# what a refusal may say: a value that no recorder writes, or what a recording of this kind has not
REFUSALS = (r'command #\d+ \(\w+\) has the (id|type|number) \d+ as its \w+, which cannot be',
            r'the window #\d+ to #\d+ does not lie within the trace, #\d+ to #\d+',
            'holds no memory contents, so its commands cannot be executed again', 'the trace has no GPU times, which perfetto needs')


def run(words, path):
    p = subprocess.run([TSDB, *words, path], capture_output=True, stdin=subprocess.DEVNULL, encoding='utf-8', errors='replace')
    return p.returncode, p.stdout, p.stderr


def wrong_made_up(path):
    """Why a made-up trace is not shown, or not refused by name; None: it is."""
    for words in SHOWS:
        status, out, err = run(words, path)
        if status or not out + err:
            return f'{words}: status {status}: {err}'
    for words in FOLLOWS:
        status, out, err = run(words, path)
        if status not in (0, 1) or (status and not any(re.search(r, err) for r in REFUSALS)):
            return f'{words}: status {status}: {err or out}'
    status, _, err = run(['races', '--no-exact'], path)
    return None if status == 1 and re.search(REFUSALS[0], err) else f'races did not refuse it: {err}'


def wrong_recorded(path):
    """What a recording is not read by; races are found in one of race_demo alone."""
    for words in SHOWS + FOLLOWS:
        status, out, err = run(words, path)
        found = 3 if 'race' in os.path.basename(path) and words in (['races'], ['explore', '--no-save']) else 0
        if words[:2] == ['export', 'perfetto'] and re.search(REFUSALS[3], err):
            continue
        if status != found:
            return f'{words}: status {status}, not {found}: {err or out}'
    return None


def main():
    folder = os.path.abspath(os.path.join(SRC, 'tests/traces'))
    made_up = sorted(glob.glob(os.path.join(folder, '*.sbt')))
    recorded = sorted(glob.glob(os.path.join(folder, 'recorded', '*.sbt')))
    print(f'1..{len(made_up) + len(recorded)}')
    failed = 0
    with tempfile.TemporaryDirectory() as t:
        os.chdir(t)
        for i, path in enumerate(made_up + recorded, 1):
            text = wrong_made_up(path) if path in made_up else wrong_recorded(path)
            failed += text is not None
            for line in (text or '').splitlines():
                print(f'# {line}')
            print(f'{"not ok" if text else "ok"} {i} - {os.path.relpath(path, folder)}', flush=True)
    return failed != 0 or not made_up or not recorded


if __name__ == '__main__':
    sys.exit(main())
