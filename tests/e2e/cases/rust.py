# SPDX-License-Identifier: Apache-2.0
"""The Rust crates: cargo builds them without network, and their tests find the missing wait of race_demo."""
import os
import shutil

from e2e import BUILD, SRC, Skip, first_existing
from cases.replay import race_demo

CRATES = os.path.join(SRC, 'bindings', 'rust')


def test_the_scenario_in_rust(t):
    t.need_soft()
    if not shutil.which('cargo') or not shutil.which('rustc'):
        raise Skip('no cargo (scripts/setup test installs it)')
    program = first_existing(os.path.join(BUILD, 'examples', 'race_demo'))
    if not program or not os.path.isdir(CRATES) or not os.path.exists(os.path.join(BUILD, 'libtracesmith.so.0')):
        raise Skip('race_demo, libtracesmith or the crates are not there')
    race_demo(t, 'race_demo.sbt')
    shutil.copytree(CRATES, t.path('rust'))
    r = t.run(['cargo', 'test', '--offline', '--quiet', '--manifest-path', t.path('rust/Cargo.toml')], timeout=300,
              env={**os.environ, 'CARGO_TARGET_DIR': t.path('target'), 'TRACESMITH_LIB_DIR': BUILD, 'LD_LIBRARY_PATH': BUILD, 'RUSTFLAGS': '-Dwarnings',
                   'SCENARIO_TRACE': t.path('race_demo.sbt'), 'SCENARIO_PROGRAM': program})
    t.equal(r.status, 0, r.both)
    t.match('test result: ok. 4 passed', r.out)
