# SPDX-License-Identifier: Apache-2.0
#
# Mixed precision with a gradient scaler, an optimizer of one fused kernel, data from two worker processes through pinned memory, by
# unmodified PyTorch. Each step is the NVTX range "step N"; prints its loss and the scale.
import sys

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

steps = int(sys.argv[1]) if len(sys.argv) > 1 else 5


class Sequences(Dataset):
    def __len__(self):
        return 16 * steps

    def __getitem__(self, i):
        g = torch.Generator().manual_seed(i)
        return torch.randn(64, 128, generator=g), torch.randint(0, 16, (64,), generator=g)


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv, self.out, self.norm = nn.Linear(128, 384), nn.Linear(128, 128), nn.LayerNorm(128)
        self.drop = nn.Dropout(0.1)

    def forward(self, x):
        b, t, w = x.shape
        q, k, v = (y.view(b, t, 2, 64).transpose(1, 2) for y in self.qkv(self.norm(x)).chunk(3, -1))
        return x + self.drop(self.out(F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(b, t, w)))


def main():
    torch.manual_seed(0)
    net = nn.Sequential(*[Layer() for _ in range(3)], nn.Linear(128, 16)).cuda()
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-3, fused=True)
    scaler = torch.amp.GradScaler("cuda")
    data = DataLoader(Sequences(), batch_size=16, num_workers=2, pin_memory=True)
    for step, (x, y) in enumerate(data):
        torch.cuda.nvtx.range_push(f"step {step}")
        x, y = x.to("cuda", non_blocking=True), y.to("cuda", non_blocking=True)
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cuda", torch.float16):
            loss = F.cross_entropy(net(x).flatten(0, 1), y.flatten())
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        print(f"step {step} loss {loss.item():.6f} scale {scaler.get_scale():.0f}", flush=True)
        torch.cuda.nvtx.range_pop()


if __name__ == "__main__":
    main()
