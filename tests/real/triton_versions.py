# SPDX-License-Identifier: Apache-2.0
#
# Softmax and a product in Triton, in two versions of each kernel under one name: triton_versions.py [VARIANT].
#   base, twin       the same, with other memory in front of it
#   warps            the product with 8 warps for 4
#   block            the product with other blocks
#   text             softmax by another text: each number is scaled before the largest is subtracted
#   tf32             the product with factors of ten bits
# Each step is the NVTX range "step N".
import sys

import torch
import triton
import triton.language as tl

variant = sys.argv[1] if len(sys.argv) > 1 else "base"

if variant == "text":
    @triton.jit
    def softmax_kernel(out, rows, N, BLOCK: tl.constexpr):
        at = tl.program_id(0) * N + tl.arange(0, BLOCK)
        x = tl.load(rows + at, mask=tl.arange(0, BLOCK) < N, other=-float("inf"))
        y = tl.exp2(x * 1.4426950408889634 - tl.max(x, axis=0) * 1.4426950408889634) # tl.exp is the power of two of the rounded difference
        tl.store(out + at, y / tl.sum(y, axis=0), mask=tl.arange(0, BLOCK) < N)
else:
    @triton.jit
    def softmax_kernel(out, rows, N, BLOCK: tl.constexpr):
        at = tl.program_id(0) * N + tl.arange(0, BLOCK)
        x = tl.load(rows + at, mask=tl.arange(0, BLOCK) < N, other=-float("inf"))
        y = tl.exp(x - tl.max(x, axis=0))
        tl.store(out + at, y / tl.sum(y, axis=0), mask=tl.arange(0, BLOCK) < N)


@triton.jit
def product_kernel(c, a, b, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, PRECISION: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    inner = tl.arange(0, BK)
    total = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, K, BK):
        x = tl.load(a + rows[:, None] * K + (k + inner)[None, :])
        y = tl.load(b + (k + inner)[:, None] * N + columns[None, :])
        total += tl.dot(x, y, input_precision=PRECISION)
    tl.store(c + rows[:, None] * N + columns[None, :], total)


torch.manual_seed(0)
if variant == "twin":
    ahead = torch.empty(5_000_000, device="cuda")
size = 128
rows, weights = torch.randn(size, size).cuda(), torch.randn(size, size).cuda()
soft, out = torch.empty(size, size, device="cuda"), torch.empty(size, size, device="cuda")
block = 16 if variant == "block" else 32
for step in range(3):
    torch.cuda.nvtx.range_push(f"step {step}")
    softmax_kernel[(size,)](soft, rows, size, BLOCK=128, num_warps=4)
    product_kernel[(size // block, size // 32)](out, soft, weights, size, size, BM=block, BN=32, BK=32, PRECISION="tf32" if variant == "tf32" else "ieee",
                                                num_warps=8 if variant == "warps" else 4)
    print(f"step {step}", "ok" if torch.allclose(out, torch.softmax(rows.double(), 1).float() @ weights, atol=1e-2) else "WRONG", flush=True)
    torch.cuda.nvtx.range_pop()
