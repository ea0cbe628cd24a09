# SPDX-License-Identifier: Apache-2.0
#
# Three steps of a perceptron with dropout, in FP32, by unmodified PyTorch, and variants of them: torch_versions.py [VARIANT].
#   base, twin       the same, with other memory in front of it
#   tf32             products by tensor cores (cuBLAS chooses other kernels)
#   seed             another seed of the GPU's generator, which dropout takes
#   data             one number of the input is another
#   copy             one copy more, in step 1
#   add              one addition more, in step 1
#   library          products by the other one of cuBLAS and cuBLASLt
# Each step is the NVTX range "step N".
import sys

import torch
import torch.nn as nn

variant = sys.argv[1] if len(sys.argv) > 1 else "base"
torch.manual_seed(0)
torch.backends.cuda.matmul.allow_tf32 = variant == "tf32"
if variant == "library":
    torch.backends.cuda.preferred_blas_library("cublaslt")
if variant == "twin":
    ahead = torch.empty(5_000_000, device="cuda")
net = nn.Sequential(nn.Linear(256, 512, bias=False), nn.ReLU(), nn.Dropout(0.1), nn.Linear(512, 64, bias=False))
x, y = torch.randn(128, 256), torch.randn(128, 64)
if variant == "data":
    x[3, 7] += 1
torch.cuda.manual_seed(1 if variant == "seed" else 0)
net, x, y = net.cuda(), x.cuda(), y.cuda()
optimizer = torch.optim.SGD(net.parameters(), lr=1e-2)
for step in range(3):
    torch.cuda.nvtx.range_push(f"step {step}")
    optimizer.zero_grad()
    if variant == "copy" and step == 1:
        kept = x.clone()
    if variant == "add" and step == 1:
        kept = x + 1
    loss = ((net(x) - y) ** 2).mean()
    loss.backward()
    optimizer.step()
    print(f"step {step} loss {loss.item():.9f}", flush=True)
    torch.cuda.nvtx.range_pop()
