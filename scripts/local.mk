# SPDX-License-Identifier: Apache-2.0

dist_noinst_SCRIPTS += scripts/setup scripts/build scripts/check scripts/demo scripts/gpu-bundle scripts/ptx-goldens scripts/tex-compare scripts/check-layers.sh scripts/gpu-check tests/check-headers.sh
TESTS += scripts/check-layers.sh tests/check-headers.sh

# One relocatable folder for a machine with an NVIDIA driver: make gpu-bundle [BUNDLE=DIR]
BUNDLE = gpu-bundle
.PHONY: gpu-bundle
gpu-bundle: all
	$(MAKE) $(AM_MAKEFLAGS) $(check_PROGRAMS) $(check_SCRIPTS)
	$(srcdir)/scripts/gpu-bundle . $(BUNDLE)
