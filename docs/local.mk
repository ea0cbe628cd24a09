# SPDX-License-Identifier: Apache-2.0

EXTRA_DIST += scripts/api-docs docs/api.md docs/packages.md docs/editor.md docs/attach.md docs/diff.md docs/nan.md docs/why.md docs/exports.md docs/import.md docs/faults.md docs/graphs.md docs/guide.md
EXTRA_DIST += docs/coverage.md docs/design.md docs/gpu-results.md docs/many.md docs/microscope.md docs/nondeterminism.md docs/observe.md docs/python.md docs/replayer.md docs/report.md docs/report.png docs/editor.png docs/security.md docs/softamd.md docs/softgpu.md

# What becomes of every driver entry point, out of the toolkit's header and src/capture/cuda/cuda-calls.def.
dist_noinst_SCRIPTS += scripts/coverage scripts/coverage-hip
EXTRA_DIST += tests/coverage-doc.sh tests/coverage-hip.sh docs/coverage-hip.md
TESTS += tests/coverage-hip.sh
.PHONY: update-calls
update-calls:
	python3 $(srcdir)/scripts/coverage-hip --update $(srcdir)
if HAVE_CUDA
TESTS += tests/coverage-doc.sh
update-calls: update-cuda-calls
.PHONY: update-cuda-calls
update-cuda-calls:
	python3 $(srcdir)/scripts/coverage --update $(CUDA_CFLAGS:-isystem%=%) $(srcdir)
endif
