# SPDX-License-Identifier: Apache-2.0
#
# A conv net trained with AdamW by unmodified PyTorch: what tests/real/check captures and replays.
# Prints the loss of every step. Each step is the NVTX range "step N".
import sys

import torch
import torch.nn as nn

steps = int(sys.argv[1]) if len(sys.argv) > 1 else 5
torch.manual_seed(0)
dev = torch.device("cuda")
net = nn.Sequential(
    nn.Conv2d(3, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(2),
    nn.Conv2d(32, 64, 3, padding=1), nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(2),
    nn.Flatten(), nn.Linear(64 * 8 * 8, 256), nn.ReLU(), nn.Linear(256, 10)).to(dev)
optimizer = torch.optim.AdamW(net.parameters(), lr=1e-3)
loss_of = nn.CrossEntropyLoss()
images = torch.randn(4, 64, 3, 32, 32)
labels = torch.randint(0, 10, (4, 64))
for step in range(steps):
    torch.cuda.nvtx.range_push(f"step {step}")
    x, y = images[step % 4].to(dev), labels[step % 4].to(dev)
    optimizer.zero_grad()
    loss = loss_of(net(x), y)
    loss.backward()
    optimizer.step()
    print(f"step {step} loss {loss.item():.9f}", flush=True)
    torch.cuda.nvtx.range_pop()
