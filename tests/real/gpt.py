# SPDX-License-Identifier: Apache-2.0
#
# A GPT of some three million parameters trained in bfloat16 with AdamW by unmodified PyTorch: gpt.py [STEPS] [compile].
# Each step is the NVTX range "step N"; prints its loss.
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
run = torch.compile(model) if "compile" in sys.argv else model
text = torch.randint(0, vocabulary, (4, batch, length + 1))
profiler = None
if "profile" in sys.argv:
    profiler = torch.profiler.profile(with_stack=True)
times = []
for step in range(steps):
    if profiler and step == 2:
        profiler.start()
    torch.cuda.synchronize()
    began = time.perf_counter()
    torch.cuda.nvtx.range_push(f"step {step}")
    data = text[step % 4].to(dev)
    optimizer.zero_grad()
    with torch.autocast("cuda", torch.bfloat16):
        loss = run(data[:, :-1], data[:, 1:])
    loss.backward()
    optimizer.step()
    last = loss.item()
    torch.cuda.nvtx.range_pop()
    torch.cuda.synchronize()
    times.append(time.perf_counter() - began)
    if steps <= 20:
        print(f"step {step} loss {last:.9f}", flush=True)
if profiler:
    profiler.stop()
times = sorted(times[len(times) // 5:])
print(f"loss {last:.9f} median step {times[len(times) // 2] * 1e3:.3f} ms", file=sys.stderr)
