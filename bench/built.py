# SPDX-License-Identifier: Apache-2.0
"""Where the benches find what they measure: in a build folder or in a bundle, TSDB_BUILD, on the device TSDB_GPU."""
import os
import sys

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
BUILD = os.environ.get('TSDB_BUILD', os.path.join(os.path.dirname(HERE), 'build'))
GPU = os.environ.get('TSDB_GPU', 'soft')


def find(*names):
    for n in names:
        p = os.path.join(BUILD, n)
        if os.path.exists(p):
            return p
    sys.exit(f'bench: none of {names} in {BUILD}')


TSDB = find('bin/tsdb', 'tsdb')


def environment(changes=None):
    """That a program is run in without tsdb."""
    e = dict(os.environ)
    if GPU == 'soft':
        e['LD_LIBRARY_PATH'] = find('softgpu', 'lib/tsdb/softgpu')
    e.update(changes or {})
    return e
