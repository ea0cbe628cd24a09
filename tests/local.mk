# SPDX-License-Identifier: Apache-2.0
#
# End-to-end tests. Unit tests are in each room's own local.mk.

if HAVE_CUDA
TESTS += tests/e2e/e2e.py
endif
EXTRA_DIST += tests/e2e tests/programs
