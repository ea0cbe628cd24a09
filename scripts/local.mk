# SPDX-License-Identifier: Apache-2.0

dist_noinst_SCRIPTS += scripts/in-root scripts/setup scripts/format scripts/build scripts/check scripts/failures scripts/demo scripts/gpu-bundle scripts/check-debian scripts/check-without scripts/ptx-goldens scripts/tex-compare scripts/check-layers.py scripts/gpu-check scripts/gpu-check-amd scripts/gpu-cost scripts/mutate scripts/mutate-coverage tests/check-headers.sh tests/contributing.py tests/failures.py tests/unused.py tests/mutants.py
EXTRA_DIST += tests/mutants-equal scripts/mutate-lines.c
TESTS += scripts/check-layers.py tests/check-headers.sh tests/contributing.py tests/failures.py tests/unused.py tests/mutants.py

# One relocatable folder for a machine with an NVIDIA driver: make gpu-bundle [BUNDLE=DIR]
BUNDLE = gpu-bundle
.PHONY: gpu-bundle
gpu-bundle: all
	$(MAKE) $(AM_MAKEFLAGS) $(check_PROGRAMS) $(check_SCRIPTS)
	$(srcdir)/scripts/gpu-bundle . $(BUNDLE)

# Whether a room's unit tests notice a changed line: make mutate ROOM=sbt SEED=1 COUNT=50
ROOM = sbt
SEED = 1
COUNT = 50
JOBS = 2
.PHONY: mutate
mutate: all
	$(srcdir)/scripts/mutate --source $(srcdir) --build . --room $(ROOM) --seed $(SEED) --count $(COUNT) \
		--jobs $(JOBS)
# Which lines the room's unit tests execute: then make mutate runs those tests alone that execute what was changed.
.PHONY: mutate-coverage
mutate-coverage: all
	$(srcdir)/scripts/mutate-coverage --source $(srcdir) --build . --room $(ROOM) --jobs $(JOBS)

# Builds without optional parts: make check-without [WITHOUT="FOLDER PART..." to keep some]
.PHONY: check-without
check-without:
	$(srcdir)/scripts/check-without $(WITHOUT)

# Debian packages of the last commit, looked at by lintian and tried: make check-debian [PACKAGES=FOLDER to keep them]
.PHONY: check-debian
check-debian:
	$(srcdir)/scripts/check-debian $(PACKAGES)
