# SPDX-License-Identifier: Apache-2.0
#
# The Python module tracesmith, in the build folder: PYTHONPATH=BUILD/python. `make install` takes it to $(pythondir). `pip install --no-build-isolation ./python` installs
# it (python/setup.py).

python_files = python/tracesmith/__init__.py python/tracesmith/__init__.pyi python/tracesmith/sessions.py python/tracesmith/inshell.py python/tracesmith/inside.py python/tracesmith/show.py python/tracesmith/py.typed
EXTRA_DIST += $(python_files) python/tsdb-stubs/__init__.pyi python/pyproject.toml python/setup.py docs/python-module.md docs/library.md docs/rust.md
if HAVE_PYTHON_MODULE
tspydir = $(pythondir)/tracesmith
tspystubsdir = $(pythondir)/tsdb-stubs
tspy_PROGRAMS = python/tracesmith/_core.abi3.so
tspy_DATA = $(python_files)
tspystubs_DATA = python/tsdb-stubs/__init__.pyi
python_tracesmith__core_abi3_so_SOURCES = python/tracesmith/_core.c
python_tracesmith__core_abi3_so_CPPFLAGS = -I$(srcdir)/include $(PYTHON_MODULE_CFLAGS)
python_tracesmith__core_abi3_so_CFLAGS = $(AM_CFLAGS) -fvisibility=hidden
python_tracesmith__core_abi3_so_LDFLAGS = $(AM_LDFLAGS) -shared -Wl,-z,now -Wl,-rpath,'$$ORIGIN/../..:$$ORIGIN/../../..:$(libdir)'
python_tracesmith__core_abi3_so_LDADD = libtracesmith.so.0
noinst_DATA = python/tracesmith/.copied
# By their full names: make would take the copies in the build folder for the sources.
python/tracesmith/.copied: $(addprefix $(srcdir)/,$(python_files)) $(srcdir)/python/local.mk
	$(MKDIR_P) python/tracesmith
	test $(srcdir)/python -ef python || for f in $(python_files); do cp -f $(srcdir)/$$f $$f || exit 1; done
	touch $@
CLEANFILES += python/tracesmith/.copied
clean-local-python:
	test $(srcdir)/python -ef python || rm -f $(python_files)
clean-local: clean-local-python
endif
