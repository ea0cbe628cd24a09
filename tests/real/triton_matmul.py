# SPDX-License-Identifier: Apache-2.0
#
# The matrix product of Triton's tutorial with its autotuner: several kernels are compiled and measured before one is used. Each step is the NVTX
# range "step N".
import sys

import torch
import triton
import triton.language as tl

SHAPES = [triton.Config({"BM": m, "BN": n, "BK": 32}, num_stages=s, num_warps=w) for m, n, s, w in ((64, 64, 3, 4), (128, 64, 4, 4), (32, 64, 2, 2))]


@triton.autotune(configs=SHAPES, key=["M", "N", "K"])
@triton.jit
def product_kernel(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    inner = tl.arange(0, BK)
    total = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, K, BK):
        x = tl.load(a + rows[:, None] * K + (k + inner)[None, :], mask=rows[:, None] < M, other=0.0)
        y = tl.load(b + (k + inner)[:, None] * N + columns[None, :], mask=columns[None, :] < N, other=0.0)
        total += tl.dot(x, y)
    tl.store(c + rows[:, None] * N + columns[None, :], total.to(tl.float16), mask=(rows[:, None] < M) & (columns[None, :] < N))


torch.manual_seed(0)
a, b = torch.randn(320, 256, device="cuda").half() / 16, torch.randn(256, 192, device="cuda").half() / 16
for step in range(int(sys.argv[1]) if len(sys.argv) > 1 else 5):
    torch.cuda.nvtx.range_push(f"step {step}")
    c = torch.empty(320, 192, device="cuda", dtype=torch.float16)
    product_kernel[lambda meta: (triton.cdiv(320, meta["BM"]), triton.cdiv(192, meta["BN"]))](a, b, c, 320, 192, 256)
    print(f"step {step}", "ok" if torch.allclose(c, a @ b, atol=1e-2) else "WRONG", flush=True)
    a = a * 0.9
    torch.cuda.nvtx.range_pop()
