# SPDX-License-Identifier: Apache-2.0
"""A rank of a data-parallel training: `torchrun --nproc-per-node 2 ddp.py [STEPS]`. Each step is the NVTX range "step N"; prints losses, and its
process id when it runs."""
import os
import sys

import torch
import torch.distributed as dist
import torch.nn as nn
from torch.nn.parallel import DistributedDataParallel

steps = int(sys.argv[1]) if len(sys.argv) > 1 else 5
rank = int(os.environ["RANK"])
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
dist.init_process_group("nccl")
torch.manual_seed(0)
net = DistributedDataParallel(nn.Sequential(nn.Linear(256, 1024), nn.GELU(), nn.Linear(1024, 1024), nn.GELU(), nn.Linear(1024, 10)).cuda(), bucket_cap_mb=2)
optimizer = torch.optim.AdamW(net.parameters(), lr=1e-3)
torch.manual_seed(rank)
x, y = torch.randn(64, 256, device="cuda"), torch.randint(0, 10, (64,), device="cuda")
for step in range(steps):
    torch.cuda.nvtx.range_push(f"step {step}")
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(net(x), y)
    loss.backward()
    optimizer.step()
    torch.cuda.nvtx.range_pop()
    if step < 5 or step % 500 == 0:
        print(f"rank {rank}: step {step} loss {loss.item():.6f} process {os.getpid()}", flush=True)
torch.cuda.synchronize()
print(f"rank {rank}: done", flush=True)
dist.destroy_process_group()
