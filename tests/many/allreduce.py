# SPDX-License-Identifier: Apache-2.0
"""A rank of an all-reduce loop: `torchrun --nproc-per-node 2 allreduce.py [STEPS]`. Each step squares, sums over the ranks and scales; prints a sum."""
import os
import sys

import torch
import torch.distributed as dist

steps = int(sys.argv[1]) if len(sys.argv) > 1 else 10
rank = int(os.environ["RANK"])
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
dist.init_process_group("nccl")
torch.manual_seed(rank)
x = torch.randn(1 << 20, device="cuda")
for step in range(steps):
    torch.cuda.nvtx.range_push(f"step {step}")
    x = x * x
    dist.all_reduce(x)
    x = x / (x.max() + 1)
    torch.cuda.nvtx.range_pop()
torch.cuda.synchronize()
print(f"rank {rank}: {float(x.double().sum()):.9f}", flush=True)
dist.destroy_process_group()
