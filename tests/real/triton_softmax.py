# SPDX-License-Identifier: Apache-2.0
#
# The softmax of Triton's tutorial, and a sum by atomics: kernels compiled while the program runs. Each step is the
# NVTX range "step N".
import sys

import torch
import triton
import triton.language as tl


@triton.jit
def softmax_kernel(out, x, stride, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    value = tl.load(x + row * stride + at, mask=at < columns, other=-float("inf"))
    value = tl.exp(value - tl.max(value, axis=0))
    tl.store(out + row * stride + at, value / tl.sum(value, axis=0), mask=at < columns)


@triton.jit
def total_kernel(total, x, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_add(total, tl.sum(tl.load(x + at, mask=at < n, other=0.0), axis=0))


torch.manual_seed(0)
x = torch.randn(512, 781, device="cuda")
for step in range(int(sys.argv[1]) if len(sys.argv) > 1 else 5):
    torch.cuda.nvtx.range_push(f"step {step}")
    y, total = torch.empty_like(x), torch.zeros(1, device="cuda")
    softmax_kernel[(x.shape[0],)](y, x, x.stride(0), x.shape[1], BLOCK=1024)
    total_kernel[(triton.cdiv(y.numel(), 1024),)](total, y, y.numel(), BLOCK=1024)
    good = torch.allclose(y, torch.softmax(x, 1), atol=1e-6) and abs(total.item() - 512) < 1e-2
    print(f"step {step}", "ok" if good else "WRONG", flush=True)
    x = x + y
    torch.cuda.nvtx.range_pop()
