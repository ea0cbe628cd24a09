# SPDX-License-Identifier: Apache-2.0
"""scripts/setup: the packages' names by system. Nothing is installed here."""
import os
import subprocess

from e2e import SRC


def names(system, *words):
    p = subprocess.run(['sh', os.path.join(SRC, 'scripts/setup'), 'list', *words], env={**os.environ, 'TSDB_SETUP_OS': system}, capture_output=True, text=True, check=False)
    return p.returncode, p.stdout.split(), p.stderr


def test_each_system_has_its_names(t):
    said = {}
    for system in ('debian-12', 'debian-13', 'ubuntu-22.04', 'ubuntu-24.04', 'linuxmint-22 ubuntu debian', 'fedora-42', 'nobara-42 fedora', 'arch'):
        status, said[system], err = names(system)
        t.equal((status, err), (0, ''), system)
        t.equal(len(said[system]), len(set(said[system])), f'{system}: none twice')
        for part in ('gcc', 'gdb', 'clang', 'jansson', 'unwind', 'zstd', 'microhttpd', 'chromium'):
            t.check(any(part in name for name in said[system]), f'{system}: {part}')
        fuzz = set(names(system, 'fuzz')[1]) - set(said[system])
        t.check(len(fuzz) == 1, f'{system}: for fuzzing {fuzz}')
    t.check('libedit-dev' not in said['fedora-42'] and 'libedit-devel' not in said['debian-13'], 'names of the system')


def test_what_is_not_known_is_refused(t):
    status, said, err = names('gentoo')
    t.equal((status, said), (1, []), 'another system')
    t.check('no names are known for gentoo' in err, err)
    status, said, err = names('fedora-42', 'debian')
    t.equal((status, said), (1, []), 'Debian packages on Fedora')
    status, said, err = names('debian-12', 'nothing')
    t.equal((status, said), (2, []), 'nothing')
