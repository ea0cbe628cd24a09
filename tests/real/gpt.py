# SPDX-License-Identifier: Apache-2.0
#
# A GPT of some three million parameters trained in bfloat16 with AdamW by unmodified PyTorch: gpt.py [STEPS] [compile|overhead].
# Each step is the NVTX range "step N"; prints its loss. For bench/bench-torch.py: `time` prints the median time of a step
# instead (after 20 more), `time profile` the same under PyTorch's profiler, `loop` medians for ever.
import contextlib
import os
import sys
import time

import torch
import torch.nn as nn
import torch.nn.functional as F

steps = int(sys.argv[1]) if len(sys.argv) > 1 else 5
torch.manual_seed(0)
dev = torch.device("cuda")
vocabulary, width, heads, layers, length, batch = 512, 256, 8, 4, 128, 8


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        b, t, _ = x.shape
        q, k, v = (y.view(b, t, heads, width // heads).transpose(1, 2) for y in self.qkv(self.norm1(x)).chunk(3, -1))
        x = x + self.out(F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(b, t, width))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class Gpt(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.place = nn.Embedding(vocabulary, width), nn.Embedding(length, width)
        self.blocks = nn.Sequential(*[Block() for _ in range(layers)])
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, vocabulary)

    def forward(self, text, target):
        x = self.embed(text) + self.place(torch.arange(text.shape[1], device=text.device))
        return F.cross_entropy(self.head(self.norm(self.blocks(x))).flatten(0, 1), target.flatten())


model = Gpt().to(dev)
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)
run = torch.compile(model, mode="reduce-overhead" if "overhead" in sys.argv else None) if {"compile", "overhead"} & set(sys.argv) else model
text = torch.randint(0, vocabulary, (4, batch, length + 1))

def one_step(n):
    """Seconds of one step, and its loss."""
    torch.cuda.synchronize()
    began = time.perf_counter()
    torch.cuda.nvtx.range_push(f"step {n}")
    data = text[n % 4].to(dev)
    optimizer.zero_grad()
    with torch.autocast("cuda", torch.bfloat16):
        loss = run(data[:, :-1], data[:, 1:])
    loss.backward()
    optimizer.step()
    last = loss.item()
    torch.cuda.nvtx.range_pop()
    torch.cuda.synchronize()
    return time.perf_counter() - began, last


def median_of(n, first=0):
    times = sorted(one_step(first + i)[0] for i in range(n))
    return 1e3 * times[n // 2]


if "loop" in sys.argv:  # a median of 50 steps a line, until the reader goes
    done = 0
    try:
        while True:
            print(f"{median_of(50, done):.4f}", flush=True)
            done += 50
    except BrokenPipeError:
        os._exit(0)
if "time" in sys.argv:
    median_of(20)
    with torch.profiler.profile(with_stack=True) if "profile" in sys.argv else contextlib.nullcontext():
        print(f"median {median_of(steps, 20):.4f} ms")
    os._exit(0) if "profile" in sys.argv else sys.exit(0)
for step in range(steps):
    print(f"step {step} loss {one_step(step)[1]:.9f}", flush=True)
