# SPDX-License-Identifier: Apache-2.0

EXTRA_DIST += docs/design.md docs/gpu-results.md docs/microscope.md docs/replayer.md docs/softgpu.md
