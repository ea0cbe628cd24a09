# SPDX-License-Identifier: Apache-2.0
"""The Rust crates: cargo builds them without network, and their tests find the missing wait of race_demo."""
import os
import shutil

from e2e import BUILD, SRC, Skip, first_existing
from cases.replay import race_demo

CRATES = os.path.join(SRC, 'bindings', 'rust')


def cargo(t, *words, **more):
    """Debian's cargo, if it is there: the oldest that the crates build with."""
    path = os.pathsep.join(['/usr/bin', os.environ['PATH']])
    return t.run(['cargo', *words, '--offline', '--quiet', '--manifest-path', t.path('rust/Cargo.toml')], timeout=300,
                 env={**os.environ, 'PATH': path, 'CARGO_TARGET_DIR': t.path('target'), 'TRACESMITH_LIB_DIR': BUILD, 'LD_LIBRARY_PATH': BUILD,
                      'RUSTFLAGS': '-Dwarnings', **more})


def c_says(t, *args):
    """What examples/time_travel.c prints."""
    r = t.run(['cc', '-I' + os.path.join(SRC, 'include'), os.path.join(SRC, 'examples', 'time_travel.c'), os.path.join(BUILD, 'libtracesmith.so.0'),
               f'-Wl,-rpath,{BUILD}', '-o', t.path('travel')])
    t.equal(r.status, 0, r.err)
    return t.run([t.path('travel'), *args]).out


def test_the_scenario_in_rust(t):
    t.need_soft()
    if not shutil.which('cargo') or not shutil.which('rustc'):
        raise Skip('no cargo (scripts/setup test installs it)')
    program = first_existing(os.path.join(BUILD, 'examples', 'race_demo'))
    if not program or not os.path.isdir(CRATES) or not os.path.exists(os.path.join(BUILD, 'libtracesmith.so.0')):
        raise Skip('race_demo, libtracesmith or the crates are not there')
    race_demo(t, 'race_demo.sbt')
    shutil.copytree(CRATES, t.path('rust'))
    r = cargo(t, 'test', SCENARIO_TRACE=t.path('race_demo.sbt'), SCENARIO_PROGRAM=program)
    t.equal(r.status, 0, r.both)
    t.match('test result: ok. 6 passed', r.out)
    r = t.run([t.path('target/debug/examples/time_travel'), 'race_demo.sbt', program], env={**os.environ, 'LD_LIBRARY_PATH': BUILD})
    t.equal(r.status, 0, r.both)
    t.equal(r.out, c_says(t, 'race_demo.sbt', program), 'the lines of Rust and of C')
    t.match(r'(?m)^written by: consume$', r.out)
