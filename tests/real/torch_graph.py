# SPDX-License-Identifier: Apache-2.0
#
# A training step captured into a CUDA graph by unmodified PyTorch and launched in a loop. Each step is the NVTX
# range "step N".
import sys

import torch
import torch.nn as nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(128, 512), nn.ReLU(), nn.Linear(512, 10)).cuda()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
x, y = torch.randn(64, 128, device="cuda"), torch.randint(0, 10, (64,), device="cuda")
static_x, static_y = torch.zeros_like(x), torch.zeros_like(y)


def one_step():
    optimizer.zero_grad(set_to_none=True)
    loss = nn.functional.cross_entropy(net(static_x), static_y)
    loss.backward()
    optimizer.step()
    return loss


side = torch.cuda.Stream()
side.wait_stream(torch.cuda.current_stream())
with torch.cuda.stream(side):
    for _ in range(3):
        one_step()
torch.cuda.current_stream().wait_stream(side)
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    loss = one_step()
for step in range(int(sys.argv[1]) if len(sys.argv) > 1 else 5):
    torch.cuda.nvtx.range_push(f"step {step}")
    static_x.copy_(x + step)
    static_y.copy_(y)
    graph.replay()
    print(f"step {step} loss {loss.item():.9f}", flush=True)
    torch.cuda.nvtx.range_pop()
