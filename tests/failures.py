#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""scripts/failures: the last lines of a failed scripts/check say which case failed, and why. The logs here are written as automake's driver writes
them. Speaks TAP."""
import os
import subprocess
import sys
import tempfile

SRC = os.environ.get('TSDB_SRC', '.')

E2E = '''1..3
ok 1 - good
PASS: tests/e2e/e2e.py 1 - good
# 12.1 s
not ok 2 - attach-leaks
FAIL: tests/e2e/e2e.py 2 - attach-leaks
# 12.9 s
# more of ['mappings']: 183 190
# $ tsdb -p 5
ok 3 - after
PASS: tests/e2e/e2e.py 3 - after
ERROR: tests/e2e/e2e.py - exited with status 1
'''
UNIT = '''1..3
not ok 1 - a
FAIL: tests/unit/test-x 1 - a
# 0x1 != 0x2
# x.c:5: error: Failure!
not ok 2 - b
FAIL: tests/unit/test-x 2 - b
# "y" != "z"
ok 3 - c
PASS: tests/unit/test-x 3 - c
'''
SCRIPT = '''# page names x.c, which is not there
not ok 1 - files
FAIL: tests/page.py 1 - files
# page names f(), which is not there
not ok 2 - names
FAIL: tests/page.py 2 - names
'''
CRASH = '''1..2
ok 1 - a
PASS: tests/unit/test-y 1 - a
==7==ERROR: AddressSanitizer: heap-use-after-free
    #0 0x1 in queue_take src/queue.c:12
ERROR: tests/unit/test-y - too few tests run (expected 2, got 1)
ERROR: tests/unit/test-y - exited with status 134 (terminated by signal 6?)
'''
HANG = '''1..2
# 17 (of 3, in futex): test-z
Bail out! test-z did not end within 1500 s
ERROR: tests/unit/test-z.sh - Bail out! test-z did not end within 1500 s
'''
LONG = '1..1\nnot ok 1 - long\nFAIL: tests/long.py 1 - long\n# the message\n' + ''.join(f'# line {i}\n' for i in range(500)) + '# the end\n'


def run(logs, *args):
    """Its lines for these logs, by the tests' names."""
    with tempfile.TemporaryDirectory() as d:
        results = []
        for test, text in logs.items():
            path = os.path.join(d, os.path.splitext(test)[0] + '.log')
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, 'w', encoding='utf-8') as f:
                f.write(text)
            results += [x for x in text.splitlines() if x.startswith(('PASS:', 'FAIL:', 'ERROR:'))]
        log = os.path.join(d, 'check.log')
        with open(log, 'w', encoding='utf-8') as f:
            f.write('\n'.join(results) + '\n')
        r = subprocess.run([os.path.join(SRC, 'scripts', 'failures'), d, log, *args], capture_output=True, text=True, check=True)
        return r.stdout.replace(d, 'BUILD').splitlines()


def equal(got, want):
    if got != want:
        raise AssertionError(f'got {got}, want {want}')


def an_end_to_end_case():
    equal(run({'tests/e2e/e2e.py': E2E}), ['failed: attach-leaks (tests/e2e/e2e.py, the log is BUILD/tests/e2e/e2e.log)',
                                           "    more of ['mappings']: 183 190", '    $ tsdb -p 5'])


def two_cases_of_a_unit_test_have_their_own_messages():
    equal(run({'tests/unit/test-x': UNIT}), ['failed: a (tests/unit/test-x, the log is BUILD/tests/unit/test-x.log)', '    0x1 != 0x2', '    x.c:5: error: Failure!',
                                             'failed: b (tests/unit/test-x, the log is BUILD/tests/unit/test-x.log)', '    "y" != "z"'])


def messages_before_the_result():
    where = '(tests/page.py, the log is BUILD/tests/page.log)'
    equal(run({'tests/page.py': SCRIPT}), [f'failed: files {where}', '    page names x.c, which is not there', f'failed: names {where}',
                                           '    page names f(), which is not there'])


def a_crash_has_the_last_words():
    got = run({'tests/unit/test-y': CRASH})
    equal(got[0], 'failed: tests/unit/test-y - exited with status 134 (terminated by signal 6?) (tests/unit/test-y, the log is BUILD/tests/unit/test-y.log)')
    equal(got[1:3], ['    ==7==ERROR: AddressSanitizer: heap-use-after-free', '        #0 0x1 in queue_take src/queue.c:12'])


def a_test_that_hangs():
    equal(run({'tests/unit/test-z.sh': HANG}), ['failed: test-z did not end within 1500 s (tests/unit/test-z.sh, the log is BUILD/tests/unit/test-z.log)',
                                                '    17 (of 3, in futex): test-z'])


def a_long_message_is_cut_in_its_middle():
    got = run({'tests/long.py': LONG})
    equal(len(got) <= 60, True)
    equal([got[1], got[-1]], ['    the message', '    the end'])


def many_failures_share_the_room():
    got = run({f'tests/many-{i}.py': LONG.replace('tests/long', f'tests/many-{i}') for i in range(40)}, '60')
    equal(len(got) <= 60, True)
    heads = [x for x in got if x.startswith('failed: long (')]
    equal(len(heads) >= 10 and got.count('    the message') == len(heads), True)
    equal(got[-1], f'failed: {40 - len(heads)} more, see BUILD/check.log')


def nothing_failed():
    equal(run({'tests/a.py': '1..1\nok 1 - a\nPASS: tests/a.py 1 - a\n'}), [])


CASES = (an_end_to_end_case, two_cases_of_a_unit_test_have_their_own_messages, messages_before_the_result, a_crash_has_the_last_words, a_test_that_hangs,
         a_long_message_is_cut_in_its_middle, many_failures_share_the_room, nothing_failed)


def main():
    status = 0
    print(f'1..{len(CASES)}')
    for number, case in enumerate(CASES, 1):
        name = case.__name__.replace('_', ' ')
        try:
            case()
            print(f'ok {number} - {name}')
        except (AssertionError, OSError, subprocess.CalledProcessError) as e:
            print(f'# {e}\nnot ok {number} - {name}')
            status = 1
    return status


if __name__ == '__main__':
    sys.exit(main())
