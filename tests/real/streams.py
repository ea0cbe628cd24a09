# SPDX-License-Identifier: Apache-2.0
#
# Two threads, each with streams of its own: copies from and to pinned memory that run beside kernels, ordered by events, memory handed from
# one stream to another (record_stream). Each step is the NVTX range "step N"; prints sums.
import sys
import threading

import torch

steps = int(sys.argv[1]) if len(sys.argv) > 1 else 5
torch.manual_seed(0)
weights = torch.randn(256, 256, device="cuda") / 16
sources = [torch.randn(64, 256).pin_memory() for _ in range(4)]


class Worker(threading.Thread):
    """Batches in, two products, sums out: three streams."""

    def __init__(self, number):
        super().__init__()
        self.number, self.up, self.compute, self.down = number, torch.cuda.Stream(), torch.cuda.Stream(), torch.cuda.Stream()
        self.out = torch.zeros(4, 256).pin_memory()

    def run(self):
        for i, source in enumerate(sources):
            with torch.cuda.stream(self.up):
                x = source.to("cuda", non_blocking=True) + self.number
                there = self.up.record_event()
            with torch.cuda.stream(self.compute):
                self.compute.wait_event(there)
                x.record_stream(self.compute)
                y = torch.tanh(x @ weights) @ weights
                done = self.compute.record_event()
            with torch.cuda.stream(self.down):
                self.down.wait_event(done)
                y.record_stream(self.down)
                self.out[i].copy_(y.sum(0), non_blocking=True)
        self.down.synchronize()


torch.cuda.synchronize()
for step in range(steps):
    torch.cuda.nvtx.range_push(f"step {step}")
    workers = [Worker(n) for n in range(2)]
    for w in workers:
        w.start()
    for w in workers:
        w.join()
    print(f"step {step}", " ".join(f"{w.out.double().sum().item():.9f}" for w in workers), flush=True)
    torch.cuda.nvtx.range_pop()
