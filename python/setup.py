# SPDX-License-Identifier: Apache-2.0
"""Builds the module against libtracesmith: the one of a build folder of this tree (TRACESMITH_BUILD, else ../build), which is
then copied into the package, or else the installed one that pkg-config knows.

    pip install --no-build-isolation ./python"""
import os
import re
import shutil
import subprocess

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

HERE = os.path.dirname(os.path.abspath(__file__))
TREE = os.path.dirname(HERE)
LIBRARY = 'libtracesmith.so.0'


def version():
    with open(os.path.join(TREE, 'configure.ac'), encoding='utf-8') as f:
        return re.search(r'AC_INIT\(\[tracesmith\], \[([^]]+)\]', f.read()).group(1)


def pkg_config(what):
    try:
        return subprocess.run(['pkg-config', what, 'tracesmith'], check=True, capture_output=True, text=True).stdout.split()
    except (OSError, subprocess.CalledProcessError):
        raise SystemExit(f'tracesmith: there is no {LIBRARY}: run make first and set TRACESMITH_BUILD to the build folder, '
                         'or install tracesmith where pkg-config finds it') from None


build = os.environ.get('TRACESMITH_BUILD', os.path.join(TREE, 'build'))
bundled = os.path.exists(os.path.join(build, LIBRARY))
common = {'py_limited_api': True, 'define_macros': [('Py_LIMITED_API', '0x030b0000')]}
if bundled:
    core = Extension('tracesmith._core', ['tracesmith/_core.c'], include_dirs=[os.path.join(TREE, 'include')],
                     extra_link_args=[os.path.join(build, LIBRARY), '-Wl,-rpath,$ORIGIN'], **common)
else:
    core = Extension('tracesmith._core', ['tracesmith/_core.c'], extra_compile_args=pkg_config('--cflags'),
                     extra_link_args=pkg_config('--libs'), **common)


class Build(build_ext):
    """Puts the library beside the module."""

    def run(self):
        super().run()
        if bundled:
            folder = os.path.dirname(os.path.abspath(self.get_ext_fullpath('tracesmith._core')))
            os.makedirs(folder, exist_ok=True)
            shutil.copy(os.path.join(build, LIBRARY), folder)


setup(version=version(), ext_modules=[core], cmdclass={'build_ext': Build}, options={'bdist_wheel': {'py_limited_api': 'cp311'}})
