# SPDX-License-Identifier: Apache-2.0

EXTRA_DIST += docs/design.md docs/gpu-results.md docs/software-gpu.md docs/softgpu.md docs/softgpu-driver.md
